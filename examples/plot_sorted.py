"""
Why reports are shuffled
========================

Reports in the order of sorted values give each value away: neighbours share the same age, and their noise averages out.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

ages = np.sort(cf.datasets.adult_ages().values())
mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
reports = np.array(mechanism.privatize(ages, rng=1))
shuffled = np.array(cf.shuffle(reports, rng=2))


def moving_average(values: np.ndarray) -> np.ndarray:
    """Average 2,001 neighbours."""
    return np.convolve(values, np.ones(2001) / 2001, mode="same")


figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(ages, color="black", linewidth=1, label="true ages, sorted")
axes.plot(moving_average(reports), label="average of neighbours, as sorted")
axes.plot(moving_average(shuffled), label="the same, shuffled")
axes.set(xlabel="row of the file", ylabel="age", ylim=(0, 99))
axes.legend(frameon=False)

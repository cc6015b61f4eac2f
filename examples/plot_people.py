"""
How many people?
================

More people narrow the interval, but only as far as the mechanism allows. The expected width, simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

ages = cf.datasets.adult_ages()
people = np.array([1_000, 3_000, 10_000, 30_000, 100_000, 300_000])
figure, axes = plt.subplots(figsize=(7, 3))
for epsilon in (0.05, 0.1, 0.2):
    mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=epsilon)
    widths = []
    for number in people:
        counts = mechanism.simulate_counts(np.random.default_rng(1).multinomial(number, ages.distribution), rng=1)
        widths.append(cf.estimate(counts, mechanism).query("age >= 65").width)
    axes.loglog(people, widths, marker="o", label=f"{epsilon} per year")
axes.set(xlabel="people", ylabel="width of 65 or older")
axes.legend(frameon=False)

"""
RAPPOR: one bit for each choice
===============================

A report is a vector of noisy bits. The likelihood of whole vectors tells more than the bits one by one.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

names = cf.Categories([f"site {number:02}" for number in range(20)])
truth = 1 / np.arange(1, 21) ** 1.2
truth = truth / truth.sum()
mechanism = cf.Rappor(names, epsilon=2.0)
people = np.random.default_rng(1).choice(20, p=truth, size=20_000)
counts = cf.tally(mechanism.privatize(np.array(names.labels())[people], rng=1))

figure, axes = plt.subplots(figsize=(7, 3))
axes.bar(range(20), truth, color="0.85", label="truth")
for method in (cf.solve.methods.BitInversion("project"), cf.Stacked()):
    answer = cf.estimate(counts, mechanism, method)
    error = cf.total_variation(answer.distribution, truth)
    axes.plot(answer.distribution, marker="o", markersize=3, label=f"{method.name}, total variation {error:.3f}")
axes.set(xlabel="site", ylabel="share")
axes.legend(frameon=False)

"""
Which method recovers best?
===========================

Four methods on the same reports. Inversion amplifies the noise. IBU needs to stop in time. The default needs no tuning.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.05)
counts = mechanism.simulate_counts(ages.histogram, rng=1)
figure, panels = plt.subplots(1, 4, figsize=(11, 2.6), sharey=True)
for axes, method in zip(panels, (cf.Inversion("project"), cf.MLE(), cf.IBU(), cf.Stacked()), strict=True):
    answer = cf.estimate(counts, mechanism, method)
    axes.fill_between(range(100), ages.distribution, color="0.85")
    axes.plot(answer.distribution, linewidth=1)
    distance = cf.emd(answer.distribution, ages.distribution, ages.alphabet)
    axes.set(title=method.name, xlabel=f"EMD {distance:.2f} years", ylim=(0, 0.06))
figure.tight_layout()

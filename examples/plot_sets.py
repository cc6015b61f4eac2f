"""
Many categories: sets and hashes beside k-RR
============================================

With many values, k-RR rarely reports the true one. Subset selection reports a set of values that often holds the true
one. Local hashing does the same with a seed and a bucket: two small numbers, however many values there are.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

cities = cf.Categories([f"city {rank}" for rank in range(1, 101)])
people = np.random.default_rng(1).multinomial(20_000, 1 / np.arange(1, 101) / (1 / np.arange(1, 101)).sum())
truth = people / people.sum()

figure, panels = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
mechanisms = {
    "k-RR": cf.RandomizedResponse(cities, epsilon=1.0),
    "subset selection": cf.SubsetSelection(cities, epsilon=1.0),
    "local hashing, 1,000 seeds": cf.LocalHashing(cities, epsilon=1.0, seeds=1000),
}
for panel, (name, mechanism) in zip(panels, mechanisms.items(), strict=True):
    counts = cf.tally(mechanism.privatize(np.repeat(cities.values, people), rng=1))
    panel.plot(cf.estimate(counts, mechanism, cf.MLE()).distribution, linewidth=1, label="maximum likelihood")
    panel.plot(truth, color="black", linewidth=1.5, label="truth")
    panel.set(title=name, xlabel="city, by size", ylim=(0, 0.25))
panels[0].set(ylabel="share")
panels[0].legend(frameon=False, loc="upper right")

"""
One bit a person: the mean, and nothing else
============================================

A report is one bit, more often 1 the greater the age. It reveals the mean age and nothing else.
An interval for any other answer is as wide as the mean allows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

ages = cf.Integers(0, 99, unit="year")
people = cf.datasets.adult_ages().histogram
mechanism = cf.OneBitMean(ages, epsilon=1.0)
counts = mechanism.simulate_counts(people, rng=1)
with warnings.catch_warnings(action="ignore", category=cf.errors.NotIdentifiedWarning):
    estimate = cf.estimate(counts, mechanism)
mean, older = estimate.mean(), estimate.query("age >= 65")
true_mean, true_share = people @ np.arange(100) / people.sum(), people[65:].sum() / people.sum()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(mechanism.channel.dense()[:, 1])
left.set(xlabel="age", ylabel="P(bit is 1)", ylim=(0, 1))
for row, (answer, truth, scale) in enumerate([(mean, true_mean, 1), (older, true_share, 100)]):
    right.plot([scale * answer.low, scale * answer.high], [row, row], linewidth=6, solid_capstyle="butt")
    right.plot(scale * truth, row, "|", color="black", markersize=22)
right.set(yticks=[0, 1], yticklabels=["mean age (years)", "65 or older (%)"], ylim=(-0.6, 1.6), xlim=(0, 100))
right.set(xlabel="95% interval, and the truth")

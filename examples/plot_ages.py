"""
Ages of 48,842 people
=====================

Blur every age, count the reports, recover the distribution.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.05)
counts = mechanism.simulate_counts(ages.histogram, rng=1)
estimate = cf.estimate(counts, mechanism)

# %%
# The reports are nearly flat. The estimate is not.

figure, axes = plt.subplots(figsize=(7, 3))
seen = mechanism.lay_out(counts)
axes.plot(seen / seen.sum(), color="0.7", label="reports")
axes.plot(ages.distribution, color="black", linewidth=1, label="truth")
axes.plot(estimate.distribution, label="confide")
axes.set(xlabel="age in years", ylabel="share")
axes.legend(frameon=False)

"""
A curve with its band
=====================

The band covers the truth if the truth is about as smooth as the estimate. Queries assume nothing.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.1)
estimate = cf.estimate(mechanism.simulate_counts(ages.histogram, rng=1), mechanism)
band = estimate.interval(level=0.95)

figure, axes = plt.subplots(figsize=(7, 3))
axes.fill_between(range(100), band.low, band.high, alpha=0.3, label="95% band")
axes.plot(estimate.distribution, label="estimate")
axes.plot(ages.distribution, color="black", linewidth=1, label="truth")
axes.set(xlabel="age in years", ylabel="share")
axes.legend(frameon=False)

# %%

for question in ("age >= 65", "age in 30..39", "age < 20"):
    print(estimate.query(question))

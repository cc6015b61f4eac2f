"""
Four levels of privacy
======================

The same 48,842 ages at four epsilons. Stronger privacy blurs the estimate, and widens every interval.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
figure, panels = plt.subplots(1, 4, figsize=(11, 2.6), sharey=True)
for axes, epsilon in zip(panels, (0.02, 0.05, 0.1, 0.2), strict=True):
    mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=epsilon)
    estimate = cf.estimate(mechanism.simulate_counts(ages.histogram, rng=1), mechanism)
    axes.fill_between(range(100), ages.distribution, color="0.85", label="truth")
    axes.plot(estimate.distribution, label="confide")
    older = estimate.query("age >= 65")
    axes.set(title=f"{epsilon} per year", xlabel=f"65 or older: {older.low:.0%} to {older.high:.0%}")
panels[0].legend(frameon=False)
figure.tight_layout()

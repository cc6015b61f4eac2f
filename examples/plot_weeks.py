"""
A poll every week
=================

Twelve weeks, 2,000 people each. A line with its 95% intervals, and what changed.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

answer = cf.Categories(["yes", "no"])
mechanism = cf.RandomizedResponse(answer, epsilon=1.0)
shares = 0.45 + 0.10 * (np.arange(12) >= 7)
weeks = {
    f"2026-W{week + 1:02}": mechanism.simulate_counts([round(2000 * share), round(2000 * (1 - share))], rng=week)
    for week, share in enumerate(shares)
}
series = cf.estimate_groups(weeks, mechanism).series("answer == yes")

figure, axes = plt.subplots(figsize=(7, 3))
series.plot(axes)
axes.step(range(12), shares, where="mid", color="black", linewidth=1)
axes.set(ylabel="share of yes", ylim=(0.3, 0.7))

# %%

print(series.change("2026-W01", "2026-W12"))
print("Any change at all:", series.test.shown)

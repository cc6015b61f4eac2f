"""
A poll every week
=================

Twelve weeks, 2,000 people each. A line with its 95% intervals, and which weeks differ.
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
found = cf.estimate_groups(weeks, mechanism)
yes = list(found.query("answer == yes", name="answer").values())

figure, axes = plt.subplots(figsize=(7, 3))
axes.fill_between(range(12), [one.low for one in yes], [one.high for one in yes], alpha=0.3)
axes.plot([one.estimate for one in yes], marker="o")
axes.step(range(12), shares, where="mid", color="black", linewidth=1)
axes.set_xticks(range(12), [week[5:] for week in weeks])
axes.set(ylabel="share of yes", ylim=(0.3, 0.7))

# %%

for week in ("2026-W01", "2026-W10"):
    print(week, found.describe_difference(week))

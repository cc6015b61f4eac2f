"""
Figure 2: the setting
=====================

Each device blurs its own value. The curator sees reports only, and estimates the distribution of the values.
"""

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 2.8))
axes.set(xlim=(0, 10), ylim=(-0.4, 3.4))
axes.axis("off")
box = {"boxstyle": "round,pad=0.4", "facecolor": "#e8f0f7", "edgecolor": "#1f5f8b"}
for height, value, report in ((2.4, 41, 63), (1.4, 29, 12), (0.4, 35, 38)):
    axes.text(1.0, height, f"age {value}", ha="center", va="center")
    axes.text(3.0, height, "mechanism", ha="center", va="center", bbox=box)
    axes.text(5.0, height, f"report {report}", ha="center", va="center", color="#b45309")
    for start, end in (((1.5, height), (2.1, height)), ((3.9, height), (4.4, height)), ((5.7, height), (6.9, 1.4))):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "0.4"})
axes.text(8.4, 1.4, "curator:\ncounts, then IBU", ha="center", va="center", bbox=box)
axes.axvline(4.15, color="0.6", linestyle=":")
axes.text(2.0, 3.1, "on each device", ha="center", color="0.4")
axes.text(7.0, 3.1, "everybody else", ha="center", color="0.4")
figure.tight_layout()

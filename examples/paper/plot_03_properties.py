"""
Figure 3: which property implies which
======================================

Round boxes depend on the reports. Square boxes depend on the mechanism alone.
"""

import matplotlib.pyplot as plt

BOXES = {
    "finite": (2, 5.2, "L is finite somewhere", "round"),
    "concave": (2, 4.0, "L is strictly concave\nfor these reports", "round"),
    "unique": (7.4, 4.6, "the maximum\nis unique", "round"),
    "some": (2, 2.6, "L is strictly concave\nfor some reports", "square"),
    "rank": (7.4, 2.6, "M has as many independent\ncolumns as values", "square"),
    "identified": (2, 1.2, "M identifies\nthe distribution", "square"),
    "dominated": (7.4, 1.2, "M is continuous\nand dominated", "square"),
    "consistent": (4.7, -0.2, "IBU is consistent", "square"),
}
ARROWS = [
    ("finite", "unique", "->"),
    ("concave", "unique", "->"),
    ("concave", "some", "->"),
    ("some", "rank", "<->"),
    ("some", "identified", "<->"),
    ("identified", "consistent", "->"),
    ("dominated", "consistent", "->"),
]
figure, axes = plt.subplots(figsize=(7.5, 4.6))
axes.set(xlim=(0, 9.8), ylim=(-0.7, 5.7))
axes.axis("off")
shown = {}
for name, (x, y, words, style) in BOXES.items():
    look = {"boxstyle": f"{style},pad=0.4", "facecolor": "white", "edgecolor": "#1f5f8b"}
    shown[name] = axes.text(x, y, words, ha="center", va="center", bbox=look, fontsize=9)
for start, end, style in ARROWS:
    ends = {"patchA": shown[start].get_bbox_patch(), "patchB": shown[end].get_bbox_patch()}
    axes.annotate("", BOXES[end][:2], BOXES[start][:2], arrowprops={"arrowstyle": style, "color": "0.4", **ends})
figure.tight_layout()

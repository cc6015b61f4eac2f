"""
Which mechanism for a list of choices?
======================================

k-RR wins on short lists and at large epsilon, projective geometry response on long lists, subset selection in between.
The lines say how many times the winner's error k-RR has. Within 1.5 % of the smallest error the shorter report wins,
hence the patches. The ranking is by closed forms: no survey is simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

epsilons, sizes = np.geomspace(0.25, 5, 22), np.unique(np.geomspace(2, 1000, 24).round().astype(int))
winners, ratios = np.empty((sizes.size, epsilons.size), dtype=object), np.empty((sizes.size, epsilons.size))
for row, size in enumerate(sizes.tolist()):
    choices = cf.Categories([f"choice {number}" for number in range(size)])
    for column, epsilon in enumerate(epsilons.tolist()):
        found = cf.rank(choices, epsilon, people=10_000)
        errors = {one.mechanism.kind: one.error for one in found.candidates}
        winners[row, column] = found.best.kind
        ratios[row, column] = errors["randomized-response"] / errors[found.best.kind]

kinds = [kind for kind in cf.mechanisms.MECHANISMS if kind in winners]
colours = dict(zip(kinds, plt.get_cmap("Pastel1").colors, strict=False))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.pcolormesh(epsilons, sizes, np.array([[colours[kind] for kind in row] for row in winners]), shading="nearest")
lines = axes.contour(epsilons, sizes, ratios, levels=[1.1, 1.5, 2, 3, 5, 10], colors="0.3", linewidths=0.8)
axes.clabel(lines, fmt="%g times", fontsize=8)
axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="number of choices")
axes.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
axes.set_yticks([2, 5, 10, 20, 100, 1000], ["2", "5", "10", "20", "100", "1,000"])
axes.minorticks_off()
handles = [plt.Rectangle((0, 0), 1, 1, color=colours[kind]) for kind in kinds]
figure.legend(handles, kinds, loc="outside upper center", ncols=3, frameon=False)

"""
Figure 23: the inverse of the truncated geometric matrix
========================================================

The matrix is full, and its inverse has three diagonals. Their large entries of both signs amplify noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

matrix = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.5).channel.dense()
inverse = np.linalg.inv(matrix)
inverse[np.abs(inverse) < 1e-9] = 0

figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for axes, numbers, title in zip(panels, (matrix, inverse), ("matrix", "inverse"), strict=True):
    most = np.abs(numbers).max()
    axes.imshow(numbers, cmap="RdBu", vmin=-most, vmax=most)
    axes.set(title=title, xticks=[], yticks=[])
    for (row, column), number in np.ndenumerate(numbers):
        if number:
            pen = "white" if abs(number) > 0.6 * most else "black"
            axes.text(column, row, f"{number:.2g}", ha="center", va="center", fontsize=7, color=pen)

"""Cells that no report tells apart, in one colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Grid, Indices
from confide.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#8FBFDE", "#F3CF8A", "#8FD3BE", "#E4BCD3", "#C3E1F5", "#EFAE87", "#F6F1A6", "#C6BEDD")
"""Light colours, on which numbers can be read; neighbours in number differ, and they come round again after eight."""

ALONE = "#FFFFFF"
MOST_NUMBERS = 400
"""Cells up to which each carries the number of its class: with many classes, colours come round again."""


def draw_classes(grid: Grid, class_of: Indices) -> Figure:
    """Draw a grid with the cells of each class in one colour; cells that stand alone stay white, holes grey.

    >>> draw_classes(Grid(1, 3), np.array([0, 1, 0])).axes[0].get_xlabel()
    'column'
    """
    sizes = np.bincount(class_of)
    numbers = np.cumsum(sizes > 1)  # classes of several, counted from 1
    shown = np.where(sizes[class_of] > 1, numbers[class_of], 0)
    with style.styled():
        return _draw(grid, shown)


def _add_cells(axes: Axes, corner: tuple[float, float], sides: tuple[int, int]) -> None:
    """Draw thin lines between cells, while there are few enough for that."""
    axes.grid(visible=False)
    if max(sides) <= 60:
        (west, south), (columns, rows) = corner, sides
        axes.vlines(west + np.arange(1, columns), south, south + rows, color="white", linewidth=0.7)
        axes.hlines(south + np.arange(1, rows), west, west + columns, color="white", linewidth=0.7)


def _draw(grid: Grid, shown: Indices) -> Figure:
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.ticker import MaxNLocator

    rows, columns = grid.shape
    figure = style.new_figure(0.9 + 4.2 * min(1.0, columns / rows), 0.8 + 4.2 * min(1.0, rows / columns))
    axes = figure.add_subplot()
    axes.set_facecolor(style.HOLE)
    hues = np.where(shown > 0, 1 + (shown - 1) % len(COLORS), 0)
    south, west = grid.first_row - 0.5, grid.first_column - 0.5
    colors = ListedColormap([ALONE, *COLORS])
    axes.imshow(
        grid.picture(hues),
        origin="lower",
        extent=(west, west + columns, south, south + rows),
        interpolation="none",
        cmap=colors,
        norm=BoundaryNorm(np.arange(len(COLORS) + 2) - 0.5, len(COLORS) + 1),
    )
    _add_cells(axes, (west, south), (columns, rows))
    for axis, label in ((axes.xaxis, "column"), (axes.yaxis, "row")):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
        axis.set_label_text(label)
    if grid.size <= MOST_NUMBERS:
        for (row, column), number in zip(grid.decode(np.arange(grid.size)).tolist(), shown.tolist(), strict=True):
            axes.text(column, row, str(number) if number else "", ha="center", va="center", fontsize=8, color=style.INK)
    return figure

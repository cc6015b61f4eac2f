"""Axes that several figures share: levels as words, decades as plain numbers, one legend for all panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confide.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def mark_decades(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers, and between the powers of ten where there are few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def new_panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many empty axes, in rows of `columns`; the size is that of one panel."""
    rows = -(-count // columns)
    # Room for the legend, which stands above all panels.
    figure = style.new_figure(min(count, columns) * size[0], rows * size[1] + 0.35)
    return figure, [figure.add_subplot(rows, min(count, columns), place) for place in range(1, count + 1)]


def name_series(figure: Figure, names: Sequence[str], colors: Sequence[str]) -> None:
    """Say once, above all panels, which colour is which."""
    from matplotlib.patches import Patch

    handles = [Patch(color=color, label=name) for name, color in zip(names, colors, strict=True)]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=10, handlelength=1.1)


def short_count(number: float) -> str:
    """Return a number of people as short as it goes.

    >>> short_count(1000), short_count(200_000), short_count(3_200_000), short_count(500)
    ('1k', '200k', '3.2M', '500')
    """
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"

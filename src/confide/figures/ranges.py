"""From the lowest to the highest share of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Alphabet, Indices, Integers
from confide.errors import InvalidDistributionError
from confide.figures import style
from confide.figures.bars import MOST_BARS
from confide.figures.panels import FloatArray
from confide.wording import label_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_ranges(alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str = "value") -> Figure:
    """Draw a bar from the lowest to the highest share of each value; of very many values, the widest bars.

    >>> draw_ranges(Integers(1, 3), np.zeros(3), np.array([0.3, 0.7, 0.3])).axes[0].get_xlabel()
    'value'
    """
    for bounds in (lowest, highest):
        if np.shape(bounds) != (alphabet.size,):
            raise InvalidDistributionError(
                f"Give one share for each of {alphabet.size} values; got {np.shape(bounds)}."
            )
    with style.styled():
        if isinstance(alphabet, Integers):
            figure = style.new_figure(7.2, 2.9)
            _draw_line(figure.add_subplot(), alphabet, lowest, highest, name)
            return figure
        shown = _widest(lowest, highest)
        figure = style.new_figure(6.4, 0.9 + 0.3 * shown.size)
        _draw_bars(figure.add_subplot(), alphabet, (lowest[shown], highest[shown]), shown)
    return figure


def _draw_line(axes: Axes, alphabet: Integers, lowest: FloatArray, highest: FloatArray, name: str) -> None:
    from matplotlib.ticker import MaxNLocator

    places = alphabet.coordinates[:, 0]
    air = 0.008 * float(highest.max())  # a share that is known is a hair, not nothing
    axes.bar(places, np.maximum(highest - lowest, air), 0.72, lowest, color=style.BLUE, linewidth=0)
    axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axes.set_ylim(0, 1.06 * max(float(highest.max()), 1e-9))
    axes.grid(visible=False, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, steps=[1, 2, 5, 10]))
    style.show_percent(axes.yaxis)
    axes.set_xlabel(name)
    axes.set_ylabel("share of people")


def _draw_bars(axes: Axes, alphabet: Alphabet, bounds: tuple[FloatArray, FloatArray], shown: Indices) -> None:
    low, high = bounds
    places = np.arange(low.size)
    axes.barh(places, np.maximum(high - low, 0.006 * high.max()), 0.62, low, color=style.BLUE, linewidth=0)
    for place, left, right in zip(places, low, high, strict=True):
        axes.annotate(_words(left, right), (right, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(places, [label_value(value) for value in alphabet.decode(shown).tolist()])
    axes.set_ylim(low.size - 0.4, -0.6)
    axes.set_xlim(0, 1.3 * max(float(high.max()), 1e-9))
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.grid(visible=False, axis="y")
    style.show_percent(axes.xaxis)
    axes.set_xlabel("share of people")


def _words(low: float, high: float) -> str:
    ends = style.percent(round(low, 4)), style.percent(round(high, 4))
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _widest(lowest: FloatArray, highest: FloatArray) -> Indices:
    """Return the numbers of all values in order, or of the widest bars where there are too many."""
    order = np.argsort(lowest - highest, kind="stable")
    return np.asarray(np.arange(lowest.size) if lowest.size <= MOST_BARS else order[:MOST_BARS], dtype=np.int64)

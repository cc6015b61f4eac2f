"""Values around the likely ones, where the alphabet is unbounded.

The highest likelihood is reached among the likely values, but a distribution that explains the reports nearly as well
may give shares to others. On a line, a value d steps beyond all reports explains each of them by the same factor
e^(-decay d) less well than the outermost likely value does. So values are looked at up to where that factor is next to
nothing. Whatever lies farther out explains no report at all, and all that matters of it is whether a query asks for it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.values import Alphabet, Grid, Indices, LineGeometry, Selection
from confide.values.geometry import LARGEST_LATTICE
from confide.values.limits import LARGEST_INTEGER, MOST_STORED

LONGEST_LINE = 100_000
"""Values on a line up to which surroundings are added."""

LARGEST_PLANE = 20_000
"""Cells of a plane up to which they are."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The likely values with those around them.

    Attributes
    ----------
    alphabet
        All of them.
    likely
        The numbers that the likely values have among them.
    far
        Values so far out that they explain nothing, in every direction.
    steps, wanted
        How far around the likely values these are, and how far they should be.
    """

    alphabet: Alphabet
    likely: Indices
    far: tuple[Alphabet, ...]
    steps: int
    wanted: int

    def spread(self, distribution: FloatArray) -> FloatArray:
        """Return a distribution over the likely values as one over all: zero elsewhere."""
        full: FloatArray = np.zeros(self.alphabet.size)
        full[self.likely] = distribution
        return full

    def explain(self) -> str:
        """Say which values were considered, and why no other."""
        words = f"the values that were considered, {self.alphabet!r}"
        if self.steps < self.wanted:
            return (
                f"{words}: {self.steps:,} steps around the likely ones, where {self.wanted:,} would be right but too "
                f"many to solve for, so the interval may be too narrow"
            )
        return f"{words}: {self.steps:,} steps around the likely ones, farther than which a value explains nothing"


def surround(likely: Alphabet, decay: float | None, reports: int) -> Surroundings:
    """Return the surroundings of likely values.

    Parameters
    ----------
    likely
        The likely values, a part of an unbounded alphabet.
    decay
        By how many nats a step takes a value away from what it explains; None where that is not known.
    reports
        How many different ones there are.

    >>> from confide import Integers
    >>> surround(Integers(3, 9), decay=1.0, reports=4).alphabet
    Integers(-7, 19)
    """
    # A value is left out if it explains each report by more than ten nats less than the nearest likely value does.
    wanted = 0 if decay is None else math.ceil(10.0 / decay)
    if isinstance(likely.geometry, LineGeometry):
        low, high = likely.span
        steps = min(wanted, max(0, LONGEST_LINE - likely.size) // 2, LARGEST_INTEGER - max(-low, high))
        wide = likely.between(low - steps, high + steps)
        far = tuple(likely.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
        return Surroundings(wide, np.arange(steps, steps + likely.size), far, steps, wanted)

    if likely.grid is not None:
        return _around_box(likely.grid, wanted, reports)
    return _around_each(likely, wanted)


def _around_box(likely: Grid, wanted: int, reports: int) -> Surroundings:
    largest = min(LARGEST_PLANE, MOST_STORED // reports)

    def cells(steps: int) -> int:
        return (likely.rows + 2 * steps) * (likely.columns + 2 * steps)

    steps = max(0, bisect_right(range(wanted + 1), largest, key=cells) - 1)
    shape = likely.rows + 2 * steps, likely.columns + 2 * steps
    box = likely if steps == 0 else likely.window(likely.first_row - steps, likely.first_column - steps, *shape)
    # Cells far out to all eight sides: of every row and every column of the box, and beyond its corners.
    ends = (1 - LARGEST_LATTICE, LARGEST_LATTICE - 1)
    beside = [box.window(box.first_row, end, box.rows, 1) for end in ends]
    above = [box.window(end, box.first_column, 1, box.columns) for end in ends]
    corners = [box.window(row, column, 1, 1) for column in ends for row in ends]
    numbers = box.encode(likely.decode(np.arange(likely.size)))
    return Surroundings(box, numbers, (*beside, *above, *corners), steps, wanted)


def _around_each(likely: Alphabet, wanted: int) -> Surroundings:
    """Return what lies around each of a few values on a long line; scattered cells of a plane as they are."""
    whole, values = likely.selected_from, likely.decode(np.arange(likely.size))
    if whole is None or not isinstance(whole.geometry, LineGeometry):
        return Surroundings(likely, np.arange(likely.size), (), 0, wanted)
    steps = min(wanted, max(0, LONGEST_LINE // likely.size - 1) // 2)
    near = np.add.outer(values, np.arange(-steps, steps + 1)).reshape(-1)
    wide = Selection(whole, np.unique(np.clip(near, -LARGEST_INTEGER, LARGEST_INTEGER)))
    far = tuple(whole.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
    return Surroundings(wide, wide.encode(values), far, steps, wanted)

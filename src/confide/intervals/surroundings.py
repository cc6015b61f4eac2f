"""Values around the likely ones, where the alphabet is unbounded.

The highest likelihood is reached among the likely values, but a distribution that explains the reports nearly as well
may give shares to others. On a line, a value d steps beyond all reports explains each of them by the same factor
e^(-decay d) less well than the outermost likely value does. So values are looked at up to where that factor is next to
nothing. Whatever lies farther out explains no report at all, and all that matters of it is whether a query asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.alphabets import Alphabet, Grid, Indices, Integers, Selection
from confide.alphabets.geometry import LARGEST_LATTICE
from confide.channels.base import FloatArray
from confide.limits import LARGEST_INTEGER, MOST_STORED

NATS = 10.0
"""A value is left out if it explains each report by more nats less than the nearest likely value does."""

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

    >>> surround(Integers(3, 9), decay=1.0, reports=4).alphabet
    Integers(-7, 19)
    """
    wanted = 0 if decay is None else math.ceil(NATS / decay)
    if isinstance(likely, Integers):
        return _around_range(likely, wanted)
    if isinstance(likely, Grid):
        return _around_box(likely, wanted, reports)
    return _around_each(likely, wanted)


def _around_range(likely: Integers, wanted: int) -> Surroundings:
    low, high = likely.span
    steps = min(wanted, max(0, LONGEST_LINE - likely.size) // 2, LARGEST_INTEGER - max(-low, high))
    wide = likely.between(low - steps, high + steps)
    far = tuple(likely.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
    return Surroundings(wide, np.arange(steps, steps + likely.size), far, steps, wanted)


def _around_box(likely: Grid, wanted: int, reports: int) -> Surroundings:
    largest = min(LARGEST_PLANE, MOST_STORED // reports)

    def fits(steps: int) -> bool:
        return (likely.rows + 2 * steps) * (likely.columns + 2 * steps) <= largest

    steps = _last(fits, wanted)
    wide = likely if steps == 0 else _widened(likely, steps)
    return Surroundings(wide, wide.encode(likely.decode(np.arange(likely.size))), _far_cells(wide), steps, wanted)


def _widened(box: Grid, steps: int) -> Grid:
    shape = box.rows + 2 * steps, box.columns + 2 * steps
    return box.window(box.first_row - steps, box.first_column - steps, *shape)


def _far_cells(box: Grid) -> tuple[Alphabet, ...]:
    """Return cells far out to all eight sides: of every row and every column of the box, and beyond its corners."""
    ends = (1 - LARGEST_LATTICE, LARGEST_LATTICE - 1)
    beside = [box.window(box.first_row, end, box.rows, 1) for end in ends]
    above = [box.window(end, box.first_column, 1, box.columns) for end in ends]
    corners = [box.window(row, column, 1, 1) for column in ends for row in ends]
    return (*beside, *above, *corners)


def _around_each(likely: Alphabet, wanted: int) -> Surroundings:
    """Return what lies around each of a few values on a long line; scattered cells of a plane as they are."""
    if not isinstance(likely, Selection) or not isinstance(likely.whole, Integers):
        return Surroundings(likely, np.arange(likely.size), (), 0, wanted)
    steps = min(wanted, max(0, LONGEST_LINE // likely.size - 1) // 2)
    near = np.add.outer(likely.values, np.arange(-steps, steps + 1)).reshape(-1)
    wide = Selection(likely.whole, np.unique(np.clip(near, -LARGEST_INTEGER, LARGEST_INTEGER)))
    far = tuple(likely.whole.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
    return Surroundings(wide, wide.encode(likely.values), far, steps, wanted)


def _last(is_so: Callable[[int], bool], most: int) -> int:
    """Return the last number of steps at which something is so that was so before; 0 if it never is."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_so(middle) else (low, middle - 1)
    return low

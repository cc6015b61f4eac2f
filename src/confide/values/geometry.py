"""Geometries: how values lie to each other.

Everything outside asks an alphabet for its geometry, not for its class.

A geometry numbers its values from 0 and says how far apart they are. How people read and write them is the alphabet's.

>>> LineGeometry(16, 22).locate(np.array([16, 30]))
array([ 0, -1])
"""

from __future__ import annotations

import itertools
import math
from abc import ABC
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.values.checks import LARGEST_INTEGER, settle
from confide.values.metrics import Circular, Discrete, Euclidean, Metric, SumMetric, Uneven

Values = NDArray[Any]
"""An array of values: one axis for numbers and categories, two for values of several parts (one row a value)."""

Indices = NDArray[np.int64]

LARGEST_LATTICE = 2**30
"""Rows and columns of a lattice stay below it, so that a pair still has a 64-bit number."""


class Geometry(ABC):
    """How values lie to each other, by their numbers."""

    parts: int = 1
    """Number of parts of one value: 1 for a number or a category, 2 for a cell."""

    dimensions: int = 0
    """1 on a line, 2 in a plane, 0 for values without straight lines between them."""

    is_finite: bool = True
    is_whole: bool = True
    """Whether the parts of a value are whole numbers, or numbers of them, rather than reals."""

    spacing: float = 1.0
    positions: tuple[Fraction, ...] | None = None

    size: int
    """Number of values, where they are finitely many."""

    @cached_property
    def metric(self) -> Metric:
        """Distance between values."""
        return Euclidean(self.spacing)

    def locate(self, values: Values) -> Indices:
        """Return the number of each value, and -1 for what is none."""
        numbers, whole = whole_numbers(values)
        return np.where(whole & (numbers >= 0) & (numbers < self.size), numbers, -1)

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """Return whether each value belongs; some are too far out to number."""
        return self.locate(values) >= 0

    def decode(self, indices: Indices) -> Values:
        """Return the values with these numbers."""
        return indices

    def points(self, indices: Indices) -> NDArray[np.float64]:
        """Return the places of values, one row each, in steps."""
        return self.decode(indices).astype(np.float64).reshape(indices.size, -1)


@dataclass(frozen=True)
class UnorderedGeometry(Geometry):
    """Values of which no two are closer than any other two."""

    size: int

    metric = Discrete()


@dataclass(frozen=True)
class RingGeometry(Geometry):
    """Values in a ring: the last lies beside the first."""

    size: int

    def __post_init__(self) -> None:
        settle(self, metric=Circular(self.size))


@dataclass(frozen=True)
class LineGeometry(Geometry):
    """Whole numbers on a line, from `low` to `high` or all.

    Neighbours lie `spacing` apart, or each value at one of rising `positions`, in units of distance. Unbounded, they
    are numbered outwards from zero: 0, -1, 1, -2, 2, ...
    """

    low: int | None = None
    high: int | None = None
    spacing: float = 1.0
    positions: tuple[Fraction, ...] | None = None

    dimensions = 1

    @property
    def is_finite(self) -> bool:  # type: ignore[override]  # known of each line
        """Whether there are finitely many values."""
        return self.low is not None

    @property
    def span(self) -> tuple[int, int]:
        """Lowest and highest value."""
        if self.low is None or self.high is None:
            raise ValueError("An unbounded line has no ends.")
        return self.low, self.high

    @property
    def size(self) -> int:  # type: ignore[override]
        low, high = self.span
        return high - low + 1

    @cached_property
    def metric(self) -> Metric:
        return Euclidean(self.spacing) if self.positions is None else Uneven(self.positions, self.span[0])

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Distances from each value to the next."""
        if self.positions is None:
            return np.full(self.size - 1, self.spacing)
        return np.array([float(right - left) for left, right in itertools.pairwise(self.positions)])

    def locate(self, values: Values) -> Indices:
        numbers, whole = whole_numbers(values)
        if self.low is None or self.high is None:
            return np.where(whole, fold(numbers), -1)
        return np.where(whole & (numbers >= self.low) & (numbers <= self.high), numbers - self.low, -1)

    def decode(self, indices: Indices) -> Values:
        return unfold(indices) if self.low is None else indices + self.low


@dataclass(frozen=True)
class PlaneGeometry(Geometry):
    """Cells of a box in a plane, numbered row by row.

    Holes are sorted and have no number.
    """

    rows: int
    columns: int
    spacing: float = 1.0
    holes: tuple[tuple[int, int], ...] = ()
    first_row: int = 0
    first_column: int = 0

    parts = 2
    dimensions = 2

    shape: tuple[int, int] = field(init=False, repr=False, compare=False)
    """Rows and columns of the box around all cells."""

    def __post_init__(self) -> None:
        settle(self, shape=(self.rows, self.columns), size=self.rows * self.columns - len(self.holes))

    @cached_property
    def places(self) -> Indices:
        """Place of each cell in the whole box, row by row."""
        return self._place_of(np.arange(self.size))

    def picture(self, vector: ArrayLike) -> NDArray[np.float64]:
        """Return a vector over cells as a table, with NaN for holes."""
        table = np.full(self.rows * self.columns, np.nan)
        table[self.places] = vector
        return table.reshape(self.shape)

    def locate(self, values: Values) -> Indices:
        cells, whole = whole_numbers(values)
        cells = cells - (self.first_row, self.first_column)
        inside = whole.all(axis=1) & (cells >= 0).all(axis=1) & (cells < self.shape).all(axis=1)
        places = np.where(inside, cells[:, 0] * self.columns + cells[:, 1], 0)
        # A cell's number is its place less the holes before it: no array over all cells, of which there may be 10^10.
        before = np.searchsorted(self._hole_places, places, side="left")
        is_hole = np.searchsorted(self._hole_places, places, side="right") > before
        return np.where(inside & ~is_hole, places - before, -1)

    def decode(self, indices: Indices) -> Values:
        row, column = np.divmod(self._place_of(indices), self.columns)
        return np.stack([row + self.first_row, column + self.first_column], axis=-1)

    @cached_property
    def _hole_places(self) -> Indices:
        """Places of the holes among all cells of the box."""
        if not self.holes:
            return np.zeros(0, dtype=np.int64)
        row, column = (np.array(self.holes) - (self.first_row, self.first_column)).T
        places: Indices = row * self.columns + column
        return places

    def _place_of(self, numbers: Indices) -> Indices:
        """Return the places of numbered cells among all cells of the box."""
        # Negative numbers count from the end, as in numpy.
        numbers = np.where(numbers < 0, numbers + self.size, numbers)
        # Hole i at place h has h - i cells before it, so a cell lies behind it if its number is at least that.
        cells_before = self._hole_places - np.arange(self._hole_places.size)
        places: Indices = numbers + np.searchsorted(cells_before, numbers, side="right")
        return places


@dataclass(frozen=True)
class LatticeGeometry(Geometry):
    """Points of an unbounded line or plane on a lattice.

    Attributes
    ----------
    resolutions
        Fractions of a step, one for each part: 1 for cells, 2^16 for reals that are as good as continuous.

    Examples
    --------
    >>> LatticeGeometry((4096, 4096)).decode(LatticeGeometry((4096, 4096)).locate(np.array([(0.5, -1.25)])))
    array([[ 0.5 , -1.25]])
    """

    resolutions: tuple[int, ...]
    spacing: float = 1.0

    is_finite = False

    def __post_init__(self) -> None:
        parts = len(self.resolutions)
        settle(self, parts=parts, dimensions=parts, is_whole=set(self.resolutions) == {1})

    @property
    def size(self) -> int:  # type: ignore[override]
        raise ValueError("An unbounded lattice has no size.")

    def contains(self, values: Values) -> NDArray[np.bool_]:
        exact = self._multiples(values)[1]
        return exact if self.parts == 1 else np.asarray(exact.all(axis=1))

    def locate(self, values: Values) -> Indices:
        steps, exact = self._multiples(values)
        if self.parts == 1:
            return np.where(exact, fold(steps), -1)
        near: NDArray[np.bool_] = np.all(exact & (np.abs(steps) < LARGEST_LATTICE), axis=1)
        left, right = fold(np.where(near[:, None], steps, 0)).T
        # All pairs of naturals are numbered square by square (Szudzik).
        paired = np.where(left >= right, left * left + left + right, right * right + left)
        return np.where(near, paired, -1)

    def decode(self, indices: Indices) -> Values:
        if self.parts == 2:
            root = np.sqrt(indices.astype(np.float64)).astype(np.int64)
            root -= root * root > indices  # the float root may be one too large or small
            root += (root + 1) * (root + 1) <= indices
            rest = indices - root * root
            indices = np.stack([np.where(rest < root, rest, root), np.where(rest < root, root, rest - root)], axis=-1)
        steps = unfold(indices)
        return steps if self.is_whole else steps / self.resolutions

    def _multiples(self, values: Values) -> tuple[Indices, NDArray[np.bool_]]:
        """Return values in lattice steps, and which are exact multiples."""
        if self.is_whole or values.dtype.kind not in "iuf":
            return whole_numbers(values)
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.rint(values.astype(np.float64) * self.resolutions)
            # (k / n) n need not be k again in float64, so that the point itself is compared.
            exact = (steps / self.resolutions == values) & (np.abs(steps) < 2**52)
        return np.where(exact, steps, 0).astype(np.int64), exact


@dataclass(frozen=True)
class SubsetGeometry(Geometry):
    """Some values of another geometry, numbered in any order."""

    whole: Geometry
    size: int

    def __post_init__(self) -> None:
        settle(self, parts=self.whole.parts, metric=self.whole.metric)


@dataclass(frozen=True)
class ProductGeometry(Geometry):
    """All combinations of the factors' values; the last one runs fastest."""

    factors: tuple[Geometry, ...]

    def __post_init__(self) -> None:
        widths = tuple(factor.parts for factor in self.factors)
        settle(self, parts=sum(widths), is_finite=all(factor.is_finite for factor in self.factors))
        settle(self, metric=SumMetric(tuple(factor.metric for factor in self.factors), widths))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each factor."""
        return tuple(factor.size for factor in self.factors)

    @property
    def size(self) -> int:  # type: ignore[override]
        return math.prod(self.shape)


def whole_numbers(values: Values) -> tuple[Indices, NDArray[np.bool_]]:
    """Return values as integers, and which are really whole and safe."""
    if values.dtype.kind not in "iuf":
        return np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape, dtype=bool)
    # NaN and infinities compare false here and are marked, never cast.
    safe = (values >= -LARGEST_INTEGER) & (values <= LARGEST_INTEGER)
    numbers = np.where(safe, values, 0)
    integers = numbers.astype(np.int64)
    return integers, safe & (integers == numbers)


def fold(numbers: Indices) -> Indices:
    """Return numbers of integers outwards from zero: 0, -1, 1, -2, ...

    >>> fold(np.array([0, -1, 1, -2]))
    array([0, 1, 2, 3])
    """
    return np.where(numbers >= 0, 2 * numbers, -2 * numbers - 1)


def unfold(indices: Indices) -> Indices:
    """Undo :func:`fold`."""
    return np.where(indices % 2 == 0, indices // 2, -(indices + 1) // 2)

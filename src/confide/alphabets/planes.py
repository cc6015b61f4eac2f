"""Places in a plane: cells, bounded or unbounded, and points on a lattice too fine to matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import (
    Indices,
    PlaneAlphabet,
    UnboundedAlphabet,
    Values,
    fold,
    joined,
    multiples_of,
    pair_up,
    spacing_and_unit,
    take_apart,
    unfold,
    whole_numbers,
)
from confide.alphabets.numerals import parse_integer, parse_real
from confide.checks import check_count, check_positive, check_text
from confide.errors import InvalidParameterError
from confide.kinds import Example
from confide.limits import LARGEST_INTEGER
from confide.metrics import Value

LARGEST_LATTICE = 2**30
"""Rows and columns of a lattice stay below it, so that a pair still has a 64-bit number."""


@dataclass(frozen=True)
class Grid(PlaneAlphabet):
    """Cells of a plane; row 0 is the south, column 0 the west, neighbours lie `spacing` apart.

    A value is the pair (row, column); cells are numbered row by row, and holes (water, parks) not at all.

    >>> manhattan = Grid(20, 14, spacing=0.5, unit="km")
    >>> manhattan.size, manhattan.distance((0, 0), (3, 4))
    (280, 2.5)
    >>> Grid(2, 2, holes=[(0, 1)]).encode([(0, 0), (1, 0), (1, 1)])
    array([0, 1, 2])
    """

    kind = "grid"
    about = "cells of a plane; files have the columns row (0 is south) and column (0 is west)"
    usual = "truncated-planar-laplace"
    example = Example(
        "location",
        "Where people check in",
        unit="km",
        shape='"smooth = 0.3"',
        text="""\
rows = 20
columns = 14
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
# holes = [[0, 3], [1, 3]]   # cells that nobody can be in, such as water, as pairs of row and column
""",
    )

    rows: int
    columns: int
    spacing: float = 1.0
    unit: str = ""
    holes: Sequence[tuple[int, int]] = ()
    first_row: int = 0
    first_column: int = 0

    def __post_init__(self) -> None:
        check_count("rows", self.rows, 1)
        check_count("columns", self.columns, 1)
        check_count("first_row", self.first_row, -LARGEST_LATTICE)
        check_count("first_column", self.first_column, -LARGEST_LATTICE)
        check_positive("spacing", self.spacing)
        check_text("unit", self.unit)
        for name, first, count in (("row", self.first_row, self.rows), ("column", self.first_column, self.columns)):
            if first + count > LARGEST_INTEGER:
                raise InvalidParameterError(f"The last {name} must be below 2**53; got {first + count - 1}.")
        if int(self.rows) * int(self.columns) > LARGEST_INTEGER:
            raise InvalidParameterError(f"A grid has at most 2**53 - 1 cells; got {self.rows} rows of {self.columns}.")
        for name in ("rows", "columns", "first_row", "first_column"):
            object.__setattr__(self, name, int(getattr(self, name)))  # numpy's integers overflow where Python's do not
        object.__setattr__(self, "spacing", float(self.spacing))
        object.__setattr__(self, "holes", self._sorted_holes())
        if len(self.holes) == self.rows * self.columns:
            raise InvalidParameterError("A grid needs at least one cell that is no hole.")

    @staticmethod
    def from_mask(mask: ArrayLike, spacing: float = 1.0, unit: str = "") -> Grid:
        """Return the grid of the cells where a picture is true, its first row in the south.

        >>> Grid.from_mask([[True, False], [True, True]]).size
        3
        """
        present = np.asarray(mask, dtype=bool)
        if present.ndim != 2:
            raise InvalidParameterError(f"A mask must have two dimensions; got {present.ndim}.")
        holes = tuple((row, column) for row, column in np.argwhere(~present).tolist())
        rows, columns = present.shape
        return Grid(rows, columns, spacing, unit, holes)

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        return self.rows * self.columns - len(self.holes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the box around all cells."""
        return self.rows, self.columns

    @property
    def box(self) -> Grid:
        """The same grid with its holes filled."""
        return replace(self, holes=())

    def window(self, first_row: int, first_column: int, rows: int, columns: int) -> Grid:
        """Return other rows and columns of the same plane, without holes.

        >>> Grid(20, 14, spacing=0.5).window(-1, 3, 5, 2)
        Grid(5, 2, spacing=0.5, first=(-1, 3))
        """
        return Grid(rows, columns, self.spacing, self.unit, (), first_row, first_column)

    @property
    def fine(self) -> Plane:
        """Points so fine that noise on them is continuous: what planar Laplace noise reports."""
        return Plane(self.spacing, self.unit)

    @cached_property
    def places(self) -> Indices:
        """Place of each cell among all cells of the box, row by row."""
        self.require_listable()
        return self._place_of(np.arange(self.size))

    def picture(self, distribution: ArrayLike) -> NDArray[np.float64]:
        """Return a vector over the cells as a table of rows and columns, with NaN for holes.

        >>> Grid(1, 2, holes=[(0, 0)]).picture([1.0])
        array([[nan,  1.]])
        """
        table = np.full(self.rows * self.columns, np.nan)
        table[self.places] = distribution
        return table.reshape(self.shape)

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        self.require_listable()
        return self.decode(np.arange(self.size)).astype(np.float64)

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        cells, whole = whole_numbers(values)
        cells = cells - (self.first_row, self.first_column)
        inside = whole.all(axis=1) & (cells >= 0).all(axis=1) & (cells < self.shape).all(axis=1)
        places = np.where(inside, cells[:, 0] * self.columns + cells[:, 1], 0)
        # A cell's number is its place less the holes before it: no array over all cells, of which there may be 10^10.
        before = np.searchsorted(self._hole_places, places, side="left")
        is_hole = np.searchsorted(self._hole_places, places, side="right") > before
        return np.where(inside & ~is_hole, places - before, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        row, column = np.divmod(self._place_of(np.asarray(indices, dtype=np.int64)), self.columns)
        return np.stack([row + self.first_row, column + self.first_column], axis=-1)

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return _parse_pair(fields)

    @cached_property
    def _hole_places(self) -> Indices:
        """Places of the holes among all cells of the box, row by row; sorted, as the holes are."""
        if not self.holes:
            return np.zeros(0, dtype=np.int64)
        row, column = (np.array(self.holes) - (self.first_row, self.first_column)).T
        places: Indices = row * self.columns + column
        return places

    def _place_of(self, numbers: Indices) -> Indices:
        """Return where the cells with these numbers stand among all cells of the box."""
        if numbers.size and not (-self.size <= numbers.min() and numbers.max() < self.size):
            raise IndexError(f"{self!r} has cells number 0 to {self.size - 1:,}.")
        numbers = np.where(numbers < 0, numbers + self.size, numbers)
        # Hole i at place h has h - i cells before it, so a cell lies behind it if its number is at least that.
        cells_before = self._hole_places - np.arange(self._hole_places.size)
        places: Indices = numbers + np.searchsorted(cells_before, numbers, side="right")
        return places

    def _sorted_holes(self) -> tuple[tuple[int, int], ...]:
        try:
            holes = sorted({(int(row), int(column)) for row, column in self.holes})
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameterError(f"holes must be pairs (row, column); got {self.holes!r}.") from None
        rows = range(self.first_row, self.first_row + self.rows)
        columns = range(self.first_column, self.first_column + self.columns)
        for row, column in holes:
            if row not in rows or column not in columns:
                raise InvalidParameterError(
                    f"The hole ({row}, {column}) lies outside the {self.rows} x {self.columns} grid."
                )
        return tuple(holes)

    def __repr__(self) -> str:
        holes = f"{len(self.holes)} holes" if self.holes else ""
        first = f"first=({self.first_row}, {self.first_column})" if self.first_row or self.first_column else ""
        return f"Grid({joined(f'{self.rows}, {self.columns}', *spacing_and_unit(self), holes, first)})"


@dataclass(frozen=True, repr=False)
class Lattice(UnboundedAlphabet, PlaneAlphabet):
    """All cells of an unbounded plane; neighbours lie `spacing` apart.

    >>> Lattice(spacing=0.5).distance((0, 0), (-3, 4))
    2.5
    """

    kind = "lattice"
    about = "all cells of an unbounded plane; an estimate is looked for among those near the reports"
    usual = "planar-geometric"
    example = Example(
        "location",
        "Where people are",
        unit="km",
        text="""\
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
""",
    )

    spacing: float = 1.0
    unit: str = ""

    @property
    def fine(self) -> Plane:
        """Points so fine that noise on them is continuous: what planar Laplace noise reports."""
        return Plane(self.spacing, self.unit)

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`; also of cells that lie too far out to have a number."""
        within: NDArray[np.bool_] = np.all(whole_numbers(values)[1], axis=1)
        return within

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        cells, whole = whole_numbers(values)
        near = np.all(whole & (np.abs(cells) < LARGEST_LATTICE), axis=1)
        return np.where(near, pair_up(*fold(cells * near.reshape(-1, 1)).T), -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return unfold(np.stack(take_apart(np.asarray(indices, dtype=np.int64)), axis=-1))

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return _parse_pair(fields)


def _parse_pair(fields: Sequence[str]) -> Value | None:
    row, column = map(parse_integer, fields)
    return None if row is None or column is None else (row, column)


@dataclass(frozen=True, repr=False)
class Plane(UnboundedAlphabet, PlaneAlphabet):
    """Points whose rows and columns are multiples of 2^-12, in steps of the spacing.

    >>> Plane().decode(Plane().encode([(0.5, -1.25)]))
    array([[ 0.5 , -1.25]])
    """

    RESOLUTION: ClassVar[int] = 2**12
    FARTHEST_VALUE: ClassVar[int] = 2**39  # half of what is held exactly, so that noise of any scale stays inside

    spacing: float = 1.0
    unit: str = ""

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Multiples of which fraction of one the parts of a point are."""
        return (self.RESOLUTION, self.RESOLUTION)

    def moved(self, cells: Values, noise: Indices) -> NDArray[np.float64]:
        """Return the points that lie so many fine steps from cells."""
        points: NDArray[np.float64] = cells + noise / self.RESOLUTION
        return points

    def steps(self, points: Values) -> NDArray[np.float64]:
        """Return points counted in steps of the spacing."""
        return points.astype(np.float64)

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`; also of points that lie too far out to have a number."""
        within: NDArray[np.bool_] = np.all(multiples_of(values, self.RESOLUTION, 2**52)[1], axis=1)
        return within

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        multiples, exact = multiples_of(values, self.RESOLUTION, 2**30)
        near = np.all(exact, axis=1)
        return np.where(near, pair_up(*fold(multiples * near.reshape(-1, 1)).T), -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return unfold(np.stack(take_apart(np.asarray(indices, dtype=np.int64)), axis=-1)) / self.RESOLUTION

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        row, column = map(parse_real, fields)
        return None if row is None or column is None else (row, column)

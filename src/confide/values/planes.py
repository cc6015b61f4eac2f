"""Numbers on a line, cells in a plane, and fine lattices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.base import Alphabet, Example, joined, spacing_and_unit
from confide.values.checks import LARGEST_INTEGER, check_count, check_positive, check_text, settle
from confide.values.geometry import LARGEST_LATTICE, Indices, LatticeGeometry, LineGeometry, PlaneGeometry, Values


@dataclass(frozen=True)
class Integers(Alphabet):
    """Whole numbers from `low` to `high` inclusive, or all of them.

    Neighbours lie `spacing` apart.
    Unbounded, they are numbered outwards from zero: 0, -1, 1, -2, 2, ...

    >>> incomes = Integers(0, 50, spacing=2.5, unit="thousand")
    >>> incomes.size, incomes.distance(10, 12)
    (51, 5.0)
    >>> Integers().encode([0, -1, 1])
    array([0, 1, 2])
    """

    kind = "integers"
    about = "whole numbers from low to high, both inside; all whole numbers if both are left out"
    usual = "truncated-geometric"
    example = Example(
        "age",
        "Ages in years",
        unit="year",
        epsilon=0.05,
        shape='["nobody below 17", "falling from 50"]',
        text="""\
low = 0
high = 99
unit = "year"          # what distances are counted in; may be left out
# spacing = 1.0        # how far neighbours lie apart, in that unit; 1 if left out
""",
    )

    low: int | None = None
    high: int | None = None
    spacing: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InvalidParameterError("Give both low and high, or neither for all whole numbers.")
        if self.low is not None and self.high is not None:
            low, high = self.low, self.high
            for name, value in (("low", low), ("high", high)):
                check_count(name, value, -LARGEST_INTEGER)
            if high > LARGEST_INTEGER:
                raise InvalidParameterError(f"high must be at most 2**53 - 1; got {high}.")
            if low > high:
                raise InvalidParameterError(f"low must not exceed high; got low={low} and high={high}.")
            if high - low >= LARGEST_INTEGER:
                raise InvalidParameterError(f"There may be at most 2**53 - 1 values; got low={low} and high={high}.")
            settle(self, low=int(low), high=int(high))  # numpy's integers overflow where Python's do not
        check_positive("spacing", self.spacing)
        settle(self, spacing=float(self.spacing))
        check_text("unit", self.unit)

    @cached_property
    def geometry(self) -> LineGeometry:
        return LineGeometry(self.low, self.high, self.spacing)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Distances from each value to the next."""
        return self.geometry.gaps

    def __repr__(self) -> str:
        ends = f"{self.low}, {self.high}" if self.is_finite else ""
        return f"Integers({joined(ends, *spacing_and_unit(self))})"


@dataclass(frozen=True, repr=False)
class UnboundedAlphabet(Alphabet):
    """Values without bounds in any direction."""

    resolutions: ClassVar[tuple[int, ...]]
    """Lattice points per step, for each part of a value."""

    spacing: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        check_positive("spacing", self.spacing)
        check_text("unit", self.unit)

    @cached_property
    def geometry(self) -> LatticeGeometry:
        return LatticeGeometry(self.resolutions, self.spacing)

    def contains(self, values: Values) -> NDArray[np.bool_]:
        # Points too far out to have a number belong to the lattice, too.
        return self.geometry.contains(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({joined(*spacing_and_unit(self))})"


@dataclass(frozen=True, repr=False)
class Line(UnboundedAlphabet):
    """Real numbers that are multiples of 2^-16, in steps of the spacing.

    >>> Line().encode([0.5]) == Line().encode([0.5])
    array([ True])
    """

    RESOLUTION: ClassVar[int] = 2**16
    FARTHEST_VALUE: ClassVar[int] = 2**35  # half of what has a number, so that noise of any scale stays inside

    resolutions = (RESOLUTION,)


@dataclass(frozen=True)
class Grid(Alphabet):
    """Cells of a plane; row 0 is south, column 0 west.

    A value is the pair (row, column). Cells are numbered row by row; holes (water, parks) have no number.

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
        # numpy's integers overflow where Python's do not.
        whole = {name: int(getattr(self, name)) for name in ("rows", "columns", "first_row", "first_column")}
        settle(self, **whole)
        settle(self, spacing=float(self.spacing))
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
        settle(self, holes=tuple(holes))
        if len(self.holes) == self.rows * self.columns:
            raise InvalidParameterError("A grid needs at least one cell that is no hole.")

    @staticmethod
    def from_mask(mask: ArrayLike, spacing: float = 1.0, unit: str = "") -> Grid:
        """Return the grid of a mask's true cells; first row south.

        >>> Grid.from_mask([[True, False], [True, True]]).size
        3
        """
        present = np.asarray(mask, dtype=bool)
        if present.ndim != 2:
            raise InvalidParameterError(f"A mask must have two dimensions; got {present.ndim}.")
        holes = tuple((row, column) for row, column in np.argwhere(~present).tolist())
        rows, columns = present.shape
        return Grid(rows, columns, spacing, unit, holes)

    @cached_property
    def geometry(self) -> PlaneGeometry:
        holes = tuple(self.holes)
        return PlaneGeometry(self.rows, self.columns, self.spacing, holes, self.first_row, self.first_column)

    @property
    def grid(self) -> Grid:  # type: ignore[override]  # it is one
        return self

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
        """Lattice fine enough for continuous noise: reports of planar Laplace."""
        return Plane(self.spacing, self.unit)

    @property
    def places(self) -> Indices:
        """Index of each cell in the full box, row by row."""
        self.require_listable()
        return self.geometry.places

    def picture(self, distribution: ArrayLike) -> NDArray[np.float64]:
        """Return a vector over cells as a 2D array, NaN for holes.

        >>> Grid(1, 2, holes=[(0, 0)]).picture([1.0])
        array([[nan,  1.]])
        """
        self.require_listable()
        return self.geometry.picture(distribution)

    def decode(self, indices: ArrayLike) -> Values:
        numbers = np.asarray(indices, dtype=np.int64)
        if numbers.size and not (-self.size <= numbers.min() and numbers.max() < self.size):
            raise IndexError(f"{self!r} has cells number 0 to {self.size - 1:,}.")
        return self.geometry.decode(numbers)

    def __repr__(self) -> str:
        holes = f"{len(self.holes)} holes" if self.holes else ""
        first = f"first=({self.first_row}, {self.first_column})" if self.first_row or self.first_column else ""
        return f"Grid({joined(f'{self.rows}, {self.columns}', *spacing_and_unit(self), holes, first)})"


@dataclass(frozen=True, repr=False)
class Lattice(UnboundedAlphabet):
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

    resolutions = (1, 1)

    @property
    def fine(self) -> Plane:
        """Lattice fine enough for continuous noise: reports of planar Laplace."""
        return Plane(self.spacing, self.unit)


@dataclass(frozen=True, repr=False)
class Plane(UnboundedAlphabet):
    """Points on a lattice of 2^-12 steps of the spacing.

    >>> Plane().decode(Plane().encode([(0.5, -1.25)]))
    array([[ 0.5 , -1.25]])
    """

    RESOLUTION: ClassVar[int] = 2**12
    FARTHEST_VALUE: ClassVar[int] = 2**39  # half of what is held exactly, so that noise of any scale stays inside

    resolutions = (RESOLUTION, RESOLUTION)

    def moved(self, cells: Values, noise: Indices) -> NDArray[np.float64]:
        """Return the points that lie so many fine steps from cells."""
        points: NDArray[np.float64] = cells + noise / self.RESOLUTION
        return points

    def steps(self, points: Values) -> NDArray[np.float64]:
        """Return points counted in steps of the spacing."""
        return points.astype(np.float64)

"""Which values exist, how they are numbered, and where they lie.

>>> ages = Integers(0, 99)
>>> ages.encode([30, 35])
array([30, 35])
>>> ages.distance(30, 35)
5.0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.checks import check_count, check_positive, check_text
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.metrics import Discrete, Euclidean, Metric, Value

Values = NDArray[Any]
"""An array of values: one axis for numbers and categories, two for cells (one row a cell)."""

Indices = NDArray[np.int64]

LARGEST_INTEGER = 2**53
"""Beyond it neighbouring integers are one and the same float64, so distances would be wrong."""


class Alphabet(ABC):
    """The values a person may have, numbered from 0 to ``size - 1``."""

    value_axes: int = 0
    """How many array axes one value takes: 0 for a number or a category, 1 for a cell."""

    unit: str = ""
    """What distances are counted in, such as ``"year"`` or ``"km"``."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values there are."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """How far apart values lie."""

    @property
    @abstractmethod
    def field_names(self) -> tuple[str, ...]:
        """What the parts of one value are called in files."""

    @abstractmethod
    def locate(self, values: Values) -> Indices:
        """Return the number of each value, and -1 for what is not in the alphabet."""

    @abstractmethod
    def decode(self, indices: ArrayLike) -> Values:
        """Return the values with these numbers."""

    @abstractmethod
    def parse(self, fields: Sequence[str]) -> Value | None:
        """Read one value from the text fields of a file, or None where they cannot be read."""

    @property
    @abstractmethod
    def coordinates(self) -> NDArray[np.float64]:
        """Where the values lie, one row a value, in steps of the spacing."""

    def encode(self, values: ArrayLike) -> Indices:
        """Return the number of each value.

        >>> Grid(2, 3).encode([(0, 2), (1, 0)])
        array([2, 3])
        """
        array = as_values(values, self.value_axes, self)
        indices = self.locate(array)
        outside = np.flatnonzero(indices < 0)
        if outside.size:
            raise ValueOutsideAlphabetError(_outside_message(self, array, outside), tuple(outside.tolist()))
        return indices

    def is_single(self, values: ArrayLike) -> bool:
        """Whether this is one value rather than a sequence of values."""
        return np.ndim(values) == self.value_axes

    def distance(self, left: Value, right: Value) -> float:
        """Return the distance between two values of the alphabet."""
        self.encode(_as_pair(left, right))
        return self.metric.distance(left, right)

    def distances(self) -> NDArray[np.float64]:
        """Return the distances between all pairs of values, as a dense matrix."""
        points = self.coordinates
        return self.metric.between(points[:, None, :], points[None, :, :])

    def labels(self) -> list[str]:
        """Return a short text for each value."""
        return [str(value) for value in self.decode(np.arange(self.size)).tolist()]

    def __len__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Categories(Alphabet):
    """Unordered values, all strings or all integers; no two are closer than any other two.

    >>> Categories(["yes", "no"]).encode(["no", "no", "yes"])
    array([1, 1, 0])
    """

    values: tuple[Hashable, ...]

    def __init__(self, values: Sequence[str] | Sequence[int]) -> None:
        if isinstance(values, str):
            raise InvalidParameterError(f"Categories needs a list of values; got the one string {values!r}.")
        plain = (value.item() if isinstance(value, np.generic) else value for value in values)
        object.__setattr__(self, "values", tuple(plain))
        self._check()

    def _check(self) -> None:
        if not self.values:
            raise InvalidParameterError("Categories needs a list of at least one value; got none.")
        kinds = {type(value) for value in self.values}
        if kinds not in ({str}, {int}):
            raise InvalidParameterError(f"Categories must be all strings or all integers; got {_type_names(kinds)}.")
        if len(set(self.values)) < len(self.values):
            repeated = next(value for value in self.values if self.values.count(value) > 1)
            raise InvalidParameterError(f"Categories must differ; {repeated!r} stands more than once.")

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        return len(self.values)

    @property
    def metric(self) -> Metric:
        """See :attr:`Alphabet.metric`."""
        return Discrete()

    @property
    def field_names(self) -> tuple[str, ...]:
        """See :attr:`Alphabet.field_names`."""
        return ("value",)

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`; for categories merely their numbers."""
        return np.arange(self.size, dtype=np.float64)[:, None]

    @cached_property
    def _sorted(self) -> tuple[Values, Indices]:
        array = np.array(self.values)
        order = np.argsort(array, kind="stable")
        return array[order], order

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        known, order = self._sorted
        if values.dtype.kind != known.dtype.kind:
            return np.full(values.shape[0], -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, values), self.size - 1)
        return np.where(known[places] == values, order[places], -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        decoded: Values = np.array(self.values)[np.asarray(indices)]
        return decoded

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return _parse_integer(fields[0]) if isinstance(self.values[0], int) else fields[0]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.values[:4]))
        return f"Categories([{shown}{', ...' if self.size > 4 else ''}])"


@dataclass(frozen=True)
class Integers(Alphabet):
    """Whole numbers from `low` to `high`, both inside; neighbours lie `spacing` apart.

    >>> incomes = Integers(0, 50, spacing=2.5, unit="thousand")
    >>> incomes.size, incomes.distance(10, 12)
    (51, 5.0)
    """

    low: int
    high: int
    spacing: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            check_count(name, value, -LARGEST_INTEGER)
        if self.high > LARGEST_INTEGER:
            raise InvalidParameterError(f"high must be at most 2**53; got {self.high}.")
        if self.low > self.high:
            raise InvalidParameterError(f"low must not exceed high; got low={self.low} and high={self.high}.")
        check_positive("spacing", self.spacing)
        check_text("unit", self.unit)

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        return self.high - self.low + 1

    @property
    def metric(self) -> Metric:
        """See :attr:`Alphabet.metric`."""
        return Euclidean(self.spacing)

    @property
    def field_names(self) -> tuple[str, ...]:
        """See :attr:`Alphabet.field_names`."""
        return ("value",)

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        return np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        numbers, whole = _whole_numbers(values)
        inside = whole & (numbers >= self.low) & (numbers <= self.high)
        return np.where(inside, numbers - self.low, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return np.asarray(indices, dtype=np.int64) + self.low

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return _parse_integer(fields[0])

    def __repr__(self) -> str:
        return f"Integers({self.low}, {self.high}{_spacing_and_unit(self)})"


@dataclass(frozen=True)
class Grid(Alphabet):
    """Cells of a plane; row 0 is the south, column 0 the west, neighbours lie `spacing` apart.

    A value is the pair (row, column); cells are numbered row by row.

    >>> manhattan = Grid(20, 14, spacing=0.5, unit="km")
    >>> manhattan.size, manhattan.distance((0, 0), (3, 4))
    (280, 2.5)
    """

    rows: int
    columns: int
    spacing: float = 1.0
    unit: str = ""
    value_axes = 1

    def __post_init__(self) -> None:
        check_count("rows", self.rows, 1)
        check_count("columns", self.columns, 1)
        check_positive("spacing", self.spacing)
        check_text("unit", self.unit)

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, for reshaping a distribution into a picture."""
        return self.rows, self.columns

    @property
    def metric(self) -> Metric:
        """See :attr:`Alphabet.metric`."""
        return Euclidean(self.spacing)

    @property
    def field_names(self) -> tuple[str, ...]:
        """See :attr:`Alphabet.field_names`."""
        return ("row", "column")

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        return self.decode(np.arange(self.size)).astype(np.float64)

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        cells, whole = _whole_numbers(values)
        inside = whole.all(axis=1) & (cells >= 0).all(axis=1) & (cells < self.shape).all(axis=1)
        return np.where(inside, cells[:, 0] * self.columns + cells[:, 1], -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return np.stack(np.divmod(np.asarray(indices, dtype=np.int64), self.columns), axis=-1)

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        row, column = map(_parse_integer, fields)
        return None if row is None or column is None else (row, column)

    def labels(self) -> list[str]:
        """See :meth:`Alphabet.labels`."""
        return [f"({row}, {column})" for row, column in self.decode(np.arange(self.size)).tolist()]

    def __repr__(self) -> str:
        return f"Grid({self.rows}, {self.columns}{_spacing_and_unit(self)})"


def as_values(values: ArrayLike, value_axes: int, owner: object) -> Values:
    """Return a sequence of values as an array, refusing single values and mixtures.

    >>> as_values([3, 4], 0, "a line")
    array([3, 4])
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidParameterError(f"Values of {owner!r} must be given as a rectangular array.") from None
    if array.size == 0:
        return array.reshape((0, 2) if value_axes else (0,))
    wanted = "pairs (row, column)" if value_axes else "single values"
    if array.ndim != value_axes + 1 or (value_axes and array.shape[1] != 2):
        raise InvalidParameterError(
            f"{owner!r} takes a sequence of {wanted}; got an array of shape {array.shape}. "
            f"Put a single value into a list."
        )
    return array


def _whole_numbers(values: Values) -> tuple[Indices, NDArray[np.bool_]]:
    """Return values as integers, with a mark on those that really are whole and safe to compute with."""
    if values.dtype.kind not in "iuf":
        return np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape, dtype=bool)
    # NaN and infinities compare false here and are marked, never cast.
    safe = (values >= -LARGEST_INTEGER) & (values <= LARGEST_INTEGER)
    numbers = np.where(safe, values, 0)
    integers = numbers.astype(np.int64)
    return integers, safe & (integers == numbers)


def _parse_integer(text: str) -> int | None:
    # int() alone would also take "1_000" and non-ASCII digits, which no other reader of the file would.
    stripped = text.strip()
    digits = stripped[1:] if stripped[:1] in ("-", "+") else stripped
    return int(stripped) if digits.isascii() and digits.isdigit() else None


def _as_pair(left: Value, right: Value) -> ArrayLike:
    pair: list[Any] = [left, right]
    return pair


def _outside_message(alphabet: Alphabet, values: Values, outside: Indices) -> str:
    first = values[outside[0]].tolist()
    shown = tuple(first) if isinstance(first, list) else first
    verb = "lies" if outside.size == 1 else "lie"
    return (
        f"{outside.size:,} of {values.shape[0]:,} values {verb} outside {alphabet!r}; "
        f"first: {shown!r} at position {outside[0]}. {_cure(alphabet)}"
    )


def _cure(alphabet: Alphabet) -> str:
    return (
        "Correct them or add them to the alphabet."
        if isinstance(alphabet, Categories)
        else ("Clip them or widen the alphabet.")
    )


def _spacing_and_unit(alphabet: Integers | Grid) -> str:
    spacing = "" if alphabet.spacing == 1 else f", spacing={alphabet.spacing!r}"
    return spacing + (f", unit={alphabet.unit!r}" if alphabet.unit else "")


def _type_names(kinds: set[type]) -> str:
    return " and ".join(sorted(kind.__name__ for kind in kinds))

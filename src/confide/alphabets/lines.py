"""Numbers on a line: whole ones, and reals on a lattice too fine to matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import (
    Indices,
    LineAlphabet,
    UnboundedAlphabet,
    Values,
    fold,
    joined,
    multiples_of,
    spacing_and_unit,
    unbounded,
    unfold,
    whole_numbers,
)
from confide.alphabets.numerals import parse_integer, parse_real
from confide.checks import check_count, check_positive, check_text
from confide.errors import InvalidParameterError
from confide.kinds import Example
from confide.limits import LARGEST_INTEGER
from confide.metrics import Value


@dataclass(frozen=True)
class Integers(LineAlphabet):
    """Whole numbers from `low` to `high`, both inside, or all of them; neighbours lie `spacing` apart.

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
            _check_range(self.low, self.high)
            # numpy's integers overflow where Python's do not.
            object.__setattr__(self, "low", int(self.low))
            object.__setattr__(self, "high", int(self.high))
        check_positive("spacing", self.spacing)
        object.__setattr__(self, "spacing", float(self.spacing))
        check_text("unit", self.unit)

    @property
    def is_finite(self) -> bool:
        """See :attr:`Alphabet.is_finite`."""
        return self.low is not None

    @property
    def span(self) -> tuple[int, int]:
        """Lowest and highest value."""
        if self.low is None or self.high is None:
            raise unbounded(self)
        return self.low, self.high

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        low, high = self.span
        return high - low + 1

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        self.require_listable()
        low, high = self.span
        return np.arange(low, high + 1, dtype=np.float64)[:, None]

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        numbers, whole = whole_numbers(values)
        if not self.is_finite:
            return np.where(whole, fold(numbers), -1)
        low, high = self.span
        return np.where(whole & (numbers >= low) & (numbers <= high), numbers - low, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        numbers = np.asarray(indices, dtype=np.int64)
        return numbers + self.span[0] if self.is_finite else unfold(numbers)

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return parse_integer(fields[0])

    @property
    def step_name(self) -> str:
        """What one value is called where values are counted."""
        return self.unit if self.unit and self.spacing == 1 and self.positions is None else "value"

    def ticks(self, most: int) -> list[tuple[float, str]]:  # noqa: ARG002 (for those that have labels)
        """Return some places along the values, and what stands there on an axis; none where they are plain numbers."""
        return []

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Distances from each value to the next."""
        return np.full(self.size - 1, self.spacing)

    def label_range(self, low: int, high: int) -> str:
        """Return what people call the values from `low` to `high`.

        >>> Integers(0, 99).label_range(20, 24), Integers(-9, 9).label_range(-9, 0)
        ('20\N{EN DASH}24', '-9 to 0')
        """
        first, last = self._name(np.array([low, high]))
        if low == high:
            return first
        return f"{first} to {last}" if self.has_labels or low < 0 else f"{first}\N{EN DASH}{last}"

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """Return the query for the share of values from `low` to `high`, or from `low` on.

        >>> Integers(0, 99).question("age", 20, 24), Integers(0, 99).question("age", 65)
        ('age in 20..24', 'age >= 65')
        """
        if high is None:
            return f"{name} >= {low}"
        return f"{name} == {low}" if low == high else f"{name} in {low}..{high}"

    def between(self, low: int | None, high: int | None) -> Integers:
        """Return the whole numbers from `low` to `high`, or all, as far apart as these: what reports may be."""
        return Integers(low, high, self.spacing, self.unit)

    def __repr__(self) -> str:
        ends = f"{self.low}, {self.high}" if self.is_finite else ""
        return f"Integers({joined(ends, *spacing_and_unit(self))})"


def _check_range(low: int, high: int) -> None:
    for name, value in (("low", low), ("high", high)):
        check_count(name, value, -LARGEST_INTEGER)
    if high > LARGEST_INTEGER:
        raise InvalidParameterError(f"high must be at most 2**53 - 1; got {high}.")
    if low > high:
        raise InvalidParameterError(f"low must not exceed high; got low={low} and high={high}.")
    if high - low >= LARGEST_INTEGER:
        raise InvalidParameterError(f"There may be at most 2**53 - 1 values; got low={low} and high={high}.")


@dataclass(frozen=True, repr=False)
class Line(UnboundedAlphabet, LineAlphabet):
    """Real numbers that are multiples of 2^-16, in steps of the spacing.

    >>> Line().encode([0.5]) == Line().encode([0.5])
    array([ True])
    """

    RESOLUTION: ClassVar[int] = 2**16
    FARTHEST_VALUE: ClassVar[int] = 2**35  # half of what has a number, so that noise of any scale stays inside

    spacing: float = 1.0
    unit: str = ""

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Multiple of which fraction of one a number is."""
        return (self.RESOLUTION,)

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        multiples, exact = multiples_of(values, self.RESOLUTION, 2**52)
        return np.where(exact, fold(multiples), -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return unfold(np.asarray(indices, dtype=np.int64)) / self.RESOLUTION

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return parse_real(fields[0])

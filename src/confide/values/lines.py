"""Numbers on a line: whole ones, and reals on a lattice too fine to matter."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.values.base import Alphabet, joined, spacing_and_unit
from confide.values.checks import check_count, check_positive, check_text
from confide.values.geometry import LatticeGeometry, LineGeometry, Values
from confide.values.kinds import Example
from confide.values.limits import LARGEST_INTEGER


@dataclass(frozen=True)
class Integers(Alphabet):
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

    @cached_property
    def geometry(self) -> LineGeometry:
        """See :attr:`Alphabet.geometry`."""
        return LineGeometry(self.low, self.high, self.spacing)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Distances from each value to the next."""
        return self.geometry.gaps

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


class UnboundedAlphabet(Alphabet):
    """Values that go on for ever in every direction."""

    def __post_init__(self) -> None:
        check_positive("spacing", self.spacing)
        check_text("unit", self.unit)

    @property
    @abstractmethod
    def resolutions(self) -> tuple[int, ...]:
        """Multiples of which fractions of a step the parts of a value are."""

    @cached_property
    def geometry(self) -> LatticeGeometry:
        """See :attr:`Alphabet.geometry`."""
        return LatticeGeometry(self.resolutions, self.spacing)

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`; also of points that lie too far out to have a number."""
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

    spacing: float = 1.0
    unit: str = ""

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Multiple of which fraction of one a number is."""
        return (self.RESOLUTION,)

"""Distances between values, in float64 and in exact arithmetic.

>>> Euclidean(spacing=0.5).distance((0, 0), (3, 4))
2.5
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.checks import as_items, check_positive
from confide.values.portable import length

Value = int | float | str | tuple[int | float | str, ...]
"""One value of an alphabet: a number, a category, or the (row, column) of a cell."""

Bracket = tuple[Fraction, Fraction]
"""Two fractions, one at most and one at least as large as a number that need not be rational."""

FLOAT_ERROR = Fraction(1, 2**48)
"""Relative error allowed to a distance that is known as a float64 alone: a dozen roundings of 2^-53, and room."""


class Metric(ABC):
    """Distance between any two values."""

    name: ClassVar[str] = ""
    """What it is called in a sentence; one without a name is shown as its class writes itself."""

    @abstractmethod
    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """Distances between points; coordinates on the last axis, the others broadcast."""

    def distance(self, left: Value, right: Value) -> float:
        """Return the distance between two single values."""
        return float(self.between(np.atleast_1d(left), np.atleast_1d(right)))

    def farthest(self, points: NDArray[np.float64]) -> float:
        """Return an upper bound on the distance between any two points.

        The default is the diagonal of their bounding box.

        >>> Euclidean().farthest(np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 4.0]]))
        5.0
        """
        return float(self.between(points.min(axis=0), points.max(axis=0)))

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:  # noqa: ARG002
        """Return fractions that bracket the exact distance, to `precision` bits.

        A metric that does not override this is taken at its word: as its float64 result, give or take FLOAT_ERROR.

        >>> low, high = Euclidean().bracket((0, 0), (1, 1), 64)
        >>> low**2 < 2 < high**2
        True
        """
        near = Fraction(float(self.between(left, right)))
        return near * (1 - FLOAT_ERROR), near * (1 + FLOAT_ERROR)

    def __str__(self) -> str:
        return self.name or repr(self)


@dataclass(frozen=True)
class Discrete(Metric):
    """Discrete metric: every two different values are at distance one.

    >>> Discrete().distance("red", "blue")
    1.0
    """

    name = "discrete distance"

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        differ: NDArray[np.bool_] = np.any(np.asarray(left) != np.asarray(right), axis=-1)
        return differ.astype(np.float64)

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:  # noqa: ARG002
        exact = Fraction(tuple(left) != tuple(right))
        return exact, exact


@dataclass(frozen=True)
class _Spaced(Metric):
    """A distance between integers or cells that lie `spacing` apart."""

    spacing: float = 1.0

    def __post_init__(self) -> None:
        check_positive("spacing", self.spacing)


@dataclass(frozen=True)
class Euclidean(_Spaced):
    """Straight-line distance between integers or cells that lie `spacing` apart.

    >>> Euclidean().distance(30, 35)
    5.0
    """

    name = "Euclidean distance"

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        return self.spacing * length(*_differences(left, right))

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:
        squared = sum((step**2 for step in _steps(left, right)), Fraction(0)) * Fraction(self.spacing) ** 2
        # floor(sqrt(n / d) 2^p) = isqrt(floor(n 4^p / d)), and the root lies in [floor, floor + 1).
        root = math.isqrt((squared.numerator << (2 * precision)) // squared.denominator)
        low = Fraction(root, 1 << precision)
        return (low, low) if low**2 == squared else (low, Fraction(root + 1, 1 << precision))


@dataclass(frozen=True)
class Manhattan(_Spaced):
    """Taxicab distance: along the rows, then along the columns.

    >>> Manhattan(spacing=0.5).distance((0, 0), (3, 4))
    3.5
    """

    name = "taxicab distance"

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        return self.spacing * _taxicab(left, right)

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:  # noqa: ARG002
        exact = sum((abs(step) for step in _steps(left, right)), Fraction(0)) * Fraction(self.spacing)
        return exact, exact


@dataclass(frozen=True)
class Uneven(Metric):
    """Distance along a line between values at uneven places.

    >>> Uneven((5, 15, 35, 75)).distance(1, 3)
    60.0
    """

    name = "distance along a line"

    places: tuple[Fraction, ...]
    first: int = 0

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "places", tuple(Fraction(place) for place in as_items("places", self.places)))
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameterError(f"Places on a line must be numbers; got {self.places!r}.") from None
        if any(one >= other for one, other in pairwise(self.places)):
            raise InvalidParameterError(f"Places on a line must rise; got {', '.join(map(str, self.places))}.")

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        one, other = (np.asarray(number, dtype=np.int64)[..., 0] - self.first for number in (left, right))
        # From one place, so that amounts far from zero lose no digits to it.
        places = np.array([float(place - self.places[0]) for place in self.places])
        lengths: NDArray[np.float64] = np.abs(places[one] - places[other])
        return lengths

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:  # noqa: ARG002
        exact = abs(self.places[int(left[0]) - self.first] - self.places[int(right[0]) - self.first])
        return exact, exact


@dataclass(frozen=True)
class Circular(Metric):
    """Shorter distance around a circle of `size` values, spacing 1.

    >>> Circular(24).distance(23, 0), Circular(24).distance(3, 15)
    (1.0, 12.0)
    """

    name = "distance around a circle"

    size: int

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        steps = _taxicab(left, right) % self.size
        lengths: NDArray[np.float64] = np.minimum(steps, self.size - steps)
        return lengths

    def farthest(self, points: NDArray[np.float64]) -> float:
        """Return a bound; corners of the bounding box may be neighbours here.

        >>> Circular(24).farthest(np.array([[0.0], [12.0], [23.0]]))
        12.0
        """
        return float(min(np.ptp(points), self.size // 2))

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:  # noqa: ARG002
        steps = abs(Fraction(left[0]) - Fraction(right[0])) % self.size
        exact = min(steps, self.size - steps)
        return exact, exact


@dataclass(frozen=True)
class SumMetric(Metric):
    """Sum of the distances of a value's parts, each by its metric.

    Attributes
    ----------
    metrics
        The metric of each part.
    widths
        How many coordinates each has: a cell has two.

    Examples
    --------
    >>> SumMetric((Euclidean(), Discrete(), Manhattan()), (1, 1, 2)).distance((30, "f", 0, 0), (32, "m", 1, 4))
    8.0
    """

    metrics: tuple[Metric, ...]
    widths: tuple[int, ...]

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        one, other = np.asarray(left), np.asarray(right)
        each = [metric.between(one[..., own], other[..., own]) for metric, own in self._parts()]
        total: NDArray[np.float64] = sum(each[1:], start=each[0])
        return total

    def distance(self, left: Value, right: Value) -> float:
        ends = zip(self.metrics, cut(left, self.widths), cut(right, self.widths), strict=True)
        return sum(metric.distance(one, other) for metric, one, other in ends)

    def farthest(self, points: NDArray[np.float64]) -> float:
        return sum(metric.farthest(points[:, own]) for metric, own in self._parts())

    def bracket(self, left: Sequence[float], right: Sequence[float], precision: int) -> Bracket:
        each = [metric.bracket(left[own], right[own], precision) for metric, own in self._parts()]
        return sum((low for low, _ in each), Fraction(0)), sum((high for _, high in each), Fraction(0))

    def _parts(self) -> Iterator[tuple[Metric, slice]]:
        """Return each metric with the places of its coordinates."""
        ends = itertools.accumulate(self.widths)
        for metric, width, end in zip(self.metrics, self.widths, ends, strict=True):
            yield metric, slice(end - width, end)

    def __str__(self) -> str:
        return " plus ".join(map(str, self.metrics))


def cut(value: Value, widths: Sequence[int]) -> list[Value]:
    """Split a value of several attributes into one value each.

    >>> cut((30, "f", 2, 5), [1, 1, 2])
    [30, 'f', (2, 5)]
    """
    if not isinstance(value, tuple) or len(value) != sum(widths):
        raise InvalidParameterError(f"A value of {sum(widths)} parts is needed; got {value!r}.")
    ends = itertools.pairwise(itertools.accumulate(widths, initial=0))
    return [value[start] if end - start == 1 else value[start:end] for start, end in ends]


def _steps(left: Sequence[float], right: Sequence[float]) -> list[Fraction]:
    return [Fraction(one) - Fraction(other) for one, other in zip(left, right, strict=True)]


def _differences(left: ArrayLike, right: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the differences of each coordinate, in their order."""
    difference = np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)
    return [difference[..., place] for place in range(difference.shape[-1])]


def _taxicab(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    first, *others = map(np.abs, _differences(left, right))
    return sum(others, start=first)

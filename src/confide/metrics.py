"""Distances between values.

>>> Euclidean(spacing=0.5).distance((0, 0), (3, 4))
2.5
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.checks import check_positive

Value = int | str | tuple[int, ...]
"""One value of an alphabet: a number, a category, or the (row, column) of a cell."""


class Metric(ABC):
    """How far apart two values lie."""

    @abstractmethod
    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """Distances between points whose coordinates lie on the last axis; the other axes broadcast."""

    def distance(self, left: Value, right: Value) -> float:
        """Return the distance between two single values."""
        return float(self.between(np.atleast_1d(left), np.atleast_1d(right)))


@dataclass(frozen=True)
class Discrete(Metric):
    """Every two different values are at distance one.

    >>> Discrete().distance("red", "blue")
    1.0
    """

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Metric.between`."""
        differ: NDArray[np.bool_] = np.any(np.asarray(left) != np.asarray(right), axis=-1)
        return differ.astype(np.float64)

    def __str__(self) -> str:
        return "discrete distance"


@dataclass(frozen=True)
class Euclidean(Metric):
    """Straight-line distance between integers or cells that lie `spacing` apart.

    >>> Euclidean().distance(30, 35)
    5.0
    """

    spacing: float = 1.0

    def __post_init__(self) -> None:
        check_positive("spacing", self.spacing)

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Metric.between`."""
        lengths: NDArray[np.float64] = np.linalg.norm(_difference(left, right), axis=-1)
        return self.spacing * lengths

    def __str__(self) -> str:
        return "Euclidean distance"


@dataclass(frozen=True)
class Manhattan(Metric):
    """Taxicab distance: along the rows, then along the columns.

    >>> Manhattan(spacing=0.5).distance((0, 0), (3, 4))
    3.5
    """

    spacing: float = 1.0

    def __post_init__(self) -> None:
        check_positive("spacing", self.spacing)

    def between(self, left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Metric.between`."""
        lengths: NDArray[np.float64] = np.abs(_difference(left, right)).sum(axis=-1)
        return self.spacing * lengths

    def __str__(self) -> str:
        return "taxicab distance"


def _difference(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)

"""What continuous mechanisms report: real numbers and real points, on a lattice too fine to matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import (
    Indices,
    LineAlphabet,
    PlaneAlphabet,
    Values,
    fold,
    joined,
    pair_up,
    spacing_and_unit,
    take_apart,
    unbounded,
    unfold,
)
from confide.alphabets.numerals import parse_real
from confide.metrics import Value


@dataclass(frozen=True)
class Line(LineAlphabet):
    """Real numbers that are multiples of 2^-16, in steps of the spacing.

    >>> Line().encode([0.5]) == Line().encode([0.5])
    array([ True])
    """

    RESOLUTION: ClassVar[int] = 2**16
    FARTHEST_VALUE: ClassVar[int] = 2**35  # half of what has a number, so that noise of any scale stays inside

    spacing: float = 1.0
    unit: str = ""
    is_finite = False

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        raise unbounded(self, "Integers(low, high)")

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        raise unbounded(self, "Integers(low, high)")

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        multiples, exact = _multiples(values, self.RESOLUTION, 2**52)
        return np.where(exact, fold(multiples), -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return unfold(np.asarray(indices, dtype=np.int64)) / self.RESOLUTION

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return parse_real(fields[0])

    def __repr__(self) -> str:
        return f"Line({joined(*spacing_and_unit(self))})"


@dataclass(frozen=True)
class Plane(PlaneAlphabet):
    """Points whose rows and columns are multiples of 2^-12, in steps of the spacing.

    >>> Plane().decode(Plane().encode([(0.5, -1.25)]))
    array([[ 0.5 , -1.25]])
    """

    RESOLUTION: ClassVar[int] = 2**12
    FARTHEST_VALUE: ClassVar[int] = 2**39  # half of what is held exactly, so that noise of any scale stays inside

    spacing: float = 1.0
    unit: str = ""
    is_finite = False

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        raise unbounded(self, "Grid(rows, columns)")

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        raise unbounded(self, "Grid(rows, columns)")

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`; also of points that lie too far out to have a number."""
        within: NDArray[np.bool_] = np.all(_multiples(values, self.RESOLUTION, 2**52)[1], axis=1)
        return within

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        multiples, exact = _multiples(values, self.RESOLUTION, 2**30)
        near = np.all(exact, axis=1)
        return np.where(near, pair_up(*fold(multiples * near.reshape(-1, 1)).T), -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        return unfold(np.stack(take_apart(np.asarray(indices, dtype=np.int64)), axis=-1)) / self.RESOLUTION

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        row, column = map(parse_real, fields)
        return None if row is None or column is None else (row, column)

    def __repr__(self) -> str:
        return f"Plane({joined(*spacing_and_unit(self))})"


def _multiples(values: Values, resolution: int, limit: int) -> tuple[Indices, NDArray[np.bool_]]:
    """Return values in steps of the resolution, with a mark on those that really are multiples of it."""
    if values.dtype.kind not in "iuf":
        return np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape, dtype=bool)
    scaled = values.astype(np.float64) * resolution
    safe = np.abs(scaled) < limit
    multiples = np.where(safe, scaled, 0.0)
    whole = multiples.astype(np.int64)
    return whole, safe & (whole == multiples)

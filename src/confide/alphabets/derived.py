"""A selection of the values of an alphabet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import Alphabet
from confide.alphabets.geometry import Indices, SubsetGeometry, Values
from confide.checks import read_only
from confide.errors import InvalidParameterError
from confide.metrics import Value


@dataclass(frozen=True, eq=False)
class Selection(Alphabet):
    """Values picked from an alphabet, bounded or unbounded, and numbered anew in the order given.

    >>> from confide import Integers
    >>> few = Selection(Integers(), np.array([-5, 3, 10**9]))
    >>> few.size, few.encode([3, 10**9])
    (3, array([1, 2]))
    """

    whole: Alphabet
    values: Values

    def __post_init__(self) -> None:
        values = self.whole.as_array(self.values)
        if values.shape[0] == 0:
            raise InvalidParameterError(f"A selection from {self.whole!r} needs at least one value; got none.")
        if not self.whole.contains(values).all():
            raise InvalidParameterError(f"A selection must hold values of {self.whole!r}; some are none.")
        object.__setattr__(self, "values", read_only(np.array(values)))
        if _count_distinct(values) != values.shape[0]:
            raise InvalidParameterError(f"A selection from {self.whole!r} must name each value once; some come twice.")

    @cached_property
    def geometry(self) -> SubsetGeometry:
        """See :attr:`Alphabet.geometry`."""
        return SubsetGeometry(self.whole.geometry, int(self.values.shape[0]))

    @property
    def selected_from(self) -> Alphabet:  # type: ignore[override]  # asked of the whole, where it is a setting
        """See :attr:`Alphabet.selected_from`."""
        return self.whole

    @property
    def unit(self) -> str:  # type: ignore[override]  # asked of the whole, where it is a setting
        """Unit of distances."""
        return self.whole.unit

    @property
    def field_names(self) -> tuple[str, ...]:
        """See :attr:`Alphabet.field_names`."""
        return self.whole.field_names

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        if self.whole.is_finite:
            chosen: NDArray[np.float64] = self.whole.coordinates[self.whole.locate(self.values)]
            return chosen
        # Unbounded alphabets hold whole numbers and cells, which lie where their numbers say.
        return self.values.astype(np.float64).reshape(self.size, -1)

    def points(self, indices: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Alphabet.points`."""
        return self.whole.points(self.whole.locate(self.decode(indices)))

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        return np.array([self._numbers.get(key, -1) for key in _keys(values)], dtype=np.int64)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        chosen: Values = self.values[np.asarray(indices, dtype=np.int64)]
        return chosen

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        return self.whole.parse(fields)

    @property
    def has_labels(self) -> bool:  # type: ignore[override]  # asked of the whole
        """See :attr:`Alphabet.has_labels`."""
        return self.whole.has_labels

    def _name(self, values: Values) -> list[str]:
        return self.whole._name(values)

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_] | None:
        """See :meth:`Alphabet.compare`."""
        asked = self.whole.compare(sign, literal) if self.whole.is_finite else None
        return None if asked is None else asked[self.whole.locate(self.values)]

    @cached_property
    def _numbers(self) -> dict[Value, int]:
        return {key: number for number, key in enumerate(_keys(self.values))}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self.whole == other.whole and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.whole, self.size, *_keys(self.values[:3])))

    def __repr__(self) -> str:
        return f"Selection({self.size:,} of {self.whole!r})"


def _count_distinct(values: Values) -> int:
    if values.dtype.kind == "O":
        return len(set(_keys(values)))
    return int(np.unique(values, axis=None if values.ndim == 1 else 0).shape[0])


def _keys(values: Values) -> list[Value]:
    """Return values as what a dictionary can hold."""
    listed = values.tolist()
    return [tuple(value) if isinstance(value, list) else value for value in listed]

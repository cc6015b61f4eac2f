"""Unordered values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import Alphabet, Indices, Values
from confide.alphabets.numerals import parse_integer
from confide.errors import InvalidParameterError
from confide.metrics import Discrete, Metric, Value


@dataclass(frozen=True)
class Categories(Alphabet):
    """Unordered values, all strings or all integers; no two are closer than any other two.

    >>> Categories(["yes", "no"]).encode(["no", "no", "yes"])
    array([1, 1, 0])
    """

    values: tuple[Hashable, ...]
    cure = "Correct them or add them to the alphabet."

    def __init__(self, values: Sequence[str] | Sequence[int]) -> None:
        if isinstance(values, str):
            raise InvalidParameterError(f"Categories needs a list of values; got the one string {values!r}.")
        if not isinstance(values, Iterable):
            raise InvalidParameterError(f"Categories needs a list of values; got {values!r}.")
        plain = (value.item() if isinstance(value, np.generic) else value for value in values)
        object.__setattr__(self, "values", tuple(plain))
        self._check()

    def _check(self) -> None:
        if not self.values:
            raise InvalidParameterError("Categories needs a list of at least one value; got none.")
        kinds = {type(value) for value in self.values}
        if kinds not in ({str}, {int}):
            raise InvalidParameterError(f"Categories must be all strings or all integers; got {_type_names(kinds)}.")
        cut = next((value for value in self.values if isinstance(value, str) and value.endswith("\0")), None)
        if cut is not None:  # numpy's strings end at their last letter that is no NUL, so "a" and "a\0" are one
            raise InvalidParameterError(f"Categories must not end with a NUL character; got {cut!r}. Strip it.")
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
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`; for categories merely their numbers."""
        return np.arange(self.size, dtype=np.float64)[:, None]

    def points(self, indices: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Alphabet.points`; for categories merely their numbers."""
        return np.asarray(indices, dtype=np.float64).reshape(-1, 1)

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
        return parse_integer(fields[0]) if isinstance(self.values[0], int) else fields[0]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.values[:4]))
        return f"Categories([{shown}{', ...' if self.size > 4 else ''}])"


def _type_names(kinds: set[type]) -> str:
    return " and ".join(sorted(kind.__name__ for kind in kinds))

"""Pairs of values from two alphabets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import Alphabet, Indices, Values
from confide.errors import InvalidParameterError
from confide.metrics import Metric, SumMetric, Value


@dataclass(frozen=True)
class Pairs(Alphabet):
    """All pairs of a value of the first alphabet and one of the second, numbered row by row.

    >>> from confide import Categories, Integers
    >>> Pairs(Integers(0, 9), Categories(["f", "m"])).encode([(3, "m"), (0, "f")])
    array([7, 0])
    """

    first: Alphabet
    second: Alphabet
    parts = 2

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if part.parts > 1:
                raise InvalidParameterError(f"Pairs are made of single values; {part!r} has values of several parts.")

    @property
    def is_finite(self) -> bool:
        """See :attr:`Alphabet.is_finite`."""
        return self.first.is_finite and self.second.is_finite

    @property
    def size(self) -> int:
        """See :attr:`Alphabet.size`."""
        return self.first.size * self.second.size

    @property
    def field_names(self) -> tuple[str, ...]:
        """What the parts are called in files."""
        return ("first", "second")

    @property
    def metric(self) -> Metric:
        """See :attr:`Alphabet.metric`."""
        return SumMetric(self.first.metric, self.second.metric)

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """See :attr:`Alphabet.coordinates`."""
        self.require_listable()
        left, right = self._split(np.arange(self.size))
        return np.hstack([self.first.coordinates[left], self.second.coordinates[right]])

    def points(self, indices: ArrayLike) -> NDArray[np.float64]:
        """See :meth:`Alphabet.points`."""
        left, right = self._split(np.asarray(indices, dtype=np.int64))
        return np.hstack([self.first.points(left), self.second.points(right)])

    def as_array(self, values: ArrayLike) -> Values:
        """See :meth:`Alphabet.as_array`; parts of different types are kept as they are."""
        pairs = np.array(values, dtype=object)
        if pairs.size % 2 or (pairs.size and pairs.shape[-1] != 2):
            raise InvalidParameterError(f"{self!r} takes a sequence of pairs; got an array of shape {pairs.shape}.")
        return pairs.reshape(-1, 2)

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`."""
        columns = [np.array(values[:, part].tolist()) for part in (0, 1)]
        left, right = self.first.locate(columns[0]), self.second.locate(columns[1])
        return np.where((left >= 0) & (right >= 0), left * self.second.size + right, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`."""
        numbers = np.asarray(indices, dtype=np.int64)
        left, right = self._split(numbers.reshape(-1))
        columns: list[Values] = [self.first.decode(left), self.second.decode(right)]
        if columns[0].dtype.kind != columns[1].dtype.kind:
            columns = [column.astype(object) for column in columns]  # a number beside a category stays a number
        return np.stack(columns, axis=-1).reshape(*numbers.shape, 2)

    def labels(self) -> list[str]:
        """See :meth:`Alphabet.labels`."""
        self.require_listable()
        return [f"({first}, {second})" for first in self.first.labels() for second in self.second.labels()]

    def parse(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.parse`."""
        left, right = self.first.parse(fields[:1]), self.second.parse(fields[1:])
        pair: Any = (left, right)
        return None if left is None or right is None else pair

    def _split(self, indices: Indices) -> tuple[Indices, Indices]:
        left, right = np.divmod(indices, self.second.size)
        return left, right

    def __repr__(self) -> str:
        return f"Pairs({self.first!r}, {self.second!r})"

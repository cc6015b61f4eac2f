"""Exact sampling from rows of integer weights, at array speed and with no floating point.

Row x is drawn from by comparing a uniform real u in [0, 1) with the row's cumulative weights C_1/W, C_2/W, ... Only
the leading bits of u are drawn. They settle the answer unless they agree with the leading bits of some C_j/W; then,
and only then, more bits of u are drawn and compared with more bits of C_j/W, in integers of any size. The result has
exactly the probabilities weight/W, whatever the weights' size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from confide.sampling.bits import Bits

Indices = NDArray[np.int64]

KEY_BITS = 63
"""Keys are a row number above leading bits of u, in one non-negative int64."""


@dataclass(frozen=True)
class WeightRows:
    """Rows of non-negative integer weights, ready to be drawn from.

    >>> from confide.sampling.bits import as_bits
    >>> rows = WeightRows.of([[1, 3], [2, 2]])
    >>> rows.draw(np.array([0, 0, 1]), as_bits(7)).shape
    (3,)
    """

    cumulative: tuple[tuple[int, ...], ...]
    leading_bits: int
    thresholds: NDArray[np.int64]
    """For each row and each j but the last, row number and leading bits of C_j/W, as one sorted array."""

    @classmethod
    def of(cls, weights: Sequence[Sequence[int]]) -> WeightRows:
        """Prepare rows of weights, all of the same length and each with a positive sum."""
        leading_bits = KEY_BITS - (len(weights) - 1).bit_length()
        cumulative = tuple(tuple(accumulate(row)) for row in weights)
        thresholds = [
            (number << leading_bits) | _leading(bound, row[-1], leading_bits)
            for number, row in enumerate(cumulative)
            for bound in row[:-1]
        ]
        return cls(cumulative, leading_bits, np.array(thresholds, dtype=np.int64))

    def draw(self, rows: Indices, bits: Bits) -> Indices:
        """Draw one outcome from each of the given rows."""
        inner = len(self.cumulative[0]) - 1
        if inner == 0:
            return np.zeros(rows.shape, dtype=np.int64)
        leading = (bits.words(rows.size) >> np.uint64(64 - self.leading_bits)).astype(np.int64)
        keys = (rows.astype(np.int64) << self.leading_bits) | leading
        places = np.searchsorted(self.thresholds, keys, side="right")
        outcomes = places - rows * inner
        for tie in np.flatnonzero(self.thresholds[places - 1] == keys):
            outcomes[tie] = self._settle(int(rows[tie]), int(leading[tie]), bits)
        return outcomes

    def _settle(self, row: int, leading: int, bits: Bits) -> int:
        """Extend u bit by bit until no cumulative weight of the row is left undecided."""
        cumulative = self.cumulative[row]
        u, precision, total = leading, self.leading_bits, cumulative[-1]
        while True:
            # u now stands for the interval [u, u + 1) / 2^precision; it is settled once it lies between two bounds.
            below = _count_at_most(cumulative, u * total, precision)
            if below == _count_below(cumulative, (u + 1) * total, precision):
                return below
            u, precision = (u << 64) | bits.word(), precision + 64


def _leading(bound: int, total: int, precision: int) -> int:
    """Return the leading bits of bound / total; a bound of 1 is brought just below it."""
    return min((bound << precision) // total, (1 << precision) - 1)


def _count_at_most(cumulative: Sequence[int], scaled: int, precision: int) -> int:
    """Count the bounds C with C / W <= u / 2^precision."""
    return sum((bound << precision) <= scaled for bound in cumulative)


def _count_below(cumulative: Sequence[int], scaled: int, precision: int) -> int:
    """Count the bounds C with C / W < (u + 1) / 2^precision."""
    return sum((bound << precision) < scaled for bound in cumulative)

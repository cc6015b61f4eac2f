"""Exact sampling from rows of integer weights, at array speed and with no floating point.

Row x is drawn from by comparing a uniform real u in [0, 1) with the row's cumulative weights C_1/W, C_2/W, ... Only
the leading 64 bits of u are drawn. They settle the answer unless they agree with the leading bits of some C_j/W; then,
and only then, more bits of u are drawn and compared with more bits of C_j/W, in integers of any size. The result has
exactly the probabilities weight/W, whatever the weights' size.

A guide gives the outcome at once for most leading bits: it cuts [0, 1) into buckets, and few of them hold a C_j/W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from confide.mechanisms.sampling.bits import Bits

Indices = NDArray[np.int64]

UNSURE = -1
"""Mark in the guide of a bucket that holds a bound."""

BATCH = 2**16
"""Number of outcomes drawn at a time: what is worked on then stays in the processor's cache."""


@dataclass(frozen=True)
class WeightRows:
    """Rows of non-negative integer weights, ready to be drawn from.

    >>> from confide.mechanisms.sampling.bits import as_bits
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
        # 63: keys are a row number above leading bits of u, in one non-negative int64.
        leading_bits = 63 - (len(weights) - 1).bit_length()
        cumulative = tuple(tuple(accumulate(row)) for row in weights)
        thresholds = [
            (number << leading_bits) | _leading(bound, row[-1], leading_bits)
            for number, row in enumerate(cumulative)
            for bound in row[:-1]
        ]
        return cls(cumulative, leading_bits, np.array(thresholds, dtype=np.int64))

    def draw(self, rows: Indices, bits: Bits) -> Indices:
        """Draw one outcome from each of the given rows."""
        if self._inner == 0:
            return np.zeros(rows.shape, dtype=np.int64)
        outcomes = np.empty(rows.size, dtype=np.int64)
        for start in range(0, rows.size, BATCH):
            batch = slice(start, start + BATCH)
            outcomes[batch] = self._draw_batch(rows[batch].astype(np.int64), bits)
        return outcomes

    @property
    def _inner(self) -> int:
        """Number of bounds of a row below 1."""
        return len(self.cumulative[0]) - 1

    @cached_property
    def _bucket_shift(self) -> int:
        """Number of bits of a key that a bucket leaves open; there are at least 32 buckets a bound, while they fit."""
        wanted = (32 * self._inner).bit_length()
        # 20: at most 2^20 buckets, 4 MB, which a processor's cache holds.
        fitting = 20 - (len(self.cumulative) - 1).bit_length()
        return self.leading_bits - max(0, min(wanted, fitting))

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """The outcome for each bucket of keys, or UNSURE."""
        buckets = len(self.cumulative) << (self.leading_bits - self._bucket_shift)
        starts = np.arange(buckets) << self._bucket_shift
        below = np.append(np.searchsorted(self.thresholds, starts), self.thresholds.size)
        outcomes = below[:-1] - (starts >> self.leading_bits) * self._inner
        return np.where(np.diff(below) > 0, UNSURE, outcomes).astype(np.int32)

    def _draw_batch(self, rows: Indices, bits: Bits) -> Indices:
        words = bits.words(rows.size)
        leading = (words >> np.uint64(64 - self.leading_bits)).astype(np.int64)
        keys = (rows << self.leading_bits) | leading
        outcomes: Indices = self._guide[keys >> self._bucket_shift].astype(np.int64)
        unsure = np.flatnonzero(outcomes == UNSURE)
        places = np.searchsorted(self.thresholds, keys[unsure], side="right")
        outcomes[unsure] = places - rows[unsure] * self._inner
        for tie in unsure[self.thresholds[places - 1] == keys[unsure]]:
            outcomes[tie] = self._settle(int(rows[tie]), int(words[tie]), bits)
        return outcomes

    def _settle(self, row: int, word: int, bits: Bits) -> int:
        """Extend u word by word until no cumulative weight of the row is left undecided."""
        cumulative = self.cumulative[row]
        u, precision, total = word, 64, cumulative[-1]
        while True:
            # u now stands for the interval [u, u + 1) / 2^precision; it is settled once it lies between two bounds.
            low, high = u * total, (u + 1) * total
            below = sum((bound << precision) <= low for bound in cumulative)
            if below == sum((bound << precision) < high for bound in cumulative):
                return below
            u, precision = (u << 64) | bits.word(), precision + 64


def _leading(bound: int, total: int, precision: int) -> int:
    """Return the leading bits of bound / total; a bound of 1 is brought just below it."""
    return min((bound << precision) // total, (1 << precision) - 1)

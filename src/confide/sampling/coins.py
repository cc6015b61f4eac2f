"""Coins with any probability, tossed exactly.

A toss compares a random 64-bit word with the leading bits of the probability, and draws more bits only when they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.sampling.bits import Bits
from confide.sampling.ratios import power_bounds

WORD = 64
GUARD_BITS = 32


@dataclass(frozen=True)
class PowerCoin:
    """Heads with probability r = ratio^(2^digit)."""

    ratio: Fraction
    digit: int = 0

    def bounds(self, precision: int) -> tuple[int, int]:
        """Return integers around the probability times 2^precision."""
        return power_bounds(self.ratio, 1 << self.digit, precision)

    @cached_property
    def _threshold(self) -> int:
        return self.bounds(WORD + GUARD_BITS)[0] >> GUARD_BITS

    def toss(self, count: int, bits: Bits) -> NDArray[np.bool_]:
        """Toss `count` times."""
        words = bits.words(count)
        heads = words < np.uint64(self._threshold)
        # The true threshold lies within one unit of this one, so only these two words leave a doubt.
        doubtful = (words == np.uint64(self._threshold)) | (words == np.uint64(self._threshold + 1))
        for tie in np.flatnonzero(doubtful):
            heads[tie] = self._settle(int(words[tie]), bits)
        return heads

    def _settle(self, word: int, bits: Bits) -> bool:
        u, precision = word, WORD
        while True:
            low, high = self.bounds(precision)
            if u + 1 <= low:
                return True
            if u >= high:
                return False
            u, precision = (u << WORD) | bits.word(), precision + WORD


@dataclass(frozen=True)
class OddsCoin(PowerCoin):
    """Heads with probability r / (1 + r)."""

    def bounds(self, precision: int) -> tuple[int, int]:
        """See :meth:`PowerCoin.bounds`."""
        low, high = power_bounds(self.ratio, 1 << self.digit, precision + GUARD_BITS)
        one = 1 << (precision + GUARD_BITS)
        return (low << precision) // (one + low), -((-high << precision) // (one + high))

"""Two-sided geometric noise over all integers, exact and with no floating point.

The binary digits of a geometric variable G with P(G = g) proportional to alpha^g are independent: digit i is 1 with
probability r / (1 + r), r = alpha^(2^i). So G is a handful of independent coins, and the difference of two such G is
the two-sided geometric. Each coin compares a random 64-bit word with the leading bits of its probability, and draws
more bits only when the two agree, so that probabilities which no machine word can hold are still met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.sampling.bits import Bits

WORD = 64
GUARD_BITS = 32


@dataclass(frozen=True)
class GeometricNoise:
    """Noise d on the integers with probability (1 - ratio) / (1 + ratio) ratio^|d|.

    >>> from confide.sampling.bits import as_bits
    >>> GeometricNoise(Fraction(1, 2)).draw(3, as_bits(1)).shape
    (3,)
    """

    ratio: Fraction

    def draw(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent integers."""
        return self._one_sided(count, bits) - self._one_sided(count, bits)

    @cached_property
    def _digits(self) -> int:
        """How many digits are drawn for everyone: past them, G exceeds 2^digits with probability below 2^-64."""
        digits, power = 0, self.ratio
        while power > Fraction(1, 2**WORD):
            # Rounding is harmless here: any number of digits is exact, this only picks a fast one.
            power = Fraction(int(power * power * 2**256) + 1, 2**256)
            digits += 1
        return digits

    @cached_property
    def _coins(self) -> tuple[_DigitCoin, ...]:
        return tuple(_DigitCoin(self.ratio, digit) for digit in range(self._digits))

    def _one_sided(self, count: int, bits: Bits) -> NDArray[np.int64]:
        total = np.zeros(count, dtype=np.int64)
        for digit, coin in enumerate(self._coins):
            total += coin.toss(count, bits).astype(np.int64) << digit
        overflow = _PowerCoin(self.ratio, self._digits)
        undecided = np.arange(count)
        while undecided.size:  # memoryless: having passed 2^digits, the rest is geometric again
            undecided = undecided[overflow.toss(undecided.size, bits)]
            total[undecided] += 1 << self._digits
        return total


@dataclass(frozen=True)
class _PowerCoin:
    """Heads with probability r = ratio^(2^digit)."""

    ratio: Fraction
    digit: int

    def bounds(self, precision: int) -> tuple[int, int]:
        """Return integers around the probability times 2^precision."""
        return _power_bounds(self.ratio, self.digit, precision)

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
class _DigitCoin(_PowerCoin):
    """Heads with probability r / (1 + r)."""

    def bounds(self, precision: int) -> tuple[int, int]:
        """See :meth:`_PowerCoin.bounds`."""
        low, high = _power_bounds(self.ratio, self.digit, precision + GUARD_BITS)
        one = 1 << (precision + GUARD_BITS)
        return (low << precision) // (one + low), -((-high << precision) // (one + high))


def _power_bounds(ratio: Fraction, digit: int, precision: int) -> tuple[int, int]:
    """Return integers around ratio^(2^digit) times 2^precision, close enough to decide ties."""
    # Each squaring doubles the error, so `digit` guard bits keep it below one unit.
    guard = digit + 2
    scale = precision + guard
    low = (ratio.numerator << scale) // ratio.denominator
    high = -((-ratio.numerator << scale) // ratio.denominator)
    for _ in range(digit):
        low, high = (low * low) >> scale, -((-high * high) >> scale)
    return low >> guard, -(-high >> guard)

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

from confide.sampling.bits import WORD, Bits, OddsCoin, PowerCoin


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
        return self.draw_one_sided(count, bits) - self.draw_one_sided(count, bits)

    @cached_property
    def _digits(self) -> int:
        """Number of digits that are drawn for everyone: past them, G exceeds 2^digits with probability below 2^-64."""
        digits, power = 0, self.ratio
        while power > Fraction(1, 2**WORD):
            # Rounding is harmless here: any number of digits is exact, this only picks a fast one.
            power = Fraction(int(power * power * 2**256) + 1, 2**256)
            digits += 1
        return digits

    @cached_property
    def _coins(self) -> tuple[OddsCoin, ...]:
        return tuple(OddsCoin(self.ratio, digit) for digit in range(self._digits))

    def draw_one_sided(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent naturals g with probability proportional to ratio^g."""
        total = np.zeros(count, dtype=np.int64)
        for digit, coin in enumerate(self._coins):
            total += coin.toss(count, bits).astype(np.int64) << digit
        overflow = PowerCoin(self.ratio, self._digits)
        undecided = np.arange(count)
        while undecided.size:  # memoryless: having passed 2^digits, the rest is geometric again
            undecided = undecided[overflow.toss(undecided.size, bits)]
            total[undecided] += 1 << self._digits
        return total


@dataclass(frozen=True)
class LaplaceCellNoise:
    """The number of cells that continuous Laplace noise moves a cell's centre by.

    With half_ratio = e^(-rate / 2) for cells of width 1, it stays with probability 1 - half_ratio, and otherwise goes
    either way by 1 + G cells, G geometric with ratio half_ratio^2.
    """

    half_ratio: Fraction

    def draw(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent integers."""
        moves = PowerCoin(self.half_ratio, 0).toss(count, bits)
        noise = np.zeros(count, dtype=np.int64)
        steps = 1 + GeometricNoise(self.half_ratio**2).draw_one_sided(int(moves.sum()), bits)
        noise[moves] = np.where(bits.words(steps.size) & np.uint64(1), -steps, steps)
        return noise

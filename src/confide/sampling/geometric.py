"""Two-sided geometric noise over all integers, exact and with no floating point.

The binary digits of a geometric variable G with P(G = g) proportional to alpha^g are independent: digit i is 1 with
probability r / (1 + r), r = alpha^(2^i). So G is a handful of independent coins, and the difference of two such G is
the two-sided geometric. Each coin compares random bits with the leading ones of its probability, and draws more only
when the two agree, so that probabilities which no machine word can hold are still met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.sampling.bits import Bits, OddsCoin, PowerCoin, toss_all

BATCH = 2**14
"""Draws at a time: what is worked on then stays in the processor's cache."""


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
        noise = np.empty(count, dtype=np.int64)
        for start in range(0, count, BATCH):
            batch = noise[start : start + BATCH]
            batch[:] = self._draw_batch(batch.size, bits)
            batch -= self._draw_batch(batch.size, bits)
        return noise

    def draw_one_sided(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent naturals g with probability proportional to ratio^g."""
        parts = [self._draw_batch(min(BATCH, count - start), bits) for start in range(0, count, BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def _digits(self) -> int:
        """Number of digits that are drawn for everyone: past them, G exceeds 2^digits less than once in 256 times."""
        digits = 0
        while PowerCoin(self.ratio, digits).leading(8):
            digits += 1
        return digits

    @cached_property
    def _coins(self) -> tuple[PowerCoin, ...]:
        """The digits from the lowest up, and whether G passes 2^digits."""
        return (*(OddsCoin(self.ratio, digit) for digit in range(self._digits)), PowerCoin(self.ratio, self._digits))

    def _draw_batch(self, count: int, bits: Bits) -> NDArray[np.int64]:
        heads = toss_all(self._coins, count, bits)
        total = np.zeros(count, dtype=np.int64)
        for start in range(0, self._digits, 8):  # eight digits make a byte
            octets = np.zeros(count, dtype=np.uint8)
            for digit, row in enumerate(heads[start : min(start + 8, self._digits)].view(np.uint8)):
                octets |= row << np.uint8(digit)
            total |= octets.astype(np.int64) << start
        undecided = np.flatnonzero(heads[-1])
        while undecided.size:  # memoryless: having passed 2^digits, the rest is geometric again
            total[undecided] += 1 << self._digits
            undecided = undecided[self._coins[-1].toss(undecided.size, bits)]
        return total


@dataclass(frozen=True)
class LaplaceCellNoise:
    """The number of cells that continuous Laplace noise moves a cell's centre by.

    With half_ratio = e^(-rate / 2) for cells of width 1, it stays with probability 1 - half_ratio, and otherwise goes
    either way by 1 + G cells, G geometric with ratio half_ratio^2.
    """

    half_ratio: Fraction

    def draw(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent integers; steps are drawn for all, so that time does not tell who stays."""
        moves = PowerCoin(self.half_ratio, 0).toss(count, bits)
        steps = 1 + GeometricNoise(self.half_ratio**2).draw_one_sided(count, bits)
        return np.where(moves, np.where(bits.octets(count) & 1, -steps, steps), 0)

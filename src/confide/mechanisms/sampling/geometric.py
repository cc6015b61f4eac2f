"""Two-sided geometric noise over all integers, exact and with no floating point.

The binary digits of a geometric variable G with P(G = g) proportional to alpha^g are independent: digit i is 1 with
probability r / (1 + r), r = alpha^(2^i). So G is a handful of independent coins, and the difference of two such G is
the two-sided geometric. Each coin compares random bits with the leading ones of its probability, and draws more only
when the two agree, so that probabilities which no machine word can hold are still met exactly.

Noise on the plane: from a table of displacements, or over the whole unbounded lattice.

Both give two arrays of integers, rows and columns to move by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.mechanisms.sampling.bits import (
    Bits,
    OddsCoin,
    PowerCoin,
    as_integers,
    exponential_bounds,
    log_of,
    over_root_two,
    power_bounds,
    ratio_above,
    toss_all,
)
from confide.mechanisms.sampling.categorical import WeightRows

BATCH = 2**14
"""Draws at a time: what is worked on then stays in the processor's cache."""


@dataclass(frozen=True)
class GeometricNoise:
    """Noise d on the integers with probability (1 - ratio) / (1 + ratio) ratio^|d|.

    >>> from confide.mechanisms.sampling.bits import as_bits
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


Indices = NDArray[np.int64]
Displacements = tuple[Indices, Indices]

DOUBT = 1e-9
"""Float64 decides only where it is this far from the edge, a million times its error; integers decide the rest."""


@dataclass(frozen=True, eq=False)
class TableNoise:
    """Displacements with the probabilities of a table over one quadrant, alike in all four.

    >>> from confide.mechanisms.sampling.bits import as_bits
    >>> rows, columns = TableNoise(np.array([[0.5, 0.25]])).draw(4, as_bits(1))
    >>> bool((rows == 0).all()), bool((np.abs(columns) <= 1).all())
    (True, True)
    """

    quadrant: NDArray[np.float64]

    @cached_property
    def _weights(self) -> WeightRows:
        """One row of weights over the quadrant, each times how often its displacement stands in the plane."""
        height, width = self.quadrant.shape
        copies = np.outer(1 + (np.arange(height) > 0), 1 + (np.arange(width) > 0)).reshape(-1).tolist()
        weights = as_integers(self.quadrant)
        return WeightRows.of([[weight * times for weight, times in zip(weights, copies, strict=True)]])

    def draw(self, count: int, bits: Bits) -> Displacements:
        """Draw `count` independent displacements."""
        chosen = self._weights.draw(np.zeros(count, dtype=np.int64), bits)
        rows, columns = np.divmod(chosen, self.quadrant.shape[1])
        signs = bits.octets(count)
        return _signed(rows, signs & 1), _signed(columns, signs & 2)


@dataclass(frozen=True)
class ProductNoise:
    """Two-sided geometric noise on each coordinate: the taxicab mechanism's."""

    ratio: Fraction

    def draw(self, count: int, bits: Bits) -> Displacements:
        """Draw `count` independent displacements."""
        noise = GeometricNoise(self.ratio)
        return noise.draw(count, bits), noise.draw(count, bits)


@dataclass(frozen=True)
class PlanarGeometricNoise:
    """Displacements over the unbounded lattice with probability proportional to e^(-decay hypot(i, j)), exactly.

    Taxicab noise of rate decay / sqrt 2 lies above it everywhere, because |i| + |j| <= sqrt 2 hypot(i, j). So it is
    proposed, and kept with the ratio of the two; nearly four of five are.

    >>> from confide.mechanisms.sampling.bits import as_bits
    >>> [part.shape for part in PlanarGeometricNoise(Fraction(1)).draw(3, as_bits(1))]
    [(3,), (3,)]
    """

    decay: Fraction

    @cached_property
    def _proposal(self) -> ProductNoise:
        return ProductNoise(ratio_above(over_root_two(self.decay)))

    def draw(self, count: int, bits: Bits) -> Displacements:
        """Draw `count` independent displacements."""
        rows, columns = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        pending = np.arange(count)
        while pending.size:
            down, along = self._proposal.draw(pending.size, bits)
            kept = self._keep(down, along, bits)
            rows[pending[kept]], columns[pending[kept]] = down[kept], along[kept]
            pending = pending[~kept]
        return rows, columns

    def _keep(self, down: Indices, along: Indices, bits: Bits) -> NDArray[np.bool_]:
        words = bits.words(down.size)
        steps = np.abs(down) + np.abs(along)
        exponent = float(self.decay) * np.hypot(down, along) + steps * log_of(self._proposal.ratio)
        margin = words.astype(np.float64) / 2.0**64 - np.exp(-exponent)
        kept = margin < 0
        # The exponent is a difference of two that grow with the steps, and so does its rounding.
        for doubt in np.flatnonzero(np.abs(margin) < DOUBT * (1 + 1e-6 * float(self.decay) * steps)):
            kept[doubt] = self._settle(int(down[doubt]), int(along[doubt]), int(words[doubt]), bits)
        return kept

    def _settle(self, down: int, along: int, word: int, bits: Bits) -> bool:
        """Decide u < e^(-decay hypot) / ratio^steps in integers; more of u is drawn only while the two agree."""
        if down == 0 and along == 0:
            return True  # where the proposal is as likely as what is wanted
        u, precision = word, 64
        while u == (edge := self._leading(down, along, precision)):
            u, precision = (u << 64) | bits.word(), precision + 64
        return u < edge

    def _leading(self, down: int, along: int, precision: int) -> int:
        """Return the first `precision` bits of the probability to keep a proposal, which is irrational."""
        steps = abs(down) + abs(along)
        guard = math.ceil(2 * self.decay * steps) + 64  # more than the bits by which either side may lie below 1
        while True:
            scale = precision + guard
            # Integers around e^(-decay hypot(down, along)) times 2^precision.
            root = math.isqrt((down * down + along * along) << (2 * scale))
            shorter, longer = self.decay * Fraction(root, 2**scale), self.decay * Fraction(root + 1, 2**scale)
            low, high = exponential_bounds(longer, scale)[0], exponential_bounds(shorter, scale)[1]
            ratio_low, ratio_high = power_bounds(self._proposal.ratio, steps, scale)
            edges = (low << precision) // ratio_high, (high << precision) // ratio_low
            if edges[0] == edges[1]:
                return edges[0]
            guard += 64


def _signed(magnitudes: Indices, negative: NDArray[np.integer[Any]]) -> Indices:
    return np.where(negative != 0, -magnitudes, magnitudes)

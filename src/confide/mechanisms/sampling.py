"""Exact and secure sampling on integers.

Reports of finite mechanisms, of geometric and Laplace noise and of RAPPOR involve no floating point after the random
bits. Unbounded planar noise compares floats if they are a million times their error away from the edge, and otherwise
integers of any size, so its probabilities are exact too.

This module has random bytes, from the operating system or a seeded generator, and the exact coins, integers and
permutations made from them.

Random bits are the bottleneck of exact noise. So a coin compares four random bits with the leading bits of its
probability, and draws more only if they agree. docs/device.md specifies how many bytes are drawn and what they decide.
"""

from __future__ import annotations

import hmac
import math
import os
import string
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.values.portable import canonical_json
from confide.values.wording import counted

Indices = NDArray[np.int64]


def ratio_above(exponent: Fraction) -> Fraction:
    """Return a dyadic fraction just above e^-exponent.

    >>> ratio_above(Fraction(1)) > Fraction(math.exp(-1)) - Fraction(1, 2**50)
    True
    >>> float(ratio_above(Fraction(1))) == math.exp(-1)
    True
    """
    # 64 bits: the ratio exceeds e^-x by less than two parts in 2^64, so the noise is hardly stronger than promised.
    fraction_bits = 64 + math.ceil(exponent * 3 / 2)  # log2(e) < 3/2
    context = Context(prec=120)
    scaled = context.multiply(_exponential(exponent, context), Decimal(2**fraction_bits))
    # 1e-40: far more than the error of 120 correct digits, far less than one unit of the result.
    above = int(context.add(scaled, Decimal("1e-40"))) + 1
    return Fraction(above, 2**fraction_bits)


def log_of(ratio: Fraction) -> float:
    """Return log(ratio), for 0 < ratio < 1, to full relative accuracy.

    >>> log_of(1 - Fraction(1, 10**12)) == math.log1p(-1e-12)
    True
    """
    return math.log1p(-float(1 - ratio)) if ratio > Fraction(1, 2) else math.log(ratio)


def over_root_two(number: Fraction) -> Fraction:
    """Return a fraction just below number / sqrt(2), to about 100 bits.

    >>> float(over_root_two(Fraction(1))) == 0.5**0.5
    True
    """
    scale = 2**128 * number.denominator
    return Fraction(math.isqrt((number.numerator * 2**128) ** 2 // 2), scale)


def exponential_bounds(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Return integers around 2^precision e^-exponent, for exponent >= 0.

    >>> low, high = exponential_bounds(Fraction(1), 10)
    >>> low <= math.exp(-1) * 1024 <= high, high - low <= 3
    (True, True)
    """
    context = Context(prec=30 + precision // 3)
    scaled = context.multiply(_exponential(exponent, context), Decimal(2**precision))
    return int(scaled) - 1 if scaled > 1 else 0, int(scaled) + 2


def power_bounds(ratio: Fraction, exponent: int, precision: int) -> tuple[int, int]:
    """Return close integers around 2^precision ratio^exponent, for a ratio below 1.

    They never get huge.

    >>> power_bounds(Fraction(1, 2), 3, 10)
    (128, 128)
    """
    # Every product doubles the error at most, so these guard bits keep it below one unit.
    guard = 2 * exponent.bit_length() + 2
    scale = precision + guard
    low, high = 1 << scale, 1 << scale
    base_low = (ratio.numerator << scale) // ratio.denominator
    base_high = -((-ratio.numerator << scale) // ratio.denominator)
    for bit in bin(exponent)[2:]:
        low, high = (low * low) >> scale, -((-high * high) >> scale)
        if bit == "1":
            low, high = (low * base_low) >> scale, -((-high * base_high) >> scale)
    return low >> guard, -(-high >> guard)


def as_integers(table: NDArray[np.float64]) -> list[int]:
    """Return float64 numbers as integers over a common denominator, exactly.

    >>> as_integers(np.array([0.5, 0.75]))
    [2, 3]
    """
    fractions = [number.as_integer_ratio() for number in table.reshape(-1).tolist()]
    largest = max(denominator for _, denominator in fractions)  # all are powers of two
    return [numerator * (largest // denominator) for numerator, denominator in fractions]


def _exponential(exponent: Fraction, context: Context) -> Decimal:
    return context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))


Words = NDArray[np.uint64]
Octets = NDArray[np.uint8]


class Bits(ABC):
    """A supply of independent, uniform bytes.

    A word is eight bytes, lowest first.
    """

    @abstractmethod
    def octets(self, count: int) -> Octets:
        """Return `count` fresh bytes."""

    def words(self, count: int) -> Words:
        """Return `count` fresh 64-bit words."""
        return self.octets(8 * count).view("<u8").astype(np.uint64, copy=False)

    def word(self) -> int:
        """Return one fresh word."""
        return int(self.words(1)[0])

    @property
    def fresh(self) -> Bits:
        """Bytes for fresh noise: the same supply, unless it is permanent."""
        return self


@dataclass(frozen=True)
class SecureBits(Bits):
    """The operating system's cryptographic generator, required on deployed devices."""

    def octets(self, count: int) -> Octets:
        return np.frombuffer(os.urandom(count), dtype=np.uint8)


@dataclass(frozen=True)
class SeededBits(Bits):
    """A numpy generator: reproducible, for simulation only."""

    generator: np.random.Generator

    def octets(self, count: int) -> Octets:
        # The rest of the last word is dropped.
        words = self.generator.integers(0, 2**64, size=-(-count // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).view(np.uint8)[:count]


def as_bits(rng: Any) -> Bits:
    """Return the source of bytes that an ``rng=`` argument means.

    `None` is the secure source; otherwise a seed, a generator or bytes.

    >>> as_bits(None), as_bits(7).words(1) == as_bits(7).words(1)
    (SecureBits(), array([ True]))
    """
    if isinstance(rng, Bits):
        return rng
    return SecureBits() if rng is None else SeededBits(as_generator(rng))


def as_generator(rng: Any) -> np.random.Generator:
    """Return a numpy generator from a seed or a (bit) generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"rng must be None, a non-negative integer seed or a numpy.random.Generator; got {rng!r}."
        ) from None


ROUNDS = (4, 8, 64)
"""Bits that a toss compares in each round while they agree with its coin's; then a word each time."""
GUARD_BITS = 32


@dataclass(frozen=True)
class PowerCoin:
    """Heads with probability r = ratio^(2^digit)."""

    ratio: Fraction
    digit: int = 0

    def bounds(self, precision: int) -> tuple[int, int]:
        """Return integers around the probability times 2^precision."""
        return power_bounds(self.ratio, 1 << self.digit, precision)

    def leading(self, precision: int) -> int:
        """Return the first `precision` bits of the probability, exactly.

        >>> PowerCoin(Fraction(1, 3)).leading(8), OddsCoin(Fraction(1, 3)).leading(8)
        (85, 64)
        """
        guard = GUARD_BITS
        while guard <= 2**10:
            low, high = self.bounds(precision + guard)
            if low >> guard == high >> guard:
                return low >> guard
            guard *= 2
        # Bounds never agree if the product is a whole number. That happens only for small powers, computed exactly.
        return math.floor(self._exact() * (1 << precision))

    def toss(self, count: int, bits: Bits) -> NDArray[np.bool_]:
        """Toss `count` times."""
        tossed: NDArray[np.bool_] = toss_all([self], count, bits)[0]
        return tossed

    def _exact(self) -> Fraction:
        return Fraction(self.ratio ** (1 << self.digit))

    def part(self, start: int, width: int) -> int:
        """Return `width` bits of the probability after the first `start`."""
        return self.leading(start + width) & (1 << width) - 1

    @cached_property
    def _firsts(self) -> list[int]:
        """Bits of the probability for the first rounds."""
        return [self.part(sum(ROUNDS[:place]), width) for place, width in enumerate(ROUNDS)]

    def _settle(self, bits: Bits) -> bool:
        """Continue a toss that the first rounds left open (probability 2^-76)."""
        drawn = sum(ROUNDS)
        while (word := bits.word()) == (own := self.part(drawn, 64)):
            drawn += 64
        return word < own


@dataclass(frozen=True)
class OddsCoin(PowerCoin):
    """Heads with probability r / (1 + r)."""

    def bounds(self, precision: int) -> tuple[int, int]:
        low, high = power_bounds(self.ratio, 1 << self.digit, precision + GUARD_BITS)
        one = 1 << (precision + GUARD_BITS)
        return (low << precision) // (one + low), -((-high << precision) // (one + high))

    def _exact(self) -> Fraction:
        power = super()._exact()
        return power / (1 + power)


def toss_all(coins: Sequence[PowerCoin], count: int, bits: Bits) -> NDArray[np.bool_]:
    """Toss each coin `count` times, in rounds.

    Each toss takes half a byte, then a byte, then words while it is undecided.

    Returns
    -------
    array
        One row per coin, true for heads.

    Examples
    --------
    >>> toss_all([PowerCoin(Fraction(1, 2)), OddsCoin(Fraction(1, 4))], 3, as_bits(7)).shape
    (2, 3)
    """
    tosses = len(coins) * count
    # The lower and the upper half of each byte, in turn.
    pairs = bits.octets(-(-tosses // 2)).astype("<u2")
    pairs |= pairs << np.uint16(4)
    pairs &= np.uint16(0x0F0F)
    halves = pairs.view(np.uint8)[:tosses]
    firsts = np.array([coin._firsts for coin in coins], dtype=np.uint64)
    own = firsts[:, 0].astype(np.uint8)
    own = own[0] if len(coins) == 1 else np.repeat(own, count)
    heads: NDArray[np.bool_] = halves < own
    undecided = np.flatnonzero(halves == own)
    for place, draw in ((1, bits.octets), (2, bits.words)):
        drawn, own = draw(undecided.size), firsts[undecided // count, place]
        heads[undecided] = drawn < own
        undecided = undecided[drawn == own]
    for toss in undecided.tolist():
        heads[toss] = coins[toss // count]._settle(bits)
    return heads.reshape(len(coins), count)


def uniform_below(bound: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `count` integers uniformly from 0 .. bound - 1.

    It draws 1, 2, 4 or 8 bytes, keeps as many upper bits as the bound has, and rejects numbers that reach the bound:
    fewer than two tries on average.

    >>> from confide.mechanisms.sampling import as_bits
    >>> uniform_below(1, 3, as_bits(0))
    array([0, 0, 0])
    """
    width = (bound - 1).bit_length()
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    drawn = _upper_bits(count, size, width, bits)
    rejected = np.flatnonzero(drawn >= bound)
    while rejected.size:
        again = _upper_bits(rejected.size, size, width, bits)
        drawn[rejected] = again
        rejected = rejected[again >= bound]
    return drawn.astype(np.int64)


def _upper_bits(count: int, size: int, width: int, bits: Bits) -> NDArray[Any]:
    """Return the upper `width` bits of `count` numbers of `size` bytes."""
    return bits.octets(size * count).view(f"<u{size}") >> (8 * size - width)


BUCKETS = 256
"""Buckets before shuffling; at most 256 and a power of two, because one random byte picks a bucket."""

LARGEST_SORTED = 2**18
"""Most items sorted by keys at once: they fit the processor's cache, and keys rarely coincide."""


def scatter(count: int, bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put each of 0 .. count - 1 into a random bucket.

    Returns
    -------
    order, ends
        The numbers bucket by bucket, and where each bucket ends.

    Examples
    --------
    >>> order, ends = scatter(1000, as_bits(7))
    >>> sorted(order.tolist()) == list(range(1000)), ends.size, int(ends[-1])
    (True, 256, 1000)
    """
    buckets = bits.octets(count) & np.uint8(BUCKETS - 1)
    # For bytes, numpy's stable sort is a radix sort: one pass.
    return np.argsort(buckets, kind="stable"), np.cumsum(np.bincount(buckets, minlength=BUCKETS))


def permutation(count: int, bits: Bits) -> NDArray[np.int64]:
    """Return 0 .. count - 1 in a uniformly random order.

    Few items are sorted by random keys, all drawn again if two coincide: given that keys differ, every order is equally
    likely. Many items are scattered over buckets first, and each bucket is shuffled, which is exact too (Rao 1961,
    Sandelius 1962).

    >>> sorted(permutation(5, as_bits(7)).tolist())
    [0, 1, 2, 3, 4]
    """
    if count > LARGEST_SORTED:
        order, ends = scatter(count, bits)
        for end, size in zip(ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            part = order[end - size : end]
            part[:] = part[permutation(size, bits)]
        return order
    # Each key has its item's number in its low bits, so sorting the keys also gives the order.
    width = np.uint64(max(count - 1, 0).bit_length())
    numbers = np.arange(count, dtype=np.uint64)
    while True:
        keys = (bits.words(count) << width) | numbers
        keys.sort()
        random = keys >> width
        if not (random[1:] == random[:-1]).any():
            return (keys ^ (random << width)).astype(np.int64)


# Exact sampling from rows of integer weights, at array speed and with no floating point.
#
# To draw from row x, compare a uniform real u in [0, 1) with the row's cumulative weights C_1/W, C_2/W, ... Only the
# leading 64 bits of u are drawn at first. They decide unless they agree with the leading bits of some C_j/W. Only then
# are more bits of u drawn and compared with more bits of C_j/W, in integers of any size. The result has exactly the
# probabilities weight/W, for weights of any size.
#
# A guide table gives the outcome directly for most leading bits: it cuts [0, 1) into buckets, and few contain a C_j/W.


@dataclass(frozen=True)
class WeightRows:
    """Rows of non-negative integer weights to draw from.

    >>> from confide.mechanisms.sampling import as_bits
    >>> rows = WeightRows.of([[1, 3], [2, 2]])
    >>> rows.draw(np.array([0, 0, 1]), as_bits(7)).shape
    (3,)
    """

    cumulative: tuple[tuple[int, ...], ...]
    leading_bits: int
    thresholds: NDArray[np.int64]
    """Row number and leading bits of C_j/W, for each row and each j but the last, in one sorted array."""

    @classmethod
    def of(cls, weights: Sequence[Sequence[int]]) -> WeightRows:
        """Prepare rows of weights, of equal length and with positive sums."""
        # A key is a row number above leading bits of u, in one non-negative int64: 63 bits.
        leading_bits = 63 - (len(weights) - 1).bit_length()
        cumulative = tuple(tuple(accumulate(row)) for row in weights)
        # A bound of 1 gets the leading bits just below it.
        thresholds = [
            (number << leading_bits) | min((bound << leading_bits) // row[-1], (1 << leading_bits) - 1)
            for number, row in enumerate(cumulative)
            for bound in row[:-1]
        ]
        return cls(cumulative, leading_bits, np.array(thresholds, dtype=np.int64))

    def draw(self, rows: Indices, bits: Bits) -> Indices:
        """Draw one outcome from each of the given rows."""
        if self._inner == 0:
            return np.zeros(rows.shape, dtype=np.int64)
        outcomes = np.empty(rows.size, dtype=np.int64)
        # Batches of 2**16 fit the processor's cache.
        for start in range(0, rows.size, 2**16):
            batch = slice(start, start + 2**16)
            outcomes[batch] = self._draw_batch(rows[batch].astype(np.int64), bits)
        return outcomes

    @property
    def _inner(self) -> int:
        """Number of bounds of a row below 1."""
        return len(self.cumulative[0]) - 1

    @cached_property
    def _bucket_shift(self) -> int:
        """Bits of a key below the bucket number.

        There are at least 32 buckets per bound, if they fit.
        """
        wanted = (32 * self._inner).bit_length()
        # At most 2^20 buckets: 4 MB, which fit a processor's cache.
        fitting = 20 - (len(self.cumulative) - 1).bit_length()
        return self.leading_bits - max(0, min(wanted, fitting))

    @cached_property
    def _guide(self) -> NDArray[np.int32]:
        """Outcome for each bucket of keys; -1 if it contains a bound."""
        buckets = len(self.cumulative) << (self.leading_bits - self._bucket_shift)
        starts = np.arange(buckets) << self._bucket_shift
        below = np.append(np.searchsorted(self.thresholds, starts), self.thresholds.size)
        outcomes = below[:-1] - (starts >> self.leading_bits) * self._inner
        return np.where(np.diff(below) > 0, -1, outcomes).astype(np.int32)

    def _draw_batch(self, rows: Indices, bits: Bits) -> Indices:
        words = bits.words(rows.size)
        leading = (words >> np.uint64(64 - self.leading_bits)).astype(np.int64)
        keys = (rows << self.leading_bits) | leading
        outcomes: Indices = self._guide[keys >> self._bucket_shift].astype(np.int64)
        unsure = np.flatnonzero(outcomes < 0)
        places = np.searchsorted(self.thresholds, keys[unsure], side="right")
        outcomes[unsure] = places - rows[unsure] * self._inner
        for tie in unsure[self.thresholds[places - 1] == keys[unsure]]:
            outcomes[tie] = self._settle(int(rows[tie]), int(words[tie]), bits)
        return outcomes

    def _settle(self, row: int, word: int, bits: Bits) -> int:
        """Extend u word by word until it lies between two bounds."""
        cumulative = self.cumulative[row]
        u, precision, total = word, 64, cumulative[-1]
        while True:
            # u stands for the interval [u, u + 1) / 2^precision, decided once it lies between two bounds.
            low, high = u * total, (u + 1) * total
            below = sum((bound << precision) <= low for bound in cumulative)
            if below == sum((bound << precision) < high for bound in cumulative):
                return below
            u, precision = (u << 64) | bits.word(), precision + 64


def draw_second(first: int, second: int, count: int, bits: Bits) -> NDArray[np.bool_]:
    """Draw from two weights `count` times; true where the second came.

    >>> draw_second(1, 0, 2, as_bits(7)).tolist()
    [False, False]
    """
    rows: Indices = np.zeros(count, dtype=np.int64)
    drawn: NDArray[np.bool_] = _two_weights(first, second).draw(rows, bits) == 1
    return drawn


@lru_cache(maxsize=256)
def _two_weights(first: int, second: int) -> WeightRows:
    return WeightRows.of([[first, second]])


# Two-sided geometric noise over all integers, exact and with no floating point.
#
# The binary digits of a geometric variable G with P(G = g) proportional to alpha^g are independent: digit i is 1 with
# probability r / (1 + r), r = alpha^(2^i). So G is a handful of independent coins, and the difference of two such G is
# two-sided geometric. Each coin compares random bits with the leading bits of its probability, and draws more only if
# they agree, so probabilities that fit no machine word are still exact.

BATCH = 2**14
"""Draws at a time, so that they fit the processor's cache."""


@dataclass(frozen=True)
class GeometricNoise:
    """Two-sided geometric noise: integers d with probability proportional to ratio^|d|.

    The constant is (1 - ratio) / (1 + ratio).

    >>> from confide.mechanisms.sampling import as_bits
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
        """Draw `count` naturals g with probability proportional to ratio^g."""
        parts = [self._draw_batch(min(BATCH, count - start), bits) for start in range(0, count, BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def _digits(self) -> int:
        """Number of binary digits drawn for everyone.

        G reaches 2^digits less than once in 256 draws.
        """
        digits = 0
        while PowerCoin(self.ratio, digits).leading(8):
            digits += 1
        return digits

    @cached_property
    def _coins(self) -> tuple[PowerCoin, ...]:
        """Coins for the digits, lowest first, and for G reaching 2^digits."""
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
        while undecided.size:  # memoryless: given that G >= 2^digits, the rest is geometric again
            total[undecided] += 1 << self._digits
            undecided = undecided[self._coins[-1].toss(undecided.size, bits)]
        return total


@dataclass(frozen=True)
class LaplaceCellNoise:
    """Displacement in cells by continuous Laplace noise, from a cell's centre.

    With half_ratio = e^(-rate / 2) for cells of width 1, it is 0 with probability 1 - half_ratio, and otherwise 1 + G
    in either direction, with G geometric of ratio half_ratio^2.
    """

    half_ratio: Fraction

    def draw(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Draw `count` independent integers.

        Steps are drawn for everyone, so that timing does not reveal who stays.
        """
        moves = PowerCoin(self.half_ratio, 0).toss(count, bits)
        steps = 1 + GeometricNoise(self.half_ratio**2).draw_one_sided(count, bits)
        return np.where(moves, np.where(bits.octets(count) & 1, -steps, steps), 0)


Displacements = tuple[Indices, Indices]

DOUBT = 1e-9
"""Distance from the edge below which integers decide instead of float64: a million times its error."""


@dataclass(frozen=True, eq=False)
class TableNoise:
    """Displacements from a table over one quadrant, symmetric in all four.

    >>> from confide.mechanisms.sampling import as_bits
    >>> rows, columns = TableNoise(np.array([[0.5, 0.25]])).draw(4, as_bits(1))
    >>> bool((rows == 0).all()), bool((np.abs(columns) <= 1).all())
    (True, True)
    """

    quadrant: NDArray[np.float64]

    @cached_property
    def _weights(self) -> WeightRows:
        """One row of weights over the quadrant, counting mirror images."""
        height, width = self.quadrant.shape
        copies = np.outer(1 + (np.arange(height) > 0), 1 + (np.arange(width) > 0)).reshape(-1).tolist()
        weights = as_integers(self.quadrant)
        return WeightRows.of([[weight * times for weight, times in zip(weights, copies, strict=True)]])

    def draw(self, count: int, bits: Bits) -> Displacements:
        """Draw `count` independent displacements."""
        chosen = self._weights.draw(np.zeros(count, dtype=np.int64), bits)
        rows, columns = np.divmod(chosen, self.quadrant.shape[1])
        signs = bits.octets(count)
        return np.where(signs & 1, -rows, rows), np.where(signs & 2, -columns, columns)


@dataclass(frozen=True)
class ProductNoise:
    """Two-sided geometric noise on each coordinate, for the taxicab mechanism."""

    ratio: Fraction

    def draw(self, count: int, bits: Bits) -> Displacements:
        """Draw `count` independent displacements."""
        noise = GeometricNoise(self.ratio)
        return noise.draw(count, bits), noise.draw(count, bits)


@dataclass(frozen=True)
class PlanarGeometricNoise:
    """Displacements over the lattice, proportional to e^(-decay hypot(i, j)), exactly.

    Taxicab noise of rate decay / sqrt 2 lies above it everywhere, because |i| + |j| <= sqrt 2 hypot(i, j). So it serves
    as proposal in rejection sampling; nearly four in five are accepted.

    >>> from confide.mechanisms.sampling import as_bits
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
        # The exponent is a difference of two terms that grow with the steps; so does its rounding error.
        for doubt in np.flatnonzero(np.abs(margin) < DOUBT * (1 + 1e-6 * float(self.decay) * steps)):
            kept[doubt] = self._settle(int(down[doubt]), int(along[doubt]), int(words[doubt]), bits)
        return kept

    def _settle(self, down: int, along: int, word: int, bits: Bits) -> bool:
        """Decide u < e^(-decay hypot) / ratio^steps in integers.

        More bits of u are drawn only while the two agree.
        """
        if down == 0 and along == 0:
            return True  # proposal and target agree at the origin
        u, precision = word, 64
        while u == (edge := self._leading(down, along, precision)):
            u, precision = (u << 64) | bits.word(), precision + 64
        return u < edge

    def _leading(self, down: int, along: int, precision: int) -> int:
        """Return the first `precision` bits of the acceptance probability.

        It is irrational, so the search for its bits ends.
        """
        steps = abs(down) + abs(along)
        guard = math.ceil(2 * self.decay * steps) + 64  # more bits than either side loses below 1
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


# Permanent noise: random bytes determined by a person's secret, the survey and the value, so that they never change.
#
# The same value always gives the same report, so a year of reports reveals no more than one. Only the secret is stored.
# docs/device.md specifies what goes into the bytes.


NEW_SECRET = "python -c 'import secrets; print(secrets.token_hex(32))'"  # noqa: S105 (a command that makes one)


@dataclass(frozen=True, repr=False, init=False)
class Permanent:
    """Noise from a person's secret: the same report for the same value.

    Pass it as ``rng=``. Each person needs a secret of their own: at least 16 random bytes, or a text of them. It never
    leaves the device. ``survey.privatize`` binds it to the survey, so two surveys have independent noise.

    >>> from confide import Categories, RandomizedResponse, Survey
    >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0))
    >>> noise = Permanent("0123456789abcdef" * 2)
    >>> {survey.privatize("yes", rng=noise) for day in range(365)}
    {'yes'}

    Attributes
    ----------
    secret
        Bytes, or a text. Hexadecimal digits mean their bytes, any other text its UTF-8. One line end after it is
        ignored. The secret is never shown.
    fingerprint
        The survey's, once the noise is bound to one.
    """

    secret: bytes
    fingerprint: str

    def __init__(self, secret: bytes | str, fingerprint: str = "") -> None:
        content: object = secret
        if isinstance(secret, str):
            text = secret.removesuffix("\n").removesuffix("\r")
            is_hexadecimal = bool(text) and set(text) <= set(string.hexdigits)
            if is_hexadecimal and len(text) % 2:
                raise InvalidParameterError(f"Hexadecimal digits come in pairs; a secret has {len(text)} of them.")
            try:
                # Sixteen hexadecimal digits are eight bytes, too few, though as a text they would pass for sixteen.
                content = bytes.fromhex(text) if is_hexadecimal else text.encode()
            except UnicodeEncodeError:
                wrong = "A secret must be valid text; this one has half of a surrogate pair."
                raise InvalidParameterError(wrong) from None
        if not isinstance(content, bytes):
            raise InvalidParameterError(f"A secret must be bytes or a text; got {type(secret).__name__}.")
        make = f"Make one with: {NEW_SECRET}"
        if len(content) < 16:  # 128 bits cannot be guessed by trying
            raise InvalidParameterError(
                f"A secret needs at least 16 bytes, or 32 hexadecimal digits; got {counted(len(content), 'byte')}. "
                f"{make}"
            )
        if not any(content):
            raise InvalidParameterError(
                f"This secret is all zeros: a buffer that was never filled, which anyone could guess. {make}"
            )
        object.__setattr__(self, "secret", content)
        object.__setattr__(self, "fingerprint", fingerprint)

    def bound_to(self, fingerprint: str) -> Permanent:
        """Return the same noise, bound to the survey with this fingerprint."""
        if self.fingerprint not in ("", fingerprint):
            raise InvalidParameterError(
                f"This noise is bound to the survey {self.fingerprint}, and this one is {fingerprint}. Give "
                f"Permanent(secret), which is bound to none yet."
            )
        return Permanent(self.secret, fingerprint)

    def bits(self, value: Any) -> PermanentBits:
        """Return the random bytes of a value, from their beginning.

        The value is a list, or a plain number or text.

        >>> Permanent(b"sixteen bytes!!!", "survey").bits(30).octets(4).tolist()
        [80, 43, 98, 73]
        """
        if not self.fingerprint:
            raise InvalidParameterError(
                "Permanent noise must be bound to a survey, so that two surveys never share it. Call "
                "survey.privatize(values, rng=Permanent(secret)) in place of mechanism.privatize."
            )
        # The prefix separates domains: no other use of the same secret can give the same bytes.
        parts = (b"confide permanent 1", self.fingerprint.encode(), canonical_json(value).encode(), b"")
        return PermanentBits(self.secret, b"\0".join(parts))

    def __repr__(self) -> str:
        bound = f", bound to {self.fingerprint}" if self.fingerprint else ""
        return f"Permanent(a secret of {counted(len(self.secret), 'byte')}, not shown{bound})"


class PermanentBits(Bits):
    """Blocks of HMAC-SHA-256 over a message and a counter.

    The counter has eight bytes, lowest first.
    """

    def __init__(self, secret: bytes, message: bytes) -> None:
        self._secret, self._message = secret, message
        self._counter, self._rest = 0, b""

    def octets(self, count: int) -> Octets:
        blocks = [self._rest]
        for _ in range(-(-(count - len(self._rest)) // 32)):  # a digest has 32 bytes
            message = self._message + self._counter.to_bytes(8, "little")
            blocks.append(hmac.digest(self._secret, message, "sha256"))
            self._counter += 1
        tape = b"".join(blocks)
        # The rest of the last block comes first next time, as on a device.
        self._rest = tape[count:]
        return np.frombuffer(tape[:count], dtype=np.uint8)

    @property
    def fresh(self) -> Bits:
        # The operating system's secure generator.
        return SecureBits()


def as_permanents(rng: Any) -> tuple[Permanent, ...]:
    """Return the permanent noise in an ``rng=`` argument, if any.

    One for one person, or one per value.
    """
    if isinstance(rng, Permanent):
        return (rng,)
    is_list = isinstance(rng, Sequence) and len(rng) > 0 and all(isinstance(one, Permanent) for one in rng)
    return tuple(rng) if is_list else ()

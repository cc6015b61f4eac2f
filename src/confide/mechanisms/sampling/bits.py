"""Random bytes, from the operating system or a seeded generator, and exact coins, integers and orders made of them.

A coin compares four random bits with the leading bits of its probability, and draws more only when the two agree: bits
are what exact noise waits for. How many bytes are drawn, and what they decide, is specified (docs/device.md).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError

_CONTEXT = Context(prec=120)
_DECIMAL_ERROR = Decimal("1e-40")
"""Far more than the error of 120 correct digits, far less than one unit of the result."""


def ratio_above(exponent: Fraction) -> Fraction:
    """Return a dyadic fraction just above e^-exponent.

    >>> ratio_above(Fraction(1)) > Fraction(math.exp(-1)) - Fraction(1, 2**50)
    True
    >>> float(ratio_above(Fraction(1))) == math.exp(-1)
    True
    """
    # 64: A ratio exceeds e^-x by less than two parts in 2^64, so the noise is stronger than promised by no more.
    fraction_bits = 64 + math.ceil(exponent * 3 / 2)  # log2(e) < 3/2
    scaled = _CONTEXT.multiply(_exponential(exponent, _CONTEXT), Decimal(2**fraction_bits))
    above = int(_CONTEXT.add(scaled, _DECIMAL_ERROR)) + 1
    return Fraction(above, 2**fraction_bits)


def log_of(ratio: Fraction) -> float:
    """Return the logarithm of a ratio between 0 and 1 to full relative accuracy, however close to 1 it is.

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
    """Return integers around e^-exponent times 2^precision, for an exponent of at least 0.

    >>> low, high = exponential_bounds(Fraction(1), 10)
    >>> low <= math.exp(-1) * 1024 <= high, high - low <= 3
    (True, True)
    """
    context = Context(prec=30 + precision // 3)
    scaled = context.multiply(_exponential(exponent, context), Decimal(2**precision))
    return int(scaled) - 1 if scaled > 1 else 0, int(scaled) + 2


def power_bounds(ratio: Fraction, exponent: int, precision: int) -> tuple[int, int]:
    """Return integers around ratio^exponent times 2^precision, for a ratio below 1; close ones, and never huge.

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
    """Return float64 numbers as integers over one common denominator, exactly.

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
    """A supply of independent, uniform bytes; a word is eight of them, the lowest first."""

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
        """Bytes for noise that differs from report to report: the same supply, unless its own are permanent."""
        return self


@dataclass(frozen=True)
class SecureBits(Bits):
    """The operating system's cryptographic generator: what a deployed device must use."""

    def octets(self, count: int) -> Octets:
        """See :meth:`Bits.octets`."""
        return np.frombuffer(os.urandom(count), dtype=np.uint8)


@dataclass(frozen=True)
class SeededBits(Bits):
    """A numpy generator: reproducible, and fit for simulation only."""

    generator: np.random.Generator

    def octets(self, count: int) -> Octets:
        """See :meth:`Bits.octets`; what is left of the last word is dropped."""
        words = self.generator.integers(0, 2**64, size=-(-count // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).view(np.uint8)[:count]


def as_bits(rng: Any) -> Bits:
    """Normalise an ``rng=`` argument (SPEC 7): None is the secure source, all else a seed, a generator or bytes.

    >>> as_bits(None), as_bits(7).words(1) == as_bits(7).words(1)
    (SecureBits(), array([ True]))
    """
    if isinstance(rng, Bits):
        return rng
    return SecureBits() if rng is None else SeededBits(as_generator(rng))


def as_generator(rng: Any) -> np.random.Generator:
    """Return a numpy generator from a seed, a bit generator or a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"rng must be None, a non-negative integer seed or a numpy.random.Generator; got {rng!r}."
        ) from None


WORD = 64

ROUNDS = (4, 8, WORD)
"""Bits that a toss compares at first, and then while they agree with those of its coin; a word each time after that."""
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
        """Return the first `precision` bits of the probability, exactly: the whole part of it times 2^precision.

        >>> PowerCoin(Fraction(1, 3)).leading(8), OddsCoin(Fraction(1, 3)).leading(8)
        (85, 64)
        """
        guard = GUARD_BITS
        while guard <= 2**10:
            low, high = self.bounds(precision + guard)
            if low >> guard == high >> guard:
                return low >> guard
            guard *= 2
        # Bounds never part where the product is a whole number. Small powers are known exactly, others are none.
        return math.floor(self._exact() * (1 << precision))

    def toss(self, count: int, bits: Bits) -> NDArray[np.bool_]:
        """Toss `count` times."""
        tossed: NDArray[np.bool_] = toss_all([self], count, bits)[0]
        return tossed

    def _exact(self) -> Fraction:
        return Fraction(self.ratio ** (1 << self.digit))

    def part(self, start: int, width: int) -> int:
        """Return `width` bits of the probability behind the first `start`."""
        return self.leading(start + width) & (1 << width) - 1

    @cached_property
    def _firsts(self) -> list[int]:
        """What the first rounds compare with."""
        return [self.part(sum(ROUNDS[:place]), width) for place, width in enumerate(ROUNDS)]

    def _settle(self, bits: Bits) -> bool:
        """Toss on where the first rounds left it open, once in 2^76 times."""
        drawn = sum(ROUNDS)
        while (word := bits.word()) == (own := self.part(drawn, WORD)):
            drawn += WORD
        return word < own


@dataclass(frozen=True)
class OddsCoin(PowerCoin):
    """Heads with probability r / (1 + r)."""

    def bounds(self, precision: int) -> tuple[int, int]:
        """See :meth:`PowerCoin.bounds`."""
        low, high = power_bounds(self.ratio, 1 << self.digit, precision + GUARD_BITS)
        one = 1 << (precision + GUARD_BITS)
        return (low << precision) // (one + low), -((-high << precision) // (one + high))

    def _exact(self) -> Fraction:
        power = super()._exact()
        return power / (1 + power)


def toss_all(coins: Sequence[PowerCoin], count: int, bits: Bits) -> NDArray[np.bool_]:
    """Toss each coin `count` times, in rounds: half a byte for every toss, then a byte, then words while it is open.

    Returns
    -------
    One row a coin, true where it shows heads.

    >>> toss_all([PowerCoin(Fraction(1, 2)), OddsCoin(Fraction(1, 4))], 3, as_bits(7)).shape
    (2, 3)
    """
    tosses = len(coins) * count
    halves = _halves(bits.octets(-(-tosses // 2)))[:tosses]
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


def _halves(octets: Octets) -> Octets:
    """Return the lower and the upper half of each byte, in turn."""
    pairs = octets.astype("<u2")
    pairs |= pairs << np.uint16(4)
    pairs &= np.uint16(0x0F0F)
    return pairs.view(np.uint8)


def uniform_below(bound: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `count` integers, each of 0 .. bound - 1 equally likely.

    As many bytes as the bound needs, 1, 2, 4 or 8, are cut to their upper bits, as many as it has, and drawn again
    while they reach it: fewer than two tries on average.

    >>> from confide.mechanisms.sampling.bits import as_bits
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
    """Return the upper bits of `count` numbers of so many bytes."""
    return bits.octets(size * count).view(f"<u{size}") >> (8 * size - width)


BUCKETS = 256
"""Buckets that things are scattered over before each is shuffled; a power of two, for a random byte names one."""

LARGEST_SORTED = 2**18
"""Things that are sorted by their keys at once: they stay in the processor's cache, and keys rarely coincide."""


def scatter(count: int, bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put each of 0 .. count - 1 into a bucket drawn for itself; return them bucket by bucket, and where each ends.

    >>> order, ends = scatter(1000, as_bits(7))
    >>> sorted(order.tolist()) == list(range(1000)), ends.size, int(ends[-1])
    (True, 256, 1000)
    """
    buckets = bits.octets(count) & np.uint8(BUCKETS - 1)
    # Of whole numbers this small, a stable sort is a radix sort: one pass, whatever their order.
    return np.argsort(buckets, kind="stable"), np.cumsum(np.bincount(buckets, minlength=BUCKETS))


def permutation(count: int, bits: Bits) -> NDArray[np.int64]:
    """Return 0 .. count - 1 in an order drawn uniformly from all orders.

    Few are sorted by random keys, and all keys are drawn again if two coincide: given that they differ, every order is
    as likely as any other. Many are scattered over buckets first, and each bucket is put into an order of its own,
    which is exact as well (Rao 1961, Sandelius 1962).

    >>> sorted(permutation(5, as_bits(7)).tolist())
    [0, 1, 2, 3, 4]
    """
    if count > LARGEST_SORTED:
        order, ends = scatter(count, bits)
        for end, size in zip(ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            part = order[end - size : end]
            part[:] = part[permutation(size, bits)]
        return order
    # The number of a thing stands in the low bits of its key, so that sorting keys is all there is to do.
    width = np.uint64(max(count - 1, 0).bit_length())
    numbers = np.arange(count, dtype=np.uint64)
    while True:
        keys = (bits.words(count) << width) | numbers
        keys.sort()
        random = keys >> width
        if not (random[1:] == random[:-1]).any():
            return (keys ^ (random << width)).astype(np.int64)

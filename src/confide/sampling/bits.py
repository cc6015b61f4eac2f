"""Random bits, from the operating system or a seeded generator, and exact coins, integers and orders made of them.

A toss compares a random 64-bit word with the leading bits of the probability, and draws more bits only when they agree.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.sampling.ratios import power_bounds

Words = NDArray[np.uint64]


class Bits(ABC):
    """A supply of independent, uniform 64-bit words."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """Return `count` fresh words."""

    def word(self) -> int:
        """Return one fresh word."""
        return int(self.words(1)[0])


@dataclass(frozen=True)
class SecureBits(Bits):
    """The operating system's cryptographic generator: what a deployed device must use."""

    def words(self, count: int) -> Words:
        """See :meth:`Bits.words`."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class SeededBits(Bits):
    """A numpy generator: reproducible, and fit for simulation only."""

    generator: np.random.Generator

    def words(self, count: int) -> Words:
        """See :meth:`Bits.words`."""
        return self.generator.integers(0, 2**64, size=count, dtype=np.uint64)


def as_bits(rng: Any) -> Bits:
    """Normalise an ``rng=`` argument (SPEC 7): None is the secure source, all else a seed or a generator.

    >>> as_bits(None), as_bits(7).words(1) == as_bits(7).words(1)
    (SecureBits(), array([ True]))
    """
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


def uniform_below(bound: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `count` integers, each of 0 .. bound - 1 equally likely.

    Words are cut to the bits that the bound needs and drawn again while they reach it: fewer than two tries on average.

    >>> from confide.sampling.bits import as_bits
    >>> uniform_below(1, 3, as_bits(0))
    array([0, 0, 0])
    """
    width = (bound - 1).bit_length()
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    result = np.empty(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        drawn = (bits.words(pending.size) >> np.uint64(64 - width)).astype(np.int64)
        accepted = drawn < bound
        result[pending[accepted]] = drawn[accepted]
        pending = pending[~accepted]
    return result


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
    buckets = bits.words(-(-count // 8)).view(np.uint8)[:count] & np.uint8(BUCKETS - 1)
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

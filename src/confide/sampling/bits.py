"""Where random bits come from: the operating system, or a seeded generator for simulation."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError

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

"""Supplies of bits that are known in advance, so that probabilities can be read off exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from confide.sampling.bits import Bits, Words

WORD = 64
LARGEST_WORD = 2**WORD - 1


@dataclass
class ScriptedBits(Bits):
    """Words read from a list; asking for more than it holds is an error."""

    script: list[int] = field(default_factory=list)

    def __init__(self, script: Iterable[int]) -> None:
        self.script = list(script)

    def words(self, count: int) -> Words:
        assert count <= len(self.script), "more bits were drawn than foreseen"
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken, dtype=np.uint64)


@dataclass
class SpelledBits(Bits):
    """The binary digits of one real number u in [0, 1), for a sampler that draws one outcome by comparing with u.

    The first word carries `leading` digits of u in its top bits; each word after it carries 64 more.
    """

    rest: Fraction
    leading: int = WORD
    drawn: int = 0

    def words(self, count: int) -> Words:
        assert count == 1, "u is spelled for one outcome at a time"
        width = WORD if self.drawn else self.leading
        scaled = self.rest * 2**width
        digits = int(scaled)
        self.rest, self.drawn = scaled - digits, self.drawn + 1
        return np.array([digits << (WORD - width)], dtype=np.uint64)

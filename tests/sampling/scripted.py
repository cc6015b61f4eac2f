"""Supplies of bits that are known in advance, so that probabilities can be read off exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.mechanisms.sampling import ROUNDS, Bits, Octets, Words

WORD = 64
LARGEST_WORD = 2**WORD - 1


@dataclass
class ScriptedBits(Bits):
    """Words and bytes read from two lists; asking for more than these hold is an error."""

    script: list[int]
    octet_script: list[int]

    def __init__(self, script: Iterable[int] = (), octets: Iterable[int] = ()) -> None:
        self.script, self.octet_script = list(script), list(octets)

    def words(self, count: int) -> Words:
        assert count <= len(self.script), "more words were drawn than foreseen"
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken, dtype=np.uint64)

    def octets(self, count: int) -> Octets:
        assert count <= len(self.octet_script), "more bytes were drawn than foreseen"
        taken, self.octet_script = self.octet_script[:count], self.octet_script[count:]
        return np.array(taken, dtype=np.uint8)


@dataclass
class SpelledBits(Bits):
    """The binary digits of one real number u in [0, 1), for a sampler that draws one outcome by comparing with u.

    The first byte carries the digits of a toss's first round in its lower half; each byte after it carries 8 more, and
    each word 64.
    """

    rest: Fraction
    drawn: int = 0

    def words(self, count: int) -> Words:
        return np.array([self._spell(WORD) for _ in range(count)], dtype=np.uint64)

    def octets(self, count: int) -> Octets:
        return np.array([self._spell(8 if self.drawn else ROUNDS[0]) for _ in range(count)], dtype=np.uint8)

    def _spell(self, width: int) -> int:
        scaled = self.rest * 2**width
        digits = int(scaled)
        self.rest, self.drawn = scaled - digits, self.drawn + 1
        return digits

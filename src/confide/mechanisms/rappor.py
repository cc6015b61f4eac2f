"""Basic one-time RAPPOR: a bit for each value, each flipped at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, BitVectors, Indices
from confide.channels import BitChannel, Channel
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.guarantees import LocalDP
from confide.mechanisms.base import Mechanism, settle_epsilon
from confide.mechanisms.line import require_finite
from confide.sampling import Bits, OddsCoin, ratio_above

CHUNK = 2**22
"""Bits that are tossed at a time, so that memory does not grow with the number of people."""


@dataclass(frozen=True, repr=False)
class Rappor(Mechanism):
    """Set the bit of the value and no other, then flip each with odds of e^(-epsilon / 2).

    A bit is kept with probability p = e^(epsilon / 2) / (1 + e^(epsilon / 2)). Reports are bit vectors, packed into
    words of 63 bits. P(bits | x) depends on x only through bit x (paper, lemma probrappor).

    >>> from confide import Categories
    >>> mechanism = Rappor(Categories(["red", "green", "blue"]), epsilon=1.0)
    >>> mechanism.report_alphabet.unpack(mechanism.privatize(["red", "blue"], rng=1)).shape
    (2, 3)
    """

    kind: ClassVar[str] = "rappor"
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        require_finite(self.alphabet, "Rappor")
        settle_epsilon(self)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"Rappor needs at least two values; got {self.alphabet!r}.")

    @property
    def guarantee(self) -> LocalDP:
        """See :attr:`Mechanism.guarantee`."""
        return LocalDP(self.epsilon)

    @property
    def report_alphabet(self) -> BitVectors:
        """See :attr:`Mechanism.report_alphabet`."""
        return BitVectors(self.alphabet.size)

    @property
    def keep(self) -> float:
        """p, the probability that a bit is kept."""
        return float(1 / (1 + self._ratio))

    has_channel = False

    @property
    def channel(self) -> Channel:
        """An error: nobody needs P(bits | value) for all bit vectors, only for those that were seen."""
        raise InvalidParameterError(
            f"{self!r} has 2^{self.alphabet.size} outputs, so it has no matrix to speak of. mechanism.observe(counts) "
            f"gives the channel over the bit vectors seen."
        )

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`; columns are 1 + (e^epsilon - 1) bit_x, and the offset has the rest."""
        self.refuse_strays(counts)
        bits = self.report_alphabet.unpack(counts.reports)
        ones = bits.sum(axis=1)
        log_keep = -math.log1p(self._ratio)
        # p^(k - S - 1) (1 - p)^(S + 1), what a vector with S ones has from a value whose own bit is 0.
        log_rest = self.alphabet.size * log_keep + (ones + 1) * math.log(self._ratio)
        lift = float(1 / self._ratio**2 - 1)
        channel = BitChannel(self.alphabet.size, lift, np.packbits(bits, axis=1, bitorder="little"))
        return Evidence(channel, counts.counts, float(counts.counts @ log_rest))

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`; over all bit vectors, for alphabets so small that they can be listed."""
        size, inner, full = self.alphabet.size, self._ratio.numerator, self._ratio.denominator
        self.report_alphabet.require_listable()
        flips = [(vector ^ (1 << index)).bit_count() for vector in range(2**size)]
        return [inner**flipped * full ** (size - flipped) for flipped in flips]

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        step = max(1, CHUNK // self.alphabet.size)
        parts = [self._toss(indices[start : start + step], bits) for start in range(0, indices.size, step)]
        return np.concatenate(parts) if parts else self.report_alphabet.pack(np.zeros((0, self.alphabet.size), bool))

    def _toss(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        flips = OddsCoin(self._ratio).toss(indices.size * self.alphabet.size, bits)
        vectors = flips.reshape(indices.size, self.alphabet.size)
        vectors[np.arange(indices.size), indices] ^= True
        return self.report_alphabet.pack(vectors)

    @cached_property
    def _ratio(self) -> Fraction:
        """(1 - p) / p = e^(-epsilon / 2), rounded up."""
        return ratio_above(Fraction(self.epsilon) / 2)

"""Randomized response: over k values (k-RR), or over one bit per value.

Bits per value are unary encoding; RAPPOR is one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.channels import BitChannel, Channel, RandomizedResponseChannel
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import (
    Bound,
    Facts,
    Mechanism,
    Premise,
    Proof,
    require_alphabet,
    require_finite,
    settle_epsilon,
)
from confide.mechanisms.guarantees import LocalDP, check_epsilon, epsilon_above
from confide.mechanisms.sampling import Bits, PowerCoin, draw_second, log_of, ratio_above, uniform_below
from confide.values import Alphabet, BitVectors, Indices
from confide.values.checks import check_positive


class LocalMechanism(Mechanism):
    """A mechanism with one epsilon for all pairs of values."""

    epsilon: float

    @property
    def guarantee(self) -> LocalDP:
        return LocalDP(self.epsilon)

    @cached_property
    def _ratio(self) -> Fraction:
        """A fraction just below e^epsilon."""
        return 1 / ratio_above(Fraction(self.epsilon))

    @cached_property
    def advice(self) -> str:
        """A sentence on a better mechanism at the same promise.

        >>> from confide import Categories
        >>> print(RandomizedResponse(Categories([f"city {number}" for number in range(100)]), epsilon=1.0).advice)
        Projective geometry response (projective-geometry) makes the same promise with about 0.33 of the error.
        """
        from confide.mechanisms.comparison import advise  # which makes local mechanisms itself

        return advise(self)


@dataclass(frozen=True, repr=False)
class RandomizedResponse(LocalMechanism):
    """Report the true value, or a uniformly random other value.

    P(z | x) = e^epsilon / (k - 1 + e^epsilon) if z = x, and 1 / (k - 1 + e^epsilon) otherwise (paper, eq. krr). No
    mechanism with this promise reports every true value with a larger probability.

    >>> from confide import Categories
    >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0)
    >>> mechanism.channel.dense().round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    kind = "randomized-response"
    suits = "categories"
    title = "k-ary randomized response"
    about = "true value with probability p, otherwise a uniformly random other value"
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        require_alphabet("alphabet", self.alphabet)
        settle_epsilon(self)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"Randomized response needs at least two values; got {self.alphabet!r}.")

    @property
    def facts(self) -> Facts:
        size = self.alphabet.size
        return Facts(
            is_positive=True,
            independence=Proof("Under k-RR all columns are linearly independent.", "lemma krrLinIndependence"),
            premise=Premise.OWN_VALUE,
            log_smallest=-self.epsilon - math.log1p((size - 1) * math.exp(-self.epsilon)),
            corollary="corollary consistency1",
            inversion_bound=krr_bound(size, self.epsilon),
        )

    @cached_property
    def channel(self) -> RandomizedResponseChannel:
        other = 1 / (self._ratio + self.alphabet.size - 1)
        return RandomizedResponseChannel(self.alphabet.size, float(other * self._ratio), float(other))

    def weights(self, index: int) -> list[int]:
        self.alphabet.require_listable()
        row = [self._ratio.denominator] * self.alphabet.size
        row[index] = self._ratio.numerator
        return row

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Replace some values by another one, with the same weights as rows.

        A replacement is drawn for everyone, so that timing does not reveal who was replaced.
        """
        other_weights = (self.alphabet.size - 1) * self._ratio.denominator
        is_replaced = draw_second(self._ratio.numerator, other_weights, indices.size, bits)
        others = uniform_below(self.alphabet.size - 1, indices.size, bits)
        others += others >= indices
        return np.where(is_replaced, others, indices)


def krr_bound(size: int, epsilon: float) -> Bound:
    """Return the upper bound on inversion's error for k-RR.

    Paper, proposition invKrrBound.

    >>> round(krr_bound(100, 2.0).per_report, 2)
    277.28
    """
    # Written in e^-epsilon, which cannot overflow.
    root = (1 + (size - 1) * math.exp(-epsilon)) / -math.expm1(-epsilon)
    misprint = "227.28" if (size, epsilon) == (100, 2.0) else ""  # printed in place of 277.28
    condition = "any epsilon above 0"
    return Bound("at most", root**2, "proposition invKrrBound", holds=True, condition=condition, misprint=misprint)


CHUNK = 2**22
"""Bits tossed at a time, so that memory does not grow with the number of people."""

BY_ITS_BIT = "The bit of a value is set with probability {}: each probability can be read off its bit."
"""Why bit reports make the distribution identifiable."""


class BitReports(LocalMechanism):
    """Reports of one bit per value; the value's own is likelier set.

    P(bits | x) depends on x only through bit x. Reports are packed into words of 63 bits.
    """

    has_channel = False  # of the 2^k columns only those of reports seen are needed

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_finite(self.alphabet, name)
        if "epsilon" in vars(self):
            settle_epsilon(self)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")

    @property
    @abstractmethod
    def keep(self) -> Fraction:
        """P(bit x is 1 | value x)."""

    @property
    @abstractmethod
    def flip(self) -> Fraction:
        """P(bit x is 1 | another value)."""

    @property
    def report_alphabet(self) -> BitVectors:
        return BitVectors(self.alphabet.size)

    @property
    def channel(self) -> Channel:
        """Always raises: there is a column for each of 2^k bit vectors.

        Use :meth:`observe`, which makes the columns of the bit vectors seen.
        """
        raise InvalidParameterError(
            f"{self!r} has 2^{self.alphabet.size} outputs, too many for a matrix. mechanism.observe(counts) "
            f"gives the channel over the bit vectors seen."
        )

    def observe(self, counts: Counts) -> Evidence:
        # Columns are 1 + (e^epsilon - 1) bit_x; the offset contains the rest.
        self.refuse_strays(counts)
        reports = counts.reports
        chunks = (self.report_alphabet.unpack(reports[rows]) for rows in self._slices(len(reports)))
        parts = [(np.packbits(bits, axis=1, bitorder="little"), bits.sum(axis=1)) for bits in chunks]
        packed, ones = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Evidence(self._observed(packed), counts.counts, float(counts.counts @ self._log_rest(ones)))

    def _observed(self, packed: NDArray[np.uint8]) -> BitChannel:
        """Return the channel over these bit vectors."""
        return BitChannel(self.alphabet.size, self.keep, self.flip, packed)

    @abstractmethod
    def _log_rest(self, ones: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return log P(vector | own bit is 0), by its set bits."""

    def _slices(self, count: int) -> list[slice]:
        """Cut vectors into slices of bounded memory."""
        step = max(1, CHUNK // self.alphabet.size)
        return [slice(start, start + step) for start in range(0, max(1, count), step)]


class UnaryEncoding(BitReports):
    """One bit per value: set with probability `keep` or `flip`.

    The true value's bit is 1 with probability `keep`, any other bit with probability `flip`. A mechanism of this family
    is a frozen dataclass with an `alphabet`, an `epsilon` and the two probabilities as exact fractions, checked when it
    is made. Bits are independent, so P(bits | x) depends on bit x by a factor of at most keep (1 - flip) / (flip (1 -
    keep)) = e^epsilon.

    >>> from confide import Categories, Rappor
    >>> rappor = Rappor(Categories(["red", "green", "blue"]), epsilon=2.0)
    >>> isinstance(rappor, UnaryEncoding), round(float(rappor.keep), 3), round(float(rappor.flip), 3)
    (True, 0.731, 0.269)
    """

    _shares: ClassVar[str] = ""
    """Probability of a set bit, in words. Optional. Default: made from both probabilities."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.flip < self.keep < 1:
            raise InvalidParameterError(
                f"{type(self).__name__} needs 0 < flip < keep < 1; got flip {float(self.flip):g} and keep "
                f"{float(self.keep):g}."
            )
        check_epsilon(self.epsilon)

    @property
    def facts(self) -> Facts:
        keep, flip = self.keep, self.flip
        # In the least likely vector every bit has its rarer value.
        log_smallest = log_of(min(keep, 1 - keep)) + (self.alphabet.size - 1) * log_of(min(flip, 1 - flip))
        shares = self._shares or f"{float(flip):.4g} + {float(keep - flip):.4g} theta"
        return Facts(
            is_positive=True,
            independence=Proof(BY_ITS_BIT.format(shares), "proposition strictlyConcaverappor"),
            log_smallest=log_smallest,
            corollary="corollary consistency1",
            bits=(keep, flip),
        )

    def _log_rest(self, ones: NDArray[np.int64]) -> NDArray[np.float64]:
        # P(vector with S ones | value whose own bit is 0) = (1 - keep) flip^S (1 - flip)^(k - 1 - S).
        others = self.alphabet.size - 1 - ones
        log_rest: NDArray[np.float64] = (
            log_of(1 - self.keep) + ones * log_of(self.flip) + others * log_of(1 - self.flip)
        )
        return log_rest

    def weights(self, index: int) -> list[int]:
        # For bit vectors few enough to list.
        self.report_alphabet.require_listable()
        own = (self.keep.denominator - self.keep.numerator, self.keep.numerator)
        set_, unset = self.flip.numerator, self.flip.denominator - self.flip.numerator
        others = [set_**ones * unset ** (self.alphabet.size - 1 - ones) for ones in range(self.alphabet.size)]
        return [
            own[vector >> index & 1] * others[(vector & ~(1 << index)).bit_count()]
            for vector in range(self.report_alphabet.size)
        ]

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        each = (np.arange(self.alphabet.size) == indices[rows, None] for rows in self._slices(indices.size))
        return np.concatenate([self._blurred(is_set, bits) for is_set in each])

    def _blur(self, words: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Add noise to vectors with any number of set bits.

        A set bit stays set with probability `keep`; any other is set with probability `flip`.
        """
        each = (self.report_alphabet.unpack(words[rows]) for rows in self._slices(len(words)))
        return np.concatenate([self._blurred(is_set, bits) for is_set in each]) if len(words) else words

    def _blurred(self, is_set: NDArray[np.bool_], bits: Bits) -> NDArray[np.int64]:
        vectors = _toss(self.flip, is_set.size, bits).reshape(is_set.shape)
        # If keep = 1 - flip, the same toss also serves set bits: a set bit stays unless it is flipped.
        is_symmetric = self.keep == 1 - self.flip
        vectors[is_set] = ~vectors[is_set] if is_symmetric else _toss(self.keep, int(is_set.sum()), bits)
        return self.report_alphabet.pack(vectors)


def _toss(probability: Fraction, count: int, bits: Bits) -> NDArray[np.bool_]:
    """Toss exact coins.

    Tossing the rarer side is faster: it has more leading bits to compare.
    """
    if probability > Fraction(1, 2):
        return ~PowerCoin(1 - probability).toss(count, bits)
    return PowerCoin(probability).toss(count, bits)


@dataclass(frozen=True, repr=False)
class Rappor(UnaryEncoding):
    """Set the bit of the value, then flip each bit at random.

    A bit is kept with probability p = e^(epsilon / 2) / (1 + e^(epsilon / 2)) (paper, lemma probrappor).

    >>> from confide import Categories
    >>> mechanism = Rappor(Categories(["red", "green", "blue"]), epsilon=1.0)
    >>> mechanism.report_alphabet.unpack(mechanism.privatize(["red", "blue"], rng=1)).shape
    (2, 3)
    """

    kind = "rappor"
    suits = "categories"
    title = "the RAPPOR mechanism"
    about = "one bit per value, 1 for the true value; then each bit is flipped at random"
    alphabet: Alphabet
    epsilon: float

    _shares = "1 - p + (2p - 1) theta"

    @cached_property
    def keep(self) -> Fraction:
        # (1 - p) / p is e^(-epsilon / 2), rounded up.
        return 1 / (1 + ratio_above(Fraction(self.epsilon) / 2))

    @property
    def flip(self) -> Fraction:
        return 1 - self.keep


@dataclass(frozen=True, repr=False)
class OptimizedUnary(UnaryEncoding):
    """Set the value's bit by a fair coin, other bits rarely.

    The true value's bit is 1 with probability 1/2, any other with probability 1 / (e^epsilon + 1). Of all unary
    encodings with this promise it has the smallest variance for rare values (Wang et al., USENIX Security 2017, OUE).

    >>> from confide import Categories
    >>> mechanism = OptimizedUnary(Categories(["red", "green", "blue"]), epsilon=1.0)
    >>> float(mechanism.keep), round(float(mechanism.flip), 3)
    (0.5, 0.269)
    """

    kind = "optimized-unary"
    suits = "categories"
    title = "optimized unary encoding"
    about = "one bit per value: the true value's is 1 half of the time, any other rarely"
    alphabet: Alphabet
    epsilon: float

    keep = Fraction(1, 2)

    @cached_property
    def flip(self) -> Fraction:
        # flip / (1 - flip) is e^-epsilon, rounded up.
        return 1 / (1 + 1 / ratio_above(Fraction(self.epsilon)))


@dataclass(frozen=True, repr=False)
class BitEncoding(UnaryEncoding):
    """Unary encoding by its two exact probabilities; epsilon follows from them."""

    alphabet: Alphabet
    own: Fraction
    other: Fraction

    @property
    def keep(self) -> Fraction:
        return self.own

    @property
    def flip(self) -> Fraction:
        return self.other

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The smallest epsilon that both probabilities keep.

        It is log of keep (1 - flip) / (flip (1 - keep)), rounded up.
        """
        return epsilon_above(self.keep * (1 - self.flip) / (self.flip * (1 - self.keep)))


@dataclass(frozen=True, repr=False, init=False)
class Unary(BitEncoding):
    """Set the true value's bit with probability `keep`, others with `flip`.

    As the fresh round of :class:`TwoRounds`, it reports each set bit as set with probability `keep` and each other with
    `flip`: the q and p of RAPPOR's instantaneous response.

    >>> from confide import Categories
    >>> Unary(Categories(["red", "green", "blue"]), keep=0.75, flip=0.25).guarantee.terms
    'epsilon 2.197'
    """

    kind = "unary"
    suits = "categories"
    title = "unary encoding"
    about = "one bit per value: the true value's is 1 with probability keep, any other with probability flip"
    example = """\
keep = 0.75                    # probability that the true value's bit is 1
flip = 0.25                    # probability that any other bit is 1
                               # here no report is more than 9 times as likely under one value as under another
"""

    def __init__(self, alphabet: Alphabet, keep: float, flip: float) -> None:
        check_positive("keep", keep)
        check_positive("flip", flip)
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "own", Fraction(float(keep)))
        object.__setattr__(self, "other", Fraction(float(flip)))
        self.__post_init__()

    @property
    def declared(self) -> Mapping[str, float]:
        return {"keep": float(self.keep), "flip": float(self.flip)}

    def __repr__(self) -> str:
        return f"Unary(alphabet={self.alphabet!r}, keep={float(self.keep)!r}, flip={float(self.flip)!r})"

"""Reports that name a set of values, the true one more often than any other: subset selection.

Every report is e^epsilon times as likely from a value in its set as from a value outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import BitChannel
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Facts, Proof
from confide.mechanisms.randomized_response import BY_ITS_BIT, BitReports
from confide.mechanisms.sampling import Bits, WeightRows, ratio_above, uniform_below
from confide.values import Alphabet, BitVectors, Indices
from confide.values.checks import check_count, settle


@dataclass(frozen=True, repr=False)
class SubsetSelection(BitReports):
    """Report a random set of values, with the true one in it more often than not.

    Of all sets with `members` values, each with the true value is e^epsilon times as likely as each without it (Ye and
    Barg, IEEE Transactions on Information Theory 2018; Wang et al. 2016). A report has one bit per value, as RAPPOR's.

    Parameters
    ----------
    alphabet
        Any values that can be listed.
    epsilon
        The promise, for every two values alike.
    members
        Values in a set. Optional. Default: the whole number near k / (e^epsilon + 1) with the smallest variance.

    >>> from confide import Categories
    >>> mechanism = SubsetSelection(Categories(["red", "green", "blue", "grey", "pink"]), epsilon=1.0)
    >>> mechanism.members, mechanism.guarantee
    (1, LocalDP(epsilon=1.0))
    >>> reports = mechanism.privatize(["red", "blue"], rng=1)
    >>> mechanism.report_alphabet.unpack(reports).sum(axis=1)
    array([1, 1])
    """

    kind = "subset-selection"
    suits = "categories"
    title = "subset selection"
    about = "a random set of values of one size, more often with the true value in it than without"
    alphabet: Alphabet
    epsilon: float
    members: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.alphabet.size - 1
        if self.members is None:
            settle(self, members=self._best)
            return
        check_count("members", self.members, least=1)
        if self.members > most:
            raise InvalidParameterError(
                f"members must be at most {most:,} of {self.alphabet.size:,} values; got {self.members:,}. The set of "
                f"all values tells nothing."
            )

    @property
    def _best(self) -> int:
        """Number of members with the smallest sum of variances."""
        size, ratio = self.alphabet.size, self._ratio
        fraction = int(size / (ratio + 1))
        near = {min(max(one, 1), size - 1) for one in (fraction, fraction + 1)}
        return min(sorted(near), key=lambda members: _total_variance(size, *_chances(size, members, ratio)))

    @property
    def _members(self) -> int:
        return self.members or 1  # settled: never None once the mechanism is made

    @cached_property
    def _ratio(self) -> Fraction:
        """A fraction just below e^epsilon."""
        return 1 / ratio_above(Fraction(self.epsilon))

    @property
    def keep(self) -> Fraction:
        return self._keep_and_flip[0]

    @property
    def flip(self) -> Fraction:
        return self._keep_and_flip[1]

    @cached_property
    def _keep_and_flip(self) -> tuple[Fraction, Fraction]:
        return _chances(self.alphabet.size, self._members, self._ratio)

    @property
    def report_alphabet(self) -> BitVectors:
        return BitVectors(self.alphabet.size, self._members)

    @property
    def facts(self) -> Facts:
        shares = f"{float(self.flip):.4g} + {float(self.keep - self.flip):.4g} theta"
        return Facts(
            is_positive=True,
            independence=Proof(BY_ITS_BIT.format(shares), "as in proposition strictlyConcaverappor"),
            log_smallest=self._log_outside,
        )

    @cached_property
    def _log_outside(self) -> float:
        """Log-probability of each set without the true value."""
        others, ratio = self.alphabet.size - 1, self._ratio
        inside, outside = math.comb(others, self._members - 1), math.comb(others, self._members)
        # Integers of any size have logarithms; fractions of them may overflow.
        return math.log(ratio.denominator) - math.log(inside * ratio.numerator + outside * ratio.denominator)

    def _log_rest(self, ones: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.full(ones.shape, self._log_outside)

    def _observed(self, packed: NDArray[np.uint8]) -> BitChannel:
        return BitChannel(self.alphabet.size, self.keep, self.flip, packed, float(self._ratio - 1))

    def weights(self, index: int) -> list[int]:
        # For sets few enough to list; vectors with another number of bits are impossible.
        self.report_alphabet.require_listable()
        by_bit = self._ratio.denominator, self._ratio.numerator
        return [
            by_bit[vector >> index & 1] if vector.bit_count() == self._members else 0
            for vector in range(self.report_alphabet.size)
        ]

    def at(self, epsilon: float) -> SubsetSelection:
        """Return the mechanism with another epsilon, and its own set size unless one was chosen."""
        return SubsetSelection(self.alphabet, epsilon, None if self.members == self._best else self.members)

    @cached_property
    def _with_or_without(self) -> WeightRows:
        """Weights of all sets with the true value, and of all without."""
        inside, outside = self._members * self._ratio.numerator, self.alphabet.size - self._members
        return WeightRows.of([[inside, outside * self._ratio.denominator]])

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        return np.concatenate([self._sets(indices[rows], bits) for rows in self._slices(indices.size)])

    def _sets(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        """Draw a set of other values for everyone; those who report their own replace one member by it.

        Both are drawn for everyone, so that timing does not reveal which one was reported.
        """
        rows, others = np.arange(indices.size), self.alphabet.size - 1
        is_without = self._with_or_without.draw(np.zeros(indices.size, dtype=np.int64), bits) == 1
        # Floyd's sample without replacement: the number drawn, or the last one if it has been drawn already.
        chosen = np.zeros((indices.size, others), dtype=bool)
        for last in range(others - self._members, others):
            drawn = uniform_below(last + 1, indices.size, bits)
            chosen[rows, np.where(chosen[rows, drawn], last, drawn)] = True
        place = uniform_below(self._members, indices.size, bits)
        members = np.nonzero(chosen)[1].reshape(-1, self._members)
        vectors = np.zeros((indices.size, others + 1), dtype=bool)
        members += members >= indices[:, None]  # the others are all values but the true one
        replaced = members[rows, place]
        members[rows, place] = np.where(is_without, replaced, indices)
        vectors[rows[:, None], members] = True
        return self.report_alphabet.pack(vectors)


def _chances(size: int, members: int, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Return P(x in the set | x) and P(x in the set | another value).

    >>> _chances(3, 1, Fraction(2))
    (Fraction(1, 2), Fraction(1, 4))
    """
    keep = members * ratio / (members * ratio + size - members)
    return keep, (members - keep) / (size - 1)  # the set has `members` values, whatever the true one


def _total_variance(size: int, keep: Fraction, flip: Fraction) -> Fraction:
    """Return the variances of all shares per report, summed; less a constant.

    A share is estimated by (frequency - flip) / (keep - flip).
    """
    return (keep * (1 - keep) + (size - 1) * flip * (1 - flip)) / (keep - flip) ** 2

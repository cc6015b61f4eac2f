"""k-ary randomized response (k-RR)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from confide.channels import RandomizedResponseChannel
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Mechanism, require_alphabet, settle_epsilon
from confide.mechanisms.facts import Bound, Facts, Premise, Proof
from confide.mechanisms.guarantees import LocalDP
from confide.mechanisms.sampling import Bits, WeightRows, ratio_above, uniform_below
from confide.values import Alphabet, Indices


@dataclass(frozen=True, repr=False)
class RandomizedResponse(Mechanism):
    """Report the truth with the largest probability that epsilon allows, else any other value alike.

    P(z | x) = e^epsilon / (k - 1 + e^epsilon) if z = x, and 1 / (k - 1 + e^epsilon) otherwise (paper, eq. krr).

    >>> from confide import Categories
    >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0)
    >>> mechanism.channel.dense().round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    kind = "randomized-response"
    suits = "categories"
    title = "k-ary randomized response"
    about = "the truth, or with some probability any other value alike"
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        require_alphabet("alphabet", self.alphabet)
        settle_epsilon(self)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"Randomized response needs at least two values; got {self.alphabet!r}.")

    @property
    def guarantee(self) -> LocalDP:
        """See :attr:`Mechanism.guarantee`."""
        return LocalDP(self.epsilon)

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
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
        """See :attr:`Mechanism.channel`."""
        other = 1 / (self._inverse_ratio + self.alphabet.size - 1)
        return RandomizedResponseChannel(self.alphabet.size, float(other * self._inverse_ratio), float(other))

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`."""
        self.alphabet.require_listable()
        row = [self._inverse_ratio.denominator] * self.alphabet.size
        row[index] = self._inverse_ratio.numerator
        return row

    @cached_property
    def _inverse_ratio(self) -> Fraction:
        """A fraction just below e^epsilon."""
        return 1 / ratio_above(Fraction(self.epsilon))

    @cached_property
    def _keep_or_replace(self) -> WeightRows:
        others = (self.alphabet.size - 1) * self._inverse_ratio.denominator
        return WeightRows.of([[self._inverse_ratio.numerator, others]])

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Replace some values by one of the others: the same row weights, without a row per value.

        The other one is drawn for everybody, so that the time of a draw does not tell who was replaced.
        """
        replaced = self._keep_or_replace.draw(np.zeros(indices.size, dtype=np.int64), bits)
        others = uniform_below(self.alphabet.size - 1, indices.size, bits)
        others += others >= indices
        return np.where(replaced == 1, others, indices)


def krr_bound(size: int, epsilon: float) -> Bound:
    """Return the upper bound on inversion's error for k-RR (proposition invKrrBound).

    >>> round(krr_bound(100, 2.0).per_report, 2)
    277.28
    """
    # Written in e^-epsilon, which cannot overflow.
    root = (1 + (size - 1) * math.exp(-epsilon)) / -math.expm1(-epsilon)
    misprint = "227.28" if (size, epsilon) == (100, 2.0) else ""  # printed in place of 277.28
    condition = "any epsilon above 0"
    return Bound("at most", root**2, "proposition invKrrBound", holds=True, condition=condition, misprint=misprint)

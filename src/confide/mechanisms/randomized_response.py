"""k-ary randomized response (k-RR)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from confide.alphabets import Alphabet, Indices
from confide.channels import RandomizedResponseChannel
from confide.errors import InvalidParameterError
from confide.guarantees import LocalDP
from confide.mechanisms.base import Mechanism, require_alphabet, settle_epsilon
from confide.mechanisms.premises import Premise
from confide.sampling import Bits, WeightRows, ratio_above, uniform_below


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

    kind: ClassVar[str] = "randomized-response"
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
    def premise(self) -> Premise:
        """See :attr:`Mechanism.premise`."""
        return Premise.OWN_VALUE

    @cached_property
    def channel(self) -> RandomizedResponseChannel:
        """See :attr:`Mechanism.channel`."""
        other = 1 / (self._inverse_ratio + self.alphabet.size - 1)
        return RandomizedResponseChannel(self.alphabet.size, float(other * self._inverse_ratio), float(other))

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`."""
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
        """Replace some values by one of the others: the same row weights, without a row per value."""
        outputs = indices.copy()
        replaced = np.flatnonzero(self._keep_or_replace.draw(np.zeros(indices.size, dtype=np.int64), bits))
        others = uniform_below(self.alphabet.size - 1, replaced.size, bits)
        outputs[replaced] = others + (others >= indices[replaced])
        return outputs

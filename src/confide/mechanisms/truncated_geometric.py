"""The truncated linear geometric mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from confide.alphabets import Alphabet, Indices, Integers
from confide.channels import TwoSidedExponential
from confide.errors import InvalidParameterError
from confide.guarantees import MetricPrivacy, check_epsilon
from confide.mechanisms.base import Mechanism
from confide.sampling import Bits, GeometricNoise, ratio_above

LARGEST_TABLE = 256
"""Up to this many values a row of weights per value is drawn from; past it noise is added and clamped instead."""


@dataclass(frozen=True)
class TruncatedGeometric(Mechanism):
    """Add two-sided geometric noise to a whole number and clamp the sum to the alphabet.

    P(z | x) = a(z) alpha^|z - x| with alpha = e^(-epsilon spacing); a is 1 / (1 + alpha) at the two ends, which collect
    all the noise beyond them, and (1 - alpha) / (1 + alpha) between (paper, eq. TLinearGeometric).

    The epsilon is per unit of distance: with a spacing of one year, 0.05 means 0.05 per year of difference.

    >>> from confide import Integers
    >>> mechanism = TruncatedGeometric(Integers(0, 99), epsilon=0.05)
    >>> round(mechanism.guarantee.factor(30, 35), 2)
    1.28
    """

    kind: ClassVar[str] = "truncated-geometric"
    alphabet: Integers
    epsilon: float

    def __post_init__(self) -> None:
        _require_integers(self.alphabet)
        check_epsilon(self.epsilon, self.alphabet.spacing)

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @cached_property
    def channel(self) -> TwoSidedExponential:
        """See :attr:`Mechanism.channel`."""
        scale = np.full(self.alphabet.size, float((1 - self._ratio) / (1 + self._ratio)))
        scale[[0, -1]] = float(1 / (1 + self._ratio)) if self.alphabet.size > 1 else 1.0
        return TwoSidedExponential(float(self._ratio), float(1 - self._ratio), scale)

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`; a(z) alpha^|z - x| over the common denominator."""
        size, inner, full = self.alphabet.size, self._ratio.numerator, self._ratio.denominator
        row = [inner**distance * full ** (size - 1 - distance) for distance in _distances(index, size)]
        return [weight * (full if output in (0, size - 1) else full - inner) for output, weight in enumerate(row)]

    @cached_property
    def _ratio(self) -> Fraction:
        """alpha, rounded up by less than two parts in 2^64: the noise keeps the promise and a trifle more."""
        return ratio_above(Fraction(self.epsilon) * Fraction(self.alphabet.spacing))

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        if self.alphabet.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        noise = GeometricNoise(self._ratio).draw(indices.size, bits)
        clamped: Indices = np.clip(indices + noise, 0, self.alphabet.size - 1)
        return clamped


def _distances(index: int, size: int) -> list[int]:
    return [abs(output - index) for output in range(size)]


def _require_integers(alphabet: Alphabet) -> None:
    if not isinstance(alphabet, Integers):
        raise InvalidParameterError(
            f"The geometric mechanism needs whole numbers on a line, Integers(low, high); got {alphabet!r}."
        )

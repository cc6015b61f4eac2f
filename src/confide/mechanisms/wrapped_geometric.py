"""Geometric noise around a circle: hours of the day, days of the week."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from confide.alphabets import Circle, Indices
from confide.channels import WrappedExponential
from confide.errors import InvalidParameterError
from confide.guarantees import MetricPrivacy
from confide.mechanisms.base import Mechanism, settle_epsilon
from confide.mechanisms.facts import Facts, Proof
from confide.mechanisms.line import LARGEST_TABLE
from confide.sampling import Bits, GeometricNoise, log_of, ratio_above


@dataclass(frozen=True, repr=False)
class WrappedGeometric(Mechanism):
    """Add two-sided geometric noise to a value on a circle, and go around as often as it takes.

    P(z | x) is proportional to alpha^d + alpha^(k - d) with alpha = e^-epsilon and d the steps from x to z: the sum
    over all wraps. The epsilon is per step around the circle, the shorter way; 23 hours and 0 hours are one apart.

    >>> from confide import Hours
    >>> mechanism = WrappedGeometric(Hours(), epsilon=0.5)
    >>> mechanism.guarantee.bound(23, 0)
    0.5
    """

    kind = "wrapped-geometric"
    about = "noise is added, and goes around the circle"
    alphabet: Circle
    epsilon: float

    def __post_init__(self) -> None:
        if not isinstance(self.alphabet, Circle):
            raise InvalidParameterError(
                f"WrappedGeometric needs a circle, Hours(), Weekdays() or Circle(steps); got {self.alphabet!r}. On a "
                f"line use TruncatedGeometric."
            )
        settle_epsilon(self)

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        inverse = Proof(
            "Its matrix has an inverse: 1 + alpha^2 at a value and -alpha at its two neighbours, over (1 - alpha)^2.",
            "wrapped inverse of the geometric kernel",
        )
        return Facts(is_positive=True, independence=inverse)

    @cached_property
    def channel(self) -> WrappedExponential:
        """See :attr:`Mechanism.channel`."""
        size, ratio = self.alphabet.size, self._ratio
        # 1 - alpha^k without cancellation; powers of fractions of 64 bits are exact, and long for a large circle.
        around = float(1 - ratio**size) if size <= LARGEST_TABLE else -math.expm1(size * log_of(ratio))
        return WrappedExponential(size, float(ratio), float(1 - ratio), around)

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`."""
        row = _row(self._ratio, self.alphabet.size)
        return row[-index:] + row[:-index] if index else list(row)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from rows of weights where there are few; else add noise and go around."""
        if self.alphabet.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        return (indices + GeometricNoise(self._ratio).draw(indices.size, bits)) % self.alphabet.size

    @cached_property
    def _ratio(self) -> Fraction:
        return ratio_above(Fraction(self.epsilon))


@cache
def _row(ratio: Fraction, size: int) -> list[int]:
    """Return alpha^d + alpha^(size - d) for all d, over their common denominator."""
    inner, full = ratio.numerator, ratio.denominator
    powers = [inner**power * full ** (size - power) for power in range(size + 1)]
    return [powers[steps] + powers[size - steps] for steps in range(size)]

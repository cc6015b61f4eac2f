"""The linear geometric mechanism: unbounded, with any whole number as a report, and clamped.

Geometric noise around a circle: hours of the day, days of the week.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels import TwoSidedExponential, WrappedExponential
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism, settle_epsilon
from confide.mechanisms.facts import FOURIER, Bound, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.guarantees import MetricPrivacy
from confide.mechanisms.line import LARGEST_TABLE, TruncatedLineMechanism, UnboundedLineMechanism
from confide.mechanisms.sampling import Bits, GeometricNoise, log_of, ratio_above
from confide.values import Alphabet, Indices, LineGeometry, RingGeometry
from confide.values.limits import LARGEST_INTEGER

LARGEST_BOUNDED_RATE = 0.94
"""Largest lambda times spacing for which the paper's bound on inversion's error holds."""

FEWEST_CELLS = 3
"""Fewest cells an axis for it: its proof takes the inverse's second row from a cell that is no border."""


@dataclass(frozen=True, repr=False)
class Geometric(UnboundedLineMechanism):
    """Add two-sided geometric noise to a whole number.

    P(z | x) = (1 - alpha) / (1 + alpha) alpha^|z - x| with alpha = e^(-epsilon spacing) (paper, eq. linearGeometric).
    A report past 2^53 - 1 either way is that number.

    >>> from confide import Integers
    >>> mechanism = Geometric(Integers(0, 99), epsilon=0.05)
    >>> mechanism.report_alphabet
    Integers()
    """

    kind = "geometric"
    about = "noise is added; any whole number may be reported"
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def report_alphabet(self) -> Alphabet:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.alphabet.between(None, None)

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        at_values = Proof("The columns at the values are linearly independent.", "lemma linearGeometricLinIndependence")
        return Facts(
            is_positive=True,
            independence=at_values if self.alphabet.is_finite else FOURIER,
            premise=Premise.LINE,
            decay=self.decay,
            noise=LatticeNoise(self._ratio),
            dominance=self._dominance() if self.alphabet.is_finite else None,
        )

    def _dominance(self) -> Proof:
        low, high = self.alphabet.span
        rate, constant = float(self._rate), -log_inner(float(self._rate))
        reason = f"d(z) = {rate:.4g} (|z - {low}| + {high - low}) + {constant:.4g}, whose mean is finite."
        return Proof(reason, "corollary consistency2", {"lambda times spacing": rate, "-log a": constant})

    def _truncated(self, outputs: Alphabet | None) -> TruncatedGeometric | None:
        if outputs is None or isinstance(outputs.geometry, LineGeometry):
            return TruncatedGeometric(self.alphabet, self.epsilon, outputs)
        return None

    @property
    def decay(self) -> float:
        """See :attr:`UnboundedLineMechanism.decay`."""
        return -log_of(self._ratio)

    @property
    def _log_peak(self) -> float:
        return math.log(float((1 - self._ratio) / (1 + self._ratio)))

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`.

        A report beyond the alphabet says of the values inside exactly what the border says, whatever its distance: its
        column is the border's, times a constant. So it is counted there, and the constant goes into the offset.
        """
        low, high = self.alphabet.span
        self.refuse_strays(counts)
        clamped = add_up(np.clip(counts.reports, low, high), counts.counts)
        log_ratio = clamped_log_ratio(self._ratio, counts.reports, low, high)
        evidence = self._clamped.observe(clamped)
        return replace(evidence, log_offset=float(counts.counts @ log_ratio))

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        noisy = self.alphabet.decode(indices) + GeometricNoise(self._ratio).draw(indices.size, bits)
        reports: NDArray[np.int64] = np.clip(noisy, -LARGEST_INTEGER, LARGEST_INTEGER)  # past them there is no number
        return reports

    @cached_property
    def _clamped(self) -> TruncatedGeometric:
        """Kept, so that all groups of reports go through one channel."""
        return TruncatedGeometric(self.alphabet, self.epsilon)

    @cached_property
    def _ratio(self) -> Fraction:
        return ratio_above(self._rate)


@dataclass(frozen=True, repr=False)
class TruncatedGeometric(TruncatedLineMechanism):
    """Add two-sided geometric noise to a whole number and clamp the sum to the alphabet, or to other outputs.

    P(z | x) = a(z) alpha^|z - x| with alpha = e^(-epsilon spacing); a is 1 / (1 + alpha) at the two ends, which collect
    all the noise beyond them, and (1 - alpha) / (1 + alpha) between (paper, eq. TLinearGeometric).

    The epsilon is per unit of distance: with a spacing of one year, 0.05 means 0.05 per year of difference. The ratio
    alpha is rounded up by less than two parts in 2^64, so that the noise keeps the promise and a trifle more.

    >>> from confide import Integers
    >>> mechanism = TruncatedGeometric(Integers(0, 99), epsilon=0.05)
    >>> round(mechanism.guarantee.factor(30, 35), 2)
    1.28
    """

    kind = "truncated-geometric"
    about = "noise is added, and the sum clamped to the alphabet"
    alphabet: Alphabet
    epsilon: float
    outputs: Alphabet | None = None

    def __post_init__(self) -> None:
        self._check()

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        rate, size = float(self._rate), self.alphabet.size
        if self._is_uneven:
            noise = self._uneven_noise(LatticeNoise(self._ratio, is_clamped=True))
            return replace(super().facts, noise=noise)
        known = replace(
            super().facts,
            noise=LatticeNoise(self._ratio, is_clamped=True),
            corollary="corollary consistency1",
            inversion_bound=geometric_bound(rate, size, is_square=self._is_plain),
        )
        if not self.reports_every_value:
            return known
        reason, source = "The columns at the values are linearly independent.", "lemma TLinearGeometricLinIndependence"
        smallest = log_smallest_clamped(rate, self.alphabet.span, self.report_alphabet.span)
        return replace(known, independence=Proof(reason, source), log_smallest=smallest)

    def _box_channel(self, size: int) -> TwoSidedExponential:
        return clamped_channel(self._ratio, size)

    def _box_weights(self, index: int, size: int) -> list[int]:
        return clamped_weights(self._ratio, index, size)

    def _tail_weight(self, steps: int | None, size: int) -> int:
        # P(noise >= m) is alpha^m / (1 + alpha) for m >= 0, and the complement of the other side's below; times
        # 1 + alpha, over the denominator's power of size + 1, which no difference of two places exceeds.
        inner, full = self._ratio.numerator, self._ratio.denominator
        power = size + 1
        if steps is not None and steps >= 0:
            return int(inner**steps * full ** (power - steps))
        whole = int((full + inner) * full ** (power - 1))
        return whole if steps is None else whole - int(inner ** (1 - steps) * full ** (power - 1 + steps))

    def _noise(self, count: int, bits: Bits) -> Indices:
        return GeometricNoise(self._ratio).draw(count, bits)

    @cached_property
    def _ratio(self) -> Fraction:
        return ratio_above(self._rate)


def clamped_channel(ratio: Fraction, size: int) -> TwoSidedExponential:
    """Return the channel of geometric noise clamped to `size` cells."""
    columns = np.full(size, float((1 - ratio) / (1 + ratio)))
    columns[[0, -1]] = float(1 / (1 + ratio))
    return TwoSidedExponential(float(ratio), float(1 - ratio), columns)


def clamped_weights(ratio: Fraction, index: int, size: int) -> list[int]:
    """Return a(z) alpha^|z - x| for all z, over their common denominator."""
    inner, full = ratio.numerator, ratio.denominator
    row = [power_weights(ratio, size)[abs(z - index)] for z in range(size)]
    return [weight * (full if z in (0, size - 1) else full - inner) for z, weight in enumerate(row)]


@cache
def power_weights(ratio: Fraction, size: int) -> list[int]:
    """Return ratio^0, ..., ratio^(size - 1) over their common denominator; the same for every row, and slow to make."""
    return [ratio.numerator**power * ratio.denominator ** (size - 1 - power) for power in range(size)]


def clamped_log_ratio(ratio: Fraction, reports: Indices, low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    """Return log P(report | x) - log P(its clamped stand-in | x), which is the same for every value x inside."""
    clamped = np.clip(reports, low, high)
    at_border = (clamped == low) | (clamped == high)
    log_ratios: NDArray[np.float64] = np.abs(reports - clamped) * log_of(ratio)
    log_ratios += np.where(at_border, math.log(float(1 - ratio)), 0.0)
    return log_ratios


def log_inner(rate: float) -> float:
    """Return log a = log((1 - alpha) / (1 + alpha)) for alpha = e^-rate, without cancellation."""
    return math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))


def log_smallest_clamped(rate: float, values: tuple[int, int], outputs: tuple[int, int]) -> float:
    """Return the smallest log-probability of clamped geometric noise: at an end, or just inside it."""
    (low, high), (first, last) = values, outputs
    at_end = -math.log1p(math.exp(-rate)) - rate * max(last - low, high - first)
    if last - first < 2:
        return at_end
    return min(at_end, log_inner(rate) - rate * max(last - 1 - low, high - first - 1))


def geometric_bound(rate: float, size: int, *, is_square: bool = True) -> Bound:
    """Return the lower bound on inversion's error for the truncated mechanism (proposition invTLinGeomBound).

    Parameters
    ----------
    rate
        Lambda times the spacing.
    size
        How many values there are.
    is_square
        Whether values and outputs are the same.

    >>> round(geometric_bound(0.05, 100).per_report, 1)
    7818.5
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    return Bound.at_least(
        beta**3 - 2 * alpha * beta**2 - 2,
        "proposition invTLinGeomBound",
        {
            f"lambda times spacing {rate:.4g} is at most {LARGEST_BOUNDED_RATE}": rate <= LARGEST_BOUNDED_RATE,
            f"values and outputs are the same, {FEWEST_CELLS} or more": is_square and size >= FEWEST_CELLS,
        },
        "7238" if (size, rate) == (100, 0.05) else "",  # the paper prints this, where its own formula gives 7818.5
    )


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
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        given: object = self.alphabet
        if not isinstance(given, Alphabet) or not isinstance(given.geometry, RingGeometry):
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

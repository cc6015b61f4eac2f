"""Mechanisms on a line or around a circle: geometric and Laplace noise, unbounded and clamped."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels import Channel, Embedded, ScatteredExponential, TwoSidedExponential, WrappedExponential
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import (
    LARGEST_TABLE,
    MetricMechanism,
    UnboundedMechanism,
    merge_weights,
    require_finite,
    settle_epsilon,
)
from confide.mechanisms.facts import POSITIVE_DEFINITE, Bound, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.sampling import Bits, GeometricNoise, LaplaceCellNoise, log_of
from confide.values import Alphabet, Indices, Integers, Line, LineGeometry, RingGeometry
from confide.values.limits import LARGEST_INTEGER


class LineMechanism(MetricMechanism):
    """A mechanism on whole numbers whose epsilon is per unit of distance."""

    def __post_init__(self) -> None:
        require_line(self.alphabet, type(self).__name__)
        if not self._is_uneven:
            settle_epsilon(self, self.alphabet.spacing)
            return
        step, places = self._lattice
        if places[-1] >= 2**20:  # products take time in proportion to the points of the lattice
            raise InvalidParameterError(
                f"The places of {self.alphabet!r} have {float(step):g} in common and nothing coarser, of which it "
                f"takes {places[-1]:,}, more than {2**20:,}, to reach from the first to the last. Choose rounder "
                f"edges, or use Exponential, which takes any."
            )
        settle_epsilon(self, float(step * int(np.diff(places).min())))

    @property
    def _rate(self) -> Fraction:
        """The promised log-ratio between neighbours, or between points of the lattice of uneven values, exactly."""
        return Fraction(self.epsilon) * self._lattice[0] if self._is_uneven else super()._rate

    @property
    def _is_uneven(self) -> bool:
        """Whether values lie on a line, but not equally far apart."""
        return self.alphabet.positions is not None

    @cached_property
    def _lattice(self) -> tuple[Fraction, Indices]:
        """Step of the coarsest lattice that holds all uneven values, and their places on it."""
        return lattice_of(self.alphabet.positions or ())


class TruncatedLineMechanism(LineMechanism):
    """Noise on a line, clamped to a range of outputs; the alphabet itself unless another is named.

    Everything happens on a box that holds alphabet and outputs: the noise is clamped to the box, and from there to the
    outputs. For ranges on a line that is the same as clamping to the outputs at once.
    """

    outputs: Alphabet | None
    _sampler: ClassVar[Any] = GeometricNoise
    """Noise over all whole numbers, by its ratio."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name, outputs = type(self).__name__, self.outputs
        require_finite(self.alphabet, name)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")
        if outputs is None:
            return
        if self._is_uneven:
            raise InvalidParameterError(
                f"Reports of uneven values are these values; {name} over {self.alphabet!r} takes no other outputs. "
                f"Leave them out."
            )
        require_line(outputs, f"The outputs of {name}")
        (low, high), (first, last) = self.alphabet.span, outputs.span
        if outputs.spacing != self.alphabet.spacing:
            raise InvalidParameterError(
                f"Outputs must have the spacing of the alphabet, {self.alphabet.spacing:g}; got {outputs.spacing:g}."
            )
        if last < low or first > high:
            raise InvalidParameterError(
                f"The outputs {outputs!r} miss the alphabet {self.alphabet!r} altogether. Choose others that overlap."
            )

    def _known(self, noise: LatticeNoise) -> Facts:
        """Return the facts that all clamped noise on a line has. One single output says nothing."""
        says_something = self.report_alphabet.size > 1
        known = Facts(is_positive=True, premise=Premise.LINE if says_something else Premise.NOTHING, noise=noise)
        if not self._is_uneven:
            return known
        # Of uneven values the rule of each report is an interval, under noise that falls away on both sides: the LINE.
        # e^(-c |x - z|) is totally positive (Karlin, 1968): its minors over rising x and rising z are not negative. By
        # the basic composition formula the determinant over values x_1 < x_2 < ... and intervals B_1 < B_2 < ... is
        # the sum, or integral, of such minors over all z_i in B_i. The one at z_i = x_i, which lies in B_i, is
        # positive (positive definite kernel).
        intervals = Proof(
            "A report stands for an interval of places that holds its own value. The determinant of the matrix is a "
            "sum of determinants of e^(-c distance) between rising places, none negative and one positive.",
            "total positivity of the Laplace kernel",
        )
        # All gaps between values, and bounds, are multiples of the lattice's step, so the first gap stands for all.
        places = self._lattice[1].tolist()
        return replace(known, independence=intervals, noise=replace(noise, resolution=places[1], points=places[-1]))

    @property
    def reports_every_value(self) -> bool:
        """Whether every value is also an output, which lemmas on clamped noise ask for."""
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return first <= low and high <= last

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """See :meth:`Mechanism.peaks`; an end collects all beyond it, so it is likeliest from the alphabet's end."""
        self.refuse_strays(counts)
        if self._is_uneven:
            # The value likeliest to give a report is the one nearest to the middle of its cells, but for the two ends.
            middles = (self._starts[:-1] + self._starts[1:] - 1)[:, None] / 2
            nearest = np.argmin(np.abs(self._values - middles), axis=1)
            likeliest = np.concatenate([[0], nearest, [self.alphabet.size - 1]]).astype(np.float64)
            return likeliest[self.alphabet.encode(counts.reports)][:, None]
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        reports = counts.reports.astype(np.float64)
        places = np.where(reports == first, float(low), np.where(reports == last, float(high), reports))
        return places[:, None]

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; a range that holds all reports has a piece of the channel."""
        if not self._is_plain or not isinstance(part.geometry, LineGeometry):
            return super().observe_within(counts, part)
        self.refuse_strays(counts)
        places = part.locate(counts.reports)
        if (places < 0).any():
            return super().observe_within(counts, part)
        per_output: NDArray[np.float64] = np.zeros(part.size)
        per_output[places] = counts.counts
        start = part.span[0] - self.alphabet.span[0]
        return Evidence(self._box_channel.piece(start, start + part.size), per_output)

    @cached_property
    def channel(self) -> Channel:
        """See :attr:`Mechanism.channel`; uneven values have a dense one while its exact rows are quick to make."""
        if self._is_plain:
            return self._box_channel
        # 2**21: entries of the dense matrix of uneven values times points of their lattice: its exact rows then take
        # half a second, where integers of 64 bits a point are powered and divided.
        if self._is_uneven and self.alphabet.size**2 * self._box.size <= 2**21:
            return super().channel
        return Embedded(self._box_channel, self._values, self._remap, self.report_alphabet.size)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`; of uneven values, differences of tails at the ends of each interval."""
        self._box.require_listable()
        place = int(self._values[index])
        if self._is_uneven:
            whole, *tails = [self._tail_weight(step) for step in (None, *(self._starts - place).tolist())]
            return [whole - tails[0]] + [one - other for one, other in zip(tails, [*tails[1:], 0], strict=True)]
        return merge_weights(self._remap, self._box_weights(place), self.report_alphabet.size)

    @property
    @abstractmethod
    def _box_channel(self) -> TwoSidedExponential:
        """The channel of noise clamped to the box, from each of its cells."""

    @abstractmethod
    def _box_weights(self, place: int) -> list[int]:
        """Return the exact weights of noise clamped to the box, from one of its cells."""

    @abstractmethod
    def _tail_weight(self, steps: int | None) -> int:
        """Return the weight of noise of at least so many steps, or of all noise, over a denominator for the box."""

    def _noise(self, count: int, bits: Bits) -> Indices:
        drawn: Indices = self._sampler(self._ratio).draw(count, bits)
        return drawn

    @property
    def _is_plain(self) -> bool:
        """Whether values and outputs are the same, and evenly spaced."""
        return not self._is_uneven and self.alphabet.span == self.report_alphabet.span

    @cached_property
    def _box(self) -> Alphabet:
        if self._is_uneven:
            return Integers(0, int(self._lattice[1][-1]))
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return self.alphabet.between(min(low, first), max(high, last))

    @cached_property
    def _values(self) -> Indices:
        """Places of the values in the box."""
        if self._is_uneven:
            return self._lattice[1]
        return np.arange(self.alphabet.size) + (self.alphabet.span[0] - self._box.span[0])

    @cached_property
    def _remap(self) -> Indices:
        """Number of the output that each cell of the box is reported as."""
        if self._is_uneven:
            return np.searchsorted(self._starts, np.arange(self._box.size), side="right")
        cells = np.arange(self._box.size) + (self._box.span[0] - self.report_alphabet.span[0])
        remap: Indices = np.clip(cells, 0, self.report_alphabet.size - 1)
        return remap

    @cached_property
    def _starts(self) -> Indices:
        """First cell of the box that is nearer to each uneven value than to the one before it, but for the first."""
        places = self._lattice[1]
        return (places[:-1] + places[1:]) // 2 + 1  # a cell in the middle goes to the lower one

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        if self._box.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        drawn: Indices
        if self._is_uneven:
            cells = np.clip(self._values[indices] + self._noise(indices.size, bits), 0, self._box.size - 1)
            drawn = self._remap[cells]
        else:
            shift = self.alphabet.span[0] - self.report_alphabet.span[0]
            drawn = np.clip(indices + shift + self._noise(indices.size, bits), 0, self.report_alphabet.size - 1)
        return drawn


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

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        rate, size = float(self._rate), self.alphabet.size
        known = self._known(LatticeNoise(self._ratio, is_clamped=True))
        if self._is_uneven:
            return known
        bound = geometric_bound(rate, size, is_square=self._is_plain)
        known = replace(known, corollary="corollary consistency1", inversion_bound=bound)
        if not self.reports_every_value:
            return known
        reason, source = "The columns at the values are linearly independent.", "lemma TLinearGeometricLinIndependence"
        smallest = log_smallest_clamped(rate, self.alphabet.span, self.report_alphabet.span)
        return replace(known, independence=Proof(reason, source), log_smallest=smallest)

    @cached_property
    def _box_channel(self) -> TwoSidedExponential:
        return clamped_channel(self._ratio, self._box.size)

    def _box_weights(self, place: int) -> list[int]:
        return clamped_weights(self._ratio, place, self._box.size)

    def _tail_weight(self, steps: int | None) -> int:
        # P(noise >= m) is alpha^m / (1 + alpha) for m >= 0, and the complement of the other side's below; times
        # 1 + alpha, over the denominator's power of size + 1, which no difference of two places exceeds.
        inner, full = self._ratio.numerator, self._ratio.denominator
        power = self._box.size + 1
        if steps is not None and steps >= 0:
            return int(inner**steps * full ** (power - steps))
        whole = int((full + inner) * full ** (power - 1))
        return whole if steps is None else whole - int(inner ** (1 - steps) * full ** (power - 1 + steps))


@dataclass(frozen=True, repr=False)
class TruncatedLaplace(TruncatedLineMechanism):
    """Add Laplace noise to a whole number, round to the nearest one and clamp to the alphabet, or to other outputs.

    With alpha = e^(-epsilon spacing) and b = sqrt(alpha), a cell at distance d > 0 gets (b^(2d - 1) - b^(2d + 1)) / 2,
    the cell itself 1 - b, and the two ends all the mass beyond them besides.

    >>> from confide import Integers
    >>> TruncatedLaplace(Integers(0, 2), epsilon=1.0).channel.dense().round(3)
    array([[0.697, 0.192, 0.112],
           [0.303, 0.393, 0.303],
           [0.112, 0.192, 0.697]])
    """

    kind = "truncated-laplace"
    about = "continuous noise is added, then rounded and clamped"
    alphabet: Alphabet
    epsilon: float
    outputs: Alphabet | None = None

    _divisor = 2  # of half a cell: the ratio is b = sqrt(alpha), rounded up like alpha itself
    _sampler = LaplaceCellNoise

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        # With b = sqrt(alpha), a cell is 1 / b^2 times as likely as the next, and its centre 2 / (b + b^2), less.
        known = self._known(LatticeNoise(self._ratio**2, stay=1 - self._ratio, is_clamped=True))
        if self._is_uneven or not self.reports_every_value:
            return known
        at_values = Proof("The columns at the values are linearly independent.", POSITIVE_DEFINITE)
        return replace(known, independence=at_values)

    @cached_property
    def _box_channel(self) -> TwoSidedExponential:
        half, size = self._ratio, self._box.size
        inner, border = (1 / half - half) / 2, 1 / (2 * half)
        columns, diagonal = np.full(size, float(inner)), np.full(size, float(1 - half))
        columns[[0, -1]], diagonal[[0, -1]] = float(border), float(1 - half / 2)
        return TwoSidedExponential(float(half**2), float(1 - half**2), columns, diagonal=diagonal)

    def _box_weights(self, place: int) -> list[int]:
        size = self._box.size
        whole, beyond = tail_weights(self._ratio, size)
        row = [beyond[abs(z - place)] - beyond[abs(z - place) + 1] for z in range(size)]
        row[place] = whole - 2 * beyond[1]
        row[0] = beyond[place] if place > 0 else whole - beyond[1]
        row[-1] = beyond[size - 1 - place] if place < size - 1 else whole - beyond[1]
        return row

    def _tail_weight(self, steps: int | None) -> int:
        # P(noise >= m) is b^(2m - 1) / 2 for m >= 1, and the complement of the other side's below.
        inner, full = self._ratio.numerator, self._ratio.denominator
        power = 2 * self._box.size + 1
        if steps is not None and steps >= 1:
            return int(inner ** (2 * steps - 1) * full ** (power - 2 * steps + 1))
        whole = int(2 * full**power)
        return whole if steps is None else whole - int(inner ** (1 - 2 * steps) * full ** (power - 1 + 2 * steps))


class UnboundedLineMechanism(UnboundedMechanism, LineMechanism):
    """Noise on a line with unbounded reports: P(z | x) is a constant times e^(-decay |z - x|)."""

    _premise = Premise.LINE
    _kin: ClassVar[type[TruncatedGeometric | TruncatedLaplace]]
    """The same noise, clamped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_uneven:
            raise InvalidParameterError(
                f"{type(self).__name__} would report places where {self.alphabet!r} has no value. Use "
                f"Truncated{type(self).__name__}, which reports the nearest one."
            )

    def _truncated(self, outputs: Alphabet | None) -> LineMechanism | None:
        is_line = outputs is None or isinstance(outputs.geometry, LineGeometry)
        return self._kin(self.alphabet, self.epsilon, outputs) if is_line else None

    @property
    def _log_peak(self) -> float:
        """The log-probability of reporting the value itself."""
        return math.log(float((1 - self._ratio) / (1 + self._ratio)))

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; here P(report | value) does not depend on what other values exist."""
        if isinstance(part.geometry, LineGeometry):
            mine: LineMechanism = replace(self, alphabet=part)  # type: ignore[type-var]  # it is a dataclass
            return mine.observe(counts)
        self.refuse_strays(counts)
        places = part.coordinates[:, 0]
        if part.selected_from is None or (np.diff(places) <= 0).any():
            raise InvalidParameterError(f"A part of {self.alphabet!r} must be in increasing order; got {part!r}.")
        reports = counts.reports.astype(np.float64)
        inside = np.clip(reports, places[0], places[-1])
        channel = ScatteredExponential(part.size, self.decay, inside, places)
        offset = counts.counts @ (self._log_peak - self.decay * np.abs(reports - inside))
        return Evidence(channel, counts.counts, float(offset))


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

    _kin = TruncatedGeometric
    _independence = Proof("The columns at the values are linearly independent.", "lemma linearGeometricLinIndependence")

    @property
    def report_alphabet(self) -> Alphabet:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.alphabet.between(None, None)

    @property
    def _dominance(self) -> Proof:
        low, high = self.alphabet.span
        rate, constant = float(self._rate), -log_inner(float(self._rate))
        reason = f"d(z) = {rate:.4g} (|z - {low}| + {high - low}) + {constant:.4g}, whose mean is finite."
        return Proof(reason, "corollary consistency2", {"lambda times spacing": rate, "-log a": constant})

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


@dataclass(frozen=True, repr=False)
class Laplace(UnboundedLineMechanism):
    """Add Laplace noise to a whole number and report the real number that results.

    No computer draws a real number. Reports are multiples of a step/2^16, and the noise is exactly geometric among
    these: P(z | x) is proportional to ``e^(-epsilon |z - x|)`` on that fine lattice with no rounding on the way, so the
    promise holds to the letter, which floating-point Laplace noise is known to break.

    >>> from confide import Integers
    >>> Laplace(Integers(0, 99), epsilon=0.5).report_alphabet
    Line()
    """

    kind = "laplace"
    about = "continuous noise is added; reports are real numbers"
    alphabet: Alphabet
    epsilon: float

    _kin = TruncatedLaplace
    _divisor = Line.RESOLUTION

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alphabet.is_finite:
            self._require_near(np.array(self.alphabet.span))

    def _require_near(self, values: Indices) -> None:
        """Refuse values whose reports float64 could not hold: it has 53 bits, of which 16 are for the fraction."""
        farthest = int(np.abs(values).max(initial=0))
        if farthest > Line.FARTHEST_VALUE:
            raise InvalidParameterError(
                f"Laplace reports multiples of 2^-16, which float64 holds around values up to 2^35; got {farthest}. "
                f"Count from a later start or in coarser steps, or use Geometric."
            )

    @property
    def report_alphabet(self) -> Line:
        """See :attr:`Mechanism.report_alphabet`."""
        return Line(self.alphabet.spacing, self.alphabet.unit)

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`; beyond the alphabet a report is worth what the border is."""
        self.alphabet.require_listable()
        low, high = self.alphabet.span
        self.refuse_strays(counts)
        clamped = np.clip(counts.reports.astype(np.float64), low, high)
        beyond = np.abs(counts.reports - clamped)
        channel = ScatteredExponential(self.alphabet.size, self.decay, clamped - low)
        offset = float(counts.counts @ (self._log_peak - self.decay * beyond))
        return Evidence(channel, counts.counts, offset)

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.float64]:
        values = self.alphabet.decode(indices)
        self._require_near(values)
        noise = GeometricNoise(self._ratio).draw(indices.size, bits)
        reports: NDArray[np.float64] = values + noise / Line.RESOLUTION
        return reports


@dataclass(frozen=True, repr=False)
class WrappedGeometric(MetricMechanism):
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
        """See :meth:`Mechanism.weights`: alpha^d + alpha^(size - d) for all d, over their common denominator."""
        powers, size = power_weights(self._ratio, self.alphabet.size + 1), self.alphabet.size
        row = [powers[steps] + powers[size - steps] for steps in range(size)]
        # A circle looks the same from every value: all rows are the first one, turned.
        return row[-index:] + row[:-index] if index else row

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from rows of weights where there are few; else add noise and go around."""
        if self.alphabet.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        return (indices + GeometricNoise(self._ratio).draw(indices.size, bits)) % self.alphabet.size


def lattice_of(positions: Sequence[Fraction]) -> tuple[Fraction, Indices]:
    """Return the coarsest step of which all positions are multiples from the first one on, and these multiples.

    >>> lattice_of([Fraction(5), Fraction(15), Fraction(35), Fraction(75)])
    (Fraction(10, 1), array([0, 1, 3, 7]))
    """
    gaps = [place - positions[0] for place in positions[1:]]
    whole = math.lcm(*(gap.denominator for gap in gaps))
    step = Fraction(math.gcd(*(int(gap * whole) for gap in gaps)), whole)
    return step, np.array([0, *(int(gap / step) for gap in gaps)], dtype=np.int64)


def require_line(alphabet: object, name: str) -> None:
    """Refuse anything but whole numbers on a line, or values with places along one."""
    if not isinstance(alphabet, Alphabet) or not isinstance(alphabet.geometry, LineGeometry):
        raise InvalidParameterError(f"{name} needs whole numbers on a line, Integers(low, high); got {alphabet!r}.")


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


@cache
def tail_weights(half_ratio: Fraction, size: int) -> tuple[int, list[int]]:
    """Return 1, and the probabilities of noise that leads to distances 0, 1, ..., size on one side or further.

    They are b^(2d - 1) / 2, all over one denominator, which is left out; the same for every row, and slow to make.
    """
    inner, full = half_ratio.numerator, half_ratio.denominator
    tails = [inner ** (2 * distance - 1) * full ** (2 * (size - distance) + 1) for distance in range(1, size + 1)]
    whole = 2 * full ** (2 * size)
    return whole, [whole, *tails]


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
    # The proof takes the inverse's second row from a cell that is no border: there are three or more.
    return Bound.at_least(
        beta**3 - 2 * alpha * beta**2 - 2,
        "proposition invTLinGeomBound",
        {
            f"lambda times spacing {rate:.4g} is at most 0.94": rate <= 0.94,
            "values and outputs are the same, 3 or more": is_square and size >= 3,
        },
        "7238" if (size, rate) == (100, 0.05) else "",  # the paper prints this, where its own formula gives 7818.5
    )

"""Geometric and Laplace noise on a line or a circle."""

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
    POSITIVE_DEFINITE,
    Bound,
    Facts,
    LatticeNoise,
    MetricMechanism,
    Premise,
    Proof,
    UnboundedMechanism,
    merge_weights,
    require_finite,
    settle_epsilon,
)
from confide.mechanisms.sampling import Bits, GeometricNoise, LaplaceCellNoise, log_of
from confide.values import Alphabet, Indices, Integers, Line, LineGeometry, RingGeometry
from confide.values.checks import LARGEST_INTEGER


class LineMechanism(MetricMechanism):
    """A mechanism on whole numbers with epsilon per unit of distance."""

    def __post_init__(self) -> None:
        require_line(self.alphabet, type(self).__name__)
        if not self._is_uneven:
            settle_epsilon(self, self.alphabet.spacing)
            return
        step, places = self._lattice
        if places[-1] >= 2**20:  # products take time in proportion to the points of the lattice
            raise InvalidParameterError(
                f"The coarsest common step of the places of {self.alphabet!r} is {float(step):g}: {places[-1]:,} steps "
                f"from the first to the last, more than {2**20:,}. Choose rounder edges, or use Exponential, which "
                f"accepts any."
            )
        settle_epsilon(self, float(step * int(np.diff(places).min())))

    @property
    def _rate(self) -> Fraction:
        """Promised log-ratio between neighbours, exact.

        For uneven values, between neighbouring points of their lattice.
        """
        return Fraction(self.epsilon) * self._lattice[0] if self._is_uneven else super()._rate

    @property
    def _is_uneven(self) -> bool:
        """Whether values lie on a line with unequal spacing."""
        return self.alphabet.positions is not None

    @cached_property
    def _lattice(self) -> tuple[Fraction, Indices]:
        """Step of the coarsest lattice with all uneven values, and their places."""
        return lattice_of(self.alphabet.positions or ())


class TruncatedLineMechanism(LineMechanism):
    """Noise on a line, clamped to the outputs (default: the alphabet).

    Noise is clamped to a box around alphabet and outputs, and from there to the outputs. For ranges on a line that
    equals clamping to the outputs directly.
    """

    outputs: Alphabet | None
    _sampler: ClassVar[Any] = GeometricNoise
    """Noise over all whole numbers, made from its ratio."""

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
        """Return the facts shared by all clamped noise on a line.

        A single output reveals nothing.
        """
        says_something = self.report_alphabet.size > 1
        known = Facts(is_positive=True, premise=Premise.LINE if says_something else Premise.NOTHING, noise=noise)
        if not self._is_uneven:
            return known
        # A report of uneven values stands for an interval, and the noise falls on both sides: the premise LINE holds.
        # e^(-c |x - z|) is totally positive (Karlin, 1968): its minors over rising x and rising z are not negative. By
        # the basic composition formula the determinant over values x_1 < x_2 < ... and intervals B_1 < B_2 < ... is
        # the sum, or integral, of such minors over all z_i in B_i. The minor at z_i = x_i, which lies in B_i, is
        # positive (positive definite kernel).
        intervals = Proof(
            "A report stands for an interval of places that contains its own value. The determinant of the matrix is "
            "a sum of determinants of e^(-c distance) between rising places, none negative and one positive.",
            "total positivity of the Laplace kernel",
        )
        # All gaps and bounds are multiples of the lattice's step, so an audit of the first gap covers all.
        places = self._lattice[1].tolist()
        return replace(known, independence=intervals, noise=replace(noise, resolution=places[1], points=places[-1]))

    @property
    def reports_every_value(self) -> bool:
        """Whether every value is also an output, as some lemmas require."""
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return first <= low and high <= last

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        # An end output collects everything beyond it, so it is likeliest from the alphabet's end.
        self.refuse_strays(counts)
        if self._is_uneven:
            # A report is likeliest from the value nearest to the middle of its cells, except at the two ends.
            middles = (self._starts[:-1] + self._starts[1:] - 1)[:, None] / 2
            nearest = np.argmin(np.abs(self._values - middles), axis=1)
            likeliest = np.concatenate([[0], nearest, [self.alphabet.size - 1]]).astype(np.float64)
            return likeliest[self.alphabet.encode(counts.reports)][:, None]
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        reports = counts.reports.astype(np.float64)
        places = np.where(reports == first, float(low), np.where(reports == last, float(high), reports))
        return places[:, None]

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        # If a range contains all reports, its channel is a piece of the whole one.
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
        # Uneven values have a dense one while its exact rows are quick to make.
        if self._is_plain:
            return self._box_channel
        # Exact rows take powers of integers, with 64 bits per lattice point: half a second at 2**21.
        if self._is_uneven and self.alphabet.size**2 * self._box.size <= 2**21:
            return super().channel
        return Embedded(self._box_channel, self._values, self._remap, self.report_alphabet.size)

    def weights(self, index: int) -> Sequence[int]:
        # For uneven values, differences of tails at the ends of each interval.
        self._box.require_listable()
        place = int(self._values[index])
        if self._is_uneven:
            whole, *tails = [self._tail_weight(step) for step in (None, *(self._starts - place).tolist())]
            return [whole - tails[0]] + [one - other for one, other in zip(tails, [*tails[1:], 0], strict=True)]
        return merge_weights(self._remap, self._box_weights(place), self.report_alphabet.size)

    @property
    @abstractmethod
    def _box_channel(self) -> TwoSidedExponential:
        """Channel of noise clamped to the box, from each of its cells."""

    @abstractmethod
    def _box_weights(self, place: int) -> list[int]:
        """Return the exact weights of clamped noise, from one cell."""

    @abstractmethod
    def _tail_weight(self, steps: int | None) -> int:
        """Return the weight of noise of at least `steps`.

        `None` means all noise. Weights of one box share a denominator.
        """

    def _noise(self, count: int, bits: Bits) -> Indices:
        drawn: Indices = self._sampler(self._ratio).draw(count, bits)
        return drawn

    @property
    def _is_plain(self) -> bool:
        """Whether values and outputs are equal and evenly spaced."""
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
        """Output number that each cell of the box is reported as."""
        if self._is_uneven:
            return np.searchsorted(self._starts, np.arange(self._box.size), side="right")
        cells = np.arange(self._box.size) + (self._box.span[0] - self.report_alphabet.span[0])
        remap: Indices = np.clip(cells, 0, self.report_alphabet.size - 1)
        return remap

    @cached_property
    def _starts(self) -> Indices:
        """First box cell nearer to each uneven value than to its predecessor.

        The first value has none.
        """
        places = self._lattice[1]
        return (places[:-1] + places[1:]) // 2 + 1  # a cell in the middle goes to the lower value

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
    """Add two-sided geometric noise to a whole number, then clamp.

    The sum is clamped to `outputs` (default: the alphabet). P(z | x) = a(z) alpha^|z - x| with alpha = e^(-epsilon
    spacing). Here a is 1 / (1 + alpha) at the two ends, which collect all noise beyond them, and (1 - alpha) / (1 +
    alpha) elsewhere (paper, eq. TLinearGeometric).

    Epsilon is per unit of distance: 0.05 with unit year means 0.05 per year of difference. alpha is rounded up by less
    than two parts in 2^64, so the noise keeps slightly more than the promise.

    >>> from confide import Integers
    >>> mechanism = TruncatedGeometric(Integers(0, 99), epsilon=0.05)
    >>> round(mechanism.guarantee.factor(30, 35), 2)
    1.28
    """

    kind = "truncated-geometric"
    about = "adds geometric noise, then clamps the sum to the alphabet"
    alphabet: Alphabet
    epsilon: float
    outputs: Alphabet | None = None

    @property
    def facts(self) -> Facts:
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
    """Add Laplace noise to a whole number, round it, then clamp.

    The sum is rounded to the nearest whole number and clamped to `outputs` (default: the alphabet). With alpha =
    e^(-epsilon spacing) and b = sqrt(alpha), a cell at distance d > 0 gets (b^(2d - 1) - b^(2d + 1)) / 2, the cell
    itself 1 - b, and each end also all the mass beyond it.

    >>> from confide import Integers
    >>> TruncatedLaplace(Integers(0, 2), epsilon=1.0).channel.dense().round(3)
    array([[0.697, 0.192, 0.112],
           [0.303, 0.393, 0.303],
           [0.112, 0.192, 0.697]])
    """

    kind = "truncated-laplace"
    about = "adds Laplace noise, then rounds and clamps the sum to the alphabet"
    alphabet: Alphabet
    epsilon: float
    outputs: Alphabet | None = None

    _divisor = 2  # of half a cell: the ratio is b = sqrt(alpha), rounded up like alpha itself
    _sampler = LaplaceCellNoise

    @property
    def facts(self) -> Facts:
        # With b = sqrt(alpha), probabilities fall by b^2 per cell; from the own cell to the next by (b + b^2) / 2,
        # which is less of a fall.
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
    """Noise on a line with unbounded reports.

    P(z | x) is a constant times e^(-decay |z - x|).
    """

    _premise = Premise.LINE
    _kin: ClassVar[type[TruncatedGeometric | TruncatedLaplace]]
    """The same noise, clamped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_uneven:
            raise InvalidParameterError(
                f"{type(self).__name__} would report places where {self.alphabet!r} has no value. Use "
                f"Truncated{type(self).__name__}, which reports the nearest value."
            )

    def _truncated(self, outputs: Alphabet | None) -> LineMechanism | None:
        is_line = outputs is None or isinstance(outputs.geometry, LineGeometry)
        return self._kin(self.alphabet, self.epsilon, outputs) if is_line else None

    @property
    def _log_peak(self) -> float:
        """Log-probability of reporting the value itself."""
        return math.log(float((1 - self._ratio) / (1 + self._ratio)))

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        # Here P(report | value) does not depend on which other values exist.
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
    Reports are clamped to +-(2^53 - 1).

    >>> from confide import Integers
    >>> mechanism = Geometric(Integers(0, 99), epsilon=0.05)
    >>> mechanism.report_alphabet
    Integers()
    """

    kind = "geometric"
    about = "adds geometric noise; a report may be any whole number"
    alphabet: Alphabet
    epsilon: float

    _kin = TruncatedGeometric
    _independence = Proof("The columns at the values are linearly independent.", "lemma linearGeometricLinIndependence")

    @property
    def report_alphabet(self) -> Alphabet:
        return self.alphabet.between(None, None)

    @property
    def _dominance(self) -> Proof:
        low, high = self.alphabet.span
        rate, constant = float(self._rate), -log_inner(float(self._rate))
        reason = f"d(z) = {rate:.4g} (|z - {low}| + {high - low}) + {constant:.4g}, whose mean is finite."
        return Proof(reason, "corollary consistency2", {"lambda times spacing": rate, "-log a": constant})

    def observe(self, counts: Counts) -> Evidence:
        # The column of a report beyond the alphabet is the border's column times a constant, at any distance. So the
        # report is counted at the border, and the constant goes into the offset.
        low, high = self.alphabet.span
        self.refuse_strays(counts)
        clamped = add_up(np.clip(counts.reports, low, high), counts.counts)
        log_ratio = clamped_log_ratio(self._ratio, counts.reports, low, high)
        evidence = self._clamped.observe(clamped)
        return replace(evidence, log_offset=float(counts.counts @ log_ratio))

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        noisy = self.alphabet.decode(indices) + GeometricNoise(self._ratio).draw(indices.size, bits)
        # Beyond 2^53 - 1, float64 and JSON lose digits.
        reports: NDArray[np.int64] = np.clip(noisy, -LARGEST_INTEGER, LARGEST_INTEGER)
        return reports

    @cached_property
    def _clamped(self) -> TruncatedGeometric:
        """Cached, so that all groups of reports share one channel."""
        return TruncatedGeometric(self.alphabet, self.epsilon)


@dataclass(frozen=True, repr=False)
class Laplace(UnboundedLineMechanism):
    """Add Laplace noise to a whole number and report a real number.

    Computers cannot draw real numbers. Reports are multiples of a step/2^16, and the noise is exactly geometric on that
    lattice: P(z | x) is proportional to ``e^(-epsilon |z - x|)``, without rounding. So the promise is kept exactly;
    floating-point Laplace noise is known to break it.

    >>> from confide import Integers
    >>> Laplace(Integers(0, 99), epsilon=0.5).report_alphabet
    Line()
    """

    kind = "laplace"
    about = "adds Laplace noise; a report may be any real number"
    alphabet: Alphabet
    epsilon: float

    _kin = TruncatedLaplace
    _divisor = Line.RESOLUTION

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alphabet.is_finite:
            self._require_near(np.array(self.alphabet.span))

    def _require_near(self, values: Indices) -> None:
        """Reject values whose reports do not fit into float64.

        Of its 53 bits, 16 are for the fraction.
        """
        farthest = int(np.abs(values).max(initial=0))
        if farthest > Line.FARTHEST_VALUE:
            raise InvalidParameterError(
                f"Laplace reports multiples of 2^-16, which float64 holds around values up to 2^35; got {farthest}. "
                f"Count from a later start or in coarser steps, or use Geometric."
            )

    @property
    def report_alphabet(self) -> Line:
        return Line(self.alphabet.spacing, self.alphabet.unit)

    def observe(self, counts: Counts) -> Evidence:
        # Reports beyond the alphabet count at the border.
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
    """Add two-sided geometric noise to a value on a circle.

    P(z | x) is proportional to alpha^d + alpha^(k - d) with alpha = e^-epsilon and d the steps from x to z: the sum
    over all wraps. Epsilon is per step around the circle, the shorter way; 23 hours and 0 hours are one step apart.

    >>> from confide import Hours
    >>> mechanism = WrappedGeometric(Hours(), epsilon=0.5)
    >>> mechanism.guarantee.bound(23, 0)
    0.5
    """

    kind = "wrapped-geometric"
    about = "adds geometric noise that wraps around the circle"
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
        inverse = Proof(
            "Its matrix has an inverse: 1 + alpha^2 at a value and -alpha at its two neighbours, over (1 - alpha)^2.",
            "wrapped inverse of the geometric kernel",
        )
        return Facts(is_positive=True, independence=inverse)

    @cached_property
    def channel(self) -> WrappedExponential:
        size, ratio = self.alphabet.size, self._ratio
        # 1 - alpha^k without cancellation. Exact powers of 64-bit fractions get too long on a large circle.
        around = float(1 - ratio**size) if size <= LARGEST_TABLE else -math.expm1(size * log_of(ratio))
        return WrappedExponential(size, float(ratio), float(1 - ratio), around)

    def weights(self, index: int) -> list[int]:
        # alpha^d + alpha^(size - d), over a common denominator.
        powers, size = power_weights(self._ratio, self.alphabet.size + 1), self.alphabet.size
        row = [powers[steps] + powers[size - steps] for steps in range(size)]
        # A circle looks the same from every value: all rows are rotations of the first.
        return row[-index:] + row[:-index] if index else row

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from rows of weights if few; otherwise add noise and wrap."""
        if self.alphabet.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        return (indices + GeometricNoise(self._ratio).draw(indices.size, bits)) % self.alphabet.size


def lattice_of(positions: Sequence[Fraction]) -> tuple[Fraction, Indices]:
    """Return the coarsest common step of positions, and their multiples of it.

    Multiples count from the first position.

    >>> lattice_of([Fraction(5), Fraction(15), Fraction(35), Fraction(75)])
    (Fraction(10, 1), array([0, 1, 3, 7]))
    """
    gaps = [place - positions[0] for place in positions[1:]]
    whole = math.lcm(*(gap.denominator for gap in gaps))
    step = Fraction(math.gcd(*(int(gap * whole) for gap in gaps)), whole)
    return step, np.array([0, *(int(gap / step) for gap in gaps)], dtype=np.int64)


def require_line(alphabet: object, name: str) -> None:
    """Reject anything but whole numbers, or uneven values, on a line."""
    if not isinstance(alphabet, Alphabet) or not isinstance(alphabet.geometry, LineGeometry):
        raise InvalidParameterError(f"{name} needs whole numbers on a line, Integers(low, high); got {alphabet!r}.")


def clamped_channel(ratio: Fraction, size: int) -> TwoSidedExponential:
    """Return the channel of geometric noise clamped to `size` cells."""
    columns = np.full(size, float((1 - ratio) / (1 + ratio)))
    columns[[0, -1]] = float(1 / (1 + ratio))
    return TwoSidedExponential(float(ratio), float(1 - ratio), columns)


def clamped_weights(ratio: Fraction, index: int, size: int) -> list[int]:
    """Return a(z) alpha^|z - x| for all z, over a common denominator."""
    inner, full = ratio.numerator, ratio.denominator
    row = [power_weights(ratio, size)[abs(z - index)] for z in range(size)]
    return [weight * (full if z in (0, size - 1) else full - inner) for z, weight in enumerate(row)]


@cache
def power_weights(ratio: Fraction, size: int) -> list[int]:
    """Return ratio^0, ..., ratio^(size - 1) over a common denominator.

    Cached: every row uses the same powers, and they are slow to compute.
    """
    return [ratio.numerator**power * ratio.denominator ** (size - 1 - power) for power in range(size)]


@cache
def tail_weights(half_ratio: Fraction, size: int) -> tuple[int, list[int]]:
    """Return 1, and the one-sided tail probabilities at distances 0 to `size`.

    The tails are b^(2d - 1) / 2. All numbers are over one denominator, left out. Cached: every row uses the same, and
    they are slow to compute.
    """
    inner, full = half_ratio.numerator, half_ratio.denominator
    tails = [inner ** (2 * distance - 1) * full ** (2 * (size - distance) + 1) for distance in range(1, size + 1)]
    whole = 2 * full ** (2 * size)
    return whole, [whole, *tails]


def clamped_log_ratio(ratio: Fraction, reports: Indices, low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    """Return log P(report | x) - log P(clamped report | x).

    It is the same for every value x inside.
    """
    clamped = np.clip(reports, low, high)
    at_border = (clamped == low) | (clamped == high)
    log_ratios: NDArray[np.float64] = np.abs(reports - clamped) * log_of(ratio)
    log_ratios += np.where(at_border, math.log(float(1 - ratio)), 0.0)
    return log_ratios


def log_inner(rate: float) -> float:
    """Return log((1 - alpha) / (1 + alpha)) for alpha = e^-rate.

    Computed without cancellation.
    """
    return math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))


def log_smallest_clamped(rate: float, values: tuple[int, int], outputs: tuple[int, int]) -> float:
    """Return the smallest log-probability of clamped geometric noise.

    It occurs at an end, or just inside it.
    """
    (low, high), (first, last) = values, outputs
    at_end = -math.log1p(math.exp(-rate)) - rate * max(last - low, high - first)
    if last - first < 2:
        return at_end
    return min(at_end, log_inner(rate) - rate * max(last - 1 - low, high - first - 1))


def geometric_bound(rate: float, size: int, *, is_square: bool = True) -> Bound:
    """Return the lower bound on inversion's error for the truncated mechanism.

    Paper, proposition invTLinGeomBound.

    Parameters
    ----------
    rate
        Lambda times the spacing.
    size
        Number of values.
    is_square
        Whether values and outputs are the same.

    Examples
    --------
    >>> round(geometric_bound(0.05, 100).per_report, 1)
    7818.5
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    # The proof uses an inner row of the inverse, so it needs three values.
    return Bound.at_least(
        beta**3 - 2 * alpha * beta**2 - 2,
        "proposition invTLinGeomBound",
        {
            f"lambda times spacing {rate:.4g} is at most 0.94": rate <= 0.94,
            "values and outputs are the same, 3 or more": is_square and size >= 3,
        },
        "7238" if (size, rate) == (100, 0.05) else "",  # the paper prints this; its own formula gives 7818.5
    )

"""Mechanisms on a line: noise added to a whole number, and clamped if need be."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import Dense, Embedded, ScatteredExponential, TwoSidedExponential
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism, merge_weights, require_finite, settle_epsilon
from confide.mechanisms.facts import Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.guarantees import MetricPrivacy
from confide.mechanisms.sampling import Bits
from confide.values import Alphabet, Indices, Integers, LineGeometry

LARGEST_TABLE = 256
"""Cells up to which a row of weights per value is drawn from; past it noise is added and clamped instead."""

MOST_PLACES = 2**20
"""Points of the lattice that holds uneven values: products take time in proportion."""

INTERVALS = Proof(
    "A report stands for an interval of places that holds its own value. The determinant of the matrix is a sum of "
    "determinants of e^(-c distance) between rising places, none negative and one positive.",
    "total positivity of the Laplace kernel",
)
"""Independence of noise that is rounded to uneven values.

e^(-c |x - z|) is totally positive (Karlin, 1968): its minors over rising x and rising z are not negative. By the basic
composition formula the determinant over values x_1 < x_2 < ... and intervals B_1 < B_2 < ... is the sum, or integral,
of such minors over all z_i in B_i. The one at z_i = x_i, which lies in B_i, is positive (positive definite kernel).
"""

DISTANCE_DOMINANCE = Proof(
    "d(z) = c (distance from z to some value + the diameter of the values) - log a, whose mean is finite.",
    "as in corollaries consistency2 and consistency3",
)
"""Dominance of noise proportional to e^(-c distance) over finitely many values."""


class LineMechanism(Mechanism):
    """A mechanism on whole numbers whose epsilon is per unit of distance."""

    alphabet: Alphabet
    epsilon: float

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def _rate(self) -> Fraction:
        """The promised log-ratio between neighbours, or between points of the lattice of uneven values, exactly."""
        step = self._lattice[0] if self._is_uneven else Fraction(self.alphabet.spacing)
        return Fraction(self.epsilon) * step

    @property
    def _is_uneven(self) -> bool:
        """Whether values lie on a line, but not equally far apart."""
        return self.alphabet.positions is not None

    def _uneven_noise(self, noise: LatticeNoise) -> LatticeNoise:
        """Return noise on the lattice of uneven values: all gaps between them, and bounds, are multiples of its step.

        So the gap from the first to the second stands for all.
        """
        places = self._lattice[1].tolist()
        return replace(noise, resolution=places[1], points=places[-1])

    @cached_property
    def _lattice(self) -> tuple[Fraction, Indices]:
        """Step of the coarsest lattice that holds all uneven values, and their places on it."""
        return lattice_of(self.alphabet.positions or ())

    def _check(self) -> None:
        require_line(self.alphabet, type(self).__name__)
        if not self._is_uneven:
            settle_epsilon(self, self.alphabet.spacing)
            return
        step, places = self._lattice
        if places[-1] >= MOST_PLACES:
            raise InvalidParameterError(
                f"The places of {self.alphabet!r} have {float(step):g} in common and nothing coarser, of which it "
                f"takes {places[-1]:,}, more than {MOST_PLACES:,}, to reach from the first to the last. Choose rounder "
                f"edges, or use Exponential, which takes any."
            )
        settle_epsilon(self, float(step * int(np.diff(places).min())))


@dataclass(frozen=True, repr=False)
class UnboundedLineMechanism(LineMechanism):
    """Noise on a line with unbounded reports: P(z | x) is a constant times e^(-decay |z - x|)."""

    alphabet: Alphabet
    epsilon: float

    def _check(self) -> None:
        super()._check()
        if self._is_uneven:
            raise InvalidParameterError(
                f"{type(self).__name__} would report places where {self.alphabet!r} has no value. Use "
                f"Truncated{type(self).__name__}, which reports the nearest one."
            )

    @property
    @abstractmethod
    def decay(self) -> float:
        """Rate at which probabilities fall with the distance, a step."""

    @property
    @abstractmethod
    def _log_peak(self) -> float:
        """The log-probability of reporting the value itself."""

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; here P(report | value) does not depend on what other values exist."""
        if isinstance(part.geometry, LineGeometry):
            return replace(self, alphabet=part).observe(counts)
        self.refuse_strays(counts)
        places = part.coordinates[:, 0]
        if part.selected_from is None or (np.diff(places) <= 0).any():
            raise InvalidParameterError(f"A part of {self.alphabet!r} must be in increasing order; got {part!r}.")
        reports = counts.reports.astype(np.float64)
        inside = np.clip(reports, places[0], places[-1])
        channel = ScatteredExponential(part.size, self.decay, inside, places)
        offset = counts.counts @ (self._log_peak - self.decay * np.abs(reports - inside))
        return Evidence(channel, counts.counts, float(offset))


class TruncatedLineMechanism(LineMechanism):
    """Noise on a line, clamped to a range of outputs; the alphabet itself unless another is named.

    Everything happens on a box that holds alphabet and outputs: the noise is clamped to the box, and from there to the
    outputs. For ranges on a line that is the same as clamping to the outputs at once.
    """

    outputs: Alphabet | None

    @property
    def report_alphabet(self) -> Alphabet:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.alphabet if self.outputs is None else self.outputs

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`; those that all clamped noise on a line has. One single output says nothing."""
        says_something = self.report_alphabet.size > 1
        known = Facts(is_positive=True, premise=Premise.LINE if says_something else Premise.NOTHING)
        # Of uneven values the rule of each report is an interval, under noise that falls away on both sides: the LINE.
        return replace(known, independence=INTERVALS) if self._is_uneven else known

    @property
    def reports_every_value(self) -> bool:
        """Whether every value is also an output, which lemmas on clamped noise ask for."""
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return first <= low and high <= last

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """See :meth:`Mechanism.peaks`; an end collects all beyond it, so it is likeliest from the alphabet's end."""
        self.refuse_strays(counts)
        if self._is_uneven:
            return self._uneven_peaks[self.alphabet.encode(counts.reports)][:, None]
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
        return Evidence(self._clamped_channel.piece(start, start + part.size), per_output)

    @cached_property
    def channel(self) -> TwoSidedExponential | Embedded | Dense:
        """See :attr:`Mechanism.channel`; uneven values have a dense one while its exact rows are quick to make."""
        if self._is_plain:
            return self._clamped_channel
        # 2**21: entries of the dense matrix of uneven values times points of their lattice: its exact rows then take
        # half a second, where integers of 64 bits a point are powered and divided.
        if self._is_uneven and self.alphabet.size**2 * self._box.size <= 2**21:
            return self._stored_weights
        return Embedded(self._clamped_channel, self._values, self._remap, self.report_alphabet.size)

    @cached_property
    def _clamped_channel(self) -> TwoSidedExponential:
        return self._box_channel(self._box.size)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`; of uneven values, differences of tails at the ends of each interval."""
        self._box.require_listable()
        if self._is_uneven:
            steps = (self._starts - self._values[index]).tolist()
            tails = [self._tail_weight(step, self._box.size) for step in steps]
            return [self._tail_weight(None, self._box.size) - tails[0]] + [
                one - other for one, other in zip(tails, [*tails[1:], 0], strict=True)
            ]
        row = self._box_weights(int(self._values[index]), self._box.size)
        return merge_weights(self._remap, row, self.report_alphabet.size)

    @abstractmethod
    def _box_channel(self, size: int) -> TwoSidedExponential:
        """Return the channel of noise clamped to `size` cells, from each of them."""

    @abstractmethod
    def _box_weights(self, index: int, size: int) -> list[int]:
        """Return the exact weights of noise clamped to `size` cells, from one of them."""

    @abstractmethod
    def _tail_weight(self, steps: int | None, size: int) -> int:
        """Return the weight of noise of at least so many steps, or of all noise, over the denominator for `size`."""

    @abstractmethod
    def _noise(self, count: int, bits: Bits) -> Indices:
        """Draw noise over all whole numbers."""

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

    @cached_property
    def _uneven_peaks(self) -> NDArray[np.float64]:
        """The value likeliest to give each report: the one nearest to the middle of its cells, and the two ends."""
        middles = (self._starts[:-1] + self._starts[1:] - 1)[:, None] / 2
        nearest = np.argmin(np.abs(self._values - middles), axis=1)
        return np.concatenate([[0], nearest, [self.alphabet.size - 1]]).astype(np.float64)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        if self._box.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
        if self._is_uneven:
            cells = np.clip(self._values[indices] + self._noise(indices.size, bits), 0, self._box.size - 1)
            reported: Indices = self._remap[cells]
            return reported
        shift = self.alphabet.span[0] - self.report_alphabet.span[0]
        drawn: Indices = np.clip(indices + shift + self._noise(indices.size, bits), 0, self.report_alphabet.size - 1)
        return drawn

    def _check(self) -> None:
        super()._check()
        require_finite(self.alphabet, type(self).__name__)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"{type(self).__name__} needs at least two values; got {self.alphabet!r}.")
        if self.outputs is not None:
            self._check_outputs(self.outputs)

    def _check_outputs(self, outputs: Alphabet) -> None:
        if self._is_uneven:
            raise InvalidParameterError(
                f"Reports of uneven values are these values; {type(self).__name__} over {self.alphabet!r} takes no "
                f"other outputs. Leave them out."
            )
        require_line(outputs, f"The outputs of {type(self).__name__}")
        (low, high), (first, last) = self.alphabet.span, outputs.span
        if outputs.spacing != self.alphabet.spacing:
            raise InvalidParameterError(
                f"Outputs must have the spacing of the alphabet, {self.alphabet.spacing:g}; got {outputs.spacing:g}."
            )
        if last < low or first > high:
            raise InvalidParameterError(
                f"The outputs {outputs!r} miss the alphabet {self.alphabet!r} altogether. Choose others that overlap."
            )


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

"""Mechanisms on a line: noise added to a whole number, and clamped if need be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices, Integers, Selection
from confide.channels import Embedded, ScatteredExponential, TwoSidedExponential
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.guarantees import MetricPrivacy
from confide.mechanisms.base import Mechanism, merge_weights, require_finite, settle_epsilon
from confide.mechanisms.facts import Facts, Premise, Proof
from confide.sampling import Bits

LARGEST_TABLE = 256
"""Cells up to which a row of weights per value is drawn from; past it noise is added and clamped instead."""

DISTANCE_DOMINANCE = Proof(
    "d(z) = c (distance from z to some value + the diameter of the values) - log a, whose mean is finite.",
    "as in corollaries consistency2 and consistency3",
)
"""Dominance of noise proportional to e^(-c distance) over finitely many values."""


class LineMechanism(Mechanism):
    """A mechanism on whole numbers whose epsilon is per unit of distance."""

    alphabet: Integers
    epsilon: float

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def _rate(self) -> Fraction:
        """The promised log-ratio between neighbours, exactly."""
        return Fraction(self.epsilon) * Fraction(self.alphabet.spacing)

    def _check(self) -> None:
        require_integers(self.alphabet, type(self).__name__)
        settle_epsilon(self, self.alphabet.spacing)


@dataclass(frozen=True, repr=False)
class UnboundedLineMechanism(LineMechanism):
    """Noise on a line with unbounded reports: P(z | x) is a constant times e^(-decay |z - x|)."""

    alphabet: Integers
    epsilon: float

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
        if isinstance(part, Integers):
            return replace(self, alphabet=part).observe(counts)
        self.refuse_strays(counts)
        places = part.coordinates[:, 0]
        if not isinstance(part, Selection) or (np.diff(places) <= 0).any():
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

    outputs: Integers | None

    @property
    def report_alphabet(self) -> Integers:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.alphabet if self.outputs is None else self.outputs

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`; those that all clamped noise on a line has. One single output says nothing."""
        says_something = self.report_alphabet.size > 1
        return Facts(is_positive=True, premise=Premise.LINE if says_something else Premise.NOTHING)

    @property
    def reports_every_value(self) -> bool:
        """Whether every value is also an output, which lemmas on clamped noise ask for."""
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return first <= low and high <= last

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """See :meth:`Mechanism.peaks`; an end collects all beyond it, so it is likeliest from the alphabet's end."""
        self.refuse_strays(counts)
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        reports = counts.reports.astype(np.float64)
        places = np.where(reports == first, float(low), np.where(reports == last, float(high), reports))
        return places[:, None]

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; a range that holds all reports has a piece of the channel."""
        if not self._is_plain or not isinstance(part, Integers):
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
    def channel(self) -> TwoSidedExponential | Embedded:
        """See :attr:`Mechanism.channel`."""
        if self._is_plain:
            return self._clamped_channel
        return Embedded(self._clamped_channel, self._values, self._remap, self.report_alphabet.size)

    @cached_property
    def _clamped_channel(self) -> TwoSidedExponential:
        return self._box_channel(self._box.size)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`."""
        self._box.require_listable()
        row = self._box_weights(int(self._values[index]), self._box.size)
        return merge_weights(self._remap, row, self.report_alphabet.size)

    @abstractmethod
    def _box_channel(self, size: int) -> TwoSidedExponential:
        """Return the channel of noise clamped to `size` cells, from each of them."""

    @abstractmethod
    def _box_weights(self, index: int, size: int) -> list[int]:
        """Return the exact weights of noise clamped to `size` cells, from one of them."""

    @abstractmethod
    def _noise(self, count: int, bits: Bits) -> Indices:
        """Draw noise over all whole numbers."""

    @property
    def _is_plain(self) -> bool:
        """Whether values and outputs are the same."""
        return self.alphabet.span == self.report_alphabet.span

    @cached_property
    def _box(self) -> Integers:
        (low, high), (first, last) = self.alphabet.span, self.report_alphabet.span
        return self.alphabet.between(min(low, first), max(high, last))

    @cached_property
    def _values(self) -> Indices:
        """Places of the values in the box."""
        return np.arange(self.alphabet.size) + (self.alphabet.span[0] - self._box.span[0])

    @cached_property
    def _remap(self) -> Indices:
        """Number of the output that each cell of the box is reported as."""
        cells = np.arange(self._box.size) + (self._box.span[0] - self.report_alphabet.span[0])
        remap: Indices = np.clip(cells, 0, self.report_alphabet.size - 1)
        return remap

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        if self._box.size <= LARGEST_TABLE:
            return super()._draw(indices, bits)
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

    def _check_outputs(self, outputs: Integers) -> None:
        require_integers(outputs, f"The outputs of {type(self).__name__}")
        (low, high), (first, last) = self.alphabet.span, outputs.span
        if outputs.spacing != self.alphabet.spacing:
            raise InvalidParameterError(
                f"Outputs must have the spacing of the alphabet, {self.alphabet.spacing:g}; got {outputs.spacing:g}."
            )
        if last < low or first > high:
            raise InvalidParameterError(
                f"The outputs {outputs!r} miss the alphabet {self.alphabet!r} altogether. Choose others that overlap."
            )


def require_integers(alphabet: Alphabet, name: str) -> None:
    """Refuse anything but whole numbers on a line."""
    if not isinstance(alphabet, Integers):
        raise InvalidParameterError(f"{name} needs whole numbers on a line, Integers(low, high); got {alphabet!r}.")

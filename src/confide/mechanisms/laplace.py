"""The linear Laplace mechanism: continuous noise, reported as it is or rounded to the nearest cell and clamped."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import ScatteredExponential, TwoSidedExponential
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.facts import FOURIER, POSITIVE_DEFINITE, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.line import DISTANCE_DOMINANCE, TruncatedLineMechanism, UnboundedLineMechanism
from confide.mechanisms.sampling import Bits, GeometricNoise, LaplaceCellNoise, log_of, ratio_above
from confide.values import Alphabet, Indices, Line, LineGeometry


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

    def __post_init__(self) -> None:
        self._check()
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

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        at_values = Proof(
            "The columns at the values are those of e^(-c distance), which is positive definite.", POSITIVE_DEFINITE
        )
        return Facts(
            is_positive=True,
            independence=at_values if self.alphabet.is_finite else FOURIER,
            premise=Premise.LINE,
            decay=self.decay,
            noise=LatticeNoise(self._fine_ratio, resolution=Line.RESOLUTION),
            dominance=DISTANCE_DOMINANCE if self.alphabet.is_finite else None,
        )

    def _truncated(self, outputs: Alphabet | None) -> TruncatedLaplace | None:
        if outputs is None or isinstance(outputs.geometry, LineGeometry):
            return TruncatedLaplace(self.alphabet, self.epsilon, outputs)
        return None

    @property
    def decay(self) -> float:
        """See :attr:`UnboundedLineMechanism.decay`."""
        return -log_of(self._fine_ratio) * Line.RESOLUTION

    @property
    def _log_peak(self) -> float:
        return math.log(float((1 - self._fine_ratio) / (1 + self._fine_ratio)))

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
        noise = GeometricNoise(self._fine_ratio).draw(indices.size, bits)
        reports: NDArray[np.float64] = values + noise / Line.RESOLUTION
        return reports

    @cached_property
    def _fine_ratio(self) -> Fraction:
        return ratio_above(self._rate / Line.RESOLUTION)


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

    def __post_init__(self) -> None:
        self._check()

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        # With b = sqrt(alpha), a cell is 1 / b^2 times as likely as the next, and its centre 2 / (b + b^2), less.
        noise = LatticeNoise(self._half_ratio**2, stay=1 - self._half_ratio, is_clamped=True)
        if self._is_uneven:
            return replace(super().facts, noise=self._uneven_noise(noise))
        at_values = Proof("The columns at the values are linearly independent.", POSITIVE_DEFINITE)
        return replace(super().facts, noise=noise, independence=at_values if self.reports_every_value else None)

    def _box_channel(self, size: int) -> TwoSidedExponential:
        half = self._half_ratio
        inner, border = (1 / half - half) / 2, 1 / (2 * half)
        columns, diagonal = np.full(size, float(inner)), np.full(size, float(1 - half))
        columns[[0, -1]], diagonal[[0, -1]] = float(border), float(1 - half / 2)
        return TwoSidedExponential(float(half**2), float(1 - half**2), columns, diagonal=diagonal)

    def _box_weights(self, index: int, size: int) -> list[int]:
        whole, beyond = tail_weights(self._half_ratio, size)
        row = [beyond[abs(z - index)] - beyond[abs(z - index) + 1] for z in range(size)]
        row[index] = whole - 2 * beyond[1]
        row[0] = beyond[index] if index > 0 else whole - beyond[1]
        row[-1] = beyond[size - 1 - index] if index < size - 1 else whole - beyond[1]
        return row

    def _tail_weight(self, steps: int | None, size: int) -> int:
        # P(noise >= m) is b^(2m - 1) / 2 for m >= 1, and the complement of the other side's below.
        inner, full = self._half_ratio.numerator, self._half_ratio.denominator
        power = 2 * size + 1
        if steps is not None and steps >= 1:
            return int(inner ** (2 * steps - 1) * full ** (power - 2 * steps + 1))
        whole = int(2 * full**power)
        return whole if steps is None else whole - int(inner ** (1 - 2 * steps) * full ** (power - 1 + 2 * steps))

    def _noise(self, count: int, bits: Bits) -> Indices:
        return LaplaceCellNoise(self._half_ratio).draw(count, bits)

    @cached_property
    def _half_ratio(self) -> Fraction:
        """B = sqrt(alpha), rounded up like alpha itself."""
        return ratio_above(self._rate / 2)


@cache
def tail_weights(half_ratio: Fraction, size: int) -> tuple[int, list[int]]:
    """Return 1, and the probabilities of noise that leads to distances 0, 1, ..., size on one side or further.

    They are b^(2d - 1) / 2, all over one denominator, which is left out; the same for every row, and slow to make.
    """
    inner, full = half_ratio.numerator, half_ratio.denominator
    tails = [inner ** (2 * distance - 1) * full ** (2 * (size - distance) + 1) for distance in range(1, size + 1)]
    whole = 2 * full ** (2 * size)
    return whole, [whole, *tails]

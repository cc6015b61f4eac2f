"""The taxicab mechanism: geometric noise on each coordinate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import Embedded, Kronecker, ScatteredExponential
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms.facts import FOURIER, Bound, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.geometric import (
    FEWEST_CELLS,
    clamped_channel,
    clamped_log_ratio,
    clamped_weights,
    log_inner,
    log_smallest_clamped,
)
from confide.mechanisms.line import LARGEST_TABLE
from confide.mechanisms.planar import TruncatedPlaneMechanism, UnboundedPlaneMechanism
from confide.mechanisms.sampling import Bits, ProductNoise, WeightRows, log_of, over_root_two, ratio_above
from confide.values import Alphabet, Grid, Indices, Lattice

LARGEST_BOUNDED_RATE = 1.09
"""Largest lambda times spacing for which the paper's bound on inversion's error holds."""


@dataclass(frozen=True, repr=False)
class Taxicab(UnboundedPlaneMechanism):
    """Move a cell by two-sided geometric noise of rate epsilon / sqrt 2 on each coordinate (paper, eq. taxicab).

    Its probabilities fall with the taxicab distance, which is at most sqrt 2 times the Euclidean one: hence the rate.

    >>> from confide import Grid
    >>> Taxicab(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0).report_alphabet
    Lattice(spacing=0.5, unit='km')
    """

    kind = "taxicab"
    about = "noise on row and column; any cell of the plane may be reported"
    alphabet: Grid | Lattice
    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        at_values = Proof("The columns at the values are linearly independent.", "lemma taxicabLinIndependence")
        return Facts(
            is_positive=True,
            independence=at_values if self.alphabet.is_finite else FOURIER,
            premise=Premise.COORDINATES,
            decay=self.decay,
            noise=LatticeNoise(self._ratio),
            dominance=None if self.alphabet.grid is None else self._dominance(self.alphabet.grid),
        )

    def _dominance(self, grid: Grid) -> Proof:
        rate = self.epsilon / math.sqrt(2) * grid.spacing
        constant = -2 * log_inner(rate)
        reason = (
            f"d(row, column) = {rate:.4g} (|row - {grid.first_row}| + |column - {grid.first_column}| + "
            f"{sum(grid.shape) - 2}) + {constant:.4g}, whose mean is finite."
        )
        return Proof(reason, "corollary consistency3", {"lambda times spacing": rate, "-2 log a": constant})

    def _clamped_to(self, grid: Grid, outputs: Grid | None) -> TruncatedTaxicab:
        return TruncatedTaxicab(grid, self.epsilon, outputs)

    @property
    def decay(self) -> float:
        """Rate at which probabilities fall with the taxicab distance, a step."""
        return -log_of(self._ratio)

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        return self._scattered(counts, cells) if cells.grid is None else self._box_evidence(counts, cells.grid)

    def _scattered(self, counts: Counts, part: Alphabet) -> Evidence:
        """Take each coordinate as a line of the rows, or of the columns, that occur."""
        cells = part.decode(np.arange(part.size))
        axes = [_Axis.of(places, reports) for places, reports in zip(cells.T, counts.reports.T, strict=True)]
        (down, along), log_peak = axes, 2 * math.log(float((1 - self._ratio) / (1 + self._ratio)))
        channel = Kronecker((down.channel(self.decay), along.channel(self.decay)))
        remap = np.full(channel.shape[1], -1, dtype=np.int64)
        remap[down.report * along.reports.size + along.report] = np.arange(counts.counts.size)
        places = Embedded(channel, down.value * along.values.size + along.value, remap, counts.counts.size)
        beyond = self.decay * (down.beyond + along.beyond)
        return Evidence(places, counts.counts, float(counts.counts @ (log_peak - beyond)))

    def _box_evidence(self, counts: Counts, grid: Grid) -> Evidence:
        # On each coordinate a report beyond the alphabet says what the border says, times a constant; so it is
        # counted there, and the constant goes into the offset.
        box = grid.box
        first = np.array([box.first_row, box.first_column])
        last = first + box.shape - 1
        clamped = np.clip(counts.reports, first, last)
        log_ratio = clamped_log_ratio(self._ratio, counts.reports, first, last).sum(axis=1)
        evidence = self._clamped.observe(add_up(clamped, counts.counts))
        return replace(evidence, log_offset=float(counts.counts @ log_ratio))

    @cached_property
    def _clamped(self) -> TruncatedTaxicab:
        """Kept, so that all groups of reports go through one channel."""
        assert self.alphabet.grid is not None  # noqa: S101 (for the type checker; `observe` has asked)
        return TruncatedTaxicab(self.alphabet.grid, self.epsilon, outputs=self.alphabet.grid.box)

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return ProductNoise(self._ratio).draw(count, bits)

    @cached_property
    def _ratio(self) -> Fraction:
        return ratio_above(over_root_two(self._rate))


@dataclass(frozen=True, eq=False)
class _Axis:
    """The rows, or the columns, that some values and reports have, and which of them each has."""

    values: NDArray[np.int64]
    value: Indices
    reports: NDArray[np.int64]
    report: Indices
    beyond: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.int64], reports: NDArray[np.int64]) -> _Axis:
        """Gather one coordinate; reports beyond the values are moved to their border, and by how much is kept."""
        inside = np.clip(reports, values.min(), values.max())
        parts = *np.unique(values, return_inverse=True), *np.unique(inside, return_inverse=True)
        return cls(*parts, np.abs(reports - inside))

    def channel(self, decay: float) -> ScatteredExponential:
        """Return the channel of this coordinate alone."""
        return ScatteredExponential(
            self.values.size, decay, self.reports.astype(np.float64), self.values.astype(np.float64)
        )


@dataclass(frozen=True, repr=False)
class TruncatedTaxicab(TruncatedPlaneMechanism):
    """The taxicab mechanism clamped to a grid, each coordinate on its own (paper, eq. truncatedTaxicab).

    >>> from confide import Grid
    >>> mechanism = TruncatedTaxicab(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0)
    >>> print(mechanism.guarantee)
    metric privacy, 1 per km: any report is at most e^(1 x distance) times as likely under one value as another
    """

    kind = "truncated-taxicab"
    about = "noise on row and column, each clamped to the grid"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        grid, rate = self.alphabet, self.epsilon / math.sqrt(2) * self.alphabet.spacing
        known = replace(
            super().facts,
            noise=LatticeNoise(self._ratio, is_clamped=True),
            corollary="corollary consistency1",
            inversion_bound=taxicab_bound(rate, grid.shape, is_square=self._is_plain),
        )
        if not self.reports_every_value:
            return known
        proof = Proof("The columns at the values are linearly independent.", "lemma TTaxicabLinIndependence")
        # With holes the farthest cell may be one, and the smallest probability is another.
        smallest = None if grid.holes else self._log_smallest(rate)
        return replace(known, independence=proof, log_smallest=smallest)

    def _log_smallest(self, rate: float) -> float:
        """Return the smallest log-probability: coordinates are independent, so it is the sum of two."""
        grid, box = self.alphabet, self.report_alphabet
        starts, firsts = (grid.first_row, grid.first_column), (box.first_row, box.first_column)
        ends = zip(starts, grid.shape, firsts, box.shape, strict=True)
        return sum(
            log_smallest_clamped(rate, (start, start + side - 1), (first, first + width - 1))
            for start, side, first, width in ends
        )

    def _box_channel(self, shape: tuple[int, int]) -> Kronecker:
        rows, columns = shape
        return Kronecker((clamped_channel(self._ratio, rows), clamped_channel(self._ratio, columns)))

    def _box_weights(self, row: int, column: int) -> list[int]:
        down = clamped_weights(self._ratio, row, self._box.rows)
        along = clamped_weights(self._ratio, column, self._box.columns)
        return [first * second for first in down for second in along]

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw each coordinate from its rows of weights where these are few; else add noise and clamp."""
        if max(self._box.shape) > LARGEST_TABLE:
            return super()._draw(indices, bits)
        rows, columns = np.divmod(self._in_box(indices), self._box.columns)
        down, along = self._axis_rows
        return self._reported(down.draw(rows, bits) * self._box.columns + along.draw(columns, bits))

    @cached_property
    def _axis_rows(self) -> tuple[WeightRows, WeightRows]:
        rows, columns = (
            WeightRows.of([clamped_weights(self._ratio, index, size) for index in range(size)])
            for size in self._box.shape
        )
        return rows, columns

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return ProductNoise(self._ratio).draw(count, bits)

    @cached_property
    def _ratio(self) -> Fraction:
        return ratio_above(over_root_two(self._rate))


def taxicab_bound(rate: float, shape: tuple[int, int], *, is_square: bool = True) -> Bound:
    """Return the lower bound on inversion's error for the truncated mechanism (proposition invTTaxicabBound).

    >>> round(taxicab_bound(0.2 / math.sqrt(2) * 0.5, (20, 14)).per_report, 1)
    662648.6
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    return Bound.at_least(
        beta**5 - 4 * alpha * beta**3 - 4,
        "proposition invTTaxicabBound",
        {
            f"lambda times spacing {rate:.4g} is at most {LARGEST_BOUNDED_RATE}": rate <= LARGEST_BOUNDED_RATE,
            f"values and outputs are one full box, {FEWEST_CELLS} or more cells each way": is_square
            and min(shape) >= FEWEST_CELLS,
        },
    )

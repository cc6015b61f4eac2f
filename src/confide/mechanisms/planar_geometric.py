"""The planar geometric mechanism: noise that falls with the Euclidean distance between cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Grid, Indices, Lattice, Selection, unbounded
from confide.channels import Channel, Dense, Embedded, Piled, PlanarConvolution, Stacked
from confide.counts import Counts
from confide.evidence import Evidence
from confide.kernels import PlanarKernel, planar_geometric_kernel
from confide.mechanisms.kernel_truncation import TruncatedKernelMechanism
from confide.mechanisms.planar import (
    LARGEST_SCATTER,
    UnboundedPlaneMechanism,
    distances_between,
    layout_of,
    scattered_evidence,
    shaded,
    too_scattered,
)
from confide.mechanisms.premises import Premise
from confide.sampling import Bits, PlanarGeometricNoise

LARGEST_WINDOW = 4_000_000
"""Cells of a box up to which the crowd of far-flung reports is convolved: 32 MB a vector."""


@dataclass(frozen=True, repr=False)
class PlanarGeometric(UnboundedPlaneMechanism):
    """Move a cell by noise proportional to e^(-epsilon distance) over the endless lattice (paper, eq. pg).

    >>> from confide import Grid
    >>> PlanarGeometric(Grid(5, 5), epsilon=0.5).report_alphabet
    Lattice()
    """

    kind: ClassVar[str] = "planar-geometric"
    alphabet: Grid | Lattice
    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def premise(self) -> Premise:
        """See :attr:`Mechanism.premise`."""
        return Premise.DISTANCE

    @property
    def decay(self) -> float:
        """See :attr:`Mechanism.decay`."""
        return float(self._rate)

    @property
    def _log_peak(self) -> float:
        return math.log(float(planar_geometric_kernel((1, 1), self.decay).cells[0, 0]))

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; here P(report | value) does not depend on what other values exist."""
        if isinstance(part, Grid):
            return replace(self, alphabet=part).observe(counts)
        if not isinstance(part, Selection):
            return super().observe_within(counts, part)
        self.refuse_strays(counts)
        if part.size * counts.reports.shape[0] <= LARGEST_SCATTER // 10:
            return scattered_evidence(part, counts, self.decay, self._log_peak)
        return self._crowded_evidence(counts, part)

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`."""
        if not isinstance(self.alphabet, Grid):
            raise unbounded(self.alphabet, "Grid(rows, columns)")
        self.refuse_strays(counts)
        if self.alphabet.size * counts.reports.shape[0] <= LARGEST_SCATTER // 10:
            return scattered_evidence(self.alphabet, counts, self.decay, self._log_peak)
        return self._windowed_evidence(counts, self.decay, self._log_peak)

    def _windowed_evidence(self, counts: Counts, rate: float, peak: float) -> Evidence:
        """Convolve within a window around the grid, and store columns for the few reports beyond it."""
        assert isinstance(self.alphabet, Grid)  # noqa: S101 (for the type checker; the one caller has asked)
        window = _widened(self.alphabet, rate)
        places = window.locate(counts.reports)
        near, far = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[places[near]] = np.arange(near.size)
        kernel = planar_geometric_kernel(window.shape, rate)
        convolution = PlanarConvolution(kernel, np.ones(window.size))
        values = window.encode(self.alphabet.decode(np.arange(self.alphabet.size)))
        inside = Embedded(convolution, values, remap, near.size)
        if far.size == 0:
            return Evidence(inside, counts.counts[near])
        beyond = scattered_evidence(self.alphabet, Counts(counts.reports[far], counts.counts[far]), rate, peak)
        both: Channel = Stacked((inside, beyond.channel))
        return Evidence(both, np.concatenate([counts.counts[near], counts.counts[far]]), beyond.log_offset)

    def _crowded_evidence(self, counts: Counts, part: Selection) -> Evidence:
        """Convolve where most reports lie, and store rows and columns for the few cells and reports elsewhere."""
        window = crowded_window(counts, part)
        places, values = window.locate(counts.reports), window.locate(part.values)
        near, far = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        bulk, rest = np.flatnonzero(values >= 0), np.flatnonzero(values < 0)
        if part.size * far.size + rest.size * near.size > LARGEST_SCATTER:
            raise too_scattered(part, counts)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[places[near]] = np.arange(near.size)
        convolution = PlanarConvolution(planar_geometric_kernel(window.shape, self.decay), np.ones(window.size))
        inside = Embedded(convolution, values[bulk], remap, near.size)
        distances = distances_between(part.coordinates[rest], counts.reports[near])
        outside = Dense(np.exp(self._log_peak - self.decay * distances))
        order, layout = np.concatenate([bulk, rest]), layout_of(part)
        rows = Piled((inside, outside), None if layout is None else layout.part(order))
        piled = Embedded(rows, np.argsort(order), np.arange(near.size), near.size)
        if far.size == 0:
            return Evidence(piled, counts.counts[near])
        beyond = scattered_evidence(part, Counts(counts.reports[far], counts.counts[far]), self.decay, self._log_peak)
        both = Stacked((piled, beyond.channel))
        return Evidence(both, np.concatenate([counts.counts[near], counts.counts[far]]), beyond.log_offset)

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return PlanarGeometricNoise(self._rate).draw(count, bits)


@dataclass(frozen=True, repr=False)
class TruncatedPlanarGeometric(TruncatedKernelMechanism):
    """Move a cell by noise proportional to e^(-epsilon distance) on the lattice, then to the nearest cell of the grid.

    Border cells collect infinite sums, computed to full precision (paper, eq. pg and the text after it).

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarGeometric(Grid(5, 5, unit="km"), epsilon=0.5)
    >>> mechanism.channel.dense().sum(axis=1).round(12).tolist() == [1.0] * 25
    True
    """

    kind: ClassVar[str] = "truncated-planar-geometric"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        return planar_geometric_kernel(shape, shaded(self._rate))


def crowded_window(counts: Counts, part: Selection) -> Grid:
    """Return a box that fits and holds most reports: whoever lies behind the widest empty gap is left out, in turn."""
    reports: NDArray[np.int64] = counts.reports.astype(np.int64)
    while np.prod(reports.max(axis=0) - reports.min(axis=0) + 1.0) > LARGEST_WINDOW:
        sorted_parts = np.sort(reports, axis=0)
        gaps = np.diff(sorted_parts, axis=0)
        step, axis = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
        is_beyond = reports[:, axis] > sorted_parts[step, axis]
        reports = reports[is_beyond if 2 * is_beyond.sum() > is_beyond.size else ~is_beyond]
    first = reports.min(axis=0)
    rows, columns = (reports.max(axis=0) - first + 1).tolist()
    return Grid(rows, columns, part.whole.metric.distance((0, 0), (0, 1)), "", (), *first.tolist())


def _widened(alphabet: Grid, rate: float) -> Grid:
    """Return the box of a grid with a margin where most noise stays.

    No wider than e^-12 of the peak reaches: what is less likely would drown in the rounding of the FFT.
    """
    down, along = (min(side // 2 + 1, int(12 / rate) + 1) for side in alphabet.shape)
    return replace(
        alphabet,
        rows=alphabet.rows + 2 * down,
        columns=alphabet.columns + 2 * along,
        holes=(),
        first_row=alphabet.first_row - down,
        first_column=alphabet.first_column - along,
    )

"""The planar geometric mechanism: noise that falls with the Euclidean distance between cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from confide.alphabets import Grid, Indices, Lattice, unbounded
from confide.channels import Channel, Embedded, PlanarConvolution, Stacked
from confide.evidence import Evidence
from confide.kernels import PlanarKernel, planar_geometric_kernel
from confide.mechanisms.kernel_truncation import TruncatedKernelMechanism
from confide.mechanisms.planar import LARGEST_SCATTER, UnboundedPlaneMechanism, scattered_evidence, shaded
from confide.reports import Counts
from confide.sampling import Bits, PlanarGeometricNoise


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

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`."""
        if not isinstance(self.alphabet, Grid):
            raise unbounded(self.alphabet, "Grid(rows, columns)")
        self.refuse_strays(counts)
        rate = float(self._rate)
        peak = math.log(float(planar_geometric_kernel((1, 1), rate).cells[0, 0]))
        if self.alphabet.size * counts.reports.shape[0] <= LARGEST_SCATTER // 10:
            return scattered_evidence(self.alphabet, counts, rate, peak)
        return self._windowed_evidence(counts, rate, peak)

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

"""Planar noise that falls with the Euclidean distance: planar geometric over cells, planar Laplace over points."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.channels import (
    Channel,
    ClampedPlanarConvolution,
    ColumnStack,
    Dense,
    Embedded,
    PlanarConvolution,
    VerticalStack,
    kernel_in_blocks,
)
from confide.channels.kernels import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import require_tabled
from confide.mechanisms.facts import FOURIER, POSITIVE_DEFINITE, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.line import DISTANCE_DOMINANCE
from confide.mechanisms.planar import (
    LARGEST_SCATTER,
    TruncatedPlaneMechanism,
    UnboundedPlaneMechanism,
    distances_between,
    layout_of,
    scattered_evidence,
    shaded,
    too_scattered,
)
from confide.mechanisms.sampling import Bits, PlanarGeometricNoise, TableNoise, as_integers
from confide.values import Alphabet, Coordinates, Grid, Indices, Lattice, Places, Plane, unbounded

LARGEST_WINDOW = 4_000_000
"""Cells of a box up to which the crowd of far-flung reports is convolved: 32 MB a vector."""


class EuclideanNoise(UnboundedPlaneMechanism):
    """Noise proportional to e^(-epsilon distance) among cells, or among points `_resolution` times as fine."""

    @property
    def _resolution(self) -> int:
        """By how much finer than cells the points are among which noise is drawn."""
        return 1

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        at_values = Proof(
            "The columns at the values are those of e^(-c distance), which is positive definite.", POSITIVE_DEFINITE
        )
        return Facts(
            is_positive=True,
            independence=at_values if self.alphabet.is_finite else FOURIER,
            premise=Premise.DISTANCE,
            decay=self.decay,
            noise=LatticeNoise(rate=self._rate / self._resolution, resolution=self._resolution),
            dominance=DISTANCE_DOMINANCE if self.alphabet.is_finite else None,
        )

    @property
    def decay(self) -> float:
        """See :attr:`UnboundedPlaneMechanism.decay`."""
        return float(self._rate)

    @property
    def _log_peak(self) -> float:
        """The log-probability of reporting the value itself."""
        return math.log(float(planar_geometric_kernel((1, 1), self.decay / self._resolution).cells[0, 0]))

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return PlanarGeometricNoise(self._rate / self._resolution).draw(count, bits)


@dataclass(frozen=True, repr=False)
class PlanarGeometric(EuclideanNoise):
    """Move a cell by noise proportional to e^(-epsilon distance) over the unbounded lattice (paper, eq. pg).

    >>> from confide import Grid
    >>> PlanarGeometric(Grid(5, 5), epsilon=0.5).report_alphabet
    Lattice()
    """

    kind = "planar-geometric"
    about = "noise alike in all directions; any cell of the plane may be reported"
    alphabet: Grid | Lattice
    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    def _clamped_to(self, grid: Grid, outputs: Grid | None) -> TruncatedPlanarGeometric:
        return TruncatedPlanarGeometric(grid, self.epsilon, outputs)

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        if cells.size * counts.reports.shape[0] <= LARGEST_SCATTER // 10:
            return scattered_evidence(cells, counts, self.decay, self._log_peak)
        if cells.grid is not None:
            return self._windowed_evidence(counts, cells.grid)
        # Convolve where most reports lie, and store rows and columns for the few cells and reports elsewhere.
        window = crowded_window(counts, cells)
        places, values = window.locate(counts.reports), window.locate(cells.decode(np.arange(cells.size)))
        near, far = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        bulk, rest = np.flatnonzero(values >= 0), np.flatnonzero(values < 0)
        if cells.size * far.size + rest.size * near.size > LARGEST_SCATTER:
            raise too_scattered(cells, counts)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[places[near]] = np.arange(near.size)
        convolution = PlanarConvolution(planar_geometric_kernel(window.shape, self.decay), np.ones(window.size))
        inside = Embedded(convolution, values[bulk], remap, near.size)
        distances = distances_between(cells.coordinates[rest], counts.reports[near])
        outside = Dense(np.exp(self._log_peak - self.decay * distances))
        order, layout = np.concatenate([bulk, rest]), layout_of(cells)
        rows = VerticalStack((inside, outside), None if layout is None else layout.part(order))
        piled = Embedded(rows, np.argsort(order), np.arange(near.size), near.size)
        if far.size == 0:
            return Evidence(piled, counts.counts[near])
        beyond = scattered_evidence(cells, Counts(counts.reports[far], counts.counts[far]), self.decay, self._log_peak)
        both = ColumnStack((piled, beyond.channel))
        return Evidence(both, np.concatenate([counts.counts[near], counts.counts[far]]), beyond.log_offset)

    def _windowed_evidence(self, counts: Counts, grid: Grid) -> Evidence:
        """Convolve within a window around the grid, and store columns for the few reports beyond it."""
        window = _widened(grid, self.decay)
        places = window.locate(counts.reports)
        near, far = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[places[near]] = np.arange(near.size)
        kernel = planar_geometric_kernel(window.shape, self.decay)
        convolution = PlanarConvolution(kernel, np.ones(window.size))
        values = window.encode(grid.decode(np.arange(grid.size)))
        inside = Embedded(convolution, values, remap, near.size)
        if far.size == 0:
            return Evidence(inside, counts.counts[near])
        beyond = scattered_evidence(grid, Counts(counts.reports[far], counts.counts[far]), self.decay, self._log_peak)
        both: Channel = ColumnStack((inside, beyond.channel))
        return Evidence(both, np.concatenate([counts.counts[near], counts.counts[far]]), beyond.log_offset)


@dataclass(frozen=True, repr=False)
class PlanarLaplace(EuclideanNoise):
    """Move a point by continuous planar Laplace noise and report the real point that results.

    Reports are multiples of a step/2^12, and the noise is exactly proportional to e^(-epsilon distance) among these, so
    the promise holds to the letter.

    >>> from confide import Grid
    >>> PlanarLaplace(Grid(5, 5), epsilon=0.5).report_alphabet
    Plane()
    """

    kind = "planar-laplace"
    about = "continuous noise alike in all directions; reports are real rows and columns, or coordinates"
    alphabet: Grid | Lattice
    epsilon: float

    _takes_coordinates: ClassVar[bool] = True

    @property
    def _resolution(self) -> int:
        return self.alphabet.fine.RESOLUTION

    def __post_init__(self) -> None:
        self._check()
        if (grid := self.alphabet.grid) is not None:
            ends = grid.first_row, grid.first_row + grid.rows, grid.first_column, grid.first_column + grid.columns
            if max(map(abs, ends)) > Plane.FARTHEST_VALUE:
                raise InvalidParameterError(
                    f"PlanarLaplace reports multiples of 2^-12, which float64 holds around cells up to row and column "
                    f"2^39; got {grid!r}. Count rows and columns from a nearer origin."
                )

    @property
    def report_alphabet(self) -> Plane:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.alphabet.fine

    def on_cells(self, counts: Counts, cells: Places | str) -> tuple[Counts, PlanarLaplaceOnCells]:
        """Return reports of coordinates counted by cells chosen now, and the mechanism that these are reports of.

        Reports outside the box count in the nearest cell on its rim. In each cell people are taken to be spread evenly.

        >>> from confide import Coordinates, tally
        >>> mechanism = PlanarLaplace(Coordinates(40.7044, -74.0205, 40.7942, -73.9374), epsilon=1.0)
        >>> reports = mechanism.privatize([(40.7580, -73.9855)] * 100, rng=1)
        >>> counts, on_cells = mechanism.on_cells(tally(reports), "1 km")
        >>> counts.total, on_cells.alphabet.shape
        (100.0, (10, 8))
        """
        self.refuse_strays(counts)
        mechanism = self.on(cells)
        found = add_up(mechanism.alphabet.nearest_cells(counts.reports.astype(np.float64)), counts.counts)
        return found.with_origin(counts.origin), mechanism

    def on(self, cells: Places | str) -> PlanarLaplaceOnCells:
        """Return the mechanism of reports of coordinates that are counted by cells."""
        if not isinstance(self.alphabet, Coordinates):
            raise InvalidParameterError(
                f"Cells are chosen later where reports are coordinates; {self.alphabet!r} has them already."
            )
        grid = self.alphabet.cells(cells)
        if grid.unit != self.alphabet.unit:
            raise InvalidParameterError(f"The cells must be counted in {self.alphabet.unit}; got {grid.unit}.")
        outputs = grid.box if grid.holes else None  # noise carries people where nobody can be
        return PlanarLaplaceOnCells(grid, self.epsilon, outputs)

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """See :meth:`Mechanism.peaks`."""
        self._require_cells()
        return super().peaks(counts)

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`."""
        self._require_cells()
        return super().observe_within(counts, part)

    def _require_cells(self) -> None:
        if self.alphabet.bounds is not None and not self.alphabet.is_finite:
            raise unbounded(self.alphabet)

    def _clamped_to(self, grid: Grid, outputs: Grid | None) -> TruncatedPlanarLaplace:
        return TruncatedPlanarLaplace(grid, self.epsilon, outputs)

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        return scattered_evidence(cells, counts, self.decay, self._log_peak)

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.float64]:
        noise = np.stack(self._noise(indices.size, bits), axis=-1)
        return self.report_alphabet.moved(self.alphabet.decode(indices), noise)


class TruncatedKernelMechanism(TruncatedPlaneMechanism):
    """Noise from a planar kernel, clamped to a grid."""

    @abstractmethod
    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        """Return the probabilities of all displacements within a box of this shape, and of the tails beyond."""

    @cached_property
    def _kernel(self) -> PlanarKernel:
        self._box.require_listable()  # a table of displacements is as large
        return self._make_kernel(self._box.shape)

    @property
    def tables(self) -> dict[str, list[Any]]:
        """See :attr:`Mechanism.tables`; displacements too."""
        require_tabled(self, self._box.size)
        return {"quadrant": self._quadrant.tolist()} | super().tables

    def _box_channel(self, shape: tuple[int, int]) -> ClampedPlanarConvolution:
        return ClampedPlanarConvolution(self._kernel if shape == self._box.shape else self._make_kernel(shape))

    @cached_property
    def _quadrant(self) -> NDArray[np.float64]:
        return self._kernel.quadrant

    @cached_property
    def _table(self) -> TableNoise:
        return TableNoise(self._quadrant)

    @cached_property
    def _integer_quadrant(self) -> list[list[int]]:
        weights, width = as_integers(self._quadrant), self._box.columns
        return [weights[start : start + width] for start in range(0, len(weights), width)]

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return self._table.draw(count, bits)

    def _box_weights(self, row: int, column: int) -> list[int]:
        """Walk through all displacements and add up where they are clamped to."""
        height, width = self._box.shape
        weights = [0] * (height * width)
        for down in range(1 - height, height):
            clamped_row = min(max(row + down, 0), height - 1)
            for along in range(1 - width, width):
                place = clamped_row * width + min(max(column + along, 0), width - 1)
                weights[place] += self._integer_quadrant[abs(down)][abs(along)]
        return weights


@dataclass(frozen=True, repr=False)
class TruncatedPlanarGeometric(TruncatedKernelMechanism):
    """Move a cell by noise proportional to e^(-epsilon distance) on the lattice, then to the nearest cell of the grid.

    Border cells collect infinite sums, computed to full precision (paper, eq. pg and the text after it).

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarGeometric(Grid(5, 5, unit="km"), epsilon=0.5)
    >>> mechanism.channel.dense().sum(axis=1).round(12).tolist() == [1.0] * 25
    True
    """

    kind = "truncated-planar-geometric"
    about = "noise alike in all directions, then the nearest cell"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        return planar_geometric_kernel(shape, shaded(self._rate))


@dataclass(frozen=True, repr=False)
class TruncatedPlanarLaplace(TruncatedKernelMechanism):
    """Move a point by continuous noise of density proportional to e^(-epsilon distance), then to the nearest cell.

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarLaplace(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0)
    >>> mechanism.privatize((10, 7), rng=1) in [tuple(cell) for cell in mechanism.alphabet.decode(range(280)).tolist()]
    True
    """

    kind = "truncated-planar-laplace"
    about = "continuous noise alike in all directions, then the nearest cell"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        return planar_laplace_kernel(shape, shaded(self._rate))


@dataclass(frozen=True, repr=False)
class PlanarLaplaceOnCells(TruncatedKernelMechanism):
    """Planar Laplace noise on coordinates, its reports counted by cells: what an estimate on these cells rests on.

    People are taken to be spread evenly over their cell, where :class:`TruncatedPlanarLaplace` has them at its middle.
    No device draws from it: it is made by :meth:`PlanarLaplace.on_cells`.
    """

    kind: ClassVar[str] = "planar-laplace-on-cells"
    alphabet: Places
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    @property
    def fine_print(self) -> tuple[str, ...]:
        """See :attr:`Mechanism.fine_print`; devices had no cells, which only the estimate has."""
        return (self.alphabet.fine_print[0], "In each cell people are taken to be spread evenly.")

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        parts = next(parts for parts in (8, 4, 2, 1) if parts == 1 or shape[0] * shape[1] * parts**2 <= LARGEST_WINDOW)
        finer = planar_laplace_kernel((shape[0] * parts, shape[1] * parts), shaded(self._rate) / parts)
        return kernel_in_blocks(finer, parts) if parts > 1 else finer


def crowded_window(counts: Counts, part: Alphabet) -> Grid:
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
    return Grid(rows, columns, part.metric.distance((0, 0), (0, 1)), "", (), *first.tolist())


def _widened(alphabet: Grid, rate: float) -> Grid:
    """Return the box of a grid with a margin where most noise stays.

    No wider than e^-12 of the peak reaches: what is less likely would drown in the rounding of the FFT.
    """
    down, along = (min(side // 2 + 1, int(12 / rate) + 1) for side in alphabet.shape)
    shape = alphabet.rows + 2 * down, alphabet.columns + 2 * along
    return alphabet.window(alphabet.first_row - down, alphabet.first_column - along, *shape)

"""Noise on a plane: taxicab, planar geometric and planar Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from confide import channels
from confide.channels import Dense, Embedded, Kronecker
from confide.channels.kernels import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms import line, sampling
from confide.mechanisms.base import LARGEST_TABLE, Bound, Facts, LatticeNoise, Premise, Proof, require_tabled
from confide.mechanisms.planar import PlaneMechanism, TruncatedPlaneMechanism, UnboundedPlaneMechanism, shaded
from confide.mechanisms.sampling import Bits, TableNoise, WeightRows
from confide.values import Alphabet, Coordinates, Grid, Indices, Lattice, Places, Plane, unbounded
from confide.values.wording import counted

LARGEST_SCATTER = 50_000_000
"""Most entries of a stored matrix of values and scattered reports: 400 MB."""

LARGEST_STORED = LARGEST_SCATTER // 10
"""Most entries for which the matrix is stored even if most of it could be convolved."""

LARGEST_WINDOW = 4_000_000
"""Most cells of a box for which the bulk of the reports is convolved: 32 MB per vector."""


class TaxicabNoise(PlaneMechanism):
    """Two-sided geometric noise on each coordinate."""

    @cached_property
    def _ratio(self) -> Fraction:
        """e^(-epsilon spacing / sqrt 2), rounded up."""
        return sampling.ratio_above(sampling.over_root_two(self._rate))

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return sampling.ProductNoise(self._ratio).draw(count, bits)


@dataclass(frozen=True, repr=False)
class TruncatedTaxicab(TaxicabNoise, TruncatedPlaneMechanism):
    """The taxicab mechanism with each coordinate clamped to a grid.

    Paper, eq. truncatedTaxicab.

    >>> from confide import Grid
    >>> mechanism = TruncatedTaxicab(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0)
    >>> print(mechanism.guarantee)
    metric privacy, 1 per km: any report is at most e^(1 x distance) times as likely under one value as another
    """

    kind = "truncated-taxicab"
    about = "adds geometric noise to row and column, each clamped to the grid"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    @property
    def facts(self) -> Facts:
        grid, box, rate = self.alphabet, self.report_alphabet, self.epsilon / math.sqrt(2) * self.alphabet.spacing
        known = replace(
            super().facts,
            noise=LatticeNoise(self._ratio, is_clamped=True),
            corollary="corollary consistency1",
            inversion_bound=taxicab_bound(rate, grid.shape, is_square=self._is_plain),
        )
        if not self.reports_every_value:
            return known
        proof = Proof("The columns at the values are linearly independent.", "lemma TTaxicabLinIndependence")
        # Coordinates are independent, so the smallest log-probability is the sum of two.
        starts, firsts = (grid.first_row, grid.first_column), (box.first_row, box.first_column)
        smallest = sum(
            line.log_smallest_clamped(rate, (start, start + side - 1), (first, first + width - 1))
            for start, side, first, width in zip(starts, grid.shape, firsts, box.shape, strict=True)
        )
        # With holes the farthest cell may be a hole, so the smallest probability differs.
        return replace(known, independence=proof, log_smallest=None if grid.holes else smallest)

    def _box_channel(self, shape: tuple[int, int]) -> Kronecker:
        rows, columns = shape
        return Kronecker((line.clamped_channel(self._ratio, rows), line.clamped_channel(self._ratio, columns)))

    def _box_weights(self, row: int, column: int) -> list[int]:
        down = line.clamped_weights(self._ratio, row, self._box.rows)
        along = line.clamped_weights(self._ratio, column, self._box.columns)
        return [first * second for first in down for second in along]

    def _moved(self, rows: Indices, columns: Indices, bits: Bits) -> tuple[Indices, Indices]:
        """Draw each coordinate from weights if few, else clamp noise."""
        if max(self._box.shape) > LARGEST_TABLE:
            return super()._moved(rows, columns, bits)
        down, along = self._axis_rows
        return down.draw(rows, bits), along.draw(columns, bits)

    @cached_property
    def _axis_rows(self) -> tuple[WeightRows, WeightRows]:
        rows, columns = (
            WeightRows.of([line.clamped_weights(self._ratio, index, size) for index in range(size)])
            for size in self._box.shape
        )
        return rows, columns


@dataclass(frozen=True, repr=False)
class Taxicab(TaxicabNoise, UnboundedPlaneMechanism):
    """Move a cell by two-sided geometric noise on each coordinate.

    The rate is epsilon / sqrt 2 (paper, eq. taxicab): probabilities fall with the taxicab distance, which is at most
    sqrt 2 times the Euclidean one.

    >>> from confide import Grid
    >>> Taxicab(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0).report_alphabet
    Lattice(spacing=0.5, unit='km')
    """

    kind = "taxicab"
    about = "adds geometric noise to row and column; a report may be any cell of the plane"
    alphabet: Grid | Lattice
    epsilon: float

    _kin = TruncatedTaxicab
    _premise = Premise.COORDINATES
    _independence = Proof("The columns at the values are linearly independent.", "lemma taxicabLinIndependence")

    @property
    def _dominance(self) -> Proof | None:
        if (grid := self.alphabet.grid) is None:
            return None
        rate = self.epsilon / math.sqrt(2) * grid.spacing
        constant = -2 * line.log_inner(rate)
        reason = (
            f"d(row, column) = {rate:.4g} (|row - {grid.first_row}| + |column - {grid.first_column}| + "
            f"{sum(grid.shape) - 2}) + {constant:.4g}, whose mean is finite."
        )
        return Proof(reason, "corollary consistency3", {"lambda times spacing": rate, "-2 log a": constant})

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        if cells.grid is not None:
            # On each coordinate, the column of a report beyond the alphabet is the border's times a constant. So the
            # report is counted at the border, and the constant goes into the offset.
            box = cells.grid.box
            first = np.array([box.first_row, box.first_column])
            last = first + box.shape - 1
            clamped = np.clip(counts.reports, first, last)
            log_ratio = line.clamped_log_ratio(self._ratio, counts.reports, first, last).sum(axis=1)
            evidence = self._clamped.observe(add_up(clamped, counts.counts))
            return replace(evidence, log_offset=float(counts.counts @ log_ratio))
        # Each coordinate is a line of the rows, or columns, that occur. Reports beyond the values are moved to the
        # border, and the factor for that goes into the offset.
        axes: list[channels.ScatteredExponential] = []
        value = report = beyond = np.zeros(1, dtype=np.int64)
        for places, reports in zip(cells.decode(np.arange(cells.size)).T, counts.reports.T, strict=True):
            inside = np.clip(reports, places.min(), places.max())
            (own, own_number), (seen, seen_number) = (np.unique(one, return_inverse=True) for one in (places, inside))
            points, positions = seen.astype(np.float64), own.astype(np.float64)
            axes.append(channels.ScatteredExponential(own.size, self.decay, points, positions))
            value, report = value * own.size + own_number, report * seen.size + seen_number
            beyond = beyond + np.abs(reports - inside)
        channel = Kronecker(tuple(axes))
        remap = np.full(channel.shape[1], -1, dtype=np.int64)
        remap[report] = np.arange(counts.counts.size)
        log_peak = 2 * math.log(float((1 - self._ratio) / (1 + self._ratio)))
        offset = float(counts.counts @ (log_peak - self.decay * beyond))
        return Evidence(Embedded(channel, value, remap, counts.counts.size), counts.counts, offset)

    @cached_property
    def _clamped(self) -> TruncatedTaxicab:
        """Cached, so that all groups of reports share one channel."""
        assert self.alphabet.grid is not None  # noqa: S101 (for the type checker; `observe` has asked)
        return TruncatedTaxicab(self.alphabet.grid, self.epsilon, outputs=self.alphabet.grid.box)


class TruncatedKernelMechanism(TruncatedPlaneMechanism):
    """Noise from a planar kernel, clamped to a grid."""

    _kernel_of: ClassVar[staticmethod[[tuple[int, int], float], PlanarKernel]]
    """Probabilities of all displacements within a box at a rate, and of the tails beyond."""

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        return self._kernel_of(shape, shaded(self._rate))

    @cached_property
    def _kernel(self) -> PlanarKernel:
        self._box.require_listable()  # a table of displacements is as large
        return self._make_kernel(self._box.shape)

    @property
    def tables(self) -> dict[str, list[Any]]:
        """See :attr:`Mechanism.tables`; also displacements."""
        require_tabled(self, self._box.size)
        return {"quadrant": self._quadrant.tolist()} | super().tables

    def _box_channel(self, shape: tuple[int, int]) -> channels.ClampedPlanarConvolution:
        return channels.ClampedPlanarConvolution(self._kernel if shape == self._box.shape else self._make_kernel(shape))

    @cached_property
    def _quadrant(self) -> NDArray[np.float64]:
        return self._kernel.quadrant

    @cached_property
    def _table(self) -> TableNoise:
        return TableNoise(self._quadrant)

    @cached_property
    def _integer_quadrant(self) -> list[list[int]]:
        weights, width = sampling.as_integers(self._quadrant), self._box.columns
        return [weights[start : start + width] for start in range(0, len(weights), width)]

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return self._table.draw(count, bits)

    def _box_weights(self, row: int, column: int) -> list[int]:
        """Add up the weights of all displacements where they are clamped to."""
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
    """Move a cell by noise proportional to e^(-epsilon distance), then clamp.

    The noise is on the lattice of cells; the result is moved to the nearest cell of the grid. Border cells collect
    infinite sums, computed to full precision (paper, eq. pg and the text after it).

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarGeometric(Grid(5, 5, unit="km"), epsilon=0.5)
    >>> mechanism.channel.dense().sum(axis=1).round(12).tolist() == [1.0] * 25
    True
    """

    kind = "truncated-planar-geometric"
    about = "adds noise that is equal in all directions, then takes the nearest cell"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    _kernel_of = staticmethod(planar_geometric_kernel)


@dataclass(frozen=True, repr=False)
class TruncatedPlanarLaplace(TruncatedKernelMechanism):
    """Move a point by continuous planar Laplace noise, to the nearest cell.

    The density is proportional to e^(-epsilon distance).

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarLaplace(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0)
    >>> mechanism.privatize((10, 7), rng=1) in [tuple(cell) for cell in mechanism.alphabet.decode(range(280)).tolist()]
    True
    """

    kind = "truncated-planar-laplace"
    about = "adds continuous noise that is equal in all directions, then takes the nearest cell"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    _kernel_of = staticmethod(planar_laplace_kernel)


@dataclass(frozen=True, repr=False)
class PlanarLaplaceOnCells(TruncatedKernelMechanism):
    """Planar Laplace noise on coordinates, with reports counted by cells.

    Estimates on cells use it. It assumes that people are spread evenly over their cell, whereas
    :class:`TruncatedPlanarLaplace` has them at its middle. No device draws from it; :meth:`PlanarLaplace.on_cells`
    makes it.
    """

    kind: ClassVar[str] = "planar-laplace-on-cells"
    alphabet: Places
    epsilon: float
    outputs: Grid | None = None

    @property
    def fine_print(self) -> tuple[str, ...]:
        """See :attr:`Mechanism.fine_print`; only the estimate has cells."""
        return (self.alphabet.fine_print[0], "The estimate assumes that people are spread evenly in each cell.")

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        parts = next(parts for parts in (8, 4, 2, 1) if parts == 1 or shape[0] * shape[1] * parts**2 <= LARGEST_WINDOW)
        finer = planar_laplace_kernel((shape[0] * parts, shape[1] * parts), shaded(self._rate) / parts)
        return channels.kernel_in_blocks(finer, parts) if parts > 1 else finer


class EuclideanNoise(UnboundedPlaneMechanism):
    """Noise proportional to e^(-epsilon distance) among cells or finer points."""

    _premise = Premise.DISTANCE

    @property
    def _resolution(self) -> int:
        """Lattice points of the noise per cell, along each axis."""
        return getattr(self.report_alphabet, "RESOLUTION", 1)

    @property
    def decay(self) -> float:
        return float(self._rate)

    @property
    def _lattice_noise(self) -> LatticeNoise:
        return LatticeNoise(rate=self._rate / self._resolution, resolution=self._resolution)

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return sampling.PlanarGeometricNoise(self._rate / self._resolution).draw(count, bits)

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        """Store a column e^(-rate distance) for each distinct report.

        Each is scaled to the value nearest to the report, so that far reports do not underflow. The scale goes into the
        offset.
        """
        if cells.size * counts.reports.shape[0] > LARGEST_SCATTER:
            raise too_scattered(cells, counts)
        exponents = self.decay * distances_between(cells.coordinates, counts.reports)
        nearest = exponents.min(axis=0)
        offset = float(counts.counts @ (self._log_peak - nearest))
        return Evidence(Dense(np.exp(nearest - exponents), layout_of(cells)), counts.counts, offset)

    @property
    def _log_peak(self) -> float:
        """Log-probability of reporting the value itself."""
        return math.log(float(planar_geometric_kernel((1, 1), self.decay / self._resolution).cells[0, 0]))


@dataclass(frozen=True, repr=False)
class PlanarGeometric(EuclideanNoise):
    """Move a cell by noise proportional to e^(-epsilon distance), unbounded.

    The noise is over the whole lattice (paper, eq. pg).

    >>> from confide import Grid
    >>> PlanarGeometric(Grid(5, 5), epsilon=0.5).report_alphabet
    Lattice()
    """

    kind = "planar-geometric"
    about = "adds noise that is equal in all directions; a report may be any cell of the plane"
    alphabet: Grid | Lattice
    epsilon: float

    _kin = TruncatedPlanarGeometric

    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        """Convolve within a window, and store columns for the reports beyond it.

        The window of a grid is the grid with a margin. For scattered cells it is where most reports lie; the few cells
        elsewhere have stored rows.
        """
        if cells.size * counts.reports.shape[0] <= LARGEST_STORED:
            return super()._evidence(counts, cells)
        if (grid := cells.grid) is None:
            window = crowded_window(counts, cells)
        else:
            # The margin ends at e^-12 of the peak: the FFT's rounding would swamp anything less likely.
            down, along = (min(side // 2 + 1, int(12 / self.decay) + 1) for side in grid.shape)
            shape = grid.rows + 2 * down, grid.columns + 2 * along
            window = grid.window(grid.first_row - down, grid.first_column - along, *shape)
        places, values = window.locate(counts.reports), window.locate(cells.decode(np.arange(cells.size)))
        near, far = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        bulk, rest = np.flatnonzero(values >= 0), np.flatnonzero(values < 0)
        if cells.size * far.size + rest.size * near.size > LARGEST_SCATTER:
            raise too_scattered(cells, counts)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[places[near]] = np.arange(near.size)
        convolution = channels.PlanarConvolution(
            planar_geometric_kernel(window.shape, self.decay), np.ones(window.size)
        )
        inside: channels.Channel = Embedded(convolution, values[bulk], remap, near.size)
        if cells.grid is None:
            distances = distances_between(cells.coordinates[rest], counts.reports[near])
            outside = Dense(np.exp(self._log_peak - self.decay * distances))
            order, layout = np.concatenate([bulk, rest]), layout_of(cells)
            rows = channels.VerticalStack((inside, outside), None if layout is None else layout.part(order))
            inside = Embedded(rows, np.argsort(order), np.arange(near.size), near.size)
        if far.size == 0:
            return Evidence(inside, counts.counts[near])
        beyond = super()._evidence(Counts(counts.reports[far], counts.counts[far]), cells)
        both = channels.ColumnStack((inside, beyond.channel))
        return Evidence(both, np.concatenate([counts.counts[near], counts.counts[far]]), beyond.log_offset)


@dataclass(frozen=True, repr=False)
class PlanarLaplace(EuclideanNoise):
    """Move a point by continuous planar Laplace noise, and report the point.

    Reports are multiples of a step/2^12, and the noise is exactly proportional to e^(-epsilon distance) among these, so
    the promise holds exactly.

    >>> from confide import Grid
    >>> PlanarLaplace(Grid(5, 5), epsilon=0.5).report_alphabet
    Plane()
    """

    kind = "planar-laplace"
    about = "adds continuous noise that is equal in all directions; reports are real rows and columns, or coordinates"
    alphabet: Grid | Lattice
    epsilon: float

    _kin = TruncatedPlanarLaplace
    _takes_coordinates = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (grid := self.alphabet.grid) is not None:
            ends = grid.first_row, grid.first_row + grid.rows, grid.first_column, grid.first_column + grid.columns
            if max(map(abs, ends)) > Plane.FARTHEST_VALUE:
                raise InvalidParameterError(
                    f"PlanarLaplace reports multiples of 2^-12, which float64 holds around cells up to row and column "
                    f"2^39; got {grid!r}. Count rows and columns from a nearer origin."
                )

    @property
    def report_alphabet(self) -> Plane:
        return self.alphabet.fine

    def on_cells(self, counts: Counts, cells: Places | str) -> tuple[Counts, PlanarLaplaceOnCells]:
        """Count reports of coordinates by cells; return counts and their mechanism.

        Reports outside the box count in the nearest cell on its rim. People are assumed to be spread evenly in each
        cell.

        >>> from confide import Coordinates, tally
        >>> mechanism = PlanarLaplace(Coordinates(40.7044, -74.0205, 40.7942, -73.9374), epsilon=1.0)
        >>> reports = mechanism.privatize([(40.7580, -73.9855)] * 100, rng=1)
        >>> counts, on_cells = mechanism.on_cells(tally(reports), "1 km")
        >>> counts.total, on_cells.alphabet.shape
        (100.0, (10, 8))
        """
        self.refuse_strays(counts)
        mechanism = self.on(cells)
        return counts.with_reports(mechanism.alphabet.nearest_cells(counts.reports.astype(np.float64))), mechanism

    def on(self, cells: Places | str) -> PlanarLaplaceOnCells:
        """Return the mechanism of coordinates that are counted by cells."""
        if not isinstance(self.alphabet, Coordinates):
            raise InvalidParameterError(
                f"Cells can be chosen later only if reports are coordinates; {self.alphabet!r} has cells already."
            )
        grid = self.alphabet.cells(cells)
        if grid.unit != self.alphabet.unit:
            raise InvalidParameterError(f"The cells must be counted in {self.alphabet.unit}; got {grid.unit}.")
        outputs = grid.box if grid.holes else None  # noise moves reports into holes too
        return PlanarLaplaceOnCells(grid, self.epsilon, outputs)

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        if self.alphabet.bounds is not None and not self.alphabet.is_finite:
            raise unbounded(self.alphabet)
        return super().peaks(counts)

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.float64]:
        noise = np.stack(self._noise(indices.size, bits), axis=-1)
        return self.report_alphabet.moved(self.alphabet.decode(indices), noise)


def taxicab_bound(rate: float, shape: tuple[int, int], *, is_square: bool = True) -> Bound:
    """Return the lower bound on inversion's error for the truncated mechanism.

    Paper, proposition invTTaxicabBound.

    >>> round(taxicab_bound(0.2 / math.sqrt(2) * 0.5, (20, 14)).per_report, 1)
    662648.6
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    is_wide = is_square and min(shape) >= 3  # as in geometric_bound
    return Bound.at_least(
        beta**5 - 4 * alpha * beta**3 - 4,
        "proposition invTTaxicabBound",
        {
            f"lambda times spacing {rate:.4g} is at most 1.09": rate <= 1.09,
            "values and outputs are one full box, 3 or more cells each way": is_wide,
        },
    )


def crowded_window(counts: Counts, part: Alphabet) -> Grid:
    """Return a box that fits and contains most reports.

    It drops the reports behind the widest empty gap, repeatedly.
    """
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


def too_scattered(alphabet: Alphabet, counts: Counts) -> InvalidParameterError:
    """Return the error for a matrix that does not fit."""
    return InvalidParameterError(
        f"{counted(alphabet.size, 'value')} times {counted(counts.reports.shape[0], 'distinct report')} do not fit. "
        f"Use the truncated mechanism, or round the reports to cells."
    )


def distances_between(points: NDArray[np.float64], reports: NDArray[Any]) -> NDArray[np.float64]:
    """Return Euclidean distances in steps, points by reports."""
    difference = points[:, None, :] - reports[None, :, :]
    distances: NDArray[np.float64] = np.hypot(difference[..., 0], difference[..., 1])
    return distances


def layout_of(cells: Alphabet) -> channels.Layout | None:
    """Return the layout of cells, leaving out empty rows and columns.

    `None` if it would need more than five million places.
    """
    if cells.grid is not None:
        return channels.Layout(cells.grid.shape, cells.grid.places)
    values = cells.decode(np.arange(cells.size))
    (rows, row), (columns, column) = (np.unique(part, return_inverse=True) for part in values.T)
    if rows.size * columns.size > 5_000_000:
        return None
    return channels.Layout((rows.size, columns.size), row * columns.size + column)

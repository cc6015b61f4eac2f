"""A planar kernel as an operator, in O(k log k) by FFT.

Without a border this is a plain convolution. With clamping, everything that leaves the grid is reported as its nearest
cell, so border cells collect infinite tails of the kernel. This is exact without padding to infinity: the first and the
last row are two rows of another convolution, with the kernel's row tails. The same holds for columns and corners. Two
rows of a convolution are far cheaper than all of it, and reuse the transforms.

Tables are transformed along their rows as a whole, and then down their columns, a block of frequencies at a time. A
block is transposed, so that columns are contiguous, and stays in the processor's cache.

**Kernels**: probabilities of displacements on the plane, and their infinite tails. Clamping piles the tails up on the
border. A planar kernel is even in both directions, so one quadrant determines it. For displacements (i, j), i rows and
j columns:

    cells[i, j]    the probability of (i, j) itself
    rows[i, j]     of all (i', j) with i' >= i: collected by a border row
    columns[i, j]  of all (i, j') with j' >= j: collected by a border column
    corners[i, j]  of all (i', j') with i' >= i and j' >= j: collected by a corner

Gauss rules compute the tails beyond the quadrant once, along its far rim. Everything nearer is a running sum of
positive terms, so every entry has full relative accuracy. Everything is + - * / and sqrt in a fixed order
(:mod:`confide.values.portable`), because devices draw from these numbers: they are the same bits on every machine.

A Gauss rule with m nodes is exact for polynomials of degree 2m - 1. For the *sum* over 0, 1, ..., N - 1 the orthogonal
polynomials are the discrete Chebyshev ones, with recurrence b_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)) around the centre
(N - 1) / 2. Dropping the j^2 beside N^2 gives the Legendre recurrence, hence the integral over an interval of length N.
So one construction serves lattices and continuous planes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.values.checks import read_only
from confide.values.portable import exp_minus, length, one_minus_exp_minus, total

Spectrum = NDArray[np.complex128]

NEGLIGIBLE = 1e-25
"""Left out of transforms, whose rounding is far larger; so a steep kernel needs little padding."""

CACHED = 2**16
"""Complex numbers in one block: 1 MB, which fits a core's own cache."""


@dataclass(frozen=True, eq=False, repr=False)
class PlaneConvolution(Channel):
    """Base of both planar channels: grid, kernel and transforms."""

    kernel: PlanarKernel

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self.kernel.cells.shape
        return height, width

    @property
    def layout(self) -> Layout:
        return Layout(self.grid)

    @property
    def shape(self) -> tuple[int, int]:
        size = self.kernel.cells.size
        return size, size

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """Rows and columns within which the kernel is not negligible."""
        # Padding is as long as the kernel is seen, not as it is stored: steep noise needs little.
        visible = self.kernel.cells > NEGLIGIBLE
        return int(np.count_nonzero(visible.any(axis=1))), int(np.count_nonzero(visible.any(axis=0)))

    @cached_property
    def _padded(self) -> tuple[int, int]:
        """Lengths of the transforms, padded so that the kernel does not wrap."""
        (height, width), (down, along) = self.grid, self._reach
        return (
            fft_module().next_fast_len(height + down - 1, real=False),
            fft_module().next_fast_len(width + along - 1, real=True),
        )

    @cached_property
    def _cells(self) -> FloatArray:
        return self._even_spectrum(self.kernel.cells)

    def _even_spectrum(self, quadrant: FloatArray) -> FloatArray:
        """Return the transform of an even table, one row per frequency.

        It is real because the table is even.
        """
        (down, along), (rows, columns) = self._padded, self._reach
        turned = even_table(even_table(quadrant[:rows, :columns], down, 0), along, 1).T
        return np.ascontiguousarray(fft_module().fft(fft_module().rfft(turned, axis=0), axis=1).real)

    def _along(self, tables: FloatArray) -> Spectrum:
        """Transform along the rows."""
        spectra: Spectrum = fft_module().rfft(tables, self._padded[1], axis=-1)
        return spectra

    def _back(self, spectra: Spectrum) -> FloatArray:
        """Undo the transform along the rows, and remove the padding."""
        tables: FloatArray = fft_module().irfft(spectra, self._padded[1], axis=-1, overwrite_x=True)
        return tables[..., : self.grid[1]]

    def _down(self, columns: Spectrum | FloatArray) -> Spectrum:
        """Transform columns stored along the last axis."""
        spectra: Spectrum = fft_module().fft(columns, self._padded[0], axis=-1)
        return spectra

    def _up(self, spectra: Spectrum) -> Spectrum:
        """Undo the transform of columns, and remove the padding."""
        columns: Spectrum = fft_module().ifft(spectra, axis=-1, overwrite_x=True)
        return columns[..., : self.grid[0]]

    def _blocks(self, spectra: Spectrum) -> list[slice]:
        """Cut frequencies into blocks whose padded columns fit the cache."""
        stacked = spectra.size // (spectra.shape[-1] * spectra.shape[-2])
        step = max(1, CACHED // max(1, stacked * self._padded[0]))
        return [slice(start, start + step) for start in range(0, spectra.shape[-1], step)]

    def _as_tables(self, vectors: FloatArray) -> FloatArray:
        return vectors.reshape(*vectors.shape[:-1], *self.grid)

    @cached_property
    def _transform_error(self) -> float:
        """Relative error of a transform, in the Euclidean norm.

        8 units per level (Higham, 2002, theorem 24.2).
        """
        return 8 * UNIT * math.log2(self._padded[0] * self._padded[1])

    def _smear_error(self, vectors: FloatArray) -> FloatArray:
        """Bound the error of a convolution with the kernel, for every cell.

        The transforms of the vector v and of the kernel K have relative error r in norm. Their product carries at most
        r |K| |v| of each into every cell (Cauchy-Schwarz, Parseval). The inverse transform adds r times the norm of the
        result, which is at most |v| times the sum of K, and at most |K| times the sum of v.
        """
        norm, total = norms_of(vectors)
        kernel, mass = norm_of_even(self.kernel.cells), 4 * float(self.kernel.cells.sum())
        back = np.minimum(mass * norm, kernel * total)
        return self._transform_error * (2 * kernel * norm + back) + NEGLIGIBLE * total

    def _split(self, vectors: FloatArray) -> tuple[Indices, FloatArray | None]:
        """Return outlying entries, to multiply exactly, and the rest.

        The rest is `None` if nothing is left. The FFT's error in every cell is a share of the norm of the whole input.
        A report far from all others has a huge weight q / y, which would swamp the digits of every value. A value with
        nearly all the weight would swamp outputs that it hardly reaches.
        """
        atoms: Indices = np.zeros(0, dtype=np.int64)
        if vectors.ndim > 1:
            return atoms, vectors
        # Counting is several times faster than listing, and the answer is nearly always that there are many.
        few = 8  # atoms that are taken one by one: exact where the FFT leaves 1e-17 of noise
        if np.count_nonzero(vectors) <= few:
            return np.flatnonzero(vectors), None
        rest = vectors
        # 4: rounds in which atoms that stand out are taken out before the rest goes through the FFT.
        for _ in range(4):
            square = rest * rest
            large = np.flatnonzero(square > float(square.sum()) / few)
            if not large.size:
                break
            atoms, rest = np.concatenate([atoms, large]), rest.copy()
            rest[large] = 0.0
        return atoms, rest if rest.any() else None

    def _in_two(
        self, vectors: FloatArray, rows: Callable[[Indices], FloatArray], transform: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """Return a product: outlying entries by matrix rows, the rest by FFT."""
        atoms, rest = self._split(vectors)
        if not atoms.size:
            return transform(vectors)
        one_by_one = vectors[..., atoms] @ rows(atoms)
        return one_by_one if rest is None else transform(rest) + one_by_one

    def _error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        atoms, rest = self._split(given)
        one_by_one = (atoms.size + 4) * UNIT * product
        return one_by_one if rest is None else self._rest_error(side, rest) + one_by_one

    @abstractmethod
    def _rest_error(self, side: int, rest: FloatArray) -> FloatArray:
        """Bound the error of the part that goes through transforms."""

    def _around(self, cells: Indices, table: FloatArray) -> FloatArray:
        """Return the table's entries for all displacements from these cells."""
        down, along = self._displacements(cells)
        return table[down[:, :, None], along[:, None, :]].reshape(cells.size, self.shape[1])

    def _between(self, values: Indices, outputs: Indices) -> tuple[Indices, Indices]:
        """Return absolute row and column differences of values and outputs."""
        (row, column), (other_row, other_column) = np.divmod(values, self.grid[1]), np.divmod(outputs, self.grid[1])
        return np.abs(row[:, None] - other_row), np.abs(column[:, None] - other_column)

    def _displacements(self, values: Indices) -> tuple[Indices, Indices]:
        """Return absolute row and column differences to every row and column."""
        height, width = self.grid
        row, column = np.divmod(values, width)
        return np.abs(row[:, None] - np.arange(height)), np.abs(column[:, None] - np.arange(width))


@dataclass(frozen=True, eq=False, repr=False)
class PlanarConvolution(PlaneConvolution):
    """M_xz = row(x) kernel(z - x), without clamping.

    With `rows` 1 over the mass that stays inside the grid, this is the exponential mechanism on a grid.
    """

    rows: FloatArray

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        return self._in_two(distribution, self.select, lambda rest: self._smear(rest * self.rows))

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        return self._in_two(weights, lambda atoms: self._around(atoms, self.kernel.cells), self._smear) * self.rows

    def _rest_error(self, side: int, rest: FloatArray) -> FloatArray:
        return self._smear_error(rest * self.rows) if side == 0 else self._smear_error(rest) * self.rows

    def select(self, values: Indices) -> FloatArray:
        return self._around(values, self.kernel.cells) * self.rows[values][:, None]

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        return self.kernel.cells[self._between(values, outputs)] * self.rows[values][:, None]

    def _smear(self, vectors: FloatArray) -> FloatArray:
        spectra = self._along(self._as_tables(vectors))
        for block in self._blocks(spectra):
            both = self._down(swap_axes(spectra[..., block]))
            both *= self._cells[block]
            spectra[..., block] = np.swapaxes(self._up(both), -1, -2)
        return drop_signs(self._back(spectra), vectors).reshape(vectors.shape)


ENDS = [0, -1]
"""The first and the last of something."""

NEGLIGIBLE_TAIL = 1000 * NEGLIGIBLE
"""Share of a tail left out: where the cut falls inside a plane of 10,000 rows, a cell fades by 1 in 200 or more."""


@dataclass(frozen=True, eq=False, repr=False)
class ClampedPlanarConvolution(PlaneConvolution):
    """M_xz = P(displacement from x whose nearest grid cell is z)."""

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        return self._in_two(distribution, self.select, self._push)

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        return self._in_two(weights, self._columns, self._pull)

    def _push(self, distribution: FloatArray) -> FloatArray:
        spectra = self._along(self._as_tables(distribution))
        columns = np.zeros((*spectra.shape[:-2], 2, self._padded[0]), dtype=np.complex128)
        corners = np.zeros((*spectra.shape[:-2], 2, 2), dtype=np.complex128)
        for block in self._blocks(spectra):
            inner = swap_axes(spectra[..., block])
            # Complex numbers as pairs of real ones: products with real tables then stay real.
            pairs = self._row_tails[block] @ inner.view(np.float64).reshape(*inner.shape, 2)
            rows = pairs.view(np.complex128)[..., 0]
            corners += self._first_and_last[:, block] @ rows[..., 2:]
            both = self._down(inner)
            columns += self._first_and_last[:, block] @ (both * self._column_tails[block])
            both *= self._cells[block]
            smeared = self._up(both)
            smeared[..., ENDS] = rows[..., :2]
            spectra[..., block] = np.swapaxes(smeared, -1, -2)
        result = self._back(spectra)
        border = self._up(columns).real
        border[..., ENDS] = corners.real
        result[..., ENDS] = np.swapaxes(border, -1, -2)
        return drop_signs(result, distribution).reshape(distribution.shape)

    def _pull(self, weights: FloatArray) -> FloatArray:
        """Run the steps of a push, transposed."""
        tables = self._as_tables(weights)
        border = swap_axes(tables[..., ENDS])
        corners = self._phases @ border[..., ENDS]
        rows = swap_axes(self._along(_without_ends(tables[..., ENDS, :])))
        rows = np.concatenate([rows, corners], axis=-1)
        columns = self._down(_without_ends(border))
        spectra = self._along(_without_rim(tables))
        for block in self._blocks(spectra):
            both = self._down(swap_axes(spectra[..., block]))
            both *= self._cells[block]
            both += (self._phases[block] @ columns) * self._column_tails[block]
            smeared = self._up(both)
            some = rows[..., block, :]
            pairs = np.swapaxes(self._row_tails[block], -1, -2) @ some.view(np.float64).reshape(*some.shape, 2)
            smeared += pairs.view(np.complex128)[..., 0]
            spectra[..., block] = np.swapaxes(smeared, -1, -2)
        return drop_signs(self._back(spectra), weights).reshape(weights.shape)

    def in_blocks(self, side: int) -> ClampedPlanarConvolution:
        # Partial blocks at far rims count as whole.
        return ClampedPlanarConvolution(kernel_in_blocks(self.kernel, side))

    def _rest_error(self, side: int, rest: FloatArray) -> FloatArray:
        if side == 1:
            inner, rim, corners = self._inner_rim_corners(rest)
            (edge, edge_total), (corner, _) = norms_of(rim), norms_of(corners)
            # No sums here are longer than four; all else are transforms.
            border = (3 * self._edge_norm + self._edge_map_norm) * edge + 8 * self._corner_norm * corner
            return self._smear_error(inner) + self._transform_error * border + NEGLIGIBLE_TAIL * edge_total
        # What the border collects goes through sums besides transforms.
        norm, total = norms_of(rest)
        error = np.empty(self._as_tables(rest).shape)
        error[...] = self._smear_error(rest)[..., None]
        # As inside, but for the sums; what comes out of a way back is at most the map's own norm.
        cut, border = NEGLIGIBLE_TAIL * total, self._border_error * norm
        edge = (border * (3 * self._edge_norm + self._edge_map_norm) + cut)[..., None]
        error[..., ENDS, :], error[..., ENDS] = edge, edge
        for row in ENDS:
            error[..., row, ENDS] = border * 4 * self._corner_norm + cut
        return error.reshape(rest.shape)

    def weighted_push_error(self, distribution: FloatArray, pushed: FloatArray, weights: FloatArray) -> float:
        # By Cauchy-Schwarz, because the errors of transforms are bounded in norm.
        atoms, rest = self._split(distribution)
        one_by_one = (atoms.size + 4) * UNIT * float(weights @ pushed)
        if rest is None:
            return one_by_one
        norm, total = (float(one[0]) for one in norms_of(rest))
        inner, rim, corners = (float(np.linalg.norm(part)) for part in self._inner_rim_corners(weights))
        mass, kernel = 4 * float(self.kernel.cells.sum()), norm_of_even(self.kernel.cells)
        inside = self._transform_error * (2 * mass * norm + kernel * total)
        edges = self._border_error * (3 * self._edge_map_norm * norm + 2 * self._edge_norm * total)
        corner = self._border_error * 8 * self._corner_norm * norm
        cut = NEGLIGIBLE_TAIL * total * float(np.abs(weights).sum())
        return inner * inside + rim * edges + corners * corner + cut + one_by_one

    def _inner_rim_corners(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the inner part, the rim with its corners, and the corners."""
        tables, stack = self._as_tables(vectors), vectors.shape[:-1]
        inner, corners = _without_rim(tables), tables[..., ENDS, :][..., ENDS]
        return inner.reshape(*stack, -1), (tables - inner).reshape(*stack, -1), corners.reshape(*stack, -1)

    @cached_property
    def _border_error(self) -> float:
        """Relative error of a push to the border.

        It has errors of transforms, and of sums over rows and blocks of frequencies.
        """
        blocks = CACHED // self._padded[0] + self._padded[1] * self._padded[0] // CACHED + 2
        return self._transform_error + UNIT * (self.grid[0] + 2 * blocks)

    @cached_property
    def _edge_norm(self) -> float:
        """The larger Euclidean norm of an edge's tails."""
        return max(norm_of_even(self.kernel.rows), norm_of_even(self.kernel.columns))

    @cached_property
    def _edge_map_norm(self) -> float:
        """Bound on the norm of the map to all four edges.

        At each distance it is a convolution, whose norm is at most its sum.
        """
        sums = (2 * self.kernel.rows.sum(axis=1), 2 * self.kernel.columns.sum(axis=0))
        return 2 * max(float(np.linalg.norm(one)) for one in sums)

    @cached_property
    def _corner_norm(self) -> float:
        return norm_of_even(self.kernel.corners)

    def select(self, values: Indices) -> FloatArray:
        rows, columns = self._displacements(values)
        down, along = rows[:, :, None], columns[:, None, :]
        tables = self.kernel.cells[down, along]
        tables[:, ENDS, :] = self.kernel.rows[down[:, ENDS], along]
        tables[:, :, ENDS] = self.kernel.columns[down, along[:, :, ENDS]]
        for row in ENDS:
            for column in ENDS:
                tables[:, row, column] = self.kernel.corners[down[:, row, 0], along[:, 0, column]]
        return tables.reshape(values.size, self.shape[1])

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        entries = np.empty((values.size, outputs.size))
        for table, where in self._tables(outputs):
            entries[:, where] = table[self._between(values, outputs[where])]
        return entries

    def _columns(self, outputs: Indices) -> FloatArray:
        """Return these columns of M, one per row."""
        result = np.empty((outputs.size, self.shape[0]))
        for table, where in self._tables(outputs):
            result[where] = self._around(outputs[where], table)
        return result

    def _tables(self, outputs: Indices) -> list[tuple[FloatArray, NDArray[np.bool_]]]:
        """Pair the kernel's tables with their outputs: inside, edges, corners."""
        (rows, columns), (height, width) = np.divmod(outputs, self.grid[1]), self.grid
        in_end_row, in_end_column = (rows == 0) | (rows == height - 1), (columns == 0) | (columns == width - 1)
        return [
            (self.kernel.cells, ~in_end_row & ~in_end_column),
            (self.kernel.rows, in_end_row & ~in_end_column),
            (self.kernel.columns, in_end_column & ~in_end_row),
            (self.kernel.corners, in_end_row & in_end_column),
        ]

    @cached_property
    def _row_tails(self) -> FloatArray:
        """Tails collected by the first row, the last row and their corners.

        Axes: frequency along the row, which of the four, source row.
        """
        tables = (self.kernel.rows, self.kernel.rows[::-1], self.kernel.corners, self.kernel.corners[::-1])
        reached = (table[:, : self._reach[1]] for table in tables)
        tails = [fft_module().rfft(even_table(table, self._padded[1], 1), axis=1).real.T for table in reached]
        return np.stack(tails, axis=1)

    @cached_property
    def _column_tails(self) -> FloatArray:
        return self._even_spectrum(self.kernel.columns)

    @cached_property
    def _phases(self) -> Spectrum:
        """Factors that shift a transform to the first and the last column.

        One row per frequency along the rows.
        """
        along = self._padded[1]
        places = np.array([0, self.grid[1] - 1])
        # Reduced before the exponential, whose argument then stays accurate.
        turns = np.arange(along // 2 + 1)[:, None] * places % along / along
        phases: Spectrum = np.exp(-2j * np.pi * turns)
        return phases

    @cached_property
    def _first_and_last(self) -> Spectrum:
        """Inverse transform along the rows, for the first and last column only.

        A real transform leaves out mirrored frequencies. Hence the factor 2 for those with a mirror image, and the real
        part at the end.
        """
        along = self._padded[1]
        mirrored = np.full(along // 2 + 1, 2.0)
        mirrored[0] = 1.0
        if along % 2 == 0:
            mirrored[-1] = 1.0
        return np.ascontiguousarray(self._phases.conj().T * (mirrored / along))


def _without_rim(tables: FloatArray) -> FloatArray:
    inner = np.zeros_like(tables)
    inner[..., 1:-1, 1:-1] = tables[..., 1:-1, 1:-1]
    return inner


def _without_ends(vectors: FloatArray) -> FloatArray:
    """Return border rows, or columns, without the corners."""
    inner = np.zeros_like(vectors)
    inner[..., 1:-1] = vectors[..., 1:-1]
    return inner


def kernel_in_blocks(kernel: PlanarKernel, side: int) -> PlanarKernel:
    """Return the kernel between square blocks of cells.

    The starting place is uniform in its block.

    >>> from confide.channels.planar import planar_geometric_kernel
    >>> kernel = kernel_in_blocks(planar_geometric_kernel((4, 4), 1.0), 2)
    >>> total = 4 * kernel.corners[0, 0] - 2 * (kernel.rows[0, 0] + kernel.columns[0, 0]) + kernel.cells[0, 0]
    >>> bool(abs(total - 1) < 1e-14)
    True
    """
    (down, tails_down), (along, tails_along) = (_between_blocks(count, side) for count in kernel.cells.shape)
    return PlanarKernel(
        read_only(down @ kernel.cells @ along.T),
        read_only(tails_down @ kernel.rows @ along.T),
        read_only(down @ kernel.columns @ tails_along.T),
        read_only(tails_down @ kernel.corners @ tails_along.T),
    )


def _between_blocks(count: int, side: int) -> tuple[FloatArray, FloatArray]:
    """Return the maps from cell to block displacements, along one axis.

    One map is for displacements, one for tails. From place u of a block to place v of the block d further on, the
    displacement is d side + v - u; average over u, sum over v. The tail from block d >= 1 on begins (d - 1) side + u +
    1 cells away, with u counted from the nearer end. The tail from the own block on is everything except what leaves it
    backwards. Displacements beyond the table count as its last.
    """
    steps, last = np.arange(-(-count // side)), count - 1
    cells, tails = np.zeros((2, steps.size, count))
    for shift in range(1 - side, side):
        np.add.at(cells, (steps, np.minimum(np.abs(steps * side + shift), last)), (side - abs(shift)) / side)
    for place in range(side):
        np.add.at(tails, (steps[1:], np.minimum((steps[1:] - 1) * side + place + 1, last)), 1 / side)
        tails[0, min(side - place, last)] -= 1 / side
    tails[0, 0] += 1
    tails[0, min(1, last)] += 1
    return cells, tails


def swap_axes(tables: NDArray[Any]) -> NDArray[Any]:
    """Swap the last two axes, in memory too."""
    return np.ascontiguousarray(np.swapaxes(tables, -1, -2))


def norms_of(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Euclidean norm and sum of absolute values, keeping the axis."""
    return np.linalg.norm(vectors, axis=-1, keepdims=True), np.abs(vectors).sum(axis=-1, keepdims=True)


def norm_of_even(quadrant: FloatArray) -> float:
    """Bound the Euclidean norm of an even table by four quadrants."""
    return 2 * float(np.linalg.norm(quadrant))


def drop_signs(products: FloatArray, vectors: FloatArray) -> FloatArray:
    """Raise rounding noise such as -1e-17 to 0, for non-negative input.

    Other inputs keep the product linear.
    """
    return products if vectors.min(initial=0.0) < 0 else np.maximum(products, 0.0)


def even_table(quadrant: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay an even function, given for 0, 1, ..., around a circle."""
    count = quadrant.shape[axis]
    shape = list(quadrant.shape)
    shape[axis] = length
    circle = np.zeros(shape)
    front, source = np.moveaxis(circle, axis, 0), np.moveaxis(quadrant, axis, 0)
    front[:count] = source
    front[length - count + 1 :] = source[:0:-1]
    return circle


def fft_module() -> Any:
    """Return scipy.fft, imported late: it is slow, and only planes need it."""
    import scipy.fft

    return scipy.fft


NODES = 24
"""Nodes of a rule; shorter sums use every term."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights of a sum or integral.

    The sum or integral of f is about the sum of weight times f(node).
    """

    nodes: FloatArray
    weights: FloatArray


def interval_rule(length: float, nodes: int = NODES) -> Rule:
    """Return the rule for the integral over [0, length].

    >>> rule = interval_rule(2.0)
    >>> bool(abs(rule.weights @ rule.nodes**2 - 8 / 3) < 1e-13)
    True
    """
    unit = _unit_rule(nodes)
    return Rule(length * unit.nodes, length * unit.weights)


@cache
def _unit_rule(nodes: int) -> Rule:
    order = np.arange(1.0, nodes)
    return _gauss_rule(0.5, order * order / (4 * (4 * order * order - 1)), 1.0)


@cache
def sum_rule(count: int, nodes: int = NODES) -> Rule:
    """Return the rule for a sum over 0, ..., count - 1.

    For few terms, every term itself.

    >>> rule = sum_rule(1000)
    >>> bool(abs(rule.weights @ rule.nodes**2 / 332833500 - 1) < 1e-13)
    True
    """
    if count <= nodes:
        return Rule(read_only(np.arange(float(count))), read_only(np.ones(count)))
    squares = np.arange(1.0, nodes) * np.arange(1.0, nodes)
    return _gauss_rule((count - 1) / 2, squares * (float(count) * count - squares) / (4 * (4 * squares - 1)), count)


def tail_rule(start: float, decay: float, across: float = 0.0, *, is_sum: bool) -> Rule:
    """Return the rule for the tail of e^(-decay hypot(t, j)).

    It is for t from start > 0 on and j <= across, and for the sum over whole numbers from a whole start, or for the
    integral. Blocks double in length while functions of the distance from 0 stay smooth on them, and stop doubling once
    the decay within one block would be steep.
    """
    # 45.0: e^-45 is 3e-20. Where decay (hypot(t, across) - hypot(start, across)) has grown so far, the tail adds
    # nothing to a float64.
    reach = math.sqrt(start * start + across * across) + 45.0 / decay
    end = math.sqrt(reach * reach - across * across)
    nodes, weights, begin = [], [], start
    longest = 4.0 / decay  # e-foldings that one block may span: 24 nodes then leave an error of 1e-16
    while begin < end:
        count, length = NODES, min(begin, longest)
        if is_sum:
            # NODES, 2 NODES, 4 NODES, ...: few blocks differ, so few rules are made.
            while 2 * count <= min(begin, int(longest)):
                count *= 2
        rule = sum_rule(count) if is_sum else interval_rule(length)
        nodes.append(rule.nodes + begin)
        weights.append(rule.weights)
        begin += count if is_sum else length
    return Rule(read_only(np.concatenate(nodes)), read_only(np.concatenate(weights)))


def _gauss_rule(centre: float, squares: FloatArray, mass: float) -> Rule:
    """Return the Gauss rule of a symmetric measure from its recurrence.

    The recurrence is p_j+1 = (x p_j - b_j p_j-1) / b_j+1 with b^2 = squares. The weight of a node is the mass divided
    by the sum of all p_j(node)^2.
    """
    # All zeros of the last polynomial, by bisection: Sturm's sequence counts those below a point.
    wanted = np.arange(squares.size + 1)
    high = np.full(wanted.size, 2 * math.sqrt(float(squares.max(initial=0.0))))
    low = -high
    for _ in range(64):  # past float64's 53 bits: no end moves any more
        middle = (low + high) / 2
        quotient = 0.0 - middle
        count = (quotient < 0).astype(np.int64)
        with np.errstate(divide="ignore"):  # a quotient of 0 is followed by one of minus infinity, which counts
            for square in squares:
                quotient = (0.0 - middle) - square / quotient
                count += quotient < 0
        is_above = count > wanted
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    nodes, roots = low, np.sqrt(squares)
    before, value = np.zeros(nodes.size), np.ones(nodes.size)
    norms = value * value
    for number, root in enumerate(roots):
        back = roots[number - 1] * before if number else before
        before, value = value, (nodes * value - back) / root
        norms = norms + value * value
    return Rule(read_only(centre + nodes), read_only(mass / norms))


DEEPEST = 650.0
"""Exponents are cut off here, before float64 underflows: a cut keeps neighbours within e^decay, a zero would not."""

FAINTEST = float(exp_minus(DEEPEST))


@dataclass(frozen=True, eq=False)
class PlanarKernel:
    """Probabilities of displacements over one quadrant, and their tails."""

    cells: FloatArray
    rows: FloatArray
    columns: FloatArray
    corners: FloatArray

    @classmethod
    def build(cls, cells: FloatArray, far_rows: FloatArray, far_columns: FloatArray, far_corner: float) -> PlanarKernel:
        """Accumulate tails inwards from the far rim, and normalize over the plane."""
        # From the faintest inwards, so that small terms are added before large ones.
        rows = np.cumsum(np.vstack([far_rows, cells[::-1]]), axis=0)[:0:-1]
        columns = np.cumsum(np.hstack([far_columns[:, None], cells[:, ::-1]]), axis=1)[:, :0:-1]
        beyond = np.cumsum(np.concatenate([[far_corner], far_columns[::-1]]))[:0:-1]
        corners = np.cumsum(np.hstack([beyond[:, None], rows[:, ::-1]]), axis=1)[:, :0:-1]
        total = 4 * corners[0, 0] - 2 * (rows[0, 0] + columns[0, 0]) + cells[0, 0]
        return cls(*(read_only(table / total) for table in (cells, rows, columns, corners)))

    @property
    def quadrant(self) -> FloatArray:
        """Displacements up to the table's size.

        The rim includes everything beyond it, because clamping treats it the same.
        """
        quadrant = self.cells.copy()
        quadrant[-1, :] = self.rows[-1, :]
        quadrant[:, -1] = self.columns[:, -1]
        quadrant[-1, -1] = self.corners[-1, -1]
        return quadrant


def planar_geometric_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return probabilities proportional to e^(-decay hypot(i, j)) over the lattice.

    Paper, eq. pg.

    >>> kernel = planar_geometric_kernel((3, 3), 1.0)
    >>> bool(abs(kernel.cells[1, 1] / kernel.cells[0, 0] - np.exp(-np.sqrt(2))) < 1e-15)
    True
    """
    height, width = shape
    rows, columns = np.arange(float(height)), np.arange(float(width))
    down, along = (tail_rule(one, decay, other, is_sum=True) for one, other in (shape, shape[::-1]))
    return PlanarKernel.build(
        _density(rows, columns, decay),
        _floored(_weighed(_density(down.nodes, columns, decay), down), decay),
        _floored(_weighed(_density(along.nodes, rows, decay), along), decay),
        _floored_corner(down, along, decay),
    )


def planar_laplace_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return the planar Laplace density, integrated over unit cells.

    The density is proportional to e^(-decay r), and cells are centred on the integer lattice.

    >>> kernel = planar_laplace_kernel((3, 3), 1.0)
    >>> total = 4 * kernel.corners[0, 0] - 2 * kernel.rows[0, 0] - 2 * kernel.columns[0, 0] + kernel.cells[0, 0]
    >>> bool(abs(total - 1) < 1e-14)
    True
    """
    height, width = shape
    down, along = (tail_rule(one - 0.5, decay, other, is_sum=False) for one, other in (shape, shape[::-1]))
    # Integrate the density over the cells of the quadrant: finely near the origin, where it has a kink.
    cells = np.full((height, width), FAINTEST)
    reach = math.ceil(DEEPEST / decay) + 1  # beyond it all exponents are cut off
    # Over [-1/2, 1/2], as few nodes as leave an error on e^(-decay t) below 1e-16.
    fine = _pieces(1, 6) if decay <= 1 else _pieces(math.ceil(decay / 4), 10)
    visible = _smooth_integrals(min(height, reach), min(width, reach), fine, decay)
    cells[: visible.shape[0], : visible.shape[1]] = visible
    # 16: cells this close to the kink of the density at the origin take many nodes; smoothness makes few enough beyond.
    closest = min(16, reach)
    pieces = _pieces(max(1, math.ceil(decay / 4)), 24)
    near = _smooth_integrals(min(height, closest), min(width, closest), pieces, decay)
    # Integrate over the cell that holds the kink, in polar coordinates: eight equal triangles, one smooth integral.
    rule = interval_rule(1.0)
    secants = np.sqrt(1 + rule.nodes * rule.nodes)
    # P(2, y) = 1 - (1 + y) e^-y, by its series y^2 / 2! + y^3 / 3! + ... times e^-y where that would cancel.
    points = decay * secants / 2
    faded = exp_minus(np.minimum(points, DEEPEST))
    small = np.minimum(points, 1.0)
    term = small * small / 2
    series = term
    for order in range(3, 20):
        term = term * small / order
        series = series + term
    terms = np.where(points < 1, series * faded, 1 - (1 + points) * faded) / (secants * secants)
    near[0, 0] = 8 * float(_weighed(terms, rule)) / (decay * decay)
    cells[: near.shape[0], : near.shape[1]] = near
    return PlanarKernel.build(
        cells,
        _floored(_across_cells(down, width, decay), decay),
        _floored(_across_cells(along, height, decay), decay),
        _floored_corner(down, along, decay),
    )


def _density(rows: FloatArray, columns: FloatArray, decay: float) -> FloatArray:
    return exp_minus(np.minimum(decay * length(rows[:, None], columns[None, :]), DEEPEST))


def _weighed(values: FloatArray, rule: Rule) -> FloatArray:
    """Apply a rule along the first axis."""
    return total(values * rule.weights.reshape(-1, *[1] * (values.ndim - 1)))


def _floored(tails: FloatArray, decay: float) -> FloatArray:
    """Bound tails of cut-off cells from below.

    Neighbours then still differ by at most e^decay.
    """
    return np.maximum(tails, FAINTEST / one_minus_exp_minus(decay))


def _floored_corner(down: Rule, along: Rule, decay: float) -> float:
    corner = float(_weighed(_weighed(_density(down.nodes, along.nodes, decay), down), along))
    rest = one_minus_exp_minus(decay)
    return max(corner, FAINTEST / (rest * rest))


def _pieces(count: int, nodes: int) -> Rule:
    piece = interval_rule(1 / count, nodes)
    starts = np.arange(count) / count - 0.5
    return Rule((starts[:, None] + piece.nodes).reshape(-1), np.tile(piece.weights, count))


def _smooth_integrals(height: int, width: int, rule: Rule, decay: float) -> FloatArray:
    rows = np.arange(float(height))
    columns = rule.nodes[:, None] + np.arange(float(width))
    cells = np.zeros((height, width))
    for down, weight in zip(rule.nodes, rule.weights, strict=True):
        along = _density(columns.reshape(-1), rows + down, decay).reshape(*columns.shape, height)
        cells = cells + weight * _weighed(along, rule).T
    return cells


def _across_cells(tail: Rule, count: int, decay: float) -> FloatArray:
    """Integrate the density over half-infinite strips, one per cell across."""
    cell = _pieces(max(1, math.ceil(decay / 4)), 24)
    strips = [
        _weighed(_density(tail.nodes, position + cell.nodes, decay), tail) for position in np.arange(float(count))
    ]
    return _weighed(np.stack(strips, axis=1), cell)

"""A planar kernel as an operator, in O(k log k) by FFT.

Without a border this is a plain convolution. With clamping, everything that leaves the grid is reported as its nearest
cell, so border cells collect infinite tails of the kernel. This is exact without padding to infinity: the first and the
last row are two rows of another convolution, with the kernel's row tails. The same holds for columns and corners. Two
rows of a convolution are far cheaper than all of it, and reuse the transforms.

Tables are transformed along their rows as a whole, and then down their columns, a block of frequencies at a time. A
block is transposed, so that columns are contiguous, and stays in the processor's cache.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.channels.kernels import PlanarKernel
from confide.values.checks import read_only

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

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
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

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        if side == 0:
            return self._in_two(vectors, self.select, lambda rest: self._smear(rest * self.rows))
        return self._in_two(vectors, lambda atoms: self._around(atoms, self.kernel.cells), self._smear) * self.rows

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

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        return self._in_two(vectors, *((self.select, self._push), (self._columns, self._pull))[side])

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

    >>> from confide.channels.kernels import planar_geometric_kernel
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

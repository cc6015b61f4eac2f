"""A planar kernel as an operator, in O(k log k) by FFT.

Without a border this is a plain convolution; :mod:`confide.channels.clamped_planar` has the border.

Tables are transformed along their rows, as a whole, and then down their columns, a block of frequencies at a time: a
block is turned, so that what is transformed lies together in memory, and stays in the processor's cache until done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.channels.kernels import PlanarKernel

Spectrum = NDArray[np.complex128]

NEGLIGIBLE = 1e-25
"""Left out of transforms, whose own rounding is far larger; so a steep kernel needs little padding."""

CACHED = 2**16
"""Complex numbers in one block: 1 MB, which a core's own cache holds."""

FEW = 8
"""At most this many atoms are pushed, or pulled, one by one: exact where the FFT leaves 1e-17 of noise."""


@dataclass(frozen=True, eq=False, repr=False)
class PlaneConvolution(Channel):
    """Base of both planar channels: the grid, the kernel's transform and the transforms along each axis."""

    kernel: PlanarKernel

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self.kernel.cells.shape
        return height, width

    @property
    def layout(self) -> Layout:
        """See :attr:`Channel.layout`."""
        return Layout(self.grid)

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        size = self.kernel.cells.size
        return size, size

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """Rows and columns within which the kernel is more than negligible, counting its own."""
        visible = self.kernel.cells > NEGLIGIBLE
        return int(np.count_nonzero(visible.any(axis=1))), int(np.count_nonzero(visible.any(axis=0)))

    @cached_property
    def _padded(self) -> tuple[int, int]:
        """The lengths of the transforms: what the kernel reaches beyond one end must not come in at the other."""
        (height, width), (down, along) = self.grid, self._reach
        return (
            fft_module().next_fast_len(height + down - 1, real=False),
            fft_module().next_fast_len(width + along - 1, real=True),
        )

    @cached_property
    def _cells(self) -> FloatArray:
        return self._even_spectrum(self.kernel.cells)

    def _even_spectrum(self, quadrant: FloatArray) -> FloatArray:
        """Return the transform of an even table, one row a frequency along the rows; real, because it is even."""
        (down, along), (rows, columns) = self._padded, self._reach
        turned = even_table(even_table(quadrant[:rows, :columns], down, 0), along, 1).T
        return np.ascontiguousarray(fft_module().fft(fft_module().rfft(turned, axis=0), axis=1).real)

    def _along(self, tables: FloatArray) -> Spectrum:
        """Transform along the rows."""
        spectra: Spectrum = fft_module().rfft(tables, self._padded[1], axis=-1)
        return spectra

    def _back(self, spectra: Spectrum) -> FloatArray:
        """Undo the transform along the rows, and cut off the padding."""
        tables: FloatArray = fft_module().irfft(spectra, self._padded[1], axis=-1, overwrite_x=True)
        return tables[..., : self.grid[1]]

    def _down(self, columns: Spectrum | FloatArray) -> Spectrum:
        """Transform columns that lie along the last axis."""
        spectra: Spectrum = fft_module().fft(columns, self._padded[0], axis=-1)
        return spectra

    def _up(self, spectra: Spectrum) -> Spectrum:
        """Undo the transform of columns, and cut off the padding."""
        columns: Spectrum = fft_module().ifft(spectra, axis=-1, overwrite_x=True)
        return columns[..., : self.grid[0]]

    def _blocks(self, spectra: Spectrum) -> list[slice]:
        """Cut the frequencies into blocks whose padded columns fit into the processor's cache."""
        stacked = spectra.size // (spectra.shape[-1] * spectra.shape[-2])
        step = max(1, CACHED // max(1, stacked * self._padded[0]))
        return [slice(start, start + step) for start in range(0, spectra.shape[-1], step)]

    def _as_tables(self, vectors: FloatArray) -> FloatArray:
        return vectors.reshape(*vectors.shape[:-1], *self.grid)

    @cached_property
    def _transform_error(self) -> float:
        """Relative error of a transform, in the Euclidean norm: 8 units a level (Higham, 2002, theorem 24.2)."""
        return 8 * UNIT * math.log2(self._padded[0] * self._padded[1])

    def _smear_error(self, vectors: FloatArray) -> FloatArray:
        """Bound the error of a convolution with the kernel, the same for every cell.

        The transforms of the vector v and of the kernel K are wrong by r in norm, which their product carries into
        every cell as at most r |K| |v| each (Cauchy and Schwarz, Parseval); the way back adds r times the norm of what
        comes out, which is at most |v| times the sum of K, and at most |K| times the sum of v.
        """
        norm, total = norms_of(vectors)
        kernel, mass = norm_of_even(self.kernel.cells), 4 * float(self.kernel.cells.sum())
        back = np.minimum(mass * norm, kernel * total)
        return self._transform_error * (2 * kernel * norm + back) + NEGLIGIBLE * total

    def _split(self, vectors: FloatArray) -> tuple[Indices, FloatArray | None]:
        """Return the atoms that stand out, to be taken one by one, and what is left; None if nothing is.

        The FFT errs by a share of the norm of all that goes in, in every cell. A report far from all others has a
        weight q / y that is huge, and would drown the digits of every value; so would a value that has nearly all
        the weight those of outputs that it hardly reaches.
        """
        atoms: Indices = np.zeros(0, dtype=np.int64)
        if vectors.ndim > 1:
            return atoms, vectors
        # Counting is several times faster than listing, and the answer is nearly always that there are many.
        if np.count_nonzero(vectors) <= FEW:
            return np.flatnonzero(vectors), None
        rest = vectors
        # 4: rounds in which atoms that stand out are taken out before the rest goes through the FFT.
        for _ in range(4):
            square = rest * rest
            large = np.flatnonzero(square > float(square.sum()) / FEW)
            if not large.size:
                break
            atoms, rest = np.concatenate([atoms, large]), rest.copy()
            rest[large] = 0.0
        return atoms, rest if rest.any() else None

    def _around(self, cells: Indices, table: FloatArray) -> FloatArray:
        """Return, for each of these cells, what the table says of every cell's distance to it."""
        down, along = self._displacements(cells)
        return table[down[:, :, None], along[:, None, :]].reshape(cells.size, self.shape[1])

    def _between(self, values: Indices, outputs: Indices) -> tuple[Indices, Indices]:
        """Return how many rows and columns apart these values and outputs are, in absolute numbers."""
        (row, column), (other_row, other_column) = np.divmod(values, self.grid[1]), np.divmod(outputs, self.grid[1])
        return np.abs(row[:, None] - other_row), np.abs(column[:, None] - other_column)

    def _displacements(self, values: Indices) -> tuple[Indices, Indices]:
        """Return how many rows and columns away every cell is from these, in absolute numbers."""
        height, width = self.grid
        row, column = np.divmod(values, width)
        return np.abs(row[:, None] - np.arange(height)), np.abs(column[:, None] - np.arange(width))


@dataclass(frozen=True, eq=False, repr=False)
class PlanarConvolution(PlaneConvolution):
    """M_xz = row(x) kernel(z - x): what leaves the grid is not reported at all.

    With `rows` one over the mass that stays inside, this is the exponential mechanism on a grid.
    """

    rows: FloatArray

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        atoms, rest = self._split(distribution)
        if not atoms.size:
            return self._smear(distribution * self.rows)
        one_by_one = distribution[..., atoms] @ self.select(atoms)
        return one_by_one if rest is None else self._smear(rest * self.rows) + one_by_one

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        atoms, rest = self._split(weights)
        if not atoms.size:
            return self._smear(weights) * self.rows
        one_by_one = weights[..., atoms] @ self._around(atoms, self.kernel.cells)
        return (one_by_one if rest is None else self._smear(rest) + one_by_one) * self.rows

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        atoms, rest = self._split(distribution)
        one_by_one = (atoms.size + 4) * UNIT * pushed
        return one_by_one if rest is None else self._smear_error(rest * self.rows) + one_by_one

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        atoms, rest = self._split(weights)
        one_by_one = (atoms.size + 4) * UNIT * pulled
        return one_by_one if rest is None else self._smear_error(rest) * self.rows + one_by_one

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self._around(values, self.kernel.cells) * self.rows[values][:, None]

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        """See :meth:`Channel.block`."""
        return self.kernel.cells[self._between(values, outputs)] * self.rows[values][:, None]

    def _smear(self, vectors: FloatArray) -> FloatArray:
        spectra = self._along(self._as_tables(vectors))
        for block in self._blocks(spectra):
            both = self._down(swap_axes(spectra[..., block]))
            both *= self._cells[block]
            spectra[..., block] = np.swapaxes(self._up(both), -1, -2)
        return drop_signs(self._back(spectra), vectors).reshape(vectors.shape)


def swap_axes(tables: NDArray[Any]) -> NDArray[Any]:
    """Swap the last two axes, in memory too."""
    return np.ascontiguousarray(np.swapaxes(tables, -1, -2))


def norms_of(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Euclidean norm and the sum of absolute values, along a last axis of one."""
    return np.linalg.norm(vectors, axis=-1, keepdims=True), np.abs(vectors).sum(axis=-1, keepdims=True)


def norm_of_even(quadrant: FloatArray) -> float:
    """Bound the Euclidean norm of an even table from its quadrant of 0, 1, ...: four copies of it."""
    return 2 * float(np.linalg.norm(quadrant))


def drop_signs(products: FloatArray, vectors: FloatArray) -> FloatArray:
    """Lift to zero what rounding has left at -1e-17, where all that went in was non-negative; else it stays linear."""
    return products if vectors.min(initial=0.0) < 0 else np.maximum(products, 0.0)


def even_table(quadrant: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay an even function, known for 0, 1, ..., around a circle of the given length."""
    count = quadrant.shape[axis]
    shape = list(quadrant.shape)
    shape[axis] = length
    circle = np.zeros(shape)
    front, source = np.moveaxis(circle, axis, 0), np.moveaxis(quadrant, axis, 0)
    front[:count] = source
    front[length - count + 1 :] = source[:0:-1]
    return circle


def fft_module() -> Any:
    """Return scipy.fft, which takes a while to import and only planes need."""
    import scipy.fft

    module: ModuleType = scipy.fft
    return module

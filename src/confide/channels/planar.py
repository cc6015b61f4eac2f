"""A planar kernel as an operator, in O(k log k) by FFT.

Without a border this is a plain convolution. With clamping, everything that leaves the grid is reported as the nearest
cell of it, so border cells collect infinite tails of the kernel. That is exact and needs no padding to infinity: border
columns are a convolution along the rows with the kernel's column tails, summed over the columns (and reuse the row
transform), border rows likewise, and each corner is one dot product with the corner tails.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import Channel, FloatArray, Indices
from confide.kernels import PlanarKernel

Spectrum = NDArray[np.complex128]

FEW = 8
"""Distributions with at most this many atoms are pushed row by row: exact where the FFT leaves 1e-17 of noise."""


@dataclass(frozen=True, eq=False, repr=False)
class _Convolution(Channel):
    """What both planar channels share: the grid, the kernel's transform and the transforms along each axis."""

    kernel: PlanarKernel

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self.kernel.cells.shape
        return height, width

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        size = self.kernel.cells.size
        return size, size

    @cached_property
    def _padded(self) -> tuple[int, int]:
        height, width = self.grid
        return _fft().next_fast_len(2 * height - 1, real=True), _fft().next_fast_len(2 * width - 1, real=False)

    @cached_property
    def _cells(self) -> FloatArray:
        """The transform of the kernel; real, because the kernel is even."""
        down, along = self._padded
        circular = _even(_even(self.kernel.cells, down, 0), along, 1)
        return np.ascontiguousarray(_fft().fft(_fft().rfft(circular, axis=0), axis=1).real)

    def _down(self, tables: FloatArray) -> Spectrum:
        spectrum: Spectrum = _fft().rfft(tables, self._padded[0], axis=-2)
        return spectrum

    def _up(self, spectra: Spectrum) -> FloatArray:
        tables: FloatArray = _fft().irfft(spectra, self._padded[0], axis=-2, overwrite_x=True)
        return tables[..., : self.grid[0], :]

    def _smear_along(self, spectra: Spectrum) -> Spectrum:
        """Multiply by the kernel's transform, from and to the transform along the rows axis alone."""
        both = _fft().fft(spectra, self._padded[1], axis=-1)
        both *= self._cells
        smeared: Spectrum = _fft().ifft(both, axis=-1, overwrite_x=True)
        return smeared[..., : self.grid[1]]

    def _as_tables(self, vectors: FloatArray) -> FloatArray:
        return vectors.reshape(*vectors.shape[:-1], *self.grid)

    def _few_atoms(self, distribution: FloatArray) -> Indices | None:
        if distribution.ndim > 1:
            return None
        atoms = np.flatnonzero(distribution)
        return atoms if atoms.size <= FEW else None

    def _displacements(self, values: Indices) -> tuple[Indices, Indices]:
        """Return how many rows and columns away every cell is from these, in absolute numbers."""
        height, width = self.grid
        row, column = np.divmod(values, width)
        return np.abs(row[:, None] - np.arange(height)), np.abs(column[:, None] - np.arange(width))


@dataclass(frozen=True, eq=False, repr=False)
class PlanarConvolution(_Convolution):
    """M_xz = row(x) kernel(z - x): what leaves the grid is not reported at all.

    With `rows` one over the mass that stays inside, this is the exponential mechanism on a grid.
    """

    rows: FloatArray

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        atoms = self._few_atoms(distribution)
        if atoms is not None:
            return distribution[atoms] @ self.select(atoms)
        return self._smear(distribution * self.rows)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        return self._smear(weights) * self.rows

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        down, along = self._displacements(values)
        tables = self.kernel.cells[down[:, :, None], along[:, None, :]]
        return tables.reshape(values.size, -1) * self.rows[values][:, None]

    def _smear(self, vectors: FloatArray) -> FloatArray:
        tables = self._up(self._smear_along(self._down(self._as_tables(vectors))))
        # Rounding may leave a probability of 1e-17 negative; none is.
        return np.maximum(tables, 0.0).reshape(vectors.shape)


@dataclass(frozen=True, eq=False, repr=False)
class ClampedPlanarConvolution(_Convolution):
    """M_xz = the kernel's probability of every displacement from x whose nearest cell of the grid is z."""

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        atoms = self._few_atoms(distribution)
        if atoms is not None:
            return distribution[atoms] @ self.select(atoms)
        tables = self._as_tables(distribution)
        spectra = self._down(tables)
        inside = self._smear_along(spectra)
        inside[..., 0] = np.einsum("...fc,fc->...f", spectra, self._column_tails)
        inside[..., -1] = np.einsum("...fc,fc->...f", spectra, self._column_tails[:, ::-1])
        result = self._up(inside)
        self._push_rows(tables, result)
        self._push_corners(tables, result)
        return np.maximum(result, 0.0).reshape(distribution.shape)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        tables = self._as_tables(weights)
        middle = np.zeros_like(tables)
        middle[..., 1:-1, :] = tables[..., 1:-1, :]
        west, east = self._down(middle[..., :1]), self._down(middle[..., -1:])
        middle[..., [0, -1]] = 0.0
        spectra = self._smear_along(self._down(middle))
        spectra += west * self._column_tails + east * self._column_tails[:, ::-1]
        result = self._up(spectra)
        result += self._pull_rows(tables)
        for (row, column), tails in self._corner_tails:
            result += tables[..., row, column][..., None, None] * tails
        return np.maximum(result, 0.0).reshape(weights.shape)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        down, along = (part[:, :, None] if axis == 0 else part[:, None, :] for axis, part in _numbered(self, values))
        tables = self.kernel.cells[down, along]
        tables[:, [0, -1], :] = self.kernel.rows[down[:, [0, -1]], along]
        tables[:, :, [0, -1]] = self.kernel.columns[down, along[:, :, [0, -1]]]
        for row in (0, -1):
            for column in (0, -1):
                tables[:, row, column] = self.kernel.corners[down[:, row, 0], along[:, 0, column]]
        return tables.reshape(values.size, -1)

    def _push_rows(self, tables: FloatArray, result: FloatArray) -> None:
        spectra = self._along(tables)
        for row, tails in ((0, self._row_tails), (-1, self._row_tails[::-1])):
            border = np.einsum("...rf,rf->...f", spectra, tails)
            result[..., row, :] = _fft().irfft(border, self._padded[1], axis=-1)[..., : self.grid[1]]

    def _push_corners(self, tables: FloatArray, result: FloatArray) -> None:
        for (row, column), tails in self._corner_tails:
            result[..., row, column] = np.einsum("...rc,rc->...", tables, tails)

    def _pull_rows(self, tables: FloatArray) -> FloatArray:
        borders = tables[..., [0, -1], :].copy()
        borders[..., [0, -1]] = 0.0
        spectra = self._along(borders)
        both = spectra[..., :1, :] * self._row_tails + spectra[..., 1:, :] * self._row_tails[::-1]
        rows: FloatArray = _fft().irfft(both, self._padded[1], axis=-1)
        return rows[..., : self.grid[1]]

    def _along(self, tables: FloatArray) -> Spectrum:
        spectrum: Spectrum = _fft().rfft(tables, self._padded[1], axis=-1)
        return spectrum

    @cached_property
    def _column_tails(self) -> FloatArray:
        """Transform along the rows of the mass beyond each column distance."""
        transformed = _fft().rfft(_even(self.kernel.columns, self._padded[0], 0), axis=0)
        return np.ascontiguousarray(transformed.real)

    @cached_property
    def _row_tails(self) -> FloatArray:
        """Transform along the columns of the mass beyond each row distance."""
        transformed = _fft().rfft(_even(self.kernel.rows, self._padded[1], 1), axis=1)
        return np.ascontiguousarray(transformed.real)

    @cached_property
    def _corner_tails(self) -> list[tuple[tuple[int, int], FloatArray]]:
        corners = self.kernel.corners
        return [
            ((0, 0), corners),
            ((0, -1), corners[:, ::-1]),
            ((-1, 0), corners[::-1]),
            ((-1, -1), corners[::-1, ::-1]),
        ]


def _numbered(channel: _Convolution, values: Indices) -> list[tuple[int, Indices]]:
    return list(enumerate(channel._displacements(values)))


def _even(quadrant: FloatArray, length: int, axis: int) -> FloatArray:
    """Lay an even function, known for 0, 1, ..., around a circle of the given length."""
    count = quadrant.shape[axis]
    shape = list(quadrant.shape)
    shape[axis] = length
    circle = np.zeros(shape)
    front, source = np.moveaxis(circle, axis, 0), np.moveaxis(quadrant, axis, 0)
    front[:count] = source
    front[length - count + 1 :] = source[:0:-1]
    return circle


def _fft() -> Any:
    # scipy.fft takes a while to import, and only planes need it.
    import scipy.fft

    module: ModuleType = scipy.fft
    return module

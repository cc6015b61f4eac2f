"""Newton systems of the interior point: dense, and banded for exponential kernels on a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from confide.channels import TwoSidedExponential
from confide.channels.base import FloatArray
from confide.solvers.interior_point import NewtonSystem

BAND = 4
"""Half-width of the interleaved system: five-diagonal blocks between unknowns that stand two apart."""


@dataclass
class DenseSystem(NewtonSystem):
    """M W M' + D as a stored matrix."""

    matrix: FloatArray
    _factor: FloatArray = field(init=False)

    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """See :meth:`NewtonSystem.factor`."""
        curved = self.matrix * np.sqrt(curvature)
        system = curved @ curved.T
        system.flat[:: diagonal.size + 1] += diagonal
        self._factor, info = dpotrf(system, lower=1, overwrite_a=1)
        if info != 0:
            self._factor = np.full_like(system, np.nan)  # the caller sees no step and keeps its best point

    def solve(self, right: FloatArray) -> FloatArray:
        """See :meth:`NewtonSystem.solve`."""
        solution: FloatArray = dpotrs(self._factor, right, lower=1)[0]
        return solution


@dataclass
class LineSystem(NewtonSystem):
    """The same for M = diag(rows) T diag(columns) + diag(extra), T = [alpha^|z - x|], in O(k).

    T has a tridiagonal inverse B. In terms of u = (rows theta) T, y is Y u with the tridiagonal Y = diag(columns) +
    diag(extra / rows) B, and M W M' d becomes rows T Y' W Y du. With p = T Y' W Y du as a second unknown all blocks
    are banded:

        Y' W Y du - B p = 0,        B du + (rows^2 / D) p = rows / D right.
    """

    channel: TwoSidedExponential
    _factored: Any = field(init=False)
    _diagonal: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        size = self.channel.columns.size
        ratio = self.channel.ratio
        scale = self.channel.complement * (1 + ratio)
        self.inverse_diagonal = np.full(size, (1 + ratio**2) / scale)
        self.inverse_diagonal[[0, -1]] = 1 / scale
        self.inverse_beside = -ratio / scale
        self.rows = np.ones(size) if self.channel.rows is None else self.channel.rows
        extra = self.channel.extra
        # The three diagonals of Y: below, on and above the main one, by row.
        self.output_diagonal = self.channel.columns + extra * self.inverse_diagonal
        self.output_beside = extra * self.inverse_beside

    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """See :meth:`NewtonSystem.factor`."""
        self._diagonal = diagonal
        bands = self._bands(curvature, diagonal)
        lu, pivots, _ = dgbtrf(bands, BAND, BAND, overwrite_ab=1)
        self._factored = lu, pivots

    def solve(self, right: FloatArray) -> FloatArray:
        """See :meth:`NewtonSystem.solve`; from p follows d = (right - rows p) / D."""
        interleaved = np.zeros(2 * right.size)
        interleaved[1::2] = right * self.rows / self._diagonal
        solution = dgbtrs(self._factored[0], BAND, BAND, interleaved, self._factored[1], overwrite_b=1)[0]
        change: FloatArray = (right - self.rows * solution[1::2]) / self._diagonal
        return change

    def _bands(self, curvature: FloatArray, diagonal: FloatArray) -> FloatArray:
        """Lay the system out as LAPACK wants it: unknowns du_0, p_0, du_1, p_1, ..., one diagonal a row."""
        size = diagonal.size
        bands = np.zeros((3 * BAND + 1, 2 * size), order="F")
        middle = 2 * BAND
        above, on, below = self.output_beside[:-1], self.output_diagonal, self.output_beside[1:]
        square = curvature * on**2
        square[:-1] += curvature[1:] * below**2
        square[1:] += curvature[:-1] * above**2
        beside = curvature[:-1] * on[:-1] * above + curvature[1:] * below * on[1:]
        apart = curvature[1:-1] * below[:-1] * above[1:]
        bands[middle, 0::2] = square
        bands[middle - 2, 2::2] = bands[middle + 2, 0:-2:2] = beside
        bands[middle - 4, 4::2] = bands[middle + 4, 0:-4:2] = apart
        # Equation 2i (Y'WY du - B p = 0): p_i is one to the right, p_(i-1) one to the left, p_(i+1) three to the right.
        bands[middle - 1, 1::2] = -self.inverse_diagonal
        bands[middle - 3, 3::2] = -self.inverse_beside
        bands[middle + 1, 1:-2:2] = -self.inverse_beside
        # Equation 2i + 1 (B du + rows^2 / D p = ...): du_i is one to the left, du_(i+1) one to the right.
        bands[middle, 1::2] = self.rows**2 / diagonal
        bands[middle + 1, 0::2] = self.inverse_diagonal
        bands[middle - 1, 2::2] = self.inverse_beside
        bands[middle + 3, 0:-2:2] = self.inverse_beside
        return bands

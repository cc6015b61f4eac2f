"""Newton's equations of a smooth fit: the curvature of likelihood and prior together, factored once.

Under randomized response M = a I + b 11', so that with w = n q / y^2 the curvature of the likelihood, D M diag(w) M' D,
is a diagonal and two columns, diag(a^2 theta^2 w) + U S U': U = [theta w, theta], S = [[0, a b], [a b, b^2 sum(w)]].
Beside a prior on differences it is a band, which is factored in O(k), and the columns follow by Woodbury's formula.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotrf, dpotrs

from confide.channels.base import FloatArray


class System(Protocol):
    """A symmetric positive definite matrix, factored."""

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for one right side, or for one a column."""

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant."""


class DenseCurvature:
    """A matrix of which the lower half is given, and which rounding may have made singular."""

    def __init__(self, matrix: FloatArray) -> None:
        self.factor = factorise(matrix)

    def solve(self, right: FloatArray) -> FloatArray:
        """See :meth:`System.solve`."""
        return solve_by(self.factor, right)

    @property
    def log_determinant(self) -> float:
        """See :attr:`System.log_determinant`."""
        return 2 * float(np.log(self.factor.diagonal()).sum())


class BandedCurvature:
    """A band and a few columns: B + U S U'."""

    def __init__(self, band: FloatArray, columns: FloatArray, middle: FloatArray) -> None:
        self.factor, info = dpbtrf(band, lower=1)
        ridge = 1e-14 * float(band[0].max())
        while info != 0:  # rounding has made it singular
            band[0] += ridge
            ridge *= 100
            self.factor, info = dpbtrf(band, lower=1)
        self.columns, self.solved = columns, dpbtrs(self.factor, columns, lower=1)[0]
        self.inner = np.eye(middle.shape[0]) + middle @ (columns.T @ self.solved)
        self.middle = middle

    def solve(self, right: FloatArray) -> FloatArray:
        """See :meth:`System.solve`; H^-1 r = B^-1 r - B^-1 U (I + S U' B^-1 U)^-1 S U' B^-1 r."""
        plain: FloatArray = dpbtrs(self.factor, right, lower=1)[0]
        inside = np.linalg.solve(self.inner, self.middle @ (self.columns.T @ plain))
        solution: FloatArray = plain - self.solved @ inside
        return solution

    @property
    def log_determinant(self) -> float:
        """See :attr:`System.log_determinant`."""
        band = 2 * float(np.log(self.factor[0]).sum())
        return band + float(np.linalg.slogdet(self.inner)[1])


def as_band(matrix: FloatArray, width: int) -> FloatArray:
    """Return the lower band of a symmetric matrix, one row a diagonal, as LAPACK stores it.

    >>> as_band(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]), 1)
    array([[ 2.,  2.,  2.],
           [-1., -1.,  0.]])
    """
    size = matrix.shape[0]
    band = np.zeros((width + 1, size))
    for below in range(width + 1):
        band[below, : size - below] = matrix.diagonal(-below)
    return band


def factorise(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix whose lower half is given, and which rounding may have made singular."""
    ridge = 0.0
    for _ in range(12):
        regular = matrix.copy()
        regular.flat[:: matrix.shape[0] + 1] += ridge
        factor, info = dpotrf(regular, lower=1, overwrite_a=1)
        if info == 0:
            break
        ridge = max(100 * ridge, 1e-14 * float(matrix.diagonal().max()))
    result: FloatArray = factor
    return result


def solve_by(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve for each column on the right, by a Cholesky factor."""
    solution: FloatArray = dpotrs(factor, right, lower=1)[0]
    return solution

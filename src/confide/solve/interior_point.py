"""Primal-dual interior point (Mehrotra): an alternative to Newton on a support, and its cross-check.

The problem is to minimise sum(theta) - q . log(theta M) over theta >= 0, whose solution sums to one by itself. With
y = theta M, g = M (q / y) and the slack s = 1 - g >= 0, optimality is theta s = 0. Newton's step solves

    (M W M' + diag(s / theta)) d = right-hand side,      W = diag(q / y^2),

by whatever system fits the channel: a dense Cholesky factor, or on a line a banded one in O(k) at any support size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from confide.channels import TwoSidedExponential
from confide.channels.base import FloatArray
from confide.evidence.evidence import Evidence
from confide.solve.hessian import curvature_of
from confide.solve.search import Clock, Found, Progress, longest_step

SMALLEST_SHARE = 1e-3
"""Share of the uniform distribution that is mixed into the start: interior points begin inside."""

BAND = 4
"""Half-width of the interleaved system: five-diagonal blocks between unknowns that stand two apart."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """Iterate of the path: theta and its slack, with the outputs y and the gain g of theta."""

    theta: FloatArray
    slack: FloatArray
    outputs: FloatArray
    gain: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, theta: FloatArray, slack: FloatArray | None = None) -> Iterate:
        """Push and pull theta; the first slack is what the gain leaves, or a little more than nothing."""
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        return cls(theta, np.maximum(1 - gain, 1e-2) if slack is None else slack, outputs, gain)

    @property
    def centre(self) -> float:
        """mu, the mean of theta s: the gap in the likelihood is n k mu."""
        return float(self.theta @ self.slack) / self.theta.size


def interior_point(
    evidence: Evidence, system: DenseSystem | LineSystem, theta: FloatArray, clock: Clock, progress: Progress
) -> Found:
    """Follow the central path from theta to the maximum, or to where the clock or rounding ends it."""
    point = Iterate.of(evidence, (1 - SMALLEST_SHARE) * theta + SMALLEST_SHARE / theta.size)
    found = Found.of(evidence, point.theta, 0)
    # Lowering mu further than the tolerance asks for would only make the system ill-conditioned.
    lowest = clock.tolerance / (10 * evidence.total * theta.size)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        step, slack_step = _direction(evidence, system, point, lowest)
        length, slack_length = longest_step(point.theta, step), longest_step(point.slack, slack_step)
        # Of a shorter step rounding leaves nothing.
        if not (np.isfinite(step).all() and np.isfinite(slack_step).all() and length > 1e-12):
            break
        point = Iterate.of(evidence, point.theta + length * step, point.slack + slack_length * slack_step)
        total = float(point.theta.sum())
        found = found.better_of(point.theta / total, evidence.certificate_of(point.gain * total), number)
        progress(number, point.outputs / total)
    return found


def _direction(
    evidence: Evidence, system: DenseSystem | LineSystem, point: Iterate, lowest: float
) -> tuple[FloatArray, FloatArray]:
    """Predict how far mu can be lowered, and correct for the bend of theta s = mu on the way."""
    theta, slack = point.theta, point.slack
    curvature, diagonal = curvature_of(evidence, point.outputs), slack / theta
    system.factor(curvature, diagonal)

    def solve(right: FloatArray) -> FloatArray:
        """Solve, and once more for what rounding left over: the last digits of the certificate hang on it."""
        step = system.solve(right)
        product = evidence.channel.pull(curvature * evidence.channel.push(step)) + diagonal * step
        return step + system.solve(right - product)

    predicted = solve(point.gain - 1)
    predicted_slack = -slack - diagonal * predicted
    ahead = theta + longest_step(theta, predicted) * predicted
    ahead_slack = slack + longest_step(slack, predicted_slack) * predicted_slack
    lowered = (float(ahead @ ahead_slack) / theta.size / point.centre) ** 3 * point.centre
    bend = (max(lowered, lowest) - predicted * predicted_slack) / theta
    step = solve(point.gain - 1 + bend)
    return step, bend - slack - diagonal * step


@dataclass
class DenseSystem:
    """Newton system M W M' + D as a stored matrix, factored once and solved with several right-hand sides."""

    matrix: FloatArray
    _factor: FloatArray = field(init=False)

    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """Prepare for these diagonals of W and D."""
        curved = self.matrix * np.sqrt(curvature)
        system = curved @ curved.T
        system.flat[:: diagonal.size + 1] += diagonal
        self._factor, info = dpotrf(system, lower=1, overwrite_a=1)
        if info != 0:
            self._factor = np.full_like(system, np.nan)  # the caller sees no step and keeps its best point

    def solve(self, right: FloatArray) -> FloatArray:
        """Return d with (M W M' + D) d = right."""
        solution: FloatArray = dpotrs(self._factor, right, lower=1)[0]
        return solution


@dataclass
class LineSystem:
    """Newton system for M = diag(rows) T diag(columns) + diag(extra), T = [alpha^|z - x|], in O(k).

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
        """Lay the system out as LAPACK wants it: unknowns du_0, p_0, du_1, p_1, ..., one diagonal a row; factor it."""
        self._diagonal = diagonal
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
        lu, pivots, _ = dgbtrf(bands, BAND, BAND, overwrite_ab=1)
        self._factored = lu, pivots

    def solve(self, right: FloatArray) -> FloatArray:
        """Return d, which follows from p: d = (right - rows p) / D."""
        interleaved = np.zeros(2 * right.size)
        interleaved[1::2] = right * self.rows / self._diagonal
        solution = dgbtrs(self._factored[0], BAND, BAND, interleaved, self._factored[1], overwrite_b=1)[0]
        change: FloatArray = (right - self.rows * solution[1::2]) / self._diagonal
        return change

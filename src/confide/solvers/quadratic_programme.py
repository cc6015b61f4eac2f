"""A quadratic programme over non-negative weights: the step that Newton's method takes on its atoms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from confide.channels.base import FloatArray
from confide.solvers.search import longest_step

Mask = NDArray[np.bool_]

RIDGE = 1e-14
"""Relative to the equilibrated diagonal. Because increments are solved for, it slows steps but moves no fixed point."""

EXCHANGE_PATIENCE = 3
"""Times that whole blocks may be exchanged without fewer entries being wrong."""

MOST_CENTRAL_STEPS = 60
"""Steps along the central path; 10 to 25 are usual."""


@dataclass
class NonnegativeProgramme:
    """Maximise slope . d - d' H d / 2 with point + d >= 0, for one H and several slopes and points.

    >>> programme = NonnegativeProgramme(np.eye(2))
    >>> programme.step(np.array([1.0, -3.0]), np.array([0.0, 2.0]))
    array([ 1., -2.])

    Attributes
    ----------
    hessian
        H, positive semidefinite. It is overwritten: equilibrated to a diagonal of ones.
    """

    hessian: FloatArray
    _scale: FloatArray = field(init=False)
    _free: Mask = field(init=False)
    _factor: FloatArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._scale = 1 / np.sqrt(np.maximum(self.hessian.diagonal(), 1e-300))
        self.hessian *= self._scale[:, None]
        self.hessian *= self._scale
        self._free = np.zeros(self._scale.size, dtype=bool)

    def step(self, slope: FloatArray, point: FloatArray, tolerated: float = 0.0) -> FloatArray:
        """Return the best d.

        A share of `tolerated` entries may be wrong about which side of the bound they belong to, where H is a model
        that the caller corrects anyway; they are brought to the bound.
        """
        target, start = slope * self._scale, point / self._scale
        first_guess = (start > 0) | (target > 0) if self._factor is None else self._free
        step = self._exchange_blocks(target, start, first_guess, tolerated)
        if step is None:
            step = self._cross_over(target, start, tolerated)
        return np.maximum(step, -start) * self._scale

    def _exchange_blocks(
        self, target: FloatArray, start: FloatArray, free: Mask, tolerated: float
    ) -> FloatArray | None:
        """Let all wrong entries change sides at once (Judice and Pires, 1994); None if that leads nowhere."""
        fewest, patience = start.size + 1, EXCHANGE_PATIENCE
        while patience >= 0:
            step = self._solve(target, start, free)
            wrong = np.where(free, start + step < 0, self._wants_to_grow(target, step))
            count = int(wrong.sum())
            if count <= tolerated * start.size:
                return step
            patience = EXCHANGE_PATIENCE if count < fewest else patience - 1
            fewest = min(fewest, count)
            free = free ^ wrong
        return None

    def _cross_over(self, target: FloatArray, start: FloatArray, tolerated: float) -> FloatArray:
        """Follow the central path, which is sure to lead there; then exchange blocks from where it ends."""
        end, slack = follow_central_path(self.hessian, target, start)
        step = self._exchange_blocks(target, start, end > slack, tolerated)
        return end - start if step is None else step

    def _wants_to_grow(self, target: FloatArray, step: FloatArray) -> Mask:
        left = target - self.hessian @ step
        return left > 1e-12 * np.maximum(1.0, np.abs(target))

    def _solve(self, target: FloatArray, start: FloatArray, free: Mask) -> FloatArray:
        """Bring bound entries to their bound, and solve H d = target for the others."""
        step = -start
        if not free.any():
            return step
        right = target[free]
        if not free.all() and step[~free].any():
            right = right - self.hessian[np.ix_(free, ~free)] @ step[~free]
        step[free] = dpotrs(self._factored(free), right, lower=1)[0]
        return step

    def _factored(self, free: Mask) -> FloatArray:
        """Return the Cholesky factor for these free entries, the last one again if they are the same."""
        if self._factor is None or not np.array_equal(free, self._free):
            inner = self.hessian if free.all() else self.hessian[np.ix_(free, free)]
            self._free, self._factor = free, factor_positive(inner)
        return self._factor


def follow_central_path(hessian: FloatArray, target: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve the programme by a primal-dual interior point (Mehrotra); return the weights and their slack.

    With the slack z = H (x - start) - target, optimality is x z = 0 with both non-negative. Newton's step on x z = mu
    solves (H + z / x) dx = target - H (x - start) + mu / x.
    """
    weights = start + 0.1 * max(float(start.mean()), float(np.abs(target).mean()), 1e-300)
    slack = np.maximum(hessian @ (weights - start) - target, 0.1 * float(np.abs(target).mean()) + 1e-300)
    for _ in range(MOST_CENTRAL_STEPS):
        left, centre = target - hessian @ (weights - start), float(weights @ slack) / weights.size
        if centre <= 1e-16 * float(np.abs(target).max()) * float(weights.max()):
            break
        ratio = slack / weights
        factor = factor_positive(hessian + np.diag(ratio))
        ahead = dpotrs(factor, left, lower=1)[0]
        ahead_slack = -slack - ratio * ahead
        reached = weights + longest_step(weights, ahead) * ahead
        reached_slack = slack + longest_step(slack, ahead_slack) * ahead_slack
        aim = (float(reached @ reached_slack) / weights.size / centre) ** 3 * centre
        bend = (aim - ahead * ahead_slack) / weights
        change = dpotrs(factor, left + bend, lower=1)[0]
        slack_change = bend - slack - ratio * change
        weights = weights + longest_step(weights, change) * change
        slack = slack + longest_step(slack, slack_change) * slack_change
    return weights, slack


def factor_positive(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a symmetric matrix that rounding may have made singular."""
    ridge = RIDGE * matrix.shape[0]
    for _ in range(8):
        # Turned, because LAPACK would copy what numpy lays out row by row; symmetric, so that nothing changes.
        regular = matrix.copy().T
        regular[np.diag_indices_from(regular)] += ridge
        factored = dpotrf(regular, lower=1, overwrite_a=1)
        if factored[1] == 0:
            factor: FloatArray = factored[0]
            return factor
        ridge *= 100
    raise LinAlgError("The Hessian of the atoms could not be factored.")

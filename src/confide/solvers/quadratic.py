"""A small quadratic programme: the step that Newton's method takes on a handful of atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from confide.channels.base import FloatArray

Mask = NDArray[np.bool_]

RIDGE = 1e-14
"""Relative to the equilibrated diagonal. Because increments are solved for, it slows steps but moves no fixed point."""

MOST_PIVOTS = 300
PATIENCE = 3
"""How often whole blocks may be exchanged without fewer entries being wrong."""


def nonnegative_step(hessian: FloatArray, slope: FloatArray, point: FloatArray) -> FloatArray:
    """Return the d that maximises slope . d - d' H d / 2 with point + d >= 0.

    >>> nonnegative_step(np.eye(2), np.array([1.0, -3.0]), np.array([0.0, 2.0]))
    array([ 1., -2.])
    """
    scale = 1 / np.sqrt(np.maximum(hessian.diagonal(), 1e-300))
    programme = _Programme(hessian * scale[:, None] * scale, slope * scale, point / scale)
    free = (point > 0) | (slope > 0)
    step = programme.exchange_blocks(free)
    if step is None:
        step = programme.move_along_edges(free)
    return np.maximum(step, -programme.start) * scale


@dataclass(frozen=True, eq=False)
class _Programme:
    """The programme with a Hessian of unit diagonal, split into free entries and entries at their bound."""

    hessian: FloatArray
    target: FloatArray
    start: FloatArray

    def exchange_blocks(self, free: Mask) -> FloatArray | None:
        """Let all wrong entries change sides at once (Judice and Pires, 1994); None if that leads nowhere."""
        fewest, patience = self.start.size + 1, PATIENCE
        while patience >= 0:
            step = self._solve(free)
            wrong = np.where(free, self.start + step < 0, self._wants_to_grow(step))
            count = int(wrong.sum())
            if count == 0:
                return step
            patience = PATIENCE if count < fewest else patience - 1
            fewest = min(fewest, count)
            free = free ^ wrong
        return None

    def move_along_edges(self, free: Mask) -> FloatArray:
        """Bind or free one entry at a time, never leaving the feasible region; slower, and sure to improve."""
        step = np.zeros_like(self.start)
        for _ in range(MOST_PIVOTS):
            wanted = self._solve(free)
            blocked = free & (self.start + wanted < 0)
            if blocked.any():
                step, hit = self._move_until_blocked(step, wanted, blocked)
                free = free & ~hit
                continue
            step, growing = wanted, ~free & self._wants_to_grow(wanted)
            if not growing.any():
                break
            free = free.copy()
            free[np.argmax(np.where(growing, self.target - self.hessian @ step, -np.inf))] = True
        return step

    def _wants_to_grow(self, step: FloatArray) -> Mask:
        left = self.target - self.hessian @ step
        return left > 1e-12 * np.maximum(1.0, np.abs(self.target))

    def _move_until_blocked(self, step: FloatArray, wanted: FloatArray, blocked: Mask) -> tuple[FloatArray, Mask]:
        room, pace = (self.start + step)[blocked], (step - wanted)[blocked]
        shares = np.full(step.size, np.inf)
        shares[blocked] = np.maximum(room, 0.0) / pace
        share = float(shares.min())
        return step + share * (wanted - step), shares <= share

    def _solve(self, free: Mask) -> FloatArray:
        """Bring bound entries to their bound, and solve H d = target for the others."""
        step = -self.start
        if not free.any():
            return step
        inner, right = self.hessian, self.target
        if not free.all():
            inner = self.hessian[np.ix_(free, free)]
            right = self.target[free] + self.hessian[np.ix_(free, ~free)] @ self.start[~free]
        step[free] = _solve_positive(inner, right)
        return step


def _solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a Cholesky factor, of a matrix that rounding may have made singular."""
    ridge = RIDGE * right.size
    for _ in range(8):
        regular = matrix.copy()
        regular.flat[:: right.size + 1] += ridge
        factor, info = dpotrf(regular, lower=1, overwrite_a=1)
        if info == 0:
            solution: FloatArray = dpotrs(factor, right, lower=1)[0]
            return solution
        ridge *= 100
    raise LinAlgError("The Hessian of the atoms could not be factored.")

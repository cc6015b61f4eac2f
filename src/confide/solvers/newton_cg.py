"""Newton's method where the support is wide: on planes with weak noise a third of all values may carry the maximum.

No matrix is stored. The support grows by local maxima of the gain, as in support-Newton; each Newton step is the
quadratic programme over it, whose free weights are found by exchanging blocks, and whose linear systems are solved by
conjugate gradients with products through push and pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.solvers.hessian import StationaryPlane, curvature_of
from confide.solvers.search import (
    LITTLE_OVERLAP,
    STANDING,
    WARM_UP_CYCLES,
    Clock,
    Found,
    Progress,
    climb,
    overlap,
    peaks,
    search,
)

Mask = NDArray[np.bool_]

SETTLING_CYCLES = 5
"""Cycles of EM after all but the local maxima were left out."""

MOST_EXCHANGES = 12
"""Times that blocks of free and bound values change sides in a Newton step."""

FLAT = 1e-9
"""Curvature along a direction, relative to that of its single values, below which there is none."""

MOST_PRODUCTS = 300
"""Conjugate gradients a linear system."""

LOOSEST, TIGHTEST = 0.1, 1e-4
"""The residual at which conjugate gradients end, relative to the slope: loose while steps are long."""


def can_run_newton_cg(evidence: Evidence) -> bool:
    """Whether the channel is a plane whose diagonal of the curvature is known."""
    return StationaryPlane.of(evidence.channel) is not None


def newton_cg(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or to where the clock or the precision of float64 ends it."""
    plane = StationaryPlane.of(evidence.channel)
    if plane is None:
        raise TypeError(f"newton_cg needs a plane; got {evidence.channel!r}.")
    theta, outputs = _first_point(evidence, theta, clock)
    gain = evidence.gain(outputs)
    found, accuracy = Found.of(evidence, theta, 0), LOOSEST
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        programme = _Programme.of(evidence, plane, theta, outputs, gain)
        step = programme.best_step(accuracy, clock)
        length = search(evidence, outputs, evidence.channel.push(step), float(step.sum()), float((gain - 1) @ step))
        # A step that has to be cut short was not worth its slope: solve the next one more accurately.
        accuracy = max(TIGHTEST, accuracy / 10) if length < 0.1 else min(LOOSEST, 3 * accuracy)
        theta = np.maximum(theta + length * step, 0.0)
        theta = theta / float(theta.sum())
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        found = found.better_of(theta, evidence.certificate_of(gain), number)
        progress(number, outputs)
    return found


def _first_point(evidence: Evidence, theta: FloatArray, clock: Clock) -> tuple[FloatArray, FloatArray]:
    """Warm up by EM, leave only the local maxima, and let EM settle their weights.

    Neighbours are near copies of each other, and among copies conjugate gradients and bounds both go astray. Where
    rows overlap little they are not, and all that EM leaves standing may stay.
    """
    theta, _ = climb(evidence, theta, WARM_UP_CYCLES, clock)
    is_sharp = overlap(evidence.channel) < LITTLE_OVERLAP
    found = np.flatnonzero(theta > STANDING / theta.size) if is_sharp else peaks(theta, evidence.channel.layout)
    thin = np.zeros_like(theta)
    thin[found] = theta[found]
    if not evidence.explains(evidence.channel.push(thin)):
        thin = theta
    theta, outputs = climb(evidence, thin / float(thin.sum()), SETTLING_CYCLES, clock)
    total = float(theta.sum())
    return theta / total, outputs / total


@dataclass(frozen=True, eq=False)
class _Programme:
    """Maximise slope . d - d' H d / 2 with theta + d >= 0, over the values of a support."""

    evidence: Evidence
    theta: FloatArray
    slope: FloatArray
    curvature: FloatArray
    diagonal: FloatArray
    support: Mask

    @classmethod
    def of(
        cls, evidence: Evidence, plane: StationaryPlane, theta: FloatArray, outputs: FloatArray, gain: FloatArray
    ) -> _Programme:
        """Set it up on the values that have weight and those that promise to deserve some."""
        curvature, support = curvature_of(evidence, outputs), theta > 0
        found = peaks(gain, evidence.channel.layout)
        support[found[gain[found] > 1]] = True
        return cls(evidence, theta, gain - 1, curvature, plane.diagonal(curvature) ** 2, support)

    def best_step(self, accuracy: float, clock: Clock) -> FloatArray:
        """Exchange blocks of free and bound values until none is wrong, or patience ends; stay within bounds."""
        free, step = self.support, np.zeros_like(self.theta)
        for _ in range(MOST_EXCHANGES):
            to_bound = np.where(self.support & ~free, -self.theta, 0.0)
            bound_part = self._bend(to_bound) if to_bound.any() else 0.0
            step = np.where(free, step, to_bound)
            step = self._solve(free, self.slope - bound_part, step, to_bound, accuracy)
            wrong = free & (self.theta + step < 0)
            bound = self.support & ~free
            if bound.any():
                wrong |= bound & (self.slope - self._bend(step) > 1e-9)
            if not wrong.any() or clock.is_over:
                break
            free = free ^ wrong
        return np.maximum(step, -self.theta)

    def _solve(
        self, free: Mask, right: FloatArray, guess: FloatArray, to_bound: FloatArray, accuracy: float
    ) -> FloatArray:
        """Solve H d = right for the free values by conjugate gradients, scaled by the diagonal of H."""
        step = np.where(free, guess, 0.0)
        residual = np.where(free, right - (self._bend(step) if step.any() else 0.0), 0.0)
        scaled = residual / self.diagonal
        direction, size = scaled, float(residual @ scaled)
        enough = accuracy**2 * float(np.where(free, right**2, 0.0) @ (1 / self.diagonal))
        for _ in range(MOST_PRODUCTS):
            if size <= enough:
                break
            bent = np.where(free, self._bend(direction), 0.0)
            bend = float(direction @ bent)
            # With fewer reports than values H is singular, and a slope along its null space would take steps without
            # end: they stop where float64 can no longer tell the curvature from none.
            if bend <= FLAT * float(direction**2 @ self.diagonal):
                break
            length = size / bend
            step, residual = step + length * direction, residual - length * bent
            scaled = residual / self.diagonal
            previous, size = size, float(residual @ scaled)
            direction = scaled + size / previous * direction
        return step + to_bound

    def _bend(self, step: FloatArray) -> FloatArray:
        """Return H d."""
        return self.evidence.channel.pull(self.curvature * self.evidence.channel.push(step))

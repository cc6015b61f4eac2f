"""A primal-dual interior point (Mehrotra): an alternative to Newton on a support, and its cross-check.

The problem is to minimise sum(theta) - q . log(theta M) over theta >= 0, whose solution sums to one by itself. With
y = theta M, g = M (q / y) and the slack s = 1 - g >= 0, optimality is theta s = 0. Newton's step solves

    (M W M' + diag(s / theta)) d = right-hand side,      W = diag(q / y^2),

by whatever system fits the channel: a dense Cholesky factor, or on a line a banded one in O(k) at any support size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.solvers.clock import Clock, Found, Progress
from confide.solvers.curvature import curvature_of
from confide.solvers.line_search import longest_step

SMALLEST_STEP = 1e-12

SMALLEST_SHARE = 1e-3
"""The start is mixed with this much of the uniform distribution: interior points begin inside."""


class NewtonSystem(ABC):
    """The matrix M W M' + D, factored for one pair of W and D and then solved with several right-hand sides."""

    @abstractmethod
    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """Prepare for these diagonals of W and D."""

    @abstractmethod
    def solve(self, right: FloatArray) -> FloatArray:
        """Return d with (M W M' + D) d = right."""


@dataclass(frozen=True, eq=False)
class Point:
    """A point on the way: theta and its slack, with the outputs y and the gain g of theta."""

    theta: FloatArray
    slack: FloatArray
    outputs: FloatArray
    gain: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, theta: FloatArray, slack: FloatArray | None = None) -> Point:
        """Push and pull theta; the first slack is what the gain leaves, or a little more than nothing."""
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        return cls(theta, np.maximum(1 - gain, 1e-2) if slack is None else slack, outputs, gain)

    @property
    def centre(self) -> float:
        """mu, the mean of theta s: the gap in the likelihood is n k mu."""
        return float(self.theta @ self.slack) / self.theta.size


def interior_point(
    evidence: Evidence, system: NewtonSystem, theta: FloatArray, clock: Clock, progress: Progress
) -> Found:
    """Follow the central path from theta to the maximum, or to where the clock or rounding ends it."""
    point = Point.of(evidence, (1 - SMALLEST_SHARE) * theta + SMALLEST_SHARE / theta.size)
    found = Found.of(evidence, point.theta, 0)
    # Lowering mu further than the tolerance asks for would only make the system ill-conditioned.
    lowest = clock.tolerance / (10 * evidence.total * theta.size)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        step, slack_step = _direction(evidence, system, point, lowest)
        length, slack_length = longest_step(point.theta, step), longest_step(point.slack, slack_step)
        if not (np.isfinite(step).all() and np.isfinite(slack_step).all() and length > SMALLEST_STEP):
            break
        point = Point.of(evidence, point.theta + length * step, point.slack + slack_length * slack_step)
        total = float(point.theta.sum())
        found = found.better_of(point.theta / total, evidence.certificate_of(point.gain * total), number)
        progress(number, point.outputs / total)
    return found


def _direction(evidence: Evidence, system: NewtonSystem, point: Point, lowest: float) -> tuple[FloatArray, FloatArray]:
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

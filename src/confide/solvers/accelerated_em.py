"""SQUAREM: EM steps, extrapolated; the first stretch of every search for the maximum."""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray
from confide.em import RowStack, Step
from confide.evidence import Evidence
from confide.solvers.search import Clock


def climb(evidence: Evidence, theta: FloatArray, cycles: int, clock: Clock) -> tuple[FloatArray, FloatArray]:
    """Run cycles of two EM steps and a jump along them; return the distribution and its push.

    A jump that lowers the likelihood is not taken, so the likelihood never decreases.
    """
    step = Step(RowStack.of(evidence), theta)
    for _ in range(cycles):
        step = _jump(step)
        if clock.is_over:
            break
    return step.theta, step.outputs


def _jump(step: Step) -> Step:
    """Extrapolate from three successive points (Varadhan and Roland, 2008, scheme S3)."""
    first = step.following()
    second = first.following()
    change, bend = first.theta - step.theta, second.theta - 2 * first.theta + step.theta
    bend_norm = float(np.linalg.norm(bend))
    if bend_norm == 0:
        return second
    stretch = max(1.0, float(np.linalg.norm(change)) / bend_norm)
    far = step.theta + 2 * stretch * change + stretch**2 * bend
    # Entries that would turn negative keep a share of what EM gave them, so that they can still come back.
    far = np.maximum(far, 0.01 * second.theta)
    jumped = Step(step.rows, far / far.sum())
    return jumped if jumped.log_likelihood >= second.log_likelihood else second

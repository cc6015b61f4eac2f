"""Expectation-maximisation, extrapolated (SQUAREM): the first stretch of every search."""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.solvers.clock import Clock


def climb(evidence: Evidence, theta: FloatArray, cycles: int, clock: Clock) -> tuple[FloatArray, FloatArray]:
    """Run cycles of two EM steps and a jump along them; return the distribution and its push.

    A jump that lowers the likelihood is not taken, so the likelihood never decreases.
    """
    outputs = evidence.channel.push(theta)
    for _ in range(cycles):
        first = theta * evidence.gain(outputs)
        first_outputs = evidence.channel.push(first)
        second = first * evidence.gain(first_outputs)
        theta, outputs = _jump(evidence, theta, first, second)
        if clock.is_over:
            break
    return theta, outputs


def _jump(
    evidence: Evidence, theta: FloatArray, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Extrapolate from three successive points (Varadhan and Roland, 2008, scheme S3)."""
    change, bend = first - theta, second - 2 * first + theta
    bend_norm = float(np.linalg.norm(bend))
    second_outputs = evidence.channel.push(second)
    if bend_norm == 0:
        return second, second_outputs
    stretch = max(1.0, float(np.linalg.norm(change)) / bend_norm)
    far = theta + 2 * stretch * change + stretch**2 * bend
    # Entries that would turn negative keep a share of what EM gave them, so that they can still come back.
    far = np.maximum(far, 0.01 * second)
    far /= far.sum()
    far_outputs = evidence.channel.push(far)
    if evidence.mean_log_likelihood(far_outputs) >= evidence.mean_log_likelihood(second_outputs):
        return far, far_outputs
    return second, second_outputs

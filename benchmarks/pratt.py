"""Pratt's bound: how narrow an interval that holds for all distributions can be at one of them."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from confide.channels.base import Channel, FloatArray
from confide.estimates.inference.inference import expected_region
from confide.estimates.inference.region import PathPoints, Region, find_points

TILTS = np.geomspace(0.02, 100.0, 28)
"""Where the profile is looked at, in multiples of the tilt at which its root would be 2 without any noise."""

FARTHEST = 8.0
"""A root of the fall at which no interval holds an answer any more."""

FINE = 4001
"""Answers over which Pratt's integral is summed: its error is far below that of the profile between two tilts."""


def shortest_width(channel: Channel, truth: FloatArray, weights: FloatArray, people: float, level: float) -> float:
    """Return Pratt's bound: no interval that holds at the level for all distributions is shorter on average.

    At the truth its expected length is at least the integral over answers v of Phi(z - d(v)), with z the quantile of
    the level and d(v)^2 = 2 n KL(truth M, theta M) smallest over theta with the answer v: of all tests of v, none
    rejects it more often at the truth. A Gaussian approximation (Pratt, JASA 56, 1961).

    >>> from confide.channels import RandomizedResponseChannel
    >>> channel, half = RandomizedResponseChannel(2, 0.75, 0.25), np.array([0.5, 0.5])
    >>> round(shortest_width(channel, half, np.array([1.0, 0.0]), 10_000, 0.95), 4)  # 3.33 standard errors of 0.01
    0.0333
    """
    region = expected_region(channel, truth, people)
    span, least = float(np.ptp(weights)), float(weights.min())
    if span == 0:
        return 0.0
    shares = (weights - least) / span
    return span * sum(_integral(region, one, level) for one in (shares, 1 - shares))


def _integral(region: Region, shares: FloatArray, level: float) -> float:
    """Return Pratt's integral over the answers below that of the truth."""
    now, total = float(shares @ region.best), region.evidence.total
    if now <= 0:
        return 0.0
    unit = 2 / math.sqrt(total * max(now * (1 - now), 1 / total))
    points = find_points([(region, shares, unit * tilt) for tilt in TILTS.tolist()])
    answers, roots = _profile(points, now)
    between = np.linspace(0.0, now, FINE)
    powers = np.array(
        [NormalDist().cdf(NormalDist().inv_cdf(level) - root) for root in np.interp(-between, -answers, roots)]
    )
    return float(np.trapezoid(powers, between))


def _profile(points: PathPoints, now: float) -> tuple[FloatArray, FloatArray]:
    """Return answers, falling from that of the truth to 0, and how far each is from it, in standard errors."""
    answers = np.array([now, *points.answers])
    roots = np.sqrt(2 * np.array([0.0, *points.falls]))
    order = np.argsort(-answers, kind="stable")
    answers, roots = answers[order], np.maximum.accumulate(roots[order])
    # Below the last point the path ends, or nothing is allowed any more: then its root is what counts.
    return np.append(answers, 0.0), np.append(roots, max(float(roots[-1]), 0.0 if answers[-1] <= 1e-9 else FARTHEST))

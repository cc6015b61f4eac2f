"""Everything that the reports allow: the distributions that explain them nearly as well as the best one.

By Wilks' theorem twice the fall of the log-likelihood from its maximum to the best distribution with the true answer is
about chi-squared with one degree of freedom. So the interval of a linear query c is the range of c . theta over
{theta >= 0, sum 1, L(theta) >= L* - chi2 / 2}. It needs no smoothness and no inverse, and it holds the answers of all
maximum-likelihood estimates. On the border of the simplex, where many a theta is zero, the theorem is not exact;
benchmarks/coverage.py measures what is left of it.

The end is found along a path. Let u be the query scaled to [0, 1] and w = 1 + tilt u. The best phi of the channel with
rows M_x / w_x gives theta = phi / w, normalised, with M (q / y) proportional to w on its support: no theta has both a
higher likelihood and a lower answer. As the tilt grows the answer falls, and so does the likelihood, from L* on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.channels import RandomizedResponseChannel, Rescaled
from confide.channels.base import FloatArray
from confide.errors import SolverError
from confide.evidence import Evidence
from confide.methods import MLE

TOLERANCE = 1e-5
"""Nats to which each maximum on the path is proven."""

WITHHELD = 0.02
"""Nats past which a maximum on the path was not reached: its answer would be too narrow."""

CLOSE = 1e-3
"""How near the root of the fall has to come to the one that is wanted, as a share of it."""

MOST_STEPS = 60
STEEPEST = 1e12
NARROW = 1e-9
UNMOVED = 0.01

NOTHING = 1e-9
"""An answer this near to the lowest that any value gives is the lowest."""


@dataclass(frozen=True, eq=False)
class Region:
    """The distributions whose log-likelihood is near its maximum.

    Attributes
    ----------
    evidence
        The reports.
    best
        One distribution of greatest likelihood.

    >>> from confide.channels import RandomizedResponseChannel
    >>> region = Region.of(Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([60.0, 40.0])))
    >>> [round(region.lowest(weights, 1.92), 3) for weights in (np.array([1.0, 0.0]), np.array([0.0, 1.0]))]
    [0.505, 0.115]
    """

    evidence: Evidence
    best: FloatArray
    highest_likelihood: float

    @classmethod
    def of(cls, evidence: Evidence) -> Region:
        """Find the maximum."""
        best = _maximum(evidence)
        return cls(evidence, best, evidence.log_likelihood(best))

    def ends(self, weights: FloatArray, fall: float) -> tuple[float, float]:
        """Return the lowest and the highest answer to a query where L falls by no more than this many nats."""
        return self.lowest(weights, fall), -self.lowest(-weights, fall)

    def lowest(self, weights: FloatArray, fall: float) -> float:
        """Return the lowest answer alone."""
        base, span = float(weights.min()), float(np.ptp(weights))
        if span == 0:
            return base
        return base + span * self._lowest_share((weights - base) / span, math.sqrt(2 * fall))

    def _lowest_share(self, shares: FloatArray, wanted: float) -> float:
        """Return the lowest answer to a query between 0 and 1, where the root of twice the fall is as wanted.

        That root grows with the tilt from 0, at first in proportion.
        """
        now = float(shares @ self.best)
        if now <= NOTHING:
            return 0.0
        below, above = (0.0, 0.0), (math.inf, math.inf)
        tilt = wanted / math.sqrt(self.evidence.total * max(now * (1 - now), 1 / self.evidence.total))
        for number in range(1, MOST_STEPS + 1):
            theta = self._tilted(shares, tilt)
            answer, root = float(shares @ theta), self._root(theta)
            if abs(root - wanted) <= CLOSE * wanted or (root < wanted and answer <= NOTHING):
                return answer
            below, above = ((tilt, root), above) if root < wanted else (below, (tilt, root))
            if below[0] > STEEPEST or above[0] - below[0] <= NARROW * below[0]:
                break  # rounding is in the way; the point outside is the safe one
            tilt = _halfway(below, above) if number % 3 == 0 else _between(below, above, wanted)
        return float(shares @ self._tilted(shares, min(above[0], STEEPEST)))

    def _tilted(self, shares: FloatArray, tilt: float) -> FloatArray:
        """Return the distribution where all has been gained that the tilt pays for."""
        channel, prices = self.evidence.channel, 1 + tilt * shares
        if isinstance(channel, RandomizedResponseChannel):
            from confide.solvers.water_filling import fill_water

            # The level that water is filled up to is then nu w instead of nu.
            return fill_water(self.evidence.frequencies / prices, channel.keep, channel.other)
        theta = _maximum(Evidence(Rescaled(channel, 1 / prices), self.evidence.counts)) / prices
        return theta / float(theta.sum())

    def _root(self, theta: FloatArray) -> float:
        return math.sqrt(2 * max(0.0, self.highest_likelihood - self.evidence.log_likelihood(theta)))


def _between(below: tuple[float, float], above: tuple[float, float], wanted: float) -> float:
    """Return the tilt to try next: where a power of the tilt that passes through both points meets the wanted root.

    While only one side is known the root is taken to be in proportion to the tilt, and a little more is asked for, so
    that the other side gets known as well.
    """
    if math.isinf(above[0]):
        return below[0] * min(10.0, 1.1 * wanted / max(below[1], 1e-9))
    if below[0] == 0:
        return above[0] * max(0.9 * wanted / above[1], 0.02)
    if below[1] < UNMOVED * wanted:  # at a corner of the simplex a small tilt moves nothing
        return _halfway(below, above)
    part = math.log(wanted / below[1]) / math.log(above[1] / below[1])
    return float(below[0] * (above[0] / below[0]) ** min(max(part, 0.05), 0.95))


def _halfway(below: tuple[float, float], above: tuple[float, float]) -> float:
    """Return the middle, which no shape of the path can make slow."""
    return 2 * below[0] if math.isinf(above[0]) else (below[0] + above[0]) / 2


def _maximum(evidence: Evidence) -> FloatArray:
    found = MLE(tolerance=max(TOLERANCE, 4 * evidence.resolution)).solve(evidence).distribution
    certificate = evidence.certificate(found)
    if certificate > WITHHELD:
        raise SolverError(
            f"A maximum on the way to an interval was only proven to {certificate:.2g} nats, so that the interval "
            f"would be too narrow; it is withheld. Use basis=Bootstrap()."
        )
    return found

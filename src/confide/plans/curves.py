"""How an expected error falls with people, or with epsilon: measured points, and what they say in between."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from confide.plans.measures import TWO_SIDED, Prediction

NEAR = 8.0
"""A slope is fitted to what was simulated within this factor."""

FLAT = 0.03
"""An error that falls more slowly than x^-0.03 takes 10^10 times as much to halve: it does not fall."""

FARTHEST = 200.0
"""Beyond this factor nothing is said by extrapolation."""


@dataclass(frozen=True)
class Slope:
    """The local power law: the error behaves like x^exponent, give or take the standard error."""

    exponent: float
    standard_error: float


@dataclass(frozen=True)
class Halving:
    """By which factor to go up for half the error, with a range for it.

    Attributes
    ----------
    factor, low, high
        The factor, and between which it lies with 95 % by the error of the simulation.
    is_extrapolated
        Whether it lies beyond the points that were simulated, where the last slope is taken to go on.
    """

    factor: float
    low: float
    high: float
    is_extrapolated: bool


@dataclass(frozen=True)
class Curve:
    """Expected errors at several places, all else the same.

    Attributes
    ----------
    along
        ``"people"`` or ``"epsilon"``.
    places
        Where it was simulated, in ascending order.
    predictions
        The expected error there.
    """

    along: str
    places: tuple[float, ...]
    predictions: tuple[Prediction, ...]

    def slope(self, place: float) -> Slope | None:
        """Return the local power law around a place; None where there are too few points, or an error of nothing."""
        return fit_slope(near(self.points, place))

    def halving(self, place: float) -> Halving | None:
        """Return what it takes to halve the error that is expected at a place; None if that is out of reach."""
        here = self.points[place]
        above = [(x, one) for x, one in self.points.items() if x >= place]
        if here.mean <= 0 or len(above) < 2:
            return None
        pairs = list(itertools.pairwise(above))
        crossed = next((pair for pair in pairs if pair[1][1].mean <= here.mean / 2), None)
        (x, left), (y, right) = crossed or pairs[-1]
        exponent = _chord(x, left, y, right)
        if exponent > -FLAT:
            return None
        factor = x / place * math.exp(math.log(2 * left.mean / here.mean) / -exponent)
        # The two errors are known independently at worst; their luck is shared, so this is on the safe side.
        width = TWO_SIDED * math.hypot(here.relative, right.relative) / -exponent
        if factor > FARTHEST:
            return None
        return Halving(factor, max(1.0, factor * math.exp(-width)), factor * math.exp(width), crossed is None)

    @property
    def points(self) -> dict[float, Prediction]:
        """The prediction at each place."""
        return dict(zip(self.places, self.predictions, strict=True))


def near(points: dict[float, Prediction], place: float) -> dict[float, Prediction]:
    """Return those of the points that tell how the error behaves around a place."""
    return {x: one for x, one in points.items() if 1 / NEAR <= x / place <= NEAR}


def fit_slope(points: dict[float, Prediction]) -> Slope | None:
    """Fit log error = constant + exponent log x, each point weighed by what the simulation knows of it.

    >>> root = {float(n): Prediction(n**-0.5, 0.01 * n**-0.5, 20) for n in (100, 400, 1600)}
    >>> round(fit_slope(root).exponent, 6)
    -0.5
    """
    usable = {x: one for x, one in points.items() if one.mean > 0}
    if len(usable) < 2:
        return None
    x = np.log(list(usable))
    y = np.log([one.mean for one in usable.values()])
    weights = np.array([max(one.relative, 1e-3) for one in usable.values()]) ** -2.0
    centred = x - np.average(x, weights=weights)
    spread = float(weights @ centred**2)
    return Slope(float((weights * centred) @ y / spread), spread**-0.5)


def _chord(x: float, left: Prediction, y: float, right: Prediction) -> float:
    if left.mean <= 0 or right.mean <= 0:
        return -math.inf if right.mean <= 0 else 0.0
    return math.log(right.mean / left.mean) / math.log(y / x)

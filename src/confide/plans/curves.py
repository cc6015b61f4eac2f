"""Expected error along people or epsilon: simulated points, the slope between them, and where it is half."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from confide.plans.measures import Prediction, student

NEAR = 8.0
"""A slope is fitted to what was simulated within this factor: two points on either side, at steps of four."""

FLAT = 0.03
"""An error that falls more slowly than x^-0.03 takes 10^10 times as much to halve: it does not fall."""

FARTHEST = 200.0
"""Beyond this factor nothing is said by extrapolation."""


@dataclass(frozen=True)
class Slope:
    """The local power law: the error behaves like x^exponent, give or take the standard error.

    Attributes
    ----------
    exponent, standard_error
        The power, and how exactly the simulation knows it.
    repeats
        How often each of the points was simulated.
    """

    exponent: float
    standard_error: float
    repeats: int

    @property
    def margin(self) -> float:
        """Largest distance of the true exponent in 95 of 100 plans; by Student, as for an expected error."""
        return student(self.repeats) * self.standard_error


@dataclass(frozen=True)
class Halving:
    """Factor to go up by for half the error, with a range for it.

    Attributes
    ----------
    factor, low, high
        The factor, and between which it lies with 95 % by the error of the simulation.
    is_extrapolated
        Whether it lies beyond the points that were simulated, where the slope of the last two is taken to go on.
    """

    factor: float
    low: float
    high: float
    is_extrapolated: bool


class Obstacle(StrEnum):
    """Reason for giving no factor for half the error."""

    NO_ERROR = "no error"
    """None was left in any repeat, so that there is nothing to halve."""
    NOT_SIMULATED = "not simulated"
    """There is one point alone."""
    FLAT = "flat"
    """As far as was simulated, the error does not fall."""
    TOO_FAR = "too far"
    """The last slope would have to go on beyond what is extrapolated."""


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
        """Return the factor that halves the error expected at a place; None where :meth:`obstacle` says why."""
        found = self._halve(place)
        return found if isinstance(found, Halving) else None

    def obstacle(self, place: float) -> Obstacle | None:
        """Return why :meth:`halving` gives no factor; None where it gives one."""
        found = self._halve(place)
        return found if isinstance(found, Obstacle) else None

    def _halve(self, place: float) -> Halving | Obstacle:
        """Find half the error among the points above; else let the slope of the last two go on."""
        here, pairs = self.points[place], list(itertools.pairwise(self.points))
        if here.mean <= 0:
            return Obstacle.NO_ERROR
        if not pairs:
            return Obstacle.NOT_SIMULATED
        crossed = next((one for one in pairs if one[0] >= place and self.points[one[1]].mean <= here.mean / 2), None)
        if crossed is not None:
            return self._halve_between(place, *crossed)
        return self._halve_beyond(place, *pairs[-1])

    def _halve_between(self, place: float, left: float, right: float) -> Halving:
        """Return where the error is half, between a point where it is more and one where it is not."""
        here, above, below = (self.points[one] for one in (place, left, right))
        if below.mean <= 0:
            return Halving(right / place, left / place, right / place, is_extrapolated=False)
        exponent = _chord(left, above, right, below)
        factor = left / place * math.exp(math.log(2 * above.mean / here.mean) / -exponent)
        # The two errors are known independently at worst; their luck is shared, so this is on the safe side.
        width = math.hypot(here.relative_margin, below.relative_margin) / -exponent
        return Halving(factor, max(1.0, factor * math.exp(-width)), factor * math.exp(width), is_extrapolated=False)

    def _halve_beyond(self, place: float, left: float, right: float) -> Halving | Obstacle:
        """Return where the error is half if the slope of the last two points goes on; they may lie below the place."""
        here, above, below = (self.points[one] for one in (place, left, right))
        exponent = _chord(left, above, right, below)
        if exponent > -FLAT:
            return Obstacle.FLAT
        ahead = math.log(2 * below.mean / here.mean) / -exponent
        factor = right / place * math.exp(ahead)
        if factor > FARTHEST:
            return Obstacle.TOO_FAR
        # How far off is the error of the last point, as seen from here, and how far off is the slope that goes on? The
        # two go together, as a last point that is too low makes the slope too steep.
        level = 0.0 if right == place else math.hypot(here.relative_margin, below.relative_margin)
        trend = ahead * math.hypot(above.relative_margin, below.relative_margin) / math.log(right / left)
        width = (level + trend) / -exponent
        return Halving(factor, max(1.0, factor * math.exp(-width)), factor * math.exp(width), is_extrapolated=True)

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
    repeats = min(one.repeats for one in usable.values())
    return Slope(float((weights * centred) @ y / spread), spread**-0.5, repeats)


def _chord(x: float, left: Prediction, y: float, right: Prediction) -> float:
    """Return the exponent between two points, the second of which has an error; an error out of nothing is no fall."""
    if left.mean <= 0:
        return 0.0
    return math.log(right.mean / left.mean) / math.log(y / x)

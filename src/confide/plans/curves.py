"""Expected error along people or epsilon: simulated points, the slope between them, and the place of a target."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from confide.errors import UnreachableTargetError
from confide.plans.measures import Prediction, student
from confide.wording import with_unit

NEAR = 8.0
"""A slope is fitted to what was simulated within this factor: two points on either side, at steps of four."""

FLAT = 0.03
"""An error that falls more slowly than x^-0.03 takes 10^10 times as much to halve: it does not fall."""

FARTHEST = 200.0
"""Beyond this factor nothing is said by extrapolation."""

MOST_STEPS = 16
"""Settings that a search looks at; three to six do for a power law, closing in on a jump takes the rest."""

CLOSE = 0.005
"""A simulated error this close to the target, relative to it, is the target; or within a quarter of its own error."""

USUAL_SLOPE = -0.4
"""Slope of a first step: between -0.5 of randomized response and -0.3 of ages at 0.05 per year (docs/planning.md)."""


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


@dataclass(frozen=True)
class Answer:
    """Solution of a plan: the people or the epsilon that a target takes.

    Attributes
    ----------
    unknown
        ``"people"`` or ``"epsilon"``.
    target
        The error that was asked for.
    value
        The people or the epsilon that meet it.
    low, high
        Between which the true answer lies with 95 %, by the error of the simulation.
    """

    unknown: str
    target: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Search:
    """Search for the place where an error, which falls as the place goes up, meets a target.

    Attributes
    ----------
    unknown
        What is looked for.
    evaluate
        The expected error at a place.
    target
        The error to meet.
    bounds
        Where to look at most.
    unit
        What the error is counted in.
    whole
        Whether places are whole numbers.
    """

    unknown: str
    evaluate: Callable[[float], Prediction]
    target: float
    bounds: tuple[float, float]
    unit: str = ""
    whole: bool = False

    def run(self, start: float) -> Answer:
        """Search from a start, on a logarithmic scale: step out until the target is enclosed, then close in.

        Where an error goes up and down, the last crossing counts, from which on it stays below the target.
        """
        visited: dict[float, Prediction] = {}
        place = self._tidy(start)
        for _ in range(MOST_STEPS):
            visited[place] = self.evaluate(place)
            if self._is_met(visited[place]):
                break
            place = self._tidy(self._next(visited))
            if place in visited:  # three digits do not get any closer
                break
        found = self._choose(visited)
        if len(visited) == 1:  # met at once: a range still needs a slope, and the trade-off looks there anyway
            beside = self._tidy(4 * found) if self._tidy(4 * found) != found else self._tidy(found / 4)
            visited[beside] = self.evaluate(beside)
        return self._answer(found, visited)

    def _choose(self, visited: dict[float, Prediction]) -> float:
        """Return where the target is met; across a jump, the first place behind it, as the one before is not enough."""
        met = [place for place, there in visited.items() if self._is_met(there)]
        crossings = self._crossings(visited)
        if not met and crossings:
            return crossings[-1][1]
        return min(met or visited, key=lambda one: abs(self._gap(visited[one])))

    def _answer(self, place: float, visited: dict[float, Prediction]) -> Answer:
        slope = fit_slope(near(visited, place)) or fit_slope(visited)
        # A relative error e of the prediction moves the crossing by e / slope, on the logarithmic scale of places.
        steepness = FLAT if slope is None else max(FLAT, -slope.exponent)
        # An error of nothing in every repeat does not say how well it is known; the last one before it does.
        known = max((x for x, one in visited.items() if x <= place and one.mean > 0), default=None)
        width = 0.0 if known is None else visited[known].relative_margin / steepness
        low, high = (min(max(place * math.exp(way), self.bounds[0]), self.bounds[1]) for way in (-width, width))
        return Answer(self.unknown, self.target, place, low, high)

    def _crossings(self, visited: dict[float, Prediction]) -> list[tuple[float, float]]:
        """Return neighbours of which the first misses the target and the second does not."""
        return [
            (left, right)
            for left, right in itertools.pairwise(sorted(visited))
            if self._gap(visited[left]) > 0 >= self._gap(visited[right])
        ]

    def _next(self, visited: dict[float, Prediction]) -> float:
        crossings = self._crossings(visited)
        if not crossings:
            return self._step_out(visited)
        left, right = crossings[-1]
        above, below = self._gap(visited[left]), -self._gap(visited[right])
        share = above / (above + below) if math.isfinite(below) else 0.5
        return left * math.exp(min(max(share, 0.1), 0.9) * math.log(right / left))

    def _step_out(self, visited: dict[float, Prediction]) -> float:
        is_above = self._gap(next(iter(visited.values()))) > 0
        edge = max(visited) if is_above else min(visited)
        if edge == self._tidy(self.bounds[int(is_above)]):
            raise self._refusal(edge, visited[edge], is_above=is_above)
        slope = fit_slope(visited)
        exponent = min(slope.exponent if slope is not None and slope.exponent < 0 else USUAL_SLOPE, -0.1)
        # A little beyond where the power law puts the target, so that it is enclosed; by a factor of 1.3 at least and
        # of 64 at most, for the slope of two noisy points may be anything.
        reach = 1.15 * abs(self._gap(visited[edge]) / exponent)
        reach = min(max(reach, math.log(1.3)), math.log(64))
        return edge * math.exp(reach if is_above else -reach)

    def _refusal(self, edge: float, there: Prediction, *, is_above: bool) -> UnreachableTargetError:
        is_people = self.unknown == "people"
        place = f"{edge:,.0f} people" if is_people else f"epsilon {edge:,.4g}"
        target = with_unit(self.target, self.unit)
        expected = f"{with_unit(there.mean, self.unit)} (± {there.margin:.2g})"
        if not is_above:
            return UnreachableTargetError(
                f"An error of {target} is met already at {place}, the least that is looked at, where {expected} is to "
                f"be expected. Lower the target; and if the guess is uniform, take another one.",
                there.mean,
            )
        what = "the most that is looked at" if is_people else "where hardly any noise is left"
        cure = "a larger epsilon or another mechanism" if is_people else "more people"
        return UnreachableTargetError(
            f"No {'number of people' if is_people else 'epsilon'} reaches an error of {target}: at {place}, {what}, "
            f"{expected} is still to be expected. Raise the target, or plan with {cure}.",
            there.mean,
        )

    def _is_met(self, there: Prediction) -> bool:
        return there.mean > 0 and abs(self._gap(there)) <= max(CLOSE, there.relative / 4)

    def _gap(self, there: Prediction) -> float:
        """Return how far an error lies above the target, as a logarithm: minus infinity where there is none."""
        return math.log(there.mean / self.target) if there.mean > 0 else -math.inf

    def _tidy(self, place: float) -> float:
        """Return a place inside the bounds, with three digits, so that what is answered is what was simulated."""
        low, high = self.bounds
        tidy = float(f"{min(max(place, low), high):.3g}")
        return float(max(1, round(tidy))) if self.whole else tidy

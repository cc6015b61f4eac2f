"""How many people, or which epsilon, an expected error takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from confide.errors import UnreachableTargetError
from confide.plans.curves import fit_slope, near
from confide.plans.measures import Prediction
from confide.wording import with_unit

MOST_STEPS = 16

CLOSE = 0.005
"""A simulated error this close to the target, relative to it, is the target; or within a quarter of its own error."""

LEAST_SLOPE = 0.02
USUAL_SLOPE = -0.4
STEEPEST_STEP, SMALLEST_STEP = math.log(64), math.log(1.3)


@dataclass(frozen=True)
class Answer:
    """What was solved for.

    Attributes
    ----------
    unknown
        ``"people"`` or ``"epsilon"``.
    target
        The error that was asked for.
    value
        What it takes.
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
    """Look for the place where an error, which falls as the place goes up, meets a target.

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
        return self._answer(self._choose(visited), visited)

    def _choose(self, visited: dict[float, Prediction]) -> float:
        """Return where the target is met; across a jump, the first place behind it, as the one before is not enough."""
        met = [place for place, there in visited.items() if self._is_met(there)]
        crossings = self._crossings(visited)
        if not met and crossings:
            return crossings[-1][1]
        return min(met or visited, key=lambda one: abs(self._gap(visited[one])))

    def _answer(self, place: float, visited: dict[float, Prediction]) -> Answer:
        slope = fit_slope(near(visited, place)) or fit_slope(visited)
        steepness = LEAST_SLOPE if slope is None else max(LEAST_SLOPE, -slope.exponent)
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
        reach = 1.15 * abs(self._gap(visited[edge]) / exponent)
        reach = min(max(reach, SMALLEST_STEP), STEEPEST_STEP)
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
        """Return how far an error lies above the target, as a logarithm: without end below it where there is none."""
        return math.log(there.mean / self.target) if there.mean > 0 else -math.inf

    def _tidy(self, place: float) -> float:
        """Return a place inside the bounds, with three digits, so that what is answered is what was simulated."""
        low, high = self.bounds
        tidy = float(f"{min(max(place, low), high):.3g}")
        return float(max(1, round(tidy))) if self.whole else tidy

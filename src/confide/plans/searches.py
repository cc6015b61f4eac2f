"""Search for what a target takes: along people or epsilon, for one guess or for both ends of the family."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confide.errors import UnreachableTargetError
from confide.mechanisms import Mechanism
from confide.plans.curves import FLAT, fit_slope, near
from confide.plans.measures import Prediction
from confide.plans.settings import epsilon_bounds, most_people
from confide.plans.simulations import Simulation
from confide.values.wording import with_unit

LEAST_PEOPLE = 10
USUAL_PEOPLE = 10_000.0
"""Fewest people that a plan looks at, and the start of its search for their number."""


CLOSE = 0.005
"""A simulated error this close to the target, relative to it, is the target; or within a quarter of its own error."""


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
    is_least
        Whether the target is met already at the least that is looked at, so that less may do.
    """

    unknown: str
    target: float
    value: float
    low: float
    high: float
    is_least: bool = False


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
        # 16: settings that a search looks at; three to six do for a power law, closing in on a jump takes the rest.
        for _ in range(16):
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
        # -0.4: slope of a first step: between -0.5 of randomized response and -0.3 of ages at 0.05 per year
        # (docs/planning.md).
        exponent = min(slope.exponent if slope is not None and slope.exponent < 0 else -0.4, -0.1)
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


@dataclass(frozen=True)
class Goal:
    """A target, and what it is looked for along: epsilon where the people are given, else people.

    Attributes
    ----------
    mechanism, people, target
        What was given; people None where they are looked for.
    """

    mechanism: Mechanism
    people: int | None
    target: float

    @property
    def unknown(self) -> str:
        """What is looked for."""
        return "people" if self.people is None else "epsilon"

    @property
    def bounds(self) -> tuple[float, float]:
        """Where to look at most."""
        if self.people is None:
            return float(LEAST_PEOPLE), float(most_people(self.mechanism))
        return epsilon_bounds(self.mechanism)

    @property
    def start(self) -> float:
        """Where to begin."""
        return USUAL_PEOPLE if self.people is None else math.sqrt(math.prod(self.bounds))

    def predict(self, simulation: Simulation, place: float) -> Prediction:
        """Return the expected error at a place."""
        if self.people is None:
            return simulation.predict(self.mechanism, int(place))
        return simulation.predict(self.mechanism.at(place), self.people)

    def search(self, simulation: Simulation, start: float) -> Answer:
        """Return what the target takes if the truth is this simulation's guess."""

        def predict(place: float) -> Prediction:
            return self.predict(simulation, place)

        unit, is_whole = simulation.measure.unit, self.people is None
        return Search(self.unknown, predict, self.target, self.bounds, unit, whole=is_whole).run(start)

    def least(self) -> Answer:
        """Return the answer where the target is met at the least that is looked at."""
        least = self.bounds[0]
        return Answer(self.unknown, self.target, least, least, least, is_least=True)


def solve(simulations: Sequence[Simulation], question: Goal) -> dict[str, Answer]:
    """Return what the target takes, by the name of the guess; of a family, for its two ends alone."""
    if len(simulations) == 1:
        only = simulations[0]
        return {only.guess.name: question.search(only, question.start)}
    worst, most = _find_end(simulations, question, question.start, is_worst=True)
    best, fewest = _find_end(simulations, question, most.value, is_worst=False)
    return {best: fewest, worst: most}


def _find_end(simulations: Sequence[Simulation], question: Goal, start: float, *, is_worst: bool) -> tuple[str, Answer]:
    """Return the shape that takes the most, or the least, and what it takes.

    Curves of different shapes may cross. So the shape that is the worst at the start is solved for, and where another
    one is worse at the answer, that one, until none is.
    """
    found: dict[str, Answer] = {}
    choose = max if is_worst else min
    while True:
        errors = {one.guess.name: question.predict(one, start).mean for one in simulations}
        name = choose(errors, key=lambda one: errors[one])
        if name in found:
            name, answer = choose(found.items(), key=lambda one: one[1].value)
            if is_worst and answer.is_least:
                raise UnreachableTargetError(
                    f"An error of {question.target:.4g} is met already at {question.unknown} {answer.value:.4g}, the "
                    f"least that is looked at, whatever the shape. Lower the target.",
                    errors[name],
                )
            return name, answer
        simulation = next(one for one in simulations if one.guess.name == name)
        try:
            found[name] = question.search(simulation, start)
        except UnreachableTargetError as refusal:
            if refusal.floor > question.target:
                raise UnreachableTargetError(f"If the truth is {name}: {refusal}", refusal.floor) from None
            found[name] = question.least()
        start = found[name].value

"""Plans: solve for the people, the epsilon or the error of a survey."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from confide.errors import InvalidParameterError, UnreachableTargetError
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.plans.guesses import ALIKE, UNIFORM, Guess, as_guess, family_of
from confide.plans.simulations import (
    FEWEST_REPEATS,
    Cache,
    Distance,
    Follow,
    Measure,
    Prediction,
    Simulation,
    choose_measure,
    epsilon_bounds,
    epsilon_of,
    ignorance,
    most_people,
    student,
    usual_cache,
    usual_mechanism,
    within,
)
from confide.solve.methods import Method, Stacked
from confide.values import Alphabet
from confide.values.checks import MOST_PEOPLE, check_count, check_positive
from confide.values.distances import has_emd
from confide.values.queries import Query
from confide.values.wording import Shown, with_unit

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
            return 10.0, float(most_people(self.mechanism))  # fewer than ten people say nothing
        return epsilon_bounds(self.mechanism)

    @property
    def start(self) -> float:
        """Where to begin."""
        return 10_000.0 if self.people is None else math.sqrt(math.prod(self.bounds))

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


LOW = 0.5
"""A guess with less than this part of the usual error of the family flatters; docs/planning.md has the measurements."""


RISE = 1.05
USUAL_RISE = 1.2
"""So does one whose error does not rise by 5 % under a stronger promise, under which the family's rises by 20 %."""


@dataclass(frozen=True)
class Flattery:
    """Sign that a guess is easier on the method than other truths would be.

    Attributes
    ----------
    is_uniform
        Whether the guess is uniform, or nearly so.
    shapes
        What to expect of the other shapes at the plan's own setting, by their names; without the uniform one.
    low
        The expected error of the guess as a part of their usual one; None for a query.
    rise, usual_rise
        By what factor the error rises under the strongest promise of the trade-off, for the guess, and for the shapes.
        None where that was not measured.
    """

    is_uniform: bool
    shapes: dict[str, Prediction]
    low: float | None
    rise: float | None = None
    usual_rise: float | None = None

    @property
    def is_low(self) -> bool:
        """Whether the error is well below that of other shapes."""
        return self.low is not None and self.low < LOW

    @property
    def is_backward(self) -> bool:
        """Whether a stronger promise costs nothing, or even helps, where it costs other shapes."""
        if self.low is None or self.rise is None or self.usual_rise is None:
            return False
        return self.rise < RISE and self.usual_rise > USUAL_RISE


def find_flattery(
    simulation: Simulation, mechanism: Mechanism, people: int, prediction: Prediction, by_epsilon: Curve | None
) -> Flattery | None:
    """Return why a guess flatters: other shapes fare far worse, or it alone does not pay for a stronger promise."""
    vector = simulation.guess.vector
    others = [
        replace(simulation, guess=one, repeats=FEWEST_REPEATS, known={})
        for one in family_of(mechanism, simulation.shape)
        if one.name != UNIFORM and abs(one.vector - vector).sum() / 2 > ALIKE
    ]
    if not others:
        return None
    shapes = {one.guess.name: one.predict(mechanism, people) for one in others}
    usual = median(one.mean for one in shapes.values())
    # A query may be answered well because hardly anyone is asked about, and its bias may change sign along epsilon, so
    # that neither a small width nor one that shrinks is flattery.
    is_comparable = isinstance(simulation.measure, Distance) and usual > 0
    low = prediction.mean / usual if is_comparable else None
    rise, usual_rise = _rises(others, mechanism, people, by_epsilon, usual)
    # 0.05: and one this close to uniform in total variation, where methods start and what they are drawn to.
    is_uniform = bool(abs(vector - 1 / vector.size).sum() / 2 < 0.05)
    found = Flattery(is_uniform, shapes, low, rise, usual_rise)
    return found if is_uniform or found.is_low or found.is_backward else None


def _rises(
    others: Sequence[Simulation], mechanism: Mechanism, people: int, curve: Curve | None, usual: float
) -> tuple[float | None, float | None]:
    """Return by what factors the error rises under the strongest promise that was simulated: own and usual.

    The second is measured only where the first is suspiciously small.
    """
    epsilon = epsilon_of(mechanism)
    if curve is None or epsilon is None or curve.places[0] == epsilon or curve.points[epsilon].mean <= 0 or usual <= 0:
        return None, None
    rise = curve.predictions[0].mean / curve.points[epsilon].mean
    if rise >= RISE:
        return rise, None
    stronger = mechanism.at(curve.places[0])
    return rise, median(one.predict(stronger, people).mean for one in others) / usual


METHOD: Method = Stacked()
"""The method that a plan is made for, unless another one is named: the default of ``estimate``."""

REPEATS = 24
"""Simulated surveys for each setting of a guess."""

SHAPE_REPEATS = 6
"""And of each shape of the family: six shapes take half as long again as one guess, not six times as long."""

PEOPLE_FACTORS = (0.25, 1.0, 4.0, 16.0)
EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Settings of the trade-off around the plan; rather more people than fewer, as halving an error takes them."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expectation of a survey if the truth has one shape of the family.

    Attributes
    ----------
    guess
        The shape.
    prediction
        The expected error at the plan's own setting.
    by_people, by_epsilon
        The trade-off around the plan.
    answer
        What the target takes for this shape; None where nothing was solved for, or the shape is neither end.
    """

    guess: Guess
    prediction: Prediction
    by_people: Curve
    by_epsilon: Curve | None
    answer: Answer | None = None


@dataclass(frozen=True, eq=False)
class Plan(Shown):
    """Expectation of a survey before it is held.

    Attributes
    ----------
    mechanism
        The mechanism, at the epsilon of the plan.
    people
        How many take part.
    prediction
        The expected error, and how exactly it is known.
    measure
        What error that is.
    guess
        The distribution that it was simulated with; without a guess, the worst shape of the family.
    method
        The method that will estimate.
    answer
        What was solved for; None if people and epsilon were both given.
    by_people, by_epsilon
        The trade-off around the plan. None along epsilon where the mechanism has none.
    ignorance
        The error of the uniform distribution, which takes no report at all; None for a query.
    seed
        The seed of all of it.
    outlooks
        Without a guess: each shape of the family, from the best to the worst, which all else above is about. Empty
        with a guess.
    flattery
        Why the guess makes the survey look better than other truths would; None where it does not.
    is_spanned
        Whether the values are unbounded, and were taken to lie in a span.
    shape
        The shape that the survey declares, in which the estimate will be; None without one.
    interval_widths
        With a shape and a query: how wide its interval will be under the shape, and how wide without it.
    """

    mechanism: Mechanism
    people: int
    prediction: Prediction
    measure: Measure
    guess: Guess
    method: Method
    answer: Answer | None
    by_people: Curve
    by_epsilon: Curve | None
    ignorance: float | None
    seed: int
    outlooks: tuple[Outlook, ...] = ()
    flattery: Flattery | None = None
    is_spanned: bool = False
    shape: Shape | None = None
    interval_widths: tuple[float, float] | None = None

    @property
    def epsilon(self) -> float | None:
        """The epsilon of the plan; None where the mechanism has none of its own."""
        return epsilon_of(self.mechanism)

    @property
    def halving(self) -> Halving | None:
        """Factor of people that halves the error; None where :attr:`obstacle` says why not."""
        return self.by_people.halving(float(self.people))

    @property
    def obstacle(self) -> Obstacle | None:
        """Reason for the lack of such a factor: no error is left, it does not fall, or too slowly."""
        return self.by_people.obstacle(float(self.people))

    def __str__(self) -> str:
        from confide.plans.records import headline

        return headline(self)


def plan(  # noqa: PLR0913 - one argument for each thing that may be known or asked
    mechanism: Mechanism | Alphabet,
    guess: Any = None,
    *,
    people: int | None = None,
    epsilon: float | None = None,
    target_emd: float | None = None,
    target_width: float | None = None,
    query: Query | None = None,
    method: Method = METHOD,
    repeats: int | None = None,
    seed: int = 0,
    cache: bool | str | Path | Cache = True,
    follow: Follow | None = None,
    name: str | None = None,
    rejects: str | Path | None = None,
    span: tuple[int, int] | None = None,
    shape: str | Sequence[str] | Shape | None = None,
) -> Plan:
    """Predict the error of a survey, or solve for the people or the epsilon that a target takes.

    Of people, epsilon and a target two are given, and the third comes out. A mechanism's own epsilon counts as given
    unless people and a target are.

    Parameters
    ----------
    mechanism
        The mechanism, or an alphabet alone, for which the usual mechanism is taken.
    guess
        What the truth may look like: a bundled dataset or its name, a past :class:`Estimate` or its file, one
        probability for each value, or the name of a shape, such as ``"uniform"``. If left out, the plan is made over
        a family of unlike shapes and is about the worst of them; ``outlooks`` has all.
    people, epsilon
        How many will report, and what they are promised.
    target_emd
        The expected earth mover's distance from the truth to reach.
    target_width
        The half-width to reach that holds the answer to `query` in 95 of 100 surveys.
    query
        Predict the half-width of this question, such as ``"age >= 65"``, in place of a distance.
    method
        How the distribution will be estimated; as :func:`estimate` does unless told. ``IBU()`` is several times faster.
    repeats, seed
        How often each setting is simulated, and the seed: the same plan has the same numbers. If left out, 24 times,
        or 6 times for each shape of the family.
    cache
        Whether simulated numbers are kept on disk, in the user's cache folder; or the folder to keep them in.
    follow
        Called as it goes along with what is simulated, which repeat it is, and how many there are.
    name
        What a value is called in the query.
    rejects
        With a file of values for a guess: where rows that cannot be used are set aside. Without it, one such row is an
        error.
    span
        For unbounded values: the lowest and the highest value that people will have, or the rows and columns of a map
        that they will be on.
    shape
        A shape that the survey declares, as in :func:`estimate`: estimates will be in it, and so are the shapes that
        stand in for a guess.

    Raises
    ------
    UnreachableTargetError
        If no people, or no epsilon, bring the target about; with the error that is left.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0)
    >>> guess = [0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02]
    >>> expected = cf.plan(mechanism, guess, people=1000, repeats=8, cache=False).prediction
    >>> 0.05 < expected.mean < 0.5, expected.margin < expected.mean
    (True, True)
    """
    target = _choose_target(mechanism, query, target_emd, target_width)
    times = repeats if repeats is not None else SHAPE_REPEATS if guess is None else REPEATS
    _check_numbers(people, epsilon, target, (times, seed))
    base, is_given = _settle_mechanism(mechanism, epsilon)
    base = within(base, span)
    _check_question(people, epsilon, target, has_epsilon=is_given)
    declared = _check_shape(shape, base)
    if guess is None and rejects is not None:
        raise InvalidParameterError("rejects is for a guess that is a file of values, and there is no guess.")
    believed = family_of(base, declared) if guess is None else (as_guess(guess, base, name or "value", rejects),)
    measure = choose_measure(base.alphabet, query, name)
    refuse_idle_target(target, measure, believed)
    if not isinstance(method, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {method!r}.")
    kept = _choose_cache(cache)
    simulations = [
        Simulation(one, measure, method, int(times), int(seed), kept, follow, shape=declared) for one in believed
    ]
    answers = {} if target is None else solve(simulations, Goal(base, people, target))
    answer = max(answers.values(), key=lambda one: one.value, default=None)
    number = int(answer.value) if answer is not None and answer.unknown == "people" else int(people or 0)
    settled = base.at(answer.value) if answer is not None and answer.unknown == "epsilon" else base
    outlooks = _look_out(simulations, settled, number, answers)
    worst = outlooks[-1]
    own = next(one for one in simulations if one.guess is worst.guess)
    return Plan(
        mechanism=settled,
        people=number,
        prediction=worst.prediction,
        measure=measure,
        guess=worst.guess,
        method=method,
        answer=worst.answer,
        by_people=worst.by_people,
        by_epsilon=worst.by_epsilon,
        ignorance=ignorance(measure, worst.guess.vector),
        seed=int(seed),
        outlooks=outlooks if guess is None else (),
        is_spanned=span is not None,
        shape=declared,
        interval_widths=own.interval_widths(settled, number),
        flattery=None if guess is None else find_flattery(own, settled, number, worst.prediction, worst.by_epsilon),
    )


def _check_shape(shape: str | Sequence[str] | Shape | None, mechanism: Mechanism) -> Shape | None:
    if shape is None:
        return None
    declared = Shape.of(shape)
    if len(declared.mixtures(mechanism.alphabet)) > 1:
        raise InvalidParameterError(
            f"A plan in the shape {declared} would solve every simulated survey once for each place. Say where: 'one "
            f"peak at 40'; or plan without it, in Python shape=None."
        )
    return declared


def expected_surveys(mechanism: Mechanism, guess: object, *, is_solved: bool) -> int:
    """Return about how many surveys a plan simulates, so that its time can be told beforehand."""
    shapes = len(family_of(mechanism)) if guess is None else 1
    times = SHAPE_REPEATS if guess is None else REPEATS
    settings = len(PEOPLE_FACTORS) + (0 if epsilon_of(mechanism) is None else len(EPSILON_FACTORS) - 1)
    # A search looks at three to six settings; that for the two ends of a family at both, and at every shape in between.
    searched = 0 if not is_solved else 5 if guess is not None else 8 + 2 * shapes
    flattery = 0 if guess is None else FEWEST_REPEATS * (len(family_of(mechanism)) - 1)
    return times * (shapes * settings + searched) + flattery


def _choose_target(
    mechanism: Any, query: Query | None, target_emd: float | None, target_width: float | None
) -> float | None:
    alphabet = mechanism.alphabet if isinstance(mechanism, Mechanism) else mechanism
    if target_emd is not None and target_width is not None:
        raise InvalidParameterError("A plan has one target: an EMD or the width of a query, not both.")
    if target_width is not None and query is None:
        raise InvalidParameterError('The width of what? Give a query with target_width, such as "age >= 65".')
    if target_emd is not None and query is not None:
        raise InvalidParameterError(
            "A plan for a query has a target_width, not a target_emd. Leave one of the two out."
        )
    if target_emd is not None and isinstance(alphabet, Alphabet) and alphabet.is_finite and not has_emd(alphabet):
        raise InvalidParameterError(
            f"No earth mover's distance is known on {alphabet!r}. Give a query and a target_width instead."
        )
    return target_emd if target_emd is not None else target_width


def _check_numbers(people: object, epsilon: object, target: object, repeats_and_seed: tuple[object, object]) -> None:
    if people is not None:
        check_count("people", people, 1)
        if int(people) > MOST_PEOPLE:  # type: ignore[call-overload]  # a whole number, as was just checked
            raise InvalidParameterError(f"people must be at most {MOST_PEOPLE:,}; got {people!r}.")
    if epsilon is not None:
        check_positive("epsilon", epsilon)
    if target is not None:
        check_positive("the target", target)
    check_count("repeats", repeats_and_seed[0], FEWEST_REPEATS)
    check_count("seed", repeats_and_seed[1], 0)


def _settle_mechanism(mechanism: object, epsilon: float | None) -> tuple[Mechanism, bool]:
    """Return the mechanism at the epsilon that was given, and whether there is one at all."""
    if isinstance(mechanism, Alphabet):
        # Where epsilon is what is looked for, any will do to begin with.
        return usual_mechanism(mechanism, 1.0 if epsilon is None else epsilon), epsilon is not None
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(
            f"A plan needs a mechanism such as TruncatedGeometric, or an alphabet; got {type(mechanism).__name__}."
        )
    return (mechanism if epsilon is None else mechanism.at(epsilon)), True


def _check_question(people: int | None, epsilon: float | None, target: float | None, *, has_epsilon: bool) -> None:
    """Refuse what leaves nothing to find out, or too much."""
    if people is not None and epsilon is not None and target is not None:
        raise InvalidParameterError(
            "People, epsilon and a target together leave nothing to find out. Leave out the one to solve for."
        )
    if people is None and target is None:
        raise InvalidParameterError(
            "There is too little to plan with. Give two of people, epsilon and a target (an EMD, or a query and its "
            "width); the third comes out."
        )
    if not has_epsilon and (people is None or target is None):
        raise InvalidParameterError(
            "An alphabet alone has no epsilon. Give one, or people and a target to solve for it."
        )


def refuse_idle_target(target: float | None, measure: Measure, guesses: Sequence[Guess]) -> None:
    """Refuse a target that the uniform distribution meets without any report, whatever the truth."""
    if target is None:
        return
    unlike = [one for one in guesses if not one.is_uniform]
    away = {one.name: nothing for one in unlike if (nothing := ignorance(measure, one.vector)) is not None}
    if away and target >= max(away.values()):
        name = max(away, key=lambda one: away[one])
        what = f"the guess {name}" if len(guesses) == 1 else f"the farthest shape, {name}"
        raise InvalidParameterError(
            f"A target of {target:.4g} takes no survey: the uniform distribution is only {away[name]:.4g} away from "
            f"{what}. Ask for less."
        )


def _choose_cache(cache: object) -> Cache | None:
    """Return the cache that was asked for; None to keep nothing."""
    if isinstance(cache, Cache):
        return cache
    if isinstance(cache, str | Path) and str(cache):
        if Path(cache).exists() and not Path(cache).is_dir():
            raise InvalidParameterError(f"cache must be a folder; {cache} is a file. Give another place, or False.")
        return Cache(Path(cache))
    if cache is None or isinstance(cache, bool):
        return usual_cache() if cache else None
    raise InvalidParameterError(f"cache must be True, False or a folder; got {cache!r}.")


def _along_epsilon(simulations: Sequence[Simulation], mechanism: Mechanism, people: int) -> list[Curve | None]:
    """Return the expected error of each guess around the mechanism's epsilon; None where it has none."""
    epsilon = epsilon_of(mechanism)
    if epsilon is None:
        return [None] * len(simulations)
    low, high = epsilon_bounds(mechanism)
    wanted = [epsilon if factor == 1 else float(f"{factor * epsilon:.3g}") for factor in EPSILON_FACTORS]
    places = sorted({one for one in wanted if one == epsilon or low <= one <= high})
    # One mechanism a place, shared by all guesses: its channel is made once.
    varied = [mechanism if one == epsilon else mechanism.at(one) for one in places]
    table = [[simulation.predict(one, people) for one in varied] for simulation in simulations]
    return [Curve("epsilon", tuple(places), tuple(row)) for row in table]


def _look_out(
    simulations: Sequence[Simulation], mechanism: Mechanism, people: int, answers: dict[str, Answer]
) -> tuple[Outlook, ...]:
    """Return the outlook of every guess, from best to worst: for a target, those that take the least and the most."""
    # The expected error of each guess around so many people.
    most = max(people, most_people(mechanism))
    wanted = [people if factor == 1 else _rounded(factor * people) for factor in PEOPLE_FACTORS]
    places = sorted({many for many in wanted if 1 <= many <= most})
    table = [[one.predict(mechanism, many) for many in places] for one in simulations]
    curves = zip(
        simulations,
        [Curve("people", tuple(map(float, places)), tuple(row)) for row in table],
        _along_epsilon(simulations, mechanism, people),
        strict=True,
    )
    found = [
        Outlook(one.guess, along.points[float(people)], along, by_epsilon, answers.get(one.guess.name))
        for one, along, by_epsilon in curves
    ]
    worst = next(reversed(answers), None)

    def rank(one: Outlook) -> tuple[int, float]:
        """Errors at the worst shape's setting do not tell which shape takes the least: curves cross."""
        end = 0 if one.answer is None else 1 if one.guess.name == worst else -1
        return end, one.prediction.mean

    return tuple(sorted(found, key=rank))


def _rounded(people: float) -> int:
    return round(float(f"{people:.3g}"))

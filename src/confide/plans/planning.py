"""Plans: solve for a survey's people, epsilon or error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from confide.errors import InvalidParameterError, UnreachableTargetError
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.plans.guesses import ALIKE, UNIFORM, Guess, as_guess, family_of
from confide.plans.ranking import usual_mechanism
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
    within,
)
from confide.solve.methods import Method, Stacked
from confide.values import Alphabet
from confide.values.checks import MOST_PEOPLE, check_count, check_positive
from confide.values.distances import has_emd
from confide.values.queries import Query
from confide.values.wording import Shown, with_unit

FLAT = 0.03
"""An error that falls more slowly than x^-0.03 counts as flat: halving it takes a factor of 10^10."""

FARTHEST = 200.0
"""Largest factor of extrapolation."""


@dataclass(frozen=True)
class Slope:
    """The local power law: the error behaves like x^exponent.

    Attributes
    ----------
    exponent, standard_error
        The exponent and its standard error.
    repeats
        Number of simulations of each point.
    """

    exponent: float
    standard_error: float
    repeats: int

    @property
    def margin(self) -> float:
        """Half-width of the 95% confidence interval, by Student's t."""
        return student(self.repeats) * self.standard_error


@dataclass(frozen=True)
class Halving:
    """Factor that halves the error, with its range.

    Attributes
    ----------
    factor, low, high
        The factor and its 95% confidence interval, from the error of the simulation.
    is_extrapolated
        Whether it lies beyond the simulated points, where the slope of the last two is extrapolated.
    """

    factor: float
    low: float
    high: float
    is_extrapolated: bool


class Obstacle(StrEnum):
    """Reason for giving no factor for half the error."""

    NO_ERROR = "no error"
    """No repeat had an error, so there is nothing to halve."""
    NOT_SIMULATED = "not simulated"
    """There is only one point."""
    FLAT = "flat"
    """The error does not fall over the simulated range."""
    TOO_FAR = "too far"
    """The factor lies beyond the limit of extrapolation."""


@dataclass(frozen=True)
class Curve:
    """Expected errors at several settings, all else equal.

    Attributes
    ----------
    along
        ``"people"`` or ``"epsilon"``.
    places
        The simulated settings, in ascending order.
    predictions
        The expected error at each.
    """

    along: str
    places: tuple[float, ...]
    predictions: tuple[Prediction, ...]

    def slope(self, place: float) -> Slope | None:
        """Return the local power law around a place.

        None if there are fewer than two points with an error.
        """
        return fit_slope(self.points, place)

    def halve(self, place: float) -> Halving | Obstacle:
        """Return the factor that halves the error, or why there is none.

        It is found between two points. Beyond them the slope of the last two is extrapolated, which may lie below the
        place.
        """
        points, pairs = self.points, list(itertools.pairwise(self.points))
        here = points[place]
        if here.mean <= 0:
            return Obstacle.NO_ERROR
        if not pairs:
            return Obstacle.NOT_SIMULATED
        crossed = next((one for one in pairs if one[0] >= place and points[one[1]].mean <= here.mean / 2), None)
        left, right = crossed or pairs[-1]
        above, below = points[left], points[right]
        if below.mean <= 0:
            # No power law leads to 0: half of the error is met somewhere between the two places.
            return Halving(right / place, left / place, right / place, is_extrapolated=False)
        exponent = math.log(below.mean / above.mean) / math.log(right / left) if above.mean > 0 else 0.0
        if crossed is None and exponent > -FLAT:
            return Obstacle.FLAT
        start, there = (left, above) if crossed else (right, below)
        ahead = math.log(2 * there.mean / here.mean) / -exponent
        factor = start / place * math.exp(ahead)
        # Treat the two errors as independent. They share random numbers, so this is conservative.
        width = math.hypot(here.relative_margin, below.relative_margin)
        if crossed is None:
            if factor > FARTHEST:
                return Obstacle.TOO_FAR
            # Add the error of the last point, relative to this place, and the error of the extrapolated slope. They are
            # correlated: a last point that is too low makes the slope too steep.
            level = 0.0 if right == place else width
            width = level + ahead * math.hypot(above.relative_margin, below.relative_margin) / math.log(right / left)
        width = width / -exponent
        low, high = max(1.0, factor * math.exp(-width)), factor * math.exp(width)
        return Halving(factor, low, high, is_extrapolated=crossed is None)

    @property
    def points(self) -> dict[float, Prediction]:
        """The prediction at each place."""
        return dict(zip(self.places, self.predictions, strict=True))


def fit_slope(points: dict[float, Prediction], place: float | None = None) -> Slope | None:
    """Fit log error = constant + exponent log x, around a place.

    Points are weighed by their inverse relative variances. None if there are fewer than two with an error.

    >>> root = {float(n): Prediction(n**-0.5, 0.01 * n**-0.5, 20) for n in (100, 400, 1600)}
    >>> round(fit_slope(root).exponent, 6)
    -0.5
    """
    # Points more than a factor of 8 away say little of the slope at a place.
    usable = {x: one for x, one in points.items() if one.mean > 0 and (place is None or 1 / 8 <= x / place <= 8)}
    if len(usable) < 2:
        return None
    x = np.log(list(usable))
    y = np.log([one.mean for one in usable.values()])
    # A relative error is the error of a logarithm; none counts as less than a thousandth, or one point would be all.
    weights = np.array([max(one.relative, 1e-3) for one in usable.values()]) ** -2.0
    centred = x - np.average(x, weights=weights)
    spread = float(weights @ centred**2)
    repeats = min(one.repeats for one in usable.values())
    return Slope(float((weights * centred) @ y / spread), spread**-0.5, repeats)


@dataclass(frozen=True)
class Answer:
    """Solution of a plan: the people or epsilon for a target.

    Attributes
    ----------
    unknown
        ``"people"`` or ``"epsilon"``.
    target
        The target error.
    value
        The people or the epsilon that reach it.
    low, high
        The 95% confidence interval of the answer, from the error of the simulation.
    is_least
        Whether the lower bound of the search already reaches the target, so that less may be enough.
    """

    unknown: str
    target: float
    value: float
    low: float
    high: float
    is_least: bool = False


@dataclass(frozen=True)
class Search:
    """Search for the place where a falling error meets a target.

    Attributes
    ----------
    unknown
        What is solved for.
    evaluate
        Returns the expected error at a place.
    target
        The target error.
    bounds
        Limits of the search.
    unit
        Unit of the error.
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
        """Search on a logarithmic scale: bracket the target, then close in.

        If the error is not monotone, the last crossing counts, after which it stays below the target.
        """
        visited: dict[float, Prediction] = {}
        place = self._tidy(start)
        # At most 16 settings: three to six are enough for a power law, a jump takes more.
        for _ in range(16):
            visited[place] = self.evaluate(place)
            if self._is_met(visited[place]):
                break
            place = self._tidy(self._next(visited))
            if place in visited:  # three digits cannot get closer
                break
        # Where the target is met. Across a jump, this is the first place behind it; the one before is not enough.
        met, crossings = [place for place, there in visited.items() if self._is_met(there)], self._crossings(visited)
        found = min(met or visited, key=lambda one: abs(self._gap(visited[one])))
        found = crossings[-1][1] if crossings and not met else found
        if len(visited) == 1:  # met at once: the interval still needs a slope
            beside = self._tidy(4 * found) if self._tidy(4 * found) != found else self._tidy(found / 4)
            visited[beside] = self.evaluate(beside)
        return self._answer(found, visited)

    def _answer(self, place: float, visited: dict[float, Prediction]) -> Answer:
        slope = fit_slope(visited, place) or fit_slope(visited)
        # A relative error e of the prediction moves the crossing by e / slope, on the logarithmic scale.
        steepness = FLAT if slope is None else max(FLAT, -slope.exponent)
        # If the error is 0 in every repeat, its precision is unknown; use the last place with a positive error.
        known = max((x for x, one in visited.items() if x <= place and one.mean > 0), default=None)
        width = 0.0 if known is None else visited[known].relative_margin / steepness
        low, high = (min(max(place * math.exp(way), self.bounds[0]), self.bounds[1]) for way in (-width, width))
        return Answer(self.unknown, self.target, place, low, high)

    def _crossings(self, visited: dict[float, Prediction]) -> list[tuple[float, float]]:
        """Return neighbours between which the error falls to the target."""
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
        # -0.4, the first slope, lies between -0.5 for randomized response and -0.3 for ages at 0.05 per year
        # (docs/planning.md).
        exponent = min(slope.exponent if slope is not None and slope.exponent < 0 else -0.4, -0.1)
        # Step a little beyond the target of the power law, to bracket it. The factor is 1.3 to 64, because the slope of
        # two noisy points is unreliable.
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
        # Half a percent is close enough, and so is a quarter of the simulated error's own standard error.
        return there.mean > 0 and abs(self._gap(there)) <= max(0.005, there.relative / 4)

    def _gap(self, there: Prediction) -> float:
        """Return the log-ratio of an error to the target.

        Minus infinity if there is no error.
        """
        return math.log(there.mean / self.target) if there.mean > 0 else -math.inf

    def _tidy(self, place: float) -> float:
        """Return a place inside the bounds, rounded to three digits.

        So the answer is exactly what was simulated.
        """
        low, high = self.bounds
        tidy = float(f"{min(max(place, low), high):.3g}")
        return float(max(1, round(tidy))) if self.whole else tidy


@dataclass(frozen=True)
class Goal:
    """A target, with people or epsilon to solve for.

    Epsilon is solved for if people are given, else people.

    Attributes
    ----------
    mechanism, people, target
        What was given; `people` is None if they are solved for.
    """

    mechanism: Mechanism
    people: int | None
    target: float

    @property
    def unknown(self) -> str:
        """What is solved for."""
        return "people" if self.people is None else "epsilon"

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of the search."""
        if self.people is None:
            return 10.0, float(most_people(self.mechanism))  # fewer than ten people are useless
        return epsilon_bounds(self.mechanism)

    @property
    def start(self) -> float:
        """Start of the search."""
        return 10_000.0 if self.people is None else math.sqrt(math.prod(self.bounds))

    def predict(self, simulation: Simulation, place: float) -> Prediction:
        """Return the expected error at a place."""
        if self.people is None:
            return simulation.predict(self.mechanism, int(place))
        return simulation.predict(self.mechanism.at(place), self.people)

    def search(self, simulation: Simulation, start: float) -> Answer:
        """Return what the target needs if the guess is true."""
        predict, unit = partial(self.predict, simulation), simulation.measure.unit
        return Search(self.unknown, predict, self.target, self.bounds, unit, whole=self.people is None).run(start)


def solve(simulations: Sequence[Simulation], question: Goal) -> dict[str, Answer]:
    """Return what the target needs, by name of the guess.

    For a family, only its best and worst shape are solved.
    """
    if len(simulations) == 1:
        only = simulations[0]
        return {only.guess.name: question.search(only, question.start)}
    # The easiest shape takes less than the hardest, whose answer is where its search begins.
    worst, most = _find_end(simulations, question, question.start, is_worst=True)
    best, fewest = _find_end(simulations, question, most.value, is_worst=False)
    return {best: fewest, worst: most}


def _find_end(simulations: Sequence[Simulation], question: Goal, start: float, *, is_worst: bool) -> tuple[str, Answer]:
    """Return the worst or the best shape, and what it needs.

    Curves of different shapes may cross. So we solve for the worst shape at the start. If another shape is worse at the
    answer, we solve for that one, and so on until none is.
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
            least = question.bounds[0]
            found[name] = Answer(question.unknown, question.target, least, least, least, is_least=True)
        start = found[name].value


RISE, USUAL_RISE = 1.05, 1.2
"""A guess also flatters if a smaller epsilon raises its error by less than 5 %, and the family's by over 20 %."""


@dataclass(frozen=True)
class Flattery:
    """Sign that a guess is easier than other truths.

    Attributes
    ----------
    is_uniform
        Whether the guess is uniform, or nearly so.
    shapes
        The expected error of the other shapes at the plan's setting, by name; without the uniform one.
    low
        The expected error of the guess divided by their median; None for a query.
    rise, usual_rise
        The factor by which the error rises at the smallest epsilon of the trade-off, for the guess and for the shapes.
        None if not measured.
    """

    is_uniform: bool
    shapes: dict[str, Prediction]
    low: float | None
    rise: float | None = None
    usual_rise: float | None = None

    @property
    def is_low(self) -> bool:
        """Whether the error is well below that of other shapes."""
        # Half of the family's median; docs/planning.md has measurements.
        return self.low is not None and self.low < 0.5

    @property
    def is_backward(self) -> bool:
        """Whether a smaller epsilon costs other shapes, but not this guess."""
        if self.low is None or self.rise is None or self.usual_rise is None:
            return False
        return self.rise < RISE and self.usual_rise > USUAL_RISE


def find_flattery(
    simulation: Simulation, mechanism: Mechanism, people: int, prediction: Prediction, by_epsilon: Curve | None
) -> Flattery | None:
    """Return why a guess flatters; `None` if it does not.

    It flatters if it is nearly uniform, if other shapes have far larger errors, or if a smaller epsilon costs only the
    other shapes.
    """
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
    # For a query, neither a small width nor a shrinking one is flattery: hardly anyone may be asked about, and the bias
    # may change sign along epsilon.
    is_comparable = isinstance(simulation.measure, Distance) and usual > 0
    low = prediction.mean / usual if is_comparable else None
    rise, usual_rise = _rises(others, mechanism, people, by_epsilon, usual)
    # A guess this close to uniform in total variation flatters, because methods start there and shrink towards it.
    is_uniform = bool(abs(vector - 1 / vector.size).sum() / 2 < 0.05)
    found = Flattery(is_uniform, shapes, low, rise, usual_rise)
    return found if is_uniform or found.is_low or found.is_backward else None


def _rises(
    others: Sequence[Simulation], mechanism: Mechanism, people: int, curve: Curve | None, usual: float
) -> tuple[float | None, float | None]:
    """Return how the error rises at the smallest simulated epsilon.

    The two factors are for the guess and for other shapes. The second is measured only if the first is suspiciously
    small.
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
"""Default method of a plan: the default of ``estimate``."""

REPEATS, SHAPE_REPEATS = 24, 6
"""Simulated surveys at each setting, for a guess and for each shape of the family, which takes 1.5 times as long."""

PEOPLE_FACTORS, EPSILON_FACTORS = (0.25, 1.0, 4.0, 16.0), (0.25, 0.5, 1.0, 2.0, 4.0)
"""Settings of the trade-off around the plan; mostly more people, because halving an error needs more."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expected errors of a survey if the truth has one shape.

    Attributes
    ----------
    guess
        The shape.
    prediction
        The expected error at the plan's setting.
    by_people, by_epsilon
        The trade-off around the plan.
    answer
        What the target needs for this shape. None without a target, or if the shape is neither best nor worst.
    """

    guess: Guess
    prediction: Prediction
    by_people: Curve
    by_epsilon: Curve | None
    answer: Answer | None = None


@dataclass(frozen=True, eq=False)
class Plan(Shown):
    """Expected errors of a survey before it is run.

    Attributes
    ----------
    mechanism
        The mechanism, at the epsilon of the plan.
    people
        Number of people.
    prediction
        The expected error, with its standard error.
    measure
        The error measure.
    guess
        The simulated truth; without a guess, the worst shape of the family.
    method
        The method of estimation.
    answer
        The solution; None if people and epsilon were both given.
    by_people, by_epsilon
        The trade-off around the plan. `by_epsilon` is None if the mechanism has no epsilon.
    ignorance
        The error of the uniform distribution, which needs no report; None for a query.
    seed
        The seed.
    outlooks
        Without a guess: each shape of the family, from best to worst. The attributes above are those of the worst.
        Empty with a guess.
    flattery
        Why the guess makes the survey look better than other truths would; None if it does not.
    is_spanned
        Whether unbounded values were assumed to lie in a span.
    shape
        The declared shape of the estimate; None without one.
    interval_widths
        With a shape and a query: the width of its interval with the shape and without it.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> found = cf.plan(mechanism, [0.3, 0.7], people=1000, repeats=4, cache=False)
    >>> 0 < found.prediction.mean < 0.1
    True
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
        """The epsilon of the plan; `None` if the mechanism has none."""
        return epsilon_of(self.mechanism)

    @property
    def halving(self) -> Halving | None:
        """Factor of people that halves the error.

        None if there is an :attr:`obstacle`.
        """
        found = self.by_people.halve(float(self.people))
        return found if isinstance(found, Halving) else None

    @property
    def obstacle(self) -> Obstacle | None:
        """Why no factor of people halves the error.

        None if :attr:`halving` gives one.
        """
        found = self.by_people.halve(float(self.people))
        return found if isinstance(found, Obstacle) else None

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
    """Predict the error of a survey, or solve for a target.

    Give two of people, epsilon and a target; the plan finds the third. A mechanism's own epsilon counts as given,
    unless both people and a target are.

    Parameters
    ----------
    mechanism
        The mechanism, or an alphabet, which gets its default mechanism.
    guess
        What the truth may look like: a bundled dataset or its name, a past :class:`Estimate` or its file, one
        probability for each value, or the name of a shape, such as ``"uniform"``. If left out, the plan covers a family
        of different shapes and reports the worst; ``outlooks`` has all.
    people, epsilon
        The number of people, and the epsilon of their guarantee.
    target_emd
        Target for the expected earth mover's distance from the truth.
    target_width
        Target for the half-width of the 95% interval of `query`.
    query
        Predict the half-width of this query, such as ``"age >= 65"``, in place of a distance.
    method
        How the distribution will be estimated; the default is that of :func:`estimate`. ``IBU()`` is several times
        faster.
    repeats, seed
        How often each setting is simulated, and the seed. The same seed gives the same plan. The default is 24 repeats,
        or 6 for each shape of the family.
    cache
        Whether to store simulated errors in the user's cache folder; or another folder.
    follow
        Called with the setting, the number of the repeat, and the number of repeats.
    name
        The name of a value in the query.
    rejects
        If the guess is a file of values: where to write rows that cannot be used. Without it, such a row is an error.
    span
        For unbounded values: the lowest and the highest value of any person, or the rows and columns of a map.
    shape
        A shape that the survey declares, as in :func:`estimate`. Estimates, and the shapes that replace a guess, will
        have it.

    Raises
    ------
    UnreachableTargetError
        If no number of people, or no epsilon, reaches the target. It has the remaining error.

    Examples
    --------
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
    # All shapes are looked at where the worst one meets the target.
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
    """Return about how many surveys a plan simulates.

    From this its running time can be estimated.
    """
    shapes = len(family_of(mechanism)) if guess is None else 1
    times = SHAPE_REPEATS if guess is None else REPEATS
    settings = len(PEOPLE_FACTORS) + (0 if epsilon_of(mechanism) is None else len(EPSILON_FACTORS) - 1)
    # A search simulates three to six settings. For a family it does so for two shapes, and evaluates every shape in
    # between.
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
    """Return the mechanism at a given epsilon, and whether it has one."""
    if isinstance(mechanism, Alphabet):
        # If epsilon is solved for, any start will do.
        return usual_mechanism(mechanism, 1.0 if epsilon is None else epsilon), epsilon is not None
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(
            f"A plan needs a mechanism such as TruncatedGeometric, or an alphabet; got {type(mechanism).__name__}."
        )
    return (mechanism if epsilon is None else mechanism.at(epsilon)), True


def _check_question(people: int | None, epsilon: float | None, target: float | None, *, has_epsilon: bool) -> None:
    """Reject a question with nothing to solve for, or too much."""
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
    """Reject a target that the uniform distribution already meets."""
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
    """Return the requested cache; `None` to store nothing."""
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
    """Return each guess's expected error along epsilon.

    None if the mechanism has no epsilon.
    """
    epsilon = epsilon_of(mechanism)
    if epsilon is None:
        return [None] * len(simulations)
    low, high = epsilon_bounds(mechanism)
    wanted = [epsilon if factor == 1 else float(f"{factor * epsilon:.3g}") for factor in EPSILON_FACTORS]
    places = sorted({one for one in wanted if one == epsilon or low <= one <= high})
    # All guesses share one mechanism for each epsilon, so its channel is built once.
    varied = [mechanism if one == epsilon else mechanism.at(one) for one in places]
    table = [[simulation.predict(one, people) for one in varied] for simulation in simulations]
    return [Curve("epsilon", tuple(places), tuple(row)) for row in table]


def _look_out(
    simulations: Sequence[Simulation], mechanism: Mechanism, people: int, answers: dict[str, Answer]
) -> tuple[Outlook, ...]:
    """Return the outlook of every guess, from best to worst.

    With a target, the best and the worst are those that need least and most.
    """
    # The expected error of each guess around this number of people.
    most = max(people, most_people(mechanism))
    wanted = [people if factor == 1 else round(float(f"{factor * people:.3g}")) for factor in PEOPLE_FACTORS]
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
        """Rank solved shapes first and last, because curves may cross."""
        end = 0 if one.answer is None else 1 if one.guess.name == worst else -1
        return end, one.prediction.mean

    return tuple(sorted(found, key=rank))

"""Plan: the people, the epsilon or the error of a survey, solved for before anyone is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from confide.errors import InvalidParameterError
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.plans.curves import Curve, Halving, Obstacle
from confide.plans.guesses import ALIKE, UNIFORM, Guess, as_guess, family_of
from confide.plans.measures import Distance, Measure, Prediction, choose_measure, ignorance
from confide.plans.searches import Answer, Goal, solve
from confide.plans.settings import (
    epsilon_bounds,
    epsilon_of,
    most_people,
    usual_mechanism,
    within,
)
from confide.plans.simulations import FEWEST_REPEATS, Cache, Follow, Simulation, usual_cache
from confide.solve.methods import Method, Stacked
from confide.values import Alphabet
from confide.values.checks import MOST_PEOPLE, check_count, check_positive
from confide.values.distances import has_emd
from confide.values.queries import Query
from confide.values.wording import Shown

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

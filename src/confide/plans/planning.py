"""Plan: the people, the epsilon or the error of a survey, solved for before anyone is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.alphabets import Alphabet
from confide.checks import check_count, check_positive
from confide.distances import has_emd
from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms import Mechanism
from confide.methods import Method, Stacked
from confide.plans.curves import Answer, Curve, Halving, Obstacle, Search
from confide.plans.guesses import UNIFORM, Guess, as_guess
from confide.plans.measures import Measure, Prediction, choose_measure, ignorance
from confide.plans.rivals import (
    MOST_PEOPLE,
    choose_rivals,
    epsilon_bounds,
    epsilon_of,
    most_people,
    usual_mechanism,
    with_epsilon,
)
from confide.plans.simulations import Cache, Follow, Simulation, usual_cache
from confide.queries import Query

METHOD: Method = Stacked()
"""The method that a plan is made for, unless another one is named: the default of ``estimate``."""

REPEATS = 24
"""Simulated surveys for each setting."""

FEWEST_REPEATS = 4

LEAST_PEOPLE = 10
USUAL_PEOPLE = 10_000.0
"""Fewest people that a plan looks at, and the start of its search for their number."""

PEOPLE_FACTORS = (0.25, 1.0, 4.0, 16.0)
EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Settings of the trade-off around the plan; rather more people than fewer, as halving an error takes them."""


@dataclass(frozen=True)
class Rival:
    """Another mechanism at the same promise: what to expect of it, or why it could not be simulated."""

    mechanism: Mechanism
    prediction: Prediction | None
    trouble: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
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
        The distribution that it was simulated with.
    method
        The method that will estimate.
    answer
        What was solved for; None if people and epsilon were both given.
    by_people, by_epsilon
        The trade-off around the plan. None along epsilon where the mechanism has none.
    rivals
        Other mechanisms at the same promise and with as many people.
    ignorance
        The error of the uniform distribution, which takes no report at all; None for a query.
    seed
        The seed of all of it.
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
    rivals: tuple[Rival, ...]
    ignorance: float | None
    seed: int

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
    guess: Any = UNIFORM,
    *,
    people: int | None = None,
    epsilon: float | None = None,
    target_emd: float | None = None,
    target_width: float | None = None,
    query: Query | None = None,
    mechanisms: Sequence[str] | str | None = None,
    method: Method = METHOD,
    repeats: int = REPEATS,
    seed: int = 0,
    cache: bool | str | Path | Cache = True,
    follow: Follow | None = None,
    name: str | None = None,
) -> Plan:
    """Predict the error of a survey, or solve for the people or the epsilon that a target takes.

    Of people, epsilon and a target two are given, and the third comes out. A mechanism's own epsilon counts as given
    unless people and a target are.

    Parameters
    ----------
    mechanism
        The mechanism, or an alphabet alone, for which the usual mechanism is taken.
    guess
        What the truth may look like: ``"uniform"``, a bundled dataset or its name, a past :class:`Estimate` or its
        file, or one probability for each value.
    people, epsilon
        How many will report, and what they are promised.
    target_emd
        The expected earth mover's distance from the truth to reach.
    target_width
        The half-width to reach that holds the answer to `query` in 95 of 100 surveys.
    query
        Predict the half-width of this question, such as ``"age >= 65"``, in place of a distance.
    mechanisms
        Which mechanisms to compare at the same promise, by their names in a survey; ``"all"`` for every one, None for
        those that are quick to simulate, ``()`` for none.
    method
        How the distribution will be estimated; as :func:`estimate` does unless told. ``IBU()`` is several times faster.
    repeats, seed
        How often each setting is simulated, and the seed: the same plan has the same numbers.
    cache
        Whether simulated numbers are kept on disk, in the user's cache folder; or the folder to keep them in.
    follow
        Called as it goes along with what is simulated, which repeat it is, and how many there are.
    name
        What a value is called in the query.

    Raises
    ------
    UnreachableTargetError
        If no people, or no epsilon, bring the target about; with the error that is left.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0)
    >>> guess = [0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02]
    >>> expected = cf.plan(mechanism, guess, people=1000, mechanisms=(), repeats=8, cache=False).prediction
    >>> 0.05 < expected.mean < 0.5, expected.margin < expected.mean
    (True, True)
    """
    target = _choose_target(mechanism, query, target_emd, target_width)
    _check_numbers(people, epsilon, target, (repeats, seed))
    base, is_given = _settle_mechanism(mechanism, epsilon)
    _check_question(people, epsilon, target, has_epsilon=is_given)
    believed = as_guess(guess, base, name or "value")
    measure = choose_measure(base.alphabet, query, name)
    nothing = ignorance(measure, believed.vector)
    _refuse_idle_target(target, nothing, believed)
    kept, solver = _choose_cache(cache), _check_method(method)
    simulation = Simulation(believed, measure, solver, int(repeats), int(seed), kept, follow)
    choose_rivals(base, mechanisms)  # refused now rather than after a long search
    answer = _solve(simulation, base, people, target)
    number = int(answer.value) if answer is not None and answer.unknown == "people" else int(people or 0)
    settled = with_epsilon(base, answer.value) if answer is not None and answer.unknown == "epsilon" else base
    by_people = _along_people(simulation, settled, number)
    return Plan(
        mechanism=settled,
        people=number,
        prediction=by_people.points[float(number)],
        measure=measure,
        guess=believed,
        method=method,
        answer=answer,
        by_people=by_people,
        by_epsilon=_along_epsilon(simulation, settled, number),
        rivals=tuple(_try(simulation, one, number) for one in choose_rivals(settled, mechanisms)),
        ignorance=nothing,
        seed=int(seed),
    )


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
    return (mechanism if epsilon is None else with_epsilon(mechanism, epsilon)), True


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


def _refuse_idle_target(target: float | None, nothing: float | None, guess: Guess) -> None:
    if target is not None and nothing is not None and not guess.is_uniform and target >= nothing:
        raise InvalidParameterError(
            f"A target of {target:.4g} takes no survey: the uniform distribution is only {nothing:.4g} away from the "
            f"guess {guess.name}. Ask for less."
        )


def _check_method(method: object) -> Method:
    if not isinstance(method, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {method!r}.")
    return method


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


def _solve(simulation: Simulation, mechanism: Mechanism, people: int | None, target: float | None) -> Answer | None:
    """Find the people or the epsilon that meets the target; None where there is none to meet."""
    if target is None:
        return None
    return (
        _solve_people(simulation, mechanism, target)
        if people is None
        else _solve_epsilon(simulation, mechanism, people, target)
    )


def _solve_people(simulation: Simulation, mechanism: Mechanism, target: float) -> Answer:
    def predict(people: float) -> Prediction:
        return simulation.predict(mechanism, int(people))

    bounds = float(LEAST_PEOPLE), float(most_people(mechanism))
    return Search("people", predict, target, bounds, simulation.measure.unit, whole=True).run(USUAL_PEOPLE)


def _solve_epsilon(simulation: Simulation, mechanism: Mechanism, people: int, target: float) -> Answer:
    def predict(epsilon: float) -> Prediction:
        return simulation.predict(with_epsilon(mechanism, epsilon), people)

    low, high = epsilon_bounds(mechanism)
    return Search("epsilon", predict, target, (low, high), simulation.measure.unit).run(math.sqrt(low * high))


def _along_people(simulation: Simulation, mechanism: Mechanism, people: int) -> Curve:
    most = max(people, most_people(mechanism))
    wanted = [people if factor == 1 else _rounded(factor * people) for factor in PEOPLE_FACTORS]
    places = sorted({many for many in wanted if 1 <= many <= most})
    predictions = tuple(simulation.predict(mechanism, many) for many in places)
    return Curve("people", tuple(map(float, places)), predictions)


def _along_epsilon(simulation: Simulation, mechanism: Mechanism, people: int) -> Curve | None:
    epsilon = epsilon_of(mechanism)
    if epsilon is None:
        return None
    low, high = epsilon_bounds(mechanism)
    wanted = [epsilon if factor == 1 else float(f"{factor * epsilon:.3g}") for factor in EPSILON_FACTORS]
    places = sorted({one for one in wanted if one == epsilon or low <= one <= high})
    predictions = tuple(simulation.predict(with_epsilon(mechanism, one), people) for one in places)
    return Curve("epsilon", tuple(places), predictions)


def _try(simulation: Simulation, mechanism: Mechanism, people: int) -> Rival:
    try:
        return Rival(mechanism, simulation.predict(mechanism, people))
    except ConfideError as error:  # this method may not know what to do with that mechanism
        return Rival(mechanism, None, str(error))


def _rounded(people: float) -> int:
    return round(float(f"{people:.3g}"))

"""Plan in sentences, as a table and for machines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from confide.alphabets import Categories
from confide.files import alphabet_record, csv_text
from confide.guarantees import LocalDP, MetricPrivacy
from confide.plans.curves import FARTHEST, Curve, Halving, Obstacle
from confide.plans.measures import Measure, Prediction, QueryWidth
from confide.plans.planning import Plan, Rival
from confide.plans.rivals import NOT_THE_SAME, epsilon_of, promise, with_epsilon
from confide.theory.identification import pool_identification
from confide.theory.words import remark_on
from confide.wording import counted, plural, with_unit

OBSTACLES = {
    Obstacle.NO_ERROR: "nothing is left to halve",
    Obstacle.NOT_SIMULATED: "what it takes to halve it was not simulated",
    Obstacle.FLAT: "more people do not lower it, as far as was simulated",
    Obstacle.TOO_FAR: f"halving it takes more than {FARTHEST:,.0f} times the people, extrapolated",
}

COLUMNS = (
    "part",
    "mechanism",
    "people",
    "epsilon",
    "measure",
    "unit",
    "expected",
    "standard_error",
    "margin",
    "repeats",
)


def headline(plan: Plan) -> str:
    """Return the answer, and what it would take to halve the error."""
    return f"{_answer(plan)}; {_halving(plan)}."


def remarks(plan: Plan) -> list[str]:
    """Return what else there is to know, a sentence or two each."""
    found = [
        remark_on(pool_identification((plan.mechanism,))),
        _own_error(plan),
        _by_epsilon(plan),
        _comparison(plan),
        _different_promises(plan),
        _flattery(plan),
        _idle(plan),
    ]
    return [one for one in found if one]


def expected(measure: Measure, prediction: Prediction) -> str:
    """Return an expected error with the plan's own margin.

    >>> from confide import Integers
    >>> from confide.plans.measures import Distance
    >>> expected(Distance(Integers(0, 9, unit="year")), Prediction(0.5, 0.01, 25))
    '0.500 ± 0.021 years'
    """
    if prediction.margin <= 1e-9:  # nothing scattered, so nothing says how many digits to show
        return with_unit(prediction.mean, measure.unit)
    decimals = max(0, 1 - math.floor(math.log10(prediction.margin)))
    amount = f"{prediction.mean:,.{decimals}f} ± {prediction.margin:,.{decimals}f}"
    return f"{amount} {plural(measure.unit)}".rstrip()


def people_in_words(people: float) -> str:
    """Return a number of people with no more digits than it deserves.

    >>> people_in_words(49823.2), people_in_words(312)
    ('49,800', '312')
    """
    return f"{float(f'{people:.3g}'):,.0f}"


def _answer(plan: Plan) -> str:
    said, what = promise(plan.mechanism), plan.measure.name
    if plan.answer is None:
        error = expected(plan.measure, plan.prediction)
        return f"With {counted(plan.people, 'person')} and {said} you can expect {_article(what)} {what} of {error}"
    target = with_unit(plan.answer.target, plan.measure.unit)
    goal = f"{_article(what)} {what} of {target}"
    if plan.answer.unknown == "people":
        between = f"{people_in_words(plan.answer.low)} to {people_in_words(plan.answer.high)}"
        return f"With {said}, {goal} takes about {counted(plan.people, 'person')} ({between})"
    between = f"{plan.answer.low:.3g} to {plan.answer.high:.3g}"
    return f"With {counted(plan.people, 'person')}, {goal} takes about {said} ({between})"


def _article(name: str) -> str:
    return "an" if name.startswith("EMD") else "a"


def _halving(plan: Plan) -> str:
    halving, obstacle = plan.halving, plan.obstacle
    if obstacle is not None:
        return OBSTACLES[obstacle]
    return "" if halving is None else f"halving it needs {_times(halving)} the people"


def _times(halving: Halving) -> str:
    """Return a factor with its range; where its upper end is out of sight, only the lower one.

    >>> _times(Halving(4.0, 3.5, 4.6, is_extrapolated=False))
    'about 4 times (3.5 to 4.6)'
    >>> _times(Halving(40.0, 8.0, 800.0, is_extrapolated=True))
    'about 40 times (8 or more, extrapolated)'
    """
    upper = f"to {_rough(halving.high)}" if halving.high <= FARTHEST else "or more"
    beyond = ", extrapolated" if halving.is_extrapolated else ""
    return f"about {_rough(halving.factor)} times ({_rough(halving.low)} {upper}{beyond})"


def _rough(factor: float) -> str:
    """Return a factor with two digits.

    >>> _rough(4.04), _rough(174.3)
    ('4', '170')
    """
    return f"{float(f'{factor:.2g}'):,.10g}"


def _own_error(plan: Plan) -> str:
    slope = plan.by_people.slope(float(plan.people)) if plan.prediction.margin > 1e-9 else None
    simulated = (
        f"Simulated {plan.prediction.repeats} times at each setting with {plan.method.name} and the guess "
        f"{plan.guess.name!r}; what follows ± is the plan's own error, 95 %."
    )
    if slope is None:
        return simulated
    power = f"{_signed(slope.exponent)} (± {slope.margin:.2g})"
    crowd = counted(plan.people, "person")
    return f"{simulated} Around {crowd} the error goes with people to the power {power}, as measured."


def _signed(exponent: float) -> str:
    return f"{exponent:.2f}".replace("-", "\N{MINUS SIGN}")


def _by_epsilon(plan: Plan) -> str:
    curve, epsilon = plan.by_epsilon, plan.epsilon
    if curve is None or epsilon is None:
        return ""
    points = curve.points
    below = max((place for place in points if place < epsilon), default=None)
    above = min((place for place in points if place > epsilon), default=None)
    parts = [
        f"{label} promise, {promise(with_epsilon(plan.mechanism, place))}, {expected(plan.measure, points[place])}"
        for label, place in (("a stronger", below), ("a weaker", above))
        if place is not None
    ]
    return f"With as many people, under {'; under '.join(parts)}." if parts else ""


def _comparison(plan: Plan) -> str:
    known = [(one.mechanism.kind, one.prediction) for one in plan.rivals if one.prediction is not None]
    if not known:
        return ""
    kind, best = min(known, key=lambda one: one[1].mean)
    own = plan.prediction
    unclear = (best.margin**2 + own.margin**2) ** 0.5
    if abs(best.mean - own.mean) <= unclear:
        verdict = f"{kind} is as good as {plan.mechanism.kind}, as far as the simulation can tell"
    elif best.mean < own.mean:
        verdict = f"{kind} does better than {plan.mechanism.kind}: {expected(plan.measure, best)}"
    else:
        verdict = f"{plan.mechanism.kind} does best; next is {kind} with {expected(plan.measure, best)}"
    return f"At the same promise and with as many people, {verdict}."


def _different_promises(plan: Plan) -> str:
    """Say what is not compared, unless there is nothing of the kind: on categories the two promises are one."""
    return "" if not plan.rivals or isinstance(plan.mechanism.alphabet, Categories) else NOT_THE_SAME


def _flattery(plan: Plan) -> str:
    if not plan.guess.is_uniform:
        return ""
    return (
        "The guess is uniform, which is also what methods start from or are drawn to, so that the error is understated "
        "where noise is strong. Take a bundled histogram or a past estimate that looks like what you expect."
    )


def _idle(plan: Plan) -> str:
    if plan.ignorance is None or plan.guess.is_uniform:
        return ""
    known = with_unit(plan.ignorance, plan.measure.unit)
    if plan.prediction.mean < plan.ignorance:
        return f"For comparison: the uniform distribution, which takes no report at all, is {known} away."
    return f"This is no better than asking nobody: the uniform distribution is {known} away."


def kind_of_promise(plan: Plan) -> str:
    """Return what kind of promise the mechanisms of a plan make.

    It heads the comparison, so that nobody reads an epsilon of one kind as one of the other.
    """
    guarantee = plan.mechanism.guarantee
    if isinstance(guarantee, LocalDP):
        return "local differential privacy"
    return "metric privacy" if isinstance(guarantee, MetricPrivacy) else "the survey's promise"


def width_meaning(plan: Plan) -> str:
    """Return what the half-width of a query is; nothing where the plan is about a distance."""
    if not isinstance(plan.measure, QueryWidth):
        return ""
    return "The share is estimated to within the half-width in 95 of 100 surveys, bias included; 0.01 is one percent."


def trouble_of(rival: Rival) -> str:
    """Return why a rival has no prediction, in one line."""
    return " ".join(rival.trouble.split())


def plan_record(plan: Plan) -> dict[str, Any]:
    """Return everything that a plan says, ready for :func:`confide.files.to_json`."""
    slope, halving = plan.by_people.slope(float(plan.people)), plan.halving
    return {
        "sentence": headline(plan),
        "remarks": remarks(plan),
        "alphabet": alphabet_record(plan.mechanism.alphabet),
        "mechanism": {"kind": plan.mechanism.kind, "description": repr(plan.mechanism)},
        "guarantee": str(plan.mechanism.guarantee),
        "guess": plan.guess.name,
        "method": plan.method.name,
        "settings": repr(plan.method),
        "seed": plan.seed,
        "measure": {"name": plan.measure.name, "unit": plan.measure.unit or None},
        "people": plan.people,
        "epsilon": plan.epsilon,
        "expected": prediction_record(plan.prediction),
        "solved": None if plan.answer is None else asdict(plan.answer),
        "exponent": None if slope is None else asdict(slope) | {"margin": slope.margin},
        "halving": None if halving is None else asdict(halving),
        "obstacle": plan.obstacle,
        "ignorance": plan.ignorance,
        "by_people": _curve_record(plan.by_people),
        "by_epsilon": None if plan.by_epsilon is None else _curve_record(plan.by_epsilon),
        "mechanisms": [
            {
                "kind": one.mechanism.kind,
                "description": repr(one.mechanism),
                "expected": None if one.prediction is None else prediction_record(one.prediction),
                "trouble": trouble_of(one) or None,
            }
            for one in plan.rivals
        ],
    }


def prediction_record(prediction: Prediction) -> dict[str, Any]:
    """Return an expected error and how exactly it is known."""
    return {
        "mean": prediction.mean,
        "standard_error": prediction.standard_error,
        "margin": prediction.margin,
        "repeats": prediction.repeats,
    }


def plan_csv(plan: Plan) -> str:
    """Return every setting that was simulated for the table of a plan, one row each."""
    return csv_text(COLUMNS, _rows(plan))


def _curve_record(curve: Curve) -> list[dict[str, Any]]:
    return [{curve.along: place} | prediction_record(one) for place, one in curve.points.items()]


def _rows(plan: Plan) -> Iterator[list[Any]]:
    kind, measure = plan.mechanism.kind, plan.measure
    yield ["plan", kind, plan.people, plan.epsilon, *_cells(measure, plan.prediction)]
    for people, one in plan.by_people.points.items():
        yield ["by people", kind, int(people), plan.epsilon, *_cells(measure, one)]
    for epsilon, one in ({} if plan.by_epsilon is None else plan.by_epsilon.points).items():
        yield ["by epsilon", kind, plan.people, epsilon, *_cells(measure, one)]
    for rival in plan.rivals:
        if rival.prediction is not None:
            other = rival.mechanism
            yield ["mechanism", other.kind, plan.people, epsilon_of(other), *_cells(measure, rival.prediction)]


def _cells(measure: Measure, one: Prediction) -> list[Any]:
    return [measure.name, measure.unit, one.mean, one.standard_error, one.margin, one.repeats]

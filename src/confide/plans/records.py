"""A plan in sentences, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from confide.check.shapes import bring
from confide.data.files import alphabet_record, csv_text
from confide.plans.planning import FARTHEST, Answer, Halving, Obstacle, Outlook, Plan
from confide.plans.simulations import Measure, Prediction, QueryWidth, promise
from confide.theory.identification import pool_identification
from confide.theory.verdicts import remark_on
from confide.values.wording import counted, listed, plural, with_unit


def headline(plan: Plan) -> str:
    """Return the answer, the people for half the error, and flattery."""
    if plan.outlooks:
        return f"{_range(plan)}; {_halving(plan)}."
    sentence = f"{answer_in_words(plan)}; {_halving(plan)}."
    return sentence if plan.flattery is None else f"{sentence} {flattery_in_words(plan)}"


def remarks(plan: Plan) -> list[str]:
    """Return further remarks, a sentence or two each."""
    found = [
        remark_on(pool_identification((plan.mechanism,))),
        _own_error(plan),
        _by_epsilon(plan),
        _family(plan),
        _span(plan),
        _shape(plan),
        _idle(plan),
    ]
    return [one for one in found if one]


def _shape(plan: Plan) -> str:
    """Return how a declared shape affects the plan.

    It also says how far the guess is from that shape.
    """
    if plan.shape is None:
        return ""
    words = f"Estimates are looked for where {plan.shape.condition}"
    if plan.outlooks:
        words += ", and each shape of the truth was brought to the nearest one of this kind"
    else:
        off = float(abs(bring(plan.guess.vector, plan.shape, plan.mechanism.alphabet) - plan.guess.vector).sum()) / 2
        # A tenth of a percent of people is rounding, not a different shape.
        words += f"; the guess is {off:.1%} of people away from that" if off > 0.001 else ", as the guess is"
    if plan.interval_widths is not None:
        shaped, free = plan.interval_widths
        words += f". The interval of the answer, at 95%, will be about {shaped:.3f} wide in it, and {free:.3f} without"
    return f"{words}."


def expected(measure: Measure, prediction: Prediction) -> str:
    """Return an expected error with the plan's own margin.

    >>> from confide import Integers
    >>> from confide.plans.simulations import Distance
    >>> expected(Distance(Integers(0, 9, unit="year")), Prediction(0.5, 0.01, 25))
    '0.500 ± 0.021 years'
    """
    if prediction.margin <= 1e-9:  # no scatter, so no margin sets the number of digits
        return with_unit(prediction.mean, measure.unit)
    decimals = max(0, 1 - math.floor(math.log10(prediction.margin)))
    amount = f"{prediction.mean:,.{decimals}f} ± {prediction.margin:,.{decimals}f}"
    return f"{amount} {plural(measure.unit)}".rstrip()


def answer_in_words(plan: Plan) -> str:
    """Return the expected error, or what the target needs."""
    said, what = promise(plan.mechanism), plan.measure.name
    if plan.answer is None:
        error = expected(plan.measure, plan.prediction)
        return f"With {counted(plan.people, 'person')} and {said} you can expect {_article(what)} {what} of {error}"
    goal = f"{_article(what)} {what} of {with_unit(plan.answer.target, plan.measure.unit)}"
    crowd = counted(plan.people, "person")
    given, takes = (said, crowd) if plan.answer.unknown == "people" else (crowd, said)
    low, high = (_amount(plan.answer, end) for end in (plan.answer.low, plan.answer.high))
    return f"With {given}, {goal} takes about {takes} ({low} to {high})"


def _range(plan: Plan) -> str:
    """Return the answer for a family, from best to worst shape."""
    said, what = promise(plan.mechanism), plan.measure.name
    best, worst = plan.outlooks[0], plan.outlooks[-1]
    if plan.answer is None:
        ends = f"{best.prediction.mean:.3g} ({best.guess.name}) and {worst.prediction.mean:.3g} ({worst.guess.name})"
        between = f"{ends} {plural(plan.measure.unit)}".rstrip()
        return (
            f"With {counted(plan.people, 'person')} and {said} you can expect {_article(what)} {what} between "
            f"{between}, by the shape of the truth. Unless you know the shape, expect no better than "
            f"{expected(plan.measure, worst.prediction)}"
        )
    needs = answer_in_words(plan)
    if best.answer is None:
        return f"{needs}, whatever the shape"
    least = f"{_amount(best.answer, best.answer.value)}{' or less' if best.answer.is_least else ''}"
    return (
        f"{needs} in the worst case, {worst.guess.name}, and {least} in the best, {best.guess.name}; unless you know "
        f"the shape, count on the worst"
    )


def _amount(answer: Answer, value: float) -> str:
    # People are rounded to three digits.
    return f"{float(f'{value:.3g}'):,.0f}" if answer.unknown == "people" else f"{value:.3g}"


def range_cell(plan: Plan, along: str, place: float) -> tuple[str, str]:
    """Return the range of errors at one setting, with its shapes."""
    found = {}
    for one in plan.outlooks:
        curve = one.by_people if along == "people" else one.by_epsilon
        if curve is not None:
            found[one.guess.name] = curve.points[place].mean
    best, worst = min(found, key=lambda one: found[one]), max(found, key=lambda one: found[one])
    ends = f"{found[best]:.3g} to {found[worst]:.3g} {plural(plan.measure.unit)}".rstrip()
    return ends, f"{best} to {worst}"


def solved_cell(outlook: Outlook) -> str:
    """Return what the target needs for one shape.

    Only the best and the worst shape are solved; the others lie between.
    """
    found = outlook.answer
    if found is None:
        return "between the two"
    value = counted(int(found.value), "person") if found.unknown == "people" else f"epsilon {found.value:.3g}"
    return f"{value} or less" if found.is_least else value


def _article(name: str) -> str:
    return "an" if name.startswith("EMD") else "a"


def _halving(plan: Plan) -> str:
    found = plan.by_people.halve(float(plan.people))
    match found:
        case Obstacle.NO_ERROR:
            return "nothing is left to halve"
        case Obstacle.NOT_SIMULATED:
            return "what it takes to halve it was not simulated"
        case Obstacle.FLAT:
            return "more people do not lower it, as far as was simulated"
        case Obstacle.TOO_FAR:
            return f"halving it takes more than {FARTHEST:,.0f} times the people, extrapolated"
        case halving:
            return f"halving {'that' if plan.outlooks else 'it'} needs {_times(halving)} the people"


def _times(halving: Halving) -> str:
    """Return a factor with its range.

    An upper end beyond the limit of extrapolation is left out.

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
    truth = "each shape" if plan.outlooks else f"the guess {plan.guess.name!r}"
    simulated = (
        f"Simulated {plan.prediction.repeats} times at each setting with {plan.method.name} and {truth}; what follows "
        f"± is the plan's own error, 95 %."
    )
    if slope is None:
        return simulated
    exponent = f"{slope.exponent:.2f}".replace("-", "\N{MINUS SIGN}")
    power = f"{exponent} (± {slope.margin:.2g})"
    crowd = counted(plan.people, "person")
    return f"{simulated} Around {crowd} the error goes with people to the power {power}, as measured."


def _by_epsilon(plan: Plan) -> str:
    curve, epsilon = plan.by_epsilon, plan.epsilon
    if curve is None or epsilon is None:
        return ""
    points = curve.points
    below = max((place for place in points if place < epsilon), default=None)
    above = min((place for place in points if place > epsilon), default=None)
    parts = [
        f"{label} promise, {promise(plan.mechanism.at(place))}, {expected(plan.measure, points[place])}"
        for label, place in (("a stronger", below), ("a weaker", above))
        if place is not None
    ]
    return f"With as many people, under {'; under '.join(parts)}." if parts else ""


def flattery_in_words(plan: Plan) -> str:
    """Return why the guess flatters the survey, and what to do."""
    found = plan.flattery
    if found is None:
        return ""
    signs = []
    if found.is_backward:
        signs.append("with it a stronger promise costs nothing, because the method is drawn to just such a truth")
    elif found.is_uniform:
        signs.append("it is uniform, or nearly so, which is what methods start from and are drawn to")
    if found.is_low:
        low, high = (end(found.shapes.values(), key=attrgetter("mean")) for end in (min, max))
        names = {id(one): name for name, one in found.shapes.items()}
        unit = plural(plan.measure.unit)
        ends = f"{low.mean:.3g} ({names[id(low)]}) to {high.mean:.3g} ({names[id(high)]}) {unit}".rstrip()
        signs.append(f"other shapes lead to {ends}")
    return (
        f"But the guess {plan.guess.name!r} flatters: {'; '.join(signs)}. Plan without a guess, or with one that looks "
        f"like what you expect."
    )


def _span(plan: Plan) -> str:
    if not plan.is_spanned:
        return ""
    return (
        f"The values are taken to lie in {plan.mechanism.alphabet!r}, and the estimate to know it: state it in the "
        f"survey that you estimate with, of which the reports need not be made again. Where it does not know, expect "
        f"more."
    )


def _family(plan: Plan) -> str:
    if not plan.outlooks:
        return ""
    names = listed([one.guess.name for one in plan.outlooks])
    return (
        f"No guess was given, so the plan is over {counted(len(plan.outlooks), 'unlike shape')}: {names}. What is said "
        f"above of one number is about the worst of them, {plan.guess.name}. A guess that looks like what "
        f"you expect narrows the range."
    )


def _idle(plan: Plan) -> str:
    if plan.ignorance is None or plan.guess.is_uniform:
        return ""
    known, whose = with_unit(plan.ignorance, plan.measure.unit), f" from {plan.guess.name}" if plan.outlooks else ""
    if plan.prediction.mean < plan.ignorance:
        return f"For comparison: the uniform distribution, which takes no report at all, is {known} away{whose}."
    return f"This is no better than asking nobody: the uniform distribution is {known} away{whose}."


def width_meaning(plan: Plan) -> str:
    """Return what a query's half-width means; empty for a distance."""
    if not isinstance(plan.measure, QueryWidth):
        return ""
    return "The share is estimated to within the half-width in 95 of 100 surveys, bias included; 0.01 is one percent."


def plan_record(plan: Plan) -> dict[str, Any]:
    """Return the whole plan, ready for :func:`confide.data.files.to_json`."""
    slope, halving, found = plan.by_people.slope(float(plan.people)), plan.halving, plan.flattery
    flattery = None
    if found is not None:
        flattery = {
            "sentence": flattery_in_words(plan),
            "is_uniform": found.is_uniform,
            "part_of_usual_error": found.low,
            "rise": found.rise,
            "usual_rise": found.usual_rise,
            "shapes": {name: prediction_record(one) for name, one in found.shapes.items()},
        }
    return {
        "sentence": headline(plan),
        "remarks": remarks(plan),
        "alphabet": alphabet_record(plan.mechanism.alphabet),
        "mechanism": {"kind": plan.mechanism.kind, "description": repr(plan.mechanism)},
        "guarantee": str(plan.mechanism.guarantee),
        "guess": None if plan.outlooks else plan.guess.name,
        "shape": None if plan.shape is None else list(plan.shape.words),
        "interval_widths": plan.interval_widths,
        "rows": None if plan.guess.account is None else plan.guess.account.record,
        "flattery": flattery,
        "best": plan.outlooks[0].guess.name if plan.outlooks else None,
        "worst": plan.outlooks[-1].guess.name if plan.outlooks else None,
        "shapes": [
            {
                "shape": one.guess.name,
                "expected": prediction_record(one.prediction),
                "solved": None if one.answer is None else asdict(one.answer),
                **_curves_record(one),
            }
            for one in plan.outlooks
        ],
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
        **_curves_record(plan),
    }


def prediction_record(prediction: Prediction) -> dict[str, Any]:
    """Return an expected error and its precision."""
    return {
        "mean": prediction.mean,
        "standard_error": prediction.standard_error,
        "margin": prediction.margin,
        "repeats": prediction.repeats,
    }


def plan_csv(plan: Plan) -> str:
    """Return all simulated settings of a plan, one row each."""
    of_plan, of_error = ("part", "guess", "mechanism", "people", "epsilon"), ("expected", "standard_error", "margin")
    return csv_text((*of_plan, "measure", "unit", *of_error, "repeats"), _rows(plan))


def _curves_record(of: Plan | Outlook) -> dict[str, Any]:
    curves, found = {"by_people": of.by_people, "by_epsilon": of.by_epsilon}, dict[str, Any]()
    for name, curve in curves.items():
        found[name] = None
        if curve is not None:
            found[name] = [{curve.along: place} | prediction_record(one) for place, one in curve.points.items()]
    return found


def _rows(plan: Plan) -> Iterator[list[Any]]:
    kind, measure = plan.mechanism.kind, plan.measure
    yield ["plan", plan.guess.name, kind, plan.people, plan.epsilon, *_cells(measure, plan.prediction)]
    for shape in plan.outlooks:
        yield ["shape", shape.guess.name, kind, plan.people, plan.epsilon, *_cells(measure, shape.prediction)]
    for outlook in plan.outlooks or (plan,):
        name = outlook.guess.name
        for people, one in outlook.by_people.points.items():
            yield ["by people", name, kind, int(people), plan.epsilon, *_cells(measure, one)]
        for epsilon, one in ({} if outlook.by_epsilon is None else outlook.by_epsilon.points).items():
            yield ["by epsilon", name, kind, plan.people, epsilon, *_cells(measure, one)]


def _cells(measure: Measure, one: Prediction) -> list[Any]:
    return [measure.name, measure.unit, one.mean, one.standard_error, one.margin, one.repeats]

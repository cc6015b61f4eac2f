"""Page of a plan."""

from __future__ import annotations

from dataclasses import replace

import confide
from confide.explanations import describe_mechanism
from confide.figures import draw_tradeoff
from confide.pages.findings import tell_tradeoff
from confide.pages.markup import (
    NONE,
    answer_list,
    bullets,
    document,
    fact_list,
    fold,
    paragraph,
    provenance,
    section,
    table,
    text,
    wide_figure,
)
from confide.pages.pictures import at_widths
from confide.plans.curves import Curve
from confide.plans.measures import Prediction
from confide.plans.planning import Plan
from confide.plans.records import (
    expected,
    headline,
    kind_of_promise,
    range_cell,
    remarks,
    solved_cell,
    trouble_of,
    width_meaning,
)
from confide.plans.rivals import promise
from confide.surveys import Survey
from confide.wording import plural, with_unit


def plan_page(survey: Survey, plan: Plan) -> str:
    """Return one self-contained HTML document that shows a plan: the sentence, the trade-off, the mechanisms.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> made = cf.plan(survey.mechanism, [0.7, 0.3], people=500, repeats=4, cache=False)
    >>> plan_page(survey, made).splitlines()[0]
    '<!DOCTYPE html>'
    """
    return document(
        title=text(f"What to expect: {survey.title}"),
        summary=text(headline(plan)),
        facts=_facts(plan),
        body="\n".join(
            [_leading(plan), _picture(plan), _notes(plan), _shapes(plan), _mechanisms(plan), _tradeoff(plan)]
        ),
        footer=_provenance(survey, plan),
    )


def _leading(plan: Plan) -> str:
    """Return what to expect, in large letters, and what of."""
    now, _, margin = expected(plan.measure, plan.prediction).partition(" ± ")
    unit = f" {plural(plan.measure.unit)}" if margin and plan.measure.unit else ""
    return answer_list(
        [
            (f"Expected {plan.measure.name}, at 95%", now + unit, f"± {margin}" if margin else ""),
            ("People", f"{plan.people:,}", ""),
            ("Promise", promise(plan.mechanism), kind_of_promise(plan)),
        ]
    )


def _facts(plan: Plan) -> str:
    facts = {
        "Guess": f"none; {plan.guess.name} is the worst shape" if plan.outlooks else plan.guess.name,
    }
    if plan.guess.account is not None:
        facts["Guess read"] = plan.guess.account.description
    return fact_list(facts)


def _picture(plan: Plan) -> str:
    shapes = [curve for one in plan.outlooks for curve in (one.by_people, one.by_epsilon) if curve is not None]
    if any(one.mean <= 0 for curve in [plan.by_people, *shapes] for one in curve.predictions):
        return ""  # a logarithmic axis has no place for it
    described = tell_tradeoff(plan)
    caption = (
        "Each point is the mean over simulated surveys; bars are the plan's own error, at 95%. A ring marks the plan. "
        "The axes of the two curves are logarithmic."
    )
    if plan.outlooks:
        caption = f"The band holds all shapes, each a faint line; the strong one is {plan.guess.name}. {caption}"
    drawn = at_widths(lambda width: draw_tradeoff(plan, width=width), described)
    return section("The trade-off", wide_figure(*drawn, caption=caption), kind="hero")


def _notes(plan: Plan) -> str:
    meaning = width_meaning(plan)
    return section("What to know about it", bullets([*([meaning] if meaning else []), *remarks(plan)]))


def _shapes(plan: Plan) -> str:
    """Return what to expect of every shape, from the best to the worst, and what the target takes for the two ends."""
    if not plan.outlooks:
        return ""
    rows = [
        [
            _marked(one.guess.name, is_plan=one.guess is plan.guess, mark="the worst"),
            *_cells(plan, one.prediction),
            *([] if plan.answer is None else [text(solved_cell(one))]),
        ]
        for one in plan.outlooks
    ]
    takes = [] if plan.answer is None else ["The target takes"]
    listed = table(["Shape of the truth", "Expected error", "Standard error", *takes], rows)
    return section("By the shape of the truth", listed)


def _tradeoff(plan: Plan) -> str:
    shapes = ["From best to worst", "Shapes"] if plan.outlooks else []
    heads = [f"Expected error, {plan.guess.name}" if plan.outlooks else "Expected error", "Standard error", *shapes]
    people = [
        [_marked(f"{int(place):,}", is_plan=place == plan.people), *_cells(plan, one), *_range(plan, "people", place)]
        for place, one in plan.by_people.points.items()
    ]
    parts = [table(["People", *heads], people)]
    if plan.by_epsilon is not None:
        parts.append(table(["Promise", *heads], _epsilon_rows(plan, plan.by_epsilon)))
    lead = paragraph(f"Above with {promise(plan.mechanism)}, below with {plan.people:,} people.")
    return fold("The trade-off in numbers", lead if plan.by_epsilon is not None else "", *parts)


def _epsilon_rows(plan: Plan, curve: Curve) -> list[list[str]]:
    return [
        [
            _marked(promise(plan.mechanism.at(place)), is_plan=place == plan.epsilon),
            *_cells(plan, one),
            *_range(plan, "epsilon", place),
        ]
        for place, one in curve.points.items()
    ]


def _range(plan: Plan, along: str, place: float) -> list[str]:
    return [text(one) for one in range_cell(plan, along, place)] if plan.outlooks else []


def _marked(words: str, *, is_plan: bool, mark: str = "the plan") -> str:
    return f"<strong>{text(words)} ({mark})</strong>" if is_plan else text(words)


def _cells(plan: Plan, one: Prediction) -> list[str]:
    return [text(expected(plan.measure, one)), text(with_unit(one.standard_error, plan.measure.unit))]


def _mechanisms(plan: Plan) -> str:
    if not plan.rivals:
        return ""
    own = [_marked(plan.mechanism.kind, is_plan=True), text(promise(plan.mechanism))]
    rows = [[*own, text(expected(plan.measure, plan.prediction)), ""]]
    for one in plan.rivals:
        error = NONE if one.prediction is None else text(expected(plan.measure, one.prediction))
        rows.append([text(one.mechanism.kind), text(promise(one.mechanism)), error, text(trouble_of(one))])
    # A column that says the same in every row, or nothing in any, only makes a telephone's table too wide.
    shown = [column for column in range(4) if column in (0, 2) or len({row[column] for row in rows}) > 1]
    heads = ("Mechanism", "Promise", "Expected error", "Trouble")
    kept = [[row[column] for column in shown] for row in rows]
    words = [place for place, column in enumerate(shown) if column != 2]
    listed = table([heads[column] for column in shown], kept, words=words, kind="stacked" if len(shown) > 2 else "")
    shape = f" Simulated with the worst shape, {plan.guess.name}." if plan.outlooks else ""
    lead = paragraph(f"All of these promise the same, {kind_of_promise(plan)}, to as many people.{shape}")
    return section("Mechanisms at the same promise", lead, listed)


def _provenance(survey: Survey, plan: Plan) -> str:
    made = (
        f"Made by confide {confide.__version__} with {plan.method!r}, {plan.prediction.repeats} repeats, seed "
        f"{plan.seed}, for {describe_mechanism(survey)}. People are drawn independently from the guess, or from each "
        f"shape. "
        "The survey as planned:"
    )
    return provenance(made, replace(survey, mechanism=plan.mechanism))

"""Summary of a plan: what to expect of a survey, or what a target takes."""

from __future__ import annotations

from dataclasses import replace

import confide
from confide.estimates.explanations import describe_mechanism
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.plans import records as words_of
from confide.plans.measures import Prediction
from confide.plans.planning import Plan
from confide.plans.settings import promise
from confide.present import summary as say
from confide.present.figures import draw_tradeoff
from confide.present.pictures import tell_tradeoff
from confide.present.summary import Bullets, Cell, Listing, Part, Picture, Row, Section, Summary
from confide.surveys.survey import Survey
from confide.values.wording import plural, with_unit


def summarise_plan(survey: Survey, plan: Plan) -> Summary:
    """Return all that a plan says."""
    measure, account = plan.measure, plan.guess.account
    now, _, margin = words_of.expected(measure, plan.prediction).partition(" ± ")
    unit = f" {plural(measure.unit)}" if margin and measure.unit else ""
    facts = {"Guess": f"none; {plan.guess.name} is the worst shape" if plan.outlooks else plan.guess.name}
    facts |= {} if account is None else {"Guess read": account.description}
    meaning = words_of.width_meaning(plan)
    facts["Error"] = "expected half-width" if meaning else f"expected {measure.name}"
    known = [*([meaning] if meaning else []), *words_of.remarks(plan)]
    guarantee = plan.mechanism.guarantee
    kind = "metric privacy" if isinstance(guarantee, MetricPrivacy) else "the survey's promise"
    kind = "local differential privacy" if isinstance(guarantee, LocalDP) else kind
    made = (
        f"Made by confide {confide.__version__} with {plan.method!r}, {plan.prediction.repeats} repeats, seed "
        f"{plan.seed}, for {describe_mechanism(survey)}. People are drawn independently from the guess, or from each "
        f"shape. The survey as planned:"
    )
    return Summary(
        title=f"What to expect: {survey.title}",
        headline=words_of.headline(plan),
        opening=list(facts.items()),
        facts=facts,
        leading=[
            (f"Expected {measure.name}, at 95%", now + unit, f"± {margin}" if margin else ""),
            ("People", f"{plan.people:,}", ""),
            ("Promise", promise(plan.mechanism), kind),
        ],
        sections=[
            Section("The trade-off", _picture(plan), "hero"),
            Section("What to know about it", [Bullets(known)]),
            *_shapes(plan),
            _tradeoff(plan),
        ],
        origin=say.come_from(made, replace(survey, mechanism=plan.mechanism)),
    )


def _picture(plan: Plan) -> list[Part]:
    shapes = [curve for one in plan.outlooks for curve in (one.by_people, one.by_epsilon) if curve is not None]
    if any(one.mean <= 0 for curve in [plan.by_people, *shapes] for one in curve.predictions):
        return []  # a logarithmic axis has no place for it
    caption = (
        "Each point is the mean over simulated surveys; bars are the plan's own error, at 95%. A ring marks the plan. "
        "The axes of the two curves are logarithmic."
    )
    if plan.outlooks:
        caption = f"The band holds all shapes, each a faint line; the strong one is {plan.guess.name}. {caption}"
    return [Picture(lambda width: draw_tradeoff(plan, width=width), tell_tradeoff(plan), caption)]


def _shapes(plan: Plan) -> list[Section]:
    """Return what to expect of every shape, from the best to the worst, and what the target takes for the two ends."""
    rows: list[Row] = [
        [
            _marked(one.guess.name, is_plan=one.guess is plan.guess, mark="the worst"),
            *_cells(plan, one.prediction),
            *([] if plan.answer is None else [words_of.solved_cell(one)]),
        ]
        for one in plan.outlooks
    ]
    takes = [] if plan.answer is None else ["What the target takes"]
    table = Listing(["Shape of the truth", "Expected error", "Standard error", *takes], rows)
    return [Section("By the shape of the truth", [table])] if rows else []


def _tradeoff(plan: Plan) -> Section:
    shapes = ["From best to worst", "Shapes"] if plan.outlooks else []
    heads = [f"Expected error, {plan.guess.name}" if plan.outlooks else "Expected error", "Standard error", *shapes]
    parts: list[Part] = []
    if plan.by_epsilon is not None:
        parts.append(f"Above with {promise(plan.mechanism)}, below with {plan.people:,} people.")
    for along, curve in (("people", plan.by_people), ("epsilon", plan.by_epsilon)):
        rows = []
        for place, one in ({} if curve is None else curve.points).items():
            said = f"{int(place):,}" if along == "people" else promise(plan.mechanism.at(place))
            marked = _marked(said, is_plan=place == (plan.people if along == "people" else plan.epsilon))
            ends = words_of.range_cell(plan, along, place) if plan.outlooks else ()
            rows.append([marked, *_cells(plan, one), *ends])
        parts += [Listing(["People" if along == "people" else "Promise", *heads], rows)] if rows else []
    return Section("The trade-off in numbers", parts, "fold")


def _marked(words: str, *, is_plan: bool, mark: str = "the plan") -> Cell:
    return Cell(f"{words} ({mark})", is_strong=True) if is_plan else Cell(words)


def _cells(plan: Plan, one: Prediction) -> list[str]:
    return [words_of.expected(plan.measure, one), with_unit(one.standard_error, plan.measure.unit)]

"""Summaries of a survey, of its audit, and of a plan."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import confide
from confide.channels.base import FloatArray
from confide.data.files import alphabet_record
from confide.estimates.explanations import (
    describe_alphabet,
    describe_mechanism,
    describe_repetition,
    describe_report,
    describe_shuffled,
    describe_value,
    explain_guarantee,
    odds_in_words,
)
from confide.evidence.counts import Origin
from confide.mechanisms.audits import Audit
from confide.mechanisms.comparison import PEOPLE
from confide.plans import records as words_of
from confide.plans.levels import EpsilonLevel, levels, look_ahead
from confide.plans.planning import Curve, Plan
from confide.plans.ranking import Ranking
from confide.plans.records import expected
from confide.plans.simulations import Prediction, QueryWidth, promise
from confide.present import summary as say
from confide.present.figures import draw_tradeoff
from confide.present.summary import (
    NONE,
    Bullets,
    Cell,
    Line,
    Lines,
    Listing,
    Note,
    Part,
    Picture,
    Row,
    Section,
    Summary,
)
from confide.surveys.survey import Survey
from confide.values import LineGeometry
from confide.values.wording import counted, listed, plural, with_unit


def summarise_survey(survey: Survey) -> Summary:
    """Return what a survey asks and promises."""
    mechanism, shape, reports = survey.mechanism, survey.shape, survey.mechanism.report_alphabet
    is_scale = isinstance(reports.geometry, LineGeometry) and reports.has_labels and not reports.summary
    again = "one of the same values" + (", by its number from 0" if is_scale else "")
    again = again if reports == survey.alphabet else describe_alphabet(reports)
    facts = [
        *(
            [("Answered by", f"made-up people, drawn from {survey.simulated}: its reports are simulated")]
            * bool(survey.simulated)
        ),
        ("Each person has", f"{survey.name}: {describe_alphabet(survey.alphabet)}"),
        ("Blurred by", f"{describe_mechanism(survey)}, into {again}"),
        *([("Asked", f"every {survey.every}, of the same people")] if survey.every else []),
        *([("Consider", mechanism.advice)] if mechanism.advice else []),
        *([("Fine print", mechanism.fine_print[0])] if mechanism.instructions else []),
        *([("If shuffled", describe_shuffled(survey, 100_000))] if survey.shuffler else []),
        *([("Who may see", "the result: whoever takes part")] if survey.results else []),
        *([("Not blurred", describe_groups(survey))] if survey.groups else []),
    ]
    examples = explain_guarantee(survey)
    lines = [
        ("Promise", str(mechanism.guarantee)),
        *(("" if place else "For example", one) for place, one in enumerate(examples)),
        *(("" if place else "Fine print", one) for place, one in enumerate(mechanism.fine_print)),
        *([] if mechanism.lasting is None else [("Any number of them", str(mechanism.lasting))]),
        ("Repetition", describe_repetition(survey)),
    ]
    if shape is not None:
        taken = f"Answers and intervals will assume that {shape.condition}; reports hardly object if not."
        lines.append(("Declared shape", f"{shape}. {taken}"))
    return Summary(
        survey.title,
        [say.about_reports(survey, 0, Origin())[1]],
        examples[min(1, len(examples) - 1)],
        facts=facts,
        sections=[
            Section("What respondents read", [Bullets(list(mechanism.instructions))] if mechanism.instructions else []),
            describe_levels(survey),
            Section("The promise in full", [Lines(lines)], "fold"),
        ],
    )


def describe_groups(survey: Survey) -> str:
    """Return which columns go beside a report as they are.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> describe_groups(cf.Survey(mechanism, "vote", groups={"town": ("Oslo", "Bern"), "sex": ("f", "m")}))
    'sex and town, sent beside a report: 4 combinations. The promise covers vote alone'
    """
    combinations = counted(math.prod(map(len, survey.groups.values())), "combination")
    names = listed(list(survey.groups))
    return f"{names}, sent beside a report: {combinations}. The promise covers {survey.name} alone"


def describe_levels(survey: Survey, people: int = PEOPLE, truth: FloatArray | None = None) -> Section:
    """Return the choices of epsilon: odds, error and what is shown.

    >>> import confide as cf
    >>> section = describe_levels(cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)))
    >>> print(*section.parts[0].rows[1])
    balanced* epsilon 1 73:27 true in 73% every share ±2.1 points
    """
    mechanism, unit = survey.mechanism, survey.alphabet.unit
    found = levels(mechanism, people, truth, survey.shape)
    rows: list[Row] = []
    for one in found:
        report = NONE if one.kept is None else f"true in {one.kept:.0%}"
        if one.off is not None:
            report = f"{with_unit(float(f'{one.off:.2g}'), unit)} off"
        rows.append(
            [
                one.name + "*" * one.is_chosen,
                one.mechanism.guarantee.terms,
                odds_in_words(one.bound),
                report,
                _sight(one),
            ]
        )
    apart = next((f", {with_unit(one.apart, unit)} apart" for one in found if one.apart is not None), "")
    note = f"* This survey. Odds: from even ones{apart}. Points: 95% confidence."
    headings = ["privacy", "promise", "odds", "one report", f"{people:,} people show"]
    return Section(
        "Choosing epsilon", [Listing(headings, rows, (0, 1, 2, 3, 4), "stacked"), Note(note)] if rows else []
    )


def _sight(level: EpsilonLevel) -> str:
    """Return what a survey would show at a level of privacy."""
    if level.ranges is None or level.error is None:
        return NONE
    alphabet = level.mechanism.alphabet
    nouns = "districts" if alphabet.grid is not None else "ranges"
    what = "every share" if level.ranges == alphabet.size else f"{level.ranges:,} {nouns}"
    return f"no {nouns}" if level.ranges == 1 else f"{what} ±{100 * level.error:.2g} points"


def survey_record(survey: Survey) -> dict[str, Any]:
    """Return everything that is said about a survey, ready for JSON."""
    mechanism = survey.mechanism
    return {
        "name": survey.name,
        "title": survey.title,
        "simulated": survey.simulated or None,
        "shuffler": survey.shuffler or None,
        "every": survey.every or None,
        "results": survey.results or None,
        "language": survey.language or None,
        "alphabet": alphabet_record(survey.alphabet),
        "mechanism": {
            "kind": mechanism.kind,
            "epsilon": getattr(mechanism.guarantee, "epsilon", None),
            "description": repr(mechanism),
        },
        "shape": None
        if survey.shape is None
        else {"words": list(survey.shape.words), "condition": survey.shape.condition},
        "reports": alphabet_record(mechanism.report_alphabet),
        "guarantee": str(mechanism.guarantee),
        "limits": survey.record().get("limits"),
        # Of as many reports with fresh noise as the survey allows.
        "guarantee_of_all_reports": None
        if survey.most_reports is None or survey.needs_secret
        else str(mechanism.guarantee.times(survey.most_reports)),
        "guarantee_of_one_value": None if not survey.needs_secret else str(mechanism.lasting or mechanism.guarantee),
        "needs_secret": survey.needs_secret,
        "repetition": describe_repetition(survey),
        "examples": explain_guarantee(survey),
        "fine_print": list(survey.mechanism.fine_print),
        "advice": survey.mechanism.advice or None,
        "instructions": list(survey.mechanism.instructions),
        "survey": survey.record(),
    }


def summarise_audit(survey: Survey, result: Audit) -> Summary:
    """Return whether a promise is kept, and the closest pair of values."""
    verdicts, worst = list(result.faults), _describe_worst(survey, result)
    headline = f"The promise is BROKEN: {verdicts[0]}" if verdicts else f"The promise holds ({result.extent.value})."
    if not result.faults and math.isinf(result.worst.bound):
        headline, worst = "Nothing is promised, so nothing can be broken.", []
    elif not result.faults and result.worst.log_ratio <= 0:
        headline, worst = "The promise holds: no report distinguishes any two values.", []
    draws, lasting = result.draws, result.lasting
    drawn = f"{counted(draws.reports, 'report')} for {counted(draws.values, 'value')}"
    verdict = "distributed as they should be" if draws.agree else "NOT distributed as they should be"
    lines = [
        *(("Also", one) for one in verdicts[1:]),
        ("Promise", str(survey.mechanism.guarantee)),
        *worst,
        *([("Consider", survey.mechanism.advice)] if survey.mechanism.advice else []),
    ]
    how = [
        ("Drawn from", f"whole numbers, the same on every machine (survey {survey.fingerprint})"),
        ("Compared", result.compared),
        ("Drawn", f"{drawn}, {verdict} (p = {draws.p_value:.2g}; a false alarm comes once in 10^9 audits)"),
        ("Would have found", f"{draws.sensitivity} (in 95 of 100 audits)"),
    ]
    if lasting is not None:
        kept = f"{'the promise holds' if lasting.holds else 'BROKEN'} ({lasting.extent.value})"
        found = f"log-ratio {lasting.worst.log_ratio:.6g} of {lasting.worst.bound:.6g} promised"
        lines.append(("Any number of reports", f"{kept}: {found}, for the permanent round by itself"))
    return Summary(
        survey.title, headline=headline, facts=lines, sections=[Section("How it was checked", [Lines(how)], "fold")]
    )


def audit_record(survey: Survey, result: Audit) -> dict[str, Any]:
    """Return everything that an audit measured, ready for JSON."""
    mechanism, worst, draws = survey.mechanism, result.worst, result.draws
    # The smallest departures that the tests would have found; None where they would not find any.
    found = {name: share if math.isfinite(share) else None for name, share in vars(draws.sensitivity).items()}
    record: dict[str, Any] = {
        "survey": {"name": survey.name, "title": survey.title},
        "mechanism": {"kind": mechanism.kind, "description": repr(mechanism)},
        "fingerprint": survey.fingerprint,
        "guarantee": str(mechanism.guarantee),
        "holds": result.holds,
        "faults": list(result.faults),
        "extent": result.extent.value,
        "compared": result.compared,
        "is_measured": worst.is_measured,
        "left": mechanism.alphabet.decode([worst.left]).tolist()[0],
        "right": mechanism.alphabet.decode([worst.right]).tolist()[0],
        "output": mechanism.report_alphabet.decode([worst.output]).tolist()[0],
        "log_ratio": worst.log_ratio,
        "bound": worst.bound,
        "used": worst.relative,
        "excess": worst.excess,
        "draws": {"reports": draws.reports, "values": draws.values, "p_value": draws.p_value, "agree": draws.agree}
        | {"smallest_found": found},
        "channel_error": result.channel_error,
        "any_number_of_reports": None,
    }
    if (lasting := result.lasting) is not None:  # the permanent round, whose promise is that of any number of reports
        kept = {"guarantee": str(mechanism.lasting), "holds": lasting.holds, "faults": list(lasting.faults)}
        worst_pair = {"log_ratio": lasting.worst.log_ratio, "bound": lasting.worst.bound}
        record["any_number_of_reports"] = kept | {"extent": lasting.extent.value} | worst_pair
    unknown = () if worst.is_measured else ("left", "right", "output", "log_ratio", "bound", "used", "excess")
    return record | dict.fromkeys(unknown)


def _describe_worst(survey: Survey, result: Audit) -> list[Line]:
    worst, alphabet = result.worst, survey.alphabet
    if not worst.is_measured:
        return [("Log-ratio", f"at most as promised, by a theorem: {survey.mechanism.guarantee.terms}")]
    left, right = (describe_value(alphabet, index, survey.name) for index in (worst.left, worst.right))
    return [
        ("Worst pair", f"{left} and {right}"),
        ("Distinguished by", describe_report(survey.mechanism, worst.output)),
        ("Log-ratio", f"{worst.log_ratio:.6g}, {_describe_factor(worst.log_ratio)}"),
        ("Promised bound", f"{worst.bound:.6g}, {_describe_factor(worst.bound)}"),
        ("Promise used", f"{100 * worst.relative:.10g}%" if worst.exceeds else f"{100 * worst.relative:.4g}%"),
    ]


def _describe_factor(log_ratio: float) -> str:
    if math.isinf(log_ratio):
        return "which rules one of the two out"
    return f"a factor of {math.exp(log_ratio):.4g}" if log_ratio < 700 else f"a factor of e^{log_ratio:.4g}"


def summarise_plan(survey: Survey, plan: Plan) -> Summary:
    """Return all that a plan says."""
    measure, account = plan.measure, plan.guess.account
    now, _, margin = words_of.expected(measure, plan.prediction).partition(" ± ")
    unit = f" {plural(measure.unit)}" if margin and measure.unit else ""
    guess = f"no guess; {plan.guess.name} is the worst shape" if plan.outlooks else f"guess: {plan.guess.name}"
    meaning = words_of.width_meaning(plan)
    remarks = [meaning, *words_of.remarks(plan)]
    shuffled = describe_shuffled(replace(survey, mechanism=plan.mechanism), plan.people) if survey.shuffler else ""
    remarks += [] if account is None else [f"The guess was read from {account.description}."]
    made = (
        f"Made by confide {confide.__version__} with {plan.method!r}, {plan.prediction.repeats} repeats, seed "
        f"{plan.seed}, for {describe_mechanism(survey)}. People are drawn independently from the guess, or from each "
        f"shape. The survey as planned:"
    )
    planned = replace(survey, mechanism=plan.mechanism)
    ahead = "" if isinstance(measure, QueryWidth) else look_ahead_in_words(planned, plan.people, plan.guess.vector)
    known = list(filter(None, [words_of.headline(plan) if ahead else "", *remarks]))
    story = "" if isinstance(measure, QueryWidth) else say.BOTH_TRUE
    heading = "How close the curve comes" if story else "How close the answer comes"
    return Summary(
        title=f"What to expect: {survey.title}",
        facts=[("If shuffled", shuffled)] if shuffled else [],
        about=[counted(plan.people, "person"), say.about_reports(planned, 0, Origin())[1], guess],
        headline=ahead or words_of.headline(plan),
        answers=[
            (
                "Half-width of the interval" if meaning else f"Whole distribution: expected {measure.name}",
                now + unit,
                f"± {margin}" if margin else "",
            )
        ],
        sections=[
            Section("", [story if ahead else ""]),
            Section(heading, [*_picture(plan)], "hero"),
            describe_levels(planned, plan.people, plan.guess.vector),
            Section("What to know about it", [Bullets(known)], "fold"),
            *_shapes(plan),
            _tradeoff(plan),
        ],
        origin=say.come_from(made, planned),
    )


def summarise_ranking(survey: Survey, ranking: Ranking) -> Summary:
    """Return which mechanism does best at the survey's promise."""
    rows = [[one.mechanism.kind, ranking.show(one), f"{one.bits:,}", f"{one.work:,}"] for one in ranking.candidates]
    table = Listing(["mechanism", ranking.measure, "bits a report", "numbers a step"], rows)
    return Summary(
        f"Which mechanism? {survey.title}",
        [promise(ranking.best), f"{ranking.people:,} people"],
        ranking.reason,
        sections=[Section("Mechanisms with the same promise", [table])],
    )


def look_ahead_in_words(survey: Survey, people: int, truth: FloatArray) -> str:
    """Return how well the shares of ranges will be known.

    Empty where that takes long to simulate.
    """
    ranges, error = look_ahead(survey.mechanism, people, truth, survey.shape)
    if ranges is None or error is None:
        return ""
    return state_ranges(survey, people, ranges, error)


def state_ranges(survey: Survey, people: int, ranges: int, error: float) -> str:
    """Return how well the shares of ranges are known."""
    asked = f"With {counted(people, 'person')} at {promise(survey.mechanism)}"
    nouns = "districts" if survey.alphabet.grid is not None else f"ranges of {survey.name}"
    if ranges == 1:
        return f"{asked}, the reports will resolve no {nouns}."
    of = "each share" if ranges == survey.alphabet.size else f"the shares of {ranges:,} {nouns}"
    return f"{asked}, {of} will be known to within about ±{100 * error:.2g} points (95% confidence)."


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
    """Return expectations for every shape, the best first.

    For the two ends, also what the target takes.
    """
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
    return [Section("By the shape of the truth", [table], "fold")] if rows else []


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
    return [expected(plan.measure, one), with_unit(one.standard_error, plan.measure.unit)]


def tell_tradeoff(plan: Plan) -> str:
    """Describe the plan's expected error, and the ends of its curves."""
    error = f"expected {plan.measure.name} {expected(plan.measure, plan.prediction)}"
    told = [f"{plan.people:,} people with {promise(plan.mechanism)}: {error}"]
    told.append(f"by people {_ends(plan, plan.by_people, lambda place: f'{int(place):,}')}")
    if plan.by_epsilon is not None:
        told.append(f"by privacy {_ends(plan, plan.by_epsilon, lambda place: promise(plan.mechanism.at(place)))}")
    return f"{'; '.join(told)}."


def _ends(plan: Plan, curve: Curve, name: Callable[[float], str]) -> str:
    points, measure = list(curve.points.items()), plan.measure
    ends = [(place, expected(measure, one)) for place, one in (points[0], points[-1])]
    shown = [f"{measure.name} {one} at {name(place)}" for place, one in ends]
    return f"from {shown[0]} to {shown[1]}"

"""Summaries of a survey, and of its audit."""

from __future__ import annotations

import math

from confide.estimates.explanations import (
    describe_alphabet,
    describe_mechanism,
    describe_repetition,
    describe_report,
    describe_value,
    explain_guarantee,
)
from confide.mechanisms.audits import Audit
from confide.present.summary import Line, Summary
from confide.surveys.survey import Survey
from confide.values import LineGeometry
from confide.values.wording import counted


def summarise_survey(survey: Survey) -> Summary:
    """Return what a survey asks and promises."""
    mechanism, shape, reports = survey.mechanism, survey.shape, survey.mechanism.report_alphabet
    is_scale = isinstance(reports.geometry, LineGeometry) and reports.has_labels and not reports.summary
    again = "again one of these" + (", by its number from 0" if is_scale else "")
    lines = [
        ("Each person has", f"{survey.name}: {describe_alphabet(survey.alphabet)}"),
        ("Blurred by", describe_mechanism(survey)),
        ("Into a report", again if reports == survey.alphabet else describe_alphabet(reports)),
        ("Promise", str(mechanism.guarantee)),
        *(("" if place else "For example", one) for place, one in enumerate(explain_guarantee(survey))),
        *(("" if place else "Fine print", one) for place, one in enumerate(mechanism.fine_print)),
        *([] if mechanism.lasting is None else [("Any number of them", str(mechanism.lasting))]),
        ("Repetition", describe_repetition(survey)),
    ]
    if shape is not None:
        taken = f"Answers and intervals will take for granted that {shape.condition}; reports hardly object if not."
        lines.append(("Declared shape", f"{shape}. {taken}"))
    if survey.simulated:
        made_up = f"made-up people, drawn from {survey.simulated}: its reports are simulated"
        lines.insert(0, ("Answered by", made_up))
    return Summary(survey.title, opening=lines)


def summarise_audit(survey: Survey, result: Audit) -> Summary:
    """Return whether a promise is kept, the pair of values that comes closest to it, and what was compared."""
    verdicts, worst = list(result.faults), _describe_worst(survey, result)
    if not result.faults and math.isinf(result.worst.bound):
        verdicts, worst = ["nothing is promised, so nothing can be broken"], []
    elif not result.faults and result.worst.log_ratio <= 0:
        verdicts, worst = ["the promise holds: no report tells any two values apart"], []
    elif not result.faults:
        verdicts = [f"the promise holds ({result.extent.value})"]
    draws, lasting = result.draws, result.lasting
    drawn = f"{counted(draws.reports, 'report')} for {counted(draws.values, 'value')}"
    verdict = "distributed as they should be" if draws.agree else "NOT distributed as they should be"
    lines = [
        *zip(("Verdict", *[""] * 2), verdicts, strict=False),
        ("Promise", str(survey.mechanism.guarantee)),
        ("Drawn from", f"whole numbers, the same on every machine (survey {survey.fingerprint})"),
        *worst,
        ("Compared", result.compared),
        ("Drawn", f"{drawn}, {verdict} (p = {draws.p_value:.2g}; a false alarm comes once in 10^9 audits)"),
        ("Would have found", f"{draws.sensitivity} (in 95 of 100 audits)"),
    ]
    if lasting is not None:
        kept = f"{'the promise holds' if lasting.holds else 'BROKEN'} ({lasting.extent.value})"
        found = f"log-ratio {lasting.worst.log_ratio:.6g} of {lasting.worst.bound:.6g} promised"
        lines.append(("Any number of reports", f"{kept}: {found}, for the permanent round by itself"))
    return Summary(survey.title, opening=lines)


def _describe_worst(survey: Survey, result: Audit) -> list[Line]:
    worst, alphabet = result.worst, survey.alphabet
    if not worst.is_measured:
        return [("Log-ratio", f"at most as promised, by the theorem: {survey.mechanism.guarantee.terms}")]
    left, right = (describe_value(alphabet, index, survey.name) for index in (worst.left, worst.right))
    return [
        ("Worst pair", f"{left} and {right}"),
        ("Told apart by", describe_report(survey.mechanism, worst.output)),
        ("Log-ratio", f"{worst.log_ratio:.6g}, {_describe_factor(worst.log_ratio)}"),
        ("Promised bound", f"{worst.bound:.6g}, {_describe_factor(worst.bound)}"),
        ("Promise used", f"{100 * worst.relative:.10g}%" if worst.exceeds else f"{100 * worst.relative:.4g}%"),
    ]


def _describe_factor(log_ratio: float) -> str:
    if math.isinf(log_ratio):
        return "which rules one of the two out"
    return f"a factor of {math.exp(log_ratio):.4g}" if log_ratio < 700 else f"a factor of e^{log_ratio:.4g}"

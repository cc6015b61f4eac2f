"""confide show: say what a survey asks and promises."""

from __future__ import annotations

from typing import Any

from confide.alphabets import LineGeometry
from confide.cli.terminal import say, show_json, show_pairs
from confide.cli.usage import AsJson, SurveyPath
from confide.files import alphabet_record
from confide.shapes import Shape
from confide.surveys import Survey, load_survey

EXAMPLES = ("confide show survey.toml",)


def show(survey: SurveyPath, *, as_json: AsJson = False) -> None:
    """Explain a survey: its values, its mechanism, its promise.

    The promise comes with examples: by what factor any report may tell two values apart. It is a promise for one
    report; where a survey limits how many one person may make, the promise for all of them is shown as well.
    """
    contract = load_survey(survey)
    if as_json:
        show_json(survey_record(contract))
    else:
        _show_in_words(contract)


def survey_record(survey: Survey) -> dict[str, Any]:
    """Return everything that is said about a survey, ready for JSON."""
    from confide.explanations import describe_repetition, explain_guarantee

    mechanism = survey.mechanism
    return {
        "name": survey.name,
        "title": survey.title,
        "simulated": survey.simulated or None,
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
        "guarantee_of_all_reports": _all_reports(survey),
        "guarantee_of_one_value": None if not survey.needs_secret else str(mechanism.lasting or mechanism.guarantee),
        "needs_secret": survey.needs_secret,
        "repetition": describe_repetition(survey),
        "examples": explain_guarantee(survey),
        "fine_print": list(survey.mechanism.fine_print),
        "survey": survey.record(),
    }


def _all_reports(survey: Survey) -> str | None:
    """Return what is promised of as many reports with fresh noise as the survey allows."""
    most = survey.most_reports
    return None if most is None or survey.needs_secret else str(survey.mechanism.guarantee.times(most))


def _show_in_words(survey: Survey) -> None:
    from confide.explanations import describe_alphabet, describe_mechanism, describe_repetition, explain_guarantee

    lasting = survey.mechanism.lasting
    pairs = [
        ("Each person has", f"{survey.name}: {describe_alphabet(survey.alphabet)}"),
        ("Blurred by", describe_mechanism(survey)),
        ("Into a report", _describe_reports(survey)),
        ("Promise", str(survey.mechanism.guarantee)),
        *(("" if place else "For example", one) for place, one in enumerate(explain_guarantee(survey))),
        *(("Fine print" if place == 0 else "", text) for place, text in enumerate(survey.mechanism.fine_print)),
        *([("Any number of them", str(lasting))] if lasting is not None else []),
        ("Repetition", describe_repetition(survey)),
        *([] if survey.shape is None else [("Declared shape", _describe_shape(survey.shape))]),
    ]
    if survey.simulated:
        pairs.insert(0, ("Answered by", f"made-up people, drawn from {survey.simulated}: its reports are simulated"))
    say(survey.title, style="bold")
    say()
    show_pairs(pairs)


def _describe_shape(shape: Shape) -> str:
    return f"{shape}. Answers and intervals will take for granted that {shape.condition}; reports hardly object if not."


def _describe_reports(survey: Survey) -> str:
    from confide.explanations import describe_alphabet

    reports = survey.mechanism.report_alphabet
    is_scale = isinstance(reports.geometry, LineGeometry) and reports.has_labels and not reports.summary
    own = "again one of these" + (", by its number from 0" if is_scale else "")
    return own if reports == survey.alphabet else describe_alphabet(reports)

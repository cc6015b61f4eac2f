"""confide show: say what a survey asks and promises."""

from __future__ import annotations

from typing import Any

from confide.cli.terminal import console, say, show_json
from confide.cli.usage import AsJson, SurveyPath
from confide.data.files import alphabet_record
from confide.estimates.explanations import describe_repetition, explain_guarantee
from confide.present.surveys import summarise_survey
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey

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
        summary = summarise_survey(contract)  # before the first word: it may refuse
        say(summary.title, style="bold")
        say()
        show_summary(summary, console())


def survey_record(survey: Survey) -> dict[str, Any]:
    """Return everything that is said about a survey, ready for JSON."""
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
        # Of as many reports with fresh noise as the survey allows.
        "guarantee_of_all_reports": None
        if survey.most_reports is None or survey.needs_secret
        else str(mechanism.guarantee.times(survey.most_reports)),
        "guarantee_of_one_value": None if not survey.needs_secret else str(mechanism.lasting or mechanism.guarantee),
        "needs_secret": survey.needs_secret,
        "repetition": describe_repetition(survey),
        "examples": explain_guarantee(survey),
        "fine_print": list(survey.mechanism.fine_print),
        "survey": survey.record(),
    }

"""confide show, export and audit: what a survey promises, as people, devices and skeptics read it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.failures import ExitCode, NoAnswerError
from confide.cli.terminal import console, progress, say, show_json
from confide.cli.usage import AsJson, SurveyPath, check_outputs
from confide.data.files import alphabet_record, write_text
from confide.errors import InvalidParameterError
from confide.estimates.explanations import describe_repetition, explain_guarantee
from confide.mechanisms import audits
from confide.mechanisms.audits import Audit
from confide.present.surveys import summarise_audit, summarise_survey
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey
from confide.values.wording import counted

EXAMPLES = {
    "show": ("confide show survey.toml",),
    "export": ("confide export survey.toml -o survey.json", "confide export survey.toml | gzip > survey.json.gz"),
    "audit": ("confide audit survey.toml", "confide audit survey.toml --json && echo kept"),
}


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


def export(
    survey: SurveyPath,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it (.json). [default: standard output]"),
    ] = Path("-"),
) -> None:
    """Write a survey as the JSON document that devices read, with its fingerprint.

    The fingerprint covers values, mechanism, limits and shape, and neither name nor title. An application pins it, and
    refuses a survey that asks for anything else. Weights that take numerical work to make stand in the document too,
    bound by a fingerprint of their own.
    """
    contract = load_survey(survey)
    if str(output) == "-":
        write_text(output, contract.to_json() + "\n")
        return
    if output.suffix.lower() != ".json":
        raise InvalidParameterError(f"{output} should end in .json, which is what it is.")
    check_outputs([output], [survey])
    text = contract.to_json() + "\n"
    write_text(output, text)
    say(f"Wrote {counted(len(text.encode()), 'byte')} to {output}. An application pins it as {contract.pin}")


def audit(survey: SurveyPath, *, as_json: AsJson = False) -> None:
    """Check that the promise of a survey is kept, exactly, and that reports are drawn as it says.

    The integers that reports are drawn from are compared, for every two values under every report, with what is
    promised: how much more likely is the report under one than under the other? Unbounded and large mechanisms are
    compared by their structure, or on a sample that is named. Then reports are drawn and counted. The pair that comes
    closest to its promise, or exceeds it, is named. If anything is wrong, the exit code is 7.
    """
    contract = load_survey(survey)
    with progress("Comparing integers with the promise"):
        try:
            result = audits.audit(contract.mechanism)
        except InvalidParameterError as error:
            raise NoAnswerError(f"This mechanism cannot be audited. {error}") from None
    if as_json:
        show_json(audit_record(contract, result))
    else:
        say(contract.title, style="bold")
        say()
        show_summary(summarise_audit(contract, result), console())
    if not result.holds:
        raise typer.Exit(int(ExitCode.BROKEN_PROMISE))


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

"""confide audit: whether a survey's mechanism keeps its promise, and draws as it says."""

from __future__ import annotations

import math
from typing import Any

import typer

from confide.cli.failures import ExitCode, NoAnswerError
from confide.cli.terminal import console, progress, say, show_json
from confide.cli.usage import AsJson, SurveyPath
from confide.errors import InvalidParameterError
from confide.mechanisms import audits
from confide.mechanisms.audits import Audit
from confide.present.surveys import summarise_audit
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey

EXAMPLES = ("confide audit survey.toml", "confide audit survey.toml --json && echo kept")


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

"""confide audit: whether a survey's mechanism keeps its promise, and draws as it says."""

from __future__ import annotations

import math
from typing import Any

import typer

from confide import audits
from confide.audits import Audit
from confide.cli.failures import ExitCode, NoAnswerError
from confide.cli.terminal import progress, say, show_json, show_pairs
from confide.cli.usage import AsJson, SurveyPath
from confide.errors import InvalidParameterError
from confide.mechanisms import Mechanism
from confide.mechanisms.draws import Sensitivity
from confide.surveys import Survey, load_survey
from confide.wording import counted

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
        result = _measure(contract.mechanism)
    if as_json:
        show_json(audit_record(contract, result))
    else:
        _show_in_words(contract, result)
    if not result.holds:
        raise typer.Exit(int(ExitCode.BROKEN_PROMISE))


def audit_record(survey: Survey, result: Audit) -> dict[str, Any]:
    """Return everything that an audit measured, ready for JSON."""
    mechanism, worst, draws = survey.mechanism, result.worst, result.draws
    record = {
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
        | {"smallest_found": _sensitivity_record(draws.sensitivity)},
        "channel_error": result.channel_error,
        "any_number_of_reports": None if result.lasting is None else _lasting_record(survey, result.lasting),
    }
    unknown = () if worst.is_measured else ("left", "right", "output", "log_ratio", "bound", "used", "excess")
    return record | dict.fromkeys(unknown)


def _sensitivity_record(found: Sensitivity) -> dict[str, float | None]:
    """Return the smallest departures that the tests would have found; None where they would not find any."""
    return {name: share if math.isfinite(share) else None for name, share in vars(found).items()}


def _lasting_record(survey: Survey, result: Audit) -> dict[str, Any]:
    """Return what was measured of the permanent round, whose promise is that of any number of reports."""
    worst = result.worst
    record = {"guarantee": str(survey.mechanism.lasting), "holds": result.holds, "faults": list(result.faults)}
    return record | {"extent": result.extent.value, "log_ratio": worst.log_ratio, "bound": worst.bound}


def _measure(mechanism: Mechanism) -> Audit:
    try:
        return audits.audit(mechanism)
    except InvalidParameterError as error:
        raise NoAnswerError(f"This mechanism cannot be audited. {error}") from None


def _show_in_words(survey: Survey, result: Audit) -> None:
    say(survey.title, style="bold")
    say()
    weights = f"whole numbers, the same on every machine (survey {survey.fingerprint})"
    pairs = [("Promise", str(survey.mechanism.guarantee)), ("Drawn from", weights)]
    if result.faults:
        verdicts = zip(("Verdict", *[""] * 2), result.faults, strict=False)
        show_pairs([*verdicts, *pairs, *_describe_worst(survey, result), *_describe_checks(result)])
    elif math.isinf(result.worst.bound):
        show_pairs([("Verdict", "nothing is promised, so nothing can be broken"), *pairs, *_describe_checks(result)])
    elif result.worst.log_ratio <= 0:
        verdict = "the promise holds: no report tells any two values apart"
        show_pairs([("Verdict", verdict), *pairs, *_describe_checks(result)])
    else:
        verdict = f"the promise holds ({result.extent.value})"
        show_pairs([("Verdict", verdict), *pairs, *_describe_worst(survey, result), *_describe_checks(result)])


def _describe_worst(survey: Survey, result: Audit) -> list[tuple[str, str]]:
    from confide.explanations import describe_report, describe_value

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


def _describe_checks(result: Audit) -> list[tuple[str, str]]:
    draws = result.draws
    drawn = f"{counted(draws.reports, 'report')} for {counted(draws.values, 'value')}"
    verdict = "distributed as they should be" if draws.agree else "NOT distributed as they should be"
    lasting = result.lasting
    later = "" if lasting is None else f"{'the promise holds' if lasting.holds else 'BROKEN'} ({lasting.extent.value})"
    return [
        ("Compared", result.compared),
        ("Drawn", f"{drawn}, {verdict} (p = {draws.p_value:.2g}; a false alarm comes once in 10^9 audits)"),
        ("Would have found", f"{draws.sensitivity} (in 95 of 100 audits)"),
        *([] if lasting is None else [("Any number of reports", f"{later}: {_describe_lasting(lasting)}")]),
    ]


def _describe_lasting(result: Audit) -> str:
    worst = result.worst
    return f"log-ratio {worst.log_ratio:.6g} of {worst.bound:.6g} promised, for the permanent round by itself"


def _describe_factor(log_ratio: float) -> str:
    if math.isinf(log_ratio):
        return "which rules one of the two out"
    return f"a factor of {math.exp(log_ratio):.4g}" if log_ratio < 700 else f"a factor of e^{log_ratio:.4g}"

"""confide audit: measure whether a survey's mechanism keeps its promise."""

from __future__ import annotations

import math
from typing import Any

import typer

from confide import audits
from confide.alphabets import BitVectors
from confide.audits import Audit
from confide.cli.terminal import progress, say, show_json, show_pairs
from confide.cli.usage import AsJson, ExitCode, NoAnswerError, SurveyPath
from confide.errors import InvalidParameterError
from confide.mechanisms import MECHANISMS, Mechanism
from confide.surveys import Survey, load_survey

EXAMPLES = ("confide audit survey.toml", "confide audit survey.toml --json && echo kept")


def audit(survey: SurveyPath, *, as_json: AsJson = False) -> None:
    """Measure whether the promise of a survey is kept.

    Every two values are compared under every report, those at the border included: how much more likely is the report
    under one than under the other? The pair that comes closest to what is promised for it, or exceeds it, is named. If
    the promise is broken, the exit code is 7.
    """
    contract = load_survey(survey)
    with progress("Comparing all pairs of values"):
        result = _measure(contract.mechanism)
    if as_json:
        show_json(audit_record(contract, result))
    else:
        _show_in_words(contract, result)
    if not result.holds:
        raise typer.Exit(int(ExitCode.BROKEN_PROMISE))


def audit_record(survey: Survey, result: Audit) -> dict[str, Any]:
    """Return everything that an audit measured, ready for JSON."""
    mechanism, worst = survey.mechanism, result.worst
    return {
        "survey": {"name": survey.name, "title": survey.title},
        "mechanism": {"kind": mechanism.kind, "description": repr(mechanism)},
        "guarantee": str(mechanism.guarantee),
        "holds": result.holds,
        "left": mechanism.alphabet.decode([worst.left]).tolist()[0],
        "right": mechanism.alphabet.decode([worst.right]).tolist()[0],
        "output": mechanism.report_alphabet.decode([worst.output]).tolist()[0],
        "log_ratio": worst.log_ratio,
        "bound": worst.bound,
        "used": worst.relative,
    }


def _measure(mechanism: Mechanism) -> Audit:
    try:
        return audits.audit(mechanism)
    except InvalidParameterError as error:
        raise NoAnswerError(f"This mechanism cannot be audited. {_explain(mechanism, error)}") from None


def _explain(mechanism: Mechanism, error: InvalidParameterError) -> str:
    """Return why there is no audit, with what to write into the survey for one."""
    truncated = f"truncated-{mechanism.kind}"
    if isinstance(mechanism.report_alphabet, BitVectors):
        return (
            f"There are 2^{mechanism.alphabet.size} reports, too many to compare. Audit it with at most 16 values: its "
            f"promise does not depend on how many there are."
        )
    if mechanism.alphabet.is_finite and truncated in MECHANISMS:
        return (
            f'It has no end of reports. Audit kind = "{truncated}" with the same values and epsilon: it adds the same '
            f"noise and clamps it."
        )
    return str(error)


def _show_in_words(survey: Survey, result: Audit) -> None:
    say(survey.title, style="bold")
    say()
    pairs = [("Promise", str(survey.mechanism.guarantee))]
    if math.isinf(result.worst.bound):
        show_pairs([("Verdict", "nothing is promised, so nothing can be broken"), *pairs])
    elif result.holds and result.worst.log_ratio <= 0:
        show_pairs([("Verdict", "the promise holds: no report tells any two values apart"), *pairs])
    else:
        verdict = "the promise holds" if result.holds else "THE PROMISE IS BROKEN"
        show_pairs([("Verdict", verdict), *pairs, *_describe_worst(survey, result)])


def _describe_worst(survey: Survey, result: Audit) -> list[tuple[str, str]]:
    from confide.explanations import describe_report, describe_value

    worst, alphabet = result.worst, survey.alphabet
    left, right = (describe_value(alphabet, index, survey.name) for index in (worst.left, worst.right))
    return [
        ("Worst pair", f"{left} and {right}"),
        ("Told apart by", describe_report(survey.mechanism, worst.output)),
        ("Log-ratio", f"{worst.log_ratio:.6g}, {_describe_factor(worst.log_ratio)}"),
        ("Promised bound", f"{worst.bound:.6g}, {_describe_factor(worst.bound)}"),
        ("Promise used", f"{100 * worst.relative:.4g}%" if result.holds else f"{100 * worst.relative:.10g}%"),
        ("Compared", f"{math.comb(alphabet.size, 2):,} pairs of values, each under every report"),
    ]


def _describe_factor(log_ratio: float) -> str:
    if math.isinf(log_ratio):
        return "which rules one of the two out"
    return f"a factor of {math.exp(log_ratio):.4g}" if log_ratio < 700 else f"a factor of e^{log_ratio:.4g}"

"""confide show, export and audit: what a survey promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.main import ExitCode, NoAnswerError
from confide.cli.terminal import console, progress, say, show_json
from confide.cli.usage import AsJson, SurveyPath, Verbose, argument, check_outputs, option
from confide.data.files import write_text
from confide.errors import InvalidParameterError
from confide.mechanisms import audits
from confide.present.surveys import audit_record, summarise_audit, summarise_survey, survey_record
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey
from confide.values.wording import counted

EXAMPLES = {
    "show": ("confide show survey.toml",),
    "export": ("confide export survey.toml -o survey.json", "confide export survey.toml | gzip > survey.json.gz"),
    "audit": (
        "confide audit survey.toml",
        "confide audit survey.toml counts.parquet -o evidence.html",
        "confide audit survey.toml --json && echo kept",
    ),
}


def show(survey: SurveyPath, *, verbose: Verbose = False, as_json: AsJson = False) -> None:
    """Explain a survey: its values, its mechanism, its promise.

    A table helps to choose epsilon: the odds that it leaves, how far off one report is, and what a survey would show.
    -v adds the promise in full: examples, fine print, and what several reports of one person promise together.
    """
    contract = load_survey(survey)
    summary = summarise_survey(contract)
    if as_json:
        show_json(summary.open(survey_record(contract)))
    else:
        show_summary(summary, console(), verbose=verbose, more="More: -v")


def export(
    survey: SurveyPath,
    *,
    output: Annotated[
        Path, option("Where to write it (.json). [default: standard output]", "FILE", "--output", "-o")
    ] = Path("-"),
) -> None:
    """Write a survey as the JSON document that devices read.

    The fingerprint covers values, mechanism, limits and shape, and neither name nor title. An application pins it, and
    refuses a survey that asks for anything else. Weights that take numerical work to make stand in the document too,
    bound by a fingerprint of their own.
    """
    contract = load_survey(survey)
    if str(output) == "-":
        write_text(output, contract.to_json() + "\n")
        return
    if output.suffix.lower() != ".json":
        raise InvalidParameterError(f"{output} should end in .json: the document is JSON.")
    check_outputs([output], [survey])
    text = contract.to_json() + "\n"
    write_text(output, text)
    say(f"Wrote {counted(len(text.encode()), 'byte')} to {output}. An application pins it as {contract.pin}")


def audit(
    survey: SurveyPath,
    counts: Annotated[Path | None, argument("Counts, to test on the page whether they fit.", "[COUNTS]")] = None,
    *,
    output: Annotated[
        Path | None, option("The evidence as a page, for a data protection officer.", "FILE", "--output", "-o")
    ] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Check that the survey keeps its privacy promise, exactly.

    The integers that reports are drawn from are compared, for every two values under every report, with what is
    promised: how much more likely is the report under one than under the other? Unbounded and large mechanisms are
    compared by their structure, or on a sample that is named. Then reports are drawn and counted. The pair that comes
    closest to its promise, or exceeds it, is named. If anything is wrong, the exit code is 7.

    -o writes one page with the promise, this audit, what people are told, and who could read what.
    """
    contract = load_survey(survey)
    if output is not None:
        check_outputs([output], [survey, *([] if counts is None else [counts])])
    with progress("Comparing integers with the promise"):
        try:
            result = audits.audit(contract.mechanism)
        except InvalidParameterError as error:
            # The survey is sound; that nothing can be said of it is another exit code than a bad option.
            raise NoAnswerError(f"This mechanism cannot be audited. {error}") from None
    summary = summarise_audit(contract, result)
    if output is not None:
        _write_evidence(output, contract, result, counts)
    if as_json:
        show_json(summary.open(audit_record(contract, result)))
    else:
        show_summary(summary, console(), verbose=verbose, more="More: -v")
    if not result.holds:
        raise typer.Exit(int(ExitCode.BROKEN_PROMISE))


def _write_evidence(output: Path, survey: Survey, result: audits.Audit, counts: Path | None) -> None:
    from confide.check.fit import fit
    from confide.data.files.counts_files import GroupedCounts, load_counts
    from confide.present.pages import evidence_page

    loaded = None if counts is None else load_counts(counts, survey)
    found = loaded.merged if isinstance(loaded, GroupedCounts) else loaded
    tested = None if found is None else fit(found, survey.mechanism)
    write_text(output, evidence_page(survey, result, tested, 0 if found is None else int(found.total)))
    say(f"Wrote {output}", stderr=True)

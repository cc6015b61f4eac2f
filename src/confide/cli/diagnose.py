"""confide diagnose: what these reports show, and what any could show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.main import ExitCode
from confide.cli.terminal import give, progress, say, warn, warn_of
from confide.cli.usage import (
    QUERY,
    AsJson,
    Cell,
    DifferentPeople,
    SurveyPath,
    Verbose,
    argument,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    local_counts,
    name_reports,
    option,
    outputs_option,
    read_questions,
    take_reports,
)
from confide.data.counting import ReportInput
from confide.data.files import (
    CountsFile,
    diagnosis_record,
    group_reports_record,
    is_counts_file,
    read_counts,
    read_heading,
    to_json,
)
from confide.errors import DataFileError, InvalidParameterError
from confide.estimates.diagnosis import diagnose as ask
from confide.estimates.groups import GroupReports
from confide.present.diagnoses import summarise_diagnosis
from confide.present.groups import summarise_group_reports
from confide.present.summary import caution_fits
from confide.surveys.survey import Survey, load_survey

EXAMPLES = (
    "confide diagnose survey.toml",
    'confide diagnose survey.toml reports.csv --query "age >= 65"',
    "confide diagnose survey.toml reports.csv -o diagnosis.html",
)


def diagnose(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path | None,
        argument(
            "Reports, counts or a collector's URL, as for estimate. Without it, only the mechanism is checked.",
            "REPORTS",
        ),
    ] = None,
    *,
    query: Annotated[list[str] | None, option(f"{QUERY}; repeatable.", "QUERY")] = None,
    output: Annotated[list[Path] | None, outputs_option("a .html page or .json")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    different_people: DifferentPeople = False,
    strict: Annotated[
        bool,
        option("Exit with code 8 if the reports fit the survey or its shape poorly.", "", "--strict", panel="Checks"),
    ] = False,
    cell: Cell = None,
) -> None:
    """Check what these reports resolve, and whether more would help.

    First: do they fit the survey, and which ranges of values do they resolve? Then: is the distribution identifiable,
    so that enough reports would reveal it? -v names the theorem or the measurement behind each verdict. Doubt is not an
    error: the exit code is 0 unless --strict asks for another.
    """
    given, reports, outputs = reports, None if reports is None else local_counts(reports, survey), output or []
    check_formats(outputs, (".html", ".json"))
    asked_by = load_survey(survey)
    contract = choose_cells(asked_by, cell)
    questions = read_questions(query or [], contract)
    if questions.statistics:
        raise InvalidParameterError("A diagnosis asks for shares of people. For mean and quantiles: confide estimate.")
    check_outputs(outputs, [survey, reports, *questions.areas])
    if contract.alphabet.is_finite:
        contract.alphabet.require_listable()
    check_queries(contract, questions.queries)
    gathered, grouped = None, None
    if reports is not None and given is not None:
        gathered, grouped = _gather(reports, given, asked_by, contract, different_people=different_people)
    # Groups are compared with each other before any of them is estimated.
    seen = None if grouped is None else GroupReports(grouped.pools)
    by, empty = ((), 0) if grouped is None else (grouped.heading.by, len(grouped.groups) - len(grouped.pools))
    # Intervals take long past two thousand values: 20,000 took a quarter of a minute.
    if gathered is not None and seen is None and contract.alphabet.is_finite and contract.alphabet.size > 2_000:
        size = f"{contract.alphabet.size:,} values"
        say(f"Finding what these reports resolve among {size}. This may take minutes.", stderr=True)
    with progress("Looking at the mechanism" if gathered is None else "Looking at mechanism and reports"):
        reported = None if gathered is None else gathered.counts
        diagnosis = ask(reported, contract.mechanism, name=contract.name, shape=contract.shape)
        found = [diagnosis.query(one, contract.name) for one in questions.queries]
        record = diagnosis_record(contract, diagnosis, found)
        record |= {"rows": None} if gathered is None else {"rows": gathered.account.record, "origin": gathered.origin}
        record |= {} if seen is None else group_reports_record(seen, by)
        source, notes = ("", ()) if gathered is None else (gathered.description, gathered.notes)
        listed = [] if seen is None else [summarise_group_reports(seen, by, empty)]
        summary = summarise_diagnosis(contract, diagnosis, found, source=source, notes=notes, groups=listed)
        record = summary.open(record)
        contents = {path: to_json(record) + "\n" for path in outputs}
        for path in (one for one in outputs if one.suffix.lower() == ".html"):
            from confide.present.pages import diagnosis_page

            groups = [] if seen is None else [summarise_group_reports(seen, by, 0, is_page=True)]
            contents[path] = diagnosis_page(contract, diagnosis, found, notes, groups=groups)
    give("diagnosis", summary, lambda: record, contents, as_json=as_json, verbose=verbose)
    if as_json and seen is not None and seen.fits.is_bad:
        warn(seen.fits.headline)
    warn_of(caution_fits(diagnosis.fit, diagnosis.shape_fit) if as_json and seen is None else [])
    fits = diagnosis.fit, diagnosis.shape_fit, None if seen is None else seen.fits
    if strict and any(one is not None and one.is_bad for one in fits):
        raise typer.Exit(int(ExitCode.POOR_FIT))


def _gather(
    reports: Path, given: Path, asked_by: Survey, contract: Survey, *, different_people: bool
) -> tuple[ReportInput, CountsFile | None]:
    """Read reports and, from counts by groups, each group's counts."""
    if is_counts_file(reports):
        heading, name = read_heading(reports), name_reports(given)
        heading.require(asked_by, name)
        # A diagnosis is of one mechanism: a pool has several, and each identifies something else.
        if heading.is_pooled:
            raise InvalidParameterError(f"{name} holds counts of several surveys; diagnose those of one at a time.")
        if heading.by:
            if contract is not asked_by:
                raise InvalidParameterError("--cell is for reports of one group; these counts are of several.")
            counts = read_counts(reports).of_different_people(different_people)
            if not counts.pools:
                raise DataFileError("The counts add up to 0; a diagnosis of groups needs at least one report.")
            rows = counts.heading.rows
            return ReportInput([(counts.merged, contract.mechanism)], rows, str(rows)), counts
    return take_reports(reports, given, asked_by, contract, are_different=different_people), None

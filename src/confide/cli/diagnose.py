"""confide diagnose: what the reports at hand tell, and what a survey's mechanism can tell at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.numbers import as_share
from confide.cli.terminal import console, progress, say, say_exactly, show_json, warn, warn_of
from confide.cli.usage import (
    USUAL_LEVEL,
    AsJson,
    Cell,
    Columns,
    DifferentPeople,
    Rejects,
    ShapeWords,
    Strict,
    SurveyPath,
    Within,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    choose_shape,
    count_on_cells,
    end_strictly,
    gather_queries,
    outputs_option,
    separated,
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
    write_text,
)
from confide.errors import DataFileError, InvalidParameterError
from confide.estimates.diagnosis import Diagnosis, QueryAnswer
from confide.estimates.inference import check_level
from confide.evidence.shapes import Shape
from confide.present.diagnoses import summarise_diagnosis
from confide.present.summary import Section, caution_fits
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey
from confide.values.queries import Query

EXAMPLES = (
    "confide diagnose survey.toml",
    'confide diagnose survey.toml reports.csv --query "age >= 65"',
    "confide diagnose survey.toml reports.csv -o diagnosis.html",
)

FORMATS = (".html", ".json")

LONG = 2_000
"""Values past which intervals take long: 20,000 took a quarter of a minute."""


def diagnose(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path | None,
        typer.Argument(
            metavar="REPORTS",
            help="Reports, counts or the URL of a collector, as for estimate. Without it only the mechanism is looked "
            "at.",
            show_default=False,
        ),
    ] = None,
    *,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help='Also ask for the probability of "age >= 65", "answer in {yes, no}", "within 2 km of 40.75, -73.98"; '
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    within: Within = None,
    cell: Cell = None,
    interval: Annotated[
        float,
        typer.Option(parser=as_share, metavar="LEVEL", help="How often intervals are to hold the truth, 0.95 or 95%."),
    ] = USUAL_LEVEL,
    shape: ShapeWords = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with pictures; as -o.", show_default=False),
    ] = None,
    output: Annotated[list[Path] | None, outputs_option("the diagnosis as a .html page or .json")] = None,
    column: Columns = None,
    different_people: DifferentPeople = False,
    rejects: Rejects = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Say what these reports tell, and whether any number of reports would reveal the distribution.

    First what these reports tell: whether they fit the survey, and in how narrow windows of values they tell shares.
    Then whether infinitely many would reveal the truth. Below it
    stands what it rests on, by the name of the theorem or the number that was measured. Where the reports have many
    best explanations, the lowest and highest share of each value among all of them is listed. Doubt is no error: the
    exit code is 0 whatever the verdict, unless --strict asks for another where the reports fit the mechanism, or the
    shape, poorly or not at all. What these reports tell takes the survey's shape for granted, or that of --shape; of
    counts by groups, that all people together have it.
    """
    given, reports = reports, None if reports is None else local_counts(reports, survey)
    outputs = [*([] if html is None else [html]), *(output or [])]
    check_formats(output or [], FORMATS)
    check_outputs([*outputs, rejects], [survey, reports, *(within or ())])
    check_level("--interval", interval)
    asked_by, queries = load_survey(survey), gather_queries(query, within)
    contract = choose_cells(asked_by, cell)
    if contract.alphabet.is_finite:
        contract.alphabet.require_listable()
    check_queries(contract, queries)
    form = choose_shape(contract, shape or [])
    if reports is not None and is_counts_file(reports) and read_heading(reports).by:
        if cell is not None:
            raise InvalidParameterError("--cell is for reports of one group; these counts are of several.")
        counts = read_counts(reports)
        counts.heading.require(contract, name_reports(given or reports))
        counts = counts.of_different_people(different_people)
        asked = (form, interval)
        _diagnose_groups(contract, counts, queries, asked, outputs, as_json=as_json, strict=strict)
        return
    gathered = None if reports is None else _gather(reports, given or reports, asked_by, column, rejects)
    gathered = None if gathered is None else separated(gathered, is_known=different_people)
    gathered = None if gathered is None else count_on_cells(gathered, asked_by, contract)
    if gathered is not None and contract.alphabet.is_finite and contract.alphabet.size > LONG:
        size = f"{contract.alphabet.size:,} values"
        say(f"Finding what these reports tell among {size}, which may take minutes.", stderr=True)
    with progress("Looking at the mechanism" if gathered is None else "Looking at mechanism and reports"):
        diagnosis = _diagnose(contract, gathered, form, interval)
        answers = [diagnosis.query(one, contract.name) for one in queries]
        # All are rendered before the first is written, so that a missing package leaves none behind.
        contents = [_render(path, contract, gathered, diagnosis, answers) for path in outputs]
    for path, content in zip(outputs, contents, strict=True):
        write_text(path, content)
    if as_json:
        show_json(_record(contract, gathered, diagnosis, answers))
        warn_of(caution_fits(diagnosis.fit, diagnosis.shape_fit))
    else:
        _show(contract, gathered, diagnosis, answers)
        for path in outputs:
            say_exactly(f"Wrote {path}")
    end_strictly(diagnosis.fit, diagnosis.shape_fit, strict=strict)


def _diagnose_groups(  # noqa: PLR0913 - what the command was given
    survey: Survey,
    counts: CountsFile,
    queries: list[Query],
    asked: tuple[Shape | None, float],
    outputs: list[Path],
    *,
    as_json: bool,
    strict: bool,
) -> None:
    """Diagnose all groups together, then say of each how large it is, whether it fits and whether it differs."""
    from confide.estimates.groups import GroupReports
    from confide.present.groups import summarise_group_reports
    from confide.present.pages import diagnosis_page

    pools = counts.pools
    if counts.heading.is_pooled:
        source = counts.heading.rows.source
        raise InvalidParameterError(f"{source} holds counts of several surveys; diagnose those of one at a time.")
    if not pools:
        raise DataFileError("The counts add up to 0; a diagnosis of groups needs at least one report.")
    gathered = ReportInput([(counts.merged, survey.mechanism)], counts.heading.rows, str(counts.heading.rows))
    seen = GroupReports(pools)
    with progress("Looking at mechanism, reports and groups"):
        diagnosis = _diagnose(survey, gathered, *asked)
        answers = [diagnosis.query(one, survey.name) for one in queries]
        record = _record(survey, gathered, diagnosis, answers) | group_reports_record(seen, counts.heading.by)
        told = summarise_group_reports(seen, counts.heading.by, 0, is_page=True)
        contents = [
            to_json(record) + "\n"
            if path.suffix.lower() == ".json"
            else diagnosis_page(survey, diagnosis, answers, groups=[told])
            for path in outputs
        ]
    for output, content in zip(outputs, contents, strict=True):
        write_text(output, content)
    if as_json:
        show_json(record)
        if seen.fits.is_bad:
            warn(seen.fits.headline)
    else:
        empty = len(counts.groups) - len(seen.pools)
        told = summarise_group_reports(seen, counts.heading.by, empty)
        _show(survey, gathered, diagnosis, answers, groups=[told])
        for output in outputs:
            say_exactly(f"Wrote {output}")
    end_strictly(diagnosis.fit, diagnosis.shape_fit, seen.fits, strict=strict)


def _gather(path: Path, given: Path, survey: Survey, column: list[str] | None, rejects: Path | None) -> ReportInput:
    if is_counts_file(path):
        heading, name = read_heading(path), name_reports(given)
        heading.require(survey, name)
        if heading.is_pooled:
            raise InvalidParameterError(f"{name} holds counts of several surveys; diagnose those of one at a time.")
    return take_named(path, given, survey, column or [], rejects)


def _diagnose(survey: Survey, gathered: ReportInput | None, shape: Shape | None, level: float) -> Diagnosis:
    from confide.estimates.diagnosis import diagnose as ask

    counts = None if gathered is None else gathered.counts
    return ask(counts, survey.mechanism, name=survey.name, level=level, shape=shape)


def _record(
    survey: Survey, gathered: ReportInput | None, diagnosis: Diagnosis, answers: list[QueryAnswer]
) -> dict[str, Any]:
    record = diagnosis_record(survey, diagnosis, answers)
    if gathered is None:
        return record | {"rows": None}
    return record | {"rows": gathered.account.record, "origin": gathered.origin}


def _render(
    path: Path, survey: Survey, gathered: ReportInput | None, diagnosis: Diagnosis, answers: list[QueryAnswer]
) -> str:
    if path.suffix.lower() == ".json":
        return to_json(_record(survey, gathered, diagnosis, answers)) + "\n"
    from confide.present.pages import diagnosis_page

    return diagnosis_page(survey, diagnosis, answers, () if gathered is None else gathered.notes)


def _show(
    survey: Survey,
    gathered: ReportInput | None,
    diagnosis: Diagnosis,
    answers: list[QueryAnswer],
    groups: Sequence[Section] = (),
) -> None:
    source, notes = ("", ()) if gathered is None else (gathered.description, gathered.notes)
    say(survey.title, style="bold")
    show_summary(summarise_diagnosis(survey, diagnosis, answers, source=source, notes=notes, groups=groups), console())

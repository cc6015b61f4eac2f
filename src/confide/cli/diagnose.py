"""confide diagnose: what the reports at hand tell, and what a survey's mechanism can tell at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.numbers import as_share
from confide.cli.terminal import (
    console,
    noise_lines,
    note_poor_fit,
    progress,
    say,
    say_exactly,
    show,
    show_json,
    show_pairs,
)
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
    read_share,
    separated,
)
from confide.counting import ReportInput
from confide.diagnosis import Diagnosis, QueryAnswer
from confide.diagnosis.words import evidence_in_words, told_in_words, verdict_in_words
from confide.errors import DataFileError, InvalidParameterError
from confide.files import (
    CountsFile,
    diagnosis_record,
    group_reports_record,
    is_counts_file,
    read_counts,
    read_heading,
    to_json,
    write_text,
)
from confide.intervals import check_level
from confide.queries import Query
from confide.shapes import Shape
from confide.surveys import Survey, load_survey
from confide.theory.verdicts import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

    from confide.groups import GroupReports

EXAMPLES = (
    "confide diagnose survey.toml",
    'confide diagnose survey.toml reports.csv --query "age >= 65"',
    "confide diagnose survey.toml reports.csv --error 2% -o diagnosis.html",
)

FORMATS = (".html", ".json")

LONG = 2_000
"""Values past which intervals take long: 20,000 took a quarter of a minute."""

MOST_LINES = 15
"""Values, or classes, that are listed; --json has all of them."""


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
    error: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="How near shares are to be known, for the narrowest windows that reports tell: 5%."
        ),
    ] = "5%",
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

    First what these reports tell: whether they fit the survey, the narrowest windows of values whose shares they give
    within --error, and what they know best and worst. Then whether infinitely many would reveal the truth. Below it
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
    near = read_share("--error", error, "0.05 or 5%")
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
        asked = (form, near, interval)
        _diagnose_groups(contract, counts, queries, asked, outputs, as_json=as_json, strict=strict)
        return
    gathered = None if reports is None else _gather(reports, given or reports, asked_by, column, rejects)
    gathered = None if gathered is None else separated(gathered, is_known=different_people)
    gathered = None if gathered is None else count_on_cells(gathered, asked_by, contract)
    if gathered is not None and contract.alphabet.is_finite and contract.alphabet.size > LONG:
        size = f"{contract.alphabet.size:,} values"
        say(f"Finding what these reports tell among {size}, which may take minutes.", stderr=True)
    with progress("Looking at the mechanism" if gathered is None else "Looking at mechanism and reports"):
        diagnosis = _diagnose(contract, gathered, form, near, interval)
        answers = [diagnosis.query(one, contract.name) for one in queries]
        # All are rendered before the first is written, so that a missing package leaves none behind.
        contents = [_render(path, contract, gathered, diagnosis, answers) for path in outputs]
    for path, content in zip(outputs, contents, strict=True):
        write_text(path, content)
    if as_json:
        show_json(_record(contract, gathered, diagnosis, answers))
        note_poor_fit(diagnosis.fit, as_json=True)
        note_poor_fit(diagnosis.shape_fit, as_json=True)
    else:
        _show_in_words(contract, gathered, diagnosis, answers)
        for path in outputs:
            say_exactly(f"Wrote {path}")
    end_strictly(diagnosis.fit, diagnosis.shape_fit, strict=strict)


def _diagnose_groups(  # noqa: PLR0913 - what the command was given
    survey: Survey,
    counts: CountsFile,
    queries: list[Query],
    asked: tuple[Shape | None, float, float],
    outputs: list[Path],
    *,
    as_json: bool,
    strict: bool,
) -> None:
    """Diagnose all groups together, then say of each how large it is, whether it fits and whether it differs."""
    from confide.cli.groups import show_group_reports
    from confide.groups import GroupReports

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
        contents = [
            to_json(record) + "\n"
            if path.suffix.lower() == ".json"
            else _groups_page(survey, diagnosis, answers, seen, counts)
            for path in outputs
        ]
    for output, content in zip(outputs, contents, strict=True):
        write_text(output, content)
    if as_json:
        show_json(record)
        note_poor_fit(seen.fits, as_json=True)
    else:
        _show_in_words(survey, gathered, diagnosis, answers)
        show_group_reports(seen, counts)
        for output in outputs:
            say_exactly(f"Wrote {output}")
    end_strictly(diagnosis.fit, diagnosis.shape_fit, seen.fits, strict=strict)


def _groups_page(
    survey: Survey, diagnosis: Diagnosis, answers: list[QueryAnswer], seen: GroupReports, counts: CountsFile
) -> str:
    from confide.pages import diagnosis_page
    from confide.pages.groups import group_reports_section

    return diagnosis_page(survey, diagnosis, answers, groups=group_reports_section(seen, counts.heading.by))


def _gather(path: Path, given: Path, survey: Survey, column: list[str] | None, rejects: Path | None) -> ReportInput:
    if is_counts_file(path):
        heading, name = read_heading(path), name_reports(given)
        heading.require(survey, name)
        if heading.is_pooled:
            raise InvalidParameterError(f"{name} holds counts of several surveys; diagnose those of one at a time.")
    return take_named(path, given, survey, column or [], rejects)


def _diagnose(
    survey: Survey, gathered: ReportInput | None, shape: Shape | None, error: float, level: float
) -> Diagnosis:
    from confide.diagnosis import diagnose as ask

    counts = None if gathered is None else gathered.counts
    return ask(counts, survey.mechanism, name=survey.name, error=error, level=level, shape=shape)


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
    from confide.pages import diagnosis_page

    return diagnosis_page(survey, diagnosis, answers, () if gathered is None else gathered.notes)


def _show_in_words(
    survey: Survey, gathered: ReportInput | None, diagnosis: Diagnosis, answers: list[QueryAnswer]
) -> None:
    from confide.explanations import describe_mechanism, describe_repetition

    say(survey.title, style="bold")
    note_poor_fit(diagnosis.fit)
    note_poor_fit(diagnosis.shape_fit)
    told = told_in_words(diagnosis)
    if told:
        say()
        say("What these reports tell", style="bold")
        show_pairs([("-", sentence) for sentence in told])
    if answers:
        say()
        show_pairs([(answer.query, str(answer)) for answer in answers])
    say()
    say("What any number of reports would reveal", style="bold")
    show_pairs([("-", sentence) for sentence in verdict_in_words(diagnosis)])
    _show_lists(survey, diagnosis)
    say()
    say("What it rests on", style="bold")
    source = [("Mechanism", describe_mechanism(survey)), ("Promise of the survey", describe_repetition(survey))]
    if gathered is not None:
        source += [("Reports", f"{gathered.counts.total:,.10g}, from {gathered.description}")]
        source += noise_lines(gathered.counts.origin, gathered.notes)
    show_pairs([*source, *evidence_in_words(diagnosis)])


def _show_lists(survey: Survey, diagnosis: Diagnosis) -> None:
    parts = diagnosis.partition
    if parts is not None and not parts.is_trivial:
        say()
        say("Values that no report tells apart", style="bold")
        for label in _class_lines(diagnosis)[:MOST_LINES]:
            say(f"  {label}")
        _note_rest(len(_class_lines(diagnosis)), "classes")
    is_listed = diagnosis.uniqueness is not None and diagnosis.uniqueness.verdict is not Verdict.YES
    if is_listed and diagnosis.known_maximum is not None and diagnosis.known_maximum.is_small:
        say()
        say("Share of each value among all best explanations", style="bold")
        if not diagnosis.known_maximum.is_exact:
            say("Outer bounds: the best explanations may not come as far.", style="dim")
        show(_bounds_table(survey, diagnosis))
        _note_rest(diagnosis.alphabet.size, "values, the least certain first")


def _class_lines(diagnosis: Diagnosis) -> list[str]:
    """Return each class of several values, with its estimated share where there are reports."""
    parts, shares = diagnosis.partition, diagnosis.class_shares
    if parts is None:
        return []
    words = [""] * parts.size if shares is None else [f": together {share:.2%}, estimated" for share in shares]
    lines = zip(parts.labels, parts.classes, words, strict=True)
    return [f"{label}{share}" for label, members, share in lines if members.size > 1]


def _note_rest(count: int, noun: str) -> None:
    if count > MOST_LINES:
        say(f"{MOST_LINES} of {count:,} {noun}; --json has all.", style="dim")


def _bounds_table(survey: Survey, diagnosis: Diagnosis) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    best = diagnosis.maximum_set
    width = best.highest - best.lowest
    order = np.argsort(-width, kind="stable")[:MOST_LINES]
    shown = np.sort(order) if diagnosis.alphabet.size <= MOST_LINES else order
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(survey.name), justify="right", no_wrap=True, max_width=30)
    for heading in ("lowest", "highest"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("from 0% to 100%", no_wrap=True)
    labels = diagnosis.alphabet.labels()
    columns, blocks = max(10, min(50, console().width - 46)), console().encoding.lower().startswith("utf")
    for index in shown.tolist():
        low, high = float(best.lowest[index]), float(best.highest[index])
        table.add_row(
            Text(labels[index]),
            f"{low:.2%}",
            f"{high:.2%}",
            Text(_bar(low, high, columns, blocks=blocks), style="cyan"),
        )
    return table


def _bar(low: float, high: float, width: int, *, blocks: bool) -> str:
    """Return the range from low to high on a line from 0 to 1.

    >>> _bar(0.25, 0.75, 8, blocks=True), _bar(0.5, 0.5, 8, blocks=True)
    ('··████··', '····█···')
    """
    start = min(width - 1, int(low * width))
    stop = max(start + 1, min(width, round(high * width)))
    outside, inside = ("·", "█") if blocks else (".", "#")
    return outside * start + inside * (stop - start) + outside * (width - stop)

"""confide diagnose: what a survey's mechanism, and the reports at hand, can tell at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

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
    AsJson,
    Columns,
    Rejects,
    Strict,
    SurveyPath,
    check_outputs,
    check_queries,
    end_strictly,
    take_reports,
)
from confide.counting import ReportInput
from confide.errors import InvalidParameterError
from confide.files import diagnosis_record, is_counts_file, read_heading, write_text
from confide.surveys import Survey, load_survey
from confide.theory.diagnosis import Diagnosis, QueryAnswer
from confide.theory.verdicts import Verdict
from confide.theory.words import evidence_in_words, verdict_in_words

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = (
    "confide diagnose survey.toml",
    'confide diagnose survey.toml reports.csv --query "age >= 65"',
    "confide diagnose survey.toml reports.csv --html diagnosis.html",
)

MOST_LINES = 15
"""Values, or classes, that are listed; --json has all of them."""


def diagnose(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path | None,
        typer.Argument(
            metavar="REPORTS",
            help="A file of reports or counts, as for estimate. Without it only the mechanism is looked at.",
            show_default=False,
        ),
    ] = None,
    *,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help='Also ask for the probability of "age >= 65", "answer in {yes, no}", "row in 2..4 and column < 3"; '
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with pictures.", show_default=False),
    ] = None,
    column: Columns = None,
    rejects: Rejects = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Say whether the answer can be right: what the mechanism can reveal, and whether the reports pin it down.

    The verdict comes first, in plain words; below it stands what it rests on, by the name of the theorem or the number
    that was measured. Where the reports have many best explanations, the lowest and highest share of each value among
    all of them is listed. Doubt is no error: the exit code is 0 whatever the verdict, unless --strict asks for another
    where the reports cannot come from the mechanism.
    """
    check_outputs([html, rejects], [survey, reports])
    contract = load_survey(survey)
    if contract.alphabet.is_finite:
        contract.alphabet.require_listable()
    check_queries(contract, query or [])
    gathered = None if reports is None else _gather(reports, contract, column, rejects)
    with progress("Looking at the mechanism" if gathered is None else "Looking at mechanism and reports"):
        diagnosis = _diagnose(contract, gathered)
        answers = [diagnosis.query(one, contract.name) for one in query or []]
        page = None if html is None else _page(contract, diagnosis, answers)
    if html is not None and page is not None:
        write_text(html, page)
    if as_json:
        record = diagnosis_record(contract, diagnosis, answers)
        known = {} if gathered is None else {"origin": gathered.origin}
        show_json(record | {"rows": None if gathered is None else gathered.account.record} | known)
        note_poor_fit(diagnosis.fit, as_json=True)
    else:
        _show_in_words(contract, gathered, diagnosis, answers)
        if html is not None:
            say_exactly(f"Wrote {html}")
    end_strictly(diagnosis.fit, strict=strict)


def _gather(path: Path, survey: Survey, column: list[str] | None, rejects: Path | None) -> ReportInput:
    if is_counts_file(path):
        heading = read_heading(path)
        heading.require(survey, path)
        if heading.by or heading.is_pooled:
            raise InvalidParameterError(
                f"{path} holds several groups or surveys; diagnose the counts of one at a time."
            )
    return take_reports(path, survey, column or [], rejects)


def _diagnose(survey: Survey, gathered: ReportInput | None) -> Diagnosis:
    from confide.theory.diagnosis import diagnose as ask

    return ask(None if gathered is None else gathered.counts, survey.mechanism)


def _page(survey: Survey, diagnosis: Diagnosis, answers: list[QueryAnswer]) -> str:
    from confide.pages import diagnosis_page

    return diagnosis_page(survey, diagnosis, answers)


def _show_in_words(
    survey: Survey, gathered: ReportInput | None, diagnosis: Diagnosis, answers: list[QueryAnswer]
) -> None:
    from confide.explanations import describe_mechanism

    say(survey.title, style="bold")
    note_poor_fit(diagnosis.fit)
    say()
    show_pairs([("-", sentence) for sentence in verdict_in_words(diagnosis)])
    if answers:
        say()
        show_pairs([(answer.query, str(answer)) for answer in answers])
    _show_lists(survey, diagnosis)
    say()
    say("What it rests on", style="bold")
    source = [("Mechanism", describe_mechanism(survey))]
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

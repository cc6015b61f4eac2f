"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from confide.cli import answers
from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.failures import NoAnswerError
from confide.cli.terminal import console, progress, say, say_exactly, show_json, warn, warn_of
from confide.cli.usage import (
    DEFAULT,
    USUAL_LEVEL,
    AsJson,
    Cell,
    DifferentPeople,
    Level,
    ShapeWords,
    Strict,
    SurveyPath,
    as_level,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    choose_shape,
    count_on_cells,
    end_strictly,
    outputs_option,
    promise_line,
    read_questions,
    separated,
    warn_over_limit,
)
from confide.data.files import Heading, Rows, describe_left_out, is_counts_file, read_counts, read_values, write_text
from confide.errors import InvalidParameterError
from confide.estimates.estimate import assess_pool
from confide.estimates.explanations import WHEN_ENDED_EARLY
from confide.estimates.inference import check_level
from confide.evidence.counts import Counts
from confide.present.estimates import Findings, summarise_estimate
from confide.present.summary import caution_fits
from confide.present.terminal import show_summary
from confide.solve.methods import METHODS
from confide.surveys.survey import Survey, load_survey
from confide.theory.likely_subsets import likely_subset
from confide.values import Alphabet
from confide.values.checks import check_choice
from confide.values.geojson import read_lines

EXAMPLES = (
    "confide estimate survey.toml reports.csv",
    "confide estimate survey.toml reports.csv --truth values.csv -o estimate.csv -o estimate.html",
    'confide estimate survey.toml reports.csv --shape "falling from 50" --query "age >= 65"',
    'confide estimate survey.toml reports.csv --interval 0.95 --query "age >= 65" -o estimate.html',
    'confide estimate survey.toml reports.csv --query mean --query median --query "quantile 90%"',
    "confide estimate survey.toml reports.csv --method inversion-project --json",
    'confide estimate city.toml reports.csv --query district.geojson --query "within 2 km of 40.75, -73.98"',
    "confide estimate survey.toml http://127.0.0.1:8000",
    "confide estimate survey.toml counts.parquet -o estimates.csv -o estimates.html",
)


def estimate(  # noqa: PLR0913, PLR0915 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path,
        typer.Argument(
            metavar="REPORTS",
            help="Counts that confide count wrote, the URL of a collector, or reports: CSV (.gz or not), Parquet, JSON "
            "lines; - for standard input.",
        ),
    ],
    *,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help='Also answer "age >= 65", "answer in {yes, no}", mean, median, "quantile 0.9", "within 2 km of 40.75, '
            '-73.98" or how many are inside the areas of a GeoJSON file, districts.geojson (cells count by their '
            f"centres), with an interval at the level of --interval [default: {USUAL_LEVEL:g}]; may be repeated.",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        Level | None,
        typer.Option(
            parser=as_level,
            metavar="LEVEL",
            help="Also give intervals that hold the truth this often, 0.95 or 95%: in the table, as columns low and "
            'high of a CSV file, and as a band in the page. "95% joint" gives none of these: all answers to '
            "--query hold at once instead, and so do the entries of each cross table.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="all|NAME|NAME,NAME",
            help="Show every value, not ranges or the likeliest: all. Of a survey of several attributes: one of them "
            "by itself, age, or a cross table with an interval for each entry and the totals, age,sex; may be "
            "repeated. [default: each by itself, where there are many combinations]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None, outputs_option("the estimate as .csv, .json, a .html page, or .geojson of places")
    ] = None,
    as_json: AsJson = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="|".join(METHODS),
            help=f"How to recover the distribution. [default: {DEFAULT}, which chooses by itself and says what]",
            show_default=False,
            rich_help_panel="What it rests on",
        ),
    ] = DEFAULT,
    shape: ShapeWords = None,
    different_people: DifferentPeople = False,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="VALUES",
            help="True values, to measure the distance from.",
            show_default=False,
            rich_help_panel="Checks",
        ),
    ] = None,
    strict: Strict = False,
    cell: Cell = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="LINES",
            help="Draw the lines of a GeoJSON file, such as a coast or streets, on the maps of the page.",
            show_default=False,
            rich_help_panel="Maps",
        ),
    ] = None,
) -> None:
    """Recover the distribution of the true values from the reports.

    With no --method it weighs several by reports that it holds out, and says what it chose. It says how the method
    ended, whether the reports fit the survey and, of a method that climbs to the maximum of the likelihood, how far
    below it the answer can be. An iteration limit that is reached is a warning, not an error. A column called 'count'
    says how often a row's report was seen.
    From counts by groups, every group gets an estimate of its own, mean, median and queries with intervals, and whether
    it differs from the others.
    """
    given, reports = reports, local_counts(reports, survey)
    check_choice("--method", method, tuple(METHODS))
    chosen, outputs = METHODS[method], output or []
    level = interval or Level(USUAL_LEVEL)
    check_level("--interval", level.share)
    check_formats(outputs, (".csv", ".json", ".html", ".geojson"))
    asked_by = load_survey(survey)
    contract = choose_cells(asked_by, cell)
    form = choose_shape(contract, shape or [])
    questions = read_questions(query or [], contract)
    attributes = contract.alphabet.attributes
    # An attribute that is called so is meant, where there is one.
    everything = "all" in (show or ()) and (attributes is None or "all" not in attributes.names)
    shown = [one for one in show or () if one != "all" or not everything]
    names, crosses = answers.choose_tables(contract, shown)
    beside = answers.paths_beside(outputs, [*zip(names, strict=True), *crosses]) if shown else {}
    check_outputs([*outputs, *beside], [survey, reports, truth, background, *questions.areas])
    if contract.alphabet.is_finite:  # of unbounded values the likely ones are asked, when these are known
        contract.alphabet.require_listable()
        check_queries(contract, questions.queries)
    maps = [path for path in outputs if path.suffix.lower() == ".geojson"]
    if background is not None or maps:
        contract.alphabet.corners([0])  # which refuses what lies nowhere on the Earth, before any work is done
    lines = [line for path in (background, *questions.areas) if path is not None for line in read_lines(path)]
    if is_counts_file(reports):
        counted = read_counts(reports)
        counted.heading.require(asked_by, name_reports(given))
        counted = counted.of_different_people(different_people)
        if counted.heading.by:
            alone: dict[str, object] = {"--truth": truth, "--shape": shape, "--show": shown, "--cell": cell}
            alone |= {"--interval joint": level.is_joint, "--background": background, "-o .geojson": maps}
            _refuse_for_groups(alone)
            share = None if interval is None else level.share
            fits = answers.estimate_each_group(
                counted, contract, chosen, questions, share, outputs, everything=everything, as_json=as_json
            )
            end_strictly(fits, strict=strict)
            return
    true_rows = None if truth is None else read_values(truth, contract)
    if true_rows is not None:
        true_rows.account.require_usable("These are the true values. Nothing was written. Correct these rows.")
        true_rows.account.require_any(true_rows.alphabet, "True values")
    gathered = take_named(reports, given, asked_by)
    gathered = separated(count_on_cells(gathered, asked_by, contract), is_known=different_people)
    known = None if true_rows is None else _true_distribution(true_rows, contract, gathered.counts)
    with progress(_announced(chosen.name, contract.mechanism.alphabet)) as monitor:
        outcome = assess_pool(gathered.pool, chosen, shape=form, truth=known, monitor=monitor)
    answer = outcome.estimate
    with progress("Testing the fit"):
        fits_of_this = answer.fit, answer.shape_fit
    with progress("Finding intervals"):
        found = answers.ask(contract, answer, questions, level, has_band=interval is not None and not level.is_joint)
        tables = answers.tabulate(answer, names, crosses, level)
    # Of a file of reports, the heading that counts of it would have.
    heading = gathered.heading or Heading((contract,), (), gathered.account)
    account = None if true_rows is None else true_rows.account
    finding = Findings(
        contract,
        gathered.counts,
        (outcome,),
        known,
        "" if account is None else account.description,
        background=tuple(lines),
        source=gathered.description,
        notes=gathered.notes,
        files=heading.files,
        promised=promise_line(heading),
        **found,
        **tables,
    )
    # All are rendered before the first is written, so that a missing package leaves none behind.
    contents = {path: answers.render(path, finding, gathered, heading) for path in outputs}
    contents |= answers.tables_beside(outputs, finding) if shown else {}
    for path, content in contents.items():
        write_text(path, content)
    rows = {"rows": gathered.account.record, "truth_rows": None if account is None else account.record}
    if as_json:
        show_json(answers.record_of(finding, gathered, heading) | rows)
    else:
        show_summary(summarise_estimate(finding), console(), everything=everything)
        for path in contents:
            say_exactly(f"Wrote {path}")
        note = describe_left_out(answer.alphabet) if maps else ""
        if note:
            say(note)
    _warn_of_ending(finding, as_json=as_json)
    warn_over_limit(heading)
    warn_of(caution_fits(*fits_of_this) if as_json else [])
    end_strictly(*fits_of_this, strict=strict)


def _refuse_for_groups(options: dict[str, object]) -> None:
    refused = next((name for name, value in options.items() if value), None)
    if refused is not None:
        raise InvalidParameterError(
            f"{refused} is for one distribution; these counts are of several groups. Leave it out."
        )


def _warn_of_ending(found: Findings, *, as_json: bool) -> None:
    """Say what speaks against an answer: beside JSON also what the summary has a line for."""
    answer = found.estimate
    if as_json and found.undivided and found.alphabet.grid is not None:
        say(f"Districts are left out: {found.undivided}.", stderr=True)
    if as_json and not answer.is_told and not answer.identification.is_no:
        warn(str(answer.uniformity))
    if answer.status in WHEN_ENDED_EARLY:
        warn(f"{answer.ending}. {WHEN_ENDED_EARLY[answer.status]}")


def _true_distribution(rows: Rows, survey: Survey, counts: Counts) -> NDArray[np.float64]:
    """Return the truth over the values that the estimate will be over."""
    if survey.alphabet.is_finite:
        return rows.distribution()
    likely = likely_subset(counts, survey.mechanism).alphabet
    missed = int((~likely.contains(likely.as_array(rows.tally().reports))).sum())
    if missed:
        lie = "lies" if missed == 1 else "lie"
        bounds = 'kind = "grid" with rows and columns' if survey.alphabet.geometry.dimensions == 2 else "low and high"
        raise NoAnswerError(
            f"{missed:,} of the distinct true values {lie} beyond all reports, where the estimate is not looked for, "
            f"so its distance from the truth is not known. Leave out --truth, or make a copy of the survey whose "
            f"[alphabet] has {bounds}; the reports need not be made again."
        )
    return replace(rows, alphabet=likely).distribution()


def _announced(name: str, alphabet: Alphabet) -> str:
    """Return a method's name, with a word of warning where it takes long: a million values and 200 reports take 25 s.

    >>> from confide import Integers
    >>> _announced("IBU", Integers(0, 999_999))
    'IBU over 1,000,000 values, which may take a minute'
    """
    # A fifth of the million values that took the default 22 s of processor.
    is_long = alphabet.is_finite and alphabet.size > 200_000
    return f"{name} over {alphabet.size:,} values, which may take a minute" if is_long else name

"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from confide.cli.answers import Questions, ask, choose_tables, paths_beside, record_of, render, tables_beside, tabulate
from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.failures import NoAnswerError
from confide.cli.groups import Wanted, estimate_each_group
from confide.cli.numbers import as_amount, as_count, as_share
from confide.cli.repetition import promise_line, warn_over_limit
from confide.cli.terminal import console, progress, say, say_exactly, show_json, warn, warn_of
from confide.cli.usage import (
    CURE,
    DEFAULT,
    USUAL_LEVEL,
    AsJson,
    Cell,
    Columns,
    DifferentPeople,
    Mean,
    Median,
    MethodName,
    Quantiles,
    Rejects,
    ShapeWords,
    Strict,
    SurveyPath,
    Within,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    choose_method,
    choose_shape,
    choose_statistics,
    count_on_cells,
    end_strictly,
    gather_queries,
    outputs_option,
    separated,
)
from confide.data.files import Heading, Rows, describe_left_out, is_counts_file, read_counts, read_values, write_text
from confide.errors import InvalidParameterError
from confide.estimates.comparisons import assess_pool
from confide.estimates.estimate import Estimate
from confide.estimates.explanations import WHEN_ENDED_EARLY
from confide.estimates.inference import check_level
from confide.evidence.counts import Counts
from confide.present.estimates import Findings, summarise_estimate
from confide.present.summary import caution_fits
from confide.present.terminal import show_summary
from confide.solve.methods import IBU, MLE, Method
from confide.surveys.survey import Survey, load_survey
from confide.theory.likely_subsets import likely_subset
from confide.values import Alphabet
from confide.values.geojson import read_lines

LONG = 200_000
"""A fifth of the million values that took the default 22 s of processor with 200 reports."""

EXAMPLES = (
    "confide estimate survey.toml reports.csv",
    "confide estimate survey.toml reports.csv --truth values.csv -o estimate.csv -o estimate.html",
    'confide estimate survey.toml reports.csv --shape "falling from 50" --query "age >= 65"',
    'confide estimate survey.toml reports.csv --interval 0.95 --query "age >= 65" -o estimate.html',
    "confide estimate survey.toml reports.csv --mean --median --quantile 90%",
    "confide estimate survey.toml reports.csv --method inversion-project --json",
    'confide estimate city.toml reports.csv --within district.geojson --query "within 2 km of 40.75, -73.98"',
    "confide estimate survey.toml http://127.0.0.1:8000",
    "confide estimate survey.toml counts.parquet -o estimates.csv -o estimates.html",
)

FORMATS = (".csv", ".json", ".html", ".geojson")


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
    method: MethodName = None,
    delta: Annotated[
        float | None,
        typer.Option(
            parser=as_amount,
            metavar="X",
            help=f"For ibu: stop when a step changes the total log-likelihood by less. [default: {IBU().delta:g}]",
            show_default=False,
        ),
    ] = None,
    iteration_limit: Annotated[
        int | None,
        typer.Option(
            parser=as_count,
            metavar="N",
            help=f"Give up after so many iterations. [default: ibu {IBU().iteration_limit:,}, "
            f"mle {MLE().iteration_limit:,}]",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            parser=as_share,
            metavar="LEVEL",
            help="Also give intervals that hold the truth this often, 0.95 or 95%: in the table, as columns low and "
            "high of a CSV file, and as a band in the page.",
            show_default=False,
        ),
    ] = None,
    shape: ShapeWords = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help='Also answer "age >= 65", "answer in {yes, no}" or "within 2 km of 40.75, -73.98", with an interval '
            f"at the level of --interval [default: {USUAL_LEVEL:g}]; may be repeated.",
            show_default=False,
        ),
    ] = None,
    within: Within = None,
    cell: Cell = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="LINES",
            help="Draw the lines of a GeoJSON file, such as a coast or streets, on the maps of the page.",
            show_default=False,
        ),
    ] = None,
    mean: Mean = False,
    median: Median = False,
    quantile: Quantiles = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Of a survey of several attributes: estimate this one by itself, with its windows; may be repeated. "
            "[default: each, where there are many combinations]",
            show_default=False,
        ),
    ] = None,
    cross: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Of a survey of several attributes: a cross table of these, such as age,sex, with an interval for "
            "each entry and the totals; may be repeated.",
            show_default=False,
        ),
    ] = None,
    joint: Annotated[
        bool,
        typer.Option(
            "--joint", help="Let queries, mean, median and quantiles hold the truth all together, and each cross table."
        ),
    ] = False,
    prospect: Annotated[
        bool,
        typer.Option("--prospect", help="Also say what a query's width comes from, and what would narrow it."),
    ] = False,
    windows: Annotated[
        bool,
        typer.Option("--windows", help="Also look for the districts of a map that has many cells, for about a minute."),
    ] = False,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="VALUES",
            help="True values, to measure the distance from; rows of it that cannot be used go to --rejects too.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None, outputs_option("the estimate as .csv, .json, a .html page, or .geojson of places")
    ] = None,
    column: Columns = None,
    different_people: DifferentPeople = False,
    rejects: Rejects = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every value, not ranges or the likeliest.")] = False,
    strict: Strict = False,
    as_json: AsJson = False,
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
    # --delta and --iteration-limit alone ask for ibu, whose they are.
    asked = method or (DEFAULT if delta is None and iteration_limit is None else "ibu")
    chosen, outputs = _choose_method(asked, delta, iteration_limit), output or []
    level = USUAL_LEVEL if interval is None else interval
    check_level("--interval", level)
    check_formats(outputs, FORMATS)
    inputs = [survey, reports, truth, background, *(within or ())]
    check_outputs([*outputs, rejects], inputs)
    asked_by, queries = load_survey(survey), gather_queries(query, within)
    contract = choose_cells(asked_by, cell)
    form = choose_shape(contract, shape or [])
    names, crosses = choose_tables(contract, marginal or [], cross or [])
    beside = paths_beside(outputs, [*zip(names, strict=True), *crosses]) if marginal or crosses else {}
    check_outputs([*outputs, *beside, rejects], inputs)
    statistics = choose_statistics(contract, mean=mean, median=median, quantiles=quantile)
    if contract.alphabet.is_finite:  # of unbounded values the likely ones are asked, when these are known
        contract.alphabet.require_listable()
        check_queries(contract, queries)
    lines = _take_background(contract, outputs, background, within or [])
    if is_counts_file(reports):
        counted = read_counts(reports)
        counted.heading.require(asked_by, name_reports(given))
        counted = counted.of_different_people(different_people)
        if counted.heading.by:
            alone: dict[str, object] = {"--truth": truth, "--shape": shape, "--marginal": marginal, "--cross": cross}
            alone |= {
                "--joint": joint or None,
                "--prospect": prospect or None,
                "--windows": windows or None,
                "--cell": cell,
            }
            _refuse_for_groups(alone | {"--background": background, "-o .geojson": _maps(outputs) or None})
            _warn_of_groups(contract)
            wanted = Wanted(queries, statistics, interval, outputs, everything, as_json)
            fits = estimate_each_group(counted, contract, chosen, wanted)
            end_strictly(fits, strict=strict)
            return
    true_rows = None if truth is None else _read_truth(truth, contract, is_sorted=rejects is not None)
    set_aside = () if true_rows is None else true_rows.rejected
    gathered = take_named(reports, given, asked_by, column or [], rejects, set_aside)
    gathered = separated(count_on_cells(gathered, asked_by, contract), is_known=different_people)
    known = None if true_rows is None else _true_distribution(true_rows, contract, gathered.counts)
    with progress(_announced(chosen.name, contract.mechanism.alphabet)) as monitor:
        outcome = assess_pool(gathered.pool, chosen, shape=form, truth=known, monitor=monitor)
    answer = outcome.estimate
    with progress("Testing the fit"):
        fits_of_this = answer.fit, answer.shape_fit
    with progress("Finding intervals"):
        questions = Questions(queries, statistics, joint, prospect, windows)
        found = ask(contract, answer, questions, level, has_band=interval is not None)
        tables = tabulate(answer, names, crosses, level, joint=joint)
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
    contents = {path: render(path, finding, gathered, heading) for path in outputs}
    contents |= tables_beside(outputs, finding) if marginal or crosses else {}
    for path, content in contents.items():
        write_text(path, content)
    if as_json:
        _note_undivided(finding)
        rows = {"rows": gathered.account.record, "truth_rows": None if account is None else account.record}
        show_json(record_of(finding, gathered, heading) | rows)
    else:
        show_summary(summarise_estimate(finding), console(), everything=everything)
        for path in contents:
            say_exactly(f"Wrote {path}")
        note = describe_left_out(answer.alphabet) if _maps(outputs) else ""
        if note:
            say(note)
    _warn_of_ending(answer, as_json=as_json)
    warn_over_limit(heading)
    warn_of(caution_fits(*fits_of_this) if as_json else [])
    end_strictly(*fits_of_this, strict=strict)


def _note_undivided(found: Findings) -> None:
    """Say that a map's districts are left out, beside JSON, which has no line for it."""
    if found.undivided and found.alphabet.grid is not None:
        say(f"Districts are left out: {found.undivided}.", stderr=True)


def _maps(outputs: list[Path]) -> list[Path]:
    return [path for path in outputs if path.suffix.lower() == ".geojson"]


def _take_background(
    survey: Survey, outputs: list[Path], background: Path | None, within: list[Path]
) -> list[NDArray[np.float64]]:
    """Read the lines for maps, borders of areas that are asked for among them.

    Maps of what lies nowhere on the Earth are refused before any work is done.
    """
    if background is not None or _maps(outputs):
        survey.alphabet.corners([0])
    return [line for path in (background, *within) if path is not None for line in read_lines(path)]


def _warn_of_ending(answer: Estimate, *, as_json: bool) -> None:
    if as_json and not answer.is_told and not answer.identification.is_no:
        warn(str(answer.uniformity))
    if answer.status in WHEN_ENDED_EARLY:
        warn(f"{answer.ending}. {WHEN_ENDED_EARLY[answer.status]}")


def _choose_method(name: str, delta: float | None, iteration_limit: int | None) -> Method:
    method = choose_method(name)
    given = {"delta": delta, "iteration_limit": iteration_limit}
    settings = {key: value for key, value in given.items() if value is not None}
    if not settings:
        return method
    if delta is not None and not (isinstance(method, IBU) and method.stop == "delta"):
        raise InvalidParameterError(f"--delta only makes sense with --method ibu; got --method {name}.")
    if not isinstance(method, IBU | MLE):
        raise InvalidParameterError(f"--iteration-limit needs a method that iterates; got --method {name}.")
    return replace(method, **settings)  # type: ignore[arg-type]  # a float and an int, under their own names


def _read_truth(path: Path, survey: Survey, *, is_sorted: bool) -> Rows:
    """Read the true values; rows that cannot be used are an error, unless they are sorted out into a file."""
    rows = read_values(path, survey)
    if not is_sorted:
        rows.account.require_usable(f"These are the true values. {CURE}")
    rows.account.require_any(rows.alphabet, "True values")
    return rows


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


def _refuse_for_groups(options: dict[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InvalidParameterError(
            f"{given[0]} is for one distribution; these counts are of several groups. Leave it out."
        )


def _warn_of_groups(survey: Survey) -> None:
    if survey.shape is not None:
        warn(
            f"The survey declares the shape {survey.shape} of all people together, and a group need not have it: each "
            f"is estimated without, and so are its intervals."
        )


def _announced(name: str, alphabet: Alphabet) -> str:
    """Return a method's name, with a word of warning where it takes long: a million values and 200 reports take 25 s.

    >>> from confide import Integers
    >>> _announced("IBU", Integers(0, 999_999))
    'IBU over 1,000,000 values, which may take a minute'
    """
    is_long = alphabet.is_finite and alphabet.size > LONG
    return f"{name} over {alphabet.size:,} values, which may take a minute" if is_long else name

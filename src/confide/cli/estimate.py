"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from confide.cli import answers
from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.failures import NoAnswerError
from confide.cli.terminal import console, progress, say, say_exactly, show_json, warn, warn_of
from confide.cli.usage import (
    DEFAULT,
    QUERY,
    USUAL_LEVEL,
    AsJson,
    Cell,
    DifferentPeople,
    Level,
    ShapeWords,
    Strict,
    SurveyPath,
    Verbose,
    argument,
    as_level,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    choose_shape,
    count_on_cells,
    end_strictly,
    more_of,
    option,
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
    'confide estimate survey.toml reports.csv --query "age >= 65" -o page.html',
    'confide estimate survey.toml reports.csv --query mean --query "quantile 90%"',
    'confide estimate survey.toml reports.csv --shape "falling from 50"',
    "confide estimate survey.toml reports.csv --truth values.csv -v",
    "confide estimate city.toml reports.csv --query districts.geojson",
    "confide estimate survey.toml http://127.0.0.1:8000 --json",
    "confide estimate survey.toml counts.parquet -o groups.csv",
)


def estimate(  # noqa: PLR0913, PLR0915 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path,
        argument(
            "Counts of confide count, a collector's URL, or reports: CSV, Parquet, JSON lines; - for standard input.",
            "REPORTS",
        ),
    ],
    *,
    query: Annotated[list[str] | None, option(f"{QUERY}, mean, median, quantile 0.9; repeatable.", "QUERY")] = None,
    interval: Annotated[
        Level | None,
        option(
            'Confidence level; adds an interval for each value. "95% joint": for all --query at once. [default: 95%]',
            "LEVEL",
            parser=as_level,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        option(
            "all: every value. With several attributes: one (age) or a cross table (age,sex); repeatable.",
            "all|NAME|NAME,NAME",
        ),
    ] = None,
    output: Annotated[list[Path] | None, outputs_option("a .html page, .csv, .json, or .geojson of places")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    method: Annotated[
        str,
        option(
            f"How to recover the distribution: {', '.join(METHODS)}. [default: {DEFAULT}, which chooses by "
            "cross-validation]",
            "METHOD",
            panel="Assumptions",
        ),
    ] = DEFAULT,
    shape: ShapeWords = None,
    different_people: DifferentPeople = False,
    truth: Annotated[Path | None, option("True values, to measure the error.", "VALUES", panel="Checks")] = None,
    strict: Strict = False,
    cell: Cell = None,
    background: Annotated[
        Path | None, option("GeoJSON lines to draw on the maps, such as a coast or streets.", "FILE", panel="Maps")
    ] = None,
) -> None:
    """Recover the distribution of the true values from the reports.

    The answer comes first, with confidence intervals; -v shows how it was computed. Counts by groups get an estimate
    for each group, and a test whether it differs from the others. A column called 'count' says how often a row's
    report was seen.
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
                counted,
                contract,
                chosen,
                questions,
                share,
                outputs,
                everything=everything,
                verbose=verbose,
                as_json=as_json,
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
        summary = summarise_estimate(finding)
        show_summary(summary, console(), everything=everything, verbose=verbose, more=more_of("estimate", outputs))
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
    """Warn of what speaks against an answer.

    With JSON, also of what the summary has a line for.
    """
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
    """Return a method's name, with a warning if it takes long.

    A million values and 200 reports take 25 s.

    >>> from confide import Integers
    >>> _announced("IBU", Integers(0, 999_999))
    'IBU over 1,000,000 values, which may take a minute'
    """
    # A fifth of the million values that took the default 22 s of processor.
    is_long = alphabet.is_finite and alphabet.size > 200_000
    return f"{name} over {alphabet.size:,} values, which may take a minute" if is_long else name

"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from confide.alphabets import Lattice
from confide.checks import check_choice
from confide.cli.exits import NoAnswerError
from confide.cli.options import AsJson, Columns, Rejects, SurveyPath
from confide.cli.screening import check_outputs, describe_rows, rows_record, screen
from confide.cli.terminal import console, progress, say_exactly, show_json, show_pairs, warn
from confide.comparisons import Outcome, assess
from confide.errors import InvalidParameterError
from confide.methods import IBU, METHODS, MLE, Method, Status
from confide.reports import Counts
from confide.surveys import Survey, load_survey
from confide.tables import (
    REPORT_COLUMN,
    Rows,
    estimate_csv,
    estimate_record,
    read_reports,
    read_values,
    to_json,
    write_text,
)

EXAMPLES = (
    "confide estimate survey.toml reports.csv",
    "confide estimate survey.toml reports.csv --truth values.csv -o estimate.csv -o estimate.html",
    "confide estimate survey.toml reports.csv --method inversion-project --json",
)

FORMATS = (".csv", ".json", ".html")

DEFAULT = "stacked"
"""The method that is used where none is asked for; --delta and --iteration-limit alone ask for ibu, whose they are."""

CURES = {
    Status.ITERATION_LIMIT: "Raise --iteration-limit.",
    Status.TIME_LIMIT: "In Python, MLE(time_limit=...) gives it longer.",
    Status.PRECISION_LIMIT: "Nothing better can be proven in double precision; the answer stands.",
}
"""What to do about an answer that ended before its goal."""


def estimate(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path, typer.Argument(metavar="REPORTS", help="A CSV file of reports, .gz or not; - for standard input.")
    ],
    *,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(METHODS),
            help=f"How to recover the distribution. [default: {DEFAULT}, which chooses by itself and says what]",
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help=f"For ibu: stop when a step changes the total log-likelihood by less. [default: {IBU().delta:g}]",
            show_default=False,
        ),
    ] = None,
    iteration_limit: Annotated[
        int | None,
        typer.Option(
            help=f"Give up after so many iterations. [default: ibu {IBU().iteration_limit:,}, "
            f"mle {MLE().iteration_limit:,}]",
            show_default=False,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="VALUES", help="True values, to measure the distance from.", show_default=False),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write the estimate as .csv, .json or a .html page; may be repeated.",
            show_default=False,
        ),
    ] = None,
    column: Columns = None,
    rejects: Rejects = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every value, not ranges or the likeliest.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recover the distribution of the true values from the reports.

    With no --method it weighs several by reports that it holds out, and says what it chose. It says how the method
    ended and how far the answer can be from the best explanation of the reports. An iteration
    limit that is reached is a warning, not an error. A column called 'count' says how often a row's report was seen.
    """
    asked = method or (DEFAULT if delta is None and iteration_limit is None else "ibu")
    chosen, outputs = _choose_method(asked, delta, iteration_limit), output or []
    _check_formats(outputs)
    check_outputs([*outputs, rejects], [survey, reports, truth])
    contract = load_survey(survey)
    _require_end(contract)
    known = None if truth is None else _read_truth(truth, contract)
    rows = read_reports(reports, contract, column or ())
    screen(rows, rejects)
    _warn_of_values(rows, contract)
    counts = rows.tally()
    with progress(chosen.name) as monitor:
        outcome = assess(counts, contract.mechanism, chosen, truth=known, monitor=monitor)
    # All are rendered before the first is written, so that a missing package leaves none behind.
    contents = [_render(path, contract, counts, outcome, known) for path in outputs]
    for path, content in zip(outputs, contents, strict=True):
        write_text(path, content)
    if as_json:
        show_json(estimate_record(contract, counts, outcome) | {"rows": rows_record(rows)})
    else:
        _show_in_words(contract, rows, outcome, known, everything=everything)
        for path in outputs:
            say_exactly(f"Wrote {path}")
    if outcome.estimate.status in CURES:
        warn(f"{outcome.estimate.explanation}. {CURES[outcome.estimate.status]}")


def describe_certificate(certificate: float) -> str:
    """Return in words how far the likelihood can be from its maximum.

    >>> describe_certificate(3.21)
    'no distribution has a log-likelihood more than 3.21 above this one'
    """
    if math.isnan(certificate):
        return "none: the answer has negative entries and is no distribution"
    if math.isinf(certificate):
        return "none: the answer gives a report that was seen probability 0"
    return f"no distribution has a log-likelihood more than {certificate:.3g} above this one"


def _require_end(survey: Survey) -> None:
    """Refuse an alphabet without an end: there would be no end of probabilities to estimate."""
    alphabet = survey.alphabet
    if alphabet.is_finite:
        return
    bounds = 'kind = "grid" with rows and columns' if isinstance(alphabet, Lattice) else "low and high"
    raise NoAnswerError(
        f"An estimate needs values that have an end; {alphabet!r} has none. Make a copy of the survey whose [alphabet] "
        f"has {bounds}, wide enough for everyone. The reports need not be made again: the noise is the same."
    )


def _choose_method(name: str, delta: float | None, iteration_limit: int | None) -> Method:
    check_choice("--method", name, tuple(METHODS))
    method = METHODS[name]
    given = {"delta": delta, "iteration_limit": iteration_limit}
    settings = {key: value for key, value in given.items() if value is not None}
    if not settings:
        return method
    if delta is not None and not (isinstance(method, IBU) and method.stop == "delta"):
        raise InvalidParameterError(f"--delta only makes sense with --method ibu; got --method {name}.")
    if not isinstance(method, IBU | MLE):
        raise InvalidParameterError(f"--iteration-limit needs a method that iterates; got --method {name}.")
    return replace(method, **settings)  # type: ignore[arg-type]  # a float and an int, under their own names


def _check_formats(outputs: list[Path]) -> None:
    for path in outputs:
        if path.suffix.lower() not in FORMATS:
            raise InvalidParameterError(f"{path} should end in {', '.join(FORMATS)}: the ending names the format.")


def _read_truth(path: Path, survey: Survey) -> NDArray[np.float64]:
    rows = read_values(path, survey)
    rows.require_usable("These are the true values; correct or remove them.")
    return rows.distribution()


def _warn_of_values(rows: Rows, survey: Survey) -> None:
    """Warn when the column is named as true values are: an estimate from those would be wrong, and look right."""
    if rows.columns in ((survey.name,), ("value",)) and rows.columns != (REPORT_COLUMN,):
        warn(
            f"column {rows.columns[0]} of {rows.source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )


def _render(path: Path, survey: Survey, counts: Counts, outcome: Outcome, truth: NDArray[np.float64] | None) -> str:
    if path.suffix.lower() == ".csv":
        return estimate_csv(survey, outcome.estimate)
    if path.suffix.lower() == ".json":
        return to_json(estimate_record(survey, counts, outcome)) + "\n"
    from confide.pages import estimate_page

    return estimate_page(survey, counts, [outcome], truth=truth)


def _show_in_words(
    survey: Survey, rows: Rows, outcome: Outcome, truth: NDArray[np.float64] | None, *, everything: bool
) -> None:
    from confide.cli.bars import show_distribution
    from confide.explanations import explain_choices

    answer, target = outcome.estimate, console()
    show_pairs(
        [
            ("Survey", survey.title),
            ("Reports", f"{rows.people:,}, from {describe_rows(rows)}"),
            ("Method", repr(answer.method)),
            ("Status", f"{answer.status}: {answer.explanation}"),
            *zip(("Chosen", *[""] * len(answer.choices)), explain_choices(answer.choices), strict=False),
            ("Log-likelihood", "none" if math.isnan(answer.log_likelihood) else f"{answer.log_likelihood:,.3f}"),
            ("Certificate", describe_certificate(answer.certificate)),
            *_distances(survey, outcome, truth),
        ]
    )
    show_distribution(target, survey, answer.distribution, truth, everything=everything)


def _distances(survey: Survey, outcome: Outcome, truth: NDArray[np.float64] | None) -> list[tuple[str, str]]:
    from confide.explanations import with_unit

    if truth is None:
        return []
    if outcome.total_variation is None:
        return [("From the truth", "no distance: the answer is no distribution")]
    variation = ("Total variation", f"{outcome.total_variation:.4f} from the truth")
    if outcome.emd is None:
        return [variation]
    return [("EMD", f"{with_unit(outcome.emd, survey.alphabet.unit)} from the truth"), variation]

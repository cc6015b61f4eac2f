"""Usage that commands share: arguments and options, and checks on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.check.fit import Fit, GroupFits
from confide.check.shapes import ShapeFit
from confide.cli.failures import ExitCode
from confide.cli.terminal import warn
from confide.data.counting import ReportInput, read_reports
from confide.data.files import REPORT_COLUMN, Reject, check_writable
from confide.data.files.metadata import SUFFIX
from confide.data.files.sheets import resolved
from confide.errors import InvalidParameterError
from confide.evidence.shapes import Shape
from confide.mechanisms import PlanarLaplace
from confide.solve.methods import METHODS, Method, Stacked
from confide.surveys.survey import Survey
from confide.values import Alphabet, Places, UnorderedGeometry
from confide.values.checks import check_choice
from confide.values.geojson import read_areas
from confide.values.queries import Query, as_weights

CURE = "Nothing was written. Correct these rows, or set them aside with --rejects rejects.csv."

DEFAULT = next(name for name, method in METHODS.items() if method == Stacked())
"""The method that is used where none is asked for, by its name on the command line."""

USUAL_LEVEL = 0.95
"""The level of intervals where none is asked for."""

SurveyPath = Annotated[
    Path,
    typer.Argument(
        metavar="SURVEY",
        help="The survey file, such as survey.toml, or survey.json of confide export.",
        show_default=False,
    ),
]
DifferentPeople = Annotated[
    bool,
    typer.Option(
        "--different-people",
        help="Files of reports with permanent noise are of different people, as of towns and not of days: no answer is "
        "widened for one person who may be in several.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="The column to read; for values of several parts, such as row and column, give it once for each. "
        "By default the column named like the survey (for reports: 'report'), else the only one.",
        show_default=False,
    ),
]
Rejects = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Set rows that cannot be used aside in this file (file, line, text, reason) and go on with the others. "
        "Without it, one such row is an error.",
        show_default=False,
    ),
]

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Go on where most rows cannot be used, or most amounts fall into a bin with an open end."
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="|".join(METHODS),
        help=f"How to recover the distribution. [default: {DEFAULT}, which chooses by itself and says what]",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="End with exit code 8 if the reports fit the survey, or the shape, poorly or not at all.",
    ),
]
ShapeWords = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="WORDS",
        help='Estimate among distributions of a shape, such as "falling from 50" or "smooth = 3"; may be repeated, and '
        'all hold. One that the survey does not declare is said to be chosen afterwards; "none" leaves out one that it '
        "does. [default: the survey's]",
        show_default=False,
    ),
]
Mean = Annotated[bool, typer.Option("--mean", help="Also give the mean of the values, with its interval.")]
Median = Annotated[bool, typer.Option("--median", help="Also give the median, with its interval; as --quantile 0.5.")]
Quantiles = Annotated[
    list[str] | None,
    typer.Option(
        "--quantile",
        metavar="SHARE",
        help="Also give the value at or below which this share of people lies, 0.9 or 90%, with its interval; may be "
        "repeated.",
        show_default=False,
    ),
]
Cell = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help='Where reports are coordinates: cells to estimate on, such as "500 m".', show_default=False
    ),
]

Within = Annotated[
    list[Path] | None,
    typer.Option(
        "--within",
        metavar="AREA",
        help="Also answer how many people are inside the areas of a GeoJSON file, one answer a feature, with an "
        "interval; cells count by their centres; may be repeated.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines, and nothing else.")]


def outputs_option(what: str) -> Any:
    """Return the option -o of a command, which may be repeated."""
    return typer.Option(
        "--output", "-o", metavar="FILE", help=f"Also write {what}; may be repeated.", show_default=False
    )


def check_formats(outputs: Iterable[Path], formats: tuple[str, ...]) -> None:
    """Refuse outputs whose ending names no format."""
    for path in outputs:
        if path.suffix.lower() not in formats:
            raise InvalidParameterError(f"{path} should end in {', '.join(formats)}: the ending names the format.")


def gather_queries(queries: Sequence[str] | None, within: Sequence[Path] | None) -> list[Query]:
    """Return what is asked: texts, then the areas of files, one question an area."""
    return [*(queries or ()), *(area for path in within or () for area in read_areas(path))]


def check_queries(survey: Survey, queries: Iterable[Query]) -> None:
    """Refuse a query that makes no sense before any work is done."""
    for query in queries:
        as_weights(query, survey.alphabet, survey.name)


@dataclass(frozen=True)
class Statistic:
    """The mean, or the quantile of a share, of the values."""

    share: float | None = None


def choose_statistics(
    survey: Survey, *, mean: bool = False, median: bool = False, quantiles: Iterable[str] | None = None
) -> list[Statistic]:
    """Return the statistics that are asked for, each once; refuse them where values are no numbers."""
    asked = [Statistic()] if mean else []
    asked += [Statistic(0.5)] if median else []
    asked += [Statistic(read_share("--quantile", text)) for text in quantiles or ()]
    if asked:
        _require_numbers(survey.alphabet, survey.name)
    if (mean and not survey.alphabet.has_mean) or (asked and not survey.alphabet.has_numbers):
        _ = survey.alphabet.amounts  # which says why there is none
    return list(dict.fromkeys(asked))


def read_share(option: str, text: str) -> float:
    """Read a share between 0 and 1, written as such or in percent.

    >>> read_share("--quantile", "0.9"), read_share("--quantile", "90%")
    (0.9, 0.9)
    """
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if "%" in text else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise InvalidParameterError(f"{option} takes a share between 0 and 1, such as 0.9 or 90%; got {text!r}.")
    return share


def _require_numbers(alphabet: Alphabet, name: str) -> None:
    if alphabet.geometry.dimensions == 2:
        raise InvalidParameterError(
            "Cells have no mean and no quantiles: they have no order. Ask for rows and columns, such as "
            '--query "row >= 5".'
        )
    if alphabet.parts > 1 or (isinstance(alphabet.geometry, UnorderedGeometry) and not alphabet.has_numbers):
        what = "of several attributes" if alphabet.parts > 1 else f"words such as {alphabet.labels([0])[0]!r}"
        raise InvalidParameterError(
            f"The values of {name} are {what}, which have no mean and no quantiles. Ask for shares, with --query."
        )


def split_names(option: str, names: list[str] | None) -> tuple[str, ...]:
    """Return names that were given one by one, or with commas between them.

    >>> split_names("--keep", ["city,week", "sex"])
    ('city', 'week', 'sex')
    """
    for one in names or ():
        if not all(name.strip() for name in one.split(",")):
            raise InvalidParameterError(f"{option} takes names of columns, such as city,week; got {one!r}.")
    return tuple(name.strip() for one in names or () for name in one.split(","))


def choose_method(name: str) -> Method:
    """Return a method by its name on the command line."""
    check_choice("--method", name, tuple(METHODS))
    return METHODS[name]


def take_reports(
    path: Path, survey: Survey, columns: Sequence[str], rejects: Path | None, beside: Sequence[Reject] = ()
) -> ReportInput:
    """Read reports for one estimate, and warn of what may be wrong with them; rows of other files are set aside too."""
    found = read_reports(path, survey, columns, rejects, CURE, beside)
    warn_of_values(found.account.columns, found.account.source, survey)
    if found.unused:
        warn(
            f"{' and '.join(found.unused)} of {found.account.source} is not used: all counts are taken together. For "
            f"an estimate of each group, count with --by into a .parquet file, which carries the groups along."
        )
    return found


def separated(gathered: ReportInput, *, is_known: bool) -> ReportInput:
    """Return reports of which it may be known that nobody is in two files of them."""
    if not is_known:
        return gathered
    return replace(gathered, pool=[(part.with_repeats(1), own) for part, own in gathered.pool])


def choose_cells(survey: Survey, cell: str | None) -> Survey:
    """Return the survey as it is estimated: where reports are coordinates, on cells of this size."""
    mechanism = survey.mechanism
    has_coordinates = (
        isinstance(mechanism, PlanarLaplace) and bool(survey.alphabet.extent) and not survey.alphabet.is_finite
    )
    if has_coordinates and cell is None:
        raise InvalidParameterError(
            'Reports of this survey are coordinates: choose the cells to estimate on, such as --cell "500 m".'
        )
    if cell is not None and not has_coordinates:
        raise InvalidParameterError(
            "--cell is for surveys whose reports are coordinates; this one has its values already. Leave it out."
        )
    if cell is None or not isinstance(mechanism, PlanarLaplace):
        return survey
    warn(
        f"people are taken to be spread evenly over each cell of {cell}, which intervals do not allow for. Estimate on "
        f"smaller cells too, and compare."
    )
    return replace(survey, mechanism=mechanism.on(cell))


def count_on_cells(gathered: ReportInput, survey: Survey, cells: Survey) -> ReportInput:
    """Return reports that are coordinates counted by cells; others as they are."""
    mechanism, chosen = survey.mechanism, cells.alphabet
    if survey is cells or not isinstance(mechanism, PlanarLaplace) or not isinstance(chosen, Places):
        return gathered
    return replace(gathered, pool=[mechanism.on_cells(counts, chosen) for counts, _ in gathered.pool])


def warn_of_values(columns: tuple[str, ...], source: str, survey: Survey) -> None:
    """Warn when a column is named as true values are: an estimate from those would be wrong, and look right."""
    if columns in ((survey.name,), ("value",)) and columns != (REPORT_COLUMN,):
        warn(
            f"column {columns[0]} of {source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs that cannot be written, or that are one of the inputs, before any work is done."""
    read = {resolved(one) for one in inputs if one is not None and str(one) != "-"}
    written: set[Path] = set()
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        place = resolved(output)
        if place in read:
            raise InvalidParameterError(f"{output} is also an input, which writing would destroy. Name another output.")
        if place in written:
            raise InvalidParameterError(f"{output} is named twice, and can hold one of the two. Name another output.")
        written.add(place)
        check_writable(output)
    for place in read | written:
        companion = place.with_name(place.name + SUFFIX)
        if companion in written or (place in written and companion in read):
            raise InvalidParameterError(
                f"{companion.name} is where the metadata of {companion.name.removesuffix(SUFFIX)} stand. Name another "
                f"file."
            )


def end_strictly(*fits: Fit | GroupFits | ShapeFit | None, strict: bool) -> None:
    """End the command with its own exit code where the reports do not fit, if that was asked for."""
    if strict and any(one is not None and one.is_bad for one in fits):
        raise typer.Exit(int(ExitCode.POOR_FIT))


def choose_shape(survey: Survey, words: Sequence[str]) -> Shape | None:
    """Return the shape to estimate in: the survey's, or the words of an option, which may say the same or none."""
    if not words:
        return survey.shape
    plain = [one.strip().lower() for one in words]
    if plain == ["none"]:
        return None
    if "none" in plain:
        raise InvalidParameterError("--shape none leaves the survey's shape out; it goes with no other --shape.")
    asked = Shape.of(list(words))
    asked.check(survey.alphabet, survey.name)  # before any work is done
    return survey.shape if asked == survey.shape else asked

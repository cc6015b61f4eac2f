"""Arguments, options and checks that commands share."""

from __future__ import annotations

import atexit
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.terminal import warn
from confide.data.counting import ReportInput, read_reports
from confide.data.files import REPORT_COLUMN, Heading, check_writable
from confide.data.files.counts_files import write_counts_file
from confide.data.files.sheets import resolved
from confide.data.files.writing import SUFFIX
from confide.errors import ConfideError, InvalidParameterError
from confide.estimates.explanations import describe_files
from confide.mechanisms import PlanarLaplace
from confide.solve.methods import METHODS, Stacked
from confide.surveys.survey import Survey, load_survey
from confide.values import Places, UnorderedGeometry
from confide.values.geojson import is_drawing, read_areas
from confide.values.queries import Query, as_weights
from confide.values.wording import counted, listed

_PERCENT = re.compile(r"([0-9]+(?:[.,][0-9]*)?)\s*%")


def as_count(typed: str | int) -> int:
    """Return a typed count, or refuse it with its value.

    >>> [as_count(text) for text in ("50000", "50,000", "50_000", "50 000", "5e4", "50k")]
    [50000, 50000, 50000, 50000, 50000, 50000]
    """
    # Largest power of ten: 1e1000000000 would otherwise be written out, digit by digit, before anybody refuses it.
    most_zeros = 18
    # Between thousands: comma, underscore, space, apostrophe, and the spaces and the apostrophe that typesetters use.
    separators = ",_ '\u2019\u00a0\u2009\u202f"
    text = str(typed).strip()
    # A separator must be the same throughout: 1,000.000 is no count.
    if re.fullmatch(rf"[1-9][0-9]{{0,2}}(?:([{separators}])[0-9]{{3}})(?:\1[0-9]{{3}})*", text):
        return int(re.sub(f"[{separators}]", "", text))
    if re.fullmatch(r"[1-9][0-9]{0,2}[.][0-9]{3}([kKM])?|[1-9][0-9]{0,2}(?:[.][0-9]{3}){2,}", text):
        # In Berlin 1.000 is a thousand and in Boston it is one: only the person knows.
        low, high = text.partition(".")[0], text.replace(".", "")
        raise refusal(typed, f"a point may be a decimal point or stand between thousands. Write {low} or {high}")
    found = re.fullmatch(r"([0-9]+(?:[.][0-9]*)?)(?:[eE][+]?([0-9]{1,9}))?([kKM])?", text)
    if found is None:
        raise refusal(typed, "a whole number is needed, such as 50000, 50,000 or 5e4")
    digits, zeros, letter = found.groups()
    if int(zeros or 0) > most_zeros:
        raise refusal(typed, f"that is more than 1e{most_zeros}. Give a smaller number")
    # A small m is left out: elsewhere it is a thousandth.
    multiple = {"k": 10**3, "K": 10**3, "M": 10**6}.get(letter, 1)
    # Exact: as a float, 1.1e3 would be whole only by luck.
    number = Decimal(digits) * 10 ** int(zeros or 0) * multiple
    if number != number.to_integral_value():
        raise refusal(typed, f"a whole number is needed, such as {int(number) or 1}")
    return int(number)


def as_amount(typed: str | float) -> float:
    """Return a typed amount, or refuse it with its value.

    >>> as_amount("0.05"), as_amount("5e-2")
    (0.05, 0.05)
    """
    text = str(typed).strip()
    if re.fullmatch(r"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,4})?", text):
        return float(text)
    comma, percent = re.fullmatch(r"[+-]?([0-9]*),([0-9]+)", text), _PERCENT.fullmatch(text)
    if comma is not None:
        whole, behind = comma.groups()
        meant = text.replace(",", ".")
        # 0,05 can only be a decimal comma; 1,500 may be either.
        is_either = len(behind) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0")
        cure = f"Write {meant} or {text.replace(',', '')}" if is_either else f"Write {meant}, with a point"
        raise refusal(typed, f"a comma is no decimal point here. {cure}")
    if percent is not None:
        share = Decimal(percent[1].replace(",", ".")) / 100
        raise refusal(typed, f"a share is needed, not a percentage. Write {share.normalize():f}")
    raise refusal(typed, "a number is needed, such as 0.05 or 5e-2")


def as_share(typed: str | float) -> float:
    """Return a typed share, as an amount or in percent.

    Its range is not checked.

    >>> as_share("0.95"), as_share("95%")
    (0.95, 0.95)
    """
    percent = _PERCENT.fullmatch(str(typed).strip())
    return as_amount(typed) if percent is None or "," in percent[1] else float(Decimal(percent[1]) / 100)


@dataclass(frozen=True)
class Level:
    """Confidence level, of each interval or of all at once."""

    share: float
    is_joint: bool = False


def as_level(typed: str) -> Level:
    """Return the level of intervals as it was typed.

    >>> as_level("95%"), as_level("0.9 joint")
    (Level(share=0.95, is_joint=False), Level(share=0.9, is_joint=True))
    """
    share, *words = typed.split() or [""]
    if words not in ([], ["joint"]):
        raise refusal(typed, 'a level is needed, such as 0.95, 95% or "95% joint"')
    return Level(as_share(share), words == ["joint"])


def option(words: str, metavar: str = "", *names: str, **settings: Any) -> Any:
    """Return an option: its help, metavar and names.

    The default is not shown unless `show_default` asks for it: most are None, and the help says what that means.
    """
    if "panel" in settings:
        settings["rich_help_panel"] = settings.pop("panel")
    return typer.Option(*names, metavar=metavar or None, help=words, **{"show_default": False} | settings)


def argument(words: str, metavar: str, **settings: Any) -> Any:
    """Return an argument of a command."""
    return typer.Argument(metavar=metavar, help=words, **{"show_default": False} | settings)


def refusal(typed: object, why: str) -> typer.BadParameter:
    """Return the refusal of a text; typer adds the option's name."""
    return typer.BadParameter(f"{str(typed)!r}: {why}.")


DEFAULT = next(name for name, method in METHODS.items() if method == Stacked())
"""The method that is used where none is asked for, by its name on the command line."""

USUAL_LEVEL = 0.95
"""The level of intervals where none is asked for."""

SurveyPath = Annotated[Path, argument("The survey file: survey.toml, or survey.json of confide export.", "SURVEY")]
DifferentPeople = Annotated[
    bool,
    option(
        "Several files with permanent noise hold different people (towns, not days): do not widen intervals.",
        "",
        "--different-people",
        panel="Assumptions",
    ),
]
Columns = Annotated[
    list[str] | None,
    option(
        "Column to read; once for each part of a value. [default: the survey's name, or report]", "NAME", "--column"
    ),
]
Force = Annotated[
    bool, option("Go on even if most rows are unusable, or most amounts fall into an open-ended bin.", "", "--force")
]
Cell = Annotated[str | None, option('For coordinates: size of the cells, such as "500 m".', "SIZE", panel="Maps")]
AsJson = Annotated[bool, option("Print one JSON object and nothing else.", "", "--json")]
Verbose = Annotated[bool, option("Also show how it was computed, and from what.", "", "--verbose", "-v")]
QUERY = 'A share: "age >= 65", "answer in {yes, no}", "within 2 km of 40.75, -73.98", areas.geojson'


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


@dataclass(frozen=True)
class Questions:
    """What is asked: shares, statistics (None is the mean), and areas."""

    queries: list[Query] = field(default_factory=list)
    statistics: list[float | None] = field(default_factory=list)
    areas: list[Path] = field(default_factory=list)


def read_questions(texts: Iterable[str], survey: Survey, *, is_drawn: bool = False) -> Questions:
    """Read the questions of --query: shares, statistics, or areas of a file.

    If maps are drawn, a file may have nothing but lines for them.

    A statistic is a word without a comparison, which no question about people is: a survey may be called mean.
    """
    queries, statistics, areas = list[Query](), dict[float | None, None](), list[Path]()
    for text in texts:
        # Whole words alone: a survey may be called mean, and is asked for with a comparison.
        found = re.fullmatch(r"\s*(?:(mean)|(median)|quantile\s+([-+.\d]\S*))\s*", text, re.IGNORECASE)
        if found is not None:
            _require_numbers(survey, is_mean=bool(found[1]))
            statistics[None if found[1] else 0.5 if found[2] else _read_share(found[3])] = None
        elif text.strip().lower().endswith((".geojson", ".json")):
            areas.append(Path(text.strip()))
            queries += [] if is_drawn and is_drawing(areas[-1]) else read_areas(areas[-1])
        else:
            queries.append(text)
    return Questions(queries, list(statistics), areas)


def _read_share(text: str) -> float:
    """Read a share between 0 and 1, or in percent.

    >>> _read_share("0.9"), _read_share("90%")
    (0.9, 0.9)
    """
    try:
        share = float(text.removesuffix("%")) / (100 if "%" in text else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InvalidParameterError(f"A quantile takes a share between 0 and 1, such as 0.9 or 90%; got {text!r}.")
    return share


def _require_numbers(survey: Survey, *, is_mean: bool) -> None:
    """Refuse statistics of values that have no order, or no mean."""
    alphabet = survey.alphabet
    if alphabet.geometry.dimensions == 2:
        raise InvalidParameterError(
            "Cells have no mean and no quantiles: they have no order. Ask for rows and columns, such as "
            '--query "row >= 5".'
        )
    if alphabet.parts > 1 or (isinstance(alphabet.geometry, UnorderedGeometry) and not alphabet.has_numbers):
        what = "of several attributes" if alphabet.parts > 1 else f"words such as {alphabet.labels([0])[0]!r}"
        raise InvalidParameterError(
            f"The values of {survey.name} are {what}, which have no mean and no quantiles. Ask for shares, with "
            f"--query."
        )
    # Reading the amounts of values that have none raises, with the reason.
    if not alphabet.has_numbers or (is_mean and not alphabet.has_mean):
        _ = alphabet.amounts  # which says why there is none


def check_queries(survey: Survey, queries: Iterable[Query]) -> None:
    """Refuse a query that makes no sense before any work is done."""
    for query in queries:
        as_weights(query, survey.alphabet, survey.name)


def split_names(option: str, names: list[str] | None) -> tuple[str, ...]:
    """Return names that were given one by one, or with commas.

    >>> split_names("--keep", ["city,week", "sex"])
    ('city', 'week', 'sex')
    """
    for one in names or ():
        if not all(name.strip() for name in one.split(",")):
            raise InvalidParameterError(f"{option} takes names of columns, such as city,week; got {one!r}.")
    return tuple(name.strip() for one in names or () for name in one.split(","))


def local_counts(reports: Path, survey: Path) -> Path:
    """Return a file of counts in place of a collector's URL.

    It lasts as long as the command. A file is returned as it is.
    """
    url = name_reports(reports)
    if "://" not in url:
        return reports
    from confide.cli.collector import pull_counts

    counts = pull_counts(url, load_survey(survey))
    folder = tempfile.TemporaryDirectory(prefix="confide-")
    # Not in a with statement: the counts are read long after this function has returned.
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "counts.parquet"
    write_counts_file(path, counts)
    return path


def name_reports(reports: Path) -> str:
    """Return what a message calls reports: a file, or a URL.

    >>> name_reports(Path("http://127.0.0.1:8000")), name_reports(Path("reports.csv"))
    ('http://127.0.0.1:8000', 'reports.csv')
    """
    # A Path has folded the two slashes of a URL into one.
    scheme, mark, rest = str(reports).partition(":/")
    return f"{scheme}://{rest.lstrip('/')}" if mark and scheme in ("http", "https") else str(reports)


def take_reports(path: Path, given: Path, survey: Survey, cells: Survey, *, are_different: bool) -> ReportInput:
    """Read reports for one estimate, and warn of likely faults.

    They have the name that was given: of a URL, and not of the file that it was pulled into. `are_different` says that
    nobody is in two files.
    """
    name = name_reports(given)
    cure = (
        "Nothing was written. Correct these rows, or leave them out: confide count SURVEY REPORTS -o counts.parquet "
        "names them, and its counts take the place of the reports."
    )
    try:
        found = read_reports(path, survey, cure=cure)
    except ConfideError as error:
        error.args = (str(error).replace(str(path), name),)
        raise
    if given != path:
        account = replace(found.account, source=name)
        found = replace(found, account=account, description=found.description.replace(str(path), name))
    warn_of_values(found.account.columns, found.account.source, survey)
    if found.unused:
        warn(
            f"{' and '.join(found.unused)} of {found.account.source} is not used: all counts are taken together. For "
            f"an estimate of each group, count with --by into a .parquet file, which carries the groups along."
        )
    # Reports that are coordinates are counted by the cells that were chosen, so nothing else handles them.
    pool, mechanism, chosen = found.pool, survey.mechanism, cells.alphabet
    if cells is not survey and isinstance(mechanism, PlanarLaplace) and isinstance(chosen, Places):
        pool = [mechanism.on_cells(counts, chosen) for counts, _ in pool]
    if are_different:
        pool = [(part.with_repeats(1), own) for part, own in pool]
    return replace(found, pool=pool)


def choose_cells(survey: Survey, cell: str | None) -> Survey:
    """Return the survey to estimate: coordinates become cells of this size."""
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


def warn_of_values(columns: tuple[str, ...], source: str, survey: Survey) -> None:
    """Warn if a column is named like true values.

    An estimate from them would be wrong, and look right.
    """
    if columns in ((survey.name,), ("value",)) and columns != (REPORT_COLUMN,):
        warn(
            f"column {columns[0]} of {source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs that are inputs, or cannot be written, before any work."""
    # Links are followed: writing through one would destroy the file it points at.
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
    # Reports in CSV have a file of metadata beside them, which nobody names.
    for place in read | written:
        companion = place.with_name(place.name + SUFFIX)
        if companion in written or (place in written and companion in read):
            raise InvalidParameterError(
                f"{companion.name} is where the metadata of {companion.name.removesuffix(SUFFIX)} stand. Name another "
                f"file."
            )


def describe_merged(heading: Heading) -> str:
    """Return the promise to a person who is in every merged file."""
    if heading.files == 1:
        return f"{heading.survey.mechanism.guarantee.terms}, for one report of each person"
    if heading.is_pooled:
        # Under two rounds, what any number of reports of a value promise: what each does by itself does not add up.
        every = [one.mechanism.lasting or one.mechanism.guarantee for one in heading.surveys]
        terms = list(dict.fromkeys(one.terms for one in every))
        return f"{listed(terms)}; to a person who reported in several of the {heading.files:,} files, their sum"
    return describe_files(heading.survey, heading.files)


def promise_line(heading: Heading) -> list[tuple[str, str]]:
    """Return a line for the facts, if several files were merged."""
    return [("Promise of the survey", describe_merged(heading))] if heading.files > 1 else []


def warn_over_limit(heading: Heading) -> None:
    """Warn if more files were merged than the survey allows reports."""
    if heading.is_over_limit:
        warn(
            f"{counted(heading.most_reports, 'file')} may hold as many reports of one person, and the survey allows "
            f"{heading.limit}. The limit is broken unless the files are of different people."
        )


def repetition_record(heading: Heading) -> dict[str, Any]:
    """Return for JSON the number of files, and the promise over them."""
    promise = heading.survey.mechanism.lasting or heading.survey.mechanism.guarantee
    return {
        "files": heading.files,
        "guarantee_of_one_report": [str(one.mechanism.guarantee) for one in heading.surveys],
        "guarantee_if_in_each_file": None if heading.is_pooled else str(promise.times(heading.files)),
        "words": describe_merged(heading),
        "most_reports_of_one_person": max(
            [heading.most_repeated(number) for number, known in enumerate(heading.origins) if known.permanent] or [1]
        ),
        "limit": heading.limit,
        "is_over_limit": heading.is_over_limit,
    }

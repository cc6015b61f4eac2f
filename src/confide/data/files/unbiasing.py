"""Pseudo-values beside the reports of a file, for other programs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.data.files import writing
from confide.data.files.counts_files import is_counts_file, read_heading
from confide.data.files.reading import Rows, csv_batches, parquet_batches
from confide.data.files.sheets import (
    PARQUET,
    Account,
    ColumnPlaces,
    Reason,
    Reject,
    Request,
    name_of,
    open_sheet,
    parquet_explained,
    require,
)
from confide.data.files.writing import Traces
from confide.errors import DataFileError, InvalidParameterError
from confide.estimates.pseudo_values import PseudoValues
from confide.surveys.survey import Survey
from confide.values.checks import parse_real
from confide.values.queries import Query, describe_query
from confide.values.wording import name_some, suggestion

STATISTICS = (".sav", ".dta")
"""Suffixes of files for SPSS and for Stata."""

LONGEST_NAME = 32
"""Most characters of a column that Stata reads."""

SIGNS = {">=": " ge ", "<=": " le ", "!=": " ne ", "==": " ", "=": " ", ">": " gt ", "<": " lt ", "-": " minus "}


@dataclass(frozen=True)
class PseudoColumn:
    """A column of pseudo-values.

    Attributes
    ----------
    name, question
        Its name in the file, and the question that it is about.
    mean, error
        Its mean over all rows, and the standard error of that.
    """

    name: str
    question: str
    mean: float
    error: float


@dataclass(frozen=True)
class UnbiasedFile:
    """What was written: the account of the rows, and the new columns."""

    account: Account
    columns: tuple[PseudoColumn, ...]


def unbias_file(  # noqa: PLR0913 - one argument an option
    reports: str | Path,
    output: str | Path,
    survey: Survey,
    queries: Sequence[Query],
    columns: Sequence[str] = (),
    *,
    rejects: str | Path | None = None,
    cure: str = "Nothing was written. Correct these rows.",
) -> UnbiasedFile:
    """Copy a file of reports, with pseudo-values for each query.

    Parameters
    ----------
    reports
        CSV or Parquet. All its columns are copied, in their order.
    output
        .csv, .parquet, .sav for SPSS or .dta for Stata by its ending; ``-`` for CSV on standard output. The last two
        carry labels.
    survey
        The survey of the reports.
    queries
        The questions: texts such as ``"age >= 65"``, or ``"mean"``.
    columns
        The columns of a report, if they have unusual names.
    rejects
        File for unusable rows; without it, such a row is an error.
    cure
        What an error about unusable rows advises.
    """
    ending = (".csv", *PARQUET, *STATISTICS)
    writing.require_ending(output, ending, may_lack_one=writing.has_no_name(output))
    if not len(queries):
        raise InvalidParameterError(
            "Ask a question: the mean, or a share such as 'age >= 65'. On the command line: --query."
        )
    name, form = str(reports), Path(output).suffix.lower()
    asked = {describe_query(one): PseudoValues.of(survey.mechanism, one, survey.name) for one in queries}
    _trace(name, survey)
    header = _header(name)
    new = _new_names(survey, asked, header)
    # Names come before rows: a file of millions is not read for a column that is not there.
    places = Request(survey.mechanism.report_alphabet, tuple(columns)).choose(name_of(name), header)
    account, rejected, found = _read(name, survey, places, list(asked.values()))
    if rejects is None:
        account.require_usable(cure)
    else:
        writing.write_rejects(rejects, rejected)
    account.require_any(survey.mechanism.report_alphabet)
    table = dict(zip((*header, *new), map(np.concatenate, found), strict=True))
    labels = dict(zip(new, (f"unbiased: {one}" for one in asked), strict=True))
    _write(output, form, table, labels, survey, places.names)
    counts = table[header[places.counts[0]]].astype(np.float64) if places.counts else np.ones(account.accepted)
    described = (_describe(one, question, table[one], counts) for one, question in zip(new, asked, strict=True))
    return UnbiasedFile(account, tuple(described))


def _read(
    path: str, survey: Survey, places: ColumnPlaces, asked: Sequence[PseudoValues]
) -> tuple[Account, list[Reject], list[list[Any]]]:
    """Read all columns, in pieces, with pseudo-values behind them."""
    header = places.header
    kept = [at for at in range(len(header)) if at not in places.entry]
    request = Request(survey.mechanism.report_alphabet, places.names, keep=tuple(header[at] for at in kept))
    account, rejected = Account(source=name_of(path)), list[Reject]()
    found = [list[Any]() for _ in range(len(header) + len(asked))]
    for rows, own, others in _pieces(path, request):
        account += rows.account
        rejected += rows.rejected
        # An empty array has the type of floats, and would make floats of the whole numbers beside it.
        if not rows.account.accepted:
            continue
        for at, column in (*zip(kept, others, strict=True), *zip(places.parts, own.T, strict=True)):
            found[at].append(column)
        for at in places.counts:
            found[at].append(rows.counts)
        for at, one in enumerate(asked, len(header)):
            found[at].append(one.values(rows.distinct)[rows.numbers])
    return account, rejected, found


def _pieces(path: str, request: Request) -> Iterator[tuple[Rows, Any, list[Any]]]:
    """Yield rows with their reports and the columns beside them."""
    is_table = path.lower().endswith(PARQUET)
    for rows in (parquet_batches if is_table else csv_batches)(path, request):
        own = rows.distinct.reshape(len(rows.distinct), rows.alphabet.parts)[rows.numbers]
        yield rows, own, [one.to_numpy(zero_copy_only=False) if is_table else one for one in rows.kept]


def _describe(name: str, question: str, values: Any, counts: Any) -> PseudoColumn:
    """Return a column with its mean over people."""
    people = counts.sum()
    mean = float(values @ counts / people)
    # The sample variance: pseudo-values of different people are independent.
    variance = float((values - mean) ** 2 @ counts) / max(people - 1, 1)
    return PseudoColumn(name, question, mean, float(np.sqrt(variance / people)))


def _trace(path: str, survey: Survey) -> Traces:
    """Return a file's metadata; refuse reports or counts of another survey."""
    if not Path(path).is_file():
        return Traces(((name_of(path), None),))
    if is_counts_file(path):
        heading = read_heading(path, survey)
        heading.require(survey, path)
        if heading.is_pooled:
            raise DataFileError(f"{path} holds counts of {len(heading.surveys)} surveys. Take those of one at a time.")
    return Traces.of([path], survey)


def _header(path: str) -> tuple[str, ...]:
    if path.lower().endswith(PARQUET):
        with parquet_explained(path):
            return tuple(require("pyarrow.parquet").read_schema(path).names)
    with open_sheet(path) as sheet:
        return tuple(sheet.header)


def _new_names(survey: Survey, questions: Iterable[str], header: Sequence[str]) -> list[str]:
    """Return new names that every program reads."""
    taken, names = {one.lower() for one in header}, list[str]()
    for question in questions:
        text = f"{survey.name} mean" if question == "mean" else question
        for sign, word in SIGNS.items():
            text = text.replace(sign, word)
        # SPSS, Stata and R each take a letter first, then letters, digits and underscores.
        plain = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_") or "answer"
        plain = (plain if plain[0].isalpha() else f"q_{plain}")[: LONGEST_NAME - 3]
        # Three characters are left for a number behind a name that is taken.
        numbered = (plain if number == 1 else f"{plain}_{number}" for number in range(1, 1000))
        names.append(next(one for one in numbered if one.lower() not in taken))
        taken.add(names[-1].lower())
    return names


def _write(
    output: str | Path,
    form: str,
    table: Mapping[str, Any],
    labels: Mapping[str, str],
    survey: Survey,
    reported: Sequence[str],
) -> None:
    """Write a table in the format of an ending."""
    if form in STATISTICS:
        content = _statistics_file(form, table, labels, survey, reported)
    elif form in PARQUET:
        arrow = require("pyarrow")
        sink = arrow.BufferOutputStream()
        typed = arrow.table({name: typed_column(column) for name, column in table.items()})
        require("pyarrow.parquet").write_table(typed, sink)
        content = sink.getvalue().to_pybytes()
    else:
        content = (writing.csv_text(table, []) + writing.as_lines(list(table.values()))).encode()
    with writing.whole_file(output) as stream:
        stream.write(content)


def read_people(
    path: str | Path, survey: Survey, keep: Sequence[str], columns: Sequence[str] = (), whole: Survey | None = None
) -> tuple[dict[str, Any], Account, Traces]:
    """Read reports with other columns beside them, one row a person.

    Numbers where all entries are numbers.

    A row without a report is left out. Any other row that cannot be used is an error. `whole` is the survey of the
    file, if `survey` is about some of its attributes.
    """
    name = str(path)
    traces = _trace(name, whole or survey)
    header = _header(name)
    request = Request(survey.mechanism.report_alphabet, tuple(columns))
    try:
        places = request.choose(name_of(name), header)
    except DataFileError:
        if columns or survey.name not in header:
            raise
        # A file of answers from people calls the column by what was asked, and not "report".
        request = Request(request.alphabet, (survey.name,))
        places = request.choose(name_of(name), header)
    missing = next((one for one in keep if one not in header), None)
    if missing is not None:
        found = f"{missing!r}{suggestion(missing, header)}"
        raise DataFileError(f"{name_of(name)} has no column {found}. It has {name_some(header)}.")
    request = Request(request.alphabet, places.names, keep=tuple(keep))
    account, parts, kept = Account(source=name_of(name)), list[Any](), [list[Any]() for _ in keep]
    for rows, own, others in _pieces(name, request):
        account += rows.account
        if not rows.account.accepted:
            continue
        counts = np.ones(rows.numbers.size, dtype=np.int64) if rows.counts is None else rows.counts
        parts.append((own, counts))
        for at, column in enumerate(others):
            kept[at].append(column)
    bad = replace(account, rejected={why: many for why, many in account.rejected.items() if why is not Reason.MISSING})
    bad.require_usable("Correct these rows, or leave them out of the file.")
    account.require_any(request.alphabet)
    reports = np.concatenate([own for own, _ in parts])
    table = dict(zip(places.names, reports.T, strict=True))
    table |= {"count": np.concatenate([counts for _, counts in parts])} if places.counts else {}
    return (
        table | {one: _without_blanks(np.concatenate(column)) for one, column in zip(keep, kept, strict=True)},
        account,
        traces,
    )


def _without_blanks(column: Any) -> Any:
    """Return a column with numbers where all are, and None for blanks."""
    found = typed_column(column)
    if found.dtype.kind == "O":
        found = np.array([None if isinstance(one, str) and not one.strip() else one for one in found], dtype=object)
    return found


def typed_column(column: Any) -> Any:
    """Return a column of texts as numbers if all are.

    007 stays a text.
    """
    if column.dtype.kind != "O" or not all(one is None or isinstance(one, str) for one in column):
        return column
    numbers = [parse_real(one) if one else np.nan for one in column]
    is_code = any(one and re.fullmatch(r"[+-]?0[0-9]+", one) for one in column)
    if is_code or None in numbers or all(not one for one in column):
        return column
    found = np.array(numbers, dtype=np.float64)
    is_whole = bool(np.isfinite(found).all() and (found == np.floor(found)).all() and (np.abs(found) < 2**53).all())
    return found.astype(np.int64) if is_whole else found


def _statistics_file(
    form: str, table: Mapping[str, Any], labels: Mapping[str, str], survey: Survey, reported: Sequence[str]
) -> bytes:
    """Return a file for SPSS or Stata, with labels."""
    extra = {"purpose": "A file for SPSS or Stata", "extra": form.replace(".sav", "spss").replace(".dta", "stata")}
    pandas, program = require("pandas", **extra), require("pyreadstat", **extra)
    alphabet, names = survey.mechanism.report_alphabet, dict[str, str]()
    for name in table:
        plain = re.sub(r"[^0-9A-Za-z_]", "_", name)[:LONGEST_NAME] or "column"
        plain = plain if plain[0].isalpha() else f"v_{plain}"[:LONGEST_NAME]
        if plain.lower() in (one.lower() for one in names.values()):
            raise DataFileError(f"Column {name!r} has no name of its own in such a file: {plain} is taken. Rename it.")
        names[name] = plain
    columns, coded = {name: typed_column(column) for name, column in table.items()}, dict[str, dict[int, str]]()
    for name in reported:
        if len(reported) == 1 and columns[name].dtype.kind == "U" and alphabet.is_listable:
            columns[name] = alphabet.locate(columns[name]) + 1
            coded[names[name]] = dict(enumerate(alphabet.labels(range(alphabet.size)), 1))
    frame = pandas.DataFrame({names[name]: column for name, column in columns.items()})
    own = {names[name]: labels.get(name, name) for name in table}
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        path = f"{folder}/table{form}"
        write = program.write_sav if form == ".sav" else program.write_dta
        write(frame, path, file_label=survey.title[:80], column_labels=own, variable_value_labels=coded)
        return Path(path).read_bytes()

"""Reading values and reports in Python: CSV, gzipped or not, and Parquet."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data.files import sheets
from confide.data.files.counts_files import is_counts_file
from confide.data.files.sheets import LIMITS, Account, Reason, Reject
from confide.data.files.writing import Traces, read_metadata
from confide.errors import DataFileError
from confide.evidence.counts import Counts, tally
from confide.evidence.totals import check_totals
from confide.surveys.survey import Survey
from confide.values import Alphabet, Indices, LatticeGeometry, Values
from confide.values.base import as_column
from confide.values.checks import COUNT_LIMIT, NUMBER_LIKE, Numeral, parse_real

Entry = tuple[str, ...]
"""The texts of one row: the parts of its value and, in a counted file, its count."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file of values or reports.

    Attributes
    ----------
    account
        The account of all rows.
    alphabet
        The alphabet of the values.
    distinct
        The accepted values, one per distinct text: a million rows of ages have a hundred.
    numbers
        The index into `distinct` of each accepted row, in the order of the file.
    counts
        Number of people of each accepted row, if the file has a column ``count``; else None.
    rejected
        The rejected rows.
    unused
        The other columns of the file.
    kept
        The kept columns of accepted rows: texts, or Arrow arrays from Parquet.
    traces
        The metadata of a file of reports.
    """

    account: Account
    alphabet: Alphabet
    distinct: Values
    numbers: Indices
    counts: NDArray[np.int64] | None
    rejected: tuple[Reject, ...]
    unused: tuple[str, ...] = ()
    kept: tuple[Any, ...] = ()
    traces: Traces = field(default_factory=Traces)

    @property
    def values(self) -> Values:
        """One value per person, in the order of the file."""
        numbers = self.numbers if self.counts is None else np.repeat(self.numbers, self.counts)
        values: Values = self.distinct[numbers]
        return values

    def tally(self) -> Counts:
        """Count the values, as :func:`confide.tally` does."""
        counts = tally(self.distinct, np.bincount(self.numbers, self.counts, minlength=len(self.distinct)))
        counts = counts.with_origin(self.traces.origin(counts.total, self.account.columns))
        return counts.with_repeats(1 + self.traces.further) if counts.origin.permanent else counts

    def histogram(self) -> NDArray[np.float64]:
        """Return the number of people with each value of the alphabet."""
        counts, size = self.tally(), self.alphabet.size
        return np.bincount(self.alphabet.encode(counts.reports), counts.counts, minlength=size).astype(np.float64)

    def distribution(self) -> NDArray[np.float64]:
        """Return the share of people with each value of the alphabet."""
        if self.account.people == 0:
            source = self.account.source
            raise DataFileError(f"The counts of {source} add up to 0; a distribution needs at least one person.")
        return self.histogram() / self.account.people


def read_values(path: str | Path, survey: Survey, columns: Sequence[str] = ()) -> Rows:
    """Read a CSV file of true values.

    Parameters
    ----------
    path
        The file, ``.gz`` or not; ``-`` for standard input.
    survey
        Its alphabet checks the values, and its ``name`` is their column.
    columns
        The column to read, or the columns if a value has several parts. By default the column named like the survey,
        else the alphabet's own names (``value``; ``row`` and ``column``), else the only column.
    """
    rows = _read(str(path), sheets.Request(survey.alphabet, tuple(columns), name=survey.name, is_raw=True))
    _refuse_reports(rows, str(path))
    return rows


def read_report_rows(path: str | Path, survey: Survey, columns: Sequence[str] = ()) -> Rows:
    """Read a CSV file of reports, as :func:`read_values` reads values.

    Real numbers are rounded to the nearest ones that the mechanism can report, because spreadsheets and databases drop
    the last digits. If the file has metadata, it must belong to this survey and be unchanged.
    """
    # Standard input and pipes have no metadata.
    name, is_simulated = str(path), bool(getattr(survey, "simulated", ""))
    is_file = Path(name).is_file()
    traces = Traces.of([name], survey) if is_file else Traces(((sheets.name_of(name), None),), is_simulated)
    return replace(_read(name, sheets.Request(survey.mechanism.report_alphabet, tuple(columns))), traces=traces)


def read_value_batches(
    path: str | Path, survey: Survey, columns: Sequence[str] = (), keep: Sequence[str] = ()
) -> Iterator[Rows]:
    """Read a file of true values of any size, batch by batch.

    It works as :func:`read_values`, also for Parquet, and returns the columns in `keep` unchanged.
    """
    name = str(path)
    request = sheets.Request(survey.alphabet, tuple(columns), name=survey.name, keep=tuple(keep), is_raw=True)
    batches = parquet_batches(name, request) if name.lower().endswith(sheets.PARQUET) else csv_batches(name, request)
    for place, rows in enumerate(batches):
        if place == 0:
            _refuse_reports(rows, name)
        yield rows


def _refuse_reports(rows: Rows, path: str) -> None:
    """Refuse reports in place of values: they carry noise already."""
    if is_counts_file(path):
        raise DataFileError(f"{path} holds counts of reports, which are blurred already. Name the file of true values.")
    known = read_metadata(path) if Path(path).is_file() else None
    if known is not None and rows.account.columns == known.names:
        raise DataFileError(
            f"{path} holds reports, which are blurred already, as its metadata say. Name the file of true values."
        )


def read_totals(path: str | Path) -> dict[str, dict[str, float]]:
    r"""Read known totals: the columns ``column``, ``value`` and ``total``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/census.csv").write_text("column,value,total\nsex,f,5100\nsex,m,4900\n")
    ...     read_totals(f"{folder}/census.csv")
    {'sex': {'f': 5100.0, 'm': 4900.0}}
    """
    found, source = defaultdict[str, dict[str, float]](dict), sheets.name_of(str(path))
    with sheets.explained(source), sheets.open_sheet(str(path)) as sheet:
        names = ("column", "value", "total")
        missing = [name for name in names if name not in sheet.header]
        if missing:
            raise DataFileError(
                f"{source} has no column {missing[0]!r}; it has {', '.join(sheet.header)}. Known totals stand in the "
                f"columns column, value and total, such as: sex,f,5100"
            )
        for chunk in sheet.chunks([sheet.header.index(name) for name in names]):
            for place, (line, key) in enumerate(zip(chunk.lines.tolist(), chunk.keys, strict=True)):
                margin, value, text = (one.strip() for one in key)
                total = parse_real(text)
                if place in chunk.strays or not margin or not value or total is None or total < 0:
                    raise DataFileError(
                        f"Line {line} of {source} names no class and its total; got {','.join(key)!r}. Write the "
                        f"column, its value and a number of people, such as sex,f,5100."
                    )
                if value in found[margin]:
                    raise DataFileError(f"Line {line} of {source} has {margin} = {value} again. Keep one of the lines.")
                found[margin][value] = float(total)
    if not found:
        raise DataFileError(f"{source} has no totals below its header. Write lines such as sex,f,5100.")
    return check_totals(dict(found))


def csv_batches(path: str, request: sheets.Request, *, is_whole: bool = False) -> Iterator[Rows]:
    """Read a CSV file in batches, or all of it as one."""
    with sheets.open_sheet(path) as sheet:
        places = request.choose(sheets.name_of(path), sheet.header)
        chunks = sheet.chunks(places.entry, places.kept)
        for some in [chunks] if is_whole else ([chunk] for chunk in chunks):
            # Each new text gets the next number.
            known: defaultdict[Any, int] = defaultdict(count().__next__)
            strays, read = dict[int, str](), 0
            # A batch may have no chunks at all, and then it has no rows.
            codes, lines = ([np.zeros(0, dtype=np.int64)] for _ in range(2))
            kept: list[tuple[Sequence[str], ...]] = []
            for chunk in some:
                codes.append(np.fromiter(map(known.__getitem__, chunk.keys), np.int64, len(chunk.keys)))
                codes[-1][list(chunk.strays)] = -1
                lines.append(chunk.lines)
                strays |= {read + place: text for place, text in chunk.strays.items()}
                read += len(chunk.keys)
                kept.append(chunk.kept)
            entries = [key if isinstance(key, tuple) else (key,) for key in known]
            # Store equal texts once: a million people live in few cities.
            texts: dict[str, str] = {}
            columns = (list(chain(*parts)) for parts in zip(*kept, strict=True))
            carried = tuple(np.array(list(map(texts.setdefault, one, one)), dtype=object) for one in columns)
            scan = Scan(entries, np.concatenate(codes), np.concatenate(lines), strays, carried)
            yield _judge(scan, request, places, sheets.name_of(path))


def _read(path: str, request: sheets.Request) -> Rows:
    (rows,) = csv_batches(path, request, is_whole=True)
    # A batch may be empty, but not a whole file.
    rows.account.require_rows()
    return rows


@dataclass(frozen=True, eq=False)
class Scan:
    """Unparsed rows of a file, with each distinct entry stored once.

    Attributes
    ----------
    entries
        The distinct entries.
    codes
        The entry of each row; -1 for a row with too few or too many fields.
    lines
        The line where each row starts.
    strays
        What is wrong with rows of too few or too many fields; an empty text for blank rows.
    kept
        The kept columns.
    """

    entries: list[Entry]
    codes: Indices
    lines: Indices
    strays: dict[int, str]
    kept: tuple[Any, ...] = ()


def _judge(scan: Scan, request: sheets.Request, places: sheets.ColumnPlaces, source: str) -> Rows:
    alphabet, is_counted = request.alphabet, bool(places.counts)
    fields = [entry[: len(places.parts)] for entry in scan.entries]
    numbers = [parse_real(entry[-1]) if is_counted else 1.0 for entry in scan.entries]
    # -1 marks an invalid count, whose row is rejected.
    counts = [int(one) if one is not None and 0 <= one < COUNT_LIMIT and one.is_integer() else -1 for one in numbers]
    parsed = [request.parse(one) if count >= 0 else None for one, count in zip(fields, counts, strict=True)]
    distinct, is_good = select_values(alphabet, parsed)
    # The extra last entry is for rows with the wrong number of fields, whose code is -1.
    usable = np.append(is_good, False)[scan.codes]
    chosen = scan.codes[usable]
    rejected = _reject(scan, np.flatnonzero(~usable).tolist(), request, fields, source)
    weights = np.array(counts, dtype=np.int64)[chosen] if is_counted else None
    remarks = Counter[str]()
    if request.is_raw:  # the alphabet may have changed texts on the way to a value
        for entry, number in zip(fields, np.bincount(chosen, minlength=len(fields)).tolist(), strict=True):
            if number and (remark := alphabet.remark(entry)):
                remarks[remark] += number
    account = Account(
        accepted=chosen.size,
        rejected=dict(Counter(one.reason for one in rejected)),
        first=rejected[: LIMITS.shown_rejects],
        source=source,
        columns=places.names,
        people=chosen.size if weights is None else sum(weights.tolist()),  # whole: a sum in int64 could overflow
        is_counted=is_counted,
        remarks=dict(remarks),
    )
    accepted = np.flatnonzero(usable)
    kept = tuple(column.take(accepted) for column in scan.kept)
    return Rows(account, alphabet, distinct, (np.cumsum(is_good) - 1)[chosen], weights, rejected, places.unused, kept)


def _reject(
    scan: Scan, rows: list[int], request: sheets.Request, values: list[Entry], source: str
) -> tuple[Reject, ...]:
    # Find the fault of each text once, however many rows have it.
    codes = set(scan.codes[rows].tolist()) - {-1}
    faults = {code: find_fault(request, values[code]) for code in codes}
    hints = {code: request.alphabet.hint(values[code]) for code in codes} if request.is_raw else {}
    rejects = []
    for row in rows:
        line, stray = int(scan.lines[row]), scan.strays.get(row)
        if stray is not None:
            rejects.append(Reject(source, line, stray, Reason.MISSHAPEN if stray else Reason.MISSING))
        else:
            code = int(scan.codes[row])
            texts = scan.entries[code]
            is_weight = faults[code] is Reason.BAD_COUNT and 0 < (parse_real(texts[-1]) or 0) < COUNT_LIMIT
            reason = Reason.WEIGHT if is_weight else faults[code]
            rejects.append(Reject(source, line, ",".join(texts), reason, hints.get(code, "")))
    return tuple(rejects)


def find_fault(request: sheets.Request, fields: Entry) -> Reason:
    """Return why a row's texts are not a value or report.

    If they are, its count is bad.
    """
    alphabet = request.alphabet
    if _is_value(request, fields):
        return Reason.BAD_COUNT
    if not all(text.strip() for text in fields):
        return Reason.MISSING
    if alphabet.attributes is not None:
        # Report the first attribute at fault.
        each = alphabet.attributes.fields(fields, is_raw=request.is_raw)
        parts = [(replace(request, alphabet=part, columns=()), texts) for part, texts in each]
        return next(find_fault(part, texts) for part, texts in parts if not _is_value(part, texts))
    if request.is_raw and (fault := alphabet.fault(fields)):
        return Reason(fault)
    if request.parse(fields) is not None:
        return Reason.OUTSIDE
    is_meant_whole = alphabet.geometry.is_whole and all(re.fullmatch(NUMBER_LIKE, text) for text in fields)
    return Reason.NOT_WHOLE if is_meant_whole else Reason.NOT_A_NUMBER


def _is_value(request: sheets.Request, fields: Entry) -> bool:
    """Whether a row's texts are a value of the alphabet."""
    return bool(select_values(request.alphabet, [request.parse(fields)])[1][0])


def select_values(alphabet: Alphabet, parsed: list[Any]) -> tuple[Values, NDArray[np.bool_]]:
    """Return the valid values among parsed ones, and a mask of them."""
    places = [place for place, value in enumerate(parsed) if _fits(value)]
    is_good = np.zeros(len(parsed), dtype=bool)
    if not places:
        return alphabet.as_array([]), is_good
    first = parsed[places[0]]
    # Pairs of a number and a category need an array of objects.
    is_mixed = isinstance(first, tuple) and len({type(part) for part in first}) > 1
    values: Values = np.array([parsed[place] for place in places], dtype=object if is_mixed else None)
    if isinstance(alphabet.geometry, LatticeGeometry) and not alphabet.geometry.is_whole:
        with np.errstate(over="ignore"):  # infinite values lie outside the alphabet anyway
            resolutions = np.array(alphabet.geometry.resolutions)
            values = np.rint(values * resolutions) / resolutions
    inside = alphabet.contains(values)
    is_good[places] = inside
    return values[inside], is_good


def _fits(value: Any) -> bool:
    """Whether numpy stores a value exactly.

    One huge number would turn all into floats.
    """
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, str):
        return not value.endswith("\0")  # numpy would cut it off
    return all(map(_fits, value)) if isinstance(value, tuple) else value is not None


def parquet_batches(path: str, request: sheets.Request) -> Iterator[Rows]:
    """Read a Parquet file as the texts of a CSV file."""
    types = sheets.require("pyarrow").types
    with sheets.parquet_explained(path), sheets.require("pyarrow.parquet").ParquetFile(path) as file:
        header = file.schema_arrow.names
        places = request.choose(path, header, has_lines=False)
        names, read = [header[place] for place in places.entry], 0
        for batch in file.iter_batches(LIMITS.parquet_rows, columns=[*names, *request.keep]):
            times = request.is_raw and request.alphabet.reads_times
            columns = [_as_entries(batch.column(name), name, path, reads_times=times) for name in names]
            # The distinct rows of all columns, and which of them each row is.
            (first, codes), *others = columns
            entries: list[Entry] = [(text,) for text in first]
            for texts, numbers in others:
                distinct, codes = np.unique(codes * len(texts) + numbers, return_inverse=True)
                entries = [(*entries[code // len(texts)], texts[code % len(texts)]) for code in distinct.tolist()]
                codes = codes.reshape(-1)
            kept = []
            for name in request.keep:
                column = batch.column(name)
                plain = column.dictionary_decode() if types.is_dictionary(column.type) else column
                if types.is_nested(plain.type):
                    raise DataFileError(
                        f"Column {name!r} of {path} holds {column.type}; one to keep holds numbers, texts or times. "
                        f"{sheets.KEEP_CURE}"
                    )
                kept.append(plain)
            lines = np.arange(read + 1, read + 1 + batch.num_rows)
            yield _judge(Scan(entries, codes, lines, {}, tuple(kept)), request, places, path)
            read += batch.num_rows


def _as_entries(column: Any, name: str, path: str, *, reads_times: bool) -> tuple[list[str], Indices]:
    """Return a column's distinct texts, and their index in each row."""
    arrow = sheets.require("pyarrow")
    types = arrow.types
    # Local times to the second, rounded down: Python's times have no nanoseconds.
    if types.is_timestamp(column.type):
        # Local time first: an hour that a zone has twice cannot be rounded in that zone.
        floor = sheets.require("pyarrow.compute").floor_temporal(as_column(column), unit="second")
        column = floor.cast(arrow.timestamp("s"), safe=False)
    elif types.is_time64(column.type):
        column = column.cast(arrow.time64("us"), safe=False)
    known = str | int | float | np.floating | Decimal | (date | time if reads_times else None) | None
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
        # Narrow floats mean the decimals that they print as, as in Python: see `wide_floats`.
        is_narrow = types.is_float32(column.type) or types.is_float16(column.type)
        found = encoded.dictionary
        values = list(found.to_numpy(zero_copy_only=False)) if is_narrow else list(map(_as_python, found))
        is_known = all(isinstance(value, known) for value in values)
    except (TypeError, NotImplementedError):
        is_known = False
    if not is_known:
        raise DataFileError(
            f"Column {name!r} of {path} holds {column.type}; a value is a number or a text. {sheets.COLUMN_CURE}"
        )
    return list(map(as_text, values)), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _as_python(scalar: Any) -> Any:
    """Return an entry as a Python object.

    Dates out of range as a text, not a value.
    """
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return f"{scalar.type} {scalar.value}"


def as_text(value: Any) -> str:
    """Return a value as in a CSV file.

    Whole numbers without a decimal point.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time | str):
        return value if isinstance(value, str) else value.isoformat()
    if isinstance(value, float | np.floating) and value.is_integer() and abs(float(value)) < 2**63:
        return Numeral(int(value))
    return Numeral(value)

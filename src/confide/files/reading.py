"""Files of values and reports, checked row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices, Line, Pairs, Plane, Values
from confide.alphabets.numerals import looks_like_a_number, parse_real
from confide.counts import Counts, tally
from confide.errors import DataFileError
from confide.files.sheets import Chunk, Layout, Sheet, name_of, open_sheet
from confide.metrics import Value
from confide.surveys import Survey

REPORT_COLUMN = "report"
"""What the column of a file of reports is called, unless a report has several parts."""

PARQUET = (".parquet", ".pq")
"""How the names of Parquet files end."""

SHOWN_REJECTIONS = 10

LARGEST_COUNT = 2**53
"""Beyond it a float64, which counts are added up in, skips numbers."""

Entry = tuple[str, ...]
"""The texts of one row: the parts of its value and, in a counted file, its count."""

_NO_ROWS: Indices = np.zeros(0, dtype=np.int64)


class Reason(StrEnum):
    """Why a row was rejected."""

    MISSING = "missing"
    NOT_A_NUMBER = "not a number"
    NOT_WHOLE = "not a whole number"
    OUTSIDE = "outside the alphabet"
    BAD_COUNT = "bad count"
    MISSHAPEN = "wrong number of fields"
    NOT_JSON = "not JSON"


@dataclass(frozen=True)
class Rejection:
    """A row that cannot be used: where it starts, what it says, and what is wrong with it."""

    line: int
    text: str
    reason: Reason

    def __str__(self) -> str:
        return f"line {self.line:,}: {self.text!r} ({self.reason})"


class Account(ABC):
    """What became of the rows of a file: so many read, so many accepted, and the others rejected."""

    source: str
    columns: tuple[str, ...]
    alphabet: Alphabet
    read: int
    rejected: Sequence[Rejection]

    @property
    @abstractmethod
    def accepted(self) -> int:
        """How many rows can be used."""

    @property
    @abstractmethod
    def total_rejected(self) -> int:
        """How many rows cannot be used."""

    @property
    @abstractmethod
    def is_counted(self) -> bool:
        """Whether the file says how many people each row stands for."""

    def require_usable(self, cure: str = "Correct or remove them.") -> None:
        """Refuse rejected rows, naming the first ten, with a cure."""
        if not self.total_rejected:
            return
        rows = f"{self.total_rejected:,} of {self.read:,} rows"
        raise DataFileError(f"{rows} of {self.source} cannot be used:\n{_list_rejections(self)}\n{cure}")

    def require_any(self) -> None:
        """Refuse a file of which no row could be used."""
        if not self.accepted:
            raise DataFileError(
                f"None of the {self.read:,} rows of {self.source} can be used:\n{_list_rejections(self)}\n"
                f"Do the file and the survey belong together? Values must lie in {self.alphabet!r}."
            )

    def require_rows(self) -> None:
        """Refuse a file without a row."""
        if not self.read:
            raise DataFileError(f"{self.source} has a header line but no rows; it should hold one row a person.")

    def __str__(self) -> str:
        rows = "row" if self.read == 1 else "rows"
        return f"{self.read:,} {rows} read = {self.accepted:,} accepted + {self.total_rejected:,} rejected"


@dataclass(frozen=True, eq=False)
class Rows(Account):
    """What was read from a file of values or reports.

    Attributes
    ----------
    source
        The file.
    columns
        The columns that hold the value; others are never kept.
    alphabet
        What the values were checked against.
    read
        How many rows the file has, accepted or not.
    distinct
        The values that were accepted, each text once: a million rows of a hundred ages hold a hundred.
    numbers
        Which of these each accepted row holds, in the order of the file.
    counts
        How many people each accepted row stands for, where the file has a column ``count``; None otherwise.
    rejected
        The rows that cannot be used.
    unused
        The columns that the file has besides.
    """

    source: str
    columns: tuple[str, ...]
    alphabet: Alphabet
    read: int
    distinct: Values
    numbers: Indices
    counts: NDArray[np.int64] | None
    rejected: tuple[Rejection, ...]
    unused: tuple[str, ...] = ()

    @property
    def accepted(self) -> int:
        """How many rows can be used."""
        return self.numbers.size

    @property
    def is_counted(self) -> bool:
        """Whether the file says how many people each row stands for."""
        return self.counts is not None

    @property
    def total_rejected(self) -> int:
        """How many rows cannot be used."""
        return len(self.rejected)

    @property
    def people(self) -> int:
        """How many people stand behind the accepted rows."""
        return self.accepted if self.counts is None else int(self.counts.sum())

    @property
    def values(self) -> Values:
        """One value a person, in the order of the file."""
        numbers = self.numbers if self.counts is None else np.repeat(self.numbers, self.counts)
        values: Values = self.distinct[numbers]
        return values

    def tally(self) -> Counts:
        """Count the values, as :func:`confide.tally` does."""
        return tally(self.distinct, np.bincount(self.numbers, self.counts, minlength=len(self.distinct)))

    def histogram(self) -> NDArray[np.float64]:
        """Return how many people have each value of the alphabet."""
        counts, size = self.tally(), self.alphabet.size
        return np.bincount(self.alphabet.encode(counts.reports), counts.counts, minlength=size).astype(np.float64)

    def distribution(self) -> NDArray[np.float64]:
        """Return the share of people that have each value of the alphabet."""
        if self.people == 0:
            raise DataFileError(f"The counts of {self.source} add up to 0; a distribution needs at least one person.")
        return self.histogram() / self.people


def read_values(path: str | Path, survey: Survey, columns: Sequence[str] = ()) -> Rows:
    """Read a file of true values.

    Parameters
    ----------
    path
        The file, ``.gz`` or not; ``-`` for standard input.
    survey
        What the values must be, and by its ``name`` which column they stand in.
    columns
        The column to read, or the columns where a value has several parts. If left out: the column named like the
        survey, else the alphabet's own names (``value``; ``row`` and ``column``), else the only column there is.
    """
    return _read(str(path), survey.alphabet, survey.name, columns)


def read_reports(path: str | Path, survey: Survey, columns: Sequence[str] = ()) -> Rows:
    """Read a file of reports; as :func:`read_values`, with ``report`` for the name of the column.

    Real numbers are taken as the nearest ones that the mechanism can report, multiples of a tiny fraction of a step:
    spreadsheets and databases round the last digits away.
    """
    return _read(str(path), survey.mechanism.report_alphabet, REPORT_COLUMN, columns)


def read_value_batches(path: str | Path, survey: Survey, columns: Sequence[str] = ()) -> Iterator[Rows]:
    """Read a file of true values as :func:`read_values` does, batch by batch, so that it need not fit into memory.

    Parquet files are read too, with the package pyarrow.
    """
    layout = Layout(name_of(str(path)), survey.alphabet, survey.name, tuple(columns))
    if str(path).lower().endswith(PARQUET):
        from confide.files.parquet import parquet_scans

        yield from (_judge(scan, layout, names) for names, scan in parquet_scans(str(path), layout))
    else:
        yield from _read_batches(str(path), layout)


def read_report_batches(path: str, alphabet: Alphabet, columns: Sequence[str] = ()) -> Iterator[Rows]:
    """Read a CSV file of reports as :func:`read_reports` does, batch by batch."""
    return _read_batches(path, Layout(name_of(path), alphabet, REPORT_COLUMN, tuple(columns)))


def _read(path: str, alphabet: Alphabet, name: str, asked: Sequence[str]) -> Rows:
    layout = Layout(name_of(path), alphabet, name, tuple(asked))
    with open_sheet(path) as sheet:
        places, names, is_counted = _choose(sheet, layout)
        rows = _judge(_scan(sheet.chunks(places), is_counted=is_counted), layout, names)
        unused = tuple(name for place, name in enumerate(sheet.header) if place not in places)
    rows.require_rows()
    return replace(rows, unused=unused)


def _read_batches(path: str, layout: Layout) -> Iterator[Rows]:
    with open_sheet(path) as sheet:
        places, names, is_counted = _choose(sheet, layout)
        for chunk in sheet.chunks(places):
            yield _judge(_scan([chunk], is_counted=is_counted), layout, names)


def _choose(sheet: Sheet, layout: Layout) -> tuple[tuple[int, ...], tuple[str, ...], bool]:
    """Return where the value stands, and the count if there is one; what these columns are called; whether there is."""
    places = layout.choose(sheet.header)
    count = layout.find_count(sheet.header, places)
    names = tuple(sheet.header[place] for place in places)
    return (places if count is None else (*places, count)), names, count is not None


@dataclass(frozen=True, eq=False)
class Scan:
    """The rows of a file as they stand there, each distinct entry kept once.

    Attributes
    ----------
    entries
        The distinct entries.
    codes
        Which entry each row is; -1 for a row with too few or too many fields.
    lines
        Where each row starts.
    strays
        What is wrong with rows of too few or too many fields; nothing of blank ones.
    is_counted
        Whether the last text of an entry is a count.
    """

    entries: list[Entry]
    codes: Indices
    lines: Indices
    strays: dict[int, str]
    is_counted: bool


class _Numbering(dict[Any, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def _scan(chunks: Iterable[Chunk], *, is_counted: bool) -> Scan:
    known, codes, lines, strays, read = _Numbering(), [_NO_ROWS], [_NO_ROWS], dict[int, str](), 0
    for chunk in chunks:
        codes.append(np.fromiter(map(known.__getitem__, chunk.keys), np.int64, len(chunk.keys)))
        codes[-1][list(chunk.strays)] = -1
        lines.append(chunk.lines)
        strays |= {read + place: text for place, text in chunk.strays.items()}
        read += len(chunk.keys)
    entries = [key if isinstance(key, tuple) else (key,) for key in known]
    return Scan(entries, np.concatenate(codes), np.concatenate(lines), strays, is_counted)


def _judge(scan: Scan, layout: Layout, columns: tuple[str, ...]) -> Rows:
    alphabet = layout.alphabet
    fields = [entry[: len(columns)] for entry in scan.entries]
    counts = np.array([_parse_count(entry[-1]) if scan.is_counted else 1 for entry in scan.entries], dtype=np.int64)
    parsed = [_parse(alphabet, one) if count >= 0 else None for one, count in zip(fields, counts.tolist(), strict=True)]
    distinct, is_good = _select(alphabet, parsed)
    # One place past the end stands for rows with the wrong number of fields, whose code is -1.
    usable = np.append(is_good, False)[scan.codes]
    chosen = scan.codes[usable]
    return Rows(
        source=layout.source,
        columns=columns,
        alphabet=alphabet,
        read=scan.codes.size,
        distinct=distinct,
        numbers=(np.cumsum(is_good) - 1)[chosen],
        counts=counts[chosen] if scan.is_counted else None,
        rejected=_reject(scan, np.flatnonzero(~usable).tolist(), alphabet, fields),
    )


def _reject(scan: Scan, rows: list[int], alphabet: Alphabet, values: list[Entry]) -> tuple[Rejection, ...]:
    codes = set(scan.codes[rows].tolist()) - {-1}
    faults = {code: find_fault(alphabet, values[code]) for code in codes}
    return tuple(_stray(scan, row) or _rejection(scan, row, faults) for row in rows)


def _stray(scan: Scan, row: int) -> Rejection | None:
    if row not in scan.strays:
        return None
    text = scan.strays[row]
    return Rejection(int(scan.lines[row]), text, Reason.MISSHAPEN if text else Reason.MISSING)


def _rejection(scan: Scan, row: int, faults: dict[int, Reason]) -> Rejection:
    code = int(scan.codes[row])
    return Rejection(int(scan.lines[row]), ",".join(scan.entries[code]), faults[code])


def find_fault(alphabet: Alphabet, fields: Entry) -> Reason:
    """Return why the texts of a row are no value of the alphabet; or, if they are one, that its count is none."""
    if _is_value(alphabet, fields):
        return Reason.BAD_COUNT
    if not all(text.strip() for text in fields):
        return Reason.MISSING
    if isinstance(alphabet, Pairs):
        parts = zip((alphabet.first, alphabet.second), fields, strict=True)
        return next(find_fault(part, (text,)) for part, text in parts if not _is_value(part, (text,)))
    if _parse(alphabet, fields) is not None:
        return Reason.OUTSIDE
    if isinstance(alphabet, Line | Plane):
        return Reason.NOT_A_NUMBER
    return Reason.NOT_WHOLE if all(map(looks_like_a_number, fields)) else Reason.NOT_A_NUMBER


def _parse(alphabet: Alphabet, fields: Entry) -> Value | None:
    return alphabet.parse(fields)


def _is_value(alphabet: Alphabet, fields: Entry) -> bool:
    return bool(_select(alphabet, [_parse(alphabet, fields)])[1][0])


def _select(alphabet: Alphabet, parsed: list[Any]) -> tuple[Values, NDArray[np.bool_]]:
    """Return the values of the alphabet among what was parsed, and a mark on each thing that is one."""
    places = [place for place, value in enumerate(parsed) if _fits(value)]
    is_good = np.zeros(len(parsed), dtype=bool)
    if not places:
        return alphabet.as_array([]), is_good
    values = _as_array(alphabet, [parsed[place] for place in places])
    inside = alphabet.contains(values)
    is_good[places] = inside
    return values[inside], is_good


def _as_array(alphabet: Alphabet, values: list[Any]) -> Values:
    """Return parsed values as numpy best holds them: a number and a category in one pair as objects."""
    first = values[0]
    is_mixed = isinstance(first, tuple) and len({type(part) for part in first}) > 1
    array: Values = np.array(values, dtype=object if is_mixed else None)
    if isinstance(alphabet, Line | Plane):
        with np.errstate(over="ignore"):  # what becomes infinite lies outside the alphabet anyway
            array = np.rint(array * alphabet.RESOLUTION) / alphabet.RESOLUTION
    return array


def _fits(value: Any) -> bool:
    """Whether numpy can hold a value as it is: one huge number would make objects or floats of all the others."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return all(map(_fits, value)) if isinstance(value, tuple) else value is not None


def _parse_count(text: str) -> int:
    """Return a count, or -1 for what is none."""
    number = parse_real(text)
    if number is None or not 0 <= number <= LARGEST_COUNT or not number.is_integer():
        return -1
    return int(number)


def _list_rejections(rows: Account) -> str:
    shown = [f"  {one}" for one in rows.rejected[:SHOWN_REJECTIONS]]
    left = rows.total_rejected - len(shown)
    return "\n".join([*shown, f"  ... and {left:,} more"] if left else shown)

"""Files of values and reports, checked row by row."""

from __future__ import annotations

import contextlib
import csv
import difflib
import io
import itertools
import math
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices, Line, Pairs, Plane, Values
from confide.errors import DataFileError
from confide.metrics import Value
from confide.reports import Counts, tally
from confide.surveys import Survey

COUNT_COLUMN = "count"
"""A column of this name says how often a row's value occurs."""

REPORT_COLUMN = "report"
"""What the column of a file of reports is called, unless a report has several parts."""

STANDARD_STREAM = "-"
"""In place of a path: standard input, or standard output."""

SHOWN_REJECTIONS = 10

LARGEST_COUNT = 2**53
"""Beyond it a float64, which counts are added up in, skips numbers."""

Entry = tuple[str, ...]
"""The texts of one row: the parts of its value and, in a counted file, its count."""


class Reason(StrEnum):
    """Why a row was rejected."""

    MISSING = "missing"
    NOT_A_NUMBER = "not a number"
    NOT_WHOLE = "not a whole number"
    OUTSIDE = "outside the alphabet"
    BAD_COUNT = "bad count"
    MISSHAPEN = "wrong number of fields"


@dataclass(frozen=True)
class Rejection:
    """A row that cannot be used: where it starts, what it says, and what is wrong with it."""

    line: int
    text: str
    reason: Reason

    def __str__(self) -> str:
        return f"line {self.line:,}: {self.text!r} ({self.reason})"


@dataclass(frozen=True, eq=False)
class Rows:
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
    """

    source: str
    columns: tuple[str, ...]
    alphabet: Alphabet
    read: int
    distinct: Values
    numbers: Indices
    counts: NDArray[np.int64] | None
    rejected: tuple[Rejection, ...]

    @property
    def accepted(self) -> int:
        """How many rows can be used."""
        return self.numbers.size

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

    def require_usable(self, cure: str = "Correct or remove them.") -> None:
        """Refuse rejected rows, naming the first ten, with a cure."""
        if not self.rejected:
            return
        rows = f"{len(self.rejected):,} of {self.read:,} rows"
        raise DataFileError(f"{rows} of {self.source} cannot be used:\n{_list_rejections(self)}\n{cure}")

    def require_any(self) -> None:
        """Refuse a file of which no row could be used."""
        if not self.accepted:
            raise DataFileError(
                f"None of the {self.read:,} rows of {self.source} can be used:\n{_list_rejections(self)}\n"
                f"Do the file and the survey belong together? Values must lie in {self.alphabet!r}."
            )

    def __str__(self) -> str:
        return f"{self.read:,} rows read = {self.accepted:,} accepted + {len(self.rejected):,} rejected"


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


def _read(path: str, alphabet: Alphabet, name: str, asked: Sequence[str]) -> Rows:
    source = "standard input" if path == STANDARD_STREAM else path
    layout = _Layout(source, alphabet, _candidates(alphabet, name, asked), bool(asked))
    with _explained(source), _opened(path) as stream:
        sheet = _open_sheet(stream, source)
        places = layout.choose(sheet.header)
        scan = _scan(sheet, places)
    return _judge(scan, source, tuple(sheet.header[place] for place in places), alphabet)


def _candidates(alphabet: Alphabet, name: str, asked: Sequence[str]) -> list[tuple[str, ...]]:
    parts = alphabet.field_names
    if asked and len(asked) != len(parts):
        raise DataFileError(
            f"A value of {alphabet!r} stands in {_number(len(parts), 'column')}, {' and '.join(parts)}; got "
            f"{_number(len(asked), 'name')}, {', '.join(asked)}. Name one column for each part of a value."
        )
    if asked:
        return [tuple(asked)]
    return [(name,), parts] if len(parts) == 1 else [parts]


@dataclass(frozen=True)
class _Layout:
    """What to look for in a file: the columns to try, one after the other."""

    source: str
    alphabet: Alphabet
    candidates: list[tuple[str, ...]]
    is_asked: bool

    def choose(self, header: list[str]) -> tuple[int, ...]:
        """Return where the parts of a value stand, or say which columns there are instead."""
        for names in self.candidates:
            repeated = [name for name in names if header.count(name) > 1]
            if repeated:
                raise DataFileError(f"{self.source} has several columns called {repeated[0]!r}. Rename all but one.")
            if all(name in header for name in names):
                return tuple(header.index(name) for name in names)
        self._refuse_headless(header)
        others = [place for place, one in enumerate(header) if one != COUNT_COLUMN]
        if self.is_asked or len(others) != 1 or len(self.alphabet.field_names) > 1:
            raise DataFileError(self._no_column(header))
        return (others[0],)

    def _refuse_headless(self, header: list[str]) -> None:
        """Refuse a first line of values: taken for names, it would be a row lost in silence."""
        first = next((text for text in header if self._looks_like_a_value(text)), None)
        if first is not None:
            raise DataFileError(
                f"{self.source} needs a header line of column names; its first line holds the value {first!r}. "
                f"Put {','.join(self.candidates[0])!r} on a line above it."
            )

    def _looks_like_a_value(self, text: str) -> bool:
        if text.lower() in ("", "na", "n/a", "null", "none"):
            return True
        with contextlib.suppress(ValueError):
            return float(text) is not None
        return len(self.alphabet.field_names) == 1 and _is_value(self.alphabet, (text,))

    def _no_column(self, header: list[str]) -> str:
        wanted = " or ".join(dict.fromkeys(" and ".join(map(repr, names)) for names in self.candidates))
        names = [name for candidate in self.candidates for name in candidate]
        close = [match for name in names for match in difflib.get_close_matches(name, header, n=1)]
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return (
            f"{self.source} has no column {wanted}{hint}. Its columns are {', '.join(map(repr, header))}. "
            f"Name the one to read, with --column on the command line."
        )


@dataclass(frozen=True)
class _Sheet:
    """A CSV file opened past its header."""

    reader: Any
    header: list[str]
    delimiter: str
    blank_lines: int
    """How many lines stand above the header; the reader does not count them."""


def _open_sheet(stream: TextIO, source: str) -> _Sheet:
    blank_lines = 0
    for first in stream:
        if first.strip():
            break
        blank_lines += 1
    else:
        raise DataFileError(f"{source} is empty; it should hold a header line and one row a person.")
    delimiter = next((mark for mark in ",;\t" if mark in first), ",")
    # A strict reader refuses an open quotation mark, which would swallow every row after it.
    reader = csv.reader(itertools.chain([first], stream), delimiter=delimiter, strict=True)
    return _Sheet(reader, [name.strip() for name in next(reader)], delimiter, blank_lines)


@dataclass(frozen=True)
class _Scan:
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
        The texts of the rows with too few or too many fields.
    is_counted
        Whether the last text of an entry is a count.
    """

    entries: list[Entry]
    codes: Indices
    lines: Indices
    strays: dict[int, str]
    is_counted: bool


def _scan(sheet: _Sheet, places: tuple[int, ...]) -> _Scan:
    counted = [place for place, name in enumerate(sheet.header) if name == COUNT_COLUMN and place not in places]
    pick = itemgetter(*places, *counted[:1])
    reader, width, known = sheet.reader, len(sheet.header), dict[Any, int]()
    codes, lines, strays = array("q"), array("q", [reader.line_num]), dict[int, str]()
    for row in reader:
        if len(row) == width:
            codes.append(known.setdefault(pick(row), len(known)))
        else:
            strays[len(codes)] = sheet.delimiter.join(row)
            codes.append(-1)
        lines.append(reader.line_num)
    while codes and strays.get(len(codes) - 1) == "":  # blank lines at the end of a file are not rows
        del strays[len(codes) - 1]
        codes.pop()
    starts = np.array(lines[: len(codes)], dtype=np.int64) + sheet.blank_lines + 1
    entries = [key if isinstance(key, tuple) else (key,) for key in known]
    return _Scan(entries, np.array(codes, dtype=np.int64), starts, strays, bool(counted))


def _judge(scan: _Scan, source: str, columns: tuple[str, ...], alphabet: Alphabet) -> Rows:
    if not scan.codes.size:
        raise DataFileError(f"{source} has a header line but no rows; it should hold one row a person.")
    fields = [entry[: len(columns)] for entry in scan.entries]
    counts = np.array([_parse_count(entry[-1]) if scan.is_counted else 1 for entry in scan.entries], dtype=np.int64)
    parsed = [_parse(alphabet, one) if count >= 0 else None for one, count in zip(fields, counts.tolist(), strict=True)]
    distinct, is_good = _select(alphabet, parsed)
    # One place past the end stands for rows with the wrong number of fields, whose code is -1.
    usable = np.append(is_good, False)[scan.codes]
    chosen = scan.codes[usable]
    return Rows(
        source=source,
        columns=columns,
        alphabet=alphabet,
        read=scan.codes.size,
        distinct=distinct,
        numbers=(np.cumsum(is_good) - 1)[chosen],
        counts=counts[chosen] if scan.is_counted else None,
        rejected=_reject(scan, np.flatnonzero(~usable).tolist(), alphabet, fields),
    )


def _reject(scan: _Scan, rows: list[int], alphabet: Alphabet, values: list[Entry]) -> tuple[Rejection, ...]:
    codes = set(scan.codes[rows].tolist()) - {-1}
    faults = {code: _find_fault(alphabet, values[code]) for code in codes}
    return tuple(_stray(scan, row) or _rejection(scan, row, faults) for row in rows)


def _stray(scan: _Scan, row: int) -> Rejection | None:
    if row not in scan.strays:
        return None
    text = scan.strays[row]
    return Rejection(int(scan.lines[row]), text, Reason.MISSHAPEN if text else Reason.MISSING)


def _rejection(scan: _Scan, row: int, faults: dict[int, Reason]) -> Rejection:
    code = int(scan.codes[row])
    return Rejection(int(scan.lines[row]), ",".join(scan.entries[code]), faults[code])


def _find_fault(alphabet: Alphabet, fields: Entry) -> Reason:
    if _is_value(alphabet, fields):
        return Reason.BAD_COUNT
    if not all(text.strip() for text in fields):
        return Reason.MISSING
    if isinstance(alphabet, Pairs):
        parts = zip((alphabet.first, alphabet.second), fields, strict=True)
        return next(_find_fault(part, (text,)) for part, text in parts if not _is_value(part, (text,)))
    if _parse(alphabet, fields) is not None:
        return Reason.OUTSIDE
    return Reason.NOT_WHOLE if all(map(_is_number, fields)) else Reason.NOT_A_NUMBER


def _parse(alphabet: Alphabet, fields: Entry) -> Value | None:
    try:
        return alphabet.parse(fields)
    except ValueError:  # Python refuses to convert numbers of more than 4,300 digits
        return None


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


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _parse_count(text: str) -> int:
    """Return a count, or -1 for what is none."""
    try:
        number = float(text)
    except ValueError:
        return -1
    return int(number) if 0 <= number <= LARGEST_COUNT and number.is_integer() else -1


def _list_rejections(rows: Rows) -> str:
    shown = [f"  {one}" for one in rows.rejected[:SHOWN_REJECTIONS]]
    left = len(rows.rejected) - len(shown)
    return "\n".join([*shown, f"  ... and {left:,} more"] if left else shown)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    """Open a file, compressed or not, or standard input; a byte order mark is dropped and line ends are left alone."""
    if path == STANDARD_STREAM:
        stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            yield stream
        finally:
            stream.detach()  # else standard input would be closed with the wrapper
    elif path.lower().endswith(".gz"):
        import gzip

        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    else:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            yield stream


@contextlib.contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turn what can go wrong with a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise DataFileError(f"There is no file {source!r}.") from None
    except UnicodeDecodeError as error:
        raise DataFileError(f"{source} is not UTF-8 text ({error.reason}). Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise DataFileError(f"{source} is not valid CSV: {error}. Is a quotation mark left open?") from None
    except (EOFError, zlib.error) as error:
        raise DataFileError(f"{source} is not a whole gzip file: {error}. Copy it again.") from None
    except OSError as error:
        raise DataFileError(f"{source} cannot be read: {error.strerror or error}.") from None


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"

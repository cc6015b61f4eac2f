"""Input files: rows and their account, columns, CSV and Parquet.

Every row that we read is either accepted or rejected for a reason. `Account` adds these up.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import importlib
import io
import itertools
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from confide.errors import DataFileError, InvalidParameterError, MissingExtraError
from confide.evidence.counts import NO_WEIGHTS
from confide.values import Alphabet, Indices
from confide.values.base import find_columns
from confide.values.checks import LARGEST_INTEGER
from confide.values.geometry import LatticeGeometry, LineGeometry, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.metrics import Value
from confide.values.wording import counted, listed


@dataclass(frozen=True)
class FileLimits:
    """Limits on how much of a file we hold, inspect or show.

    Attributes
    ----------
    block
        Characters or bytes read at a time: large enough to hide the cost of a call, far below memory.
    parquet_rows, arrow_rows
        Rows of a Parquet file read at a time, and rows of a batch from DuckDB.
    shown_rejects, longest_shown
        Rejected rows that a message lists, and characters of each. The file of rejects lists all.
    largest_part
        People that are blurred at a time.
    fewest_rows
        Fewest rows before a majority of bad rows stops the run: one person's high salary does not.
    small_group
        Groups with fewer people than this nearly identify their members.
    most_groups
        Most groups of kept columns that we count.
    fewest_told, few_exceptions
        A kept column reveals the values if it predicts this many people, with this fraction of errors at most. Chance
        does so for twenty people less than once in a million times.
    memory
        Bytes of reports that the shuffler holds in memory; the rest goes to disk.
    piece
        Rows that the shuffler scatters and returns together: files are written in pieces of about this size.
    smallest_split
        Smallest bucket, in rows, that may be split again when it does not fit into memory.
    text_bytes
        Memory overhead of a text, in bytes.
    small_range
        Widest range of whole numbers whose texts we keep in a table.
    most_features
        Most cells in a GeoJSON file, the fullest ones: 30 MB, which map programs still open.
    """

    block: int = 2**22
    parquet_rows: int = 2**20
    arrow_rows: int = 100_000
    shown_rejects: int = 10
    longest_shown: int = 80
    largest_part: int = 2**20
    fewest_rows: int = 20
    small_group: int = 10
    most_groups: int = 2**18
    fewest_told: int = 20
    few_exceptions: float = 0.01
    memory: int = 2**26
    piece: int = 2**20
    smallest_split: int = 2**12
    text_bytes: int = 64
    small_range: int = 2**16
    most_features: int = 100_000


LIMITS = FileLimits()


class Reason(StrEnum):
    """Why a row was rejected."""

    MISSING = "missing"
    NOT_A_NUMBER = "not a number"
    NOT_WHOLE = "not a whole number"
    OUTSIDE = "outside the alphabet"
    BAD_COUNT = "bad count"
    WEIGHT = "a weight, not a count"
    MISSHAPEN = "wrong number of fields"
    NOT_JSON = "not JSON"
    NOT_FINITE = "not a finite number"
    SEPARATED = "separators in a number"
    SIGNED = "a sign or unit beside a number"
    NOT_A_DATE = "not a date"
    NOT_A_WEEKDAY = "not a weekday"
    NO_SUCH_DATE = "no such date"
    NOT_A_TIME = "not a time"
    NO_SUCH_TIME = "no such time"
    NOT_DEGREES = "not decimal degrees"
    NOT_BITS = "not a text of 0 and 1 of the right length"
    NOT_ON_EARTH = "no latitude and longitude"
    SWAPPED = "latitude and longitude swapped"


@dataclass(frozen=True)
class Reject:
    """A row that was rejected.

    Attributes
    ----------
    file
        The file that contains it.
    line
        The line where it starts, or its number from 1 in formats without lines; None where rows have no order.
    text
        Its text in the columns that were read.
    reason
        What is wrong with it.
    hint
        The setting of the survey that would accept it, if there is one.
    """

    file: str
    line: int | None
    text: str
    reason: Reason
    hint: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line:,}"
        text = self.text if len(self.text) <= LIMITS.longest_shown else f"{self.text[: LIMITS.longest_shown]}\u2026"
        return f"{place}: {text!r} ({self.reason}{f'; {self.hint}' if self.hint else ''})"


@dataclass(frozen=True)
class Account:
    """Rows of a source, accepted or rejected. Accounts add up.

    >>> print(Account(7, {Reason.MISSING: 1}) + Account(2))
    10 rows read = 9 accepted + 1 rejected

    Attributes
    ----------
    accepted
        Number of accepted rows.
    rejected
        Number of rejected rows, by reason.
    first
        The first rejected rows, for messages.
    source, columns
        Where the rows come from, and their columns.
    people
        Number of people in the accepted rows: more than rows where rows have counts.
    is_counted
        Whether the rows have counts.
    remarks
        Number of accepted rows that were changed, by what was done: "folded", "counted as other".
    """

    accepted: int = 0
    rejected: Mapping[Reason, int] = field(default_factory=dict)
    first: tuple[Reject, ...] = field(default=(), compare=False)
    source: str = field(default="The source", compare=False)
    columns: tuple[str, ...] = field(default=(), compare=False)
    people: int = field(default=0, compare=False)
    is_counted: bool = field(default=False, compare=False)
    remarks: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def read(self) -> int:
        """The number of rows."""
        return self.accepted + self.total_rejected

    @property
    def total_rejected(self) -> int:
        """The number of rejected rows."""
        return sum(self.rejected.values())

    @property
    def reasons(self) -> str:
        """The reasons in words with their numbers of rows, most frequent first."""
        return _most_frequent_first(self.rejected)

    @property
    def listing(self) -> str:
        """The first rejected rows, one per line, and the number left."""
        shown = [f"  {reject}" for reject in self.first]
        left = self.total_rejected - len(shown)
        return "\n".join([*shown, f"  ... and {left:,} more"] if left > 0 else shown)

    @property
    def description(self) -> str:
        """The account in words."""
        often = ", each as often as its count says" if self.is_counted else ""
        outcome = str(self) if self.total_rejected else f"{counted(self.read, 'row')}, all accepted"
        changed = f"; {self.changes}" if self.remarks else ""
        return f"{self.source}, {name_columns(self.columns)}: {outcome}{often}{changed}"

    @property
    def changes(self) -> str:
        """The changes to accepted rows in words, most frequent first."""
        return _most_frequent_first(self.remarks)

    @property
    def record(self) -> dict[str, Any]:
        """The account, ready for JSON."""
        return {
            "source": self.source,
            "columns": list(self.columns),
            "is_counted": self.is_counted,
            "read": self.read,
            "accepted": self.accepted,
            "rejected": self.total_rejected,
            **({"remarks": dict(self.remarks)} if self.remarks else {}),
        }

    def require_rows(self) -> None:
        """Refuse a source without rows."""
        if not self.read:
            raise DataFileError(f"{self.source} has no rows; it should hold one row a person.")
        self._refuse_weights()

    def _refuse_weights(self) -> None:
        """Refuse fractional counts: leaving such rows out would change the answer."""
        weights = self.rejected.get(Reason.WEIGHT, 0)
        if weights:
            rows = f"{weights:,} of {counted(self.read, 'row')} of {self.source}"
            raise DataFileError(f"{rows} have a fraction for a count. {NO_WEIGHTS}")

    def require_usable(self, cure: str = "Correct or remove them.") -> None:
        """Raise if any row was rejected, with the first ten."""
        self._refuse_weights()
        if self.total_rejected:
            rows = f"{self.total_rejected:,} of {counted(self.read, 'row')}"
            raise DataFileError(f"{rows} of {self.source} cannot be used:\n{self.listing}\n{cure}")

    def require_any(self, alphabet: Alphabet, what: str = "Reports") -> None:
        """Raise if no row was accepted."""
        self.require_rows()
        if not self.accepted:
            rows = f"None of the {self.read:,} rows of {self.source} can"
            which = rows if self.read > 1 else f"The only row of {self.source} cannot"
            listing = f":\n{self.listing}\n" if self.first else f" ({self.reasons}). "
            raise DataFileError(
                f"{which} be used{listing}Do the data and the survey belong together? {what} must lie in {alphabet!r}."
            )

    def __add__(self, other: Account) -> Account:
        return Account(
            self.accepted + other.accepted,
            dict(Counter(self.rejected) + Counter(other.rejected)),
            (*self.first, *other.first)[: LIMITS.shown_rejects],
            # An account without rows is where a sum begins.
            other.source if self.read == 0 else self.source,
            other.columns or self.columns,
            self.people + other.people,
            self.is_counted or other.is_counted,
            dict(Counter(self.remarks) + Counter(other.remarks)),
        )

    def __str__(self) -> str:
        rows = counted(self.read, "row")
        return f"{rows} read = {self.accepted:,} accepted + {self.total_rejected:,} rejected"


def _most_frequent_first(numbers: Mapping[Any, int]) -> str:
    # Ties are sorted by name, so that a message is the same on every run.
    ordered = sorted(numbers.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{number:,} {what}" for what, number in ordered)


def first_few(rejects: Iterable[Reject]) -> tuple[Reject, ...]:
    """Return as many rejected rows as a message lists."""
    return tuple(islice(rejects, LIMITS.shown_rejects))


def name_columns(names: Iterable[str]) -> str:
    """Return columns as a sentence names them.

    >>> name_columns(["row", "column"])
    'columns row and column'
    """
    named = list(names)
    return f"{'column' if len(named) == 1 else 'columns'} {listed(named)}"


@dataclass(frozen=True)
class Field:
    """One part of a report, as SQL and Arrow see it.

    Attributes
    ----------
    kind
        A whole number, a real number on a fine lattice, or a text.
    low, high
        Range of a whole number.
    members
        The possible whole numbers or texts; None if all between low and high are possible.
    resolution
        Real numbers are multiples of 1 / resolution.
    """

    kind: Literal["whole", "real", "text"]
    low: int = -LARGEST_INTEGER
    high: int = LARGEST_INTEGER
    members: tuple[int, ...] | tuple[str, ...] | None = None
    resolution: int = 1


def fields_of(alphabet: Alphabet) -> tuple[Field, ...]:
    """Return the parts of a report of this alphabet.

    >>> from confide import Grid
    >>> fields_of(Grid(2, 3))[1].high
    2
    """
    if alphabet.attributes is not None:
        return tuple(field for one in alphabet.attributes.alphabets for field in fields_of(one))
    geometry = alphabet.geometry
    if isinstance(geometry, PlaneGeometry):
        axes = ((geometry.first_row, geometry.rows), (geometry.first_column, geometry.columns))
        return tuple(Field("whole", first, first + size - 1) for first, size in axes)
    if isinstance(geometry, LatticeGeometry) and not geometry.is_whole:
        return tuple(Field("real", resolution=one) for one in geometry.resolutions)
    if alphabet.bits is not None:
        # Bits are packed into words of 63: SQL has no whole numbers without a sign.
        lengths = (min(63, alphabet.bits.length - start) for start in range(0, alphabet.bits.length, 63))
        return tuple(Field("whole", 0, 2**length - 1) for length in lengths)
    # All parts of any other report are alike.
    if isinstance(geometry, LineGeometry) and alphabet.is_finite:
        every = Field("whole", *alphabet.span)
    elif isinstance(geometry, RingGeometry):
        every = Field("whole", 0, alphabet.size - 1)
    elif geometry.dimensions:
        every = Field("whole")
    elif isinstance(geometry, UnorderedGeometry):
        members: Any = tuple(alphabet.decode(range(alphabet.size)).tolist())
        every = Field("text" if isinstance(members[0], str) else "whole", members=members)
    else:
        raise InvalidParameterError(f"Reports of {alphabet!r} cannot be counted in SQL; tally them in Python.")
    return (every,) * alphabet.parts


REPORT_COLUMN = "report"
"""Column of a file of reports, unless a report has several parts."""

COUNT_COLUMN = "count"
"""Column that says how often a row's value occurs."""

PARQUET = (".parquet", ".pq")
"""Suffixes of Parquet files."""

JSON_LINES = (".jsonl", ".ndjson")
"""Suffixes of files with one JSON object a line."""

STANDARD_STREAM = "-"
"""Path that stands for standard input or standard output."""

COLUMN_CURE = "Name the one to read: privatize, count and send take --column."


KEEP_CURE = "Name the ones to carry along, with --keep on the command line."


Key = str | tuple[str, ...]
"""Texts of a row in the requested columns; a plain text for one column."""


@dataclass(frozen=True)
class Request:
    """The columns to read: value or report, groups, and count.

    Attributes
    ----------
    alphabet
        What a value or report may be.
    columns
        The columns that the user named, if any.
    by
        The columns that name a group.
    name
        Name of the column if the user named none.
    keep
        The columns to copy unchanged.
    is_raw
        Whether to read people's own values, which the alphabet may coarsen, rather than reports.
    strata, clusters, weights, margins
        The columns of strata, of clusters, of survey weights and of margins with known totals, if there are any. Rows
        are counted by them, as by more names of a group.
    """

    alphabet: Alphabet
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    name: str = REPORT_COLUMN
    keep: tuple[str, ...] = ()
    is_raw: bool = False
    strata: str = ""
    clusters: str = ""
    weights: str = ""
    margins: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which rows are counted: groups, then the design."""
        design = dict.fromkeys(filter(None, (self.strata, self.clusters, *self.margins)))
        return (*self.by, *design, *([self.weights] if self.weights else []))

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """Possible names of the columns, the usual ones first."""
        return self.alphabet.raw_names if self.is_raw else (self.alphabet.field_names,)

    def parse(self, fields: Sequence[str]) -> Value | None:
        """Parse one value or report; None if the texts cannot be read."""
        return self.alphabet.read(fields) if self.is_raw else self.alphabet.parse(fields)

    def __post_init__(self) -> None:
        parts = self.names[0]
        if self.columns and len(self.columns) != len(parts):
            raise DataFileError(
                f"A value of {self.alphabet!r} stands in {counted(len(parts), 'column')}, {' and '.join(parts)}; got "
                f"{counted(len(self.columns), 'name')}, {', '.join(self.columns)}. Name one for each part of a value."
            )

    @property
    def candidates(self) -> list[tuple[str, ...]]:
        """The columns to try, in order."""
        if self.columns:
            return [self.columns]
        return [(self.name,), *self.names] if len(self.names[0]) == 1 else list(self.names)

    def choose(self, source: str, header: Sequence[str], *, has_lines: bool = True) -> ColumnPlaces:
        """Find the columns in a header, or raise with its columns."""
        parts = self._choose_parts(source, header, has_lines=has_lines)
        by_cure = "Name the columns of the groups with --by on the command line."
        by = tuple(_find(source, name, header, by_cure) for name in self.by)
        cure = "Name another one with --weights, --strata, --clusters or in the file of --totals."
        for name in self.keys[len(by) :]:
            place = _find(source, name, header, cure)
            if place in (*parts, *by):
                what = "says what people reported" if place in parts else "names a group"
                raise DataFileError(f"Column {name!r} of {source} {what}; it cannot be a weight or a stratum as well.")
            by = (*by, place)
        # A column that was named for something else is no count, whatever it is called.
        counts = [at for at, name in enumerate(header) if name == COUNT_COLUMN and at not in (*parts, *by)]
        kept = tuple(_find(source, name, header, KEEP_CURE) for name in self.keep)
        for place in set(kept) & {*parts, *counts}:
            what = "the values" if place in parts else "how many people have a value"
            raise DataFileError(
                f"Column {header[place]!r} of {source} says {what}. It cannot be kept: it would stand beside every "
                f"report, not blurred. Leave it out of the columns to keep."
            )
        return ColumnPlaces(tuple(header), parts, by, tuple(counts[:1]), kept)

    def _choose_parts(self, source: str, header: Sequence[str], *, has_lines: bool) -> tuple[int, ...]:
        for names in self.candidates:
            if all(name in header for name in names):
                return tuple(_find(source, name, header) for name in names)
        for names in self.candidates:
            if (places := find_columns(names, header)) is not None:
                return tuple(places)
        if has_lines:
            # A first line of values, taken for names, would be a row lost in silence. pandas writes its index without
            # a name.
            named = header[1:] if len(header) > 1 and not header[0] else header
            first = next((text for text in named if self._looks_like_a_value(text)), None)
            if first is not None:
                raise DataFileError(
                    f"{source} needs a header line of column names; its first line holds the value {first!r}. "
                    f"Put {','.join(self.candidates[0])!r} on a line above it."
                )
        # A column without a name is the index that pandas writes.
        others = [place for place, one in enumerate(header) if one not in ("", COUNT_COLUMN)]
        if self.columns or len(others) != 1 or len(self.names[0]) > 1:
            raise DataFileError(_no_column(source, header, self.candidates))
        return (others[0],)

    def _looks_like_a_value(self, text: str) -> bool:
        if text.lower() in ("", "na", "n/a", "null", "none"):
            return True
        # Any number looks like one, nan and infinity too.
        with contextlib.suppress(ValueError):
            return float(text) is not None
        if len(self.names[0]) > 1:
            return False
        value = self.parse((text,))
        return value is not None and bool(self.alphabet.contains(np.array([value])).all())


@dataclass(frozen=True)
class ColumnPlaces:
    """Positions of columns in a header: value, groups, count, kept columns."""

    header: tuple[str, ...]
    parts: tuple[int, ...]
    by: tuple[int, ...]
    counts: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()

    @property
    def entry(self) -> tuple[int, ...]:
        """The parts of a value, then the count.

        These decide whether we accept a row.
        """
        return (*self.parts, *self.counts)

    @property
    def all(self) -> tuple[int, ...]:
        """Groups, value and count, in the order of the query."""
        return (*self.by, *self.entry)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the value."""
        return tuple(self.header[place] for place in self.parts)

    @property
    def unused(self) -> tuple[str, ...]:
        """The other columns of the file."""
        return tuple(name for place, name in enumerate(self.header) if place not in (*self.all, *self.kept))


def _find(source: str, name: str, header: Sequence[str], cure: str = COLUMN_CURE) -> int:
    # With two columns of this name we cannot know which one is meant.
    if list(header).count(name) > 1:
        raise DataFileError(f"{source} has several columns called {name!r}. Rename all but one.")
    if name not in header:
        raise DataFileError(_no_column(source, header, [(name,)], cure))
    return list(header).index(name)


def _no_column(source: str, header: Sequence[str], wanted: Sequence[tuple[str, ...]], cure: str = COLUMN_CURE) -> str:
    tried_names = " or ".join(dict.fromkeys(" and ".join(map(repr, names)) for names in wanted))
    # Capitals are a slip like any other: CITY is close to city.
    known = {one.lower(): one for one in reversed(header)}
    tried = [name.lower() for names in wanted for name in names]
    close = [known[one] for name in tried for one in difflib.get_close_matches(name, list(known), n=1)]
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{source} has no column {tried_names}{hint}. Its columns are {', '.join(map(repr, header))}. {cure}"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a file.

    Attributes
    ----------
    keys
        The texts of each row in the requested columns.
    lines
        The line where each row starts.
    strays
        What is wrong with rows of too few or too many fields, by their place in `keys`; an empty text for blank rows.
        Their texts are not kept, because we cannot know which field is the value and which a name.
    kept
        The kept columns.
    """

    keys: Sequence[Key]
    lines: Indices
    strays: dict[int, str] = field(default_factory=dict)
    kept: tuple[Sequence[str], ...] = ()


@dataclass(frozen=True, eq=False)
class CsvSheet:
    """A CSV file, opened and read past its header.

    Attributes
    ----------
    header
        The names of its columns.
    delimiter
        The separator of fields.
    lines_above
        Number of lines up to the end of the header.
    blocks
        The text below the header, in blocks of whole lines.
    """

    header: list[str]
    delimiter: str
    lines_above: int
    blocks: Iterator[str]

    def chunks(self, places: Sequence[int], kept: Sequence[int] = ()) -> Iterator[Chunk]:
        """Yield the rows: the fields at these places, and the kept ones.

        Blank lines at the end of a file are not rows; elsewhere they are rows without a field.
        """
        line, blank = self.lines_above + 1, 0
        for block in self.blocks:
            if '"' in block:
                rest = itertools.chain([block], self.blocks)
                yield from self._quoted(rest, line - blank, blank, places, kept)
                return
            text = "\n" * blank + block.replace("\r\n", "\n").replace("\r", "\n")
            filled = text.rstrip("\n")
            first = line - blank
            line = first + text.count("\n") + (not text.endswith("\n"))
            # The first line end after the last row ends that row; the others are blank lines.
            blank = max(0, len(text) - len(filled) - bool(filled))
            if filled:
                yield self._gather(filled, first, places, kept)

    def _gather(self, text: str, first: int, places: Sequence[int], kept: Sequence[int]) -> Chunk:
        width = len(self.header)
        if width > 1 and _is_rectangular(text, self.delimiter, width):
            # One split for all rows: a list per row would cost more than everything else together.
            fields = text.replace("\n", self.delimiter).split(self.delimiter)
            columns = [fields[place::width] for place in places]
            keys: Sequence[Key] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
            carried = tuple(fields[place::width] for place in kept)
            return Chunk(keys, np.arange(first, first + len(keys)), kept=carried)
        lines = text.split("\n")
        numbers = np.arange(first, first + len(lines))
        if width > 1:
            return self._pick([line.split(self.delimiter) for line in lines], numbers, places, kept)
        # Each distinct line is looked at once: a column of ages has a hundred.
        bad = {
            line: self._misfit(line.split(self.delimiter)) for line in set(lines) if not line or self.delimiter in line
        }
        return Chunk(lines, numbers, {at: bad[line] for at, line in enumerate(lines) if line in bad} if bad else {})

    def _pick(self, rows: list[list[str]], numbers: Indices, places: Sequence[int], kept: Sequence[int]) -> Chunk:
        width, strays = len(self.header), dict[int, str]()
        if set(map(len, rows)) != {width}:
            strays = {place: self._misfit(row) for place, row in enumerate(rows) if len(row) != width}
            empty: list[str] = [""] * width
            rows = [row if len(row) == width else empty for row in rows]
        carried = tuple([row[place] for row in rows] for place in kept)
        return Chunk(list(map(itemgetter(*places), rows)), numbers, strays, carried)

    def _misfit(self, row: list[str]) -> str:
        return describe_misfit(len(row), len(self.header)) if any(row) or len(row) > 1 else ""

    def _quoted(
        self, blocks: Iterator[str], first: int, blank: int, places: Sequence[int], kept: Sequence[int]
    ) -> Iterator[Chunk]:
        """Read the rest with the csv module.

        Quotes may enclose delimiters and line ends.
        """
        lines = itertools.chain.from_iterable(io.StringIO(block, newline="") for block in blocks)
        # A strict reader rejects an unclosed quote, which would swallow every row after it.
        reader = csv.reader(itertools.chain(["\n"] * blank, lines), delimiter=self.delimiter, strict=True)
        # zip asks for the number of lines above a row before it reads the row.
        numbered = zip(iter(lambda: int(reader.line_num), -1), reader, strict=False)
        held: list[tuple[int, list[str]]] = []
        # With many more lists alive, Python's garbage collector would scan them again and again.
        while batch := list(itertools.islice(numbered, 2**11)):
            held += batch
            # Hold blank rows back until a filled row follows: at the end of the file they do not count.
            filled = next((place for place in range(len(held), 0, -1) if held[place - 1][1]), 0)
            ready, held = held[:filled], held[filled:]
            if ready:
                numbers = np.array([start for start, _ in ready], dtype=np.int64) + first
                yield self._pick([row for _, row in ready], numbers, places, kept)


@contextlib.contextmanager
def open_sheet(path: str) -> Iterator[CsvSheet]:
    """Open a CSV file or standard input, and read its header."""
    source = name_of(path)
    with explained(source), opened(path) as stream:
        above = 0
        for first in iter(stream.readline, ""):
            if first.strip():
                break
            above += 1
        else:
            raise DataFileError(f"{source} is empty; it should hold a header line and one row a person.")
        # Take the delimiter from the header: a German spreadsheet writes semicolons.
        delimiter = next((mark for mark in ",;\t" if mark in first), ",")
        # A quoted name may continue on the next line; without quotes, the line is the header.
        lines = itertools.chain([first], iter(stream.readline, "") if '"' in first else ())
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = [name.strip() for name in next(reader)]
        yield CsvSheet(header, delimiter, above + reader.line_num, text_blocks(stream))


def name_of(path: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_STREAM else path


@contextlib.contextmanager
def opened(path: str) -> Iterator[TextIO]:
    """Open a text file or standard input, with its line ends.

    A byte order mark is dropped.
    """
    if path == STANDARD_STREAM:
        # Always UTF-8, as for files, whatever encoding the terminal has.
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


def resolved(path: str | Path) -> Path:
    """Return a path without symbolic links."""
    # Not Path.resolve, which raises an error of its own kind where links form a circle.
    return Path(os.path.realpath(path))


def format_of(path: str) -> Literal["csv", "parquet", "json"]:
    """Return the format of a file by its name.

    >>> format_of("reports.jsonl.gz")
    'json'
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(PARQUET):
        return "parquet"
    return "json" if name.endswith((*JSON_LINES, ".json")) else "csv"


@contextlib.contextmanager
def explained(source: str) -> Iterator[None]:
    """Turn errors about a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise DataFileError(f"There is no file {source!r}.") from None
    except UnicodeDecodeError as error:
        # A pipe has no file ending, so other formats can end up here; their first bytes identify them.
        kinds = {
            b"PAR1": "a Parquet file, which cannot be read from a pipe here: name the file itself, ending in .parquet.",
            b"\x1f\x8b": "a gzip file: name a file that ends in .gz, or unpack it on the way, with gunzip -c.",
        }
        kind = next((kind for mark, kind in kinds.items() if error.object.startswith(mark)), None)
        cure = "Save it as CSV in UTF-8." if kind is None else f"It begins as {kind}"
        raise DataFileError(f"{source} is not UTF-8 text ({error.reason}). {cure}") from None
    except csv.Error as error:
        raise DataFileError(f"{source} is not valid CSV: {error}. Is a quotation mark left open?") from None
    except (EOFError, zlib.error) as error:
        raise DataFileError(f"{source} is not a whole gzip file: {error}. Copy it again.") from None
    except OSError as error:
        raise DataFileError(f"{source} cannot be read: {error.strerror or error}.") from None


@contextlib.contextmanager
def parquet_explained(path: str) -> Iterator[None]:
    """Turn errors about a Parquet file into one sentence."""
    arrow_error = require("pyarrow").ArrowException
    try:
        with explained(path):
            yield
    except arrow_error as error:
        reason = str(error).partition("\n")[0].removesuffix(".")
        raise DataFileError(f"{path} is not a whole Parquet file: {reason}. Was it cut off? Copy it again.") from None


def require(module: str, purpose: str = "Reading and counting such files", extra: str = "counting") -> Any:
    """Import an optional package, or raise with how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(module.partition(".")[0], purpose, extra) from None


def text_blocks(stream: TextIO) -> Iterator[str]:
    """Read a text in blocks that end with a line."""
    parts: list[str] = []
    while text := stream.read(LIMITS.block):
        # Keep the two characters of a Windows line end together.
        whole = text + stream.read(1) if text.endswith("\r") else text
        cut = max(whole.rfind("\n"), whole.rfind("\r")) + 1
        if cut:
            yield "".join([*parts, whole[:cut]])
            parts = []
        parts.append(whole[cut:])
    if rest := "".join(parts):
        yield rest


def describe_misfit(found: int, expected: int) -> str:
    """Describe a row of the wrong width without quoting it.

    >>> describe_misfit(3, 2)
    '(3 fields where 2 are expected)'
    """
    return f"({counted(found, 'field')} where {expected} {'is' if expected == 1 else 'are'} expected)"


def _is_rectangular(text: str, delimiter: str, width: int) -> bool:
    """Whether every line has as many fields as the header."""
    # In a table of this width, exactly every width-th mark is a line end.
    marks = np.frombuffer((text + "\n").encode(), dtype=np.uint8)
    marks = marks[(marks == ord(delimiter)) | (marks == ord("\n"))]
    if marks.size % width:
        return False
    ends = marks.reshape(-1, width) == ord("\n")
    return bool(ends[:, -1].all() and not ends[:, :-1].any())

"""CSV files as they stand: opened, their header understood, their rows handed out chunk by chunk."""

from __future__ import annotations

import contextlib
import csv
import difflib
import io
import itertools
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from confide.alphabets import Alphabet, Indices
from confide.errors import DataFileError
from confide.wording import counted

COUNT_COLUMN = "count"
"""A column of this name says how often a row's value occurs."""

STANDARD_STREAM = "-"
"""In place of a path: standard input, or standard output."""

COLUMN_CURE = "Name the one to read, with --column on the command line."

BY_CURE = "Name the ones that tell groups apart, with --by on the command line."

BLOCK = 2**22
"""Characters that are read at a time."""

CHUNK_ROWS = 2**11
"""Rows at a time where they have to be taken one by one; with many more lists alive, Python keeps searching them."""

Key = str | tuple[str, ...]
"""What a row says in the columns asked for; a plain text where that is one column."""


@dataclass(frozen=True)
class Layout:
    """What to look for in a file: the columns to try, one after the other.

    Attributes
    ----------
    source
        The file, for messages.
    alphabet
        What its values should be.
    name
        What the column is called.
    asked
        The columns that a person named, if any.
    """

    source: str
    alphabet: Alphabet
    name: str
    asked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = self.alphabet.field_names
        if self.asked and len(self.asked) != len(parts):
            raise DataFileError(
                f"A value of {self.alphabet!r} stands in {counted(len(parts), 'column')}, {' and '.join(parts)}; got "
                f"{counted(len(self.asked), 'name')}, {', '.join(self.asked)}. Name one for each part of a value."
            )

    @property
    def candidates(self) -> list[tuple[str, ...]]:
        """The columns to try."""
        if self.asked:
            return [self.asked]
        parts = self.alphabet.field_names
        return [(self.name,), parts] if len(parts) == 1 else [parts]

    def choose(self, header: Sequence[str], others: Sequence[str] = (), *, has_lines: bool = True) -> tuple[int, ...]:
        """Return where the parts of a value stand, then where the `others` do, or say which columns there are."""
        return (
            *self._choose_parts(header, has_lines=has_lines),
            *(self._find(name, header, BY_CURE) for name in others),
        )

    def find_count(self, header: Sequence[str], taken: Sequence[int]) -> int | None:
        """Return where the column of counts stands, if there is one that is not taken for something else."""
        places = [place for place, name in enumerate(header) if name == COUNT_COLUMN and place not in taken]
        return places[0] if places else None

    def _choose_parts(self, header: Sequence[str], *, has_lines: bool) -> tuple[int, ...]:
        for names in self.candidates:
            if all(name in header for name in names):
                return tuple(self._find(name, header) for name in names)
        if has_lines:
            self._refuse_headless(header)
        others = [place for place, one in enumerate(header) if one != COUNT_COLUMN]
        if self.asked or len(others) != 1 or len(self.alphabet.field_names) > 1:
            raise DataFileError(self._no_column(header, self.candidates))
        return (others[0],)

    def _find(self, name: str, header: Sequence[str], cure: str = COLUMN_CURE) -> int:
        if list(header).count(name) > 1:
            raise DataFileError(f"{self.source} has several columns called {name!r}. Rename all but one.")
        if name not in header:
            raise DataFileError(self._no_column(header, [(name,)], cure))
        return list(header).index(name)

    def _refuse_headless(self, header: Sequence[str]) -> None:
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
        return len(self.alphabet.field_names) == 1 and self._is_value(text)

    def _is_value(self, text: str) -> bool:
        value = self.alphabet.parse((text,))
        return value is not None and bool(self.alphabet.contains(np.array([value])).all())

    def _no_column(self, header: Sequence[str], candidates: Sequence[tuple[str, ...]], cure: str = COLUMN_CURE) -> str:
        wanted = " or ".join(dict.fromkeys(" and ".join(map(repr, names)) for names in candidates))
        names = [name for candidate in candidates for name in candidate]
        close = [match for name in names for match in difflib.get_close_matches(name, header, n=1)]
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return f"{self.source} has no column {wanted}{hint}. Its columns are {', '.join(map(repr, header))}. {cure}"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a file, in order.

    Attributes
    ----------
    keys
        What each row says in the columns asked for.
    lines
        Where each row starts.
    strays
        What is wrong with rows of too few or too many fields, by their places in `keys`, where they are empty; nothing
        of blank ones. What they say is not kept: which of it is the value, and which a name, cannot be told.
    """

    keys: Sequence[Key]
    lines: Indices
    strays: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A CSV file opened past its header.

    Attributes
    ----------
    header
        The names of its columns.
    delimiter
        What stands between two fields.
    lines_above
        How many lines the header and what stands above it take.
    blocks
        The text below the header, each block ending with a line.
    """

    header: list[str]
    delimiter: str
    lines_above: int
    blocks: Iterator[str]

    def chunks(self, places: Sequence[int]) -> Iterator[Chunk]:
        """Hand out the rows, of each the fields at these places.

        Blank lines at the end of a file are not rows; elsewhere they are rows without a field.
        """
        pick: Callable[[list[str]], Key] = itemgetter(*places)
        line, blank = self.lines_above + 1, 0
        for block in self.blocks:
            if '"' in block:
                yield from self._quoted_chunks(itertools.chain([block], self.blocks), pick, line - blank, blank)
                return
            text = "\n" * blank + _with_plain_ends(block)
            filled = text.rstrip("\n")
            first = line - blank
            line = first + text.count("\n") + (not text.endswith("\n"))
            # The first line end behind the last row is its own; the others are blank lines.
            blank = max(0, len(text) - len(filled) - bool(filled))
            if filled:
                yield self._gather(filled, places, first)

    def _gather(self, text: str, places: Sequence[int], first: int) -> Chunk:
        width = len(self.header)
        if width > 1 and _is_rectangular(text, self.delimiter, width):
            # One split for all rows: a list for each would cost more than everything else together.
            fields = text.replace("\n", self.delimiter).split(self.delimiter)
            columns = [fields[place::width] for place in places]
            keys: Sequence[Key] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
            return Chunk(keys, np.arange(first, first + len(keys)))
        lines = text.split("\n")
        numbers = np.arange(first, first + len(lines))
        if width > 1:
            return self._pick([line.split(self.delimiter) for line in lines], itemgetter(*places), numbers)
        bad = {
            line: self._misfit(line.split(self.delimiter)) for line in set(lines) if not line or self.delimiter in line
        }
        return Chunk(lines, numbers, {at: bad[line] for at, line in enumerate(lines) if line in bad} if bad else {})

    def _pick(self, rows: list[list[str]], pick: Callable[[list[str]], Key], numbers: Indices) -> Chunk:
        width = len(self.header)
        if set(map(len, rows)) == {width}:
            return Chunk(list(map(pick, rows)), numbers)
        strays = {place: self._misfit(row) for place, row in enumerate(rows) if len(row) != width}
        empty: list[str] = [""] * width
        return Chunk([pick(row if len(row) == width else empty) for row in rows], numbers, strays)

    def _misfit(self, row: list[str]) -> str:
        return describe_misfit(len(row), len(self.header)) if any(row) or len(row) > 1 else ""

    def _quoted_chunks(
        self, blocks: Iterator[str], pick: Callable[[list[str]], Key], first: int, blank: int
    ) -> Iterator[Chunk]:
        """Read with quotation marks, which may hold delimiters and line ends, from the first line that has one on."""
        lines = itertools.chain.from_iterable(io.StringIO(block, newline="") for block in blocks)
        # A strict reader refuses an open quotation mark, which would swallow every row after it.
        reader = csv.reader(itertools.chain(["\n"] * blank, lines), delimiter=self.delimiter, strict=True)
        numbered, held = _numbered(reader), list[tuple[int, list[str]]]()
        while batch := list(itertools.islice(numbered, CHUNK_ROWS)):
            held += batch
            kept = next((place for place in range(len(held), 0, -1) if held[place - 1][1]), 0)
            ready, held = held[:kept], held[kept:]
            if ready:
                numbers = np.array([start for start, _ in ready], dtype=np.int64) + first
                yield self._pick([row for _, row in ready], pick, numbers)


@contextlib.contextmanager
def open_sheet(path: str) -> Iterator[Sheet]:
    """Open a CSV file, ``.gz`` or not, or standard input, and read its header; failures are told in a sentence."""
    source = name_of(path)
    with explained(source), opened(path) as stream:
        above = 0
        for first in iter(stream.readline, ""):
            if first.strip():
                break
            above += 1
        else:
            raise DataFileError(f"{source} is empty; it should hold a header line and one row a person.")
        delimiter = next((mark for mark in ",;\t" if mark in first), ",")
        # A name in quotation marks may go on in the next line; without any, the line is the header.
        lines = itertools.chain([first], iter(stream.readline, "") if '"' in first else ())
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = [name.strip() for name in next(reader)]
        yield Sheet(header, delimiter, above + reader.line_num, text_blocks(stream))


def name_of(path: str) -> str:
    """Return what a file is called in messages."""
    return "standard input" if path == STANDARD_STREAM else path


@contextlib.contextmanager
def opened(path: str) -> Iterator[TextIO]:
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
def explained(source: str) -> Iterator[None]:
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


def text_blocks(stream: TextIO) -> Iterator[str]:
    """Read block by block, each cut behind a line end."""
    parts: list[str] = []
    while text := stream.read(BLOCK):
        # The two characters of a Windows line end must not fall apart.
        whole = text + stream.read(1) if text.endswith("\r") else text
        cut = max(whole.rfind("\n"), whole.rfind("\r")) + 1
        if cut:
            yield "".join([*parts, whole[:cut]])
            parts = []
        parts.append(whole[cut:])
    if rest := "".join(parts):
        yield rest


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Return each row with the number of lines above it."""
    start = reader.line_num
    for row in reader:
        yield start, row
        start = reader.line_num


def describe_misfit(found: int, expected: int) -> str:
    """Return what is wrong with a row, without a word of it.

    >>> describe_misfit(3, 2)
    '(3 fields where 2 are expected)'
    """
    return f"({counted(found, 'field')} where {expected} {'is' if expected == 1 else 'are'} expected)"


def split_lines(block: str) -> list[str]:
    """Split where CSV files end lines and nowhere else; :meth:`str.splitlines` knows more line ends."""
    lines = _with_plain_ends(block).split("\n")
    return lines[:-1] if not lines[-1] else lines


def _with_plain_ends(block: str) -> str:
    return block.replace("\r\n", "\n").replace("\r", "\n") if "\r" in block else block


def _is_rectangular(text: str, delimiter: str, width: int) -> bool:
    """Whether every line has as many fields as the header: each run of delimiters ends with a line end, and in time."""
    marks = np.frombuffer((text + "\n").encode(), dtype=np.uint8)
    marks = marks[(marks == ord(delimiter)) | (marks == ord("\n"))]
    if marks.size % width:
        return False
    ends = marks.reshape(-1, width) == ord("\n")
    return bool(ends[:, -1].all() and not ends[:, :-1].any())

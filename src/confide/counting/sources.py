"""Where reports come from: files of several formats, each looked at before it is counted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from confide.alphabets import Alphabet
from confide.counting.extras import parquet_explained, require_parquet
from confide.files import PARQUET, REPORT_COLUMN, Layout, explained, open_sheet, opened

Format = Literal["csv", "parquet", "json"]

JSON = (".jsonl", ".ndjson", ".json")
"""How the names of files with one JSON object a line end, before .gz."""

BLOCK = 2**22


@dataclass(frozen=True)
class Request:
    """Which columns to read, in every file.

    Attributes
    ----------
    alphabet
        What a report may be.
    columns
        The columns of a report, if a person named them.
    by
        The columns that name a group.
    """

    alphabet: Alphabet
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    def layout(self, source: str) -> Layout:
        """Return what to look for in one file."""
        return Layout(source, self.alphabet, REPORT_COLUMN, self.columns)

    def choose(self, source: str, header: Sequence[str], *, has_lines: bool = True) -> Choice:
        """Find the columns in a header, or say which there are instead."""
        layout = self.layout(source)
        places = layout.choose(header, self.by, has_lines=has_lines)
        count = layout.find_count(header, places)
        parts = len(self.alphabet.field_names)
        return Choice(tuple(header), places[:parts], places[parts:], count)


@dataclass(frozen=True)
class Choice:
    """Where the columns stand in a header: the parts of a report, what names its group, and the count if any."""

    header: tuple[str, ...]
    parts: tuple[int, ...]
    by: tuple[int, ...]
    count: int | None

    @property
    def places(self) -> tuple[int, ...]:
        """All of them, groups first, as the query has them."""
        return (*self.by, *self.parts, *(() if self.count is None else (self.count,)))

    @property
    def names(self) -> tuple[str, ...]:
        """What these columns are called."""
        return tuple(self.header[place] for place in self.places)

    @property
    def report_names(self) -> tuple[str, ...]:
        """What the columns of the report are called."""
        return tuple(self.header[place] for place in self.parts)


@dataclass(frozen=True)
class Shard:
    """One file, looked at.

    Attributes
    ----------
    path
        Where it is.
    format
        What it is.
    choice
        Where its columns are.
    rows
        How many rows it has by a count of its own; None where that takes a full reading.
    delimiter, lines_above
        Of a CSV file: what stands between fields, and how many lines stand above the first row.
    is_plain
        Of a CSV file: whether every line is a row of as many fields as the header has, without quotation marks.
    types
        Of a Parquet file: the types of its columns.
    title
        What it is called in messages, if not by its path.
    """

    path: str
    format: Format
    choice: Choice
    rows: int | None = None
    delimiter: str = ","
    lines_above: int = 0
    is_plain: bool = False
    types: tuple[str, ...] = ()
    title: str = ""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.title or self.path


def format_of(path: str) -> Format:
    """Return the format of a file by its first bytes, or by its name.

    >>> format_of("reports.jsonl.gz")
    'json'
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(PARQUET):
        return "parquet"
    if name.endswith(JSON):
        return "json"
    return "csv"


def look_at(path: str, request: Request) -> Shard | None:
    """Look at a file: which columns it has and, where that is quick, how many rows; None where it is empty."""
    with explained(path):
        if Path(path).stat().st_size == 0:
            return None
    if format_of(path) == "parquet":
        return _look_at_parquet(path, request)
    if format_of(path) == "json":
        return Shard(path, "json", _json_choice(path, request))
    lines = _survey_lines(path)
    with open_sheet(path) as sheet:
        choice = request.choose(path, sheet.header)
    is_plain = lines.is_plain(len(sheet.header), sheet.delimiter)
    rows = lines.lines - sheet.lines_above if is_plain else None
    return Shard(path, "csv", choice, rows, sheet.delimiter, sheet.lines_above, is_plain)


def _json_choice(path: str, request: Request) -> Choice:
    """Take the names of the first object for a header; where that cannot be read, the names that it should have."""
    with explained(path), opened(path) as stream:
        first = next((line for line in iter(stream.readline, "") if line.strip()), "")
    try:
        header = tuple(json.loads(first))
    except (ValueError, TypeError):
        names = request.columns or request.layout(path).candidates[0]
        header = (*names, *request.by)
    return request.choose(path, header, has_lines=False)


def _look_at_parquet(path: str, request: Request) -> Shard:
    with parquet_explained(path), require_parquet().ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    choice = request.choose(path, schema.names, has_lines=False)
    return Shard(path, "parquet", choice, rows, types=tuple(str(schema.types[place]) for place in choice.places))


@dataclass(frozen=True)
class _Lines:
    """What the bytes of a text file say of its lines."""

    line_ends: int
    returns: int
    delimiters: dict[str, int]
    has_quotes: bool
    has_blank_end: bool
    is_ended: bool

    @property
    def lines(self) -> int:
        return self.line_ends + (not self.is_ended)

    @property
    def has_one_line_end(self) -> bool:
        """Whether lines seem to end in one way only; which they do, the engine makes sure of."""
        return self.returns in (0, self.line_ends)

    def is_plain(self, width: int, delimiter: str) -> bool:
        """Whether lines and delimiters are as many as a table of this width has.

        A row with too few fields could make up for one with too many; but the engine refuses the first kind.
        """
        is_whole = self.delimiters[delimiter] == (width - 1) * self.lines
        return is_whole and not self.has_quotes and not self.has_blank_end and self.has_one_line_end


def _survey_lines(path: str) -> _Lines:
    """Count lines by their ends, independently of the engine that will read them: what it reads must be as many."""
    ends, returns, delimiters, quotes, tail = 0, 0, dict.fromkeys(",;\t", 0), False, b""
    for block in _byte_blocks(path):
        marks = np.frombuffer(block, dtype=np.uint8)
        ends += int(np.count_nonzero(marks == ord("\n")))
        returns += block.count(b"\r")
        quotes = quotes or b'"' in block
        for mark in delimiters:
            if mark.encode() in block:
                delimiters[mark] += int(np.count_nonzero(marks == ord(mark)))
        tail = (tail + block)[-4:]
    has_blank_end = tail.endswith((b"\n\n", b"\n\r\n"))
    return _Lines(ends, returns, delimiters, quotes, has_blank_end, tail.endswith(b"\n"))


def _byte_blocks(path: str) -> Iterator[bytes]:
    with explained(path), gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block

"""Relations: files, tables and streams as an engine reads them, a FROM clause and what to select from it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confide.counting.query import BROKEN_SQL, Kind, as_text
from confide.counting.sources import Shard
from confide.errors import ConfideError, DataFileError
from confide.files.rows import Reason
from confide.files.sheets import (
    COLUMN_CURE,
    ColumnPlaces,
    Request,
    explained,
    open_sheet,
    opened,
    require,
    split_lines,
    text_blocks,
)

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    # Wide integers and decimals keep all their digits as text.
    **dict.fromkeys(("VARCHAR", "BOOLEAN", "HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL", "ENUM", "UUID"), "text"),
}
"""Kinds of content of DuckDB's types."""

FILE = "confide_file"
"""Column that names the file of a row."""


@dataclass(frozen=True)
class Dialect:
    """SQL dialect of an engine: quotation of names, and kinds of its types."""

    mark: str
    kinds: Mapping[str, Kind]

    def quoted(self, name: str) -> str:
        """Return the name of a column as the engine writes it."""
        return self.mark + name.replace(self.mark, 2 * self.mark) + self.mark

    def kind(self, name: str, kind: str, source: str) -> Kind:
        """Return what a column holds, or say that it holds no reports."""
        found = self.kinds.get(kind.partition("(")[0])
        if found is None:
            raise DataFileError(
                f"Column {name!r} of {source} holds values of type {kind}; a report is a number or a text. "
                f"{COLUMN_CURE}"
            )
        return found


DUCK = Dialect('"', KINDS)


@dataclass(frozen=True)
class Relation:
    """Some files of one shape, or a table.

    Attributes
    ----------
    source
        What stands behind FROM.
    by, parts
        SQL for the columns that name a group, as texts, and for the parts of a report.
    count
        SQL for the count; None where every row counts once.
    kinds
        What the parts hold, and then the count.
    line
        SQL for the line of a row.
    file
        SQL for the file of a row.
    """

    source: str
    by: tuple[str, ...]
    parts: tuple[str, ...]
    count: str | None
    kinds: tuple[Kind, ...]
    line: str = "NULL"
    file: str = FILE

    @property
    def groups(self) -> str:
        """Return the group and the file of every row."""
        return f"SELECT {', '.join([*self._by, self.file])} AS {FILE} FROM {self.source}"

    @property
    def _by(self) -> list[str]:
        # Some readers give an empty text where others give nothing; both are the group without a name.
        return [f"NULLIF({column}, '') AS by{place}" for place, column in enumerate(self.by)]

    def select(self, kinds: Sequence[Kind], *, with_line: bool = False) -> str:
        """Return the rows under the names that the query has for them, and as what it expects them to be."""
        columns = self._by
        for place, (column, kind) in enumerate(zip(self.parts, self.kinds, strict=False)):
            columns.append(f"{_as(column, kind, kinds[place])} AS part{place}")
        if len(kinds) > len(self.parts):
            own: Kind = "integer" if self.count is None else self.kinds[-1]
            columns.append(f"{_as(self.count or '1', own, kinds[-1])} AS weight")
        columns += [f"{self.line} AS line"] if with_line else []
        return f"SELECT {', '.join(columns)} FROM {self.source}"


def common_kinds(relations: Sequence[Relation]) -> tuple[Kind, ...]:
    """Return what the parts, and the count if any relation has one, are in all relations; text where they differ."""
    parts = len(relations[0].parts)
    kinds: list[Kind] = [_common({relation.kinds[place] for relation in relations}) for place in range(parts)]
    counts: set[Kind] = {relation.kinds[-1] for relation in relations if relation.count is not None}
    if counts and any(relation.count is None for relation in relations):
        counts.add("integer")
    return (*kinds, _common(counts)) if counts else tuple(kinds)


def csv_relation(shards: Sequence[Shard]) -> Relation:
    """Return CSV files of one shape that have neither quotation marks nor rows of another width."""
    first = shards[0]
    names = tuple(f"c{place}" for place in range(len(first.places.header)))
    source = _read_csv(shards, names, first.delimiter, first.lines_above)
    places = replace(first.places, header=names)
    return text_relation(source, places, str, f"ROW_NUMBER() OVER () + {first.lines_above}")


def text_relation(source: str, places: ColumnPlaces, shown: Callable[[str], str], line: str) -> Relation:
    """Return columns that hold nothing but text."""
    header = places.header
    by = tuple(shown(header[place]) for place in places.by)
    parts = tuple(shown(header[place]) for place in places.parts)
    count = None if places.count is None else shown(header[places.count])
    kinds: list[Kind] = ["text"] * (len(parts) + (count is not None))
    return Relation(source, by, parts, count, tuple(kinds), line)


def json_relation(source: str, places: ColumnPlaces, line: str) -> Relation:
    """Return lines that hold one JSON object each.

    A line that is no JSON is a mark in every part, by which it is rejected; what it says is not kept.
    """

    def extract(name: str) -> str:
        path = '$."' + name.replace('"', '\\"') + '"'
        return f"CASE WHEN json_valid(line) THEN json_extract_string(line, {literal(path)}) ELSE {BROKEN_SQL} END"

    return text_relation(source, places, extract, line)


def parquet_relation(shards: Sequence[Shard], describe: Callable[[str], dict[str, str]]) -> Relation:
    """Return Parquet files with the same types."""
    paths = _paths(shards)
    source = f"read_parquet({paths}, binary_as_string = true, file_row_number = true, filename = '{FILE}')"
    return typed_relation(source, shards[0].path, shards[0].places, describe(source), "file_row_number + 1")


def count_files(relations: Sequence[Relation]) -> str:
    """Return SQL that counts in how many files each group occurs."""
    names = ", ".join(f"by{place}" for place in range(len(relations[0].by)))
    rows = " UNION ALL ".join(one.groups for one in relations)
    return f"SELECT {names}, COUNT(DISTINCT {FILE}) AS files FROM ({rows}) AS found GROUP BY {names}"


def to_group_files(rows: Iterable[Sequence[Any]]) -> dict[tuple[str, ...], int]:
    """Return the answer of :func:`count_files` by group; one without a name has an empty text."""
    return {tuple(part or "" for part in key): int(files) for *key, files in rows}


def typed_relation(
    source: str, name: str, places: ColumnPlaces, types: Mapping[str, str], line: str, dialect: Dialect = DUCK
) -> Relation:
    """Return a table whose columns have types."""
    header = places.header
    columns = [dialect.quoted(header[place]) for place in (*places.parts, *places.counts)]
    kinds = [dialect.kind(header[place], types[header[place]], name) for place in (*places.parts, *places.counts)]
    texts = [one if kind != "text" else f"CAST({one} AS STRING)" for one, kind in zip(columns, kinds, strict=True)]
    by = tuple(f"CAST({dialect.quoted(header[place])} AS STRING)" for place in places.by)
    count = None if places.count is None else texts.pop()
    return Relation(source, by, tuple(texts), count, tuple(kinds), line)


def _read_csv(shards: Sequence[Shard], names: Sequence[str], delimiter: str, skip: int) -> str:
    columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in names) + "}"
    compression = "gzip" if shards[0].path.lower().endswith(".gz") else "none"
    # Strict, and told everything: what is not exactly as described must be an error and never a guess.
    return (
        f"read_csv({_paths(shards)}, columns = {columns}, auto_detect = false, header = false, strict_mode = true, "
        f"delim = {literal(delimiter)}, quote = '', escape = '', skip = {skip}, compression = '{compression}', "
        f"filename = '{FILE}')"
    )


def _paths(shards: Sequence[Shard]) -> str:
    return f"[{', '.join(path_literal(shard.path) for shard in shards)}]"


def path_literal(path: str) -> str:
    """Return the path of a file as DuckDB writes it, where brackets and stars mean themselves."""
    return literal("".join(f"[{mark}]" if mark in "[*?" else mark for mark in path))


def literal(text: str) -> str:
    """Return a text as DuckDB writes it."""
    return "'" + text.replace("'", "''") + "'"


def _as(column: str, kind: Kind, wanted: Kind) -> str:
    return column if kind == wanted else as_text(column, kind)


def _common(kinds: Iterable[Kind]) -> Kind:
    one = set(kinds)
    return one.pop() if len(one) == 1 else "text"


def grouped(shards: Iterable[Shard]) -> list[list[Shard]]:
    """Return files of one shape together."""

    def shape(shard: Shard) -> tuple[Any, ...]:
        is_packed = shard.path.lower().endswith(".gz")
        return (shard.format, is_packed, shard.delimiter, shard.lines_above, shard.places, shard.types)

    ordered = sorted(shards, key=lambda shard: repr(shape(shard)))
    return [list(group) for _, group in itertools.groupby(ordered, key=shape)]


class Stream(ABC):
    """A stream of rows that Python reads with care and hands to DuckDB as Arrow batches.

    Attributes
    ----------
    name
        What the stream is called in SQL.
    shards
        The files, in order.
    read
        How many rows have been handed over so far.
    strays
        How many rows were not, by the reason.
    failure
        What went wrong, if anything did: DuckDB would tell it in words of its own.
    """

    def __init__(self, name: str, shards: Sequence[Shard]) -> None:
        self.name, self.shards = name, tuple(shards)
        self.read, self.strays = 0, Counter[str]()
        self.failure: ConfideError | None = None

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """SQL expression that selects from the stream."""

    @property
    @abstractmethod
    def _names(self) -> Sequence[str]:
        """Names of its columns."""

    @abstractmethod
    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        """Read a file, and return its columns batch by batch."""

    def reader(self) -> Any:
        """Return the stream anew."""
        pyarrow = require("pyarrow")
        self.read, self.strays, self.failure = 0, Counter(), None
        schema = pyarrow.schema([(name, pyarrow.string()) for name in (*self._names, FILE)])
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(pyarrow, schema))

    def _batches(self, pyarrow: Any, schema: Any) -> Iterator[Any]:
        try:
            for shard in self.shards:
                for columns in self._tables(shard):
                    arrays = [pyarrow.array(column, pyarrow.string()) for column in columns]
                    self.read += len(arrays[0])
                    file = pyarrow.repeat(shard.path, len(arrays[0]))
                    yield pyarrow.record_batch([*arrays, file], schema=schema)
        except ConfideError as error:
            self.failure = error
            raise


class CsvStream(Stream):
    """CSV files with quotation marks, or with rows of several widths, or with line ends of several kinds."""

    def __init__(self, name: str, shards: Sequence[Shard], request: Request) -> None:
        super().__init__(name, shards)
        self._request = request
        self._is_counted = any(shard.places.count is not None for shard in shards)

    @property
    def relation(self) -> Relation:
        """See :attr:`Stream.relation`."""
        by, parts = len(self._request.by), len(self._request.alphabet.field_names)
        count = by + parts if self._is_counted else None
        places = ColumnPlaces(tuple(self._names), tuple(range(by, by + parts)), tuple(range(by)), count)
        return text_relation(self.name, places, str, "NULL")

    @property
    def _names(self) -> Sequence[str]:
        width = len(self._request.by) + len(self._request.alphabet.field_names) + self._is_counted
        return [f"text{place}" for place in range(width)]

    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        with open_sheet(shard.path) as sheet:
            for chunk in sheet.chunks(shard.places.all):
                self.strays.update(Reason.MISSHAPEN if text else Reason.MISSING for text in chunk.strays.values())
                keys = [key for place, key in enumerate(chunk.keys) if place not in chunk.strays]
                columns = _columns(keys, len(shard.places.all))
                without_count = self._is_counted and shard.places.count is None
                yield [*columns, ["1"] * len(keys)] if without_count else columns


class JsonStream(Stream):
    """Files of one JSON object a line; DuckDB takes the objects apart. Blank lines are no rows."""

    @property
    def relation(self) -> Relation:
        """See :attr:`Stream.relation`."""
        return json_relation(self.name, self.shards[0].places, "CAST(number AS BIGINT)")

    @property
    def _names(self) -> Sequence[str]:
        return ["line", "number"]

    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        number = 0
        with explained(shard.path), opened(shard.path) as stream:
            for block in text_blocks(stream):
                lines = split_lines(block)
                filled = [(line, str(place)) for place, line in enumerate(lines, number + 1) if line.strip()]
                number += len(lines)
                yield _columns(filled, 2)


def _columns(keys: list[Any], width: int) -> list[list[str]]:
    if width == 1:
        return [keys]
    return [list(column) for column in zip(*keys, strict=True)] or [[] for _ in range(width)]

"""Files and tables as DuckDB reads them: a FROM clause and what to select from it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confide.counting.query import BROKEN_SQL, Kind, as_text
from confide.counting.sources import Choice, Shard
from confide.errors import DataFileError

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
REALS = ("FLOAT", "DOUBLE")
TEXTS = ("VARCHAR", "BOOLEAN", "HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL", "ENUM", "UUID")
"""Types that are read as text: wide integers and decimals keep all their digits so."""


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
    """

    source: str
    by: tuple[str, ...]
    parts: tuple[str, ...]
    count: str | None
    kinds: tuple[Kind, ...]
    line: str = "NULL"

    def select(self, kinds: Sequence[Kind], *, with_line: bool = False) -> str:
        """Return the rows under the names that the query has for them, and as what it expects them to be."""
        columns = [f"{column} AS by{place}" for place, column in enumerate(self.by)]
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
    names = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(first.choice.header)))
    source = _read_csv(shards, f"{{{names}}}", first.delimiter, first.lines_above)
    columns = replace(first.choice, header=tuple(f"c{place}" for place in range(len(first.choice.header))))
    return text_relation(source, columns, lambda name: name, f"ROW_NUMBER() OVER () + {first.lines_above}")


def text_relation(source: str, choice: Choice, shown: Callable[[str], str], line: str) -> Relation:
    """Return columns that hold nothing but text."""
    header = choice.header
    by = tuple(shown(header[place]) for place in choice.by)
    parts = tuple(shown(header[place]) for place in choice.parts)
    count = None if choice.count is None else shown(header[choice.count])
    kinds: list[Kind] = ["text"] * (len(parts) + (count is not None))
    return Relation(source, by, parts, count, tuple(kinds), line)


def json_relation(source: str, choice: Choice, line: str) -> Relation:
    """Return lines that hold one JSON object each.

    A line that is no JSON is a mark in every part, by which it is rejected; what it says is not kept.
    """

    def extract(name: str) -> str:
        path = '$."' + name.replace('"', '\\"') + '"'
        return f"CASE WHEN json_valid(line) THEN json_extract_string(line, {literal(path)}) ELSE {BROKEN_SQL} END"

    return text_relation(source, choice, extract, line)


def parquet_relation(shards: Sequence[Shard], describe: Callable[[str], dict[str, str]]) -> Relation:
    """Return Parquet files with the same types."""
    paths = _paths(shards)
    source = f"read_parquet({paths}, binary_as_string = true, file_row_number = true)"
    return typed_relation(source, shards[0].path, shards[0].choice, describe(source), "file_row_number + 1")


def typed_relation(source: str, name: str, choice: Choice, types: dict[str, str], line: str) -> Relation:
    """Return a table whose columns have types."""
    header = choice.header
    kinds = tuple(_kind(header[place], types[header[place]], name) for place in (*choice.parts, *_just(choice.count)))
    columns = [
        quoted(header[place]) if kind != "text" else f"CAST({quoted(header[place])} AS STRING)"
        for place, kind in zip((*choice.parts, *_just(choice.count)), kinds, strict=True)
    ]
    by = tuple(f"CAST({quoted(header[place])} AS STRING)" for place in choice.by)
    parts = len(choice.parts)
    return Relation(
        source, by, tuple(columns[:parts]), columns[parts] if choice.count is not None else None, kinds, line
    )


def _read_csv(shards: Sequence[Shard], columns: str, delimiter: str, skip: int) -> str:
    compression = "gzip" if shards[0].path.lower().endswith(".gz") else "none"
    # Strict, and told everything: what is not exactly as described must be an error and never a guess.
    return (
        f"read_csv({_paths(shards)}, columns = {columns}, auto_detect = false, header = false, strict_mode = true, "
        f"delim = {literal(delimiter)}, quote = '', escape = '', skip = {skip}, compression = '{compression}')"
    )


def _paths(shards: Sequence[Shard]) -> str:
    return f"[{', '.join(literal(_without_patterns(shard.path)) for shard in shards)}]"


def _without_patterns(path: str) -> str:
    """Return a path whose brackets and stars mean themselves."""
    return "".join(f"[{mark}]" if mark in "[*?" else mark for mark in path)


def literal(text: str) -> str:
    """Return a text as DuckDB writes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column as DuckDB writes it."""
    return '"' + name.replace('"', '""') + '"'


def _kind(name: str, kind: str, source: str) -> Kind:
    plain = kind.partition("(")[0]
    if plain in INTEGERS:
        return "integer"
    if plain in REALS:
        return "real"
    if plain in TEXTS:
        return "text"
    raise DataFileError(
        f"Column {name!r} of {source} holds values of type {kind}; a report is a number or a text. "
        f"Name another column, with --column on the command line."
    )


def _as(column: str, kind: Kind, wanted: Kind) -> str:
    return column if kind == wanted else as_text(column, kind)


def _common(kinds: Iterable[Kind]) -> Kind:
    one = set(kinds)
    return one.pop() if len(one) == 1 else "text"


def _just(place: int | None) -> tuple[int, ...]:
    return () if place is None else (place,)


def grouped(shards: Iterable[Shard]) -> list[list[Shard]]:
    """Return files of one shape together."""

    def shape(shard: Shard) -> tuple[Any, ...]:
        is_packed = shard.path.lower().endswith(".gz")
        return (shard.format, is_packed, shard.delimiter, shard.lines_above, shard.choice, shard.types)

    ordered = sorted(shards, key=lambda shard: repr(shape(shard)))
    return [list(group) for _, group in itertools.groupby(ordered, key=shape)]

"""The SQL text that counts reports: the same one on DuckDB, on Spark, and on any other warehouse.

It keeps to what these engines have in common: no backslash, no quoted identifier, ``TRY_CAST`` only of texts that a
regular expression has found sound. It groups first, so that only distinct entries are judged, however many rows.

>>> from confide import Integers
>>> query = Query(Integers(0, 9), ("integer",))
>>> "GROUP BY part0" in query.text
True
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from confide.data.files.rows import Field, Reason, fields_of
from confide.data.files.sheets import COLUMN_CURE, REPORT_COLUMN, ColumnPlaces
from confide.errors import DataFileError
from confide.values import Alphabet
from confide.values.checks import COUNT_LIMIT, FILLED, NUMBER_LIKE, REAL, WHOLE

Kind = Literal["text", "integer", "real"]
"""Kind of content of a column of the source: anything else is handed over as text."""

ACCEPTED = "accepted"
"""The outcome of a row that counts."""

BROKEN_SQL = "(CHR(26) || CHR(26))"
"""Stand-in for every part of a line that is no JSON: substitutes, as ASCII calls them, which no report is."""

REAL_LIMIT = 2**52
"""Real reports lie fewer than this many steps of their resolution from zero."""

FILE = "confide_file"
"""Column of a relation that names the file of a row."""


@dataclass(frozen=True)
class Query:
    """Query that counts reports of an alphabet in a table ``reports``.

    Attributes
    ----------
    alphabet
        What a report may be.
    kinds
        What the columns part0, part1, ... hold.
    weight
        What the column weight holds, which says how often a row counts; None where there is none.
    by
        How many columns by0, by1, ... name the group of a row.
    """

    alphabet: Alphabet
    kinds: tuple[Kind, ...]
    weight: Kind | None = None
    by: int = 0

    @property
    def group_columns(self) -> list[str]:
        """The columns that name a group."""
        return [f"by{number}" for number in range(self.by)]

    @property
    def part_columns(self) -> list[str]:
        """The columns of ``reports`` that decide whether a row is accepted."""
        return [f"part{number}" for number in range(len(self.kinds))] + ([] if self.weight is None else ["weight"])

    @property
    def grouped_columns(self) -> list[str]:
        """The columns of the answer that hold the group and the report of rows that were accepted."""
        return self.group_columns + [f"value{number}" for number in range(len(self.kinds))]

    @property
    def text(self) -> str:
        """The whole query.

        One row of its answer is an outcome, a group and a report with how many rows and people it stands for; of rows
        that are not accepted it keeps what they say in place of group and report.
        """
        kept = [f"CASE WHEN outcome = '{ACCEPTED}' THEN {name} END AS {name}" for name in self.grouped_columns]
        kept += [f"CASE WHEN outcome <> '{ACCEPTED}' THEN {name} END AS {name}" for name in self.part_columns]
        entry = ", ".join([*self.group_columns, *self.part_columns])
        numerals, readings = list[str](), list[str]()  # first the numbers out of texts, then values out of numbers
        for field, kind, place in self._parts():
            if kind == "text" and field.kind != "text":
                text = _extract(f"part{place}", WHOLE if field.kind == "whole" else REAL)
                numerals.append(f"NULLIF({text}, '') AS numeral{place}")
            if field.kind == "real":
                numerals.append(f"{_finite_number(f'part{place}', kind)} AS number{place}")
            readings.append(f"{_value(field, kind, place)} AS value{place}")
        if self.weight is None:
            readings.append("1 AS people")
        else:
            numerals.append(f"{_finite_number('weight', self.weight)} AS counted")
            is_count = f"counted BETWEEN 0 AND {COUNT_LIMIT - 1} AND {_is_whole('counted')}"
            readings.append(f"CASE WHEN {is_count} THEN TRY_CAST(counted AS BIGINT) END AS people")
        return "\n".join(
            (
                "WITH entries AS (",
                f"  SELECT {entry}, COUNT(*) AS row_count",
                f"  FROM reports GROUP BY {entry}",
                "), numerals AS (",
                _select(numerals, "entries"),
                "), readings AS (",
                _select(readings, "numerals"),
                "), judgements AS (",
                _select([f"{self._outcome()} AS outcome"], "readings"),
                ")",
                "SELECT outcome,",
                *(f"  {column}," for column in kept),
                "  CAST(SUM(row_count) AS BIGINT) AS row_total,",
                f"  CAST(SUM(CASE WHEN outcome = '{ACCEPTED}' THEN row_count * people ELSE 0 END) AS BIGINT) AS people",
                "FROM judgements",
                f"GROUP BY {', '.join(str(place) for place in range(1, len(kept) + 2))}",
            )
        )

    @property
    def explained_text(self) -> str:
        """The query below a comment that says what it reads."""
        told = [
            f"-- {name}: the group of a row, column {place} of --by" for place, name in enumerate(self.group_columns, 1)
        ]
        names = self.alphabet.field_names if self.alphabet.parts > 1 else (REPORT_COLUMN,)
        parts = enumerate(zip(names, self.kinds, strict=True))
        told += [f"-- part{place}: {name} ({kind})" for place, (name, kind) in parts]
        told += [] if self.weight is None else ["-- weight: how often a row counts"]
        return "\n".join(["-- reports is a table or a view with the columns", *told, self.text])

    def _parts(self) -> list[tuple[Field, Kind, int]]:
        """Return each part of a report, what its column holds, and its place."""
        return list(zip(fields_of(self.alphabet), self.kinds, range(len(self.kinds)), strict=True))

    def _outcome(self) -> str:
        """Judge an entry: accepted, or the reason why not."""
        parts = self._parts()
        is_weight = f"WHEN people IS NULL AND counted > 0 AND counted < {COUNT_LIMIT} THEN '{Reason.WEIGHT}' "
        weights = "" if self.weight is None else is_weight
        counts = f"CASE {weights}WHEN people IS NULL THEN '{Reason.BAD_COUNT}' ELSE '{ACCEPTED}' END"
        missing = " OR ".join(
            # Nothing, or nothing but blanks.
            f"COALESCE(REGEXP_EXTRACT(part{place}, {_literal(FILLED)}, 0), '') = ''"
            if kind == "text"
            else f"part{place} IS NULL"
            for _, kind, place in parts
        )
        each, inside, holes, start = [], [], [], 0
        for alphabet in (self.alphabet,) if self.alphabet.attributes is None else self.alphabet.attributes.alphabets:
            own = parts[start : start + len(fields_of(alphabet))]
            clauses = [f"COALESCE({_is_inside(field, f'value{place}')}, FALSE)" for field, _, place in own]
            each.append((own, " AND ".join([*clauses, *_no_hole(alphabet, start)])))
            inside += clauses
            holes += _no_hole(alphabet, start)
            start += len(own)
        # Only texts can be lines that are no JSON.
        cases = [f"WHEN part0 = {BROKEN_SQL} THEN '{Reason.NOT_JSON}'"] if self.kinds[0] == "text" else []
        cases += [f"WHEN {' AND '.join([*inside, *holes])} THEN {counts}", f"WHEN {missing} THEN '{Reason.MISSING}'"]
        # The reason is that of the first attribute at fault.
        cases += [f"WHEN NOT ({is_value}) THEN {_fault(own)}" for own, is_value in each[:-1]]
        cases += [f"ELSE {_fault(each[-1][0])}"]
        return "CASE " + "\n    ".join(cases) + " END"


def _no_hole(alphabet: Alphabet, start: int) -> list[str]:
    """Cells of a grid that are none, by their number in the box around all cells, from the value at `start` on."""
    grid = alphabet.grid
    if grid is None or not grid.holes:
        return []
    numbers = ((row - grid.first_row) * grid.columns + column - grid.first_column for row, column in grid.holes)
    place = f"(value{start} - {grid.first_row}) * {grid.columns} + value{start + 1} - {grid.first_column}"
    return [f"{place} NOT IN ({', '.join(map(str, numbers))})"]


def shown_text(texts: Sequence[object], reason: Reason) -> str:
    """Return what to show of a row that was rejected: its parts, unless it had none.

    >>> shown_text([3, None], Reason.MISSING)
    '3,'
    """
    return "(not JSON)" if reason is Reason.NOT_JSON else ",".join("" if text is None else str(text) for text in texts)


def as_text(column: str, kind: Kind) -> str:
    """Return a column as text; whole numbers as such, also where they are stored as decimals.

    >>> as_text("part0", "integer")
    'CAST(part0 AS STRING)'
    """
    if kind == "text":
        return column
    if kind == "integer":
        return f"CAST({column} AS STRING)"
    whole = f"CAST(TRY_CAST({column} AS BIGINT) AS STRING)"
    return f"CASE WHEN {_is_whole(column)} THEN {whole} ELSE CAST({column} AS STRING) END"


def _select(columns: Iterable[str], source: str) -> str:
    return "  SELECT\n    " + ",\n    ".join([f"{source}.*", *columns]) + f"\n  FROM {source}"


def _value(field: Field, kind: Kind, place: int) -> str:
    """Return SQL for the value of a part, which is nothing where it could not be read."""
    part = f"part{place}"
    if field.kind == "text":
        return as_text(part, kind)
    if field.kind == "real":
        # A real number as the nearest multiple of the resolution, halves to the even one, as a float64.
        number = f"number{place}"
        near = f"CASE WHEN ABS({number} * {field.resolution}) <= {REAL_LIMIT} THEN {number} * {field.resolution} END"
        below = f"CAST(FLOOR({near}) AS BIGINT)"
        rest = f"({near} - {below})"
        up = f"CASE WHEN {rest} > 0.5 OR ({rest} = 0.5 AND {below} % 2 <> 0) THEN 1 ELSE 0 END"
        return f"CAST({below} + {up} AS DOUBLE) / {field.resolution}"

    if kind == "text":
        return f"TRY_CAST(numeral{place} AS BIGINT)"
    is_whole = kind == "integer"
    return f"CAST({part} AS BIGINT)" if is_whole else f"CASE WHEN {_is_whole(part)} THEN TRY_CAST({part} AS BIGINT) END"


def _is_inside(field: Field, value: str) -> str:
    if field.kind == "real":
        return f"ABS({value}) < {REAL_LIMIT // field.resolution}"
    if field.members is None:
        return f"{value} BETWEEN {field.low} AND {field.high}"
    return f"{value} IN ({', '.join(_literal(member) for member in field.members)})"


def _is_finite(number: str) -> str:
    return f"ABS({number}) <= 1.7976931348623157e308"  # the largest double


def _is_whole(number: str) -> str:
    return f"CAST(TRY_CAST({number} AS BIGINT) AS DOUBLE) = {number}"


def _fault(parts: Sequence[tuple[Field, Kind, int]]) -> str:
    """Return why parts that are not missing were not accepted.

    Of each part it asks whether it could be read, and, if it is no whole number, whether it was meant as a number. What
    could be read may lie outside or be too large to hold.
    """
    clauses = []
    for field, kind, place in parts:
        part = f"part{place}"
        if field.kind == "text":
            clause = "TRUE", "FALSE"
        elif field.kind == "real":
            clause = f"number{place} IS NOT NULL", "FALSE"
        elif kind == "text":
            clause = f"numeral{place} IS NOT NULL", f"{_extract(part, NUMBER_LIKE)} <> ''"
        elif kind == "integer":
            clause = "TRUE", "TRUE"
        else:
            is_whole = f"(ABS({part}) >= {COUNT_LIMIT} OR {_is_whole(part)})"
            clause = f"{is_whole} AND {_is_finite(part)}", _is_finite(part)
        clauses.append(clause)
    is_read, is_number = (" AND ".join(some) for some in zip(*clauses, strict=True))
    return (
        f"CASE WHEN {is_read} THEN '{Reason.OUTSIDE}' WHEN {is_number} THEN '{Reason.NOT_WHOLE}' "
        f"ELSE '{Reason.NOT_A_NUMBER}' END"
    )


def _finite_number(column: str, kind: Kind) -> str:
    text = f"NULLIF({_extract(column, REAL)}, '')"
    number = f"TRY_CAST({text} AS DOUBLE)" if kind == "text" else f"CAST({column} AS DOUBLE)"
    return f"CASE WHEN {_is_finite(number)} THEN {number} END"


def _extract(column: str, pattern: str) -> str:
    """Return what a pattern holds of a whole text, or an empty one.

    The pattern ends in blanks, so that a $ before a last line end does no harm.
    """
    return f"REGEXP_EXTRACT({column}, {_literal(f'^{pattern}$')}, 1)"


def _literal(member: int | str) -> str:
    """Return a number or a text in SQL; marks that engines read differently, or that nobody can see, by number.

    >>> _literal("it's")
    "'it' || CHR(39) || 's'"
    """
    if isinstance(member, int):
        return str(member)
    # A backslash is an escape on Spark alone, and a control character looks like nothing.
    runs = itertools.groupby(member, key=lambda mark: mark in "'\\" or ord(mark) < 32 or 127 <= ord(mark) <= 160)
    pieces = [
        " || ".join(f"CHR({ord(mark)})" for mark in run) if by_number else f"'{''.join(run)}'"
        for by_number, run in runs
    ]
    return " || ".join(pieces) or "''"


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


@dataclass(frozen=True)
class Relation:
    """Files of one shape, a table or a stream, as an engine reads them.

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

    @property
    def groups(self) -> list[str]:
        """The columns that name a group: an empty text and nothing are both the group without a name."""
        return [f"NULLIF({column}, '') AS by{place}" for place, column in enumerate(self.by)]

    def select(self, kinds: Sequence[Kind], *, with_line: bool = False) -> str:
        """Return the rows under the names that the query has for them, and as what it expects them to be."""
        given = [*zip(self.parts, self.kinds, strict=False)]
        names = [f"part{place}" for place in range(len(self.parts))]
        if len(kinds) > len(given):
            # Files with and without counts may be counted together.
            given.append(("1", "integer") if self.count is None else (self.count, self.kinds[-1]))
            names.append("weight")
        columns = [
            f"{column if own == wanted else as_text(column, own)} AS {name}"
            for (column, own), wanted, name in zip(given, kinds, names, strict=True)
        ]
        lines = [f"{self.line} AS line"] if with_line else []
        return f"SELECT {', '.join([*self.groups, *columns, *lines])} FROM {self.source}"


def text_relation(source: str, places: ColumnPlaces, shown: Callable[[str], str], line: str = "NULL") -> Relation:
    """Return columns that hold nothing but text."""
    by, parts, counts = (
        tuple(shown(places.header[one]) for one in some) for some in (places.by, places.parts, places.counts)
    )
    kinds: list[Kind] = ["text"] * len(parts + counts)
    return Relation(source, by, parts, counts[0] if counts else None, tuple(kinds), line)


def typed_relation(
    source: str, name: str, places: ColumnPlaces, types: Mapping[str, str], dialect: Dialect, line: str = "NULL"
) -> Relation:
    """Return a table whose columns have types."""
    names = [places.header[place] for place in places.entry]
    kinds = tuple(dialect.kind(one, types[one], name) for one in names)
    # Names of columns come from files, and are quoted where they enter SQL.
    columns = [dialect.quoted(one) for one in names]
    texts = [one if kind != "text" else f"CAST({one} AS STRING)" for one, kind in zip(columns, kinds, strict=True)]
    by = tuple(f"CAST({dialect.quoted(places.header[place])} AS STRING)" for place in places.by)
    count = texts.pop() if places.counts else None
    return Relation(source, by, tuple(texts), count, kinds, line)


def count_files(relations: Sequence[Relation]) -> str:
    """Return SQL that counts in how many files each group occurs."""
    names = ", ".join(f"by{place}" for place in range(len(relations[0].by)))
    rows = " UNION ALL ".join(f"SELECT {', '.join(one.groups)}, {FILE} FROM {one.source}" for one in relations)
    return f"SELECT {names}, COUNT(DISTINCT {FILE}) AS files FROM ({rows}) AS found GROUP BY {names}"

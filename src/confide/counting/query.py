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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from confide.alphabets import Alphabet
from confide.alphabets.numerals import FILLED, NUMBER_LIKE, REAL, WHOLE
from confide.files.rows import Field, Reason, fields_of
from confide.files.sheets import REPORT_COLUMN
from confide.limits import COUNT_LIMIT

Kind = Literal["text", "integer", "real"]
"""Kind of content of a column of the source: anything else is handed over as text."""

ACCEPTED = "accepted"
"""The outcome of a row that counts."""

BROKEN_SQL = "(CHR(26) || CHR(26))"
"""Stand-in for every part of a line that is no JSON: substitutes, as ASCII calls them, which no report is."""

LARGEST_DOUBLE = "1.7976931348623157e308"

REAL_LIMIT = 2**52
"""Real reports lie fewer than this many steps of their resolution from zero."""


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
    def fields(self) -> tuple[Field, ...]:
        """The parts of a report."""
        return fields_of(self.alphabet)

    @property
    def entry_columns(self) -> list[str]:
        """The columns of ``reports`` that the query reads."""
        return self.group_columns + self.part_columns

    @property
    def group_columns(self) -> list[str]:
        """The columns that name a group."""
        return [f"by{number}" for number in range(self.by)]

    @property
    def part_columns(self) -> list[str]:
        """The columns of ``reports`` that decide whether a row is accepted."""
        return [f"part{number}" for number in range(len(self.kinds))] + ([] if self.weight is None else ["weight"])

    @property
    def value_columns(self) -> list[str]:
        """The columns of the answer that hold a report that was accepted."""
        return [f"value{number}" for number in range(len(self.kinds))]

    @property
    def text(self) -> str:
        """The whole query.

        One row of its answer is an outcome, a group and a report with how many rows and people it stands for; of rows
        that are not accepted it keeps what they say in place of group and report.
        """
        grouped, rejected = [*self.group_columns, *self.value_columns], self.part_columns
        kept = [f"CASE WHEN outcome = '{ACCEPTED}' THEN {name} END AS {name}" for name in grouped]
        kept += [f"CASE WHEN outcome <> '{ACCEPTED}' THEN {name} END AS {name}" for name in rejected]
        places = ", ".join(str(place) for place in range(1, len(kept) + 2))
        return "\n".join(
            (
                "WITH entries AS (",
                f"  SELECT {', '.join(self.entry_columns)}, COUNT(*) AS row_count",
                f"  FROM reports GROUP BY {', '.join(self.entry_columns)}",
                "), numerals AS (",
                _select(self._numerals(), "entries"),
                "), readings AS (",
                _select(self._readings(), "numerals"),
                "), judgements AS (",
                _select(iter([f"{self._outcome()} AS outcome"]), "readings"),
                ")",
                "SELECT outcome,",
                *(f"  {column}," for column in kept),
                "  CAST(SUM(row_count) AS BIGINT) AS row_total,",
                f"  CAST(SUM(CASE WHEN outcome = '{ACCEPTED}' THEN row_count * people ELSE 0 END) AS BIGINT) AS people",
                "FROM judgements",
                f"GROUP BY {places}",
            )
        )

    @property
    def explained_text(self) -> str:
        """The query below a comment that says what it reads."""
        groups = [
            f"-- {name}: the group of a row, column {place + 1} of --by"
            for place, name in enumerate(self.group_columns)
        ]
        names = self.alphabet.field_names if self.alphabet.parts > 1 else (REPORT_COLUMN,)
        parts = [
            f"-- part{place}: {name} ({kind})" for place, (name, kind) in enumerate(zip(names, self.kinds, strict=True))
        ]
        weight = [] if self.weight is None else ["-- weight: how often a row counts"]
        return "\n".join(["-- reports is a table or a view with the columns", *groups, *parts, *weight, self.text])

    def _numerals(self) -> Iterator[str]:
        """Take the numbers out of texts."""
        for place, (field, kind) in enumerate(zip(self.fields, self.kinds, strict=True)):
            if kind == "text" and field.kind != "text":
                yield f"{_extract(f'part{place}', WHOLE if field.kind == 'whole' else REAL)} AS numeral{place}"
            if field.kind == "real":
                yield f"{_finite(_number(f'part{place}', kind, REAL))} AS number{place}"
        if self.weight is not None:
            yield f"{_finite(_number('weight', self.weight, REAL))} AS counted"

    def _readings(self) -> Iterator[str]:
        """Turn numbers into values."""
        for place, (field, kind) in enumerate(zip(self.fields, self.kinds, strict=True)):
            yield f"{_value(field, kind, place)} AS value{place}"
        if self.weight is None:
            yield "1 AS people"
        else:
            is_count = f"counted BETWEEN 0 AND {COUNT_LIMIT - 1} AND {_is_whole('counted')}"
            yield f"CASE WHEN {is_count} THEN TRY_CAST(counted AS BIGINT) END AS people"

    def _outcome(self) -> str:
        parts = list(zip(self.fields, self.kinds, range(len(self.fields)), strict=True))
        inside = [f"COALESCE({_is_inside(field, f'value{place}')}, FALSE)" for place, field in enumerate(self.fields)]
        is_weight = f"WHEN people IS NULL AND counted > 0 AND counted < {COUNT_LIMIT} THEN '{Reason.WEIGHT}' "
        weights = "" if self.weight is None else is_weight
        counts = f"CASE {weights}WHEN people IS NULL THEN '{Reason.BAD_COUNT}' ELSE '{ACCEPTED}' END"
        holes = [clause for alphabet, start, _ in self._attributes() for clause in _no_hole(alphabet, start)]
        missing = " OR ".join(_is_missing(kind, f"part{place}") for _, kind, place in parts)
        cases = [
            *self._broken(),
            f"WHEN {' AND '.join([*inside, *holes])} THEN {counts}",
            f"WHEN {missing} THEN '{Reason.MISSING}'",
        ]
        each = list(self._attributes())
        for alphabet, start, end in each[:-1]:  # the reason is that of the first attribute at fault
            is_value = " AND ".join([*inside[start:end], *_no_hole(alphabet, start)])
            cases += [f"WHEN NOT ({is_value}) THEN {_fault(parts[start:end])}"]
        cases += [f"ELSE {_fault(parts[each[-1][1] :])}"]
        return "CASE " + "\n    ".join(cases) + " END"

    def _broken(self) -> list[str]:
        """Lines that are no JSON, which only texts can be."""
        return [f"WHEN part0 = {BROKEN_SQL} THEN '{Reason.NOT_JSON}'"] if self.kinds[0] == "text" else []

    def _attributes(self) -> Iterator[tuple[Alphabet, int, int]]:
        """Return each attribute's alphabet with the places of its parts: the one that there is, or several."""
        start = 0
        whole = self.alphabet.attributes
        for alphabet in (self.alphabet,) if whole is None else whole.alphabets:
            end = start + len(fields_of(alphabet))
            yield alphabet, start, end
            start = end


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


def _select(columns: Iterator[str], source: str) -> str:
    listed = [f"{source}.*", *columns]
    return "  SELECT\n    " + ",\n    ".join(listed) + f"\n  FROM {source}"


def _value(field: Field, kind: Kind, place: int) -> str:
    """Return SQL for the value of a part, which is nothing where it could not be read."""
    part = f"part{place}"
    if field.kind == "text":
        return as_text(part, kind)
    if field.kind == "real":
        return _step(f"number{place}", field.resolution)
    if kind == "text":
        return f"TRY_CAST(numeral{place} AS BIGINT)"
    return (
        f"CAST({part} AS BIGINT)"
        if kind == "integer"
        else f"CASE WHEN {_is_whole(part)} THEN TRY_CAST({part} AS BIGINT) END"
    )


def _is_read(field: Field, kind: Kind, place: int) -> str:
    """Return SQL for whether a part could be read, though it may lie outside or be too large to hold."""
    part = f"part{place}"
    if field.kind == "text":
        return "TRUE"
    if field.kind == "real":
        return f"number{place} IS NOT NULL"
    if kind == "text":
        return f"numeral{place} IS NOT NULL"
    return (
        "TRUE" if kind == "integer" else f"(ABS({part}) >= {COUNT_LIMIT} OR {_is_whole(part)}) AND {_is_finite(part)}"
    )


def _is_number_like(field: Field, kind: Kind, place: int) -> str:
    """Return SQL for whether a part that is no whole number was meant as a number."""
    part = f"part{place}"
    if field.kind != "whole":
        return "FALSE"
    if kind == "text":
        return f"REGEXP_EXTRACT({part}, {_pattern(NUMBER_LIKE)}, 1) <> ''"
    return "TRUE" if kind == "integer" else _is_finite(part)


def _step(number: str, resolution: int) -> str:
    """Return a real number as the nearest multiple of the resolution, halves to the even one, as a float64.

    Numbers that lie too far out become nothing before they could overflow.
    """
    near = f"CASE WHEN ABS({number} * {resolution}) <= {REAL_LIMIT} THEN {number} * {resolution} END"
    below = f"CAST(FLOOR({near}) AS BIGINT)"
    rest = f"({near} - {below})"
    up = f"CASE WHEN {rest} > 0.5 OR ({rest} = 0.5 AND {below} % 2 <> 0) THEN 1 ELSE 0 END"
    return f"CAST({below} + {up} AS DOUBLE) / {resolution}"


def _is_inside(field: Field, value: str) -> str:
    if field.kind == "real":
        return f"ABS({value}) < {REAL_LIMIT // field.resolution}"
    if field.members is None:
        return f"{value} BETWEEN {field.low} AND {field.high}"
    return f"{value} IN ({', '.join(_literal(member) for member in field.members)})"


def _is_missing(kind: Kind, part: str) -> str:
    """Return whether there is nothing, or nothing but blanks."""
    return f"{part} IS NULL" if kind != "text" else f"COALESCE(REGEXP_EXTRACT({part}, {_literal(FILLED)}, 0), '') = ''"


def _is_finite(number: str) -> str:
    return f"ABS({number}) <= {LARGEST_DOUBLE}"


def _is_whole(number: str) -> str:
    return f"CAST(TRY_CAST({number} AS BIGINT) AS DOUBLE) = {number}"


def _fault(parts: Sequence[tuple[Field, Kind, int]]) -> str:
    """Return why parts that are not missing were not accepted."""
    is_read = " AND ".join(_is_read(*part) for part in parts)
    is_number = " AND ".join(_is_number_like(*part) for part in parts)
    return (
        f"CASE WHEN {is_read} THEN '{Reason.OUTSIDE}' WHEN {is_number} THEN '{Reason.NOT_WHOLE}' "
        f"ELSE '{Reason.NOT_A_NUMBER}' END"
    )


def _number(column: str, kind: Kind, pattern: str) -> str:
    return f"TRY_CAST({_extract(column, pattern)} AS DOUBLE)" if kind == "text" else f"CAST({column} AS DOUBLE)"


def _finite(number: str) -> str:
    return f"CASE WHEN {_is_finite(number)} THEN {number} END"


def _extract(column: str, pattern: str) -> str:
    """Return the number within a text that is sound, without the blanks around it, else nothing."""
    return f"NULLIF(REGEXP_EXTRACT({column}, {_pattern(pattern)}, 1), '')"


def _pattern(pattern: str) -> str:
    """Return a pattern for a whole text. It ends in blanks, so that a $ before a last line end does no harm."""
    return _literal(f"^{pattern}$")


def _literal(member: int | str) -> str:
    """Return a number or a text in SQL; marks that engines read differently, or that nobody can see, by number.

    >>> _literal("it's")
    "'it' || CHR(39) || 's'"
    """
    if isinstance(member, int):
        return str(member)
    runs = itertools.groupby(member, key=_is_told_by_number)
    pieces = [
        " || ".join(f"CHR({ord(mark)})" for mark in run) if by_number else f"'{''.join(run)}'"
        for by_number, run in runs
    ]
    return " || ".join(pieces) or "''"


def _is_told_by_number(mark: str) -> bool:
    return mark in "'\\" or ord(mark) < 32 or 127 <= ord(mark) <= 160

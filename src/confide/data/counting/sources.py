"""Sources of reports.

Files behind paths, folders, patterns and pipes, and the SQL that counts them.

The SQL is the same on DuckDB, on Spark and on any other warehouse. It keeps to what these engines share: no backslash,
no quoted identifier, ``TRY_CAST`` only of texts that a regular expression accepted. It groups first, so that it judges
distinct entries, not rows. A :class:`Tallied` has the counts of an engine, and one account of all rows.

>>> from confide import Integers
>>> query = Query(Integers(0, 9), ("integer",))
>>> "GROUP BY part0" in query.text
True
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import itertools
import json
import shutil
import stat
import sys
import tempfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np

from confide.data.files import sheets
from confide.data.files.counts_files import Key, is_counts_file
from confide.data.files.sheets import Account, ColumnPlaces, Field, Reason, Reject, fields_of
from confide.data.files.writing import SUFFIX, Traces, content_digest, is_companion
from confide.errors import ConfideError, DataFileError
from confide.evidence.counts import WEIGHT_RANGE
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey
from confide.values import Alphabet
from confide.values.checks import BLANK, COUNT_LIMIT, NUMBER_LIKE, REAL, WHOLE
from confide.values.wording import counted, listed, name_some

Kind = Literal["text", "integer", "real"]
"""Content of a column of the source; any other type is cast to text."""

ACCEPTED = "accepted"
"""Outcome of an accepted row."""

BROKEN_SQL = "(CHR(26) || CHR(26))"
"""Marker for the parts of a line that is not JSON: two SUB characters, which no report is."""

REAL_LIMIT = 2**52
"""Most steps of the resolution between a real report and zero."""

FILE = "confide_file"
"""Column with the file of a row."""


@dataclass(frozen=True)
class Query:
    """SQL that counts reports of an alphabet in a table ``reports``.

    Attributes
    ----------
    alphabet
        The alphabet of the reports.
    kinds
        The content of the columns part0, part1, ...
    weight
        The content of the column weight, the count of a row; None without one.
    by
        Number of columns by0, by1, ... that name the group of a row.
    has_weights
        Whether the last of these is the survey weight of a row.
    """

    alphabet: Alphabet
    kinds: tuple[Kind, ...]
    weight: Kind | None = None
    by: int = 0
    has_weights: bool = False

    @property
    def group_columns(self) -> list[str]:
        """The columns that name a group."""
        return [f"by{number}" for number in range(self.by)]

    @property
    def part_columns(self) -> list[str]:
        """The columns of ``reports`` that decide whether we accept a row."""
        return [f"part{number}" for number in range(len(self.kinds))] + ([] if self.weight is None else ["weight"])

    @property
    def grouped_columns(self) -> list[str]:
        """The columns of the answer with group and report of accepted rows."""
        return self.group_columns + [f"value{number}" for number in range(len(self.kinds))]

    def totals(self, counted: str) -> tuple[list[str], str]:
        """Return SQL for the groups, reports and sums of accepted rows.

        The names of the columns of groups and reports come first; `counted` is a table with this query's answer. With
        weights the sums are the number of people, the sum of their weights and that of the squares.
        """
        if not self.has_weights:
            order = self.grouped_columns
            return order, f"SELECT {', '.join(order)}, people FROM {counted} WHERE outcome = '{ACCEPTED}'"
        order = [name for name in self.grouped_columns if name != self.group_columns[-1]]
        sums = ["CAST(SUM(people) AS BIGINT) AS people", "SUM(people * scale) AS weights"]
        sums.append("SUM(people * scale * scale) AS squares")
        accepted = f"FROM {counted} WHERE outcome = '{ACCEPTED}'"
        return order, f"SELECT {', '.join([*order, *sums])} {accepted} GROUP BY {', '.join(order)}"

    @property
    def text(self) -> str:
        """The whole query.

        Each row of its answer has an outcome, a group, a report, and their numbers of rows and people. Rejected rows
        have their texts instead of group and report.
        """
        # The text of a weight is kept only where it is no weight.
        texts = {self.group_columns[-1]: " AND scale IS NULL"} if self.has_weights else {}
        kept = [
            f"CASE WHEN outcome = '{ACCEPTED}'{texts.get(name, '')} THEN {name} END AS {name}"
            for name in self.grouped_columns
        ]
        kept += [f"CASE WHEN outcome = '{ACCEPTED}' THEN scale END AS scale"] if self.has_weights else []
        kept += [f"CASE WHEN outcome <> '{ACCEPTED}' THEN {name} END AS {name}" for name in self.part_columns]
        entry = ", ".join([*self.group_columns, *self.part_columns])
        numerals, readings = list[str](), list[str]()  # first numbers from texts, then values from numbers
        parts = list(zip(fields_of(self.alphabet), self.kinds, range(len(self.kinds)), strict=True))
        for field, kind, place in parts:
            if kind == "text" and field.kind != "text":
                text = _extract(f"part{place}", WHOLE if field.kind == "whole" else REAL)
                numerals.append(f"NULLIF({text}, '') AS numeral{place}")
            if field.kind == "real":
                numerals.append(f"{_finite_number(f'part{place}', kind)} AS number{place}")
            readings.append(f"{_value(field, kind, place)} AS value{place}")
        if self.has_weights:
            least, most = WEIGHT_RANGE
            numerals.append(f"{_finite_number(self.group_columns[-1], 'text')} AS weighed")
            is_weight = f"weighed = 0 OR weighed BETWEEN {least!r} AND {most!r}"
            readings.append(f"CASE WHEN {is_weight} THEN weighed END AS scale")
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
                _select([f"{self._outcome(parts)} AS outcome"], "readings"),
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
        """The query below a comment about its input."""
        lines = [f"-- {name}: the group of a row, column {at} of --by" for at, name in enumerate(self.group_columns, 1)]
        names = self.alphabet.field_names if self.alphabet.parts > 1 else (sheets.REPORT_COLUMN,)
        parts = enumerate(zip(names, self.kinds, strict=True))
        lines += [f"-- part{place}: {name} ({kind})" for place, (name, kind) in parts]
        lines += [] if self.weight is None else ["-- weight: how often a row counts"]
        return "\n".join(["-- reports is a table or a view with the columns", *lines, self.text])

    def _outcome(self, parts: Sequence[tuple[Field, Kind, int]]) -> str:
        """Return SQL that judges an entry: accepted, or the reason why not."""
        is_weight = f"WHEN people IS NULL AND counted > 0 AND counted < {COUNT_LIMIT} THEN '{Reason.WEIGHT}' "
        weights = "" if self.weight is None else is_weight
        counts = f"CASE {weights}WHEN people IS NULL THEN '{Reason.BAD_COUNT}' ELSE '{ACCEPTED}' END"
        missing = " OR ".join(
            # Nothing, or nothing but blanks.
            f"COALESCE(REGEXP_EXTRACT(part{place}, {_literal(f'[^{BLANK}]')}, 0), '') = ''"
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
        # Only texts can come from a line that is not JSON.
        cases = [f"WHEN part0 = {BROKEN_SQL} THEN '{Reason.NOT_JSON}'"] if self.kinds[0] == "text" else []
        cases += [f"WHEN {' AND '.join([*inside, *holes])} THEN {counts}", f"WHEN {missing} THEN '{Reason.MISSING}'"]
        # Report the first attribute at fault.
        cases += [f"WHEN NOT ({is_value}) THEN {_fault(own)}" for own, is_value in each[:-1]]
        cases += [f"ELSE {_fault(each[-1][0])}"]
        return "CASE " + "\n    ".join(cases) + " END"


def _no_hole(alphabet: Alphabet, start: int) -> list[str]:
    """Return SQL that excludes the holes of a grid."""
    grid = alphabet.grid
    if grid is None or not grid.holes:
        return []
    numbers = ((row - grid.first_row) * grid.columns + column - grid.first_column for row, column in grid.holes)
    place = f"(value{start} - {grid.first_row}) * {grid.columns} + value{start + 1} - {grid.first_column}"
    return [f"{place} NOT IN ({', '.join(map(str, numbers))})"]


def shown_text(texts: Sequence[object], reason: Reason) -> str:
    """Return the text of a rejected row.

    Its parts, unless it was not JSON.

    >>> shown_text([3, None], Reason.MISSING)
    '3,'
    """
    return "(not JSON)" if reason is Reason.NOT_JSON else ",".join("" if text is None else str(text) for text in texts)


def as_text(column: str, kind: Kind) -> str:
    """Return SQL for a column as text.

    Whole numbers without a decimal point.

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
    """Return SQL for the value of a part.

    NULL if it cannot be read.
    """
    part = f"part{place}"
    if field.kind == "text":
        return as_text(part, kind)
    if field.kind == "real":
        # Round to the nearest multiple of the resolution, halves to even, as numpy's rint does in Python.
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
    """Return SQL for why parts that are not missing were rejected.

    For each part it tests whether it could be read and, if not a whole number, whether it was meant as a number. A part
    that could be read lies outside or is too large.
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
    """Return SQL for the first group of a pattern, or ''."""
    # Patterns end in blanks, so a $ that matches before a last line end does no harm.
    return f"REGEXP_EXTRACT({column}, {_literal(f'^{pattern}$')}, 1)"


def _literal(member: int | str) -> str:
    """Return a number or text as an SQL literal.

    Special characters by number.

    >>> _literal("it's")
    "'it' || CHR(39) || 's'"
    """
    if isinstance(member, int):
        return str(member)
    # Only Spark reads a backslash as an escape, and control characters are invisible.
    runs = itertools.groupby(member, key=lambda mark: mark in "'\\" or ord(mark) < 32 or 127 <= ord(mark) <= 160)
    pieces = [
        " || ".join(f"CHR({ord(mark)})" for mark in run) if by_number else f"'{''.join(run)}'"
        for by_number, run in runs
    ]
    return " || ".join(pieces) or "''"


@dataclass(frozen=True)
class Dialect:
    """SQL dialect of an engine.

    Quotes of names, and kinds of its types.
    """

    mark: str
    kinds: Mapping[str, Kind]

    def quoted(self, name: str) -> str:
        """Return the quoted name of a column."""
        return self.mark + name.replace(self.mark, 2 * self.mark) + self.mark


@dataclass(frozen=True)
class Relation:
    """Files of one shape, a table or a stream, in SQL.

    Attributes
    ----------
    source
        SQL after FROM.
    by, parts
        SQL for the columns that name a group, as texts, and for the parts of a report.
    count
        SQL for the count; None if every row counts once.
    kinds
        The kinds of the parts, then of the count.
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
        """The columns that name a group.

        Empty texts and NULL are the same group.
        """
        return [f"NULLIF({column}, '') AS by{place}" for place, column in enumerate(self.by)]

    def select(self, kinds: Sequence[Kind], *, with_line: bool = False) -> str:
        """Return SQL for the rows as the query expects them."""
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
    """Return a relation whose columns are all text."""
    each = (places.by, places.parts, places.counts)
    by, parts, counts = (tuple(shown(places.header[one]) for one in some) for some in each)
    kinds: list[Kind] = ["text"] * len(parts + counts)
    return Relation(source, by, parts, counts[0] if counts else None, tuple(kinds), line)


def typed_relation(
    source: str, name: str, places: ColumnPlaces, types: Mapping[str, str], dialect: Dialect, line: str = "NULL"
) -> Relation:
    """Return a relation whose columns have types."""
    names = [places.header[place] for place in places.entry]
    known = [dialect.kinds.get(types[one].partition("(")[0]) for one in names]
    if None in known:
        strange = names[known.index(None)]
        raise DataFileError(
            f"Column {strange!r} of {name} holds values of type {types[strange]}; a report is a number or a text. "
            f"{sheets.COLUMN_CURE}"
        )
    kinds = tuple(kind for kind in known if kind is not None)
    # Column names come from files, so they are quoted.
    columns = [dialect.quoted(one) for one in names]
    texts = [one if kind != "text" else f"CAST({one} AS STRING)" for one, kind in zip(columns, kinds, strict=True)]
    by = tuple(f"CAST({dialect.quoted(places.header[place])} AS STRING)" for place in places.by)
    count = texts.pop() if places.counts else None
    return Relation(source, by, tuple(texts), count, kinds, line)


def count_files(relations: Sequence[Relation], by: int) -> str:
    """Return SQL that counts in how many files each group occurs.

    Groups are named by the first `by` columns.
    """
    names = ", ".join(f"by{place}" for place in range(by))
    rows = " UNION ALL ".join(f"SELECT {', '.join(one.groups)}, {FILE} FROM {one.source}" for one in relations)
    return f"SELECT {names}, COUNT(DISTINCT {FILE}) AS files FROM ({rows}) AS found GROUP BY {names}"


PathLike = str | Path


@dataclass(frozen=True)
class FoundFiles:
    """Result of a search for files.

    Attributes
    ----------
    files
        The files to count.
    skipped
        Files in folders with other endings than reports.
    counted
        Files in folders that contain counts already.
    missing
        Files of which a folder has only the metadata.
    """

    files: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on files that are not counted."""
        notes = []
        if self.skipped:
            notes.append(f"skipped {counted(len(self.skipped), 'file')}: {name_some(self.skipped)}")
        if self.counted:
            already = "already counted; add counts up with confide merge"
            notes.append(f"skipped {counted(len(self.counted), 'file')} ({already}): {name_some(self.counted)}")
        if self.missing:
            is_gone = "is missing, and its" if len(self.missing) == 1 else "are missing, and their"
            notes.append(f"{name_some(self.missing)} {is_gone} metadata are there: was a file of reports lost?")
        return tuple(notes)


def search(paths: Iterable[PathLike]) -> FoundFiles:
    """Find the files of paths, folders and patterns; refuse repeated ones."""
    each = []
    for path in map(str, paths):
        if Path(path).is_dir():
            each.append(_look_into(path))
            continue
        named = expand(path)
        for one in named:
            if is_companion(one) and Path(one).is_file():
                raise DataFileError(f"{one} is metadata, not reports. Name {one.removesuffix(SUFFIX)} instead.")
            if _is_counted(one):
                raise DataFileError(f"{one} is already counted; add counts up with confide merge.")
        each.append(FoundFiles(tuple(named)))
    parts = zip(*((one.files, one.skipped, one.counted, one.missing) for one in each), strict=True)
    found = FoundFiles(*(tuple(itertools.chain.from_iterable(some)) for some in parts))
    if not found.files:
        raise DataFileError("There is no file to count. Name files, folders or patterns such as 'reports/*.parquet'.")
    refuse_repeated(found.files)
    return found


def is_paths(source: Any) -> bool:
    """Whether a source consists of paths, and is not a table."""
    if isinstance(source, str | Path):
        return True
    return isinstance(source, Sequence) and bool(source) and all(isinstance(one, str | Path) for one in source)


def expand(path: str) -> list[str]:
    """Return the file of this name, or else the files matching it."""
    if Path(path).exists() or not any(mark in path for mark in "*?["):
        return [path]
    # The shell did not expand patterns in quotes, or in Python.
    found = glob.glob(path, recursive=True)  # noqa: PTH207
    matches = sorted(one for one in found if Path(one).is_file() and not is_companion(one))
    if not matches:
        raise DataFileError(f"No file matches {path!r}.")
    return matches


def refuse_repeated(files: Sequence[str]) -> None:
    """Refuse a file that is named twice, also through links."""
    named: dict[object, list[str]] = {}
    for file in files:
        place: object = sheets.resolved(file)  # if there is no such file
        with contextlib.suppress(OSError):
            found = Path(file).stat()
            place = found.st_dev, found.st_ino  # which hard links have in common
        named.setdefault(place, []).append(file)
    for names in named.values():
        if len(names) > 1:
            known = listed(list(dict.fromkeys(names)))
            also = f" (as {known})" if len(set(names)) > 1 else ""
            raise DataFileError(
                f"{sheets.resolved(names[0])} is named {len(names)} times{also}; its people would be counted as often. "
                f"Name it once."
            )


def _look_into(folder: str) -> FoundFiles:
    """Find the reports in a folder.

    Skip names that begin with . or _, as Spark does.
    """
    found = sorted(one for one in Path(folder).rglob("*") if one.is_file())
    inside = [one for one in found if not is_companion(one)]
    if not inside:
        raise DataFileError(f"The folder {folder!r} has no files in it.")
    described = (one.with_name(one.name.removesuffix(SUFFIX)) for one in found if is_companion(one))
    missing = tuple(str(one) for one in described if not one.exists())
    # Folders also contain notes and markers of other tools.
    texts = (".csv", ".tsv", *sheets.JSON_LINES)
    endings = (*texts, *(f"{ending}.gz" for ending in texts), *sheets.PARQUET)
    ours = [one for one in inside if one.name.lower().endswith(endings) and one.name[0] not in "._"]
    done = tuple(str(one) for one in ours if _is_counted(str(one)))
    files = tuple(str(one) for one in ours if str(one) not in done)
    sorted_out = FoundFiles(files, tuple(str(one) for one in inside if one not in ours), done, missing)
    if not files:
        raise DataFileError(
            f"The folder {folder!r} has no reports in it: {'; '.join(sorted_out.notes)}. Reports end in "
            f"{', '.join(endings)}; files that are named one by one may end otherwise."
        )
    return sorted_out


def _is_counted(path: str) -> bool:
    return Path(path).is_file() and Path(path).stat().st_size > 0 and is_counts_file(path)


@contextlib.contextmanager
def set_down(paths: Iterable[PathLike]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Copy standard input and pipes to temporary files.

    Rejected rows are read twice.

    Return the readable paths, and the names of copied ones for messages.
    """
    given = [str(path) for path in paths]
    if not any(map(_is_stream, given)):
        yield given, {}
        return
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        places, titles = [], {}
        for number, path in enumerate(given):
            places.append(path)
            if not _is_stream(path):
                continue
            target, title = Path(folder) / str(number), sheets.name_of(path)
            with contextlib.ExitStack() as closing:
                closing.enter_context(sheets.explained(title))
                is_standard = path == sheets.STANDARD_STREAM
                source = sys.stdin.buffer if is_standard else closing.enter_context(Path(path).open("rb"))
                shutil.copyfileobj(source, closing.enter_context(target.open("wb")))
            with target.open("rb") as stream:
                first = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
            # A pipe has no name that says its format; its first bytes do.
            marks = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl", b"[": ".jsonl"}
            ending = next((ending for mark, ending in marks.items() if first.startswith(mark)), ".csv")
            places[-1] = str(target.rename(target.with_name(target.name + ending)))
            titles[places[-1]] = title
        try:
            yield places, titles
        except ConfideError as error:
            # Readers name the copy, which is gone when somebody reads this.
            for place, title in titles.items():
                error.args = (str(error).replace(place, title),)
            raise


def _is_stream(path: str) -> bool:
    if path == sheets.STANDARD_STREAM:
        return True
    with contextlib.suppress(OSError):  # a missing file is reported later
        mode = Path(path).stat().st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
    return False


@dataclass(frozen=True)
class Shard:
    """A file, inspected before it is read.

    Attributes
    ----------
    path, format
        Its path and format.
    places
        The positions of its columns.
    name
        Its name in messages.
    rows
        Number of rows by an independent count; None if only a full reading can tell.
    delimiter, lines_above
        For CSV: the separator of fields, and the number of lines above the first row.
    is_plain
        For CSV: whether every line is a row with the fields of the header, without quotes.
    types
        For Parquet: the types of its columns.
    """

    path: str
    format: Literal["csv", "parquet", "json"]
    places: ColumnPlaces
    name: str
    rows: int | None = None
    delimiter: str = ","
    lines_above: int = 0
    is_plain: bool = False
    types: tuple[str, ...] = ()


def look_at(path: str, request: sheets.Request, name: str) -> Shard | None:
    """Inspect a file's columns and, if quick, its rows.

    Return None if it is empty.
    """
    with sheets.explained(name):
        if Path(path).stat().st_size == 0:
            return None
    if sheets.format_of(path) == "parquet":
        with sheets.parquet_explained(name), sheets.require("pyarrow.parquet").ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        places = request.choose(name, schema.names, has_lines=False)
        return Shard(path, "parquet", places, name, rows, types=tuple(str(schema.types[place]) for place in places.all))
    if sheets.format_of(path) == "json":
        with sheets.explained(name), sheets.opened(path) as stream:
            first = next((line for line in iter(stream.readline, "") if line.strip()), "")
        if first.lstrip().startswith("["):
            raise DataFileError(
                f"{name} holds a JSON array, where one object a line is needed. Write it with lines=True in pandas' "
                f"to_json, or with: jq -c '.[]' {name} > reports.jsonl"
            )
        # The header is the keys of the first object or, if it cannot be read, the expected names.
        try:
            header = tuple(json.loads(first))
        except (ValueError, TypeError, RecursionError):
            header = (*request.candidates[0], *request.by)
        return Shard(path, "json", request.choose(name, header, has_lines=False), name)
    with sheets.open_sheet(path) as sheet:
        places = request.choose(name, sheet.header)
    lines = _plain_lines(path, len(sheet.header), sheet.delimiter)
    rows = None if lines is None else lines - sheet.lines_above
    return Shard(path, "csv", places, name, rows, sheet.delimiter, sheet.lines_above, lines is not None)


def look_at_all(paths: Sequence[str], request: sheets.Request, titles: Mapping[str, str]) -> list[Shard]:
    """Inspect all files; skip empty ones among others."""
    found = [look_at(path, request, titles.get(path, path)) for path in paths]
    shards = [shard for shard in found if shard is not None]
    if not shards:
        what = f"{titles.get(paths[0], paths[0])} is" if len(paths) == 1 else f"All {len(paths):,} files are"
        raise DataFileError(f"{what} empty; a file of reports should hold a header line and one row a report.")
    # All files must use the same column: another one may contain the true values. Compare with the file that has the
    # usual name.
    first = next((shard for shard in shards if shard.places.names == request.candidates[0]), shards[0])
    for shard in shards:
        if shard.places.names != first.places.names:
            one, other = (
                f"{'column' if len(names) == 1 else 'columns'} {' and '.join(map(repr, names))}"
                for names in (first.places.names, shard.places.names)
            )
            raise DataFileError(
                f"The reports of {first.name} stand in {one}, but {shard.name} has no such column; its "
                f"{other} may hold something else. Name the column that all files have, with --column on the "
                f"command line, or leave this file out."
            )
    return shards


def _plain_lines(path: str, width: int, delimiter: str) -> int | None:
    """Count lines by their ends, to check the engine's number.

    Return None if we cannot trust the engine: quotes, a blank end, mixed line ends, or a number of delimiters that does
    not fit a table of this width. A row with too few fields could compensate for one with too many, but the engine
    rejects the first kind.
    """
    ends, returns, delimiters, has_quotes, tail = 0, 0, 0, False, b""
    with sheets.explained(path), gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as stream:
        while block := stream.read(sheets.LIMITS.block):
            marks = np.frombuffer(block, dtype=np.uint8)
            ends += int(np.count_nonzero(marks == ord("\n")))
            delimiters += int(np.count_nonzero(marks == ord(delimiter)))
            returns += block.count(b"\r")
            has_quotes = has_quotes or b'"' in block
            tail = (tail + block)[-4:]
    lines = ends + (not tail.endswith(b"\n"))
    is_odd = has_quotes or tail.endswith((b"\n\n", b"\n\r\n")) or returns not in (0, ends)
    return None if is_odd or delimiters != (width - 1) * lines else lines


class Tallied(contextlib.AbstractContextManager["Tallied"]):
    """Reports counted by an engine, with the account of their rows.

    Use it in a ``with`` statement, which starts the engine, and removes its temporary files.

    Attributes
    ----------
    query
        The query that counted them.
    account
        The account of the rows.
    report_names
        The names of the columns of the reports.
    notes
        Remarks on files that were skipped or had no rows.
    traces
        Metadata of the files.
    files
        Number of files with rows; one for a table.
    sources
        The known SHA-256 of files.
    """

    query: Query

    def __init__(
        self, request: sheets.Request, survey: Survey | Mechanism | None = None, *, allow_copies: bool = False
    ) -> None:
        self._request, self._survey, self._allow_copies = request, survey, allow_copies
        self._closing = contextlib.ExitStack()  # ends the engine
        self.account, self.report_names = Account(), tuple[str, ...]()
        self.notes, self.traces = list[str](), Traces()
        self.files, self.sources = 1, tuple[str, ...]()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.__exit__(kind, error, trace)

    @abstractmethod
    def count(self, source: Any) -> None:
        """Count files or a table."""

    @abstractmethod
    def batches(self) -> Any:
        """Return groups, reports and counts as Arrow batches, in order."""

    @abstractmethod
    def group_files(self) -> dict[Key, int]:
        """Return the number of files with each group."""

    @abstractmethod
    def rejects(self) -> Iterator[Reject]:
        """Yield the rejected rows."""

    def _find(self, paths: Sequence[PathLike]) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Find files and refuse those of another survey.

        Return also names of streams.
        """
        readable, titles = self._closing.enter_context(set_down(paths))
        found = search(readable)
        self.notes += found.notes
        if self._survey is not None:
            self.traces = Traces.of(found.files, self._survey, titles)
        return found.files, titles

    def _digest(self, paths: Sequence[str], titles: Mapping[str, str]) -> None:
        """Collect the SHA-256 of files, and refuse copies.

        Metadata contain it. Without metadata we compute it only if another file has the same size. We skip tiny files,
        such as one per person, which may be equal by chance.
        """
        known = {name: one.sha256 for name, one in self.traces.files if one is not None}
        sizes = {path: Path(path).stat().st_size for path in paths if Path(path).is_file()}
        # Forty reports of two digits agree by chance in none of 10^40 pairs of files; fewer may well.
        sizes = {path: size for path, size in sizes.items() if size >= 128}
        shared = {size for size, times in Counter(sizes.values()).items() if times > 1}
        seen: dict[str, str] = {}
        for path, size in sizes.items():
            name = titles.get(path, path)
            if name not in known and size not in shared:
                continue
            other = seen.setdefault(known.get(name) or content_digest(path, size), name)
            if other == name or self._allow_copies:
                continue
            found = look_at(path, self._request, name)
            if found is not None and found.rows != 0:  # engines write many empty files, which are all equal
                raise DataFileError(
                    f"{name} is byte for byte the same as {other}; its people would be counted twice. Leave one out, "
                    f"or add --allow-copies if these are the reports of different people."
                )
        self.sources = tuple(seen)

    def _plan(self, relations: Sequence[Relation]) -> str:
        """Choose the query, and return SQL for its input."""
        # One query for all files: a part or count with several kinds is cast to text in all files.
        parts = len(relations[0].parts)
        found = [{relation.kinds[place] for relation in relations} for place in range(parts)]
        counts: set[Kind] = {relation.kinds[-1] for relation in relations if relation.count is not None}
        if counts:
            is_mixed = any(relation.count is None for relation in relations)
            found.append(counts | {"integer"} if is_mixed else counts)
        kinds: tuple[Kind, ...] = tuple("text" if len(some) > 1 else next(iter(some)) for some in found)
        weight = kinds[parts] if len(kinds) > parts else None
        keys, has_weights = len(self._request.keys), bool(self._request.weights)
        self.query = Query(self._request.alphabet, kinds[:parts], weight, keys, has_weights)
        return " UNION ALL ".join(relation.select(kinds) for relation in relations)

    def _refuse_bad_design(self, table: str, find: Callable[[str], Sequence[Sequence[Any]]]) -> None:
        """Raise if an accepted row has no weight, or none has any.

        `find` runs SQL over the counted `table`.
        """
        accepted = f"FROM {table} WHERE outcome = '{ACCEPTED}' AND people > 0"
        for place, label in enumerate(self._request.keys[len(self._request.by) :], len(self._request.by)):
            missing = f"{accepted} AND by{place} IS NULL"
            if label != self._request.weights and (rows := find(f"SELECT SUM(row_total) {missing}")[0][0]):
                raise DataFileError(
                    f"Column {label!r} is empty in {int(rows):,} of {counted(self.account.read, 'row')}. Everybody is "
                    f"in some stratum, cluster and class. Correct these rows, or leave them out."
                )
        if not self._request.weights:
            return
        bad = f"{accepted} AND scale IS NULL"
        name = self.query.group_columns[-1]
        ((rows,),) = find(f"SELECT SUM(row_total) {bad}")
        if rows:
            texts = [repr(text or "") for (text,) in find(f"SELECT DISTINCT {name} {bad} ORDER BY {name} LIMIT 3")]
            least, most = WEIGHT_RANGE
            raise DataFileError(
                f"{int(rows):,} of {counted(self.account.read, 'row')} have no usable weight in column "
                f"{self._request.weights!r}, such as {listed(texts)}. A weight is 0, or between {least:g} and "
                f"{most:g}. Correct these rows, or leave them out."
            )
        ((most_of_all,),) = find(f"SELECT MAX(scale) {accepted}")
        if self.account.accepted and not most_of_all:
            raise DataFileError(
                f"All weights in column {self._request.weights!r} are 0. Name the column of the weights."
            )

    def _settle(self, sums: Iterable[Sequence[Any]], strays: Mapping[str, int]) -> None:
        """Set the account from the query's outcomes and stray rows."""
        found = [(outcome, int(rows), int(people)) for outcome, rows, people in sums]
        # Spark and the streams drop stray rows before the query sees them; the account includes them.
        rows = Counter({outcome: number for outcome, number, _ in found})
        rows.update(strays)
        self.account = Account(
            rows[ACCEPTED],
            {reason: rows[reason] for reason in Reason if rows[reason]},
            columns=self.report_names,
            people=sum(number for outcome, _, number in found if outcome == ACCEPTED),
            is_counted=self.query.weight is not None,
        )


def to_group_files(rows: Iterable[Sequence[Any]]) -> dict[Key, int]:
    """Convert the result of `count_files`.

    A group without a name has an empty text.
    """
    return {tuple(part or "" for part in key): int(files) for *key, files in rows}

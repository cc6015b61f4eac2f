"""Counting on DuckDB, which reads, judges and groups, and adding up files of counts; Python sees counts alone."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from confide.counting.query import ACCEPTED, Kind, Query, shown_text
from confide.counting.relations import (
    DUCK,
    CsvStream,
    JsonStream,
    Relation,
    Stream,
    common_kinds,
    count_files,
    csv_relation,
    grouped,
    parquet_relation,
    path_literal,
    to_group_files,
    typed_relation,
)
from confide.counting.sources import Shard, expand, refuse_repeated
from confide.errors import DataFileError
from confide.files.counts_files import (
    AGAIN,
    SURVEY_COLUMN,
    Heading,
    checked_batches,
    content_mark,
    read_heading,
    shape_of,
    write_counts,
)
from confide.files.groups import Key
from confide.files.metadata import Traces
from confide.files.reading import csv_batches
from confide.files.rows import Account, Reason, Reject
from confide.files.sheets import COUNT_COLUMN, Request, parquet_explained, require
from confide.origins import Origin
from confide.wording import counted, name_some

MEMORY = "400MB"
"""DuckDB's limit on its memory; what does not fit is set down in a temporary folder."""

BATCH_ROWS = 100_000
"""Rows of an Arrow batch that DuckDB hands over."""

TABLE = "the table"
"""Name of a table that is no file, in messages."""


class _OddFileError(DataFileError):
    """A file that DuckDB cannot read as it was told to."""


class DuckLedger:
    """Reports counted on DuckDB, and the account of their rows.

    Use it in a ``with`` statement: what it sets down on disk is removed at the end.
    """

    def __init__(self, request: Request, memory: str = MEMORY) -> None:
        self._duckdb = require("duckdb")
        require("pyarrow")
        self._request, self._closing = request, contextlib.ExitStack()
        self._connection = self._closing.enter_context(_connection(memory))
        self._shards: list[Shard] = []
        self._streams: list[Stream] = []
        self._frame: Relation | None = None
        self.notes: list[str] = []
        self.traces = Traces()
        self.files, self.sources = 1, tuple[str, ...]()
        self.report_names: tuple[str, ...] = ()

    def __enter__(self) -> DuckLedger:
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    def count_files(self, shards: Sequence[Shard]) -> None:
        """Count files. Where DuckDB finds a CSV file odd, or reads too few rows, Python reads them with care."""
        self._shards, self.report_names = list(shards), shards[0].places.names
        self.files = max(1, sum(shard.rows != 0 for shard in shards))
        try:
            self._count(self._relations())
        except DataFileError as error:
            self._name_damaged()
            if not isinstance(error, _OddFileError) or not any(shard.is_plain for shard in shards):
                raise
            self._count_with_care()
        else:
            if not self._is_complete():
                self._count_with_care()

    def _name_damaged(self) -> None:
        """Read Parquet files one by one, for DuckDB does not say which of them it failed at."""
        for shard in self._shards:
            if shard.format == "parquet":
                with parquet_explained(shard.name), require("pyarrow.parquet").ParquetFile(shard.path) as file:
                    names = [shard.places.header[place] for place in shard.places.all]
                    for _ in file.iter_batches(columns=names):
                        pass

    def _count_with_care(self) -> None:
        self._shards = [replace(shard, is_plain=False) for shard in self._shards]
        self._count(self._relations())
        if not self._is_complete():
            raise DataFileError(
                f"{self.account.read:,} rows were read, which is not how many there are. Please report this as a fault."
            )

    def count_frame(self, frame: Any) -> None:
        """Count an Arrow table, a data frame or a relation of DuckDB's."""
        self._connection.register("frame", frame)
        types = self._describe("frame")
        places = self._request.choose(TABLE, list(types), has_lines=False)
        self.report_names = places.names
        self._frame = typed_relation("frame", TABLE, places, types, "ROW_NUMBER() OVER ()")
        self._count([self._frame])

    @property
    def account(self) -> Account:
        """The account of the rows."""
        sums = "SELECT outcome, SUM(row_total), SUM(people) FROM counted GROUP BY 1"
        found = self._connection.execute(sums).fetchall()
        rows = Counter({outcome: int(number) for outcome, number, _ in found})
        people = sum(int(number) for outcome, _, number in found if outcome == ACCEPTED)
        for stream in self._streams:
            rows.update(stream.strays)
        rejected = {reason: rows[reason] for reason in Reason if rows[reason]}
        is_counted = self.query.weight is not None
        return Account(rows[ACCEPTED], rejected, columns=self.report_names, people=people, is_counted=is_counted)

    def batches(self) -> Any:
        """Return groups, reports and counts as a stream of Arrow batches, in order."""
        columns = [*self.query.group_columns, *self.query.value_columns]
        order = ", ".join(f"{column} NULLS FIRST" for column in columns)
        return self._connection.sql(
            f"SELECT {', '.join(columns)}, people FROM counted WHERE outcome = '{ACCEPTED}' ORDER BY {order}"
        ).to_arrow_reader(BATCH_ROWS)

    def group_files(self) -> dict[Key, int]:
        """Read once more, and return in how many files each group occurs."""
        with self._explained():
            return to_group_files(_execute(self._connection, count_files(self._relations())).fetchall())

    def rejects(self) -> Iterator[Reject]:
        """Read once more, and return the rows that cannot be used, in the order of the files."""
        left = self.account.total_rejected
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE refused AS SELECT DISTINCT outcome, {', '.join(self.query.part_columns)} "
            f"FROM counted WHERE outcome <> '{ACCEPTED}'"
        )
        listings = self._listings()
        while left > 0:
            for reject in next(listings):
                yield reject
                left -= 1

    def _listings(self) -> Iterator[Iterator[Reject]]:
        if self._frame is not None:
            yield self._list(self._frame, TABLE)
        for shard in self._shards:
            if shard.format == "csv" and not shard.is_plain:
                yield self._read_again(shard)
            elif shard.format == "json":
                yield self._list(self._start(JsonStream("lines", [shard])), shard.name)
            else:
                yield self._list(self._relation([shard]), shard.name)

    def _list(self, relation: Relation, name: str) -> Iterator[Reject]:
        parts = self.query.part_columns
        same = " AND ".join(f"found.{part} IS NOT DISTINCT FROM refused.{part}" for part in parts)
        shown = ", ".join(f"CAST(found.{part} AS STRING)" for part in parts)
        rows = relation.select(self._kinds, with_line=True)
        found = _execute(
            self._connection,
            f"SELECT found.line, outcome, {shown} FROM ({rows}) AS found JOIN refused ON {same} ORDER BY found.line",
        )
        while batch := found.fetchmany(10_000):
            for line, outcome, *texts in batch:
                yield Reject(name, line, shown_text(texts, Reason(outcome)), Reason(outcome))

    def _read_again(self, shard: Shard) -> Iterator[Reject]:
        for rows in csv_batches(shard.path, replace(self._request, by=())):
            yield from (replace(one, file=shard.name) for one in rows.rejected)

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        return self.query.kinds if self.query.weight is None else (*self.query.kinds, self.query.weight)

    def _relations(self) -> list[Relation]:
        odd = [shard for shard in self._shards if shard.format == "csv" and not shard.is_plain]
        objects = grouped(shard for shard in self._shards if shard.format == "json")
        self._streams = [JsonStream(f"lines{place}", group) for place, group in enumerate(objects)]
        self._streams += [CsvStream("rows", odd, self._request)] if odd else []
        quick = grouped(shard for shard in self._shards if shard.format == "parquet" or shard.is_plain)
        return [*map(self._relation, quick), *map(self._start, self._streams)]

    def _relation(self, shards: Sequence[Shard]) -> Relation:
        return csv_relation(shards) if shards[0].format == "csv" else parquet_relation(shards, self._describe)

    def _start(self, stream: Stream) -> Relation:
        self._connection.register(stream.name, stream.reader())
        return stream.relation

    def plan(self, shards: Sequence[Shard]) -> Query:
        """Return the query that would count these files."""
        self._shards = list(shards)
        return self._plan(common_kinds(self._relations()))

    def _plan(self, kinds: tuple[Kind, ...]) -> Query:
        parts = len(self._request.alphabet.field_names)
        weight = kinds[parts] if len(kinds) > parts else None
        return Query(self._request.alphabet, kinds[:parts], weight, len(self._request.by))

    def _count(self, found: list[Relation]) -> None:
        kinds = common_kinds(found)
        self.query = self._plan(kinds)
        views = " UNION ALL ".join(relation.select(kinds) for relation in found)
        with self._explained():
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW reports AS {views}")
            _execute(self._connection, f"CREATE OR REPLACE TEMP TABLE counted AS {self.query.text}")

    def _is_complete(self) -> bool:
        """Whether as many rows were read as there are by another count: of line ends, or of Parquet's own."""
        streamed = sum(stream.read + stream.strays.total() for stream in self._streams)
        quick = sum(shard.rows or 0 for shard in self._shards if shard.format == "parquet" or shard.is_plain)
        return self.account.read == streamed + quick

    def _describe(self, source: str) -> dict[str, str]:
        with self._explained():
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        return {name: kind for name, kind, *_ in found}

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what DuckDB says into a sentence; what Python's own reader found wrong comes first."""
        try:
            yield
        except self._duckdb.Error as error:
            told = next((stream.failure for stream in self._streams if stream.failure is not None), None)
            if told is not None:
                raise told from None
            is_odd = isinstance(error, self._duckdb.InvalidInputException)
            sentence = str(error).strip().partition("\n")[0].removesuffix(".")
            raise (_OddFileError if is_odd else DataFileError)(f"The reports cannot be counted: {sentence}.") from None


def _execute(connection: Any, query: str) -> Any:
    """Run a query that may take long in a thread of its own, so that an interruption from the keyboard ends it.

    In the main thread DuckDB looks at signals only between tasks, which may be never.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.execute, query)
        try:
            return running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


@contextlib.contextmanager
def _connection(memory: str) -> Iterator[Any]:
    """Open DuckDB with a limit on its memory; what does not fit stands in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        settings = {
            "memory_limit": memory,
            "temp_directory": folder,
            # Nothing is fetched from anywhere: what is needed to count comes with DuckDB.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with contextlib.closing(require("duckdb").connect(config=settings)) as connection:
            yield connection


def merge_files(
    paths: Sequence[str | Path],
    output: str | Path,
    *,
    is_pool: bool = False,
    allow_copies: bool = False,
    strict: bool = False,
) -> Heading:
    """Add up files of counts into one.

    Parameters
    ----------
    paths
        Files that ``confide count`` or ``confide merge`` wrote, or patterns of names.
    output
        The file to write.
    is_pool
        Whether counts of different surveys may stand side by side in it, for one estimate from all of them.
    allow_copies
        Whether files may hold the same counts, or have counts or reports in common; else these are taken for copies.
    strict
        Whether to refuse more files than a survey allows reports of one person, as if the same people were in each.

    Raises
    ------
    DataFileError
        If the files were counted under different surveys, or by different groups, or one of them is not sound.
    """
    files = [file for path in paths for file in expand(str(path))]
    refuse_repeated(files)
    headings = {file: read_heading(file) for file in files}
    parts = {file: heading.parts or (content_mark(file, heading),) for file, heading in headings.items()}
    if not allow_copies:
        _refuse_copies(parts, headings)
    if not is_pool:
        _refuse_different(headings)
    _refuse_unlike(headings)
    surveys = {one.fingerprint: one for heading in headings.values() for one in heading.surveys}
    rows = sum((heading.rows for heading in headings.values()), Account())
    behind = tuple(itertools.chain.from_iterable(parts.values()))
    origins = _add_origins(headings, list(surveys))
    known = tuple(dict.fromkeys(source for heading in headings.values() for source in heading.sources))
    behind_all = sum(heading.files for heading in headings.values())
    of_groups = _add_group_files(headings) if any(one.permanent for one in origins) else {}
    merged = Heading(
        tuple(surveys.values()), headings[files[0]].by, rows, behind, origins, behind_all, known, of_groups
    )
    if strict and merged.is_over_limit:
        raise DataFileError(
            f"{counted(merged.most_reports, 'file')} of reports may hold as many reports of one person, and the survey "
            f"allows {merged.limit}. Merge without --strict if they are of different people."
        )
    with _connection(MEMORY) as connection, _merging_explained(name_some(list(headings))):
        for file, heading in headings.items():
            _refuse_unsound(file, heading, connection)
        _execute(connection, f"CREATE TEMP TABLE merged AS {_sum_query(headings, merged, list(surveys))}")
        order = ", ".join(f"{DUCK.quoted(name)} NULLS FIRST" for name in merged.columns[:-1])
        batches = connection.sql(f"SELECT * FROM merged ORDER BY {order}").to_arrow_reader(BATCH_ROWS)
        sums = write_counts(output, batches, merged)
    return replace(merged, rows=replace(rows, people=sums.people))


def _add_group_files(headings: dict[str, Heading]) -> dict[Key, int]:
    """Add up for each group how many files of reports it occurs in."""
    sums = Counter[Key]()
    for file, heading in headings.items():
        if heading.by:
            found = require("pyarrow.parquet").read_table(file, columns=list(heading.by)).columns
            keys = zip(*(column.fill_null("").to_pylist() for column in found), strict=True)
            sums.update({key: heading.files_of(key) for key in set(keys)})
    return dict(sums)


def _add_origins(headings: dict[str, Heading], marks: list[str]) -> tuple[Origin, ...]:
    """Add up, for each survey, what all files prove of its reports."""
    origins = dict.fromkeys(marks, Origin())
    for heading in headings.values():
        for survey, known in zip(heading.surveys, heading.origins, strict=True):
            origins[survey.fingerprint] += known
    return tuple(origins.values())


@contextlib.contextmanager
def _merging_explained(what: str) -> Iterator[None]:
    try:
        yield
    except require("duckdb").Error as error:
        sentence = str(error).strip().partition("\n")[0].removesuffix(".")
        raise DataFileError(f"{what} cannot be added up: {sentence}.") from None


def _refuse_unsound(file: str, heading: Heading, connection: Any) -> None:
    """Read a file once before anything is added up, and refuse what cannot have been counted."""
    for _ in checked_batches(file, heading):
        pass
    names = ", ".join(_key(name, heading) for name in heading.columns[:-1])
    repeated = f"SELECT COUNT(*) FROM {_read(file)} GROUP BY {names} HAVING COUNT(*) > 1 LIMIT 1"
    with _merging_explained(file):
        is_repeated = _execute(connection, repeated).fetchone() is not None
    if is_repeated:
        raise DataFileError(f"{file} holds a report more than once. {AGAIN}")


def _refuse_copies(parts: dict[str, tuple[str, ...]], headings: dict[str, Heading]) -> None:
    """Refuse the same counts, sums of the same and counts of the same reports: people would be counted twice."""
    known: dict[str, str] = {}
    for file, digests in parts.items():
        for digest in (*digests, *headings[file].sources):
            other = known.setdefault(digest, file)
            if other != file:
                is_copy = digest in digests and not headings[file].parts and not headings[other].parts
                what = "counts" if digest in digests else "reports"
                alike = f"holds the same counts as {other}" if is_copy else f"and {other} have {what} in common"
                raise DataFileError(
                    f"{file} {alike}; {'its' if is_copy else 'these'} people would be counted twice. Leave one out, or "
                    f"add --allow-copies if these are the counts of different people."
                )


def _key(name: str, heading: Heading) -> str:
    """Return the column of a group or a report; a group without a name may be empty or nothing."""
    return f"NULLIF({DUCK.quoted(name)}, '')" if name in heading.by else DUCK.quoted(name)


def _read(file: str) -> str:
    return f"read_parquet({path_literal(file)})"


def _sum_query(headings: dict[str, Heading], merged: Heading, marks: list[str]) -> str:
    """Return SQL that adds up; of each file the survey's number becomes its number among all surveys."""
    names, count = ", ".join(DUCK.quoted(name) for name in merged.columns[:-1]), DUCK.quoted(COUNT_COLUMN)
    selects = " UNION ALL ".join(_select(file, heading, merged, marks) for file, heading in headings.items())
    return f"SELECT {names}, CAST(SUM({count}) AS BIGINT) AS {count} FROM ({selects}) GROUP BY {names}"


def _select(file: str, heading: Heading, merged: Heading, marks: list[str]) -> str:
    own = [marks.index(survey.fingerprint) for survey in heading.surveys]
    number = str(own[0])
    if heading.is_pooled:
        cases = " ".join(f"WHEN {old} THEN {new}" for old, new in enumerate(own))
        number = f"CASE {DUCK.quoted(SURVEY_COLUMN)} {cases} END"
    columns = [
        f"{number if name == SURVEY_COLUMN else _key(name, merged)} AS {DUCK.quoted(name)}" for name in merged.columns
    ]
    return f"SELECT {', '.join(columns)} FROM {_read(file)}"


def _refuse_different(headings: dict[str, Heading]) -> None:
    (first, one), *others = headings.items()
    for path, other in others:
        if _marks(other) != _marks(one):
            raise DataFileError(
                f"{first} and {path} were counted under different surveys ({_describe(one)}; {_describe(other)}), and "
                f"such counts do not add up. To keep them side by side, for one estimate from all of them, add --pool."
            )


def _refuse_unlike(headings: dict[str, Heading]) -> None:
    (first, one), *others = headings.items()
    for path, other in others:
        if other.by != one.by:
            raise DataFileError(f"{first} is counted {_by(one)} and {path} {_by(other)}. Count both in the same way.")
        if other.survey.alphabet != one.survey.alphabet:
            raise DataFileError(
                f"{first} is about {one.survey.alphabet!r} and {path} about {other.survey.alphabet!r}. "
                f"Only counts over one alphabet can be put together."
            )
        if shape_of(other.survey) != shape_of(one.survey):
            raise DataFileError(
                f"Reports of {first} and of {path} have other columns, so that they do not fit into one "
                f"file. In Python: confide.estimate_pool([(counts, mechanism), (other_counts, other_mechanism)])."
            )


def _marks(heading: Heading) -> set[str]:
    return {survey.fingerprint for survey in heading.surveys}


def _describe(heading: Heading) -> str:
    return " and ".join(survey.contract for survey in heading.surveys)


def _by(heading: Heading) -> str:
    return f"by {', '.join(heading.by)}" if heading.by else "without groups"

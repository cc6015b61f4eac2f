"""Counting on DuckDB, which reads, judges and groups; Python sees nothing but the counts."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from confide.counting.extras import parquet_explained, require_duckdb, require_parquet, require_pyarrow
from confide.counting.query import ACCEPTED, Kind, Query, shown_text
from confide.counting.rejects import Reject, RowTotals
from confide.counting.relations import (
    Relation,
    common_kinds,
    csv_relation,
    grouped,
    parquet_relation,
    typed_relation,
)
from confide.counting.sources import Request, Shard
from confide.counting.streams import CsvStream, JsonStream, Stream
from confide.errors import DataFileError
from confide.files import Reason, read_report_batches

MEMORY = "400MB"
"""What DuckDB may hold; what does not fit is set down in a temporary folder."""

TABLE = "the table"
"""What a table that is no file is called in messages."""


class _OddFileError(DataFileError):
    """A file that DuckDB cannot read as it was told to."""


class DuckLedger:
    """Reports counted on DuckDB: what was accepted, what was rejected, and where that stands.

    Use it in a ``with`` statement: what it sets down on disk is removed at the end.
    """

    def __init__(self, request: Request, memory: str = MEMORY) -> None:
        self._duckdb = require_duckdb()
        require_pyarrow()
        self._request, self._closing = request, contextlib.ExitStack()
        self._connection = self._closing.enter_context(duck_connection(memory))
        self._shards: list[Shard] = []
        self._streams: list[Stream] = []
        self._frame: Relation | None = None
        self.notes: list[str] = []
        self.report_names: tuple[str, ...] = ()

    def __enter__(self) -> DuckLedger:
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    def count_files(self, shards: Sequence[Shard]) -> None:
        """Count files. Where DuckDB finds a CSV file odd, or reads too few rows, Python reads them with care."""
        self._shards, self.report_names = list(shards), shards[0].choice.report_names
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
                with parquet_explained(shard.name), require_parquet().ParquetFile(shard.path) as file:
                    for _ in file.iter_batches(columns=list(shard.choice.names)):
                        pass

    def _count_with_care(self) -> None:
        self._shards = [replace(shard, is_plain=False) for shard in self._shards]
        self._count(self._relations())
        if not self._is_complete():
            raise DataFileError(
                f"{self.totals.read:,} rows were read, which is not how many there are. Please report this as a fault."
            )

    def count_frame(self, frame: Any) -> None:
        """Count an Arrow table, a data frame or a relation of DuckDB's."""
        self._connection.register("frame", frame)
        types = self._describe("frame")
        choice = self._request.choose(TABLE, list(types), has_lines=False)
        self.report_names = choice.report_names
        self._frame = typed_relation("frame", TABLE, choice, types, "ROW_NUMBER() OVER ()")
        self._count([self._frame])

    @property
    def totals(self) -> RowTotals:
        """What became of the rows."""
        found = self._connection.execute("SELECT outcome, SUM(row_total) FROM counted GROUP BY 1").fetchall()
        rows = Counter({outcome: int(number) for outcome, number in found})
        for stream in self._streams:
            rows.update(stream.strays)
        return RowTotals(rows[ACCEPTED], {reason: rows[reason] for reason in Reason if rows[reason]})

    def batches(self) -> Any:
        """Return groups, reports and counts as a stream of Arrow batches, in order."""
        columns = [*self.query.group_columns, *self.query.value_columns]
        order = ", ".join(f"{column} NULLS FIRST" for column in columns)
        return self._connection.sql(
            f"SELECT {', '.join(columns)}, people FROM counted WHERE outcome = '{ACCEPTED}' ORDER BY {order}"
        ).to_arrow_reader(100_000)

    def rejects(self) -> Iterator[Reject]:
        """Read once more, and return the rows that cannot be used, in the order of the files."""
        left = self.totals.total_rejected
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
        found = self._connection.execute(
            f"SELECT found.line, outcome, {shown} FROM ({rows}) AS found JOIN refused ON {same} ORDER BY found.line"
        )
        while batch := found.fetchmany(10_000):
            for line, outcome, *texts in batch:
                yield Reject(name, line, shown_text(texts, Reason(outcome)), Reason(outcome))

    def _read_again(self, shard: Shard) -> Iterator[Reject]:
        for rows in read_report_batches(shard.path, self._request.alphabet, self._request.columns):
            yield from (Reject(shard.name, one.line, one.text, one.reason) for one in rows.rejected)

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
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE counted AS {self.query.text}")

    def _is_complete(self) -> bool:
        """Whether as many rows were read as there are by another count: of line ends, or of Parquet's own."""
        streamed = sum(stream.read + stream.strays.total() for stream in self._streams)
        quick = sum(shard.rows or 0 for shard in self._shards if shard.format == "parquet" or shard.is_plain)
        return self.totals.read == streamed + quick

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
            sentence = str(error).strip().splitlines()[0].removesuffix(".")
            raise (_OddFileError if is_odd else DataFileError)(f"The reports cannot be counted: {sentence}.") from None


@contextlib.contextmanager
def duck_connection(memory: str) -> Iterator[Any]:
    """Open DuckDB with a limit on its memory; what does not fit stands in a folder that is removed at the end."""
    duckdb = require_duckdb()
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        settings = {
            "memory_limit": memory,
            "temp_directory": folder,
            # Nothing is fetched from anywhere: what is needed to count comes with DuckDB.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with contextlib.closing(duckdb.connect(config=settings)) as connection:
            yield connection

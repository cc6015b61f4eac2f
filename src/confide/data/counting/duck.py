"""Counting reports and merging files of counts on DuckDB.

Python sees only counts.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from confide.data.counting import sources
from confide.data.files import counts_files, sheets
from confide.data.files.counts_files import Key
from confide.data.files.reading import csv_batches
from confide.data.files.sheets import LIMITS, Account, Reason, Reject
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.evidence.counts import Origin
from confide.evidence.totals import Totals, check_totals
from confide.surveys.survey import Survey
from confide.values.base import is_missing
from confide.values.wording import listed, name_some

DUCK = sources.Dialect(
    '"',
    {
        **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
        **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
        # Wide integers and decimals keep all their digits as text.
        **dict.fromkeys(("VARCHAR", "BOOLEAN", "HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL", "ENUM", "UUID"), "text"),
    },
)


class _OddFileError(DataFileError):
    """A file that DuckDB cannot read as described."""


class DuckLedger(sources.Tallied):
    """Reports counted on DuckDB."""

    _table = "the table"  # name of a table in memory, in messages

    def __enter__(self) -> Self:
        sheets.require("pyarrow")
        self._connection = self._closing.enter_context(_connection())
        self._shards: list[sources.Shard] = []
        self._streams: list[_Stream] = []
        self._frame: sources.Relation | None = None
        return self

    def count(self, source: Any) -> None:
        """Count files, an Arrow table, a data frame or a DuckDB relation.

        If DuckDB rejects a CSV file or reads too few rows, Python reads the CSV files itself.
        """
        if not sources.is_paths(source):
            # DuckDB reads a table in place.
            self._connection.register("frame", _as_table(source))
            types = self._describe("frame")
            places = self._request.choose(self._table, list(types), has_lines=False)
            self.report_names = places.names
            self._frame = sources.typed_relation("frame", self._table, places, types, DUCK, "ROW_NUMBER() OVER ()")
            self._count([self._frame])
            return
        files, titles = self._find([source] if isinstance(source, str | Path) else list(source))
        shards = sources.look_at_all(files, self._request, titles)
        self._digest(files, titles)
        filled = {shard.path for shard in shards if shard.rows != 0}
        empty = [path for path in files if path not in filled]
        if len(files) > 1 and empty:
            self.notes.append(f"{len(empty):,} of {len(files):,} files held no rows: {name_some(empty)}")
        self._shards, self.report_names = shards, shards[0].places.names
        self.files = max(1, sum(shard.rows != 0 for shard in shards))
        try:
            self._count(self._relations())
            if self._is_complete():
                return
        except DataFileError as error:
            # DuckDB does not say which Parquet file failed. Read them one by one, so that the damaged one raises.
            for shard in shards:
                if shard.format == "parquet":
                    with (
                        sheets.parquet_explained(shard.name),
                        sheets.require("pyarrow.parquet").ParquetFile(shard.path) as file,
                    ):
                        for _ in file.iter_batches(columns=[shard.places.header[place] for place in shard.places.all]):
                            pass
            if not isinstance(error, _OddFileError) or not any(shard.is_plain for shard in shards):
                raise
        self._shards = [replace(shard, is_plain=False) for shard in shards]
        self._count(self._relations())
        if not self._is_complete():
            raise DataFileError(
                f"{self.account.read:,} rows were read, which is not how many there are. Please report this as a fault."
            )

    def batches(self) -> Any:
        """Return groups, reports and counts as sorted Arrow batches."""
        columns, totals = self.query.totals("counted")
        # The order of Counts, so that we need not sort again.
        order = ", ".join(f"{column} NULLS FIRST" for column in columns)
        return self._connection.sql(f"{totals} ORDER BY {order}").to_arrow_reader(LIMITS.arrow_rows)

    def group_files(self) -> dict[Key, int]:
        """Read again, and return the number of files with each group."""
        with _explained(self._streams):
            found = sources.count_files(self._relations(), len(self._request.by))
            return sources.to_group_files(_execute(self._connection, found).fetchall())

    def rejects(self) -> Iterator[Reject]:
        """Read again, and yield the rejected rows in file order."""
        left = self.account.total_rejected
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE refused AS SELECT DISTINCT outcome, {', '.join(self.query.part_columns)} "
            f"FROM counted WHERE outcome <> '{sources.ACCEPTED}'"
        )
        # Stop after the last rejected row, so that later files are not read again.
        yield from itertools.islice(self._list_all(), left)

    def _list_all(self) -> Iterator[Reject]:
        if self._frame is not None:
            yield from self._list(self._frame, self._table)
        for shard in self._shards:
            if shard.format == "csv" and not shard.is_plain:
                for rows in csv_batches(
                    shard.path, replace(self._request, by=(), weights="", strata="", clusters="", margins=())
                ):
                    yield from (replace(one, file=shard.name) for one in rows.rejected)
            elif shard.format == "json":
                yield from self._list(self._start(_JsonStream("lines", [shard])), shard.name)
            else:
                yield from self._list(self._relation([shard]), shard.name)

    def _list(self, relation: sources.Relation, name: str) -> Iterator[Reject]:
        query, parts = self.query, self.query.part_columns
        same = " AND ".join(f"found.{part} IS NOT DISTINCT FROM refused.{part}" for part in parts)
        shown = ", ".join(f"CAST(found.{part} AS STRING)" for part in parts)
        rows = relation.select(query.kinds if query.weight is None else (*query.kinds, query.weight), with_line=True)
        found = _execute(
            self._connection,
            f"SELECT found.line, outcome, {shown} FROM ({rows}) AS found JOIN refused ON {same} ORDER BY found.line",
        )
        while batch := found.fetchmany(10_000):
            for line, outcome, *texts in batch:
                yield Reject(name, line, sources.shown_text(texts, Reason(outcome)), Reason(outcome))

    def _relations(self) -> list[sources.Relation]:
        # Python reads these, because DuckDB would have to guess about quotes.
        odd = [shard for shard in self._shards if shard.format == "csv" and not shard.is_plain]
        objects = _grouped(shard for shard in self._shards if shard.format == "json")
        self._streams = [_JsonStream(f"lines{place}", group) for place, group in enumerate(objects)]
        self._streams += [_CsvStream(odd, self._request)] if odd else []
        quick = _grouped(shard for shard in self._shards if shard.format == "parquet" or shard.is_plain)
        return [*map(self._relation, quick), *map(self._start, self._streams)]

    def _relation(self, shards: Sequence[sources.Shard]) -> sources.Relation:
        """Return files of one shape that DuckDB reads itself.

        Parquet or plain CSV.
        """
        first, paths = shards[0], f"[{', '.join(path_literal(shard.path) for shard in shards)}]"
        if first.format == "parquet":
            source = (
                f"read_parquet({paths}, binary_as_string = true, file_row_number = true, filename = '{sources.FILE}')"
            )
            types = self._describe(source)
            return sources.typed_relation(source, first.path, first.places, types, DUCK, "file_row_number + 1")
        names = tuple(f"c{place}" for place in range(len(first.places.header)))
        columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in names) + "}"
        compression = "gzip" if first.path.lower().endswith(".gz") else "none"
        # Strict and fully specified: any deviation must be an error, never a guess.
        source = (
            f"read_csv({paths}, columns = {columns}, auto_detect = false, header = false, strict_mode = true, "
            f"delim = {_literal(first.delimiter)}, quote = '', escape = '', skip = {first.lines_above}, "
            f"compression = '{compression}', filename = '{sources.FILE}')"
        )
        line = f"ROW_NUMBER() OVER () + {first.lines_above}"
        return sources.text_relation(source, replace(first.places, header=names), str, line)

    def _start(self, stream: _Stream) -> sources.Relation:
        self._connection.register(stream.name, stream.reader())
        return stream.relation

    def plan(self, paths: Sequence[sources.PathLike]) -> sources.Query:
        """Return the query for these files, without counting."""
        files, titles = self._find(paths)
        self._shards = sources.look_at_all(files, self._request, titles)
        self._plan(self._relations())
        return self.query

    def _count(self, found: list[sources.Relation]) -> None:
        views = self._plan(found)
        with _explained(self._streams):
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW reports AS {views}")
            _execute(self._connection, f"CREATE OR REPLACE TEMP TABLE counted AS {self.query.text}")
        sums = "SELECT outcome, SUM(row_total), SUM(people) FROM counted GROUP BY 1"
        strays = sum((stream.strays for stream in self._streams), Counter[str]())
        self._settle(self._connection.execute(sums).fetchall(), strays)
        self._refuse_bad_design("counted", lambda query: self._connection.execute(query).fetchall())

    def _is_complete(self) -> bool:
        """Whether we read as many rows as an independent count says."""
        streamed = sum(stream.read + stream.strays.total() for stream in self._streams)
        quick = sum(shard.rows or 0 for shard in self._shards if shard.format == "parquet" or shard.is_plain)
        return self.account.read == streamed + quick

    def _describe(self, source: str) -> dict[str, str]:
        with _explained(self._streams):
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        return {name: kind for name, kind, *_ in found}


@contextlib.contextmanager
def _explained(streams: Sequence[_Stream] = (), what: str = "The reports cannot be counted") -> Iterator[None]:
    """Turn errors of DuckDB into a sentence.

    Errors of our own reader come first.
    """
    duckdb = sheets.require("duckdb")
    try:
        yield
    except duckdb.Error as error:
        failure = next((stream.failure for stream in streams if stream.failure is not None), None)
        if failure is not None:
            raise failure from None
        sentence = str(error).strip().partition("\n")[0].removesuffix(".")
        is_odd = isinstance(error, duckdb.InvalidInputException)
        raise (_OddFileError if is_odd else DataFileError)(f"{what}: {sentence}.") from None


def _as_table(source: Any) -> Any:
    """Return a table as DuckDB accepts it.

    Columns of mixed objects become texts.
    """
    module = type(source).__module__.partition(".")[0]
    if module == "pandas":
        frame = source
        if not hasattr(frame, "columns"):
            frame = frame.to_frame(sheets.REPORT_COLUMN if frame.name is None else frame.name)
        repeated = frame.columns[frame.columns.duplicated()]
        if len(repeated):
            raise DataFileError(f"The table has several columns called {repeated[0]!r}. Rename all but one.")
        mixed = [name for name in frame.columns if frame[name].dtype == object]
        texts = {name: [None if is_missing(one) else str(one) for one in frame[name]] for name in mixed}
        return frame.assign(**texts) if mixed else frame
    if module == "polars":
        return source.collect().to_arrow() if hasattr(source, "collect") else source.to_arrow()
    if module == "pyarrow":
        return source
    if module in ("duckdb", "_duckdb"):
        return source.to_arrow_reader(LIMITS.arrow_rows)
    raise InvalidParameterError(
        f"source must be a path, several paths, or a table of Arrow, pandas, polars, DuckDB or Spark; got "
        f"{type(source).__name__}. Count reports that are in memory with confide.tally(reports)."
    )


def _grouped(shards: Iterable[sources.Shard]) -> list[list[sources.Shard]]:
    """Group files by shape, in a fixed order."""
    groups: dict[tuple[Any, ...], list[sources.Shard]] = {}
    for shard in shards:
        is_packed = shard.path.lower().endswith(".gz")
        shape = (shard.format, is_packed, shard.delimiter, shard.lines_above, shard.places, shard.types)
        groups.setdefault(shape, []).append(shard)
    return [groups[shape] for shape in sorted(groups, key=repr)]


def path_literal(path: str) -> str:
    """Return a path as an SQL literal for DuckDB, with patterns escaped."""
    return _literal("".join(f"[{mark}]" if mark in "[*?" else mark for mark in path))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class _Stream(ABC):
    """A stream of rows that Python reads and passes to DuckDB.

    Attributes
    ----------
    name
        Its name in SQL.
    shards
        The files, in order.
    relation
        The relation that SQL selects from.
    read
        Number of rows passed so far.
    strays
        Number of rows dropped, by reason.
    failure
        The error of our reader, if any, which DuckDB would hide behind its own.
    """

    def __init__(
        self, name: str, shards: Sequence[sources.Shard], relation: sources.Relation, columns: Sequence[str]
    ) -> None:
        self.name, self.shards, self.relation, self._columns = name, tuple(shards), relation, columns
        self.read, self.strays = 0, Counter[str]()
        self.failure: ConfideError | None = None

    @abstractmethod
    def _tables(self, shard: sources.Shard) -> Iterator[list[list[str]]]:
        """Read a file, and yield its columns batch by batch."""

    def reader(self) -> Any:
        """Return a new reader from the start."""
        pyarrow = sheets.require("pyarrow")
        self.read, self.strays, self.failure = 0, Counter(), None
        schema = pyarrow.schema([(name, pyarrow.string()) for name in (*self._columns, sources.FILE)])
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


class _CsvStream(_Stream):
    """CSV files with quotes, uneven rows, or mixed line ends."""

    def __init__(self, shards: Sequence[sources.Shard], request: sheets.Request) -> None:
        by, parts = len(request.keys), len(request.alphabet.field_names)
        self._is_counted = any(shard.places.counts for shard in shards)
        columns = tuple(f"text{place}" for place in range(by + parts + self._is_counted))
        counts = (by + parts,) if self._is_counted else ()
        places = sheets.ColumnPlaces(columns, tuple(range(by, by + parts)), tuple(range(by)), counts)
        super().__init__("rows", shards, sources.text_relation("rows", places, str), columns)

    def _tables(self, shard: sources.Shard) -> Iterator[list[list[str]]]:
        with sheets.open_sheet(shard.path) as sheet:
            for chunk in sheet.chunks(shard.places.all):
                # Rows of the wrong width do not fit into the columns.
                self.strays.update(Reason.MISSHAPEN if text else Reason.MISSING for text in chunk.strays.values())
                keys = [key for place, key in enumerate(chunk.keys) if place not in chunk.strays]
                columns = _columns(keys, len(shard.places.all))
                without_count = self._is_counted and not shard.places.counts
                yield [*columns, ["1"] * len(keys)] if without_count else columns


class _JsonStream(_Stream):
    """Files with one JSON object per line, which DuckDB parses.

    Blank lines are no rows.

    A line that is not JSON becomes a marker in every part, which the query rejects. Its text is not kept.
    """

    def __init__(self, name: str, shards: Sequence[sources.Shard]) -> None:
        def extract(column: str) -> str:
            path = _literal('$."' + column.replace('"', '\\"') + '"')
            return f"CASE WHEN json_valid(line) THEN json_extract_string(line, {path}) ELSE {sources.BROKEN_SQL} END"

        relation = sources.text_relation(name, shards[0].places, extract, "CAST(number AS BIGINT)")
        super().__init__(name, shards, relation, ("line", "number"))

    def _tables(self, shard: sources.Shard) -> Iterator[list[list[str]]]:
        number = 0
        with sheets.explained(shard.path), sheets.opened(shard.path) as stream:
            for block in sheets.text_blocks(stream):
                # Split as for CSV: str.splitlines would split at more characters.
                lines = block.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
                filled = [(line, str(place)) for place, line in enumerate(lines, number + 1) if line.strip()]
                number += len(lines)
                yield _columns(filled, 2)


def _columns(keys: list[Any], width: int) -> list[list[str]]:
    if width == 1:
        return [keys]
    return [list(column) for column in zip(*keys, strict=True)] or [[] for _ in range(width)]


def _execute(connection: Any, query: str) -> Any:
    """Run a long query in a thread, so that ctrl-c interrupts it.

    In the main thread DuckDB checks signals only between tasks, which may be never.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.execute, query)
        try:
            return running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


@contextlib.contextmanager
def _connection() -> Iterator[Any]:
    """Open DuckDB with a memory limit.

    The rest goes to a temporary folder.
    """
    # What does not fit into memory goes to a folder that ends with us, and not into the current one.
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        settings = {
            "memory_limit": "400MB",
            "temp_directory": folder,
            # Download nothing: DuckDB includes all we need.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with contextlib.closing(sheets.require("duckdb").connect(config=settings)) as connection:
            yield connection


def merge_files(
    paths: Sequence[str | Path],
    output: str | Path,
    *,
    is_pool: bool = False,
    allow_copies: bool = False,
    totals: Totals | None = None,
) -> counts_files.Heading:
    """Merge files of counts into one.

    Parameters
    ----------
    paths
        Files from ``confide count`` or ``confide merge``, or patterns of names.
    output
        The file to write.
    is_pool
        Whether to keep counts of different surveys side by side, for one estimate from all of them.
    allow_copies
        Whether files may have counts or reports in common; otherwise these are refused as copies.
    totals
        Known totals of the population, by columns that name groups: these groups are added up, and raked to them.

    Raises
    ------
    DataFileError
        If the files have different surveys or groups, or one is damaged.
    """
    files = [file for path in paths for file in sources.expand(str(path))]
    sources.refuse_repeated(files)
    headings = {file: counts_files.read_heading(file) for file in files}
    parts = {file: heading.parts or (counts_files.content_mark(file, heading),) for file, heading in headings.items()}
    if not allow_copies:
        _refuse_copies(parts, headings)
    _refuse_unlike(headings, is_pool=is_pool)
    merged = _add_headings(headings, tuple(itertools.chain.from_iterable(parts.values())))
    merged = merged if totals is None else _with_totals(merged, totals)
    with _connection() as connection, _explained(what=f"{name_some(list(headings))} cannot be added up"):
        for file, heading in headings.items():
            _refuse_unsound(file, heading, connection)
        names = ", ".join(DUCK.quoted(name) for name in merged.keys)
        selects = " UNION ALL ".join(_select(file, heading, merged) for file, heading in headings.items())
        # Numbers of reports are whole; sums of weights are not.
        kinds = {sheets.COUNT_COLUMN: "BIGINT"}
        added = ", ".join(f"CAST(SUM({one}) AS {kinds.get(one, 'DOUBLE')}) AS {one}" for one in merged.sums)
        _execute(connection, f"CREATE TEMP TABLE merged AS SELECT {names}, {added} FROM ({selects}) GROUP BY {names}")
        if merged.totals:
            own = [DUCK.quoted(name) for name in (*merged.by, *merged.design)]
            masses = _execute(
                connection, f"SELECT {', '.join([*own, f'SUM({merged.sums[-2:][0]})'])} FROM merged GROUP BY ALL"
            )
            rows = {tuple(part or "" for part in key): float(mass) for *key, mass in masses.fetchall()}
            counts_files.refuse_unmet(merged, rows)
        order = ", ".join(f"{DUCK.quoted(name)} NULLS FIRST" for name in merged.keys)
        batches = connection.sql(f"SELECT * FROM merged ORDER BY {order}").to_arrow_reader(LIMITS.arrow_rows)
        written = counts_files.write_counts(output, batches, merged)
    return replace(merged, rows=replace(merged.rows, people=written.people))


def _add_headings(headings: dict[str, counts_files.Heading], parts: tuple[str, ...]) -> counts_files.Heading:
    """Merge the headings of files of counts."""
    surveys, origins = dict[str, Survey](), dict[str, Origin]()
    group_files = Counter[Key]()
    for heading in headings.values():
        for survey, known in zip(heading.surveys, heading.origins, strict=True):
            surveys.setdefault(survey.fingerprint, survey)
            origins[survey.fingerprint] = origins.get(survey.fingerprint, Origin()) + known
    first = next(iter(headings.values()))
    # Only for permanent noise does it matter which files contain a group.
    if first.by and any(one.permanent for one in origins.values()):
        for file, heading in headings.items():
            found = sheets.require("pyarrow.parquet").read_table(file, columns=list(heading.by)).columns
            keys = zip(*(column.fill_null("").to_pylist() for column in found), strict=True)
            group_files.update({key: heading.files_of(key) for key in set(keys)})
    return counts_files.Heading(
        tuple(surveys.values()),
        first.by,
        sum((heading.rows for heading in headings.values()), Account()),
        parts,
        tuple(origins.values()),
        sum(heading.files for heading in headings.values()),
        tuple(dict.fromkeys(source for heading in headings.values() for source in heading.sources)),
        dict(group_files),
        first.weights,
        first.strata,
        first.clusters,
        first.totals,
    )


def _with_totals(heading: counts_files.Heading, totals: Totals) -> counts_files.Heading:
    """Return the heading with groups as margins whose totals are known."""
    known = check_totals(totals)
    if heading.totals:
        raise InvalidParameterError(
            f"These counts are raked to totals of {listed(list(heading.totals))} already. Leave --totals out."
        )
    absent = [name for name in known if name not in heading.by]
    if absent:
        by = f"by {', '.join(heading.by)}" if heading.by else "of one group"
        raise InvalidParameterError(
            f"The totals are of {absent[0]!r}, and these counts are {by}. Count with --by {absent[0]} first."
        )
    rest = tuple(name for name in heading.by if name not in known)
    return replace(heading, by=rest, totals=known, group_files={})


def _refuse_unsound(file: str, heading: counts_files.Heading, connection: Any) -> None:
    """Check a whole file before anything is merged."""
    for _ in counts_files.checked_batches(file, heading):
        pass
    names = ", ".join(_key(name, heading) for name in heading.keys)
    source = f"read_parquet({path_literal(file)})"
    with _explained(what=f"{file} cannot be added up"):
        # Adding up would hide it: a report that stands twice in one file was put together by hand.
        repeated = f"SELECT COUNT(*) FROM {source} GROUP BY {names} HAVING COUNT(*) > 1 LIMIT 1"
        is_repeated = _execute(connection, repeated).fetchone() is not None
    if is_repeated:
        raise DataFileError(f"{file} holds a report more than once. {counts_files.AGAIN}")


def _refuse_copies(parts: dict[str, tuple[str, ...]], headings: dict[str, counts_files.Heading]) -> None:
    """Refuse files with counts or reports in common: people would count twice."""
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


def _key(name: str, heading: counts_files.Heading) -> str:
    """Return SQL for a column; an empty group name equals NULL."""
    return f"NULLIF({DUCK.quoted(name)}, '')" if name in (*heading.by, *heading.design) else DUCK.quoted(name)


def _select(file: str, heading: counts_files.Heading, merged: counts_files.Heading) -> str:
    """Return SQL for the counts of a file, with surveys renumbered."""
    marks = [survey.fingerprint for survey in merged.surveys]
    own = [marks.index(survey.fingerprint) for survey in heading.surveys]
    number = str(own[0])
    if heading.is_pooled:
        cases = " ".join(f"WHEN {old} THEN {new}" for old, new in enumerate(own))
        number = f"CASE {DUCK.quoted(counts_files.SURVEY_COLUMN)} {cases} END"
    columns = [
        f"{number if name == counts_files.SURVEY_COLUMN else _key(name, merged)} AS {DUCK.quoted(name)}"
        for name in merged.columns
    ]
    return f"SELECT {', '.join(columns)} FROM read_parquet({path_literal(file)})"


def _refuse_unlike(headings: dict[str, counts_files.Heading], *, is_pool: bool) -> None:
    """Refuse different surveys, unless pooled, and files that do not fit together."""
    (first, one), *others = headings.items()
    marks = {survey.fingerprint for survey in one.surveys}
    for path, other in others:
        if not is_pool and {survey.fingerprint for survey in other.surveys} != marks:
            known, found = (" and ".join(each.contract for each in some.surveys) for some in (one, other))
            raise DataFileError(
                f"{first} and {path} were counted under different surveys ({known}; {found}), and "
                f"such counts do not add up. To keep them side by side, for one estimate from all of them, add --pool."
            )
    for path, other in others:
        if other.by != one.by:
            known, found = (f"by {', '.join(by)}" if by else "without groups" for by in (one.by, other.by))
            raise DataFileError(f"{first} is counted {known} and {path} {found}. Count both in the same way.")
        if bool(other.weights) != bool(one.weights):
            weighted, bare = (first, path) if one.weights else (path, first)
            raise DataFileError(
                f"The counts in {weighted} are weighted and those in {bare} are not. Count both with --weights."
            )
        if other.design != one.design:
            known, found = (f"by {' and '.join(some.design) or 'no stratum or cluster'}" for some in (one, other))
            raise DataFileError(f"{first} is counted {known}, and {path} {found}. Count both in the same way.")
        if other.totals != one.totals:
            raise DataFileError(
                f"{first} and {path} are raked to different totals. Count both with the same file: --totals FILE."
            )
        if other.survey.alphabet != one.survey.alphabet:
            raise DataFileError(
                f"{first} is about {one.survey.alphabet!r} and {path} about {other.survey.alphabet!r}. "
                f"Only counts over one alphabet can be put together."
            )
        if counts_files.shape_of(other.survey) != counts_files.shape_of(one.survey):
            raise DataFileError(
                f"Reports of {first} and of {path} have other columns, so that they do not fit into one "
                f"file. In Python: confide.estimate_pool([(counts, mechanism), (other_counts, other_mechanism)])."
            )

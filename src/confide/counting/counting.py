"""From files and tables of reports to counts."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol, overload

from confide.checks import check_choice
from confide.counting.fields import fields_of
from confide.counting.files import Heading, split_groups
from confide.counting.findings import PathLike, name_some, search
from confide.counting.groups import CountedReports, GroupedCounts
from confide.counting.query import Kind, Query
from confide.counting.rejects import Reject, RowTotals, listed
from confide.counting.sources import Request, Shard, look_at
from confide.errors import DataFileError, InvalidParameterError
from confide.files import REPORT_COLUMN, SHOWN_REJECTIONS, STANDARD_STREAM
from confide.mechanisms import Mechanism
from confide.surveys import Survey, load_survey

ENGINES = ("duckdb", "spark")

SPOOL = "confide-standard-input"
"""Under which name standard input is set down."""

Engine = Literal["duckdb", "spark"]


class Ledger(Protocol):
    """What an engine knows when it has counted."""

    query: Query
    notes: list[str]
    """What to tell of files that were left alone, or that gave nothing."""

    @property
    def report_names(self) -> tuple[str, ...]:
        """What the columns of the reports are called."""

    @property
    def totals(self) -> RowTotals:
        """What became of the rows."""

    def batches(self) -> Any:
        """Return groups, reports and counts as Arrow batches, in order."""

    def rejects(self) -> Iterator[Reject]:
        """Return the rows that cannot be used."""


@overload
def count(
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = ...,
    by: tuple[()] = ...,
    engine: Engine = ...,
    strict: bool = ...,
) -> CountedReports: ...


@overload
def count(
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = ...,
    by: str | Sequence[str],
    engine: Engine = ...,
    strict: bool = ...,
) -> GroupedCounts: ...


def count(
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    engine: Engine = "duckdb",
    strict: bool = False,
) -> CountedReports | GroupedCounts:
    """Count reports in files or tables of any size; nothing but the counts comes into memory.

    Parameters
    ----------
    source
        A path, a folder, a pattern such as ``"reports/*.parquet"``, or a list of these: CSV, gzipped or not, JSON lines
        or Parquet. Or a table: of Arrow, pandas or polars, a relation of DuckDB, a frame of Spark.
    survey
        The survey that the reports were made under, its file, or its mechanism.
    columns
        The column of the reports, or the columns where a report has several parts; found as the command line finds them
        if left out.
    by
        Columns that name a group; then every group is counted, in the same pass.
    engine
        ``"duckdb"``, on this machine, or ``"spark"``: a running Spark session, or a local one.
    strict
        Whether a row that cannot be used is an error, rather than counted as rejected.

    >>> import pyarrow
    >>> from confide import Integers, TruncatedGeometric
    >>> mechanism = TruncatedGeometric(Integers(0, 9), epsilon=1.0)
    >>> counts = count(pyarrow.table({"report": [3, 5, 3, 70]}), mechanism)
    >>> counts
    Counts(3 reports, 2 distinct)
    >>> print(counts.rows)
    4 rows read = 3 accepted + 1 rejected
    """
    contract = _as_survey(survey)
    request = Request(contract.mechanism.report_alphabet, _names(columns), _names(by))
    with open_ledger(source, request, engine) as ledger:
        refuse_rejects(ledger, is_strict=strict)
        totals = ledger.totals
        totals.require_any("The source", request.alphabet)
        heading = Heading((contract,), request.by, totals)
        table = ledger.batches().read_all()
    return to_counted(table, heading)


@contextlib.contextmanager
def open_ledger(source: Any, request: Request, engine: str = "duckdb") -> Iterator[Ledger]:
    """Count on an engine, and keep it open for what is to be asked of it."""
    check_choice("engine", engine, ENGINES)
    if engine == "spark" or _is_spark(source):
        from confide.counting.spark import SparkLedger

        with SparkLedger(request) as ledger:
            ledger.count(source)
            yield ledger
        return
    from confide.counting.duck import DuckLedger

    with DuckLedger(request) as duck:
        if _is_paths(source):
            with _spooled([source] if isinstance(source, str | Path) else list(source)) as paths:
                found = search(paths)
                shards = look_at_all(found.files, request)
                duck.notes += [*found.notes, *_note_empty(found.files, shards)]
                duck.count_files(shards)
                yield duck
        else:
            duck.count_frame(_as_table(source))
            yield duck


def plan_query(paths: Sequence[PathLike], request: Request) -> Query:
    """Return the query that would count these files; without any, that for a table with columns of the right types."""
    if not paths:
        natural: dict[str, Kind] = {"whole": "integer", "real": "real", "text": "text"}
        kinds = tuple(natural[field.kind] for field in fields_of(request.alphabet))
        return Query(request.alphabet, kinds, None, len(request.by))
    from confide.counting.duck import DuckLedger

    with DuckLedger(request) as ledger:
        return ledger.plan(look_at_all(search(paths).files, request))


def look_at_all(paths: Sequence[str], request: Request) -> list[Shard]:
    """Look at every file; empty ones among others are passed over."""
    found = [look_at(path, request) for path in paths]
    shards = [_titled(shard) for shard in found if shard is not None]
    if not shards:
        what = f"{paths[0]} is" if len(paths) == 1 else f"All {len(paths):,} files are"
        raise DataFileError(f"{what} empty; a file of reports should hold a header line and one row a report.")
    _refuse_other_columns(shards, request)
    return shards


def _refuse_other_columns(shards: Sequence[Shard], request: Request) -> None:
    """Refuse files that do not call the report alike: what stands in the other column may be the true values."""
    wanted = request.layout(shards[0].name).candidates[0]
    first = next((shard for shard in shards if shard.choice.report_names == wanted), shards[0])
    for shard in shards:
        if shard.choice.report_names != first.choice.report_names:
            raise DataFileError(
                f"The reports of {first.name} stand in {_quote(first)}, but {shard.name} has no such column; its "
                f"{_quote(shard)} may hold something else. Name the column that all files have, with --column on the "
                f"command line, or leave this file out."
            )


def _quote(shard: Shard) -> str:
    names = shard.choice.report_names
    return f"{'column' if len(names) == 1 else 'columns'} {' and '.join(map(repr, names))}"


def _note_empty(files: Sequence[str], shards: Sequence[Shard]) -> list[str]:
    """Say which of several files have no rows."""
    filled = {shard.path for shard in shards if shard.rows != 0}
    empty = [path for path in files if path not in filled]
    return (
        [f"{len(empty):,} of {len(files):,} files held no rows: {name_some(empty)}"] if len(files) > 1 and empty else []
    )


def _titled(shard: Shard) -> Shard:
    return replace(shard, title="standard input") if Path(shard.path).name.startswith(SPOOL) else shard


def refuse_rejects(ledger: Ledger, *, is_strict: bool) -> None:
    """Refuse rows that cannot be used, naming the first, where nothing but good rows is wanted."""
    totals = ledger.totals
    if is_strict and totals.total_rejected:
        first = listed(ledger.rejects(), 1, 1)
        raise DataFileError(
            f"{totals.total_rejected:,} of {totals.read:,} rows cannot be used ({totals.reasons}); the first:\n{first}"
        )


def name_rejects(ledger: Ledger) -> str:
    """Return the first rows that cannot be used, one a line."""
    return listed(ledger.rejects(), ledger.totals.total_rejected, SHOWN_REJECTIONS)


def to_counted(table: Any, heading: Heading) -> CountedReports | GroupedCounts:
    """Return what an engine counted as counts, or as counts of groups."""
    groups = split_groups(table.rename_columns(list(heading.columns)), heading)
    if heading.by:
        return GroupedCounts(heading.by, {key: parts[0] for key, parts in groups.items()}, heading.rows)
    (parts,) = groups.values()
    return CountedReports(parts[0].reports, parts[0].counts, heading.rows)


def _as_survey(survey: Survey | Mechanism | PathLike) -> Survey:
    if isinstance(survey, Mechanism):
        return Survey(survey)
    if isinstance(survey, str | Path):
        return load_survey(survey)
    if not isinstance(survey, Survey):
        raise InvalidParameterError(
            f"survey must be a Survey, its file or a mechanism; got {type(survey).__name__}. The source comes first."
        )
    return survey


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _is_paths(source: Any) -> bool:
    if isinstance(source, str | Path):
        return True
    return isinstance(source, Sequence) and bool(source) and all(isinstance(one, str | Path) for one in source)


def _is_spark(source: Any) -> bool:
    return type(source).__module__.startswith("pyspark.")


def _as_table(source: Any) -> Any:
    """Return a table as DuckDB takes it; texts and numbers mixed in one column of objects all become texts."""
    module = type(source).__module__.partition(".")[0]
    if module == "pandas":
        return _plain_objects(source)
    if module == "polars":
        return source.collect().to_arrow() if hasattr(source, "collect") else source.to_arrow()
    if module == "pyarrow":
        return source
    if module in ("duckdb", "_duckdb"):
        return source.to_arrow_reader(100_000)
    raise InvalidParameterError(
        f"source must be a path, several paths, or a table of Arrow, pandas, polars, DuckDB or Spark; got "
        f"{type(source).__name__}. Count reports that are in memory with confide.tally(reports)."
    )


def _plain_objects(frame: Any) -> Any:
    if not hasattr(frame, "columns"):
        frame = frame.to_frame(REPORT_COLUMN if frame.name is None else frame.name)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise DataFileError(f"The table has several columns called {repeated[0]!r}. Rename all but one.")
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    return frame.assign(**{name: [_as_text(value) for value in frame[name]] for name in mixed}) if mixed else frame


def _as_text(value: Any) -> str | None:
    is_missing = value is None or value != value  # noqa: PLR0124 - NaN is what differs from itself
    return None if is_missing else str(value)


@contextlib.contextmanager
def _spooled(paths: Iterable[PathLike]) -> Iterator[list[PathLike]]:
    """Set standard input down in a temporary file, for rows that are rejected have to be looked at twice."""
    given = list(paths)
    if STANDARD_STREAM not in map(str, given):
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        kept = Path(folder) / SPOOL
        with kept.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        named = kept.rename(kept.with_name(kept.name + _ending(kept)))
        yield [named if str(path) == STANDARD_STREAM else path for path in given]


def _ending(path: Path) -> str:
    """Return the ending that the first bytes of a file call for."""
    with path.open("rb") as stream:
        first = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    marks = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}
    return next((ending for mark, ending in marks.items() if first.startswith(mark)), ".csv")

"""Counting at scale.

Files and tables of any size on DuckDB or Spark, by the same SQL.

>>> import pyarrow
>>> from confide import Integers, TruncatedGeometric
>>> reports = pyarrow.table({"town": ["Oslo", "Rome", "Oslo"], "report": [3, 5, 3]})
>>> count(reports, TruncatedGeometric(Integers(0, 9), epsilon=1.0), by="town")
GroupedCounts(2 groups by town, 3 rows)
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, overload

from confide.data.counting.duck import DuckLedger, merge_files
from confide.data.counting.sources import Kind, PathLike, Query, Tallied, is_paths
from confide.data.counting.warehouse import DIALECTS, histogram_of, in_dialect
from confide.data.files import counts_files
from confide.data.files.counts_files import CountedReports, CountsFile, GroupedCounts, Heading, Pool
from confide.data.files.reading import read_report_rows
from confide.data.files.sheets import (
    STANDARD_STREAM,
    Account,
    Reject,
    Request,
    fields_of,
    first_few,
    format_of,
    name_of,
)
from confide.data.files.writing import write_rejects
from confide.errors import DataFileError, InvalidParameterError
from confide.evidence.counts import Counts, merge
from confide.evidence.totals import Totals, check_totals
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey, load_survey
from confide.values.checks import as_items, check_choice, require_kinds
from confide.values.wording import counted

Engine = Literal["duckdb", "spark"]

ENGINES = get_args(Engine)


@overload
def count(
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = ...,
    by: tuple[()] = ...,
    weights: str = ...,
    strata: str = ...,
    clusters: str = ...,
    totals: Totals | None = ...,
    engine: Engine = ...,
    strict: bool = ...,
    allow_copies: bool = ...,
) -> CountedReports: ...


@overload
def count(
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = ...,
    by: str | Sequence[str],
    weights: str = ...,
    strata: str = ...,
    clusters: str = ...,
    totals: Totals | None = ...,
    engine: Engine = ...,
    strict: bool = ...,
    allow_copies: bool = ...,
) -> GroupedCounts: ...


def count(  # noqa: PLR0913 - one argument an option
    source: Any,
    survey: Survey | Mechanism | PathLike,
    *,
    columns: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    weights: str = "",
    strata: str = "",
    clusters: str = "",
    totals: Totals | None = None,
    engine: Engine = "duckdb",
    strict: bool = False,
    allow_copies: bool = False,
) -> CountedReports | GroupedCounts:
    """Count reports in files or tables of any size.

    Only the counts are in memory.

    Parameters
    ----------
    source
        A path, a folder, a pattern such as ``"reports/*.parquet"``, or a list of these: CSV, gzipped or not, JSON lines
        or Parquet. Or a table: of Arrow, pandas or polars, a relation of DuckDB, a frame of Spark.
    survey
        The survey of the reports, its file, or its mechanism.
    columns
        The column of the reports, or the columns if a report has several parts; by default found as on the command
        line.
    by
        Columns that name a group, to count each group in the same pass.
    weights
        The column of survey weights, if any: see :func:`confide.tally`. A row without a usable weight is an error.
    strata, clusters
        The columns of the stratum and of the cluster in which people were drawn, if any.
    totals
        Known totals of the population, such as ``{"sex": {"f": 51, "m": 49}}``, if any: weights are raked to them, in
        each group alone. Margins are columns.
    engine
        ``"duckdb"``, on this machine, or ``"spark"``, in a running Spark session or a local one.
    strict
        Whether a rejected row is an error.
    allow_copies
        Whether byte-identical files may be of different people; otherwise they are refused as copies.

    Examples
    --------
    >>> import pyarrow
    >>> from confide import Integers, TruncatedGeometric
    >>> mechanism = TruncatedGeometric(Integers(0, 9), epsilon=1.0)
    >>> counts = count(pyarrow.table({"report": [3, 5, 3, 70]}), mechanism)
    >>> counts
    Counts(3 reports, 2 distinct)
    >>> print(counts.rows)
    4 rows read = 3 accepted + 1 rejected
    """
    if not isinstance(survey, Survey | Mechanism | str | Path):
        raise InvalidParameterError(
            f"survey must be a Survey, its file or a mechanism; got {type(survey).__name__}. The source comes first."
        )
    loaded = load_survey(survey) if isinstance(survey, str | Path) else survey
    # A bare mechanism has no limits, so metadata are compared by the mechanism.
    contract = Survey(loaded) if isinstance(loaded, Mechanism) else loaded
    for name, given in (("weights", weights), ("strata", strata), ("clusters", clusters)):
        if not isinstance(given, str):
            raise InvalidParameterError(f"{name} is the name of a column; got {given!r}.")
    names: dict[str, Any] = {"weights": weights, "strata": strata, "clusters": clusters}
    known = {} if totals is None else check_totals(totals)
    request = Request(contract.mechanism.report_alphabet, _names(columns), _names(by), **names, margins=tuple(known))
    with open_ledger(source, request, engine, loaded, allow_copies=allow_copies) as ledger:
        if strict:
            refuse_rejects(ledger)
        account = replace(ledger.account, source=name_source(source))
        account.require_any(request.alphabet)
        return _to_file(ledger, head(ledger, contract, request, account, known)).counted


def head(ledger: Tallied, survey: Survey, request: Request, account: Account, totals: Totals | None = None) -> Heading:
    """Return the heading of the counted reports."""
    origin = ledger.traces.origin(ledger.account.people, ledger.report_names)
    # Only permanent noise makes a person's reports depend on each other, so only then read again.
    files, sources = ledger.files + ledger.traces.further, ledger.sources
    is_known = files > 1 and origin.permanent and ledger.traces.is_once_by(request.by)
    of_groups = ledger.group_files() if request.by and is_known else {}
    design = request.weights, request.strata, request.clusters
    return Heading((survey,), request.by, account, (), (origin,), files, sources, of_groups, *design, totals or {})


def name_source(source: Any) -> str:
    """Return the name of a source for messages.

    >>> name_source(["-"]), name_source("reports.csv"), name_source(["a.csv", "b.csv"])
    ('standard input', 'reports.csv', '2 files')
    """
    if not is_paths(source):
        return "The table"
    paths = [str(source)] if isinstance(source, str | Path) else [str(path) for path in source]
    return name_of(paths[0]) if len(paths) == 1 else counted(len(paths), "file")


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Counted reports for one estimate, with their mechanisms.

    Attributes
    ----------
    pool
        The counts of each survey; one, unless several were pooled.
    account
        The account of the rows.
    description
        The account in words.
    unused
        The columns of a CSV file of counts that were not read, which may name groups.
    notes
        Remarks on missing metadata.
    heading
        The heading of a file of counts; None for reports.
    """

    pool: Pool
    account: Account
    description: str
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    heading: Heading | None = None

    @property
    def counts(self) -> Counts:
        """All counts together."""
        return self.pool[0][0] if len(self.pool) == 1 else merge(part for part, _ in self.pool)

    @property
    def origin(self) -> dict[str, Any]:
        """The origin of the noise and remarks on it, as JSON values."""
        return self.counts.origin.record | {"notes": list(self.notes)}


def read_reports(
    path: PathLike,
    survey: Survey,
    columns: Sequence[str] = (),
    rejects: PathLike | None = None,
    cure: str = "Correct or remove them, or name a file to set them aside in.",
) -> ReportInput:
    r"""Read reports or counts for one estimate, whatever their format.

    Python reads CSV and standard input, which needs no other package. DuckDB counts all other formats. Counts, and
    reports with metadata, must be of this survey and unchanged. Without metadata, `notes` say that the origin is
    unknown.

    Parameters
    ----------
    path
        The file.
    survey
        The survey of the reports.
    columns
        The columns of a report, if they have unusual names.
    rejects
        File for rejected rows; without it, a rejected row is an error.
    cure
        What an error about rejected rows advises.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Integers, TruncatedGeometric
    >>> survey = Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/reports.csv").write_text("report\n3\n5\n3\n")
    ...     read_reports(f"{folder}/reports.csv", survey).counts
    Counts(3 reports, 2 distinct)
    """
    require_kinds(read_reports, locals())
    if counts_files.is_counts_file(path):
        file = counts_files.read_counts(path, survey)
        if file.heading.by:
            raise DataFileError(f"{path} holds counts of several groups, by {', '.join(file.heading.by)}.")
        pools = file.pools
        if not pools:
            raise DataFileError(f"There are no reports in {path} to estimate from; its counts add up to 0.")
        account = replace(file.heading.rows, source=str(path), is_counted=True)
        surveys = f", of {len(file.heading.surveys)} surveys" if file.heading.is_pooled else ""
        return ReportInput(pools[()], account, f"counts in {path}{surveys}: {account}", heading=file.heading)
    if str(path) == STANDARD_STREAM or format_of(str(path)) == "csv":
        # In Python, so that users without DuckDB can estimate.
        rows = read_report_rows(path, survey, columns)
        _screen(rows.account, rows.rejected, rejects, cure)
        rows.account.require_any(rows.alphabet)
        # Of raw reports other columns are none of our business; of counts they may be groups.
        unused = rows.unused if rows.account.is_counted and not columns else ()
        notes = tuple(rows.traces.notes(rows.account.columns))
        return ReportInput([(rows.tally(), survey.mechanism)], rows.account, rows.account.description, unused, notes)
    request = Request(survey.mechanism.report_alphabet, tuple(columns))
    with open_ledger(path, request, survey=survey) as ledger:
        account = replace(ledger.account, source=str(path))
        # The query counts rejects by reason; a message needs the rows themselves.
        named = replace(account, first=first_few(ledger.rejects()))
        _screen(named, ledger.rejects(), rejects, cure)
        account.require_any(request.alphabet)
        counts = _to_file(ledger, head(ledger, survey, request, account)).merged
        notes = tuple(ledger.traces.notes(ledger.report_names))
    return ReportInput([(counts, survey.mechanism)], account, f"{path}: {account}", notes=notes)


def _screen(account: Account, rejected: Iterable[Reject], rejects: PathLike | None, cure: str) -> None:
    """Raise for rejected rows, or write them to a named file."""
    if rejects is None:
        account.require_usable(cure)
    else:
        write_rejects(rejects, rejected)


@contextlib.contextmanager
def open_ledger(
    source: Any,
    request: Request,
    engine: str = "duckdb",
    survey: Survey | Mechanism | None = None,
    *,
    allow_copies: bool = False,
) -> Iterator[Tallied]:
    """Count on an engine, and keep it open for further questions.

    With a survey or mechanism, files whose metadata do not fit are refused first. So are copies, unless allowed.
    """
    check_choice("engine", engine, ENGINES)
    kind: type[Tallied] = DuckLedger
    if engine == "spark" or type(source).__module__.startswith("pyspark."):
        # Load Spark only when it is used: most users do not have it.
        from confide.data.counting.spark import SparkLedger

        kind = SparkLedger
    with kind(request, survey, allow_copies=allow_copies) as ledger:
        ledger.count(source)
        yield ledger


def plan_query(paths: Sequence[PathLike], request: Request) -> Query:
    """Return the query for these files, or for a typed table."""
    if not paths:
        # Unlike text files, a warehouse has typed columns.
        natural: dict[str, Kind] = {"whole": "integer", "real": "real", "text": "text"}
        kinds = tuple(natural[field.kind] for field in fields_of(request.alphabet))
        return Query(request.alphabet, kinds, None, len(request.by))
    with DuckLedger(request) as ledger:
        return ledger.plan(paths)


def refuse_rejects(ledger: Tallied) -> None:
    """Raise for rejected rows, with the first one."""
    account = ledger.account
    if account.total_rejected:
        first = next(ledger.rejects())
        raise DataFileError(
            f"{account.total_rejected:,} of {counted(account.read, 'row')} cannot be used ({account.reasons}); "
            f"the first:\n  {first}"
        )


def _to_file(ledger: Tallied, heading: Heading) -> CountsFile:
    table = ledger.batches().read_all().rename_columns(list(heading.columns))
    return CountsFile(heading, counts_files.split_groups(table, heading))


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else as_items("columns", columns)
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameterError(f"Columns are named by texts; got {names!r}.")
    return names

"""Reports for one estimate, from whatever file they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.cli.screening import CURE, describe_rows, rows_record, screen
from confide.cli.terminal import warn
from confide.counting import (
    Heading,
    Ledger,
    Request,
    is_counts_file,
    name_rejects,
    open_ledger,
    read_counts,
    write_rejects,
)
from confide.counting.counting import to_counted
from confide.counting.estimating import Pool, pools_of
from confide.counting.sources import format_of
from confide.counts import Counts, merge
from confide.errors import DataFileError
from confide.files import REPORT_COLUMN, Rows, read_reports
from confide.surveys import Survey


@dataclass(frozen=True, eq=False)
class Gathered:
    """Counts with the mechanisms that the reports went through, and where they come from.

    Attributes
    ----------
    pool
        The counts under each survey; one, unless counts of several were put together on purpose.
    description, record
        Where the rows came from and what became of them, in words and ready for JSON.
    """

    pool: Pool
    description: str
    record: dict[str, Any]

    @property
    def counts(self) -> Counts:
        """All counts together."""
        return self.pool[0][0] if len(self.pool) == 1 else merge(part for part, _ in self.pool)


def gather_reports(path: Path, survey: Survey, columns: Sequence[str], rejects: Path | None) -> Gathered:
    """Read reports from a file of counts, a file of text, or one that DuckDB reads."""
    if is_counts_file(path):
        return _gather_counts(path)
    if str(path) != "-" and format_of(str(path)) != "csv":
        return _gather_elsewhere(path, survey, columns, rejects)
    rows = read_reports(path, survey, columns)
    screen(rows, rejects)
    warn_of_values(rows.columns, rows.source, survey)
    if not columns:
        _warn_of_groups(rows)
    return Gathered([(rows.tally(), survey.mechanism)], describe_rows(rows), rows_record(rows))


def _gather_counts(path: Path) -> Gathered:
    counted = read_counts(path)
    pools = pools_of(counted)
    if not pools:
        raise DataFileError(f"There are no reports in {path} to estimate from; its counts add up to 0.")
    rows = counted.heading.rows
    record = _record(path, counted.heading, [])
    surveys = f", of {len(counted.heading.surveys)} surveys" if counted.heading.is_pooled else ""
    return Gathered(pools[()], f"counts in {path}{surveys}: {rows}", record)


def _gather_elsewhere(path: Path, survey: Survey, columns: Sequence[str], rejects: Path | None) -> Gathered:
    request = Request(survey.mechanism.report_alphabet, tuple(columns))
    with open_ledger(path, request) as ledger:
        _screen(ledger, path, rejects)
        heading = Heading((survey,), (), ledger.totals)
        heading.rows.require_any(str(path), request.alphabet)
        counts = to_counted(ledger.batches().read_all(), heading)
        warn_of_values(ledger.report_names, str(path), survey)
    assert isinstance(counts, Counts)  # noqa: S101 (for the type checker; there are no groups)
    return Gathered([(counts, survey.mechanism)], f"{path}: {heading.rows}", _record(path, heading, columns))


def _screen(ledger: Ledger, path: Path, rejects: Path | None) -> None:
    """Refuse rows that cannot be used, or set them aside: what other commands do about them."""
    totals = ledger.totals
    if rejects is not None:
        write_rejects(rejects, ledger.rejects())
    elif totals.total_rejected:
        rows = f"{totals.total_rejected:,} of {totals.read:,} rows"
        raise DataFileError(f"{rows} of {path} cannot be used:\n{name_rejects(ledger)}\n{CURE}")


def _record(path: Path, heading: Heading, columns: Sequence[str]) -> dict[str, Any]:
    rows = heading.rows
    return {
        "source": str(path),
        "columns": list(columns),
        "is_counted": is_counts_file(path),
        "read": rows.read,
        "accepted": rows.accepted,
        "rejected": rows.total_rejected,
    }


def _warn_of_groups(rows: Rows) -> None:
    """Warn when a file of counts has more columns, which may tell groups apart: here they all come together."""
    if rows.is_counted and rows.unused:
        warn(
            f"{' and '.join(rows.unused)} of {rows.source} is not used: all counts are taken together. For an estimate "
            f"of each group, count with --by into a .parquet file, which carries the groups along."
        )


def warn_of_values(columns: tuple[str, ...], source: str, survey: Survey) -> None:
    """Warn when a column is named as true values are: an estimate from those would be wrong, and look right."""
    if columns in ((survey.name,), ("value",)) and columns != (REPORT_COLUMN,):
        warn(
            f"column {columns[0]} of {source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )

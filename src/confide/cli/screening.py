"""What the commands do about rows that cannot be used, and about outputs that would destroy their input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confide.cli.terminal import warn
from confide.errors import InvalidParameterError
from confide.surveys import Survey
from confide.tables import REPORT_COLUMN, Rows, check_writable, write_rejections

CURE = "Nothing was written. Correct these rows, or set them aside with --rejects rejects.csv."


def screen(rows: Rows, rejects: Path | None) -> None:
    """Refuse rows that cannot be used, or set them aside in a file if one is named."""
    if rejects is None:
        rows.require_usable(CURE)
    else:
        write_rejections(rejects, rows)
        rows.require_any()


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs that cannot be written, or that are one of the inputs, before any work is done."""
    taken = {one.resolve() for one in inputs if one is not None and str(one) != "-"}
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        if output.resolve() in taken:
            raise InvalidParameterError(f"{output} is also an input, which writing would destroy. Name another output.")
        taken.add(output.resolve())
        check_writable(output)


def warn_of_values(rows: Rows, survey: Survey) -> None:
    """Warn when the column is named as true values are: an estimate from those would be wrong, and look right."""
    if rows.columns in ((survey.name,), ("value",)) and rows.columns != (REPORT_COLUMN,):
        warn(
            f"column {rows.columns[0]} of {rows.source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )


def rows_record(rows: Rows) -> dict[str, Any]:
    """Return how many rows were read and what became of them, ready for JSON."""
    return {
        "source": rows.source,
        "columns": list(rows.columns),
        "is_counted": rows.counts is not None,
        "read": rows.read,
        "accepted": rows.accepted,
        "rejected": len(rows.rejected),
    }


def describe_rows(rows: Rows) -> str:
    """Return where the rows came from and what became of them, in words."""
    columns = " and ".join(rows.columns)
    counted = ", each as often as its count says" if rows.counts is not None else ""
    outcome = str(rows) if rows.rejected else f"{rows.read:,} rows, all accepted"
    return f"{rows.source}, {'columns' if len(rows.columns) > 1 else 'column'} {columns}: {outcome}{counted}"

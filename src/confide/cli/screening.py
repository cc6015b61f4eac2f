"""What the commands do about rows that cannot be used, and about outputs that would destroy their input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confide.errors import InvalidParameterError
from confide.files import Account, Rows, check_writable, write_rejections
from confide.wording import counted

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


def rows_record(rows: Account) -> dict[str, Any]:
    """Return how many rows were read and what became of them, ready for JSON."""
    return {
        "source": rows.source,
        "columns": list(rows.columns),
        "is_counted": rows.is_counted,
        "read": rows.read,
        "accepted": rows.accepted,
        "rejected": rows.total_rejected,
    }


def describe_rows(rows: Account) -> str:
    """Return where the rows came from and what became of them, in words."""
    columns = " and ".join(rows.columns)
    often = ", each as often as its count says" if rows.is_counted else ""
    outcome = str(rows) if rows.total_rejected else f"{counted(rows.read, 'row')}, all accepted"
    return f"{rows.source}, {'columns' if len(rows.columns) > 1 else 'column'} {columns}: {outcome}{often}"

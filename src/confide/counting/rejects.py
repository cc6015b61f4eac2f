"""Rows that cannot be used: how many for which reason, and where they stand."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confide.errors import DataFileError
from confide.files import Reason, whole_file


@dataclass(frozen=True)
class Reject:
    """A row that cannot be used.

    Attributes
    ----------
    file
        The file that it stands in.
    line
        The line where it starts; in a format without lines the row, counted from 1; None where rows have no order.
    text
        What it says in the columns that were read.
    reason
        What is wrong with it.
    """

    file: str
    line: int | None
    text: str
    reason: Reason

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line:,}"
        return f"{place}: {self.text!r} ({self.reason})"


@dataclass(frozen=True)
class RowTotals:
    """What became of the rows that were read: each is accepted, or rejected for one reason.

    >>> print(RowTotals(accepted=7, rejected={Reason.MISSING: 1}))
    8 rows read = 7 accepted + 1 rejected
    """

    accepted: int
    rejected: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """How many rows there were."""
        return self.accepted + self.total_rejected

    @property
    def total_rejected(self) -> int:
        """How many cannot be used."""
        return sum(self.rejected.values())

    @property
    def reasons(self) -> str:
        """How many for which reason, in words, the most frequent first."""
        ordered = sorted(self.rejected.items(), key=lambda one: (-one[1], one[0]))
        return ", ".join(f"{number:,} {reason}" for reason, number in ordered)

    def require_any(self, source: str, allowed: object) -> None:
        """Refuse reports of which no row could be used."""
        if not self.read:
            raise DataFileError(f"{source} has no rows; it should hold one row a report.")
        if not self.accepted:
            raise DataFileError(
                f"None of the {self.read:,} rows of {source} can be used ({self.reasons}). "
                f"Do the data and the survey belong together? Reports must lie in {allowed!r}."
            )

    def __str__(self) -> str:
        rows = "row" if self.read == 1 else "rows"
        return f"{self.read:,} {rows} read = {self.accepted:,} accepted + {self.total_rejected:,} rejected"


def write_rejects(path: str | Path, rejects: Iterator[Reject]) -> None:
    """Write rejected rows as CSV: file, line, text and reason."""
    with whole_file(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("file", "line", "text", "reason"))
        writer.writerows((one.file, one.line, one.text, one.reason) for one in rejects)
        text.flush()
        text.detach()


def listed(rejects: Iterator[Reject], total: int, most: int) -> str:
    """Return the first few, one a line, and how many more there are."""
    shown = [f"  {reject}" for reject, _ in zip(rejects, range(most), strict=False)]
    left = total - len(shown)
    return "\n".join([*shown, f"  ... and {left:,} more"] if left > 0 else shown)

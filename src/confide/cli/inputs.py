"""Inputs and outputs of commands: reports read with the warnings that a person needs, outputs that destroy no input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from confide.cli.terminal import warn
from confide.counting import ReportInput, read_reports
from confide.errors import InvalidParameterError
from confide.files import REPORT_COLUMN, check_writable
from confide.surveys import Survey

CURE = "Nothing was written. Correct these rows, or set them aside with --rejects rejects.csv."


def take_reports(path: Path, survey: Survey, columns: Sequence[str], rejects: Path | None) -> ReportInput:
    """Read reports for one estimate, and warn of what may be wrong with them."""
    found = read_reports(path, survey, columns, rejects, CURE)
    warn_of_values(found.account.columns, found.account.source, survey)
    if found.unused:
        warn(
            f"{' and '.join(found.unused)} of {found.account.source} is not used: all counts are taken together. For "
            f"an estimate of each group, count with --by into a .parquet file, which carries the groups along."
        )
    return found


def warn_of_values(columns: tuple[str, ...], source: str, survey: Survey) -> None:
    """Warn when a column is named as true values are: an estimate from those would be wrong, and look right."""
    if columns in ((survey.name,), ("value",)) and columns != (REPORT_COLUMN,):
        warn(
            f"column {columns[0]} of {source} is named like the true values, not '{REPORT_COLUMN}'. It is "
            f"read as reports; if these values were never blurred, run confide privatize first."
        )


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

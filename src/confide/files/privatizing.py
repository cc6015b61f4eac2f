"""A file of values blurred batch by batch: it may be larger than memory, and the output is whole or not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from confide.alphabets import Values
from confide.errors import DataFileError, InvalidParameterError
from confide.files.reading import Rows, read_value_batches
from confide.files.rows import Account
from confide.files.sheets import JSON_LINES, PARQUET, name_of
from confide.files.writing import reject_file, report_sink, warn_simulated
from confide.origins import Noise
from confide.surveys import Survey

LARGEST_PART = 2**20
"""People that are blurred at a time."""

MOST_PEOPLE = 10**9
"""People that one file may stand for: their reports take some gigabytes and minutes. A count beyond it is an error in
the file more often than a population, and would fill the disk before anybody looks."""

OUTPUTS = (".csv", ".csv.gz", *JSON_LINES, *(f"{ending}.gz" for ending in JSON_LINES), *PARQUET)
"""Suffixes of files of reports."""

INPUTS = (".csv", ".csv.gz", *PARQUET, ".tsv", ".tsv.gz", ".txt", ".txt.gz")
"""Suffixes of files of values; the delimiter is found out."""


def privatize_file(  # noqa: PLR0913 - a file, its survey, and four choices
    values: str | Path,
    output: str | Path,
    survey: Survey,
    columns: Sequence[str] = (),
    *,
    seed: int | None = None,
    rejects: str | Path | None = None,
    cure: str = "Nothing was written. Correct these rows.",
) -> Account:
    """Blur a file of values into a file of reports, in the order of the rows.

    Parameters
    ----------
    values, output
        CSV or Parquet, as their names say; reports also as JSON lines. Reports get metadata, which say what is true of
        them: see :class:`confide.files.Metadata`.
    survey
        What the values must be, and how they are blurred.
    columns
        The columns to read, as :func:`read_values` has them.
    seed
        None draws from the operating system's secure generator; a seed makes a simulation, which protects nobody.
    rejects
        Where rows that cannot be used are set aside; without it, one such row is an error.
    cure
        What to tell about such rows.
    """
    _require_ending(values, INPUTS)
    _require_ending(output, OUTPUTS)
    account = Account(source=name_of(str(values)))
    generator = None if seed is None else np.random.default_rng(seed)
    noise = Noise.SECURE if seed is None else Noise.SEEDED
    if seed is not None:
        warn_simulated(output)
    with contextlib.ExitStack() as closing:
        keep = None if rejects is None else closing.enter_context(reject_file(rejects))
        # Without one usable row there is no output, but the rows that were set aside are kept all the same.
        closing.enter_context(contextlib.suppress(_NoneUsableError))
        sink = closing.enter_context(report_sink(output, survey, noise=noise, order="kept"))
        for rows in read_value_batches(values, survey, columns):
            account += rows.account
            _refuse_crowd(account)
            if keep is not None:
                keep(rows.rejected)
            elif account.total_rejected:
                continue  # only to count: nothing of it will be kept
            for part in _parts(rows):
                sink.write(survey.mechanism.privatize(part, rng=generator))
        account.require_rows()
        if keep is None:
            account.require_usable(cure)
        if not account.accepted:
            raise _NoneUsableError
    account.require_any(survey.alphabet, "Values")
    return account


def _require_ending(path: str | Path, endings: Sequence[str]) -> None:
    """Refuse a name that promises another format. Streams and devices have no ending, and are CSV."""
    name = Path(path).name.lower()
    if Path(name).suffix and not name.endswith(tuple(endings)):
        raise InvalidParameterError(f"{path} should end in {', '.join(endings)}: the ending names the format.")


def _refuse_crowd(account: Account) -> None:
    if account.people > MOST_PEOPLE:
        raise DataFileError(
            f"The counts of {account.source} stand for more than {MOST_PEOPLE:,} people, and every one of them gets a "
            f"report of their own. Correct the counts, or split the file."
        )


class _NoneUsableError(DataFileError):
    """No row could be used, so that there is nothing to write."""


def _parts(rows: Rows) -> Iterator[Values]:
    """Return the value of every person, a bounded number at a time, whatever the counts say."""
    if rows.counts is None:
        yield rows.values
        return
    ends = np.cumsum(rows.counts)
    total = int(ends[-1]) if ends.size else 0
    for start in range(0, total, LARGEST_PART):
        people = np.arange(start, min(start + LARGEST_PART, total))
        # Person p belongs to the first row whose end lies beyond p: to the right of every end that is p itself.
        yield rows.distinct[rows.numbers[np.searchsorted(ends, people, side="right")]]

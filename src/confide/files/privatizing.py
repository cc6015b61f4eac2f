"""A file of values blurred batch by batch: it may be larger than memory, and the output is whole or not there."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from confide.alphabets import Alphabet, Values
from confide.errors import DataFileError, InvalidParameterError
from confide.files.reading import PARQUET, SHOWN_REJECTIONS, Account, Rejection, Rows, read_value_batches
from confide.files.sheets import name_of
from confide.files.streaming import report_sink
from confide.files.writing import REJECTION_COLUMNS, whole_file
from confide.surveys import Survey

LARGEST_PART = 2**20
"""People that are blurred at a time."""

OUTPUTS = (".csv", ".csv.gz", *PARQUET)
"""How the names of files of reports may end."""

INPUTS = (*OUTPUTS, ".tsv", ".tsv.gz", ".txt", ".txt.gz")
"""How the names of files of values may end: what stands between fields is found out."""

Keep = Callable[[Sequence[Rejection]], None]


class RunningAccount(Account):
    """What has become of the rows so far; of those that are rejected, the first few are remembered."""

    def __init__(self, source: str, alphabet: Alphabet) -> None:
        self.source, self.alphabet = source, alphabet
        self.columns: tuple[str, ...] = ()
        self.read, self.people = 0, 0
        self.rejected: list[Rejection] = []
        self._accepted, self._is_counted = 0, False

    @property
    def accepted(self) -> int:
        """See :attr:`Account.accepted`."""
        return self._accepted

    @property
    def total_rejected(self) -> int:
        """See :attr:`Account.total_rejected`."""
        return self.read - self._accepted

    @property
    def is_counted(self) -> bool:
        """See :attr:`Account.is_counted`."""
        return self._is_counted

    def add(self, rows: Rows) -> None:
        """Take account of a batch."""
        self.columns, self._is_counted = rows.columns, rows.is_counted
        self.read += rows.read
        self._accepted += rows.accepted
        self.people += rows.people
        self.rejected += rows.rejected[: SHOWN_REJECTIONS - len(self.rejected)]


def privatize_file(  # noqa: PLR0913 - a file, its survey, and four choices
    values: str | Path,
    output: str | Path,
    survey: Survey,
    columns: Sequence[str] = (),
    *,
    seed: int | None = None,
    rejects: str | Path | None = None,
    cure: str = "Nothing was written. Correct these rows.",
) -> RunningAccount:
    """Blur a file of values into a file of reports, in the order of the rows.

    Parameters
    ----------
    values, output
        CSV or Parquet, as their names say.
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
    account = RunningAccount(name_of(str(values)), survey.alphabet)
    generator = None if seed is None else np.random.default_rng(seed)
    with _kept(rejects) as keep, contextlib.suppress(_NoneUsableError), report_sink(output, survey) as sink:
        for rows in read_value_batches(values, survey, columns):
            account.add(rows)
            keep(rows.rejected)
            if rejects is None and account.total_rejected:
                continue  # only to count: nothing of it will be kept
            for part in _parts(rows):
                sink.write(survey.mechanism.privatize(part, rng=generator))
        account.require_rows()
        if rejects is None:
            account.require_usable(cure)
        if not account.accepted:
            raise _NoneUsableError  # the rows that were set aside are kept all the same
    account.require_any()
    return account


def _require_ending(path: str | Path, endings: Sequence[str]) -> None:
    """Refuse a name that promises another format. Streams and devices have no ending, and are CSV."""
    name = Path(path).name.lower()
    if Path(name).suffix and not name.endswith(tuple(endings)):
        raise InvalidParameterError(f"{path} should end in {', '.join(endings)}: the ending names the format.")


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
        yield rows.distinct[rows.numbers[np.searchsorted(ends, people, side="right")]]


@contextlib.contextmanager
def _kept(path: str | Path | None) -> Iterator[Keep]:
    """Open a file for rejected rows, if one is wanted."""
    if path is None:
        yield lambda rejections: None  # noqa: ARG005 - there is nothing to keep them in
        return
    with whole_file(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(REJECTION_COLUMNS)
        yield lambda rejections: writer.writerows((one.line, one.text, one.reason) for one in rejections)
        text.flush()
        text.detach()

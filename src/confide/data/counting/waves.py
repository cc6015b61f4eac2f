"""Reports by week, date or wave, from counts or from rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from confide.data.counting.sources import search
from confide.data.files import writing
from confide.data.files.counts_files import CountsFile, Heading, Key, is_counts_file, read_counts
from confide.data.files.reading import csv_batches, parquet_batches
from confide.data.files.sheets import PARQUET, STANDARD_STREAM, Account, Request, name_of
from confide.errors import DataFileError
from confide.estimates.changes import Linked
from confide.evidence.counts import Counts, merge, tally
from confide.surveys.survey import Survey
from confide.values.wording import counted


def read_waves(
    path: str | Path, survey: Survey, over: str, person: str | None = None
) -> tuple[CountsFile, Linked | None]:
    """Read the reports of each wave, and whose they are.

    Parameters
    ----------
    path
        Counts by groups, or reports: CSV or Parquet; a folder or a pattern such as ``"week*.csv"`` for several files.
    survey
        The survey of the reports.
    over
        The column that names a week, a date or a wave.
    person
        The column that says whose report each is. Counts have none.
    """
    if is_counts_file(path):
        if person is not None:
            raise DataFileError(
                f"{path} holds counts, which do not say whose report each is. Give the reports themselves for --person."
            )
        counts = read_counts(path)
        counts.heading.require(survey, path)
        return summed_over(counts, over, path), None
    files = [STANDARD_STREAM] if str(path) == STANDARD_STREAM else list(search([path]).files)
    for name in files:
        if not name.lower().removesuffix(".gz").endswith((".csv", *PARQUET)):
            raise DataFileError(
                f"{name_of(name)} has no waves that can be read in rows. Give CSV or Parquet, or count by {over} "
                f"first: confide count SURVEY REPORTS --by {over} -o counts.parquet"
            )
    return _read_rows(files, survey, over, person)


def summed_over(counts: CountsFile, over: str, path: object = "The counts") -> CountsFile:
    """Return counts by one column alone, all other groups added up."""
    heading = counts.heading
    if over not in heading.by:
        by = f"They are by {', '.join(heading.by)}." if heading.by else "They are of one group."
        raise DataFileError(
            f"{path} does not count by {over}. {by} Count again: confide count SURVEY REPORTS --by {over} -o FILE"
        )
    if heading.by == (over,):
        return counts
    place = heading.by.index(over)
    found: dict[Key, dict[int, Counts]] = {}
    files: dict[Key, int] = {}
    for key, parts in counts.groups.items():
        wave = (key[place],)
        # A group may be in every file, and a wave of several groups in no more files than there are.
        files[wave] = min(heading.files, files.get(wave, 0) + heading.files_of(key))
        of_wave = found.setdefault(wave, {})
        for number, part in parts.items():
            of_wave[number] = merge([of_wave[number], part]) if number in of_wave else part
    return CountsFile(replace(heading, by=(over,), group_files=files), found, counts.is_apart)


def _read_rows(files: Sequence[str], survey: Survey, over: str, person: str | None) -> tuple[CountsFile, Linked | None]:
    traces = writing.Traces.of(files, survey)  # refuses reports of another survey
    request = Request(survey.mechanism.report_alphabet, keep=(over,) if person is None else (over, person))
    title = name_of(files[0]) if len(files) == 1 else counted(len(files), "file")
    account, found, in_files = Account(source=title), list[list[Any]](), Counter[Key]()
    for path in files:
        before = len(found)
        for rows in (parquet_batches if path.lower().endswith(PARQUET) else csv_batches)(path, request):
            account += rows.account
            times = np.ones(rows.numbers.size, dtype=np.int64) if rows.counts is None else rows.counts
            texts = [_as_texts(column) for column in rows.kept]
            found.append([np.repeat(one, times, axis=0) for one in (rows.distinct[rows.numbers], *texts)])
        in_files.update({(wave,) for columns in found[before:] for wave in columns[1].tolist()})
    account = replace(account, source=title)
    account.require_usable("Nothing was written. Correct these rows, or count them first: confide count --by.")
    account.require_any(survey.mechanism.report_alphabet)
    reports, waves, *people = (np.concatenate(column) for column in zip(*found, strict=True))
    _require_named(title, over, waves)
    # Sorted once and split, for thousands of waves as quickly as for two.
    names, places = np.unique(waves, return_inverse=True)
    each = np.split(reports[np.argsort(places.reshape(-1), kind="stable")], np.cumsum(np.bincount(places.reshape(-1))))
    groups: dict[Key, dict[int, Counts]] = {
        (wave,): {0: tally(own)} for wave, own in zip(names.tolist(), each, strict=False)
    }
    origin = traces.origin(account.people, account.columns)
    number, known = len(files) + traces.further, dict(in_files) if traces.is_once_by((over,)) else {}
    heading = Heading((survey,), (over,), account, (), (origin,), number, group_files=known)
    if not people:
        return CountsFile(heading, groups), None
    _require_named(title, str(person), people[0])
    return CountsFile(heading, groups), Linked(reports, [(wave,) for wave in waves.tolist()], people[0])


def _as_texts(column: Any) -> Any:
    """Return a kept column as texts; a missing one is empty."""
    listed: Sequence[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()
    return np.array(["" if one is None else str(one).strip() for one in listed], dtype=object)


def _require_named(path: str, column: str, texts: Any) -> None:
    """Refuse rows without a name in a column."""
    empty = int((texts == "").sum())
    if empty:
        raise DataFileError(
            f"{counted(empty, 'row')} of {name_of(path)} have no {column}. Fill it in, or leave these rows out."
        )

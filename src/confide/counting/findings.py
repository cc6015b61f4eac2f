"""The files that paths, folders and patterns stand for, and what lies among them that is not counted."""

from __future__ import annotations

import glob
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from confide.counting.files import is_counts_file
from confide.errors import DataFileError

PathLike = str | Path

TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson")

ENDINGS = (*TEXTS, *(f"{ending}.gz" for ending in TEXTS), ".parquet", ".pq")
"""How the names of files end that are taken from a folder, where notes and marks of other tools lie as well."""

SHOWN_NAMES = 5


@dataclass(frozen=True)
class Findings:
    """What was found.

    Attributes
    ----------
    files
        The files to count.
    skipped
        Files in folders whose names do not end as those of reports do.
    counted
        Files in folders that hold counts already.
    """

    files: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell of the files that are left alone."""
        notes = []
        if self.skipped:
            notes.append(f"skipped {_number(self.skipped)}: {name_some(self.skipped)}")
        if self.counted:
            already = "already counted; add counts up with confide merge"
            notes.append(f"skipped {_number(self.counted)} ({already}): {name_some(self.counted)}")
        return tuple(notes)


def find_files(paths: Iterable[PathLike]) -> list[str]:
    """Return the files that paths, folders and patterns stand for."""
    return list(search(paths).files)


def search(paths: Iterable[PathLike]) -> Findings:
    """Find the files that paths, folders and patterns stand for, and refuse what would be counted twice."""
    found = [_expand(str(path)) for path in paths]
    files, skipped, counted = (
        tuple(itertools.chain.from_iterable(parts))
        for parts in ([one.files for one in found], [one.skipped for one in found], [one.counted for one in found])
    )
    if not files:
        raise DataFileError("There is no file to count. Name files, folders or patterns such as 'reports/*.parquet'.")
    _refuse_repeated(files)
    return Findings(files, skipped, counted)


def name_some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are.

    >>> name_some(["a.txt", "b.txt"])
    'a.txt, b.txt'
    """
    left = len(names) - SHOWN_NAMES
    return ", ".join([*names[:SHOWN_NAMES], *([f"and {left:,} more"] if left > 0 else [])])


def _expand(path: str) -> Findings:
    if Path(path).is_dir():
        return _look_into(path)
    if Path(path).exists() or not any(mark in path for mark in "*?["):
        return _named([path])
    matches = sorted(one for one in glob.glob(path, recursive=True) if Path(one).is_file())  # noqa: PTH207
    if not matches:
        raise DataFileError(f"No file matches {path!r}.")
    return _named(matches)


def _named(files: list[str]) -> Findings:
    for path in files:
        if _is_counted(path):
            raise DataFileError(f"{path} is already counted; add counts up with confide merge.")
    return Findings(tuple(files))


def _look_into(folder: str) -> Findings:
    """Take the reports out of a folder. Names that begin with a dot or an underscore are set aside, as Spark does."""
    inside = sorted(one for one in Path(folder).rglob("*") if one.is_file())
    if not inside:
        raise DataFileError(f"The folder {folder!r} has no files in it.")
    ours = [one for one in inside if one.name.lower().endswith(ENDINGS) and one.name[0] not in "._"]
    counted = tuple(str(one) for one in ours if _is_counted(str(one)))
    files = tuple(str(one) for one in ours if str(one) not in counted)
    found = Findings(files, tuple(str(one) for one in inside if one not in ours), counted)
    if not files:
        raise DataFileError(
            f"The folder {folder!r} has no reports in it: {'; '.join(found.notes)}. Reports end in "
            f"{', '.join(ENDINGS)}; files that are named one by one may end otherwise."
        )
    return found


def _is_counted(path: str) -> bool:
    return Path(path).is_file() and Path(path).stat().st_size > 0 and is_counts_file(path)


def _refuse_repeated(files: Sequence[str]) -> None:
    for path, times in Counter(Path(file).resolve() for file in files).items():
        if times > 1:
            raise DataFileError(f"{path} is named {times} times; its people would be counted as often. Name it once.")


def _number(files: Sequence[str]) -> str:
    return f"{len(files):,} {'file' if len(files) == 1 else 'files'}"

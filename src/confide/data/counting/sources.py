"""Sources of reports: the files that paths, folders, patterns and pipes stand for, each looked at before it is read.

What an engine makes of them is a :class:`Tallied`: the counts, and one account of all rows.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import itertools
import json
import shutil
import stat
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from confide.data.counting.query import ACCEPTED, Query, Relation, common_kinds
from confide.data.files import sheets
from confide.data.files.counts_files import Key, is_counts_file
from confide.data.files.metadata import SUFFIX, Traces, content_digest, is_companion
from confide.data.files.rows import LIMITS, Account, Reason, Reject
from confide.errors import DataFileError
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey
from confide.values.wording import counted, listed, name_some

PathLike = str | Path


@dataclass(frozen=True)
class FoundFiles:
    """Files that were found.

    Attributes
    ----------
    files
        The files to count.
    skipped
        Files in folders whose names do not end as those of reports do.
    counted
        Files in folders that hold counts already.
    missing
        Files of which folders hold the metadata alone.
    """

    files: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remark on the files that are left alone."""
        notes = []
        if self.skipped:
            notes.append(f"skipped {counted(len(self.skipped), 'file')}: {name_some(self.skipped)}")
        if self.counted:
            already = "already counted; add counts up with confide merge"
            notes.append(f"skipped {counted(len(self.counted), 'file')} ({already}): {name_some(self.counted)}")
        if self.missing:
            is_gone = "is missing, and its" if len(self.missing) == 1 else "are missing, and their"
            notes.append(f"{name_some(self.missing)} {is_gone} metadata are there: was a file of reports lost?")
        return tuple(notes)


def search(paths: Iterable[PathLike]) -> FoundFiles:
    """Find the files that paths, folders and patterns stand for, and refuse what would be counted twice."""
    each = []
    for path in map(str, paths):
        if Path(path).is_dir():
            each.append(_look_into(path))
            continue
        named = expand(path)
        for one in named:
            if is_companion(one) and Path(one).is_file():
                raise DataFileError(f"{one} is metadata, not reports. Name {one.removesuffix(SUFFIX)} instead.")
            if _is_counted(one):
                raise DataFileError(f"{one} is already counted; add counts up with confide merge.")
        each.append(FoundFiles(tuple(named)))
    parts = zip(*((one.files, one.skipped, one.counted, one.missing) for one in each), strict=True)
    found = FoundFiles(*(tuple(itertools.chain.from_iterable(some)) for some in parts))
    if not found.files:
        raise DataFileError("There is no file to count. Name files, folders or patterns such as 'reports/*.parquet'.")
    refuse_repeated(found.files)
    return found


def is_paths(source: Any) -> bool:
    """Whether a source is named by paths, and is not a table."""
    if isinstance(source, str | Path):
        return True
    return isinstance(source, Sequence) and bool(source) and all(isinstance(one, str | Path) for one in source)


def expand(path: str) -> list[str]:
    """Return the file of this name; only where there is none is the name a pattern, and the files are what matches."""
    if Path(path).exists() or not any(mark in path for mark in "*?["):
        return [path]
    found = glob.glob(path, recursive=True)  # noqa: PTH207
    matches = sorted(one for one in found if Path(one).is_file() and not is_companion(one))
    if not matches:
        raise DataFileError(f"No file matches {path!r}.")
    return matches


def refuse_repeated(files: Sequence[str]) -> None:
    """Refuse a file that is named twice, by whatever name: through a link of either kind, a pattern or its folder."""
    named: dict[object, list[str]] = {}
    for file in files:
        place: object = sheets.resolved(file)  # where there is no such file
        with contextlib.suppress(OSError):
            found = Path(file).stat()
            place = found.st_dev, found.st_ino  # which hard links have in common
        named.setdefault(place, []).append(file)
    for names in named.values():
        if len(names) > 1:
            known = listed(list(dict.fromkeys(names)))
            also = f" (as {known})" if len(set(names)) > 1 else ""
            raise DataFileError(
                f"{sheets.resolved(names[0])} is named {len(names)} times{also}; its people would be counted as often. "
                f"Name it once."
            )


def _look_into(folder: str) -> FoundFiles:
    """Take the reports out of a folder. Names that begin with a dot or an underscore are set aside, as Spark does."""
    found = sorted(one for one in Path(folder).rglob("*") if one.is_file())
    inside = [one for one in found if not is_companion(one)]
    if not inside:
        raise DataFileError(f"The folder {folder!r} has no files in it.")
    described = (one.with_name(one.name.removesuffix(SUFFIX)) for one in found if is_companion(one))
    missing = tuple(str(one) for one in described if not one.exists())
    # Notes and marks of other tools lie in folders as well.
    texts = (".csv", ".tsv", *sheets.JSON_LINES)
    endings = (*texts, *(f"{ending}.gz" for ending in texts), *sheets.PARQUET)
    ours = [one for one in inside if one.name.lower().endswith(endings) and one.name[0] not in "._"]
    done = tuple(str(one) for one in ours if _is_counted(str(one)))
    files = tuple(str(one) for one in ours if str(one) not in done)
    sorted_out = FoundFiles(files, tuple(str(one) for one in inside if one not in ours), done, missing)
    if not files:
        raise DataFileError(
            f"The folder {folder!r} has no reports in it: {'; '.join(sorted_out.notes)}. Reports end in "
            f"{', '.join(endings)}; files that are named one by one may end otherwise."
        )
    return sorted_out


def _is_counted(path: str) -> bool:
    return Path(path).is_file() and Path(path).stat().st_size > 0 and is_counts_file(path)


@contextlib.contextmanager
def set_down(paths: Iterable[PathLike]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Set standard input and pipes down in temporary files, for rejected rows have to be looked at twice.

    Returns the paths as they can be read, and what those that were set down are called in messages.
    """
    given = [str(path) for path in paths]
    if not any(map(_is_stream, given)):
        yield given, {}
        return
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        places, titles = [], {}
        for number, path in enumerate(given):
            places.append(path)
            if not _is_stream(path):
                continue
            target, title = Path(folder) / str(number), sheets.name_of(path)
            with contextlib.ExitStack() as closing:
                closing.enter_context(sheets.explained(title))
                is_standard = path == sheets.STANDARD_STREAM
                source = sys.stdin.buffer if is_standard else closing.enter_context(Path(path).open("rb"))
                shutil.copyfileobj(source, closing.enter_context(target.open("wb")))
            with target.open("rb") as stream:
                first = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
            # A pipe has no name that says its format; its first bytes do.
            marks = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl", b"[": ".jsonl"}
            ending = next((ending for mark, ending in marks.items() if first.startswith(mark)), ".csv")
            places[-1] = str(target.rename(target.with_name(target.name + ending)))
            titles[places[-1]] = title
        yield places, titles


def _is_stream(path: str) -> bool:
    if path == sheets.STANDARD_STREAM:
        return True
    with contextlib.suppress(OSError):  # what is not there is told of later
        mode = Path(path).stat().st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
    return False


@dataclass(frozen=True)
class Shard:
    """One file, looked at.

    Attributes
    ----------
    path, format
        Where it is, and what it is.
    places
        Where its columns are.
    name
        What it is called in messages.
    rows
        How many rows it has by a count of its own; None where that takes a full reading.
    delimiter, lines_above
        Of a CSV file: what stands between fields, and how many lines stand above the first row.
    is_plain
        Of a CSV file: whether every line is a row of as many fields as the header has, without quotation marks.
    types
        Of a Parquet file: the types of its columns.
    """

    path: str
    format: Literal["csv", "parquet", "json"]
    places: sheets.ColumnPlaces
    name: str
    rows: int | None = None
    delimiter: str = ","
    lines_above: int = 0
    is_plain: bool = False
    types: tuple[str, ...] = ()


def format_of(path: str) -> Literal["csv", "parquet", "json"]:
    """Return the format of a file by its name.

    >>> format_of("reports.jsonl.gz")
    'json'
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(sheets.PARQUET):
        return "parquet"
    return "json" if name.endswith((*sheets.JSON_LINES, ".json")) else "csv"


def look_at(path: str, request: sheets.Request, name: str) -> Shard | None:
    """Look at a file: which columns it has and, where that is quick, how many rows; None where it is empty."""
    with sheets.explained(name):
        if Path(path).stat().st_size == 0:
            return None
    if format_of(path) == "parquet":
        with sheets.parquet_explained(name), sheets.require("pyarrow.parquet").ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        places = request.choose(name, schema.names, has_lines=False)
        return Shard(path, "parquet", places, name, rows, types=tuple(str(schema.types[place]) for place in places.all))
    if format_of(path) == "json":
        with sheets.explained(name), sheets.opened(path) as stream:
            first = next((line for line in iter(stream.readline, "") if line.strip()), "")
        if first.lstrip().startswith("["):
            raise DataFileError(
                f"{name} holds a JSON array, where one object a line is needed. Write it with lines=True in pandas' "
                f"to_json, or with: jq -c '.[]' {name} > reports.jsonl"
            )
        # The names of the first object are the header; where that cannot be read, the names that it should have.
        try:
            header = tuple(json.loads(first))
        except (ValueError, TypeError, RecursionError):
            header = (*request.candidates[0], *request.by)
        return Shard(path, "json", request.choose(name, header, has_lines=False), name)
    with sheets.open_sheet(path) as sheet:
        places = request.choose(name, sheet.header)
    lines = _plain_lines(path, len(sheet.header), sheet.delimiter)
    rows = None if lines is None else lines - sheet.lines_above
    return Shard(path, "csv", places, name, rows, sheet.delimiter, sheet.lines_above, lines is not None)


def look_at_all(paths: Sequence[str], request: sheets.Request, titles: Mapping[str, str] | None = None) -> list[Shard]:
    """Look at every file; empty ones among others are passed over."""
    known = titles or {}
    found = [look_at(path, request, known.get(path, path)) for path in paths]
    shards = [shard for shard in found if shard is not None]
    if not shards:
        what = f"{known.get(paths[0], paths[0])} is" if len(paths) == 1 else f"All {len(paths):,} files are"
        raise DataFileError(f"{what} empty; a file of reports should hold a header line and one row a report.")
    # Files must call the report alike: what stands in the other column may be the true values.
    first = next((shard for shard in shards if shard.places.names == request.candidates[0]), shards[0])
    for shard in shards:
        if shard.places.names != first.places.names:
            raise DataFileError(
                f"The reports of {first.name} stand in {_quote(first)}, but {shard.name} has no such column; its "
                f"{_quote(shard)} may hold something else. Name the column that all files have, with --column on the "
                f"command line, or leave this file out."
            )
    return shards


def _quote(shard: Shard) -> str:
    names = shard.places.names
    return f"{'column' if len(names) == 1 else 'columns'} {' and '.join(map(repr, names))}"


def _plain_lines(path: str, width: int, delimiter: str) -> int | None:
    """Count lines by their ends, independently of the engine that will read them: what it reads must be as many.

    None where the engine cannot be trusted: quotation marks, a blank end, line ends of several kinds, or more or fewer
    delimiters than a table of this width has. A row with too few fields could make up for one with too many; but the
    engine refuses the first kind.
    """
    ends, returns, delimiters, has_quotes, tail = 0, 0, 0, False, b""
    with sheets.explained(path), gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as stream:
        while block := stream.read(LIMITS.block):
            marks = np.frombuffer(block, dtype=np.uint8)
            ends += int(np.count_nonzero(marks == ord("\n")))
            delimiters += int(np.count_nonzero(marks == ord(delimiter)))
            returns += block.count(b"\r")
            has_quotes = has_quotes or b'"' in block
            tail = (tail + block)[-4:]
    lines = ends + (not tail.endswith(b"\n"))
    is_odd = has_quotes or tail.endswith((b"\n\n", b"\n\r\n")) or returns not in (0, ends)
    return None if is_odd or delimiters != (width - 1) * lines else lines


class Tallied(ABC):
    """Reports that an engine counted, and the account of their rows.

    Use it in a ``with`` statement: what it sets down on disk is removed at the end.

    Attributes
    ----------
    query
        The query that counted them.
    account
        The account of the rows.
    report_names
        The names of the columns of the reports.
    notes
        Remarks on files that were left alone, or that gave nothing.
    traces
        Metadata of the files.
    files
        How many files held rows; one of a table.
    sources
        The SHA-256 of the files, as far as it is known.
    """

    query: Query

    def __init__(
        self, request: sheets.Request, survey: Survey | Mechanism | None = None, *, allow_copies: bool = False
    ) -> None:
        self._request, self._survey, self._allow_copies = request, survey, allow_copies
        self._closing = contextlib.ExitStack()
        self.account, self.report_names = Account(), tuple[str, ...]()
        self.notes, self.traces = list[str](), Traces()
        self.files, self.sources = 1, tuple[str, ...]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    @abstractmethod
    def count(self, source: Any) -> None:
        """Count files or a table."""

    @abstractmethod
    def batches(self) -> Any:
        """Return groups, reports and counts as Arrow batches, in order."""

    @abstractmethod
    def group_files(self) -> dict[Key, int]:
        """Return in how many files each group occurs."""

    @abstractmethod
    def rejects(self) -> Iterator[Reject]:
        """Return the rows that cannot be used."""

    def _find(self, paths: Sequence[PathLike]) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Find files, refuse those of another survey, and return them with what streams are called in messages."""
        readable, titles = self._closing.enter_context(set_down(paths))
        found = search(readable)
        self.notes += found.notes
        if self._survey is not None:
            self.traces = Traces.of(found.files, self._survey, titles)
        return found.files, titles

    def _digest(self, paths: Sequence[str], titles: Mapping[str, str]) -> None:
        """Take the SHA-256 of files, as far as it is known, and refuse copies: their people would be counted twice.

        Metadata say it; of files without any it is taken where another one has as many bytes, for else there is no
        copy. Files of a few rows may well be the same by chance, such as one file for each person: they are left alone.
        """
        known = {name: one.sha256 for name, one in self.traces.files if one is not None}
        sizes = {path: Path(path).stat().st_size for path in paths if Path(path).is_file()}
        # Forty reports of two digits agree by chance in none of 10^40 pairs of files; fewer may well.
        sizes = {path: size for path, size in sizes.items() if size >= 128}
        shared = {size for size, times in Counter(sizes.values()).items() if times > 1}
        seen: dict[str, str] = {}
        for path, size in sizes.items():
            name = titles.get(path, path)
            if name not in known and size not in shared:
                continue
            other = seen.setdefault(known.get(name) or content_digest(path, size), name)
            if other == name or self._allow_copies:
                continue
            found = look_at(path, self._request, name)
            if found is not None and found.rows != 0:  # engines write empty files by the dozen, which are all alike
                raise DataFileError(
                    f"{name} is byte for byte the same as {other}; its people would be counted twice. Leave one out, "
                    f"or add --allow-copies if these are the reports of different people."
                )
        self.sources = tuple(seen)

    def _plan(self, relations: Sequence[Relation]) -> str:
        """Choose the query, and return SQL for all rows as it expects them."""
        kinds, parts = common_kinds(relations), len(self._request.alphabet.field_names)
        weight = kinds[parts] if len(kinds) > parts else None
        self.query = Query(self._request.alphabet, kinds[:parts], weight, len(self._request.by))
        return " UNION ALL ".join(relation.select(kinds) for relation in relations)

    def _settle(self, sums: Iterable[Sequence[Any]], strays: Mapping[str, int]) -> None:
        """Draw up the account: rows and people of each outcome, and rows that no engine was shown."""
        found = [(outcome, int(rows), int(people)) for outcome, rows, people in sums]
        rows = Counter({outcome: number for outcome, number, _ in found})
        rows.update(strays)
        self.account = Account(
            rows[ACCEPTED],
            {reason: rows[reason] for reason in Reason if rows[reason]},
            columns=self.report_names,
            people=sum(number for outcome, _, number in found if outcome == ACCEPTED),
            is_counted=self.query.weight is not None,
        )


def to_group_files(rows: Iterable[Sequence[Any]]) -> dict[Key, int]:
    """Return in how many files each group occurs, as SQL counted it; one without a name has an empty text."""
    return {tuple(part or "" for part in key): int(files) for *key, files in rows}

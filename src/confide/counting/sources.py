"""Sources of reports: the files that paths, folders, patterns and pipes stand for, each looked at before it is read."""

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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from confide.errors import DataFileError
from confide.files import sheets
from confide.files.counts_files import is_counts_file
from confide.files.metadata import SUFFIX, Traces, content_digest, is_companion
from confide.files.sheets import (
    JSON_LINES,
    PARQUET,
    STANDARD_STREAM,
    ColumnPlaces,
    Request,
    explained,
    open_sheet,
    opened,
    parquet_explained,
    require,
)
from confide.wording import counted, listed, name_some

PathLike = str | Path

Format = Literal["csv", "parquet", "json"]

JSON = (*JSON_LINES, ".json")
"""Suffixes of files with one JSON object a line, before .gz, where they are named one by one."""

SMALLEST_COPY = 128
"""Bytes from which on two files that are the same are taken for copies: some forty reports of two digits, which agree
by chance in none of 10^40 pairs."""

TEXTS = (".csv", ".tsv", *JSON_LINES)

ENDINGS = (*TEXTS, *(f"{ending}.gz" for ending in TEXTS), *PARQUET)
"""Suffixes of files that are taken from a folder, where notes and marks of other tools lie as well."""


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

    files: tuple[str, ...]
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
    found = [_expand(str(path)) for path in paths]
    files, skipped, done, missing = (
        tuple(itertools.chain.from_iterable(getattr(one, name) for one in found))
        for name in ("files", "skipped", "counted", "missing")
    )
    if not files:
        raise DataFileError("There is no file to count. Name files, folders or patterns such as 'reports/*.parquet'.")
    refuse_repeated(files)
    return FoundFiles(files, skipped, done, missing)


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
        named.setdefault(_identity(file), []).append(file)
    for names in named.values():
        if len(names) > 1:
            known = listed(list(dict.fromkeys(names)))
            also = f" (as {known})" if len(set(names)) > 1 else ""
            raise DataFileError(
                f"{sheets.resolved(names[0])} is named {len(names)} times{also}; its people would be counted as often. "
                f"Name it once."
            )


def digest_sources(
    paths: Sequence[str], titles: Mapping[str, str], traces: Traces, request: Request, *, allow_copies: bool = False
) -> tuple[str, ...]:
    """Return the SHA-256 of files, as far as it is known, and refuse copies: their people would be counted twice.

    Metadata say it; of files without any it is taken where another one has as many bytes, for else there is no copy.
    Files of a few rows may well be the same by chance, such as one file for each person: they are left alone.
    """
    known = {name: one.sha256 for name, one in traces.files if one is not None}
    sizes = {path: Path(path).stat().st_size for path in paths if Path(path).is_file()}
    sizes = {path: size for path, size in sizes.items() if size >= SMALLEST_COPY}
    shared = {size for size, times in Counter(sizes.values()).items() if times > 1}
    seen: dict[str, str] = {}
    for path, size in sizes.items():
        name = titles.get(path, path)
        if name not in known and size not in shared:
            continue
        other = seen.setdefault(known.get(name) or content_digest(path, size), name)
        if other != name and not allow_copies and _holds_rows(path, request, name):
            raise DataFileError(
                f"{name} is byte for byte the same as {other}; its people would be counted twice. Leave one out, or "
                f"add --allow-copies if these are the reports of different people."
            )
    return tuple(seen)


def _holds_rows(path: str, request: Request, name: str) -> bool:
    """Whether a file holds a row: engines write empty files by the dozen, which are all alike."""
    found = look_at(path, request, name)
    return found is not None and found.rows != 0


def _identity(file: str) -> object:
    """Return what two names of one file have in common, hard links included; of what is not there, its path."""
    with contextlib.suppress(OSError):
        found = Path(file).stat()
        return found.st_dev, found.st_ino
    return sheets.resolved(file)


def _expand(path: str) -> FoundFiles:
    if Path(path).is_dir():
        return _look_into(path)
    files = tuple(expand(path))
    for one in files:
        if is_companion(one) and Path(one).is_file():
            raise DataFileError(f"{one} is metadata, not reports. Name {one.removesuffix(SUFFIX)} instead.")
        if _is_counted(one):
            raise DataFileError(f"{one} is already counted; add counts up with confide merge.")
    return FoundFiles(files)


def _look_into(folder: str) -> FoundFiles:
    """Take the reports out of a folder. Names that begin with a dot or an underscore are set aside, as Spark does."""
    found = sorted(one for one in Path(folder).rglob("*") if one.is_file())
    inside = [one for one in found if not is_companion(one)]
    if not inside:
        raise DataFileError(f"The folder {folder!r} has no files in it.")
    described = (one.with_name(one.name.removesuffix(SUFFIX)) for one in found if is_companion(one))
    missing = tuple(str(one) for one in described if not one.exists())
    ours = [one for one in inside if one.name.lower().endswith(ENDINGS) and one.name[0] not in "._"]
    done = tuple(str(one) for one in ours if _is_counted(str(one)))
    files = tuple(str(one) for one in ours if str(one) not in done)
    sorted_out = FoundFiles(files, tuple(str(one) for one in inside if one not in ours), done, missing)
    if not files:
        raise DataFileError(
            f"The folder {folder!r} has no reports in it: {'; '.join(sorted_out.notes)}. Reports end in "
            f"{', '.join(ENDINGS)}; files that are named one by one may end otherwise."
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
        places = [_set_down(path, Path(folder) / str(number)) for number, path in enumerate(given)]
        yield places, {place: sheets.name_of(path) for place, path in zip(places, given, strict=True) if place != path}


def _is_stream(path: str) -> bool:
    if path == STANDARD_STREAM:
        return True
    with contextlib.suppress(OSError):  # what is not there is told of later
        mode = Path(path).stat().st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
    return False


def _set_down(path: str, target: Path) -> str:
    if not _is_stream(path):
        return path
    with explained(sheets.name_of(path)), _bytes_of(path) as source, target.open("wb") as stream:
        shutil.copyfileobj(source, stream)
    return str(target.rename(target.with_name(target.name + _ending(target))))


@contextlib.contextmanager
def _bytes_of(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD_STREAM:
        yield sys.stdin.buffer
    else:
        with Path(path).open("rb") as stream:
            yield stream


def _ending(path: Path) -> str:
    """Return the ending that the first bytes of a file call for."""
    with path.open("rb") as stream:
        first = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    marks = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl", b"[": ".jsonl"}
    return next((ending for mark, ending in marks.items() if first.startswith(mark)), ".csv")


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
    format: Format
    places: ColumnPlaces
    name: str
    rows: int | None = None
    delimiter: str = ","
    lines_above: int = 0
    is_plain: bool = False
    types: tuple[str, ...] = ()


def format_of(path: str) -> Format:
    """Return the format of a file by its first bytes, or by its name.

    >>> format_of("reports.jsonl.gz")
    'json'
    """
    name = path.lower().removesuffix(".gz")
    if name.endswith(PARQUET):
        return "parquet"
    if name.endswith(JSON):
        return "json"
    return "csv"


def look_at(path: str, request: Request, name: str) -> Shard | None:
    """Look at a file: which columns it has and, where that is quick, how many rows; None where it is empty."""
    with explained(name):
        if Path(path).stat().st_size == 0:
            return None
    if format_of(path) == "parquet":
        with parquet_explained(name), require("pyarrow.parquet").ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        places = request.choose(name, schema.names, has_lines=False)
        return Shard(path, "parquet", places, name, rows, types=tuple(str(schema.types[place]) for place in places.all))
    if format_of(path) == "json":
        return Shard(path, "json", _json_places(path, request, name), name)
    lines = _survey_lines(path)
    with open_sheet(path) as sheet:
        places = request.choose(name, sheet.header)
    is_plain = lines.is_plain(len(sheet.header), sheet.delimiter)
    rows = lines.lines - sheet.lines_above if is_plain else None
    return Shard(path, "csv", places, name, rows, sheet.delimiter, sheet.lines_above, is_plain)


def look_at_all(paths: Sequence[str], request: Request, titles: Mapping[str, str] | None = None) -> list[Shard]:
    """Look at every file; empty ones among others are passed over."""
    known = titles or {}
    found = [look_at(path, request, known.get(path, path)) for path in paths]
    shards = [shard for shard in found if shard is not None]
    if not shards:
        what = f"{known.get(paths[0], paths[0])} is" if len(paths) == 1 else f"All {len(paths):,} files are"
        raise DataFileError(f"{what} empty; a file of reports should hold a header line and one row a report.")
    _refuse_other_columns(shards, request)
    return shards


def _refuse_other_columns(shards: Sequence[Shard], request: Request) -> None:
    """Refuse files that do not call the report alike: what stands in the other column may be the true values."""
    wanted = request.candidates[0]
    first = next((shard for shard in shards if shard.places.names == wanted), shards[0])
    for shard in shards:
        if shard.places.names != first.places.names:
            raise DataFileError(
                f"The reports of {first.name} stand in {_quote(first)}, but {shard.name} has no such column; its "
                f"{_quote(shard)} may hold something else. Name the column that all files have, with --column on the "
                f"command line, or leave this file out."
            )


def _quote(shard: Shard) -> str:
    names = shard.places.names
    return f"{'column' if len(names) == 1 else 'columns'} {' and '.join(map(repr, names))}"


def note_empty(paths: Sequence[str], shards: Sequence[Shard]) -> list[str]:
    """Say which of several files have no rows."""
    filled = {shard.path for shard in shards if shard.rows != 0}
    empty = [path for path in paths if path not in filled]
    return (
        [f"{len(empty):,} of {len(paths):,} files held no rows: {name_some(empty)}"] if len(paths) > 1 and empty else []
    )


def _json_places(path: str, request: Request, name: str) -> ColumnPlaces:
    """Take the names of the first object for a header; where that cannot be read, the names that it should have."""
    with explained(name), opened(path) as stream:
        first = next((line for line in iter(stream.readline, "") if line.strip()), "")
    if first.lstrip().startswith("["):
        raise DataFileError(
            f"{name} holds a JSON array, where one object a line is needed. Write it with lines=True in pandas' "
            f"to_json, or with: jq -c '.[]' {name} > reports.jsonl"
        )
    try:
        header = tuple(json.loads(first))
    except (ValueError, TypeError, RecursionError):
        header = (*request.candidates[0], *request.by)
    return request.choose(name, header, has_lines=False)


@dataclass(frozen=True)
class _Lines:
    """Line structure of a text file, by its bytes."""

    line_ends: int
    returns: int
    delimiters: dict[str, int]
    has_quotes: bool
    has_blank_end: bool
    is_ended: bool

    @property
    def lines(self) -> int:
        return self.line_ends + (not self.is_ended)

    @property
    def has_one_line_end(self) -> bool:
        """Whether lines seem to end in one way only; which they do, the engine makes sure of."""
        return self.returns in (0, self.line_ends)

    def is_plain(self, width: int, delimiter: str) -> bool:
        """Whether lines and delimiters are as many as a table of this width has.

        A row with too few fields could make up for one with too many; but the engine refuses the first kind.
        """
        is_whole = self.delimiters[delimiter] == (width - 1) * self.lines
        return is_whole and not self.has_quotes and not self.has_blank_end and self.has_one_line_end


def _survey_lines(path: str) -> _Lines:
    """Count lines by their ends, independently of the engine that will read them: what it reads must be as many."""
    ends, returns, delimiters, quotes, tail = 0, 0, dict.fromkeys(",;\t", 0), False, b""
    for block in _byte_blocks(path):
        marks = np.frombuffer(block, dtype=np.uint8)
        ends += int(np.count_nonzero(marks == ord("\n")))
        returns += block.count(b"\r")
        quotes = quotes or b'"' in block
        for mark in delimiters:
            if mark.encode() in block:
                delimiters[mark] += int(np.count_nonzero(marks == ord(mark)))
        tail = (tail + block)[-4:]
    has_blank_end = tail.endswith((b"\n\n", b"\n\r\n"))
    return _Lines(ends, returns, delimiters, quotes, has_blank_end, tail.endswith(b"\n"))


def _byte_blocks(path: str) -> Iterator[bytes]:
    with explained(path), gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as stream:
        while block := stream.read(sheets.BLOCK):
            yield block

"""Files of counts: Parquet with the survey in it, so that counts of different surveys cannot be mixed up by mistake.

A file holds the columns that name a group, then the report, then ``count``. Where it keeps counts of several surveys, a
column ``survey`` says which. Nothing else is in it: no times, no names, no rows.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from confide.alphabets import Alphabet, Pairs, Values
from confide.counting.extras import parquet_explained, require_parquet, require_pyarrow
from confide.counting.fields import fields_of
from confide.counting.groups import Key
from confide.counting.rejects import RowTotals
from confide.errors import DataFileError, InvalidParameterError
from confide.reports import Counts, tally
from confide.surveys import Survey, parse_survey
from confide.tables import COUNT_COLUMN, Reason, report_columns, whole_file

METADATA = b"confide.counts"
"""Under which name a Parquet file carries what it is."""

SURVEY_COLUMN = "survey"

FORMATS = (".parquet", ".csv", ".csv.gz")


@dataclass(frozen=True)
class Heading:
    """What a file of counts says of itself.

    Attributes
    ----------
    surveys
        The surveys that the reports were made under: one, unless counts of several were put together on purpose.
    by
        The columns that name a group.
    rows
        What became of the rows that were counted.
    """

    surveys: tuple[Survey, ...]
    by: tuple[str, ...]
    rows: RowTotals

    def __post_init__(self) -> None:
        taken = {*report_columns(self.survey), COUNT_COLUMN, SURVEY_COLUMN}
        for place, name in enumerate(self.by):
            if name in taken or name in self.by[:place]:
                raise InvalidParameterError(f"Groups cannot be named by a column called {name!r}. Rename it.")

    @property
    def survey(self) -> Survey:
        """The first survey, which names the alphabet."""
        return self.surveys[0]

    @property
    def is_pooled(self) -> bool:
        """Whether there are counts of several surveys."""
        return len(self.surveys) > 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file."""
        middle = (SURVEY_COLUMN,) if self.is_pooled else ()
        return (*self.by, *middle, *report_columns(self.survey), COUNT_COLUMN)

    @property
    def schema(self) -> Any:
        """The columns with their types and the metadata, for Arrow."""
        pyarrow = require_pyarrow()
        kinds = {"whole": pyarrow.int64(), "real": pyarrow.float64(), "text": pyarrow.string()}
        parts = [kinds[field.kind] for field in fields_of(self.survey.mechanism.report_alphabet)]
        middle = [pyarrow.int64()] if self.is_pooled else []
        types = [*(pyarrow.string() for _ in self.by), *middle, *parts, pyarrow.int64()]
        return pyarrow.schema(
            list(zip(self.columns, types, strict=True)), metadata={METADATA: self._to_json().encode()}
        )

    @classmethod
    def from_json(cls, text: str) -> Heading:
        """Read what :meth:`schema` wrote."""
        record = json.loads(text)
        rejected = {Reason(reason): number for reason, number in record["rejected"].items()}
        surveys = tuple(parse_survey(one["text"]) for one in record["surveys"])
        return cls(surveys, tuple(record["by"]), RowTotals(record["accepted"], rejected))

    def _to_json(self) -> str:
        surveys = [{"fingerprint": one.fingerprint, "text": one.text()} for one in self.surveys]
        record = {"surveys": surveys, "by": self.by, "accepted": self.rows.accepted, "rejected": self.rows.rejected}
        return json.dumps(record, ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class CountsFile:
    """What a file of counts holds: for each group, the counts under each survey."""

    heading: Heading
    groups: dict[Key, dict[int, Counts]]


def is_counts_file(path: str | Path) -> bool:
    """Whether this is a Parquet file that :func:`write_counts` made."""
    if not str(path).lower().endswith((".parquet", ".pq")) or not Path(path).is_file():
        return False
    return METADATA in (_schema(str(path)).metadata or {})


def read_heading(path: str | Path) -> Heading:
    """Read what a file of counts says of itself."""
    if str(path).lower().endswith((".csv", ".csv.gz")) and Path(path).is_file():
        raise DataFileError(f"{path} is CSV, and such counts carry no survey. Count again with -o counts.parquet.")
    metadata = _schema(str(path)).metadata or {}
    if METADATA not in metadata:
        raise DataFileError(
            f"{path} is no file of counts. Make one with: confide count SURVEY REPORTS -o counts.parquet"
        )
    return Heading.from_json(metadata[METADATA].decode())


def read_counts(path: str | Path) -> CountsFile:
    """Read a whole file of counts."""
    heading = read_heading(path)
    with parquet_explained(str(path)):
        table = require_parquet().read_table(str(path))
    if tuple(table.column_names) != heading.columns:
        raise DataFileError(f"{path} should have the columns {', '.join(heading.columns)}. Count the reports again.")
    return CountsFile(heading, split_groups(table, heading))


def write_counts(path: str | Path, batches: Iterable[Any], heading: Heading) -> None:
    """Write counts batch by batch: a whole file, or none."""
    name = str(path).lower()
    if not name.endswith(FORMATS):
        raise InvalidParameterError(f"{path} should end in {', '.join(FORMATS)}: the ending names the format.")
    with whole_file(path) as stream:
        if name.endswith(".parquet"):
            _write_parquet(stream, batches, heading)
        else:
            _write_csv(stream, batches, heading, is_packed=name.endswith(".gz"))


def as_batches(counts: CountsFile) -> Iterator[Any]:
    """Return what a file of counts holds as Arrow batches, ready for :func:`write_counts`."""
    pyarrow = require_pyarrow()
    heading = counts.heading
    for key, by_survey in counts.groups.items():
        for number, one in by_survey.items():
            size = one.counts.size
            parts = one.reports.reshape(size, -1)
            middle = [[number] * size] if heading.is_pooled else []
            columns = [*([part] * size for part in key), *middle, *(column.tolist() for column in parts.T)]
            yield pyarrow.record_batch([*columns, one.counts.astype(np.int64).tolist()], schema=heading.schema)


def to_reports(columns: list[Any], alphabet: Alphabet) -> Values:
    """Return the Arrow columns of reports as one array of the alphabet's shape."""
    arrays = [_as_array(column) for column in columns]
    if len(arrays) == 1:
        return arrays[0]
    if isinstance(alphabet, Pairs) and len({array.dtype.kind for array in arrays}) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.stack(arrays, axis=-1)


def to_counts(columns: list[Any], counts: Any, alphabet: Alphabet) -> Counts:
    """Return columns that are in order as counts."""
    reports, numbers = to_reports(columns, alphabet), counts.to_numpy().astype(np.float64)
    # Parts of different types are put in an order of their own, which SQL does not know.
    return tally(reports, numbers) if reports.dtype.kind == "O" else Counts(reports, numbers)


def _as_array(column: Any) -> Values:
    array: Values = column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else np.asarray(column)
    return array.astype(str) if array.dtype.kind == "O" else array


def split_groups(table: Any, heading: Heading) -> dict[Key, dict[int, Counts]]:
    """Cut a table that is in order into groups and surveys, where these change."""
    alphabet, depth = heading.survey.mechanism.report_alphabet, len(heading.by)
    columns = [table.column(place).combine_chunks() for place in range(table.num_columns)]
    names = depth + heading.is_pooled
    keys = [
        column.fill_null("").to_pylist() if place < depth else column.to_pylist()
        for place, column in enumerate(columns[:names])
    ]
    groups: dict[Key, dict[int, Counts]] = {}
    for start, end in _runs(keys, table.num_rows):
        key = tuple(str(column[start]) for column in keys[:depth])
        number = keys[depth][start] if heading.is_pooled else 0
        parts = [column.slice(start, end - start) for column in columns[names:]]
        groups.setdefault(key, {})[number] = to_counts(parts[:-1], parts[-1], alphabet)
    return groups


def _runs(keys: list[list[Any]], rows: int) -> Iterator[tuple[int, int]]:
    """Return where runs of rows with the same key start and end."""
    changes = np.zeros(rows, dtype=bool)
    changes[:1] = True
    for column in keys:
        array = np.array(column, dtype=object)
        changes[1:] |= array[1:] != array[:-1]
    starts = [*np.flatnonzero(changes).tolist(), rows]
    return itertools.pairwise(starts)


def _schema(path: str) -> Any:
    with parquet_explained(path):
        return require_parquet().read_schema(path)


def _write_parquet(stream: BinaryIO, batches: Iterable[Any], heading: Heading) -> None:
    with require_parquet().ParquetWriter(stream, heading.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch.rename_columns(list(heading.columns)).cast(heading.schema))


def _write_csv(stream: BinaryIO, batches: Iterable[Any], heading: Heading, *, is_packed: bool) -> None:
    with contextlib.ExitStack() as closing:
        packed = closing.enter_context(gzip.GzipFile(fileobj=stream, mode="wb", mtime=0)) if is_packed else stream
        text = closing.enter_context(_text(packed))
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heading.columns)
        for batch in batches:
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


@contextlib.contextmanager
def _text(stream: Any) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    yield text
    text.flush()
    text.detach()

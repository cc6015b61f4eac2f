"""Reports written batch by batch, as CSV or Parquet, so that they need not fit into memory."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from confide.alphabets import Values
from confide.files.parquet import require_arrow
from confide.files.reading import PARQUET
from confide.files.writing import report_columns, whole_file
from confide.surveys import Survey

COMPRESSION = 6
"""How hard gzip tries: the usual compromise, for at 9 it takes most of the time of all."""

SMALL_RANGE = 2**16
"""Whole numbers between which each is written once and then looked up."""


class ReportSink(ABC):
    """A file of reports that grows."""

    @abstractmethod
    def write(self, reports: Values) -> None:
        """Add reports."""


@contextlib.contextmanager
def report_sink(path: str | Path, survey: Survey) -> Iterator[ReportSink]:
    """Open a file of reports that stands under its name when it is complete, and not before.

    It is Parquet where the name says so, else CSV, compressed if the name ends in ``.gz``.
    """
    with whole_file(path) as stream:
        if str(path).lower().endswith(PARQUET):
            with contextlib.closing(_ParquetSink(stream, survey)) as parquet:
                yield parquet
        elif str(path).lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=COMPRESSION, mtime=0) as packed:
                yield _CsvSink(packed, survey)
        else:
            yield _CsvSink(stream, survey)


class _CsvSink(ReportSink):
    def __init__(self, stream: Any, survey: Survey) -> None:
        self._stream = stream
        self._stream.write((",".join(report_columns(survey)) + "\n").encode())

    def write(self, reports: Values) -> None:
        if reports.shape[0]:
            self._stream.write(as_lines(reports).encode())


class _ParquetSink(ReportSink):
    def __init__(self, stream: BinaryIO, survey: Survey) -> None:
        self._stream, self._names = stream, report_columns(survey)
        self._writer: Any = None

    def write(self, reports: Values) -> None:
        arrow = require_arrow("pyarrow")
        columns = [arrow.array(_plain(column)) for column in reports.reshape(reports.shape[0], -1).T]
        batch = arrow.record_batch(columns, names=list(self._names))
        if self._writer is None:
            self._writer = require_arrow("pyarrow.parquet").ParquetWriter(self._stream, batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def as_lines(reports: Values) -> str:
    r"""Return reports as lines of CSV.

    >>> as_lines(np.array(["yes", "no, never"]))
    'yes\n"no, never"\n'
    """
    columns = [_as_texts(column) for column in reports.reshape(reports.shape[0], -1).T]
    lines = columns[0] if len(columns) == 1 else map(",".join, zip(*columns, strict=True))
    return "\n".join(lines) + "\n"


def _as_texts(column: Values) -> list[str]:
    """Return a column as CSV writes it. Most values occur often, so that each is looked at once."""
    if column.dtype.kind in "iu":
        return _integers_as_texts(column)
    values = column.tolist()
    if column.dtype.kind == "f":
        return list(map(repr, values))
    written = {value: _as_field(value) for value in set(values)}
    return list(map(written.__getitem__, values))


def _integers_as_texts(column: Values) -> list[str]:
    low, high = int(column.min()), int(column.max())
    if high - low > SMALL_RANGE:
        return list(map(str, column.tolist()))
    texts = list(map(str, range(low, high + 1)))
    return list(map(texts.__getitem__, (column - low).tolist()))


def _as_field(value: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([value])
    return text.getvalue()


def _plain(column: Values) -> Values:
    """Return a column of objects, as pairs of a number and a text have them, as what it holds."""
    return np.array(column.tolist()) if column.dtype.kind == "O" else np.ascontiguousarray(column)

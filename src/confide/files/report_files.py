"""Files of reports: CSV, JSON lines and Parquet, written whole or not at all, with their metadata."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import Values
from confide.checks import require_kinds
from confide.errors import InvalidParameterError
from confide.files.metadata import PARQUET_KEY, Metadata, Order, companion_of
from confide.files.sheets import JSON_LINES, PARQUET, STANDARD_STREAM, require, resolved
from confide.files.writing import csv_text, report_columns, warn_simulated, whole_file
from confide.origins import Noise, noise_of
from confide.sampling import SecureBits, permutation
from confide.surveys import Survey

COMPRESSION = 6
"""Compression level of gzip: the usual compromise, for at 9 it takes most of the time of all."""

SMALL_RANGE = 2**16
"""Whole numbers between which each is written once and then looked up."""


def write_reports(
    path: str | Path, reports: ArrayLike, survey: Survey, *, noise: Noise | None = None, keep_order: bool = False
) -> None:
    """Write reports as CSV, JSON lines or Parquet, as the name says, one row a report, with their metadata.

    They are shuffled, by the operating system's secure generator.

    Parameters
    ----------
    path
        The file; ``-`` for standard output, which carries no metadata.
    reports
        One report an entry.
    survey
        What they were made under.
    noise
        What they were drawn with. If left out, what is remembered of the array that :meth:`Mechanism.privatize`
        returned; of any other array or list it is not known, and the metadata say so.
    keep_order
        Whether to leave the order as it is. Where it is sorted by value, or known from elsewhere, it gives values away.

    Simulated reports give a :class:`SimulatedReportsWarning`.

    >>> import tempfile
    >>> from confide import Integers, TruncatedGeometric
    >>> from confide.files.metadata import read_metadata
    >>> survey = Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_reports(f"{folder}/reports.csv", survey.mechanism.privatize([3, 4, 4]), survey)
    ...     known = read_metadata(f"{folder}/reports.csv")
    >>> known.noise.value, known.reports
    ('secure generator', 3)
    """
    require_kinds(write_reports, locals())
    drawn = noise_of(reports) if noise is None else Noise(noise)
    alphabet = survey.mechanism.report_alphabet
    array = reports if isinstance(reports, np.ndarray) else alphabet.as_array(reports)
    if array.size and not alphabet.contains(alphabet.as_array(array)).all():
        raise InvalidParameterError(f"Some of these reports lie outside {alphabet!r}. Are they of another survey?")
    if drawn is Noise.SEEDED:
        warn_simulated(path)
    with report_sink(path, survey, noise=drawn, order="kept" if keep_order else "shuffled") as sink:
        sink.write(array if keep_order else array[permutation(len(array), SecureBits())])


class ReportSink(ABC):
    """A file of reports that grows, column by column as its metadata say."""

    def __init__(self, stream: _Watched, facts: Metadata) -> None:
        self._stream, self._facts, self._reports = stream, facts, 0

    @property
    def names(self) -> list[str]:
        """The columns of the file: those of a report, and then those that are kept."""
        return [*self._facts.names, *self._facts.kept]

    @property
    def facts(self) -> Metadata:
        """The metadata of what was written so far."""
        return replace(self._facts, reports=self._reports, size=self._stream.size, sha256=self._stream.sha256)

    def write(self, reports: Values, kept: Sequence[Any] = ()) -> None:
        """Add reports, and of each what stands in the kept columns: lists, or arrays of numpy or Arrow."""
        if reports.shape[0]:
            self._reports += reports.shape[0]
            self._write([*reports.reshape(reports.shape[0], -1).T, *map(self._as_column, kept)])

    def _as_column(self, kept: Any) -> Any:
        if isinstance(kept, np.ndarray) and kept.dtype.kind == "O":
            return kept
        values = kept.to_pylist() if hasattr(kept, "to_pylist") else list(kept)
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column

    @abstractmethod
    def _write(self, columns: list[Any]) -> None: ...

    def close(self) -> None:  # noqa: B027 - most files have no end of their own
        """Write what stands at the end."""


@contextlib.contextmanager
def report_sink(
    path: str | Path, survey: Survey, *, noise: Noise, order: Order = "kept", kept: Sequence[str] = ()
) -> Iterator[ReportSink]:
    """Open a file of reports that stands under its name, with its metadata, when it is complete, and not before.

    It is Parquet or JSON lines where the name says so, else CSV, compressed if the name ends in ``.gz``. Parquet
    carries its metadata; beside other files stands a companion, and beside streams and devices nothing.
    """
    facts = Metadata.of(survey, report_columns(survey), noise=noise, order=order, kept=kept)
    with contextlib.ExitStack() as closing:
        # The companion is entered first and so gets its name last, a moment after the file that it describes. Whatever
        # comes between, the digest says that an old companion and a new file do not belong together.
        has_companion = not has_no_name(path) and not str(path).lower().endswith(PARQUET)
        beside = closing.enter_context(whole_file(companion_of(resolved(path)))) if has_companion else None
        stream = _Watched(closing.enter_context(whole_file(path, has_companion=has_companion)))
        with _open_sink(str(path).lower(), stream, facts) as sink:
            yield sink
        if beside is not None:
            beside.write(sink.facts.companion(resolved(path).name).encode())
            beside.flush()  # a full disk is noticed here, before either has its name


def has_no_name(path: str | Path) -> bool:
    """Whether an output is standard output, a pipe or a device, beside which nothing can stand."""
    return str(path) == STANDARD_STREAM or (Path(path).exists() and not Path(path).is_file())


def where_metadata_stand(path: str | Path) -> str | None:
    """Return which file has the metadata of a file of reports; None of streams and devices."""
    if has_no_name(path):
        return None
    return str(path) if str(path).lower().endswith(PARQUET) else str(companion_of(path))


@contextlib.contextmanager
def _open_sink(name: str, stream: _Watched, facts: Metadata) -> Iterator[ReportSink]:
    with contextlib.ExitStack() as closing:
        if name.endswith(PARQUET):
            kind: type[ReportSink] = _ParquetSink
        else:
            kind = _JsonSink if name.removesuffix(".gz").endswith(JSON_LINES) else _CsvSink
            if name.endswith(".gz"):
                packed = gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=COMPRESSION, mtime=0)
                stream.packed = closing.enter_context(packed)
        yield closing.enter_context(contextlib.closing(kind(stream, facts)))


class _Watched:
    """A stream whose bytes are counted and digested on their way into a file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._sha256, self.size = stream, hashlib.sha256(), 0
        self.packed: Any = None
        """What compresses, if anything does, and writes into this."""

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def write(self, content: bytes) -> int:
        self._sha256.update(content)
        self.size += len(content)
        return self._stream.write(content)

    def flush(self) -> None:
        self._stream.flush()

    def put(self, text: str | bytes) -> None:
        """Write a text, compressed if need be."""
        (self.packed or self).write(text.encode() if isinstance(text, str) else text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _CsvSink(ReportSink):
    def __init__(self, stream: _Watched, facts: Metadata) -> None:
        super().__init__(stream, facts)
        self._stream.put(csv_text(self.names, []))

    def _write(self, columns: list[Any]) -> None:
        self._stream.put(_integer_lines(columns) or as_lines(columns))


class _JsonSink(ReportSink):
    def _write(self, columns: list[Any]) -> None:
        names = (json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in self.names)
        form = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
        texts = [_as_texts(column, _as_json) for column in columns]
        self._stream.put("\n".join(map(form.__mod__, zip(*texts, strict=True))) + "\n")


class _ParquetSink(ReportSink):
    _writer: Any = None

    def _as_column(self, kept: Any) -> Any:
        if not isinstance(kept, np.ndarray):
            return kept  # whose type survives
        # As texts, and not by way of numpy's, which have no zero at their end.
        return require("pyarrow").array(kept.tolist(), require("pyarrow").string())

    def _write(self, columns: list[Any]) -> None:
        arrow = require("pyarrow")
        arrays = [arrow.array(_plain(one)) if isinstance(one, np.ndarray) else one for one in columns]
        table = arrow.table(arrays, names=self.names)
        if self._writer is None:
            self._writer = require("pyarrow.parquet").ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)  # which holds nothing back: the digest in the footer is of all that is above it

    def close(self) -> None:
        if self._writer is not None:
            self._writer.add_key_value_metadata({PARQUET_KEY: self.facts.to_json().encode()})
            self._writer.close()


def as_lines(columns: Sequence[Values]) -> str:
    r"""Return columns as lines of CSV.

    >>> as_lines([np.array(["yes", "no, never"])])
    'yes\n"no, never"\n'
    """
    # An empty text alone would be a blank line, and among others needs no quotation marks.
    alone = '""' if len(columns) == 1 else ""
    texts = [_as_texts(column, lambda value: _as_field(value) or alone) for column in columns]
    lines = texts[0] if len(texts) == 1 else map(",".join, zip(*texts, strict=True))
    return "\n".join(lines) + "\n"


def _integer_lines(columns: Sequence[Values]) -> bytes | None:
    r"""Return columns of whole numbers as lines of CSV, five times as fast as others; None where a column is no such.

    >>> _integer_lines([np.array([7, 10]), np.array([-1, 0])])
    b'7,-1\n10,0\n'
    """
    fields = []
    for place, column in enumerate(columns, start=1):
        if column.dtype.kind not in "iu" or int(column.max()) - int(column.min()) > SMALL_RANGE:
            return None
        low, end = int(column.min()), "\n" if place == len(columns) else ","
        # numpy fills the shorter ones up with zeros, and the zeros are taken out again below.
        texts = np.array([f"{number}{end}".encode() for number in range(low, int(column.max()) + 1)])
        fields.append(texts[column - low].view(np.uint8).reshape(column.size, -1))
    return np.hstack(fields).tobytes().replace(b"\0", b"")


def _as_texts(column: Values, as_text: Callable[[Any], str]) -> list[str]:
    """Return a column as a format writes it. Most values occur often, so that each is looked at once."""
    if column.dtype.kind in "iu":
        return _integers_as_texts(column)
    values = column.tolist()
    if column.dtype.kind == "f":
        return list(map(repr, values))
    written = {value: as_text(value) for value in set(values)}
    return list(map(written.__getitem__, values))


def _as_json(value: Any) -> str:
    """Return a number or a text as JSON, and a time as the text that it is written as; what is no number is null."""
    is_number = not isinstance(value, float) or math.isfinite(value)
    return json.dumps(value if is_number else None, ensure_ascii=False, default=str)


def _integers_as_texts(column: Values) -> list[str]:
    low, high = int(column.min()), int(column.max())
    if high - low > SMALL_RANGE:
        return list(map(str, column.tolist()))
    texts = list(map(str, range(low, high + 1)))
    return list(map(texts.__getitem__, (column - low).tolist()))


def _as_field(value: Any) -> str:
    text = io.StringIO()
    # What ends a line is quoted only if the writer is told that it does.
    csv.writer(text, lineterminator="\r\n").writerow([str(value).lower() if isinstance(value, bool) else value])
    return text.getvalue().removesuffix("\r\n") if value not in ("", None) else ""


def _plain(column: Values) -> Values:
    """Return a column of objects, as pairs of a number and a text have them, as what it holds."""
    return np.array(column.tolist()) if column.dtype.kind == "O" else np.ascontiguousarray(column)

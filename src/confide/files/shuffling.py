"""Reports brought into a random order: exactly uniform, from the operating system's generator, in bounded memory.

Exported data are sorted more often than not, and reports in the order of the values give these away: where neighbours
have nearly the same value, their noise averages out. In a random order it does not.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets import Values
from confide.checks import kind_of
from confide.errors import DataFileError, InvalidParameterError
from confide.files.sheets import STANDARD_STREAM, require, resolved
from confide.origins import mark, noise_of
from confide.sampling import BUCKETS, Bits, as_bits, permutation, scatter

MEMORY = 2**26
"""Bytes of reports that are held in memory; more are set down on disk."""

PIECE = 2**20
"""Rows that are scattered together, and handed out together: a file is written in pieces of about this size."""

SMALLEST_SPLIT = 2**12
"""Rows of a bucket from which on it may be split again, should it not fit into memory."""

TEXT_BYTES = 64
"""Bytes that a text takes in memory, beside its letters."""

Columns = tuple[Any, ...]
"""Reports, and columns kept beside them: numpy arrays, or of a Parquet file Arrow arrays, all of one length."""


def shuffle(reports: ArrayLike, *, rng: Any = None) -> Values:
    """Return reports in an order drawn uniformly from all orders.

    ``mechanism.privatize`` keeps the order of its values. Shuffle before reports leave together, unless nobody can
    know anything about that order.

    Parameters
    ----------
    reports
        An array of reports, or a sequence, one entry a report.
    rng
        None draws from the operating system's cryptographic generator; a seed or a generator makes a simulation.

    >>> sorted(shuffle([3, 1, 2]).tolist())
    [1, 2, 3]
    """
    try:
        array: Values = np.asarray(reports)
    except ValueError:
        array = np.zeros(())
    if array.ndim == 0:
        raise InvalidParameterError(f"reports must be a list of reports, alike in shape; got {kind_of(reports)}.")
    shuffled: Values = array[permutation(len(array), as_bits(rng))]
    mark(shuffled, noise_of(reports))  # these are the same reports, however they were drawn
    return shuffled


class Shuffler:
    """Rows that come in one order and leave in another, drawn uniformly from all orders.

    Every row goes into one of 256 buckets drawn for itself, and every bucket is put into an order of its own when it
    leaves: the order of all is then exactly uniform (Rao 1961, Sandelius 1962), whatever the rows say. What does not
    fit into memory is set down in one file without a name, of which nothing is left however the process ends.

    Parameters
    ----------
    bits
        Where the randomness comes from.
    folder
        Where to set rows down; the system's folder for temporary files if None. They are reports, never values.
    """

    def __init__(self, bits: Bits, folder: Path | None = None) -> None:
        self._bits, self._folder = bits, folder
        self._waiting, self._coming = list[Columns](), 0.0
        self._buckets: list[list[Columns]] = [[] for _ in range(BUCKETS)]
        self._places: list[list[int]] = [[] for _ in range(BUCKETS)]  # of what was set down in the file
        self._rows: NDArray[np.int64] = np.zeros(BUCKETS, dtype=np.int64)
        self._bytes: NDArray[np.float64] = np.zeros(BUCKETS)
        self._held = 0.0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Shuffler:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, columns: Columns) -> None:
        """Take in rows."""
        self._waiting.append(tuple(map(_narrow, columns)))
        self._coming += sum(map(_size, self._waiting[-1]))
        if _are_many(self._waiting, self._coming):
            self._scatter()

    def pieces(self) -> Iterator[Columns]:
        """Hand out all rows in their new order, many at a time."""
        self._scatter()
        ready, size = list[Columns](), 0.0
        for part in self._shuffled():
            ready.append(part)
            size += sum(map(_size, part))
            if _are_many(ready, size):
                yield tuple(map(_widen, _join(ready)))
                ready, size = [], 0.0
        if ready:
            yield tuple(map(_widen, _join(ready)))

    def _scatter(self) -> None:
        if not self._waiting:
            return
        columns = _join(self._waiting)
        count = len(columns[0])
        order, ends = scatter(count, self._bits)
        columns, sizes = _reorder(columns, order), np.diff(ends, prepend=0)
        for bucket in np.flatnonzero(sizes).tolist():
            end = int(ends[bucket])
            self._buckets[bucket].append(tuple(column[end - int(sizes[bucket]) : end] for column in columns))
        self._rows += sizes
        self._bytes += self._coming * sizes / max(count, 1)
        self._held += self._coming
        self._waiting, self._coming = [], 0.0
        if self._held > MEMORY:
            self._set_down()

    def _shuffled(self) -> Iterator[Columns]:
        for bucket in np.flatnonzero(self._rows).tolist():
            if self._bytes[bucket] > MEMORY and self._rows[bucket] >= SMALLEST_SPLIT:
                with Shuffler(self._bits, self._folder) as inner:
                    for part in self._bucket(bucket):
                        inner.add(part)
                    yield from inner.pieces()
            else:
                columns = _join(list(self._bucket(bucket)))
                yield _reorder(columns, permutation(len(columns[0]), self._bits))

    def _bucket(self, bucket: int) -> Iterator[Columns]:
        for place in self._places[bucket]:
            with self._opened() as file:
                file.seek(place)
                parts = pickle.load(file)  # noqa: S301 - our own file, which nobody else can open
            yield from parts
        yield from self._buckets[bucket]
        self._buckets[bucket] = []

    def _set_down(self) -> None:
        with self._opened() as file:
            for bucket, parts in enumerate(self._buckets):
                if parts:
                    self._places[bucket].append(file.seek(0, os.SEEK_END))
                    pickle.dump([tuple(map(_by_itself, part)) for part in parts], file, pickle.HIGHEST_PROTOCOL)
            file.flush()
        self._buckets, self._held = [[] for _ in range(BUCKETS)], 0.0

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - open until the end
            yield self._file
        except OSError as error:
            place = str(self._folder or tempfile.gettempdir())
            raise DataFileError(
                f"Reports cannot be set down in {place!r} to be shuffled: {error.strerror or error}. Make room there, "
                f"or write to another folder."
            ) from None


def folder_beside(output: str | Path) -> Path | None:
    """Return the folder of an output, where there is room for reports; None for streams and devices."""
    place = resolved(output)
    is_stream = str(output) == STANDARD_STREAM or (place.exists() and not place.is_file())
    return None if is_stream else place.parent


def _are_many(parts: Sequence[Columns], size: float) -> bool:
    """Whether rows that wait are enough to go on with: by their number or, where they are wide, by their bytes."""
    return size > MEMORY / 4 or sum(len(part[0]) for part in parts) >= PIECE


def _reorder(columns: Columns, order: NDArray[np.int64]) -> Columns:
    return tuple(column[order] if isinstance(column, np.ndarray) else column.take(order) for column in columns)


def _narrow(column: Any) -> Any:
    """Return whole numbers in as few bytes as they need: an age takes one, where numpy gives it eight."""
    if not isinstance(column, np.ndarray) or column.dtype != np.int64 or not column.size:
        return column
    low, high = int(column.min()), int(column.max())
    kinds = (kind for kind in (np.int8, np.int16, np.int32) if np.iinfo(kind).min <= low <= high <= np.iinfo(kind).max)
    return column.astype(next(kinds, np.int64), copy=False)


def _widen(column: Any) -> Any:
    return column.astype(np.int64) if isinstance(column, np.ndarray) and column.dtype.kind == "i" else column


def _size(column: Any) -> float:
    """Return how many bytes a column takes in memory, about."""
    is_objects = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    if is_objects and column.ndim == 1:
        return float(TEXT_BYTES * column.size + sum(map(len, column)))
    return float(column.nbytes) * (1 + (TEXT_BYTES / 8) * is_objects)


def _by_itself(column: Any) -> Any:
    """Return a part of a column by itself: pickled, a slice of Arrow's may bring along all that it is cut from."""
    return column if isinstance(column, np.ndarray) else column.take(np.arange(len(column)))


def _join(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    return tuple(map(_join_column, zip(*parts, strict=True)))


def _join_column(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return require("pyarrow").concat_arrays(parts)

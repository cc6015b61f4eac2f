"""Sums of counts: what a file of counts adds up to, and a digest by which a changed row is noticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataFileError
from confide.files.sheets import require
from confide.limits import COUNT_LIMIT
from confide.wording import digest


class Sums:
    """The number of rows of a file of counts, the sum of its counts and a digest, taken while batches go by."""

    def __init__(self) -> None:
        self.rows, self.people, self._mixed = 0, 0, 0

    def add(self, batch: Any) -> None:
        """Take a batch into account."""
        counts = batch.column(batch.num_columns - 1).to_numpy()
        self.rows += counts.size
        # By halves, for a sum of many large counts could overflow int64.
        self.people += (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
        # Each row is mixed with care and the rows are summed, so that their order and their batches do not matter.
        rows = np.zeros(counts.size, dtype=np.uint64)
        for column in batch.columns:
            rows = _mix(rows + _words(column))
        self._mixed = (self._mixed + int(rows.sum(dtype=np.uint64))) % 2**64

    def watch(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Take batches into account on their way into a file, and refuse what the file could not hold."""
        for batch in batches:
            self.add(batch)
            if self.people >= COUNT_LIMIT:
                raise DataFileError("The counts add up to 2**53 or more, which cannot be. Correct the counts.")
            yield batch

    @property
    def text(self) -> bytes:
        """The sums as the file carries them."""
        return f"{self.rows} {self.people} {self._mixed:016x}".encode()


def _words(column: Any) -> NDArray[np.uint64]:
    """Return a column of numbers or texts as words of 64 bits; a group without a name may be empty or nothing."""
    if not require("pyarrow").types.is_string(column.type):
        return np.ascontiguousarray(column.to_numpy()).view(np.uint64)
    coded = column.fill_null("").dictionary_encode()
    known = [int(digest(text), 16) for text in coded.dictionary.to_pylist()]
    words: NDArray[np.uint64] = np.array(known, dtype=np.uint64)[coded.indices.to_numpy()]
    return words


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words of which each bit depends on all bits of the given ones (Steele et al. 2014, SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))

"""Rows that Python reads with care and hands to DuckDB as a stream of Arrow batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from confide.counting.extras import require_pyarrow
from confide.counting.relations import Relation, json_relation, text_relation
from confide.counting.sources import Choice, Request, Shard
from confide.errors import ConfideError
from confide.files import Reason, explained, open_sheet, opened, split_lines, text_blocks


class Stream(ABC):
    """A stream of some files.

    Attributes
    ----------
    name
        What the stream is called in SQL.
    shards
        The files, in order.
    read
        How many rows have been handed over so far.
    strays
        How many rows were not, by the reason.
    failure
        What went wrong, if anything did: DuckDB would tell it in words of its own.
    """

    def __init__(self, name: str, shards: Sequence[Shard]) -> None:
        self.name, self.shards = name, tuple(shards)
        self.read, self.strays = 0, Counter[str]()
        self.failure: ConfideError | None = None

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """How to select from the stream."""

    @property
    @abstractmethod
    def _names(self) -> Sequence[str]:
        """What its columns are called."""

    @abstractmethod
    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        """Read a file, and return its columns batch by batch."""

    def reader(self) -> Any:
        """Return the stream anew."""
        pyarrow = require_pyarrow()
        self.read, self.strays, self.failure = 0, Counter(), None
        schema = pyarrow.schema([(name, pyarrow.string()) for name in self._names])
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(pyarrow, schema))

    def _batches(self, pyarrow: Any, schema: Any) -> Iterator[Any]:
        try:
            for shard in self.shards:
                for columns in self._tables(shard):
                    arrays = [pyarrow.array(column, pyarrow.string()) for column in columns]
                    self.read += len(arrays[0])
                    yield pyarrow.record_batch(arrays, schema=schema)
        except ConfideError as error:
            self.failure = error
            raise


class CsvStream(Stream):
    """CSV files with quotation marks, or with rows of several widths, or with line ends of several kinds."""

    def __init__(self, name: str, shards: Sequence[Shard], request: Request) -> None:
        super().__init__(name, shards)
        self._request = request
        self._is_counted = any(shard.choice.count is not None for shard in shards)

    @property
    def relation(self) -> Relation:
        """See :attr:`Stream.relation`."""
        by, parts = len(self._request.by), len(self._request.alphabet.field_names)
        count = by + parts if self._is_counted else None
        choice = Choice(tuple(self._names), tuple(range(by, by + parts)), tuple(range(by)), count)
        return text_relation(self.name, choice, str, "NULL")

    @property
    def _names(self) -> Sequence[str]:
        width = len(self._request.by) + len(self._request.alphabet.field_names) + self._is_counted
        return [f"text{place}" for place in range(width)]

    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        with open_sheet(shard.path) as sheet:
            for chunk in sheet.chunks(shard.choice.places):
                self.strays.update(Reason.MISSHAPEN if text else Reason.MISSING for text in chunk.strays.values())
                keys = [key for place, key in enumerate(chunk.keys) if place not in chunk.strays]
                columns = _columns(keys, len(shard.choice.places))
                without_count = self._is_counted and shard.choice.count is None
                yield [*columns, ["1"] * len(keys)] if without_count else columns


class JsonStream(Stream):
    """Files of one JSON object a line; DuckDB takes the objects apart. Blank lines are no rows."""

    @property
    def relation(self) -> Relation:
        """See :attr:`Stream.relation`."""
        return json_relation(self.name, self.shards[0].choice, "CAST(number AS BIGINT)")

    @property
    def _names(self) -> Sequence[str]:
        return ["line", "number"]

    def _tables(self, shard: Shard) -> Iterator[list[list[str]]]:
        number = 0
        with explained(shard.path), opened(shard.path) as stream:
            for block in text_blocks(stream):
                lines = split_lines(block)
                filled = [(line, str(place)) for place, line in enumerate(lines, number + 1) if line.strip()]
                number += len(lines)
                yield _columns(filled, 2)


def _columns(keys: list[Any], width: int) -> list[list[str]]:
    if width == 1:
        return [keys]
    return [list(column) for column in zip(*keys, strict=True)] or [[] for _ in range(width)]

"""Finished cells on disk: each is written as it ends, so that a run that is killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from confide.errors import DataFileError
from reproduction.cells import Record


@dataclass
class Store:
    """The finished cells of one experiment, one line of JSON each, appended and flushed to the disk.

    A line that was cut short by a kill is passed over when the file is read, and its cell is run again.
    """

    path: Path
    finished: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, *, is_fresh: bool = False) -> Store:
        """Read what is there; nothing if it is to be `is_fresh`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_fresh:
            path.unlink(missing_ok=True)
        store = cls(path)
        if path.exists():
            store.finished = {record.key: record for record in _read(path)}
        return store

    def add(self, records: Iterable[Record]) -> None:
        """Write finished cells, and do not return before they are on the disk."""
        kept = list(records)
        lines = "".join(json.dumps(record.to_plain()) + "\n" for record in kept)
        try:
            is_torn = self.path.exists() and not _ends_whole(self.path)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(f"\n{lines}" if is_torn else lines)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise DataFileError(f"{str(self.path)!r} cannot be written: {error.strerror or error}.") from None
        self.finished |= {record.key: record for record in kept}

    def stale(self, settings: set[str]) -> int:
        """Return how many finished cells belong to none of these settings: their declaration has changed."""
        return sum(record.setting not in settings for record in self.finished.values())


def _read(path: Path) -> Iterable[Record]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield Record.from_plain(json.loads(line))
        except (ValueError, TypeError, KeyError):
            continue  # cut short, or written by another version: the cell is run again


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell() == 0:
            return True
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"

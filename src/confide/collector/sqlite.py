"""Store in one file: SQLite, its log written ahead and synchronised at every commit."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from confide.collector.rows import Batch
from confide.collector.stores import LOCK_SECONDS, Store, StoreError, UnavailableError, explained

FAILURES = (sqlite3.Error, OSError)

SETTINGS = (
    "page_size = 1024",  # marks are random: each of a transaction's lies on a page of its own, which is written whole
    "synchronous = FULL",
    "secure_delete = ON",
    f"journal_size_limit = {2**25}",  # a log that keeps its length is synchronised in less time than one that grows
    "wal_autocheckpoint = 16000",
    "cache_size = -65536",
)
"""Settings of a connection: together 9.2 ms for a transaction of 100 batches, where SQLite's own take 13 to 15."""

CLAIM = (
    "INSERT OR IGNORE INTO batches (mark, content, day) SELECT substr(value, 1, 32), substr(value, 33, 32), "
    "CAST(substr(value, 65) AS INTEGER) FROM json_each(?)"
)
KNOWN = "SELECT json_group_array(mark) FROM batches WHERE mark IN (SELECT value FROM json_each(?))"

HANDOVER = 2.0
"""Seconds that a process waits for the one before it to end."""


class SqliteStore(Store):
    """Store in one file."""

    # Rows lie in the order of their keys, of which a mark is random: no order of coming is kept.
    STEPS = tuple(
        tuple(f"{line} WITHOUT ROWID" if "PRIMARY KEY" in line else line for line in step) for step in Store.STEPS
    )

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._counting: sqlite3.Connection | None = None
        self._held: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._refuse_strangers()
        self._identity = self._look()

    def _look(self) -> tuple[int, int] | None:
        """Return which file lies at the path; None where there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _require_file(self) -> None:
        """Refuse where the file is gone, or another in its place: what is written to it then is lost."""
        if self._identity is not None and self._look() != self._identity:
            raise UnavailableError(
                f"The store {self.path} was removed or replaced. Put the same file back, or start the collector anew."
            )

    def _refuse_strangers(self) -> None:
        """Refuse a file that is no database, and a folder that is not there, before anybody waits for them."""
        if not self.path.absolute().parent.is_dir():
            raise StoreError(f"There is no folder {str(self.path.parent)!r} for the store. Make it first.")
        if self.path.is_file() and self.path.stat().st_size:
            with self.path.open("rb") as stream:
                if stream.read(16) != b"SQLite format 3\0":
                    raise StoreError(f"{self.path} is no SQLite database. Name another file with --store.")
        elif not self.path.exists():
            with contextlib.suppress(OSError):  # SQLite says it better
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def hold(self) -> None:
        """See :meth:`Store.hold`: by a lock of SQLite on a file beside the store, which ends with the process."""
        if self._held is not None:
            return
        beside = self.path.absolute().with_name(self.path.name + "-serving")
        with explained(FAILURES, "The store"):
            beside.touch(0o600)
            # Not on the store itself, which curate writes to meanwhile.
            held = sqlite3.connect(beside, HANDOVER, isolation_level=None, check_same_thread=False)
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            held.close()
            raise StoreError(
                f"Another process serves {self.path} already, and a SQLite file is served by one alone. Stop that one, "
                f"or let several processes share a database: --store postgresql://..."
            ) from None
        self._held = held

    def _connect(self) -> sqlite3.Connection:
        self._require_file()
        place = f"{self.path.absolute().as_uri()}?mode=rw"  # never makes a file: an empty one would pass for a store
        connection = sqlite3.connect(place, LOCK_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
        try:
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """See :meth:`Store.reading`."""
        with explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """See :meth:`Store.writing`."""
        with (
            explained(FAILURES, "The store"),
            contextlib.closing(self._connect()) as connection,
            self._transaction(connection),
        ):
            yield connection

    @contextlib.contextmanager
    def counting(self) -> Iterator[sqlite3.Connection]:
        """See :meth:`Store.counting`."""
        with self._lock, explained(FAILURES, "The store"):
            if self._counting is None:
                self._counting = self._connect()
            try:
                with self._transaction(self._counting):
                    yield self._counting
            except BaseException:
                # A connection that failed is not trusted again.
                self._counting.close()
                self._counting = None
                raise

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
            self._require_file()  # after it: whatever was said to be counted is in the file that is there
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def run(self, connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """See :meth:`Store.run`."""
        return connection.execute(statement, values).fetchall()

    def has_tables(self, connection: sqlite3.Connection) -> bool:
        """See :meth:`Store.has_tables`."""
        return bool(self.run(connection, "SELECT 1 FROM sqlite_master WHERE name = 'facts'"))

    def claim(self, connection: sqlite3.Connection, batches: Sequence[Batch]) -> set[str]:
        """See :meth:`Store.claim`."""
        # One statement for all: each step lets go of Python's lock, and may wait long to get it back. In order: on a
        # page, rows lie in the order in which they were written. Digests have 32 characters, and are cut apart again.
        rows = orjson.dumps(sorted(f"{one.mark}{one.content}{one.day}" for one in batches)).decode()
        if connection.execute(CLAIM, [rows]).rowcount == len(batches):  # as nearly always
            return {one.mark for one in batches}
        # Some were there, and nobody knows which any more. Nothing else was written yet: begin again, and look first.
        connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        marks = orjson.dumps([one.mark for one in batches]).decode()
        known = connection.execute(KNOWN, [marks]).fetchone()
        connection.execute(CLAIM, [rows])
        return {one.mark for one in batches}.difference(orjson.loads(known[0]))

    def add(self, connection: sqlite3.Connection, counts: list[list[Any]], accounts: list[list[Any]]) -> None:
        """See :meth:`Store.add`."""
        more = "ON CONFLICT DO UPDATE SET number = number + excluded.number"
        _insert(connection, "counts (survey, day, cell, report, number)", counts, more)
        _insert(connection, "accounts (survey, day, reason, number)", accounts, more)

    def tidy(self) -> None:
        """See :meth:`Store.tidy`: pages in the log tell which came after which."""
        with self._lock, explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            _empty_log(connection)

    def sort(self) -> None:
        """See :meth:`Store.sort`: pages are written anew, for within one of them rows lie as they came."""
        with self._lock, explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            _rewrite(connection)

    def close(self) -> None:
        """See :meth:`Store.close`; after it, nothing in the file tells in which order anything came."""
        with self._lock:
            if self._counting is not None:
                with contextlib.suppress(sqlite3.Error, StoreError):
                    self._require_file()
                    _rewrite(self._counting)
                self._counting.close()
                self._counting = None
            if self._held is not None:
                self._held.close()
                self._held = None


def _rewrite(connection: sqlite3.Connection) -> None:
    """Write all rows anew in the order of their keys, and empty the log."""
    connection.execute("VACUUM")
    _empty_log(connection)


def _empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _insert(connection: sqlite3.Connection, place: str, rows: list[list[Any]], more: str = "") -> None:
    """Insert rows by one statement."""
    if rows:
        parts = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(len(rows[0])))
        connection.execute(
            f"INSERT INTO {place} SELECT {parts} FROM json_each(?) WHERE true {more}", [orjson.dumps(rows).decode()]
        )

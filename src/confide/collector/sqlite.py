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

from confide.collector.stores import Batch, Fate, Store, StoreError, UnavailableError, explained
from confide.collector.wire import LIMITS

FAILURES = (sqlite3.Error, OSError)

CLAIM = (
    "INSERT OR IGNORE INTO batches (mark, content, day) SELECT substr(value, 1, 32), substr(value, 33, 32), "
    "CAST(substr(value, 65) AS INTEGER) FROM json_each(?)"
)

COUNTED = 1
"""Number in the file's head from the first batch on, until the file is written anew in the order of its keys."""


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
        self._log: tuple[int, int] | None = None
        """Which file the log of the connection that counts is."""
        self._has_counted = False
        self._lock = threading.RLock()
        # A file that is no database, and a folder that is not there, are refused before anybody waits for them.
        if not self.path.absolute().parent.is_dir():
            raise StoreError(f"There is no folder {str(self.path.parent)!r} for the store. Make it first.")
        if self.path.is_file() and self.path.stat().st_size:
            with self.path.open("rb") as stream:
                if stream.read(16) != b"SQLite format 3\0":
                    raise StoreError(f"{self.path} is no SQLite database. Name another file with --store.")
        elif not self.path.exists():
            with contextlib.suppress(OSError):  # SQLite says it better
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._identity = self._look()

    def _look(self, ending: str = "") -> tuple[int, int] | None:
        """Return which file lies at the path, or beside it under this ending; None where there is none."""
        try:
            found = self.path.with_name(self.path.name + ending).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _require_file(self) -> None:
        """Refuse where the file is gone, or another in its place: what is written to it then is lost."""
        if self._identity is not None and self._look() != self._identity:
            raise UnavailableError(
                f"The store {self.path} was removed or replaced. Put the same file back, or start the collector anew."
            )

    def _save_log(self) -> None:
        """Write the log to the file where it was removed or replaced, while a connection still has it.

        A new connection would begin another log, and one that goes on in the old one writes what nobody will find.
        """
        with self._lock:
            if self._counting is None or self._log is None or self._look("-wal") == self._log:
                return
            connection, self._counting = self._counting, None
            with contextlib.closing(connection):
                is_whole = _empty_log(connection)
            if not is_whole:
                raise UnavailableError(f"The log {self.path}-wal was removed while it was read. Send this again.")

    def hold(self) -> None:
        # By a lock of SQLite on a file beside the store, which ends with the process.
        if self._held is not None:
            return
        beside = self.path.absolute().with_name(self.path.name + "-serving")
        with explained(FAILURES, "The store"):
            beside.touch(0o600)
            # Not on the store itself, which curate writes to meanwhile. For 2 seconds it waits for another to end.
            held = sqlite3.connect(beside, 2.0, isolation_level=None, check_same_thread=False)
        try:
            with explained(FAILURES, "The store"):
                held.execute("BEGIN EXCLUSIVE")
        except UnavailableError as error:
            held.close()
            if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                raise  # such as a full disk
            raise StoreError(
                f"Another process serves {self.path} already, and a SQLite file is served by one alone. Stop that one, "
                f"or let several processes share a database: --store postgresql://..."
            ) from None
        # A file that is damaged is refused before anything is answered from it or written to it.
        try:
            with self._lock, explained(FAILURES, "The store"):
                try:
                    with contextlib.closing(self._connect()) as connection:
                        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    found = str(error)
        except StoreError:
            held.close()
            raise
        if found != "ok":
            held.close()
            raise StoreError(
                f"The store {self.path} is damaged: {found.splitlines()[-1]}. Put back a copy of it, or save what is "
                f"left: sqlite3 {self.path} .recover"
            )
        self._held = held
        # The one before may have been killed. Where there is no room now, it is done at the end.
        with contextlib.suppress(StoreError):
            self._restore_order()

    def _restore_order(self) -> None:
        """Write the file anew where anything was counted since that was done, by whichever process."""
        with self._lock, explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == COUNTED:
                _rewrite(connection)
                connection.execute("PRAGMA user_version = 0")
                _empty_log(connection)

    def _connect(self) -> sqlite3.Connection:
        self._require_file()
        self._save_log()
        place = f"{self.path.absolute().as_uri()}?mode=rw"  # never makes a file: an empty one would pass for a store
        connection = sqlite3.connect(
            place, LIMITS.lock_seconds, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            # Together 9.2 ms for a transaction of 100 batches, where SQLite's own settings take 13 to 15.
            for setting in (
                "page_size = 1024",  # marks are random: each is on a page of its own, which is written whole
                "synchronous = FULL",
                "secure_delete = ON",
                f"journal_size_limit = {2**25}",  # a log that keeps its length is synchronised faster
                "wal_autocheckpoint = 16000",
                "cache_size = -65536",
                "journal_mode = WAL",
            ):
                connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with (
            explained(FAILURES, "The store"),
            contextlib.closing(self._connect()) as connection,
            self._transaction(connection),
        ):
            yield connection

    @contextlib.contextmanager
    def counting(self) -> Iterator[sqlite3.Connection]:
        with self._lock, explained(FAILURES, "The store"):
            self._save_log()
            if self._counting is None:
                self._counting = self._connect()
                self._log = None
            try:
                if self._log is None:
                    self._counting.execute(f"PRAGMA user_version = {COUNTED}")
                    self._log, self._has_counted = self._look("-wal"), True
                with self._transaction(self._counting):
                    yield self._counting
                self._save_log()  # what was said to be counted is in a log that is there, or in the file
            except BaseException:
                # A connection that failed is not trusted again.
                if self._counting is not None:
                    self._counting.close()
                    self._counting = None
                raise

    def commit(self, batches: Sequence[Batch]) -> list[Fate]:
        fates = super().commit(batches)
        if any(one.invitation is not None for one in batches):
            # The log has the invitation that went and the report that came side by side.
            with contextlib.suppress(StoreError):
                self.tidy()
        return fates

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._require_file()  # before it: what is refused was not counted
            connection.execute("COMMIT")
            self._require_file()  # after it: whatever was said to be counted is in the file that is there
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def run(self, connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return connection.execute(statement, values).fetchall()

    def has_tables(self, connection: sqlite3.Connection) -> bool:
        return bool(self.run(connection, "SELECT 1 FROM sqlite_master WHERE name = 'facts'"))

    def claim(self, connection: sqlite3.Connection, batches: Sequence[Batch]) -> set[str]:
        # One statement for all: each step lets go of Python's lock, and may wait long to get it back. In order: on a
        # page, rows lie in the order in which they were written. Digests have 32 characters, and are cut apart again.
        rows = orjson.dumps(sorted(f"{one.mark}{one.content}{one.day}" for one in batches)).decode()
        if connection.execute(CLAIM, [rows]).rowcount == len(batches):  # as nearly always
            return {one.mark for one in batches}
        # Some were there, and nobody knows which any more. Nothing else was written yet: begin again, and look first.
        # A savepoint would keep each page twice, also where all are new: it made transactions half as long again.
        before = connection.execute("PRAGMA data_version").fetchone()
        connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA data_version").fetchone() != before:  # such as a day or a survey that closed
            raise UnavailableError("Somebody else wrote to the store meanwhile. Send this again.")
        marks = orjson.dumps([one.mark for one in batches]).decode()
        statement = "SELECT json_group_array(mark) FROM batches WHERE mark IN (SELECT value FROM json_each(?))"
        known = connection.execute(statement, [marks]).fetchone()
        connection.execute(CLAIM, [rows])
        return {one.mark for one in batches}.difference(orjson.loads(known[0]))

    def spread(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        # One statement for all rows of a table, as in `claim`.
        parts = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(len(columns)))
        return f"SELECT {parts} FROM json_each(?) WHERE true", [orjson.dumps(rows).decode()]

    def tidy(self) -> None:
        # Pages in the log tell which came after which.
        with self._lock, explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            _empty_log(connection)

    def sort(self) -> None:
        # Pages are written anew, for within one of them rows lie as they came.
        with self._lock, explained(FAILURES, "The store"), contextlib.closing(self._connect()) as connection:
            _rewrite(connection)

    def close(self) -> None:
        # After it, nothing in the file tells in which order anything came.
        with self._lock:
            if self._has_counted or self._held is not None:
                with contextlib.suppress(StoreError):
                    self._restore_order()
            self._has_counted = False
            if self._counting is not None:
                self._counting.close()
                self._counting = None
            if self._held is not None:
                self._held.close()
                self._held = None


def _rewrite(connection: sqlite3.Connection) -> None:
    """Write all rows anew in the order of their keys, and empty the log."""
    connection.execute("VACUUM")
    _empty_log(connection)


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log to the file and empty it; return whether the checkpoint completed."""
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

"""Store in PostgreSQL, which several processes may share."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, TypeVar

from confide.collector.stores import Batch, Fate, Store
from confide.collector.wire import LIMITS
from confide.errors import InvalidParameterError, MissingExtraError

try:
    import psycopg
    from psycopg import errors
except ImportError:
    raise MissingExtraError("psycopg", "A store in PostgreSQL", "postgresql") from None

Connection = psycopg.Connection[tuple[Any, ...]]

LOCK = 0x636F6E66
"""Advisory lock: one process at a time creates tables or changes settings."""

GATE = LOCK + 1
"""Advisory lock: shared by transactions that count, exclusive for closing a day or a survey."""


Found = TypeVar("Found")


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """Connection that ends itself if the database is silent for too long."""

    seconds = LIMITS.database_seconds

    def wait(self, gen: Generator[Any, Any, Found], *given: Any, **more: Any) -> Found:
        def hurry() -> Generator[Any, Any, Found]:
            end = time.monotonic() + self.seconds
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() > end:
                        self.pgconn.finish()  # at once: undoing the transaction would wait as long again
                        raise psycopg.OperationalError(f"No answer for {self.seconds:g} seconds.")
                    wanted = gen.send(ready)
            except StopIteration as ended:
                found: Found = ended.value
                return found

        return super().wait(hurry(), *given, **more)


class PostgresStore(Store):
    """Store in PostgreSQL."""

    failures = (psycopg.Error,)
    called = "The database"

    def __init__(self, url: str) -> None:
        self._url = url
        self._counting: Connection | None = None
        self._lock = threading.Lock()

    def _connect(self) -> Connection:
        seconds = LIMITS.lock_seconds
        connection = TimedConnection.connect(self._url, connect_timeout=int(seconds), autocommit=True)
        try:
            # Override the server's default: we answer when the reports are durable.
            limits = f"SET lock_timeout = '{seconds:g}s'; SET statement_timeout = '{LIMITS.database_seconds:g}s'"
            connection.execute(f"SET synchronous_commit = on; {limits}".encode())
        except psycopg.Error:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.explained(), contextlib.closing(self._connect()) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.transaction():
                yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.explained(), contextlib.closing(self._connect()) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            yield connection

    @contextlib.contextmanager
    def counting(self) -> Iterator[Connection]:
        with self._lock:
            if self._counting is None:
                self._counting = self._connect()
            try:
                with self._counting.transaction():
                    self._counting.execute("SELECT pg_advisory_xact_lock_shared(%s)", [GATE])
                    yield self._counting
            except BaseException:
                self._counting.close()
                self._counting = None
                raise

    def gate(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [GATE])

    def take_time(self, connection: Connection) -> None:
        connection.execute("SET statement_timeout = 0")
        if isinstance(connection, TimedConnection):
            connection.seconds = 3600.0  # for statements that forget marks, or put rows in order

    def require_invitable(self) -> None:
        raise InvalidParameterError(
            "Invitations are not for PostgreSQL: it keeps deleted rows for a while, and a log, from which anyone with "
            "its disk could find out which invitation brought which report. Keep such a survey in a file: --store FILE."
        )

    def _spend(self, connection: Connection, batch: Batch) -> bool:
        if batch.invitation is not None:
            self.require_invitable()
        return super()._spend(connection, batch)

    def commit(self, batches: Sequence[Batch]) -> list[Fate]:
        # Up to five times: PostgreSQL may roll a transaction back in favour of another process.
        with self.explained():
            for _ in range(4):
                with contextlib.suppress(errors.DeadlockDetected, errors.SerializationFailure):
                    return super().commit(batches)
            return super().commit(batches)

    def run(self, connection: Connection, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = connection.execute(statement.replace("?", "%s").encode(), list(values))
        return cursor.fetchall() if cursor.description is not None else []

    def has_tables(self, connection: Connection) -> bool:
        return bool(self.run(connection, "SELECT to_regclass('facts') IS NOT NULL")[0][0])

    def claim(self, connection: Connection, batches: Sequence[Batch]) -> set[str]:
        if not batches:
            return set()
        # Sorted by mark, so that two processes lock rows in the same order.
        rows = sorted((one.mark, one.content, one.day) for one in batches)
        selected, values = self.spread(["mark", "content", "day"], rows)
        more = "ON CONFLICT DO NOTHING RETURNING mark"
        found = self.run(connection, f"INSERT INTO batches (mark, content, day) {selected} {more}", values)
        return {mark for (mark,) in found}

    def spread(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        kinds = {"survey": "int", "day": "int", "number": "bigint"}  # all others are texts
        marks = ", ".join(f"?::{kinds.get(name, 'text')}[]" for name in columns)
        return f"SELECT * FROM unnest({marks})", [list(column) for column in zip(*rows, strict=True)]

    def sort(self) -> None:
        # Rows lie in the order of writing, and carry the number of their transaction.
        with self.explained(), contextlib.closing(self._connect()) as connection:
            self.take_time(connection)
            for table in ("batches", "counts", "accounts"):
                connection.execute(f"CLUSTER {table} USING {table}_pkey".encode())

    def close(self) -> None:
        with self._lock:
            if self._counting is not None:
                self._counting.close()
                self._counting = None

"""Store of a collector.

Surveys, counts by day, marks of batches, tokens, invitations; nothing else.

A mark is a digest of a batch's random id. Its content is a digest of the batch, keyed with that id. The device alone
chose the id, 128 random bits, so nobody with the database alone can check a guess against either.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from confide.collector.wire import LIMITS, Wire
from confide.errors import ConfideError, InvalidParameterError, MissingExtraError
from confide.surveys.survey import Survey
from confide.values import Indices
from confide.values.checks import check_choice

try:
    import orjson
except ImportError:
    raise MissingExtraError("orjson", "A collector", "collector") from None


class Fate(Enum):
    """Outcome of a batch in a transaction."""

    COUNTED = "counted"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    CLOSED = "closed"
    SPENT = "spent"
    PAST = "past"


class Batch(NamedTuple):
    """A batch that was read and judged, ready to be counted."""

    mark: str
    content: str
    survey: int
    day: int
    cell: str
    counts: dict[str, int] | Indices
    accepted: int
    rejected: dict[str, int]
    wire: Wire
    invitation: str | None = None


@dataclass(frozen=True)
class StoredSurvey:
    """A survey of the store.

    Attributes
    ----------
    number
        Its key in other tables.
    fingerprint, document
        Its public name, and the survey as JSON.
    admission
        Who may upload: one of `ADMISSIONS`.
    is_closed
        Whether it takes no more reports.
    is_simulated
        Whether it is a trial: all its reports count as simulated.
    """

    number: int
    fingerprint: str
    document: str
    admission: str = "open"
    is_closed: bool = False
    is_simulated: bool = False

    @property
    def survey(self) -> Survey:
        """The survey."""
        return Survey.from_json(self.document)


@dataclass(frozen=True)
class StoredToken:
    """A token: name, role, fingerprint of its survey (empty for all), digest."""

    name: str
    role: str
    survey: str
    digest: str


class CountRow(NamedTuple):
    """Count of one report of one group on one day.

    A cell is the groups of a batch as a list in JSON, empty without.
    """

    day: int
    cell: str
    report: str
    number: int


def add_up_batches(batches: Sequence[Batch]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return rows of counts and of accounts, sorted, each key once."""
    parts: dict[tuple[int, int, str], list[Batch]] = {}
    accounts = Counter[tuple[int, int, str]]()
    for batch in batches:
        parts.setdefault((batch.survey, batch.day, batch.cell), []).append(batch)
        for reason, number in ((ACCEPTED, batch.accepted), *batch.rejected.items()):
            accounts[batch.survey, batch.day, reason] += number
    counts: list[list[Any]] = []
    for key, own in sorted(parts.items()):
        sums = own[0].wire.add_up(batch.counts for batch in own)
        counts += [[*key, text, number] for text, number in sorted(sums.items())]
    return counts, [[*key, number] for key, number in sorted(accounts.items())]


ACCEPTED = ""
"""Key of accepted reports in an account, where others have a reason."""

ADMISSIONS = ("open", "token", "invited")
"""Who may upload: anybody, holders of a token, holders of an unspent invitation."""


class StoreError(ConfideError):
    """A store that cannot be used."""


class MixingError(StoreError):
    """A survey that would be both simulated and real."""


class UnavailableError(StoreError):
    """A store that is full, read-only, busy or gone: nothing was counted.

    Send it again.
    """


class _UndoneError(Exception):
    """Ends a transaction that was only a test."""


class Store(ABC):
    """Database of a collector.

    `commit` is called from one thread, all else from any.
    """

    STEPS: ClassVar[Sequence[Sequence[str]]] = (
        (
            "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
            (
                "CREATE TABLE surveys (number INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, document TEXT NOT "
                "NULL, admission TEXT NOT NULL, is_closed INTEGER NOT NULL, is_simulated INTEGER NOT NULL)"
            ),
            "CREATE TABLE batches (mark TEXT PRIMARY KEY, content TEXT NOT NULL, day INTEGER NOT NULL)",
            (
                "CREATE TABLE counts (survey INTEGER NOT NULL, day INTEGER NOT NULL, cell TEXT NOT NULL, report TEXT "
                "NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (survey, day, cell, report))"
            ),
            (
                "CREATE TABLE accounts (survey INTEGER NOT NULL, day INTEGER NOT NULL, reason TEXT NOT NULL, number "
                "BIGINT NOT NULL, PRIMARY KEY (survey, day, reason))"
            ),
            (
                "CREATE TABLE tokens (name TEXT PRIMARY KEY, role TEXT NOT NULL, survey TEXT NOT NULL, digest TEXT NOT "
                "NULL)"
            ),
        ),
        ("CREATE TABLE invitations (digest TEXT PRIMARY KEY, survey INTEGER NOT NULL)",),
    )
    """Migrations of the tables, starting from an empty database; their number is the version.

    To change the tables, append a step. Never change a released one.
    """

    # What differs between databases.

    failures: ClassVar[tuple[type[Exception], ...]]
    """Errors of the database, which clients get as `UnavailableError`."""

    called: ClassVar[str]
    """What the database is called in that error."""

    @abstractmethod
    def reading(self) -> contextlib.AbstractContextManager[Any]:
        """Open a connection for a few reads of one consistent state."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Any]:
        """Open a transaction for anything but batches."""

    @abstractmethod
    def counting(self) -> contextlib.AbstractContextManager[Any]:
        """Open a transaction on the connection for batches; durable when it ends."""

    @abstractmethod
    def run(self, connection: Any, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement with ``?`` for each value, and return the rows."""

    @abstractmethod
    def has_tables(self, connection: Any) -> bool:
        """Whether there is a store in the database at all."""

    @abstractmethod
    def claim(self, connection: Any, batches: Sequence[Batch]) -> set[str]:
        """Insert the marks of batches, sorted, and return the new ones."""

    @abstractmethod
    def spread(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """Return SQL that selects these rows, and its values."""

    # Hooks that do nothing by default.

    def gate(self, connection: Any) -> None:  # noqa: B027
        """Lock out transactions that count until this one ends."""

    def take_time(self, connection: Any) -> None:  # noqa: B027
        """Lift the time limit on statements of this connection."""

    def require_invitable(self) -> None:  # noqa: B027
        """Refuse invitations if the database would link each to its report."""

    def tidy(self) -> None:  # noqa: B027
        """Remove traces of the order of arrival that the database keeps."""

    def hold(self) -> None:  # noqa: B027
        """Claim the store for this process, if only one may serve it."""

    @abstractmethod
    def sort(self) -> None:
        """Rewrite rows in the order of their keys."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    # The same for all databases.

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the database into `UnavailableError`, without the data written."""
        try:
            yield
        except self.failures as error:
            said = str(error).splitlines()[0] or type(error).__name__
            raise UnavailableError(f"{self.called} cannot be used now: {said}") from error

    def commit(self, batches: Sequence[Batch]) -> list[Fate]:
        """Count batches durably in one transaction, each exactly once; return their fates."""
        with self.counting() as connection:
            closed, horizon = self._limits(connection)
            # Check the day again: marks of earlier days may have been removed since the batch arrived.
            current = [one for one in batches if one.day >= horizon]
            firsts = self._firsts(connection, current)
            claimed = self.claim(connection, [one for one in firsts.values() if one.survey not in closed])
            contents = {one.mark: one.content for one in firsts.values() if one.mark in claimed}
            known = [mark for mark in firsts if mark not in claimed]
            contents |= self._some(connection, "SELECT mark, content FROM batches WHERE mark", known)
            spent = {mark for mark in claimed if not self._spend(connection, firsts[mark])}
            fates = []
            for batch in batches:  # the same message twice in one transaction is counted once
                content = contents.get(batch.mark)
                if batch.day < horizon:
                    fates.append(Fate.PAST)
                elif batch.mark in spent:
                    fates.append(Fate.SPENT)
                elif content is None:
                    fates.append(Fate.CLOSED)
                elif content != batch.content:
                    fates.append(Fate.CONFLICT)
                else:
                    fates.append(Fate.COUNTED if batch.mark in claimed else Fate.REPEATED)
                    claimed.discard(batch.mark)
            fresh = [batch for batch, fate in zip(batches, fates, strict=True) if fate is Fate.COUNTED]
            if fresh:
                counts, accounts = add_up_batches(fresh)
                # Sorted, so that two processes lock rows in the same order. Accounts first, which are few rows: the
                # process that gets that lock proceeds, and the others wait with little done.
                for table, keys, rows in (
                    ("accounts", "survey, day, reason", accounts),
                    ("counts", "survey, day, cell, report", counts),
                ):
                    if rows:
                        selected, values = self.spread([*keys.split(", "), "number"], rows)
                        more = f"ON CONFLICT ({keys}) DO UPDATE SET number = {table}.number + excluded.number"
                        self.run(connection, f"INSERT INTO {table} ({keys}, number) {selected} {more}", values)
        return fates

    def _limits(self, connection: Any) -> tuple[set[int], int]:
        """Return closed surveys and first open day, fixed in this transaction."""
        rows = self.run(
            connection,
            "SELECT 'closed', number FROM surveys WHERE is_closed = 1 "
            "UNION ALL SELECT name, CAST(value AS INTEGER) FROM facts WHERE name = 'horizon'",
        )
        closed = {number for what, number in rows if what == "closed"}
        return closed, max((day for what, day in rows if what == "horizon"), default=0)

    def _firsts(self, connection: Any, batches: Sequence[Batch]) -> dict[str, Batch]:
        """Return the first batch of each mark, preferring a valid invitation."""
        firsts = {batch.mark: batch for batch in reversed(batches)}
        if len(firsts) == len(batches):
            return firsts
        invited = sorted({batch.invitation for batch in batches if batch.invitation is not None})
        good = {None, *self._some(connection, "SELECT digest, digest FROM invitations WHERE digest", invited)}
        return firsts | {batch.mark: batch for batch in reversed(batches) if batch.invitation in good}

    def _some(self, connection: Any, statement: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the pairs that a statement finds for these keys."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), 500):  # databases limit the values of a statement
            some = keys[start : start + 500]
            found |= dict(self.run(connection, f"{statement} IN ({', '.join('?' * len(some))})", some))
        return found

    def _spend(self, connection: Any, batch: Batch) -> bool:
        """Spend a batch's invitation, if any.

        Undo the claim if it is not valid.
        """
        if batch.invitation is None:
            return True
        values = [batch.invitation, batch.survey]
        if self.run(connection, "DELETE FROM invitations WHERE digest = ? AND survey = ? RETURNING digest", values):
            return True
        self.run(connection, "DELETE FROM batches WHERE mark = ?", [batch.mark])
        return False

    def prepare(self) -> None:
        """Create or upgrade the tables in one transaction."""
        newest = len(self.STEPS)
        with self.writing() as connection:
            known = self._read_fact(connection, "version") if self.has_tables(connection) else 0
            if known > newest:
                raise StoreError(
                    f"The store has version {known}, made by a newer confide; this one knows {newest}. Update confide."
                )
            for statement in (statement for step in self.STEPS[known:] for statement in step):
                self.run(connection, statement)
            if known < newest:
                self._write_fact(connection, "version", newest)

    def surveys(self) -> list[StoredSurvey]:
        """Return all surveys."""
        statement = "SELECT number, fingerprint, document, admission, is_closed, is_simulated FROM surveys"
        with self.reading() as connection:
            rows = self.run(connection, statement)
        return [StoredSurvey(row[0], row[1], row[2], row[3], bool(row[4]), bool(row[5])) for row in rows]

    def add_survey(self, survey: Survey, admission: str = "open", *, is_simulated: bool = False) -> StoredSurvey:
        """Add a survey, or return the one that has this fingerprint already."""
        if admission == "invited":
            self.require_invitable()
        is_simulated = is_simulated or bool(survey.simulated)
        statement = (
            "INSERT INTO surveys (number, fingerprint, document, admission, is_closed, is_simulated) "
            "SELECT COALESCE(MAX(number), 0) + 1, ?, ?, ?, 0, ? FROM surveys WHERE true ON CONFLICT DO NOTHING"
        )
        with self.writing() as connection:
            self.run(connection, statement, [survey.fingerprint, survey.to_json(), admission, int(is_simulated)])
        found = next((one for one in self.surveys() if one.fingerprint == survey.fingerprint), None)
        if found is None:  # another process took the number at the same moment
            return self.add_survey(survey, admission, is_simulated=is_simulated)
        if found.is_simulated != is_simulated:
            raise MixingError(
                f"The store holds {'simulated' if found.is_simulated else 'real'} reports of this survey, and the two "
                f"do not mix. Name another store."
            )
        return found

    def close_survey(self, fingerprint: str) -> None:
        """Close a survey for good."""
        with self.writing() as connection:
            self.gate(connection)
            statement = "UPDATE surveys SET is_closed = 1 WHERE fingerprint = ? RETURNING number"
            done = self.run(connection, statement, [fingerprint])
        if not done:
            raise InvalidParameterError(f"The store has no survey {fingerprint!r}.")

    def admit(self, fingerprint: str, admission: str) -> None:
        """Set who may upload."""
        if admission == "invited":
            self.require_invitable()
        with self.writing() as connection:
            self.run(connection, "UPDATE surveys SET admission = ? WHERE fingerprint = ?", [admission, fingerprint])

    def account(self, number: int) -> dict[str, int]:
        """Return the number of reports by reason, accepted under `ACCEPTED`."""
        with self.reading() as connection:
            return self._account(connection, number)

    def balance(self, number: int) -> tuple[list[CountRow], dict[str, int]]:
        """Return a survey's counts and account, from one consistent read."""
        statement = "SELECT day, cell, report, number FROM counts WHERE survey = ? ORDER BY day, cell, report"
        with self.reading() as connection:
            rows = self.run(connection, statement, [number])
            return [CountRow(*row) for row in rows], self._account(connection, number)

    def _account(self, connection: Any, number: int) -> dict[str, int]:
        statement = "SELECT reason, CAST(SUM(number) AS BIGINT) FROM accounts WHERE survey = ? GROUP BY reason"
        return dict(self.run(connection, statement, [number]))

    def tokens(self) -> list[StoredToken]:
        """Return all tokens, with digests in place of secrets."""
        with self.reading() as connection:
            rows = self.run(connection, "SELECT name, role, survey, digest FROM tokens ORDER BY name")
        return [StoredToken(*row) for row in rows]

    def revoke(self, name: str) -> None:
        """Remove a token."""
        with self.writing() as connection:
            if not self.run(connection, "DELETE FROM tokens WHERE name = ? RETURNING name", [name]):
                raise InvalidParameterError(f"There is no token called {name!r}.")

    def invite(self, number: int, digests: Iterable[str]) -> None:
        """Add invitations, sorted by digest so that their order reveals nothing."""
        self.require_invitable()
        with self.writing() as connection:
            for digest in sorted(digests):
                self.run(connection, "INSERT INTO invitations (digest, survey) VALUES (?, ?)", [digest, number])

    def invitations(self, number: int) -> int:
        """Return the number of unspent invitations."""
        with self.reading() as connection:
            return int(self.run(connection, "SELECT COUNT(*) FROM invitations WHERE survey = ?", [number])[0][0])

    def horizon(self) -> int:
        """Return the first open day: marks of earlier days are gone."""
        with self.reading() as connection:
            return self._read_fact(connection, "horizon")

    def window(self) -> int:
        """Return how many days back reports are taken; 0 if not set."""
        with self.reading() as connection:
            return self._read_fact(connection, "window")

    def set_window(self, days: int) -> None:
        """Set how many days back reports are taken; forgotten days stay closed."""
        most = 3660  # ten years: the collector lists all open days
        if not 1 <= days <= most:
            raise InvalidParameterError(f"--window takes a number of days from 1 to {most:,}; got {days:,}.")
        with self.writing() as connection:
            self._write_fact(connection, "window", days)

    def reopen(self, first: date) -> None:
        """Reopen days whose marks are gone.

        A batch counted before would count again.
        """
        with self.writing() as connection:
            self.gate(connection)
            for name in ("horizon", "forgotten"):
                self._write_fact(connection, name, first.toordinal())

    def _read_fact(self, connection: Any, name: str) -> int:
        rows = self.run(connection, "SELECT value FROM facts WHERE name = ?", [name])
        return int(rows[0][0]) if rows else 0

    def _write_fact(self, connection: Any, name: str, value: int) -> None:
        more = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self.run(connection, f"INSERT INTO facts (name, value) VALUES (?, ?) {more}", [name, str(value)])

    def newest(self) -> int:
        """Return the newest day of any report; 0 if there are none."""
        with self.reading() as connection:
            return int(self.run(connection, "SELECT COALESCE(MAX(day), 0) FROM accounts")[0][0])

    def forget(self, before: date) -> None:
        """Remove the marks of earlier days for good, after moving the horizon.

        If a process is killed halfway, the next call finishes the work.
        """
        with self.writing() as connection:
            self.gate(connection)
            day = max(before.toordinal(), self._read_fact(connection, "horizon"))
            if day <= self._read_fact(connection, "forgotten"):
                return
            self._write_fact(connection, "horizon", day)
        with self.reading() as connection:
            self.take_time(connection)
            has_marks = bool(self.run(connection, "SELECT 1 FROM batches WHERE day < ? LIMIT 1", [day]))
        if has_marks:
            for start in "0123456789abcdef":  # in pieces, so that batches do not wait for all of it
                with self.writing() as connection:
                    self.take_time(connection)
                    ends = [start, f"{start}g", day]
                    self.run(connection, "DELETE FROM batches WHERE mark >= ? AND mark < ? AND day < ?", ends)
            self.sort()
        with self.writing() as connection:
            if self._read_fact(connection, "horizon") == day:  # unless somebody reopened days meanwhile
                self._write_fact(connection, "forgotten", day)

    def look(self) -> None:
        """Raise `UnavailableError` if the store is not writable; undo the test."""
        with contextlib.suppress(_UndoneError), self.writing() as connection:
            self.run(connection, "UPDATE facts SET value = value WHERE name = 'version'")
            raise _UndoneError

    def check(self) -> None:
        """Raise `UnavailableError` if there is no room to count.

        Write and delete 64 KiB.
        """
        for values in (["." * 2**16], []):
            with self.writing() as connection:
                self.run(connection, "DELETE FROM facts WHERE name = 'check'")
                if values:
                    self.run(connection, "INSERT INTO facts (name, value) VALUES ('check', ?)", values)


def open_store(url: str) -> Store:
    """Open the store at a path or ``postgresql://...``, and prepare its tables."""
    if url.startswith(("postgresql://", "postgres://")):
        from confide.collector.postgresql import PostgresStore

        store: Store = PostgresStore(url)
    else:
        store = SqliteStore(url.removeprefix("sqlite:///"))
    store.prepare()
    return store


ROLES = {"upload": ("upload",), "read": ("read",), "administer": ("upload", "read", "administer")}
"""Rights of each role."""


def make_token(store: Store, role: str, name: str = "", survey: str = "") -> tuple[str, str]:
    """Make a token, store its digest, and return name and token."""
    check_choice("role", role, tuple(ROLES))
    secret = f"confide-{secrets.token_urlsafe(32)}"
    named = name or f"{role}-{secrets.token_hex(3)}"
    if any(one.name == named for one in store.tokens()):
        raise InvalidParameterError(f"There is a token called {named!r}. Revoke it, or name another.")
    with store.writing() as connection:
        values = [named, role, survey, digest_secret(secret)]
        store.run(connection, "INSERT INTO tokens (name, role, survey, digest) VALUES (?, ?, ?, ?)", values)
    return named, secret


def first_token(store: Store) -> str | None:
    """Make the curator's token; None if somebody can already administer the store."""
    if any(token.role == "administer" for token in store.tokens()):
        return None
    try:
        return make_token(store, "administer", "curator")[1]
    except ConfideError:  # two collectors started at once on one store, and the other was first
        if any(token.role == "administer" for token in store.tokens()):
            return None
        raise


def make_invitations(store: Store, number: int, people: int) -> list[str]:
    """Make invitations to a survey, one for each person."""
    # 100 random bits each, in letters and digits that are hard to confuse: four groups of five.
    texts = [base64.b32encode(secrets.token_bytes(13)).decode().lower() for _ in range(people)]
    codes = ["-".join(text[start : start + 5] for start in range(0, 20, 5)) for text in texts]
    store.invite(number, map(digest_invitation, codes))
    return codes


def digest_secret(secret: str) -> str:
    """Return the stored digest of a secret."""
    # Secrets have 256 random bits, so guessing is hopeless and one plain SHA-256 is enough.
    return hashlib.sha256(secret.encode()).hexdigest()


def digest_invitation(code: str) -> str:
    """Return the stored digest of an invitation, in any spelling."""
    return digest_secret(f"invitation {code.strip().lower().replace('-', '')}")


def is_allowed(secret: str, role: str, tokens: Iterable[StoredToken], survey: str = "") -> bool:
    """Whether a token allows this.

    Compare with all of them, in constant time.
    """
    given, found = digest_secret(secret), False
    for token in tokens:
        is_same = hmac.compare_digest(given, token.digest)
        found |= is_same and role in ROLES.get(token.role, ()) and token.survey in ("", survey)
    return found


class SqliteStore(Store):
    """Store in one SQLite file, with a log synchronised at every commit."""

    failures = (sqlite3.Error, OSError)
    called = "The store"
    _counted = 1
    """`user_version` of a file with batches that it has not yet rewritten in the order of its keys."""

    # Rows lie in the order of their keys, and marks are random: the order of arrival is not kept.
    STEPS = tuple(
        tuple(f"{line} WITHOUT ROWID" if "PRIMARY KEY" in line else line for line in step) for step in Store.STEPS
    )

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._counting: sqlite3.Connection | None = None
        self._held: sqlite3.Connection | None = None
        self._log: tuple[int, int] | None = None
        """Device and inode of the log of the connection that counts."""
        self._has_counted = False
        self._lock = threading.RLock()
        # Refuse a missing folder or a file that is no database at once, before anybody waits for it.
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
        """Return device and inode of the store, or of a companion file."""
        try:
            found = self.path.with_name(self.path.name + ending).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _require_file(self) -> None:
        """Raise if the file was removed or replaced.

        What we write then would be lost.
        """
        if self._identity is not None and self._look() != self._identity:
            raise UnavailableError(
                f"The store {self.path} was removed or replaced. Put the same file back, or start the collector anew."
            )

    def _save_log(self) -> None:
        """Save a removed or replaced log while it is still open.

        A new connection would start another log, and writes to the old one would be lost.
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
        # An SQLite lock on a file beside the store, which ends with the process.
        if self._held is not None:
            return
        beside = self.path.absolute().with_name(self.path.name + "-serving")
        with contextlib.ExitStack() as undoing:
            with self.explained():
                beside.touch(0o600)
                # Not on the store itself, because `confide curate` writes to it. Wait 2 seconds for another to end.
                lock = sqlite3.connect(beside, 2.0, isolation_level=None, check_same_thread=False)
            held = undoing.enter_context(contextlib.closing(lock))
            try:
                with self.explained():
                    held.execute("BEGIN EXCLUSIVE")
            except UnavailableError as error:
                if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise  # such as a full disk
                raise StoreError(
                    f"Another process serves {self.path} already, and a SQLite file is served by one alone. Stop that "
                    f"one, or let several processes share a database: --store postgresql://..."
                ) from None
            # Refuse a damaged file before we answer from it or write to it.
            with self._lock, self.explained():
                try:
                    with contextlib.closing(self._connect()) as connection:
                        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    found = str(error)
            if found != "ok":
                raise StoreError(
                    f"The store {self.path} is damaged: {found.splitlines()[-1]}. Put back a copy of it, or save what "
                    f"is left: sqlite3 {self.path} .recover"
                )
            undoing.pop_all()  # sound: the lock is kept
        self._held = held
        # The last process may have been killed. If there is no room now, close() does it.
        with contextlib.suppress(StoreError):
            self._restore_order()

    def _restore_order(self) -> None:
        """Rewrite the file in key order if any process counted since."""
        with self._lock, self.explained(), contextlib.closing(self._connect()) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] == self._counted:
                # Before the file says that it is in order: a kill in between must not leave a log that shows another.
                _rewrite(connection)
                connection.execute("PRAGMA user_version = 0")
                _empty_log(connection)

    def _connect(self) -> sqlite3.Connection:
        self._require_file()
        self._save_log()
        place = f"{self.path.absolute().as_uri()}?mode=rw"  # never create a file: an empty one would pass for a store
        connection = sqlite3.connect(
            place, LIMITS.lock_seconds, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            # Together 9.2 ms for a transaction of 100 batches, where SQLite's own settings take 13 to 15.
            for setting in (
                "page_size = 1024",  # marks are random: each dirties a page of its own, which is written whole
                "synchronous = FULL",
                "secure_delete = ON",
                f"journal_size_limit = {2**25}",  # a log of constant length is synchronised faster
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
        with self.explained(), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with (
            self.explained(),
            contextlib.closing(self._connect()) as connection,
            self._transaction(connection),
        ):
            yield connection

    @contextlib.contextmanager
    def counting(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self.explained():
            self._save_log()
            if self._counting is None:
                self._counting = self._connect()
                self._log = None
            try:
                if self._log is None:
                    self._counting.execute(f"PRAGMA user_version = {self._counted}")
                    self._log, self._has_counted = self._look("-wal"), True
                with self._transaction(self._counting):
                    yield self._counting
                self._save_log()  # what we report as counted is in an existing log, or in the file
            except BaseException:
                # Do not trust a failed connection again.
                if self._counting is not None:
                    self._counting.close()
                    self._counting = None
                raise

    def commit(self, batches: Sequence[Batch]) -> list[Fate]:
        fates = super().commit(batches)
        if any(one.invitation is not None for one in batches):
            # The log would show the deleted invitation next to its report.
            with contextlib.suppress(StoreError):
                self.tidy()
        return fates

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._require_file()  # before: what we refuse was not counted
            connection.execute("COMMIT")
            self._require_file()  # after: what we report as counted is in the file at the path
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def run(self, connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return connection.execute(statement, values).fetchall()

    def has_tables(self, connection: sqlite3.Connection) -> bool:
        return bool(self.run(connection, "SELECT 1 FROM sqlite_master WHERE name = 'facts'"))

    def claim(self, connection: sqlite3.Connection, batches: Sequence[Batch]) -> set[str]:
        # One statement for all: each step releases Python's lock and may wait long to get it back. Sorted, because
        # rows of a page lie in the order of writing. Digests have 32 characters, so substr can split them again.
        rows = orjson.dumps(sorted(f"{one.mark}{one.content}{one.day}" for one in batches)).decode()
        claim = (
            "INSERT OR IGNORE INTO batches (mark, content, day) SELECT substr(value, 1, 32), substr(value, 33, 32), "
            "CAST(substr(value, 65) AS INTEGER) FROM json_each(?)"
        )
        if connection.execute(claim, [rows]).rowcount == len(batches):  # as nearly always
            return {one.mark for one in batches}
        # Some were there, and we no longer know which. Nothing else was written yet, so roll back and look first.
        # A savepoint would keep each page twice even if all are new: it made transactions 50% longer.
        before = connection.execute("PRAGMA data_version").fetchone()
        connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA data_version").fetchone() != before:  # such as a day or a survey that closed
            raise UnavailableError("Somebody else wrote to the store meanwhile. Send this again.")
        marks = orjson.dumps([one.mark for one in batches]).decode()
        statement = "SELECT json_group_array(mark) FROM batches WHERE mark IN (SELECT value FROM json_each(?))"
        known = connection.execute(statement, [marks]).fetchone()
        connection.execute(claim, [rows])
        return {one.mark for one in batches}.difference(orjson.loads(known[0]))

    def spread(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        # One statement for all rows of a table, as in `claim`.
        parts = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(len(columns)))
        return f"SELECT {parts} FROM json_each(?) WHERE true", [orjson.dumps(rows).decode()]

    def tidy(self) -> None:
        # The pages in the log show the order of arrival.
        with self._lock, self.explained(), contextlib.closing(self._connect()) as connection:
            _empty_log(connection)

    def sort(self) -> None:
        # Rewrite all pages: within a page, rows lie in the order of arrival.
        with self._lock, self.explained(), contextlib.closing(self._connect()) as connection:
            _rewrite(connection)

    def close(self) -> None:
        # Afterwards nothing in the file shows the order of arrival.
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
    """Rewrite all rows in key order, and empty the log."""
    connection.execute("VACUUM")
    _empty_log(connection)


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log to the file and empty it.

    Return whether the checkpoint completed.
    """
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

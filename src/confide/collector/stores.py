"""Store of a collector: surveys, counts by day, marks of batches, tokens, invitations; and nothing else.

A mark is a digest of a batch's random id, and its content a digest of what the batch says under that id as the key:
whoever has the database and not the id, 128 random bits that the device alone chose, can check no guess against either.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from confide.collector.wire import LIMITS, Wire
from confide.errors import ConfideError, InvalidParameterError
from confide.surveys.survey import Survey
from confide.values import Indices
from confide.values.checks import check_choice


class Fate(Enum):
    """What became of a batch in a transaction."""

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
        By which other tables know it.
    fingerprint, document
        What devices know it by, and the survey as JSON.
    admission
        Who may upload: one of `ADMISSIONS`.
    is_closed
        Whether it takes no more reports.
    is_simulated
        Whether it is for trying things out: whoever answers it, its reports are told as simulated.
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
    """A token: its name, what it allows, the fingerprint of the survey that it is for (all if empty), its digest."""

    name: str
    role: str
    survey: str
    digest: str


class CountRow(NamedTuple):
    """Count of one report of one group on one day."""

    day: int
    cell: str
    report: str
    number: int


def add_up_batches(batches: Sequence[Batch]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return rows of counts and of accounts, each key once and in order."""
    parts: dict[tuple[int, int, str], list[Batch]] = {}
    accounts: dict[tuple[int, int, str], int] = {}
    for batch in batches:
        parts.setdefault((batch.survey, batch.day, batch.cell), []).append(batch)
        for reason, number in ((ACCEPTED, batch.accepted), *batch.rejected.items()):
            key = (batch.survey, batch.day, reason)
            accounts[key] = accounts.get(key, 0) + number
    counts: list[list[Any]] = []
    for key, own in sorted(parts.items()):
        sums = own[0].wire.add_up(batch.counts for batch in own)
        counts += [[*key, text, number] for text, number in sorted(sums.items())]
    return counts, [[*key, number] for key, number in sorted(accounts.items())]


ACCEPTED = ""
"""In place of a reason in the account of reports: these were accepted."""

ADMISSIONS = ("open", "token", "invited")
"""Who may upload: anybody, whoever has a token for it, whoever has an invitation that is not spent."""


class StoreError(ConfideError):
    """A store that cannot be used now, or at all."""


class MixingError(StoreError):
    """A survey that would be both a simulated and a real one."""


class UnavailableError(StoreError):
    """A store that is full, read-only, busy or gone: nothing was counted, and the same batch may be sent again."""


class _UndoneError(Exception):
    """End of a transaction that was only tried."""


class Store(ABC):
    """Database of a collector. `commit` is called from one thread, all else from any."""

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
    """What brings the tables from each version to the next, beginning with none at all: their number is the version.

    Whoever changes the tables appends a step, and never changes one that was released.
    """

    # What differs between databases.

    @abstractmethod
    def reading(self) -> contextlib.AbstractContextManager[Any]:
        """Open a connection for a few statements that only read, all of them the state of one moment."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Any]:
        """Open a transaction of its own, for anything but batches."""

    @abstractmethod
    def counting(self) -> contextlib.AbstractContextManager[Any]:
        """Open a transaction on the connection that is kept for batches; durable when it ends."""

    @abstractmethod
    def run(self, connection: Any, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement with a question mark for each value, and return the rows."""

    @abstractmethod
    def has_tables(self, connection: Any) -> bool:
        """Whether there is a store in the database at all."""

    @abstractmethod
    def claim(self, connection: Any, batches: Sequence[Batch]) -> set[str]:
        """Write down the marks of batches, in an order that says nothing, and return those that were not there."""

    @abstractmethod
    def spread(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """Return SQL that selects all these rows in one statement, and the values in it."""

    # These do nothing where a database needs nothing.

    def gate(self, connection: Any) -> None:  # noqa: B027
        """Wait until no transaction counts, and let none begin before this one ends."""

    def take_time(self, connection: Any) -> None:  # noqa: B027
        """Let statements of this connection take long, where they are limited."""

    def require_invitable(self) -> None:  # noqa: B027
        """Refuse invitations where the database itself would tie each to its report."""

    def tidy(self) -> None:  # noqa: B027
        """Remove traces of the order in which things came, as far as the database keeps any."""

    def hold(self) -> None:  # noqa: B027
        """Take the store for this process to serve, until it is closed or ends; refuse it where only one may."""

    @abstractmethod
    def sort(self) -> None:
        """Put rows in the order of their keys, where the database keeps another."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    # What is the same in all.

    def commit(self, batches: Sequence[Batch]) -> list[Fate]:
        """Count batches in one transaction, each exactly once, and return what became of each when it is durable."""
        with self.counting() as connection:
            closed, horizon = self._limits(connection)
            # Here as well, and not only when it came: marks of earlier days may have gone meanwhile.
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
                # In order, so that two processes wait for one another in turn; and accounts first, one row or few:
                # whoever has that lock goes on, and others wait here with little done.
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
        """Return the surveys that are closed and the first open day, as they stay while this transaction lasts."""
        rows = self.run(
            connection,
            "SELECT 'closed', number FROM surveys WHERE is_closed = 1 "
            "UNION ALL SELECT name, CAST(value AS INTEGER) FROM facts WHERE name = 'horizon'",
        )
        closed = {number for what, number in rows if what == "closed"}
        return closed, max((day for what, day in rows if what == "horizon"), default=0)

    def _firsts(self, connection: Any, batches: Sequence[Batch]) -> dict[str, Batch]:
        """Return the first batch of each mark, one whose invitation is good before one whose invitation is not."""
        firsts = {batch.mark: batch for batch in reversed(batches)}
        if len(firsts) == len(batches):
            return firsts
        invited = sorted({batch.invitation for batch in batches if batch.invitation is not None})
        good = {None, *self._some(connection, "SELECT digest, digest FROM invitations WHERE digest", invited)}
        return firsts | {batch.mark: batch for batch in reversed(batches) if batch.invitation in good}

    def _some(self, connection: Any, statement: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the pairs that a statement finds for any of these keys, so many at a time."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            found |= dict(self.run(connection, f"{statement} IN ({', '.join('?' * len(some))})", some))
        return found

    def _spend(self, connection: Any, batch: Batch) -> bool:
        """Spend a batch's invitation, if it has one; without it the batch was never here."""
        if batch.invitation is None:
            return True
        values = [batch.invitation, batch.survey]
        if self.run(connection, "DELETE FROM invitations WHERE digest = ? AND survey = ? RETURNING digest", values):
            return True
        self.run(connection, "DELETE FROM batches WHERE mark = ?", [batch.mark])
        return False

    def prepare(self) -> None:
        """Make the tables, or bring those of an older version up to date, all in one transaction."""
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
        if found is None:  # another process took the number in the same moment
            return self.add_survey(survey, admission, is_simulated=is_simulated)
        if found.is_simulated != is_simulated:
            raise MixingError(
                f"The store holds {'simulated' if found.is_simulated else 'real'} reports of this survey, and the two "
                f"do not mix. Name another store."
            )
        return found

    def close_survey(self, fingerprint: str) -> None:
        """Let a survey take no more reports, for good."""
        with self.writing() as connection:
            self.gate(connection)
            statement = "UPDATE surveys SET is_closed = 1 WHERE fingerprint = ? RETURNING number"
            done = self.run(connection, statement, [fingerprint])
        if not done:
            raise InvalidParameterError(f"The store has no survey {fingerprint!r}.")

    def admit(self, fingerprint: str, admission: str) -> None:
        """Say who may upload."""
        if admission == "invited":
            self.require_invitable()
        with self.writing() as connection:
            self.run(connection, "UPDATE surveys SET admission = ? WHERE fingerprint = ?", [admission, fingerprint])

    def account(self, number: int) -> dict[str, int]:
        """Return how many reports were accepted, under `ACCEPTED`, and how many rejected for which reason."""
        with self.reading() as connection:
            return self._account(connection, number)

    def balance(self, number: int) -> tuple[list[CountRow], dict[str, int]]:
        """Return all counts of a survey and its account, of one moment, so that they add up while reports come."""
        statement = "SELECT day, cell, report, number FROM counts WHERE survey = ? ORDER BY day, cell, report"
        with self.reading() as connection:
            rows = self.run(connection, statement, [number])
            return [CountRow(*row) for row in rows], self._account(connection, number)

    def _account(self, connection: Any, number: int) -> dict[str, int]:
        statement = "SELECT reason, CAST(SUM(number) AS BIGINT) FROM accounts WHERE survey = ? GROUP BY reason"
        return dict(self.run(connection, statement, [number]))

    def tokens(self) -> list[StoredToken]:
        """Return all tokens; of each the digest alone is known."""
        with self.reading() as connection:
            rows = self.run(connection, "SELECT name, role, survey, digest FROM tokens ORDER BY name")
        return [StoredToken(*row) for row in rows]

    def revoke(self, name: str) -> None:
        """Remove a token."""
        with self.writing() as connection:
            if not self.run(connection, "DELETE FROM tokens WHERE name = ? RETURNING name", [name]):
                raise InvalidParameterError(f"There is no token called {name!r}.")

    def invite(self, number: int, digests: Iterable[str]) -> None:
        """Add invitations, in an order that says nothing."""
        self.require_invitable()
        with self.writing() as connection:
            for digest in sorted(digests):
                self.run(connection, "INSERT INTO invitations (digest, survey) VALUES (?, ?)", [digest, number])

    def invitations(self, number: int) -> int:
        """Return how many invitations are not spent."""
        with self.reading() as connection:
            return int(self.run(connection, "SELECT COUNT(*) FROM invitations WHERE survey = ?", [number])[0][0])

    def horizon(self) -> int:
        """Return the first day whose marks are still there: no report of an earlier one is taken."""
        with self.reading() as connection:
            return self._read_fact(connection, "horizon")

    def window(self) -> int:
        """Return how many days back a report may be of; 0 where nobody has said it."""
        with self.reading() as connection:
            return self._read_fact(connection, "window")

    def set_window(self, days: int) -> None:
        """Say how many days back a report may be of, for all processes; no day that was forgotten comes back by it."""
        most = LIMITS.longest_window
        if not 1 <= days <= most:
            raise InvalidParameterError(f"--window takes a number of days from 1 to {most:,}; got {days:,}.")
        with self.writing() as connection:
            self._write_fact(connection, "window", days)

    def reopen(self, first: date) -> None:
        """Take days from this one on again, whose marks are gone: a batch of them that was counted counts again."""
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
        """Return the newest day that any report was of; 0 where none came."""
        with self.reading() as connection:
            return int(self.run(connection, "SELECT COALESCE(MAX(day), 0) FROM accounts")[0][0])

    def forget(self, before: date) -> None:
        """Remove the marks of days before this one, for good: the horizon moves first, and never back by itself.

        What a process that was killed left of it is done by the next that is asked, whichever day it names.
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
            for start in "0123456789abcdef":  # in pieces, so that batches need not wait for all of it
                with self.writing() as connection:
                    self.take_time(connection)
                    ends = [start, f"{start}g", day]
                    self.run(connection, "DELETE FROM batches WHERE mark >= ? AND mark < ? AND day < ?", ends)
            self.sort()
        with self.writing() as connection:
            if self._read_fact(connection, "horizon") == day:  # nobody opened days again meanwhile
                self._write_fact(connection, "forgotten", day)

    def look(self) -> None:
        """Raise `UnavailableError` where nothing can be written; what is tried is undone."""
        with contextlib.suppress(_UndoneError), self.writing() as connection:
            self.run(connection, "UPDATE facts SET value = value WHERE name = 'version'")
            raise _UndoneError

    def check(self) -> None:
        """Raise `UnavailableError` where nothing could be counted now: something is written, and more than has room."""
        for values in (["." * 2**16], []):
            with self.writing() as connection:
                self.run(connection, "DELETE FROM facts WHERE name = 'check'")
                if values:
                    self.run(connection, "INSERT INTO facts (name, value) VALUES ('check', ?)", values)


def open_store(url: str) -> Store:
    """Open the store at a path, or at ``postgresql://...``; its tables are made, or brought up to date."""
    if url.startswith(("postgresql://", "postgres://")):
        from confide.collector.postgresql import PostgresStore

        store: Store = PostgresStore(url)
    else:
        from confide.collector.sqlite import SqliteStore

        store = SqliteStore(url.removeprefix("sqlite:///"))
    store.prepare()
    return store


def name_cell(values: Iterable[str]) -> str:
    """Return the groups of a batch as one text; empty where the survey declares none."""
    listed = list(values)
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else ""


def split_cell(cell: str) -> tuple[str, ...]:
    """Return the groups that :func:`name_cell` wrote.

    >>> split_cell(name_cell(["Oslo", "north"])), split_cell(name_cell([]))
    (('Oslo', 'north'), ())
    """
    return tuple(json.loads(cell)) if cell else ()


@contextlib.contextmanager
def explained(kinds: tuple[type[Exception], ...], what: str) -> Iterator[None]:
    """Turn failures of a database into one that says what happened, without what was written."""
    try:
        yield
    except kinds as error:
        said = str(error).splitlines()[0] or type(error).__name__
        raise UnavailableError(f"{what} cannot be used now: {said}") from error


ROLES = {"upload": ("upload",), "read": ("read",), "administer": ("upload", "read", "administer")}
"""What each role allows."""


def make_token(store: Store, role: str, name: str = "", survey: str = "") -> tuple[str, str]:
    """Make a token, keep its digest, and return its name and the token itself, which nobody can find again."""
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
    """Make the curator's token where nobody can administer the store yet; None where somebody can."""
    if any(token.role == "administer" for token in store.tokens()):
        return None
    try:
        return make_token(store, "administer", "curator")[1]
    except ConfideError:  # two collectors may start at once on one store, and the other was first
        if any(token.role == "administer" for token in store.tokens()):
            return None
        raise


def make_invitations(store: Store, number: int, people: int) -> list[str]:
    """Make invitations to a survey, one for each person."""
    # 100 random bits each, in letters and digits that nobody confuses: four groups of five.
    texts = [base64.b32encode(secrets.token_bytes(13)).decode().lower() for _ in range(people)]
    codes = ["-".join(text[start : start + 5] for start in range(0, 20, 5)) for text in texts]
    store.invite(number, map(digest_invitation, codes))
    return codes


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits: no guess is worth the while, so that one SHA-256 will do."""
    return hashlib.sha256(secret.encode()).hexdigest()


def digest_invitation(code: str) -> str:
    """Return what is kept of an invitation, however it is written."""
    return digest_secret(f"invitation {code.strip().lower().replace('-', '')}")


def is_allowed(secret: str, role: str, tokens: Iterable[StoredToken], survey: str = "") -> bool:
    """Whether a token allows this; all are compared, each in constant time, whichever fits."""
    given, found = digest_secret(secret), False
    for token in tokens:
        is_same = hmac.compare_digest(given, token.digest)
        found |= is_same and role in ROLES.get(token.role, ()) and token.survey in ("", survey)
    return found

"""Reports from inside an application, sent in the background."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.collector.client import Client, CollectorError, write_message
from confide.collector.wire import LIMITS, Wire
from confide.errors import InvalidParameterError, LimitError
from confide.mechanisms.sampling import Permanent
from confide.surveys.ledgers import Ledger
from confide.surveys.survey import Survey, load_survey
from confide.values.checks import check_count, kind_of

LOG = logging.getLogger("confide.reporter")


@dataclass(frozen=True)
class Standing:
    """What a reporter has done since it was made.

    Attributes
    ----------
    waiting
        Reports on the disk that were not yet sent, of earlier runs and other processes too; -1 if it cannot be read.
    sent
        Reports that the collector counted.
    refused
        Values that are none of the survey's, reports beyond the ledger's limit, and reports that the collector refused.
    dropped
        Values that found the queue full.
    is_out
        Whether the person opted out.
    trouble
        The last thing that went wrong, without any value; empty if nothing did.
    """

    waiting: int
    sent: int
    refused: int
    dropped: int
    is_out: bool
    trouble: str


class Reporter(contextlib.AbstractContextManager["Reporter"]):
    """Blur and send values from inside an application.

    `report` returns within microseconds and never raises. Threads of the reporter count the report in the ledger, blur
    the value, keep the report in a file and send it. The file outlives the application: what was not sent goes out
    when it starts again, and counts once.

    >>> import tempfile, confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder, cf.Reporter(survey, "http://127.0.0.1:9", folder) as reporter:
    ...     taken = reporter.report("yes")
    ...     _ = reporter.flush(5.0, sent=False)  # on the disk; nobody listens at this address
    ...     reporter.opt_out()  # forgets it
    ...     print(taken, reporter.standing().waiting)
    True 0

    Parameters
    ----------
    survey
        A survey, or the path of its file. The application ships it, so that no server can change the promise.
    url
        The collector's address.
    folder
        Where queue and ledger stay. By default a folder of the survey under ``~/.local/state/confide``.
    ledger
        False where one application reports for many people, such as a web server: then no limit of one person holds.
    groups
        The survey's groups that all values are of. They are not blurred.
    secret
        The person's secret, for surveys with permanent noise.
    token
        A token to upload, where the collector wants one.
    most
        Reports that wait at the most. Further values are dropped, and counted.
    """

    def __init__(  # noqa: PLR0913 - a device has these settings, and each has a default
        self,
        survey: Survey | str | Path,
        url: str,
        folder: str | Path | None = None,
        *,
        ledger: bool = True,
        groups: Mapping[str, str] | None = None,
        secret: bytes | str | None = None,
        token: str | None = None,
        most: int = 10_000,
    ) -> None:
        if not isinstance(groups, Mapping | None):
            raise InvalidParameterError(f"groups must be a dictionary; got {kind_of(groups)}.")
        texts: tuple[object, ...] = (url, "" if token is None else token)
        if not all(isinstance(one, str) for one in texts):
            raise InvalidParameterError(f"url and token must be texts; got {kind_of(url)} and {kind_of(token)}.")
        self.survey = survey if isinstance(survey, Survey) else load_survey(survey)
        check_count("most", most, 1)
        if self.survey.needs_secret and secret is None:
            raise InvalidParameterError("Noise of this survey is permanent: give secret=, at least 16 random bytes.")
        if set(groups or {}) != set(self.survey.groups):
            wanted = ", ".join(self.survey.groups) or "none"
            raise InvalidParameterError(f"groups= needs one value for each group of the survey: {wanted}.")
        for name, value in (groups or {}).items():
            if value not in self.survey.groups[name]:
                raise InvalidParameterError(f"{value!r} is no {name} of the survey: {self.survey.groups[name]}.")
        Client(url, token)  # raises where an address or a token is none, at the start and not in a thread
        self.url, self._token, self._groups, self._most = url, token, dict(groups or {}), most
        self._noise = None if secret is None else Permanent(secret)
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "confide"
        self.folder = Path(folder) if folder is not None else state / self.survey.fingerprint
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._ledger = Ledger(self.folder / "ledger.json") if ledger else None
        with self._table() as table:
            table.execute("CREATE TABLE IF NOT EXISTS waiting (number INTEGER PRIMARY KEY AUTOINCREMENT, message BLOB)")
            table.execute("CREATE TABLE IF NOT EXISTS choice (is_out INTEGER NOT NULL)")
            self._is_out = _has_left(table)
        self._lock = threading.Lock()
        self._sent, self._refused, self._dropped, self._trouble = 0, 0, 0, ""
        self._start()
        atexit.register(self.close)

    def report(self, value: Any) -> bool:
        """Take one value; False if it was not taken."""
        try:
            if self._process != os.getpid():  # a fork has neither our threads nor their locks
                self._lock = threading.Lock()
                self._start()
            if self._is_out or self._ending.is_set():
                return False
            self._values.put_nowait(value)
        except queue.Full:
            self._note("dropped", "values come faster than they are kept")
            return False
        except Exception as error:
            self._note("dropped", type(error).__name__)
            return False
        return True

    def standing(self) -> Standing:
        """Return what waits, and what was sent, refused and dropped."""
        return Standing(self._waiting(), self._sent, self._refused, self._dropped, self._is_out, self._trouble)

    def opt_out(self) -> None:
        """Forget all waiting reports, and take no more until `opt_in`."""
        self._choose(out=True)

    def opt_in(self) -> None:
        """Take reports again."""
        self._choose(out=False)

    def flush(self, seconds: float = 5.0, *, sent: bool = True) -> bool:
        """Wait until all values are on the disk, and counted unless ``sent=False``."""
        end = time.monotonic() + seconds
        self._wake.set()
        while self._values.unfinished_tasks or (sent and self._waiting()):
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        """Put what was taken on the disk, and end."""
        if self._process == os.getpid() and not self._ending.is_set():
            self.flush(2.0, sent=False)
            self._ending.set()
            self._wake.set()
            for thread in self._threads:
                thread.join(1.0)
        atexit.unregister(self.close)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._process, self._ending, self._wake = os.getpid(), threading.Event(), threading.Event()
        self._values: queue.Queue[Any] = queue.Queue(min(self._most, 1_000))
        # Daemons: an application that ends does not wait for a collector that is silent.
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._keep, self._send)]
        for thread in self._threads:
            thread.start()

    @contextlib.contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        """Open the queue for one transaction."""
        path = self.folder / "queue.db"
        path.touch(mode=0o600)
        table = sqlite3.connect(path, timeout=5.0)
        try:
            # A report that is forgotten leaves nothing in the file.
            table.execute("PRAGMA secure_delete = ON")
            with table:
                yield table
        finally:
            table.close()

    def _note(self, what: str, trouble: str, number: int = 1) -> None:
        """Count what was lost, and log it without the value."""
        with self._lock:
            setattr(self, f"_{what}", getattr(self, f"_{what}") + number)
            is_new, self._trouble = trouble != self._trouble, trouble
        if is_new:
            LOG.warning("A report was %s: %s", what, trouble)

    def _choose(self, *, out: bool) -> None:
        self._is_out = out
        with self._lock, self._table() as table:
            table.execute("DELETE FROM choice")
            table.execute("INSERT INTO choice VALUES (?)", (out,))
            if out:
                table.execute("DELETE FROM waiting")

    def _waiting(self) -> int:
        """Return how many reports are on the disk, or -1."""
        try:
            with self._table() as table:
                return _waiting_in(table)
        except (OSError, sqlite3.Error) as error:
            self._trouble = f"the queue in {self.folder} cannot be read ({type(error).__name__})"
            return -1

    def _keep(self) -> None:
        """Blur values and keep the reports, in a thread."""
        while not self._ending.is_set():
            with contextlib.suppress(queue.Empty):
                values = [self._values.get(timeout=0.5)]
                with contextlib.suppress(queue.Empty):
                    while len(values) < LIMITS.most_together:  # one transaction takes all that came meanwhile
                        values.append(self._values.get_nowait())
                try:
                    self._put([one for one in map(self._blur, values) if one is not None])
                finally:
                    for _ in values:
                        self._values.task_done()

    def _blur(self, value: Any) -> bytes | None:
        """Return the message with the report of a value, or None."""
        try:
            if self._ledger is not None:
                self._ledger.charge(self.survey, value, rng=self._noise)
            reports = self.survey.privatize([value], rng=self._noise)
            return write_message(self.survey, Wire.of(self.survey).to_lists(reports), groups=self._groups)
        except LimitError:
            self._note("refused", "the ledger's limit is reached, or it cannot be written")
        except Exception as error:
            # The error quotes the value, which belongs in no log.
            self._note("refused", f"{type(error).__name__}: the value is none of the survey's")
        return None

    def _put(self, messages: list[bytes]) -> None:
        """Write messages to the queue, as many as there is room for."""
        try:
            with self._lock, self._table() as table:
                # The person may have opted out meanwhile, in another process too.
                self._is_out = _has_left(table)
                room = 0 if self._is_out else max(0, self._most - _waiting_in(table))
                table.executemany("INSERT INTO waiting (message) VALUES (?)", [(one,) for one in messages[:room]])
        except (OSError, sqlite3.Error) as error:
            said = f"the queue in {self.folder} cannot be written ({type(error).__name__})"
            self._note("dropped", said, len(messages))
            return
        if len(messages) > room and not self._is_out:
            self._note("dropped", f"{self._most:,} reports wait already", len(messages) - room)
        self._wake.set()

    def _send(self) -> None:
        """Send reports, oldest first, in a thread."""
        pause, client = 0.5, Client(self.url, self._token, patience=0.0)
        while not self._ending.is_set():
            try:
                with self._table() as table:
                    first = table.execute("SELECT number, message FROM waiting ORDER BY number LIMIT 1").fetchone()
                if first is None:
                    self._wake.wait(5.0)  # another process may have put something there
                    self._wake.clear()
                    continue
                receipt = client.post(first[1])
                pause = 0.5
                if not receipt.accepted:
                    self._note("refused", "the collector does not take this report")
                self._forget(first[0], receipt.accepted)
            except CollectorError as error:
                if 400 <= error.status < 500 and error.status not in (401, 403, 404, 408, 425, 429):
                    self._note("refused", f"the collector answered {error.status} {error.code}")
                    self._forget(first[0])
                    continue
                self._trouble = str(error)
                self._ending.wait(pause)
                pause = min(300.0, 2 * pause)
            except Exception as error:
                self._trouble = type(error).__name__
                self._ending.wait(pause)
                pause = min(300.0, 2 * pause)
        client.hang_up()

    def _forget(self, number: int, accepted: int = 0) -> None:
        """Remove a message that was answered, and count it."""
        with self._lock, self._table() as table:
            table.execute("DELETE FROM waiting WHERE number = ?", (number,))
            self._sent += accepted


def _has_left(table: sqlite3.Connection) -> bool:
    """Whether the person opted out."""
    return table.execute("SELECT 1 FROM choice WHERE is_out").fetchone() is not None


def _waiting_in(table: sqlite3.Connection) -> int:
    number: int = table.execute("SELECT count(*) FROM waiting").fetchone()[0]
    return number

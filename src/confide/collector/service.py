"""Service of a collector.

Reads messages, counts them, and answers readings, without HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import re
import threading
import time
import warnings
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple, TypeVar

import orjson

from confide.check.fit import fit
from confide.collector import stores
from confide.collector.client import to_counts_file
from confide.collector.stores import ACCEPTED
from confide.collector.wire import LIMITS, Wire, today
from confide.data.files import diagnosis_record, estimate_record, to_json
from confide.data.files.records import plain
from confide.errors import ConfideError, InvalidParameterError
from confide.estimates.diagnosis import diagnose
from confide.estimates.estimate import assess_pool
from confide.evidence.counts import Counts
from confide.solve.methods import Stacked
from confide.surveys.survey import Survey
from confide.values.wording import counted

Waiting = tuple[int, "asyncio.Future[None]"]
"""A size, and the future that completes when there is room for it."""


class Room:
    """Limited room, in total and per address; waiting addresses take turns.

    We know an address only while something of it is inside or waits.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        self._inside: Counter[str] = Counter()
        self._waiting: dict[str, deque[Waiting]] = {}

    async def enter(self, address: str, size: int, seconds: float | None = None) -> None:
        """Wait for room, and then leave.

        `TimeoutError` if none in time or too many wait.
        """
        if address not in self._waiting and self._fits(address, size):
            self._inside[address] += size
            return
        if len(self._waiting.get(address, ())) >= LIMITS.most_waiting_each:
            raise TimeoutError
        if sum(map(len, self._waiting.values())) >= LIMITS.most_waiting:
            raise TimeoutError
        waiting = size, asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(waiting)
        try:
            async with asyncio.timeout(seconds):
                await waiting[1]
        except BaseException:
            if waiting[1].done() and not waiting[1].cancelled():  # it was let in at the same moment
                self.leave(address, size)
            elif waiting in self._waiting.get(address, ()):
                self._waiting[address].remove(waiting)
                self._admit()
            raise

    def leave(self, address: str, size: int) -> None:
        """Make room for others."""
        self._inside[address] -= size
        if not self._inside[address]:
            del self._inside[address]
        self._admit()

    def _fits(self, address: str, size: int) -> bool:
        # Something larger than the room may still enter alone.
        fits_its_own = self._inside[address] + size <= max(self.most_each, size)
        return fits_its_own and self._inside.total() + size <= max(self.most, size)

    def _admit(self) -> None:
        self._waiting = {address: line for address, line in self._waiting.items() if line}
        while fitting := [one for one, line in self._waiting.items() if self._fits(one, line[0][0])]:
            line = self._waiting.pop(address := fitting[0])
            size, future = line.popleft()
            if line:
                self._waiting[address] = line  # at the end: others come first next time
            if not future.cancelled():  # the client may have left just now
                self._inside[address] += size
                future.set_result(None)


@dataclass
class Tallies:
    """Totals of one process for operators, without surveys or senders."""

    batches: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    rejected: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    failures: int = 0


class GroupCommit:
    """A thread that counts waiting batches and returns their fates."""

    def __init__(self, store: stores.Store) -> None:
        self.store, self.tallies = store, Tallies()
        self.fault = ""
        """Why the last transaction failed; empty if it did not."""
        self.waiting: list[tuple[stores.Batch, asyncio.Future[stores.Fate]]] = []
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._work, name="confide-commit", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def hand_over(self, batch: stores.Batch) -> asyncio.Future[stores.Fate]:
        """Queue a batch; the future completes when it is durable, or fails."""
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            self.waiting.append((batch, future))
            if len(self.waiting) == 1:
                self._changed.notify()
        return future

    def finish(self) -> None:
        """Count all waiting batches, then end."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        is_tidy, last = True, 0
        while True:
            if last > 1:
                # Clients that we just answered send again. If one of them got a transaction of its own, the others
                # would wait for a whole disk sync, some 5 ms.
                time.sleep(0.002)
            with self._changed:
                while not self.waiting and not self._is_ending:
                    if not self._changed.wait(None if is_tidy else 1.0):
                        break
                # At the end, do not wait for a lost store again for every thousand batches.
                most = len(self.waiting) if self._is_ending and self.fault else LIMITS.most_together
                now, self.waiting = self.waiting[:most], self.waiting[most:]
            last, is_tidy = len(now), not now
            if now:
                self._count(now)
                continue
            try:  # after a second without batches, remove the log, which shows their order
                self.store.tidy()
            except stores.StoreError as error:
                self.fault = str(error)
            if self._is_ending:
                return

    def _count(self, now: list[tuple[stores.Batch, asyncio.Future[stores.Fate]]]) -> None:
        start = time.perf_counter()
        fates: list[stores.Fate] = []
        failure: Exception | None = None
        try:
            fates = self.store.commit([batch for batch, _ in now])
        except Exception as error:  # any error must reach those who wait
            is_known = isinstance(error, stores.StoreError)
            failure = error if is_known else stores.UnavailableError(f"{type(error).__name__}: {error}")
        self.fault = "" if failure is None else str(failure)
        self.tallies.commits += failure is None
        self.tallies.failures += failure is not None
        self.tallies.commit_seconds += time.perf_counter() - start
        for (batch, _), fate in zip(now, fates, strict=False):
            if fate is stores.Fate.COUNTED:
                self.tallies.accepted += batch.accepted
                self.tallies.rejected += sum(batch.rejected.values())

        def answer() -> None:
            for place, (_, future) in enumerate(now):
                if future.done():  # the client has gone
                    continue
                if failure is None:
                    future.set_result(fates[place])
                else:
                    future.set_exception(failure)

        loop = now[0][1].get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(answer)  # one call for all: each is a system call


T = TypeVar("T")

KEYS = frozenset(("survey", "batch", "day", "reports", "groups"))

BATCH = re.compile("[0-9a-f]{32}").fullmatch


class Refusal(Exception):  # noqa: N818 - an answer, and no failure
    """An answer other than success.

    HTTP status, code for programs, sentence for people.
    """

    allow: tuple[str, ...] = ()
    """Methods that are allowed, if another one came."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after


@dataclass(frozen=True)
class Settings:
    """Limits of a collector.

    Attributes
    ----------
    most_bytes
        Most bytes of an unpacked message.
    most_reports
        Reports in a batch.
    most_waiting
        Batches that wait to be counted; more get status 429.
    most_a_second
        Batches per second of one process, averaged over a few; 0 for no limit.
    window
        Days back that reports are taken, unless the store says otherwise.
    body_seconds
        Seconds that a message may take to arrive, and to wait for room.
    most_held, most_held_each
        Bytes of large messages held at a time, in total and per address; others wait.
    most_connections
        Connections at a time; others must come back later.
    most_computing
        Estimates, diagnoses and pages that are computed or wait.
    origins
        Web sites whose pages may upload, such as ``https://example.org``.
    """

    most_bytes: int = 4 * 2**20
    most_reports: int = 10_000
    most_waiting: int = 10_000
    most_a_second: int = 0
    window: int = LIMITS.window
    body_seconds: float = 10.0
    most_held: int = 32 * 2**20
    most_held_each: int = 16 * 2**20
    most_connections: int = 4_096
    most_computing: int = 4
    origins: tuple[str, ...] = ()

    @property
    def most_parts(self) -> int:
        """Most commas and brackets in a message.

        Ten per report, at up to 230 bytes parsed.
        """
        return max(LIMITS.light, 10 * self.most_reports)


@dataclass(frozen=True, eq=False)
class Entry:
    """A survey that is served."""

    stored: stores.StoredSurvey
    survey: Survey
    wire: Wire

    @classmethod
    def of(cls, stored: stores.StoredSurvey) -> Entry:
        """Prepare a stored survey for serving."""
        survey = stored.survey
        return cls(stored, survey, Wire.of(survey))


@dataclass
class Days:
    """Days that are open now: a window that only moves forward."""

    window: int
    clock: Callable[[], date] = today
    horizon: int = 0
    _known: dict[str, int] = field(default_factory=dict)
    _looked: float = -1.0

    def set(self, horizon: int, window: int) -> None:
        """Set the horizon and the window."""
        if (horizon, window) != (self.horizon, self.window):
            self.horizon, self.window, self._looked = horizon, window, -1.0

    def number(self, text: Any) -> int:
        """Return the ordinal of an open day."""
        now = time.monotonic()
        if now - self._looked > 1:
            self._looked = now
            # One day ahead: east of us it is tomorrow already.
            last = self.clock().toordinal() + 1
            first = max(last - 1 - self.window, self.horizon, 1)
            self._known = {date.fromordinal(day).isoformat(): day for day in range(first, last + 1)}
        found = self._known.get(text) if isinstance(text, str) else None
        if found is None:
            raise self.refuse(text)
        return found

    def refuse(self, text: Any) -> Refusal:
        """Return the refusal of a day."""
        try:
            is_day = isinstance(text, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None
            day = date.fromisoformat(text).toordinal() if is_day else 0
        except ValueError:
            day = 0
        if not day:
            return Refusal(400, "malformed", f'day must be a day such as "2026-11-16"; got {shown(text)}.')
        start = self.clock().toordinal() - self.window
        if self.horizon > start + 1 and start <= day < self.horizon:
            # A clock was wrong, here or in another process, or a curator moved the horizon. The device did nothing
            # wrong and must not drop its report.
            said = f"Days before {date.fromordinal(self.horizon)} are closed here: by the curator, or by a wrong clock."
            return Refusal(503, "clock", f"{said} Send this again later.", retry_after=3600)
        known = sorted(self._known)
        ends = f"{known[0]} to {known[-1]}" if known else "none"
        return Refusal(422, "day", f"The day {text} is not taken, or no longer; days now: {ends}.")


class Prepared(NamedTuple):
    """A message ready to count.

    The batch, its day as sent, and the answer.
    """

    batch: stores.Batch
    day: str
    answer: bytes


class Collector:
    """The surveys of a store, open for reports.

    Attributes
    ----------
    store, settings
        The store and the limits.
    commits
        The thread that counts.
    """

    def __init__(
        self, store: stores.Store, settings: Settings | None = None, clock: Callable[[], date] = today
    ) -> None:
        self.store, self.settings = store, settings or Settings()
        self.commits = GroupCommit(store)
        self.days = Days(self.settings.window, clock)
        self.entries: dict[str, Entry] = {}
        self.tokens: list[stores.StoredToken] = []
        self.unreadable: set[str] = set()
        """Surveys of the store that we cannot read and do not serve."""
        self.began = time.time()
        self._begun, self._ended, self._looking, self._one = 0, 0, asyncio.Lock(), threading.Lock()
        self._tickets, self._drawn = float(self.settings.most_a_second), time.monotonic()
        # One thread for work that would block the event loop: one piece at a time, addresses in turn.
        self.turn, self.thread = Room(1, 1), ThreadPoolExecutor(1, thread_name_prefix="confide-parse")

    def refresh(self) -> None:
        """Reload surveys, tokens and the horizon, which other processes may change."""
        with self._one:  # of two at a time, the one that read first might finish last
            self._begun += 1
            fresh, unreadable = {}, set()
            for stored in self.store.surveys():
                known, mark = self.entries.get(stored.fingerprint), stored.fingerprint
                try:
                    fresh[mark] = known if known is not None and known.stored == stored else Entry.of(stored)
                except Exception:  # one bad row, even a bad name, must not stop the others
                    unreadable.add(re.sub("[^0-9a-zA-Z]", "?", mark[:40]))
            self.entries, self.tokens, self.unreadable = fresh, self.store.tokens(), unreadable
            self.days.set(self.store.horizon(), self.store.window() or self.settings.window)
            self._ended = self._begun

    def forget(self) -> None:
        """Remove the marks of days that are closed for good.

        A day later than the window closes, so that the clocks of two processes may differ by a day. And never beyond
        the newest report: a clock that runs ahead for a while must not close future days.
        """
        last = min(self.days.clock().toordinal(), self.store.newest())
        if last > self.days.window + 1:
            self.store.forget(date.fromordinal(last - self.days.window - 1))

    def entry(self, fingerprint: Any) -> Entry:
        """Return the survey of this fingerprint."""
        found = self.entries.get(fingerprint) if isinstance(fingerprint, str) else None
        if found is None:
            raise Refusal(404, "unknown-survey", f"There is no survey {shown(fingerprint)} here.")
        return found

    async def find(self, fingerprint: Any) -> Entry:
        """Return the survey of this fingerprint, reloading the store if necessary."""
        if isinstance(fingerprint, str) and fingerprint not in self.entries and BATCH(fingerprint) is not None:
            asked = self._begun
            async with self._looking:  # one reload for all who wait
                if self._ended <= asked:
                    await asyncio.to_thread(self.refresh)
        return self.entry(fingerprint)

    def require(self, role: str, secret: str | None, fingerprint: str = "") -> None:
        """Refuse a request without a token for this."""
        if secret is None:
            raise Refusal(401, "no-token", "This needs a token, in the header Authorization: Bearer TOKEN.")
        if not stores.is_allowed(secret, role, self.tokens, fingerprint):
            raise Refusal(403, "bad-token", f"This token is unknown, revoked, or not for this: to {role}.")

    async def take(
        self, body: bytes, secret: str | None = None, invitation: str | None = None, address: str = ""
    ) -> bytes:
        """Count a message, and return its answer when the reports are durable.

        Slow work runs in one thread, where addresses take turns.
        """
        if len(self.commits.waiting) >= self.settings.most_waiting:
            raise Refusal(429, "busy", "Too many batches wait. Send this one again later.", retry_after=1)
        self._draw_ticket()
        # A message of few bytes and parts is parsed on the event loop, in a fraction of a millisecond.
        few = 4_096
        is_light = len(body) <= few or (len(body) <= LIMITS.light and count_parts(body, few) <= few)
        prepared = self.prepare(body, secret, invitation, is_quick=True) if is_light else None
        if prepared is None:
            prepared = await self.do_in_turn(address, self.prepare, body, secret, invitation)
        if isinstance(prepared, str):  # another process may have added the survey
            await self.find(prepared)
            prepared = await self.do_in_turn(address, self.prepare, body, secret, invitation)
        del body  # what waits is small
        if not isinstance(prepared, Prepared):
            raise Refusal(404, "unknown-survey", "There is no such survey here, or no longer.")
        fate = await self.commits.hand_over(prepared.batch)
        self.commits.tallies.batches[fate.value] += 1
        if fate is stores.Fate.PAST:
            await asyncio.to_thread(self.refresh)
            raise self.days.refuse(prepared.day)
        if fate is stores.Fate.CONFLICT:
            said = "This batch id was used for other reports. Draw a new one for each batch."
            raise Refusal(409, "conflict", said)
        if fate is stores.Fate.CLOSED:
            raise Refusal(410, "closed", "This survey is closed, and takes no more reports.")
        if fate is stores.Fate.SPENT:
            raise Refusal(403, "spent", "This invitation is unknown, or spent.")
        return prepared.answer

    async def do_in_turn(self, address: str, work: Callable[..., T], *given: Any) -> T:
        """Run this in the thread when it is this address's turn."""
        try:
            await self.turn.enter(address, 1)
        except TimeoutError:
            said = "Too many messages wait to be read. Send this one again later."
            raise Refusal(429, "busy", said, retry_after=1) from None
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, work, *given)
        finally:
            self.turn.leave(address, 1)

    def prepare(
        self, body: bytes, secret: str | None, invitation: str | None, *, is_quick: bool = False
    ) -> Prepared | str | None:
        """Read a message and judge its reports; keep only what counting needs.

        Return the fingerprint if the survey is unknown, and None if judging would not be quick as requested.
        """
        message = self.read(body)
        survey, reports = message["survey"], message["reports"]
        if isinstance(survey, str) and survey not in self.entries and BATCH(survey) is not None:
            return survey
        entry = self.entry(survey)
        invited = self._admit(entry, secret, invitation, len(reports))
        try:
            packed = orjson.dumps(reports)
        except TypeError:  # parsed, but nested too deeply to write
            raise Refusal(400, "malformed", "A report is nested too deeply.") from None
        judged = (entry.wire.judge_at_once if is_quick else entry.wire.judge)(reports, packed)
        if judged is None:
            return None
        day, cell = self.days.number(message["day"]), self._cell(entry, message.get("groups"))
        accepted = len(reports) - len(judged.rejected)
        if invited is not None and not accepted:
            said = f"The report is {judged.rejected[0][1]}. The invitation is not spent."
            raise Refusal(422, "rejected", said)
        reasons = dict(Counter(str(reason) for _, reason in judged.rejected)) if judged.rejected else {}
        mark, content = digest_batch(message, packed)
        batch = stores.Batch(
            mark, content, entry.stored.number, day, cell, judged.counts, accepted, reasons, entry.wire, invited
        )
        rejected = [{"position": place, "reason": str(reason)} for place, reason in judged.rejected]
        answer = {"survey": survey, "batch": message["batch"], "accepted": accepted, "rejected": rejected}
        return Prepared(batch, message["day"], orjson.dumps(answer))

    def read(self, body: bytes) -> dict[str, Any]:
        """Parse a message, or refuse it."""
        message = read_json(body, self.settings.most_parts)
        needed = KEYS - {"groups"}
        if not needed <= message.keys() <= KEYS:
            strange = next((key for key in message if key not in KEYS), None)
            lacking = next((key for key in sorted(needed) if key not in message), None)
            what = f"has the unknown key {shown(strange)}" if strange is not None else f"needs {lacking}"
            raise Refusal(400, "malformed", f"A message {what}. Known: {', '.join(sorted(KEYS))}.")
        reports, batch = message.get("reports"), message.get("batch")
        if type(batch) is not str or BATCH(batch) is None:
            said = "batch must be 32 hexadecimal digits, drawn at random for each batch"
            raise Refusal(400, "malformed", f"{said}; got {shown(batch)}.")
        if type(reports) is not list or not reports:
            raise Refusal(400, "malformed", f"reports must be a list of at least one; got {shown(reports)}.")
        most = self.settings.most_reports
        if len(reports) > most:
            raise Refusal(413, "too-large", f"A batch has at most {most:,} reports; got {len(reports):,}.")
        return message

    def _admit(self, entry: Entry, secret: str | None, invitation: str | None, reports: int) -> str | None:
        admission = entry.stored.admission
        if admission == "token":
            self.require("upload", secret, entry.stored.fingerprint)
        if admission != "invited":
            return None
        if invitation is None:
            raise Refusal(401, "no-invitation", "This survey needs an invitation, in the header Confide-Invitation.")
        if reports > 1:
            raise Refusal(403, "one-each", f"An invitation is for one report; got {counted(reports, 'report')}.")
        return stores.digest_invitation(invitation)

    def _draw_ticket(self) -> None:
        """Enforce the limit per second: a token bucket of five seconds."""
        most = self.settings.most_a_second
        if not most:
            return
        now = time.monotonic()
        self._tickets = min(5.0 * most, self._tickets + (now - self._drawn) * most)
        self._drawn = now
        if self._tickets < 1:
            raise Refusal(429, "busy", f"More than {most:,} batches a second. Send this one later.", retry_after=1)
        self._tickets -= 1

    def _cell(self, entry: Entry, groups: Any) -> str:
        declared = entry.survey.groups
        if not declared and (groups is None or groups == {}):
            return ""
        if not isinstance(groups, dict) or groups.keys() != declared.keys():
            names = ", ".join(declared) or "none"
            raise Refusal(422, "groups", f"This survey declares the groups {names}; got {shown(groups)}.")
        for name, value in groups.items():
            if value not in declared[name]:
                raise Refusal(422, "groups", f"{name} is none of those that the survey declares; got {shown(value)}.")
        return json.dumps([groups[name] for name in declared], ensure_ascii=False, separators=(",", ":"))

    def add(self, document: str, admission: str = "open") -> str:
        """Add a survey, and return its fingerprint."""
        try:
            survey = Survey.from_json(document)
        except (ConfideError, RecursionError) as error:
            said = "The survey is nested too deeply." if isinstance(error, RecursionError) else str(error)
            raise Refusal(422, "bad-survey", said) from None
        try:
            self.store.add_survey(survey, admission)
        except InvalidParameterError as error:
            raise Refusal(422, "admission", str(error)) from None
        except stores.MixingError as error:
            raise Refusal(409, "simulated", str(error)) from None
        self.refresh()
        return survey.fingerprint


def digest_batch(message: Mapping[str, Any], packed: bytes) -> tuple[str, str]:
    """Return mark and content digest of a batch, keyed with its id."""
    secret, survey = bytes.fromhex(message["batch"]), message["survey"].encode()
    groups = message.get("groups")
    said = b"%b %b " % (survey, message["day"].encode())
    said += packed if not groups else orjson.dumps(groups, option=orjson.OPT_SORT_KEYS) + packed
    mark = hashlib.blake2b(survey, key=secret, digest_size=16, person=b"confide mark")
    content = hashlib.blake2b(said, key=secret, digest_size=16, person=b"confide content")
    return mark.hexdigest(), content.hexdigest()


def count_parts(body: bytes, most: int) -> int:
    """Count commas and opening brackets, an upper bound on values.

    Stop above `most`.

    >>> count_parts(b'{"a": [1, 2]}', 10), count_parts(b"[" * 2**20, 10) < 2**17
    (3, True)
    """
    found = 0
    for start in range(0, len(body), 2**16):  # in slices, so that other threads can run
        end = start + 2**16
        found += body.count(b",", start, end) + body.count(b"[", start, end) + body.count(b"{", start, end)
        if found > most:
            break
    return found


def too_many_parts(most: int) -> Refusal:
    """Return the refusal of a message that would take too much memory."""
    said = f"A message has at most {most:,} commas and brackets. Send fewer reports at a time."
    return Refusal(413, "too-large", said)


def read_json(body: bytes, most_parts: int) -> dict[str, Any]:
    """Parse a JSON object, or refuse it.

    Also if it would take too much memory.
    """
    if len(body) > most_parts and count_parts(body, most_parts) > most_parts:
        raise too_many_parts(most_parts)
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "malformed", f"A message is JSON; {str(error)[:100]}.") from None
    if type(message) is not dict:
        raise Refusal(400, "malformed", f"A message is a JSON object; got {shown(message)}.")
    return message


def shown(value: Any) -> str:
    """Return a received value for a message, cut short.

    It may have millions of parts.

    >>> shown("Oslo"), shown([1, 2]), shown({}), shown("x" * 10**6)[-5:]
    ("'Oslo'", 'a list of 2 items', 'an object of 0 items', 'xx...')
    """
    if isinstance(value, str):
        return repr(value) if len(value) <= 50 else f"{repr(value[:50])[:-1]}..."
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {counted(len(value), 'item')}"
    return repr(value)


Answered = tuple[int, bytes]
"""Version of the counts, and the answer."""


class Readings:
    """Counts, estimate, diagnosis, fit and page, each computed once per version."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._kept: OrderedDict[tuple[str, str], Answered] = OrderedDict()
        self._under_way: dict[tuple[str, str, int], asyncio.Task[bytes]] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._is_over = False

    async def get(self, entry: Entry, what: str) -> Answered:
        """Return an answer and the version of its counts."""
        kinds = ("counts", "estimate", "diagnosis", "fit", "page")
        if what not in kinds:
            raise Refusal(404, "not-found", f"There are {', '.join(kinds)}; got {what[:20]!r}.")
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        version = version_of(entry, account)
        key = entry.stored.fingerprint, what
        kept = self._kept.get(key)
        if kept is not None and kept[0] == version:
            self._kept.move_to_end(key)
            return kept
        task = self._under_way.get((*key, version))
        if task is None:
            if len(self._under_way) >= self.collector.settings.most_computing:
                raise Refusal(429, "busy", "Other answers are being computed. Ask again later.", retry_after=5)
            task = self._under_way[*key, version] = asyncio.create_task(self._compute(entry, what, account))
            task.add_done_callback(lambda _: self._under_way.pop((*key, version), None))
        # The first client may leave while others wait for the same answer.
        body = await asyncio.shield(task)
        self._kept[key] = version, body
        while len(self._kept) > LIMITS.most_kept:  # each is the last answer of its kind and survey
            self._kept.popitem(last=False)
        return version, body

    async def _compute(self, entry: Entry, what: str, account: Mapping[str, int]) -> bytes:
        if what == "counts":
            return await asyncio.to_thread(counts_json, self.collector, entry)
        if not account.get(ACCEPTED):
            raise Refusal(409, "empty", "There are no reports yet.")
        if self._pool is None:
            # Spawn the process: a fork of this one would hold its connections and its threads' locks.
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        record = await asyncio.to_thread(counts_json, self.collector, entry)
        ended = Refusal(503, "unavailable", "The computation was ended. Ask again.", retry_after=5)
        if self._is_over:
            raise ended
        try:
            loop, document = asyncio.get_running_loop(), entry.stored.document
            is_answer, body = await loop.run_in_executor(self._pool, compute, what, document, record)
        except BrokenProcessPool:
            self._pool = None
            raise ended from None
        if not is_answer:
            raise Refusal(422, "no-answer", body.decode())
        return body

    def close(self) -> None:
        """End the computing process for good."""
        self._is_over = True
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def metrics(self) -> str:
        """Return the totals of this process for Prometheus, over all surveys."""
        done, commits = self.collector.commits.tallies, self.collector.commits
        fates = {f'{{outcome="{name}"}}': number for name, number in sorted(done.batches.items())}
        reports = {'{outcome="accepted"}': done.accepted, '{outcome="rejected"}': done.rejected}
        strange = {f'{{survey="{name}"}}': 1 for name in sorted(self.collector.unreadable)}
        measures: list[tuple[str, str, str, Mapping[str, float]]] = [
            ("batches_total", "counter", "Batches, by what became of them.", fates),
            ("reports_total", "counter", "Reports that were counted, and reports that were rejected.", reports),
            ("commits_total", "counter", "Transactions.", {"": done.commits}),
            ("commit_failures_total", "counter", "Transactions that failed.", {"": done.failures}),
            ("commit_seconds_total", "counter", "Seconds in transactions.", {"": done.commit_seconds}),
            ("batches_waiting", "gauge", "Batches that wait to be counted.", {"": len(commits.waiting)}),
            ("surveys", "gauge", "Surveys.", {"": len(self.collector.entries)}),
            ("surveys_unreadable", "gauge", "Surveys of the store that cannot be read.", strange),
            ("store_up", "gauge", "Whether the last transaction succeeded.", {"": float(not commits.fault)}),
            ("up_seconds", "gauge", "Seconds since the start.", {"": time.time() - self.collector.began}),
        ]
        lines: list[str] = []
        for name, kind, meaning, values in measures:
            lines += [f"# HELP confide_{name} {meaning}", f"# TYPE confide_{name} {kind}"]
            lines += [f"confide_{name}{label} {value:.16g}" for label, value in values.items()]
        return "\n".join(lines) + "\n"


def version_of(entry: Entry, account: Mapping[str, int]) -> int:
    """Return the version of the counts.

    Twice the reports, plus one if closed.

    It never repeats: counts only grow, and closing is for good.
    """
    return 2 * sum(account.values()) + entry.stored.is_closed


def counts_json(collector: Collector, entry: Entry) -> bytes:
    """Return a survey's counts by day and group, with the account."""
    rows, account = collector.store.balance(entry.stored.number)
    groups: dict[tuple[int, str], list[list[Any]]] = {}
    for row in rows:
        groups.setdefault((row.day, row.cell), []).append([orjson.Fragment(row.report), row.number])
    listed = [
        {"day": date.fromordinal(day).isoformat(), "groups": json.loads(cell or "[]"), "counts": own}
        for (day, cell), own in groups.items()
    ]
    record = {
        "survey": entry.stored.fingerprint,
        "by": list(entry.survey.groups),
        "accepted": account.get(ACCEPTED, 0),
        "rejected": {reason: number for reason, number in sorted(account.items()) if reason != ACCEPTED},
        "is_simulated": entry.stored.is_simulated,
        "is_closed": entry.stored.is_closed,
        "days": listed,
    }
    return orjson.dumps(record)


def compute(kind: str, document: str, record: bytes) -> tuple[bool, bytes]:
    """Compute an answer from a collector's counts.

    Whether it worked, and the text.

    Failures are returned, not raised, because exceptions may not survive pickling.
    """
    try:
        survey = Survey.from_json(document)
        # As `confide pull` does: with permanent noise, several days may have the same people.
        counts = to_counts_file(survey, json.loads(record)).groups[()][0]
        with warnings.catch_warnings(action="ignore"):  # the answer contains what they say
            return True, _answer(kind, survey, counts).encode()
    except ConfideError as error:
        return False, str(error).encode()


def _answer(kind: str, survey: Survey, counts: Counts) -> str:
    if kind == "fit":
        return to_json(plain(fit(counts, survey.mechanism)))
    if kind == "diagnosis":
        found = diagnose(counts, survey.mechanism, name=survey.name, shape=survey.shape)
        return to_json(diagnosis_record(survey, found))
    outcome = assess_pool([(counts, survey.mechanism)], Stacked(), shape=survey.shape)
    if kind == "estimate":
        return to_json(estimate_record(survey, counts, outcome))
    from confide.present.pages import estimate_page

    return estimate_page(survey, counts, [outcome])

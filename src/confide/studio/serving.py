"""The studio on a collector's server.

Static files, requests of its pages, jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import orjson

from confide import __version__
from confide.collector.client import write_message
from confide.collector.http import HTML, JSON, UNKEPT, Call, Reply, not_found, require_method
from confide.collector.service import Collector, Entry, Refusal, counts_json, read_json, version_of
from confide.collector.stores import ACCEPTED, digest_secret, is_allowed
from confide.errors import InvalidParameterError
from confide.studio.drafts import chosen_districts, chosen_methods, chosen_queries, dataset_records, templates
from confide.studio.sharing import Links
from confide.studio.workers import ENDED, Tell, Worker

TYPES = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "png": b"image/png",
    "json": b"application/json",
    "txt": b"text/plain; charset=utf-8",
    "webmanifest": b"application/manifest+json",
}

MOST_SIMULATED = 100_000
"""Most simulated people per request."""

PREVIEW_SECONDS = 5.0
"""Time limit of a draft; drafts that people make take less than a tenth."""

CROWD_SECONDS = 5.0
"""Seconds between two public results of a survey."""

Body = Callable[[], Awaitable[bytes]]

LONG = {"look": "look", "plan": "long", "expect": "quick", "play": "quick", "simulate": "quick"}
"""The crew for each kind of work, so that a slider never waits behind slow work."""


class Studio:
    """The studio, as a guest of a collector's server."""

    def __init__(
        self, collector: Collector, *, is_warm: bool = False, people: int = 0, links: Links | None = None
    ) -> None:
        self.collector, self._is_warm, self._people = collector, is_warm, people
        self._links = links or Links()
        self.jobs = Jobs()
        # Two processes look, each with its own cache: one answers questions while the other computes windows.
        sizes = {"preview": 1, "quick": 2, "look": 2, "long": 1}
        self.crews = {name: Crew(size) for name, size in sizes.items()}
        self._previews = 0
        self._crowds: dict[str, tuple[float, asyncio.Future[bytes]]] = {}
        self._files: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        static = files("confide").joinpath("studio", "static")
        self._names = {one.name for one in static.iterdir()} if static.is_dir() else set()

    def start(self) -> None:
        """Start processes before they are needed, and simulated people, if requested."""
        if self._is_warm:
            for crew in self.crews.values():
                crew.warm(asyncio.get_running_loop())
        for entry in self.collector.entries.values() if self._people else ():
            if entry.stored.is_simulated:
                self.jobs.add(Job("administer", ""), None, self._simulation(entry, self._people))

    def close(self) -> None:
        """End all jobs and all processes."""
        self.jobs.close()
        for crew in self.crews.values():
            crew.close()

    async def answer(self, request: Call, body: Body) -> Reply:
        """Answer a request, or refuse it."""
        parts = request.path.strip("/").split("/")
        if parts[:2] == ["studio", "v1"]:
            return await self._ask(parts[2:], request, body)
        require_method(request.method, "GET")
        if len(parts) == 3 and parts[0] == "take" and parts[2] == "crowd":
            return 200, await self._crowd(self.collector.entry(parts[1])), JSON
        # Each page has its own files: who may only take part reads nothing of the studio.
        name = self._page_of(parts) if len(parts) < 3 else ""
        if name:
            return self._file("static", name, request)
        if parts[0] == "take" and (
            len(parts) != 2 or parts[1] not in self._names
        ):  # a person opened a broken link: answer with a page, not with JSON
            _, _, sent = self._file("static", "take.html", request)
            return 404, self._files["static", "take.html"][0], sent
        if parts == ["client", "confide.js"]:
            return self._file("client", "confide.js", request)
        raise not_found()

    def _page_of(self, parts: list[str]) -> str:
        """Return the static file of a path; empty if there is none."""
        if parts == ["studio"]:
            return "studio.html"
        room, name = parts[0], parts[-1]
        if room == "take" and re.fullmatch("[0-9a-f]{32}", name):
            return "take.html"
        is_own = room in ("studio", "take") and name.startswith("studio.") == (room == "studio")
        return name if is_own and len(parts) == 2 and name in self._names else ""

    def _file(self, folder: str, name: str, request: Call) -> Reply:
        """Return a static file, which browsers cache and revalidate."""
        kind = name.rpartition(".")[2]
        if (folder, name) not in self._files:
            place = files("confide.studio") / folder
            # Look the name up in the folder: no input from the network becomes part of a path.
            known = {one.name: one for one in place.iterdir() if one.is_file()} if place.is_dir() else {}
            if name not in known or kind not in TYPES:
                is_page = name in ("studio.html", "take.html")
                said = "This page is not built yet. In a clone: make web"
                raise Refusal(404, "not-built", said) if is_page else not_found()
            body = known[name].read_bytes()
            self._files[folder, name] = body, b'"%b"' % hashlib.sha256(body).hexdigest()[:16].encode()
        body, tag = self._files[folder, name]
        # Pages load only their own scripts, styles and pictures.
        policy = (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
            b"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        # Forbid texts as markup or script, except on the page to take part: its service worker needs a text URL.
        policy += b"; require-trusted-types-for 'script'" if name == "studio.html" else b""
        sent = [
            (b"content-type", TYPES[kind]),
            (b"cache-control", b"no-cache"),
            (b"etag", tag),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"content-security-policy", policy),
        ]
        sent += [(b"service-worker-allowed", b"/take/")] if name == "offline.js" else []
        return (304, b"", sent) if request.headers.get(b"if-none-match") == tag else (200, body, sent)

    async def _ask(self, parts: list[str], request: Call, body: Body) -> Reply:
        match parts:
            case ["start"]:
                require_method(request.method, "GET")
                return await asyncio.to_thread(self._start, request)
            case ["preview" | "proposal" | "trials" as what]:
                message = await self._read(request, body)
                return await self._try(message) if what == "trials" else (200, await self._draft(what, message), JSON)
            case ["jobs"]:
                return await self._begin(await self._read(request, body, role="read"), request)
            case ["jobs", number]:
                require_method(request.method, "GET")
                return 200, self._job(number, request).record, JSON
            case ["jobs", number, "stop"]:
                require_method(request.method, "POST")
                self.jobs.stop(self._job(number, request))
                return 200, b"{}", JSON
            case ["watch" | "counts" | "evidence" as what, fingerprint]:
                require_method(request.method, "GET")
                self.collector.require("read", request.secret, fingerprint)
                entry = self.collector.entry(fingerprint)
                return await {"watch": self._watch, "counts": self._counts, "evidence": self._evidence}[what](entry)
        raise not_found()

    async def _read(self, request: Call, body: Body, role: str = "administer") -> dict[str, Any]:
        """Check the token, and return the message, a JSON object."""
        require_method(request.method, "POST")
        if role == "administer" or not any(self._may_read(request, one) for one in self.collector.entries.values()):
            self.collector.require(role, request.secret)
        return read_json(await body(), self.collector.settings.most_parts)

    def _start(self, request: Call) -> Reply:
        may_administer = request.secret is not None and is_allowed(request.secret, "administer", self.collector.tokens)
        entries = [one for one in self.collector.entries.values() if self._may_read(request, one)]
        if not entries and not may_administer:  # a token of one survey sees that one
            self.collector.require("read", request.secret)
        found = {
            "version": __version__,
            "datasets": dataset_records(),
            "templates": templates(),
            "surveys": [self._summary(one) for one in entries],
            "may_administer": may_administer,
            "languages": sorted(name[:-5] for name in self._names if name.endswith(".json")),
            "links": self._links.record,
        }
        return 200, orjson.dumps(found), JSON

    def _may_read(self, request: Call, entry: Entry) -> bool:
        tokens, fingerprint = self.collector.tokens, entry.stored.fingerprint
        return request.secret is not None and is_allowed(request.secret, "read", tokens, fingerprint)

    def _summary(self, entry: Entry) -> dict[str, Any]:
        stored, account = entry.stored, self.collector.store.account(entry.stored.number)
        return {
            "survey": stored.fingerprint,
            "title": entry.survey.title,
            "name": entry.survey.name,
            "accepted": account.get(ACCEPTED, 0),
            "is_simulated": stored.is_simulated,
            "is_closed": stored.is_closed,
            "version": version_of(entry, account),
        }

    async def _draft(self, kind: str, message: Mapping[str, Any]) -> bytes:
        """Return the preview of a draft.

        End its process if it takes too long.
        """
        if self._previews >= 8:  # a page asks for the next when it has the last
            raise Refusal(429, "busy", "Too many drafts wait. Ask again later.", retry_after=1)
        self._previews += 1
        try:
            loop = asyncio.get_running_loop()
            # Allow a minute for the process to start on a busy machine; then the draft's own limit begins.
            async with asyncio.timeout(60.0) as limit:

                def hurry() -> None:
                    with contextlib.suppress(RuntimeError):  # the client has left
                        limit.reschedule(loop.time() + PREVIEW_SECONDS)

                def begin(*_: object) -> None:
                    loop.call_soon_threadsafe(hurry)

                return await self.crews["preview"].do(kind, dict(message), begin)
        except TimeoutError:
            said = "This draft takes too long. Take fewer or coarser values, or another mechanism."
            raise Refusal(422, "slow", said) from None
        finally:
            self._previews -= 1

    async def _try(self, message: Mapping[str, Any]) -> Reply:
        """Add or find a simulated survey, and summarise it."""
        if "survey" in message:  # a rehearsal
            message = {"document": self.collector.entry(message["survey"]).stored.document}
        made = orjson.loads(await self._draft("trial", message))
        entry = self.collector.entry(await asyncio.to_thread(self.collector.add, made["document"]))
        if entry.stored.is_closed:
            said = "Made-up people answered this design before, and that survey was closed. To try it anew, change "
            said += "what reports depend on, such as epsilon, the values or what the truth may look like."
            raise Refusal(410, "closed", said)
        summary = await asyncio.to_thread(self._summary, entry)
        return 201, orjson.dumps(summary | {"most": min(made["most"], MOST_SIMULATED)}), JSON

    async def _begin(self, message: dict[str, Any], request: Call) -> Reply:
        kind, owner = message.get("kind"), digest_secret(request.secret or "")
        if not isinstance(kind, str) or kind not in LONG:
            raise Refusal(400, "malformed", f"kind is one of {', '.join(LONG)}; got {str(kind)[:20]!r}.")
        if kind == "look":
            entry = self.collector.entry(message.get("survey"))
            self.collector.require("read", request.secret, entry.stored.fingerprint)
            try:  # check now, while the client still knows which question it was
                chosen_queries(message.get("queries"))
                chosen_methods(message.get("methods"))
                chosen_districts(message.get("districts"), entry.survey.alphabet.size)
            except InvalidParameterError as error:
                raise Refusal(422, "queries", str(error)) from None
            job = self.jobs.add(*await self._look(entry, message, owner))
        elif kind == "simulate":
            self.collector.require("administer", request.secret)
            entry = self.collector.entry(message.get("survey"))
            job = self.jobs.add(Job("administer", "", owner), None, self._simulation(entry, message.get("people")))
        else:
            self.collector.require("administer", request.secret)
            job = self.jobs.add(Job("administer", "", owner), _key(message), self._worker(kind, message))
        return 202, orjson.dumps({"job": job.number}), JSON

    def _worker(self, kind: str, message: Any) -> Callable[[Job], Any]:
        return lambda job: self.crews[LONG[kind]].do(kind, message, job.tell, job.begin)

    async def _look(self, entry: Entry, message: dict[str, Any], owner: str) -> tuple[Job, str, Callable[[Job], Any]]:
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        if not account.get(ACCEPTED):
            raise Refusal(409, "empty", "There are no reports yet.")
        version = version_of(entry, account)

        async def work(job: Job) -> bytes:
            record = await asyncio.to_thread(counts_json, self.collector, entry)
            asked = message | {"document": entry.stored.document, "record": record, "version": version}
            return await self._worker("look", asked)(job)  # type: ignore[no-any-return]

        return Job("read", entry.stored.fingerprint, owner), _key(message | {"version": version}), work

    def _simulation(self, entry: Entry, people: object) -> Callable[[Job], Any]:
        """Return a job that lets simulated people answer a survey in batches."""
        if type(people) is not int or not 1 <= people <= MOST_SIMULATED:
            raise Refusal(422, "people", f"people must be a whole number from 1 to {MOST_SIMULATED:,}.")
        if not entry.stored.is_simulated:
            raise Refusal(409, "real", "This survey is for real people: made-up reports would be mixed with theirs.")
        if entry.stored.is_closed:
            raise Refusal(410, "closed", "This survey is closed, and takes no more reports.")

        async def work(job: Job) -> bytes:
            done = 0
            job.tell(done, people, "Made-up people answer")
            while done < people:  # a few at a time, to bound memory and let other requests through
                asked = {"document": entry.stored.document, "people": people - done, "of": people}
                crew = self.crews[LONG["simulate"]]
                for batch in orjson.loads(await crew.do("simulate", asked, None, job.begin)):
                    message = write_message(entry.survey, batch["reports"], groups=batch["groups"])
                    await self.collector.take(message)
                    done += len(batch["reports"])
                    job.tell(done, people, "Made-up people answer")
                    await asyncio.sleep(0.00015 * len(batch["reports"]))  # so that viewers see them arrive
            return orjson.dumps({"accepted": done})

        return work

    def _job(self, number: str, request: Call) -> Job:
        job = self.jobs.get(number)
        self.collector.require(job.role, request.secret, job.survey)
        return job

    async def _watch(self, entry: Entry) -> Reply:
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        accepted = account.get(ACCEPTED, 0)
        found = {
            "version": version_of(entry, account),
            "accepted": accepted,
            "rejected": sum(account.values()) - accepted,
            "is_closed": entry.stored.is_closed,
        }
        return 200, orjson.dumps(found), JSON

    async def _crowd(self, entry: Entry) -> bytes:
        """Return what people may know: how many answered, perhaps the result.

        No token is needed, so we look at most every few seconds, once for all who ask.
        """
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        found: dict[str, Any] = {"accepted": account.get(ACCEPTED, 0), "result": None}
        if entry.survey.results and found["accepted"]:
            known = self._crowds.get(entry.stored.fingerprint)
            if known is None or (known[1].done() and time.monotonic() - known[0] > CROWD_SECONDS):
                known = time.monotonic(), asyncio.ensure_future(self._result(entry, version_of(entry, account)))
                self._crowds[entry.stored.fingerprint] = known
            found["result"] = orjson.Fragment(await asyncio.shield(known[1]))
        return orjson.dumps(found)

    async def _result(self, entry: Entry, version: int) -> bytes:
        record = await asyncio.to_thread(counts_json, self.collector, entry)
        asked = {"queries": [], "methods": [], "more": False}
        asked |= {"document": entry.stored.document, "record": record, "version": version}
        try:
            known = orjson.loads(await self.crews["quick"].do("look", asked))
        except Refusal:  # no answer: people see how many answered all the same
            return b"null"
        found = {key: known[key] for key in ("distribution", "reports")}
        return orjson.dumps({"labels": known["values"]["labels"]} | found)

    async def _evidence(self, entry: Entry) -> Reply:
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        record = await asyncio.to_thread(counts_json, self.collector, entry)
        asked = {"document": entry.stored.document, "record": record, "version": version_of(entry, account)}
        return 200, await self.crews["look"].do("evidence", asked), HTML

    async def _counts(self, entry: Entry) -> Reply:
        record = await asyncio.to_thread(counts_json, self.collector, entry)
        asked = {"document": entry.stored.document, "record": record}
        headers = [
            (b"content-type", b"application/vnd.apache.parquet"),
            (b"content-disposition", b'attachment; filename="counts.parquet"'),
            *UNKEPT,
        ]
        return 200, await self.crews["quick"].do("counts", asked), headers


def _key(message: Mapping[str, Any]) -> str:
    """Return the cache key of a request."""
    return hashlib.sha256(orjson.dumps(message, option=orjson.OPT_SORT_KEYS)).hexdigest()


MOST_JOBS = 16
"""Most jobs that run or wait."""

MOST_EACH = 8
"""Most of them for one token."""

MOST_KEPT = 64
"""Most cached answers."""


class Crew:
    """Processes for one kind of work.

    Requests wait in line for a free one.
    """

    def __init__(self, size: int) -> None:
        self._turns = asyncio.Semaphore(size)
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._threads = ThreadPoolExecutor(2 * size, thread_name_prefix="studio")
        self._is_closed = False

    async def do(
        self, kind: str, asked: Any, tell: Tell | None = None, begin: Callable[[], None] | None = None
    ) -> bytes:
        """Return an answer as JSON, or refuse.

        A cancelled task kills its process.
        """
        loop = asyncio.get_running_loop()
        async with self._turns:
            if self._is_closed:  # the server ends
                raise Refusal(503, "ended", ENDED, retry_after=1)
            if begin is not None:
                begin()
            worker = await self._take(loop)
            try:
                code, body = await loop.run_in_executor(self._threads, worker.do, kind, asked, tell)
            except asyncio.CancelledError:
                self._drop(worker)
                self.warm(loop)
                raise
            if code == "ended":
                self._drop(worker)
            else:
                self._idle.append(worker)
        if code:
            status = {"malformed": 400, "no-answer": 422, "too-large": 422, "failed": 500, "ended": 503}
            raise Refusal(status[code], code, body.decode(), retry_after=1 if code == "ended" else None)
        return body

    async def _take(self, loop: asyncio.AbstractEventLoop) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.process.is_alive():
                return worker
            self._drop(worker)
        return await loop.run_in_executor(self._threads, self._start)

    def _start(self) -> Worker:
        worker = Worker()
        self._workers.append(worker)
        if self._is_closed:
            self._drop(worker)
        return worker

    def warm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start a process before it is needed."""
        if not self._is_closed:
            started = loop.run_in_executor(self._threads, self._start)
            started.add_done_callback(lambda done: None if done.cancelled() else self._idle.append(done.result()))

    def _drop(self, worker: Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        worker.process.kill()  # without waiting: this runs on the event loop
        self._threads.submit(worker.end) if not self._is_closed else worker.end()

    def close(self) -> None:
        """End all processes."""
        self._is_closed = True
        for worker in list(self._workers):
            worker.end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def processes(self) -> list[int]:
        """Ids of the processes."""
        return [one.process.pid for one in self._workers if one.process.pid is not None]


@dataclass(eq=False)
class Job:
    """A requested job.

    Attributes
    ----------
    role, survey
        The role and the survey that a token needs to see this job.
    owner
        Digest of the requesting token; empty if the server started it.
    """

    role: str
    survey: str
    owner: str = ""
    number: str = field(default_factory=lambda: secrets.token_hex(16))
    state: str = "waiting"
    done: int = 0
    of: int = 0
    words: str = ""
    partial: bytes | None = None
    answer: bytes | None = None
    error: Refusal | None = None
    ended: float = 0.0
    task: asyncio.Task[None] | None = None

    def tell(self, done: int, of: int, words: str, partial: bytes | None = None) -> None:
        """Record progress and partial results; called from another thread."""
        self.done, self.of, self.words, self.partial = done, of, words, partial or self.partial

    def begin(self) -> None:
        """Record that work began."""
        self.state = "running"

    @property
    def record(self) -> bytes:
        """Progress, and the answer or the error if there is one."""
        found: dict[str, Any] = {"state": self.state, "done": self.done, "of": self.of, "words": self.words}
        if self.partial is not None and self.answer is None:
            found["partial"] = orjson.Fragment(self.partial)
        if self.answer is not None:
            found["answer"] = orjson.Fragment(self.answer)
        if self.error is not None:
            found["error"] = {"code": self.error.code, "message": self.error.message}
        return orjson.dumps(found)


class Jobs:
    """All jobs by number, and the cached answers."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def add(self, job: Job, key: str | None, work: Callable[[Job], Awaitable[bytes]]) -> Job:
        """Start a job; a cached answer completes it at once."""
        self._forget()
        busy = [one.owner for one in self._jobs.values() if one.ended == 0.0]
        if len(busy) >= MOST_JOBS or (job.owner and busy.count(job.owner) >= MOST_EACH):
            raise Refusal(429, "busy", "The studio is at work on many things. Stop some, or wait.", retry_after=2)
        self._jobs[job.number] = job
        job.task = asyncio.create_task(self._run(job, key, work))
        return job

    async def _run(self, job: Job, key: str | None, work: Callable[[Job], Awaitable[bytes]]) -> None:
        try:
            # Asked twice, as by two tabs, work is done once.
            kept = None if key is None else self.kept(key)
            job.answer = await work(job) if kept is None else kept
            job.state = "done"
            if key is not None:
                self.keep(key, job.answer)
        except Refusal as refusal:
            job.state, job.error = "failed", refusal
        except asyncio.CancelledError:
            job.state = "stopped"
        except Exception as error:  # reported to the client, and not logged
            said = f"This failed here: {type(error).__name__}. Please report it."
            job.state, job.error = "failed", Refusal(500, "failed", said)
        finally:
            job.ended = time.monotonic()

    def get(self, number: str) -> Job:
        """Return a job by its number."""
        self._forget()
        found = self._jobs.get(number)
        if found is None:
            raise Refusal(404, "no-job", "There is no such job here, or no longer. Ask again.")
        return found

    def stop(self, job: Job) -> None:
        """Stop a job and end its process."""
        if job.task is not None and not job.ended:
            job.task.cancel()
            job.state = "stopped"

    def kept(self, key: str) -> bytes | None:
        """Return a cached answer."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: str, answer: bytes) -> None:
        """Cache an answer, and drop the oldest."""
        self._kept[key] = answer
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs.values():
            self.stop(job)

    def _forget(self) -> None:
        before = time.monotonic() - 300.0  # drop jobs five minutes after they ended, fetched or not
        self._jobs = {number: job for number, job in self._jobs.items() if not 0 < job.ended < before}

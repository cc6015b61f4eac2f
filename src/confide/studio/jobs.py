"""Jobs of the studio: a few warm processes, work that tells its progress, can be stopped, and is kept when done."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import orjson

from confide.collector.service import Refusal
from confide.studio.workers import ENDED, Tell, Worker

MOST_JOBS = 16
"""Jobs that are at work or wait."""

MOST_EACH = 8
"""Jobs of one token among them."""

MOST_KEPT = 64
"""Answers that are kept."""

STATUS = {"malformed": 400, "no-answer": 422, "too-large": 422, "failed": 500, "ended": 503}
"""Statuses of HTTP, by the code of what went wrong."""


class Crew:
    """Processes of one sort; whoever finds all at work waits in line."""

    def __init__(self, size: int) -> None:
        self._turns = asyncio.Semaphore(size)
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._threads = ThreadPoolExecutor(2 * size, thread_name_prefix="studio")
        self._is_closed = False

    async def do(
        self, kind: str, asked: Any, tell: Tell | None = None, begin: Callable[[], None] | None = None
    ) -> bytes:
        """Return an answer as JSON, or refuse; a task that is cancelled ends its process."""
        loop = asyncio.get_running_loop()
        async with self._turns:
            if self._is_closed:  # the server ends
                raise Refusal(STATUS["ended"], "ended", ENDED, retry_after=1)
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
            raise Refusal(STATUS[code], code, body.decode(), retry_after=1 if code == "ended" else None)
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
        """Start a process before it is asked for."""
        if not self._is_closed:
            started = loop.run_in_executor(self._threads, self._start)
            started.add_done_callback(lambda done: None if done.cancelled() else self._idle.append(done.result()))

    def _drop(self, worker: Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        worker.process.kill()  # without waiting: this is the loop
        self._threads.submit(worker.end) if not self._is_closed else worker.end()

    def close(self) -> None:
        """End all processes."""
        self._is_closed = True
        for worker in list(self._workers):
            worker.end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes that there are."""
        return [one.process.pid for one in self._workers if one.process.pid is not None]


@dataclass(eq=False)
class Job:
    """Work that somebody asked for.

    Attributes
    ----------
    role, survey
        What the token of whoever asked allows, and the survey that it was about: whoever looks needs the same.
    owner
        Digest of the token; empty where the server itself asked.
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
        """Take note of the progress, and of what is known so far; called from another thread."""
        self.done, self.of, self.words, self.partial = done, of, words, partial or self.partial

    def begin(self) -> None:
        """Take note that it is at work."""
        self.state = "running"

    @property
    def record(self) -> bytes:
        """The progress, and the answer or what went wrong when there is one."""
        found: dict[str, Any] = {"state": self.state, "done": self.done, "of": self.of, "words": self.words}
        if self.partial is not None and self.answer is None:
            found["partial"] = orjson.Fragment(self.partial)
        if self.answer is not None:
            found["answer"] = orjson.Fragment(self.answer)
        if self.error is not None:
            found["error"] = {"code": self.error.code, "message": self.error.message}
        return orjson.dumps(found)


class Jobs:
    """All jobs, by their numbers, and answers that are kept."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def add(self, job: Job, key: str | None, work: Callable[[Job], Awaitable[bytes]]) -> Job:
        """Begin a job, unless its answer is kept: then it is done at once."""
        self._forget()
        busy = [one.owner for one in self._jobs.values() if one.ended == 0.0]
        if len(busy) >= MOST_JOBS or (job.owner and busy.count(job.owner) >= MOST_EACH):
            raise Refusal(429, "busy", "The studio is at work on many things. Stop some, or wait.", retry_after=2)
        self._jobs[job.number] = job
        job.task = asyncio.create_task(self._run(job, key, work))
        return job

    async def _run(self, job: Job, key: str | None, work: Callable[[Job], Awaitable[bytes]]) -> None:
        try:
            kept = None if key is None else self.kept(key)
            job.answer = await work(job) if kept is None else kept
            job.state = "done"
            if key is not None:
                self.keep(key, job.answer)
        except Refusal as refusal:
            job.state, job.error = "failed", refusal
        except asyncio.CancelledError:
            job.state = "stopped"
        except Exception as error:  # told to whoever asked, and to no log
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
        """Stop a job: the process that works on it is ended."""
        if job.task is not None and not job.ended:
            job.task.cancel()
            job.state = "stopped"

    def kept(self, key: str) -> bytes | None:
        """Return an answer that is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: str, answer: bytes) -> None:
        """Keep an answer, and forget the oldest."""
        self._kept[key] = answer
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs.values():
            self.stop(job)

    def _forget(self) -> None:
        before = time.monotonic() - 300.0  # seconds, whether anybody fetched its answer or not
        self._jobs = {number: job for number, job in self._jobs.items() if not 0 < job.ended < before}

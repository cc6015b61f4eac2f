"""Work beside the event loop: room for large messages, a thread that parses them, a thread that counts batches."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from confide.collector.limits import LIMITS
from confide.collector.stores import Batch, Fate, Store, StoreError, UnavailableError

P = ParamSpec("P")
T = TypeVar("T")

Waiting = tuple[int, "asyncio.Future[None]"]
"""A size, and the future that is done when there is room for it."""


class Room:
    """Room for so much at a time, in total and for each address; addresses that wait take turns.

    Addresses are known while something of theirs is inside or waits, and nowhere else.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        self._inside: Counter[str] = Counter()
        self._waiting: dict[str, deque[Waiting]] = {}

    async def enter(self, address: str, size: int, seconds: float | None = None) -> None:
        """Wait for room; `TimeoutError` where there is none in time, or too many wait. Whoever entered must leave."""
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
            if waiting[1].done() and not waiting[1].cancelled():  # it was let in, in the same moment
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
        # Whatever is larger than the room still enters, alone.
        return (
            self._inside.total() + size <= max(self.most, size)
            and self._inside[address] + size <= max(self.most_each, size)
        )  # fmt: skip

    def _admit(self) -> None:
        self._waiting = {address: line for address, line in self._waiting.items() if line}
        while fitting := [one for one, line in self._waiting.items() if self._fits(one, line[0][0])]:
            line = self._waiting.pop(address := fitting[0])
            size, future = line.popleft()
            if line:
                self._waiting[address] = line  # at the end: others come first next time
            if not future.cancelled():  # whoever waited has not gone in this moment
                self._inside[address] += size
                future.set_result(None)


class Lane:
    """One thread for work that would hold up the event loop: one piece at a time, addresses in turn."""

    def __init__(self) -> None:
        self._turn = Room(1, 1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="confide-parse")

    async def do(self, address: str, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do this in the thread when it is this address's turn; `TimeoutError` where too many wait for theirs."""
        await self._turn.enter(address, 1)
        try:
            call = lambda: work(*given, **named)  # noqa: E731 - an executor takes no names
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        finally:
            self._turn.leave(address, 1)

    def close(self) -> None:
        """End the thread, when its work is done."""
        self._thread.shutdown(wait=False)


@dataclass
class Tallies:
    """Numbers of what one process has done since it began, for operators; nothing of any survey or sender."""

    batches: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    rejected: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    failures: int = 0


class GroupCommit:
    """A thread that counts what waits. The event loop hands batches over and gets what became of them."""

    def __init__(self, store: Store, most_waiting: int = 10_000) -> None:
        self.store, self.most_waiting, self.tallies = store, most_waiting, Tallies()
        self.fault = ""
        """Why the last transaction failed; empty where it did not."""
        self.waiting: list[tuple[Batch, asyncio.Future[Fate]]] = []
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._work, name="confide-commit", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def hand_over(self, batch: Batch) -> asyncio.Future[Fate]:
        """Let a batch be counted; the future is done when it is durable, or fails when it is not counted."""
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            self.waiting.append((batch, future))
            if len(self.waiting) == 1:
                self._changed.notify()
        return future

    def finish(self) -> None:
        """Count all that waits, then end."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        is_tidy, last = True, 0
        while True:
            if last > 1:
                # Those who were answered send again: one of them alone in a transaction would cost the others a whole
                # synchronisation of the disk, some 5 ms.
                time.sleep(0.002)
            with self._changed:
                while not self.waiting and not self._is_ending:
                    if not self._changed.wait(None if is_tidy else 1.0):
                        break
                # Who ends does not wait for a store that is gone once more for each thousand.
                most = len(self.waiting) if self._is_ending and self.fault else LIMITS.most_together
                now, self.waiting = self.waiting[:most], self.waiting[most:]
            last, is_tidy = len(now), not now
            if now:
                self._count(now)
                continue
            try:  # a second without a batch: the log, until now, tells in which order they came
                self.store.tidy()
            except StoreError as error:
                self.fault = str(error)
            if self._is_ending:
                return

    def _count(self, now: list[tuple[Batch, asyncio.Future[Fate]]]) -> None:
        start = time.perf_counter()
        fates: list[Fate] = []
        failure: Exception | None = None
        try:
            fates = self.store.commit([batch for batch, _ in now])
        except Exception as error:  # whatever it is, those who wait must be told
            failure = error if isinstance(error, StoreError) else UnavailableError(f"{type(error).__name__}: {error}")
        self.fault = "" if failure is None else str(failure)
        self.tallies.commits += failure is None
        self.tallies.failures += failure is not None
        self.tallies.commit_seconds += time.perf_counter() - start
        for (batch, _), fate in zip(now, fates, strict=False):
            if fate is Fate.COUNTED:
                self.tallies.accepted += batch.accepted
                self.tallies.rejected += sum(batch.rejected.values())
        futures = [future for _, future in now]
        loop = futures[0].get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(_answer, futures, fates, failure)  # one call for all: each is a system call


def _answer(futures: list[asyncio.Future[Fate]], fates: list[Fate], failure: Exception | None) -> None:
    for place, future in enumerate(futures):
        if future.done():  # whoever waited has gone
            continue
        if failure is None:
            future.set_result(fates[place])
        else:
            future.set_exception(failure)

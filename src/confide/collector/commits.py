"""Group commit: all batches that wait are counted in one transaction, and answered after it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from confide.collector.rows import Batch, Fate
from confide.collector.stores import Store, StoreError, UnavailableError

MOST_TOGETHER = 1_000
"""Batches in one transaction, so that the first of them does not wait for long."""

GATHER = 0.002
"""Seconds for which a transaction waits for more where the last had several batches: those who were answered after it
send again, and one of them alone would cost the others a whole synchronisation of the disk, some 5 ms."""

IDLE = 1.0
"""Seconds without a batch after which the store is tidied: its log, until then, has an order."""


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
        self._waiting: list[tuple[Batch, asyncio.Future[Fate]]] = []
        self._changed = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._work, name="confide-commit", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many batches wait."""
        return len(self._waiting)

    def hand_over(self, batch: Batch) -> asyncio.Future[Fate]:
        """Let a batch be counted; the future is done when it is durable, or fails when it is not counted."""
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            self._waiting.append((batch, future))
            if len(self._waiting) == 1:
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
                time.sleep(GATHER)
            with self._changed:
                while not self._waiting and not self._is_ending:
                    if not self._changed.wait(None if is_tidy else IDLE):
                        break
                # Who ends does not wait for a store that is gone once more for each thousand.
                most = len(self._waiting) if self._is_ending and self.fault else MOST_TOGETHER
                now, self._waiting = self._waiting[:most], self._waiting[most:]
            last = len(now)
            if now:
                self._count(now)
                is_tidy = False
            else:
                self._tidy()
                is_tidy = True
                if self._is_ending:
                    return

    def _tidy(self) -> None:
        try:
            self.store.tidy()
        except StoreError as error:
            self.fault = str(error)

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
        # One call for all: each wakes the loop by a system call.
        futures = [future for _, future in now]
        _call_soon(futures[0], lambda: _answer(futures, fates, failure))


def _call_soon(future: asyncio.Future[Fate], call: Callable[[], None]) -> None:
    loop = future.get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _answer(futures: list[asyncio.Future[Fate]], fates: list[Fate], failure: Exception | None) -> None:
    for place, future in enumerate(futures):
        if future.done():  # whoever waited has gone
            continue
        if failure is None:
            future.set_result(fates[place])
        else:
            future.set_exception(failure)

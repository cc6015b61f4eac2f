"""Room for large messages: how many bytes of them are held at a time, and one thread that parses them in turn."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST_WAITING, MOST_WAITING_EACH = 1_024, 256
"""How many may wait, in total and of one address: nobody else bounds those who send something and leave at once."""

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
        if len(self._waiting.get(address, ())) >= MOST_WAITING_EACH:
            raise TimeoutError
        if sum(map(len, self._waiting.values())) >= MOST_WAITING:
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

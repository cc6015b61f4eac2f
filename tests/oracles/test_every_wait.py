"""Whoever waits comes in turn, whoever takes too long is ended, and days are files of as many reports as there may be.

Small models beside the collector: a line for each address, a clock for each state of a connection, and a table of days,
limits and kinds of noise.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import confide as cf
from confide.collector.client import to_counts_file
from confide.collector.service import Room
from confide.collector.serving import GuardedProtocol
from confide.collector.stores import UnavailableError, open_store
from confide.collector.wire import LIMITS


@pytest.mark.parametrize("seed", range(5))
def test_those_of_one_address_enter_in_the_order_in_which_they_came(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 (a test)
    visitors = [(draw.choice("abc"), draw.randint(1, 3), number) for number in range(30)]
    entered: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    inside = {"all": 0, "most": 0}

    async def run() -> None:
        room = Room(4, 3)

        async def come(address: str, size: int, number: int) -> None:
            await room.enter(address, size)
            entered[address].append(number)
            inside["all"] += size
            inside["most"] = max(inside["most"], inside["all"])
            await asyncio.sleep(0.001 * draw.randint(0, 2))
            inside["all"] -= size
            room.leave(address, size)

        tasks = []
        for one in visitors:
            tasks.append(asyncio.create_task(come(*one)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)

    asyncio.run(run())
    for address, numbers in entered.items():
        assert numbers == [number for own, _, number in visitors if own == address], address
    assert 0 < inside["most"] <= 4


class Line:
    """A transport that says what was done to it."""

    def __init__(self, *, is_closing: bool) -> None:
        self.done = ""
        self._is_closing = is_closing

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        self.done = "aborted"

    def close(self) -> None:
        self.done = "closed"


ENDING, ANSWER, HEADER = LIMITS.ending_seconds, LIMITS.answer_seconds, LIMITS.header_seconds


@pytest.mark.parametrize(
    ("ending", "closing", "unread", "since", "expected"),
    [
        (False, None, ANSWER - 1, None, ""),
        (False, None, ANSWER + 1, None, "aborted"),
        (True, None, ENDING - 1, None, ""),
        (True, None, ENDING + 1, None, "aborted"),
        (False, None, ENDING + 1, None, ""),
        (False, 4.0, None, None, ""),
        (False, 6.0, None, None, "aborted"),
        (False, None, None, HEADER - 1, ""),
        (False, None, None, HEADER + 1, "closed"),
        (True, None, None, HEADER + 1, "closed"),
    ],
)
def test_a_connection_ends_when_its_client_took_too_long(
    ending: bool, closing: float | None, unread: float | None, since: float | None, expected: str
) -> None:
    """Seconds ago: since when it closes, nobody read, and a request is awaited."""
    now = 1000.0
    line: Any = Line(is_closing=closing is not None)
    connection: Any = GuardedProtocol.__new__(GuardedProtocol)
    connection.transport, connection._is_ending, connection.cycle = line, ending, None
    connection._closing = None if closing is None else now - closing
    connection._unread = None if unread is None else now - unread
    connection._since = None if since is None else now - since
    connection.check(now)
    assert line.done == expected


@pytest.mark.parametrize("most", [None, 1, 2, 5])
@pytest.mark.parametrize("is_permanent", [False, True])
def test_days_are_files_of_as_many_reports_as_one_person_may_make(most: int | None, is_permanent: bool) -> None:
    survey = cf.Survey(
        cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), most_reports=most, is_permanent=is_permanent,
        groups={"town": ("Bern", "Oslo")},
    )  # fmt: skip
    days = [
        {"day": f"2026-11-{10 + day}", "groups": [town], "counts": [["yes", 3]]}
        for town, last in (("Bern", 4), ("Oslo", 2))
        for day in range(last)
    ]
    record = {"survey": survey.fingerprint, "by": ["town"], "accepted": 18, "rejected": {"missing": 2}, "days": days}
    for by, simulated in (((), False), (("town",), True)):
        heading = to_counts_file(survey, record | {"is_simulated": simulated}, by).heading
        limit = 10**9 if most is None or is_permanent else most  # which counts values there, that nobody can see
        assert heading.files == min(4, limit)
        assert dict(heading.group_files) == ({("Bern",): min(4, limit), ("Oslo",): min(2, limit)} if by else {})
        (origin,) = heading.origins
        assert (origin.permanent, origin.simulated) == ((0, 18) if simulated else (18 * is_permanent, 0))
        assert (heading.rows.accepted, heading.rows.total_rejected, heading.by) == (18, 2, by)


@pytest.mark.parametrize("word", ["INSERT", "DELETE", "COMMIT", "BEGIN"])
def test_a_store_that_cannot_write_is_told_by_a_check(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = open_store(str(tmp_path / "s.db"))
    store.check()
    connect = store._connect

    class Full:
        """A connection to a disk that is full."""

        def __init__(self) -> None:
            self.real = connect()

        def execute(self, statement: str, *values: Any) -> Any:
            if statement.startswith(word):
                raise sqlite3.OperationalError("database or disk is full")
            return self.real.execute(statement, *values)

        def close(self) -> None:
            self.real.close()

    monkeypatch.setattr(store, "_connect", Full)
    with pytest.raises(UnavailableError, match="full"):
        store.check()
    monkeypatch.undo()
    store.check()
    store.close()

"""What the two databases are told: settings as facts, locks as a table, numbers of any size, any number of failures.

What a store counts is compared with sums in a dictionary.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from tests.collector.asking import ages

from confide.collector import postgresql
from confide.collector.postgresql import PostgresStore
from confide.collector.service import Room
from confide.collector.stores import Batch, Fate, Store, UnavailableError, make_token, open_store
from confide.collector.wire import LIMITS, Wire

DAY = 739_000
WIRE = Wire.of(ages())


def batch(
    number: int, counts: dict[str, int], *, survey: int = 1, day: int = DAY, cell: str = "", bad: int = 0
) -> Batch:
    rejected = {"missing": bad} if bad else {}
    return Batch(f"{number:032x}", f"{number:032x}", survey, day, cell, counts, sum(counts.values()), rejected, WIRE)


@pytest.fixture
def served(database: str) -> Iterator[PostgresStore]:
    store = open_store(database)
    assert isinstance(store, PostgresStore)
    store.add_survey(ages())
    yield store
    store.close()


# Settings.


def test_every_limit_of_a_collector_is_the_one_that_is_written_here() -> None:
    assert asdict(LIMITS) == {
        "patience": 60.0, "first_patience": 15.0, "longest_wait": 30.0, "most_strange": 6, "batch_size": 1_000,
        "window": 7, "lock_seconds": 5.0, "database_seconds": 10.0, "most_known": 16_384,
        "longest_known": 64, "few": 32, "light": 32_768, "free": 65_536, "most_together": 1_000, "most_waiting": 1_024,
        "most_waiting_each": 256, "most_refused": 100, "most_kept": 64,
        "refresh_seconds": 1.0, "most_header_bytes": 32_768,
        "header_seconds": 10.0, "answer_seconds": 60.0, "ending_seconds": 5.0, "most_pipelined": 16, "spare_files": 64,

    }  # fmt: skip


def test_what_postgresql_is_told(served: PostgresStore) -> None:
    settings = ("synchronous_commit", "lock_timeout", "statement_timeout", "transaction_isolation")
    ways = {"reading": "repeatable read", "writing": "read committed", "counting": "read committed"}
    for way, isolation in ways.items():
        with getattr(served, way)() as connection:
            told = {name: served.run(connection, f"SHOW {name}")[0][0] for name in settings}
            parameters = connection.info.get_parameters()
            silence = connection.seconds
            served.take_time(connection)
            longer = served.run(connection, "SHOW statement_timeout")[0][0], connection.seconds
        assert told == dict(zip(settings, ("on", "5s", "10s", isolation), strict=True)), way
        assert (parameters["connect_timeout"], silence, longer) == ("5", 10.0, ("0", 3600.0)), way


# Locks: who waits for whom.


def held(connection: Any) -> dict[int, str]:
    rows = connection.execute(
        "SELECT objid::bigint, mode FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    )
    return dict(rows.fetchall())


def test_the_locks_of_each_kind_of_transaction(served: PostgresStore) -> None:
    tables, gate = postgresql.LOCK, postgresql.GATE
    with served.reading() as connection:
        assert held(connection) == {}
    with served.writing() as connection:
        assert held(connection) == {tables: "ExclusiveLock"}
        served.gate(connection)
        assert held(connection) == {tables: "ExclusiveLock", gate: "ExclusiveLock"}
    with served.counting() as connection:
        assert held(connection) == {gate: "ShareLock"}


CHANGES: dict[str, tuple[Callable[[Store], object], bool]] = {
    "counts": (lambda store: store.commit([batch(7, {"3": 1})]), False),
    "reads": (lambda store: store.balance(1), False),
    "looks": (lambda store: store.look(), False),
    "adds a survey": (lambda store: store.add_survey(ages(limits="[limits]\nreports = 1")), False),
    "says who may upload": (lambda store: store.admit(ages().fingerprint, "token"), False),
    "makes a token": (lambda store: make_token(store, "read"), False),
    "sets the window": (lambda store: store.set_window(9), False),
    "opens days again": (lambda store: store.reopen(date.fromordinal(DAY)), True),
    "forgets days": (lambda store: store.forget(date.fromordinal(DAY + 1)), True),
    "closes a survey": (lambda store: store.close_survey(ages().fingerprint), True),
}
"""What others do while a transaction counts, and whether it waits for the end of that transaction."""


def test_what_waits_for_a_transaction_that_counts(
    served: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "LIMITS", replace(LIMITS, lock_seconds=0.05))
    other, found = PostgresStore(database), dict[str, bool]()
    for name, (change, _) in CHANGES.items():
        with served.counting():
            try:
                change(other)
                found[name] = False
            except UnavailableError as error:
                found[name] = "lock timeout" in str(error)
        change(other)
    other.close()
    assert found == {name: waits for name, (_, waits) in CHANGES.items()}


# Numbers of any size.


def test_counts_of_any_size_add_up(store: Store) -> None:
    for survey, number in enumerate((1, 2**15, 2**31 - 1, 2**31, 2**32, 2**40, 2**52), 1):
        store.add_survey(ages(limits=f"[limits]\nreports = {survey}"))
        expected: Counter[tuple[int, str, str]] = Counter()
        account: Counter[str] = Counter()
        batches = []
        for place in range(4):  # two by two in a transaction, of two days and two groups
            day, cell, counts = DAY + place % 2, f'["{place // 2}"]', {"3": number, "-1": place + 1}
            expected += Counter({(day, cell, text): times for text, times in counts.items()})
            account += Counter({"": sum(counts.values()), "missing": number})
            batches.append(batch(100 * survey + place, counts, survey=survey, day=day, cell=cell, bad=number))
        assert store.commit(batches[:2]) + store.commit(batches[2:]) == [Fate.COUNTED] * 4
        again = [batch(100 * survey + place + 9, {"3": number}, survey=survey, cell='["0"]') for place in range(2)]
        assert store.commit(again) == [Fate.COUNTED] * 2
        expected[DAY, '["0"]', "3"] += 2 * number
        account[""] += 2 * number
        rows, found = store.balance(survey)
        assert {(row.day, row.cell, row.report): row.number for row in rows} == dict(expected)
        assert found == store.account(survey) == dict(account)


# Failures of any number.


def test_a_transaction_that_is_rolled_back_for_another_is_tried_five_times(
    served: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, failures = served.counting, list[Exception]()

    @contextmanager
    def hindered() -> Iterator[Any]:
        with counting() as connection:
            if failures:
                raise failures.pop()
            yield connection

    monkeypatch.setattr(served, "counting", hindered)
    kinds = (errors.DeadlockDetected, errors.SerializationFailure)
    for number, (failure, times) in enumerate(itertools.product(kinds, range(6)), 1):
        failures += [failure("another was first")] * times
        if times == 5:
            with pytest.raises(UnavailableError, match="another was first"):
                served.commit([batch(number, {"3": 2})])
        assert served.commit([batch(number, {"3": 2})]) == [Fate.COUNTED]
        assert not failures
        assert served.account(1) == {"": 2 * number}


def test_other_failures_are_told_at_once(served: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    @contextmanager
    def hindered() -> Iterator[Any]:
        tries.append(1)
        raise psycopg.OperationalError("the disk is full")
        yield

    monkeypatch.setattr(served, "counting", hindered)
    with pytest.raises(UnavailableError, match="the disk is full"):
        served.commit([batch(1, {"3": 2})])
    assert len(tries) == 1


def test_every_table_that_could_tell_an_order_is_put_in_order(served: PostgresStore) -> None:
    served.commit([batch(number, {str(number % 10): 1}) for number in (5, 3, 9, 1)])
    served.sort()
    found = "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisclustered"
    with served.reading() as connection:
        assert {name for (name,) in served.run(connection, found)} == {"batches", "counts", "accounts"}


def test_rows_of_one_transaction_lie_in_the_order_of_their_keys(served: PostgresStore) -> None:
    """As they come, before anything is sorted: where a row lies says nothing of when it came."""
    numbers = [7, 2, 9, 4, 1, 8, 3]
    served.commit([batch(one, {str(one): 1, str(9 - one): 2}, day=DAY + one % 3, bad=one) for one in numbers])
    for table, keys in (("batches", "mark"), ("counts", "day, report"), ("accounts", "day, reason")):
        with served.reading() as connection:
            lying = served.run(connection, f"SELECT {keys} FROM {table} ORDER BY ctid")  # noqa: S608
        assert lying == sorted(lying), table
        assert len(lying) >= 6, table


def test_every_file_of_a_store_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(str(tmp_path / "store.db"))
        store.hold()
        store.add_survey(ages())
        store.commit([batch(1, {"3": 1})])
        modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes.keys() >= {"store.db", "store.db-wal", "store.db-serving"}
    assert set(modes.values()) == {0o600}, modes


# Room: how many wait, on both sides of every limit.


@pytest.mark.parametrize(("each", "whole"), [(1, 1), (1, 3), (2, 3), (3, 3), (4, 2)])
def test_so_many_wait_for_room_and_no_more(each: int, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "most_waiting_each", each)
    monkeypatch.setitem(vars(LIMITS), "most_waiting", whole)

    async def run(addresses: str) -> list[bool]:
        room = Room(1, 1)
        await room.enter("a", 1)
        tasks = []
        for address in addresses:
            tasks.append(asyncio.create_task(room.enter(address, 1)))
            await asyncio.sleep(0)
        waits = [not task.done() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return waits

    for addresses in ("bbbbb", "bcdef", "bbccd", "bcbcb"):
        waiting, expected = Counter[str](), []
        for address in addresses:
            expected.append(waiting[address] < each and waiting.total() < whole)
            waiting[address] += expected[-1]
        assert asyncio.run(run(addresses)) == expected, addresses

"""What files, logs and races of a store could tell or double: order, invitations, days that close meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, Served, ages, serving
from tests.collector.killing import SURVEY
from typer.testing import CliRunner

from confide.cli.main import app
from confide.collector import postgresql
from confide.collector.http import Application
from confide.collector.service import Collector, GroupCommit
from confide.collector.serving import Server
from confide.collector.stores import (
    Batch,
    Fate,
    SqliteStore,
    Store,
    StoredSurvey,
    StoreError,
    UnavailableError,
    digest_invitation,
    make_invitations,
    open_store,
)
from confide.collector.wire import LIMITS, Wire
from confide.errors import InvalidParameterError


def make_batch(mark: str, day: int = TODAY.toordinal()) -> Batch:
    return Batch(mark * 32, "c" * 32, 1, day, "", {"3": 1}, 1, {}, Wire.of(ages()))


def test_postgresql_takes_no_invitations_and_says_what_does(database: str, tmp_path: Path) -> None:
    store = open_store(database)
    with serving(store) as served:
        for work in (
            lambda: store.invite(1, ["digest"]),
            lambda: store.admit(served.survey.fingerprint, "invited"),
            lambda: store.add_survey(replace(ages(), most_reports=2), "invited"),
        ):
            with pytest.raises(InvalidParameterError, match="--store FILE"):
                work()
        key = {"authorization": f"Bearer {served.tokens['administer']}", "content_type": "application/json"}
        document = replace(ages(), most_reports=2).to_json().encode()
        reply = served.ask("POST", "/v1/surveys", document, confide_admission="invited", **key)
        assert (reply.status, reply.code) == (422, "admission")
    assert [one.admission for one in store.surveys()] == ["open"]
    batch = make_batch("a")._replace(invitation="digest")  # of a survey of an older version
    with pytest.raises(InvalidParameterError):
        store.commit([batch])
    store.close()
    (tmp_path / "survey.toml").write_text(SURVEY)
    command = ["curate", database, str(tmp_path / "survey.toml"), "--upload", "invited"]
    refused = CliRunner().invoke(app, command)
    assert (refused.exit_code, "--store FILE" in " ".join(refused.output.split())) == (2, True)


def test_no_file_keeps_an_invitation_beside_its_report(file_store: Store, tmp_path: Path) -> None:
    with serving(file_store, admission="invited") as served:
        code = make_invitations(file_store, 1, 1)[0]
        assert served.post(served.message([3]), confide_invitation=code).status == 200
        content = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))  # at once, not when all is quiet
        assert digest_invitation(code).encode() not in content


def test_a_batch_of_a_day_that_closes_meanwhile_counts_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # A keeper that looks in between, if only on starting late, would refuse before.
    monkeypatch.setattr("confide.collector.http.Application._keep", lambda _: asyncio.sleep(0))
    with serving(store) as served:
        message = served.message([3], day=(TODAY - timedelta(1)).isoformat())
        assert served.post(message).status == 200
        store.forget(TODAY)  # by another process: this one has not looked yet
        reply = served.post(message)
        assert (reply.status, reply.code) == (503, "clock")
        assert served.post(served.message([4])).status == 200
        assert served.counts() == {"3": 1, "4": 1}
        assert served.app.collector.commits.tallies.batches["past"] == 1
        with store.reading() as connection:
            assert store.run(connection, "SELECT COUNT(*) FROM batches") == [(1,)]  # none of a day that is closed


@pytest.mark.parametrize("what", ["forget", "reopen", "close_survey"])
def test_days_and_surveys_close_between_transactions_that_count(store: Store, url: str, what: str) -> None:
    store.add_survey(ages())
    other, given = open_store(url), ages().fingerprint if what == "close_survey" else TODAY
    with store.counting() as connection:
        before = store._limits(connection)
        thread = threading.Thread(target=getattr(other, what), args=(given,))
        thread.start()
        time.sleep(0.2)
        assert store._limits(connection) == before
    thread.join()
    with store.counting() as connection:
        assert store._limits(connection) != before
    other.close()


def test_what_a_killed_process_did_not_forget_the_next_one_does(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_survey(ages())
    day = TODAY.toordinal()
    store.commit([make_batch(mark, day - 1) for mark in "08f"] + [make_batch("a")])
    run, sorts = store.run, list[None]()

    def killed(connection: Any, statement: str, values: Any = ()) -> Any:
        if statement.startswith("DELETE FROM batches") and values[0] == "8":
            raise KeyboardInterrupt
        return run(connection, statement, values)

    with monkeypatch.context() as patch:
        patch.setattr(store, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            store.forget(TODAY)
    sort = store.sort
    monkeypatch.setattr(store, "sort", lambda: sorts.append(sort()))
    for _ in range(2):
        store.forget(TODAY - timedelta(3))
    with store.reading() as connection:
        assert store.run(connection, "SELECT mark FROM batches") == [("a" * 32,)]
    assert (store.horizon(), len(sorts)) == (day, 1)
    store.reopen(TODAY - timedelta(5))
    store.commit([make_batch("b", day - 2)])
    store.forget(TODAY)
    with store.reading() as connection:
        assert store.run(connection, "SELECT mark FROM batches") == [("a" * 32,)]


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_a_file_is_in_order_however_the_collector_ended(tmp_path: Path, how: str) -> None:
    contents, choose = [], random.Random(7)  # noqa: S311
    messages = [{"reports": [choose.randrange(12)], "batch": choose.randbytes(16).hex()} for _ in range(20)]
    for turn in (1, -1):
        path = tmp_path / f"store{turn}.db"
        store = SqliteStore(str(path))
        store.prepare()
        with serving(store) as served:
            for message in messages[::turn]:
                assert served.post(served.message([]) | message).status == 200
            served.app.collector.forget()
        with store.writing() as connection:
            store.run(connection, "DELETE FROM tokens")
        if how == "failed":
            with contextlib.suppress(ZeroDivisionError), store.counting():
                raise ZeroDivisionError
            store.close()
        else:
            assert store._counting is not None
            store._counting.close()  # as kill -9 does, and nothing more
            open_store(str(path)).close()  # as curate does
            again = open_store(str(path))
            again.hold()
        contents.append(path.read_bytes()[100:])  # a header counts the transactions
        if how == "killed":
            again.close()
    assert contents[0] == contents[1]


def test_a_log_that_was_removed_costs_no_report(file_store: Store, tmp_path: Path) -> None:
    with serving(file_store) as served:
        assert served.post(served.message([3])).status == 200
        for ending in ("-wal", "-shm"):
            (tmp_path / f"store.db{ending}").unlink()
        assert served.post(served.message([4])).status == 200
        assert served.ask("GET", "/healthz").status == 200
        (tmp_path / "killed").mkdir()
        for path in tmp_path.glob("store.db*"):
            shutil.copy(path, tmp_path / "killed")
        left = open_store(str(tmp_path / "killed" / "store.db"))
        assert [(row.report, row.number) for row in left.balance(1)[0]] == [("3", 1), ("4", 1)]
        left.close()
        (tmp_path / "store.db-wal").unlink()
        assert served.counts() == {"3": 1, "4": 1}  # whoever reads saves it as well


def test_a_survey_that_closes_between_two_transactions_of_one_batch_takes_no_more(tmp_path: Path) -> None:
    store, other = SqliteStore(str(tmp_path / "store.db")), SqliteStore(str(tmp_path / "store.db"))
    store.prepare()
    store.add_survey(ages())
    store.commit([make_batch("a")])
    assert store._counting is not None
    begun = list[str]()

    def close_at_the_second(line: str) -> None:
        if line.startswith("BEGIN"):
            begun.append(line)
            if len(begun) == 2:
                other.close_survey(ages().fingerprint)

    store._counting.set_trace_callback(close_at_the_second)
    with pytest.raises(UnavailableError, match="meanwhile"):
        store.commit([make_batch("a"), make_batch("b")])
    assert store.commit([make_batch("a"), make_batch("b")]) == [Fate.REPEATED, Fate.CLOSED]
    store.close()


def test_only_a_store_that_is_served_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "store.db-serving").write_bytes(b"not a database, as a full disk may leave it " * 40)
    store = open_store(str(tmp_path / "store.db"))
    with pytest.raises(StoreError, match="cannot be used now: file is not a database"):
        store.hold()
    store.close()


@pytest.fixture
def silent(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, threading.Event]]:
    """A way to a database that falls silent while an event is set, and loses nothing."""
    folder, mute = tmp_path_factory.mktemp("relay"), threading.Event()
    host = database.partition("?host=")[2]

    def carry(here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := here.recv(65536):
                while mute.is_set():
                    time.sleep(0.01)
                there.sendall(content)
        for end in (here, there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def relay() -> None:
        with contextlib.suppress(OSError):
            while True:
                ends = server.accept()[0], socket.socket(socket.AF_UNIX)
                ends[1].connect(f"{host}/.s.PGSQL.5432")
                for pair in (ends, ends[::-1]):
                    threading.Thread(target=carry, args=pair, daemon=True).start()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / ".s.PGSQL.5432"))
        server.listen()
        threading.Thread(target=relay, daemon=True).start()
        yield database.replace(host, str(folder)), mute
        mute.clear()


def test_a_database_that_is_silent_is_a_503(
    silent: tuple[str, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "LIMITS", replace(LIMITS, lock_seconds=30.0))
    monkeypatch.setattr(postgresql.TimedConnection, "seconds", 0.4)
    store = open_store(silent[0])
    with serving(store) as served:
        assert served.post(served.message([3])).status == 200
        silent[1].set()
        message, start = served.message([4]), time.monotonic()
        assert served.post(message).status == 503
        assert time.monotonic() - start < 20  # 0.4 on a quiet machine
        silent[1].clear()
        assert served.post(message).status == 200
        assert served.counts() == {"3": 1, "4": 1}
    store.close()


def test_statements_are_limited_and_those_that_forget_are_not(database: str) -> None:
    store = open_store(database)
    limit = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'"
    with store.counting() as connection:
        assert store.run(connection, limit) == [("10000",)]
    with store.writing() as connection:
        store.take_time(connection)
        assert store.run(connection, limit) == [("0",)]
    store.close()


def test_who_ends_waits_for_a_store_that_is_gone_but_once(monkeypatch: pytest.MonkeyPatch, file_store: Store) -> None:
    monkeypatch.setattr("confide.collector.service.LIMITS", replace(LIMITS, most_together=1))
    tries = []

    def gone(batches: Any) -> list[Fate]:
        tries.append(len(batches))
        commits._is_ending = True
        raise UnavailableError("gone")

    monkeypatch.setattr(file_store, "commit", gone)
    commits = GroupCommit(file_store)

    async def hand_over() -> list[Any]:
        futures = [commits.hand_over(make_batch("a")) for _ in range(20)]
        commits.start()
        return await asyncio.gather(*futures, return_exceptions=True)

    found = asyncio.run(hand_over())
    commits.finish()
    assert ({type(one) for one in found}, tries) == ({UnavailableError}, [1, 19])


def test_of_two_looks_the_later_one_stays(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, surveys, calls = Collector(file_store), file_store.surveys, []
    waiting = threading.Event()

    def slow() -> list[StoredSurvey]:
        found = surveys()
        calls.append(len(found))
        if len(calls) == 1:
            waiting.wait(0.3)
        return found

    monkeypatch.setattr(file_store, "surveys", slow)
    first = threading.Thread(target=collector.refresh)
    first.start()
    while not calls:
        time.sleep(0.01)
    monkeypatch.setattr(file_store, "surveys", surveys)
    file_store.add_survey(ages())
    collector.refresh()
    waiting.set()
    first.join()
    assert list(collector.entries) == [ages().fingerprint]


def test_a_survey_that_another_process_added_is_known_at_once(store: Store, url: str) -> None:
    with serving(store) as served:
        other, fresh = open_store(url), replace(ages(), most_reports=2)
        other.add_survey(fresh)
        other.close()
        assert served.post(served.message([3], survey=fresh.fingerprint)).status == 200
        assert served.post(served.message([3], survey="f" * 32)).status == 404


def test_a_request_for_another_protocol_writes_no_line(served_once: Served) -> None:
    Server(served_once.app)
    assert not logging.getLogger("uvicorn.error").isEnabledFor(logging.WARNING)


@pytest.fixture
def served_once(file_store: Store) -> Iterator[Served]:
    with serving(file_store) as found:
        assert isinstance(found.app, Application)
        yield found

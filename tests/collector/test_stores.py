"""Stores: versions, secrecy, failures of disk and database."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.collector.asking import Served, ages, serving

from confide.collector import stores
from confide.collector.stores import SqliteStore, Store, StoreError, open_store
from confide.collector.wire import LIMITS
from confide.errors import InvalidParameterError

TABLES = ("facts", "surveys", "batches", "counts", "accounts", "tokens", "invitations")


def dump(store: Store) -> str:
    """Return all rows of all tables, in the order in which they lie."""
    with store.reading() as connection:
        rows = ((table, row) for table in TABLES for row in store.run(connection, f"SELECT * FROM {table}"))  # noqa: S608
        return "\n".join(f"{table} {row}" for table, row in rows)


def empty(url: str) -> Store:
    """Return a store without tables."""
    if url.startswith("postgresql"):
        from confide.collector.postgresql import PostgresStore

        return PostgresStore(url)
    return SqliteStore(url)


def test_the_store_of_an_older_version_is_brought_up_to_date(url: str) -> None:
    old = empty(url)
    with old.writing() as connection:
        for statement in old.STEPS[0]:
            old.run(connection, statement)
        old.run(connection, "INSERT INTO facts (name, value) VALUES ('version', '1')")
        values = [ages().fingerprint, ages().to_json()]
        old.run(connection, "INSERT INTO surveys VALUES (1, ?, ?, 'open', 0, 0)", values)
        old.run(connection, "INSERT INTO counts VALUES (1, 739000, '', '3', 5)")
    store = open_store(url)
    assert [(row.report, row.number) for row in store.balance(1)[0]] == [("3", 5)]
    assert store.invitations(1) == 0
    again = open_store(url)
    assert dump(again) == dump(store)
    store.close()
    again.close()
    old.close()


def test_the_store_of_a_newer_version_is_refused_with_the_cure(store: Store, url: str) -> None:
    with store.writing() as connection:
        store.run(connection, "UPDATE facts SET value = ? WHERE name = 'version'", [str(len(Store.STEPS) + 1)])
    with pytest.raises(StoreError, match=r"newer confide.*Update confide"):
        open_store(url)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database at all")
    with pytest.raises(StoreError, match="no SQLite database"):
        open_store(str(tmp_path / "notes.txt"))
    with pytest.raises(StoreError, match="no folder"):
        open_store(str(tmp_path / "nowhere" / "store.db"))


def test_only_its_owner_reads_a_new_store(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store.db")).close()
    assert (tmp_path / "store.db").stat().st_mode & 0o077 == 0


def test_simulated_and_real_reports_do_not_mix(store: Store) -> None:
    store.add_survey(ages(), is_simulated=True)
    with pytest.raises(StoreError, match="do not mix"):
        store.add_survey(ages())


def test_names_that_are_not_there_are_refused(store: Store) -> None:
    with pytest.raises(InvalidParameterError, match="no token called 'nobody'"):
        store.revoke("nobody")
    with pytest.raises(InvalidParameterError, match="no survey"):
        store.close_survey("f" * 32)


def fill(served: Served, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        assert served.post(message).status == 200


def post_together(served: Served, messages: list[dict[str, Any]]) -> list[int]:
    """Send messages at the same time, so that they are counted in one transaction."""
    commits = served.app.collector.commits

    async def together() -> list[int]:
        sent = {"content_type": "application/json"}
        with commits._changed:  # until all wait: how many a thread finds there is chance
            asked = [
                asyncio.create_task(served.asking("POST", "/v1/reports", json.dumps(one).encode(), **sent))
                for one in messages
            ]
            while len(commits.waiting) < len(messages):
                await asyncio.sleep(0)
        return [one.status for one in await asyncio.gather(*asked)]

    found: list[int] = served.run(together())
    return found


def make_messages(served: Served) -> list[dict[str, Any]]:
    choose = random.Random(7)  # noqa: S311
    return [
        served.message([choose.randrange(12) for _ in range(choose.choice([1, 1, 3]))])
        | {"batch": choose.randbytes(16).hex()}
        for _ in range(30)
    ]


def test_nothing_in_a_dump_tells_who_sent_what_or_when(store: Store, tmp_path: Path) -> None:
    with serving(store) as served:
        messages = make_messages(served)
        for message in messages:
            reply = served.post(message, user_agent="SecretBrowser/1.0", x_forwarded_for="203.0.113.77")
            assert reply.status == 200
    store.sort()
    content = dump(store).encode()
    content += b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    for secret in (b"SecretBrowser", b"203.0.113.77"):
        assert secret not in content
    assert not re.search(rb"\d{4}-\d\d-\d\d[T ]\d\d|\d\d:\d\d:\d\d", content)  # a time of the day
    for message in messages:
        assert message["batch"].encode() not in content
        assert bytes.fromhex(message["batch"]) not in content
        # What a guess of the whole message gives without its id as the key.
        said = json.dumps(message["reports"], separators=(",", ":")).encode()
        for kind in (hashlib.sha256, hashlib.md5, hashlib.blake2b, hashlib.sha1):
            for text in (
                message["batch"].encode(),
                bytes.fromhex(message["batch"]),
                said,
                json.dumps(message).encode(),
            ):
                assert kind(text).hexdigest()[:16].encode() not in content


def test_rows_of_postgresql_are_put_in_order(database: str) -> None:
    store = open_store(database)
    with serving(store) as served:
        fill(served, make_messages(served))
    store.sort()
    with store.reading() as connection:
        marks = [row[0] for row in store.run(connection, "SELECT mark FROM batches")]
    assert marks == sorted(marks)
    assert len(marks) == 30
    store.close()


def test_the_log_of_pages_is_emptied_when_all_is_quiet(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        fill(served, make_messages(served))
        assert (tmp_path / "store.db-wal").stat().st_size > 0
        store.tidy()
        assert (tmp_path / "store.db-wal").stat().st_size == 0
    store.close()


@pytest.mark.parametrize(("setting", "said"), [("max_page_count = 1", "full"), ("query_only = ON", "readonly")])
def test_a_full_or_read_only_store_refuses_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, said: str
) -> None:
    store = open_store(str(tmp_path / "store.db"))
    connect = SqliteStore._connect

    def hindered(self: SqliteStore) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute(f"PRAGMA {setting}")
        return connection

    with serving(store) as served:
        fill(served, make_messages(served)[:5])
        before, message = served.counts(), served.message([3] * 5000)
        store.close()
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "_connect", hindered)
            many = [served.message([3]) for _ in range(200)]
            # In one transaction: of several, a small one may find room in pages that are there.
            assert post_together(served, many) == [503] * 200
            commits = served.app.collector.commits
            assert (commits.tallies.failures, said in commits.fault) == (1, True)
        assert post_together(served, [*many, message]) == [200] * 201
        assert served.counts()["3"] == before.get("3", 0) + 5000 + 200
    store.close()


def test_a_store_that_another_process_holds_is_a_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LIMITS", replace(LIMITS, lock_seconds=0.05))
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        message = served.message([3])
        holder = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        assert served.post(message).status == 503
        holder.execute("ROLLBACK")
        holder.close()
        assert served.post(message).status == 200
        assert served.counts() == {"3": 1}
    store.close()


def test_a_database_that_goes_and_comes_back(database: str, postgresql: str) -> None:
    name = urlsplit(database).path.lstrip("/")
    store = open_store(database)
    with serving(store) as served, psycopg.connect(postgresql, autocommit=True) as other:
        first, second = served.message([3]), served.message([4])
        assert served.post(first).status == 200
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        other.execute(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert served.post(second).status == 503
        assert served.ask("GET", "/healthz").status == 503
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        assert served.ask("GET", "/healthz").status == 200
        assert served.post(first).status == served.post(second).status == 200
        assert served.counts() == {"3": 1, "4": 1}
    store.close()


@pytest.mark.slow
def test_a_hundred_surveys_in_one_store(tmp_path: Path) -> None:
    from dataclasses import replace

    store = open_store(str(tmp_path / "store.db"))
    surveys = [replace(ages(), most_reports=number + 1) for number in range(100)]
    for survey in surveys:
        store.add_survey(survey)
    with serving(store) as served:
        messages = [served.message([3], survey=survey.fingerprint) for survey in surveys]
        assert post_together(served, messages) == [200] * 100
    assert [store.account(number)[""] for number in range(1, 101)] == [1] * 100
    store.close()

"""What a saboteur found: races, files that go, clocks that are wrong, and messages that nobody writes."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import secrets
import socket
import sqlite3
import threading
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, Served, ages, serving
from tests.collector.killing import SURVEY
from typer.testing import CliRunner

import confide as cf
from confide.cli.collector import pull_counts, without_password
from confide.cli.main import app
from confide.collector.client import (
    Client,
    CollectorError,
    Outbox,
    Receipt,
    receipts_of,
    require_unsent,
    to_counts_file,
)
from confide.collector.service import Collector, Settings, compute
from confide.collector.stores import (
    SqliteStore,
    Store,
    StoredToken,
    StoreError,
    first_token,
    make_invitations,
    open_store,
)
from confide.collector.wire import LIMITS, Wire
from confide.errors import DataFileError


@pytest.fixture
def served(tmp_path: Path) -> Any:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as found:
        yield found
    store.close()


def test_no_report_is_lost_when_another_thread_empties_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire.of(cf.Survey(cf.Geometric(cf.Integers(0, 9), 0.1)))
    wire.judge([3, 5])
    read = Wire._read

    def meanwhile(self: Wire, keys: Any) -> Any:
        self._known.clear()
        return read(self, keys)

    monkeypatch.setattr(Wire, "_read", meanwhile)
    assert wire.judge([3, 5, 777, "x"]).counts == {"3": 1, "5": 1, "777": 1}


def test_a_store_whose_file_goes_is_a_503_and_nothing_is_lost(served: Served, tmp_path: Path) -> None:
    assert served.post(served.message([3])).status == 200
    message = served.message([4])
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    assert served.post(message).status == 503
    assert served.ask("GET", "/healthz").status == 503
    assert not (tmp_path / "store.db").exists()  # nor is an empty one made in its place
    (tmp_path / "store.db").write_bytes((tmp_path / "away.db").read_bytes())
    assert served.post(message).status == 503  # a copy is another file
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    assert served.counts() == {"3": 1}  # what was refused was not counted
    assert served.post(message).status == 200
    assert served.counts() == {"3": 1, "4": 1}


def test_an_estimate_of_the_collector_knows_that_days_may_be_of_the_same_people(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0), is_permanent=True)
    counted = [["yes", 60], ["no", 40]]
    days = [{"day": f"2026-11-{day + 1:02d}", "groups": [], "counts": counted} for day in range(30)]
    record = {"by": [], "survey": survey.fingerprint, "days": days, "rejected": {}, "is_simulated": False}
    answered = lambda _, __, counts: f"{counts.total} {counts.independent.total}"  # noqa: E731
    monkeypatch.setattr("confide.collector.service._answer", answered)
    said = compute("estimate", survey.to_json(), json.dumps(record | {"accepted": 3000}).encode())
    assert said == (True, b"3000.0 100.0")


class Deaf(Client):
    """A client whose messages go nowhere; it takes so many and no more."""

    def __init__(self, most: int = 10**6) -> None:
        super().__init__("http://127.0.0.1:9")
        self.most, self.taken = most, list[bytes]()

    def post(self, message: bytes, invitation: str | None = None) -> Receipt:
        del invitation
        if len(self.taken) == self.most:
            raise CollectorError("gone")
        self.taken.append(message)
        return Receipt(1)


def test_what_was_sent_of_another_outbox_skips_nothing(tmp_path: Path) -> None:
    values, box = tmp_path / "v.csv", tmp_path / "box"
    values.write_text("age\n" + "3\n" * 2500)
    first, _ = Outbox.fill(box, ages(), values, to="http://a")
    with pytest.raises(CollectorError):
        first.send(Deaf(2))
    assert first.sent == 2
    box.unlink()  # and what was sent of it stays
    second, _ = Outbox.fill(box, ages(), values, to="http://a")
    assert second.sent == 0
    (tmp_path / "box.sent").write_text("2")
    client = Deaf()
    second.send(client)
    assert len(client.taken) == 3


def test_an_outbox_goes_where_it_went_before_and_values_go_once(tmp_path: Path) -> None:
    values, box = tmp_path / "v.csv", tmp_path / "box"
    values.write_text("age\n3\n4\n")
    sent, _ = Outbox.fill(box, ages(), values, to="http://a")
    with pytest.raises(DataFileError, match="confide send SURVEY VALUES http://a"):
        Outbox.open(box, ages(), "http://b")
    require_unsent(values, ages())
    sent.send(Deaf(), receipts=receipts_of(values))
    assert not list(tmp_path.glob("box*"))
    with pytest.raises(DataFileError, match=r"remove .*v\.csv\.sent"):
        require_unsent(values, ages())
    require_unsent(values, cf.Survey(cf.Geometric(cf.Integers(0, 9), 0.1)))
    values.write_text("age\n3\n5\n")
    require_unsent(values, ages())
    receipts_of(values).write_text("not ours\n[]\n")
    require_unsent(values, ages())


def test_counts_and_account_are_of_one_moment(store: Store) -> None:
    with serving(store) as served:
        served.post(served.message([3]))
        number = store.surveys()[0].number
        with store.reading() as connection:
            before = store._account(connection, number)
            served.post(served.message([4, 70]))
            assert store._account(connection, number) == before
        rows, account = store.balance(number)
        assert sum(row.number for row in rows) == account[""]
        assert sum(account.values()) == 3


def test_a_port_that_is_taken_costs_no_token(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = ["serve", str(tmp_path / "survey.toml"), "--store", str(tmp_path / "s.db"), "--bind", port]
        refused = CliRunner().invoke(app, command)
    assert (refused.exit_code, "--bind" in refused.output) == (1, True)
    assert not (tmp_path / "s.db").exists()


def test_the_keeper_survives_whatever_fails(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("confide.collector.http.LIMITS", replace(LIMITS, refresh_seconds=0.01))
    with monkeypatch.context() as patch:
        patch.setattr(served.app.collector, "refresh", fail)
        served.run(asyncio.sleep(1.1))
    served.store.revoke("test-read")
    served.run(asyncio.sleep(0.1))
    assert served.read("counts").status == 403


def test_a_survey_that_cannot_be_read_is_named_and_others_are_served(served: Served) -> None:
    with served.store.writing() as connection:
        statement = "INSERT INTO surveys VALUES (9, 'broken', '{\"alphabet\": 3}', 'open', 0, 0)"
        served.store.run(connection, statement)
    served.app.collector.refresh()
    assert served.post(served.message([3])).status == 200
    assert served.ask("GET", "/healthz").json == {"status": "ok", "unreadable": ["broken"]}
    assert b'confide_surveys_unreadable{survey="broken"} 1\n' in served.ask("GET", "/metrics").body


def test_a_clock_that_is_ahead_for_a_while_closes_no_day(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        served.post(served.message([3], day=(TODAY - timedelta(7)).isoformat()))
        served.post(served.message([3]))
    days = [TODAY + timedelta(34)]
    ahead = Collector(store, Settings(), lambda: days[0])
    ahead.forget()
    assert date.fromordinal(store.horizon()) == TODAY - timedelta(8)
    with serving(store) as served:
        assert served.post(served.message([3])).status == 200
    store.close()


def test_a_horizon_that_is_wrong_is_no_fault_of_the_device(served: Served) -> None:
    served.store.forget(TODAY + timedelta(20))
    served.app.collector.refresh()
    reply = served.post(served.message([3]))
    assert (reply.status, reply.code, "retry-after" in reply.headers) == (503, "clock", True)
    assert served.post(served.message([3], day="2020-01-01")).status == 422


@pytest.mark.parametrize("depth", [200, 300, 900, 1000])
def test_what_is_nested_deeply_is_refused(served: Served, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for field in (b"reports", b"groups", b"day", b"survey", b"batch"):
        message: dict[str, Any] = served.message([3], groups={})
        body = json.dumps(message | {field.decode(): "HERE"}).encode()
        for content in (deep, b"[" + deep + b"]", b'{"a":' * depth + b"1" + b"}" * depth):
            fresh = body.replace(message["batch"].encode(), secrets.token_hex(16).encode())
            reply = served.post(fresh.replace(b'"HERE"', content))
            assert reply.status in (200, 400, 404, 422), (field, reply.body)
    assert served.counts() == {}
    key = {"authorization": f"Bearer {served.tokens['administer']}", "content_type": "application/json"}
    assert served.ask("POST", "/v1/surveys", b"[" * 9_000 + b"]" * 9_000, **key).status == 422


def test_a_form_of_many_fields_is_refused(served: Served) -> None:
    path = f"/v1/surveys/{served.survey.fingerprint}/page"
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert served.ask("POST", path, b"a=1&b=2&c=3&d=4&e=5", **form).status == 400
    assert served.ask("POST", path, b"\xff&&==%%%&token=\x00", **form).status == 403


def test_closing_is_seen_in_the_counts_at_once(served: Served) -> None:
    served.post(served.message([3]))
    assert served.read("counts").json["is_closed"] is False
    path = f"/v1/surveys/{served.survey.fingerprint}/close"
    served.ask("POST", path, authorization=f"Bearer {served.tokens['administer']}")
    assert served.read("counts").json["is_closed"] is True


def test_a_file_is_the_same_in_whatever_order_reports_came(tmp_path: Path) -> None:
    contents = []
    choose = random.Random(7)  # noqa: S311
    messages: list[dict[str, Any]] = [
        {"reports": [choose.randrange(12)], "batch": choose.randbytes(16).hex()} for _ in range(30)
    ]
    for turn in (1, -1):
        store = open_store(str(tmp_path / f"store{turn}.db"))
        with serving(store) as served:
            for message in messages[::turn]:
                assert served.post(served.message([]) | message).status == 200
            served.app.collector.forget()
        with store.writing() as connection:
            store.run(connection, "DELETE FROM tokens")
        store.close()
        contents.append((tmp_path / f"store{turn}.db").read_bytes()[100:])  # a header counts the transactions
    assert contents[0] == contents[1]


def test_many_texts_are_judged_outside_the_loop(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    judge = Wire.judge

    def watched(self: Wire, *given: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return judge(self, *given)

    monkeypatch.setattr(Wire, "judge", watched)
    assert served.post(served.message([f" {number}" for number in range(600)])).status == 200
    assert threads == [False]


def test_large_gzip_is_unpacked_outside_the_loop(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.collector.http.LIMITS", replace(LIMITS, light=1))
    assert served.post(gzip.compress(json.dumps(served.message([3])).encode()), content_encoding="gzip").status == 200
    assert served.post(b"xxx", content_encoding="gzip").status == 400


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example", 403), ("127.0.0.1:8000", 200), ("localhost:8000", 200), ("[::1]:8000", 200), ("[x", 403)],
)
def test_a_name_that_points_here_for_a_moment_is_foreign(served: Served, host: str, status: int) -> None:
    assert served.post(served.message([3]), host=host, origin=f"http://{host}").status == status


def test_health_is_good_again_when_there_is_room(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = SqliteStore._connect

    def full(self: SqliteStore) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    served.app.collector.commits.fault = "The disk was full."
    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_connect", full)
        assert served.ask("GET", "/healthz").status == 503
    assert served.ask("GET", "/healthz").status == 200


def test_health_is_looked_at_anew_each_time(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert served.ask("GET", "/healthz").status == 200
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    assert served.ask("GET", "/healthz").status == 503  # before anybody sends
    assert b"confide_store_up 0\n" in served.ask("GET", "/metrics").body
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    assert served.ask("GET", "/healthz").status == 200
    place = f"file:{tmp_path / 'store.db'}?mode=ro"
    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_connect", lambda _: sqlite3.connect(place, uri=True, isolation_level=None))
        assert served.ask("GET", "/healthz").status == 503
    assert served.ask("GET", "/healthz").status == 200


def test_a_sqlite_file_is_served_by_one_process_and_curated_beside_it(tmp_path: Path, served: Served) -> None:
    place = str(tmp_path / "store.db")
    served.store.hold()
    served.store.hold()  # its own
    second = open_store(place)
    with pytest.raises(StoreError, match=r"serves .*store\.db already.*postgresql://"):
        second.hold()
    second.set_window(9)  # as curate does
    second.close()
    served.store.close()
    third = open_store(place)
    third.hold()
    third.close()


def test_any_number_of_processes_serve_one_database(database: str) -> None:
    stores = [open_store(database), open_store(database)]
    for one in stores:
        one.hold()
        one.close()


def test_the_window_is_kept_in_the_store_and_days_are_opened_again(
    tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def curate(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["curate", str(tmp_path / "store.db"), *options])
        served.app.collector.refresh()
        return done.exit_code, " ".join(done.output.split())

    def status(days: int) -> int:
        return served.post(served.message([3], day=(TODAY - timedelta(days)).isoformat())).status

    monkeypatch.setattr("confide.cli.curate._today", lambda: TODAY)
    served.run(asyncio.sleep(0.2))  # the keeper's first look is over, which forgets by the newest report
    assert (status(7), status(8)) == (200, 422)
    assert curate("--window", "30") == (0, "Days are taken from 2026-10-17 on: a window of 30 days.")
    assert (status(30), status(31)) == (200, 422)
    code, said = curate("--window", "2026-11-10")
    assert (code, "from 2026-11-10 on" in said, status(6), status(7)) == (0, True, 200, 503)
    code, said = curate("--window", "2026-11-01")
    assert (code, "counts twice" in said, status(15), status(16)) == (0, True, 200, 503)
    assert curate("--window", "2026-11-17")[0] == curate("--window", "soon")[0] == curate("--window", "0")[0] == 2
    assert "window of 30 days" in curate()[1]
    served.app.collector.forget()
    assert date.fromordinal(served.store.horizon()) == date(2026, 11, 1)  # the longer window is kept to


def test_a_url_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"by": [], "survey": ages().fingerprint, "days": [], "rejected": {}, "is_simulated": False, "accepted": 0}
    monkeypatch.setattr("confide.cli.collector.pull_counts", lambda *_: to_counts_file(ages(), record))
    (tmp_path / "survey.toml").write_text(SURVEY)
    for command in ("diagnose", "estimate"):
        empty = CliRunner().invoke(app, [command, str(tmp_path / "survey.toml"), "http://127.0.0.1:9"])
        assert (empty.exit_code, "no reports in http://127.0.0.1:9 " in " ".join(empty.output.split())) == (4, True)
    merged = CliRunner().invoke(app, ["merge", "http://127.0.0.1:9", "-o", str(tmp_path / "m.parquet")])
    assert (merged.exit_code, "confide pull http://127.0.0.1:9" in " ".join(merged.output.split())) == (2, True)


def test_an_invitation_is_not_spent_by_a_report_that_is_rejected(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, admission="invited") as served:
        code = make_invitations(store, 1, 1)[0]
        assert served.post(served.message([70]), confide_invitation=code).code == "rejected"
        assert served.post(served.message([3]), confide_invitation=code).status == 200
    store.close()


def test_metrics_are_whole_numbers(served: Served) -> None:
    served.app.collector.commits.tallies.accepted = 1_068_741
    assert b'confide_reports_total{outcome="accepted"} 1068741\n' in served.ask("GET", "/metrics").body


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 308 Permanent Redirect\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
    ],
)
def test_whatever_is_no_collector_is_one_plain_error(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            for _ in range(LIMITS.most_strange):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=speak)
        thread.start()
        with (
            pytest.raises(CollectorError, match="Is it one"),
            Client(f"http://127.0.0.1:{server.getsockname()[1]}") as one,
        ):
            one.surveys()
        thread.join()


def test_an_outbox_that_waited_too_long_says_what_to_do(tmp_path: Path) -> None:
    class Late(Deaf):
        def post(self, message: bytes, invitation: str | None = None) -> Receipt:
            raise CollectorError(f"Too late: {len(message)} {invitation}.", 422, "day")

    (tmp_path / "v.csv").write_text("age\n3\n")
    box, _ = Outbox.fill(tmp_path / "box", ages(), tmp_path / "v.csv")
    with pytest.raises(CollectorError, match=r"so far 0 of 1 batch.*remove"):
        box.send(Late())


def test_sending_permanent_noise_is_refused_with_the_cure(tmp_path: Path) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0), is_permanent=True)
    (tmp_path / "s.json").write_text(survey.to_json())
    (tmp_path / "v.csv").write_text("answer\nyes\n")
    command = ["send", str(tmp_path / "s.json"), str(tmp_path / "v.csv"), "http://127.0.0.1:9"]
    refused = CliRunner().invoke(app, command)
    assert (refused.exit_code, "--secret" in " ".join(refused.output.split())) == (2, True)


def test_of_two_first_starts_one_makes_the_token(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, looks = store.tokens, []

    def late() -> list[StoredToken]:
        looks.append(1)
        return [] if len(looks) <= 2 else tokens()

    assert first_token(store) is not None
    monkeypatch.setattr(store, "tokens", late)  # as the second saw it, before the first was done
    assert first_token(store) is None
    assert len(looks) == 3


def test_a_token_for_one_survey_is_told_to_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Client) -> None:
        raise CollectorError("This token is unknown.", 403, "bad-token")

    monkeypatch.setattr(Client, "surveys", refuse)
    with pytest.raises(CollectorError, match="name it behind the URL"):
        pull_counts("http://127.0.0.1:9", None)


def test_a_password_is_not_shown() -> None:
    assert without_password("postgresql://me:a@b:c@host/db") == "postgresql://me:***@host/db"
    assert without_password("postgresql://host/db?password=x&a=1") == "postgresql://host/db?password=***&a=1"
    assert without_password("confide.db") == "confide.db"

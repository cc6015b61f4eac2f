"""What a saboteur found: races, files that go, clocks that are wrong, and messages that nobody writes."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, Served, ages, serving
from tests.collector.killing import SURVEY
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.collector.client import Client, CollectorError, Receipt
from confide.collector.computing import _ANSWERS, compute
from confide.collector.outbox import Outbox, receipts_of, require_unsent
from confide.collector.service import Collector, Settings
from confide.collector.stores import Store, open_store
from confide.collector.wire import Wire
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
    assert served.post(message).status == 200
    assert served.counts() == {"3": 1, "4": 1}


def test_an_estimate_of_the_collector_knows_that_days_may_be_of_the_same_people(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0), is_permanent=True)
    counted = [["yes", 60], ["no", 40]]
    days = [{"day": f"2026-11-{day + 1:02d}", "groups": [], "counts": counted} for day in range(30)]
    record = {"by": [], "survey": survey.fingerprint, "days": days, "rejected": {}, "is_simulated": False}
    monkeypatch.setitem(_ANSWERS, "estimate", lambda _, counts: f"{counts.total} {counts.independent.total}")
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
    with pytest.raises(DataFileError, match="--to http://a"):
        Outbox.open(box, ages(), "http://b")
    require_unsent(values, ages())
    sent.send(Deaf(), receipts=receipts_of(values))
    assert not list(tmp_path.glob("box*"))
    with pytest.raises(DataFileError, match="--again"):
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
        command = ["serve", str(tmp_path / "survey.toml"), "--store", str(tmp_path / "s.db"), "--port", port]
        refused = CliRunner().invoke(app, command)
    assert (refused.exit_code, "--port" in refused.output) == (1, True)
    assert not (tmp_path / "s.db").exists()


def test_the_keeper_survives_whatever_fails(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("confide.collector.http.REFRESH", 0.01)
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
    served.app.collector.days._looked = -1.0
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

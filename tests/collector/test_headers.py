"""Headers as facts: of every answer all that it says beside its body, to our own page, a known web site and a stranger;
and every limit of a collector, one below and one above it.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, Served, ages, serving

from confide.collector.service import Collector, Days, Entry, Refusal, Settings
from confide.collector.stores import Store, open_store
from confide.collector.wire import LIMITS, Wire
from confide.studio.serving import MOST_KEPT, MOST_SIMULATED, Jobs, Studio

KNOWN = "https://known.example"
PLAIN = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
JSON = PLAIN | {"content-type": "application/json"}
HTML = PLAIN | {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
}
TEXT = {"content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store"}
CROSS = {
    "access-control-allow-origin": KNOWN,
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "content-type, content-encoding, authorization, confide-invitation",
    "access-control-expose-headers": "retry-after",
    "access-control-max-age": "600",
    "vary": "origin",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"))
    yield found
    found.close()


def places(served: Served) -> Iterator[tuple[str, str, dict[str, str], int, dict[str, str]]]:
    """Return requests with the status and all headers of their answers."""
    mark = served.survey.fingerprint
    reader = {"authorization": f"Bearer {served.tokens['read']}"}
    yield "GET", "/", {}, 200, HTML
    yield "GET", "/healthz", {}, 200, JSON
    yield "GET", "/metrics", {}, 200, TEXT
    yield "GET", "/v1/surveys", reader, 200, JSON
    yield "GET", "/v1/surveys", {}, 401, JSON | {"www-authenticate": "Bearer"}
    yield "GET", f"/v1/surveys/{mark}", {}, 200, JSON | {"confide-admission": "open"}
    yield "GET", f"/v1/surveys/{mark}/counts", reader, 200, JSON | {"etag": '"0"'}
    yield "GET", f"/v1/surveys/{mark}/counts", reader | {"if_none_match": '"0"'}, 304, JSON | {"etag": '"0"'}
    yield "GET", "/v1/nothing", {}, 404, JSON
    yield "DELETE", "/v1/reports", {}, 405, JSON | {"allow": "POST"}
    yield "OPTIONS", "/v1/reports", {}, 204, {"allow": "GET, HEAD, POST, OPTIONS"}


def test_every_answer_has_its_headers_and_no_others(store: Store) -> None:
    with serving(store, origins=(KNOWN,)) as served:
        for method, path, sent, status, expected in places(served):
            for origin, more in ((None, {}), (KNOWN, CROSS), ("http://127.0.0.1:1", {"vary": "origin"})):
                host = {"host": "127.0.0.1:1"} if origin else {}
                given = {} if origin is None else {"origin": origin}
                reply = served.ask(method, path, b"", **sent, **given, **host)
                found = {name: value for name, value in reply.headers.items() if name != "content-length"}
                assert (path, origin, reply.status) == (path, origin, status)
                assert found == expected | more, (method, path, origin)
                assert reply.headers["content-length"] == str(len(reply.body))
            stranger = served.ask(method, path, b"", **sent, origin="https://stranger.example")
            assert (stranger.status, stranger.headers["vary"]) == (403, "origin")
            assert not [name for name in stranger.headers if name.startswith("access-control")]


def test_whoever_is_sent_away_is_told_for_how_long(store: Store) -> None:
    with serving(store, most_a_second=1) as served:
        replies = [served.post(served.message([3])) for _ in range(7)]
    assert {(one.status, one.headers.get("retry-after")) for one in replies} == {(200, None), (429, "1")}


async def _twice(served: Served, name: bytes, values: tuple[bytes, bytes]) -> int:
    body, sent = json.dumps(served.message([3])).encode(), list[Any]()
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")] if name != b"content-type" else []
    headers += [(name, value) for value in values]
    scope = {"type": "http", "method": "POST", "path": "/v1/reports", "query_string": b"", "headers": headers}
    await served.app(scope, receive, send)
    return int(sent[0]["status"])


def test_a_header_that_decides_comes_once(store: Store) -> None:
    decisive = {
        b"authorization": (b"Bearer a", b"Bearer b"),
        b"confide-invitation": (b"a", b"b"),
        b"content-encoding": (b"gzip", b"identity"),
        b"content-type": (b"text/plain", b"application/json"),
        b"host": (b"stranger.example", b"127.0.0.1"),
        b"origin": (b"https://stranger.example", KNOWN.encode()),
    }
    with serving(store, origins=(KNOWN,)) as served:
        for name, values in decisive.items():
            assert served.run(_twice(served, name, values)) == 400, name
        assert served.run(_twice(served, b"accept", (b"a", b"b"))) == 200


# Every limit: what is just below it is taken, and what is just above is not.


@pytest.mark.parametrize("most", [1, 3])
def test_limits_hold_where_they_say(most: int, store: Store) -> None:
    with serving(store, most_reports=most) as served:
        assert served.post(served.message([3] * most)).status == 200
        assert served.post(served.message([3] * (most + 1))).code == "too-large"
    body = json.dumps(Served.message(served, [3])).encode()
    for size, status in ((len(body), 200), (len(body) - 1, 413)):
        with serving(store, most_bytes=size) as served:
            assert served.post(body).status == status
            packed = served.post(gzip.compress(body), content_encoding="gzip")
            assert packed.status == status


def test_days_are_open_from_the_window_to_tomorrow_and_never_before_the_horizon() -> None:
    """Against a table of every day around, for windows and horizons of all sorts."""
    now = TODAY.toordinal()
    for window, back in itertools.product((1, 2, 7), (None, -1, 0, 1, 3)):
        horizon = 0 if back is None else now - back
        days = Days(window, lambda: TODAY)
        days.set(horizon, window)
        for day in range(now - 10, now + 4):
            text = date.fromordinal(day).isoformat()
            # Days that the window has and the horizon takes away: the device did nothing wrong.
            is_late = horizon > now - window + 1 and now - window <= day < horizon
            expected = day if max(now - window, horizon) <= day <= now + 1 else -503 if is_late else -422
            assert _number(days, text) == expected, (window, back, day - now)


def _number(days: Days, text: str) -> int:
    """Return the number of a day, or the status of the refusal, below zero."""
    try:
        return days.number(text)
    except Refusal as refusal:
        return -refusal.status


def test_marks_are_kept_for_a_day_longer_than_reports_are_taken(store: Store) -> None:
    for window, ahead in itertools.product((1, 7), (0, 1, 5)):
        collector = Collector(store, Settings(window=window), lambda: TODAY)
        forgotten: list[date] = []
        collector.store = _Remembering(TODAY.toordinal() + ahead, forgotten)  # type: ignore[assignment]
        collector.forget()
        assert forgotten == [TODAY - timedelta(days=window + 1)]
        collector.store = _Remembering(TODAY.toordinal() - 3, forgotten)  # type: ignore[assignment]
        collector.forget()  # nothing came for three days
        assert forgotten[1:] == [TODAY - timedelta(days=window + 1 + 3)]


class _Remembering:
    def __init__(self, newest: int, forgotten: list[date]) -> None:
        self._newest, self._forgotten = newest, forgotten

    def newest(self) -> int:
        return self._newest

    def forget(self, before: date) -> None:
        self._forgotten.append(before)


# Memories have an end: never more than so much, the oldest goes first, and what is kept is right.


def test_a_wire_remembers_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "most_known", 4)
    wire, fresh = Wire.of(ages()), Wire.of(ages())
    for report in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 5]:
        assert wire.judge([report]) == Wire(fresh.alphabet, fresh.span).judge([report])
        assert len(wire._known) <= 4
    wire.judge(list(range(10)))
    assert len(wire._known) <= 4


def test_jobs_keep_so_many_answers_and_drop_the_one_unused_for_longest() -> None:
    jobs, model = Jobs(), dict[str, bytes]()
    for number in range(3 * MOST_KEPT):
        key = f"{number * 7 % (MOST_KEPT + 9)}"
        found = jobs.kept(key)
        assert found == model.get(key)
        if found is None:
            jobs.keep(key, key.encode())
        model[key] = model.pop(key, key.encode())
        if len(model) > MOST_KEPT:
            model.pop(next(iter(model)))
        assert jobs.kept("nothing") is None


def test_readings_keep_so_many_answers_and_drop_the_one_unused_for_longest(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(LIMITS), "most_kept", 3)
    made: list[str] = []

    def counted(_: Collector, entry: Entry) -> bytes:
        made.append(entry.stored.fingerprint)
        return entry.stored.fingerprint.encode()

    monkeypatch.setattr("confide.collector.service.counts_json", counted)
    marks = [store.add_survey(ages(limits=f"[limits]\nreports = {number}")).fingerprint for number in range(1, 6)]
    with serving(store) as served:
        asked, kept, expected = random.Random(3), list[str](), list[str]()  # noqa: S311
        for _ in range(60):
            mark = asked.choice(marks)
            expected += [] if mark in kept else [mark]
            kept = [*(one for one in kept if one != mark), mark][-3:]
            reply = served.ask("GET", f"/v1/surveys/{mark}/counts", authorization=f"Bearer {served.tokens['read']}")
            assert (reply.status, reply.body) == (200, mark.encode())
        assert made == expected


def test_a_job_that_ended_is_told_for_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.studio.serving import Job

    clock, ahead = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead[0])

    async def quick(_: Job) -> bytes:
        return b"{}"

    async def after(seconds: float) -> int:
        jobs = Jobs()
        job = jobs.add(Job("read", ""), None, quick)
        assert job.task is not None
        await job.task
        ahead[0] += seconds
        try:
            return len(jobs.get(job.number).record) and 200
        except Refusal as refusal:
            return refusal.status

    assert [asyncio.run(after(seconds)) for seconds in (0, 60, 290, 310, 86_400)] == [200, 200, 200, 404, 404]


def test_a_collector_looks_every_second_and_forgets_every_ten_minutes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LIMITS.refresh_seconds == 1.0
    monkeypatch.setitem(vars(LIMITS), "refresh_seconds", 0.0)
    with serving(store) as served:
        done: list[str] = []
        monkeypatch.setattr(served.app.collector, "refresh", lambda: done.append("look"))
        monkeypatch.setattr(served.app.collector, "forget", lambda: done.append("forget"))

        async def wait() -> None:
            while done.count("forget") < 3:
                await asyncio.sleep(0.001)

        served.run(asyncio.wait_for(wait(), 60))
    first, second, third = (place for place, what in enumerate(done) if what == "forget")
    assert done[first:second].count("look") == done[second:third].count("look") == 600


def test_a_token_has_so_many_jobs_and_all_together_so_many() -> None:
    from confide.studio.serving import MOST_EACH, MOST_JOBS, Job

    async def idle(_: Job) -> bytes:
        await asyncio.sleep(60)
        return b"{}"

    async def fill(owners: list[str]) -> list[bool]:
        jobs, taken = Jobs(), []
        for owner in owners:
            try:
                jobs.add(Job("read", "", owner), None, idle)
                taken.append(True)
            except Refusal as refusal:
                taken.append(refusal.status != 429)
        jobs.close()
        await asyncio.sleep(0)
        return taken

    assert asyncio.run(fill(["a"] * (MOST_EACH + 1))) == [True] * MOST_EACH + [False]
    assert asyncio.run(fill([*["a"] * MOST_EACH, "b", "a"])) == [True] * (MOST_EACH + 1) + [False]
    several = [f"{number % 4}" for number in range(MOST_JOBS + 1)]
    assert asyncio.run(fill(several)) == [True] * MOST_JOBS + [False]
    assert asyncio.run(fill([""] * (MOST_JOBS + 1))) == [True] * MOST_JOBS + [False]


@pytest.mark.parametrize("most", [1, MOST_SIMULATED - 1, MOST_SIMULATED, MOST_SIMULATED + 1, 10**9])
def test_a_trial_promises_as_many_people_as_may_be_asked_for(
    most: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = replace(ages(), simulated="two humps")

    async def draft(*_: object) -> bytes:
        return json.dumps({"document": made.to_json(), "most": most}).encode()

    monkeypatch.setattr(Studio, "_draft", draft)
    with serving(store) as served:
        served.app.guest = studio = Studio(served.app.collector)
        allowed = {"authorization": f"Bearer {served.tokens['administer']}", "content_type": "application/json"}
        reply = served.ask("POST", "/studio/v1/trials", b"{}", **allowed)
        assert (reply.status, reply.json["survey"]) == (201, made.fingerprint)
        entry = served.app.collector.entry(made.fingerprint)
        assert reply.json["most"] == min(most, MOST_SIMULATED)
        studio._simulation(entry, reply.json["most"])
        with pytest.raises(Refusal):
            studio._simulation(entry, MOST_SIMULATED + 1)
        studio.close()

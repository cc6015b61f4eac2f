"""A client before a collector that says anything: how often it asks, how long it waits between, and what it makes of
each answer, against a table; and the store and its days, tokens and invitations against a dictionary.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import time
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, ages

from confide.collector.client import Client, CollectorError, Receipt, write_message
from confide.collector.stores import (
    Batch,
    digest_invitation,
    is_allowed,
    make_invitations,
    make_token,
    open_store,
)
from confide.collector.wire import LIMITS, Wire
from confide.errors import ConfideError, InvalidParameterError


class Answer:
    """One answer, as Python's client hands it over."""

    def __init__(self, status: int, body: Any, **headers: str) -> None:
        self.status, self._headers = status, {name.replace("_", "-"): value for name, value in headers.items()}
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()

    def read(self) -> bytes:
        return self._body

    def getheader(self, name: str, default: str | None = None) -> str | None:
        return self._headers.get(name, default)


class Line:
    """A connection that answers what it was told to, and keeps what it was asked."""

    def __init__(self, answers: list[Answer | Exception]) -> None:
        self.answers, self.asked, self.closed = answers, list[tuple[str, str, bytes | None, dict[str, str]]](), 0

    def __call__(self, netloc: str, timeout: float) -> Line:
        assert (netloc, timeout) == ("localhost:1", 30.0)
        return self

    def request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> None:
        self.asked.append((method, path, body, headers))

    def getresponse(self) -> Answer:
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        self.closed += 1


class Clock:
    """Time that passes by waiting alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.waits = 1000.0, list[float]()
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)
        monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def reached(monkeypatch: pytest.MonkeyPatch, *answers: Answer | Exception, **settings: Any) -> tuple[Client, Line]:
    line = Line(list(answers))
    monkeypatch.setattr(http.client, "HTTPConnection", line)
    return Client("http://localhost:1/deep/", **settings), line


MESSAGE = write_message(ages(), [3, 4])
SAID = json.loads(MESSAGE)
GOOD = {"survey": SAID["survey"], "batch": SAID["batch"], "accepted": 1, "rejected": [{"position": 1, "reason": "odd"}]}


def said(code: str = "busy") -> dict[str, Any]:
    return {"error": {"code": code, "message": "Words."}}


@pytest.mark.parametrize("status", [*range(400, 432), 451, *range(500, 512)])
def test_what_is_tried_again_and_what_is_told_at_once(
    status: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, line = reached(monkeypatch, Answer(status, said()), Answer(200, GOOD))
    if status in (408, 425, 429, 500, 502, 503, 504):
        assert client.post(MESSAGE) == Receipt(1, ((1, "odd"),))
        assert len(line.asked) == 2
        assert {one[2] for one in line.asked} == {MESSAGE}  # the same batch id both times
        assert clock.waits == [pytest.approx(0.05)]
    else:
        with pytest.raises(CollectorError, match="Words") as caught:
            client.post(MESSAGE)
        assert (caught.value.status, caught.value.code) == (status, "busy")
        assert (len(line.asked), clock.waits) == (1, [])


@pytest.mark.parametrize(
    ("stated", "waited"), [("3", 3.0), ("0", 0.05), ("", 0.05), ("soon", 0.05), ("9999", LIMITS.longest_wait)]
)
def test_it_waits_for_as_long_as_the_collector_says(
    stated: str, waited: float, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"retry_after": stated} if stated else {}
    client, _ = reached(monkeypatch, Answer(429, said(), **headers), Answer(200, GOOD), patience=1e6)
    client.post(MESSAGE)
    assert clock.waits == [pytest.approx(waited)]


def test_waits_double_up_to_the_longest_and_patience_ends(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    client, line = reached(monkeypatch, Answer(503, said("unavailable")), patience=100.0)
    with pytest.raises(CollectorError) as caught:
        client.post(MESSAGE)
    assert caught.value.code == "unavailable"
    assert clock.waits[:5] == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8])
    assert max(clock.waits) == LIMITS.longest_wait
    assert 100 - LIMITS.longest_wait <= sum(clock.waits) <= 100
    assert len(line.asked) == len(clock.waits) + 1


def test_whoever_never_answered_is_given_up_sooner(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    client, line = reached(monkeypatch, ConnectionRefusedError("no"), patience=100.0, tell=heard.append)
    with pytest.raises(CollectorError, match="no answer from http://localhost:1/deep/: no"):
        client.post(MESSAGE)
    assert LIMITS.first_patience - LIMITS.longest_wait <= sum(clock.waits) <= LIMITS.first_patience
    assert line.closed == len(line.asked)  # a line that failed is not used again
    assert len(heard) == 1


def test_answers_to_something_else_are_none(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[dict[str, Any]] = [
        {"survey": "0" * 32},
        {"batch": "0" * 32},
        *({"accepted": number} for number in (2, -1, True)),
        *({"rejected": some} for some in ([], [{"position": 2, "reason": "odd"}], [{"position": 1}])),
        {"rejected": [{"position": 1, "reason": 7}]},
    ]
    wrong = [GOOD | change for change in changes]
    for one in [*wrong, b"<html>", [], {}]:
        client, line = reached(monkeypatch, Answer(200, one), Answer(200, GOOD))
        assert client.post(MESSAGE).accepted == 1, one
        assert (len(line.asked), line.closed) == (2, 1), one
        client, line = reached(monkeypatch, Answer(200, one))
        with pytest.raises(CollectorError):
            client.post(MESSAGE)
        assert len(line.asked) == LIMITS.most_strange, one
    assert clock.waits


def test_what_is_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    client, line = reached(monkeypatch, Answer(200, GOOD), token="secret")  # noqa: S106 (a test)
    client.post(MESSAGE, "abcde")
    ((method, path, body, headers),) = line.asked
    assert (method, path, body) == ("POST", "/deep/v1/reports", MESSAGE)
    assert headers == {
        "Content-Type": "application/json", "Confide-Invitation": "abcde", "Authorization": "Bearer secret",
    }  # fmt: skip
    client, line = reached(monkeypatch, Answer(201, {"survey": "f"}))
    assert client.add(ages(), "invited") == "f"
    assert line.asked[0][1:] == (
        "/deep/v1/surveys",
        ages().to_json().encode(),
        {"Content-Type": "application/json", "Confide-Admission": "invited"},
    )
    client, line = reached(monkeypatch, Answer(200, {"is_closed": True}))
    client.close("f" * 32)
    assert line.asked[0][:2] == ("POST", f"/deep/v1/surveys/{'f' * 32}/close")
    for what in ("estimate", "diagnosis", "fit", "page"):
        client, line = reached(monkeypatch, Answer(200, b"text"))
        assert client.read("f" * 32, what) == "text"
        assert line.asked[0][:2] == ("GET", f"/deep/v1/surveys/{'f' * 32}/{what}")


def test_a_message_says_all_that_it_was_given() -> None:
    one = json.loads(write_message(ages(), [3], groups={"town": "Oslo"}, day="2026-11-16"))
    assert {name: value for name, value in one.items() if name != "batch"} == {
        "survey": ages().fingerprint, "reports": [3], "groups": {"town": "Oslo"}, "day": "2026-11-16",
    }  # fmt: skip
    assert len({json.loads(write_message(ages(), [3]))["batch"] for _ in range(3)}) == 3


# A store against a dictionary: whatever is done to it, in any order.

RIGHTS = {"upload": ["upload"], "read": ["read"], "administer": ["upload", "read", "administer"]}
SURVEYS = {name: replace(ages(), most_reports=place) for place, name in enumerate("ABC", 1)}


class Twin:
    """A store, and beside it what it should know, in plain words; each step is taken by both."""

    def __init__(self, place: str, seed: int) -> None:
        self.place, self.draw = place, random.Random(seed)  # noqa: S311 (a test)
        self.store = open_store(place)
        self.tokens: dict[str, tuple[str, str, str]] = {}
        self.surveys: dict[str, dict[str, Any]] = {}
        self.numbers: dict[str, int] = {}
        self.codes: dict[str, str] = {}
        self.marks: dict[str, int] = {}
        self.sent: list[tuple[str, str, int]] = []
        self.counts: Counter[str] = Counter()
        self.horizon, self.window, self.newest = 0, 0, 0

    def one(self) -> str:
        return self.draw.choice([*self.surveys])

    def day(self) -> int:
        return TODAY.toordinal() - self.draw.randint(0, 6)

    def add(self) -> None:
        name, admission = self.draw.choice("ABC"), self.draw.choice(["open", "token", "invited"])
        is_simulated, known = self.draw.random() < 0.3, self.surveys.get(name)
        if known is not None and known["is_simulated"] != is_simulated:
            with pytest.raises(ConfideError, match="do not mix"):
                self.store.add_survey(SURVEYS[name], admission, is_simulated=is_simulated)
            return
        self.numbers[name] = self.store.add_survey(SURVEYS[name], admission, is_simulated=is_simulated).number
        self.surveys.setdefault(name, {"admission": admission, "is_closed": False, "is_simulated": is_simulated})

    def token(self) -> None:
        called, role = self.draw.choice(["ann", "bob", "eve"]), self.draw.choice([*RIGHTS])
        of = self.draw.choice(["", *self.surveys])
        if called in self.tokens:
            with pytest.raises(InvalidParameterError, match="There is a token called"):
                make_token(self.store, role, called)
            return
        mark = SURVEYS[of].fingerprint if of else ""
        self.tokens[called] = role, mark, make_token(self.store, role, called, mark)[1]

    def revoke(self) -> None:
        called = self.draw.choice(["ann", "bob", "eve"])
        if called not in self.tokens:
            with pytest.raises(InvalidParameterError, match="There is no token"):
                self.store.revoke(called)
            return
        self.store.revoke(called)
        _, mark, secret = self.tokens.pop(called)
        assert not any(is_allowed(secret, role, self.store.tokens(), mark) for role in RIGHTS)

    def invite(self) -> None:
        name = self.one()
        codes = make_invitations(self.store, self.numbers[name], self.draw.randint(1, 3))
        self.codes |= {digest_invitation(code): name for code in codes}

    def change(self) -> None:
        name = self.one()
        if self.draw.random() < 0.2:
            self.store.close_survey(SURVEYS[name].fingerprint)
            self.surveys[name]["is_closed"] = True
            return
        self.surveys[name]["admission"] = admission = self.draw.choice(["open", "token", "invited"])
        self.store.admit(SURVEYS[name].fingerprint, admission)

    def days(self) -> None:
        self.window, first = self.draw.randint(1, 30), self.day() - 2
        self.store.set_window(self.window)
        if first < self.horizon and self.draw.random() < 0.5:
            self.store.reopen(date.fromordinal(first))
            self.horizon = first
            return
        self.store.forget(date.fromordinal(first))
        self.horizon = max(self.horizon, first)
        self.marks = {mark: day for mark, day in self.marks.items() if day >= self.horizon}

    def send(self) -> None:
        chosen: dict[str, tuple[str, str, int, str | None]] = {}
        for _ in range(self.draw.randint(1, 5)):
            code = self.draw.choice([None, None, "0" * 64, *self.codes])
            one = (f"{self.draw.getrandbits(128):032x}", self.one(), self.day())
            if self.sent and self.draw.random() < 0.3:  # one that came before, just as it was
                one, code = self.draw.choice(self.sent), None
            if all(other[3] != code or code is None for other in chosen.values()):
                chosen[one[0]] = (*one, code)
                self.sent.append(one)
        batches = [
            Batch(mark, "c" * 32, self.numbers[name], day, "", {"3": 1}, 1, {}, Wire.of(SURVEYS[name]), code)
            for mark, name, day, code in chosen.values()
        ]
        found = [fate.value for fate in self.store.commit(batches)]
        assert found == [self.fate(*one) for one in chosen.values()]

    def fate(self, mark: str, name: str, day: int, code: str | None) -> str:
        """Say what becomes of a batch of one report."""
        if day < self.horizon:
            return "past"
        if mark in self.marks:
            return "repeated"
        if self.surveys[name]["is_closed"]:
            return "closed"
        if code is not None and self.codes.get(code) != name:
            return "spent"
        self.codes.pop(code or "", None)
        self.marks[mark], self.newest = day, max(self.newest, day)
        self.counts[name] += 1
        return "counted"

    def check(self) -> None:
        """Compare all that both know."""
        known = [(one.name, one.role, one.survey) for one in self.store.tokens()]
        assert known == sorted((called, role, mark) for called, (role, mark, _) in self.tokens.items())
        for role, mark, secret in self.tokens.values():
            for asked, of in itertools.product(RIGHTS, ["", *(one.fingerprint for one in SURVEYS.values())]):
                expected = asked in RIGHTS[role] and mark in ("", of)
                assert is_allowed(secret, asked, self.store.tokens(), of) is expected
        stored = {one.fingerprint: one for one in self.store.surveys()}
        for name, said in self.surveys.items():
            one = stored[SURVEYS[name].fingerprint]
            assert {word: getattr(one, word) for word in said} == said
            assert self.store.account(one.number).get("", 0) == self.counts[name]
            assert sum(row.number for row in self.store.balance(one.number)[0]) == self.counts[name]
            assert self.store.invitations(one.number) == list(self.codes.values()).count(name)
        assert (self.store.horizon(), self.store.window()) == (self.horizon, self.window)
        assert self.store.newest() == self.newest


@pytest.mark.parametrize("seed", range(3))
def test_a_store_does_what_a_dictionary_does(seed: int, tmp_path: Path) -> None:
    twin = Twin(str(tmp_path / "store.db"), seed)
    twin.add()
    steps = [twin.add, twin.token, twin.token, twin.revoke, twin.invite, twin.change, twin.days, *[twin.send] * 4]
    for number in range(80):
        twin.draw.choice(steps)()
        if number % 30 == 20:  # all of it is in the file
            twin.store.close()
            twin.store = open_store(twin.place)
            twin.check()
    twin.check()
    twin.store.close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_a_token_goes_to_this_machine(host: str) -> None:
    Client(f"http://{host}:8000", "secret")


@pytest.mark.parametrize("host", ["192.168.1.5", "10.0.0.1", "172.16.0.1", "169.254.1.1", "0.0.0.0", "8.8.8.8", "box"])  # noqa: S104
def test_a_token_goes_to_no_other_machine_unless_by_https(host: str) -> None:
    with pytest.raises(InvalidParameterError, match="could be read on its way"):
        Client(f"http://{host}:8000", "secret")
    Client(f"http://{host}:8000")
    Client(f"https://{host}:8000", "secret")

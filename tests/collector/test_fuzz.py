"""Requests that nobody foresaw: none fails here, and nothing is counted that was not accepted."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.collector.asking import Served, serving

from confide.collector.service import KEYS
from confide.collector.stores import open_store

HEADERS = {
    "content_type": ["application/json", "text/plain", "", "application/json; charset=utf-8", "\xff"],
    "content_encoding": ["gzip", "identity", "br", "GZIP", "gzip, gzip", ""],
    "authorization": ["Bearer x", "Bearer", "Basic eA==", "bearer " + "x" * 5000, "\xff\xfe"],
    "content_length": ["0", "-1", "9" * 40, "abc", "\xb2"],
    "origin": ["https://evil.example", "null", "\xff", ""],
    "if_none_match": ['"1"', "*", "W/"],
    "confide_invitation": ["x", "", "é" * 300],
}
ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**18,
    "",
    "\0",
    "a" * 9000,
    [],
    {},
    [[[[]]]],
    {"a": {"b": []}},
    "\ud7ff",
    2.5,
    "NaN",
]


class Fuzzer:
    """Requests over the whole interface, most of them broken in one place or several."""

    def __init__(self, served: Served, seed: int) -> None:
        self.served, self.choose = served, random.Random(seed)  # noqa: S311
        known = ("", "/counts", "/estimate", "/diagnosis", "/fit", "/page")
        self.paths = [("/v1/reports", "POST"), ("/v1/surveys", "GET"), ("/v1/surveys", "POST")]
        self.paths += [("/v1/surveys/{survey}/close", "POST"), ("/healthz", "GET"), ("/metrics", "GET")]
        self.paths += [(f"/v1/surveys/{{survey}}{what}", "GET") for what in known]
        self.known: list[bytes] = []
        self.last = "0" * 32

    def message(self) -> Any:
        choose = self.choose
        reports = [choose.choice([*range(-2, 13), *ODD]) for _ in range(choose.choice([1, 1, 3, 40]))]
        message: Any = self.served.message(reports) | {"batch": choose.randbytes(16).hex()}
        if choose.random() < 0.05:
            message["batch"] = self.last
        self.last = message["batch"]
        for _ in range(choose.choice([0, 0, 1, 2])):
            key = choose.choice([*message, "groups", "extra", ""])
            if choose.random() < 0.3:
                message.pop(key, None)
            else:
                message[key] = choose.choice([*ODD, "2026-11-1", "9999-12-31", "0001-01-01", {"town": "Oslo"}])
        return message if choose.random() < 0.95 else choose.choice(ODD)

    def body(self) -> bytes:
        choose = self.choose
        if self.known and choose.random() < 0.1:
            return choose.choice(self.known)
        body = json.dumps(self.message()).encode()
        self.known = [*self.known[-20:], body]
        if choose.random() < 0.15:
            place = choose.randrange(len(body) + 1)
            body = body[:place] + choose.randbytes(choose.choice([1, 4])) + body[place + choose.choice([0, 1, 50]) :]
        return body

    def request(self) -> tuple[str, str, bytes, dict[str, str]]:
        choose = self.choose
        path, method = choose.choice([*self.paths, *[("/v1/reports", "POST")] * 30])
        path = path.replace("{survey}", choose.choice([self.served.survey.fingerprint, "0" * 32, "..", "%00", "é"]))
        if choose.random() < 0.05:
            path += choose.choice(["/", "//", "?x=1", "?token=1", "/../..", "\0", "/counts/x"])
        if choose.random() < 0.05:
            method = choose.choice(["PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", ""])
        body, headers = self.body(), {"content_type": "application/json"}
        for name, values in HEADERS.items():
            if choose.random() < 0.06:
                headers[name] = choose.choice(values)
        if choose.random() < 0.2:
            headers["content_encoding"] = "gzip"
            body = gzip.compress(body, 1)
            if choose.random() < 0.4:
                place = choose.randrange(len(body))
                body = body[:place] + choose.randbytes(1) + body[place + choose.choice([0, 1, 9]) :]
        if "close" in path or path.endswith(("estimate", "diagnosis", "fit", "page")):
            headers.pop("authorization", None)
        return method, path, body, headers


def fuzz(served: Served, requests: int, seed: int = 1) -> Counter[int]:
    """Send fuzzed requests, and compare what was counted with what was answered."""
    fuzzer, statuses, told = Fuzzer(served, seed), Counter[int](), dict[str, tuple[int, int]]()

    async def some(asked: list[tuple[str, str, bytes, dict[str, str]]]) -> list[Any]:
        return await asyncio.gather(*(served.asking(one[0], one[1], one[2], **one[3]) for one in asked))

    for start in range(0, requests, 50):
        asked = [fuzzer.request() for _ in range(min(50, requests - start))]
        for one, reply in zip(asked, served.run(some(asked)), strict=True):
            statuses[reply.status] += 1
            assert b"Traceback" not in reply.body
            assert reply.status < 500, (one, reply.body)
            if one[1].partition("?")[0] == "/v1/reports" and one[0] == "POST" and reply.status == 200:
                answer = reply.json
                told[answer["batch"]] = answer["accepted"], len(answer["rejected"])
            elif reply.status >= 400 and reply.body:
                assert set(reply.json["error"]) == {"code", "message"}
    account = served.store.account(1)
    assert account.pop("", 0) == sum(accepted for accepted, _ in told.values()) == sum(served.counts().values())
    assert sum(account.values()) == sum(rejected for _, rejected in told.values())
    return statuses


@pytest.mark.slow
def test_fuzzed_requests_neither_fail_nor_count_what_was_not_accepted(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, body_seconds=5.0) as served:
        found = fuzz(served, 600)
    assert {200, 400, 404, 405, 409, 415, 422} <= set(found)
    store.close()


@pytest.mark.slow
def test_hypothesis_over_the_description_of_a_message(tmp_path: Path) -> None:
    from hypothesis import HealthCheck, given, settings

    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
    fields = dict.fromkeys(sorted(KEYS), anything)
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:

        @given(st.fixed_dictionaries({}, optional=fields), st.booleans())
        @settings(max_examples=30, suppress_health_check=list(HealthCheck))
        def hold(message: dict[str, Any], is_sound: bool) -> None:
            reply = served.post(
                (served.message([3]) | {"reports": message.get("reports", [3])}) if is_sound else message
            )
            assert reply.status < 500
            if reply.status == 200:
                told = reply.json
                assert told["accepted"] + len(told["rejected"]) == len(message.get("reports", [3]))

        hold()
    store.close()

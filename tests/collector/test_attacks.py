"""A collector under attack: it keeps its memory and its turns, ends connections that wait, and loses nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import secrets
import socket
import struct
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import Served, ages, serving
from tests.collector.attacks import ATTACKS, HEAD, Honest, ask, attacking, filled, get, memory, message, post
from tests.collector.killing import SURVEY, Nursery, Running, free_port, nursery, read_http
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.collector import Client, write_message
from confide.collector import http as http_module
from confide.collector import serving as server_module
from confide.collector.http import Call
from confide.collector.service import Collector, Refusal, Room, shown
from confide.collector.stores import Store, StoreError, open_store
from confide.collector.wire import LIMITS, Wire
from confide.studio.serving import MOST_EACH, MOST_JOBS, Job, Jobs
from confide.surveys.survey import parse_survey


@pytest.fixture
def running(born: Nursery, tmp_path: Path) -> Iterator[Running]:
    found = Running(born, tmp_path, parse_survey(SURVEY))
    yield found
    born.kill(found.pid)
    found.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lists", "bodies", "unread", "pipelined"])
def test_an_attack_takes_little_memory_and_honest_reports_are_counted(running: Running, kind: str) -> None:
    honest = Honest(running.port, running.survey)
    honest.send(0.2)
    before = memory(running.pid, is_new=True)
    with attacking(kind, running.port, running.survey.fingerprint, 40):
        for _ in range(5):
            honest.send(0.2)  # each sends at least one, however long it takes
    assert memory(running.pid) - before < 80
    assert running.store.account(1)[""] == honest.accepted


def test_every_attack_is_answered_or_ended(running: Running) -> None:
    answers = {
        kind: ask(running.port, attack.sent(running.survey.fingerprint)).split(b" ", 2)[1].decode()
        for kind, attack in ATTACKS.items()
        if attack.again
    }
    assert answers == {
        "lists": "413", "objects": "413", "numbers": "413", "spellings": "200", "unread": "200", "text": "400",
        "batch": "400", "digits": "200", "strange": "200", "few": "200", "unknown": "404", "broken": "413",
        "nonsense": "400",
    }  # fmt: skip


# Memory and work.


def test_what_is_shown_is_cut_before_it_is_written() -> None:
    class Text(str):
        __slots__ = ()

        def __repr__(self) -> str:
            raise AssertionError("the whole of it was written")

    assert shown(Text("\x7f" * 1000)).startswith("'\\x7f")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list of 1 item"
    assert len(shown("\x7f" * 2**20)) < 300
    while deep:  # a list this deep is not freed in one go
        deep = deep[0]


def test_large_messages_are_parsed_in_the_lane(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    read = Collector.read

    def watched(self: Collector, body: bytes) -> Any:
        threads.append(threading.current_thread().name)
        return read(self, body)

    monkeypatch.setattr(Collector, "read", watched)
    with serving(file_store) as served:
        assert served.post(served.message([3])).status == 200
        assert served.post(served.message([3] * 1000)).status == 200
        assert threads == ["MainThread"] * 2
        served.post(served.message([3] * 9_000))
        served.post(served.message(["3" * 40_000]))
        assert served.post(served.message([[3, 3]] * 2_000)).status == 200
        assert all(name.startswith("confide-parse") for name in threads[2:])
        assert len(threads) >= 5


def test_a_message_of_too_many_parts_is_not_parsed(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file_store) as served:
        monkeypatch.setattr("confide.collector.service.orjson.loads", None)
        reply = served.post(gzip.compress(filled(served.survey.fingerprint, b"[]")), content_encoding="gzip")
        assert (reply.status, reply.code) == (413, "too-large")


def test_a_message_of_too_many_parts_is_not_unpacked_whole() -> None:
    for part in (b"[]", b'{"":0}', b"3"):
        packed = gzip.compress(filled("f" * 32, part))
        size = int.from_bytes(packed[-4:], "little")
        cut = packed[: len(packed) // 2]  # the rest is never looked at
        with pytest.raises(Refusal, match="100,000 commas"):
            http_module._unzip(cut, 2**22, size, 100_000)
    body = os.urandom(2**20)
    assert http_module._unzip(gzip.compress(body), 2**22, 2**20, 100_000) == body
    with pytest.raises(Refusal, match="at most 1,048,575 bytes"):
        http_module._unzip(gzip.compress(body), 2**20 - 1, 2**20, 100_000)


def test_the_largest_honest_batch_is_taken(file_store: Store) -> None:
    survey = cf.Survey(cf.Product(**{f"a{one}": cf.RandomizedResponse(cf.Integers(0, 1), 1.0) for one in range(8)}))
    with serving(file_store, survey) as served:
        reply = served.post(
            gzip.compress(json.dumps(served.message([[1] * 8] * 10_000)).encode()), content_encoding="gzip"
        )
        assert (reply.status, reply.json["accepted"]) == (200, 10_000)


def test_gzip_that_is_larger_than_what_it_holds_is_unpacked_in_the_lane(
    file_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def watched(*given: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return unzip(*given)

    unzip = http_module._unzip
    monkeypatch.setattr(http_module, "_unzip", watched)
    with serving(file_store) as served:
        packer = zlib.compressobj(wbits=31)
        padding = b"".join(packer.flush(zlib.Z_FULL_FLUSH) + packer.compress(b" ") for _ in range(2_000))
        packed = padding + packer.compress(json.dumps(served.message([3])).encode()) + packer.flush()
        assert len(packed) > 2**13 > int.from_bytes(packed[-4:], "little")
        assert served.post(packed, content_encoding="gzip").status == 200
        assert (
            served.post(gzip.compress(json.dumps(served.message([3])).encode()), content_encoding="gzip").status == 200
        )
    assert [one.partition("_")[0] for one in threads] == ["confide-parse", "MainThread"]


def test_gzip_unpacks_to_what_it_says(file_store: Store) -> None:
    with serving(file_store) as served:
        packed = gzip.compress(json.dumps(served.message([3] * 30)).encode())
        for size in (10, 10**6, 2**32 - 1):
            assert served.post(packed[:-4] + size.to_bytes(4, "little"), content_encoding="gzip").status == 400
        assert served.post(packed, content_encoding="gzip").status == 200


def test_broken_messages_draw_tickets_as_well(file_store: Store) -> None:
    with serving(file_store, most_a_second=1) as served:
        assert [served.post(b"{").status for _ in range(3)] == [400, 429, 429]


def test_room_is_given_back_when_the_answer_is_read(file_store: Store) -> None:
    large = {"content_length": str(2**17)}
    with serving(file_store) as served:
        held: list[int] = []
        enter = served.app.room.enter

        async def watched(address: str, size: int, seconds: float | None = None) -> None:
            held.append(size)
            await enter(address, size, seconds)

        served.app.room.enter = watched  # type: ignore[method-assign]
        body = json.dumps(served.message([" " * 13 + "3"] * 10_000)).encode()
        assert served.post(body, **large).status == 200
        assert served.post(b"x" * 2**17, **large).status == 400
        assert served.ask("POST", "/v1/reports", [b"x" * 40_000] * 3, content_type="application/json").status == 400
        assert served.post(gzip.compress(b"x" * 10**6), content_encoding="gzip").status == 400
        assert held == [2**20, 2**20, 2**23, 2**20]
        assert (served.app.room._inside, served.app.room._waiting) == ({}, {})


def test_without_room_a_large_message_is_told_to_come_again(file_store: Store) -> None:
    with serving(file_store, body_seconds=0.05) as served:
        served.run(served.app.room.enter("somebody", 2**25))
        reply = served.post(b"x", content_length=str(2**17))
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "busy", "1")
        assert served.post(served.message([3])).status == 200


def test_room_is_bounded_in_total_and_for_each_and_addresses_take_turns() -> None:
    order: list[str] = []

    async def run() -> None:
        room = Room(4, 2)

        async def come(address: str, size: int) -> None:
            await room.enter(address, size)
            order.append(address)

        waiting = [asyncio.create_task(come(one, 1)) for one in ("a", "a", "a", "a", "b", "b", "b", "c")]
        await asyncio.sleep(0.01)
        assert order == ["a", "a", "b", "b"]  # no address has more than two, and all together no more than four
        room.leave("a", 1)
        await asyncio.sleep(0.01)
        room.leave("b", 1)
        await asyncio.sleep(0.01)
        room.leave("a", 1)
        await asyncio.sleep(0.01)
        assert sorted(order[4:]) == ["a", "b", "c"]  # one each, though two of a's came before
        with pytest.raises(TimeoutError):
            await room.enter("b", 1, 0.01)
        room.leave("a", 1)
        await asyncio.gather(*waiting)
        for address in ("a", "b", "b", "c"):
            room.leave(address, 1)
        await room.enter("d", 100)  # whatever is larger than the room enters alone
        room.leave("d", 100)
        assert (room._inside, room._waiting) == ({}, {})

    asyncio.run(run())


def test_whoever_leaves_while_waiting_takes_no_room() -> None:
    async def run() -> None:
        room = Room(1, 1)
        await room.enter("a", 1)
        gone, stays = (asyncio.create_task(room.enter(one, 1)) for one in "bc")
        await asyncio.sleep(0)
        gone.cancel()
        room.leave("a", 1)  # in the same moment
        await asyncio.wait([gone, stays])
        assert (gone.cancelled(), dict(room._inside)) == (True, {"c": 1})
        room.leave("c", 1)
        assert not room._inside

    asyncio.run(run())


def test_no_more_wait_than_there_is_memory_for(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.collector.service.LIMITS", replace(LIMITS, most_waiting=3, most_waiting_each=2))

    async def run(served: Served) -> None:
        room = served.app.collector.turn
        await room.enter("a", 1)
        waiting = [asyncio.create_task(room.enter(one, 1)) for one in "aab"]
        await asyncio.sleep(0)
        for address in "ac":
            with pytest.raises(TimeoutError):
                await room.enter(address, 1)
        strange = json.dumps(served.message(["x" * 50] * 10)).encode()  # which comes from no address
        refused = await served.asking("POST", "/v1/reports", strange, content_type="application/json")
        assert (refused.status, refused.code, refused.headers["retry-after"]) == (429, "busy", "1")
        quick = json.dumps(served.message([3])).encode()
        assert (await served.asking("POST", "/v1/reports", quick, content_type="application/json")).status == 200
        for address in "aaba":
            room.leave(address, 1)
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        assert (room._inside, room._waiting) == ({}, {})

    with serving(file_store) as served:
        served.run(run(served))


def test_the_lane_does_one_thing_at_a_time() -> None:
    inside: list[int] = []

    def work(number: int) -> int:
        inside.append(number)
        time.sleep(0.001)
        assert inside.pop() == number
        return number

    async def run() -> list[int]:
        collector = Collector(None)  # type: ignore[arg-type]
        found = await asyncio.gather(*(collector.do_in_turn(str(one % 3), work, one) for one in range(12)))
        collector.thread.shutdown()
        return found

    assert asyncio.run(run()) == list(range(12))


def test_spellings_are_not_remembered() -> None:
    wire = Wire.of(cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)))
    for batch in range(60):
        judged = wire.judge([f"{' ' * (one % 50)}{one % 10}.{'0' * batch}" for one in range(500)])
        assert judged.rejected == []
    assert wire._known == {}
    wire.judge(list(range(10)))
    assert wire._known == {one: str(one) for one in range(10)}
    wide = Wire.of(cf.Survey(cf.Geometric(cf.Integers(0, 9), 0.1)))
    for start in range(0, 5 * LIMITS.most_known, 10_000):
        wide.judge(list(range(start, start + 10_000)))
        assert len(wide._known) <= LIMITS.most_known


def test_whoever_is_refused_again_and_again_waits(file_store: Store) -> None:
    async def is_slow(served: Served, address: str) -> bool:
        task = asyncio.create_task(served.app._slow_down(Call("", "", {}, address, None)))  # type: ignore[arg-type]
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        return not task.done()

    with serving(file_store) as served:
        served.app._refused.update({"1.1.1.1": LIMITS.most_refused, "2.2.2.2": LIMITS.most_refused - 1})
        assert [served.run(is_slow(served, one)) for one in ("1.1.1.1", "2.2.2.2", "3.3.3.3")] == [True, False, False]


def test_a_batch_of_which_nothing_counts_is_a_refusal(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file_store) as served:
        counted: list[Call] = []

        async def watched(request: Call) -> None:
            counted.append(request)

        monkeypatch.setattr(served.app, "_slow_down", watched)
        for reports, number in ((["x"], 1), ([3], 1), ([3, "x"], 1), (["x", "y"], 2)):
            assert served.post(served.message(reports)).status == 200
            assert len(counted) == number


def test_whoever_waits_for_a_refusal_keeps_no_message(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(file_store) as served:
        kept: list[BaseException | None] = []

        async def watched(_: Call) -> None:
            kept.append(sys.exception())  # whose frames hold the message

        monkeypatch.setattr(served.app, "_slow_down", watched)
        assert served.post(b"x" * 1000).status == 400
        assert kept == [None]


def test_one_token_does_not_take_all_jobs() -> None:
    async def forever(_: Job) -> bytes:
        await asyncio.sleep(3600)
        return b""

    async def run() -> None:
        jobs = Jobs()
        for owner in ("one", "other"):
            for _ in range(MOST_EACH):
                jobs.add(Job("read", "", owner), None, forever)
            with pytest.raises(Refusal, match="at work"):
                jobs.add(Job("read", "", owner), None, forever)
        assert 2 * MOST_EACH == MOST_JOBS
        jobs.close()

    asyncio.run(run())


def test_jobs_belong_to_the_token_that_asked(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.collector.stores import make_token
    from confide.studio.serving import Crew, Studio

    async def forever(*_: object) -> bytes:
        await asyncio.sleep(3600)
        return b""

    monkeypatch.setattr(Crew, "do", forever)
    with serving(file_store) as served:
        served.post(served.message([3]))
        served.app.guest = Studio(served.app.collector)
        keys = [make_token(file_store, "read", one)[1] for one in ("first", "second")]
        served.app.collector.refresh()
        asked = json.dumps({"kind": "look", "survey": served.survey.fingerprint, "queries": [], "methods": []}).encode()

        def begin(key: str) -> int:
            sent = {"content_type": "application/json", "authorization": f"Bearer {key}"}
            return served.ask("POST", "/studio/v1/jobs", asked, **sent).status

        assert [begin(keys[0]) for _ in range(MOST_EACH + 1)] == [202] * MOST_EACH + [429]
        assert begin(keys[1]) == 202
        served.app.guest.close()


# Connections.


@contextmanager
def serving_here(monkeypatch: pytest.MonkeyPatch, application: Any, **limits: Any) -> Iterator[tuple[str, int]]:
    """Serve in a thread, with other limits."""
    monkeypatch.setattr(server_module, "LIMITS", replace(LIMITS, **limits))
    listening = server_module.bind("127.0.0.1", 0)
    server = server_module.Server(application)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(25)
    assert not thread.is_alive()


async def answer_much(scope: Any, receive: Any, send: Any) -> None:
    """Answer as much as no buffer takes."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for more in (True, False):
        await send({"type": "http.response.body", "body": b"x" * 2**25, "more_body": more})


@pytest.mark.parametrize("kind", ["lines", "stray", "chunked", "headers"])
def test_a_connection_is_not_held_at_no_cost(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.collector import parse_only

    served = serving_here(monkeypatch, parse_only, header_seconds=0.3)
    with served as place, socket.create_connection(place, 30) as connection, suppress(ConnectionError):
        connection.sendall(ATTACKS[kind].sent(""))
        connection.settimeout(0.05)
        is_open = True
        while is_open:  # without a limit, for ever
            try:
                is_open = bool(connection.recv(2**16))
            except TimeoutError:
                connection.sendall(ATTACKS[kind].drip)


def test_an_answer_that_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"answer_seconds": 0.2, "header_seconds": 0.2}
    with serving_here(monkeypatch, answer_much, **limits) as place, socket.create_connection(place, 30) as connection:
        connection.sendall(get("/"))
        time.sleep(1)
        found = 0
        with suppress(ConnectionError):
            while part := connection.recv(2**20):
                found += len(part)
        assert found < 2**25  # what lay in buffers


def test_the_end_does_not_wait_for_who_does_not_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), serving_here(monkeypatch, answer_much, ending_seconds=0.2) as place:
        connections = [socket.create_connection(place, 30) for _ in range(2)]
        for one in connections:
            one.sendall(get("/"))
        time.sleep(0.3)
    for one in connections:
        one.close()
    assert caplog.records == []


def test_pipelined_requests_are_few(running: Running) -> None:
    found = running.send(get("/healthz") * 2_000)
    statuses = [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses[-1] == b"429"
    assert 16 <= statuses.count(b"200") < 200
    assert b'"code":"busy"' in found


def test_who_leaves_a_pipeline_leaves_no_traceback(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with nursery() as born:  # which writes where it is looked at
        pid = born.start(str(tmp_path / "store.db"), port := free_port())
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port), 30) as connection:
                connection.sendall(post(message("f" * 32, b"3")) * 2 + get("/"))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                time.sleep(0.001)
        time.sleep(0.3)
        born.kill(pid)
    assert capfd.readouterr().err == ""


UPGRADE = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


def test_upgrade_is_ignored_and_the_message_is_not_lost(running: Running) -> None:
    for pieces in ([0], [0, 40], [0, 150, 330], [0, -3]):
        body = message(running.survey.fingerprint, b"3", secrets.token_hex(16).encode())
        content = post(body, UPGRADE)
        with (
            socket.create_connection(("127.0.0.1", running.port), 30) as connection,
            connection.makefile("rb") as stream,
        ):
            for start, end in zip(pieces, [*pieces[1:], len(content)], strict=True):
                connection.sendall(content[start:end])
                time.sleep(0.02)
            assert read_http(stream).startswith(b"HTTP/1.1 200")
            connection.sendall(get("/healthz"))  # and goes on as before
            assert read_http(stream).startswith(b"HTTP/1.1 200")
    assert running.store.account(1) == {"": 4}
    assert ask(running.port, get("/healthz", UPGRADE)).startswith(b"HTTP/1.1 200")
    assert ask(running.port, b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_upgrade_after_a_refusal_takes_no_answer_away(running: Running) -> None:
    for content in (get("/healthz") * 17 + get("/healthz", UPGRADE), get("/healthz") * 18 + get("/healthz", UPGRADE)):
        found = running.send(content)
        assert (found.count(b"HTTP/1.1 200"), found.count(b"HTTP/1.1 429")) == (17, 1)
    found = running.send(get("/healthz", f"{UPGRADE}X: {'a' * 40_000}\r\n"))
    assert found.startswith(b"HTTP/1.1 431")


def test_the_rest_of_a_refused_message_is_not_answered(running: Running) -> None:
    head = b"POST /v1/surveys HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), 30) as connection, connection.makefile("rb") as stream:
        connection.sendall(head)
        assert read_http(stream).startswith(b"HTTP/1.1 401")
        connection.sendall(b"x" * 200_000 + get("/healthz"))
        assert read_http(stream).startswith(b"HTTP/1.1 200")  # and no other answer before it


CHUNKED = f"POST /v1/reports HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()


@pytest.mark.parametrize("part", [b"X: 1\r\n" * 5_000, b"a" * 30_000])
def test_headers_after_a_message_take_no_memory(running: Running, part: bytes) -> None:
    before = memory(running.pid, is_new=True)
    with socket.create_connection(("127.0.0.1", running.port), 30) as connection:
        connection.sendall(CHUNKED + b"2\r\n{}\r\n0\r\nX: ")
        for _ in range(600):
            connection.sendall(part)
        time.sleep(0.2)
        assert memory(running.pid) - before < 12


def test_headers_after_a_message_are_none(running: Running) -> None:
    body = message(running.survey.fingerprint, b"3")
    sent = CHUNKED + b"%x\r\n%b\r\n0\r\nContent-Encoding: gzip\r\nHost: x\r\n\r\n" % (len(body), body)
    assert ask(running.port, sent).startswith(b"HTTP/1.1 200")
    assert running.store.account(1) == {"": 1}


def test_a_message_in_many_small_chunks_is_taken(running: Running) -> None:
    body = message(running.survey.fingerprint, b"3") + b" " * 50_000
    chunks = b"".join(b"1;%b\r\n%b\r\n" % (b"y" * 10, body[one : one + 1]) for one in range(len(body)))
    assert ask(running.port, CHUNKED + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_bad_http_is_refused_in_json(running: Running) -> None:
    for content, status in ((b"\x16\x03\x01\x00\r\n\r\n", 400), (get("/", f"X: {'a' * 40_000}\r\n"), 431)):
        head, _, body = ask(running.port, content).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"content-type: application/json" in head
        assert json.loads(body)["error"]["code"] in ("malformed", "too-large")


def test_at_the_limit_of_connections_devices_are_told_to_come_again(running: Running, born: Nursery) -> None:
    import resource

    soft, hard = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)
    assert soft >= min(hard, 4_096 + LIMITS.spare_files)
    born.kill(running.pid)
    running.pid = born.start(running.url, running.port, most_connections=1)
    with socket.create_connection(("127.0.0.1", running.port)) as first:
        first.sendall(get("/healthz"))
        assert first.recv(2**16).startswith(b"HTTP/1.1 200")
        head, _, body = ask(running.port, post(message(running.survey.fingerprint, b"3"))).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 2" in head
        assert json.loads(body)["error"]["code"] == "unavailable"
        timer = threading.Timer(1.0, first.close)
        timer.start()
        with Client(running.address) as client:
            assert client.post(write_message(running.survey, [3])).accepted == 1
        timer.join()


def test_who_asks_nothing_leaves_files_for_the_store(running: Running, born: Nursery) -> None:
    born.kill(running.pid)
    running.pid = born.start(running.url, running.port, most_connections=10)
    more = LIMITS.spare_files // 2
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", running.port), 5)) for _ in range(30 + more)]
        told = [one.recv(2**16) for one in idle[12 + more :]]
        assert all(b"HTTP/1.1 503" in one and b"retry-after: 2" in one for one in told)
        assert len(list(Path(f"/proc/{running.pid}/task/{running.pid}/fd").iterdir())) < 10 + LIMITS.spare_files
        idle[0].sendall(get("/healthz"))
        assert idle[0].recv(2**16).startswith(b"HTTP/1.1 503")


def test_the_client_keeps_trying_while_a_proxy_says_that_the_collector_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    away = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"
    good = b'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"surveys":[]}'
    monkeypatch.setattr("confide.collector.client.time.sleep", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            for answer in [away] * 12 + [good]:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=speak, daemon=True)
        thread.start()
        with Client(f"http://127.0.0.1:{server.getsockname()[1]}", patience=1e6) as client:
            assert client.surveys() == []
        thread.join()


# What is small and wrong.


@pytest.mark.parametrize("header", ["authorization", "confide-invitation", "content-type", "host", "origin"])
def test_a_header_that_comes_twice_is_refused(file_store: Store, header: str) -> None:
    with serving(file_store) as served:
        # One name in two spellings, which a server takes for the same.
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(part: Any) -> None:
            sent.append(part)

        headers = [(header.encode(), b"Bearer x"), (header.encode(), f"Bearer {served.tokens['read']}".encode())]
        scope = {"type": "http", "method": "GET", "path": "/v1/surveys", "query_string": b"", "headers": headers}
        served.run(served.app(scope, receive, send))
        assert (sent[0]["status"], b"twice" in sent[1]["body"]) == (400, True)


@pytest.mark.parametrize(
    ("host", "method", "path", "status"),
    [
        ("evil.com", "GET", "/", 403),
        ("evil.com:8000", "HEAD", "/", 403),
        ("evil.com", "GET", "/metrics", 403),
        ("evil.com", "OPTIONS", "/", 403),
        ("127.0.0.1:8000", "GET", "/", 200),
        ("localhost", "GET", "/", 200),
        ("good.example", "GET", "/", 200),
        ("evil.com", "GET", "/healthz", 200),  # whoever looks after us calls us by any name, and learns nothing
    ],
)
def test_a_name_that_is_not_ours_reads_nothing(
    file_store: Store, host: str, method: str, path: str, status: int
) -> None:
    with serving(file_store, origins=("https://good.example",)) as served:
        assert served.ask(method, path, host=host).status == status
        assert served.post(served.message([3]), host=host).status == 200  # a page that sends names its origin


def test_a_form_is_small(file_store: Store) -> None:
    with serving(file_store) as served:
        path, form = (
            f"/v1/surveys/{served.survey.fingerprint}/page",
            {"content_type": "application/x-www-form-urlencoded"},
        )
        assert served.ask("POST", path, b"token=" + b"x" * 5_000, **form).status == 413
        assert served.ask("POST", path, gzip.compress(b"x" * 10**6), content_encoding="gzip", **form).status == 413


def test_a_stranger_sends_the_studio_no_message(file_store: Store) -> None:
    from confide.studio.serving import Studio

    with serving(file_store) as served:
        served.app.guest = Studio(served.app.collector)
        sent = {"content_type": "application/json", "authorization": "Bearer confide-guess"}
        assert served.ask("POST", "/studio/v1/jobs", b"not JSON", **sent).status == 403
        served.app.guest.close()


def test_damaged_files_are_not_served(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    store = open_store(str(place))
    with serving(store) as served:
        for _ in range(60):
            served.post(served.message([3]))
    store.close()
    whole = place.read_bytes()
    pages = len(whole) // 1024
    assert pages > 12
    for number in range(1, min(pages, 25)):  # its head is that of a tree; or nothing is there at all
        for damaged in (
            whole[: number * 1024] + os.urandom(64) + whole[number * 1024 + 64 :],
            whole[: number * 1024],
        ):
            place.write_bytes(damaged)
            with pytest.raises(StoreError):
                open_store(str(place)).hold()
    place.write_bytes(whole)
    fine = open_store(str(place))
    fine.hold()
    fine.close()


def test_curate_takes_a_fingerprint(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    store = open_store(place)
    store.add_survey(ages())
    store.close()
    mark = ages().fingerprint
    done = CliRunner().invoke(app, ["curate", place, mark, "--token", "read:alice"])
    assert done.exit_code == 0, done.output
    assert f"alice: read, for {mark} alone" in " ".join(CliRunner().invoke(app, ["curate", place]).output.split())
    other = CliRunner().invoke(app, ["curate", place, "f" * 32, "--upload", "closed"])
    assert (other.exit_code, "f" * 32 in other.output) == (2, True)

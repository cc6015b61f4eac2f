"""Servers and clients over 127.0.0.1: what a person types, and what an attacker tries."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.collector.killing import SURVEY, Nursery, Running, free_port, wait_until_ready
from typer.testing import CliRunner

from confide.cli.main import app
from confide.collector import Client, CollectorError, write_message
from confide.collector.client import Outbox
from confide.collector.wire import LIMITS
from confide.data.files import load_counts
from confide.errors import InvalidParameterError
from confide.surveys.survey import parse_survey

pytestmark = pytest.mark.slow


@pytest.fixture
def running(born: Nursery, tmp_path: Path) -> Iterator[Running]:
    found = Running(born, tmp_path, parse_survey(SURVEY))
    yield found
    born.kill(found.pid)
    found.store.close()


def test_send_pull_and_estimate_as_a_person_types_them(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    Path("values.csv").write_text("age\n" + "3\n7\n" * 700)
    call = CliRunner().invoke
    assert call(app, ["send", "survey.toml", "values.csv", running.address]).exit_code == 0
    assert not list(tmp_path.glob("*.outbox*"))
    refused = call(app, ["pull", running.address, "-o", "counts.parquet"])
    assert (refused.exit_code, "token" in refused.output) == (1, True)
    monkeypatch.setenv("CONFIDE_TOKEN", running.token)
    pulled = call(app, ["pull", running.address, "-o", "counts.parquet"])
    assert pulled.exit_code == 0, pulled.output
    assert load_counts("counts.parquet").total == 1400  # type: ignore[union-attr]
    assert call(app, ["pull", running.address, "--by", "day", "-o", "days.parquet"]).exit_code == 0
    estimated = call(app, ["estimate", "survey.toml", running.address, "--json", "--method", "ibu"])
    assert json.loads(estimated.stdout.splitlines()[0])["reports"] == 1400
    assert call(app, ["diagnose", "survey.toml", "counts.parquet", "--json"]).exit_code == 0
    assert call(app, ["pull", running.address, "--by", "town", "-o", "x.parquet"]).exit_code == 2


def test_curate_makes_revokes_invites_and_closes(running: Running, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    call, survey = CliRunner().invoke, str(tmp_path / "survey.toml")
    made = call(app, ["curate", running.url, "--token", "read:alice"])
    token = next(word for word in made.output.split() if word.startswith("confide-"))
    listed = call(app, ["curate", running.url]).output
    assert "alice: read" in listed
    assert token not in listed
    assert call(app, ["curate", running.url, "--revoke", "alice"]).exit_code == 0
    assert "alice" not in call(app, ["curate", running.url]).output
    codes = tmp_path / "codes.txt"
    invited = ["curate", running.url, survey, "--invite", "3", "-o", str(codes), "--upload", "invited"]
    assert call(app, invited).exit_code == 0
    assert len(codes.read_text().split()) == 3
    assert codes.stat().st_mode & 0o077 == 0
    assert "3 invitations not spent" in call(app, ["curate", running.url]).output
    assert call(app, ["curate", running.url, survey, "--upload", "closed"]).exit_code == 0
    assert "closed" in call(app, ["curate", running.url]).output
    assert call(app, ["curate", running.url, "--upload", "closed"]).exit_code == 2
    assert call(app, ["curate", str(tmp_path / "none.db")]).exit_code == 2


def test_serve_prints_its_token_once_simulates_and_ends_with_all_counted(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "survey.toml").write_text(SURVEY)
    command = [sys.executable, "-m", "confide", "serve", "survey.toml", "--bind", "0", "--simulate", "50"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    clean |= {"NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=clean, **pipes) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "simulated reports counted" in line:
                address = next(one.split()[1] for one in lines if one.startswith("Studio"))
                with urllib.request.urlopen(address, timeout=30) as page:  # noqa: S310 - our own
                    assert b"<title>" in page.read()
                process.send_signal(signal.SIGTERM)
        process.wait(30)
    said = "".join(lines)
    assert len(re.findall("confide-[0-9A-Za-z_-]{43}", said)) == 1
    assert "50 simulated reports counted" in said
    assert "Traceback" not in said
    assert "Ended; all that was accepted is counted." in said
    assert process.returncode == 0
    assert not (tmp_path / "confide.db").exists()


def test_a_second_start_prints_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.collector import serving

    def ready(store: Any, listening: socket.socket, settings: Any, on_ready: Any, guest: Any) -> None:
        del settings, guest
        on_ready()
        listening.close()
        store.close()

    monkeypatch.setattr(serving, "run", ready)
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    said = [CliRunner().invoke(app, ["serve", "survey.toml", "--bind", "0"]).output for _ in range(2)]
    assert [len(re.findall(r"confide-[\w-]{43}", one)) for one in said] == [1, 0], said
    assert all("Devices send to" in one for one in said)


def test_sending_goes_on_where_it_stopped_with_the_same_noise(running: Running, tmp_path: Path) -> None:
    values = tmp_path / "values.csv"
    values.write_text("age\n" + "3\n" * 2500)
    box, _ = Outbox.fill(tmp_path / "box", running.survey, values)
    content = (tmp_path / "box").read_bytes()
    assert (box.messages, (tmp_path / "box").stat().st_mode & 0o077) == (3, 0)

    class Failing(Client):
        def post(self, message: bytes, invitation: str | None = None) -> Any:
            receipt = super().post(message, invitation)
            raise CollectorError(f"The answer was lost: {receipt.accepted}")

    with pytest.raises(CollectorError), Failing(running.address) as failing:
        box.send(failing)
    again = Outbox.open(tmp_path / "box", running.survey)
    assert again is not None
    assert (tmp_path / "box").read_bytes() == content
    with Client(running.address) as sender:
        again.send(sender)
    assert running.store.account(1) == {"": 2500}
    assert not list(tmp_path.glob("box*"))


def test_the_client_obeys_retry_after(running: Running, born: Nursery, tmp_path: Path) -> None:
    folder = tmp_path / "limited"
    folder.mkdir()
    limited = Running(born, folder, running.survey, most_a_second=1)
    sender, start = Client(limited.address), time.monotonic()
    for _ in range(3):
        sender.post(write_message(limited.survey, [3]))
    assert time.monotonic() - start > 0.9
    assert limited.store.account(1) == {"": 3}
    sender.hang_up()
    born.kill(limited.pid)
    limited.store.close()


def test_a_token_goes_nowhere_but_here_or_over_https() -> None:
    for url in ("http://example.org", "http://user:secret@127.0.0.1:1", "http://127.0.0.1:1/?token=x", "ftp://x", "x"):
        with pytest.raises(InvalidParameterError) as error:
            Client(url, "confide-secret")
        assert "confide-secret" not in str(error.value)
    assert "confide-secret" not in repr(Client("https://example.org", "confide-secret"))


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CollectorError, match="no answer"):
        Client(f"http://127.0.0.1:{free_port()}", patience=0.2).survey("f" * 32)


def test_huge_and_slow_headers_are_cut_off(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 500) for n in range(200))
    assert running.send(huge + b"\r\n").startswith(b"HTTP/1.1 431")
    assert running.send(huge).startswith(b"HTTP/1.1 431")  # and before they end
    assert running.send(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 4")
    after = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + huge + b"\r\n"  # and behind a request in the same piece
    found = running.send(after)
    assert found.startswith(b"HTTP/1.1 200")  # each request gets its own answer
    assert found.count(b"HTTP/1.1 431") == 1
    for nonsense in (b"\x16\x03\x01\x00", b"GET\r\n\r\n", b"POST /v1/reports HTTP/1.1\r\nContent-Length: -5\r\n\r\n"):
        assert running.send(nonsense + b"\r\n\r\n").startswith(b"HTTP/1.1 400")
    wait_until_ready(running.port)


def test_headers_that_do_not_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.collector import parse_only

    from confide.collector import serving

    monkeypatch.setattr(serving, "LIMITS", replace(LIMITS, header_seconds=0.2))
    listening = serving.bind("127.0.0.1", 0)
    server = serving.Server(parse_only)  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        for begun in (b"", b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"):
            with socket.create_connection(listening.getsockname(), 5) as connection:
                connection.sendall(begun)
                assert connection.recv(100) == b""
    finally:
        server.should_exit = True
        thread.join(20)
    assert not thread.is_alive()


def test_a_hundred_slow_connections_do_not_stop_others(running: Running) -> None:
    slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(100)]
    for one in slow:
        one.sendall(b"POST /v1/reports HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
    sender = Client(running.address)
    assert sender.post(write_message(running.survey, [3])).accepted == 1
    sender.hang_up()
    for one in slow:
        one.close()


def test_sigterm_does_not_wait_for_a_page(running: Running, born: Nursery) -> None:
    sender = Client(running.address)
    sender.post(write_message(running.survey, [3, 4, 5]))
    sender.hang_up()
    address = f"{running.address}/v1/surveys/{running.survey.fingerprint}/page"
    asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {running.token}"})  # noqa: S310 - our own
    said: list[int] = []

    def read() -> None:
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
                said.append(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                said.append(error.code)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.3)
    born.kill(running.pid, signal.SIGTERM)
    reader.join()
    assert said == [503]
    running.pid = born.start(running.url, running.port)


def test_nothing_is_computed_at_the_end(tmp_path: Path) -> None:
    import asyncio

    from confide.collector.service import Collector, Readings, Refusal
    from confide.collector.stores import open_store

    store = open_store(str(tmp_path / "store.db"))
    store.add_survey(parse_survey(SURVEY), "open")
    collector = Collector(store)
    collector.refresh()
    readings = Readings(collector)
    readings.close()
    (entry,) = collector.entries.values()
    with pytest.raises(Refusal, match="was ended"):
        asyncio.run(readings._compute(entry, "page", {"": 3}))
    store.close()


def test_sigterm_finishes_what_was_accepted(running: Running, born: Nursery) -> None:
    told, stop = [], threading.Event()

    def send() -> None:
        sender = Client(running.address, patience=0.0)
        try:
            while not stop.is_set():
                told.append(sender.post(write_message(running.survey, [3])).accepted)
        except CollectorError:
            pass
        sender.hang_up()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    while len(told) <= 8:
        time.sleep(0.01)
    born.kill(running.pid, signal.SIGTERM)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(told) > 8
    # One that was counted while its answer was on the way may be more.
    assert len(told) <= running.store.account(1)[""] <= len(told) + 8
    assert not Path(running.url + "-wal").exists() or Path(running.url + "-wal").stat().st_size == 0
    running.pid = born.start(running.url, running.port)


def test_nothing_is_logged_of_who_asks(running: Running, capfd: pytest.CaptureFixture[str]) -> None:
    reader = Client(running.address, running.token)
    reader.surveys()
    reader.hang_up()
    running.send(b"GET /v1/surveys HTTP/1.1\r\nAuthorization: Bearer confide-guess\r\n\r\n", 0.5)
    said = capfd.readouterr()
    assert said.out + said.err == ""


def test_patience_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    answers = iter([(CollectorError("busy", 429), 5.0), (CollectorError("busy", 429), None)])
    sender = Client("http://127.0.0.1:1")
    monkeypatch.setattr(sender, "_try", lambda *_: next(answers))
    with pytest.raises(CollectorError):
        sender.ask("GET", "/")
    assert waits == [5.0]

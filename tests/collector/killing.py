"""Servers that are killed while devices send: what was answered is counted, once.

Run as a program it forks a server for each line of its input, so that a kill costs a fork and not an import.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

SURVEY = """
name = "age"
[alphabet]
kind = "integers"
low = 0
high = 9
[mechanism]
kind = "truncated-geometric"
epsilon = 1.0
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL of its own, from a wheel; under root it runs as another user, who must get to its folder."""
    with warnings.catch_warnings(action="ignore"):  # its own, about the folders of this machine
        from pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="confide-pg-")
        server = get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            known: Any = server.get_postmaster_info().process
            known.send_signal(signal.SIGQUIT)  # at once: nobody needs what is in it
            known.wait(20)
            server.cleanup()


@dataclass
class Nursery:
    """A process that forks servers."""

    process: subprocess.Popen[str]
    alive: list[int] = field(default_factory=list)

    def start(self, url: str, port: int, **settings: Any) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([url, port, settings]) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        self.alive.append(pid)
        wait_until_ready(port)
        return pid

    def kill(self, pid: int, how: int = signal.SIGKILL) -> None:
        os.kill(pid, how)
        self.alive.remove(pid)
        with suppress(ProcessLookupError):
            for _ in range(6000):
                os.kill(pid, 0)
                time.sleep(0.005)


@contextmanager
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-m", "tests.collector.killing"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        found = Nursery(process)
        try:
            yield found
        finally:
            for pid in found.alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.stdin.close()  # type: ignore[union-attr]
            process.wait(10)


class Running:
    """A server of one survey, in a process of its own."""

    def __init__(self, born: Nursery, folder: Path, survey: Any, admission: str = "open", **settings: Any) -> None:
        from confide.collector.stores import make_token, open_store

        self.url, self.survey, self.folder = str(folder / "store.db"), survey, folder
        self.store: Any = open_store(self.url)
        self.store.add_survey(survey, admission)
        self.token = make_token(self.store, "administer", "curator")[1]
        self.port = free_port()
        self.pid = born.start(self.url, self.port, **settings)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self) -> None:
        """Wait until the server has looked at its store again."""
        time.sleep(1.3)

    def send(self, content: bytes, seconds: float = 5.0) -> bytes:
        """Send bytes, and return what comes before the connection ends, or nothing more comes."""
        found = b""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as connection:
            try:
                connection.sendall(content)
                while part := connection.recv(65536):
                    found += part
            except OSError:
                pass
        return found


def wait_until_ready(port: int, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.01)
    raise TimeoutError(f"Nothing answers at port {port}.")


class Repeating:
    """A proxy that gives some answers twice: the second time to the request that comes next, which goes nowhere."""

    def __init__(self, to: int, seed: int) -> None:
        self.to, self.repeated, self._choose = to, 0, random.Random(seed)  # noqa: S311
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # or the thread would wait on
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._carry, args=(connection,), daemon=True).start()

    def _carry(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, socket.create_connection(("127.0.0.1", self.to), 20) as server:
            connection.settimeout(60)
            with connection.makefile("rb") as asked, server.makefile("rb") as told:
                answer, repeats = b"", False
                while request := read_http(asked):
                    if not repeats:
                        server.sendall(request)
                        answer = read_http(told)
                    if not answer:
                        return
                    connection.sendall(answer)
                    self.repeated += repeats
                    repeats = not repeats and self._choose.random() < 0.2


def read_http(stream: BinaryIO) -> bytes:
    """Read a whole request or answer; nothing where it breaks off."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return b""
        head += line
    found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    length = int(found[1]) if found else 0
    body = stream.read(length)
    return head + body if len(body) == length else b""


@dataclass
class Devices:
    """Devices that send batches to any of several servers until each is answered, and drop some answers."""

    servers: list[int]
    ports: list[int]
    """Where they are reached: proxies."""
    survey: Any
    seed: int
    truth: Counter[int] = field(default_factory=Counter)
    batches: int = 0
    dropped: int = 0
    failures: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, number: int = 4) -> None:
        self._threads = [threading.Thread(target=self._send, args=(one,), daemon=True) for one in range(number)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        assert not self.failures, self.failures[0]

    def _send(self, number: int) -> None:
        try:
            self._send_until_ended(random.Random(self.seed * 1000 + number))  # noqa: S311
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")

    def _send_until_ended(self, choose: random.Random) -> None:
        from confide.collector.client import Client, CollectorError, write_message

        clients = {port: Client(f"http://127.0.0.1:{port}", patience=0.0) for port in self.ports}
        while not self._ended.is_set():
            reports = [choose.randrange(10) for _ in range(choose.choice([1, 1, 20]))]
            message = write_message(self.survey, reports)
            if choose.random() < 0.2:
                self._drop(choose.choice(self.servers), message)
            while True:
                try:
                    receipt = clients[choose.choice(self.ports)].post(message)
                except CollectorError as error:
                    if error.status not in (0, 429, 503):
                        raise
                    time.sleep(0.01)
                    continue
                break
            assert receipt.accepted == len(reports)
            if choose.random() < 0.2:  # as a proxy that repeats
                with suppress(CollectorError):
                    assert clients[choose.choice(self.ports)].post(message) == receipt
            with self._lock:
                self.truth.update(reports)
                self.batches += 1
        for client in clients.values():
            client.hang_up()

    def _drop(self, port: int, message: bytes) -> None:
        """Send a batch and leave before the answer."""
        headers = f"Host: x\r\nContent-Type: application/json\r\nContent-Length: {len(message)}"
        head = f"POST /v1/reports HTTP/1.1\r\n{headers}\r\n\r\n"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(head.encode() + message)
            self.dropped += 1


def kill_and_count(url: str, kills: int, *, servers: int = 1, seed: int = 1, pause: float = 0.1) -> dict[str, int]:
    """Kill servers while devices send, start them again, and compare the store with what devices were told."""
    from confide.collector.stores import open_store
    from confide.surveys.survey import parse_survey

    survey, choose = parse_survey(SURVEY), random.Random(seed)  # noqa: S311
    store = open_store(url)
    number = store.add_survey(survey).number
    with nursery() as born:
        ports = [free_port() for _ in range(servers)]
        pids = {port: born.start(url, port) for port in ports}
        proxies = [Repeating(port, seed) for port in ports]
        devices = Devices(ports, [proxy.port for proxy in proxies], survey, seed)
        devices.start()
        for _ in range(kills):
            time.sleep(choose.uniform(0.2, 1.0) * pause)
            port = choose.choice(ports)
            born.kill(pids[port])
            pids[port] = born.start(url, port)
        time.sleep(pause)
        devices.finish()
        for proxy in proxies:
            proxy.close()
    counted = {int(row.report): row.number for row in store.balance(number)[0]}
    with store.reading() as connection:
        marks = store.run(connection, "SELECT COUNT(*) FROM batches")[0][0]
    accepted = store.account(number).get("", 0)
    store.close()
    lost = sum(max(0, devices.truth[one] - counted.get(one, 0)) for one in range(10))
    doubled = sum(max(0, counted.get(one, 0) - devices.truth[one]) for one in range(10))
    off = abs(marks - devices.batches) + abs(accepted - devices.truth.total())
    return {
        "kills": kills, "batches": devices.batches, "reports": devices.truth.total(), "dropped": devices.dropped,
        "repeated": sum(proxy.repeated for proxy in proxies), "lost": lost, "doubled": doubled, "off": off,
    }  # fmt: skip


def main() -> None:
    from confide.collector.service import Settings
    from confide.collector.serving import bind, run

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        url, port, settings = json.loads(line)
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run(url, bind("127.0.0.1", port), Settings(**settings))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()

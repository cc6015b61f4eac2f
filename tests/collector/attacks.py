"""Attacks on a served collector, one kind at a time, while one honest client sends.

Run as a program it attacks, in a process of its own: its work must not slow down the client that is timed.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.collector.killing import read_http

MANY = 4 * 2**20
HEAD = "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"


def post(body: bytes, more: str = "", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"POST /v1/reports HTTP/1.1\r\n{HEAD}{more}Content-Length: {size}\r\n\r\n".encode() + body


def packed(body: bytes) -> bytes:
    return post(gzip.compress(body, 9), "Content-Encoding: gzip\r\n")


def message(survey: str, reports: bytes, batch: bytes = b"") -> bytes:
    batch, day = batch or secrets.token_hex(16).encode(), datetime.now(UTC).date().isoformat().encode()
    return b'{"survey":"%b","batch":"%b","day":"%b","reports":[%b]}' % (survey.encode(), batch, day, reports)


def filled(survey: str, part: bytes) -> bytes:
    """A message as long as one may be, whose reports are all the same."""
    return message(survey, b",".join([part] * ((MANY - 200) // (len(part) + 1))))


def listed(survey: str, spell: Callable[[int], str], number: int = 10_000) -> bytes:
    return message(survey, ",".join(map(spell, range(number))).encode())


@dataclass(frozen=True)
class Attack:
    """What each connection sends, and whether it reads the answer and begins again, or stays and drips."""

    sent: Callable[[str], bytes]
    drip: bytes = b""
    reads: bool = True
    again: bool = True


def get(path: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode()


ATTACKS = {
    # Memory: what is small on the way and large when it is unpacked and parsed.
    "lists": Attack(lambda survey: packed(filled(survey, b"[]"))),
    "objects": Attack(lambda survey: packed(filled(survey, b'{"":0}'))),
    "numbers": Attack(lambda survey: packed(filled(survey, b"3"))),
    "bodies": Attack(lambda survey: post(filled(survey, b"[]")[:-1], length=MANY - 200), again=False),
    "spellings": Attack(lambda survey: packed(listed(survey, lambda one: f'"{" " * (one // 10)}{one % 10}"', 8_000))),
    "unread": Attack(lambda survey: packed(listed(survey, lambda one: str(70 + one))), reads=False),
    # Work: what is cheap to send and dear to refuse.
    "text": Attack(lambda _: packed(b'{"survey":"%b"}' % (b"\x7f" * (MANY - 50)))),
    "batch": Attack(lambda survey: packed(message(survey, b"3", b"\x7f" * (MANY - 200)))),
    "digits": Attack(lambda survey: packed(message(survey, b'"%b"' % (b"9" * (MANY - 200))))),
    "strange": Attack(lambda survey: packed(listed(survey, lambda one: f'"x{one}"'))),
    "few": Attack(lambda survey: post(listed(survey, lambda one: f'"x{one}"', 400))),
    "unknown": Attack(lambda _: post(message("f" * 32, b"3"))),
    "broken": Attack(lambda survey: packed(message(survey, b"[" * (MANY - 200)))),
    "nonsense": Attack(lambda _: b"\x16\x03\x01\x00\r\n\r\n"),
    # Connections: what is held at no cost.
    "lines": Attack(lambda _: get("/healthz"), drip=b"\r\n", again=False),
    "stray": Attack(lambda _: get("/healthz", "Content-Length: 90\r\n"), drip=b"x", again=False),
    "chunked": Attack(lambda _: get("/healthz", "Transfer-Encoding: chunked\r\n"), drip=b"1\r\nx\r\n", again=False),
    "headers": Attack(lambda _: get("/healthz")[:-2], drip=b"X: 1\r\n", again=False),
    "pipelined": Attack(lambda _: get("/metrics") * 10_000, reads=False, again=False),
    "slow": Attack(lambda survey: post(message(survey, b"3")[:-9]), drip=b" ", again=False),
}  # fmt: skip


async def _read(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head)
    await reader.readexactly(int(found[1]) if found else 0)


async def _attack(port: int, attack: Attack, content: bytes) -> None:
    """Attack by one connection; whenever it is closed, by another."""
    while True:
        with suppress(OSError, EOFError, asyncio.LimitOverrunError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                while True:
                    writer.write(content)
                    if attack.reads and attack.drip != b" " and (attack.again or attack.drip[:2] != b"X:"):
                        await _read(reader)
                    while not attack.again:
                        await asyncio.sleep(0.5)
                        writer.write(attack.drip)
                        await writer.drain()
                    if not attack.reads:
                        await asyncio.sleep(3600)
            finally:
                writer.close()
        await asyncio.sleep(0.05)


async def attack_with(kind: str, port: int, survey: str, connections: int) -> None:
    attack = ATTACKS[kind]
    content = attack.sent(survey)
    print("ready", flush=True)
    await asyncio.gather(*(_attack(port, attack, content) for _ in range(connections)))


@contextmanager
def attacking(kind: str, port: int, survey: str, connections: int) -> Iterator[None]:
    """Attack, from another process."""
    command = [sys.executable, "-m", "tests.collector.attacks", kind, str(port), survey, str(connections)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


@dataclass
class Honest:
    """A client that sends a batch as soon as the last one was answered."""

    port: int
    survey: Any
    size: int = 1
    accepted: int = 0

    def send(self, seconds: float) -> list[float]:
        """Send for a while, and return how long each batch took until it was counted."""
        from confide.collector.client import Client, write_message

        taken, end = [], time.monotonic() + seconds
        with Client(f"http://127.0.0.1:{self.port}") as client:
            while time.monotonic() < end:
                body = write_message(self.survey, [one % 10 for one in range(self.size)])
                start = time.monotonic()
                self.accepted += client.post(body).accepted
                taken.append(time.monotonic() - start)
        return taken


def memory(pid: int, *, is_new: bool = False) -> float:
    """Return the most memory that a process had, in megabytes, since this was asked with `is_new`."""
    if is_new:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


@dataclass(frozen=True)
class Outcome:
    """What an attack did: the most memory, the honest median beside the quiet one, and how many were answered."""

    kind: str
    megabytes: float
    quiet: float
    median: float
    worst: float
    answered: int


def endure(kind: str, port: int, pid: int, honest: Honest, connections: int = 200, seconds: float = 6.0) -> Outcome:
    """Attack a server while an honest client sends."""
    quiet = statistics.median(honest.send(seconds / 3))
    memory(pid, is_new=True)
    with attacking(kind, port, honest.survey.fingerprint, connections):
        time.sleep(0.5)
        taken = honest.send(seconds)
    return Outcome(kind, memory(pid), quiet, statistics.median(taken), max(taken), len(taken))


def ask(port: int, content: bytes) -> bytes:
    """Send bytes, and return one whole answer."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection, connection.makefile("rb") as stream:
        connection.sendall(content)
        return read_http(stream)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(attack_with(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))

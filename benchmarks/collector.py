"""A collector's throughput, kills, memory and fuzz, beside their bars; the client runs on the same cores.

Each part alone, or several; all of them if none is named:

  python -m benchmarks.collector throughput --rounds 3   SQLite, PostgreSQL and an endpoint that only parses, in turn
  python -m benchmarks.collector kills --kills 100       so many kill -9 on SQLite, and as many on PostgreSQL
  python -m benchmarks.collector memory                  of the server, over ten million reports
  python -m benchmarks.collector fuzz                    10,000 requests that nobody should send
  python -m benchmarks.collector attacks                 200 hostile connections of each kind beside an honest client
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from tests.collector.killing import free_port, kill_and_count, postgres, wait_until_ready

from benchmarks.timing import machine, print_table
from confide.collector.http import JSON
from confide.collector.stores import open_store
from confide.surveys.survey import Survey, parse_survey

SURVEY = """
name = "age"
[alphabet]
kind = "integers"
low = 0
high = 99
[mechanism]
kind = "truncated-geometric"
epsilon = 0.05
"""

PARTS = ["throughput", "kills", "memory", "fuzz", "attacks"]

BATCHES = {1000: (6_000, 128), 1: (20_000, 256)}
"""For each number of reports in a batch: how many batches, over how many connections."""


ANSWER = b'{"survey":"%b","batch":"%b","accepted":1000,"rejected":[]}' % (b"0" * 32, b"0" * 32)


async def parse_only(scope: Any, receive: Any, send: Any) -> None:
    """Parse a message and answer as the collector does: what any endpoint on this server costs at least."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["path"] == "/v1/reports":
        orjson.loads((await receive())["body"])
    headers = [*JSON, (b"content-length", b"%d" % len(ANSWER))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


def serve(kind: str, port: int) -> None:
    """Serve a store, or merely parse."""
    from confide.collector.serving import Server, bind, run

    listening = bind("127.0.0.1", port)
    if kind == "parse":
        Server(parse_only).run(sockets=[listening])  # type: ignore[arg-type]
    else:
        run(kind, listening)


class Sender(asyncio.Protocol):
    """A connection that sends a batch as soon as the last one was answered."""

    def __init__(self, survey: str, reports: bytes, batches: int, done: asyncio.Future[None]) -> None:
        self.left, self.done, self.answered = batches, done, b""
        self.start = b'{"survey":"%b","day":"%b","reports":%b,"batch":"' % (
            survey.encode(),
            datetime.now(UTC).date().isoformat().encode(),
            reports,
        )
        length = len(self.start) + 34
        head = "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        self.start = f"{head}{length}\r\n\r\n".encode() + self.start

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._next()

    def _next(self) -> None:
        self.transport.write(self.start + os.urandom(16).hex().encode() + b'"}')

    def data_received(self, data: bytes) -> None:
        self.answered += data
        if not self.answered.endswith(b"}"):
            return
        assert self.answered.startswith(b"HTTP/1.1 200"), self.answered
        self.answered = b""
        self.left -= 1
        if self.left:
            self._next()
        else:
            self.done.set_result(None)
            self.transport.close()


async def send_all(port: int, survey: Survey, size: int, batches: int, connections: int) -> float:
    """Return how many batches a second were answered."""
    loop = asyncio.get_running_loop()
    reports = orjson.dumps(survey.privatize([one % 100 for one in range(size)]).tolist())
    start, waiting = time.perf_counter(), []
    for _ in range(connections):
        done = loop.create_future()
        waiting.append(done)
        make = lambda done=done: Sender(survey.fingerprint, reports, batches // connections, done)  # noqa: E731
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*waiting)
    return batches // connections * connections / (time.perf_counter() - start)


@contextmanager
def served(kind: str) -> Iterator[tuple[int, int]]:
    """Serve in another process, and return the port and the process."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.collector", "--serve", kind, "--port", str(port)]
    with subprocess.Popen(command) as process:  # noqa: S603
        wait_until_ready(port)
        try:
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def run_client(port: int, survey: Survey, size: int, batches: int, connections: int) -> float:
    import uvloop

    return uvloop.run(send_all(port, survey, size, batches, connections))


def measure_throughput(rounds: int = 3) -> None:
    survey = parse_survey(SURVEY)
    rates: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder, postgres() as database:
        stores = {"parse only": "parse", "SQLite": str(Path(folder) / "store.db"), "PostgreSQL": database}
        for url in list(stores.values())[1:]:
            open_store(url).add_survey(survey)
        for _ in range(rounds):  # in turn, so that whatever else the machine does falls on all
            for name, kind in stores.items():
                with served(kind) as (port, _):
                    for size, (batches, connections) in BATCHES.items():
                        found = run_client(port, survey, size, batches, connections)
                        rates[name, size] = max(rates.get((name, size), 0.0), found)
    rows = []
    bars = {("SQLite", 1000): 3000, ("SQLite", 1): 6000, ("PostgreSQL", 1000): 1000, ("PostgreSQL", 1): 2000}
    for (name, size), rate in rates.items():
        bar = bars.get((name, size))
        share = rate / rates["parse only", size]
        told = [f"{size:,}", f"{rate:,.0f}", f"{rate * size:,.0f}", f"{bar:,}" if bar else "-", f"{share:.2f}"]
        rows.append([name, *told])
    header = ["endpoint", "reports a batch", "batches/s", "reports/s", "bar (batches/s)", "of parse only (bar 0.4)"]
    print_table("Throughput, the best of several rounds", header, rows)


def measure_kills(kills: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder, postgres() as database:
        for name, url, servers in (("SQLite", str(Path(folder) / "kills.db"), 1), ("PostgreSQL", database, 2)):
            found = kill_and_count(url, kills, servers=servers)
            rows.append([name, str(servers), *(f"{number:,}" for number in found.values())])
    heads = [
        "store",
        "processes",
        "kills",
        "batches",
        "reports",
        "dropped",
        "repeated",
        "lost (0)",
        "doubled (0)",
        "off (0)",
    ]
    print_table("kill -9 while devices send, retry, leave before the answer and get answers of others", heads, rows)


def measure_memory(reports: int = 10_000_000) -> None:
    survey = parse_survey(SURVEY)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "store.db")
        open_store(url).add_survey(survey)
        with served(url) as (port, pid):
            for part in range(5):
                run_client(port, survey, 1000, reports // 5000, 64)
                status = Path(f"/proc/{pid}/status").read_text()
                resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
                rows.append([f"{(part + 1) * reports // 5:,}", f"{int(resident) / 1024:.0f} MB"])
    print_table("Memory of the server", ["reports", "memory"], rows)


def measure_fuzz(requests: int = 10_000) -> None:
    from tests.collector.asking import serving
    from tests.collector.test_fuzz import fuzz

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "store.db"))
        with serving(store) as asked:
            found = fuzz(asked, requests)
        store.close()
    rows = [[str(status), f"{number:,}"] for status, number in sorted(found.items())]
    print_table("Fuzzed requests; bar: no 5xx", ["status", "requests"], rows)


def measure_attacks(connections: int = 200) -> None:
    from tests.collector.attacks import ATTACKS, Honest, endure

    survey, rows = parse_survey(SURVEY), []
    for kind in ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            url = str(Path(folder) / "store.db")
            store = open_store(url)
            store.add_survey(survey)
            with served(url) as (port, pid):
                honest = Honest(port, survey)
                found = endure(kind, port, pid, honest, connections)
            lost = max(0, honest.accepted - store.account(1)[""])
            store.close()
        times = [f"{1000 * found.quiet:.1f} ms", f"{1000 * found.median:.1f} ms", f"{found.median / found.quiet:.1f}"]
        rows.append([kind, f"{found.megabytes:.0f} MB", *times, f"{found.answered:,}", str(lost)])
    header = ["attack", "most memory (300)", "quiet median", "median", "ratio (5)", "honest batches", "lost (0)"]
    print_table(f"{connections} hostile connections of each kind, and an honest client", header, rows)


def main() -> None:
    usage = "python -m benchmarks.collector [PART...] [--kills N] [--rounds N]"
    parser = argparse.ArgumentParser(usage=usage, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} [all]")
    parser.add_argument("--kills", type=int, default=100, help="for each store [100]")
    parser.add_argument("--rounds", type=int, default=3, help="of throughput, of which the best counts [3]")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    strange = [part for part in asked.parts if part not in PARTS]
    if strange:
        parser.error(f"PART is one of {', '.join(PARTS)}; got {strange[0]!r}")
    if asked.serve:
        serve(asked.serve, asked.port)
        return
    print(machine())
    parts = asked.parts or PARTS
    if "throughput" in parts:
        measure_throughput(asked.rounds)
    if "kills" in parts:
        measure_kills(asked.kills)
    if "memory" in parts:
        measure_memory()
    if "fuzz" in parts:
        measure_fuzz()
    if "attacks" in parts:
        measure_attacks()


if __name__ == "__main__":
    main()

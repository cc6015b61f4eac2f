"""A studio in a process of its own, on a store of its own, and how to ask it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.collector.asking import Reply

PATIENCE = float(os.environ.get("CONFIDE_PATIENCE", "300"))
"""Seconds that anything may take, also where many processes share one core: what never comes fails after them."""


@dataclass
class RunningStudio:
    """A studio that runs: its process, where it is, its token, and its store.

    `address` is what a person opens, with the token behind the #.
    """

    process: subprocess.Popen[str]
    url: str
    token: str
    store: Path

    @property
    def address(self) -> str:
        return f"{self.url}/studio#token={self.token}"

    def ask(
        self, path: str, body: Any = None, *, who: str | None = "own", method: str | None = None, **headers: str
    ) -> Reply:
        """Ask, as the page does; `who=None` without one, bytes as they are, anything else as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            sent["Authorization"] = f"Bearer {self.token if who == 'own' else who}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data, sent, method=method)  # noqa: S310 - our own
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
                return Reply(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, dict(error.headers), error.read())

    def follow(self, job: str, who: str | None = "own") -> dict[str, Any]:
        """Return how a job ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found: dict[str, Any] = self.ask(f"/studio/v1/jobs/{job}", who=who).json
            if found["state"] not in ("waiting", "running"):
                return found
            time.sleep(0.02)
        raise TimeoutError(job)

    def work(self, work: dict[str, Any]) -> Any:
        """Return the answer of a job."""
        begun = self.ask("/studio/v1/jobs", work)
        assert begun.status == 202, begun.body
        found = self.follow(begun.json["job"])
        assert found["state"] == "done", found
        return found["answer"]

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it, and return with which code it ended."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@contextmanager
def running_studio(store: Path, *arguments: str) -> Iterator[RunningStudio]:
    """Run `confide studio` until the block ends."""
    command = [sys.executable, "-m", "confide", "studio", "--no-browser", "--bind", "0", "--store", str(store)]
    with store.with_suffix(".log").open("w") as log:  # whatever goes wrong there: nothing may be written
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=dict(os.environ),
            cwd=store.parent,
        )
    assert process.stdout is not None
    found = re.fullmatch(r"(http://.*)/studio#token=(\S+)\n", process.stdout.readline())
    assert found, store.with_suffix(".log").read_text()
    studio = RunningStudio(process, found[1], found[2], store)
    try:
        yield studio
    finally:
        studio.end()

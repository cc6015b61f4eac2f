"""The command `confide studio`: where it listens, how the browser gets the token; and what holds without a server."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import Served, ages

from confide.cli import studio as command
from confide.collector.http import Application
from confide.collector.service import Collector, Refusal
from confide.collector.serving import bind
from confide.collector.stores import StoreError, make_token, open_store
from confide.studio import serving
from confide.studio.serving import MOST_KEPT, Job, Jobs


def test_the_next_free_port_is_taken_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(command, "PORT", port)
        with command._listen("127.0.0.1", None) as found:
            assert found.getsockname()[1] != port
        with pytest.raises(StoreError, match="--bind"):
            command._listen("127.0.0.1", port)
    with bind("127.0.0.1", 0) as other:
        assert other.getsockname()[1]


def test_the_browser_gets_the_token_by_a_file_of_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, int]] = []

    def browse(url: str) -> bool:
        path = Path(url.removeprefix("file://"))
        seen.append((url, path.read_text(encoding="utf-8"), stat.S_IMODE(path.stat().st_mode)))
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    with command._opened("http://127.0.0.1:8000/studio#token=confide-secret&x"):
        pass
    ((url, text, mode),) = seen
    assert "secret" not in url
    assert "http://127.0.0.1:8000/studio#token=confide-secret&amp;x" in text
    assert mode == 0o600
    assert not Path(url.removeprefix("file://")).exists()


@contextmanager
def served(folder: Path) -> Iterator[tuple[Served, serving.Studio]]:
    """A collector with a studio beside it, in this process, of which no worker is asked for."""
    store, loop = open_store(str(folder / "store.db")), asyncio.new_event_loop()
    collector = Collector(store)
    studio = serving.Studio(collector)
    survey = ages()
    store.add_survey(survey)
    tokens = {role: make_token(store, role)[1] for role in ("read", "administer")}
    collector.refresh()
    yield Served(store, survey, Application(collector, guest=studio), loop, tokens=tokens), studio
    studio.close()
    loop.close()
    store.close()


def test_a_draft_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_kind: str, _asked: Any, tell: Any) -> bytes:
        tell(0, 0, "")
        await asyncio.sleep(60)
        return b""

    async def late(_kind: str, _asked: Any, tell: Any) -> bytes:
        await asyncio.sleep(0.1)
        tell(0, 0, "")
        return b"7"

    monkeypatch.setattr(serving, "PREVIEW_SECONDS", 0.01)
    with served(tmp_path) as (app, studio):
        monkeypatch.setattr(studio.crews["preview"], "do", never)
        sent = {"authorization": f"Bearer {app.tokens['administer']}", "content_type": "application/json"}
        refused = app.ask("POST", "/studio/v1/preview", b"{}", **sent)
        assert (refused.status, refused.code) == (422, "slow")
        assert studio._previews == 0
        monkeypatch.setattr(studio.crews["preview"], "do", late)  # a process that takes long to start is not the draft
        assert app.ask("POST", "/studio/v1/preview", b"{}", **sent).status == 200
        studio._previews = 8
        assert app.ask("POST", "/studio/v1/preview", b"{}", **sent).code == "busy"


def test_a_collector_whose_studio_nobody_opens_starts_no_process(tmp_path: Path) -> None:
    with served(tmp_path) as (app, studio):
        app.loop.run_until_complete(_started(studio))
        assert app.ask("GET", "/studio/v1/start", authorization=f"Bearer {app.tokens['read']}").status == 200
        assert [crew.processes for crew in studio.crews.values()] == [[], [], [], []]


async def _started(studio: serving.Studio) -> None:
    studio.start()


def test_jobs_are_forgotten_and_answers_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 10_000_000, 1000))
    monkeypatch.setattr("confide.studio.serving.time.monotonic", lambda: float(next(times)) + 1)

    async def answered(job: Job) -> bytes:
        job.begin()
        job.tell(1, 2, "half", b"[1]")
        assert b'"partial":[1]' in job.record
        return b"7"

    async def run() -> None:
        jobs = Jobs()
        job = jobs.add(Job("read", ""), "key", answered)
        await asyncio.gather(*filter(None, [job.task]))
        assert job.record == b'{"state":"done","done":1,"of":2,"words":"half","answer":7}'
        assert jobs.kept("key") == b"7"
        with pytest.raises(Refusal, match="no longer"):
            jobs.get(job.number)
        for number in range(MOST_KEPT):
            jobs.keep(f"{number}", b"")
        assert jobs.kept("key") is None

    asyncio.run(run())


def test_a_failure_tells_its_kind_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(job: Job) -> bytes:
        raise ValueError(f"somebody's secret {job.number}")

    async def run() -> bytes:
        job = Jobs().add(Job("read", ""), None, failing)
        await asyncio.gather(*filter(None, [job.task]))
        return job.record

    record = asyncio.run(run())
    assert b'"state":"failed"' in record
    assert b"ValueError" in record
    assert b"secret" not in record
    assert not caplog.records


def test_tokens_of_studios_that_were_killed_go_and_those_of_people_stay(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    killed, _ = command._make_token(store, is_alone=True)
    for name in ("studio-reader", "studio-1-beef"):
        make_token(store, "read", name)
    own, _ = command._make_token(store, is_alone=True)
    assert {one.name for one in store.tokens()} == {own, "studio-reader", "studio-1-beef"}
    assert own != killed
    store.close()

"""Jobs of the studio: progress, stopping, processes that are killed, and what is left when the server ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.studio.running import PATIENCE, RunningStudio, running_studio
from tests.studio.test_serving import AGES, simulated

from confide.collector.stores import open_store

LONG: dict[str, Any] = {
    "survey": {
        "name": "age",
        "title": "How old are you?",
        "alphabet": {"kind": "integers", "low": 0, "high": 1999},
    },
    "epsilon": 0.05,
    "people": 1_000_000,
    "guess": "spiky",
}
"""A draft whose plan takes minutes."""

needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are listed by /proc alone")


def below(pid: int) -> set[int]:
    """All processes that a process has started, and those that they have."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        number, rest = int(text.split(" ", 1)[0]), text.rpartition(")")[2].split()
        if rest[0] != "Z":
            parents[number] = int(rest[1])
    found: set[int] = set()
    while True:
        more = {one for one, parent in parents.items() if parent == pid or parent in found} - found
        if not more:
            return found
        found |= more


def workers(studio: RunningStudio) -> set[int]:
    """The processes that compute: copies of one that the server has started."""
    return {worker for one in below(studio.process.pid) for worker in below(one)}


def wait_for(is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def state_of(studio: RunningStudio, job: str) -> str:
    return str(studio.ask(f"/studio/v1/jobs/{job}").json["state"])


def begin(studio: RunningStudio, work: dict[str, Any]) -> str:
    begun = studio.ask("/studio/v1/jobs", work)
    assert begun.status == 202, begun.body
    return str(begun.json["job"])


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@needs_proc
@pytest.mark.slow
def test_stopping_a_job_ends_its_process_and_others_go_on(studio: RunningStudio) -> None:
    job = begin(studio, {"kind": "plan", "draft": LONG, "solve": "error", "target": {}})
    wait_for(lambda: studio.ask(f"/studio/v1/jobs/{job}").json["words"])
    known = workers(studio)
    # What a slider asks for does not wait behind it.
    assert studio.ask("/studio/v1/preview", {"draft": AGES, "value": 3}).status == 200
    assert studio.work({"kind": "expect", "draft": AGES | {"people": 5000}, "seed": 1})["emd"]["value"] > 0
    waiting = begin(studio, {"kind": "plan", "draft": LONG | {"epsilon": 0.06}, "solve": "error", "target": {}})
    assert state_of(studio, waiting) == "waiting"
    assert studio.ask(f"/studio/v1/jobs/{waiting}/stop", {}).status == 200
    assert state_of(studio, waiting) == "stopped"
    assert studio.ask(f"/studio/v1/jobs/{job}/stop", {}).status == 200
    assert state_of(studio, job) == "stopped"
    wait_for(lambda: any(map(is_gone, known)))
    categories = {"kind": "categories", "values": ["yes", "no"]}
    small = AGES | {"survey": AGES["survey"] | {"alphabet": categories}, "guess": "peaked", "epsilon": 1.0}
    assert studio.work({"kind": "plan", "draft": small, "solve": "error", "target": {}})["is_reached"]


@needs_proc
@pytest.mark.slow
def test_a_process_that_is_killed_is_told_and_replaced(studio: RunningStudio) -> None:
    job = begin(studio, {"kind": "plan", "draft": LONG | {"epsilon": 0.07}, "solve": "error", "target": {}})
    wait_for(lambda: studio.ask(f"/studio/v1/jobs/{job}").json["words"])
    for worker in workers(studio):  # those that are idle too
        os.kill(worker, signal.SIGKILL)
    found = studio.follow(job)
    assert (found["state"], found["error"]["code"]) == ("failed", "ended")
    assert "Ask again" in found["error"]["message"]
    answers = [studio.ask("/studio/v1/preview", {"draft": AGES, "value": place}).status for place in range(3)]
    assert answers[-1] == 200
    assert set(answers) <= {200, 503}


@needs_proc
def test_an_answer_is_kept_until_reports_come(studio: RunningStudio) -> None:
    look = {"kind": "look", "survey": simulated(studio), "queries": ["age >= 65"], "methods": []}
    wait_for(lambda: studio.ask(f"/studio/v1/watch/{simulated(studio)}").json["accepted"] >= 10_000)
    first = studio.work(look)
    computing = workers(studio)
    try:
        for process in computing:  # nobody computes, and yet there is an answer
            os.kill(process, signal.SIGSTOP)
        assert studio.work(look) == first
    finally:
        for process in computing:
            os.kill(process, signal.SIGCONT)
    studio.work({"kind": "simulate", "survey": simulated(studio), "people": 200})
    later = studio.work(look)
    assert later["version"] == first["version"] + 400
    assert later["accepted"] == first["accepted"] + 200
    assert later["queries"] != first["queries"]
    # Each part of what was asked has an answer of its own.
    other = studio.work(look | {"queries": ["age >= 30"]})
    assert [one["query"] for one in other["queries"]] == ["age >= 30"]
    assert len(studio.work(look | {"queries": []})["queries"]) == 0
    assert studio.work(look | {"methods": ["inversion-project"]}) != later


def test_too_many_jobs_are_refused(studio: RunningStudio) -> None:
    jobs: list[str] = []
    refused = None
    for number in range(40):
        plan = {"kind": "plan", "draft": LONG | {"people": 10_000 + number}, "solve": "error", "target": {}}
        begun = studio.ask("/studio/v1/jobs", plan)
        if begun.status != 202:
            refused = begun
            break
        jobs.append(begun.json["job"])
    for job in reversed(jobs):
        studio.ask(f"/studio/v1/jobs/{job}/stop", {})
    assert refused is not None
    assert (refused.status, refused.code) == (429, "busy")
    assert "retry-after" in refused.headers
    assert studio.work({"kind": "expect", "draft": AGES | {"people": 3000}, "seed": 2})["truth"]


@needs_proc
@pytest.mark.slow
def test_one_studio_a_file_and_nothing_is_left_when_it_ends(own_store: Path) -> None:
    with running_studio(own_store) as first:
        command = [sys.executable, "-m", "confide", "studio", "--no-browser", "--store", str(own_store)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert second.returncode == 2
        assert "--store other.db" in second.stderr
        _end_at_work(first, signal.SIGKILL)
    # The token of a studio that was killed goes with the next one; the survey of ages is there already.
    with running_studio(own_store) as again:
        assert len(_tokens(own_store)) == 1
        assert len(again.ask("/studio/v1/start").json["surveys"]) == 1
        assert again.ask("/studio/v1/start", who=first.token).code == "bad-token"
        assert _end_at_work(again, signal.SIGINT) == 0
    assert _tokens(own_store) == []


def _end_at_work(studio: RunningStudio, how: signal.Signals) -> int:
    """End a server while a job runs, and wait until all processes that it has started are gone."""
    grid = {"kind": "grid", "rows": 20, "columns": 14, "spacing": 0.5, "unit": "km"}
    draft = AGES | {"survey": AGES["survey"] | {"alphabet": grid}, "epsilon": 1.0, "guess": "manhattan"}
    begun = time.monotonic()
    job = begin(studio, {"kind": "expect", "draft": draft, "seed": 0})
    wait_for(lambda: "partial" in studio.ask(f"/studio/v1/jobs/{job}").json)  # windows take seven seconds more
    started = below(studio.process.pid)
    assert started
    code = studio.end(how)
    ended = time.monotonic()
    wait_for(lambda: all(map(is_gone, started)))
    # In the middle of it, not when it is done: windows take longer than all before them.
    assert time.monotonic() - ended < max(4, ended - begun)
    return code


def _tokens(store: Path) -> list[str]:
    opened = open_store(str(store))
    names = [one.name for one in opened.tokens()]
    opened.close()
    return names

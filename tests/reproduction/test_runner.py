"""Runs: the same bytes whatever the order, the number of processes and the interruptions."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import confide as cf
from reproduction import (
    Binomial,
    Bundled,
    Comparison,
    Contender,
    Experiment,
    Folder,
    Run,
    Table,
    Watcher,
    cross,
    levels,
    reproduce,
)

pytestmark = pytest.mark.slow

EXPERIMENT = Comparison(
    name="small",
    title="A small experiment",
    settings=cross(
        (Binomial(12, 0.4, people=5000), Bundled("adult_ages", 2000)), levels("truncated-geometric", 0.1, 0.5)
    ),
    contenders=tuple(map(Contender, (cf.IBU(delta=1e-4), cf.Inversion("normalize"), cf.MLE()))),
    repeats=6,
    keeps_shares=True,
    is_timed=True,
)
SCRIPT = """
import sys
from reproduction import reproduce
from tests.reproduction.test_runner import EXPERIMENT
if __name__ == "__main__":
    reproduce([EXPERIMENT], sys.argv[1], jobs=1)
"""
ROOT = Path(__file__).parent.parent.parent


class Notes(Watcher):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int, int]] = []
        self.cells = 0
        self.runs: list[Run] = []

    def begin(self, experiment: Experiment, done: int, total: int, stale: int) -> None:  # noqa: ARG002
        self.begun.append((done, total, stale))

    def advance(self, experiment: Experiment, cells: int) -> None:  # noqa: ARG002
        self.cells += cells

    def end(self, experiment: Experiment, run: Run) -> None:  # noqa: ARG002
        self.runs.append(run)


def table_bytes(folder: Path) -> dict[str, bytes]:
    """Return every table but the one of times, which cannot be the same twice."""
    return {path.name: path.read_bytes() for path in sorted((folder / "tables").iterdir()) if "times" not in path.name}


def run_until_killed(folder: Path) -> int:
    """Run in a process of its own, kill it when a few cells are on disk, and return how many there were."""
    cells = folder / "cells" / "small.jsonl"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], cwd=ROOT)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (cells.exists() and cells.read_bytes().count(b"\n") >= 6):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return cells.read_bytes().count(b"\n")


def test_killing_resuming_and_the_number_of_jobs_change_no_byte(tmp_path: Path) -> None:
    total = len(EXPERIMENT.settings) * len(EXPERIMENT.contenders) * EXPERIMENT.repeats
    reproduce([EXPERIMENT], tmp_path / "two", jobs=2)
    finished = run_until_killed(tmp_path / "killed")
    notes = Notes()
    reproduce([EXPERIMENT], tmp_path / "killed", jobs=1, watcher=notes)
    assert 0 < finished < total, "the run ended before it was killed; make it longer"
    assert notes.begun == [(finished, total, 0)]
    assert notes.cells == total - finished
    tables = table_bytes(tmp_path / "two")
    assert set(tables) == {"small.csv", "small.parquet", "small-shares.csv", "small-shares.parquet"}
    assert table_bytes(tmp_path / "killed") == tables
    _assert_paired_and_ordered(Folder(tmp_path / "two").read_tables(EXPERIMENT)["results"])


def _assert_paired_and_ordered(results: Table) -> None:
    """Check that methods share their reports, and that rows stand in the declared order."""
    repeats, settings = EXPERIMENT.repeats, len(EXPERIMENT.settings)
    assert results.column("method") == ["IBU", "INV-N", "MLE"] * repeats * settings
    assert results.column("repeat") == [repeat for repeat in range(repeats) for _ in range(3)] * settings
    assert results.column("epsilon") == ([0.1] * 3 * repeats + [0.5] * 3 * repeats) * 2
    assert len(results.distinct("seed")) == repeats * settings


def test_only_what_changed_is_run_again(tmp_path: Path) -> None:
    small = replace(EXPERIMENT, settings=EXPERIMENT.settings[:1], keeps_shares=False)
    notes = Notes()
    reproduce([small], tmp_path, repeats=2, jobs=1, watcher=notes)
    more = replace(small, contenders=(*small.contenders, Contender(cf.IBU(delta=1.0))))
    reproduce([more], tmp_path, repeats=3, jobs=1, watcher=notes)
    other = replace(small, contenders=(Contender(cf.IBU(delta=0.5)), *small.contenders[1:]))
    reproduce([other], tmp_path, repeats=2, jobs=1, watcher=notes)
    reproduce([other], tmp_path, repeats=2, jobs=1, watcher=notes)
    # Two IBU of former declarations no longer fit, over three repeats each; nothing is run in the end.
    assert notes.begun == [(0, 6, 0), (6, 12, 0), (4, 6, 6), (6, 6, 6)]
    assert [run.fresh for run in notes.runs] == [6, 6, 2, 0]


def test_bad_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cf.ConfideError, match="repeats must be"):
        reproduce([EXPERIMENT], tmp_path, repeats=0)
    with pytest.raises(cf.ConfideError, match="jobs must be"):
        reproduce([EXPERIMENT], tmp_path, jobs=0)


def test_two_experiments_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cf.ConfideError, match="a name of its own"):
        reproduce([EXPERIMENT, EXPERIMENT], tmp_path)


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(cf.ConfideError, match="cannot be a folder"):
        reproduce([EXPERIMENT], tmp_path / "taken")

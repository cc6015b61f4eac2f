"""Runs of pytest that start at once: a process that has imported everything but the library forks for each of them."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

# What tests and library import from elsewhere. One that is missing is imported later, or not at all.
ELSEWHERE: Sequence[str] = """
    _pytest.doctest _pytest.pytester asyncio coverage ctypes decimal doctest duckdb email.parser geographiclib.geodesic
    html.parser http.client http.server httptools hypothesis hypothesis.extra.numpy hypothesis.strategies
    matplotlib.figure matplotlib.backends.backend_agg matplotlib.backends.backend_svg numpy numpy.testing opendp.prelude
    orjson pandas polars psycopg pyarrow pyarrow.compute pyarrow.csv pyarrow.dataset pyarrow.parquet rich.console
    rich.panel rich.progress rich.table scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage
    scipy.optimize scipy.signal scipy.sparse scipy.sparse.linalg scipy.spatial scipy.special scipy.stats shapely sqlite3
    typer typer.testing unittest.mock urllib.request uvicorn uvloop wsgiref.simple_server xml.etree.ElementTree zoneinfo
""".split()  # noqa: SIM905 - one a line would fill a screen

OURS = ("confide", "tests", "reproduction", "vectors", "benchmarks")
"""Packages of the project: each run imports them from its copy."""

FAILED = 1
"""Exit code of pytest where tests ran and some failed. Any other but 0 means that they did not run: nothing noticed."""


class Outcome(Enum):
    """What became of a planted fault; everything but NOTICED is to be mended."""

    NOTICED = "noticed "
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN  "
    NO_BUILD = "NO BUILD"
    UNSURE = "UNSURE  "


@dataclass(frozen=True)
class Verdict:
    """What a run of tests says of a fault, and the tests that failed."""

    outcome: Outcome
    failed: tuple[str, ...] = ()
    words: str = ""


class Chosen:
    """A plugin of pytest that keeps the tests that were chosen, in their order, and stops at the first that fails.

    `-x` would stop at a file that cannot be collected, though others may have tests that run and fail.
    """

    def __init__(self, tests: Sequence[str], *, is_first_enough: bool) -> None:
        self.order = {test.rstrip("/"): place for place, test in enumerate(tests)}
        self.is_first_enough = is_first_enough
        self.failed: list[str] = []
        self.unread: list[str] = []
        self.session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember whom to stop."""
        self.session = session

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is named: a test, or a file, a class or a function that has it."""
        places = {id(item): self._place(item.nodeid) for item in items}
        items[:] = sorted(
            (item for item in items if places[id(item)] is not None), key=lambda one: places[id(one)] or 0
        )

    def _place(self, test: str) -> int | None:
        names = [test, test.partition("[")[0]]
        while "::" in names[-1]:
            names.append(names[-1].rpartition("::")[0])
        return next((self.order[name] for name in names if name in self.order), None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down a test that fails, and stop unless all are wanted."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
            if self.is_first_enough and self.session is not None:
                self.session.shouldfail = "noticed"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write down a file that cannot be read."""
        if report.failed:
            self.unread.append(report.nodeid)


def warm_up() -> None:
    """Import what takes long and is no part of the project."""
    for name in ELSEWHERE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def run_tests(copy: Path, tests: Sequence[str], *, longest: float, is_first_enough: bool = True) -> Verdict:
    """Run tests of a copy in a fork of this process; one that takes longer than `longest` seconds is broken."""
    base = copy.parent / f"{copy.name}-run"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        _be_pytest(copy, base, tests, is_first_enough=is_first_enough)
    is_over = _wait(process, longest)
    words = (base / "log").read_text(encoding="utf-8", errors="replace")[-3000:] if (base / "log").exists() else ""
    if not is_over or not (base / "said.json").exists():
        return Verdict(Outcome.BROKEN, words=words + ("" if is_over else f"\nNot over after {longest:.0f} s."))
    said = json.loads((base / "said.json").read_text(encoding="utf-8"))
    shutil.rmtree(base, ignore_errors=True)
    return Verdict(outcome_of(said["code"], said["failed"], said["unread"]), tuple(said["failed"]), words)


def outcome_of(code: int, failed: Sequence[str], unread: Sequence[str]) -> Outcome:
    """Return what a run of pytest says of a fault: tests must have run and failed, not only failed to be collected."""
    if failed:
        return Outcome.NOTICED
    return Outcome.SURVIVED if code == 0 and not unread else Outcome.BROKEN


def _wait(process: int, longest: float) -> bool:
    """Wait for a process; end it and what it started if it takes too long, and return whether it ended by itself."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            _end_group(process)  # servers and browsers that a failing test left behind
            return True
        time.sleep(0.02)
    _end_group(process)
    os.waitpid(process, 0)
    return False


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _be_pytest(copy: Path, base: Path, tests: Sequence[str], *, is_first_enough: bool) -> None:
    """Be a run of pytest in a copy of the project, write down what it says, and leave."""
    code = 70
    try:
        os.setsid()
        log = os.open(base / "log", os.O_CREAT | os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(copy)
        _look_only_at(copy)
        chosen = Chosen(tests, is_first_enough=is_first_enough)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={base / 'tmp'}"]
        code = int(pytest.main([*options, "--continue-on-collection-errors", *files], plugins=[chosen]))
        said = {"code": code, "failed": chosen.failed, "unread": chosen.unread}
        (base / "said.json").write_text(json.dumps(said), encoding="utf-8")
    except BaseException:  # whatever it is, this fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _look_only_at(copy: Path) -> None:
    """Forget the project's own modules, and find them in the copy, here and in processes that tests start."""
    for name in [one for one in sys.modules if one.partition(".")[0] in OURS]:
        del sys.modules[name]
    importlib.invalidate_caches()
    sys.path[:] = [str(copy / "src"), str(copy), *(one for one in sys.path if one)]
    os.environ["PYTHONPATH"] = f"{copy / 'src'}{os.pathsep}{copy}"
    os.environ.setdefault("CONFIDE_PATIENCE", "60")  # what a fault keeps from coming is not waited for as long

"""A plugin of pytest that writes down which lines each test runs, and how long it takes.

`pytest -p tests.mutants.recording` with MUTANTS_RECORD naming a folder. Processes that a test starts are recorded under
its name too, as long as they inherit its environment and end by themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

TEST = "MUTANTS_TEST"
"""Variable with the test that runs now: a process that a test starts records under this name."""

SETTINGS = """[run]
data_file = {folder}/lines
parallel = true
include = {root}/src/confide/*,{root}/reproduction/*
disable_warnings = no-data-collected,module-not-measured,module-not-imported,already-imported,couldnt-parse,no-ctracer
sigterm = true
"""

OF_PROCESSES = "context = ${{{test}}}\npatch = _exit\n"
"""In processes of a test: its name, and what is recorded is kept even if they leave by os._exit."""


class Recorder:
    """Coverage with one context for each test; passed tests and their seconds are kept as JSON by the controller."""

    def __init__(self, folder: Path, root: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = SETTINGS.format(folder=folder, root=root)
        (own := folder / f"own-{os.getpid()}.ini").write_text(text, encoding="utf-8")
        (folder / "processes.ini").write_text(text + OF_PROCESSES.format(test=TEST), encoding="utf-8")
        os.environ["COVERAGE_PROCESS_START"] = str(folder / "processes.ini")
        self.coverage = Coverage(config_file=str(own), data_suffix=True)
        self.folder = folder
        self.seconds: dict[str, float] = {}
        self.unfit: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record under the name of the test that runs."""
        os.environ[TEST] = item.nodeid
        self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up setup, call and teardown; a test that did not pass can notice nothing."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self.unfit.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep what was recorded; where tests run in several processes the controller alone knows all seconds."""
        self.coverage.stop()
        self.coverage.save()
        if "PYTEST_XDIST_WORKER" not in os.environ:
            passed = {test: round(time, 4) for test, time in self.seconds.items() if test not in self.unfit}
            kept = {"passed": passed, "unfit": sorted(self.unfit)}
            (self.folder / "seconds.json").write_text(json.dumps(kept, indent=0), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Begin before any module of the library is imported."""
    recorder = Recorder(Path(os.environ["MUTANTS_RECORD"]), config.rootpath)
    config.pluginmanager.register(recorder)
    recorder.coverage.start()

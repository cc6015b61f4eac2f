"""The table of planted faults keeps up with the code: `make mutants` itself takes minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.__main__ import Outcome, outcome_of
from tests.mutants.table import ROOT, Fault, read_faults

FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.why}")
def test_a_fault_can_be_planted_and_its_tests_are_there(fault: Fault) -> None:
    sound = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.plant(sound) != sound
    if fault.file.endswith(".py"):
        compile(fault.plant(sound), fault.file, "exec")
    for test in fault.tests:
        assert (ROOT / test.partition("::")[0]).exists(), test


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("def test(): pass", Outcome.SURVIVED),
        ("def test(): assert False", Outcome.NOTICED),
        ("import nothing_of_that_name", Outcome.BROKEN),
        ("def test(:", Outcome.BROKEN),
        ("", Outcome.BROKEN),  # no test at all
    ],
)
def test_only_tests_that_ran_and_failed_have_noticed(content: str, outcome: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(content)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert outcome_of(done.returncode, done.stdout) is outcome


def test_there_are_enough_and_none_twice() -> None:
    assert len(FAULTS) >= 37
    assert len({(fault.file, fault.what, fault.instead) for fault in FAULTS}) == len(FAULTS)

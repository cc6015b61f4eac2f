"""The table of planted faults keeps up with the code, and the runner knows what it saw; `make mutants` takes long."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.reach import is_named, lines_of
from tests.mutants.table import ROOT, Fault, read_faults

FAULTS = read_faults()


def test_faults_can_be_planted_and_their_tests_are_there() -> None:
    for fault in FAULTS:
        sound = (ROOT / fault.file).read_text(encoding="utf-8")
        assert fault.plant(sound) != sound, fault
        if fault.file.endswith(".py"):
            ast.parse(fault.plant(sound), fault.file)
        else:
            assert fault.tests, f"no coverage tells which tests run {fault.file}: name them"
        for test in fault.tests:
            assert (ROOT / test.partition("::")[0]).exists(), (fault, test)


def test_there_are_enough_and_none_twice() -> None:
    assert len(FAULTS) >= 37
    assert len({(fault.file, fault.what, fault.instead) for fault in FAULTS}) == len(FAULTS)


OUTCOMES = {
    "test_passes.py": ("def test(): pass", "SURVIVED"),
    "test_fails.py": ("def test(): assert False", "NOTICED"),
    "test_cannot_be_imported.py": ("import nothing_of_that_name", "BROKEN"),
    "test_cannot_be_read.py": ("def test(:", "BROKEN"),
    "test_is_empty.py": ("", "BROKEN"),
    "test_hangs.py": ("import time\ndef test(): time.sleep(600)", "BROKEN"),
}
RUN = """
import sys
from pathlib import Path
from tests.mutants.warm import run_tests
for name in sys.argv[2:]:
    verdict = run_tests(Path(sys.argv[1]), name.split("+"), longest=3 if "hangs" in name else 60)
    print(name, verdict.outcome.name, *verdict.failed)
"""


def test_only_tests_that_ran_and_failed_have_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "pytest.ini").write_text("[pytest]\n")
    for name, (content, _) in OUTCOMES.items():
        (copy / name).write_text(content)
    # Another one, for what a file that cannot be read keeps others from saying.
    together = "test_cannot_be_imported.py+test_passes.py+test_fails.py::test"
    command = [sys.executable, "-c", RUN, str(copy), *OUTCOMES, together]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    expected = [f"{name} {outcome}" for name, (_, outcome) in OUTCOMES.items()] + [f"{together} NOTICED"]
    assert [" ".join(line.split()[:2]) for line in done.stdout.splitlines()] == expected
    assert done.stdout.splitlines()[-1].endswith(" test_fails.py::test")


SOURCE = '''"""A module."""

LIMIT = 3


class Box:
    size: int = 1

    def double(self, by=2):
        """Say it."""
        return (
            self.size
            * by
        )


def check(box):
    if box.double() > LIMIT:
        raise ValueError(
            "too large"
        )
    return box
'''


@pytest.mark.parametrize(
    ("what", "best"),
    [
        ("* by", {11, 12, 13, 14}),  # all of a statement
        ("box.double() > LIMIT", {18}),  # the head of a block alone
        ('"too large"', {19, 20, 21}),
        ("by=2", {10, 11, 12, 13, 14}),  # the body of its function
        ("size: int = 1", {10, 11, 12, 13, 14}),  # the functions of its class
        ("LIMIT = 3", {10, 11, 12, 13, 14, 18, 19, 20, 21, 22}),  # all functions
    ],
)
def test_the_lines_whose_tests_may_notice(what: str, best: set[int]) -> None:
    fault = Fault("box.py", what, what + " # other", "")
    assert lines_of(fault, SOURCE)[0] == best


def test_a_row_names_a_test_by_itself_its_function_its_file_or_its_folder() -> None:
    names = ["tests/a/test_b.py::test_c[1]", "tests/a/test_b.py::test_c", "tests/a/test_b.py", "tests/a", "tests/a/"]
    assert all(is_named("tests/a/test_b.py::test_c[1]", [name]) for name in names)
    others = ["tests/a/test_b.py::test_c[11]", "tests/a/test_b.py::test", "tests/a/test", "tests/b"]
    assert not is_named("tests/a/test_b.py::test_c[1]", others)

"""Which tests run the lines of a planted fault: one run of the whole suite under coverage, kept in build/mutants."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData
from coverage.numbits import nums_to_numbits, register_sqlite_functions
from tests.mutants.table import ROOT, Fault

KEPT = ROOT / "build" / "mutants"

SECONDS_TO_COLLECT = 0.001
"""What pytest takes to make one case of a file; one case of a law is quick, but thousands stand beside it."""


def record(copy: Path, processes: int) -> None:
    """Run the suite in a copy of the project and keep what each test runs, beside the sources that it ran."""
    shutil.rmtree(KEPT, ignore_errors=True)
    raw = KEPT / "raw"
    environment = os.environ | {"MUTANTS_RECORD": str(raw), "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutants.recording", "-p", "no:cacheprovider", "-q"]
    subprocess.run([*command, "-n", str(processes), "--dist", "worksteal"], cwd=copy, env=environment, check=False)
    keep(raw, copy)
    shutil.rmtree(raw)


def keep(raw: Path, copy: Path) -> None:
    """Merge what the processes of a run recorded into one table, with paths as they are in the project."""
    lines = CoverageData(str(KEPT / "lines"))
    for part in sorted(raw.glob("lines.*")):
        one = CoverageData(str(part))
        one.read()
        lines.update(one, map_path=lambda path: Path(path).relative_to(copy).as_posix())
    lines.write()
    for name in lines.measured_files():
        (KEPT / "sources" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copy / name, KEPT / "sources" / name)
    shutil.copyfile(raw / "seconds.json", KEPT / "seconds.json")


@dataclass(frozen=True)
class Reach:
    """What a recorded run knows: the seconds of every test that passed, the lines of each, the sources of then."""

    folder: Path
    seconds: dict[str, float]
    cases: Counter[str]

    @classmethod
    def read(cls, folder: Path = KEPT) -> Reach:
        """Read what was kept."""
        seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))["passed"]
        return cls(folder, seconds, Counter(file_of(test) for test in seconds))

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that run a fault's lines: those that its row names first, then quickest first.

        One case of every test comes before the second of any, for cases of one test tend to notice the same.
        """
        source = self.folder / "sources" / fault.file
        if not source.exists() or source.read_text(encoding="utf-8").count(fault.what) != 1:
            return []
        reached: set[str] = set()
        for lines in lines_of(fault, source.read_text(encoding="utf-8")):
            reached = self._running(fault.file, lines)
            if reached:
                break
        quickest = sorted(reached, key=self.cost)
        seen: Counter[str] = Counter()
        ranks: dict[str, int] = {}
        for test in quickest:
            ranks[test] = seen[name := test.partition("[")[0]]
            seen[name] += 1
        return sorted(quickest, key=lambda test: (not is_named(test, fault.tests), ranks[test], self.cost(test)))

    def cost(self, test: str) -> float:
        """Return about how long it takes to collect and run a test, in seconds."""
        return self.seconds.get(test, 1.0) + SECONDS_TO_COLLECT * self.cases[file_of(test)]

    def _running(self, file: str, lines: Iterable[int]) -> set[str]:
        """Return the tests that passed and ran one of the lines."""
        query = """SELECT DISTINCT context.context FROM line_bits JOIN context ON context.id = line_bits.context_id
            JOIN file ON file.id = line_bits.file_id
            WHERE file.path = ? AND numbits_any_intersection(line_bits.numbits, ?)"""
        rows = _connect(self.folder).execute(query, (file, nums_to_numbits(lines)))
        return {test for (test,) in rows if test in self.seconds}


@cache
def _connect(folder: Path) -> sqlite3.Connection:
    """Open the lines of a recorded run, with coverage's functions on sets of lines."""
    connection = sqlite3.connect(folder / "lines")
    register_sqlite_functions(connection)
    return connection


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def is_named(test: str, names: Sequence[str]) -> bool:
    """Return whether a row names a test: itself, its function, its class, its file or its folder."""
    return any(test == name or test.startswith((f"{name}::", f"{name}[", f"{name.rstrip('/')}/")) for name in names)


def lines_of(fault: Fault, text: str) -> list[set[int]]:
    """Return the lines whose tests may notice a fault, best first: its own statements, then what rests on them.

    A line outside of functions (a constant, a field, a default) runs when its module is imported, so no test runs it;
    then come the body of its function, the functions of its class, and those of its module.
    """
    first, last = _changed(fault, text)
    tree = ast.parse(text)
    bodies = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    own: set[int] = set()
    if any(_body(one) & set(range(first, last + 1)) for one in bodies):
        own = set(range(first, last + 1))
        for one in ast.walk(tree):
            if isinstance(one, ast.stmt) and not hasattr(one, "body"):
                span = range(one.lineno, (one.end_lineno or one.lineno) + 1)
                own |= set(span) if own & set(span) else set()
    around = [_body(one) for one in bodies if _spans(one, first)]
    methods = [_body(one) for owner in classes if _spans(owner, first) for one in bodies if _spans(owner, one.lineno)]
    everything = [_body(one) for one in bodies]
    return [one for one in (own, *around[::-1], set().union(*methods), set().union(*everything)) if one]


def _changed(fault: Fault, text: str) -> tuple[int, int]:
    """Return the first and the last line that a fault changes."""
    start = text.index(fault.what)
    before = _alike(fault.what, fault.instead)
    shortest = min(len(fault.what), len(fault.instead)) - before
    after = min(_alike(fault.what[::-1], fault.instead[::-1]), shortest)
    first = text.count("\n", 0, start + before) + 1
    return first, max(first, text.count("\n", 0, start + len(fault.what) - after) + 1)


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _spans(one: ast.stmt, line: int) -> bool:
    """Return whether a definition, decorators and all, has a line."""
    decorators: list[int] = [other.lineno for other in getattr(one, "decorator_list", [])]
    return min([one.lineno, *decorators]) <= line <= (one.end_lineno or one.lineno)


def _body(one: ast.FunctionDef | ast.AsyncFunctionDef) -> set[int]:
    """Return the lines that run when a function is called."""
    return set(range(one.body[0].lineno, (one.end_lineno or one.lineno) + 1))

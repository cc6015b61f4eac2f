"""Plant every fault of faults/*.toml in a copy of the project, one at a time, and fail if the tests do not notice.

python -m tests.mutants                      all of them, on two processes
python -m tests.mutants counting pages       those whose file or reason holds one of these words
python -m tests.mutants --record             run the suite under coverage first, as after changes to many tests
python -m tests.mutants --table other.toml   the rows of another table; `tests` may be left out there
python -m tests.mutants --seconds 600        give every fault more of the tests that run its lines than two minutes

A fault gets the tests that run its lines (build/mutants says which; see reach.py): those that its row names, then the
quickest. What its row names runs in any case; of the others as many as take two minutes.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import itertools
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

# One thread for BLAS: numpy looks when it is imported, and a fork has one thread anyway.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.mutants.reach import KEPT, Reach, is_named, record
from tests.mutants.table import ROOT, Fault, read_faults
from tests.mutants.warm import Outcome, Verdict, run_tests, warm_up

PROCESSES = 2

SHIPPED = {"clients/javascript": "src/confide/studio/client", "web": "src/confide/studio/static"}
"""Faults in TypeScript are built into the files here, which are what its tests run; that takes Node and `npm ci`."""

MODULES = ("clients/javascript/node_modules", "web/node_modules", "build/node_modules")

LONGEST = 600
"""Seconds after which a run is given up: its row is broken, for nobody knows what the tests would have said."""

FIRST = 8.0
"""Recorded seconds of the first tests that a fault gets: most are noticed by then."""

NONE = Verdict(Outcome.SURVIVED)

ENOUGH = 120.0
"""Recorded seconds of tests after which a fault counts as not noticed."""


@dataclass(frozen=True)
class Tried:
    """A fault, what became of it, and how long that took."""

    fault: Fault
    verdict: Verdict
    seconds: float

    def __str__(self) -> str:
        by = f"  [{self.verdict.failed[0]}]" if self.verdict.failed else ""
        line = f"{self.verdict.outcome.value} {self.seconds:5.1f} s  {self.fault.file}: {self.fault.why}{by}"
        is_broken = self.verdict.outcome in (Outcome.BROKEN, Outcome.NO_BUILD)
        return f"{line}\n{self.verdict.words}" if is_broken else line


def main(arguments: Sequence[str]) -> int:
    """Try the faults that were asked for; return 1 unless all are noticed, or if the tests fail without any."""
    asked = _read_arguments(arguments)
    faults = read_faults(*asked.table)
    chosen = [one for one in faults if not asked.words or any(word in f"{one.file} {one.why}" for word in asked.words)]
    if not chosen:
        print(f"No fault is named by {' '.join(asked.words)}.")
        return 2
    with tempfile.TemporaryDirectory(prefix="confide-mutants-") as folder:
        copies = [copy_project(Path(folder, str(number))) for number in range(asked.processes)]
        if asked.record or not (KEPT / "seconds.json").exists():
            record(copies[0], asked.processes)
        warm_up()
        tried = list(_try_all(chosen, copies, enough=asked.seconds))
        gc.unfreeze()  # or packages in C take what was frozen for forgotten
    counts = [(one, sum(each.verdict.outcome is one for each in tried)) for one in Outcome]
    print(f"{len(chosen)} faults planted: " + ", ".join(f"{count} {one.value.strip()}" for one, count in counts))
    return 0 if dict(counts)[Outcome.NOTICED] == len(chosen) else 1


def _read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--table", action="append", default=[], type=Path)
    parser.add_argument("--seconds", type=float, default=ENOUGH)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser.parse_args(arguments)


def _try_all(chosen: Sequence[Fault], copies: Sequence[Path], *, enough: float) -> Iterator[Tried]:
    """Try faults in the copies, one process each; then doubt every test that noticed one and fails without any too."""
    context = multiprocessing.get_context("fork")
    free = context.SimpleQueue()
    for copy in copies:
        free.put(copy)
    with context.Pool(len(copies), _take_a_copy, (free, enough)) as pool:
        tried = []
        for one in pool.imap_unordered(_try, chosen):
            tried.append(one)
            by = f"  [{one.verdict.failed[0]}]" if one.verdict.failed else ""
            print(
                f"{one.verdict.outcome.value} {one.seconds:5.1f} s  {one.fault.file}: {one.fault.why}{by}", flush=True
            )
            if one.verdict.outcome in (Outcome.BROKEN, Outcome.NO_BUILD):
                print(one.verdict.words, flush=True)
    noticing = sorted({test for one in tried for test in one.verdict.failed})
    # A test that fails anyway would kill every fault, and prove nothing.
    anyway = (
        set(run_tests(copies[0], noticing, longest=6 * LONGEST, is_first_enough=False).failed) if noticing else set()
    )
    for one in tried:
        if anyway.intersection(one.verdict.failed):
            print(
                f"{Outcome.UNSURE.value}  {one.fault.file}: {one.fault.why}: {one.verdict.failed} fail without it too."
            )
            yield Tried(one.fault, Verdict(Outcome.UNSURE, one.verdict.failed), one.seconds)
        else:
            yield one


class Bench:
    """What one process works with: its copy, the map of tests, and how long it may take for one fault."""

    copy: Path
    reach: Reach
    enough: float


def _take_a_copy(free: multiprocessing.SimpleQueue[Path], enough: float) -> None:
    Bench.copy, Bench.reach, Bench.enough = free.get(), Reach.read(), enough


def _try(fault: Fault) -> Tried:
    """Plant a fault in this process's copy, run the tests that may notice it, and take it out again."""
    began = time.monotonic()
    path = Bench.copy / fault.file
    sound, times = path.read_text(encoding="utf-8"), path.stat()
    project = next((one for one in SHIPPED if fault.file.startswith(f"{one}/")), None)
    built = (
        {one: one.read_bytes() for one in (Bench.copy / SHIPPED[project]).iterdir() if one.is_file()} if project else {}
    )
    compiled = Path(cache_from_source(str(path)))
    verdict = Verdict(Outcome.NO_BUILD)
    try:
        compiled.unlink(missing_ok=True)  # Python takes it for right if the source has the same size and second
        path.write_text(fault.plant(sound), encoding="utf-8")
        if project is None or builds(Bench.copy, project):
            verdict = _verdict(fault)
    finally:
        path.write_text(sound, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        compiled.unlink(missing_ok=True)
        for file, content in built.items():
            file.write_bytes(content)
    return Tried(fault, verdict, time.monotonic() - began)


def _verdict(fault: Fault) -> Verdict:
    """Run the tests that may notice a fault, batch by batch, until one does."""
    verdict = NONE
    for tests in _batches(fault, Bench.reach, Bench.enough):
        expected = sum(Bench.reach.cost(test) for test in tests)
        found = run_tests(Bench.copy, tests, longest=min(LONGEST, 120 + 10 * expected))
        if found.outcome is Outcome.NOTICED:
            return found
        verdict = verdict if found.outcome is Outcome.SURVIVED else found
    return verdict


def _batches(fault: Fault, reach: Reach, enough: float) -> Iterator[list[str]]:
    """Return the tests of a fault: what its row names, a few others, and then the rest within their time."""
    tests = reach.tests_of(fault)
    named = [test for test in tests if is_named(test, fault.tests)]
    first = _within(FIRST, named, reach)
    # What runs in a process of its own or in a browser is not in the map, nor is a test that is younger than it.
    whole = list(fault.tests)
    others = [test for test in tests if test not in set(first)]
    second = _within(FIRST, others, reach)
    yield from filter(None, (first, whole, second, _within(enough, others, reach)[len(second) :]))


def _within(seconds: float, tests: Sequence[str], reach: Reach) -> list[str]:
    """Return as many tests, from the first on, as take about so long; one at least."""
    costs = list(itertools.accumulate(map(reach.cost, tests)))
    return [test for test, cost in zip(tests, costs, strict=True) if cost <= seconds or cost == costs[0]]


def copy_project(target: Path) -> Path:
    """Copy the files that git tracks, as they are in the working tree, and compile them once."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "build").mkdir(exist_ok=True)
    for modules in MODULES:
        if (ROOT / modules).exists():
            (target / modules).symlink_to(ROOT / modules)
    compileall.compile_dir(target / "src", quiet=2)
    return target


def builds(copy: Path, project: str) -> bool:
    """Check the types of a web project's sources in a copy, build them, and return whether both went."""
    # The bundler alone takes away the types unread, so that a fault that no compiler lets pass would be planted.
    steps = (["node", "node_modules/typescript/bin/tsc", "--noEmit"], ["node", "build.mjs"])
    return all(
        subprocess.run(one, cwd=copy / project, check=False, capture_output=True).returncode == 0 for one in steps
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

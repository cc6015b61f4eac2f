"""Plant every fault of faults.toml in a copy of the project, one at a time, and fail if the tests do not notice.

python -m tests.mutants                 all of them, on two processes
python -m tests.mutants counting pages  those whose file or reason holds one of these words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.table import ROOT, Fault, read_faults

PROCESSES = 2

SHIPPED = {"clients/javascript": "src/confide/client", "web": "src/confide/studio/static"}
"""Faults in TypeScript are built into the files here, which are what its tests run; that takes Node and `npm ci`."""

LONGEST = 600
"""Seconds after which a run counts as failed: a fault may well make a search endless."""


def main(words: Sequence[str]) -> int:
    """Try the faults that were asked for; return 1 if one survives, or if the tests fail without any."""
    chosen = [
        fault for fault in read_faults() if not words or any(word in f"{fault.file} {fault.why}" for word in words)
    ]
    if not chosen:
        print(f"No fault is named by {' '.join(words)}.")
        return 2
    with tempfile.TemporaryDirectory(prefix="confide-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(PROCESSES):
            copies.put(_copy(Path(folder, str(number))))
        # A test that fails anyway would kill every fault, and prove nothing.
        tests = sorted({test for fault in chosen for test in fault.tests})
        if not _passes(copy := copies.get(), [*tests, "-n", str(PROCESSES)], is_told=True):
            print("The tests fail without any fault: mend them first.")
            return 1
        copies.put(copy)
        with ThreadPoolExecutor(PROCESSES) as pool:
            survivors = [
                fault for fault, is_dead in pool.map(lambda one: (one, _try(one, copies)), chosen) if not is_dead
            ]
    print(f"{len(chosen)} faults planted, {len(chosen) - len(survivors)} noticed, {len(survivors)} survived")
    return 1 if survivors else 0


def _try(fault: Fault, copies: SimpleQueue[Path]) -> bool:
    """Plant a fault in a free copy, run its tests, and take it out again; return whether they noticed."""
    copy = copies.get()
    path = copy / fault.file
    sound = path.read_text(encoding="utf-8")
    built = {file: file.read_bytes() for one in SHIPPED.values() for file in (copy / one).iterdir() if file.is_file()}
    try:
        path.write_text(fault.plant(sound), encoding="utf-8")
        project = next((one for one in SHIPPED if fault.file.startswith(f"{one}/")), None)
        is_built = project is None or _builds(copy, project)
        is_dead = is_built and not _passes(copy, fault.tests)
    finally:
        path.write_text(sound, encoding="utf-8")
        for file, content in built.items():
            file.write_bytes(content)
        copies.put(copy)
    print(f"{'noticed ' if is_dead else 'SURVIVED' if is_built else 'NO BUILD'}  {fault.file}: {fault.why}", flush=True)
    return is_dead


def _copy(target: Path) -> Path:
    """Copy the files that git tracks, as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def _builds(copy: Path, project: str) -> bool:
    """Build a web project from a copy's sources, and return whether that went."""
    modules = copy / project / "node_modules"
    if not modules.exists():
        modules.symlink_to(ROOT / project / "node_modules")
    return subprocess.run(["node", "build.mjs"], cwd=copy / project, check=False, capture_output=True).returncode == 0


def _passes(copy: Path, tests: Sequence[str], *, is_told: bool = False) -> bool:
    """Run tests in a copy; it stands before the installed package on the path, in the tests' own processes too."""
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.setdefault("CONFIDE_PATIENCE", "60")  # what a fault keeps from coming is not waited for as long
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode > 1 or (is_told and done.returncode):  # above one the run itself is broken
        print(done.stdout[-2000:], done.stderr[-2000:])
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

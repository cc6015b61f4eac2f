"""Plant every fault of faults/*.toml in a copy of the project, one at a time, and fail if the tests do not notice.

python -m tests.mutants                 all of them, on two processes
python -m tests.mutants counting pages  those whose file or reason holds one of these words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.table import ROOT, Fault, read_faults

PROCESSES = 2

SHIPPED = {"clients/javascript": "src/confide/client", "web": "src/confide/studio/static"}
"""Faults in TypeScript are built into the files here, which are what its tests run; that takes Node and `npm ci`."""

LONGEST = 600
"""Seconds after which a run is given up: its row is broken, for nobody knows what the tests would have said."""

FAILED = 1
"""Exit code of pytest where tests ran and some failed. Any other but 0 means that they did not run: nothing noticed."""


class Outcome(Enum):
    """What became of a planted fault; everything but NOTICED is to be mended."""

    NOTICED = "noticed "
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN  "
    NO_BUILD = "NO BUILD"


def main(words: Sequence[str]) -> int:
    """Try the faults that were asked for; return 1 unless all are noticed, or if the tests fail without any."""
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
        if _run(copy := copies.get(), [*tests, "-n", str(PROCESSES)], is_told=True) is not Outcome.SURVIVED:
            print("The tests fail without any fault: mend them first.")
            return 1
        copies.put(copy)
        with ThreadPoolExecutor(PROCESSES) as pool:
            outcomes = Counter(pool.map(lambda one: _try(one, copies), chosen))
    print(f"{len(chosen)} faults planted: " + ", ".join(f"{outcomes[one]} {one.value.strip()}" for one in Outcome))
    return 0 if outcomes[Outcome.NOTICED] == len(chosen) else 1


def _try(fault: Fault, copies: SimpleQueue[Path]) -> Outcome:
    """Plant a fault in a free copy, run its tests, and take it out again."""
    copy = copies.get()
    path = copy / fault.file
    sound = path.read_text(encoding="utf-8")
    built = {file: file.read_bytes() for one in SHIPPED.values() for file in (copy / one).iterdir() if file.is_file()}
    try:
        path.write_text(fault.plant(sound), encoding="utf-8")
        project = next((one for one in SHIPPED if fault.file.startswith(f"{one}/")), None)
        outcome = _run(copy, fault.tests) if project is None or _builds(copy, project) else Outcome.NO_BUILD
    finally:
        path.write_text(sound, encoding="utf-8")
        for file, content in built.items():
            file.write_bytes(content)
        copies.put(copy)
    print(f"{outcome.value}  {fault.file}: {fault.why}", flush=True)
    return outcome


def _copy(target: Path) -> Path:
    """Copy the files that git tracks, as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def _builds(copy: Path, project: str) -> bool:
    """Check the types of a web project's sources in a copy, build them, and return whether both went."""
    modules = copy / project / "node_modules"
    if not modules.exists():
        modules.symlink_to(ROOT / project / "node_modules")
    # The bundler alone takes away the types unread, so that a fault that no compiler lets pass would be planted.
    steps = (["node", "node_modules/typescript/bin/tsc", "--noEmit"], ["node", "build.mjs"])
    return all(
        subprocess.run(one, cwd=copy / project, check=False, capture_output=True).returncode == 0 for one in steps
    )


def _run(copy: Path, tests: Sequence[str], *, is_told: bool = False) -> Outcome:
    """Run tests in a copy; it stands before the installed package on the path, in the tests' own processes too."""
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.setdefault("CONFIDE_PATIENCE", "60")  # what a fault keeps from coming is not waited for as long
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome.BROKEN
    outcome = outcome_of(done.returncode, done.stdout)
    if outcome is Outcome.BROKEN or (is_told and outcome is Outcome.NOTICED):
        print(done.stdout[-2000:], done.stderr[-2000:])
    return outcome


def outcome_of(code: int, output: str) -> Outcome:
    """Return what a run of pytest says of a fault: tests must have run and failed, not only failed to be collected."""
    if code == 0:
        return Outcome.SURVIVED
    is_collected = "error during collection" not in output and "errors during collection" not in output
    return Outcome.NOTICED if code == FAILED and is_collected else Outcome.BROKEN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the tests on every Python that is here, each in a fresh clone and an empty environment: `make matrix`.

`python release/matrix.py quick` runs the sample of `make quick` instead; other targets of the Makefile work too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dist import PYTHONS, ROOT, pythons

KEPT = ("PATH", "LANG", "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE")
"""Variables that a clone keeps besides those of pip and npm: where programs are, and what a processor may do."""


def settings(home: Path) -> dict[str, str]:
    """Return an environment with nothing in it but an empty home, and where packages come from."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.lower().startswith(("pip_", "npm_config_"))
    }
    files = (
        Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "pip/pip.conf",
        Path.home() / ".pip/pip.conf",
    )
    for file in files:
        if file.is_file():
            kept.setdefault("PIP_CONFIG_FILE", str(file))
    return kept | {"HOME": str(home)}


def main() -> None:
    """Try each Python, print one line for it, and fail if one failed."""
    target, failed = (sys.argv[1:] or ["test"])[0], []
    for version, python in pythons().items():
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            (place / "home").mkdir()
            subprocess.run(["git", "clone", "--quiet", ROOT, place / "confide"], check=True)
            done = subprocess.run(
                ["make", f"PYTHON={python}", target], cwd=place / "confide", env=settings(place / "home"), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        last = done.stdout.strip().splitlines()[-1:] or [""]
        print(f"Python {version}: {last[0].strip('= ')} ({time.perf_counter() - began:.0f} s)", flush=True)
        if done.returncode:
            failed.append(version)
            print(done.stdout[-6000:])
    absent = [version for version in PYTHONS if version not in pythons()]
    if absent:
        print(f"Not tried, for they are not here: Python {', '.join(absent)}.")
    if failed:
        raise SystemExit(f"`make {target}` failed on Python {', '.join(failed)}.")


if __name__ == "__main__":
    main()

"""Build the release twice, compare and check it, and try it in empty environments: `make dist`.

1. The sdist and the wheel are built in two fresh clones, in two folders. They must be equal byte for byte.
2. twine, check-wheel-contents, validate-pyproject, zizmor, repo-review, publint and attw read what was built.
3. The wheel is installed into empty environments: on every Python from 3.11 on that is here, with the lowest and with
   the newest dependencies. There the demo runs, the blocks of the readme, and a sample of the tests from the sdist.
4. Parts lists (CycloneDX) of the wheel and of the JavaScript in it are written beside.

`python release/dist.py --python 3.11` tries one Python; `--build` stops after step 2.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SAMPLE = (
    "tests/test_readme.py",
    "tests/test_portable.py",
    "tests/test_vectors.py",
    "tests/test_em.py",
    "tests/files/test_kept.py",
    "tests/test_surveys.py",
)
"""What the sdist runs against the installed wheel: the readme's blocks, exact tables, draws, the solver, kept files."""

TESTED_WITH = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.100")


def run(*command: str | Path, where: Path = ROOT, **more: str) -> str:
    """Run a command; stop with what it said if it fails."""
    done = subprocess.run(
        [*map(str, command)], cwd=where, env=os.environ | more, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"$ {' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def say(step: str, since: float, found: str = "") -> None:
    """Print one row of the table."""
    print(f"{step:<56} {found:<14} {time.perf_counter() - since:6.1f} s", flush=True)


def pythons() -> dict[str, Path]:
    """Return the interpreters that are here, by version."""
    found = {}
    for version in PYTHONS:
        places = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), shutil.which(f"python{version}")]
        for place in filter(None, places):
            asked = subprocess.run(
                [place, "-c", "import ssl, venv, sys; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
            if asked.stdout.strip() == version:
                found.setdefault(version, Path(place))
    return found


def build(folder: Path) -> dict[str, str]:
    """Build sdist and wheel of HEAD in a fresh clone, and return their digests by name."""
    clone, made = folder / "confide", folder / "dist"
    run("git", "clone", "--quiet", ROOT, clone)
    run("git", "checkout", "--quiet", "--detach", run("git", "rev-parse", "HEAD").strip(), where=clone)
    moment = run("git", "log", "-1", "--format=%ct", where=clone).strip()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", made, clone, SOURCE_DATE_EPOCH=moment)
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(made.iterdir())}


def build_twice(folder: Path) -> None:
    """Put the release into dist/, if two builds are equal."""
    first, second = (build(folder / name) for name in ("one", "another-place"))
    if first != second:
        raise SystemExit(f"Two builds differ: {first} and {second}.")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(folder / "one" / "dist", DIST)


def check_metadata() -> str:
    """Let the packagers' own tools read the wheel, the sdist and the project file."""
    files = sorted(DIST.glob("confide-*"))
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(Path(sys.executable).with_name("check-wheel-contents"), *DIST.glob("*.whl"))
    run(Path(sys.executable).with_name("validate-pyproject"), "pyproject.toml")
    run(Path(sys.executable).with_name("zizmor"), "--offline", "--quiet", ".github/workflows")
    run(sys.executable, "-m", "repo_review", ".")
    return "5 tools"


def pack_javascript(folder: Path) -> str:
    """Pack the client for npm, check it with publint and attw, and put it into dist/."""
    if shutil.which("npm") is None:
        return "skipped: no npm"
    client = folder / "one" / "confide" / "clients" / "javascript"
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", where=client)
    run("node", "build.mjs", folder / "shipped", where=client)
    packed = run("npm", "pack", "--silent", "--pack-destination", DIST, where=client).split()[-1]
    run("npm", "exec", "--yes", "--package=publint@0.3", "--", "publint", "--strict", DIST / packed, where=folder)
    run(
        "npm",
        "exec",
        "--yes",
        "--package=@arethetypeswrong/cli@0.18",
        "--",
        "attw",
        "--profile",
        "esm-only",
        DIST / packed,
        where=folder,
    )
    return "2 tools"


def lowest() -> str:
    """Return constraints that hold every dependency at the oldest version that the project admits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = project["dependencies"] + [one for extra in project["optional-dependencies"].values() for one in extra]
    return "\n".join(
        re.sub(r"\[.*?\]", "", one).replace(">=", "==", 1) for one in wanted if not one.startswith("confide")
    )


def try_one(version: str, python: Path, kind: str, folder: Path) -> str:
    """Install the wheel into an empty environment and use it there, outside the repository."""
    place = folder / f"{version}-{kind}"
    run(python, "-m", "venv", place)
    its, (wheel,) = place / "bin", DIST.glob("*.whl")
    limits = []
    if kind == "lowest":
        (place / "lowest.txt").write_text(lowest(), encoding="utf-8")
        limits = ["--constraint", place / "lowest.txt"]
    run(
        its / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"{wheel}[all]",
        *TESTED_WITH,
        *limits,
    )
    run(its / "python", "-m", "pip", "check")
    with tarfile.open(next(DIST.glob("confide-*.tar.gz"))) as sdist:
        sdist.extractall(place / "sdist", filter="data")
    (unpacked,) = (place / "sdist").iterdir()
    shutil.rmtree(unpacked / "src")  # what is tested is what was installed
    run(its / "confide", "demo", "--output", "demo.html", where=place)
    told = run(
        its / "python",
        "-m",
        "pytest",
        "-q",
        "--quick",
        "-p",
        "no:cacheprovider",
        "-o",
        "testpaths=tests",
        *SAMPLE,
        where=unpacked,
    )
    return re.findall(r"(\d+ passed)", told)[-1]


def list_parts() -> str:
    """Write what the wheel needs and what JavaScript it has, as CycloneDX."""
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run(sys.executable, "-m", "venv", place / "venv")
        run(
            place / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[all]"
        )
        written = ("--output-reproducible", "--of", "JSON", "-o", DIST / f"{wheel.stem.split('-py3')[0]}.cdx.json")
        project = ("--pyproject", ROOT / "pyproject.toml")
        run(sys.executable, "-m", "cyclonedx_py", "environment", *project, *written, place / "venv/bin/python")
    if shutil.which("npm"):
        for folder, short in (("clients/javascript", "client"), ("web", "studio")):
            listed = run(
                "npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only", where=ROOT / folder
            )
            (DIST / f"{short}-javascript.cdx.json").write_text(
                json.dumps(json.loads(listed), indent=1), encoding="utf-8"
            )
    return f"{len(list(DIST.glob('*.cdx.json')))} lists"


def main() -> None:
    """Do all of it."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--python", action="append", choices=PYTHONS, help="try this Python alone")
    asked.add_argument("--build", action="store_true", help="build and check, without environments")
    options = asked.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as two:
        folder = Path(name)
        since = time.perf_counter()
        build_twice(folder)
        say("two builds, equal byte for byte", since, f"{len(list(DIST.iterdir()))} files")
        for step, work in (
            ("twine, check-wheel-contents, validate-pyproject, ...", check_metadata),
            ("npm package: publint, attw", lambda: pack_javascript(folder)),
        ):
            since = time.perf_counter()
            say(step, since, work())
        if not options.build:
            since = time.perf_counter()
            say("parts lists (CycloneDX)", since, list_parts())
            here = {version: place for version, place in pythons().items() if version in (options.python or PYTHONS)}
            if not here:
                raise SystemExit(f"None of these Pythons is here: {', '.join(options.python or PYTHONS)}.")
            tries = {
                (version, kind): two.submit(try_one, version, place, kind, folder)
                for version, place in here.items()
                for kind in ("newest", "lowest")
            }
            for (version, kind), tried in tries.items():
                say(f"Python {version}, {kind} dependencies: demo, readme, tests", since, tried.result())
            absent = [version for version in PYTHONS if version not in here]
            if absent:
                print(f"Not tried, for they are not here: Python {', '.join(absent)}.")
    say("dist/ is ready", began)


if __name__ == "__main__":
    main()

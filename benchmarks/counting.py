"""Reports at scale: how long the commands take from files to counts and estimates, and in how much memory.

    python -m benchmarks.counting            # ten minutes or so, 3 GB of disk in a temporary folder
    python -m benchmarks.counting --quick    # seconds: a thousandth of the rows, only to see that it runs

Every line is one command in a fresh process, start and end included, on as many cores as there are. Memory is the peak
of that process. "Processor" is the time of all its threads: on a machine that others use, it says what the clock would
without them. With --quick there are no bars.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import machine, print_table, verdict

SURVEY = """name = "age"
[alphabet]
kind = "integers"
low = 0
high = 99
[mechanism]
kind = "truncated-geometric"
epsilon = 0.05
"""

RAPPOR = """name = "word"
[alphabet]
kind = "integers"
low = 1
high = 63
[mechanism]
kind = "rappor"
epsilon = 1.0
"""

GROUPS = 10_000


@dataclass(frozen=True)
class Run:
    """One command and its bars: seconds, megabytes, and how many rows a second."""

    name: str
    arguments: Sequence[str]
    rows: int
    seconds: float | None = None
    megabytes: float | None = None
    rate: float | None = None


def main() -> None:
    """Make the data, print the table, and remove the data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counting", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a thousandth of the rows, and no bars")
    parser.add_argument("--only", default="", help="only runs whose name holds this word")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="confide-bench-") as name:
        folder = Path(name)
        divisor = 1000 if arguments.quick else 1
        runs = [run for run in _prepare(folder, divisor, arguments.only) if arguments.only in run.name]
        rows = [_row(run, folder, is_quick=arguments.quick) for run in runs]
        print(machine().replace("One thread", f"{os.cpu_count()} cores"))
        heads = ("run", "rows", "time", "processor", "memory", "rows a second", "bar")
        print_table("confide count, estimate and privatize", heads, rows)
        if "spark" in arguments.only or not arguments.only:
            print(_compare_engines(folder))


def _prepare(folder: Path, divisor: int, only: str) -> list[Run]:
    """Write surveys and data, and return the commands to measure."""
    (folder / "survey.toml").write_text(SURVEY)
    (folder / "rappor.toml").write_text(RAPPOR)
    large, middle, small = 10**9 // divisor, 10**8 // divisor, 10**7 // divisor
    runs = [
        Run("1e9 integers, Parquet", ("count", "survey.toml", "large", "-o", "1.parquet"), large, 30, 500),
        Run("1e8 rows, CSV", ("count", "survey.toml", "middle.csv", "-o", "2.parquet"), middle, 20),
        Run("1e8 rows, CSV, 3 columns", ("count", "survey.toml", "three.csv", "-o", "3.parquet"), middle),
        Run(
            "1e7 RAPPOR vectors, Parquet", ("count", "rappor.toml", "bits.parquet", "-o", "4.parquet"), small, None, 1e3
        ),
        Run("1e7 RAPPOR vectors, CSV", ("count", "rappor.toml", "bits.csv", "-o", "5.parquet"), small, None, 1e3),
        Run(
            "10,000 groups, counted",
            ("count", "survey.toml", "t.parquet", "--by", "town", "-o", "6.parquet"),
            small,
        ),
        Run(
            "10,000 groups, estimated",
            ("estimate", "survey.toml", "6.parquet", "--method", "ibu", "-o", "6.csv"),
            GROUPS,
            60,
        ),
        Run("privatize CSV", ("privatize", "survey.toml", "values.csv", "-o", "7.csv"), small, rate=1e6),
        Run("privatize Parquet", ("privatize", "survey.toml", "values.parquet", "-o", "7.parquet"), small, rate=1e6),
        Run(
            "privatize CSV, two kept",
            ("privatize", "survey.toml", "kept.csv", "--keep", "city,week", "-o", "8.csv"),
            small,
        ),
    ]
    for run in runs:
        if only in run.name:
            _make(folder, run, large, middle, small)
    return runs


def _make(folder: Path, run: Run, large: int, middle: int, small: int) -> None:
    import duckdb

    number = "CAST(floor(100 * random()) AS BIGINT)"
    word = "CAST(floor(random() * 4611686018427387904) AS BIGINT) * 2 + CAST(floor(random() * 2) AS BIGINT)"
    queries = {
        "kept.csv": f"SELECT {number} AS age, 'town ' || range % 500 AS city, range % 52 AS week FROM range({small})",
        "middle.csv": f"SELECT {number} AS report FROM range({middle})",
        "three.csv": f"SELECT 'person ' || range AS name, {number} AS report, 'Oslo' AS town FROM range({middle})",
        "bits.parquet": f"SELECT {word} AS report FROM range({small})",
        "bits.csv": f"SELECT {word} AS report FROM range({small})",
        "t.parquet": f"SELECT 'town ' || (range % {GROUPS}) AS town, {number} AS report FROM range({small})",
        "values.csv": f"SELECT {number} AS age FROM range({small})",
        "values.parquet": f"SELECT {number} AS age FROM range({small})",
    }
    with duckdb.connect() as connection:
        source = run.arguments[2]
        if source == "large":
            (folder / "large").mkdir(exist_ok=True)
            for part in range(10):
                query = f"SELECT {number} AS report FROM range({large // 10})"
                connection.execute(f"COPY ({query}) TO '{folder}/large/{part}.parquet'")
        elif source in queries:
            connection.execute(f"COPY ({queries[source]}) TO '{folder}/{source}'")


def _row(run: Run, folder: Path, *, is_quick: bool) -> list[str]:
    seconds, busy, megabytes = _measure(run.arguments, folder)
    bars = [] if is_quick else _bars(run, seconds, megabytes)
    rate = f"{run.rows / seconds / 1e6:.3g} million" if run.rows > GROUPS else ""
    return [
        run.name,
        f"{run.rows:,}",
        f"{seconds:.1f} s",
        f"{busy:.1f} s",
        f"{megabytes:,.0f} MB",
        rate,
        "; ".join(bars),
    ]


def _bars(run: Run, seconds: float, megabytes: float) -> list[str]:
    bars = []
    if run.seconds is not None:
        bars.append(verdict(f"{run.seconds:g} s", met=seconds <= run.seconds))
    if run.megabytes is not None:
        bars.append(verdict(f"{run.megabytes:g} MB", met=megabytes <= run.megabytes))
    if run.rate is not None:
        bars.append(verdict("1 million a second", met=run.rows / seconds >= run.rate))
    return bars


def _measure(arguments: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Run a command in a process of its own; return its seconds by the clock and on processors, and its peak memory."""
    command = [sys.executable, "-c", "from confide.__main__ import main; main()", *arguments]
    began = time.perf_counter()
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = status  # it has been waited for
    if status:
        sys.exit(f"{' '.join(arguments)} failed:\n{(folder / 'errors.txt').read_text()}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _compare_engines(folder: Path) -> str:
    """Say whether DuckDB and Spark write the same counts, where Java is there."""
    if shutil.which("java") is None:
        return "Spark was not compared with: Java is not installed."
    _make(folder, Run("", ("", "", "values.parquet"), 0), 0, 0, 10**6)
    digests = set()
    for engine in ("duckdb", "spark"):
        output = f"{engine}.csv"
        common = ("count", "survey.toml", "values.parquet", "--column", "age", "-o", output, "--engine", engine)
        _measure(common, folder)
        digests.add(hashlib.sha256((folder / output).read_bytes()).hexdigest())
    return f"DuckDB and Spark on a million rows: {'hashes are alike' if len(digests) == 1 else 'HASHES DIFFER'}"


if __name__ == "__main__":
    main()

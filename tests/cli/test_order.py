"""The order of reports: uniformly random by default, in bounded memory, and what it would give away if it were not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from itertools import permutations
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.stats import chisquare
from tests.cli.conftest import Call, assert_refused

import confide as cf
from confide.data.files import privatize_file, privatizing, read_report_rows
from confide.data.files.privatizing import Shuffler, folder_beside
from confide.data.files.sheets import LIMITS
from confide.evidence.counts import noise_of
from confide.mechanisms.sampling import as_bits

FloatArray = NDArray[np.float64]

SHARP = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=90.0), name="age")
"""So sharp that hardly any value moves: what comes out is what went in."""

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05), name="age")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two buckets, memory for nothing, and buckets that are split again: every path of the shuffler, on a few rows."""
    monkeypatch.setattr("confide.mechanisms.sampling.BUCKETS", 2)
    monkeypatch.setattr(privatizing, "BUCKETS", 2)
    monkeypatch.setitem(vars(LIMITS), "memory", 0)
    monkeypatch.setitem(vars(LIMITS), "piece", 2)
    monkeypatch.setitem(vars(LIMITS), "smallest_split", 3)


def shuffled(*batches: list[int], bits: Any = None) -> tuple[int, ...]:
    with Shuffler(as_bits(7) if bits is None else bits) as shuffler:
        for batch in batches:
            shuffler.add((np.array(batch),))
        return tuple(int(one) for piece in shuffler.pieces() for one in piece[0])


@pytest.mark.usefixtures("tiny")
@pytest.mark.slow
def test_every_order_is_equally_likely_across_buckets_and_files() -> None:
    bits, orders = as_bits(7), list(permutations(range(4)))
    drawn = [shuffled([0], [1, 2], [3], bits=bits) for _ in range(1200)]
    assert chisquare([drawn.count(order) for order in orders]).pvalue > 0.001


@pytest.mark.slow
def test_every_order_is_equally_likely_in_memory() -> None:
    bits, orders = as_bits(7), list(permutations(range(4)))
    drawn = [shuffled([0], [1, 2], [3], bits=bits) for _ in range(1200)]
    assert chisquare([drawn.count(order) for order in orders]).pvalue > 0.001


def attack(reports: FloatArray, mechanism: cf.Mechanism) -> FloatArray:
    """Find each person's value from reports in the order of sorted values: smooth them upwards, and undo the bias."""
    smooth = isotonic_regression(reports).x
    expected = mechanism.channel.dense() @ np.arange(100)  # of a report, by value: borders pull it to the middle
    return np.interp(smooth, expected, np.arange(100))


def error_of_attack(tmp_path: Path, **choices: bool) -> tuple[float, float, float]:
    """Return the mean error of the attack, of one report, and of the best guess without any report."""
    ages = np.sort(cf.datasets.adult_ages().values())
    (tmp_path / "sorted.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    privatize_file(tmp_path / "sorted.csv", tmp_path / "r.csv", AGES, **choices)  # type: ignore[arg-type]
    reports = read_report_rows(tmp_path / "r.csv", AGES).values
    found = attack(reports.astype(float), AGES.mechanism)
    guess = np.abs(ages - np.median(ages)).mean()
    return float(np.abs(found - ages).mean()), float(np.abs(reports - ages).mean()), float(guess)


def test_a_sorted_export_tells_no_age(tmp_path: Path) -> None:
    """A kept order gives each age to a year and a half; a random one no more than guessing does."""
    found, one_report, guess = error_of_attack(tmp_path, keep_order=True)
    assert found < 2
    assert one_report > 15, "and the noise is as it should be"
    found, _, guess = error_of_attack(tmp_path)
    assert found > 0.95 * guess


def neighbours(reports: NDArray[Any]) -> float:
    """Return how alike neighbours are: 1 for runs, 0 for none."""
    return float(np.corrcoef(reports[:-1], reports[1:])[0, 1])


def test_counts_make_no_runs(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age,count\n" + "".join(f"{age},500\n" for age in range(10)))
    privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", SHARP)
    assert abs(neighbours(read_report_rows(tmp_path / "r.csv", SHARP).values)) < 0.08


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.jsonl", "r.parquet"])
@pytest.mark.parametrize("memory", [2**26, 1000])
def test_all_reports_come_out_and_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, memory: int
) -> None:
    pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
    monkeypatch.setitem(vars(LIMITS), "memory", memory)
    monkeypatch.setitem(vars(LIMITS), "piece", 300)
    monkeypatch.setitem(vars(LIMITS), "block", 100)
    values = np.random.default_rng(1).integers(10, size=3000)
    (tmp_path / "v.csv").write_text("age\n" + "".join(f"{value}\n" for value in values))
    privatize_file(tmp_path / "v.csv", tmp_path / name, SHARP)
    assert cf.count(tmp_path / name, SHARP) == cf.tally(values)


def test_a_seed_gives_one_order_and_the_same_noise_in_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "50\n" * 400)

    def blur(seed: int, **choices: bool) -> list[str]:
        with pytest.warns(cf.errors.SimulatedReportsWarning):
            privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES, seed=seed, **choices)  # type: ignore[arg-type]
        return (tmp_path / "r.csv").read_text().split()

    first, kept = blur(1), blur(1, keep_order=True)
    assert first == blur(1) != blur(2)
    assert first != kept
    assert sorted(first) == sorted(kept)
    monkeypatch.setitem(vars(LIMITS), "memory", 0)
    assert blur(1) == first, "on disk as in memory"
    # Where noise and order are drawn in turns, they would change each other if they shared a stream.
    monkeypatch.setitem(vars(LIMITS), "block", 300)
    assert sorted(blur(1)) == sorted(blur(1, keep_order=True))


def test_the_operating_system_draws_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    urandom = os.urandom

    def record(count: int) -> bytes:
        asked.append(count)
        return urandom(count)

    monkeypatch.setattr(os, "urandom", record)
    monkeypatch.setattr(np.random, "default_rng", lambda *_: pytest.fail("numpy's generator is predictable"))
    cf.shuffle(np.arange(100))
    assert sum(asked) >= 800


def test_kinds_of_reports_survive() -> None:
    columns = {
        "texts": np.array(["a", "b", "c"]),
        "small": np.array([100, -3, 7]),
        "words": np.array([[2**62, -1], [0, 3], [5, 6]]),
        "pairs": np.array([[3, "f"], [4, "m, n"], [5, ""]], dtype=object),
        "reals": np.array([0.5, -1e300, 2.0]),
    }
    with Shuffler(as_bits(None)) as shuffler:
        shuffler.add(tuple(columns.values()))
        (found,) = shuffler.pieces()
    order = [["a", "b", "c"].index(text) for text in found[0]]
    for before, after in zip(columns.values(), found, strict=True):
        assert before.dtype == after.dtype
        assert before[order].tolist() == after.tolist()


@pytest.mark.slow
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen megabytes go through one, and what is worked on besides."""
    monkeypatch.setitem(vars(LIMITS), "memory", 2**20)
    batch = np.arange(2**16) + 2**40
    tracemalloc.start()
    try:
        with Shuffler(as_bits(1)) as shuffler:
            for number in range(32):
                shuffler.add((batch + number * 2**16,))
            total = sum(int((piece[0] - 2**40).sum()) for piece in shuffler.pieces())
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
    assert total == (2**21) * (2**21 - 1) // 2


def test_what_is_set_down_has_no_name_and_one_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "memory", 0)
    with Shuffler(as_bits(None), tmp_path) as shuffler:
        shuffler.add((np.arange(9),))
        file = shuffler._file
        assert file is not None
        found = os.fstat(file.fileno())
        assert found.st_size > 0
        assert (found.st_mode & 0o777, found.st_nlink) == (0o600, 0)
        assert found.st_dev == tmp_path.stat().st_dev
    assert file.closed
    assert list(tmp_path.iterdir()) == []


def test_where_reports_are_set_down(tmp_path: Path) -> None:
    assert folder_beside(tmp_path / "r.csv") == tmp_path
    (tmp_path / "link.csv").symlink_to(tmp_path / "r.csv")
    assert folder_beside(tmp_path / "link.csv") == tmp_path
    assert folder_beside("-") is folder_beside("/dev/null") is None


def test_a_full_disk_ends_with_four(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    monkeypatch.setitem(vars(LIMITS), "memory", 0)

    def full(**_: object) -> BinaryIO:
        return Path("/dev/full").open("r+b", 0)

    monkeypatch.setattr("confide.data.files.privatizing.tempfile.TemporaryFile", full)
    before = sorted(folder.iterdir())
    ending = call("privatize", "survey.toml", "values.csv", "-o", "out.csv")
    assert_refused(ending, 4, "cannot be set down in", "No space left on device", "Make room")
    assert sorted(folder.iterdir()) == before


KILLED = """
import sys, time
import confide as cf
from confide.data.files import privatize_file, writing
from confide.data.files.sheets import LIMITS
vars(LIMITS).update(memory=100, piece=50, block=100)
survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), name="age")
def wait(*_):
    print("writing", flush=True)
    time.sleep(60)
writing.ReportSink.write = wait
privatize_file("v.csv", "r.csv", survey)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are for Linux")
def test_a_kill_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "3\n4\n" * 500)
    with subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert [one.name for one in tmp_path.iterdir()] == ["v.csv"]


def test_reports_in_python_are_shuffled_on_demand() -> None:
    cells = np.array([[1, 2], [3, 4], [5, 6]])
    assert sorted(map(tuple, cf.shuffle(cells).tolist())) == [(1, 2), (3, 4), (5, 6)]
    assert cf.shuffle(np.arange(50), rng=3).tolist() == cf.shuffle(np.arange(50), rng=3).tolist() != list(range(50))
    assert cf.shuffle([]).tolist() == []
    reports = AGES.mechanism.privatize([30, 40])
    assert noise_of(cf.shuffle(reports)) == noise_of(reports) == "secure generator"
    assert noise_of(cf.shuffle([30, 40])) == "not known"


def test_written_reports_are_shuffled_unless_told_otherwise(tmp_path: Path) -> None:
    reports = list(range(10)) * 20
    cf.write_reports(tmp_path / "r.csv", reports, SHARP)
    written = read_report_rows(tmp_path / "r.csv", SHARP).values.tolist()
    assert sorted(written) == sorted(reports) != written != reports
    cf.write_reports(tmp_path / "k.csv", reports, SHARP, keep_order=True)
    assert read_report_rows(tmp_path / "k.csv", SHARP).values.tolist() == reports
    orders = [cf.read_metadata(tmp_path / name) for name in ("r.csv", "k.csv")]
    assert [one and one.order for one in orders] == ["shuffled", "kept"]

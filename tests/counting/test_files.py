"""Files of counts: what is in them, what is not, and what may be added to what."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cases import each
from tests.cli.surveys import FINITE, survey
from tests.counting.conftest import AGES, Save

import confide as cf
from confide.data.counting import merge_files
from confide.data.files import (
    Account,
    Heading,
    estimate_file,
    groups_csv,
    groups_record,
    is_counts_file,
    read_counts,
    read_heading,
    write_counts,
)
from confide.errors import DataFileError, InvalidParameterError
from confide.values.order import natural_order

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

CAREFUL = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.2), name="age")


def keep(path: Path, reports: list[int], contract: cf.Survey = AGES, towns: list[str] | None = None) -> Path:
    """Write a file of counts."""
    by = () if towns is None else ("town",)
    distinct, numbers = np.unique(
        list(zip(towns or [""] * len(reports), reports, strict=True)), axis=0, return_counts=True
    )
    columns = {"report": [int(one) for one in distinct[:, 1]], "count": numbers.tolist()}
    named = {"town": distinct[:, 0].tolist()} if by else {}
    batches = pyarrow.table(named | columns).to_batches()
    write_counts(path, batches, Heading((contract,), by, Account(len(reports))))
    return path


@each("name", FINITE)
def test_a_survey_comes_back_from_its_text(name: str) -> None:
    contract = survey(FINITE[name])
    again = cf.parse_survey(contract.text())
    assert again == contract or name == "matrix"  # matrices are equal only as arrays
    assert again.fingerprint == contract.fingerprint


def test_fingerprints_tell_surveys_apart_and_names_do_not_matter() -> None:
    assert len({survey(text).fingerprint for text in FINITE.values()}) == len(FINITE)
    assert cf.Survey(AGES.mechanism, "years", "Other words").fingerprint == AGES.fingerprint
    assert CAREFUL.fingerprint != AGES.fingerprint


def test_long_surveys_are_kept_whole(tmp_path: Path) -> None:
    many = cf.Survey(cf.RandomizedResponse(cf.Categories([f"v{number}" for number in range(500)]), 1.0))
    write_counts(tmp_path / "c.parquet", [], Heading((many,), (), Account()))
    assert read_heading(tmp_path / "c.parquet").survey == many


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path = keep(tmp_path / "c.parquet", [3, 5, 3], towns=["Oslo", "Rome", "Oslo"])
    counts = read_counts(path)
    assert is_counts_file(path)
    assert counts.heading == Heading((AGES,), ("town",), Account(3))
    assert counts.groups[("Oslo",)][0] == cf.tally([3, 3])
    assert not is_counts_file(tmp_path / "survey.toml")


def test_merging_adds_up(tmp_path: Path) -> None:
    one = keep(tmp_path / "1.parquet", [3, 5, 3])
    other = keep(tmp_path / "2.parquet", [5, 7])
    heading = merge_files([one, other], tmp_path / "all.parquet")
    assert heading.rows == Account(5)
    assert read_counts(tmp_path / "all.parquet").groups[()][0] == cf.tally([3, 5, 3, 5, 7])


def test_merging_groups(tmp_path: Path) -> None:
    one = keep(tmp_path / "1.parquet", [3, 5], towns=["Oslo", "Rome"])
    other = keep(tmp_path / "2.parquet", [3, 4], towns=["Oslo", "Bern"])
    merge_files([one, other], tmp_path / "all.parquet")
    groups = {key: parts[0] for key, parts in read_counts(tmp_path / "all.parquet").groups.items()}
    assert groups == {("Bern",): cf.tally([4]), ("Oslo",): cf.tally([3, 3]), ("Rome",): cf.tally([5])}


def test_counts_of_different_surveys_do_not_add_up(tmp_path: Path) -> None:
    one, other = keep(tmp_path / "1.parquet", [3, 5]), keep(tmp_path / "2.parquet", [3, 5, 5], CAREFUL)
    with pytest.raises(DataFileError, match=r"different surveys .*epsilon=1.0.*epsilon=0.2.* --pool"):
        merge_files([one, other], tmp_path / "all.parquet")
    assert not (tmp_path / "all.parquet").exists()


def test_pooled_counts_are_estimated_as_gibu_does(tmp_path: Path) -> None:
    one, other = keep(tmp_path / "1.parquet", [3, 5]), keep(tmp_path / "2.parquet", [3, 5, 5], CAREFUL)
    merge_files([one, other], tmp_path / "pool.parquet", is_pool=True)
    merge_files(
        [tmp_path / "pool.parquet", keep(tmp_path / "3.parquet", [9], CAREFUL)], tmp_path / "all.parquet", is_pool=True
    )
    counts = read_counts(tmp_path / "all.parquet")
    assert len(counts.heading.surveys) == 2
    found = estimate_file(counts, AGES, cf.IBU()).estimates[()]
    groups = [(cf.tally([3, 5]), AGES.mechanism), (cf.tally([3, 5, 5, 9]), CAREFUL.mechanism)]
    assert counts.pools[()] == groups
    np.testing.assert_allclose(found.distribution, cf.estimate_pool(groups, cf.IBU()).distribution)


@pytest.mark.parametrize("pool", [False, True])
def test_what_can_never_be_merged(tmp_path: Path, pool: bool) -> None:
    one = keep(tmp_path / "1.parquet", [3, 5])
    by_town = keep(tmp_path / "2.parquet", [3], towns=["Oslo"])
    other = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 8), epsilon=1.0))
    elsewhere = keep(tmp_path / "3.parquet", [3], other)
    bits = cf.Survey(cf.Laplace(cf.Integers(0, 9), epsilon=1.0))
    write_counts(tmp_path / "4.parquet", [], Heading((bits,), (), Account()))
    for path, message in (
        (by_town, "by town"),
        (elsewhere, "different surveys|one alphabet"),
        (tmp_path / "4.parquet", "different surveys|other columns"),
        (one, "named 2 times"),
    ):
        with pytest.raises(DataFileError, match=message):
            merge_files([one, path], tmp_path / "all.parquet", is_pool=pool)


def test_names_that_groups_cannot_have() -> None:
    for by in (("report",), ("count",), ("survey",), ("a", "a")):
        with pytest.raises(InvalidParameterError, match="cannot be named by"):
            Heading((AGES,), by, Account())


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"\.parquet, \.csv"):
        write_counts(tmp_path / "c.txt", [], Heading((AGES,), (), Account()))


def test_a_tidy_table_of_groups(tmp_path: Path) -> None:
    path = keep(tmp_path / "c.parquet", [3, 5, 3, 9], towns=["10", "9", "10", "9"])
    found = estimate_file(read_counts(path), AGES, cf.IBU())
    lines = groups_csv(found).splitlines()
    assert lines[0] == "town,age,probability,reports"
    assert len(lines) == 1 + 2 * 10
    assert lines[1].startswith("9,0,"), "numbers stand in the order of numbers"
    assert lines[1].endswith(",2")
    record = groups_record(found)
    assert [one["group"] for one in record["groups"]] == [{"town": "9"}, {"town": "10"}]
    np.testing.assert_allclose(found.overall, np.mean([one.distribution for one in found.estimates.values()], axis=0))


def test_natural_order() -> None:
    assert natural_order([("b", "10"), ("a", "9"), ("b", "9")]) == [("a", "9"), ("b", "9"), ("b", "10")]
    assert natural_order([("10",), ("x",), ("9",)]) == [("10",), ("9",), ("x",)]
    assert natural_order([()]) == [()]


def test_a_kill_leaves_no_output(save: Save, tmp_path: Path) -> None:
    """Killed while it writes, a command leaves neither the output nor anything beside it."""
    code = (
        "import sys, time, pathlib\n"
        "from confide.data.files import whole_file\n"
        "with whole_file(sys.argv[1]) as stream:\n"
        "    stream.write(b'half'); stream.flush()\n"
        "    pathlib.Path(sys.argv[2]).touch(); time.sleep(60)\n"
    )
    target, sign = tmp_path / "out" / "counts.parquet", tmp_path / "writing"
    target.parent.mkdir()
    process = subprocess.Popen([sys.executable, "-c", code, str(target), str(sign)])
    while not sign.exists() and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not target.exists()
    if hasattr(os, "O_TMPFILE"):
        assert list(target.parent.iterdir()) == []

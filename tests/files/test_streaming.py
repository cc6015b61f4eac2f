"""Files larger than memory: read and blurred in batches, with the same result whatever the batches are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide as cf
from confide.data.files import privatize_file, read_values
from confide.data.files.sheets import LIMITS, FileLimits
from confide.data.files.writing import as_lines
from confide.errors import DataFileError

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=90.0), name="age")
"""So sharp that hardly any value moves: what comes out is what went in."""

LINES = ["3", "4", "70", "", "x", '"5"', '"6\n"', "7,8", "\u00e9"]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.sampled_from(LINES), min_size=1, max_size=30),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    block=st.integers(1, 12),
    wide=st.booleans(),
)
@pytest.mark.slow
def test_blocks_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], end: str, block: int, wide: bool
) -> None:
    """Whatever the size of a block, where it cuts, and whether quotation marks turn up in it."""
    path = tmp_path_factory.mktemp("blocks") / "v.csv"
    names, extra = ("age,name", ",z") if wide else ("age", "")
    path.write_text(names + end + "".join(row + extra * bool(row) + end for row in rows), encoding="utf-8", newline="")
    whole = read_values_or_none(path)
    usual, vars(LIMITS)["block"] = LIMITS.block, block
    try:
        cut = read_values_or_none(path)
    finally:
        vars(LIMITS)["block"] = usual
    assert cut == whole


def read_values_or_none(path: Path) -> object:
    try:
        rows = read_values(path, AGES)
    except DataFileError as error:
        return str(error)
    return rows.values.tolist(), rows.account.read, rows.rejected


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz"])
def test_batches_can_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(vars(LIMITS), "block", 100)
    values = np.random.default_rng(1).integers(10, size=5000)
    (tmp_path / "v.csv").write_text("age\n" + "".join(f"{value}\n" for value in values))
    account = privatize_file(tmp_path / "v.csv", tmp_path / name, AGES, keep_order=True).account
    assert (account.read, account.accepted, account.people) == (5000, 5000, 5000)
    content = (tmp_path / name).read_bytes()
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    assert text == "report\n" + "".join(f"{value}\n" for value in values)


def test_a_bad_row_in_the_last_batch_leaves_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "block", 100)
    (tmp_path / "v.csv").write_text("age\n" + "3\n" * 1000 + "x\n")
    with pytest.raises(DataFileError, match=r"1 of 1,001 rows .*\n  .*v.csv, line 1,002: 'x'"):
        privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES)
    assert [one.name for one in tmp_path.iterdir()] == ["v.csv"]
    account = privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES, rejects=tmp_path / "x.csv").account
    assert str(account) == "1,001 rows read = 1,000 accepted + 1 rejected"
    assert (tmp_path / "x.csv").read_text() == f"file,line,text,reason\n{tmp_path}/v.csv,1002,x,not a number\n"


def test_counts_are_spread_over_bounded_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "largest_part", 7)
    (tmp_path / "v.csv").write_text("age,count\n3,20\n4,0\n5,3\n")
    assert privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES).account.people == 23
    assert sorted((tmp_path / "r.csv").read_text().split()) == ["3"] * 20 + ["5"] * 3 + ["report"]
    assert FileLimits().largest_part > 7


def test_parquet_goes_through_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra confide[counting]")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setitem(vars(LIMITS), "parquet_rows", 100)
    values = np.random.default_rng(1).integers(10, size=1000)
    parquet.write_table(pyarrow.table({"age": values, "who": ["x"] * 1000}), tmp_path / "v.parquet")
    account = privatize_file(tmp_path / "v.parquet", tmp_path / "r.parquet", AGES, keep_order=True).account
    assert account.columns == ("age",)
    assert parquet.read_table(tmp_path / "r.parquet").to_pydict() == {"report": values.tolist()}


def test_a_seed_is_one_stream_through_all_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blunt = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.1), name="age")
    (tmp_path / "v.csv").write_text("age\n" + "5\n" * 400)
    monkeypatch.setitem(vars(LIMITS), "block", 100)
    privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", blunt, seed=1)
    reports = (tmp_path / "r.csv").read_text().split()[1:]
    assert reports[:50] != reports[50:100]


def test_lines_of_csv() -> None:
    assert as_lines([np.array(["a", "b,c", 'd"e', ""])]) == 'a\n"b,c"\n"d""e"\n""\n'
    assert as_lines([np.array([1, -3]), np.array([2, 4])]) == "1,2\n-3,4\n"
    assert as_lines([np.array([0.5, -1.25])]) == "0.5\n-1.25\n"
    assert as_lines([np.array([0, 2**62])]) == f"0\n{2**62}\n"
    assert as_lines([np.array([3, 4], dtype=object), np.array(["f", "m, n"], dtype=object)]) == '3,f\n4,"m, n"\n'

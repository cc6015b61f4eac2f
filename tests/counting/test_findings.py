"""Which files are counted, which are left alone, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.counting.conftest import AGES, Save

import confide as cf
from confide.counting.findings import search
from confide.errors import DataFileError

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

pytest_plugins = ["tests.cli.conftest"]


def test_only_reports_are_taken_from_a_folder(save: Save, tmp_path: Path) -> None:
    for name in ("a.csv", "b.tsv", "notes.txt", "README.md", "_SUCCESS", "_part.csv"):
        save("report\n3\n", f"in/{name}")
    found = search([tmp_path / "in"])
    assert [Path(file).name for file in found.files] == ["a.csv", "b.tsv"]
    assert found.notes[0].startswith("skipped 4 files: ")
    assert "notes.txt" in found.notes[0]
    assert cf.count(tmp_path / "in", AGES).total == 2


def test_a_folder_without_reports_is_refused(save: Save, tmp_path: Path) -> None:
    save("report\n3\n", "in/notes.txt")
    with pytest.raises(DataFileError, match=r"no reports in it: skipped 1 file: .*notes\.txt"):
        search([tmp_path / "in"])


@pytest.mark.parametrize(
    ("name", "content"), [("b.csv", "age\n3\n"), ("b.jsonl", '{"hi": 3}\n'), ("b.csv", "value\n3\n")]
)
def test_true_values_are_never_taken_for_reports(save: Save, name: str, content: str) -> None:
    one, other = save("report\n3\n", "a.csv"), save(content, name)
    for paths in ([one, other], [other, one]):
        with pytest.raises(DataFileError, match=rf"but .*{name} has no such column.*--column"):
            cf.count(paths, AGES)


def test_files_that_all_have_one_column_of_the_same_name_are_counted(save: Save) -> None:
    paths = [save("hi\n3\n", "a.csv"), save("hi\n4\n", "b.csv")]
    assert cf.count(paths, AGES).total == 2
    assert cf.count([save("age,report\n1,3\n", "c.csv"), *paths[:0]], AGES, columns="age").total == 1


def test_counts_are_not_counted_again(call: Call, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "r.csv").write_text("report\n3\n")
    assert call("count", "survey.toml", "in/r.csv", "-o", "in/c.parquet").code == 0
    told = "already counted; add counts up with confide merge"
    assert_refused(call("count", "survey.toml", "in/c.parquet", "-o", "d.csv"), 4, f"in/c.parquet is {told}")
    assert_refused(call("count", "survey.toml", "in/*", "-o", "d.csv"), 4, f"in/c.parquet is {told}")
    ending = call("count", "survey.toml", "in", "-o", "d.csv")
    assert ending.code == 0
    assert f"skipped 1 file ({told}): in/c.parquet" in " ".join(ending.err.split())
    assert (folder / "d.csv").read_text() == "report,count\n3,1\n"


def test_a_file_named_twice_is_refused(save: Save, tmp_path: Path) -> None:
    path = save("report\n3\n", "in/a.csv")
    for paths in ([path, path], [path, tmp_path / "in"]):
        with pytest.raises(DataFileError, match="named 2 times"):
            cf.count(paths, AGES)


def test_files_without_rows_are_told(call: Call, folder: Path) -> None:
    for name, text in (("a.csv", "report\n3\n"), ("b.csv", "report\n"), ("c.csv", "")):
        (folder / name).write_text(text)
    ending = call("count", "survey.toml", "a.csv", "b.csv", "c.csv", "-o", "d.csv")
    assert ending.code == 0
    assert "2 of 3 files held no rows: b.csv, c.csv" in " ".join(ending.err.split())

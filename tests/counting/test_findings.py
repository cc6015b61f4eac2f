"""Which files are counted, which are left alone, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.counting.conftest import AGES, Save, rows_of

import confide as cf
from confide.data.counting import Request, open_ledger
from confide.data.counting.sources import search
from confide.errors import DataFileError

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")


def test_only_reports_are_taken_from_a_folder(save: Save, tmp_path: Path) -> None:
    for name in ("a.csv", "b.tsv", "notes.txt", "README.md", "_SUCCESS", "_part.csv"):
        save(f"report\n{ord(name[0]) % 10}\n", f"in/{name}")
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
    assert cf.count([save("age,report\n1,3\n", "c.csv")], AGES, columns="age").total == 1


def test_a_file_named_twice_is_refused(save: Save, tmp_path: Path) -> None:
    path = save("report\n3\n", "in/a.csv")
    for paths in ([path, path], [path, tmp_path / "in"]):
        with pytest.raises(DataFileError, match="named 2 times"):
            cf.count(paths, AGES)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("r.csv", "report,name\n3,Ann\n4,Berta,Secret\n", "'(3 fields where 2 are expected)' (wrong number of fields)"),
        (
            "r.csv",
            'report,name\n3,"Ann"\n4,"Berta",Secret\n',
            "'(3 fields where 2 are expected)' (wrong number of fields)",
        ),
        ("r.jsonl", '{"report": 3}\n{"report": 4, "name": "Secret\n', "'(not JSON)' (not JSON)"),
    ],
)
def test_rows_out_of_shape_do_not_show_who_they_are_about(save: Save, name: str, content: str, expected: str) -> None:
    path = save(content, name)
    with open_ledger(path, Request(AGES.mechanism.report_alphabet)) as ledger:
        (reject,) = ledger.rejects()
        assert str(reject).endswith(f"{path.name}, line {len(content.splitlines())}: {expected}")
        assert ledger.account.accepted == 1


def test_a_category_never_stands_for_a_line_that_is_no_json(save: Save) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["(not JSON)", "yes"]), 1.0))
    counts = cf.count(save('{"report": "(not JSON)"}\nnonsense\n', "r.jsonl"), survey)
    assert (counts.total, {str(why) for why in counts.rows.rejected}) == (1, {"not JSON"})


def test_the_damaged_one_of_several_parquet_files_is_named(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for shift, name in enumerate(("a", "b", "c")):
        table = pyarrow.table({"report": [(place * place + shift) % 10 for place in range(20_000)]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", compression="zstd", use_dictionary=False)
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    content[100:400] = b"x" * 300
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(DataFileError, match=r"b\.parquet"):
        cf.count(tmp_path / "*.parquet", AGES)


def test_frames_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    assert cf.count(pd.Series([3, 4]), AGES).total == 2
    with pytest.raises(DataFileError, match="several columns called 'report'"):
        cf.count(pd.DataFrame([[3, 4]], columns=["report", "report"]), AGES)


@pytest.mark.parametrize(("name", "form"), [("r.csv", "{}\n"), ("r.jsonl", '{{"report": "{}"}}\n')])
def test_whole_numbers_may_have_zeros_after_the_point(save: Save, name: str, form: str) -> None:
    lines = "".join(form.format(text) for text in ("3", "3.0", "+3.", "3.5", "1e1"))
    counts = cf.count(save(("report\n" if name == "r.csv" else "") + lines, name), AGES)
    assert rows_of(counts) == (5, 3, {"not a whole number": 2})
    assert counts.reports.tolist() == [3]

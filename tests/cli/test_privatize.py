"""confide privatize: what is written, what is never written, and what is refused."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

import confide as cf
from confide.data.files import privatize_file, read_metadata
from confide.errors import InvalidParameterError


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_only_reports_are_written(call: Call, folder: Path) -> None:
    ending = call("privatize", "survey.toml", "values.csv", "-o", "out.csv")
    assert ending.code == 0
    assert ending.err == ""
    assert "Wrote 200 reports to out.csv" in ending.out
    header, *reports = rows_of(folder / "out.csv")
    assert header == ["report"]
    assert len(reports) == 200
    assert all(len(report) == 1 and 0 <= int(report[0]) <= 9 for report in reports)
    assert "person" not in (folder / "out.csv").read_text()


def test_a_seed_makes_it_reproducible_and_warns(call: Call, folder: Path) -> None:
    endings = [
        call("privatize", "survey.toml", "values.csv", "-o", f"{name}.csv", "--seed", seed)
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    ]
    assert all(ending.code == 0 and "protect" in ending.err and "Warning" in ending.err for ending in endings)
    a, b, c = ((folder / f"{name}.csv").read_text() for name in "abc")
    assert a == b != c


def test_without_a_seed_runs_differ(call: Call) -> None:
    first, second = (call("privatize", "survey.toml", "values.csv").out for _ in range(2))
    assert first != second


def test_the_order_of_rows_is_not_kept(call: Call, folder: Path) -> None:
    """At an epsilon this large hardly any value moves."""
    (folder / "sharp.toml").write_text((folder / "survey.toml").read_text().replace("1.0", "90.0"))
    values = [str(i % 10) for i in range(200)]
    shuffled = call("privatize", "sharp.toml", "values.csv").out.split()[1:]
    assert shuffled != values
    assert sorted(shuffled) == sorted(values)
    plain = call("privatize", "survey.toml", "values.csv", "-o", "plain.csv", "--json")
    assert (plain.record["order"], plain.err) == ("shuffled", "")
    assert "shuffled, every order equally likely" in call("privatize", "survey.toml", "values.csv", "-o", "a.csv").out
    known = read_metadata("plain.csv")
    assert known is not None
    assert known.order == "shuffled"


def test_the_order_is_kept_in_python_where_it_is_asked_for(folder: Path) -> None:
    (folder / "sharp.toml").write_text((folder / "survey.toml").read_text().replace("1.0", "90.0"))
    sharp = cf.load_survey("sharp.toml")
    done = privatize_file("values.csv", "kept.csv", sharp, keep_order=True)
    assert done.order == "kept"
    assert (folder / "kept.csv").read_text().split() == ["report", *(str(i % 10) for i in range(200))]
    known = read_metadata("kept.csv")
    assert known is not None
    assert known.order == "kept"
    (folder / "counted.csv").write_text("age,count\n3,5\n7,2\n")
    with pytest.raises(InvalidParameterError, match=r"side by side.* Do not keep the order"):
        privatize_file("counted.csv", "out.csv", sharp, keep_order=True)
    assert not (folder / "out.csv").exists()


def test_a_filter_reads_and_writes_standard_streams(call: Call) -> None:
    ending = call("privatize", "survey.toml", "-", stdin="age\n1\n2\n")
    assert ending.code == 0
    assert ending.err.count("\n") == 1
    assert "no metadata" in ending.err
    assert len(ending.out.split()) == 3


def test_json_is_all_there_is_on_standard_output(call: Call) -> None:
    ending = call("privatize", "survey.toml", "values.csv", "-o", "out.csv", "--json", "--seed", "1")
    assert ending.record["reports"] == 200
    assert ending.record["seed"] == 1
    assert ending.record["is_protected"] is False
    assert ending.record["guarantee"] is None
    assert ending.record["rows"] == {
        "source": "values.csv",
        "columns": ["age"],
        "is_counted": False,
        "read": 200,
        "accepted": 200,
        "rejected": 0,
    }


def test_an_output_has_an_ending_or_is_a_device(call: Call, folder: Path) -> None:
    before = sorted(folder.iterdir())
    assert_refused(call("privatize", "survey.toml", "values.csv", "-o", "r"), 2, "r should end in .csv", "the format")
    assert sorted(folder.iterdir()) == before
    ending = call("privatize", "survey.toml", "values.csv", "-o", os.devnull)
    assert ending.code == 0
    assert f"{os.devnull} carries no metadata" in ending.err
    assert "Standard output" not in ending.err


def test_json_and_reports_do_not_mix(call: Call) -> None:
    assert_refused(call("privatize", "survey.toml", "values.csv", "--json"), 2, "standard output", "-o")


def test_a_named_column(call: Call, folder: Path) -> None:
    (folder / "two.csv").write_text("years,months\n1,12\n2,24\n")
    assert call("privatize", "survey.toml", "two.csv", "--column", "years").code == 0
    assert_refused(call("privatize", "survey.toml", "two.csv"), 4, "no column 'age'", "'years', 'months'", "--column")
    ending = call("privatize", "survey.toml", "two.csv", "--column", "yeers")
    assert_refused(ending, 4, "no column 'yeers'", "did you mean 'years'?")


def test_counted_values_stand_for_many_people(call: Call, folder: Path) -> None:
    (folder / "counted.csv").write_text("age,count\n3,5\n4,0\n7,2\n")
    assert len(call("privatize", "survey.toml", "counted.csv").out.split()) == 1 + 7


def test_a_grid_has_two_columns(call: Call, folder: Path) -> None:
    survey = 'name="place"\n[alphabet]\nkind="grid"\nrows=2\ncolumns=3\n[mechanism]\nkind="randomized-response"\n'
    (folder / "grid.toml").write_text(survey + "epsilon=1.0\n")
    (folder / "cells.csv").write_text("who,column,row\nx,2,1\ny,0,0\n")
    ending = call("privatize", "grid.toml", "cells.csv", "-o", "out.csv")
    assert ending.code == 0
    header, *reports = rows_of(folder / "out.csv")
    assert header == ["row", "column"]
    assert all(int(row) < 2 and int(column) < 3 for row, column in reports)
    (folder / "xy.csv").write_text("x,y\n2,1\n")
    assert_refused(call("privatize", "grid.toml", "xy.csv"), 4, "'row' and 'column'")
    assert call("privatize", "grid.toml", "xy.csv", "--column", "y", "--column", "x").code == 0


def test_compressed_files(call: Call, folder: Path) -> None:
    (folder / "values.csv.gz").write_bytes(gzip.compress((folder / "values.csv").read_bytes()))
    assert call("privatize", "survey.toml", "values.csv.gz", "-o", "out.csv.gz").code == 0
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()).startswith(b"report\n")


BAD_VALUES = {
    "outside the alphabet": ("age\n1\n140\n", ["1 of 2 rows", "line 3: '140' (outside the alphabet)", "--rejects"]),
    "far outside": ("age\n1\n99999999999999999999\n", ["outside the alphabet"]),
    "absurdly long": ("age\n1\n" + "9" * 5000 + "\n", ["line 3"]),
    "not a number": ("age\n1\nNaN\n", ["line 3: 'NaN' (not a number)"]),
    "a fraction": ("age\n1.5\n", ["line 2: '1.5' (not a whole number)"]),
    "a decimal comma": ("age\n1,5\n", ["line 2: '(2 fields where 1 is expected)' (wrong number of fields)"]),
    "missing": ("age,name\n,Ann\n", ["line 2: '' (missing)"]),
    "a blank line": ("age\n1\n\n2\n", ["line 3: '' (missing)"]),
    "empty": ("", ["is empty", "header"]),
    "blank": ("\n\n", ["is empty"]),
    "a header alone": ("age\n", ["bad.csv has no rows"]),
    "no header": ("1\n2\n3\n", ["needs a header line", "'1'", "'age'"]),
    "no header, many columns": ("1,Ann\n2,Bob\n", ["needs a header line"]),
    "no header, first value missing": ("NA\n2\n", ["needs a header line"]),
    "no such column": ("ages,name\n1,Ann\n", ["no column 'age'", "did you mean 'ages'?", "'ages', 'name'"]),
    "two such columns": ("age,age\n1,2\n", ["several columns called 'age'"]),
    "negative counts": ("age,count\n1,3\n2,-4\n", ["line 3: '2,-4' (bad count)"]),
    "counts not numbers": ("age,count\n1,many\n2,nan\n3,1e17\n4,inf\n5,\n", ["5 of 5 rows", "'1,many' (bad count)"]),
    "an open quotation mark": ('age\n1\n"2\n3\n', ["not valid CSV", "quotation mark"]),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_values_end_with_four_and_write_nothing(call: Call, folder: Path, name: str) -> None:
    text, words = BAD_VALUES[name]
    (folder / "bad.csv").write_text(text)
    before = sorted(folder.iterdir())
    assert_refused(call("privatize", "survey.toml", "bad.csv", "-o", "out.csv"), 4, "bad.csv", *words)
    assert sorted(folder.iterdir()) == before


def test_only_the_first_ten_bad_rows_are_named(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text("age\n" + "50\n" * 25)
    ending = call("privatize", "survey.toml", "bad.csv")
    assert_refused(ending, 4, "25 of 25 rows", "line 11:", "and 15 more")
    assert "line 12:" not in ending.err


def test_bad_rows_can_be_set_aside(call: Call, folder: Path) -> None:
    good = "".join(f"{i % 10}\n" for i in range(998))
    (folder / "bad.csv").write_text("age\n" + good + "140\n\nNaN\n")
    ending = call("privatize", "survey.toml", "bad.csv", "-o", "out.csv", "--rejects", "rejects.csv")
    assert ending.code == 0
    assert "1,001 rows read = 998 accepted + 3 rejected" in ending.out
    assert len(rows_of(folder / "out.csv")) == 999
    assert rows_of(folder / "rejects.csv") == [
        ["file", "line", "text", "reason"],
        ["bad.csv", "1000", "140", "outside the alphabet"],
        ["bad.csv", "1001", "", "missing"],
        ["bad.csv", "1002", "NaN", "not a number"],
    ]


def test_no_good_row_at_all(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text("age\n140\n")
    ending = call("privatize", "survey.toml", "bad.csv", "-o", "out.csv", "--rejects", "rejects.csv")
    assert_refused(ending, 4, "The only row of bad.csv cannot be used", "Integers(0, 9, unit='year')")
    assert not (folder / "out.csv").exists()


def test_files_that_cannot_be_read(call: Call, folder: Path) -> None:
    (folder / "latin.csv").write_bytes("age\n1\né\n".encode("latin-1"))
    (folder / "torn.csv.gz").write_bytes(gzip.compress(b"age\n1\n")[:-6])
    (folder / "plain.csv.gz").write_bytes(b"age\n1\n")
    assert_refused(call("privatize", "survey.toml", "none.csv"), 4, "no file 'none.csv'")
    assert_refused(call("privatize", "survey.toml", str(folder)), 4, "cannot be read")
    assert_refused(call("privatize", "survey.toml", "latin.csv"), 4, "UTF-8")
    assert_refused(call("privatize", "survey.toml", "torn.csv.gz"), 4, "gzip")
    assert_refused(call("privatize", "survey.toml", "plain.csv.gz"), 4, "cannot be read")


def test_outputs_that_cannot_be_written(call: Call, folder: Path) -> None:
    assert_refused(call("privatize", "survey.toml", "values.csv", "-o", str(folder)), 4, "is a folder")
    assert_refused(call("privatize", "survey.toml", "values.csv", "-o", "no/out.csv"), 4, "no folder 'no'")


def test_an_input_is_never_overwritten(call: Call, folder: Path) -> None:
    before = (folder / "values.csv").read_text()
    assert_refused(call("privatize", "survey.toml", "values.csv", "-o", "./values.csv"), 2, "also an input")
    ending = call("privatize", "survey.toml", "values.csv", "-o", "out.csv", "--rejects", "values.csv")
    assert_refused(ending, 2, "also an input")
    assert (folder / "values.csv").read_text() == before


def test_a_failure_while_writing_leaves_the_old_file(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "out.csv").write_text("old\n")

    def fail(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    ending = call("privatize", "survey.toml", "values.csv", "-o", "out.csv")
    assert_refused(ending, 4, "'out.csv' cannot be written: No space left on device")
    assert (folder / "out.csv").read_text() == "old\n"
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("name", ["x.json", "x.xlsx", "x.tsv"])
def test_endings_of_other_formats_are_refused(call: Call, folder: Path, name: str) -> None:
    assert_refused(call("privatize", "survey.toml", "values.csv", "-o", name), 2, "the ending names the format")
    assert not (folder / name).exists()


def test_values_in_other_formats_are_refused(call: Call, folder: Path) -> None:
    (folder / "v.jsonl").write_text('{"age": 3}\n')
    assert_refused(call("privatize", "survey.toml", "v.jsonl", "-o", "r.csv"), 2, "the ending names the format")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PAR1\x15\x04\x15\xf0\x80\xff rest", "a Parquet file, which cannot be read from a pipe here"),
        (b"\x1f\x8b\x08\x00\x00\xff\xff rest", "a gzip file: name a file that ends in .gz"),
        (b"age\n\xff\xfe\n", "Save it as CSV in UTF-8"),
    ],
    ids=["parquet", "gzip", "other"],
)
def test_other_formats_through_a_pipe_are_named(call: Call, content: bytes, words: str) -> None:
    """A pipe has no ending that tells what it holds."""
    assert_refused(call("privatize", "survey.toml", "-", stdin=content), 4, "standard input is not UTF-8 text", words)

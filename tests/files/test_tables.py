"""Files of values, reports and estimates: every row is accounted for."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey

import confide as cf
from confide.data.files import (
    Reason,
    alphabet_record,
    estimate_csv,
    estimate_record,
    read_report_rows,
    read_values,
    to_json,
    write_reports,
    write_text,
    write_values,
)
from confide.values import BitVectors, Plane

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), name="age")
COLOURS = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "sky blue", "1"]), epsilon=1.0), name="colour")
CELLS = cf.Survey(cf.RandomizedResponse(cf.Grid(2, 3), epsilon=1.0), name="place")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


@pytest.mark.parametrize(
    "content",
    [
        b"age\n3\n5\n",
        b"\xef\xbb\xbfage\n3\n5\n",
        b"age\r\n3\r\n5\r\n",
        b"age\r3\r5\r",
        b"age\n3\n5",
        b"age\n3\n5\n\n\n",
        b"\n\nage\n3\n5\n",
        b"name,age\nAnn,3\nBob,5\n",
        b"name;age\nAnn;3\nBob;5\n",
        b"name\tage\nAnn\t3\nBob\t5\n",
        b'"name", age \n"Ann, the first", 3\n"Bob\nof two lines",+5\n',
        b"value,name\n3,Ann\n5,Bob\n",
        b"years\n3\n5\n",
    ],
)
def test_ways_to_write_the_same_values(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    rows = read_values(file, AGES)
    assert rows.values.tolist() == [3, 5]
    assert (rows.account.read, rows.account.accepted, rows.rejected) == (2, 2, ())


def test_lines_are_counted_as_an_editor_counts_them(file: Path) -> None:
    file.write_text('\nname,age\n"a\nb",3\n"c\nd",70\nx,80\n')
    assert [one.line for one in read_values(file, AGES).rejected] == [5, 7]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",Ann", Reason.MISSING),
        ("  ,Ann", Reason.MISSING),
        ("", Reason.MISSING),
        ("nan,Ann", Reason.NOT_A_NUMBER),
        ("inf,Ann", Reason.NOT_A_NUMBER),
        ("x,Ann", Reason.NOT_A_NUMBER),
        ("3.5,Ann", Reason.NOT_WHOLE),
        ("1e3,Ann", Reason.NOT_WHOLE),
        ("1_0,Ann", Reason.NOT_WHOLE),
        ("10,Ann", Reason.OUTSIDE),
        ("-1,Ann", Reason.OUTSIDE),
        (f"{2**53 + 1},Ann", Reason.OUTSIDE),
        (f"{2**64},Ann", Reason.OUTSIDE),
        ("1", Reason.MISSHAPEN),
        ("1,Ann,3", Reason.MISSHAPEN),
    ],
)
def test_reasons(file: Path, row: str, reason: Reason) -> None:
    file.write_text(f"age,name\n{row}\n3,Zoe\n")
    rows = read_values(file, AGES)
    assert [one.reason for one in rows.rejected] == [reason]
    assert rows.values.tolist() == [3]


def test_categories_are_taken_to_the_letter(file: Path) -> None:
    file.write_text("colour\nred\nsky blue\n1\nRed\nred \n\nblue\n")
    rows = read_values(file, COLOURS)
    assert rows.values.tolist() == ["red", "sky blue", "1"]
    outside = Reason.OUTSIDE
    assert [one.reason for one in rows.rejected] == [outside, outside, Reason.MISSING, outside]


def test_a_headless_file_of_categories_is_refused(file: Path) -> None:
    file.write_text("red\nred\n")
    with pytest.raises(cf.ConfideError, match="needs a header line"):
        read_values(file, COLOURS)


def test_cells(file: Path) -> None:
    file.write_text("row,column,count\n0,0,2\n1,2,3\n2,0,1\n0,,1\n0,x,1\n")
    rows = read_values(file, CELLS)
    assert rows.values.tolist() == [[0, 0]] * 2 + [[1, 2]] * 3
    assert [one.reason for one in rows.rejected] == [Reason.OUTSIDE, Reason.MISSING, Reason.NOT_A_NUMBER]
    assert rows.account.people == 5
    assert rows.tally() == cf.tally([(0, 0), (1, 2)], [2, 3])
    assert rows.distribution().tolist() == [0.4, 0, 0, 0, 0, 0.6]


def test_a_column_called_count_can_be_the_value_itself(file: Path) -> None:
    file.write_text("count\n3\n5\n")
    survey = cf.Survey(AGES.mechanism, name="count")
    assert read_values(file, survey).values.tolist() == [3, 5]
    assert read_values(file, AGES, ["count"]).counts is None


def test_reports_stand_in_a_column_of_that_name(file: Path) -> None:
    file.write_text("age,report\n3,4\n")
    assert read_values(file, AGES).values.tolist() == [3]
    assert read_report_rows(file, AGES).values.tolist() == [4]


def test_one_name_for_each_part(file: Path) -> None:
    file.write_text("row,column\n0,0\n")
    with pytest.raises(cf.ConfideError, match="2 columns, row and column; got 1 name, row"):
        read_values(file, CELLS, ["row"])


@given(
    st.lists(
        st.one_of(
            st.integers(-3, 12).map(str),
            st.text(alphabet=st.characters(exclude_characters='\r\n",;\t\x00', exclude_categories=["Cs"]), max_size=4),
        ),
        min_size=1,
    )
)
def test_every_row_is_accepted_or_rejected(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("rows") / "file.csv"
    path.write_text("age,end\n" + "".join(f"{text},.\n" for text in texts), encoding="utf-8", newline="")
    rows = read_values(path, AGES)
    assert rows.account.read == len(texts) == rows.account.accepted + len(rows.rejected)
    assert [one.line for one in rows.rejected] == [
        line for line, text in enumerate(texts, start=2) if not _is_age(text)
    ]


def _is_age(text: str) -> bool:
    stripped = text.strip()
    return stripped.removeprefix("-").removeprefix("+").isascii() and _as_int(stripped) in range(10)


def _as_int(text: str) -> int | None:
    try:
        return int(text) if "_" not in text else None
    except ValueError:
        return None


@pytest.mark.parametrize("survey", [AGES, COLOURS, CELLS])
@pytest.mark.parametrize("name", ["reports.csv", "reports.csv.gz"])
def test_reports_come_back_as_they_were_written(tmp_path: Path, survey: cf.Survey, name: str) -> None:
    reports = survey.alphabet.decode(np.random.default_rng(1).integers(survey.alphabet.size, size=50))
    write_reports(tmp_path / name, reports, survey, keep_order=True)
    np.testing.assert_array_equal(read_report_rows(tmp_path / name, survey).values, reports)


@pytest.mark.parametrize(
    "text", [*FINITE.values(), *UNBOUNDED.values()], ids=[*FINITE, *(f"unbounded {n}" for n in UNBOUNDED)]
)
def test_every_mechanism_has_reports_that_come_back(file: Path, text: str) -> None:
    contract = survey(text)
    reports = contract.mechanism.privatize(some_values(contract.alphabet), rng=1)
    write_reports(file, reports, contract, keep_order=True)
    rows = read_report_rows(file, contract)
    np.testing.assert_array_equal(rows.values, reports)
    assert (rows.account.read, rows.account.accepted, rows.rejected) == (300, 300, ())
    assert rows.tally() == cf.tally(reports)


def test_distinct_values_are_held_once(file: Path) -> None:
    file.write_text("age,count\n3,2\n+3,1\n4,0\n3,2\n7,-1\n")
    rows = read_values(file, AGES)
    assert len(rows.distinct) == 3
    assert rows.values.tolist() == [3, 3, 3, 3, 3]
    assert rows.tally() == cf.tally([3, 4], [5, 0])
    assert rows.distribution()[3] == 1


def test_an_alphabet_is_described_for_machines() -> None:
    kinds = [alphabet_record(one)["kind"] for one in (cf.Integers(), cf.Grid(2, 2), BitVectors(3), Plane())]
    assert kinds == ["integers", "grid", "bit-vectors", "plane"]


@pytest.mark.parametrize("is_city", [False, True])
def test_a_histogram_comes_back_as_it_was_written(file: Path, is_city: bool) -> None:
    histogram = np.array([3, 0, 1, 0, 0, 2])
    places = cf.Places(south=40.0, west=-74.0, north=40.1, east=-73.8044, rows=2, columns=3) if is_city else None
    write_values(file, CELLS.alphabet, histogram, places)
    assert read_values(file, CELLS).histogram().tolist() == histogram.tolist()


def test_an_estimate_as_csv_and_json() -> None:
    counts = cf.tally([(0, 0), (1, 2)], [30, 10])
    outcome = cf.assess(counts, CELLS.mechanism, cf.Inversion("none"))
    lines = estimate_csv(CELLS, outcome.estimate).splitlines()
    assert lines[0] == "row,column,probability"
    assert [float(line.split(",")[2]) for line in lines[1:]] == outcome.estimate.distribution.tolist()
    record = json.loads(to_json(estimate_record(CELLS, counts, outcome)))
    assert record["log_likelihood"] is None
    assert record["alphabet"]["values"][5] == [1, 2]
    assert record["method"] == "INV"


def test_json_is_strict() -> None:
    record = {"a": math.nan, "b": [math.inf, 1.0], "c": {"d": -math.inf}, "e": "é"}
    assert to_json(record) == '{"a": null, "b": [null, 1.0], "c": {"d": null}, "e": "é"}'


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text() == "new"


def test_a_million_rows_keep_nothing_but_distinct_texts(file: Path) -> None:
    file.write_text("age\n" + "3\n4\n70\n" * 100_000)
    rows = read_values(file, AGES)
    assert (rows.account.read, rows.account.accepted, len(rows.rejected)) == (300_000, 200_000, 100_000)

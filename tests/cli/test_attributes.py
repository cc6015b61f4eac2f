"""Several attributes on the command line: from a file of values to marginals, cross tables and pages."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE

import confide as cf

THREE = 'name = "person"\ntitle = "People"\n' + FINITE["product of three"].replace("epsilon = 0.5", "epsilon = 2.0")


@pytest.fixture
def made(call: Call, folder: Path) -> Path:
    """Return a folder with a survey, values and reports of 3,000 people."""
    (folder / "s.toml").write_text(THREE)
    alphabet = cf.parse_survey(THREE).alphabet
    values = alphabet.decode((np.arange(3000) ** 2) % alphabet.size).tolist()
    # The columns stand in another order than the attributes, and beside one that is not asked for.
    rows = [f"{sex},{number},{age},{row},{column}" for number, (age, row, column, sex) in enumerate(values)]
    (folder / "v.csv").write_text("sex,id,age,home_row,home_column\n" + "\n".join(rows) + "\n")
    call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_marginals_and_cross_tables_in_words_json_csv_and_page(call: Call, made: Path) -> None:
    ending = call(
        "estimate",
        "s.toml",
        "r.csv",
        "--show",
        "age",
        "--show",
        "sex",
        "--show",
        "home,sex",
        "-o",
        "e.csv",
        "-o",
        "e.html",
        "-v",
    )
    assert ending.code == 0
    words = " ".join(ending.out.split())
    assert "Home and sex, in percent, each share with its ends at 95%" in words
    assert "single attributes" in words
    assert "cross tables: " in words
    assert "(1, 2)" in words, "a cell by its label"
    for name in ("e.age.csv", "e.sex.csv", "e.home-sex.csv"):
        assert f"Wrote {name}" in ending.out
    ages, table = read(made / "e.age.csv"), read(made / "e.home-sex.csv")
    assert [row["age"] for row in ages] == ["18", "19", "20"]
    assert sum(float(row["probability"]) for row in ages) == pytest.approx(1)
    assert list(table[0]) == ["home_row", "home_column", "sex", "probability", "low", "high"]
    assert all(float(row["low"]) <= float(row["probability"]) <= float(row["high"]) for row in table)
    page = (made / "e.html").read_text()
    assert "Age, whatever the other attributes are" in page
    assert "Home by sex" in page
    assert page.count("<tr>") > 6
    record = call("estimate", "s.toml", "r.csv", "--show", "sex,home", "--interval", "95% joint", "--json").record
    assert record["marginals"] == {}, "30 combinations are few enough to be shown at once"
    cross = record["cross"][0]
    assert (cross["names"], cross["together"]) == (["sex", "home"], 10)
    assert cross["entries"]["values"][1] == ["f", 0, 2]
    for name, axis in (("sex", 1), ("home", 0)):
        summed = np.reshape(cross["entries"]["estimate"], (2, 5)).sum(axis=axis)
        np.testing.assert_allclose(cross["totals"][name]["estimate"], summed)
        assert all(np.array(cross["totals"][name]["low"]) <= summed + 1e-12)


@pytest.mark.slow
def test_many_combinations_are_shown_attribute_by_attribute(call: Call, folder: Path) -> None:
    call("new", "s.toml", "attributes")
    mechanism = cf.load_survey(folder / "s.toml").mechanism
    reports = mechanism.privatize([(30, "never", "north"), (50, "often", "west")] * 150, rng=1)
    (folder / "r.csv").write_text("age,visits,region\n" + "\n".join(",".join(map(str, one)) for one in reports) + "\n")
    record = call("estimate", "s.toml", "r.csv", "--method", "ibu", "--json").record
    assert list(record["marginals"]) == ["age", "visits", "region"]
    assert record["windows"] is None
    visits = record["marginals"]["visits"]
    assert visits["values"] == ["never", "sometimes", "often"]
    assert visits["windows"]["windows"][0]["query"].startswith("visits == ")
    assert sum(visits["distribution"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--show", "town"], "There is no attribute 'town'; known: age, home, sex"),
        (["--show", "age,age"], "Name attributes, each once"),
        (["--show", "age,"], "--show takes names of columns"),
    ],
)
def test_attributes_that_are_not_there(call: Call, folder: Path, options: list[str], message: str) -> None:
    (folder / "s.toml").write_text(THREE)
    (folder / "r.csv").write_text("age,home_row,home_column,sex\n18,0,0,f\n")
    assert_refused(call("estimate", "s.toml", "r.csv", *options), 2, message)


@pytest.mark.parametrize(
    ("options", "table"),
    [(["--show", "age"], "e.age.csv"), (["--show", "sex,age"], "e.sex-age.csv")],
)
@pytest.mark.parametrize("role", ["survey", "reports", "truth", "output"])
def test_no_table_destroys_an_input(call: Call, made: Path, options: list[str], table: str, role: str) -> None:
    files = {"survey": "s.toml", "reports": "r.csv", "truth": "v.csv", "output": "f.csv"}
    if role != "output":
        (made / files[role]).rename(made / table)
        before = (made / table).read_bytes()
    files[role] = table
    ending = call(
        "estimate", files["survey"], files["reports"], "--truth", files["truth"], *options,
        *("-o", "e.csv", "-o", files["output"], "--method", "ibu"),
    )  # fmt: skip
    assert_refused(ending, 2, "named twice" if role == "output" else "also an input")
    assert not (made / "e.csv").exists()
    assert role == "output" or (made / table).read_bytes() == before


def test_a_survey_of_one_value_has_no_margins(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text('name = "age"\n' + FINITE["truncated-geometric"])
    (folder / "r.csv").write_text("report\n3\n")
    assert_refused(call("estimate", "s.toml", "r.csv", "--show", "age"), 2, "--show age is for surveys of several")


def test_the_promise_is_shown_for_each_attribute_and_for_all(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text(THREE)
    words = " ".join(call("show", "s.toml", "-v").out.split())
    for told in ("for age metric privacy, 2 per year", "for home metric privacy", "for sex local differential privacy"):
        assert told in words
    assert "All three together: an observer who thought any two people equally likely would shift to at most" in words
    assert "3 attributes (30 combinations); age: 3 whole numbers, 18 to 20" in words


DAMAGED = {
    "x,18,0,0": "outside the alphabet",
    "f,18.5,0,0": "not a whole number",
    "f,abc,0,0": "not a number",
    "f,18,0,1": "outside the alphabet",  # a hole
    "f,18,,0": "missing",
    ",17,9,9": "missing",
    "x,17,0.5,9": "outside the alphabet",  # of the first attribute at fault, age
    "f,18,0": "wrong number of fields",
    "f,18,1_0,0": "not a whole number",
}


@pytest.mark.slow
def test_damaged_rows_are_counted_each_for_its_reason(call: Call, folder: Path) -> None:
    """In Python, which reads files of values, and in SQL, which counts reports: the same rows for the same reasons."""
    (folder / "s.toml").write_text(THREE)
    good = ["f,18,0,0", "m,20,1,2", "f, 19 ,1.0,0"]
    (folder / "v.csv").write_text("sex,age,home_row,home_column\n" + "\n".join([*DAMAGED, *good]) + "\n")
    ending = call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--rejects", "bad.csv")
    assert ending.code == 0
    rejected = {row["text"]: row["reason"] for row in read(folder / "bad.csv")}
    assert sorted(rejected.values()) == sorted(DAMAGED.values())
    assert len((folder / "r.csv").read_text().split()) == 1 + len(good)
    counted = call("count", "s.toml", "v.csv", "-o", "c.parquet", "--rejects", "bad2.csv", "--json").record
    assert counted["rows"]["read"] == len(DAMAGED) + len(good)
    assert counted["rows"]["accepted"] + counted["rows"]["rejected"] == counted["rows"]["read"]
    assert sorted(row["reason"] for row in read(folder / "bad2.csv")) == sorted(DAMAGED.values())

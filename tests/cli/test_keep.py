"""confide privatize --keep: columns carried along as they are, beside their reports, and what is said of them."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import SURVEY, Call, assert_refused

import confide as cf
from confide.data.files import privatize_file, read_metadata
from confide.data.files.sheets import LIMITS

pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

TEXTS = [
    "Oslo",
    "Rome, Italy",
    'the "old" town',
    "two\nlines",
    "a\rb\r\nc",
    "",
    " padded ",
    "Ærø 東京",
    "=1+1",
    "'",
    "7",
]
"""Names of places as files have them: all of them must come back to the letter."""

EVERY_FORMAT = pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet"])


@pytest.fixture(autouse=True)
def sharp(folder: Path) -> None:
    """A survey so sharp that hardly any value moves, so that it can be seen whose report stands where."""
    (folder / "sharp.toml").write_text(SURVEY.replace("1.0", "90.0"))


def write_people(path: Path, cities: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["city", "age", "who"])
        writer.writerows([city, place % 10, f"person {place}"] for place, city in enumerate(cities))


def read_rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(parquet.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@EVERY_FORMAT
@pytest.mark.parametrize("memory", [2**26, 1000])
def test_columns_stay_beside_their_reports(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, form: str, memory: int
) -> None:
    """Whatever the texts, and whether they go through memory or through a file."""
    monkeypatch.setitem(vars(LIMITS), "memory", memory)
    write_people(folder / "p.csv", TEXTS * 40)
    assert call("privatize", "sharp.toml", "p.csv", "--keep", "city,who", "-o", f"r.{form}").code == 0
    rows = read_rows(folder / f"r.{form}")
    assert list(rows[0]) == ["report", "city", "who"]
    places = [int(row["who"].removeprefix("person ")) for row in rows]
    assert sorted(places) == list(range(len(TEXTS) * 40)) != places
    assert all(row["city"] == TEXTS[place % len(TEXTS)] for row, place in zip(rows, places, strict=True))
    assert all(int(row["report"]) == place % 10 for row, place in zip(rows, places, strict=True))


@EVERY_FORMAT
def test_groups_are_counted_and_estimated_from_what_is_kept(call: Call, folder: Path, form: str) -> None:
    write_people(folder / "p.csv", TEXTS * 40)
    assert call("privatize", "sharp.toml", "p.csv", "--keep", "city", "-o", f"r.{form}").code == 0
    counted = call("count", "sharp.toml", f"r.{form}", "--by", "city", "-o", "c.parquet", "--json").record
    assert (counted["groups"], counted["reports"]) == (len(TEXTS), len(TEXTS) * 40)
    ending = call("estimate", "sharp.toml", "c.parquet", "--method", "ibu", "--json")
    assert ending.code == 0
    names = {one["group"]["city"] for one in ending.record["groups"]}
    # Groups are told apart to the letter; one without a name may be an empty text or nothing.
    assert {name or "" for name in names} == set(TEXTS)


@EVERY_FORMAT
@pytest.mark.slow
def test_two_columns_of_groups(call: Call, folder: Path, form: str) -> None:
    rows = [f"{place % 10},{'ab'[place % 2]},{place % 3}" for place in range(600)]
    (folder / "p.csv").write_text("age,city,week\n" + "\n".join(rows) + "\n")
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "city", "--keep", "week", "-o", f"r.{form}")
    assert ending.code == 0
    assert "city and week, which are NOT blurred (6 groups); the promise is about age alone" in ending.out
    assert ending.err == ""
    assert call("count", "survey.toml", f"r.{form}", "--by", "city,week", "-o", "c.parquet").code == 0
    assert len(call("estimate", "survey.toml", "c.parquet", "--method", "ibu", "--json").record["groups"]) == 6


def test_types_of_parquet_survive(call: Call, folder: Path) -> None:
    day = dt.date(2026, 1, 1)
    columns = {
        "age": [3, 4, 5, None],
        "week": pyarrow.array([1, None, 3, 4], pyarrow.int16()),
        "day": [day, None, day, day],
        "time": [dt.datetime(2026, 1, 1, 10, 30), None, None, None],
        "price": [Decimal("1.50"), None, Decimal("-2.25"), None],
        "is_new": [True, False, None, True],
        "city": pyarrow.array(["Oslo", None, "Rome\n", "x"]).dictionary_encode(),
        "share": [0.5, float("nan"), None, 1.0],
    }
    parquet.write_table(pyarrow.table(columns), "p.parquet")
    kept = "week,day,time,price,is_new,city,share"
    for form in ("parquet", "jsonl", "csv"):
        ending = call("privatize", "sharp.toml", "p.parquet", "--keep", kept, "--rejects", "x.csv", "-o", f"r.{form}")
        assert ending.code == 0
    table = parquet.read_table("r.parquet").sort_by("report")
    before = parquet.read_table("p.parquet").slice(0, 3)
    for name in kept.split(","):
        plain = pyarrow.string() if name == "city" else before.schema.field(name).type
        assert table.schema.field(name).type == plain
        assert str(table.column(name).to_pylist()) == str(before.column(name).to_pylist())
    first = min(read_rows(folder / "r.jsonl"), key=lambda row: row["report"])
    assert first == {"report": 3, "week": 1, "day": "2026-01-01", "time": "2026-01-01 10:30:00", "price": "1.50"} | {
        "is_new": True,
        "city": "Oslo",
        "share": 0.5,
    }
    rows = sorted(read_rows(folder / "r.csv"), key=lambda row: row["report"])
    assert [row["is_new"] for row in rows] == ["true", "false", ""]
    assert [row["city"] for row in rows] == ["Oslo", "", "Rome\n"]


def test_a_count_carries_its_columns_to_every_person(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "largest_part", 4)
    (folder / "p.csv").write_text("city,age,count\nOslo,3,5\nRome,4,0\nBern,5,1\nOslo,6,3\n")
    ending = call("privatize", "sharp.toml", "p.csv", "--keep", "city", "-o", "r.csv", "--json")
    assert ending.record["kept"] == {"columns": ["city"], "is_blurred": False, "groups": 2} | {
        "people_alone": 1,
        "people_in_small_groups": 9,
    }
    rows = sorted((row["city"], row["report"]) for row in read_rows(folder / "r.csv"))
    assert rows == [("Bern", "5"), *[("Oslo", "3")] * 5, *[("Oslo", "6")] * 3]


def test_rejected_rows_take_their_columns_with_them(call: Call, folder: Path) -> None:
    (folder / "p.csv").write_text('age,city\n3,a\n140,b\n4,c\n5\n6,"d"\n')
    assert call("privatize", "sharp.toml", "p.csv", "--keep", "city", "--rejects", "x.csv", "-o", "r.csv").code == 0
    assert sorted((row["report"], row["city"]) for row in read_rows(folder / "r.csv")) == [
        ("3", "a"),
        ("4", "c"),
        ("6", "d"),
    ]


def test_people_who_stand_alone_are_counted(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "p.csv").write_text("age,city,week\n1,a,1\n2,a,1\n3,a,2\n4,b,1\n5,b,1\n6,b,3\n")
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "city,week", "-o", "r.csv")
    told = "2 of 6 people stand alone by city and week: nobody else has the same there"
    assert told in " ".join(ending.err.split())
    assert "alone" not in call("privatize", "survey.toml", "p.csv", "--keep", "city", "-o", "r.csv").err
    monkeypatch.setitem(vars(LIMITS), "most_groups", 2)
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "city,week", "-o", "r.csv")
    assert "more than 2 groups: many stand alone" in " ".join(ending.err.split())
    assert "more than 2 groups" in ending.out


def test_small_groups_may_give_back_the_order(call: Call, folder: Path) -> None:
    """Two people to each number of a sorted file: sorting by it undoes the shuffle."""
    rows = [f"{place // 20},{place // 2},{place % 2}" for place in range(200)]
    (folder / "p.csv").write_text("age,rank,town\n" + "\n".join(rows) + "\n")
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "rank,town", "-o", "r.csv")
    assert ending.code == 4  # a rank of two people of one age tells the age, which is another matter
    rows = [f"{place % 10},{place // 2},{place % 2}" for place in range(200)]
    (folder / "p.csv").write_text("age,rank,town\n" + "\n".join(rows) + "\n")
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "rank", "-o", "r.csv")
    told = " ".join(ending.err.split())
    assert "200 of 200 people are in groups of fewer than 10 by rank" in told
    assert "gives back the order that was shuffled away" in told
    assert "shuffled, but rank may give it back" in ending.out
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "town", "-o", "r.csv")
    assert ending.err == ""
    assert "every order equally likely" in ending.out


AGES = [place * 7 % 10 for place in range(400)]

COLUMNS: dict[str, tuple[list[Any], bool]] = {
    "a copy": (AGES, True),
    "a code": ([f"x{7 * age % 10}" for age in AGES], True),
    "a copy with an error": ([*AGES[:33], AGES[33] ^ 1, *AGES[34:]], True),
    "with many errors": ([age if place % 13 else 0 for place, age in enumerate(AGES)], False),
    "coarser": ([age // 2 for age in AGES], False),
    "one for each person": (list(range(400)), False),
    "nothing": (["x"] * 400, False),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_that_tells_the_values_is_refused(call: Call, folder: Path, name: str, form: str) -> None:
    other, is_refused = COLUMNS[name]
    columns = {"age": AGES, "town": [str(place % 3) for place in range(400)], "other": other}
    if form == "parquet":
        parquet.write_table(pyarrow.table(columns), "p.parquet")
    else:
        rows = "".join(",".join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True))
        (folder / "p.csv").write_text(",".join(columns) + "\n" + rows)
    before = sorted(folder.iterdir())
    ending = call("privatize", "survey.toml", f"p.{form}", "--keep", "town,other", "-o", "r.csv")
    if is_refused:
        assert_refused(ending, 4, "Column 'other'", "tells the value outright", "400 people", "make it coarser")
        assert sorted(folder.iterdir()) == before
    else:
        assert ending.code == 0


def test_two_columns_may_tell_the_values_together(call: Call, folder: Path) -> None:
    rows = "".join(f"{place % 10},{place % 2},{place % 5}\n" for place in range(400))
    (folder / "p.csv").write_text("age,odd,rest\n" + rows)
    ending = call("privatize", "survey.toml", "p.csv", "--keep", "odd,rest", "-o", "r.csv")
    assert_refused(ending, 4, "Columns 'odd' and 'rest' of p.csv", "400 of 400 people")
    assert call("privatize", "survey.toml", "p.csv", "--keep", "rest", "-o", "r.csv").code == 0


def test_people_of_one_value_are_told_apart_by_nothing(call: Call, folder: Path) -> None:
    (folder / "p.csv").write_text("age,town,count\n3,a,500\n3,b,400\n4,b,2\n")
    assert call("privatize", "survey.toml", "p.csv", "--keep", "town", "-o", "r.csv").code == 0
    (folder / "p.csv").write_text("age,town,count\n3,a,500\n4,b,400\n4,a,2\n")
    assert_refused(call("privatize", "survey.toml", "p.csv", "--keep", "town", "-o", "s.csv"), 4, "900 of 902 people")


def test_metadata_name_what_is_kept(call: Call, folder: Path) -> None:
    write_people(folder / "p.csv", ["a", "b"] * 10)
    for form in ("csv", "parquet"):
        assert call("privatize", "survey.toml", "p.csv", "--keep", "city", "-o", f"r.{form}").code == 0
        facts = read_metadata(folder / f"r.{form}")
        assert facts is not None
        assert (facts.kept, facts.order, facts.reports) == (("city",), "shuffled", 20)
    assert call("estimate", "survey.toml", "r.csv").code == 0


def test_a_pipe_says_what_is_kept(call: Call) -> None:
    ending = call("privatize", "survey.toml", "-", "--keep", "city", stdin="age,city\n1,a\n2,a\n")
    assert ending.out.startswith("report,city\n")
    assert "city, which is NOT blurred (1 group)" in ending.err


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        ("age", 4, ["Column 'age' of p.csv says the values", "not blurred"]),
        ("count", 2, ["'count' cannot be kept", "a report of their own"]),
        ("report", 2, ["'report' cannot be kept", "Rename it"]),
        ("city,city", 2, ["'city' is to be kept twice"]),
        ("citty", 4, ["no column 'citty'", "did you mean 'city'?", "--keep"]),
        ("CITY", 4, ["no column 'CITY'", "did you mean 'city'?", "--keep"]),
        ("", 2, ["--keep takes names of columns, such as city,week; got ''"]),
        ("city,", 2, ["--keep takes names of columns, such as city,week; got 'city,'"]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_that_cannot_be_kept(
    call: Call, folder: Path, names: str, code: int, words: list[str], form: str
) -> None:
    columns = {"age": [1, 2], "city": ["a", "b"], "report": [1, 2]}
    if form == "csv":
        (folder / "p.csv").write_text("age,city,report\n1,a,1\n2,b,2\n")
    else:
        parquet.write_table(pyarrow.table(columns), "p.parquet")
    before = sorted(folder.iterdir())
    ending = call("privatize", "survey.toml", f"p.{form}", "--keep", names, "-o", "r.csv")
    assert_refused(ending, code, *(word.replace("p.csv", f"p.{form}") for word in words))
    assert sorted(folder.iterdir()) == before


def test_lists_cannot_be_kept(call: Call) -> None:
    parquet.write_table(pyarrow.table({"age": [1, 2], "city": [["a"], ["b"]]}), "p.parquet")
    ending = call("privatize", "survey.toml", "p.parquet", "--keep", "city", "-o", "r.csv")
    assert_refused(ending, 4, "Column 'city' of p.parquet holds list", "numbers, texts or times")


@pytest.mark.usefixtures("call")
def test_the_order_can_be_kept_along(folder: Path) -> None:
    write_people(folder / "p.csv", TEXTS)
    privatize_file("p.csv", "r.csv", cf.load_survey("sharp.toml"), keep=["city"], keep_order=True)
    assert [row["city"] for row in read_rows(folder / "r.csv")] == TEXTS


def test_a_grid_keeps_its_columns_apart(call: Call, folder: Path) -> None:
    survey = 'name="place"\n[alphabet]\nkind="grid"\nrows=2\ncolumns=3\n[mechanism]\nkind="randomized-response"\n'
    (folder / "grid.toml").write_text(survey + "epsilon=90.0\n")
    (folder / "cells.csv").write_text("week,column,row\n1,2,1\n2,0,0\n")
    assert_refused(call("privatize", "grid.toml", "cells.csv", "--keep", "row", "-o", "r.csv"), 2, "'row'")
    assert call("privatize", "grid.toml", "cells.csv", "--keep", "week", "-o", "r.csv").code == 0
    assert sorted(tuple(row.values()) for row in read_rows(folder / "r.csv")) == [("0", "0", "2"), ("1", "2", "1")]
    np.testing.assert_array_equal(sorted(read_rows(folder / "r.csv")[0]), ["column", "row", "week"])

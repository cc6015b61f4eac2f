"""The counting query in other dialects counts the same, and histograms of secure sums are counts."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from tests.collector.killing import postgres
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.data.counting import DIALECTS, Request, histogram_of, in_dialect, plan_query
from confide.errors import DataFileError

sqlglot = pytest.importorskip("sqlglot", reason="needs the extra confide[sql]")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), name="age")
CITIES = cf.Survey(cf.RandomizedResponse(cf.Categories(["Oslo", "Bern"]), epsilon=1.0), name="city")
ROWS = [("a", "3"), ("a", "3"), ("b", "12"), ("b", None), ("a", "0"), ("b", "9"), ("b", "-1")]


def query(survey: cf.Survey, by: tuple[str, ...] = ()) -> str:
    return plan_query([], Request(survey.mechanism.report_alphabet, (), by)).explained_text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("survey", [AGES, CITIES], ids=["ages", "cities"])
def test_every_dialect_reads_its_query(survey: cf.Survey, dialect: str) -> None:
    written = in_dialect(query(survey, ("town",)), dialect)
    (parsed,) = sqlglot.parse(written, read=dialect)
    assert {one.name for one in parsed.find_all(sqlglot.exp.Table)} >= {"reports"}
    assert next(one.alias_or_name for one in parsed.selects) == "outcome"


@pytest.mark.slow
def test_postgresql_counts_as_duckdb_does() -> None:
    import psycopg

    text = query(AGES, ("town",))
    with postgres() as address, psycopg.connect(address, autocommit=True) as there:
        there.execute("CREATE TABLE reports (by0 TEXT, part0 INTEGER)")
        there.cursor().executemany("INSERT INTO reports VALUES (%s, %s)", ROWS)
        found = there.execute(in_dialect(text, "postgres").encode()).fetchall()
    with duckdb.connect() as here:
        here.execute("CREATE TABLE reports (by0 TEXT, part0 INTEGER)")
        here.executemany("INSERT INTO reports VALUES (?, ?)", ROWS)
        expected = here.execute(text).fetchall()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert sum(row[-1] for row in found) == 4  # accepted: 3, 3, 0, 9


def test_a_histogram_is_counts(tmp_path: Path) -> None:
    reports = AGES.privatize(np.arange(10).repeat(20), rng=3)
    numbers = np.bincount(reports, minlength=10).tolist()
    place, survey = tmp_path / "sum.json", tmp_path / "survey.toml"
    place.write_text(json.dumps(numbers))
    survey.write_text(AGES.text())
    assert histogram_of(str(place), AGES) == cf.tally(reports)
    told = CliRunner().invoke(app, ["count", str(survey), str(place), "-o", str(tmp_path / "c.parquet")])
    assert told.exit_code == 0, told.output
    assert "200, from a histogram" in told.output
    kept = cf.load_counts(tmp_path / "c.parquet")
    assert isinstance(kept, cf.Counts)
    assert (kept.reports.tolist(), kept.counts.tolist()) == (
        [place for place, number in enumerate(numbers) if number],
        [number for number in numbers if number],
    )
    refused = CliRunner().invoke(
        app, ["count", str(survey), str(place), "--by", "town", "-o", str(tmp_path / "d.parquet")]
    )
    assert "no groups" in refused.output


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([1, 2], "2 numbers, and the survey has 10"), ([1] * 9 + [-4], "number 10 is -4"), ([2**60] * 10, "number 1 is")],
)
def test_a_histogram_that_is_none_is_refused(numbers: list[int], said: str, tmp_path: Path) -> None:
    (tmp_path / "sum.json").write_text(json.dumps(numbers))
    with pytest.raises(DataFileError, match=said):
        histogram_of(str(tmp_path / "sum.json"), AGES)


@pytest.mark.parametrize("text", ['{"report": 3}\n', "[[1, 2]]", "[", '[{"report": 3}]', "[]", "[1.5]", "[true]"])
def test_what_is_no_histogram_is_read_as_reports(text: str, tmp_path: Path) -> None:
    (tmp_path / "sum.json").write_text(text)
    assert histogram_of(str(tmp_path / "sum.json"), AGES) is None

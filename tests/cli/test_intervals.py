"""confide estimate --interval and --query: what is shown, what is written, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import SURVEY, Call, assert_refused

import confide as cf

ESTIMATE = ("estimate", "survey.toml", "reports.csv", "--method", "ibu")


def test_intervals_for_machines(call: Call) -> None:
    record = call(*ESTIMATE, "--interval", "0.9", "--query", "age >= 5", "--query", "age in {1, 2}", "--json").record
    low, high = (np.array(record["interval"][end]) for end in ("low", "high"))
    shares = np.array(record["distribution"])
    assert record["interval"]["level"] == 0.9
    assert (low <= shares).all()
    assert (shares <= high).all()
    assert "solved again by IBU" in record["interval"]["rests_on"]
    assert [one["query"] for one in record["queries"]] == ["age >= 5", "age in {1, 2}"]
    for one in record["queries"]:
        assert 0 <= one["low"] < one["estimate"] < one["high"] <= 1
        assert one["level"] == 0.9
        assert one["undetermined"] is None
        assert "likelihood" in one["rests_on"]


def test_without_the_options_nothing_is_asked(call: Call) -> None:
    record = call(*ESTIMATE, "--json").record
    assert record["interval"] is None
    assert record["queries"] == []


def test_a_query_alone_is_answered_at_95_percent(call: Call) -> None:
    record = call(*ESTIMATE, "--query", "age >= 5", "--json").record
    assert record["interval"] is None
    assert record["queries"][0]["level"] == 0.95


def test_the_same_command_prints_the_same(call: Call) -> None:
    first, second = (call(*ESTIMATE, "--interval", "0.95", "--json").record["interval"] for _ in range(2))
    assert first == second


def test_intervals_for_people(call: Call) -> None:
    ending = call(*ESTIMATE, "--interval", "0.95", "--query", "age >= 5", "--truth", "values.csv", "-v")
    assert ending.err == ""
    for words in ("share", "truth", "are 5 or older (95% confidence: ", "single values: 500 replicates"):
        assert words in ending.out
    assert "shares: the likelihood" in ending.out


def test_joint_answers_say_so_everywhere(call: Call, folder: Path) -> None:
    asked = (*ESTIMATE, "--query", "age >= 5", "--query", "age < 3", "--query", "mean")
    alone = call(*asked, "--json").record
    joint = call(*asked, "--interval", "95% joint", "--json").record
    for one, other in zip(alone["queries"] + alone["statistics"], joint["queries"] + joint["statistics"], strict=True):
        assert (one["together"], other["together"]) == (1, 3)
        assert one["level"] == other["level"] == 0.95
        assert other["high"] - other["low"] > one["high"] - one["low"]
        assert "all together have 95%" in other["rests_on"]
    assert "95% confidence for all 3 together" in call(*asked, "--interval", "0.95 joint", "-o", "page.html").out
    assert "95% confidence for all 3 together" in (folder / "page.html").read_text()


@pytest.fixture
def hump(folder: Path) -> tuple[str, ...]:
    """Return a command over forty values whose reports do fit."""
    (folder / "hump.toml").write_text(SURVEY.replace("high = 9", "high = 39"))
    mechanism = cf.load_survey(folder / "hump.toml").mechanism
    reports = mechanism.privatize(np.random.default_rng(1).binomial(39, 0.4, 3_000), rng=2)
    (folder / "hump.csv").write_text("report\n" + "".join(f"{one}\n" for one in reports.tolist()))
    return ("estimate", "hump.toml", "hump.csv", "--method", "ibu")


def test_what_comes_unasked_is_at_the_level_by_itself_and_what_is_asked_at_the_joint_one(
    call: Call, hump: tuple[str, ...]
) -> None:
    asked = (*hump, "--query", "age >= 20", "--query", "age < 15")
    alone, joint = (call(*asked, "--interval", level, "--json").record for level in ("80%", "80% joint"))
    assert [one["query"] for one in joint["statistics"]] == ["median", "mean"]
    assert joint["statistics"] == alone["statistics"]
    for one, other in zip(alone["queries"], joint["queries"], strict=True):
        assert one["level"] == other["level"] == 0.8
        assert (one["together"], other["together"]) == (1, 2)
        assert other["low"] < one["low"] < one["high"] < other["high"]


@pytest.mark.slow
def test_median_mean_and_windows_come_first_and_unbidden(call: Call, hump: tuple[str, ...]) -> None:
    record = call(*hump, "--query", "age >= 20", "--interval", "0.9", "--json").record
    assert [one["query"] for one in record["statistics"]] == ["median", "mean"]
    found = record["windows"]["windows"]
    assert [value for one in found for value in one["values"]] == list(range(40))
    assert len(found) > 2
    assert all(one["low"] <= one["estimate"] <= one["high"] for one in found)
    assert all(one["level"] == 0.9 for one in found)
    out = call(*hump, "--query", "age >= 20", "--interval", "0.9", "-v").out
    lines = out.splitlines()
    order = [
        next(place for place, line in enumerate(lines) if line.lstrip().startswith(word))
        for word in (
            "Ages",
            "About",
            "Median",
            "Mean",
            found[1]["label"],
            "Goodness",
            "Reports",
            "Method",
            "Fit",
            "Intervals",
        )
    ]
    assert order == sorted(order)
    line = next(line for line in lines if line.strip().startswith(found[1]["label"]))
    low, high = (re.escape(f"{100 * found[1][end]:.0f}") for end in ("low", "high"))
    assert re.search(rf"\({low}\b[.\d]*% to {high}\b[.\d]*%\)", line)
    assert "ranges. Each share is known to within ±50% (90%" in out
    assert "quantiles, mean, shares and ranges: the likelihood" in out
    assert "single values: " in call(*hump, "--interval", "0.9", "--show", "all", "-v").out


def test_reports_that_do_not_fit_get_only_what_was_asked_for(call: Call) -> None:
    ending = call(*ESTIMATE, "--query", "age >= 5", "-v")
    assert "none for ranges: the reports do not come from this mechanism" in ending.out
    assert "Median" not in ending.out
    record = call(*ESTIMATE, "--json").record
    assert record["windows"] is None
    assert record["statistics"] == []


def test_it_is_said_beforehand_where_windows_take_long(
    call: Call, hump: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.cli.estimate.SOON", 30)
    assert "ranges that these reports resolve among 40 values. This may take a minute" in call(*hump).err


@pytest.mark.slow
def test_files_hold_them(call: Call, folder: Path) -> None:
    outputs = ("-o", "out.csv", "-o", "out.json", "-o", "out.html")
    assert call(*ESTIMATE, "--interval", "0.95", "--query", "age >= 5", *outputs).code == 0
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == ["age", "probability", "low", "high"]
    assert all(float(row["low"]) <= float(row["probability"]) <= float(row["high"]) for row in rows)
    record = json.loads((folder / "out.json").read_text())
    assert record["interval"]["low"] == [float(row["low"]) for row in rows]
    page = (folder / "out.html").read_text()
    assert "How sure is it?" in page
    assert "the share of age &gt;= 5" in page
    assert call(*ESTIMATE, "-o", "plain.csv").code == 0
    assert (folder / "plain.csv").read_text().splitlines()[0] == "age,probability"


@pytest.mark.slow
def test_a_column_called_low_is_not_written_twice(call: Call, folder: Path) -> None:
    (folder / "low.toml").write_text(SURVEY.replace('name = "age"', 'name = "low"'))
    assert call("estimate", "low.toml", "reports.csv", "--interval", "0.9", "-o", "low.csv").code == 0
    assert (folder / "low.csv").read_text().splitlines()[0] == "value,probability,low,high"


@pytest.mark.parametrize("level", ["0", "1", "95", "-0.5", "nan"])
def test_a_level_that_is_none_is_refused(call: Call, level: str) -> None:
    words = "'nan': a number is needed" if level == "nan" else "--interval must lie between 0 and 1"
    assert_refused(call(*ESTIMATE, f"--interval={level}"), 2, words)


@pytest.mark.parametrize("query", ["agee > 3", "age >", "age > 100", "age == yes"])
def test_a_query_that_makes_no_sense_is_refused(call: Call, query: str) -> None:
    assert_refused(call(*ESTIMATE, "--query", query), 2, "query")


def test_what_is_not_identified_is_said(call: Call, folder: Path) -> None:
    survey = """
name = "answer"
title = "A blurred question"
[alphabet]
kind = "categories"
values = ["a", "b", "c"]
[mechanism]
kind = "matrix"
matrix = [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]]
"""
    (folder / "blurred.toml").write_text(survey)
    (folder / "blurred.csv").write_text("report,count\na,100\nb,400\nc,100\n")
    ending = call("estimate", "blurred.toml", "blurred.csv", "--query", "answer == a", "--query", "answer == b", "-v")
    assert ending.code == 0
    assert "0.00% to 29.17% explain the reports equally well" in ending.out
    assert "no number of reports would settle it" in ending.out

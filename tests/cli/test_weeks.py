"""The same people every week, with permanent noise: repeats are counted within a group, and weeks keep their order."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each
from tests.cli.conftest import Call

import confide as cf
from confide.data.files import Account, CountsFile, Heading, read_counts, save_counts, shown_order
from confide.values.order import natural_order

SURVEY = """name = "answer"
[alphabet]
kind = "categories"
values = ["yes", "no"]
[mechanism]
kind = "randomized-response"
epsilon = 3.0
[limits]
noise = "permanent"
"""
PEOPLE = 600
YES = {"2026-W09": 120, "2026-W10": 120, "2026-W11": 240, "2026-W2": 120}
WEEKS = ["2026-W2", "2026-W09", "2026-W10", "2026-W11"]


@pytest.fixture
def weeks(call: Call, folder: Path) -> Path:
    """Write four weeks of the same people, one file each; more of them say yes in the last."""
    (folder / "s.toml").write_text(SURVEY)
    for number, (week, yes) in enumerate(YES.items()):
        rows = [f"{'yes' if one < yes else 'no'},{week},{one + 1:032x},'Oslo, Norway'" for one in range(PEOPLE)]
        (folder / "v.csv").write_text("\n".join(["answer,week,own,place", *rows]).replace("'", '"') + "\n")
        ending = ("csv", "jsonl", "parquet", "csv")[number]
        keep = "week,place" if number == 3 else "week"  # a quotation mark: Python reads that file, and not DuckDB
        arguments = ("--secret", "own", "--keep", keep, "-o", f"w{number}.{ending}")
        assert call("privatize", "s.toml", "v.csv", *arguments).code == 0
    return folder


def test_repeats_of_a_week_are_the_files_of_that_week(call: Call, weeks: Path) -> None:
    assert (
        call("count", "s.toml", "w0.csv", "w1.jsonl", "w2.parquet", "w3.csv", "--by", "week", "-o", "c.parquet").code
        == 0
    )
    found = read_counts(weeks / "c.parquet")
    assert [key for (key,) in groups_of(found)] == WEEKS
    assert {key: one.repeats for key, one in groups_of(found).items()} == {(week,): 1 for week in WEEKS}
    assert (found.merged.repeats, found.merged.total) == (4, 4 * PEOPLE)
    assert found.of_different_people().merged.repeats == 1
    record = call("estimate", "s.toml", "c.parquet", "--query", "answer == yes", "--json").record
    assert [one["group"]["week"] for one in record["groups"]] == WEEKS
    assert [one["reports"] for one in record["groups"]] == [PEOPLE] * 4
    assert [one["difference"]["is_different"] for one in record["groups"]] == [False, False, False, True]
    # As wide as the week's own file gives, and twice as wide where four files were taken for its own.
    alone = call("estimate", "s.toml", "w0.csv", "--query", "answer == yes", "--json").record["queries"][0]
    own = record["groups"][1]["answers"][0]
    assert (own["low"], own["high"]) == pytest.approx((alone["low"], alone["high"]))
    diagnosis = call("diagnose", "s.toml", "c.parquet")
    assert "4 of these reports" in " ".join(diagnosis.out.split())


def test_every_output_keeps_the_order_of_weeks(call: Call, weeks: Path) -> None:
    call("count", "s.toml", "w*", "--by", "week", "-o", "c.parquet")
    shown = call("estimate", "s.toml", "c.parquet", "--query", "answer == yes", "-o", "p.html", "-o", "p.csv")
    assert in_order(shown.out.partition("against the others")[2]) == WEEKS
    page = (weeks / "p.html").read_text()
    assert in_order(page.partition("<tbody>")[2].partition("</tbody>")[0]) == WEEKS
    assert in_order((weeks / "p.csv").read_text()) == WEEKS
    assert in_order(call("diagnose", "s.toml", "c.parquet").out.partition("against the others")[2]) == WEEKS
    call("diagnose", "s.toml", "c.parquet", "-o", "d.html")
    assert in_order((weeks / "d.html").read_text().partition(">The groups<")[2]) == WEEKS


def groups_of(file: CountsFile) -> cf.data.files.GroupedCounts:
    """Return the counts of a file that has groups."""
    assert isinstance(file.counted, cf.data.files.GroupedCounts)
    return file.counted


def in_order(text: str) -> list[str]:
    """Return the weeks that a text names, as they come first."""
    return list(dict.fromkeys(re.findall(r"2026-W\d+", text)))


def test_merging_adds_up_the_files_of_each_group(call: Call, weeks: Path) -> None:
    for number, name in enumerate(("w0.csv", "w1.jsonl", "w3.csv")):
        call("count", "s.toml", name, "--by", "week", "-o", f"c{number}.parquet")
    call("count", "s.toml", "w0.csv", "w2.parquet", "--by", "week", "-o", "both.parquet")
    call("merge", "c0.parquet", "c1.parquet", "c2.parquet", "both.parquet", "--allow-copies", "-o", "all.parquet")
    found = read_counts(weeks / "all.parquet")
    assert {key[0]: one.repeats for key, one in groups_of(found).items()} == {
        "2026-W2": 1,
        "2026-W09": 2,
        "2026-W10": 1,
        "2026-W11": 1,
    }
    assert found.merged.repeats == 5
    saved = weeks / "saved.parquet"
    save_counts(saved, groups_of(found), found.heading.survey)
    again = read_counts(saved)
    assert {key: one.repeats for key, one in groups_of(again).items()} == {
        key: one.repeats for key, one in groups_of(found).items()
    }
    assert again.merged.repeats == 5
    # Groups of unlike repeats are compared and tested by what each is worth, and show all that was counted.
    answers = cf.estimate_groups(groups_of(found), found.heading.survey.mechanism, cf.IBU())
    assert answers.reports == {(week,): PEOPLE * (1 + (week == "2026-W09")) for week in WEEKS}
    assert answers.fits.together.verdict is not None
    once = cf.estimate_groups(groups_of(found.of_different_people()), found.heading.survey.mechanism, cf.IBU())
    assert answers.differences["2026-W09",].p_value != once.differences["2026-W09",].p_value


@each(
    ("ordered", "has_order"),
    [
        (["", "1", "2", "10"], True),
        (["-3", "0.5", "1e2"], True),
        (["wave 1", "wave 2", "Wave 10"], True),
        (["2025-W52", "2026-W2", "2026-W07"], True),
        (["2025-12-31", "2026-1-1", "2026-02-01"], True),
        (["Q4 2025", "Q1 2026", "Q2 2026"], True),
        (["28.02.2026", "01.03.2026", "02.03.2026"], True),
        (["2/28/2026", "3/1/2026", "3/2/2026"], True),
        (["Dec 2025", "January 2026", "Feb 2026", "march 2026"], True),
        (["Mon", "Tuesday", "Sun"], True),
        (["0-17", "18-35", "36-99", "100+"], True),
        (["Bern", "Oslo", "Rome"], False),
        (["A1", "B2", "C1"], False),
        (["10 am Bern", "9 to 5", "Rome"], False),
    ],
)
def test_groups_that_have_an_order_keep_it(ordered: list[str], has_order: bool) -> None:
    keys = [(one,) for one in ordered]
    assert natural_order(reversed(keys)) == keys
    ranked = keys[::-1]
    assert shown_order(ranked) == (keys if has_order else ranked)
    assert shown_order(ranked, 2) == (keys[-2:] if has_order else ranked[:2])
    towns: Sequence[Any] = [(town, one) for one in ordered for town in ("Rome", "Oslo")]
    assert natural_order(towns) == [(town, one) for town in ("Oslo", "Rome") for one in ordered]


def test_towns_still_come_by_difference(call: Call, folder: Path) -> None:
    rows = (
        [("Bern", i % 3) for i in range(200)]
        + [("Oslo", 9) for _ in range(300)]
        + [("Rome", i % 3) for i in range(400)]
    )
    with (folder / "r.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("town", "report"), *rows])
    call("count", "survey.toml", "r.csv", "--by", "town", "-o", "c.parquet")
    shown = call("estimate", "survey.toml", "c.parquet", "--method", "ibu").out.partition("against the others")[2]
    assert re.findall("Bern|Oslo|Rome", shown)[0] == "Oslo"


def test_a_collectors_day_is_a_group_of_one_day() -> None:
    from confide.collector.client import to_counts_file
    from confide.surveys.survey import parse_survey

    survey = parse_survey(SURVEY)
    days = [{"day": day, "groups": [], "counts": [["yes", 30], ["no", 70]]} for day in ("2026-03-01", "2026-03-02")]
    record = {"by": [], "survey": survey.fingerprint, "days": days, "rejected": {}, "accepted": 200}
    found = to_counts_file(survey, record | {"is_simulated": False}, ["day"])
    assert [parts[0].repeats for parts in found.groups.values()] == [1, 1]
    assert found.merged.repeats == 2
    assert to_counts_file(survey, record | {"is_simulated": False}).merged.repeats == 2


def test_each_survey_of_a_group_has_a_file_of_its_own() -> None:
    surveys = tuple(cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon)) for epsilon in (1.0, 2.0))
    known = cf.evidence.Origin(permanent=4), cf.evidence.Origin(permanent=2)
    heading = Heading(surveys, ("town",), Account(6), (), known, 4, (), {("Oslo",): 3})
    two = cf.tally(["yes", "no"])
    found = CountsFile(heading, {("Oslo",): {0: two, 1: two}, ("Rome",): {0: two}})
    assert {key: {number: one.repeats for number, one in parts.items()} for key, parts in found.groups.items()} == {
        ("Oslo",): {0: 2, 1: 2},
        ("Rome",): {0: 4},
    }

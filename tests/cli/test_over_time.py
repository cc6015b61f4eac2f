"""confide estimate --over: a line, its changes, and the people who answer again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

import confide as cf
from confide.data.counting.waves import read_waves, summed_over
from confide.data.files import read_counts

SURVEY = """name = "answer"
title = "Would you move abroad?"
[alphabet]
kind = "categories"
values = ["yes", "no"]
[mechanism]
kind = "randomized-response"
epsilon = 2.0
[limits]
noise = "permanent"
"""
PEOPLE = 500
YES = {"2026-W10": 200, "2026-W2": 200, "2026-W9": 200, "2026-W11": 260}
WEEKS = ["2026-W2", "2026-W9", "2026-W10", "2026-W11"]


@pytest.fixture
def weeks(call: Call, folder: Path) -> Path:
    """Write four weeks of the same people, one file each."""
    (folder / "s.toml").write_text(SURVEY)
    (folder / "w").mkdir()
    for number, (week, yes) in enumerate(YES.items()):
        rows = [f"{'yes' if one < yes else 'no'},{week},p{one},{one + 1:032x},t{one % 2}" for one in range(PEOPLE)]
        (folder / "v.csv").write_text("\n".join(["answer,week,who,own,town", *rows]) + "\n")
        ending = ("csv", "parquet", "csv", "csv")[number]
        arguments = ("--secret", "own", "--keep", "week,who,town", "-o", f"w/{number}.{ending}")
        assert call("privatize", "s.toml", "v.csv", *arguments).code == 0
    return folder


def test_linked_people_have_their_own_errors(call: Call, weeks: Path) -> None:
    alone = call("estimate", "s.toml", "w", "--over", "week", "--query", "answer == yes", "--json").record["over"][0]
    arguments = ("--over", "week", "--person", "who", "--query", "answer == yes")
    ending = call("estimate", "s.toml", "w", *arguments, "--json", "-o", "o.csv", "-o", "o.html")
    linked = ending.record["over"][0]
    assert [one["week"] for one in linked["waves"]] == WEEKS
    assert (alone["is_linked"], linked["is_linked"]) == (False, True)
    # The line is the same; nobody's report changed between the first weeks, and few did for the last.
    assert alone["waves"] == linked["waves"]
    changes = {(one["from"], one["to"]): one for one in linked["changes"]}
    before = {(one["from"], one["to"]): one for one in alone["changes"]}
    assert len(changes) == 6
    assert {changes["2026-W2", "2026-W9"][name] for name in ("estimate", "low", "high")} == {0.0}
    last = "2026-W2", "2026-W11"
    assert changes[last]["estimate"] == pytest.approx(before[last]["estimate"], abs=1e-9)
    width = {name: found[last]["high"] - found[last]["low"] for name, found in (("own", changes), ("all", before))}
    assert width["own"] < 0.6 * width["all"]
    assert changes[last]["low"] < 60 / PEOPLE < changes[last]["high"]
    # Sixty of five hundred changed, which only the links show for sure.
    assert linked["test"]["p_value"] < 1e-6
    assert ending.record["headline"].startswith("About ")
    with (weeks / "o.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert [(one["week"], one["reports"]) for one in table] == [(week, "500.0") for week in WEEKS]
    assert float(table[3]["change"]) == changes["2026-W10", "2026-W11"]["estimate"]
    page = (weeks / "o.html").read_text()
    assert "by week" in page
    assert "no report changed" in page
    assert "is the interval of each week" in page


def test_a_terminal_shows_the_line(call: Call, weeks: Path) -> None:
    shown = call("estimate", "s.toml", "w", "--over", "week", "-v").out
    assert "4 weeks" in shown.splitlines()[0]
    assert "▁" in shown
    assert "from the one before" in shown
    assert "(--person)" in shown  # the noise is permanent
    assert "Change of answer == yes, 2026-W2 to 2026-W11" in shown
    assert "Any change" in shown
    table = shown.partition("from the one before")[2]
    assert table.index("2026-W9 ") < table.index("2026-W10 ")


def test_counts_by_more_columns_are_added_up(call: Call, weeks: Path) -> None:
    assert call("count", "s.toml", "w", "--by", "town,week", "-o", "c.parquet").code == 0
    assert call("count", "s.toml", "w", "--by", "week", "-o", "d.parquet").code == 0
    both, one = summed_over(read_counts("c.parquet"), "week"), read_counts("d.parquet")
    assert both.heading.by == one.heading.by == ("week",)
    assert both.pools.keys() == one.pools.keys()
    for key in one.groups:
        assert both.groups[key][0].counts.tolist() == one.groups[key][0].counts.tolist()
        # Of two towns in one week it is not known whether they are of one file, and so of other people.
        assert (both.groups[key][0].repeats, one.groups[key][0].repeats) == (2, 1)
    arguments = ("--over", "week", "--query", "answer == yes", "--json")
    found = [call("estimate", "s.toml", name, *arguments).record["over"] for name in ("d.parquet", "w")]
    assert json.dumps(found[0]) == json.dumps(found[1])


def test_rows_are_read_with_their_people(weeks: Path) -> None:
    counts, linked = read_waves(weeks / "w", cf.load_survey(weeks / "s.toml"), "week", "who")
    assert linked is not None
    assert len(linked.reports) == len(linked.waves) == 4 * PEOPLE
    # The reports of a person are the same wherever the value is: rows are not shuffled against each other.
    waves: list[str] = [wave[0] for wave in linked.waves]  # type: ignore[index]  # a group is named by a tuple
    of = dict(zip(zip(list(linked.people), waves, strict=True), list(linked.reports), strict=True))  # type: ignore[arg-type]
    assert all(of[f"p{one}", "2026-W2"] == of[f"p{one}", "2026-W9"] for one in range(PEOPLE))
    assert sum(of[f"p{one}", "2026-W10"] != of[f"p{one}", "2026-W11"] for one in range(PEOPLE)) <= 60
    assert counts.heading.files == 4
    assert {one.repeats for parts in counts.groups.values() for one in parts.values()} == {1}
    assert counts.origin.permanent == 4 * PEOPLE


def test_what_is_refused(call: Call, weeks: Path) -> None:
    assert call("count", "s.toml", "w", "--by", "week", "-o", "d.parquet").code == 0
    refused = call("estimate", "s.toml", "d.parquet", "--over", "week", "--person", "who")
    assert_refused(refused, refused.code, "do not say whose report each is")
    assert_refused(call("estimate", "s.toml", "d.parquet", "--person", "who"), 2, "--person is for --over")
    other = call("estimate", "s.toml", "d.parquet", "--over", "month")
    assert_refused(other, other.code, "does not count by month", "They are by week")
    (weeks / "one.csv").write_text("report,week\nyes,1\nno,1\n")
    one = call("estimate", "s.toml", "one.csv", "--over", "week")
    assert_refused(one, one.code, "two waves or more")
    (weeks / "gap.csv").write_text("report,week\nyes,1\nno,\n")
    gap = call("estimate", "s.toml", "gap.csv", "--over", "week")
    assert_refused(gap, gap.code, "have no week")
    (weeks / "r.jsonl").write_text('{"report": "yes", "week": 1}\n')
    lines = call("estimate", "s.toml", "r.jsonl", "--over", "week")
    assert_refused(lines, lines.code, "Give CSV or Parquet")

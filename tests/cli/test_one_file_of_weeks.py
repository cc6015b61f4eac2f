"""confide privatize --by: all weeks in one file, and permanent noise from a column of secrets or of names."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

from confide import load_survey
from confide.data.counting import read_reports
from confide.data.counting.waves import read_waves
from confide.data.files import GroupedCounts, read_counts, read_metadata

SURVEY = """name = "answer"
every = "week"
[alphabet]
kind = "categories"
values = ["yes", "no", "unsure"]
[mechanism]
kind = "randomized-response"
epsilon = 2.0
[limits]
noise = "permanent"
"""
PEOPLE = 300
DAYS = {"2026-02-27": "2026-W09", "2026-03-02": "2026-W10", "2026-03-09": "2026-W11"}


def write(path: Path, *, is_secret: bool = False, rows: str = "") -> None:
    """Write three weeks of the same people, of whom a third change in the last."""
    lines = ["day,who,answer"]
    for week, day in enumerate(DAYS):
        for one in range(PEOPLE):
            who = hashlib.sha256(f"{one}".encode()).hexdigest() if is_secret else f"person {one}"
            lines.append(f"{day},{who},{('yes', 'no', 'unsure')[(one + (week == 2 and one < PEOPLE // 3)) % 3]}")
    path.write_text("\n".join(lines) + "\n" + rows)


@pytest.fixture
def weeks(folder: Path) -> Path:
    (folder / "s.toml").write_text(SURVEY)
    write(folder / "w.csv")
    return folder


def reports_of(path: Path) -> dict[str, dict[str, str]]:
    """Return the report of each person in each wave."""
    found = defaultdict[str, dict[str, str]](dict)
    with path.open() as stream:
        for row in csv.DictReader(stream):
            found[row["who"]][row["day"]] = row["report"]
    return found


def test_a_date_becomes_its_week_and_the_same_value_the_same_report(call: Call, weeks: Path) -> None:
    ending = call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "--keep", "who", "-o", "r.csv")
    assert ending.code == 0
    assert "a key that is forgotten now" in ending.err
    found = reports_of(weeks / "r.csv")
    assert len(found) == PEOPLE
    assert all(sorted(one) == list(DAYS.values()) for one in found.values())
    assert all(one["2026-W09"] == one["2026-W10"] for one in found.values())
    changed = [who for who, one in found.items() if one["2026-W10"] != one["2026-W11"]]
    assert 0.3 * PEOPLE / 3 < len(changed) <= PEOPLE / 3
    # Noise of their own: people who share a value do not share their report.
    assert len({one["2026-W09"] for one in found.values()}) == 3
    # Another run has another key, and nothing of it stays.
    call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "--keep", "who", "-o", "again.csv")
    assert reports_of(weeks / "again.csv") != found


def test_one_person_has_a_report_in_each_wave_and_every_reader_knows(call: Call, weeks: Path) -> None:
    for name in ("r.csv", "r.parquet"):
        assert call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "-o", name).code == 0
        facts = read_metadata(weeks / name)
        assert facts is not None
        assert (facts.by, facts.repeats, facts.kept) == ("day", 3, ("day",))
        survey = load_survey("s.toml")
        assert read_reports(name, survey).counts.repeats == 3
        assert call("count", "s.toml", name, "--by", "day", "-o", "c.parquet").code == 0
        counted = read_counts("c.parquet")
        assert isinstance(counted.counted, GroupedCounts)
        for file in (counted, read_waves(name, survey, "day")[0]):
            assert file.merged.repeats == 3
            assert {key: parts[0].repeats for key, parts in file.groups.items()} == {(day,): 1 for day in DAYS.values()}


def test_by_another_column_one_person_may_be_in_a_group_in_every_wave(call: Call, weeks: Path) -> None:
    text = (weeks / "w.csv").read_text().splitlines()
    rows = [f"{row},t{number % 2}" for number, row in enumerate(text[1:])]
    (weeks / "w.csv").write_text("\n".join([f"{text[0]},town", *rows]) + "\n")
    call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "--keep", "town", "-o", "r.csv")
    for by, most in (("town", 3), ("town,day", 1)):
        assert call("count", "s.toml", "r.csv", "--by", by, "-o", "c.parquet").code == 0
        assert {parts[0].repeats for parts in read_counts("c.parquet").groups.values()} == {most}


def test_a_file_of_one_wave_says_nothing_new(call: Call, weeks: Path) -> None:
    write(weeks / "v.csv", is_secret=True)
    (weeks / "v.csv").write_text("".join((weeks / "v.csv").read_text().splitlines(keepends=True)[: PEOPLE + 1]))
    call("privatize", "s.toml", "v.csv", "--secret", "who", "-o", "r.csv")
    facts = json.loads((weeks / "r.csv-metadata.json").read_text())["urn:confide:reports"]
    assert not {"by", "repeats"} & set(facts)
    assert read_reports("r.csv", load_survey("s.toml")).counts.repeats == 1


def test_secrets_stay_the_same_next_time_and_are_never_kept(call: Call, weeks: Path) -> None:
    write(weeks / "v.csv", is_secret=True)
    for name in ("a.csv", "b.csv"):
        ending = call("privatize", "s.toml", "v.csv", "--by", "day", "--secret", "who", "-o", name)
        assert (ending.code, ending.err) == (0, "")
    a, b = (sorted((weeks / name).read_text().split()) for name in ("a.csv", "b.csv"))
    assert a == b
    kept = call("privatize", "s.toml", "v.csv", "--by", "day", "--secret", "who", "--keep", "who", "-o", "c.csv")
    assert_refused(kept, 2, "holds secrets and cannot be kept")


def test_what_is_refused_says_what_to_write(call: Call, weeks: Path) -> None:
    bare = call("privatize", "s.toml", "w.csv", "-o", "r.csv")
    assert_refused(bare, 2, "permanent noise", "--secret person --by week")
    write(weeks / "v.csv", is_secret=True)
    alone = call("privatize", "s.toml", "v.csv", "--secret", "who", "-o", "r.csv")
    assert_refused(alone, 4, "stands twice", "name their column: --by week")
    write(weeks / "w.csv", rows="2026-02-26,person 7,no\n")
    twice = call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "-o", "r.csv")
    assert_refused(twice, 4, "stands twice", "one row in 2026-W09")
    write(weeks / "w.csv", rows=",person 7,no\n")
    nameless = call("privatize", "s.toml", "w.csv", "--by", "day", "--secret", "who", "-o", "r.csv")
    assert_refused(nameless, 4, "1 row of w.csv have no wave")
    old = call("privatize", "s.toml", "w.csv", "--secret-column", "who")
    assert_refused(old, 2, "--secret-column went in 0.3. Write --secret COLUMN.")

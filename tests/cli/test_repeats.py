"""Reports with permanent noise from several days: never taken for independent ones."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call

import confide as cf
from confide.cli.usage import repetition_record
from confide.data.files import read_counts, read_heading
from confide.errors import InvalidCountsError, InvalidParameterError

COLOURS = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "green", "blue"]), 2.0), "colour")
PEOPLE = [cf.Permanent(hashlib.sha256(str(number).encode()).digest()) for number in range(600)]
VALUES = ["red"] * 300 + ["green"] * 200 + ["blue"] * 100


@cache
def day() -> cf.Counts:
    return cf.tally(COLOURS.privatize(VALUES, rng=PEOPLE))


def test_a_week_of_permanent_reports_is_as_sure_as_a_day() -> None:
    once, week = day(), cf.merge([day() for _ in range(7)])
    assert (once.repeats, week.repeats, week.total) == (1, 7, 4200)
    one, seven = (cf.estimate(counts, COLOURS.mechanism) for counts in (once, week))
    np.testing.assert_allclose(seven.distribution, one.distribution, atol=1e-9)
    assert seven.log_likelihood == pytest.approx(one.log_likelihood)
    ends = [(found.query("value == red").low, found.query("value == red").high) for found in (one, seven)]
    np.testing.assert_allclose(ends[0], ends[1])
    assert seven.fit.p_value == one.fit.p_value
    assert (seven.repeats, one.repeats, one.dependence) == (7, 1, "")
    assert "7 of these reports" in seven.explanation
    assert "600 people" in seven.dependence


def test_without_it_intervals_would_be_too_narrow() -> None:
    """Taken for independent, seven days make the interval sqrt 7 times narrower than a day's."""
    once, week = day(), cf.merge([day() for _ in range(7)], repeats=1)
    one, wrong = (cf.estimate(counts, COLOURS.mechanism).query("value == red") for counts in (once, week))
    assert (one.high - one.low) / (wrong.high - wrong.low) == pytest.approx(math.sqrt(7), rel=0.05)


def test_the_bound_is_never_more_people_than_there_are() -> None:
    """(sum w)^2 / sum w^2, the people that weights w are worth, is at least sum w / max w."""
    weights = np.random.default_rng(1).integers(1, 9, (200, 50))
    worth = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    assert (worth >= weights.sum(axis=1) / weights.max(axis=1) - 1e-9).all()


def test_adding_up_pooling_and_diagnosing_take_it_along() -> None:
    both = day() + day()
    assert both.repeats == 2
    pool = cf.estimate_pool([(day(), COLOURS.mechanism), (day(), COLOURS.mechanism)])
    assert pool.repeats == 2
    assert cf.diagnose(both, COLOURS.mechanism).counts.total == 600  # type: ignore[union-attr]
    assert cf.fit(both, COLOURS.mechanism).p_value == cf.fit(day(), COLOURS.mechanism).p_value
    groups = cf.estimate_groups({"a": both, "b": day()}, COLOURS.mechanism, cf.MLE())
    np.testing.assert_allclose(groups["a"].distribution, groups["b"].distribution, atol=1e-6)
    running = cf.evidence.Accumulator()
    for _ in range(3):
        running.add(day())  # batches of one source
    assert running.counts.repeats == 1


def test_fresh_noise_and_different_people_are_left_alone() -> None:
    fresh = cf.tally(COLOURS.privatize(VALUES))
    assert (fresh + fresh).repeats == 1
    assert (day() + fresh).repeats == 1  # one day with permanent noise, and another one
    assert cf.merge([day(), day()], repeats=1).repeats == 1
    for bad in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameterError):
            day().with_repeats(bad)  # type: ignore[arg-type]
    twice = (day() + day()).independent
    assert twice.independent is twice
    with pytest.raises(InvalidCountsError, match="Merge them before"):
        cf.merge([twice, day()])


def test_several_files_that_are_counted_at_once_are_several_days(tmp_path: Path) -> None:
    for name in "ab":
        cf.write_reports(tmp_path / f"{name}.csv", COLOURS.privatize(VALUES, rng=PEOPLE), COLOURS)
    found = cf.count([tmp_path / "a.csv", tmp_path / "b.csv"], COLOURS)
    assert (found.repeats, cf.count(tmp_path / "a.csv", COLOURS).repeats) == (2, 1)
    assert "600 people" in cf.estimate(found, COLOURS.mechanism).dependence


SURVEY = """name = "colour"
[alphabet]
kind = "categories"
values = ["red", "green", "blue"]
[mechanism]
kind = "randomized-response"
epsilon = 2.0
[limits]
noise = "permanent"
"""


@pytest.fixture
def week(call: Call, folder: Path) -> Path:
    """Write three days of reports of the same people."""
    (folder / "s.toml").write_text(SURVEY)
    rows = "".join(f"{value},{number + 1:032x}\n" for number, value in enumerate(VALUES))
    (folder / "v.csv").write_text(f"colour,own\n{rows}")
    for name in "abc":
        call("privatize", "s.toml", "v.csv", "--secret", "own", "-o", f"{name}.csv")
        call("count", "s.toml", f"{name}.csv", "-o", f"{name}.parquet")
    return folder


@pytest.mark.slow
def test_files_of_several_days_are_widened_and_it_is_said(call: Call, week: Path) -> None:
    merged = call("merge", *(f"{name}.parquet" for name in "abc"), "-o", "all.parquet", "--allow-copies")
    assert merged.code == 0
    assert repetition_record(read_heading("all.parquet"))["most_reports_of_one_person"] == 3
    asked = ("--query", "colour == red", "--json")
    one, all_, towns = (
        call("estimate", "s.toml", *arguments, *asked).record
        for arguments in (("a.parquet",), ("all.parquet",), ("all.parquet", "--different-people"))
    )
    widths = [one_["queries"][0]["high"] - one_["queries"][0]["low"] for one_ in (one, all_, towns)]
    assert widths[0] == pytest.approx(widths[1])
    assert widths[1] / widths[2] == pytest.approx(math.sqrt(3), rel=0.05)
    assert (one["repeats"]["most_of_one_person"], all_["repeats"]["most_of_one_person"]) == (1, 3)
    assert "3 of these reports" in all_["explanation"]
    shown = call("estimate", "s.toml", "all.parquet", "-o", "page.html")
    assert "One person may have made 3 of these reports" in " ".join(shown.out.split())
    assert "Not all of these reports are independent" in (week / "page.html").read_text()
    told, apart = (call("diagnose", "s.toml", "all.parquet", *more) for more in ((), ("--different-people",)))
    assert "One person may have made 3 of these reports" in " ".join(told.out.split())
    assert "One person may have made" not in apart.out


def test_a_diagnosis_says_that_days_are_not_people() -> None:
    from confide.estimates.diagnosis import told_in_words

    told = told_in_words(cf.diagnose(day() + day(), COLOURS.mechanism))
    assert told[1].startswith("One person may have made 2 of these reports. With permanent noise")
    assert "600 people" in told[1]
    assert not [one for one in told_in_words(cf.diagnose(day(), COLOURS.mechanism)) if one.startswith("One person")]


def test_a_survey_that_asks_for_permanent_noise_gets_it(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text(SURVEY)
    (folder / "v.csv").write_text("colour\nred\n")
    refused = call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    assert refused.code == 2
    assert "has permanent noise, which takes a secret of each person" in refused.err
    shown = call("show", "s.toml", "--json").record
    assert shown["needs_secret"] is True
    assert shown["limits"] == {"noise": "permanent"}
    assert (
        "any number of reports of the same value: epsilon 2, for with permanent noise they are one"
        in shown["repetition"]
    )
    assert "epsilon 4 for 2 values" in " ".join(call("show", "s.toml", "-v").out.split())


def test_a_ledger_on_the_command_line(call: Call, folder: Path) -> None:
    text = SURVEY.replace('noise = "permanent"', "reports = 2")
    (folder / "s.toml").write_text(text)
    (folder / "v.csv").write_text("colour\nred\n")
    for _ in range(2):
        assert call("privatize", "s.toml", "v.csv", "--ledger", "ledger.json", "-o", "r.csv").code == 0
    third = call("privatize", "s.toml", "v.csv", "--ledger", "ledger.json", "-o", "third.csv")
    assert third.code == 5
    alone = call("privatize", "s.toml", "v.csv", "-o", "alone.csv")
    assert "nothing counted it here: on a person's device, --ledger FILE does" in " ".join(alone.err.split())
    assert "nothing counted it" not in call("privatize", "s.toml", "v.csv", "--seed", "1", "-o", "seeded.csv").err
    assert "2 reports of one person" in third.err
    assert not (folder / "third.csv").exists()
    (folder / "many.csv").write_text("colour\nred\nblue\n")
    assert "one person's" in call("privatize", "s.toml", "many.csv", "--ledger", "l.json", "-o", "x.csv").err
    assert not (folder / "l.json").exists()
    seeded = call("privatize", "s.toml", "v.csv", "--ledger", "l.json", "--seed", "1", "-o", "x.csv")
    assert seeded.code == 2


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        (
            cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05), most_epsilon=1.5),
            "30 reports of one person, the most that the survey allows: 1.5 per year",
        ),
        (
            cf.Survey(cf.TwoRounds(*[COLOURS.mechanism] * 2), most_reports=9),
            "any number of reports of the same value: epsilon 2. Each other value that a person reports adds as much",
        ),
        (
            cf.Survey(COLOURS.mechanism, most_epsilon=7.0, is_permanent=True),
            "a total epsilon of 7, hence 3 values",
        ),
    ],
)
def test_what_repetition_costs_in_words(survey: cf.Survey, words: str) -> None:
    from confide.estimates.explanations import describe_repetition

    assert words in describe_repetition(survey)


def test_counts_of_a_collector_are_named_by_its_url(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("count", "survey.toml", "reports.csv", "-o", "c.parquet")
    monkeypatch.setattr("confide.cli.collector.pull_counts", lambda *_: read_counts(folder / "c.parquet"))
    for command in ("estimate", "diagnose"):
        ending = call(command, "survey.toml", "http://127.0.0.1:8000/", "-v")
        shown = " ".join((ending.out + ending.err).split())
        assert ending.code == 0
        assert "http://127.0.0.1:8000" in shown
        assert "counts.parquet" not in shown
    assert call("estimate", "survey.toml", "http://127.0.0.1:8000", "--json").record["rows"]["source"] == (
        "http://127.0.0.1:8000"
    )
    call("count", "survey.toml", "values.csv", "--column", "age", "--by", "name", "-o", "c.parquet")
    other = (folder / "survey.toml").read_text().replace("epsilon = 1.0", "epsilon = 0.5")
    (folder / "other.toml").write_text(other)
    for command in ("estimate", "diagnose"):
        assert "http://127.0.0.1:8000 was counted under another" in " ".join(
            call(command, "other.toml", "http://127.0.0.1:8000").err.split()
        )

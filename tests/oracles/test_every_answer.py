"""Answers in company are the answers alone, and have the level that they were asked at, wherever they stand.

A group's record is what it would be if there were no other group. A method of groups is the method of each of them,
with all that it was given. A total is the sum of its entries. A command says in JSON what the library says. A change
over time is the change that the series has.
"""

from __future__ import annotations

import csv
import inspect
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.data.files.records import groups_csv, groups_record, plain, series_csv, series_record, tables_record
from confide.estimates.changes import Series, name_wave
from confide.estimates.groups import GroupEstimates
from confide.estimates.inference import Bootstrap, Interval, Likelihood
from confide.evidence.counts import Origin
from confide.present.changes import show_step, summarise_series
from confide.present.groups import _download
from confide.present.results import columns_of, record_of
from confide.present.summary import Cell, Listing
from confide.studio.answers import window_records

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 9, unit="year"), 1.0), "age", "Ages")
PAIR = cf.Survey(
    cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 3), 2.0), sex=cf.RandomizedResponse(cf.Categories(["f", "m"]), 2.0)
    ),
    "both",
    "Both",
)
TOWNS = {("Oslo",): 700, ("Rome",): 300, ("Bern",): 120, ("Goma",): 4}
"""Groups of unlike size, one too small to say anything."""


def counts_of(size: int, seed: int) -> cf.Counts:
    """Return weighted reports in strata."""
    rng = np.random.default_rng(seed)
    values = rng.binomial(7, 0.3 + 0.1 * seed, size) + 2
    reports = AGES.mechanism.privatize(values, rng=100 + seed, taken=True)
    weights, strata = rng.integers(1, 5 + seed, size) / 2, rng.choice(["north", "south"], size)
    return cf.tally(reports, weights=weights, strata=strata)


COUNTS = {key: counts_of(size, seed) for seed, (key, size) in enumerate(TOWNS.items())}


def grouped(*keys: Any) -> SurveyGroups:
    some = {key: COUNTS[key] for key in keys or COUNTS}
    return SurveyGroups(cf.estimate_groups(some, AGES.mechanism, cf.MLE()).estimates, AGES, ("town",))


@pytest.fixture(scope="module")
def groups() -> SurveyGroups:
    return grouped()


# Groups alone and in company.


OF_ALL = {"difference", "fit", "explanation", "iterations", "certificate"}
"""What is of all groups together, or of the search for all of them."""


def nearly(thing: Any) -> Any:
    """Return the same for a comparison, but for roundings."""
    if isinstance(thing, dict):
        return {name: nearly(one) for name, one in thing.items()}
    if isinstance(thing, list):
        return [nearly(one) for one in thing]
    return pytest.approx(thing, rel=1e-4, abs=1e-5) if isinstance(thing, float) else thing


def test_a_group_in_company_has_the_record_that_it_has_alone(groups: SurveyGroups) -> None:
    query = "age >= 5"
    asked = GroupAnswers(ask_groups(groups, [query], 0.8), groups.interval(0.8))
    whole = {tuple(one["group"].values()): one for one in groups_record(groups, asked)["groups"]}
    table = list(csv.DictReader(groups_csv(groups, asked).splitlines()))
    download = {row["town"]: row for row in csv.DictReader(_download(groups, asked).content.splitlines())}
    for key in COUNTS:
        alone = grouped(key)
        own = GroupAnswers(ask_groups(alone, [query], 0.8), alone.interval(0.8))
        (expected,) = groups_record(alone, own)["groups"]
        for name in expected:
            if name not in OF_ALL:
                assert whole[key][name] == nearly(expected[name]), (key, name)
        found = groups.differences[key]
        assert whole[key]["difference"]["p_value"] == found.p_value
        assert whole[key]["difference"]["is_different"] is found.is_different
        assert float(download[key[0]]["p_value"]) == found.p_value
        assert download[key[0]]["fit"] == str(groups.fits.groups[key].verdict)
        rows = [row for row in table if row["town"] == key[0]]
        others = list(csv.DictReader(groups_csv(alone, own).splitlines()))
        for row, other in zip(rows, others, strict=True):
            numbers = [name for name in row if name not in ("town", "age", "differs")]
            assert [float(row[name]) for name in numbers] == nearly([float(other[name]) for name in numbers])
    assert len({one["weights"]["sum"] for one in whole.values()}) == len(COUNTS)


def test_what_stands_out_is_said_of_groups_that_say_something(groups: SurveyGroups) -> None:
    asked = GroupAnswers(ask_groups(groups, [], 0.95))
    main = asked.questions[str(asked.main)]
    small = set(groups.seen.too_small)
    assert small == {("Goma",)}
    told = {key: one.estimate for key, one in main.items() if key not in small}
    found = {name.split()[0]: ends for name, _, ends in summary_of(groups, asked)}
    assert found["Highest"].startswith(max(told, key=told.__getitem__)[0])
    assert found["Lowest"].startswith(min(told, key=told.__getitem__)[0])


def summary_of(groups: SurveyGroups, asked: GroupAnswers) -> list[tuple[str, str, str]]:
    from confide.present.groups import summarise_groups

    return list(summarise_groups(groups, asked).answers)


GIVEN: dict[str, tuple[Any, ...]] = {
    "level": (0.5, 0.9),
    "basis": (None, Likelihood(), Bootstrap(40, 1)),
    "query": ("age >= 5", "age <= 3"),
    "share": (0.25, 0.75),
    "name": ("age", "x"),
}
"""Two of whatever a method of groups takes; `name` goes with a query in its own words."""


def methods() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("query", "mean", "quantile", "interval"):
        known = [one for one in inspect.signature(getattr(GroupEstimates, name)).parameters if one in GIVEN]
        for chosen in itertools.product(*(GIVEN[one] for one in known)):
            given = dict(zip(known, chosen, strict=True))
            if "name" in given:
                given["query"] = given["query"].replace("age", given["name"])
            yield name, given


@pytest.mark.parametrize(("name", "given"), list(methods()), ids=str)
def test_a_method_of_groups_is_the_method_of_each(groups: SurveyGroups, name: str, given: dict[str, Any]) -> None:
    def ask(thing: Any) -> Any:
        try:
            return getattr(thing, name)(**given)
        except cf.errors.ConfideError as error:
            return str(error)

    found = ask(groups)
    for key in TOWNS:
        alone = ask(groups[key])
        if isinstance(found, str) or isinstance(alone, str):
            assert found == alone
            continue
        own = found[key]
        assert type(own) is type(alone)
        assert [own.level, own.rests_on] == [given["level"], alone.rests_on]
        for end in ("estimate", "low", "high"):
            assert getattr(own, end) == pytest.approx(getattr(alone, end), rel=1e-9)
        assert getattr(own, "question", "") == getattr(alone, "question", "")


# Levels and totals.


def walk(thing: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Return all that stands in a record under a name, with where it stands."""
    if isinstance(thing, dict):
        for name, one in thing.items():
            yield f"{where}.{name}", one
            yield from walk(one, f"{where}.{name}")
    elif isinstance(thing, list):
        for one in thing:
            yield from walk(one, f"{where}[]")


def called(folder: Path, *words: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ending = CliRunner().invoke(app, [*words, "--json"])
    assert ending.exit_code == 0, ending.output
    record: dict[str, Any] = json.loads(ending.stdout)
    return record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("answers")
    rng = np.random.default_rng(1)
    for name, survey in (("ages", AGES), ("pair", PAIR)):
        (place / f"{name}.toml").write_text(survey.text())
    ages = AGES.mechanism.privatize(rng.binomial(7, 0.3, 900) + 2, rng=101, taken=True)
    weeks = np.arange(900) % 3
    (place / "r.csv").write_text(
        "report,week\n" + "".join(f"{one},W{1 + week}\n" for one, week in zip(ages, weeks, strict=True))
    )
    pairs = PAIR.mechanism.privatize(
        [(int(a), s) for a, s in zip(rng.integers(0, 3, 900), rng.choice(["f", "m"], 900), strict=True)], rng=101
    )
    (place / "p.csv").write_text("age,sex\n" + "".join(f"{a},{s}\n" for a, s in pairs.tolist()))
    return place


ASKED = {
    "one": ("estimate", "ages.toml", "r.csv", "--query", "age >= 5", "--query", "mean"),
    "pair": ("estimate", "pair.toml", "p.csv", "--show", "age", "--show", "sex", "--show", "age,sex"),
    "over": ("estimate", "ages.toml", "r.csv", "--over", "week", "--query", "age >= 5"),
}


@pytest.mark.parametrize("kind", ASKED)
def test_every_interval_of_a_command_is_at_the_level_that_was_asked_for(kind: str, folder: Path) -> None:
    narrow, wide = (
        list(walk(called(folder, *ASKED[kind], "--method", "mle", "--interval", level))) for level in ("0.5", "0.99")
    )
    assert [where for where, _ in narrow] == [where for where, _ in wide]
    levels = {where: one for where, one in narrow if where.endswith(".level")}
    assert levels
    assert set(levels.values()) == {0.5}
    assert {one for where, one in wide if where in levels} == {0.99}
    # Whatever has a low end has a lower one at the higher level, and nothing stays as it was.
    lows = [(where, a, b) for (where, a), (_, b) in zip(narrow, wide, strict=True) if where.endswith((".low", ".high"))]
    assert len(lows) > 2
    for where, one, other in lows:
        for a, b in zip(*(x if isinstance(x, list) else [x] for x in (one, other)), strict=True):
            assert b <= a if where.endswith(".low") else b >= a, where
    assert any(one != other for _, one, other in lows)


def test_joint_intervals_of_a_cross_table_are_wider_and_say_so(folder: Path) -> None:
    words = [*ASKED["pair"], "--method", "mle"]
    alone, joint = (called(folder, *words, "--interval", level)["cross"][0] for level in ("80%", "80% joint"))
    assert (alone["together"], joint["together"]) == (1, 8)
    widths = [np.subtract(one["entries"]["high"], one["entries"]["low"]) for one in (alone, joint)]
    assert (widths[0] < widths[1]).all()


def test_totals_are_the_sums_of_their_entries() -> None:
    pairs = PAIR.mechanism.privatize([(place % 3, "fm"[place % 2]) for place in range(600)], rng=1)
    answer = cf.estimate(cf.tally(pairs), PAIR.mechanism, cf.MLE())
    crosses = [answer.cross("age", "sex", level=0.8), answer.cross("sex", "age", level=0.8)]
    marginals = {name: (answer.marginal(name), None) for name in ("age", "sex")}
    record = tables_record(marginals, crosses)
    for table, known in zip(record["cross"], crosses, strict=True):
        shape = [len(table["totals"][name]["estimate"]) for name in table["names"]]
        entries = np.reshape(table["entries"]["estimate"], shape)
        for place, name in enumerate(table["names"]):
            total = table["totals"][name]
            assert total["estimate"] == pytest.approx(entries.sum(axis=1 - place).tolist())
            assert total["values"] == answer.marginal(name).alphabet.decode(np.arange(shape[place])).tolist()
            assert (total["low"], total["high"]) == (known.totals[name].low.tolist(), known.totals[name].high.tolist())
    for name, one in record["marginals"].items():
        assert one["distribution"] == answer.marginal(name).distribution.tolist()


# The command and the library.


def test_a_command_and_the_library_say_the_same(folder: Path) -> None:
    reports = [int(line.split(",")[0]) for line in (folder / "r.csv").read_text().splitlines()[1:]]
    answer = cf.estimate(cf.tally(reports), AGES.mechanism)
    said = called(folder, "estimate", "ages.toml", "r.csv", "--interval", "0.95")
    ours = json.loads(json.dumps(record_of(answer), default=str))
    own = {"headline", "summary", "survey", "seconds", "interval", "statistics", "origin", "windows", "repetition"}
    for name in set(ours) - own:
        assert ours[name] == said[name], name
    assert set(said) - set(ours) == {"marginals", "cross", "repetition", "rows", "truth_rows"}
    statistics = {one["query"]: one for one in ours["statistics"]}
    assert {"mean", "median", "quantile 0.25", "quantile 0.75"} == set(statistics)
    for one in said["statistics"]:
        assert statistics[one["query"]] == one
    assert [one["estimate"] for one in ours["windows"]["windows"]] == [
        one["estimate"] for one in said["windows"]["windows"]
    ]


def test_every_window_has_its_own_name_members_and_verdict() -> None:
    found = cf.estimate(COUNTS["Oslo",], AGES.mechanism, cf.MLE()).windows(error=0.2, name="age")
    assert len(found) > 1
    with pytest.MonkeyPatch.context() as patch:  # every other one is told
        patch.setattr(type(found), "told", property(lambda own: [place % 2 == 0 for place in range(len(own))]))
        both = list(zip(window_records(found), plain(found)["windows"], strict=True))
    for place, (studios, ours) in enumerate(both):
        answer, members = found.answers[place], found.members[place].tolist()
        for one in (studios, ours):
            assert (one["label"], one["is_told"]) == (found.labels[place], place % 2 == 0)
            assert [one[end] for end in ("estimate", "low", "high")] == [answer.estimate, answer.low, answer.high]
        assert (studios["indices"], ours["values"]) == (members, [2 + member for member in members])
    for place, where in enumerate(found.window_of.tolist()):
        assert place in found.members[where].tolist()


def test_columns_of_counts_are_what_they_are_called() -> None:
    counts = COUNTS["Oslo",]
    columns = columns_of(counts)
    for name, attribute in {"report": "reports", "count": "counts", "weights": "weights", "squares": "squares"}.items():
        assert columns[name] == getattr(counts, attribute).tolist(), name
    record = record_of(counts)
    assert record["counts"] == columns
    assert (record["reports"], record["distinct"]) == (counts.total, len(counts.reports))
    assert record["weights"]["sum"] == counts.weight
    assert record["weights"]["design_effect"] == counts.design_effect


# Over time.


@pytest.fixture(scope="module")
def series() -> Series:
    rng = np.random.default_rng(2)
    waves = {f"2026-W{week:02}": rng.binomial(7, 0.2 + 0.05 * week, 300 * week) + 2 for week in (1, 2, 3, 4)}
    reports = {week: AGES.mechanism.privatize(own, rng=3, taken=True) for week, own in waves.items()}
    every = [(one, week) for week, own in reports.items() for one in own.tolist()]
    rng.shuffle(every)
    return cf.estimate_over(
        [int(one) for one, _ in every], [week for _, week in every], AGES.mechanism, "age >= 5", name="age", level=0.8
    )


def test_every_change_over_time_is_the_one_of_the_series(series: Series) -> None:
    waves = series.waves
    record = series_record(series)
    assert [one["reports"] for one in record["waves"]] == [300.0, 600.0, 900.0, 1200.0]
    assert len(record["changes"]) == 6
    for one in record["changes"]:
        change = series.change(one["from"], one["to"])
        assert [one[end] for end in ("estimate", "low", "high")] == [change.estimate, change.low, change.high]
        assert change.level == 0.8
    rows = list(csv.DictReader(series_csv([series]).splitlines()))
    for place, (row, key) in enumerate(zip(rows, waves, strict=True)):
        answer = series.answers[key]
        assert [float(row[end]) for end in ("estimate", "low", "high")] == [answer.estimate, answer.low, answer.high]
        if place:
            step = series.change(waves[place - 1], key)
            told = [float(row[end]) for end in ("change", "change_low", "change_high")]
            assert told == [step.estimate, step.low, step.high]
        else:
            assert row["change"] == row["change_low"] == row["change_high"] == ""


def test_a_table_over_time_has_each_change_in_its_column(series: Series) -> None:
    keys = {name_wave(key): key for key in series.waves}
    named = SurveyGroups({(name,): series.groups[key] for name, key in keys.items()}, AGES, ("week",))
    own = Series(
        named, series.question, {(name,): series.answers[key] for name, key in keys.items()}, series.moments, by="week"
    )
    (section,) = summarise_series(named, GroupAnswers({own.question: own.answers}), [own]).sections
    (table,) = [part for part in section.parts if isinstance(part, Listing)]
    assert table.headings == ["week", "reports", own.question, "from the one before", "from the first"]
    for place, (row, key) in enumerate(zip(table.rows, own.waves, strict=True)):
        assert [str(row[0]), str(row[1])] == [key[0], f"{series.groups.reports[keys[key[0]]]:,.10g}"]
        for column, first in ((3, own.waves[max(place - 1, 0)]), (4, own.waves[0])):
            cell = row[column]
            assert isinstance(cell, Cell)
            if place:
                now, ends = show_step(own.change(first, key))
                assert (cell.words, cell.beside) == (now, f"({ends})")
    assert math.isclose(own.overall.estimate, own.change(own.waves[0], own.waves[-1]).estimate)


@pytest.mark.parametrize("by", ["week", "wave"])
def test_a_series_knows_what_its_waves_are_called(by: str, folder: Path) -> None:
    text = (folder / "r.csv").read_text().replace("report,week", f"report,{by}")
    (folder / f"{by}.csv").write_text(text)
    (found,) = called(folder, "estimate", "ages.toml", f"{by}.csv", "--over", by, "--query", "mean")["over"][:1]
    assert found["over"] == by
    assert [one[by] for one in found["waves"]] == ["W1", "W2", "W3"]
    assert isinstance(found["changes"][0]["estimate"], float)


def test_an_interval_has_its_own_numbers_in_every_table() -> None:
    answer = cf.estimate(COUNTS["Oslo",], AGES.mechanism, cf.MLE()).query("age >= 5", 0.8, name="age")
    assert isinstance(answer, Interval)
    columns = columns_of(answer)
    parts = answer.parts
    for name, (value,) in columns.items():
        assert value == getattr(answer, name, getattr(parts, name, None)), name


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("is_permanent", [False, True])
def test_a_series_speaks_of_people_who_answer_again_where_it_does_not_know_them(
    series: Series, is_linked: bool, is_permanent: bool
) -> None:
    origin = Origin(permanent=300) if is_permanent else Origin(secure=300)
    waves = {week: counts_of(300, place).unweighted.with_origin(origin) for place, week in enumerate(("W1", "W2"))}
    found = cf.estimate_groups(waves, AGES.mechanism, cf.MLE()).series("age >= 5", name="age")
    assert bool(replace(found, is_linked=is_linked).remark) is (is_permanent and not is_linked)
    assert series.remark == ""
    linked = replace(found, is_linked=is_linked)
    assert ("reports of one person count as one draw" in linked.rests_on) is is_linked
    assert ("people taken as different" in linked.rests_on) is not is_linked
    assert linked.change("W1", "W2").rests_on == linked.rests_on

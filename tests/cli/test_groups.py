"""Answers of many groups at once are those that each group has by itself; and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call
from tests.pages.test_estimate_page import Reader

import confide as cf
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups, groups_csv, groups_record, save_counts
from confide.data.files.counts_files import GroupedCounts
from confide.data.files.sheets import Account
from confide.estimates.groups import GroupReports, recover_pools
from confide.present.pages import groups_page

AGES = cf.TruncatedGeometric(cf.Integers(0, 29), epsilon=0.3)
SURVEY = cf.Survey(AGES, "age", "Ages")


def towns(mechanism: cf.Mechanism, sizes: Mapping[str, int], shift: int = 0, seed: int = 1) -> dict[str, cf.Counts]:
    """Return towns with a hump of values; the first is shifted."""
    rng = np.random.default_rng(seed)
    size = mechanism.alphabet.size if mechanism.alphabet.is_finite else 20
    groups = {}
    for place, (name, people) in enumerate(sizes.items()):
        values = np.clip(rng.binomial(size - 1, 0.4, size=people) + (shift if place == 0 else 0), 0, size - 1)
        values = mechanism.alphabet.decode(values) if mechanism.alphabet.is_finite else values
        groups[name] = cf.tally(mechanism.privatize(values, rng=rng))
    return groups


MECHANISMS = {
    "line": AGES,
    "unbounded": cf.Geometric(cf.Integers(), epsilon=1.0),
    "k-RR": cf.RandomizedResponse(cf.Integers(0, 9), epsilon=1.0),
    "bits": cf.Rappor(cf.Integers(0, 5), epsilon=2.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.slow
def test_groups_are_answered_together_as_if_they_were_alone(name: str) -> None:
    mechanism = MECHANISMS[name]
    groups = towns(mechanism, {"a": 300, "b": 80, "c": 1})
    found = cf.estimate_groups(groups, mechanism, cf.IBU())
    query, means, medians = found.query("age >= 4"), found.mean(0.9), found.quantile(0.5)
    for town, counts in groups.items():
        alone = cf.estimate(counts, mechanism, cf.IBU())
        for together, single in (
            (query[town], alone.query("age >= 4")),
            (means[town], alone.mean(0.9)),
            (medians[town], alone.quantile(0.5)),
        ):
            assert tuple(together) == pytest.approx(tuple(single), abs=1e-6)
            assert together.estimate == pytest.approx(single.estimate)
            assert (together.level, together.question) == (single.level, single.question)
            assert (together.undetermined is None) == (single.undetermined is None)


def test_other_bases_and_bands_are_those_of_each_group_too() -> None:
    groups = towns(AGES, {"a": 120, "b": 60})
    found, done = cf.estimate_groups(groups, AGES, cf.IBU()), list[int]()
    basis = cf.estimates.Bootstrap(40)
    bands, query = found.interval(0.9, basis=basis, progress=done.append), found.query("age >= 9", basis=basis)
    assert done == [1, 2]
    for town, answer in found.items():
        np.testing.assert_allclose(bands[town].high, answer.interval(0.9, basis=basis).high)
        assert tuple(query[town]) == pytest.approx(tuple(answer.query("age >= 9", basis=basis)))


def test_groups_of_two_pools_are_solved_and_asked_together() -> None:
    wary = cf.TruncatedGeometric(cf.Integers(0, 29), epsilon=0.1)
    one, other = towns(AGES, {"a": 200, "b": 90}), towns(wary, {"a": 60, "b": 150}, seed=2)
    pools = {key: [(one[key], AGES), (other[key], wary)] for key in one} | {"c": [(other["a"], wary)]}
    found = recover_pools(pools, cf.IBU())
    means = found.mean()
    for key, pool in pools.items():
        alone = cf.estimate_pool(pool, cf.IBU())
        np.testing.assert_allclose(found[key].distribution, alone.distribution, atol=1e-12)
        assert tuple(means[key]) == pytest.approx(tuple(alone.mean()), abs=1e-6)
    assert found.differences.different == []


def test_what_is_said_of_a_difference() -> None:
    sizes = {"a": 900, "b": 900, "c": 900, "d": 2}
    older = cf.estimate_groups(towns(AGES, sizes, shift=6), AGES, cf.IBU())
    assert older.describe_difference("a") == "differs from the others: higher"
    said = older.describe_difference("b")
    assert said.startswith("no difference seen; a mean ")
    younger = cf.estimate_groups(towns(AGES, sizes, shift=-6), AGES, cf.IBU())
    assert younger.describe_difference("a") == "differs from the others: lower"
    alone = cf.estimate_groups(towns(AGES, {"a": 50}), AGES, cf.IBU())
    assert alone.describe_difference("a") == "nothing to compare with"
    assert older.seen.too_small == ["d"]
    assert GroupReports(older.seen.pools).reports == sizes


def surveyed(groups: Mapping[str, cf.Counts]) -> SurveyGroups:
    found = cf.estimate_groups({(name,): counts for name, counts in groups.items()}, AGES, cf.IBU())
    return SurveyGroups(found.estimates, SURVEY, ("town",))


def test_one_group_alone_neither_differs_nor_not() -> None:
    found = surveyed(towns(AGES, {"a": 50}))
    answers = GroupAnswers(ask_groups(found, ["age >= 15"], 0.9))
    header, first, *_ = (line.split(",") for line in groups_csv(found, answers).splitlines())
    assert first[header.index("differs")] == ""
    assert groups_record(found)["groups"][0]["difference"]["is_different"] is None


STRANGE = {"<script>alert(1)</script>": 600, "two\nlines": 500, "": 400, "=1+1": 1}


@pytest.mark.slow
def test_page_table_and_json_carry_the_answers_whatever_groups_are_called() -> None:
    found = surveyed(towns(AGES, STRANGE, shift=8))
    answers = GroupAnswers(ask_groups(found, ["age >= 15"], 0.9, quantiles=[0.9]))
    assert list(answers.questions) == ["mean", "median", "quantile 0.9", "age >= 15"]
    assert answers.main == "age >= 15"
    page = groups_page(found, answers)
    assert "<script>" not in page
    reader = Reader(page)
    assert "differs: higher" in reader.text
    assert "(none)" in reader.text
    assert page.count('class="forest"') == len(STRANGE)
    assert "1 group of 4 differs from the others" in reader.text
    marks = [float(one.split('"')[0]) for one in page.split('<circle cx="')[1:]]
    shares = [
        answers.questions["age >= 15"][key].estimate for key in [*found.differences.different, *found.largest[1:]]
    ]
    assert np.argsort(marks[:3]).tolist() == np.argsort(shares[:3]).tolist()  # larger shares farther to the right
    lines = groups_csv(found, answers).splitlines()
    assert lines[0].startswith("town,age,probability,reports,differs,mean,mean low,mean high,median")
    assert any(line.startswith("'=1+1") for line in lines)
    record = groups_record(found, answers)
    first = record["groups"][0]
    assert first["difference"]["is_different"] is True
    assert first["difference"]["words"] == "differs from the others: higher"
    asked = {one["query"]: one for one in first["answers"]}
    assert asked["age >= 15"]["low"] < asked["age >= 15"]["estimate"] < asked["age >= 15"]["high"]
    assert json.dumps(record)


@pytest.mark.slow
def test_a_page_says_once_that_two_groups_differ_and_shows_the_first_of_many() -> None:
    two = Reader(groups_page(surveyed(towns(AGES, {"Oslo": 900, "Rome": 900}, shift=6)))).text
    assert "The two groups differ. Compared with Rome, Oslo is: higher." in two
    many = surveyed(towns(AGES, {f"town {number}": 12 for number in range(30)}))
    text = Reader(groups_page(many)).text
    assert "No group differs from the others beyond chance (30 groups compared)." in text
    assert "The 24 largest of 30 groups" in text


@pytest.fixture
def counted(tmp_path: Path) -> tuple[str, str]:
    """Return a survey and a file of counts by town and week, one of three reports."""
    found = towns(AGES, {"Oslo": 500, "Rome": 400, "Ulm": 3}, shift=7)
    groups: dict[tuple[str, ...], cf.Counts] = {(name, "1"): counts for name, counts in found.items()}
    (tmp_path / "survey.toml").write_text(SURVEY.text())
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        save_counts(tmp_path / "c.parquet", GroupedCounts(("town", "week"), groups, Account(903)), SURVEY)
    return str(tmp_path / "survey.toml"), str(tmp_path / "c.parquet")


@pytest.mark.slow
def test_the_command_gives_intervals_and_queries_for_groups(
    call: Call, counted: tuple[str, str], tmp_path: Path
) -> None:
    outputs = [str(tmp_path / f"e.{kind}") for kind in ("csv", "json", "html")]
    options = [part for one in outputs for part in ("-o", one)]
    result = call("estimate", *counted, "--query", "age >= 20", "--interval", "0.8", "--method", "ibu", *options)
    assert result.code == 0, result.err
    assert "Oslo, 1" in result.out
    assert "differs" in result.out
    record = json.loads(Path(outputs[1]).read_text())
    oslo = next(one for one in record["groups"] if one["group"] == {"town": "Oslo", "week": "1"})
    assert [one["query"] for one in oslo["answers"]] == ["mean", "median", "age >= 20"]
    assert {one["level"] for one in oslo["answers"]} == {0.8}
    assert len(oslo["low"]) == 30
    assert "low,high" in Path(outputs[0]).read_text().splitlines()[0]
    alone = cf.estimate(cf.load_counts(counted[1])["Oslo", "1"], AGES, cf.IBU())  # type: ignore[index]
    assert oslo["answers"][2]["low"] == pytest.approx(alone.query("age >= 20", 0.8).low, abs=1e-6)


@pytest.mark.slow
def test_many_groups_are_told_beforehand_how_long_they_take(
    call: Call, counted: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.cli.estimate.MANY", 2)
    monkeypatch.setattr("confide.cli.estimate.MOST_BANDS", 2)
    result = call("estimate", *counted, "--interval", "0.9", "--method", "ibu", "--json")
    assert result.code == 0
    assert "3 groups take about 1 second" in result.err
    assert "single values do not" in result.err
    assert "low" not in json.loads(result.out)["groups"][0]


@pytest.mark.slow
def test_a_diagnosis_of_groups(call: Call, counted: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "d.html"
    result = call("diagnose", *counted, "-o", str(page))
    assert result.code == 0, result.err
    assert "The groups" in result.out
    assert "too small" in result.out
    assert "differs" in result.out
    assert "too small to say anything" in Reader(page.read_text()).text
    record = json.loads(call("diagnose", *counted, "--json").out)
    assert record["reports"] == 903
    small = {one["group"]["town"]: one["is_too_small"] for one in record["groups"]}
    assert small == {"Oslo": False, "Rome": False, "Ulm": True}


@pytest.mark.slow
def test_a_group_that_does_not_fit_is_named_and_ends_strictly(call: Call, tmp_path: Path) -> None:
    found = towns(AGES, {"Oslo": 500, "Rome": 400})
    groups: dict[tuple[str, ...], cf.Counts] = {(name,): one for name, one in found.items()}
    groups["bots",] = cf.tally([7], counts=[400])
    (tmp_path / "survey.toml").write_text(SURVEY.text())
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        save_counts(tmp_path / "c.parquet", GroupedCounts(("town",), groups, Account(1300)), SURVEY)
    for command, option, code in (("diagnose", ["--strict"], 8), ("estimate", ["--method", "ibu"], 0)):
        result = call(command, str(tmp_path / "survey.toml"), str(tmp_path / "c.parquet"), *option)
        assert result.code == code
        assert "bots" in result.out


def test_groups_that_cannot_be_told_from_a_uniform_population_are_named() -> None:
    sizes = {"Oslo": 2000, "Rome": 8, "Bern": 9}
    with pytest.warns(
        cf.errors.UniformReportsWarning, match="2 of 3 groups cannot be distinguished from those of a uniform"
    ) as caught:
        found = cf.estimate_groups(towns(AGES, sizes), AGES, cf.IBU())
    assert len([one for one in caught if one.category is cf.errors.UniformReportsWarning]) == 1
    assert found.untold == ["Bern", "Rome"]
    bern = found["Bern"].uniformity
    assert bern is not None
    assert found.describe_untold(str.upper).endswith(
        f"uniform population: BERN, ROME. Of BERN, the largest: {bern.cure}"
    )
    alone = cf.estimates.GroupEstimates({"Oslo": found["Oslo"]})
    assert alone.untold == []
    assert alone.describe_untold() == ""
    weak = cf.estimates.GroupEstimates({"Rome": found["Rome"]})
    assert weak.describe_untold().startswith("The reports of this group cannot be distinguished")
    many = cf.estimates.GroupEstimates(dict.fromkeys(range(5), found["Rome"]))
    assert ": 0, 1, 2 and 2 more." in many.describe_untold()


@pytest.mark.slow
def test_page_and_json_say_which_groups_are_like_uniform_ones() -> None:
    found = surveyed(towns(AGES, {"Oslo": 2000, "Rome": 12}))
    words = found.describe_untold("".join)
    assert words.startswith("The reports of 1 of 2 groups")
    record = groups_record(found)
    assert record["uniform"] == {"words": words, "groups": 1}
    told = [one["uniformity"]["is_rejected"] for one in record["groups"]]
    assert told == [True, False]
    assert record["groups"][1]["uniformity"]["people"] > 12
    text = Reader(groups_page(found)).text
    assert text.index(words) < text.index("Do the groups differ?")
    assert "Some of these reports say next to nothing" in text
    assert text.count("indistinguishable from uniform") == 1
    told_alone = groups_page(surveyed(towns(AGES, {"Oslo": 2000})))
    assert "say next to nothing" not in told_alone


@pytest.mark.slow
def test_the_command_says_first_which_groups_are_like_uniform_ones(call: Call, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY.text())
    found = towns(AGES, {"Oslo": 2000, "Rome": 12})
    groups: dict[tuple[str, ...], cf.Counts] = {(name,): counts for name, counts in found.items()}
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        save_counts(tmp_path / "c.parquet", GroupedCounts(("town",), groups, Account(2012)), SURVEY)
    files = str(tmp_path / "survey.toml"), str(tmp_path / "c.parquet")
    result = call("estimate", *files, "--method", "ibu")
    assert result.code == 0, result.err
    said = " ".join(result.out.split())
    caution = said.index("The reports of 1 of 2 groups cannot be distinguished from those of a uniform")
    assert said.index("Ages") < caution < said.index("differ")
    assert "indistinguishable from uniform" in said
    assert "The reports of 1 of 2 groups cannot be distinguished" in " ".join(
        call("estimate", *files, "--json").err.split()
    )

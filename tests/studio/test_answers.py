"""What the studio answers: the numbers of the library, warnings at extremes, and code that gives the same numbers."""

from __future__ import annotations

import itertools
import json
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studio.running import RunningStudio
from tests.studio.test_serving import AGES

import confide as cf
from confide.errors import InvalidParameterError
from confide.present import summary as say
from confide.studio.answers import expect, plan, play
from confide.studio.drafts import chosen_queries, preview, read_draft, templates, values_record
from confide.studio.looks import look


def quiet(*_: object) -> None:
    """Nobody is told."""


def previewed(draft: Mapping[str, Any], value: int | None = None) -> dict[str, Any]:
    return preview({"draft": draft, "value": value}, quiet)


def asking(alphabet: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"survey": {"name": "x", "title": "X", "alphabet": alphabet}, "epsilon": 1.0, "people": 5000} | more


ALPHABETS: dict[str, dict[str, Any]] = {
    "integers": {"kind": "integers", "low": 1, "high": 9},
    "scale": {"kind": "scale", "values": ["never", "often", "always"], "positions": [0, 1, 4]},
    "bins": {"kind": "bins", "edges": [0, 10, 20, 50], "above": True},
    "dates": {"kind": "dates", "first": "2026-01-01", "last": "2026-01-20"},
    "hours": {"kind": "hours"},
    "categories": {"kind": "categories", "values": ["yes", "no", "perhaps"]},
    "grid": {"kind": "grid", "rows": 3, "columns": 4, "holes": [[0, 1]]},
    "places": {"kind": "places", "south": 40.70, "west": -74.02, "north": 40.75, "east": -73.97, "cell": "1 km"},
}


@pytest.mark.parametrize("kind", ALPHABETS)
def test_every_mechanism_that_suits_can_be_previewed(kind: str) -> None:
    first = previewed(asking(ALPHABETS[kind]))
    assert first["mechanism"]["kind"] in [one["kind"] for one in first["mechanisms"]]
    for one in first["mechanisms"]:
        found = previewed(asking(ALPHABETS[kind], mechanism=one["kind"]), 1)
        assert found["mechanism"] == one
        assert found["value"] == {"index": 1, "label": found["values"]["labels"][1]}
        chances, drawn = np.array(found["reports"]["probabilities"]), np.array(found["reports"]["drawn"])
        assert chances.size == drawn.size == found["reports"]["values"]["size"]
        # A report of these supports several values, each with a chance of its own.
        supporting = ("rappor", "optimized-unary", "subset-selection", "local-hashing", "hadamard-response")
        if one["kind"] not in (*supporting, "projective-geometry"):
            assert chances.sum() == pytest.approx(1)
            assert drawn.sum() == pytest.approx(1000, abs=5)
        # A thousand draws lie where the probabilities say; those of another value would not.
        spread = np.sqrt(np.maximum(1000 * chances * (1 - chances), 1))
        assert (np.abs(drawn - 1000 * chances) <= 5 * spread).all(), one
        assert found["epsilon"]["low"] < found["epsilon"]["usual"] < found["epsilon"]["high"]
        start = tuple(f"An observer who thought {what} " for what in ("x", "cell", "the cell"))
        assert found["promise"][0].startswith(start), found["promise"][0]


@pytest.mark.parametrize(
    ("size", "epsilon", "best"),
    [(5, 1.0, "randomized-response"), (5, 0.3, "subset-selection"), (40, 1.0, "projective-geometry")],
)
def test_mechanisms_are_in_the_order_of_the_ranking(size: int, epsilon: float, best: str) -> None:
    values = [f"drink {number}" for number in range(size)]
    found = previewed(asking({"kind": "categories", "values": values}, epsilon=epsilon))
    ranking = cf.rank(cf.Categories(values), epsilon, people=asking({})["people"])
    ranked = [one.mechanism.kind for one in ranking.candidates]
    assert [one["kind"] for one in found["mechanisms"]][: len(ranked)] == ranked
    # The best is what a new draft has.
    assert found["winner"] == found["mechanism"]["kind"] == ranked[0]
    assert best == ranked[0]
    assert found["why"] == ranking.reason


def test_a_promise_by_distance_is_ranked_by_itself() -> None:
    found = previewed(AGES)
    assert found["mechanism"]["kind"] == found["winner"] == found["mechanisms"][0]["kind"] == "truncated-geometric"
    plain = previewed(AGES | {"mechanism": "randomized-response", "epsilon": 1.0})
    assert plain["winner"] == plain["mechanisms"][0]["kind"] == "square-wave"
    assert plain["why"].startswith("square-wave has the smallest error")
    assert {one["kind"] for one in plain["mechanisms"]} == {one["kind"] for one in found["mechanisms"]}
    many = previewed(asking({"kind": "integers", "low": 0, "high": 1999}))
    assert (many["winner"], many["why"]) == (None, "")


def test_values_say_where_they_lie() -> None:
    survey = read_draft(asking(ALPHABETS["scale"])).survey
    assert values_record(survey.alphabet)["positions"] == [0, 1, 4]
    grid = values_record(read_draft(asking(ALPHABETS["grid"])).survey.alphabet)["plane"]
    assert (grid["rows"], grid["columns"], len(grid["cells"])) == (3, 4, 11)
    assert [0, 1] not in grid["cells"]
    places = values_record(read_draft(asking(ALPHABETS["places"])).survey.alphabet)["plane"]
    assert places["degrees"]["south"] < places["degrees"]["north"]
    assert values_record(read_draft(asking(ALPHABETS["bins"])).survey.alphabet)["positions"][:2] == [5, 15]


def test_the_promise_is_in_odds() -> None:
    found = previewed(AGES)
    assert found["promise"][0].endswith("equally likely would shift to at most 51:49.")
    assert (found["odds"][0]["from"], found["odds"][0]["to"]) == ("30", "31")
    assert found["odds"][0]["odds"] == pytest.approx(100 / (1 + np.exp(-0.05)), abs=0.01)
    assert found["epsilon"] == {
        "value": 0.05,
        "low": 0.001,
        "high": 2.0,
        "usual": 0.05,
        "per": "year",
        "words": "epsilon 0.05 per year",
    }


@pytest.mark.parametrize(
    ("changed", "begin"),
    [
        ({"epsilon": 5.0}, "Nearly the truth"),
        ({"epsilon": 0.0005}, "Nearly nothing"),
        ({"people": 200}, "200 people: blurred reports"),
    ],
)
def test_extremes_are_warned_of(changed: dict[str, Any], begin: str) -> None:
    warnings = previewed(AGES | changed)["warnings"]
    assert [one[: len(begin)] for one in warnings] == [begin]


YES_OR_NO = {"kind": "categories", "values": ["yes", "no"]}


@pytest.mark.parametrize(
    ("alphabet", "changed", "words"),
    [
        (YES_OR_NO, {"people": 999}, ["999 people: blurred"]),
        (YES_OR_NO, {"people": 1000}, []),
        (YES_OR_NO, {"people": 1001}, []),
        (YES_OR_NO, {"epsilon": 4.59}, []),
        (YES_OR_NO, {"epsilon": 4.6}, ["Nearly the truth"]),
        (YES_OR_NO, {"epsilon": 0.2}, ["Nearly nothing"]),
        (YES_OR_NO, {"epsilon": 0.202}, []),
        (
            {"kind": "integers", "low": 1, "high": 300},
            {"people": 1499, "epsilon": 0.1},
            ["1,499 people over 300 values"],
        ),
        ({"kind": "integers", "low": 1, "high": 300}, {"people": 1500, "epsilon": 0.1}, []),
    ],
)
def test_warnings_begin_where_they_say(alphabet: dict[str, Any], changed: dict[str, Any], words: list[str]) -> None:
    settings: dict[str, Any] = {"people": 5000, "epsilon": 1.0} | changed
    warnings = previewed(asking(alphabet, **settings))["warnings"]
    assert [one[: len(begin)] for one, begin in zip(warnings, words, strict=True)] == words


def test_values_that_are_too_many_for_the_people_are_warned_of() -> None:
    warnings = previewed(asking({"kind": "integers", "low": 0, "high": 1999}, epsilon=0.005))["warnings"]
    assert len(warnings) == 1
    assert "5,000 people over 2,000 values" in warnings[0]


@pytest.mark.slow
def test_exported_python_prints_the_expected_picture(tmp_path: Path) -> None:
    draft = AGES | {"people": 3000}
    found = expect({"draft": draft, "seed": 0}, quiet)
    assert found["emd"]["value"] == pytest.approx(
        cf.emd(found["estimate"], found["truth"], cf.Integers(0, 99)), rel=1e-9
    )
    printed = _run(tmp_path, previewed(draft)["code"]["python"])
    assert printed == [f"{age}: {share:.4f}" for age, share in enumerate(found["estimate"])]


def _run(folder: Path, python: str) -> list[str]:
    (folder / "exported.py").write_text(python, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "exported.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_slider_waits_for_no_table_of_all_values() -> None:
    for template in templates():
        took = []
        for step in range(4):  # the first one loads what the others have
            draft = template["draft"] | {"epsilon": template["draft"]["epsilon"] * (1 + step / 50)}
            begun = time.process_time()
            previewed(draft)
            took.append(time.process_time() - begun)
        assert min(took[1:]) < 0.05, template["name"]  # processor seconds: 3 to 21 ms, and 140 with exact tables


def test_the_picture_comes_before_its_windows() -> None:
    told: list[Any] = []
    scale = asking({"kind": "integers", "low": 0, "high": 10}, guess="peaked")
    found = expect({"draft": scale, "seed": 1}, lambda *said: told.append(said))
    partial, later = (said[3] for said in told if len(said) > 3)
    assert partial["estimate"] == found["estimate"]
    assert not partial["windows"]
    # The levels of privacy come last: each is a simulated survey of its own.
    assert (later["windows"], later["levels"]) == (found["windows"], None)
    assert found["levels"]["rows"][0]["cells"][0] == "strong"
    assert sorted(place for one in found["windows"] for place in one["indices"]) == list(range(11))


@pytest.mark.slow
def test_a_plan_solves_for_what_was_left_out() -> None:
    draft = asking(ALPHABETS["categories"], guess="falling")
    expected = plan({"draft": draft, "solve": "error", "target": {}}, quiet)
    error = expected["expected"]["value"]
    people = plan({"draft": draft, "solve": "people", "target": {"emd": error / 2}}, quiet)
    assert people["is_reached"]
    assert 2 < people["people"] / draft["people"] < 8
    told: list[Any] = []
    epsilon = plan({"draft": draft, "solve": "epsilon", "target": {"emd": error / 2}}, lambda *said: told.append(said))
    assert epsilon["epsilon"] > draft["epsilon"]
    # A first answer, of few repeats, is told at once; the last one has all of them.
    (first,) = (said[3] for said in told if len(said) > 3)
    assert (first["repeats"], epsilon["repeats"]) == (3, 12)
    assert epsilon["expected"]["value"] == pytest.approx(error / 2, rel=0.1)
    assert first["epsilon"] == pytest.approx(epsilon["epsilon"], rel=0.5)
    assert told[0][2].startswith("Trying randomized response on 5,000 people, ")
    assert told[0][2].endswith(": made-up survey 1 of 3")
    never = plan({"draft": draft | {"people": 20}, "solve": "epsilon", "target": {"emd": 1e-7}}, quiet)
    assert not never["is_reached"]
    assert never["expected"]["value"] > 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("template", templates(), ids=lambda one: one["name"])
def test_each_template_meets_its_own_target(template: dict[str, Any]) -> None:
    expected = plan({"draft": template["draft"], "solve": "error"}, quiet)["expected"]["value"]
    assert template["target"] / 3 < expected <= template["target"]  # and does not promise far less than it could


def test_methods_side_by_side_on_a_bundled_truth() -> None:
    asked = {"dataset": "san_francisco", "mechanism": "truncated-planar-geometric", "epsilon": 1.0, "people": 20_000}
    found = play(asked | {"methods": ["ibu", "inversion-normalize"], "seed": 0}, quiet)
    assert [one["key"] for one in found["methods"]] == ["inversion-normalize", "ibu"]
    assert [one["colour"] for one in found["methods"]] == ["normalized", "ibu"]
    assert found["methods"][1]["emd"]["value"] < found["methods"][0]["emd"]["value"]
    assert found["made"].startswith("20,000 people, the truncated planar geometric mechanism, 1 per")
    # A slider is answered within what it may take: what takes long is left, and of the others what there is time for.
    asked |= {"methods": ["stacked", "ibu", "mle"], "seed": 0}
    quick = play(asked | {"within": 10_000}, quiet)
    assert [one["key"] for one in quick["methods"]] == ["mle", "ibu"]
    assert quick["left"] == ["stacked"]
    assert play(asked | {"within": 0}, quiet)["left"] == ["ibu", "stacked"]
    told: list[Any] = []
    rest = play(asked, lambda *said: told.append(said))
    assert [one["key"] for one in rest["methods"]] == ["mle", "ibu", "stacked"]
    assert rest["left"] == []
    assert rest["methods"][1]["distribution"] == quick["methods"][1]["distribution"]
    assert told[-1][2] == "Trying Stacked"
    with pytest.raises(InvalidParameterError, match="within must be milliseconds"):
        play(asked | {"within": -1}, quiet)


GROUPED = """
name = "answer"
title = "It's a \\"question\\""

[alphabet]
kind = "categories"
values = ["yes", "no", "it's"]

[mechanism]
kind = "randomized-response"
epsilon = 2.0

[groups]
town = ["Oslo", "Bern"]
"""


@pytest.mark.slow
def test_exported_code_gives_the_numbers_of_a_look(studio: RunningStudio, tmp_path: Path) -> None:
    survey = cf.parse_survey(GROUPED)
    assert studio.ask("/v1/surveys", survey.to_json().encode()).status == 201
    for seed, (town, shares) in enumerate((("Oslo", [0.7, 0.2, 0.1]), ("Bern", [0.2, 0.7, 0.1]))):
        values = np.random.default_rng(seed).choice(["yes", "no", "it's"], 2000, p=shares)
        sent = survey.privatize(values, rng=10 + seed).tolist()
        message = {"survey": survey.fingerprint, "batch": secrets.token_hex(16), "groups": {"town": town}}
        message |= {"day": datetime.now(UTC).date().isoformat(), "reports": sent}
        assert studio.ask("/v1/reports", message, who=None).json["accepted"] == 2000
    query = 'answer in {yes, "it\'s"}'
    wanted: dict[str, Any] = {"queries": [query, "answer ~ yes"], "methods": ["ibu"], "groups": True, "band": True}
    found = studio.work({"kind": "look", "survey": survey.fingerprint, "diagnosis": True} | wanted)
    assert found["accepted"] == 4000
    assert "error" in found["queries"][1]
    assert found["diagnosis"][0].startswith("These reports resolve")
    assert [one["name"] for one in found["groups"]] == ["town Bern", "town Oslo"]
    assert any("differ" in one for one in found["differences"])
    assert all(
        low <= share <= high for share, low, high in zip(found["distribution"], *found["band"].values(), strict=True)
    )
    (tmp_path / "counts.parquet").write_bytes(studio.ask(f"/studio/v1/counts/{survey.fingerprint}").body)
    (tmp_path / "survey.json").write_bytes(studio.ask(f"/v1/surveys/{survey.fingerprint}").body)
    printed = _run(tmp_path, found["code"]["python"])
    assert printed[:3] == [
        f"{label}: {share:.4f}" for label, share in zip(["yes", "no", "it's"], found["distribution"], strict=True)
    ]
    answer = found["queries"][0]
    assert printed[3].startswith(query)
    assert f"{answer['estimate']:.4g}, between {answer['low']:.4g} and {answer['high']:.4g}" in printed[3]
    # The commands too, as a shell takes them.
    command = next(line for line in found["code"]["commands"].splitlines() if "--query" in line)
    command = command.replace("confide ", f"{sys.executable} -m confide ", 1)
    done = subprocess.run(["sh", "-c", f"{command} --json"], cwd=tmp_path, capture_output=True, timeout=120, check=True)
    record = json.loads(done.stdout)
    assert record["distribution"] == pytest.approx(found["distribution"], abs=1e-9)
    assert record["queries"][0]["low"] == pytest.approx(answer["low"], abs=1e-9)


def test_a_look_is_what_the_library_says() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9, unit="room"), 1.0), "rooms", "Rooms")
    counts = cf.tally(survey.privatize([3, 4, 4, 5] * 500, rng=1))
    listed = [[report, int(number)] for report, number in zip(counts.reports.tolist(), counts.counts, strict=True)]
    record = {"survey": survey.fingerprint, "by": [], "accepted": 2000, "rejected": {}, "is_simulated": False}
    record |= {"is_closed": False, "days": [{"day": "2026-11-16", "groups": [], "counts": listed}]}
    asked = {"document": survey.to_json(), "record": json.dumps(record), "version": 4000, "methods": []}
    short = look(asked | {"queries": ["rooms >= 5"], "more": False}, quiet)
    assert short["windows"]["is_pending"]
    told: list[dict[str, Any]] = []

    def tell(_done: int, _of: int, _words: str, known: dict[str, Any] | None) -> None:
        told.extend([] if known is None else [dict(known)])

    found = look(asked | {"queries": ["rooms >= 5"]}, tell)
    estimate = cf.estimate(counts, survey.mechanism)
    assert found["distribution"] == estimate.distribution.tolist()
    assert [one["query"] for one in found["statistics"]][:2] == ["median", "mean"]
    answer = estimate.query("rooms >= 5")
    assert (found["queries"][0]["low"], found["queries"][0]["high"]) == (answer.low, answer.high)
    told_of, shown = found["queries"][0], say.texts(answer)
    assert (told_of["title"], told_of["now"]) == ("rooms >= 5", shown[0])
    assert told_of["ends"] == f"{shown[1]}, 95% confidence; {answer.parts}"
    (median,) = estimate.statistics([0.5], 0.95, mean=False)
    assert found["headline"] == say.state(median, "rooms")
    assert [one["title"] for one in found["statistics"]][:2] == ["Median rooms", "Mean rooms"]
    assert [one["label"] for one in found["windows"]["windows"]] == list(estimate.windows(name="rooms").labels)
    assert (found["fit"]["headline"], found["fit"]["words"]) == (estimate.fit.headline, str(estimate.fit))
    assert found["fit"]["cautions"] == []
    assert sum(found["reports"]) == pytest.approx(1)
    (known,) = [one["words"] for one in found["details"] if one["name"] == "Identification"]
    assert known.endswith("(Lemma on the columns of the truncated geometric mechanism)")
    assert (short["queries"], short["distribution"]) == (found["queries"], found["distribution"])
    # Answers are told before the fit is tested, and the fit before windows are looked for; asked again all is known.
    early, later = told
    assert early["fit"]["is_pending"]
    assert early["queries"] == found["queries"]
    assert later["fit"] == found["fit"]
    assert later["queries"] == found["queries"]
    assert later["statistics"] == found["statistics"]
    assert later["windows"] == {"headline": "", "words": "", "windows": [], "is_pending": True}
    told.clear()
    again = look(asked | {"queries": ["rooms >= 6"]}, tell)
    assert again["windows"] == found["windows"]
    assert not told


def test_a_look_follows_groups_that_are_weeks() -> None:
    weeks = ("2026-W02", "2026-W10", "2026-W01")
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 3.0), "vote", groups={"week": weeks})
    days: list[dict[str, Any]] = []
    for week, yes in zip(weeks, (500, 800, 450), strict=True):
        said = Counter(survey.privatize(["yes"] * yes + ["no"] * (1000 - yes), rng=yes).tolist())
        days.append({"day": "2026-11-11", "groups": [week], "counts": sorted(said.items())})
    record = {"survey": survey.fingerprint, "by": ["week"], "accepted": 3000, "rejected": {}, "is_simulated": False}
    record |= {"is_closed": True, "days": days}
    asked = {"document": survey.to_json(), "record": json.dumps(record), "version": 79, "methods": ["mle"]}
    found = look(asked | {"queries": ["vote == yes"], "groups": True}, quiet)
    counts = {one["groups"][0]: cf.tally(*zip(*one["counts"], strict=True)) for one in days}
    change = cf.estimate_groups(counts, survey.mechanism).series("vote == yes").change("2026-W01", "2026-W10")
    line = found["differences"][0]
    assert line.startswith("week: \u2581\u2582\u2588 About 4")
    assert "in 2026-W01, " in line
    assert "in 2026-W10: a change (p < 0.001)" in line
    assert f"{100 * change.low:+.0f} to {100 * change.high:+.0f}" in line
    assert len(found["differences"]) == 4


def test_a_look_has_every_number_of_every_group() -> None:
    groups = {"sex": ("f", "m"), "town": ("Bern", "Oslo", "Rome")}
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(3, 9, unit="room"), 2.0), "rooms", "Rooms", groups=groups)
    days: list[dict[str, Any]] = []
    for place, own in enumerate(itertools.product(*groups.values())):
        said = Counter(survey.privatize([3 + place] * (100 * place + 50) + [6] * 40, rng=place).tolist())
        days.append({"day": f"2026-11-1{place % 3}", "groups": list(own), "counts": sorted(said.items())})
    people = [sum(number for _, number in one["counts"]) for one in days]
    record = {"survey": survey.fingerprint, "by": ["sex", "town"], "accepted": sum(people), "rejected": {"missing": 7}}
    record |= {"is_simulated": False, "is_closed": True, "days": days}
    asked = {"document": survey.to_json(), "record": json.dumps(record), "version": 77, "methods": ["mle"]}
    found = look(asked | {"queries": ["rooms >= 5", "rooms == 3"], "groups": True, "band": True}, quiet)
    assert (found["version"], found["accepted"], found["rejected"]) == (77, sum(people), {"missing": 7})
    assert (found["survey"]["is_simulated"], found["survey"]["is_closed"]) == (False, True)
    names = [(column, value) for column, values in enumerate(groups.values()) for value in values]
    assert [one["name"] for one in found["groups"]] == [f"{list(groups)[column]} {value}" for column, value in names]
    for (column, value), shown in zip(names, found["groups"], strict=True):
        theirs = Counter[int]()
        for one in days:
            theirs.update(dict(one["counts"]) if one["groups"][column] == value else {})
        assert shown["people"] == theirs.total()
        alone = cf.estimate(cf.tally(list(theirs), list(theirs.values())), survey.mechanism)
        assert shown["distribution"] == pytest.approx(alone.distribution.tolist(), abs=1e-6)
        shares = [sum(alone.distribution[2:]), alone.distribution[0]]
        assert [one["query"] for one in shown["queries"]] == ["rooms >= 5", "rooms == 3"]
        assert [one["estimate"] for one in shown["queries"]] == pytest.approx(shares, abs=1e-6)
        assert all(one["low"] <= one["estimate"] <= one["high"] for one in shown["queries"])
        assert {one["query"] for one in shown["statistics"]} == {"mean", "median"}
    assert [one.partition(":")[0] for one in found["differences"]] == [one["name"] for one in found["groups"]]
    whole = Counter[int]()
    for one in days:
        whole.update(dict(one["counts"]))
    together = cf.estimate(cf.tally(list(whole), list(whole.values())), survey.mechanism)
    band = together.interval(0.95)
    assert found["band"] == {"low": pytest.approx(band.low.tolist()), "high": pytest.approx(band.high.tolist())}
    assert found["reports"] == [whole[value] / sum(people) for value in range(3, 10)]


def test_so_many_questions_of_so_many_letters_are_taken() -> None:
    many = [f"x >= {number}" for number in range(21)]
    assert chosen_queries(many[:20]) == many[:20]
    assert chosen_queries([*many[:19], many[0]]) == many[:19]
    assert chosen_queries(["x" * 1000]) == ["x" * 1000]
    for strange in (many, ["x" * 1001], [3], "x >= 1", None):
        with pytest.raises(InvalidParameterError):
            chosen_queries(strange)

"""Caches: whatever an answer depends on is changed, one part at a time, and the answer must change with it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import ages, serving

import confide as cf
from confide.collector.stores import Store, open_store
from confide.collector.wire import Wire
from confide.evidence.shapes import Shape
from confide.mechanisms.audits import _with_larger_epsilon
from confide.plans.guesses import Guess
from confide.plans.simulations import Distance, Simulation, choose_measure
from confide.studio import looks
from confide.studio.looks import look
from confide.studio.serving import _key

AGES = cf.TruncatedGeometric(cf.Integers(3, 12, unit="year"), 1.0)


def quiet(*_: Any) -> None:
    pass


# The studio: looks by survey and version, each thing in them by what was asked.


def asked(survey: cf.Survey, reports: list[Any], version: int, towns: tuple[str, ...] = ()) -> dict[str, Any]:
    counts = cf.tally(reports)
    listed = [[report, int(number)] for report, number in zip(counts.reports.tolist(), counts.counts, strict=True)]
    days = [{"day": "2026-11-16", "groups": [town], "counts": listed} for town in towns]
    days = days or [{"day": "2026-11-16", "groups": [], "counts": listed}]
    record = {"survey": survey.fingerprint, "by": list(survey.groups), "accepted": len(reports) * max(1, len(towns))}
    record |= {"rejected": {}, "is_simulated": False, "is_closed": False, "days": days}
    return {
        "document": survey.to_json(),
        "record": json.dumps(record),
        "version": version,
        "methods": [],
        "queries": [],
    }


def test_a_look_is_of_its_survey_version_and_questions() -> None:
    survey, other = cf.Survey(AGES, "age"), cf.Survey(replace(AGES, epsilon=2.0), "age")
    few, many = [4, 5, 5, 9] * 30, [4, 5, 5, 9] * 30 + [11] * 200
    first = look(asked(survey, few, 240) | {"more": False}, quiet)
    assert look(asked(survey, many, 640) | {"more": False}, quiet)["distribution"] != first["distribution"]
    assert look(asked(other, few, 240) | {"more": False}, quiet)["distribution"] != first["distribution"]
    assert look(asked(survey, few, 240) | {"more": False}, quiet) == first
    answers = [
        look(asked(survey, few, 240) | {"more": False, "queries": [query]}, quiet)["queries"][0]
        for query in ("age >= 5", "age >= 9", "age <= 5")
    ]
    assert len({one["estimate"] for one in answers}) == 3
    assert [one["query"] for one in answers] == ["age >= 5", "age >= 9", "age <= 5"]


def test_a_look_tells_the_groups_what_was_asked_of_them() -> None:
    survey = cf.Survey(AGES, "age", groups={"town": ("Bern", "Oslo")})
    work = asked(survey, [4, 5, 5, 9] * 60, 480, ("Bern", "Oslo")) | {"groups": True}
    found = [look(work | {"queries": queries}, quiet)["groups"] for queries in (["age >= 5"], ["age >= 9"], [])]
    assert [[one["query"] for one in groups[0]["queries"]] for groups in found] == [["age >= 5"], ["age >= 9"], []]
    one, two = (look(work | {"methods": [method]}, quiet)["methods"][0] for method in ("mle", "inversion-raw"))
    assert one["distribution"] != two["distribution"]


def test_only_the_last_few_looks_are_kept_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(looks, "READINGS", OrderedDict())
    monkeypatch.setattr(looks, "Reading", lambda _, record: made.append(record))
    for number in [0, *range(4), 0, 4, 0, 1]:
        looks.reading_of(cf.Survey(AGES, "age"), number, str(number))
    assert made == [*range(4), 4, 1]


def test_the_key_of_a_job_has_every_part_of_what_was_asked() -> None:
    message = {"kind": "look", "survey": "f", "queries": ["age >= 5"], "methods": ["mle"], "more": True, "band": False}
    message |= {"groups": False, "diagnosis": False, "version": 4, "seed": 1}
    keys = {_key(message), *(_key(message | {name: "another"}) for name in message)}
    assert len(keys) == 1 + len(message)
    assert _key(dict(reversed(message.items()))) == _key(message)


# The collector: answers by survey, kind and version.


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"))
    yield found
    found.close()


def test_counts_and_their_tag_change_with_every_report_and_with_closing(file_store: Store) -> None:
    with serving(file_store) as served:
        seen = []
        for reports in ([], [3], [3], ["nonsense"]):
            if reports:
                assert served.post(served.message(reports)).status == 200
            reply = served.read("counts")
            seen.append((reply.headers["etag"], reply.json["accepted"], sum(reply.json["rejected"].values())))
            again = served.read("counts", if_none_match=reply.headers["etag"])
            assert (again.status, again.body) == (304, b"")
        assert [one[1:] for one in seen] == [(0, 0), (1, 0), (2, 0), (2, 1)]
        path = f"/v1/surveys/{served.survey.fingerprint}/close"
        served.ask("POST", path, b"", authorization=f"Bearer {served.tokens['administer']}")
        closed = served.read("counts", if_none_match=seen[-1][0])
        assert (closed.status, closed.json["is_closed"]) == (200, True)
        assert len({one[0] for one in seen} | {closed.headers["etag"]}) == 5


def test_each_of_two_surveys_has_its_own_counts(file_store: Store) -> None:
    other = cf.Survey(replace(ages().mechanism, epsilon=3.0), "age")  # type: ignore[type-var]
    with serving(file_store) as served:
        file_store.add_survey(other, "open")
        served.app.collector.refresh()
        served.post(served.message([3, 4]))
        served.post(served.message([7]) | {"survey": other.fingerprint})
        mine, theirs = served.read("counts").json, replace(served, survey=other).read("counts").json
        assert [one["days"][0]["counts"] for one in (mine, theirs)] == [[[3, 1], [4, 1]], [[7, 1]]]
        assert (mine["survey"], theirs["survey"]) == (served.survey.fingerprint, other.fingerprint)


def test_what_a_wire_remembers_is_of_its_survey_and_of_the_type() -> None:
    surveys = cf.Survey(AGES), cf.Survey(replace(AGES, alphabet=cf.Integers(0, 5)))
    reports: list[Any] = [4, True, 4.0, "4", 0, "0", 12, 12.0, 4.5, None, [4], "04", False]
    used = [Wire.of(survey) for survey in surveys]
    for _ in range(2):  # the second time from memory
        for survey, wire in zip(surveys, used, strict=True):
            for report in (*reports, *reversed(reports)):
                fresh, again = Wire.of(survey).judge([report]), wire.judge([report])
                assert (again.counts, again.rejected) == (fresh.counts, fresh.rejected), report
    assert [wire.judge([0]).counts for wire in used] == [{}, {"0": 1}]


# Plans: simulated errors, kept on disk.


def test_the_key_of_a_simulation_has_everything_that_its_numbers_depend_on() -> None:
    pair = cf.RandomizedResponse(cf.Integers(0, 1), 1.0)
    line = pair.alphabet
    usual = Simulation(Guess("peaked", line, [0.6, 0.4]), Distance(line), cf.MLE(), 8, 1)
    changed = [
        usual,
        replace(usual, guess=Guess("peaked", line, [0.7, 0.3])),
        replace(usual, measure=choose_measure(line, "x >= 1", "x")),
        replace(usual, measure=choose_measure(line, "x >= 0", "x")),
        replace(usual, method=cf.IBU()),
        replace(usual, method=cf.IBU(delta=1e-9)),
        replace(usual, repeats=9),
        replace(usual, seed=2),
        replace(usual, shape=Shape.of(["falling"])),
    ]
    keys = [one._key(pair, 100) for one in changed]
    keys += [usual._key(pair, 101), usual._key(replace(pair, epsilon=1.1), 100)]
    keys += [usual._key(replace(pair, alphabet=cf.Integers(1, 2)), 100)]
    assert len(set(keys)) == len(keys)
    assert replace(usual, known={})._key(pair, 100) == keys[0]


# Surveys and estimates: what is computed once for each of them.


def test_a_fingerprint_and_a_pin_have_every_part_of_the_promise() -> None:
    usual = cf.Survey(AGES, "age", "Ages")
    changed = [
        usual,
        replace(usual, mechanism=replace(AGES, epsilon=1.5)),
        replace(usual, mechanism=replace(AGES, alphabet=cf.Integers(3, 13, unit="year"))),
        replace(usual, mechanism=replace(AGES, alphabet=cf.Integers(3, 12))),
        replace(usual, most_reports=2),
        replace(usual, most_epsilon=2.0),
        replace(usual, is_permanent=True),
        replace(usual, shape=Shape.of(["falling"])),
        replace(usual, groups={"town": ("Bern", "Oslo")}),
        replace(usual, groups={"town": ("Bern", "Rome")}),
        replace(usual, simulated="two humps"),
    ]
    assert usual.fingerprint  # computed before it is copied
    assert len({one.fingerprint for one in changed}) == len({one.pin for one in changed}) == len(changed)
    assert replace(usual, name="years", title="Years").fingerprint == usual.fingerprint


def test_an_estimate_answers_each_level_and_question_anew() -> None:
    counts = cf.tally(AGES.privatize([4, 5, 6, 9] * 400, rng=1))
    one = cf.estimate(counts, AGES)
    asked_before = [one.query("age >= 6", level, name="age").width for level in (0.5, 0.95, 0.5)]
    assert asked_before[0] == asked_before[2] < asked_before[1]
    assert one.query("age >= 9", 0.95, name="age").estimate != one.query("age >= 6", 0.95, name="age").estimate
    means = [one.mean(level).width for level in (0.5, 0.99)]
    assert means[0] < means[1]
    quartiles = [one.quantile(share).estimate for share in (0.25, 0.75)]
    assert quartiles[0] < quartiles[1]
    fresh = cf.estimate(counts, AGES)
    assert fresh.query("age >= 6", 0.95, name="age").width == asked_before[1]


def test_a_mechanism_with_a_larger_epsilon_is_of_the_one_that_was_given() -> None:
    found = [_with_larger_epsilon(replace(AGES, epsilon=epsilon)) for epsilon in (1.0, 2.0, 1.0)]
    assert [one.epsilon for one in found] == pytest.approx([1.01, 2.02, 1.01])  # type: ignore[union-attr]

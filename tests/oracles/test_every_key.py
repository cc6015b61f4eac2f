"""Every key of what the studio is asked changes the answer, or is refused; every state of a store ends as it should.

One part of a message is another one at a time. Whatever is read under a wrong name, or not at all, leaves the answer
as it was.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shlex
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import confide as cf
from confide.cli import studio as command
from confide.cli.collector import Place
from confide.cli.main import app
from confide.collector.stores import ROLES, first_token, is_allowed, make_token, open_store
from confide.studio import answers, drafts, looks
from confide.studio.drafts import dataset_records
from confide.studio.looks import look

pytest.importorskip("orjson", reason="the studio needs the extra confide[collector]")

DRAFT: dict[str, Any] = {
    "survey": {"name": "mark", "title": "Marks", "alphabet": {"kind": "integers", "low": 0, "high": 4}},
    "mechanism": "truncated-geometric",
    "epsilon": 1.5,
    "people": 400,
    "guess": "peaked",
}
CHANGED_DRAFT: dict[tuple[str, ...], Any] = {
    ("survey", "alphabet", "high"): 5,
    ("survey", "name"): "score",
    ("survey", "title"): "Scores",
    ("survey", "groups"): {"town": ["Bern", "Oslo"]},
    ("survey", "limits"): {"reports": 2},
    ("survey", "shape"): ["falling"],
    ("mechanism",): "randomized-response",
    ("epsilon",): 2.5,
    ("people",): 800,
    ("guess",): "rough",
}
SILENT: dict[str, set[tuple[str, ...]]] = {
    "expect": {("survey", "title"), ("survey", "groups"), ("survey", "limits")},
    "plan": {("survey", "title"), ("survey", "name"), ("survey", "groups"), ("survey", "limits")},
    "preview": set(),
    "trial": {("people",)},
}
"""Parts of a draft that an answer has nothing to say of."""

MESSAGES: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[tuple[str, ...], Any]]] = {
    "expect": (answers.expect, {"draft": DRAFT, "seed": 1}, {("seed",): 2}),
    "plan": (
        answers.plan,
        {"draft": DRAFT, "solve": "error", "target": {"emd": 0.5}},
        {("solve",): "nothing", ("target",): {"width": 0.1, "query": "mark >= 3"}},
    ),
    "preview": (drafts.preview, {"draft": DRAFT, "value": 1}, {("value",): 2}),
    "trial": (drafts.trial, {"draft": DRAFT}, {}),
    "play": (
        answers.play,
        {
            "dataset": "adult_ages", "mechanism": "truncated-geometric", "epsilon": 0.1, "people": 2000,
            "methods": ["inversion-project", "mle"], "seed": 1,
        },
        {
            ("dataset",): "nyc_trip_hours", ("mechanism",): "randomized-response", ("epsilon",): 0.2, ("people",): 3000,
            ("methods",): ["mle"], ("seed",): 2, ("within",): 0,
        },
    ),
}  # fmt: skip


def quiet(*_: Any) -> None:
    pass


def plain(thing: Any) -> str:
    """Return an answer as a text without the time that it took."""
    if isinstance(thing, dict):
        thing = {name: json.loads(plain(one)) for name, one in thing.items() if name != "seconds"}
    elif isinstance(thing, list | tuple):
        thing = [json.loads(plain(one)) for one in thing]
    elif isinstance(thing, np.ndarray | np.generic):
        thing = thing.tolist()
    elif isinstance(thing, str):
        thing = re.sub(r", [\d.]+ m?s\b|, under 1 ms", "", thing)
    return json.dumps(thing, sort_keys=True)


def told(function: Callable[..., Any], message: dict[str, Any]) -> str:
    try:
        return plain(function(message, quiet))
    except cf.errors.ConfideError as error:
        return f"refused: {error}"


def changed(message: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    found = deepcopy(message)
    inner = found
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return found


@pytest.mark.parametrize("kind", MESSAGES)
def test_every_key_of_a_message_changes_the_answer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_levels", lambda _: None)  # which takes seconds
    function, message, others = MESSAGES[kind]
    usual = told(function, message)
    assert not usual.startswith("refused"), usual
    assert told(function, deepcopy(message)) == usual
    every = dict(others)
    if "draft" in message:
        every |= {("draft", *path): value for path, value in CHANGED_DRAFT.items()}
    for path, value in every.items():
        is_silent = path[1:] in SILENT.get(kind, set()) and path[0] == "draft"
        assert (told(function, changed(message, path, value)) == usual) is is_silent, path


LOOK_KEYS: dict[str, Any] = {
    "queries": ["mark >= 3"],
    "methods": ["mle"],
    "band": True,
    "groups": True,
    "diagnosis": True,
    "more": False,
}


def test_every_key_of_a_look_changes_what_is_seen() -> None:
    survey = cf.Survey(
        cf.TruncatedGeometric(cf.Integers(0, 4), 1.5), "mark", "Marks", groups={"town": ("Bern", "Oslo")}
    )
    drawn = {"Bern": [90, 80, 40, 30, 60], "Oslo": [20, 50, 90, 10, 40]}
    towns = {}
    for town, people in drawn.items():
        counts = survey.mechanism.simulate_counts(np.array(people), rng=1)
        towns[town] = [[int(one), int(many)] for one, many in zip(counts.reports, counts.counts, strict=True)]
    days = [{"day": "2026-11-16", "groups": [town], "counts": counts} for town, counts in towns.items()]
    record = {"survey": survey.fingerprint, "by": ["town"], "accepted": 510, "rejected": {"missing": 7}}
    record |= {"is_simulated": True, "is_closed": False, "days": days}
    message = {"document": survey.to_json(), "record": json.dumps(record), "version": 91}
    message |= {"queries": [], "methods": [], "band": False, "groups": False, "diagnosis": False, "more": True}
    usual = look(dict(message), quiet)
    for name, value in LOOK_KEYS.items():
        looks.READINGS.clear()  # what is known already is told in any case
        assert plain(look(message | {name: value}, quiet)) != plain(usual), name
    known = {"fingerprint": survey.fingerprint, "name": "mark", "title": "Marks"}
    assert usual["survey"] == known | {"is_simulated": True, "is_closed": False}
    assert (usual["version"], usual["accepted"], usual["rejected"]) == (91, 510, {"missing": 7})
    closed = json.dumps(record | {"is_simulated": False, "is_closed": True})
    other = look(message | {"record": closed, "version": 92}, quiet)["survey"]
    assert (other["is_simulated"], other["is_closed"]) == (False, True)
    found = look(message | {"groups": True}, quiet)["groups"]
    assert {one["name"]: one["people"] for one in found} == {"town Bern": 300, "town Oslo": 210}


def test_a_dataset_is_told_by_its_own_facts() -> None:
    called = {"name": "name", "title": "title", "people": "total", "credit": "citation"}
    for record in dataset_records():
        known = cf.datasets.load(record["name"])
        assert {name: record[name] for name in called} == {name: getattr(known, one) for name, one in called.items()}
        assert set(record) == {*called, "alphabet"}
        draft = {"survey": {"name": "x", "title": "X", "alphabet": record["alphabet"]}, "epsilon": 1.0, "people": 10}
        assert drafts.read_draft(draft).alphabet == known.alphabet


# Stores: who administers one, and who answers a new one.


@pytest.mark.parametrize("roles", [some for size in range(4) for some in itertools.combinations(ROLES, size)])
def test_a_store_gets_a_curator_unless_somebody_administers_it(roles: tuple[str, ...], tmp_path: Path) -> None:
    with contextlib.closing(open_store(str(tmp_path / "s.db"))) as store:
        for role in roles:
            make_token(store, role, f"a {role}")
        secret = first_token(store)
        assert (secret is None) is ("administer" in roles)
        if secret is not None:
            assert all(is_allowed(secret, role, store.tokens()) for role in ROLES)
            assert first_token(store) is None


@pytest.mark.parametrize("known", ["nothing", "real", "simulated"])
@pytest.mark.parametrize("given", [False, True])
def test_made_up_people_answer_a_store_that_is_new_and_no_other(
    known: str, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer")
    place = str(tmp_path / "s.db")
    if known != "nothing":
        with contextlib.closing(open_store(place)) as store:
            store.add_survey(survey, is_simulated=known == "simulated")
    seen: list[tuple[int, int]] = []

    def run(opened: Any, listening: Any, settings: Any, ready: Any, guest: Any, side: Any = None) -> None:
        del settings, ready, side

        class Collected:
            store = opened

        studio = guest(Collected())
        listening.close()
        seen.append((studio._people, sum(one.is_simulated for one in opened.surveys())))
        studio.close()
        opened.close()

    monkeypatch.setattr("confide.collector.serving.run", run)
    asked = [cf.Survey(survey.mechanism, "other", most_reports=1)] if given else []
    command._run(asked, place, Place("127.0.0.1", 0), is_shown=False, is_shared=False)
    is_new = known == "nothing" and not given
    assert seen == [(10_000 if is_new else 0, int(is_new or known == "simulated"))]


def parsed(line: str) -> tuple[str, dict[str, Any]]:
    """Return the command of a line as a shell and the command line take it, and what it is given."""
    group: Any = typer.main.get_command(app)
    program, name, *words = shlex.split(line, comments=True)
    assert program == "confide"
    return name, group.get_command(None, name).make_context(name, words).params


@pytest.mark.parametrize("guess", ["peaked", "two humps", "rough", "adult_ages"])
def test_commands_of_a_design_are_given_what_the_draft_has(guess: str) -> None:
    alphabet = {"kind": "integers", "low": 0, "high": 99}
    draft = drafts.read_draft(DRAFT | {"guess": guess, "survey": DRAFT["survey"] | {"alphabet": alphabet}})
    code = drafts.design_code(draft)
    lines = [line for line in code["commands"].splitlines() if not line.startswith("#")]
    given = dict(map(parsed, lines))
    assert list(given) == ["show", "plan", "studio"]
    assert (given["plan"]["people"], given["plan"]["guess"]) == (400, guess)
    assert {
        str(one) for each in given.values() for one in (each.get("survey"), *(each.get("surveys") or ())) if one
    } == {"survey.toml"}
    assert repr(guess).replace("'", '"') in code["python"]


def test_commands_of_a_look_ask_what_was_asked() -> None:
    queries, methods = ["mark >= 3", "mark in {1, 2}", "it's == 'x y'"], ["mle", "ibu"]
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 4), 1.5), "mark")
    code = looks.look_code(survey, queries, methods)
    lines = [line for line in code["commands"].splitlines() if not line.startswith("#")]
    first, *others, last = map(parsed, lines)
    assert (first[0], first[1]["query"]) == ("estimate", queries)
    assert [(name, one["method"]) for name, one in others] == [("estimate", method) for method in methods]
    assert last[0] == "diagnose"
    assert repr(queries) in code["python"]
    compile(code["python"], "look.py", "exec")

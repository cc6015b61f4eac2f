"""The server's answers are what web/schema.toml says, of which the types of its pages are made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.studio.running import RunningStudio
from tests.studio.schema import faults
from tests.studio.test_serving import AGES

import confide as cf
from confide.studio.answers import expect, plan, play
from confide.studio.drafts import preview, templates
from confide.studio.looks import look
from confide.studio.serving import Job

WEB = Path(__file__).parents[2] / "web"


def sent(answer: Any) -> Any:
    """Return an answer as a page gets it."""
    return json.loads(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))


def all_of(work: Callable[..., Any], asked: dict[str, Any], kind: str) -> list[Any]:
    """Return an answer and all that is known before it, after the answer was checked."""
    partial: list[Any] = []
    answer = sent(work(asked, lambda _done, _of, _words, known=None: partial.append(known)))
    assert faults(kind, answer) == []
    return [answer, *(sent(one) for one in partial if one is not None)]


@pytest.mark.parametrize("template", templates(), ids=lambda one: one["name"])
def test_previews(template: dict[str, Any]) -> None:
    all_of(preview, {"draft": template["draft"], "value": 1}, "Preview")


def test_what_a_design_asks_for() -> None:
    draft = AGES | {"people": 2000}
    all_of(expect, {"draft": draft, "seed": 0}, "Expectation")
    small: dict[str, Any] = {
        "survey": {"name": "x", "title": "X", "alphabet": {"kind": "integers", "low": 1, "high": 4}}
    }
    small |= {"epsilon": 1.0, "people": 2000, "guess": "peaked"}
    for found in all_of(plan, {"draft": small, "solve": "error", "target": {}}, "Planned"):
        assert faults("Planned", found) == []


def test_what_is_played() -> None:
    asked: dict[str, Any] = {
        "dataset": "adult_ages",
        "mechanism": "truncated-geometric",
        "epsilon": 0.5,
        "people": 1000,
    }
    all_of(play, asked | {"methods": ["stacked", "mle"], "seed": 0}, "Playing")


@pytest.mark.parametrize("has_more", [False, True])
def test_looks(has_more: bool) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Integers(1, 4), 2.0), name="rooms", groups={"town": ("a", "b")})
    reports = survey.privatize([1, 1, 2, 3] * 50, rng=1).tolist()
    counted = [[one, reports.count(one)] for one in sorted(set(reports))]
    day = datetime.now(UTC).date().isoformat()
    days = [{"day": day, "groups": [town], "counts": counted} for town in "ab"]
    record: dict[str, Any] = {"by": ["town"], "survey": survey.fingerprint, "days": days, "rejected": {"missing": 2}}
    record |= {"accepted": 400, "is_simulated": False, "is_closed": False}
    asked: dict[str, Any] = {
        "document": survey.to_json(),
        "record": json.dumps(record).encode(),
        "version": 8,
        "more": has_more,
    }
    asked |= {"queries": ["rooms >= 3", "rooms >="], "methods": ["mle"]}
    asked |= dict.fromkeys(("band", "groups", "diagnosis"), has_more)
    for found in all_of(look, asked, "Look"):
        assert faults("Look", found) == []


def test_what_a_page_begins_with(studio: RunningStudio) -> None:
    assert faults("Start", studio.ask("/studio/v1/start").json) == []


def test_progress() -> None:
    job = Job("read", "")
    for state in ("waiting", "running", "done", "failed", "stopped"):
        job.state = state
        assert faults("Progress", json.loads(job.record)) == []


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("Code", {"commands": "x"}, "Code has no python"),
        ("Code", {"commands": "x", "python": 1}, "Code.python is 1, no string"),
        ("Code", {"commands": "x", "python": "x", "more": 1}, "Code has more, which is not in the schema"),
        ("string | null", 3, "string | null is 3, no string"),
        ("number[]", [1, True], "number[].1 is True, no number"),
        ("'a' | 'b'", "c", "'a' | 'b' is 'c', no 'a'"),
        ("[number, number]", [1], "[number, number] is no list of 2"),
    ],
)
def test_what_is_not_in_the_schema_is_noticed(kind: str, value: Any, words: str) -> None:
    assert faults(kind, value) == [words]


def test_types_are_those_of_the_schema() -> None:
    made = (WEB / "src" / "shared" / "schema.ts").read_text(encoding="utf-8")
    schema = (WEB / "schema.toml").read_text(encoding="utf-8")
    assert re.findall(r"interface (\w+)", made) == re.findall(r"(?m)^\[(\w+)\]", schema)
    fields = [
        (name.strip('"'), kind.replace("'", '"'))
        for name, kind in re.findall(r'(?m)^([^\s"]+|".*?") = "(.*)"$', schema)
    ]
    assert re.findall(r"(?m)^  ([^\s\[]+?|\[.*?\]): (.*);$", made) == [
        (one, kind.replace("'", '"')) for one, kind in fields
    ]

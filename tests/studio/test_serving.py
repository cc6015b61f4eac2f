"""The studio's server: who may ask what, what it says to nonsense, and its static files."""

from __future__ import annotations

from typing import Any

import pytest
from tests.studio.running import RunningStudio

AGES: dict[str, Any] = {
    "survey": {
        "name": "age",
        "title": "How old are you?",
        "alphabet": {"kind": "integers", "low": 0, "high": 99, "unit": "year"},
    },
    "epsilon": 0.05,
    "people": 20_000,
    "guess": "adult_ages",
}


def test_start_lists_templates_datasets_and_the_simulated_survey(studio: RunningStudio) -> None:
    start = studio.ask("/studio/v1/start").json
    assert start["may_administer"]
    assert [one["is_simulated"] for one in start["surveys"]] == [True]
    assert {"ages", "scale", "categories", "places", "lab procedures"} <= {one["name"] for one in start["templates"]}
    assert {one["name"]: one["people"] for one in start["datasets"]}["adult_ages"] == 48_842


def test_every_template_can_be_previewed(studio: RunningStudio) -> None:
    for template in studio.ask("/studio/v1/start").json["templates"]:
        found = studio.ask("/studio/v1/preview", {"draft": template["draft"], "value": None})
        assert found.status == 200, found.body
        assert found.json["survey"]["fingerprint"] in found.json["survey"]["json"]
        assert template["draft"]["guess"] in [one["name"] for one in found.json["guesses"]]
        assert not found.json["warnings"], template["name"]


@pytest.mark.parametrize("path", ["/studio/v1/start", "/studio/v1/watch/" + 32 * "0"])
def test_without_a_token_nothing_is_told(studio: RunningStudio, path: str) -> None:
    assert studio.ask(path, who=None).status in (401, 404)
    assert studio.ask(path, who="confide-wrong").status in (403, 404)


def test_expectation_comes_as_a_job(studio: RunningStudio) -> None:
    found = studio.work({"kind": "expect", "draft": AGES, "seed": 0})
    assert len(found["truth"]) == len(found["estimate"]) == len(found["reports"]) == 100
    assert found["emd"]["value"] < 2
    assert "20,000 people" in found["words"]

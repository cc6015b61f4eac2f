"""The studio's server: who may ask what, what it says to nonsense, and its static files."""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.studio.running import PATIENCE, RunningStudio

import confide
from confide.collector.stores import make_token, open_store

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


def with_token(studio: RunningStudio, role: str, survey: str = "") -> str:
    """A token of this role, which the server knows within a second or two."""
    store = open_store(str(studio.store))
    token = make_token(store, role, survey=survey)[1]
    store.close()
    return token


def simulated(studio: RunningStudio) -> str:
    surveys = studio.ask("/studio/v1/start").json["surveys"]
    return str(next(one["survey"] for one in surveys if one["is_simulated"]))


def test_start_lists_templates_datasets_and_the_simulated_survey(studio: RunningStudio) -> None:
    start = studio.ask("/studio/v1/start").json
    assert start["may_administer"]
    assert any(one["is_simulated"] and one["title"] == "How old are you?" for one in start["surveys"])
    assert {"ages", "scale", "categories", "places", "lab procedures"} <= {one["name"] for one in start["templates"]}
    assert {one["name"]: one["people"] for one in start["datasets"]}["adult_ages"] == 48_842


def test_every_template_can_be_previewed(studio: RunningStudio) -> None:
    for template in studio.ask("/studio/v1/start").json["templates"]:
        found = studio.ask("/studio/v1/preview", {"draft": template["draft"], "value": None})
        assert found.status == 200, found.body
        assert found.json["survey"]["fingerprint"] in found.json["survey"]["json"]
        assert template["draft"]["guess"] in [one["name"] for one in found.json["guesses"]]
        assert not found.json["warnings"], template["name"]


def test_without_a_good_token_nothing_is_told(studio: RunningStudio) -> None:
    look = {"kind": "look", "survey": simulated(studio), "queries": [], "methods": []}
    asked: list[tuple[str, Any]] = [
        ("/studio/v1/start", None),
        (f"/studio/v1/watch/{simulated(studio)}", None),
        (f"/studio/v1/watch/{'0' * 32}", None),  # nor whether there is such a survey
        (f"/studio/v1/counts/{simulated(studio)}", None),
        ("/studio/v1/preview", {"draft": AGES, "value": None}),
        ("/studio/v1/jobs", {"kind": "expect", "draft": AGES, "seed": 0}),
        ("/studio/v1/jobs", look),
    ]
    for path, body in asked:
        assert studio.ask(path, body, who=None).status == 401, path
        refused = studio.ask(path, body, who="confide-wrong")
        assert (refused.status, refused.code) == (403, "bad-token"), path


def test_a_token_that_reads_looks_and_designs_nothing(studio: RunningStudio) -> None:
    reader = with_token(studio, "read")
    start = eventually(studio, "/studio/v1/start", reader)
    assert not start["may_administer"]
    assert studio.ask(f"/studio/v1/watch/{simulated(studio)}", who=reader).status == 200
    for path, body in (
        ("/studio/v1/preview", {"draft": AGES, "value": None}),
        ("/studio/v1/jobs", {"kind": "expect", "draft": AGES, "seed": 0}),
        ("/studio/v1/jobs", {"kind": "simulate", "survey": simulated(studio), "people": 10}),
    ):
        assert studio.ask(path, body, who=reader).code == "bad-token"
    # Nor does it see what those who administer are at.
    job = studio.ask("/studio/v1/jobs", {"kind": "expect", "draft": AGES, "seed": 5}).json["job"]
    assert studio.ask(f"/studio/v1/jobs/{job}", who=reader).code == "bad-token"
    assert studio.ask(f"/studio/v1/jobs/{job}/stop", {}, who=reader).code == "bad-token"
    studio.follow(job)


def test_a_token_of_one_survey_sees_that_one(studio: RunningStudio) -> None:
    draft = AGES | {"epsilon": 0.07}
    other = studio.ask("/studio/v1/preview", {"draft": draft, "value": None}).json["survey"]
    assert studio.ask("/v1/surveys", other["json"].encode()).status == 201
    own = with_token(studio, "read", other["fingerprint"])
    start = eventually(studio, "/studio/v1/start", own)
    assert [one["survey"] for one in start["surveys"]] == [other["fingerprint"]]
    assert studio.ask(f"/studio/v1/watch/{simulated(studio)}", who=own).code == "bad-token"
    empty = {"kind": "look", "survey": other["fingerprint"], "queries": [], "methods": []}
    refused = studio.ask("/studio/v1/jobs", empty, who=own)
    assert (refused.status, refused.code) == (409, "empty")


def eventually(studio: RunningStudio, path: str, token: str) -> Any:
    """What is said once the server knows a new token, which takes it a second."""
    end = time.monotonic() + PATIENCE
    while (found := studio.ask(path, who=token)).status != 200:
        assert time.monotonic() < end, found.body
        time.sleep(0.05)
    return found.json


DRAFTS: dict[str, Any] = {
    "no object": 7,
    "no survey": {"epsilon": 1, "people": 10},
    "strange key": AGES | {"colour": "red"},
    "strange key of the survey": AGES | {"survey": AGES["survey"] | {"colour": "red"}},
    "no alphabet": AGES | {"survey": {"name": "a", "title": "b"}},
    "strange alphabet": AGES | {"survey": AGES["survey"] | {"alphabet": {"kind": "emoji"}}},
    "alphabet of texts": AGES | {"survey": AGES["survey"] | {"alphabet": "integers"}},
    "too many values": AGES | {"survey": AGES["survey"] | {"alphabet": {"kind": "integers", "low": 0, "high": 10**12}}},
    "unbounded": AGES | {"survey": AGES["survey"] | {"alphabet": {"kind": "integers"}}},
    "a file of this machine": AGES
    | {"survey": AGES["survey"] | {"alphabet": {"kind": "grid", "rows": 2, "columns": 2, "holes": "/etc/passwd"}}},
    "a file in a list": AGES
    | {
        "survey": AGES["survey"]
        | {
            "alphabet": {
                "kind": "attributes",
                "names": ["a"],
                "alphabets": [{"kind": "grid", "rows": 2, "columns": 2, "holes": "/etc/passwd"}],
            }
        }
    },
    "a guess that is a file": AGES | {"guess": "/etc/passwd"},
    "a guess that is a list": AGES | {"guess": ["adult_ages"]},
    "epsilon 0": AGES | {"epsilon": 0},
    "epsilon of a text": AGES | {"epsilon": "1"},
    "epsilon true": AGES | {"epsilon": True},
    "people of a fraction": AGES | {"people": 1.5},
    "people without end": AGES | {"people": 10**20},
    "strange mechanism": AGES | {"mechanism": "rot13"},
    "mechanism of a list": AGES | {"mechanism": ["geometric"]},
    "mechanism that does not fit": AGES | {"mechanism": "taxicab"},
    "title of a number": AGES | {"survey": AGES["survey"] | {"title": 7}},
    "groups of numbers": AGES | {"survey": AGES["survey"] | {"groups": {"town": [1, 2]}}},
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_that_is_none_is_refused_in_words(studio: RunningStudio, name: str) -> None:
    refused = studio.ask("/studio/v1/preview", {"draft": DRAFTS[name], "value": None})
    assert (refused.status, refused.code) == (422, "no-answer"), refused.body
    assert "GeoJSON" not in refused.body.decode()  # nothing was opened
    assert "passwd:" not in refused.body.decode()
    assert refused.json["error"]["message"].endswith((".", "?"))


@pytest.mark.parametrize("value", [-1, 100, 1.5, "a", True, [0]])
def test_a_value_that_is_none_is_refused(studio: RunningStudio, value: object) -> None:
    assert studio.ask("/studio/v1/preview", {"draft": AGES, "value": value}).status == 422


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "malformed"),
        (b"[]", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'"x"', "malformed"),
        (b"\xff", "malformed"),
    ],
    ids=["half", "list", "deep", "text", "bytes"],
)
def test_what_is_no_json_is_refused(studio: RunningStudio, body: bytes, code: str) -> None:
    for path in ("/studio/v1/preview", "/studio/v1/jobs"):
        refused = studio.ask(path, body)
        assert (refused.status, refused.code) == (400, code)


def test_other_types_and_methods_are_refused(studio: RunningStudio) -> None:
    assert studio.ask("/studio/v1/preview", b"{}", Content_Type="text/plain").code == "type"
    assert studio.ask("/studio/v1/preview").code == "method"
    assert studio.ask("/studio/v1/start", {}).code == "method"
    assert studio.ask("/studio", {}).code == "method"
    kinds: list[object] = ["reboot", ["look"], {}, None]
    for kind in kinds:
        assert studio.ask("/studio/v1/jobs", {"kind": kind}).code == "malformed"
    assert studio.ask("/studio/v1/jobs/" + 32 * "0").code == "no-job"
    assert studio.ask("/studio/v1/nothing").code == "not-found"


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "expect", "draft": AGES, "seed": -1},
        {"kind": "expect", "draft": AGES | {"people": 0}, "seed": 0},
        {"kind": "plan", "draft": AGES, "solve": "happiness", "target": {"emd": 1}},
        {"kind": "plan", "draft": AGES, "solve": "people", "target": {}},
        {"kind": "plan", "draft": AGES, "solve": "people", "target": {"width": 0.1}},
        {"kind": "plan", "draft": AGES, "solve": "people", "target": {"width": 0.1, "query": "age >>> 65"}},
        {"kind": "play", "dataset": "people", "mechanism": "geometric", "epsilon": 1, "people": 10, "methods": []},
        {
            "kind": "play",
            "dataset": "adult_ages",
            "mechanism": "geometric",
            "epsilon": 1,
            "people": 10,
            "methods": ["x"],
        },
    ],
    ids=str,
)
def test_work_that_is_none_fails_in_words(studio: RunningStudio, asked: dict[str, Any]) -> None:
    found = studio.follow(studio.ask("/studio/v1/jobs", asked).json["job"])
    assert (found["state"], found["error"]["code"]) == ("failed", "no-answer"), found


def test_made_up_people_answer_simulated_surveys_alone(studio: RunningStudio) -> None:
    survey = studio.ask("/studio/v1/preview", {"draft": AGES | {"epsilon": 0.08}, "value": None}).json["survey"]
    real = studio.ask("/v1/surveys", survey["json"].encode()).json["survey"]
    refused = studio.ask("/studio/v1/jobs", {"kind": "simulate", "survey": real, "people": 10})
    assert (refused.status, refused.code) == (409, "real")
    assert studio.ask("/studio/v1/jobs", {"kind": "simulate", "survey": simulated(studio), "people": "x"}).status == 422
    before = studio.ask(f"/studio/v1/watch/{simulated(studio)}").json
    assert studio.work({"kind": "simulate", "survey": simulated(studio), "people": 300}) == {"accepted": 300}
    after = studio.ask(f"/studio/v1/watch/{simulated(studio)}").json
    assert after["accepted"] >= before["accepted"] + 300
    assert after["version"] > before["version"]


def test_a_survey_that_is_closed_says_so(studio: RunningStudio) -> None:
    survey = studio.ask("/studio/v1/preview", {"draft": AGES | {"epsilon": 0.09}, "value": None}).json["survey"]
    mark = studio.ask("/v1/surveys", survey["json"].encode()).json["survey"]
    day = datetime.now(UTC).date().isoformat()
    message = {"survey": mark, "batch": secrets.token_hex(16), "day": day, "reports": [30, 140]}
    assert studio.ask("/v1/reports", message, who=None).json["accepted"] == 1
    watched = studio.ask(f"/studio/v1/watch/{mark}").json
    assert (watched["accepted"], watched["rejected"], watched["is_closed"]) == (1, 1, False)
    assert studio.ask(f"/v1/surveys/{mark}/close", {}).status == 200
    closed = studio.ask(f"/studio/v1/watch/{mark}").json
    assert closed["is_closed"]
    assert closed["version"] == watched["version"] + 1
    assert studio.ask("/v1/reports", message | {"batch": secrets.token_hex(16)}, who=None).code == "closed"


def test_static_files_come_with_a_strict_policy(studio: RunningStudio) -> None:
    page = studio.ask("/studio", who=None)
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    tag = page.headers["etag"]
    assert studio.ask("/studio", who=None, If_None_Match=tag).status == 304
    assert studio.ask(f"/take/{simulated(studio)}", who=None).status == 200
    worker = studio.ask("/take/offline.js", who=None)
    assert worker.headers["service-worker-allowed"] == "/take/"
    assert "text/javascript" in studio.ask("/client/confide.js", who=None).headers["content-type"]
    assert b'href="/studio"' in studio.ask("/", who=None).body


def test_every_static_file_has_every_header(studio: RunningStudio) -> None:
    static = Path(confide.__file__).parent / "studio" / "static"
    types = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
    types |= {"json": "application/json", "txt": "text/plain"}
    paths = {f"/studio/{one.name}": one for one in static.iterdir() if one.name.startswith("studio.")}
    paths |= {"/studio": static / "studio.html", f"/take/{simulated(studio)}": static / "take.html"}
    paths |= {f"/take/{one.name}": one for one in static.iterdir() if not one.name.startswith("studio.")}
    paths["/client/confide.js"] = static.parent / "client" / "confide.js"
    for path, file in paths.items():
        reply = studio.ask(path, who=None)
        assert (reply.status, reply.body) == (200, file.read_bytes()), path
        assert reply.headers["content-type"].startswith(types[file.suffix[1:]]), path
        told = {name: reply.headers.get(name) for name in ("cache-control", "x-content-type-options")}
        told |= {name: reply.headers.get(name) for name in ("referrer-policy", "cross-origin-opener-policy")}
        assert list(told.values()) == ["no-cache", "nosniff", "no-referrer", "same-origin"], path
        rules = dict(one.strip().partition(" ")[::2] for one in reply.headers["content-security-policy"].split(";"))
        # Scripts of the studio never make markup; the page to take part starts a worker from a text.
        assert rules.pop("require-trusted-types-for", None) == ("'script'" if file.name == "studio.html" else None)
        of_self = ("script-src", "style-src", "connect-src", "worker-src", "manifest-src")
        of_none = ("default-src", "base-uri", "form-action", "frame-ancestors")
        expected = dict.fromkeys(of_self, "'self'") | dict.fromkeys(of_none, "'none'")
        assert rules == expected | {"img-src": "'self' data: blob:"}, path
        assert reply.headers.get("service-worker-allowed") == ("/take/" if file.name == "offline.js" else None), path
        assert studio.ask(path, who=None, If_None_Match=reply.headers["etag"]).status == 304, path


@pytest.mark.parametrize(
    "path",
    ["/studio/../serving.py", "/studio/%2e%2e%2fserving.py", "/studio/nothing.js", "/client/node.js"],
)
def test_nothing_beside_the_static_files_is_served(studio: RunningStudio, path: str) -> None:
    refused = studio.ask(path, who=None)
    assert (refused.status, refused.code) == (404, "not-found")


@pytest.mark.parametrize("path", ["/take", "/take/", "/take/b682", "/take/a/b", "/take/..", "/take/nothing.js"])
def test_an_address_that_is_cut_gets_the_page_that_says_so(studio: RunningStudio, path: str) -> None:
    found = studio.ask(path, who=None)
    assert found.status == 404
    assert "text/html" in found.headers["content-type"]
    assert b"/take/take.js" in found.body


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"queries": ["age >= 1"] * 21}, "at most 20 questions"),
        ({"queries": ["age >= 1" + 5000 * " "]}, "at most 1,000 characters"),
        ({"queries": "age >= 1"}, "must be a list"),
        ({"methods": ["nope"]}, "nope"),
    ],
)
def test_a_look_that_cannot_be_answered_is_no_job(studio: RunningStudio, asked: dict[str, Any], words: str) -> None:
    look = {"kind": "look", "survey": simulated(studio), "queries": [], "methods": []} | asked
    refused = studio.ask("/studio/v1/jobs", look)
    assert (refused.status, refused.code) == (422, "queries")
    assert words in json.loads(refused.body)["error"]["message"]


def test_a_survey_is_simulated_or_real_and_never_both(studio: RunningStudio) -> None:
    from confide.collector.client import simulated_survey

    refused = studio.ask("/v1/surveys", simulated_survey().to_json().encode())
    assert (refused.status, refused.code) == (409, "simulated")
    assert studio.ask("/healthz").status == 200


def test_a_token_in_an_address_is_refused(studio: RunningStudio) -> None:
    assert studio.ask(f"/studio/v1/start?token={studio.token}").code == "token-in-url"


def test_hostile_titles_come_back_as_they_are(studio: RunningStudio) -> None:
    title = "</script><img src=x onerror=alert(1)> ''' \\ \" {}"
    draft = AGES | {"survey": AGES["survey"] | {"title": title}}
    found = studio.ask("/studio/v1/preview", {"draft": draft, "value": None})
    assert "application/json" in found.headers["content-type"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert json.loads(found.json["survey"]["json"])["title"] == title
    compile(found.json["code"]["python"], "exported", "exec")


def test_nothing_is_logged(studio: RunningStudio) -> None:
    studio.ask("/studio/v1/preview", {"draft": AGES | {"guess": "my secret"}, "value": None})
    studio.ask("/studio/v1/secret", who="confide-secret")
    studio.follow(studio.ask("/studio/v1/jobs", {"kind": "expect", "draft": 7, "seed": "secret"}).json["job"])
    assert studio.store.with_suffix(".log").read_text(encoding="utf-8") == ""

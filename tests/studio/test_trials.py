"""Trials: a draft as a survey that made-up people answer, what is refused, and what is said of one that is there."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.studio.running import RunningStudio, running_studio
from tests.studio.test_command import served
from tests.studio.test_jobs import needs_proc, workers
from tests.studio.test_serving import AGES, eventually, with_token

import confide as cf
from confide.errors import SurveyError
from confide.studio import answers, serving
from confide.studio.drafts import trial

TRIALS = "/studio/v1/trials"


def drawn(survey: cf.Survey, people: int, of: int | None = None) -> list[dict[str, Any]]:
    work = {"document": survey.to_json(), "people": people, "of": of or people}
    return answers.simulate(work, lambda *_: None)


def towns(**settings: Any) -> cf.Survey:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    return cf.Survey(mechanism, groups={"town": ("Oslo", "Bern")}, simulated="two humps", **settings)


def test_a_trial_waits_no_longer_than_a_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_kind: str, _asked: Any, tell: Any) -> bytes:
        tell(0, 0, "")
        await asyncio.sleep(60)
        return b""

    monkeypatch.setattr(serving, "PREVIEW_SECONDS", 0.01)
    with served(tmp_path) as (app, studio):
        monkeypatch.setattr(studio.crews["preview"], "do", never)  # no other is asked: what a slider waits for goes on
        sent = {"authorization": f"Bearer {app.tokens['administer']}", "content_type": "application/json"}
        refused = app.ask("POST", TRIALS, b"{}", **sent)
        assert (refused.status, refused.code) == (422, "slow")
        studio._previews = 8
        assert app.ask("POST", TRIALS, b"{}", **sent).code == "busy"


def test_a_trial_that_is_there_says_what_it_is_called_and_what_it_holds(studio: RunningStudio) -> None:
    draft = AGES | {"epsilon": 0.111}
    first = studio.ask(TRIALS, {"draft": draft})
    assert (first.status, first.json["accepted"], first.json["title"]) == (201, 0, "How old are you?")
    mark = first.json["survey"]
    assert studio.work({"kind": "simulate", "survey": mark, "people": 1200}) == {"accepted": 1200}
    other = draft | {"survey": draft["survey"] | {"title": "Another", "name": "years"}}
    again = studio.ask(TRIALS, {"draft": other}).json
    assert (again["survey"], again["accepted"]) == (mark, 1200)
    assert (again["title"], again["name"]) == ("How old are you?", "age")
    assert studio.ask(f"/v1/surveys/{mark}/close", {}).status == 200
    refused = studio.ask(TRIALS, {"draft": draft})
    assert (refused.status, refused.code) == (410, "closed")
    assert "such as epsilon" in refused.json["error"]["message"]


def test_only_who_administers_tries(studio: RunningStudio) -> None:
    assert studio.ask(TRIALS, {"draft": AGES}, who=None).status == 401
    reader = with_token(studio, "read")
    eventually(studio, "/studio/v1/start", reader)
    refused = studio.ask(TRIALS, {"draft": AGES}, who=reader)
    assert (refused.status, refused.code) == (403, "bad-token")


def test_people_are_drawn_a_few_at_a_time_each_of_any_group() -> None:
    batches = drawn(towns(), 5000)
    people = Counter[str]()
    for one in batches:
        assert len(one["reports"]) <= 200
        people[one["groups"]["town"]] += len(one["reports"])
    assert people.total() == answers.MOST_AT_ONCE
    assert min(people["Oslo"], people["Bern"]) > 400
    assert len(drawn(towns(), 40)) == 2  # few people are of both groups as well


def test_people_with_permanent_noise_have_a_secret_each() -> None:
    (one,) = drawn(cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 0.1), is_permanent=True), 100)
    assert {tuple(report) if isinstance(report, list) else report for report in one["reports"]} == {"yes", "no"}
    assert len(one["reports"]) == 100


def test_so_many_people_that_drawing_them_takes_long_are_refused() -> None:
    wide = cf.Survey(cf.Rappor(cf.Integers(0, 9_999), epsilon=2.0), simulated="two humps")
    with pytest.raises(cf.ConfideError, match="Take fewer"):
        drawn(wide, 100, of=10_000)
    assert sum(len(one["reports"]) for one in drawn(wide, 2000)) == answers.MOST_CELLS // 10_000
    alphabet = {"kind": "integers", "low": 0, "high": 9_999}
    draft = AGES | {"survey": AGES["survey"] | {"alphabet": alphabet}, "mechanism": "rappor", "guess": None}
    assert trial({"draft": draft}, lambda *_: None)["most"] == 2000


@pytest.mark.parametrize("mark", [" ", 5, ["a"], None])
def test_the_mark_of_a_simulated_survey_is_a_text(mark: Any) -> None:
    with pytest.raises(SurveyError, match="simulated must be a text"):
        cf.Survey(towns().mechanism, simulated=mark)


@needs_proc
@pytest.mark.slow
def test_a_server_ends_at_once_while_drafts_wait(own_store: Path) -> None:
    said: list[int] = []
    with running_studio(own_store) as studio:
        assert studio.ask(TRIALS, {"draft": AGES}).status == 201
        for process in workers(studio):
            os.kill(process, signal.SIGSTOP)  # nothing that is asked for is answered any more
        waiting = [Thread(target=lambda: said.append(studio.ask(TRIALS, {"draft": AGES}).status)) for _ in range(3)]
        for one in waiting:
            one.start()
        time.sleep(2)  # until they are read, and wait; nothing says so
        begun = time.monotonic()
        assert studio.end() == 0
        assert time.monotonic() - begun < 30  # for as long connections are waited for
        for one in waiting:
            one.join()
    assert said == [503, 503, 503]
    assert own_store.with_suffix(".log").read_text(encoding="utf-8") == ""

"""A reporter inside an application: it never blocks or raises, loses nothing that it took, and forgets when asked."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.killing import SURVEY, Nursery, Running, free_port

import confide as cf
from confide.collector import Client
from confide.collector.reporter import Reporter
from confide.errors import InvalidParameterError
from confide.surveys.survey import parse_survey

pytestmark = pytest.mark.slow

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def running(born: Nursery, tmp_path: Path) -> Iterator[Running]:
    found = Running(born, tmp_path, parse_survey(SURVEY))
    yield found
    born.kill(found.pid)
    found.store.close()


def counted(running: Running) -> int:
    with Client(running.address, running.token) as client:
        return client.counts(parse_survey(SURVEY).fingerprint).heading.rows.accepted


def messages(folder: Path) -> list[dict[str, object]]:
    with sqlite3.connect(folder / "queue.db") as table:
        return [json.loads(message) for (message,) in table.execute("SELECT message FROM waiting ORDER BY number")]


def test_reports_are_counted_once_and_the_queue_is_empty(running: Running, tmp_path: Path) -> None:
    with Reporter(parse_survey(SURVEY), running.address, tmp_path / "queue") as reporter:
        assert all(reporter.report(value) for value in (3, 7, 3))
        assert reporter.flush(30.0)
        assert (reporter.standing().sent, reporter.standing().waiting) == (3, 0)
    assert counted(running) == 3
    ledger = cf.Ledger(tmp_path / "queue" / "ledger.json")
    assert ledger.page(parse_survey(SURVEY)).reports == 3


def test_what_was_not_sent_goes_out_when_the_application_starts_again(running: Running, tmp_path: Path) -> None:
    with Reporter(parse_survey(SURVEY), NOBODY, tmp_path / "queue") as offline:
        assert offline.report(4)
    kept = messages(tmp_path / "queue")
    assert len(kept) == 1
    # Another process sent it and was killed before it could say so: the same message counts once.
    with Client(running.address) as client:
        client.post(json.dumps(kept[0]).encode())
    with Reporter(parse_survey(SURVEY), running.address, tmp_path / "queue") as online:
        assert online.standing().waiting == 1
        assert online.flush(30.0)
    assert messages(tmp_path / "queue") == []
    assert counted(running) == 1


def test_reports_are_blurred_by_the_survey_before_they_are_kept(tmp_path: Path) -> None:
    secret = "00112233445566778899aabbccddeeff"  # noqa: S105 - of nobody
    survey = parse_survey(SURVEY)
    with Reporter(survey, NOBODY, tmp_path, secret=secret, ledger=False) as reporter:
        for value in range(10):
            reporter.report(value)
        assert reporter.flush(10.0, sent=False)
    expected = [[survey.privatize(value, rng=cf.Permanent(secret))] for value in range(10)]
    assert [one["reports"] for one in messages(tmp_path)] == expected
    assert expected != [[value] for value in range(10)]
    assert not (tmp_path / "ledger.json").exists()


def test_nothing_that_an_application_gives_raises_or_gets_into_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

        __str__ = __array__ = __repr__

    caplog.set_level(logging.DEBUG)
    with Reporter(parse_survey(SURVEY), NOBODY, tmp_path) as reporter:
        for value in (None, "private words", 10**30, float("nan"), b"x", [], [1, 2], {}, object(), Hostile()):
            reporter.report(value)
        assert reporter.flush(20.0, sent=False)
        assert reporter.standing().refused == 10
        assert reporter.standing().waiting == 0
        assert reporter.report(5)
    assert "private words" not in caplog.text
    assert "the value is none of the survey's" in caplog.text


def test_opting_out_forgets_and_stays(tmp_path: Path) -> None:
    survey = parse_survey(SURVEY)
    with Reporter(survey, NOBODY, tmp_path) as reporter:
        reporter.report(5)
        reporter.flush(10.0, sent=False)
        assert len(messages(tmp_path)) == 1
        reporter.opt_out()
        assert messages(tmp_path) == []
        assert not reporter.report(5)
    with Reporter(survey, NOBODY, tmp_path) as again:
        assert again.standing().is_out
        assert not again.report(5)
        again.opt_in()
        assert again.report(5)
        again.flush(10.0, sent=False)
    with Reporter(survey, NOBODY, tmp_path) as last:
        assert not last.standing().is_out
    assert len(messages(tmp_path)) == 1


def test_opting_out_in_one_process_holds_in_all(tmp_path: Path) -> None:
    survey = parse_survey(SURVEY)
    with Reporter(survey, NOBODY, tmp_path) as one, Reporter(survey, NOBODY, tmp_path) as other:
        other.report(4)
        assert other.flush(10.0, sent=False)
        assert one.standing().waiting == 1
        one.opt_out()
        other.report(5)  # it does not know yet, and learns when it would keep this
        assert other.flush(10.0, sent=False)
        assert (messages(tmp_path), other.standing().is_out) == ([], True)
        assert not other.report(5)


def test_a_full_queue_drops_new_values_and_counts_them(tmp_path: Path) -> None:
    with Reporter(parse_survey(SURVEY), NOBODY, tmp_path, most=3, ledger=False) as reporter:
        for _ in range(5):
            while not reporter.report(1) and reporter.standing().waiting < 3:
                time.sleep(0.01)
            reporter.flush(10.0, sent=False)
        standing = reporter.standing()
    assert (standing.waiting, len(messages(tmp_path))) == (3, 3)
    assert standing.dropped >= 2
    assert "wait already" in standing.trouble


def test_the_ledger_holds_the_surveys_limit_over_restarts(tmp_path: Path) -> None:
    survey = parse_survey(SURVEY.replace('name = "age"', 'name = "age"\n[limits]\nreports = 2'))
    assert survey.most_reports == 2
    for _ in range(2):
        with Reporter(survey, NOBODY, tmp_path) as reporter:
            reporter.report(1)
            reporter.report(1)
            reporter.flush(10.0, sent=False)
            refused = reporter.standing().refused
    assert len(messages(tmp_path)) == 2
    assert refused == 2


def test_a_report_that_the_collector_refuses_leaves_the_queue(running: Running, tmp_path: Path) -> None:
    survey = parse_survey(SURVEY)
    with Reporter(survey, NOBODY, tmp_path / "queue") as offline:
        offline.report(4)
    with sqlite3.connect(tmp_path / "queue" / "queue.db") as table:  # as if it had waited for years
        (message,) = table.execute("SELECT message FROM waiting").fetchone()
        old = json.dumps(json.loads(message) | {"day": "2001-01-01"}).encode()
        table.execute("UPDATE waiting SET message = ?", (old,))
    with Reporter(survey, running.address, tmp_path / "queue") as reporter:
        reporter.report(5)
        assert reporter.flush(30.0)
        standing = reporter.standing()
    assert (standing.refused, standing.sent) == (1, 1)
    assert "422 day" in standing.trouble
    assert counted(running) == 1


def test_an_unknown_survey_waits_until_the_curator_adds_it(running: Running, tmp_path: Path) -> None:
    other = parse_survey(SURVEY.replace("1.0", "0.5"))
    with Reporter(other, running.address, tmp_path / "queue") as reporter:
        reporter.report(4)
        assert not reporter.flush(1.5)
        with Client(running.address, running.token) as client:
            client.add(other)
        assert reporter.flush(30.0)
        assert reporter.standing().sent == 1


def test_a_forked_worker_reports_too(tmp_path: Path) -> None:
    program = f"""
        import os, confide as cf
        from confide.surveys.survey import parse_survey
        reporter = cf.Reporter(parse_survey({SURVEY!r}), {NOBODY!r}, {str(tmp_path)!r}, ledger=False)
        reporter.report(1)
        reporter.flush(10.0, sent=False)
        child = os.fork()
        if not child:
            reporter.report(2)
            reporter.flush(10.0, sent=False)
            os._exit(0)
        os.waitpid(child, 0)
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], check=True, timeout=60)
    assert len(messages(tmp_path)) == 2


def test_a_killed_application_keeps_what_was_flushed(tmp_path: Path) -> None:
    program = f"""
        import confide as cf, sys, time
        from confide.surveys.survey import parse_survey
        reporter = cf.Reporter(parse_survey({SURVEY!r}), {NOBODY!r}, {str(tmp_path)!r})
        reporter.report(1)
        reporter.flush(10.0, sent=False)
        print("kept", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"kept\n"
        os.kill(child.pid, signal.SIGKILL)
    assert len(messages(tmp_path)) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "nowhere"}, "A collector is at a URL"),
        ({"groups": {"town": "Oslo"}}, "one value for each group of the survey: none"),
        ({"most": 0}, "most"),
        ({"token": "two words"}, "token"),
    ],
)
def test_wrong_settings_are_told_at_the_start(settings: dict[str, object], said: str, tmp_path: Path) -> None:
    given: dict[str, object] = {"url": f"http://127.0.0.1:{free_port()}", "folder": tmp_path} | settings
    with pytest.raises(InvalidParameterError, match=said):
        Reporter(parse_survey(SURVEY), **given)  # type: ignore[arg-type]


def test_permanent_surveys_need_the_secret_and_groups_their_values(tmp_path: Path) -> None:
    permanent = parse_survey(SURVEY.replace('name = "age"', 'name = "age"\n[limits]\nnoise = "permanent"'))
    with pytest.raises(InvalidParameterError, match="secret="):
        Reporter(permanent, NOBODY, tmp_path)
    grouped = parse_survey(SURVEY + '[groups]\ntown = ["Oslo", "Bern"]\n')
    with pytest.raises(InvalidParameterError, match="Rome"):
        Reporter(grouped, NOBODY, tmp_path, groups={"town": "Rome"})
    with Reporter(grouped, NOBODY, tmp_path, groups={"town": "Bern"}) as reporter:
        reporter.report(2)
    assert messages(tmp_path)[0]["groups"] == {"town": "Bern"}

"""Sending a file with invitations, or with the secrets of many people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.collector.killing import SURVEY, Nursery, Running
from typer.testing import CliRunner, Result

from confide.cli.collector import _invitations
from confide.cli.main import app
from confide.collector.client import receipts_of
from confide.collector.stores import make_invitations
from confide.mechanisms.sampling import Permanent
from confide.surveys.survey import parse_survey

pytestmark = pytest.mark.slow


@pytest.fixture
def invited(born: Nursery, tmp_path: Path) -> Iterator[Running]:
    found = Running(born, tmp_path, parse_survey(SURVEY), admission="invited")
    yield found
    born.kill(found.pid)
    found.store.close()


def call(running: Running, *options: Any) -> Result:
    survey = running.folder / "survey.json"
    survey.write_text(running.survey.to_json())
    command = ["send", survey, running.folder / "values.csv", running.address, *options]
    return CliRunner().invoke(app, list(map(str, command)))


def said(result: Result) -> str:
    return " ".join(result.output.split())


def test_a_file_goes_with_one_invitation_for_each_report(invited: Running) -> None:
    (invited.folder / "values.csv").write_text("age\n3\n7\n7\n")
    refused = call(invited)
    assert (refused.exit_code, "--invitation" in said(refused)) == (2, True)
    assert not list(invited.folder.glob("*.outbox"))  # nothing was blurred for nothing
    codes, named = make_invitations(invited.store, 1, 4), invited.folder / "codes.txt"
    named.write_text("\n".join(codes[:2]))
    few = call(invited, "--invitation", named)
    assert (few.exit_code, "2 invitations for 3 reports" in said(few)) == (4, True)
    assert invited.store.account(1) == {}
    named.write_text("\n".join([codes[0], "aaaaa-bbbbb-ccccc-ddddd", codes[2]]))
    spent = call(invited, "--invitation", named)
    assert (spent.exit_code, "number 2 of those" in said(spent)) == (1, True)
    named.write_text("\n".join([codes[0], codes[1], codes[2]]))
    done = call(invited, "--invitation", named)
    assert done.exit_code == 0, done.output
    assert (invited.store.account(1), invited.store.invitations(1)) == ({"": 3}, 1)
    (invited.folder / "values.csv").write_text("age\n5\n")
    assert call(invited, "--invitation", codes[3].upper()).exit_code == 0
    assert (invited.store.account(1), invited.store.invitations(1)) == ({"": 4}, 0)


def test_invitations_are_refused_where_none_are_taken_and_none_may_stand_twice(invited: Running) -> None:
    (invited.folder / "values.csv").write_text("age\n3\n")
    (invited.folder / "codes.txt").write_text("aaaaa-bbbbb-ccccc-ddddd\n" * 2)
    for named, words in (("codes.txt", "twice"), ("none.txt", "is neither")):
        refused = call(invited, "--invitation", invited.folder / named)
        assert (refused.exit_code, words in said(refused)) == (2, True)
    invited.store.admit(invited.survey.fingerprint, "open")
    invited.wait()
    refused = call(invited, "--invitation", "aaaaa-bbbbb-ccccc-ddddd")
    assert (refused.exit_code, "leave out --invitation" in said(refused)) == (2, True)
    invited.store.close_survey(invited.survey.fingerprint)
    invited.wait()
    closed = call(invited)
    assert (closed.exit_code, "closed" in said(closed), list(invited.folder.glob("*.outbox"))) == (1, True, [])


def test_secrets_of_many_people_make_their_reports_and_stay_here(born: Nursery, tmp_path: Path) -> None:
    survey = replace(parse_survey(SURVEY), is_permanent=True)
    running = Running(born, tmp_path, survey)
    secrets = [f"{number:032x}" for number in range(17, 117)]
    values = tmp_path / "values.csv"
    values.write_text("age,secret\n" + "".join(f"3,{one}\n" for one in secrets))
    refused = call(running, "--column", "age")
    assert (refused.exit_code, "--secret" in said(refused)) == (2, True)
    done = call(running, "--column", "age", "--secret", "secret")
    assert done.exit_code == 0, done.output
    reports = [survey.privatize(3, rng=Permanent(one)) for one in secrets]
    assert {int(row.report): row.number for row in running.store.balance(1)[0]} == {
        one: reports.count(one) for one in set(reports)
    }
    assert all(one not in path.read_text("latin-1") for path in tmp_path.glob("*[!v]*.sent") for one in secrets)
    again = ["--column", "age", "--secret", "secret"]
    assert "If that is meant, remove" in said(call(running, *again))  # today
    line = json.loads(receipts_of(values).read_text())
    receipts_of(values).write_text(json.dumps(line | {"day": "2026-01-01"}) + "\n")
    assert call(running, *again).exit_code == 0  # on another day the same value is reported anew
    assert running.store.account(1) == {"": 200}
    running.survey = parse_survey(SURVEY)
    refused = call(running, *again)
    assert (refused.exit_code, "fresh noise" in said(refused)) == (2, True)
    born.kill(running.pid)
    running.store.close()


@pytest.mark.parametrize("form", ["{}\n{}\n", "{}\n{}", "{}\r\n{}\r\n", " {}  {} ", "\n\n{}\n\n\t{}\n\n"])
def test_invitations_stand_in_a_file_in_any_form(form: str, tmp_path: Path) -> None:
    codes = ["abcde-fghij-klmno-pqrst", "ABCDEFGHIJKLMNOPQRST"]
    (tmp_path / "codes").write_bytes(form.format(*codes).encode())
    assert _invitations(str(tmp_path / "codes")) == codes

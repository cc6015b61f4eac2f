"""confide audit: the verdict, its exit code, and mechanisms that cannot be audited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import ENDLESS, FINITE, survey

import confide as cf
from confide import audits


def test_a_promise_that_holds(call: Call) -> None:
    ending = call("audit", "survey.toml")
    assert (ending.code, ending.err) == (0, "")
    for words in ("the promise holds", "age 1 and age 0", "report", "Log-ratio", "1, a factor of 2.718", "100%"):
        assert words in ending.out
    assert "45 pairs of values" in ending.out


def test_as_json(call: Call) -> None:
    record = call("audit", "survey.toml", "--json").record
    assert record["holds"] is True
    assert {record["left"], record["right"]} <= set(range(10))
    assert record["log_ratio"] == pytest.approx(record["bound"])
    assert record["used"] == pytest.approx(1)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_broken_promise_ends_with_seven(call: Call, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    kept = audits.audit(cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0))
    broken = replace(kept, worst=replace(kept.worst, log_ratio=1.31))
    monkeypatch.setattr("confide.audits.audit", lambda _: broken)
    ending = call("audit", "survey.toml", *options)
    assert ending.code == 7
    if options:
        assert ending.record["holds"] is False
    else:
        assert "THE PROMISE IS BROKEN" in ending.out
        assert "131%" in ending.out


AUDITED = {name: text for name, text in FINITE.items() if survey(text).mechanism.has_channel or name == "rappor"}


@pytest.mark.parametrize("name", AUDITED)
def test_every_mechanism_with_an_end_of_reports(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + AUDITED[name])
    ending = call("audit", "s.toml")
    assert (ending.code, ending.err) == (0, "")
    assert "the promise holds" in ending.out
    assert call("audit", "s.toml", "--json").record["holds"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FINITE["geometric"], ['kind = "truncated-geometric"']),
        (FINITE["planar-laplace"], ['kind = "truncated-planar-laplace"']),
        (FINITE["rappor of 64 values"], ["2^64 reports", "at most 16 values"]),
        (ENDLESS["taxicab"], ["All pairs of Lattice(spacing=0.5, unit='km')", "smaller alphabet"]),
        (FINITE["geometric"].replace("high = 9", "high = 5000"), ["at most 2,048 values"]),
    ],
)
def test_what_cannot_be_audited_ends_with_five(call: Call, folder: Path, text: str, words: list[str]) -> None:
    (folder / "s.toml").write_text(text)
    if "5000" in text:
        (folder / "s.toml").write_text(text.replace('"geometric"', '"truncated-geometric"'))
    assert_refused(call("audit", "s.toml"), 5, "cannot be audited", *words)


def test_matrices_that_promise_nothing_or_tell_nothing(call: Call, folder: Path) -> None:
    alphabet = '[alphabet]\nkind = "integers"\nlow = 1\nhigh = 2\n[mechanism]\nkind = "matrix"\n'
    (folder / "open.toml").write_text(alphabet + "matrix = [[1.0, 0.0], [0.5, 0.5]]\n")
    (folder / "blind.toml").write_text(alphabet + "matrix = [[0.5, 0.5], [0.5, 0.5]]\n")
    assert "nothing is promised" in call("audit", "open.toml").out
    assert call("audit", "open.toml", "--json").record["bound"] is None
    assert "no report tells any two values apart" in call("audit", "blind.toml").out

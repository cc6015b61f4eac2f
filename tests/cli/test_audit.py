"""confide audit: the verdict, its exit code, and mechanisms that cannot be audited."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE, UNBOUNDED, survey

import confide as cf
from confide.errors import InvalidParameterError
from confide.mechanisms import audits


def test_a_promise_that_holds(call: Call) -> None:
    ending = call("audit", "survey.toml", "-v")
    assert (ending.code, ending.err) == (0, "")
    for words in ("The promise holds", "age 1 and age 0", "report", "Log-ratio", "1, a factor of 2.718", "100%"):
        assert words in ending.out
    assert "exact over all pairs" in ending.out
    assert "All 45 pairs of values were compared under all 10 outputs, as integers." in " ".join(ending.out.split())
    assert "502,000 reports for 10 values, distributed as they should be" in " ".join(ending.out.split())


def test_as_json(call: Call) -> None:
    record = call("audit", "survey.toml", "--json").record
    assert record["holds"] is True
    assert {record["left"], record["right"]} <= set(range(10))
    assert record["log_ratio"] == pytest.approx(record["bound"])
    assert record["used"] == pytest.approx(1)
    assert (record["extent"], record["faults"], record["excess"]) == ("exact over all pairs", [], 0)
    assert record["draws"]["agree"] is True
    assert record["draws"]["reports"] == 502_000
    assert 0 < record["draws"]["smallest_found"]["truth"] < record["draws"]["smallest_found"]["alone"] < 1
    assert record["channel_error"] == 0


@pytest.mark.parametrize("options", [["-v"], ["--json"]])
def test_a_broken_promise_ends_with_seven(call: Call, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    kept = audits.audit(cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0))
    broken = replace(kept, worst=replace(kept.worst, log_ratio=1.31, exceeds=True))
    monkeypatch.setattr("confide.mechanisms.audits.audit", lambda _: broken)
    ending = call("audit", "survey.toml", *options)
    assert ending.code == 7
    if options == ["--json"]:
        assert ending.record["holds"] is False
    else:
        assert "THE PROMISE IS BROKEN" in ending.out
        assert "131%" in ending.out


@pytest.mark.parametrize("name", ALL := FINITE | {f"unbounded {name}": text for name, text in UNBOUNDED.items()})
@pytest.mark.usefixtures("few_draws")
def test_every_mechanism(call: Call, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.mechanisms.audits.audit", cache(audits.audit))  # said twice, in words and as JSON
    (folder / "s.toml").write_text('name = "thing"\n' + ALL[name])
    ending = call("audit", "s.toml", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "The promise holds" in ending.out
    record = call("audit", "s.toml", "--json").record
    assert record["holds"] is True
    is_listed = survey(ALL[name]).mechanism.report_alphabet.is_listable
    assert record["extent"] == ("exact over all pairs" if is_listed else "exact by structure")


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_a_large_alphabet_is_audited_by_structure(call: Call, folder: Path) -> None:
    text = FINITE["truncated-geometric"].replace("high = 9", "high = 500000")
    (folder / "s.toml").write_text(text)
    ending = call("audit", "s.toml", "-v")
    assert ending.code == 0
    assert "exact by structure" in ending.out
    assert "post-processing" in ending.out


@pytest.mark.parametrize("options", [["-v"], ["--json"]])
def test_a_wrong_sampler_ends_with_seven(call: Call, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.setattr(cf.TruncatedGeometric, "_draw", lambda _, indices, __: indices)
    ending = call("audit", "survey.toml", *options)
    assert ending.code == 7
    if options == ["--json"]:
        assert ending.record["holds"] is False
        assert ending.record["draws"]["agree"] is False
        assert len(ending.record["faults"]) == 1
    else:
        assert "THE SAMPLER DRAWS SOMETHING ELSE" in " ".join(ending.out.split())
        assert "NOT distributed" in ending.out


def test_what_cannot_be_audited_ends_with_five(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise InvalidParameterError("It declares no structure.")

    monkeypatch.setattr("confide.mechanisms.audits.audit", refuse)
    assert_refused(call("audit", "survey.toml"), 5, "cannot be audited", "declares no structure")


def test_matrices_that_promise_nothing_or_tell_nothing(call: Call, folder: Path) -> None:
    alphabet = '[alphabet]\nkind = "integers"\nlow = 1\nhigh = 2\n[mechanism]\nkind = "matrix"\n'
    (folder / "open.toml").write_text(alphabet + "matrix = [[1.0, 0.0], [0.5, 0.5]]\n")
    (folder / "blind.toml").write_text(alphabet + "matrix = [[0.5, 0.5], [0.5, 0.5]]\n")
    assert "Nothing is promised" in call("audit", "open.toml", "-v").out
    assert call("audit", "open.toml", "--json").record["bound"] is None
    assert "no report distinguishes any two values" in call("audit", "blind.toml", "-v").out

"""What commands say of a collector: every number and day is compared with the store, the answer or a plain sum."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, ages
from typer.testing import CliRunner

from confide.cli.main import app
from confide.collector.client import Client, CollectorError, Outbox, Receipt, to_counts_file
from confide.collector.service import Collector, Refusal
from confide.collector.stores import open_store
from confide.data.files import load_counts
from confide.data.files.counts_files import GroupedCounts

TOWNS = '[groups]\ntown = ["Oslo", "Rome"]\nsex = ["f", "m"]'


def call(*words: object) -> tuple[int, str]:
    ending = CliRunner().invoke(app, list(map(str, words)))
    return ending.exit_code, " ".join(ending.output.split())


def test_days_that_are_named_are_those_that_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every window and every first day around today: the day that the command names is taken, the one before is not."""
    monkeypatch.setattr("confide.cli.curate._today", lambda: TODAY)
    given = [*(f"{days}" for days in (1, 2, 7, 30, 3660))]
    given += [(TODAY + timedelta(days=days)).isoformat() for days in (-4, -3, 0, -1)]
    store = open_store(str(tmp_path / "store.db"))
    collector = Collector(store, clock=lambda: TODAY)
    for window in given:
        code, said = call("curate", tmp_path / "store.db", "--window", window)
        assert code == 0, said
        first = date.fromisoformat(said.partition("Days are taken from ")[2][:10])
        expected = TODAY - timedelta(days=int(window)) if window.isdigit() else date.fromisoformat(window)
        assert first == expected
        collector.refresh()
        assert collector.days.number(first.isoformat()) == first.toordinal()
        with pytest.raises(Refusal):
            collector.days.number((first - timedelta(days=1)).isoformat())
        assert f"from {first} on" in call("curate", tmp_path / "store.db")[1]
    for window in ("0", "3661", (TODAY + timedelta(days=1)).isoformat(), "2026-13-01", "-1", "soon"):
        assert call("curate", tmp_path / "store.db", "--window", window)[0] == 2
    store.close()


def record_of(fingerprint: str) -> dict[str, Any]:
    """Counts of two days and four groups, no two numbers alike."""
    parts = [("2026-11-15", ("f", "Oslo")), ("2026-11-15", ("m", "Rome")), ("2026-11-16", ("f", "Oslo"))]
    parts += [("2026-11-16", ("f", "Rome")), ("2026-11-17", ("m", "Oslo"))]
    listed = [
        {"day": day, "groups": list(groups), "counts": [[place, 2**place], [9, 100 + place]]}
        for place, (day, groups) in enumerate(parts)
    ]
    total = sum(number for part in listed for _, number in part["counts"])
    rejected = {"missing": 7, "outside the alphabet": 2000}
    known = {"survey": fingerprint, "by": ["sex", "town"], "is_simulated": False, "is_closed": False}
    return known | {"accepted": total, "rejected": rejected, "days": listed}


@pytest.mark.parametrize("by", [(), ("town",), ("sex",), ("day",), ("town", "day"), ("sex", "town"), ("town", "sex")])
def test_a_pull_has_every_count_of_its_group_and_tells_what_came(
    by: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = ages(groups=TOWNS)
    record = record_of(survey.fingerprint)
    listed = [{"survey": survey.fingerprint, "title": survey.title}]
    monkeypatch.setattr(Client, "surveys", lambda _: listed)
    monkeypatch.setattr(Client, "counts", lambda _, __, asked=(): to_counts_file(survey, record, asked))
    options = ["--by", ",".join(by)] if by else []
    code, said = call("pull", "http://127.0.0.1:9", "-o", tmp_path / "c.parquet", *options)
    assert code == 0, said
    total = record["accepted"]
    assert f"Wrote the counts of {total:,} reports to " in said
    assert f"{total + 2007:,} reports read = {total:,} accepted + 2,007 rejected" in said
    expected: dict[tuple[str, ...], Counter[int]] = {}
    for part in record["days"]:
        named = dict(zip(("sex", "town", "day"), (*part["groups"], part["day"]), strict=True))
        expected.setdefault(tuple(named[name] for name in by), Counter()).update(dict(part["counts"]))
    found = load_counts(tmp_path / "c.parquet")
    groups = dict(found) if isinstance(found, GroupedCounts) else {(): found}
    assert {
        key: dict(zip(one.reports.tolist(), one.counts.tolist(), strict=True)) for key, one in groups.items()
    } == expected
    assert (found.rows.accepted, {str(why): n for why, n in found.rows.rejected.items()}) == (total, record["rejected"])


class _Refusing:
    """A collector that refuses the second message."""

    def __init__(self, status: int, code: str) -> None:
        self._failure, self._asked = CollectorError("It said no.", status, code), 0

    def post(self, *_: object) -> Receipt:
        self._asked += 1
        if self._asked == 2:
            raise self._failure
        return Receipt(1)


GOES_ON = {(0, ""), (429, "busy"), (503, "unavailable"), (503, "clock"), (0, "strange"), (502, "strange")}
OTHERS = {(400, "malformed"), (401, "no-token"), (403, "bad-token"), (404, "unknown-survey"), (409, "conflict")}
OTHERS |= {(410, "closed"), (413, "too-large"), (415, "type"), (422, "groups")}


@pytest.mark.parametrize(("status", "code"), sorted(GOES_ON | OTHERS | {(422, "day"), (403, "spent")}))
def test_a_refusal_of_an_outbox_says_what_helps(status: int, code: str, tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text("age\n3\n4\n5\n")
    box, _ = Outbox.fill(tmp_path / "box", ages(), tmp_path / "values.csv", batch_size=1)
    with pytest.raises(CollectorError, match=r"It said no\.") as caught:
        box.send(_Refusing(status, code))  # type: ignore[arg-type]
    said = str(caught.value)
    assert (caught.value.status, caught.value.code) == (status, code)
    assert ("The same command goes on" in said) == ((status, code) in GOES_ON)
    assert ("so far 1 of 3 batches" in said) == (code == "day")
    assert ("It is number 2 of those" in said) == (code == "spent")
    assert box.sent == 1  # the first one is not sent again


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*", "https://*.example.org", "https://example.org/", "example.org", "", "https://example.*"],
)
def test_only_a_whole_site_is_allowed(origin: str, tmp_path: Path) -> None:
    code, said = call(
        "serve", "--store", tmp_path / "x.db", "--allow-origin", "https://a.org", "--allow-origin", origin
    )
    assert (code, "--allow-origin takes a site such as" in said) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("option", "given"), [("--upload", "all"), ("--bind", "127.0.0.1:65536"), ("--bind", "")])
def test_what_serve_cannot_take_is_refused_before_a_store_is_made(option: str, given: str, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(ages().text())
    code, said = call("serve", tmp_path / "survey.toml", "--store", tmp_path / "x.db", option, given)
    assert (code, given.rpartition(":")[2] in said.replace(",", "")) == (2, True)
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize(("option", "given"), [("--invite", "0"), ("--token", "all"), ("--upload", "all")])
def test_what_curate_cannot_take_is_refused_and_nothing_is_written(option: str, given: str, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    store.add_survey(ages())
    (tmp_path / "survey.toml").write_text(ages().text())
    of_survey = [tmp_path / "survey.toml", "-o", tmp_path / "codes.txt"]
    code, said = call("curate", tmp_path / "store.db", option, given, *of_survey)
    assert (code, given in said) == (2, True)
    assert not (tmp_path / "codes.txt").exists()
    assert (store.tokens(), store.surveys()[0].admission) == ([], "open")
    store.close()

"""The document that devices read: every command takes it, and one that was changed anywhere is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.surveys import FINITE, UNBOUNDED, survey
from tests.test_surveys import EXAMPLES
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.errors import ConfideError, SurveyError, TooLargeError
from confide.surveys.survey import tables_of
from confide.values.portable import canonical_json, fingerprint_of

PLANE = cf.Grid(3, 4, spacing=0.5, unit="km", holes=[(0, 0), (1, 2)])
TABLED = {
    "planar": cf.TruncatedPlanarLaplace(PLANE, 1.0),
    "planar with outputs": cf.TruncatedPlanarGeometric(PLANE, 1.0, cf.Grid(4, 4, spacing=0.5, unit="km")),
    "taxicab": cf.TruncatedTaxicab(PLANE, 1.0),
    "cells": cf.Exponential(PLANE, 1.0),
    "uneven": cf.Exponential(cf.Bins(edges=[0, 1, 5, 20]), 1.0),
    "remapped": cf.Remapped(cf.TruncatedTaxicab(cf.Grid(3, 3), 1.0), cf.Grid(2, 2)),
    "product": cf.Product(home=cf.TruncatedTaxicab(PLANE, 1.0), age=cf.Geometric(cf.Integers(0, 9), 1.0)._clamped),
}
WITHOUT = {
    "full cells": cf.TruncatedTaxicab(cf.Grid(3, 3), 1.0),
    "line": cf.Exponential(cf.Integers(0, 9), 1.0),
    "categories": cf.Exponential(cf.Categories(["a", "b"]), 1.0),
    "circle": cf.Exponential(cf.Hours(), 1.0),
    "endless": cf.PlanarLaplace(PLANE, 1.0),
    "mapped": cf.Remapped(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), cf.Integers(2, 5)),
}


@pytest.mark.parametrize("inside", [lambda one: one, lambda one: cf.TwoRounds(one, one)])
def test_a_survey_with_more_bits_than_a_device_makes_is_not_written(inside: Any) -> None:
    most, more = (inside(cf.Unary(cf.Integers(1, size), keep=0.75, flip=0.25)) for size in (2**20, 2**20 + 1))
    assert cf.Survey.from_json(cf.Survey(most).to_json()) == cf.Survey(most)
    with pytest.raises(TooLargeError, match="a bit for each of 1,048,577 values, and a device makes at most 1,048,576"):
        cf.Survey(more).to_json()
    content = cf.Survey(more).record()
    with pytest.raises(ConfideError, match="at most 1,048,576"):
        cf.Survey.from_json(canonical_json(content))


BROKEN = [
    (("alphabet",), {"kind": "bins", "edges": 3}),
    (("alphabet",), {"kind": "bins", "edges": True}),
    (("alphabet",), {"kind": "bins", "edges": 1.5}),
    (("alphabet",), {"kind": "scale", "values": [None, "o", "p"]}),
    (("alphabet",), {"kind": "integers", "low": 0, "high": 2**53 - 1}),
    (("alphabet",), {"kind": "grid", "rows": 4, "columns": 2**53 - 1}),
    (("mechanism", "mapping"), [[], 1, 2]),
    (("mechanism", "mapping"), [0, ["a"], 2]),
]


@pytest.mark.parametrize(("place", "value"), BROKEN)
def test_whatever_a_document_holds_is_refused_in_words(place: tuple[str, ...], value: Any) -> None:
    line = {"kind": "integers", "low": 0, "high": 2}
    inner = {"kind": "truncated-geometric", "epsilon": 1}
    document: dict[str, Any] = {
        "alphabet": dict(line),
        "mechanism": {"kind": "remapped", "mechanism": inner, "outputs": dict(line), "mapping": [0, 1, 2]},
    }
    target = document
    for name in place[:-1]:
        target = target[name]
    target[place[-1]] = value
    with pytest.raises(ConfideError):
        cf.Survey.from_json(canonical_json(document | {"fingerprint": fingerprint_of(document)}))


@pytest.mark.parametrize("high", [2**53 - 2, 2**40])
def test_more_reports_than_can_be_listed_are_not_remapped(high: int) -> None:
    with pytest.raises(TooLargeError, match="too many for an array"):
        cf.Remapped(cf.TruncatedGeometric(cf.Integers(0, high), 0.5), cf.Integers(2, 5))


@pytest.mark.parametrize("name", TABLED)
def test_tables_stand_where_numerical_work_made_them(name: str) -> None:
    contract = cf.Survey(TABLED[name])
    document = json.loads(contract.to_json())
    assert document["tables"] == tables_of(TABLED[name])
    fingerprint, digest = document["fingerprint"].split("-")
    assert (fingerprint, digest) == (contract.fingerprint, fingerprint_of(document["tables"]))
    assert document["fingerprint"] == contract.pin
    assert cf.Survey.from_json(contract.to_json()) == contract


def test_the_tables_have_their_places() -> None:
    assert list(tables_of(TABLED["product"])) == ["mechanism.home"]
    assert {name: sorted(tables_of(one)["mechanism"]) for name, one in TABLED.items() if name != "product"} == {
        "planar": ["nearest", "quadrant"],
        "planar with outputs": ["nearest", "quadrant"],
        "taxicab": ["nearest"],
        "cells": ["quadrant"],
        "uneven": ["rows"],
        "remapped": ["nearest"],
    }


@pytest.mark.parametrize("name", WITHOUT)
def test_exact_mechanisms_need_no_tables(name: str) -> None:
    document = json.loads(cf.Survey(WITHOUT[name]).to_json())
    assert "tables" not in document
    assert document["fingerprint"] == cf.Survey(WITHOUT[name]).fingerprint


def entries(thing: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in a document that is no list and no object."""
    inner = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else None
    if inner is None:
        yield path
    else:
        for key, one in inner:
            yield from entries(one, (*path, key))


def changed(document: dict[str, Any], path: tuple[Any, ...], change: Any) -> str:
    """Return a document with one entry changed, or left out if the change is None."""
    again = copy.deepcopy(document)
    place = again
    for key in path[:-1]:
        place = place[key]
    if change is None:
        del place[path[-1]]
    else:
        place[path[-1]] = change(place[path[-1]])
    return canonical_json(again)


def another(one: Any) -> Any:
    if isinstance(one, bool):
        return not one
    return one + 1 if isinstance(one, int | float) else f"{one}x"


SURVEYS = {f"{place} {one.kind}": cf.parse_survey(text) for place, (text, one) in enumerate(EXAMPLES)}
SURVEYS |= {name: cf.Survey(one, most_reports=3) for name, one in TABLED.items()}
SURVEYS["a shape"] = cf.Survey(cf.Geometric(cf.Integers(0, 9), 1.0), shape=cf.evidence.Shape.of(["falling"]))


@pytest.mark.parametrize("name", SURVEYS)
def test_a_document_that_was_changed_anywhere_is_refused(name: str) -> None:
    document = json.loads(SURVEYS[name].to_json())
    paths = [path for path in entries(document) if path[0] not in ("name", "title")]
    paths = [*paths[:60], *paths[60::29]]  # tables are long
    for path in paths:
        for change in (another, None):
            with pytest.raises(ConfideError):
                cf.Survey.from_json(changed(document, path, change))


@pytest.mark.parametrize("path", [("tables",), ("tables", "mechanism"), ("tables", "mechanism", "nearest")])
def test_a_document_without_its_tables_is_refused(path: tuple[str, ...]) -> None:
    document = json.loads(cf.Survey(TABLED["taxicab"]).to_json())
    with pytest.raises(SurveyError, match="confide export"):
        cf.Survey.from_json(changed(document, path, None))


def test_tables_agree_to_the_last_bit() -> None:
    document = json.loads(cf.Survey(TABLED["planar"]).to_json())

    def with_factor(factor: float) -> str:
        again = copy.deepcopy(document)
        again["tables"]["mechanism"]["quadrant"][1][1] *= factor
        again["fingerprint"] = f"{document['fingerprint'][:32]}-{fingerprint_of(again['tables'])}"
        return canonical_json(again)

    assert cf.Survey.from_json(with_factor(1.0)) == cf.Survey(TABLED["planar"])
    with pytest.raises(SurveyError, match="quadrant of mechanism is not the one"):
        cf.Survey.from_json(with_factor(1 + 1e-15))


def test_tables_that_nobody_needs_are_refused() -> None:
    document = json.loads(cf.Survey(WITHOUT["line"]).to_json()) | {"tables": {"mechanism": {"rows": [[1]]}}}
    document["fingerprint"] += f"-{fingerprint_of(document['tables'])}"
    with pytest.raises(SurveyError, match="should be left out; got mechanism"):
        cf.Survey.from_json(canonical_json(document))


def test_a_document_too_large_for_a_device_is_refused_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.surveys.survey.LARGEST_DOCUMENT", 5_000)
    contract = cf.Survey(cf.TruncatedPlanarLaplace(cf.Grid(20, 20), 1.0))
    with pytest.raises(TooLargeError, match=r"takes .* MB as JSON, mostly for its tables.*Use fewer"):
        contract.to_json()


@pytest.mark.parametrize(
    "mechanism",
    [
        cf.Exponential(cf.Circle(2000), 1.0),
        cf.Exponential(cf.Grid(2000, 2000), 1.0),
        cf.TruncatedPlanarLaplace(cf.Grid(2000, 2000), 1.0),
        cf.TruncatedTaxicab(cf.Grid(2000, 2000, holes=[(0, 0)]), 1.0),
    ],
    ids=lambda one: one.kind,
)
def test_tables_too_large_for_any_document_are_not_even_made(mechanism: cf.Mechanism) -> None:
    with pytest.raises(
        TooLargeError, match=r"needs a table of 4,000,000 numbers on a device.*Use fewer or larger cells"
    ):
        cf.Survey(mechanism).to_json()


@pytest.mark.parametrize("name", [*FINITE, *(f"{name} unbounded" for name in UNBOUNDED)])
def test_a_json_survey_is_loaded_wherever_a_toml_one_is(name: str, tmp_path: Path) -> None:
    text = (FINITE | {f"{name} unbounded": one for name, one in UNBOUNDED.items()})[name]
    path = tmp_path / "survey.json"
    path.write_text(survey(text).to_json(), encoding="utf-8")
    assert cf.load_survey(path) == survey(text)


def test_the_command_line_exports_and_takes_the_document(tmp_path: Path) -> None:
    toml, document = tmp_path / "survey.toml", tmp_path / "survey.json"
    contract = cf.Survey(cf.TruncatedPlanarLaplace(cf.Grid(3, 3, unit="km"), 1.0), "home")
    toml.write_text(contract.text(), encoding="utf-8")
    run = CliRunner().invoke
    printed = run(app, ["export", str(toml)])
    assert printed.stdout == contract.to_json() + "\n"
    written = run(app, ["export", str(toml), "-o", str(document)])
    assert written.exit_code == 0
    assert contract.pin in written.output
    assert document.read_text(encoding="utf-8") == contract.to_json() + "\n"
    for arguments in (["show"], ["show", "--json"], ["export"]):
        one, other = (run(app, [arguments[0], str(path), *arguments[1:]]) for path in (toml, document))
        assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)
        assert one.exit_code == 0
    refused = run(app, ["export", str(toml), "-o", str(tmp_path / "survey.toml2")])
    assert refused.exit_code != 0
    assert "should end in .json" in refused.output
    document.write_text(document.read_text(encoding="utf-8").replace('"epsilon":1', '"epsilon":2'), encoding="utf-8")
    spoilt = run(app, ["show", str(document)])
    assert spoilt.exit_code != 0
    assert "not the one" in spoilt.output or "was changed" in spoilt.output

"""One way to the text of a value: what the terminal, pages, CSV and JSON show, and what an estimate is read back by."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.data.files import estimate_csv, estimate_record
from confide.estimates.estimate import Outcome
from confide.estimates.inference.division import windows_over
from confide.plans import as_guess
from confide.present.terminal import choose_bars
from confide.values import Selection, Values


@dataclass(frozen=True)
class Floors(cf.Integers):
    """Floors of a house, which people call by a letter."""

    has_labels = True

    def _name(self, values: Values) -> list[str]:
        return [f"floor {chr(65 + value)}" for value in values.tolist()]


MECHANISM = cf.RandomizedResponse(Floors(0, 2), 3.0)
SURVEY = cf.Survey(MECHANISM, "floor")


@pytest.fixture(scope="module")
def estimate() -> cf.estimates.Estimate:
    return cf.estimate(cf.tally([0, 1, 2], [50, 40, 10]), MECHANISM, cf.IBU())


def test_labels_of_some_and_of_parts() -> None:
    pairs = cf.Attributes(floor=Floors(0, 2), sex=cf.Categories(["f", "m"]))
    assert Floors(0, 2).labels([2, 0]) == ["floor C", "floor A"]
    assert pairs.has_labels
    assert pairs.labels([1, 4]) == ["(floor A, m)", "(floor C, f)"]
    assert pairs.labels()[5] == "(floor C, m)"
    assert not cf.Attributes(age=cf.Integers(0, 2), sex=cf.Categories(["f", "m"])).has_labels
    part = Selection(Floors(0, 25), np.array([2, 24]))
    assert part.has_labels
    assert part.labels() == ["floor C", "floor Y"]
    assert cf.Grid(2, 2, holes=[(0, 0)]).labels([0, 2]) == ["(0, 1)", "(1, 1)"]
    assert cf.Integers(-3, 3).labels([0]) == ["-3"]


def test_ranges_and_questions() -> None:
    kind = windows_over(Floors(0, 25), "floor")
    assert kind.label(np.array([3, 4, 5])) == "floor D to floor F"
    assert kind.label(np.array([3])) == "floor D"
    bars, _ = choose_bars(Floors(0, 99), np.full(100, 0.01), None)
    assert bars[1].label == "floor F to floor J"
    assert cf.Integers(0, 9).question("age", 3, 3) == "age == 3"


def test_files_have_labels_beside_values(estimate: cf.estimates.Estimate, tmp_path: Path) -> None:
    rows = list(csv.DictReader(estimate_csv(SURVEY, estimate).splitlines()))
    assert [(row["floor"], row["label"]) for row in rows] == [("0", "floor A"), ("1", "floor B"), ("2", "floor C")]
    renamed = cf.Survey(MECHANISM, "label")
    assert estimate_csv(renamed, estimate).splitlines()[0] == "value,label,probability"
    record = estimate_record(SURVEY, cf.tally([0]), Outcome(estimate, (), None, None))
    assert record["alphabet"]["labels"] == ["floor A", "floor B", "floor C"]
    plain = estimate_csv(
        cf.Survey(cf.RandomizedResponse(cf.Integers(0, 2), 3.0), "floor"), replace(estimate, alphabet=cf.Integers(0, 2))
    )
    assert plain.splitlines()[0] == "floor,probability"


def test_an_estimate_is_read_back_as_a_guess(estimate: cf.estimates.Estimate, tmp_path: Path) -> None:
    table, document = tmp_path / "estimate.csv", tmp_path / "estimate.json"
    table.write_text(estimate_csv(SURVEY, estimate))
    record = {"alphabet": {"values": [0, 1, 2], "labels": ["floor A", "floor B", "floor C"]}}
    document.write_text(json.dumps(record | {"distribution": estimate.distribution.tolist()}))
    for path in (table, document):
        np.testing.assert_allclose(as_guess(path, MECHANISM).vector, estimate.distribution)
        path.write_text(path.read_text().replace("floor B", "floor X"))
        with pytest.raises(cf.ConfideError, match=r"it has 'floor X' where .* has 'floor B'"):
            as_guess(path, MECHANISM)

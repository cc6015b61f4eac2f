"""Districts of maps with many cells: left out unless they are bidden, and said to be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.estimates import explanations
from confide.estimates.explanations import why_undivided
from confide.present.pages import estimate_page

WORDS = "16 cells take about 10 s; in Python, estimate.windows() looks for them"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take small maps for large ones, which take seconds."""
    assert explanations.MOST_CELLS_UNBIDDEN == 200
    monkeypatch.setattr(explanations, "MOST_CELLS_UNBIDDEN", 9)


def reported(side: int) -> tuple[cf.Survey, cf.Counts]:
    mechanism = cf.RandomizedResponse(cf.Grid(side, side), 6.0)
    counts = mechanism.simulate_counts(np.full(side * side, 50), rng=1)
    return cf.Survey(mechanism, "cell", "A map"), counts


def test_districts_of_many_cells_are_looked_for_when_bidden() -> None:
    survey, counts = reported(4)
    answer = cf.estimate(counts, survey.mechanism, cf.IBU())
    assert why_undivided(answer) == WORDS
    assert why_undivided(answer, is_bidden=True) == ""
    few, some = reported(3)
    assert why_undivided(cf.estimate(some, few.mechanism, cf.IBU())) == ""


def test_a_page_says_that_they_are_left_out() -> None:
    pytest.importorskip("matplotlib")
    survey, counts = reported(4)
    page = estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])
    assert f"Districts are left out: {WORDS}." in page


def test_json_says_so_beside_it(tmp_path: Path) -> None:
    survey, counts = reported(4)
    (tmp_path / "survey.json").write_text(survey.to_json())
    pairs = zip(counts.reports.tolist(), counts.counts.tolist(), strict=True)
    lines = "".join(f"{row},{column},{count}\n" for (row, column), count in pairs)
    (tmp_path / "reports.csv").write_text(f"row,column,count\n{lines}")
    asked = ["--method", "ibu", "--query", "cell in (0, 0)..(1, 1)", "--json"]
    ending = CliRunner().invoke(app, ["estimate", str(tmp_path / "survey.json"), str(tmp_path / "reports.csv"), *asked])
    assert ending.exit_code == 0
    assert ending.stderr.startswith(f"Districts are left out: {WORDS}.\n")
    assert json.loads(ending.stdout)["windows"] is None

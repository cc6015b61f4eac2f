"""A survey that made-up people answer: its reports are called simulated wherever they are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app

SURVEY = """
name = "age"
simulated = "two humps"
[alphabet]
kind = "integers"
low = 0
high = 9
[mechanism]
kind = "truncated-geometric"
epsilon = 1.0
"""


def said(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_reports_of_a_simulated_survey_are_called_so(tmp_path: Path) -> None:
    survey, values, reports = (tmp_path / name for name in ("sim.toml", "values.csv", "reports.csv"))
    survey.write_text(SURVEY)
    values.write_text("age\n" + "3\n4\n" * 50)
    assert "made-up people, drawn from two humps" in said("show", survey)
    assert json.loads(said("show", survey, "--json"))["simulated"] == "two humps"
    words = said("privatize", survey, values, "-o", reports)
    assert "secure generator" not in words
    assert "made-up people answer this survey" in words
    assert json.loads(said("privatize", survey, values, "-o", tmp_path / "r.csv", "--json"))["guarantee"] is None
    assert "simulated" in said("estimate", survey, reports)
    bare = tmp_path / "bare.csv"  # without metadata, the survey says it
    bare.write_bytes(reports.read_bytes())
    assert cf.read_reports(bare, cf.load_survey(survey)).counts.origin.simulated == 100
    assert cf.count(bare, cf.load_survey(survey)).origin.simulated == 100


@pytest.mark.parametrize("mark", ["", "two humps"])
def test_the_mark_alone_makes_reports_simulated(tmp_path: Path, mark: str) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Integers(0, 9), 1.0), simulated=mark)
    path = tmp_path / "r.csv"
    path.write_text("report\n3\n")
    assert cf.read_reports(path, survey).counts.origin.is_simulated == bool(mark)

"""python -m reproduction: names, options, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call, Ending, assert_refused
from typer.testing import CliRunner

from confide.cli.main import ExitCode
from reproduction import EXPERIMENTS
from reproduction.__main__ import app


@pytest.fixture
def call() -> Call:
    def run(*arguments: str) -> Ending:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ending(result.exit_code, result.stdout, result.stderr)

    return run


def test_list_names_every_experiment(call: Call) -> None:
    text = call("--list").out
    assert all(name in text for name in EXPERIMENTS)
    listed = json.loads(call("--list", "--json").out)["experiments"]
    assert [one["name"] for one in listed] == list(EXPERIMENTS)
    assert all(one["figures"] or one["cells"] == 0 for one in listed)


def test_an_unknown_name_gets_a_suggestion(call: Call) -> None:
    ending = call("manhattan-heatmap")
    assert_refused(ending, ExitCode.USAGE, "Did you mean manhattan-heatmaps")


def test_quick_and_repeats_exclude_each_other(call: Call) -> None:
    assert_refused(call("--quick", "--repeats", "5"), ExitCode.USAGE, "give one of them")


@pytest.mark.parametrize("option", ["--repeats", "--jobs"])
def test_numbers_are_at_least_one(call: Call, option: str) -> None:
    assert call(option, "0").code == ExitCode.USAGE


@pytest.mark.slow
def test_a_run_leaves_tables_figures_and_an_index(call: Call, tmp_path: Path) -> None:
    ending = call("likely-subsets", "mechanisms", "--jobs", "1", "--output", str(tmp_path / "out"))
    assert ending.code == 0
    assert "Statements of the paper: 3 hold, none differs." in ending.out
    made = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert made >= {
        "index.html",
        "figures/likely-subsets.png",
        "figures/likely-subsets.pdf",
        "tables/likely-subsets.csv",
        "tables/likely-subsets.parquet",
        "tables/mechanisms.csv",
        "tables/mechanisms.parquet",
    }

"""confide reproduce: names, options, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

from confide.cli.exits import ExitCode
from confide.experiments import EXPERIMENTS


def test_list_names_every_experiment(call: Call) -> None:
    text = call("reproduce", "--list").out
    assert all(name in text for name in EXPERIMENTS)
    listed = json.loads(call("reproduce", "--list", "--json").out)["experiments"]
    assert [one["name"] for one in listed] == list(EXPERIMENTS)
    assert all(one["figures"] or one["cells"] == 0 for one in listed)


def test_an_unknown_name_gets_a_suggestion(call: Call) -> None:
    ending = call("reproduce", "manhattan-heatmap")
    assert_refused(ending, ExitCode.USAGE, "Did you mean manhattan-heatmaps")


def test_quick_and_repeats_exclude_each_other(call: Call) -> None:
    assert_refused(call("reproduce", "--quick", "--repeats", "5"), ExitCode.USAGE, "give one of them")


@pytest.mark.parametrize("option", ["--repeats", "--jobs"])
def test_numbers_are_at_least_one(call: Call, option: str) -> None:
    assert call("reproduce", option, "0").code == ExitCode.USAGE


@pytest.mark.slow
def test_a_run_leaves_tables_figures_and_an_index(call: Call, tmp_path: Path) -> None:
    ending = call("reproduce", "likely-subsets", "mechanisms", "--jobs", "1", "--output", str(tmp_path / "out"))
    assert ending.code == 0
    assert "3 holds" in ending.out
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

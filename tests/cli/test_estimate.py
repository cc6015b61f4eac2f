"""confide estimate: what is shown, what is written, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import SURVEY, Call, assert_refused

import confide as cf
from confide import Integers
from confide.cli.estimate import _announced
from confide.solve.methods import METHODS


@pytest.mark.slow
def test_the_whole_path(call: Call, folder: Path) -> None:
    assert call("new", "ages.toml").code == 0
    assert call("show", "ages.toml").code == 0
    assert call("datasets", "adult_ages", "people.csv").code == 0
    assert call("privatize", "ages.toml", "people.csv", "-o", "out.csv", "--seed", "7").code == 0
    ending = call("estimate", "ages.toml", "out.csv", "--truth", "people.csv", "--json")
    assert ending.err == ""
    assert ending.record["reports"] == 48_842
    assert ending.record["status"] == "held-out"
    assert ending.record["emd"] < 1.0
    assert ending.record["total_variation"] < 0.2


@pytest.mark.parametrize("method", [name for name in METHODS if not name.startswith("rappor-")])
def test_every_method(call: Call, method: str) -> None:
    record = call("estimate", "survey.toml", "reports.csv", "--method", method, "--json").record
    assert record["alphabet"]["values"] == list(range(10))
    assert sum(record["distribution"]) == pytest.approx(1)
    assert record["rows"]["accepted"] == 200
    if method == "inversion-raw":
        assert record["log_likelihood"] is record["certificate"] is None
        assert min(record["distribution"]) < 0


def test_what_is_shown(call: Call) -> None:
    ending = call("estimate", "survey.toml", "reports.csv", "--truth", "values.csv", "-v")
    assert ending.code == 0
    assert ending.err == ""
    for words in ("Ages", "Stacked(", "Cross-val", "Fit", "--interval 0.95", "total variation", "years", "truth"):
        assert words in ending.out


@pytest.mark.slow
def test_without_a_method_it_says_what_was_chosen_and_why(call: Call) -> None:
    ending = call("estimate", "survey.toml", "reports.csv", "-v")
    for words in ("Cross-validation", "% smooth", "% MLE: ", " than smooth in cross-validation"):
        assert words in ending.out
    choices = call("estimate", "survey.toml", "reports.csv", "--json").record["choices"]
    assert [choice["name"] for choice in choices] == ["smooth", "MLE"]
    assert sum(choice["share"] for choice in choices) == pytest.approx(1)
    assert call("estimate", "survey.toml", "reports.csv", "--method", "mle", "--json").record["choices"] == []


@pytest.mark.slow
def test_large_alphabets_are_shown_in_ranges(call: Call, folder: Path) -> None:
    (folder / "large.toml").write_text(SURVEY.replace("high = 9", "high = 99"))
    brief, full = (call("estimate", "large.toml", "reports.csv", *option).out for option in ([], ["--show", "all"]))
    assert "95-99" in brief
    assert "--show all shows all 100 values" in brief
    assert "95-99" not in full
    assert len(full.splitlines()) > 100


def test_files(call: Call, folder: Path) -> None:
    ending = call(
        "estimate", "survey.toml", "reports.csv", "-o", "e.csv", "-o", "e.json", "--truth", "values.csv", "--json"
    )
    assert ending.code == 0
    with (folder / "e.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    written = json.loads((folder / "e.json").read_text())
    assert [row["age"] for row in rows] == [str(age) for age in range(10)]
    np.testing.assert_array_equal([float(row["probability"]) for row in rows], written["distribution"])
    assert written["distribution"] == ending.record["distribution"]
    assert written["guarantee"].startswith("metric privacy")


@pytest.mark.slow
def test_a_page(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert call("estimate", "survey.toml", "reports.csv", "-o", "e.html").code == 0
    assert (folder / "e.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_an_iteration_limit_is_a_warning(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.cli.estimate.METHODS", {"ibu": cf.IBU(iteration_limit=1)})
    ending = call("estimate", "survey.toml", "reports.csv", "--method", "ibu", "--json")
    assert ending.code == 0
    assert ending.record["status"] == "iteration limit"
    assert ending.err.startswith("Warning: the limit of 1 iteration ")


@pytest.mark.slow
def test_counted_reports_are_the_same_as_single_ones(call: Call, folder: Path) -> None:
    (folder / "counted.csv").write_text("report,count\n" + "".join(f"{i},{29 if i < 4 else 28}\n" for i in range(7)))
    single, counted = (
        call("estimate", "survey.toml", name, "--json").record for name in ("reports.csv", "counted.csv")
    )
    assert counted["reports"] == 200
    assert counted["distribution"] == single["distribution"]


def test_true_values_taken_for_reports_are_noticed(call: Call, folder: Path) -> None:
    assert_refused(call("estimate", "survey.toml", "values.csv"), 4, "no column 'report'")
    (folder / "true.csv").write_text("age\n3\n4\n3\n")
    ending = call("estimate", "survey.toml", "true.csv", "--json")
    assert ending.code == 0
    assert "named like the true values" in ending.err


def test_standard_input(call: Call) -> None:
    assert call("estimate", "survey.toml", "-", "--json", stdin="report\n3\n3\n4\n").record["reports"] == 3


def test_a_report_outside_the_outputs(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text("report\n3\n12\n")
    assert_refused(call("estimate", "survey.toml", "bad.csv", "-o", "e.csv"), 4, "line 3: '12' (outside the alphabet)")
    assert not (folder / "e.csv").exists()
    assert "confide count SURVEY REPORTS" in " ".join(call("estimate", "survey.toml", "bad.csv").err.split())


def test_a_report_that_no_value_can_produce(call: Call, folder: Path) -> None:
    matrix = "matrix = [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]]\n"
    (folder / "m.toml").write_text('[alphabet]\nkind="integers"\nlow=0\nhigh=1\n[mechanism]\nkind="matrix"\n' + matrix)
    (folder / "bad.csv").write_text("report\n0\n2\n")
    assert_refused(call("estimate", "m.toml", "bad.csv"), 4, "no value can produce it")


def test_a_matrix_without_an_inverse(call: Call, folder: Path) -> None:
    survey = (
        '[alphabet]\nkind="integers"\nlow=0\nhigh=1\n[mechanism]\nkind="matrix"\nmatrix = [[0.5, 0.5], [0.5, 0.5]]\n'
    )
    (folder / "m.toml").write_text(survey)
    (folder / "r.csv").write_text("report\n0\n1\n")
    assert_refused(call("estimate", "m.toml", "r.csv", "--method", "inversion-project", "-o", "e.csv"), 5, "IBU")
    assert not (folder / "e.csv").exists()
    assert call("estimate", "m.toml", "r.csv").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "magic"], ["--method must be one of stacked, ibu", "'magic'"]),
        (["-o", "estimate.txt"], ["estimate.txt", ".csv, .json, .html"]),
        (["-o", "survey.toml.csv", "-o", "survey.toml.csv"], ["survey.toml.csv"]),
    ],
)
def test_wrong_usage(call: Call, options: list[str], words: list[str]) -> None:
    assert_refused(call("estimate", "survey.toml", "reports.csv", *options), 2, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age\n1\n40\n", ["line 3: '40' (outside the alphabet)", "true values"]),
        ("", ["is empty"]),
        ("age,count\n1,0\n", ["add up to 0"]),
        ("age,count\n1,-1\n", ["bad count"]),
    ],
)
def test_a_bad_truth(call: Call, folder: Path, text: str, words: list[str]) -> None:
    (folder / "truth.csv").write_text(text)
    assert_refused(call("estimate", "survey.toml", "reports.csv", "--truth", "truth.csv"), 4, "truth.csv", *words)


def test_reports_that_add_up_to_nothing(call: Call, folder: Path) -> None:
    (folder / "none.csv").write_text("report,count\n1,0\n")
    assert_refused(call("estimate", "survey.toml", "none.csv"), 4, "no reports")


def test_a_grid_is_shown_as_a_map(call: Call, folder: Path) -> None:
    survey = 'name="place"\n[alphabet]\nkind="grid"\nrows=6\ncolumns=6\n[mechanism]\nkind="randomized-response"\n'
    (folder / "grid.toml").write_text(survey + "epsilon=3.0\n")
    (folder / "cells.csv").write_text("row,column,count\n0,0,50\n5,5,20\n")
    out = call("estimate", "grid.toml", "cells.csv").out
    assert "north" in out
    assert "(0, 0)" in out
    assert call("estimate", "grid.toml", "cells.csv", "-o", "e.csv").code == 0
    assert (folder / "e.csv").read_text().startswith("row,column,probability\n0,0,0.")


def test_many_categories_show_the_likeliest(call: Call, folder: Path) -> None:
    values = ", ".join(f'"v{i}"' for i in range(50))
    survey = f'[alphabet]\nkind="categories"\nvalues=[{values}]\n[mechanism]\nkind="randomized-response"\nepsilon=3.0\n'
    (folder / "many.toml").write_text(survey)
    (folder / "r.csv").write_text("report,count\nv7,50\nv8,10\n")
    out = call("estimate", "many.toml", "r.csv").out
    assert "v7" in out
    assert "The 20 most likely of 50 values" in out


def test_many_values_are_announced_to_take_long() -> None:
    assert _announced("IBU", Integers(0, 999_999)) == "IBU over 1,000,000 values, which may take a minute"
    assert _announced("IBU", Integers(0, 99)) == _announced("IBU", Integers()) == "IBU"


@pytest.mark.slow
def test_the_first_answer_takes_fourteen_lines_of_eighty_columns(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    call("new", "ages.toml")
    call("datasets", "adult_ages", "people.csv")
    call("privatize", "ages.toml", "people.csv", "-o", "out.csv", "--seed", "7")
    ending = call("estimate", "ages.toml", "out.csv", "--query", "age >= 65")
    lines = ending.out.splitlines()
    assert lines[0] == "Ages in years · 48,842 simulated reports · epsilon 0.05 per year"
    assert lines[2].startswith("About ")
    assert " are 65 or older (95% confidence: " in lines[2]
    assert lines[-2].startswith("Goodness of fit: ")
    assert lines[-1] == "More: -v · page: -o estimate.html"
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80
    assert "…" not in ending.out
    record = call("estimate", "ages.toml", "out.csv", "--query", "age >= 65", "--json").record
    assert record["headline"] == lines[2]
    assert record["summary"][0] == lines[0]

"""confide plan: the sentence, the table, every output, and questions that make no sense."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE, UNBOUNDED

import confide as cf
from confide.surveys import load_survey

GUESS = "value,probability\n" + "".join(
    f"{value},{share}\n" for value, share in enumerate((0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02))
)
FEW = ("--repeats", "6", "--method", "ibu")


@pytest.fixture(autouse=True)
def guess(folder: Path) -> None:
    (folder / "guess.csv").write_text(GUESS)


def test_what_to_expect(call: Call) -> None:
    ending = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", *FEW)
    assert (ending.code, ending.err) == (0, "")
    assert "With 2,000 people and 1 per year you can expect an EMD of" in ending.out
    assert "times" in ending.out
    for words in ("8,000", "0.5 per year", "truncated-laplace", "exponential", "different promises", "power"):
        assert words in ending.out
    assert "guess is uniform" not in ending.out


def test_the_plan_is_marked_with_a_word(call: Call) -> None:
    out = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", *FEW).out
    assert [line.split()[1] for line in out.splitlines() if line.rstrip().endswith(" plan")] == ["2,000"]


def test_categories_are_measured_in_total_variation(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE["randomized-response"])
    assert isinstance(load_survey("s.toml").mechanism.alphabet, cf.Categories)
    out = call("plan", "s.toml", "--people", "60", *FEW, "--mechanisms", "none").out
    assert "you can expect a total variation of" in out
    assert "expected total variation" in out
    assert "EMD" not in out


def test_help_says_what_to_type_and_what_to_expect(call: Call) -> None:
    words = " ".join(call("plan", "--help").out.replace("│", " ").split())
    assert "[default: stacked, which chooses" in words
    assert "exit code 5" in words
    assert "Pairs and categories are measured in total variation" in words


@pytest.mark.slow
def test_an_estimate_with_intervals_is_a_guess(call: Call, folder: Path) -> None:
    (folder / "values.csv").write_text("age,count\n0,300\n3,500\n7,100\n")
    call("privatize", "survey.toml", "values.csv", "-o", "reports.csv")
    call("estimate", "survey.toml", "reports.csv", "--method", "ibu", "--interval", "0.95", "-o", "banded.csv")
    call("estimate", "survey.toml", "reports.csv", "--method", "ibu", "-o", "plain.csv")
    plans = [
        call("plan", "survey.toml", "--people", "500", "--guess", f"{one}.csv", "--json", *FEW)
        for one in ("banded", "plain")
    ]
    assert plans[0].record["expected"] == plans[1].record["expected"]


@pytest.mark.slow
def test_each_unknown(call: Call) -> None:
    people = call("plan", "survey.toml", "--target-emd", "0.1", "--guess", "guess.csv", *FEW).out
    assert "With 1 per year, an EMD of 0.1 years takes about" in people
    same = call("plan", "survey.toml", "--target-emd", "0.1", "--epsilon", "1", "--guess", "guess.csv", *FEW).out
    assert same == people
    epsilon = call("plan", "survey.toml", "--target-emd", "0.1", "--people", "2000", "--guess", "guess.csv", *FEW)
    assert "With 2,000 people, an EMD of 0.1 years takes about" in epsilon.out
    record = call(
        "plan", "survey.toml", "--query", "age >= 5", "--target-width", "0.05", "--guess", "guess.csv", "--json", *FEW
    ).record
    assert record["solved"]["unknown"] == "people"
    assert record["measure"] == {"name": "95% half-width of age >= 5", "unit": None}


def test_json_agrees_with_the_library(call: Call, folder: Path) -> None:
    record = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", "--json", *FEW).record
    shares = np.array([float(line.partition(",")[2]) for line in GUESS.splitlines()[1:]])
    plan = cf.plan(load_survey("survey.toml").mechanism, shares, people=2000, repeats=6, method=cf.IBU())
    assert record["expected"]["mean"] == plan.prediction.mean
    assert record["expected"]["margin"] == plan.prediction.margin
    assert [one["people"] for one in record["by_people"]] == [500, 2000, 8000, 32000]
    assert [one["epsilon"] for one in record["by_epsilon"]] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert {one["kind"] for one in record["mechanisms"]} == {"truncated-laplace", "exponential"}
    assert record["people"] == 2000
    assert record["solved"] is None


@pytest.mark.slow
def test_the_second_time_is_the_same(call: Call) -> None:
    arguments = ("plan", "survey.toml", "--people", "500", "--target-emd", "0.3", "--guess", "guess.csv", *FEW)
    first, second, uncached = call(*arguments), call(*arguments), call(*arguments, "--no-cache")
    assert first == second == uncached
    assert call(*arguments, "--seed", "1").out != first.out


@pytest.mark.slow
def test_every_output(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ("p.html", "p.csv", "p.json", "p.png")
    outputs = [word for name in names for word in ("-o", name)]
    ending = call(
        "plan", "survey.toml", "--people", "500", "--target-emd", "0.3", "--guess", "guess.csv", *FEW, *outputs
    )
    assert ending.out.endswith("".join(f"Wrote {name}\n" for name in names))
    page = (folder / "p.html").read_text()
    for words in ("What to expect: Ages", "an EMD of 0.3 years takes about", "truncated-laplace", "different promises"):
        assert words in page
    assert page.count("<svg") == 1
    for forbidden in ("http-equiv", "src=", "@import", "url(http", "<script"):
        assert forbidden not in page
    rows = list(csv.DictReader(io.StringIO((folder / "p.csv").read_text())))
    assert [row["part"] for row in rows] == ["plan"] + ["by people"] * 4 + ["by epsilon"] * 5 + ["mechanism"] * 2
    assert {row["unit"] for row in rows} == {"year"}
    record = json.loads((folder / "p.json").read_text())
    assert float(rows[0]["expected"]) == record["expected"]["mean"]
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_text_from_a_survey_cannot_break_the_page(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (folder / "survey.toml").read_text().replace('"Ages"', '"<script>alert(1)</script>"')
    (folder / "x.toml").write_text(text.replace('"year"', '"<b>"'))
    assert call("plan", "x.toml", "--people", "100", *FEW, "-o", "x.html").code == 0
    page = (folder / "x.html").read_text()
    assert "<script>" not in page
    assert "<b>" not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE)
def test_every_mechanism(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE[name])
    ending = call("plan", "s.toml", "--people", "60", *FEW, "--mechanisms", "none", "--no-cache")
    assert (ending.code, ending.err) == (0, "")
    assert "you can expect" in ending.out


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values_are_refused(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + UNBOUNDED[name])
    assert_refused(call("plan", "s.toml", "--people", "60"), 2, "is unbounded", "Give one")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "too little to plan with"),
        (("--epsilon", "1"), 2, "too little to plan with"),
        (("--people", "10", "--epsilon", "1", "--target-emd", "0.1"), 2, "nothing to find out"),
        (("--people", "10", "--target-emd", "0"), 2, "above 0"),
        (("--people", "10", "--target-emd", "-2"), 2, "above 0"),
        (("--people", "10", "--target-width", "0.1"), 2, "width of what"),
        (("--people", "10", "--guess", "nobody"), 2, "no guess 'nobody'"),
        (("--people", "10", "--guess", "paris"), 4, "over the same values"),
        (("--people", "10", "--guess", "short.csv"), 4, "2 of the 10 values"),
        (("--people", "10", "--mechanisms", "rappor"), 2, "different promises"),
        (("--people", "10", "--mechanisms", "exponental"), 2, "must be one of"),
        (("--people", "10", "--method", "magic"), 2, "must be one of"),
        (("--people", "10", "--query", "agee > 3"), 2, "'agee' is no name here"),
        (("--people", "10", "-o", "plan.txt"), 2, "should end in"),
        (("--people", "10", "-o", "survey.toml"), 2, "should end in"),
        (("--people", "10", "--guess", "guess.csv", "-o", "guess.csv"), 2, "also an input"),
        (("--people", "10", "-o", "nowhere/plan.csv"), 4, "no folder"),
        (("--people", "100", "--guess", "guess.csv", "--target-emd", "0.0001", *FEW), 5, "still to be expected"),
    ],
)
def test_bad_input(call: Call, folder: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    (folder / "short.csv").write_text("age,probability\n0,0.5\n1,0.5\n")
    assert_refused(call("plan", "survey.toml", *arguments), code, words)

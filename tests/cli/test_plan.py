"""confide plan: the sentence, the table, every output, and questions that make no sense."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE, UNBOUNDED

import confide as cf
from confide.cli.plan import SurveyClock
from confide.errors import InvalidParameterError
from confide.plans.records import plan_record
from confide.surveys.survey import load_survey

GUESS = "value,probability\n" + "".join(
    f"{value},{share}\n" for value, share in enumerate((0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02))
)


@pytest.fixture(autouse=True)
def guess(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a guess, and let plans simulate few surveys by a quick method: what the command shows is the same."""
    (folder / "guess.csv").write_text(GUESS)
    monkeypatch.setattr("confide.cli.plan.make_plan", partial(cf.plan, repeats=4, method=cf.IBU()))


def test_what_to_expect(call: Call) -> None:
    ending = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "With 2,000 people and 1 per year you can expect an EMD of" in ending.out
    assert "times" in ending.out
    for words in ("8,000", "0.5 per year", "power"):
        assert words in ending.out
    assert "flatters" not in ending.out


@pytest.mark.slow
def test_without_a_guess_the_range_over_unlike_shapes(call: Call, folder: Path) -> None:
    names = ("f.html", "f.json", "f.csv")
    outputs = [word for name in names for word in ("-o", name)]
    ending = call("plan", "survey.toml", "--people", "2,000", "-v", *outputs)
    assert (ending.code, ending.err) == (0, "")
    record = json.loads((folder / "f.json").read_text())
    shapes = {one["shape"]: one["expected"]["mean"] for one in record["shapes"]}
    assert set(shapes) == {"peaked", "two humps", "falling", "spiky", "rough", "uniform"}
    best, worst = min(shapes, key=lambda one: shapes[one]), max(shapes, key=lambda one: shapes[one])
    assert (record["guess"], record["best"], record["worst"]) == (None, best, worst)
    assert record["expected"]["mean"] == shapes[worst]
    for text in (ending.out, record["sentence"], (folder / "f.html").read_text()):
        assert f"between {shapes[best]:.3g} ({best}) and {shapes[worst]:.3g} ({worst}) years" in text
        assert "expect no better than" in text
    for words in ("shape of the truth", "worst", f"{shapes[best]:.3g} to {shapes[worst]:.3g} years"):
        assert words in ending.out
    page = (folder / "f.html").read_text()
    assert "By the shape of the truth" in page
    assert f"<strong>{worst} (the worst)</strong>" in page
    assert page.count("(the worst)") == 1
    assert "The band holds all shapes" in page
    rows = list(csv.DictReader(io.StringIO((folder / "f.csv").read_text())))
    assert {row["guess"]: float(row["expected"]) for row in rows if row["part"] == "shape"} == shapes
    assert sum(row["part"] == "by epsilon" for row in rows) == 6 * 5


@pytest.mark.slow
def test_a_target_without_a_guess_is_met_for_the_worst_shape(call: Call) -> None:
    out = call("plan", "survey.toml", "--target", "0.3", "-v").out
    assert "With 1 per year, an EMD of 0.3 years takes about" in out
    for words in ("in the worst case", "in the best", "count on the worst", "the target takes", "between the two"):
        assert words in out


@pytest.mark.slow
def test_a_guess_that_flatters_is_told_in_the_headline(call: Call) -> None:
    flattering = call("plan", "survey.toml", "--people", "2000", "--guess", "uniform", "--json").record
    assert "But the guess 'uniform' flatters" in flattering["sentence"]
    assert flattering["flattery"]["is_uniform"]
    honest = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", "--json").record
    assert "flatters" not in honest["sentence"]
    assert honest["flattery"] is None


def test_bad_rows_of_a_guess_are_named(call: Call, folder: Path) -> None:
    (folder / "pilot.csv").write_text("age,count\n0,30\n2,50\n12,9\nx,1\n5,20\n")
    command = ("plan", "survey.toml", "--people", "500", "--guess", "pilot.csv")
    assert_refused(call(*command), 4, "2 of 5 rows of pilot.csv", "line 4", "outside the alphabet", "rejects=...")
    mechanism = load_survey("survey.toml").mechanism
    settings = {"people": 500, "repeats": 4, "method": cf.IBU(), "name": "age"}
    made = cf.plan(mechanism, "pilot.csv", rejects="aside.csv", **settings)  # type: ignore[arg-type]
    assert plan_record(made)["rows"] == {
        "source": "pilot.csv",
        "columns": ["age"],
        "is_counted": True,
        "read": 5,
        "accepted": 3,
        "rejected": 2,
    }
    rejected = list(csv.DictReader(io.StringIO((folder / "aside.csv").read_text())))
    assert [(row["line"], row["reason"]) for row in rejected] == [("4", "outside the alphabet"), ("5", "not a number")]
    for guess, words in ((None, "there is no guess"), ("uniform", "a file of values"), ("guess.csv", "is an estimate")):
        with pytest.raises(InvalidParameterError, match=words):
            cf.plan(mechanism, guess, rejects="r.csv", **settings)  # type: ignore[arg-type]
    assert not (folder / "r.csv").exists()


def test_the_time_is_told_beforehand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The first survey, which sets everything up, does not count: each of the others takes half a second here."""
    moments = iter([0.0, 9.0, 9.5, 10.0])
    monkeypatch.setattr("confide.cli.plan.time.perf_counter", lambda: next(moments))
    told: list[str] = []
    clock = SurveyClock(lambda: 240, told.append)
    for repeat in range(1, 7):
        clock.follow("peaked", repeat, 6)
    assert len(told) == 6
    assert capsys.readouterr().err == "This takes about 2 minutes: 240 simulated surveys.\n"
    quick = SurveyClock(lambda: 20, told.append)
    moments = iter([0.0, 9.0, 9.5, 10.0])
    for repeat in range(1, 5):
        quick.follow("peaked", repeat, 4)
    assert capsys.readouterr().err == ""


def test_the_plan_is_marked_with_a_word(call: Call) -> None:
    out = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", "-v").out
    marked = [line.strip().partition(" (the plan)")[0] for line in out.splitlines() if " (the plan)" in line]
    assert marked == ["2,000", "1 per year"]  # among people and promises


def test_categories_are_measured_in_total_variation(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE["randomized-response"])
    assert isinstance(load_survey("s.toml").mechanism.alphabet, cf.Categories)
    out = call("plan", "s.toml", "--people", "60", "--guess", "falling", "-v").out
    assert "you can expect a total variation of" in out
    assert "expected total variation" in out
    assert "EMD" not in out


def test_help_says_what_to_type_and_what_to_expect(call: Call) -> None:
    words = " ".join(call("plan", "--help", "-v").out.replace("│", " ").split())
    assert "exit code 5" in words
    assert "EMD (total variation on categories)" in words


@pytest.mark.slow
def test_an_estimate_with_intervals_is_a_guess(call: Call, folder: Path) -> None:
    (folder / "values.csv").write_text("age,count\n0,300\n3,500\n7,100\n")
    call("privatize", "survey.toml", "values.csv", "-o", "reports.csv")
    call("estimate", "survey.toml", "reports.csv", "--method", "ibu", "--interval", "0.95", "-o", "banded.csv")
    call("estimate", "survey.toml", "reports.csv", "--method", "ibu", "-o", "plain.csv")
    plans = [
        call("plan", "survey.toml", "--people", "500", "--guess", f"{one}.csv", "--json") for one in ("banded", "plain")
    ]
    assert plans[0].record["expected"] == plans[1].record["expected"]


@pytest.mark.slow
def test_each_unknown(call: Call) -> None:
    people = call("plan", "survey.toml", "--target", "0.1", "--guess", "guess.csv", "-v").out
    assert "With 1 per year, an EMD of 0.1 years takes about" in people
    same = call("plan", "survey.toml", "--target", "0.1", "--epsilon", "1", "--guess", "guess.csv", "-v").out
    assert same == people
    epsilon = call("plan", "survey.toml", "--target", "0.1", "--people", "2000", "--guess", "guess.csv", "-v")
    assert "With 2,000 people, an EMD of 0.1 years takes about" in epsilon.out
    record = call(
        "plan", "survey.toml", "--query", "age >= 5", "--target", "0.05", "--guess", "guess.csv", "--json"
    ).record
    assert record["solved"]["unknown"] == "people"
    assert record["measure"] == {"name": "95% half-width of age >= 5", "unit": None}


def test_json_agrees_with_the_library(call: Call, folder: Path) -> None:
    record = call("plan", "survey.toml", "--people", "2000", "--guess", "guess.csv", "--json").record
    shares = np.array([float(line.partition(",")[2]) for line in GUESS.splitlines()[1:]])
    plan = cf.plan(load_survey("survey.toml").mechanism, shares, people=2000, repeats=4, method=cf.IBU())
    assert record["expected"]["mean"] == plan.prediction.mean
    assert record["expected"]["margin"] == plan.prediction.margin
    assert [one["people"] for one in record["by_people"]] == [500, 2000, 8000, 32000]
    assert [one["epsilon"] for one in record["by_epsilon"]] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert record["people"] == 2000
    assert record["solved"] is None


@pytest.mark.slow
def test_the_second_time_is_the_same(call: Call) -> None:
    arguments = ("plan", "survey.toml", "--people", "500", "--target", "0.3", "--guess", "guess.csv")
    assert call(*arguments) == call(*arguments)


@pytest.mark.slow
def test_every_output(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ("p.html", "p.csv", "p.json", "p.png")
    outputs = [word for name in names for word in ("-o", name)]
    ending = call("plan", "survey.toml", "--people", "500", "--target", "0.3", "--guess", "guess.csv", *outputs)
    assert ending.out.endswith("".join(f"Wrote {name}\n" for name in names))
    page = (folder / "p.html").read_text()
    for words in ("What to expect: Ages", "an EMD of 0.3 years takes about"):
        assert words in page
    assert page.count("<svg") == 3  # of one picture: for a screen, a tablet and a telephone
    for forbidden in ("http-equiv", "src=", "@import", "url(http", "<script"):
        assert forbidden not in page
    rows = list(csv.DictReader(io.StringIO((folder / "p.csv").read_text())))
    assert [row["part"] for row in rows] == ["plan"] + ["by people"] * 4 + ["by epsilon"] * 5
    assert {row["unit"] for row in rows} == {"year"}
    record = json.loads((folder / "p.json").read_text())
    assert float(rows[0]["expected"]) == record["expected"]["mean"]
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_text_from_a_survey_cannot_break_the_page(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (folder / "survey.toml").read_text().replace('"Ages"', '"<script>alert(1)</script>"')
    (folder / "x.toml").write_text(text.replace('"year"', '"<b>"'))
    assert call("plan", "x.toml", "--people", "100", "-o", "x.html", "-v").code == 0
    page = (folder / "x.html").read_text()
    assert "<script>" not in page
    assert "<b>" not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE)
def test_every_mechanism(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE[name])
    ending = call("plan", "s.toml", "--people", "60", "--guess", "falling", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "you can expect" in ending.out


def test_unbounded_values_in_a_span(call: Call, folder: Path) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + UNBOUNDED["geometric"])
    quick = ("--people", "60", "--guess")
    ending = call("plan", "s.toml", *quick, "falling -2..7", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "taken to lie in Integers(-2, 7" in ending.out
    assert_refused(call("plan", "s.toml", *quick, "0-99"), 2, "no guess '0-99'", "--guess 0..99")


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values_are_refused(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + UNBOUNDED[name])
    assert_refused(call("plan", "s.toml", "--people", "60", "-v"), 2, "is unbounded", "Give one")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "too little to plan with"),
        (("--epsilon", "1"), 2, "too little to plan with"),
        (("--people", "10", "--epsilon", "1", "--target", "0.1"), 2, "nothing to find out"),
        (("--people", "10", "--target", "0"), 2, "above 0"),
        (("--people", "10", "--target", "-2"), 2, "above 0"),
        (("--people", "10", "--guess", "nobody"), 2, "no guess 'nobody'"),
        (("--people", "10", "--guess", "paris"), 4, "over the same values"),
        (("--people", "10", "--guess", "short.csv"), 4, "2 of the 10 values"),
        (("--people", "10", "--query", "agee > 3"), 2, "'agee' is not a name here"),
        (("--people", "10", "-o", "plan.txt"), 2, "should end in"),
        (("--people", "10", "-o", "survey.toml"), 2, "should end in"),
        (("--people", "10", "--guess", "guess.csv", "-o", "guess.csv"), 2, "also an input"),
        (("--people", "10", "-o", "nowhere/plan.csv"), 4, "no folder"),
        (("--people", "100", "--guess", "guess.csv", "--target", "0.0001"), 5, "still to be expected"),
    ],
)
def test_bad_input(call: Call, folder: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    (folder / "short.csv").write_text("age,probability\n0,0.5\n1,0.5\n")
    assert_refused(call("plan", "survey.toml", *arguments), code, words)

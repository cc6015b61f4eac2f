"""confide diagnose: the verdict in words, queries, JSON and pages, and that doubt is no error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE, UNBOUNDED, some_values

import confide as cf
from confide.present.pages import diagnosis_page

TWINS = """
name = "answer"
title = "Three answers"
[alphabet]
kind = "categories"
values = ["never", "sometimes", "often"]
[mechanism]
kind = "matrix"
matrix = [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]]
"""


@pytest.fixture
def twins(folder: Path) -> Path:
    (folder / "twins.toml").write_text(TWINS)
    (folder / "twins.csv").write_text("report,count\nsometimes,4\nnever,1\noften,1\n")
    return folder


def test_a_mechanism_alone(call: Call) -> None:
    ending = call("diagnose", "survey.toml", "-v")
    assert (ending.code, ending.err) == (0, "")
    for words in ("can reveal the distribution", "converges to the truth", "lemma TLinearGeometricLinIndependence"):
        assert words in ending.out
    assert ending.out.index("can reveal") < ending.out.index("lemma")
    assert "best explanation" not in ending.out


def test_mechanism_and_reports(call: Call) -> None:
    ending = call("diagnose", "survey.toml", "reports.csv", "--query", "age >= 5", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "These 200 reports have exactly one best explanation" in ending.out
    assert "age >= 5" in ending.out
    assert "200, from reports.csv" in ending.out


def test_many_best_explanations_are_listed(call: Call, twins: Path) -> None:
    out = call("diagnose", "twins.toml", "twins.csv", "--query", "answer == never", "--query", "answer != often").out
    assert "can never reveal the whole distribution" in out
    assert "{never, often} 2 29.17%" in " ".join(out.split())
    assert "These 6 reports have many best explanations" in out
    assert "between 0 and 0.2917; not identified" in out
    assert "between 0.7083 and 1; not identified" in out
    assert "29.17%" in out


def test_as_json(call: Call, twins: Path) -> None:
    record = call("diagnose", "twins.toml", "twins.csv", "--query", "answer == sometimes", "--json").record
    assert record["identification"]["verdict"] == record["consistency"]["verdict"] == "no"
    assert record["strict_concavity"]["verdict"] == record["uniqueness"]["verdict"] == "no"
    assert record["partition"]["classes"] == [["never", "often"], ["sometimes"]]
    assert record["partition"]["shares"] == pytest.approx([7 / 24, 17 / 24], abs=1e-6)
    assert record["maximum_set"]["highest"] == pytest.approx([7 / 24, 17 / 24, 7 / 24])
    assert record["maximum_set"]["lowest"] == pytest.approx([0, 17 / 24, 0])
    (answer,) = record["queries"]
    assert answer["identification"]["verdict"] == "yes"
    assert answer["lowest"] == pytest.approx(answer["highest"])
    assert record["rows"]["accepted"] == 3
    assert record["inversion"]["mean_squared_error_times_reports"] is None


def test_json_without_reports(call: Call) -> None:
    record = call("diagnose", "survey.toml", "--json").record
    assert record["reports"] is record["uniqueness"] is record["maximum_set"] is record["rows"] is None
    assert record["inversion"]["bound"]["proposition"] == "proposition invTLinGeomBound"
    assert record["identification"]["numbers"]["condition number"] > 1


@pytest.mark.parametrize("name", FINITE)
def test_every_mechanism(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE[name])
    ending = call("diagnose", "s.toml", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "\nIdentification" in ending.out


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + UNBOUNDED[name])
    ending = call("diagnose", "s.toml")
    assert ending.code == 0
    assert "not covered by theory" in ending.out
    assert_refused(call("diagnose", "s.toml", "--query", "row == 1"), 2, "is unbounded")


@pytest.mark.slow
def test_the_page_is_self_contained(call: Call, twins: Path) -> None:
    pytest.importorskip("matplotlib")
    ending = call("diagnose", "twins.toml", "twins.csv", "-o", "page.html", "--query", "answer == never")
    assert ending.out.endswith("Wrote page.html\n")
    page = (twins / "page.html").read_text()
    for words in ("Can this answer be right?", "among all best explanations", "Values that no report distinguishes"):
        assert words in page
    # The ranges and the shares of single values, each for a screen, a tablet and a telephone; a bar a row in the table.
    assert (page.count("<figure"), page.count("<svg")) == (2, 6 + 3)
    for forbidden in ("http-equiv", "src=", "@import", "url(http", "<script"):
        assert forbidden not in page


@pytest.mark.slow
def test_the_page_of_a_grid(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    text = FINITE["remapped"]
    (folder / "s.toml").write_text('name = "cell"\n' + text)
    mechanism = cf.parse_survey(text).mechanism
    rows = mechanism.privatize(mechanism.alphabet.decode([0, 1, 5, 7] * 30), rng=1).tolist()
    (folder / "r.csv").write_text("row,column\n" + "".join(f"{row},{column}\n" for row, column in rows))
    assert call("diagnose", "s.toml", "r.csv", "-o", "page.html").code == 0
    assert "What it rests on" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    "name", ["truncated-geometric", "rappor", "truncated-taxicab", "matrix", "product", "unbounded"]
)
@pytest.mark.slow
def test_a_page_has_pictures_always(call: Call, folder: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    survey = cf.parse_survey('name = "thing"\n' + (UNBOUNDED["geometric"] if name == "unbounded" else FINITE[name]))
    (folder / "s.toml").write_text(survey.text())
    assert call("diagnose", "s.toml", "-o", "bare.html").code == 0
    bare = (folder / "bare.html").read_text()
    assert "<svg" in bare
    assert "simulated" in bare
    reports = survey.mechanism.privatize(some_values(survey.alphabet, 60), rng=1)
    counts = cf.tally(reports)
    page = diagnosis_page(survey, cf.diagnose(counts, survey.mechanism, name="thing"))
    assert page.count("<svg") >= 1 + (name in ("truncated-geometric", "rappor", "truncated-taxicab", "unbounded"))
    assert "The same in numbers" in page
    order = [
        page.index(words)
        for words in ("What these reports resolve", "Could more reports answer this?", "What it rests on")
    ]
    assert order == sorted(order)


@pytest.mark.slow
def test_output_as_json_and_other_settings(call: Call, folder: Path) -> None:
    mechanism = cf.load_survey(folder / "survey.toml").mechanism
    reports = mechanism.privatize([2, 3, 3, 4] * 5_000, rng=1).tolist()
    (folder / "good.csv").write_text("report\n" + "".join(f"{one}\n" for one in reports))
    ending = call("diagnose", "survey.toml", "good.csv", "-o", "d.json")
    assert ending.out.endswith("Wrote d.json\n")
    record = json.loads((folder / "d.json").read_text())
    assert "resolution" not in record
    assert record["words"][1].startswith("These reports resolve ")
    assert record["windows"]["level"] == 0.95
    assert all(one["low"] <= one["estimate"] <= one["high"] for one in record["windows"]["windows"])
    assert_refused(call("diagnose", "survey.toml", "-o", "d.txt"), 2, "should end in .html, .json")
    assert_refused(call("diagnose", "survey.toml", "--interval", "95"), 2, "In Python, diagnose(level=...)")


@pytest.mark.slow
def test_a_query_has_the_number_of_the_estimate(call: Call) -> None:
    diagnosed = call("diagnose", "survey.toml", "reports.csv", "--query", "age >= 5", "--json").record["queries"][0]
    estimated = call("estimate", "survey.toml", "reports.csv", "--query", "age >= 5", "--json").record["queries"][0]
    assert {name: diagnosed[name] for name in estimated} == estimated


def test_text_from_surveys_and_queries_cannot_break_the_page(call: Call, twins: Path) -> None:
    pytest.importorskip("matplotlib")
    (twins / "x.toml").write_text(
        TWINS.replace('"never"', '"<b>&"').replace("Three answers", "<script>alert(1)</script>")
    )
    assert call("diagnose", "x.toml", "-o", "x.html", "--query", "answer == '<b>&'").code == 0
    page = (twins / "x.html").read_text()
    assert "<script>" not in page
    assert "<b>" not in page


@pytest.mark.slow
def test_bad_input(call: Call, twins: Path) -> None:
    assert_refused(call("diagnose", "survey.toml", "--query", "agee > 3"), 2, "'agee' is not a name here", "age")
    assert_refused(call("diagnose", "survey.toml", "--query", "age > 99"), 2, "none of the values")
    assert_refused(call("diagnose", "survey.toml", "none.csv"), 4, "none.csv")
    assert_refused(call("diagnose", "none.toml"), 3, "none.toml")
    (twins / "bad.csv").write_text("report\nsometimes\nmaybe\n")
    assert_refused(call("diagnose", "twins.toml", "bad.csv"), 4, "maybe")
    assert_refused(call("diagnose", "twins.toml", "twins.csv", "-o", "twins.csv"), 2, "should end in")
    (twins / "empty.csv").write_text("report\n")
    assert call("diagnose", "twins.toml", "empty.csv").code == 4

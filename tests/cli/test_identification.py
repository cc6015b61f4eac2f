"""The command line says once, and in every format, where an answer is one of many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.cli.test_diagnose import TWINS

from confide.cli.terminal import console
from confide.present.summary import Caution, Summary
from confide.present.terminal import show_summary
from confide.solve.methods import METHODS

pytestmark = pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")

SAID = "These reports cannot identify the distribution"

LARGE = """
name = "cell"
[alphabet]
kind = "grid"
rows = 30
columns = 30
[mechanism]
kind = "truncated-planar-geometric"
epsilon = 0.1
"""


@pytest.fixture
def twins(folder: Path) -> Path:
    (folder / "twins.toml").write_text(TWINS)
    # As many say never as often, as the mechanism has it: reports that do not fit have words of their own.
    rows = "sometimes,40,Oslo\nnever,10,Oslo\noften,10,Oslo\nnever,15,Rome\noften,15,Rome\nsometimes,10,Rome\n"
    (folder / "twins.csv").write_text("report,count,town\n" + rows)
    return folder


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.climbs])
def test_it_is_said_in_words(call: Call, twins: Path, method: str) -> None:
    ending = call("estimate", "twins.toml", "twins.csv", "--method", method)
    assert ending.code == 0
    assert ending.out.count(SAID) == 1
    for cure in ("Not identified:", "confide diagnose", "--query", "--interval", "merge values", "identical rows"):
        assert cure in ending.out


def test_it_is_said_in_json_alone(call: Call, twins: Path) -> None:
    rows = [line.rpartition(",")[0] for line in (twins / "twins.csv").read_text().splitlines()]
    (twins / "all.csv").write_text("\n".join(rows) + "\n")
    ending = call("estimate", "twins.toml", "all.csv", "--json", "-o", "e.json")
    assert ending.err == ""
    for record in (ending.record, json.loads((twins / "e.json").read_text())):
        assert record["identification"]["verdict"] == "no"
        assert "only 2 can be distinguished" in record["identification"]["reason"]
        assert SAID in record["explanation"]


@pytest.mark.slow
def test_it_is_said_on_the_page(call: Call, twins: Path) -> None:
    pytest.importorskip("matplotlib")
    call("estimate", "twins.toml", "twins.csv", "-o", "e.html")
    page = (twins / "e.html").read_text()
    assert page.count("Not identified") == page.count(SAID) == 1
    assert page.index("Not identified") < page.index("<svg")


@pytest.mark.slow
def test_it_is_said_once_for_all_groups(call: Call, twins: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("matplotlib")
    assert call("count", "twins.toml", "twins.csv", "--by", "town", "-o", "c.parquet").code == 0
    ending = call("estimate", "twins.toml", "c.parquet", "-o", "g.html")
    assert ending.out.count(SAID) == 1
    assert "--query" not in ending.out
    page = (twins / "g.html").read_text()
    assert page.count(SAID) == 1
    # Rome's forty reports cannot be told from a uniform population either, which is said beside it, once.
    assert page.count('class="callout"') == 2
    assert "Not identified in all 2 groups" in page
    ending = call("estimate", "twins.toml", "c.parquet", "--json")
    assert ending.err == ""
    assert ending.record["identification"]["verdict"] == "no"
    assert [group["identified"] for group in ending.record["groups"]] == ["no", "no"]
    assert ending.out.count(SAID) == 1


@pytest.mark.slow
def test_what_is_identified_needs_no_words(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    (folder / "reports.csv").write_text(
        "report,count\n" + "".join(f"{report},{20 + report % 3}\n" for report in range(10))
    )
    ending = call("estimate", "survey.toml", "reports.csv", "-o", "e.html")
    assert ending.err == ""
    assert "dentified" not in ending.out
    assert "Not identified" not in Path("e.html").read_text()
    assert call("estimate", "survey.toml", "reports.csv", "--json").record["identification"]["verdict"] == "yes"


@pytest.mark.slow
def test_what_was_not_checked_is_a_remark(call: Call, folder: Path) -> None:
    (folder / "large.toml").write_text(LARGE)
    (folder / "large.csv").write_text("row,column\n3,4\n15,16\n15,17\n")
    pytest.importorskip("matplotlib")
    ending = call("estimate", "large.toml", "large.csv", "--method", "ibu", "-o", "e.html", "-v")
    left_out = "900 cells take about 60 s; in Python, estimate.windows() looks for them"
    assert ending.err == ""
    assert f"none for ranges: {left_out}" in " ".join(ending.out.split())
    assert f"Districts are left out: {left_out}." in (folder / "e.html").read_text()
    said = "Identified Whether these reports can reveal the distribution at all was not checked."
    assert said in " ".join(ending.out.split())
    page = (folder / "e.html").read_text()
    assert "was not checked" in page
    assert "Not identified" not in page


def test_a_caution_is_printed_before_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    caution = Caution("Not identified", "", ("What it is.", "What to do."))
    show_summary(Summary("Ages", headline="The answer.", cautions=[caution]), console())
    out = capsys.readouterr().out
    assert "Not identified" in out
    assert out.index("What it is.") < out.index("What to do.") < out.index("The answer.")

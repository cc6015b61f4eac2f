"""confide datasets and confide demo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

from confide import datasets


def test_all_are_listed(call: Call) -> None:
    out = call("datasets").out
    assert all(name in out for name in datasets.names())
    assert "CC BY 4.0" in out
    assert "No licence text was found" in out


def test_one_with_where_it_comes_from(call: Call) -> None:
    out = call("datasets", "adult_ages").out
    assert "doi:10.24432/C5XW20" in out
    assert "CC BY 4.0" in out
    assert "48,842" in out


def test_export(call: Call, folder: Path) -> None:
    assert call("datasets", "san_francisco", "cells.csv").code == 0
    assert len((folder / "cells.csv").read_text().splitlines()) == 1 + datasets.san_francisco().total
    assert (folder / "cells.csv").read_text().startswith("row,column,latitude,longitude\n")
    out = call("datasets", "adult_ages", "-").out.splitlines()
    assert out[0] == "age"
    assert len(out) == 1 + 48_842


def test_wrong_usage(call: Call) -> None:
    assert_refused(call("datasets", "adlt"), 2, "no dataset 'adlt'", "adult_ages")
    assert_refused(call("datasets", "paris", "--json"), 2, "--json went in 0.3")
    assert_refused(call("datasets", "paris", "no/x.csv"), 4, "no folder")


@pytest.mark.slow
def test_demo(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    ending = call("demo", "demo.html")
    assert ending.code == 0
    for words in (
        "Stacked",
        "IBU",
        "INV-N",
        "INV-P",
        "65 or older",
        "EMD",
        "variation",
        "56:44",
        "demo.html",
        "confide new values.csv",
    ):
        assert words in ending.out
    assert "Recovering with IBU" in ending.err
    page = (folder / "demo.html").read_text(encoding="utf-8")
    assert "simulated with seed 7" in ending.out
    assert "none here, because the seed is known; without one, metric privacy" in " ".join(ending.out.split())
    assert "<h2>Simulated reports</h2>" in page
    assert "secure generator" not in page
    assert "Ages" in page
    assert page.rstrip().endswith("</html>")


def test_demo_refuses_a_place_it_cannot_write_to_at_once(call: Call) -> None:
    assert_refused(call("demo", "no/demo.html"), 4, "no folder 'no'")


@pytest.mark.slow
def test_the_demo_does_without_figures(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"] + ["matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    ending = call("demo", "page.html")
    assert ending.code == 0
    assert "pip install 'matplotlib>=3.8'" in ending.err
    assert "INV-P" in ending.out
    assert not (folder / "page.html").exists()

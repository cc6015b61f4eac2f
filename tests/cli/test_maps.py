"""From coordinates to a map on the command line: areas, circles, GeoJSON out."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.cli.conftest import Call
from tests.cli.surveys import HALVES

import confide as cf
from confide.cli import estimate as command
from confide.present.estimates import summarise_estimate as summarise
from confide.present.terminal import draw_map
from confide.values.geojson import read_areas

PLACES = cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3)
TOML = """
name = "home"
title = "Where people live"

[alphabet]
kind = "places"
south = 40.70
west = -74.02
north = 40.79
east = -73.93
rows = 4
columns = 3

[mechanism]
kind = "truncated-planar-laplace"
epsilon = 1.0
"""


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "city.toml").write_text(TOML)
    (folder / "halves.geojson").write_text(json.dumps(HALVES))
    (folder / "coast.geojson").write_text('{"type": "LineString", "coordinates": [[-74.01, 40.71], [-73.95, 40.75]]}')
    points = PLACES.centres(np.repeat(np.arange(12), np.arange(1, 13) * 10))
    rows = "\n".join(f"{latitude},{longitude}" for latitude, longitude in points.tolist())
    (folder / "people.csv").write_text(f"lat,lon\n{rows}\n")
    return folder


@pytest.mark.slow
def test_from_coordinates_to_a_map(call: Call, files: Path) -> None:
    call("privatize", str(files / "city.toml"), str(files / "people.csv"), "-o", str(files / "reports.csv"))
    asked = ["--query", str(files / "halves.geojson"), "--query", "within 3 km of 40.745, -73.975", "--method", "ibu"]
    base = ["estimate", str(files / "city.toml"), str(files / "reports.csv"), *asked]
    outputs = ["-o", str(files / "map.geojson"), "-o", str(files / "map.html")]
    shown = call(*base, *outputs, "--query", str(files / "coast.geojson"))
    assert (files / "map.html").read_text().count("6 cells, chosen by centre") >= 2  # one card for each half
    assert "within North" in shown.out
    assert "6 cells, chosen by centre" in shown.out
    assert len(read_areas(files / "map.geojson")) == 12
    record: dict[str, Any] = call(*base, "--json").record
    answers = {one["query"]: one for one in record["queries"]}
    assert set(answers) == {"within 3 km of 40.745, -73.975", "within South", "within North"}
    assert answers["within South"]["estimate"] + answers["within North"]["estimate"] == pytest.approx(1)
    assert "6 cells, chosen by centre" in answers["within South"]["remark"]
    told = call("diagnose", str(files / "city.toml"), "--query", str(files / "halves.geojson")).out
    assert "within South" in told


@pytest.mark.slow
def test_groups_are_asked_about_areas(call: Call, files: Path) -> None:
    text = (files / "people.csv").read_text().splitlines()
    rows = [f"{line},{'ab'[place % 2]}" for place, line in enumerate(text[1:])]
    (files / "grouped.csv").write_text("\n".join([f"{text[0]},town", *rows]) + "\n")
    city, reports, counts = (str(files / name) for name in ("city.toml", "reports.csv", "counts.parquet"))
    call("privatize", city, str(files / "grouped.csv"), "-o", reports, "--keep", "town")
    call("count", city, reports, "--by", "town", "-o", counts)
    base = ["estimate", city, counts, "--method", "ibu"]
    record = call(*base, "--query", str(files / "halves.geojson"), "--json").record
    assert [one["query"] for one in record["groups"][0]["answers"]] == ["within South", "within North"]
    refused = call(*base, "-o", str(files / "map.geojson"))
    assert "-o .geojson is for one distribution" in refused.err


def test_areas_that_are_asked_for_are_drawn(call: Call, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def noted(finding: Any, **how: Any) -> Any:
        found.append(finding)
        return summarise(finding, **how)

    monkeypatch.setattr(command, "summarise_estimate", noted)
    (files / "reports.csv").write_text("row,column\n1,1\n")
    base = ("estimate", "city.toml", "reports.csv", "--method", "ibu")
    for asked in ((), ("halves.geojson",), ("coast.geojson",), ("halves.geojson", "coast.geojson")):
        assert call(*base, *(word for one in asked for word in ("--query", one))).code == 0
    assert [len(one.background) for one in found] == [0, 2, 1, 3]
    assert [len(one.answers) for one in found] == [0, 2, 0, 2]


def test_maps_of_what_lies_nowhere_are_refused(call: Call, files: Path) -> None:
    grid = TOML.replace('"places"', '"grid"')
    grid = "\n".join(line for line in grid.splitlines() if line.split(" ")[0] not in ("south", "west", "north", "east"))
    (files / "grid.toml").write_text(grid)
    (files / "reports.csv").write_text("row,column\n1,1\n")
    for option in (["-o", str(files / "map.geojson")], ["--query", str(files / "halves.geojson")]):
        refused = call("estimate", str(files / "grid.toml"), str(files / "reports.csv"), *option)
        assert "no places on the Earth" in refused.err


def test_a_grid_that_is_too_wide_is_shown_by_squares_of_cells() -> None:
    grid = cf.Grid(100, 300, holes=[(row, column) for row in range(50, 100) for column in range(150)])
    shares = np.zeros(grid.size)
    shares[grid.encode([(99, 299)])] = 0.4
    shares[grid.encode([(98, 298)])] = 0.3
    shares[0] = 0.3
    console = Console(width=80, record=True, file=StringIO())
    console.print(draw_map(grid, shares, blocks=True, width=80))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert "8 x 8 cells a mark" in lines[0]
    assert "70.0%" in lines[-1]
    assert lines[1].rstrip("│ ").endswith("██")
    assert "  " in lines[1].strip("│ ") or lines[1].startswith("│  ")
    assert len(lines) == 2 + 13

"""Places on the command line: from an example survey and a file of coordinates to an estimate."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused


@pytest.mark.slow
def test_coordinates_in_a_map_out(call: Call, folder: Path) -> None:
    assert call("new", "city.toml", "places").code == 0
    survey = folder / "city.toml"
    survey.write_text(survey.read_text().replace('"1 km"', '"3 km"'))
    assert call("datasets", "manhattan", "checkins.csv").code == 0
    people = (folder / "checkins.csv").read_text().splitlines()
    assert people[0] == "row,column,latitude,longitude"
    assert len(people) == 98_062
    (folder / "some.csv").write_text(
        "\n".join(["id,lat,lon", *(f"7,{row.split(',', 2)[2]}" for row in people[1::200])]) + "\n"
    )
    ending = call("privatize", "city.toml", "some.csv", "-o", "places.csv", "--column", "lat", "--column", "lon")
    assert ending.code == 0
    assert "columns lat and lon: 491 rows, all accepted" in " ".join((ending.out + ending.err).split())
    assert (folder / "places.csv").read_text().startswith("row,column\n")
    answer = call("estimate", "city.toml", "places.csv", "--json", "--method", "ibu")
    assert answer.code == 0
    assert answer.record["alphabet"]["kind"] == "places"


def test_show_says_what_is_given_away(call: Call) -> None:
    assert call("new", "city.toml", "places").code == 0
    record = call("show", "city.toml", "--json").record
    assert "0.14% shorter: on the ground, the promise is kept" in record["fine_print"][0]
    words = " ".join(call("show", "city.toml", "-v").out.split())
    assert "Fine print Distances in the plane are never longer than on the ground" in words
    assert "Two people in one cell cannot be distinguished at all" in words
    assert "For example An observer who thought the cell at 40." in words


@pytest.mark.slow
def test_coordinates_are_estimated_on_cells_chosen_later(call: Call, folder: Path) -> None:
    assert call("new", "free.toml", "coordinates").code == 0
    (folder / "people.csv").write_text("lat,lng\n" + "40.75,-73.98\n" * 400)
    assert call("privatize", "free.toml", "people.csv", "-o", "reports.csv").code == 0
    assert (folder / "reports.csv").read_text().startswith("latitude,longitude\n40.")
    assert call("count", "free.toml", "reports.csv", "-o", "counts.parquet").code == 0
    asked = ("--cell", "4 km", "--json", "--truth", "people.csv", "-o", "free.html")
    answer = call("estimate", "free.toml", "counts.parquet", *asked)
    page = (folder / "free.html").read_text()
    assert (
        "on the ground, the promise is kept. The estimate assumes that people are spread evenly in each cell." in page
    )
    assert answer.code == 0
    assert answer.record["alphabet"]["kind"] == "places"
    assert answer.record["emd"] < 2
    assert call("diagnose", "free.toml", "reports.csv", "--cell", "4 km").code == 0
    assert_refused(call("estimate", "free.toml", "reports.csv"), 2, "Reports of this survey are coordinates", "--cell")
    assert_refused(call("estimate", "survey.toml", "reports.csv", "--cell", "1 km"), 2, "has its values already")
    words = " ".join(call("show", "free.toml", "-v").out.split())
    assert "a latitude and a longitude, on a lattice of 0.001 km" in words
    assert "(1 km apart) equally likely would shift to at most 73:27" in words

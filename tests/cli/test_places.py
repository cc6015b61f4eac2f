"""Places on the command line: from an example survey and a file of coordinates to an estimate."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Call


def test_coordinates_in_a_map_out(call: Call, folder: Path) -> None:
    assert call("init", "city.toml", "--alphabet", "places").code == 0
    survey = folder / "city.toml"
    survey.write_text(survey.read_text().replace('"500 m"', '"3 km"'))
    assert call("datasets", "manhattan", "--export", "checkins.csv", "--coordinates").code == 0
    people = (folder / "checkins.csv").read_text().splitlines()
    assert people[0] == "latitude,longitude"
    assert len(people) == 98_062
    (folder / "some.csv").write_text("\n".join(["id,lat,lon", *(f"7,{row}" for row in people[1::200])]) + "\n")
    ending = call("privatize", "city.toml", "some.csv", "-o", "places.csv", "--column", "lat", "--column", "lon")
    assert ending.code == 0
    assert "columns lat and lon: 491 rows, all accepted" in " ".join((ending.out + ending.err).split())
    assert (folder / "places.csv").read_text().startswith("row,column\n")
    answer = call("estimate", "city.toml", "places.csv", "--json", "--method", "ibu")
    assert answer.code == 0
    assert answer.record["alphabet"]["kind"] == "places"


def test_show_says_what_is_given_away(call: Call) -> None:
    assert call("init", "city.toml", "--alphabet", "places").code == 0
    record = call("show", "city.toml", "--json").record
    assert "0.14% less, which is given away" in record["fine_print"][0]
    words = " ".join(call("show", "city.toml").out.split())
    assert "Fine print Distances in the plane are never more than on the ground" in words
    assert "two people in one cell are not told apart at all" in words
    assert "The cell at 40.734 N, 73.979 W and the cell at" in words

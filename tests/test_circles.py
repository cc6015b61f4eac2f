"""Distances on the ground beside geographiclib, and circles and areas as questions about cells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.values.distances import Disc, ground_distances
from confide.values.queries import Query, as_weights, describe_query, remark_on

geodesic = pytest.importorskip(
    "geographiclib.geodesic",
    reason="geographiclib, an oracle for distances, is not installed: pip install geographiclib",
)

MANHATTAN = cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="500 m")
SQUARE = [[-74.0, 40.72], [-73.97, 40.72], [-73.97, 40.76], [-74.0, 40.76], [-74.0, 40.72]]
DISTRICT = {
    "type": "Feature",
    "properties": {"name": "Midtown"},
    "geometry": {"type": "Polygon", "coordinates": [SQUARE]},
}


@pytest.mark.parametrize("centre", [(0.0, 0.0), (40.75, -73.98), (65.0, 20.0), (90.0, 0.0), (-35.0, 179.95)])
def test_distances_on_the_ellipsoid(centre: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    far = np.column_stack([rng.uniform(-90, 90, 60), rng.uniform(-180, 180, 60)])
    near = np.column_stack([np.clip(centre[0] + rng.normal(0, 0.1, 60), -90, 90), centre[1] + rng.normal(0, 0.1, 60)])
    points = np.vstack([far, near, [centre]])
    known = [geodesic.Geodesic.WGS84.Inverse(*centre, *point)["s12"] for point in points.tolist()]
    assert np.abs(ground_distances(points, centre) - known).max() < 1e-3


def test_circles_hold_what_is_no_farther() -> None:
    """Also what a quick look at the latitude leaves for the exact distance."""
    points = np.random.default_rng(1).uniform([40.6, -74.2], [40.9, -73.7], (400, 2))
    for radius in (500.0, 5000.0, 20_000.0):
        known = [geodesic.Geodesic.WGS84.Inverse(40.75, -73.98, *point)["s12"] <= radius for point in points.tolist()]
        assert Disc(40.75, -73.98, radius).contains(points).tolist() == known


def test_a_question_about_a_circle() -> None:
    weights = as_weights("within 2 km of 40.75, -73.98", MANHATTAN)
    distances = ground_distances(MANHATTAN.centres(range(MANHATTAN.size)), (40.75, -73.98))
    assert (weights == (distances <= 2000)).all()
    assert (as_weights("within 2000m of 40.75 -73.98", MANHATTAN) == weights).all()
    both = as_weights("within 2 km of 40.75, -73.98 and not row < 10", MANHATTAN)
    assert (both == weights * as_weights("row >= 10", MANHATTAN)).all()
    assert both.sum() < weights.sum()


def test_a_question_about_the_place_among_several_attributes() -> None:
    people = cf.Attributes(home=cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3), size=cf.Integers(1, 2))
    home = as_weights("within 4 km of 40.75, -73.98", people.part("home"))
    weights = as_weights("home within 4 km of 40.75, -73.98 and size == 2", people)
    assert (weights.reshape(-1, 2) == np.outer(home, [0, 1])).all()


def test_a_question_about_an_area(tmp_path: Path) -> None:
    path = tmp_path / "district.geojson"
    path.write_text(json.dumps(DISTRICT))
    (area,) = cf.read_areas(path)
    assert describe_query(area) == "within Midtown"
    centres = MANHATTAN.centres(range(MANHATTAN.size))
    inside = (centres[:, 0] >= 40.72) & (centres[:, 0] < 40.76) & (centres[:, 1] >= -74.0) & (centres[:, 1] < -73.97)
    assert (as_weights(area, MANHATTAN) == inside).all()


def test_cells_that_a_border_cuts_are_counted_and_told() -> None:
    (area,) = cf.read_areas(DISTRICT)
    corners = MANHATTAN.corners(range(MANHATTAN.size))
    (south, west), (north, east) = corners.min(axis=1).T, corners.max(axis=1).T
    meets = (south < 40.76) & (north > 40.72) & (west < -73.97) & (east > -74.0)
    covered = (south >= 40.72) & (north <= 40.76) & (west >= -74.0) & (east <= -73.97)
    inside = as_weights(area, MANHATTAN) > 0
    assert remark_on(area, MANHATTAN) == (
        f"{inside.sum()} cells, chosen by centre; its border cuts {(meets & ~covered).sum()}, of which "
        f"{(inside & ~covered).sum()} count whole, the others not at all"
    )
    assert "part of it lies outside the map" in remark_on("within 2 km of 40.7050, -74.0", MANHATTAN)
    assert remark_on("row > 3", MANHATTAN) == ""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("within 2 km of -73.98, 40.75", "none of the values .* look swapped"),
        ("within 2 km of 48.85, 2.35", "none of the values .* elsewhere on the Earth"),
        ("within 20 m of 40.75, -73.98", "between the centres of cells: ask for a larger area"),
        ("within 2 miles of 40.75, -73.98", "expected a unit, m or km, found 'miles'"),
        ("within 2 km from 40.75, -73.98", "expected 'of', found 'from'"),
        ("within 2 km of 140.75, -73.98", "A place is a latitude, from -90 to 90"),
        ("within 0 km of 40.75, -73.98", "more than nothing"),
        ("within 20000 km of 40.75, -73.98", "no more than 10,000 km"),
        ("within 2 km of home, -73.98", "latitude first"),
    ],
)
def test_circles_that_make_no_sense(query: str, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        as_weights(query, MANHATTAN)


def test_planes_that_are_not_on_the_earth_have_no_circles() -> None:
    with pytest.raises(InvalidParameterError, match=r'no places on the Earth.*kind = "places"'):
        as_weights("within 2 km of 40.75, -73.98", cf.Grid(3, 3))


def test_answers_about_areas_have_intervals_and_remarks() -> None:
    places = cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3)
    mechanism = cf.TruncatedPlanarLaplace(places, epsilon=1.0)
    counts = mechanism.simulate_counts(np.arange(12) * 100, rng=1)
    found = cf.estimate(counts, mechanism, cf.IBU())
    asked: list[Query] = [*cf.read_areas(DISTRICT), "within 4 km of 40.75, -73.98"]
    answers = found.queries(asked)
    assert [one.question for one in answers] == ["within Midtown", "within 4 km of 40.75, -73.98"]
    for one, query in zip(answers, asked, strict=True):
        assert one.low <= float(as_weights(query, places) @ (np.arange(12) / 66)) <= one.high
        assert "chosen by centre" in one.remark


@pytest.mark.parametrize("centre", [(0.0, 0.0), (40.75, -73.98), (-35.0, 150.0), (65.0, 20.0)])
def test_the_box_of_a_circle_reaches_its_rim(centre: tuple[float, float]) -> None:
    """In degrees: a minute of longitude is shorter in the north than at the equator."""
    box = Disc(*centre, 2000.0).box
    for place, (azimuth, part) in enumerate([(180, "lat2"), (270, "lon2"), (0, "lat2"), (90, "lon2")]):
        rim = geodesic.Geodesic.WGS84.Direct(*centre, azimuth, 2000.0)[part]
        middle = centre[place % 2]
        assert box[place] - middle == pytest.approx(rim - middle, rel=0.01)

"""Areas from GeoJSON: what is read, what is refused and with which cure, and which points lie inside."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

from confide.errors import DataFileError
from confide.values.geojson import Area, read_areas, read_lines

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [1, 2], [2, 2], [2, 1], [1, 1]]


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def one(content: dict[str, Any]) -> Area:
    (area,) = read_areas(content)
    return area


@pytest.mark.parametrize("ring", [SQUARE, SQUARE[::-1], [[*point, 17.5] for point in SQUARE]])
def test_rings_run_either_way_round_and_heights_are_left_out(ring: list[list[float]]) -> None:
    area = one(polygon(ring, HOLE))
    assert area.contains([(3, 3), (1.5, 1.5), (5, 3), (-1, 0)]).tolist() == [True, False, False, False]
    assert area.box == (0, 0, 4, 4)


def test_a_collection_gives_one_area_a_feature_with_its_name() -> None:
    named = feature(polygon(SQUARE), name="  Old   Town ")
    numbered = feature({"type": "MultiPolygon", "coordinates": [[SQUARE], [[[9, 9], [8, 9], [8, 8], [9, 9]]]]}) | {
        "id": 7
    }
    areas = read_areas({"type": "FeatureCollection", "features": [named, numbered, feature(polygon(SQUARE))]})
    assert [area.name for area in areas] == ["Old Town", "7", "area 3"]
    assert areas[1].contains([(8.8, 8.5), (8.2, 8.8)]).tolist() == [True, False]


def test_neighbours_share_no_point_and_lose_none() -> None:
    """Points on the border are in one of two areas, whichever way their rings run; also on slanting borders."""
    rng = np.random.default_rng(3)
    ends = rng.uniform(-1, 1, (2, 2)) * 0.1 + [[1.7, 0.0], [2.3, 4.0]]
    ends[:, 1] = 0.0, 4.0
    (a, b) = ends.tolist()
    left, right = one(polygon([[0, 0], a, b, [0, 4], [0, 0]])), one(polygon([b, a, [4, 0], [4, 4], b]))
    along = np.linspace(0, 1, 999)[1:-1]
    border = np.column_stack([a[1] + along * (b[1] - a[1]), a[0] + along * (b[0] - a[0])])
    corners = np.array([(2.0, 2.0), (0.5, 0.5), (3.9, 3.9)])
    for points in (border, corners, np.array([a[::-1], b[::-1]])[:1]):
        assert (left.contains(points) ^ right.contains(points)).all()


@pytest.mark.parametrize(
    ("start", "end", "point"),
    [
        ((0.285, 0.197), (0.604, 0.573), (0.32487499999999997, 0.244)),
        ((0.181, 0.191), (0.613, 0.565), (0.505, 0.4715)),
        ((0.231, 0.127), (0.811, 0.589), (0.666, 0.4735)),
    ],
)
def test_a_point_beside_a_border_is_told_exactly(
    start: tuple[float, float], end: tuple[float, float], point: tuple[float, float]
) -> None:
    """Rounding does not decide: by floats these lie on the border, by fractions inside."""
    (ax, ay), (bx, by), (cx, cy) = start, end, point
    assert (ax - cx) * (by - cy) - (ay - cy) * (bx - cx) == 0
    (ax, ay), (bx, by), (cx, cy) = (map(Fraction, one) for one in (start, end, point))  # type: ignore[assignment]
    assert (ax - cx) * (by - cy) - (ay - cy) * (bx - cx) > 0
    area = one(polygon([list(start), list(end), [start[0], end[1]], list(start)]))
    assert area.contains([point[::-1]])[0]


def test_an_area_cut_at_the_date_line_is_whole_again() -> None:
    west = [[170, -10], [180, -10], [180, 10], [170, 10], [170, -10]]
    east = [[-180, -10], [-170, -10], [-170, 10], [-180, 10], [-180, -10]]
    area = one({"type": "MultiPolygon", "coordinates": [[west], [east]]})
    longitudes = [169.9, 170.1, 179.99, 180.0, -180.0, 180.5, -179.9, -169.9, 191.0]
    found = area.contains([(0.0, longitude) for longitude in longitudes])
    assert found.tolist() == [False, True, True, True, True, True, True, False, False]


def test_areas_round_a_pole() -> None:
    cap = [[x, 60] for x in (-180, -90, 0, 90, 180)] + [[x, 90] for x in (180, 90, 0, -90, -180)] + [[-180, 60]]
    assert one(polygon(cap)).contains([(89.9, 17), (61, -179), (59, 0), (-70, 0)]).tolist() == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(DataFileError, match=r"from \[120, 80\] to \[-120, 80\], more than half round .* cut it there"):
        read_areas(polygon([[0, 80], [120, 80], [-120, 80], [0, 80]]))


@each(
    ("content", "message"),
    [
        (polygon([[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]), "borders cross or touch .* has no inside"),
        (polygon([[0, 0], [4, 0], [2, 2], [4, 4], [0, 4], [2, 2], [0, 0]]), "cross or touch themselves"),
        (polygon([[0, 0], [4, 0], [4, 4], [4, 1], [0, 0]]), "cross or touch"),
        (polygon(SQUARE, [[3, 3], [5, 3], [5, 5], [3, 3]]), "borders cross"),
        (polygon(SQUARE, [[5, 5], [6, 5], [6, 6], [5, 5]]), r"a hole at .* outside its ring\. Leave it out"),
        (polygon(SQUARE, HOLE, [[1.2, 1.2], [1.8, 1.2], [1.5, 1.8], [1.2, 1.2]]), "two holes overlap"),
        (polygon(SQUARE[:-1]), r"not closed: it begins at \[0, 0\] and ends at \[0, 4\]\. Repeat the first"),
        (polygon([[0, 0], [1, 1], [0, 0]]), "3 positions; it takes four"),
        (polygon([[0, 0], [0, 0], [1, 1], [0, 0]]), "three different positions"),
        (polygon([[0, 0], [1, 1], [2, 2], [0, 0]]), "cross or touch"),
        (polygon([[40.7, -74], [40.8, -74], [40.8, -173], [40.7, -74]]), "longitude first: they look swapped"),
        (polygon([[170, 0], [190, 0], [190, 9], [170, 0]]), r"Across the date line, cut it there into a MultiPolygon"),
        (polygon([[583000, 4507000], [584000, 4507000], [584000, 4508000], [583000, 4507000]]), "convert other"),
        (polygon([[0, 0], [1, True], [1, 1], [0, 0]]), r"positions \[longitude, latitude\]; got \[1, True\]"),
        (polygon([[0, 0], [1], [1, 1], [0, 0]]), r"got \[1\]"),
        (polygon([[0, 0], [10**400, 1], [1, 1], [0, 0]]), "longitudes go from"),
        (polygon(), "a list of rings"),
        ({"type": "LineString", "coordinates": SQUARE}, "'LineString', which is no area. Give a Polygon"),
        ({"type": "GeometryCollection", "geometries": [polygon(SQUARE)]}, "as one MultiPolygon"),
        (feature(None, name="Nowhere"), r"\(Nowhere\) has no geometry"),
        ({"type": "FeatureCollection", "features": []}, "a list of features, at least one"),
        ({"type": "FeatureCollection", "features": [polygon(SQUARE)]}, "Feature 1 of The GeoJSON should be a Feature"),
        ({"coordinates": []}, "an object with a 'type' was expected"),
        (polygon(SQUARE) | {"crs": {"type": "name", "properties": {"name": "EPSG:2154"}}}, "'EPSG:2154', not in long"),
    ],
)
def test_what_is_no_area_is_refused_with_a_cure(content: dict[str, Any], message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        read_areas(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no GeoJSON"),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [NaN, 0], [1, 1], [0, 0]]]}', "NaN is no number in JSON"),
        ('{"type": "Polygon", "type": "Feature"}', "'type' stands twice"),
        ("[1, 2]", "an object with a 'type' was expected"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "area.geojson"
    path.write_text(text)
    with pytest.raises(DataFileError, match=message):
        read_areas(path)


def test_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "area.geojson"
    path.write_text("\ufeff" + json.dumps(polygon(SQUARE) | {"crs": {"properties": {"name": "EPSG:4326"}}}))
    assert read_areas(path)[0].box == (0, 0, 4, 4)
    with pytest.raises(DataFileError, match="cannot be read: No such file"):
        read_areas(tmp_path / "none.geojson")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataFileError, match="not in UTF-8"):
        read_areas(str(path))


def test_lines_for_the_background() -> None:
    shapes = [
        polygon(SQUARE, HOLE),
        {"type": "MultiLineString", "coordinates": [[[0, 0], [1, 1]], [[2, 2], [3, 3], [1, 2]]]},
        {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [1, 1]}, polygon(SQUARE)]},
    ]
    lines = read_lines({"type": "FeatureCollection", "features": [feature(one) for one in shapes]})
    assert [len(line) for line in lines] == [5, 5, 2, 3, 5]
    with pytest.raises(DataFileError, match="no lines and no areas"):
        read_lines({"type": "Point", "coordinates": [1, 1]})
    with pytest.raises(DataFileError, match="which GeoJSON does not have"):
        read_lines({"type": "Circle", "coordinates": [1, 1]})


def test_thousands_of_corners_take_no_pairs_of_all() -> None:
    angles = np.linspace(0, 2 * np.pi, 20_001)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    ring[-1] = ring[0]
    area = one(polygon(ring.tolist()))
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    assert (area.contains(points) == (np.hypot(*points.T) < 1)).mean() > 0.999

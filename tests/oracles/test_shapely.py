"""Agreement with shapely about what a polygon is and holds; it shares no code with confide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from confide.errors import DataFileError
from confide.values.geojson import read_areas

shapely = pytest.importorskip(
    "shapely", reason="shapely, an oracle for polygons, is not installed: pip install shapely"
)

HARMLESS = ("Interior is disconnected",)
"""Reasons for which shapely refuses polygons that have an inside all the same."""


def read(coordinates: Any, kind: str = "Polygon") -> tuple[Any, Any]:
    """Read the same by confide, which may refuse it, and by shapely, which does not."""
    content = {"type": kind, "coordinates": coordinates}
    try:
        area = read_areas(content)[0]
    except DataFileError:
        area = None
    return area, shapely.from_geojson(json.dumps(content))


def is_harmless(geometry: Any) -> bool:
    return bool(shapely.is_valid_reason(geometry).startswith(HARMLESS))


def random_rings(seed: int, count: int, low: int = 0, high: int = 6) -> Iterator[list[list[int]]]:
    """Yield rings on a small lattice, where touching, crossing and running along each other are all common."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        corners = rng.integers(low, high + 1, (rng.choice([3, 3, 4, 5, 8]), 2)).tolist()
        yield [*corners, corners[0]]


def test_a_ring_is_refused_where_it_is_none() -> None:
    accepted = 0
    for ring in random_rings(1, 150):
        area, oracle = read([ring])
        assert (area is not None) == shapely.is_valid(oracle), ring
        accepted += area is not None
    assert 30 < accepted < 120


@pytest.mark.parametrize(
    "outer", [[[0, 0], [6, 0], [3, 3], [6, 6], [0, 6], [0, 0]], [[-1, -1], [7, -1], [7, 7], [-1, 7], [-1, -1]]]
)
def test_holes_are_refused_where_they_are_none(outer: list[list[int]]) -> None:
    accepted, points = 0, np.random.default_rng(1).uniform(-1, 7, (100, 2))
    for hole, second in zip(random_rings(2, 100, 0, 3), random_rings(3, 100, 2, 6), strict=True):
        area, oracle = read([outer, hole, second])
        assert is_harmless(oracle) or (area is not None) == shapely.is_valid(oracle), (hole, second)
        if area is not None:
            assert (area.contains(points) == shapely.contains_xy(oracle, points[:, 1], points[:, 0])).all()
            accepted += 1
    assert accepted > 1


def test_parts_that_overlap_are_one_area() -> None:
    overlapping, points = 0, np.random.default_rng(1).uniform(-1, 7, (400, 2))
    for ring, other in zip(random_rings(4, 150), random_rings(5, 150), strict=True):
        alone = [read([one]) for one in (ring, other)]
        if any(area is None for area, _ in alone):
            continue
        area, _ = read([[ring], [other]], "MultiPolygon")
        assert area is not None, (ring, other)
        parts = [shapely.contains_xy(oracle, points[:, 1], points[:, 0]) for _, oracle in alone]
        assert (area.contains(points) == (parts[0] | parts[1])).all(), (ring, other)
        overlapping += (parts[0] & parts[1]).any()
    assert overlapping > 5


def star(corners: int, seed: int) -> list[list[float]]:
    """Return a ring round a middle, far out and near by turns."""
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    reach = rng.uniform(0.2, 1.0, corners)
    ring = np.column_stack([2.3 + reach * np.cos(angles), 48.8 + 0.6 * reach * np.sin(angles)]).tolist()
    return [*ring, ring[0]]


@pytest.mark.parametrize("corners", [7, 200, 3000])
def test_large_polygons_hold_the_same_points(corners: int) -> None:
    small = [[[2.3 + 0.05 * x, 48.8 + 0.05 * y] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]]
    area, oracle = read([star(corners, 3), *small])
    assert shapely.is_valid(oracle) == (area is not None)
    points = np.random.default_rng(2).uniform([48.0, 1.0], [49.6, 3.6], (5000, 2))
    assert (area.contains(points) == shapely.contains_xy(oracle, points[:, 1], points[:, 0])).all()


def test_cells_that_a_border_cuts() -> None:
    area, oracle = read([star(40, 5)])
    side = np.linspace(1.0, 3.6, 40)
    west, south = (part.ravel() for part in np.meshgrid(side, np.linspace(48.0, 49.6, 40)))
    east, north = west + 0.05, south + 0.03
    corners = np.stack([np.stack([south, west], 1), np.stack([south, east], 1), np.stack([north, east], 1)], axis=1)
    cut = shapely.relate_pattern(shapely.boundary(oracle), shapely.box(west, south, east, north), "T********")
    assert (area.cuts(corners) == cut).all()

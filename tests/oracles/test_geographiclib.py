"""Distances between cells against those on the ellipsoid, as geographiclib computes them to nanometres."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

import confide as cf
from confide.values.earth import Box, ground_scales

geodesic = pytest.importorskip(
    "geographiclib.geodesic",
    reason="geographiclib, an oracle for distances, is not installed: pip install geographiclib",
)

BOXES = [
    *((sign * latitude, height) for latitude, height in ((0, 60), (40, 40), (65, 25)) for sign in (1, -1)),
    (0.1, 60),
]
"""Middles of boxes, and half their sides in km; one reaches over the equator."""


def ground(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return the distance between two places on WGS 84, km, as geographiclib has it."""
    return float(geodesic.Geodesic.WGS84.Inverse(*left, *right)["s12"]) / 1000


def rim(places: cf.Places) -> NDArray[np.int64]:
    """Return corners, middles of the sides, and the middle, with neighbours of each."""
    rows, columns = (sorted({0, 1, side // 2, side // 2 + 1, side - 2, side - 1}) for side in places.shape)
    return places.encode(np.array(list(itertools.product(rows, columns))))


@pytest.mark.parametrize(("latitude", "half"), BOXES)
def test_no_distance_on_the_ground_is_overstated(latitude: float, half: float) -> None:
    places = cf.Places.around(latitude, 25.0, f"{half} km", cell="2 km")
    cells = rim(places)
    points, values = places.centres(cells), places.decode(cells)
    plane = places.metric.between(values[:, None], values[None])
    ratios = [
        plane[one, other] / ground(points[one], points[other])
        for one, other in itertools.combinations(range(len(cells)), 2)
    ]
    assert max(ratios) <= 1
    assert min(ratios) >= 1 - places.given_away
    # The bound is no larger than it need be: a spacing half a thousandth larger breaks the promise somewhere.
    assert max(ratios) > 1 - 5e-4


def test_the_shortest_path_leaves_the_box_towards_the_pole() -> None:
    """Without that, the spacing of a wide and flat box would be more than the ground bears."""
    box = Box(64.99, 0.0, 65.0, 3.0)
    least = ground_scales(box)[0]
    apart = ground(np.array([65.0, 0.0]), np.array([65.0, 3.0])) / 3
    along_parallel = ground_scales(Box(64.999999, 0.0, 65.0, 1e-5))[0][1]
    assert least[1] <= apart < along_parallel


@pytest.mark.parametrize(("latitude", "half"), BOXES)
def test_coordinates_overstate_no_distance_on_the_ground(latitude: float, half: float) -> None:
    alphabet = cf.Coordinates(centre=(latitude, 25.0), radius=f"{half} km")
    box = alphabet.bounds
    north, east = np.meshgrid(np.linspace(box.south, box.north, 4), np.linspace(box.west, box.east, 4))
    near = np.array([(latitude, 25.0), (latitude + 2e-5, 25.0), (latitude, 25.0 + 5e-5)])
    values = alphabet.take(np.vstack([np.column_stack([north.ravel(), east.ravel()]), near]))
    points = alphabet.degrees(values)
    ratios = [
        alphabet.metric.distance(tuple(values[one]), tuple(values[other])) / ground(points[one], points[other])
        for one, other in itertools.combinations(range(len(values)), 2)
    ]
    assert 1 - 1e-3 < max(ratios) <= 1
    assert min(ratios) >= 1 - alphabet.given_away

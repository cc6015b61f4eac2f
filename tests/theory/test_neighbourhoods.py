"""The reach of a report, cells within it, and the hull: each against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from confide.theory.likely_subsets import Hull, cells_within, crossings, discretization_error, reach, widening

places = st.floats(-20, 20).map(lambda place: round(place * 16) / 16)
point_sets = st.lists(st.tuples(places, places), min_size=1, max_size=12).map(np.array)


def mean_over_neighbours(decay: float, distance: float, angle: float) -> float:
    """Return the mean of e^(-decay distance) over the four neighbours of a point, by its own value."""
    point = distance * np.array([math.cos(angle), math.sin(angle)])
    neighbours = point + np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
    return float(np.exp(decay * (distance - np.linalg.norm(neighbours, axis=1))).mean())


@given(decay=st.floats(1e-3, 200.0), beyond=st.floats(0.0, 50.0), angle=st.floats(0.0, 2 * math.pi))
def test_beyond_its_reach_a_report_is_subharmonic(decay: float, beyond: float, angle: float) -> None:
    assert mean_over_neighbours(decay, reach(decay) + beyond, angle) >= 1 - 1e-12


@pytest.mark.parametrize("decay", [0.01, 0.1, 0.5])
def test_the_reach_is_not_much_longer_than_it_must_be(decay: float) -> None:
    # Well within it the report is superharmonic, so a reach of half the length would be wrong.
    assert mean_over_neighbours(decay, 0.9 / decay, 0.3) < 1
    assert reach(decay) < 1.2 / decay + 1


def test_the_reach_of_extreme_rates_is_a_number() -> None:
    assert reach(1e-9) == pytest.approx(1e9, rel=1e-6)
    assert reach(1e9) == pytest.approx(1.5, rel=1e-6)


@given(points=point_sets, radius=st.floats(0.8, 9.0))
def test_cells_within_are_all_of_them_and_each_once(points: np.ndarray, radius: float) -> None:
    cells = cells_within(points, radius)
    everywhere = np.stack(np.meshgrid(np.arange(-31, 32), np.arange(-31, 32), indexing="ij"), axis=-1).reshape(-1, 2)
    distances = np.linalg.norm(everywhere[:, None] - points[None], axis=2).min(axis=1)
    sure = everywhere[distances <= radius * (1 - 1e-9)]
    assert {tuple(cell) for cell in sure.tolist()} <= {tuple(cell) for cell in cells.tolist()}
    assert len({tuple(cell) for cell in cells.tolist()}) == cells.shape[0]
    assert (np.linalg.norm(cells[:, None] - points[None], axis=2).min(axis=1) <= radius * (1 + 1e-9)).all()


def test_cells_around_points_far_apart_do_not_fill_what_lies_between() -> None:
    assert cells_within(np.array([[0.0, 0.0], [0.0, 1e12], [1e12, 5.0]]), 2.0).shape == (39, 2)


def test_crossings_are_rows_and_columns_next_to_points() -> None:
    rows, columns = crossings(np.array([[0.5, 3.0], [7.0, 3.25]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 7], [3, 4])


@given(points=point_sets)
def test_the_hull_is_that_of_another_package(points: np.ndarray) -> None:
    hull = Hull.of(points)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert hull.diameter == pytest.approx(distances.max(), abs=1e-12)
    assert (hull.distances(points) <= 1e-9).all()
    if np.linalg.matrix_rank(points - points[0]) == 2:
        other = ConvexHull(points)
        assert {tuple(corner) for corner in points[other.vertices].tolist()} >= {
            tuple(corner) for corner in hull.corners.tolist()
        }
        queries = np.random.default_rng(1).uniform(-25, 25, (50, 2))
        outside = (other.equations[:, :2] @ queries.T + other.equations[:, 2:] > 1e-9).any(axis=0)
        assert ((hull.distances(queries) > 1e-9) == outside).all()


@given(points=point_sets, query=st.tuples(places, places))
def test_the_distance_from_the_hull_is_to_its_nearest_point(points: np.ndarray, query: tuple[float, float]) -> None:
    hull, point = Hull.of(points), np.array([query])
    # Every point of the hull lies between two of its corners or inside: sample the rim finely.
    ends = np.roll(hull.corners, -1, axis=0)
    rim = (hull.corners[:, None] + np.linspace(0, 1, 101)[:, None] * (ends - hull.corners)[:, None]).reshape(-1, 2)
    found, nearest = hull.distances(point)[0], np.linalg.norm(rim - point, axis=1).min()
    assert found == 0 or nearest - 0.3 <= found <= nearest + 1e-9


def test_widening_of_a_single_report_is_the_discretization_error() -> None:
    delta = discretization_error(2.0)
    assert delta == pytest.approx(math.sqrt(2))
    assert widening(delta, 0.0) == pytest.approx(delta)

"""Roughness and knots, against what they are by definition."""

from __future__ import annotations

import numpy as np
import pytest

from confide import Grid, Integers
from confide.channels.base import Layout
from confide.solve.smooth_prior import Knots, roughness


@pytest.mark.parametrize("order", [1, 2, 3])
def test_on_a_line_it_is_the_sum_of_squared_differences(order: int) -> None:
    heights = np.random.default_rng(order).normal(size=9)
    penalty = roughness(Layout((9,)), 9, order)
    assert heights @ penalty @ heights == pytest.approx((np.diff(heights, order) ** 2).sum())


def test_on_a_plane_it_is_the_thin_plate_and_prefers_no_axis() -> None:
    picture = np.random.default_rng(1).normal(size=(4, 6))
    down, along = np.diff(picture, 2, axis=0), np.diff(picture, 2, axis=1)
    twist = np.diff(np.diff(picture, axis=0), axis=1)
    expected = (down**2).sum() + (along**2).sum() + 2 * (twist**2).sum()
    flat = picture.reshape(-1)
    assert flat @ roughness(Layout((4, 6)), 24, 2) @ flat == pytest.approx(expected)


def test_no_difference_reaches_over_a_hole() -> None:
    grid = Grid(1, 5, holes=((0, 2),))
    layout = Layout.of(grid)
    assert layout is not None
    assert not roughness(layout, 4, 2).any()
    np.testing.assert_array_equal(roughness(layout, 4, 1)[1], [-1, 1, 0, 0])


@pytest.mark.parametrize("order", [2, 3])
def test_a_polynomial_of_lower_degree_is_not_rough(order: int) -> None:
    layout = Layout.of(Integers(5, 16))
    assert layout is not None
    curve = np.arange(12.0) ** (order - 1)
    assert np.abs(roughness(layout, 12, order) @ curve).max() < 1e-9


def test_knots_give_straight_lines_back_exactly() -> None:
    places = np.arange(101.0)
    knots = Knots.over(Layout((101,)), 101, 11)
    assert knots.size == 11
    np.testing.assert_allclose(knots.spread(2 + 3 * np.linspace(0, 100, 11)), 2 + 3 * places)


def test_knots_on_a_plane_with_holes_cover_every_cell_once() -> None:
    grid = Grid(30, 40, holes=((3, 3), (4, 4)))
    layout = Layout.of(grid)
    assert layout is not None
    knots = Knots.over(layout, grid.size, 60)
    assert knots.size <= 60
    assert knots.weights is not None
    assert knots.weights.shape == (knots.size, grid.size)
    np.testing.assert_allclose(knots.weights.sum(axis=0), 1)


def test_gathering_is_the_transpose_of_spreading() -> None:
    knots, generator = Knots.over(Layout((50,)), 50, 8), np.random.default_rng(0)
    heights, slopes = generator.normal(size=knots.size), generator.normal(size=50)
    assert knots.spread(heights) @ slopes == pytest.approx(heights @ knots.gather(slopes))

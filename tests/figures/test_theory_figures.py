"""Figures of a diagnosis: the triangle, ranges and classes."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidDistributionError, InvalidParameterError
from confide.present.figures import draw_classes, draw_ranges, to_svg
from confide.present.figures.style import FloatArray
from reproduction.simplex import draw_simplex, draw_simplex_from_the_side, simplex_points

pytest.importorskip("matplotlib")


def likelihood(points: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        heights: FloatArray = 3 * np.log(points @ np.array([0.0, 0.5, 0.3]))
    return heights


@pytest.mark.parametrize("draw", [draw_simplex, draw_simplex_from_the_side])
@pytest.mark.parametrize("best", [[[0.0, 1.0, 0.0]], [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]], np.eye(3).tolist()])
def test_the_triangle_with_a_point_a_line_and_a_polygon(draw: object, best: list[list[float]]) -> None:
    assert callable(draw)
    drawing = to_svg(draw(["$a$", "b & c", "<d>"], likelihood, np.array(best)))
    assert drawing.startswith("<svg")
    assert "<d>" not in drawing


def test_points_cover_the_triangle() -> None:
    points = simplex_points(10)
    assert points.shape == (66, 3)
    np.testing.assert_allclose(points.sum(axis=1), 1)
    assert {tuple(row) for row in np.eye(3).tolist()} <= {tuple(row) for row in points.tolist()}


def test_only_three_values_make_a_triangle() -> None:
    with pytest.raises(InvalidParameterError, match="three values"):
        draw_simplex(["a", "b"], likelihood, np.eye(3))


@pytest.mark.parametrize(
    "alphabet", [cf.Integers(0, 99), cf.Categories(["a", "b", "c"]), cf.Categories(list(range(50))), cf.Grid(3, 3)]
)
def test_ranges(alphabet: cf.Alphabet) -> None:
    low = np.full(alphabet.size, 0.1 / alphabet.size)
    figure = draw_ranges(alphabet, low, 2 * low, "thing")
    assert len(figure.axes[0].patches) == min(alphabet.size, 20 if not isinstance(alphabet, cf.Integers) else 100)
    with pytest.raises(InvalidDistributionError):
        draw_ranges(alphabet, low[1:], low, "thing")


def test_classes_on_a_grid_with_a_hole() -> None:
    grid = cf.Grid(2, 3, holes=[(0, 1)])
    figure = draw_classes(grid, np.array([0, 1, 0, 2, 2]))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["1", "", "1", "2", "2"]

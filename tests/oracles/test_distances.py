"""Distances against scipy, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from confide import Categories, Grid, Integers, emd
from confide.values import Alphabet

Vector = NDArray[np.float64]


@st.composite
def pairs(draw: st.DrawFn, size: int) -> tuple[Vector, Vector]:
    """Return two distributions, with zeros among their entries."""
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    left, right = np.array(draw(weights), dtype=np.float64), np.array(draw(weights), dtype=np.float64)
    return left / left.sum(), right / right.sum()


def transport_by_linear_program(p: Vector, q: Vector, cost: Vector) -> float:
    """Return the least cost of a plan with these margins, found by HiGHS over all plans."""
    size = p.size
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    solved = linprog(cost.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=np.concatenate([p, q])[:-1])
    assert solved.status == 0
    assert solved.fun is not None
    return float(solved.fun)


@given(pair=pairs(12), spacing=st.floats(0.1, 10))
def test_emd_on_a_line_is_scipys(pair: tuple[Vector, Vector], spacing: float) -> None:
    alphabet = Integers(-3, 8, spacing=spacing)
    points = alphabet.coordinates[:, 0] * spacing
    expected = wasserstein_distance(points, points, *pair)
    assert emd(*pair, alphabet) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "alphabet", [Grid(2, 2), Grid(3, 4, spacing=0.5), Integers(0, 6), Categories(["a", "b", "c"])], ids=repr
)
@given(data=st.data())
def test_emd_is_the_linear_programs(alphabet: Alphabet, data: st.DataObject) -> None:
    pytest.importorskip("ot", reason="POT, for the EMD on a grid, is not installed: pip install 'confide[planar]'")
    p, q = data.draw(pairs(alphabet.size))
    expected = transport_by_linear_program(p, q, alphabet.distances())
    assert emd(p, q, alphabet) == pytest.approx(expected, rel=1e-8, abs=1e-10)


@given(pair=pairs(9), spacing=st.floats(0.1, 10))
def test_a_grid_of_one_row_or_column_is_a_line(pair: tuple[Vector, Vector], spacing: float) -> None:
    pytest.importorskip("ot", reason="POT, for the EMD on a grid, is not installed: pip install 'confide[planar]'")
    line = emd(*pair, Integers(0, 8, spacing=spacing))
    assert emd(*pair, Grid(1, 9, spacing=spacing)) == pytest.approx(line, rel=1e-9, abs=1e-12)
    assert emd(*pair, Grid(9, 1, spacing=spacing)) == pytest.approx(line, rel=1e-9, abs=1e-12)

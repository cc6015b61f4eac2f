"""Planar kernels against brute force: long sums for the lattice, polar integrals for the continuous plane."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each
from tests.kernels import polar
from tests.laws.exact import assert_promise_kept
from tests.laws.formulas import lattice_sum

from confide import Grid, TruncatedPlanarGeometric, TruncatedPlanarLaplace, audit
from confide.channels.kernels import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel

Make = Callable[[tuple[int, int], float], PlanarKernel]

DECAYS = [0.003, 0.03, 0.2, 1.0, 3.0, 8.0]
KERNELS = [planar_geometric_kernel, planar_laplace_kernel]

every_kernel = each("make", KERNELS, ids=lambda make: make.__name__)
every_decay = each("decay", DECAYS)


def total(kernel: PlanarKernel) -> float:
    """Return the mass of the plane: four quadrants, whose axes overlap."""
    corner, row, column = kernel.corners[0, 0], kernel.rows[0, 0], kernel.columns[0, 0]
    return float(4 * corner - 2 * row - 2 * column + kernel.cells[0, 0])


@every_kernel
@every_decay
@each("shape", [(1, 1), (2, 9), (40, 17), (200, 150)])
def test_everything_adds_up_to_one(make: Make, decay: float, shape: tuple[int, int]) -> None:
    assert abs(total(make(shape, decay)) - 1) < 1e-14


@every_kernel
@every_decay
def test_tails_are_sums_of_what_they_hold(make: Make, decay: float) -> None:
    kernel = make((30, 20), decay)
    np.testing.assert_allclose(kernel.rows[:-1] - kernel.rows[1:], kernel.cells[:-1], rtol=0, atol=2e-16)
    np.testing.assert_allclose(kernel.columns[:, :-1] - kernel.columns[:, 1:], kernel.cells[:, :-1], rtol=0, atol=2e-16)
    np.testing.assert_allclose(kernel.corners[:-1] - kernel.corners[1:], kernel.columns[:-1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(kernel.corners[:, :-1] - kernel.corners[:, 1:], kernel.rows[:, :-1], rtol=0, atol=1e-15)


@every_kernel
@every_decay
def test_a_kernel_is_the_same_seen_from_the_side(make: Make, decay: float) -> None:
    one, other = make((12, 7), decay), make((7, 12), decay)
    np.testing.assert_allclose(one.cells, other.cells.T, rtol=1e-13)
    np.testing.assert_allclose(one.rows, other.columns.T, rtol=1e-13)
    np.testing.assert_allclose(one.corners, other.corners.T, rtol=1e-13)


@every_kernel
@every_decay
def test_a_larger_kernel_holds_the_smaller(make: Make, decay: float) -> None:
    small, large = make((5, 9), decay), make((37, 26), decay)
    for name in ("cells", "rows", "columns", "corners"):
        np.testing.assert_allclose(getattr(small, name), getattr(large, name)[:5, :9], rtol=1e-12, err_msg=name)


# The lattice.


def brute_lattice(decay: float, shape: tuple[int, int]) -> dict[str, NDArray[np.float64]]:
    """Return cells and tails by adding up e^(-decay distance) until nothing is left, the smallest terms first."""
    reach = math.ceil(45 / decay) + max(shape)
    numbers = np.arange(reach, -1, -1)
    terms = np.exp(-decay * np.hypot(numbers[:, None], numbers))
    rows, columns = np.cumsum(terms, axis=0), np.cumsum(terms, axis=1)
    corners = np.cumsum(rows, axis=1)
    tables = {"cells": terms, "rows": rows, "columns": columns, "corners": corners}
    return {name: table[::-1, ::-1][: shape[0], : shape[1]] / lattice_sum(decay) for name, table in tables.items()}


@pytest.mark.parametrize("decay", [0.05, 0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("shape", [(3, 3), (25, 40)])
def test_lattice_tails_are_long_sums(decay: float, shape: tuple[int, int]) -> None:
    kernel = planar_geometric_kernel(shape, decay)
    for name, expected in brute_lattice(decay, shape).items():
        np.testing.assert_allclose(getattr(kernel, name), expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("decay", [0.003, 0.01])
def test_lattice_tails_of_strong_noise_are_long_sums(decay: float) -> None:
    # Row by row only: the whole plane would take a billion terms. Poisson's formula has its sum.
    kernel = planar_geometric_kernel((50, 8), decay)
    assert kernel.cells[0, 0] * lattice_sum(decay) == pytest.approx(1, rel=1e-12)
    far = np.arange(math.ceil(45 / decay) + 50, -1, -1)
    for column in range(8):
        sums = np.cumsum(np.exp(-decay * np.hypot(far, column)))[::-1][:50] / lattice_sum(decay)
        np.testing.assert_allclose(kernel.rows[:, column], sums, rtol=1e-12)


@every_decay
def test_lattice_cells_are_the_density(decay: float) -> None:
    kernel = planar_geometric_kernel((30, 20), decay)
    distances = np.hypot(np.arange(30)[:, None], np.arange(20))
    np.testing.assert_allclose(kernel.cells, kernel.cells[0, 0] * np.exp(-decay * distances), rtol=1e-12)


# The continuous plane.


@pytest.mark.parametrize("decay", [0.003, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0])
def test_cells_and_tails_are_polar_integrals(decay: float) -> None:
    kernel = planar_laplace_kernel((4, 6), decay)
    for row in range(4):
        for column in range(6):
            assert kernel.cells[row, column] == pytest.approx(polar.cell(decay, row, column), abs=1e-12)
            if row:
                assert kernel.rows[row, column] == pytest.approx(polar.row_tail(decay, row - 0.5, column), abs=1e-12)
            if column:
                along = polar.row_tail(decay, column - 0.5, row)
                assert kernel.columns[row, column] == pytest.approx(along, abs=1e-12)
            if row and column:
                corner = polar.beyond(decay, row - 0.5, column - 0.5)
                assert kernel.corners[row, column] == pytest.approx(corner, abs=1e-12)


@each("decay", [1.0, 2.0, 5.0])
@each("cell", [(15, 0), (15, 15), (16, 3), (17, 17), (20, 1)])
def test_far_cells_have_relative_accuracy(decay: float, cell: tuple[int, int]) -> None:
    # Around the sixteenth cell the rule changes from many nodes to few.
    row, column = cell
    kernel = planar_laplace_kernel((22, 19), decay)
    assert kernel.cells[row, column] == pytest.approx(polar.cell(decay, row, column), rel=1e-9)
    assert kernel.rows[row, column] == pytest.approx(polar.row_tail(decay, row - 0.5, column), rel=1e-9)
    if column:
        assert kernel.corners[row, column] == pytest.approx(polar.beyond(decay, row - 0.5, column - 0.5), rel=1e-9)


@pytest.mark.parametrize("decay", [0.003, 0.2, 1.0, 8.0])
def test_half_planes(decay: float) -> None:
    # Two quadrants, less the column that both hold.
    kernel = planar_laplace_kernel((6, 6), decay)
    for row in range(1, 6):
        half_plane = 2 * kernel.corners[row, 0] - kernel.rows[row, 0]
        assert half_plane == pytest.approx(2 * polar.beyond(decay, row - 0.5, 0.0), abs=1e-13)


def test_strong_noise_is_flat_and_weak_noise_stays() -> None:
    flat = planar_laplace_kernel((3, 3), 1e-6).cells
    np.testing.assert_allclose(flat, 1e-12 / (2 * math.pi), rtol=1e-4)
    assert planar_laplace_kernel((3, 3), 20.0).cells[0, 0] > 0.999


# Where float64 ends.

DEEP: list[tuple[Make, tuple[int, int], float]] = [
    (planar_geometric_kernel, (120, 120), 8.0),
    (planar_geometric_kernel, (10, 10), 100.0),
    (planar_laplace_kernel, (120, 120), 8.0),
    (planar_laplace_kernel, (2, 40), 24.0),
]


@pytest.mark.parametrize(("make", "shape", "decay"), DEEP)
def test_nothing_is_zero_and_neighbours_stay_within_the_promise(
    make: Make, shape: tuple[int, int], decay: float
) -> None:
    assert decay * math.hypot(*shape) > 700
    kernel = make(shape, decay)
    for table in (kernel.cells, kernel.rows, kernel.columns, kernel.corners):
        assert (table > 0).all()
        for axis in (0, 1):
            assert np.abs(np.diff(np.log(table), axis=axis)).max() <= decay * (1 + 1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        TruncatedPlanarGeometric(Grid(6, 8), 100.0),
        TruncatedPlanarGeometric(Grid(2, 20), 40.0),
        TruncatedPlanarLaplace(Grid(2, 32), 24.0),
    ],
    ids=repr,
)
def test_promises_are_kept_past_the_end_of_float64(
    mechanism: TruncatedPlanarGeometric | TruncatedPlanarLaplace,
) -> None:
    assert_promise_kept(mechanism)
    assert audit(mechanism, reports=20_000).holds

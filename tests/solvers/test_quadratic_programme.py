"""The small quadratic programme against trying every set of free entries."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.solvers.problems import Array

from confide.solve.support_newton import NonnegativeProgramme, follow_central_path


def value(hessian: Array, slope: Array, step: Array) -> float:
    return float(slope @ step - step @ hessian @ step / 2)


def best_by_enumeration(hessian: Array, slope: Array, point: Array) -> float:
    """Return the highest value over all choices of which entries end at zero."""
    best = -np.inf
    for choice in product([False, True], repeat=point.size):
        free, step = np.array(choice), -point.copy()
        if free.any():
            right = slope[free] + hessian[np.ix_(free, ~free)] @ point[~free]
            step[free] = np.linalg.lstsq(hessian[np.ix_(free, free)], right, rcond=1e-12)[0]
        if (point + step >= -1e-9).all():
            best = max(best, value(hessian, slope, np.maximum(step, -point)))
    return best


def problem(seed: int, rank: int) -> tuple[Array, Array, Array]:
    """Return a positive semidefinite Hessian, a slope within its range, and a point partly at its bound."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 7))
    factor = generator.uniform(0, 1, (size, min(rank, size)))
    hessian = factor @ factor.T
    slope = factor @ generator.normal(size=factor.shape[1])
    return hessian, slope, np.maximum(generator.normal(size=size), 0.0)


@pytest.mark.parametrize("rank", [6, 3, 1])
def test_steps_are_the_best_there_are(rank: int) -> None:
    for seed in range(60):
        hessian, slope, point = problem(seed, rank)
        step = NonnegativeProgramme(hessian.copy()).step(slope, point)
        assert (point + step >= -1e-12).all(), seed
        best = best_by_enumeration(hessian, slope, point)
        assert value(hessian, slope, step) >= best - 1e-6 * max(1.0, abs(best)), seed


@pytest.mark.parametrize("rank", [6, 3, 1])
def test_the_slower_way_is_as_good(rank: int) -> None:
    for seed in range(60):
        hessian, slope, point = problem(seed, rank)
        weights, slack = follow_central_path(hessian, slope, point)
        assert (weights > 0).all(), seed
        assert (slack > 0).all(), seed
        step = weights - point
        best = best_by_enumeration(hessian, slope, point)
        assert value(hessian, slope, step) >= best - 1e-6 * max(1.0, abs(best)), seed


def test_entries_whose_curvature_is_nothing_do_no_harm() -> None:
    hessian = np.array([[1.0, 0.0], [0.0, 0.0]])
    step = NonnegativeProgramme(hessian).step(np.array([0.5, -1.0]), np.array([0.0, 0.0]))
    np.testing.assert_allclose(step, [0.5, 0.0], atol=1e-12)

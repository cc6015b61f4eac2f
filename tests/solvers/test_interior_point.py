"""Banded algebra against stored matrices."""

from __future__ import annotations

import numpy as np
from tests.cases import each
from tests.solvers.test_agreement import LINES, Build

from confide.channels import TwoSidedExponential
from confide.channels.two_sided_exponential import running_sums, sums_of_others
from confide.solve.maximum import DenseSystem, LineSystem

every_line = each("build", LINES.values(), ids=LINES.keys())


@each("epsilon", [0.01, 0.5, 5.0])
@each("size", [3, 4, 5, 6, 40])
@every_line
def test_line_system_solves_what_the_dense_one_does(build: Build, size: int, epsilon: float) -> None:
    generator = np.random.default_rng(size)
    channel = build(size, epsilon).channel
    assert isinstance(channel, TwoSidedExponential)
    matrix, curvature = channel.dense(), generator.uniform(0.5, 2.0, size)
    curvature[generator.integers(size)] = 0.0  # an output without reports
    diagonal, right = generator.uniform(1e-3, 1.0, size), generator.normal(size=size)
    expected = np.linalg.solve(matrix @ np.diag(curvature) @ matrix.T + np.diag(diagonal), right)
    for system in (LineSystem(channel), DenseSystem(matrix)):
        system.factor(curvature, diagonal)
        np.testing.assert_allclose(system.solve(right), expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(system.solve(2 * right), 2 * expected, rtol=1e-8, atol=1e-9)


def test_a_dense_system_that_cannot_be_factored_gives_no_step() -> None:
    system = DenseSystem(np.eye(2))
    system.factor(np.ones(2), np.array([-5.0, 1.0]))
    assert np.isnan(system.solve(np.ones(2))).any()


@each("ratio", [0.0, 0.3, 0.999])
@each("shape", [(1,), (2,), (7,), (3, 5), (2, 3, 4)])
def test_running_sums(shape: tuple[int, ...], ratio: float) -> None:
    vectors = np.random.default_rng(0).uniform(size=shape)
    places = np.arange(shape[-1])
    apart = places[:, None] - places[None, :]
    powers = ratio ** np.abs(apart).astype(float)
    np.testing.assert_allclose(running_sums(vectors, ratio), vectors @ (powers * (apart <= 0)), rtol=1e-14)
    np.testing.assert_allclose(
        sums_of_others(vectors, ratio), vectors @ (powers * (apart != 0)), rtol=1e-14, atol=1e-300
    )


def test_sums_of_others_do_not_cancel() -> None:
    vector = np.array([1e20, 1.0, 1e-20])
    np.testing.assert_allclose(sums_of_others(vector, 0.5), [0.5 + 0.25e-20, 0.5e20, 0.25e20], rtol=1e-15)
    # What is left of a huge entry's neighbours at its own place is theirs alone.
    assert sums_of_others(np.array([0.0, 1e20, 0.0]), 0.5)[1] == 0

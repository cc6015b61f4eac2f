"""Maxima of many rows, side by side: each is the maximum that a row has by itself, and proven."""

from __future__ import annotations

import numpy as np
import pytest

from confide import MLE, Integers, TruncatedGeometric
from confide.channels import Dense, RandomizedResponseChannel
from confide.channels.base import FloatArray, Layout
from confide.evidence import Evidence
from confide.solve import maximum as module
from confide.solve.maximum import can_solve_together, maxima


def random_rows(size: int, outputs: int, number: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return a matrix that is neither square nor symmetric, with zeros, and rows of counts from it."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(outputs, 0.7), size=size)
    matrix[matrix < 0.02] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    truth = rng.dirichlet(np.full(size, 0.4), size=number)
    return matrix, np.array([rng.multinomial(400, one @ matrix) for one in truth]).astype(np.float64)


def certificate(matrix: FloatArray, counts: FloatArray, theta: FloatArray) -> float:
    """Return n log max g, from its definition."""
    outputs = theta @ matrix
    seen = counts > 0
    gain = matrix[:, seen] @ (counts[seen] / counts.sum() / outputs[seen])
    return float(counts.sum() * np.log(gain.max()))


@pytest.mark.parametrize("layout", [None, Layout((9,))])
def test_every_row_reaches_its_maximum_with_a_true_certificate(layout: Layout | None) -> None:
    matrix, counts = random_rows(9, 14, 40, seed=1)
    found = maxima(matrix, counts, np.full(40, 1e-7), layout)
    assert (found.certificates <= 1e-7).all()
    np.testing.assert_allclose(found.distributions.sum(axis=1), 1.0)
    assert (found.distributions >= 0).all()
    for row, theta, claimed in zip(counts, found.distributions, found.certificates, strict=True):
        assert certificate(matrix, row, theta) == pytest.approx(max(claimed, 0.0), abs=1e-9)
        alone = MLE(1e-7).solve(Evidence(Dense(matrix), row)).distribution
        likelihoods = [float(row @ np.log(np.maximum(one @ matrix, 1e-300))) for one in (theta, alone)]
        assert likelihoods[0] == pytest.approx(likelihoods[1], abs=2e-7)


def test_rows_of_the_matrix_may_be_rescaled_for_each_row_of_counts() -> None:
    matrix, counts = random_rows(9, 14, 10, seed=2)
    factors = np.random.default_rng(3).uniform(0.2, 1.0, size=(10, 9))
    found = maxima(matrix, counts, np.full(10, 1e-7), factors=factors)
    for row, theta, scale in zip(counts, found.distributions, factors, strict=True):
        assert certificate(matrix * scale[:, None], row, theta) <= 1.1e-7


def test_a_start_changes_the_way_and_not_the_end() -> None:
    mechanism = TruncatedGeometric(Integers(0, 39), epsilon=0.2)
    matrix, layout = mechanism.channel.dense(), mechanism.channel.layout
    counts = np.random.default_rng(4).multinomial(500, matrix[10] / 2 + matrix[30] / 2, size=20).astype(np.float64)
    cold = maxima(matrix, counts, np.full(20, 1e-6), layout)
    warm = maxima(matrix, counts, np.full(20, 1e-6), layout, start=np.tile(matrix[20], (20, 1)))
    for one in (cold, warm):
        assert (one.certificates <= 1e-6).all()
    np.testing.assert_allclose(cold.distributions @ matrix, warm.distributions @ matrix, atol=1e-4)


def test_rows_go_in_blocks_and_do_not_touch_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, counts = random_rows(9, 14, 12, seed=5)
    whole = maxima(matrix, counts, np.full(12, 1e-7))
    monkeypatch.setattr(module, "BLOCK", 14 * 5)
    parts = maxima(matrix, counts, np.full(12, 1e-7))
    np.testing.assert_allclose(parts.distributions, whole.distributions, atol=1e-9)


def test_what_is_not_settled_here_is_left_to_be_solved_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, counts = random_rows(9, 14, 5, seed=6)
    monkeypatch.setattr(module, "MOST_ROUNDS", 0)
    assert (maxima(matrix, counts, np.full(5, 1e-9)).certificates > 1e-9).any()
    solved = MLE(1e-7).solve_many(Evidence(Dense(matrix), counts[0]), counts)
    for row, one in zip(counts, solved, strict=True):
        assert certificate(matrix, row, one.distribution) <= 1.1e-7


def test_one_report_and_a_single_output() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    found = maxima(matrix, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 9.0], [0.0, 3.0, 0.0]]), np.full(3, 1e-9))
    np.testing.assert_allclose(found.distributions, [[1, 0], [0, 1], [1, 0]], atol=1e-7)


def test_few_values_and_many_outputs_go_side_by_side_where_the_matrix_is_stored() -> None:
    """A channel of another kind has products that are faster than a stored matrix."""
    assert can_solve_together(Dense(np.full((3, 5000), 1 / 5000)))
    assert not can_solve_together(Dense(np.full((3, 5000), 1 / 5000)).rescaled(np.ones(3)))
    assert not can_solve_together(Dense(np.full((600, 4), 1 / 4)))
    assert not can_solve_together(Dense(np.full((2, module.MOST_OUTPUTS + 1), 1e-4)))
    assert can_solve_together(TruncatedGeometric(Integers(0, 299), 0.1).channel)
    assert not can_solve_together(TruncatedGeometric(Integers(0, 599), 0.1).channel)
    assert not can_solve_together(RandomizedResponseChannel(4, 0.7, 0.1))

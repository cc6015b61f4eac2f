"""Singular values: known matrices, the honest zone between yes and no, and the ends by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import confide as cf
from confide.theory.spectra import Spectrum, ends_of, left_vectors
from confide.theory.verdicts import Verdict


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(2, 12))
def test_random_matrices_of_known_rank(seed: int, values: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, min(values, outputs) + 1))
    matrix = rng.dirichlet(np.ones(rank), values) @ rng.dirichlet(np.ones(outputs), rank)
    verdict = Spectrum.of(matrix).independence
    truth = Verdict.YES if np.linalg.matrix_rank(matrix, tol=1e-9) == values else Verdict.NO
    assert verdict in (truth, Verdict.TOO_CLOSE)
    if np.linalg.svd(matrix, compute_uv=False)[rank - 1] > 1e-5:
        assert verdict is truth


@pytest.mark.parametrize("distance", [1e-15, 1e-14, 1e-13, 1e-12])
def test_rows_that_nearly_agree_are_too_close_to_call(distance: float) -> None:
    matrix = np.array([[0.5, 0.3, 0.2], [0.5 + distance, 0.3 - distance, 0.2], [0.1, 0.1, 0.8]])
    assert Spectrum.of(matrix).independence is Verdict.TOO_CLOSE


def test_a_gentle_slope_into_rounding_is_too_close_to_call() -> None:
    # Hilbert matrices are invertible; that of size 20 has a condition number of 10^28, far beyond double precision.
    for size, verdict in ((5, Verdict.YES), (20, Verdict.TOO_CLOSE)):
        matrix = 1 / (np.arange(size)[:, None] + np.arange(size) + 1)
        assert Spectrum.of(matrix / matrix.sum(axis=1, keepdims=True)).independence is verdict


def test_singular_values_of_wide_matrices_are_those_of_their_square_factor() -> None:
    matrix = np.random.default_rng(0).random((6, 100))
    np.testing.assert_allclose(Spectrum.of(matrix).singular_values, np.linalg.svd(matrix, compute_uv=False), rtol=1e-12)
    vectors, spectrum = left_vectors(matrix[[0, 1, 2, 0, 1, 2]])
    assert spectrum.independence is Verdict.NO
    np.testing.assert_allclose(vectors[:, 3:].T @ matrix[[0, 1, 2, 0, 1, 2]], 0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_ends_by_iteration_agree_with_all_singular_values(epsilon: float) -> None:
    channel = cf.TruncatedPlanarGeometric(cf.Grid(30, 30), epsilon).channel
    ends, whole = ends_of(channel.push, channel.pull, channel.shape), Spectrum.of(channel.dense())
    assert ends.largest == pytest.approx(whole.largest, rel=1e-3)
    assert whole.smallest <= ends.smallest * (1 + 1e-9)
    assert ends.smallest == pytest.approx(whole.smallest, rel=0.05)
    assert ends.independence is whole.independence is Verdict.YES


def test_iteration_never_calls_dependent_rows_independent() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(300), 300)
    matrix[-1] = matrix[:-1].mean(axis=0)
    spectrum = ends_of(lambda vector: vector @ matrix, lambda weights: matrix @ weights, matrix.shape)
    assert spectrum.independence is Verdict.TOO_CLOSE

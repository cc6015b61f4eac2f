"""Inversion solves w M = q, and brings w back to the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.examples import random_matrix

from confide import (
    Counts,
    FromMatrix,
    Integers,
    Inversion,
    Mechanism,
    RandomizedResponse,
    Status,
    TruncatedGeometric,
    estimate,
    tally,
)
from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError, NotInvertibleError
from confide.solve.methods.inversion import Repair, normalize, project

MECHANISMS: list[Mechanism] = [
    FromMatrix(Integers(0, 0), [[1.0]]),
    TruncatedGeometric(Integers(0, 1), 0.3),
    TruncatedGeometric(Integers(0, 2), 0.3),
    TruncatedGeometric(Integers(0, 99), 0.05),
    RandomizedResponse(Integers(0, 1), 1.0),
    RandomizedResponse(Integers(0, 40), 0.5),
    FromMatrix(Integers(0, 5), random_matrix(6, 6)),
]


def oracle_project(vector: FloatArray) -> FloatArray:
    """Find the shift t with sum max(0, v - t) = 1 by bisection, with no sorting."""
    low, high = float(vector.min()) - 1.0, float(vector.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(vector - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(vector - low, 0)


def oracle(mechanism: Mechanism, frequencies: FloatArray, repair: Repair) -> FloatArray:
    raw = np.linalg.solve(mechanism.channel.dense().T, frequencies).astype(np.float64)
    if repair == "none":
        return raw
    clipped = np.maximum(raw, 0)
    return oracle_project(raw) if repair == "project" else clipped / clipped.sum()


@each("repair", ["none", "normalize", "project"])
@each("mechanism", MECHANISMS, ids=repr)
def test_agrees_with_a_linear_solve(mechanism: Mechanism, repair: Repair) -> None:
    size = mechanism.alphabet.size
    counts = np.random.default_rng(1).integers(0, 1000, size) + 1
    answer = estimate(tally(np.arange(size), counts), mechanism, Inversion(repair))
    expected = oracle(mechanism, counts / counts.sum(), repair)
    np.testing.assert_allclose(answer.distribution, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    assert answer.status is Status.CLOSED_FORM
    assert answer.iterations == 0


def test_negative_entries_are_counted_in_the_explanation() -> None:
    mechanism = TruncatedGeometric(Integers(0, 2), 0.3)
    counts = tally([0, 1, 2], [500, 1, 500])
    raw = estimate(counts, mechanism, Inversion("none"))
    assert raw.explanation == "the inverse matrix gave 1 of 3 values a negative probability"
    assert not raw.is_distribution
    assert np.isnan(raw.log_likelihood)
    assert np.isnan(raw.certificate)
    assert "not a distribution" in repr(raw)
    clipped = estimate(counts, mechanism, Inversion("normalize"))
    assert clipped.explanation.endswith("a negative probability, clipped and rescaled")
    projected = estimate(counts, mechanism, Inversion("project"))
    assert projected.explanation.endswith("a negative probability, projected away")


def test_exact_frequencies_are_undone_exactly() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.5)
    truth = np.random.default_rng(0).dirichlet(np.ones(10))
    counts = Counts(np.arange(10), 1000 * mechanism.channel.push(truth))
    for repair in ("none", "normalize", "project"):
        np.testing.assert_allclose(estimate(counts, mechanism, Inversion(repair)).distribution, truth, atol=1e-13)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_only_square_matrices_are_inverted(shape: tuple[int, int]) -> None:
    mechanism = FromMatrix(Integers(0, shape[0] - 1), random_matrix(*shape))
    with pytest.raises(NotInvertibleError, match=rf"{shape[0]} values and {shape[1]} outputs has no inverse.*IBU\(\)"):
        estimate(tally([0, 1]), mechanism, Inversion())


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]],
        [[0.5, 0.5], [0.5 + 1e-14, 0.5 - 1e-14]],
    ],
)
def test_singular_matrices_are_not_inverted(matrix: list[list[float]]) -> None:
    mechanism = FromMatrix(Integers(0, len(matrix) - 1), matrix)
    with pytest.raises(NotInvertibleError, match=r"singular to working precision \(condition number .*\).*IBU\(\)"):
        estimate(tally([0, 1]), mechanism, Inversion())


@pytest.mark.parametrize("repair", ["clip", "", None, 3])
def test_an_unknown_repair_is_refused(repair: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"repair must be one of none, normalize, project, norm-sub; got "):
        Inversion(repair)  # type: ignore[arg-type]


def test_names_are_the_papers() -> None:
    repairs: list[Repair] = ["none", "normalize", "project"]
    assert [Inversion(repair).name for repair in repairs] == ["INV", "INV-N", "INV-P"]


def test_norm_sub_is_the_projection() -> None:
    # Wang et al., NDSS 2020: zero what is negative, then move all others by one amount; again until none is negative.
    generator = np.random.default_rng(1)
    for _ in range(20):
        raw = generator.normal(0.1, 0.3, 12)
        left, kept = raw.copy(), np.ones(12, dtype=bool)
        while True:
            left = np.where(kept, raw + (1 - raw[kept].sum()) / kept.sum(), 0.0)
            if (left >= 0).all():
                break
            kept &= left > 0
        np.testing.assert_allclose(project(raw), left, atol=1e-14)
    assert Inversion("norm-sub") == Inversion("project")


entries = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12).map(np.array)


@given(vector=entries)
def test_projection_agrees_with_bisection(vector: FloatArray) -> None:
    np.testing.assert_allclose(project(vector), oracle_project(vector), atol=1e-10)


@given(vector=entries, seed=st.integers(0, 1000))
def test_no_distribution_is_nearer_than_the_projection(vector: FloatArray, seed: int) -> None:
    nearest = project(vector)
    others = np.random.default_rng(seed).dirichlet(np.full(vector.size, 0.3), 50)
    # The projection p is the point of the simplex with (v - p) . (other - p) <= 0 for every other.
    assert ((others - nearest) @ (vector - nearest) <= 1e-9 * (1 + np.abs(vector).max())).all()


@given(vector=entries)
def test_repaired_vectors_are_distributions(vector: FloatArray) -> None:
    summing_to_one = vector - (vector.sum() - 1) / vector.size
    for repaired in (normalize(summing_to_one), project(summing_to_one)):
        assert (repaired >= 0).all()
        assert repaired.sum() == pytest.approx(1, rel=1e-12)


@given(vector=st.lists(st.floats(0.01, 1), min_size=1, max_size=9).map(lambda row: np.array(row) / sum(row)))
def test_distributions_are_left_alone(vector: FloatArray) -> None:
    np.testing.assert_allclose(normalize(vector), vector, rtol=1e-12)
    np.testing.assert_allclose(project(vector), vector, atol=1e-14)

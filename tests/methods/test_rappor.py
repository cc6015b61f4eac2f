"""RAPPOR's own estimators against their formulas on unpacked bits, and IBU and MLE on whole vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each
from tests.methods.algorithm import iterates

from confide import IBU, MLE, Integers, Inversion, RandomizedResponse, Rappor, Status, estimate, tally
from confide.errors import InvalidParameterError, NotInvertibleError
from confide.solve.methods import BitInversion
from confide.solve.methods.inversion import project


def some_reports(size: int, epsilon: float, people: int = 400) -> tuple[Rappor, NDArray[np.int64]]:
    mechanism = Rappor(Integers(0, size - 1), epsilon)
    values = np.random.default_rng(size).binomial(size - 1, 0.3, people)
    return mechanism, mechanism.privatize(values, rng=1)


def raw_formula(mechanism: Rappor, reports: NDArray[np.int64]) -> NDArray[np.float64]:
    """Invert each bit: frequency = share p + (1 - share) (1 - p), with p = e^(eps/2) / (1 + e^(eps/2))."""
    p = math.exp(mechanism.epsilon / 2) / (1 + math.exp(mechanism.epsilon / 2))
    frequency = mechanism.report_alphabet.unpack(reports).mean(axis=0)
    return np.asarray((frequency - (1 - p)) / (2 * p - 1), dtype=np.float64)


@each("epsilon", [0.1, 1.0, 6.0])
@each("size", [2, 7, 8, 9, 63, 64, 130])
def test_each_bit_is_inverted_and_the_whole_vector_repaired(size: int, epsilon: float) -> None:
    mechanism, reports = some_reports(size, epsilon)
    raw, counts = raw_formula(mechanism, reports), tally(reports)
    np.testing.assert_allclose(
        estimate(counts, mechanism, BitInversion("none")).distribution, raw, rtol=1e-9, atol=1e-12
    )
    clipped = np.maximum(raw, 0)
    normalized = estimate(counts, mechanism, BitInversion("normalize"))
    np.testing.assert_allclose(normalized.distribution, clipped / clipped.sum(), rtol=1e-8, atol=1e-12)
    projected = estimate(counts, mechanism, BitInversion("project"))
    np.testing.assert_allclose(projected.distribution, project(raw), rtol=1e-8, atol=1e-12)
    negative = int((raw < 0).sum())
    for answer, repair in ((normalized, "clipped and rescaled"), (projected, "projected away")):
        assert answer.status is Status.CLOSED_FORM
        assert answer.iterations == 0
        said = f"inverting each bit gave {negative} of {size} values a negative probability"
        assert answer.ending == said + (f", {repair}" if negative else "")


def test_names() -> None:
    assert [BitInversion(repair).name for repair in ("none", "normalize", "project")] == ["RAP", "RAP-N", "RAP-P"]


def test_only_rappors_reports_have_bits() -> None:
    mechanism = RandomizedResponse(Integers(0, 3), 1.0)
    with pytest.raises(NotInvertibleError, match=r"bit vectors, such as RAPPOR's. Use IBU\(\) or Inversion\(\) for"):
        estimate(tally([0, 1, 2]), mechanism, BitInversion())


def test_inversion_of_bits_is_that_of_each_bit() -> None:
    counts, rappor = tally(some_reports(4, 1.0)[1]), Rappor(Integers(0, 3), 1.0)
    inverted = estimate(counts, rappor, Inversion("none")).distribution
    np.testing.assert_array_equal(inverted, estimate(counts, rappor, BitInversion("none")).distribution)


def test_a_repair_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match="repair must be one of none, normalize, project, norm-sub; got 'clip'"
    ):
        BitInversion("clip")  # type: ignore[arg-type]  # the point of the test


def test_ibu_is_the_papers_on_all_bit_vectors() -> None:
    mechanism, reports = some_reports(4, 1.5, 200)
    weights = np.array([mechanism.weights(value) for value in range(4)], dtype=np.float64)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    per_vector = np.bincount(reports, minlength=16).astype(float)
    path = iterates([0.25] * 4, matrix.tolist(), per_vector.tolist())
    expected, likelihood = [next(path) for _ in range(20)][-1]
    answer = estimate(tally(reports), mechanism, IBU(1e-300, iteration_limit=20))
    np.testing.assert_allclose(answer.distribution, expected, rtol=1e-10)
    assert answer.log_likelihood == pytest.approx(likelihood, rel=1e-12)


@pytest.mark.parametrize("size", [2, 30, 100])
def test_the_maximum_is_certified_and_no_worse_than_any_other_answer(size: int) -> None:
    mechanism, reports = some_reports(size, 2.0, 3000)
    counts = tally(reports)
    best = estimate(counts, mechanism, MLE())
    assert best.status is Status.CERTIFIED
    assert best.certificate <= 1e-6
    for method in (IBU(1e-3), BitInversion("normalize"), BitInversion("project")):
        assert estimate(counts, mechanism, method).log_likelihood <= best.log_likelihood + 1e-6

"""Agreement with qif, a library for quantitative information flow that shares no code with confide.

qif sets outputs under 1e-6 to zero before it updates, so its iterates are compared where every output exceeds that.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.examples import random_matrix

from confide import IBU, FromMatrix, Integers, Mechanism, RandomizedResponse, TruncatedGeometric, estimate, tally

qif = pytest.importorskip("qif", reason="qif, an oracle for mechanisms and IBU, is not installed: pip install qif")

MECHANISMS: list[Mechanism] = [
    TruncatedGeometric(Integers(0, 19), 0.2),
    TruncatedGeometric(Integers(0, 99), 0.05),
    RandomizedResponse(Integers(0, 9), 1.0),
    FromMatrix(Integers(0, 3), random_matrix(4, 7)),  # neither square nor symmetric
    FromMatrix(Integers(0, 6), random_matrix(7, 4)),
]


@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_geometric(size: int, epsilon: float) -> None:
    ours = TruncatedGeometric(Integers(0, size - 1), epsilon).channel.dense()
    np.testing.assert_allclose(ours, qif.mechanism.d_privacy.geometric(size, epsilon), rtol=0, atol=1e-15)


@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_randomized_response(size: int, epsilon: float) -> None:
    ours = RandomizedResponse(Integers(0, size - 1), epsilon).channel.dense()
    np.testing.assert_allclose(ours, qif.mechanism.d_privacy.randomized_response(size, epsilon), rtol=0, atol=1e-15)


@pytest.mark.parametrize("steps", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_iterates(mechanism: Mechanism, steps: int) -> None:
    size, outputs = mechanism.channel.shape
    counts = np.random.default_rng(3).integers(10, 1000, outputs).astype(np.float64)
    reports = mechanism.report_alphabet.decode(np.arange(outputs))
    ours = estimate(tally(reports, counts), mechanism, IBU(1e-300, iteration_limit=steps)).distribution
    matrix, start = mechanism.channel.dense(), np.full(size, 1 / size)
    theirs, taken = qif.channel.iterative_bayesian_update(matrix, counts / counts.sum(), start, 0.0, steps)
    assert taken == steps
    assert (ours @ matrix).min() > 1e-6
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_iterates_from_another_start() -> None:
    mechanism = MECHANISMS[3]
    counts, start = np.array([5.0, 1.0, 7.0, 3.0, 2.0, 9.0, 4.0]), np.array([0.1, 0.2, 0.3, 0.4])
    ours = estimate(tally(np.arange(7), counts), mechanism, IBU(1e-300, start, 30)).distribution
    matrix = mechanism.channel.dense()
    theirs, _ = qif.channel.iterative_bayesian_update(matrix, counts / counts.sum(), start, 0.0, 30)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

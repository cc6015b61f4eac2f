"""The mechanisms are the paper's equations krr and TLinearGeometric."""

from math import exp

import numpy as np
import pytest

from confide import Integers, RandomizedResponse, TruncatedGeometric


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_equation_krr(k: int, epsilon: float) -> None:
    matrix = RandomizedResponse(Integers(1, k), epsilon).channel.dense()
    for x in range(k):
        for z in range(k):
            numerator = exp(epsilon) if z == x else 1
            assert matrix[x, z] == pytest.approx(numerator / (k - 1 + exp(epsilon)), rel=1e-14)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (17, 90)])
@pytest.mark.parametrize(("rate", "spacing"), [(0.05, 1.0), (0.05, 5.0), (1.3, 0.5)])
def test_equation_truncated_linear_geometric(low: int, high: int, rate: float, spacing: float) -> None:
    matrix = TruncatedGeometric(Integers(low, high, spacing=spacing), rate).channel.dense()
    for x in range(low, high + 1):
        for z in range(low, high + 1):
            a = (1 if z in (low, high) else 1 - exp(-rate * spacing)) / (1 + exp(-rate * spacing))
            expected = a * exp(-rate * spacing * abs(z - x))
            assert matrix[x - low, z - low] == pytest.approx(expected, rel=1e-12)


def test_truncation_collects_the_tails() -> None:
    # The border's probability is all that the untruncated mechanism puts on it and beyond.
    alpha = exp(-0.3)
    untruncated = (1 - alpha) / (1 + alpha) * alpha ** np.arange(2000)
    matrix = TruncatedGeometric(Integers(0, 9), 0.3).channel.dense()
    for x in range(10):
        assert matrix[x, 0] == pytest.approx(untruncated[x:].sum(), rel=1e-12)
        assert matrix[x, 9] == pytest.approx(untruncated[9 - x :].sum(), rel=1e-12)

"""Gauss rules are exact for polynomials, and for tails as good as long sums."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from tests.cases import each

from confide.channels.kernels import NODES, interval_rule, sum_rule, tail_rule


@each("nodes", [1, 2, 6, 10, 24])
@each("length", [1e-3, 1.0, 50.0])
def test_integrals_of_polynomials_are_exact(length: float, nodes: int) -> None:
    rule = interval_rule(length, nodes)
    assert rule.nodes.size == nodes
    assert ((rule.nodes > 0) & (rule.nodes < length)).all()
    assert (rule.weights > 0).all()
    for degree in range(2 * nodes):
        expected = length ** (degree + 1) / (degree + 1)
        assert rule.weights @ rule.nodes**degree == pytest.approx(expected, rel=1e-12)


@each("nodes", [2, 6, 24])
@each("count", [25, 100, 1000, 10**6])
def test_sums_of_polynomials_are_exact(count: int, nodes: int) -> None:
    rule = sum_rule(count, nodes)
    assert rule.nodes.size == nodes
    assert (rule.weights > 0).all()
    for degree in range(2 * nodes):
        # In powers of the relative position, which stay within [0, 1] and so do not overflow.
        expected = _power_sum(count, degree) / Fraction(count) ** degree
        assert rule.weights @ (rule.nodes / count) ** degree == pytest.approx(float(expected), rel=1e-11)


def _power_sum(count: int, degree: int) -> Fraction:
    """Return 0^degree + 1^degree + ... + (count - 1)^degree exactly, by the differences of Newton."""
    values = [Fraction(number**degree) if number or not degree else Fraction(0) for number in range(degree + 2)]
    if degree == 0:
        return Fraction(count)
    total, binomial = Fraction(0), Fraction(count)
    for order in range(degree + 1):
        total += values[0] * binomial
        binomial = binomial * (count - order - 1) / (order + 2)
        values = [later - earlier for earlier, later in pairwise(values)]
    return total


def test_newtons_differences_are_right() -> None:
    for count in (1, 2, 7, 30):
        for degree in (0, 1, 2, 5, 9):
            assert _power_sum(count, degree) == sum(number**degree for number in range(count))


@pytest.mark.parametrize("count", [1, 2, NODES])
def test_few_terms_are_themselves(count: int) -> None:
    rule = sum_rule(count)
    assert rule.nodes.tolist() == list(range(count))
    assert rule.weights.tolist() == [1.0] * count


@each("decay", [0.003, 0.05, 1.0, 8.0, 50.0])
@each("start", [1, 5, 200])
@each("across", [0, 3, 200])
def test_tail_sums_are_long_sums(start: int, decay: float, across: int) -> None:
    rule = tail_rule(start, decay, across, is_sum=True)
    numbers = np.arange(start + math.ceil(60 / decay) + 3 * across, start - 1, -1)
    for column in sorted({0, across // 2, across}):
        offset = decay * math.hypot(start, column)  # so that nothing underflows
        found = rule.weights @ np.exp(offset - decay * np.hypot(rule.nodes, column))
        assert found == pytest.approx(np.exp(offset - decay * np.hypot(numbers, column)).sum(), rel=1e-12)


@each("decay", [0.003, 0.05, 1.0, 8.0])
@each("start", [0.5, 4.5, 99.5])
def test_tail_integrals_are_integrals(start: float, decay: float) -> None:
    rule = tail_rule(start, decay, 10.0, is_sum=False)
    on_the_axis = rule.weights @ np.exp(decay * (start - rule.nodes))
    assert on_the_axis == pytest.approx(1 / decay, rel=1e-13)
    offset = decay * math.hypot(start, 10.0)
    beside = rule.weights @ np.exp(offset - decay * np.hypot(rule.nodes, 10.0))
    end = start + 60 / decay + 30
    ends = np.linspace(start, end, 40)
    expected = sum(
        quad(lambda t: math.exp(offset - decay * math.hypot(t, 10.0)), low, high, epsrel=1e-13)[0]
        for low, high in pairwise(ends)
    )
    assert beside == pytest.approx(expected, rel=1e-11)

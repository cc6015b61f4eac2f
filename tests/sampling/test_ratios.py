"""Ratios lie above e^-x, by next to nothing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.exact import exp_bounds

from confide.sampling import ratio_above


def check(exponent: Fraction) -> None:
    low, high = exp_bounds(exponent)
    ratio = ratio_above(exponent)
    assert ratio * low >= 1, "the ratio must not lie below e^-x"
    assert ratio * high < 1 + Fraction(1, 2**63)
    assert ratio < 1
    assert ratio.denominator & (ratio.denominator - 1) == 0


@pytest.mark.parametrize("exponent", ["1e-9", "1e-6", "0.001", "0.05", "0.1", "1", "2.5", "10", "99.9", "100"])
def test_above_by_less_than_two_parts_in_two_to_the_64(exponent: str) -> None:
    check(Fraction(exponent))
    check(Fraction(float(exponent)))


@given(exponent=st.fractions(Fraction(1, 10**9), Fraction(100)))
def test_above_anywhere(exponent: Fraction) -> None:
    check(exponent)


@given(epsilon=st.floats(1e-4, 10.0), spacing=st.floats(1e-3, 10.0))
def test_above_for_products_of_floats(epsilon: float, spacing: float) -> None:
    check(Fraction(epsilon) * Fraction(spacing))

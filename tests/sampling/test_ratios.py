"""Ratios lie above e^-x, by next to nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.exact import exp_bounds

from confide.mechanisms.sampling import as_integers, exponential_bounds, log_of, over_root_two, ratio_above
from confide.mechanisms.sampling.bits import power_bounds


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


@given(number=st.fractions(Fraction(1, 10**12), Fraction(10**6)))
def test_over_root_two_lies_just_below(number: Fraction) -> None:
    below = over_root_two(number)
    assert 2 * below**2 <= number**2
    assert 2 * (below * (1 + Fraction(1, 2**90))) ** 2 > number**2


@given(
    exponent=st.fractions(Fraction(0), Fraction(1)) | st.fractions(Fraction(1), Fraction(800)),
    precision=st.integers(1, 1200),
)
def test_exponentials_lie_between_their_bounds(exponent: Fraction, precision: int) -> None:
    below, above = exp_bounds(exponent, 1500)
    low, high = exponential_bounds(exponent, precision)
    assert 0 <= low <= Fraction(2**precision) / below
    assert Fraction(2**precision) / above <= high
    assert high - low <= 3


@given(
    ratio=st.fractions(Fraction(1, 10**6), Fraction(999_999, 10**6)),
    exponent=st.integers(0, 300),
    precision=st.integers(1, 400),
)
def test_powers_lie_between_their_bounds(ratio: Fraction, exponent: int, precision: int) -> None:
    low, high = power_bounds(ratio, exponent, precision)
    assert low <= ratio**exponent * 2**precision <= high
    assert high - low <= 2


@pytest.mark.parametrize("exponent", [10**4, 10**6, 10**9])
def test_high_powers_stay_close_and_short(exponent: int) -> None:
    # (1 - x/n)^n with n = 10^9 would have billions of digits; its bounds have some hundred.
    ratio = 1 - Fraction(1, exponent)
    low, high = power_bounds(ratio, exponent, 128)
    assert high - low <= 2
    # (1 - 1/n)^n lies below 1/e by a factor of about 1 - 1/(2n).
    assert low / 2**128 == pytest.approx(math.exp(-1 - 1 / (2 * exponent)), rel=1e-8)


def test_powers_of_a_half_are_exact() -> None:
    assert power_bounds(Fraction(1, 2), 7, 20) == (2**13, 2**13)
    assert power_bounds(Fraction(1, 2), 0, 20) == (2**20, 2**20)


@given(st.lists(st.floats(0.0, 1e300), min_size=1, max_size=8).filter(any))
def test_floats_become_integers_in_the_same_proportion(numbers: list[float]) -> None:
    integers = as_integers(np.array(numbers))
    assert all(type(integer) is int for integer in integers)
    whole = sum(map(Fraction, numbers))
    assert [Fraction(integer, sum(integers)) for integer in integers] == [Fraction(n) / whole for n in numbers]


@given(exponent=st.fractions(Fraction(1, 10**15), Fraction(100)))
def test_logarithms_of_ratios_near_one_keep_their_digits(exponent: Fraction) -> None:
    # The ratio itself lies above e^-x by two parts in 2^64, which is all that its logarithm may be off by.
    assert -log_of(ratio_above(exponent)) == pytest.approx(float(exponent), rel=1e-14, abs=2.0**-62)


def test_logarithms_of_ratios_that_no_float_tells_from_one() -> None:
    assert log_of(1 - Fraction(1, 2**80)) == pytest.approx(-(2.0**-80), rel=1e-15)
    assert log_of(Fraction(1, 2)) == pytest.approx(math.log(0.5), rel=1e-15)

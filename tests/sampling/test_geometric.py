"""Geometric noise is exact: each coin has its probability to any depth, and the coins make a geometric variable."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling.scripted import LARGEST_WORD, ScriptedBits, SpelledBits

from confide.sampling import GeometricNoise, as_bits, ratio_above
from confide.sampling.bits import OddsCoin, PowerCoin

RATIOS = [Fraction(1, 2), Fraction(1, 3), Fraction(99, 100), ratio_above(Fraction(1, 20)), ratio_above(Fraction(40))]

every_ratio = pytest.mark.parametrize("ratio", RATIOS, ids=float)


def heads(coin: PowerCoin, u: Fraction) -> bool:
    return bool(coin.toss(1, SpelledBits(u))[0])


def probabilities(ratio: Fraction, digit: int) -> list[tuple[PowerCoin, Fraction]]:
    """Return the coins of one digit with the probability that the mathematics gives them."""
    power = ratio ** (2**digit)
    return [(PowerCoin(ratio, digit), power), (OddsCoin(ratio, digit), power / (1 + power))]


@pytest.mark.parametrize("digit", [0, 1, 4])
@pytest.mark.parametrize("depth", [2, 63, 64, 65, 96, 97, 128, 300])
@every_ratio
def test_coins_change_side_exactly_at_their_probability(ratio: Fraction, digit: int, depth: int) -> None:
    step = Fraction(1, 2**depth)
    for coin, probability in probabilities(ratio, digit):
        for u in (probability - step, probability + step):
            if 0 <= u < 1:
                assert heads(coin, u) == (u < probability)


@given(ratio=st.fractions(Fraction(1, 10**6), Fraction(999, 1000)), numerator=st.integers(0, 2**200 - 1))
def test_coins_are_right_everywhere(ratio: Fraction, numerator: int) -> None:
    u = Fraction(numerator, 2**200)
    for digit in (0, 3):
        for coin, probability in probabilities(ratio, digit):
            assert heads(coin, u) == (u < probability)


@given(ratio=st.fractions(Fraction(1, 10**6), Fraction(999, 1000)), precision=st.integers(1, 300))
def test_bounds_hold_the_probability_between_them(ratio: Fraction, precision: int) -> None:
    for digit in (0, 1, 5):
        for coin, probability in probabilities(ratio, digit):
            low, high = coin.bounds(precision)
            assert low <= probability * 2**precision <= high
            assert high - low <= 2


def test_a_coin_on_its_dyadic_probability_is_tails() -> None:
    assert not heads(PowerCoin(Fraction(1, 2), 0), Fraction(1, 2))
    assert heads(PowerCoin(Fraction(1, 2), 0), Fraction(1, 2) - Fraction(1, 2**64))


def test_every_tie_of_a_batch_is_settled_with_its_own_bits() -> None:
    coin = PowerCoin(Fraction(1, 3), 0)
    tie = 2**64 // 3
    script = ScriptedBits([tie, 0, tie, tie + 1, 0, LARGEST_WORD])
    # 1/3 = 0.0101..., so after a tie a word of zeros lies below it and a word of ones above.
    assert coin.toss(4, script).tolist() == [True, True, False, False]
    assert script.script == []


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(2, 3), Fraction(99, 100)], ids=float)
def test_independent_digits_make_a_geometric_variable(ratio: Fraction) -> None:
    digits = 4
    chances = [probabilities(ratio, digit)[1][1] for digit in range(digits)]
    whole = (1 - ratio ** (2**digits)) / (1 - ratio)
    for number in range(2**digits):
        chosen = prod(p if number >> digit & 1 else 1 - p for digit, p in enumerate(chances))
        assert chosen == ratio**number / whole


@every_ratio
def test_past_the_drawn_digits_hardly_anything_is_left(ratio: Fraction) -> None:
    digits = GeometricNoise(ratio)._digits
    assert ratio ** (2**digits) <= Fraction(1, 2**64)


@pytest.mark.parametrize("number", [0, 1, 2, 5, 37])
def test_digits_are_read_from_the_lowest_up(number: int) -> None:
    noise = GeometricNoise(Fraction(1, 2))
    digits = [0 if number >> digit & 1 else LARGEST_WORD for digit in range(noise._digits)]
    nothing = [LARGEST_WORD] * noise._digits
    # One number up, then nothing down; and the other way round. The word after each is the overflow's tails.
    up = ScriptedBits([*digits, LARGEST_WORD, *nothing, LARGEST_WORD])
    down = ScriptedBits([*nothing, LARGEST_WORD, *digits, LARGEST_WORD])
    assert noise.draw(1, up).tolist() == [number]
    assert noise.draw(1, down).tolist() == [-number]


def test_noise_past_the_drawn_digits_goes_on() -> None:
    noise = GeometricNoise(Fraction(1, 2))
    tails = [LARGEST_WORD] * noise._digits
    # Zeros win the overflow's coin, whose chance is 2^-(2^digits); how many it takes is read off the script.
    words_to_win = -(-(2**noise._digits) // 64)
    win = [0] * words_to_win
    script = ScriptedBits([*tails, *win, *win, LARGEST_WORD, *tails, LARGEST_WORD])
    assert noise.draw(1, script).tolist() == [2 * 2**noise._digits]
    assert script.script == []


@every_ratio
def test_nobody_needs_no_noise(ratio: Fraction) -> None:
    assert GeometricNoise(ratio).draw(0, ScriptedBits([])).tolist() == []


def test_the_smallest_epsilon_still_fits() -> None:
    drawn = GeometricNoise(ratio_above(Fraction(1, 10**9))).draw(2000, as_bits(1))
    # A two-sided geometric at 1e-9 has standard deviation sqrt(2) 1e9.
    assert np.std(drawn) == pytest.approx(np.sqrt(2) * 1e9, rel=0.1)

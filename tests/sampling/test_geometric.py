"""Geometric noise is exact: each coin has its probability to any depth, and the coins make a geometric variable."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.sampling.scripted import ScriptedBits, SpelledBits

from confide.mechanisms.sampling import GeometricNoise, as_bits, ratio_above
from confide.mechanisms.sampling.bits import OddsCoin, PowerCoin, toss_all

RATIOS = [Fraction(1, 2), Fraction(1, 3), Fraction(99, 100), ratio_above(Fraction(1, 20)), ratio_above(Fraction(40))]

every_ratio = each("ratio", RATIOS, ids=float)


def heads(coin: PowerCoin, u: Fraction) -> bool:
    return bool(coin.toss(1, SpelledBits(u))[0])


def probabilities(ratio: Fraction, digit: int) -> list[tuple[PowerCoin, Fraction]]:
    """Return the coins of one digit with the probability that the mathematics gives them."""
    power = ratio ** (2**digit)
    return [(PowerCoin(ratio, digit), power), (OddsCoin(ratio, digit), power / (1 + power))]


@each("digit", [0, 1, 4])
@each("depth", [2, 63, 64, 65, 96, 97, 128, 300])
@every_ratio
def test_coins_change_side_exactly_at_their_probability(ratio: Fraction, digit: int, depth: int) -> None:
    step = Fraction(1, 2**depth)
    for coin, probability in probabilities(ratio, digit):
        for u in (probability - step, probability + step):
            if 0 <= u < 1 and u != probability:
                assert heads(coin, u) == (u < probability)


@given(ratio=st.fractions(Fraction(1, 10**6), Fraction(999, 1000)), numerator=st.integers(0, 2**200 - 1))
def test_coins_are_right_everywhere(ratio: Fraction, numerator: int) -> None:
    u = Fraction(numerator, 2**200)
    for digit in (0, 3):
        for coin, probability in probabilities(ratio, digit):
            assert u == probability or heads(coin, u) == (u < probability)


@given(ratio=st.fractions(Fraction(1, 10**6), Fraction(999, 1000)), precision=st.integers(1, 300))
def test_bounds_hold_the_probability_between_them(ratio: Fraction, precision: int) -> None:
    for digit in (0, 1, 5):
        for coin, probability in probabilities(ratio, digit):
            low, high = coin.bounds(precision)
            assert low <= probability * 2**precision <= high
            assert high - low <= 2


def test_a_coin_on_its_dyadic_probability_is_tails() -> None:
    # With u = 1/2 itself bits would be drawn for ever, which has probability 0.
    assert not heads(PowerCoin(Fraction(1, 2), 0), Fraction(1, 2) + Fraction(1, 2**300))
    assert heads(PowerCoin(Fraction(1, 2), 0), Fraction(1, 2) - Fraction(1, 2**64))


def test_leading_bits_of_a_dyadic_probability_are_exact() -> None:
    assert OddsCoin(Fraction(1, 3)).leading(8) == 64  # 1/4, which bounds around 1/3 never tell from a little less
    assert PowerCoin(Fraction(1, 2), 3).leading(10) == 4


def test_every_tie_of_a_batch_is_settled_with_its_own_bits() -> None:
    coin = PowerCoin(Fraction(1, 3), 0)
    # 1/3 = 0.0101...: half a byte of 5 agrees, then a byte of 0x55, then a word of 0x55...
    tie = 2**64 // 3
    script = ScriptedBits([tie, tie - 1, tie + 1, 0], octets=[0x45, 0x55, 0x65, 0x54, 0x55, 0x55, 0x55])
    # Tosses 0 to 5 have the halves 5 4 5 5 5 6: the second is heads, the last tails, and the rest take a byte each:
    # 0x54 is heads, and the other three take words, of which the first agrees again and takes one more.
    assert coin.toss(6, script).tolist() == [True, True, True, True, False, False]
    assert script.script == []
    assert script.octet_script == []


def test_the_rounds_of_several_coins_go_together() -> None:
    coins = [PowerCoin(Fraction(1, 3), 0), PowerCoin(Fraction(1, 2), 0)]
    script = ScriptedBits(octets=[0x78, 0x05, 0x00])
    # One value, two coins: halves 8 and 7. The second value of the first coin is 7, of the second one 5 and 0.
    tossed = toss_all(coins, 2, script)
    assert tossed.tolist() == [[False, False], [True, True]]
    assert script.octet_script == [0x00]


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
    assert ratio ** (2**digits) < Fraction(1, 2**8)
    assert digits == 0 or ratio ** (2 ** (digits - 1)) >= Fraction(1, 2**8)


def halves(*tosses: bool) -> list[int]:
    """Return bytes whose halves are heads (0) or tails (15) for any coin between 1/16 and 15/16, in turn."""
    drawn = [0 if heads else 15 for heads in tosses]
    drawn += [15] * (len(drawn) % 2)
    return [low | high << 4 for low, high in zip(drawn[::2], drawn[1::2], strict=True)]


@pytest.mark.parametrize("number", [0, 1, 2, 5, 7])
def test_digits_are_read_from_the_lowest_up(number: int) -> None:
    noise = GeometricNoise(Fraction(9, 10))  # r / (1 + r) is above 1/16 for the digits 0 to 4, of which three are set
    digits = halves(*(bool(number >> digit & 1) for digit in range(noise._digits)), False)
    nothing = halves(*[False] * (noise._digits + 1))
    # One number up, then nothing down; and the other way round. The half after each is the overflow's tails.
    up, down = ScriptedBits(octets=[*digits, *nothing]), ScriptedBits(octets=[*nothing, *digits])
    assert noise.draw(1, up).tolist() == [number]
    assert noise.draw(1, down).tolist() == [-number]


def test_noise_past_the_drawn_digits_goes_on() -> None:
    noise = GeometricNoise(Fraction(9, 10))
    nothing = halves(*[False] * (noise._digits + 1))
    passing = halves(*[False] * noise._digits, True)
    # 0.9^64 = 0.00118 is 0.0 4D... in halves and bytes: a half of 0 agrees, and a byte of 0 is heads if it is below.
    chance = PowerCoin(noise.ratio, noise._digits).part(4, 8)
    assert chance > 0
    script = ScriptedBits(octets=[*passing, 0, 0, 0, 15, *nothing])
    assert noise.draw(1, script).tolist() == [2 * 2**noise._digits]
    assert script.octet_script == []


@every_ratio
def test_nobody_needs_no_noise(ratio: Fraction) -> None:
    assert GeometricNoise(ratio).draw(0, ScriptedBits([])).tolist() == []


def test_the_smallest_epsilon_still_fits() -> None:
    drawn = GeometricNoise(ratio_above(Fraction(1, 10**9))).draw(2000, as_bits(1))
    # A two-sided geometric at 1e-9 has standard deviation sqrt(2) 1e9.
    assert np.std(drawn) == pytest.approx(np.sqrt(2) * 1e9, rel=0.1)

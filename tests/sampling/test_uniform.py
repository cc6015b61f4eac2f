"""Uniform integers and uniform orders, without bias."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.sampling.scripted import ScriptedBits

from confide.mechanisms.sampling import Bits, as_bits, permutation, scatter, uniform_below


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 8, 100, 256, 257, 2**16 + 1, 2**33])
def test_each_number_comes_from_one_pattern_of_bits(bound: int) -> None:
    width = (bound - 1).bit_length()
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    for pattern in {*range(min(2**width, 300)), bound - 1, bound % 2**width, 2**width - 1}:
        # A pattern past the bound is thrown away and the next bytes decide.
        octets = [(number << (8 * size - width)).to_bytes(size, "little") for number in (pattern, 1)]
        drawn = uniform_below(bound, 1, ScriptedBits([], b"".join(octets)))
        assert drawn.tolist() == [pattern if pattern < bound else 1]


def test_rejected_bytes_are_redrawn_in_place() -> None:
    script = ScriptedBits([], [top << 5 for top in (0, 1, 2, 3, 4, 5, 6, 7, 0, 6, 2, 4)])
    assert uniform_below(5, 8, script).tolist() == [0, 1, 2, 3, 4, 0, 4, 2]


def test_low_bits_do_not_matter() -> None:
    assert uniform_below(4, 1, ScriptedBits([], [(3 << 6) | 45])).tolist() == [3]


def test_one_number_needs_no_bits() -> None:
    assert uniform_below(1, 3, ScriptedBits([])).tolist() == [0, 0, 0]


def test_none_are_drawn_when_none_are_asked_for() -> None:
    assert uniform_below(5, 0, ScriptedBits([])).tolist() == []


def test_large_bounds_are_filled() -> None:
    drawn = uniform_below(2**62 + 1, 1000, as_bits(1))
    assert drawn.min() >= 0
    assert drawn.max() <= 2**62
    assert np.unique(drawn).size == 1000


ORDERS = list(permutations(range(4)))


def p_value(shuffle: Callable[[Bits], object], draws: int) -> float:
    """Return the p-value of all 24 orders of four things being equally likely."""
    bits = as_bits(7)
    drawn = [tuple(np.asarray(shuffle(bits)).tolist()) for _ in range(draws)]
    return float(chisquare([drawn.count(order) for order in ORDERS]).pvalue)


@pytest.mark.slow
def test_every_order_is_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    assert p_value(lambda bits: permutation(4, bits), 6_000) > 0.001
    monkeypatch.setattr("confide.mechanisms.sampling.BUCKETS", 2)
    monkeypatch.setattr("confide.mechanisms.sampling.LARGEST_SORTED", 2)
    assert p_value(lambda bits: permutation(4, bits), 3_000) > 0.001, "through buckets, and buckets in buckets"


@pytest.mark.slow
def test_a_wrong_shuffle_is_noticed() -> None:
    """The usual mistake, to swap each thing with any other, favours some orders by half."""

    def careless(bits: Bits) -> list[int]:
        things = list(range(4))
        for place in range(4):
            other = int(uniform_below(4, 1, bits)[0])
            things[place], things[other] = things[other], things[place]
        return things

    assert p_value(careless, 6_000) < 1e-6


def test_equal_keys_are_drawn_again() -> None:
    assert permutation(3, ScriptedBits([5, 5, 1, 7, 3, 9])).tolist() == [1, 0, 2]
    # Words that differ in bits that no key has are equal keys.
    assert permutation(3, ScriptedBits([1 << 62, 2 << 62, 3, 7, 3, 9])).tolist() == [1, 0, 2]


@pytest.mark.parametrize("count", [0, 1, 2, 255, 2**18, 2**18 + 1, 600_000])
def test_a_permutation_holds_everything_once(count: int) -> None:
    order = permutation(count, as_bits(None))
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
    if count > 1000:
        assert abs(np.corrcoef(order, np.arange(count))[0, 1]) < 0.02


def test_buckets_are_drawn_one_by_one() -> None:
    order, ends = scatter(9, ScriptedBits(octets=[3, 0, 3, 255, 0, 0, 1, 3, 2]))
    assert order.tolist() == [1, 4, 5, 6, 8, 0, 2, 7, 3]
    assert ends[[0, 1, 2, 3, 254, 255]].tolist() == [3, 4, 5, 8, 8, 9]

"""Uniform integers without bias."""

import numpy as np
import pytest
from tests.sampling.scripted import ScriptedBits

from confide.sampling import as_bits, uniform_below


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 8, 100])
def test_each_number_comes_from_one_pattern_of_bits(bound: int) -> None:
    width = (bound - 1).bit_length()
    for pattern in range(2**width):
        # A pattern past the bound is thrown away and the next word decides.
        drawn = uniform_below(bound, 1, ScriptedBits([pattern << (64 - width), 1 << (64 - width)]))
        assert drawn.tolist() == [pattern if pattern < bound else 1]


def test_rejected_words_are_redrawn_in_place() -> None:
    script = ScriptedBits([top << 61 for top in (0, 1, 2, 3, 4, 5, 6, 7, 0, 6, 2, 4)])
    assert uniform_below(5, 8, script).tolist() == [0, 1, 2, 3, 4, 0, 4, 2]


def test_low_bits_do_not_matter() -> None:
    assert uniform_below(4, 1, ScriptedBits([(3 << 62) | 12345])).tolist() == [3]


def test_one_number_needs_no_bits() -> None:
    assert uniform_below(1, 3, ScriptedBits([])).tolist() == [0, 0, 0]


def test_none_are_drawn_when_none_are_asked_for() -> None:
    assert uniform_below(5, 0, ScriptedBits([])).tolist() == []


def test_large_bounds_are_filled() -> None:
    drawn = uniform_below(2**62 + 1, 1000, as_bits(1))
    assert drawn.min() >= 0
    assert drawn.max() <= 2**62
    assert np.unique(drawn).size == 1000

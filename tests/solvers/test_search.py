"""Local maxima, with and without neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from confide.channels.base import Layout
from confide.solve.support_newton import LIMITS, highest, peaks


def test_on_a_line() -> None:
    heights = np.array([1.0, 3.0, 2.0, 2.0, 5.0])
    assert peaks(heights, Layout((5,))).tolist() == [1, 4]
    assert peaks(np.arange(4.0), Layout((4,))).tolist() == [3]
    assert peaks(np.array([7.0]), Layout((1,))).tolist() == [0]


def test_a_plateau_has_one_peak() -> None:
    assert peaks(np.array([1.0, 2.0, 2.0, 2.0, 1.0]), Layout((5,))).tolist() == [1]
    assert peaks(np.ones(6), Layout((6,))).size == 1
    assert peaks(np.ones(12), Layout((3, 4))).size == 1


@pytest.mark.parametrize("shape", [(1, 7), (5, 6), (7, 1)])
def test_on_a_plane_a_peak_is_above_all_four_neighbours(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).permutation(shape[0] * shape[1]).reshape(shape).astype(float)
    rimmed = np.pad(picture, 1, constant_values=-1.0)
    inner = rimmed[1:-1, 1:-1]
    around = (rimmed[:-2, 1:-1], rimmed[2:, 1:-1], rimmed[1:-1, :-2], rimmed[1:-1, 2:])
    expected = np.flatnonzero(np.logical_and.reduce([inner > beside for beside in around]))
    np.testing.assert_array_equal(peaks(picture.reshape(-1), Layout(shape)), expected)


def test_holes_are_below_everything() -> None:
    # A ring of eight cells around a hole; two opposite corners are high.
    places = np.array([0, 1, 2, 3, 5, 6, 7, 8])
    heights = np.array([9.0, 1, 2, 1, 1, 2, 1, 8])
    assert peaks(heights, Layout((3, 3), places)).tolist() == [0, 2, 5, 7]
    assert peaks(np.array([1.0, 1.0]), Layout((1, 3), np.array([0, 2]))).tolist() == [0, 1]


def test_without_neighbours_the_highest_stand_in() -> None:
    heights = np.random.default_rng(0).uniform(size=500)
    expected = np.sort(np.argsort(heights)[-LIMITS.without_neighbours :])
    np.testing.assert_array_equal(peaks(heights, None), expected)
    assert peaks(heights[:3], None).tolist() == [0, 1, 2]


def test_highest() -> None:
    heights = np.array([5.0, 7.0, 6.0, 1.0])
    assert highest(np.array([0, 2, 3]), heights, 5).tolist() == [0, 2, 3]
    assert set(highest(np.arange(4), heights, 2).tolist()) == {1, 2}
    assert highest(np.array([], dtype=np.int64), heights, 2).size == 0

"""How exactly a plan knows what it predicts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import Integers
from confide.plans.simulations import TWO_SIDED, Distance, QueryWidth

WIDTH = QueryWidth("something", np.ones(1))


@pytest.mark.parametrize("bias", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("repeats", [4, 8, 24])
def test_the_margin_of_a_width_holds_95_percent_and_is_not_far_too_wide(repeats: int, bias: float) -> None:
    """Errors are exactly normal, so that the true width is known."""
    truth = TWO_SIDED * math.hypot(1.0, bias)
    drawn = np.random.default_rng(3).normal(bias, 1.0, (3000, repeats))
    found = [WIDTH.summarise(errors) for errors in drawn]
    off = np.array([abs(one.mean - truth) for one in found])
    margins = np.array([one.margin for one in found])
    assert 0.94 <= (off <= margins).mean() <= 0.985
    # The least symmetric margin that could do it at all, if the spread of the width were known.
    ideal = np.quantile(off, 0.95)
    assert np.median(margins) < 4 * ideal if repeats == 4 else np.median(margins) < 2 * ideal
    assert (off <= margins / 2).mean() < 0.9


def test_errors_that_do_not_scatter() -> None:
    none, same = WIDTH.summarise(np.zeros(6)), WIDTH.summarise(np.full(6, 0.25))
    assert (none.mean, none.margin) == (0.0, 0.0)
    assert same.mean == pytest.approx(0.25 * TWO_SIDED)
    assert same.margin == pytest.approx(0.0, abs=1e-12)


def test_the_expected_distance_is_the_mean_with_its_standard_error() -> None:
    found = Distance(Integers(0, 9)).summarise(np.array([1.0, 3.0, 1.0, 3.0]))
    assert (found.mean, found.repeats) == (2.0, 4)
    assert found.standard_error == pytest.approx(math.sqrt(4 / 3 / 4))  # one degree of freedom went into the mean
    assert found.margin == pytest.approx(3.182446 * found.standard_error, rel=1e-6)

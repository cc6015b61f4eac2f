"""Counts with the same luck at every setting: each draw multinomial, and neighbours alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from confide.plans.simulations import draw_multinomials, draw_uniforms

SHARES = np.array([0.05, 0.4, 0.0, 0.25, 0.3])


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda one: sum(one) > 1e-3),
    st.integers(0, 10**9),
)
def test_every_person_falls_on_one_output(weights: list[float], people: int) -> None:
    shares = np.array(weights) / sum(weights)
    drawn = draw_multinomials(shares, people, draw_uniforms(shares.size, repeats=3, seed=1))
    assert drawn.shape == (3, shares.size)
    assert (drawn >= 0).all()
    np.testing.assert_array_equal(drawn.sum(axis=1), people)
    np.testing.assert_array_equal(drawn, np.round(drawn))
    assert (drawn[:, shares == 0] == 0).all()


@pytest.mark.parametrize(("scale", "is_right"), [(1.0, True), (1.15, False)])
def test_counts_are_multinomial_and_a_wrong_scale_is_seen(scale: float, is_right: bool) -> None:
    drawn = draw_multinomials(SHARES, 40, draw_uniforms(5, repeats=3000, seed=2))
    expected = np.array([0.05 * scale, 0.4, 0.0, 0.25, 0.3])
    expected /= expected.sum()
    for output in (0, 1, 3, 4):
        values = np.arange(41)
        chances = stats.binom.pmf(values, 40, expected[output])
        seen = np.bincount(drawn[:, output].astype(int), minlength=41)
        common = chances * 3000 > 5
        observed = np.append(seen[common], seen[~common].sum())
        wanted = np.append(chances[common], chances[~common].sum()) * 3000
        fit = stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue
        if is_right:
            assert fit > 1e-3
    covariance = np.cov(drawn.T)
    np.testing.assert_allclose(covariance, 40 * (np.diag(SHARES) - np.outer(SHARES, SHARES)), atol=0.7)
    if not is_right:
        assert stats.chisquare(drawn.sum(axis=0)[expected > 0], (expected * 120_000)[expected > 0]).pvalue < 1e-6


def test_the_quantiles_are_those_of_the_binomial() -> None:
    uniforms = draw_uniforms(2, repeats=500, seed=3)
    for people in (1, 7, 1000, 10**9):
        drawn = draw_multinomials(np.array([0.3, 0.7]), people, uniforms)[:, 0]
        np.testing.assert_array_equal(drawn, stats.binom.ppf(uniforms[:, 1], people, 0.3))


def test_neighbouring_settings_share_their_luck() -> None:
    uniforms = draw_uniforms(5, repeats=200, seed=4)
    some, more = (draw_multinomials(SHARES, people, uniforms)[:, 3] for people in (50_000, 55_000))
    assert np.corrcoef(some, more)[0, 1] > 0.95


def test_more_repeats_leave_the_first_ones_alone() -> None:
    np.testing.assert_array_equal(draw_uniforms(9, 10, seed=5)[:4], draw_uniforms(9, 4, seed=5))
    assert not np.array_equal(draw_uniforms(9, 4, seed=5), draw_uniforms(9, 4, seed=6))

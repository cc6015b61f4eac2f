"""Intervals where they can be had in closed form, or by looking at every distribution there is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2

from confide import (
    IBU,
    MLE,
    Categories,
    FromMatrix,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
    estimate,
    tally,
)
from confide.channels.base import FloatArray
from confide.estimates import Estimate
from confide.estimates.inference.inference import allowed_fall
from confide.values.queries import Query, as_weights


def binomial_ends(successes: float, trials: float, level: float) -> tuple[float, float]:
    """Return the likelihood-ratio interval of a binomial proportion."""

    def log_likelihood(p: float) -> float:
        return successes * math.log(p) + (trials - successes) * math.log(1 - p)

    best = successes / trials
    drop = chi2.ppf(level, 1) / 2
    ends = (
        brentq(lambda p: log_likelihood(best) - log_likelihood(p) - drop, *side)
        for side in ((1e-9, best), (best, 1 - 1e-9))
    )
    low, high = ends
    return low, high


def region_ends(answer: Estimate, query: Query, level: float) -> tuple[float, float]:
    """Return what the likelihood alone allows, without anything for bias."""
    return answer._inference.region.ends(as_weights(query, answer.alphabet), allowed_fall(level))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("size", [2, 5])
def test_a_value_under_randomized_response_is_a_binomial_proportion(size: int, level: float) -> None:
    mechanism = RandomizedResponse(Integers(1, size), epsilon=1.0)
    counts = [350] + [650 // (size - 1)] * (size - 1)
    low, high = region_ends(estimate(tally(range(1, size + 1), counts), mechanism, MLE()), "x == 1", level)
    keep, other = mechanism.channel.dense()[0, :2]
    expected = [(end - other) / (keep - other) for end in binomial_ends(350, sum(counts), level)]
    half = (expected[1] - expected[0]) / 2
    assert low == pytest.approx(expected[0], abs=2e-3 * half)
    assert high == pytest.approx(expected[1], abs=2e-3 * half)


def test_the_same_holds_without_the_closed_form() -> None:
    response = RandomizedResponse(Integers(1, 4), epsilon=1.0)
    stored = FromMatrix(Integers(1, 4), response.channel.dense())
    counts = tally([1, 2, 3, 4], [260, 300, 240, 200])
    known, found = (region_ends(estimate(counts, one, MLE()), "x <= 2", 0.95) for one in (response, stored))
    assert found == pytest.approx(known, abs=1e-4)


STEPS = 120
MESH = np.array([(a, b, STEPS - a - b) for a in range(STEPS + 1) for b in range(STEPS + 1 - a)]) / STEPS
"""All distributions over three values, in steps."""


def allowed(mechanism: Mechanism, counts: list[int], answer: Estimate, fall: float) -> FloatArray:
    """Return the distributions of the mesh whose log-likelihood is at most so much below the highest."""
    seen = np.array(counts) > 0
    with np.errstate(divide="ignore"):
        likelihood = np.log((MESH @ mechanism.channel.dense())[:, seen]) @ np.array(counts)[seen]
    kept: FloatArray = MESH[likelihood >= answer.log_likelihood - fall]
    return kept


few = settings(max_examples=25)


@few
@given(
    counts=st.lists(st.integers(0, 60), min_size=3, max_size=3).filter(lambda counts: sum(counts) > 5),
    weights=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=3, max_size=3),
    epsilon=st.sampled_from([0.3, 1.0]),
    level=st.sampled_from([0.5, 0.95]),
)
@pytest.mark.slow
def test_the_likelihood_allows_what_a_search_of_all_distributions_allows(
    counts: list[int], weights: list[float], epsilon: float, level: float
) -> None:
    mechanism = TruncatedGeometric(Integers(0, 2), epsilon)
    answer = estimate(tally([0, 1, 2], counts), mechanism, MLE())
    low, high = region_ends(answer, weights, level)
    inside = allowed(mechanism, counts, answer, allowed_fall(level)) @ np.array(weights)
    step = 2 * np.ptp(weights) / STEPS + 1e-9
    # No distribution of the mesh lies beyond the ends, and some come near them.
    assert low <= inside.min() + 1e-3 * step
    assert high >= inside.max() - 1e-3 * step
    assert low >= inside.min() - step
    assert high <= inside.max() + step


@pytest.mark.slow
@few
@given(counts=st.lists(st.integers(1, 60), min_size=3, max_size=3), share=st.sampled_from([0.1, 0.5, 0.83]))
def test_so_do_quantiles(counts: list[int], share: float) -> None:
    mechanism = TruncatedGeometric(Integers(0, 2), 0.7)
    answer = estimate(tally([0, 1, 2], counts), mechanism, MLE())
    fall = allowed_fall(0.95)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("confide.estimates.inference.region.Region.few_values", None)
        patch.setattr("confide.estimates.inference.region.Region.with_fewer_values", None)
        low, high = answer.quantile(share)
    below = np.cumsum(allowed(mechanism, counts, answer, fall), axis=1)[:, :2]
    assert low <= (below < share).sum(axis=1).min()
    assert high >= (below < share).sum(axis=1).max()
    # Nor is there more between the ends than a step of the mesh adds.
    assert low >= (below < share - 2 / STEPS).sum(axis=1).min()
    assert high <= (below < share + 2 / STEPS).sum(axis=1).max()


def test_the_mean_is_the_query_with_the_values_as_weights() -> None:
    mechanism = TruncatedGeometric(Integers(3, 7), 1.0)
    answer = estimate(mechanism.simulate_counts([10, 20, 30, 20, 20], rng=1), mechanism, IBU())
    assert list(answer.mean()) == list(answer.query([3, 4, 5, 6, 7]))
    assert answer.mean().estimate == pytest.approx(answer.distribution @ np.arange(3, 8))
    assert answer.mean().question == "mean"


def test_numbers_may_be_categories() -> None:
    mechanism = RandomizedResponse(Categories([10, 5, 20]), epsilon=1.0)
    answer = estimate(tally([5, 10, 20], [400, 300, 300]), mechanism, MLE())
    assert answer.quantile(0.5).low >= 5
    assert answer.quantile(0.999).estimate == 20
    assert 5 < answer.mean().low < answer.mean().estimate < answer.mean().high < 20


def test_what_all_values_answer_alike_is_known() -> None:
    mechanism = TruncatedGeometric(Integers(0, 5), 0.5)
    answer = estimate(mechanism.simulate_counts([10] * 6, rng=1), mechanism, IBU())
    assert list(answer.query([2.0] * 6)) == pytest.approx([2.0, 2.0])


def test_a_higher_level_allows_more() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.5)
    answer = estimate(mechanism.simulate_counts([10] * 10, rng=1), mechanism, IBU())
    widths = [answer.query("x <= 3", level).width for level in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4


def test_the_allowed_fall_is_half_the_quantile_of_chi_squared() -> None:
    for level in (0.1, 0.5, 0.95, 0.9999):
        assert allowed_fall(level) == pytest.approx(chi2.ppf(level, 1) / 2, rel=1e-9)


def test_under_randomized_response_ends_are_unbiased_where_the_likelihood_is_not() -> None:
    mechanism = RandomizedResponse(Integers(0, 19), epsilon=1.0)
    counts = mechanism.simulate_counts([5000] + [0] * 18 + [5000], rng=1)
    answer = estimate(counts, mechanism, IBU())
    interval = answer.query("x in 1..18")
    assert region_ends(answer, "x in 1..18", 0.95)[0] > 0  # the likelihood alone would say that somebody must be there
    assert interval.low == 0
    assert "unbiased" in interval.rests_on


@pytest.mark.slow
def test_a_truth_of_one_value_is_among_those_with_few_values() -> None:
    """The fall down to it is that of many degrees of freedom: the likelihood alone often misses it."""
    mechanism = TruncatedLaplace(Integers(0, 29), 0.3)
    held, alone = [], []
    for seed in range(30):
        answer = estimate(mechanism.simulate_counts([0] * 15 + [5000] + [0] * 14, rng=seed), mechanism, IBU())
        held.append(answer.query("x == 15").high >= 1 - 1e-9)
        alone.append(region_ends(answer, "x == 15", 0.95)[1] >= 1 - 1e-9)
    assert np.mean(held) >= 0.9
    assert np.mean(alone) < 0.75

"""Where mechanism and method meet: estimates and their assessment against a truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import (
    IBU,
    Categories,
    FromMatrix,
    Integers,
    Inversion,
    RandomizedResponse,
    Status,
    TruncatedGeometric,
    assess,
    emd,
    estimate,
    tally,
    total_variation,
)

MECHANISM = TruncatedGeometric(Integers(0, 2), 1.0)
COUNTS = tally([0, 1, 2], counts=[50, 30, 20])
TRUTH = [0.6, 0.3, 0.1]


def test_an_estimate_carries_how_it_was_reached() -> None:
    method = IBU(delta=0.1)
    answer = estimate(COUNTS, MECHANISM, method)
    assert answer.alphabet is MECHANISM.alphabet
    assert answer.method is method
    assert answer.status is Status.SMALL_STEP
    assert answer.is_distribution
    assert answer.seconds >= 0


def test_repr_says_what_matters() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    text = repr(answer)
    assert text.startswith("<Estimate of Integers(0, 2) by IBU(delta=0.01, iteration_limit=100,000): small step after ")
    assert f"after {answer.iterations:,} iterations" in text
    assert f"log-likelihood {answer.log_likelihood:,.3f}" in text
    assert f"at most {answer.certificate:.3g} below the maximum" in text


def test_a_projection_may_rule_a_report_out_and_then_says_that_anything_is_possible() -> None:
    # Inverted: (1.5, 0.1, -0.6). The nearest distribution is (1, 0, 0), under which report 1 never comes.
    mechanism = FromMatrix(Integers(0, 2), [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.9, 0.0, 0.1]])
    answer = estimate(tally([0, 1, 2], [21, 10, 69]), mechanism, Inversion("project"))
    np.testing.assert_allclose(answer.distribution, [1, 0, 0], atol=1e-12)
    assert answer.log_likelihood == -math.inf
    assert answer.certificate == math.inf


def test_assessing_keeps_the_path_and_measures_the_distance() -> None:
    heard: list[int] = []
    outcome = assess(COUNTS, MECHANISM, IBU(), truth=TRUTH, monitor=lambda step, _: heard.append(step))
    assert len(outcome.path) == outcome.estimate.iterations == len(heard)
    assert outcome.path[-1] == pytest.approx(outcome.estimate.log_likelihood)
    assert list(outcome.path) == sorted(outcome.path)
    assert outcome.emd == pytest.approx(emd(outcome.estimate.distribution, TRUTH, MECHANISM.alphabet))
    assert outcome.total_variation == pytest.approx(total_variation(outcome.estimate.distribution, TRUTH))


def test_assessing_without_a_truth_measures_nothing() -> None:
    outcome = assess(COUNTS, MECHANISM, Inversion())
    assert (outcome.path, outcome.emd, outcome.total_variation) == ((), None, None)


def test_what_is_no_distribution_has_no_distance() -> None:
    outcome = assess(tally([0, 1, 2], [500, 1, 500]), MECHANISM, Inversion("none"), truth=TRUTH)
    assert not outcome.estimate.is_distribution
    assert (outcome.emd, outcome.total_variation) == (None, None)


def test_the_example_of_the_design_runs_as_printed() -> None:
    people = np.repeat([30, 35, 60], 500)
    ages = Integers(0, 99)
    mechanism = TruncatedGeometric(ages, epsilon=0.05)
    counts = tally(mechanism.privatize(people, rng=7))
    answer = estimate(counts, mechanism, IBU())
    assert "metric privacy, 0.05" in str(mechanism.guarantee)
    assert answer.status == "small step"


def test_krr_estimates_come_near_the_truth() -> None:
    mechanism = RandomizedResponse(Categories(["a", "b", "c"]), 1.0)
    people = np.repeat(["a", "b", "c"], [60_000, 30_000, 10_000])
    counts = tally(mechanism.privatize(people, rng=1))
    for method in (IBU(1e-3), Inversion("normalize"), Inversion("project")):
        np.testing.assert_allclose(estimate(counts, mechanism, method).distribution, TRUTH, atol=0.02)

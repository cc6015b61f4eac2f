"""MLE reaches the maximum and proves it, on every kind of mechanism and on counts of every size."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.exact import random_distributions
from tests.laws.examples import FAMILIES, all_mechanisms, label
from tests.laws.test_methods import drawn_counts
from tests.solvers.problems import degenerate, drawn, precise_certificate

from confide import (
    IBU,
    MLE,
    FromMatrix,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    Status,
    TruncatedGeometric,
    TruncatedPlanarLaplace,
    estimate,
    tally,
)
from confide.channels import Dense
from confide.errors import ImpossibleReportError, InvalidParameterError
from confide.evidence.evidence import Evidence

LARGEST = 300
EXAMPLES = [example for family in FAMILIES.values() for example in family.examples if example.alphabet.size <= LARGEST]


@each("mechanism", EXAMPLES, ids=label)
def test_every_family_is_certified(mechanism: Mechanism) -> None:
    people = np.random.default_rng(0).multinomial(1000, random_distributions(mechanism.alphabet.size))
    counts = mechanism.simulate_counts(people, rng=0)
    answer = estimate(counts, mechanism, MLE())
    assert answer.status is Status.CERTIFIED
    assert 0 <= answer.certificate <= 1e-6
    climbed = estimate(counts, mechanism, IBU(1e-3, iteration_limit=2000))
    assert answer.log_likelihood >= climbed.log_likelihood - 1e-6
    assert climbed.log_likelihood + climbed.certificate >= answer.log_likelihood - 1e-6


@given(mechanism=all_mechanisms, seed=st.integers(0, 1000))
@pytest.mark.slow
def test_any_small_mechanism_is_certified(mechanism: Mechanism, seed: int) -> None:
    answer = estimate(drawn_counts(mechanism, 200, seed), mechanism, MLE())
    assert answer.status is Status.CERTIFIED
    assert answer.certificate <= 1e-6


@pytest.mark.parametrize("people", [1, 3, 20, 10_000, 10**8, 10**9])
def test_any_matrix_is_certified(people: int) -> None:
    for seed in range(100):
        evidence = degenerate(seed, people)
        answer = MLE().solve(evidence)
        assert answer.status is Status.CERTIFIED, seed
        assert evidence.certificate(answer.distribution) <= 1e-6, seed
        assert precise_certificate(evidence, answer.distribution) <= 1e-6 + 2 * evidence.resolution, seed


@pytest.mark.slow
def test_what_double_precision_cannot_prove_is_not_claimed() -> None:
    for seed in range(100):
        evidence = degenerate(seed, 10**12)
        answer = MLE().solve(evidence)
        assert np.isfinite(answer.distribution).all(), seed
        assert answer.status is Status.PRECISION_LIMIT, seed
        assert "double precision can prove no more for so many reports" in answer.explanation
        assert "than 0 nats" not in answer.explanation
        assert 0 <= evidence.certificate(answer.distribution) < 1e-2, seed
        assert precise_certificate(evidence, answer.distribution) < 1e-2, seed
        assert MLE(tolerance=1e-2).solve(evidence).status is Status.CERTIFIED, seed


@pytest.mark.parametrize(
    "mechanism", [TruncatedGeometric(Integers(0, 99), 0.05), TruncatedPlanarLaplace(Grid(8, 9), 0.3)], ids=repr
)
def test_a_million_million_reports_of_a_real_mechanism(mechanism: Mechanism) -> None:
    evidence = drawn(mechanism.channel, 10**12, seed=3)
    answer = MLE().solve(evidence)
    assert answer.status is Status.PRECISION_LIMIT
    assert evidence.certificate(answer.distribution) < 1e-2
    assert precise_certificate(evidence, answer.distribution) < 1e-2


def test_the_certificate_of_a_gain_that_is_no_number_is_infinite() -> None:
    evidence = Evidence(Dense(np.eye(2)), np.array([1.0, 1.0]))
    assert evidence.certificate_of(np.array([np.nan, 1.0])) == np.inf
    assert evidence.certificate_of(np.array([1.0, np.nan])) == np.inf
    assert evidence.certificate_of(np.array([np.inf, 1.0])) == np.inf
    assert evidence.certificate_of(np.zeros(2)) == np.inf


def test_a_value_that_explains_nothing_reported_gets_nothing() -> None:
    mechanism = FromMatrix(Integers(0, 3), np.eye(4))
    for solver in ("auto", "support-newton", "interior-point"):
        answer = estimate(tally([0, 0, 2]), mechanism, MLE(solver=solver))
        np.testing.assert_allclose(answer.distribution, [2 / 3, 0, 1 / 3, 0], atol=1e-6)
    assert estimate(tally([0, 0, 2]), mechanism, MLE()).distribution[1] == 0


def test_one_observed_output() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.3)
    answer = estimate(tally([9], counts=[5]), mechanism, MLE())
    assert answer.distribution.argmax() == 9
    assert answer.distribution[9] == pytest.approx(1)
    assert answer.status is Status.CERTIFIED


def test_a_mechanism_that_tells_nothing_is_certified_at_once() -> None:
    answer = estimate(tally([0, 1, 1]), FromMatrix(Integers(0, 2), np.full((3, 2), 0.5)), MLE())
    assert answer.status is Status.CERTIFIED
    assert answer.distribution.sum() == pytest.approx(1)


def test_an_impossible_report_is_an_error_that_names_it() -> None:
    mechanism = FromMatrix(Integers(0, 1), [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    with pytest.raises(ImpossibleReportError, match="Report 2 was seen 3 times, but no value can produce it"):
        estimate(tally([0, 2, 2, 2]), mechanism, MLE())


@pytest.mark.parametrize("solver", ["auto", "support-newton", "interior-point"])
def test_the_monitor_hears_the_highest_likelihood_so_far(solver: str) -> None:
    """What the solvers themselves do is tested with them; here only what is passed on."""
    for seed in range(5):
        mechanism = TruncatedGeometric(Integers(0, 49), 0.1)
        heard: list[tuple[int, float]] = []
        counts = drawn_counts(mechanism, 5000, seed)
        answer = estimate(counts, mechanism, MLE(solver=solver), monitor=lambda *step: heard.append(step))  # noqa: B023
        assert [number for number, _ in heard] == list(range(1, answer.iterations + 1))
        likelihoods = [likelihood for _, likelihood in heard]
        assert (np.diff(likelihoods) >= 0).all()
        assert likelihoods[-1] == pytest.approx(answer.log_likelihood, rel=0, abs=1e-5)


def test_an_iteration_limit_returns_the_best_so_far() -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), 0.05)
    counts = drawn_counts(mechanism, 50_000)
    for solver in ("support-newton", "interior-point"):
        answer = estimate(counts, mechanism, MLE(iteration_limit=1, solver=solver))
        assert answer.status is Status.ITERATION_LIMIT
        assert answer.iterations == 1
        assert 1e-6 < answer.certificate < np.inf
        assert re.match("the iterations ran out; after 1 iteration no distribution", answer.explanation)
        best = estimate(counts, mechanism, MLE())
        assert best.log_likelihood <= answer.log_likelihood + answer.certificate


def test_a_time_limit_returns_the_best_so_far() -> None:
    mechanism = TruncatedGeometric(Integers(0, 499), 0.01)
    answer = estimate(drawn_counts(mechanism, 50_000), mechanism, MLE(time_limit=1e-9))
    assert answer.status is Status.TIME_LIMIT
    assert answer.explanation.startswith("the time ran out; after")
    assert 1e-6 < answer.certificate < np.inf
    assert answer.distribution.sum() == pytest.approx(1)


def test_the_same_reports_give_the_same_answer() -> None:
    mechanism = TruncatedPlanarLaplace(Grid(6, 7), 0.5)
    counts = drawn_counts(mechanism, 5000)
    first, second = (estimate(counts, mechanism, MLE()) for _ in range(2))
    np.testing.assert_array_equal(first.distribution, second.distribution)
    assert first.iterations == second.iterations


def test_the_tolerance_is_kept() -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), 0.05)
    counts = drawn_counts(mechanism, 50_000)
    for tolerance in (10.0, 0.1, 1e-8):
        answer = estimate(counts, mechanism, MLE(tolerance))
        assert answer.certificate <= tolerance
        assert answer.status is Status.CERTIFIED


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be a finite number above 0; got 0.0"),
        ({"tolerance": float("nan")}, "tolerance must be a finite number above 0; got nan"),
        ({"time_limit": -1}, "time_limit must be a finite number above 0; got -1"),
        ({"iteration_limit": 0}, "iteration_limit must be a whole number of at least 1; got 0"),
        ({"iteration_limit": 1.5}, "iteration_limit must be a whole number of at least 1; got 1.5"),
        ({"solver": "simplex"}, "solver must be one of auto, support-newton, interior-point; got 'simplex'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        MLE(**settings)  # type: ignore[arg-type]  # the point of the test


def test_an_interior_point_that_does_not_fit_is_refused() -> None:
    mechanism = TruncatedPlanarLaplace(Grid(50, 50), 0.5)
    counts = tally(mechanism.report_alphabet.decode(np.arange(2500)))
    with pytest.raises(InvalidParameterError, match="does not fit a channel of this size; use solver='auto'"):
        estimate(counts, mechanism, MLE(solver="interior-point"))


def test_randomized_response_by_any_solver() -> None:
    mechanism = RandomizedResponse(Integers(0, 20), 1.0)
    counts = drawn_counts(mechanism)
    likelihoods = [
        estimate(counts, mechanism, MLE(solver=solver)).log_likelihood
        for solver in ("auto", "support-newton", "interior-point")
    ]
    assert np.ptp(likelihoods) <= 1e-6


def test_a_certificate_far_above_the_resolution_is_the_solvers_fault_and_not_that_of_precision() -> None:
    evidence = Evidence(Dense(np.eye(2)), np.array([3e18, 4e18]))
    assert evidence.resolution > 1e-6
    for factor, status in ((50, Status.PRECISION_LIMIT), (200, Status.STALLED)):
        found = MLE()._status(evidence, factor * evidence.resolution, 10, is_over=False)
        assert found is status

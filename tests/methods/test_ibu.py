"""IBU is the paper's Algorithm 1, and says how it ended."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.examples import random_matrix
from tests.methods.algorithm import iterates, log_likelihood

from confide import (
    IBU,
    Counts,
    FromMatrix,
    Integers,
    Mechanism,
    RandomizedResponse,
    Status,
    TruncatedGeometric,
    estimate,
    tally,
)
from confide.errors import InvalidDistributionError, InvalidParameterError

MECHANISMS: list[Mechanism] = [
    TruncatedGeometric(Integers(0, 9), 0.3),
    RandomizedResponse(Integers(0, 4), 1.0),
    FromMatrix(Integers(0, 3), random_matrix(4, 7)),  # neither square nor symmetric
    FromMatrix(Integers(0, 4), random_matrix(5, 3)),
]

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)

NEVER = 1e-300
"""A delta that only a step of exactly nothing falls below."""


def some_counts(mechanism: Mechanism, seed: int = 0) -> Counts:
    outputs = mechanism.report_alphabet.size
    counts = np.random.default_rng(seed).integers(0, 50, outputs)
    counts[0] += 1
    return tally(mechanism.report_alphabet.decode(np.arange(outputs)), counts)


def path_of(counts: Counts, mechanism: Mechanism, method: IBU) -> tuple[list[float], Status]:
    """Return the log-likelihoods from the start on, and how it ended."""
    evidence = mechanism.observe(counts)
    size = mechanism.alphabet.size
    path = [evidence.log_likelihood(np.full(size, 1 / size) if method.start is None else np.asarray(method.start))]
    answer = estimate(counts, mechanism, method, monitor=lambda _, value: path.append(value))
    assert answer.iterations == len(path) - 1
    return path, answer.status


@pytest.mark.parametrize("start", ["uniform", "given"])
@every_mechanism
@pytest.mark.slow
def test_every_iterate_is_the_papers(mechanism: Mechanism, start: str) -> None:
    size, counts = mechanism.alphabet.size, some_counts(mechanism)
    theta = np.full(size, 1 / size) if start == "uniform" else np.arange(1, size + 1) / (size * (size + 1) / 2)
    dense, per_output = mechanism.channel.dense().tolist(), mechanism.lay_out(counts).tolist()
    for limit, (expected, likelihood) in enumerate(islice(iterates(theta.tolist(), dense, per_output), 25), start=1):
        method = IBU(NEVER, start=None if start == "uniform" else theta, iteration_limit=limit)
        path, status = path_of(counts, mechanism, method)
        answer = estimate(counts, mechanism, method)
        np.testing.assert_allclose(answer.distribution, expected, rtol=1e-11)
        assert len(path) - 1 == limit
        assert path[-1] == pytest.approx(likelihood, rel=1e-12)
        assert status is Status.ITERATION_LIMIT


@every_mechanism
def test_log_likelihood_is_the_papers(mechanism: Mechanism) -> None:
    counts = some_counts(mechanism)
    answer = estimate(counts, mechanism, IBU())
    dense, per_output = mechanism.channel.dense().tolist(), mechanism.lay_out(counts).tolist()
    assert answer.log_likelihood == pytest.approx(
        log_likelihood(answer.distribution.tolist(), dense, per_output), rel=1e-12
    )


@given(seed=st.integers(0, 10**6), place=st.integers(0, len(MECHANISMS) - 1))
@pytest.mark.slow
def test_likelihood_never_decreases(seed: int, place: int) -> None:
    mechanism = MECHANISMS[place]
    path, _ = path_of(some_counts(mechanism, seed), mechanism, IBU(1e-9, iteration_limit=300))
    assert (np.diff(path) >= -1e-13 * abs(path[0])).all()


@each("delta", [10.0, 1.0, 0.1, 1e-3, 1e-6])
@every_mechanism
def test_stops_at_the_first_step_below_delta(mechanism: Mechanism, delta: float) -> None:
    path, status = path_of(some_counts(mechanism), mechanism, IBU(delta))
    steps = np.abs(np.diff(path))
    assert status is Status.SMALL_STEP
    assert steps[-1] < delta
    assert (steps[:-1] >= delta).all()


def test_delta_is_on_the_total_not_on_the_mean() -> None:
    mechanism = MECHANISMS[0]
    counts = some_counts(mechanism)
    tenfold = Counts(counts.reports, 10 * counts.counts)
    once, scaled = estimate(counts, mechanism, IBU(0.1)), estimate(tenfold, mechanism, IBU(1.0))
    assert scaled.iterations == once.iterations
    np.testing.assert_allclose(scaled.distribution, once.distribution, rtol=1e-9)
    assert scaled.log_likelihood == pytest.approx(10 * once.log_likelihood)
    assert scaled.certificate == pytest.approx(10 * once.certificate)
    assert estimate(tenfold, mechanism, IBU(0.1)).iterations > once.iterations


def test_a_limit_is_reported_with_its_last_step() -> None:
    mechanism = MECHANISMS[0]
    path, _ = path_of(some_counts(mechanism), mechanism, IBU(NEVER, iteration_limit=3))
    answer = estimate(some_counts(mechanism), mechanism, IBU(NEVER, iteration_limit=3))
    assert answer.status is Status.ITERATION_LIMIT
    assert answer.iterations == 3
    assert (
        f"limit of 3 iterations came first: the last one still raised the log-likelihood by {path[3] - path[2]:.3g}"
        in (answer.explanation)
    )


def test_a_small_step_is_reported_with_delta() -> None:
    answer = estimate(some_counts(MECHANISMS[0]), MECHANISMS[0], IBU(0.5))
    assert answer.explanation == f"iteration {answer.iterations} raised the log-likelihood by less than delta = 0.5"


def test_values_that_explain_nothing_go_to_zero_and_the_answer_still_sums_to_one() -> None:
    mechanism = FromMatrix(Integers(0, 2), np.eye(3))
    answer = estimate(tally([0, 0, 2]), mechanism, IBU())
    np.testing.assert_allclose(answer.distribution, [2 / 3, 0, 1 / 3], rtol=1e-12)
    assert answer.certificate == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0.5, 0.5, 0.0], r"start must give every value a positive probability.*got 0 at position 2.*uniform"),
        ([0.5, 0.6, -0.1], r"start has a negative probability, -0.1 at position 2"),
        ([0.5, 0.3, 0.3], r"start must sum to 1; got 1.1. Divide it by its sum"),
        ([0.5, float("nan"), 0.5], r"start holds nan at position 1; give finite numbers"),
        ([0.5, float("inf"), 0.5], r"start holds inf at position 1"),
        ([[0.5, 0.5]], r"start must hold one probability .* shape \(1, 2\)"),
        (["a", "b"], r"start must be a sequence of 2 probabilities"),
        ([], r"start must sum to 1; got 0"),
        ([[0.5], [0.25, 0.25]], r"start"),
    ],
)
def test_a_bad_start_is_refused_at_once(start: object, message: str) -> None:
    with pytest.raises(InvalidDistributionError, match=message):
        IBU(start=start)  # type: ignore[arg-type]


def test_a_start_of_the_wrong_length_is_refused_when_it_meets_the_alphabet() -> None:
    with pytest.raises(
        InvalidDistributionError, match=r"start must hold one probability for each of 10 values.*\(2,\)"
    ):
        estimate(some_counts(MECHANISMS[0]), MECHANISMS[0], IBU(start=[0.5, 0.5]))


def test_the_start_is_copied() -> None:
    start = np.array([0.5, 0.5])
    method = IBU(start=start)
    start[0] = 7.0
    assert np.asarray(method.start).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("delta", [0, -1.0, float("nan"), float("inf"), "abc", None, True])
def test_a_bad_delta_is_refused(delta: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"delta must be a finite number above 0; got "):
        IBU(delta=delta)


@pytest.mark.parametrize("limit", [0, -1, 2.5, "many", True])
def test_a_bad_limit_is_refused(limit: int) -> None:
    with pytest.raises(InvalidParameterError, match=r"iteration_limit must be a whole number of at least 1; got "):
        IBU(iteration_limit=limit)


def test_repr_says_the_settings() -> None:
    assert repr(IBU()) == "IBU(delta=0.01, iteration_limit=100,000)"
    assert repr(IBU(1.0, [0.5, 0.5], 7)) == "IBU(delta=1, start=..., iteration_limit=7)"

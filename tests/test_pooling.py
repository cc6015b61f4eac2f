"""GIBU: one estimate from groups of people who used different mechanisms."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.cases import each
from tests.laws.exact import random_distributions
from tests.laws.test_methods import drawn_counts

from confide import (
    IBU,
    MLE,
    Exponential,
    Geometric,
    Integers,
    Mechanism,
    Method,
    RandomizedResponse,
    Rappor,
    Status,
    TruncatedGeometric,
    TruncatedLaplace,
    emd,
    estimate,
    estimate_pool,
    tally,
)
from confide.errors import InvalidParameterError

VALUES = Integers(0, 19)
BOLD, CAREFUL = TruncatedGeometric(VALUES, 1.0), TruncatedGeometric(VALUES, 0.2)
OTHERS: list[Mechanism] = [
    RandomizedResponse(VALUES, 2.0),
    Exponential(VALUES, 0.5),
    TruncatedLaplace(VALUES, 0.4),
    Geometric(VALUES, 0.3),
    Rappor(VALUES, 2.0),
    TruncatedGeometric(VALUES, 0.5, Integers(5, 30)),
]

every_method = each("method", [IBU(1e-3), MLE(), IBU(stop="certificate"), IBU(stop="held-out")], ids=repr)


@every_method
@each("mechanism", [BOLD, RandomizedResponse(VALUES, 2.0), Rappor(VALUES, 2.0)], ids=repr)
def test_one_group_is_no_group_at_all(mechanism: Mechanism, method: Method) -> None:
    counts = drawn_counts(mechanism)
    alone, pooled = estimate(counts, mechanism, method), estimate_pool([(counts, mechanism)], method)
    np.testing.assert_array_equal(pooled.distribution, alone.distribution)
    assert pooled.log_likelihood == alone.log_likelihood
    assert pooled.certificate == alone.certificate
    assert pooled.iterations == alone.iterations


@every_method
def test_splitting_a_group_changes_nothing(method: Method) -> None:
    first, second, third = (drawn_counts(BOLD, 300, seed) for seed in range(3))
    careful = drawn_counts(CAREFUL, 500, 3)
    whole = estimate_pool([(first + second + third, BOLD), (careful, CAREFUL)], method)
    again = TruncatedGeometric(Integers(0, 19), 1.0)  # equal, but another object
    split = estimate_pool([(first, BOLD), (second, again), (careful, CAREFUL), (third, BOLD)], method)
    np.testing.assert_array_equal(split.distribution, whole.distribution)
    assert split.log_likelihood == whole.log_likelihood


def test_likelihoods_of_groups_add() -> None:
    groups = [(drawn_counts(mechanism, 200, seed), mechanism) for seed, mechanism in enumerate([BOLD, *OTHERS])]
    answer = estimate_pool(groups, IBU(1.0))
    apart = sum(mechanism.observe(counts).log_likelihood(answer.distribution) for counts, mechanism in groups)
    assert answer.log_likelihood == pytest.approx(apart, rel=1e-12)


def test_ibu_is_algorithm_1_on_the_columns_of_all_groups() -> None:
    groups = [(drawn_counts(BOLD, 300), BOLD), (drawn_counts(CAREFUL, 500), CAREFUL)]
    matrix = np.hstack([mechanism.channel.dense() for _, mechanism in groups])
    counts = np.concatenate([mechanism.lay_out(counts) for counts, mechanism in groups])
    theta, seen = np.full(20, 1 / 20), counts > 0
    for _ in range(30):
        theta = theta * (matrix[:, seen] @ (counts[seen] / counts.sum() / (theta @ matrix)[seen]))
    answer = estimate_pool(groups, IBU(1e-300, iteration_limit=30))
    np.testing.assert_allclose(answer.distribution, theta, rtol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "support-newton", "interior-point"])
def test_the_certificate_holds_over_all_groups(solver: str) -> None:
    groups = [(drawn_counts(mechanism, 400, seed), mechanism) for seed, mechanism in enumerate([BOLD, *OTHERS])]
    best = estimate_pool(groups, MLE(solver=solver))
    assert best.status is Status.CERTIFIED
    assert best.certificate <= 1e-6
    early = estimate_pool(groups, IBU(1.0))
    assert early.log_likelihood + early.certificate >= best.log_likelihood - 1e-6
    pool = [mechanism.observe(counts) for counts, mechanism in groups]
    for rival in (*np.eye(20), *random_distributions(20, (50,), 1)):
        likelihood = sum(evidence.log_likelihood(rival) for evidence in pool)
        assert likelihood <= best.log_likelihood + best.certificate + 1e-9
        assert likelihood <= early.log_likelihood + early.certificate + 1e-9


@pytest.mark.slow
def test_any_two_mechanisms_can_be_pooled() -> None:
    for seed, mechanism in enumerate(OTHERS):
        groups = [(drawn_counts(BOLD, 300, seed), BOLD), (drawn_counts(mechanism, 300, seed), mechanism)]
        for order in (groups, groups[::-1]):
            assert estimate_pool(order, MLE()).status is Status.CERTIFIED


@pytest.mark.slow
def test_two_groups_know_more_than_either() -> None:
    truth = np.random.default_rng(0).dirichlet(np.full(20, 0.5))
    people = np.random.default_rng(1)
    errors = []
    for seed in range(30):
        halves = [people.multinomial(1000, truth) for _ in range(2)]
        mechanisms = (BOLD, TruncatedGeometric(VALUES, 0.7))
        groups = [
            (mechanism.simulate_counts(half, rng=seed), mechanism)
            for half, mechanism in zip(halves, mechanisms, strict=True)
        ]
        answers = [estimate_pool(groups, IBU()), *(estimate_pool([group], IBU()) for group in groups)]
        errors.append([emd(answer.distribution, truth, VALUES) for answer in answers])
    pooled, bold, careful = np.mean(errors, axis=0)
    assert pooled < bold < careful


def test_groups_of_different_alphabets_are_refused() -> None:
    other = TruncatedGeometric(Integers(0, 9), 0.5)
    message = "All groups must have one alphabet; got Integers(0, 19) and Integers(0, 9)."
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        estimate_pool([(tally([1]), BOLD), (tally([1]), other)], IBU())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "Give at least one pair of counts and mechanism."),
        ([(tally([1]),)], "A group is a pair (counts, mechanism); got tuple."),
        ([(BOLD, tally([1]))], "counts must be Counts; got TruncatedGeometric."),
        ([(tally([1]), 0.5)], "mechanism must be a Mechanism such as TruncatedGeometric; got float."),
        ([tally([1])], "A group is a pair (counts, mechanism); got Counts."),
    ],
)
def test_what_is_no_group_is_refused(groups: list[tuple[object, object]], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        estimate_pool(groups, IBU())  # type: ignore[arg-type]  # the point of the test


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"method must be a Method such as IBU\(\); got the class IBU"):
        estimate_pool([(tally([1]), BOLD)], IBU)  # type: ignore[arg-type]  # the point of the test

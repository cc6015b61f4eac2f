"""Consistency: every mechanism's three conditions, and numbers that underflow where formulas do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.cases import each
from tests.cli.surveys import FINITE, UNBOUNDED, survey

import confide as cf
from confide.theory.identification import consistency, is_positive, largest_bound, log_smallest
from confide.theory.verdicts import Verdict
from confide.values.base import as_value


@each("name", FINITE)
def test_every_finite_mechanism(name: str) -> None:
    mechanism = survey(FINITE[name]).mechanism
    found = consistency(mechanism)
    assert found.continuity.is_yes
    assert found.dominance.is_yes
    assert found.verdict is found.identification.verdict
    if mechanism.has_channel:
        matrix = mechanism.channel.dense()
        matrix = matrix[:, matrix.max(axis=0) > 0]  # Blahut-Arimoto never reports some values
        assert log_smallest(mechanism) == pytest.approx(math.log(matrix.min()), rel=1e-9)
        # The bound holds for every distribution, and no log-probability of a report is larger.
        theta = np.random.default_rng(0).dirichlet(np.full(matrix.shape[0], 0.1), 100)
        assert np.abs(np.log(theta @ matrix)).max() <= -log_smallest(mechanism) + 1e-9


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values_are_not_covered(name: str) -> None:
    found = consistency(survey(UNBOUNDED[name]).mechanism)
    assert found.identification.is_yes
    assert found.verdict is found.dominance.verdict is Verdict.NOT_COVERED
    assert "compact" in found.dominance.reason


def test_rappor_by_listing_all_vectors() -> None:
    mechanism = cf.Rappor(cf.Integers(1, 5), 1.3)
    rows = np.array([np.array(mechanism.weights(index), dtype=float) for index in range(5)])
    matrix = rows / rows.sum(axis=1, keepdims=True)
    assert log_smallest(mechanism) == pytest.approx(math.log(matrix.min()), rel=1e-9)


def test_probabilities_too_small_for_a_float_are_still_positive() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 999), 2.0)
    assert mechanism.channel.dense().min() == 0.0
    found = consistency(mechanism)
    assert found.verdict is Verdict.YES
    assert found.dominance.numbers["dominating constant"] == pytest.approx(2.0 * 999, rel=1e-3)
    laplace = cf.TruncatedLaplace(cf.Integers(0, 999), 2.0)
    assert laplace.channel.dense().min() == 0.0
    assert 1990 < consistency(laplace).dominance.numbers["dominating constant"] < 2020


@pytest.mark.slow
def test_large_mechanisms_are_dominated_by_their_promise() -> None:
    for mechanism in (
        cf.TruncatedLaplace(cf.Integers(0, 2999), 0.01),
        cf.TruncatedPlanarGeometric(cf.Grid(50, 50), 0.1),
        cf.Remapped(cf.TruncatedLaplace(cf.Integers(0, 2999), 0.01), cf.Integers(0, 2998)),
    ):
        lowest = log_smallest(mechanism)
        corner = float(mechanism.channel.select(np.array([0])).min())
        assert lowest <= math.log(corner) < 0
        assert lowest > math.log(corner) - 30


def test_zeros_are_not_covered_and_columns_that_never_occur_do_not_matter() -> None:
    zeros = cf.FromMatrix(cf.Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]])
    found = consistency(zeros)
    assert (found.identification.verdict, found.verdict) == (Verdict.YES, Verdict.NOT_COVERED)
    assert found.continuity.verdict is found.dominance.verdict is Verdict.NOT_COVERED
    never = cf.FromMatrix(cf.Integers(0, 1), [[0.6, 0.0, 0.4], [0.5, 0.0, 0.5]])
    assert consistency(never).verdict is Verdict.YES
    merged = cf.Remapped(zeros, cf.Integers(0, 0), (0, 0))
    assert is_positive(merged)
    assert consistency(merged).verdict is Verdict.NO
    assert not is_positive(cf.Product(first=zeros, second=cf.RandomizedResponse(cf.Integers(0, 1), 1.0)))


@pytest.mark.parametrize("report", [-40, 0, 3, 9, 60])
def test_the_dominating_function_of_the_geometric_mechanism(report: int) -> None:
    mechanism = cf.Geometric(cf.Integers(0, 9), 0.7)
    numbers = consistency(mechanism).dominance.numbers
    rate, constant = numbers["lambda times spacing"], numbers["-log a"]
    bound = rate * (abs(report - 0) + 9) + constant
    evidence = mechanism.observe(cf.tally([report]))
    for theta in np.random.default_rng(0).dirichlet(np.full(10, 0.1), 50):
        assert abs(evidence.log_likelihood(theta)) <= bound


@pytest.mark.parametrize("report", [(-9, 3), (1, 1), (30, -30)])
def test_the_dominating_function_of_the_taxicab_mechanism(report: tuple[int, int]) -> None:
    mechanism = cf.Taxicab(cf.Grid(3, 4, spacing=0.5), 0.7)
    numbers = consistency(mechanism).dominance.numbers
    bound = numbers["lambda times spacing"] * (abs(report[0]) + abs(report[1]) + 5) + numbers["-2 log a"]
    evidence = mechanism.observe(cf.tally([report]))
    for theta in np.random.default_rng(0).dirichlet(np.full(12, 0.1), 50):
        assert abs(evidence.log_likelihood(theta)) <= bound


@pytest.mark.parametrize(
    "mechanism",
    [
        cf.TruncatedGeometric(cf.Integers(0, 9), 0.3),
        cf.WrappedGeometric(cf.Hours(), 0.3),
        cf.WrappedGeometric(cf.Weekdays(), 0.3),
        cf.TruncatedTaxicab(cf.Grid(3, 4, spacing=0.5), 0.3),
        cf.RandomizedResponse(cf.Categories(["a", "b"]), 0.3),
        cf.Product(hour=cf.WrappedGeometric(cf.Hours(), 0.3), age=cf.TruncatedGeometric(cf.Integers(0, 4), 0.2)),
        cf.Exponential(cf.Attributes(day=cf.Weekdays(), age=cf.Integers(0, 4)), 0.3),
    ],
    ids=lambda one: repr(one)[:30],
)
def test_the_largest_bound_is_exceeded_for_no_two_values(mechanism: cf.Mechanism) -> None:
    # On a circle the corners of the box around all values, such as 0 and 23 o'clock, are neighbours.
    values = [as_value(one) for one in mechanism.alphabet.decode(range(mechanism.alphabet.size)).tolist()]
    farthest = max(mechanism.guarantee.bound(left, right) for left in values[:24] for right in values)
    assert largest_bound(mechanism.guarantee, mechanism.alphabet) >= farthest * (1 - 1e-12)
    if isinstance(mechanism, cf.WrappedGeometric):
        assert largest_bound(mechanism.guarantee, mechanism.alphabet) == pytest.approx(farthest)

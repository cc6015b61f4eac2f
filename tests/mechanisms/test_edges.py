"""Edges of mechanisms: far from zero, and over more values than an array can hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide import Grid, Integers, Lattice, Mechanism
from confide.errors import BrokenPromiseError, InvalidDistributionError, InvalidParameterError

HUGE_LINE, HUGE_GRID = Integers(0, 10**10), Grid(100_000, 100_000)

HUGE = [
    cf.TruncatedGeometric(HUGE_LINE, 0.05),
    cf.TruncatedLaplace(HUGE_LINE, 0.05),
    cf.Exponential(HUGE_LINE, 0.05),
    cf.Geometric(HUGE_LINE, 0.05),
    cf.Laplace(HUGE_LINE, 0.05),
    cf.RandomizedResponse(HUGE_LINE, 1.0),
    cf.Taxicab(HUGE_GRID, 0.05),
    cf.TruncatedTaxicab(HUGE_GRID, 0.05),
    cf.PlanarGeometric(HUGE_GRID, 0.05),
    cf.PlanarLaplace(HUGE_GRID, 0.05),
]

TABLES = [cf.TruncatedPlanarGeometric(HUGE_GRID, 0.05), cf.TruncatedPlanarLaplace(HUGE_GRID, 0.05)]


@pytest.mark.parametrize("mechanism", HUGE, ids=repr)
def test_huge_alphabets_are_blurred_without_an_array_and_estimated_not_at_all(mechanism: Mechanism) -> None:
    values = mechanism.alphabet.decode([5, 10**6, mechanism.alphabet.size - 1])
    reports = mechanism.privatize(values, rng=1)
    counts = cf.tally(reports)
    mechanism.refuse_strays(counts)
    for ask in (lambda: cf.estimate(counts, mechanism), lambda: cf.diagnose(counts, mechanism)):
        with pytest.raises(InvalidParameterError, match=r"too many for an array over all of them.*fewer or coarser"):
            ask()


@pytest.mark.parametrize("mechanism", [one for one in HUGE if not isinstance(one, cf.RandomizedResponse)], ids=repr)
def test_huge_alphabets_are_audited_by_structure(mechanism: Mechanism) -> None:
    found = cf.audit(mechanism, reports=2000)
    assert found.holds
    assert found.draws.reports > 0


@pytest.mark.parametrize("mechanism", TABLES, ids=repr)
def test_a_table_of_displacements_that_does_not_fit_is_refused(mechanism: Mechanism) -> None:
    with pytest.raises(InvalidParameterError, match="too many for an array over all of them"):
        mechanism.privatize([(1, 2)], rng=1)


# Reports that float64 cannot hold.

MILLISECONDS = 1_790_000_000_000


def test_laplace_around_timestamps_is_refused_with_a_cure() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"up to 2\^35; got 1790000000000. Count from a later start or in coa"
    ):
        cf.Laplace(Integers(MILLISECONDS - 10, MILLISECONDS), 0.1)
    with pytest.raises(InvalidParameterError, match=r"up to 2\^35; got"):
        cf.Laplace(Integers(0, 2**35 + 1), 0.1)
    with pytest.raises(InvalidParameterError, match=r"up to 2\^35; got 1790000000000"):
        cf.Laplace(Integers(), 0.1).privatize([MILLISECONDS], rng=1)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0])
def test_laplace_accepts_its_own_reports_up_to_the_limit(epsilon: float) -> None:
    for alphabet in (Integers(2**35 - 5, 2**35), Integers()):
        mechanism = cf.Laplace(alphabet, epsilon)
        mechanism.refuse_strays(cf.tally(mechanism.privatize([2**35] * 1000, rng=1)))


def test_planar_laplace_far_from_its_origin_is_refused_with_a_cure() -> None:
    with pytest.raises(InvalidParameterError, match=r"up to row and column 2\^39.*from a nearer origin"):
        cf.PlanarLaplace(Grid(2, 2, first_row=2**40), 1.0)
    for alphabet in (Grid(2, 2, first_row=2**39 - 2), Lattice()):
        mechanism = cf.PlanarLaplace(alphabet, 1e-6)
        values = alphabet.decode(np.zeros(1000, dtype=np.int64))
        mechanism.refuse_strays(cf.tally(mechanism.privatize(values, rng=1)))


def test_masked_probabilities_are_refused() -> None:
    matrix = np.ma.masked_array(np.eye(2), mask=[[True, False], [False, False]])
    with pytest.raises(InvalidParameterError, match="1 of 4 entries of the matrix are masked"):
        cf.FromMatrix(cf.Integers(0, 1), matrix)
    start = np.ma.masked_array([0.5, 0.5], mask=[True, False])
    mechanism = cf.RandomizedResponse(cf.Integers(0, 1), 1.0)
    with pytest.raises(InvalidDistributionError, match="1 of 2 entries of start are masked"):
        cf.estimate(cf.tally([0, 1]), mechanism, cf.IBU(start=start))


def test_a_matrix_just_over_its_promise_says_by_how_much() -> None:
    odds = math.exp(1.0) * (1 + 1e-9)
    matrix = np.array([[odds, 1.0], [1.0, odds]]) / (1 + odds)
    with pytest.raises(BrokenPromiseError, match=r"e\^1\.000000001 times as likely .* at most e\^1 is promised"):
        cf.FromMatrix(cf.Integers(0, 1), matrix, promise=cf.mechanisms.LocalDP(1.0))

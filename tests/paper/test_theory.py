"""The paper's examples on concavity, uniqueness, consistency and inversion, as the diagnosis answers them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import (
    IBU,
    Categories,
    Counts,
    FromMatrix,
    Grid,
    Integers,
    RandomizedResponse,
    Rappor,
    Remapped,
    TruncatedGeometric,
    TruncatedPlanarGeometric,
    TruncatedTaxicab,
    datasets,
    diagnose,
    estimate,
    tally,
)
from confide.estimates.diagnosis import describe_bound
from confide.mechanisms.randomized_response import krr_bound
from confide.theory.maximum_set import concavity_chance
from confide.theory.verdicts import Verdict

ALPHABET = Categories([1, 2, 3])

DEPENDS_ON_OBSERVATIONS = FromMatrix(ALPHABET, [[0.10, 0.45, 0.45], [0.45, 0.10, 0.45], [0.45, 0.45, 0.10]])
"""Equation sconcavity_depends_on_observations."""

UNIQUE_BUT_NOT_STRICT = FromMatrix(ALPHABET, [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
"""Equation mle_unique_likelihood_not_s_concave."""

YES, NO = Verdict.YES, Verdict.NO


@pytest.mark.parametrize(
    ("mechanism", "reports", "verdicts"),
    [
        (DEPENDS_ON_OBSERVATIONS, [2], (YES, YES, NO, NO)),
        (DEPENDS_ON_OBSERVATIONS, [2, 1], (YES, YES, YES, YES)),
        (UNIQUE_BUT_NOT_STRICT, [2, 2, 2, 2], (NO, NO, NO, YES)),
        (UNIQUE_BUT_NOT_STRICT, [2, 2, 2, 2, 1, 3], (NO, NO, NO, NO)),
    ],
    ids=["{2}", "{2,1}", "{2,2,2,2}", "{2,2,2,2,1,3}"],
)
def test_the_three_by_three_examples(
    mechanism: FromMatrix, reports: list[int], verdicts: tuple[Verdict, Verdict, Verdict, Verdict]
) -> None:
    answer = diagnose(tally(reports), mechanism)
    assert answer.concavity is not None
    assert answer.uniqueness is not None
    found = (
        answer.identification.verdict,
        answer.consistency.verdict,
        answer.concavity.verdict,
        answer.uniqueness.verdict,
    )
    assert found == verdicts


def test_two_reports_are_strictly_concave_without_the_corollary() -> None:
    # The paper: this case also shows that the condition in the corollary is not necessary.
    concavity = diagnose(tally([2, 1]), DEPENDS_ON_OBSERVATIONS).concavity
    assert concavity is not None
    assert concavity.distinct == 2
    assert concavity.source == "theorem strictconcavity"


def test_the_sets_of_the_three_by_three_examples() -> None:
    # The first set is an edge, the next two are corners; in the last the share of 2 is known and the rest is free.
    cases: list[tuple[FromMatrix, list[int], list[float], list[float]]] = [
        (DEPENDS_ON_OBSERVATIONS, [2], [0, 0, 0], [1, 0, 1]),
        (DEPENDS_ON_OBSERVATIONS, [2, 1], [0, 0, 1], [0, 0, 1]),
        (UNIQUE_BUT_NOT_STRICT, [2, 2, 2, 2], [0, 1, 0], [0, 1, 0]),
        (UNIQUE_BUT_NOT_STRICT, [2, 2, 2, 2, 1, 3], [0, 17 / 24, 0], [7 / 24, 17 / 24, 7 / 24]),
    ]
    for mechanism, reports, lowest, highest in cases:
        best = diagnose(tally(reports), mechanism).maximum_set
        np.testing.assert_allclose(best.lowest, lowest, atol=1e-9)
        np.testing.assert_allclose(best.highest, highest, atol=1e-9)


def test_the_second_example_is_consistent_on_its_partition() -> None:
    parts = diagnose(None, UNIQUE_BUT_NOT_STRICT).partition
    assert parts is not None
    assert parts.labels == ("{1, 3}", "2")
    assert parts.identification.verdict is YES
    assert diagnose(None, parts.quotient).consistency.verdict is YES


# San Francisco, 5 x 5 cells reported as 4 x 4.

CITY = datasets.san_francisco()
REMAPPED = Remapped(TruncatedPlanarGeometric(Grid(5, 5, unit="km"), 0.5), Grid(4, 4, unit="km"))


def test_three_starts_end_in_three_places_of_the_reported_set() -> None:
    asymptotic = Counts(REMAPPED.outputs.decode(np.arange(16)), 1e6 * CITY.distribution @ REMAPPED.channel.dense())
    answer = diagnose(asymptotic, REMAPPED)
    assert answer.identification.verdict is answer.consistency.verdict is NO
    assert answer.uniqueness is not None
    assert answer.uniqueness.verdict is NO
    best = answer.maximum_set
    assert best.dimension == 9
    assert best.contains(CITY.distribution, 1e-6)
    rng = np.random.default_rng(0)
    starts = [best.furthest(rng.standard_normal(25)) for _ in range(3)]
    ends = [
        # Mixed with the truth: a start may not have zeros.
        estimate(asymptotic, REMAPPED, IBU(1e-9, start=0.9 * start + 0.1 * CITY.distribution, iteration_limit=200))
        for start in starts
    ]
    for end in ends:
        assert best.contains(end.distribution, 1e-4)
        assert end.log_likelihood == pytest.approx(ends[0].log_likelihood, abs=1e-6)
        assert (end.distribution >= best.lowest - 1e-6).all()
        assert (end.distribution <= best.highest + 1e-6).all()
        assert end.certificate < 1e-3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(ends[one].distribution - ends[other].distribution).sum() > 0.1


@pytest.mark.slow
def test_free_starts_end_near_the_reported_set() -> None:
    asymptotic = Counts(REMAPPED.outputs.decode(np.arange(16)), 1e6 * CITY.distribution @ REMAPPED.channel.dense())
    best = diagnose(asymptotic, REMAPPED).maximum_set
    rng = np.random.default_rng(1)
    ends = [
        estimate(asymptotic, REMAPPED, IBU(1e-4, start=rng.dirichlet(np.ones(25)), iteration_limit=100_000))
        for _ in range(3)
    ]
    for end in ends:
        assert best.contains(end.distribution, 0.02)
        assert (end.distribution >= best.lowest - 0.02).all()
        assert (end.distribution <= best.highest + 0.02).all()
    assert np.abs(ends[0].distribution - ends[1].distribution).sum() > 0.1


def test_no_district_of_san_francisco_is_identified_but_everything_is() -> None:
    answer = diagnose(None, REMAPPED)
    assert answer.query("row <= 1").identification.verdict is NO
    assert answer.query("row >= 0").identification.verdict is YES


# RAPPOR and inversion.


def test_rappor_is_nearly_surely_strictly_concave_after_25_people() -> None:
    mechanism = Rappor(Integers(1, 10), 1.0)
    keep = math.exp(0.5) / (1 + math.exp(0.5))
    expected = math.prod(max(0.0, 1 - keep**25 * 2 ** (k - 1)) for k in range(1, 11))
    assert concavity_chance(mechanism, 25) == pytest.approx(expected, rel=1e-9)
    assert concavity_chance(mechanism, 25) > 0.99
    assert concavity_chance(mechanism, 40) > 0.999
    assert concavity_chance(mechanism, 12) < 0.05


def test_the_four_numbers_of_inversion() -> None:
    manhattan = datasets.manhattan().alphabet
    assert isinstance(manhattan, Grid)
    ages = Integers(0, 99)
    bounds = [
        RandomizedResponse(ages, 2.0).facts.inversion_bound,
        TruncatedGeometric(ages, 0.05).facts.inversion_bound,
        RandomizedResponse(manhattan, 2.5).facts.inversion_bound,
        TruncatedTaxicab(manhattan, 0.2).facts.inversion_bound,
    ]
    assert all(bound is not None and bound.holds for bound in bounds)
    numbers = [round(bound.per_report, 1) for bound in bounds if bound is not None]
    assert numbers == [277.3, 7818.5, 678.0, 662648.6]
    assert [f"{number:.2f}" for number in (krr_bound(100, 2.0).per_report, krr_bound(280, 2.5).per_report)] == [
        "277.28",
        "678.04",
    ]
    assert [bound.kind for bound in bounds if bound is not None] == ["at most", "at least", "at most", "at least"]


def test_the_misprints_are_said_where_they_are_shown() -> None:
    geometric = TruncatedGeometric(Integers(0, 99), 0.05).facts.inversion_bound
    assert geometric is not None
    assert "the paper prints 227.28" in describe_bound(krr_bound(100, 2.0))
    assert "the paper prints 7238" in describe_bound(geometric)
    assert "the paper prints" not in describe_bound(krr_bound(280, 2.5))

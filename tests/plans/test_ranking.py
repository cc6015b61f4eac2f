"""Which mechanism: closed forms against the matrix and against simulated surveys, and what the command line says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.plans import ranking
from confide.plans.ranking import rank, rank_like, share_error, usual_mechanism


def words(size: int) -> cf.Categories:
    return cf.Categories([f"city {number}" for number in range(size)])


KINDS = [cf.RandomizedResponse, cf.OptimizedUnary, cf.SubsetSelection, cf.LocalHashing, cf.ProjectiveGeometryResponse]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_error_of_a_share_is_that_of_simulated_surveys(kind: type[cf.Mechanism]) -> None:
    mechanism, people = kind(words(12), 1.0), 1_200  # type: ignore[call-arg]
    values, generator = words(12).decode(np.repeat(np.arange(12), people // 12)), np.random.default_rng(1)
    found = []
    for _ in range(60):
        counts = cf.tally(mechanism.privatize(values, rng=generator))
        found.append(cf.estimate(counts, mechanism, cf.Inversion("none")).distribution)
    # The people are fixed here, so the sampling of people is missing: a share of 1/12 of them.
    sampled = 1 / 12 * 11 / 12 / people
    expected = (share_error(mechanism, people) or math.nan) ** 2 / 1.96**2 - sampled
    assert np.mean((np.array(found) - 1 / 12) ** 2) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("size", [2, 5, 30])
def test_closed_forms_agree_with_the_cramer_rao_bound(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    response, geometry = (kind(words(size), 1.0) for kind in (cf.RandomizedResponse, cf.ProjectiveGeometryResponse))
    closed = [share_error(one, 1_000) for one in (response, geometry)]
    monkeypatch.setattr(ranking, "_chances", lambda _: None)
    bounds = [share_error(one, 1_000) for one in (response, geometry)]
    assert closed[0] == pytest.approx(bounds[0])  # a square matrix: one unbiased estimate
    assert bounds[1] <= closed[1] <= 1.15 * bounds[1]  # type: ignore[operator]


def test_few_categories_take_randomized_response_and_many_do_not() -> None:
    assert rank(words(2), 1.0, people=1_000).best.kind == "randomized-response"
    many = rank(words(100), 1.0, people=20_000)
    assert many.best.kind == "projective-geometry"
    by_kind = {one.mechanism.kind: one for one in many.candidates}
    assert by_kind["randomized-response"].error > 3 * many.candidates[0].error
    assert by_kind["subset-selection"].bits == 100
    assert by_kind["projective-geometry"].bits == 7
    # Accuracy first: nobody who errs by over 1.5 % more stands before one who does not.
    assert by_kind["projective-geometry"].work < 2_000 < 20_000 * 13 == by_kind["subset-selection"].work
    # Where few categories hold most people, k-RR has a third more squared error than its 4 % at equal shares.
    assert rank(words(100), 4.0, people=20_000).best.kind == "subset-selection"
    errors = [one.error for one in many.candidates]
    assert all(later >= earlier / ranking.ALIKE for earlier, later in itertools.pairwise(errors))
    assert all(one.mechanism.guarantee == cf.mechanisms.LocalDP(1.0) for one in many.candidates)
    assert rank(words(100), 1.0, people=80_000).candidates[0].error == pytest.approx(many.candidates[0].error / 2)


def test_ordered_values_take_the_square_wave_or_metric_noise_by_the_promise() -> None:
    local = rank(cf.Integers(0, 19, unit="year"), 1.0, people=50_000)
    assert local.best.kind == "square-wave"
    assert local.unit == "year"
    metric = rank(cf.Integers(0, 19, unit="year"), 0.2, people=2_000, promise="metric")
    assert {one.mechanism.kind for one in metric.candidates} >= {"truncated-geometric", "truncated-laplace"}
    assert all(isinstance(one.mechanism.guarantee, cf.mechanisms.MetricPrivacy) for one in metric.candidates)
    asked = rank(cf.Integers(0, 19), 1.0, people=2_000, query="value >= 10")
    assert asked.measure == "95% half-width of value >= 10"


def test_the_usual_mechanism() -> None:
    assert usual_mechanism(words(3), 1.0).kind == "randomized-response"
    assert usual_mechanism(words(200), 1.0).kind == "projective-geometry"


def test_wrong_use() -> None:
    with pytest.raises(InvalidParameterError, match="promise must be"):
        rank(words(3), 1.0, people=10, promise="central")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="people must be"):
        rank(words(3), 1.0, people=0)
    answer = cf.RandomizedResponse(words(2), 1.0)
    with pytest.raises(InvalidParameterError, match="this promise has several"):
        rank_like(cf.Product(one=answer, other=cf.TruncatedGeometric(cf.Integers(0, 9), 0.1)), people=9)
    with pytest.raises(InvalidParameterError, match=r"exotic cannot be ranked .* Choose from: .*; or all"):
        rank_like(cf.RandomizedResponse(words(3), 1.0), people=10, only="exotic")

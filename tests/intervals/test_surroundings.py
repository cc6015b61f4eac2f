"""Unbounded values: what the reports allow reaches farther than what explains them best."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from confide import (
    IBU,
    MLE,
    Categories,
    Geometric,
    Grid,
    Integers,
    Lattice,
    PlanarGeometric,
    PlanarLaplace,
    RandomizedResponse,
    Taxicab,
    estimate,
    tally,
)
from confide.errors import InvalidParameterError
from confide.estimates import Bootstrap, Estimate, Likelihood
from confide.estimates.inference import inference
from confide.estimates.inference.inference import allowed_fall, surround
from confide.values import Selection

pytestmark = pytest.mark.slow

QUICK = Likelihood(replicates=40)
FALL = allowed_fall(0.95)


@pytest.mark.parametrize("people", [1, 3, 10])
def test_few_reports_hold_the_truth_as_often_as_they_say(people: int) -> None:
    """Among the likely values alone, one report holds neither more than once in five times."""
    mechanism = Geometric(Integers(), 0.1)
    held = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        reports = mechanism.privatize(generator.integers(0, 60, people), rng=generator)
        answer = estimate(tally(reports), mechanism, MLE())
        share, mean = answer.query("age >= 30", basis=QUICK), answer.mean(basis=QUICK)
        held.append((share.contains(0.5), mean.contains(29.5)))
    assert (np.mean(held, axis=0) >= 0.85).all()


def test_one_report_leaves_nearly_everything_open() -> None:
    answer = estimate(tally([47]), Geometric(Integers(), 0.05))
    near = answer.query("age >= 40")
    assert (near.low, near.high) == (0, 1)
    # The report must keep a probability of e^-1.92 of what it could have; all else may be anywhere.
    beyond = answer.query("age >= 2000")
    assert beyond.estimate == beyond.low == 0
    assert beyond.high == pytest.approx(1 - math.exp(-FALL), abs=1e-3)


@pytest.mark.parametrize("kind", [PlanarGeometric, PlanarLaplace, Taxicab])
def test_one_cell_too(kind: type[PlanarGeometric | PlanarLaplace | Taxicab]) -> None:
    answer = estimate(tally([(3, 4)]), kind(Lattice(), 0.5), IBU())
    assert tuple(answer.query("row >= 2", basis=QUICK)) == (0, 1)
    low, high = answer.query("row >= 3000 and column <= 4", basis=QUICK)
    assert low == 0
    assert high == pytest.approx(1 - math.exp(-FALL), abs=1e-3)


@pytest.fixture(name="many", scope="module")
def fixture_many() -> Estimate:
    mechanism = Geometric(Integers(), 0.1)
    people = np.random.default_rng(1).integers(0, 60, 12_000)
    return estimate(tally(mechanism.privatize(people, rng=1)), mechanism, IBU())


@pytest.mark.parametrize("query", ["value >= 200", "value >= 100000", "value == 3000", lambda value: value > 900])
def test_a_query_for_values_that_nobody_has_is_answered(many: Estimate, query: Any) -> None:
    answer = many.query(query, basis=QUICK)
    assert answer.estimate == answer.low == 0
    # A share s of people who explain nothing costs n log(1 - s) nats.
    assert answer.high == pytest.approx(1 - math.exp(-FALL / 12_000), rel=0.02)


@pytest.mark.parametrize("query", ["value < 1000", "value != 3000", "not value == 3000"])
def test_a_query_for_all_but_those_too(many: Estimate, query: str) -> None:
    answer = many.query(query, basis=QUICK)
    assert (answer.estimate, answer.high) == pytest.approx((1, 1))
    assert 1 - answer.low == pytest.approx(1 - math.exp(-FALL / 12_000), rel=0.02)


def test_a_query_between_is_answered_from_between(many: Estimate) -> None:
    narrow = many.query("value in 20..40", basis=QUICK)
    assert 0 < narrow.low < 0.35 < narrow.high < 1


def test_the_words_say_how_far_was_looked_and_that_a_mean_has_no_bound(many: Estimate) -> None:
    mean, query = many.mean(basis=QUICK), many.query("value < 9", basis=QUICK)
    for words in (mean.rests_on, query.rests_on):
        assert "100 steps around the likely ones, farther than which a value explains nothing, counts whose" in words
    assert "a tiny share very far out moves it at will" in mean.rests_on
    assert "far out" not in query.rests_on
    narrow = many.query("value >= 200", basis=Bootstrap(40))
    assert "none but the likely values" in narrow.rests_on


def test_given_weights_are_one_for_each_value_of_the_estimate(many: Estimate) -> None:
    size = many.alphabet.size
    ones = many.query(np.ones(size), basis=QUICK)
    assert (ones.estimate, ones.high) == pytest.approx((1, 1))
    assert ones.low < 1
    with pytest.raises(InvalidParameterError, match="one weight for each"):
        many.query(np.ones(size + 1), basis=QUICK)


def test_a_finite_alphabet_still_refuses_what_is_not_there() -> None:
    response = RandomizedResponse(Integers(0, 3), 1.0)
    answer = estimate(tally([0, 1], [5, 9]), response, IBU())
    with pytest.raises(InvalidParameterError, match="asks for none"):
        answer.query("x >= 200")
    words = RandomizedResponse(Categories(["a", "b"]), 1.0)
    assert estimate(tally(["a"]), words, IBU()).query("x == a").high == 1


def test_a_band_is_over_the_values_of_the_estimate() -> None:
    answer = estimate(tally([3, 4, 6], [4, 5, 2]), Geometric(Integers(), 0.5), MLE())
    band = answer.interval(basis=QUICK)
    assert band.low.shape == (answer.alphabet.size,)
    assert band.at(4).high == answer.query("v == 4", basis=QUICK).high


# How far.


def test_surroundings_hold_the_likely_values() -> None:
    scattered = Selection(Integers(), np.array([3, 5, 10**9]))
    likely: Integers | Grid | Selection
    for likely in (Integers(3, 9), Grid(2, 3, first_row=-4), Grid(3, 3, holes=[(1, 1)]), scattered):
        around = surround(likely, 0.5, 10)
        values = around.alphabet.decode(around.likely)
        assert np.array_equal(values, likely.decode(np.arange(likely.size)))
        assert around.steps == around.wanted == 20
        assert around.spread(np.ones(likely.size)).sum() == likely.size


def test_too_many_cells_are_not_added_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    around = surround(Grid(100, 100), 0.01, 10)
    assert around.alphabet.size <= inference.LARGEST_PLANE
    assert 0 < around.steps < around.wanted == 1000
    assert "may be too narrow" in around.explain()
    assert surround(Grid(200, 200), 0.01, 10).alphabet == Grid(200, 200)
    assert surround(Integers(0, 10**6), 0.01, 10).steps == 0
    monkeypatch.setattr(inference, "MOST_STORED", 2000)
    assert surround(Grid(2, 2), 0.5, 10).alphabet.size <= 200
    assert surround(Integers(0, 9), None, 10).alphabet == Integers(0, 9)

"""What a curve says about halving an error, where it says nothing, and how sure it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide.plans.planning import Curve, Halving, Obstacle, fit_slope
from confide.plans.records import headline
from confide.plans.simulations import Prediction, student

RESPONSE = cf.RandomizedResponse(cf.Categories(["a", "b"]), epsilon=1.0)


def curve(*errors: float, relative: float = 0.01, repeats: int = 9) -> Curve:
    """Return a curve at 1, 4, 16 and so on."""
    places = tuple(4.0**step for step in range(len(errors)))
    return Curve("people", places, tuple(Prediction(one, relative * one, repeats) for one in errors))


def test_half_the_error_is_found_among_the_points() -> None:
    found = curve(0.8, 0.4, 0.2).halve(1.0)
    assert isinstance(found, Halving)
    assert found.factor == pytest.approx(4)
    assert not found.is_extrapolated
    barely = curve(1.0, 0.501, 0.499).halve(1.0)  # flat where it crosses, but it crosses
    assert isinstance(barely, Halving)
    assert 4 < barely.factor < 16


def test_the_slope_goes_on_beyond_the_points() -> None:
    found = curve(0.8, 0.6).halve(1.0)
    assert isinstance(found, Halving)
    assert found.is_extrapolated
    assert found.factor == pytest.approx(2 ** (math.log(4) / math.log(4 / 3)))


def test_where_nothing_above_was_simulated_the_slope_below_goes_on() -> None:
    found = curve(0.8, 0.4, 0.2).halve(16.0)
    assert isinstance(found, Halving)
    assert found.is_extrapolated
    assert found.factor == pytest.approx(4)
    assert found.low < 4 < found.high


@pytest.mark.parametrize(
    ("errors", "place", "obstacle"),
    [
        ((0.5, 0.499, 0.498), 1.0, Obstacle.FLAT),
        ((0.5, 0.499, 0.498), 16.0, Obstacle.FLAT),
        ((0.4, 0.5), 1.0, Obstacle.FLAT),
        ((0.0, 0.5), 4.0, Obstacle.FLAT),
        ((0.0, 0.0), 1.0, Obstacle.NO_ERROR),
        ((0.5,), 1.0, Obstacle.NOT_SIMULATED),
        ((0.5, 0.45), 1.0, Obstacle.TOO_FAR),
        ((0.5, 0.45), 4.0, Obstacle.TOO_FAR),
    ],
)
def test_why_there_is_no_factor(errors: tuple[float, ...], place: float, obstacle: Obstacle) -> None:
    assert curve(*errors).halve(place) is obstacle


def test_an_error_that_vanishes_is_halved_by_then() -> None:
    found = curve(0.8, 0.6, 0.0).halve(1.0)
    assert isinstance(found, Halving)
    assert (found.low, found.factor, found.high) == (4.0, 16.0, 16.0)


@pytest.mark.slow
def test_sentences_on_halving_are_true() -> None:
    most = cf.plan(RESPONSE, [0.6, 0.4], people=10**9, method=cf.IBU(), repeats=6, cache=False)
    assert most.halving is not None
    assert most.halving.is_extrapolated  # nobody simulated more than the most
    assert "extrapolated) the people" in headline(most)
    certain = cf.RandomizedResponse(cf.Categories(["a", "b"]), epsilon=30.0)
    none = cf.plan(certain, [1.0, 0.0], people=50, method=cf.MLE(), repeats=4, cache=False)
    assert none.obstacle is Obstacle.NO_ERROR
    assert "total variation of 0; nothing is left to halve." in headline(none)
    blind = cf.FromMatrix(cf.Categories(["a", "b"]), [[0.5, 0.5], [0.5, 0.5]])
    never = cf.plan(blind, [0.9, 0.1], people=50, method=cf.IBU(), repeats=4, cache=False)
    assert "more people do not lower it, as far as was simulated." in headline(never)


def test_a_slope_and_its_margin() -> None:
    assert fit_slope({1.0: Prediction(0.5, 0.1, 9)}) is None
    slope = curve(0.8, 0.4, 0.2, repeats=4).slope(4.0)
    assert slope is not None
    assert slope.exponent == pytest.approx(-0.5)
    assert slope.margin == pytest.approx(3.1824 * slope.standard_error, rel=1e-4)


@pytest.mark.parametrize("repeats", [4, 24])
@pytest.mark.parametrize("places", [(1.0, 4.0, 16.0), (0.25, 1.0), (1.0, 2.0)], ids=["between", "below", "beyond"])
def test_ranges_hold_95_percent_and_are_not_far_too_wide(places: tuple[float, ...], repeats: int) -> None:
    """Errors that fall by a known power law, measured independently; four times the place halves them."""
    generator, inside, near = np.random.default_rng(1), 0, 0
    for _ in range(600):
        drawn = [place**-0.5 * (1 + 0.1 * generator.standard_normal(repeats)) for place in places]
        points = tuple(Prediction(one.mean(), one.std(ddof=1) / math.sqrt(repeats), repeats) for one in drawn)
        found = Curve("people", places, points).halve(1.0)
        inside += isinstance(found, Halving) and found.low <= 4 <= found.high
        near += (
            isinstance(found, Halving)
            and found.factor * (found.low / found.factor) ** 0.3
            <= 4
            <= found.factor * (found.high / found.factor) ** 0.3
        )
    assert inside >= 0.93 * 600
    assert near <= 0.75 * 600


@pytest.mark.parametrize("relative", [0.01, 0.03])
def test_the_range_of_an_extrapolation_is_by_the_slope(relative: float) -> None:
    """How far off the last point is, and how far off the slope that goes on from there; both over the slope."""
    found = curve(0.8, 0.6, relative=relative).halve(1.0)
    assert isinstance(found, Halving)
    exponent = math.log(0.6 / 0.8) / math.log(4)
    both = math.hypot(*[student(9) * relative] * 2)
    ahead = math.log(2 * 0.6 / 0.8) / -exponent
    width = (both + ahead * both / math.log(4)) / -exponent
    assert math.log(found.high / found.factor) == pytest.approx(width)
    assert found.low == pytest.approx(max(1.0, found.factor * math.exp(-width)))


def test_a_slope_trusts_what_is_known_well() -> None:
    points = {1.0: Prediction(1.0, 0.002, 9), 4.0: Prediction(0.5, 0.001, 9), 16.0: Prediction(0.9, 0.2, 9)}
    found = fit_slope(points)
    assert found is not None
    assert found.exponent == pytest.approx(-0.5, abs=0.01)

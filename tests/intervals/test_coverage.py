"""How often intervals hold the truth. Each test would fail if the intervals were half as wide, or twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from confide import (
    IBU,
    MLE,
    Bootstrap,
    Estimate,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedTaxicab,
    estimate,
    tally,
)
from confide.channels.base import FloatArray
from confide.intervals import Interval

REPEATS = 100
FEWEST, MOST = 0.90, 0.995


Asked = list[tuple[Interval, float]]
"""Intervals, each with the true answer."""


def check(mechanism: Mechanism, truth: FloatArray, people: int, ask: Callable[[Estimate], Asked]) -> None:
    """Check that intervals hold as often as they say, and that half of their width, or twice it, would not."""
    shares = mechanism.channel.push(truth)
    generator = np.random.default_rng(5)
    asked: Asked = []
    for _ in range(REPEATS):
        drawn = generator.multinomial(people, shares)
        counts = tally(mechanism.report_alphabet.decode(np.arange(drawn.size)), drawn)
        asked += ask(estimate(counts, mechanism, IBU()))
    assert FEWEST <= coverage(asked, 1.0) <= MOST
    assert coverage(asked, 0.5) < FEWEST
    assert coverage(asked, 2.0) > MOST


def coverage(asked: Asked, stretch: float) -> float:
    """Return the share of intervals, each stretched about its middle, that hold the true answer."""
    return float(np.mean([abs(true - (one.low + one.high) / 2) <= stretch * one.width / 2 for one, true in asked]))


SMOOTH = np.exp(-((np.arange(10) - 4) ** 2) / 8.0) + 0.05
SPIKY = np.array([0, 0.3, 0, 0, 0.2, 0.2, 0, 0.25, 0, 0.05])


@pytest.mark.parametrize("truth", [SMOOTH / SMOOTH.sum(), SPIKY / SPIKY.sum()], ids=["smooth", "spiky"])
def test_broad_queries_on_a_line(truth: FloatArray) -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.8)

    def ask(answer: Estimate) -> Asked:
        return [(answer.query("x >= 6"), truth[6:].sum()), (answer.query("3 <= x < 7"), truth[3:7].sum())]

    check(mechanism, truth, 3000, ask)


def test_the_mean() -> None:
    truth = SMOOTH / SMOOTH.sum()

    def ask(answer: Estimate) -> Asked:
        return [(answer.mean(), float(truth @ np.arange(10)))]

    check(TruncatedGeometric(Integers(0, 9), 0.3), truth, 2000, ask)


def test_values_under_randomized_response() -> None:
    truth = np.array([0.4, 0.3, 0.2, 0.1])

    def ask(answer: Estimate) -> Asked:
        band = answer.interval(basis=Bootstrap(100))
        return [(answer.query("x == 1"), 0.3), (band.at(0), 0.4)]

    check(RandomizedResponse(Integers(0, 3), 1.0), truth, 3000, ask)


def test_districts_of_a_grid() -> None:
    grid = Grid(3, 3)
    truth = np.linspace(1, 3, 9) / np.linspace(1, 3, 9).sum()
    weights = [np.isin(np.arange(9), chosen).astype(float) for chosen in ([0, 1, 3, 4], [6, 7, 8])]

    def ask(answer: Estimate) -> Asked:
        return [(answer.query(one), float(one @ truth)) for one in weights]

    check(TruncatedTaxicab(grid, 2.0), truth, 3000, ask)


def test_the_band_of_the_maximum_holds_for_each_value() -> None:
    mechanism = TruncatedGeometric(Integers(0, 2), 1.0)
    truth = np.array([0.2, 0.5, 0.3])

    def ask(answer: Estimate) -> Asked:
        band = estimate(answer.groups[mechanism], mechanism, MLE()).interval()
        return [(band.at(value), float(truth[value])) for value in range(3)]

    check(mechanism, truth, 2000, ask)

"""How often intervals hold the truth. Each test would fail if the intervals were half as wide, or twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from confide import (
    IBU,
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
from confide.estimates import Bootstrap, Estimate, Likelihood
from confide.estimates.inference import Basis, Interval
from confide.estimates.inference.inference import allowed_fall

pytestmark = pytest.mark.slow

REPEATS = 60
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
QUICK = Likelihood(replicates=40)


@pytest.mark.parametrize("truth", [SMOOTH / SMOOTH.sum(), SPIKY], ids=["smooth", "spiky"])
def test_broad_queries_and_the_mean_on_a_line(truth: FloatArray) -> None:
    def ask(answer: Estimate) -> Asked:
        return [
            (answer.query("x >= 6", basis=QUICK), truth[6:].sum()),
            (answer.query("3 <= x < 7", basis=QUICK), truth[3:7].sum()),
            (answer.mean(basis=QUICK), float(truth @ np.arange(10))),
        ]

    check(TruncatedGeometric(Integers(0, 9), 0.8), truth, 3000, ask)


def test_districts_of_a_grid() -> None:
    truth = np.linspace(1, 3, 9) / np.linspace(1, 3, 9).sum()
    districts = [np.isin(np.arange(9), cells).astype(float) for cells in ([0, 1, 3, 4], [6, 7, 8])]

    def ask(answer: Estimate) -> Asked:
        return [(answer.query(one, basis=QUICK), float(one @ truth)) for one in districts]

    check(TruncatedTaxicab(Grid(3, 3), 2.0), truth, 3000, ask)


@pytest.mark.parametrize("basis", [Likelihood(), Bootstrap(100)], ids=repr)
def test_values_under_randomized_response(basis: Basis) -> None:
    truth = np.array([0.4, 0.3, 0.2, 0.1])

    def ask(answer: Estimate) -> Asked:
        band = answer.interval(basis=basis)
        return [(band.at(value), float(truth[value])) for value in range(3)]

    check(RandomizedResponse(Integers(0, 3), 1.0), truth, 3000, ask)


def test_many_empty_values_together() -> None:
    """Where the likelihood alone holds less than half of the time."""
    mechanism = RandomizedResponse(Integers(0, 19), 2.0)
    truth = np.zeros(20)
    truth[[2, 3, 11]] = [0.6, 0.3, 0.1]
    empty = (truth == 0).astype(float)
    asked: Asked = []
    alone: list[bool] = []
    for seed in range(60):
        counts = mechanism.simulate_counts((10_000 * truth).astype(int), rng=seed)
        answer = estimate(counts, mechanism, IBU())
        asked += [(answer.query(empty), 0.0), (answer.query("x < 10"), 0.9)]
        alone.append(answer._inference.region.ends(empty, allowed_fall(0.95))[0] <= 0)
    assert coverage(asked, 1.0) >= FEWEST
    assert coverage(asked, 0.5) < FEWEST
    assert np.mean(alone) < 0.5

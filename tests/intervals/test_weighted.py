"""Intervals of weighted reports cover 95 %, and a scale that is 15 % off would show.

benchmarks/weights.py has the whole table.
"""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.estimates.groups import recover_groups
from confide.estimates.inference import Interval

K = 8
VALUES = np.arange(K)
TRUTH = np.array([1, 2, 4, 6, 6, 4, 2, 1]) / 26
HIGH = TRUTH[5:].sum()
DESIGNS = {
    "none": (np.ones(K), 0.0),
    "high values are rare in the sample": (np.where(VALUES >= 5, 5.0, 1.0), 0.2),
    "high values are frequent in the sample": (np.where(VALUES >= 5, 0.2, 1.0), 0.2),
    "weights whatever the value": (np.ones(K), 0.9),
}


def draw_surveys(mechanism: cf.Mechanism, design: str, surveys: int, people: int) -> dict[int, cf.Counts]:
    """Return weighted counts of many surveys: as groups, they are solved together."""
    weights, jitter = DESIGNS[design]
    rng, sampled = np.random.default_rng(1), TRUTH / weights / (TRUTH / weights).sum()
    found = {}
    for number in range(surveys):
        values = rng.choice(K, people, p=sampled)
        each = weights[values] * np.exp(jitter * rng.standard_normal(people))
        found[number] = cf.tally(mechanism.privatize(mechanism.alphabet.decode(values), rng=number), weights=each)
    return found


def scales_of(answers: dict[int, Interval], truth: float) -> tuple[float, float]:
    """Return how often answers hold the truth, and their half-width by 1.96 standard deviations of the estimates."""
    every = list(answers.values())
    spread = float(np.std([one.estimate for one in every]))
    widths = float(np.mean([one.width for one in every]))
    return float(np.mean([one.contains(truth) for one in every])), widths / 3.92 / spread


@pytest.mark.parametrize("design", DESIGNS)
def test_shares_of_categories(design: str) -> None:
    mechanism = cf.RandomizedResponse(cf.Categories([f"c{value}" for value in VALUES]), epsilon=3.0)
    found = recover_groups(draw_surveys(mechanism, design, 500, 1500), mechanism, cf.MLE())
    covered, scale = scales_of(found.query((VALUES >= 5).astype(float)), HIGH)
    assert abs(covered - 0.95) < 0.03
    assert abs(scale - 1) < 0.1


@pytest.mark.parametrize("design", DESIGNS)
def test_means_on_a_line(design: str) -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, K - 1), epsilon=1.5)
    found = recover_groups(draw_surveys(mechanism, design, 150, 800), mechanism, cf.MLE())
    covered, scale = scales_of(found.mean(), float(TRUTH @ VALUES))
    assert abs(covered - 0.95) < 0.035
    assert abs(scale - 1) < 0.12


def test_a_share_of_rappor() -> None:
    mechanism = cf.Rappor(cf.Integers(0, K - 1), epsilon=3.0)
    found = recover_groups(draw_surveys(mechanism, "high values are rare in the sample", 80, 600), mechanism, cf.MLE())
    covered, scale = scales_of(found.query("value >= 5"), HIGH)
    assert covered >= 0.88
    assert abs(scale - 1) < 0.2

"""Ends from unbiased shares under randomized response: against closed forms, and on truths with many empty values."""

from __future__ import annotations

import numpy as np
import pytest

from confide.channels import Dense, RandomizedResponseChannel
from confide.estimates.inference.inference import is_unbiased
from confide.estimates.inference.unbiased import Unbiased
from confide.evidence.evidence import Evidence

CHANNEL = RandomizedResponseChannel(40, 0.3, 0.7 / 39)


def draw(truth: np.ndarray, people: int, seed: int) -> Evidence:
    generator = np.random.default_rng(seed)
    return Evidence(CHANNEL, generator.multinomial(people, CHANNEL.push(truth)).astype(float))


def test_of_few_values_it_is_plain_inversion() -> None:
    channel = RandomizedResponseChannel(5, 0.5, 0.125)
    evidence, asked = Evidence(channel, np.array([300.0, 200.0, 250.0, 150.0, 100.0])), np.array([1.0, 0, 1, 0, 0])
    middle, error = (0.55 - 2 * 0.125) / 0.375, np.sqrt(0.55 * 0.45 / 1000) / 0.375
    ends = Unbiased(evidence, 0.95)
    assert ends.ends(asked) == pytest.approx((middle - 1.96 * error, middle + 1.96 * error), abs=1e-5)
    assert ends.ends(3 * asked - 1) == pytest.approx(3 * np.array(ends.ends(asked)) - 1, abs=1e-12)


@pytest.mark.slow
def test_where_values_are_alike_ends_lean_to_what_the_others_say() -> None:
    """Both sides of plain inversion are 3.92 standard errors apart; the shortest that anything can be is 3.33."""
    questions = [np.eye(40)[7], (np.arange(40) % 3 == 0).astype(float), np.arange(40) >= 25, np.arange(40) / 39]
    keep, other = CHANNEL.keep_and_other
    held, widths = [], []
    for seed in range(40):
        evidence = draw(np.full(40, 1 / 40), 40_000, seed)
        for one in np.array(questions, dtype=float):
            share = float(one @ evidence.frequencies)
            error = np.sqrt((one**2 @ evidence.frequencies - share**2) / 40_000) / (keep - other)
            low, high = Unbiased(evidence, 0.95).ends(one)
            held.append(low <= one.mean() <= high)
            widths.append((high - low) / error)
    assert 3.2 < np.mean(widths) < 3.55
    assert 0.91 <= np.mean(held) < 1


@pytest.mark.slow
def test_it_holds_as_often_as_it_says_where_most_values_are_empty() -> None:
    truth = np.zeros(40)
    truth[[4, 20, 29]] = 0.5, 0.3, 0.2
    questions = [np.isin(np.arange(40), some).astype(float) for some in ([4], [20, 21, 22], range(10), range(0, 40, 2))]
    held = []
    for seed in range(100):
        ends = Unbiased(draw(truth, 5000, seed), 0.95)
        held.append([low <= one @ truth <= high for one in questions for low, high in [ends.ends(one)]])
    assert 0.92 <= np.mean(held) < 1
    assert np.mean(held, axis=0).min() >= 0.88


@pytest.mark.slow
def test_coefficients_that_know_their_chance_are_corrected_for_it() -> None:
    """Uncorrected they are a third of a standard error off, where most values are empty."""
    truth = np.zeros(40)
    truth[[4, 20, 29]] = 0.5, 0.3, 0.2
    asked = 1 - np.array([np.isin(np.arange(40), some) for some in ([4], [20, 21, 22], range(10), range(0, 40, 2))])
    off = []
    for seed in range(120):
        bound = Unbiased(draw(truth, 20_000, seed), 0.95)._bound(asked)
        off.append((bound.value - bound.coefficients @ truth) / bound.error)
    assert abs(np.mean(off)) < 0.17
    assert 0.8 < np.std(off) < 1.2


def test_past_so_many_tails_those_beside_them_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = draw(np.arange(1.0, 41) / 820, 20_000, 3)
    exact = np.array([Unbiased(evidence, 0.95).ends((np.arange(40) >= low).astype(float)) for low in range(1, 40)])
    monkeypatch.setattr("confide.estimates.inference.unbiased.TAILS", 400)
    few = Unbiased(evidence, 0.95)
    ends = np.array([few.ends((np.arange(40) >= low).astype(float)) for low in range(1, 40)])
    assert len(few._tails[0]) == 10
    assert (np.diff(ends, axis=0) <= 0).all()
    assert (ends[:, 0] <= exact[:, 0] + 0.02).all()
    assert (ends[:, 1] >= exact[:, 1] - 0.02).all()


def test_a_tail_far_below_nothing_outweighs_chance_above_it_in_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ends below nothing counted as nothing, one in eight of empty tails had a lower end above it."""
    low, high = np.linspace(0.4, 0.1, 39), np.linspace(0.9, 0.6, 39)
    low[30:], high[:3] = (-0.3, 0.15, *[-0.4] * 7), (1.2, 0.95, 1.1)
    monkeypatch.setattr(Unbiased, "_ends", lambda _, __: (low, high))
    _, lowest, highest = Unbiased(draw(np.full(40, 1 / 40), 20_000, 3), 0.95)._tails
    assert lowest[30] == lowest[31] == 0
    assert highest[1] == highest[2] == 1


def test_it_is_asked_where_it_applies() -> None:
    counts = np.full(40, 50.0)
    assert is_unbiased(Evidence(CHANNEL, counts))
    assert not is_unbiased(Evidence(CHANNEL, counts / 25))  # two reports an output are no Gaussian
    assert not is_unbiased(Evidence(Dense(CHANNEL.dense()), counts))
    assert Unbiased(Evidence(CHANNEL, counts), 0.95).ends(np.full(40, 2.0)) == (2, 2)

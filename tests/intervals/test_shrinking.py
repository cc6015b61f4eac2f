"""Guesses of shares from other values: their sizes, whether neighbours are alike, and how chance moves guesses."""

from __future__ import annotations

import numpy as np
import pytest

from confide.channels import RandomizedResponseChannel
from confide.estimates.inference.unbiased import CHAINS, Shrunk, Unbiased
from confide.evidence.evidence import Evidence

ERROR = 0.01
RUNS = np.repeat([0.0, 0.08, 0.02], [20, 10, 20]) / 1.2


def drawn(truth: np.ndarray, seed: int = 0) -> Shrunk:
    """Return guesses from shares with errors of nearly one size."""
    noise = np.random.default_rng(seed).normal(0, ERROR, truth.size)
    return Shrunk(truth + noise - noise.mean(), ERROR**2, 1e-6)


def test_neighbours_that_are_alike_say_what_a_share_is() -> None:
    """A single share is known to one error; ten of a size, side by side, to a third of it."""
    off = [np.abs(drawn(RUNS, seed).plain - RUNS).mean() for seed in range(5)]
    assert np.mean(off) < 0.4 * ERROR
    order = np.random.default_rng(1).permutation(50)
    assert np.mean([np.abs(drawn(RUNS[order], seed).plain - RUNS[order]).mean() for seed in range(5)]) < ERROR


def test_a_chain_is_taken_where_order_says_something_and_left_where_not() -> None:
    assert CHAINS[0] not in drawn(RUNS)._chains
    assert drawn(np.tile([0.0, 0.05], 10))._chains[0] == CHAINS[0]
    assert drawn(np.full(600, 1 / 600))._chains == CHAINS[:1]


def test_a_share_like_no_other_is_left_as_it_is() -> None:
    truth = np.zeros(30)
    truth[7], truth[8] = 0.7, 0.3
    guesses = drawn(truth)
    assert guesses.apart[0][7] == pytest.approx(guesses.shares[7], abs=0.02)
    assert guesses.apart[1][7] == pytest.approx(1, abs=0.01)
    assert guesses.apart[1][12] < 0.2


def test_own_slopes_are_those_of_the_guess() -> None:
    """Of nearly empty values, for all guesses together are one."""
    guesses, step = drawn(RUNS), 1e-6
    for place in (3, 12):
        moved = guesses.shares.copy()
        moved[place] += step
        other = Shrunk(moved, guesses.least, guesses.growth)
        assert (other.apart[0] - guesses.apart[0])[place] / step == pytest.approx(guesses.apart[1][place], rel=0.1)


def test_it_is_seen_how_far_a_guess_follows_with_all_that_it_is_made_of() -> None:
    """By guesses from scratch; the slopes of single shares alone would say less than half of it."""
    guesses = drawn(RUNS)
    asked = (RUNS > 0.05).astype(float)[None]
    move = (asked - asked.mean()) * ERROR**2 / ERROR / np.sqrt(asked.var() * 50)
    up, down = (
        (asked @ Shrunk(guesses.shares + sign * move[0], guesses.least, guesses.growth).plain)[0] for sign in (1, -1)
    )
    found = guesses.follow(asked, move)[0]
    assert found == pytest.approx((up - down) / 2, rel=0.05)
    assert (asked * move)[0] @ guesses.apart[1] < 0.5 * found


@pytest.mark.slow
def test_ends_lean_by_a_guess_that_knows_nothing_of_their_chance() -> None:
    """Over surveys of steps, what the guess says of a tail has nothing to do with the error of its ends."""
    truth = np.repeat([3.0, 1.0, 0.0], [12, 16, 12])
    truth /= truth.sum()
    channel, asked = RandomizedResponseChannel(40, 0.7, 0.3 / 39), (np.arange(40) >= 15).astype(float)[None]
    chance, leans = [], []
    for seed in range(60):
        reports = np.random.default_rng(seed).multinomial(20_000, channel.push(truth)).astype(float)
        ends = Unbiased(Evidence(channel, reports), 0.95)
        low, high = ends._bound(asked), ends._bound(1 - asked)
        mean, variance = ends._lean(asked, low, high)
        chance.append(float((low.value[0] + 1 - high.value[0]) / 2))
        leans.append(float(np.clip((mean[0] - asked[0] @ truth) / variance[0] ** 0.5, -2, 2)))
    assert abs(np.corrcoef(chance, leans)[0, 1]) < 0.35


def test_errors_may_fall_as_shares_grow() -> None:
    """Where a value is reported less often by those who have it."""
    channel = RandomizedResponseChannel(12, 0.01, 0.09)
    truth = np.repeat([0.9, 0.1 / 11], [1, 11])
    reports = np.random.default_rng(1).multinomial(50_000, channel.push(truth)).astype(float)
    low, high = Unbiased(Evidence(channel, reports), 0.95).ends(np.eye(12)[0])
    assert low <= 0.9 <= high
    assert high - low < 0.1

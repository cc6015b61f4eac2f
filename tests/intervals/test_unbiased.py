"""Ends from unbiased shares under randomized response: against closed forms, and on truths with many empty values."""

from __future__ import annotations

import numpy as np
import pytest

from confide.channels import Dense, RandomizedResponseChannel
from confide.evidence import Evidence
from confide.intervals.unbiased import Unbiased, is_unbiased

CHANNEL = RandomizedResponseChannel(40, 0.3, 0.7 / 39)


def draw(truth: np.ndarray, people: int, seed: int) -> Evidence:
    generator = np.random.default_rng(seed)
    return Evidence(CHANNEL, generator.multinomial(people, CHANNEL.push(truth)).astype(float))


def test_where_all_values_are_full_it_is_plain_inversion() -> None:
    evidence = draw(np.full(40, 1 / 40), 10**6, 1)
    keep, other = CHANNEL.keep_and_other
    for asked in (np.eye(40)[7], (np.arange(40) % 3 == 0).astype(float)):
        share = float(asked @ evidence.frequencies)
        middle = (share - other * asked.sum()) / (keep - other)
        error = np.sqrt(share * (1 - share) / 1e6) / (keep - other)
        ends = Unbiased(evidence, 1.96, 0)
        assert ends.lowest(asked) == pytest.approx(middle - 1.96 * error, abs=0.01 * error)
        assert -ends.lowest(-asked) == pytest.approx(middle + 1.96 * error, abs=0.01 * error)
        assert ends.lowest(3 * asked - 1) == pytest.approx(3 * ends.lowest(asked) - 1, abs=1e-9)


@pytest.mark.slow
def test_it_holds_as_often_as_it_says_where_most_values_are_empty() -> None:
    """Coefficients that knew the chance they are applied to would hold about half of the time."""
    truth = np.zeros(40)
    truth[[4, 20, 29]] = 0.5, 0.3, 0.2
    questions = [np.isin(np.arange(40), some).astype(float) for some in ([4], [20, 21, 22], range(10), range(0, 40, 2))]
    held = []
    for seed in range(100):
        ends = Unbiased(draw(truth, 5000, seed), 1.96, 0)
        held.append([ends.lowest(one) <= one @ truth <= -ends.lowest(-one) for one in questions])
    assert 0.92 <= np.mean(held) < 1
    assert np.mean(held, axis=0).min() >= 0.88


def test_it_is_asked_where_it_applies() -> None:
    counts = np.full(40, 50.0)
    assert is_unbiased(Evidence(CHANNEL, counts))
    assert not is_unbiased(Evidence(CHANNEL, counts / 25))  # two reports an output are no Gaussian
    assert not is_unbiased(Evidence(Dense(CHANNEL.dense()), counts))
    assert Unbiased(Evidence(CHANNEL, counts), 1.96, 0).lowest(np.full(40, 2.0)) == 2

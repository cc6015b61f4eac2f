"""What mechanisms draw: exactly for k-RR's two steps, and by chi-square against the channel for every mechanism.

Each chi-square test accepts the right epsilon and must reject one that is 20 % off, or it would prove nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaincc
from tests.laws.examples import FAMILIES
from tests.sampling.scripted import LARGEST_WORD, ScriptedBits

from confide import Integers, Mechanism, RandomizedResponse

PEOPLE = 200_000
PAIRS = [pair for family in FAMILIES.values() for pair in family.sampled]


def probed_values(size: int) -> NDArray[np.int64]:
    """Return the ends, their neighbours and the middle: where a sampler's mistakes differ."""
    return np.unique(np.array([0, min(1, size - 1), size // 2, size - 1]))


def contingency(mechanism: Mechanism, seed: int) -> NDArray[np.float64]:
    """Count outputs for each probed value, one row a value."""
    probed, outputs = probed_values(mechanism.alphabet.size), mechanism.report_alphabet.size
    numbers = np.tile(probed, PEOPLE // probed.size)
    reports = mechanism.privatize(mechanism.alphabet.decode(numbers), rng=seed)
    places = np.searchsorted(probed, numbers) * outputs + mechanism.report_alphabet.encode(reports)
    table: NDArray[np.float64] = np.bincount(places, minlength=probed.size * outputs).astype(np.float64)
    return table.reshape(probed.size, outputs)


def p_value(table: NDArray[np.float64], mechanism: Mechanism) -> float:
    """Return the chi-square test's p-value; outputs too rare to be tested alone are put together."""
    rows = mechanism.channel.dense()[probed_values(mechanism.alphabet.size)]
    statistic, freedom = 0.0, 0
    for counts, row in zip(table, rows, strict=True):
        expected = counts.sum() * row
        common = expected >= 10
        observed = np.append(counts[common], counts[~common].sum())
        foreseen = np.append(expected[common], max(expected[~common].sum(), 1e-9))
        tested = foreseen >= 10
        statistic += float(((observed - foreseen) ** 2 / foreseen)[tested].sum())
        freedom += int(tested.sum()) - 1
    return float(gammaincc(freedom / 2, statistic / 2))


@pytest.mark.parametrize(("right", "wrong"), PAIRS, ids=repr)
def test_reports_follow_the_channel_and_no_other(right: Mechanism, wrong: Mechanism) -> None:
    table = contingency(right, seed=20_240_501)
    assert p_value(table, right) > 1e-3
    assert p_value(table, wrong) < 1e-6


@pytest.mark.parametrize(("right", "wrong"), PAIRS[:1])
def test_secure_reports_follow_the_same_code(right: Mechanism, wrong: Mechanism) -> None:
    # No seed here, so only what cannot fail by chance: both outputs come, and the truth more often.
    reports = right.privatize(np.zeros(10_000, dtype=np.int64))
    assert 0 < int(reports.sum()) < 5_000


def test_replaced_answers_are_each_of_the_others_once() -> None:
    mechanism = RandomizedResponse(Integers(0, 4), 1.0)
    for value in range(5):
        # The largest word replaces; then two bits pick one of the four others.
        reports = [mechanism._draw(np.array([value]), ScriptedBits([LARGEST_WORD, pick << 62])) for pick in range(4)]
        assert sorted(int(report[0]) for report in reports) == [other for other in range(5) if other != value]


def test_kept_answers_draw_no_replacement() -> None:
    mechanism = RandomizedResponse(Integers(0, 4), 1.0)
    assert mechanism._draw(np.array([3, 1]), ScriptedBits([0, 0])).tolist() == [3, 1]


@pytest.mark.parametrize("size", [256, 257])
def test_both_ways_of_drawing_the_geometric_stay_inside(size: int) -> None:
    right = FAMILIES["truncated-geometric"].sampled[1 if size == 256 else 2][0]
    reports = right.privatize([0, size - 1] * 5000, rng=1)
    assert right.alphabet.size == size
    assert (reports.min(), reports.max()) == (0, size - 1)

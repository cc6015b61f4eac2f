"""What mechanisms draw: exactly for k-RR's two steps, and by chi-square for every mechanism.

Each chi-square test accepts the right epsilon and must reject one that is 20 % off, or it would prove nothing.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.cases import each
from tests.laws.examples import FAMILIES, LINE_EDGE, PLANE_EDGE, label
from tests.sampling.chi_square import bins_of, count_bins, p_value, probed_values, spread
from tests.sampling.scripted import LARGEST_WORD, ScriptedBits

from confide import (
    Exponential,
    Geometric,
    Grid,
    Integers,
    Lattice,
    Mechanism,
    OneBitMean,
    PlanarGeometric,
    RandomizedResponse,
    Rappor,
    Taxicab,
    TruncatedGeometric,
    TruncatedTaxicab,
)
from confide.mechanisms.base import LARGEST_TABLE
from confide.mechanisms.sampling import SecureBits
from confide.values.checks import MOST_STORED

PEOPLE = 120_000
PAIRS = [pair for family in FAMILIES.values() for pair in family.sampled]

every_pair = each(("right", "wrong"), PAIRS, ids=label)


@pytest.mark.slow
@every_pair
def test_reports_follow_the_channel_and_no_other(right: Mechanism, wrong: Mechanism) -> None:
    table, probed = count_bins(right, PEOPLE, seed=20_240_501), probed_values(right.alphabet.size)
    assert p_value(table, bins_of(right, probed).probabilities) > 1e-3
    assert p_value(table, bins_of(wrong, probed).probabilities) < 1e-6


@every_pair
def test_simulated_counts_follow_the_channel_and_no_other(right: Mechanism, wrong: Mechanism) -> None:
    size = right.alphabet.size
    for value in probed_values(size)[1:3]:
        only = np.array([value])
        if isinstance(right, OneBitMean) and abs(2 * value - (size - 1)) <= 1:
            continue  # next to a fair coin, whatever epsilon is
        histogram = np.zeros(size, dtype=np.int64)
        histogram[value] = PEOPLE // 2
        counts = right.simulate_counts(histogram, rng=20_240_502)
        assert counts.total == PEOPLE // 2
        table = spread(right, counts, only)[None, :]
        assert p_value(table, bins_of(right, only).probabilities) > 1e-3
        assert p_value(table, bins_of(wrong, only).probabilities) < 1e-6


@every_pair
def test_simulated_counts_keep_everybody(right: Mechanism, wrong: Mechanism) -> None:
    histogram = np.random.default_rng(1).integers(0, 20, right.alphabet.size)
    counts = right.simulate_counts(histogram, rng=1)
    assert counts.total == histogram.sum()
    assert (counts.counts >= 1).all()
    assert counts == right.simulate_counts(histogram, rng=1)
    assert right.report_alphabet.contains(right.report_alphabet.as_array(counts.reports)).all()
    assert right.simulate_counts(0 * histogram, rng=1).total == 0


@each("kind", FAMILIES)
def test_simulated_counts_and_reports_are_alike(kind: str) -> None:
    # Two samples, each against the other: the chi-square test of homogeneity over the bins that are not rare.
    mechanism = FAMILIES[kind].sampled[0][0]
    size = mechanism.alphabet.size
    histogram = np.random.default_rng(2).multinomial(PEOPLE // 2, np.full(size, 1 / size))
    everyone = np.arange(size)
    simulated = spread(mechanism, mechanism.simulate_counts(histogram, rng=3), everyone)
    reports = mechanism.privatize(mechanism.alphabet.decode(np.repeat(everyone, histogram)), rng=4, taken=True)
    places = bins_of(mechanism, everyone).place(reports)
    drawn = np.bincount(places, minlength=simulated.size).astype(np.float64)
    assert simulated.sum() == drawn.sum() == PEOPLE // 2
    common = simulated + drawn >= 40
    z = (simulated - drawn)[common] / np.sqrt((simulated + drawn)[common])
    assert np.abs(z).max() < 5
    assert np.mean(z**2) < 1 + 5 * np.sqrt(2 / common.sum())


def test_people_too_many_for_a_matrix_are_simulated_one_by_one() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9999), 0.5)
    histogram = np.ones(10_000, dtype=np.int64)
    assert histogram.sum() * 10_000 > MOST_STORED
    counts = mechanism.simulate_counts(histogram, rng=1)
    assert counts.total == 10_000


# Both ways of drawing, from rows of weights and by adding noise, stand among the pairs above.


def test_small_and_large_alphabets_are_among_the_pairs() -> None:
    for kind in ("truncated-geometric", "truncated-laplace", "exponential"):
        sizes = [pair[0].alphabet.size for pair in FAMILIES[kind].sampled]
        assert min(sizes) <= LARGEST_TABLE < max(sizes)
    assert LINE_EDGE.size == LARGEST_TABLE + 1
    for kind in ("truncated-taxicab", "truncated-planar-geometric", "truncated-planar-laplace"):
        assert PLANE_EDGE in [pair[0].alphabet for pair in FAMILIES[kind].sampled]


@pytest.mark.parametrize("size", [40, 100])
def test_bits_of_long_vectors_are_kept_and_flipped_as_often_as_they_should(size: int) -> None:
    mechanism = Rappor(Integers(0, size - 1), 2.0)
    people, value = 20_000, size - 3
    bits = mechanism.report_alphabet.unpack(mechanism.privatize(np.full(people, value), rng=5))
    expected = np.full(size, float(mechanism.flip))
    expected[value] = float(mechanism.keep)
    z = (bits.mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / people)
    assert np.abs(z).max() < 4.5
    # Independent of each other, as the lemma wants it.
    correlations = np.corrcoef(bits.T.astype(float))[np.triu_indices(size, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(people)
    off = 1 / (1 + np.exp(1.2))  # at an epsilon of 2.4
    assert np.abs((bits.mean(axis=0)[0] - off) / np.sqrt(off * (1 - off) / people)) > 6


@pytest.mark.parametrize(
    ("mechanism", "values"),
    [
        (Geometric(Integers(), 0.5), [-(10**12), 0, 10**12]),
        (Taxicab(Lattice(), 0.5), [(-(10**6), 10**6), (0, 0), (3, -4)]),
        (PlanarGeometric(Lattice(spacing=2.0), 0.25), [(-(10**6), 10**6), (0, 0), (3, -4)]),
    ],
    ids=label,
)
def test_alphabets_without_end_are_blurred_alike_everywhere(mechanism: Mechanism, values: list[Any]) -> None:
    moved = [mechanism.privatize([value] * 4000, rng=6) - np.array(value) for value in values]
    for noise in moved[1:]:
        np.testing.assert_array_equal(noise, moved[0])  # the same noise, from the same seed
    assert abs(float(moved[0].mean())) < 0.5
    assert 1 < float(np.abs(moved[0]).mean()) < 5


@pytest.mark.parametrize("kind", FAMILIES)
def test_secure_reports_come_from_the_operating_system_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    words = np.random.default_rng(7)

    def record(count: int) -> bytes:
        asked.append(count)
        return words.bytes(count)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a predictable generator was used")

    monkeypatch.setattr(os, "urandom", record)
    for name in ("default_rng", "random", "randint", "rand", "choice", "normal"):
        monkeypatch.setattr(np.random, name, refuse)
    monkeypatch.setattr("random.random", refuse)
    for mechanism, _ in FAMILIES[kind].sampled:
        asked.clear()
        rng = None if mechanism.lasting is None else SecureBits()
        mechanism.privatize(mechanism.alphabet.decode(np.zeros(20, dtype=np.int64)), rng=rng)
        assert sum(asked) >= 20  # four bits a coin, and no report is fewer than two coins


def test_replaced_answers_are_each_of_the_others_once() -> None:
    mechanism = RandomizedResponse(Integers(0, 4), 1.0)
    for value in range(5):
        # The largest word replaces; then two bits pick one of the four others.
        tapes = [ScriptedBits([LARGEST_WORD], [pick << 6]) for pick in range(4)]
        reports = [mechanism._draw(np.array([value]), tape) for tape in tapes]
        assert sorted(int(report[0]) for report in reports) == [other for other in range(5) if other != value]


def test_kept_answers_draw_a_replacement_too_so_that_time_tells_nothing() -> None:
    mechanism = RandomizedResponse(Integers(0, 4), 1.0)
    tape = ScriptedBits([0, 0], [0, 255, 7])
    assert mechanism._draw(np.array([3, 1]), tape).tolist() == [3, 1]
    assert (tape.script, tape.octet_script) == ([], [7])


@pytest.mark.parametrize("size", [256, 257])
@pytest.mark.slow
def test_both_ways_of_drawing_the_geometric_stay_inside(size: int) -> None:
    right = FAMILIES["truncated-geometric"].sampled[1 if size == 256 else 2][0]
    reports = right.privatize([0, size - 1] * 5000, rng=1)
    assert right.alphabet.size == size
    assert (reports.min(), reports.max()) == (0, size - 1)


def test_no_row_is_made_for_each_value_of_a_large_alphabet() -> None:
    for mechanism in (
        TruncatedGeometric(Integers(0, 10**6 - 1), 0.1),
        Exponential(Integers(0, 10**6 - 1), 0.1),
        RandomizedResponse(Integers(0, 10**6 - 1), 1.0),
        TruncatedTaxicab(Grid(1000, 1000), 0.1),
    ):
        reports = mechanism.privatize(mechanism.alphabet.decode(np.arange(0, 10**6, 1000)), rng=1)
        assert len(reports) == 1000
        assert "_rows" not in vars(mechanism)

"""Central privacy of shuffled reports, against enumeration of all that a curator may see and published numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError, SurveyError
from confide.estimates.explanations import describe_shuffled
from confide.mechanisms import shuffling
from confide.surveys.survey import parse_survey


def colours(size: int, epsilon: float) -> cf.RandomizedResponse:
    return cf.RandomizedResponse(cf.Categories([f"colour {number}" for number in range(size)]), epsilon)


def true_delta(rows: np.ndarray, left: int, right: int, others: Sequence[int], epsilon: float) -> float:
    """Return delta for given values of all others, by enumerating every ordered result and sorting it."""
    seen = [defaultdict[tuple[int, ...], float](float) for _ in range(2)]
    for side, own in enumerate((left, right)):
        people = [own, *others]
        for result in itertools.product(range(rows.shape[1]), repeat=len(people)):
            seen[side][tuple(sorted(result))] += math.prod(
                rows[who, what] for who, what in zip(people, result, strict=True)
            )
    return sum(max(0.0, one - math.exp(epsilon) * seen[1][what]) for what, one in seen[0].items())


MECHANISMS = [
    colours(2, 1.0),
    colours(3, 1.5),
    cf.TruncatedGeometric(cf.Integers(0, 3), 0.6),
    cf.SquareWave(cf.Integers(0, 2), 1.0, width=1),
    cf.FromMatrix(
        cf.Integers(0, 2), [[0.5, 0.2, 0.3], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]], promise=cf.mechanisms.LocalDP(1.0)
    ),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
def test_no_values_of_the_others_exceed_the_upper_bound_and_an_attack_is_one_of_them(
    mechanism: cf.Mechanism, epsilon: float
) -> None:
    people, rows = 4, mechanism.channel.dense()
    size = rows.shape[0]
    fillings = list(itertools.combinations_with_replacement(range(size), people - 1))
    for left, right in itertools.permutations(range(size), 2):
        deltas = {filling: true_delta(rows, left, right, filling, epsilon) for filling in fillings}
        upper = shuffling._delta_of_blanket(epsilon, people, rows[left], rows[right], rows.min(axis=0))
        assert max(deltas.values()) <= upper * (1 + 1e-9)
        alike = {filling[0]: delta for filling, delta in deltas.items() if len(set(filling)) == 1}
        for own, delta in alike.items():
            attack = shuffling._delta_of_attack(epsilon, people, rows[left], rows[right], rows[own])
            assert attack <= delta * (1 + 1e-9)
            assert attack >= 0.8 * delta - 1e-6  # its sums are rounded to a lattice
        bound = mechanism.guarantee.bounds(mechanism.alphabet)
        promised = shuffling._delta_of_copies(epsilon, people, bound[left, right], math.exp(-bound.max()))
        assert max(deltas.values()) <= promised * (1 + 1e-9)


def test_among_three_colours_the_blanket_is_what_an_attack_reaches() -> None:
    # By enumeration too: a blanket bound that is scaled wrongly differs.
    rows = colours(3, 1.5).channel.dense()
    worst = max(
        true_delta(rows, 0, 1, filling, 0.3) for filling in itertools.combinations_with_replacement(range(3), 5)
    )
    upper = shuffling._delta_of_blanket(0.3, 6, rows[0], rows[1], rows.min(axis=0))
    assert worst == pytest.approx(true_delta(rows, 0, 1, [2] * 5, 0.3))
    assert upper == pytest.approx(worst, rel=0.02)


def test_published_numbers() -> None:
    # apple/ml-shuffling-amplification brackets the bound of Feldman, McMillan and Talwar (2021) by these two.
    assert 0.16754 < cf.mechanisms.LocalDP(4.0).shuffled(100_000, 1e-6).upper < 0.17279
    # Wang et al. (VLDB 2024), for randomized response among 10, 100 and 1,000 values.
    for size, published in ((10, 0.110), (100, 0.069), (1_000, 0.024)):
        known = colours(size, 4.0).shuffled(100_000, 1e-6)
        assert known.upper == pytest.approx(published, abs=0.0006)
        assert 1 <= known.upper / known.lower < 1.01
        assert known.upper < cf.mechanisms.LocalDP(4.0).shuffled(100_000, 1e-6).upper


def test_a_sum_of_many_is_binomial() -> None:
    from scipy.stats import binom

    sums, chances = shuffling._sum_of_many(np.array([0.0, 3.0]), np.array([0.7, 0.3]), 1_000, 2**12)
    found = dict(zip(sums.tolist(), chances.tolist(), strict=True))
    for count in range(200, 400):
        assert found[3.0 * count] == pytest.approx(binom.pmf(count, 1_000, 0.3), rel=1e-6, abs=1e-15)
    assert sum(found.values()) == pytest.approx(1)


def test_more_people_hide_better_and_a_smaller_delta_costs() -> None:
    ages = cf.TruncatedGeometric(cf.Integers(0, 9), 0.1)
    few, many = (ages.shuffled(people, 1e-6).upper for people in (1_000, 10_000))
    assert 0 < many < few < 0.9
    assert ages.shuffled(1_000, 1e-9).upper > few
    assert ages.shuffled(1_000, 1e-6, between=(4, 5)).upper < 0.3 * few
    assert ages.shuffled(1_000, 1e-6, between=(0, 9)).upper == pytest.approx(few)
    assert ages.shuffled(1, 1e-6).upper == pytest.approx(0.9, rel=1e-5)


def test_metric_privacy_without_a_mechanism() -> None:
    promise = cf.mechanisms.MetricPrivacy(0.1)
    near = promise.shuffled(10_000, 1e-6, distance=1, widest=9)
    assert cf.TruncatedGeometric(cf.Integers(0, 9), 0.1).shuffled(10_000, 1e-6, between=(0, 1)).upper <= near.upper
    assert promise.shuffled(10_000, 1e-6, distance=1, widest=90).upper > near.upper
    assert near.lower == 0


FIVE = cf.Categories(list("abcde"))


@pytest.mark.parametrize("mechanism", [cf.SubsetSelection(FIVE, 1.5, 2), cf.OptimizedUnary(FIVE, 1.5)], ids=repr)
def test_four_kinds_of_reports_stand_for_the_matrix(mechanism: cf.Mechanism) -> None:
    rows = np.array([[float(one) for one in mechanism.weights(value)] for value in range(5)])
    rows /= rows.sum(axis=1, keepdims=True)
    kind = 3 - 2 * (np.arange(32) & 1) - (np.arange(32) >> 1 & 1)  # both, only the first, only the second, neither
    first, blanket, third = mechanism._kinds_of_reports or (np.empty(0),) * 3
    second = first[[0, 2, 1, 3]]
    for found, row in ((first, rows[0]), (second, rows[1]), (third, rows[2])):
        assert found == pytest.approx(np.bincount(kind, row, minlength=4))
    assert (blanket <= np.bincount(kind, rows.min(axis=0), minlength=4) * (1 + 1e-9)).all()
    rows = rows[:, rows.any(axis=0)]
    for epsilon in (0.0, 0.1, 0.4):
        whole = shuffling._delta_of_blanket(epsilon, 200, rows[0], rows[1], rows.min(axis=0))
        few = shuffling._delta_of_blanket(epsilon, 200, first, second, blanket)
        # All five bits at once are likelier than the blanket has it: next to nothing is given away.
        assert whole * (1 - 1e-6) <= few <= 1.05 * whole
        # Whoever looks at the bit of the third value too attacks better.
        attack = shuffling._delta_of_attack(epsilon, 200, first, second, third)
        assert 0 < attack <= shuffling._delta_of_attack(epsilon, 200, rows[0], rows[1], rows[2]) * 1.01


@pytest.mark.parametrize("kind", [cf.OptimizedUnary, cf.SubsetSelection, cf.LocalHashing], ids=lambda kind: kind.kind)
def test_sets_of_many_values_hide_better_than_their_promise(kind: type[cf.Mechanism]) -> None:
    many = kind(cf.Categories([f"word {number}" for number in range(300)]), 4.0)  # type: ignore[call-arg]
    known, promised = many.shuffled(100_000, 1e-6), cf.mechanisms.LocalDP(4.0).shuffled(100_000, 1e-6)
    assert 0 < known.lower < known.upper < 0.6 * promised.upper


def test_mechanisms_without_a_matrix_fall_back_to_their_promise() -> None:
    # Two values may share more or fewer buckets than others under the hashes of a pool.
    pool = cf.LocalHashing(cf.Categories([f"word {number}" for number in range(300)]), 1.0, seeds=1000)
    assert pool.shuffled(1_000, 1e-6) == cf.mechanisms.LocalDP(1.0).shuffled(1_000, 1e-6)


@pytest.mark.parametrize(
    ("mechanism", "people", "delta", "words"),
    [
        (colours(3, 1.0), 0, 1e-6, "people must be"),
        (colours(3, 1.0), 10, 0.0, "delta must be at least 1e-15 and below 1; got 0.0. Usual: below 1 / people"),
        (colours(3, 1.0), 10, 1.5, "got 1.5"),
        (cf.FromMatrix(cf.Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]]), 10, 1e-6, "hides nobody"),
    ],
)
def test_wrong_use(mechanism: cf.Mechanism, people: int, delta: float, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        mechanism.shuffled(people, delta)


def test_values_without_an_end_are_not_hidden() -> None:
    with pytest.raises(cf.ConfideError):
        cf.Geometric(cf.Integers(), 0.1).shuffled(1_000, 1e-6)
    with pytest.raises(InvalidParameterError, match="distance must be at most widest"):
        cf.mechanisms.MetricPrivacy(0.1).shuffled(1_000, 1e-6, distance=10, widest=9)


def test_a_survey_names_who_shuffles() -> None:
    plain = cf.Survey(colours(3, 1.0), "colour")
    mixed = replace(plain, shuffler="the clinic")
    assert cf.Survey.from_json(mixed.to_json()) == mixed == parse_survey(mixed.text())
    assert mixed.fingerprint != plain.fingerprint
    assert "shuffler" not in plain.to_json() + plain.text()
    assert mixed.contract.endswith(", shuffled by the clinic")
    for wrong in ('""', "true"):
        with pytest.raises(SurveyError, match="shuffler"):
            parse_survey(f"shuffler = {wrong}\n{plain.text()}")
    assert "You and the people must trust the clinic" in describe_shuffled(mixed, 1_000)
    endless = cf.Survey(cf.Geometric(cf.Integers(), 0.1), shuffler="the clinic")
    assert describe_shuffled(endless, 1_000).startswith("no bound is known. ")

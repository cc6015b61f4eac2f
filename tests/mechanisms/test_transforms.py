"""Hadamard and projective geometry response, against brute force, the papers and published variances."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chi2
from tests.cases import each

import confide as cf
from confide.channels.transforms import MOST_SHIFTS, CirculantChannel, parity, parity_sums
from confide.evidence.evidence import Evidence
from confide.mechanisms.geometries import (
    MOST_POINTS,
    best_geometry,
    difference_set,
    first_recurrence,
    is_prime,
    points_of,
    runs_through_all,
)
from confide.solve.maximum import maximise
from confide.solve.support_newton import Clock

HADAMARD, GEOMETRY = cf.HadamardResponse, cf.ProjectiveGeometryResponse


def sylvester(size: int) -> list[list[int]]:
    """Return a Hadamard matrix by doubling."""
    rows = [[1]]
    while len(rows) < size:
        rows = [row + row for row in rows] + [row + [-one for one in row] for row in rows]
    return rows


def points(order: int, dimensions: int) -> list[tuple[int, ...]]:
    """Return the points of a geometry: vectors whose first number other than 0 is 1."""
    vectors = product(range(order), repeat=dimensions)
    return [one for one in vectors if any(one) and next(filter(None, one)) == 1]


# Transforms.


@each("rounds", range(8))
def test_parity_sums_are_those_of_a_hadamard_matrix(rounds: int) -> None:
    signs, vectors = np.array(sylvester(2**rounds)), np.random.default_rng(0).random((3, 2, 2**rounds))
    even, odd = parity_sums(vectors)
    np.testing.assert_allclose(even, vectors @ (signs > 0), rtol=1e-14)
    np.testing.assert_allclose(odd, vectors @ (signs < 0), rtol=1e-14, atol=0)


def test_parity_sums_keep_their_relative_accuracy() -> None:
    # A transform that subtracts would leave noise of 1e-16 in place of 1e-40.
    even, odd = parity_sums(np.array([1e-40, 0.0, 1.0, 0.0]))
    np.testing.assert_allclose([even[2], odd[2]], [1e-40, 1.0], rtol=1e-15)


def test_parity_counts_all_bits() -> None:
    numbers = np.array([0, 2**62, 2**62 + 1, 2**40 + 2**20 + 1])
    assert parity(numbers).tolist() == [bin(number).count("1") % 2 == 1 for number in numbers.tolist()]


@each("outputs", [13, 57, 133, 4369])
def test_convolutions_agree_with_shifted_copies(outputs: int) -> None:
    generator = np.random.default_rng(outputs)
    places = np.sort(generator.choice(outputs, MOST_SHIFTS + 1 if outputs > 20 else 4, replace=False))
    channel = CirculantChannel(outputs // 2, outputs, places, 3.0, 0.01)
    theta, weights = generator.dirichlet(np.ones(outputs // 2)), generator.random(outputs)
    is_held = channel.holds(np.arange(outputs // 2), slice(None))
    np.testing.assert_allclose(channel.sums_over_sets(theta), theta @ is_held, rtol=0, atol=1e-15)
    np.testing.assert_allclose(channel.sums_over_reports(weights), is_held @ weights, rtol=1e-13)


@each("mechanism", [GEOMETRY(cf.Integers(0, 2500), 4.0), GEOMETRY(cf.Integers(0, 700), 1.0, order=2)], ids=str)
def test_error_bounds_of_transforms_hold(mechanism: cf.Mechanism) -> None:
    channel, generator = mechanism.channel, np.random.default_rng(5)
    matrix = channel.dense().astype(np.longdouble)
    for spread in (1.0, 0.01):
        theta = generator.dirichlet(np.full(channel.shape[0], spread))
        weights = generator.exponential(size=channel.shape[1]) ** (1 / spread)
        pushed, pulled = channel.push(theta), channel.pull(weights)
        off = np.abs(pushed - theta @ matrix)
        assert (off <= channel.error(0, theta, pushed)).all()
        assert off @ weights <= channel.weighted_push_error(theta, pushed, weights)
        assert (np.abs(pulled - matrix @ weights) <= channel.error(1, weights, pulled)).all()


def test_squares_are_those_of_the_entries() -> None:
    weights = np.random.default_rng(0).random(16)
    channel = HADAMARD(cf.Integers(0, 9), 2.0).channel
    assert channel.squares is not None
    np.testing.assert_allclose(channel.squares(weights), channel.dense() ** 2 @ weights, rtol=1e-14)


# Geometries.


@each("order", [2, 3, 5])
@each("dimensions", [2, 3, 4])
def test_points_and_hyperplanes_are_a_projective_geometry(order: int, dimensions: int) -> None:
    count, recurrence = points_of(order, dimensions), first_recurrence(order, dimensions)
    places = difference_set(order, recurrence).tolist()
    sets = [{(place + value) % count for place in places} for value in range(count)]
    # As many hyperplanes through each point, and through each two, as in the geometry by its definition.
    brute = points(order, dimensions)
    assert count == len(brute)
    through = [
        {z for z, plane in enumerate(brute) if sum(a * b for a, b in zip(plane, point, strict=True)) % order == 0}
        for point in brute
    ]
    assert {len(one) for one in sets} == {len(one) for one in through} == {points_of(order, dimensions - 1)}
    shared = {len(one & other) for one, other in combinations(sets, 2)}
    assert shared == {len(one & other) for one, other in combinations(through, 2)}
    assert shared == {points_of(order, dimensions - 2)}


def test_recurrences_that_miss_points_are_told_from_those_that_do_not() -> None:
    for order, dimensions in ((2, 4), (3, 3), (5, 2)):
        count = points_of(order, dimensions)
        for recurrence in product(range(order), repeat=dimensions):
            state, seen = (0,) * (dimensions - 1) + (1,), set()
            for _ in range(count):
                first = next(filter(None, state), 0)
                seen.add(tuple(one * pow(first, -1, order) % order for one in state) if first else state)
                state = (*state[1:], sum(a * b for a, b in zip(recurrence, state, strict=True)) % order)
            is_back = not any(state[:-1]) and state[-1] > 0
            assert runs_through_all(order, recurrence) == (is_back and len(seen) == count)


@each("size", [2, 3, 9, 70, 400, 22_000, 10**6, MOST_POINTS - 1])
@each("epsilon", [1e-9, 0.5, 2.0, 8.0, 100.0])
def test_a_geometry_has_enough_points_and_no_dimension_too_many(size: int, epsilon: float) -> None:
    order, dimensions = best_geometry(size, Fraction(math.exp(epsilon)))
    assert is_prime(order)
    assert size <= points_of(order, dimensions) <= MOST_POINTS
    assert dimensions == 2 or points_of(order, dimensions - 1) < size


@each("epsilon", [0.5, 1.0, 2.0, 4.0])
@each("size", [2, 5, 20, 57, 130])
def test_no_other_order_has_less_variance(size: int, epsilon: float) -> None:
    chosen = total_variance(GEOMETRY(cf.Integers(0, size - 1), epsilon))
    for order in filter(is_prime, range(2, 160)):
        other = GEOMETRY(cf.Integers(0, size - 1), epsilon, order)
        assert chosen <= total_variance(other) * (1 + 1e-12), order


def total_variance(mechanism: cf.ProjectiveGeometryResponse) -> float:
    channel, others = mechanism.channel, mechanism.alphabet.size - 1
    assert isinstance(channel, CirculantChannel)
    keep, flip = channel.keep, channel.flip
    return (keep * (1 - keep) + others * flip * (1 - flip)) / (keep - flip) ** 2


# Mechanisms.


@each("blocks", [1, 2, 8])
@each("size", [2, 3, 10, 21])
def test_hadamard_weights_follow_the_signs_of_the_matrix(size: int, blocks: int) -> None:
    if blocks >= 2 * size:
        return
    mechanism = HADAMARD(cf.Integers(0, size - 1), 1.5, blocks)
    width = next(2**bits for bits in range(1, 9) if blocks * (2**bits - 1) >= size)
    signs = sylvester(width)
    for value in range(size):
        block, row = divmod(value, width - 1)
        expected = [signs[row + 1][z % width] if z // width == block else -1 for z in range(blocks * width)]
        weights = mechanism.weights(value)
        near, far = max(weights), min(weights)
        assert [1 if one == near else -1 for one in weights] == expected
        # Exactly: within two parts in 2^64 of e^epsilon, and never above it.
        assert 1 - Fraction(1, 2**62) < Fraction(near, far) / Fraction(math.exp(1.5)) < 1 + Fraction(1, 2**51)


def test_one_block_has_as_many_reports_as_published() -> None:
    for size in (2, 3, 4, 7, 8, 100):
        outputs = 2 ** math.ceil(math.log2(size + 1))
        assert HADAMARD(cf.Integers(0, size - 1), 0.5).report_alphabet == cf.Integers(0, outputs - 1)


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
def test_every_output_is_reached_once_by_the_numbers_of_a_value(make: Callable[..., cf.Mechanism]) -> None:
    for size, epsilon in product((2, 5, 12, 40), (0.5, 2.0, 5.0)):
        mechanism = make(cf.Integers(0, size - 1), epsilon)
        numbers = np.arange(mechanism.report_alphabet.size)
        for value in range(size):
            reached = mechanism._outputs(np.full_like(numbers, value), numbers)  # type: ignore[attr-defined]
            assert sorted(reached.tolist()) == numbers.tolist()


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
@each("epsilon", [0.7, 2.0])
def test_draws_have_the_weights_and_not_those_of_another_epsilon(
    make: Callable[..., cf.Mechanism], epsilon: float
) -> None:
    alphabet, people = cf.Integers(0, 10), 40_000
    mechanism = make(alphabet, epsilon)
    reports = mechanism.privatize(np.full(people, 7), rng=3)
    drawn = np.bincount(reports, minlength=mechanism.report_alphabet.size)

    def p_value(other: cf.Mechanism) -> float:
        expected = people * other.channel.dense()[7]
        return float(chi2.sf(((drawn - expected) ** 2 / expected).sum(), drawn.size - 1))

    assert p_value(mechanism) > 1e-4
    settings = {
        name: getattr(mechanism, name) for name in ("blocks", "order", "recurrence") if hasattr(mechanism, name)
    }
    assert p_value(make(alphabet, 1.1 * epsilon, **settings)) < 1e-6


PUBLISHED = [
    *((HADAMARD, 2.0, 1542.0), (HADAMARD, 4.0, 183.0)),
    *((GEOMETRY, 2.0, 746.0), (GEOMETRY, 4.0, 76.0)),
]
"""Variance of one count among 22,000, of 1,000 people after Zipf's law with exponent 1 (Feldman et al., 2022)."""


@pytest.mark.parametrize(("make", "epsilon", "published"), PUBLISHED)
def test_variances_are_the_published_ones(make: Callable[..., cf.Mechanism], epsilon: float, published: float) -> None:
    from benchmarks.protocols import variance_of_a_count

    mechanism = make(cf.Integers(0, 21_999), epsilon)
    shares = 1.0 / np.arange(1, 22_001)
    shares /= shares.sum()
    assert variance_of_a_count(mechanism, 1000, shares) == pytest.approx(published, rel=0.03)
    assert variance_of_a_count(mechanism.at(1.1 * epsilon), 1000, shares) != pytest.approx(published, rel=0.03)


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
@each("epsilon", [0.7, 2.0])
def test_the_closed_form_has_the_variance_that_it_is_said_to_have(
    make: Callable[..., cf.Mechanism], epsilon: float
) -> None:
    from benchmarks.protocols import variance_of_a_count

    mechanism, people, rounds = make(cf.Integers(0, 19), epsilon), 1000, 4000
    shares = 1.0 / np.arange(1, 21)
    everyone = np.random.default_rng(0).multinomial(people, shares / shares.sum())
    generator, channel = np.random.default_rng(1), mechanism.channel
    drawn = sum(
        generator.multinomial(number, row, rounds) for number, row in zip(everyone, channel.dense(), strict=True)
    )
    counts = channel.unpush(np.asarray(drawn, dtype=float))
    # The mean is that of the truth, and the variance is of reports alone: the people stay the same.
    error = counts.std(axis=0) / math.sqrt(rounds)
    assert (np.abs(counts.mean(axis=0) - everyone) < 5 * error).all()
    said = variance_of_a_count(mechanism, people, everyone / people)
    assert float(counts.var(axis=0).mean()) == pytest.approx(said, rel=0.03)


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
def test_22_000_values_are_certified_in_few_steps(make: Callable[..., cf.Mechanism]) -> None:
    mechanism, generator = make(cf.Integers(0, 21_999), 2.0), np.random.default_rng(0)
    shares = 1.0 / np.arange(1, 22_001)
    reports = generator.multinomial(1_000_000, mechanism.channel.push(shares / shares.sum()))
    evidence, steps = Evidence(mechanism.channel, reports.astype(float)), []
    found = maximise(evidence, Clock(1e-6, 100, 120.0), lambda number, _: steps.append(number))
    assert evidence.certificate(found.distribution) <= 1.5e-6  # with the rounding of transforms
    assert len(steps) <= 15  # 8 to 11 were seen


def test_fewer_reports_than_values_are_certified_too() -> None:
    # Conjugate gradients alone stall here 100 nats short: the curvature is singular.
    mechanism, generator = HADAMARD(cf.Integers(0, 21_999), 4.0), np.random.default_rng(0)
    shares = 1.0 / np.arange(1, 22_001)
    reports = generator.multinomial(10_000, mechanism.channel.push(shares / shares.sum()))
    evidence, steps = Evidence(mechanism.channel, reports.astype(float)), []
    found = maximise(evidence, Clock(1e-6, 15, 300.0), lambda number, _: steps.append(number))
    assert evidence.certificate(found.distribution) <= 1.5e-6
    assert len(steps) <= 12  # 8 were seen


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
def test_the_maximum_is_that_of_a_stored_matrix(make: Callable[..., cf.Mechanism]) -> None:
    mechanism = make(cf.Categories([f"c{number}" for number in range(40)]), 1.0)
    counts = cf.tally(mechanism.privatize([f"c{number**2 // 41}" for number in range(40)] * 50, rng=1))
    stored = cf.FromMatrix(mechanism.alphabet, mechanism.channel.dense(), mechanism.report_alphabet)
    one, other = (cf.estimate(counts, which, cf.MLE()) for which in (mechanism, stored))
    np.testing.assert_allclose(one.distribution, other.distribution, atol=1e-6)
    assert cf.diagnose(counts, mechanism).identification.verdict == "yes"


def test_another_epsilon_has_its_own_setting_unless_one_was_chosen() -> None:
    alphabet = cf.Integers(0, 99)
    assert HADAMARD(alphabet, 1.0).at(4.0) == HADAMARD(alphabet, 4.0)
    assert HADAMARD(alphabet, 1.0, blocks=16).at(4.0).blocks == 16
    assert GEOMETRY(alphabet, 1.0).at(4.0) == GEOMETRY(alphabet, 4.0)
    assert GEOMETRY(alphabet, 1.0, order=11).at(4.0).order == 11


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
def test_a_survey_keeps_the_settings(make: Callable[..., cf.Mechanism]) -> None:
    values = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 99\n'
    survey = cf.parse_survey(f'name = "page"\n{values}[mechanism]\nkind = "{make.kind}"\nepsilon = 2\n')  # type: ignore[attr-defined]
    assert survey.mechanism == make(cf.Integers(0, 99), 2.0)
    assert cf.Survey.from_json(survey.to_json()) == survey
    settings = ('"blocks":4',) if make is HADAMARD else ('"order":11', '"recurrence":[2,2,0]')
    assert all(one in survey.to_json() for one in settings)


TEN = cf.Integers(0, 9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HADAMARD(cf.Integers(), 1.0), "HadamardResponse needs a finite alphabet"),
        (lambda: HADAMARD(cf.Integers(0, 0), 1.0), "takes 2 to 268,435,456 values"),
        (lambda: HADAMARD(cf.Integers(0, 2**28), 1.0), "takes 2 to 268,435,456 values"),
        (lambda: HADAMARD(TEN, 0.0), "epsilon"),
        (lambda: HADAMARD(TEN, 1.0, blocks=3), "power of two below twice the number of values, 20; got 3"),
        (lambda: HADAMARD(TEN, 1.0, blocks=32), "got 32"),
        (lambda: HADAMARD(TEN, 1.0, blocks=0), "blocks must be a whole number of at least 1; got 0"),
        (lambda: GEOMETRY(cf.Integers(0, 0), 1.0), "takes 2 to 1,048,575 values.*HadamardResponse"),
        (lambda: GEOMETRY(cf.Integers(0, 2**20), 1.0), "takes 2 to 1,048,575 values"),
        (lambda: GEOMETRY(TEN, 101.0), "epsilon"),
        (lambda: GEOMETRY(TEN, 1.0, order=4), "order must be a prime number below 1,048,576; got 4"),
        (lambda: GEOMETRY(TEN, 1.0, order=1), "order must be a whole number of at least 2; got 1"),
        (lambda: GEOMETRY(TEN, 1.0, recurrence=(1, 1, 0)), "order must be a whole number"),
        (lambda: GEOMETRY(TEN, 1.0, 2, (1, 1, 0)), "points as the 10 values.*order 2 and 3 dimensions"),
        (lambda: GEOMETRY(TEN, 1.0, 2, (1,) * 10**6), "and 1000000 dimensions"),
        (lambda: GEOMETRY(TEN, 1.0, 2, (1, 1, 1, 1)), r"The recurrence \[1, 1, 1, 1\] does not run through all points"),
        (lambda: GEOMETRY(TEN, 1.0, 2, (3, 1, 0, 0)), "does not run through all points"),
        (lambda: GEOMETRY(TEN, 1.0, 2, (1.5, 1, 0, 0)), "recurrence must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        make()


@each("make", [HADAMARD, GEOMETRY], ids=lambda make: make.kind)
def test_reports_that_are_none_are_refused(make: Callable[..., cf.Mechanism]) -> None:
    mechanism = make(TEN, 1.0)
    with pytest.raises(cf.ConfideError, match="none of the outputs"):
        mechanism.observe(cf.tally([mechanism.report_alphabet.size]))

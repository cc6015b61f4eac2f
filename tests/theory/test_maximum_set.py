"""The set of maximum-likelihood estimates and its uniqueness, against all vertices found by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import confide as cf
from confide.channels.base import FloatArray
from confide.errors import ImpossibleReportError, InvalidCountsError, InvalidParameterError
from confide.theory.identification import identification, partition
from confide.theory.maximum_set import (
    binary_rank,
    concavity_chance,
    maximum_set,
    people_for_concavity,
    strict_concavity,
    uniqueness,
)
from confide.theory.verdicts import Verdict


def random_problem(seed: int) -> tuple[cf.FromMatrix, cf.Counts]:
    """Return a small problem: any rows, repeated rows, rows of low rank, or rows with zeros."""
    rng = np.random.default_rng(seed)
    values, outputs = (int(size) for size in rng.integers(2, 7, 2))
    rank = int(rng.integers(1, min(values, outputs) + 1))
    matrix = [
        rng.dirichlet(np.ones(outputs), values),
        rng.dirichlet(np.ones(outputs), rank)[rng.integers(0, rank, values)],
        rng.dirichlet(np.ones(rank), values) @ rng.dirichlet(np.ones(outputs), rank),
        rng.dirichlet(np.ones(outputs), values) * (rng.random((values, outputs)) < 0.7) + 0.02 * np.eye(outputs)[0],
    ][seed % 4]
    mechanism = cf.FromMatrix(cf.Integers(1, values), matrix / matrix.sum(axis=1, keepdims=True))
    shares = rng.dirichlet(np.full(values, 0.5)) @ mechanism.matrix
    drawn = rng.multinomial(int(rng.choice([2, 30, 1000])), shares / shares.sum())
    seen = np.flatnonzero(drawn)
    return mechanism, cf.tally(mechanism.report_alphabet.decode(seen), drawn[seen])


def vertices(mechanism: cf.FromMatrix, counts: cf.Counts, fitted: FloatArray) -> FloatArray:
    """Return all corners of {theta >= 0, sum 1, theta G = mu}: every set of independent rows that can do it alone."""
    seen = mechanism.report_alphabet.encode(counts.reports)
    rows = np.column_stack([mechanism.matrix[:, seen], np.ones(mechanism.alphabet.size)])
    wanted = np.append(fitted @ mechanism.matrix[:, seen], 1.0)
    found = []
    for size in range(1, np.linalg.matrix_rank(rows, tol=1e-9) + 1):
        for chosen in map(list, itertools.combinations(range(rows.shape[0]), size)):
            if np.linalg.svd(rows[chosen], compute_uv=False)[-1] < 1e-9:
                continue
            weights = np.linalg.lstsq(rows[chosen].T, wanted, rcond=None)[0]
            if np.abs(weights @ rows[chosen] - wanted).max() < 1e-8 and weights.min() > -1e-8:
                corner = np.zeros(rows.shape[0])
                corner[chosen] = weights
                found.append(corner)
    return np.array(found)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.integers(0, 100_000))
def test_bounds_and_uniqueness_against_brute_force(seed: int) -> None:
    mechanism, counts = random_problem(seed)
    smallest = np.linalg.svd(mechanism.matrix, compute_uv=False)
    if ((smallest > 1e-12) & (smallest < 1e-4)).any():
        return  # brute force itself cannot tell these
    best = maximum_set(mechanism, counts)
    corners = vertices(mechanism, counts, best.point)
    np.testing.assert_allclose(best.lowest, corners.min(axis=0), atol=2e-6)
    np.testing.assert_allclose(best.highest, corners.max(axis=0), atol=2e-6)
    weights = np.random.default_rng(seed).standard_normal(mechanism.alphabet.size)
    np.testing.assert_allclose(best.bounds(weights), [(corners @ weights).min(), (corners @ weights).max()], atol=1e-5)
    width = float(np.ptp(corners, axis=0).max())
    verdict = uniqueness(mechanism, counts).verdict
    assert verdict in ((Verdict.YES if width < 1e-5 else Verdict.NO), Verdict.TOO_CLOSE)
    if width > 1e-3:
        assert verdict is Verdict.NO
    # All corners are as likely as the maximum, and so is their mean.
    evidence = mechanism.observe(counts)
    for corner in [*corners, corners.mean(axis=0)]:
        clipped = np.maximum(corner, 0) / np.maximum(corner, 0).sum()
        assert evidence.log_likelihood(clipped) == pytest.approx(evidence.log_likelihood(best.point), abs=1e-3)
        assert best.contains(clipped, 1e-5)


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 100_000))
@example(1_000_360)  # repeated rows once left dust in the directions, on which HiGHS gave up
def test_matrices_of_small_whole_numbers_against_the_equations_themselves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, outputs = (int(size) for size in rng.integers(2, 9, 2))
    weights = rng.integers(1, 6, (values, outputs))
    if seed % 2 == 0:
        weights = weights[rng.integers(0, max(1, values // 2), values)]
    elif values > 2:
        weights[-1] = weights[0] + weights[1]
    mechanism = cf.FromMatrix(cf.Integers(1, values), weights / weights.sum(axis=1, keepdims=True))
    is_full = np.linalg.matrix_rank(weights) == values
    assert identification(mechanism).verdict is (Verdict.YES if is_full else Verdict.NO)
    drawn = rng.multinomial(int(rng.choice([1, 5, 50, 5000])), rng.dirichlet(np.ones(outputs)))
    seen = np.flatnonzero(drawn)
    counts = cf.tally(mechanism.report_alphabet.decode(seen), drawn[seen])
    best = maximum_set(mechanism, counts)
    equations = np.vstack([mechanism.matrix[:, seen].T, np.ones(values)])
    right = np.append(best.point @ mechanism.matrix[:, seen], 1.0)
    for value in range(values):
        unit = np.eye(values)[value]
        low = linprog(unit, A_eq=equations, b_eq=right, bounds=(0, None))
        high = linprog(-unit, A_eq=equations, b_eq=right, bounds=(0, None))
        assert best.lowest[value] == pytest.approx(low.fun, abs=1e-4)
        assert best.highest[value] == pytest.approx(-(high.fun or 0.0), abs=1e-4)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 100_000))
def test_strict_concavity_against_the_null_space(seed: int) -> None:
    mechanism, counts = random_problem(seed)
    seen = mechanism.report_alphabet.encode(counts.reports)
    matrix = np.column_stack([mechanism.matrix[:, seen], np.ones(mechanism.alphabet.size)])
    singular = np.linalg.svd(matrix, compute_uv=False)
    if ((singular > 1e-12) & (singular < 1e-5)).any():
        return
    truth = np.linalg.matrix_rank(matrix) == mechanism.alphabet.size
    assert strict_concavity(mechanism, counts).verdict is (Verdict.YES if truth else Verdict.NO)


def test_the_certified_maximum_is_inside_and_others_are_not() -> None:
    mechanism = cf.FromMatrix(cf.Integers(1, 3), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])
    best = maximum_set(mechanism, cf.tally([2, 2, 2, 2, 1, 3]))
    assert best.contains(best.point)
    assert best.contains([7 / 24, 17 / 24, 0])
    assert not best.contains([1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(best.bounds("value == 2"), 17 / 24, atol=1e-9)
    np.testing.assert_allclose(best.bounds("value != 2"), 7 / 24, atol=1e-9)
    np.testing.assert_allclose(best.furthest([1, 0, 0]), [7 / 24, 17 / 24, 0], atol=1e-9)


@pytest.mark.parametrize("kind", [cf.TruncatedGeometric, cf.Geometric, cf.Laplace, cf.Exponential, cf.TruncatedLaplace])
def test_a_line_with_few_reports(kind: type[cf.TruncatedGeometric]) -> None:
    mechanism = kind(cf.Integers(0, 19), 0.5)
    counts = cf.tally(mechanism.privatize([4, 4, 12], rng=2))
    best = maximum_set(mechanism, counts)
    assert strict_concavity(mechanism, counts).verdict is Verdict.NO
    # Three reports on a line: atoms at or between them, one at each where they are far apart.
    assert uniqueness(mechanism, counts).verdict in (Verdict.YES, Verdict.TOO_CLOSE)
    assert best.certificate < 1e-12
    assert (best.lowest <= best.point + 1e-9).all()
    assert (best.point <= best.highest + 1e-9).all()


def test_a_gain_of_one_without_weight_is_no_freedom() -> None:
    # All gains are 1, the third value could take part but may not: its row is a mixture of the others' that would
    # need a negative weight elsewhere.
    matrix = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.45, 0.45, 0.1], [0.1, 0.1, 0.8]]
    mechanism = cf.FromMatrix(cf.Integers(1, 4), matrix)
    counts = cf.tally([0, 1, 2], counts=[800, 100, 100])
    best = maximum_set(mechanism, counts)
    np.testing.assert_allclose(best.highest, [1, 0, 0, 0], atol=1e-6)
    assert uniqueness(mechanism, counts).verdict is not Verdict.NO


def test_strong_noise_on_a_plane_is_too_close_rather_than_wrong() -> None:
    grid = cf.Grid(8, 8)
    mechanism = cf.TruncatedPlanarGeometric(grid, 0.001)
    counts = mechanism.simulate_counts(np.full(64, 100), rng=1)
    verdict = uniqueness(mechanism, counts).verdict
    rank_is_clear = np.linalg.svd(mechanism.channel.dense(), compute_uv=False)[-1] > 1e-11
    assert verdict is Verdict.YES if rank_is_clear else verdict is not Verdict.NO


@pytest.mark.parametrize("values", [3, 10, 70])
def test_rappor_by_its_bits(values: int) -> None:
    mechanism = cf.Rappor(cf.Integers(1, values), 1.0)
    people = people_for_concavity(mechanism)
    assert people is not None
    counts = cf.tally(mechanism.privatize(np.arange(people) % values + 1, rng=1))
    bits = mechanism.observe(counts).channel.bit_vectors
    assert bits is not None
    assert binary_rank(bits, values) == values
    assert strict_concavity(mechanism, counts).verdict is Verdict.YES
    few = cf.tally(mechanism.privatize(np.arange(values // 2) % values + 1, rng=1))
    assert strict_concavity(mechanism, few).verdict is Verdict.NO


def test_bits_of_full_rank_over_the_reals_alone() -> None:
    # 011, 101 and 110 add up to zero over the binary field, but are independent over the reals.
    mechanism = cf.Rappor(cf.Integers(1, 3), 1.0)
    counts = cf.tally([0b011, 0b101, 0b110])
    bits = mechanism.observe(counts).channel.bit_vectors
    assert bits is not None
    assert binary_rank(bits, 3) == 3  # the ones help
    one = cf.Rappor(cf.Integers(1, 4), 1.0)
    four = cf.tally([0b0011, 0b0101, 0b1001, 0b0110])
    bits = one.observe(four).channel.bit_vectors
    assert bits is not None
    assert binary_rank(bits, 4) < 4
    assert strict_concavity(one, four).verdict is Verdict.YES


def test_rappor_bound_is_a_lower_bound() -> None:
    mechanism = cf.Rappor(cf.Integers(1, 4), 1.0)
    rng = np.random.default_rng(0)
    for people in (6, 9, 14):
        bound = concavity_chance(mechanism, people)
        strict = [
            strict_concavity(mechanism, cf.tally(mechanism.privatize([1] * people, rng=rng))).is_yes for _ in range(200)
        ]
        assert np.mean(strict) >= bound - 0.05
    assert concavity_chance(mechanism, 3) == 0.0
    with pytest.raises(InvalidParameterError, match="people"):
        concavity_chance(mechanism, -1)


def test_estimates_on_classes() -> None:
    mechanism = cf.FromMatrix(cf.Categories([1, 2, 3]), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])
    parts = partition(mechanism)
    counts = cf.tally([2, 2, 2, 2, 1, 3])
    np.testing.assert_allclose(parts.estimate(counts), [7 / 24, 17 / 24], atol=1e-6)
    np.testing.assert_allclose(parts.merge(np.array([0.1, 0.7, 0.2])), [0.3, 0.7])
    np.testing.assert_allclose(
        cf.estimate(counts, parts.quotient, cf.MLE()).distribution, parts.estimate(counts), atol=1e-6
    )
    assert uniqueness(parts.quotient, counts).verdict is Verdict.YES


def test_bad_reports_are_refused() -> None:
    mechanism = cf.RandomizedResponse(cf.Integers(1, 3), 1.0)
    with pytest.raises(ImpossibleReportError):
        maximum_set(mechanism, cf.tally([7]))
    with pytest.raises(InvalidCountsError):
        maximum_set(mechanism, cf.tally([]))

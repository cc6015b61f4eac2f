"""Hessians that need not store rows, and problems so large that they must not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from tests.solvers.problems import run, uniform

from confide import (
    MLE,
    Exponential,
    Integers,
    LocalHashing,
    Mechanism,
    Rappor,
    TruncatedGeometric,
    TruncatedLaplace,
    tally,
)
from confide.evidence.evidence import Evidence
from confide.solve import support_newton as newton
from confide.solve.maximum import follow_path, solve_where_reported
from confide.solve.support_newton import FromRows, choose_curvature, support_newton


def bit_reports(people: int, size: int = 40) -> Evidence:
    mechanism = Rappor(Integers(0, size - 1), 3.0)
    return mechanism.observe(tally(mechanism.privatize(np.arange(people) % size // 2, rng=1)))


def hashed_reports(people: int) -> Evidence:
    mechanism = LocalHashing(Integers(0, 39), 2.0, buckets=12, seeds=30)
    return mechanism.observe(tally(mechanism.privatize(np.arange(people) % 20, rng=1)))


@pytest.mark.parametrize("make", [bit_reports, hashed_reports])
def test_blocks_of_entries_give_the_hessian_of_whole_rows(
    make: Callable[[int], Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = make(700)
    monkeypatch.setitem(vars(newton.LIMITS), "block_of_outputs", 97)
    theta = uniform(evidence)
    outputs = evidence.channel.push(theta)
    blocks, rows = FromRows(outputs, is_kept=False), FromRows(outputs)
    for one in (blocks, rows):
        one.grow(evidence, np.array([3, 17, 39]))
        one.keep(np.array([True, False, True]))
    np.testing.assert_allclose(blocks.hessian(evidence, outputs), rows.hessian(evidence, outputs), rtol=1e-12)


@pytest.mark.parametrize("make", [bit_reports, hashed_reports])
def test_many_bit_vectors_are_solved_without_their_rows(
    make: Callable[[int], Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = make(3000)
    stored = run(support_newton, evidence, 1e-6)
    monkeypatch.setattr(newton, "MOST_STORED", 0)
    chosen = choose_curvature(evidence, uniform(evidence), evidence.channel.push(uniform(evidence)))
    assert isinstance(chosen, FromRows)
    assert not chosen.is_kept
    computed = run(support_newton, evidence, 1e-6)
    assert computed.certificate <= 1e-6
    assert evidence.log_likelihood(computed.distribution) == pytest.approx(
        evidence.log_likelihood(stored.distribution), abs=2e-6
    )


@pytest.mark.slow
def test_a_maximum_of_many_bit_vectors_takes_little_memory() -> None:
    """A million reports of 200 values took 4.5 GB: here 50,000, of which rows alone would be 80 MB and more."""
    mechanism = Rappor(Integers(0, 199), 2.0)
    words = np.random.default_rng(1).integers(0, 2**11, (50_000, 4)).astype(np.int64)
    counts = tally(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton, "MOST_STORED", 0)
        patch.setattr("confide.mechanisms.randomized_response.CHUNK", 2**18)
        tracemalloc.start()
        evidence = mechanism.observe(counts)
        observed = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        MLE(iteration_limit=2).solve(evidence)
        solved = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert observed < 12e6
    assert solved < 60e6


@pytest.mark.parametrize(
    "mechanism",
    [
        TruncatedGeometric(Integers(0, 29_999), 0.01),
        TruncatedGeometric(Integers(0, 29_999), 0.5),
        TruncatedLaplace(Integers(0, 29_999), 0.02),
        TruncatedLaplace(Integers(0, 29_999), 3.0),
        Exponential(Integers(0, 29_999), 0.1),
    ],
    ids=repr,
)
@pytest.mark.slow
def test_few_reports_on_a_long_line_need_few_values(mechanism: Mechanism) -> None:
    people = np.random.default_rng(3).integers(0, 30_000, 60)
    evidence = mechanism.observe(tally(mechanism.privatize(people, rng=4)))
    found = run(solve_where_reported, evidence, 1e-6)
    everywhere = run(follow_path, evidence, 1e-6)
    best = evidence.log_likelihood(everywhere.distribution)
    if not isinstance(mechanism, Exponential):  # whose rows have factors of their own next to the border
        assert found.certificate <= 1e-6
        assert evidence.log_likelihood(found.distribution) == pytest.approx(best, abs=2e-6)
    answer = MLE().solve(evidence)
    assert answer.status == "certified"
    assert evidence.log_likelihood(answer.distribution) == pytest.approx(best, abs=2e-6)


@pytest.mark.slow
def test_a_million_values_and_two_hundred_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: no step is taken over all the values, of which one takes a second."""
    mechanism = TruncatedGeometric(Integers(0, 999_999), 0.1)
    people = np.random.default_rng(0).integers(0, 1_000_000, 200)
    evidence = mechanism.observe(tally(mechanism.privatize(people, rng=1)))
    monkeypatch.setattr("confide.solve.maximum.follow_path", None)
    assert MLE().solve(evidence).status == "certified"


def test_the_best_value_may_lie_beside_what_was_reported() -> None:
    """The cell of a report holds the peak of Laplace's density, whose mean is below it: between two reports is best."""
    counts = np.zeros(30_000)
    counts[[15_000, 15_002]] = 1.0
    evidence = Evidence(TruncatedLaplace(Integers(0, 29_999), 0.1).channel, counts)
    found = run(solve_where_reported, evidence, 1e-8)
    assert found.certificate <= 1e-8
    assert found.distribution[15_001] > 0.99

"""Smooth fits with spikes, and the banded curvature of randomized response."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import confide as cf
from confide.channels.base import Layout
from confide.evidence.evidence import Evidence
from confide.solve.smooth_prior import (
    LIMITS,
    BandedCurvature,
    DenseCurvature,
    Problem,
    add_spikes,
    cost_of,
    find_spikes,
    follow_path,
    free_spikes,
    penalty_of,
    precision_of,
    refit,
)

VALUES = np.arange(60)
BELL = np.exp(-(((VALUES - 30) / 10) ** 2) / 2)
BELL /= BELL.sum()


def problem_of(mechanism: cf.Mechanism, truth: np.ndarray, people: int = 20_000) -> Problem:
    rng = np.random.default_rng(3)
    counts = mechanism.simulate_counts(rng.multinomial(people, truth), rng=rng)
    evidence = replace(mechanism.observe(counts), layout=Layout.of(mechanism.alphabet))
    return Problem.of(evidence, evidence.layout)


def ignore(_outputs: object) -> None:
    """Hear nothing."""


LINE = cf.TruncatedGeometric(cf.Integers(0, 59), 0.5)


def test_a_heap_on_a_bell_is_found_and_its_fit_has_more_evidence() -> None:
    heaped = 0.7 * BELL
    heaped[40] += 0.3
    one = problem_of(LINE, heaped)
    fits = follow_path(one, 2, ignore)
    spiked = add_spikes(one, fits, ignore)
    best = max(spiked, key=lambda fit: fit.log_evidence)
    assert best.log_evidence > max(fit.log_evidence for fit in fits) + 3
    assert best.spikes is not None
    assert set(np.flatnonzero(best.spikes)) <= {39, 40, 41}
    assert abs(best.theta[39:42].sum() - heaped[39:42].sum()) < 0.03
    assert abs(best.theta.sum() - 1) < 1e-12


def test_spikes_that_stood_for_humps_are_dropped_where_the_smooth_part_takes_over() -> None:
    """A first answer that is too smooth takes three humps for spikes; one heap is left of them at a lower weight."""
    humps = np.exp(-(((VALUES - np.array([[10], [28], [50]])) / 3) ** 2) / 2).sum(axis=0)
    truth = 0.7 * humps / humps.sum()
    truth[38] += 0.3
    one = problem_of(LINE, truth)
    fits = follow_path(one, 2, ignore)
    tried = add_spikes(one, fits, ignore)
    best = max(tried, key=lambda fit: fit.log_evidence)
    assert max(np.count_nonzero(fit.spikes) for fit in tried if fit.spikes is not None) >= 3
    assert best.spikes is not None
    assert 38 in np.flatnonzero(best.spikes)
    assert np.count_nonzero(best.spikes) <= 2
    assert best.weight < fits[0].weight
    assert best.log_evidence > max(fit.log_evidence for fit in fits) + 3


def test_a_bell_alone_gets_no_spike_that_pays() -> None:
    one = problem_of(LINE, BELL)
    fits = follow_path(one, 2, ignore)
    highest = max(fit.log_evidence for fit in fits)
    assert all(fit.log_evidence < highest for fit in add_spikes(one, fits, ignore))


def test_a_spike_must_raise_the_likelihood_by_its_cost() -> None:
    one = problem_of(LINE, BELL)
    assert cost_of(one) == math.log(60) + LIMITS.spike_doubt
    assert not find_spikes(one, BELL, np.zeros(60), 3).any()
    heaped = 0.9 * BELL
    heaped[7] += 0.1
    found = find_spikes(problem_of(LINE, heaped), BELL, np.zeros(60), 3)
    assert np.flatnonzero(found > 0.02).tolist() == [7]
    assert abs(found[7] - 0.1) < 0.02


def test_folds_move_the_shares_of_spikes_too() -> None:
    heaped = 0.7 * BELL
    heaped[40] += 0.3
    one = problem_of(LINE, heaped)
    best = max(add_spikes(one, follow_path(one, 2, ignore), ignore), key=lambda fit: fit.log_evidence)
    shares = one.evidence.frequencies[None, :]
    same = refit(one, best, shares, one.evidence.total)[0]
    assert np.abs(same - best.theta).max() < 0.01
    without = one.evidence.counts * np.where(np.abs(VALUES - 40) < 2, 0.7, 1.0)
    moved = refit(one, best, without[None, :] / without.sum(), float(without.sum()))[0]
    assert moved[40] < same[40] - 0.02
    assert best.spikes is not None
    assert free_spikes(one, best).places.tolist() == np.flatnonzero(best.spikes).tolist()


def test_the_band_of_randomized_response_is_its_dense_curvature() -> None:
    one = problem_of(cf.RandomizedResponse(cf.Integers(0, 59), 2.0), BELL)
    theta = 0.5 * BELL + 0.5 / 60
    outputs, more = one.push(theta), np.linspace(0, 1, 60)
    prior = precision_of(one, penalty_of(one, 3), 10.0)
    quick = one.system(theta, outputs, prior, 0.8, more)
    lower = np.tril(0.8 * one.curvature(theta, outputs))
    dense = DenseCurvature(lower + prior.matrix + np.diag(more))
    assert isinstance(quick, BandedCurvature)
    right = np.random.default_rng(0).normal(size=(60, 3))
    np.testing.assert_allclose(quick.solve(right), dense.solve(right), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(quick.log_determinant, dense.log_determinant, rtol=1e-10)
    dense_push = theta @ one.evidence.channel.dense()
    np.testing.assert_allclose(outputs, dense_push)


def test_the_whole_method_uses_them() -> None:
    heaped = 0.7 * BELL
    heaped[40] += 0.3
    rng = np.random.default_rng(3)
    counts = LINE.simulate_counts(rng.multinomial(20_000, heaped), rng=rng)
    answer = cf.Smooth().solve(Evidence(LINE.channel, LINE.lay_out(counts), layout=Layout((60,))))
    assert answer.distribution[40] > 0.25


def test_spikes_that_hold_everybody_leave_a_distribution() -> None:
    alone = np.zeros(60)
    alone[[7, 31]] = 0.5
    one = problem_of(LINE, alone)
    found = find_spikes(one, np.full(60, 1 / 60), alone * 1.001, 2)
    assert np.isfinite(found).all()
    assert abs(found[[7, 31]].sum() - 1) < 0.01
    rng = np.random.default_rng(3)
    counts = LINE.simulate_counts(rng.multinomial(20_000, alone), rng=rng)
    assert np.isfinite(cf.estimate(counts, LINE).distribution).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_everybody_at_one_value_is_no_division_by_nothing() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), 0.05)
    answer = cf.estimate(cf.tally([50], counts=[5000]), mechanism)
    assert answer.distribution[50] > 0.99

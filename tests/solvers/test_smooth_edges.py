"""Smooth fits that begin or end abruptly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import confide as cf
from confide.channels import Dense
from confide.channels.base import FloatArray, Layout
from confide.evidence.evidence import Evidence
from confide.solve import smooth_prior
from confide.solve.smooth_prior import (
    LIMITS,
    PriorFit,
    Problem,
    add_edges,
    fit_prior,
    follow_path,
    penalty_of,
    refit,
    refit_replicates,
    stay_uniform,
)

VALUES = np.arange(60)
LINE = cf.TruncatedGeometric(cf.Integers(0, 59), 0.3)
FALLING = np.where(VALUES >= 20, np.exp(-VALUES / 15), 0.0)
BELL = np.exp(-(((VALUES - 30) / 8) ** 2) / 2)


def problem_of(truth: FloatArray, mechanism: cf.Mechanism = LINE, people: int = 50_000) -> Problem:
    rng = np.random.default_rng(3)
    counts = mechanism.simulate_counts(rng.multinomial(people, truth / truth.sum()), rng=rng)
    evidence = replace(mechanism.observe(counts), layout=Layout.of(mechanism.alphabet))
    return Problem.of(evidence, evidence.layout)


def ignore(_outputs: object) -> None:
    """Hear nothing."""


def fits_of(problem: Problem) -> list[PriorFit]:
    return [stay_uniform(problem), *follow_path(problem, 2, ignore)]


def best_of(fits: list[PriorFit]) -> PriorFit:
    return max(fits, key=lambda fit: fit.log_evidence)


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_where_people_begin_or_end_is_found_and_its_fit_has_more_evidence(is_mirrored: bool) -> None:
    truth = FALLING[::-1] if is_mirrored else FALLING
    one = problem_of(truth)
    fits = fits_of(one)
    best = best_of(add_edges(one, fits, ignore))
    assert best.log_evidence > best_of(fits).log_evidence + 5
    assert best.span is not None
    place, other = (best.span[1], 40) if is_mirrored else (best.span[0], 20)
    assert abs(place - other) <= 1
    beyond = best.theta[place:] if is_mirrored else best.theta[:place]
    assert (beyond == 0).all()
    assert abs(best.theta.sum() - 1) < 1e-12
    errors = [np.abs(np.cumsum(fit.theta - truth / truth.sum())).sum() for fit in (best, best_of(fits))]
    assert errors[0] < 0.7 * errors[1]


def test_two_edges_are_found_together() -> None:
    one = problem_of(np.where((VALUES >= 15) & (VALUES < 35), 1.0, 0.0))
    best = best_of(add_edges(one, fits_of(one), ignore))
    assert best.span is not None
    assert abs(best.span[0] - 15) <= 1
    assert abs(best.span[1] - 35) <= 1


def test_a_bell_gets_no_edge_that_pays() -> None:
    one = problem_of(BELL)
    fits = fits_of(one)
    assert all(fit.log_evidence < best_of(fits).log_evidence for fit in add_edges(one, fits, ignore))


@pytest.mark.parametrize(
    ("mechanism", "doubt"),
    [(LINE, LIMITS.edge_doubt), (cf.RandomizedResponse(cf.Integers(0, 59), 4.0), LIMITS.edge_doubt_of_response)],
)
def test_the_evidence_is_that_of_a_shorter_line_less_the_price_of_a_place(
    mechanism: cf.Mechanism, doubt: float
) -> None:
    one = problem_of(FALLING, mechanism)
    best = best_of(add_edges(one, fits_of(one), ignore))
    assert best.span is not None
    low, high = best.span
    rows = one.evidence.channel.dense()[low:high]
    short = Problem.of(Evidence(Dense(rows), one.evidence.counts), Layout((high - low,)))
    penalty = penalty_of(short, best.order)
    alone = fit_prior(short, penalty, best.order, best.weight, best.heights, ignore)
    price = (int(low > 0) + int(high < 60)) * (math.log(60) + doubt)
    assert best.log_evidence == pytest.approx(alone.log_evidence - price, abs=0.5)
    assert LIMITS.edge_doubt_of_response > LIMITS.edge_doubt + 2


def test_other_shares_and_replicates_move_the_fit_within_its_edges() -> None:
    one = problem_of(FALLING)
    best = best_of(add_edges(one, fits_of(one), ignore))
    assert best.span is not None
    low = best.span[0]
    counts = one.evidence.counts
    same = refit(one, best, counts[None, :] / counts.sum(), float(counts.sum()))
    replicates, _ = refit_replicates(one, best, np.array([counts, counts[::-1]]))
    for moved in (same, replicates):
        assert moved.shape[1] == 60
        assert (moved[:, :low] == 0).all()
        np.testing.assert_allclose(moved.sum(axis=1), 1)
        assert np.abs(moved[0] - best.theta).sum() < 0.01
    assert np.abs(replicates[1] - best.theta).sum() > 0.1


@pytest.mark.parametrize("most", [59, LIMITS.fewest_between])
def test_a_long_line_a_plane_and_uniform_reports_are_left_alone(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(smooth_prior.LIMITS), "edge_values", most)
    one = problem_of(FALLING)
    assert add_edges(one, fits_of(one), ignore) == []
    monkeypatch.undo()
    monkeypatch.setitem(vars(smooth_prior.LIMITS), "edge_entries", 59 * 60)
    assert add_edges(one, fits_of(one), ignore) == []
    monkeypatch.undo()
    plane = problem_of(np.where(VALUES >= 20, 1.0, 0.0), cf.TruncatedTaxicab(cf.Grid(6, 10), 1.0))
    assert add_edges(plane, fits_of(plane), ignore) == []
    even = problem_of(np.ones(60))
    assert add_edges(even, fits_of(even), ignore) == []


@pytest.mark.parametrize("place", [0, 1, 2, 57, 58, 59])
def test_everybody_at_an_end_of_the_line_is_no_trouble(place: int) -> None:
    """An edge leaves a value out and four in, wherever the people are."""
    one = problem_of(np.eye(60)[place] + 1e-9)
    for fit in add_edges(one, fits_of(one), ignore):
        assert fit.span is not None
        low, high = fit.span
        assert 0 <= low <= high - LIMITS.fewest_between
        assert high <= 60
        assert fit.heights.size == high - low < 60
        assert math.isfinite(fit.log_evidence)


def test_an_edge_is_found_where_the_first_places_tried_are_beside_it() -> None:
    """Nobody is below 17. The first places are 15 and 21; both are worse there than no edge at all."""
    ages = cf.datasets.adult_ages()
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), 0.1)
    found = []
    for seed in range(4):
        evidence = replace(
            mechanism.observe(mechanism.simulate_counts(ages.histogram, rng=seed)), layout=Layout((100,))
        )
        one = Problem.of(evidence, evidence.layout)
        fits = fits_of(one)
        best = best_of(fits + add_edges(one, fits, ignore))
        found.append(None if best.span is None else best.span[0])
    assert sum(place is not None and abs(place - 17) <= 1 for place in found) >= 3

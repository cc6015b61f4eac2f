"""The smooth prior against slow and independent ways to the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import fmin_l_bfgs_b

from confide import Integers, TruncatedGeometric
from confide.channels.base import FloatArray, Layout
from confide.evidence.evidence import Evidence
from confide.solve import smooth_prior
from confide.solve.smooth_prior import Knots, Penalty, PriorFit, Problem, follow_path, refit, roughness, stay_uniform


def ignore(outputs: FloatArray) -> None:
    """Take no notice."""


def problem(size: int = 12, people: int = 2000, seed: int = 1) -> Problem:
    mechanism = TruncatedGeometric(Integers(0, size - 1), 0.4)
    truth = np.exp(-((np.arange(size) - size / 3) ** 2) / size)
    histogram = np.random.default_rng(seed).multinomial(people, truth / truth.sum())
    evidence = mechanism.observe(mechanism.simulate_counts(histogram, rng=seed))
    return Problem.of(evidence, Layout((size,)))


def log_posterior(heights: FloatArray, one: Problem, precision: FloatArray) -> float:
    """Write the log-posterior out in full."""
    evidence, theta = one.evidence, np.exp(heights)
    apart = heights + np.log(heights.size)
    likelihood = evidence.counts @ np.log(theta @ evidence.channel.dense()) - evidence.total * theta.sum()
    return float(likelihood - apart @ precision @ apart / 2)


def precision_of(one: Problem, fit: PriorFit) -> FloatArray:
    size = one.knots.size
    matrix: FloatArray = fit.weight * roughness(Layout((size,)), size, fit.order) + one.anchor * np.eye(size)
    return matrix


@pytest.mark.parametrize("place", [0, 3, -1])
def test_each_fit_is_the_mode_that_a_general_optimiser_finds(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(smooth_prior.LIMITS), "enough", 1e-9)
    one = problem()
    fit = follow_path(one, 2, ignore)[place]
    precision = precision_of(one, fit)

    def cost(heights: FloatArray) -> float:
        return -log_posterior(heights, one, precision)

    found = fmin_l_bfgs_b(cost, fit.heights, approx_grad=True)
    assert log_posterior(fit.heights, one, precision) >= -float(found[1]) - 1e-5
    np.testing.assert_allclose(fit.theta, np.exp(fit.heights) / np.exp(fit.heights).sum())


def test_the_evidence_is_the_integral_of_the_posterior() -> None:
    """Draw heights around the mode, and average what the posterior is above the density that they are drawn from."""
    one = problem(size=4, people=3000)
    fit = max(follow_path(one, 2, ignore), key=lambda each: each.log_evidence)
    precision, theta = precision_of(one, fit), np.exp(fit.heights)
    lower = np.tril(one.curvature(theta, one.push(theta)))
    curvature = lower + np.tril(lower, -1).T + precision
    noise = np.random.default_rng(0).normal(size=(4000, 4))
    drawn = fit.heights + 1.2 * np.linalg.solve(np.linalg.cholesky(curvature).T, noise.T).T
    log_density = np.linalg.slogdet(curvature)[1] / 2 - 4 * np.log(1.2) - (noise**2).sum(axis=1) / 2
    heights = np.array([log_posterior(each, one, precision) for each in drawn]) - log_density
    integral = heights.max() + np.log(np.exp(heights - heights.max()).mean())
    assert fit.log_evidence == pytest.approx(integral + np.linalg.slogdet(precision)[1] / 2, abs=0.2)


def test_knots_that_are_few_lose_little() -> None:
    """A smooth truth is described as well by straight lines between knots as value by value."""
    one = problem(size=60, people=50_000)
    few = replace(one, knots=Knots.over(Layout((60,)), 60, 20), matrix=None)
    best = [max(follow_path(each, 2, ignore), key=lambda fit: fit.log_evidence) for each in (one, few)]
    assert np.abs(best[0].theta - best[1].theta).sum() < 0.02


def test_pushing_through_the_channel_gives_what_the_stored_matrix_gives() -> None:
    one = problem(size=20)
    other = replace(one, matrix=None)
    theta = np.random.default_rng(0).dirichlet(np.ones(20))
    np.testing.assert_allclose(other.rows(theta), one.rows(theta), rtol=1e-12)
    np.testing.assert_allclose(other.pull(one.push(theta)), one.pull(one.push(theta)), rtol=1e-12)


def test_leaving_a_fold_out_by_one_step_is_close_to_fitting_again() -> None:
    one = problem(size=30, people=20_000)
    evidence = one.evidence
    fit = max(follow_path(one, 2, ignore), key=lambda each: each.log_evidence)
    fold = np.random.default_rng(3).multinomial(evidence.counts.astype(np.int64), [0.2, 0.8])[:, 1].astype(np.float64)
    quick = refit(one, fit, fold[None, :] / fold.sum(), evidence.total * 0.8)[0]
    part = Problem.of(Evidence(evidence.channel, fold), Layout((30,)))
    exact = min(follow_path(part, 2, ignore), key=lambda each: abs(np.log(each.weight / fit.weight)))
    assert np.abs(quick - exact.theta).sum() < 0.3 * np.abs(fit.theta - exact.theta).sum() + 1e-3


def test_the_uniform_distribution_has_the_evidence_of_an_infinite_weight() -> None:
    """As the weight grows, first differences die, and only the height of all values together is left."""
    one = problem(size=8, people=300)
    flat = stay_uniform(one)
    size = one.knots.size
    penalty = roughness(Layout((size,)), size, 1)
    first = Penalty(penalty, np.maximum(np.linalg.eigvalsh(penalty), 0.0), 1)
    found = smooth_prior.fit_prior(one, first, 1, 1e8, one.start, ignore)
    assert found.log_evidence == pytest.approx(flat.log_evidence, abs=1e-2)

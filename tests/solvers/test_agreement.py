"""All solvers, and one that is none of ours, find the same maximum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.cases import each
from tests.solvers.problems import Array, degenerate, drawn, precise_certificate, rival_maximum, run, uniform

from confide import (
    MLE,
    Exponential,
    FromMatrix,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    Rappor,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    tally,
)
from confide.channels import Dense, TwoSidedExponential
from confide.evidence.evidence import Evidence
from confide.solve.maximum import SOLVERS, DenseSystem, LineSystem, Solver, follow_path, interior_point, is_line
from confide.solve.support_newton import Clock, support_newton

Build = Callable[[int, float], Mechanism]

LINES: dict[str, Build] = {
    "geometric": lambda size, epsilon: TruncatedGeometric(Integers(0, size - 1), epsilon),
    "laplace": lambda size, epsilon: TruncatedLaplace(Integers(0, size - 1), epsilon),
    "exponential": lambda size, epsilon: Exponential(Integers(0, size - 1), 2 * epsilon),
}

every_line = each("build", LINES.values(), ids=LINES.keys())
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())


def dense_interior_point(evidence: Evidence) -> float:
    system = DenseSystem(evidence.channel.dense())
    solver: Solver = lambda evidence, theta, clock, progress: interior_point(evidence, system, theta, clock, progress)  # noqa: E731
    return evidence.log_likelihood(run(solver, evidence).distribution)


@each("epsilon", [0.02, 0.3, 2.0])
@each("size", [3, 4, 20, 150])
@every_line
def test_newton_and_both_interior_points_agree_on_a_line(build: Build, size: int, epsilon: float) -> None:
    evidence = drawn(build(size, epsilon).channel, 5000, seed=size)
    assert is_line(evidence.channel)
    newton, banded = run(support_newton, evidence), run(follow_path, evidence)
    assert max(newton.certificate, banded.certificate) <= 1e-7
    likelihoods = [evidence.log_likelihood(found.distribution) for found in (newton, banded)]
    likelihoods.append(dense_interior_point(evidence))
    assert np.ptp(likelihoods) <= 1e-6


@pytest.mark.parametrize(
    "mechanism",
    [
        TruncatedGeometric(Integers(0, 19), 0.1),
        TruncatedLaplace(Integers(0, 19), 0.3),
        Exponential(Integers(0, 19), 0.5),
        TruncatedTaxicab(Grid(4, 5), 0.4),
        TruncatedPlanarLaplace(Grid(4, 5), 0.5),
        Exponential(Grid(4, 5), 1.0),
        RandomizedResponse(Integers(0, 9), 1.0),
        FromMatrix(Integers(0, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.35, 0.3, 0.35]]),
    ],
    ids=repr,
)
def test_an_independent_solver_agrees(mechanism: Mechanism) -> None:
    for seed in range(3):
        evidence = drawn(mechanism.channel, 2000, seed)
        ours = evidence.log_likelihood(MLE(1e-8).solve(evidence).distribution)
        assert ours == pytest.approx(rival_maximum(evidence), rel=0, abs=1e-6)


@each("seed", range(25))
def test_an_independent_solver_agrees_on_degenerate_matrices(seed: int) -> None:
    evidence = degenerate(seed, 1000)
    rival = rival_maximum(evidence)
    for solver in SOLVERS.values():
        found = run(solver, evidence)
        assert evidence.log_likelihood(found.distribution) == pytest.approx(rival, rel=0, abs=1e-6)


@every_solver
@pytest.mark.parametrize("people", [1, 2, 5, 1000, 100_000, 10**8])
def test_no_degenerate_matrix_is_missed(solver: Solver, people: int) -> None:
    for seed in range(60):
        evidence = degenerate(seed, people)
        found = run(solver, evidence, tolerance=5e-7)
        assert found.certificate <= 1e-6, seed
        assert precise_certificate(evidence, found.distribution) <= 1e-6 + 2 * evidence.resolution, seed
        assert found.distribution.sum() == pytest.approx(1, rel=1e-12), seed
        assert (found.distribution >= 0).all(), seed


def raw_path(solver: Solver, evidence: Evidence) -> tuple[list[float], float]:
    """Return the likelihood of every iterate as the solver made it, and of the answer.

    MLE tells its monitor the highest so far, which cannot fall whatever the solver does; this is what it did.
    """
    path: list[float] = []

    def listen(_: int, outputs: Array) -> None:
        path.append(evidence.log_likelihood_of_outputs(outputs))

    found = solver(evidence, uniform(evidence), Clock(1e-9, 100, 60.0), listen)
    return path, evidence.log_likelihood(found.distribution)


@pytest.mark.parametrize("people", [5, 1000, 100_000])
def test_newton_never_lowers_the_likelihood(people: int) -> None:
    for seed in range(60):
        path, best = raw_path(support_newton, degenerate(seed, people))
        assert (np.diff(path) >= -1e-12 * max(1.0, abs(best))).all(), seed


@every_solver
def test_the_answer_is_the_best_iterate(solver: Solver) -> None:
    """An interior point may pass through lower places on its way; what it returns may not be one of them."""
    for seed in range(60):
        evidence = degenerate(seed, 1000)
        path, best = raw_path(solver, evidence)
        assert best >= max([*path, evidence.log_likelihood(uniform(evidence))]) - 1e-6, seed


def test_rappor_agrees_with_the_stored_matrix_and_an_independent_solver() -> None:
    mechanism = Rappor(Integers(0, 29), 2.0)
    people = np.random.default_rng(1).binomial(29, 0.5, 5000)
    evidence = mechanism.observe(tally(mechanism.privatize(people, rng=1)))
    answer = MLE().solve(evidence)
    stored = Evidence(Dense(evidence.channel.dense()), evidence.counts, evidence.log_offset)
    likelihood = stored.log_likelihood(answer.distribution)
    assert likelihood == pytest.approx(evidence.log_likelihood(answer.distribution), rel=1e-13)
    assert likelihood == pytest.approx(stored.log_likelihood(run(follow_path, stored).distribution), rel=0, abs=1e-6)
    assert likelihood == pytest.approx(rival_maximum(stored), rel=0, abs=1e-6)


@every_line
@pytest.mark.slow
def test_a_line_of_20_000_values_is_certified(build: Build) -> None:
    size = 20_000
    channel = build(size, 0.02).channel
    assert isinstance(channel, TwoSidedExponential)
    truth = np.random.default_rng(0).dirichlet(np.full(size, 0.1))
    evidence = drawn(channel, 10**6, 1, truth)
    answer = MLE().solve(evidence)
    assert answer.status == "certified"
    assert evidence.certificate(answer.distribution) <= 1e-6


def test_the_line_system_is_chosen_for_lines_alone() -> None:
    assert is_line(TruncatedGeometric(Integers(0, 9), 0.5).channel)
    assert not is_line(TruncatedGeometric(Integers(0, 1), 0.5).channel)  # too short for bands
    assert not is_line(TruncatedTaxicab(Grid(3, 3), 0.5).channel)
    assert LineSystem.__doc__

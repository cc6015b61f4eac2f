"""The closed form of k-RR against the general solvers and against trying every set of positive values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.cases import each
from tests.solvers.problems import Array, run

from confide import MLE, Integers, RandomizedResponse, Status
from confide.channels import RandomizedResponseChannel
from confide.evidence.evidence import Evidence
from confide.solve.maximum import SOLVERS, Solver, fill_water


def random_shares(seed: int, size: int) -> Array:
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(50, generator.dirichlet(np.full(size, 0.5)))
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def channel_of(size: int, epsilon: float) -> RandomizedResponseChannel:
    channel = RandomizedResponse(Integers(0, size - 1), epsilon).channel
    assert isinstance(channel, RandomizedResponseChannel)
    return channel


def best_by_enumeration(shares: Array, keep: float, other: float) -> float:
    """Return the maximum over all sets of values that stay positive, each solved by itself."""
    best = -np.inf
    for count in range(1, shares.size + 1):
        for chosen in combinations(range(shares.size), count):
            within = list(chosen)
            if (shares[within] == 0).any():
                continue
            # On these, y is proportional to q, and the others have y = other.
            outputs = np.full(shares.size, other)
            mass = (keep - other) + count * other
            outputs[within] = shares[within] / shares[within].sum() * mass
            if (outputs[within] >= other - 1e-15).all():
                seen = shares > 0
                best = max(best, float(shares[seen] @ np.log(outputs[seen])))
    return best


@each("epsilon", [1e-6, 0.1, 1.0, 5.0, 50.0])
@each("size", [2, 3, 7])
def test_no_set_of_values_is_better(size: int, epsilon: float) -> None:
    channel = channel_of(size, epsilon)
    for seed in range(20):
        shares = random_shares(seed, size)
        theta = fill_water(shares, channel.keep, channel.other)
        assert theta.sum() == pytest.approx(1)
        assert (theta >= 0).all()
        evidence = Evidence(channel, shares)
        likelihood = evidence.log_likelihood(theta) / evidence.total
        assert likelihood == pytest.approx(best_by_enumeration(shares, channel.keep, channel.other), rel=0, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
def test_the_general_solvers_agree(solver: Solver) -> None:
    for seed in range(20):
        channel = channel_of(2 + seed, 0.7)
        evidence = Evidence(channel, 1000 * random_shares(seed, 2 + seed))
        found = run(solver, evidence)
        theta = fill_water(evidence.frequencies, channel.keep, channel.other)
        assert evidence.log_likelihood(theta) == pytest.approx(
            evidence.log_likelihood(found.distribution), rel=0, abs=1e-6
        )
        np.testing.assert_allclose(theta, found.distribution, atol=2e-4)


def test_it_takes_no_iteration_and_is_certified() -> None:
    evidence = Evidence(channel_of(2000, 3.0), np.random.default_rng(0).poisson(5.0, 2000).astype(np.float64))
    answer = MLE().solve(evidence)
    assert answer.iterations == 0
    assert answer.status is Status.CERTIFIED
    assert evidence.certificate(answer.distribution) <= 1e-6

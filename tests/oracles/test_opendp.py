"""OpenDP's proven privacy maps give our mechanisms the epsilon that we promise."""

from __future__ import annotations

import numpy as np
import pytest

from confide import Geometric, Integers, RandomizedResponse, TruncatedGeometric
from confide.mechanisms import MetricPrivacy

dp = pytest.importorskip("opendp.prelude", reason="opendp, an oracle, is not installed: pip install opendp")


@pytest.fixture(autouse=True)
def _contrib() -> None:
    dp.enable_features("contrib")


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_geometric(epsilon: float) -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), epsilon)
    theirs = dp.m.make_geometric(
        dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / mechanism.guarantee.epsilon, bounds=(0, 99)
    )
    assert isinstance(mechanism.guarantee, MetricPrivacy)
    for distance in (1, 5, 99):
        assert theirs.map(distance) == pytest.approx(mechanism.guarantee.bound(0, distance), rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_randomized_response(size: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(Integers(0, size - 1), epsilon)
    theirs = dp.m.make_randomized_response(list(range(size)), prob=float(mechanism.channel.dense()[0, 0]))
    assert theirs.map(1) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_unbounded_geometric(epsilon: float) -> None:
    theirs = dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / epsilon)
    mechanism = Geometric(Integers(), epsilon)
    for distance in (1, 7, 1000):
        assert theirs.map(distance) == pytest.approx(mechanism.guarantee.bound(0, distance), rel=1e-9)


@pytest.mark.slow
def test_unbounded_geometric_noise_is_spread_alike() -> None:
    # Theirs cannot be seeded, so only what 6 standard errors forbid: the mean and the mean of absolute values.
    epsilon, people = 0.5, 4000
    theirs = dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / epsilon)
    drawn = np.array([theirs(0) for _ in range(people)], dtype=float)
    ours = Geometric(Integers(), epsilon).privatize(np.zeros(people, dtype=np.int64), rng=1).astype(float)
    ratio = np.exp(-epsilon)
    variance = 2 * ratio / (1 - ratio) ** 2
    for sample in (drawn, ours):
        assert abs(sample.mean()) < 6 * np.sqrt(variance / people)
        assert abs(np.abs(sample).mean() - 2 * ratio / (1 - ratio**2)) < 6 * np.sqrt(variance / people)

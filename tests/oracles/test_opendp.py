"""OpenDP's proven privacy maps give our mechanisms the epsilon that we promise."""

from __future__ import annotations

import pytest

from confide import Integers, MetricPrivacy, RandomizedResponse, TruncatedGeometric

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

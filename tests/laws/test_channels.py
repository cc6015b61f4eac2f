"""Laws of every channel: it is a stochastic matrix, and its products are those of that matrix."""

import numpy as np
import pytest
from hypothesis import given
from tests.cases import each
from tests.laws.exact import random_distributions
from tests.laws.examples import EXAMPLES, label, mechanisms

from confide import Integers, Mechanism, TruncatedGeometric
from confide.channels import Channel, SupportChannel, TwoSidedExponential
from confide.errors import NotInvertibleError

every_example = each("mechanism", EXAMPLES, ids=label)

VISIBLE = 1e-9
"""Probabilities above it must be right to eleven digits."""


def assert_agrees(found: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-11, atol=VISIBLE * 1e-11)


def check_stochastic(channel: Channel) -> None:
    matrix = channel.dense()
    assert matrix.shape == channel.shape
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12)


def check_products(channel: Channel) -> None:
    values, outputs = channel.shape
    matrix, theta = channel.dense(), random_distributions(values)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, outputs)
    assert_agrees(channel.push(theta), theta @ matrix)
    assert_agrees(channel.pull(weights), matrix @ weights)


def check_adjoint(channel: Channel) -> None:
    values, outputs = channel.shape
    theta, weights = random_distributions(values, seed=2), np.random.default_rng(3).uniform(0.0, 5.0, outputs)
    assert channel.push(theta) @ weights == pytest.approx(theta @ channel.pull(weights), rel=1e-12)


def check_stacks(channel: Channel) -> None:
    values, outputs = channel.shape
    thetas, weights = random_distributions(values, (2, 3)), random_distributions(outputs, (2, 3), seed=4)
    for product, stack in ((channel.push, thetas), (channel.pull, weights)):
        one_by_one = [[product(vector) for vector in row] for row in stack]
        np.testing.assert_allclose(product(stack), one_by_one, rtol=1e-12)


def check_unpush(channel: Channel) -> None:
    matrix, theta = channel.dense(), random_distributions(channel.shape[0], seed=5)
    condition = float(np.linalg.cond(matrix)) if matrix.shape[0] == matrix.shape[1] else np.inf
    if condition < 1e8:
        np.testing.assert_allclose(channel.unpush(channel.push(theta)), theta, rtol=0, atol=1e-14 * condition)
        stack = random_distributions(channel.shape[0], (2, 3), seed=6)
        np.testing.assert_allclose(channel.unpush(channel.push(stack)), stack, rtol=0, atol=1e-14 * condition)


def check_select(channel: Channel) -> None:
    matrix, values = channel.dense(), channel.shape[0]
    some = np.array([values - 1, 0, values // 2, 0])
    np.testing.assert_allclose(channel.select(some), matrix[some], rtol=1e-14)
    assert channel.select(np.zeros(0, dtype=np.int64)).shape == (0, channel.shape[1])
    for value in (0, values - 1):
        np.testing.assert_allclose(channel.push(np.eye(1, values, value)[0]), matrix[value], rtol=1e-11, atol=1e-20)


def check_block(channel: Channel) -> None:
    matrix = channel.dense()
    rows, columns = (np.unique(np.linspace(0, size - 1, 7).astype(np.int64))[::-1] for size in channel.shape)
    np.testing.assert_allclose(channel.block(rows, columns), matrix[np.ix_(rows, columns)], rtol=1e-14)
    assert channel.block(rows, np.zeros(0, dtype=np.int64)).shape == (rows.size, 0)


CHECKS = (check_stochastic, check_select, check_block, check_products, check_adjoint, check_stacks, check_unpush)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@every_example
def test_law_on_examples(mechanism: Mechanism, check: object) -> None:
    assert callable(check)
    check(mechanism.channel)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@given(mechanism=mechanisms)
def test_law_on_anything(mechanism: Mechanism, check: object) -> None:
    assert callable(check)
    check(mechanism.channel)


@every_example
def test_products_leave_their_input_alone(mechanism: Mechanism) -> None:
    values, outputs = mechanism.channel.shape
    theta, weights = random_distributions(values), random_distributions(outputs)
    before = theta.copy(), weights.copy()
    mechanism.channel.push(theta)
    mechanism.channel.pull(weights)
    np.testing.assert_array_equal(theta, before[0])
    np.testing.assert_array_equal(weights, before[1])


@every_example
def test_products_take_views_that_are_not_contiguous(mechanism: Mechanism) -> None:
    channel = mechanism.channel
    thetas = random_distributions(channel.shape[0], (3,))
    np.testing.assert_allclose(channel.push(np.asfortranarray(thetas)), channel.push(thetas), rtol=1e-12)
    np.testing.assert_allclose(channel.push(thetas[::-1])[::-1], channel.push(thetas), rtol=1e-12)


@every_example
def test_only_square_channels_can_be_undone(mechanism: Mechanism) -> None:
    values, outputs = mechanism.channel.shape
    if isinstance(mechanism.channel, SupportChannel):  # which has its field's unbiased estimate
        theta = random_distributions(values)
        unbiased = mechanism.channel.unpush(mechanism.channel.push(theta))
        if mechanism.facts.independence is not None:  # the estimate of a pool of hashes is unbiased over all pools
            np.testing.assert_allclose(unbiased, theta, atol=1e-13 / mechanism.channel.lift)
    elif values != outputs:
        with pytest.raises(NotInvertibleError, match=r"[\d,]+ values? and [\d,]+ outputs?.*IBU\(\)"):
            mechanism.channel.unpush(np.full(outputs, 1.0 / outputs))


@every_example
def test_repr_names_the_shape(mechanism: Mechanism) -> None:
    values, outputs = mechanism.channel.shape
    assert repr(mechanism.channel) == f"{type(mechanism.channel).__name__}({values} values, {outputs} outputs)"


@each("size", [2, 3, 500])
@each("epsilon", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 100.0])
def test_geometric_from_almost_flat_to_almost_faithful(size: int, epsilon: float) -> None:
    channel = TruncatedGeometric(Integers(0, size - 1), epsilon).channel
    for check in CHECKS:
        check(channel)


@pytest.mark.parametrize("ratio", [1e-40, 0.5, 1 - 1e-9])
def test_geometric_of_one_value(ratio: float) -> None:
    channel = TwoSidedExponential(ratio, 1 - ratio, np.array([1.0]))
    for check in CHECKS:
        check(channel)


def test_tails_far_below_the_smallest_sum_keep_full_accuracy() -> None:
    # A product that went through differences or a Fourier transform would return noise of 1e-17 here.
    channel = TruncatedGeometric(Integers(0, 199), 1.0).channel
    point = np.zeros(200)
    point[0] = 1.0
    np.testing.assert_allclose(channel.push(point)[-1], np.exp(-199.0) / (1 + np.exp(-1.0)), rtol=1e-12)

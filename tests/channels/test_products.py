"""Products of every structured channel against the dense matrix, to eleven digits wherever a probability is visible."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.laws.exact import random_distributions

from confide import (
    Exponential,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
)
from confide.channels import (
    BitChannel,
    Channel,
    ClampedPlanarConvolution,
    ColumnStack,
    Dense,
    Embedded,
    HashChannel,
    Kronecker,
    PlanarConvolution,
    RandomizedResponseChannel,
    Rescaled,
    ScatteredExponential,
    TwoSidedExponential,
    VerticalStack,
)
from confide.channels.kernels import planar_geometric_kernel
from confide.channels.supports import PRIME
from confide.errors import NotInvertibleError

FloatArray = NDArray[np.float64]

VISIBLE = 1e-9
DIGITS = 1e-11

CITY = Grid(40, 40, holes=(*((row, 39 - row) for row in range(12)), (20, 20), (20, 21), (0, 0)))

LINE = Integers(0, 1999)

LARGE: list[Mechanism] = [
    RandomizedResponse(LINE, 5.0),
    *(TruncatedGeometric(LINE, epsilon) for epsilon in (1e-4, 0.01, 0.5)),
    *(TruncatedLaplace(LINE, epsilon) for epsilon in (1e-4, 0.3, 6.0)),
    *(Exponential(LINE, epsilon) for epsilon in (1e-4, 0.3)),
    TruncatedGeometric(Integers(0, 1999), 0.01, Integers(-100, 1500)),
    *(TruncatedTaxicab(Grid(40, 40), epsilon) for epsilon in (0.01, 0.5, 5.0)),
    *(TruncatedPlanarGeometric(Grid(40, 40), epsilon) for epsilon in (0.01, 0.5, 5.0)),
    *(TruncatedPlanarLaplace(Grid(40, 40), epsilon) for epsilon in (0.01, 0.5, 5.0)),
    *(Exponential(Grid(40, 40), epsilon) for epsilon in (0.01, 0.5, 5.0)),
    TruncatedTaxicab(CITY, 0.5),
    TruncatedPlanarGeometric(CITY, 0.5),
    TruncatedPlanarLaplace(CITY, 0.5, Grid(38, 50, first_row=3, first_column=-6)),
    Exponential(CITY, 0.5),
    TruncatedPlanarGeometric(Grid(2, 600), 0.3),
    TruncatedPlanarGeometric(Grid(900, 2), 0.3),
]


def is_transformed(channel: Channel) -> bool:
    """Whether products go through a Fourier transform."""
    base = channel.base if isinstance(channel, Embedded) else channel
    return isinstance(base, PlanarConvolution | ClampedPlanarConvolution)


def assert_close(channel: Channel, found: FloatArray, expected: FloatArray) -> None:
    """Compare to eleven digits wherever a probability is visible.

    A Fourier transform has an absolute error of some 1e-18 instead, which at 1e-9 is nine digits: where a smooth
    distribution leaves probabilities as small as that, this is what planar channels have, and they alone are let off.
    """
    assert (found >= 0).all()
    visible = expected > VISIBLE
    error = 2e-17 if is_transformed(channel) else 0.0
    np.testing.assert_allclose(found[visible], expected[visible], rtol=DIGITS, atol=error)


def distributions(size: int) -> list[FloatArray]:
    """Return a smooth one, a rough one, one with few atoms and a point: what estimates look like on their way."""
    bell = np.exp(-(((np.arange(size) - size / 3) / (size / 10)) ** 2))
    few = np.zeros(size)
    few[[1, size // 2, size - 2]] = 0.5, 0.3, 0.2
    return [np.full(size, 1 / size), random_distributions(size), bell / bell.sum(), few, np.eye(1, size, 0)[0]]


def assert_bounded(channel: Channel, exact: NDArray[np.longdouble], theta: FloatArray, weights: FloatArray) -> None:
    """Compare products with those in extended precision: no further off than the channel's own bounds say."""
    pushed, pulled = channel.push(theta), channel.pull(weights)
    for found, expected, bound in (
        (pushed, theta @ exact, channel.error(0, theta, pushed)),
        (pulled, exact @ weights, channel.error(1, weights, pulled)),
    ):
        assert bound.shape == found.shape
        assert (np.abs(found - expected) <= bound + channel.entry_error * expected).all()
        # A bound that is true of anything would be of no use: what the reports' own noise leaves is far larger.
        assert float(bound.max()) <= 1e-9 * float(found.max())


@pytest.mark.parametrize("mechanism", LARGE, ids=repr)
@pytest.mark.slow
def test_errors_of_products_are_bounded(mechanism: Mechanism) -> None:
    channel = mechanism.channel
    matrix, (values, outputs) = channel.dense().astype(np.longdouble), channel.shape
    generator = np.random.default_rng(4)
    spiky, outlier = 10.0 ** generator.uniform(-12, 4, (2, outputs))
    outlier[outputs // 2] = 1e13  # a report far from all others
    far = random_distributions(values, seed=5) * 1e-9
    far[0] = 1 - far[1:].sum()  # nearly everyone at one value
    every_weights = (np.ones(outputs), spiky, outlier, np.eye(1, outputs, 3)[0])
    for theta, weights in zip((*distributions(values)[:3], far), every_weights, strict=True):
        assert_bounded(channel, matrix, theta, weights)


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("build", [TruncatedPlanarLaplace, TruncatedPlanarGeometric, Exponential])
def test_few_large_atoms_do_not_drown_the_rest(build: Callable[[Grid, float], Mechanism], epsilon: float) -> None:
    """The error of a transform is a share of all that goes in; what stands out goes in by itself."""
    channel = build(Grid(30, 30), epsilon).channel
    matrix = channel.dense()
    weights = np.random.default_rng(2).uniform(0.5, 1.5, (1, 900))[0]
    weights[[0, 29, 450]] = 1e12, 1e9, 1e6
    np.testing.assert_allclose(channel.pull(weights), matrix @ weights, rtol=1e-12)
    theta = weights / weights.sum()
    np.testing.assert_allclose(channel.push(theta), theta @ matrix, rtol=1e-9)


@pytest.mark.parametrize("mechanism", LARGE, ids=repr)
def test_products_of_large_channels_are_the_dense_ones(mechanism: Mechanism) -> None:
    channel, size = mechanism.channel, mechanism.alphabet.size
    assert not isinstance(channel, Dense)
    matrix = channel.dense()
    for theta in distributions(size):
        assert_close(channel, channel.push(theta), theta @ matrix)
    for theta in distributions(size)[:2]:
        expected = theta @ matrix
        assert (expected > VISIBLE).all()
        np.testing.assert_allclose(channel.push(theta), expected, rtol=DIGITS)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, (1, matrix.shape[1]))[0]
    np.testing.assert_allclose(channel.pull(weights), matrix @ weights, rtol=DIGITS)
    theta = random_distributions(size, seed=3)
    assert channel.push(theta) @ weights == pytest.approx(theta @ channel.pull(weights), rel=1e-12)
    np.testing.assert_allclose(channel.pull(np.ones(matrix.shape[1])), 1.0, rtol=1e-12)
    some = np.array([size - 1, 0, 0, size // 2])
    np.testing.assert_array_equal(channel.select(some), matrix[some])


@pytest.mark.parametrize("mechanism", [LARGE[2], LARGE[5], LARGE[-6], LARGE[-5], LARGE[-4], LARGE[-3]], ids=repr)
def test_stacks_of_large_channels(mechanism: Mechanism) -> None:
    channel = mechanism.channel
    values, outputs = channel.shape
    for product, stack in (
        (channel.push, random_distributions(values, (2, 2))),
        (channel.pull, random_distributions(outputs, (2, 2), seed=1)),
    ):
        one_by_one = [[product(vector) for vector in row] for row in stack]
        np.testing.assert_allclose(product(stack), one_by_one, rtol=DIGITS, atol=1e-16)


# Channels by themselves, on any small shape.


def check(channel: Channel, matrix: NDArray[np.floating[Any]]) -> None:
    values, outputs = channel.shape
    assert matrix.shape == (values, outputs)
    np.testing.assert_allclose(channel.dense(), matrix, rtol=1e-12, atol=1e-300)
    thetas, weights = random_distributions(values, (2, 3)), random_distributions(outputs, (2, 3), seed=1)
    np.testing.assert_allclose(channel.push(thetas), thetas @ matrix, rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(channel.pull(weights), weights @ matrix.T, rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(channel.push(thetas[0, 0]), thetas[0, 0] @ matrix, rtol=1e-11, atol=1e-16)
    assert_bounded(channel, channel.dense().astype(np.longdouble), thetas[0, 0], weights[0, 0])
    np.testing.assert_allclose(channel.pull(weights[0, 0]), matrix @ weights[0, 0], rtol=1e-11, atol=1e-16)
    chosen = np.array([values - 1, 0])
    np.testing.assert_allclose(channel.select(chosen), matrix[chosen], rtol=1e-12, atol=1e-300)


def random_channel(values: int, outputs: int, seed: int) -> Dense:
    return Dense(np.random.default_rng(seed).uniform(0.1, 1.0, (values, outputs)))


@given(
    values=st.integers(1, 6),
    outputs=st.integers(1, 6),
    kept=st.integers(1, 5),
    data=st.data(),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
def test_embedded_channels_merge_rename_and_drop(
    values: int, outputs: int, kept: int, data: st.DataObject, seed: int
) -> None:
    base = random_channel(values, outputs, seed)
    chosen = np.array(data.draw(st.lists(st.integers(0, values - 1), min_size=1, max_size=6, unique=True)))
    remap = np.array(data.draw(st.lists(st.integers(-1, kept - 1), min_size=outputs, max_size=outputs)))
    expected = np.zeros((chosen.size, kept))
    for row, value in enumerate(chosen):
        for output, place in enumerate(remap):
            if place >= 0:
                expected[row, place] += base.matrix[value, output]
    check(Embedded(base, chosen, remap, kept), expected)


@given(values=st.integers(1, 5), widths=st.lists(st.integers(1, 4), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_stacked_channels_stand_side_by_side(values: int, widths: list[int], seed: int) -> None:
    parts = tuple(random_channel(values, width, seed + place) for place, width in enumerate(widths))
    check(ColumnStack(parts), np.hstack([part.matrix for part in parts]))


@given(shape=st.tuples(st.integers(1, 6), st.integers(1, 6)), seed=st.integers(0, 99))
def test_rescaled_rows_are_rows_times_their_factor(shape: tuple[int, int], seed: int) -> None:
    base, factors = random_channel(*shape, seed), np.random.default_rng(seed).uniform(0.1, 10, shape[0])
    channel = Rescaled(base, factors)
    check(channel, factors[:, None] * base.matrix)
    assert channel.layout is base.layout
    np.testing.assert_allclose(channel.block(np.array([0]), np.array([0])), channel.dense()[:1, :1])


@given(outputs=st.integers(1, 5), heights=st.lists(st.integers(1, 4), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_piled_channels_stand_one_below_the_other(outputs: int, heights: list[int], seed: int) -> None:
    parts = tuple(random_channel(height, outputs, seed + place) for place, height in enumerate(heights))
    check(VerticalStack(parts), np.vstack([part.matrix for part in parts]))


@given(
    shapes=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=4), seed=st.integers(0, 99)
)
def test_kronecker_is_the_product_of_all(shapes: list[tuple[int, int]], seed: int) -> None:
    parts = [random_channel(*shape, seed + place) for place, shape in enumerate(shapes)]
    whole: FloatArray = np.ones((1, 1))
    for part in parts:
        whole = np.kron(whole, part.matrix).astype(np.float64)
    check(Kronecker(tuple(parts)), whole)


@given(
    size=st.integers(1, 70),
    vectors=st.integers(1, 20),
    keep=st.floats(1e-3, 0.999),
    flip=st.floats(1e-3, 0.999),
    seed=st.integers(0, 99),
)
def test_bits_are_looked_up_byte_by_byte(size: int, vectors: int, keep: float, flip: float, seed: int) -> None:
    bits = np.random.default_rng(seed).random((vectors, size)) < 0.5
    channel = BitChannel(size, keep, flip, np.packbits(bits, axis=1, bitorder="little"))
    odds = keep / (1 - keep) * (1 - flip) / flip
    check(channel, np.where(bits.T, odds, 1.0))


def test_bits_that_say_nothing_are_no_bits() -> None:
    channel = BitChannel(2, 0.3, 0.3, np.array([[1], [2]], dtype=np.uint8))
    assert channel.bit_vectors is None  # columns are all alike, whatever their bits
    with pytest.raises(NotInvertibleError, match=r"probability 0\.3 whatever the value"):
        channel.unbit(np.array([0.5, 0.5]))
    telling = BitChannel(2, 0.6, 0.3, channel.packed)
    assert telling.bit_vectors is channel.packed
    np.testing.assert_allclose(telling.unbit(np.array([[0.5, 0.5], [1.0, 0.0]])), [[2 / 3, 2 / 3], [7 / 3, -1]])


@given(
    size=st.integers(1, 40),
    decay=st.floats(1e-9, 50.0),
    places=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20),
)
def test_scattered_reports_anywhere_between_the_ends(size: int, decay: float, places: list[float]) -> None:
    positions = np.array([0.0, size - 1.0, *(place * (size - 1) for place in places)])
    expected = np.exp(-decay * np.abs(np.arange(size)[:, None] - positions))
    channel = ScatteredExponential(size, decay, positions)
    np.testing.assert_allclose(channel.dense(), expected, rtol=1e-12)
    theta = random_distributions(size)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, positions.size)
    np.testing.assert_allclose(channel.push(theta), theta @ expected, rtol=1e-11)  # nothing is lost to cancellation
    np.testing.assert_allclose(channel.pull(weights), expected @ weights, rtol=1e-11)
    check(channel, expected)


@given(
    gaps=st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30),
    decay=st.floats(1e-9, 50.0),
    shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20),
)
def test_scattered_reports_between_values_with_gaps(gaps: list[float], decay: float, shares: list[float]) -> None:
    places = np.cumsum(gaps)
    positions = places[0] + np.array([0.0, 1.0, *shares]) * (places[-1] - places[0])
    expected = np.exp(-decay * np.abs(places[:, None] - positions))
    channel = ScatteredExponential(places.size, decay, positions, places)
    theta = random_distributions(places.size)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, positions.size)
    # A distance of 1e7 has an error of 1e-9, and its exponential with it.
    relative, absolute = 1e-11 + 1e-15 * decay * places[-1], 1e-300
    np.testing.assert_allclose(channel.push(theta), theta @ expected, relative, absolute)
    np.testing.assert_allclose(channel.pull(weights), expected @ weights, relative, absolute)
    np.testing.assert_array_equal(channel.dense(), expected)


@given(size=st.integers(2, 30), decay=st.floats(1e-3, 5.0), seed=st.integers(0, 99), data=st.data())
def test_a_piece_of_an_exponential_is_its_submatrix(size: int, decay: float, seed: int, data: st.DataObject) -> None:
    columns, rows, diagonal = np.random.default_rng(seed).uniform(0.1, 1.0, (3, size))
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    for extra in ((None, None), (rows, None), (None, diagonal)):
        whole = TwoSidedExponential(math.exp(-decay), -math.expm1(-decay), columns, *extra)
        check(whole.piece(start, stop), whole.dense()[start:stop, start:stop])


@given(size=st.integers(1, 40), keep=st.floats(0.01, 1.0), other=st.floats(0.0, 0.01))
def test_randomized_response_is_two_numbers(size: int, keep: float, other: float) -> None:
    matrix = np.full((size, size), other)
    np.fill_diagonal(matrix, keep)
    check(RandomizedResponseChannel(size, keep, other), matrix)


@given(size=st.integers(1, 40), decay=st.floats(1e-6, 50.0), seed=st.integers(0, 99), parts=st.integers(0, 3))
def test_two_sided_exponentials_with_rows_and_a_diagonal(size: int, decay: float, seed: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    columns, rows, diagonal = rng.uniform(0.1, 1.0, (3, size))
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    matrix = np.exp(-decay * steps) * columns
    if parts & 1:
        matrix *= rows[:, None]
    if parts & 2:
        np.fill_diagonal(matrix, diagonal)
    channel = TwoSidedExponential(
        math.exp(-decay), -math.expm1(-decay), columns, rows if parts & 1 else None, diagonal if parts & 2 else None
    )
    check(channel, matrix)
    theta = random_distributions(size)
    condition = np.linalg.cond(matrix)
    if condition < 1e8:
        # Its inverse is made of differences of neighbours, which are the closer the smaller the decay.
        close = 1e-14 * condition * max(1.0, 1 / decay)
        np.testing.assert_allclose(channel.unpush(channel.push(theta)), theta, rtol=0, atol=close)


@given(rows=st.integers(2, 12), columns=st.integers(2, 12), decay=st.floats(1e-3, 5.0), seed=st.integers(0, 99))
def test_plain_convolution_is_the_kernel_between_all_cells(rows: int, columns: int, decay: float, seed: int) -> None:
    kernel = planar_geometric_kernel((rows, columns), decay)
    cells = Grid(rows, columns).coordinates.astype(np.int64)
    gaps = np.abs(cells[:, None, :] - cells[None, :, :])
    factors = np.random.default_rng(seed).uniform(0.5, 1.0, rows * columns)
    matrix = kernel.cells[gaps[..., 0], gaps[..., 1]] * factors[:, None]
    check(PlanarConvolution(kernel, factors), matrix)


def test_a_point_far_away_is_exact_where_a_transform_would_leave_noise() -> None:
    # e^(-5 x 55) is 1e-120. A transform of the whole table knows nothing below 1e-17.
    channel = TruncatedPlanarGeometric(Grid(40, 40), 5.0).channel
    point = np.zeros(1600)
    point[0] = 1.0
    np.testing.assert_allclose(channel.push(point), channel.dense()[0], rtol=1e-12)
    assert 0 < channel.push(point)[-1] < 1e-100


@pytest.mark.parametrize("size", [3, 101])
@pytest.mark.parametrize("epsilon", [12.0, 30.0, 100.0])
def test_the_peak_of_weak_laplace_noise_is_not_lost(size: int, epsilon: float) -> None:
    # The peak's cell is close to one and those beside it are tiny; a difference of large numbers would lose both.
    channel = TruncatedLaplace(Integers(0, size - 1), epsilon).channel
    half = math.exp(-epsilon / 2)
    theta = random_distributions(size)
    middle = size // 2
    row = channel.select(np.array([middle]))[0]
    assert row[middle] == pytest.approx(1 - half, rel=1e-14)
    beside = half / 2 if size == 3 else half * (1 - half**2) / 2
    assert row[middle - 1] == pytest.approx(beside, rel=1e-12)
    np.testing.assert_allclose(channel.push(theta), theta @ channel.dense(), rtol=1e-12)
    assert channel.push(theta).sum() == pytest.approx(1, rel=1e-13)
    np.testing.assert_allclose(channel.unpush(channel.push(theta)), theta, rtol=1e-9, atol=1e-15)


@given(
    size=st.integers(1, 70),
    seeds=st.integers(1, 9),
    buckets=st.sampled_from([2, 3, 7, 16, 65, 1024]),
    lift=st.floats(1e-9, 1e3),
    seed=st.integers(0, 99),
)
def test_seeds_are_looked_up_together(size: int, seeds: int, buckets: int, lift: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    multipliers, shifts = generator.integers(1, PRIME, seeds), generator.integers(0, PRIME, seeds)
    channel = HashChannel(size, multipliers, shifts, buckets, Fraction(1, 2), lift, 0.25)
    own = [
        [(a * x + b) % PRIME % buckets for a, b in zip(multipliers.tolist(), shifts.tolist(), strict=True)]
        for x in range(size)
    ]
    inside = np.array(own)[:, :, None] == np.arange(buckets)
    check(channel, np.where(inside, 0.25 * (1 + lift), 0.25).reshape(size, -1))


def test_inner_products_of_hashed_rows_are_those_of_the_matrix() -> None:
    generator = np.random.default_rng(3)
    channel = HashChannel(
        50, generator.integers(1, PRIME, 20), generator.integers(0, PRIME, 20), 12, Fraction(1, 2), 4.0, 0.1
    )
    values, weights = np.array([3, 7, 1, 40]), generator.random(240)
    rows = channel.dense()[values]
    found = channel.gram(values, weights)
    assert found is not None
    np.testing.assert_allclose(found, (rows * weights) @ rows.T, rtol=1e-13)
    assert replace(channel, buckets=2).gram(values, weights[:40]) is None  # whole rows are quicker
    assert RandomizedResponseChannel(50, 0.5, 0.01).gram(values, weights[:50]) is None

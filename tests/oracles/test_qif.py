"""Agreement with qif, a library for quantitative information flow that shares no code with confide.

qif sets outputs under 1e-6 to zero before it updates, so its iterates are compared where every output exceeds that.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import each
from tests.laws.examples import random_matrix

from confide import (
    IBU,
    Exponential,
    FromMatrix,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    audit,
    estimate,
    tally,
)
from confide.mechanisms.guarantees import worst_ratio

qif = pytest.importorskip("qif", reason="qif, an oracle for mechanisms and IBU, is not installed: pip install qif")

MECHANISMS: list[Mechanism] = [
    TruncatedGeometric(Integers(0, 19), 0.2),
    TruncatedGeometric(Integers(0, 99), 0.05),
    RandomizedResponse(Integers(0, 9), 1.0),
    FromMatrix(Integers(0, 3), random_matrix(4, 7)),  # neither square nor symmetric
    FromMatrix(Integers(0, 6), random_matrix(7, 4)),
    Exponential(Grid(4, 4), 1.0),
    TruncatedPlanarGeometric(Grid(4, 4), 0.7),
]


@each("size", [2, 3, 10, 100])
@each("epsilon", [0.05, 0.7, 3.0])
def test_geometric(size: int, epsilon: float) -> None:
    ours = TruncatedGeometric(Integers(0, size - 1), epsilon).channel.dense()
    np.testing.assert_allclose(ours, qif.mechanism.d_privacy.geometric(size, epsilon), rtol=0, atol=1e-15)


@each("size", [2, 3, 10, 100])
@each("epsilon", [0.05, 0.7, 3.0])
def test_randomized_response(size: int, epsilon: float) -> None:
    ours = RandomizedResponse(Integers(0, size - 1), epsilon).channel.dense()
    np.testing.assert_allclose(ours, qif.mechanism.d_privacy.randomized_response(size, epsilon), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("low", "outputs"), [(0, Integers(-3, 12)), (5, Integers(0, 25)), (0, Integers(0, 9))], ids=repr
)
def test_geometric_with_other_outputs(low: int, outputs: Integers) -> None:
    ours = TruncatedGeometric(Integers(low, low + 9), 0.4, outputs).channel.dense()
    theirs = qif.mechanism.d_privacy.geometric(10, 0.4, outputs.size, low, outputs.span[0])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)


@each("size", [2, 3, 10, 60])
@each("epsilon", [0.05, 0.7, 3.0])
def test_exponential_on_a_line(size: int, epsilon: float) -> None:
    # qif halves the distance that it is given, too.
    ours = Exponential(Integers(0, size - 1), epsilon).channel.dense()
    theirs = qif.mechanism.d_privacy.exponential(size, lambda x, z: epsilon * abs(x - z))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("grid", [Grid(4, 5, spacing=0.5), Grid(3, 3, holes=((1, 1),))], ids=repr)
def test_exponential_on_a_plane(grid: Grid) -> None:
    distances = grid.distances()
    theirs = qif.mechanism.d_privacy.exponential(grid.size, lambda x, z: 1.5 * float(distances[x, z]))
    np.testing.assert_allclose(Exponential(grid, 1.5).channel.dense(), theirs, rtol=0, atol=1e-8)


# Its planar mechanisms are sums that stop early, and samples: good to a few digits on small squares, and no further.


@pytest.mark.parametrize("side", [4, 6])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_planar_geometric_on_small_squares(side: int, epsilon: float) -> None:
    ours = TruncatedPlanarGeometric(Grid(side, side), epsilon).channel.dense()
    theirs = qif.mechanism.geo_ind.planar_geometric_grid(side, side, 1.0, epsilon)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_planar_laplace_on_a_small_square() -> None:
    ours = TruncatedPlanarLaplace(Grid(4, 4), 1.0).channel.dense()
    theirs = qif.mechanism.geo_ind.planar_laplace_grid(4, 4, 1.0, 1.0)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=5e-3)


@pytest.mark.slow
def test_borders_that_break_a_promise_and_borders_that_keep_it() -> None:
    # The corner's sum stops early, so that qif's corner tells two cells apart by half as much again as is promised.
    grid = Grid(20, 20)
    ours = TruncatedPlanarGeometric(grid, 1.0)
    theirs = qif.mechanism.geo_ind.planar_geometric_grid(20, 20, 1.0, 1.0)
    worst = worst_ratio(theirs, ours.guarantee.bounds(grid))
    assert worst.exceeds
    assert worst.relative > 1.3
    assert all(part in (0, 19) for part in divmod(worst.output, 20))
    assert audit(ours).holds


@each("steps", [1, 2, 5, 20, 100])
@each("mechanism", MECHANISMS, ids=repr)
def test_iterates(mechanism: Mechanism, steps: int) -> None:
    size, outputs = mechanism.channel.shape
    counts = np.random.default_rng(3).integers(10, 1000, outputs).astype(np.float64)
    reports = mechanism.report_alphabet.decode(np.arange(outputs))
    ours = estimate(tally(reports, counts), mechanism, IBU(1e-300, iteration_limit=steps)).distribution
    matrix, start = mechanism.channel.dense(), np.full(size, 1 / size)
    theirs, taken = qif.channel.iterative_bayesian_update(matrix, counts / counts.sum(), start, 0.0, steps)
    assert taken == steps
    assert (ours @ matrix).min() > 1e-6
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_iterates_from_another_start() -> None:
    mechanism = MECHANISMS[3]
    counts, start = np.array([5.0, 1.0, 7.0, 3.0, 2.0, 9.0, 4.0]), np.array([0.1, 0.2, 0.3, 0.4])
    ours = estimate(tally(np.arange(7), counts), mechanism, IBU(1e-300, start, 30)).distribution
    matrix = mechanism.channel.dense()
    theirs, _ = qif.channel.iterative_bayesian_update(matrix, counts / counts.sum(), start, 0.0, 30)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

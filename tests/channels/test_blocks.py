"""Blocks of cells: an exact channel between them, and what a plane of very many cells is solved by."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.channels.base import FloatArray
from confide.channels.composed import Blocks
from confide.channels.kernels import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel
from confide.channels.planar import ClampedPlanarConvolution
from confide.errors import TooLargeError
from confide.solve.methods import stacked as module

KERNELS = [planar_laplace_kernel((12, 20), 0.3), planar_geometric_kernel((12, 20), 0.3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=["laplace", "geometric"])
@pytest.mark.parametrize("side", [2, 4])
def test_the_channel_between_blocks_is_exact_where_people_are_spread_evenly(kernel: PlanarKernel, side: int) -> None:
    channel, blocks = ClampedPlanarConvolution(kernel), Blocks((12, 20), side)
    shares = np.random.default_rng(0).dirichlet(np.ones(blocks.count))
    sent = blocks.nearest(channel.push(blocks.spread(shares)))
    coarse = channel.in_blocks(side)
    assert np.abs(coarse.push(shares) - sent).max() < 1e-15
    weights = np.random.default_rng(1).uniform(0, 1, blocks.count)
    pulled = blocks.gather(channel.pull(weights[blocks._block_of]))
    assert np.abs(coarse.pull(weights) - pulled).max() < 1e-14


def test_blocks_at_the_rims_may_be_smaller() -> None:
    blocks = Blocks((7, 10), 3)
    assert blocks.grid == (3, 4)
    shares = np.random.default_rng(0).dirichlet(np.ones(12))
    assert np.allclose(blocks.nearest(blocks.spread(shares)), shares)
    assert np.allclose(blocks.gather(np.ones(70)), 1)
    assert np.allclose(blocks.smooth(blocks.nearest(np.full(70, 1 / 70))), 1 / 70)
    assert [Blocks.of((1000, 1000), most).side for most in (15_000, 1_000_000)] == [9, 1]
    assert Blocks.of((37, 41), 100).count <= 100


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take 1,600 cells for very many."""
    monkeypatch.setitem(vars(module.LIMITS), "many_cells", 800)
    monkeypatch.setitem(vars(module.LIMITS), "most_blocks", 100)


GRID = cf.Grid(40, 40, spacing=0.5, unit="km")
MECHANISM = cf.TruncatedPlanarLaplace(GRID, epsilon=1.0)


@pytest.fixture(scope="module")
def truth() -> FloatArray:
    places = GRID.coordinates
    hills = [
        np.exp(-((places - middle) ** 2).sum(axis=1) / 2 / width**2) for middle, width in (((15, 18), 5), ((28, 28), 3))
    ]
    return np.asarray(sum(hill / hill.sum() for hill in hills) / 2)


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_very_many_cells_are_solved_in_blocks_and_brought_to_cells(truth: FloatArray) -> None:
    people = np.random.default_rng(1).multinomial(20_000, truth)
    counts = MECHANISM.simulate_counts(people, rng=1)
    answer = cf.estimate(counts, MECHANISM)
    assert "solved for 100 blocks of 4 x 4 cells, then 4 steps of EM on the cells" in answer.ending
    assert answer.distribution.sum() == pytest.approx(1)
    error = np.abs(answer.distribution - truth).sum() / 2
    assert error < 0.3 * np.abs(counts_of(counts) - truth).sum() / 2
    # Steps between blocks would show: within a block neighbours differ no less than across its rim.
    table = answer.distribution.reshape(40, 40)
    jumps = np.abs(np.diff(table, axis=0)).sum(axis=1)
    assert jumps[3::4].sum() < 0.4 * jumps.sum()
    found = answer.query("row < 20")
    assert found.low <= truth.reshape(40, 40)[:20].sum() <= found.high
    assert "if people are spread evenly within blocks of 4 x 4 cells" in found.rests_on
    assert found.high - found.low < 0.05
    with pytest.raises(TooLargeError, match="Ask for areas"):
        answer.interval()


def counts_of(counts: cf.Counts) -> FloatArray:
    return np.asarray(MECHANISM.lay_out(counts)) / counts.total


@pytest.mark.usefixtures("many")
def test_holes_and_other_mechanisms_have_no_blocks() -> None:
    from confide.solve.methods.stacked import blocks_of

    with_hole = cf.TruncatedPlanarLaplace(cf.Grid(60, 60, holes=[(3, 3)]), epsilon=1.0)
    taxicab = cf.TruncatedTaxicab(cf.Grid(60, 60), epsilon=1.0)
    for mechanism, is_solved in ((MECHANISM, True), (with_hole, False), (taxicab, False)):
        found = blocks_of(mechanism.observe(cf.tally([(1, 1), (5, 5)])))
        assert (found is not None) == is_solved

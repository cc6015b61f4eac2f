"""The paper's mechanisms on a plane: equations, the square root of two, San Francisco and Manhattan."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from tests.cases import each

from confide import (
    IBU,
    Counts,
    Grid,
    Inversion,
    Remapped,
    TruncatedPlanarGeometric,
    TruncatedTaxicab,
    assess,
    audit,
    datasets,
    emd,
    estimate,
)
from confide.mechanisms import MetricPrivacy
from confide.mechanisms.guarantees import worst_ratio
from confide.values.metrics import Manhattan

# Equation truncatedTaxicab and proposition geoindTaxicab.


def g(z: int, first: int, last: int, decay: float) -> float:
    """Return the paper's g(z; z1, z2)."""
    return (1 if z in (first, last) else 1 - exp(-decay)) / (1 + exp(-decay))


@each("spacing", [1.0, 0.5])
@each("epsilon", [0.1, 1.0, 3.0])
@each("grid", [(3, 4, 0, 0), (2, 5, -3, 7), (6, 2, 1, 1)])
def test_equation_truncated_taxicab(grid: tuple[int, int, int, int], epsilon: float, spacing: float) -> None:
    rows, columns, row, column = grid
    alphabet = Grid(rows, columns, spacing, "km", (), row, column)
    matrix = TruncatedTaxicab(alphabet, epsilon).channel.dense()
    decay = epsilon / sqrt(2) * spacing  # lambda s
    cells = alphabet.decode(np.arange(alphabet.size)).tolist()
    for x, (u, v) in enumerate(cells):
        for z, (mu, nu) in enumerate(cells):
            a = g(mu, row, row + rows - 1, decay)
            b = g(nu, column, column + columns - 1, decay)
            expected = a * b * exp(-decay * (abs(mu - u) + abs(nu - v)))
            assert matrix[x, z] == pytest.approx(expected, rel=1e-12)


def test_equation_truncated_taxicab_with_a_wider_output() -> None:
    alphabet, outputs = Grid(2, 3), Grid(5, 6, first_row=-1, first_column=-2)
    matrix = TruncatedTaxicab(alphabet, 1.0, outputs).channel.dense()
    decay = 1 / sqrt(2)
    for x, (u, v) in enumerate(alphabet.decode(np.arange(6)).tolist()):
        for z, (mu, nu) in enumerate(outputs.decode(np.arange(30)).tolist()):
            expected = g(mu, -1, 3, decay) * g(nu, -2, 3, decay) * exp(-decay * (abs(mu - u) + abs(nu - v)))
            assert matrix[x, z] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rate", [0.1, 0.7, 2.0])
def test_taxicab_is_geo_indistinguishable_with_root_two_times_lambda(rate: float) -> None:
    grid = Grid(5, 6)
    mechanism = TruncatedTaxicab(grid, sqrt(2) * rate)
    matrix = mechanism.channel.dense()
    assert audit(mechanism).holds
    # Against lambda times the Euclidean distance it fails on diagonals, by the square root of two and no more...
    worst = worst_ratio(matrix, MetricPrivacy(rate, grid.metric).bounds(grid))
    assert worst.relative == pytest.approx(sqrt(2), rel=1e-9)
    # ...and against lambda times the taxicab distance it holds, to the last bit.
    assert worst_ratio(matrix, MetricPrivacy(rate, Manhattan()).bounds(grid)).relative == pytest.approx(1, rel=1e-9)


# An example of non-consistency: San Francisco, 5 x 5 cells reported as 4 x 4.

CITY = datasets.san_francisco()
REMAPPED = Remapped(TruncatedPlanarGeometric(Grid(5, 5, unit="km"), 0.5), Grid(4, 4, unit="km"))


def test_san_francisco_has_25_rows_and_16_columns() -> None:
    matrix = REMAPPED.channel.dense()
    assert CITY.alphabet == REMAPPED.alphabet
    assert matrix.shape == (25, 16)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12)
    assert np.linalg.matrix_rank(matrix) <= 16
    assert audit(REMAPPED).holds
    assert REMAPPED.guarantee == MetricPrivacy(0.5, CITY.alphabet.metric, "km")


def test_truncating_at_once_or_in_two_steps_is_the_same_here() -> None:
    at_once = TruncatedPlanarGeometric(Grid(5, 5, unit="km"), 0.5, Grid(4, 4, unit="km")).channel.dense()
    np.testing.assert_allclose(REMAPPED.channel.dense(), at_once, rtol=1e-12)


def test_infinitely_many_reports_leave_several_answers() -> None:
    # Nine dimensions of distributions look the same through this mechanism, and IBU stays where it starts among them.
    matrix, truth = REMAPPED.channel.dense(), CITY.distribution
    assert (truth > 0).all()
    counts = Counts(REMAPPED.outputs.decode(np.arange(16)), 1e6 * truth @ matrix)
    hidden = np.linalg.svd(matrix.T)[2][16:]
    for direction in (hidden[0], hidden[3], -hidden[5]):
        rival = truth + 0.9 * direction * min(-truth[direction < 0] / direction[direction < 0])
        assert np.abs(rival - truth).sum() > 0.01
        answer = estimate(counts, REMAPPED, IBU(1e-3, start=rival, iteration_limit=50))
        np.testing.assert_allclose(answer.distribution, rival, rtol=0, atol=1e-8)
        assert answer.certificate < 1e-3  # of a log-likelihood of some millions: as likely as can be


# Manhattan, under the truncated taxicab mechanism at 1.0 per km.


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_manhattan_is_seen_by_ibu_and_by_nobody_else(seed: int) -> None:
    pytest.importorskip("ot", reason="POT, for the EMD on a grid, is not installed: pip install 'confide[planar]'")
    city = datasets.manhattan()
    assert isinstance(city.alphabet, Grid)
    mechanism = TruncatedTaxicab(city.alphabet, 1.0)
    counts = mechanism.simulate_counts(city.histogram, rng=seed)
    ibu, normalized, projected = (
        assess(counts, mechanism, method, truth=city.distribution).emd
        for method in (IBU(delta=1.0), Inversion("normalize"), Inversion("project"))
    )
    noisy = emd(mechanism.lay_out(counts) / counts.total, city.distribution, city.alphabet)
    assert ibu is not None
    assert normalized is not None
    assert projected is not None
    assert 0.10 < ibu < 0.22  # the paper: 0.1587
    assert normalized > 0.5  # 0.7963
    assert projected > 0.5  # 0.9017
    assert noisy > 0.5  # 0.8719

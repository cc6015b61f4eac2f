"""Every truncated mechanism against its definition: noise by brute force, then the nearest cell."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each
from tests.kernels import polar
from tests.laws.examples import AROUND, BESIDE, LAKE, RING, WITHIN
from tests.laws.formulas import lattice_sum

from confide import (
    Attributes,
    Categories,
    Exponential,
    Grid,
    Integers,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
)
from confide.mechanisms.planar import nearest_cells
from confide.values import Alphabet

FloatArray = NDArray[np.float64]

LINES = [
    (Integers(0, 9), None),
    (Integers(-3, 4, spacing=0.5), None),
    (Integers(0, 9), Integers(-5, 14)),
    (Integers(0, 9), Integers(3, 5)),
    (Integers(0, 9), Integers(4, 20)),
    (Integers(0, 9), Integers(-6, 0)),
    (Integers(0, 1), Integers(0, 0)),
]
PLANES = [
    (Grid(3, 4), None),
    (Grid(2, 5, spacing=0.5, first_row=-3, first_column=9), None),
    (LAKE, None),
    (LAKE, AROUND),
    (LAKE, WITHIN),
    (LAKE, BESIDE),
    (RING, None),
    (Grid(3, 3), Grid(1, 1, first_row=1, first_column=1)),
]
every_line = each(("alphabet", "outputs"), LINES, ids=repr)
every_plane = pytest.mark.parametrize(("alphabet", "outputs"), PLANES, ids=repr)


@every_line
@each("epsilon", [0.2, 1.0, 5.0])
def test_geometric_is_long_noise_clamped(alphabet: Integers, outputs: Integers | None, epsilon: float) -> None:
    rate = epsilon * alphabet.spacing
    noise = np.arange(-math.ceil(45 / rate) - 40, math.ceil(45 / rate) + 41)
    chances = np.exp(-rate * np.abs(noise)) * math.tanh(rate / 2)
    matrix = TruncatedGeometric(alphabet, epsilon, outputs).channel.dense()
    (low, high), (first, last) = alphabet.span, (outputs or alphabet).span
    for x in range(low, high + 1):
        places = np.clip(x + noise, first, last) - first
        expected = np.bincount(places, chances, minlength=last - first + 1)
        np.testing.assert_allclose(matrix[x - low], expected, rtol=1e-11)


@every_line
@each("epsilon", [0.2, 1.0, 5.0, 25.0])
def test_laplace_is_the_mass_of_each_cell(alphabet: Integers, outputs: Integers | None, epsilon: float) -> None:
    rate = epsilon * alphabet.spacing

    def above(edge: float) -> float:
        return math.exp(-rate * edge) / 2 if edge > 0 else 1 - math.exp(rate * edge) / 2

    matrix = TruncatedLaplace(alphabet, epsilon, outputs).channel.dense()
    (low, high), (first, last) = alphabet.span, (outputs or alphabet).span
    for x in range(low, high + 1):
        edges = [math.inf if z == first else above(z - 0.5 - x) for z in range(first, last + 1)]
        reached = [1.0 if edge == math.inf else edge for edge in edges] + [0.0]
        expected = [here - there for here, there in pairwise(reached)]
        np.testing.assert_allclose(matrix[x - low], expected, rtol=1e-9, atol=1e-15)


ALPHABETS: list[Alphabet] = [
    Integers(0, 9),
    Integers(5, 7, spacing=2.5),
    Grid(3, 4, spacing=0.5),
    Grid(1, 7),
    Grid(27, 27),
    LAKE,
    Categories(["a", "b", "c"]),
    Attributes(first=Integers(0, 3, spacing=0.5), second=Categories(["f", "m"])),
    Attributes(first=Integers(0, 3), second=Integers(0, 2, spacing=2.0)),
]


@each("alphabet", ALPHABETS, ids=repr)
@each("epsilon", [0.1, 2.0])
def test_exponential_is_half_the_distance_normalised(alphabet: Alphabet, epsilon: float) -> None:
    expected = np.exp(-epsilon * alphabet.distances() / 2)
    expected /= expected.sum(axis=1, keepdims=True)
    # Tables are made for a rate that is lower by one part in 10^9.
    np.testing.assert_allclose(Exponential(alphabet, epsilon).channel.dense(), expected, rtol=1e-7)


# On the plane: noise is clamped to the box around alphabet and outputs, and from there goes to the nearest output.


def box_of(alphabet: Grid, outputs: Grid | None) -> Grid:
    """Return the smallest grid without holes that holds both."""
    cells = np.concatenate([grid.box.decode(np.arange(grid.box.size)) for grid in (alphabet, outputs or alphabet)])
    (row, column), (rows, columns) = cells.min(axis=0).tolist(), (np.ptp(cells, axis=0) + 1).tolist()
    return Grid(rows, columns, alphabet.spacing, "", (), row, column)


def remapped(alphabet: Grid, outputs: Grid | None, x: tuple[int, int], noise: FloatArray) -> FloatArray:
    """Return what each output gets from x, given the displacements' probabilities; ties as the package breaks them."""
    box, reports = box_of(alphabet, outputs), outputs or alphabet
    low = np.array([box.first_row, box.first_column])
    steps = np.arange(noise.shape[0]) - noise.shape[0] // 2
    moves = np.array(list(product(steps, steps)))
    places = nearest_cells(box, reports)[box.encode(np.clip(np.array(x) + moves, low, low + box.shape - 1))]
    return np.bincount(places, noise.reshape(-1), minlength=reports.size).astype(np.float64)


def check_plane(
    mechanism: TruncatedTaxicab | TruncatedPlanarGeometric | TruncatedPlanarLaplace, noise: FloatArray
) -> None:
    matrix, alphabet = mechanism.channel.dense(), mechanism.alphabet
    for index in {0, 1, alphabet.size // 2, alphabet.size - 1}:
        x = tuple(alphabet.decode([index])[0].tolist())
        expected = remapped(alphabet, mechanism.outputs, x, noise)
        np.testing.assert_allclose(matrix[index], expected, rtol=1e-7, atol=1e-12)
        assert sum(expected) == pytest.approx(1, rel=1e-8)


@every_plane
def test_taxicab_is_long_noise_moved_to_the_nearest_cell(alphabet: Grid, outputs: Grid | None) -> None:
    rate = 2.0 * alphabet.spacing / math.sqrt(2)
    steps = np.abs(np.arange(-30, 31))
    line = math.tanh(rate / 2) * np.exp(-rate * steps)
    check_plane(TruncatedTaxicab(alphabet, 2.0, outputs), np.outer(line, line))


@every_plane
def test_planar_geometric_is_long_noise_moved_to_the_nearest_cell(alphabet: Grid, outputs: Grid | None) -> None:
    rate = 2.0 * alphabet.spacing
    steps = np.arange(-25, 26)
    noise = np.exp(-rate * np.hypot(steps[:, None], steps)) / lattice_sum(rate)
    check_plane(TruncatedPlanarGeometric(alphabet, 2.0, outputs), noise)


@every_plane
def test_planar_laplace_is_the_mass_of_cells_moved_to_the_nearest(alphabet: Grid, outputs: Grid | None) -> None:
    # A box of at most 8 by 10 cells: past ten steps all noise is clamped alike, so the last cell may hold it all.
    rate = 2.0 * alphabet.spacing
    reach = 10
    quadrant = np.array([[polar.cell(rate, row, column) for column in range(reach)] for row in range(reach)])
    tails = [polar.row_tail(rate, reach - 0.5, column) for column in range(reach)]
    far = np.vstack([np.column_stack([quadrant, tails]), [*tails, polar.beyond(rate, reach - 0.5, reach - 0.5)]])
    mirror = np.abs(np.arange(-reach, reach + 1))
    check_plane(TruncatedPlanarLaplace(alphabet, 2.0, outputs), far[mirror[:, None], mirror])


@every_plane
def test_every_cell_goes_to_an_output_that_none_is_nearer_than(alphabet: Grid, outputs: Grid | None) -> None:
    reports = outputs or alphabet
    box = box_of(alphabet, outputs)
    nearest = nearest_cells(box, reports)
    cells, places = box.coordinates, reports.coordinates
    distances = np.hypot(*np.moveaxis(cells[:, None, :] - places[None, :, :], -1, 0))
    np.testing.assert_allclose(distances[np.arange(box.size), nearest], distances.min(axis=1))


@pytest.mark.parametrize("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
def test_holes_get_nothing_and_their_neighbours_what_they_would(
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace],
) -> None:
    whole = kind(Grid(3, 3), 1.0).channel.dense()
    ring = kind(RING, 1.0).channel.dense()
    assert ring.shape == (8, 8)
    np.testing.assert_allclose(ring.sum(axis=1), 1.0, rtol=1e-12)
    outer = [place for place in range(9) if place != 4]
    added = ring - whole[np.ix_(outer, outer)]
    assert (added > -1e-15).all()
    np.testing.assert_allclose(added.sum(axis=1), whole[outer, 4], rtol=1e-10)
    # All that the hole held went to one of its four neighbours.
    assert (np.abs(added).max(axis=0) > 1e-9).sum() == 1


@pytest.mark.parametrize("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
def test_stored_and_structured_channels_are_the_same(
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = kind(LAKE, 1.0, BESIDE).channel
    monkeypatch.setattr("confide.mechanisms.planar.LARGEST_DENSE", 1)
    structured = kind(LAKE, 1.0, BESIDE).channel
    assert type(stored) is not type(structured)
    np.testing.assert_allclose(structured.dense(), stored.dense(), rtol=1e-12)
    theta = np.random.default_rng(1).dirichlet(np.ones(LAKE.size))
    np.testing.assert_allclose(structured.push(theta), stored.push(theta), rtol=1e-10)


@pytest.mark.parametrize("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
def test_outputs_that_fill_the_holes_are_taken(
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace],
) -> None:
    # The values have holes and the outputs have none: sixteen rows, twenty columns, those of the whole box.
    mechanism = kind(LAKE, 1.0, LAKE.box)
    assert mechanism.channel.shape == (16, 20)
    whole = kind(LAKE.box, 1.0).channel.dense()
    np.testing.assert_allclose(mechanism.channel.dense(), whole[LAKE.places], rtol=1e-12)
    assert len(mechanism.weights(0)) == 20

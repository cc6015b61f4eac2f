"""What every mechanism declares about its probabilities is true, and where the paper's premises fail is shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.cases import each
from tests.laws.examples import ALL_EXAMPLES, FAMILIES, all_mechanisms, label
from tests.theory.dense import matrix_of, some_reports

from confide import (
    Alphabet,
    Counts,
    Exponential,
    Grid,
    Integers,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Taxicab,
    TruncatedPlanarLaplace,
    tally,
)
from confide.mechanisms.base import Premise

SMALL = [example for example in ALL_EXAMPLES if example.alphabet.size <= 300]
ROUNDING = 1 + 1e-9


def check_premise(mechanism: Mechanism, counts: Counts) -> None:
    """Compare all pairs of values that the premise speaks about."""
    matrix = matrix_of(mechanism, counts)
    if mechanism.facts.premise is Premise.OWN_VALUE:
        own = mechanism.alphabet.encode(counts.reports)
        assert (matrix[own, np.arange(own.size)] >= matrix.max(axis=0)).all()
        others = np.delete(matrix[:, 0], own[0])
        np.testing.assert_allclose(others, others[0], rtol=1e-12)
    elif mechanism.facts.premise is not Premise.NOTHING:
        check_moves(mechanism, counts, matrix)


def check_moves(mechanism: Mechanism, counts: Counts, matrix: NDArray[np.float64]) -> None:
    """Check that no report gets likelier by a step away from the range of its own peaks along one axis."""
    points = mechanism.alphabet.coordinates
    ranges = [mechanism.peaks(Counts(counts.reports[[one]], counts.counts[[one]])) for one in range(matrix.shape[1])]
    for axis in range(points.shape[1]):
        for sign in (-1, 1):
            start, end = steps(mechanism.alphabet, axis, sign)
            # Where the peaks of a report end, seen in the direction of the step.
            ends = np.array([(sign * peaks[:, axis]).max() for peaks in ranges])
            outside = sign * points[start, axis][:, None] >= ends
            assert (matrix[end] <= matrix[start] * ROUNDING)[outside].all()


def steps(alphabet: Alphabet, axis: int, sign: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of values where the second is one step from the first."""
    values = alphabet.decode(np.arange(alphabet.size)).reshape(alphabet.size, -1)
    moved = values.copy()
    moved[:, axis] += sign
    numbers = alphabet.locate(moved if alphabet.parts > 1 else moved[:, 0])
    start = np.flatnonzero(numbers >= 0)
    return start, numbers[start]


@each("mechanism", SMALL, ids=label)
def test_every_mechanism_keeps_what_it_declares(mechanism: Mechanism) -> None:
    check_premise(mechanism, some_reports(mechanism, 12, seed=1))


@pytest.mark.slow
@given(mechanism=all_mechanisms, seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_any_small_mechanism_keeps_what_it_declares(mechanism: Mechanism, seed: int) -> None:
    check_premise(mechanism, some_reports(mechanism, 5, seed))


def test_every_kind_has_a_premise_here() -> None:
    kinds = {kind: {example.facts.premise for example in family.examples} for kind, family in FAMILIES.items()}
    assert kinds["randomized-response"] == {Premise.OWN_VALUE}
    assert kinds["exponential"] == {Premise.LINE, Premise.OWN_VALUE, Premise.NOTHING}
    for kind in ("geometric", "laplace", "truncated-laplace"):
        assert kinds[kind] == {Premise.LINE}
    assert kinds["truncated-geometric"] == {Premise.LINE, Premise.NOTHING}  # one of the examples has a single output
    for kind in ("taxicab", "truncated-taxicab", "truncated-planar-geometric", "truncated-planar-laplace"):
        assert kinds[kind] == {Premise.COORDINATES}
    for kind in ("planar-geometric", "planar-laplace"):
        assert kinds[kind] == {Premise.DISTANCE}
    for kind in ("rappor", "matrix", "product", "remapped"):
        assert kinds[kind] == {Premise.NOTHING}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PlanarGeometric, PlanarLaplace])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_distance_alone_decides_on_a_plane(kind: type[PlanarGeometric] | type[PlanarLaplace], seed: int) -> None:
    mechanism = kind(Grid(6, 7, first_row=-2), 0.7)
    counts = some_reports(mechanism, 5, seed)
    matrix = matrix_of(mechanism, counts)
    distances = np.linalg.norm(mechanism.alphabet.coordinates[:, None] - counts.reports[None], axis=2)
    for column in range(matrix.shape[1]):
        order = np.argsort(distances[:, column])
        nearer, farther = order[:-1], order[1:]
        apart = distances[farther, column] > distances[nearer, column] * ROUNDING
        assert (matrix[farther, column][apart] < matrix[nearer, column][apart]).all()


def test_the_linear_premise_of_the_paper_fails_for_the_exponential_mechanism() -> None:
    # Value 0 is farther from report 3 than value 5 is, and yet makes it likelier: there are fewer values around it.
    mechanism = Exponential(Integers(0, 30), epsilon=0.2)
    matrix = mechanism.channel.dense()
    assert abs(0 - 3) > abs(5 - 3)
    assert matrix[0, 3] > matrix[5, 3]
    # On either side of the report alone it falls, which is all that the proposition's proof uses.
    assert (np.diff(matrix[3:, 3]) < 0).all()
    assert (np.diff(matrix[:4, 3]) > 0).all()


def test_the_euclidean_premise_fails_for_taxicab_and_on_clamped_borders() -> None:
    # (2, 2) is nearer to (0, 0) than (0, 3) is, and yet a taxicab drives farther.
    taxicab = Taxicab(Grid(4, 4), 1.0)
    matrix = matrix_of(taxicab, tally([(0, 0)]))[:, 0]
    assert matrix[taxicab.alphabet.encode([(0, 3)])] > matrix[taxicab.alphabet.encode([(2, 2)])]
    # A border cell stands for all beyond it, so how likely it is does not depend on the distance from it alone.
    clamped = TruncatedPlanarLaplace(Grid(9, 9), 1.0)
    column = clamped.channel.dense()[:, clamped.alphabet.encode([(0, 4)])[0]]
    distances = np.linalg.norm(clamped.alphabet.coordinates - (0, 4), axis=1)
    nearer = distances[:, None] < distances[None, :] - 0.1
    assert (nearer & (column[:, None] < column[None, :])).any()


def test_the_exponential_mechanism_on_a_plane_has_no_premise_and_needs_none() -> None:
    # Fewer cells surround the border, so a cell there makes both reports likelier than the nearest cell of their box.
    mechanism = Exponential(Grid(9, 41), 0.1)
    assert mechanism.facts.premise is Premise.NOTHING
    columns = mechanism.channel.dense()[:, mechanism.alphabet.encode([(4, 0), (4, 40)])]
    border, nearest = mechanism.alphabet.encode([(0, 20), (4, 20)])
    assert (columns[border] > columns[nearest]).all()

"""The paper's picture of a planar likely subset (figure likely_planar)."""

from __future__ import annotations

import numpy as np
import pytest

from confide import MLE, Lattice, PlanarGeometric, PlanarLaplace, estimate, tally
from confide.theory import likely_subset
from confide.theory.likely_subsets import Hull, discretization_error, widening
from confide.values import Plane, Selection

CELL = 0.3
"""The width h of a cell, in km."""

POINTS = np.array(
    [
        *[(0, 0), (6, 0), (8, 2), (5, 4), (5, 3), (1, 3), (2, 2.4)],
        *[(1, 1), (2, 2), (1.5, 2), (3, 2), (3, 0.2), (4, 2.5), (4, 3), (6, 3), (6, 2), (5, 0.5), (5.5, 0.5)],
    ]
)
"""The reported points of the figure, in km."""


def test_delta_and_its_widening_are_those_of_the_figure() -> None:
    hull = Hull.of(POINTS)
    delta = round(discretization_error(CELL), 2)
    assert delta == 0.21
    # The largest distance is that of (0, 0) and (8, 2), the square root of 68: the figure's 8.25.
    assert round(hull.diameter, 2) == 8.25
    assert round(widening(delta, 8.25), 2) == 1.87
    assert hull.corners.tolist() == [[0, 0], [6, 0], [8, 2], [5, 4], [1, 3]]


@pytest.fixture
def mechanism() -> PlanarLaplace:
    return PlanarLaplace(Lattice(CELL, "km"), epsilon=1.0)


def reports() -> np.ndarray:
    """Return the figure's points in steps of the cell, as a device would report them."""
    return np.rint(POINTS / CELL * Plane.RESOLUTION) / Plane.RESOLUTION


def test_the_subset_of_the_figure_holds_the_maximum(mechanism: PlanarLaplace) -> None:
    counts = tally(reports())
    subset = likely_subset(counts, mechanism)
    points = subset.alphabet.coordinates * CELL
    assert (points >= -CELL).all()
    assert (points <= np.array([8, 4]) + CELL).all()
    # The widened hull itself, as the paper has it, has the same maximum.
    answer = estimate(counts, mechanism, MLE(tolerance=1e-9))
    evidence = mechanism.observe_within(counts, paper_region())
    best = MLE(tolerance=1e-9).solve(evidence)
    assert answer.log_likelihood == pytest.approx(evidence.log_likelihood(best.distribution), abs=1e-9)


def paper_region() -> Selection:
    """Return T_delta'(B), the cells within the widened hull."""
    hull = Hull.of(POINTS)
    corners = np.arange(-7, 34), np.arange(-7, 21)  # the figure's frame, from -2 to 10 and from -2 to 6 km
    cells = np.stack(np.meshgrid(*corners, indexing="ij"), axis=-1).reshape(-1, 2)
    within = hull.distances(cells.astype(np.float64) * CELL) <= widening(discretization_error(CELL), hull.diameter)
    return Selection(Lattice(CELL, "km"), cells[within])


def test_whole_cells_as_reports_give_the_same_picture() -> None:
    cells = np.rint(POINTS / CELL).astype(int)
    subset = likely_subset(tally(cells), PlanarGeometric(Lattice(CELL, "km"), epsilon=1.0))
    rows, columns = cells.max(axis=0) - cells.min(axis=0) + 1
    assert (subset.alphabet.size, subset.proof) == (rows * columns, "bounding box")

"""Probabilities of displacements on the plane, with the infinite tails that clamping piles up on the border.

A planar kernel is even in both directions, so a quadrant says it all. For displacements (i, j), i rows and j columns:

    cells[i, j]    the probability of (i, j) itself
    rows[i, j]     of all (i', j) with i' >= i: what a border row collects
    columns[i, j]  of all (i, j') with j' >= j: what a border column collects
    corners[i, j]  of all (i', j') with i' >= i and j' >= j: what a corner collects

The tails beyond the quadrant are computed once along its far rim, by Gauss rules; everything nearer is a running sum of
positive terms, so every entry has full relative accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.checks import read_only
from confide.kernels.gauss import FloatArray, Rule, interval_rule, tail_integral_rule, tail_sum_rule

NEAR = 16
"""Cells this close to the kink of the density at the origin take many nodes; smoothness makes few enough beyond."""

DEEPEST = 650.0
"""Exponents are cut off here, before float64 ends: a cut keeps neighbours within e^decay, a zero would not."""


@dataclass(frozen=True, eq=False)
class PlanarKernel:
    """Probabilities of displacements over one quadrant, and of the tails beyond each of them."""

    cells: FloatArray
    rows: FloatArray
    columns: FloatArray
    corners: FloatArray

    @classmethod
    def build(cls, cells: FloatArray, far_rows: FloatArray, far_columns: FloatArray, far_corner: float) -> PlanarKernel:
        """Accumulate tails inwards from the far rim, and normalise by the total over the plane."""
        rows = np.cumsum(np.vstack([far_rows, cells[::-1]]), axis=0)[:0:-1]
        columns = np.cumsum(np.hstack([far_columns[:, None], cells[:, ::-1]]), axis=1)[:, :0:-1]
        beyond = np.cumsum(np.concatenate([[far_corner], far_columns[::-1]]))[:0:-1]
        corners = np.cumsum(np.hstack([beyond[:, None], rows[:, ::-1]]), axis=1)[:, :0:-1]
        total = 4 * corners[0, 0] - 2 * (rows[0, 0] + columns[0, 0]) + cells[0, 0]
        return cls(*(read_only(table / total) for table in (cells, rows, columns, corners)))

    def in_blocks(self, side: int) -> PlanarKernel:
        """Return the kernel between square blocks of cells, from a place that may be anywhere in its block alike.

        >>> kernel = planar_geometric_kernel((4, 4), 1.0).in_blocks(2)
        >>> total = 4 * kernel.corners[0, 0] - 2 * (kernel.rows[0, 0] + kernel.columns[0, 0]) + kernel.cells[0, 0]
        >>> bool(abs(total - 1) < 1e-14)
        True
        """
        (down, tails_down), (along, tails_along) = (_between_blocks(count, side) for count in self.cells.shape)
        return PlanarKernel(
            read_only(down @ self.cells @ along.T),
            read_only(tails_down @ self.rows @ along.T),
            read_only(down @ self.columns @ tails_along.T),
            read_only(tails_down @ self.corners @ tails_along.T),
        )


def planar_geometric_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return probabilities proportional to e^(-decay hypot(i, j)) over the integer lattice (paper, eq. pg).

    >>> kernel = planar_geometric_kernel((3, 3), 1.0)
    >>> bool(abs(kernel.cells[1, 1] / kernel.cells[0, 0] - np.exp(-np.sqrt(2))) < 1e-15)
    True
    """
    height, width = shape
    points_down, points_along = _every(height), _every(width)
    down, along = tail_sum_rule(height, decay, width), tail_sum_rule(width, decay, height)
    return PlanarKernel.build(
        _density(points_down.nodes, points_along.nodes, decay),
        _floored(down.weights @ _density(down.nodes, points_along.nodes, decay), decay),
        _floored(_density(points_down.nodes, along.nodes, decay) @ along.weights, decay),
        _floored_corner(down, along, decay),
    )


def planar_laplace_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return the integrals of a density proportional to e^(-decay r) over unit cells centred on the integer lattice.

    >>> kernel = planar_laplace_kernel((3, 3), 1.0)
    >>> total = 4 * kernel.corners[0, 0] - 2 * kernel.rows[0, 0] - 2 * kernel.columns[0, 0] + kernel.cells[0, 0]
    >>> bool(abs(total - 1) < 1e-14)
    True
    """
    height, width = shape
    down = tail_integral_rule(height - 0.5, decay, width)
    along = tail_integral_rule(width - 0.5, decay, height)
    return PlanarKernel.build(
        _cell_integrals(height, width, decay),
        _floored(_across_cells(down, width, decay), decay),
        _floored(_across_cells(along, height, decay), decay),
        _floored_corner(down, along, decay),
    )


def _between_blocks(count: int, side: int) -> tuple[FloatArray, FloatArray]:
    """Return what takes displacements of cells to those of blocks, along one axis: itself, and the tails from it on.

    From place u of a block to place v of the one d further it is d side + v - u; on average over u, summed over v. The
    tail from block d on begins, for d >= 1, (d - 1) side + u + 1 cells away, where u counts from the nearer end; that
    from its own block on is all but what leaves it backwards. Displacements beyond the table are taken for its last.
    """
    steps, last = np.arange(-(-count // side)), count - 1
    cells, tails = np.zeros((2, steps.size, count))
    for shift in range(1 - side, side):
        np.add.at(cells, (steps, np.minimum(np.abs(steps * side + shift), last)), (side - abs(shift)) / side)
    for place in range(side):
        np.add.at(tails, (steps[1:], np.minimum((steps[1:] - 1) * side + place + 1, last)), 1 / side)
        tails[0, min(side - place, last)] -= 1 / side
    tails[0, 0] += 1
    tails[0, min(1, last)] += 1
    return cells, tails


def _every(count: int) -> Rule:
    return Rule(np.arange(float(count)), np.ones(count))


def _density(rows: FloatArray, columns: FloatArray, decay: float) -> FloatArray:
    exponents = np.minimum(decay * np.hypot(rows[:, None], columns[None, :]), DEEPEST)
    density: FloatArray = np.exp(-exponents)
    return density


def _floored(tails: FloatArray, decay: float) -> FloatArray:
    """Keep a tail of cut-off cells in proportion to them, so that neighbours still differ by e^decay at most."""
    return np.maximum(tails, math.exp(-DEEPEST) / -math.expm1(-decay))


def _floored_corner(down: Rule, along: Rule, decay: float) -> float:
    corner = float(down.weights @ _density(down.nodes, along.nodes, decay) @ along.weights)
    return max(corner, math.exp(-DEEPEST) / math.expm1(-decay) ** 2)


def _cell_integrals(height: int, width: int, decay: float) -> FloatArray:
    """Integrate the density over the cells of the quadrant: finely near the origin, where it has a kink."""
    cells = np.full((height, width), math.exp(-DEEPEST))
    reach = math.ceil(DEEPEST / decay) + 1  # beyond it all exponents are cut off
    visible = _smooth_integrals(min(height, reach), min(width, reach), _cell_rule(decay), decay)
    cells[: visible.shape[0], : visible.shape[1]] = visible
    closest = min(NEAR, reach)
    pieces = _pieces(max(1, math.ceil(decay / 4)), 24)
    near = _smooth_integrals(min(height, closest), min(width, closest), pieces, decay)
    near[0, 0] = _origin_integral(decay)
    cells[: near.shape[0], : near.shape[1]] = near
    return cells


def _cell_rule(decay: float) -> Rule:
    """Return a rule over [-1/2, 1/2] whose error on e^(-decay t) is below 1e-16, with as few nodes as that takes."""
    if decay <= 1:
        return _pieces(1, 6)
    return _pieces(math.ceil(decay / 4), 10)


def _pieces(count: int, nodes: int) -> Rule:
    piece = interval_rule(1 / count, nodes)
    starts = np.arange(count) / count - 0.5
    return Rule((starts[:, None] + piece.nodes).reshape(-1), np.tile(piece.weights, count))


def _smooth_integrals(height: int, width: int, rule: Rule, decay: float) -> FloatArray:
    cells = np.zeros((height, width))
    rows = np.arange(float(height))
    columns = (np.arange(float(width))[:, None] + rule.nodes).reshape(-1)
    for down, weight in zip(rule.nodes, rule.weights, strict=True):
        along = _density(rows + down, columns, decay).reshape(height, width, rule.nodes.size)
        cells += weight * (along @ rule.weights)
    return cells


def _origin_integral(decay: float) -> float:
    """Integrate over the cell that holds the kink, in polar coordinates: eight equal triangles, one smooth integral.

    Along a ray of angle phi the cell ends at radius secant(phi) / 2, and the integral of r e^(-decay r) up to R is
    P(2, decay R) / decay^2 with the regularised incomplete gamma function P.
    """
    from scipy.special import gammainc

    rule = interval_rule(math.pi / 4)
    radii = 0.5 / np.cos(rule.nodes)
    return float(8 * rule.weights @ gammainc(2, decay * radii)) / decay**2


def _across_cells(tail: Rule, count: int, decay: float) -> FloatArray:
    """Integrate the density over a half-infinite strip for each of `count` cells across."""
    cell = _pieces(max(1, math.ceil(decay / 4)), 24)
    strips = [
        tail.weights @ _density(tail.nodes, position + cell.nodes, decay) @ cell.weights
        for position in np.arange(float(count))
    ]
    return np.array(strips)

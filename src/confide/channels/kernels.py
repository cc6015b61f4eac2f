"""Probabilities of displacements on the plane, and their infinite tails.

Clamping piles the tails up on the border. A planar kernel is even in both directions, so one quadrant determines it.
For displacements (i, j), i rows and j columns:

    cells[i, j]    the probability of (i, j) itself
    rows[i, j]     of all (i', j) with i' >= i: collected by a border row
    columns[i, j]  of all (i, j') with j' >= j: collected by a border column
    corners[i, j]  of all (i', j') with i' >= i and j' >= j: collected by a corner

Gauss rules compute the tails beyond the quadrant once, along its far rim. Everything nearer is a running sum of
positive terms, so every entry has full relative accuracy. Everything is + - * / and sqrt in a fixed order
(:mod:`confide.values.portable`), because devices draw from these numbers: they are the same bits on every machine.

A Gauss rule with m nodes is exact for polynomials of degree 2m - 1. For the *sum* over 0, 1, ..., N - 1 the orthogonal
polynomials are the discrete Chebyshev ones, with recurrence b_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)) around the centre
(N - 1) / 2. Dropping the j^2 beside N^2 gives the Legendre recurrence, hence the integral over an interval of length N.
So one construction serves lattices and continuous planes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from confide.values.checks import read_only
from confide.values.portable import exp_minus, length, one_minus_exp_minus, total

FloatArray = NDArray[np.float64]

NODES = 24
"""Nodes of a rule; shorter sums use every term."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights of a sum or integral.

    The sum or integral of f is about the sum of weight times f(node).
    """

    nodes: FloatArray
    weights: FloatArray


def interval_rule(length: float, nodes: int = NODES) -> Rule:
    """Return the rule for the integral over [0, length].

    >>> rule = interval_rule(2.0)
    >>> bool(abs(rule.weights @ rule.nodes**2 - 8 / 3) < 1e-13)
    True
    """
    unit = _unit_rule(nodes)
    return Rule(length * unit.nodes, length * unit.weights)


@cache
def _unit_rule(nodes: int) -> Rule:
    order = np.arange(1.0, nodes)
    return _gauss_rule(0.5, order * order / (4 * (4 * order * order - 1)), 1.0)


@cache
def sum_rule(count: int, nodes: int = NODES) -> Rule:
    """Return the rule for a sum over 0, ..., count - 1.

    For few terms, every term itself.

    >>> rule = sum_rule(1000)
    >>> bool(abs(rule.weights @ rule.nodes**2 / 332833500 - 1) < 1e-13)
    True
    """
    if count <= nodes:
        return Rule(read_only(np.arange(float(count))), read_only(np.ones(count)))
    squares = np.arange(1.0, nodes) * np.arange(1.0, nodes)
    return _gauss_rule((count - 1) / 2, squares * (float(count) * count - squares) / (4 * (4 * squares - 1)), count)


def tail_rule(start: float, decay: float, across: float = 0.0, *, is_sum: bool) -> Rule:
    """Return the rule for the tail of e^(-decay hypot(t, j)).

    It is for t from start > 0 on and j <= across, and for the sum over whole numbers from a whole start, or for the
    integral. Blocks double in length while functions of the distance from 0 stay smooth on them, and stop doubling once
    the decay within one block would be steep.
    """
    # 45.0: e^-45 is 3e-20. Where decay (hypot(t, across) - hypot(start, across)) has grown so far, the tail adds
    # nothing to a float64.
    reach = math.sqrt(start * start + across * across) + 45.0 / decay
    end = math.sqrt(reach * reach - across * across)
    nodes, weights, begin = [], [], start
    longest = 4.0 / decay  # e-foldings that one block may span: 24 nodes then leave an error of 1e-16
    while begin < end:
        count, length = NODES, min(begin, longest)
        if is_sum:
            # NODES, 2 NODES, 4 NODES, ...: few blocks differ, so few rules are made.
            while 2 * count <= min(begin, int(longest)):
                count *= 2
        rule = sum_rule(count) if is_sum else interval_rule(length)
        nodes.append(rule.nodes + begin)
        weights.append(rule.weights)
        begin += count if is_sum else length
    return Rule(read_only(np.concatenate(nodes)), read_only(np.concatenate(weights)))


def _gauss_rule(centre: float, squares: FloatArray, mass: float) -> Rule:
    """Return the Gauss rule of a symmetric measure from its recurrence.

    The recurrence is p_j+1 = (x p_j - b_j p_j-1) / b_j+1 with b^2 = squares. The weight of a node is the mass divided
    by the sum of all p_j(node)^2.
    """
    # All zeros of the last polynomial, by bisection: Sturm's sequence counts those below a point.
    wanted = np.arange(squares.size + 1)
    high = np.full(wanted.size, 2 * math.sqrt(float(squares.max(initial=0.0))))
    low = -high
    for _ in range(64):  # past float64's 53 bits: no end moves any more
        middle = (low + high) / 2
        quotient = 0.0 - middle
        count = (quotient < 0).astype(np.int64)
        with np.errstate(divide="ignore"):  # a quotient of 0 is followed by one of minus infinity, which counts
            for square in squares:
                quotient = (0.0 - middle) - square / quotient
                count += quotient < 0
        is_above = count > wanted
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    nodes, roots = low, np.sqrt(squares)
    before, value = np.zeros(nodes.size), np.ones(nodes.size)
    norms = value * value
    for number, root in enumerate(roots):
        back = roots[number - 1] * before if number else before
        before, value = value, (nodes * value - back) / root
        norms = norms + value * value
    return Rule(read_only(centre + nodes), read_only(mass / norms))


DEEPEST = 650.0
"""Exponents are cut off here, before float64 underflows: a cut keeps neighbours within e^decay, a zero would not."""

FAINTEST = float(exp_minus(DEEPEST))


@dataclass(frozen=True, eq=False)
class PlanarKernel:
    """Probabilities of displacements over one quadrant, and their tails."""

    cells: FloatArray
    rows: FloatArray
    columns: FloatArray
    corners: FloatArray

    @classmethod
    def build(cls, cells: FloatArray, far_rows: FloatArray, far_columns: FloatArray, far_corner: float) -> PlanarKernel:
        """Accumulate tails inwards from the far rim, and normalize over the plane."""
        # From the faintest inwards, so that small terms are added before large ones.
        rows = np.cumsum(np.vstack([far_rows, cells[::-1]]), axis=0)[:0:-1]
        columns = np.cumsum(np.hstack([far_columns[:, None], cells[:, ::-1]]), axis=1)[:, :0:-1]
        beyond = np.cumsum(np.concatenate([[far_corner], far_columns[::-1]]))[:0:-1]
        corners = np.cumsum(np.hstack([beyond[:, None], rows[:, ::-1]]), axis=1)[:, :0:-1]
        total = 4 * corners[0, 0] - 2 * (rows[0, 0] + columns[0, 0]) + cells[0, 0]
        return cls(*(read_only(table / total) for table in (cells, rows, columns, corners)))

    @property
    def quadrant(self) -> FloatArray:
        """Displacements up to the table's size.

        The rim includes everything beyond it, because clamping treats it the same.
        """
        quadrant = self.cells.copy()
        quadrant[-1, :] = self.rows[-1, :]
        quadrant[:, -1] = self.columns[:, -1]
        quadrant[-1, -1] = self.corners[-1, -1]
        return quadrant


def planar_geometric_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return probabilities proportional to e^(-decay hypot(i, j)) over the lattice.

    Paper, eq. pg.

    >>> kernel = planar_geometric_kernel((3, 3), 1.0)
    >>> bool(abs(kernel.cells[1, 1] / kernel.cells[0, 0] - np.exp(-np.sqrt(2))) < 1e-15)
    True
    """
    height, width = shape
    rows, columns = np.arange(float(height)), np.arange(float(width))
    down, along = (tail_rule(one, decay, other, is_sum=True) for one, other in (shape, shape[::-1]))
    return PlanarKernel.build(
        _density(rows, columns, decay),
        _floored(_weighed(_density(down.nodes, columns, decay), down), decay),
        _floored(_weighed(_density(along.nodes, rows, decay), along), decay),
        _floored_corner(down, along, decay),
    )


def planar_laplace_kernel(shape: tuple[int, int], decay: float) -> PlanarKernel:
    """Return the planar Laplace density, integrated over unit cells.

    The density is proportional to e^(-decay r), and cells are centred on the integer lattice.

    >>> kernel = planar_laplace_kernel((3, 3), 1.0)
    >>> total = 4 * kernel.corners[0, 0] - 2 * kernel.rows[0, 0] - 2 * kernel.columns[0, 0] + kernel.cells[0, 0]
    >>> bool(abs(total - 1) < 1e-14)
    True
    """
    height, width = shape
    down, along = (tail_rule(one - 0.5, decay, other, is_sum=False) for one, other in (shape, shape[::-1]))
    # Integrate the density over the cells of the quadrant: finely near the origin, where it has a kink.
    cells = np.full((height, width), FAINTEST)
    reach = math.ceil(DEEPEST / decay) + 1  # beyond it all exponents are cut off
    # Over [-1/2, 1/2], as few nodes as leave an error on e^(-decay t) below 1e-16.
    fine = _pieces(1, 6) if decay <= 1 else _pieces(math.ceil(decay / 4), 10)
    visible = _smooth_integrals(min(height, reach), min(width, reach), fine, decay)
    cells[: visible.shape[0], : visible.shape[1]] = visible
    # 16: cells this close to the kink of the density at the origin take many nodes; smoothness makes few enough beyond.
    closest = min(16, reach)
    pieces = _pieces(max(1, math.ceil(decay / 4)), 24)
    near = _smooth_integrals(min(height, closest), min(width, closest), pieces, decay)
    # Integrate over the cell that holds the kink, in polar coordinates: eight equal triangles, one smooth integral.
    rule = interval_rule(1.0)
    secants = np.sqrt(1 + rule.nodes * rule.nodes)
    # P(2, y) = 1 - (1 + y) e^-y, by its series y^2 / 2! + y^3 / 3! + ... times e^-y where that would cancel.
    points = decay * secants / 2
    faded = exp_minus(np.minimum(points, DEEPEST))
    small = np.minimum(points, 1.0)
    term = small * small / 2
    series = term
    for order in range(3, 20):
        term = term * small / order
        series = series + term
    terms = np.where(points < 1, series * faded, 1 - (1 + points) * faded) / (secants * secants)
    near[0, 0] = 8 * float(_weighed(terms, rule)) / (decay * decay)
    cells[: near.shape[0], : near.shape[1]] = near
    return PlanarKernel.build(
        cells,
        _floored(_across_cells(down, width, decay), decay),
        _floored(_across_cells(along, height, decay), decay),
        _floored_corner(down, along, decay),
    )


def _density(rows: FloatArray, columns: FloatArray, decay: float) -> FloatArray:
    return exp_minus(np.minimum(decay * length(rows[:, None], columns[None, :]), DEEPEST))


def _weighed(values: FloatArray, rule: Rule) -> FloatArray:
    """Apply a rule along the first axis."""
    return total(values * rule.weights.reshape(-1, *[1] * (values.ndim - 1)))


def _floored(tails: FloatArray, decay: float) -> FloatArray:
    """Bound tails of cut-off cells from below.

    Neighbours then still differ by at most e^decay.
    """
    return np.maximum(tails, FAINTEST / one_minus_exp_minus(decay))


def _floored_corner(down: Rule, along: Rule, decay: float) -> float:
    corner = float(_weighed(_weighed(_density(down.nodes, along.nodes, decay), down), along))
    rest = one_minus_exp_minus(decay)
    return max(corner, FAINTEST / (rest * rest))


def _pieces(count: int, nodes: int) -> Rule:
    piece = interval_rule(1 / count, nodes)
    starts = np.arange(count) / count - 0.5
    return Rule((starts[:, None] + piece.nodes).reshape(-1), np.tile(piece.weights, count))


def _smooth_integrals(height: int, width: int, rule: Rule, decay: float) -> FloatArray:
    rows = np.arange(float(height))
    columns = rule.nodes[:, None] + np.arange(float(width))
    cells = np.zeros((height, width))
    for down, weight in zip(rule.nodes, rule.weights, strict=True):
        along = _density(columns.reshape(-1), rows + down, decay).reshape(*columns.shape, height)
        cells = cells + weight * _weighed(along, rule).T
    return cells


def _across_cells(tail: Rule, count: int, decay: float) -> FloatArray:
    """Integrate the density over half-infinite strips, one per cell across."""
    cell = _pieces(max(1, math.ceil(decay / 4)), 24)
    strips = [
        _weighed(_density(tail.nodes, position + cell.nodes, decay), tail) for position in np.arange(float(count))
    ]
    return _weighed(np.stack(strips, axis=1), cell)

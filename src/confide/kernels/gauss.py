"""Gauss rules for integrals and for sums over integers, and their use for infinite tails.

A Gauss rule with m nodes is exact for polynomials of degree 2m - 1. For the *sum* over 0, 1, ..., N - 1 the orthogonal
polynomials are the discrete Chebyshev ones, whose recurrence is b_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)) around the
centre (N - 1) / 2. Dropping the j^2 beside N^2 gives the Legendre recurrence, hence the integral over an interval of
length N. So one construction serves lattices and continuous planes alike.

Tables of weights rest on these rules, so they are made of + - * / and sqrt alone: the same bits on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from confide.checks import read_only

FloatArray = NDArray[np.float64]

NODES = 24
STEEPEST = 4.0
"""Number of e-foldings that one block may span: 24 nodes then leave an error of 1e-16."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights: the sum (or integral) of f is about the sum of weight times f(node)."""

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
    """Return the rule for the sum over 0, 1, ..., count - 1; every term itself where there are few.

    >>> rule = sum_rule(1000)
    >>> bool(abs(rule.weights @ rule.nodes**2 / 332833500 - 1) < 1e-13)
    True
    """
    if count <= nodes:
        return Rule(read_only(np.arange(float(count))), read_only(np.ones(count)))
    squares = np.arange(1.0, nodes) * np.arange(1.0, nodes)
    return _gauss_rule((count - 1) / 2, squares * (float(count) * count - squares) / (4 * (4 * squares - 1)), count)


def tail_sum_rule(start: int, decay: float, across: float = 0.0) -> Rule:
    """Return the rule for the sum over i = start, start + 1, ... of functions like e^(-decay hypot(i, j)), j <= across.

    Blocks double in length while that is gentle on functions of the distance from 0, and stop doubling where
    the decay within one block would be steep.
    """
    parts, begin, end = [], start, _reach(start, decay, across)
    while begin < end:
        count = _doubled(min(begin, int(STEEPEST / decay)))
        parts.append(_shifted(sum_rule(count), begin))
        begin += count
    return _joined(parts)


def tail_integral_rule(start: float, decay: float, across: float = 0.0) -> Rule:
    """Return the rule for the integral over t >= start > 0 of functions like e^(-decay hypot(t, j)), j <= across."""
    parts, begin, end = [], start, _reach(start, decay, across)
    while begin < end:
        length = min(begin, STEEPEST / decay)
        parts.append(_shifted(interval_rule(length), begin))
        begin += length
    return _joined(parts)


def _reach(start: float, decay: float, across: float) -> float:
    """Return where decay (hypot(i, across) - hypot(start, across)) has grown until the rest is negligible."""
    # 45.0: e^-45 is 3e-20: a tail that far down adds nothing to a float64.
    reach = math.sqrt(start * start + across * across) + 45.0 / decay
    return math.sqrt(reach * reach - across * across)


def _doubled(most: int) -> int:
    """Return the largest of NODES, 2 NODES, 4 NODES, ... up to a count: few blocks differ, so few rules are made."""
    count = NODES
    while 2 * count <= most:
        count *= 2
    return count


def _gauss_rule(centre: float, squares: FloatArray, mass: float) -> Rule:
    """Return the rule of a symmetric measure from its recurrence p_j+1 = (x p_j - b_j p_j-1) / b_j+1, b^2 = squares.

    The weight of a node is the mass over the sum of all p_j(node)^2.
    """
    nodes, roots = _zeros(squares), np.sqrt(squares)
    before, value = np.zeros(nodes.size), np.ones(nodes.size)
    norms = value * value
    for number, root in enumerate(roots):
        back = roots[number - 1] * before if number else before
        before, value = value, (nodes * value - back) / root
        norms = norms + value * value
    return Rule(read_only(centre + nodes), read_only(mass / norms))


def _zeros(squares: FloatArray) -> FloatArray:
    """Return all zeros of the last polynomial, by bisection: Sturm's sequence counts those below a point."""
    wanted = np.arange(squares.size + 1)
    high = np.full(wanted.size, 2 * math.sqrt(float(squares.max(initial=0.0))))
    low = -high
    for _ in range(64):  # past float64's 53 bits: no end moves any more
        middle = (low + high) / 2
        is_above = _zeros_below(middle, squares) > wanted
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return low


def _zeros_below(points: FloatArray, squares: FloatArray) -> NDArray[np.int64]:
    quotient = 0.0 - points
    count = (quotient < 0).astype(np.int64)
    with np.errstate(divide="ignore"):  # a quotient of 0 is followed by one of minus infinity, which counts
        for square in squares:
            quotient = (0.0 - points) - square / quotient
            count += quotient < 0
    return count


def _shifted(rule: Rule, offset: float) -> Rule:
    return Rule(rule.nodes + offset, rule.weights)


def _joined(parts: list[Rule]) -> Rule:
    return Rule(
        read_only(np.concatenate([part.nodes for part in parts])),
        read_only(np.concatenate([part.weights for part in parts])),
    )

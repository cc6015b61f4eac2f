"""Gauss rules for integrals and for sums over integers, and their use for infinite tails.

A Gauss rule with m nodes is exact for polynomials of degree 2m - 1. For the *sum* over 0, 1, ..., N - 1 the orthogonal
polynomials are the discrete Chebyshev ones, whose recurrence is b_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)) around the
centre (N - 1) / 2. Dropping the j^2 beside N^2 gives the Legendre recurrence, hence the integral over an interval of
length N. So one construction (Golub and Welsch) serves lattices and continuous planes alike.
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
NEGLIGIBLE = 45.0
"""e^-45 is 3e-20: a tail that far down adds nothing to a float64."""
STEEPEST = 4.0
"""Number of e-foldings that one block may span: 24 nodes then leave an error of 1e-16."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights: the sum (or integral) of f is about the sum of weight times f(node)."""

    nodes: FloatArray
    weights: FloatArray


@cache
def interval_rule(length: float, nodes: int = NODES) -> Rule:
    """Return the rule for the integral over [0, length].

    >>> rule = interval_rule(2.0)
    >>> bool(abs(rule.weights @ rule.nodes**2 - 8 / 3) < 1e-13)
    True
    """
    order = np.arange(1.0, nodes)
    return _golub_welsch(length / 2, (length * order) ** 2 / (4 * (4 * order**2 - 1)), length)


@cache
def sum_rule(count: int, nodes: int = NODES) -> Rule:
    """Return the rule for the sum over 0, 1, ..., count - 1; every term itself where there are few.

    >>> rule = sum_rule(1000)
    >>> bool(abs(rule.weights @ rule.nodes**2 / 332833500 - 1) < 1e-13)
    True
    """
    if count <= nodes:
        return Rule(read_only(np.arange(float(count))), read_only(np.ones(count)))
    order = np.arange(1.0, nodes)
    return _golub_welsch((count - 1) / 2, order**2 * (count**2 - order**2) / (4 * (4 * order**2 - 1)), count)


def tail_sum_rule(start: int, decay: float, across: float = 0.0) -> Rule:
    """Return the rule for the sum over i = start, start + 1, ... of functions like e^(-decay hypot(i, j)), j <= across.

    Blocks double in length while that is gentle on functions of the distance from 0, and stop doubling where
    the decay within one block would be steep.
    """
    parts, begin, end = [], start, _reach(start, decay, across)
    while begin < end:
        count = max(NODES, min(begin, int(STEEPEST / decay)))
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
    return math.sqrt((math.hypot(start, across) + NEGLIGIBLE / decay) ** 2 - across**2)


def _golub_welsch(centre: float, squares: FloatArray, mass: float) -> Rule:
    """Return the rule of a symmetric measure: eigenvalues of its Jacobi matrix, and first components squared."""
    from scipy.linalg import eigh_tridiagonal

    values, vectors = eigh_tridiagonal(np.zeros(squares.size + 1), np.sqrt(squares))
    first: FloatArray = vectors[0].astype(np.float64)
    return Rule(read_only(centre + values.astype(np.float64)), read_only(mass * first**2))


def _shifted(rule: Rule, offset: float) -> Rule:
    return Rule(rule.nodes + offset, rule.weights)


def _joined(parts: list[Rule]) -> Rule:
    return Rule(
        read_only(np.concatenate([part.nodes for part in parts])),
        read_only(np.concatenate([part.weights for part in parts])),
    )

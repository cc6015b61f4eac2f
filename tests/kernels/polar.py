"""The planar Laplace's masses by polar integration, written apart from the package.

In polar coordinates the density c^2 / (2 pi) e^(-c r) integrates along a ray from R to infinity to (1 + c R) e^(-c R) /
(2 pi), so the mass of a quadrant cut off at (a, b) is one integral over the angle; rectangles follow by inclusion and
exclusion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from scipy.integrate import quad


@cache
def beyond(decay: float, down: float, along: float) -> float:
    """Return the mass of all points with x >= down and y >= along, both at least 0."""

    def ray(radius: float) -> float:
        return (1 + decay * radius) * math.exp(-decay * radius) / (2 * math.pi)

    corner = math.atan2(along, down)  # up to it the ray enters across y = along, past it across x = down
    low = _integral(lambda angle: ray(along / math.sin(angle)) if angle > 0 else ray(down), 0.0, corner)
    high = _integral(lambda angle: ray(down / math.cos(angle)), corner, math.pi / 2)
    return low + high


def _integral(function: Callable[[float], float], low: float, high: float) -> float:
    # In pieces: where the ray must go far the integrand is flat at zero, and quad alone may miss what is beside it.
    ends = [low + (high - low) * part / 8 for part in range(9)]
    return math.fsum(
        quad(function, start, end, epsabs=1e-17, epsrel=1e-13, limit=200)[0] for start, end in pairwise(ends)
    )


def row_tail(decay: float, down: float, column: int) -> float:
    """Return the mass of x >= down > 0 within the cell's width around a column."""
    if column == 0:
        return 2 * (beyond(decay, down, 0.0) - beyond(decay, down, 0.5))
    return beyond(decay, down, column - 0.5) - beyond(decay, down, column + 0.5)


def cell(decay: float, row: int, column: int) -> float:
    """Return the mass of one cell."""
    if row == column == 0:  # all, less four half-planes, whose overlaps were taken away twice
        return 1 - 4 * beyond(decay, 0.5, 0.0) * 2 + 4 * beyond(decay, 0.5, 0.5)
    if row == 0:
        return cell(decay, column, row)
    return row_tail(decay, row - 0.5, column) - row_tail(decay, row + 0.5, column)

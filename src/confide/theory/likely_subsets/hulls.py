"""The convex hull of reports, widened by delta' (paper, proposition likelyplanar and eq. extension)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polygon by its corners, counter-clockwise; it may be a segment or a point.

    >>> square = Hull.of(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [2.0, 2.0]]))
    >>> square.corners.shape[0], round(square.diameter, 3)
    (4, 2.828)
    >>> square.distances(np.array([[1.0, 1.0], [3.0, 3.0]])).round(3)
    array([0.   , 1.414])
    """

    corners: Points

    @classmethod
    def of(cls, points: Points) -> Hull:
        """Return the hull of points, by Andrew's monotone chain."""
        distinct = _extremes(points)
        lower, upper = _chain(distinct), _chain(distinct[::-1])
        return cls(np.array((lower[:-1] + upper[:-1]) or lower))

    @property
    def diameter(self) -> float:
        """d_max, the largest distance between two of the points: it lies between two corners."""
        difference = self.corners[:, None] - self.corners[None, :]
        return float(np.hypot(difference[..., 0], difference[..., 1]).max())

    def distances(self, points: Points) -> NDArray[np.float64]:
        """Return how far points lie outside; 0 inside."""
        inside = np.full(points.shape[0], self.corners.shape[0] > 2)
        nearest = np.full(points.shape[0], np.inf)
        for start, end in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            side, offset = end - start, points - start
            inside &= side[0] * offset[:, 1] - side[1] * offset[:, 0] >= 0
            along = np.clip(offset @ side / max(float(side @ side), 1e-300), 0.0, 1.0)
            foot = offset - along[:, None] * side
            nearest = np.minimum(nearest, np.hypot(foot[:, 0], foot[:, 1]))
        return np.where(inside, 0.0, nearest)


def discretization_error(spacing: float) -> float:
    """Return delta, the largest distance from a point of the plane to the nearest of its cells: h / sqrt 2.

    >>> round(discretization_error(0.3), 2)
    0.21
    """
    return spacing / math.sqrt(2)


def widening(delta: float, diameter: float) -> float:
    """Return delta', by how much the hull is widened (paper, eq. extension).

    >>> round(widening(0.21, 8.25), 2)
    1.87
    """
    return math.sqrt(delta**2 + 2 * delta * diameter)


def _extremes(points: Points) -> list[tuple[float, float]]:
    """Return the first and the last point of each row, in order; no other can be a corner."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    is_new = np.diff(ordered[:, 0], prepend=np.nan, append=np.nan) != 0
    ends = ordered[is_new[:-1] | is_new[1:]].tolist()
    return list(dict.fromkeys((row, column) for row, column in ends))


def _chain(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1 and not _turns_left(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    return chain


def _turns_left(first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]) -> bool:
    area = (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (third[0] - first[0])
    return area > 0

"""Local maxima of a function over the values, where the values have neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray, Indices, Layout

MOST_WITHOUT_NEIGHBOURS = 100
"""How many of the highest values stand in for local maxima where nothing is known of neighbours."""


def peaks(heights: FloatArray, layout: Layout | None) -> Indices:
    """Return the numbers of the values that are higher than all their neighbours.

    >>> peaks(np.array([1.0, 3.0, 2.0, 5.0]), Layout((4,)))
    array([1, 3])
    """
    if layout is None:
        count = min(MOST_WITHOUT_NEIGHBOURS, heights.size)
        return np.sort(np.argpartition(heights, -count)[-count:])
    if layout.places is None:
        return np.flatnonzero(_is_peak(heights.reshape(layout.shape)))
    box = np.full(int(np.prod(layout.shape)), -np.inf)
    box[layout.places] = heights
    return np.flatnonzero(_is_peak(box.reshape(layout.shape)).reshape(-1)[layout.places])


def highest(candidates: Indices, heights: FloatArray, count: int) -> Indices:
    """Return at most `count` of the candidates, those with the greatest heights.

    >>> highest(np.array([0, 1, 2]), np.array([5.0, 7.0, 6.0]), 2)
    array([2, 1])
    """
    if candidates.size <= count:
        return candidates
    return candidates[np.argsort(heights[candidates])[-count:]]


def _is_peak(picture: FloatArray) -> NDArray[np.bool_]:
    is_peak = np.ones(picture.shape, dtype=bool)
    for axis in range(picture.ndim):
        ahead, behind = (_cut(picture.ndim, axis, piece) for piece in (slice(1, None), slice(None, -1)))
        is_peak[ahead] &= picture[ahead] > picture[behind]  # strictly, so that a plateau has one peak at most
        is_peak[behind] &= picture[behind] >= picture[ahead]
    return is_peak


def _cut(dimensions: int, axis: int, piece: slice) -> tuple[slice, ...]:
    return tuple(piece if number == axis else slice(None) for number in range(dimensions))

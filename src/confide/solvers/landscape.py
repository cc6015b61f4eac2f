"""Values and their neighbours: local maxima of a function over the values, and how much rows overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import Channel, FloatArray, Indices, Layout

MOST_WITHOUT_NEIGHBOURS = 100
"""How many of the highest values stand in for local maxima where nothing is known of neighbours."""

LITTLE_OVERLAP = 0.8
"""Below it noise is weak: rows of neighbours are no near copies of each other, and most values carry the maximum."""

STANDING = 1e-4
"""Where noise is weak, values with this share of an equal one count as left standing by EM."""


def overlap(channel: Channel) -> float:
    """Return the cosine between the rows of a value in the middle and of the one before it."""
    layout, value = channel.layout, channel.shape[0] // 2
    if layout is not None and layout.places is None and len(layout.shape) == 2:
        value = layout.shape[0] // 2 * layout.shape[1] + layout.shape[1] // 2  # not at a border, where rows break off
    first, second = channel.select(np.array([value, max(value - 1, 0)]))
    sizes = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / sizes if sizes > 0 else 1.0


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

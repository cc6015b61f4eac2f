"""How rough a function over the values is: the sum of its squared differences between neighbours."""

from __future__ import annotations

import math

import numpy as np

from confide.channels.base import FloatArray, Indices, Layout

STENCILS = {1: (-1.0, 1.0), 2: (1.0, -2.0, 1.0), 3: (-1.0, 3.0, -3.0, 1.0)}
"""Differences of the first, second and third order."""

TWIST = (1.0, -1.0, -1.0, 1.0)
"""The mixed second difference over the four corners of a square."""


def roughness(layout: Layout, size: int, order: int) -> FloatArray:
    """Return the matrix P for which f' P f is the sum of the squared differences of f, along every axis.

    Differences of the second order on a plane include the mixed one, twice, so that no direction is preferred: the
    thin plate. A difference that would reach over a hole, or past the rim, does not count.

    >>> roughness(Layout((3,)), 3, 2)
    array([[ 1., -2.,  1.],
           [-2.,  4., -2.],
           [ 1., -2.,  1.]])
    """
    box = _number_of_each_place(layout, size)
    penalty = np.zeros((size, size))
    for axis in range(box.ndim):
        _add(penalty, _windows(box, axis, order + 1), STENCILS[order])
    if box.ndim == 2 and order == 2:
        corners = np.stack([box[:-1, :-1], box[:-1, 1:], box[1:, :-1], box[1:, 1:]], axis=-1)
        _add(penalty, corners.reshape(-1, 4), tuple(math.sqrt(2) * weight for weight in TWIST))
    return penalty


def _number_of_each_place(layout: Layout, size: int) -> Indices:
    """Return the box of the layout with the number of the value that stands at each place, -1 where none does."""
    box = np.full(math.prod(layout.shape), -1, dtype=np.int64)
    box[slice(None) if layout.places is None else layout.places] = np.arange(size)
    return box.reshape(layout.shape)


def _windows(box: Indices, axis: int, width: int) -> Indices:
    """Return all runs of so many places along an axis, one a row."""
    if box.shape[axis] < width:
        return np.zeros((0, width), dtype=np.int64)
    runs = np.lib.stride_tricks.sliding_window_view(box, width, axis=axis)
    return runs.reshape(-1, width)


def _add(penalty: FloatArray, windows: Indices, stencil: tuple[float, ...]) -> None:
    """Add the square of one difference for each window that has no hole."""
    whole = windows[(windows >= 0).all(axis=1)]
    for left, one in enumerate(stencil):
        for right, other in enumerate(stencil):
            np.add.at(penalty, (whole[:, left], whole[:, right]), one * other)

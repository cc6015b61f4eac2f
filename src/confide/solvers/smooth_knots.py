"""Knots between which a function is straight, and how rough a function over them is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray, Indices, Layout

STENCILS = {1: (-1.0, 1.0), 2: (1.0, -2.0, 1.0), 3: (-1.0, 3.0, -3.0, 1.0)}
"""Differences of the first, second and third order."""

TWIST = (1.0, -1.0, -1.0, 1.0)
"""The mixed second difference over the four corners of a square."""


@dataclass(frozen=True, eq=False)
class Knots:
    """Some places of a box, evenly spaced along each axis; between them functions are straight.

    Attributes
    ----------
    layout
        How the knots lie; the layout of the values themselves where every value is a knot.
    size
        How many there are.
    weights
        One row a knot, one column a value: how much of the knot's height the value gets. None where every value is a
        knot.
    """

    layout: Layout
    size: int
    weights: FloatArray | None

    @classmethod
    def over(cls, layout: Layout, size: int, most: int) -> Knots:
        """Return every value as a knot, or at most so many knots where there are more values.

        >>> Knots.over(Layout((7,)), 7, 4).weights
        array([[1. , 0.5, 0. , 0. , 0. , 0. , 0. ],
               [0. , 0.5, 1. , 0.5, 0. , 0. , 0. ],
               [0. , 0. , 0. , 0.5, 1. , 0.5, 0. ],
               [0. , 0. , 0. , 0. , 0. , 0.5, 1. ]])
        """
        if size <= most:
            return cls(layout, size, None)
        shape = _fewer(layout.shape, most)
        weights: FloatArray = np.ones((1, 1))
        for length, count in zip(layout.shape, shape, strict=True):
            weights = np.kron(weights, _hats(length, count)).astype(np.float64)
        places: slice | Indices = slice(None) if layout.places is None else layout.places
        return cls(Layout(shape), math.prod(shape), weights[:, places])

    def spread(self, heights: FloatArray) -> FloatArray:
        """Return the heights of all values from those of the knots."""
        return heights if self.weights is None else heights @ self.weights

    def gather(self, slopes: FloatArray) -> FloatArray:
        """Return how a sum over values changes with the height of each knot, from how it changes with each value's.

        Both this and :meth:`spread` take one function, or several, one a row.
        """
        return slopes if self.weights is None else slopes @ self.weights.T


def _fewer(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Shrink all sides alike until at most so many places are left; a side keeps four places if it has them."""
    shrink = (most / math.prod(shape)) ** (1 / len(shape))
    return tuple(max(min(length, 4), int(length * shrink)) for length in shape)


def _hats(length: int, count: int) -> FloatArray:
    """Return for each of so many knots on a line how much of it each place gets."""
    places = np.arange(length) * ((count - 1) / max(length - 1, 1))
    hats: FloatArray = np.maximum(0.0, 1.0 - np.abs(places - np.arange(count)[:, None]))
    return hats


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

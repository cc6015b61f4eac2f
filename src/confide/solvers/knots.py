"""Functions over many values, described by few numbers: straight lines between knots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray, Indices, Layout


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

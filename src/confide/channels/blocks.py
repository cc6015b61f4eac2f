"""Square blocks of the cells of a plane, with people spread evenly in each: what a million cells are solved by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray, Indices


@dataclass(frozen=True)
class Blocks:
    """Uniform distributions on square blocks of cells, `side` cells each way; those at the far rims may be smaller.

    They are the components of a :class:`confide.channels.mixed.Mixture`.

    >>> Blocks((2, 3), 2).spread(np.array([0.4, 0.6]))
    array([0.1, 0.1, 0.3, 0.1, 0.1, 0.3])
    """

    shape: tuple[int, int]
    side: int

    @classmethod
    def of(cls, shape: tuple[int, int], most: int) -> Blocks:
        """Return the smallest blocks of which there are at most so many."""
        side = math.isqrt(max(1, math.prod(shape) // most))
        while math.prod(cls(shape, side).grid) > most:
            side += 1
        return cls(shape, side)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        return -(-self.shape[0] // self.side), -(-self.shape[1] // self.side)

    @property
    def count(self) -> int:
        """See :attr:`Block.count`."""
        return math.prod(self.grid)

    @property
    def values(self) -> Indices:
        """See :attr:`Block.values`."""
        return np.arange(math.prod(self.shape))

    def spread(self, shares: FloatArray) -> FloatArray:
        """See :meth:`Block.spread`."""
        return np.asarray((shares / self._sizes)[..., self._block_of])

    def gather(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Block.gather`."""
        return np.asarray(self.nearest(weights) / self._sizes)

    def nearest(self, shares: FloatArray) -> FloatArray:
        """See :meth:`Block.nearest`: the sum over each block."""
        tables = shares.reshape(*shares.shape[:-1], *self.shape)
        for axis in (-2, -1):
            tables = np.add.reduceat(tables, np.arange(0, tables.shape[axis], self.side), axis=axis)
        return tables.reshape(*shares.shape[:-1], -1)

    def smooth(self, shares: FloatArray) -> FloatArray:
        """Take the shares of blocks to cells by straight lines between their middles, so that no steps are left."""
        table = (shares / self._sizes).reshape(self.grid)
        down, along = (_between(cells, self.side) for cells in self.shape)
        cells = (down @ table @ along.T).reshape(-1)
        return np.asarray(cells / cells.sum())

    @cached_property
    def _sizes(self) -> FloatArray:
        return self.nearest(np.ones(math.prod(self.shape)))

    @cached_property
    def _block_of(self) -> Indices:
        down, along = (np.arange(cells) // self.side for cells in self.shape)
        return np.asarray((down[:, None] * self.grid[1] + along).reshape(-1))


def _between(cells: int, side: int) -> FloatArray:
    """Return how much of each block is in each cell, along one axis: a line from middle to middle."""
    places = np.clip((np.arange(cells) + 0.5) / side - 0.5, 0, -(-cells // side) - 1)
    before = np.floor(places).astype(np.int64)
    weights = np.zeros((cells, -(-cells // side)))
    weights[np.arange(cells), before] = 1 - (places - before)
    weights[np.arange(cells), np.minimum(before + 1, weights.shape[1] - 1)] += places - before
    return weights

"""Mixtures of given distributions, and a channel over their weights.

A declared shape is a set of mixtures: theta = phi G, where phi is any distribution over the rows of G, and the rows are
distributions over the values. Through a channel M, phi goes through G M. So all estimates, proofs and bounds for theta
apply to phi, and thus to the distributions of that shape.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.values import Attributes
from confide.values.checks import read_only, settle

SMALL = 512
"""Most components, values and outputs for which G M is stored: one product instead of two."""


class Block(Protocol):
    """Components over some of the values, by their products with G."""

    @property
    def count(self) -> int:
        """Number of components."""

    @property
    def values(self) -> Indices:
        """Numbers of the values that they cover."""

    def spread(self, shares: FloatArray) -> FloatArray:
        """Map the components' shares to the values' shares: phi G."""

    def gather(self, weights: FloatArray) -> FloatArray:
        """Map a weight per value to each component's mean weight: G c."""

    def nearest(self, shares: FloatArray) -> FloatArray | None:
        """Map the values' shares to the components of the nearest mixture.

        Nearest in Kullback-Leibler divergence, from rows of shares that need not sum to 1. `None` without a closed
        form.
        """


@dataclass(frozen=True, eq=False)
class Points:
    """Point masses: single values, without any assumption."""

    values: Indices

    @property
    def count(self) -> int:
        return self.values.size

    def spread(self, shares: FloatArray) -> FloatArray:
        return shares

    def gather(self, weights: FloatArray) -> FloatArray:
        return weights

    def nearest(self, shares: FloatArray) -> FloatArray | None:
        return shares


@dataclass(frozen=True, eq=False)
class Margins:
    """Point masses on some attributes, for all combinations of attributes.

    The other attributes are summed out.
    """

    whole: Attributes
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.whole.size

    @cached_property
    def values(self) -> Indices:
        return np.arange(self.whole.part(*self.names).size)

    def spread(self, shares: FloatArray) -> FloatArray:
        return self.whole.margin(shares, *self.names)

    def gather(self, weights: FloatArray) -> FloatArray:
        return self.whole.spread(weights, *self.names)

    def nearest(self, shares: FloatArray) -> FloatArray | None:  # noqa: ARG002 (many combinations are as near)
        return None


@dataclass(frozen=True, eq=False)
class Runs:
    """Uniform distributions on runs of values that share an end.

    Their mixtures are the falling sequences (`is_rising`: the rising ones). A falling sequence is a mixture of the runs
    first..first, first..first + 1 and so on in exactly one way: the share of first..j is its length times the step down
    after j. All sums have one sign, so nothing cancels.

    >>> Runs(0, 3).spread(np.array([0.0, 0.4, 0.6]))
    array([0.4, 0.4, 0.2])
    >>> Runs(0, 3, is_rising=True).spread(np.array([0.6, 0.4, 0.0]))
    array([0.2, 0.4, 0.4])
    """

    first: int
    count: int
    is_rising: bool = False

    @property
    def values(self) -> Indices:
        return np.arange(self.first, self.first + self.count)

    @cached_property
    def _lengths(self) -> FloatArray:
        return np.arange(1.0, self.count + 1)

    def spread(self, shares: FloatArray) -> FloatArray:
        if self.is_rising:
            return np.cumsum(shares / self._lengths[::-1], axis=-1)
        return np.cumsum((shares / self._lengths)[..., ::-1], axis=-1)[..., ::-1]

    def gather(self, weights: FloatArray) -> FloatArray:
        if self.is_rising:
            return np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1] / self._lengths[::-1]
        return np.cumsum(weights, axis=-1) / self._lengths

    def nearest(self, shares: FloatArray) -> FloatArray | None:
        """See :meth:`Block.nearest`; pools adjacent violators."""
        falling = shares[..., ::-1] if self.is_rising else shares
        rows = np.array([_pooled(row) for row in falling])
        # The share of a run is its length times the step down after it; after the last one comes nothing.
        steps = rows - np.pad(rows[:, 1:], ((0, 0), (0, 1)))
        runs: FloatArray = np.maximum(steps, 0.0) * self._lengths
        return runs[:, ::-1] if self.is_rising else runs


def _pooled(shares: FloatArray) -> FloatArray:
    """Return the nearest falling sequence, by pooling adjacent violators.

    Ayer and others, 1955.

    >>> _pooled(np.array([0.1, 0.4, 0.3, 0.2]))
    array([0.26666667, 0.26666667, 0.26666667, 0.2       ])
    """
    means: list[float] = []
    lengths: list[int] = []
    for share in shares.tolist():
        mean, length = share, 1
        while means and means[-1] < mean:
            mean = (mean * length + means[-1] * lengths[-1]) / (length + lengths[-1])
            length += lengths.pop()
            means.pop()
        means.append(mean)
        lengths.append(length)
    return np.repeat(means, lengths)


@dataclass(frozen=True, eq=False)
class Table:
    """Any stored distributions over some of the values, one per row."""

    values: Indices
    matrix: FloatArray

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        settle(self, matrix=read_only(matrix / matrix.sum(axis=1, keepdims=True)))

    @property
    def count(self) -> int:
        return int(self.matrix.shape[0])

    def spread(self, shares: FloatArray) -> FloatArray:
        return shares @ self.matrix

    def gather(self, weights: FloatArray) -> FloatArray:
        return weights @ self.matrix.T

    def nearest(self, shares: FloatArray) -> FloatArray | None:  # noqa: ARG002 (one contract)
        """See :meth:`Block.nearest`: there is no closed form."""
        return None


@dataclass(frozen=True)
class Blocks:
    """Uniform distributions on square blocks of cells.

    A block has `side` cells each way; those at the far rims may be smaller. They make a plane of a million cells
    solvable, by assuming that people are spread evenly in each block.

    >>> Blocks((2, 3), 2).spread(np.array([0.4, 0.6]))
    array([0.1, 0.1, 0.3, 0.1, 0.1, 0.3])
    """

    shape: tuple[int, int]
    side: int

    @classmethod
    def of(cls, shape: tuple[int, int], most: int) -> Blocks:
        """Return the smallest blocks of which there are at most `most`."""
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
        return math.prod(self.grid)

    @property
    def values(self) -> Indices:
        return np.arange(math.prod(self.shape))

    def spread(self, shares: FloatArray) -> FloatArray:
        return np.asarray((shares / self._sizes)[..., self._block_of])

    def gather(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self.nearest(weights) / self._sizes)

    def nearest(self, shares: FloatArray) -> FloatArray:
        """See :meth:`Block.nearest`: the sum over each block."""
        tables = shares.reshape(*shares.shape[:-1], *self.shape)
        for axis in (-2, -1):
            tables = np.add.reduceat(tables, np.arange(0, tables.shape[axis], self.side), axis=axis)
        return tables.reshape(*shares.shape[:-1], -1)

    def smooth(self, shares: FloatArray) -> FloatArray:
        """Interpolate the blocks' shares to cells, linearly between block centres."""
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
    """Return the weights of linear interpolation between blocks, along one axis."""
    places = np.clip((np.arange(cells) + 0.5) / side - 0.5, 0, -(-cells // side) - 1)
    before = np.floor(places).astype(np.int64)
    weights = np.zeros((cells, -(-cells // side)))
    weights[np.arange(cells), before] = 1 - (places - before)
    weights[np.arange(cells), np.minimum(before + 1, weights.shape[1] - 1)] += places - before
    return weights


@dataclass(frozen=True, eq=False)
class Mixture:
    """All mixtures of some distributions: the matrix G, by its products.

    Attributes
    ----------
    size
        Number of values.
    blocks
        The components. Values in none of them have share 0.
    layout
        Layout of the components, if neighbours are similar; otherwise `None`.

    >>> halves = Mixture(4, (Points(np.array([0])), Runs(1, 3)))
    >>> halves.dense().round(2)
    array([[1.  , 0.  , 0.  , 0.  ],
           [0.  , 1.  , 0.  , 0.  ],
           [0.  , 0.5 , 0.5 , 0.  ],
           [0.  , 0.33, 0.33, 0.33]])
    """

    size: int
    blocks: tuple[Block, ...]
    layout: Layout | None = None

    @cached_property
    def count(self) -> int:
        """Number of components."""
        return sum(block.count for block in self.blocks)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Map the components' shares to the values' shares: theta = phi G."""
        theta = np.zeros((*shares.shape[:-1], self.size))
        for block, part in zip(self.blocks, np.split(shares, self._ends, axis=-1), strict=True):
            theta[..., block.values] += block.spread(part)
        return theta

    def gather(self, weights: FloatArray) -> FloatArray:
        """Map a weight per value to each component's mean weight: G c."""
        return np.concatenate([block.gather(weights[..., block.values]) for block in self.blocks], axis=-1)

    def nearest(self, shares: FloatArray) -> FloatArray | None:
        """Map rows of shares to the nearest mixtures' components.

        See :meth:`Block.nearest`. Each value is in one block, so blocks keep their totals and are solved separately.
        """
        parts = [block.nearest(shares[:, block.values]) for block in self.blocks]
        found = [part for part in parts if part is not None]
        return np.concatenate(found, axis=1) if len(found) == len(parts) else None

    def dense(self) -> FloatArray:
        """Return the matrix G, one row per component."""
        return self.spread(np.eye(self.count))

    @cached_property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([block.count for block in self.blocks])[:-1].tolist()
        return ends


@dataclass(frozen=True, eq=False, repr=False)
class Mixed(Channel):
    """A channel over the components of a mixture: G M.

    >>> from confide.channels import Dense
    >>> Mixed(Dense(np.eye(3)), Mixture(3, (Runs(0, 3),))).push(np.array([0.0, 0.4, 0.6]))
    array([0.4, 0.4, 0.2])
    """

    base: Channel
    mixture: Mixture

    @property
    def shape(self) -> tuple[int, int]:
        return self.mixture.count, self.base.shape[1]

    @property
    def layout(self) -> Layout | None:
        return self.mixture.layout

    @property
    def identity(self) -> Hashable:
        return (Mixed, self.mixture, self.base.identity)

    @property
    def _is_small(self) -> bool:
        return max(*self.shape, self.base.shape[0]) <= SMALL

    @cached_property
    def _matrix(self) -> FloatArray:
        return read_only(self.mixture.dense() @ self.base.dense())

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        return distribution @ self._matrix if self._is_small else self.base.push(self.mixture.spread(distribution))

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        return weights @ self._matrix.T if self._is_small else self.mixture.gather(self.base.pull(weights))

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`; an entry is a sum over values."""
        return self.base.entry_error + (self.base.shape[0] + 3) * UNIT

    @property
    def rounding(self) -> float:
        return self.base.rounding + (self.base.shape[0] + 3) * UNIT

    def _error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        if self._is_small:
            return super()._error(side, given, product)
        if side == 0:
            error = self.base.push_error(self.mixture.spread(given), product)
            return error + (self.mixture.count + 3) * UNIT * product
        errors = self.base.pull_error(given, self.base.pull(given))
        return self.mixture.gather(errors) + (self.base.shape[0] + 3) * UNIT * product

    def select(self, values: Indices) -> FloatArray:
        if self._is_small:
            selected: FloatArray = self._matrix[values]
            return selected
        units = np.zeros((values.size, self.mixture.count))
        units[np.arange(values.size), values] = 1.0
        rows = self.mixture.spread(units)
        # A component is over few values, and rows of the others are not asked for.
        used = np.flatnonzero(rows.any(axis=0))
        return rows[:, used] @ self.base.select(used)

    def dense(self) -> FloatArray:
        return self._matrix if self._is_small else super().dense()

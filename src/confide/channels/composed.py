"""Channels made of others: composed, embedded, in parallel, stacked or mixed.

**Mixtures.** A declared shape is a set of mixtures: theta = phi G, where phi is any distribution over the rows of G,
and the rows are distributions over the values. Through a channel M, phi goes through G M. So all estimates, proofs and
bounds for theta apply to phi, and thus to the distributions of that shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import ClassVar, Protocol

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout, require_square
from confide.values import Attributes
from confide.values.checks import read_only, settle


@dataclass(frozen=True, eq=False, repr=False)
class Composed(Channel):
    """The product of two channels, without its matrix.

    >>> import numpy as np
    >>> from confide.channels import RandomizedResponseChannel
    >>> half = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> Composed(half, half).push(np.array([1.0, 0.0]))
    array([0.625, 0.375])
    """

    first: Channel
    second: Channel

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.shape[0], self.second.shape[1]

    @property
    def layout(self) -> Layout | None:
        return self.first.layout

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        one, other = self._steps(side)
        return other.times(side, one.times(side, vectors))

    def _steps(self, side: int) -> tuple[Channel, Channel]:
        # Back from reports to values, the second step is undone first.
        return (self.first, self.second) if side == 0 else (self.second, self.first)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        return self.first.unpush(self.second.unpush(frequencies))

    def unpull(self, weights: FloatArray) -> FloatArray:
        return self.second.unpull(self.first.unpull(weights))

    @property
    def entry_error(self) -> float:
        # An entry is a sum over intermediate outputs.
        return self.first.entry_error + self.second.entry_error + (self.first.shape[1] + 3) * UNIT

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        # Errors of one step go through the next, which adds its own.
        one, other = self._steps(side)
        between = one.times(side, given)
        return other.times(side, one.error(side, given, between)) + other.error(side, between, product)

    def select(self, values: Indices) -> FloatArray:
        rows = self.first.select(values)
        inner, outputs = self.second.shape
        # 2**22: entries of the second matrix up to which rows of the product are sums over it, each exact to a few
        # roundings.
        return rows @ self._dense if inner * outputs <= 2**22 else self.second.push(rows)

    @cached_property
    def _dense(self) -> FloatArray:
        return self.second.dense()


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Channel):
    """A channel restricted to some values, with its outputs remapped.

    Parameters
    ----------
    base
        The larger channel.
    values
        Its values that this channel has.
    remap
        For each of its outputs, the output of this channel that it is reported as; -1 if never.
    outputs
        Number of outputs of this channel.

    Examples
    --------
    >>> from confide.channels import RandomizedResponseChannel
    >>> base = RandomizedResponseChannel(3, 0.5, 0.25)
    >>> Embedded(base, np.array([0, 1]), np.array([0, 1, 1]), 2).dense()
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    base: Channel
    values: Indices
    remap: Indices
    outputs: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.size, self.outputs

    @property
    def layout(self) -> Layout | None:
        return None if self.base.layout is None else self.base.layout.part(self.values)

    @property
    def rounding(self) -> float:
        return self.base.rounding

    @property
    def entry_error(self) -> float:
        return self.base.entry_error

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        product = self.base.times(side, self._full(side, vectors))
        return self._merge(product) if side == 0 else product[..., self.values]

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        full = self._full(side, given)
        error = self.base.error(side, full, self.base.times(side, full))
        if side == 0:
            merged_most = int(np.bincount(self.remap + 1)[1:].max(initial=0))
            return self._merge(error) + merged_most * UNIT * product
        return error[..., self.values]

    def select(self, values: Indices) -> FloatArray:
        return self._merge(self.base.select(self.values[values]))

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        asked, again = np.unique(outputs, return_inverse=True)
        number = np.full(self.outputs + 1, -1)  # what is never reported, -1, finds the last entry
        number[asked] = np.arange(asked.size)
        places = np.flatnonzero(number[self.remap] >= 0)
        numbers = number[self.remap[places]]
        # A few rows at a time: an output may gather most of a long line.
        step = max(1, 2**22 // max(1, places.size))
        merged = [
            np.bincount(numbers, row, minlength=asked.size)
            for start in range(0, values.size, step)
            for row in self.base.block(self.values[values[start : start + step]], places)
        ]
        return np.array(merged, dtype=np.float64).reshape(values.size, asked.size)[:, again]

    def _full(self, side: int, vectors: FloatArray) -> FloatArray:
        """Lay out a distribution, or weights, as the base takes them."""
        if side == 1:
            return np.where(self.remap < 0, 0.0, vectors[..., self.remap])
        # Values that do not exist have nobody.
        full = np.zeros((*vectors.shape[:-1], self.base.shape[0]))
        full[..., self.values] = vectors
        return full

    def _merge(self, outputs: FloatArray) -> FloatArray:
        """Add up the outputs of the base that share a report."""
        flat = outputs.reshape(-1, outputs.shape[-1])
        # The -1 of what is never reported becomes a bin of its own, in front, which is then cut off.
        merged = [np.bincount(self.remap + 1, row, minlength=self.outputs + 1)[1:] for row in flat]
        return np.array(merged, dtype=np.float64).reshape(*outputs.shape[:-1], self.outputs)


@dataclass(frozen=True, eq=False, repr=False)
class Kronecker(Channel):
    """Channel of values of several parts with independent noise.

    The last part's number runs fastest. A product takes one step along each axis of the table of all values, without
    the matrix of all values.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> Kronecker((part, part)).push(np.array([1.0, 0.0, 0.0, 0.0]))
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """

    parts: tuple[Channel, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return math.prod(self._sizes(0)), math.prod(self._sizes(1))

    @property
    def layout(self) -> Layout | None:
        return Layout.side_by_side([part.layout for part in self.parts])

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        return self._along(side, vectors, lambda part: partial(part.times, side))

    @property
    def entry_error(self) -> float:
        return sum(part.entry_error for part in self.parts)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        return self._along(1, frequencies, lambda part: part.unpush)

    def unpull(self, weights: FloatArray) -> FloatArray:
        return self._along(0, weights, lambda part: part.unpull)

    def inverse_lengths(self) -> FloatArray:
        # The inverse is a Kronecker product too.
        require_square(self.shape)
        lengths: FloatArray = np.ones(1)
        for part in self.parts:
            lengths = np.multiply.outer(lengths, part.inverse_lengths()).reshape(-1)
        return lengths

    def select(self, values: Indices) -> FloatArray:
        rows = np.ones((values.size, 1))
        for part, own in zip(self.parts, np.unravel_index(values, self._sizes(0)), strict=True):
            # The width is spelled out: of no values at all, nobody could tell it.
            width = rows.shape[1] * part.shape[1]
            rows = (rows[:, :, None] * part.select(own)[:, None, :]).reshape(values.size, width)
        return rows

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        # An entry of a product is the product of the entries: no row is made.
        own, reported = np.unravel_index(values, self._sizes(0)), np.unravel_index(outputs, self._sizes(1))
        blocks = [part.block(*numbers) for part, *numbers in zip(self.parts, own, reported, strict=True)]
        return reduce(np.multiply, blocks)

    def _sizes(self, side: int) -> list[int]:
        """Return each part's number of values (side 0) or outputs (side 1)."""
        return [part.shape[side] for part in self.parts]

    def _along(
        self, side: int, vectors: FloatArray, step: Callable[[Channel], Callable[[FloatArray], FloatArray]]
    ) -> FloatArray:
        """Take a step of each part along its axis of the table.

        Each step works on the last axis and then moves it to the front, so that the axes are back in order at the end.
        """
        lead = vectors.shape[:-1]
        table = vectors.reshape(*lead, *self._sizes(side))
        for part in reversed(self.parts):
            table = np.moveaxis(step(part)(table), -1, len(lead))
        return table.reshape(*lead, -1)

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        # What one step is wrong by goes through the next, which adds its own.
        lead = given.shape[:-1]
        table = given.reshape(*lead, *self._sizes(side))
        error: FloatArray | None = None
        for part in reversed(self.parts):
            after = part.times(side, table)
            own = part.error(side, table, after)
            error = np.moveaxis(own if error is None else part.times(side, error) + own, -1, len(lead))
            table = np.moveaxis(after, -1, len(lead))
        return np.asarray(error).reshape(*lead, -1)


@dataclass(frozen=True, eq=False, repr=False)
class _Stack(Channel):
    """Channels joined on one side, values or outputs.

    The other side is the same for all.
    """

    channels: tuple[Channel, ...]

    _joined: ClassVar[int]  # 0 where values are joined, 1 where outputs are

    @property
    def shape(self) -> tuple[int, int]:
        same, joined = self.channels[0].shape, sum(channel.shape[self._joined] for channel in self.channels)
        return (joined, same[1]) if self._joined == 0 else (same[0], joined)

    @property
    def entry_error(self) -> float:
        return max(channel.entry_error for channel in self.channels)

    @property
    def _starts(self) -> list[int]:
        """Start of each channel but the first, on the joined side."""
        ends: list[int] = np.cumsum([channel.shape[self._joined] for channel in self.channels])[:-1].tolist()
        return ends

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        """Return a product: a sum over the joined side, or a concatenation."""
        if side != self._joined:
            return np.concatenate([one.times(side, vectors) for one in self.channels], axis=-1)
        parts = zip(self.channels, np.split(vectors, self._starts, axis=-1), strict=True)
        return sum((one.times(side, part) for one, part in parts), start=np.zeros(1))

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        if side != self._joined:
            parts = zip(self.channels, np.split(product, self._starts, axis=-1), strict=True)
            return np.concatenate([one.error(side, given, part) for one, part in parts], axis=-1)
        parts = zip(self.channels, np.split(given, self._starts, axis=-1), strict=True)
        errors = (one.error(side, part, one.times(side, part)) for one, part in parts)
        return sum(errors, start=len(self.channels) * UNIT * product)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnStack(_Stack):
    """The outputs of several channels, one after the other.

    Rows need not sum to 1: reports that a mechanism treats in two ways are two groups of columns of one channel.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> ColumnStack((part, part)).push(np.array([1.0, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    _joined = 1

    @property
    def identity(self) -> Hashable:
        return (ColumnStack, *(channel.identity for channel in self.channels))

    @property
    def layout(self) -> Layout | None:
        return self.channels[0].layout

    def select(self, values: Indices) -> FloatArray:
        return np.concatenate([channel.select(values) for channel in self.channels], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class VerticalStack(_Stack):
    """The values of several channels, one after the other.

    >>> from confide.channels import Dense
    >>> VerticalStack((Dense(np.array([[0.5, 0.5]])), Dense(np.array([[0.2, 0.8]])))).push(np.array([1.0, 1.0]))
    array([0.7, 1.3])
    """

    layout: Layout | None = None

    _joined = 0

    def select(self, values: Indices) -> FloatArray:
        rows = np.zeros((values.size, self.shape[1]))
        for start, channel in zip([0, *self._starts], self.channels, strict=True):
            inside = (values >= start) & (values < start + channel.shape[0])
            rows[inside] = channel.select(values[inside] - start)
        return rows


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
        # Pools adjacent violators.
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
        # There is no closed form.
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
        # The sum over each block.
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

    Examples
    --------
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

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        if self._is_small:
            return vectors @ (self._matrix if side == 0 else self._matrix.T)
        if side == 0:
            return self.base.times(0, self.mixture.spread(vectors))
        return self.mixture.gather(self.base.times(1, vectors))

    @property
    def entry_error(self) -> float:
        # An entry is a sum over values.
        return self.base.entry_error + (self.base.shape[0] + 3) * UNIT

    @property
    def rounding(self) -> float:
        return self.base.rounding + (self.base.shape[0] + 3) * UNIT

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        if self._is_small:
            return super().error(side, given, product)
        if side == 0:
            error = self.base.error(0, self.mixture.spread(given), product)
            return error + (self.mixture.count + 3) * UNIT * product
        errors = self.base.error(1, given, self.base.times(1, given))
        return self.mixture.gather(errors) + (self.base.shape[0] + 3) * UNIT * product

    def select(self, values: Indices) -> FloatArray:
        if self._is_small:
            return self._matrix[values]
        units = np.zeros((values.size, self.mixture.count))
        units[np.arange(values.size), values] = 1.0
        rows = self.mixture.spread(units)
        # A component is over few values, and rows of the others are not asked for.
        used = np.flatnonzero(rows.any(axis=0))
        return rows[:, used] @ self.base.select(used)

    def dense(self) -> FloatArray:
        return self._matrix if self._is_small else super().dense()

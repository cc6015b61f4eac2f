"""One channel after another: the outputs of the first are the values of the second.

Part of a larger channel: some of its values, and its outputs merged or renamed.

Channels side by side, each on its own axis of the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout, require_square


@dataclass(frozen=True, eq=False, repr=False)
class Composed(Channel):
    """The product of two channels, through two steps each way; its matrix is never made.

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
        """See :attr:`Channel.shape`."""
        return self.first.shape[0], self.second.shape[1]

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return self.first.layout

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self.second.push(self.first.push(distribution))

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return self.first.pull(self.second.pull(weights))

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`."""
        return self.first.unpush(self.second.unpush(frequencies))

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`; an entry is a sum over what stands between the two."""
        return self.first.entry_error + self.second.entry_error + (self.first.shape[1] + 3) * UNIT

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`: errors of the first step go through the second, which adds its own."""
        between = self.first.push(distribution)
        error = self.first.push_error(distribution, between)
        return self.second.push(error) + self.second.push_error(between, pushed)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        between = self.second.pull(weights)
        error = self.second.pull_error(weights, between)
        return self.first.pull(error) + self.first.pull_error(between, pulled)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        rows = self.first.select(values)
        inner, outputs = self.second.shape
        # 2**22: entries of the second matrix up to which rows of the product are sums over it, each exact to a few
        # roundings.
        selected: FloatArray = rows @ self._dense if inner * outputs <= 2**22 else self.second.push(rows)
        return selected

    @cached_property
    def _dense(self) -> FloatArray:
        return self.second.dense()


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Channel):
    """A channel on a box, restricted to the values that exist and followed by any remap of its outputs.

    Parameters
    ----------
    base
        The larger channel.
    values
        Which of its values are the values of this one.
    remap
        For each of its outputs, the output of this channel that it is reported as; -1 if it never is.
    outputs
        How many outputs this channel has.

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
        """See :attr:`Channel.shape`."""
        return self.values.size, self.outputs

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return None if self.base.layout is None else self.base.layout.part(self.values)

    @property
    def rounding(self) -> float:
        """See :attr:`Channel.rounding`."""
        return self.base.rounding

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self._merge(self.base.push(self._spread(distribution)))

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        pulled: FloatArray = self.base.pull(self._unmerge(weights))[..., self.values]
        return pulled

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return self.base.entry_error

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        full = self._spread(distribution)
        merged_most = int(np.bincount(self.remap + 1)[1:].max(initial=0))
        return self._merge(self.base.push_error(full, self.base.push(full))) + merged_most * UNIT * pushed

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.pull_error`."""
        unmerged = self._unmerge(weights)
        error: FloatArray = self.base.pull_error(unmerged, self.base.pull(unmerged))[..., self.values]
        return error

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self._merge(self.base.select(self.values[values]))

    def _spread(self, distribution: FloatArray) -> FloatArray:
        """Lay a distribution out over the values of the base."""
        full = np.zeros((*distribution.shape[:-1], self.base.shape[0]))
        full[..., self.values] = distribution
        return full

    def _unmerge(self, weights: FloatArray) -> FloatArray:
        """Give each output of the base the weight of what it is reported as."""
        return np.where(self.remap < 0, 0.0, weights[..., self.remap])

    def _merge(self, outputs: FloatArray) -> FloatArray:
        """Add up what is reported as the same output."""
        flat = outputs.reshape(-1, outputs.shape[-1])
        # The -1 of what is never reported becomes a bin of its own, in front, which is then cut off.
        merged = [np.bincount(self.remap + 1, row, minlength=self.outputs + 1)[1:] for row in flat]
        return np.array(merged, dtype=np.float64).reshape(*outputs.shape[:-1], self.outputs)


Step = Callable[[FloatArray], FloatArray]
StepError = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class Kronecker(Channel):
    """Channel of values of several parts that are blurred independently; the last part's number runs fastest.

    A product takes one step along each axis of the table of all values, and the matrix of them is never made.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> Kronecker((part, part)).push(np.array([1.0, 0.0, 0.0, 0.0]))
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """

    parts: tuple[Channel, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return math.prod(self._sizes(0)), math.prod(self._sizes(1))

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return Layout.side_by_side([part.layout for part in self.parts])

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self._along(distribution, 0, [part.push for part in self.parts])

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return self._along(weights, 1, [part.pull for part in self.parts])

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return sum(part.entry_error for part in self.parts)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.push_error`."""
        return self._errors(distribution, 0, [(part.push, part.push_error) for part in self.parts])

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.pull_error`."""
        return self._errors(weights, 1, [(part.pull, part.pull_error) for part in self.parts])

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`."""
        return self._along(frequencies, 1, [part.unpush for part in self.parts])

    def inverse_lengths(self) -> FloatArray:
        """See :meth:`Channel.inverse_lengths`; the inverse is the product of the inverses."""
        require_square(self.shape)
        lengths: FloatArray = np.ones(1)
        for part in self.parts:
            lengths = np.multiply.outer(lengths, part.inverse_lengths()).reshape(-1)
        return lengths

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        rows = np.ones((values.size, 1))
        for part, own in zip(self.parts, self._split(values, 0), strict=True):
            # The width is spelled out: of no values at all, nobody could tell it.
            width = rows.shape[1] * part.shape[1]
            rows = (rows[:, :, None] * part.select(own)[:, None, :]).reshape(values.size, width)
        return rows

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        """See :meth:`Channel.block`."""
        each = zip(self.parts, self._split(values, 0), self._split(outputs, 1), strict=True)
        return reduce(np.multiply, [part.block(own, reported) for part, own, reported in each])

    def _sizes(self, side: int) -> list[int]:
        """Return how many values (side 0) or outputs (side 1) each part has."""
        return [part.shape[side] for part in self.parts]

    def _split(self, numbers: Indices, side: int) -> Sequence[Indices]:
        return np.unravel_index(numbers, self._sizes(side))

    def _along(self, vectors: FloatArray, side: int, steps: Sequence[Step]) -> FloatArray:
        """Take one step along each axis of the table on the last axis.

        The last axis is always the one that a step works on; then it becomes the first, so that the axes stand as
        they stood once every one has had its turn.
        """
        lead = vectors.shape[:-1]
        table = vectors.reshape(*lead, *self._sizes(side))
        for step in reversed(steps):
            table = np.moveaxis(step(table), -1, len(lead))
        return table.reshape(*lead, -1)

    def _errors(self, vectors: FloatArray, side: int, steps: Sequence[tuple[Step, StepError]]) -> FloatArray:
        """Bound the error of all steps: what one is wrong by goes through the next, which adds its own."""
        lead = vectors.shape[:-1]
        table = vectors.reshape(*lead, *self._sizes(side))
        error: FloatArray | None = None
        for step, step_error in reversed(steps):
            after = step(table)
            own = step_error(table, after)
            error = np.moveaxis(own if error is None else step(error) + own, -1, len(lead))
            table = np.moveaxis(after, -1, len(lead))
        return np.asarray(error).reshape(*lead, -1)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnStack(Channel):
    """Column stack: outputs of the first channel, then those of the second, and so on.

    Rows need not sum to one: reports that a mechanism treats in two ways are two groups of columns of one channel.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> ColumnStack((part, part)).push(np.array([1.0, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    channels: tuple[Channel, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.channels[0].shape[0], sum(channel.shape[1] for channel in self.channels)

    @property
    def identity(self) -> Hashable:
        """See :attr:`Channel.identity`."""
        return (ColumnStack, *(channel.identity for channel in self.channels))

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return self.channels[0].layout

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return np.concatenate([channel.push(distribution) for channel in self.channels], axis=-1)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        parts = np.split(weights, _ends(self.channels, axis=1), axis=-1)
        pulled: FloatArray = sum(
            (channel.pull(part) for channel, part in zip(self.channels, parts, strict=True)), start=np.zeros(1)
        )
        return pulled

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return max(channel.entry_error for channel in self.channels)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        parts = zip(self.channels, np.split(pushed, _ends(self.channels, axis=1), axis=-1), strict=True)
        return np.concatenate([channel.push_error(distribution, part) for channel, part in parts], axis=-1)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        parts = zip(self.channels, np.split(weights, _ends(self.channels, axis=1), axis=-1), strict=True)
        errors = (channel.pull_error(part, channel.pull(part)) for channel, part in parts)
        return sum(errors, start=len(self.channels) * UNIT * pulled)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return np.concatenate([channel.select(values) for channel in self.channels], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class VerticalStack(Channel):
    """Vertical stack: values of the first channel, then those of the second, and so on.

    >>> from confide.channels import Dense
    >>> VerticalStack((Dense(np.array([[0.5, 0.5]])), Dense(np.array([[0.2, 0.8]])))).push(np.array([1.0, 1.0]))
    array([0.7, 1.3])
    """

    channels: tuple[Channel, ...]
    arrangement: Layout | None = None

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return self.arrangement

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return sum(channel.shape[0] for channel in self.channels), self.channels[0].shape[1]

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        parts = zip(self.channels, np.split(distribution, _ends(self.channels, axis=0), axis=-1), strict=True)
        pushed: FloatArray = sum((channel.push(part) for channel, part in parts), start=np.zeros(1))
        return pushed

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return np.concatenate([channel.pull(weights) for channel in self.channels], axis=-1)

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return max(channel.entry_error for channel in self.channels)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        parts = zip(self.channels, np.split(distribution, _ends(self.channels, axis=0), axis=-1), strict=True)
        errors = (channel.push_error(part, channel.push(part)) for channel, part in parts)
        return sum(errors, start=len(self.channels) * UNIT * pushed)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        parts = zip(self.channels, np.split(pulled, _ends(self.channels, axis=0), axis=-1), strict=True)
        return np.concatenate([channel.pull_error(weights, part) for channel, part in parts], axis=-1)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        rows = np.zeros((values.size, self.shape[1]))
        for start, channel in zip([0, *_ends(self.channels, axis=0)], self.channels, strict=True):
            inside = (values >= start) & (values < start + channel.shape[0])
            rows[inside] = channel.select(values[inside] - start)
        return rows


def _ends(channels: tuple[Channel, ...], axis: int) -> list[int]:
    """Return where each channel but the last ends along an axis: where the next one starts."""
    ends: list[int] = np.cumsum([channel.shape[axis] for channel in channels])[:-1].tolist()
    return ends

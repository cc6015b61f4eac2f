"""Channels stacked: columns of several over the same values, or rows of several over the same outputs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


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

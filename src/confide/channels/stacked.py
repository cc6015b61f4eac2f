"""Outputs of several channels side by side, over the same values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


@dataclass(frozen=True, eq=False, repr=False)
class Stacked(Channel):
    """Columns of the first channel, then those of the second, and so on.

    Rows need not sum to one: reports that some mechanism treats in two ways are two groups of columns of one channel.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> Stacked((part, part)).push(np.array([1.0, 0.0]))
    array([0.75, 0.25, 0.75, 0.25])
    """

    channels: tuple[Channel, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.channels[0].shape[0], sum(channel.shape[1] for channel in self.channels)

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
        parts = zip(self.channels, np.split(weights, self._ends, axis=-1), strict=True)
        pulled: FloatArray = sum((channel.pull(part) for channel, part in parts), start=np.zeros(1))
        return pulled

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return max(channel.entry_error for channel in self.channels)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        parts = zip(self.channels, np.split(pushed, self._ends, axis=-1), strict=True)
        return np.concatenate([channel.push_error(distribution, part) for channel, part in parts], axis=-1)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        parts = zip(self.channels, np.split(weights, self._ends, axis=-1), strict=True)
        errors = (channel.pull_error(part, channel.pull(part)) for channel, part in parts)
        return sum(errors, start=len(self.channels) * UNIT * pulled)

    @property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([channel.shape[1] for channel in self.channels])[:-1].tolist()
        return ends

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return np.concatenate([channel.select(values) for channel in self.channels], axis=1)

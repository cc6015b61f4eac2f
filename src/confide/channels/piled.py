"""Values of several channels one below the other, over the same outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


@dataclass(frozen=True, eq=False, repr=False)
class Piled(Channel):
    """Rows of the first channel, then those of the second, and so on.

    >>> from confide.channels import Dense
    >>> Piled((Dense(np.array([[0.5, 0.5]])), Dense(np.array([[0.2, 0.8]])))).push(np.array([1.0, 1.0]))
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
        parts = zip(self.channels, np.split(distribution, self._ends, axis=-1), strict=True)
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
        parts = zip(self.channels, np.split(distribution, self._ends, axis=-1), strict=True)
        errors = (channel.push_error(part, channel.push(part)) for channel, part in parts)
        return sum(errors, start=len(self.channels) * UNIT * pushed)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        parts = zip(self.channels, np.split(pulled, self._ends, axis=-1), strict=True)
        return np.concatenate([channel.pull_error(weights, part) for channel, part in parts], axis=-1)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        rows = np.zeros((values.size, self.shape[1]))
        starts = [0, *self._ends]
        for start, channel in zip(starts, self.channels, strict=True):
            inside = (values >= start) & (values < start + channel.shape[0])
            rows[inside] = channel.select(values[inside] - start)
        return rows

    @property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([channel.shape[0] for channel in self.channels])[:-1].tolist()
        return ends

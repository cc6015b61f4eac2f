"""One channel after another: the outputs of the first are the values of the second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


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

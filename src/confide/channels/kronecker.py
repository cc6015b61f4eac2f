"""Two channels side by side, each on its own coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices, Layout, require_square

Step = Callable[[FloatArray], FloatArray]
StepError = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class Kronecker(Channel):
    """The channel of a pair whose parts are blurred independently; pairs are numbered row by row.

    >>> from confide.channels import RandomizedResponseChannel
    >>> part = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> Kronecker(part, part).push(np.array([1.0, 0.0, 0.0, 0.0]))
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """

    first: Channel
    second: Channel

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return (
            self.first.shape[0] * self.second.shape[0],
            self.first.shape[1] * self.second.shape[1],
        )

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return _side_by_side(self.first.layout, self.second.layout)

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self._both(distribution, self.first.shape[0], self.first.push, self.second.push)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return self._both(weights, self.first.shape[1], self.first.pull, self.second.pull)

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return self.first.entry_error + self.second.entry_error

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.push_error`."""
        first, second = self.first, self.second
        table = distribution.reshape(*distribution.shape[:-1], first.shape[0], -1)
        return _both_errors(table, first.push, first.push_error, second.push, second.push_error)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.pull_error`."""
        first, second = self.first, self.second
        table = weights.reshape(*weights.shape[:-1], first.shape[1], -1)
        return _both_errors(table, first.pull, first.pull_error, second.pull, second.pull_error)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`."""
        return self._both(frequencies, self.first.shape[1], self.first.unpush, self.second.unpush)

    def inverse_lengths(self) -> FloatArray:
        """See :meth:`Channel.inverse_lengths`; the inverse is the product of the inverses."""
        require_square(self.shape)
        return np.kron(self.first.inverse_lengths(), self.second.inverse_lengths()).astype(np.float64)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        left, right = np.divmod(values, self.second.shape[0])
        pairs = self.first.select(left)[:, :, None] * self.second.select(right)[:, None, :]
        return pairs.reshape(values.size, self.shape[1])

    def _both(self, vectors: FloatArray, height: int, first: Step, second: Step) -> FloatArray:
        """Apply one step along each coordinate of the pairs on the last axis."""
        table = vectors.reshape(*vectors.shape[:-1], height, -1)
        turned = np.swapaxes(second(table), -1, -2)
        both = np.swapaxes(first(turned), -1, -2)
        return both.reshape(*vectors.shape[:-1], -1)


def _both_errors(
    table: FloatArray, first: Step, first_error: StepError, second: Step, second_error: StepError
) -> FloatArray:
    """Bound the error of two steps: that of the second goes through the first, which adds its own."""
    once = second(table)
    between, carried = np.swapaxes(once, -1, -2), np.swapaxes(second_error(table, once), -1, -2)
    error = first(carried) + first_error(between, first(between))
    return np.swapaxes(error, -1, -2).reshape(*table.shape[:-2], -1)


def _side_by_side(first: Layout | None, second: Layout | None) -> Layout | None:
    """Two lines make a plane; nothing else is known to make anything."""
    if first is None or second is None or first.places is not None or second.places is not None:
        return None
    return Layout((*first.shape, *second.shape))

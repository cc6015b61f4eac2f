"""Channels side by side, each on its own axis of the values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices, Layout, require_square

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

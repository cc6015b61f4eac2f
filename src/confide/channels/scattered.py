"""alpha^|z - x| between integers x and reports z anywhere on the line, in O(values + reports)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices, Layout
from confide.channels.recursions import running_sums
from confide.checks import read_only


@dataclass(frozen=True, eq=False, repr=False)
class ScatteredExponential(Channel):
    """Columns proportional to alpha^|z - x|, for values 0 .. size - 1 and distinct reports z between them.

    The part of a push that comes from values up to floor(z) is alpha^(z - floor(z)) times a running sum from the left,
    the rest likewise from the right, so one recursion each way serves all reports.

    Parameters
    ----------
    size
        How many values there are.
    decay
        -log alpha.
    positions
        Where the reports lie, within 0 and size - 1.

    >>> channel = ScatteredExponential(2, np.log(2), np.array([0.0, 1.0]))
    >>> channel.dense()
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    size: int
    decay: float
    positions: FloatArray
    _floor: Indices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", read_only(np.array(self.positions, dtype=np.float64)))
        object.__setattr__(self, "_floor", np.minimum(self.positions.astype(np.int64), self.size - 1))

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.size, self.positions.size

    @cached_property
    def _from_left(self) -> FloatArray:
        """alpha^(z - floor(z)): how a running sum from the left fades on the way to z."""
        return np.exp(-self.decay * (self.positions - self._floor))

    @cached_property
    def _from_right(self) -> FloatArray:
        """alpha^(floor(z) + 1 - z), or nothing where no value lies to the right."""
        faded: FloatArray = np.exp(-self.decay * (self._floor + 1 - self.positions))
        return np.where(self._floor + 1 < self.size, faded, 0.0)

    @property
    def layout(self) -> Layout:
        """See :attr:`Channel.layout`."""
        return Layout((self.size,))

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        left = self._sums(distribution)
        right = self._sums(distribution[..., ::-1])[..., ::-1]
        neighbour = np.minimum(self._floor + 1, self.size - 1)
        pushed: FloatArray = left[..., self._floor] * self._from_left + right[..., neighbour] * self._from_right
        return pushed

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        to_left = self._gather(weights * self._from_left, self._floor)
        to_right = self._gather(weights * self._from_right, np.minimum(self._floor + 1, self.size - 1))
        return self._sums(to_left[..., ::-1])[..., ::-1] + self._sums(to_right)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        selected: FloatArray = np.exp(-self.decay * np.abs(values[:, None] - self.positions))
        return selected

    def _sums(self, vectors: FloatArray) -> FloatArray:
        return running_sums(vectors, math.exp(-self.decay))

    def _gather(self, weights: FloatArray, places: Indices) -> FloatArray:
        flat = weights.reshape(-1, self.positions.size)
        summed = np.array([np.bincount(places, row, minlength=self.size) for row in flat], dtype=np.float64)
        return summed.reshape(*weights.shape[:-1], self.size)

"""alpha^|z - x| between values x and reports z anywhere on the line, in O(values + reports)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.channels.two_sided_exponential import running_sums
from confide.values.checks import read_only


@dataclass(frozen=True, eq=False, repr=False)
class ScatteredExponential(Channel):
    """Columns proportional to alpha^|z - x|, for values x in a row and distinct reports z between them.

    The part of a push that comes from values up to f, the last one below z, is alpha^(z - f) times a running sum from
    the left, the rest likewise from the right, so one recursion each way serves all reports.

    Parameters
    ----------
    size
        How many values there are.
    decay
        -log alpha.
    positions
        Where the reports lie, between the first and the last value.
    places
        Where the values lie, in increasing order; 0 .. size - 1 if left out.

    >>> channel = ScatteredExponential(2, np.log(2), np.array([0.0, 1.0]))
    >>> channel.dense()
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    size: int
    decay: float
    positions: FloatArray
    places: FloatArray | None = None
    _floor: Indices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", read_only(np.array(self.positions, dtype=np.float64)))
        if self.places is None:
            floor = np.minimum(self.positions.astype(np.int64), self.size - 1)
        else:
            object.__setattr__(self, "places", read_only(np.array(self.places, dtype=np.float64)))
            floor = np.clip(np.searchsorted(self.places, self.positions, side="right") - 1, 0, self.size - 1)
        object.__setattr__(self, "_floor", floor)

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.size, self.positions.size

    @cached_property
    def _from_left(self) -> FloatArray:
        """alpha^(z - f): how a running sum from the left fades on the way from the last value f to z."""
        faded: FloatArray = np.exp(-self.decay * (self.positions - self._place_of(self._floor)))
        return faded

    @cached_property
    def _from_right(self) -> FloatArray:
        """alpha^(c - z) for the next value c, or nothing where no value lies to the right."""
        faded: FloatArray = np.exp(-self.decay * (self._place_of(self._next) - self.positions))
        return np.where(self._floor + 1 < self.size, faded, 0.0)

    @cached_property
    def _next(self) -> Indices:
        return np.minimum(self._floor + 1, self.size - 1)

    @property
    def layout(self) -> Layout:
        """See :attr:`Channel.layout`."""
        return Layout((self.size,))

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        left, right = self._sums_from_left(distribution), self._sums_from_right(distribution)
        pushed: FloatArray = left[..., self._floor] * self._from_left + right[..., self._next] * self._from_right
        return pushed

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        to_left = self._gather(weights * self._from_left, self._floor)
        to_right = self._gather(weights * self._from_right, self._next)
        return self._sums_from_right(to_left) + self._sums_from_left(to_right)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`: each step of a running sum adds units of it, which fade as it does."""
        left = self._sums_from_left(self._sums_from_left(distribution))
        right = self._sums_from_right(self._sums_from_right(distribution))
        steps = left[..., self._floor] * self._from_left + right[..., self._next] * self._from_right
        return UNIT * self._units_a_step * (steps + 3 * pushed)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`; reports between the same two values are added one after the other."""
        to_left = self._gather(weights * self._from_left, self._floor)
        to_right = self._gather(weights * self._from_right, self._next)
        right, left = self._sums_from_right(to_left), self._sums_from_left(to_right)
        steps = self._sums_from_right(right) + self._sums_from_left(left)
        together = int(np.bincount(self._floor).max(initial=0))
        return UNIT * (self._units_a_step * (steps + 3 * pulled) + together * pulled)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        selected: FloatArray = np.exp(-self.decay * np.abs(self._place_of(values)[:, None] - self.positions))
        return selected

    def _place_of(self, values: Indices) -> FloatArray:
        placed: FloatArray = values.astype(np.float64) if self.places is None else self.places[values]
        return placed

    @cached_property
    def _ratios(self) -> float | FloatArray:
        """Ratios by which a sum fades from a value to the next."""
        if self.places is None:
            return math.exp(-self.decay)
        ratios: FloatArray = np.exp(-self.decay * np.diff(self.places))
        return ratios

    @property
    def _units_a_step(self) -> float:
        """Roundings of a step: its product, its sum, its ratio, and the exponent that a ratio is made from."""
        widest = 1.0 if self.places is None else float(np.diff(self.places).max(initial=0.0))
        return 3 + self.decay * widest

    def _sums_from_left(self, vectors: FloatArray) -> FloatArray:
        return running_sums(vectors, self._ratios)

    def _sums_from_right(self, vectors: FloatArray) -> FloatArray:
        ratios = self._ratios if isinstance(self._ratios, float) else self._ratios[::-1]
        return running_sums(vectors[..., ::-1], ratios)[..., ::-1]

    def _gather(self, weights: FloatArray, places: Indices) -> FloatArray:
        flat = weights.reshape(-1, self.positions.size)
        summed = np.array([np.bincount(places, row, minlength=self.size) for row in flat], dtype=np.float64)
        return summed.reshape(*weights.shape[:-1], self.size)

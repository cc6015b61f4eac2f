"""A stored stochastic matrix, and k-RR's matrix in O(k)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout
from confide.values.checks import as_floats, read_only, settle

GIVEN = 2 * float(np.finfo(np.float64).eps)
"""Relative error of a given entry, which was divided by its row's sum."""


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Channel):
    """A stored matrix, values by outputs.

    >>> channel = Dense(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> channel.push(np.array([0.5, 0.5])), channel.pull(np.array([1.0, 0.0]))
    (array([0.55, 0.45]), array([0.9, 0.2]))
    """

    matrix: FloatArray
    arrangement: Layout | None = None

    is_stored = True
    rounding = GIVEN
    entry_error = 0.0  # the stored matrix is the matrix

    def __post_init__(self) -> None:
        settle(self, matrix=read_only(as_floats("matrix", self.matrix)))

    @property
    def shape(self) -> tuple[int, int]:
        values, outputs = self.matrix.shape
        return values, outputs

    @property
    def layout(self) -> Layout | None:
        return self.arrangement

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        return distribution @ self.matrix

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        return weights @ self.matrix.T

    def select(self, values: Indices) -> FloatArray:
        selected: FloatArray = self.matrix[values]
        return selected


@dataclass(frozen=True, repr=False)
class RandomizedResponseChannel(Channel):
    """The matrix with `keep` on its diagonal and `other` elsewhere.

    Paper, eq. krr.

    >>> RandomizedResponseChannel(3, keep=0.5, other=0.25).push(np.array([1.0, 0.0, 0.0]))
    array([0.5 , 0.25, 0.25])
    """

    size: int
    keep: float
    other: float

    entry_error = 0.0  # two numbers make the matrix
    _rows_are_alike = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        total: FloatArray = distribution.sum(axis=-1, keepdims=True)
        return (self.keep - self.other) * distribution + self.other * total

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`; the matrix is symmetric."""
        self.check_length(weights, 1)
        return self.push(weights)

    def _error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        # numpy sums in pairs of pairs, blocks of 128 in eight strands: 16 + 3 + log2(size / 128) additions at most.
        return (24 + self.size.bit_length()) * UNIT * product

    def select(self, values: Indices) -> FloatArray:
        return np.where(values[:, None] == np.arange(self.size), self.keep, self.other)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`.

        Solves (keep - other) w + other sum(w) = q, where sum(w) = sum(q).
        """
        total: FloatArray = frequencies.sum(axis=-1, keepdims=True)
        return (frequencies - self.other * total) / (self.keep - self.other)

    @property
    def keep_and_other(self) -> tuple[float, float]:
        return self.keep, self.other

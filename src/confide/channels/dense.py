"""Any stochastic matrix, stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices, Layout
from confide.values.checks import as_floats, read_only

GIVEN = 2 * float(np.finfo(np.float64).eps)
"""Relative error of an entry that was given as a number: it was divided by its row's sum."""


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Channel):
    """A matrix with one row a value and one column an output.

    >>> channel = Dense(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> channel.push(np.array([0.5, 0.5])), channel.pull(np.array([1.0, 0.0]))
    (array([0.55, 0.45]), array([0.9, 0.2]))
    """

    matrix: FloatArray
    arrangement: Layout | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", read_only(as_floats("matrix", self.matrix)))

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        values, outputs = self.matrix.shape
        return values, outputs

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return self.arrangement

    @property
    def is_stored(self) -> bool:
        """See :attr:`Channel.is_stored`."""
        return True

    @property
    def rounding(self) -> float:
        """See :attr:`Channel.rounding`; numbers that were given, and normalised."""
        return GIVEN

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return distribution @ self.matrix

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return weights @ self.matrix.T

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`; the stored matrix is the matrix."""
        return 0.0

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        selected: FloatArray = self.matrix[values]
        return selected

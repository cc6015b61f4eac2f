"""Any stochastic matrix, stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import Channel, FloatArray, require_square
from confide.checks import read_only
from confide.errors import NotInvertibleError

LARGEST_CONDITION = 1e12
"""Past it an inverse has fewer than four correct digits, and noise is all that it returns."""


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Channel):
    """A matrix with one row a value and one column an output.

    >>> channel = Dense(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> channel.push(np.array([0.5, 0.5])), channel.pull(np.array([1.0, 0.0]))
    (array([0.55, 0.45]), array([0.9, 0.2]))
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", read_only(np.array(self.matrix, dtype=np.float64)))

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        values, outputs = self.matrix.shape
        return values, outputs

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        return distribution @ self.matrix

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        return weights @ self.matrix.T

    def dense(self) -> FloatArray:
        """See :meth:`Channel.dense`."""
        return self.matrix

    @cached_property
    def _inverse(self) -> FloatArray:
        require_square(self.shape)
        condition = float(np.linalg.cond(self.matrix))
        if not condition < LARGEST_CONDITION:
            raise NotInvertibleError(
                f"The mechanism's matrix is singular to working precision (condition number {condition:.2g}): "
                f"different distributions give the same reports. Use IBU(), which needs no inverse."
            )
        return np.linalg.inv(self.matrix).astype(np.float64)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`."""
        return frequencies @ self._inverse

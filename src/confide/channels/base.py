"""P(report | value) as an operator."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from confide.errors import NotInvertibleError

FloatArray = NDArray[np.float64]


class Channel(ABC):
    """A stochastic matrix M, one row a value and one column an output, known through two products.

    Both products take a vector, or a stack of vectors along the leading axes, so that many problems can be solved
    in one call.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many values and how many outputs there are."""

    @abstractmethod
    def push(self, distribution: FloatArray) -> FloatArray:
        """Take a distribution over values to the distribution over outputs: theta M."""

    @abstractmethod
    def pull(self, weights: FloatArray) -> FloatArray:
        """Take a weight per output back to values: M r."""

    @abstractmethod
    def dense(self) -> FloatArray:
        """Return the whole matrix M, computed entry by entry rather than through push."""

    @abstractmethod
    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """Return the w with w M = frequencies, or say why there is none.

        Raises
        ------
        NotInvertibleError
            If the matrix is not square or is singular.
        """

    def supports(self, output: int) -> bool:
        """Whether any value can produce this output."""
        indicator = np.zeros(self.shape[1])
        indicator[output] = 1.0
        return bool((self.pull(indicator) > 0).any())

    def __repr__(self) -> str:
        values, outputs = self.shape
        return f"{type(self).__name__}({values} values, {outputs} outputs)"


def require_square(shape: tuple[int, int]) -> None:
    """Refuse to invert a matrix that is not square."""
    values, outputs = shape
    if values != outputs:
        raise NotInvertibleError(
            f"A mechanism with {values} values and {outputs} outputs has no inverse. Use IBU(), which needs none."
        )

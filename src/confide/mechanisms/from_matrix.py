"""Any mechanism, given as a stochastic matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets import Alphabet, Integers
from confide.channels import Dense
from confide.checks import SUM_TOLERANCE, read_only
from confide.errors import InvalidParameterError
from confide.guarantees import LocalDP
from confide.mechanisms.base import Mechanism


@dataclass(frozen=True, eq=False)
class FromMatrix(Mechanism):
    """A mechanism given by its probabilities, one row a value and one column an output; square or not.

    Parameters
    ----------
    alphabet
        The values, one for each row.
    matrix
        P(output | value); rows sum to one.
    outputs
        What the reports are, one for each column. The alphabet itself if the matrix is square and nothing is
        said, and otherwise the numbers of the columns, from 0.

    >>> from confide import Integers
    >>> mechanism = FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> mechanism.report_alphabet, round(mechanism.guarantee.epsilon, 4)
    (Integers(0, 2), 0.9163)
    """

    kind: ClassVar[str] = "matrix"
    alphabet: Alphabet
    matrix: NDArray[np.float64] = field(repr=False)
    outputs: Alphabet | None = None

    def __init__(self, alphabet: Alphabet, matrix: ArrayLike, outputs: Alphabet | None = None) -> None:
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "matrix", read_only(_as_matrix(matrix, alphabet)))
        object.__setattr__(self, "outputs", outputs)
        if outputs is not None and outputs.size != self.matrix.shape[1]:
            raise InvalidParameterError(
                f"The matrix has {self.matrix.shape[1]} columns, but {outputs!r} has {outputs.size} outputs."
            )

    @property
    def report_alphabet(self) -> Alphabet:
        """See :attr:`Mechanism.report_alphabet`."""
        if self.outputs is not None:
            return self.outputs
        values, columns = self.matrix.shape
        return self.alphabet if values == columns else Integers(0, columns - 1)

    @cached_property
    def guarantee(self) -> LocalDP:
        """The smallest epsilon of local differential privacy that the matrix keeps."""
        largest, smallest = self.matrix.max(axis=0), self.matrix.min(axis=0)
        used = largest > 0
        if (smallest[used] == 0).any():
            return LocalDP(math.inf)
        epsilon = float(np.log(largest[used] / smallest[used]).max())
        # Rounded up past the errors of the division and the logarithm, for a promise may not be short.
        return LocalDP(epsilon * (1 + 1e-14) + 1e-15 if epsilon > 0 else 0.0)

    @cached_property
    def channel(self) -> Dense:
        """See :attr:`Mechanism.channel`."""
        return Dense(self.matrix)

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`; floats are fractions, brought to a common denominator."""
        fractions = [Fraction(entry) for entry in self.matrix[index].tolist()]
        denominator = math.lcm(*(fraction.denominator for fraction in fractions))
        return [int(fraction * denominator) for fraction in fractions]

    def __hash__(self) -> int:
        return hash((self.alphabet, self.matrix.tobytes(), self.outputs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FromMatrix):
            return NotImplemented
        return (
            self.alphabet == other.alphabet
            and self.report_alphabet == other.report_alphabet
            and np.array_equal(self.matrix, other.matrix)
        )


def _as_matrix(matrix: ArrayLike, alphabet: Alphabet) -> NDArray[np.float64]:
    try:
        array = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("A matrix must be a rectangle of numbers, one row a value.") from None
    if array.ndim != 2 or array.shape[0] != alphabet.size or array.shape[1] == 0:
        raise InvalidParameterError(
            f"A matrix for {alphabet!r} needs {alphabet.size} rows, one a value; got shape {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        row, column = np.argwhere(~(np.isfinite(array) & (array >= 0)))[0].tolist()
        raise InvalidParameterError(
            f"Probabilities must be finite and not negative; got {array[row, column]} in row {row}, column {column}."
        )
    sums: NDArray[np.float64] = array.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > SUM_TOLERANCE:
        raise InvalidParameterError(
            f"Every row must sum to 1; row {worst} sums to {sums[worst]:.10g}. Divide each row by its sum."
        )
    return array / sums[:, None]

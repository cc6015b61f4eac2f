"""Any mechanism, given as a stochastic matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels import Dense
from confide.errors import BrokenPromiseError, InvalidParameterError
from confide.mechanisms.base import Mechanism, require_alphabet
from confide.mechanisms.facts import Facts
from confide.mechanisms.guarantees import Guarantee, LocalDP
from confide.mechanisms.promises import epsilon_above, worst_ratio
from confide.mechanisms.sampling import as_integers
from confide.values import Alphabet, Integers
from confide.values.checks import SUM_TOLERANCE, read_only, refuse_masked


@dataclass(frozen=True, eq=False, repr=False)
class FromMatrix(Mechanism):
    """A mechanism given by its matrix of probabilities.

    Parameters
    ----------
    alphabet
        The values, one for each row.
    matrix
        P(output | value), one row per value and one column per output. Rows sum to 1.
    outputs
        Alphabet of the reports, one for each column. Optional. Default: the alphabet if the matrix is square, otherwise
        the column numbers from 0.
    promise
        A guarantee for the matrix. confide checks it over all pairs and outputs and rejects a matrix that breaks it.
        Optional. Default: the smallest epsilon of local differential privacy.

    >>> from confide import Integers
    >>> mechanism = FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> mechanism.report_alphabet, round(mechanism.guarantee.bound(1, 2), 4)
    (Integers(0, 2), 0.9163)
    """

    kind = "matrix"
    title = "a mechanism given by its matrix"
    about = "your own probabilities; confide computes the guarantee"
    example: ClassVar[Mapping[str, str]] = {
        "categories": """\
matrix = [                     # one row for each value, one column for each report; rows sum to 1
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
]
# outputs = { kind = "categories", values = ["a", "b", "c"] }   # what the columns are; the alphabet if left out
"""
    }
    alphabet: Alphabet
    matrix: NDArray[np.float64] = field(repr=False)
    outputs: Alphabet | None = None
    promise: Guarantee | None = None

    def __init__(
        self, alphabet: Alphabet, matrix: ArrayLike, outputs: Alphabet | None = None, promise: Guarantee | None = None
    ) -> None:
        require_alphabet("alphabet", alphabet)
        if outputs is not None:
            require_alphabet("outputs", outputs)
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "matrix", read_only(_as_matrix(matrix, alphabet)))
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "promise", promise)
        if promise is not None and not isinstance(promise, Guarantee):
            raise InvalidParameterError(f"promise must be a guarantee such as LocalDP(1.0); got {promise!r}.")
        worst = None if promise is None else worst_ratio(self.matrix, promise.bounds(alphabet))
        if worst is not None and worst.exceeds:
            labels = alphabet.labels()
            # A zero in a given matrix is a true zero, not a probability too small for float64.
            is_ruled_out = self.matrix[worst.right, worst.output] == 0
            ratio = math.inf if is_ruled_out else worst.log_ratio
            raise BrokenPromiseError(
                f"The matrix breaks the promise of {promise}: output number {worst.output} is e^{ratio:.12g} times as "
                f"likely under {labels[worst.left]} as under {labels[worst.right]}; at most e^{worst.bound:.12g} is "
                f"promised. Choose a larger epsilon, or leave the promise out to have it computed."
            )
        if outputs is not None and outputs.size != self.matrix.shape[1]:
            raise InvalidParameterError(
                f"The matrix has {self.matrix.shape[1]} columns, but {outputs!r} has {outputs.size} outputs."
            )

    @property
    def report_alphabet(self) -> Alphabet:
        if self.outputs is not None:
            return self.outputs
        values, columns = self.matrix.shape
        return self.alphabet if values == columns else Integers(0, columns - 1)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The given promise, or the smallest epsilon that the matrix keeps."""
        if self.promise is not None:
            return self.promise
        largest, smallest = self.matrix.max(axis=0), self.matrix.min(axis=0)
        used = largest > 0
        # A column with zeros and nonzeros rules some values out.
        if (smallest[used] == 0).any():
            return LocalDP(math.inf)
        ratio = float((largest[used] / smallest[used]).max())
        # Rounding (a division and two sums) may leave this ratio below that of the probabilities drawn from.
        return LocalDP(epsilon_above(Fraction(ratio) * (1 + Fraction(1, 2**48))) if ratio > 1 else 0.0)

    @cached_property
    def channel(self) -> Dense:
        return Dense(self.matrix)

    @property
    def facts(self) -> Facts:
        return Facts(is_rounded=True)

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`; floats are fractions over a common denominator."""
        return as_integers(self.matrix[index])

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Cached: every estimate looks up its mechanism, and large matrices hash slowly."""
        return hash((self.alphabet, self.matrix.tobytes(), self.report_alphabet, self.promise))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FromMatrix):
            return NotImplemented
        return (
            self.alphabet == other.alphabet
            and self.report_alphabet == other.report_alphabet
            and self.promise == other.promise
            and np.array_equal(self.matrix, other.matrix)
        )


def _as_matrix(matrix: ArrayLike, alphabet: Alphabet) -> NDArray[np.float64]:
    refuse_masked("entries of the matrix", matrix, InvalidParameterError)
    try:
        array = np.array(matrix, dtype=np.float64, order="C")
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
    sums = np.array([math.fsum(row) for row in array])
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > SUM_TOLERANCE:
        raise InvalidParameterError(
            f"Every row must sum to 1; row {worst} sums to {sums[worst]:.10g}. Divide each row by its sum."
        )
    # A row that was divided once sums to 1 within half of 2^-51. It stays unchanged, so that a survey that is saved
    # and read back keeps its fingerprint.
    is_even = np.abs(sums - 1) <= 2.0**-51
    rows: NDArray[np.float64] = array / np.where(is_even, 1.0, sums)[:, None] + 0.0  # -0.0 would hash differently
    return rows

"""Values that one other value rules out, found by comparing all pairs (paper, definition unlikely)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_PRUNED = 3000
"""Values up to which all pairs are compared: a table of 9 million truth values."""


def is_unlikely(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows another row exceeds: nowhere below it, and somewhere above.

    Of equal rows none is unlikely by the other, so every maximum over all rows is one over those that are left.

    >>> is_unlikely(np.array([[0.1, 0.2], [0.1, 0.3], [0.4, 0.1], [0.1, 0.3]]))
    array([ True, False, False, False])
    """
    below = _is_below(matrix)
    unlikely: NDArray[np.bool_] = np.any(below & ~below.T, axis=1)
    return unlikely


def _is_below(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each pair of rows whether the first is nowhere above the second, column by column."""
    below = np.ones((matrix.shape[0], matrix.shape[0]), dtype=bool)
    for column in matrix.T:
        below &= column[:, None] <= column[None, :]
    return below

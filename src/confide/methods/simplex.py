"""From a real vector to a distribution."""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray


def normalize(vector: FloatArray) -> FloatArray:
    """Clip negative entries to zero and rescale to sum one.

    >>> normalize(np.array([0.75, 0.5, -0.25]))
    array([0.6, 0.4, 0. ])
    """
    clipped = np.maximum(vector, 0.0)
    return clipped / float(clipped.sum())


def project(vector: FloatArray) -> FloatArray:
    """Return the distribution nearest to the vector in Euclidean distance.

    The nearest point is max(0, v - t) for the one t that makes it sum to one; sorting finds which entries stay
    positive (Wang and Carreira-Perpinan, 2013).

    >>> project(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    """
    descending: FloatArray = np.sort(vector)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, vector.size + 1)
    positive = int(np.flatnonzero(descending > shifts)[-1])
    projected: FloatArray = np.maximum(vector - shifts[positive], 0.0)
    # The subtraction cancels when entries are large, as raw inversions are; the sum is put right at the end.
    return projected / float(projected.sum())

"""Running sums that fade: f_i = b_i + alpha f_(i-1)."""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray


def running_sums(vectors: FloatArray, ratio: float | FloatArray) -> FloatArray:
    """Return the fading sums from the left, along the last axis; on non-negative input fully accurate.

    One ratio serves every step; an array has one for each step from an entry to the next.

    >>> running_sums(np.array([1.0, 0.0, 2.0]), 0.5)
    array([1.  , 0.5 , 2.25])
    >>> running_sums(np.array([1.0, 0.0, 2.0]), np.array([0.5, 0.1]))
    array([1.  , 0.5 , 2.05])
    """
    from scipy.linalg.lapack import dtbtrs

    size = vectors.shape[-1]
    bands = np.empty((2, size), order="F")
    bands[0], bands[1, -1] = 1.0, 0.0
    bands[1, :-1] = np.negative(ratio)
    columns = np.asfortranarray(vectors.reshape(-1, size).T)
    solution, _ = dtbtrs(bands, columns, uplo="L", diag="U")
    sums: FloatArray = solution.T.reshape(vectors.shape)
    return sums


def sums_of_others(vectors: FloatArray, ratio: float) -> FloatArray:
    """Return sum over j != i of ratio^|i - j| b_j, without the cancellation of subtracting b_i from the whole sum.

    >>> sums_of_others(np.array([1.0, 0.0, 2.0]), 0.5)
    array([0.5 , 1.5 , 0.25])
    """
    sums = np.zeros_like(vectors)
    sums[..., 1:] = running_sums(vectors, ratio)[..., :-1]
    sums[..., :-1] += running_sums(vectors[..., ::-1], ratio)[..., ::-1][..., 1:]
    sums *= ratio
    return sums

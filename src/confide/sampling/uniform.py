"""Uniform integers below any bound, without bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.sampling.bits import Bits


def uniform_below(bound: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `count` integers, each of 0 .. bound - 1 equally likely.

    Words are cut to the bits that the bound needs and drawn again while they reach it: fewer than two tries on average.

    >>> from confide.sampling.bits import as_bits
    >>> uniform_below(1, 3, as_bits(0))
    array([0, 0, 0])
    """
    width = (bound - 1).bit_length()
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    result = np.empty(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        drawn = (bits.words(pending.size) >> np.uint64(64 - width)).astype(np.int64)
        accepted = drawn < bound
        result[pending[accepted]] = drawn[accepted]
        pending = pending[~accepted]
    return result

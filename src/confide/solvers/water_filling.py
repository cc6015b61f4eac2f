"""The maximum of the likelihood under k-RR, in closed form.

Under k-RR y = (a - b) theta + b, a the probability of the truth and b of any other value. The optimality conditions say
that q_x / y_x is one level nu wherever theta_x > 0 and at most nu elsewhere, so theta_x is
max(0, q_x / nu - b) / (a - b): the shares are filled up to one level, which sorting finds.
"""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray


def fill_water(shares: FloatArray, keep: float, other: float) -> FloatArray:
    """Return the distribution that maximises sum_x q_x log((keep - other) theta_x + other).

    >>> fill_water(np.array([0.6, 0.4]), 0.75, 0.25).round(3)
    array([0.7, 0.3])
    """
    descending = np.sort(shares)[::-1]
    # With m values above the water, sum(theta) = 1 reads cumulative / nu = (keep - other) + m other.
    levels = np.cumsum(descending) / ((keep - other) + other * np.arange(1, shares.size + 1))
    above = int(np.flatnonzero(descending > levels * other)[-1])
    filled: FloatArray = np.maximum(shares / levels[above] - other, 0.0)
    return filled / float(filled.sum())

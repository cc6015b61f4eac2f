"""The largest log-ratio of a matrix, against what is promised for each pair of values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-9
"""How far a measured log-ratio may exceed the bound because float64 was used to measure it, relative to the bound."""

LOG_ROUNDING = 1e-12
"""The same in absolute terms: the logarithm of a float near e^-700 is known to this much."""

FAINTEST = 1e-280
"""Below it floats lose digits, and channels may add a little for speed."""


@dataclass(frozen=True)
class WorstRatio:
    """The pair of values that an output tells apart best, relative to what is promised for the pair."""

    left: int
    right: int
    output: int
    log_ratio: float
    bound: float

    @property
    def relative(self) -> float:
        """The log-ratio as a multiple of the bound: 1 is a promise that is used up."""
        if math.isinf(self.bound) or self.log_ratio <= 0:
            return 0.0
        return self.log_ratio / self.bound if self.bound > 0 else math.inf

    @property
    def exceeds(self) -> bool:
        """Whether the promise is broken, by more than the rounding of the measurement."""
        return self.log_ratio > self.bound * (1 + ROUNDING) + LOG_ROUNDING


def worst_ratio(matrix: NDArray[np.float64], bounds: NDArray[np.float64]) -> WorstRatio:
    """Find the worst of all pairs and outputs; one left value at a time, so that memory stays at one matrix.

    >>> round(worst_ratio(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[0.0, 1.0], [1.0, 0.0]])).relative, 4)
    1.0986
    """
    # A probability of zero, or one too small for a float, counts as this little: it hides no breach of a promise below
    # e^640, and raises no false alarm where a true probability merely underflows.
    logs = np.log(np.maximum(matrix, FAINTEST))
    found = [_worst_of(left, logs, bounds[left]) for left in range(logs.shape[0] - 1)]
    return max(found, key=lambda worst: worst.relative, default=WorstRatio(0, 0, 0, 0.0, 0.0))


def _worst_of(left: int, logs: NDArray[np.float64], bounds: NDArray[np.float64]) -> WorstRatio:
    """Compare one value with all that come after it: a pair has the same ratios either way round, but for the sign."""
    ratios = np.abs(logs[left + 1 :] - logs[left])
    largest = ratios.max(axis=1)
    others = bounds[left + 1 :]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(largest > 0, largest / others, 0.0)
    place = int(np.argmax(relative))
    right, output = left + 1 + place, int(np.argmax(ratios[place]))
    pair = (left, right) if logs[left, output] >= logs[right, output] else (right, left)
    return WorstRatio(*pair, output, float(largest[place]), float(others[place]))

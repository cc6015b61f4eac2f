"""The largest log-ratio of a matrix, against what is promised for each pair of values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-9
"""How far a measured log-ratio may exceed the bound because float64 was used to measure it, relative to the bound."""


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
        return self.relative > 1 + ROUNDING


def worst_ratio(matrix: NDArray[np.float64], bounds: NDArray[np.float64]) -> WorstRatio:
    """Find the worst of all pairs and outputs; one left value at a time, so that memory stays at one matrix.

    >>> round(worst_ratio(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[0.0, 1.0], [1.0, 0.0]])).relative, 4)
    1.0986
    """
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    found = [_worst_of(left, logs, bounds[left]) for left in range(logs.shape[0])]
    return max(found, key=lambda worst: worst.relative)


def _worst_of(left: int, logs: NDArray[np.float64], bounds: NDArray[np.float64]) -> WorstRatio:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = logs[left] - logs  # NaN where neither value can produce the output
        relative = ratios / bounds[:, None]
    relative[left] = -math.inf
    relative[np.isnan(relative)] = -math.inf
    right, output = divmod(int(np.argmax(relative)), logs.shape[1])
    return WorstRatio(left, right, output, float(ratios[right, output]), float(bounds[right]))

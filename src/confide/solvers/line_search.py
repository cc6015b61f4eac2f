"""How far to go along a direction."""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray
from confide.evidence import Evidence

SMALLEST_STEP = 2.0**-30

TO_THE_BORDER = 0.995
"""How much of the way to the border of the positive numbers a step may take."""

FAIR_SHARE = 1e-4
"""Of what the slope promises, the part that a step must gain."""


def search(evidence: Evidence, outputs: FloatArray, change: FloatArray, mass: float, slope: float) -> float:
    """Halve a step until it gains a fair share of what the slope promises; 0 if none does.

    The gain is q . log(y + a dy) - a mass, the likelihood less what the step adds to the sum of the weights.
    """
    relative = np.divide(change, outputs, out=np.zeros_like(outputs), where=outputs > 0)[evidence.seen]
    shares = evidence.frequencies[evidence.seen]
    length = 1.0
    while length > SMALLEST_STEP:
        moved = length * relative
        if (moved > -1).all():
            rise = float(shares @ np.log1p(moved)) - length * mass
            if rise >= FAIR_SHARE * length * slope or (slope < 1e-13 and rise > -1e-15):
                return length
        length /= 2
    return 0.0


def longest_step(point: FloatArray, step: FloatArray) -> float:
    """Return how far a step may go, at most 1, for a positive point to stay positive."""
    falling = step < 0
    return min(1.0, TO_THE_BORDER * float((point[falling] / -step[falling]).min(initial=np.inf)))

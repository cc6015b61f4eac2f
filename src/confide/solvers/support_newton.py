"""Newton's method on a small, growing support.

Under metric mechanisms the maximum of the likelihood is sparse: a few dozen atoms among thousands of values. So Newton
runs on those alone. Each round adds the values that the gain g = M (q / y) shows to be missing, and takes one exact
Newton step on the weights, which are kept non-negative. The first atom is a composite: the whole distribution that EM
reached, moved as one, until the single values have taken over its weight.

The weights x solve the evidence without its constraint: maximise q . log(x A) - sum(x) over x >= 0, whose solution sums
to one by itself. With y = x A and H = A diag(q / y^2) A', the slope is g - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence
from confide.solvers.accelerated_em import climb
from confide.solvers.clock import Clock, Found, Progress
from confide.solvers.grains import Fine, Grain, choose_grain
from confide.solvers.landscape import highest, peaks
from confide.solvers.quadratic import nonnegative_step

WARM_UP_CYCLES = 15
MOST_NEW_ATOMS = 300
MOST_FIRST_ATOMS = 1000
COARSE_PATIENCE = 4
"""Rounds without a better certificate after which coarse curvature has done what it can."""

LARGEST_ROWS = 100_000_000
LITTLE_OVERLAP = 0.8
SMALLEST_STEP = 2.0**-30


@dataclass
class Support:
    """Atoms with their weights: single values, after one composite that may have run empty."""

    grain: Grain
    values: Indices
    weights: FloatArray
    features: FloatArray
    composite: FloatArray
    composite_outputs: FloatArray

    @classmethod
    def of(cls, grain: Grain, theta: FloatArray, outputs: FloatArray) -> Support:
        """Start with the whole distribution as the only atom."""
        feature = grain.feature(outputs)[None, :].copy()
        return cls(grain, np.zeros(0, dtype=np.int64), np.ones(1), feature, theta, outputs)

    def distribution(self, weights: FloatArray | None = None) -> FloatArray:
        """Return the weights, or others in their place, laid out over all values."""
        chosen = self.weights if weights is None else weights
        theta: FloatArray = chosen[0] * self.composite
        np.add.at(theta, self.values, chosen[1:])
        return theta

    def outputs(self, evidence: Evidence, weights: FloatArray | None = None) -> FloatArray:
        """Return y for the weights, or for others in their place."""
        chosen = self.weights if weights is None else weights
        if isinstance(self.grain, Fine):
            outputs: FloatArray = chosen @ self.features
            return outputs
        return evidence.channel.push(self.distribution(chosen))

    def slope(self, evidence: Evidence, outputs: FloatArray, gain: FloatArray) -> FloatArray:
        """Return g - 1 of all atoms."""
        of_composite = float(self.composite_outputs @ evidence.ratio(outputs))
        return np.concatenate([[of_composite], gain[self.values]]) - 1

    def grow(self, evidence: Evidence, candidates: Indices) -> None:
        """Add single values, with no weight yet."""
        fresh = np.setdiff1d(candidates, self.values)
        if fresh.size:
            self.values = np.concatenate([self.values, fresh])
            self.weights = np.concatenate([self.weights, np.zeros(fresh.size)])
            self.features = np.vstack([self.features, self.grain.features(evidence, fresh)])

    def single_out(self, evidence: Evidence, values: Indices) -> None:
        """Make single values, with the weight they have, out of part of a composite that is still whole."""
        self.grow(evidence, values)
        self.weights[1:] = self.composite[self.values]
        self.composite = self.composite.copy()
        self.composite[self.values] = 0.0
        rest = float(self.composite.sum())
        self.weights[0] = rest
        self.composite /= rest if rest > 0 else 1.0
        self.composite_outputs = evidence.channel.push(self.composite)
        self.features[0] = self.grain.feature(self.composite_outputs)

    def can_refine(self) -> bool:
        """Whether curvature is still coarse, and the whole rows of the atoms would fit."""
        return not isinstance(self.grain, Fine) and self.weights.size * self.composite_outputs.size <= LARGEST_ROWS

    def refine(self, evidence: Evidence) -> None:
        """Keep whole rows from now on: close to the maximum neighbouring atoms must be told apart."""
        self.grain = Fine()
        self.features = np.vstack([self.composite_outputs, self.grain.features(evidence, self.values)])

    def prune(self) -> None:
        """Drop single values whose weight is gone, and let weights sum to one; the composite stays, empty or not."""
        kept = self.weights[1:] > 0
        self.values = self.values[kept]
        atoms = np.concatenate([[True], kept])
        self.weights, self.features = self.weights[atoms] / float(self.weights.sum()), self.features[atoms]


def support_newton(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or to where the clock or the precision of float64 ends it."""
    theta, outputs = climb(evidence, theta, WARM_UP_CYCLES, clock)
    theta = theta / float(theta.sum())
    found = Found.of(evidence, theta, 0)
    support = _first_support(evidence, theta, outputs)
    gain = evidence.gain(outputs)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        if number - found.iteration > COARSE_PATIENCE and support.can_refine():
            support.refine(evidence)
        support.grow(evidence, _missing(evidence, gain))
        if not _newton(evidence, support, outputs, gain):
            support = _restart(evidence, support, clock)
        support.prune()
        outputs = support.outputs(evidence)
        gain = evidence.gain(outputs)
        found = found.better_of(support.distribution(), evidence.certificate_of(gain), number)
        progress(number, outputs)
    return found


def _restart(evidence: Evidence, support: Support, clock: Clock) -> Support:
    """Let EM find a way on where Newton sees none, and begin anew from there."""
    theta, outputs = climb(evidence, support.distribution(), 2, clock)
    return Support.of(support.grain, theta, outputs)


def _first_support(evidence: Evidence, theta: FloatArray, outputs: FloatArray) -> Support:
    """Begin with the peaks of what EM reached; where rows overlap little, with all the values that EM left standing.

    Rows that overlap much are near copies of each other, and few of them carry the maximum. Where noise is weak most
    values do, and adding them peak by peak would take many rounds.
    """
    support = Support.of(choose_grain(evidence, outputs, int(np.argmax(theta))), theta, outputs)
    if theta.size <= MOST_FIRST_ATOMS and _overlap(evidence, int(np.argmax(theta))) < LITTLE_OVERLAP:
        support.single_out(evidence, np.flatnonzero(theta > 0.01 / theta.size))
    else:
        support.grow(evidence, highest(peaks(theta, evidence.channel.layout), theta, MOST_NEW_ATOMS))
    return support


def _overlap(evidence: Evidence, value: int) -> float:
    """Return the cosine between the rows of a value and of its neighbour."""
    neighbour = value + 1 if value + 1 < evidence.channel.shape[0] else max(value - 1, 0)
    first, second = evidence.channel.select(np.array([value, neighbour]))
    return float(first @ second) / float(np.linalg.norm(first) * np.linalg.norm(second))


def _missing(evidence: Evidence, gain: FloatArray) -> Indices:
    """Return the values that promise the most: local maxima of the gain above one."""
    found = peaks(gain, evidence.channel.layout)
    return highest(found[gain[found] > 1], gain, MOST_NEW_ATOMS)


def _newton(evidence: Evidence, support: Support, outputs: FloatArray, gain: FloatArray) -> bool:
    """Take one Newton step on the weights; say whether any progress was possible."""
    slope = support.slope(evidence, outputs, gain)
    curved = support.features * np.sqrt(support.grain.curvature(evidence, outputs))
    try:
        step = nonnegative_step(curved @ curved.T, slope, support.weights)
    except LinAlgError:
        return False
    change = support.outputs(evidence, np.maximum(support.weights + step, 0.0)) - outputs
    length = _search(evidence, outputs, change, float(step.sum()), float(slope @ step))
    if length == 0:
        return False
    support.weights = np.maximum(support.weights + length * step, 0.0)
    return True


def _search(evidence: Evidence, outputs: FloatArray, change: FloatArray, mass: float, slope: float) -> float:
    """Halve the step until it gains a fair share of what the slope promises; 0 if none does."""
    relative = np.divide(change, outputs, out=np.zeros_like(outputs), where=outputs > 0)[evidence.seen]
    shares = evidence.frequencies[evidence.seen]
    length = 1.0
    while length > SMALLEST_STEP:
        moved = length * relative
        if (moved > -1).all():
            rise = float(shares @ np.log1p(moved)) - length * mass
            if rise >= 1e-4 * length * slope or (slope < 1e-13 and rise > -1e-15):
                return length
        length /= 2
    return 0.0

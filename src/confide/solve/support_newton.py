"""Newton's method on a small, growing support.

Under metric mechanisms the maximum of the likelihood is sparse: a few dozen atoms among thousands of values. So Newton
runs on those alone. Each round adds the values that the gain g = M (q / y) shows to be missing, and takes one exact
Newton step on the weights, which are kept non-negative. The first atom is a composite: the whole distribution that EM
reached, moved as one, until the single values have taken over its weight.

Where the support is small the curvature comes from the atoms' whole rows. On large planes a model stands in for it, and
each Newton step is corrected by a few products with the exact curvature, which cost a push and a pull each.

The weights x solve the evidence without its constraint: maximise q . log(x A) - sum(x) over x >= 0, whose solution sums
to one by itself. With y = x A and H = A diag(q / y^2) A', the slope is g - 1.

Where the support is wide, as on planes with weak noise, where a third of all values may carry the maximum, no matrix is
stored: :func:`newton_cg` finds the free weights by exchanging blocks, and solves its linear systems by conjugate
gradients with products through push and pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from confide.channels.base import FloatArray, Indices
from confide.evidence.evidence import Evidence
from confide.solve.search import (
    LITTLE_OVERLAP,
    STANDING,
    WARM_UP_CYCLES,
    Clock,
    Found,
    FromPlane,
    FromRows,
    NonnegativeProgramme,
    Progress,
    StationaryPlane,
    choose_curvature,
    climb,
    curvature_of,
    highest,
    overlap,
    peaks,
    search,
)

MOST_FIRST_ATOMS = 1000
"""Values up to which all that EM left standing are the first support, where noise is weak."""

WIDEST_SUPPORT = 4500
"""Single values past which Newton's method in conjugate gradients is the better one: H would take 160 MB and more."""

TOLERATED = 0.02
"""The share of weights that the first of these steps may leave on the wrong side of their bound; the next ones less."""

LARGEST_ROWS = 100_000_000
"""Entries of whole rows that are kept where a model does not help: 800 MB."""


@dataclass
class Support:
    """Atoms with their weights: single values, after one composite that may have run empty."""

    curvature: FromRows | FromPlane
    values: Indices
    weights: FloatArray
    composite: FloatArray
    composite_outputs: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, theta: FloatArray, outputs: FloatArray) -> Support:
        """Start with the whole distribution as the only atom."""
        curvature = choose_curvature(evidence, theta, outputs)
        return cls(curvature, np.zeros(0, dtype=np.int64), np.ones(1), theta, outputs)

    def distribution(self, weights: FloatArray | None = None) -> FloatArray:
        """Return the weights, or others in their place, laid out over all values."""
        chosen = self.weights if weights is None else weights
        theta: FloatArray = chosen[0] * self.composite
        np.add.at(theta, self.values, chosen[1:])
        return theta

    def outputs(self, evidence: Evidence, weights: FloatArray | None = None) -> FloatArray:
        """Return y for the weights, or for others in their place."""
        chosen = self.weights if weights is None else weights
        if isinstance(self.curvature, FromRows) and self.curvature.is_kept:
            outputs: FloatArray = chosen @ self.curvature.rows
            return outputs
        return evidence.channel.push(self.distribution(chosen))

    def collect(self, per_value: FloatArray) -> FloatArray:
        """Return what all atoms have of something that is known for every value."""
        return np.concatenate([[float(self.composite @ per_value)], per_value[self.values]])

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
            self.curvature.grow(evidence, fresh)

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
        self.curvature.begin(self.composite, self.composite_outputs)

    @property
    def most_new_atoms(self) -> int:
        """Number of values that may join at a time: without rows to compute they come cheaply."""
        return 300 if self.curvature.is_exact else 1000

    def is_too_wide(self, evidence: Evidence) -> bool:
        """Whether there are more values, or will be by the look of the composite, than a matrix of them allows."""
        if self.curvature.is_exact:
            return False
        # While the composite is whole its peaks show how many single values will take its place.
        to_come = peaks(self.composite, evidence.channel.layout).size if self.weights[0] == 1 else 0
        return max(self.values.size, to_come) > WIDEST_SUPPORT

    def prune(self) -> None:
        """Drop single values whose weight is gone, and let weights sum to one; the composite stays, empty or not."""
        kept = self.weights[1:] > 0
        if not kept.all():
            self.values = self.values[kept]
            self.weights = self.weights[np.concatenate([[True], kept])]
            self.curvature.keep(kept)
        self.weights = self.weights / float(self.weights.sum())


def support_newton(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or to where the clock or the precision of float64 ends it."""
    is_sharp = theta.size <= MOST_FIRST_ATOMS and overlap(evidence.channel) < LITTLE_OVERLAP
    # Where noise is weak EM gets far by itself, and a Newton step on nearly all values costs as much as many EM steps.
    theta, outputs = climb(evidence, theta, 30 if is_sharp else WARM_UP_CYCLES, clock)
    theta = theta / float(theta.sum())
    found = Found.of(evidence, theta, 0)
    support = Support.of(evidence, theta, outputs)
    # Rows that overlap much are near copies of each other, and few of them carry the maximum: begin with the peaks of
    # what EM reached. Where noise is weak most values do, and adding them peak by peak would take many rounds.
    if is_sharp:
        support.single_out(evidence, np.flatnonzero(theta > STANDING / theta.size))
    else:
        support.grow(evidence, highest(peaks(theta, evidence.channel.layout), theta, support.most_new_atoms))
    gain = evidence.gain(outputs)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        # After six rounds without a better certificate a model of the curvature has done what it can.
        # Whole rows take its place where they fit.
        entries = support.weights.size * support.composite_outputs.size
        if number - found.iteration > 6 and not support.curvature.is_exact and entries <= LARGEST_ROWS:
            support.curvature = FromRows(support.composite_outputs)
            support.curvature.grow(evidence, support.values)
        support.grow(evidence, _missing(evidence, gain, support.most_new_atoms))
        if support.is_too_wide(evidence):
            break
        if not _newton(evidence, support, outputs, gain, clock):
            # EM finds a way on where Newton sees none; begin anew from there.
            theta, outputs = climb(evidence, support.distribution(), 2, clock)
            anew = support.curvature.anew(theta, outputs)
            support = Support(anew, np.zeros(0, dtype=np.int64), np.ones(1), theta, outputs)
        support.prune()
        outputs = support.outputs(evidence)
        gain = evidence.gain(outputs)
        found = found.better_of(support.distribution(), evidence.certificate_of(gain), number)
        progress(number, outputs)
    return found


def _missing(evidence: Evidence, gain: FloatArray, count: int) -> Indices:
    """Return the values that promise the most: local maxima of the gain above one."""
    found = peaks(gain, evidence.channel.layout)
    return highest(found[gain[found] > 1], gain, count)


def _newton(evidence: Evidence, support: Support, outputs: FloatArray, gain: FloatArray, clock: Clock) -> bool:
    """Take one Newton step on the weights, and cheap ones after it; say whether any progress was possible."""
    programme = NonnegativeProgramme(support.curvature.hessian(evidence, outputs))
    has_moved, promise = False, np.inf
    for _ in range(4):
        slope = support.slope(evidence, outputs, gain)
        try:
            if support.curvature.is_exact:
                step = programme.step(slope, support.weights)
                change = support.outputs(evidence, np.maximum(support.weights + step, 0.0)) - outputs
            else:
                step, change = _corrected_step(evidence, support, programme, outputs, slope)
        except LinAlgError:
            break
        before, promise = promise, float(slope @ step)
        length = search(evidence, outputs, change, float(step.sum()), promise)
        support.weights = np.maximum(support.weights + length * step, 0.0)
        has_moved = has_moved or length > 0
        # The same curvature once more, already factored, as long as that brings the end much nearer.
        if length < 1 or promise > 0.1 * before:
            break
        outputs = support.outputs(evidence)
        gain = evidence.gain(outputs)
        within = float(np.abs(gain[support.values] - 1).max(initial=0.0))
        # It ends too where what is left to gain lies with values that are not in the support yet.
        if evidence.certificate_of(gain) <= clock.tolerance or float(gain.max()) - 1 > 2 * within:
            break
    return has_moved


def _corrected_step(
    evidence: Evidence, support: Support, programme: NonnegativeProgramme, outputs: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Newton's step and how it changes the outputs, where the curvature is a model.

    It is made of steps by the model, each as long as the exact curvature along it allows. Every partial step ends
    within bounds, and so does all between; the quadratic's gain never falls.
    """
    curvature = curvature_of(evidence, outputs)
    step, bent, change = np.zeros_like(slope), np.zeros_like(slope), np.zeros_like(outputs)
    first, tolerated = 0.0, TOLERATED
    # Two to four steps by the model are usual.
    for _ in range(8):
        move = programme.step(slope - bent, support.weights + step, tolerated)
        pushed = evidence.channel.push(support.distribution(move))
        curved = support.collect(evidence.channel.pull(curvature * pushed))
        promise, bend = float((slope - bent) @ move), float(move @ curved)
        length = min(1.0, promise / bend) if bend > 0 else 1.0
        step, bent, change = step + length * move, bent + length * curved, change + length * pushed
        gained = length * promise - length**2 * bend / 2
        # A step that has to be cut short was spoilt by weights on the wrong side: near the maximum so few are left to
        # move that the tolerated share is all of them, and nothing is gained until none is tolerated.
        # Of sound steps the exact curvature leaves 0.5 to 1.
        is_spoilt = length < 0.3 and tolerated > 0
        first, tolerated = max(first, gained), 0.0 if is_spoilt else tolerated / 10
        if gained <= 0.03 * first and not is_spoilt:
            break
    return step, change


Mask = NDArray[np.bool_]

LOOSEST, TIGHTEST = 0.1, 1e-4
"""The residual at which conjugate gradients end, relative to the slope: loose while steps are long."""


def can_run_newton_cg(evidence: Evidence) -> bool:
    """Whether the channel is a plane whose diagonal of the curvature is known."""
    return StationaryPlane.of(evidence.channel) is not None


def newton_cg(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or to where the clock or the precision of float64 ends it."""
    plane = StationaryPlane.of(evidence.channel)
    if plane is None:
        raise TypeError(f"newton_cg needs a plane; got {evidence.channel!r}.")
    theta, _ = climb(evidence, theta, WARM_UP_CYCLES, clock)
    # Neighbours are near copies of each other, and among copies conjugate gradients and bounds both go astray: only
    # local maxima stay. Where rows overlap little they are not, and all that EM leaves standing may stay.
    is_sharp = overlap(evidence.channel) < LITTLE_OVERLAP
    left = np.flatnonzero(theta > STANDING / theta.size) if is_sharp else peaks(theta, evidence.channel.layout)
    thin = np.zeros_like(theta)
    thin[left] = theta[left]
    if not evidence.explains(evidence.channel.push(thin)):
        thin = theta
    theta, outputs = climb(evidence, thin / float(thin.sum()), 5, clock)
    total = float(theta.sum())
    theta, outputs = theta / total, outputs / total
    gain = evidence.gain(outputs)
    found, accuracy = Found.of(evidence, theta, 0), LOOSEST
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        programme = _Programme.of(evidence, plane, theta, outputs, gain)
        step = programme.best_step(accuracy, clock)
        length = search(evidence, outputs, evidence.channel.push(step), float(step.sum()), float((gain - 1) @ step))
        # A step that has to be cut short was not worth its slope: solve the next one more accurately.
        accuracy = max(TIGHTEST, accuracy / 10) if length < 0.1 else min(LOOSEST, 3 * accuracy)
        theta = np.maximum(theta + length * step, 0.0)
        theta = theta / float(theta.sum())
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        found = found.better_of(theta, evidence.certificate_of(gain), number)
        progress(number, outputs)
    return found


@dataclass(frozen=True, eq=False)
class _Programme:
    """Maximise slope . d - d' H d / 2 with theta + d >= 0, over the values of a support."""

    evidence: Evidence
    theta: FloatArray
    slope: FloatArray
    curvature: FloatArray
    diagonal: FloatArray
    support: Mask

    @classmethod
    def of(
        cls, evidence: Evidence, plane: StationaryPlane, theta: FloatArray, outputs: FloatArray, gain: FloatArray
    ) -> _Programme:
        """Set it up on the values that have weight and those that promise to deserve some."""
        curvature, support = curvature_of(evidence, outputs), theta > 0
        found = peaks(gain, evidence.channel.layout)
        support[found[gain[found] > 1]] = True
        return cls(evidence, theta, gain - 1, curvature, plane.diagonal(curvature) ** 2, support)

    def best_step(self, accuracy: float, clock: Clock) -> FloatArray:
        """Exchange blocks of free and bound values until none is wrong, or patience ends; stay within bounds."""
        free, step = self.support, np.zeros_like(self.theta)
        for _ in range(12):
            to_bound = np.where(self.support & ~free, -self.theta, 0.0)
            bound_part = self._bend(to_bound) if to_bound.any() else 0.0
            step = np.where(free, step, to_bound)
            step = self._solve(free, self.slope - bound_part, step, to_bound, accuracy)
            wrong = free & (self.theta + step < 0)
            bound = self.support & ~free
            if bound.any():
                wrong |= bound & (self.slope - self._bend(step) > 1e-9)
            if not wrong.any() or clock.is_over:
                break
            free = free ^ wrong
        return np.maximum(step, -self.theta)

    def _solve(
        self, free: Mask, right: FloatArray, guess: FloatArray, to_bound: FloatArray, accuracy: float
    ) -> FloatArray:
        """Solve H d = right for the free values by conjugate gradients, scaled by the diagonal of H."""
        step = np.where(free, guess, 0.0)
        residual = np.where(free, right - (self._bend(step) if step.any() else 0.0), 0.0)
        scaled = residual / self.diagonal
        direction, size = scaled, float(residual @ scaled)
        enough = accuracy**2 * float(np.where(free, right**2, 0.0) @ (1 / self.diagonal))
        for _ in range(300):
            if size <= enough:
                break
            bent = np.where(free, self._bend(direction), 0.0)
            bend = float(direction @ bent)
            # With fewer reports than values H is singular, and a slope along its null space would take steps without
            # end: they stop where float64 can no longer tell the curvature from none.
            if bend <= 1e-9 * float(direction**2 @ self.diagonal):
                break
            length = size / bend
            step, residual = step + length * direction, residual - length * bent
            scaled = residual / self.diagonal
            previous, size = size, float(residual @ scaled)
            direction = scaled + size / previous * direction
        return step + to_bound

    def _bend(self, step: FloatArray) -> FloatArray:
        """Return H d."""
        return self.evidence.channel.pull(self.curvature * self.evidence.channel.push(step))

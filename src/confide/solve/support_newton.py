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

Below stand the parts of every search for a maximum: limits, the best point so far, accelerated EM to begin with, where
to look next, the quadratic programme that gives a Newton step on non-negative weights, the line search along it, and
the Hessian: from whole rows of the atoms, or on large planes from a model of it. The atoms are one composite, a whole
distribution that moves as one, and single values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from confide.channels.base import Channel, FloatArray, Indices, Layout
from confide.channels.planar import fft_module
from confide.evidence.evidence import Evidence
from confide.solve.em import RowStack, Step
from confide.values.checks import MOST_STORED


@dataclass(frozen=True)
class NewtonLimits:
    """Sizes, shares and accuracies that steer Newton's method on a support.

    Attributes
    ----------
    first_atoms
        Values up to which all that EM left standing are the first support, where noise is weak.
    widest_support
        Single values past which Newton's method in conjugate gradients is the better one: H would take 160 MB and more.
    tolerated
        The share of weights that the first of these steps may leave on the wrong side of their bound; the next ones
        less.
    largest_rows
        Entries of whole rows that are kept where a model does not help: 800 MB.
    loosest, tightest
        The residual at which conjugate gradients end, relative to the slope: loose while steps are long.
    warm_up_cycles
        Cycles of accelerated EM, two steps and a jump each, before Newton begins: 15 to 20 did best.
    fair_share
        Share of what the slope promises that a step must gain (Armijo's rule with its customary constant).
    without_neighbours
        Highest values that stand in for local maxima where nothing is known of neighbours.
    little_overlap
        Cosine of neighbouring rows below which noise is weak: they are no near copies, and most values carry the
        maximum.
    standing
        Share of an equal one that a value has at least to count as left standing by EM, where noise is weak.
    large_plane
        Cells past which the model of a plane pays.
    block_of_outputs
        Outputs whose entries are computed at a time where rows are not stored.
    """

    first_atoms: int = 1000
    widest_support: int = 4500
    tolerated: float = 0.02
    largest_rows: int = 100_000_000
    loosest: float = 0.1
    tightest: float = 1e-4
    warm_up_cycles: int = 15
    fair_share: float = 1e-4
    without_neighbours: int = 100
    little_overlap: float = 0.8
    standing: float = 1e-4
    large_plane: int = 4000
    block_of_outputs: int = 8192


LIMITS = NewtonLimits()


@dataclass
class Support:
    """Atoms with weights: one composite, perhaps empty, then single values."""

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
        """Return the weights, or others, laid out over all values."""
        chosen = self.weights if weights is None else weights
        theta: FloatArray = chosen[0] * self.composite
        np.add.at(theta, self.values, chosen[1:])
        return theta

    def outputs(self, evidence: Evidence, weights: FloatArray | None = None) -> FloatArray:
        """Return y for the weights, or for others in their place."""
        chosen = self.weights if weights is None else weights
        if isinstance(self.curvature, FromRows) and self.curvature.is_kept:
            return chosen @ self.curvature.rows
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
            self.curvature.grow(evidence, fresh)

    def single_out(self, evidence: Evidence, values: Indices) -> None:
        """Split single values with their weight off a whole composite."""
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
        """Number of values that may join at once.

        They come cheaply if there are no rows to compute.
        """
        return 300 if self.curvature.is_exact else 1000

    def is_too_wide(self, evidence: Evidence) -> bool:
        """Whether values are, or will be, too many for a matrix."""
        if self.curvature.is_exact:
            return False
        # While the composite is whole its peaks show how many single values will take its place.
        to_come = peaks(self.composite, evidence.channel.layout).size if self.weights[0] == 1 else 0
        return max(self.values.size, to_come) > LIMITS.widest_support

    def prune(self) -> None:
        """Drop single values without weight; renormalise. The composite always stays."""
        kept = self.weights[1:] > 0
        if not kept.all():
            self.values = self.values[kept]
            self.weights = self.weights[np.concatenate([[True], kept])]
            self.curvature.keep(kept)
        self.weights = self.weights / float(self.weights.sum())


def support_newton(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or until time or precision ends."""
    is_sharp = theta.size <= LIMITS.first_atoms and overlap(evidence.channel) < LIMITS.little_overlap
    # Where noise is weak EM gets far by itself, and a Newton step on nearly all values costs as much as many EM steps.
    theta, outputs = climb(evidence, theta, 30 if is_sharp else LIMITS.warm_up_cycles, clock)
    theta = theta / float(theta.sum())
    found = Found.of(evidence, theta, 0)
    support = Support.of(evidence, theta, outputs)
    # Rows that overlap much are near copies of each other, and few of them carry the maximum: begin with the peaks of
    # what EM reached. Where noise is weak most values do, and adding them peak by peak would take many rounds.
    if is_sharp:
        support.single_out(evidence, np.flatnonzero(theta > LIMITS.standing / theta.size))
    else:
        support.grow(evidence, highest(peaks(theta, evidence.channel.layout), theta, support.most_new_atoms))
    gain = evidence.gain(outputs)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        # After six rounds without a better certificate a model of the curvature has done what it can.
        # Whole rows take its place where they fit.
        entries = support.weights.size * support.composite_outputs.size
        if number - found.iteration > 6 and not support.curvature.is_exact and entries <= LIMITS.largest_rows:
            support.curvature = FromRows(support.composite_outputs)
            support.curvature.grow(evidence, support.values)
        # The values that promise the most are local maxima of the gain above one.
        missing = peaks(gain, evidence.channel.layout)
        support.grow(evidence, highest(missing[gain[missing] > 1], gain, support.most_new_atoms))
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


def _newton(evidence: Evidence, support: Support, outputs: FloatArray, gain: FloatArray, clock: Clock) -> bool:
    """Take one Newton step and cheap ones after it.

    Return whether any progress was possible.
    """
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
    """Return Newton's step and its effect on outputs, by a model.

    It is made of steps by the model, each as long as the exact curvature along it allows. Every partial step ends
    within bounds, and so does all between; the quadratic's gain never falls.
    """
    curvature = curvature_of(evidence, outputs)
    step, bent, change = np.zeros_like(slope), np.zeros_like(slope), np.zeros_like(outputs)
    first, tolerated = 0.0, LIMITS.tolerated
    # Two to four steps by the model are usual.
    for _ in range(8):
        move = programme.step(slope - bent, support.weights + step, tolerated)
        pushed = evidence.channel.push(support.distribution(move))
        pulled = evidence.channel.pull(curvature * pushed)
        curved = np.concatenate([[float(support.composite @ pulled)], pulled[support.values]])
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


Diagonal = Callable[[FloatArray], FloatArray]
"""From the curvature w = q / y^2 of each output to that of each value: the diagonal of H."""


def diagonal_of(channel: Channel) -> Diagonal | None:
    """Return the diagonal of H as a function.

    `None` unless conjugate gradients suit the channel.
    """
    if channel.squares is not None:
        return channel.squares
    plane = StationaryPlane.of(channel)
    return None if plane is None else lambda curvature: plane.diagonal(curvature) ** 2


def newton_cg(evidence: Evidence, theta: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Climb from theta to the maximum, or to float64's limit."""
    diagonal = diagonal_of(evidence.channel)
    if diagonal is None:
        raise TypeError(f"newton_cg needs a plane, or sets of values; got {evidence.channel!r}.")
    theta, _ = climb(evidence, theta, LIMITS.warm_up_cycles, clock)
    # Neighbours are near copies of each other, and among copies conjugate gradients and bounds both go astray: only
    # local maxima stay. Where rows overlap little they are not, and all that EM leaves standing may stay.
    is_sharp = evidence.channel.layout is None or overlap(evidence.channel) < LIMITS.little_overlap
    left = np.flatnonzero(theta > LIMITS.standing / theta.size) if is_sharp else peaks(theta, evidence.channel.layout)
    thin = np.zeros_like(theta)
    thin[left] = theta[left]
    if not evidence.explains(evidence.channel.push(thin)):
        thin = theta
    theta, outputs = climb(evidence, thin / float(thin.sum()), 5, clock)
    total = float(theta.sum())
    theta, outputs = theta / total, outputs / total
    gain = evidence.gain(outputs)
    found, accuracy = Found.of(evidence, theta, 0), LIMITS.loosest
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        programme = _Programme.of(evidence, diagonal, theta, outputs, gain)
        step = programme.best_step(accuracy, clock)
        length = search(evidence, outputs, evidence.channel.push(step), float(step.sum()), float((gain - 1) @ step))
        # A step that has to be cut short was not worth its slope: solve the next one more accurately.
        accuracy = max(LIMITS.tightest, accuracy / 10) if length < 0.1 else min(LIMITS.loosest, 3 * accuracy)
        theta = np.maximum(theta + length * step, 0.0)
        theta = theta / float(theta.sum())
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        found = found.better_of(theta, evidence.certificate_of(gain), number)
        progress(number, outputs)
    return found


@dataclass(frozen=True, eq=False)
class _Programme:
    """Maximise a quadratic over a support.

    slope . d - d' H d / 2 with theta + d >= 0.
    """

    evidence: Evidence
    theta: FloatArray
    slope: FloatArray
    curvature: FloatArray
    diagonal: FloatArray
    support: Mask

    @classmethod
    def of(
        cls, evidence: Evidence, diagonal: Diagonal, theta: FloatArray, outputs: FloatArray, gain: FloatArray
    ) -> _Programme:
        """Set it up on the values that have or deserve weight."""
        curvature, support = curvature_of(evidence, outputs), theta > 0
        found = peaks(gain, evidence.channel.layout)
        support[found[gain[found] > 1]] = True
        return cls(evidence, theta, gain - 1, curvature, diagonal(curvature), support)

    def best_step(self, accuracy: float, clock: Clock) -> FloatArray:
        """Exchange blocks of free and bound values until none is wrong.

        Steps stay within bounds, and patience is limited.
        """
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
        """Solve H d = right for free values by scaled conjugate gradients."""
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


Progress = Callable[[int, FloatArray], None]
"""Called after each iteration with its number and the outputs y = theta M reached."""


@dataclass(frozen=True)
class Clock:
    """Limits of a search: certificate, iterations and seconds."""

    tolerance: float
    iteration_limit: int
    time_limit: float
    began: float = field(default_factory=time.perf_counter)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() - self.began > self.time_limit


@dataclass(frozen=True, eq=False)
class Found:
    """Best distribution so far, with its certificate and iteration."""

    distribution: FloatArray
    certificate: float
    iteration: int
    iterations: int

    @classmethod
    def of(cls, evidence: Evidence, distribution: FloatArray, iteration: int) -> Found:
        """Judge a distribution by the gain as float64 has it."""
        outputs = evidence.channel.push(distribution)
        certificate = evidence.certificate_of(evidence.gain(outputs)) if evidence.explains(outputs) else math.inf
        return cls(distribution, certificate, iteration, iteration)

    def better_of(self, distribution: FloatArray, certificate: float, iteration: int) -> Found:
        """Take the new distribution if its certificate is lower."""
        if certificate < self.certificate:
            return Found(distribution, certificate, iteration, iteration)
        return Found(self.distribution, self.certificate, self.iteration, iteration)

    def is_stale(self, iteration: int) -> bool:
        """Whether nothing better was found for long."""
        # After 12 iterations without a better certificate rounding, and not the search, is in the way.
        return iteration - self.iteration > 12 and math.isfinite(self.certificate)


def climb(evidence: Evidence, theta: FloatArray, cycles: int, clock: Clock) -> tuple[FloatArray, FloatArray]:
    """Run SQUAREM cycles: two EM steps and a jump each.

    A jump that lowers the likelihood is not taken, so the likelihood never decreases.
    """
    step = Step(RowStack.of(evidence), theta)
    for _ in range(cycles):
        first = step.following()
        second = first.following()
        change, bend = first.theta - step.theta, second.theta - 2 * first.theta + step.theta
        bend_norm = float(np.linalg.norm(bend))
        if bend_norm > 0:  # extrapolate from the three points (Varadhan and Roland, 2008, scheme S3)
            stretch = max(1.0, float(np.linalg.norm(change)) / bend_norm)
            far = step.theta + 2 * stretch * change + stretch**2 * bend
            # Entries that would turn negative keep a share of what EM gave them, so that they can still come back.
            far = np.maximum(far, 0.01 * second.theta)
            jumped = Step(step.rows, far / far.sum())
            step = jumped if jumped.log_likelihood >= second.log_likelihood else second
        else:
            step = second
        if clock.is_over:
            break
    return step.theta, step.outputs


def search(evidence: Evidence, outputs: FloatArray, change: FloatArray, mass: float, slope: float) -> float:
    """Halve a step until it gains enough; 0 if never.

    The gain is q . log(y + a dy) - a mass, the likelihood less what the step adds to the sum of the weights.
    """
    relative = np.divide(change, outputs, out=np.zeros_like(outputs), where=outputs > 0)[evidence.seen]
    shares = evidence.frequencies[evidence.seen]
    length = 1.0
    # Of a shorter step fewer than half the digits of float64 are left.
    while length > 2.0**-30:
        moved = length * relative
        if (moved > -1).all():
            rise = float(shares @ np.log1p(moved)) - length * mass
            if rise >= LIMITS.fair_share * length * slope or (slope < 1e-13 and rise > -1e-15):
                return length
        length /= 2
    return 0.0


def longest_step(point: FloatArray, step: FloatArray) -> float:
    """Return the longest step, at most 1, that stays positive."""
    falling = step < 0
    with np.errstate(over="ignore"):  # a tiny step may go infinitely far
        # Interior points usually go 99.5 % of the way to the border.
        return min(1.0, 0.995 * float((point[falling] / -step[falling]).min(initial=np.inf)))


def overlap(channel: Channel) -> float:
    """Return the cosine between two neighbouring rows in the middle."""
    layout, value = channel.layout, channel.shape[0] // 2
    if layout is not None and layout.places is None and len(layout.shape) == 2:
        value = layout.shape[0] // 2 * layout.shape[1] + layout.shape[1] // 2  # not at a border, where rows break off
    first, second = channel.select(np.array([value, max(value - 1, 0)]))
    sizes = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / sizes if sizes > 0 else 1.0


def peaks(heights: FloatArray, layout: Layout | None) -> Indices:
    """Return the local maxima among the values.

    >>> peaks(np.array([1.0, 3.0, 2.0, 5.0]), Layout((4,)))
    array([1, 3])
    """
    if layout is None:
        count = min(LIMITS.without_neighbours, heights.size)
        return np.sort(np.argpartition(heights, -count)[-count:])
    if layout.places is None:
        return np.flatnonzero(_is_peak(heights.reshape(layout.shape)))
    box = np.full(int(np.prod(layout.shape)), -np.inf)
    box[layout.places] = heights
    return np.flatnonzero(_is_peak(box.reshape(layout.shape)).reshape(-1)[layout.places])


def highest(candidates: Indices, heights: FloatArray, count: int) -> Indices:
    """Return at most `count` of the candidates, those with the greatest heights.

    >>> highest(np.array([0, 1, 2]), np.array([5.0, 7.0, 6.0]), 2)
    array([2, 1])
    """
    if candidates.size <= count:
        return candidates
    return candidates[np.argsort(heights[candidates])[-count:]]


def _is_peak(picture: FloatArray) -> NDArray[np.bool_]:
    is_peak = np.ones(picture.shape, dtype=bool)
    for axis in range(picture.ndim):
        before = (slice(None),) * axis
        ahead, behind = (*before, slice(1, None)), (*before, slice(None, -1))
        is_peak[ahead] &= picture[ahead] > picture[behind]  # strictly, so that a plateau has one peak at most
        is_peak[behind] &= picture[behind] >= picture[ahead]
    return is_peak


Mask = NDArray[np.bool_]


@dataclass
class NonnegativeProgramme:
    """Nonnegative quadratic programme for one H and several slopes.

    >>> programme = NonnegativeProgramme(np.eye(2))
    >>> programme.step(np.array([1.0, -3.0]), np.array([0.0, 2.0]))
    array([ 1., -2.])

    Attributes
    ----------
    hessian
        H, positive semidefinite. It is overwritten: equilibrated to a diagonal of ones.
    """

    hessian: FloatArray
    _scale: FloatArray = field(init=False)
    _free: Mask = field(init=False)
    _factor: FloatArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._scale = 1 / np.sqrt(np.maximum(self.hessian.diagonal(), 1e-300))
        self.hessian *= self._scale[:, None]
        self.hessian *= self._scale
        self._free = np.zeros(self._scale.size, dtype=bool)

    def step(self, slope: FloatArray, point: FloatArray, tolerated: float = 0.0) -> FloatArray:
        """Return the best d.

        A share of `tolerated` entries may be wrong about which side of the bound they belong to, where H is a model
        that the caller corrects anyway; they are brought to the bound.
        """
        target, start = slope * self._scale, point / self._scale
        first_guess = (start > 0) | (target > 0) if self._factor is None else self._free
        step = self._exchange_blocks(target, start, first_guess, tolerated)
        if step is None:  # the central path is sure to lead there, or to blocks that can be exchanged
            end, slack = follow_central_path(self.hessian, target, start)
            step = self._exchange_blocks(target, start, end > slack, tolerated)
            step = end - start if step is None else step
        return np.maximum(step, -start) * self._scale

    def _exchange_blocks(
        self, target: FloatArray, start: FloatArray, free: Mask, tolerated: float
    ) -> FloatArray | None:
        """Exchange all wrong entries at once; `None` if that fails."""
        # Whole blocks may be exchanged three times without fewer entries being wrong.
        fewest, patience, most = start.size + 1, 3, 3
        while patience >= 0:
            step = self._solve(target, start, free)
            wants_to_grow = target - self.hessian @ step > 1e-12 * np.maximum(1.0, np.abs(target))
            wrong = np.where(free, start + step < 0, wants_to_grow)
            count = int(wrong.sum())
            if count <= tolerated * start.size:
                return step
            patience = most if count < fewest else patience - 1
            fewest = min(fewest, count)
            free = free ^ wrong
        return None

    def _solve(self, target: FloatArray, start: FloatArray, free: Mask) -> FloatArray:
        """Fix bound entries, and solve H d = target for the others."""
        step = -start
        if not free.any():
            return step
        right = target[free]
        if not free.all() and step[~free].any():
            right = right - self.hessian[np.ix_(free, ~free)] @ step[~free]
        step[free] = dpotrs(self._factored(free), right, lower=1)[0]
        return step

    def _factored(self, free: Mask) -> FloatArray:
        """Return the Cholesky factor of the free entries, cached."""
        if self._factor is None or not np.array_equal(free, self._free):
            inner = self.hessian if free.all() else self.hessian[np.ix_(free, free)]
            self._free, self._factor = free, factor_positive(inner)
        return self._factor


def follow_central_path(hessian: FloatArray, target: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve the programme by a primal-dual interior point (Mehrotra).

    With the slack z = H (x - start) - target, optimality is x z = 0 with both non-negative. Newton's step on x z = mu
    solves (H + z / x) dx = target - H (x - start) + mu / x.
    """
    weights = start + 0.1 * max(float(start.mean()), float(np.abs(target).mean()), 1e-300)
    slack = np.maximum(hessian @ (weights - start) - target, 0.1 * float(np.abs(target).mean()) + 1e-300)
    # 10 to 25 steps are usual.
    for _ in range(60):
        left, centre = target - hessian @ (weights - start), float(weights @ slack) / weights.size
        if centre <= 1e-16 * float(np.abs(target).max()) * float(weights.max()):
            break
        ratio = slack / weights
        factor = factor_positive(hessian + np.diag(ratio))
        ahead = dpotrs(factor, left, lower=1)[0]
        ahead_slack = -slack - ratio * ahead
        reached = weights + longest_step(weights, ahead) * ahead
        reached_slack = slack + longest_step(slack, ahead_slack) * ahead_slack
        aim = (float(reached @ reached_slack) / weights.size / centre) ** 3 * centre
        bend = (aim - ahead * ahead_slack) / weights
        change = dpotrs(factor, left + bend, lower=1)[0]
        slack_change = bend - slack - ratio * change
        weights = weights + longest_step(weights, change) * change
        slack = slack + longest_step(slack, slack_change) * slack_change
    return weights, slack


def factor_positive(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a nearly singular symmetric matrix."""
    # A ridge slows steps but moves no fixed point, because increments are solved for. The diagonal is one.
    ridge = 1e-14 * matrix.shape[0]
    for _ in range(8):
        # Turned, because LAPACK would copy what numpy lays out row by row; symmetric, so that nothing changes.
        regular = matrix.copy().T
        regular[np.diag_indices_from(regular)] += ridge
        factored = dpotrf(regular, lower=1, overwrite_a=1)
        if factored[1] == 0:
            factor: FloatArray = factored[0]
            return factor
        ridge *= 100
    raise LinAlgError("The Hessian of the atoms could not be factored.")


@dataclass(frozen=True, eq=False)
class StationaryPlane:
    """Tables of a plane's model, which treats noise as stationary.

    Row x of M is the kernel moved to x, so the curvature between two values,

        H_xy = sum over z of M_xz M_yz w_z,      w = q / (theta M)^2,

    is nearly d_x d_y r(y - x). r is the kernel's autocorrelation, and d_x^2 = H_xx the kernel's square laid over w
    around x. It is exact where w is constant. As r is an autocorrelation, the model is positive semidefinite, as H is.
    The outputs on the rim collect the tails beyond it, and are counted for themselves. Newton's method only needs H to
    be near: slopes are exact, and a few exact products correct the rest.

    Attributes
    ----------
    shape
        Rows and columns.
    correlation
        r, by how many rows and columns two cells are apart; r(0, 0) is 1.
    correlation_spectrum, square_spectrum
        The transforms of r, and of the kernel's square.
    scale
        What each row of M is multiplied by: 1, or the normaliser of a mechanism that never leaves the plane.
    rim, rim_group, rim_middles
        The outputs on the rim, the group to which each belongs, and one output that stands for each group.
    """

    shape: tuple[int, int]
    correlation: FloatArray
    correlation_spectrum: FloatArray
    square_spectrum: FloatArray
    scale: FloatArray
    rim: Indices
    rim_group: Indices
    rim_middles: Indices

    @classmethod
    def of(cls, channel: Channel) -> StationaryPlane | None:
        """Read the tables off a channel; `None` unless it fits."""
        layout = channel.layout
        if layout is None or layout.places is not None or len(layout.shape) != 2:
            return None
        shape = layout.shape[0], layout.shape[1]
        # A plane with fewer rows or columns than 16 is mostly border.
        if min(shape) < 16 or channel.shape[0] != channel.shape[1]:
            return None
        # The kernel by how many rows and columns away an output is: the row of the first cell inside the rim.
        kernel = np.zeros(shape)
        kernel[:-2, :-2] = channel.select(np.array([shape[1] + 1])).reshape(shape)[1:-1, 1:-1]
        # Whether the row of the central cell is the same kernel, up to a factor.
        row, column = shape[0] // 2, shape[1] // 2
        picture = channel.select(np.array([row * shape[1] + column])).reshape(shape)[1:-1, 1:-1]
        down, along = np.abs(np.arange(1, shape[0] - 1) - row), np.abs(np.arange(1, shape[1] - 1) - column)
        moved = kernel[np.ix_(down, along)] * (picture[row - 1, column - 1] / kernel[0, 0])
        if not bool(np.allclose(picture, moved, rtol=1e-6, atol=1e-12 * float(picture.max()))):
            return None
        # The autocorrelation of an even kernel, known in one quadrant, at the displacements of that quadrant.
        wide = (fft_module().next_fast_len(3 * shape[0]), fft_module().next_fast_len(3 * shape[1], real=True))
        table = fft_module().irfft2(_spectrum(kernel, wide) ** 2, wide)[: shape[0], : shape[1]]
        correlation, padded = table / table[0, 0], _padded(shape)
        groups = _rim(shape, correlation)
        # What each row is, times the kernel: from the share of it that stays inside the rim.
        inside = np.zeros(shape)
        inside[1:-1, 1:-1] = 1.0
        expected = _laid_over(inside.reshape(-1), _spectrum(kernel, padded), shape)
        return cls(
            shape,
            correlation,
            _spectrum(correlation, padded),
            _spectrum(kernel**2, padded),
            channel.pull(inside.reshape(-1)) / np.maximum(expected, 1e-300),
            np.concatenate(groups),
            np.repeat(np.arange(len(groups)), [group.size for group in groups]),
            np.array([group[group.size // 2] for group in groups]),
        )

    def diagonal(self, curvature: FloatArray) -> FloatArray:
        """Return d of all values, without what the rim adds to it."""
        inner = curvature.copy()
        inner[self.rim] = 0.0
        square = _laid_over(inner, self.square_spectrum, self.shape)
        return self.scale * np.sqrt(np.maximum(square, 1e-12 * float(square.max())))

    def correlations(self, values: Indices, others: Indices) -> FloatArray:
        """Return r between these values and those."""
        width = self.shape[1]
        (row, column), (other_row, other_column) = np.divmod(values, width), np.divmod(others, width)
        apart = np.abs(row[:, None] - other_row) * width + np.abs(column[:, None] - other_column)
        between: FloatArray = self.correlation.reshape(-1)[apart]
        return between


def _laid_over(weights: FloatArray, spectrum: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return the convolution of weights with a table whose transform is given."""
    padded = _padded(shape)
    transformed = fft_module().rfft2(weights.reshape(shape), padded)
    transformed *= spectrum
    laid: FloatArray = fft_module().irfft2(transformed, padded)[: shape[0], : shape[1]].reshape(-1)
    return laid


def _spectrum(quadrant: FloatArray, padded: tuple[int, int]) -> FloatArray:
    """Return the transform of an even table, which is real."""
    rows, columns = (np.arange(1 - length, length) for length in quadrant.shape)
    circle = np.zeros(padded)
    circle[np.ix_(rows % padded[0], columns % padded[1])] = quadrant[np.ix_(np.abs(rows), np.abs(columns))]
    spectrum: FloatArray = fft_module().rfft2(circle).real
    return spectrum


def _padded(shape: tuple[int, ...]) -> tuple[int, int]:
    return fft_module().next_fast_len(2 * shape[0] - 1), fft_module().next_fast_len(2 * shape[1] - 1, real=True)


def _rim(shape: tuple[int, int], correlation: FloatArray) -> list[Indices]:
    """Return the cells of the rim in groups; each corner alone."""
    side = 1
    # Outputs on the rim are counted together as far apart as values whose rows correlate by 0.99.
    while side < min(16, correlation.shape[1] // 4) and correlation[0, 2 * side] > 0.99:
        side *= 2
    cells = np.arange(shape[0] * shape[1]).reshape(shape)
    groups = [cells[row, column].reshape(1) for row in (0, -1) for column in (0, -1)]
    for edge in (cells[0, 1:-1], cells[-1, 1:-1], cells[1:-1, 0], cells[1:-1, -1]):
        groups += np.split(edge, range(side, edge.size, side))
    return groups


@dataclass
class FromRows:
    """Exact Hessian from whole rows of the atoms.

    With A the rows of the atoms and w = q / y^2 it is H = A diag(w) A', but for its sign.

    Attributes
    ----------
    composite_outputs
        The row of the composite.
    is_kept
        Whether rows are kept. If not, entries are computed anew, a block of outputs at a time: rows of many bit vectors
        do not fit.
    values, rows
        The single values, and their rows if these are kept.
    """

    composite_outputs: FloatArray
    is_kept: bool = True
    values: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: FloatArray = field(init=False)
    is_exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.rows = self.composite_outputs[None, :].copy()

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """Add single values."""
        self.values = np.concatenate([self.values, values])
        if self.is_kept:
            self.rows = np.vstack([self.rows, evidence.channel.select(values)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all single values but these."""
        self.values = self.values[kept]
        if self.is_kept:
            self.rows = self.rows[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:  # noqa: ARG002 (one signature)
        """Take another composite, whose outputs are given."""
        self.composite_outputs = self.rows[0] = outputs

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromRows:  # noqa: ARG002 (one signature)
        """Return the same for a composite alone."""
        return FromRows(outputs, self.is_kept)

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return H at these outputs y."""
        curvature = curvature_of(evidence, outputs)
        roots = np.sqrt(curvature)
        if self.is_kept:
            curved = self.rows * roots
            return curved @ curved.T
        hessian = np.zeros((self.values.size + 1, self.values.size + 1))
        between = evidence.channel.gram(self.values, curvature)
        if between is not None:
            hessian[1:, 1:] = between
            hessian[0, 1:] = hessian[1:, 0] = evidence.channel.pull(curvature * self.composite_outputs)[self.values]
            hessian[0, 0] = float(curvature @ self.composite_outputs**2)
            return hessian
        for start in range(0, outputs.size, LIMITS.block_of_outputs):
            block = np.arange(start, min(start + LIMITS.block_of_outputs, outputs.size))
            single = evidence.channel.block(self.values, block)
            curved = np.vstack([self.composite_outputs[block], single]) * roots[block]
            hessian += curved @ curved.T
        return hessian


@dataclass
class FromPlane:
    """Model Hessian of a plane, from correlations and the rim."""

    plane: StationaryPlane
    composite: FloatArray
    rim: FloatArray
    values: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    correlations: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    is_exact: ClassVar[bool] = False
    """H is a model, which exact products have to correct."""

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """Add single values."""
        old, new = self.values.size, self.values.size + values.size
        grown = np.empty((new, new))
        grown[:old, :old] = self.correlations
        self.values = np.concatenate([self.values, values])
        grown[old:] = self.plane.correlations(values, self.values)
        grown[:old, old:] = grown[old:, :old].T
        self.correlations = grown
        self.rim = np.vstack([self.rim, evidence.channel.block(values, self.plane.rim_middles)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all single values but these."""
        self.values, self.correlations = self.values[kept], self.correlations[np.ix_(kept, kept)]
        self.rim = self.rim[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:
        """Take another composite, whose outputs are given."""
        self.composite = composite
        self.rim[0] = outputs[self.plane.rim_middles]

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromPlane:
        """Return the same for a composite alone."""
        return FromPlane(self.plane, composite, outputs[None, self.plane.rim_middles])

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return H at these outputs y."""
        curvature = curvature_of(evidence, outputs)
        diagonal = self.plane.diagonal(curvature)
        # The sums of r(y - x) over the composite, and the curvature of each group on the rim.
        smeared = _laid_over(diagonal * self.composite, self.plane.correlation_spectrum, self.plane.shape)
        of_composite = diagonal * smeared
        at_rim = self.rim * np.sqrt(np.bincount(self.plane.rim_group, curvature[self.plane.rim]).astype(np.float64))
        hessian: FloatArray = at_rim @ at_rim.T
        single = diagonal[self.values]
        hessian[1:, 1:] += self.correlations * single[:, None] * single
        hessian[0, 1:] += of_composite[self.values]
        hessian[1:, 0] = hessian[0, 1:]
        hessian[0, 0] += float(self.composite @ of_composite)
        return hessian


def curvature_of(evidence: Evidence, outputs: FloatArray) -> FloatArray:
    """Return w = q / y^2, and 0 without reports."""
    ratio = evidence.ratio(outputs)
    return np.divide(ratio, outputs, out=np.zeros_like(outputs), where=ratio > 0)


def choose_curvature(evidence: Evidence, composite: FloatArray, outputs: FloatArray) -> FromRows | FromPlane:
    """Choose the Hessian: a plane's model, blocks, or whole rows."""
    values, reports = evidence.channel.shape
    channel, nobody = evidence.channel, np.zeros(0, dtype=np.int64)
    has_gram = channel.bit_vectors is not None or channel.gram(nobody, np.zeros(reports)) is not None
    if has_gram and values * reports > MOST_STORED:
        return FromRows(outputs, is_kept=False)
    plane = StationaryPlane.of(evidence.channel) if composite.size >= LIMITS.large_plane else None
    if plane is None:
        return FromRows(outputs)
    return FromPlane(plane, composite, outputs[None, plane.rim_middles])

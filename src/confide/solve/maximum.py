"""Maximum of the likelihood: one row, or many side by side.

Rows over one small channel share a search, :func:`maxima`. It is that of :mod:`confide.solve.support_newton`, one
Newton step on a few atoms after another, with all rows in one array: one product with the channel, one stack of small
systems. Rows that are done are set aside. What this does not settle, :func:`maximise` does, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgbtrf, dgbtrs, dpotrf, dpotrs

from confide.channels import Channel, Dense, TwoSidedExponential
from confide.channels.base import FloatArray, Indices, Layout
from confide.evidence.evidence import Evidence
from confide.solve.em import FAINT, RowStack, normalised, take_steps, uniform
from confide.solve.support_newton import (
    LIMITS,
    Clock,
    Found,
    Progress,
    curvature_of,
    diagonal_of,
    longest_step,
    newton_cg,
    overlap,
    support_newton,
)

Solver = Callable[[Evidence, FloatArray, Clock, Progress], Found]
Mask = NDArray[np.bool_]

LONG_LINE = 3000
"""Values past which a line is solved by its banded interior point: O(k), however large the support."""

LARGEST_TOGETHER, MOST_OUTPUTS = 512, 8192
"""Values and outputs up to which rows are solved side by side: beyond, single products are what takes the time. Of a
stored matrix with few values, outputs up to which rows are, for their starts: a fifth of the time at 2,000."""

MOST_ROUNDS = 60
"""Newton steps after which a row is left to be solved by itself; 5 to 15 are usual."""

BLOCK = 400_000
"""Entries of one stack of distributions that are solved at a time: with all its atoms, some 50 MB."""


def maximise(evidence: Evidence, clock: Clock, progress: Progress) -> Found:
    """Find the maximum with the best solver; others continue if needed."""
    channel = evidence.channel
    if channel.keep_and_other is not None:
        return Found.of(evidence, fill_water(evidence.frequencies, *channel.keep_and_other), 0)
    found = Found.of(evidence, uniform(channel.shape[0]), 0)
    for solver in _suitable(evidence):
        # Another solver goes on from where one ended; the better of both is kept.
        before = found.iterations

        def go_on(number: int, outputs: FloatArray, before: int = before) -> None:
            progress(before + number, outputs)

        other = solver(evidence, found.distribution, clock, go_on)
        found = replace(min(found, other, key=lambda one: one.certificate), iterations=before + other.iterations)
        if found.certificate <= clock.tolerance or clock.is_over:
            break
    return found


def _suitable(evidence: Evidence) -> Iterator[Solver]:
    """Yield the solvers that apply, the best one first."""
    channel = evidence.channel
    if is_line(channel) and channel.shape[0] > LONG_LINE:
        # So few distinct reports leave a small problem: the values that were reported, and their neighbours.
        if np.count_nonzero(evidence.counts) <= 1000:
            yield solve_where_reported
        yield follow_path
        return
    is_sharp = channel.shape[0] > LIMITS.first_atoms and _is_sharp(evidence)
    if is_sharp and diagonal_of(channel) is not None:
        yield newton_cg
    yield support_newton
    if can_follow_path(evidence):
        yield follow_path
    if not is_sharp and diagonal_of(channel) is not None:
        yield newton_cg


def _is_sharp(evidence: Evidence) -> bool:
    """Whether no value is nearly a copy of others."""
    channel = evidence.channel
    if channel.squares is None:
        return overlap(channel) < LIMITS.little_overlap
    # Sets of values are no near copies, however weak each report. With fewer different reports than values their
    # curvature is singular all the same.
    return int(np.count_nonzero(evidence.counts)) >= channel.shape[0]


def follow_path(evidence: Evidence, start: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Run the interior point with the Newton system that the channel allows."""
    channel = evidence.channel
    if channel.line is not None and is_line(channel):
        return interior_point(evidence, LineSystem(channel.line), start, clock, progress)
    return interior_point(evidence, DenseSystem(channel.dense()), start, clock, progress)


def solve_where_reported(evidence: Evidence, start: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Solve a line on the reported values and their neighbours alone.

    Between two reports next to each other the gain is a alpha^x + b alpha^-x times the row's factor. That sum is
    convex, so where rows have no factors of their own the highest gain, and all of the maximum, is at a report; or
    beside it, where a diagonal lowers the report's own value. Whether it is, the certificate over all values shows.
    """
    size, seen = start.size, np.flatnonzero(evidence.counts)
    near = np.unique(np.clip(np.concatenate([[0, size - 1], seen - 1, seen, seen + 1]), 0, size - 1))
    part = Evidence(Dense(evidence.channel.block(near, seen), Layout((near.size,))), evidence.counts[seen])
    found = maximise(part, clock, lambda *_: None)
    distribution = np.zeros(size)
    distribution[near] = found.distribution
    progress(found.iterations, evidence.channel.push(distribution))
    return replace(Found.of(evidence, distribution, found.iteration), iterations=found.iterations)


def can_follow_path(evidence: Evidence) -> bool:
    """Whether the interior point fits."""
    values, outputs = evidence.channel.shape
    # A dense system takes k^3, and its matrix up to 400 MB; a banded one takes neither.
    return is_line(evidence.channel) or (values <= 1500 and values * outputs <= 50_000_000)


def is_line(channel: Channel) -> bool:
    """Whether the banded interior point applies."""
    return channel.line is not None and channel.shape[0] > 2


def fill_water(shares: FloatArray, keep: float, other: float, members: FloatArray | None = None) -> FloatArray:
    """Return the maximum under k-RR by water-filling.

    Where x is a block of values its number of `members` says how often the chance of another one is in it.

    >>> fill_water(np.array([0.6, 0.4]), 0.75, 0.25).round(3)
    array([0.7, 0.3])
    """
    # The optimality conditions say that q_x / y_x, y = (keep - other) theta + floor, floor = members * other, is one
    # level nu wherever theta_x > 0, and at most nu elsewhere. So theta_x is max(0, q_x / nu - floor) / (keep - other).
    floors = other * (np.ones_like(shares) if members is None else members)
    order = np.argsort(-shares / floors)
    # With the first values above the water, sum(theta) = 1 reads cumulative / nu = (keep - other) + their floors.
    levels = np.cumsum(shares[order]) / ((keep - other) + np.cumsum(floors[order]))
    above = int(np.flatnonzero(shares[order] > levels * floors[order])[-1])
    filled: FloatArray = np.maximum(shares / levels[above] - floors, 0.0)
    return filled / float(filled.sum())


def can_solve_together(channel: Channel) -> bool:
    """Whether rows over this channel are solved side by side."""
    values, outputs = channel.shape
    most = MOST_OUTPUTS if channel.is_stored else LARGEST_TOGETHER
    return values <= LARGEST_TOGETHER and outputs <= most and channel.keep_and_other is None


WARM_UP = 24
"""EM steps before Newton begins, and where Newton finds no way on."""

LITTLE = 1e-4
"""The share of the uniform distribution that a start gets, so that EM can bring any value back."""


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maximum of each row.

    Attributes
    ----------
    distributions
        One row each.
    certificates
        How far each may be below its maximum, in nats, as float64 has it.
    rounds
        How many Newton steps each took.
    """

    distributions: FloatArray
    certificates: FloatArray
    rounds: Indices


def maxima(
    matrix: FloatArray,
    counts: FloatArray,
    tolerances: FloatArray,
    layout: Layout | None = None,
    *,
    start: FloatArray | None = None,
    factors: FloatArray | None = None,
) -> Maxima:
    """Find the maximum for each row of counts.

    Parameters
    ----------
    matrix
        P(output | value).
    counts
        Reports per output, one row each.
    tolerances
        The certificate that each row is to reach, in nats.
    layout
        How the values lie, where neighbours mean something.
    start
        A distribution near each maximum, one row each.
    factors
        What each value's row of the matrix is multiplied by, one row for each row of counts.

    Examples
    --------
    >>> found = maxima(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[60.0, 40.0], [90.0, 10.0]]), np.full(2, 1e-9))
    >>> found.distributions.round(4)
    array([[0.7, 0.3],
           [1. , 0. ]])
    """
    channel, rows, parts = Dense(matrix, layout), max(1, BLOCK // max(matrix.shape)), []
    for begin in range(0, counts.shape[0], rows):
        some = slice(begin, begin + rows)
        first, scale = (None if one is None else one[some] for one in (start, factors))
        parts.append(_climb(_Climbers.of(channel, counts[some], tolerances[some], first, scale)))
    return Maxima(*(np.concatenate([getattr(one, name) for one in parts]) for name in Maxima.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class _Climbers:
    """Rows being solved, each a composite atom and single values.

    Attributes
    ----------
    places
        Which rows these are.
    shares, totals, tolerances, factors
        The rows; see :func:`maxima`.
    composite, weight
        A whole distribution, and how much of it there is.
    single
        How much there is of each value by itself.
    composite_outputs, outputs
        What the composite, and all together, say of the reports.
    """

    base: Dense
    places: Indices
    shares: FloatArray
    totals: FloatArray
    tolerances: FloatArray
    factors: FloatArray | None
    composite: FloatArray
    weight: FloatArray
    single: FloatArray
    composite_outputs: FloatArray
    outputs: FloatArray

    @classmethod
    def of(
        cls,
        base: Dense,
        counts: FloatArray,
        tolerances: FloatArray,
        start: FloatArray | None,
        factors: FloatArray | None,
    ) -> _Climbers:
        """Climb by EM; the distribution reached is the first atom."""
        (number, size), totals = (len(counts), base.shape[0]), counts.sum(axis=1)
        # A start that is near the maximum needs only a few steps.
        theta, steps = (np.full((number, size), 1 / size), WARM_UP) if start is None else (start + LITTLE / size, 4)
        nothing, places = np.zeros_like(theta), np.arange(number)
        shares = counts / totals[:, None]
        rows = cls(base, places, shares, totals, tolerances, factors, theta, np.ones(number), nothing, nothing, nothing)
        theta, outputs = rows.warmed_up(theta, steps)
        return replace(rows, composite=theta, composite_outputs=outputs, outputs=outputs)

    @property
    def stack(self) -> RowStack:
        """The rows for EM, with rows of the matrix scaled."""
        channel = self.base if self.factors is None else self.base.rescaled(self.factors)
        return RowStack.of_shares(channel, self.shares)

    @property
    def distributions(self) -> FloatArray:
        """The composite and the single values together."""
        return self.weight[:, None] * self.composite + self.single

    def only(self, chosen: Mask) -> _Climbers:
        """Return some of the rows."""
        parts: list[Any] = [getattr(self, name) for name in self.__dataclass_fields__]
        some: list[Any] = [None if one is None else one[chosen] for one in parts[1:]]
        return _Climbers(self.base, *some)

    def warmed_up(self, theta: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
        """Return where EM leads, and what that says of the reports."""
        theta = normalised(take_steps(self.stack, theta, steps).theta)
        return theta, self.stack.channel.push(theta)

    def stepped(self, gain: FloatArray) -> _Climbers:
        """Take one Newton step on the atoms of each row."""
        atoms, is_atom = _padded((self.single > 0) | self.missing(gain))
        rows = self.base.matrix[atoms]
        if self.factors is not None:
            rows *= np.take_along_axis(self.factors, atoms, axis=1)[:, :, None]
        rows = np.concatenate([self.composite_outputs[:, None, :], rows], axis=1)
        is_atom = np.concatenate([self.weight[:, None] > 0, is_atom], axis=1)
        weights = np.concatenate([self.weight[:, None], np.take_along_axis(self.single, atoms, axis=1)], axis=1)
        weights = np.where(is_atom, weights, 0.0)
        outputs = np.maximum(self.outputs, FAINT)
        slopes = np.einsum("rz,rz->r", self.composite_outputs, self.shares / outputs)
        slope = np.concatenate([slopes[:, None], np.take_along_axis(gain, atoms, axis=1)], axis=1) - 1
        bent = rows * (np.sqrt(self.shares) / outputs)[:, None, :]
        step = _newton_steps(bent @ bent.transpose(0, 2, 1), slope, weights, is_atom)
        change = np.einsum("ra,raz->rz", step, rows)
        lengths = _lengths(self.shares, change / outputs, step.sum(axis=1), np.einsum("ra,ra->r", slope, step))
        weights = np.where(is_atom, np.maximum(weights + lengths[:, None] * step, 0.0), 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        single = np.zeros_like(self.single)
        single[np.nonzero(is_atom[:, 1:])[0], atoms[is_atom[:, 1:]]] = weights[:, 1:][is_atom[:, 1:]]
        moved = replace(self, weight=weights[:, 0], single=single, outputs=np.einsum("ra,raz->rz", weights, rows))
        is_stuck = lengths == 0
        if is_stuck.any():  # let EM find a way on where Newton sees none, and begin anew from there
            part = moved.only(is_stuck)
            theta, outputs = part.warmed_up(part.distributions + LITTLE / self.base.shape[0], WARM_UP)
            for array, anew in ((moved.composite, theta), (moved.composite_outputs, outputs), (moved.outputs, outputs)):
                array[is_stuck] = anew
            moved.weight[is_stuck], moved.single[is_stuck] = 1.0, 0.0
        return moved

    def missing(self, gain: FloatArray) -> Mask:
        """Return the values to add: the most promising ones."""
        size = self.base.shape[0]
        # One in sixteen may join: of 480 cells 30, which takes a third of the rounds that 4 take.
        many = size // 16
        joining = _peaks(gain, 1.0, max(4, many), self.base.layout)
        whole = self.weight == 1
        if whole.any():
            joining[whole] |= _peaks(self.composite[whole], 1 / size, max(8, many), self.base.layout)
        return joining


def _climb(now: _Climbers) -> Maxima:
    """Step until all rows are done, or have had their rounds."""
    number_of_rows = len(now.places)
    best = Maxima(now.composite.copy(), np.full(number_of_rows, np.inf), np.zeros(number_of_rows, dtype=np.int64))
    for number in range(MOST_ROUNDS + 1):
        gain = now.stack.gain(np.maximum(now.outputs, FAINT))
        certificates = now.totals * np.log(np.maximum(gain.max(axis=1), 1.0))
        better = certificates < best.certificates[now.places]
        places = now.places[better]
        best.distributions[places] = now.distributions[better]
        best.certificates[places], best.rounds[places] = certificates[better], number
        is_open = certificates > now.tolerances
        if not is_open.any() or number == MOST_ROUNDS:
            break
        now, gain = (now, gain) if is_open.all() else (now.only(is_open), gain[is_open])
        now = now.stepped(gain)
    return best


def _peaks(heights: FloatArray, least: float, most: int, layout: Layout | None) -> Mask:
    """Return local maxima above a threshold, the highest ones."""
    found = np.where(heights > least, heights, 0.0)
    if layout is not None and len(layout.shape) == 1 and layout.places is None:
        found[:, 1:][heights[:, 1:] <= heights[:, :-1]] = 0.0
        found[:, :-1][heights[:, :-1] < heights[:, 1:]] = 0.0
    if found.shape[1] <= most:
        return found > 0
    among: Mask = found >= np.maximum(np.partition(found, -most, axis=1)[:, -most], FAINT)[:, None]
    return among


def _padded(chosen: Mask) -> tuple[Indices, Mask]:
    """Return each row's chosen places side by side, and the padding mask."""
    numbers = chosen.sum(axis=1)
    width = max(1, int(numbers.max()))
    is_one = np.arange(width) < numbers[:, None]
    places = np.zeros(is_one.shape, dtype=np.int64)
    places[is_one] = np.nonzero(chosen)[1]
    return places, is_one


def _newton_steps(hessian: FloatArray, slope: FloatArray, weights: FloatArray, is_atom: Mask) -> FloatArray:
    """Solve each row's nonnegative quadratic programme by block exchange."""
    scale = 1 / np.sqrt(np.maximum(np.einsum("raa->ra", hessian), FAINT))
    matrix = hessian * scale[:, :, None] * scale[:, None, :]
    aim, now = slope * scale, weights / scale
    free, steps = is_atom.copy(), np.zeros_like(weights)
    rows, diagonal = np.arange(len(weights)), np.arange(weights.shape[1])
    # In the first eight rounds atoms may leave and rejoin a step. What is not settled by then only loses atoms, so that
    # it ends, if with less than the best step.
    for number in range(8 + weights.shape[1]):
        some, loose, fixed = matrix[rows], free[rows], np.where(free[rows], 0.0, -now[rows])
        right = np.where(loose, aim[rows] - np.einsum("rab,rb->ra", some, fixed), fixed)
        some = some * (loose[:, :, None] & loose[:, None, :])
        # Beside a diagonal of ones such a ridge slows steps by nothing that could be seen, and moves no maximum.
        some[:, diagonal, diagonal] = np.where(loose, 1.0 + 1e-12, 1.0)
        steps[rows] = np.linalg.solve(some, right[:, :, None])[:, :, 0]
        leaving = loose & (now[rows] + steps[rows] < 0)
        left = aim[rows] - np.einsum("rab,rb->ra", matrix[rows], steps[rows])
        # An atom that was fixed at nothing is let go where its slope is more than rounding.
        joining = ~loose & is_atom[rows] & (left > 1e-13) & (number < 8)
        changed = leaving | joining
        free[rows] = loose ^ changed
        rows = rows[changed.any(axis=1)]
        if not rows.size:
            break
    feasible: FloatArray = np.maximum(steps, -now) * scale
    return feasible


def _lengths(shares: FloatArray, relative: FloatArray, masses: FloatArray, promises: FloatArray) -> FloatArray:
    """Halve each row's step until it gains enough; 0 if never."""
    lengths, rows = np.zeros(len(shares)), np.flatnonzero(promises > 0)
    length = 1.0
    relative = np.where(shares > 0, relative, 0.0)
    while rows.size and length > 2.0**-20:
        moved = length * relative[rows]
        possible = moved.min(axis=1) > -1
        rises = np.einsum("rz,rz->r", shares[rows], np.log1p(np.maximum(moved, -1 + 1e-15))) - length * masses[rows]
        # A rise that promises less than the rounding of a mean log-likelihood may come out below nothing.
        fair = possible & (rises >= LIMITS.fair_share * length * promises[rows] - 1e-15)
        lengths[rows[fair]] = length
        rows, length = rows[~fair], length / 2
    return lengths


SOLVERS: dict[str, Solver] = {"support-newton": support_newton, "interior-point": follow_path}
"""The engines for every channel by name, for those who want to choose; newton_cg knows planes and sets alone."""


BAND = 4
"""Half-width of the interleaved system: five-diagonal blocks between unknowns that stand two apart."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """Iterate of the central path: theta, slack, outputs and gain."""

    theta: FloatArray
    slack: FloatArray
    outputs: FloatArray
    gain: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, theta: FloatArray, slack: FloatArray | None = None) -> Iterate:
        """Push and pull theta, and choose the first slack."""
        outputs = evidence.channel.push(theta)
        gain = evidence.gain(outputs)
        return cls(theta, np.maximum(1 - gain, 1e-2) if slack is None else slack, outputs, gain)


def interior_point(
    evidence: Evidence, system: DenseSystem | LineSystem, theta: FloatArray, clock: Clock, progress: Progress
) -> Found:
    """Follow the central path from theta to the maximum (Mehrotra).

    Minimise sum(theta) - q . log(theta M) over theta >= 0: the solution sums to one by itself. With y = theta M,
    g = M (q / y) and the slack s = 1 - g >= 0, optimality is theta s = 0. Newton's step solves

        (M W M' + diag(s / theta)) d = right-hand side,      W = diag(q / y^2),

    by the system that fits the channel: a dense Cholesky factor, or on a line a banded one in O(k).
    """
    even = 1e-3  # share of the uniform distribution that is mixed into the start: interior points begin inside
    point = Iterate.of(evidence, (1 - even) * theta + even / theta.size)
    found = Found.of(evidence, point.theta, 0)
    # Lowering mu further than the tolerance asks for would only make the system ill-conditioned.
    lowest = clock.tolerance / (10 * evidence.total * theta.size)
    for number in range(1, clock.iteration_limit + 1):
        if found.certificate <= clock.tolerance or clock.is_over or found.is_stale(number):
            break
        step, slack_step = _direction(evidence, system, point, lowest)
        length, slack_length = longest_step(point.theta, step), longest_step(point.slack, slack_step)
        # Of a shorter step rounding leaves nothing.
        if not (np.isfinite(step).all() and np.isfinite(slack_step).all() and length > 1e-12):
            break
        point = Iterate.of(evidence, point.theta + length * step, point.slack + slack_length * slack_step)
        total = float(point.theta.sum())
        found = found.better_of(point.theta / total, evidence.certificate_of(point.gain * total), number)
        progress(number, point.outputs / total)
    return found


def _direction(
    evidence: Evidence, system: DenseSystem | LineSystem, point: Iterate, lowest: float
) -> tuple[FloatArray, FloatArray]:
    """Predict how far mu can fall, and correct for curvature."""
    theta, slack = point.theta, point.slack
    curvature, diagonal = curvature_of(evidence, point.outputs), slack / theta
    system.factor(curvature, diagonal)

    def solve(right: FloatArray) -> FloatArray:
        """Solve, and refine once: the certificate needs the last digits."""
        step = system.solve(right)
        product = evidence.channel.pull(curvature * evidence.channel.push(step)) + diagonal * step
        return step + system.solve(right - product)

    predicted = solve(point.gain - 1)
    predicted_slack = -slack - diagonal * predicted
    ahead = theta + longest_step(theta, predicted) * predicted
    ahead_slack = slack + longest_step(slack, predicted_slack) * predicted_slack
    centre = float(theta @ slack) / theta.size  # mu, the mean of theta s; the gap is n k mu
    lowered = (float(ahead @ ahead_slack) / theta.size / centre) ** 3 * centre
    bend = (max(lowered, lowest) - predicted * predicted_slack) / theta
    step = solve(point.gain - 1 + bend)
    return step, bend - slack - diagonal * step


@dataclass
class DenseSystem:
    """Newton system M W M' + D as a stored, factored matrix."""

    matrix: FloatArray
    _factor: FloatArray = field(init=False)

    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """Prepare for these diagonals of W and D."""
        curved = self.matrix * np.sqrt(curvature)
        system = curved @ curved.T
        system.flat[:: diagonal.size + 1] += diagonal
        self._factor, info = dpotrf(system, lower=1, overwrite_a=1)
        if info != 0:
            self._factor = np.full_like(system, np.nan)  # the caller sees no step and keeps its best point

    def solve(self, right: FloatArray) -> FloatArray:
        """Return d with (M W M' + D) d = right."""
        solution: FloatArray = dpotrs(self._factor, right, lower=1)[0]
        return solution


@dataclass
class LineSystem:
    """Newton system for geometric noise on a line, in O(k).

    T has a tridiagonal inverse B. In terms of u = (rows theta) T, y is Y u with the tridiagonal Y = diag(columns) +
    diag(extra / rows) B, and M W M' d becomes rows T Y' W Y du. With p = T Y' W Y du as a second unknown all blocks
    are banded:

        Y' W Y du - B p = 0,        B du + (rows^2 / D) p = rows / D right.
    """

    channel: TwoSidedExponential
    _factored: Any = field(init=False)
    _diagonal: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        size = self.channel.columns.size
        ratio = self.channel.ratio
        scale = self.channel.complement * (1 + ratio)
        self.inverse_diagonal = np.full(size, (1 + ratio**2) / scale)
        self.inverse_diagonal[[0, -1]] = 1 / scale
        self.inverse_beside = -ratio / scale
        self.rows = np.ones(size) if self.channel.rows is None else self.channel.rows
        extra = self.channel.extra
        # The three diagonals of Y: below, on and above the main one, by row.
        self.output_diagonal = self.channel.columns + extra * self.inverse_diagonal
        self.output_beside = extra * self.inverse_beside

    def factor(self, curvature: FloatArray, diagonal: FloatArray) -> None:
        """Lay the banded system out for LAPACK, and factor it."""
        self._diagonal = diagonal
        size = diagonal.size
        bands = np.zeros((3 * BAND + 1, 2 * size), order="F")
        middle = 2 * BAND
        above, on, below = self.output_beside[:-1], self.output_diagonal, self.output_beside[1:]
        square = curvature * on**2
        square[:-1] += curvature[1:] * below**2
        square[1:] += curvature[:-1] * above**2
        beside = curvature[:-1] * on[:-1] * above + curvature[1:] * below * on[1:]
        apart = curvature[1:-1] * below[:-1] * above[1:]
        bands[middle, 0::2] = square
        bands[middle - 2, 2::2] = bands[middle + 2, 0:-2:2] = beside
        bands[middle - 4, 4::2] = bands[middle + 4, 0:-4:2] = apart
        # Equation 2i (Y'WY du - B p = 0): p_i is one to the right, p_(i-1) one to the left, p_(i+1) three to the right.
        bands[middle - 1, 1::2] = -self.inverse_diagonal
        bands[middle - 3, 3::2] = -self.inverse_beside
        bands[middle + 1, 1:-2:2] = -self.inverse_beside
        # Equation 2i + 1 (B du + rows^2 / D p = ...): du_i is one to the left, du_(i+1) one to the right.
        bands[middle, 1::2] = self.rows**2 / diagonal
        bands[middle + 1, 0::2] = self.inverse_diagonal
        bands[middle - 1, 2::2] = self.inverse_beside
        bands[middle + 3, 0:-2:2] = self.inverse_beside
        lu, pivots, _ = dgbtrf(bands, BAND, BAND, overwrite_ab=1)
        self._factored = lu, pivots

    def solve(self, right: FloatArray) -> FloatArray:
        """Return d = (right - rows p) / D, given p."""
        interleaved = np.zeros(2 * right.size)
        interleaved[1::2] = right * self.rows / self._diagonal
        solution = dgbtrs(self._factored[0], BAND, BAND, interleaved, self._factored[1], overwrite_b=1)[0]
        change: FloatArray = (right - self.rows * solution[1::2]) / self._diagonal
        return change

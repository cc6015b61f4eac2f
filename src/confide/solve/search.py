"""Parts of every search for a maximum.

Limits, the best point so far, accelerated EM to begin with, where to look next, the quadratic programme that gives a
Newton step on non-negative weights, the line search along it, and the Hessian: from whole rows of the atoms, or on
large planes from a model of it. The atoms are one composite, a whole distribution that moves as one, and single values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from confide.channels.base import Channel, FloatArray, Indices, Layout
from confide.evidence.evidence import Evidence
from confide.solve.em import RowStack, Step
from confide.values.checks import MOST_STORED

Progress = Callable[[int, FloatArray], None]
"""Called after each iteration with its number and the outputs y = theta M reached."""

WARM_UP_CYCLES = 15
"""Cycles of accelerated EM, two steps and a jump each, before Newton begins: 15 to 20 did best."""

FAIR_SHARE = 1e-4
"""Share of what the slope promises that a step must gain (Armijo's rule with its customary constant)."""

MOST_WITHOUT_NEIGHBOURS = 100
"""Highest values that stand in for local maxima where nothing is known of neighbours."""

LITTLE_OVERLAP = 0.8
"""Cosine of neighbouring rows below which noise is weak: they are no near copies, and most values carry the maximum."""

STANDING = 1e-4
"""Share of an equal one that a value has at least to count as left standing by EM, where noise is weak."""


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
            if rise >= FAIR_SHARE * length * slope or (slope < 1e-13 and rise > -1e-15):
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
        count = min(MOST_WITHOUT_NEIGHBOURS, heights.size)
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

EXCHANGE_PATIENCE = 3
"""Times that whole blocks may be exchanged without fewer entries being wrong."""


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
        fewest, patience = start.size + 1, EXCHANGE_PATIENCE
        while patience >= 0:
            step = self._solve(target, start, free)
            wants_to_grow = target - self.hessian @ step > 1e-12 * np.maximum(1.0, np.abs(target))
            wrong = np.where(free, start + step < 0, wants_to_grow)
            count = int(wrong.sum())
            if count <= tolerated * start.size:
                return step
            patience = EXCHANGE_PATIENCE if count < fewest else patience - 1
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


LARGE_PLANE = 4000
"""Cells past which the model of a plane pays."""

BLOCK_OF_OUTPUTS = 8192
"""Outputs whose entries are computed at a time where rows are not stored."""


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
        wide = (_fft().next_fast_len(3 * shape[0]), _fft().next_fast_len(3 * shape[1], real=True))
        table = _fft().irfft2(_spectrum(kernel, wide) ** 2, wide)[: shape[0], : shape[1]]
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
        deviation: FloatArray = self.scale * np.sqrt(np.maximum(square, 1e-12 * float(square.max())))
        return deviation

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
    transformed = _fft().rfft2(weights.reshape(shape), padded)
    transformed *= spectrum
    laid: FloatArray = _fft().irfft2(transformed, padded)[: shape[0], : shape[1]].reshape(-1)
    return laid


def _spectrum(quadrant: FloatArray, padded: tuple[int, int]) -> FloatArray:
    """Return the transform of an even table, which is real."""
    rows, columns = (np.arange(1 - length, length) for length in quadrant.shape)
    circle = np.zeros(padded)
    circle[np.ix_(rows % padded[0], columns % padded[1])] = quadrant[np.ix_(np.abs(rows), np.abs(columns))]
    spectrum: FloatArray = _fft().rfft2(circle).real
    return spectrum


def _padded(shape: tuple[int, ...]) -> tuple[int, int]:
    return _fft().next_fast_len(2 * shape[0] - 1), _fft().next_fast_len(2 * shape[1] - 1, real=True)


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


def _fft() -> Any:
    # scipy.fft takes a while to import, and only planes need it.
    import scipy.fft

    return scipy.fft


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
        roots = np.sqrt(curvature_of(evidence, outputs))
        if self.is_kept:
            curved = self.rows * roots
            product: FloatArray = curved @ curved.T
            return product
        hessian = np.zeros((self.values.size + 1, self.values.size + 1))
        for start in range(0, outputs.size, BLOCK_OF_OUTPUTS):
            block = np.arange(start, min(start + BLOCK_OF_OUTPUTS, outputs.size))
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
    if evidence.channel.bit_vectors is not None and values * reports > MOST_STORED:
        return FromRows(outputs, is_kept=False)
    plane = StationaryPlane.of(evidence.channel) if composite.size >= LARGE_PLANE else None
    if plane is None:
        return FromRows(outputs)
    return FromPlane(plane, composite, outputs[None, plane.rim_middles])

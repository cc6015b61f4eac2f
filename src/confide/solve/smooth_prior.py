"""Maximum a posteriori under smooth priors, over a range of smoothness.

The logarithm f of theta has a Gaussian prior around the uniform distribution with the precision Q = alpha P + r I. P is
the roughness (squared differences of some order), alpha its weight, and the little r keeps f from drifting where P says
nothing. The likelihood is the one of the evidence with its total left free, n (q . log(theta M) - sum(theta)), whose
maximum sums to one by itself, or nearly so. With g = M (q / y) and D = diag(theta) the slope in f is n theta (g - 1) -
Q (f - f0), and the curvature n D M diag(q / y^2) M' D + Q, up to a diagonal that vanishes at g = 1.

How much each alpha deserves to be believed follows from its evidence, the probability of the reports once f is
integrated out, by Laplace's approximation around the mode:

    log evidence = n (q . log y - sum(theta)) - (f - f0)' Q (f - f0) / 2 + log det Q / 2 - log det (Q + curvature) / 2.

It is not a concave problem: there is no certificate that a mode is the highest. The path from strong to weak alpha,
each fit started from the one before, keeps to the mode that grows out of the smoothest answer.

Newton's equations of a fit are factored once. Under randomized response M = a I + b 11', so that with w = n q / y^2 the
curvature of the likelihood, D M diag(w) M' D, is a diagonal and two columns, diag(a^2 theta^2 w) + U S U': U = [theta
w, theta], S = [[0, a b], [a b, b^2 sum(w)]]. Beside a prior on differences it is a band, which is factored in O(k), and
the columns follow by Woodbury's formula.

**Edges**: everybody in a survey of adults is 17 or older. A prior on differences of log theta takes a cliff for a
slope, or turns rough all over to follow it. Here nobody is below one value, or above another, and log theta is smooth
in between. Every place for such an edge is as likely beforehand, so an edge pays log k nats for its place, and the
evidence of these fits can be laid beside that of the others; where edges do not pay, next to nothing of them is in the
answer.

**Spikes**: working hours heap at 40, answers at tens, prices at 99. Here a few values get shares of their own beside
the smooth part. They are found one by one: by how much the likelihood would rise with a little of each value. A spike
pays for its place among k values, log k nats and six more; where they do not pay, none is in the answer. The search
begins at a fit that is too smooth, since a rough one has followed the heaps already. Then the weight of the prior is
lowered as long as that raises the evidence, and further spikes are looked for beside what is smooth there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotrf, dpotrs

from confide.channels import Dense
from confide.channels.base import FloatArray, Indices, Layout
from confide.evidence.evidence import Evidence
from confide.solve.em import FAINT
from confide.solve.support_newton import NonnegativeProgramme
from confide.values.checks import read_only


@dataclass(frozen=True, eq=False)
class Knots:
    """Evenly spaced places of a box, with linear interpolation between.

    Attributes
    ----------
    layout
        How the knots lie; the layout of the values themselves where every value is a knot.
    size
        How many there are.
    weights
        One row a knot, one column a value: how much of the knot's height the value gets. None where every value is a
        knot.
    """

    layout: Layout
    size: int
    weights: FloatArray | None

    @classmethod
    def over(cls, layout: Layout, size: int, most: int) -> Knots:
        """Return the knots: every value, or at most so many.

        >>> Knots.over(Layout((7,)), 7, 4).weights
        array([[1. , 0.5, 0. , 0. , 0. , 0. , 0. ],
               [0. , 0.5, 1. , 0.5, 0. , 0. , 0. ],
               [0. , 0. , 0. , 0.5, 1. , 0.5, 0. ],
               [0. , 0. , 0. , 0. , 0. , 0.5, 1. ]])
        """
        if size <= most:
            return cls(layout, size, None)
        # All sides shrink alike until few enough places are left; a side keeps four places if it has them.
        shrink = (most / math.prod(layout.shape)) ** (1 / len(layout.shape))
        shape = tuple(max(min(length, 4), int(length * shrink)) for length in layout.shape)
        weights: FloatArray = np.ones((1, 1))
        for length, count in zip(layout.shape, shape, strict=True):
            spots = np.arange(length) * ((count - 1) / max(length - 1, 1))
            hats = np.maximum(0.0, 1.0 - np.abs(spots - np.arange(count)[:, None]))
            weights = np.kron(weights, hats).astype(np.float64)
        places: slice | Indices = slice(None) if layout.places is None else layout.places
        return cls(Layout(shape), math.prod(shape), weights[:, places])

    def spread(self, heights: FloatArray) -> FloatArray:
        """Return the heights of all values from those of the knots."""
        return heights if self.weights is None else heights @ self.weights

    def gather(self, slopes: FloatArray) -> FloatArray:
        """Return the gradient by knots, from the gradient by values.

        Both this and :meth:`spread` take one function, or several, one a row.
        """
        return slopes if self.weights is None else slopes @ self.weights.T


def roughness(layout: Layout, size: int, order: int) -> FloatArray:
    """Return the matrix P of squared differences along every axis.

    Differences of the second order on a plane include the mixed one, twice, so that no direction is preferred: the
    thin plate. A difference that would reach over a hole, or past the rim, does not count.

    >>> roughness(Layout((3,)), 3, 2)
    array([[ 1., -2.,  1.],
           [-2.,  4., -2.],
           [ 1., -2.,  1.]])
    """
    # The number of the value that stands at each place, -1 where none does.
    box = np.full(math.prod(layout.shape), -1, dtype=np.int64)
    box[slice(None) if layout.places is None else layout.places] = np.arange(size)
    box = box.reshape(layout.shape)
    penalty = np.zeros((size, size))
    stencils = {1: (-1.0, 1.0), 2: (1.0, -2.0, 1.0), 3: (-1.0, 3.0, -3.0, 1.0)}  # differences, by their order
    for axis in range(box.ndim):
        if box.shape[axis] > order:
            runs = np.lib.stride_tricks.sliding_window_view(box, order + 1, axis=axis)
            _add(penalty, runs.reshape(-1, order + 1), stencils[order])
    if box.ndim == 2 and order == 2:
        corners = np.stack([box[:-1, :-1], box[:-1, 1:], box[1:, :-1], box[1:, 1:]], axis=-1)
        # The mixed second difference over the four corners of a square.
        _add(penalty, corners.reshape(-1, 4), tuple(math.sqrt(2) * weight for weight in (1.0, -1.0, -1.0, 1.0)))
    return penalty


def _add(penalty: FloatArray, windows: Indices, stencil: tuple[float, ...]) -> None:
    """Add one squared difference for each stretch without a hole."""
    whole = windows[(windows >= 0).all(axis=1)]
    for left, one in enumerate(stencil):
        for right, other in enumerate(stencil):
            np.add.at(penalty, (whole[:, left], whole[:, right]), one * other)


class DenseCurvature:
    """A nearly singular symmetric matrix, given by its lower half."""

    def __init__(self, matrix: FloatArray) -> None:
        ridge = 0.0
        for _ in range(12):
            regular = matrix.copy()
            regular.flat[:: matrix.shape[0] + 1] += ridge
            self.factor, info = dpotrf(regular, lower=1, overwrite_a=1)
            if info == 0:
                break
            ridge = max(100 * ridge, 1e-14 * float(matrix.diagonal().max()))

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for one right side, or for one a column."""
        solution: FloatArray = dpotrs(self.factor, right, lower=1)[0]
        return solution

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        return 2 * float(np.log(self.factor.diagonal()).sum())


class BandedCurvature:
    """A band and a few columns: B + U S U'."""

    def __init__(self, band: FloatArray, columns: FloatArray, middle: FloatArray) -> None:
        self.factor, info = dpbtrf(band, lower=1)
        ridge = 1e-14 * float(band[0].max())
        while info != 0:  # rounding has made it singular
            band[0] += ridge
            ridge *= 100
            self.factor, info = dpbtrf(band, lower=1)
        self.columns, self.solved = columns, dpbtrs(self.factor, columns, lower=1)[0]
        self.inner = np.eye(middle.shape[0]) + middle @ (columns.T @ self.solved)
        self.middle = middle

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for one right side, or one per column (Woodbury)."""
        plain: FloatArray = dpbtrs(self.factor, right, lower=1)[0]
        inside = np.linalg.solve(self.inner, self.middle @ (self.columns.T @ plain))
        solution: FloatArray = plain - self.solved @ inside
        return solution

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        band = 2 * float(np.log(self.factor[0]).sum())
        return band + float(np.linalg.slogdet(self.inner)[1])


def as_band(matrix: FloatArray, width: int) -> FloatArray:
    """Return the lower band of a symmetric matrix in LAPACK's layout.

    >>> as_band(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]), 1)
    array([[ 2.,  2.,  2.],
           [-1., -1.,  0.]])
    """
    size = matrix.shape[0]
    band = np.zeros((width + 1, size))
    for below in range(width + 1):
        band[below, : size - below] = matrix.diagonal(-below)
    return band


Progress = Callable[[FloatArray], None]
"""Called after each step with the outputs y = theta M reached."""

Span = tuple[int, int]
"""The first value that anybody has, and the one after the last."""


@dataclass(frozen=True)
class SmoothLimits:
    """Sizes, and nats that count, in the fits of smooth priors.

    Attributes
    ----------
    most_knots, fewest_knots
        Values up to which each has a height of its own: a step then takes up to a hundredth of a second. However many
        values there are, they may have as many knots as the second number.
    smallest_weight
        The smallest weight of a prior that is tried.
    enough
        A step that promises fewer nats than this is the last: it would not be seen in the answer.
    longest_step
        No log-probability moves by more in one step.
    edge_values, edge_entries
        Values on a line, and those times different reports, up to which edges are searched: a fit takes milliseconds.
    edge_doubt, edge_doubt_of_response
        Nats that an edge must bring beyond its place among k values, and under randomized response. There a rough prior
        pays for each value that few people have, and gladly leaves a thin end out: of working hours nobody above 71,
        where three in a hundred are. Everywhere, that would lose the edge of the ages at 0.1 per year.
    fewest_between
        Values that are left between two edges.
    spike_rounds, spike_growth
        Times that spikes are looked for beside a smooth part that was fitted beside those before: 1, 3, 9, ... of them.
    spike_doubt
        Nats that a spike must bring beyond its place among k values. With half a nat the replicates of smooth answers
        had spikes by chance, and bands of the default were a third too narrow for them; four were nearly enough.
    negligible
        Share of a spike that is none.
    """

    most_knots: int = 500
    fewest_knots: int = 64
    smallest_weight: float = 1e-3
    enough: float = 0.03
    longest_step: float = 3.0
    edge_values: int = 256
    edge_entries: int = 65_536
    edge_doubt: float = 1.0
    edge_doubt_of_response: float = 5.0
    fewest_between: int = 4
    spike_rounds: int = 4
    spike_growth: int = 3
    spike_doubt: float = 6.0
    negligible: float = 1e-7


LIMITS = SmoothLimits()

_PENALTIES: dict[object, Penalty] = {}


@dataclass(frozen=True, eq=False)
class Penalty:
    """P, its eigenvalues, and its bandwidth."""

    matrix: FloatArray
    spectrum: FloatArray
    width: int


@dataclass(frozen=True, eq=False)
class Precision:
    """Q = alpha P + r I, and its bandwidth."""

    matrix: FloatArray
    width: int


@dataclass(frozen=True, eq=False)
class PriorFit:
    """The mode for one prior: heights, distribution and log evidence.

    Attributes
    ----------
    order, weight
        The order of the differences, 0 for none, and alpha; infinite for the uniform distribution itself.
    log_evidence
        The log-probability of the reports under this prior.
    spikes
        Shares of single values beside the smooth part, which is exp(f); see :mod:`confide.solve.smooth_prior`.
    span
        The values beyond which nobody is, and which alone have heights; see :mod:`confide.solve.smooth_prior`.
    """

    order: int
    weight: float
    log_evidence: float
    heights: FloatArray
    theta: FloatArray
    spikes: FloatArray | None = None
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """The reports, the channel over reported outputs, and any spikes."""

    evidence: Evidence
    knots: Knots
    matrix: FloatArray | None
    spikes: FloatArray | None = None

    @classmethod
    def of(cls, evidence: Evidence, layout: Layout | None) -> Problem:
        """Choose the form: a stored matrix, or the channel if large."""
        size, outputs = evidence.channel.shape
        # Three million entries of the rows of all knots: the more values there are, the fewer knots.
        fitting = max(LIMITS.fewest_knots, 3_000_000 // max(size, outputs))
        most = size if layout is None else min(LIMITS.most_knots, fitting)
        knots = Knots.over(layout or Layout((size,)), size, most)
        matrix = np.ascontiguousarray(evidence.channel.dense()[:, evidence.seen]) if knots.weights is None else None
        return cls(evidence, knots, matrix)

    @property
    def start(self) -> FloatArray:
        """The heights of the uniform distribution."""
        return np.full(self.knots.size, -math.log(self.evidence.channel.shape[0]))

    @property
    def anchor(self) -> float:
        """r, the precision that ties f to the uniform distribution."""
        # 6 is the root mean square by which log theta is expected to stray from the uniform one over all values.
        return 1 / (6.0**2 * self.knots.size)

    def push(self, theta: FloatArray) -> FloatArray:
        """Return y over the outputs that were reported."""
        if self.matrix is not None and not self.is_response:
            return theta @ self.matrix
        return self.evidence.channel.push(theta)[..., self.evidence.seen]

    def pull(self, weights: FloatArray) -> FloatArray:
        """Return M r, one row for each vector of weights."""
        if self.matrix is not None and not self.is_response:
            return weights @ self.matrix.T
        full = np.zeros((*weights.shape[:-1], self.evidence.channel.shape[1]))
        full[..., self.evidence.seen] = weights
        return self.evidence.channel.pull(full)

    def explain(self, theta: FloatArray) -> FloatArray:
        """Return y for a smooth part and the spikes beside it."""
        return self.push(theta) if self.spikes is None else self.push(theta) + self._spiked

    @cached_property
    def _spiked(self) -> FloatArray:
        return self.push(np.asarray(self.spikes))

    @cached_property
    def spiked_share(self) -> float:
        """The share of all spikes together."""
        return 0.0 if self.spikes is None else float(self.spikes.sum())

    def whole(self, smooth: FloatArray) -> FloatArray:
        """Return smooth parts with the spikes added, as distributions."""
        both = smooth if self.spikes is None else smooth + self.spikes
        normalised: FloatArray = both / both.sum(axis=-1, keepdims=True)
        return normalised

    def rows(self, theta: FloatArray) -> FloatArray:
        """Return how y changes with each knot's height, one row each."""
        if self.matrix is not None:
            return theta[:, None] * self.matrix
        weights = np.eye(self.knots.size) if self.knots.weights is None else self.knots.weights
        # As many rows at a time as have 4 million entries.
        step = max(1, 4_000_000 // self.evidence.channel.shape[1])
        parts = [self.push(weights[begin : begin + step] * theta) for begin in range(0, self.knots.size, step)]
        return np.concatenate(parts)

    @property
    def is_response(self) -> bool:
        """Whether the channel is randomized response, with closed forms."""
        return self.knots.weights is None and self.evidence.channel.keep_and_other is not None

    def system(
        self,
        theta: FloatArray,
        outputs: FloatArray,
        prior: Precision,
        share: float = 1.0,
        more: FloatArray | None = None,
    ) -> DenseCurvature | BandedCurvature:
        """Return the curvature of the posterior, with reports scaled, diagonal raised."""
        alike = self.evidence.channel.keep_and_other
        if alike is None or not self.is_response or 3 * prior.width > self.knots.size:
            matrix = share * self.curvature(theta, outputs) + prior.matrix
            if more is not None:
                matrix.flat[:: self.knots.size + 1] += more
            return DenseCurvature(matrix)
        lift, other = alike[0] - alike[1], alike[1]
        weights = np.zeros(self.knots.size)
        weights[self.evidence.seen] = share * self.evidence.counts[self.evidence.seen] / outputs**2
        band = as_band(prior.matrix, prior.width)
        band[0] += lift**2 * theta**2 * weights + (0.0 if more is None else more)
        middle = np.array([[0.0, lift * other], [lift * other, other**2 * float(weights.sum())]])
        return BandedCurvature(band, np.column_stack([theta * weights, theta]), middle)

    def curvature(self, theta: FloatArray, outputs: FloatArray) -> FloatArray:
        """Return n D M diag(q / y^2) M' D in knot heights.

        Only its lower half is sure to be filled.
        """
        counts = self.evidence.counts[self.evidence.seen]
        if self.matrix is not None:  # one pass over a matrix that may be large, and theta afterwards
            scaled = self.matrix * (np.sqrt(counts) / outputs)
            whole: FloatArray = scaled @ scaled.T
            return whole * theta[:, None] * theta
        return dsyrk(1.0, self.rows(theta) * (np.sqrt(counts) / outputs), lower=1)


def follow_path(problem: Problem, order: int, progress: Progress) -> list[PriorFit]:
    """Fit from smooth to rough, then halve the steps at the best.

    On a plane the evidence has a narrow peak, which the long steps of the path may straddle.
    """
    penalty = penalty_of(problem, order)
    # The first alpha, the largest, is by the integral of the squared derivative over the unit box: the sum of squared
    # differences times side^(2 order) over the number of values. Beyond 1e10 float64 no longer sees the reports beside
    # the prior. The factor between two alphas makes the width over which f is averaged shrink alike for every order.
    weight, step = 100.0, 10.0
    if order > 0:
        side, size = max(problem.knots.layout.shape), math.prod(problem.knots.layout.shape)
        weight, step = min(float(side) ** (2 * order) / size, 1e10), 10.0 ** (order / 2)
    fits: list[PriorFit] = []
    highest = -math.inf
    # The path ends where the log evidence has fallen by six nats from its best.
    while weight >= LIMITS.smallest_weight and not (fits and fits[-1].log_evidence < highest - 6.0):
        fits.append(fit_prior(problem, penalty, order, weight, fits[-1].heights if fits else problem.start, progress))
        highest = max(highest, fits[-1].log_evidence)
        weight /= step
    best = max(fits, key=lambda fit: fit.log_evidence)
    sides = (-0.5,) if best is fits[0] else (0.5, -0.5)
    return fits + [
        fit_prior(problem, penalty, order, best.weight * step**side, best.heights, progress) for side in sides
    ]


def fit_prior(
    problem: Problem, penalty: Penalty, order: int, weight: float, heights: FloatArray, progress: Progress | None
) -> PriorFit:
    """Climb to the mode for one weight, and measure its evidence.

    Without `progress` the heights are the mode already.
    """
    prior = precision_of(problem, penalty, weight)
    if progress is None:
        theta, outputs, height = _evaluate(problem, prior, heights)
    else:
        heights, theta, outputs, height = climb(problem, prior, heights, progress)
    volume = problem.system(theta, outputs, prior).log_determinant
    # The determinant of Q is by the eigenvalues of P.
    log_evidence = height + (float(np.log(weight * penalty.spectrum + problem.anchor).sum()) - volume) / 2
    return PriorFit(order, weight, log_evidence, heights, problem.whole(theta), problem.spikes)


def stay_uniform(problem: Problem) -> PriorFit:
    """Return the uniform fit, with its evidence.

    Its one unknown is the total, which the reports know to one part in the root of n.
    """
    size = problem.evidence.channel.shape[0]
    theta = np.full(size, 1 / size)
    height = _likelihood(problem, theta, problem.push(theta))
    log_evidence = height + (math.log(problem.anchor) - math.log(problem.anchor + problem.evidence.total / size)) / 2
    return PriorFit(0, math.inf, log_evidence, problem.start, theta)


def refit(problem: Problem, fit: PriorFit, shares: FloatArray, total: float) -> FloatArray:
    """Refit other output shares, one Newton step away.

    The shares are those of parts of the same reports, so that the fit is close already; one factor serves all parts.
    """
    if math.isinf(fit.weight):
        return np.tile(fit.theta, (shares.shape[0], 1))
    free = free_spikes(problem, fit)
    problem, prior, heights = free.problem, free.prior, free.heights
    theta = np.exp(problem.knots.spread(heights))
    outputs = problem.push(theta)
    gain = problem.pull(shares[:, problem.evidence.seen] / outputs)
    pull = prior.matrix @ (heights - problem.start)
    slopes = np.array([problem.knots.gather(total * theta * (row - 1)) - pull for row in gain])
    system = problem.system(theta, outputs, prior, total / problem.evidence.total)
    steps = np.clip(system.solve(slopes.T).T, -LIMITS.longest_step, LIMITS.longest_step)
    return free.whole(np.exp(problem.knots.spread(heights + steps)))


@dataclass(frozen=True, eq=False)
class FreeSpikes:
    """A fit whose spikes have heights that move with the rest.

    Attributes
    ----------
    places
        The values that have spikes.
    beyond
        How many values lie before the first that anybody has, and how many after the last.
    """

    problem: Problem
    prior: Precision
    heights: FloatArray
    places: Indices
    beyond: tuple[int, int] = (0, 0)

    def whole(self, moved: FloatArray) -> FloatArray:
        """Return smooth parts followed by their spikes, as distributions."""
        size = moved.shape[1] - self.places.size
        both = moved[:, :size].copy()
        both[:, self.places] += moved[:, size:]
        normalised: FloatArray = both / both.sum(axis=1, keepdims=True)
        return np.pad(normalised, ((0, 0), self.beyond)) if any(self.beyond) else normalised


def free_spikes(problem: Problem, fit: PriorFit) -> FreeSpikes:
    """Return a fit's problem with its spikes free, or between edges."""
    if fit.span is not None:
        (low, high), size = fit.span, fit.theta.size
        inside = problem_between(problem, fit.span)
        held = precision_of(inside, penalty_between(fit.order, fit.span), fit.weight)
        return FreeSpikes(inside, held, fit.heights, np.zeros(0, dtype=np.int64), (low, size - high))
    prior = precision_of(problem, penalty_of(problem, fit.order), fit.weight)
    if fit.spikes is None or problem.matrix is None:
        return FreeSpikes(problem, prior, fit.heights, np.zeros(0, dtype=np.int64))
    places, size = np.flatnonzero(fit.spikes), problem.knots.size
    rows = problem.evidence.channel.dense()
    evidence = replace(problem.evidence, channel=Dense(np.vstack([rows, rows[places]])))
    # A little precision holds the logarithm of a spike's share.
    precision = np.eye(size + places.size) * 1e-3
    precision[:size, :size] = prior.matrix
    knots = Knots(Layout((size + places.size,)), size + places.size, None)
    freed = Problem(evidence, knots, np.vstack([problem.matrix, problem.matrix[places]]))
    heights = np.append(fit.heights, np.log(fit.spikes[places]))
    return FreeSpikes(freed, Precision(precision, size + places.size), heights, places)


def problem_between(problem: Problem, span: Span) -> Problem:
    """Return the problem on a line without the values beyond two edges."""
    low, high = span
    evidence, matrix = problem.evidence, problem.matrix
    rows = evidence.channel.dense()[low:high]
    inside = replace(evidence, channel=Dense(rows), layout=None)
    return Problem(inside, Knots(Layout((high - low,)), high - low, None), None if matrix is None else matrix[low:high])


def penalty_between(order: int, span: Span) -> Penalty:
    """Return P of a line between two edges, without eigenvalues."""
    differences = np.diff(np.eye(span[1] - span[0]), order, axis=0)
    return Penalty(differences.T @ differences, np.zeros(0), order)


def penalty_of(problem: Problem, order: int) -> Penalty:
    """Return P, cached for all groups and replicates over one alphabet."""
    layout, size = problem.knots.layout, problem.knots.size
    key = (order, size, layout.shape, None if layout.places is None else layout.places.tobytes())
    if key not in _PENALTIES:
        # Each takes up to 2 MB.
        while len(_PENALTIES) >= 8:
            _PENALTIES.pop(next(iter(_PENALTIES)))
        penalty = read_only(np.eye(size) if order == 0 else roughness(layout, size, order))
        left, right = np.nonzero(penalty)
        spectrum = read_only(np.maximum(np.linalg.eigvalsh(penalty), 0.0))
        _PENALTIES[key] = Penalty(penalty, spectrum, int(np.abs(left - right).max(initial=0)))
    return _PENALTIES[key]


def precision_of(problem: Problem, penalty: Penalty, weight: float) -> Precision:
    """Return Q for a roughness and a weight."""
    precision: FloatArray = weight * penalty.matrix
    precision.flat[:: problem.knots.size + 1] += problem.anchor
    return Precision(precision, penalty.width)


def climb(
    problem: Problem, prior: Precision, heights: FloatArray, progress: Progress
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Climb to the mode by Newton's method."""
    theta, outputs, height = _evaluate(problem, prior, heights)
    shares = problem.evidence.frequencies[problem.evidence.seen]
    system, before = None, math.inf
    for _ in range(40):
        gain = problem.pull(shares / outputs)
        pushed = problem.evidence.total * theta * (gain - 1)
        slope = problem.knots.gather(pushed) - prior.matrix @ (heights - problem.start)
        step = slope if system is None else system.solve(slope)
        # The curvature is taken anew where a step with an older one promises more than a quarter of the one before.
        if system is None or float(slope @ step) > 0.25 * before:
            # The diagonal left out of the curvature, where it is positive: near the mode it vanishes, far off it slows.
            missing = problem.knots.gather(np.maximum(-pushed, 0.0))
            system = problem.system(theta, outputs, prior, more=missing)
            step = system.solve(slope)
        promise = float(slope @ step)
        if promise < LIMITS.enough:
            break
        length = min(1.0, LIMITS.longest_step / float(np.abs(step).max()))
        while length > 1e-6:
            tried = _evaluate(problem, prior, heights + length * step)
            if tried[2] >= height + 1e-4 * length * promise:
                break
            length /= 2
        else:
            break
        before = promise
        heights, (theta, outputs, height) = heights + length * step, tried
        progress(outputs / (theta.sum() + problem.spiked_share))
    return heights, theta, outputs, height


def _evaluate(problem: Problem, prior: Precision, heights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    theta: FloatArray = np.exp(np.minimum(problem.knots.spread(heights), 50.0))
    outputs = problem.explain(theta)
    apart = heights - problem.start
    return theta, outputs, _likelihood(problem, theta, outputs) - float(apart @ (prior.matrix @ apart)) / 2


def _likelihood(problem: Problem, theta: FloatArray, outputs: FloatArray) -> float:
    if not (outputs > 0).all():
        return -math.inf
    shares = problem.evidence.frequencies[problem.evidence.seen]
    return problem.evidence.total * (float(shares @ np.log(outputs)) - float(theta.sum()) - problem.spiked_share)


def refit_replicates(problem: Problem, fit: PriorFit, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each row's mode under the fit's prior, with log evidence.

    Replicates scatter around their mean. All start from the mode of the mean and climb side by side, by conjugate
    gradients. The curvature at the mode of the mean, factored once, stands for the curvature of each, and so does its
    volume in the evidence.

    Parameters
    ----------
    problem
        The mean of all rows, laid against the channel.
    fit
        Its mode under the prior.
    counts
        One row a replicate.
    """
    rows, mean = counts[:, problem.evidence.seen], problem.evidence.counts[problem.evidence.seen]
    if math.isinf(fit.weight):
        rise = (rows - mean) @ np.log(problem.push(fit.theta))
        return np.tile(fit.theta, (counts.shape[0], 1)), fit.log_evidence + rise
    free = free_spikes(problem, fit)
    hill = _Hill.around(free)
    modes, tops = _climb(hill, rows, free.heights)
    volume = fit.log_evidence - float(hill.stand(mean[None, :], free.heights[None, :]).height[0])
    return free.whole(modes), tops + volume


@dataclass(frozen=True, eq=False)
class _Stand:
    """Positions of replicates on their way up, one row each.

    Attributes
    ----------
    counts
        The reports.
    heights, theta, outputs
        The heights of the knots, the distribution, and what it says of the reports.
    height
        The log-posterior.
    pushed, slopes
        How the log-likelihood changes with the logarithm of each value, and the log-posterior with each height.
    solved
        The slopes divided by the curvature of the mean.
    """

    counts: FloatArray
    heights: FloatArray
    theta: FloatArray
    outputs: FloatArray
    height: FloatArray
    pushed: FloatArray
    slopes: FloatArray
    solved: FloatArray

    @property
    def promise(self) -> FloatArray:
        """About twice the nats that are left to climb."""
        return _dot(self.slopes, self.solved)

    def only(self, chosen: NDArray[np.bool_]) -> _Stand:
        """Return some of the rows."""
        if chosen.all():  # as at most steps: nothing is copied
            return self
        return _Stand(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def taking(self, better: NDArray[np.bool_], other: _Stand) -> _Stand:
        """Return, row by row, the better of the two."""
        if better.all():
            return other
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return _Stand(*(np.where(better if own.ndim == 1 else better[:, None], new, own) for own, new in pairs))


@dataclass(frozen=True, eq=False)
class _Hill:
    """The prior, and the factored posterior curvature at the mean's mode."""

    problem: Problem
    precision: FloatArray
    curvature: DenseCurvature

    @classmethod
    def around(cls, free: FreeSpikes) -> _Hill:
        problem, precision = free.problem, free.prior.matrix
        theta = np.exp(problem.knots.spread(free.heights))
        return cls(problem, precision, DenseCurvature(problem.curvature(theta, problem.push(theta)) + precision))

    def stand(self, counts: FloatArray, heights: FloatArray) -> _Stand:
        """Return where rows of counts stand with these heights."""
        # A step that is merely tried must not overflow.
        theta = np.exp(np.minimum(self.problem.knots.spread(heights), 50.0))
        outputs = np.maximum(self.problem.push(theta), FAINT)
        totals = counts.sum(axis=1)
        apart = heights - self.problem.start
        pull = apart @ self.precision
        height = _dot(counts, np.log(outputs)) - totals * theta.sum(axis=1) - _dot(apart, pull) / 2
        pushed = theta * (self.problem.pull(counts / outputs) - totals[:, None])
        slopes = self.problem.knots.gather(pushed) - pull
        return _Stand(counts, heights, theta, outputs, height, pushed, slopes, self.curvature.solve(slopes.T).T)

    def bend(self, now: _Stand, direction: FloatArray) -> FloatArray:
        """Return each row's curvature along a direction, made concave."""
        along = self.problem.knots.spread(direction)
        reports = _dot(now.counts, (self.problem.push(now.theta * along) / now.outputs) ** 2)
        return reports + _dot(direction @ self.precision, direction) + _dot(np.maximum(-now.pushed, 0.0), along**2)


def _climb(hill: _Hill, counts: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Climb from the centre; return each row's distribution and log-posterior."""
    now = hill.stand(counts, np.tile(centre, (counts.shape[0], 1)))
    modes, tops = now.theta.copy(), now.height.copy()
    active, lengths = np.arange(counts.shape[0]), np.ones(counts.shape[0])
    direction = now.solved
    # Two to four steps lead there where the truth is smooth, ten to twenty where it has spikes.
    for _ in range(30):
        # Fewer nats are not seen in how replicates spread.
        going = now.promise > 0.02
        active, lengths, now, direction = active[going], lengths[going], now.only(going), direction[going]
        if not active.size:
            break
        step = direction * (_dot(now.slopes, direction) / hill.bend(now, direction))[:, None]
        step = np.clip(step, -LIMITS.longest_step, LIMITS.longest_step) * lengths[:, None]
        tried = hill.stand(now.counts, now.heights + step)
        better = tried.height >= now.height
        before, now = now, now.taking(better, tried)
        # Steps get shorter once one of them has not lifted a row, and longer again after one that has.
        lengths = np.where(better, np.minimum(1.0, lengths / 0.3), lengths * 0.3)
        # The next direction, by Polak and Ribiere's rule; where that does not lead up, the plain one.
        kept = np.maximum(_dot(now.slopes, now.solved - before.solved) / np.maximum(before.promise, FAINT), 0.0)
        conjugate = now.solved + kept[:, None] * direction
        direction = np.where((_dot(now.slopes, conjugate) > 0)[:, None], conjugate, now.solved)
        modes[active], tops[active] = now.theta, now.height
    return modes, tops


def _dot(rows: FloatArray, others: FloatArray) -> FloatArray:
    products: FloatArray = np.einsum("ij,ij->i", rows, others)
    return products


def add_edges(problem: Problem, fits: Sequence[PriorFit], progress: Progress) -> list[PriorFit]:
    """Return fits with edges that may beat the fits given."""
    layout, size = problem.knots.layout, problem.evidence.channel.shape[0]
    is_line = len(layout.shape) == 1 and layout.places is None
    smooth = [fit for fit in fits if fit.order >= 1]
    if problem.matrix is None or problem.matrix.size > LIMITS.edge_entries or not smooth:
        return []
    if not is_line or not LIMITS.fewest_between < size <= LIMITS.edge_values:
        return []
    found: list[PriorFit] = []
    now = max(smooth, key=lambda fit: fit.log_evidence)
    if now.log_evidence < fits[0].log_evidence:
        return []
    for side in (0, 1):
        better = _seek_edge(problem, now, side, progress)
        found += better
        # One edge alone may not pay where the prior has to be rough for the other.
        now = max(better, key=lambda fit: fit.log_evidence, default=now)
    return found


def doubt_of(problem: Problem) -> float:
    """Return the nats that an edge must bring beyond its place."""
    return LIMITS.edge_doubt if problem.evidence.channel.keep_and_other is None else LIMITS.edge_doubt_of_response


def _seek_edge(problem: Problem, start: PriorFit, side: int, progress: Progress) -> list[PriorFit]:
    """Search for an edge on one side, then for its weight."""
    tried: dict[tuple[int, float], PriorFit] = {}
    step, (low, high) = 10.0 ** (start.order / 2), start.span or (0, start.theta.size)

    def attempt(place: int, weight: float) -> PriorFit:
        if (place, weight) not in tried:
            span = (low, place) if side else (place, high)
            tried[place, weight] = _fit_between(problem, start, span, weight, progress)
        return tried[place, weight]

    # An edge leaves a value out, and a few in. First come the ends beyond which few people are, by the fit.
    weight, fewest = start.weight, LIMITS.fewest_between
    places = range(low + fewest, high) if side else range(low + 1, high - fewest + 1)
    sums = np.cumsum(start.theta[::-1] if side else start.theta)
    beyond = [int(np.searchsorted(sums, share)) for share in (0.003, 0.02, 0.08)]
    first = sorted({start.theta.size - one if side else one for one in beyond} & set(places))
    # The first places, at a weight that is not their own, may be short of 5 nats beyond their doubt. With 1 nat, edges
    # two values off were given up that bring 15 to 20 nats at their place: nobody below 17, in a pool and in half of
    # the ages alone. An edge that explains nothing is short of log k and its doubt, 5.6 nats for a hundred values.
    least = start.log_evidence - 5.0 - doubt_of(problem)
    place = _best_place(lambda one: attempt(one, weight).log_evidence, first, places, least)
    if place is None:
        return []
    # Beside an edge the rest is smoother than it seemed.
    # (Beyond a weight of 1e8 the determinant of the prior, by its band, would be lost in rounding.)
    while weight < 1e8 and attempt(place, weight * step).log_evidence > attempt(place, weight).log_evidence:
        weight *= step
    # Places beside the best one stand in the average too.
    for other in (place + apart for apart in (-2, -1, 1, 2)):
        if other in places:
            attempt(other, weight)
    return [fit for fit in tried.values() if math.isfinite(fit.log_evidence) and fit.log_evidence > least]


def _best_place(height: Callable[[int], float], first: list[int], places: range, least: float) -> int | None:
    """Return the place of highest evidence by bisection, or `None`."""
    if not first or max(map(height, first)) < least:
        return None
    known = {place: height(place) for place in first}
    gap = max([2, *(right - left for left, right in pairwise(first))])
    while gap > 1:
        gap = (gap + 1) // 2
        best = max(known, key=known.__getitem__)
        for place in (best - gap, best + gap):
            if place in places and place not in known:
                known[place] = height(place)
    return max(known, key=known.__getitem__)


def _fit_between(problem: Problem, start: PriorFit, span: Span, weight: float, progress: Progress) -> PriorFit:
    """Fit between two edges; the evidence pays for each edge."""
    low, high = span
    inside = problem_between(problem, span)
    penalty = penalty_between(start.order, span)
    prior = precision_of(inside, penalty, weight)
    begin = low - (start.span or (0, 0))[0]
    heights, theta, outputs, height = climb(inside, prior, start.heights[begin : begin + high - low], progress)
    volume = inside.system(theta, outputs, prior).log_determinant
    size = problem.evidence.channel.shape[0]
    edges = int(low > 0) + int(high < size)
    # log det Q by its band: the ends of a line move too often for eigenvalues.
    factor, info = dpbtrf(as_band(prior.matrix, prior.width), lower=1)
    determinant = 2 * float(np.log(factor[0]).sum()) if info == 0 else -math.inf
    log_evidence = height + (determinant - volume) / 2 - edges * (math.log(size) + doubt_of(problem))
    whole = np.zeros(size)
    whole[low:high] = theta / float(theta.sum())
    return replace(start, weight=weight, log_evidence=log_evidence, heights=heights, theta=whole, span=span)


def add_spikes(problem: Problem, fits: Sequence[PriorFit], progress: Progress) -> list[PriorFit]:
    """Return fits with spikes that may beat the fits given."""
    ladder = [fit for fit in fits if fit.order >= 1 and fit.span is None]
    # On planes of more cells the search took longer than all else, and found none.
    is_large = len(problem.knots.layout.shape) > 1 and problem.knots.size > 200
    if problem.matrix is None or not ladder or is_large:
        return []
    path = [fit for fit in ladder if fit.order == ladder[0].order]
    found = _seek_spikes(problem, path, progress)
    # A fit that ran into the limits of float64 is no fit.
    return [fit for fit in found if math.isfinite(fit.log_evidence) and bool(np.isfinite(fit.theta).all())]


def cost_of(problem: Problem) -> float:
    """Return the nats that a spike has to bring."""
    return math.log(problem.evidence.channel.shape[0]) + LIMITS.spike_doubt


def _seek_spikes(problem: Problem, path: Sequence[PriorFit], progress: Progress) -> Iterator[PriorFit]:
    """Search for spikes beside a smooth fit, lowering its weight."""
    now, spikes, step = path[0], np.zeros(path[0].theta.size), path[0].weight / path[1].weight
    for _ in range(LIMITS.spike_rounds):
        found = _find(problem, now, spikes, max(1, LIMITS.spike_growth * int(np.count_nonzero(spikes))))
        if not found.any() or ((found > 0) == (spikes > 0)).all():
            break
        now = _fit_spikes(problem, replace(now, spikes=found), now.weight, progress)
        spikes = found if now.spikes is None else now.spikes
        yield now
    plain = {round(math.log(fit.weight, step), 1): fit.log_evidence for fit in path}
    best = max(plain.values())
    while spikes.any() and now.weight > LIMITS.smallest_weight:
        # Far below the best fit without spikes the weight is lowered by two steps at a time.
        factor = step**2 if now.log_evidence < best - 30.0 else step
        rougher = _fit_spikes(problem, replace(now, spikes=spikes), now.weight / factor, progress)
        yield rougher
        # Spikes that do not pay beside a smooth part of this weight pay even less beside a rougher one.
        least = max(now.log_evidence, plain.get(round(math.log(rougher.weight, step), 1), -math.inf))
        if rougher.log_evidence < least or rougher.spikes is None:
            break
        now, spikes = rougher, _find(problem, rougher, rougher.spikes, int(np.count_nonzero(rougher.spikes)))
    if now.spikes is not None and 0 < np.count_nonzero(spikes) < np.count_nonzero(now.spikes):
        yield _fit_spikes(problem, replace(now, spikes=spikes), now.weight, progress)


def _find(problem: Problem, fit: PriorFit, spikes: FloatArray, most: int) -> FloatArray:
    smooth = np.exp(fit.heights)
    return find_spikes(problem, smooth / float(smooth.sum()), spikes, most)


def _fit_spikes(problem: Problem, fit: PriorFit, weight: float, progress: Progress) -> PriorFit:
    """Fit heights and spikes together; the evidence pays for each spike."""
    free = free_spikes(problem, replace(fit, weight=weight))
    moved, *_ = climb(free.problem, free.prior, free.heights, progress)
    spikes, size = np.zeros(fit.theta.size), fit.heights.size
    spikes[free.places] = np.exp(moved[size:])
    spikes[spikes < LIMITS.negligible] = 0.0
    spiked, penalty = replace(problem, spikes=spikes), penalty_of(problem, fit.order)
    found = fit_prior(spiked, penalty, fit.order, weight, moved[:size], None)
    return replace(found, log_evidence=found.log_evidence - cost_of(problem) * int(np.count_nonzero(spikes)))


def find_spikes(problem: Problem, smooth: FloatArray, spikes: FloatArray, most: int) -> FloatArray:
    """Return the spikes, old and new, that are worth their cost."""
    evidence, matrix = problem.evidence, problem.matrix
    if matrix is None:
        return spikes
    n, q, cost = evidence.total, evidence.frequencies[evidence.seen], cost_of(problem)
    squares = matrix * matrix
    values = [int(value) for value in np.flatnonzero(spikes)]
    rows = np.vstack([matrix[values], smooth @ matrix])
    # Spikes that were fitted with the total left free may add up to a little more than one.
    rest = max(1.0 - float(spikes.sum()), LIMITS.negligible)
    weights, height = _climb_shares(rows, np.append(spikes[values], rest), q, n)
    for value in _doubtful(rows, weights, q, n, values, cost):
        kept = np.append(np.array(values) != value, True)
        fewer, lower = _climb_shares(rows[kept], weights[kept], q, n)
        if lower > height - cost:
            values.remove(value)
            rows, weights, height = rows[kept], fewer, lower
    while len(values) < most:
        ratio = q / (weights @ rows)
        gain = matrix @ ratio - 1.0
        bend = squares @ (ratio * ratio / q) - 2.0 * gain - 1.0
        promise = np.where((gain > 0) & (bend > 0), n * gain**2 / (2.0 * np.maximum(bend, 1e-300)), 0.0)
        promise[values] = 0.0
        value = int(np.argmax(promise))
        # A spike is tried even if it promises only 70 % of its cost: the promise is a quadratic model's.
        if promise[value] < 0.7 * cost:
            break
        more = np.vstack([matrix[value], rows])
        first = min(0.5, float(gain[value] / bend[value]))
        tried, higher = _climb_shares(more, np.append(first, (1.0 - first) * weights), q, n)
        if higher < height + cost:
            break
        is_kept = np.append(tried[:-1] > LIMITS.negligible, True)
        values = [one for one, kept in zip([value, *values], is_kept, strict=False) if kept]
        rows, weights, height = more[is_kept], tried[is_kept], higher
    found = np.zeros(spikes.size)
    found[values] = weights[:-1] / weights.sum()
    return found


def _doubtful(
    rows: FloatArray, weights: FloatArray, q: FloatArray, n: float, values: list[int], cost: float
) -> list[int]:
    """Return spikes that a quadratic model finds hardly worth their cost."""
    if not values:
        return []
    scaled = rows * (np.sqrt(q) / (weights @ rows))
    bend = scaled @ scaled.T
    bend.flat[:: bend.shape[0] + 1] *= 1 + 1e-12
    loss = n * weights**2 / (2 * np.maximum(np.linalg.inv(bend).diagonal(), 1e-300))
    # What brings twice its cost by the same model is plainly worth it.
    return [value for value, one in zip(values, loss.tolist(), strict=False) if one < 2.0 * cost]


def _climb_shares(rows: FloatArray, weights: FloatArray, q: FloatArray, n: float) -> tuple[FloatArray, float]:
    """Return the likeliest shares of a few output distributions, by Newton."""
    # Where a spike that held everybody is left out, something must explain the reports to begin with.
    weights = np.maximum(weights, LIMITS.negligible) / float(np.maximum(weights, LIMITS.negligible).sum())
    height = float(q @ np.log(np.maximum(weights @ rows, 1e-300))) - float(weights.sum())
    for _ in range(12):
        outputs = weights @ rows
        slope = rows @ (q / outputs) - 1.0
        scaled = rows * (np.sqrt(q) / outputs)
        step = NonnegativeProgramme(scaled @ scaled.T).step(slope, weights)
        promise = n * float(slope @ step)
        if promise < 0.02:
            break
        length = 1.0
        while length > 1e-4:
            tried = np.maximum(weights + length * step, 1e-15)  # one in a million million may need what is left
            reached = float(q @ np.log(np.maximum(tried @ rows, 1e-300))) - float(tried.sum())
            if reached > height:
                break
            length /= 2
        else:
            break
        weights, height = tried, reached
    return weights, n * (height + 1.0)

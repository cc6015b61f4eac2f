"""The distribution that explains the reports while its logarithm stays smooth, for a whole range of smoothness.

The logarithm f of theta has a Gaussian prior around the uniform distribution with the precision Q = alpha P + r I. P is
the roughness (squared differences of some order), alpha its weight, and the little r keeps f from drifting where P says
nothing. The likelihood is the one of the evidence with its total left free, n (q . log(theta M) - sum(theta)), whose
maximum sums to one by itself, or nearly so. With g = M (q / y) and D = diag(theta) the slope in f is
n theta (g - 1) - Q (f - f0), and the curvature n D M diag(q / y^2) M' D + Q, up to a diagonal that vanishes at g = 1.

How much each alpha deserves to be believed follows from its evidence, the probability of the reports once f is
integrated out, by Laplace's approximation around the mode:

    log evidence = n (q . log y - sum(theta)) - (f - f0)' Q (f - f0) / 2 + log det Q / 2 - log det (Q + curvature) / 2.

It is not a concave problem: there is no certificate that a mode is the highest. The path from strong to weak alpha,
each fit started from the one before, keeps to the mode that grows out of the smoothest answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from confide.channels.base import FloatArray, Indices, Layout
from confide.checks import read_only
from confide.evidence import Evidence

Progress = Callable[[FloatArray], None]
"""Called after each step with the outputs y = theta M reached."""

AMPLITUDE = 6.0
"""Root mean square over all values by which log theta is expected to stray from the uniform one."""

MOST_KNOTS = 500
"""Values up to which each has a height of its own; a step then takes up to a hundredth of a second."""

MOST_ENTRIES = 3_000_000
"""Entries of the rows of all knots: the more values there are, the fewer knots."""

FEWEST_KNOTS = 64

CHUNK = 4_000_000
"""Entries of rows that are pushed at a time."""

STEEPEST_WEIGHT = 1e10
"""No alpha is larger: beyond it float64 no longer sees the reports beside the prior."""

SMALLEST_WEIGHT = 1e-3

HOPELESS = 6.0
"""The path ends where the log evidence has fallen by so much from its best."""

ENOUGH = 0.1
"""A step that promises fewer nats than this is the last: it would not be seen in the answer."""

MOST_STEPS = 40
LONGEST_STEP = 3.0
"""No log-probability moves by more in one step."""

SHORTEST_STEP = 1e-6

STENCILS = {1: (-1.0, 1.0), 2: (1.0, -2.0, 1.0), 3: (-1.0, 3.0, -3.0, 1.0)}
"""Differences of the first, second and third order."""

TWIST = (1.0, -1.0, -1.0, 1.0)
"""The mixed second difference over the four corners of a square."""

KEPT_PENALTIES = 8
"""Penalties that are kept, each with its eigenvalues: 2 MB for as many knots as there are at most."""

_PENALTIES: dict[object, tuple[FloatArray, FloatArray]] = {}


@dataclass(frozen=True, eq=False)
class PriorFit:
    """The mode for one prior: its heights at the knots, its distribution, and how much it deserves to be believed.

    Attributes
    ----------
    order, weight
        The order of the differences, 0 for none, and alpha; infinite for the uniform distribution itself.
    log_evidence
        The log-probability of the reports under this prior.
    """

    order: int
    weight: float
    log_evidence: float
    heights: FloatArray
    theta: FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """The reports, and the rows of the channel over the outputs that were reported."""

    evidence: Evidence
    knots: Knots
    matrix: FloatArray | None

    @classmethod
    def of(cls, evidence: Evidence, layout: Layout | None) -> Problem:
        """Store the matrix where every value is a knot; push through the channel where it would be too large."""
        size, outputs = evidence.channel.shape
        most = size if layout is None else min(MOST_KNOTS, max(FEWEST_KNOTS, MOST_ENTRIES // max(size, outputs)))
        knots = Knots.over(layout or Layout((size,)), size, most)
        matrix = np.ascontiguousarray(evidence.channel.dense()[:, evidence.seen]) if knots.weights is None else None
        return cls(evidence, knots, matrix)

    @property
    def start(self) -> FloatArray:
        """The heights of the uniform distribution."""
        return np.full(self.knots.size, -math.log(self.evidence.channel.shape[0]))

    @property
    def anchor(self) -> float:
        """r, the precision that holds f near the uniform distribution as a whole."""
        return 1 / (AMPLITUDE**2 * self.knots.size)

    def push(self, theta: FloatArray) -> FloatArray:
        """Return y over the outputs that were reported."""
        if self.matrix is not None:
            pushed: FloatArray = theta @ self.matrix
            return pushed
        outputs: FloatArray = self.evidence.channel.push(theta)[..., self.evidence.seen]
        return outputs

    def pull(self, weights: FloatArray) -> FloatArray:
        """Return M r for weights on the outputs that were reported, one row a vector of weights."""
        if self.matrix is not None:
            pulled: FloatArray = weights @ self.matrix.T
            return pulled
        full = np.zeros((*weights.shape[:-1], self.evidence.channel.shape[1]))
        full[..., self.evidence.seen] = weights
        return self.evidence.channel.pull(full)

    def rows(self, theta: FloatArray) -> FloatArray:
        """Return how y changes with the height of each knot, one row a knot."""
        if self.matrix is not None:
            return theta[:, None] * self.matrix
        weights = np.eye(self.knots.size) if self.knots.weights is None else self.knots.weights
        step = max(1, CHUNK // self.evidence.channel.shape[1])
        parts = [self.push(weights[begin : begin + step] * theta) for begin in range(0, self.knots.size, step)]
        return np.concatenate(parts)

    def curvature(self, theta: FloatArray, outputs: FloatArray) -> FloatArray:
        """Return n D M diag(q / y^2) M' D in the heights of the knots; its lower half alone."""
        counts = self.evidence.counts[self.evidence.seen]
        half: FloatArray = dsyrk(1.0, self.rows(theta) * (np.sqrt(counts) / outputs), lower=1)
        return half


def follow_path(problem: Problem, order: int, progress: Progress) -> list[PriorFit]:
    """Fit from smooth to rough, each from the one before, until it is far too rough; then halve the steps at the best.

    On a plane the evidence has a narrow peak, which the long steps of the path may straddle.
    """
    family = _Family(problem, order, *_penalty(problem, order), progress)
    weight, step = _first_weight(problem.knots.layout, order)
    fits: list[PriorFit] = []
    while weight >= SMALLEST_WEIGHT and not _is_hopeless(fits):
        heights = fits[-1].heights if fits else problem.start
        fits.append(family.fit(weight, heights))
        weight /= step
    best = max(fits, key=lambda fit: fit.log_evidence)
    sides = (-0.5,) if best is fits[0] else (0.5, -0.5)
    return fits + [family.fit(best.weight * step**side, best.heights) for side in sides]


def _is_hopeless(fits: list[PriorFit]) -> bool:
    return bool(fits) and fits[-1].log_evidence < max(fit.log_evidence for fit in fits) - HOPELESS


@dataclass(frozen=True, eq=False)
class _Family:
    """All priors of one order, and the eigenvalues of its roughness, which give log det Q for every weight."""

    problem: Problem
    order: int
    penalty: FloatArray
    spectrum: FloatArray
    progress: Progress

    def fit(self, weight: float, heights: FloatArray) -> PriorFit:
        """Climb from these heights to the mode for one weight, and measure its evidence."""
        problem = self.problem
        precision = _precision(problem, self.penalty, weight)
        heights, theta, outputs, height = _climb(problem, precision, heights, self.progress)
        volume = _log_determinant(problem.curvature(theta, outputs) + precision)
        log_evidence = height + (float(np.log(weight * self.spectrum + problem.anchor).sum()) - volume) / 2
        return PriorFit(self.order, weight, log_evidence, heights, theta / theta.sum())


def stay_uniform(problem: Problem) -> PriorFit:
    """Return the uniform distribution as the answer of a prior that knows nothing else, with its evidence.

    Its one unknown is the total, which the reports know to one part in the root of n.
    """
    size = problem.evidence.channel.shape[0]
    theta = np.full(size, 1 / size)
    height = _likelihood(problem, theta, problem.push(theta))
    log_evidence = height + (math.log(problem.anchor) - math.log(problem.anchor + problem.evidence.total / size)) / 2
    return PriorFit(0, math.inf, log_evidence, problem.start, theta)


def refit(problem: Problem, fit: PriorFit, shares: FloatArray, total: float) -> FloatArray:
    """Return what the fit would have been with other shares of the outputs, one row each: one Newton step away.

    The shares are those of parts of the same reports, so that the fit is close already; one factor serves all parts.
    """
    if math.isinf(fit.weight):
        return np.tile(fit.theta, (shares.shape[0], 1))
    precision = prior_precision(problem, fit.order, fit.weight)
    theta = np.exp(problem.knots.spread(fit.heights))
    outputs = problem.push(theta)
    gain = problem.pull(shares[:, problem.evidence.seen] / outputs)
    pull = precision @ (fit.heights - problem.start)
    slopes = np.array([problem.knots.gather(total * theta * (row - 1)) - pull for row in gain])
    curvature = problem.curvature(theta, outputs) * (total / problem.evidence.total) + precision
    steps = np.clip(_solve(curvature, slopes.T).T, -LONGEST_STEP, LONGEST_STEP)
    moved = np.exp(problem.knots.spread(fit.heights + steps))
    shares_moved: FloatArray = moved / moved.sum(axis=1, keepdims=True)
    return shares_moved


def _first_weight(layout: Layout, order: int) -> tuple[float, float]:
    """Return the alpha at which f bends by about one over the whole box, and the factor between two alphas.

    The integral of the squared derivative over the unit box is the sum of squared differences times side^(2 order) over
    the number of values. The factor makes the width over which f is averaged shrink alike for every order.
    """
    if order == 0:
        return 100.0, 10.0
    side, size = max(layout.shape), math.prod(layout.shape)
    return min(float(side) ** (2 * order) / size, STEEPEST_WEIGHT), 10.0 ** (order / 2)


def prior_precision(problem: Problem, order: int, weight: float) -> FloatArray:
    """Return Q = alpha P + r I."""
    return _precision(problem, _penalty(problem, order)[0], weight)


def _penalty(problem: Problem, order: int) -> tuple[FloatArray, FloatArray]:
    """Return P and its eigenvalues: the same for all groups and replicates over one alphabet, so they are kept."""
    layout, size = problem.knots.layout, problem.knots.size
    key = (order, size, layout.shape, None if layout.places is None else layout.places.tobytes())
    if key not in _PENALTIES:
        while len(_PENALTIES) >= KEPT_PENALTIES:
            _PENALTIES.pop(next(iter(_PENALTIES)))
        penalty = read_only(np.eye(size) if order == 0 else roughness(layout, size, order))
        _PENALTIES[key] = penalty, read_only(np.maximum(np.linalg.eigvalsh(penalty), 0.0))
    return _PENALTIES[key]


def _precision(problem: Problem, penalty: FloatArray, weight: float) -> FloatArray:
    precision: FloatArray = weight * penalty
    precision.flat[:: problem.knots.size + 1] += problem.anchor
    return precision


def _climb(
    problem: Problem, precision: FloatArray, heights: FloatArray, progress: Progress
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Climb by Newton's method to the mode; return its heights, theta, outputs and log-posterior."""
    theta, outputs, height = _evaluate(problem, precision, heights)
    shares = problem.evidence.frequencies[problem.evidence.seen]
    for _ in range(MOST_STEPS):
        gain = problem.pull(shares / outputs)
        pushed = problem.evidence.total * theta * (gain - 1)
        slope = problem.knots.gather(pushed) - precision @ (heights - problem.start)
        curvature = problem.curvature(theta, outputs) + precision
        # The diagonal left out of the curvature, where it is positive: near the mode it vanishes, far off it slows.
        curvature.flat[:: heights.size + 1] += problem.knots.gather(np.maximum(-pushed, 0.0))
        step = _solve(curvature, slope)
        promise = float(slope @ step)
        if promise < ENOUGH:
            break
        length = min(1.0, LONGEST_STEP / float(np.abs(step).max()))
        while length > SHORTEST_STEP:
            tried = _evaluate(problem, precision, heights + length * step)
            if tried[2] >= height + 1e-4 * length * promise:
                break
            length /= 2
        else:
            break
        heights, (theta, outputs, height) = heights + length * step, tried
        progress(outputs / theta.sum())
    return heights, theta, outputs, height


def _evaluate(problem: Problem, precision: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    theta: FloatArray = np.exp(np.minimum(problem.knots.spread(heights), 50.0))
    outputs = problem.push(theta)
    apart = heights - problem.start
    return theta, outputs, _likelihood(problem, theta, outputs) - float(apart @ (precision @ apart)) / 2


def _likelihood(problem: Problem, theta: FloatArray, outputs: FloatArray) -> float:
    if not (outputs > 0).all():
        return -math.inf
    shares = problem.evidence.frequencies[problem.evidence.seen]
    return problem.evidence.total * (float(shares @ np.log(outputs)) - float(theta.sum()))


def factorise(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix whose lower half is given, and which rounding may have made singular."""
    ridge = 0.0
    for _ in range(12):
        regular = matrix.copy()
        regular.flat[:: matrix.shape[0] + 1] += ridge
        factor, info = dpotrf(regular, lower=1, overwrite_a=1)
        if info == 0:
            break
        ridge = max(100 * ridge, 1e-14 * float(matrix.diagonal().max()))
    result: FloatArray = factor
    return result


def solve_by(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve for each column on the right, by a Cholesky factor."""
    solution: FloatArray = dpotrs(factor, right, lower=1)[0]
    return solution


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    return solve_by(factorise(matrix), right)


def _log_determinant(matrix: FloatArray) -> float:
    return 2 * float(np.log(factorise(matrix).diagonal()).sum())


@dataclass(frozen=True, eq=False)
class Knots:
    """Some places of a box, evenly spaced along each axis; between them functions are straight.

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
        """Return every value as a knot, or at most so many knots where there are more values.

        >>> Knots.over(Layout((7,)), 7, 4).weights
        array([[1. , 0.5, 0. , 0. , 0. , 0. , 0. ],
               [0. , 0.5, 1. , 0.5, 0. , 0. , 0. ],
               [0. , 0. , 0. , 0.5, 1. , 0.5, 0. ],
               [0. , 0. , 0. , 0. , 0. , 0.5, 1. ]])
        """
        if size <= most:
            return cls(layout, size, None)
        shape = _fewer(layout.shape, most)
        weights: FloatArray = np.ones((1, 1))
        for length, count in zip(layout.shape, shape, strict=True):
            weights = np.kron(weights, _hats(length, count)).astype(np.float64)
        places: slice | Indices = slice(None) if layout.places is None else layout.places
        return cls(Layout(shape), math.prod(shape), weights[:, places])

    def spread(self, heights: FloatArray) -> FloatArray:
        """Return the heights of all values from those of the knots."""
        return heights if self.weights is None else heights @ self.weights

    def gather(self, slopes: FloatArray) -> FloatArray:
        """Return how a sum over values changes with the height of each knot, from how it changes with each value's.

        Both this and :meth:`spread` take one function, or several, one a row.
        """
        return slopes if self.weights is None else slopes @ self.weights.T


def _fewer(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Shrink all sides alike until at most so many places are left; a side keeps four places if it has them."""
    shrink = (most / math.prod(shape)) ** (1 / len(shape))
    return tuple(max(min(length, 4), int(length * shrink)) for length in shape)


def _hats(length: int, count: int) -> FloatArray:
    """Return for each of so many knots on a line how much of it each place gets."""
    places = np.arange(length) * ((count - 1) / max(length - 1, 1))
    hats: FloatArray = np.maximum(0.0, 1.0 - np.abs(places - np.arange(count)[:, None]))
    return hats


def roughness(layout: Layout, size: int, order: int) -> FloatArray:
    """Return the matrix P for which f' P f is the sum of the squared differences of f, along every axis.

    Differences of the second order on a plane include the mixed one, twice, so that no direction is preferred: the
    thin plate. A difference that would reach over a hole, or past the rim, does not count.

    >>> roughness(Layout((3,)), 3, 2)
    array([[ 1., -2.,  1.],
           [-2.,  4., -2.],
           [ 1., -2.,  1.]])
    """
    box = _number_of_each_place(layout, size)
    penalty = np.zeros((size, size))
    for axis in range(box.ndim):
        _add(penalty, _windows(box, axis, order + 1), STENCILS[order])
    if box.ndim == 2 and order == 2:
        corners = np.stack([box[:-1, :-1], box[:-1, 1:], box[1:, :-1], box[1:, 1:]], axis=-1)
        _add(penalty, corners.reshape(-1, 4), tuple(math.sqrt(2) * weight for weight in TWIST))
    return penalty


def _number_of_each_place(layout: Layout, size: int) -> Indices:
    """Return the box of the layout with the number of the value that stands at each place, -1 where none does."""
    box = np.full(math.prod(layout.shape), -1, dtype=np.int64)
    box[slice(None) if layout.places is None else layout.places] = np.arange(size)
    return box.reshape(layout.shape)


def _windows(box: Indices, axis: int, width: int) -> Indices:
    """Return all runs of so many places along an axis, one a row."""
    if box.shape[axis] < width:
        return np.zeros((0, width), dtype=np.int64)
    runs = np.lib.stride_tricks.sliding_window_view(box, width, axis=axis)
    return runs.reshape(-1, width)


def _add(penalty: FloatArray, windows: Indices, stencil: tuple[float, ...]) -> None:
    """Add the square of one difference for each window that has no hole."""
    whole = windows[(windows >= 0).all(axis=1)]
    for left, one in enumerate(stencil):
        for right, other in enumerate(stencil):
            np.add.at(penalty, (whole[:, left], whole[:, right]), one * other)

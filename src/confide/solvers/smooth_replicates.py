"""The smooth fit to many replicates of the reports at once, for one prior.

Replicates scatter around their mean, so one climb leads to the mode of the mean, and from there all go on side by side
with the one factor of its curvature. These are Newton's steps but for the curvature, which is the mean's and not each
one's own; a row that a step does not lift takes a shorter one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray
from confide.solvers.smooth_prior import ENOUGH, LONGEST_STEP, Fit, Problem, climb, factorise, prior_precision, solve_by

MOST_STEPS = 12
"""Steps from the mode of the mean; most rows need two or three."""

BLOCK = 8_000_000
"""Entries of a stack of outputs, one row a replicate, that are moved at a time: 64 MB."""

HIGHEST = 50.0
"""No logarithm of a probability is taken for higher while a step is tried."""

State = tuple[FloatArray, ...]
"""Theta, the outputs and the log-posterior, one row a replicate."""


def refit_replicates(problem: Problem, fit: Fit, counts: FloatArray) -> FloatArray:
    """Return the mode for each row of counts, under the prior of the fit.

    Parameters
    ----------
    problem
        The mean of all rows, laid against the channel.
    fit
        The prior, and heights to start from.
    counts
        One row a replicate.
    """
    if math.isinf(fit.weight):
        return np.tile(fit.theta, (counts.shape[0], 1))
    precision = prior_precision(problem, fit.order, fit.weight)
    heights, theta, outputs, _ = climb(problem, precision, fit.heights, _ignore)
    factor = factorise(problem.curvature(theta, outputs) + precision)
    size = max(1, BLOCK // max(problem.evidence.channel.shape))
    blocks = [counts[begin : begin + size, problem.evidence.seen] for begin in range(0, counts.shape[0], size)]
    return np.concatenate([_move(_Rows(problem, precision, block), heights, factor) for block in blocks])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Replicates with one prior: counts over the outputs that any of them reported, one row each."""

    problem: Problem
    precision: FloatArray
    counts: FloatArray

    def take(self, chosen: NDArray[np.bool_]) -> _Rows:
        return _Rows(self.problem, self.precision, self.counts[chosen])

    def evaluate(self, heights: FloatArray) -> State:
        """Return where each row stands with these heights."""
        theta = np.exp(np.minimum(self.problem.knots.spread(heights), HIGHEST))
        outputs = np.maximum(self.problem.push(theta), 1e-300)
        apart = heights - self.problem.start
        believed = np.einsum("ij,ij->i", apart @ self.precision, apart) / 2
        explained = np.einsum("ij,ij->i", self.counts, np.log(outputs)) - self.counts.sum(axis=1) * theta.sum(axis=1)
        return theta, outputs, explained - believed

    def slopes(self, heights: FloatArray, theta: FloatArray, outputs: FloatArray) -> FloatArray:
        """Return how each log-posterior changes with each height."""
        gain = self.problem.pull(self.counts / outputs) - self.counts.sum(axis=1, keepdims=True)
        return self.problem.knots.gather(theta * gain) - (heights - self.problem.start) @ self.precision


def _move(rows: _Rows, centre: FloatArray, factor: FloatArray) -> FloatArray:
    """Step from the centre until no step promises enough; rows that are done are set aside."""
    heights = np.tile(centre, (rows.counts.shape[0], 1))
    lengths = np.ones(heights.shape[0])
    active = np.arange(heights.shape[0])
    state = rows.evaluate(heights)
    for _ in range(MOST_STEPS):
        slopes = rows.slopes(heights[active], state[0], state[1])
        steps = solve_by(factor, slopes.T).T
        going = np.einsum("ij,ij->i", slopes, steps) > ENOUGH
        active, steps, rows = active[going], steps[going], rows.take(going)
        if not active.size:
            break
        steps = np.clip(steps, -LONGEST_STEP, LONGEST_STEP) * lengths[active, None]
        tried = rows.evaluate(heights[active] + steps)
        better = tried[2] >= state[2][going]
        heights[active[better]] += steps[better]
        lengths[active] *= np.where(better, 1.0, 0.3)
        state = _choose(better, tried, tuple(part[going] for part in state))
    moved = np.exp(rows.problem.knots.spread(heights))
    normalised: FloatArray = moved / moved.sum(axis=1, keepdims=True)
    return normalised


def _choose(better: NDArray[np.bool_], tried: State, before: State) -> State:
    """Return the rows that were tried where they are better, and those before where not."""
    pairs = zip(tried, before, strict=True)
    return tuple(np.where(better if one.ndim == 1 else better[:, None], one, other) for one, other in pairs)


def _ignore(outputs: FloatArray) -> None:
    """Take no notice of a step."""

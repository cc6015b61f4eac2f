"""The smooth fit to many replicates of the reports at once, for one prior.

Replicates scatter around their mean, so all start from the mode of the mean and climb side by side, by conjugate
gradients. The curvature at the mode of the mean, factored once, stands for the curvature of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray
from confide.solve.smooth_prior import LONGEST_STEP, FreeSpikes, PriorFit, Problem, factorise, free_spikes, solve_by

SHORTER = 0.3
"""Factor on the length of a row's steps once one of them has not lifted it."""

LEAST = 1e-300


def refit_replicates(problem: Problem, fit: PriorFit, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mode for each row of counts under the prior of the fit, and the log evidence of each.

    The volume of the posterior, the part of the evidence that would take a factor for each row, is taken from the mean.

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
        """Return the rows of the other where those are better, and the own ones where not."""
        if better.all():
            return other
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return _Stand(*(np.where(better if own.ndim == 1 else better[:, None], new, own) for own, new in pairs))


@dataclass(frozen=True, eq=False)
class _Hill:
    """The prior, and the factor of the posterior's curvature at the mode of the mean."""

    problem: Problem
    precision: FloatArray
    factor: FloatArray

    @classmethod
    def around(cls, free: FreeSpikes) -> _Hill:
        problem, precision = free.problem, free.prior.matrix
        theta = np.exp(problem.knots.spread(free.heights))
        return cls(problem, precision, factorise(problem.curvature(theta, problem.push(theta)) + precision))

    def stand(self, counts: FloatArray, heights: FloatArray) -> _Stand:
        """Return where rows of counts stand with these heights."""
        # A step that is merely tried must not overflow.
        theta = np.exp(np.minimum(self.problem.knots.spread(heights), 50.0))
        outputs = np.maximum(self.problem.push(theta), LEAST)
        totals = counts.sum(axis=1)
        apart = heights - self.problem.start
        pull = apart @ self.precision
        height = _dot(counts, np.log(outputs)) - totals * theta.sum(axis=1) - _dot(apart, pull) / 2
        pushed = theta * (self.problem.pull(counts / outputs) - totals[:, None])
        slopes = self.problem.knots.gather(pushed) - pull
        return _Stand(counts, heights, theta, outputs, height, pushed, slopes, solve_by(self.factor, slopes.T).T)

    def bend(self, now: _Stand, direction: FloatArray) -> FloatArray:
        """Return each row's own curvature along a direction; where it is not concave, as if it were."""
        along = self.problem.knots.spread(direction)
        reports = _dot(now.counts, (self.problem.push(now.theta * along) / now.outputs) ** 2)
        return reports + _dot(direction @ self.precision, direction) + _dot(np.maximum(-now.pushed, 0.0), along**2)


def _climb(hill: _Hill, counts: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Climb from the centre; return each row's distribution and log-posterior. Rows that are done are set aside."""
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
        step = np.clip(step, -LONGEST_STEP, LONGEST_STEP) * lengths[:, None]
        tried = hill.stand(now.counts, now.heights + step)
        better = tried.height >= now.height
        before, now = now, now.taking(better, tried)
        lengths = np.where(better, np.minimum(1.0, lengths / SHORTER), lengths * SHORTER)
        # The next direction, by Polak and Ribiere's rule; where that does not lead up, the plain one.
        kept = np.maximum(_dot(now.slopes, now.solved - before.solved) / np.maximum(before.promise, LEAST), 0.0)
        conjugate = now.solved + kept[:, None] * direction
        direction = np.where((_dot(now.slopes, conjugate) > 0)[:, None], conjugate, now.solved)
        modes[active], tops[active] = now.theta, now.height
    return modes, tops


def _dot(rows: FloatArray, others: FloatArray) -> FloatArray:
    products: FloatArray = np.einsum("ij,ij->i", rows, others)
    return products

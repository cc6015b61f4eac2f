"""Categories under k-RR: shares of about the same size are pooled, as far as an unbiased estimate of the error agrees.

Inversion gives every share an unbiased estimate with a known variance, about least + growth * share. The shares are
taken to be drawn from a distribution G, which a few steps of EM find from the estimates themselves, and each share
becomes its posterior mean (empirical Bayes). That helps where many categories are alike, as in sparse, flat or
stepped populations, and hurts a little where none are.

How much it helps, Stein's identity says without knowing the truth. With x the inversion, P its projection, m the
posterior means and d = m - P, the error of P + a d has the expectation

    |P - truth|^2 + 2 a ((P - x) . d + trace(V J)) + a^2 |d|^2,

V being the covariance of x and J the slope of d. The best a is the share of the posterior means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.em import Monitor, RowStack, Status, normalised, take_steps, uniform
from confide.evidence import Evidence
from confide.methods.base import Method, Solution
from confide.methods.inversion import project

STEPS = 5
"""Steps of EM towards G: with many more, shares that are merely near each other are taken for the same."""

FINE, REACH = 0.5, np.arange(-6, 8)
"""Standard errors from one atom of G to the next, and which atoms around each share there are."""

MOVE = 0.7
"""Standard errors that shares are moved by to measure the slope: by less, a share would seem to stay at its atom."""

MOVES, MOVED_SHARES = 8, 800
"""Pairs of random moves at most, and how many shares they move together: the more there are, the fewer it takes."""

CAUTION = 0.8
"""Part of the best share that is taken, for the estimate of it scatters: chance must not pool what is unlike."""

FAINT = 1e-300


@dataclass(frozen=True)
class Pooled(Method):
    """Posterior mean of each share under k-RR, the prior found from all shares: a candidate of :class:`Stacked`."""

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return "pooled"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (few steps)
        """See :meth:`Method.solve`."""
        words = f"shares of about the same size are pooled, by {STEPS} steps of EM"
        return Solution(Shares.of(evidence).pooled, STEPS, Status.AVERAGED, words)


@dataclass(frozen=True, eq=False)
class Shares:
    """Unbiased estimates of the shares, and the variance of each: that of nothing, and how it grows with the share."""

    inverted: FloatArray
    least: float
    growth: float

    @classmethod
    def of(cls, evidence: Evidence) -> Shares:
        """Invert k-RR."""
        keep, other = evidence.channel.keep_and_other or (1.0, 0.0)
        scale = evidence.total * (keep - other) ** 2
        least, most = other * (1 - other) / scale, keep * (1 - keep) / scale
        return cls(evidence.channel.unpush(evidence.frequencies), least, most - least)

    @cached_property
    def projected(self) -> FloatArray:
        """The distribution nearest to the inversion."""
        return project(self.inverted)

    @cached_property
    def pooled(self) -> FloatArray:
        """The distribution nearest to the posterior means."""
        return project(self._pool(self.inverted))

    @cached_property
    def trust(self) -> float:
        """How far to go from the projection to the pooled shares, by an unbiased estimate of the squared error."""
        away = self.pooled - self.projected
        length = float(away @ away)
        if length < FAINT:
            return 0.0
        gain = (self.inverted - self.projected) @ away + self._slope_of_projection - self._slope_of_pooling
        return float(np.clip(CAUTION * gain / length, 0.0, 1.0))

    @cached_property
    def _slope_of_projection(self) -> float:
        """Trace of V times its slope: it takes the mean off the shares that stay positive."""
        variances = self._variances
        kept = variances[self.projected > 0]
        total, all_of_them = float(kept.sum()), float(variances.sum())
        return total - float(kept @ kept) / all_of_them - (total - total**2 / all_of_them) / kept.size

    @property
    def _slope_of_pooling(self) -> float:
        """Trace of V times its slope, by random moves with the covariance V, up and down."""
        return float(np.mean([move @ self._pool(self.inverted + MOVE * move) / MOVE for move in self._moves()]))

    def _moves(self) -> Iterator[FloatArray]:
        generator, variances = np.random.default_rng(0), self._variances
        for _ in range(min(MOVES, max(1, MOVED_SHARES // variances.size))):
            move = np.sqrt(variances) * generator.choice([-1.0, 1.0], variances.size)
            move -= float(move.sum()) * variances / float(variances.sum())
            yield from (move, -move)

    @cached_property
    def _variances(self) -> FloatArray:
        return self.least + self.growth * np.clip(self.inverted, 0.0, 1.0)

    @cached_property
    def _atoms(self) -> FloatArray:
        """Shares that G may be made of: even steps in standard errors s, where share = s sqrt(least) + growth s^2/4."""
        root = float(np.sqrt(self.least))
        places = 2 * np.clip(self.inverted, 0.0, 1.0) / (np.sqrt(self._variances) + root)
        steps = FINE * np.unique(np.maximum(np.floor(places / FINE)[:, None] + REACH, 0.0))
        return np.unique(np.minimum(steps * root + self.growth * steps**2 / 4, 1.0))

    def _pool(self, shares: FloatArray) -> FloatArray:
        """Return the posterior means of shares that may have moved."""
        spreads = self.least + self.growth * self._atoms
        logs = -((shares[:, None] - self._atoms) ** 2) / (2 * spreads) - np.log(spreads) / 2
        densities = np.exp(logs - logs.max(axis=1, keepdims=True))
        # G is a distribution seen through a channel: atoms are its values, and each share is an output seen once.
        rows = RowStack.of_shares(Dense(densities.T), np.ones((1, shares.size)))
        posterior = densities * take_steps(rows, uniform(self._atoms.size), STEPS, normalised).theta[0]
        means: FloatArray = posterior @ self._atoms / np.maximum(posterior.sum(axis=1), FAINT)
        return means

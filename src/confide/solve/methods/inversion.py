"""Closed forms: inversion of the channel or of bits, and pooling.

Pooling: inversion gives every share an unbiased estimate with a known variance, about least + growth * share. The
shares are taken to be drawn from a distribution G, which a few steps of EM find from the estimates themselves, and each
share becomes its posterior mean (empirical Bayes). That helps where many categories are alike, as in sparse, flat or
stepped populations, and hurts a little where none are.

How much it helps, Stein's identity says without knowing the truth. With x the inversion, P its projection, m the
posterior means and d = m - P, the error of P + a d has the expectation

    |P - truth|^2 + 2 a ((P - x) . d + trace(V J)) + a^2 |d|^2,

V being the covariance of x and J the slope of d. The best a is the share of the posterior means.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.evidence.evidence import Evidence
from confide.solve.em import FAINT, Monitor, RowStack, Status, normalised, take_steps, uniform
from confide.solve.methods.base import Method, Solution
from confide.values.checks import check_choice, settle

Repair = Literal["none", "normalize", "project", "norm-sub"]


@dataclass(frozen=True)
class _Repaired(Method):
    """An inverse that need not be a distribution, and its repair."""

    _initials: ClassVar[str]
    _words: ClassVar[str]
    _source: ClassVar[str]

    repair: Repair = "normalize"

    def __post_init__(self) -> None:
        check_choice("repair", self.repair, (*REPAIRS, "norm-sub"))
        if self.repair == "norm-sub":  # Wang et al., NDSS 2020: the same under the field's name
            settle(self, repair="project")

    @property
    def name(self) -> str:
        # With the paper's suffix for the repair.
        return self._initials + {"none": "", "normalize": "-N", "project": "-P"}[self.repair]

    @property
    def full_name(self) -> str:
        adjective = {"none": "raw", "normalize": "normalised", "project": "projected"}[self.repair]
        return f"{self._words.format(adjective)} ({self.name})"

    @abstractmethod
    def _invert(self, evidence: Evidence) -> FloatArray:
        """Return the inverse."""

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        # The explanation counts negative entries.
        raw = self._invert(evidence)
        negative = int((raw < 0).sum())
        words = f"{self._source} gave {negative:,} of {raw.size:,} values a negative probability"
        if negative:
            words += {"none": "", "normalize": ", clipped and rescaled", "project": ", projected away"}[self.repair]
        return Solution(REPAIRS[self.repair](raw), 0, Status.CLOSED_FORM, words)


@dataclass(frozen=True)
class Inversion(_Repaired):
    """Solve w M = q, then repair w into a distribution.

    Reports that support sets of values, such as RAPPOR's, subsets, or buckets of a hash, have a closed form: the share
    of reports that support a value grows linearly with the value's own (Wang et al., USENIX Security 2017).

    Parameters
    ----------
    repair
        ``"normalize"`` clips negative entries and rescales (INV-N), ``"project"`` takes the nearest distribution in
        Euclidean distance (INV-P; ``"norm-sub"``, the field's name, is the same), ``"none"`` returns w itself, which
        may be negative.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> cf.estimate(counts, mechanism, cf.Inversion("project")).distribution.round(3)
    array([0.716, 0.284])
    """

    _initials, _words, _source = "INV", "{} matrix inversion", "the inverse matrix"

    def _invert(self, evidence: Evidence) -> FloatArray:
        """Return what explains the frequencies of the outputs."""
        return evidence.channel.unpush(evidence.frequencies)


@dataclass(frozen=True)
class BitInversion(_Repaired):
    """Estimate each share from its bit, then repair the vector.

    This is RAPPOR's own estimator, for any :class:`UnaryEncoding`. A bit is 1 with probability p for those who have the
    value, and q for the others. So the estimated share is (frequency - q) / (p - q). Under RAPPOR, q is 1 - p.

    Parameters
    ----------
    repair
        ``"normalize"`` clips and rescales the whole vector (RAP-N), ``"project"`` takes the nearest distribution
        (RAP-P; ``"norm-sub"`` is the same), ``"none"`` returns the vector as it is.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.Rappor(cf.Categories(["a", "b"]), epsilon=4.0)
    >>> counts = cf.tally(mechanism.privatize(["a"] * 900 + ["b"] * 100, rng=1))
    >>> cf.estimate(counts, mechanism, cf.solve.methods.BitInversion("project")).distribution.round(1)
    array([0.9, 0.1])
    """

    _initials, _words, _source = "RAP", "RAPPOR's {} estimator", "inverting each bit"

    def _invert(self, evidence: Evidence) -> FloatArray:
        """Return what explains the frequencies of the outputs."""
        return evidence.channel.unbit(evidence.frequencies)


def normalize(vector: FloatArray) -> FloatArray:
    """Clip negative entries to zero and rescale to sum one.

    >>> normalize(np.array([0.75, 0.5, -0.25]))
    array([0.6, 0.4, 0. ])
    """
    clipped = np.maximum(vector, 0.0)
    return clipped / float(clipped.sum())


def project(vector: FloatArray) -> FloatArray:
    """Return the distribution nearest to the vector in Euclidean distance.

    The nearest point is max(0, v - t) for the one t that makes it sum to one; sorting finds which entries stay
    positive (Wang and Carreira-Perpinan, 2013).

    >>> project(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    """
    descending: FloatArray = np.sort(vector)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, vector.size + 1)
    positive = int(np.flatnonzero(descending > shifts)[-1])
    projected: FloatArray = np.maximum(vector - shifts[positive], 0.0)
    # The subtraction cancels when entries are large, as raw inversions are; the sum is put right at the end.
    return projected / float(projected.sum())


REPAIRS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": lambda vector: vector,
    "normalize": normalize,
    "project": project,
}


STEPS = 5
"""Steps of EM towards G: with many more, shares that are merely near each other are taken for the same."""

FINE, REACH = 0.5, np.arange(-6, 8)
"""Standard errors from one atom of G to the next, and which atoms around each share there are."""

MOVES, MOVED_SHARES = 8, 800
"""Pairs of random moves at most, and how many shares they move together: the more there are, the fewer it takes."""


@dataclass(frozen=True)
class Pooled(Method):
    """Empirical Bayes mean of each share, from the reports that support it."""

    name = "pooled"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (few steps)
        words = f"shares of about the same size are pooled, by {STEPS} steps of EM"
        return Solution(Shares.of(evidence).pooled, STEPS, Status.AVERAGED, words)


@dataclass(frozen=True, eq=False)
class Shares:
    """Unbiased estimates of the shares, with their variances."""

    inverted: FloatArray
    least: float
    growth: float

    @classmethod
    def of(cls, evidence: Evidence) -> Shares:
        """Invert the number of reports that support each value."""
        keep, other = evidence.channel.support_rates or (1.0, 0.0)
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
        """Weight of the pooled shares, by an unbiased risk estimate."""
        away = self.pooled - self.projected
        length = float(away @ away)
        if length < FAINT:
            return 0.0
        gain = (self.inverted - self.projected) @ away + self._slope_of_projection - self._slope_of_pooling
        # Part of the best share that is taken, for the estimate of it scatters: chance must not pool what is unlike.
        return float(np.clip(0.8 * gain / length, 0.0, 1.0))

    @cached_property
    def _slope_of_projection(self) -> float:
        """Trace of V times the slope of the projection."""
        variances = self._variances
        kept = variances[self.projected > 0]
        total, all_of_them = float(kept.sum()), float(variances.sum())
        return total - float(kept @ kept) / all_of_them - (total - total**2 / all_of_them) / kept.size

    @property
    def _slope_of_pooling(self) -> float:
        """Trace of V times the slope of pooling, by random perturbations."""
        generator, variances, moves = np.random.default_rng(0), self._variances, []
        for _ in range(min(MOVES, max(1, MOVED_SHARES // variances.size))):
            move = np.sqrt(variances) * generator.choice([-1.0, 1.0], variances.size)
            move -= float(move.sum()) * variances / float(variances.sum())
            moves += [move, -move]
        # Moved by fewer than so many standard errors, a share would seem to stay at its atom.
        far = 0.7
        return float(np.mean([move @ self._pool(self.inverted + far * move) / far for move in moves]))

    @cached_property
    def _variances(self) -> FloatArray:
        return self.least + self.growth * np.clip(self.inverted, 0.0, 1.0)

    @cached_property
    def _atoms(self) -> FloatArray:
        """Grid of shares for the prior, even in standard errors."""
        root = float(np.sqrt(self.least))
        places = 2 * np.clip(self.inverted, 0.0, 1.0) / (np.sqrt(self._variances) + root)
        steps = FINE * np.unique(np.maximum(np.floor(places / FINE)[:, None] + REACH, 0.0))
        return np.unique(np.clip(steps * root + self.growth * steps**2 / 4, 0.0, 1.0))

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

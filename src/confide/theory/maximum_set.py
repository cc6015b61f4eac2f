"""The set of maximum-likelihood estimates: lowest and highest probability of every value, and of any query.

At a maximum the fitted probabilities mu of the reports seen are unique, for the likelihood is strictly concave in them.
So the maximum-likelihood estimates are the polytope {theta >= 0, sum 1, theta G = mu}. Values whose gain
g_x = sum_z q_z G_xz / mu_z is below 1 are zero in all of them (complementary slackness), so only the others are kept.
From one certified maximum all others are reached along directions d with d G = 0 and d 1 = 0; how far, linear programs
say (HiGHS). Directions rather than the equations themselves, because a solver meets equations to 1e-7 only.

>>> from confide import Categories, FromMatrix, tally
>>> mechanism = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> best = maximum_set(mechanism, tally([2, 2, 2, 2, 1, 3]))
>>> best.lowest.round(4), best.highest.round(4)
(array([0.    , 0.7083, 0.    ]), array([0.2917, 0.7083, 0.2917]))
>>> best.bounds([1, 0, 1]).round(4)
array([0.2917, 0.2917])
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import Alphabet, Indices
from confide.channels.base import FloatArray
from confide.checks import as_distribution, read_only
from confide.counts import Counts
from confide.errors import InvalidParameterError, SolverError
from confide.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.methods import MLE
from confide.queries import Query, as_weights
from confide.theory.flat_directions import DUST, FlatDirections, flat_directions, is_trusted, without_dust
from confide.theory.likely_subsets import LikelySubset
from confide.theory.spectra import LARGEST_DENSE, LARGEST_MATRIX, PROBES, Spectrum

PROVEN = 2e-15
"""Certificate that is asked of the maximum, in nats per report: a few times what float64 resolves."""

TIME_LIMIT = 20.0
"""Seconds that the maximum may take; what is left of its certificate then counts against the precision."""

FEASIBILITY = (1e-10, 1e-7)
"""Amounts by which HiGHS may violate a constraint; the second, its default, where it gives up on the first."""

FEW_PROGRAMS = 160
"""Free values up to which the bounds of all of them are asked for unbidden: a program of that size takes 20 ms."""

CLEARANCE = 1e-9
"""By how much a probability must exceed what it may be off, in its own unit, to be positive for sure."""


@dataclass(frozen=True, eq=False)
class MaximumSet:
    """The set of maximum-likelihood estimates.

    Attributes
    ----------
    alphabet
        The values.
    point
        One of them, certified.
    certificate
        No distribution has a log-likelihood higher than the point's by more than this many nats.
    free
        The numbers of the values that may be positive in some of them; all others are zero in all.
    flat
        The directions over the free values along which the likelihood does not change, and how far the point may be
        off along all others.
    """

    alphabet: Alphabet
    point: FloatArray
    certificate: float
    free: Indices
    flat: FlatDirections

    @property
    def dimension(self) -> int:
        """Number of independent directions; 0 where the estimate is unique."""
        return self.flat.dimension

    @property
    def spectrum(self) -> Spectrum:
        """The singular values behind the directions."""
        return self.flat.spectrum

    @property
    def is_settled(self) -> bool:
        """Whether the directions are beyond doubt; if not, there may be fewer."""
        return self.flat.is_settled

    @cached_property
    def is_exact(self) -> bool:
        """Whether all ranges are those of the set itself; if not, they are outer bounds, which it may not fill."""
        return self.dimension == 0 or (self.is_settled and self.has_inner_point())

    @property
    def precision(self) -> float:
        """Bound on the error of a probability of the point, its flat directions aside, by the certificate."""
        return float((self.flat.error * self.flat.scale).max())

    @cached_property
    def lowest(self) -> FloatArray:
        """The lowest probability of each value among all maximum-likelihood estimates."""
        return self._ends[0]

    @cached_property
    def highest(self) -> FloatArray:
        """The highest probability of each value among all maximum-likelihood estimates."""
        return self._ends[1]

    @property
    def is_small(self) -> bool:
        """Whether the bounds of all values take seconds rather than minutes."""
        return self.dimension == 0 or self.free.size <= FEW_PROGRAMS

    @cached_property
    def spread(self) -> float:
        """Distance that a probability moves at the least between two of them, by a few random directions.

        A set that is more than a point has different ends along almost every direction, so a few tell; asking for
        every value would take two programs each. In a large set one walks from the point instead, both ways.
        """
        if self.dimension == 0:
            return 0.0
        weights = np.random.default_rng(0).standard_normal((PROBES, self.alphabet.size))
        if not self.is_small:
            return max(self._walk(self.flat.basis @ one[self.free]) for one in weights)
        return max(float(np.abs(self.furthest(one) - self.furthest(-one)).max()) for one in weights)

    def bounds(self, query: Query, name: str | None = None) -> FloatArray:
        """Return the lowest and the highest answer to a query among all maximum-likelihood estimates.

        Parameters
        ----------
        query
            A text such as ``"age >= 65"``, a function of a value, or one weight for each value.
        name
            What a value is called in the text; any name if left out.
        """
        weights = as_weights(query, self.alphabet, name)
        slack = float(np.abs(weights[self.free]) @ self._slack)
        low = float(weights @ self._corner(-weights)) - slack
        high = float(weights @ self._corner(weights)) + slack
        return np.clip(sorted((low, high)), float(weights.min()), float(weights.max()))

    def furthest(self, weights: ArrayLike) -> FloatArray:
        """Return the maximum-likelihood estimate with the largest weighted sum."""
        moved = np.maximum(self._corner(np.asarray(weights, dtype=np.float64)), 0.0)
        return moved / float(moved.sum())

    def contains(self, distribution: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Whether a distribution is one of them: it differs from the point along the directions alone.

        The tolerance is absolute: probabilities may differ by so much, and so may those that are smaller than it.
        """
        known = as_distribution(distribution, self.alphabet.size, "distribution")
        difference = known - self.point
        moves = (self.flat.basis * self.flat.scale).T
        steps = np.linalg.lstsq(moves, difference[self.free], rcond=None)[0]
        difference[self.free] -= moves @ steps
        return float(np.abs(difference).max()) <= tolerance

    def has_inner_point(self) -> bool:
        """Whether all free values are positive for sure in some maximum-likelihood estimate.

        A point is sought that exceeds twice what it may be off everywhere: then the best explanation next to it is
        positive everywhere, and can be moved along any flat direction, there and back.
        """
        if self.dimension == 0 or not np.isfinite(self.flat.error).all():
            return False
        needed = 2 * self.flat.error + CLEARANCE
        if (self._inside > needed).all():
            return True
        lift = np.vstack([self.flat.basis, -np.ones(self.free.size)])
        steps = _solve(_unit(self.dimension, self.dimension + 1), lift, self._inside - needed, most=1.0)[:-1]
        return bool((self._inside + steps @ self.flat.basis > needed).all())

    def least_share(self, values: Indices) -> float:
        """Return what some free values have together at the least, in the unit of the largest; below 0 if unknown.

        Parameters
        ----------
        values
            Their places among the free values.
        """
        if not np.isfinite(self.flat.error).all():
            return -math.inf
        weights = np.zeros(self.free.size)
        weights[values] = self.flat.scale[values] / float(self.flat.scale[values].max())
        slack = float(weights @ self.flat.error)
        steps = _solve(-self.flat.basis @ weights, self.flat.basis, self._inside + self.flat.error)
        return float((self._inside + steps @ self.flat.basis) @ weights) - slack

    def on_the_whole_of(self, subset: LikelySubset) -> MaximumSet:
        """Return the same over the whole alphabet, of which only a likely part was looked at."""
        point = read_only(subset.spread(self.point))
        return replace(self, alphabet=subset.whole, point=point, free=subset.places[self.free])

    @property
    def _inside(self) -> FloatArray:
        """The point over the free values, each in its unit."""
        inside: FloatArray = self.point[self.free] / self.flat.scale
        return inside

    @property
    def _slack(self) -> FloatArray:
        """By how much each free value may fall below zero, or lie beyond a corner, where ranges are outer bounds."""
        if self.is_exact:
            return np.zeros(self.free.size)
        return np.minimum(self.flat.error * self.flat.scale, 1.0)

    def _walk(self, along: FloatArray) -> float:
        """Return how far the largest move of a value is on a straight line from the point, both ways."""
        direction = along @ self.flat.basis
        steps = self._inside / np.maximum(np.abs(direction), np.finfo(np.float64).tiny)
        length = sum(float(steps[one].min(initial=np.inf)) for one in (direction < 0, direction > 0))
        return length * float(np.abs(direction * self.flat.scale).max())

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Ask for the highest of each value first: the corners that are found on the way settle most of the lowest."""
        low, high, slack = self.point.copy(), self.point.copy(), np.zeros(self.point.size)
        slack[self.free] = self._slack
        moving = self.free[np.abs(self.flat.basis).max(axis=0, initial=0.0) > 0]
        for sign in (1.0, -1.0):
            for value in moving.tolist():
                if sign > 0 or low[value] > 0:
                    corner = self._corner(sign * _unit(value, low.size))
                    low, high = np.minimum(low, corner - slack), np.maximum(high, corner + slack)
        return read_only(np.clip(low, 0.0, 1.0)), read_only(np.clip(high, 0.0, 1.0))

    def _corner(self, weights: FloatArray) -> FloatArray:
        """Return the point of the set, or of the wider one that surely holds it, with the largest weighted sum."""
        objective = weights[self.free] * self.flat.scale
        largest = float(np.abs(objective).max(initial=0.0))
        along = without_dust(self.flat.basis @ (objective / largest)) if largest > 0 else np.zeros(self.dimension)
        size = float(np.abs(along).max(initial=0.0))
        if size <= DUST:
            return self.point
        steps = _solve(along / size, self.flat.basis, self._inside + self._slack / self.flat.scale)
        moved = self.point.copy()
        moved[self.free] = without_dust(self._inside + steps @ self.flat.basis) * self.flat.scale
        return moved


def _solve(along: FloatArray, directions: FloatArray, room: FloatArray, most: float | None = None) -> FloatArray:
    """Return how far to go along each direction so that no probability falls below zero, the last at most so far."""
    from scipy.optimize import linprog

    limits: list[tuple[float | None, float | None]] = [(None, None)] * (along.size - 1) + [(None, most)]
    for tolerance in FEASIBILITY:
        answer = linprog(
            -along,
            A_ub=-directions.T,
            b_ub=room,
            bounds=limits,
            method="highs",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if answer.status == 0:
            return np.asarray(answer.x, dtype=np.float64)
    raise SolverError(
        f"HiGHS did not solve a linear program over the maximum-likelihood estimates ({answer.message.split('.')[0]}); "
        f"no value is given."
    )


def _unit(value: int, size: int) -> FloatArray:
    vector = np.zeros(size)
    vector[value] = 1.0
    return vector


def maximum_set(mechanism: Mechanism, counts: Counts) -> MaximumSet:
    """Return all maximum-likelihood estimates for these reports."""
    return maximum_set_of(mechanism.observe(counts), mechanism.alphabet)


def maximum_set_of(evidence: Evidence, alphabet: Alphabet) -> MaximumSet:
    """Return the same from counts that were laid against the channel already."""
    tolerance = max(PROVEN * evidence.total, 2 * evidence.resolution)
    found = MLE(tolerance=tolerance, time_limit=TIME_LIMIT).solve(evidence).distribution
    seen = np.flatnonzero(evidence.counts > 0)
    free, rows = _free_values(evidence, found, seen)
    point = _keep_only(found, free)
    certificate = evidence.certificate(point)
    fitted, shares = evidence.channel.push(point)[seen], evidence.frequencies[seen]
    flat = flat_directions(rows, fitted, shares, certificate / evidence.total, evidence.channel.rounding)
    return MaximumSet(alphabet, read_only(point), certificate, free, flat)


def _free_values(evidence: Evidence, point: FloatArray, seen: Indices) -> tuple[Indices, FloatArray]:
    """Return the values that are not proven to be zero in all estimates, and their rows.

    With delta = mu_point / mu - 1, the certificate bounds sum q delta^2 by 4 certificate / n, so by Cauchy and Schwarz
    the true gain is within 2 sqrt(certificate / n) sqrt(sum_z q_z (G_xz / mu_z)^2) of the one computed here.
    """
    outputs = evidence.channel.push(point)
    gain, shares = evidence.gain(outputs), evidence.frequencies[seen]
    gap = evidence.certificate_of(gain) / evidence.total
    chosen = _looked_at(gain, gap, shares)
    rows = evidence.channel.select(chosen)[:, seen]
    if not is_trusted(gap, shares):
        return chosen, rows
    length = np.sqrt(rows**2 @ (shares / outputs[seen] ** 2))
    is_free = gain[chosen] + 2 * math.sqrt(gap) * length + 1e-13 * gain[chosen] >= 1
    return chosen[is_free], rows[is_free]


def _looked_at(gain: FloatArray, gap: float, shares: FloatArray) -> Indices:
    """Return the values whose rows are computed: all while they fit, else those whose gain may be 1.

    As q_z G_xz / mu_z <= g_x, the length in the bound on the error of a gain is at most g_x / sqrt(min q).
    """
    if _fits(gain.size, shares.size):
        return np.arange(gain.size)
    error = 2 * math.sqrt(gap / float(shares.min())) if is_trusted(gap, shares) else math.inf
    near = np.flatnonzero(gain * (1 + error + 1e-13) >= 1)
    if not _fits(near.size, shares.size):
        raise InvalidParameterError(
            f"After {TIME_LIMIT:g} seconds of search {near.size:,} values may still be positive in a best explanation "
            f"of {shares.size:,} distinct reports, too many to look at all. Ask on a smaller alphabet."
        )
    return near


def _keep_only(found: FloatArray, free: Indices) -> FloatArray:
    """Return a distribution without the dust that a solver leaves on values that are zero in every estimate."""
    point = np.zeros_like(found)
    point[free] = found[free]
    return point / float(point.sum())


def _fits(values: int, reports: int) -> bool:
    return values <= LARGEST_DENSE and values * reports <= LARGEST_MATRIX

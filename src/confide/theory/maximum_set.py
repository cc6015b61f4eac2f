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

from confide.channels.base import FloatArray, Indices
from confide.channels.dense import GIVEN, Dense
from confide.errors import InvalidParameterError, SolverError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.solve.methods import MLE
from confide.theory.likely_subsets import LikelySubset
from confide.theory.spectra import LIMITS, ROUNDING, Spectrum, find_classes, left_vectors
from confide.values import Alphabet
from confide.values.checks import as_distribution, read_only
from confide.values.queries import Query, as_weights

DUST = 1e-12
"""Coefficients of a direction that are rounding; left in, they make linear programs degenerate."""


LEAST_ERROR = 1e-14
"""No probability is known better than this, in its own unit."""


@dataclass(frozen=True, eq=False)
class FlatDirections:
    """The directions d with d G = 0 and d 1 = 0, over some values.

    Attributes
    ----------
    basis
        Orthonormal, one row a direction, each value in its unit.
    scale
        The units: the most probability that each value can have, to a factor of two.
    error
        How far each value of the point may be off from some best explanation, its flat directions aside, in its unit.
    spectrum
        The singular values behind it.
    twins
        Values that no report seen tells apart, class by class, by their places.
    """

    basis: FloatArray
    scale: FloatArray
    error: FloatArray
    spectrum: Spectrum
    twins: tuple[Indices, ...] = ()


def flat_directions(
    rows: FloatArray, fitted: FloatArray, shares: FloatArray, gap: float, digits: float = GIVEN
) -> FlatDirections:
    """Find all directions over these values that change no report that was seen.

    A best explanation theta is known by theta G = mu and theta 1 = 1. A report that is rare among very many has a tiny
    mu, and the values that explain it tiny probabilities, which absolute comparisons would take for rounding. So
    everything is in units of its own: a value x in units of the most that it can have, min_z mu_z / G_xz, and each
    report in units of mu_z. Units are powers of two, which change no digit of the entries.

    >>> rows, fitted = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1 - 1e-9, 1e-9])
    >>> flat = flat_directions(rows, fitted, shares=fitted, gap=4e-16)
    >>> flat.basis.round(3) + 0.0, flat.scale
    (array([[ 0.   , -0.707,  0.707]]), array([1.00000000e+00, 9.31322575e-10, 9.31322575e-10]))

    Parameters
    ----------
    rows
        P(report | value), for each value and each report that was seen.
    fitted
        The probability of each of these reports by the point.
    shares
        The share of each among all reports.
    gap
        By how much the mean log-likelihood of the point may be below the maximum, in nats.
    digits
        The share of itself to which a probability is known.
    """
    reports = _powers_of_two(1 / fitted)
    scale = _powers_of_two(1 / np.maximum((rows / fitted).max(axis=1), 1.0))
    equations = np.column_stack([rows * reports * scale[:, None], scale])
    equations /= _powers_of_two(np.linalg.norm(equations, axis=0))
    vectors, spectrum = left_vectors(equations, digits)
    # Along what is not clearly above rounding the likelihood does not change in any digit that float64 holds.
    kept = int((spectrum.singular_values > spectrum.clear).sum())
    error = np.full(scale.size, np.inf)
    if is_trusted(gap, shares):
        error = _error(vectors[:, :kept], rows * scale[:, None] * (np.sqrt(shares) / fitted), scale, gap)
    basis = without_dust(np.ascontiguousarray(vectors[:, kept:].T))
    classes = find_classes(Dense(rows)) if basis.size else []
    twins = tuple(members for members in classes if members.size > 1)
    return FlatDirections(read_only(basis), read_only(scale), read_only(error), spectrum, twins)


def is_trusted(gap: float, shares: FloatArray) -> bool:
    """Whether a gap to the maximum is small enough to bound how far fitted probabilities are off.

    With v = mu / mu_point, where sum q / v <= 1, the gap bounds sum q (1/v - 1 + log v). Each term is at least
    (v - 1)^2 / 4, and (1/v - 1)^2 / 4, while v is between 2/3 and 3/2; and it is, while no term can exceed 0.07. So
    sum q (v - 1)^2 <= 4 gap.
    """
    # 0.07: the gap to the maximum may be this part of the rarest report's share; see is_trusted.
    return gap <= 0.07 * float(shares.min())


def without_dust(vectors: FloatArray) -> FloatArray:
    """Return numbers of the order of one with those that are rounding set to zero."""
    return np.where(np.abs(vectors) > DUST, vectors, 0.0)


def _powers_of_two(numbers: FloatArray) -> FloatArray:
    """Return the nearest powers of two: to multiply by them rounds nothing."""
    return np.exp2(np.round(np.log2(numbers)))


def _error(kept: FloatArray, weighted: FloatArray, scale: FloatArray, gap: float) -> FloatArray:
    """Return how far each value may be off along the directions that do change reports.

    What the point lacks is e = kept g with e 1 = 0, and |e G sqrt(q) / mu| <= 2 sqrt(gap). So g ranges over an
    ellipsoid, whose width is sought along each value.
    """
    from scipy.linalg import solve_triangular

    around_ones, _ = np.linalg.qr((kept.T @ scale)[:, None], mode="complete")
    moves = kept @ around_ones[:, 1:]
    if moves.shape[1] == 0:
        return np.full(scale.size, LEAST_ERROR)
    factor = np.linalg.qr((moves.T @ weighted).T, mode="r")
    if float(np.abs(np.diag(factor)).min()) <= 1e3 * ROUNDING * float(weighted.max()):
        return np.full(scale.size, np.inf)
    widths = np.linalg.norm(solve_triangular(factor, moves.T, trans="T"), axis=0)
    return np.asarray(2 * math.sqrt(gap) * widths + LEAST_ERROR)


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
        return int(self.flat.basis.shape[0])

    @property
    def spectrum(self) -> Spectrum:
        """The singular values behind the directions."""
        return self.flat.spectrum

    @property
    def is_settled(self) -> bool:
        """Whether the directions are beyond doubt; if not, there may be fewer."""
        return self.flat.spectrum.is_sharp

    @cached_property
    def is_exact(self) -> bool:
        """Whether all ranges are those of the set itself; if not, they are outer bounds, which it may not fill.

        They are where all free values are positive for sure in some maximum-likelihood estimate. A point is sought
        that exceeds twice what it may be off everywhere: then the best explanation next to it is positive everywhere,
        and can be moved along any flat direction, there and back.
        """
        if self.dimension == 0 or not self.is_settled:
            return self.dimension == 0
        if not np.isfinite(self.flat.error).all():
            return False
        # 1e-9: by how much a probability must exceed what it may be off, in its own unit, to be positive for sure.
        needed = 2 * self.flat.error + 1e-9
        if (self._inside > needed).all():
            return True
        lift = np.vstack([self.flat.basis, -np.ones(self.free.size)])
        steps = _solve(_unit(self.dimension, self.dimension + 1), lift, self._inside - needed, most=1.0)[:-1]
        return bool((self._inside + steps @ self.flat.basis > needed).all())

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
        # 160: free values up to which the bounds of all of them are asked for unbidden: a program of that size takes 20
        # ms.
        return self.dimension == 0 or self.free.size <= 160

    @cached_property
    def spread(self) -> float:
        """Distance that a probability moves at the least between two of them, by a few random directions.

        A set that is more than a point has different ends along almost every direction, so a few tell; asking for
        every value would take two programs each. In a large set one walks from the point instead, both ways.
        """
        if self.dimension == 0:
            return 0.0
        weights = np.random.default_rng(0).standard_normal((LIMITS.probes, self.alphabet.size))
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
    # (1e-10, 1e-7): amounts by which HiGHS may violate a constraint; the second, its default, where it gives up on the
    # first.
    for tolerance in (1e-10, 1e-7):
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
    # 2e-15: nats per report that are asked of the maximum's certificate, a few times what float64 resolves.
    tolerance = max(2e-15 * evidence.total, 2 * evidence.resolution)
    found = MLE(tolerance=tolerance, time_limit=LIMITS.seconds).solve(evidence).distribution
    seen = np.flatnonzero(evidence.counts > 0)
    outputs, shares = evidence.channel.push(found), evidence.frequencies[seen]
    gain = evidence.gain(outputs)
    gap = evidence.certificate_of(gain) / evidence.total
    free = _looked_at(gain, gap, shares)
    rows = evidence.channel.select(free)[:, seen]
    if is_trusted(gap, shares):
        # Some are proven to be zero in all estimates. With delta = mu_point / mu - 1, the certificate bounds
        # sum q delta^2 by 4 certificate / n, so by Cauchy and Schwarz the true gain is within
        # 2 sqrt(certificate / n) sqrt(sum_z q_z (G_xz / mu_z)^2) of the one computed here.
        length = np.sqrt(rows**2 @ (shares / outputs[seen] ** 2))
        is_free = gain[free] + 2 * math.sqrt(gap) * length + 1e-13 * gain[free] >= 1
        free, rows = free[is_free], rows[is_free]
    # Without the dust that a solver leaves on values that are zero in every estimate.
    point = np.zeros_like(found)
    point[free] = found[free]
    point /= float(point.sum())
    certificate = evidence.certificate(point)
    fitted = evidence.channel.push(point)[seen]
    flat = flat_directions(rows, fitted, shares, certificate / evidence.total, evidence.channel.rounding)
    return MaximumSet(alphabet, read_only(point), certificate, free, flat)


def _looked_at(gain: FloatArray, gap: float, shares: FloatArray) -> Indices:
    """Return the values whose rows are computed: all while they fit, else those whose gain may be 1.

    As q_z G_xz / mu_z <= g_x, the length in the bound on the error of a gain is at most g_x / sqrt(min q).
    """
    most = min(LIMITS.dense, LIMITS.matrix // shares.size)
    if gain.size <= most:
        return np.arange(gain.size)
    error = 2 * math.sqrt(gap / float(shares.min())) if is_trusted(gap, shares) else math.inf
    near = np.flatnonzero(gain * (1 + error + 1e-13) >= 1)
    if near.size > most:
        raise InvalidParameterError(
            f"After {LIMITS.seconds:g} seconds of search {near.size:,} values may still be positive in a best "
            f"explanation of {shares.size:,} distinct reports, too many to look at all. Ask on a smaller alphabet."
        )
    return near

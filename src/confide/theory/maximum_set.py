"""All distributions that explain the reports best: lowest and highest probability of every value, and of any query.

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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import Alphabet, Indices
from confide.channels.base import FloatArray
from confide.checks import as_distribution, read_only
from confide.errors import InvalidParameterError, SolverError
from confide.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.methods import MLE
from confide.queries import Query, as_weights
from confide.reports import Counts
from confide.theory.spectra import LARGEST_DENSE, LARGEST_MATRIX, Spectrum, left_vectors
from confide.theory.verdicts import Verdict

PROVEN = 2e-15
"""Certificate that is asked of the maximum, in nats per report: a few times what float64 resolves."""

TIME_LIMIT = 120.0
"""Seconds that the maximum may take; what is left of its certificate then counts against the precision."""

NEARLY = 1e-3
"""Where the rows of all values do not fit, only those with a gain above 1 less this are looked at."""

FEASIBILITY = (1e-10, 1e-7)
"""How far HiGHS may violate a constraint; the second, its default, where it gives up on the first."""

DUST = 1e-12
"""Coefficients of a direction that are rounding; left in, they make programs degenerate."""

FEW_PROGRAMS = 160
"""Free values up to which the bounds of all of them are asked for unbidden: a program of that size takes 20 ms."""

PROBES = 3

HELD = 1e-7
"""A probability moves if it does so by more than this, and more than the maximum itself may be off."""


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
    directions
        An orthonormal basis, one row a direction over the free values, along which the likelihood does not change.
    spectrum
        The singular values behind that basis.
    precision
        How far the probabilities of the point may be off, by the certificate.
    """

    alphabet: Alphabet
    point: FloatArray
    certificate: float
    free: Indices
    directions: FloatArray
    spectrum: Spectrum
    precision: float

    @property
    def dimension(self) -> int:
        """How many independent directions there are; 0 where the estimate is unique."""
        return int(self.directions.shape[0])

    @property
    def is_settled(self) -> bool:
        """Whether the directions are beyond doubt: no singular value stands near rounding."""
        return self.spectrum.independence is not Verdict.TOO_CLOSE

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
        """How far a probability moves between the ends of the set along a few random directions.

        A set that is more than a point has different ends along almost every direction, so a few tell; asking for
        every value would take two programs each.
        """
        weights = np.random.default_rng(0).standard_normal((PROBES, self.alphabet.size))
        ends = [self.furthest(one) - self.furthest(-one) for one in weights] if self.dimension else [np.zeros(1)]
        return max(float(np.abs(difference).max()) for difference in ends)

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
        low, high = (float(weights @ self.furthest(sign * weights)) for sign in (-1.0, 1.0))
        return np.array([min(low, high), max(low, high)])

    def furthest(self, weights: ArrayLike) -> FloatArray:
        """Return the maximum-likelihood estimate with the largest weighted sum."""
        objective = np.asarray(weights, dtype=np.float64)
        along = without_dust(self.directions @ objective[self.free])
        size = float(np.abs(along).max(initial=0.0))
        if size <= DUST * float(np.abs(objective).max(initial=0.0)):
            return self.point
        for tolerance in FEASIBILITY:
            steps = _solve(along / size, self.directions, self.point[self.free], tolerance)
            if steps is not None:
                return self._at(steps)
        raise SolverError(
            "HiGHS did not solve a linear program over the maximum-likelihood estimates; no value is given."
        )

    def contains(self, distribution: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Whether a distribution is one of them: it differs from the point along the directions alone."""
        known = as_distribution(distribution, self.alphabet.size, "distribution")
        difference = known - self.point
        inside = difference[self.free]
        inside = inside - (inside @ self.directions.T) @ self.directions
        difference[self.free] = inside
        return float(np.abs(difference).max()) <= tolerance

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Ask for the highest of each value first: the corners that are found on the way settle most of the lowest."""
        low, high = self.point.copy(), self.point.copy()
        moving = self.free[np.abs(self.directions).max(axis=0, initial=0.0) > 0]
        for sign in (1.0, -1.0):
            for value in moving.tolist():
                if sign > 0 or low[value] > 0:
                    corner = self.furthest(sign * _unit(value, low.size))
                    low, high = np.minimum(low, corner), np.maximum(high, corner)
        return read_only(low), read_only(high)

    def _at(self, steps: FloatArray) -> FloatArray:
        """Return the point moved along the directions, with what the solver overstepped taken back."""
        moved = self.point.copy()
        moved[self.free] += steps @ self.directions
        moved = np.maximum(moved, 0.0)
        return moved / float(moved.sum())


def _solve(along: FloatArray, directions: FloatArray, room: FloatArray, tolerance: float) -> FloatArray | None:
    """Return how far to go along each direction so that no probability falls below zero; None if HiGHS gives up."""
    from scipy.optimize import linprog

    answer = linprog(
        -along,
        A_ub=-directions.T,
        b_ub=room,
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
    )
    return np.asarray(answer.x, dtype=np.float64) if answer.status == 0 else None


def without_dust(vectors: FloatArray) -> FloatArray:
    """Return numbers of the order of one with those that are rounding set to zero."""
    return np.where(np.abs(vectors) > DUST, vectors, 0.0)


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
    free, ratios = _free_values(evidence, found)
    point = _keep_only(found, free)
    certificate = evidence.certificate(point)
    vectors, spectrum = left_vectors(np.column_stack([ratios, np.ones(free.size)]))
    # Along what is not clearly above rounding the likelihood does not change in any digit that float64 holds.
    kept = int((spectrum.singular_values > spectrum.clear).sum())
    shares = evidence.frequencies[evidence.counts > 0]
    precision = _precision(vectors[:, :kept].T @ (ratios * np.sqrt(shares)), certificate / evidence.total)
    directions = read_only(without_dust(np.ascontiguousarray(vectors[:, kept:].T)))
    return MaximumSet(alphabet, read_only(point), certificate, free, directions, spectrum, precision)


def _free_values(evidence: Evidence, point: FloatArray) -> tuple[Indices, FloatArray]:
    """Return the values that are not proven to be zero in all estimates, and their rows of G / mu.

    With delta = mu_point / mu - 1, the certificate bounds sum q delta^2 by 4 certificate / n, so by Cauchy and Schwarz
    the true gain is within 2 sqrt(certificate / n) sqrt(sum_z q_z (G_xz / mu_z)^2) of the one computed here.
    """
    outputs = evidence.channel.push(point)
    gain = evidence.gain(outputs)
    seen = np.flatnonzero(evidence.counts > 0)
    chosen = _looked_at(gain, seen.size)
    ratios = evidence.channel.select(chosen)[:, seen] / outputs[seen]
    length = np.sqrt((ratios**2) @ evidence.frequencies[seen])
    error = 2 * math.sqrt(evidence.certificate_of(gain) / evidence.total) * length + 1e-13 * gain[chosen]
    is_free = gain[chosen] + error >= 1
    return chosen[is_free], ratios[is_free]


def _looked_at(gain: FloatArray, reports: int) -> Indices:
    """Return the values whose rows are computed: all while they fit, else those that come near to a gain of 1."""
    if _fits(gain.size, reports):
        return np.arange(gain.size)
    near = np.flatnonzero(gain >= 1 - NEARLY)
    if not _fits(near.size, reports):
        raise InvalidParameterError(
            f"The set of maximum-likelihood estimates over {near.size:,} values and {reports:,} distinct reports does "
            f"not fit. Ask on a smaller alphabet."
        )
    return near


def _keep_only(found: FloatArray, free: Indices) -> FloatArray:
    """Return a distribution without the dust that a solver leaves on values that are zero in every estimate."""
    point = np.zeros_like(found)
    point[free] = found[free]
    return point / float(point.sum())


def _precision(weighted: FloatArray, gap: float) -> float:
    """Return how far the point may be from the set, by the weakest direction in which the likelihood does change.

    The certificate bounds the weighted error of mu (see above), and mu moves at least as fast as this singular value.
    """
    weakest = float(np.linalg.svd(weighted, compute_uv=False)[-1]) if weighted.size else 1.0
    return 2 * math.sqrt(gap) / max(weakest, np.finfo(np.float64).tiny)


def _fits(values: int, reports: int) -> bool:
    return values <= LARGEST_DENSE and values * reports <= LARGEST_MATRIX

"""The set of maximum-likelihood estimates: ranges of values and queries.

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

**Strict concavity** of the likelihood for the reports at hand, and the uniqueness of its maximum. Theorem
strictconcavity: the rank of [G 1]. G holds the columns of the reports that were seen, 1 is a column of ones, and rows
of both together must be linearly independent. How often a report was seen does not matter, nor does any scale of a
column. Uniqueness of the maximum is weaker, and decided where strict concavity fails.

>>> from confide import Categories, FromMatrix, Integers, RandomizedResponse, tally
>>> mechanism = RandomizedResponse(Integers(1, 4), epsilon=1.0)
>>> strict_concavity(mechanism, tally([1, 2, 3])).verdict, strict_concavity(mechanism, tally([1, 2])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
>>> twins = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> uniqueness(twins, tally([2, 2, 2, 2])).verdict, uniqueness(twins, tally([2, 2, 2, 2, 1, 3])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels.base import GIVEN, Dense, FloatArray, Indices
from confide.errors import InvalidParameterError, SolverError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.mechanisms.sampling import log_of
from confide.solve.methods import MLE
from confide.theory.identification import Identification, identification
from confide.theory.likely_subsets import LikelySubset
from confide.theory.spectra import LIMITS, ROUNDING, Spectrum, ends_of, find_classes, left_vectors
from confide.theory.verdicts import Finding, Verdict
from confide.values import Alphabet
from confide.values.checks import SUM_TOLERANCE, as_distribution, check_count, read_only
from confide.values.queries import Query, as_weights

DUST = 1e-12
"""Coefficients of a direction that are rounding; left in, they make linear programs degenerate."""


@dataclass(frozen=True, eq=False)
class FlatDirections:
    """Directions d over some values that change neither reports nor total.

    So d G = 0 and d 1 = 0.

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
    """Find all directions over these values that change no seen report.

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
    """Whether a gap is small enough to bound errors of fits.

    With v = mu / mu_point, where sum q / v <= 1, the gap bounds sum q (1/v - 1 + log v). Each term is at least
    (v - 1)^2 / 4, and (1/v - 1)^2 / 4, while v is between 2/3 and 3/2; and it is, while no term can exceed 0.07. So
    sum q (v - 1)^2 <= 4 gap.
    """
    # 0.07: the gap to the maximum may be this part of the rarest report's share; see is_trusted.
    return gap <= 0.07 * float(shares.min())


def without_dust(vectors: FloatArray) -> FloatArray:
    """Return numbers with rounding dust set to zero."""
    return np.where(np.abs(vectors) > DUST, vectors, 0.0)


def _powers_of_two(numbers: FloatArray) -> FloatArray:
    """Return the nearest powers of two: to multiply by them rounds nothing."""
    return np.exp2(np.round(np.log2(numbers)))


def _error(kept: FloatArray, weighted: FloatArray, scale: FloatArray, gap: float) -> FloatArray:
    """Return each value's error along directions that do change reports.

    What the point lacks is e = kept g with e 1 = 0, and |e G sqrt(q) / mu| <= 2 sqrt(gap). So g ranges over an
    ellipsoid, whose width is sought along each value.
    """
    from scipy.linalg import solve_triangular

    least = 1e-14  # no probability is known better than this, in its own unit
    around_ones, _ = np.linalg.qr((kept.T @ scale)[:, None], mode="complete")
    moves = kept @ around_ones[:, 1:]
    if moves.shape[1] == 0:
        return np.full(scale.size, least)
    factor = np.linalg.qr((moves.T @ weighted).T, mode="r")
    if float(np.abs(np.diag(factor)).min()) <= 1e3 * ROUNDING * float(weighted.max()):
        return np.full(scale.size, np.inf)
    widths = np.linalg.norm(solve_triangular(factor, moves.T, trans="T"), axis=0)
    return np.asarray(2 * math.sqrt(gap) * widths + least)


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
    def is_settled(self) -> bool:
        """Whether the directions are beyond doubt; if not, there may be fewer."""
        return self.flat.spectrum.is_sharp

    @cached_property
    def is_exact(self) -> bool:
        """Whether ranges are exact; if not, they are outer bounds.

        They are exact if some maximum-likelihood estimate is certainly positive on all free values: it can then be
        moved along any flat direction, both ways. To prove that, a point is sought that exceeds twice its error bound
        everywhere.
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
        steps = _solve(np.eye(1, self.dimension + 1, self.dimension)[0], lift, self._inside - needed, most=1.0)[:-1]
        return bool((self._inside + steps @ self.flat.basis > needed).all())

    @property
    def precision(self) -> float:
        """Bound on the error of the point, by the certificate.

        Flat directions are left aside.
        """
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
        """Least distance that random directions move a probability.

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
        """Return the range of a query over all maximum-likelihood estimates.

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
        """Whether a distribution is one of the maxima.

        The tolerance is absolute: probabilities may differ by so much, and so may those that are smaller than it.
        """
        known = as_distribution(distribution, self.alphabet.size, "distribution")
        difference = known - self.point
        moves = (self.flat.basis * self.flat.scale).T
        steps = np.linalg.lstsq(moves, difference[self.free], rcond=None)[0]
        difference[self.free] -= moves @ steps
        return float(np.abs(difference).max()) <= tolerance

    def least_share(self, values: Indices) -> float:
        """Return the least joint share of some free values.

        In the unit of the largest; below 0 if unknown.

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
        """Return the set over the whole alphabet, from its likely part."""
        point = read_only(subset.spread(self.point))
        return replace(self, alphabet=subset.whole, point=point, free=subset.places[self.free])

    @property
    def _inside(self) -> FloatArray:
        """The point over the free values, each in its unit."""
        return self.point[self.free] / self.flat.scale

    @property
    def _slack(self) -> FloatArray:
        """Slack below zero of each free value, for outer bounds."""
        if self.is_exact:
            return np.zeros(self.free.size)
        return np.minimum(self.flat.error * self.flat.scale, 1.0)

    def _walk(self, along: FloatArray) -> float:
        """Return how far the largest move goes, both ways."""
        direction = along @ self.flat.basis
        steps = self._inside / np.maximum(np.abs(direction), np.finfo(np.float64).tiny)
        length = sum(float(steps[one].min(initial=np.inf)) for one in (direction < 0, direction > 0))
        return length * float(np.abs(direction * self.flat.scale).max())

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Find ranges, the highest first.

        Corners found on the way settle most of the lowest.
        """
        low, high, slack = self.point.copy(), self.point.copy(), np.zeros(self.point.size)
        slack[self.free] = self._slack
        moving = self.free[np.abs(self.flat.basis).max(axis=0, initial=0.0) > 0]
        for sign in (1.0, -1.0):
            for value in moving.tolist():
                if sign > 0 or low[value] > 0:
                    corner = self._corner(sign * np.eye(1, low.size, value)[0])
                    low, high = np.minimum(low, corner - slack), np.maximum(high, corner + slack)
        return read_only(np.clip(low, 0.0, 1.0)), read_only(np.clip(high, 0.0, 1.0))

    def _corner(self, weights: FloatArray) -> FloatArray:
        """Return the corner of the set with the largest weighted sum.

        Or of a wider set that surely holds it.
        """
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
    """Return the step along each direction that keeps probabilities positive.

    The last step is limited.
    """
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


def maximum_set(mechanism: Mechanism, counts: Counts) -> MaximumSet:
    """Return all maximum-likelihood estimates for these reports."""
    return maximum_set_of(mechanism.observe(counts.independent), mechanism.alphabet)


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
    """Return values whose rows are computed: all, or likely ones.

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


THEOREM = "theorem strictconcavity"


@dataclass(frozen=True)
class Concavity(Finding):
    """Whether the log-likelihood is strictly concave for the reports at hand.

    Attributes
    ----------
    distinct
        How many columns of the channel were seen; reports that say the same of the values share one.
    spectrum
        The singular values of [G 1], where they were needed.
    """

    distinct: int = 0
    spectrum: Spectrum | None = None


def strict_concavity(mechanism: Mechanism, counts: Counts) -> Concavity:
    """Decide whether the log-likelihood of these reports is strictly concave."""
    return concavity_of(mechanism.observe(counts.independent), identification(mechanism))


def concavity_of(evidence: Evidence, known: Identification) -> Concavity:
    """Decide the same from counts that were laid against the channel already."""
    seen = np.flatnonzero(evidence.counts > 0)
    values, distinct = evidence.channel.shape[0], int(seen.size)
    if distinct + 1 < values:
        were = f"{distinct:,} distinct report was" if distinct == 1 else f"{distinct:,} distinct reports were"
        reason = f"Only {were} seen; {values:,} values need {values - 1:,} at the least."
        return Concavity(Verdict.NO, reason, THEOREM, {}, distinct)
    # Where rows sum to one no output is missing, and the columns span all that those of the mechanism do. Reports may
    # have been merged on the way, as those beyond the values are at the border; but only where their columns are
    # proportional, or the likelihood would be another. So the rank is the mechanism's own.
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    is_stochastic = bool(np.abs(sums - 1).max() <= SUM_TOLERANCE)
    if is_stochastic and known.is_yes and evidence.channel.shape[1] == values:
        # An invertible square channel is decided by counting, which needs no rank: its columns are independent and add
        # up to 1, in that one way. So any k - 1 of them and 1 are independent as well.
        every = f"All {values:,} outputs were seen, and their columns are independent."
        but_one = "All outputs but one were seen; their columns and 1, which is the sum of all, are independent."
        told = (every, "corollary strictlyConcave_one_mech") if distinct == values else (but_one, THEOREM)
        return Concavity(Verdict.YES, *told, {}, distinct)
    bits = evidence.channel.bit_vectors
    if bits is not None and binary_rank(bits, values) == values:
        reason = f"The {distinct:,} distinct bit vectors, and ones, have rank {values:,} over the binary field already."
        return Concavity(Verdict.YES, reason, "proposition strictlyConcaverappor, lemma binarymatrix", {}, distinct)
    spectrum, few = None, 4 * values
    if seen.size > 2 * few:  # a few of many columns may be enough for a full rank
        spectrum = _spectrum_with_ones(evidence, seen[:: seen.size // few])
    if spectrum is None or spectrum.independence is not Verdict.YES:
        spectrum = _spectrum_with_ones(evidence, seen)
    measured = _measured(spectrum, distinct)
    return Concavity(spectrum.independence, measured, THEOREM, spectrum.numbers(), distinct, spectrum)


def unbounded_concavity(evidence: Evidence) -> Concavity:
    """Decide the same for unbounded values: never, because reports are finitely many."""
    distinct = int(np.count_nonzero(evidence.counts))
    hold = "distinct report holds" if distinct == 1 else "distinct reports hold"
    reason = f"Values are unbounded, and {distinct:,} {hold} against at most {distinct + 1:,}."
    return Concavity(Verdict.NO, reason, THEOREM, {}, distinct)


def concavity_chance(mechanism: Mechanism, people: int) -> float:
    """Bound from below the chance that bit vectors give strict concavity.

    It is known before any data (proposition strictlyConcaverappor), and zero for fewer people than values. For n
    people the bits of one value are n independent coins, so no vector of n bits has a probability above p^n, where p
    is that of the likelier side of the most biased coin. By then 2^i of them lie in the span of i values before.

    >>> from confide import Integers, Rappor
    >>> round(concavity_chance(Rappor(Integers(1, 10), epsilon=1.0), people=25), 4)
    0.9927
    """
    check_count("people", people, 0)
    size, bits = mechanism.alphabet.size, mechanism.facts.bits
    if people < size:
        return 0.0
    if bits is None:
        raise InvalidParameterError(f"Reports of {mechanism!r} are not known to be one bit for each value.")
    # The largest probability that a bit has either value, exactly: in float64 it may round to 1.
    log_miss = people * log_of(max(max(one, 1 - one) for one in bits))
    return float(np.prod(-np.expm1(np.minimum(log_miss + math.log(2) * np.arange(size), 0.0))))


def people_for_concavity(mechanism: Mechanism, probability: float = 0.99) -> int | None:
    """Return how many people give strict concavity with this probability.

    For mechanisms that report bit vectors.

    None where even `LIMITS.people` are not known to be enough: under a large epsilon hardly any bit is flipped.
    """
    low, high = 0, mechanism.alphabet.size
    while concavity_chance(mechanism, high) < probability:
        low, high = high, 2 * high
        if low >= LIMITS.people:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if concavity_chance(mechanism, middle) >= probability else (middle, high)
    return high


def binary_rank(packed: NDArray[np.uint8], size: int) -> int:
    """Return the binary rank of packed bit vectors, with ones appended.

    A full rank there is a full rank over the reals (lemma binarymatrix), with no rounding in it. A rank that is not
    full says nothing.
    """
    vectors = (int.from_bytes(row.tobytes(), "little") for row in packed)
    basis: dict[int, int] = {}
    for one in itertools.chain([(1 << size) - 1], vectors):
        # Take from a vector what the basis holds already; a basis vector stands by its top bit.
        vector = one
        while vector.bit_length() in basis:
            vector ^= basis[vector.bit_length()]
        if vector:
            basis[vector.bit_length()] = vector
        if len(basis) == size:
            break
    return len(basis)


def _spectrum_with_ones(evidence: Evidence, seen: Indices) -> Spectrum:
    """Return the singular values of [G 1], its columns scaled alike."""
    channel = evidence.channel
    values = channel.shape[0]
    if values <= LIMITS.dense and values * seen.size <= LIMITS.matrix:
        columns = channel.dense()[:, seen]
        scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(np.float64).tiny)
        return Spectrum.of(np.column_stack([scaled, np.full(values, values**-0.5)]), channel.rounding)
    scale = 1.0 / channel.push(np.full(values, values**-0.5))[seen]

    def push(vectors: FloatArray) -> FloatArray:
        ones = vectors.sum(axis=-1, keepdims=True) * values**-0.5
        return np.concatenate([channel.push(vectors)[..., seen] * scale, ones], axis=-1)

    def pull(weights: FloatArray) -> FloatArray:
        full = np.zeros((*weights.shape[:-1], channel.shape[1]))
        full[..., seen] = weights[..., :-1] * scale
        pulled: FloatArray = channel.pull(full) + weights[..., -1:] * values**-0.5
        return pulled

    return ends_of(push, pull, (values, seen.size + 1))


def _measured(spectrum: Spectrum, distinct: int) -> str:
    seen = "the only distinct report" if distinct == 1 else f"the {distinct:,} distinct reports"
    of_it = f"the smallest singular value of [G 1] is {spectrum.smallest:.3g}"
    if spectrum.independence is Verdict.YES:
        some = f"{spectrum.columns - 1:,} of {distinct:,} distinct reports"
        return f"The columns of {some if spectrum.columns <= distinct else seen} and 1 have full rank: {of_it}."
    if spectrum.independence is Verdict.NO:
        return f"The columns of {seen} and 1 have rank {spectrum.rank:,} of {spectrum.rows:,}."
    if not spectrum.is_complete:
        return f"There are too many values to compute all singular values of [G 1]; by iteration, {of_it} or less."
    return f"Double precision cannot tell: {of_it}, neither clearly zero nor clearly not."


def uniqueness(mechanism: Mechanism, counts: Counts) -> Finding:
    """Decide whether these reports have a single maximum-likelihood estimate."""
    concavity = strict_concavity(mechanism, counts)
    return from_concavity(concavity) if concavity.is_yes else uniqueness_of(maximum_set(mechanism, counts))


def from_concavity(concavity: Concavity) -> Finding:
    """Return what strict concavity implies."""
    return Finding(Verdict.YES, f"The likelihood is strictly concave. {concavity.reason}", "proposition uniqueness")


def uniqueness_of(best: MaximumSet) -> Finding:
    """Decide uniqueness from the set of maximum-likelihood estimates.

    Yes only where no direction is left, and no only where two best explanations are there for sure, however close:
    probabilities are compared with what they themselves may be off.
    """
    slackness = "complementary slackness"
    free, zero = best.free.size, best.alphabet.size - best.free.size
    numbers: dict[str, float] = {"values that may be positive": free, "free directions": best.dimension}
    if best.dimension == 0:
        reason = (
            f"{zero:,} of {best.alphabet.size:,} values have probability 0 in every best explanation, and the rows of "
            f"the other {free:,} are linearly independent on the reports seen."
        )
        if free == 1:
            reason = f"All but one of the {best.alphabet.size:,} values have probability 0 in every best explanation."
        elif zero == 0:
            reason = f"The rows of all {free:,} values are linearly independent on the reports seen."
        return Finding(Verdict.YES, reason, slackness, numbers)
    numbers = numbers | {"freedom of a value, at least": best.spread, "precision": best.precision}
    if best.is_exact:
        directions = "one direction" if best.dimension == 1 else f"{best.dimension:,} directions"
        moved = f"between two of them a value's share differs by {100 * best.spread:.3g}%"
        reason = f"The best explanations form a set with {directions}; {moved}."
        return Finding(Verdict.NO, reason, f"{slackness}, linear programs", numbers)
    # Values that no report seen tells apart, and that have a share together in every best explanation. Of classes of
    # the same rows 8 are looked at, those with the largest shares first; a share above 1e-6, in its own unit, is no
    # slack of a linear program.
    inside = best.point[best.free]
    classes = [one for one in best.flat.twins if inside[one].sum() > 0]
    classes.sort(key=lambda one: -float(inside[one].sum()))
    twins = next((best.free[one] for one in classes[:8] if best.least_share(one) > 1e-6), None)
    if twins is not None:
        first, second = (best.alphabet.labels()[value] for value in twins[:2].tolist())
        reason = (
            f"No report seen tells {first} from {second}, and every best explanation gives them a share, which may go "
            f"to either."
        )
        return Finding(Verdict.NO, reason, f"{slackness}, linear programs", numbers)
    some = f"{best.dimension:,} of {free:,} directions"
    hidden = (
        f"In {some} the likelihood changes by no more than double precision resolves, so whether the best explanation "
        f"is unique cannot be told."
    )
    settled = (
        f"{some} change no report, but whether one can be taken without a negative probability depends on digits that "
        f"double precision does not hold."
    )
    return Finding(Verdict.TOO_CLOSE, settled if best.is_settled else hidden, slackness, numbers)

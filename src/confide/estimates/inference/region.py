"""Likelihood region: the distributions with near-maximal likelihood.

By Wilks' theorem, twice the drop of the log-likelihood from its maximum to the best distribution with the true answer
is about chi-squared with one degree of freedom. So the interval of a linear query c is the range of c . theta over
{theta >= 0, sum 1, L(theta) >= L* - chi2 / 2}. It needs no smoothness and no inverse, and it includes the answers of
all maximum-likelihood estimates.

On the boundary of the simplex, where many theta are zero, the theorem is not exact. Noise gives empty values a small
positive share, never a negative one. If the truth has few values, the drop to it has many degrees of freedom. So the
region has a second part, :meth:`Region.few_values` on a line and :meth:`Region.with_fewer_values` elsewhere. All parts
are sets of distributions, so ends are coherent for any query.

The end is found along a path. Let u be the query scaled to [0, 1] and w = 1 + tilt u. The best phi of the channel with
rows M_x / w_x gives theta_t = phi / w, normalised. Its gain g = M (q / y) is at most w / (w . theta_t), and equal to it
where theta_t > 0. As the tilt grows, the answer and the likelihood fall, starting from L*. For every other theta, by
Jensen,

    L(theta) <= L(theta_t) + n log(g . theta) <= L(theta_t) + n log((1 + tilt u . theta) / (1 + tilt u . theta_t)),

so each point of the path proves a lower bound on u . theta for all theta with a high enough likelihood. The bound is
exact where L(theta_t) has fallen by just the allowed amount, and valid everywhere, so the search may stop early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray, Indices, Layout
from confide.evidence.evidence import Evidence
from confide.solve.methods import MLE

TOLERANCE = 1e-5
"""Certificate of each maximum on the path, in nats; the bound accounts for it."""

NOTHING = 1e-12
"""An answer this close to the least weight counts as the least."""

LONG, MOST_FREE = 3000, 3000
"""Size above which a line is long, and most free values near steps before all of it is solved."""

PROVEN = 5e-3
"""Certificate for part of a long line, in nats: it widens an interval of 1.92 nats by a thousandth."""


@dataclass(frozen=True, eq=False)
class Region:
    """The distributions whose log-likelihood is near its maximum.

    Attributes
    ----------
    evidence
        The reports.
    best
        A maximum-likelihood estimate.
    highest_likelihood, certificate
        Its log-likelihood, and an upper bound on its distance from the maximum, in nats.

    Examples
    --------
    >>> from confide.channels import RandomizedResponseChannel
    >>> region = Region.of(Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([60.0, 40.0])))
    >>> lowest([region, region], np.eye(2), 1.92).round(3).tolist()
    [0.505, 0.115]
    """

    evidence: Evidence
    best: FloatArray
    highest_likelihood: float
    certificate: float = TOLERANCE

    @classmethod
    def of(cls, evidence: Evidence) -> Region:
        """Find the maximum-likelihood estimate."""
        return cls.of_all([evidence])[0]

    @classmethod
    def of_all(cls, evidence: Sequence[Evidence]) -> list[Region]:
        """Find the maxima of many, together if they share a channel."""
        best = _maxima(evidence)
        return [
            cls(one, theta, one.log_likelihood(theta), certificate)
            for one, (theta, certificate) in zip(evidence, best, strict=True)
        ]

    @cached_property
    def outputs(self) -> FloatArray:
        """The distribution of outputs at the maximum."""
        return self.evidence.channel.push(self.best)

    @cached_property
    def few_values(self) -> FewValues | None:
        """The distributions on as few values as explain the reports.

        Only on a line; None elsewhere.
        """
        from confide.solve.maximum import LARGEST_TOGETHER

        layout = self.evidence.layout
        is_line = layout is not None and len(layout.shape) == 1 and layout.places is None
        if not is_line or max(self.evidence.channel.shape) > LARGEST_TOGETHER:
            return None
        return FewValues.of(self.evidence, self.best, self.highest_likelihood)

    @cached_property
    def with_fewer_values(self) -> tuple[Region, Indices] | None:
        """The region on as few values as explain the reports.

        It comes with these values. Values are removed from the maximum-likelihood estimate, smallest share first, as
        long as twice the drop stays below the 95% quantile of chi-squared, with as many degrees of freedom as values
        were removed. If only these values had people, Wilks' theorem would be exact. None if no value can be removed,
        if there are too many to try, or on a line, where neighbours are merged instead.
        """
        from scipy.special import chdtri  # here, so that blurring loads no more than numpy

        from confide.solve.maximum import LARGEST_TOGETHER

        values = np.flatnonzero(self.best > NOTHING)
        if max(self.evidence.channel.shape) > LARGEST_TOGETHER or values.size == 1 or self.few_values is not None:
            return None
        found, first, leaving = None, values.size, max(1, values.size // 2)
        shares, reported = self.best[values], self.evidence.counts > 0
        while leaving and values.size > 1:
            some = np.sort(np.argsort(shares, kind="stable")[min(leaving, values.size - 1) :])
            rows = self.evidence.channel.select(values[some])
            allowed = float(chdtri(first - some.size, 0.05)) / 2
            # Skip values that cannot explain all reports.
            can_explain = bool((rows[:, reported] > 0).any(axis=0).all())
            tried = Region.of(replace(self.evidence, channel=Dense(rows), layout=None)) if can_explain else None
            if tried is None or self.highest_likelihood - tried.highest_likelihood > allowed:
                leaving //= 2
                continue
            found = tried, values[some]
            values, shares = values[some], tried.best
        return found

    def lowest_among_few(self, weights: FloatArray, errors: float, people: float = 1.0) -> float:
        """Return the lowest answer of :attr:`few_values`, with a limit.

        Few values correct for the failure of Wilks' theorem. The inverse estimates every query without bias, and its
        interval is valid for every truth, so the lowest answer need not go below it. For the mean this interval is
        nearly as narrow as that of the likelihood; for most shares it is far wider. Shares get no limit, which keeps
        their ends coherent.
        """
        if self.few_values is None:
            return math.inf
        found, channel = self.few_values.lowest(weights, errors, people), self.evidence.channel
        has_inverse = channel.line is not None and channel.shape[0] == channel.shape[1]
        if not (has_inverse or channel.shape[1] == 2) or np.unique(weights).size <= 2:
            return found
        # The expected score of a report is the weight of its value. The ridge avoids an error for a singular matrix,
        # which the check below finds, as it finds a query that two reports do not answer.
        matrix = channel.dense()
        if has_inverse:
            scores = np.linalg.solve(matrix + RIDGE * np.eye(weights.size), weights)
        else:
            scores = np.linalg.lstsq(matrix, weights, rcond=None)[0]
        # Rows that do not sum to one were rescaled and are not probabilities.
        if not (np.allclose(matrix.sum(axis=1), 1.0) and np.allclose(matrix @ scores, weights)):
            return found
        mean = float(self.evidence.frequencies @ scores)
        variance = float(self.evidence.quadratic(np.asarray(scores - mean, dtype=np.float64))) / (
            people * self.evidence.total**2
        )
        return max(found, mean - errors * math.sqrt(variance))

    def ends(self, weights: FloatArray, drop: float) -> tuple[float, float]:
        """Return the range of a query over the region.

        `drop` is the allowed drop of the log-likelihood, in nats.
        """
        low, high = lowest([self, self], [weights, -weights], drop).tolist()
        return low, -high


def lowest(
    regions: Sequence[Region],
    weights: Sequence[FloatArray] | FloatArray,
    drop: float,
    least: FloatArray | float = math.inf,
    enough: FloatArray | float = math.inf,
    known: FloatArray | float = math.inf,
) -> FloatArray:
    """Return the highest proven lower bound for each of many questions.

    All questions follow their paths together. Points over one channel are solved together.

    Parameters
    ----------
    regions, weights
        The region and the weights of each question.
    drop
        Allowed drop of the log-likelihood, in nats.
    least
        The least weight of any value, if there are values beyond those of the evidence. These explain no report, so
        their gain is 0 and the proof above applies to them.
    enough, known
        A search stops once it is clear whether the answer reaches `enough`, or that it reaches `known`.
    """
    count, drop = len(regions), max(drop, 1e-9)  # a smaller drop is lost in rounding
    bases = np.minimum(least, np.array([float(one.min()) for one in weights]))
    spans = np.array([float(one.max()) for one in weights]) - bases
    going = np.flatnonzero((spans > 0) & (known > bases))  # the others cannot be lower
    shares = {place: (weights[place] - bases[place]) / spans[place] for place in going.tolist()}
    needed, reached = ((one - bases) / np.where(spans > 0, spans, 1.0) for one in (enough, known))
    now, totals, tilts, proven = np.zeros(count), np.ones(count), np.zeros(count), np.zeros(count)
    for place in going.tolist():
        now[place] = shares[place] @ regions[place].best
        totals[place] = regions[place].evidence.total
    # Beyond the steepest tilt only values that explain nothing move, and the bound is exact to its inverse.
    wanted, steepest = math.sqrt(2 * drop), 1e4
    going = going[now[going] > NOTHING]
    for place in going.tolist():
        tilts[place] = _first_tilt(now[place], totals[place], drop, reached[place])
    # The nearest known tilt on each side of the solution, and the square root of twice its drop. This root starts at 0
    # and grows at first in proportion to the tilt, so we interpolate it.
    below, above = np.zeros((count, 2)), np.full((count, 2), math.inf)
    for number in range(1, 31):
        if not going.size:
            break
        points = find_points([(regions[place], shares[place], tilts[place]) for place in going.tolist()])
        roots, answers = np.sqrt(2 * points.falls / points.inflations), points.answers
        bounds = points.bounds(drop, totals[going])
        # Of weighted reports each point has a design effect of its own, and the point nearest to the end counts.
        proven[going] = np.where(points.inflations == 1, np.maximum(proven[going], bounds), np.maximum(bounds, 0.0))
        is_below = roots < wanted
        # The bound of a point is off by half the square of this: by one part in twenty thousand.
        is_done = (np.abs(roots - wanted) <= 1e-2 * wanted) | (is_below & (answers <= NOTHING))
        is_done |= proven[going] >= np.minimum(needed[going], reached[going])
        is_done |= is_below & (answers < needed[going]) & (needed[going] < math.inf)
        for side, some in ((below, is_below), (above, ~is_below)):
            side[going[some]] = np.stack([tilts[going[some]], roots[some]], axis=1)
        low, high = below[going, 0], above[going, 0]
        going = going[~(is_done | (low >= steepest) | (high - low <= 1e-9 * low))]
        for place in going.tolist():
            is_halved = number % 3 == 0  # bisection guarantees progress
            tilts[place] = min(_next_tilt(below[place], above[place], wanted, is_halved=is_halved), steepest)
    found: FloatArray = bases + spans * proven
    return found


def _first_tilt(now: float, total: float, drop: float, known: float) -> float:
    """Return the first tilt to try.

    It is that of a share without noise or, if an end is nearly known, the tilt at that end.
    """
    steep = 2 * drop / (total * (now - known)) if 0 < known < now else math.inf
    if steep * known < 0.9:
        # A parabola through that end has the slope 2 drop / (now - known) there, which is that of the bound,
        # n tilt / (1 + tilt known).
        return steep / (1 - steep * known)
    return math.sqrt(2 * drop) / math.sqrt(total * max(now * (1 - now), 1 / total))


def _next_tilt(below: FloatArray, above: FloatArray, wanted: float, *, is_halved: bool) -> float:
    """Return the next tilt to try, by interpolation.

    A power law through the points on both sides gives the tilt with the wanted root. While only one side is known, the
    root is taken as proportional to the tilt, with a small overshoot to find the other side.
    """
    low, low_root, high, high_root = (float(one) for one in (*below, *above))
    # At a corner of the simplex a small tilt has no effect.
    if is_halved or (low > 0 and math.isfinite(high) and low_root < 0.01 * wanted):
        return 2 * low if math.isinf(high) else (low + high) / 2
    if math.isinf(high):
        return low * min(10.0, 1.1 * wanted / max(low_root, 1e-9))
    if low == 0:
        return high * max(0.9 * wanted / high_root, 0.02)
    part = math.log(wanted / low_root) / math.log(high_root / low_root)
    return float(low * (high / low) ** min(max(part, 0.05), 0.95))


class PathPoints(NamedTuple):
    """Points of paths: tilts, answers, drops, certificates and design effects, one each.

    A drop is the distance below the highest log-likelihood, in nats. The allowed one is multiplied by the design effect
    of the direction from the maximum to the point.
    """

    tilts: FloatArray
    answers: FloatArray
    falls: FloatArray
    certificates: FloatArray
    inflations: FloatArray

    def bounds(self, drop: float, totals: FloatArray | float) -> FloatArray:
        """Return lower bounds on the answer, for an allowed `drop`.

        See the top of this module.
        """
        left = (drop * self.inflations - self.falls + self.certificates) / totals
        bounds: FloatArray = ((1 + self.tilts * self.answers) * np.exp(-left) - 1) / self.tilts
        return bounds


def find_points(asked: Sequence[tuple[Region, FloatArray, float]]) -> PathPoints:
    """Return one point for each region, query and tilt.

    Queries are scaled to [0, 1].
    """
    found = np.empty((5, len(asked)))
    others = [place for place, (region, *_) in enumerate(asked) if region.evidence.channel.keep_and_other is None]
    factors = [1 / (1 + asked[place][2] * asked[place][1]) for place in others]
    regions = [asked[place][0] for place in others]
    solved = _maxima([one.evidence for one in regions], factors, [one.best for one in regions])
    maxima = dict(zip(others, solved, strict=True))
    for place, (region, shares, tilt) in enumerate(asked):
        if place in maxima:
            phi, certificate = maxima[place]
            theta, reached = phi / (1 + tilt * shares), tilt
            theta = theta / float(theta.sum())
        else:
            (theta, reached), certificate = _fill(region.evidence, shares, tilt), 0.0
        outputs = region.evidence.channel.push(theta)
        fall = region.highest_likelihood - region.evidence.log_likelihood_of_outputs(outputs)
        inflation = region.evidence.inflation(outputs, region.outputs)
        found[:, place] = reached, shares @ theta, max(0.0, fall), certificate, inflation
    return PathPoints(*found)


def _fill(evidence: Evidence, shares: FloatArray, tilt: float) -> tuple[FloatArray, float]:
    """Return a point of the path in closed form, by water filling.

    Water is filled up to the level nu w instead of nu. Then q / y = nu w where theta > 0. With b the probability of
    other values, g = b sum(q / y) + (a - b) nu w, which is again proportional to 1 + tilt u, for another tilt.
    """
    from confide.solve.maximum import fill_water

    keep, other = evidence.channel.keep_and_other or (1.0, 0.0)
    prices = 1 + tilt * shares
    theta = fill_water(evidence.frequencies / prices, keep, other)
    flat = other * float(evidence.ratio(evidence.channel.push(theta)).sum())
    level = (1 - flat) / float(prices @ theta)  # because g . theta = 1
    return theta, float(np.ptp(prices)) * level / (flat + level)


def _maxima(
    evidence: Sequence[Evidence], factors: Sequence[FloatArray] = (), best: Sequence[FloatArray] = ()
) -> list[tuple[FloatArray, float]]:
    """Return the maximum of each, with its certificate.

    `factors` rescale the rows of each channel. `best` has the maxima without them.
    """
    from confide.solve.maximum import can_solve_together, maxima

    together: dict[object, list[int]] = {}
    for place, one in enumerate(evidence):
        key = one.channel.identity if can_solve_together(one.channel) else (place,)
        together.setdefault(key, []).append(place)
    found: dict[int, tuple[FloatArray, float]] = {}
    for key, places in together.items():
        if key == (places[0],):
            (place,) = places
            found[place] = _maximum(evidence[place], *(one[place] if one else None for one in (factors, best)))
            continue
        channel, counts = evidence[places[0]].channel, np.array([evidence[place].counts for place in places])
        tolerances = np.array([max(TOLERANCE, 4 * evidence[place].resolution) / 2 for place in places])
        scales = start = None
        if factors:
            scales = np.array([factors[place] for place in places])
            start = np.array([best[place] for place in places]) / scales
            start /= start.sum(axis=1, keepdims=True)
        solved = maxima(channel.dense(), counts, tolerances, channel.layout, start=start, factors=scales)
        for row, place in enumerate(places):
            is_proven = solved.certificates[row] <= 2 * tolerances[row]
            alone = None if is_proven else _maximum(evidence[place], factors[place] if factors else None)
            found[place] = alone or (solved.distributions[row], float(solved.certificates[row]))
    return [found[place] for place in range(len(evidence))]


def _maximum(
    evidence: Evidence, factors: FloatArray | None, best: FloatArray | None = None
) -> tuple[FloatArray, float]:
    nearby = None if factors is None or best is None else maximise_nearby(evidence, best, factors)
    if nearby is not None:
        return nearby
    scaled = evidence if factors is None else Evidence(evidence.channel.rescaled(factors), evidence.counts)
    theta = MLE(tolerance=max(TOLERANCE, 4 * evidence.resolution)).solve(scaled).distribution
    return theta, scaled.certificate(theta)


# Points of a path on a long line: a query with a few steps changes the maximum only near these steps.
#
# Far from a step, all rows of a stretch are rescaled by the same factor, so its part of the maximum stays the same up
# to its weight. Noise dies out within a few multiples of 1 / epsilon. So values near a step are free, each stretch
# between steps is one composite value, and the outputs inside it are one composite output. This is a small problem. The
# certificate over all values bounds how far its solution is from the maximum of the large problem.


def maximise_nearby(evidence: Evidence, best: FloatArray, factors: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the maximum on a long line whose rows change in steps.

    It comes with its certificate. None if this shortcut fails. `best` is the maximum without the factors.
    """
    line, size = evidence.channel.line, factors.size
    if line is None or size <= LONG or not 0 < line.ratio < 1:
        return None
    steps = (np.flatnonzero(np.diff(factors)) + 1).tolist()
    for reach in (5.0, 10.0):  # tried in turn: nats that noise falls before values are fixed
        # After 18 nats, outputs no longer depend on what lies beyond.
        near, far = (math.ceil(nats / -math.log(line.ratio)) for nats in (reach, 18.0))
        edges = [0, *(edge for step in steps for edge in (step - near, step + near)), size]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        stretches = [(start, stop) for start, stop in pairs if stop - start > 2 * far]
        if size - sum(stop - start for start, stop in stretches) > MOST_FREE:
            return None
        theta = _solve_nearby(evidence, best, factors, stretches, far)
        scaled = Evidence(evidence.channel.rescaled(factors), evidence.counts)
        certificate = scaled.certificate(theta)
        if certificate <= PROVEN:
            return theta, certificate
    return None


def _solve_nearby(
    evidence: Evidence, best: FloatArray, factors: FloatArray, stretches: list[tuple[int, int]], far: int
) -> FloatArray:
    """Solve with one composite value for each stretch, then reassemble."""
    size = best.size
    free, kept = np.ones(size, dtype=bool), np.ones(size, dtype=bool)
    for start, stop in stretches:
        free[start:stop] = False
        kept[start + far * (start > 0) : stop - far * (stop < size)] = False
    values, outputs = np.flatnonzero(free), np.flatnonzero(kept & (evidence.counts > 0))
    rows = [
        np.hstack([evidence.channel.block(values, outputs), np.zeros((values.size, len(stretches)))])
        * factors[values, None]
    ]
    masses, lumps = [], []
    for place, (start, stop) in enumerate(stretches):
        part = np.zeros(size)
        part[start:stop] = best[start:stop]
        masses.append(max(float(part.sum()), 1e-300))
        inside = np.eye(len(stretches))[place]
        rows.append(np.hstack([factors[start] * evidence.channel.push(part)[outputs] / masses[-1], inside])[None, :])
        lumps.append(float(evidence.counts[start:stop][~kept[start:stop]].sum()))
    counts = np.concatenate([evidence.counts[outputs], lumps])
    seen = counts > 0
    small = Evidence(Dense(np.vstack(rows)[:, seen], Layout((values.size + len(stretches),))), counts[seen])
    found = MLE(tolerance=max(PROVEN / 5, 4 * small.resolution)).solve(small).distribution
    theta = np.zeros(size)
    theta[values] = found[: values.size]
    for (start, stop), mass, weight in zip(stretches, masses, found[values.size :], strict=True):
        theta[start:stop] = best[start:stop] * weight / mass
    return theta


RARES = (0.3, 0.05, 1e-3)
"""Significance levels at which smaller supports are rejected: values are merged as far as each allows.

They match a coverage of 70, 95 and 99.9 %; other levels lie between.
"""

RIDGE, FAINT = 1e-12, 1e-300


@dataclass(frozen=True, eq=False)
class Supports:
    """Sets of equally many values, with their best shares and information.

    Attributes
    ----------
    values, shares
        One row a set. An index past the last value means the rest: a uniform distribution over all values.
    information
        The information matrix of each set: the curvature of the log-likelihood at the best shares.
    noise
        The covariance of the scores of each set. It is the information, unless reports are weighted.
    falls
        How far the highest log-likelihood of each set is below the overall maximum, in nats.
    fewer
        By how many values they are smaller than the support of the maximum-likelihood estimate.
    """

    values: Indices
    shares: FloatArray
    information: FloatArray
    noise: FloatArray
    falls: FloatArray
    fewer: int

    def only(self, chosen: Indices) -> Supports:
        """Return some of the sets."""
        few = self.values[chosen], self.shares[chosen], self.information[chosen], self.noise[chosen]
        return Supports(*few, self.falls[chosen], self.fewer)

    def above_rest(self) -> Supports:
        """Return the sets whose rest is clearly positive.

        The rest is their last value. Without it, the search without a rest covers them.
        """
        return self.only(np.flatnonzero(np.einsum("skk->sk", self.covariances)[:, -1] > 0))

    @cached_property
    def covariances(self) -> FloatArray:
        """Covariances of the shares, given that they sum to one.

        Shares near zero are fixed.
        """
        free, diagonal = np.ones(self.shares.shape, dtype=bool), np.arange(self.shares.shape[1])
        for _ in range(2):
            pairs = free[:, :, None] & free[:, None, :]
            matrix = np.where(pairs, self.information, 0.0)
            matrix[:, diagonal, diagonal] = np.einsum("skk->sk", self.information) * (1 + RIDGE)
            inverse = np.where(pairs, np.linalg.inv(matrix), 0.0)
            sums = inverse.sum(axis=2)
            totals = np.maximum(sums.sum(axis=1), FAINT)
            covariances: FloatArray = inverse - sums[:, :, None] * sums[:, None, :] / totals[:, None, None]
            if self.noise is not self.information:
                covariances = covariances @ self.noise @ covariances
            # A share within four standard errors of zero is fixed, at every level.
            free &= self.shares > 4.0 * np.sqrt(np.maximum(np.einsum("skk->sk", covariances), 0.0))
        return covariances


@dataclass(frozen=True, eq=False)
class FewValues:
    """The distributions on as few values of a line as needed.

    If few values have people, the log-likelihood of the truth is far below the maximum: noise shifts and widens each
    peak a little, and the maximum-likelihood estimate fits this with several values in place of one. On three values
    among a hundred at 0.05 per step, the drop is 3.5 nats on average and exceeds 7.4 in one survey of twenty. This is
    chi-squared with as many degrees of freedom as the estimate has more values than the truth. So the distributions
    within 1.92 nats all miss the share of a single such value in a quarter of surveys.

    Neighbouring values of the maximum-likelihood estimate are merged, those that widen a peak least first, as long as
    chi-squared allows. Then each remaining value is moved to either side as far as chi-squared allows. On each such
    support Wilks' theorem is exact and the likelihood nearly Gaussian, so its region is an ellipsoid with ends in
    closed form. A share near zero is fixed, so no ellipsoid reaches below zero and ends of sets are coherent.

    The same search is run with a *rest* beside the values: people spread evenly over the whole line. This models strong
    values above a low background, such as round numbers. There the maximum-likelihood estimate puts the background onto
    every third value or so, and takes part of it from the strong values beside.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 0.5)
    >>> evidence = mechanism.observe(mechanism.simulate_counts([0, 0, 900, 0, 0, 0, 600, 0, 0, 0], rng=1))
    >>> best = cf.MLE().solve(evidence).distribution
    >>> few = FewValues.of(evidence, best, evidence.log_likelihood(best))
    >>> few.groups[-1].values[0]
    array([2, 6])
    >>> [round(sign * few.lowest(sign * np.eye(10)[2], 1.96), 2) for sign in (1, -1)]
    [0.56, 0.64]
    """

    groups: Sequence[Supports]
    with_rest: Sequence[Supports] = ()

    @classmethod
    def of(cls, evidence: Evidence, best: FloatArray, highest: float) -> FewValues:
        """Merge and move the values of the maximum-likelihood estimate.

        `highest` is its log-likelihood.
        """
        values = np.flatnonzero(best > 1e-12)
        alone, beside = (_SupportSearch(evidence, highest, values.size, has_rest) for has_rest in (False, True))
        full = [one.above_rest() for one in beside.run(*beside.with_rest(values, best[values], 0.1))]
        return cls(alone.run(values, best[values]), [one for one in full if one.values.size])

    def lowest(self, weights: FloatArray, errors: float, people: float = 1.0) -> float:
        """Return the lowest answer to a query.

        `errors` is the level as a number of standard errors. `people` multiplies the people: drops grow with it, errors
        shrink. Infinity if there is no support.
        """
        from scipy.special import ndtr  # here, so that blurring loads no more than numpy

        rare, weights = 2 * float(ndtr(-errors)), np.append(weights, weights.mean())
        alone = _lowest(self.groups, weights, rare, errors, people)
        # With a rest, supports are rejected at a fifth of the significance level. All shares are positive there, so the
        # estimate also fits noise below them: for ten peaks above an even rest, twice the drop exceeds the 95 %
        # quantile of chi-squared in one survey of eight, and the 99 % quantile in one of seventeen.
        return min(alone, _lowest(self.with_rest, weights, rare / 5, errors, people))


def _lowest(groups: Sequence[Supports], weights: FloatArray, rare: float, errors: float, people: float) -> float:
    """Return the lowest answer among the smallest supports not rejected."""
    for one in reversed(groups):
        near = np.flatnonzero(people * one.falls <= _allowed(one.fewer, rare))
        if near.size:
            chosen = weights[one.values[near]]
            variances = np.einsum("sk,skl,sl->s", chosen, one.covariances[near], chosen)
            answers = (chosen * one.shares[near]).sum(axis=1)
            return float((answers - errors * np.sqrt(np.maximum(variances, 0.0) / people)).min())
    return math.inf


def _allowed(fewer: int, rare: float) -> float:
    """Return the allowed drop in nats, for so many values fewer."""
    from scipy.special import chdtri

    return float(chdtri(fewer, rare)) / 2 if fewer > 0 else 0.0


@dataclass(frozen=True, eq=False)
class _SupportSearch:
    """A search for small supports.

    It starts from the highest log-likelihood and the number of values of the maximum-likelihood estimate.
    """

    evidence: Evidence
    highest: float
    first: int
    has_rest: bool = False

    @cached_property
    def _matrix(self) -> FloatArray:
        """The channel to the observed outputs; the rest is the last row."""
        rows = self.evidence.channel.dense()[:, self.evidence.seen]
        return np.vstack([rows, rows.mean(axis=0)]) if self.has_rest else rows

    def with_rest(self, values: Indices, shares: FloatArray, rest: float) -> tuple[Indices, FloatArray]:
        """Append a rest with a starting share to sets of values."""
        ends = [*values.shape[:-1], 1]
        past = np.full(ends, self.evidence.channel.shape[0])
        return np.append(values, past, axis=-1), np.append((1 - rest) * shares, np.full(ends, rest), axis=-1)

    def run(self, values: Indices, shares: FloatArray) -> list[Supports]:
        """Return the smallest supports that each level allows, with shifts."""
        reached: list[Supports] = []
        for rare in RARES:
            found = self._merge(values, shares, rare)
            if found is not None:
                values, shares = found.values[0], found.shares[0]
                reached.append(found)
        moved = [self._moved(one) for one in reached]
        return [one for one in moved if one is not None]

    def _merge(self, values: Indices, shares: FloatArray, rare: float) -> Supports | None:
        """Merge as many neighbours as allowed; `None` if none are.

        It first tries half of all values at a time, then fewer.
        """
        found, leaving = None, max(1, values.size // 2)
        while leaving and values.size > 1 + self.has_rest:
            if self.has_rest:
                rest = max(float(shares[-1]), 1e-3)  # smallest start for Newton's method
                tried = self.solve(*self.with_rest(*_merged(values[:-1], shares[:-1], leaving), rest))
            else:
                tried = self.solve(*_merged(values, shares, leaving))
            if not tried.falls.size or tried.falls.min() > _allowed(tried.fewer, rare):
                leaving //= 2
                continue
            found = tried.only(np.argmin(tried.falls, axis=0, keepdims=True))
            values, shares = found.values[0], found.shares[0]
            leaving = min(leaving, max(1, values.size // 2))
        return found

    def _moved(self, reached: Supports) -> Supports | None:
        """Return a support with all allowed shifts of one value.

        None if it has more than four values and more than one in eight of all. Then the first part of the region is
        enough, and the second would only widen intervals for smooth truths.
        """
        values, shares = reached.values[0], reached.shares[0]
        single = values[:-1] if self.has_rest else values
        parts, going = [reached], [(place, side) for place in range(single.size) for side in (-1, 1)]
        size, allowed = self.evidence.channel.shape[0], _allowed(reached.fewer, RARES[-1])
        if single.size > max(4, size // 8) or (self.has_rest and not reached.above_rest().values.size):
            return None
        fences = np.concatenate([[-1], single, [size]])
        for far in range(1, 64):
            inside = [
                (place, side) for place, side in going if fences[place] < values[place] + side * far < fences[place + 2]
            ]
            if not inside:
                break
            moved = np.repeat(values[None, :], len(inside), axis=0)
            for row, (place, side) in enumerate(inside):
                moved[row, place] += side * far
            tried = self.solve(moved, np.repeat(shares[None, :], len(inside), axis=0))
            near = np.flatnonzero(tried.falls <= allowed)
            parts.append(tried.only(near))
            kept = {tuple(row) for row in tried.values[near].tolist()}
            going = [one for one, row in zip(inside, moved.tolist(), strict=True) if tuple(row) in kept]
        names = ("values", "shares", "information", "noise", "falls")
        every = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
        return Supports(**every, fewer=reached.fewer)

    def solve(self, values: Indices, shares: FloatArray) -> Supports:
        """Return the best shares on each set of values (Newton's method).

        Sets that cannot explain all reports are left out.
        """
        counts, total = self.evidence.counts[self.evidence.seen], self.evidence.total
        rows = self._matrix[values]
        # Every report needs a value that can send it. A value that can send none of them has no curvature, and other
        # sets do without it.
        likely = rows > 1e-150  # below, the square of a probability, a curvature, underflows in float64
        can = np.flatnonzero(np.all(np.any(likely, axis=1), axis=1) & np.all(np.any(likely, axis=2), axis=1))
        values, shares, rows, frequencies = values[can], shares[can], rows[can], counts / total
        diagonal = np.arange(values.shape[1])
        # Five to eight steps are usual from a good start. Stopping early only makes a support look worse.
        for _ in range(16):
            outputs = np.maximum(np.einsum("sk,skz->sz", shares, rows), FAINT)
            bent = rows * (np.sqrt(frequencies) / outputs)[:, None, :]
            curved = bent @ bent.transpose(0, 2, 1)
            slope = np.einsum("skz,sz->sk", rows, frequencies / outputs) - 1
            damped = curved.copy()
            damped[:, diagonal, diagonal] *= 1 + RIDGE
            step = np.linalg.solve(damped, slope[:, :, None])[:, :, 0]
            if not step.size or float(np.abs(step).max()) < 1e-6:
                break
            # In one step no share goes more than nine tenths of the way to zero.
            lengths = np.where(step < 0, -0.9 * shares / np.minimum(step, -FAINT), 1.0).min(axis=1)
            shares = shares + np.minimum(lengths, 1.0)[:, None] * step
        shares = shares / shares.sum(axis=1, keepdims=True)
        outputs = np.maximum(np.einsum("sk,skz->sz", shares, rows), FAINT)
        falls = self.highest - self.evidence.log_offset - np.log(outputs) @ counts
        information = noise = total * curved
        if self.evidence.variances is not None:
            noise = self._noise(rows / outputs[:, None, :])
        return Supports(values, shares, information, noise, np.maximum(falls, 0.0), self.first - values.shape[1])

    def _noise(self, scores: FloatArray) -> FloatArray:
        """Return the covariance of the scores of weighted reports, set by set."""
        evidence, seen = self.evidence, self.evidence.seen
        own = evidence.spread if evidence.design is None else evidence.design.diagonal
        noise: FloatArray = (scores * own[seen]) @ scores.transpose(0, 2, 1)
        if evidence.design is None:
            return noise
        rows, factors = evidence.design.rows.toarray()[:, seen], evidence.design.factors
        together = scores @ rows.T
        return np.asarray(noise + (together * factors) @ together.transpose(0, 2, 1))


def _merged(values: Indices, shares: FloatArray, number: int) -> tuple[Indices, FloatArray]:
    """Return smaller sets of values, one a row, with starting shares.

    Neighbours that widen a peak least are merged, at the value next to their mean. If only one pair is merged, two more
    sets are tried: merged at the value on the other side of the mean, and without the smallest share.
    """
    left, right = shares[:-1], shares[1:]
    costs = left * right / (left + right) * np.diff(values) ** 2
    pairs: list[int] = []
    for place in np.argsort(costs, kind="stable").tolist():
        if len(pairs) < number and not {place - 1, place, place + 1} & set(pairs):
            pairs.append(place)
    heaps = np.arange(values.size)
    for place in pairs:
        heaps[place + 1] = place
    _, heaps = np.unique(heaps, return_inverse=True)
    together = np.bincount(heaps, weights=shares)
    means = np.bincount(heaps, weights=shares * values) / together
    sets, starts = [np.rint(means)], [together]
    if len(pairs) == 1:
        other = means.copy()
        other[pairs[0]] = min(2 * math.floor(means[pairs[0]]) + 1 - sets[0][pairs[0]], values[pairs[0] + 1])
        least = int(shares.argmin())
        sets += [other, np.delete(values, least)]
        starts += [together, np.delete(shares, least)]
    return np.array(sets).astype(np.int64), np.array(starts) / np.array(starts).sum(axis=1, keepdims=True)

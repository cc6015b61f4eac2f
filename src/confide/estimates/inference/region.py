"""Everything that the reports allow: the distributions that explain them nearly as well as the best one.

By Wilks' theorem twice the fall of the log-likelihood from its maximum to the best distribution with the true answer is
about chi-squared with one degree of freedom. So the interval of a linear query c is the range of c . theta over
{theta >= 0, sum 1, L(theta) >= L* - chi2 / 2}. It needs no smoothness and no inverse, and it holds the answers of all
maximum-likelihood estimates. On the border of the simplex, where many a theta is zero, the theorem is not exact: noise
gives empty values a little, never less than nothing, and where the truth has few values the fall down to it is that of
many degrees of freedom. So the region has a second part, :meth:`Region.few_values` on a line and
:meth:`Region.with_fewer_values` elsewhere. All parts are sets of distributions, so that ends are coherent whatever is
asked.

The end is found along a path. Let u be the query scaled to [0, 1] and w = 1 + tilt u. The best phi of the channel with
rows M_x / w_x gives theta_t = phi / w, normalised, whose gain g = M (q / y) is at most w / (w . theta_t), and equal to
it where theta_t > 0. As the tilt grows the answer falls, and so does the likelihood, from L* on. For every other theta,
by Jensen,

    L(theta) <= L(theta_t) + n log(g . theta) <= L(theta_t) + n log((1 + tilt u . theta) / (1 + tilt u . theta_t)),

so each point of the path proves that u . theta cannot be lower than some bound where L(theta) is high enough. It is
exact where L(theta_t) itself has fallen just as far as is allowed, and valid everywhere, so the search may end early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from confide.channels import Dense, Mixed
from confide.channels.base import FloatArray, Indices, Layout
from confide.evidence.evidence import Evidence
from confide.solve.methods import MLE

TOLERANCE = 1e-5
"""Nats to which each maximum on the path is proven; what is left counts against the bound."""

CLOSE = 1e-2
"""Distance of the root of the fall from the one that is allowed, as a share of it, at which a search ends."""

STEEPEST = 1e4
"""A tilt past which nothing moves any more: values that explain nothing. The bound is exact to its inverse there."""

NOTHING = 1e-12
"""An answer this near to the lowest that any value gives is the lowest."""

LONG, MOST_FREE = 3000, 3000
"""Values past which a line is long, and values near steps past which the whole of it is solved."""

PROVEN = 5e-3
"""Nats to which a part of a long line is to be proven: an interval of 1.92 nats is wider by a thousandth for it."""


@dataclass(frozen=True, eq=False)
class Region:
    """The distributions whose log-likelihood is near its maximum.

    Attributes
    ----------
    evidence
        The reports.
    best
        One distribution of greatest likelihood.
    highest_likelihood, certificate
        Its log-likelihood, and by how many nats it may be below the maximum.

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
        """Find the maximum."""
        return cls.of_all([evidence])[0]

    @classmethod
    def of_all(cls, evidence: Sequence[Evidence]) -> list[Region]:
        """Find the maxima of many, side by side where they share a channel."""
        best = _maxima(evidence)
        return [
            cls(one, theta, one.log_likelihood(theta), certificate)
            for one, (theta, certificate) in zip(evidence, best, strict=True)
        ]

    @cached_property
    def few_values(self) -> FewValues | None:
        """The distributions among as few values of a line as explain the reports; None elsewhere."""
        from confide.solve.maximum import LARGEST_TOGETHER as LARGEST

        layout = self.evidence.layout
        is_line = layout is not None and len(layout.shape) == 1 and layout.places is None
        if not is_line or max(self.evidence.channel.shape) > LARGEST:
            return None
        return FewValues.of(self.evidence, self.best, self.highest_likelihood)

    @cached_property
    def with_fewer_values(self) -> tuple[Region, Indices] | None:
        """The region among as few values as explain the reports nearly as well, and which these are.

        Values leave the best explanation, those with the least share first, as long as twice the fall stays below the
        point of chi-squared that as many parameters exceed once in twenty times. Had only these values people, the
        theorem would be exact among them. None where no value can leave, there are too many to try, or values lie on
        a line, where neighbours are merged instead.
        """
        from scipy.special import chdtri  # here, so that blurring loads no more than numpy

        from confide.solve.maximum import LARGEST_TOGETHER as LARGEST

        values = np.flatnonzero(self.best > NOTHING)
        if max(self.evidence.channel.shape) > LARGEST or values.size == 1 or self.few_values is not None:
            return None
        found, first, leaving = None, values.size, max(1, values.size // 2)
        shares, reported = self.best[values], self.evidence.counts > 0
        while leaving and values.size > 1:
            some = np.sort(np.argsort(shares, kind="stable")[min(leaving, values.size - 1) :])
            rows = self.evidence.channel.select(values[some])
            allowed = float(chdtri(first - some.size, 0.05)) / 2
            # Values that cannot explain all reports are no candidates.
            can_explain = bool((rows[:, reported] > 0).any(axis=0).all())
            tried = Region.of(replace(self.evidence, channel=Dense(rows), layout=None)) if can_explain else None
            if tried is None or self.highest_likelihood - tried.highest_likelihood > allowed:
                leaving //= 2
                continue
            found = tried, values[some]
            values, shares = values[some], tried.best
        return found

    def lowest_among_few(self, weights: FloatArray, errors: float, people: float = 1.0) -> float:
        """Return the lowest answer of :attr:`few_values`, but not below that of unbiased estimation.

        Few values make up for Wilks' theorem where it fails. The inverse estimates every query without bias, and its
        interval is right for every truth, so they need not reach beyond it. For the mean it is nearly as narrow as the
        likelihood's; for most shares it is far wider. Shares are left alone: their ends are coherent.
        """
        if self.few_values is None:
            return math.inf
        found, channel = self.few_values.lowest(weights, errors, people), self.evidence.channel
        if channel.shape[0] != channel.shape[1] or np.unique(weights).size <= 2 or isinstance(channel, Mixed):
            return found
        # A report's score is, on average, the weight of its value. The ridge lets a singular matrix pass to the check.
        matrix = channel.dense()
        scores = np.linalg.solve(matrix + RIDGE * np.eye(weights.size), weights)
        # Rows that do not sum to one are rescaled: no probabilities.
        if not (np.allclose(matrix.sum(axis=1), 1.0) and np.allclose(matrix @ scores, weights)):
            return found
        mean = float(self.evidence.frequencies @ scores)
        variance = float(self.evidence.frequencies @ (scores - mean) ** 2) / (people * self.evidence.total)
        return max(found, mean - errors * math.sqrt(variance))

    def ends(self, weights: FloatArray, drop: float) -> tuple[float, float]:
        """Return the lowest and the highest answer to a query where L falls by no more nats than this."""
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
    """Return the lowest answer to each of many questions: the highest bound that a point of its path proves.

    All questions go along their paths together, and points over one channel are found side by side.

    Parameters
    ----------
    regions, weights
        Of each question, the region that the answer is looked for in, and the weight of each value.
    drop
        By how many nats L may fall.
    least
        The least weight of any value, where there are more values than those of the evidence: such as explain no
        report, so that they gain nothing, and the proof above holds for them as well.
    enough, known
        A question ends once it is settled whether its answer reaches `enough`, or that it reaches `known`.
    """
    count, drop = len(regions), max(drop, 1e-9)  # a smaller fall cannot be told from none
    bases = np.minimum(least, np.array([float(one.min()) for one in weights]))
    spans = np.array([float(one.max()) for one in weights]) - bases
    going = np.flatnonzero((spans > 0) & (known > bases))  # of the others no answer is lower
    shares = {place: (weights[place] - bases[place]) / spans[place] for place in going.tolist()}
    needed, reached = ((one - bases) / np.where(spans > 0, spans, 1.0) for one in (enough, known))
    now, totals, tilts, proven = np.zeros(count), np.ones(count), np.zeros(count), np.zeros(count)
    for place in going.tolist():
        now[place] = shares[place] @ regions[place].best
        totals[place] = regions[place].evidence.total
    wanted = math.sqrt(2 * drop)
    going = going[now[going] > NOTHING]
    for place in going.tolist():
        tilts[place] = _first_tilt(now[place], totals[place], drop, reached[place])
    # On both sides of the tilt that is looked for: the nearest one known, and the root of twice its fall. This grows
    # with the tilt from 0, at first in proportion, so it is what is interpolated.
    below, above = np.zeros((count, 2)), np.full((count, 2), math.inf)
    for number in range(1, 31):
        if not going.size:
            break
        points = find_points([(regions[place], shares[place], tilts[place]) for place in going.tolist()])
        roots, answers = np.sqrt(2 * points.falls), points.answers
        proven[going] = np.maximum(proven[going], points.bounds(drop, totals[going]))
        is_below = roots < wanted
        # The bound that a point proves is off by half the square of CLOSE: by one part in twenty thousand.
        is_done = (np.abs(roots - wanted) <= CLOSE * wanted) | (is_below & (answers <= NOTHING))
        is_done |= proven[going] >= np.minimum(needed[going], reached[going])
        is_done |= is_below & (answers < needed[going]) & (needed[going] < math.inf)
        for side, some in ((below, is_below), (above, ~is_below)):
            side[going[some]] = np.stack([tilts[going[some]], roots[some]], axis=1)
        low, high = below[going, 0], above[going, 0]
        going = going[~(is_done | (low >= STEEPEST) | (high - low <= 1e-9 * low))]
        for place in going.tolist():
            is_halved = number % 3 == 0  # no shape of the path can make that slow
            tilts[place] = min(_next_tilt(below[place], above[place], wanted, is_halved=is_halved), STEEPEST)
    found: FloatArray = bases + spans * proven
    return found


def _first_tilt(now: float, total: float, drop: float, known: float) -> float:
    """Return the tilt to begin with: that of a share without noise or, where an end is nearly known, the one there."""
    steep = 2 * drop / (total * (now - known)) if 0 < known < now else math.inf
    if steep * known < 0.9:
        # A parabola through that end has the slope 2 drop / (now - known) there, which is that of the bound,
        # n tilt / (1 + tilt known).
        return steep / (1 - steep * known)
    return math.sqrt(2 * drop) / math.sqrt(total * max(now * (1 - now), 1 / total))


def _next_tilt(below: FloatArray, above: FloatArray, wanted: float, *, is_halved: bool) -> float:
    """Return the tilt to try next: where a power of the tilt that passes through both points meets the wanted root.

    While only one side is known the root is taken to be in proportion to the tilt, and a little more is asked for, so
    that the other side gets known as well.
    """
    low, low_root, high, high_root = (float(one) for one in (*below, *above))
    # At a corner of the simplex a small tilt moves nothing.
    if is_halved or (low > 0 and math.isfinite(high) and low_root < 0.01 * wanted):
        return 2 * low if math.isinf(high) else (low + high) / 2
    if math.isinf(high):
        return low * min(10.0, 1.1 * wanted / max(low_root, 1e-9))
    if low == 0:
        return high * max(0.9 * wanted / high_root, 0.02)
    part = math.log(wanted / low_root) / math.log(high_root / low_root)
    return float(low * (high / low) ** min(max(part, 0.05), 0.95))


class PathPoints(NamedTuple):
    """Points of paths, one each: tilts, answers, falls below the highest L, and by how many nats each may be off."""

    tilts: FloatArray
    answers: FloatArray
    falls: FloatArray
    certificates: FloatArray

    def bounds(self, drop: float, totals: FloatArray | float) -> FloatArray:
        """Return what no answer can be below where the log-likelihood falls by no more than `drop`; see above."""
        left = (drop - self.falls + self.certificates) / totals
        bounds: FloatArray = ((1 + self.tilts * self.answers) * np.exp(-left) - 1) / self.tilts
        return bounds


def find_points(asked: Sequence[tuple[Region, FloatArray, float]]) -> PathPoints:
    """Return one point for each region, query between 0 and 1, and tilt."""
    found = np.empty((4, len(asked)))
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
        fall = region.highest_likelihood - region.evidence.log_likelihood(theta)
        found[:, place] = reached, shares @ theta, max(0.0, fall), certificate
    return PathPoints(*found)


def _fill(evidence: Evidence, shares: FloatArray, tilt: float) -> tuple[FloatArray, float]:
    """Return a point of the same path in closed form: water is filled up to the level nu w instead of nu.

    Then q / y = nu w where theta > 0, so with b the probability of other values g = b sum(q / y) + (a - b) nu w, which
    is again in proportion to 1 + tilt u, for another tilt.
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
    """Return the maximum of each, and its certificate.

    The rows of each channel may be rescaled by factors; `best` has the maxima without these then.
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


# Points of a path on a long line: a query that steps at a few places moves the best explanation near these alone.
#
# Far from a step all rows of a stretch are rescaled alike, so that its part of the best explanation of all stays the
# best one, up to its weight. The noise forgets in a few multiples of 1 / epsilon. So values near a step are free, each
# stretch between is one composite, and the outputs inside it, which nothing else explains, are one. That is a small
# problem; how far its solution is from the maximum of the large one, the certificate over all values says, so nothing
# is taken on trust.


def maximise_nearby(evidence: Evidence, best: FloatArray, factors: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the maximum over a long line whose rows are rescaled by steps, and its certificate; None if not found so.

    `best` is the maximum without the factors.
    """
    line, size = evidence.channel.line, factors.size
    if line is None or size <= LONG or not 0 < line.ratio < 1:
        return None
    steps = (np.flatnonzero(np.diff(factors)) + 1).tolist()
    for reach in (5.0, 10.0):  # nats by which the noise has died out where values are no longer free, tried in turn
        # By 18 nats outputs know nothing of what lies beyond.
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
    """Solve with one composite for each stretch, and put the parts together."""
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
"""How often supports would be refused although no other values have people: values are merged as far as each allows.

The levels of 70, 95 and 99.9 % find the fewest values that they may take for all; other levels are between.
"""

RIDGE, FAINT = 1e-12, 1e-300

NEVER = 1e-150
"""Probability of a report up to which it cannot come from a value: its square, a curvature, is nothing in float64."""


@dataclass(frozen=True, eq=False)
class Supports:
    """Sets of equally many values, the best shares among each, and how these vary.

    Attributes
    ----------
    values, shares
        One row a set. A value past the last is the rest, spread evenly over all.
    information
        The matrix of each set by which the log-likelihood falls away from the best shares.
    falls
        How far the highest log-likelihood of each is below the highest of all.
    fewer
        How many values fewer than the best explanation they have.
    """

    values: Indices
    shares: FloatArray
    information: FloatArray
    falls: FloatArray
    fewer: int

    def only(self, chosen: Indices) -> Supports:
        """Return some of the sets."""
        few = self.values[chosen], self.shares[chosen], self.information[chosen], self.falls[chosen]
        return Supports(*few, self.fewer)

    def above_rest(self) -> Supports:
        """Return the sets whose rest, their last value, is clearly more than nothing: without it others have them."""
        return self.only(np.flatnonzero(np.einsum("skk->sk", self.covariances)[:, -1] > 0))

    @cached_property
    def covariances(self) -> FloatArray:
        """How shares that sum to one vary; those near nothing do not."""
        free, diagonal = np.ones(self.shares.shape, dtype=bool), np.arange(self.shares.shape[1])
        for _ in range(2):
            pairs = free[:, :, None] & free[:, None, :]
            matrix = np.where(pairs, self.information, 0.0)
            matrix[:, diagonal, diagonal] = np.einsum("skk->sk", self.information) * (1 + RIDGE)
            inverse = np.where(pairs, np.linalg.inv(matrix), 0.0)
            sums = inverse.sum(axis=2)
            totals = np.maximum(sums.sum(axis=1), FAINT)
            covariances: FloatArray = inverse - sums[:, :, None] * sums[:, None, :] / totals[:, None, None]
            # A share within four standard errors from nothing is held as it is, at every level.
            free &= self.shares > 4.0 * np.sqrt(np.maximum(np.einsum("skk->sk", covariances), 0.0))
        return covariances


@dataclass(frozen=True, eq=False)
class FewValues:
    """The distributions with people at as few values of a line as the reports can be explained by.

    Where few values have people, the likelihood of the truth is far below the highest: noise moves and widens each heap
    a little, and the best explanation follows it with several values in place of one. On three values among a hundred
    at 0.05 per step the fall is 3.5 nats on average and 7.4 once in twenty times, that of chi-squared with as many
    degrees of freedom as the best explanation has more values than the truth. So a share that one value has alone is
    missed by all distributions within 1.92 nats in a quarter of all surveys.

    Neighbouring values of the best explanation are merged, where that widens least first, as long as chi-squared allows
    it, and then each value of what is left is moved to either side as far as that allows. Among the values of each such
    support the theorem of Wilks is exact, and the likelihood as good as Gaussian: its region is an ellipsoid, whose
    ends are in closed form. A share near nothing is held as it is, so that no ellipsoid reaches below nothing, and ends
    of sets are coherent.

    The same again with a *rest* beside the values, people spread evenly over the whole line: full values that stand out
    of many with few people, such as round numbers. There the best explanation puts the few of many values onto every
    third, and takes them from the full ones beside.

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
        """Merge and move values, from those of the best explanation and its log-likelihood."""
        values = np.flatnonzero(best > 1e-12)
        alone, beside = (_SupportSearch(evidence, highest, values.size, has_rest) for has_rest in (False, True))
        full = [one.above_rest() for one in beside.run(*beside.with_rest(values, best[values], 0.1))]
        return cls(alone.run(values, best[values]), [one for one in full if one.values.size])

    def lowest(self, weights: FloatArray, errors: float, people: float = 1.0) -> float:
        """Return the lowest answer to a query, at the level of so many standard errors; infinity where there is none.

        With so many times the people falls would be larger, and errors smaller.
        """
        from scipy.special import ndtr  # here, so that blurring loads no more than numpy

        rare, weights = 2 * float(ndtr(-errors)), np.append(weights, weights.mean())
        alone = _lowest(self.groups, weights, rare, errors, people)
        # With a rest it must be five times rarer that supports would be refused. Its shares are more than nothing, so
        # noise below them is followed as well: of ten heaps above an even rest twice the fall exceeds the 95 % point of
        # chi-squared in one survey of eight, and the 99 % point in one of seventeen.
        return min(alone, _lowest(self.with_rest, weights, rare / 5, errors, people))


def _lowest(groups: Sequence[Supports], weights: FloatArray, rare: float, errors: float, people: float) -> float:
    """Return the lowest answer among the supports with the fewest values that are not refused."""
    for one in reversed(groups):
        near = np.flatnonzero(people * one.falls <= _allowed(one.fewer, rare))
        if near.size:
            chosen = weights[one.values[near]]
            variances = np.einsum("sk,skl,sl->s", chosen, one.covariances[near], chosen)
            answers = (chosen * one.shares[near]).sum(axis=1)
            return float((answers - errors * np.sqrt(np.maximum(variances, 0.0) / people)).min())
    return math.inf


def _allowed(fewer: int, rare: float) -> float:
    """Return by how many nats the likelihood may be lower for so many values fewer."""
    from scipy.special import chdtri

    return float(chdtri(fewer, rare)) / 2 if fewer > 0 else 0.0


@dataclass(frozen=True, eq=False)
class _SupportSearch:
    """A search for supports, from the highest likelihood and the number of values of the best explanation."""

    evidence: Evidence
    highest: float
    first: int
    has_rest: bool = False

    @cached_property
    def _matrix(self) -> FloatArray:
        """The channel, to the outputs that were seen; the rest comes last."""
        rows = self.evidence.channel.dense()[:, self.evidence.seen]
        return np.vstack([rows, rows.mean(axis=0)]) if self.has_rest else rows

    def with_rest(self, values: Indices, shares: FloatArray, rest: float) -> tuple[Indices, FloatArray]:
        """Return sets of values, or one, with a rest that has this share to begin with."""
        ends = [*values.shape[:-1], 1]
        past = np.full(ends, self.evidence.channel.shape[0])
        return np.append(values, past, axis=-1), np.append((1 - rest) * shares, np.full(ends, rest), axis=-1)

    def run(self, values: Indices, shares: FloatArray) -> list[Supports]:
        """Return the supports of each size that is the smallest one allowed by some level, moved to all sides."""
        reached: list[Supports] = []
        for rare in RARES:
            found = self._merge(values, shares, rare)
            if found is not None:
                values, shares = found.values[0], found.shares[0]
                reached.append(found)
        moved = [self._moved(one) for one in reached]
        return [one for one in moved if one is not None]

    def _merge(self, values: Indices, shares: FloatArray, rare: float) -> Supports | None:
        """Merge as many neighbours as are allowed, half of all at a time and then fewer; None where none are."""
        found, leaving = None, max(1, values.size // 2)
        while leaving and values.size > 1 + self.has_rest:
            if self.has_rest:
                rest = max(float(shares[-1]), 1e-3)  # the least from which Newton goes on
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
        """Return a support, and all that differ from it by one value that lies elsewhere, as far as that is allowed.

        None where it takes more than four values, or one in eight of all: then reports tell shares well enough for the
        first part of the region, and ends on smooth truths would be wider for nothing.
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
        names = ("values", "shares", "information", "falls")
        every = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
        return Supports(**every, fewer=reached.fewer)

    def solve(self, values: Indices, shares: FloatArray) -> Supports:
        """Return the best shares among each set of values, by Newton from some; without sets that cannot be."""
        counts, total = self.evidence.counts[self.evidence.seen], self.evidence.total
        rows = self._matrix[values]
        # Every report needs a value that can send it. A value that can send none has no curvature: others do without.
        likely = rows > NEVER
        can = np.flatnonzero(np.all(np.any(likely, axis=1), axis=1) & np.all(np.any(likely, axis=2), axis=1))
        values, shares, rows, frequencies = values[can], shares[can], rows[can], counts / total
        diagonal = np.arange(values.shape[1])
        # Five to eight steps are usual, from shares that are near. What they leave makes a support look worse.
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
            # No share goes more than nine tenths of the way to nothing in one step.
            lengths = np.where(step < 0, -0.9 * shares / np.minimum(step, -FAINT), 1.0).min(axis=1)
            shares = shares + np.minimum(lengths, 1.0)[:, None] * step
        shares = shares / shares.sum(axis=1, keepdims=True)
        outputs = np.maximum(np.einsum("sk,skz->sz", shares, rows), FAINT)
        falls = self.highest - self.evidence.log_offset - np.log(outputs) @ counts
        return Supports(values, shares, total * curved, np.maximum(falls, 0.0), self.first - values.shape[1])


def _merged(values: Indices, shares: FloatArray, number: int) -> tuple[Indices, FloatArray]:
    """Return sets of so many values fewer, one a row, and shares to begin with.

    Neighbours that add least to the width of a heap are merged, at the value next to their mean. A single pair is
    also merged at the value on the other side of it, or the least share leaves.
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

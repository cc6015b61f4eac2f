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
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence
from confide.intervals.few_values import FewValues
from confide.intervals.nearby import maximise_nearby
from confide.methods import MLE, Progress

Answer = TypeVar("Answer")

Search = Generator[tuple["Region", FloatArray, float], "PathPoint", Answer]
"""A search for an answer: it asks for points of paths, each by its region, query and tilt, and is sent them.

Whoever runs it may find the points of many searches at a time; see :func:`finish_all`.
"""

TOLERANCE = 1e-5
"""Nats to which each maximum on the path is proven; what is left counts against the bound."""

CLOSE = 1e-2
"""Distance of the root of the fall from the one that is allowed, as a share of it, at which the search ends.

The bound that a point proves is off by half the square of that: by one part in twenty thousand of the interval.
"""

MOST_STEPS = 30

STEEPEST = 1e4
"""A tilt past which nothing moves any more: values that explain nothing. The bound is exact to its inverse there."""

LEAST_FALL = 1e-9
"""Nats below which a fall cannot be told from none."""

RARE = 0.05
"""How often so few values would be refused although no others have people."""

NARROW, NEARLY_ALL = 1e-9, 0.9
UNMOVED = 0.01

NOTHING = 1e-12
"""An answer this near to the lowest that any value gives is the lowest."""


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
    >>> [round(region.lowest(weights, 1.92), 3) for weights in (np.array([1.0, 0.0]), np.array([0.0, 1.0]))]
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
        best = _maxima(evidence, [None] * len(evidence))
        return [
            cls(one, theta, one.log_likelihood(theta), certificate)
            for one, (theta, certificate) in zip(evidence, best, strict=True)
        ]

    @cached_property
    def few_values(self) -> FewValues | None:
        """The distributions among as few values of a line as explain the reports; None elsewhere."""
        from confide.solvers.maximum import LARGEST_TOGETHER as LARGEST

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

        from confide.solvers.maximum import LARGEST_TOGETHER as LARGEST

        values = np.flatnonzero(self.best > NOTHING)
        if max(self.evidence.channel.shape) > LARGEST or values.size == 1 or self.few_values is not None:
            return None
        found, first, leaving = None, values.size, max(1, values.size // 2)
        shares = self.best[values]
        while leaving and values.size > 1:
            some = np.sort(np.argsort(shares, kind="stable")[min(leaving, values.size - 1) :])
            tried = self._among(values[some])
            allowed = float(chdtri(first - some.size, RARE)) / 2
            if tried is None or self.highest_likelihood - tried.highest_likelihood > allowed:
                leaving //= 2
                continue
            found = tried, values[some]
            values, shares = values[some], tried.best
        return found

    def _among(self, values: Indices) -> Region | None:
        """Return the region among some of the values; None where they cannot explain all reports."""
        rows = self.evidence.channel.select(values)
        if not bool((rows[:, self.evidence.counts > 0] > 0).any(axis=0).all()):
            return None
        return Region.of(Evidence(Dense(rows), self.evidence.counts, self.evidence.log_offset))

    def ends(self, weights: FloatArray, fall: float) -> tuple[float, float]:
        """Return the lowest and the highest answer to a query where L falls by no more nats than this."""
        return self.lowest(weights, fall), -self.lowest(-weights, fall)

    def lowest(self, weights: FloatArray, fall: float, least: float | None = None) -> float:
        """Return the lowest answer alone.

        The least weight of any value is given where there are more values than those of the evidence: such as explain
        no report, so that they gain nothing, and the proof above holds for them as well.
        """
        return finish(self.search(weights, fall, least))

    def search(
        self,
        weights: FloatArray,
        fall: float,
        least: float | None = None,
        enough: float = math.inf,
        known: float = math.inf,
    ) -> Search[float]:
        """Do as :meth:`lowest`, and let others find the points of the path: see :data:`Search`.

        It also ends once it is known whether the lowest answer reaches `enough`, and once it is known to reach `known`.
        """
        base = float(weights.min()) if least is None else min(least, float(weights.min()))
        span = float(weights.max()) - base
        if span == 0 or known <= base:  # no answer is lower
            return base
        ends = (enough - base) / span, (known - base) / span
        share = yield from self._search_share((weights - base) / span, fall, *ends)
        return base + span * share

    def _search_share(self, shares: FloatArray, fall: float, enough: float, known: float) -> Search[float]:
        """Return the lowest answer to a query between 0 and 1: the highest bound that a point of the path proves.

        The root of twice the fall grows with the tilt from 0, at first in proportion, so it is what is interpolated.
        """
        fall = max(fall, LEAST_FALL)
        now, wanted = float(shares @ self.best), math.sqrt(2 * fall)
        if now <= NOTHING:
            return 0.0
        below, above, proven = (0.0, 0.0), (math.inf, math.inf), 0.0
        tilt = wanted / math.sqrt(self.evidence.total * max(now * (1 - now), 1 / self.evidence.total))
        if 0 < known < now:
            # The end is near what is known. There a parabola through it has the slope 2 fall / (now - known), which is
            # that of the bound, n tilt / (1 + tilt known).
            steep = 2 * fall / (self.evidence.total * (now - known))
            tilt = steep / (1 - steep * known) if steep * known < NEARLY_ALL else tilt
        for number in range(1, MOST_STEPS + 1):
            point = yield self, shares, tilt
            root = math.sqrt(2 * point.fall)
            proven = max(proven, point.bound(fall, self.evidence.total))
            if abs(root - wanted) <= CLOSE * wanted or (root < wanted and point.answer <= NOTHING):
                break
            if proven >= min(enough, known) or (root < wanted and point.answer < enough < math.inf):
                break
            below, above = ((tilt, root), above) if root < wanted else (below, (tilt, root))
            if below[0] >= STEEPEST or above[0] - below[0] <= NARROW * below[0]:
                break
            tilt = min(_halfway(below, above) if number % 3 == 0 else _between(below, above, wanted), STEEPEST)
        return proven

    def point(self, shares: FloatArray, tilt: float, phi: FloatArray, certificate: float) -> PathPoint:
        """Return the point of the path where all has been gained that the tilt pays for, from the best phi."""
        theta = phi / (1 + tilt * shares)
        return self._judge(shares, tilt, theta / float(theta.sum()), certificate)

    def filled_point(self, shares: FloatArray, tilt: float, keep: float, other: float) -> PathPoint:
        """Return a point of the same path in closed form: water is filled up to the level nu w instead of nu.

        Then q / y = nu w where theta > 0, so with b the probability of other values g = b sum(q / y) + (a - b) nu w,
        which is again in proportion to 1 + tilt u, for another tilt.
        """
        from confide.solvers.maximum import fill_water

        prices = 1 + tilt * shares
        theta = fill_water(self.evidence.frequencies / prices, keep, other)
        flat = other * float(self.evidence.ratio(self.evidence.channel.push(theta)).sum())
        level = (1 - flat) / float(prices @ theta)  # because g . theta = 1
        tilt = float(np.ptp(prices)) * level / (flat + level)
        return self._judge(shares, tilt, theta, 0.0)

    def _judge(self, shares: FloatArray, tilt: float, theta: FloatArray, certificate: float) -> PathPoint:
        fall = self.highest_likelihood - self.evidence.log_likelihood(theta)
        return PathPoint(tilt, float(shares @ theta), max(0.0, fall), certificate)


@dataclass(frozen=True)
class PathPoint:
    """A point of the path.

    Attributes
    ----------
    tilt
        Where it lies.
    answer
        What its distribution answers, between 0 and 1.
    fall
        How far its log-likelihood is below the highest.
    certificate
        By how many nats it may have missed the path.
    """

    tilt: float
    answer: float
    fall: float
    certificate: float

    def bound(self, fall: float, total: float) -> float:
        """Return what no answer can be below where the log-likelihood falls by no more than `fall`; see above."""
        left = (fall - self.fall + self.certificate) / total
        return ((1 + self.tilt * self.answer) * math.exp(-left) - 1) / self.tilt


def _between(below: tuple[float, float], above: tuple[float, float], wanted: float) -> float:
    """Return the tilt to try next: where a power of the tilt that passes through both points meets the wanted root.

    While only one side is known the root is taken to be in proportion to the tilt, and a little more is asked for, so
    that the other side gets known as well.
    """
    if math.isinf(above[0]):
        return below[0] * min(10.0, 1.1 * wanted / max(below[1], 1e-9))
    if below[0] == 0:
        return above[0] * max(0.9 * wanted / above[1], 0.02)
    if below[1] < UNMOVED * wanted:  # at a corner of the simplex a small tilt moves nothing
        return _halfway(below, above)
    part = math.log(wanted / below[1]) / math.log(above[1] / below[1])
    return float(below[0] * (above[0] / below[0]) ** min(max(part, 0.05), 0.95))


def _halfway(below: tuple[float, float], above: tuple[float, float]) -> float:
    """Return the middle, which no shape of the path can make slow."""
    return 2 * below[0] if math.isinf(above[0]) else (below[0] + above[0]) / 2


def finish(search: Search[Answer]) -> Answer:
    """Run one search to its end."""
    return finish_all([search])[0]


def finish_all(searches: Sequence[Search[Answer]], progress: Progress | None = None) -> list[Answer]:
    """Run many searches to their ends, a point of each at a time; the points over one channel are found side by side.

    The progress hears how many are done.
    """
    answers: dict[int, Answer] = {}
    waiting: dict[int, tuple[Region, FloatArray, float]] = {}

    def go_on(place: int, point: PathPoint | None) -> None:
        try:
            search = searches[place]
            waiting[place] = next(search) if point is None else search.send(point)
        except StopIteration as end:
            answers[place] = end.value

    for place in range(len(searches)):
        go_on(place, None)
    while waiting:
        places, asked = list(waiting), list(waiting.values())
        waiting.clear()
        for place, point in zip(places, find_points(asked), strict=True):
            go_on(place, point)
        if progress is not None:
            progress(len(answers))
    return [answers[place] for place in range(len(searches))]


def find_points(asked: Sequence[tuple[Region, FloatArray, float]]) -> list[PathPoint]:
    """Return one point for each region, query and tilt."""
    points: dict[int, PathPoint] = {}
    others = []
    for place, (region, shares, tilt) in enumerate(asked):
        alike = region.evidence.channel.keep_and_other
        if alike is None:
            others.append(place)
        else:
            points[place] = region.filled_point(shares, tilt, *alike)
    factors = [1 / (1 + asked[place][2] * asked[place][1]) for place in others]
    regions = [asked[place][0] for place in others]
    found = _maxima([one.evidence for one in regions], factors, [one.best for one in regions])
    for place, (phi, certificate) in zip(others, found, strict=True):
        region, shares, tilt = asked[place]
        points[place] = region.point(shares, tilt, phi, certificate)
    return [points[place] for place in range(len(asked))]


def _maxima(
    evidence: Sequence[Evidence], factors: Sequence[FloatArray | None], best: Sequence[FloatArray] = ()
) -> list[tuple[FloatArray, float]]:
    """Return the maximum of each, over a channel whose rows may be rescaled, and its certificate.

    `best` has the maxima without the factors, where these are known.
    """
    from confide.solvers.maximum import can_solve_together

    together: dict[object, list[int]] = {}
    for place, one in enumerate(evidence):
        key = one.channel.identity if can_solve_together(one.channel) else (place,)
        together.setdefault(key, []).append(place)
    found: dict[int, tuple[FloatArray, float]] = {}
    for key, places in together.items():
        some = [evidence[place] for place in places]
        scales = [factors[place] for place in places]
        if key == (places[0],):
            solved = [_maximum(some[0], scales[0], best[places[0]] if best else None)]
        else:
            solved = _side_by_side(some, scales, [best[place] for place in places] if best else None)
        found |= zip(places, solved, strict=True)
    return [found[place] for place in range(len(evidence))]


def _side_by_side(
    evidence: Sequence[Evidence], factors: Sequence[FloatArray | None], best: Sequence[FloatArray] | None
) -> list[tuple[FloatArray, float]]:
    from confide.solvers.maximum import maxima

    channel, counts = evidence[0].channel, np.array([one.counts for one in evidence])
    tolerances = np.array([max(TOLERANCE, 4 * one.resolution) / 2 for one in evidence])
    scales = None if factors[0] is None else np.array(factors)
    start = None
    if best is not None and scales is not None:
        start = np.array(best) / scales
        start /= start.sum(axis=1, keepdims=True)
    found = maxima(channel.dense(), counts, tolerances, channel.layout, start=start, factors=scales)
    pairs = zip(found.distributions, found.certificates.tolist(), strict=True)
    return [
        (theta, certificate) if certificate <= 2 * tolerance else _maximum(one, scale)
        for (theta, certificate), tolerance, one, scale in zip(pairs, tolerances, evidence, factors, strict=True)
    ]


def _maximum(
    evidence: Evidence, factors: FloatArray | None, best: FloatArray | None = None
) -> tuple[FloatArray, float]:
    if factors is not None and best is not None:
        nearby = maximise_nearby(evidence, best, factors)
        if nearby is not None:
            return nearby
    scaled = evidence if factors is None else Evidence(evidence.channel.rescaled(factors), evidence.counts)
    theta = MLE(tolerance=max(TOLERANCE, 4 * evidence.resolution)).solve(scaled).distribution
    return theta, scaled.certificate(theta)

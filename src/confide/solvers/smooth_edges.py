"""Smooth distributions that begin or end abruptly: everybody in a survey of adults is 17 or older.

A prior on differences of log theta takes a cliff for a slope, or turns rough all over to follow it. Here nobody is
below one value, or above another, and log theta is smooth in between. Every place for such an edge is as likely
beforehand, so an edge pays log k nats for its place, and the evidence of these fits can be laid beside that of the
others; where edges do not pay, next to nothing of them is in the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpbtrf

from confide.solvers.smooth_prior import (
    Precision,
    PriorFit,
    Problem,
    Progress,
    Span,
    climb,
    penalty_between,
    precision_of,
    problem_between,
)
from confide.solvers.smooth_systems import as_band

MOST_VALUES, MOST_ENTRIES = 256, 65_536
"""Values on a line, and those times different reports, up to which edges are looked for: a fit takes milliseconds."""

SHARES = (0.003, 0.02, 0.08)
"""Shares of the people beyond the edges that are tried first, by the best fit without any."""

HOPE = 5.0
"""Nats beyond its doubt that the first ones may be short of, at a weight that is not their own, to be followed further.

An edge that explains nothing is short of log k and its doubt, 5.6 nats of a hundred values. With one, edges two values
off were given up that bring 15 to 20 nats at their place: nobody below 17, in a pool and in half of the ages alone.
"""

DOUBT, DOUBT_OF_RESPONSE = 1.0, 5.0
"""Nats that an edge must bring beyond its place among k values, and under randomized response.

There a rough prior pays for each value that few people have, and gladly leaves a thin end out: of working hours nobody
above 71, where three in a hundred are. Everywhere, that would lose the edge of the ages at 0.1 per year.
"""

NEIGHBOURS = (-2, -1, 1, 2)
"""Places beside the best one that stand in the average too."""

FEWEST = 4
"""Values that are left between two edges."""

STEEPEST = 1e8
"""No weight is raised beyond it: the determinant of the prior, by its band, would be lost in rounding."""


def add_edges(problem: Problem, fits: Sequence[PriorFit], progress: Progress) -> list[PriorFit]:
    """Return fits with edges that may be worth more than the fits given, which have none; the first is uniform."""
    layout, size = problem.knots.layout, problem.evidence.channel.shape[0]
    is_line = len(layout.shape) == 1 and layout.places is None
    smooth = [fit for fit in fits if fit.order >= 1]
    if problem.matrix is None or problem.matrix.size > MOST_ENTRIES or not smooth:
        return []
    if not is_line or not FEWEST < size <= MOST_VALUES:
        return []
    found: list[PriorFit] = []
    now = max(smooth, key=lambda fit: fit.log_evidence)
    if now.log_evidence < fits[0].log_evidence:
        return []
    for side in (0, 1):
        better = _search(problem, now, side, progress)
        found += better
        # One edge alone may not pay where the prior has to be rough for the other.
        now = max(better, key=lambda fit: fit.log_evidence, default=now)
    return found


def doubt_of(problem: Problem) -> float:
    """Return the nats that an edge must bring beyond its place."""
    return DOUBT if problem.evidence.channel.keep_and_other is None else DOUBT_OF_RESPONSE


def _search(problem: Problem, start: PriorFit, side: int, progress: Progress) -> list[PriorFit]:
    """Look for an edge on one side beside what is known of the other, then for the weight that goes with it."""
    tried: dict[tuple[int, float], PriorFit] = {}
    step = 10.0 ** (start.order / 2)

    def attempt(place: int, weight: float) -> PriorFit:
        if (place, weight) not in tried:
            tried[place, weight] = _fit(problem, start, _moved(start, side, place), weight, progress)
        return tried[place, weight]

    weight, places = start.weight, _places(start, side)
    first = _first_places(start, side, places)
    least = start.log_evidence - HOPE - doubt_of(problem)
    place = _best_place(lambda one: attempt(one, weight).log_evidence, first, places, least)
    if place is None:
        return []
    # Beside an edge the rest is smoother than it seemed.
    while weight < STEEPEST and attempt(place, weight * step).log_evidence > attempt(place, weight).log_evidence:
        weight *= step
    for other in (place + apart for apart in NEIGHBOURS):
        if other in places:
            attempt(other, weight)
    return [fit for fit in tried.values() if math.isfinite(fit.log_evidence) and fit.log_evidence > least]


def _span_of(fit: PriorFit) -> Span:
    return fit.span or (0, fit.theta.size)


def _moved(fit: PriorFit, side: int, place: int) -> Span:
    low, high = _span_of(fit)
    return (low, place) if side else (place, high)


def _places(fit: PriorFit, side: int) -> range:
    """Return where an edge may be: it leaves a value out, and a few in."""
    low, high = _span_of(fit)
    return range(low + FEWEST, high) if side else range(low + 1, high - FEWEST + 1)


def _first_places(fit: PriorFit, side: int, places: range) -> list[int]:
    """Return the ends beyond which few people are, by a fit."""
    sums = np.cumsum(fit.theta[::-1] if side else fit.theta)
    beyond = [int(np.searchsorted(sums, share)) for share in SHARES]
    return sorted({fit.theta.size - one if side else one for one in beyond} & set(places))


def _best_place(height: Callable[[int], float], first: list[int], places: range, least: float) -> int | None:
    """Return the place with the highest evidence, by halving the gaps around the best one; None where none is near."""
    if not first or max(map(height, first)) < least:
        return None
    known = {place: height(place) for place in first}
    gap = max([2, *(right - left for left, right in pairwise(first))])
    while gap > 1:
        gap = (gap + 1) // 2
        best = max(known, key=known.__getitem__)
        for place in (best - gap, best + gap):
            if place in places and place not in known:
                known[place] = height(place)
    return max(known, key=known.__getitem__)


def _fit(problem: Problem, start: PriorFit, span: Span, weight: float, progress: Progress) -> PriorFit:
    """Fit between two edges, and charge the evidence with the cost of each."""
    low, high = span
    inside = problem_between(problem, span)
    penalty = penalty_between(start.order, span)
    prior = precision_of(inside, penalty, weight)
    begin = low - _span_of(start)[0]
    heights, theta, outputs, height = climb(inside, prior, start.heights[begin : begin + high - low], progress)
    volume = inside.system(theta, outputs, prior).log_determinant
    size = problem.evidence.channel.shape[0]
    edges = int(low > 0) + int(high < size)
    log_evidence = height + (_log_determinant(prior) - volume) / 2 - edges * (math.log(size) + doubt_of(problem))
    whole = np.zeros(size)
    whole[low:high] = theta / float(theta.sum())
    return replace(start, weight=weight, log_evidence=log_evidence, heights=heights, theta=whole, span=span)


def _log_determinant(prior: Precision) -> float:
    """Return log det Q by its band: the ends of a line move too often for eigenvalues."""
    factor, info = dpbtrf(as_band(prior.matrix, prior.width), lower=1)
    return 2 * float(np.log(factor[0]).sum()) if info == 0 else -math.inf

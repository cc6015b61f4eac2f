"""Smooth distributions with edges and spikes, each charged for its place.

**Edges**: everybody in a survey of adults is 17 or older. A prior on differences of log theta takes a cliff for a
slope, or turns rough all over to follow it. Here nobody is below one value, or above another, and log theta is smooth
in between. Every place for such an edge is as likely beforehand, so an edge pays log k nats for its place, and the
evidence of these fits can be laid beside that of the others; where edges do not pay, next to nothing of them is in the
answer.

**Spikes**: working hours heap at 40, answers at tens, prices at 99. Here a few values get shares of their own beside
the smooth part. They are found one by one: by how much the likelihood would rise with a little of each value. A spike
pays for its place among k values, log k nats and six more; where they do not pay, none is in the answer. The search
begins at a fit that is too smooth, since a rough one has followed the heaps already. Then the weight of the prior is
lowered as long as that raises the evidence, and further spikes are looked for beside what is smooth there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpbtrf

from confide.channels.base import FloatArray
from confide.solve.search import NonnegativeProgramme
from confide.solve.smooth_prior import (
    SMALLEST_WEIGHT,
    PriorFamily,
    PriorFit,
    Problem,
    Progress,
    Span,
    as_band,
    climb,
    free_spikes,
    penalty_between,
    precision_of,
    problem_between,
)

MOST_VALUES, MOST_ENTRIES = 256, 65_536
"""Values on a line, and those times different reports, up to which edges are looked for: a fit takes milliseconds."""

EDGE_DOUBT, EDGE_DOUBT_OF_RESPONSE = 1.0, 5.0
"""Nats that an edge must bring beyond its place among k values, and under randomized response.

There a rough prior pays for each value that few people have, and gladly leaves a thin end out: of working hours nobody
above 71, where three in a hundred are. Everywhere, that would lose the edge of the ages at 0.1 per year.
"""

FEWEST = 4
"""Values that are left between two edges."""


def add_edges(problem: Problem, fits: Sequence[PriorFit], progress: Progress) -> list[PriorFit]:
    """Return fits with edges that may beat the fits given."""
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
        better = _seek_edge(problem, now, side, progress)
        found += better
        # One edge alone may not pay where the prior has to be rough for the other.
        now = max(better, key=lambda fit: fit.log_evidence, default=now)
    return found


def doubt_of(problem: Problem) -> float:
    """Return the nats that an edge must bring beyond its place."""
    return EDGE_DOUBT if problem.evidence.channel.keep_and_other is None else EDGE_DOUBT_OF_RESPONSE


def _seek_edge(problem: Problem, start: PriorFit, side: int, progress: Progress) -> list[PriorFit]:
    """Search for an edge on one side, then for its weight."""
    tried: dict[tuple[int, float], PriorFit] = {}
    step, (low, high) = 10.0 ** (start.order / 2), start.span or (0, start.theta.size)

    def attempt(place: int, weight: float) -> PriorFit:
        if (place, weight) not in tried:
            span = (low, place) if side else (place, high)
            tried[place, weight] = _fit_between(problem, start, span, weight, progress)
        return tried[place, weight]

    # An edge leaves a value out, and a few in. First come the ends beyond which few people are, by the fit.
    weight, places = start.weight, range(low + FEWEST, high) if side else range(low + 1, high - FEWEST + 1)
    sums = np.cumsum(start.theta[::-1] if side else start.theta)
    beyond = [int(np.searchsorted(sums, share)) for share in (0.003, 0.02, 0.08)]
    first = sorted({start.theta.size - one if side else one for one in beyond} & set(places))
    # The first places, at a weight that is not their own, may be short of 5 nats beyond their doubt. With 1 nat, edges
    # two values off were given up that bring 15 to 20 nats at their place: nobody below 17, in a pool and in half of
    # the ages alone. An edge that explains nothing is short of log k and its doubt, 5.6 nats for a hundred values.
    least = start.log_evidence - 5.0 - doubt_of(problem)
    place = _best_place(lambda one: attempt(one, weight).log_evidence, first, places, least)
    if place is None:
        return []
    # Beside an edge the rest is smoother than it seemed.
    # (Beyond a weight of 1e8 the determinant of the prior, by its band, would be lost in rounding.)
    while weight < 1e8 and attempt(place, weight * step).log_evidence > attempt(place, weight).log_evidence:
        weight *= step
    # Places beside the best one stand in the average too.
    for other in (place + apart for apart in (-2, -1, 1, 2)):
        if other in places:
            attempt(other, weight)
    return [fit for fit in tried.values() if math.isfinite(fit.log_evidence) and fit.log_evidence > least]


def _best_place(height: Callable[[int], float], first: list[int], places: range, least: float) -> int | None:
    """Return the place of highest evidence by bisection, or `None`."""
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


def _fit_between(problem: Problem, start: PriorFit, span: Span, weight: float, progress: Progress) -> PriorFit:
    """Fit between two edges; the evidence pays for each edge."""
    low, high = span
    inside = problem_between(problem, span)
    penalty = penalty_between(start.order, span)
    prior = precision_of(inside, penalty, weight)
    begin = low - (start.span or (0, 0))[0]
    heights, theta, outputs, height = climb(inside, prior, start.heights[begin : begin + high - low], progress)
    volume = inside.system(theta, outputs, prior).log_determinant
    size = problem.evidence.channel.shape[0]
    edges = int(low > 0) + int(high < size)
    # log det Q by its band: the ends of a line move too often for eigenvalues.
    factor, info = dpbtrf(as_band(prior.matrix, prior.width), lower=1)
    determinant = 2 * float(np.log(factor[0]).sum()) if info == 0 else -math.inf
    log_evidence = height + (determinant - volume) / 2 - edges * (math.log(size) + doubt_of(problem))
    whole = np.zeros(size)
    whole[low:high] = theta / float(theta.sum())
    return replace(start, weight=weight, log_evidence=log_evidence, heights=heights, theta=whole, span=span)


ROUNDS, GROWTH = 4, 3
"""Times that spikes are looked for beside a smooth part that was fitted beside those before: 1, 3, 9, ... of them."""

SPIKE_DOUBT = 6.0
"""Nats that a spike must bring beyond its place among k values. With half a nat the replicates of smooth answers had
spikes by chance, and bands of the default were a third too narrow for them; four were nearly enough."""

NEGLIGIBLE = 1e-7
"""Share of a spike that is none."""


def add_spikes(problem: Problem, fits: Sequence[PriorFit], progress: Progress) -> list[PriorFit]:
    """Return fits with spikes that may beat the fits given."""
    ladder = [fit for fit in fits if fit.order >= 1 and fit.span is None]
    # On planes of more cells the search took longer than all else, and found none.
    is_large = len(problem.knots.layout.shape) > 1 and problem.knots.size > 200
    if problem.matrix is None or not ladder or is_large:
        return []
    path = [fit for fit in ladder if fit.order == ladder[0].order]
    found = _seek_spikes(problem, path, progress)
    # A fit that ran into the limits of float64 is no fit.
    return [fit for fit in found if math.isfinite(fit.log_evidence) and bool(np.isfinite(fit.theta).all())]


def cost_of(problem: Problem) -> float:
    """Return the nats that a spike has to bring."""
    return math.log(problem.evidence.channel.shape[0]) + SPIKE_DOUBT


def _seek_spikes(problem: Problem, path: Sequence[PriorFit], progress: Progress) -> Iterator[PriorFit]:
    """Search for spikes beside a smooth fit, lowering its weight."""
    now, spikes, step = path[0], np.zeros(path[0].theta.size), path[0].weight / path[1].weight
    for _ in range(ROUNDS):
        found = _find(problem, now, spikes, max(1, GROWTH * int(np.count_nonzero(spikes))))
        if not found.any() or ((found > 0) == (spikes > 0)).all():
            break
        now = _fit_spikes(problem, replace(now, spikes=found), now.weight, progress)
        spikes = found if now.spikes is None else now.spikes
        yield now
    plain = {round(math.log(fit.weight, step), 1): fit.log_evidence for fit in path}
    best = max(plain.values())
    while spikes.any() and now.weight > SMALLEST_WEIGHT:
        # Far below the best fit without spikes the weight is lowered by two steps at a time.
        factor = step**2 if now.log_evidence < best - 30.0 else step
        rougher = _fit_spikes(problem, replace(now, spikes=spikes), now.weight / factor, progress)
        yield rougher
        # Spikes that do not pay beside a smooth part of this weight pay even less beside a rougher one.
        least = max(now.log_evidence, plain.get(round(math.log(rougher.weight, step), 1), -math.inf))
        if rougher.log_evidence < least or rougher.spikes is None:
            break
        now, spikes = rougher, _find(problem, rougher, rougher.spikes, int(np.count_nonzero(rougher.spikes)))
    if now.spikes is not None and 0 < np.count_nonzero(spikes) < np.count_nonzero(now.spikes):
        yield _fit_spikes(problem, replace(now, spikes=spikes), now.weight, progress)


def _find(problem: Problem, fit: PriorFit, spikes: FloatArray, most: int) -> FloatArray:
    smooth = np.exp(fit.heights)
    return find_spikes(problem, smooth / float(smooth.sum()), spikes, most)


def _fit_spikes(problem: Problem, fit: PriorFit, weight: float, progress: Progress) -> PriorFit:
    """Fit heights and spikes together; the evidence pays for each spike."""
    free = free_spikes(problem, replace(fit, weight=weight))
    moved, *_ = climb(free.problem, free.prior, free.heights, progress)
    spikes, size = np.zeros(fit.theta.size), fit.heights.size
    spikes[free.places] = np.exp(moved[size:])
    spikes[spikes < NEGLIGIBLE] = 0.0
    family = PriorFamily.of(replace(problem, spikes=spikes), fit.order, progress)
    found = family.fit(weight, moved[:size], is_mode=True)
    return replace(found, log_evidence=found.log_evidence - cost_of(problem) * int(np.count_nonzero(spikes)))


def find_spikes(problem: Problem, smooth: FloatArray, spikes: FloatArray, most: int) -> FloatArray:
    """Return the spikes, old and new, that are worth their cost."""
    evidence, matrix = problem.evidence, problem.matrix
    if matrix is None:
        return spikes
    n, q, cost = evidence.total, evidence.frequencies[evidence.seen], cost_of(problem)
    squares = matrix * matrix
    values = [int(value) for value in np.flatnonzero(spikes)]
    rows = np.vstack([matrix[values], smooth @ matrix])
    # Spikes that were fitted with the total left free may add up to a little more than one.
    weights, height = _climb_shares(rows, np.append(spikes[values], max(1.0 - float(spikes.sum()), NEGLIGIBLE)), q, n)
    for value in _doubtful(rows, weights, q, n, values, cost):
        kept = np.append(np.array(values) != value, True)
        fewer, lower = _climb_shares(rows[kept], weights[kept], q, n)
        if lower > height - cost:
            values.remove(value)
            rows, weights, height = rows[kept], fewer, lower
    while len(values) < most:
        ratio = q / (weights @ rows)
        gain = matrix @ ratio - 1.0
        bend = squares @ (ratio * ratio / q) - 2.0 * gain - 1.0
        promise = np.where((gain > 0) & (bend > 0), n * gain**2 / (2.0 * np.maximum(bend, 1e-300)), 0.0)
        promise[values] = 0.0
        value = int(np.argmax(promise))
        # A spike is tried even if it promises only 70 % of its cost: the promise is a quadratic model's.
        if promise[value] < 0.7 * cost:
            break
        more = np.vstack([matrix[value], rows])
        first = min(0.5, float(gain[value] / bend[value]))
        tried, higher = _climb_shares(more, np.append(first, (1.0 - first) * weights), q, n)
        if higher < height + cost:
            break
        is_kept = np.append(tried[:-1] > NEGLIGIBLE, True)
        values = [one for one, kept in zip([value, *values], is_kept, strict=False) if kept]
        rows, weights, height = more[is_kept], tried[is_kept], higher
    found = np.zeros(spikes.size)
    found[values] = weights[:-1] / weights.sum()
    return found


def _doubtful(
    rows: FloatArray, weights: FloatArray, q: FloatArray, n: float, values: list[int], cost: float
) -> list[int]:
    """Return spikes that a quadratic model finds hardly worth their cost."""
    if not values:
        return []
    scaled = rows * (np.sqrt(q) / (weights @ rows))
    bend = scaled @ scaled.T
    bend.flat[:: bend.shape[0] + 1] *= 1 + 1e-12
    loss = n * weights**2 / (2 * np.maximum(np.linalg.inv(bend).diagonal(), 1e-300))
    # What brings twice its cost by the same model is plainly worth it.
    return [value for value, one in zip(values, loss.tolist(), strict=False) if one < 2.0 * cost]


def _climb_shares(rows: FloatArray, weights: FloatArray, q: FloatArray, n: float) -> tuple[FloatArray, float]:
    """Return the likeliest shares of a few output distributions, by Newton."""
    # Where a spike that held everybody is left out, something must explain the reports to begin with.
    weights = np.maximum(weights, NEGLIGIBLE) / float(np.maximum(weights, NEGLIGIBLE).sum())
    height = float(q @ np.log(np.maximum(weights @ rows, 1e-300))) - float(weights.sum())
    for _ in range(12):
        outputs = weights @ rows
        slope = rows @ (q / outputs) - 1.0
        scaled = rows * (np.sqrt(q) / outputs)
        step = NonnegativeProgramme(scaled @ scaled.T).step(slope, weights)
        promise = n * float(slope @ step)
        if promise < 0.02:
            break
        length = 1.0
        while length > 1e-4:
            tried = np.maximum(weights + length * step, 1e-15)  # one in a million million may need what is left
            reached = float(q @ np.log(np.maximum(tried @ rows, 1e-300))) - float(tried.sum())
            if reached > height:
                break
            length /= 2
        else:
            break
        weights, height = tried, reached
    return weights, n * (height + 1.0)

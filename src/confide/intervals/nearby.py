"""Points of a path on a long line: a query that steps at a few places moves the best explanation near these alone.

Far from a step all rows of a stretch are rescaled alike, so that its part of the best explanation of all stays the best
one, up to its weight. The noise forgets in a few multiples of 1 / epsilon. So values near a step are free, each stretch
between is one composite, and the outputs inside it, which nothing else explains, are one. That is a small problem; how
far its solution is from the maximum of the large one, the certificate over all values says, so nothing is taken on
trust.
"""

from __future__ import annotations

import math

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray, Indices, Layout
from confide.evidence import Evidence
from confide.methods import MLE

LONG = 3000
"""Values past which a line is long: the maximum over all of them takes longer than a part and its proof."""

REACHES = (5.0, 10.0)
"""How far from a step values are free, tried in turn, in nats by which the noise has died out there."""

FORGOTTEN = 18.0
"""Nats by which the noise has died out where outputs know nothing of what lies beyond."""

MOST_FREE = 3000
"""Values near steps past which the whole line is solved."""

PROVEN = 5e-3
"""Nats to which it is to be proven: an interval of 1.92 nats is wider by a thousandth for it."""


def maximise_nearby(evidence: Evidence, best: FloatArray, factors: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the maximum over a long line whose rows are rescaled by steps, and its certificate; None if not found so.

    `best` is the maximum without the factors.
    """
    line, size = evidence.channel.line, factors.size
    if line is None or size <= LONG or not 0 < line.ratio < 1:
        return None
    steps = np.flatnonzero(np.diff(factors)) + 1
    for reach in REACHES:
        near, far = (math.ceil(nats / -math.log(line.ratio)) for nats in (reach, FORGOTTEN))
        stretches = _stretches(steps, near, far, size)
        if size - sum(stop - start for start, stop in stretches) > MOST_FREE:
            return None
        theta = _solve(evidence, best, factors, stretches, far)
        scaled = Evidence(evidence.channel.rescaled(factors), evidence.counts)
        certificate = scaled.certificate(theta)
        if certificate <= PROVEN:
            return theta, certificate
    return None


def _stretches(steps: Indices, near: int, far: int, size: int) -> list[tuple[int, int]]:
    """Return what lies between values near steps, where the noise does not reach across."""
    edges = [0, *(edge for step in steps.tolist() for edge in (step - near, step + near)), size]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, stop) for start, stop in pairs if stop - start > 2 * far]


def _solve(
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

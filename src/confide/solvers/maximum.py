"""Maximum of the likelihood, by the solver that suits the channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from confide.channels import Channel, Dense
from confide.channels.base import FloatArray, Layout
from confide.evidence import Evidence
from confide.solvers.interior_point import DenseSystem, LineSystem, interior_point
from confide.solvers.newton_cg import can_run_newton_cg, newton_cg
from confide.solvers.search import LITTLE_OVERLAP, Clock, Found, Progress, overlap
from confide.solvers.support_newton import MOST_FIRST_ATOMS, support_newton

Solver = Callable[[Evidence, FloatArray, Clock, Progress], Found]

LONG_LINE = 3000
"""Values past which a line is solved by its banded interior point: O(k), however large the support."""

FEW_REPORTED = 1000
"""Distinct reports up to which a long line is first solved on the values that were reported, and their neighbours."""

LARGEST_DENSE_SYSTEM = 1500
"""Values up to which the dense interior point is worth its k^3."""

LARGEST_MATRIX = 50_000_000
"""Entries up to which a matrix is stored for it: 400 MB."""


def maximise(evidence: Evidence, clock: Clock, progress: Progress) -> Found:
    """Find the maximum of the likelihood by the solver that suits the channel; let others go on where it ends short."""
    channel = evidence.channel
    if channel.keep_and_other is not None:
        return Found.of(evidence, fill_water(evidence.frequencies, *channel.keep_and_other), 0)
    found = Found.of(evidence, np.full(channel.shape[0], 1.0 / channel.shape[0]), 0)
    for solver in _suitable(evidence):
        found = _go_on(solver, found, evidence, clock, progress)
        if found.certificate <= clock.tolerance or clock.is_over:
            break
    return found


def _suitable(evidence: Evidence) -> Iterator[Solver]:
    """Name the solvers that fit, the best one first; what a later one needs is only looked at when its turn comes."""
    channel = evidence.channel
    if is_line(channel) and channel.shape[0] > LONG_LINE:
        if np.count_nonzero(evidence.counts) <= FEW_REPORTED:
            yield solve_where_reported
        yield follow_path
        return
    is_sharp = channel.shape[0] > MOST_FIRST_ATOMS and overlap(channel) < LITTLE_OVERLAP
    if is_sharp and can_run_newton_cg(evidence):
        yield newton_cg
    yield support_newton
    if can_follow_path(evidence):
        yield follow_path
    if not is_sharp and can_run_newton_cg(evidence):
        yield newton_cg


def _go_on(solver: Solver, found: Found, evidence: Evidence, clock: Clock, progress: Progress) -> Found:
    """Let another solver go on from where one ended, and keep the better of both."""
    before = found.iterations

    def number_on(number: int, outputs: FloatArray) -> None:
        progress(before + number, outputs)

    other = solver(evidence, found.distribution, clock, number_on)
    best = min(found, other, key=lambda one: one.certificate)
    return replace(best, iterations=before + other.iterations)


def follow_path(evidence: Evidence, start: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Run the interior point with the Newton system that the channel allows."""
    channel = evidence.channel
    if channel.line is not None and is_line(channel):
        return interior_point(evidence, LineSystem(channel.line), start, clock, progress)
    return interior_point(evidence, DenseSystem(channel.dense()), start, clock, progress)


def solve_where_reported(evidence: Evidence, start: FloatArray, clock: Clock, progress: Progress) -> Found:
    """Solve a line on the values that were reported and their neighbours, as a small problem of its own.

    Between two reports next to each other the gain is a alpha^x + b alpha^-x times the row's factor. That sum is
    convex, so where rows have no factors of their own the highest gain, and all of the maximum, is at a report; or
    beside it, where a diagonal lowers the report's own value. Whether it is, the certificate over all values shows.
    """
    size, seen = start.size, np.flatnonzero(evidence.counts)
    near = np.unique(np.clip(np.concatenate([[0, size - 1], seen - 1, seen, seen + 1]), 0, size - 1))
    part = Evidence(Dense(evidence.channel.block(near, seen), Layout((near.size,))), evidence.counts[seen])
    found = maximise(part, clock, lambda *_: None)
    distribution = np.zeros(size)
    distribution[near] = found.distribution
    progress(found.iterations, evidence.channel.push(distribution))
    return replace(Found.of(evidence, distribution, found.iteration), iterations=found.iterations)


def can_follow_path(evidence: Evidence) -> bool:
    """Whether the interior point fits."""
    values, outputs = evidence.channel.shape
    if is_line(evidence.channel):
        return True
    return values <= LARGEST_DENSE_SYSTEM and values * outputs <= LARGEST_MATRIX


def is_line(channel: Channel) -> bool:
    """Whether the banded interior point applies."""
    return channel.line is not None and channel.shape[0] > 2


def fill_water(shares: FloatArray, keep: float, other: float, members: FloatArray | None = None) -> FloatArray:
    """Return the maximum under k-RR, of sum_x q_x log((keep - other) theta_x + other), by water-filling.

    Where x is a block of values its number of `members` says how often the chance of another one is in it.

    >>> fill_water(np.array([0.6, 0.4]), 0.75, 0.25).round(3)
    array([0.7, 0.3])
    """
    # The optimality conditions say that q_x / y_x, y = (keep - other) theta + floor, floor = members * other, is one
    # level nu wherever theta_x > 0, and at most nu elsewhere. So theta_x is max(0, q_x / nu - floor) / (keep - other).
    floors = other * (np.ones_like(shares) if members is None else members)
    order = np.argsort(-shares / floors)
    # With the first values above the water, sum(theta) = 1 reads cumulative / nu = (keep - other) + their floors.
    levels = np.cumsum(shares[order]) / ((keep - other) + np.cumsum(floors[order]))
    above = int(np.flatnonzero(shares[order] > levels * floors[order])[-1])
    filled: FloatArray = np.maximum(shares / levels[above] - floors, 0.0)
    return filled / float(filled.sum())


SOLVERS: dict[str, Solver] = {"support-newton": support_newton, "interior-point": follow_path}
"""The engines for every channel by name, for those who want to choose; newton_cg knows planes alone."""

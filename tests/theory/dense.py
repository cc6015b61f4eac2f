"""The whole problem as one matrix, and its maximum by a solver that knows nothing of likely subsets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide import Counts, Mechanism, tally
from confide.evidence.evidence import Evidence
from confide.solve.maximum import DenseSystem, interior_point
from confide.solve.support_newton import Clock, support_newton

Array = NDArray[np.float64]


def highest(evidence: Evidence) -> tuple[float, float]:
    """Return the highest log-likelihood found by two engines, and how much higher any could be."""
    size = evidence.channel.shape[0]
    start = np.full(size, 1 / size)
    best = support_newton(evidence, start, Clock(1e-10, 500, 60.0), lambda *_: None)
    if best.certificate > 1e-9:
        system = DenseSystem(evidence.channel.dense())
        other = interior_point(evidence, system, best.distribution, Clock(1e-10, 500, 60.0), lambda *_: None)
        best = min(best, other, key=lambda one: one.certificate)
    return evidence.log_likelihood(best.distribution), best.certificate


def matrix_of(mechanism: Mechanism, counts: Counts) -> Array:
    """Return P(report | value), one column for each report that was seen, but for a factor a column."""
    columns = []
    for report in counts.reports:
        evidence = mechanism.observe(tally([report]))
        columns.append(evidence.channel.pull((evidence.counts > 0).astype(np.float64)))
    return np.stack(columns, axis=1)


def some_reports(mechanism: Mechanism, people: int, seed: int) -> Counts:
    """Draw reports of a few people whose values lie together, and of one with any value."""
    generator = np.random.default_rng(seed)
    size = mechanism.alphabet.size
    centre, stranger = generator.integers(0, size, 2)
    numbers = np.append(np.clip(centre + generator.integers(-3, 4, people), 0, size - 1), stranger)
    return tally(np.asarray(mechanism.privatize(mechanism.alphabet.decode(numbers), rng=seed, taken=True)))

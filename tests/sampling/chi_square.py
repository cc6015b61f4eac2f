"""Chi-square tests of reports against the probabilities that they should have, for mechanisms with an end or without.

Unbounded reports are put into bins, whose probabilities are summed from the paper's formula by brute force.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc
from tests.kernels import polar
from tests.laws.formulas import lattice_sum, log_probabilities

from confide import Counts, Geometric, Laplace, Mechanism, PlanarGeometric, PlanarLaplace, Taxicab
from confide.values import BitVectors

FloatArray = NDArray[np.float64]
Indices = NDArray[np.int64]

MARGIN = 4
"""How many bins there are beyond the alphabet on every side; the last of them hold all that lies further out."""

LEAST = 10
"""How many reports a bin must lead one to expect, to be tested alone."""


@dataclass(frozen=True)
class Bins:
    """How reports are sorted into bins, and how probable each bin is for some values."""

    place: Callable[[NDArray[Any]], Indices]
    probabilities: FloatArray


def bins_of(mechanism: Mechanism, values: Indices) -> Bins:
    """Return the outputs themselves where there is an end of them, and bins around the alphabet where there is none."""
    if isinstance(mechanism, Geometric | Laplace):
        return _line_bins(mechanism, values)
    if isinstance(mechanism, Taxicab | PlanarGeometric | PlanarLaplace):
        return _plane_bins(mechanism, values)
    if isinstance(mechanism.report_alphabet, BitVectors):
        vectors = np.arange(2**mechanism.alphabet.size)
        return Bins(lambda words: words, np.exp(log_probabilities(mechanism, vectors))[values])
    rows = mechanism.channel.select(values)
    return Bins(mechanism.report_alphabet.encode, rows / rows.sum(axis=1, keepdims=True))


def p_value(table: FloatArray, probabilities: FloatArray) -> float:
    """Return the p-value of counts, one row a value; bins too rare to be tested alone are put together."""
    statistic, freedom = 0.0, 0
    for counts, row in zip(table, probabilities, strict=True):
        expected = counts.sum() * row
        common = expected >= LEAST
        observed = np.append(counts[common], counts[~common].sum())
        foreseen = np.append(expected[common], max(expected[~common].sum(), 1e-9))
        tested = foreseen >= LEAST
        statistic += float(((observed - foreseen) ** 2 / foreseen)[tested].sum())
        freedom += int(tested.sum()) - 1
    return float(gammaincc(freedom / 2, statistic / 2))


def probed_values(size: int) -> Indices:
    """Return the ends, their neighbours and the middle: where a sampler's mistakes differ."""
    return np.unique(np.array([0, min(1, size - 1), size // 2, size - 1]))


def count_bins(mechanism: Mechanism, people: int, seed: int) -> FloatArray:
    """Privatize the probed values and count bins for each, one row a value."""
    probed = probed_values(mechanism.alphabet.size)
    numbers = np.tile(probed, people // probed.size)
    bins = bins_of(mechanism, probed)
    places = bins.place(mechanism.privatize(mechanism.alphabet.decode(numbers), rng=seed, taken=True))
    size = bins.probabilities.shape[1]
    flat = np.bincount(np.searchsorted(probed, numbers) * size + places, minlength=probed.size * size)
    table: FloatArray = flat.reshape(probed.size, size).astype(np.float64)
    return table


def spread(mechanism: Mechanism, counts: Counts, values: Indices) -> FloatArray:
    """Return how many counted reports fell into each bin."""
    bins = bins_of(mechanism, values)
    placed = np.bincount(bins.place(counts.reports), counts.counts, minlength=bins.probabilities.shape[1])
    return placed.astype(np.float64)


def _line_bins(mechanism: Geometric | Laplace, values: Indices) -> Bins:
    low, high = mechanism.alphabet.span
    first, size = low - MARGIN, high - low + 1 + 2 * MARGIN
    steps = np.arange(size)[None, :] - (values[:, None] + MARGIN)
    rate = mechanism.epsilon * mechanism.alphabet.spacing
    above = _geometric_above if isinstance(mechanism, Geometric) else _laplace_above
    reached = above(rate, steps)  # the probability of this bin and all above it
    reached[:, 0] = 1.0
    chances = np.diff(np.hstack([reached, np.zeros((values.size, 1))]), axis=1)
    return Bins(lambda reports: np.clip(np.rint(reports).astype(np.int64) - first, 0, size - 1), -chances)


def _geometric_above(rate: float, steps: Indices) -> FloatArray:
    """Return P(noise >= steps): a geometric series each way."""
    ratio = math.exp(-rate)
    return np.where(steps > 0, ratio ** np.abs(steps), 1 + ratio - ratio ** np.abs(1 - steps)) / (1 + ratio)


def _laplace_above(rate: float, steps: Indices) -> FloatArray:
    """Return P(noise >= steps - 1/2) of continuous noise."""
    tail: FloatArray = np.exp(-rate * np.abs(steps - 0.5)) / 2
    return np.where(steps > 0, tail, 1 - tail)


def _plane_bins(mechanism: Taxicab | PlanarGeometric | PlanarLaplace, values: Indices) -> Bins:
    points = mechanism.alphabet.coordinates.astype(np.int64)
    low = points.min(axis=0) - MARGIN
    shape = points.max(axis=0) + MARGIN - low + 1

    def place(reports: NDArray[Any]) -> Indices:
        cells = np.clip(np.rint(reports).astype(np.int64) - low, 0, shape - 1)
        numbers: Indices = cells[:, 0] * shape[1] + cells[:, 1]
        return numbers

    reach = int(shape.max())
    displacements = _displacements(mechanism, reach)
    down, along = np.divmod(np.arange((2 * reach + 1) ** 2), 2 * reach + 1)
    moves = np.stack([down - reach, along - reach], axis=1)
    rows = [np.bincount(place(points[value] + moves), displacements, minlength=shape.prod()) for value in values]
    return Bins(place, np.array(rows, dtype=np.float64))


def _displacements(mechanism: Taxicab | PlanarGeometric | PlanarLaplace, reach: int) -> FloatArray:
    """Return the probabilities of all displacements up to `reach`; the rim stands for all beyond it."""
    rate = mechanism.epsilon * mechanism.alphabet.spacing
    if isinstance(mechanism, Taxicab):
        steps = np.arange(-reach, reach + 2)[None, :]
        reached = _geometric_above(rate / math.sqrt(2), steps)
        reached[0, 0], reached[0, -1] = 1.0, 0.0
        line = -np.diff(reached[0])
        return np.outer(line, line).reshape(-1)
    if isinstance(mechanism, PlanarGeometric):
        far = np.arange(-reach - math.ceil(40 / rate), reach + math.ceil(40 / rate) + 1)
        density = np.exp(-rate * np.hypot(far[:, None], far)) / lattice_sum(rate)
        place = np.clip(far, -reach, reach) + reach
        numbers = place[:, None] * (2 * reach + 1) + place
        return np.bincount(numbers.reshape(-1), density.reshape(-1)).astype(np.float64)
    return _laplace_displacements(rate, reach)


def _laplace_displacements(rate: float, reach: int) -> FloatArray:
    """Return masses of cells by polar integration; the rim, where hardly anything is, as plain cells."""
    quadrant = np.array([[polar.cell(rate, row, column) for column in range(reach + 1)] for row in range(reach + 1)])
    quadrant[-1, :-1] = [polar.row_tail(rate, reach - 0.5, column) for column in range(reach)]
    quadrant[:-1, -1] = quadrant[-1, :-1]
    quadrant[-1, -1] = polar.beyond(rate, reach - 0.5, reach - 0.5)
    mirror = np.abs(np.arange(-reach, reach + 1))
    return quadrant[mirror[:, None], mirror].reshape(-1)

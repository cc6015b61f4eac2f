"""P(report | value) of mechanisms with unbounded reports, written anew from the paper and summed by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide import (
    Counts,
    Geometric,
    Laplace,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    PlanarGeometric,
    PlanarLaplace,
    Rappor,
    SubsetSelection,
    Taxicab,
    TwoRounds,
    Unary,
)
from confide.values import Grid

FloatArray = NDArray[np.float64]

LINE_STEPS, PLANE_STEPS = 2**16, 2**12
"""Into how many parts continuous mechanisms cut one step of the alphabet, along each axis."""


def log_probabilities(mechanism: Mechanism, reports: NDArray[Any]) -> FloatArray:
    """Return log P(report | value), one row a value."""
    return _FORMULAS[type(mechanism)](mechanism, reports)


def brute_log_likelihood(mechanism: Mechanism, counts: Counts, distribution: FloatArray) -> float:
    """Return the log-probability of all reports, from the formula alone."""
    logs = log_probabilities(mechanism, counts.reports)
    return float(counts.counts @ logsumexp(logs + np.log(distribution)[:, None], axis=0))


def log_peak(rate: float) -> float:
    """Return log of (1 - e^-rate) / (1 + e^-rate), the paper's factor a (eq. linearGeometric)."""
    return math.log(math.tanh(rate / 2))


@cache
def lattice_sum(rate: float) -> float:
    """Return the sum of e^(-rate hypot(i, j)) over all integers i and j: by brute force, or by Poisson's formula.

    The Fourier transform of e^(-rate r) at a frequency k is 2 pi rate / (rate^2 + 4 pi^2 k^2)^(3/2); its sum over all
    integer frequencies is the sum over the lattice. What lies beyond the frequencies summed is close to an integral.
    """
    if rate < 0.02:
        last = 300
        square = np.add.outer(np.arange(-last, last + 1) ** 2, np.arange(-last, last + 1) ** 2)
        terms = 2 * math.pi * rate / (rate**2 + 4 * math.pi**2 * square) ** 1.5
        beyond = 2 * math.pi * rate * 8 * math.sin(math.pi / 4) / ((2 * math.pi) ** 3 * (last + 0.5))
        return float(np.sort(terms.ravel()).sum()) + beyond
    numbers = np.arange(0, math.ceil(45 / rate) + 2)
    copies = 1.0 + (numbers > 0)
    return float(copies @ np.exp(-rate * np.hypot(*np.meshgrid(numbers, numbers))) @ copies)


def _rate(mechanism: Geometric | Laplace | Taxicab | PlanarGeometric | PlanarLaplace) -> float:
    return mechanism.epsilon * mechanism.alphabet.spacing


def _line(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return the distances between values and reports, in steps."""
    distances: FloatArray = np.abs(mechanism.alphabet.coordinates - reports[None, :])
    return distances


def _plane(mechanism: Any, reports: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    assert isinstance(mechanism.alphabet, Grid)
    gaps = np.abs(mechanism.alphabet.coordinates[:, None, :] - reports[None, :, :])
    return gaps[..., 0], gaps[..., 1]


def _geometric(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return equation linearGeometric."""
    rate = _rate(mechanism)
    return log_peak(rate) - rate * _line(mechanism, reports)


def _laplace(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return the same on the fine lattice."""
    rate = _rate(mechanism)
    return log_peak(rate / LINE_STEPS) - rate * _line(mechanism, reports)


def _taxicab(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return equation taxicab, with lambda = epsilon / sqrt 2."""
    rate = _rate(mechanism) / math.sqrt(2)
    down, along = _plane(mechanism, reports)
    return 2 * log_peak(rate) - rate * (down + along)


def _planar_geometric(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return equation pg."""
    rate = _rate(mechanism)
    return -math.log(lattice_sum(rate)) - rate * np.sqrt(sum(gap**2 for gap in _plane(mechanism, reports)))


def _planar_laplace(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return the same on the fine lattice."""
    rate = _rate(mechanism)
    peak = -math.log(lattice_sum(rate / PLANE_STEPS))
    return peak - rate * np.sqrt(sum(gap**2 for gap in _plane(mechanism, reports)))


def _rappor(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return lemma probrappor: p^|X| e^(-(1/2 + S(beta)/2 - beta_x) epsilon), bits read off one by one."""
    size, epsilon = mechanism.alphabet.size, mechanism.epsilon
    log_keep = -math.log1p(math.exp(-epsilon / 2))
    words = reports.reshape(reports.shape[0], -1).tolist()
    bits = np.array([[word[bit // 63] >> (bit % 63) & 1 for bit in range(size)] for word in words], dtype=float)
    logs: FloatArray = size * log_keep - (0.5 + 0.5 * bits.sum(axis=1)[None, :] - bits.T) * epsilon
    return logs


def _bits(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return the product over bits; of two rounds with q* and p* as the authors of RAPPOR have them (2014, lemma 1)."""
    is_twice = isinstance(mechanism, TwoRounds)
    one: Any = mechanism.permanent if is_twice else mechanism
    keep, flip = float(one.keep), float(one.flip)
    if is_twice:
        q, p = float(mechanism.fresh.keep), float(mechanism.fresh.flip)
        keep, flip = keep * q + (1 - keep) * p, flip * q + (1 - flip) * p
    size = mechanism.alphabet.size
    words = reports.reshape(reports.shape[0], -1).tolist()
    bits = np.array([[word[bit // 63] >> (bit % 63) & 1 for bit in range(size)] for word in words], dtype=float)
    own = bits.T * math.log(keep) + (1 - bits.T) * math.log1p(-keep)
    other = bits.T * math.log(flip) + (1 - bits.T) * math.log1p(-flip)
    logs: FloatArray = own - other + other.sum(axis=0)
    return logs


def _optimized_unary(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return a fair coin for the value's own bit, and odds of e^-epsilon for every other (Wang et al., 2017)."""
    size, epsilon = mechanism.alphabet.size, mechanism.epsilon
    words = reports.reshape(reports.shape[0], -1).tolist()
    bits = np.array([[word[bit // 63] >> (bit % 63) & 1 for bit in range(size)] for word in words], dtype=float)
    each = -math.log1p(math.exp(-epsilon)) - epsilon * bits.T
    logs: FloatArray = math.log(0.5) + each.sum(axis=0) - each
    return logs


def _subset_selection(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return e^epsilon for a set with the value and 1 for one without, over the sum of all sets of its size."""
    size, ratio, members = mechanism.alphabet.size, math.exp(mechanism.epsilon), mechanism.members
    words = reports.reshape(reports.shape[0], -1).tolist()
    bits = np.array([[word[bit // 63] >> (bit % 63) & 1 for bit in range(size)] for word in words], dtype=float)
    total = math.comb(size, members) * (1 + (ratio - 1) * members / size)
    logs: FloatArray = bits.T * mechanism.epsilon - math.log(total)
    return np.where(bits.sum(axis=1) == members, logs, -math.inf)


def _local_hashing(mechanism: Any, reports: NDArray[Any]) -> FloatArray:
    """Return e^epsilon for the value's own bucket and 1 for another, by Carter and Wegman's hash in Python's integers.

    Free seeds: the number of the hash is the seed.
    """
    prime, buckets, logs = 2**26 - 5, mechanism.buckets, []
    total = math.log(math.exp(mechanism.epsilon) + buckets - 1) + math.log(prime * (prime - 1))
    for value in range(mechanism.alphabet.size):
        own = [((seed // prime + 1) * value + seed % prime) % prime % buckets for seed in reports[:, 0].tolist()]
        logs.append(mechanism.epsilon * (np.array(own) == reports[:, 1]) - total)
    return np.array(logs)


_FORMULAS: dict[type[Mechanism], Callable[[Any, NDArray[Any]], FloatArray]] = {
    Geometric: _geometric,
    Laplace: _laplace,
    Taxicab: _taxicab,
    PlanarGeometric: _planar_geometric,
    PlanarLaplace: _planar_laplace,
    Rappor: _rappor,
    OptimizedUnary: _optimized_unary,
    SubsetSelection: _subset_selection,
    LocalHashing: _local_hashing,
    Unary: _bits,
    TwoRounds: _bits,
}

"""The same luck at every setting: multinomial counts that change smoothly with people and probabilities.

Two simulations with the same seed but one more person have nothing in common, because samplers reject and retry. Here
each count is a quantile at a fixed uniform number, so that a curve over settings is smooth and a search along it can
trust a small difference. Each draw by itself is exactly multinomial.
"""

from __future__ import annotations

import numpy as np

from confide.channels.base import FloatArray


def draw_uniforms(outputs: int, repeats: int, seed: int) -> FloatArray:
    """Return the luck of each repeat, one row each; more repeats leave the first ones as they were."""
    width = 1 << max(0, (outputs - 1).bit_length())
    return np.array([np.random.default_rng([seed, repeat]).random(width) for repeat in range(repeats)])


def draw_multinomials(shares: FloatArray, people: int, uniforms: FloatArray) -> FloatArray:
    """Return how many of the people fall on each output, one row a repeat.

    The outputs are halved again and again, and the people in a range divided between its two halves: a binomial each
    time, by the quantile at one of the uniforms.

    >>> draw_multinomials(np.array([0.25, 0.5, 0.25]), 1000, draw_uniforms(3, repeats=2, seed=1)).sum(axis=1)
    array([1000., 1000.])
    """
    repeats, width = uniforms.shape
    mass: FloatArray = np.zeros(width)
    mass[: shares.size] = shares / shares.sum()
    counts, taken = np.full((repeats, 1), float(people)), 1
    while counts.shape[1] < width:
        nodes = counts.shape[1]
        halves = mass.reshape(nodes, 2, -1).sum(axis=2)
        total = halves.sum(axis=1)
        left = np.divide(halves[:, 0], total, out=np.zeros(nodes), where=total > 0)
        drawn = _binomial_quantiles(uniforms[:, taken : taken + nodes], counts, left[None, :])
        counts = np.stack([drawn, counts - drawn], axis=2).reshape(repeats, 2 * nodes)
        taken += nodes
    return counts[:, : shares.size]


def _binomial_quantiles(uniforms: FloatArray, trials: FloatArray, chance: FloatArray) -> FloatArray:
    """Return the least k with P(X <= k) >= u, by bisection within what can happen at all."""
    chance = np.broadcast_to(np.clip(chance, 0.0, 1.0), trials.shape)
    reach = 40 * np.sqrt(trials * chance * (1 - chance)) + 40  # beyond this lies less than 1e-300 of the probability
    low = np.maximum(np.floor(trials * chance - reach), 0.0) - 1  # P(X <= low) < u
    high = np.minimum(np.ceil(trials * chance + reach), trials)  # P(X <= high) >= u
    while (high - low).max() > 1:
        middle = np.floor((low + high) / 2)
        enough = _cumulative(middle, trials, chance) >= uniforms
        is_open = high - low > 1
        high = np.where(is_open & enough, middle, high)
        low = np.where(is_open & ~enough, middle, low)
    quantiles: FloatArray = high
    return quantiles


def _cumulative(k: FloatArray, trials: FloatArray, chance: FloatArray) -> FloatArray:
    """P(X <= k) of a binomial, as an incomplete beta function."""
    from scipy.special import betainc

    inside = (k >= 0) & (k < trials)
    below = betainc(np.where(inside, trials - k, 1.0), np.where(inside, k + 1, 1.0), 1 - chance)
    cumulative: FloatArray = np.where(inside, below, (k >= trials).astype(np.float64))
    return cumulative

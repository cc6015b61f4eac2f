"""Values whose rows are the same, found without comparing all pairs.

Equal rows give equal products with any weights, so a few random products sort the values into candidates, at the cost
of a few pulls; only candidates are then compared row by row.
"""

from __future__ import annotations

import numpy as np

from confide.channels import Dense
from confide.channels.base import Channel, FloatArray, Indices

ROUNDING = float(np.finfo(np.float64).eps)

GIVEN = 4 * ROUNDING
"""Probabilities that were given as numbers are the same up to this, relative to themselves: rows are normalised."""

COMPUTED = 64 * ROUNDING
"""The same for those computed here, some as sums. No mechanism has rows that differ and yet differ by so little."""

PROBES = 3
CHUNK = 4_000_000
"""Entries of rows that are compared at a time."""


def find_classes(channel: Channel) -> list[Indices]:
    """Return the values in classes of identical rows, each in order, ordered by their first values.

    Stored matrices may hold anything, so two of their rows are the same only if they agree to the last digits.

    >>> from confide.channels import Dense
    >>> [group.tolist() for group in find_classes(Dense(np.array([[0.4, 0.6], [0.5, 0.5], [0.4, 0.6]])))]
    [[0, 2], [1]]
    """
    groups = [np.arange(channel.shape[0])]
    for weights in np.random.default_rng(0).uniform(0.5, 1.0, (PROBES, channel.shape[1])):
        if len(groups) == channel.shape[0]:
            break
        products = channel.pull(weights)
        groups = [part for group in groups for part in _split_by(products, group)]
    confirmed = [part for group in groups for part in _confirm(channel, group)]
    return sorted(confirmed, key=lambda group: int(group[0]))


def _split_by(products: FloatArray, group: Indices) -> list[Indices]:
    """Split candidates where their products differ by more than products of equal rows can."""
    if group.size == 1:
        return [group]
    order = group[np.argsort(products[group], kind="stable")]
    tolerance = 1e-12 * float(np.abs(products).max())
    breaks = np.flatnonzero(np.diff(products[order]) > tolerance) + 1
    return [np.sort(part) for part in np.split(order, breaks)]


def _confirm(channel: Channel, group: Indices) -> list[Indices]:
    """Compare the rows of candidates, and take apart those that only looked alike."""
    parts = []
    while group.size:
        first, rest = group[:1], group[1:]
        same = _equals(channel, first, rest) if rest.size else np.zeros(0, dtype=bool)
        parts.append(np.concatenate([first, rest[same]]))
        group = rest[~same]
    return parts


def _equals(channel: Channel, first: Indices, others: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    step = max(1, CHUNK // channel.shape[1])
    row, tolerance = channel.select(first), GIVEN if isinstance(channel, Dense) else COMPUTED
    chunks = [channel.select(others[start : start + step]) for start in range(0, others.size, step)]
    return np.concatenate([_is_same(rows, row, tolerance) for rows in chunks])


def _is_same(rows: FloatArray, row: FloatArray, tolerance: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    differences: FloatArray = np.abs(rows - row)
    return np.asarray(np.all(differences <= tolerance * np.maximum(rows, row), axis=1))

"""Distributions with people at as few values of a line as the reports can be explained by.

Where few values have people, the likelihood of the truth is far below the highest: noise moves and widens each heap a
little, and the best explanation follows it with several values in place of one. On three values among a hundred at 0.05
per step the fall is 3.5 nats on average and 7.4 once in twenty times, that of chi-squared with as many degrees of
freedom as the best explanation has more values than the truth. So a share that one value has alone is missed by all
distributions within 1.92 nats in a quarter of all surveys.

Neighbouring values of the best explanation are merged, where that widens least first, as long as chi-squared allows it,
and then each value of what is left is moved to either side as far as that allows. Among the values of each such support
the theorem of Wilks is exact, and the likelihood as good as Gaussian: its region is an ellipsoid, whose ends are in
closed form. A share near nothing is held as it is, so that no ellipsoid reaches below nothing, and ends of sets are
coherent.

The same again with a *rest* beside the values, people spread evenly over the whole line: full values that stand out of
many with few people, such as round numbers. There the best explanation puts the few of many values onto every third,
and takes them from the full ones beside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence

RARES = (0.3, 0.05, 1e-3)
"""How often supports would be refused although no other values have people: values are merged as far as each allows.

The levels of 70, 95 and 99.9 % find the fewest values that they may take for all; other levels are between.
"""

RIDGE, FAINT = 1e-12, 1e-300

NEVER = 1e-150
"""Probability of a report up to which it cannot come from a value: its square, a curvature, is nothing in float64."""


@dataclass(frozen=True, eq=False)
class Supports:
    """Sets of equally many values, the best shares among each, and how these vary.

    Attributes
    ----------
    values, shares
        One row a set. A value past the last is the rest, spread evenly over all.
    information
        The matrix of each set by which the log-likelihood falls away from the best shares.
    falls
        How far the highest log-likelihood of each is below the highest of all.
    fewer
        How many values fewer than the best explanation they have.
    """

    values: Indices
    shares: FloatArray
    information: FloatArray
    falls: FloatArray
    fewer: int

    def only(self, chosen: Indices) -> Supports:
        """Return some of the sets."""
        few = self.values[chosen], self.shares[chosen], self.information[chosen], self.falls[chosen]
        return Supports(*few, self.fewer)

    def above_rest(self) -> Supports:
        """Return the sets whose rest, their last value, is clearly more than nothing: without it others have them."""
        return self.only(np.flatnonzero(np.einsum("skk->sk", self.covariances)[:, -1] > 0))

    @cached_property
    def covariances(self) -> FloatArray:
        """How shares that sum to one vary; those near nothing do not."""
        free, diagonal = np.ones(self.shares.shape, dtype=bool), np.arange(self.shares.shape[1])
        for _ in range(2):
            pairs = free[:, :, None] & free[:, None, :]
            matrix = np.where(pairs, self.information, 0.0)
            matrix[:, diagonal, diagonal] = np.einsum("skk->sk", self.information) * (1 + RIDGE)
            inverse = np.where(pairs, np.linalg.inv(matrix), 0.0)
            sums = inverse.sum(axis=2)
            totals = np.maximum(sums.sum(axis=1), FAINT)
            covariances: FloatArray = inverse - sums[:, :, None] * sums[:, None, :] / totals[:, None, None]
            # A share within four standard errors from nothing is held as it is, at every level.
            free &= self.shares > 4.0 * np.sqrt(np.maximum(np.einsum("skk->sk", covariances), 0.0))
        return covariances


@dataclass(frozen=True, eq=False)
class FewValues:
    """The distributions among few values that explain the reports nearly as well as the best of all.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 0.5)
    >>> evidence = mechanism.observe(mechanism.simulate_counts([0, 0, 900, 0, 0, 0, 600, 0, 0, 0], rng=1))
    >>> best = cf.MLE().solve(evidence).distribution
    >>> few = FewValues.of(evidence, best, evidence.log_likelihood(best))
    >>> few.groups[-1].values[0]
    array([2, 6])
    >>> [round(sign * few.lowest(sign * np.eye(10)[2], 1.96), 2) for sign in (1, -1)]
    [0.56, 0.64]
    """

    groups: Sequence[Supports]
    with_rest: Sequence[Supports] = ()

    @classmethod
    def of(cls, evidence: Evidence, best: FloatArray, highest: float) -> FewValues:
        """Merge and move values, from those of the best explanation and its log-likelihood."""
        values = np.flatnonzero(best > 1e-12)
        alone, beside = (_SupportSearch(evidence, highest, values.size, has_rest) for has_rest in (False, True))
        full = [one.above_rest() for one in beside.run(*beside.with_rest(values, best[values], 0.1))]
        return cls(alone.run(values, best[values]), [one for one in full if one.values.size])

    def lowest(self, weights: FloatArray, errors: float, people: float = 1.0) -> float:
        """Return the lowest answer to a query, at the level of so many standard errors; infinity where there is none.

        With so many times the people falls would be larger, and errors smaller.
        """
        from scipy.special import ndtr  # here, so that blurring loads no more than numpy

        rare, weights = 2 * float(ndtr(-errors)), np.append(weights, weights.mean())
        alone = _lowest(self.groups, weights, rare, errors, people)
        # With a rest it must be five times rarer that supports would be refused. Its shares are more than nothing, so
        # noise below them is followed as well: of ten heaps above an even rest twice the fall exceeds the 95 % point of
        # chi-squared in one survey of eight, and the 99 % point in one of seventeen.
        return min(alone, _lowest(self.with_rest, weights, rare / 5, errors, people))


def _lowest(groups: Sequence[Supports], weights: FloatArray, rare: float, errors: float, people: float) -> float:
    """Return the lowest answer among the supports with the fewest values that are not refused."""
    for one in reversed(groups):
        near = np.flatnonzero(people * one.falls <= _allowed(one.fewer, rare))
        if near.size:
            chosen = weights[one.values[near]]
            variances = np.einsum("sk,skl,sl->s", chosen, one.covariances[near], chosen)
            answers = (chosen * one.shares[near]).sum(axis=1)
            return float((answers - errors * np.sqrt(np.maximum(variances, 0.0) / people)).min())
    return math.inf


def _allowed(fewer: int, rare: float) -> float:
    """Return by how many nats the likelihood may be lower for so many values fewer."""
    from scipy.special import chdtri

    return float(chdtri(fewer, rare)) / 2 if fewer > 0 else 0.0


@dataclass(frozen=True, eq=False)
class _SupportSearch:
    """A search for supports, from the highest likelihood and the number of values of the best explanation."""

    evidence: Evidence
    highest: float
    first: int
    has_rest: bool = False

    @cached_property
    def _matrix(self) -> FloatArray:
        """The channel, to the outputs that were seen; the rest comes last."""
        rows = self.evidence.channel.dense()[:, self.evidence.seen]
        return np.vstack([rows, rows.mean(axis=0)]) if self.has_rest else rows

    def with_rest(self, values: Indices, shares: FloatArray, rest: float) -> tuple[Indices, FloatArray]:
        """Return sets of values, or one, with a rest that has this share to begin with."""
        ends = [*values.shape[:-1], 1]
        past = np.full(ends, self.evidence.channel.shape[0])
        return np.append(values, past, axis=-1), np.append((1 - rest) * shares, np.full(ends, rest), axis=-1)

    def run(self, values: Indices, shares: FloatArray) -> list[Supports]:
        """Return the supports of each size that is the smallest one allowed by some level, moved to all sides."""
        reached: list[Supports] = []
        for rare in RARES:
            found = self._merge(values, shares, rare)
            if found is not None:
                values, shares = found.values[0], found.shares[0]
                reached.append(found)
        moved = [self._moved(one) for one in reached]
        return [one for one in moved if one is not None]

    def _merge(self, values: Indices, shares: FloatArray, rare: float) -> Supports | None:
        """Merge as many neighbours as are allowed, half of all at a time and then fewer; None where none are."""
        found, leaving = None, max(1, values.size // 2)
        while leaving and values.size > 1 + self.has_rest:
            if self.has_rest:
                rest = max(float(shares[-1]), 1e-3)  # the least from which Newton goes on
                tried = self.solve(*self.with_rest(*_merged(values[:-1], shares[:-1], leaving), rest))
            else:
                tried = self.solve(*_merged(values, shares, leaving))
            if not tried.falls.size or tried.falls.min() > _allowed(tried.fewer, rare):
                leaving //= 2
                continue
            found = tried.only(np.argmin(tried.falls, axis=0, keepdims=True))
            values, shares = found.values[0], found.shares[0]
            leaving = min(leaving, max(1, values.size // 2))
        return found

    def _moved(self, reached: Supports) -> Supports | None:
        """Return a support, and all that differ from it by one value that lies elsewhere, as far as that is allowed.

        None where it takes more than four values, or one in eight of all: then reports tell shares well enough for the
        first part of the region, and ends on smooth truths would be wider for nothing.
        """
        values, shares = reached.values[0], reached.shares[0]
        single = values[:-1] if self.has_rest else values
        parts, going = [reached], [(place, side) for place in range(single.size) for side in (-1, 1)]
        size, allowed = self.evidence.channel.shape[0], _allowed(reached.fewer, RARES[-1])
        if single.size > max(4, size // 8) or (self.has_rest and not reached.above_rest().values.size):
            return None
        fences = np.concatenate([[-1], single, [size]])
        for far in range(1, 64):
            inside = [
                (place, side) for place, side in going if fences[place] < values[place] + side * far < fences[place + 2]
            ]
            if not inside:
                break
            moved = np.repeat(values[None, :], len(inside), axis=0)
            for row, (place, side) in enumerate(inside):
                moved[row, place] += side * far
            tried = self.solve(moved, np.repeat(shares[None, :], len(inside), axis=0))
            near = np.flatnonzero(tried.falls <= allowed)
            parts.append(tried.only(near))
            kept = {tuple(row) for row in tried.values[near].tolist()}
            going = [one for one, row in zip(inside, moved.tolist(), strict=True) if tuple(row) in kept]
        names = ("values", "shares", "information", "falls")
        every = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
        return Supports(**every, fewer=reached.fewer)

    def solve(self, values: Indices, shares: FloatArray) -> Supports:
        """Return the best shares among each set of values, by Newton from some; without sets that cannot be."""
        counts, total = self.evidence.counts[self.evidence.seen], self.evidence.total
        rows = self._matrix[values]
        # Every report needs a value that can send it. A value that can send none has no curvature: others do without.
        likely = rows > NEVER
        can = np.flatnonzero(np.all(np.any(likely, axis=1), axis=1) & np.all(np.any(likely, axis=2), axis=1))
        values, shares, rows, frequencies = values[can], shares[can], rows[can], counts / total
        diagonal = np.arange(values.shape[1])
        # Five to eight steps are usual, from shares that are near. What they leave makes a support look worse.
        for _ in range(16):
            outputs = np.maximum(np.einsum("sk,skz->sz", shares, rows), FAINT)
            bent = rows * (np.sqrt(frequencies) / outputs)[:, None, :]
            curved = bent @ bent.transpose(0, 2, 1)
            slope = np.einsum("skz,sz->sk", rows, frequencies / outputs) - 1
            damped = curved.copy()
            damped[:, diagonal, diagonal] *= 1 + RIDGE
            step = np.linalg.solve(damped, slope[:, :, None])[:, :, 0]
            if not step.size or float(np.abs(step).max()) < 1e-6:
                break
            # No share goes more than nine tenths of the way to nothing in one step.
            lengths = np.where(step < 0, -0.9 * shares / np.minimum(step, -FAINT), 1.0).min(axis=1)
            shares = shares + np.minimum(lengths, 1.0)[:, None] * step
        shares = shares / shares.sum(axis=1, keepdims=True)
        outputs = np.maximum(np.einsum("sk,skz->sz", shares, rows), FAINT)
        falls = self.highest - self.evidence.log_offset - np.log(outputs) @ counts
        return Supports(values, shares, total * curved, np.maximum(falls, 0.0), self.first - values.shape[1])


def _merged(values: Indices, shares: FloatArray, number: int) -> tuple[Indices, FloatArray]:
    """Return sets of so many values fewer, one a row, and shares to begin with.

    Neighbours that add least to the width of a heap are merged, at the value next to their mean. A single pair is
    also merged at the value on the other side of it, or the least share leaves.
    """
    left, right = shares[:-1], shares[1:]
    costs = left * right / (left + right) * np.diff(values) ** 2
    pairs: list[int] = []
    for place in np.argsort(costs, kind="stable").tolist():
        if len(pairs) < number and not {place - 1, place, place + 1} & set(pairs):
            pairs.append(place)
    heaps = np.arange(values.size)
    for place in pairs:
        heaps[place + 1] = place
    _, heaps = np.unique(heaps, return_inverse=True)
    together = np.bincount(heaps, weights=shares)
    means = np.bincount(heaps, weights=shares * values) / together
    sets, starts = [np.rint(means)], [together]
    if len(pairs) == 1:
        other = means.copy()
        other[pairs[0]] = min(2 * math.floor(means[pairs[0]]) + 1 - sets[0][pairs[0]], values[pairs[0] + 1])
        least = int(shares.argmin())
        sets += [other, np.delete(values, least)]
        starts += [together, np.delete(shares, least)]
    return np.array(sets).astype(np.int64), np.array(starts) / np.array(starts).sum(axis=1, keepdims=True)

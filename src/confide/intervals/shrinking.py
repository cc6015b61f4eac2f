"""Shares shrunk towards those of other values, as guesses: which sizes there are, and whether neighbours are alike.

Each share is one of few sizes, the atoms of a distribution G that is found from the shares themselves (Robbins'
empirical Bayes, with the G of greatest likelihood), or once in as many values anything from nothing on. From one value
to the next it stays as it is, or nearly, with a probability that is one of :data:`CHAINS`, and else is drawn anew from
G: a hidden Markov chain, whose two passes along the values give each one what its neighbours say of it. Where they say
nothing, the chain that draws all shares anew is the most likely one; how much each chain counts, its likelihood says.

Nothing that is done with a guess rests on its being right, but on knowing how it follows the chance in the reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray, Indices

STEPS = 100
"""Steps of EM towards G; ten times as many made no interval narrower."""

FOLDS = 10
"""Parts of the values, each guessed by a G from the others, so that no G knows the chance that it is to meet.

With a G from all values Stein's correction would be too small by a third to a half.
"""

FINE = 0.5
"""Standard errors from one atom to the next, unless there would be too many."""

MOST_ATOMS = 64
"""Atoms past which they are twice as far apart."""

REACH = np.arange(-2, 4)
"""Atoms around each share, so that it can move by a standard error and still has one."""

CHAINS = ((0.0, 0.0), (0.8, 0.1), (0.96, 0.1), (0.99, 0.1))
"""How often a share stays near that of the value before, and how often it moves by an atom to either side then."""

FAINTEST = 0.2
"""Probability below which a chain is left out."""

LONG = 512
"""Values past which shares are taken to be drawn anew each: a chain takes as many steps as there are values."""

MOVE = 2.0
"""Atoms that shares are moved by to see how far the guess follows: a standard error, or more where atoms are far apart.

By less, a share like no other would seem to stay at its own atom, and to follow nothing.
"""

ROOM = 400_000
"""Numbers that moved shares may take up at a time: as many as a processor keeps near it."""

TINY, FAINT = 1e-3, 1e-300


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Shares shrunk towards those of other values: a guess of each.

    Attributes
    ----------
    shares
        An unbiased estimate of each share.
    least, growth
        The variance of an estimate: that of nothing, and how much each share adds to it.

    >>> shares = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.0, 0.01, -0.01, 0.0, 1.0])
    >>> Shrunk(shares, 1e-4, 1e-4).apart[0].round(1).tolist()  # many alike, and one that is like none
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    shares: FloatArray
    least: float
    growth: float

    @cached_property
    def apart(self) -> tuple[FloatArray, FloatArray]:
        """Each guess by a G that knows nothing of the share itself, and how fast it moves with that share alone."""
        folds = np.random.default_rng(0).permutation(self.shares.size) % FOLDS  # as good as any
        counted = (folds != np.arange(FOLDS)[:, None]).astype(np.float64)
        weights = self._settle(self._densities[None], counted)
        guess, slope = np.zeros_like(self.shares), np.zeros_like(self.shares)
        for some in np.array_split(np.arange(FOLDS), 1 if self.shares.size <= LONG else FOLDS):  # so that they fit
            values = np.flatnonzero(np.isin(folds, some))
            rows = folds[values] - some[0]
            for trust, posterior in zip(*self._mix(self._densities[None], weights[some], self._chains), strict=True):
                means, slopes = self._expect(values, posterior[rows, values])
                guess[values] += trust[rows] * means
                slope[values] += trust[rows] * slopes
        guess = np.maximum(guess, 0.0)
        return guess / guess.sum(), np.maximum(slope, 0.0)

    def _expect(self, values: Indices, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior mean of some values, and how fast it moves with the share."""
        levels, scores = self._levels[values], self._scores[values]
        mean = (posterior * levels).sum(axis=1)
        bent = (posterior * levels * scores).sum(axis=1) - mean * (posterior * scores).sum(axis=1)
        return mean, bent + posterior[:, -1] * self._alone_slopes[values]

    def say(self, queries: FloatArray) -> FloatArray:
        """Return what all guesses say of each query."""
        said: FloatArray = queries @ self._plain
        return said

    @cached_property
    def _plain(self) -> FloatArray:
        (guess,) = self._moved(np.zeros((1, self.shares.size)))
        return np.asarray(guess)

    def follow(self, queries: FloatArray, directions: FloatArray) -> FloatArray:
        """Return by how much what is said of each query moves along a direction: a row of moves each."""
        some = max(1, ROOM // (self.shares.size * (self._atoms.size + 1) * len(self._chains)))
        follows, far = np.empty(len(queries)), MOVE * self._fine
        for begin in range(0, len(queries), some):
            now = slice(begin, begin + some)
            moves = far * directions[now]
            up, down = self._moved(np.concatenate([moves, -moves])).reshape(2, *moves.shape)
            follows[now] = ((up - down) * queries[now]).sum(axis=1) / (2 * far)
        return follows

    def _moved(self, moves: FloatArray) -> FloatArray:
        """Return all guesses after the shares have moved, by row."""
        densities, alone = self._emit(self.shares + moves)
        trusts, posteriors = self._mix(densities, self._settle(densities), self._chains)
        means = posteriors[..., :-1] @ self._atoms + posteriors[..., -1] * alone
        guess = np.einsum("cr,crs->rs", trusts, means)
        scaled: FloatArray = guess / guess.sum(axis=1, keepdims=True)
        return scaled

    @cached_property
    def _fine(self) -> float:
        """Standard errors from one atom to the next."""
        fine = FINE
        while np.unique(self._steps(fine)).size > MOST_ATOMS:
            fine *= 2
        return fine

    def _steps(self, fine: float) -> FloatArray:
        """Return which atoms are around each share, counted from nothing."""
        places = 2 * (np.sqrt(self._variance(self.shares)) - math.sqrt(self.least)) / self.growth
        return np.maximum(np.floor(places / fine)[:, None] + REACH, 0.0)

    @cached_property
    def _atoms(self) -> FloatArray:
        """Shares that G may be made of: even steps in standard errors, next to the shares that there are."""
        places = np.unique(self._steps(self._fine)) * self._fine
        atoms = (np.maximum(places * self.growth / 2 + math.sqrt(self.least), 0.0) ** 2 - self.least) / self.growth
        return np.unique(np.append(atoms, 1 / self.shares.size))

    def _variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the estimates of shares; never nothing, also where it falls as shares grow."""
        return np.maximum(self.least + self.growth * np.maximum(shares, 0.0), TINY * self.least)

    def _emit(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how likely each share is by each atom and, last, by anything from nothing on; and its mean then."""
        spreads = self._variance(self._atoms)
        densities = np.empty((*shares.shape, spreads.size + 1))
        densities[..., :-1] = np.exp(-((shares[..., None] - self._atoms) ** 2) / (2 * spreads)) / np.sqrt(
            2 * np.pi * spreads
        )
        errors, heights, mills = self._cut_off(shares)
        densities[..., :-1] += FAINT
        densities[..., -1] = heights
        return densities, shares + errors * mills

    def _cut_off(self, shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return standard errors, the part of each Gaussian that lies above nothing, and its hazard there."""
        from scipy.special import ndtr  # here, so that blurring loads no more than numpy

        errors = np.sqrt(self._variance(shares))
        heights = np.maximum(ndtr(shares / errors), FAINT)
        return errors, heights, np.exp(-((shares / errors) ** 2) / 2) / math.sqrt(2 * math.pi) / heights

    @cached_property
    def _densities(self) -> FloatArray:
        return self._emit(self.shares)[0]

    @cached_property
    def _levels(self) -> FloatArray:
        """The share that each atom stands for, the last the mean of a share from nothing on."""
        atoms = np.broadcast_to(self._atoms, (self.shares.size, self._atoms.size))
        return np.concatenate([atoms, self._emit(self.shares)[1][:, None]], axis=1)

    @cached_property
    def _scores(self) -> FloatArray:
        """How fast the logarithm of each density grows with the share."""
        errors, _, mills = self._cut_off(self.shares)
        spreads = self._variance(self._atoms)
        return np.concatenate([(self._atoms - self.shares[:, None]) / spreads, (mills / errors)[:, None]], axis=1)

    @cached_property
    def _alone_slopes(self) -> FloatArray:
        errors, _, mills = self._cut_off(self.shares)
        return np.clip(1 - mills * (mills + self.shares / errors), 0.0, 1.0)

    def _settle(self, densities: FloatArray, counted: FloatArray | None = None) -> FloatArray:
        """Return the weights of G, one row for each row of densities or of which values count."""
        some = densities[..., :-1]
        rows = some.shape[0] if counted is None else counted.shape[0]
        weights = np.full((rows, some.shape[-1]), 1 / some.shape[-1])
        if some.shape[0] == 1:  # one product in place of many small ones
            plain = np.ascontiguousarray(some[0])
            numbers = np.ones((1, plain.shape[0])) if counted is None else counted
            for _ in range(STEPS):
                weights = weights * ((numbers / (weights @ plain.T)) @ plain)
                weights /= weights.sum(axis=1, keepdims=True)
            return weights
        for _ in range(STEPS):
            ratios = 1 / np.matmul(some, weights[:, :, None])
            weights = weights * np.matmul(ratios.transpose(0, 2, 1), some)[:, 0]
            weights /= weights.sum(axis=1, keepdims=True)
        return weights

    @cached_property
    def _chains(self) -> tuple[tuple[float, float], ...]:
        """The chains that count."""
        if self.shares.size > LONG:
            return CHAINS[:1]
        trusts, _ = self._mix(self._densities[None], self._settle(self._densities[None]), CHAINS)
        return tuple(one for one, trust in zip(CHAINS, trusts[:, 0], strict=True) if trust > FAINTEST)

    def _mix(
        self, densities: FloatArray, weights: FloatArray, chains: tuple[tuple[float, float], ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Return how likely each chain is, and how likely each value is to have each atom: by chain, row and value."""
        evidence, told = self._told(densities, weights, chains)
        told *= densities
        told /= told.sum(axis=-1, keepdims=True)
        return _scaled(evidence), told

    def _told(
        self, densities: FloatArray, weights: FloatArray, chains: tuple[tuple[float, float], ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each chain, and what all others say of each value: by chain, row and value."""
        rare, size = 1 / self.shares.size, self.shares.size
        first = np.concatenate([(1 - rare) * weights, np.full((weights.shape[0], 1), rare)], axis=1)
        if chains == CHAINS[:1]:  # no value says anything of another
            return np.log((first[:, None] * densities).sum(axis=-1)).sum(axis=-1)[None], np.repeat(
                first[:, None], size, 1
            )[None]
        stay = np.array([one for one, _ in chains])[:, None, None]
        paths = (1 - rare) * stay * np.array([_walk(weights.shape[1], part) for _, part in chains])
        anew, seen_at = (1 - rare) * weights, np.ascontiguousarray(densities.transpose(1, 0, 2))
        now = np.repeat(first[None], len(chains), axis=0)
        told, likelihood = np.empty((size, *now.shape)), np.zeros(now.shape[:2])
        for place in range(size):
            told[place] = now
            seen = now * seen_at[place]
            total = seen.sum(axis=-1, keepdims=True)
            likelihood += np.log(total[..., 0])
            seen /= total
            now = np.empty_like(now)
            now[..., :-1] = np.matmul(seen[..., :-1], paths) + (1 - stay + stay * seen[..., -1:]) * anew
            now[..., -1] = rare
        now = np.ones_like(now)
        for place in range(size - 1, -1, -1):
            told[place] *= now
            seen = now * seen_at[place]
            seen /= seen.sum(axis=-1, keepdims=True)
            drawn = (anew * seen[..., :-1]).sum(axis=-1, keepdims=True) + rare * seen[..., -1:]
            now = np.empty_like(now)
            now[..., :-1] = np.matmul(seen[..., :-1], paths) + (drawn - stay * (drawn - rare * seen[..., -1:]))
            now[..., -1:] = drawn
        return likelihood, told.transpose(1, 2, 0, 3)


def _scaled(evidence: FloatArray) -> FloatArray:
    """Return probabilities from their logarithms."""
    trusts = np.exp(evidence - evidence.max(axis=0))
    scaled: FloatArray = trusts / trusts.sum(axis=0)
    return scaled


def _walk(size: int, part: float) -> FloatArray:
    """Return how often a share goes from each atom to each: a part of the time to the next one on either side."""
    steps = (
        np.diag(np.full(size, 1 - 2 * part))
        + np.diag(np.full(size - 1, part), 1)
        + np.diag(np.full(size - 1, part), -1)
    )
    steps[0, 0] += part
    steps[-1, -1] += part
    return steps


def in_blocks(numbers: FloatArray, size: int) -> FloatArray:
    """Return sums over blocks of so many neighbours, along the last axis.

    >>> in_blocks(np.arange(5.0), 2).tolist()
    [1.0, 5.0, 4.0]
    """
    starts: Indices = np.arange(0, numbers.shape[-1], size)
    return np.asarray(np.add.reduceat(numbers, starts, axis=-1))

"""Confidence intervals under randomized response, from unbiased shares.

Each value has its own output with probability a, and every other output with probability b. So x_z = (q_z - b) / (a -
b) is an unbiased estimate of the share of z, with variance v_z = q_z / (n (a - b)^2). The likelihood cannot use
negative shares, so its maximum is biased if many values are empty: there its interval covers the truth less than half
of the time. The ends here are not biased. They rest on three ideas.

**Coefficients.** Let 0 <= c <= 1 be a query and r <= c any coefficients, one a value. Then r . x estimates r . theta <=
c . theta, so r . x minus z standard errors is a lower end for every truth. r = c is plain inversion. A smaller r_z has
less noise and loses theta_z (c_z - r_z), which is 0 if nobody has z. With a guess m of theta the best are r_z =
min(c_z, p + m_z s / (z v_z)), where s is the standard error and p the mean of r.

**The guess** is the shrunk share of each value: its posterior mean. The prior has few sizes of shares, estimated from
the other values, and neighbours may be similar (:class:`Shrunk`). The guess depends on x_z, so the coefficients depend
on the noise that they multiply. By Stein's identity E[r_z (x_z - theta_z)] = v_z E[r_z'], which is subtracted; it adds
v_z^2 r_z'^2 to the variance.

**Unequal tails.** The interval has the answers v that neither end rejects, the lower at alpha w(v) and the upper at
alpha (1 - w(v)). Together they reject the truth with probability at most alpha, for every w that is independent of the
noise in the ends. For v below the guess, w spends more on the lower end. Intervals are shortest if the guess is right
(Pratt 1961; Yu and Hoff, Biometrika 105, 2018).

The guess c . m does depend on that noise, because it moves with the shares in both ends. To measure how fast, we move
all shares by one standard error along each end (x + V r / s) and guess again, sizes included. This gives kappa_l and
kappa_u. Let l and u be the two sums. Then (c . m - kappa_l l - kappa_u u) / (1 - kappa_l - kappa_u) is free of the
noise, and w is taken from it. Let s be the standard error and kappa the sum of both. A posterior mean that moves this
fast has a prior variance of s^2 kappa / (1 - kappa), which we multiply by :data:`DOUBT`. The best w has g(w) = 2 s (mu
- v) / variance, with g(w) = Phi^-1(alpha w) - Phi^-1(alpha (1 - w)).

**Coherence.** On a line the ends of tails are made monotone by isotonic regression. If a wider tail has the lower end,
both get the mean of the two. The wider tail has at least as many people, so this mean bounds its answer with no more
error. Complements mirror each other. Other sets need not be coherent. That would make intervals much wider: with a
hundred empty values, some set always has a sum far below zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray, Indices
from confide.evidence.evidence import Evidence
from confide.solve.em import FAINT, MatrixPerRow, RowStack, normalised, take_steps, uniform

DOUBT = 4.0
"""Factor on the prior variance of a guess: with 1, intervals are as wide and cover less often."""

TAILS = 4_000_000
"""Most entries of the matrix of tails; longer lines use fewer tails."""

MOST_TAILS = 128
"""Most tails for which the movement of guesses is measured, and most blocks of values."""


@dataclass(frozen=True, eq=False)
class Unbiased:
    """Confidence intervals of queries under randomized response.

    Attributes
    ----------
    evidence
        The reports.
    level
        Coverage of the interval.

    Examples
    --------
    >>> from confide.channels import RandomizedResponseChannel
    >>> evidence = Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([6000.0, 4000.0]))
    >>> low, high = Unbiased(evidence, 0.95).ends(np.array([1.0, 0.0]))
    >>> round(low, 3), round(high, 3)  # 0.7, more or less 1.96 times 0.0098
    (0.681, 0.719)
    """

    evidence: Evidence
    level: float

    def ends(self, weights: FloatArray) -> tuple[float, float]:
        """Return the lower and the upper end of a query."""
        base, span = float(weights.min()), float(np.ptp(weights))
        if span == 0:
            return base, base
        query = (weights - base) / span
        layout = self.evidence.layout
        is_line = layout is not None and len(layout.shape) == 1 and query.size > 2
        place = _as_tail(query) if is_line else None
        low, high = (float(end[0]) for end in self._ends(query[None, :])) if place is None else self._tail(place)
        if place is not None and query[0] == 1:  # the values before a place: the complement of a tail
            low, high = 1 - high, 1 - low
        return base + span * min(max(low, 0.0), 1.0), base + span * min(max(high, 0.0), 1.0)

    def _tail(self, place: int) -> tuple[float, float]:
        """Return the ends for the values from a place on.

        If the place has no tail of its own, the next smaller and wider tails bound it.
        """
        places, low, high = self._tails
        after, before = int(np.searchsorted(places, place)), int(np.searchsorted(places, place, side="right")) - 1
        return float(low[after]) if after < places.size else 0.0, float(high[before]) if before >= 0 else 1.0

    @cached_property
    def _tails(self) -> tuple[Indices, FloatArray, FloatArray]:
        """Places, and the ends of the tail from each place on.

        The widest tail comes first, so ends are non-increasing.
        """
        size = self.evidence.channel.shape[0]
        places = np.unique(np.linspace(1, size - 1, min(size - 1, max(2, TAILS // size))).astype(np.int64))
        ends = self._ends((np.arange(size) >= places[:, None]).astype(np.float64))
        # Pool before clipping: with negative ends set to zero first, means would be biased upwards.
        low, high = (np.clip(_falling(end), 0.0, 1.0) for end in ends)
        return places, low, high

    def _ends(self, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of queries, one a row.

        Queries are scaled to [0, 1].
        """
        if queries.shape[1] < 10:  # too few values to shrink towards
            middle, size = queries @ self._shares, self._spread(queries) ** 0.5
            end = self._quantile(0.5)
            return middle - end * size, middle + end * size
        low, high = self._bound(queries), self._bound(1 - queries)
        mean, variance = self._lean(queries, low, high)
        unit = np.maximum(low.error + high.error, FAINT) / 2
        lower = self._end(low, mean, variance / unit)
        upper = 1 - self._end(high, 1 - mean, variance / unit)
        return np.minimum(lower, upper), np.maximum(lower, upper)

    def _bound(self, queries: FloatArray) -> _LowerBound:
        """Return a lower bound for each answer, with its standard error."""
        guess, slope = self._guesses.apart
        keep, other, scale = self._response
        variances = (other + (keep - other) * guess) / scale
        bend, aim = guess / variances, (self._quantile(0.5) + self._quantile(1.0)) / 2
        chosen, sizes = queries, np.sqrt(_spread(queries, variances))
        # Coordinate ascent, a concave problem: afterwards the bound moves by less than a thousandth of its error.
        for _ in range(40):
            middles = chosen @ variances / variances.sum()
            chosen = np.minimum(queries, middles[:, None] + bend * (sizes / aim)[:, None])
            sizes = np.sqrt(_spread(chosen, variances))
        steepness = slope * other / (scale * variances**2)
        slopes = np.where(chosen < queries, steepness * (sizes / aim)[:, None], 0.0)
        value = chosen @ self._shares - slopes @ self._variances
        error = np.sqrt(self._spread(chosen) + slopes**2 @ self._variances**2)
        return _LowerBound(chosen, value, error)

    def _lean(self, queries: FloatArray, low: _LowerBound, high: _LowerBound) -> tuple[FloatArray, FloatArray]:
        """Return the noise-free guess of each answer, and its variance."""
        said, follows = self._follow(queries, np.stack([low.coefficients, 1 - high.coefficients], axis=1))
        total = follows.sum(axis=1)
        # Subtract at most 95 %: a guess that only follows the noise has no information.
        kappa, taken = np.clip(total, 1e-3, 0.999), np.clip(total, 0.0, 0.95)
        follows = follows * (taken / np.where(total > 0, total, 1.0))[:, None]
        mean = (said - follows[:, 0] * low.value - follows[:, 1] * (1 - high.value)) / (1 - taken)
        return mean, DOUBT * ((low.error + high.error) / 2) ** 2 * kappa / (1 - kappa)

    def _follow(self, queries: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the guess of each query, and its two speeds.

        A speed is how fast the guess moves with one of two sums of shares.
        """
        if self._block == 1 or len(queries) == 1:
            return queries @ self._guesses.plain, self._speeds(self._guesses, queries, sums)
        # On a long line, use blocks of neighbours, and interpolate between tails.
        blocks = in_blocks(queries, self._block) / in_blocks(np.ones_like(self._shares), self._block)
        every = np.arange(len(queries))
        some = np.unique(np.linspace(0, every[-1], min(every.size, MOST_TAILS)).astype(np.int64))
        speeds = self._speeds(self._block_guesses, blocks[some], sums[some], self._block)
        between = [np.interp(every, some, one) for one in speeds.T]
        return blocks @ self._block_guesses.plain, np.stack(between, axis=1)

    def _speeds(self, guesses: Shrunk, queries: FloatArray, sums: FloatArray, block: int = 1) -> FloatArray:
        """Return how fast a guess moves with two sums of shares.

        Shares are in blocks of `block`. Nearly equal sums count as one: only principal axes with at least a twentieth
        of the larger variance are used.
        """
        sums = sums - (sums @ self._variances / self._variances.sum())[..., None]
        sizes, axes = np.linalg.eigh(np.matmul(sums * self._variances, sums.transpose(0, 2, 1)))
        roots = np.sqrt(np.maximum(sizes, FAINT))
        row, axis = np.nonzero(sizes > 0.05 * sizes[:, 1:])
        moves = np.matmul(axes.transpose(0, 2, 1), sums)[row, axis] * self._variances / roots[row, axis, None]
        follows = np.zeros_like(sizes)
        follows[row, axis] = guesses.follow(queries[row], in_blocks(moves, block)) / roots[row, axis]
        speeds: FloatArray = np.matmul(axes, follows[..., None])[..., 0]
        return speeds

    def _end(self, statistic: _LowerBound, mean: FloatArray, width: FloatArray) -> FloatArray:
        """Return the lowest answer that its test does not reject.

        Each w belongs to one v, which falls as w grows. So does the difference between v and the statistic minus its
        quantile.
        """
        shares, quantiles, leans = self._tests
        left = (mean[:, None] - leans * width[:, None] / 2) - statistic.value[:, None]
        left = left + quantiles * statistic.error[:, None]
        place = np.clip((left >= 0).sum(axis=1), 1, shares.size - 1)
        before, after = (left[np.arange(place.size), one] for one in (place - 1, place))
        part = np.clip(before / np.maximum(before - after, FAINT), 0.0, 1.0)
        quantile = quantiles[place - 1] + part * (quantiles[place] - quantiles[place - 1])
        end: FloatArray = statistic.value - quantile * statistic.error
        return end

    @cached_property
    def _tests(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Shares w of alpha, the quantile of each, and g(w)."""
        # Each end gets at least a hundredth of alpha: at 95 % it lies at most 3.3 standard errors out if the guess is
        # wrong.
        shares = np.linspace(0.01, 0.99, 197)
        quantiles = np.array([self._quantile(share) for share in shares.tolist()])
        return shares, quantiles, quantiles[::-1] - quantiles

    def _quantile(self, share: float) -> float:
        """Return the normal quantile of an end, in standard errors.

        `share` is the end's share of alpha.
        """
        from scipy.special import ndtri  # here, so that blurring loads no more than numpy

        return -float(ndtri((1 - self.level) * share))

    @cached_property
    def _response(self) -> tuple[float, float, float]:
        """The probabilities a and b, and n (a - b)^2.

        Variances are divided by the last.
        """
        keep, other = self.evidence.channel.keep_and_other or (0.0, 0.0)  # which is_unbiased rules out
        return keep, other, self.evidence.total * (keep - other) ** 2

    @cached_property
    def _shares(self) -> FloatArray:
        """The unbiased share of each value."""
        keep, other, _ = self._response
        return (self.evidence.frequencies - other) / (keep - other)

    @cached_property
    def _variances(self) -> FloatArray:
        """The variance of each share; of weighted reports, by their squares."""
        return self.evidence.spread / self.evidence.total / self._response[2]

    def _spread(self, coefficients: FloatArray) -> FloatArray:
        """Return the variance of sums of shares."""
        if self.evidence.variances is None:
            return _spread(coefficients, self._variances)
        middles = coefficients @ self.evidence.frequencies
        return self.evidence.quadratic(coefficients - middles[:, None]) / self.evidence.total / self._response[2]

    @cached_property
    def _guesses(self) -> Shrunk:
        keep, other, scale = self._response
        return Shrunk(self._shares, other / scale, (keep - other) / scale)

    @cached_property
    def _block_guesses(self) -> Shrunk:
        """Guesses for blocks of neighbours."""
        return Shrunk(in_blocks(self._shares, self._block), self._guesses.least * self._block, self._guesses.growth)

    @property
    def _block(self) -> int:
        return -(-self._shares.size // MOST_TAILS)


@dataclass(frozen=True, eq=False)
class _LowerBound:
    """Lower bounds on answers: coefficients, values and standard errors, by query."""

    coefficients: FloatArray
    value: FloatArray
    error: FloatArray


def _spread(coefficients: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the variance of weighted sums, one a row of coefficients.

    The counts are multinomial: each report has one output.
    """
    middles = coefficients @ variances / variances.sum()
    spread: FloatArray = (coefficients - middles[:, None]) ** 2 @ variances
    return spread


def _falling(ends: FloatArray) -> FloatArray:
    """Return the nearest non-increasing sequence (isotonic regression).

    >>> _falling(np.array([5.0, 2.0, 3.0, 1.0])).tolist()
    [5.0, 2.5, 2.5, 1.0]
    """
    blocks: list[tuple[float, int]] = []
    for end in ends.tolist():
        mean, size = end, 1
        while blocks and blocks[-1][0] < mean:
            before, number = blocks.pop()
            mean, size = (mean * size + before * number) / (size + number), size + number
        blocks.append((mean, size))
    pooled: FloatArray = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return pooled


def _as_tail(query: FloatArray) -> int | None:
    """Return the place where a tail or its complement is cut.

    None if the query is neither.

    >>> _as_tail(np.array([0.0, 0.0, 1.0])), _as_tail(np.array([1.0, 0.0, 0.0])), _as_tail(np.array([1.0, 0.0, 1.0]))
    (2, 1, None)
    """
    steps = np.flatnonzero(np.diff(query))
    is_tail = steps.size == 1 and {query[0], query[-1]} == {0.0, 1.0}
    return int(steps[0]) + 1 if is_tail else None


CHAINS = ((0.0, 0.0), (0.8, 0.1), (0.96, 0.1), (0.99, 0.1))
"""Probability that a share stays near the previous one, and that it then moves by one atom to either side."""

LONG = 512
"""Size above which shares are taken as independent: a chain takes as many steps as there are values."""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Empirical-Bayes guesses of shares.

    Each share is one of few sizes, the atoms of a distribution G, which is estimated from the shares by maximum
    likelihood (Robbins' empirical Bayes). With probability 1 / number of values it is any positive share instead. From
    one value to the next a share stays the same, or nearly, with a probability from :data:`CHAINS`; otherwise it is
    drawn again from G. This is a hidden Markov chain, solved by one forward and one backward pass. Chains are weighed
    by their likelihood. If neighbours have no information, the chain with independent shares has the greatest weight.

    Intervals do not assume that a guess is right. They only use how fast it moves with the noise in the reports.

    Attributes
    ----------
    shares
        An unbiased estimate of each share.
    least, growth
        The variance of an estimate: at a share of 0, and its slope in the share.

    Examples
    --------
    >>> shares = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.0, 0.01, -0.01, 0.0, 1.0])
    >>> Shrunk(shares, 1e-4, 1e-4).apart[0].round(1).tolist()  # many alike, and one that is like none
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    shares: FloatArray
    least: float
    growth: float

    @cached_property
    def apart(self) -> tuple[FloatArray, FloatArray]:
        """Cross-fitted guesses, and how fast each moves with its share.

        The G of each guess does not use the share itself.
        """
        # Ten-fold cross-fitting: each fold is guessed with a G from the other folds, so no G depends on the noise of
        # its fold. With a G from all values, Stein's correction would be too small by a third to a half.
        folds = np.random.default_rng(0).permutation(self.shares.size) % 10  # as good as any
        counted = (folds != np.arange(10)[:, None]).astype(np.float64)
        densities, alone = self._emit(self.shares)
        weights = self._settle(densities[None], counted)
        # The share of each atom (the last is the mean of any positive share), the score of each density, and the slope
        # of that mean.
        levels = np.concatenate([np.tile(self._atoms, (self.shares.size, 1)), alone[:, None]], axis=1)
        errors, _, mills = self._cut_off(self.shares)
        towards = (self._atoms - self.shares[:, None]) / self._variance(self._atoms)
        scores = np.concatenate([towards, (mills / errors)[:, None]], axis=1)
        alone_slopes = np.clip(1 - mills * (mills + self.shares / errors), 0.0, 1.0)
        guess, slope = np.zeros_like(self.shares), np.zeros_like(self.shares)
        for some in np.array_split(np.arange(10), 1 if self.shares.size <= LONG else 10):  # to limit memory
            values = np.flatnonzero(np.isin(folds, some))
            rows = folds[values] - some[0]
            for trust, told in zip(*self._mix(densities[None], weights[some], self._chains), strict=True):
                # The posterior mean of each value, and its derivative in the share.
                posterior = told[rows, values]
                mean = (posterior * levels[values]).sum(axis=1)
                bent = (posterior * levels[values] * scores[values]).sum(axis=1)
                bent -= mean * (posterior * scores[values]).sum(axis=1)
                guess[values] += trust[rows] * mean
                slope[values] += trust[rows] * (bent + posterior[:, -1] * alone_slopes[values])
        guess = np.maximum(guess, 0.0)
        return guess / guess.sum(), np.maximum(slope, 0.0)

    @cached_property
    def plain(self) -> FloatArray:
        """The guesses from the unmoved shares."""
        return np.asarray(self._moved(np.zeros((1, self.shares.size)))[0])

    def follow(self, queries: FloatArray, directions: FloatArray) -> FloatArray:
        """Return how fast each query's guess moves along a direction.

        Each direction is a row of moves, one a value.
        """
        # A batch has 400,000 numbers, which fit the processor's cache.
        some = max(1, 400_000 // (self.shares.size * (self._atoms.size + 1) * len(self._chains)))
        # Shares move by two atoms: a standard error, or more if atoms are far apart. With a smaller move an isolated
        # share would seem to stay at its own atom.
        follows, far = np.empty(len(queries)), 2.0 * self._fine
        for begin in range(0, len(queries), some):
            now = slice(begin, begin + some)
            moves = far * directions[now]
            up, down = self._moved(np.concatenate([moves, -moves])).reshape(2, *moves.shape)
            follows[now] = ((up - down) * queries[now]).sum(axis=1) / (2 * far)
        return follows

    def _moved(self, moves: FloatArray) -> FloatArray:
        """Return the guesses after the shares have moved, by row."""
        densities, alone = self._emit(self.shares + moves)
        trusts, posteriors = self._mix(densities, self._settle(densities), self._chains)
        means = posteriors[..., :-1] @ self._atoms + posteriors[..., -1] * alone
        guess = np.einsum("cr,crs->rs", trusts, means)
        scaled: FloatArray = guess / guess.sum(axis=1, keepdims=True)
        return scaled

    @cached_property
    def _fine(self) -> float:
        """Standard errors between atoms.

        It is a half, doubled until there are at most 64 atoms.
        """
        fine = 0.5
        while np.unique(self._steps(fine)).size > 64:
            fine *= 2
        return fine

    def _steps(self, fine: float) -> FloatArray:
        """Return the indices of the atoms around each share.

        They cover a move by one standard error.
        """
        places = 2 * (np.sqrt(self._variance(self.shares)) - math.sqrt(self.least)) / self.growth
        return np.maximum(np.floor(places / fine)[:, None] + np.arange(-2, 4), 0.0)

    @cached_property
    def _atoms(self) -> FloatArray:
        """The possible shares of G: near the observed shares.

        Their spacing is even in standard errors.
        """
        places = np.unique(self._steps(self._fine)) * self._fine
        atoms = (np.maximum(places * self.growth / 2 + math.sqrt(self.least), 0.0) ** 2 - self.least) / self.growth
        return np.unique(np.append(atoms, 1 / self.shares.size))

    def _variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the estimates of shares.

        It has a positive floor, also if it falls as shares grow.
        """
        return np.maximum(self.least + self.growth * np.maximum(shares, 0.0), 1e-3 * self.least)

    def _emit(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the density of each share under each atom.

        The last density is that of any positive share. Its posterior mean is returned as well.
        """
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
        """Return standard errors, the Gaussian mass above zero, and its hazard."""
        from scipy.special import ndtr  # here, so that blurring loads no more than numpy

        errors = np.sqrt(self._variance(shares))
        heights = np.maximum(ndtr(shares / errors), FAINT)
        return errors, heights, np.exp(-((shares / errors) ** 2) / 2) / math.sqrt(2 * math.pi) / heights

    def _settle(self, densities: FloatArray, counted: FloatArray | None = None) -> FloatArray:
        """Return the weights of G, one row each.

        There is a row for each row of `densities` or of `counted`, which selects values.
        """
        # Atoms are the values of a channel and shares its outputs: one matrix for all rows, or one for each.
        matrices = np.ascontiguousarray(densities[..., :-1].transpose(0, 2, 1))
        channel = Dense(matrices[0]) if len(matrices) == 1 else MatrixPerRow(matrices)
        numbers = np.ones((len(matrices), self.shares.size)) if counted is None else counted
        rows, start = RowStack.of_shares(channel, normalised(numbers)), uniform(matrices.shape[1])
        return take_steps(rows, start, 100).theta  # ten times as many made no interval narrower

    @cached_property
    def _chains(self) -> tuple[tuple[float, float], ...]:
        """The chains with enough posterior weight."""
        if self.shares.size > LONG:
            return CHAINS[:1]
        densities = self._emit(self.shares)[0][None]
        trusts, _ = self._mix(densities, self._settle(densities), CHAINS)
        return tuple(one for one, trust in zip(CHAINS, trusts[:, 0], strict=True) if trust > 0.2)

    def _mix(
        self, densities: FloatArray, weights: FloatArray, chains: tuple[tuple[float, float], ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of chains, and of atoms for each value.

        Both are by chain and row, the second also by value.
        """
        evidence, told = self._told(densities, weights, chains)
        told *= densities
        told /= told.sum(axis=-1, keepdims=True)
        trusts = np.exp(evidence - evidence.max(axis=0))
        return trusts / trusts.sum(axis=0), told

    def _told(
        self, densities: FloatArray, weights: FloatArray, chains: tuple[tuple[float, float], ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each chain, and leave-one-out priors.

        The prior of each value's atoms comes from all other values (forward-backward algorithm). Axes are chain, row
        and value.
        """
        rare, size = 1 / self.shares.size, self.shares.size
        first = np.concatenate([(1 - rare) * weights, np.full((weights.shape[0], 1), rare)], axis=1)
        if chains == CHAINS[:1]:  # shares are independent
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


def _walk(size: int, part: float) -> FloatArray:
    """Return the transition matrix of a random walk over atoms.

    It goes to each neighbour with probability `part`.
    """
    steps = (
        np.diag(np.full(size, 1 - 2 * part))
        + np.diag(np.full(size - 1, part), 1)
        + np.diag(np.full(size - 1, part), -1)
    )
    steps[0, 0] += part
    steps[-1, -1] += part
    return steps


def in_blocks(numbers: FloatArray, size: int) -> FloatArray:
    """Return sums over blocks of neighbours, along the last axis.

    >>> in_blocks(np.arange(5.0), 2).tolist()
    [1.0, 5.0, 4.0]
    """
    starts: Indices = np.arange(0, numbers.shape[-1], size)
    return np.asarray(np.add.reduceat(numbers, starts, axis=-1))

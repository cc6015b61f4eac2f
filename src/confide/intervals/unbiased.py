"""Ends under randomized response, from shares that are unbiased.

Where each value has an output of its own, and all others are equally likely, x_z = (q_z - b) / (a - b) is an unbiased
estimate of the share of z, with an error of variance v_z = q_z / (n (a - b)^2). The likelihood has no use for a share
below nothing, so its maximum is biased where many values are empty: it covers the truth less than half of the time
there. These ends are not biased, and rest on three ideas.

**Coefficients.** Let 0 <= c <= 1 be a query and r <= c any coefficients, one a value. Then r . x estimates
r . theta <= c . theta, so r . x less z standard errors is a lower end, whatever the truth. r = c is plain inversion; a
smaller r_z has less noise and loses theta_z (c_z - r_z), nothing where nobody has z. With a guess m of theta the best
are r_z = min(c_z, p + m_z s / (z v_z)), s the standard error and p the mean of r.

**The guess** is the shrunk share of each value: its posterior mean, where all shares come from one distribution G that
is itself found from those of other values (Robbins' empirical Bayes, with the G of greatest likelihood), or once in as
many values from anywhere. It knows x_z, and so the coefficients know the chance that they are applied to; by Stein's
identity E[r_z (x_z - theta_z)] = v_z E[r_z'], which is subtracted, and adds v_z^2 r_z'^2 to the variance.

**Unequal tails.** An answer v stays where neither end rejects it, the lower at alpha w(v) and the upper at
alpha (1 - w(v)). Both together reject the truth no more often than alpha, for every w that knows nothing of the chance
in the ends. For v below what the guess says, w spends more on the lower end: intervals are shortest where the guess is
right (Pratt 1961; Yu and Hoff, Biometrika 105, 2018). The guess moves with the ends by a slope kappa. What is left,
were they linear, has the mean mu = (c . m - kappa t) / (1 - kappa) and the variance s^2 kappa / (1 - kappa); the best
w has g(w) = 2 s (mu - v) / variance, g(w) = Phi^-1(alpha w) - Phi^-1(alpha (1 - w)). How far to trust it the same
question tells, asked of all values shifted along: where the guess is farther from the unbiased answers than it should
be, its variance is larger by as much. On a line, for instance, it knows nothing of how values lie beside each other.

**Coherent.** On a line the ends of tails are those next to the ones above that fall as tails get smaller (isotonic
regression). Where a wider tail has the lower end, both get the mean of the two. A wider one has no fewer people, so the
mean of its lower end and those of smaller ones is a bound on its answer with no more error than theirs. Complements
mirror each other. Other sets need not be coherent: that would make intervals much wider, for with a hundred empty
values there is always a set in which chance is far below nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence

FEWEST = 5.0
"""Reports that each output must expect, so that sums of them are as good as Gaussian; else the likelihood is asked."""

FEW_VALUES = 10
"""Values below which others say nothing of one: ends are those of plain inversion."""

FOLDS = 10
"""Parts of the values, each shrunk by a G from the others, so that no G knows the chance that a coefficient is to meet.

With a G from all values Stein's correction would be too small by a third to a half.
"""

STEPS = 100
"""Steps of EM towards G; ten times as many made no interval narrower."""

MOST_ATOMS = 200
"""Shares that G may be made of."""

ROUNDS = 40
"""Rounds of coordinate ascent, a concave problem: afterwards the bound moves by less than a thousandth of its error."""

LEAST_SHARE = 0.01
"""The least part of alpha that one end gets, so that a wrong guess costs no more than one of 3.3 standard errors."""

LEAST_SLOPE, MOST_SLOPE = 1e-3, 0.999

CHANCE = 0.85
"""Part of Stein's correction that is made, by measurement: all of it makes intervals wider by two in a hundred.

What coefficients lose at values with few people is not counted, and keeps ends honest without the rest.
"""

TAILS = 4_000_000
"""Entries of the matrix of all tails; where there are more, tails begin at so many places only as fit."""

FAINT = 1e-300


def is_unbiased(evidence: Evidence) -> bool:
    """Whether shares have an unbiased estimate each, and enough reports for Gaussian errors."""
    alike = evidence.channel.keep_and_other
    return alike is not None and alike[0] != alike[1] and min(alike) * evidence.total >= FEWEST


@dataclass(frozen=True, eq=False)
class Unbiased:
    """Ends of queries under randomized response.

    Attributes
    ----------
    evidence
        The reports.
    level
        How often the ends hold the answer.

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
        place = _as_tail(query) if self._has_tails else None
        low, high = (float(end[0]) for end in self._ends(query[None, :])) if place is None else self._tail(place)
        if place is not None and query[0] == 1:  # the values before a place: all but a tail
            low, high = 1 - high, 1 - low
        return base + span * min(max(low, 0.0), 1.0), base + span * min(max(high, 0.0), 1.0)

    @property
    def _has_tails(self) -> bool:
        layout = self.evidence.layout
        return layout is not None and len(layout.shape) == 1 and self.evidence.channel.shape[0] > 2

    def _tail(self, place: int) -> tuple[float, float]:
        """Return the ends for the values from a place on; where it is not looked at, of the next ones that are."""
        places, low, high = self._tails
        after, before = int(np.searchsorted(places, place)), int(np.searchsorted(places, place, side="right")) - 1
        return float(low[after]) if after < places.size else 0.0, float(high[before]) if before >= 0 else 1.0

    @cached_property
    def _tails(self) -> tuple[Indices, FloatArray, FloatArray]:
        """Places, and the ends for the values from each on, which fall: the widest tail comes first."""
        size = self.evidence.channel.shape[0]
        places = np.unique(np.linspace(1, size - 1, min(size - 1, max(2, TAILS // size))).astype(np.int64))
        ends = self._ends((np.arange(size) >= places[:, None]).astype(np.float64))
        # Pooled as they are: with ends below nothing at nothing, a tail would get the mean of chance above it alone.
        low, high = (np.clip(_falling(end), 0.0, 1.0) for end in ends)
        return places, low, high

    def _ends(self, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends of queries between 0 and 1, one a row."""
        if queries.shape[1] < FEW_VALUES:
            middle, size = queries @ self._shares, _spread(queries, self._variances) ** 0.5
            end = self._quantile(0.5)
            return middle - end * size, middle + end * size
        low, high = self._bound(queries), self._bound(1 - queries)
        mean, variance = self._lean(queries, low, high)
        unit = np.maximum(low.error + high.error, FAINT) / 2
        lower = self._end(low, mean, variance / unit)
        upper = 1 - self._end(high, 1 - mean, variance / unit)
        return np.minimum(lower, upper), np.maximum(lower, upper)

    def _bound(self, queries: FloatArray) -> _LowerBound:
        """Return what bounds each answer from below, with its error."""
        guess, slope = self._guess
        keep, other = self._alike
        variances = (other + (keep - other) * guess) / self._scale
        bend, aim = guess / variances, (self._quantile(0.5) + self._quantile(1.0)) / 2
        chosen, sizes = queries, np.sqrt(_spread(queries, variances))
        for _ in range(ROUNDS):
            middles = chosen @ variances / variances.sum()
            chosen = np.minimum(queries, middles[:, None] + bend * (sizes / aim)[:, None])
            sizes = np.sqrt(_spread(chosen, variances))
        steepness = slope * other / (self._scale * variances**2)
        slopes = np.where(chosen < queries, steepness * (sizes / aim)[:, None], 0.0)
        value = chosen @ self._shares - CHANCE * (slopes @ self._variances)
        error = np.sqrt(_spread(chosen, self._variances) + slopes**2 @ self._variances**2)
        return _LowerBound(chosen, value, error)

    def _lean(self, queries: FloatArray, low: _LowerBound, high: _LowerBound) -> tuple[FloatArray, FloatArray]:
        """Return what the guess says of each answer without the chance in its ends, and how far it may be off."""
        guess, slope = self._guess
        between = (low.coefficients + 1 - high.coefficients) / 2
        middles = between @ self._variances / self._variances.sum()
        spread, said = np.maximum(_spread(between, self._variances), FAINT), queries @ guess
        moved = ((queries - said[:, None]) * (between - middles[:, None])) @ (slope * self._variances)
        kappa = np.clip(moved / spread, LEAST_SLOPE, MOST_SLOPE)
        mean = (said - kappa * (low.value + 1 - high.value) / 2) / (1 - kappa)
        variance = spread * kappa / (1 - kappa)
        return mean, np.maximum(variance, self._record(queries) * (spread + variance) - spread)

    def _record(self, queries: FloatArray) -> FloatArray:
        """Return how far guesses are from unbiased answers, as a multiple of the variance that they should have.

        The mean over all shifts of a query, each weighed by how little its error has to do with that of the query.
        """
        guess, slope = self._guess
        shares, variances = self._shares, self._variances
        total, turned = float(variances.sum()), np.conj(np.fft.rfft(queries))
        squared = np.conj(np.fft.rfft(queries**2))

        def shifted(spectra: FloatArray, values: FloatArray) -> FloatArray:
            found: FloatArray = np.fft.irfft(spectra * np.fft.rfft(values), n=queries.shape[1])
            return found

        middles, said = shifted(turned, variances) / total, shifted(turned, guess)
        spread = np.maximum(shifted(squared, variances) - middles**2 * total, FAINT)
        moving = slope * variances
        moved = shifted(squared, moving) - (middles + said) * shifted(turned, moving) + middles * said * moving.sum()
        kappa = np.clip(moved / spread, LEAST_SLOPE, MOST_SLOPE)
        off = (shifted(turned, shares) - said) ** 2 / ((1 - kappa) * spread)
        common = shifted(turned, queries * variances) - middles * middles[:, :1] * total
        weights = np.clip(1 - common**2 / (spread * spread[:, :1]), 0.0, 1.0)
        record: FloatArray = (weights * off).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
        return record

    def _end(self, statistic: _LowerBound, mean: FloatArray, width: FloatArray) -> FloatArray:
        """Return the lowest answer that its test does not reject.

        Each w is the one of some v, which falls as w grows; so does what the statistic less its quantile leaves to v.
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
        """Shares w of alpha, the quantile that each leaves to an end, and g(w)."""
        shares = np.linspace(LEAST_SHARE, 1 - LEAST_SHARE, 197)
        quantiles = np.array([self._quantile(share) for share in shares.tolist()])
        return shares, quantiles, quantiles[::-1] - quantiles

    def _quantile(self, share: float) -> float:
        """Return how many standard errors out an end lies that may fail in this share of all failures."""
        from scipy.special import ndtri  # here, so that blurring loads no more than numpy

        return -float(ndtri((1 - self.level) * share))

    @property
    def _alike(self) -> tuple[float, float]:
        return self.evidence.channel.keep_and_other or (0.0, 0.0)  # which is_unbiased rules out

    @cached_property
    def _scale(self) -> float:
        keep, other = self._alike
        return self.evidence.total * (keep - other) ** 2

    @cached_property
    def _shares(self) -> FloatArray:
        """The unbiased share of each value."""
        keep, other = self._alike
        return (self.evidence.frequencies - other) / (keep - other)

    @cached_property
    def _variances(self) -> FloatArray:
        return self.evidence.frequencies / self._scale

    @cached_property
    def _guess(self) -> tuple[FloatArray, FloatArray]:
        """The guess of each share, and how fast it moves with the unbiased one."""
        keep, other = self._alike

        def variance(shares: FloatArray) -> FloatArray:
            return (other + (keep - other) * shares) / self._scale

        folds = np.random.default_rng(0).permutation(self._shares.size) % FOLDS  # as good as any
        guess, slope = np.empty_like(self._shares), np.empty_like(self._shares)
        for fold in range(FOLDS):
            some = folds == fold
            guess[some], slope[some] = shrink(self._shares[some], self._shares[~some], variance)
        guess = np.maximum(guess, 0.0)
        return guess / guess.sum(), np.maximum(slope, 0.0)


@dataclass(frozen=True, eq=False)
class _LowerBound:
    """Statistics that bound answers from below: coefficients, values and standard errors, one row a query."""

    coefficients: FloatArray
    value: FloatArray
    error: FloatArray


def shrink(
    shares: FloatArray, others: FloatArray, variance: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean of each share and its derivative, by empirical Bayes from others.

    Parameters
    ----------
    shares, others
        Unbiased shares, and those of other values, which say what shares there are.
    variance
        Takes true shares to the variances of their unbiased estimates.

    >>> means, slopes = shrink(np.array([0.0, 3.0]), np.linspace(-0.2, 0.2, 31), lambda share: 0 * share + 0.01)
    >>> means.round(1), slopes.round()  # one is like the others, one is not
    (array([0., 3.]), array([0., 1.]))
    """
    from scipy.special import ndtr

    seen, numbers = np.unique(others, return_counts=True)
    atoms = np.unique(np.concatenate([[0.0, 1 / (others.size + shares.size)], np.maximum(seen, 0.0)]))
    atoms = atoms[np.unique(np.linspace(0, atoms.size - 1, min(atoms.size, MOST_ATOMS)).astype(np.int64))]
    spreads = variance(atoms)

    def density(given: FloatArray) -> FloatArray:
        found: FloatArray = np.exp(-((given[:, None] - atoms) ** 2) / (2 * spreads)) / np.sqrt(2 * np.pi * spreads)
        return found + FAINT

    of_seen, weights = density(seen), np.full(atoms.size, 1 / atoms.size)
    for _ in range(STEPS):
        weights = weights * ((numbers / (of_seen @ weights)) @ of_seen) / others.size
    posterior = density(shares) * weights
    alike = posterior.sum(axis=1)
    posterior /= alike[:, None]
    score = (atoms - shares[:, None]) / spreads
    mean, pull = posterior @ atoms, (posterior * score).sum(axis=1)
    slope = (posterior * atoms * score).sum(axis=1) - mean * pull
    # One in as many values is unlike all others, anywhere from nothing on: a Gaussian that is cut off there.
    error, rare = np.sqrt(variance(np.maximum(shares, 0.0))), 1 / others.size
    height = np.maximum(ndtr(shares / error), FAINT)
    mills = np.exp(-((shares / error) ** 2) / 2) / math.sqrt(2 * math.pi) / height
    alone, alone_slope = shares + error * mills, np.clip(1 - mills * (mills + shares / error), 0.0, 1.0)
    unlike = rare * height / (rare * height + (1 - rare) * alike)
    bent = (alone - mean) * unlike * (1 - unlike) * (mills / error - pull)
    return (1 - unlike) * mean + unlike * alone, (1 - unlike) * slope + unlike * alone_slope + bent


def _spread(coefficients: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the variance of sums with these coefficients, one a row: of reports of which each has one output."""
    middles = coefficients @ variances / variances.sum()
    spread: FloatArray = (coefficients - middles[:, None]) ** 2 @ variances
    return spread


def _falling(ends: FloatArray) -> FloatArray:
    """Return the nearest sequence that falls, by pooling neighbours that rise (isotonic regression).

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
    """Return the place from which on, or before which, a query asks for all values; None for another one.

    >>> _as_tail(np.array([0.0, 0.0, 1.0])), _as_tail(np.array([1.0, 0.0, 0.0])), _as_tail(np.array([1.0, 0.0, 1.0]))
    (2, 1, None)
    """
    steps = np.flatnonzero(np.diff(query))
    is_tail = steps.size == 1 and {query[0], query[-1]} == {0.0, 1.0}
    return int(steps[0]) + 1 if is_tail else None

"""Ends under randomized response, from shares that are unbiased.

Where each value has an output of its own, and all others are equally likely, x_z = (q_z - b) / (a - b) is an unbiased
estimate of the share of z. The likelihood has no use for a share below nothing, so its maximum is biased where many
values are empty: it covers the truth less than half of the time there. These ends are not.

Let 0 <= c <= 1 be a query and r <= c any coefficients, one a value. Then r . x estimates r . theta <= c . theta, so
r . x less z standard errors is a lower end, whatever the truth. r = c is plain inversion; a smaller r_z has less noise
and loses theta_z (c_z - r_z), nothing where nobody has z. For every p the variance of r . x is at most
sum (r_z - p)^2 v_z, v_z = q_z / (n (a - b)^2), and by Lagrange the lower end is at least

    sum_z [r_z x_z - lambda (r_z - p)^2 v_z] - z^2 / (4 lambda),     for every lambda > 0 and p.

What pays most, had theta been known, is r_z = min(c_z, p + theta_z / (2 lambda v_z)). Reports are dealt into two
halves: each takes theta from the other half, so that r knows nothing of the chance in the x that it is applied to.

**Coherent.** On a line, of a tail the lowest end over all wider tails is taken, so that the ends of tails never lie
inside those of a smaller one. Complements mirror each other. Over windows too this made intervals a sixth wider on
average, and over all sets two thirds: with a hundred empty values there is always a set in which chance is far below
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.methods import IBU

PILOT = IBU(delta=0.1, iteration_limit=300)
"""Finds theta from one half of the reports. It is smooth where reports say little."""

ERRORS, MIDDLES = 48, 33
"""Standard errors, by which lambda = z / (2 error), and p on the grid; what lies between two costs 0.1 %."""

COARSE = 4000
"""Values past which the grid is coarser."""

FEWEST = 5.0
"""Reports that each output must expect, so that sums of them are as good as Gaussian; else the likelihood is asked."""


def is_unbiased(evidence: Evidence) -> bool:
    """Whether shares have an unbiased estimate each, and enough reports for Gaussian errors."""
    alike = evidence.channel.keep_and_other
    return alike is not None and alike[0] != alike[1] and min(alike) * evidence.total >= FEWEST


@dataclass(frozen=True, eq=False)
class Unbiased:
    """Lower ends of queries under randomized response.

    Attributes
    ----------
    evidence
        The reports.
    quantile
        How many standard errors an end lies out, z.
    seed
        What the reports are dealt into halves with.

    >>> from confide.channels import RandomizedResponseChannel
    >>> evidence = Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([6000.0, 4000.0]))
    >>> round(Unbiased(evidence, 1.96, 0).lowest(np.array([1.0, 0.0])), 3)  # 0.7 less 1.96 times 0.0098
    0.681
    """

    evidence: Evidence
    quantile: float
    seed: int

    def lowest(self, weights: FloatArray) -> float:
        """Return the lower end of a query."""
        base, span = float(weights.min()), float(np.ptp(weights))
        if span == 0:
            return base
        query = (weights - base) / span
        tail = _as_tail(query) if self._has_tails else None
        found = self._bound(query) if tail is None else float(self._tails[tail])
        return base + span * min(max(found, 0.0), 1.0)

    def _bound(self, query: FloatArray) -> float:
        """Return the best that any lambda and p prove."""
        found = [self._summands(query[None, :], one).sum(axis=-1) - self._cost(one) for one in self._multipliers]
        return float(np.max(found))

    @property
    def _has_tails(self) -> bool:
        layout = self.evidence.layout
        return layout is not None and len(layout.shape) == 1 and self.evidence.channel.shape[0] > 2

    @cached_property
    def _tails(self) -> FloatArray:
        """Ends of the values from each on, but the first (row 0), and of those before it (row 1)."""
        best = np.full((2, self.evidence.channel.shape[0] - 1), -np.inf)
        for one in self._multipliers:
            inside, outside = (self._summands(np.full((1, 1), side), one) for side in (1.0, 0.0))
            for row, (before, after) in enumerate(((outside, inside), (inside, outside))):
                sums = np.cumsum(before, axis=1)[:, :-1] + np.cumsum(after[:, ::-1], axis=1)[:, ::-1][:, 1:]
                best[row] = np.maximum(best[row], sums.max(axis=0) - self._cost(one))
        upper = np.minimum.accumulate(best[0])  # from the widest on: those that begin before
        lower = np.minimum.accumulate(best[1][::-1])[::-1]
        return np.array([upper, lower])

    def _summands(self, query: FloatArray, multiplier: float) -> FloatArray:
        """Return what each value adds to the bound, for every p."""
        middles = self._middles[:, None]
        found = np.zeros((middles.size, self.evidence.channel.shape[0]))
        for part, shares, variances, pilot, guessed in self._halves:
            chosen = np.minimum(query, middles + pilot / (2 * multiplier * guessed))
            found += part * (chosen * shares - multiplier * (chosen - middles) ** 2 * variances)
        return found

    def _cost(self, multiplier: float) -> float:
        return self.quantile**2 / (4 * multiplier)

    @cached_property
    def _middles(self) -> FloatArray:
        count = MIDDLES if self.evidence.channel.shape[0] <= COARSE else MIDDLES // 3
        middles: FloatArray = np.sin(np.linspace(0.0, np.pi / 2, count)) ** 2  # closer where shares are small
        return middles

    @cached_property
    def _multipliers(self) -> list[float]:
        keep, other = self._alike
        total = self.evidence.total
        largest = 0.55 / (abs(keep - other) * np.sqrt(total))
        smallest = 0.3 * np.sqrt(min(keep, other) / total) / abs(keep - other)
        count = ERRORS if self.evidence.channel.shape[0] <= COARSE else ERRORS // 3
        found: list[float] = (self.quantile / (2 * np.geomspace(smallest, largest, count))).tolist()
        return found

    @property
    def _alike(self) -> tuple[float, float]:
        return self.evidence.channel.keep_and_other or (0.0, 0.0)  # which is_unbiased rules out

    @cached_property
    def _halves(self) -> list[tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Of each half: its part of the reports, shares x, variances v, and from the other half theta and v."""
        keep, other = self._alike
        scale = self.evidence.total * (keep - other) ** 2
        first = _deal(self.evidence.counts, self.seed)
        halves = np.array([first, self.evidence.counts - first])
        pilots = [one.distribution for one in PILOT.solve_many(self.evidence, halves)]
        found = []
        for place, counts in enumerate(halves):
            shares, pilot = counts / counts.sum(), pilots[1 - place]
            guessed = self.evidence.channel.push(pilot) / scale
            part = float(counts.sum()) / self.evidence.total
            found.append((part, (shares - other) / (keep - other), shares / scale, pilot, guessed))
        return found


def _deal(counts: FloatArray, seed: int) -> FloatArray:
    """Return the counts of one half of the reports, dealt at random."""
    whole = np.floor(counts).astype(np.int64)
    generator = np.random.default_rng(seed)
    half: FloatArray = generator.binomial(whole, 0.5).astype(np.float64)
    return half


def _as_tail(query: FloatArray) -> tuple[int, int] | None:
    """Return whether a query asks for the values before a place, and the place less one; None for no tail.

    >>> _as_tail(np.array([0.0, 0.0, 1.0])), _as_tail(np.array([1.0, 0.0, 0.0])), _as_tail(np.array([1.0, 0.0, 1.0]))
    ((0, 1), (1, 0), None)
    """
    steps = np.flatnonzero(np.diff(query))
    is_tail = steps.size == 1 and {query[0], query[-1]} == {0.0, 1.0}
    return (int(query[0]), int(steps[0])) if is_tail else None

"""Goodness of fit: whether counted reports can come from a mechanism at all, whoever the people are.

>>> import confide as cf
>>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
>>> print(fit(cf.tally([50], counts=[5000]), ages))  # doctest: +ELLIPSIS
These reports do not come from this mechanism: 50 was reported 4,8... times too often...

Three statistics, all from the maximum of the likelihood over distributions theta:

- the likelihood ratio against any distribution of reports, G2 = 2 sum c log (c / mu), mu = n theta M;
- a score in the direction of another epsilon, one for each mechanism of a pool;
- the largest residual of a single output, up (bots) and down (clipped devices).

Given the support S of the maximum, G2 is a chi-squared with as many degrees of freedom as there are outputs less the
rank of S: the residual lies in a cone, whose length is independent of its direction. The other two lie in that cone too
and have no such law; they are calibrated by a parametric bootstrap from the maximum, and so is the least of the three
p-values. Bit vectors are nearly all distinct; there the tests are of quantities whose law does not depend on theta.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from confide.channels.base import FloatArray
from confide.counts import Counts, merge
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.mechanisms import Mechanism
from confide.theory.fit.answers import LEVEL, Fit, FitVerdict, GroupFits
from confide.theory.fit.bits import check_bits
from confide.theory.fit.causes import WEIGHTS, causes_of, outliers_of, repetition_of, sights_of
from confide.theory.fit.tables import Group, Look, Tables

ROUNDS = (19, 39, 99)
"""Replicates after which it is asked whether more are needed (Besag and Clifford, 1991)."""

CALM, CLEAR = 0.25, 1e-4
"""The calibrated p-value from which on, and the bound below which, a round of replicates is the last."""

BEYOND_DOUBT = 1e-8
"""The conditional chi-squared p-value below which nothing is simulated."""

GroupKey = TypeVar("GroupKey", bound=Hashable)


def fit(counts: Counts, mechanism: Mechanism, *, seed: int = 0) -> Fit:
    """Test whether reports can come from a mechanism.

    Parameters
    ----------
    counts
        What :func:`confide.tally` made of the reports.
    mechanism
        What they are said to have gone through.
    seed
        The seed of the replicates; the same reports always get the same p-value.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
    >>> people = [20 + number % 40 for number in range(30_000)]
    >>> fit(cf.tally(mechanism.privatize(people, rng=1)), mechanism).verdict
    <FitVerdict.FITS: 'fits'>
    """
    return fit_pool([(counts, mechanism)], seed=seed)


def fit_pool(groups: Sequence[Group], *, seed: int = 0) -> Fit:
    """Test whether the reports of several groups, each through its own mechanism, can come from one population."""
    return examine(groups).test(seed)


def fit_groups(groups: Mapping[GroupKey, Counts], mechanism: Mechanism, *, seed: int = 0) -> GroupFits:
    """Test the reports of each group, and of all together, against the mechanism that all went through.

    All groups together get half the level, and each group its part of the other half, by Holm's procedure.
    """
    if not groups:
        raise InvalidCountsError("There are no groups to test; give at least one.")
    together = fit(merge(groups.values()), mechanism, seed=seed)
    if len(groups) == 1:
        return GroupFits(together, dict.fromkeys(groups, together))
    alone = {key: examine([(one, mechanism)]).screen(seed, len(groups)) for key, one in groups.items()}
    order = sorted(alone, key=lambda key: alone[key].p_value)
    left, fits = len(order), {}
    for place, key in enumerate(order):
        is_bad = left == len(order) - place and alone[key].p_value * left <= LEVEL / 2
        fits[key] = alone[key] if is_bad else alone[key].forgiven()
        left -= is_bad
    return GroupFits(together.judged(LEVEL / 2), {key: fits[key] for key in groups})


def examine(groups: Sequence[Group]) -> Examination:
    """Lay the reports of a pool out for the test, and find the maximum of their likelihood."""
    bits = [pair for pair in groups if pair[1].facts.bits is not None]
    others = [pair for pair in groups if pair[1].facts.bits is None]
    obstacle, tables = "", None
    try:
        tables = Tables.of(others) if others else None
    except InvalidParameterError as error:
        obstacle = str(error)
    return Examination(tables, tuple(bits), obstacle)


@dataclass(frozen=True, eq=False)
class Examination:
    """A pool laid out for the test: parts whose outputs can be listed, and parts that are bit vectors."""

    tables: Tables | None
    bits: tuple[Group, ...]
    obstacle: str = ""

    @property
    def is_loud(self) -> bool:
        """Whether screening leaves a doubt: a maximum, and no replicates."""
        return (self.tables is not None and self.tables.first.is_loud) or bool(self.bits)

    def test(self, seed: int = 0) -> Fit:
        """Run the whole test; parts are independent, so that the least p-value of several is as easily corrected."""
        found = [] if self.tables is None else [_test_tables(self.tables, seed)]
        found += [check_bits(counts, mechanism, seed) for counts, mechanism in self.bits]
        if not found:
            return Fit(FitVerdict.CANNOT_BE_TESTED, 1.0, obstacle=self.obstacle)
        return replace(Fit.joined(found), obstacle=self.obstacle) if self.obstacle else Fit.joined(found)

    def screen(self, seed: int, groups: int) -> Fit:
        """Run the whole test only where it can matter for one of many groups."""
        if self.tables is None or self.bits:
            return self.test(seed)
        look = self.tables.first
        if not look.is_loud or look.p_value * groups <= BEYOND_DOUBT:
            return _bare_fit(self.tables, look, look.p_value, 0)
        return self.test(seed)


def _test_tables(tables: Tables, seed: int) -> Fit:
    """Find the p-value by replicates, as many as are needed, and say what follows from it."""
    look = tables.first
    rows: list[FloatArray] = []
    p_value = look.p_value
    if look.p_value > BEYOND_DOUBT and look.degrees > 0:
        generator, done = np.random.default_rng(seed), 0
        for number in ROUNDS:
            rows += [one.row for one in tables.replicates(look, number - done, generator)]
            done = number
            bound, p_value = _calibrate(look.row, np.array(rows))
            if p_value >= CALM or bound < CLEAR:
                break
    found = _bare_fit(tables, look, p_value, len(rows))
    repeated = repetition_of(tables)
    if repeated is not None:
        found = replace(found, p_value=min(found.p_value, repeated[0]), causes=(repeated[1],))
    found = found.judged()
    if found.is_bad:
        return replace(found, causes=found.causes + causes_of(tables, look))
    return found.with_sights(sights_of(tables, look, np.array(rows)))


def _calibrate(observed: FloatArray, rows: FloatArray) -> tuple[float, float]:
    """Return the weighted Bonferroni bound of the observed statistics, and its rank among those of the replicates."""
    from scipy.special import stdtr

    number = rows.shape[0]
    every = np.vstack([observed, rows])
    spread = np.maximum(rows.std(axis=0, ddof=1), 0.25) * math.sqrt(1 + 1 / number)
    distance = (every - rows.mean(axis=0)) / spread
    bounds = [every[:, 0] / WEIGHTS[0]]
    if every.shape[1] > 3:
        chances = 2 * stdtr(number - 1, -np.abs(distance[:, 3:]))
        bounds.append(chances.min(axis=1) * chances.shape[1] / WEIGHTS[1])
    # A largest residual is the maximum of many: Gumbel's tail, with the mean and the spread of the replicates.
    tails = -np.expm1(-np.exp(-np.clip(math.pi / math.sqrt(6) * distance[:, 1:3] + np.euler_gamma, -20, 700)))
    bounds += [tails[:, 0] / WEIGHTS[2], tails[:, 1] / WEIGHTS[3]]
    least = np.min(bounds, axis=0)
    ranked = (1 + int(np.count_nonzero(least[1:] <= least[0]))) / (number + 1)
    bound = min(1.0, float(least[0]))
    return bound, ranked if ranked > 1 / (number + 1) else min(ranked, bound)


def _bare_fit(tables: Tables, look: Look, p_value: float, replicates: int) -> Fit:
    total = float(tables.counts.sum())
    bare = Fit(FitVerdict.CANNOT_BE_TESTED, p_value, look.statistic, look.degrees, total, replicates)
    return replace(bare, outliers=outliers_of(tables, look)).judged()

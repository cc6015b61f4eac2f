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
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from confide.alphabets import Alphabet
from confide.channels import Channel, Dense
from confide.channels.base import FloatArray
from confide.checks import require_kinds
from confide.counts import Counts, merge, require_counts
from confide.em import RowStack, take_steps, uniform
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.mechanisms import Mechanism
from confide.theory.fit.answers import LEVEL, Fit, FitVerdict, GroupFits
from confide.theory.fit.bits import check_bits, has_bits, ones_residuals
from confide.theory.fit.causes import causes_of, outliers_of, repetition_of, sights_of
from confide.theory.fit.tables import LOUD, Group, Tables, bounds_of, deviances_of, tail_of_ratio

ROUNDS = (19, 39, 99)
"""Replicates after which it is asked whether more are needed (Besag and Clifford, 1991)."""

CALM, CLEAR = 0.25, 1e-4
"""The calibrated p-value from which on, and the bound below which, a round of replicates is the last."""

HOPELESS = 100
"""Times the level that a group is judged at beyond which a bound after 19 replicates ends the test of it."""

BEYOND_DOUBT = 1e-8
"""The conditional chi-squared p-value below which nothing is simulated."""

MANY = 9
"""Groups from which on they are screened side by side, where each test alone takes a fifth of a second."""

SCREENING_STEPS, UNSUSPICIOUS, BLOCK = 60, 0.2, 2**20
"""Steps of EM, the p-value that clears a group, and entries of a stack of groups that are moved at a time."""

SCREENED = "As one of many groups it was screened, and nothing stood out."

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
    require_kinds(fit, locals())
    return fit_pool([(counts, mechanism)], seed=seed)


def fit_pool(groups: Sequence[Group], *, seed: int = 0) -> Fit:
    """Test whether the reports of several groups, each through its own mechanism, can come from one population."""
    require_kinds(fit_pool, locals())
    return examine(groups).test(seed)


def fit_groups(groups: Mapping[GroupKey, Counts], mechanism: Mechanism, *, seed: int = 0) -> GroupFits:
    """Test the reports of each group, and of all together, against the mechanism that all went through.

    All groups together get half the level, and each group its part of the other half, by Holm's procedure. Many groups
    are first screened side by side; the whole test is run for those that are not quiet.
    """
    require_kinds(fit_groups, locals())
    return fit_pools({key: [(one, mechanism)] for key, one in groups.items()}, seed=seed)


def fit_pools(pools: Mapping[GroupKey, Sequence[Group]], *, seed: int = 0) -> GroupFits:
    """Do as :func:`fit_groups`, where the people of a group went through several mechanisms."""
    return _lay_out(pools).test(seed)


def holm(chances: Mapping[GroupKey, float], level: float) -> set[GroupKey]:
    """Return the hypotheses that are rejected at a level for all of them together (Holm, 1979).

    >>> sorted(holm({"a": 0.008, "b": 0.013, "c": 0.02}, 0.025)), sorted(holm({"a": 0.008, "b": 0.012}, 0.025))
    (['a'], ['a', 'b'])
    """
    rejected: set[GroupKey] = set()
    for key in sorted(chances, key=lambda one: chances[one]):
        if chances[key] * (len(chances) - len(rejected)) > level:
            break
        rejected.add(key)
    return rejected


def misfits(groups: Mapping[GroupKey, Counts], mechanism: Mechanism) -> GroupFits | None:
    """Do as :func:`fit_groups`, but only where screening leaves a doubt; None where it leaves none."""
    exam = _lay_out({key: [(one, mechanism)] for key, one in groups.items()})
    if not exam.is_loud:
        return None
    found = exam.test()
    return found if found.is_bad else None


def _lay_out(pools: Mapping[GroupKey, Sequence[Group]]) -> GroupExamination[GroupKey]:
    if not pools:
        raise InvalidCountsError("There are no groups to test; give at least one.")
    parts: dict[Mechanism, list[Counts]] = {}
    for pool in pools.values():
        for counts, mechanism in pool:
            parts.setdefault(mechanism, []).append(counts)
    together = examine([(merge(counts), mechanism) for mechanism, counts in parts.items()])
    return GroupExamination(together, {key: examine(pool) for key, pool in pools.items()})


@dataclass(frozen=True, eq=False)
class GroupExamination(Generic[GroupKey]):
    """Groups laid out for the test: all reports together, and those of each group."""

    together: Examination
    groups: Mapping[GroupKey, Examination]

    @property
    def is_many(self) -> bool:
        """Whether there are so many groups that most of them are only screened."""
        return len(self.groups) >= MANY

    @cached_property
    def quiet(self) -> dict[GroupKey, Fit]:
        """The groups in which screening side by side finds nothing."""
        return _screen(self.groups) if self.is_many else {}

    @property
    def is_loud(self) -> bool:
        """Whether screening leaves a doubt in any group, or in all together."""
        if self.together.is_loud:
            return True
        return any(self._is_loud(one) for key, one in self.groups.items() if key not in self.quiet)

    def _is_loud(self, group: Examination) -> bool:
        # Of many groups only one with a p-value of some 1 in their number can matter.
        return group.is_louder_than(min(LOUD[0], 10 / len(self.groups)) if self.is_many else LOUD[0])

    def test(self, seed: int = 0) -> GroupFits:
        """Run the whole test where screening leaves a doubt; of few groups, for each."""
        together = self.together.test(seed)
        if len(self.groups) == 1:
            return GroupFits(together, dict.fromkeys(self.groups, together))
        alone = {key: self.quiet.get(key) or self._test(one, seed) for key, one in self.groups.items()}
        bad = holm({key: one.p_value for key, one in alone.items()}, LEVEL / 2)
        # Causes take longer to find than a p-value, and are only asked of those that are bad among so many.
        fits = {key: self.groups[key].test(seed) if key in bad else one.forgiven() for key, one in alone.items()}
        return GroupFits(together.judged(LEVEL / 2), fits)

    def _test(self, group: Examination, seed: int) -> Fit:
        level = LEVEL / 2 / len(self.groups)
        if not self.is_many or group.tables is None or group.bits:
            return group.test(seed, level)
        # Where even its maximum shows nothing, replicates would cost time and change nothing; and where there are
        # replicates, what else they would have shown is not asked of one group of many.
        found = _calibrated(group.tables, seed, level)[0] if self._is_loud(group) else _bare_fit(group.tables)
        return found if found.is_bad else replace(found, obstacle=SCREENED)


def _screen(exams: Mapping[GroupKey, Examination]) -> dict[GroupKey, Fit]:
    """Return the fit of those groups that nothing stands out in, found by EM on all groups of one layout at once."""
    layouts: dict[bytes, list[tuple[GroupKey, Tables]]] = {}
    for key, exam in exams.items():
        if exam.tables is not None and len(exam.tables.parts) == 1 and not exam.bits:
            layouts.setdefault(exam.tables.parts[0].cells.tobytes(), []).append((key, exam.tables))
    quiet, suspicious = {}, min(UNSUSPICIOUS, 10 / len(exams))
    for found in layouts.values():
        channel = Dense(found[0][1].channel.dense())
        rows = max(1, BLOCK // max(channel.shape))
        for start in range(0, len(found), rows):
            block = found[start : start + rows]
            counts = np.array([tables.counts for _, tables in block])
            chances, residuals = _screen_rows(counts, channel)
            for (key, tables), row, chance, residual in zip(block, counts, chances, residuals, strict=True):
                if chance > suspicious and residual < LOUD[2] and not repetition_of(tables):
                    quiet[key] = Fit(FitVerdict.CANNOT_BE_TESTED, float(chance), reports=row.sum(), obstacle=SCREENED)
    return quiet


def _screen_rows(counts: FloatArray, channel: Channel) -> tuple[FloatArray, FloatArray]:
    """Return about P(G2 is larger) and the largest residual of each row, from EM stopped early.

    It stops below the maximum, so that G2 is a little too large; a tenth of the outputs for the rank is too little, and
    both make the p-value err to the side of doubt.
    """
    totals, (size, cells) = counts.sum(axis=1, keepdims=True), channel.shape
    step = take_steps(RowStack.of_shares(channel, counts / totals), uniform(size), SCREENING_STEPS)
    expected = np.maximum(totals * step.outputs, 1e-300)
    deviances = deviances_of(counts, expected)
    return tail_of_ratio(deviances.sum(axis=1), expected, cells // 10), np.sqrt(deviances.max(axis=1))


def examine(groups: Sequence[Group], known: FloatArray | None = None) -> Examination:
    """Lay the reports of a pool out for the test; the maximum of their likelihood is found when asked for.

    It may be `known` already, for all mechanisms of the pool together.
    """
    given: Sequence[Any] = groups
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Mechanism):
            raise InvalidParameterError(f"A group is a pair (counts, mechanism); got {pair!r}.")
        require_counts(pair[0])
    sure = [(counts.independent, mechanism) for counts, mechanism in groups]
    bits = [pair for pair in sure if has_bits(pair[1])]
    others = [pair for pair in sure if not has_bits(pair[1])]
    obstacle, tables = "", None
    try:
        tables = Tables.of(others, None if bits else known) if others else None
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
        return self.is_louder_than(LOUD[0])

    def is_louder_than(self, p_value: float) -> bool:
        """Do as :attr:`is_loud`, with another p-value of G2."""
        if self.bits or self.tables is None:
            return bool(self.bits)
        return repetition_of(self.tables) is not None or self.tables.is_louder_than(p_value)

    @cached_property
    def residuals(self) -> tuple[Alphabet, FloatArray] | None:
        """The outputs of the first mechanism, and by how many standard errors each was seen more or less than expected.

        Outputs that were merged share a residual; one that no value can produce has none, which is NaN. Of bit vectors
        it is the number of ones that has them. None where outputs cannot be listed.
        """
        if self.tables is not None:
            part, found = self.tables.parts[0], self.tables.first.residuals
            spread: FloatArray = np.where(part.cells >= 0, found[np.maximum(part.cells, 0)], np.nan)
            return part.mechanism.report_alphabet, spread
        return ones_residuals(*self.bits[0]) if self.bits else None

    def test(self, seed: int = 0, level: float = LEVEL) -> Fit:
        """Run the whole test; parts are independent, so that the least p-value of several is as easily corrected.

        The level is that at which a p-value will be judged: far above it, replicates only cost time.
        """
        found = [] if self.tables is None else [_test_tables(self.tables, seed, level)]
        found += [check_bits(counts, mechanism, seed) for counts, mechanism in self.bits]
        if not found:
            return Fit(FitVerdict.CANNOT_BE_TESTED, 1.0, obstacle=self.obstacle)
        return replace(Fit.joined(found), obstacle=self.obstacle) if self.obstacle else Fit.joined(found)


def _test_tables(tables: Tables, seed: int, level: float) -> Fit:
    """Find the p-value, and say what follows from it."""
    found, rows = _calibrated(tables, seed, level)
    if found.is_bad:
        return replace(found, causes=causes_of(tables, tables.first))
    return found.with_sights(sights_of(tables, tables.first, rows, seed))


def _calibrated(tables: Tables, seed: int, level: float) -> tuple[Fit, FloatArray]:
    """Find the p-value, by as many replicates as are needed; return the statistics of these too."""
    look = tables.first
    rows, p_value = np.empty((0, look.row.size)), look.p_value
    if look.p_value > BEYOND_DOUBT and look.degrees > 0 and not tables.has_floors_alone:
        generator = tables.generator(seed)
        drawn = tables.replicates(look.expected, ROUNDS[0], generator)
        # The reports are explained once more among their replicates: two solvers may end on unlike supports.
        observed, *replicates = tables.looks(np.vstack([look.counts, drawn]))
        rows = np.array([one.row for one in replicates])
        for number in (*ROUNDS[1:], None):
            bound, p_value = _calibrate(observed.row, rows)
            if number is None or p_value >= CALM or bound < CLEAR or bound > HOPELESS * level:
                break
            more = tables.looks(tables.replicates(look.expected, number - len(rows), generator))
            rows = np.vstack([rows, [one.row for one in more]])
        # Screening comes first in the order of oddness, so that an estimate warns of whatever is called bad.
        p_value = p_value if tables.is_louder_than(LOUD[0]) else max(p_value, LOUD[0])
    repeated = repetition_of(tables)
    p_value = p_value if repeated is None else min(p_value, repeated[0])
    bare = replace(_bare_fit(tables), p_value=p_value, replicates=len(rows))
    return replace(bare, outliers=outliers_of(tables, look)).judged(), rows


def _calibrate(observed: FloatArray, rows: FloatArray) -> tuple[float, float]:
    """Return the weighted Bonferroni bound of the observed statistics, and its rank among those of the replicates.

    For the bound the observed statistics stand outside: their distance is from the mean of the replicates. For the rank
    all are alike: each distance is from the mean of all, so that a good survey has any rank equally often.
    """
    number = rows.shape[0]
    every = np.vstack([observed, rows])
    bound = min(1.0, float(bounds_of(observed[None], rows, math.sqrt(1 + 1 / number))[0]))
    least = bounds_of(every, every)
    ranked = (1 + int(np.count_nonzero(least[1:] <= least[0]))) / (number + 1)
    return bound, ranked if ranked > 1 / (number + 1) else min(ranked, bound)


def _bare_fit(tables: Tables) -> Fit:
    look, total = tables.first, float(tables.counts.sum())
    return Fit(FitVerdict.CANNOT_BE_TESTED, look.p_value, look.statistic, look.degrees, total)

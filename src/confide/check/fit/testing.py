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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from confide.channels import Channel, ColumnStack, Dense
from confide.channels.base import FloatArray
from confide.check.fit.answers import ENOUGH, LEVEL, Fit, FitVerdict, GroupFits, Outlier, Power
from confide.check.fit.bits import check_bits, has_bits, ones_residuals
from confide.check.fit.tables import (
    BOTS,
    FACTORS_TRIED,
    HONEST,
    LARGEST_TESTED,
    LOUD,
    TWICE,
    WEIGHTS,
    Group,
    Statistics,
    Tables,
    bounds_of,
    deviances_of,
    noncentral_power,
    solve,
    tail_of_ratio,
)
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence.counts import Counts, merge, require_counts
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.solve.em import RowStack, normalised, take_steps, uniform
from confide.values import Alphabet, LineGeometry
from confide.values.checks import require_kinds

ROUNDS = (19, 39, 99)
"""Replicates after which it is asked whether more are needed (Besag and Clifford, 1991)."""

CALM, CLEAR = 0.25, 1e-4
"""The calibrated p-value from which on, and the bound below which, a round of replicates is the last."""

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
        # Each test alone takes a fifth of a second.
        return len(self.groups) >= 9

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
            layouts.setdefault(exam.tables.parts[0].layout.cells.tobytes(), []).append((key, exam.tables))
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
            spread: FloatArray = np.where(part.layout.cells >= 0, found[np.maximum(part.layout.cells, 0)], np.nan)
            return part.layout.mechanism.report_alphabet, spread
        return ones_residuals(*self.bits[0]) if self.bits else None

    def test(self, seed: int = 0, level: float = LEVEL) -> Fit:
        """Run the whole test; parts are independent, so that the least p-value of several is as easily corrected.

        The level is that at which a p-value will be judged: far above it, replicates only cost time.
        """
        found = []
        if self.tables is not None:
            fitted, rows = _calibrated(self.tables, seed, level)
            if fitted.is_bad:
                found.append(replace(fitted, causes=causes_of(self.tables, self.tables.first)))
            else:
                found.append(fitted.with_sights(sights_of(self.tables, self.tables.first, rows, seed)))
        found += [check_bits(counts, mechanism, seed) for counts, mechanism in self.bits]
        if not found:
            return Fit(FitVerdict.CANNOT_BE_TESTED, 1.0, obstacle=self.obstacle)
        return replace(Fit.joined(found), obstacle=self.obstacle) if self.obstacle else Fit.joined(found)


def _calibrated(tables: Tables, seed: int, level: float) -> tuple[Fit, FloatArray]:
    """Find the p-value, by as many replicates as are needed; return the statistics of these too."""
    stats = tables.first
    rows, p_value = np.empty((0, stats.row.size)), stats.p_value
    # Far below 1e-8, by chi-squared given the support, nothing need be simulated.
    if stats.p_value > 1e-8 and stats.degrees > 0 and not tables.has_floors_alone:
        generator = tables.generator(seed)
        drawn = tables.replicates(stats.expected, ROUNDS[0], generator)
        # The reports are explained once more among their replicates: two solvers may end on unlike supports.
        observed, *replicates = tables.statistics_of(np.vstack([stats.counts, drawn]))
        rows = np.array([one.row for one in replicates])
        for number in (*ROUNDS[1:], None):
            bound, p_value = _calibrate(observed.row, rows)
            # A bound of 100 times the level that a group is judged at ends the test of it.
            if number is None or p_value >= CALM or bound < CLEAR or bound > 100 * level:
                break
            more = tables.statistics_of(tables.replicates(stats.expected, number - len(rows), generator))
            rows = np.vstack([rows, [one.row for one in more]])
        # Screening comes first in the order of oddness, so that an estimate warns of whatever is called bad.
        p_value = p_value if tables.is_louder_than(LOUD[0]) else max(p_value, LOUD[0])
    repeated = repetition_of(tables)
    p_value = p_value if repeated is None else min(p_value, repeated[0])
    bare = replace(_bare_fit(tables), p_value=p_value, replicates=len(rows))
    return replace(bare, outliers=outliers_of(tables, stats)).judged(), rows


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
    stats, total = tables.first, float(tables.counts.sum())
    return Fit(FitVerdict.CANNOT_BE_TESTED, stats.p_value, stats.statistic, stats.degrees, total)


STANDS_OUT = 3.0
"""The residual from which on an output is named in a bad fit."""

SMOOTH_STEPS = 400
"""Steps of EM from uniform, which give a plausible population; the maximum itself is a few spikes, whose reports tell
more than those of any real one. Ages, geometric 0.05: 5 % of devices that send the truth would show if the maximum were
the truth, and do not in fact."""

NEARLY_NONE = 8.0
"""Multiples of epsilon from which on nearly no noise is left."""

AT_EASE = 0.3
"""The p-value from which on another epsilon is taken to fit; the first that is not rejected would be too near."""


def outliers_of(tables: Tables, stats: Statistics, most: int = 3) -> tuple[Outlier, ...]:
    """Return the cells with the largest residuals, the worst first."""
    worst = np.argsort(-np.abs(stats.residuals))[:most].tolist()
    loud = [cell for cell in worst if abs(stats.residuals[cell]) > STANDS_OUT]
    return tuple(Outlier(tables.label(cell), float(stats.counts[cell]), float(stats.expected[cell])) for cell in loud)


def causes_of(tables: Tables, stats: Statistics) -> tuple[str, ...]:
    """Return likely causes of a bad fit, each one tried."""
    repeated = repetition_of(tables)
    if repeated is not None and stats.p_value >= repeated[0]:  # what else is odd comes of it
        return (repeated[1],)
    found = tuple(_rounding(tables)) or (*_clipping(tables, stats), *_bots_or_losses(tables, stats))
    found = found or tuple(_other_epsilon(tables, stats))
    if found:
        return found if repeated is None else (repeated[1], *found)
    return ("Likely causes: another mechanism, another alphabet, or reports that were changed after the blur.",)


def repetition_of(tables: Tables) -> tuple[float, str] | None:
    """Statistics for counts that are all multiples of one number: reports that were uploaded several times."""
    # Not of cells: under weak randomized response a few of them have all the reports, and few counts prove nothing.
    counts = np.concatenate([part.per_output for part in tables.parts])
    counts = counts[counts > 0]
    # Two or three counts that people typed are often round, and say nothing of an upload.
    if counts.size < 5 or (counts != np.floor(counts)).any():
        return None
    times = int(np.gcd.reduce(counts.astype(np.int64)))
    chance = float(times) ** -float(counts.size)
    if times == 1 or chance > 1e-6:
        return None
    return chance, f"A likely cause is a repeated upload, or rounding: every count is a multiple of {times}."


def sights_of(tables: Tables, stats: Statistics, rows: FloatArray, seed: int) -> list[Power]:
    """Compute the power of the test against bots, and name the other faults that would not show.

    Counts without noise from each alternative are explained as well as can be; what is left of G2 is its noncentrality.
    That another fault would have shown is never said. The people are known from these reports alone, which may have the
    fault already: reports at 1.2 times the epsilon make people look sharper, and sharper people make it more visible.
    """
    population = _smooth(tables)
    usual = tables.people * tables.channel.push(population)
    ladder = np.cumsum(usual)
    ordinary = np.searchsorted(ladder, np.array([0.2, 0.5, 0.8]) * ladder[-1]).tolist()
    # Where noise piles up, at the ends of a line and in the corners of a map, people and bots look alike.
    ends = {
        place for start, end, _ in tables.spans for place in (start, end - 1, start + int(usual[start:end].argmax()))
    }
    places = [*ordinary, *sorted(ends - set(ordinary))]
    counts = []
    for place in places:  # some of the reports of one part are bots at one cell
        start, end = tables.part_of(place)
        counts.append(usual.copy())
        counts[-1][start:end] *= 1 - BOTS
        counts[-1][place] += BOTS * tables.people[place]
    if all(part.counts.size == population.size for part in tables.parts):
        counts.append((1 - HONEST) * usual + HONEST * np.tile(population, len(tables.parts)) * tables.people)
    powers = [_power(one, stats) for one in tables.statistics_of(np.array(counts))]
    others = _powers_of_factors(tables, stats, rows, seed)
    others[f"{TWICE:.0%} of reports that came twice"] = _power_of_twice(stats.degrees)
    for power in powers[len(places) :]:
        others[f"{HONEST:.0%} of devices that send the truth"] = power
    hidden = [Power(name, power, is_needed=False) for name, power in others.items() if power < 0.5]
    return _sights_of_bots(tables, dict(zip(places, powers, strict=False)), ordinary) + hidden


def _powers_of_factors(tables: Tables, stats: Statistics, rows: FloatArray, seed: int) -> dict[str, float]:
    """Return the power against devices at other epsilons, at most: their people are as sharp as the maximum.

    The score depends on how many values explain the reports; without noise any number do, so that surveys are drawn.
    """
    powers, generator = {}, tables.generator(seed)
    for factor in FACTORS_TRIED:
        changed = channel_at(tables, factor)
        if changed is not None:
            expected = tables.people * changed.push(stats.theta)
            # Reports through more noise can mostly be had from other people: then none are worth drawing.
            number = 39 if factor > 1 else 0
            first, *drawn = tables.statistics_of(np.vstack([expected, tables.replicates(expected, number, generator)]))
            powers[f"devices at {factor:g} times the epsilon"] = max(_power(first, stats), _share_seen(drawn, rows))
    return powers


def _power_of_twice(degrees: float) -> float:
    """Return the power against reports that came twice: they add to the spread of every count, whoever the people are.

    >>> round(_power_of_twice(60), 2)
    0.13
    """
    from scipy.special import chdtrc, chdtri

    # A report that came twice adds 4 to the variance of a count and 2 to its mean, any other 1 to both.
    cut = float(chdtri(degrees, LEVEL)) * (1 + TWICE) / (1 + 3 * TWICE)
    return float(chdtrc(degrees, cut)) if degrees >= 1 else 0.0


def _sights_of_bots(tables: Tables, powers: dict[int, float], ordinary: list[int]) -> list[Power]:
    """Tell the power against bots at ordinary values and, where these show, at the outputs where noise piles up."""
    sights = [Power(f"{BOTS:.0%} of bots at one value", min(powers[place] for place in ordinary))]
    if sights[0].is_seen:
        tried = {place: power for place, power in powers.items() if place not in ordinary}
        hidden = sorted(one for one, power in tried.items() if power < ENOUGH)
        if hidden:
            named = " or ".join(tables.label(one) for one in hidden)
            sights = [
                replace(sights[0], alternative=f"{BOTS:.0%} of bots at most values"),
                Power(f"{BOTS:.0%} of bots at {named}", min(tried[one] for one in hidden), is_needed=False),
            ]
    return sights


def channel_at(tables: Tables, factor: float) -> Channel | None:
    """Return the channel at so many times every epsilon; None where a mechanism has none."""
    channels = tuple(part.layout.at(factor) for part in tables.parts)
    known = tuple(one for one in channels if one is not None)
    if len(known) < len(channels):
        return None
    return known[0] if len(known) == 1 else ColumnStack(known)


def _smooth(tables: Tables) -> FloatArray:
    """Return a plausible population: EM, stopped early."""
    channel, counts = tables.channel, tables.counts
    # Merged channels may have many more outputs than cells, and are then neither stored nor walked through for long.
    is_small = channel.shape[0] * max(part.layout.cells.size for part in tables.parts) <= LARGEST_TESTED
    if is_small:
        channel = Dense(channel.dense())
    steps = SMOOTH_STEPS if is_small else SMOOTH_STEPS // 10
    return take_steps(RowStack.of(Evidence(channel, counts)), uniform(channel.shape[0]), steps, normalised).theta


def _power(found: Statistics, null: Statistics) -> float:
    """Return about how often an alternative shows, from its counts without noise."""
    from scipy.special import ndtr

    if null.degrees < 1:
        return 0.0
    by_ratio = noncentral_power(LEVEL * WEIGHTS[0], null.degrees, found.statistic)
    # The largest of a hundred to a thousand residuals is below 4.2 in 99 surveys of 100.
    return max(by_ratio, float(ndtr(np.abs(found.residuals).max() - 4.2)))


def _share_seen(found: Sequence[Statistics], rows: FloatArray) -> float:
    """Return how many of a few surveys, all with the same fault, are beyond 95 of 100 replicates."""
    if rows.shape[0] == 0 or not found:
        return sum(one.p_value <= LEVEL for one in found) / max(1, len(found))
    bounds = bounds_of(np.array([one.row for one in found]), rows)
    return float(np.mean(bounds < np.quantile(bounds_of(rows, rows), LEVEL)))


def _bots_or_losses(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name one output that makes up a good part of what is odd: too often, or too rarely."""
    excess = max(stats.statistic - stats.degrees, 1.0)
    # A larger epsilon leaves too few reports at both ends of a line, so that losses must explain nearly all.
    for worst, sign, part in ((int(np.argmax(stats.residuals)), 1, 0.3), (int(np.argmin(stats.residuals)), -1, 0.7)):
        if sign * stats.residuals[worst] > 5 and stats.deviances[worst] > part * excess:
            name = tables.label(worst)
            often = f"A likely cause is bots, or a broken device, that send {name} again and again."
            yield often if sign > 0 else f"A likely cause is lost reports: many that say {name} are missing."


def _rounding(tables: Tables) -> Iterable[str]:
    """Name reports that are nearly all multiples of one number."""
    for part in tables.parts:
        outputs = part.layout.mechanism.report_alphabet
        # One value again and again may be round by chance, and is no rounding.
        is_varied = np.count_nonzero(part.counts) >= 4
        if isinstance(outputs.geometry, LineGeometry) and is_varied and not part.layout.is_merged:
            values = np.arange(outputs.size) + outputs.span[0]
            for step in (10, 5, 2):
                multiples = part.counts[values % step == 0].sum()
                # Noise leaves about half of the reports round, at most.
                if outputs.size > 2 * step and multiples > 0.95 * part.total:
                    share = f"{multiples / part.total:.0%} of the reports"
                    yield f"{share} are multiples of {step}: a likely cause is rounding."
                    break


def _clipping(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name reports that end where the outputs go on."""
    for start, end, part in tables.spans:
        if not isinstance(part.layout.mechanism.report_alphabet.geometry, LineGeometry):
            continue
        seen, expected = np.flatnonzero(part.counts), stats.expected[start:end]
        if seen.size <= 3:
            continue
        for edge, beyond, side in (
            (seen[0], slice(0, seen[0]), "below"),
            (seen[-1], slice(seen[-1] + 1, None), "above"),
        ):
            missing = float(expected[beyond].sum())
            if missing > 20 and stats.residuals[start + edge] > STANDS_OUT:
                # What is clipped piles up at the edge; what is filtered out does not.
                is_piled = part.counts[edge] - expected[edge] > missing / 2
                cause = "devices that clip what they report" if is_piled else "reports that were filtered out"
                yield (
                    f"No report lies {side} {part.layout.label(edge)}, where {missing:,.0f} are expected: "
                    f"a likely cause is {cause}."
                )


def _other_epsilon(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name the epsilon nearest to the stated one at which the reports fit.

    Not the one of greatest likelihood: reports through more noise can often be had through less, from other people, so
    that the likelihood rises with epsilon without end.
    """
    upwards = stats.scores.size == 0 or float(stats.scores.sum()) > 0
    factors = [1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0]
    factors = factors if upwards else [1 / one for one in factors]
    chances = [stats.p_value]
    while len(chances) < len(factors) and chances[-1] < AT_EASE:
        channel = channel_at(tables, factors[len(chances)])
        if channel is None:
            return
        chances.append(_chance_at(tables, channel))
    # At many times the epsilon nearly anything fits, for hardly any noise is left that could speak against it.
    if factors[len(chances) - 1] >= NEARLY_NONE:
        yield (
            "Likely causes: devices that hardly blur, or not at all; reports that were lost or came more than once; or "
            "another mechanism altogether."
        )
    if chances[-1] < AT_EASE or factors[len(chances) - 1] >= NEARLY_NONE:
        return
    right = _between(tables, factors[len(chances) - 2], factors[len(chances) - 1])
    epsilon = getattr(tables.parts[0].layout.mechanism, "epsilon", math.nan)
    if tables.has_floors_alone:  # with a larger epsilon any output may be as rare as one likes
        found = f"at about {epsilon * right:.2g}, not {epsilon:g}, they fit"
        yield f"Likely causes: lost reports, or another epsilon; {found}."
    elif len(tables.parts) > 1:
        yield f"A likely cause is another epsilon: they look made at about {right:.2g} times the stated ones."
    else:
        yield f"A likely cause is another epsilon: they look made at about {epsilon * right:.2g}, not {epsilon:g}."


def _between(tables: Tables, wrong: float, right: float) -> float:
    """Return the multiple of epsilon, between one that does not fit and one that does, from which on they fit."""
    # Epsilon is named within 2 %.
    while abs(math.log(right / wrong)) > 0.02:
        middle = math.sqrt(wrong * right)
        channel = channel_at(tables, middle)
        is_well = channel is not None and _chance_at(tables, channel) >= AT_EASE
        wrong, right = (wrong, middle) if is_well else (middle, right)
    return right


def _chance_at(tables: Tables, channel: Channel) -> float:
    return Statistics(tables, tables.counts, solve(channel, tables.counts), channel).p_value

"""Goodness of fit: whether reports can come from their mechanism at all.

>>> import confide as cf
>>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
>>> print(fit(cf.tally([50], counts=[5000]), ages))  # doctest: +ELLIPSIS
These reports do not come from this mechanism: 50 was reported 4,8... times too often...

The test makes no assumption about the people. It uses three statistics at the maximum of the likelihood over theta:

- the likelihood ratio against any distribution of reports, G2 = 2 sum c log (c / mu), mu = n theta M;
- a score in the direction of another epsilon, one for each mechanism of a pool;
- the largest residual of a single output, up (bots) and down (clipped devices).

Given the support S of the maximum, G2 is chi-squared. Its degrees of freedom are the outputs less the rank of S: the
residual lies in a cone, and its length is independent of its direction. The other two lie in that cone too and have no
known law, so a parametric bootstrap from the maximum calibrates them and the smallest of the three p-values.

**Bit vectors** are nearly all distinct, so they cannot be counted in cells. Let p and q be the probabilities that the
value's own bit, and any other bit, is set. For every theta: the number of ones is Bernoulli(p) plus Binomial(k - 1, q);
the share of reports with a given bit lies between q and p; and (bit_x - q)(bit_y - q) has mean 0 for x != y, because
at most one of the two bits belongs to the value.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel, ColumnStack, Dense
from confide.channels.base import FloatArray, Indices
from confide.check.answers import ENOUGH, LEVEL, Fit, FitVerdict, GroupFits, Outlier, Power
from confide.check.cells import (
    BOTS,
    FACTORS_TRIED,
    HONEST,
    LARGEST_TESTED,
    LOUD,
    TOLERANCE,
    TWICE,
    WEIGHTS,
    Group,
    Statistics,
    Tables,
    bounds_of,
    deviances_of,
    noncentral_power,
    scaled,
    tail_of_ratio,
)
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence.counts import Counts, merge, require_counts
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.solve.em import RowStack, normalised, take_steps, uniform
from confide.solve.methods import MLE
from confide.values import Alphabet, Integers, LineGeometry
from confide.values.checks import require_kinds
from confide.values.wording import counted

ROUNDS = (19, 39, 99)
"""Replicates after which to decide whether more are needed (Besag and Clifford, 1991)."""

CALM, CLEAR = 0.25, 1e-4
"""A round is the last once the calibrated p-value is at least CALM, or its bound below CLEAR."""

SCREENED = "It is one of many groups, so it was only screened; nothing stood out."

GroupKey = TypeVar("GroupKey", bound=Hashable)


def fit(counts: Counts, mechanism: Mechanism, *, seed: int = 0) -> Fit:
    """Test whether reports can come from a mechanism.

    Parameters
    ----------
    counts
        The reports, counted by :func:`confide.tally`.
    mechanism
        The mechanism that should have made them.
    seed
        The seed of the replicates; the same reports always get the same p-value.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
    >>> people = [20 + number % 40 for number in range(30_000)]
    >>> fit(cf.tally(mechanism.privatize(people, rng=1)), mechanism).verdict
    <FitVerdict.FITS: 'fits'>
    """
    require_kinds(fit, locals())
    return fit_pool([(counts, mechanism)], seed=seed)


def fit_pool(groups: Sequence[Group], *, seed: int = 0) -> Fit:
    """Test several groups, each with its own mechanism, against one population.

    >>> import confide as cf
    >>> strong, weak = (cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon) for epsilon in (0.5, 2.0))
    >>> all_yes = cf.tally(["yes"], counts=[1000])  # no population sends this
    >>> fit_pool([(all_yes, strong), (all_yes, weak)]).verdict.value
    'does not fit'
    """
    require_kinds(fit_pool, locals())
    return examine(groups).test(seed)


def fit_groups(groups: Mapping[GroupKey, Counts], mechanism: Mechanism, *, seed: int = 0) -> GroupFits:
    """Test each group, and all together, against their common mechanism.

    All groups together get half the level. Holm's procedure divides the other half among the groups. Many groups are
    first screened side by side; only those with a doubt get the whole test.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> towns = {"Oslo": mechanism.simulate_counts([200] * 10, rng=1), "Bern": cf.tally([5], counts=[1000])}  # bots
    >>> sorted(fit_groups(towns, mechanism).bad)
    ['Bern']
    """
    require_kinds(fit_groups, locals())
    return examine_groups({key: [(one, mechanism)] for key, one in groups.items()}).test(seed)


def holm(chances: Mapping[GroupKey, float], level: float) -> set[GroupKey]:
    """Return the hypotheses rejected at a familywise level (Holm, 1979).

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
    """Do as :func:`fit_groups`, but return `None` if screening finds nothing."""
    exam = examine_groups({key: [(one, mechanism)] for key, one in groups.items()})
    if not exam.is_loud:
        return None
    found = exam.test()
    return found if found.is_bad else None


def examine_groups(pools: Mapping[GroupKey, Sequence[Group]]) -> GroupExamination[GroupKey]:
    """Prepare groups, each of which may have used several mechanisms."""
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
    """Groups prepared for the test: all reports together, and each group's."""

    together: Examination
    groups: Mapping[GroupKey, Examination]

    @property
    def is_many(self) -> bool:
        """Whether there are so many groups that most are only screened."""
        # Each test alone takes a fifth of a second.
        return len(self.groups) >= 9

    @cached_property
    def quiet(self) -> dict[GroupKey, Fit]:
        """The groups in which screening finds nothing."""
        return _screen(self.groups) if self.is_many else {}

    @property
    def is_loud(self) -> bool:
        """Whether screening leaves a doubt in any group, or in all together."""
        if self.together.is_loud:
            return True
        return any(self._is_loud(one) for key, one in self.groups.items() if key not in self.quiet)

    def _is_loud(self, group: Examination) -> bool:
        # Among m groups only a p-value near 1/m can survive Holm's correction.
        return group.is_louder_than(min(LOUD[0], 10 / len(self.groups)) if self.is_many else LOUD[0])

    def test(self, seed: int = 0) -> GroupFits:
        """Run the whole test where screening leaves a doubt.

        Few groups are not screened: each gets the whole test.
        """
        together = self.together.test(seed)
        if len(self.groups) == 1:
            return GroupFits(together, dict.fromkeys(self.groups, together))
        alone = {key: self.quiet.get(key) or self._test(one, seed) for key, one in self.groups.items()}
        bad = holm({key: one.p_value for key, one in alone.items()}, LEVEL / 2)
        # Causes take longer than a p-value, so only groups that stay bad after Holm's correction get them.
        fits = {key: self.groups[key].test(seed) if key in bad else one.forgiven() for key, one in alone.items()}
        return GroupFits(together.judged(LEVEL / 2), fits)

    def _test(self, group: Examination, seed: int) -> Fit:
        level = LEVEL / 2 / len(self.groups)
        if not self.is_many or group.tables is None or group.bits:
            return group.test(seed, level)
        # If the maximum shows nothing, replicates would only cost time. The power of the test is not computed for one
        # group of many.
        found = _calibrated(group.tables, seed, level)[0] if self._is_loud(group) else _bare_fit(group.tables)
        return found if found.is_bad else replace(found, obstacle=SCREENED)


def _screen(exams: Mapping[GroupKey, Examination]) -> dict[GroupKey, Fit]:
    """Return the fits of inconspicuous groups, by EM on all at once."""
    layouts: dict[bytes, list[tuple[GroupKey, Tables]]] = {}
    for key, exam in exams.items():
        if exam.tables is not None and len(exam.tables.parts) == 1 and not exam.bits:
            layouts.setdefault(exam.tables.parts[0].layout.cells.tobytes(), []).append((key, exam.tables))
    quiet, suspicious = {}, min(0.2, 10 / len(exams))
    for found in layouts.values():
        channel = Dense(found[0][1].channel.dense())
        rows = max(1, 2**20 // max(channel.shape))  # 8 MB a stack
        for start in range(0, len(found), rows):
            block = found[start : start + rows]
            counts = np.array([tables.counts for _, tables in block])
            chances, residuals = _screen_rows(counts, channel)
            for (key, tables), row, chance, residual in zip(block, counts, chances, residuals, strict=True):
                if chance > suspicious and residual < LOUD[2] and not repetition_of(tables):
                    quiet[key] = Fit(FitVerdict.CANNOT_BE_TESTED, float(chance), reports=row.sum(), obstacle=SCREENED)
    return quiet


def _screen_rows(counts: FloatArray, channel: Channel) -> tuple[FloatArray, FloatArray]:
    """Return about P(G2 is larger) and the largest residual of each row.

    EM stops below the maximum, so G2 is a little too large, and a tenth of the outputs understates the rank. Both
    errors lean to the side of doubt.
    """
    totals, (size, cells) = counts.sum(axis=1, keepdims=True), channel.shape
    step = take_steps(RowStack.of_shares(channel, counts / totals), uniform(size), 60)
    expected = np.maximum(totals * step.outputs, 1e-300)
    deviances = deviances_of(counts, expected)
    return tail_of_ratio(deviances.sum(axis=1), expected, cells // 10), np.sqrt(deviances.max(axis=1))


def examine(groups: Sequence[Group], known: FloatArray | None = None) -> Examination:
    """Prepare the reports of a pool for the test.

    `known` is the maximum of the likelihood over all mechanisms of the pool, if the caller has it; otherwise it is
    found when needed.
    """
    given: Sequence[Any] = groups
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Mechanism):
            raise InvalidParameterError(f"A group is a pair (counts, mechanism); got {pair!r}.")
        require_counts(pair[0])
    # What a mechanism makes of a person's value does not depend on the person's weight, so that none is needed here.
    sure = [(counts.as_counted.unweighted.independent, mechanism) for counts, mechanism in groups]
    known = known if all(counts.as_counted.weights is None for counts, _ in groups) else None
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
    """A pool prepared for the test: listable outputs, and bit vectors."""

    tables: Tables | None
    bits: tuple[Group, ...]
    obstacle: str = ""

    @property
    def is_loud(self) -> bool:
        """Whether screening, without replicates, leaves a doubt."""
        return self.is_louder_than(LOUD[0])

    def is_louder_than(self, p_value: float) -> bool:
        """Do as :attr:`is_loud`, with another p-value of G2."""
        if self.bits or self.tables is None:
            return bool(self.bits)
        return repetition_of(self.tables) is not None or self.tables.is_louder_than(p_value)

    @cached_property
    def residuals(self) -> tuple[Alphabet, FloatArray] | None:
        """The first mechanism's outputs, with the residual of each in standard errors.

        Merged outputs share a residual. An output that no value can produce has NaN. For bit vectors the outputs are
        the numbers of ones. `None` if outputs cannot be listed.
        """
        if self.tables is not None:
            part, found = self.tables.parts[0], self.tables.first.residuals
            spread: FloatArray = np.where(part.layout.cells >= 0, found[np.maximum(part.layout.cells, 0)], np.nan)
            return part.layout.mechanism.report_alphabet, spread
        return ones_residuals(*self.bits[0]) if self.bits else None

    def test(self, seed: int = 0, level: float = LEVEL) -> Fit:
        """Run the whole test.

        Parts are independent, so the smallest p-value of several is easily corrected. `level` is the level at which the
        p-value will be judged: far above it, replicates only cost time.
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
    """Return the calibrated fit, and the statistics of its replicates."""
    stats = tables.first
    rows, p_value = np.empty((0, stats.row.size)), stats.p_value
    # Below 1e-8 by chi-squared, simulation cannot change the verdict.
    if stats.p_value > 1e-8 and stats.degrees > 0 and not tables.has_floors_alone:
        generator = tables.generator(seed)
        drawn = tables.replicates(stats.expected, ROUNDS[0], generator)
        # The reports are solved again among their replicates: two solvers may end on different supports.
        observed, *replicates = tables.statistics_of(np.vstack([stats.counts, drawn]))
        rows = np.array([one.row for one in replicates])
        for number in (*ROUNDS[1:], None):
            bound, p_value = _calibrate(observed.row, rows)
            # A bound above 100 times the level cannot become significant.
            if number is None or p_value >= CALM or bound < CLEAR or bound > 100 * level:
                break
            more = tables.statistics_of(tables.replicates(stats.expected, number - len(rows), generator))
            rows = np.vstack([rows, [one.row for one in more]])
        # Only what screening doubts can be bad, because an estimate warns after screening alone.
        p_value = p_value if tables.is_louder_than(LOUD[0]) else max(p_value, LOUD[0])
    repeated = repetition_of(tables)
    p_value = p_value if repeated is None else min(p_value, repeated[0])
    bare = replace(_bare_fit(tables), p_value=p_value, replicates=len(rows))
    return replace(bare, outliers=outliers_of(tables, stats)).judged(), rows


def _calibrate(observed: FloatArray, rows: FloatArray) -> tuple[float, float]:
    """Return the weighted Bonferroni bound, and its rank among the replicates.

    For the bound, the observed statistics stand outside: their distance is from the mean of the replicates. For the
    rank all are alike: each distance is from the mean of all, so a good survey has any rank equally often.
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
"""A bad fit names outputs whose residual exceeds this."""

AT_EASE = 0.3
"""The p-value at which another epsilon counts as fitting; the first one not rejected would be too near."""


def outliers_of(tables: Tables, stats: Statistics) -> tuple[Outlier, ...]:
    """Return up to three cells with the largest residuals, the worst first."""
    worst = np.argsort(-np.abs(stats.residuals))[:3].tolist()
    loud = [cell for cell in worst if abs(stats.residuals[cell]) > STANDS_OUT]
    return tuple(Outlier(tables.label(cell), float(stats.counts[cell]), float(stats.expected[cell])) for cell in loud)


def causes_of(tables: Tables, stats: Statistics) -> tuple[str, ...]:
    """Return likely causes of a bad fit; each one was tried."""
    repeated = repetition_of(tables)
    if repeated is not None and stats.p_value >= repeated[0]:  # the repetition explains the rest
        return (repeated[1],)
    found = tuple(_rounding(tables)) or (*_clipping(tables, stats), *_bots_or_losses(tables, stats))
    found = found or tuple(_other_epsilon(tables, stats))
    if found:
        return found if repeated is None else (repeated[1], *found)
    return ("Likely causes: another mechanism, another alphabet, or reports changed after privatization.",)


def repetition_of(tables: Tables) -> tuple[float, str] | None:
    """Return the p-value and cause if all counts share a divisor."""
    # Per output, not per cell: weak randomized response merges outputs into a few cells, and few counts prove nothing.
    counts = np.concatenate([part.per_output for part in tables.parts])
    counts = counts[counts > 0]
    # Two or three typed counts are often round, which says nothing about an upload.
    if counts.size < 5 or (counts != np.floor(counts)).any():
        return None
    times = int(np.gcd.reduce(counts.astype(np.int64)))
    chance = float(times) ** -float(counts.size)
    if times == 1 or chance > 1e-6:
        return None
    return chance, f"Likely cause: a repeated upload, or rounding. Every count is a multiple of {times}."


def sights_of(tables: Tables, stats: Statistics, rows: FloatArray, seed: int) -> list[Power]:
    """Compute the power against bots, and name faults that would not show.

    Noiseless counts of each alternative are fitted; the remaining G2 is the noncentrality. Only of bots do we say that
    they would have shown. For other faults the power depends on the people, known from these reports alone, and these
    may
    already have the fault: reports at 1.2 times the epsilon make people look sharper, which makes the fault look more
    visible.
    """
    population = _smooth(tables)
    usual = tables.people * tables.channel.push(population)
    ladder = np.cumsum(usual)
    ordinary = np.searchsorted(ladder, np.array([0.2, 0.5, 0.8]) * ladder[-1]).tolist()
    # Where noise piles up, at the ends of a line and the corners of a map, bots look like people.
    ends = {
        place for start, end, _ in tables.spans for place in (start, end - 1, start + int(usual[start:end].argmax()))
    }
    places = [*ordinary, *sorted(ends - set(ordinary))]
    counts = []
    for place in places:  # a share of one part's reports are bots at one cell
        start, end = tables.part_of(place)
        counts.append(usual.copy())
        counts[-1][start:end] *= 1 - BOTS
        counts[-1][place] += BOTS * tables.people[place]
    if all(part.counts.size == population.size for part in tables.parts):
        counts.append((1 - HONEST) * usual + HONEST * np.tile(population, len(tables.parts)) * tables.people)
    powers = [_power(one, stats) for one in tables.statistics_of(np.array(counts))]
    others = _powers_of_factors(tables, stats, rows, seed)
    others[f"{TWICE:.0%} duplicate reports"] = _power_of_twice(stats.degrees)
    for power in powers[len(places) :]:
        others[f"{HONEST:.0%} of devices sending true values"] = power
    hidden = [Power(name, power, is_needed=False) for name, power in others.items() if power < 0.5]
    return _sights_of_bots(tables, dict(zip(places, powers, strict=False)), ordinary) + hidden


def _powers_of_factors(tables: Tables, stats: Statistics, rows: FloatArray, seed: int) -> dict[str, float]:
    """Return upper bounds on the power against devices at other epsilons.

    The people are taken as sharp as the maximum. The score depends on how many values explain the reports; noiseless
    counts leave that number open, so surveys are drawn.
    """
    powers, generator = {}, tables.generator(seed)
    # The test rejects a survey whose bound is lower than those of all but 5 % of the replicates.
    limit = np.quantile(bounds_of(rows, rows), LEVEL) if len(rows) else None
    for factor in FACTORS_TRIED:
        changed = channel_at(tables, factor)
        if changed is not None:
            expected = tables.people * changed.push(stats.theta)
            # Other people mostly explain reports with more noise, so drawing surveys there would show nothing.
            number = 39 if factor > 1 else 0
            first, *drawn = tables.statistics_of(np.vstack([expected, tables.replicates(expected, number, generator)]))
            seen = sum(one.p_value <= LEVEL for one in drawn) / max(1, len(drawn))
            if limit is not None and drawn:
                seen = float(np.mean(bounds_of(np.array([one.row for one in drawn]), rows) < limit))
            powers[f"a wrong epsilon ({factor:g}x)"] = max(_power(first, stats), seen)
    return powers


def _power_of_twice(degrees: float) -> float:
    """Return the power against duplicate reports.

    They widen the spread of every count, for any population.

    >>> round(_power_of_twice(60), 2)
    0.13
    """
    from scipy.special import chdtrc, chdtri

    # A duplicate pair adds 4 to the variance of a count and 2 to its mean; a single report adds 1 to both.
    cut = float(chdtri(degrees, LEVEL)) * (1 + TWICE) / (1 + 3 * TWICE)
    return float(chdtrc(degrees, cut)) if degrees >= 1 else 0.0


def _sights_of_bots(tables: Tables, powers: dict[int, float], ordinary: list[int]) -> list[Power]:
    """Return the power against bots, also where noise piles up."""
    sights = [Power(f"{BOTS:.0%} bots at one value", min(powers[place] for place in ordinary))]
    if sights[0].is_seen:
        tried = {place: power for place, power in powers.items() if place not in ordinary}
        hidden = sorted(one for one, power in tried.items() if power < ENOUGH)
        if hidden:
            named = " or ".join(tables.label(one) for one in hidden)
            sights = [
                replace(sights[0], alternative=f"{BOTS:.0%} bots at most values"),
                Power(f"{BOTS:.0%} bots at {named}", min(tried[one] for one in hidden), is_needed=False),
            ]
    return sights


def channel_at(tables: Tables, factor: float) -> Channel | None:
    """Return the channel at a multiple of every epsilon; `None` if unavailable."""
    channels = tuple(part.layout.at(factor) for part in tables.parts)
    known = tuple(one for one in channels if one is not None)
    if len(known) < len(channels):
        return None
    return known[0] if len(known) == 1 else ColumnStack(known)


def _smooth(tables: Tables) -> FloatArray:
    """Return a plausible population: EM, stopped early."""
    channel, counts = tables.channel, tables.counts
    # A merged channel may have many more outputs than cells: too large to store, and slow to step through.
    is_small = channel.shape[0] * max(part.layout.cells.size for part in tables.parts) <= LARGEST_TESTED
    if is_small:
        channel = Dense(channel.dense())
    # The maximum itself is a few spikes, whose reports reveal more than those of real people. Ages, geometric 0.05:
    # with the maximum as the true distribution the test would catch 5 % of devices sending true values; in fact it does
    # not.
    steps = 400 if is_small else 40
    return take_steps(RowStack.of(Evidence(channel, counts)), uniform(channel.shape[0]), steps, normalised).theta


def _power(found: Statistics, null: Statistics) -> float:
    """Return the approximate power against an alternative, from noiseless counts."""
    from scipy.special import ndtr

    if null.degrees < 1:
        return 0.0
    by_ratio = noncentral_power(LEVEL * WEIGHTS[0], null.degrees, found.statistic)
    # The largest of 100 to 1,000 residuals is below 4.2 in 99% of surveys.
    return max(by_ratio, float(ndtr(np.abs(found.residuals).max() - 4.2)))


def _bots_or_losses(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name one output that explains much of the misfit."""
    excess = max(stats.statistic - stats.degrees, 1.0)
    # A larger epsilon also leaves too few reports at both ends of a line, so losses must explain nearly all.
    for worst, sign, part in ((int(np.argmax(stats.residuals)), 1, 0.3), (int(np.argmin(stats.residuals)), -1, 0.7)):
        if sign * stats.residuals[worst] > 5 and stats.deviances[worst] > part * excess:
            name = tables.label(worst)
            often = f"Likely cause: bots, or a broken device, sending {name} again and again."
            yield often if sign > 0 else f"Likely cause: lost reports. Many that say {name} are missing."


def _rounding(tables: Tables) -> Iterable[str]:
    """Name reports that are nearly all multiples of one number."""
    for part in tables.parts:
        outputs = part.layout.mechanism.report_alphabet
        # A single repeated value may be round by chance.
        is_varied = np.count_nonzero(part.counts) >= 4
        if isinstance(outputs.geometry, LineGeometry) and is_varied and not part.layout.is_merged:
            values = np.arange(outputs.size) + outputs.span[0]
            for step in (10, 5, 2):
                multiples = part.counts[values % step == 0].sum()
                # Noise leaves at most about half of the reports round.
                if outputs.size > 2 * step and multiples > 0.95 * part.total:
                    share = f"{multiples / part.total:.0%} of the reports"
                    yield f"Likely cause: rounding. {share} are multiples of {step}."
                    break


def _clipping(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name reports that end before the outputs do."""
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
                # Clipped reports pile up at the edge; filtered ones are gone.
                is_piled = part.counts[edge] - expected[edge] > missing / 2
                cause = "devices that clip their reports" if is_piled else "reports that were filtered out"
                where = f"{side} {part.layout.label(edge)}"
                yield f"Likely cause: {cause}. No report lies {where}, where {missing:,.0f} are expected."


def _other_epsilon(tables: Tables, stats: Statistics) -> Iterable[str]:
    """Name the epsilon nearest to the stated one that fits.

    Not the one of greatest likelihood: other people often explain the same reports with less noise, so the likelihood
    may keep rising with epsilon.
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
    # At eight times the epsilon nearly anything fits, because hardly any noise is left to test.
    is_noiseless = factors[len(chances) - 1] >= 8.0
    if is_noiseless:
        yield (
            "Likely causes: devices adding hardly any noise, or none; lost or duplicate reports; or another mechanism."
        )
    if chances[-1] < AT_EASE or is_noiseless:
        return
    right = _between(tables, factors[len(chances) - 2], factors[len(chances) - 1])
    epsilon = getattr(tables.parts[0].layout.mechanism, "epsilon", math.nan)
    if tables.has_floors_alone:  # with a larger epsilon any output may be arbitrarily rare
        yield f"Likely causes: lost reports, or another epsilon. They fit about {epsilon * right:.2g}, not {epsilon:g}."
    elif len(tables.parts) > 1:
        yield f"Likely cause: another epsilon. The reports fit about {right:.2g} times the stated ones."
    else:
        yield f"Likely cause: another epsilon. The reports fit about {epsilon * right:.2g}, not {epsilon:g}."


def _between(tables: Tables, wrong: float, right: float) -> float:
    """Return, by bisection, the multiple of epsilon where reports begin to fit."""
    # Epsilon is named within 2 %.
    while abs(math.log(right / wrong)) > 0.02:
        middle = math.sqrt(wrong * right)
        channel = channel_at(tables, middle)
        is_well = channel is not None and _chance_at(tables, channel) >= AT_EASE
        wrong, right = (wrong, middle) if is_well else (middle, right)
    return right


def _chance_at(tables: Tables, channel: Channel) -> float:
    best = MLE(TOLERANCE, time_limit=60.0).solve(Evidence(channel, tables.counts)).distribution
    return Statistics(tables, tables.counts, best, channel).p_value


REPLICATES = 999
"""Replicates of the number of ones, which are drawn together in milliseconds."""

ONES = 0.9
"""The part of the level that the number of ones gets, whose law is exact; the other bounds are far from sharp."""

BitArray = NDArray[np.bool_]


def check_bits(counts: Counts, mechanism: Mechanism, seed: int) -> Fit:
    """Test ones, single bits, pairs of bits, and equal vectors."""
    mechanism.refuse_strays(counts)
    if not counts.total > 0:
        raise InvalidCountsError("There are no reports to test; give at least one.")
    keep, flip = rates_of(mechanism)
    assert mechanism.report_alphabet.bits is not None  # noqa: S101 (for the type checker)
    bits = mechanism.report_alphabet.bits.unpack(counts.reports)
    law = ones_law(mechanism.alphabet.size, keep, flip)
    ones = np.bincount(bits.sum(axis=1), counts.counts, law.size).astype(np.float64)
    classes = _pooled(counts.total * law)
    chance, statistic = _ones_chance(ones, law, classes, seed)
    single, outlier = _single_bits(bits, counts.counts, mechanism)
    others = min(single, _pairs_of_bits(bits, counts.counts, flip), _same_vectors(counts, mechanism))
    found = Fit(
        verdict=FitVerdict.CANNOT_BE_TESTED,
        p_value=min(1.0, chance / ONES, 3 * others / (1 - ONES)),
        statistic=statistic,
        degrees=float(classes[-1]),
        reports=counts.total,
        replicates=REPLICATES,
    ).judged()
    if not found.is_bad:
        return found.with_sights(_sights(law, classes, counts.total, mechanism))
    named = [*_unusual_ones(ones, counts.total * law, classes), outlier]
    causes = tuple(_other_epsilon_of_bits(ones, mechanism) or _repeated(counts, mechanism))
    other = ("Likely causes: another mechanism, or bits changed after privatization.",)
    return replace(found, outliers=tuple(reversed(named) if single < chance else named), causes=causes or other)


def ones_residuals(counts: Counts, mechanism: Mechanism) -> tuple[Integers, FloatArray]:
    """Return the residual of each number of ones, in standard errors.

    NaN for numbers that are next to never expected.

    >>> import confide as cf
    >>> numbers, residuals = ones_residuals(cf.tally([0, 1, 2, 3]), cf.Rappor(cf.Integers(0, 1), epsilon=1.0))
    >>> numbers.size, bool(residuals[1] < 0)
    (3, True)
    """
    keep, flip = rates_of(mechanism)
    assert mechanism.report_alphabet.bits is not None  # noqa: S101 (for the type checker)
    law = ones_law(mechanism.alphabet.size, keep, flip)
    bits = mechanism.report_alphabet.bits.unpack(counts.reports)
    ones = np.bincount(bits.sum(axis=1), counts.counts, law.size)
    expected = counts.total * law
    spread = np.sqrt(np.maximum(expected * (1 - law), 1e-300))
    residuals: FloatArray = np.where(expected >= 1, (ones - expected) / spread, np.nan)
    return Integers(0, law.size - 1), residuals


def has_bits(mechanism: Mechanism) -> bool:
    """Whether reports are bit vectors, each bit drawn independently."""
    return mechanism.facts.bits is not None and mechanism.report_alphabet.bits is not None


def rates_of(mechanism: Mechanism) -> tuple[float, float]:
    """Return P(own bit is set) and P(another bit is set)."""
    rates = mechanism.facts.bits
    assert rates is not None  # noqa: S101 (for the type checker; whoever calls has asked)
    return float(rates[0]), float(rates[1])


def ones_law(size: int, keep: float, flip: float) -> FloatArray:
    """Return the distribution of the number of ones.

    >>> ones_law(2, 0.75, 0.25)
    array([0.1875, 0.625 , 0.1875])
    """
    from scipy.special import gammaln

    ones = np.arange(size)
    ways = gammaln(size) - gammaln(ones + 1) - gammaln(size - ones)
    others = np.exp(ways + ones * math.log(flip) + (size - 1 - ones) * math.log1p(-flip))
    both = np.append(others, 0.0) * (1 - keep) + np.append(0.0, others) * keep
    law: FloatArray = both / both.sum()
    return law


def _pooled(expected: FloatArray) -> Indices:
    """Return the class of each number of ones: itself, or a tail."""
    # Each tail is as long as it takes to expect five reports in it.
    common = np.flatnonzero(np.minimum(np.cumsum(expected), np.cumsum(expected[::-1])[::-1]) >= 5)
    if not common.size:
        return np.zeros(expected.size, dtype=np.int64)
    classes: Indices = np.clip(np.arange(expected.size), common[0], common[-1]) - common[0]
    return classes


def _ones_chance(ones: FloatArray, law: FloatArray, classes: Indices, seed: int) -> tuple[float, float]:
    """Return the p-value of the ones, and their likelihood ratio.

    The smaller of two bounds, by mean and by likelihood ratio, is ranked among replicates.
    """
    total = float(ones.sum())
    drawn = np.random.default_rng(seed).multinomial(max(1, round(total)), law, size=REPLICATES)
    rows = np.vstack([ones, drawn]).astype(np.float64)
    bounds, ratios = _ones_bounds(rows, law, classes)
    ranked = (1 + int(np.count_nonzero(bounds[1:] <= bounds[0]))) / (REPLICATES + 1)
    # Below all replicates the bound itself is the better p-value: the number of ones is a sum of many.
    return (ranked if ranked > 1 / (REPLICATES + 1) else min(ranked, 2 * float(bounds[0]))), float(ratios[0])


def _ones_bounds(rows: FloatArray, law: FloatArray, classes: Indices) -> tuple[FloatArray, FloatArray]:
    from scipy.special import gammaincc, ndtr

    numbers, totals = np.arange(law.size), rows.sum(axis=1)
    mean = float(law @ numbers)
    by_mean = 2 * ndtr(-np.abs(rows @ numbers - totals * mean) / np.sqrt(totals * float(law @ (numbers - mean) ** 2)))
    grouped = np.stack([np.bincount(classes, row) for row in rows])
    expected = totals[:, None] * np.bincount(classes, law)
    logs = np.log(np.divide(grouped, expected, out=np.ones_like(grouped), where=grouped > 0))
    ratios: FloatArray = np.maximum(2 * (grouped * logs).sum(axis=1), 0.0)
    by_ratio = gammaincc(classes[-1] / 2, ratios / 2) if classes[-1] else np.ones(rows.shape[0])
    return np.minimum(by_mean, by_ratio), ratios


def _single_bits(bits: BitArray, counts: FloatArray, mechanism: Mechanism) -> tuple[float, Outlier]:
    """Return the p-value of impossible bit frequencies, and the worst bit."""
    from scipy.special import bdtr, bdtrc

    (keep, flip), total, sets = rates_of(mechanism), round(float(counts.sum())), counts @ bits
    rare, often = bdtr(sets, total, flip), bdtrc(sets - 1, total, keep)
    worst = int(np.argmin(np.minimum(rare, often)))
    expected = total * (flip if rare[worst] < often[worst] else keep)
    outlier = Outlier(f"The bit of {mechanism.alphabet.labels([worst])[0]}", float(sets[worst]), expected)
    return min(1.0, 2 * sets.size * float(min(rare[worst], often[worst]))), outlier


def _pairs_of_bits(bits: BitArray, counts: FloatArray, flip: float) -> float:
    """Return the p-value of the most dependent pair of bits."""
    from scipy.special import ndtr

    size = bits.shape[1]
    # The pairs of 512 bits take a second for 50,000 reports.
    if counts.sum() * flip**2 < 20 or size > 512:
        return 1.0  # too rare for a normal tail, or too many pairs
    first, second = np.zeros((size, size)), np.zeros((size, size))
    for start in range(0, bits.shape[0], 50_000):
        centred = bits[start : start + 50_000].astype(np.float32) - np.float32(flip)
        weighted = centred * counts[start : start + 50_000, None].astype(np.float32)
        first += weighted.T @ centred
        second += (weighted * centred).T @ centred**2
    upper = np.triu_indices(size, 1)
    return min(1.0, upper[0].size * 2 * float(ndtr(-np.abs(first[upper]) / np.sqrt(second[upper])).min()))


def _same_vectors(counts: Counts, mechanism: Mechanism) -> float:
    """Return a bound on the chance that a vector repeats so often."""
    times = round(float(counts.counts.max()))
    return 1.0 if times < 2 else _chance_of_same(times, counts.total, mechanism)


def _chance_of_same(times: int, total: float, mechanism: Mechanism) -> float:
    """Return the expected number of equal sets of reports, or 1."""
    # Reports of different values agree in a bit with at most the probability that those of the same value do.
    # In logarithms: a vector that thousands sent has a chance far below the smallest float.
    with np.errstate(divide="ignore"):  # a rate may round to one, whose other side has no logarithm
        own, other = (np.logaddexp(times * np.log(rate), times * np.log1p(-rate)) for rate in rates_of(mechanism))
    agree = mechanism.alphabet.size * float(max(own, other))
    sets = math.lgamma(total + 1) - math.lgamma(times + 1) - math.lgamma(total - times + 1)
    return math.exp(min(0.0, sets + agree))


def _sights(law: FloatArray, classes: Indices, total: float, mechanism: Mechanism) -> list[Power]:
    """Compute the power of the test, for any population."""
    from scipy.special import ndtr

    expected, numbers, degrees = np.bincount(classes, total * law), np.arange(law.size), int(classes[-1])
    singles = []
    for share in (BOTS, HONEST):  # bots and devices that do not blur set one bit and no other
        shifted = (1 - share) * expected
        shifted[classes[1]] += share * total
        noncentral = float(((shifted - expected) ** 2 / expected).sum())
        singles.append(noncentral_power(LEVEL / 2, degrees, noncentral) if degrees else 0.0)
    sights = [Power(f"{BOTS:.0%} bots at one value", singles[0])]
    mean = float(law @ numbers)
    spread = math.sqrt(float(law @ (numbers - mean) ** 2) / total)
    for factor in FACTORS_TRIED:
        changed = scaled(mechanism, factor)
        if changed is not None:
            change = float(ones_law(law.size - 1, *rates_of(changed)) @ numbers) - mean
            power = float(ndtr(abs(change) / spread - 2.3))
            sights.append(Power(f"a wrong epsilon ({factor:g}x)", power, is_needed=factor > 1))
    twice = float(total >= 2 and 3 * _chance_of_same(2, total, mechanism) / (1 - ONES) <= LEVEL)
    sights.append(Power(f"{TWICE:.0%} duplicate reports", twice, is_needed=False))
    return [*sights, Power(f"{HONEST:.0%} of devices sending true values", singles[1], is_needed=False)]


def _unusual_ones(ones: FloatArray, expected: FloatArray, classes: Indices) -> list[Outlier]:
    """Return the two classes of ones furthest from expectation."""
    seen, due = np.bincount(classes, ones), np.bincount(classes, expected)
    worst = np.argsort(-np.abs(seen - due) / np.sqrt(due))[:2].tolist()
    found = []
    for one in worst:
        numbers = np.flatnonzero(classes == one)
        several = f"{numbers[0]} to {numbers[-1]} ones" if numbers.size > 1 else counted(int(numbers[0]), "one")
        found.append(Outlier(f"A vector with {several}", float(seen[one]), float(due[one])))
    return found


def _repeated(counts: Counts, mechanism: Mechanism) -> list[str]:
    most = float(counts.counts.max())
    if _same_vectors(counts, mechanism) > 1e-6:
        return []
    least = float(counts.counts.min())
    if least > 1 and counts.counts.size > 20:
        return [f"Likely cause: a repeated upload. Every vector came at least {counted(round(least), 'time')}."]
    return [f"Likely cause: bots, or a broken device. One vector came {counted(round(most), 'time')}."]


def _other_epsilon_of_bits(ones: FloatArray, mechanism: Mechanism) -> list[str]:
    """Name the epsilon that explains the mean number of ones.

    Nothing if the distribution of the ones fits no epsilon.
    """
    size, total, numbers = mechanism.alphabet.size, float(ones.sum()), np.arange(ones.size)
    mean = float(ones @ numbers) / total
    low, high = -3.0, 3.0  # powers of two
    for _ in range(40):
        middle = (low + high) / 2
        changed = scaled(mechanism, 2.0**middle)
        if changed is None:
            return []
        law = ones_law(size, *rates_of(changed))
        low, high = (middle, high) if float(law @ numbers) > mean else (low, middle)
    epsilon = getattr(mechanism, "epsilon", math.nan)
    if middle > 2.99:
        return ["Likely cause: devices that add hardly any noise, or none. The vectors have hardly a bit too many."]
    classes = _pooled(total * law)
    if middle < -2.99 or abs(middle) < 0.02 or float(_ones_bounds(ones[None], law, classes)[0][0]) < 1e-6:
        return []
    return [f"Likely cause: another epsilon. The reports fit about {epsilon * 2**middle:.3g}, not {epsilon:g}."]

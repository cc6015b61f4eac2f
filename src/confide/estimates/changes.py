"""Change over time: a line, changes, and a test for any.

One answer in each wave, the change between any two of them, and a test for any change at all.

The line and its band are the answers of groups (:mod:`confide.estimates.groups`). A change is the difference of two of
them, and its error depends on whether the same people answered twice.

**Unbiased answers.** With the pseudo-values g of :mod:`confide.estimates.pseudo_values` the answer of a wave is a mean
of g. Its variance, and the covariance of two waves, are those of sums over people: a person's reports are one draw,
however they depend on each other. So permanent noise, which is the same in both waves, cancels from the change as far
as it should. This takes a column that links reports to people; without one, people count as different.

**Intervals of both.** Where the reports say more than such means, as thresholds under metric noise, the change has the
ends that follow from both likelihood intervals (Zou and Donner, Statistics in Medicine 2008): with answers a and b, the
low end is b - a minus the root of (b - low of b)^2 + (high of a - a)^2. This takes the waves as independent.

The two are compared by their mean width, and the narrower one serves for all changes of a series.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import FloatArray, Indices
from confide.errors import ConfideError, InvalidParameterError
from confide.estimates.estimate import Estimate
from confide.estimates.groups import GroupEstimates, estimate_groups
from confide.estimates.inference import Interval
from confide.estimates.inference.inference import Question, standard_errors
from confide.estimates.pseudo_values import PseudoValues
from confide.evidence.counts import tally
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.solve.methods import Method
from confide.values import Values
from confide.values.order import natural_order
from confide.values.queries import Query
from confide.values.wording import Shown, counted


@dataclass(frozen=True, eq=False)
class Linked:
    """Reports with their wave and their person.

    Attributes
    ----------
    reports
        One entry for each report.
    waves
        The key of its wave.
    people
        Whose it is: any name or number.
    """

    reports: Values
    waves: Sequence[Hashable]
    people: ArrayLike


@dataclass(frozen=True, eq=False)
class Moments:
    """Unbiased answers of waves, and the covariance of their errors."""

    means: FloatArray
    covariance: FloatArray

    @classmethod
    def of_counts(cls, waves: Sequence[Estimate], question: Question) -> Moments:
        """Return the moments of waves of different people, weighted or not."""
        means, variances = [], []
        for wave in waves:
            parts = []
            for one, counts in wave.groups.items():
                parts.append((_pseudo_values(one, question).values(counts.reports), counts))
            people = sum(counts.total for _, counts in parts)
            means.append(sum(float(values @ counts.counts) for values, counts in parts) / people)
            # Of weighted reports, how far the sum of the weights may be off; with clusters, as people were drawn.
            within = sum(counts.variance(values - means[-1]) for values, counts in parts) / people**2
            variances.append(within * people / max(people - 1, 1.0))
        return cls(np.array(means), np.diag(variances))

    @classmethod
    def of_people(cls, values: FloatArray, waves: Indices, people: ArrayLike, number: int) -> Moments:
        """Return the moments of linked reports.

        Reports of one person are one draw, in one wave or in several.

        >>> found = Moments.of_people(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1]), ["a", "b", "a", "b"], 2)
        >>> found.means.tolist(), found.covariance.round(2).tolist()  # the same reports again: no error of the change
        ([0.5, 0.5], [[0.25, 0.25], [0.25, 0.25]])
        """
        from scipy.sparse import coo_array  # which blurring does not need

        sizes = np.bincount(waves, minlength=number).astype(np.float64)
        means = np.bincount(waves, values, minlength=number) / sizes
        names, places = np.unique(np.asarray(people), return_inverse=True)
        shares = (values - means[waves]) / sizes[waves]
        sums = coo_array((shares, (places.reshape(-1), waves)), shape=(names.size, number)).tocsr()
        # As many people as are in a wave, less one for its mean.
        each = np.bincount(sums.indices, minlength=number)
        factor = np.sqrt(each / np.maximum(each - 1, 1))
        covariance: FloatArray = (sums.T @ sums).toarray() * np.outer(factor, factor)
        return cls(means, covariance)

    def change(self, first: int, last: int) -> tuple[float, float]:
        """Return a change and its standard error."""
        both, own = self.covariance, self.covariance.diagonal()
        variance = own[first] + own[last] - 2 * both[first, last]
        now, scale = float(self.means[last] - self.means[first]), float(np.abs(self.means).max())
        # The same reports in both waves leave roundings.
        return (0.0 if abs(now) < 1e-12 * scale else now), math.sqrt(max(float(variance), 0.0))

    def test(self) -> AnyChange:
        """Test whether all waves have one answer (Wald)."""
        from scipy.special import gammaincc

        steps = np.diff(np.eye(self.means.size), axis=0)
        moved, spread = steps @ self.means, steps @ self.covariance @ steps.T
        sizes, axes = np.linalg.eigh(spread)
        # Reports that are the same in all waves leave directions without any error, and without any change.
        counts = sizes > 1e-9 * max(float(self.covariance.diagonal().max(initial=0.0)), 1e-300)
        statistic, degrees = float(((axes.T @ moved)[counts] ** 2 / sizes[counts]).sum()), int(counts.sum())
        chance = float(gammaincc(degrees / 2, statistic / 2)) if degrees else 1.0
        return AnyChange(chance, "the answer is the same in all", statistic, degrees)


def _pseudo_values(mechanism: Mechanism, question: Question) -> PseudoValues:
    query = "mean" if question.kind == "mean" else question.query
    return PseudoValues.of(mechanism, query, question.name)


@dataclass(frozen=True)
class AnyChange:
    """A test for any change at all.

    Attributes
    ----------
    p_value
        Its p-value.
    hypothesis
        What it tests, in words.
    statistic, degrees
        The chi-squared statistic and its degrees of freedom; NaN and 0 for a permutation test.
    """

    p_value: float
    hypothesis: str
    statistic: float = math.nan
    degrees: int = 0

    @property
    def is_seen(self) -> bool:
        """Whether there was a change, at 5 %."""
        return self.p_value < 0.05

    @property
    def shown(self) -> str:
        """The p-value as text.

        >>> AnyChange(0.03, "").shown, AnyChange(1e-9, "").shown
        ('p = 0.03', 'p < 0.001')
        """
        return "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class Series(Shown):
    """One answer over time: a line with its band, and changes.

    Attributes
    ----------
    groups
        The estimate of each wave.
    question
        What was asked.
    answers
        The answer of each wave with its interval, in order of time.
    moments
        Unbiased answers with their covariance; None if the mechanism does not identify the question.
    is_linked
        Whether reports are linked to people.
    by
        What waves are called.

    Examples
    --------
    >>> import confide as cf
    >>> asked = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> weeks = {"1": asked.simulate_counts([400, 600], rng=1), "2": asked.simulate_counts([700, 300], rng=2)}
    >>> print(cf.estimate_groups(weeks, asked).series("value == yes").change("1", "2"))
    0.3419, between 0.2483 and 0.4355 at 95%
    """

    groups: GroupEstimates
    question: str
    answers: Mapping[Any, Interval]
    moments: Moments | None = None
    is_linked: bool = False
    by: str = "time"

    @property
    def waves(self) -> list[Any]:
        """The waves, in order of time."""
        return list(self.answers)

    @property
    def level(self) -> float:
        """Confidence level of all intervals."""
        return next(iter(self.answers.values())).level

    def change(self, first: Any, last: Any) -> Interval:
        """Return the change from one wave to another, with its interval.

        >>> import confide as cf
        >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=3.0)
        >>> weeks = {week: cf.tally(["yes", "no"], [yes, 5000 - yes]) for week, yes in (("W1", 2500), ("W2", 2950))}
        >>> print(cf.estimate_groups(weeks, mechanism).series("answer == yes").change("W1", "W2"))
        0.09943, between 0.07795 and 0.1209 at 95%
        """
        for one in (first, last):
            if one not in self.answers:
                raise InvalidParameterError(
                    f"There is no {self.by} {one!r}; there are {', '.join(map(str, self.answers))}."
                )
        now, low, high = self._unbiased(first, last) if self.is_unbiased else self._between(first, last)
        words = f"change of {self.question} from {name_wave(first)} to {name_wave(last)}"
        is_share = self.answers[first].is_share
        return Interval(words, now, low, high, self.level, self.rests_on, is_share=is_share)

    @cached_property
    def steps(self) -> list[Interval]:
        """The change from each wave to the next."""
        return [self.change(one, other) for one, other in itertools.pairwise(self.waves)]

    @cached_property
    def overall(self) -> Interval:
        """The change from the first wave to the last."""
        return self.change(self.waves[0], self.waves[-1])

    @cached_property
    def test(self) -> AnyChange:
        """Test for any change at all.

        Of unbiased answers, whether all are the same. Otherwise whether all waves have the same distribution: each is
        compared with all others, and the p-values are combined (Simes, Biometrika 1986).
        """
        if self.is_unbiased and self.moments is not None:
            return self.moments.test()
        chances = np.sort([one.p_value for one in self.groups.differences.values()])
        combined = float((chances * chances.size / np.arange(1, chances.size + 1)).min())
        return AnyChange(min(1.0, combined), "the distribution is the same in all")

    @cached_property
    def is_unbiased(self) -> bool:
        """Whether changes are those of unbiased answers."""
        # Width of unbiased changes, relative to the others, up to which they serve: they need no model.
        nearly = 1.25
        if self.moments is None:
            return False
        pairs = list(itertools.pairwise(self.waves))
        widths = [np.subtract(*ways(*pair)[:0:-1]) for ways in (self._unbiased, self._between) for pair in pairs]
        own, other = np.array(widths).reshape(2, -1).sum(axis=1)
        return bool(own <= nearly * other)

    @property
    def rests_on(self) -> str:
        """How changes were computed, in a sentence."""
        if not self.is_unbiased:
            return "the intervals of both answers, taken as independent"
        people = "reports of one person count as one draw" if self.is_linked else "people taken as different"
        return f"unbiased answers, with the errors of sums over people; {people}"

    @property
    def remark(self) -> str:
        """What speaks against intervals of changes; empty if nothing does."""
        origins = [counts.origin.permanent for one in self.groups.values() for counts in one.groups.values()]
        if self.is_linked or not any(origins):
            return ""
        return (
            "The noise is permanent. If the same people answer again, changes are better known than stated here: a "
            "column that links people gives their own errors (--person)."
        )

    def _unbiased(self, first: Any, last: Any) -> tuple[float, float, float]:
        places = {key: place for place, key in enumerate(self.answers)}
        assert self.moments is not None  # noqa: S101 (for the type checker; callers have asked)
        now, error = self.moments.change(places[first], places[last])
        half = standard_errors(self.level) * error
        return now, now - half, now + half

    def _between(self, first: Any, last: Any) -> tuple[float, float, float]:
        before, after = self.answers[first], self.answers[last]
        now = after.estimate - before.estimate
        down = math.hypot(after.estimate - after.low, before.high - before.estimate)
        up = math.hypot(after.high - after.estimate, before.estimate - before.low)
        return now, now - down, now + up

    def __repr__(self) -> str:
        return f"<Series of {self.question} over {counted(len(self.answers), self.by)}: {self.test.shown}>"


def name_wave(key: object) -> str:
    """Return a wave's name in words.

    >>> name_wave(("2026-W07",)), name_wave(7)
    ('2026-W07', '7')
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def in_order(keys: Sequence[Any]) -> list[Any]:
    """Return waves in order of time.

    Weeks and numbers go by value, other names by letter.

    >>> in_order(["wave 10", "wave 9"]), in_order([2, 10, 1])
    (['wave 9', 'wave 10'], [1, 2, 10])
    """
    texts = {tuple(map(str, key)) if isinstance(key, tuple) else (str(key),): key for key in keys}
    return [texts[text] for text in natural_order(texts)]


def follow(
    groups: GroupEstimates,
    question: Question,
    answers: Mapping[Any, Interval],
    linked: Linked | None = None,
    by: str = "time",
) -> Series:
    """Return answers of groups as a series over time."""
    if len(groups) < 2:
        raise InvalidParameterError(f"A change takes two waves or more; the reports are all of one {by}.")
    waves, moments = in_order(list(groups)), None
    if question.kind != "quantile":
        try:
            moments = _moments(groups, waves, question, linked)
        except ConfideError:  # no unbiased answer exists, and only those know of people
            linked = None
    first = next(iter(answers.values()))
    ordered = {key: answers[key] for key in waves}
    return Series(groups, first.question, ordered, moments, linked is not None and moments is not None, by)


def _moments(groups: GroupEstimates, waves: Sequence[Any], question: Question, linked: Linked | None) -> Moments:
    if linked is None:
        return Moments.of_counts([groups[key] for key in waves], question)
    places = {key: place for place, key in enumerate(waves)}
    numbers = np.array([places[key] for key in linked.waves], dtype=np.int64)
    # Linked reports were read under one survey, so all waves have its mechanism.
    values = _pseudo_values(next(iter(groups[waves[0]].groups)), question).values(linked.reports)
    return Moments.of_people(values, numbers, linked.people, len(waves))


def estimate_over(  # noqa: PLR0913 - what may be said of a series
    reports: ArrayLike,
    over: Sequence[Any],
    mechanism: Mechanism,
    query: Query = "mean",
    *,
    people: ArrayLike | None = None,
    level: float = 0.95,
    name: str | None = None,
    method: Method | None = None,
) -> Series:
    """Return one answer over time, with the change between any two waves.

    Parameters
    ----------
    reports
        All reports, one entry each.
    over
        The wave of each report: a week, a date, a number.
    mechanism
        The mechanism of all reports.
    query
        ``"mean"``, or a share such as ``"age >= 65"``; see :mod:`confide.values.queries`.
    people
        Whose report each is. With it, the errors of a change are right for people who answer again, also with permanent
        noise. Optional. Default: all are of different people.
    level
        Confidence level of all intervals.
    name
        What a value is called in a text; any name if left out.
    method
        How to recover the distributions; :class:`Stacked` if left out.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=3.0)
    >>> reports = mechanism.privatize(["yes"] * 500 + ["no"] * 1500 + ["yes"] * 800 + ["no"] * 1200, rng=1)
    >>> series = estimate_over(reports, ["W1"] * 2000 + ["W2"] * 2000, mechanism, "answer == yes")
    >>> series.overall.contains(0.15), series.test.shown
    (True, 'p < 0.001')
    """
    require_mechanism("mechanism", mechanism)
    array = mechanism.report_alphabet.as_array(reports)
    waves = np.asarray(over).tolist()
    for what, found in (("over", waves), ("people", waves if people is None else np.asarray(people).tolist())):
        if len(found) != len(array):
            raise InvalidParameterError(
                f"{what} has one entry for each report; got {len(found):,} for {counted(len(array), 'report')}."
            )
    members: dict[Any, list[int]] = {}
    for place, wave in enumerate(waves):
        members.setdefault(wave, []).append(place)
    counts = {key: tally(array[members[key]]) for key in in_order(list(members))}
    linked = None if people is None else Linked(array, waves, people)
    return estimate_groups(counts, mechanism, method).series(query, level, name=name, linked=linked)

"""Estimates for several groups of people, solved and compared together."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from confide.channels.base import FloatArray
from confide.check.answers import GroupFits
from confide.check.differences import Difference, Differences, differences
from confide.check.fit import examine_groups, misfits
from confide.errors import InvalidParameterError, PoorFitWarning, UniformReportsWarning
from confide.estimates.estimate import (
    Estimate,
    Group,
    as_method,
    check_groups,
    independent,
    judge,
    observe_groups,
    recover_pool,
    warn_if_not_identified,
)
from confide.estimates.inference import Band, Basis, Interval
from confide.estimates.inference.inference import Question, ask
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.solve.methods import Method, Progress, Solution
from confide.theory.verdicts import Finding, all_of
from confide.values import LineGeometry
from confide.values.checks import require_kinds
from confide.values.queries import Query
from confide.values.wording import Shown, counted

if TYPE_CHECKING:
    from confide.estimates.changes import Linked, Series

GroupKey = TypeVar("GroupKey", bound=Hashable)

SHAPES = ("lower", "higher"), ("less spread out", "more spread out"), ("skewed to low values", "skewed to high values")
"""How a group differs, by its strongest direction and the sign along it."""


@dataclass(frozen=True, eq=False)
class GroupReports:
    """Sizes, fits and differences of groups, before any estimate.

    Attributes
    ----------
    pools
        The counts of each group, with their mechanisms.
    """

    pools: Mapping[Any, Sequence[Group]]

    @cached_property
    def reports(self) -> dict[Any, float]:
        """Number of reports of each group."""
        return {key: sum(counts.total for counts, _ in pool) for key, pool in self.pools.items()}

    @cached_property
    def weights(self) -> dict[Any, float]:
        """Sum of the weights of each group; the number of unweighted reports."""
        return {key: sum(counts.weight for counts, _ in pool) for key, pool in self.pools.items()}

    @property
    def counts(self) -> list[Counts]:
        """The counts of all groups and mechanisms."""
        return [counts for pool in self.pools.values() for counts, _ in pool]

    @cached_property
    def fits(self) -> GroupFits:
        """Goodness-of-fit test of each group."""
        return examine_groups(self.pools).test()

    @cached_property
    def differences(self) -> Differences:
        """Test of each group against all others.

        The false discovery rate is controlled.
        """
        return differences(self.pools)

    @cached_property
    def too_small(self) -> list[Any]:
        """Groups too small to differ visibly.

        These are groups with fewer than ten reports, too few for cross-validation. On a line they also include groups
        that would not differ significantly even with all their people at one end.
        """
        alphabet = next(iter(self.pools.values()))[0][1].alphabet
        span = alphabet.span if isinstance(alphabet.geometry, LineGeometry) and alphabet.is_finite else None
        reach = math.inf if span is None else float(span[1] - span[0]) / 2
        visible = {key: one.visible or 0.0 for key, one in self.differences.items()}
        # Fewer than ten reports leave nothing for cross-validation.
        return [key for key, reports in self.reports.items() if reports < 10 or visible[key] > reach]


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Shown, Mapping[Any, Estimate]):
    """The estimates of several groups, with answers for all of them.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> towns = {town: cf.tally(mechanism.privatize([age] * 1000, rng=1)) for town, age in (("Oslo", 4), ("Rome", 7))}
    >>> found = cf.estimate_groups(towns, mechanism, cf.IBU())
    >>> {town: round(mean.estimate) for town, mean in found.mean().items()}
    {'Oslo': 4, 'Rome': 7}
    >>> found.describe_difference("Rome")
    'differs from the others: higher'

    Attributes
    ----------
    estimates
        The estimate of each group.
    """

    estimates: Mapping[Any, Estimate]

    def __getitem__(self, key: Any) -> Estimate:
        return self.estimates[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        return f"<GroupEstimates of {counted(len(self), 'group')} by {self.first.method!r}>"

    @property
    def first(self) -> Estimate:
        """Any one estimate, for what all share: alphabet and method."""
        return next(iter(self.estimates.values()))

    @cached_property
    def seen(self) -> GroupReports:
        """Sizes, fits and differences of the groups."""
        pools = {}
        for key, one in self.estimates.items():
            pools[key] = [(counts.as_counted, mechanism) for mechanism, counts in one.groups.items()]
        return GroupReports(pools)

    @property
    def reports(self) -> dict[Any, float]:
        """Number of reports of each group."""
        return self.seen.reports

    @property
    def total(self) -> float:
        """Number of reports in all groups."""
        return sum(self.reports.values())

    @property
    def largest(self) -> list[Any]:
        """The groups, largest first."""
        return sorted(self.estimates, key=lambda key: (-self.reports[key], key))

    @property
    def identification(self) -> Finding:
        """Worst identification of all groups.

        In a pool, each group has only the mechanisms that its people used.
        """
        findings = [one.identification for one in self.estimates.values()]
        worst = all_of(*(one.verdict for one in findings))
        return next(one for one in findings if one.verdict is worst)

    @property
    def least_identified(self) -> int:
        """Number of groups with the worst identification."""
        worst = self.identification.verdict
        return sum(one.identification.verdict is worst for one in self.estimates.values())

    @property
    def has_numbers(self) -> bool:
        """Whether the values are numbers, with quantiles and usually a mean."""
        return isinstance(self.first.alphabet.geometry, LineGeometry) or self.first._inference.alphabet.has_numbers

    @property
    def fits(self) -> GroupFits:
        """Goodness-of-fit test of each group."""
        return self.seen.fits

    @property
    def differences(self) -> Differences:
        """Test of each group against all others.

        The false discovery rate is controlled.
        """
        return self.seen.differences

    @cached_property
    def untold(self) -> list[Any]:
        """Groups whose reports do not reject a uniform population, largest first."""
        return [key for key in self.largest if not self.estimates[key].is_told]

    def describe_untold(self, name: Callable[[Any], str] = str) -> str:
        """Name the groups that do not reject a uniform population.

        The sentence also says what would help. It is empty if all groups reject uniformity.

        Parameters
        ----------
        name
            Returns the name of a group.
        """
        if not self.untold:
            return ""
        first, every = self.untold[0], len(self)
        others = len(self.untold) - 3
        names = ", ".join(map(name, self.untold[:3])) + (f" and {others:,} more" if others > 0 else "")
        which = f"{len(self.untold):,} of {every:,} groups" if every > 1 else "this group"
        largest = f"{name(first)}, the largest" if len(self.untold) > 1 else name(first)
        found = self.estimates[first].uniformity
        cure = "" if found is None else f" Of {largest}: {found.cure}"
        alike = "cannot be distinguished from those of a uniform population"
        return f"The reports of {which} {alike}: {names}.{cure}"

    @cached_property
    def overall(self) -> FloatArray:
        """The distribution of all groups, averaged by :attr:`weights`."""
        if not next(iter(self.first.groups), self.first).alphabet.is_finite:
            raise InvalidParameterError("Of unbounded values each group has its own likely ones.")
        weights = np.array([self.seen.weights[key] for key in self.estimates])
        shares = weights / weights.sum()
        overall: FloatArray = shares @ np.array([one.distribution for one in self.estimates.values()])
        return overall

    def query(
        self,
        query: Query,
        level: float = 0.95,
        *,
        name: str | None = None,
        basis: Basis | None = None,
        progress: Progress | None = None,
    ) -> dict[Any, Interval]:
        """Answer a query for each group, as :meth:`Estimate.query` does."""
        return self.answer([Question("query", query, name)], level, basis, progress)[0]

    def mean(
        self, level: float = 0.95, *, basis: Basis | None = None, progress: Progress | None = None
    ) -> dict[Any, Interval]:
        """Return the mean of each group, with its interval.

        The values must be numbers.
        """
        return self.answer([Question("mean")], level, basis, progress)[0]

    def quantile(
        self, share: float, level: float = 0.95, *, basis: Basis | None = None, progress: Progress | None = None
    ) -> dict[Any, Interval]:
        """Return a quantile of each group, with its interval.

        A share of 0.5 gives the median.
        """
        return self.answer([Question("quantile", share=share)], level, basis, progress)[0]

    def series(
        self, query: Query = "mean", level: float = 0.95, *, name: str | None = None, linked: Linked | None = None
    ) -> Series:
        """Return one answer over time, for groups that are waves.

        It has the change between any two, and a test for any change at all. People count as different, unless `linked`
        says whose reports are whose, as :func:`confide.estimate_over` does.

        >>> import confide as cf
        >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=3.0)
        >>> weeks = {week: cf.tally(["yes", "no"], [yes, 5000 - yes]) for week, yes in (("W1", 2500), ("W2", 2950))}
        >>> cf.estimate_groups(weeks, mechanism).series("answer == yes").test.shown
        'p < 0.001'
        """
        from confide.estimates.changes import follow  # which itself asks groups

        is_mean = isinstance(query, str) and query.strip().lower() == "mean"
        question = Question("mean") if is_mean else Question("query", query, name)
        return follow(self, question, self.answer([question], level)[0], linked)

    def interval(
        self, level: float = 0.95, *, basis: Basis | None = None, progress: Progress | None = None
    ) -> dict[Any, Band]:
        """Return an interval for the probability of each value in each group.

        The default bootstrap solves each group up to a thousand times: seconds a group for a hundred values, hours for
        thousands of groups. :meth:`query`, :meth:`mean` and :meth:`quantile` take minutes there.
        """
        bands = {}
        for number, (key, one) in enumerate(self.estimates.items(), start=1):
            bands[key] = one.interval(level, basis=basis)
            if progress is not None:
                progress(number)
        return bands

    def answer(
        self,
        questions: Sequence[Question],
        level: float = 0.95,
        basis: Basis | None = None,
        progress: Progress | None = None,
    ) -> list[dict[Any, Interval]]:
        """Return the answers of all groups to several questions; see :meth:`query`."""
        answers: list[dict[Any, Interval]] = [{} for _ in questions]
        keys = list(self.estimates)
        for begin in range(0, len(keys), 100):  # batches large enough for fast matrix products
            some = keys[begin : begin + 100]
            pairs = [(self.estimates[key]._inference, question) for question in questions for key in some]
            found = iter(ask(pairs, level, basis))
            for one in answers:
                one.update((key, next(found)) for key in some)
            if progress is not None:
                progress(begin + len(some))
        return answers

    def describe_difference(self, key: Any) -> str:
        """Say whether a group differs from the others and, if so, how.

        No significant difference does not mean that the groups are equal. On a line the sentence says how large a
        difference the test would have found.
        """
        found = self.differences[key]
        if len(self.estimates) < 2:
            return "nothing to compare with"
        if found.is_different:
            return f"differs from the others: {self._how(key, found)}"
        if found.visible is None:
            return "no difference seen"
        return f"no difference seen; a mean {found.visible:.2g} higher or lower would have shown"

    def _how(self, key: Any, found: Difference) -> str:
        """Return how a group differs: its leading direction, or largest change."""
        if isinstance(self.first.alphabet.geometry, LineGeometry) or not self.first.alphabet.is_finite:
            strong = np.abs(found.scores[: len(SHAPES)])
            # Prefer the mean if it is at least half as strong as the strongest: people ask for it.
            place = 0 if strong[0] >= 0.5 * strong.max() else int(strong.argmax())
            return SHAPES[place][int(found.scores[place] > 0)] if strong.size else "another distribution"
        # The difference from all groups and the difference from the others have the same sign.
        change = self.estimates[key].distribution - self.overall
        place = int(np.abs(change).argmax())
        value = self.first.alphabet.labels([place])[0]
        return f"{'more' if change[place] > 0 else 'less'} {value}"


def estimate_groups(
    groups: Mapping[GroupKey, Counts],
    mechanism: Mechanism,
    method: Method | None = None,
    *,
    progress: Progress | None = None,
) -> GroupEstimates:
    """Recover the distribution of each group under one mechanism.

    Groups that share a channel are solved together, many times faster than one by one. `untold` names the groups whose
    reports do not reject a uniform population. One :class:`UniformReportsWarning` covers all groups that have too few
    reports for that.

    Parameters
    ----------
    groups
        The counts of each group, as :func:`confide.count` makes them with `by`.
    mechanism
        The mechanism of all reports.
    method
        How to recover the distributions; :class:`Stacked` if left out.
    progress
        Called with the number of finished groups.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> towns = {town: cf.tally(mechanism.privatize([age] * 1000, rng=1)) for town, age in (("Oslo", 4), ("Rome", 7))}
    >>> {town: int(one.distribution.argmax()) for town, one in estimate_groups(towns, mechanism, cf.IBU()).items()}
    {'Oslo': 4, 'Rome': 7}
    """
    require_kinds(estimate_groups, locals())
    answers = recover_groups(groups, mechanism, method, progress)
    warn_if_not_identified(answers.first)
    fits = misfits(groups, mechanism)
    if fits is not None:
        warnings.warn(fits.headline, PoorFitWarning, stacklevel=2)
    # If the distributions are not identifiable, another warning already says so.
    weak = [one for one in answers.values() if one.uniformity is not None and one.uniformity.is_weak]
    if weak and not answers.identification.is_no:
        warnings.warn(answers.describe_untold(), UniformReportsWarning, stacklevel=2)
    return answers


def recover_groups(
    groups: Mapping[GroupKey, Counts],
    mechanism: Mechanism,
    method: Method | None = None,
    progress: Progress | None = None,
) -> GroupEstimates:
    """Estimate like :func:`estimate_groups`, without warnings."""
    return recover_pools({key: [(counts, mechanism)] for key, counts in groups.items()}, method, progress)


def recover_pools(
    pools: Mapping[GroupKey, Sequence[Group]], method: Method | None = None, progress: Progress | None = None
) -> GroupEstimates:
    """Estimate like :func:`recover_groups`, with several mechanisms per group."""
    check_groups([part for pool in pools.values() for part in pool])
    method, merged = as_method(method), {key: independent(pool) for key, pool in pools.items()}
    found: dict[GroupKey, Estimate] = {}
    if not next(iter(next(iter(merged.values())))).alphabet.is_finite:  # each group has its own likely values
        for number, (key, one) in enumerate(merged.items(), start=1):
            found[key] = recover_pool(one, method, None)
            if progress is not None:
                progress(number)
        return GroupEstimates(found)
    evidence = [Evidence.pool(observe_groups(one, None)) for one in merged.values()]
    began = time.perf_counter()
    solutions = _solve(evidence, method, progress)
    seconds = (time.perf_counter() - began) / len(evidence)
    for (key, one), seen, solution in zip(merged.items(), evidence, solutions, strict=True):
        found[key] = judge(one, seen, solution, method, seconds)
    return GroupEstimates(found)


def _solve(groups: Sequence[Evidence], method: Method, progress: Progress | None) -> list[Solution]:
    """Solve groups that share a channel together (under RAPPOR none do)."""
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group.channel.identity, []).append(place)
    solutions: dict[int, Solution] = {}
    for shared in places.values():
        before, counts = len(solutions), np.array([groups[place].counts for place in shared])

        def tell(done: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done)

        solutions |= zip(shared, method.solve_many(groups[shared[0]], counts, progress=tell), strict=True)
    return [solutions[place] for place in range(len(groups))]

"""Counts and estimates of several groups of people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.alphabets.numerals import parse_real
from confide.channels.base import FloatArray
from confide.counts import Counts, merge
from confide.errors import DataFileError, InvalidCountsError
from confide.estimates import Estimate, recover, recover_groups
from confide.files.rows import Account
from confide.mechanisms import Mechanism
from confide.methods import Method, Progress
from confide.origins import Origin
from confide.surveys import Survey
from confide.theory.fit import GroupFits, fit_pools
from confide.theory.verdicts import Finding, all_of
from confide.wording import counted

if TYPE_CHECKING:
    from confide.files.counts_files import CountsFile

Key = tuple[str, ...]
"""Name of a group: one text for each column, an empty one where the rows have none."""

Pool = list[tuple[Counts, Mechanism]]
"""Counts with the mechanism that their reports went through; of several surveys where these were put together."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedReports(Counts):
    """Counts that were read, with what became of the rows.

    Attributes
    ----------
    rows
        The account of rows: read, accepted, and rejected for which reason.
    """

    rows: Account = field(default_factory=Account)


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCounts(Mapping[Key, Counts]):
    """The counts of each group, by what names it.

    >>> from confide import tally
    >>> towns = GroupedCounts(("town",), {("Oslo",): tally([3, 3]), ("Rome",): tally([5])}, Account(3))
    >>> towns["Oslo",], towns.merged
    (Counts(2 reports, 1 distinct), Counts(3 reports, 2 distinct))

    Attributes
    ----------
    by
        The columns that name a group.
    groups
        The counts by group.
    rows
        The account of rows.
    origin
        Of how many reports of all groups it is known with which noise they were made; the sum of the groups' if left
        out. Where reports of several origins were counted together, of one group it is not known.
    """

    by: tuple[str, ...]
    groups: Mapping[Key, Counts]
    rows: Account
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        if not self.origin.total:
            object.__setattr__(self, "origin", sum((one.origin for one in self.groups.values()), Origin()))
        for key in self.groups:
            if len(key) != len(self.by):
                raise InvalidCountsError(f"A group is named by {', '.join(self.by)}; got {key!r}.")

    @property
    def merged(self) -> Counts:
        """The counts of all groups together."""
        return merge(self.groups.values()).with_origin(self.origin)

    def __getitem__(self, key: Key) -> Counts:
        return self.groups[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        groups, rows = counted(len(self), "group"), counted(self.rows.accepted, "row")
        return f"GroupedCounts({groups} by {', '.join(self.by)}, {rows})"


def label_group(key: Key) -> str:
    """Return a group's name in words.

    >>> label_group(("Oslo", "7")), label_group(("",))
    ('Oslo, 7', '(none)')
    """
    return ", ".join(part or "(none)" for part in key)


def natural_order(keys: Iterable[Key]) -> list[Key]:
    """Return groups in the order that a person would put them: numbers by size, texts by letter.

    >>> natural_order([("week 1", "10"), ("week 1", "9")])
    [('week 1', '9'), ('week 1', '10')]
    """
    found = list(keys)
    are_numbers = [all(parse_real(part) is not None for part in column) for column in zip(*found, strict=True)]

    def rank(key: Key) -> tuple[Any, ...]:
        return tuple(parse_real(part) if number else part for part, number in zip(key, are_numbers, strict=True))

    return sorted(found, key=rank)


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """Estimates of each group.

    Attributes
    ----------
    survey
        What was asked.
    by
        The columns that name a group.
    reports
        How many reports each group has.
    estimates
        What was recovered for each.
    origin
        Of how many reports of all groups it is known with which noise they were made; the sum of the groups' if left
        out.
    """

    survey: Survey
    by: tuple[str, ...]
    reports: Mapping[Key, float]
    estimates: Mapping[Key, Estimate]
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        if not self.origin.total:
            parts = (part.origin for one in self.estimates.values() for part in one.groups.values())
            object.__setattr__(self, "origin", sum(parts, Origin()))

    @property
    def total(self) -> float:
        """Number of reports in all groups."""
        return sum(self.reports.values())

    @property
    def largest(self) -> list[Key]:
        """The groups, the one with the most reports first."""
        return sorted(self.estimates, key=lambda key: (-self.reports[key], key))

    @property
    def identification(self) -> Finding:
        """Worst identification of all groups; in a pool each has the mechanisms that its people used."""
        findings = [one.identification for one in self.estimates.values()]
        worst = all_of(*(one.verdict for one in findings))
        return next(one for one in findings if one.verdict is worst)

    @cached_property
    def fits(self) -> GroupFits:
        """Whether the reports of the groups can come from their mechanisms at all."""
        pools = {key: [(counts, one) for one, counts in found.groups.items()] for key, found in self.estimates.items()}
        return fit_pools(pools)

    @property
    def least_identified(self) -> int:
        """Of how many groups that is known."""
        worst = self.identification.verdict
        return sum(one.identification.verdict is worst for one in self.estimates.values())

    @property
    def overall(self) -> FloatArray:
        """The distribution of all groups together: the mean of theirs, by their reports."""
        weights = np.array([self.reports[key] for key in self.estimates]) / self.total
        overall: FloatArray = weights @ np.array([one.distribution for one in self.estimates.values()])
        return overall


def estimate_file(
    counts: CountsFile, survey: Survey, method: Method, *, progress: Progress | None = None
) -> GroupEstimates:
    """Estimate the distribution of every group in a file of counts."""
    pools = counts.pools
    if not pools:
        raise DataFileError("The counts add up to 0; an estimate needs at least one report.")
    if counts.heading.is_pooled:
        estimates = _estimate_pools(pools, method, progress)
    else:
        alone = {key: pool[0][0] for key, pool in pools.items()}
        estimates = recover_groups(alone, survey.mechanism, method, progress)
    reports = {key: sum(part.total for part, _ in pool) for key, pool in pools.items()}
    return GroupEstimates(survey, counts.heading.by, reports, estimates, counts.origin)


def _estimate_pools(pools: Mapping[Key, Pool], method: Method, progress: Progress | None) -> dict[Key, Estimate]:
    estimates = {}
    for number, (key, pool) in enumerate(pools.items(), start=1):
        estimates[key] = recover(pool, method)
        if progress is not None:
            progress(number)
    return estimates

"""Counts of several groups of people, and what became of the rows behind counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confide.alphabets.numerals import parse_real
from confide.counting.rejects import RowTotals
from confide.counts import Counts, merge
from confide.errors import InvalidCountsError

Key = tuple[str, ...]
"""What names a group: one text for each column, an empty one where the rows have none."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedReports(Counts):
    """Counts that were read, with what became of the rows.

    Attributes
    ----------
    rows
        How many rows were read, accepted, and rejected for which reason.
    """

    rows: RowTotals = field(default_factory=lambda: RowTotals(0))


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCounts(Mapping[Key, Counts]):
    """The counts of each group, by what names it.

    >>> from confide import tally
    >>> towns = GroupedCounts(("town",), {("Oslo",): tally([3, 3]), ("Rome",): tally([5])}, RowTotals(3))
    >>> towns["Oslo",], towns.merged
    (Counts(2 reports, 1 distinct), Counts(3 reports, 2 distinct))

    Attributes
    ----------
    by
        The columns that name a group.
    groups
        The counts by group.
    rows
        What became of the rows.
    """

    by: tuple[str, ...]
    groups: Mapping[Key, Counts]
    rows: RowTotals

    def __post_init__(self) -> None:
        for key in self.groups:
            if len(key) != len(self.by):
                raise InvalidCountsError(f"A group is named by {', '.join(self.by)}; got {key!r}.")

    @property
    def merged(self) -> Counts:
        """The counts of all groups together."""
        return merge(self.groups.values())

    def __getitem__(self, key: Key) -> Counts:
        return self.groups[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return f"GroupedCounts({len(self):,} groups by {', '.join(self.by)}, {self.rows.accepted:,} rows)"


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

"""Rows of a store, and batches on their way into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from confide.alphabets import Indices
from confide.collector.wire import Wire
from confide.surveys import Survey


class Fate(Enum):
    """What became of a batch in a transaction."""

    COUNTED = "counted"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    CLOSED = "closed"
    SPENT = "spent"
    PAST = "past"


class Batch(NamedTuple):
    """A batch that was read and judged, ready to be counted."""

    mark: str
    content: str
    survey: int
    day: int
    cell: str
    counts: dict[str, int] | Indices
    accepted: int
    rejected: dict[str, int]
    wire: Wire
    invitation: str | None = None


@dataclass(frozen=True)
class StoredSurvey:
    """A survey of the store.

    Attributes
    ----------
    number
        By which other tables know it.
    fingerprint, document
        What devices know it by, and the survey as JSON.
    admission
        Who may upload: one of `ADMISSIONS`.
    is_closed
        Whether it takes no more reports.
    is_simulated
        Whether it is for trying things out: whoever answers it, its reports are told as simulated.
    """

    number: int
    fingerprint: str
    document: str
    admission: str = "open"
    is_closed: bool = False
    is_simulated: bool = False

    @property
    def survey(self) -> Survey:
        """The survey."""
        return Survey.from_json(self.document)


@dataclass(frozen=True)
class StoredToken:
    """A token: its name, what it allows, the fingerprint of the survey that it is for (all if empty), its digest."""

    name: str
    role: str
    survey: str
    digest: str


class CountRow(NamedTuple):
    """Count of one report of one group on one day."""

    day: int
    cell: str
    report: str
    number: int


def add_up_batches(batches: Sequence[Batch], accepted: str) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return rows of counts and of accounts, each key once and in order."""
    parts: dict[tuple[int, int, str], list[Batch]] = {}
    accounts: dict[tuple[int, int, str], int] = {}
    for batch in batches:
        parts.setdefault((batch.survey, batch.day, batch.cell), []).append(batch)
        for reason, number in ((accepted, batch.accepted), *batch.rejected.items()):
            key = (batch.survey, batch.day, reason)
            accounts[key] = accounts.get(key, 0) + number
    counts: list[list[Any]] = []
    for key, own in sorted(parts.items()):
        sums = own[0].wire.add_up(batch.counts for batch in own)
        counts += [[*key, text, number] for text, number in sorted(sums.items())]
    return counts, [[*key, number] for key, number in sorted(accounts.items())]

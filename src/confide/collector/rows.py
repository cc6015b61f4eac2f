"""Rows of a store, and batches on their way into it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

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
        Whether its reports are those of simulated devices; it takes no others.
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

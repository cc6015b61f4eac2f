"""Rows of a source: the fields of a report, and the account of what was accepted and what rejected, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Literal

from confide.errors import DataFileError, InvalidParameterError
from confide.evidence.counts import NO_WEIGHTS
from confide.values import Alphabet, LatticeGeometry, LineGeometry, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import LARGEST_INTEGER
from confide.values.wording import counted, listed


@dataclass(frozen=True)
class FileLimits:
    """How much of a file is held, looked at or shown at a time.

    Attributes
    ----------
    block
        Characters or bytes that are read at a time: large enough that a block's own cost is not seen, far below memory.
    parquet_rows, arrow_rows
        Rows of a Parquet file that are read at a time, and those of a batch that DuckDB hands over.
    shown_rejects, longest_shown
        Rejected rows that a message names, and characters of each; a file of them names all.
    largest_part
        People that are blurred at a time.
    fewest_rows
        Rows from which on a file is stopped at most of which are odd: one person's high salary is not.
    small_group
        People of a group up to which, this number not included, each of them is nearly known by it.
    most_groups
        Groups by kept columns that are counted; whoever keeps columns with more contents has other worries.
    fewest_told, few_exceptions
        People that a column must set right before it is said to tell the values, and the part of these that may be
        wrong. Chance pairs up twenty people so well less than once in a million times.
    memory
        Bytes of reports that are held in memory to be shuffled; more are set down on disk.
    piece
        Rows that are scattered together, and handed out together: a file is written in pieces of about this size.
    smallest_split
        Rows of a bucket from which on it may be split again, should it not fit into memory.
    text_bytes
        Bytes that a text takes in memory, beside its letters.
    small_range
        Whole numbers between which each is written once and then looked up.
    most_features
        Cells that a file of features has at most, the fullest ones: 30 MB, which programs for maps still open.
    """

    block: int = 2**22
    parquet_rows: int = 2**20
    arrow_rows: int = 100_000
    shown_rejects: int = 10
    longest_shown: int = 80
    largest_part: int = 2**20
    fewest_rows: int = 20
    small_group: int = 10
    most_groups: int = 2**18
    fewest_told: int = 20
    few_exceptions: float = 0.01
    memory: int = 2**26
    piece: int = 2**20
    smallest_split: int = 2**12
    text_bytes: int = 64
    small_range: int = 2**16
    most_features: int = 100_000


LIMITS = FileLimits()


class Reason(StrEnum):
    """Reason for which a row was rejected."""

    MISSING = "missing"
    NOT_A_NUMBER = "not a number"
    NOT_WHOLE = "not a whole number"
    OUTSIDE = "outside the alphabet"
    BAD_COUNT = "bad count"
    WEIGHT = "a weight, not a count"
    MISSHAPEN = "wrong number of fields"
    NOT_JSON = "not JSON"
    NOT_FINITE = "not a finite number"
    SEPARATED = "separators in a number"
    SIGNED = "a sign or unit beside a number"
    NOT_A_DATE = "not a date"
    NOT_A_WEEKDAY = "not a weekday"
    NO_SUCH_DATE = "no such date"
    NOT_A_TIME = "not a time"
    NO_SUCH_TIME = "no such time"
    NOT_DEGREES = "not decimal degrees"
    NOT_BITS = "not a text of 0 and 1 of the right length"
    NOT_ON_EARTH = "no latitude and longitude"
    SWAPPED = "latitude and longitude swapped"


@dataclass(frozen=True)
class Reject:
    """A row that cannot be used.

    Attributes
    ----------
    file
        The file that it stands in.
    line
        The line where it starts; in a format without lines the row, counted from 1; None where rows have no order.
    text
        What it says in the columns that were read.
    reason
        What is wrong with it.
    hint
        Which setting of the survey would take it, where one would.
    """

    file: str
    line: int | None
    text: str
    reason: Reason
    hint: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line:,}"
        text = self.text if len(self.text) <= LIMITS.longest_shown else f"{self.text[: LIMITS.longest_shown]}\u2026"
        return f"{place}: {text!r} ({self.reason}{f'; {self.hint}' if self.hint else ''})"


@dataclass(frozen=True)
class Account:
    """Rows of a source, accepted or rejected; accounts of batches and of files add up.

    >>> print(Account(7, {Reason.MISSING: 1}) + Account(2))
    10 rows read = 9 accepted + 1 rejected

    Attributes
    ----------
    accepted
        How many rows can be used.
    rejected
        How many cannot, by the reason.
    first
        The first few of those, for messages.
    source, columns
        Where the rows stand, and in which columns.
    people
        How many people stand behind the accepted rows: more than rows where a row has a count.
    is_counted
        Whether the rows have counts.
    remarks
        How many accepted rows were changed on the way to a value, by what was done: "folded", "counted as other".
    """

    accepted: int = 0
    rejected: Mapping[Reason, int] = field(default_factory=dict)
    first: tuple[Reject, ...] = field(default=(), compare=False)
    source: str = field(default="The source", compare=False)
    columns: tuple[str, ...] = field(default=(), compare=False)
    people: int = field(default=0, compare=False)
    is_counted: bool = field(default=False, compare=False)
    remarks: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def read(self) -> int:
        """The number of rows."""
        return self.accepted + self.total_rejected

    @property
    def total_rejected(self) -> int:
        """The number of rows that cannot be used."""
        return sum(self.rejected.values())

    @property
    def reasons(self) -> str:
        """The reasons in words, each with how many rows it holds for, the most frequent first."""
        # Ties by name, so that a message is the same on every run.
        ordered = sorted(self.rejected.items(), key=lambda one: (-one[1], one[0]))
        return ", ".join(f"{number:,} {reason}" for reason, number in ordered)

    @property
    def listing(self) -> str:
        """The first rejected rows, one a line, and how many more there are."""
        shown = [f"  {reject}" for reject in self.first]
        left = self.total_rejected - len(shown)
        return "\n".join([*shown, f"  ... and {left:,} more"] if left > 0 else shown)

    @property
    def description(self) -> str:
        """Account of the rows in words: their source and what became of them."""
        often = ", each as often as its count says" if self.is_counted else ""
        outcome = str(self) if self.total_rejected else f"{counted(self.read, 'row')}, all accepted"
        changed = f"; {self.changes}" if self.remarks else ""
        return f"{self.source}, {name_columns(self.columns)}: {outcome}{often}{changed}"

    @property
    def changes(self) -> str:
        """What was done to accepted rows, in words, the most frequent first; nothing where nothing was."""
        ordered = sorted(self.remarks.items(), key=lambda one: (-one[1], one[0]))
        return ", ".join(f"{number:,} {remark}" for remark, number in ordered)

    @property
    def record(self) -> dict[str, Any]:
        """Account of the rows for JSON: their source and what became of them."""
        return {
            "source": self.source,
            "columns": list(self.columns),
            "is_counted": self.is_counted,
            "read": self.read,
            "accepted": self.accepted,
            "rejected": self.total_rejected,
            **({"remarks": dict(self.remarks)} if self.remarks else {}),
        }

    def require_rows(self) -> None:
        """Refuse a source without a row."""
        if not self.read:
            raise DataFileError(f"{self.source} has no rows; it should hold one row a person.")
        self._refuse_weights()

    def _refuse_weights(self) -> None:
        """Refuse fractions among the counts: to leave such rows out would change the answer."""
        weights = self.rejected.get(Reason.WEIGHT, 0)
        if weights:
            rows = f"{weights:,} of {counted(self.read, 'row')} of {self.source}"
            raise DataFileError(f"{rows} have a fraction for a count. {NO_WEIGHTS}")

    def require_usable(self, cure: str = "Correct or remove them.") -> None:
        """Refuse rejected rows, naming the first ten, with a cure."""
        self._refuse_weights()
        if self.total_rejected:
            rows = f"{self.total_rejected:,} of {counted(self.read, 'row')}"
            raise DataFileError(f"{rows} of {self.source} cannot be used:\n{self.listing}\n{cure}")

    def require_any(self, alphabet: Alphabet, what: str = "Reports") -> None:
        """Refuse a source of which no row could be used."""
        self.require_rows()
        if not self.accepted:
            rows = f"None of the {self.read:,} rows of {self.source} can"
            told = rows if self.read > 1 else f"The only row of {self.source} cannot"
            listing = f":\n{self.listing}\n" if self.first else f" ({self.reasons}). "
            raise DataFileError(
                f"{told} be used{listing}Do the data and the survey belong together? {what} must lie in {alphabet!r}."
            )

    def __add__(self, other: Account) -> Account:
        return Account(
            self.accepted + other.accepted,
            dict(Counter(self.rejected) + Counter(other.rejected)),
            (*self.first, *other.first)[: LIMITS.shown_rejects],
            # An account without rows is where a sum begins.
            other.source if self.read == 0 else self.source,
            other.columns or self.columns,
            self.people + other.people,
            self.is_counted or other.is_counted,
            dict(Counter(self.remarks) + Counter(other.remarks)),
        )

    def __str__(self) -> str:
        rows = counted(self.read, "row")
        return f"{rows} read = {self.accepted:,} accepted + {self.total_rejected:,} rejected"


def first_few(rejects: Iterable[Reject]) -> tuple[Reject, ...]:
    """Return as many rejected rows as a message names."""
    return tuple(islice(rejects, LIMITS.shown_rejects))


def name_columns(names: Iterable[str]) -> str:
    """Return columns as they are named in a sentence.

    >>> name_columns(["row", "column"])
    'columns row and column'
    """
    named = list(names)
    return f"{'column' if len(named) == 1 else 'columns'} {listed(named)}"


@dataclass(frozen=True)
class Field:
    """One part of a report, in the few words that SQL and Arrow need.

    Attributes
    ----------
    kind
        A whole number, a real number on a fine lattice, or a text.
    low, high
        Between what a whole number lies.
    members
        The only whole numbers or texts that there are; None where all between low and high are.
    resolution
        Of how large a fraction of one real numbers are multiples.
    """

    kind: Literal["whole", "real", "text"]
    low: int = -LARGEST_INTEGER
    high: int = LARGEST_INTEGER
    members: tuple[int, ...] | tuple[str, ...] | None = None
    resolution: int = 1


def fields_of(alphabet: Alphabet) -> tuple[Field, ...]:
    """Return the parts of a report of this alphabet.

    >>> from confide import Grid
    >>> fields_of(Grid(2, 3))[1].high
    2
    """
    if alphabet.attributes is not None:
        return tuple(field for one in alphabet.attributes.alphabets for field in fields_of(one))
    geometry = alphabet.geometry
    if isinstance(geometry, PlaneGeometry):
        axes = ((geometry.first_row, geometry.rows), (geometry.first_column, geometry.columns))
        return tuple(Field("whole", first, first + size - 1) for first, size in axes)
    if isinstance(geometry, LatticeGeometry) and not geometry.is_whole:
        return tuple(Field("real", resolution=one) for one in geometry.resolutions)
    if alphabet.bits is not None:
        # Bits are packed into words of 63: SQL has no whole numbers without a sign.
        lengths = (min(63, alphabet.bits.length - start) for start in range(0, alphabet.bits.length, 63))
        return tuple(Field("whole", 0, 2**length - 1) for length in lengths)
    # The parts of any other report are all alike.
    if isinstance(geometry, LineGeometry) and alphabet.is_finite:
        every = Field("whole", *alphabet.span)
    elif isinstance(geometry, RingGeometry):
        every = Field("whole", 0, alphabet.size - 1)
    elif geometry.dimensions:
        every = Field("whole")
    elif isinstance(geometry, UnorderedGeometry):
        members: Any = tuple(alphabet.decode(range(alphabet.size)).tolist())
        every = Field("text" if isinstance(members[0], str) else "whole", members=members)
    else:
        raise InvalidParameterError(f"Reports of {alphabet!r} cannot be counted in SQL; tally them in Python.")
    return (every,) * alphabet.parts

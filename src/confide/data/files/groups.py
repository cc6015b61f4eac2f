"""Counts and estimates of several groups of people."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from confide.data.files.rows import Account
from confide.errors import DataFileError, InvalidCountsError
from confide.estimates.groups import GroupEstimates, recover_pools
from confide.estimates.inference import Band, Interval
from confide.estimates.inference.inference import Question
from confide.evidence.counts import Counts, merge, require_counts, tally
from confide.evidence.origins import Origin
from confide.mechanisms import Mechanism
from confide.solve.methods import Method, Progress
from confide.surveys.survey import Survey
from confide.values import Alphabet, Values
from confide.values.checks import as_items, require_kinds
from confide.values.numerals import parse_real
from confide.values.queries import Query, describe_query
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.data.files.counts_files import CountsFile, Heading

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
    repeats
        How many reports of one person there may be in all groups together, where noise is permanent: a person may be in
        a group of each file.
    """

    by: tuple[str, ...]
    groups: Mapping[Key, Counts]
    rows: Account
    origin: Origin = field(default_factory=Origin)
    repeats: int = 1

    def __post_init__(self) -> None:
        require_kinds(GroupedCounts, vars(self))
        object.__setattr__(self, "by", as_items("by", self.by))
        for one in self.groups.values():
            require_counts(one)
        if not self.origin.total:
            object.__setattr__(self, "origin", sum((one.origin for one in self.groups.values()), Origin()))
        for key in self.groups:
            if len(key) != len(self.by):
                raise InvalidCountsError(f"A group is named by {', '.join(self.by)}; got {key!r}.")

    @property
    def merged(self) -> Counts:
        """The counts of all groups together."""
        most = max([self.repeats, *(one.repeats for one in self.groups.values())])
        return merge(self.groups.values(), repeats=most).with_origin(self.origin)

    def __getitem__(self, key: Key) -> Counts:
        return self.groups[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        groups, rows = counted(len(self), "group"), counted(self.rows.accepted, "row")
        return f"GroupedCounts({groups} by {', '.join(self.by)}, {rows})"


def split_groups(table: Any, heading: Heading, path: object = "The source") -> dict[Key, dict[int, Counts]]:
    """Cut a table into groups and surveys, where these change; a report that stands twice in one is refused."""
    alphabet, depth = heading.survey.mechanism.report_alphabet, len(heading.by)
    columns = [table.column(place).combine_chunks() for place in range(table.num_columns)]
    names = depth + heading.is_pooled
    keys = [
        column.fill_null("").to_pylist() if place < depth else column.to_pylist()
        for place, column in enumerate(columns[:names])
    ]
    groups: dict[Key, dict[int, Counts]] = {}
    distinct = 0
    # Runs of rows with the same key.
    changes = np.arange(table.num_rows) == 0
    for names_of in keys:
        array = np.array(names_of, dtype=object)
        changes[1:] |= array[1:] != array[:-1]
    for start, end in itertools.pairwise([*np.flatnonzero(changes).tolist(), table.num_rows]):
        parts = [column.slice(start, end - start) for column in columns[names:]]
        # Columns that are in order as counts.
        reports, numbers = to_reports(parts[:-1], alphabet), parts[-1].to_numpy().astype(np.float64)
        # Parts of different types are put in an order of their own, which SQL does not know.
        counts = tally(reports, numbers) if reports.dtype.kind == "O" else Counts(reports, numbers)
        of_key = groups.setdefault(tuple(str(column[start]) for column in keys[:depth]), {})
        number = keys[depth][start] if heading.is_pooled else 0
        distinct -= 0 if number not in of_key else of_key[number].counts.size
        of_key[number] = counts if number not in of_key else merge([of_key[number], counts])
        distinct += of_key[number].counts.size
    if distinct != table.num_rows:
        raise DataFileError(
            f"{path} holds {table.num_rows - distinct:,} of its {table.num_rows:,} counts more than once. Were files "
            f"put behind one another? Add files of counts up with confide merge."
        )
    return groups


def to_reports(columns: list[Any], alphabet: Alphabet) -> Values:
    """Return the Arrow columns of reports as one array of the alphabet's shape."""
    arrays: list[Values] = [column.to_numpy(zero_copy_only=False) for column in columns]
    arrays = [array.astype(str) if array.dtype.kind == "O" else array for array in arrays]
    if len(arrays) == 1:
        return arrays[0]
    if alphabet.attributes is not None and len({array.dtype.kind for array in arrays}) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.stack(arrays, axis=-1)


def label_group(key: Key) -> str:
    """Return a group's name in words.

    >>> label_group(("Oslo", "7")), label_group(("",))
    ('Oslo, 7', '(none)')
    """
    return ", ".join(part or "(none)" for part in key)


_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
NUMBERED = {
    word: str(number)
    for names in (_MONTHS, _DAYS)
    for number, name in enumerate(names.split(), 1)
    for word in (name, name[:3])
}
"""Names that stand for numbers in dates."""

Rank = tuple[float | str, ...]
"""Place of a text in a column: numbers come in their order, whatever else by letter."""


def natural_order(keys: Iterable[Key]) -> list[Key]:
    """Return groups as a person would order them: numbers, dates and weeks in their order, texts by letter.

    >>> natural_order([("Oslo", "week 10"), ("Oslo", "week 9")])
    [('Oslo', 'week 9'), ('Oslo', 'week 10')]
    """
    found = list(keys)
    ranks = [_sequence(column) or {text: (text,) for text in column} for column in zip(*found, strict=True)]
    return sorted(found, key=lambda key: tuple(rank[text] for rank, text in zip(ranks, key, strict=True)))


def shown_order(ranked: Sequence[Key], most: int | None = None) -> list[Key]:
    """Return the first of some groups; in their own order where one of their columns has one, as weeks have.

    >>> shown_order([("2026-W10",), ("2026-W02",), ("2026-W07",)], 2)
    [('2026-W02',), ('2026-W10',)]
    >>> shown_order([("Rome",), ("Oslo",)])
    [('Rome',), ('Oslo',)]
    """
    has_order = any(_sequence(column) for column in zip(*ranked, strict=True))
    return natural_order(ranked[:most]) if has_order else list(ranked[:most])


def _sequence(column: Sequence[str]) -> dict[str, Rank] | None:
    """Return the ranks of texts that follow on each other: numbers, dates, weeks, names with a number; None of others.

    A group without a name comes first.

    >>> _sequence(["wave 2", "wave 10"]), _sequence(["Q2 2025", "Q1 2026"])
    ({'wave 2': (2.0,), 'wave 10': (10.0,)}, {'Q2 2025': (2025.0, 2.0), 'Q1 2026': (2026.0, 1.0)})
    >>> _sequence(["Monday", "Friday"]), _sequence(["Oslo", "Rome"])
    ({'Monday': (1.0,), 'Friday': (5.0,)}, None)
    """
    texts = [text for text in dict.fromkeys(column) if text]
    if texts and all(parse_real(text) is not None for text in texts):
        return {text: (cast("float", parse_real(text)) if text else -math.inf,) for text in column}
    numbers = {text: [float(run) for run in re.findall("[0-9]+", _numbered(text))] for text in texts}
    heads = {re.split("[0-9]", _numbered(text), maxsplit=1)[0] for text in texts}
    if not texts or len(heads) > 1 or not all(numbers.values()):
        return None
    # Years first: a quarter or a day may stand before its year. Days stand before months where both do, but in America.
    is_american = any(len(runs) == 3 and 1900 <= runs[2] < 2200 and runs[1] > 12 for runs in numbers.values())
    ranks: dict[str, Rank] = {"": (-math.inf,)} if "" in column else {}
    for text, runs in numbers.items():
        has_year_last = len(runs) > 1 and 1900 <= runs[-1] < 2200 and not 1900 <= runs[0] < 2200
        before = runs[:-1] if is_american else runs[-2::-1]
        ranks[text] = (runs[-1], *before) if has_year_last else tuple(runs)
    return ranks


def _numbered(text: str) -> str:
    """Return a text in small letters, with the names of months and days of the week as numbers."""
    words = re.split("([a-z]+)", text.lower())
    return "".join(NUMBERED.get(word, word) for word in words)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyGroups(GroupEstimates):
    """Estimates of the groups of a survey.

    Attributes
    ----------
    survey
        What was asked.
    by
        The columns that name a group.
    origin
        Where the noise of their reports comes from; the sum of what the counts know, if left out.
    files
        How many files of reports were counted together; one person may be in each of them.
    """

    survey: Survey
    by: tuple[str, ...]
    origin: Origin = field(default_factory=Origin)
    files: int = 1

    @property
    def ranked(self) -> list[Key]:
        """The groups, those that differ first, then the largest."""
        different = self.differences.different
        return [*different, *(key for key in self.largest if not self.differences[key].is_different)]

    def __post_init__(self) -> None:
        if not self.origin.total:
            parts = (part.origin for one in self.values() for part in one.groups.values())
            object.__setattr__(self, "origin", sum(parts, Origin()))


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """Answers of all groups to questions beyond the distribution.

    Attributes
    ----------
    questions
        The answers to each question, by group: mean and median where values are numbers, and queries.
    bands
        An interval for every value of each group, where that was asked for.
    """

    questions: Mapping[str, Mapping[Key, Interval]] = field(default_factory=dict)
    bands: Mapping[Key, Band] = field(default_factory=dict)

    @property
    def ordered(self) -> list[str]:
        """The questions, shares first: these were asked for by name."""
        asked = [name for name, found in self.questions.items() if next(iter(found.values())).is_share]
        return list(dict.fromkeys([*asked, *self.questions]))

    @property
    def main(self) -> str | None:
        """The question to show first; None where there is none."""
        return next(iter(self.ordered), None)


def estimate_file(
    counts: CountsFile, survey: Survey, method: Method, *, progress: Progress | None = None
) -> SurveyGroups:
    """Estimate the distribution of every group in a file of counts."""
    pools = counts.pools
    if not pools:
        raise DataFileError("The counts add up to 0; an estimate needs at least one report.")
    found = recover_pools(pools, method, progress)
    return SurveyGroups(found.estimates, survey, counts.heading.by, counts.origin, counts.heading.files)


def ask_groups(
    groups: SurveyGroups,
    queries: Sequence[Query],
    level: float,
    *,
    quantiles: Sequence[float] = (),
    progress: Progress | None = None,
) -> dict[str, dict[Key, Interval]]:
    """Ask all groups for mean, median and further quantiles, where values are numbers, and for queries; in one go."""
    questions: dict[str, Question] = {}
    if groups.has_numbers:
        if groups.first.alphabet.has_mean:
            questions["mean"] = Question("mean")
        for share in dict.fromkeys([0.5, *quantiles]):
            name = "median" if share == 0.5 else f"quantile {share:g}"
            questions[name] = Question("quantile", share=share)
    for query in queries:
        questions[describe_query(query)] = Question("query", query, groups.survey.name)
    answers = groups.answer(list(questions.values()), level, progress=progress)
    return dict(zip(questions, answers, strict=True))

"""Files of counts.

Parquet that contains its survey, so that surveys cannot be mixed up.

The columns are those that name a group, then the report, then ``count``; with several surveys, a column ``survey``
says which. Weighted counts have two more, the sums of weights and of their squares: ``weights`` and ``squares``. All of
these add up. There is nothing else: no times, names or rows. We check everything we read, because files get cut off,
edited and concatenated.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data.files import writing
from confide.data.files.sheets import COUNT_COLUMN, PARQUET, Account, Reason, fields_of, parquet_explained, require
from confide.data.files.writing import record_digest
from confide.errors import DataFileError, InvalidCountsError, InvalidParameterError, SurveyError
from confide.evidence.counts import Counts, Noise, Origin, merge, require_counts, tally
from confide.evidence.designs import DesignSums
from confide.evidence.totals import Totals, check_totals, rake
from confide.mechanisms import Mechanism
from confide.surveys.survey import Survey, parse_survey
from confide.values import Alphabet, Values
from confide.values.checks import COUNT_LIMIT, as_items, require_kinds
from confide.values.order import natural_order, sequence
from confide.values.wording import counted, digest

Key = tuple[str, ...]
"""Name of a group: one text per column, empty if missing."""

Pool = list[tuple[Counts, Mechanism]]
"""Counts with their mechanisms, one pair per survey."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedReports(Counts):
    """Counts with the account of the rows behind them.

    Attributes
    ----------
    rows
        The account of rows: read, accepted, and rejected by reason.
    """

    rows: Account = field(default_factory=Account)


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCounts(Mapping[Key, Counts]):
    """The counts of each group, by its name.

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
        The origin of all reports' noise. Default: the sum over the groups. If several origins were counted together,
        that of a single group is unknown.
    repeats
        Most reports of one person in all groups together, if noise is permanent. A person may be in one group of each
        file.
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
    """Split a sorted table into groups and surveys; refuse a repeated report."""
    alphabet, depth = heading.survey.mechanism.report_alphabet, len(heading.by) + len(heading.design)
    columns = [table.column(place).combine_chunks() for place in range(table.num_columns)]
    names = depth + heading.is_pooled
    keys = [
        column.fill_null("").to_pylist() if place < depth else column.to_pylist()
        for place, column in enumerate(columns[:names])
    ]
    runs: dict[tuple[Key, int], list[Counts]] = {}
    # Find runs of rows with the same key.
    changes = np.arange(table.num_rows) == 0
    for names_of in keys:
        array = np.array(names_of, dtype=object)
        changes[1:] |= array[1:] != array[:-1]
    for start, end in itertools.pairwise([*np.flatnonzero(changes).tolist(), table.num_rows]):
        parts = [column.slice(start, end - start) for column in columns[names:]]
        cut = len(parts) - len(heading.sums)
        reports, (numbers, *sums) = to_reports(parts[:cut], alphabet), [one.to_numpy() for one in parts[cut:]]
        counts = Counts(reports, numbers.astype(np.float64), **dict(zip(WEIGHT_COLUMNS, sums, strict=False)))
        # Parts of mixed types have an order of their own, which SQL does not know, so they are sorted here.
        counts = merge([counts]) if reports.dtype.kind == "O" else counts
        named = tuple(str(column[start]) for column in keys[:depth])
        runs.setdefault((named, keys[depth][start] if heading.is_pooled else 0), []).append(counts)
    found = {key: some[0] if len(some) == 1 else merge(some) for key, some in runs.items()}
    distinct = sum(one.counts.size for one in found.values())
    if distinct != table.num_rows:
        raise DataFileError(
            f"{path} holds {table.num_rows - distinct:,} of its {table.num_rows:,} counts more than once. Were files "
            f"put behind one another? Add files of counts up with confide merge."
        )
    groups: dict[Key, dict[int, list[Counts]]] = {}
    for (key, number), one in found.items():
        group = groups.setdefault(key[: len(heading.by)], {})
        group.setdefault(number, []).append(_in_block(one, heading, key[len(heading.by) :]))
    return {
        key: {number: _raked(merge(some) if len(some) > 1 else some[0], heading, key) for number, some in parts.items()}
        for key, parts in groups.items()
    }


def _raked(counts: Counts, heading: Heading, key: Key) -> Counts:
    """Return the counts of one group, raked to known totals."""
    if not heading.totals or counts.blocks is None or not counts.weight > 0:
        return counts
    with _in_group(key):
        return replace(counts, blocks=replace(counts.blocks, totals=heading.totals))


def _in_block(counts: Counts, heading: Heading, names: Key) -> Counts:
    """Return the counts of one stratum, cluster and class."""
    if not heading.design:
        return counts
    # Without weights each report counts once.
    weights = counts.counts if counts.weights is None else counts.weights
    squares = counts.counts if counts.squares is None else counts.squares
    named = dict(zip(heading.design, names, strict=True))
    size = counts.counts.size
    strata, clusters = ([named[one]] * size if one else None for one in (heading.strata, heading.clusters))
    margins = {name: [named[name]] * size for name in heading.totals}
    blocks = DesignSums.of(strata, clusters, np.arange(size), counts.counts, weights, squares, margins)
    return replace(counts, weights=weights, squares=squares, blocks=blocks)


def refuse_unmet(heading: Heading, masses: Mapping[tuple[Any, ...], float]) -> None:
    """Raise if weights by group and design cannot meet known totals."""
    places = [len(heading.by) + heading.design.index(name) for name in heading.totals]
    groups: dict[Key, dict[Key, float]] = {}
    for key, mass in masses.items():
        cells = groups.setdefault(tuple(part or "" for part in key[: len(heading.by)]), {})
        cell = tuple(key[place] for place in places)
        cells[cell] = cells.get(cell, 0.0) + mass
    for group, cells in groups.items():
        with _in_group(group):
            rake(heading.totals, list(cells), np.array(list(cells.values()), dtype=np.float64))


@contextlib.contextmanager
def _in_group(key: Key) -> Iterator[None]:
    """Name the group whose totals cannot be met."""
    try:
        yield
    except InvalidCountsError as error:
        raise InvalidCountsError(f"{label_group(key)}: {error}" if key else str(error)) from None


def to_reports(columns: list[Any], alphabet: Alphabet) -> Values:
    """Return Arrow columns of reports as one array."""
    arrays: list[Values] = [column.to_numpy(zero_copy_only=False) for column in columns]
    arrays = [array.astype(str) if array.dtype.kind == "O" else array for array in arrays]
    if len(arrays) == 1:
        return arrays[0]
    if alphabet.attributes is not None and len({array.dtype.kind for array in arrays}) > 1:
        # numpy would turn the numbers into texts.
        arrays = [array.astype(object) for array in arrays]
    return np.stack(arrays, axis=-1)


def label_group(key: Key) -> str:
    """Return a group's name in words.

    >>> label_group(("Oslo", "7")), label_group(("",))
    ('Oslo, 7', '(none)')
    """
    return ", ".join(part or "(none)" for part in key)


def shown_order(ranked: Sequence[Key], most: int | None = None) -> list[Key]:
    """Return the first groups, in natural order if there is one.

    >>> shown_order([("2026-W10",), ("2026-W02",), ("2026-W07",)], 2)
    [('2026-W02',), ('2026-W10',)]
    >>> shown_order([("Rome",), ("Oslo",)])
    [('Rome',), ('Oslo',)]
    """
    # Cities have no natural order, so the given ranking stays.
    has_order = any(sequence(column) for column in zip(*ranked, strict=True))
    return natural_order(ranked[:most]) if has_order else list(ranked[:most])


METADATA = b"confide.counts"
"""Parquet key of the heading."""

SUMS = b"confide.sums"
"""Parquet key of the number of rows, the sum of the counts, and a digest of the rows."""

SURVEY_COLUMN = "survey"

DESIGN = ("weights", "strata", "clusters")
"""What a heading may name a column of."""

WEIGHT_COLUMNS = ("weights", "squares")
"""Columns of the sums of weights and of their squares."""

AGAIN = "Was it edited or damaged? Count the reports again."


@dataclass(frozen=True)
class Heading:
    """The metadata of a file of counts.

    Attributes
    ----------
    surveys
        The surveys of the reports: one, unless counts of several were pooled.
    by
        The columns that name a group.
    rows
        The account of the counted rows.
    parts
        Digests of all files of counts that were merged into this one; none if it was counted directly.
    origins
        For each survey, the numbers of reports with proven secure noise and of simulated ones. The rest, by the
        counts, is unknown.
    files
        Number of files of reports behind it, or of waves where a file has several. One person may have reported in
        each.
    sources
        Their SHA-256, at least of those with metadata.
    group_files
        In how many of them each group occurs, if noise is permanent; a group not listed may be in all.
    weights, strata, clusters
        The columns that weights, strata and clusters were read from; empty if there are none.
    totals
        The known totals that weights are raked to, by the column of each margin.
    """

    surveys: tuple[Survey, ...]
    by: tuple[str, ...]
    rows: Account
    parts: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    files: int = 1
    sources: tuple[str, ...] = ()
    group_files: Mapping[Key, int] = field(default_factory=dict)
    weights: str = ""
    strata: str = ""
    clusters: str = ""
    totals: Totals = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The number of unknown reports follows from the counts: see `origin`.
        known = self.origins or (Origin(),) * len(self.surveys)
        object.__setattr__(self, "origins", tuple(replace(one, unknown=0) for one in known))
        taken = {*writing.report_columns(self.survey), *self.sums, SURVEY_COLUMN}
        named = (*self.by, *self.design)
        for place, name in enumerate(named):
            if name in taken or name in named[:place]:
                raise InvalidParameterError(f"Groups cannot be named by a column called {name!r}. Rename it.")

    @property
    def survey(self) -> Survey:
        """The first survey, which names the alphabet."""
        return self.surveys[0]

    @property
    def is_pooled(self) -> bool:
        """Whether there are counts of several surveys."""
        return len(self.surveys) > 1

    @property
    def most_reports(self) -> int:
        """Most reports of one person under one survey.

        One per file of reports.
        """
        # Each of several surveys has at least one file of its own.
        return max(1, self.files - (len(self.surveys) - 1))

    def files_of(self, key: Key) -> int:
        """Most files of reports that contain a group."""
        return self.group_files.get(key, self.files)

    def most_repeated(self, number: int, files: int | None = None) -> int:
        """Most reports of one person with permanent noise: one per file.

        For one group these are the `files` with that group. A survey's limit applies only with two rounds of noise,
        which count every report; otherwise the same report again counts as one.
        """
        survey = self.surveys[number]
        limit = survey.most_reports if survey.mechanism.lasting is not None else None
        most = self.most_reports if files is None else max(1, files)
        return most if limit is None else min(limit, most)

    @property
    def limit(self) -> int | None:
        """The smallest limit on reports per person of any survey.

        Return None without one.

        With permanent noise a limit counts values, which we cannot see, so it is left out.
        """
        said = [one.most_reports for one in self.surveys if one.most_reports is not None and not one.is_permanent]
        return min(said, default=None)

    @property
    def is_over_limit(self) -> bool:
        """Whether a limit is exceeded if all files have the same people."""
        return self.limit is not None and self.most_reports > self.limit

    @property
    def design(self) -> tuple[str, ...]:
        """The columns that name a stratum, a cluster and classes of margins."""
        return tuple(dict.fromkeys(filter(None, (self.strata, self.clusters, *self.totals))))

    @property
    def sums(self) -> tuple[str, ...]:
        """The columns that add up."""
        return (COUNT_COLUMN, *(WEIGHT_COLUMNS if self.weights else ()))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that say what was counted."""
        # With one survey there is no column for its number.
        middle = (SURVEY_COLUMN,) if self.is_pooled else ()
        return (*self.by, *self.design, *middle, *writing.report_columns(self.survey))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file."""
        return (*self.keys, *self.sums)

    @property
    def schema(self) -> Any:
        """The columns with their types and the metadata, for Arrow."""
        pyarrow = require("pyarrow")
        kinds = {"whole": pyarrow.int64(), "real": pyarrow.float64(), "text": pyarrow.string()}
        parts = [kinds[field.kind] for field in fields_of(self.survey.mechanism.report_alphabet)]
        middle = [pyarrow.int64()] if self.is_pooled else []
        sums = [pyarrow.int64(), *(pyarrow.float64() for _ in self.sums[1:])]
        types = [*(pyarrow.string() for _ in (*self.by, *self.design)), *middle, *parts, *sums]
        surveys = [{"fingerprint": one.fingerprint, "text": one.text()} for one in self.surveys]
        rejected = {str(reason): number for reason, number in self.rows.rejected.items()}
        origins = [[int(one.secure), int(one.simulated), int(one.permanent)] for one in self.origins]
        record = {"surveys": surveys, "by": list(self.by), "accepted": self.rows.accepted, "rejected": rejected}
        record |= {"origins": origins, "files": self.files, "sources": list(self.sources)}
        record |= {"parts": list(self.parts)} if self.parts else {}
        of_groups = [[*key, files] for key, files in self.group_files.items()]
        record |= {"group_files": of_groups} if of_groups else {}
        design = {"weights": self.weights, "strata": self.strata, "clusters": self.clusters}
        record |= {name: column for name, column in design.items() if column}
        record |= {"totals": self.totals} if self.totals else {}
        return pyarrow.schema(
            list(zip(self.columns, types, strict=True)),
            metadata={METADATA: json.dumps(record | {"digest": record_digest(record)}, ensure_ascii=False).encode()},
        )

    def origin(self, people: float, number: int | None = None) -> Origin:
        """Return the origin of these reports, or of one survey's."""
        known = sum(self.origins, Origin()) if number is None else self.origins[number]
        # More proofs than reports mean lost counts, or a heading of another file.
        if known.total > people:
            raise DataFileError(f"The counts have {people:,.10g} reports, and say of {known.total:,.10g} how. {AGAIN}")
        return replace(known, unknown=people - known.total)

    def require(self, survey: Survey, path: object) -> None:
        """Refuse counts of another survey."""
        if survey.fingerprint not in {one.fingerprint for one in self.surveys}:
            known = " and ".join(one.contract for one in self.surveys)
            raise DataFileError(
                f"{path} was counted under another survey, with {known}; this one has {survey.contract}. "
                f"Estimate with the survey that the reports were made with."
            )

    @classmethod
    def from_json(cls, text: bytes, path: object, survey: Survey | None = None) -> Heading:
        """Read the metadata that :attr:`schema` carries, and check all of it."""
        try:
            return _parse_heading(json.loads(text.decode()), path, survey)
        except SurveyError as error:
            reason = str(error).partition(". ")[0]
            raise DataFileError(
                f"{path} names a survey that cannot be read: {reason}. If its mechanism is a class of your own, give "
                f"the survey: load_counts(path, survey). {AGAIN}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = str(error).partition("\n")[0].removesuffix(".")
            raise DataFileError(f"{path} does not say soundly what it counts: {reason}. {AGAIN}") from None


def _parse_heading(record: dict[str, Any], path: object, known: Survey | None) -> Heading:
    if record.pop("digest", None) != record_digest(record):
        raise ValueError("its digest is another one")
    surveys = []
    for one in record["surveys"]:
        # A user's own mechanism cannot be built from a text, only recognized.
        document = {} if known is None else tomllib.loads(one["text"])
        named = known and replace(known, name=str(document.get("name")), title=str(document.get("title")))
        surveys.append(named if named and named.text() == one["text"] else parse_survey(one["text"]))
    if [one.fingerprint for one in surveys] != [one["fingerprint"] for one in record["surveys"]]:
        raise ValueError("a fingerprint is not that of its survey")
    alike = {shape_of(one) for one in surveys}
    if len(alike) != 1 or any(one.alphabet != surveys[0].alphabet for one in surveys):
        raise ValueError("its surveys do not fit together")
    rejected = {Reason(reason): _whole(number) for reason, number in record["rejected"].items()}
    by = tuple(record["by"])
    parts, sources = tuple(record.get("parts", ())), tuple(record["sources"])
    if not all(isinstance(part, str) for part in (*by, *parts, *sources)):
        raise ValueError("a group or a part is not named by a text")
    proven = [list(map(_whole, numbers)) for numbers in record["origins"]]
    origins = tuple(Origin(secure, simulated, permanent=permanent) for secure, simulated, permanent in proven)
    if len(origins) != len(surveys):
        raise ValueError("it has not one origin for each survey")
    rows = Account(_whole(record["accepted"]), rejected, source=str(path))
    of_groups = {tuple(map(str, key)): max(1, _whole(files)) for *key, files in record.get("group_files", ())}
    if any(len(key) != len(by) for key in of_groups):
        raise ValueError("a group has not one name for each column")
    files, design = max(1, _whole(record["files"])), {name: str(record.get(name, "")) for name in DESIGN}
    totals = check_totals(record["totals"]) if "totals" in record else {}
    return Heading(tuple(surveys), by, rows, parts, origins, files, sources, of_groups, **design, totals=totals)


def _whole(number: object) -> int:
    if type(number) is not int or not 0 <= number < COUNT_LIMIT:
        raise ValueError(f"{number!r} is no number of rows")
    return number


def shape_of(survey: Survey) -> tuple[Any, ...]:
    """Return names and kinds of a report's columns."""
    return writing.report_columns(survey), tuple(field.kind for field in fields_of(survey.mechanism.report_alphabet))


@dataclass(frozen=True, eq=False)
class CountsFile:
    """Contents of a file of counts.

    For each group, the counts of each survey.

    If `is_apart`, nobody is in two files of reports.
    """

    heading: Heading
    groups: dict[Key, dict[int, Counts]]
    is_apart: bool = False

    def __post_init__(self) -> None:
        origins = [
            self.heading.origin(sum(parts[number].total for parts in self.groups.values() if number in parts), number)
            for number in range(len(self.heading.surveys))
        ]
        for key, parts in self.groups.items():
            for number, part in parts.items():
                # Each other survey of the group has at least one of its files.
                most = self._most(number, self.heading.files_of(key) - len(parts) + 1)
                known, people = origins[number], part.total
                # If origins are mixed, we cannot know which reports these are.
                share = known if people == known.total else Origin.of(known.noise or Noise.UNKNOWN, people)
                parts[number] = part.with_origin(share).with_repeats(most)

    def _most(self, number: int, files: int | None = None) -> int:
        is_repeated = self.heading.origins[number].permanent and not self.is_apart
        return self.heading.most_repeated(number, files) if is_repeated else 1

    def of_different_people(self, is_known: bool = True) -> CountsFile:  # noqa: FBT001, FBT002 (a fact, not a mode)
        """Return these counts, declared to have nobody in two files of reports."""
        groups = {key: dict(parts) for key, parts in self.groups.items()}
        return CountsFile(self.heading, groups, is_apart=True) if is_known else self

    @property
    def origin(self) -> Origin:
        """The origin of all reports in the file."""
        return self.heading.origin(sum(part.total for parts in self.groups.values() for part in parts.values()))

    @property
    def pools(self) -> dict[Key, Pool]:
        """The counts and mechanisms of each group that has reports."""
        mechanisms = [survey.mechanism for survey in self.heading.surveys]
        pools = {
            key: [(part, mechanisms[number]) for number, part in sorted(parts.items()) if part.weight > 0]
            for key, parts in self.groups.items()
        }
        return {key: pools[key] for key in natural_order(key for key, pool in pools.items() if pool)}

    @property
    def merged(self) -> Counts:
        """The counts of one survey, all groups together."""
        found = self.counted
        return found.merged if isinstance(found, GroupedCounts) else found

    @property
    def counted(self) -> CountedReports | GroupedCounts:
        """The counts of one survey, by group if there are groups."""
        if self.heading.by:
            groups = {key: self.groups[key][0] for key in natural_order(self.groups)}
            return GroupedCounts(self.heading.by, groups, self.heading.rows, self.origin, self._most(0))
        one = next(iter(self.groups.values()), {0: tally([])})[0]
        found = CountedReports(one.reports, one.counts, one.origin, repeats=one.repeats, rows=self.heading.rows)
        design: dict[str, Any] = {"weights": one.weights, "squares": one.squares, "blocks": one.blocks}
        return found if one.weights is None else replace(found, **design)


def is_counts_file(path: str | Path) -> bool:
    """Whether :func:`write_counts` wrote this Parquet file."""
    if not str(path).lower().endswith(PARQUET) or not Path(path).is_file():
        return False
    return METADATA in (_schema(str(path)).metadata or {})


def read_heading(path: str | Path, survey: Survey | None = None) -> Heading:
    """Read the metadata of a file of counts.

    A user's own mechanism needs `survey`.
    """
    if str(path).lower().endswith((".csv", ".csv.gz")) and Path(path).is_file():
        raise DataFileError(f"{path} is CSV, and such counts carry no survey. Count again with -o counts.parquet.")
    metadata = _schema(str(path)).metadata or {}
    if METADATA not in metadata:
        raise DataFileError(
            f"{path} is no file of counts. Make one with: confide count SURVEY REPORTS -o counts.parquet"
        )
    return Heading.from_json(metadata[METADATA], path, survey)


def content_mark(path: str | Path, heading: Heading) -> str:
    """Return a digest of counts: of their surveys and rows."""
    said = (_schema(str(path)).metadata or {}).get(SUMS, b"")
    return digest(*(one.fingerprint for one in heading.surveys), said)


def read_counts(path: str | Path, survey: Survey | None = None) -> CountsFile:
    """Read a file of counts.

    Refuse it if it is not of `survey`.
    """
    heading = read_heading(path, survey)
    if survey is not None:
        heading.require(survey, path)
    table = require("pyarrow").Table.from_batches(checked_batches(path, heading), heading.schema)
    return CountsFile(heading, split_groups(table, heading, path))


def load_counts(path: str | Path, survey: Survey | None = None) -> CountedReports | GroupedCounts:
    """Load the counts of one survey from a file of counts.

    Parameters
    ----------
    path
        A file from ``confide count`` or :func:`save_counts`.
    survey
        The expected survey; by default the one that the file names. A mechanism of your own needs it, because the file
        does not contain its code.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Integers, TruncatedGeometric, tally
    >>> survey = Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_counts(f"{folder}/counts.parquet", tally([3, 4, 4]), survey)
    ...     load_counts(f"{folder}/counts.parquet").total
    3.0
    """
    require_kinds(load_counts, locals())
    file = read_counts(path, survey)
    if file.heading.is_pooled:
        raise DataFileError(f"{path} holds counts of {len(file.heading.surveys)} surveys. Read it with read_counts.")
    return file.counted


def save_counts(path: str | Path, counts: Counts | GroupedCounts, survey: Survey) -> None:
    """Save counts as Parquet, which contains the survey, or as CSV.

    >>> import tempfile
    >>> from confide import Integers, TruncatedGeometric
    >>> survey = Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_counts(f"{folder}/counts.parquet", tally([3, 3, 5]), survey)
    ...     load_counts(f"{folder}/counts.parquet", survey)
    Counts(3 reports, 2 distinct)

    The file records how many reports are simulated or have secure noise. Simulated ones give a
    :class:`SimulatedReportsWarning`.
    """
    require_kinds(save_counts, locals())
    groups: dict[Key, Counts] = dict(counts) if isinstance(counts, GroupedCounts) else {(): counts}
    people = int(sum(one.total for one in groups.values()))
    # For counts tallied in Python, every report is a row.
    rows = counts.rows if isinstance(counts, GroupedCounts | CountedReports) else Account(people)
    by = counts.by if isinstance(counts, GroupedCounts) else ()
    of_groups = {key: one.repeats for key, one in groups.items()} if by else {}
    with_weights = {one.weights is not None for one in groups.values()}
    if len(with_weights) > 1:
        raise InvalidParameterError(
            "Some of these groups have weights and others have none. Give a weight to all reports."
        )
    blocks = [one.blocks for one in groups.values() if one.blocks is not None]
    # Columns that were read under other names get these.
    has = [with_weights == {True}, any(one.sizes[0] > 1 for one in blocks), any(one.has_clusters for one in blocks)]
    totals = next((one.totals for one in blocks if one.totals is not None), {})
    # A margin may be called strata, and is then something else.
    design = {name: name + "_" * (name in totals) if given else "" for name, given in zip(DESIGN, has, strict=True)}
    heading = Heading((survey,), by, rows, (), (counts.origin,), counts.repeats, (), of_groups, **design, totals=totals)
    for one in groups.values():
        # Fractions are expected counts of a plan, which nobody reported.
        if (one.counts != np.floor(one.counts)).any():
            raise InvalidParameterError("A file of counts holds whole numbers; these are expectations, not counts.")
        # Reports of another survey would look damaged when read back.
        writing.refuse_outside(one.reports, survey)
    if counts.origin.is_simulated:
        writing.warn_simulated(path)
    write_counts(path, _as_batches(heading, groups), heading)


def _as_batches(heading: Heading, groups: Mapping[Key, Counts]) -> Iterator[Any]:
    pyarrow = require("pyarrow")
    for key, one in itertools.chain.from_iterable(_apart(heading, *pair) for pair in groups.items()):
        size = one.counts.size
        if size:
            columns = [*([part] * size for part in key), *(part.tolist() for part in one.reports.reshape(size, -1).T)]
            weighted = [getattr(one, name).tolist() for name in heading.sums[1:]]
            columns += [one.counts.astype(np.int64).tolist(), *weighted]
            yield pyarrow.record_batch(columns, schema=heading.schema)


def _apart(heading: Heading, key: Key, counts: Counts) -> Iterator[tuple[Key, Counts]]:
    """Yield the counts of each stratum, cluster and class, with their names."""
    if counts.blocks is None or not heading.design:
        yield key, counts
        return
    blocks = counts.blocks
    for number, names in enumerate(blocks.names):
        own = np.flatnonzero(blocks.block == number)
        weighted: dict[str, Any] = {"weights": blocks.weights[own], "squares": blocks.squares[own]}
        named = dict(zip((heading.strata, heading.clusters, *heading.totals), names, strict=True))
        yield (
            (*key, *(named[column] for column in heading.design)),
            Counts(counts.reports[blocks.place[own]], blocks.counts[own], **weighted),
        )


def write_counts_file(path: str | Path, counts: CountsFile) -> Sums:
    """Write a whole file of counts of one survey."""
    groups = {key: parts[0] for key, parts in counts.groups.items()}
    return write_counts(path, _as_batches(counts.heading, groups), counts.heading)


def write_counts(path: str | Path, batches: Iterable[Any], heading: Heading) -> Sums:
    """Write counts batch by batch, and return their sums."""
    is_sampled = bool(heading.weights or heading.design)  # CSV would lose what the columns mean
    writing.require_ending(path, (".parquet",) if is_sampled else (".parquet", ".csv", ".csv.gz"))
    name, sums, schema = str(path).lower(), Sums(heading.sums), heading.schema
    ready = sums.watch(batch.rename_columns(schema.names).cast(schema) for batch in batches)
    with contextlib.ExitStack() as closing:
        stream: Any = closing.enter_context(writing.whole_file(path))
        if name.endswith(".parquet"):
            # Checksums turn a damaged page into an error instead of other numbers. Do not store Arrow's schema: it
            # lacks the sums, so rewriting the table would lose them.
            checked = {"compression": "zstd", "write_page_checksum": True, "store_schema": False}
            writer = require("pyarrow.parquet").ParquetWriter(stream, schema, **checked)
            with writer:
                for batch in ready:
                    writer.write_batch(batch)
                writer.add_key_value_metadata({**schema.metadata, SUMS: sums.text})
            return sums
        if name.endswith(".gz"):
            stream = closing.enter_context(gzip.GzipFile(fileobj=stream, mode="wb", mtime=0))
        rows = closing.enter_context(writing.csv_writer(stream))
        rows.writerow(heading.columns)
        for batch in ready:
            rows.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return sums


def checked_batches(path: str | Path, heading: Heading) -> Iterator[Any]:
    """Read a file of counts batch by batch, and check it."""
    schema, parquet = heading.schema, require("pyarrow.parquet")
    with parquet_explained(str(path)), parquet.ParquetFile(path, page_checksum_verification=True) as file:
        if file.schema_arrow.names != schema.names or file.schema_arrow.types != schema.types:
            told = ", ".join(f"{field.name} ({field.type})" for field in schema)
            raise DataFileError(f"{path} should have the columns {told}. {AGAIN}")
        # Batch by batch, so that counts need not fit into memory.
        sums = Sums(heading.sums)
        for batch in file.iter_batches():
            fault = _find_batch_fault(batch, heading)
            if fault:
                raise DataFileError(f"{path} cannot be used: {fault}. {AGAIN}")
            sums.add(batch)
            yield batch
        # A row has at least one report. Without our sums, as after another program, we cannot check the counts.
        if sums.people < heading.rows.accepted or (file.metadata.metadata or {}).get(SUMS) != sums.text:
            raise DataFileError(
                f"{path} cannot be used: its counts are not those that it says were counted. Was it edited or damaged? "
                f"Count the reports again. Were files put behind one another? Add them up with confide merge."
            )


def _find_batch_fault(batch: Any, heading: Heading) -> str:
    """Return what is wrong with a batch of counts; empty if nothing."""
    depth, columns = len(heading.by) + len(heading.design), batch.columns
    empty = [name for name, column in zip(heading.columns[depth:], columns[depth:], strict=True) if column.null_count]
    if empty:
        return f"its column {empty[0]!r} has rows without a value"
    counts, *weighted = [one.to_numpy() for one in columns[len(heading.keys) :]]
    if weighted:
        weights, squares = weighted
        # No weights have such sums: by Cauchy and Schwarz the square of a sum is at most n times the sum of squares.
        is_sound = (weights >= 0) & (squares >= 0) & (weights**2 <= (1 + 1e-9) * counts * squares)
        if not (is_sound & np.isfinite(squares)).all():
            place = int(np.argmin(is_sound & np.isfinite(squares)))
            return f"no {counts[place]:,} weights add up to {weights[place]:g}, and their squares to {squares[place]:g}"
    if ((counts < 0) | (counts >= COUNT_LIMIT)).any():
        return f"counts lie between 0 and 2**53; got {counts[(counts < 0) | (counts >= COUNT_LIMIT)][0]}"
    parts = columns[depth + heading.is_pooled : len(heading.keys)]
    numbers = columns[depth].to_numpy() if heading.is_pooled else np.zeros(len(counts), dtype=np.int64)
    for number in np.unique(numbers).tolist():
        if not 0 <= number < len(heading.surveys):
            return f"it has a survey number {number}, and {len(heading.surveys)} surveys"
        alphabet = heading.surveys[number].mechanism.report_alphabet
        reports = to_reports(parts, alphabet)[numbers == number]
        inside = alphabet.contains(reports)
        if not inside.all():
            return f"the report {reports[~inside][0].tolist()!r} lies outside {alphabet!r}"
    return ""


def _schema(path: str) -> Any:
    with parquet_explained(path):
        return require("pyarrow.parquet").read_schema(path)


class Sums:
    """Rows, people and digest of a file of counts."""

    def __init__(self, names: Sequence[str] = (COUNT_COLUMN,)) -> None:
        self.rows, self.people, self._mixed, self._names = 0, 0, 0, names
        self.weights = self.squares = 0.0

    def add(self, batch: Any) -> None:
        """Add a batch."""
        counts, *weighted = [one.to_numpy() for one in batch.columns[-len(self._names) :]]
        if weighted:
            self.weights += float(weighted[0].sum())
            self.squares += float(weighted[1].sum())
        self.rows += counts.size
        # Sum the halves, because a sum of many large counts could overflow int64.
        self.people += (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
        # Hash each row and sum the hashes, so that the order of rows and batches does not matter.
        rows = np.zeros(counts.size, dtype=np.uint64)
        for column in batch.columns:
            rows = _mix(rows + _words(column))
        self._mixed = (self._mixed + int(rows.sum(dtype=np.uint64))) % 2**64

    def watch(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Add batches on their way into a file.

        Refuse sums that overflow a float.
        """
        for batch in batches:
            self.add(batch)
            if self.people >= COUNT_LIMIT:
                raise DataFileError("The counts add up to 2**53 or more, which cannot be. Correct the counts.")
            yield batch

    @property
    def weighting(self) -> str:
        """Sentence on weights and what they cost; empty without weights."""
        if not self.weights:
            return ""
        # One row stands for all: the sentence needs no more than the sums.
        count, weights, squares = (np.array([float(one)]) for one in (self.people, self.weights, self.squares))
        return Counts(np.zeros(1, dtype=np.int64), count, weights=weights, squares=squares).weighting

    @property
    def text(self) -> bytes:
        """The sums as stored in the file."""
        return f"{self.rows} {self.people} {self._mixed:016x}".encode()


def _words(column: Any) -> NDArray[np.uint64]:
    """Return a column as 64-bit words.

    A missing group name equals an empty one.
    """
    if not require("pyarrow").types.is_string(column.type):
        return np.ascontiguousarray(column.to_numpy()).view(np.uint64)
    # Digest each distinct text once: few texts fill many rows.
    coded = column.fill_null("").dictionary_encode()
    known = [int(digest(text), 16) for text in coded.dictionary.to_pylist()]
    words: NDArray[np.uint64] = np.array(known, dtype=np.uint64)[coded.indices.to_numpy()]
    return words


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of 64-bit words (Steele et al. 2014, SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))

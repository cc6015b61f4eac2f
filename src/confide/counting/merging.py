"""Counts of several files added up: shards, days and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.counting.duck import MEMORY, duck_connection
from confide.counting.files import SURVEY_COLUMN, Heading, read_heading, write_counts
from confide.counting.rejects import RowTotals
from confide.counting.relations import literal, quoted
from confide.errors import DataFileError
from confide.surveys import Survey
from confide.tables import COUNT_COLUMN, Reason, report_columns


@dataclass(frozen=True)
class Part:
    """A file to merge, and what it says of itself."""

    path: str
    heading: Heading


def merge_files(paths: Sequence[str | Path], output: str | Path, *, is_pool: bool = False) -> Heading:
    """Add up files of counts into one.

    Parameters
    ----------
    paths
        Files that ``confide count`` or ``confide merge`` wrote.
    output
        The file to write.
    is_pool
        Whether counts of different surveys may stand side by side in it, for one estimate from all of them.

    Raises
    ------
    DataFileError
        If the files were counted under different surveys, or by different groups.
    """
    parts = [Part(str(path), read_heading(path)) for path in paths]
    _refuse_repeated(parts)
    surveys = _all_surveys(parts)
    if not is_pool:
        _refuse_different(parts)
    _refuse_unlike(parts)
    heading = Heading(tuple(surveys.values()), parts[0].heading.by, _add([part.heading.rows for part in parts]))
    with duck_connection(MEMORY) as connection:
        write_counts(output, connection.sql(_query(parts, heading, list(surveys))).to_arrow_reader(100_000), heading)
    return heading


def _query(parts: Sequence[Part], heading: Heading, marks: list[str]) -> str:
    """Return SQL that adds up; of each file the survey's number becomes its number among all surveys."""
    names = ", ".join(quoted(name) for name in heading.columns[:-1])
    selects = [_select(part, heading, marks) for part in parts]
    order = ", ".join(f"{quoted(name)} NULLS FIRST" for name in heading.columns[:-1])
    count = quoted(COUNT_COLUMN)
    return (
        f"SELECT {names}, CAST(SUM({count}) AS BIGINT) AS {count} FROM ({' UNION ALL '.join(selects)}) "
        f"GROUP BY {names} ORDER BY {order}"
    )


def _select(part: Part, heading: Heading, marks: list[str]) -> str:
    own = [marks.index(survey.fingerprint) for survey in part.heading.surveys]
    number = str(own[0])
    if part.heading.is_pooled:
        cases = " ".join(f"WHEN {old} THEN {new}" for old, new in enumerate(own))
        number = f"CASE {quoted(SURVEY_COLUMN)} {cases} END"
    columns = [f"{number} AS {name}" if name == SURVEY_COLUMN else quoted(name) for name in heading.columns]
    return f"SELECT {', '.join(columns)} FROM read_parquet({literal(part.path)})"


def _all_surveys(parts: Sequence[Part]) -> dict[str, Survey]:
    return {survey.fingerprint: survey for part in parts for survey in part.heading.surveys}


def _refuse_repeated(parts: Sequence[Part]) -> None:
    for path, times in Counter(Path(part.path).resolve() for part in parts).items():
        if times > 1:
            raise DataFileError(f"{path} is named {times} times; its people would be counted as often. Name it once.")


def _refuse_different(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts:
        if _marks(part) != _marks(first):
            raise DataFileError(
                f"{first.path} and {part.path} were counted under different surveys ({_describe(first)}; "
                f"{_describe(part)}), and such counts do not add up. To keep them side by side, for one estimate from "
                f"all of them, add --pool."
            )


def _refuse_unlike(parts: Sequence[Part]) -> None:
    first = parts[0].heading
    for part in parts[1:]:
        other = part.heading
        if other.by != first.by:
            raise DataFileError(
                f"{parts[0].path} is counted {_by(first)} and {part.path} {_by(other)}. Count both in the same way."
            )
        if other.survey.alphabet != first.survey.alphabet:
            raise DataFileError(
                f"{parts[0].path} is about {first.survey.alphabet!r} and {part.path} about {other.survey.alphabet!r}. "
                f"Only counts over one alphabet can be put together."
            )
        if _shape(other.survey) != _shape(first.survey):
            raise DataFileError(
                f"Reports of {parts[0].path} and of {part.path} have other columns, so that they do not fit into one "
                f"file. In Python: confide.estimate_pool([(counts, mechanism), (others, other_mechanism)])."
            )


def _shape(survey: Survey) -> tuple[Any, ...]:
    from confide.counting.fields import fields_of

    return (report_columns(survey), tuple(field.kind for field in fields_of(survey.mechanism.report_alphabet)))


def _marks(part: Part) -> set[str]:
    return {survey.fingerprint for survey in part.heading.surveys}


def _describe(part: Part) -> str:
    return " and ".join(repr(survey.mechanism) for survey in part.heading.surveys)


def _by(heading: Heading) -> str:
    return f"by {', '.join(heading.by)}" if heading.by else "without groups"


def _add(totals: Sequence[RowTotals]) -> RowTotals:
    rejected: Counter[Reason] = Counter()
    for one in totals:
        rejected.update(one.rejected)
    return RowTotals(sum(one.accepted for one in totals), dict(rejected))

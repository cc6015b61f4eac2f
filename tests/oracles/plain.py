"""The whole way from values to answers, slow and obvious: the specification, in dictionaries and loops.

Nothing here comes from confide. test_the_whole_way.py compares confide's files, counts, merges, groups, records, pages
and collector with it.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

Key = tuple[str, ...]
Report = tuple[Any, ...]
Table = dict[Report, int]
"""How often each report was seen; a report is a tuple, of one part where it has no attributes."""


# Values: what people have becomes one of the values that were asked for, by its number.


@dataclass(frozen=True)
class Whole:
    """Whole numbers from low to high."""

    low: int
    high: int

    @property
    def values(self) -> list[int]:
        return list(range(self.low, self.high + 1))

    def number(self, raw: Any) -> int | None:
        return raw - self.low if self.low <= raw <= self.high else None


@dataclass(frozen=True)
class Named:
    """Names; any other text is the one that stands for all others, where there is one."""

    names: tuple[str, ...]
    other: str | None = None

    @property
    def values(self) -> list[str]:
        return list(self.names)

    def number(self, raw: Any) -> int | None:
        if raw in self.names:
            return self.names.index(raw)
        return None if self.other is None else self.names.index(self.other)


@dataclass(frozen=True)
class Binned:
    """Bins between edges, which belong to the upper one, and two open ones. Reports are their numbers."""

    edges: tuple[float, ...]

    @property
    def values(self) -> list[int]:
        return list(range(len(self.edges) + 1))

    def number(self, raw: Any) -> int:
        found = 0
        for edge in self.edges:
            if raw >= edge:
                found += 1
        return found


# Rows: a file is a list of dictionaries.


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, as JSON lines, or as Parquet in row groups of 50, which readers take in several batches."""
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        arrow, parquet = (import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
        parquet.write_table(arrow.Table.from_pylist(list(rows)), path, row_group_size=50)


# Counting, merging, groups.


def count(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], by: Sequence[str] = ()) -> dict[Key, Table]:
    """Count the reports of each group; a column called count says how often a row stands."""
    groups: dict[Key, Table] = {}
    for row in rows:
        table = groups.setdefault(tuple(row[name] for name in by), {})
        report = tuple(row[name] for name in columns)
        table[report] = table.get(report, 0) + row.get("count", 1)
    return groups


def merge(parts: Iterable[Mapping[Key, Table]]) -> dict[Key, Table]:
    """Add up counts, group by group."""
    whole: dict[Key, Table] = {}
    for part in parts:
        for key, table in part.items():
            mine = whole.setdefault(key, {})
            for report, number in table.items():
                mine[report] = mine.get(report, 0) + number
    return whole


def total(table: Table) -> int:
    """How many reports there are."""
    return sum(table.values())


# Answers.


def joint(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the matrix of two attributes that are blurred independently; the second runs fastest."""
    return [[a * b for a in one for b in other] for one in first for other in second]


def normalised(weights: Sequence[int]) -> list[float]:
    """Return weights as probabilities."""
    return [weight / sum(weights) for weight in weights]


def log_likelihood(shares: Sequence[float], seen: Sequence[int], matrix: Sequence[Sequence[float]]) -> float:
    """Return the log-likelihood of a distribution."""
    found = 0.0
    for output, number in enumerate(seen):
        if number:
            found += number * math.log(sum(share * row[output] for share, row in zip(shares, matrix, strict=True)))
    return found


def most_likely(seen: Sequence[int], matrix: Sequence[Sequence[float]], steps: int = 3000) -> list[float]:
    """Return the distribution under which the reports are likeliest, by expectation and maximization."""
    shares = [1 / len(matrix)] * len(matrix)
    people = sum(seen)
    outputs = [output for output, number in enumerate(seen) if number]
    for _ in range(steps):
        chances = {output: sum(s * row[output] for s, row in zip(shares, matrix, strict=True)) for output in outputs}
        shares = [
            share * sum(seen[output] * row[output] / chances[output] for output in outputs) / people
            for share, row in zip(shares, matrix, strict=True)
        ]
    return shares


def weighted(
    shares: Mapping[Key, Sequence[float]], sizes: Mapping[Key, float], without: Key | None = None
) -> list[float]:
    """Return the shares of all groups together, each by its number of reports; of all the others but one."""
    kept = [key for key in shares if key != without]
    people = sum(sizes[key] for key in kept)
    length = len(next(iter(shares.values())))
    return [sum(sizes[key] * shares[key][place] for key in kept) / people for place in range(length)]


def mean(shares: Sequence[float], values: Sequence[float]) -> float:
    """Return the mean of a distribution."""
    return sum(share * value for share, value in zip(shares, values, strict=True))

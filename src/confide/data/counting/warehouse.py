"""Counts from warehouses and from secure sums."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from confide.data.files.sheets import explained, require
from confide.errors import DataFileError
from confide.evidence.counts import Counts, tally
from confide.surveys.survey import Survey

DIALECTS = ("postgres", "bigquery", "snowflake", "clickhouse", "trino")
"""Warehouses that the counting query is written for, by their names in sqlglot."""


def in_dialect(query: str, dialect: str) -> str:
    """Write a query of DuckDB in another dialect, if not ``sql``."""
    if dialect == "sql":
        return query
    sqlglot = require("sqlglot", "Writing the query for a warehouse", "sql")
    (written,) = sqlglot.transpile(
        query, read="duckdb", write=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return str(written)


def histogram_of(path: str, survey: Survey) -> Counts | None:
    """Read a JSON list of how often each report was seen.

    Return None if the file is something else.

    Secure aggregation, such as DAP with a histogram, gives such a list: nobody saw a single report.
    """
    if not path.lower().endswith(".json") or not Path(path).is_file():
        return None
    with explained(path), Path(path).open(encoding="utf-8") as stream:
        if stream.read(1) != "[":
            return None
        stream.seek(0)
        try:
            numbers = json.load(stream)
        except (ValueError, RecursionError):
            return None
    if not numbers or not all(type(one) is int for one in numbers):
        return None
    outputs = survey.mechanism.report_alphabet
    if outputs.bits is not None or not outputs.is_listable:
        raise DataFileError(f"{path} is a histogram, and this survey's reports cannot be listed. Count the reports.")
    if len(numbers) != outputs.size:
        raise DataFileError(
            f"{path} has {len(numbers):,} numbers, and the survey has {outputs.size:,} possible reports: {outputs!r}."
        )
    if min(numbers) < 0 or max(numbers) >= 2**53:
        place = next(index for index, one in enumerate(numbers) if not 0 <= one < 2**53)
        raise DataFileError(f"{path}: number {place + 1} is {numbers[place]}, which is no count of people.")
    seen = np.flatnonzero(numbers)
    return tally(outputs.decode(seen), np.asarray(numbers, dtype=np.int64)[seen])

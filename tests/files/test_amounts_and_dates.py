"""Files of amounts, dates and times: CSV and Parquet, damaged rows, and DuckDB's SQL for the same values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.files import privatize_file, read_values
from confide.data.files.reading import read_value_batches

SALARIES = cf.Survey(
    cf.TruncatedGeometric(cf.Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand"), 5.0), "salary"
)
DAYS = cf.Survey(cf.TruncatedGeometric(cf.Dates("2026-01-01", "2026-12-31"), 50.0), "day")
HOURS = cf.Survey(cf.WrappedGeometric(cf.Hours(), 50.0), "hour")
WEEKDAYS = cf.Survey(cf.WrappedGeometric(cf.Weekdays(), 50.0), "weekday")


@pytest.mark.parametrize(
    ("survey", "lines", "values", "rejected"),
    [
        (
            SALARIES,
            ["9.99", "10", "1e2", '"1,200"', "$5", "nan", "-1", "", "12 k"],
            [0, 1, 4],
            {
                "separators in a number": 1,
                "a sign or unit beside a number": 2,
                "not a finite number": 1,
                "outside the alphabet": 1,
                "missing": 1,
            },
        ),
        (
            DAYS,
            ["2026-01-02", "2026-01-03T10:00Z", "2026-02-30", "2027-01-01", "soon", "20260101"],
            [1, 2],
            {"no such date": 1, "outside the alphabet": 1, "not a date": 2},
        ),
        (
            HOURS,
            ["23:59", "2026-01-01 05:00", "7", "24:00", "24", "2026-01-01", "late"],
            [23, 5, 7],
            {"no such time": 1, "outside the alphabet": 1, "not a time": 2},
        ),
        (WEEKDAYS, ["2026-03-01", "Mon", "monday", "3"], [6, 0], {"not a weekday": 2}),
    ],
)
def test_rows_of_a_file_are_accepted_or_refused_with_the_reason(
    tmp_path: Path, survey: cf.Survey, lines: list[str], values: list[int], rejected: dict[str, int]
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("\n".join([f"{survey.name},x", *(f"{line},1" for line in lines)]) + "\n")
    rows = read_values(path, survey)
    assert rows.values.tolist() == values
    assert {str(reason): number for reason, number in rows.account.rejected.items()} == rejected
    assert rows.account.accepted + rows.account.total_rejected == rows.account.read == len(lines)
    kept = tmp_path / "kept.csv"
    kept.write_text("\n".join([survey.name, *(line for line in lines if line in ACCEPTED)]) + "\n")
    privatize_file(kept, tmp_path / "reports.csv", survey)
    assert sorted(map(int, (tmp_path / "reports.csv").read_text().split()[1:])) == sorted(values)


ACCEPTED = {
    *("9.99", "10", "1e2", "2026-01-02", "2026-01-03T10:00Z", "23:59", "2026-01-01 05:00", "7", "2026-03-01", "Mon"),
}

MOMENTS = [dt.datetime(2026, 1, 1, 22, 15, 30, 999_999), dt.datetime(2026, 12, 31, 23, 59), dt.datetime(1969, 7, 20, 5)]


def _table(folder: Path) -> Path:
    arrow = pytest.importorskip("pyarrow")
    path = folder / "people.parquet"
    moments: list[Any] = [*MOMENTS, None]
    columns = {
        "date": arrow.array([None if one is None else one.date() for one in moments]),
        "nanoseconds": arrow.array(moments, arrow.timestamp("ns")),
        "zoned": arrow.array(moments, arrow.timestamp("us", "America/New_York")),
        "time": arrow.array([None if one is None else one.time() for one in moments]),
        "amount": arrow.array([0.3, 10.0, float("nan"), None]),
    }
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("survey", "column", "values"),
    [
        (DAYS, "date", [0, 364]),
        (DAYS, "nanoseconds", [0, 364]),
        (DAYS, "zoned", [0, 364]),
        (HOURS, "nanoseconds", [22, 23, 5]),
        (HOURS, "zoned", [17, 18, 1]),  # instants, on the clock of the column's zone
        (HOURS, "time", [22, 23, 5]),
        (WEEKDAYS, "date", [3, 3, 6]),
        (SALARIES, "amount", [0, 1]),
    ],
)
def test_parquet_has_dates_and_times_of_its_own(
    tmp_path: Path, survey: cf.Survey, column: str, values: list[int]
) -> None:
    (rows,) = read_value_batches(_table(tmp_path), survey, [column])
    assert rows.values.tolist() == values
    assert rows.account.accepted + rows.account.total_rejected == 4


def test_dates_are_no_numbers(tmp_path: Path) -> None:
    with pytest.raises(cf.ConfideError, match="a value is a number or a text"):
        list(read_value_batches(_table(tmp_path), SALARIES, ["date"]))


def _inside(alphabet: cf.Integers, text: str) -> int | None:
    """Return the value that a text has in Python; None where it has none, or one outside."""
    value: Any = alphabet.read([text])
    return value if value is not None and 0 <= value < alphabet.size else None


def test_duckdb_gives_the_same_values() -> None:
    duckdb = pytest.importorskip("duckdb")
    bins = cf.Bins(edges=[-0.5, 0.1, 0.3, 10], above=True)
    amounts = [-0.5, -0.6, 0.1, 0.2, 0.3, 0.30000000000000004, 9.99, 10, 1e300, float("inf"), float("nan"), None]
    duckdb.sql("CREATE OR REPLACE TABLE amounts(x DOUBLE)")
    duckdb.executemany("INSERT INTO amounts VALUES (?)", [[one] for one in amounts])
    found = [one for (one,) in duckdb.sql(f"SELECT {bins.sql('x')} FROM amounts").fetchall()]  # noqa: S608
    assert found == [_inside(bins, str(one)) for one in amounts]
    steps = [cf.Dates("2019-12-30", "2028-01-02", every) for every in ("day", "week", "month", "quarter", "year")]
    days = np.arange("2019-06-01", "2029-01-01", 7, dtype="datetime64[D]")
    listed = "SELECT unnest(range(DATE '2019-06-01', DATE '2029-01-01', INTERVAL 7 DAY)) AS d"
    for one in steps:
        found = [number for (number,) in duckdb.sql(f"SELECT {one.sql('d')} FROM ({listed})").fetchall()]  # noqa: S608
        assert found == [_inside(one, str(day)) for day in days]
    moment = "TIMESTAMP '2026-03-01 22:15:00'"
    assert duckdb.sql(f"SELECT {cf.Hours().sql(moment)}, {cf.Weekdays().sql(moment)}").fetchall() == [(22, 6)]

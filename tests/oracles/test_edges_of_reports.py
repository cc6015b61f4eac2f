"""Reports at the edges of what is held: Python's reader, DuckDB and the collector accept and reject the same ones."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import confide as cf
from confide.collector.wire import Wire
from confide.data.counting import count
from confide.data.counting.sources import expand, search
from confide.data.files import read_report_rows

EDGES = (-1, 0, 1)


def around(*numbers: float) -> list[str]:
    """Return whole numbers and those beside them, as texts."""
    return [str(int(number) + more) for number in numbers for more in EDGES]


def steps_around(resolution: int, *numbers: int) -> list[str]:
    """Return multiples of a fraction of one, and those beside them, as texts."""
    return [repr((number + more) / resolution) for number in numbers for more in EDGES]


LARGE = (2**31, 2**52, 2**53, 2**63, 2**64, -(2**31), -(2**53), -(2**63))
CASES: dict[str, tuple[cf.Mechanism, list[str]]] = {
    "numbers": (cf.TruncatedGeometric(cf.Integers(-3, 9), 1.0), around(-3, 9, *LARGE)),
    "unbounded numbers": (cf.Geometric(cf.Integers(0, 9), 1.0), around(0, *LARGE)),
    "a circle": (cf.WrappedGeometric(cf.Circle(7), 1.0), around(0, 7, *LARGE)),
    "listed numbers": (cf.RandomizedResponse(cf.Categories([3, 7, 2**31]), 1.0), around(3, 7, *LARGE)),
    "real numbers": (cf.Laplace(cf.Integers(0, 9), 1.0), steps_around(65536, 0, 2**51, 2**52, 2**53, -(2**52))),
    "bits": (cf.Rappor(cf.Integers(0, 9), 1.0), around(0, 2**10, *LARGE)),
}
ODD = ["nan", "inf", "-inf", "1e400", "x", "2.5", "1e2", "", "0x10", "1_000", "+4", "4.0"]


@pytest.mark.parametrize("name", CASES)
def test_every_reader_takes_the_same_reports(name: str, tmp_path: Path) -> None:
    mechanism, texts = CASES[name]
    survey, texts = cf.Survey(mechanism, "x"), [*texts, *ODD]
    (tmp_path / "r.csv").write_text("report\n" + "".join(f'"{text}"\n' for text in texts))
    (tmp_path / "plain.csv").write_text("report,id\n" + "".join(f"{text},1\n" for text in texts))
    python = read_report_rows(tmp_path / "r.csv", survey)
    taken = Counter(dict(zip(python.tally().reports.tolist(), python.tally().counts.tolist(), strict=True)))
    for source in ("r.csv", "plain.csv"):
        found = count(tmp_path / source, survey, columns="report")
        assert Counter(dict(zip(found.reports.tolist(), found.counts.tolist(), strict=True))) == taken, source
        assert found.rows.rejected == python.account.rejected, source
    # One by one, against the alphabet itself.
    alphabet = mechanism.report_alphabet
    for text in texts:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        is_one = math.isfinite(number) and abs(number) < 2**53
        value: Any = int(number) if is_one and number.is_integer() and name != "real numbers" else number
        is_written_whole = number.is_integer() and "e" not in text  # 1e2 is a real number
        inside = is_one and (name == "real numbers" or is_written_whole) and "_" not in text
        if inside and name == "real numbers":
            value = round(number * 65536) / 65536
        inside = inside and bool(alphabet.contains(alphabet.as_array([value])).all())
        assert (value in taken) == inside, (text, value)


def test_the_collector_takes_what_files_hold() -> None:
    for name, (mechanism, texts) in CASES.items():
        if name == "bits":  # which the wire has as texts of 0 and 1
            continue
        survey = cf.Survey(mechanism, "x")
        alphabet = mechanism.report_alphabet
        numbers = [json.loads(text) for text in texts if abs(float(text)) < 2**53]
        judged = Wire.of(survey).judge(numbers)
        refused = {place for place, _ in judged.rejected}
        for place, number in enumerate(numbers):
            value = round(number * 65536) / 65536 if name == "real numbers" else number
            assert (place not in refused) == bool(alphabet.contains(alphabet.as_array([value])).all()), (name, number)


# Names: what stands beside reports is no report, whatever the reports are called.


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "jsonl", "ndjson", "CSV"])
def test_a_companion_is_no_file_of_reports(ending: str, packed: str, tmp_path: Path) -> None:
    reports = tmp_path / f"r.{ending}{packed}"
    beside = tmp_path / f"{reports.name}-metadata.json"
    reports.write_text("report\n3\n")
    beside.write_text("{}")
    assert expand(str(tmp_path / "r*")) == [str(reports)]
    if ending != "txt":  # which in a folder may be anybody's notes
        assert search([str(tmp_path)]).files == (str(reports),)
    for other in ("metadata.json", "r.json", "r.parquet-metadata.json"):
        (tmp_path / other).write_text("{}")
        assert str(tmp_path / other) in expand(str(tmp_path / "*"))

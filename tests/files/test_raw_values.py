"""People's own values, which an alphabet turns into its own on the way in, with an account of what was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

import confide as cf
from confide.data.files import privatize_file, read_values
from confide.values import Values
from confide.values.metrics import Value


@dataclass(frozen=True)
class Decades(cf.Integers):
    """Ages in years, of which the decade is a value."""

    @property
    def raw_names(self) -> tuple[tuple[str, ...], ...]:
        return (("value",), ("years",))

    def read(self, fields: Sequence[str]) -> Value | None:
        years = self.parse(fields)
        return None if years is None else int(years) // 10  # type: ignore[arg-type]

    def take(self, raw: ArrayLike) -> Values:
        return np.asarray(raw) // 10

    def fault(self, fields: Sequence[str]) -> str:
        return "missing" if fields[0] == "unknown" else ""

    def remark(self, fields: Sequence[str]) -> str:
        return "rounded down" if int(fields[0]) % 10 else ""


ALPHABET = Decades(0, 9)
SURVEY = cf.Survey(cf.RandomizedResponse(ALPHABET, 20.0), "age")


def test_read_values_turns_them_and_tells(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("years\n34\n40\n41\nunknown\nold\n100\n")
    rows = read_values(path, SURVEY)
    assert rows.values.tolist() == [3, 4, 4]
    assert rows.account.remarks == {"rounded down": 2}
    assert dict(rows.account.rejected) == {"missing": 1, "not a number": 1, "outside the alphabet": 1}
    assert rows.account.description.endswith("3 accepted + 3 rejected; 2 rounded down")
    assert rows.account.record["remarks"] == {"rounded down": 2}
    assert (rows.account + rows.account).remarks == {"rounded down": 4}


def test_privatize_turns_values_once(tmp_path: Path) -> None:
    path, output = tmp_path / "people.csv", tmp_path / "reports.csv"
    path.write_text("age\n" + "93\n" * 40)
    privatize_file(path, output, SURVEY)
    assert output.read_text().split()[1:].count("9") >= 39  # at epsilon 20 a report is the decade itself
    assert SURVEY.mechanism.privatize([93, 34], rng=1).tolist() == [9, 3]
    assert SURVEY.mechanism.privatize([9, 3], rng=1, taken=True).tolist() == [9, 3]


def test_names_of_columns_of_raw_values(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,other\n1,2\n")
    with pytest.raises(cf.ConfideError, match="no column 'age' or 'value' or 'years'"):
        read_values(path, SURVEY)

"""Files that version 0.2 wrote are read as what they are: names inside files stay, wherever modules move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import confide as cf
from confide.data.files.counts_files import METADATA, SUMS

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")

KEPT = Path(__file__).parent / "kept"
SURVEY = cf.load_survey(KEPT / "survey.toml")


def test_counts_of_0_2_are_counts() -> None:
    counts: Any = cf.load_counts(KEPT / "counts.parquet", SURVEY)
    assert counts.counts.tolist() == [5, 3, 6, 14, 4, 6, 1, 6, 5, 10]
    assert counts.origin.is_simulated


def test_groups_of_0_2_are_groups() -> None:
    groups: Any = cf.load_counts(KEPT / "groups.parquet", SURVEY)
    assert {key: one.total for key, one in groups.groups.items()} == {("Oslo",): 3, ("Rome",): 9}


def test_names_inside_files_are_fixed() -> None:
    assert (METADATA, SUMS) == (b"confide.counts", b"confide.sums")

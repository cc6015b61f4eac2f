"""Files of reports to count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import confide as cf

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), name="age")
COLOURS = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "sky blue", "it's", "back\\slash", "1"]), epsilon=1.0))
CELLS = cf.Survey(cf.RandomizedResponse(cf.Grid(3, 4, holes=[(0, 0), (1, 2)]), epsilon=1.0))

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write a file and return where it is."""

    def write(content: str | bytes, name: str = "reports.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def rows_of(counts: Any) -> tuple[int, int, dict[str, int]]:
    """Return rows read, rows accepted, and how many were rejected for which reason."""
    return counts.rows.read, counts.rows.accepted, {str(why): number for why, number in counts.rows.rejected.items()}

"""The planted faults, faults/*.toml: a text of a source file, what to write instead, and the tests that must fail."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

TABLES = Path(__file__).parent / "faults"
"""One file for each room of the code, so that work in two rooms does not meet in one file."""


@dataclass(frozen=True)
class Fault:
    """One planted fault: `what` in `file` becomes `instead`, and one of `tests` or any test that runs it must fail."""

    file: str
    what: str
    instead: str
    why: str
    tests: tuple[str, ...] = ()

    def plant(self, text: str) -> str:
        """Return the source with the fault in it."""
        if text.count(self.what) != 1:
            raise ValueError(f"{self.what!r} stands {text.count(self.what)} times in {self.file}, not once.")
        return text.replace(self.what, self.instead)


def read_faults(*paths: Path) -> list[Fault]:
    """Read the tables, or others."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths or sorted(TABLES.glob("*.toml"))]
    rows = [row for table in tables for row in table["fault"]]
    return [Fault(**{**row, "tests": tuple(row.get("tests", ()))}) for row in rows]

"""Packages that are not installed: each is named with a command that works from a clone as from an index."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

from confide.errors import EXTRAS, install_command

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_packages_are_those_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    assert {name: list(packages) for name, packages in EXTRAS.items()} == {name: extras[name] for name in EXTRAS}
    assert set(extras) - set(EXTRAS) == {"all"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_no_command_asks_an_index_for_confide(extra: str) -> None:
    assert "confide" not in install_command(extra)
    assert install_command(extra).startswith("pip install '")


ESTIMATE = ["estimate", "survey.toml", "reports.csv", "-o", "page.html"]
DIAGNOSE = ["diagnose", "survey.toml", "reports.csv", "-o", "page.html"]
COUNT = ["count", "survey.toml", "reports.csv", "-o", "counts.parquet"]


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("matplotlib", ESTIMATE, "figures"),
        ("matplotlib", DIAGNOSE, "figures"),
        ("pyarrow", COUNT, "counting"),
        ("duckdb", COUNT, "counting"),
        ("pyspark", [*COUNT, "--engine", "spark"], "spark"),
    ],
)
def test_a_missing_package_is_named_with_its_cure(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, arguments: list[str], extra: str
) -> None:
    for name in [one for one in sys.modules if one == module or one.startswith(f"{module}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    assert_refused(call(*arguments), 6, f"needs {module}, which is not installed. Run: {install_command(extra)}")
    assert not (folder / arguments[-1]).exists()

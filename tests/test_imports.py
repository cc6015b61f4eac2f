"""Importing confide is quick because it loads nothing heavy. Counted in modules, for clocks differ between machines."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["scipy.linalg", "scipy.signal", "scipy.stats", "scipy.optimize", "matplotlib", "ot", "typer", "rich"]

ORACLES = ["qif", "opendp", "hypothesis", "pytest"]


def modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter and return what it has imported."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return modules_after("import confide\nconfide.Integers")


@pytest.mark.parametrize("package", HEAVY + ORACLES)
def test_import_confide_does_not_load(package: str, loaded: set[str]) -> None:
    assert package not in loaded, f"import {package} inside the function that needs it"


def test_import_confide_alone_loads_nothing() -> None:
    """The command line puts its guard against an interruption in place after it."""
    loaded = modules_after("import confide.__main__")
    assert not {name for name in loaded if name.startswith(("numpy", "scipy", "typing", "typer"))}
    assert {name for name in loaded if name.startswith("confide")} == {"confide", "confide.__main__"}


def test_the_first_name_loads_the_library(loaded: set[str]) -> None:
    assert {"numpy", "confide.mechanisms", "confide.methods", "confide.surveys"} <= loaded
    assert not {name for name in loaded if name.startswith(("confide.cli", "confide.figures", "confide.pages"))}


def test_blurring_loads_no_more_than_numpy() -> None:
    loaded = modules_after("import confide as cf\ncf.TruncatedGeometric(cf.Integers(0, 9), 1.0).privatize(3)")
    assert not {name for name in loaded if name.startswith("scipy.")}


@pytest.mark.slow
def test_what_is_asked_for_later_is_loaded_later() -> None:
    later = ("confide.counting", "confide.plans", "confide.files", "confide.theory.diagnosis", "confide.audits")
    assert not {name for name in modules_after("import confide\nconfide.Integers") if name.startswith(later)}
    assert "confide.plans" in modules_after("import confide\nconfide.plan")
    assert "confide.files" in modules_after("import confide\nconfide.files")

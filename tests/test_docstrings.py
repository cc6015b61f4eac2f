"""Docstrings: a short first line, sections as numpydoc reads them, and an example for every public name."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.cases import each

import confide
from confide import api

HOUSE = Path(confide.__file__).parent
ROOT = Path(__file__).parent.parent
MODULES = [*sorted(HOUSE.rglob("*.py")), *sorted((ROOT / "reproduction").rglob("*.py"))]
ENTRIES = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Yields")
MOST_WORDS = 12


def documented() -> list[str]:
    """Return the public names that should show an example: all but modules and failures."""
    things = {name: getattr(confide, name) for name in api.__all__}
    return [
        name
        for name, thing in things.items()
        if not isinstance(thing, ModuleType) and not (inspect.isclass(thing) and issubclass(thing, Exception))
    ]


def results() -> list[str]:
    """Return the classes that functions answer with, as the API reference of the site lists them."""
    listed = re.search(r'"Results": \[(.*?)\]', (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"), re.DOTALL)
    assert listed is not None
    return re.findall(r'"([\w.]+)"', listed[1])


def docstrings(text: str) -> Iterator[tuple[str, str]]:
    """Return the name and the docstring of a module and of all that it defines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield getattr(node, "name", "module"), ast.get_docstring(node) or ""


def strays(docstring: str) -> list[str]:
    """Return examples and sentences that stand among the entries of a section, where numpydoc takes them for names."""
    lines, section, found = docstring.split("\n"), "", []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{3,}", following):
            section = line
        elif section in ENTRIES and (line.startswith(">>>") or re.match(r"\S.*\.$", line)):
            found.append(line)
    return found


@each("module", MODULES, ids=str)
def test_first_lines_are_short_and_sections_are_read_right(module: Path) -> None:
    found = list(docstrings(module.read_text(encoding="utf-8")))
    assert [(name, one) for name, one in found if len(one.split("\n")[0].split()) > MOST_WORDS] == []
    assert [(name, strays(one)) for name, one in found if strays(one)] == []


@each("name", documented())
def test_every_public_name_has_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(confide, name)) or ""
    assert ">>> " in text or "::\n" in text, f"confide.{name} shows no example"


def test_the_reference_has_every_result_with_an_example() -> None:
    shown = "Audit Diagnosis Estimate Fit GroupEstimates Interval Plan Ranking Regression Series"
    assert {name.rpartition(".")[2] for name in results()} >= set(shown.split())
    for name in results():
        module, _, result = f"confide.{name}".rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(module), result)) or ""
        assert ">>> " in text, f"{name} shows no example"


@pytest.mark.parametrize(
    ("docstring", "stray"),
    [
        ("Add.\n\nParameters\n----------\none\n    A number.\n\n>>> add(1)\n2", ">>> add(1)"),
        ("Add.\n\nRaises\n------\nValueError\n    If odd.\n\nIt may warn.", "It may warn."),
    ],
)
def test_strays_are_found(docstring: str, stray: str) -> None:
    assert strays(docstring) == [stray]
    assert strays(docstring.replace(stray, f"Examples\n--------\n{stray}")) == []

"""Importing confide is quick because it loads nothing heavy. Counted in modules, for clocks differ between machines."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import confide

HEAVY = ["scipy.linalg", "scipy.signal", "scipy.stats", "scipy.optimize", "matplotlib", "ot", "typer", "rich"]

ORACLES = ["qif", "opendp", "shapely", "hypothesis", "pytest"]


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
    assert {name for name in loaded if name.startswith("confide")} == {"confide", "confide.__main__", "confide.cli"}


def test_the_first_name_loads_the_library(loaded: set[str]) -> None:
    assert {"numpy", "confide.mechanisms", "confide.solve.methods", "confide.surveys.survey"} <= loaded
    assert not {
        name for name in loaded if name.startswith(("confide.cli", "confide.present.figures", "confide.present.pages"))
    }


def test_blurring_loads_no_more_than_numpy() -> None:
    loaded = modules_after("import confide as cf\ncf.TruncatedGeometric(cf.Integers(0, 9), 1.0).privatize(3)")
    assert not {name for name in loaded if name.startswith("scipy.")}


@pytest.mark.slow
def test_what_is_asked_for_later_is_loaded_later() -> None:
    later = (
        "confide.data.counting",
        "confide.plans",
        "confide.data.files",
        "confide.estimates.diagnosis",
        "confide.mechanisms.audits",
    )
    assert not {name for name in modules_after("import confide\nconfide.Integers") if name.startswith(later)}
    assert "confide.plans" in modules_after("import confide\nconfide.plan")
    assert "confide.data.files" in modules_after("import confide\nconfide.load_counts")


LAYERS_WITHOUT_CLASSES = ("theory", "solve", "estimates/inference")


def subclasses(kind: type[object]) -> set[str]:
    """Return the names of a class and of all below it."""
    names = {kind.__name__}
    for below in kind.__subclasses__():
        names |= subclasses(below)
    return names


def classes_asked_for(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every class that code tells apart: isinstance, patterns, dispatch, type(x) is."""
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            asked = [*node.args] if called in ("isinstance", "issubclass", "register") else []
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            asked = [*node.comparators] if getattr(node.left.func, "id", "") == "type" else []
        for part in asked:
            for name in ast.walk(part):
                if isinstance(name, ast.Name | ast.Attribute):
                    yield name.lineno, name.id if isinstance(name, ast.Name) else name.attr


@pytest.mark.parametrize("layer", LAYERS_WITHOUT_CLASSES)
def test_theory_and_methods_ask_for_facts_and_never_for_the_class_of_a_mechanism_or_channel(layer: str) -> None:
    kinds = (subclasses(confide.Mechanism) - {"Mechanism"}) | (subclasses(confide.channels.Channel) - {"Channel"})
    assert {"Rappor", "TruncatedPlanarLaplace", "Kronecker", "TwoSidedExponential"} <= kinds
    for file in sorted((Path(confide.__file__).parent / layer).rglob("*.py")):
        asked = list(classes_asked_for(ast.parse(file.read_text(encoding="utf-8"))))
        assert not [f"{file.name}:{line} asks for {name}" for line, name in asked if name in kinds]


ROOMS_WITHOUT_ALPHABETS = (
    "channels",
    "check",
    "collector",
    "data",
    "estimates",
    "evidence",
    "plans",
    "present",
    "solve",
    "surveys",
    "theory",
)
"""Rooms that ask an alphabet for its geometry, never for its class; a room that is free of classes is added here."""


@pytest.mark.parametrize("room", ROOMS_WITHOUT_ALPHABETS)
def test_rooms_ask_for_the_geometry_and_never_for_the_class_of_an_alphabet(room: str) -> None:
    kinds = subclasses(confide.Alphabet) - {"Alphabet", "Stops", "Tides"}
    assert {"Integers", "Grid", "Circle", "Selection", "BitVectors", "Places", "Attributes"} <= kinds
    place = Path(confide.__file__).parent / room
    files = [place] if place.suffix else sorted(place.rglob("*.py"))
    assert files
    for file in files:
        asked = classes_asked_for(ast.parse(file.read_text(encoding="utf-8")))
        assert not [f"{file.name}:{line} asks for {name}" for line, name in asked if name in kinds]


def test_what_tells_classes_apart_is_found() -> None:
    code = """
isinstance(a, Rappor | Product); issubclass(a, b.Taxicab); type(m) is Laplace
@words.register(Geometric)
def f(): ...
match m:
    case Exponential(): pass
"""
    found = {name for _, name in classes_asked_for(ast.parse(code))}
    assert {"Rappor", "Product", "Taxicab", "Laplace", "Geometric", "Exponential"} <= found


@pytest.mark.slow
def test_no_class_name_stands_for_two_things() -> None:
    texts = [file.read_text(encoding="utf-8") for file in Path(confide.__file__).parent.rglob("*.py")]
    names = Counter(name for text in texts for name in re.findall(r"^class (\w+)[(:]", text, flags=re.MULTILINE))
    assert len(names) > 100
    assert [name for name, number in names.items() if number > 1] == []


def test_the_tests_are_a_package_of_their_own() -> None:
    """A folder without __init__.py gives way to a package called tests that another distribution ships."""
    import tests

    assert tests.__file__ == str(Path(__file__).parent / "__init__.py")

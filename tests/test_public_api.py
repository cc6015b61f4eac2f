"""The public API is frozen: a change to it shows up here, and is made on purpose or not at all.

After a change that is meant, write the list anew and say so in the changelog:

    python tests/test_public_api.py > tests/public_api.txt
"""

from __future__ import annotations

import difflib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

import confide
from confide import api

PUBLIC = api.__all__

FROZEN = Path(__file__).with_name("public_api.txt")


def public_api() -> list[str]:
    """Return one line for each public name, with its signature."""
    lines = [line for name in PUBLIC for line in _describe(f"confide.{name}", getattr(confide, name))]
    return sorted(lines)


def _describe(path: str, thing: object) -> Iterator[str]:
    if isinstance(thing, ModuleType):
        yield f"{path}: module"
        for name, member in vars(thing).items():
            if inspect.isfunction(member) and member.__module__ == thing.__name__ and not name.startswith("_"):
                yield f"{path}.{name}{_signature(member)}"
    elif inspect.isclass(thing):
        yield from _describe_class(path, thing)
    elif callable(thing):
        yield f"{path}{_signature(thing)}"
    else:
        yield f"{path}: {type(thing).__name__}"


def _describe_class(path: str, kind: type) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield f"{path}: one of {', '.join(member.value for member in kind)}"
        return
    yield f"{path}{'' if issubclass(kind, Exception) or inspect.isabstract(kind) else _signature(kind)}: class"
    for name in sorted({name for parent in kind.__mro__ if _is_ours(parent) for name in vars(parent)}):
        if not name.startswith("_"):
            yield _describe_member(f"{path}.{name}", inspect.getattr_static(kind, name))


def _describe_member(path: str, member: object) -> str:
    if isinstance(member, classmethod | staticmethod):
        return f"{path}{_signature(member.__func__)}: {type(member).__name__}"
    return f"{path}{_signature(member)}" if inspect.isfunction(member) else f"{path}: attribute"


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "confide"


def _signature(thing: object) -> str:
    assert callable(thing)
    return str(inspect.signature(thing))


def test_the_public_api_is_what_was_frozen() -> None:
    frozen = FROZEN.read_text(encoding="utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(frozen, public_api(), "frozen", "now", lineterm="", n=0))
    assert not changes, (
        f"The public API changed:\n{changes}\n\nIf that is meant, run: python tests/test_public_api.py > "
        f"tests/public_api.txt, and note the change in CHANGELOG.md. If not, take it back."
    )


def test_every_public_name_exists_once_and_is_documented() -> None:
    assert len(set(PUBLIC)) == len(PUBLIC)
    for name in PUBLIC:
        assert inspect.getdoc(getattr(confide, name)), f"confide.{name} has no docstring"


def test_nothing_else_is_public() -> None:
    visible = {name for name in dir(confide) if not (name.startswith("__") and name.endswith("__"))}
    assert visible == set(PUBLIC)


def test_completion_shows_public_names_alone_also_before_anything_is_loaded() -> None:
    code = "import confide; print(*[name for name in dir(confide) if not name.startswith('__')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(PUBLIC)


def test_submodules_stay_importable_and_what_is_missing_is_named() -> None:
    code = "import confide; print(confide.surveys.survey.__name__, confide.theory.__name__); confide.frobnicate"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "confide.surveys.survey confide.theory\n"
    assert "AttributeError: module 'confide' has no attribute 'frobnicate'" in done.stderr


def test_a_name_that_moved_is_found_by_its_error() -> None:
    with pytest.raises(AttributeError, match=r"'PoorFitWarning'; it is confide\.errors\.PoorFitWarning$"):
        _ = confide.PoorFitWarning  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'estimat'$"):
        _ = confide.estimat  # type: ignore[attr-defined]


if __name__ == "__main__":
    print("\n".join(public_api()))

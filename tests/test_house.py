"""Budgets of the house: code lines of each room, and what a reader must learn. Raising one is a decision for a commit.

`python -m tests.test_house` prints the table. Code lines are lines with a token other than a comment or a docstring, as
`ruff format` leaves them.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

import confide
from confide import api
from confide.cli.main import COMMANDS, app

HOUSE = Path(confide.__file__).parent

ROOMS = {
    "values": 4_440,
    "data": 4_908,
    "mechanisms": 5_489,
    "estimates": 3_712,
    "present": 4_423,
    "cli": 3_167,
    "solve": 2_812,
    "collector": 2_887,
    "check": 1_829,
    "channels": 1_853,
    "plans": 2_106,
    "theory": 1_328,
    "studio": 1_642,
    "evidence": 1_170,
    "regression": 1_944,
    "surveys": 576,
    "api.py": 207,
    "errors.py": 51,
    "__init__.py": 39,
    "__main__.py": 7,
}
"""Code lines that each room may have."""

WHOLE = {
    "code lines": 44_590,
    "files": 183,
    "entries at the top": 20,
    "functions": 4_406,
    "functions of one statement": 1_265,
    "constants": 350,
    "options": 95,
    "public names": 90,
}
"""What the whole house may have."""

SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def documented(node: ast.AST) -> ast.Expr | None:
    """Return the docstring of a module, class or function, if it has one."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, kinds) or not node.body or not isinstance(first := node.body[0], ast.Expr):
        return None
    return first if isinstance(first.value, ast.Constant) and isinstance(first.value.value, str) else None


def measure(text: str) -> Counter[str]:
    """Count the code lines, comments, functions, functions of one statement and constants of a module."""
    found, tree = Counter[str](), ast.parse(text)
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found["comments"] += token.type == tokenize.COMMENT
        if token.type not in SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if words := documented(node):
            code.difference_update(range(words.lineno, (words.end_lineno or words.lineno) + 1))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found["functions"] += 1
            found["functions of one statement"] += len(node.body) - (documented(node) is not None) == 1
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found["constants"] += any(isinstance(one, ast.Name) and one.id.isupper() for one in targets)
    found["code lines"] = len(code)
    return found


def room_of(path: Path) -> str:
    """Return the room that a module belongs to: its package at the top, or itself."""
    return path.relative_to(HOUSE).parts[0]


def survey_of_the_house() -> tuple[Counter[str], Counter[str]]:
    """Return the code lines of each room, and the totals."""
    rooms, whole = Counter[str](), Counter[str]()
    for path in HOUSE.rglob("*.py"):
        found = measure(path.read_text(encoding="utf-8"))
        rooms[room_of(path)] += found["code lines"]
        whole += found
        whole["files"] += 1
    whole["entries at the top"] = sum(1 for one in HOUSE.iterdir() if one.name not in ("__pycache__", "py.typed"))
    whole["public names"] = len(api.__all__)
    whole["options"] = len(options())
    return rooms, whole


def options() -> list[str]:
    """Return every option of every command, help aside."""
    import typer

    group = typer.main.get_command(app)
    return [
        f"{command} {one.opts[0]}"
        for command in COMMANDS
        for one in group.get_command(None, command).params  # type: ignore[attr-defined]
        if one.param_type_name == "option" and "--help" not in one.opts
    ]


@pytest.fixture(scope="module")
def house() -> tuple[Counter[str], Counter[str]]:
    return survey_of_the_house()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_its_budget(room: str, house: tuple[Counter[str], Counter[str]]) -> None:
    assert house[0][room] <= ROOMS[room], "Look first for what the new code replaces."


def test_no_room_is_without_a_budget(house: tuple[Counter[str], Counter[str]]) -> None:
    assert set(house[0]) == set(ROOMS)


@pytest.mark.parametrize("what", WHOLE)
def test_the_house_keeps_its_budget(what: str, house: tuple[Counter[str], Counter[str]]) -> None:
    assert house[1][what] <= WHOLE[what], "Look first for what the new code replaces."


def methods() -> dict[tuple[str, str], bool]:
    """Return the public methods of every class with the line they stand in, and whether they have a docstring."""
    return {
        (f"{path.relative_to(HOUSE)}:{method.lineno}", method.name): documented(method) is not None
        for path in HOUSE.rglob("*.py")
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(kind, ast.ClassDef) and not kind.name.startswith("_")
        for method in kind.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not method.name.startswith("_")
    }


WALK = 55
"""Modules whose functions one question on the command line may call."""

FOLLOWED = """
import sys
from pathlib import Path
import confide
from confide.cli.main import app

HOUSE, called = str(Path(confide.__file__).parent), set()

def note(frame, event, argument):
    code = frame.f_code
    # Names in brackets are modules and comprehensions; functions alone have the first flag, class bodies do not.
    if event == "call" and code.co_filename.startswith(HOUSE) and code.co_name[0] != "<" and code.co_flags & 1:
        called.add(code.co_filename)

sys.setprofile(note)
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code
finally:
    sys.setprofile(None)
    print(*sorted(called), sep="\\n", file=sys.stderr)
"""


@pytest.mark.slow
def test_one_question_passes_through_few_modules(tmp_path: Path) -> None:
    """The walk: `estimate --interval --query -o page.html` on the ages of Adult."""
    ages = confide.datasets.adult_ages()
    survey = confide.Survey(confide.TruncatedGeometric(ages.alphabet, epsilon=0.05), name="age")
    (tmp_path / "survey.toml").write_text(survey.text())
    reports = survey.mechanism.privatize(ages.values(), rng=7)
    (tmp_path / "reports.csv").write_text("report\n" + "\n".join(map(str, reports.tolist())) + "\n")
    asked = ("estimate", "survey.toml", "reports.csv", "--interval", "95%", "--query", "age >= 65", "-o", "page.html")
    command = [sys.executable, "-W", "ignore", "-c", FOLLOWED, *asked]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    walked = [line for line in done.stderr.splitlines() if line.endswith(".py")]
    assert 20 < len(walked) <= WALK, walked


FOREIGN = {
    *("connection_lost", "connection_made", "data_received", "pause_writing", "resume_writing"),
    *("on_body", "on_headers_complete", "on_message_begin", "on_message_complete", "on_response_complete"),
    *("shutdown", "startup", "wait"),
}
"""Methods of asyncio, httptools, uvicorn and psycopg that we override: they are documented there."""


def test_every_method_is_documented_in_its_class_or_in_the_one_it_overrides() -> None:
    found = methods()
    known = {name for (_, name), has_words in found.items() if has_words} | FOREIGN
    known |= {
        "attributes",
        "dimensions",
        "has_labels",
        "reads_times",
        "selected_from",
    }  # fields of Alphabet and Geometry
    assert not [f"{where} {name}" for (where, name) in found if name not in known]


def test_what_is_counted() -> None:
    text = (
        '"""Words."""\n\n# why\nLIMIT = 3\n\n\ndef one() -> int:\n    """More words."""\n    return LIMIT  # because\n'
    )
    assert measure(text) == Counter(
        {"code lines": 3, "comments": 2, "functions": 1, "functions of one statement": 1, "constants": 1}
    )


if __name__ == "__main__":
    rooms, whole = survey_of_the_house()
    for table in (rooms, whole):
        print(*(f"{number:7,}  {name}" for name, number in table.most_common()), sep="\n")
    sys.exit()

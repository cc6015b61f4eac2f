"""A command line to call, and a folder with a survey, values and reports to call it on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from confide.cli.main import app
from confide.mechanisms.audits import LIMITS

SURVEY = """
name = "age"
title = "Ages"
[alphabet]
kind = "integers"
low = 0
high = 9
unit = "year"
[mechanism]
kind = "truncated-geometric"
epsilon = 1.0
"""


@dataclass(frozen=True)
class Ending:
    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """Standard output as the one strict JSON object that it should be."""
        return dict(json.loads(self.out, parse_constant=lambda constant: pytest.fail(f"not strict JSON: {constant}")))


Call = Callable[..., Ending]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "values.csv").write_text("age,name\n" + "".join(f"{i % 10},person {i}\n" for i in range(200)))
    (tmp_path / "reports.csv").write_text("report\n" + "".join(f"{i % 7}\n" for i in range(200)))
    return tmp_path


@pytest.fixture
def call(folder: Path) -> Call:
    def run(*arguments: str, stdin: str | bytes | None = None) -> Ending:
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ending(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an audit draw few reports, where a test looks at what is said of it."""
    monkeypatch.setitem(vars(LIMITS), "most_drawn", 2**14)
    monkeypatch.setitem(vars(LIMITS), "singly", 10_000)


def assert_refused(ending: Ending, code: int, *words: str) -> None:
    """Check that a command failed with one message on standard error, and said nothing else."""
    assert ending.code == code, ending.err
    assert ending.out == ""
    assert "Traceback" not in ending.err
    missing: Sequence[str] = [word for word in words if word not in ending.err]
    assert not missing, f"{missing} not in {ending.err!r}"

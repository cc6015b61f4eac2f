"""The command as a whole: help, version, exit codes, pipes and interruptions."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from typer.testing import CliRunner

import confide
from confide import errors
from confide.cli.exits import MEANINGS, ExitCode, exit_code_of
from confide.cli.main import COMMANDS, app

PROGRAM = [sys.executable, "-c", "from confide.cli.main import run; run()"]


def test_version(call: Call) -> None:
    assert call("--version").out == f"confide {confide.__version__}\n"


def test_help_lists_commands_and_exit_codes(call: Call) -> None:
    text = call("--help").out
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in COMMANDS)
    assert all(f"{code:d}  {meaning}" in text for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example(call: Call, name: str) -> None:
    ending = call(name, "--help")
    assert ending.code == 0
    assert "For example:" in ending.out
    assert all(example in ending.out and f"confide {name}" in example for example in COMMANDS[name][1])


def test_every_error_has_an_exit_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    codes = {
        kind.__name__: exit_code_of(kind.__new__(kind))
        for kind in kinds
        if issubclass(kind, errors.ConfideError) and kind is not errors.ConfideError
    }
    assert ExitCode.UNEXPECTED not in codes.values()
    assert codes["SurveyError"] == ExitCode.SURVEY
    assert codes["DataFileError"] == codes["ImpossibleReportError"] == codes["InvalidCountsError"] == ExitCode.DATA
    assert codes["NotInvertibleError"] == codes["SolverError"] == ExitCode.NO_ANSWER
    assert codes["BrokenPromiseError"] == ExitCode.BROKEN_PROMISE
    assert codes["MissingExtraError"] == ExitCode.MISSING_PACKAGE


@pytest.mark.parametrize("arguments", [["frobnicate"], ["estimate"], ["show", "--frob"], ["privatize", "survey.toml"]])
def test_wrong_usage(call: Call, arguments: list[str]) -> None:
    assert_refused(call(*arguments), 2, "Usage: ")


def test_a_missing_package_is_named_with_its_cure(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = 'name="place"\n[alphabet]\nkind="grid"\nrows=2\ncolumns=2\n[mechanism]\nkind="randomized-response"\n'
    (folder / "grid.toml").write_text(survey + "epsilon=1.0\n")
    (folder / "cells.csv").write_text("row,column\n0,0\n1,1\n")
    (folder / "truth.csv").write_text("row,column\n0,0\n0,1\n")
    monkeypatch.setitem(sys.modules, "ot", None)
    ending = call("estimate", "grid.toml", "cells.csv", "--truth", "truth.csv")
    assert_refused(ending, 6, "pip install 'confide[planar]'")


def test_something_unexpected_ends_with_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise ZeroDivisionError(path)

    monkeypatch.setattr("confide.cli.show.load_survey", fail)
    assert CliRunner().invoke(app, ["show", "survey.toml"]).exit_code == 1


posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither these signals nor these devices")


@posix
def test_a_broken_pipe_ends_quietly(folder: Path) -> None:
    with subprocess.Popen([*PROGRAM, "datasets"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


@posix
def test_an_interruption_ends_quietly(folder: Path) -> None:
    command = [*PROGRAM, "privatize", "survey.toml", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write("age\n" + "3\n" * 200_000)  # more than a pipe holds, so that it returns once they are read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
def test_a_full_disk_is_an_error(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ending = subprocess.run(
            [*PROGRAM, "show", "survey.toml"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ending.returncode == 4
    assert ending.stderr.startswith("Error: The output cannot be written")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from confide.cli.main import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print([name for name in ('matplotlib', 'ot', 'confide.pages', 'rich.progress') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

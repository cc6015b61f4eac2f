"""The command as a whole: help, version, exit codes, pipes and interruptions."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from typer.testing import CliRunner

import confide
from confide import errors
from confide.cli.main import COMMANDS, MEANINGS, WENT, ExitCode, app, examples_of, exit_code_of

PROGRAM = [sys.executable, "-m", "confide"]

KEPT = ("PATH", "PYTHONPATH", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MPLCONFIGDIR")
CLEAN = {name: os.environ[name] for name in KEPT if name in os.environ}
"""An environment without PYTHONUNBUFFERED and its like, which hide what happens to output that waits in a buffer."""


def test_version(call: Call) -> None:
    assert call("--version").out == f"confide {confide.__version__}\n"


def test_help_lists_commands_and_exit_codes(call: Call) -> None:
    text = call("--help").out
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in COMMANDS)
    unwrapped = re.sub(r"\n {5,}", " ", text)
    assert all(f"{code:d}  {meaning}" in unwrapped for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example(call: Call, name: str) -> None:
    ending = call(name, "--help")
    assert ending.code == 0
    assert "For example:" in ending.out
    assert all(example in ending.out and f"confide {name}" in example for example in examples_of(name))


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
    assert codes["NotInvertibleError"] == codes["SolverError"] == codes["TooLargeError"] == ExitCode.NO_ANSWER
    assert codes["BrokenPromiseError"] == ExitCode.BROKEN_PROMISE
    assert codes["MissingExtraError"] == ExitCode.MISSING_PACKAGE


GONE = [(command, option) for command, options in WENT.items() for option in options]


@pytest.mark.parametrize(("command", "option"), GONE)
def test_an_option_that_went_is_answered_with_what_to_write(call: Call, command: str, option: str) -> None:
    for typed in ([option], [f"{option}=7"], ["survey.toml", "reports.csv", option, "7"]):
        assert_refused(call(command, *typed), 2, f"{option} went in 0.3.", WENT[command][option].split()[-1])


def test_every_cure_of_an_option_that_went_is_one(call: Call) -> None:
    """An option that a cure names is there; one that went is not."""
    for command, option in GONE:
        named = re.findall(r"confide (\w+)", WENT[command][option])[:1] or [command]
        text = "" if "In Python" in WENT[command][option] else call(named[0], "--help").out
        for cure in re.findall(r"(?<![\w-])--[a-z-]+", WENT[command][option]) if text else ():
            owner = "privatize" if "privatize with" in WENT[command][option] else named[0]
            assert f" {cure} " in call(owner, "--help").out, (command, option)
        assert not re.search(rf"^ +(?:-\w, )?{option} ", call(command, "--help").out, re.MULTILINE)


def test_the_options_that_a_newcomer_needs_come_first(call: Call) -> None:
    text = call("estimate", "--help").out
    headings = re.findall(r"^([A-Z][\w ]+):$", text, re.MULTILINE)
    assert headings[:5] == ["Arguments", "Options", "Assumptions", "Checks", "Maps"]
    first = text.partition("\nOptions:\n")[2].partition("\nAssumptions:\n")[0]
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", first, re.MULTILINE)
    needed = ["--query", "--interval", "--show", "--output", "--verbose", "--json"]
    assert [one for one in options if one != "--help"] == needed


@pytest.mark.parametrize("arguments", [["frobnicate"], ["estimate"], ["show", "--frob"], ["privatize", "survey.toml"]])
def test_wrong_usage(call: Call, arguments: list[str]) -> None:
    assert_refused(call(*arguments), 2, "Usage: ")


def test_without_pot_an_estimate_on_a_grid_comes_without_emd(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = 'name="place"\n[alphabet]\nkind="grid"\nrows=2\ncolumns=2\n[mechanism]\nkind="randomized-response"\n'
    (folder / "grid.toml").write_text(survey + "epsilon=1.0\n")
    (folder / "cells.csv").write_text("row,column\n0,0\n1,1\n")
    (folder / "truth.csv").write_text("row,column\n0,0\n0,1\n")
    monkeypatch.setitem(sys.modules, "ot", None)
    ending = call("estimate", "grid.toml", "cells.csv", "--truth", "truth.csv")
    assert ending.code == 0
    assert "It is left out. The earth mover's distance on a grid needs POT" in ending.out
    assert "pip install 'POT>=0.9.5'" in ending.out
    assert "total variation" in ending.out
    record = call("estimate", "grid.toml", "cells.csv", "--truth", "truth.csv", "--json").record
    assert record["emd"] is None
    assert "POT>=0.9.5" in record["emd_left_out"]
    assert record["total_variation"] is not None


def test_something_unexpected_ends_with_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise ZeroDivisionError(path)

    monkeypatch.setattr("confide.cli.show.load_survey", fail)
    assert CliRunner().invoke(app, ["show", "survey.toml"]).exit_code == 1


LARGE_LINE = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 1000000000000\n'
LARGE_GRID = '[alphabet]\nkind = "grid"\nrows = 100000\ncolumns = 100000\n'


@pytest.mark.parametrize(
    ("alphabet", "kind"),
    [
        (LARGE_LINE, "truncated-geometric"),
        (LARGE_LINE, "randomized-response"),
        (LARGE_GRID, "truncated-planar-laplace"),
        (LARGE_GRID, "taxicab"),
    ],
)
def test_more_values_than_memory_holds_are_shown_and_refused_with_a_cure(
    call: Call, folder: Path, alphabet: str, kind: str
) -> None:
    (folder / "large.toml").write_text(f'{alphabet}[mechanism]\nkind = "{kind}"\nepsilon = 1.0\n')
    (folder / "cells.csv").write_text("row,column\n3,4\n")
    reports = "cells.csv" if alphabet == LARGE_GRID else "reports.csv"
    assert "000,000" in call("show", "large.toml", "-v").out
    assert call("show", "large.toml", "--json").record["alphabet"]["size"] >= 10**10
    for command in (["plan", "large.toml", "--people", "10"], ["estimate", "large.toml", reports]):
        assert_refused(call(*command), 5, "too many for an array over all of them", "Use fewer or coarser values")
    assert_refused(call("diagnose", "large.toml"), 5, "too many", "Use fewer or coarser values")


def test_reports_of_too_many_bits_are_refused(call: Call, folder: Path) -> None:
    (folder / "large.toml").write_text(f'{LARGE_LINE}[mechanism]\nkind = "rappor"\nepsilon = 1.0\n')
    for command in (["show"], ["show", "--json"]):
        assert_refused(call(*command, "large.toml"), 5, "Reports of 1,000,000,000,001 bits", "fewer or coarser values")
    for command in (["estimate", "large.toml", "reports.csv"], ["privatize", "large.toml", "values.csv"]):
        assert_refused(call(*command), 5, "fewer or coarser values")


def test_what_does_not_fit_into_memory_is_no_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("confide.cli.show.load_survey", fail)
    assert_refused(call("show", "survey.toml"), 5, "do not fit into memory (Unable to allocate 7 TiB)", "Use fewer")


posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither these signals nor these devices")


LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""Tests that run in the background of a shell inherit that interruptions are ignored; a foreground command does not."""

WORDY = [
    ["--help"],
    ["show", "survey.toml"],
    ["show", "survey.toml", "--json"],
    ["privatize", "survey.toml", "many.csv"],
]
"""One for each way in which a command says something: typer's, words, a record, and rows as they come."""


@pytest.fixture
def many(folder: Path) -> Path:
    (folder / "many.csv").write_text("age\n" + "3\n" * 100_000)  # more reports than a pipe holds
    return folder


@posix
@pytest.mark.parametrize(("arguments", "lines"), [*((one, 0) for one in WORDY), (WORDY[1], 1), (WORDY[-1], 1)])
@pytest.mark.slow
def test_a_broken_pipe_ends_quietly(many: Path, arguments: list[str], lines: int) -> None:
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(lines):
            assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(20) in ((1,) if lines == 0 else (0, 1))  # what fits into the pipe has left before it breaks


EVERY_COMMAND = [
    ["new", "new.toml"],
    ["audit", "survey.toml"],
    ["plan", "survey.toml", "--people", "200", "--guess", "uniform"],
    ["count", "survey.toml", "reports.csv", "-o", "counts.parquet"],
    ["merge", "counted.parquet", "-o", "merged.parquet"],
    ["estimate", "survey.toml", "reports.csv"],
    ["estimate", "long.toml", "reports.csv", "--method", "ibu", "--show", "all"],
    ["diagnose", "survey.toml"],
    ["diagnose", "survey.toml", "reports.csv", "--json"],
    ["datasets", "adult_ages"],
    ["unbias", "survey.toml", "reports.csv", "--query", "mean"],
    ["regress", "survey.toml", "reports.csv", "age ~ 1"],
    ["demo", "demo.html"],
    ["export", "survey.toml"],
]
"""What WORDY has not; large outputs among them."""


@posix
@pytest.mark.slow
@pytest.mark.parametrize("arguments", EVERY_COMMAND, ids=" ".join)
def test_every_command_ends_quietly_into_a_pipe_that_nobody_reads(many: Path, arguments: list[str]) -> None:
    long = (many / "survey.toml").read_text().replace("high = 9", "high = 4000")
    (many / "long.toml").write_text(long.replace("truncated-geometric", "randomized-response"))  # quickly estimated
    if arguments[0] == "merge":
        subprocess.run(
            [*PROGRAM, *EVERY_COMMAND[3][:-1], "counted.parquet"], check=True, capture_output=True, env=CLEAN
        )
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    ) as one:
        assert one.stdout is not None
        assert one.stderr is not None
        one.stdout.close()
        assert "Traceback" not in one.stderr.read()
        assert one.wait(60) == ExitCode.UNEXPECTED
    # Whoever looks at one line of the demo has the page all the same.
    assert (many / "demo.html").exists() is (arguments[0] == "demo")


def test_every_command_is_tried_into_a_closed_pipe() -> None:
    # These say a few lines beside a server, and are tried in tests/collector and tests/studio.
    online = {"serve", "studio", "send", "pull", "curate"}
    assert {arguments[0] for arguments in (*WORDY, *EVERY_COMMAND)} >= set(COMMANDS) - online


def test_the_version_and_a_typo_are_answered_without_numpy() -> None:
    code = "import sys; from confide.cli.main import app\ntry: app()\nexcept SystemExit: print('numpy' in sys.modules)"
    for arguments in (["--version"], ["estimat"]):
        ending = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert ending.stdout.endswith("False\n")


IMPORTED = ["confide.cli.main", "numpy", "confide.mechanisms", "typer", "rich.console"]


@posix
@pytest.mark.parametrize("module", IMPORTED)
def test_an_interruption_while_importing_ends_quietly(folder: Path, module: str) -> None:
    code = (
        f"{LISTEN}import sys, runpy\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['confide', 'show', 'survey.toml']\n"
        "runpy.run_module('confide', run_name='__main__')\n"
    )
    ending = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=CLEAN)
    assert (ending.returncode, ending.stdout, ending.stderr) == (130, "", "")


@posix
@pytest.mark.parametrize("milliseconds", [0, 10, 30, 60, 100])
def test_an_early_interruption_ends_quietly(folder: Path, milliseconds: int) -> None:
    # Python's own start is not ours to guard: the clock starts with the first import behind the guard.
    code = (
        f"{LISTEN}import sys\n"
        "class Telling:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'confide.cli.main': print('begun', flush=True)\n"
        "sys.meta_path.insert(0, Telling())\n"
        "from confide.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "privatize", "survey.toml", "-"]  # it waits for input, and so never ends
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == ""


@posix
@pytest.mark.slow
def test_an_interruption_that_is_ignored_stays_ignored(folder: Path) -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from confide.__main__ import main\nimport sys; sys.argv[1:] = ['--version']\n"
        "try: main()\nfinally: assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=CLEAN).stderr == b""


@posix
@pytest.mark.slow
def test_an_interruption_ends_quietly(folder: Path) -> None:
    code = f"{LISTEN}from confide.__main__ import main\nmain()"
    command = [sys.executable, "-c", code, "privatize", "survey.toml", "-"]
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


UNBUFFERED = {"PYTHONUNBUFFERED": "1"}

full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")


@full_disk
@pytest.mark.parametrize(("arguments", "buffering"), [*((one, {}) for one in WORDY), (WORDY[1], UNBUFFERED)])
@pytest.mark.slow
def test_a_full_disk_is_an_error(many: Path, arguments: list[str], buffering: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        ending = subprocess.run(
            [*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=CLEAN | buffering
        )
    assert ending.returncode == 4
    assert ending.stderr.startswith("Error: The output cannot be written: No space left")
    assert ending.stderr.count("\n") == 1


@full_disk
@pytest.mark.parametrize(("survey", "code"), [("survey.toml", 4), ("nowhere.toml", 3)])
@pytest.mark.slow
def test_a_full_disk_for_everything_still_has_its_exit_code(folder: Path, survey: str, code: int) -> None:
    with Path("/dev/full").open("w") as full:
        ending = subprocess.run([*PROGRAM, "show", survey], stdout=full, stderr=full, check=False, env=CLEAN)
    assert ending.returncode == code


@posix
@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&- <&-", 0)])
@pytest.mark.slow
def test_a_closed_stream_is_no_failure(folder: Path, closed: str, code: int) -> None:
    command = f"{sys.executable} -m confide show survey.toml {closed}"
    ending = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=CLEAN)
    assert (ending.returncode, ending.stderr) == (code, "")


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from confide.cli.main import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print([one for one in ('matplotlib', 'ot', 'confide.present.pages', 'rich.progress') if one in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_fits_eighty_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = call("--help").out.partition("Commands:")[2].partition("Exit codes:")[0]
    assert "..." not in listed
    for command in COMMANDS:
        assert all(len(one) <= 76 for one in examples_of(command)), command  # they are indented by four


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_into_80_columns_and_breaks_no_name(command: str) -> None:
    shown = CliRunner().invoke(app, [*filter(None, [command]), "--help"], terminal_width=80).output
    lines = shown.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines[1:] if line.rstrip().endswith(("...", "-"))] == []
    if command:
        for example in examples_of(command):
            assert f"    {example}" in lines
    assert "\u2011" not in shown

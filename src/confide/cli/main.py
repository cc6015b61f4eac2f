"""The command `confide`: its commands, its help, and how failures end."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from confide import __version__
from confide.cli import unguard
from confide.errors import (
    BrokenPromiseError,
    ConfideError,
    InvalidInputError,
    InvalidParameterError,
    LimitError,
    MissingExtraError,
    NotInvertibleError,
    SolverError,
    SurveyError,
    TooLargeError,
    UnreachableTargetError,
)


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    SUCCESS = 0
    UNEXPECTED = 1
    USAGE = 2
    SURVEY = 3
    DATA = 4
    NO_ANSWER = 5
    MISSING_PACKAGE = 6
    BROKEN_PROMISE = 7
    POOR_FIT = 8
    INTERRUPTED = 130


class NoAnswerError(ConfideError):
    """The survey is sound, but its mechanism cannot be estimated or audited."""


MEANINGS = {
    ExitCode.SUCCESS: "success",
    ExitCode.UNEXPECTED: "something unexpected, or nobody read the output to its end",
    ExitCode.USAGE: "wrong usage of a command or an option",
    ExitCode.SURVEY: "a bad survey file",
    ExitCode.DATA: "bad data: values, reports, counts or truth, or a file that cannot be read or written",
    ExitCode.NO_ANSWER: "no answer: no inverse, unbounded or too many values or reports, a plan out of reach, a limit",
    ExitCode.MISSING_PACKAGE: "an optional package is not installed",
    ExitCode.BROKEN_PROMISE: "an audit found that the promise is broken",
    ExitCode.POOR_FIT: "diagnose --strict: the reports fit mechanism or shape poorly (1 good survey of 20) or not",
    ExitCode.INTERRUPTED: "interrupted from the keyboard",
}
"""Meaning of each exit code, as `confide --help` lists it."""


def exit_code_of(error: ConfideError) -> ExitCode:
    """Return the exit code for a failure.

    >>> exit_code_of(SurveyError("no alphabet"))
    <ExitCode.SURVEY: 3>
    """
    # The first line whose error fits decides; anything else is unexpected.
    codes = (
        (SurveyError, ExitCode.SURVEY),
        (BrokenPromiseError, ExitCode.BROKEN_PROMISE),
        (TooLargeError, ExitCode.NO_ANSWER),
        (InvalidParameterError, ExitCode.USAGE),
        (MissingExtraError, ExitCode.MISSING_PACKAGE),
        (NoAnswerError, ExitCode.NO_ANSWER),
        (NotInvertibleError, ExitCode.NO_ANSWER),
        (SolverError, ExitCode.NO_ANSWER),
        (UnreachableTargetError, ExitCode.NO_ANSWER),
        (LimitError, ExitCode.NO_ANSWER),
        (InvalidInputError, ExitCode.DATA),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), ExitCode.UNEXPECTED)


@contextmanager
def explained_failures() -> Iterator[None]:
    """End a failure with a message and exit code, no traceback."""
    try:
        yield
    except ConfideError as error:
        _complain(str(error))
        raise typer.Exit(int(exit_code_of(error))) from None
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        _complain(f"So many values or reports do not fit into memory{reason}. Use fewer or coarser values.")
        raise typer.Exit(int(ExitCode.NO_ANSWER)) from None
    except BrokenPipeError:
        raise  # typer ends it quietly: whoever read the output has seen enough
    except OSError as error:
        raise typer.Exit(int(refuse_output(error))) from None


def refuse_output(error: OSError) -> ExitCode:
    """Report that the output cannot be written; return the exit code."""
    _complain(f"The output cannot be written: {error.strerror or error}.")
    return ExitCode.DATA


def _complain(message: str) -> None:
    from confide.cli.terminal import complain

    complain(message)


COMMANDS = {
    "demo": "demo",
    "new": "new",
    "show": "show",
    "export": "show",
    "audit": "show",
    "plan": "plan",
    "privatize": "privatize",
    "count": "count",
    "merge": "count",
    "estimate": "estimate",
    "diagnose": "diagnose",
    "unbias": "unbias",
    "regress": "regress",
    "studio": "studio",
    "serve": "collector",
    "send": "collector",
    "pull": "collector",
    "curate": "curate",
    "datasets": "datasets",
}
"""Every command, with the module of confide.cli that has it and its EXAMPLES; a new one joins by standing here."""

WENT = {
    "demo": {
        "--seed": "The demo always has seed 7.",
        **dict.fromkeys(("--output", "-o"), "Write confide demo ages.html."),
    },
    "new": {
        "--alphabet": "Write the kind itself, such as confide new places.",
        "--mechanism": "Write the kind itself, such as confide new rappor.",
        "--reports": "Set [limits] in the file that it writes.",
        "--force": "Remove the file first.",
    },
    "plan": {
        "--target-emd": "Write --target 0.5.",
        "--target-width": "Write --target 0.01 beside --query.",
        "--method": "In Python, plan(method=...).",
        "--repeats": "In Python, plan(repeats=...).",
        "--seed": "In Python, plan(seed=...).",
        "--no-cache": "In Python, plan(cache=False).",
        "--rejects": "Correct the rows of the guess; in Python, plan(rejects=...).",
        "--span": "Write --guess 0..99, or 20x14 for a map; a shape may stand in front.",
        "--shape": "Declare the shape in the survey; in Python, plan(shape=...).",
    },
    "privatize": {
        "--keep-order": "In Python, privatize_file(keep_order=True).",
        "--secret-file": "Write --secret FILE.",
        "--secret-column": "Write --secret COLUMN.",
    },
    "count": {"--show-sql": "Write --engine sql."},
    "merge": {
        "--json": "The merged file carries its account: confide estimate --json shows it.",
        "--strict": "A warning says it, and is_over_limit of confide estimate --json.",
    },
    "estimate": {
        "--mean": "Write --query mean.",
        "--median": "Write --query median.",
        "--quantile": 'Write --query "quantile 0.9".',
        "--within": "Write --query areas.geojson.",
        "--marginal": "Write --show age.",
        "--cross": "Write --show age,sex.",
        "--all": "Write --show all.",
        "--joint": 'Write --interval "95% joint".',
        "--prospect": "In Python, estimate.prospect(query).",
        "--windows": "In Python, estimate.windows().",
        "--delta": "In Python, IBU(delta=...).",
        "--iteration-limit": "In Python, IBU(iteration_limit=...).",
        "--background": "Write --query coast.geojson: lines of a file are drawn, areas are asked as well.",
        "--strict": "Write confide diagnose --strict.",
    },
    "diagnose": {
        "--html": "Write -o page.html.",
        "--error": "Windows are as narrow as the reports tell.",
        "--within": "Write --query areas.geojson.",
        "--interval": "In Python, diagnose(level=...).",
        "--shape": "confide estimate --shape tests a shape; in Python, diagnose(shape=...).",
    },
    "studio": {"--host": "Write --bind HOST:PORT.", "--port": "Write --bind 8080."},
    "serve": {
        "--host": "Write --bind HOST:PORT.",
        "--port": "Write --bind 8080.",
        "--window": "Write confide curate STORE --window 30, whenever you like.",
        "--most-a-second": "The server in front of it may limit them; in Python, Settings(most_a_second=...).",
    },
    "send": {
        "--again": "Remove the file VALUES.sent.",
        "--outbox": "Reports wait in VALUES.outbox.",
        "--rejects": "Correct the rows, or privatize with --rejects.",
        "--json": "The exit code says whether all was sent.",
        "--secret-column": "Write --secret COLUMN.",
        "--to": "Write confide send SURVEY VALUES URL.",
        "--token-file": 'Write CONFIDE_TOKEN="$(cat FILE)" in front of confide.',
    },
    "pull": {
        "--json": "The exit code says whether the counts were written.",
        "--survey": "Write confide pull URL SURVEY.",
        "--token-file": 'Write CONFIDE_TOKEN="$(cat FILE)" in front of confide.',
    },
    "curate": {
        "--horizon": "Write --window 2026-11-16.",
        "--survey": "Write confide curate STORE SURVEY.",
        "--name": "Write --token read:alice.",
        "--close": "Write --upload closed.",
    },
    "datasets": {
        "--export": "Write confide datasets NAME FILE.",
        "--json": "In Python, Dataset has the same.",
        "--counted": "In Python, Dataset.histogram has the counts.",
        "--coordinates": "An export of places has latitude and longitude.",
    },
}
"""Options of version 0.2 that went, by command, and what to do instead."""

for _command in ("estimate", "diagnose"):
    _cure = "Write confide count SURVEY REPORTS -o counts.parquet with"
    WENT[_command] |= {f"--{one}": f"{_cure} --{one}, and take the counts." for one in ("column", "rejects")}


class ExplainingCommand(TyperCommand):
    """A command that explains replaced options and groups its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed."""
        for option in (one.partition("=")[0] for one in args):
            if option in WENT.get(str(self.name), ()):
                raise InvalidParameterError(f"{option} went in 0.3. {WENT[str(self.name)][option]}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under their headings, in order."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            usual = "Arguments" if one.param_type_name == "argument" else "Options"
            record = one.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(one, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                # A name such as truncated-laplace stays whole: only a plain hyphen may end a line.
                formatter.write_dl([(name, re.sub(r"(?<=\w)-(?=\w)", "\u2011", words)) for name, words in records])
        formatter.buffer = [words.replace("\u2011", "-") for words in formatter.buffer]


class ExplainingGroup(TyperGroup):
    """Commands that load when called, and fail with one message."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (click's signature)
        """Import a command; None where there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"confide.cli.{COMMANDS[cmd_name]}")
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        epilog = _paragraphs("For example:", examples_of(cmd_name))
        app.command(cmd_name, cls=ExplainingCommand, epilog=epilog, context_settings=HELP)(getattr(module, cmd_name))
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import and return the command that was asked for.

        From now on it may handle an interruption itself.
        """
        if args and args[0] == "init":
            raise InvalidParameterError("confide init went in 0.3. Write confide new, with a file of values or a kind.")
        found = super().resolve_command(ctx, args)
        unguard()
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with explained_failures():
            return super().invoke(ctx)

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line; end only when all output is written."""
        try:
            return super().main(*args, **settings)
        except SystemExit as ending:
            code = ending.code
        except OSError as error:  # while options were read: help and version are printed there
            code = int(refuse_output(error))
        # Python itself flushes too late: a failure is then "Exception ignored" and exit code 120.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError as error:
                is_noted = isinstance(error, BrokenPipeError) or stream is sys.stderr
                code = code or int(ExitCode.UNEXPECTED if is_noted else refuse_output(error))
                # Hand a stream to the null device, so that Python does not try again, and complain, when it exits.
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)

        raise SystemExit(code)


def _paragraphs(heading: str, lines: Iterable[str]) -> str:
    """Return lines that the help leaves as they are.

    The mark in front stops it from running them together.
    """
    # Two columns are the formatter's own indent.
    settings: Any = {"initial_indent": "  ", "subsequent_indent": "     ", "break_on_hyphens": False}
    wrapped = (textwrap.fill(one, 78, break_long_words=False, **settings) for one in lines)
    return "\b\n" + "\n".join([heading, *wrapped])


HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    cls=ExplainingGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help reads as well, and comes a tenth of a second sooner
    # A pretty traceback may show local variables, and those may be private values.
    pretty_exceptions_enable=False,
    context_settings=HELP,
    epilog=_paragraphs("Exit codes:", (f"{code:d}  {meaning}" for code, meaning in MEANINGS.items())),
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - typer hands it over by position
    if is_asked:
        typer.echo(f"confide {__version__}")
        raise typer.Exit


@app.callback()
def confide(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Blur values with a stated guarantee, and recover their distribution.

    Start with: confide demo
    """


def examples_of(command: str) -> tuple[str, ...]:
    """Return the examples in a command's help."""
    examples: tuple[str, ...] | dict[str, tuple[str, ...]] = import_module(f"confide.cli.{COMMANDS[command]}").EXAMPLES
    return examples[command] if isinstance(examples, dict) else examples


def run() -> None:
    """Run the command line."""
    # Python has None for a stream that was closed before it began, as by `confide show survey.toml >&-`.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open until the end
    app(prog_name="confide")

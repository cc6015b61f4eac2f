"""The command `confide`: its commands, its help, and how failures end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from confide import __version__
from confide.cli import (
    audit,
    collector,
    count,
    curate,
    datasets,
    demo,
    diagnose,
    estimate,
    export,
    init,
    merge,
    plan,
    privatize,
    show,
    studio,
)
from confide.cli.usage import MEANINGS, ExitCode, explained_failures, refuse_output


class ExplainingGroup(TyperGroup):
    """Commands whose failures end with a message and an exit code in place of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with explained_failures():
            return super().invoke(ctx)

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line, and end only when what was said has left."""
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
                _silence(stream)
        raise SystemExit(code)


def _silence(stream: TextIO) -> None:
    """Hand a stream to the null device, so that Python does not try again, and complain, when it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _paragraphs(heading: str, lines: Iterable[str]) -> str:
    """Return lines that the help leaves as they are: the mark in front stops it from running them together."""
    return "\b\n" + "\n".join([heading, *(f"  {line}" for line in lines)])


app = typer.Typer(
    cls=ExplainingGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help reads as well, and comes a tenth of a second sooner
    # A pretty traceback may show local variables, and those may be private values.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    """Local privacy at both ends: blur values with a stated guarantee, and recover their distribution.

    Start with: confide demo
    """


COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "demo": (demo.demo, demo.EXAMPLES),
    "init": (init.init, init.EXAMPLES),
    "show": (show.show, show.EXAMPLES),
    "export": (export.export, export.EXAMPLES),
    "audit": (audit.audit, audit.EXAMPLES),
    "plan": (plan.plan, plan.EXAMPLES),
    "privatize": (privatize.privatize, privatize.EXAMPLES),
    "count": (count.count, count.EXAMPLES),
    "merge": (merge.merge, merge.EXAMPLES),
    "estimate": (estimate.estimate, estimate.EXAMPLES),
    "diagnose": (diagnose.diagnose, diagnose.EXAMPLES),
    "studio": (studio.studio, studio.EXAMPLES),
    "serve": (collector.serve, collector.SERVE_EXAMPLES),
    "send": (collector.send, collector.SEND_EXAMPLES),
    "pull": (collector.pull, collector.PULL_EXAMPLES),
    "curate": (curate.curate, curate.EXAMPLES),
    "datasets": (datasets.datasets, datasets.EXAMPLES),
}
"""Every command with examples for its help; a new one joins by standing here."""

for _name, (_command, _examples) in COMMANDS.items():
    app.command(_name, epilog=_paragraphs("For example:", _examples))(_command)


def run() -> None:
    """Run the command line."""
    # Python has None for a stream that was closed before it began, as by `confide show survey.toml >&-`.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open until the end
    app(prog_name="confide")

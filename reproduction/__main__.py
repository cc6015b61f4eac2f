"""The command `python -m reproduction`: run the experiments, compare with the paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from confide.cli.main import ExitCode, explained_failures
from confide.cli.terminal import console, say, say_exactly, show_json, warn
from confide.cli.usage import AsJson
from confide.data.files import write_text
from confide.errors import InvalidParameterError
from confide.values.wording import counted
from reproduction import EXPERIMENTS, QUICK_REPEATS, Comparison, Experiment, Folder, Ruling, Run, Watcher, find
from reproduction import reproduce as run_all
from reproduction.claims import tally
from reproduction.experiments import NUMBERS
from reproduction.folder import OUTPUT, claims_of

if TYPE_CHECKING:
    from rich.progress import Progress

COMMAND = "python -m reproduction"
EXAMPLES = (
    f"{COMMAND} --list",
    f"{COMMAND} manhattan-heatmaps",
    f"{COMMAND} --quick --output quick",
    f"{COMMAND} ages-levels krr-levels --repeats 100 --jobs 4",
)


class ExplainingCommand(TyperCommand):
    """Command that ends an explained failure with a message, without traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with explained_failures():
            return super().invoke(ctx)


app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=ExplainingCommand, epilog="\b\n" + "\n".join(["For example:", *(f"  {line}" for line in EXAMPLES)]))
def reproduce(  # noqa: PLR0913 - one argument an option
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Which experiments to run; all of them if none is named.", show_default=False
        ),
    ] = None,
    *,
    is_list: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    is_quick: Annotated[
        bool, typer.Option("--quick", help="Three repeats in place of thirty: a look in minutes.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="How often reports are drawn; as the paper does if left out.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="How many processes share the work; one a processor if left out.", show_default=False),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where tables, figures and the index go.")
    ] = OUTPUT,
    is_fresh: Annotated[bool, typer.Option("--fresh", help="Run all cells again, finished ones too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments, and show ours beside the paper's.

    They run on the real data. The result is an index page.

    Every finished cell is kept. After an interruption the same command goes on where it was, and the tables come out
    the same to the last byte, whatever the number of jobs. All figures with thirty repeats take about a quarter of an
    hour on two cores.
    """
    if is_quick and repeats is not None:
        raise InvalidParameterError("--quick and --repeats both say how often reports are drawn; give one of them.")
    chosen = find(names or [])
    if is_list:
        _list(chosen, as_json=as_json)
        return
    runs = _run(chosen, output, QUICK_REPEATS if is_quick else repeats, jobs, is_fresh=is_fresh)
    _write_index(output)
    _tell(chosen, runs, output, as_json=as_json)


def _list(experiments: list[Experiment], *, as_json: bool) -> None:
    if as_json:
        show_json({"experiments": [_record(experiment) for experiment in experiments]})
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("cells", justify="right", no_wrap=True)
    table.add_column("in the paper", overflow="fold")
    for experiment in experiments:
        cells = _cells(experiment)
        table.add_row(experiment.name, experiment.title, f"{cells:,}" if cells else "", _label(experiment))
    console().print(table)
    say(f"Run one:  {COMMAND} NAME        Run all:  {COMMAND}        A look:  {COMMAND} --quick")


def _label(experiment: Experiment) -> str:
    """Return the first figure's label, and numbers of its variants."""
    if not experiment.paper:
        return "(an addition)"
    return " and ".join([experiment.citations[0], *(NUMBERS[label] for label in experiment.paper[1:])])


def _record(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "paper": list(experiment.paper),
        "numbers": [NUMBERS[label] for label in experiment.paper],
        "cells": _cells(experiment),
        "figures": [picture.name for picture in experiment.pictures],
    }


def _cells(experiment: Experiment) -> int:
    if not isinstance(experiment, Comparison):
        return 0
    return len(experiment.settings) * len(experiment.contenders) * experiment.repeats


def _run(
    experiments: list[Experiment], output: Path, repeats: int | None, jobs: int | None, *, is_fresh: bool
) -> list[Run]:
    try:
        with watching(len(experiments)) as watcher:
            return run_all(experiments, output, repeats=repeats, jobs=jobs, is_fresh=is_fresh, watcher=watcher)
    except KeyboardInterrupt:
        warn("Interrupted. What is finished is kept: the same command goes on from here.")
        raise typer.Exit(int(ExitCode.INTERRUPTED)) from None


def _write_index(output: Path) -> None:
    from reproduction.page import reproduction_page

    folder = Folder(output)
    write_text(folder.index, reproduction_page(list(EXPERIMENTS.values()), folder))


def _tell(experiments: list[Experiment], runs: list[Run], output: Path, *, as_json: bool) -> None:
    """Say how each statement of the paper fared, and where to look."""
    folder = Folder(output)
    claims = [claim for experiment in experiments for claim in claims_of(experiment, folder)]
    if as_json:
        plain = {"runs": [vars(run) for run in runs], "claims": [vars(claim) for claim in claims]}
        show_json({"index": str(folder.index)} | plain)
        return
    if claims:
        say(f"Statements of the paper: {tally(claims)}.")
    for claim in (claim for claim in claims if claim.verdict is Ruling.DIFFERS):
        say(f"  differs: {claim.what}. Paper: {claim.paper}. Ours: {claim.ours}. {claim.note}")
    say_exactly(f"Wrote {folder.index}. Open it in a browser:")
    say_exactly(f"  {folder.index.resolve().as_uri()}")


class ProgressBars(Watcher):
    """Progress bars of all experiments and of the one at work.

    They stand on standard error.
    """

    def __init__(self, bars: Progress, count: int) -> None:
        self.bars = bars
        self.whole = bars.add_task("all experiments", total=count)
        self.current = bars.add_task("", total=None)

    def begin(self, experiment: Experiment, done: int, total: int, stale: int) -> None:
        """See :meth:`Watcher.begin`."""
        self.bars.reset(self.current, description=experiment.name, total=total, completed=done)
        if stale:
            warn(
                f"{experiment.name}: its declaration has changed. Left out, as they no longer fit: "
                f"{counted(stale, 'finished cell')}."
            )

    def advance(self, experiment: Experiment, cells: int) -> None:  # noqa: ARG002 (one contract)
        """See :meth:`Watcher.advance`."""
        self.bars.advance(self.current, cells)

    def end(self, experiment: Experiment, run: Run) -> None:
        """See :meth:`Watcher.end`."""
        self.bars.advance(self.whole)
        cells = f"{counted(run.fresh, 'cell')} run, {run.cells - run.fresh:,} kept, " if run.cells else ""
        say(f"  {experiment.name}: {cells}{run.elapsed:.1f} s", stderr=True, style="dim")

    def draw(self, experiments: int) -> None:
        """See :meth:`Watcher.draw`."""
        if experiments:
            self.bars.reset(self.current, description="drawing the last figures", total=None)


@contextmanager
def watching(count: int) -> Iterator[Watcher]:
    """Show how far so many experiments have come."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    target = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=target, disable=not target.is_terminal, transient=True) as bars:
        yield ProgressBars(bars, count)


if __name__ == "__main__":
    app(prog_name=COMMAND)

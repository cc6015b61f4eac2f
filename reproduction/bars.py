"""Progress of experiments on standard error: bars with the time left, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confide.cli.terminal import console, say, warn
from reproduction import Experiment, Run, Watcher

if TYPE_CHECKING:
    from rich.progress import Progress


class Bars(Watcher):
    """One bar for all experiments, and one for the cells of the one at work."""

    def __init__(self, bars: Progress, count: int) -> None:
        self.bars = bars
        self.whole = bars.add_task("all experiments", total=count)
        self.current = bars.add_task("", total=None)

    def begin(self, experiment: Experiment, done: int, total: int, stale: int) -> None:
        """See :meth:`Watcher.begin`."""
        self.bars.reset(self.current, description=experiment.name, total=total, completed=done)
        if stale:
            warn(
                f"{experiment.name}: its declaration has changed. {stale:,} finished cells no longer fit and are left "
                "out."
            )

    def advance(self, experiment: Experiment, cells: int) -> None:  # noqa: ARG002 (one contract)
        """See :meth:`Watcher.advance`."""
        self.bars.advance(self.current, cells)

    def end(self, experiment: Experiment, run: Run) -> None:
        """See :meth:`Watcher.end`."""
        self.bars.advance(self.whole)
        cells = f"{run.fresh:,} cells run, {run.cells - run.fresh:,} kept, " if run.cells else ""
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
        yield Bars(bars, count)

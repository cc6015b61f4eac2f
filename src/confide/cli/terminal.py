"""Terminal output: results on standard output, warnings and progress on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.data.files import to_json, write_text
from confide.evidence.counts import Origin
from confide.present.summary import Caution, Summary
from confide.present.terminal import show_lines, show_summary
from confide.solve.methods import Monitor, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Return the console for an output, in plain colours.

    It guesses nothing from the text.
    """
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def say(text: str = "", *, stderr: bool = False, style: str = "") -> None:
    """Print text, wrapped between words on a terminal only."""
    from rich.text import Text

    target = console(stderr=stderr)
    target.print(Text(text, style=style), soft_wrap=not target.is_terminal)


def say_exactly(text: str) -> None:
    """Print a line for copying, such as a path, in one piece."""
    from rich.text import Text

    console().print(Text(text), soft_wrap=True)


def show_pairs(pairs: Iterable[tuple[str, str]], *, stderr: bool = False) -> None:
    """Print pairs as two columns: a word and its meaning."""
    show_lines(console(stderr=stderr), list(pairs))


def warn_of(cautions: Iterable[Caution]) -> None:
    """Warn of what speaks against an answer, if JSON is printed.

    Elsewhere notes say it.
    """
    for one in cautions:
        warn(one.words[0])


def show_json(record: dict[str, Any]) -> None:
    """Print one JSON object, in one line, and nothing else."""
    import typer

    typer.echo(to_json(record))


def give(  # noqa: PLR0913 - what every command that answers was asked for
    name: str,
    summary: Summary,
    record: Callable[[], dict[str, Any]],
    contents: Mapping[Path, str | Figure],
    *,
    as_json: bool,
    verbose: bool,
    everything: bool = False,
) -> None:
    """Write the files of an answer, and print it.

    All contents are there before the first is written: a package that is missing then leaves no file behind.
    """
    for path, content in contents.items():
        if isinstance(content, str):
            write_text(path, content)
        else:
            from confide.present.figures import to_png

            to_png(content, path)
    if as_json:
        show_json(record())
        return
    is_page = any(one.suffix.lower() == ".html" for one in contents)
    more = "More: -v" + ("" if is_page else f" \N{MIDDLE DOT} page: -o {name}.html")
    show_summary(summary, console(), everything=everything, verbose=verbose, more=more)
    for path in contents:
        say_exactly(f"Wrote {path}")


def warn(text: str) -> None:
    """Print a warning on standard error."""
    _announce("Warning: ", "bold yellow", text)


def complain(text: str) -> None:
    """Print why a command failed on standard error.

    If that is full or closed, the exit code alone says it.
    """
    with contextlib.suppress(OSError):
        _announce("Error: ", "bold red", text)


@contextlib.contextmanager
def progress(label: str, *, is_noted: bool = False) -> Iterator[Monitor]:
    """Show the progress of a step, if somebody watches.

    If `is_noted`, say when it is done.
    """
    with ticker(label) as tell:

        def follow(iteration: int, log_likelihood: float) -> None:
            if iteration % 20 == 1:
                tell(f"iteration {iteration:,}, log-likelihood {log_likelihood:,.2f}")

        yield follow
    if is_noted:
        say(f"  {label}: done", stderr=True, style="dim")


@contextlib.contextmanager
def ticker(label: str) -> Iterator[Callable[[str], None]]:
    """Show in words what a step is doing, if somebody watches."""
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    target = console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=target, transient=True, disable=not target.is_terminal) as bar:
        task = bar.add_task(f"{label} ...", total=None)
        yield lambda words: bar.update(task, description=escape(f"{label}: {words}"))


@contextlib.contextmanager
def progress_bar(label: str, total: int) -> Iterator[Progress]:
    """Show how many of several are done, if somebody watches."""
    from rich import progress as parts

    target = console(stderr=True)
    columns = parts.TextColumn("{task.description}"), parts.BarColumn(), parts.MofNCompleteColumn()
    with parts.Progress(
        *columns, parts.TimeElapsedColumn(), console=target, transient=True, disable=not target.is_terminal
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _announce(word: str, style: str, text: str) -> None:
    from rich.text import Text

    target = console(stderr=True)
    target.print(Text.assemble((word, style), text), soft_wrap=not target.is_terminal)


def warn_of_mixture(origin: Origin) -> None:
    """Warn if simulated reports are mixed with others."""
    if origin.is_simulated and origin.noise is None:
        warn(f"simulated reports are counted together with others. {origin} Count them by themselves.")

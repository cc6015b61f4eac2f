"""Terminal: lines, tables, notes and bar charts on standard output, warnings and progress on standard error."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Attributes, Grid, Integers
from confide.estimates import Estimate
from confide.explanations import WHEN_NOT_IDENTIFIED
from confide.files import to_json
from confide.intervals import Band, Windows
from confide.methods import Monitor, Progress
from confide.origins import Origin
from confide.shapes import Shape
from confide.theory.fit import Fit, GroupFits
from confide.theory.shapes import AFTERWARDS, ShapeFit
from confide.theory.verdicts import Finding, remark_on

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDEST_NOTE = 100
"""Columns of a framed note, for longer lines are hard to read."""

SHOW_EVERY = 20
"""Iterations between two looks at the progress display."""

SMALL = 30
"""Alphabets up to this size are shown value by value."""

FEW = 20
"""Ranges, or most likely values, that a larger alphabet is brought down to."""

EIGHTHS = " ▏▎▍▌▋▊▉█"
SHADES = "·░▒▓█"
"""Marks of a map, from nobody to the fullest cell; a hole is blank."""

FloatArray = NDArray[np.float64]

MOST_WINDOWS = 30
"""Windows that get a line."""

Ends = Callable[[NDArray[np.int64]], tuple[float, float] | None]
"""Returns the interval of the share that the values with these numbers have together, where there is one."""

POOR_FIT, POOR_SHAPE = "Poor fit", "Wrong shape"
TITLE = "Not identified"


def console(*, stderr: bool = False) -> Console:
    """Return the console for standard output or standard error, in plain colours: nothing is guessed from the text."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def say(text: str = "", *, stderr: bool = False, style: str = "") -> None:
    """Print text: wrapped between words on a terminal, as it is into a file or a pipe."""
    from rich.text import Text

    target = console(stderr=stderr)
    target.print(Text(text, style=style), soft_wrap=not target.is_terminal)


def say_exactly(text: str, *, stderr: bool = False) -> None:
    """Print a line that is meant to be copied, such as a path or a command, without breaking it."""
    from rich.text import Text

    console(stderr=stderr).print(Text(text), soft_wrap=True)


def show(thing: RenderableType) -> None:
    """Print a table or anything else that rich knows how to lay out."""
    console().print(thing)


def show_pairs(pairs: Iterable[tuple[str, str]], *, stderr: bool = False) -> None:
    """Print what belongs together as two columns: a word and what it stands for."""
    from rich.text import Text

    target, lines = console(stderr=stderr), list(pairs)
    indent = max(len(word) for word, _ in lines) + 2
    for word, meaning in lines:
        text = _hanging(meaning, target.width - indent, indent) if target.is_terminal else meaning
        target.print(Text.assemble((word.ljust(indent), "bold"), text), soft_wrap=True)


def show_note(title: str, *paragraphs: str) -> None:
    """Print what must not be overlooked: in a frame on a terminal, as a line of its own into a file or a pipe."""
    from rich.panel import Panel
    from rich.text import Text

    target = console()
    if not target.is_terminal:
        say(f"\n{title}: {' '.join(paragraphs)}")
        return
    words, width = Text("\n\n".join(paragraphs)), min(target.width, WIDEST_NOTE)
    target.print()
    target.print(Panel(words, title=Text(title, "bold"), title_align="left", border_style="yellow", width=width))


def show_json(record: dict[str, Any]) -> None:
    """Print one JSON object, in one line, and nothing else."""
    import typer

    typer.echo(to_json(record))


def warn(text: str) -> None:
    """Print a warning on standard error."""
    _announce("Warning: ", "bold yellow", text)


def complain(text: str) -> None:
    """Print why nothing came of it, on standard error; the exit code says it alone where that is full or closed."""
    with contextlib.suppress(OSError):
        _announce("Error: ", "bold red", text)


@contextlib.contextmanager
def progress(label: str, *, is_noted: bool = False) -> Iterator[Monitor]:
    """Show on standard error how far a step has come, where somebody watches; if `is_noted`, say when it is done."""
    with ticker(label) as tell:

        def follow(iteration: int, log_likelihood: float) -> None:
            if iteration % SHOW_EVERY == 1:
                tell(f"iteration {iteration:,}, log-likelihood {log_likelihood:,.2f}")

        yield follow
    if is_noted:
        say(f"  {label}: done", stderr=True, style="dim")


@contextlib.contextmanager
def ticker(label: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what a step is at, in whatever words it is told, where somebody watches."""
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    target = console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=target, transient=True, disable=not target.is_terminal) as bar:
        task = bar.add_task(f"{label} ...", total=None)
        yield lambda words: bar.update(task, description=escape(f"{label}: {words}"))


@contextlib.contextmanager
def progress_bar(label: str, total: int) -> Iterator[Progress]:
    """Show on standard error how many of several are done, where somebody watches."""
    from rich import progress as parts

    target = console(stderr=True)
    columns = parts.TextColumn("{task.description}"), parts.BarColumn(), parts.MofNCompleteColumn()
    with parts.Progress(
        *columns, parts.TimeElapsedColumn(), console=target, transient=True, disable=not target.is_terminal
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _hanging(text: str, width: int, indent: int) -> str:
    """Return text wrapped between words, its later lines moved in to stand below the first."""
    lines = textwrap.wrap(text, max(20, width), break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(lines)


def _announce(word: str, style: str, text: str) -> None:
    from rich.text import Text

    target = console(stderr=True)
    target.print(Text.assemble((word, style), text), soft_wrap=not target.is_terminal)


def identified_line(found: Finding) -> list[tuple[str, str]]:
    """Return a line for the list of facts where it is open whether reports can reveal the distribution."""
    return [] if found.is_yes or found.is_no else [("Identified", remark_on(found))]


def note_not_identified(found: Finding, title: str = TITLE, cure: str = WHEN_NOT_IDENTIFIED) -> None:
    """Show a note where the answer is one of many; in JSON a field says it."""
    if found.is_no:
        show_note(title, remark_on(found), cure)


def noise_lines(origin: Origin, notes: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return lines for the list of facts: what is known of how the reports were made, and what is missing for more."""
    return [("Noise", str(origin)), *(("", f"{note}.") for note in notes)]


def warn_of_mixture(origin: Origin) -> None:
    """Warn when simulated reports were put together with others: an estimate from both says nothing of people."""
    if origin.is_simulated and origin.noise is None:
        warn(f"simulated reports are counted together with others. {origin} Count them by themselves.")


def fit_line(found: Fit) -> list[tuple[str, str]]:
    """Return a line for the list of facts: the verdict, and what would have shown; a bad fit has a note of its own."""
    return [("Fit", f"{found.verdict}; see the note" if found.is_bad else str(found))]


def uniform_line(answer: Estimate) -> list[tuple[str, str]]:
    """Return the first line of an estimate whose reports cannot be told from those of a uniform population."""
    return [] if answer.is_told else [("But", str(answer.uniformity))]


def shape_lines(shape: Shape | None, found: ShapeFit | None, declared: Shape | None) -> list[tuple[str, str]]:
    """Return what the answer takes for granted of the distribution, who said so, and how that fits."""
    if shape is None:
        return [] if declared is None else [("Shape", f"none; the survey declares {declared}, which was left out")]
    said = "declared in the survey" if shape.is_declared else AFTERWARDS
    fits = [] if found is None else [("Its fit", f"{found.verdict}; see the note" if found.is_bad else str(found))]
    return [("Shape", f"{shape}; {said}"), *fits]


def note_poor_fit(found: Fit | GroupFits | ShapeFit | None, *, as_json: bool = False) -> None:
    """Show a note where the reports do not come from the mechanism: in a frame, and on standard error beside JSON."""
    if found is None or not found.is_bad:
        return
    if as_json:
        warn(found.headline)
    elif isinstance(found, ShapeFit):
        show_note(POOR_SHAPE, found.headline, *found.details)
    elif isinstance(found, Fit):
        show_note(POOR_FIT, found.headline, *found.details)
    else:
        show_note(POOR_FIT, found.headline)


@dataclass(frozen=True)
class Bar:
    """One line: a value or several of them, the estimated share, the true one and an interval where these are known."""

    label: str
    share: float
    truth: float | None
    ends: tuple[float, float] | None = None


def show_distribution(  # noqa: PLR0913 - all that may be shown of it
    console: Console,
    name: str,
    answer: Estimate,
    truth: FloatArray | None,
    *,
    everything: bool = False,
    band: Band | None = None,
    windows: Windows | None = None,
) -> None:
    """Print an estimated distribution in the shape that suits its alphabet, by the windows that its reports tell."""
    alphabet, distribution = answer.alphabet, answer.distribution
    ends = None if band is None else _ends_of(band)
    if isinstance(alphabet, Grid) and not everything:
        console.print(_map(alphabet, distribution, blocks=_has_blocks(console), width=console.width))
    if isinstance(alphabet, Attributes) and not everything and alphabet.size > SMALL:
        notes = _show_margins(console, alphabet, distribution, truth)
    elif windows is not None and not everything and (band is None or alphabet.size > SMALL):
        bars, note = window_bars(windows, truth)
        console.print(_table(console, name, bars))
        notes = [note]
    else:
        bars, note = choose_bars(alphabet, distribution, truth, everything=everything, ends=ends)
        console.print(_table(console, name, bars))
        notes = [note]
    for line in filter(None, notes):
        console.print(line, style="dim", soft_wrap=not console.is_terminal)


def _ends_of(band: Band) -> Ends:
    """Return what gives a line its interval: that of a single value, and none of several together."""

    def ends(places: NDArray[np.int64]) -> tuple[float, float] | None:
        return (float(band.low[places[0]]), float(band.high[places[0]])) if places.size == 1 else None

    return ends


def window_bars(windows: Windows, truth: FloatArray | None) -> tuple[list[Bar], str]:
    """Return one line a window, the fullest alone where there are many, and a sentence on how they were chosen."""
    found = list(zip(windows.labels, windows.members, windows.answers, strict=True))
    fullest = sorted(range(len(found)), key=lambda place: -found[place][2].estimate)[:MOST_WINDOWS]
    bars = []
    for label, members, one in (found[place] for place in sorted(fullest)):
        known = None if truth is None else float(truth[members].sum())
        bars.append(Bar(label, one.estimate, known, (one.low, one.high)))
    some = "" if len(bars) == len(found) else f"The {len(bars)} fullest of {len(found):,} windows. "
    return bars, f"{some}{windows.headline} --all shows all {windows.alphabet.size:,} values."


def _show_margins(
    console: Console, attributes: Attributes, distribution: FloatArray, truth: FloatArray | None
) -> list[str]:
    """Print each attribute of many combinations on its own, and return what is to be said about it."""
    for part, name in zip(attributes.alphabets, attributes.names, strict=True):
        known = None if truth is None else attributes.margin(truth, name)
        bars, _ = choose_bars(part, attributes.margin(distribution, name), known)
        console.print(_table(console, name, bars))
    return [f"Each attribute on its own; --all shows all {attributes.size:,} combinations."]


def choose_bars(
    alphabet: Alphabet,
    distribution: FloatArray,
    truth: FloatArray | None,
    *,
    everything: bool = False,
    ends: Ends | None = None,
) -> tuple[list[Bar], str]:
    """Return the lines to show and a sentence on what they leave out.

    >>> bars, note = choose_bars(Integers(0, 99), np.full(100, 0.01), None)
    >>> bars[0], note
    (Bar(label='0-4', share=0.05, truth=None, ends=None), 'In ranges of 5; --all shows all 100 values.')
    """
    if everything or alphabet.size <= SMALL:
        return _lines(alphabet, np.arange(alphabet.size), distribution, truth, ends), ""
    if isinstance(alphabet, Integers):
        return _ranges(alphabet, distribution, truth, ends)
    return _most_likely(alphabet, distribution, truth, ends)


def _lines(
    alphabet: Alphabet, chosen: NDArray[np.int64], shares: FloatArray, truth: FloatArray | None, ends: Ends | None
) -> list[Bar]:
    places = [np.array([index]) for index in chosen]
    return [_bar(label, one, shares, truth, ends) for label, one in zip(alphabet.labels(chosen), places, strict=True)]


def _bar(label: str, places: NDArray[np.int64], shares: FloatArray, truth: FloatArray | None, ends: Ends | None) -> Bar:
    known = None if truth is None else float(truth[places].sum())
    return Bar(label, float(shares[places].sum()), known, None if ends is None else ends(places))


def _ranges(
    alphabet: Integers, shares: FloatArray, truth: FloatArray | None, ends: Ends | None
) -> tuple[list[Bar], str]:
    width = _round_width(alphabet.size / FEW)
    # Ranges begin at multiples of their width, so that they read 20-24 whatever the alphabet's first value is.
    lowest, highest = alphabet.span
    groups = np.arange(lowest, highest + 1) // width
    bars = []
    for group in np.unique(groups):
        inside = np.flatnonzero(groups == group)
        low, high = max(lowest, group * width), min(highest, group * width + width - 1)
        label = alphabet.label_range(low, high).replace("\N{EN DASH}", "-")  # which every terminal can show
        bars.append(_bar(label, inside, shares, truth, ends))
    return bars, f"In ranges of {width:,}; --all shows all {alphabet.size:,} values."


def _round_width(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... that is not below."""
    power = int(10 ** max(0, math.floor(math.log10(least))))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)


def _most_likely(
    alphabet: Alphabet, shares: FloatArray, truth: FloatArray | None, ends: Ends | None
) -> tuple[list[Bar], str]:
    few = FEW // 2 if isinstance(alphabet, Grid) else FEW  # a map shows the other cells
    chosen = np.argsort(-shares, kind="stable")[:few]
    rest = max(0.0, 1.0 - float(shares[chosen].sum()))
    note = f"The {few} most likely of {alphabet.size:,} values; the others hold {rest:.1%}. --all shows every value."
    return _lines(alphabet, chosen.astype(np.int64), shares, truth, ends), note


def _table(console: Console, name: str, bars: list[Bar]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    has_truth = any(bar.truth is not None for bar in bars)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(name), justify="right", no_wrap=True, max_width=30)
    table.add_column("share", justify="right", no_wrap=True)
    has_ends = any(bar.ends is not None for bar in bars)
    for heading in ("low", "high") if has_ends else ():
        table.add_column(heading, justify="right", no_wrap=True)
    if has_truth:
        table.add_column("truth", justify="right", no_wrap=True)
    table.add_column("bar; | is the truth" if has_truth else "", no_wrap=True)
    peak = max(max(bar.share, bar.truth or 0.0) for bar in bars)
    width = max(10, min(60, console.width - (64 if has_ends else 46)))
    for bar in bars:
        truth = () if bar.truth is None else (f"{bar.truth:.2%}",)
        ends = [f"{end:.2%}" for end in bar.ends or ()]
        table.add_row(
            Text(bar.label), f"{bar.share:.2%}", *ends, *truth, _draw(bar, peak, width, blocks=_has_blocks(console))
        )
    return table


def _draw(bar: Bar, peak: float, width: int, *, blocks: bool) -> Text:
    from rich.text import Text

    line = _filled(bar.share / peak if peak > 0 else 0.0, width, blocks=blocks)
    if bar.truth is None or peak <= 0:
        return Text(line, style="cyan")
    place = min(width - 1, int(bar.truth / peak * width))
    line = line.ljust(width)
    return Text.assemble((line[:place], "cyan"), ("|", "bold"), (line[place + 1 :].rstrip(), "cyan"))


def _filled(part: float, width: int, *, blocks: bool) -> str:
    """Return a bar that fills this part of the width, to an eighth of a character.

    >>> _filled(0.53125, 4, blocks=True), _filled(0.5, 4, blocks=False)
    ('██▏', '##')
    """
    eighths = max(0, round(part * width * 8))
    if not blocks:
        return "#" * round(eighths / 8)
    return EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _map(grid: Grid, distribution: FloatArray, *, blocks: bool, width: int = 80) -> RenderableType:
    """Draw a grid from marks, each for one cell or, where it is too wide, for a square of cells."""
    from rich.panel import Panel
    from rich.text import Text

    shades = SHADES if blocks else ".:*%#"
    table, side = grid.picture(distribution), -(-2 * grid.columns // max(2, width - 4))
    is_cell = ~np.isnan(table)
    for axis in (0, 1) if side > 1 else ():
        starts = np.arange(0, table.shape[axis], side)
        table = np.add.reduceat(np.nan_to_num(table), starts, axis=axis)
        is_cell = np.logical_or.reduceat(is_cell, starts, axis=axis)
    peak = max(float(table[is_cell].max()), 1e-300)
    # By the square root, for a city's few crowded cells would leave all others alike.
    levels = np.rint(np.sqrt(np.maximum(np.where(is_cell, table, 0), 0) / peak) * (len(shades) - 1))
    marks = " " + shades
    picture = np.where(is_cell, levels + 1, 0).astype(int)
    lines = ["".join(marks[level] * 2 for level in row) for row in picture[::-1].tolist()]
    text = Text("\n".join(lines), style="cyan", no_wrap=True)
    title = "north" if side == 1 else f"north; {side} x {side} cells a mark"
    return Panel(text, title=title, subtitle=f"{shades[-1]} {peak:.1%}", expand=False)


def _has_blocks(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")

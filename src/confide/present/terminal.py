"""A summary on a terminal: lines, notes, tables, bars and maps."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray
from confide.estimates.inference import Band, Windows
from confide.present import summary as say
from confide.present.figures import style
from confide.values import Alphabet, Grid, LineGeometry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

SMALL = 30
"""Alphabets up to this size are shown value by value."""

FEW = 20
"""Ranges, or most likely values, that a larger alphabet is brought down to."""

Ends = Callable[[NDArray[np.int64]], tuple[float, float] | None]
"""Returns the interval of the share that the values with these numbers have together, where there is one."""


def show_summary(
    summary: say.Summary, console: Console, *, everything: bool = False, verbose: bool = True, more: str = ""
) -> None:
    """Print a summary: the answer, pictures, tables; methods only if `verbose`.

    `more` says how to get the rest where it is left out.
    """
    from rich.text import Text

    dot = " \N{MIDDLE DOT} " if _has_blocks(console) else " - "
    _print(console, Text.assemble((summary.title, "bold"), "".join(f"{dot}{one}" for one in summary.about)))
    for one in summary.cautions:
        console.print()
        show_lines(console, [(f"{one.title}:", " ".join(one.words))], style="bold yellow")
    answers = list(zip(*summary.answers, strict=True)) or [(), (), ()]
    asked, found = (max(map(len, texts), default=0) for texts in answers[:2])
    others = [(question.ljust(asked), f"{now:{found}}  {ends}".rstrip()) for question, now, ends in summary.answers]
    if summary.headline or others or summary.facts:
        console.print()
    if summary.headline:
        _print(console, Text(summary.headline, style="bold"))
    show_lines(console, others, style="")
    show_lines(console, summary.facts)
    for section in summary.sections:
        is_left_out = {"all": not everything, "fold": not verbose}
        if not is_left_out.get(section.kind):
            _show_section(console, section, everything=everything)
    if summary.verdict:
        _print(console, Text(summary.verdict))
    if verbose and summary.details:
        console.print()
        show_lines(console, summary.details)
    elif more and not verbose:
        console.print(Text(more.replace(" \N{MIDDLE DOT} ", dot), style="dim"), soft_wrap=True)


def as_text(summary: say.Summary) -> str:
    """Return a summary as text of 100 columns, as `print` shows it."""
    from rich.console import Console

    stream = io.StringIO()
    show_summary(summary, Console(file=stream, width=100, color_system=None))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _print(console: Console, words: Text) -> None:
    """Print words, wrapped on a terminal only."""
    console.print(words, soft_wrap=not console.is_terminal)


def _show_section(console: Console, section: say.Section, *, everything: bool) -> None:
    from rich.text import Text

    shown = [part for part in section.parts if part and not isinstance(part, say.Picture | say.Cards)]
    if shown:
        console.print()
    if shown and section.heading:
        _print(console, Text(section.heading, style="bold"))
    for part in shown:
        match part:
            case say.Section():
                _show_section(console, replace(part, heading=""), everything=everything)
            case say.Bullets():
                show_lines(console, [("-", sentence) for sentence in part.sentences])
            case say.Lines():
                show_lines(console, part.lines)
            case say.Listing():
                _show_table(console, part, everything=everything)
            case say.Chart():
                _show_chart(console, part, everything=everything)
            case say.Spark():
                console.print(Text(draw_spark(part.numbers, blocks=_has_blocks(console)), style="cyan"), soft_wrap=True)
            case _:
                words = part.words if isinstance(part, say.Note) else str(part)
                look = "dim" if isinstance(part, say.Note) else ""
                _print(console, Text(words, style=look))


def show_lines(console: Console, lines: Sequence[say.Line], style: str = "bold") -> None:
    """Print pairs as two columns: a word and its meaning."""
    import textwrap

    from rich.text import Text

    indent = max((len(word) for word, _ in lines), default=0) + 2
    for word, meaning in lines:
        text = meaning
        if console.is_terminal:  # later lines are moved in to stand below the first
            width = max(20, console.width - indent)
            wrapped = textwrap.wrap(meaning, width, break_long_words=False, break_on_hyphens=False)
            text = ("\n" + " " * indent).join(wrapped)
        console.print(Text.assemble((word.ljust(indent), style), text), soft_wrap=True)


def _show_table(console: Console, shown: say.Listing, *, everything: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # An entry with its ends takes 18 letters; where a row does not fit, the table is written as a list.
    if shown.narrow is not None and 18 * len(shown.headings) > console.width:
        shown = shown.narrow
    most = len(shown.rows) if everything or shown.most is None else shown.most
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    # Words may be wrapped, numbers never; the first column names the row.
    wraps = [bool(place) and place in shown.left for place in range(len(shown.headings))]
    for place, heading in enumerate(shown.headings):
        side: Literal["left", "right"] = "left" if place in shown.left else "right"
        table.add_column(Text(heading), justify=side, no_wrap=not wraps[place])
    # Where numbers with their ends are too wide, the ends go below.
    for below in (" ", "\n") if console.is_terminal else (" ",):
        rows = [[_cell(console, one, below) for one in row] for row in shown.rows[:most]]
        lines = [[Text(heading) for heading in shown.headings], *rows]
        widths = [
            max(len(part) for row in lines for part in row[place].plain.split("\n")) for place in range(len(wraps))
        ]
        needed = sum(12 if wrap else width for wrap, width in zip(wraps, widths, strict=True)) + 2 * len(wraps)
        if needed <= console.width:
            break
    for row in rows:
        table.add_row(*row)
    # Into a file or a pipe a row stays a line; so it does where numbers alone are wider than the terminal.
    if console.is_terminal and needed <= console.width:
        console.print(table)
    else:
        Console(file=console.file, width=max(200, sum(widths) + 2 * len(widths)), color_system=None).print(table)
    if len(shown.rows) > most:
        console.print(shown.rest, style="dim", soft_wrap=not console.is_terminal)


def _cell(console: Console, cell: say.Cell | str, below: str) -> Text:
    from rich.text import Text

    if isinstance(cell, str):
        return Text(cell)
    if cell.places is not None:
        low, _, high, _ = cell.places
        width = max(10, min(50, console.width - 46))
        return Text(_range(low, high, width, blocks=_has_blocks(console)), style="cyan", no_wrap=True)
    ends = f" ({cell.below.replace(' to ', '-')})" if cell.below else ""  # a hyphen, which every terminal can show
    return Text(below.join(filter(None, (f"{cell.words}{ends}", cell.beside))), style="bold" if cell.is_strong else "")


def _range(low: float, high: float, width: int, *, blocks: bool) -> str:
    """Return the range as a line from 0 to 1.

    >>> _range(0.25, 0.75, 8, blocks=True), _range(0.5, 0.5, 8, blocks=True)
    ('··████··', '····█···')
    """
    start = min(width - 1, int(low * width))
    stop = max(start + 1, min(width, round(high * width)))
    outside, inside = ("·", "█") if blocks else (".", "#")
    return outside * start + inside * (stop - start) + outside * (width - stop)


@dataclass(frozen=True)
class Bar:
    """One line of a chart: label, share, truth, interval."""

    label: str
    share: float
    truth: float | None
    ends: tuple[float, float] | None = None


def _show_chart(console: Console, chart: say.Chart, *, everything: bool) -> None:
    """Print a distribution as ranges, values or a map."""
    alphabet, truth, band = chart.alphabet, chart.truth, chart.band
    if alphabet.grid is not None and not everything:
        console.print(draw_map(alphabet.grid, chart.shares, blocks=_has_blocks(console), width=console.width))
    attributes = alphabet.attributes
    if attributes is not None and not everything and alphabet.size > SMALL:
        note = f"Each attribute on its own; --show all shows all {alphabet.size:,} combinations."
        for part, name in zip(attributes.alphabets, attributes.names, strict=True):
            known = None if truth is None else attributes.margin(truth, name)
            bars, _ = choose_bars(part, attributes.margin(chart.shares, name), known)
            console.print(name, style="bold")
            console.print(_draw_bars(console, bars), soft_wrap=True)
    elif chart.windows is not None and not everything and (band is None or alphabet.size > SMALL):
        bars, note = window_bars(chart.windows, truth)
        console.print(_draw_bars(console, bars), soft_wrap=True)
    else:
        bars, note = choose_bars(alphabet, chart.shares, truth, everything=everything, band=band)
        console.print(_draw_bars(console, bars), soft_wrap=True)
    if note:
        console.print(note, style="dim", soft_wrap=not console.is_terminal)


def window_bars(windows: Windows, truth: FloatArray | None) -> tuple[list[Bar], str]:
    """Return one line for each window, and what was left out.

    Of many windows, only the fullest.
    """
    found = list(zip(windows.names, windows.members, windows.answers, strict=True))
    fullest = sorted(range(len(found)), key=lambda place: -found[place][2].estimate)[:SMALL]
    bars = []
    for label, members, one in (found[place] for place in sorted(fullest)):
        known = None if truth is None else float(truth[members].sum())
        bars.append(Bar(label, one.estimate, known, (one.low, one.high)))
    few = f"The {len(bars)} largest of {len(found):,}; --show all shows all {windows.alphabet.size:,} values."
    return bars, "" if len(bars) == len(found) else few


def choose_bars(
    alphabet: Alphabet,
    shares: FloatArray,
    truth: FloatArray | None,
    *,
    everything: bool = False,
    band: Band | None = None,
) -> tuple[list[Bar], str]:
    """Return the lines to show, and what they leave out.

    >>> from confide import Integers
    >>> bars, note = choose_bars(Integers(0, 99), np.full(100, 0.01), None)
    >>> bars[0], note
    (Bar(label='0-4', share=0.05, truth=None, ends=None), 'In ranges of 5; --show all shows all 100 values.')
    """

    def bar(label: str, places: NDArray[np.int64]) -> Bar:
        known = None if truth is None else float(truth[places].sum())
        # Several values together have no interval: ends do not add up.
        is_one = band is not None and places.size == 1
        ends = (float(band.low[places[0]]), float(band.high[places[0]])) if band is not None and is_one else None
        return Bar(label, float(shares[places].sum()), known, ends)

    if not everything and alphabet.size > SMALL and isinstance(alphabet.geometry, LineGeometry):
        least = alphabet.size / FEW
        power = int(10 ** max(0, math.floor(math.log10(least))))
        width = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)
        # Ranges begin at multiples of their width, so that they read 20-24 whatever the alphabet's first value is.
        lowest, highest = alphabet.span
        groups, bars = np.arange(lowest, highest + 1) // width, []
        for group in np.unique(groups):
            low, high = max(lowest, group * width), min(highest, group * width + width - 1)
            label = alphabet.label_range(low, high).replace("\N{EN DASH}", "-")  # which every terminal can show
            bars.append(bar(label, np.flatnonzero(groups == group)))
        return bars, f"In ranges of {width:,}; --show all shows all {alphabet.size:,} values."
    chosen, note = np.arange(alphabet.size), ""
    if not everything and alphabet.size > SMALL:
        few = FEW if alphabet.grid is None else FEW // 2  # a map shows the other cells
        chosen = np.argsort(-shares, kind="stable")[:few]
        rest = max(0.0, 1.0 - float(shares[chosen].sum()))
        note = f"The {few} most likely of {alphabet.size:,} values; the others hold {rest:.1%}. "
        note += "--show all shows every value."
    return [bar(label, np.array([one])) for label, one in zip(alphabet.labels(chosen), chosen, strict=True)], note


def _draw_bars(console: Console, bars: list[Bar]) -> Text:
    """Return lines of bars with label, share, interval and truth."""
    from rich.text import Text

    widths = [high - low for low, high in (bar.ends for bar in bars if bar.ends is not None)]
    decimals = say.digits(max(widths)) if widths else 1 if max(bar.share for bar in bars) >= 0.05 else 2

    has_truth = any(bar.truth is not None for bar in bars)

    def column(heading: str, texts: Sequence[str]) -> list[str]:
        lines = [heading, *texts] if has_truth else list(texts)
        return [one.rjust(max(map(len, lines))) for one in lines]

    columns = [column("", style.shorten([bar.label for bar in bars], max(24, console.width // 2)))]
    columns.append(column("share", [f"{bar.share:.{decimals}%}" for bar in bars]))
    if widths:
        ends = [[f"{end:.{decimals}%}" for end in bar.ends or ()] for bar in bars]
        columns.append(column("", [f"({' to '.join(one)})" if one else "" for one in ends]))
    if has_truth:
        columns.append(column("truth", [f"{bar.truth or 0.0:.{decimals}%}" for bar in bars]))
    peak = max(max(bar.share, bar.truth or 0.0) for bar in bars)
    taken = 4 + sum(len(one[0]) + 2 for one in columns)
    width = max(8, min(40, console.width - taken))
    marks = [_draw(bar, peak, width, blocks=_has_blocks(console)) for bar in bars]
    shown = [Text("| is the truth"), *marks] if has_truth else marks
    lines = []
    for cells, mark in zip(zip(*columns, strict=True), shown, strict=True):
        lines.append(Text.assemble(f"  {'  '.join(cells)}  ", mark))
        lines[-1].rstrip()
    return Text("\n").join(lines)


def _draw(bar: Bar, peak: float, width: int, *, blocks: bool) -> Text:
    from rich.text import Text

    line = _filled(bar.share / peak if peak > 0 else 0.0, width, blocks=blocks)
    if bar.truth is None or peak <= 0:
        return Text(line, style="cyan")
    place = min(width - 1, int(bar.truth / peak * width))
    line = line.ljust(width)
    return Text.assemble((line[:place], "cyan"), ("|", "bold"), (line[place + 1 :].rstrip(), "cyan"))


def draw_spark(numbers: Sequence[float], *, blocks: bool) -> str:
    """Return numbers as marks of eight heights.

    >>> draw_spark([1, 2, 4, 8], blocks=True), draw_spark([1, 2, 4, 8], blocks=False)
    ('▁▂▄█', '1248')
    """
    low, span = min(numbers), max(numbers) - min(numbers)
    marks = "▁▂▃▄▅▆▇█" if blocks else "12345678"
    return "".join(marks[round(7 * (one - low) / span) if span > 0 else 0] for one in numbers)


def _filled(part: float, width: int, *, blocks: bool) -> str:
    """Return a filled bar, exact to an eighth of a character.

    >>> _filled(0.53125, 4, blocks=True), _filled(0.5, 4, blocks=False)
    ('██▏', '##')
    """
    eighths = max(0, round(part * width * 8))
    if not blocks:
        return "#" * round(eighths / 8)
    marks = " ▏▎▍▌▋▊▉█"
    return marks[8] * (eighths // 8) + marks[eighths % 8].strip()


def draw_map(grid: Grid, distribution: FloatArray, *, blocks: bool, width: int = 80) -> RenderableType:
    """Draw a grid from marks, one for each cell or square."""
    from rich.panel import Panel
    from rich.text import Text

    shades = "·░▒▓█" if blocks else ".:*%#"  # from nobody to the fullest cell; a hole is blank
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

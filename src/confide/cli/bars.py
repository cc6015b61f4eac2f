"""A distribution in the terminal: a table of values or of ranges of values with bars, or a map of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Grid, Integers, Pairs
from confide.estimates import Estimate
from confide.wording import label_value

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

SMALL = 30
"""Alphabets up to this size are shown value by value."""

FEW = 20
"""Ranges, or most likely values, that a larger alphabet is brought down to."""

EIGHTHS = " ▏▎▍▌▋▊▉█"
SHADES = "·░▒▓█"
"""From nobody to the fullest cell; a hole is blank."""

FloatArray = NDArray[np.float64]

Ends = Callable[[NDArray[np.int64]], tuple[float, float]]
"""Returns the interval of the share that the values with these numbers have together."""


@dataclass(frozen=True)
class Bar:
    """One line: a value or several of them, the estimated share, the true one and an interval where these are known."""

    label: str
    share: float
    truth: float | None
    ends: tuple[float, float] | None = None


def show_distribution(
    console: Console,
    name: str,
    answer: Estimate,
    truth: FloatArray | None,
    *,
    everything: bool = False,
    ends: Ends | None = None,
) -> None:
    """Print an estimated distribution in the shape that suits its alphabet."""
    alphabet, distribution = answer.alphabet, answer.distribution
    if isinstance(alphabet, Grid) and not everything and 2 * alphabet.columns + 4 <= console.width:
        console.print(_map(alphabet, distribution, blocks=_has_blocks(console)))
    if isinstance(alphabet, Pairs) and not everything and alphabet.size > SMALL:
        notes = _show_margins(console, alphabet, distribution, truth)
    else:
        bars, note = choose_bars(alphabet, distribution, truth, everything=everything, ends=ends)
        console.print(_table(console, name, bars))
        notes = [note]
    for line in filter(None, notes):
        console.print(line, style="dim", soft_wrap=not console.is_terminal)


def _show_margins(console: Console, pairs: Pairs, distribution: FloatArray, truth: FloatArray | None) -> list[str]:
    """Print each part of many pairs on its own, and return what is to be said about it."""
    for part, name, axis in ((pairs.first, "first", 1), (pairs.second, "second", 0)):
        shape = pairs.first.size, pairs.second.size
        shares = distribution.reshape(shape).sum(axis=axis)
        known = None if truth is None else truth.reshape(shape).sum(axis=axis)
        bars, _ = choose_bars(part, shares, known)
        console.print(_table(console, name, bars))
    return [f"Each part on its own; --all shows all {pairs.size:,} pairs."]


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
    labels = [label_value(value) for value in alphabet.decode(chosen).tolist()]
    places = [np.array([index]) for index in chosen]
    return [_bar(label, one, shares, truth, ends) for label, one in zip(labels, places, strict=True)]


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
        label = f"{low}-{high}" if low >= 0 else f"{low} to {high}"
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


def _map(grid: Grid, distribution: FloatArray, *, blocks: bool) -> RenderableType:
    from rich.panel import Panel
    from rich.text import Text

    shades = SHADES if blocks else ".:*%#"
    peak = max(float(distribution.max()), 1e-300)
    # By the square root, for a city's few crowded cells would leave all others alike.
    levels = np.rint(np.sqrt(np.maximum(distribution, 0) / peak) * (len(shades) - 1))
    marks = " " + shades
    picture = np.nan_to_num(grid.picture(levels + 1)).astype(int)
    lines = ["".join(marks[level] * 2 for level in row) for row in picture[::-1].tolist()]
    text = Text("\n".join(lines), style="cyan", no_wrap=True)
    return Panel(text, title="north", subtitle=f"{shades[-1]} {distribution.max():.1%}", expand=False)


def _has_blocks(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")

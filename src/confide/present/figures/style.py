"""One look for every figure, with colours by meaning, light and dark.

`pages/design.css` has the same colours as custom properties. A method keeps its own from figure to figure. Those of
methods and of the reports can be told apart by people with any common kind of colour blindness, and each stands out
from its card by 3:1, words by 4.5:1, in both modes: `tests/pages/test_design.py` measures all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

COLORS: dict[str, tuple[str, str]] = {
    "page": ("#F5F7F9", "#12161B"),
    "card": ("#FFFFFF", "#1B2027"),
    "ink": ("#20262D", "#E6EAEE"),
    "faint": ("#58626D", "#A3ADB8"),
    "rule": ("#DFE3E8", "#363E48"),
    "truth": ("#7D858E", "#8D96A0"),
    "truth-fill": ("#D5D9DE", "#3B434D"),
    "reports": ("#D55E00", "#F2803B"),
    "stacked": ("#0069AA", "#58AEEC"),
    "ibu": ("#159469", "#27E79A"),
    "held-out": ("#019DD7", "#4291B3"),
    "mle": ("#645300", "#FFB405"),
    "normalized": ("#561A4B", "#FCC5FC"),
    "projected": ("#A02C6A", "#AF4571"),
    "smooth": ("#3B238C", "#6E5FC8"),
    "hole": ("#E8EBEF", "#2B323A"),
    "negative": ("#F3C6AD", "#6B3A1E"),
    "good": ("#00684C", "#5CCBA4"),
    "warning": ("#A34600", "#F29A62"),
}
"""Each colour on a light and on a dark page."""

METHODS = {
    "Stacked": "stacked",
    "Stacked (default)": "stacked",
    "IBU": "ibu",
    "certified IBU": "ibu",
    "held-out IBU": "held-out",
    "MLE": "mle",
    "INV": "normalized",
    "RAP": "normalized",
    "INV-N": "normalized",
    "RAP-N": "normalized",
    "INV-P": "projected",
    "RAP-P": "projected",
    "Smooth": "smooth",
    "noisy": "reports",
    "Noisy": "reports",
}
"""Name of each method's colour. RAPPOR's own estimators repair as inversion does, and never stand beside it."""

# Methods of other people, and a method that stands twice with two settings, take what is left, in this order.
SPARE = ("stacked", "ibu", "projected", "mle", "held-out", "smooth", "normalized")

SCALES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # Shares on a map: the card for nobody. Its hues change, so that no shade of it passes for a method.
    "heat": (
        ("#FFFFFF", "#D9EFE2", "#7FCBC0", "#2F8FA9", "#1E4E8B", "#14174D"),
        ("#1B2027", "#24557A", "#2A7C9B", "#5DBDB2", "#C6EEC3", "#FBFFE8"),
    ),
    "doubt": (("#FFFFFF", "#D5D9DE", "#9AA2AB"), ("#1B2027", "#3B434D", "#5F6872")),
    "residuals": (("#58626D", "#FFFFFF", "#D55E00"), ("#A3ADB8", "#1B2027", "#F2803B")),
}
"""Colours that numbers on a map go through, from the lowest to the highest."""

# Colours of cells that cannot be told apart: words can be read on all, neighbours in number differ, and they come
# round again after eight.
CLASSES = (
    ("#8FBFDE", "#F3CF8A", "#8FD3BE", "#E4BCD3", "#C3E1F5", "#EFAE87", "#F6F1A6", "#C6BEDD"),
    ("#2C5A78", "#6E5319", "#22604E", "#6B3D58", "#3F6580", "#74421F", "#625D1C", "#4A4168"),
)

STEPS = 256


def light(name: str) -> str:
    """Return a colour's light version, as in files.

    >>> light("ink")
    '#20262D'
    """
    return COLORS[name][0]


def colors_of(names: Sequence[str]) -> list[str]:
    """Return the colour of each method.

    If two would share one, the second takes another.

    >>> colors_of(["IBU", "Stacked"]) == [light("ibu"), light("stacked")]
    True
    >>> len(set(colors_of(["IBU(delta=1)", "IBU(delta=2)", "mine"])))
    3
    """
    own = [METHODS.get(name, METHODS.get(name.partition("(")[0], "")) for name in names]
    spare = cycle([one for one in SPARE if one not in own] or SPARE)
    taken: set[str] = set()
    for place, one in enumerate(own):
        if not one or one in taken:
            own[place] = next(spare)
        taken.add(own[place])
    return [light(one) for one in own]


def ordered(count: int) -> list[str]:
    """Return shades of one scale for ordered settings.

    >>> ordered(2)
    ['#2F8FA9', '#14174D']
    """
    scale = _spread(SCALES["heat"][0])
    # The paler two fifths would not stand out from a card.
    chosen = scale[np.rint(np.linspace(0.6, 1.0, max(count, 2))[:count] * (STEPS - 1)).astype(int)]
    return ["#" + "".join(f"{int(part):02X}" for part in shade) for shade in chosen]


def on_dark(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the dark page's colours for those of a light picture.

    >>> on_dark(np.array([[255, 255, 255]], dtype=np.uint8)).tolist()
    [[27, 32, 39]]
    """
    known, instead = _shades()
    away = ((known[:, None] - colors[None, :].astype(np.int64)) ** 2).sum(axis=2)
    return np.asarray(instead[away.argmin(axis=0)])


@cache
def _shades() -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return every shade of every scale, light and dark."""
    pairs = [(_spread(one), _spread(other)) for one, other in SCALES.values()]
    pairs += [(_numbers(one), _numbers(other)) for one, other in (CLASSES, tuple(zip(*COLORS.values(), strict=True)))]
    known, instead = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return known.astype(np.int64), instead.astype(np.uint8)


def _spread(stops: Sequence[str]) -> NDArray[np.float64]:
    places = np.linspace(0, len(stops) - 1, STEPS)
    return np.stack([np.interp(places, np.arange(len(stops)), one) for one in _numbers(stops).T], axis=1).round()


def _numbers(colors: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[int(one[place : place + 2], 16) for place in (1, 3, 5)] for one in colors], dtype=np.float64)


INK, FAINT, RULE, CARD = (light(name) for name in ("ink", "faint", "rule", "card"))
TRUTH, TRUTH_EDGE = light("truth-fill"), light("truth")
NOISY, NEGATIVE, HOLE = (light(name) for name in ("reports", "negative", "hole"))
STACKED, IBU, MLE = (light(name) for name in ("stacked", "ibu", "mle"))

# Inches of a picture across a page, of the same where a page is narrower, and on a telephone. Letters of ten points are
# 12 CSS pixels where a drawing is shrunk to nine tenths, which a page never exceeds: `make screenshots` measures it.
WIDE, MIDDLE, NARROW = 9.6, 6.2, 3.7
SMALL = 10
# Inches of a panel on its card, of which two fit beside each other on a tablet and three on a screen.
PANEL = 3.6

# Share of its estimate's colour that a band has.
BAND_ALPHA = 0.22

SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": TRUTH_EDGE,
    # A card, light or dark, shows through; files in other formats have a white page.
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,  # letters stay letters: journals refuse outlines of type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "confide",
    "text.color": INK,
    # Labels are people's words: a dollar sign in one is a dollar sign, not mathematics.
    "text.parse_math": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}


# Inches that a figure of several panels may have across.
ROOM: ContextVar[float] = ContextVar("room", default=float("inf"))


@contextmanager
def within(width: float) -> Iterator[None]:
    """Draw figures of several panels within so many inches."""
    before = ROOM.set(width)
    try:
        yield
    finally:
        ROOM.reset(before)


def columns_within(columns: int, width: float) -> int:
    """Return how many panels fit side by side, up to a limit.

    >>> with within(8.0):
    ...     columns_within(3, 3.6), columns_within(3, 9.0)
    (2, 1)
    >>> columns_within(3, 9.0)
    3
    """
    return columns if ROOM.get() == float("inf") else max(1, min(columns, int(ROOM.get() / width)))


@contextmanager
def styled() -> Iterator[None]:
    """Draw in confide's look, and restore the user's settings afterwards."""
    try:
        import matplotlib.figure  # half a second, so only where something is drawn
        import matplotlib.style
    except ImportError:
        raise MissingExtraError("matplotlib", "Drawing figures", "figures") from None
    with matplotlib.style.context(["default", SETTINGS]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, unknown to pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    return figure


def heat() -> Colormap:
    """Return the colours of maps: white is none, light red negative."""
    return scale("heat").with_extremes(under=NEGATIVE)


def scale(name: str) -> Colormap:
    """Return the colours of a scale.

    "doubt" is white for what is known and grey for what is not, dark letters can be read on all of it; "residuals" go
    from what came more rarely than expected to what came more often.
    """
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, SCALES[name][0])


def show_percent(axis: Axis) -> None:
    """Label an axis of shares in percent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))


def lay_bars(axes: Axes, labels: Sequence[str]) -> None:
    """Label bars that lie below each other, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.grid(visible=False, axis="y")


def shorten(labels: Sequence[str], most: int = 26) -> list[str]:
    """Return each label in one line, cut where they stay different.

    >>> shorten(["a long label, east", "a long label, west", "short"], 12)
    ['…label, east', '…label, west', 'short']
    """
    lines = [" ".join(one.split()) for one in labels]
    head = [one if len(one) <= most else f"{one[: most - 1]}…" for one in lines]
    tail = [one if len(one) <= most else f"…{one[1 - most :]}" for one in lines]
    return next((cut for cut in (head, tail) if len(set(cut)) == len(set(lines))), lines)


def count_ticks(axis: Axis, most: int) -> None:
    """Label an axis of whole numbers at a few round ones."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))


def percent(share: float) -> str:
    """Return a share in percent, as short as it goes.

    >>> percent(0.02), percent(-0.505), percent(0.0001234)
    ('2%', '\N{MINUS SIGN}50.5%', '0.0123%')
    """
    return f"{100 * share:.3g}%".replace("-", "\N{MINUS SIGN}")


def mark_decades(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
    axis.set_minor_formatter(NullFormatter())

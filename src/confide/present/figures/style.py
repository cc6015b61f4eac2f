"""One look for every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from confide.errors import MissingExtraError
from confide.present.figures import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, FAINT, RULE, CARD = (palette.light(name) for name in ("ink", "faint", "rule", "card"))
TRUTH, TRUTH_EDGE = palette.light("truth-fill"), palette.light("truth")
NOISY, NEGATIVE, HOLE = (palette.light(name) for name in ("reports", "negative", "hole"))
STACKED, IBU, MLE = (palette.light(name) for name in ("stacked", "ibu", "mle"))

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
    """Draw figures of several panels no wider than so many inches: fewer stand beside each other."""
    before = ROOM.set(width)
    try:
        yield
    finally:
        ROOM.reset(before)


def columns_within(columns: int, width: float) -> int:
    """Return how many panels of a width stand beside each other, at most so many.

    >>> with within(8.0):
    ...     columns_within(3, 3.6), columns_within(3, 9.0)
    (2, 1)
    >>> columns_within(3, 9.0)
    3
    """
    return columns if ROOM.get() == float("inf") else max(1, min(columns, int(ROOM.get() / width)))


def load_matplotlib() -> None:
    """Import matplotlib, or name the command that installs it."""
    try:
        import matplotlib.figure  # noqa: F401  half a second, so only where something is drawn
    except ImportError:
        raise MissingExtraError("matplotlib", "Drawing figures", "figures") from None


@contextmanager
def styled() -> Iterator[None]:
    """Draw in confide's look, whatever the user's own settings are, and put those back afterwards."""
    load_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", SETTINGS]):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, unknown to pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    return figure


def heat() -> Colormap:
    """Return the colours of maps: white for nobody, dark for many, and light red for what is negative."""
    return _scale("heat").with_extremes(under=NEGATIVE)


def greys() -> Colormap:
    """Return the colours of doubt: white for what is known, grey for what is not; dark letters can be read on all."""
    return _scale("doubt")


def residuals() -> Colormap:
    """Return the colours of what came more rarely than expected, as expected, and more often."""
    return _scale("residuals")


def _scale(name: str) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, palette.SCALES[name][0])


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
    """Return each label in one line, of so many letters at most."""
    lines = [" ".join(one.split()) for one in labels]
    return [one if len(one) <= most else f"{one[: most - 1]}…" for one in lines]


def count_ticks(axis: Axis, most: int) -> None:
    """Label an axis of whole numbers at round ones, at most so many."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))


def percent(share: float) -> str:
    """Return a share in percent, as short as it goes.

    >>> percent(0.02), percent(-0.505), percent(0.0001234)
    ('2%', '\N{MINUS SIGN}50.5%', '0.0123%')
    """
    return f"{100 * share:.3g}%".replace("-", "\N{MINUS SIGN}")


def name_reference(figure: Figure) -> None:
    """Say once, above all panels, what the grey behind them is."""
    from matplotlib.patches import Patch

    figure.legend(
        handles=[Patch(facecolor=TRUTH, edgecolor=TRUTH_EDGE, label="the truth")],
        loc="outside upper right",
        fontsize=10,
    )


def mark_decades(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers, and between the powers of ten where there are few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 300 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
    axis.set_minor_formatter(NullFormatter())

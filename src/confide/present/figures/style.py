"""One look for every figure.

Colours by meaning, panels, and drawings as text and as files.

`pages/design.css` has the same colours as custom properties. A method keeps its own from figure to figure. Those of
methods and of the reports can be told apart by people with any common kind of colour blindness, and each stands out
from its card by 3:1, words by 4.5:1, in both modes: `tests/pages/test_design.py` measures all of it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import cache
from html import escape
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidDistributionError, MissingExtraError
from confide.estimates.inference import Windows

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
    # Methods of other people, and a method that stands twice with two settings, take what is left, in this order.
    spare_names = ("stacked", "ibu", "projected", "mle", "held-out", "smooth", "normalized")
    own = [METHODS.get(name, METHODS.get(name.partition("(")[0], "")) for name in names]
    spare = cycle([one for one in spare_names if one not in own] or spare_names)
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
    return int(min(columns, max(1.0, ROOM.get() / width)))


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


FloatArray = NDArray[np.float64]


class Role(Enum):
    """Part that a distribution plays: it decides colour and wording."""

    TRUTH = "truth"
    NOISY = "noisy"
    ESTIMATE = "estimate"


@dataclass(frozen=True, eq=False)
class Panel:
    """One distribution, with the truth behind it where that is known.

    Attributes
    ----------
    title, subtitle
        What stands above it, such as ``"IBU"`` and ``"EMD 0.52 years, TV 0.08"``.
    distribution
        One number for each value of the alphabet; only raw inversion has negative ones.
    reference
        The truth, drawn in grey behind it; maps show it in a panel of its own instead.
    role
        Whether this is the truth, the noisy reports, or an estimate.
    color
        The colour of an estimate; that of the method in its title if left out.
    reference_role
        What the reference is, if not the truth.
    band
        The lower and the upper ends of an interval for each value, drawn as a band where it says something, or as
        whiskers; not on maps.
    windows
        Windows with their intervals: boxes on a line, outlines on a map; they take the place of a band.
    background
        Lines on a map of places, as longitude and latitude.
    """

    title: str
    distribution: FloatArray
    subtitle: str = ""
    reference: FloatArray | None = None
    role: Role = Role.ESTIMATE
    color: str | None = None
    reference_role: Role = Role.TRUTH
    band: tuple[FloatArray, FloatArray] | None = None
    windows: Windows | None = None
    background: tuple[FloatArray, ...] = ()

    @property
    def layers(self) -> list[FloatArray]:
        """Everything that is drawn here."""
        return [self.distribution] if self.reference is None else [self.reference, self.distribution]

    @property
    def peak(self) -> float:
        """The largest number that is drawn here."""
        return max(float(layer.max()) for layer in self.layers)

    @property
    def trough(self) -> float:
        """The smallest drawn number; 0 if none is negative."""
        return min(0.0, *(float(layer.min()) for layer in self.layers))


def check_panels(panels: Sequence[Panel], size: int) -> tuple[Panel, ...]:
    """Refuse an empty sequence, and distributions of another alphabet."""
    if not panels:
        raise InvalidDistributionError("There is nothing to draw; give at least one panel.")
    for panel in panels:
        for layer in (*panel.layers, *(panel.band or ())):
            if np.shape(layer) != (size,):
                raise InvalidDistributionError(
                    f"{panel.title!r} must hold one number for each of {size} values; got shape {np.shape(layer)}."
                )
        if panel.windows is not None and panel.windows.alphabet.size != size:
            raise InvalidDistributionError(
                f"{panel.title!r} has windows over {panel.windows.alphabet.size} values, and is over {size}."
            )
    return tuple(panels)


def choose_colors(panels: Sequence[Panel]) -> list[str]:
    """Return one colour for each panel, that of its method."""
    fixed = {Role.TRUTH: TRUTH_EDGE, Role.NOISY: NOISY}
    estimates = [panel for panel in panels if panel.role is Role.ESTIMATE]
    own = dict(zip(map(id, estimates), colors_of([panel.title for panel in estimates]), strict=True))
    return [panel.color or fixed.get(panel.role) or own[id(panel)] for panel in panels]


def share_label(role: Role) -> str:
    """Return what a share is a share of."""
    return "share of reports" if role is Role.NOISY else "share of people"


def to_svg(figure: Figure, description: str = "") -> str:
    """Return the figure as an ``<svg>`` element for a page.

    The same figure gives the same text: no date, no random names. Names within the drawing carry a digest of it and
    of its description, so that several drawings in one page do not take each other's clip paths. Colours are the
    variables of `pages/design.css`, so that a dark page has a dark drawing; in a file of its own it is light.

    Parameters
    ----------
    figure
        What to draw.
    description
        What there is to see in it, for those who cannot see it: the finding, not the kind of chart.

    Examples
    --------
    >>> from confide.present.figures import draw_path
    >>> to_svg(draw_path({"IBU": [-30.0, -20.0, -19.0]})).startswith("<svg ")
    True
    """
    # Fonts that every system has. All are narrower than the one that the layout was measured with, so nothing
    # collides.
    fonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with _quietly_styled(figure):
        FigureCanvasSVG(figure)
        # Without a date, so that one figure is one text.
        unsaid = {"Creator": None, "Date": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=unsaid, facecolor="none")
    drawing = buffer.getvalue()
    # Comments repeat the labels, and a style sheet within the drawing would rule the whole page.
    drawing = re.sub(r"<!--.*?-->\s*|<style.*?</style>\s*", "", drawing[drawing.index("<svg ") :], flags=re.DOTALL)
    drawing = re.sub(r"<image [^<>]*/>", lambda tag: tag[0] + _dark_image(tag[0]), drawing)
    digest = hashlib.sha256(f"{description}{drawing}".encode()).hexdigest()[:10]
    drawing = re.sub(r"<[^<>]*>", lambda tag: _adapt(tag[0], f"f{digest}-"), drawing)
    natural = f"--natural: {round(96 * figure.get_figwidth())}px"
    look = f"stroke-linejoin: round; stroke-linecap: butt; font-family: {fonts}"
    opening = f'<svg role="img" aria-label="{escape(description)}" style="{look}; {natural}" '
    return drawing.replace("<svg ", opening, 1).rstrip()


def to_svg_file(figure: Figure, path: str | Path, description: str = "") -> None:
    """Write the figure as an SVG file, dark on dark screens."""
    lights, darks = ("".join(f"--{name}:{colors[mode].lower()};" for name, colors in COLORS.items()) for mode in (0, 1))
    look = (
        f"<style>svg{{{lights}background:var(--card)}}@media screen and (prefers-color-scheme:dark){{svg{{{darks}}}"
        'svg .shade{fill:var(--dark)!important}svg .shade[style*="stroke: #"]{stroke:var(--dark)!important}'
        "svg image{display:none}svg image.on-dark{display:inline}}</style>"
    )
    drawing = to_svg(figure, description)
    end = drawing.index(">") + 1
    Path(path).write_text(f"{drawing[:end]}{look}{drawing[end:]}\n", encoding="utf-8")


def to_png(figure: Figure, path: str | Path, dpi: int = 150) -> None:
    """Write the figure as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with _quietly_styled(figure):
        FigureCanvasAgg(figure)
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": None})


def to_pdf(figure: Figure, path: str | Path) -> None:
    """Write the figure as a PDF file; equal figures give equal bytes."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    with _quietly_styled(figure):
        FigureCanvasPdf(figure)
        figure.savefig(path, format="pdf", metadata={"Creator": None, "Producer": None, "CreationDate": None})


@contextmanager
def _quietly_styled(figure: Figure) -> Iterator[None]:
    with styled(), warnings.catch_warnings():
        # Labels may be in any script. In a page the browser finds a font for it.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield
    # Computed again the layout would move by a hair: that of the first drawing stays.
    figure.set_layout_engine("none")


def _adapt(tag: str, prefix: str) -> str:
    """Return a tag with the page's fonts, colours and unique names."""
    tag = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}", tag)
    tag = re.sub(r"font-family: [^;\"]*; ?", "", tag)
    if "#" not in tag or tag.startswith("<image"):
        return tag
    shades: list[str] = []
    tag = re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda found: _variable(found[0], shades), tag)
    if not shades:
        return tag
    # A shade of a scale has no name: the element carries its dark one, and the page's style sheet swaps them.
    return tag.replace('style="', f'class="shade" style="--dark: {_dark(shades[0])}; ', 1)


def _variable(color: str, shades: list[str]) -> str:
    """Return a colour as a variable that dark pages redefine."""
    name = {light.lower(): name for name, (light, _) in COLORS.items()}.get(color)
    if name is None:
        shades.append(color)
        return color
    return f"var(--{name}, {color})"


@cache
def _dark(color: str) -> str:
    shade = np.array([[int(color[place : place + 2], 16) for place in (1, 3, 5)]], dtype=np.uint8)
    return "#" + "".join(f"{part:02x}" for part in on_dark(shade)[0].tolist())


def _dark_image(tag: str) -> str:
    """Return the same image for a dark page.

    The style sheet shows one of the two.
    """
    from PIL import Image  # a part of matplotlib

    content = base64.b64decode(re.sub(r"\s", "", tag.partition("base64,")[2].partition('"')[0]))
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))
    shades, where = np.unique(pixels[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
    turned = pixels.copy()
    turned[..., :3] = on_dark(shades)[where.ravel()].reshape(*pixels.shape[:2], 3)
    buffer = io.BytesIO()
    Image.fromarray(turned).save(buffer, format="PNG", optimize=True)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    tag = re.sub(r"base64,[^\"]*", f"base64,{encoded}", tag)
    # Hidden in a file of its own, where no style sheet chooses.
    return re.sub(r'\sid="[^"]*"', "", tag).replace("<image ", '<image class="on-dark" display="none" ', 1)

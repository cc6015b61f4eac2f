"""Figures as text for a page, and as files."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from confide.present.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Fonts that every system has. All are narrower than the one that the layout was measured with, so nothing collides."""


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
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with _quietly_styled():
        FigureCanvasSVG(figure)
        # Without a date, so that one figure is one text.
        unsaid = {"Creator": None, "Date": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=unsaid, facecolor="none")
    _settle(figure)
    drawing = buffer.getvalue()
    # Comments repeat the labels, and a style sheet within the drawing would rule the whole page.
    drawing = re.sub(r"<!--.*?-->\s*|<style.*?</style>\s*", "", drawing[drawing.index("<svg ") :], flags=re.DOTALL)
    drawing = re.sub(r"<image [^<>]*/>", lambda tag: tag[0] + _dark_image(tag[0]), drawing)
    digest = hashlib.sha256(f"{description}{drawing}".encode()).hexdigest()[:10]
    drawing = re.sub(r"<[^<>]*>", lambda tag: _adapt(tag[0], f"f{digest}-"), drawing)
    natural = f"--natural: {round(96 * figure.get_figwidth())}px"
    look = f"stroke-linejoin: round; stroke-linecap: butt; font-family: {FONTS}"
    opening = f'<svg role="img" aria-label="{escape(description)}" style="{look}; {natural}" '
    return drawing.replace("<svg ", opening, 1).rstrip()


def to_svg_file(figure: Figure, path: str | Path, description: str = "") -> None:
    """Write the figure as an SVG file, dark on dark screens."""
    lights, darks = (
        "".join(f"--{name}:{colors[mode].lower()};" for name, colors in style.COLORS.items()) for mode in (0, 1)
    )
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

    with _quietly_styled():
        FigureCanvasAgg(figure)
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": None})
    _settle(figure)


def to_pdf(figure: Figure, path: str | Path) -> None:
    """Write the figure as a PDF file; equal figures give equal bytes."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    with _quietly_styled():
        FigureCanvasPdf(figure)
        figure.savefig(path, format="pdf", metadata={"Creator": None, "Producer": None, "CreationDate": None})
    _settle(figure)


def _settle(figure: Figure) -> None:
    """Keep the layout of the first drawing.

    Computed again it would move by a hair.
    """
    figure.set_layout_engine("none")


@contextmanager
def _quietly_styled() -> Iterator[None]:
    with style.styled(), warnings.catch_warnings():
        # Labels may be in any script. In a page the browser finds a font for it.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield


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
    name = _names().get(color)
    if name is None:
        shades.append(color)
        return color
    return f"var(--{name}, {color})"


@cache
def _names() -> dict[str, str]:
    return {light.lower(): name for name, (light, _) in style.COLORS.items()}


@cache
def _dark(color: str) -> str:
    shade = np.array([[int(color[place : place + 2], 16) for place in (1, 3, 5)]], dtype=np.uint8)
    return "#" + "".join(f"{part:02x}" for part in style.on_dark(shade)[0].tolist())


def _dark_image(tag: str) -> str:
    """Return the same image for a dark page.

    The style sheet shows one of the two.
    """
    from PIL import Image  # a part of matplotlib

    content = base64.b64decode(re.sub(r"\s", "", tag.partition("base64,")[2].partition('"')[0]))
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))
    shades, where = np.unique(pixels[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
    turned = pixels.copy()
    turned[..., :3] = style.on_dark(shades)[where.ravel()].reshape(*pixels.shape[:2], 3)
    buffer = io.BytesIO()
    Image.fromarray(turned).save(buffer, format="PNG", optimize=True)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    tag = re.sub(r"base64,[^\"]*", f"base64,{encoded}", tag)
    # Hidden in a file of its own, where no style sheet chooses.
    return re.sub(r'\sid="[^"]*"', "", tag).replace("<image ", '<image class="on-dark" display="none" ', 1)

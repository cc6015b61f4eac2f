"""Figures as text for a page, and as files."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from confide.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Fonts that every system has. All are narrower than the one that the layout was measured with, so nothing collides."""

LINES = "stroke-linejoin: round; stroke-linecap: butt"

NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}


def to_svg(figure: Figure, description: str = "") -> str:
    """Return the figure as an ``<svg>`` element that can stand in a page among others.

    The same figure gives the same text: no date, no random names. Names within the drawing carry a digest of it and
    of its description, so that several drawings in one page do not take each other's clip paths.

    Parameters
    ----------
    figure
        What to draw.
    description
        What it shows, for those who cannot see it.

    >>> from confide.figures import draw_path
    >>> to_svg(draw_path({"IBU": [-30.0, -20.0, -19.0]})).startswith("<svg ")
    True
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with _quietly_styled():
        FigureCanvasSVG(figure)
        figure.savefig(buffer, format="svg", metadata=NO_METADATA, facecolor="none")
    _settle(figure)
    drawing = buffer.getvalue()
    # Comments repeat the labels, and a style sheet within the drawing would rule the whole page.
    drawing = re.sub(r"<!--.*?-->\s*|<style.*?</style>\s*", "", drawing[drawing.index("<svg ") :], flags=re.DOTALL)
    digest = hashlib.sha256(f"{description}{drawing}".encode()).hexdigest()[:10]
    drawing = re.sub(r"<[^<>]*>", lambda tag: _prefix_names(tag[0], f"f{digest}-"), drawing)
    opening = f'<svg role="img" aria-label="{escape(description)}" style="{LINES}" '
    return drawing.replace("<svg ", opening, 1).rstrip()


def to_png(figure: Figure, path: str | Path, dpi: int = 150) -> None:
    """Write the figure as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with _quietly_styled():
        FigureCanvasAgg(figure)
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": None})
    _settle(figure)


def to_pdf(figure: Figure, path: str | Path) -> None:
    """Write the figure as a PDF file with its letters as letters; the same figure gives the same bytes."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    with _quietly_styled():
        FigureCanvasPdf(figure)
        figure.savefig(path, format="pdf", metadata={"Creator": None, "Producer": None, "CreationDate": None})
    _settle(figure)


def _settle(figure: Figure) -> None:
    """Keep the layout of the first drawing; computed again it would move by a hair."""
    figure.set_layout_engine("none")


@contextmanager
def _quietly_styled() -> Iterator[None]:
    with style.styled(), warnings.catch_warnings():
        # Labels may be in any script. In a page the browser finds a font for it.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield


def _prefix_names(tag: str, prefix: str) -> str:
    tag = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}", tag)
    return re.sub(r"font-family: [^;\"]*", f"font-family: {FONTS}", tag)

"""HTML from text. Everything that comes from a user passes through :func:`text`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

NONE = "\N{EN DASH}"
"""What stands in a table where there is nothing to say."""


def text(words: object) -> str:
    """Return words that may stand anywhere in a page.

    >>> text("<b> & 'quotes'")
    '&lt;b&gt; &amp; &#x27;quotes&#x27;'
    """
    return escape(str(words), quote=True)


def paragraph(words: object) -> str:
    """Return a paragraph of plain words."""
    return f"<p>{text(words)}</p>"


def note(words: object) -> str:
    """Return a paragraph that stands back a little."""
    return f'<p class="note">{text(words)}</p>'


def callout(heading: str, *sentences: str) -> str:
    """Return a box that nobody overlooks."""
    inner = "".join(paragraph(sentence) for sentence in sentences)
    return f'<section class="callout" role="note">\n<h2>{text(heading)}</h2>\n{inner}\n</section>'


def bullets(sentences: Iterable[str]) -> str:
    """Return a list, one sentence a point."""
    return "<ul>" + "".join(f"<li>{text(sentence)}</li>" for sentence in sentences) + "</ul>"


def section(heading: str, *parts: str) -> str:
    """Return a section of parts that are HTML already; nothing where all are empty."""
    body = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{text(heading)}</h2>\n{body}\n</section>" if body else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,)) -> str:
    """Return a table of cells that are HTML already; columns of `words` are set left, numbers right.

    Its frame scrolls sideways by itself, so that a wide table never widens the page of a telephone.
    """
    kinds = [' class="words"' if column in words else "" for column in range(len(headings))]
    head = "".join(f'<th scope="col"{kind}>{text(cell)}</th>' for kind, cell in zip(kinds, headings, strict=True))
    lines = (
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    rows_and_head = f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>"
    return f'<div class="frame" tabindex="0"><table>\n{rows_and_head}</table></div>'


def swatch(color: str) -> str:
    """Return a small square of a colour, to tie words to a figure."""
    return f'<span class="swatch" style="background:{text(color)}"></span>'


def document(**parts: str) -> str:
    """Return the whole page; the parts are HTML already."""
    folder = files(__package__)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(parts, style=(folder / "page.css").read_text(encoding="utf-8"))

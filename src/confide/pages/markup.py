"""Parts of a page as HTML. Everything that comes from a user passes through :func:`text`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from confide.explanations import WHEN_NOT_IDENTIFIED
from confide.surveys import Survey
from confide.theory.fit import Fit
from confide.theory.verdicts import Finding
from confide.theory.words import remark_on

# Cell of a table where there is nothing to say.
NONE = "\N{EN DASH}"
# Entries of a list that the survey is shown with; the survey file itself has the rest.
MOST_ENTRIES = 40


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


def fact_list(facts: Mapping[str, str]) -> str:
    """Return what to see at a glance: names and facts, side by side."""
    inner = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in facts.items())
    return f'<dl class="facts">{inner}</dl>'


def cards(figures: Iterable[str], measures: str) -> str:
    """Return cards side by side; the measures are the style sheet's."""
    return f'<div class="panels" style="{measures}">\n' + "\n".join(figures) + "\n</div>"


def wide_figure(drawing: str, caption: str = "", *, kind: str = "wide", style: str = "") -> str:
    """Return one drawing across the page, with its caption."""
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    measures = f' style="{style}"' if style else ""
    return f'<figure class="{kind}"{measures}>{drawing}{below}</figure>'


def provenance(*sentences: str, survey: Survey | None = None) -> str:
    """Return where a page comes from: sentences, and the survey that devices and curator both read."""
    shown = "" if survey is None else f"<pre>{text(survey.text(MOST_ENTRIES))}</pre>"
    return "\n".join(["<h2>Where this comes from</h2>", *map(paragraph, sentences), shown]).rstrip()


def warn_not_identified(
    found: Finding, heading: str = "Not identified: this answer is one of many", cure: str = WHEN_NOT_IDENTIFIED
) -> str:
    """Return a box where the answer is one of many; nothing elsewhere."""
    return callout(heading, remark_on(found), cure) if found.is_no else ""


def warn_poor_fit(found: Fit | None) -> str:
    """Return a box where the reports do not come from the mechanism; nothing elsewhere."""
    return callout("These reports do not fit the survey", str(found)) if found is not None and found.is_bad else ""


def remark_open(found: Finding) -> str:
    """Return a sentence where it is open whether reports can reveal the distribution; nothing elsewhere."""
    return "" if found.is_yes or found.is_no else note(remark_on(found))


def document(**parts: str) -> str:
    """Return the whole page; the parts are HTML already."""
    folder = files(__package__)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(parts, style=(folder / "page.css").read_text(encoding="utf-8"))

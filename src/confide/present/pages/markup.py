"""Pages: a summary as HTML. Everything that comes from a user passes through :func:`text`."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from confide.present import summary as say
from confide.present.figures import Role, draw_sheet, style, to_svg
from confide.present.figures.palette import COLORS
from confide.present.pictures import tell_panel


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


def bullets(sentences: Iterable[str]) -> str:
    """Return a list, one sentence a point."""
    return "<ul>" + "".join(f"<li>{text(sentence)}</li>" for sentence in sentences) + "</ul>"


def section(heading: str, *parts: str, kind: str = "", is_part: bool = False) -> str:
    """Return a section of parts that are HTML already, nothing where all are empty; a part of another one if asked."""
    body, level = "\n".join(part for part in parts if part), "h3" if is_part else "h2"
    opening = f'<section class="{kind}">' if kind else "<section>"
    return f"{opening}\n<{level}>{text(heading)}</{level}>\n{body}\n</section>" if body else ""


def fold(heading: str, *parts: str) -> str:
    """Return what only a specialist asks for, folded away under a heading; nothing where all parts are empty."""
    body = "\n".join(part for part in parts if part)
    return f"<details><summary><h2>{text(heading)}</h2></summary>\n{body}\n</details>" if body else ""


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,), kind: str = ""
) -> str:
    """Return a table of cells that are HTML already; columns of `words` are set left, numbers right.

    Its frame scrolls sideways by itself, so that a wide table never widens the page of a telephone. A `stacked` one
    is of sentences: there its cells stand below each other. A `tall` one keeps its head in sight.
    """
    kinds = [' class="words"' if column in words else "" for column in range(len(headings))]
    head = "".join(f'<th scope="col"{kind}>{text(cell)}</th>' for kind, cell in zip(kinds, headings, strict=True))
    if kind == "stacked":  # each cell says what it is where the head cannot stand above it
        kinds = [f'{one} data-label="{text(cell)}"' for one, cell in zip(kinds, headings, strict=True)]
    lines = (
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    rows_and_head = f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>"
    label = f"Table: {', '.join(one for one in headings if one)}"
    opening = f'<table class="{kind}">' if kind else "<table>"
    frame = f'<div class="frame" role="group" aria-label="{text(label)}" tabindex="0">'
    return f"{frame}{opening}\n{rows_and_head}</table></div>"


def answer_list(answers: Sequence[tuple[str, str, str]]) -> str:
    """Return questions with their answers in large letters and, below these, between what they lie."""
    inner = "".join(
        f'<div><dt>{text(asked)}</dt><dd>{text(answer)}</dd><dd class="ends">{text(ends)}</dd></div>'
        for asked, answer, ends in answers
    )
    return f'<dl class="answers">{inner}</dl>' if answers else ""


def document(**parts: str) -> str:
    """Return the whole page; the parts are HTML already."""
    folder = files(__package__)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    style = "".join((folder / name).read_text(encoding="utf-8") for name in ("design.css", "page.css"))
    lead = f'<p class="lead">{parts.pop("summary")}</p>' if parts.get("summary") else ""
    return template.substitute(parts, summary=lead, style=style)


def render(part: say.Part) -> str:
    """Return a part of a summary as HTML."""
    match part:
        case say.Section():
            return _section(part)
        case say.Beside():
            columns = [one for one in ("".join(map(render, column)) for column in part.columns) if one]
            shown = "".join(f"<div>{column}</div>\n" for column in columns)
            return f'<div class="pair">\n{shown}</div>' if len(columns) > 1 else "".join(columns)
        case say.Picture():
            return _picture(part)
        case say.Cards():
            return _cards(part)
        case _:
            return _words(part)


def _section(part: say.Section) -> str:
    inner = list(map(render, part.parts))
    if part.kind == "fold":
        return fold(part.heading, *inner)
    if part.kind == "more":
        return f"<details><summary>{text(part.heading)}</summary>\n{''.join(inner)}\n</details>"
    kind = "" if part.kind == "part" else part.kind
    return section(part.heading, *inner, kind=kind, is_part=part.kind == "part")


def _words(part: say.Part) -> str:
    match part:
        case say.Listing():
            rows = [[_cell(one) for one in row] for row in part.rows]
            shown = table(part.headings, rows, words=part.left, kind=part.kind)
        case say.Note():
            shown = note(part.words)
        case say.Bullets():
            shown = bullets(part.sentences)
        case say.Legend():
            shown = f"<p>{_swatch(part.color) if part.color else ''}{text(part.words)}{text(part.more)}</p>"
        case say.Download():
            content = base64.b64encode(part.content.encode()).decode()
            link = f'<a download="{part.name}" href="data:text/csv;base64,{content}">{text(part.link)}</a>'
            shown = f"<p>{link}{text(part.words)}</p>"
        case say.Source():
            shown = f'<pre tabindex="0">{text(part.text)}</pre>'
        case _:
            shown = paragraph(part) if part else ""
    return shown


def _cell(cell: say.Cell | str) -> str:
    if isinstance(cell, str):
        return text(cell)
    words = f"<strong>{text(cell.words)}</strong>" if cell.is_strong else text(cell.words)
    words += f' <small class="between">{text(cell.beside)}</small>' if cell.beside else ""
    words += f"<br><small>{text(cell.below)}</small>" if cell.below else ""
    return _forest(cell.places) + (f'<span class="prose">{words}</span>' if cell.is_prose else words)


def _forest(places: tuple[float, float, float, float] | None) -> str:
    """Return an interval as a bar with a mark, beside the line of all groups together; words stand next to it."""
    if places is None:
        return ""
    low, mark, high, line = (f"{120 * min(max(part, 0.0), 1.0):.1f}" for part in places)
    parts = (
        f'<line x1="{line}" x2="{line}" y1="0" y2="16" class="all"/>',
        f'<line x1="{low}" x2="{high}" y1="8" y2="8" class="ends"/><circle cx="{mark}" cy="8" r="3.5"/>',
    )
    return f'<svg class="forest" viewBox="-4 0 128 16" aria-hidden="true">{"".join(parts)}</svg>'


def _picture(part: say.Picture) -> str:
    # A drawing for a screen, for a tablet and for a telephone: shrunk, its letters could not be read.
    drawings = [to_svg(part.draw(width), part.told) for width in part.widths]
    rooms = {1: ("",), 2: ("broad", "tight"), 3: ("roomy", "middle", "tight")}[len(drawings)]
    drawn = "".join(
        f'<div class="{room}">{drawing}</div>' if len(drawings) > 1 else drawing
        for room, drawing in zip(rooms, drawings, strict=True)
    )
    below = f"<figcaption>{text(part.caption)}</figcaption>" if part.caption else ""
    measures = f' style="{part.measures}"' if part.measures else ""
    return f'<figure class="wide"{measures}>{drawn}{below}</figure>'


def _cards(part: say.Cards) -> str:
    sheet = draw_sheet(part.alphabet, part.panels, part.name)
    # Maps have a colour scale of their own, which a square in another colour would only confuse.
    is_map = sheet.key is not None
    shown = []
    for panel, figure, color in zip(part.panels, sheet.figures, sheet.colors, strict=True):
        square = "" if is_map else _swatch(style.TRUTH if panel.role is Role.TRUTH else color)
        below = f"<p>{text(panel.subtitle)}</p>" if panel.subtitle else ""
        drawing = to_svg(figure, tell_panel(panel, part.alphabet, part.name))
        shown.append(f"<figure><h3>{square}{text(panel.title)}</h3>{below}\n{drawing}\n</figure>")
    most = 4 if sheet.width < 320 else 3
    columns = -(-len(shown) // -(-len(shown) // most))
    # No narrower than nine tenths of what it was drawn for, and its card has edges.
    measures = f"--panel:{round(0.9 * sheet.width) + 34}px;--widest:{round(1.35 * sheet.width)}px;--columns:{columns}"
    if sheet.key is not None:
        told = "Colours of the maps: the stronger, the more people"
        key = f'\n<figure class="key">{to_svg(sheet.key, told)}</figure>'
    else:
        key = ""
    return f'<div class="panels" style="{measures}">\n' + "\n".join(shown) + f"\n</div>{key}"


def _swatch(color: str) -> str:
    """Return a small square of a colour of the palette, to tie words to a figure; the truth's has an outline."""
    name = next(name for name, (light, _) in COLORS.items() if light == color)
    if name.startswith("truth"):
        return '<span class="swatch truth"></span>'
    return f'<span class="swatch" style="--of: var(--{name})"></span>'


def show_page(summary: say.Summary) -> str:
    """Return a summary as one self-contained HTML document."""
    cautions = [
        f'<section class="callout" role="note">\n<h2>{text(one.heading)}</h2>\n{"".join(map(paragraph, one.words))}\n'
        "</section>"
        for one in summary.cautions
    ]
    facts = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in summary.facts.items())
    return document(
        title=text(summary.title),
        summary=text(summary.headline),
        facts=f'<dl class="facts">{facts}</dl>',
        body="\n".join([*cautions, answer_list(summary.leading), *map(render, summary.sections)]),
        footer=fold("Where this comes from", *map(render, summary.origin)),
    )

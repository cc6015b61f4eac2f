"""Parts of a page as HTML. Everything that comes from a user passes through :func:`text`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from confide.explanations import (
    FACTOR_MEANING,
    WHEN_NOT_IDENTIFIED,
    describe_mechanism,
    describe_repetition,
    explain_guarantee,
)
from confide.figures.palette import COLORS
from confide.guarantees import LocalDP
from confide.origins import Noise, Origin
from confide.surveys import Survey
from confide.theory.fit import Fit, FitVerdict
from confide.theory.shapes import ShapeFit
from confide.theory.uniformity import Uniformity
from confide.theory.verdicts import Finding, remark_on

# Cell of a table where there is nothing to say.
NONE = "\N{EN DASH}"
# Names that the style sheet has for rooms that a drawing is made for, by how many there are of it.
ROOMS = {1: ("",), 2: ("broad", "tight"), 3: ("roomy", "middle", "tight")}
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


def section(heading: str, *parts: str, kind: str = "", is_part: bool = False) -> str:
    """Return a section of parts that are HTML already, nothing where all are empty; a part of another one if asked."""
    body, level = "\n".join(part for part in parts if part), "h3" if is_part else "h2"
    opening = f'<section class="{kind}">' if kind else "<section>"
    return f"{opening}\n<{level}>{text(heading)}</{level}>\n{body}\n</section>" if body else ""


def pair(*parts: str) -> str:
    """Return parts that stand side by side where there is room, those that are there."""
    shown = [part for part in parts if part]
    columns = "".join(f"<div>{part}</div>\n" for part in shown)
    return f'<div class="pair">\n{columns}</div>' if len(shown) > 1 else "".join(shown)


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


def swatch(color: str) -> str:
    """Return a small square of a colour of the palette, to tie words to a figure; the truth's has an outline."""
    name = next(name for name, (light, _) in COLORS.items() if light == color)
    if name.startswith("truth"):
        return '<span class="swatch truth"></span>'
    return f'<span class="swatch" style="--of: var(--{name})"></span>'


def fact_list(facts: Mapping[str, str]) -> str:
    """Return what to see at a glance: names and facts, side by side."""
    inner = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in facts.items())
    return f'<dl class="facts">{inner}</dl>'


def answer_list(answers: Sequence[tuple[str, str, str]]) -> str:
    """Return questions with their answers in large letters and, below these, between what they lie."""
    inner = "".join(
        f'<div><dt>{text(asked)}</dt><dd>{text(answer)}</dd><dd class="ends">{text(ends)}</dd></div>'
        for asked, answer, ends in answers
    )
    return f'<dl class="answers">{inner}</dl>' if answers else ""


def ends_beside(words: str) -> str:
    """Return between what an answer lies, in small letters beside it in a table."""
    return f'<small class="between">{text(words)}</small>'


def cards(figures: Iterable[str], measures: str) -> str:
    """Return cards side by side; the measures are the style sheet's."""
    return f'<div class="panels" style="{measures}">\n' + "\n".join(figures) + "\n</div>"


def wide_figure(*drawings: str, caption: str = "", kind: str = "wide", style: str = "") -> str:
    """Return a drawing across the page, with its caption; or the same for a screen, a tablet and a telephone."""
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    measures = f' style="{style}"' if style else ""
    drawn = "".join(
        f'<div class="{room}">{drawing}</div>' if len(drawings) > 1 else drawing
        for room, drawing in zip(ROOMS[len(drawings)], drawings, strict=True)
    )
    return f'<figure class="{kind}"{measures}>{drawn}{below}</figure>'


def provenance(made: str, survey: Survey, origin: Origin | None = None, notes: Sequence[str] = ()) -> str:
    """Return where a page comes from: how it was made, what is known of its reports if it has any, and the survey."""
    sentences = [made]
    if origin is not None:
        known = " ".join([str(origin), *(f"{note}." for note in notes)])
        sentences = [f"{made} {known}", "The survey that the reports were read with:"]
    shown = f'<pre tabindex="0">{text(survey.text(MOST_ENTRIES))}</pre>'
    return fold("Where this comes from", *map(paragraph, sentences), shown)


def warn_not_identified(
    found: Finding, heading: str = "Not identified: this answer is one of many", cure: str = WHEN_NOT_IDENTIFIED
) -> str:
    """Return a box where the answer is one of many; nothing elsewhere."""
    return callout(heading, remark_on(found), cure) if found.is_no else ""


def warn_poor_fit(found: Fit | None) -> str:
    """Return a box where the reports do not come from the mechanism; nothing elsewhere."""
    if found is None or not found.is_bad:
        return ""
    heading = "fit the survey poorly" if found.verdict is FitVerdict.FITS_POORLY else "do not fit the survey"
    return callout(f"These reports {heading}", str(found))


def warn_uniform(found: Uniformity | None) -> str:
    """Return a box where reports cannot be told from those of a uniform population; nothing elsewhere."""
    if found is None or found.is_rejected:
        return ""
    heading = "These reports say next to nothing" if found.is_weak else "All values look alike"
    return callout(heading, str(found))


def warn_dependent(words: str) -> str:
    """Return a box where reports of one person are not independent; nothing elsewhere."""
    return callout("Not all of these reports are independent", words) if words else ""


def warn_wrong_shape(found: ShapeFit | None) -> str:
    """Return a box where the reports speak against the shape; nothing elsewhere."""
    return callout("The shape is in doubt", str(found)) if found is not None and found.is_bad else ""


def mark_simulated(origin: Origin) -> str:
    """Return a box at the head of the page where reports are simulated, all or some; nothing elsewhere."""
    if not origin.is_simulated:
        return ""
    some = f"{origin.simulated:,.10g} of {origin.total:,.10g} reports are simulated: their noise comes from a seed, and"
    words = (
        str(origin) if origin.noise is Noise.SEEDED else f"{some} whoever knows it can undo it. They protect nobody."
    )
    return callout(f"{origin.in_short.capitalize()} reports", words)


def state_promise(survey: Survey, origin: Origin, files: int = 1) -> str:
    """Return what a survey promises; to each person, where it is stated that each report was made so."""
    guarantee = survey.mechanism.guarantee
    words = str(guarantee)
    is_bounded = not (isinstance(guarantee, LocalDP) and math.isinf(guarantee.epsilon))
    doubt = (
        ", and simulated ones have none" if origin.is_simulated else "; it is not known whether all of these have it"
    )
    return section(
        "What each person was promised" if origin.is_secure else "What this survey promises",
        bullets(explain_guarantee(survey)),
        paragraph(f"{words[:1].upper()}{words[1:]}.".replace(" x ", " \N{MULTIPLICATION SIGN} ")),
        "" if origin.is_secure else paragraph(f"That holds for reports with secure noise{doubt}."),
        note(FACTOR_MEANING) if is_bounded else "",
        note(" ".join(survey.mechanism.fine_print)) if survey.mechanism.fine_print else "",
        note(f"Repetition: {describe_repetition(survey, files).removesuffix('.')}.") if is_bounded else "",
    )


def introduce_reports(survey: Survey, reports: str, origin: Origin) -> str:
    """Return in a sentence or two how many reports there are, and how they came about as far as that is known.

    >>> from confide import RandomizedResponse, Categories
    >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0))
    >>> introduce_reports(survey, "7 reports", Origin(secure=7))
    '7 reports were read, each blurred by k-ary randomized response with secure noise.'
    """
    mechanism = describe_mechanism(survey)
    if origin.noise in (Noise.SECURE, Noise.PERMANENT):
        kind = "secure" if origin.noise is Noise.SECURE else "permanent"
        return f"{reports} were read, each blurred by {mechanism} with {kind} noise."
    if origin.noise is Noise.SEEDED:
        return f"{reports}, each blurred by {mechanism}, were simulated with a seed."
    return f"{reports} were read, as blurred by {mechanism}. {origin}"


def remark_open(found: Finding) -> str:
    """Return a sentence where it is open whether reports can reveal the distribution; nothing elsewhere."""
    return "" if found.is_yes or found.is_no else note(remark_on(found))


def document(**parts: str) -> str:
    """Return the whole page; the parts are HTML already."""
    folder = files(__package__)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    style = "".join((folder / name).read_text(encoding="utf-8") for name in ("design.css", "page.css"))
    lead = f'<p class="lead">{parts.pop("summary")}</p>' if parts.get("summary") else ""
    return template.substitute(parts, summary=lead, style=style)

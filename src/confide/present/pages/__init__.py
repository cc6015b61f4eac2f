"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from numpy.typing import ArrayLike

from confide.check.answers import Fit
from confide.data.files import GroupAnswers, SurveyGroups
from confide.estimates.diagnosis import Diagnosis, QueryAnswer
from confide.estimates.estimate import Outcome
from confide.evidence.counts import Counts
from confide.mechanisms.audits import Audit
from confide.plans import Plan
from confide.present import summary as say
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, complete, summarise_estimate, tell_panel
from confide.present.evidence import summarise_evidence
from confide.present.figures import Role, draw_sheet, style, to_svg
from confide.present.figures.style import COLORS
from confide.present.groups import summarise_groups
from confide.present.summary import Section
from confide.present.surveys import summarise_plan
from confide.surveys.survey import Survey


def text(words: object) -> str:
    """Return words that may stand anywhere in a page.

    >>> text("<b> & 'quotes'")
    '&lt;b&gt; &amp; &#x27;quotes&#x27;'
    """
    return escape(str(words), quote=True)


def paragraph(words: object) -> str:
    """Return a paragraph of plain words."""
    return f"<p>{text(words)}</p>"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,), kind: str = ""
) -> str:
    """Return a table of HTML cells; columns of `words` are left-aligned.

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
    top = f"<thead><tr>{head}</tr></thead>\n" if any(headings) else ""  # lines without titles begin with the first
    rows_and_head = f"{top}<tbody>\n" + "\n".join(lines) + "\n</tbody>"
    label = f"Table: {', '.join(one for one in headings if one)}" if top else "Table"
    opening = f'<table class="{kind}">' if kind else "<table>"
    frame = f'<div class="frame" role="group" aria-label="{text(label)}" tabindex="0">'
    return f"{frame}{opening}\n{rows_and_head}</table></div>"


def render(part: say.Part) -> str:
    """Return a part of a summary as HTML."""
    match part:
        case say.Section():
            shown = _arrange(part)
        case say.Picture():
            shown = _picture(part)
        case say.Cards():
            shown = _cards(part)
        case say.Listing() | say.Lines():
            lines = [] if isinstance(part, say.Listing) else part.lines
            listed = say.Listing(["", ""], [[name, say.Cell(words, is_prose=True)] for name, words in lines], (0, 1))
            listed = part if isinstance(part, say.Listing) else listed
            rows = [[_cell(one) for one in row] for row in listed.rows]
            shown = table(listed.headings, rows, words=listed.left, kind=listed.kind)
        case say.Note():
            shown = f'<p class="note">{text(part.words)}</p>'
        case say.Bullets():
            shown = "<ul>" + "".join(f"<li>{text(sentence)}</li>" for sentence in part.sentences) + "</ul>"
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


def _arrange(part: say.Section) -> str:
    """Return a section with its heading; nothing if empty."""
    heading, inner = text(part.heading), [one for one in map(render, part.parts) if one]
    if part.kind == "more":
        return f"<details><summary>{heading}</summary>\n{''.join(inner)}\n</details>"
    body, level = "\n".join(inner), "h3" if part.kind == "part" else "h2"
    if part.kind == "fold":
        shown = f"<details><summary><h2>{heading}</h2></summary>\n{body}\n</details>"
    else:
        opening = '<section class="hero">' if part.kind == "hero" else "<section>"
        shown = f"{opening}\n<{level}>{heading}</{level}>\n{body}\n</section>"
    return shown if body else ""


def _cell(cell: say.Cell | str) -> str:
    if isinstance(cell, str):
        return text(cell)
    words = f"<strong>{text(cell.words)}</strong>" if cell.is_strong else text(cell.words)
    words += f' <small class="between">{text(cell.beside)}</small>' if cell.beside else ""
    words += f"<br><small>{text(cell.below)}</small>" if cell.below else ""
    return _forest(cell.places) + (f'<span class="prose">{words}</span>' if cell.is_prose else words)


def _forest(places: tuple[float, float, float, float] | None) -> str:
    """Return an interval as a bar with a mark.

    The line of all groups together stands behind it; words stand beside it.
    """
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
    """Return a small square of a colour, to name it in text."""
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
    is_long = any(len(fact) > 80 for _, fact in summary.facts)  # sentences stand in a table, short facts in a row
    facts = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in summary.facts)
    answers = "".join(
        f'<div><dt>{text(asked)}</dt><dd>{text(answer)}</dd><dd class="ends">{text(ends)}</dd></div>'
        for asked, answer, ends in summary.answers
    )
    body = [
        *cautions,
        f'<p class="lead">{text(summary.headline)}</p>' if summary.headline else "",
        f'<dl class="answers">{answers}</dl>' if answers else "",
        render(say.Lines(summary.facts)) if is_long else "",
        f'<p class="fit">{text(summary.verdict)}</p>' if summary.verdict else "",
        *map(render, summary.sections),
    ]
    return document(
        title=text(summary.title),
        lead="",  # what speaks against an answer stands before it
        about=text(" \N{MIDDLE DOT} ".join(summary.about)),
        facts=f'<dl class="facts">{facts}</dl>' if facts and not is_long else "",
        body="\n".join(filter(None, body)),
        footer=render(Section("Where this comes from", summary.origin, "fold")),
    )


def document(*, title: str, lead: str, facts: str, body: str, footer: str, about: str = "") -> str:
    """Return the whole page; the parts are HTML already."""
    folder = files(__package__)
    style = "".join((folder / name).read_text(encoding="utf-8") for name in ("design.css", "page.css"))
    shown = "".join(f'<p class="{kind}">{one}</p>\n' for kind, one in (("about", about), ("lead", lead)) if one)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=title, summary=shown.rstrip(), facts=facts, body=body, footer=footer, style=style)


__all__ = ["diagnosis_page", "estimate_page", "evidence_page", "groups_page", "plan_page"]


def estimate_page(
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None = None,
    noisy: ArrayLike | None = None,
    **known: Any,
) -> str:
    """Return a self-contained HTML page of one or more estimates.

    Parameters
    ----------
    survey
        What was asked and how answers were blurred.
    counts
        The reports; the page says of their noise what their `origin` states, and no more.
    outcomes
        What :func:`confide.assess` returned, one for each method.
    truth
        The true distribution over the alphabet, where it is known.
    noisy
        The share of each report; computed from the counts if left out.
    known
        What else there is to show: `band`, `answers`, `windows`, `marginals` and so on, as
        :class:`confide.present.estimates.Findings` has them. Windows, median and quartiles are found if left out,
        unless there are very many values or the reports certainly do not come from the mechanism.

    Examples
    --------
    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> page = estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    found = Findings(survey, counts, tuple(outcomes), truth, given=noisy, **known)  # type: ignore[arg-type]  # checked
    return show_page(summarise_estimate(complete(found), is_page=True))


def groups_page(groups: SurveyGroups, answers: GroupAnswers | None = None) -> str:
    """Return a self-contained HTML page of groups: answers and differences.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = {("Oslo",): cf.tally(["yes", "no"], [60, 40]), ("Rome",): cf.tally(["yes", "no"], [30, 70])}
    >>> found = cf.estimate_groups(counts, survey.mechanism, cf.IBU())
    >>> page = groups_page(SurveyGroups(found.estimates, survey, ("town",)))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_groups(groups, answers or GroupAnswers(), is_page=True))


def diagnosis_page(
    survey: Survey,
    diagnosis: Diagnosis,
    answers: Sequence[QueryAnswer] = (),
    notes: Sequence[str] = (),
    *,
    groups: Sequence[Section] = (),
) -> str:
    """Return a self-contained HTML page of a diagnosis.

    The notes say which metadata of the reports are missing, the groups what each of them tells.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> diagnosis_page(survey, cf.diagnose(None, survey.mechanism)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_diagnosis(survey, diagnosis, answers, notes=notes, groups=groups, is_page=True))


def plan_page(survey: Survey, plan: Plan) -> str:
    """Return a self-contained HTML page of a plan.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> made = cf.plan(survey.mechanism, [0.7, 0.3], people=500, repeats=4, cache=False)
    >>> plan_page(survey, made).splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_plan(survey, plan))


def evidence_page(survey: Survey, audit: Audit, fit: Fit | None = None, reports: int = 0) -> str:
    """Return a self-contained HTML page of what was promised, checked and said.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> "Who could read what" in evidence_page(survey, cf.audit(survey.mechanism))
    True
    """
    return show_page(summarise_evidence(survey, audit, fit, reports))

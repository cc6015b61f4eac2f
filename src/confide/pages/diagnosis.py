"""Page of a diagnosis: what can be known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import confide
from confide.alphabets import Alphabet, Grid, LineGeometry, PlaneGeometry
from confide.counts import Counts, tally
from confide.diagnosis import Diagnosis, QueryAnswer
from confide.diagnosis.words import evidence_in_words, findings, told_in_words, verdict_in_words
from confide.explanations import describe_repetition, describe_value
from confide.figures import (
    Panel,
    Role,
    draw_classes,
    draw_ranges,
    draw_residuals,
    draw_sheet,
    draw_simplex,
    to_svg,
)
from confide.figures.palette import colors_of
from confide.figures.panels import FloatArray
from confide.figures.simplex import draw_simplex_from_the_side
from confide.intervals import points
from confide.origins import Origin
from confide.pages.findings import tell_panel, tell_ranges, tell_residuals
from confide.pages.markup import (
    NONE,
    bullets,
    cards,
    document,
    fact_list,
    fold,
    mark_simulated,
    note,
    paragraph,
    provenance,
    section,
    table,
    text,
    warn_poor_fit,
    warn_wrong_shape,
    wide_figure,
)
from confide.pages.pictures import arrange, at_widths, picture_windows, show_key
from confide.pages.story import describe_ends, summarise_reports
from confide.surveys import Survey
from confide.theory.fit import FitVerdict
from confide.theory.verdicts import Verdict, labels_in, without_labels

# Values up to which the lowest and highest shares are drawn, and classes that are listed; --json has all of them.
MOST_DRAWN, MOST_LISTED = 2000, 200
# Directions in which the set of best explanations is walked around, to draw it.
DIRECTIONS = 24

# Outputs whose residuals are drawn.
MOST_OUTPUTS = 20_000
# Standard errors below which an explanation leaves nothing to see, as under randomized response.
SOME = 1e-3
# Reports that are simulated where there are none, and bits of them all together.
SIMULATED, MOST_BITS = 20_000, 20_000_000

RESIDUAL_CAPTION = (
    "By how many standard errors each report came more often (orange) or more rarely (grey) than the distribution that "
    "explains all of them best expects. Within two there is nothing unusual; of many, a few reach three."
)

SHORT = {
    Verdict.YES: "yes",
    Verdict.NO: "no",
    Verdict.TOO_CLOSE: "too close to call",
    Verdict.NOT_COVERED: "open",
    Verdict.NOT_CHECKED: "not checked",
}


def diagnosis_page(
    survey: Survey,
    diagnosis: Diagnosis,
    answers: Sequence[QueryAnswer] = (),
    notes: Sequence[str] = (),
    *,
    groups: str = "",
) -> str:
    """Return one self-contained HTML document that shows a diagnosis: the verdict, pictures, and what it rests on.

    The notes say which metadata of the reports are missing.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> diagnosis_page(survey, cf.diagnose(None, survey.mechanism)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    told, words = told_in_words(diagnosis), verdict_in_words(diagnosis)
    is_bad = diagnosis.fit is not None and diagnosis.fit.is_bad
    parts = (
        section("What these reports tell", _windows(survey, diagnosis), bullets(told[1 + is_bad :])) if told else "",
        _queries(answers),
        groups,
        _residuals(diagnosis),
        section("What any number of reports would reveal", bullets(words if told else words[1:])),
        "" if told else _one_value(survey),
        _surface(diagnosis),
        _ranges(survey, diagnosis),
        _classes(diagnosis),
        _evidence(diagnosis),
    )
    return document(
        title=text(f"Can this answer be right? {survey.title}"),
        summary=text(_lede(diagnosis, told or words)),
        facts=_facts(diagnosis),
        body="\n".join(
            [
                mark_simulated(_origin(diagnosis)),
                warn_poor_fit(diagnosis.fit),
                warn_wrong_shape(diagnosis.shape_fit),
                *parts,
            ]
        ),
        footer=_provenance(survey, diagnosis, notes),
    )


def _lede(diagnosis: Diagnosis, words: Sequence[str]) -> str:
    """Return the first sentence; of reports that fit badly the box below it says the rest."""
    fit = diagnosis.fit
    if fit is None or not fit.is_bad:
        return words[0]
    badly = "fit their survey poorly" if fit.verdict is FitVerdict.FITS_POORLY else "do not fit their survey"
    return f"These reports {badly}. What this page says holds only as far as they come from its mechanism."


def _facts(diagnosis: Diagnosis) -> str:
    revealed = {
        "Can be revealed": SHORT[diagnosis.identification.verdict],
        "Converges to the truth": SHORT[diagnosis.consistency.verdict],
    }
    if diagnosis.uniqueness is None or diagnosis.counts is None:
        return fact_list(revealed)
    resolution = diagnosis.resolution
    told = "not found out" if resolution is None else resolution.windows if resolution.width else "no windows"
    within = diagnosis.error if resolution is None else resolution.within
    facts = {
        "Reports": f"{diagnosis.counts.total:,.10g}",
        "Noise": diagnosis.counts.origin.in_short,
        "Fit": "none" if diagnosis.fit is None else str(diagnosis.fit.verdict),
        **({} if diagnosis.shape is None else {"Shape taken for granted": str(diagnosis.shape)}),
        f"Told within {points(within)}": told,
        "One best explanation": SHORT[diagnosis.uniqueness.verdict],
    }
    return fact_list(facts | {"Can be revealed": revealed["Can be revealed"]})


def _windows(survey: Survey, diagnosis: Diagnosis) -> str:
    """Return all values in windows that the reports tell in proportion, and the reports beside where there is room."""
    windows = diagnosis.windows
    if windows is None or diagnosis.counts is None:
        return ""
    sent = summarise_reports(survey, diagnosis.counts, considered=diagnosis.alphabet)
    noisy = sent.shares if sent is not None and not sent.remark else None
    color = colors_of([diagnosis.estimate.method.name])[0]
    return picture_windows(windows, diagnosis.estimate.distribution, survey.name, noisy=noisy, color=color)


def _residuals(diagnosis: Diagnosis) -> str:
    """Return how far each output is from what the best explanation expects of it."""
    if diagnosis.residuals is None:
        return ""
    outputs, residuals = diagnosis.residuals
    if outputs.size > MOST_OUTPUTS or not np.nanmax(np.abs(residuals), initial=0.0) > SOME:
        return ""
    is_ones = diagnosis.mechanism.facts.bits is not None
    name = "number of bits that are set" if is_ones else "report"
    told = tell_residuals(outputs, residuals, name)
    if isinstance(outputs.geometry, PlaneGeometry):
        drawing = to_svg(draw_residuals(outputs, residuals, name), told)
        return section("How the reports fit", wide_figure(drawing, caption=RESIDUAL_CAPTION, style="max-width:34rem"))
    drawn = at_widths(lambda width: draw_residuals(outputs, residuals, name, width=width), told)
    return section("How the reports fit", wide_figure(*drawn, caption=RESIDUAL_CAPTION))


def _one_value(survey: Survey) -> str:
    """Return what the reports of people look like who all have one value, by a simulation."""
    mechanism, alphabet = survey.mechanism, survey.alphabet
    place = alphabet.size // 2 if alphabet.is_finite else 0
    drawn = min(SIMULATED, max(100, MOST_BITS // (alphabet.size if alphabet.is_finite else 1)))
    counts = tally(mechanism.privatize(alphabet.decode([place] * drawn), rng=0, taken=True))
    sent = summarise_reports(survey, counts, considered=_around(alphabet, counts))
    if sent is None:
        return ""
    name = describe_value(alphabet, place, survey.name)
    panel = Panel(sent.title, sent.shares, f"{drawn:,} reports, simulated", role=Role.NOISY)
    lead = f"How much one report says: the reports of people who all have {name}, simulated."
    return section("What the noise does", paragraph(lead), arrange(sent.alphabet, [panel], "report"))


def _around(alphabet: Alphabet, counts: Counts) -> Alphabet | None:
    """Return a range of values that holds nearly all reports, where values are unbounded."""
    if alphabet.is_finite:
        return None
    middle = np.percentile(np.rint(counts.reports.astype(float)), [1, 99], axis=0).astype(int)
    if isinstance(alphabet.geometry, LineGeometry):
        return alphabet.between(int(middle[0]), int(middle[1]))
    (top, left), (bottom, right) = middle.tolist()
    return Grid(bottom - top + 1, right - left + 1, first_row=top, first_column=left)


def _queries(answers: Sequence[QueryAnswer]) -> str:
    if not answers:
        return ""
    rows = [
        [text(one.query), *map(text, _answer_cells(one)), text(SHORT[one.identification.verdict])] for one in answers
    ]
    headings = ["Query", "Answer", "From", "To", "Equally good explanations", "Revealed by enough reports"]
    return section("What was asked", table(headings, rows))


def _answer_cells(answer: QueryAnswer) -> list[str]:
    """Return the answer, its ends, and the range of the best explanations where they differ."""
    ends = [NONE] * 3 if answer.interval is None else describe_ends(answer.interval)
    if answer.lowest is None or answer.highest is None:
        return [*ends, NONE]
    low, high = f"{answer.lowest:.2%}", f"{answer.highest:.2%}"
    outer = " at most" if answer.is_outer else ""
    return [*ends, "one answer" if low == high else f"{low} to {high}{outer}"]


def _surface(diagnosis: Diagnosis) -> str:
    """Return the likelihood over the triangle, where there are three values and reports."""
    if not diagnosis.has_reports or diagnosis.counts is None or diagnosis.alphabet.size != 3:
        return ""
    evidence = diagnosis.mechanism.observe(diagnosis.counts)
    best, labels = _corners(diagnosis), diagnosis.alphabet.labels()

    def likelihood(points: FloatArray) -> FloatArray:
        return np.array([evidence.log_likelihood(point) for point in points])

    caption = (
        "Every point of the triangle is a distribution; at a corner one value has it all. The stronger the colour, the "
        "likelier it makes the reports. Outlined: the best explanations, one point if there is only one. From the side "
        "the height is the log-likelihood below the maximum."
    )
    told = f"The reports are likeliest where {_place_of(labels, best)}."
    drawn = [
        _card("From above", to_svg(draw_simplex(labels, likelihood, best), told)),
        _card(
            "From the side",
            to_svg(draw_simplex_from_the_side(labels, likelihood, best), f"{told} The same as a surface."),
        ),
    ]
    return section(
        "How likely every distribution is", paragraph(caption), cards(drawn, f"--panel:345px;--columns:{len(drawn)}")
    )


def _place_of(labels: Sequence[str], best: FloatArray) -> str:
    """Return between what the shares of the best explanations lie."""
    ends = zip(labels, best.min(axis=0).tolist(), best.max(axis=0).tolist(), strict=True)
    return ", ".join(
        f"{label} has {low:.0%}" if round(low, 2) == round(high, 2) else f"{label} has {low:.0%} to {high:.0%}"
        for label, low, high in ends
    )


def _corners(diagnosis: Diagnosis) -> FloatArray:
    """Return points around the set of best explanations, each once."""
    best = diagnosis.maximum_set
    if best.dimension == 0:
        return best.point[None, :]
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    first, second = np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, -2.0])
    walked = [best.furthest(np.cos(angle) * first + np.sin(angle) * second) for angle in angles]
    return np.unique(np.round(walked, 9), axis=0)


def _ranges(survey: Survey, diagnosis: Diagnosis) -> str:
    """Return the lowest and highest share of each value, where the reports leave a choice."""
    is_open = diagnosis.uniqueness is not None and diagnosis.uniqueness.verdict is not Verdict.YES
    best = diagnosis.known_maximum
    if not is_open or best is None or not best.is_small or diagnosis.alphabet.size > MOST_DRAWN:
        return ""
    outer = "" if best.is_exact else " These are outer bounds: the best explanations may not come as far."
    lead = paragraph(
        "All of these are equally likely. Each value's share lies somewhere between its lowest and its highest; not "
        f"all can be high at once, for shares sum to one.{outer}"
    )
    if isinstance(diagnosis.alphabet.geometry, PlaneGeometry):
        return section("The share of each cell among all best explanations", lead, _maps(survey, diagnosis))
    told = tell_ranges(diagnosis.alphabet, best.lowest, best.highest, survey.name)
    drawn = at_widths(
        lambda width: draw_ranges(diagnosis.alphabet, best.lowest, best.highest, survey.name, width=width), told
    )
    return section("The share of each value among all best explanations", lead, wide_figure(*drawn))


def _maps(survey: Survey, diagnosis: Diagnosis) -> str:
    best = diagnosis.maximum_set
    panels = [
        Panel("Lowest share", best.lowest),
        Panel("Highest share", best.highest),
        Panel("One of them", best.point),
    ]
    sheet = draw_sheet(diagnosis.alphabet, panels, survey.name)
    drawn = [
        _card(panel.title, to_svg(figure, tell_panel(panel, diagnosis.alphabet, survey.name)))
        for panel, figure in zip(panels, sheet.figures, strict=True)
    ]
    return cards(drawn, f"--columns:{len(drawn)}") + show_key(sheet)


def _classes(diagnosis: Diagnosis) -> str:
    parts = diagnosis.partition
    if parts is None or parts.is_trivial:
        return ""
    listed = table(
        ["Class", "Values that no report tells apart", "How many", "Share"], _class_rows(diagnosis), words=(0, 1)
    )
    if parts.alphabet.grid is None:
        return section("Values that cannot be told apart", listed)
    drawing = to_svg(
        draw_classes(parts.alphabet.grid, parts.class_of),
        f"{len(_class_rows(diagnosis)):,} groups of cells cannot be told apart; the table lists them.",
    )
    caption = "Cells of one colour and number cannot be told apart; white cells stand alone, grey is no cell."
    figure = wide_figure(drawing, caption=caption)
    return section("Cells that cannot be told apart", figure, listed)


def _class_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return each class of several values: its number in the picture, its values, and its estimated share."""
    parts, shares = diagnosis.partition, diagnosis.class_shares
    if parts is None:
        return []
    words = [NONE] * parts.size if shares is None else [f"{share:.2%}" for share in shares]
    lines = zip(parts.labels, parts.classes, words, strict=True)
    joined = [(label, members.size, share) for label, members, share in lines if members.size > 1]
    return [
        [str(number), text(label), f"{size:,}", share]
        for number, (label, size, share) in enumerate(joined[:MOST_LISTED], start=1)
    ]


def _evidence(diagnosis: Diagnosis) -> str:
    decided = findings(diagnosis)
    rows = [
        [
            text(question),
            f"<strong>{text(finding.verdict)}</strong>",
            _wrapped(finding.reason),
            _named(finding.source),
        ]
        for question, finding in decided
    ]
    settled = {question for question, _ in decided}
    others = [line for line in evidence_in_words(diagnosis) if line[0] not in settled]
    rows += [[text(question), "", _wrapped(answer), ""] for question, answer in others]
    headings = ["Question", "Verdict", "Why", "Theorem or measurement"]
    return fold(
        "What it rests on",
        table(headings, rows, words=(0, 1, 2, 3), kind="stacked"),
        note("Small print: the label in the paper; docs/theory.md says what each theorem needs."),
    )


def _named(source: str) -> str:
    """Return what a finding rests on by what it says, with the paper's label in small print."""
    labels = ", ".join(labels_in(source))
    small = f"<br><small>{text(labels)}</small>" if labels else ""
    return _wrapped(without_labels(source)).removesuffix("</span>") + small + "</span>"


def _wrapped(words: str) -> str:
    """Return a cell whose words may break, for reasons are long."""
    return f'<span class="prose">{text(words)}</span>'


def _card(title: str, drawing: str) -> str:
    return f"<figure><h3>{text(title)}</h3>\n{drawing}\n</figure>"


def _provenance(survey: Survey, diagnosis: Diagnosis, notes: Sequence[str]) -> str:
    promised = describe_repetition(survey).removesuffix(".")
    made = f"Made by confide {confide.__version__}. The promise of the survey to one person, {promised}."
    if diagnosis.counts is None:
        return provenance(f"{made} The survey, which devices and curator both read:", survey)
    return provenance(made, survey, diagnosis.counts.origin, notes)


def _origin(diagnosis: Diagnosis) -> Origin:
    return Origin() if diagnosis.counts is None else diagnosis.counts.origin

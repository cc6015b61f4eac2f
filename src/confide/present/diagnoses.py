"""Summary of a diagnosis: what reports resolve, and what any could."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import confide
from confide.check.answers import FitVerdict
from confide.estimates.diagnosis import (
    Diagnosis,
    QueryAnswer,
    evidence_in_words,
    findings,
    told_in_words,
    verdict_in_words,
)
from confide.estimates.explanations import describe_mechanism, describe_repetition, describe_value
from confide.evidence.counts import Counts, Origin, tally
from confide.present import summary as say
from confide.present.estimates import picture_windows, short_percent, summarise_reports
from confide.present.figures import Panel, Role, draw_classes, draw_ranges, draw_residuals, style
from confide.present.figures.style import FloatArray, colors_of
from confide.present.summary import (
    NONE,
    Bullets,
    Cell,
    Line,
    Lines,
    Listing,
    Note,
    Part,
    Picture,
    Row,
    Section,
    Summary,
)
from confide.surveys.survey import Survey
from confide.theory.verdicts import Verdict, labels_in, without_labels
from confide.values import Alphabet, Grid, LineGeometry

MOST_LINES = 15
"""Values, or classes, that a terminal lists; --json has all of them."""


def summarise_diagnosis(  # noqa: PLR0913 - what a diagnosis is made of
    survey: Survey,
    diagnosis: Diagnosis,
    answers: Sequence[QueryAnswer] = (),
    *,
    source: str = "",
    notes: Sequence[str] = (),
    groups: Sequence[Section] = (),
    is_page: bool = False,
) -> Summary:
    """Return all that a diagnosis says; pictures only for a page.

    `source` says where the reports were read, `notes` which metadata they lack, and `groups` what each group tells.
    """
    told, words = told_in_words(diagnosis), verdict_in_words(diagnosis)
    counts, fit, promised = diagnosis.counts, diagnosis.fit, describe_repetition(survey)
    origin = Origin() if counts is None else counts.origin
    details = [("Mechanism", describe_mechanism(survey)), ("Promise of the survey", promised)]
    if counts is not None:
        people = counts.as_counted.total
        details += [("Reports", f"{people:,.10g}, from {source}"), *say.describe_weighting(counts.weighting)]
        details += say.describe_noise(origin, notes)
    details += evidence_in_words(diagnosis)
    details += [("What the fit shows", " ".join(fit.details))] if fit is not None and fit.details else []
    is_bad, windows = fit is not None and fit.is_bad, diagnosis.windows
    headline = words[0] if fit is None else fit.headline if windows is None else windows.headline
    if fit is not None and is_bad:
        badly = "fit their survey poorly" if fit.verdict is FitVerdict.FITS_POORLY else "do not fit their survey"
        headline = f"These reports {badly}. The rest holds only if they come from its mechanism."
    # The headline, the last line and a caution say the rest.
    known = [one for one in told[1 + is_bad :] if one != headline]
    revealed = [one for one in words if one != headline]
    if is_page:
        sections = _page_sections(survey, diagnosis, answers, groups, known, revealed)
    else:
        sections = [
            Section("", [Lines([(one.query, str(one)) for one in answers])] if answers else []),
            Section("What these reports resolve", [Bullets(known)] if known else []),
            Section("Could more reports answer this?", [Bullets(revealed[:1])] if revealed else []),
            Section("", [Bullets(revealed[1:])] if revealed[1:] else [], "fold"),
            *_classes(diagnosis),
            *_ranges(survey, diagnosis),
            *groups,
        ]
    made = (
        f"Made by confide {confide.__version__}. The promise of the survey to one person, {promised.removesuffix('.')}."
    )
    if counts is None:
        about = [describe_mechanism(survey), say.about_reports(survey, 0, origin)[1]]
        comes = say.come_from(f"{made} The survey, which devices and curator both read:", survey)
    else:
        about = say.about_reports(survey, counts.as_counted.total, origin, counts.as_counted.design_effect)
        comes = say.come_from(made, survey, origin, notes)
    return Summary(
        title=f"Can this answer be right? {survey.title}" if is_page else survey.title,
        about=about,
        headline=headline,
        cautions=[
            *say.caution_simulated(origin, is_page=is_page),
            *say.caution_fits(diagnosis.fit, diagnosis.shape_fit),
        ],
        sections=sections,
        verdict="" if fit is None or is_bad else fit.headline,
        details=details,
        origin=comes,
    )


def _page_sections(
    survey: Survey,
    diagnosis: Diagnosis,
    answers: Sequence[QueryAnswer],
    groups: Sequence[Section],
    known: Sequence[str],
    revealed: Sequence[str],
) -> list[Section]:
    has_reports = diagnosis.counts is not None
    return [
        Section("What these reports resolve", [*_windows(survey, diagnosis), Bullets(known)] if has_reports else []),
        _queries(answers),
        *groups,
        _residuals(diagnosis),
        Section("Could more reports answer this?", [Bullets(revealed)]),
        *([] if has_reports else _one_value(survey)),
        *_ranges(survey, diagnosis),
        *_classes(diagnosis),
        _evidence(diagnosis),
    ]


def _windows(survey: Survey, diagnosis: Diagnosis) -> list[Part]:
    """Return the windows that reports resolve, with the reports if they fit."""
    windows = diagnosis.windows
    if windows is None or diagnosis.counts is None:
        return []
    sent = summarise_reports(survey, diagnosis.counts, considered=diagnosis.alphabet)
    noisy = sent.shares if sent is not None and not sent.remark else None
    color = colors_of([diagnosis.estimate.method.name])[0]
    return picture_windows(windows, diagnosis.estimate.distribution, survey.name, noisy=noisy, color=color)


def _queries(answers: Sequence[QueryAnswer]) -> Section:
    """Return each answer, its interval, and the range of all maxima."""
    in_short = {
        Verdict.YES: "yes",
        Verdict.NO: "no",
        Verdict.TOO_CLOSE: "too close to call",
        Verdict.NOT_COVERED: "open",
        Verdict.NOT_CHECKED: "not checked",
    }
    rows = []
    for one in answers:
        ends = (NONE,) * 3 if one.interval is None else one.interval.texts(2)
        best = NONE
        if one.lowest is not None and one.highest is not None:
            low, high = f"{one.lowest:.2%}", f"{one.highest:.2%}"
            best = "one answer" if low == high else f"{low} to {high}{' at most' if one.is_outer else ''}"
        rows.append([one.query, *ends, best, in_short[one.identification.verdict]])
    headings = ["Query", "Answer", "From", "To", "Equally good explanations", "Revealed by enough reports"]
    return Section("What was asked", [Listing(headings, rows)] if rows else [])


def _residuals(diagnosis: Diagnosis) -> Section:
    """Return the difference of each output from its expectation."""
    heading, found = "How the reports fit", diagnosis.residuals
    # Nothing is to be seen where an explanation leaves next to nothing, as under randomized response.
    if found is None or found[0].size > 20_000 or not np.nanmax(np.abs(found[1]), initial=0.0) > 1e-3:
        return Section(heading, [])
    outputs, residuals = found
    name = "report" if diagnosis.mechanism.facts.bits is None else "number of bits that are set"
    caption = (
        "How far each report is from what the best explanation expects, in standard errors: more often (orange) or "
        "more rarely (grey). Within two is usual; of many, a few reach three."
    )
    told = tell_residuals(outputs, residuals, name)
    if outputs.grid is not None:
        whole = (style.MIDDLE,)
        map_of = Picture(lambda _: draw_residuals(outputs, residuals, name), told, caption, whole, "max-width:34rem")
        return Section(heading, [map_of])
    drawn = Picture(lambda width: draw_residuals(outputs, residuals, name, width=width), told, caption)
    return Section(heading, [drawn])


def _one_value(survey: Survey) -> list[Section]:
    """Return simulated reports of people who all have one value."""
    mechanism, alphabet = survey.mechanism, survey.alphabet
    place = alphabet.size // 2 if alphabet.is_finite else 0
    # Reports, and of bit vectors so many that they have 20 million bits at most.
    drawn = min(20_000, max(100, 20_000_000 // (alphabet.size if alphabet.is_finite else 1)))
    counts = tally(mechanism.privatize(alphabet.decode([place] * drawn), rng=0, taken=True))
    sent = summarise_reports(survey, counts, considered=around(alphabet, counts))
    if sent is None:
        return []
    panel = Panel(sent.title, sent.shares, f"{drawn:,} reports, simulated", role=Role.NOISY)
    name = describe_value(alphabet, place, survey.name)
    lead = f"How much one report says: the reports of people who all have {name}, simulated."
    return [Section("What the noise does", [lead, say.Cards(sent.alphabet, [panel], "report")])]


def around(alphabet: Alphabet, counts: Counts) -> Alphabet | None:
    """Return a range that holds nearly all reports, for unbounded values."""
    if alphabet.is_finite:
        return None
    middle = np.percentile(np.rint(counts.reports.astype(float)), [1, 99], axis=0).astype(int)
    if isinstance(alphabet.geometry, LineGeometry):
        return alphabet.between(int(middle[0]), int(middle[1]))
    (top, left), (bottom, right) = middle.tolist()
    return Grid(bottom - top + 1, right - left + 1, first_row=top, first_column=left)


def _ranges(survey: Survey, diagnosis: Diagnosis) -> list[Section]:
    """Return ranges of shares among all maxima, the least certain first."""
    alphabet, name, known = diagnosis.alphabet, survey.name, diagnosis.known_maximum
    is_open = diagnosis.uniqueness is not None and diagnosis.uniqueness.verdict is not Verdict.YES
    if not is_open or known is None or not known.is_small:
        return []
    best = diagnosis.maximum_set
    outer = "" if best.is_exact else " These are outer bounds: the best explanations may not come as far."
    lead = (
        "All of these are equally likely. Each value's share lies somewhere between its lowest and its highest; not "
        f"all can be high at once, for shares sum to one.{outer}"
    )
    rows: list[Row] = []
    order = np.argsort(-(best.highest - best.lowest), kind="stable")
    shown = (np.arange(alphabet.size) if alphabet.size <= MOST_LINES else order).tolist()
    for label, low, high in zip(alphabet.labels(shown), best.lowest[shown], best.highest[shown], strict=True):
        drawn = Cell("", places=(float(low), float(low), float(high), 0.0))
        rows.append([label, f"{low:.2%}", f"{high:.2%}", drawn])
    rest = f"{MOST_LINES} of {alphabet.size:,} values, the least certain first; --json has all."
    table = Listing([name, "lowest", "highest", "from 0% to 100%"], rows, (3,), "tall", MOST_LINES, rest)
    parts: list[Part] = [lead]
    if alphabet.grid is not None:
        ends = (("Lowest share", best.lowest), ("Highest share", best.highest), ("One of them", best.point))
        parts.append(say.Cards(alphabet, [Panel(*one) for one in ends], name))
    elif alphabet.size <= 2000:  # as many as can be drawn
        told = tell_ranges(alphabet, best.lowest, best.highest, name)
        parts.append(Picture(lambda width: draw_ranges(alphabet, best.lowest, best.highest, name, width=width), told))
    parts.append(Section("In numbers", [table], "more"))
    return [Section("Share of each value among all best explanations", parts)]


def joined_classes(diagnosis: Diagnosis) -> list[tuple[str, int, float | None]]:
    """Return each class of indistinguishable values, with its share if known."""
    parts, shares = diagnosis.partition, diagnosis.class_shares
    if parts is None or parts.is_trivial:
        return []
    known = [None] * parts.size if shares is None else shares.tolist()
    lines = zip(parts.labels, parts.classes, known, strict=True)
    return [(label, members.size, share) for label, members, share in lines if members.size > 1]


def _classes(diagnosis: Diagnosis) -> list[Section]:
    """Return the values that no report distinguishes, class by class."""
    parts, joined = diagnosis.partition, joined_classes(diagnosis)[:200]  # as many as a page lists
    if parts is None or not joined:
        return []
    rows = [
        [str(number), label, f"{size:,}", NONE if share is None else f"{share:.2%}"]
        for number, (label, size, share) in enumerate(joined, start=1)
    ]
    rest = f"{MOST_LINES} of {len(joined):,} classes; --json has all."
    listed = Listing(["Class", "Values", "How many", "Estimated share"], rows, (0, 1), "", MOST_LINES, rest)
    grid, classes, heading = parts.alphabet.grid, parts.class_of, "Values that no report distinguishes"
    if grid is None:
        return [Section(heading, [listed])]
    told = f"{len(rows):,} groups of cells cannot be distinguished; the table lists them."
    caption = "No report distinguishes cells of one colour and number; white cells stand alone, grey is no cell."
    drawn = Picture(lambda _: draw_classes(grid, classes), told, caption, (style.NARROW,))
    return [Section(heading, [drawn, listed])]


def _evidence(diagnosis: Diagnosis) -> Section:
    """Return each question with its verdict, reason and theorem."""
    decided = dict(findings(diagnosis))
    rows: list[list[Cell]] = []
    for question, one in decided.items():
        source = Cell(without_labels(one.source), below=", ".join(labels_in(one.source)), is_prose=True)
        verdict = Cell(str(one.verdict), is_strong=True)
        rows.append([Cell(question), verdict, Cell(one.reason, is_prose=True), source])
    others: list[Line] = [line for line in evidence_in_words(diagnosis) if line[0] not in decided]
    rows += [[Cell(question), Cell(""), Cell(answer, is_prose=True), Cell("")] for question, answer in others]
    table = Listing(["Question", "Verdict", "Why", "Theorem or measurement"], rows, (0, 1, 2, 3), "stacked")
    small = Note("Small print: the label in the paper; docs/theory.md says what each theorem needs.")
    return Section("What it rests on", [table, small], "fold")


def tell_residuals(outputs: Alphabet, residuals: FloatArray, name: str) -> str:
    """Describe the report farthest from expectation, and the number of outliers."""
    heights = np.nan_to_num(residuals)
    top = int(np.argmax(np.abs(heights)))
    how = "more" if heights[top] > 0 else "less"
    beyond = int((np.abs(heights) > 2.0).sum())
    return (
        f"The farthest from what is expected is {name} {outputs.labels([top])[0]}, seen {how} often by "
        f"{abs(float(heights[top])):.1f} standard errors; {beyond:,} of {outputs.size:,} are beyond two."
    )


def tell_ranges(alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str) -> str:
    """Return which shares are known least and best among all best explanations."""
    widths = highest - lowest
    widest, narrowest = int(np.argmax(widths)), int(np.argmin(widths))
    told = [
        f"{describe_value(alphabet, place, name)} is between {low} and {high}"
        for place in dict.fromkeys((widest, narrowest))
        for low, high in [(short_percent(lowest[place]), short_percent(highest[place]))]
    ]
    return f"Among all best explanations the share of {', that of '.join(told)}."

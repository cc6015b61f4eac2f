"""Summary: all that an answer says, made once. Renderers show it; they neither compute nor phrase anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confide.channels.base import FloatArray
from confide.check.answers import Fit, FitVerdict
from confide.check.shapes import ShapeFit
from confide.estimates.estimate import Estimate
from confide.estimates.explanations import describe_mechanism, describe_repetition, explain_guarantee
from confide.estimates.inference import Band, Interval, Windows
from confide.evidence.counts import Noise, Origin
from confide.mechanisms.guarantees import LocalDP
from confide.present.figures import style
from confide.present.figures.panels import Panel
from confide.surveys.survey import Survey
from confide.theory.verdicts import Finding, remark_on
from confide.values import Alphabet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = "\N{EN DASH}"
"""Cell of a table where there is nothing to say."""

MOST_ENTRIES = 40
"""Entries of a list that a survey is shown with; the survey file itself has the rest."""

Line = tuple[str, str]
"""A word, and what it stands for."""


@dataclass(frozen=True)
class Caution:
    """What speaks against an answer, or must be known before it is read.

    Attributes
    ----------
    title
        Two words for it. Under "But" it is one of the first lines; under another title, a note of its own.
    heading
        The same as a heading of a page.
    words
        Sentences; the first one can stand alone.
    """

    title: str
    heading: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """Cell of a table: its words, what stands in small letters beside or below them, and how it looks.

    `places` are the low end, the mark, the high end and the line of all, as parts of a scale on which they are drawn.
    """

    words: str
    beside: str = ""
    below: str = ""
    is_strong: bool = False
    is_prose: bool = False
    places: tuple[float, float, float, float] | None = None


Row = Sequence[Cell | str]
"""Row of a table."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Table: columns of `left` hold words, the others numbers; a `stacked` one is of sentences, a `tall` one long.

    `most` rows are shown on a terminal unless all are asked for, with the sentence `rest` below; where it is wider
    than the terminal, `narrow` takes its place.
    """

    headings: Sequence[str]
    rows: Sequence[Row]
    left: Sequence[int] = (0,)
    kind: str = ""
    most: int | None = None
    rest: str = ""
    narrow: Listing | None = None


@dataclass(frozen=True)
class Note:
    """Sentence that stands back a little."""

    words: str


@dataclass(frozen=True)
class Bullets:
    """List, one sentence a point."""

    sentences: Sequence[str]


@dataclass(frozen=True)
class Lines:
    """Words with what they stand for, one below the other."""

    lines: Sequence[Line]


@dataclass(frozen=True)
class Legend:
    """What a colour of the pictures below stands for; then words about something else."""

    color: str
    words: str
    more: str = ""


@dataclass(frozen=True)
class Download:
    """File that a page carries with it, the words of its link and what follows them."""

    name: str
    content: str
    link: str
    words: str


@dataclass(frozen=True)
class Source:
    """Text of a file, shown as it is."""

    text: str


@dataclass(frozen=True, eq=False)
class Picture:
    """Picture that is drawn for each of several widths in inches, and what there is to see in it."""

    draw: Callable[[float], Figure]
    told: str
    caption: str = ""
    widths: Sequence[float] = (style.WIDE, style.MIDDLE, style.NARROW)
    measures: str = ""


@dataclass(frozen=True, eq=False)
class Cards:
    """Distributions over one alphabet as pictures side by side."""

    alphabet: Alphabet
    panels: Sequence[Panel]
    name: str
    has_colors: bool = True


@dataclass(frozen=True, eq=False)
class Chart:
    """Distribution as bars on a terminal: by windows, by single values with their ends, or by ranges."""

    name: str
    alphabet: Alphabet
    shares: FloatArray
    truth: FloatArray | None = None
    band: Band | None = None
    windows: Windows | None = None


@dataclass(frozen=True, eq=False)
class Beside:
    """Columns that stand side by side where there is room."""

    columns: Sequence[Sequence[Part]]


@dataclass(frozen=True, eq=False)
class Section:
    """Heading and what stands below it; nothing is shown where that is nothing.

    `kind` is "" for a section, "hero" for the first one that matters, "part" within another one, "fold" for what is
    opened by those who want it, "more" for a fold within a section.
    """

    heading: str
    parts: Sequence[Part]
    kind: str = ""


Part = str | Note | Bullets | Lines | Legend | Download | Source | Picture | Cards | Chart | Listing | Beside | Section


@dataclass(frozen=True, eq=False)
class Summary:
    """All that an answer says.

    Attributes
    ----------
    title, headline
        What it is about, and the answer in a sentence where there is one.
    opening
        The first lines on a terminal.
    facts
        What to see at a glance, by name.
    cautions
        What speaks against it.
    leading
        Questions with their answers, and between what ends these lie, for large letters.
    answers
        Every question with its answer in a sentence.
    sections
        Everything else, in the order in which it is read.
    details
        What it rests on, one line each.
    origin
        Where it comes from: sentences, and the survey.
    """

    title: str
    headline: str = ""
    opening: Sequence[Line] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    cautions: Sequence[Caution] = ()
    leading: Sequence[tuple[str, str, str]] = ()
    answers: Sequence[Line] = ()
    sections: Sequence[Section | Beside] = ()
    details: Sequence[Line] = ()
    origin: Sequence[Part] = ()


def caution_estimate(answer: Estimate) -> list[Caution]:
    """Return what speaks against an estimate: it stands before the answer."""
    found, uniform = [], answer.uniformity
    if uniform is not None and not uniform.is_rejected:
        heading = "These reports say next to nothing" if uniform.is_weak else "All values look alike"
        found.append(Caution("But", heading, (str(uniform),)))
    if answer.dependence:
        found.append(Caution("But", "Not all of these reports are independent", (answer.dependence,)))
    return [*found, *caution_fits(answer.fit, answer.shape_fit), *caution_identification(answer.identification)]


def caution_fits(fit: Fit | None, shape_fit: ShapeFit | None) -> list[Caution]:
    """Return that the reports do not come from the mechanism, or speak against the shape."""
    found = []
    if fit is not None and fit.is_bad:
        badly = "fit the survey poorly" if fit.verdict is FitVerdict.FITS_POORLY else "do not fit the survey"
        found.append(Caution("Poor fit", f"These reports {badly}", (fit.headline, *fit.details)))
    if shape_fit is not None and shape_fit.is_bad:
        found.append(Caution("Wrong shape", "The shape is in doubt", (shape_fit.headline, *shape_fit.details)))
    return found


def caution_identification(found: Finding, groups: str = "") -> list[Caution]:
    """Return that the answer is one of many, or so in some groups, which have no intervals."""
    best = "the answers of all distributions that explain the reports best"
    asked = "" if groups else f" --query and --interval give intervals that hold {best}."
    cure = (
        f"confide diagnose says which values no report tells apart.{asked} To settle it, merge values in the survey or "
        f"use another mechanism."
    )
    heading = f"Not identified{groups}" if groups else "Not identified: this answer is one of many"
    return [Caution(f"Not identified{groups}", heading, (remark_on(found), cure))] if found.is_no else []


def caution_simulated(origin: Origin) -> list[Caution]:
    """Return that reports are simulated, all or some."""
    if not origin.is_simulated:
        return []
    some = f"{origin.simulated:,.10g} of {origin.total:,.10g} reports are simulated: their noise comes from a seed, and"
    words = (
        str(origin) if origin.noise is Noise.SEEDED else f"{some} whoever knows it can undo it. They protect nobody."
    )
    return [Caution("Simulated", f"{origin.in_short.capitalize()} reports", (words,))]


def state_promise(survey: Survey, origin: Origin, files: int = 1) -> Section:
    """Return what a survey promises; to each person, where it is stated that each report was made so."""
    guarantee, small = survey.mechanism.guarantee, survey.mechanism.fine_print
    words = str(guarantee)
    doubt = (
        ", and simulated ones have none" if origin.is_simulated else "; it is not known whether all of these have it"
    )
    parts: list[Part] = [
        Bullets(explain_guarantee(survey)),
        f"{words[:1].upper()}{words[1:]}.".replace(" x ", " \N{MULTIPLICATION SIGN} "),
        "" if origin.is_secure else f"That holds for reports with secure noise{doubt}.",
    ]
    is_bounded = not (isinstance(guarantee, LocalDP) and math.isinf(guarantee.epsilon))
    factor = (
        "The factor compares two values a person may have: no report is more than that many times as likely under one "
        "as under the other. A factor of 1 would mean that a report says nothing about which of the two it is. The "
        "promise holds whatever else is known about the person, and nothing done with a report later can weaken it. It "
        "covers one report: whoever reports the same value again gives a little more away each time."
    )
    parts += [Note(factor)] if is_bounded else []
    parts += [Note(" ".join(small))] if small else []
    parts += [Note(f"Repetition: {describe_repetition(survey, files).removesuffix('.')}.")] if is_bounded else []
    return Section("What each person was promised" if origin.is_secure else "What this survey promises", parts)


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


def come_from(made: str, survey: Survey, origin: Origin | None = None, notes: Sequence[str] = ()) -> list[Part]:
    """Return where a page comes from: how it was made, what is known of its reports if it has any, and the survey."""
    source = Source(survey.text(MOST_ENTRIES))
    if origin is None:
        return [made, source]
    known = " ".join([made, str(origin), *(f"{note}." for note in notes)])
    return [known, "The survey that the reports were read with:", source]


def describe_noise(origin: Origin, notes: Iterable[str] = ()) -> list[Line]:
    """Return lines for what is known of how the reports were made, and what is missing for more."""
    return [("Noise", str(origin)), *(("", f"{note}.") for note in notes)]


def remark_open(found: Finding) -> str:
    """Return a sentence where it is open whether reports can reveal the distribution; nothing elsewhere."""
    return "" if found.is_yes or found.is_no else remark_on(found)


def describe_fit(found: Fit | ShapeFit) -> str:
    """Return the verdict, and what would have shown; a bad fit has a note of its own."""
    return f"{found.verdict}; see the note" if found.is_bad else str(found)


def between(answer: Interval, decimals: int) -> tuple[str, str]:
    """Return an answer, and between what ends it lies."""
    now, low, high = answer.texts(decimals)
    return now, f"{low} to {high}"

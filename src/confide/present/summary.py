"""Summary: all that an answer says, made once for all renderers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.channels.base import FloatArray
from confide.check.answers import Fit, FitVerdict
from confide.check.shapes import ShapeFit
from confide.estimates.estimate import Estimate
from confide.estimates.explanations import describe_mechanism, describe_repetition, describe_shuffled, explain_guarantee
from confide.estimates.inference import Band, Interval, Windows, percent
from confide.evidence.counts import Noise, Origin
from confide.mechanisms.guarantees import LocalDP
from confide.present.figures import style
from confide.present.figures.style import Panel
from confide.surveys.survey import Survey
from confide.theory.verdicts import Finding, remark_on
from confide.values import Alphabet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = "\N{EN DASH}"
"""Cell of a table where there is nothing to say."""

MOST_ENTRIES = 40
"""Entries of a list that a survey is shown with; the survey file itself has the rest."""

BOTH_TRUE = "The curve assumes that neighbouring values are similar; the intervals assume nothing. Both are true."
"""Why a smooth curve and wide intervals do not contradict each other."""

Line = tuple[str, str]
"""A word, and what it stands for."""


@dataclass(frozen=True)
class Caution:
    """What speaks against an answer, or must be known first.

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
    """Cell of a table: its words, small print, and look.

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
    """Table: word columns on the left, then numbers.

    A `stacked` one has sentences, a `tall` one is long.

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
    """What a colour of the pictures below means, then other words."""

    color: str
    words: str
    more: str = ""


@dataclass(frozen=True)
class Download:
    """File that a page carries, with the words of its link."""

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
    """Picture drawn for several widths, and a description of it."""

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


@dataclass(frozen=True, eq=False)
class Chart:
    """Distribution as bars on a terminal: windows, values or ranges."""

    name: str
    alphabet: Alphabet
    shares: FloatArray
    truth: FloatArray | None = None
    band: Band | None = None
    windows: Windows | None = None


@dataclass(frozen=True, eq=False)
class Spark:
    """Numbers as a line of marks on a terminal."""

    numbers: Sequence[float]


@dataclass(frozen=True, eq=False)
class Section:
    """Heading and its content; without content nothing is shown.

    `kind` is "" for a section, "hero" for the first one that matters, "part" within another one, "fold" for what is
    opened by those who want it (-v on a terminal), "more" for a fold within a section.
    """

    heading: str
    parts: Sequence[Part]
    kind: str = ""


Part = str | Note | Bullets | Lines | Legend | Download | Source | Picture | Cards | Chart | Listing | Section | Spark


@dataclass(frozen=True, eq=False)
class Summary:
    """All that an answer says.

    Attributes
    ----------
    title, about
        What it is about, and a few words on how many reports and which epsilon.
    headline
        The answer in one sentence.
    answers
        The other answers: question, answer, and the interval or a remark.
    facts
        Further facts, by name.
    cautions
        What speaks against it.
    sections
        Everything else, in the order in which it is read.
    verdict
        Goodness of fit, and where the uncertainty comes from.
    details
        How it was computed, one line each.
    origin
        Where it comes from: sentences, and the survey.
    """

    title: str
    about: Sequence[str] = ()
    headline: str = ""
    answers: Sequence[tuple[str, str, str]] = ()
    facts: Sequence[Line] = ()
    cautions: Sequence[Caution] = ()
    sections: Sequence[Section] = ()
    verdict: str = ""
    details: Sequence[Line] = ()
    origin: Sequence[Part] = ()

    def open(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record for JSON that opens with what a terminal says."""
        others = [
            f"{question}: {answer} ({ends})" if ends else f"{question}: {answer}"
            for question, answer, ends in self.answers
        ]
        said = [" \N{MIDDLE DOT} ".join([self.title, *self.about]), self.headline, *others, self.verdict]
        cautions = [one.words[0] for one in self.cautions]
        return {"headline": self.headline, "summary": list(filter(None, [said[0], *cautions, *said[1:]]))} | record


def people_in(query: str, name: str = "") -> str:
    """Return whom a query asks about, to complete "About 4% ...".

    Empty if it names nobody. A query without a name is about `name`.

    >>> people_in("age >= 65"), people_in("income < 20k"), people_in("within 2 km of 40.75, -73.98")
    ('are 65 or older', 'have income below 20k', 'are within 2 km of 40.75, -73.98')
    >>> people_in("> 65", "age")
    'are older than 65'
    """
    # How a sentence about people goes on for a comparison with a number.
    of_any = {
        ">=": "have {1} {0} or more",
        ">": "have {1} above {0}",
        "<=": "have {1} {0} or less",
        "<": "have {1} below {0}",
    }
    of_ages = {">=": "are {} or older", ">": "are older than {}", "<=": "are {} or younger", "<": "are younger than {}"}
    if query.startswith("within "):
        return f"are {query}"
    compared = re.fullmatch(r"(\w*)\s*(<=|>=|<|>|==?)\s*([-+$\w.,]+)", query)
    if compared is None or not (name := compared[1] or name):
        return f"have {query}" if re.search("[<>=]| in ", query) else ""
    _, sign, value = compared.groups()
    words = of_ages if name.lower() == "age" else of_any
    return words.get(sign, "are {}" if words is of_ages else "have {1} {0}").format(value, name)


def digits(width: float, share: float = 1.0) -> int:
    """Return the decimals in percent that an interval of this width deserves.

    >>> digits(0.11), digits(0.11, 0.003), digits(0.02), digits(0.001)
    (0, 1, 1, 2)
    """
    return 0 if width >= 0.05 and share >= 0.01 else 1 if width >= 0.005 else 2


def texts(answer: Interval) -> tuple[str, str]:
    """Return an answer and its interval, with digits that their width supports.

    >>> texts(Interval("age >= 65", 0.0426, 0.0075, 0.0784, 0.95, ""))
    ('4%', '1% to 8%')
    >>> texts(Interval("mean", 51234.5, 50100.2, 52007.9, 0.95, "", is_share=False))
    ('51,234', '50,100 to 52,008')
    >>> texts(Interval("median", 1.0, 0.0, 1.0, 0.95, "", is_share=False, labels=("10 to 20", "0 to 10", "10 to 20")))
    ('10 to 20', '0 to 20')
    """
    now, low, high = answer.texts(digits(answer.width, answer.estimate))
    if not answer.is_share and not answer.labels:
        numbers = (answer.estimate, answer.low, answer.high)
        now, low, high = (f"{one:,.0f}" if abs(one) >= 1000 else f"{one:.4g}" for one in numbers)
    # Two bins are one range, and a unit is said once: "30,000 to 70,000 dollars".
    first, last = (re.fullmatch(r"([-\d.,]+)(?: to ([-\d.,]+))?( .*)?", end) for end in (low, high))
    if first is None or last is None or first[3] != last[3]:
        return now, f"{low} to {high}"
    return now, f"{first[1]} to {last[2] or last[1]}{last[3] or ''}"


def confidence(answer: Interval) -> str:
    """Return the level of an interval, and whether several cover jointly."""
    together = f" for all {answer.together:,} together" if answer.together > 1 else ""
    return f"{percent(answer.level)} confidence{together}"


def state(answer: Interval, name: str) -> str:
    """Return an answer with its interval in one sentence.

    >>> state(Interval("age >= 65", 0.0426, 0.0075, 0.0784, 0.95, ""), "age")
    'About 4% are 65 or older (95% confidence: 1% to 8%).'
    >>> state(Interval("median", 36.0, 33.0, 39.0, 0.95, "", is_share=False), "age")
    'The median age is 36 (95% confidence: 33 to 39).'
    """
    now, ends = texts(answer)
    told = f"({confidence(answer)}: {ends})"
    if not answer.is_share:
        of = "" if answer.question in ("median", "mean") or not name else "of "
        what = f"{answer.question} {of}{name}".strip()
        return f"The {what} is {now} {told}."
    people = people_in(answer.question, name)
    return f"About {now} {people} {told}." if people else f"{answer.question}: about {now} {told}."


def state_undetermined(answer: Interval) -> str:
    """Return which answers explain the reports equally well; of shares in percent."""
    low, high = (f"{end:.2%}" if answer.is_share else f"{end:,.4g}" for end in answer.undetermined or (0, 0))
    return f"{low} to {high} explain the reports equally well"


def state_all(answers: Sequence[Interval], name: str, first: Interval | None) -> list[tuple[str, str, str]]:
    """Return all but the first answer.

    Each has its question and interval, and its level if it differs.
    """
    quartiles = {"quantile 0.25": "first quartile of", "quantile 0.75": "third quartile of"}
    lines = []
    for one in answers:
        if one is first:
            continue
        title = quartiles.get(one.question, one.question)
        question = f"{title} {name}" if title != one.question or title in ("median", "mean") else title
        now, ends = texts(one)
        ends += "" if first is not None and confidence(one) == confidence(first) else f", {confidence(one)}"
        if one.undetermined is not None:
            ends += f"; {state_undetermined(one)}"
        lines.append(
            (
                question[:1].upper() + question[1:] if not one.is_share else question,
                now,
                "; ".join(filter(None, [ends, "" if one.parts is None else str(one.parts), one.remark])),
            )
        )
    return lines


def count_reports(total: float, kind: str = "") -> str:
    """Return how many reports there are; totals may be fractions."""
    return f"{total:,.10g} {kind}report{'' if total == 1 else 's'}"


def about_reports(survey: Survey, total: float, origin: Origin, design_effect: float = 1.0) -> list[str]:
    """Return how many reports there are, and what the survey promises.

    >>> from confide import Integers, TruncatedGeometric
    >>> about_reports(Survey(TruncatedGeometric(Integers(0, 99, unit="year"), 0.05)), 48842.0, Origin(simulated=48842))
    ['48,842 simulated reports', 'epsilon 0.05 per year']
    """
    kind = f"{origin.in_short} " if origin.is_simulated else ""
    weighted = [f"design effect {design_effect:.3g}"] if design_effect != 1 else []
    terms = survey.mechanism.guarantee.terms
    # Per unit of distance the terms are a bare rate; others say themselves what they are.
    return [
        count_reports(total, kind),
        *weighted,
        f"epsilon {terms}" if terms[:1].isdigit() else terms,
    ]


def explain_width(answer: Interval | None) -> str:
    """Return the interval's parts from sampling and noise; empty if unknown."""
    parts = None if answer is None else answer.parts
    if parts is None:
        return ""
    sampling = round(100 * parts.sampling)
    return f"Uncertainty: {sampling}% sampling, {100 - sampling}% privacy noise."


def describe_weighting(words: str) -> list[tuple[str, str]]:
    """Return the line on weights, if there are any."""
    name, _, rest = words.partition(": ")
    return [(name, rest)] if words else []


def caution_estimate(answer: Estimate) -> list[Caution]:
    """Return what speaks against an estimate: it stands before the answer."""
    found, uniform = [], answer.uniformity
    if uniform is not None and not uniform.is_rejected:
        heading = "These reports say next to nothing" if uniform.is_weak else "All values look alike"
        found.append(Caution("But", heading, (str(uniform),)))
    # From fewer than 50 effective reports the variance of the weights is a guess.
    if answer.weighting and sum(one.total for one in answer.groups.values()) < 50:
        trim = "Intervals from so few may be too narrow. Trim the largest weights, or ask more people."
        found.append(Caution("But", "A few reports carry most of the weight", (f"{answer.weighting} {trim}",)))
    if answer.dependence:
        found.append(Caution("But", "Not all of these reports are independent", (answer.dependence,)))
    return [*found, *caution_fits(answer.fit, answer.shape_fit), *caution_identification(answer.identification)]


def caution_fits(fit: Fit | None, shape_fit: ShapeFit | None) -> list[Caution]:
    """Caution that reports do not fit the mechanism, or the shape."""
    found = []
    if fit is not None and fit.is_bad:
        badly = "fit the survey poorly" if fit.verdict is FitVerdict.FITS_POORLY else "do not fit the survey"
        found.append(Caution("Poor fit", f"These reports {badly}", (fit.headline, *fit.details)))
    if shape_fit is not None and shape_fit.is_bad:
        found.append(Caution("Wrong shape", "The shape is in doubt", (shape_fit.headline, *shape_fit.details)))
    return found


def caution_identification(found: Finding, groups: str = "") -> list[Caution]:
    """Caution that the distribution is not identifiable, perhaps in some groups."""
    asked = "" if groups else " --query and --interval give intervals that cover every best explanation."
    cure = (
        f"confide diagnose names the values that no report can distinguish.{asked} To settle it, merge values in the "
        f"survey or use another mechanism."
    )
    heading = f"Not identified{groups}" if groups else "Not identified: this answer is one of many"
    return [Caution(f"Not identified{groups}", heading, (remark_on(found), cure))] if found.is_no else []


def caution_simulated(origin: Origin, *, is_page: bool = True) -> list[Caution]:
    """Caution that reports are simulated.

    If all are, a terminal says so in its first line.
    """
    if not origin.is_simulated or (origin.noise is Noise.SEEDED and not is_page):
        return []
    some = f"{origin.simulated:,.10g} of {origin.total:,.10g} reports are simulated: their noise comes from a seed."
    words = (
        str(origin) if origin.noise is Noise.SEEDED else f"{some} Anyone who knows it can undo it. They protect nobody."
    )
    return [Caution("Simulated", f"{origin.in_short.capitalize()} reports", (words,))]


def state_promise(survey: Survey, origin: Origin, files: int = 1) -> Section:
    """Return what a survey promises.

    The promise to each person is named if each report was made so.
    """
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
        "The promise holds whatever else is known about the person, and nothing done with a report weakens it later. "
        "It covers one report: reporting the same value again gives a little more away each time."
    )
    parts += [Note(factor)] if is_bounded else []
    parts += [Note(" ".join(small))] if small else []
    parts += [Note(f"Repetition: {describe_repetition(survey, files).removesuffix('.')}.")] if is_bounded else []
    people = int(origin.total)
    parts += [f"If shuffled: {describe_shuffled(survey, people)}"] if survey.shuffler and people and files == 1 else []
    return Section("What each person was promised" if origin.is_secure else "What this survey promises", parts)


def introduce_reports(survey: Survey, reports: str, origin: Origin) -> str:
    """Introduce the reports: how many, and how they were made.

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
    """Return where a page comes from: its command, reports and survey."""
    source = Source(survey.text(MOST_ENTRIES))
    if origin is None:
        return [made, source]
    known = " ".join([made, str(origin), *(f"{note}." for note in notes)])
    return [known, "The survey that the reports were read with:", source]


def describe_noise(origin: Origin, notes: Iterable[str] = ()) -> list[Line]:
    """Return what is known of the noise, and what is missing."""
    return [("Noise", str(origin)), *(("", f"{note}.") for note in notes)]


def remark_open(found: Finding) -> str:
    """Return a sentence if identifiability is open; otherwise nothing."""
    return "" if found.is_yes or found.is_no else remark_on(found)

"""Summary of an estimate: distribution, answers, and what they rest on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

import confide
from confide.check.answers import IN_DOUBT
from confide.check.shapes import AFTERWARDS, SHAPE_IN_DOUBT
from confide.errors import InvalidParameterError
from confide.estimates.estimate import Estimate, Outcome
from confide.estimates.explanations import (
    CERTIFICATE_MEANING,
    describe_certificate,
    describe_value,
    explain_choices,
    why_undivided,
)
from confide.estimates.inference import Band, CrossTable, Interval, Windows, percent
from confide.evidence.counts import Counts
from confide.mechanisms.planar import nearest_cells
from confide.present import summary as say
from confide.present.figures import Panel, Role, draw_path, draw_windows, style
from confide.present.figures.shares import MOST_BARS, tells
from confide.present.figures.style import FloatArray, choose_colors
from confide.present.summary import NONE, Bullets, Cell, Line, Listing, Note, Part, Picture, Row, Section, Summary
from confide.solve.methods import Method, Stacked
from confide.surveys.survey import Survey
from confide.values import Alphabet, Indices, LineGeometry, ProductGeometry, UnorderedGeometry
from confide.values.checks import as_distribution
from confide.values.wording import counted, listed, plural, with_unit

MOST_ROWS = 2_000
"""Values up to which a page that lists them all stays quick to open."""

CHUNK = 10_000
"""Bit vectors that are unpacked at a time: a few megabytes for hundreds of bits."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """Share of each report, as a picture.

    Attributes
    ----------
    alphabet
        Alphabet that the shares are over: the values, or the reports.
    shares
        One share for each.
    title, how
        Heading, and how the shares were made from the reports.
    remark
        Reason why it has a picture of its own; empty where it can stand beside the estimates.
    """

    alphabet: Alphabet
    shares: FloatArray
    title: str
    how: str
    remark: str = ""


def summarise_reports(
    survey: Survey, counts: Counts, given: ArrayLike | None = None, considered: Alphabet | None = None
) -> Noisy | None:
    """Return the shares of reports; None if they cannot be drawn.

    The values are those `considered`, where the survey's own are unbounded.
    """
    values = survey.alphabet if considered is None else considered
    outputs, total = survey.mechanism.report_alphabet, say.count_reports(counts.total)
    # Beside an estimate of the population, reports are weighted as it is.
    how, counts = ("as read", counts) if counts.weights is None else ("weighted", counts.independent)
    rates = survey.mechanism.facts.rates
    if survey.mechanism.facts.supports is not None and rates is not None:
        evidence = survey.mechanism.observe(counts)
        # The closed form turns the shares of supporting reports into shares of people; this turns them back.
        supported = rates[1] + (rates[0] - rates[1]) * evidence.channel.unbit(evidence.frequencies)
        remark = (
            "Each report supports several values here, and the true value more often than another, so these shares are "
            "no distribution. How many reports support each value:"
        )
        return Noisy(values, supported, "Reports that support a value", f"among {total}", remark)
    if outputs.bits is not None:
        bits = np.zeros(outputs.bits.length)
        for start in range(0, counts.counts.size, CHUNK):
            part = slice(start, start + CHUNK)
            bits += counts.counts[part] @ outputs.bits.unpack(counts.reports[part])
        remark = (
            "Reports are bit vectors here, with one bit for each value, so they are no distribution. In a report, the "
            "bit of the true value and all others are each flipped at random. How often each bit was set:"
        )
        return Noisy(values, bits / counts.total, "Bits set", f"among {total}", remark)
    if outputs.is_listable:
        shares = survey.mechanism.lay_out(counts) / counts.total if given is None else given
        known = as_distribution(shares, outputs.size, "noisy")
        remark = "" if outputs == values else "Reports are not values here, so they have a picture of their own:"
        return Noisy(outputs, known, "Noisy", f"{total}, {how}", remark)
    places = _nearest_values(values, outputs, counts)
    if places is None:
        return None
    shares = np.bincount(places, counts.counts, minlength=values.size) / counts.total if given is None else given
    return Noisy(values, as_distribution(shares, values.size, "noisy"), "Noisy", f"{total}, moved to the nearest value")


def _nearest_values(values: Alphabet, outputs: Alphabet, counts: Counts) -> Indices | None:
    """Return the value nearest to each report on the alphabet."""
    if isinstance(values.geometry, LineGeometry) and outputs.geometry.dimensions == 1:
        low, high = values.span
        return values.encode(np.rint(counts.reports).clip(low, high))
    grid = values.grid
    if grid is not None and outputs.geometry.dimensions == 2:
        first = np.array([grid.first_row, grid.first_column])
        cells = np.rint(counts.reports).clip(first, first + grid.shape - 1)
        nearest: Indices = nearest_cells(grid.box, grid)[grid.box.encode(cells)]
        return nearest
    if values.selected_from is not None and outputs.geometry.dimensions:
        from scipy.spatial import cKDTree

        points = counts.reports.astype(np.float64).reshape(counts.reports.shape[0], -1)
        return np.asarray(cKDTree(values.coordinates).query(points)[1], dtype=np.int64)
    return None


@dataclass(frozen=True, eq=False)
class Findings:
    """All that was found out from the reports of one survey.

    Attributes
    ----------
    survey, counts, outcomes
        What was asked, the reports, and an outcome for each method; the first one is the answer.
    truth
        The true distribution, where it is known, and the rows that it was read from.
    band, answers, windows, marginals, crosses
        What was asked of the first estimate beyond the distribution.
    undivided
        Why there are no windows.
    background
        Lines to draw on maps.
    given
        The share of each report, if not as counted.
    source, notes, files, promised
        Where the reports were read, which metadata are missing, how many files there are, and what is then promised.
    """

    survey: Survey
    counts: Counts
    outcomes: tuple[Outcome, ...]
    truth: FloatArray | None = None
    truth_rows: str = ""
    band: Band | None = None
    answers: tuple[Interval, ...] = ()
    windows: Windows | None = None
    undivided: str = ""
    marginals: Mapping[str, tuple[Estimate, Windows | None]] | None = None
    crosses: Sequence[CrossTable] = ()
    background: tuple[FloatArray, ...] = ()
    given: ArrayLike | None = None
    source: str = ""
    notes: Sequence[str] = ()
    files: int = 1
    promised: Sequence[Line] = ()

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise InvalidParameterError("A page needs at least one outcome; got none. Call confide.assess first.")
        if self.truth is not None:
            object.__setattr__(self, "truth", as_distribution(self.truth, self.alphabet.size, "truth"))
        if self.band is not None and self.band.alphabet != self.alphabet:
            raise InvalidParameterError(
                f"The band is over {self.band.alphabet!r}, but the first estimate over {self.alphabet!r}."
            )

    @property
    def estimate(self) -> Estimate:
        """The answer: what the first method made of the reports."""
        return self.outcomes[0].estimate

    @property
    def alphabet(self) -> Alphabet:
        """Values of the estimates: all, or the likely ones if unbounded."""
        return self.estimate.alphabet

    @cached_property
    def noisy(self) -> Noisy | None:
        """The reports as a distribution."""
        return summarise_reports(self.survey, self.counts, self.given, self.alphabet)

    @property
    def is_comparable(self) -> bool:
        """Whether reports and values share one axis."""
        return self.noisy is not None and not self.noisy.remark

    @cached_property
    def names(self) -> list[str]:
        """Names of the outcomes' methods, with settings if one repeats."""
        return self.name(lambda method: method.name)

    def name(self, of: Callable[[Method], str]) -> list[str]:
        """Return the name of each method, with settings if one repeats."""
        methods = [outcome.estimate.method for outcome in self.outcomes]
        often = Counter(method.name for method in methods)
        return [of(method) if often[method.name] == 1 else repr(method) for method in methods]

    @cached_property
    def closest(self) -> list[int]:
        """Places of the outcomes closest to the truth, ties included."""
        distances = {place: self.distance(outcome) for place, outcome in enumerate(self.outcomes)}
        measured = {place: distance for place, distance in distances.items() if distance is not None}
        # Distances from the truth that differ by less than a thousandth are a tie.
        return [place for place, distance in measured.items() if distance <= 1.001 * min(measured.values())]

    def distance(self, outcome: Outcome) -> float | None:
        """Return an outcome's distance from the truth; None if unknown."""
        return outcome.emd if self.has_distances else outcome.total_variation

    @property
    def has_distances(self) -> bool:
        """Whether distances have one unit; else total variation is shown."""
        is_left_out = any(outcome.emd_left_out for outcome in self.outcomes)
        return not (is_left_out or isinstance(self.alphabet.geometry, UnorderedGeometry | ProductGeometry))

    @property
    def is_certified(self) -> bool:
        """Whether some method seeks the maximum, so that a certificate measures it."""
        return any(outcome.estimate.method.seeks_maximum for outcome in self.outcomes)


def complete(found: Findings) -> Findings:
    """Add windows, median, mean and quartiles that nobody asked for.

    It takes half a second for a hundred values; of more than two thousand, and of reports that certainly do not come
    from the mechanism, only what is asked for is shown.
    """
    answer, undivided = found.estimate, why_undivided(found.estimate)
    if undivided:
        return replace(found, undivided=undivided)
    level = found.answers[0].level if found.answers else 0.95
    if found.windows is None and not found.marginals:
        found = replace(found, windows=answer.windows(level=level, name=found.survey.name))
    if not isinstance(found.alphabet.geometry, LineGeometry):
        return found
    shown = {one.question: one for one in found.answers}
    quartiles = {0.25: "quantile 0.25", 0.5: "median", 0.75: "quantile 0.75"}
    missing = [share for share, question in quartiles.items() if question not in shown]
    has_mean = answer.alphabet.has_mean and "mean" not in shown
    return replace(found, answers=(*shown.values(), *answer.statistics(missing, level, mean=has_mean)))


def summarise_estimate(found: Findings, *, is_page: bool = False) -> Summary:
    """Return all that an estimate says; pictures only for a page."""
    answer, survey, origin = found.estimate, found.survey, found.counts.origin
    made = (
        f"Made by confide {confide.__version__} with {listed([repr(one.estimate.method) for one in found.outcomes])}."
    )
    first, headline, others = first_answer(found)
    fit = "" if answer.fit.is_bad else answer.fit.headline
    return Summary(
        title=survey.title,
        about=say.about_reports(survey, found.counts.total, origin, answer.design_effect),
        headline=headline,
        answers=[*others, *_distances(found)],
        cautions=[*say.caution_estimate(answer), *say.caution_simulated(origin, is_page=is_page)],
        sections=_page_sections(found) if is_page else _terminal_sections(found),
        verdict=f"{fit} {say.explain_width(first)}".strip(),
        details=_details(found),
        origin=say.come_from(made, survey, origin, found.notes),
    )


def first_answer(found: Findings) -> tuple[Interval | None, str, list[tuple[str, str, str]]]:
    """Return the first answer, its sentence, and the other answers.

    That is the first share that was asked for, else the median or the mean, else the fullest window.
    """
    order = {"median": 1, "mean": 2}
    answers = sorted(found.answers, key=lambda one: 0 if one.is_share else order.get(one.question, 3))
    name, fullest = found.survey.name, _fullest(found)
    if answers:
        first = answers[0]
        remarks = [f"{first.remark[:1].upper()}{first.remark[1:]}."] if first.remark else []
        if first.undetermined is not None:
            remarks.append(f"{say.state_undetermined(first)}.")
        return first, " ".join([say.state(first, name), *remarks]), say.state_all(answers, name, first)
    if not fullest:
        return None, _main_result(found.estimate, name), []
    (what, label, one), *rest = fullest
    now, ends = say.texts(one)
    sentence = f"The {what} is {label}: about {now} ({say.confidence(one)}: {ends})."
    others = [
        (f"{what[:1].upper()}{what[1:]}", f"{label}, {say.texts(one)[0]}", say.texts(one)[1])
        for what, label, one in rest
    ]
    return one, sentence, others


def _fullest(found: Findings) -> list[tuple[str, str, Interval]]:
    """Return the fullest window of the values, or of each attribute."""
    divided = {name: windows for name, (_, windows) in (found.marginals or {}).items()}
    fullest = []
    for name, windows in (divided or {found.survey.name: found.windows}).items():
        if windows is not None:
            place = max(range(len(windows)), key=lambda one: windows.answers[one].estimate)
            what = f"most common {name}" if windows.alphabet.grid is None else "most populated"
            fullest.append((what, windows.names[place], windows.answers[place]))
    return fullest


def _distances(found: Findings) -> list[tuple[str, str, str]]:
    """Return the answer's distances from the truth, if it is known."""
    outcome = found.outcomes[0]
    if found.truth is None or len(found.outcomes) > 1:
        return []
    if outcome.total_variation is None:
        return [("Distance from the truth", "none", "the estimate is no distribution")]
    varied = f"total variation {outcome.total_variation:.3f}"
    if outcome.emd is None:
        return [("Distance from the truth", varied, outcome.emd_left_out)]
    return [("Distance from the truth", f"{with_unit(outcome.emd, found.survey.alphabet.unit)} (EMD)", varied)]


def _terminal_sections(found: Findings) -> list[Section]:
    alphabet, answer = found.alphabet, found.estimate
    whole = say.Chart(found.survey.name, alphabet, answer.distribution, found.truth, found.band, found.windows)
    charts: list[Section] = [Section("", [whole], "all" if found.marginals else "")]
    for name, (own, windows) in (found.marginals or {}).items():
        known = None
        if found.truth is not None and alphabet.attributes is not None:
            known = alphabet.attributes.margin(found.truth, name)
        chart = say.Chart(name, own.alphabet, own.distribution, known, windows=windows)
        charts.append(Section(f"{name[:1].upper()}{name[1:]}", [chart]))
    return [*charts, *(Section("", tabulate_cross(one).parts) for one in found.crosses)]


def _page_sections(found: Findings) -> list[Section]:
    windows = _show_windows(found)
    shape, shape_fit = found.estimate.shape, found.estimate.shape_fit
    words: list[Part] = [_in_words(found)]
    if found.windows is None and found.alphabet.grid is not None and found.undivided:
        words.append(f"Districts are left out: {found.undivided}.")
    told = [Section("In words", words)]
    if shape is not None and shape_fit is not None:
        said = "as the survey declared before any report was seen" if shape.is_declared else AFTERWARDS
        taken = f"Answer and intervals assume that {shape.condition}, {said}."
        tested = [] if shape_fit.is_bad else [str(shape_fit)]  # a box says it already
        told.append(Section("Assumptions", [taken, *tested]))
    marginals = [
        Section(
            f"{name[:1].upper()}{name[1:]}, whatever the other attributes are",
            [windows.headline, *picture_windows(windows, own.distribution, name)],
        )
        for name, (own, windows) in (found.marginals or {}).items()
        if windows is not None
    ]
    return [
        *(windows or _show_distributions(found)),
        *marginals,
        *map(tabulate_cross, found.crosses),
        *(_show_distributions(found) if windows else []),
        *told,
        _show_certainty(found),
        replace(say.state_promise(found.survey, found.counts.origin, found.files), kind="fold"),
        Section("Technical details", [_show_methods(found), _show_ways(found), _show_shares(found)], "fold"),
    ]


def _details(found: Findings) -> list[Line]:
    """Return how the answers were computed, one line each."""
    answer, declared, shape = found.estimate, found.survey.shape, found.estimate.shape
    lines = [("Reports", f"{found.counts.total:,.10g}, from {found.source}")] if found.source else []
    lines += say.describe_weighting(answer.weighting)
    lines += [*say.describe_noise(found.counts.origin, found.notes), *found.promised]
    lines.append(("Method", repr(answer.method)))
    if answer.choices:
        lines.append(("Cross-validation", "; ".join(explain_choices(answer.choices))))
    else:
        lines.append(("Ended by", f"{answer.status}: {answer.ending}"))
    lines.append(("Log-likelihood", "none" if math.isnan(answer.log_likelihood) else f"{answer.log_likelihood:,.3f}"))
    # Where a method sought the maximum, or left no distribution; elsewhere the fit says more.
    if answer.method.seeks_maximum or not answer.is_distribution:
        among = "" if shape is None else ", among those of the shape"
        lines.append(("Certificate", f"{describe_certificate(answer.certificate)}{among}"))
    lines.append(("Fit", "see above" if answer.fit.is_bad else " ".join(answer.fit.details) or str(answer.fit.verdict)))
    if shape is not None:
        lines.append(("Shape", f"{shape}; {'declared in the survey' if shape.is_declared else AFTERWARDS}"))
        lines += [] if answer.shape_fit is None or answer.shape_fit.is_bad else [("Its fit", str(answer.shape_fit))]
    elif declared is not None:
        lines.append(("Shape", f"none; the survey declares {declared}, which was left out"))
    lines += _bases(found)
    lines += [("Identified", remark)] if (remark := say.remark_open(answer.identification)) else []
    lines += [] if answer.considered is None else [("Values", answer.considered.reason)]
    return lines + ([("Truth", found.truth_rows)] if found.truth_rows else [])


def _bases(found: Findings) -> list[Line]:
    """Return what intervals rest on, their doubts, and why some are missing."""
    rest_on = []
    for one in found.answers:
        kind = "shares" if one.is_share else "mean" if one.question == "mean" else "quantiles"
        rest_on.append((one.rests_on, kind))
    rest_on += [] if found.windows is None else [(one.rests_on, "ranges") for one in found.windows.answers]
    rest_on += [] if found.band is None else [(found.band.rests_on, "single values")]
    for _, windows in (found.marginals or {}).values():
        rest_on += [] if windows is None else [(one.rests_on, "single attributes") for one in windows.answers]
    rest_on += [(one.band.rests_on, "cross tables") for one in found.crosses]
    bases: dict[str, list[str]] = {}
    for basis, kind in rest_on:
        if kind not in (kinds := bases.setdefault(basis, [])):
            kinds.append(kind)
    words = [f"{listed(kinds)}: {basis}" for basis, kinds in bases.items()]
    words += [f"none for ranges: {found.undivided}"] if found.undivided else []
    words += [] if found.windows is None else [found.windows.headline]
    words += [two_stories(found)] if bases and two_stories(found) else []
    words += ["--show all shows every value; --interval 0.95 adds one for each value"] if found.band is None else []
    lines = [*zip(("Intervals", *[""] * len(words)), words, strict=False)]
    return lines + ([("But", doubt) for doubt in _doubts(found)] if bases else [])


def two_stories(found: Findings) -> str:
    """Explain why the curve is narrower than the intervals.

    Empty if the curve assumes nothing.
    """
    is_smooth = isinstance(found.estimate.method, Stacked) and found.alphabet.geometry.dimensions
    if not is_smooth:
        return ""
    assumed = "nothing" if found.estimate.shape is None else "only the declared shape"
    return say.BOTH_TRUE.replace("nothing", assumed)


def _doubts(found: Findings) -> list[str]:
    answer = found.estimate
    doubts = [IN_DOUBT] if answer.fit.is_bad else []
    return doubts + ([SHAPE_IN_DOUBT] if answer.shape_fit is not None and answer.shape_fit.is_bad else [])


def _in_words(found: Findings) -> str:
    """Tell in a few sentences what was sent, done and found."""
    uniform, methods = found.estimate.uniformity, listed(found.name(lambda method: method.full_name))
    words = [
        "" if found.estimate.is_told or uniform is None else uniform.headline,
        say.introduce_reports(found.survey, say.count_reports(found.counts.total), found.counts.origin),
        found.estimate.weighting,
        f"From these alone, {methods} recovered how the true values are distributed.",
        _compare_with_truth(found) if found.closest else _main_result(found.estimate, found.survey.name),
    ]
    return " ".join(filter(None, words))


def _compare_with_truth(found: Findings) -> str:
    measure = "earth mover's distance" if found.has_distances else "total variation"
    distance = f"{_distance(found, found.outcomes[found.closest[0]])} ({measure})"
    farther = [
        f"{_distance(found, outcome)} for {found.names[place]}"
        for place, outcome in enumerate(found.outcomes)
        if found.distance(outcome) is not None and place not in found.closest
    ]
    closest = listed([found.names[place] for place in found.closest])
    if not farther:
        return f"{closest} came within {distance} of the truth."
    return f"{closest} came closest to the truth: {distance}, against {listed(farther)}."


def _main_result(answer: Estimate, name: str) -> str:
    shares, alphabet = answer.distribution, answer.alphabet
    if not answer.is_distribution:
        return (
            "The answer has negative shares, or does not add up to 1: it is no distribution. Normalise or project it."
        )
    if isinstance(alphabet.geometry, LineGeometry) and alphabet.size > 8:  # of fewer, the most common one says more
        below = np.cumsum(shares)
        low, middle, high = (
            describe_value(alphabet, min(int(np.searchsorted(below, share)), below.size - 1), name)
            for share in (0.25, 0.5, 0.75)
        )
        return f"By this estimate, half of all people lie between {low} and {high}, and the median is {middle}."
    top = int(np.argmax(shares))
    common = "The most common" if alphabet.grid is None else "The most populated"
    return f"{common} is {describe_value(alphabet, top, name)}, with {shares[top]:.1%} of the people."


def _distance(found: Findings, outcome: Outcome) -> str:
    """Return an outcome's distance from the truth, in its best measure."""
    if not found.has_distances:
        return NONE if outcome.total_variation is None else f"{outcome.total_variation:.3f}"
    return NONE if outcome.emd is None else with_unit(outcome.emd, found.alphabet.unit)


def bound_certificate(outcome: Outcome) -> str:
    """Say how far below the maximum an estimate can be."""
    certificate = outcome.estimate.certificate
    if math.isnan(certificate):
        return "not a distribution"
    if not outcome.estimate.method.seeks_maximum:
        return NONE
    if certificate < 0.001:
        return "less than 0.001"
    short = f"{certificate:.3g}" if certificate < 1000 else f"{certificate:,.0f}"
    return "no bound" if math.isinf(certificate) else f"at most {short}"


def _accuracy(found: Findings, outcome: Outcome) -> str:
    """Return what stands under an estimate's title."""
    if not outcome.estimate.is_distribution:
        return "Not a distribution: it has negative shares"
    if found.distance(outcome) is None:
        below = " below the maximum" if math.isfinite(outcome.estimate.certificate) else ""
        return f"Log-likelihood: {bound_certificate(outcome)}{below}" if outcome.estimate.method.seeks_maximum else ""
    variation = f"TV {outcome.total_variation:.3f}"
    return f"EMD {_distance(found, outcome)}, {variation}" if found.has_distances else variation


def describe_seconds(seconds: float) -> str:
    """Return a duration.

    >>> describe_seconds(0.00004), describe_seconds(0.0123), describe_seconds(75)
    ('under 1 ms', '12 ms', '75 s')
    """
    if seconds < 0.001:
        return "under 1 ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"


def _show_certainty(found: Findings) -> Section:
    """Return the answers with intervals, or nothing if nobody asked."""
    answers = found.answers
    levels = list(dict.fromkeys(map(say.confidence, answers)))
    asked: dict[str, list[str]] = {}
    rows: list[Row] = []
    for one in answers:
        of = "" if one.question.startswith("within ") else "of "
        question = f"the share {of}{one.question}" if one.is_share else f"the {one.question}"
        now, ends = say.texts(one)
        parts = NONE if one.parts is None else str(one.parts)
        rows.append([question, Cell(now, ends + f", {say.confidence(one)}" * (len(levels) > 1)), parts])
        asked.setdefault(one.rests_on, []).append(question)
    bases = [] if found.band is None else [f"The intervals of single values rest on {found.band.rests_on}."]
    for basis, questions in asked.items():
        about = "They rest" if len(asked) == 1 else f"Those of {listed(questions)} rest"
        bases.append(f"{about} on {basis}.")
    if not bases:
        return Section("How sure is it?", [])
    shown = [Listing(["Asked", f"Answer ({', '.join(levels)})", "Width of the interval"], rows)] if rows else []
    meaning = Note(
        "If the survey were repeated, that share of intervals would cover the truth. This is about each interval on "
        "its own, not about all at once."
    )
    return Section("How sure is it?", [*shown, *_doubts(found), *bases, meaning], "fold")


def _show_methods(found: Findings) -> Section:
    """Return one line a method, and what the columns mean."""
    measured = [] if found.truth is None else ["Earth mover's distance"] * found.has_distances + ["Total variation"]
    certified = ["Below the maximum by"] if found.is_certified else []
    likelihood = "Log\N{NON-BREAKING HYPHEN}likelihood"
    headings = ["Method", *measured, likelihood, *certified, "Iterations", "Ended by", "Time"]
    rows = []
    for place, (name, outcome) in enumerate(zip(found.names, found.outcomes, strict=True)):
        answer = outcome.estimate
        varied = NONE if outcome.total_variation is None else f"{outcome.total_variation:.3f}"
        moved = [_distance(found, outcome)] if found.has_distances else []
        log_likelihood = NONE if math.isnan(answer.log_likelihood) else f"{answer.log_likelihood:,.2f}"
        cells = [
            name,
            *([] if found.truth is None else [*moved, varied]),
            log_likelihood.replace("-", "\N{MINUS SIGN}").replace("inf", "∞"),
            *([bound_certificate(outcome)] if found.is_certified else []),
            f"{answer.iterations:,}" if answer.iterations else NONE,
            str(answer.status),
            describe_seconds(answer.seconds),
        ]
        is_best = place in found.closest and len(found.closest) < len(found.outcomes)
        rows.append([Cell(cell, is_strong=is_best) for cell in cells])
    shown = Listing(headings, rows, left=(0, headings.index("Ended by")))
    if found.truth is None:
        return Section("The methods in numbers", [shown], "part")
    unit = f", in {plural(found.alphabet.unit)}" if found.alphabet.unit else ""
    moved_far = f"Earth mover's distance: how far people have to be moved on average to reach the truth{unit}. "
    missing = next((one.emd_left_out for one in found.outcomes if one.emd_left_out), "")
    about = f"The earth mover's distance: {missing}. " if missing else moved_far if found.has_distances else ""
    widely = "Total variation is the largest error in the share of any set of values, between 0 and 1."
    return Section("The methods in numbers", [shown, Note(f"{about}{widely} Smaller is better.")], "part")


def _show_ways(found: Findings) -> Section:
    """Return how the answers were reached: endings, mixtures and climbs."""
    named = list(zip(found.names, (one.estimate for one in found.outcomes), strict=True))
    subsets = dict.fromkeys(one.considered for _, one in named)
    remark = say.remark_open(found.estimate.identification)
    mixed = [
        part
        for name, one in named
        if one.choices
        for part in (f"What {name} is mixed from:", Bullets(explain_choices(one.choices)))
    ]
    parts: list[Part] = [
        Bullets([f"{name}: {one.ending}." for name, one in named]),
        *([Note(remark)] if remark else []),
        *(subset.explain() for subset in subsets if subset is not None),
        *mixed,
        *_show_path(found),
        CERTIFICATE_MEANING if found.is_certified else "",
    ]
    return Section("How the answer was reached", parts, "part")


def _show_path(found: Findings) -> list[Part]:
    """Return how the iterative methods climbed; nothing where there are none."""
    paths = {
        name: outcome.path
        for name, outcome in zip(found.names, found.outcomes, strict=True)
        if len(outcome.path) > 1 and outcome.estimate.method.seeks_maximum
    }
    if not paths:
        return []
    # What no log-likelihood can exceed: the lowest that any of the estimates proves.
    proven = [outcome.estimate.log_likelihood + outcome.estimate.certificate for outcome in found.outcomes]
    ceiling = min((bound for bound in proven if abs(bound) < float("inf")), default=None)
    colors = dict(zip(found.names, choose_colors(_panels(found)), strict=True))
    caption = (
        "How far the log-likelihood was below its maximum after each iteration. It lies in the shaded band: between "
        "the best answer reached and the ceiling that the certificate proves. Both axes are logarithmic."
    )
    drawn = say.Picture(
        lambda width: draw_path(paths, ceiling=ceiling, colors=colors, width=width),
        tell_paths(paths, ceiling),
        caption,
        (style.MIDDLE, style.NARROW),
    )
    return [drawn]


def _show_shares(found: Findings) -> Section:
    """Return every share of every distribution, folded away."""
    columns = {} if found.truth is None else {"Original": found.truth}
    if found.is_comparable and found.noisy is not None:
        columns["Noisy"] = found.noisy.shares
    for name, outcome in zip(found.names, found.outcomes, strict=True):
        columns[name] = outcome.estimate.distribution
        if outcome is found.outcomes[0] and found.band is not None:
            columns |= {f"{name}, low": found.band.low, f"{name}, high": found.band.high}
    size, names = found.alphabet.size, [field.capitalize() for field in found.alphabet.field_names]
    names = [found.survey.name] if len(names) == 1 else names
    rows = []
    for index, value in enumerate(found.alphabet.decode(range(min(MOST_ROWS, size))).tolist()):
        shares = [f"{100 * float(one[index]):.4f}".replace("-", "\N{MINUS SIGN}") for one in columns.values()]
        rows.append([*map(str, value if isinstance(value, list) else [value]), *shares])
    few = f"The first {MOST_ROWS:,} of {size:,} values are shown. Write the estimate as CSV or JSON for all of them."
    parts: list[Part] = [
        *([Note(few)] if size > MOST_ROWS else []),
        Listing([*names, *columns], rows, left=(), kind="tall"),
    ]
    return Section(f"All shares: {size:,} values, in percent", parts, "more")


def _show_windows(found: Findings) -> list[Section]:
    """Return the resolved windows with their intervals and the estimate."""
    if found.windows is None or found.marginals:
        return []
    noisy = found.noisy.shares if found.is_comparable and found.noisy is not None else None
    drawn = picture_windows(
        found.windows,
        found.estimate.distribution,
        found.survey.name,
        truth=found.truth,
        noisy=noisy,
        background=found.background,
        color=choose_colors(_panels(found))[0],
        story=two_stories(found),
    )
    what, label, one = _fullest(found)[0]
    heading = f"{what[:1].upper()}{what[1:]}: {label} ({say.texts(one)[0]})"
    return [Section(heading, [found.windows.headline, *drawn], "hero")]


def _show_distributions(found: Findings) -> list[Section]:
    """Return the original, the noisy and the estimated distributions side by side."""
    alphabet, band, noisy = found.alphabet, found.band, found.noisy
    sent: list[Panel] = []
    if noisy is not None:
        behind = found.truth if found.is_comparable else None
        sent = [Panel(noisy.title, noisy.shares, noisy.how, behind, Role.NOISY, background=found.background)]
    panels = [*(sent if found.is_comparable else []), *_panels(found)]
    if found.truth is not None:
        truth = Panel("Original", found.truth, "The true distribution", role=Role.TRUTH, background=found.background)
        panels = [truth, *panels]
    if len(found.outcomes) == 1:
        plain = {"Noisy": "What was reported", found.names[0]: "What was recovered", "Original": "The truth"}
        colored = zip(panels, choose_colors(panels), strict=True)
        panels = [replace(one, title=plain.get(one.title, one.title), color=color) for one, color in colored]
    parts: list[Part] = []
    is_boxed = band is None and found.windows is not None and isinstance(alphabet.geometry, LineGeometry)
    if alphabet.grid is None and (found.truth is not None or band is not None or is_boxed):
        words, around = "The grey behind each distribution is the truth. " if found.truth is not None else "", ""
        if band is not None and (alphabet.attributes is None or alphabet.size <= MOST_BARS):
            level, name = percent(band.level), found.names[0]
            around = f"The whiskers of {name} are {level} intervals, one for each value."
            if isinstance(alphabet.geometry, LineGeometry):
                is_drawn = tells(found.estimate.distribution, band.low, band.high).any()
                drawn = f"The light band around {name} is the {level} interval of each value, where narrow enough."
                around = drawn if is_drawn else ""
        around = "Boxes: the shares of ranges, as above." if is_boxed else around
        parts.append(say.Legend(style.TRUTH if words else "", words, around))
    parts += _cards(alphabet, panels, found.survey.name)
    if band is not None and alphabet.grid is not None:  # a map cannot show a band: its ends have maps of their own
        level, name = percent(band.level), found.names[0]
        ends = [
            Panel(f"{name}, low", band.low, f"Lower ends at {level}", background=found.background),
            Panel(f"{name}, high", band.high, f"Upper ends at {level}", background=found.background),
        ]
        parts.append(f"The intervals of {name} at {level}, each cell by itself, in a colour scale of their own:")
        parts += _cards(alphabet, ends, found.survey.name)
    if noisy is None:
        parts.append("Reports are unlike values here, so that there is no picture of them.")
    elif not found.is_comparable:
        name = found.survey.name if noisy.alphabet == alphabet else "report"
        parts += [noisy.remark, *_cards(noisy.alphabet, sent, name)]
    return [Section("What was reported, and what was recovered", parts)]


def _panels(found: Findings) -> list[Panel]:
    ends = None if found.band is None else (found.band.low, found.band.high)
    return [
        Panel(
            name,
            outcome.estimate.distribution,
            _accuracy(found, outcome),
            found.truth,
            band=None if place else ends,
            windows=None if place or ends or found.alphabet.grid is not None else found.windows,
            background=found.background,
        )
        for place, (name, outcome) in enumerate(zip(found.names, found.outcomes, strict=True))
    ]


def _cards(alphabet: Alphabet, panels: list[Panel], name: str) -> list[Part]:
    """Return panels side by side; of many combinations, single attributes."""
    attributes = alphabet.attributes
    if attributes is None or alphabet.size <= MOST_BARS:
        return [say.Cards(alphabet, panels, name)]
    parts: list[Part] = []
    for part, own in zip(attributes.alphabets, attributes.names, strict=True):
        margins = [
            replace(
                one,
                distribution=attributes.margin(one.distribution, own),
                reference=None if one.reference is None else attributes.margin(one.reference, own),
                band=None,  # ends do not add up
                windows=None,  # of all attributes together
            )
            for one in panels
        ]
        parts += [f"{own}, on its own:", say.Cards(part, margins, own)]
    return parts


def tabulate_cross(crossed: CrossTable) -> Section:
    """Return a cross table with totals.

    Of more than two attributes, a list of its entries.
    """
    rows, *others = crossed.totals.values()
    words = f"{listed(crossed.names).capitalize()}, in percent, each share with its ends at {crossed.shown_level}"
    entries = _shares(crossed.band)
    labels = [label.removeprefix("(").removesuffix(")") for label in crossed.band.alphabet.labels()]
    flat = _first_rows([", ".join(crossed.names), "Share"], [*zip(labels, entries, strict=True)])
    shown = flat
    if len(others) == 1:
        width = others[0].alphabet.size
        lines: list[Row] = [
            [label, *entries[place * width : (place + 1) * width], total]
            for place, (label, total) in enumerate(zip(rows.alphabet.labels(), _shares(rows), strict=True))
        ]
        lines.append(["all", *_shares(others[0]), "100"])
        headings = [f"{crossed.names[0]} \\ {crossed.names[1]}", *others[0].alphabet.labels(), "all"]
        shown = replace(_first_rows(headings, lines), narrow=flat)
    return Section(" by ".join(crossed.names).capitalize(), [words, shown])


def _first_rows(headings: Sequence[str], rows: Sequence[Row]) -> Listing:
    rest = f"The first 60 of {counted(len(rows), 'row')}; --show all shows all."
    return Listing(headings, rows, most=60, rest=rest)


def _shares(band: Band) -> list[Cell]:
    ends = zip(band.estimate.tolist(), band.low.tolist(), band.high.tolist(), strict=True)
    return [Cell(f"{100 * now:.1f}", below=f"{100 * low:.1f} to {100 * high:.1f}") for now, low, high in ends]


def picture_windows(  # noqa: PLR0913 - all that a picture may show
    windows: Windows,
    curve: FloatArray,
    name: str,
    *,
    truth: FloatArray | None = None,
    noisy: FloatArray | None = None,
    background: tuple[FloatArray, ...] = (),
    color: str = style.STACKED,
    story: str = "",
) -> list[Part]:
    """Return windows as a picture and as folded numbers.

    The story says what curve and boxes assume.
    """
    grey = "Grey: the truth." if truth is not None and isinstance(windows.alphabet.geometry, LineGeometry) else ""
    order = range(len(windows)) if windows.alphabet.grid is None else np.argsort(windows.ranks).tolist()
    rows = [
        [windows.names[place], *(f"{share:.2%}" for share in (one.estimate, one.low, one.high)), _parts(one)]
        for place in order
        for one in (windows.answers[place],)
    ]
    drawn = Picture(
        lambda width: draw_windows(
            windows, curve, name=name, truth=truth, noisy=noisy, background=background, width=width, color=color
        ),
        tell_windows(windows, name),
        " ".join(filter(None, [_explain_windows(windows, has_reports=noisy is not None), story, grey])),
    )
    return [
        drawn,
        Section("The same in numbers", [Listing([name, "Share", "From", "To", "Width of the interval"], rows)], "more"),
    ]


def _parts(answer: Interval) -> str:
    return NONE if answer.parts is None else str(answer.parts)


def _explain_windows(windows: Windows, *, has_reports: bool) -> str:
    level = f"{percent(windows.level)} confidence"
    if windows.alphabet.grid is not None:
        return (
            f"Cells are joined to districts until the reports resolve their shares. First map: the share of each "
            f"district, spread evenly over its cells, and its number. Second map: its share, and by how many points it "
            f"may be off ({level}); the stronger the shade, the larger its error relative to the share."
        )
    if not isinstance(windows.alphabet.geometry, LineGeometry):
        beside = " Pale bars: shares of the reports, which the noise has spread out." if has_reports else ""
        return f"Each share with its interval ({level}).{beside}"
    return (
        f"Each box is a range: its share lies between bottom and top ({level}), spread evenly over its values. "
        "Within a box, a bump of the curve may be chance."
    )


def tell_windows(windows: Windows, name: str) -> str:
    """Return the shares of windows with their ends, the largest first."""
    order = sorted(range(len(windows)), key=lambda place: -windows.answers[place].estimate)
    told = [
        f"{windows.names[place]} {short_percent(one.estimate)} ({short_percent(one.low)} to {short_percent(one.high)})"
        for place in order[:6]
        for one in (windows.answers[place],)
    ]
    more = f", and {counted(len(order) - len(told), 'more')}" if len(order) > len(told) else ""
    return f"Shares by {name}, the largest first, with {percent(windows.level)} intervals: {', '.join(told)}{more}."


def tell_paths(paths: Mapping[str, Sequence[float]], ceiling: float | None) -> str:
    """Describe how far below the maximum each method ended."""
    reached = max(max(path) for path in paths.values())
    most = reached if ceiling is None else max(ceiling, reached)
    told = [
        f"{name} is at most {most - path[-1]:.3g} below the maximum after {counted(len(path), 'iteration')}"
        for name, path in paths.items()
    ]
    return f"{listed(told)}."


def short_percent(share: float) -> str:
    """Return a share in percent with two digits or so.

    >>> short_percent(0.3628), short_percent(0.0034), short_percent(-0.02)
    ('36%', '0.34%', '\N{MINUS SIGN}2%')
    """
    return f"{100 * share:.2g}%".replace("-", "\N{MINUS SIGN}")


def tell_panel(panel: Panel, alphabet: Alphabet, name: str) -> str:
    """Describe where a distribution peaks and where its middle half lies."""
    shares = panel.distribution
    top = int(np.argmax(shares))
    who = "the reports" if panel.role is Role.NOISY else "people"
    most = f"most of {who}, {short_percent(float(shares[top]))}, at {describe_value(alphabet, top, name)}"
    if (
        isinstance(alphabet.geometry, LineGeometry)
        and alphabet.size > 2
        and bool((shares >= 0).all())
        and shares.sum() > 0
    ):
        below = np.cumsum(shares) / shares.sum()
        low, high = (
            describe_value(alphabet, min(int(np.searchsorted(below, share)), below.size - 1), name)
            for share in (0.25, 0.75)
        )
        most += f"; half lie between {low} and {high}"
    words = f"{panel.title}: {most}"
    return f"{words}. {panel.subtitle}." if panel.subtitle else f"{words}."

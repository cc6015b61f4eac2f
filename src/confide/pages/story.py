"""Story of an estimate page: what was sent and recovered, the truth where it is known, and the sentences about it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import (
    Alphabet,
    Attributes,
    BitVectors,
    Categories,
    Grid,
    Indices,
    Integers,
    Selection,
)
from confide.checks import as_distribution
from confide.comparisons import Outcome
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.explanations import describe_value
from confide.figures import Panel, Role
from confide.figures.panels import FloatArray
from confide.intervals import Band, Interval, Windows
from confide.mechanisms.planar import nearest_cells
from confide.methods import Method
from confide.pages.markup import NONE, introduce_reports
from confide.surveys import Survey
from confide.wording import listed, with_unit

# Bit vectors that are unpacked at a time: a few megabytes for hundreds of bits.
CHUNK = 10_000
# Numbers up to which the most common one says more than quartiles do.
FEW_VALUES = 8
# Distances from the truth that differ by less than this factor are a tie.
TIE = 1.001

OTHER_REPORTS = "Reports are not values here, so they have a picture of their own:"
BIT_VECTORS = (
    "Reports are bit vectors here, with one bit for each value, so they are no distribution. In a report, the bit of "
    "the true value and all others are each flipped at random. How often each bit was set:"
)


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
    """Return the shares of the reports, or None where reports are so unlike values that they cannot be drawn.

    The values are those `considered`, where the survey's own are unbounded.
    """
    values = survey.alphabet if considered is None else considered
    outputs = survey.mechanism.report_alphabet
    if isinstance(outputs, BitVectors):
        return Noisy(values, _bit_shares(outputs, counts), "Bits set", f"among {_reports(counts)}", BIT_VECTORS)
    if outputs.is_listable:
        shares = survey.mechanism.lay_out(counts) / counts.total if given is None else given
        known = as_distribution(shares, outputs.size, "noisy")
        remark = "" if outputs == values else OTHER_REPORTS
        return Noisy(outputs, known, "Noisy", f"{_reports(counts)}, as read", remark)
    places = _nearest_values(values, outputs, counts)
    if places is None:
        return None
    shares = np.bincount(places, counts.counts, minlength=values.size) / counts.total if given is None else given
    known = as_distribution(shares, values.size, "noisy")
    return Noisy(values, known, "Noisy", f"{_reports(counts)}, moved to the nearest value")


def _reports(counts: Counts) -> str:
    return f"{counts.total:,.10g} {'report' if counts.total == 1 else 'reports'}"  # totals may be fractions


def _bit_shares(outputs: BitVectors, counts: Counts) -> FloatArray:
    """Return in which share of the reports each bit is set."""
    shares = np.zeros(outputs.length)
    for start in range(0, counts.counts.size, CHUNK):
        part = slice(start, start + CHUNK)
        shares += counts.counts[part] @ outputs.unpack(counts.reports[part])
    return shares / counts.total


def _nearest_values(values: Alphabet, outputs: Alphabet, counts: Counts) -> Indices | None:
    """Return the number of the value nearest to each report, where reports lie among the values."""
    if isinstance(values, Integers) and outputs.geometry.dimensions == 1:
        low, high = values.span
        return values.encode(np.rint(counts.reports).clip(low, high))
    if isinstance(values, Grid) and outputs.geometry.dimensions == 2:
        first = np.array([values.first_row, values.first_column])
        cells = np.rint(counts.reports).clip(first, first + values.shape - 1)
        nearest: Indices = nearest_cells(values.box, values)[values.box.encode(cells)]
        return nearest
    if isinstance(values, Selection) and outputs.geometry.dimensions:
        from scipy.spatial import cKDTree

        points = counts.reports.astype(np.float64).reshape(counts.reports.shape[0], -1)
        return np.asarray(cKDTree(values.coordinates).query(points)[1], dtype=np.int64)
    return None


@dataclass(frozen=True, eq=False)
class Story:
    """Survey, reports and estimates of a page, and the truth where it is known."""

    survey: Survey
    counts: Counts
    outcomes: tuple[Outcome, ...]
    truth: FloatArray | None
    noisy: Noisy | None
    band: Band | None = None
    answers: tuple[Interval, ...] = ()
    windows: Windows | None = None
    background: tuple[FloatArray, ...] = ()

    def __post_init__(self) -> None:
        if self.band is not None and self.band.alphabet != self.alphabet:
            raise InvalidParameterError(
                f"The band is over {self.band.alphabet!r}, but the first estimate over {self.alphabet!r}."
            )

    @property
    def alphabet(self) -> Alphabet:
        """Values that the estimates are over: all that a person may have, or the likely ones of an unbounded set."""
        return self.outcomes[0].estimate.alphabet

    @property
    def is_comparable(self) -> bool:
        """Whether reports are values, or were moved to them, so that their distribution lies on the same axis."""
        return self.noisy is not None and not self.noisy.remark

    @cached_property
    def names(self) -> list[str]:
        """Name of each outcome's method; with its settings where a method stands more than once."""
        return self._name(lambda method: method.name)

    @cached_property
    def full_names(self) -> list[str]:
        """Names of the methods in a sentence."""
        return self._name(lambda method: method.full_name)

    def _name(self, of: Callable[[Method], str]) -> list[str]:
        methods = [outcome.estimate.method for outcome in self.outcomes]
        often = Counter(method.name for method in methods)
        return [of(method) if often[method.name] == 1 else repr(method) for method in methods]

    @cached_property
    def closest(self) -> list[int]:
        """Places of the outcomes that lie closest to the truth; several if they tie, none without a truth."""
        distances = {place: self.distance(outcome) for place, outcome in enumerate(self.outcomes)}
        measured = {place: distance for place, distance in distances.items() if distance is not None}
        return [place for place, distance in measured.items() if distance <= TIE * min(measured.values())]

    def distance(self, outcome: Outcome) -> float | None:
        """Return how far an outcome lies from the truth, by what says most about it; None where that is not known."""
        return outcome.emd if self.has_distances else outcome.total_variation

    @property
    def has_distances(self) -> bool:
        """Whether values lie nearer and farther in one unit, and this is measured; else total variation has to do."""
        is_left_out = any(outcome.emd_left_out for outcome in self.outcomes)
        return not (is_left_out or isinstance(self.alphabet, Categories | Attributes))

    @cached_property
    def truth_panel(self) -> list[Panel]:
        """Panel of the truth, where it is known."""
        if self.truth is None:
            return []
        return [Panel("Original", self.truth, "The true distribution", role=Role.TRUTH, background=self.background)]

    @cached_property
    def noisy_panel(self) -> list[Panel]:
        """Panel of the reports, unless they are so unlike values that they cannot be drawn."""
        if self.noisy is None:
            return []
        reference = self.truth if self.is_comparable else None
        sent = Panel(self.noisy.title, self.noisy.shares, self.noisy.how, reference, Role.NOISY)
        return [replace(sent, background=self.background)]


def gather(
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None,
    noisy: ArrayLike | None,
) -> Story:
    """Check the parts of a page and put them together."""
    if not outcomes:
        raise InvalidParameterError("A page needs at least one outcome; got none. Call confide.assess first.")
    alphabet = outcomes[0].estimate.alphabet
    known = None if truth is None else as_distribution(truth, alphabet.size, "truth")
    sent = summarise_reports(survey, counts, noisy, alphabet)
    return Story(survey, counts, tuple(outcomes), known, sent)


def summarise(story: Story) -> str:
    """Return the page in a few sentences: what was sent, what was done, what came out."""
    methods = listed(story.full_names)
    sent = introduce_reports(story.survey, _reports(story.counts), story.counts.origin)
    done = f"From these alone, {methods} recovered how the true values are distributed."
    told = story.outcomes[0].estimate
    first = "" if told.is_told or told.uniformity is None else f"{told.uniformity.headline} "
    return f"{first}{sent} {done} {_main_result(story)}".rstrip()


def list_facts(story: Story) -> dict[str, str]:
    """Return what to see at a glance."""
    facts = {
        "Reports": f"{story.counts.total:,.10g}",
        "Possible values" if story.survey.alphabet.is_finite else "Likely values": f"{story.alphabet.size:,}",
        "Promise of the survey": story.survey.mechanism.guarantee.terms,
        "Noise": story.counts.origin.in_short,
        "Fit": str(story.outcomes[0].estimate.fit.verdict),
    }
    shape = story.outcomes[0].estimate.shape
    facts |= {} if shape is None else {"Shape taken for granted": str(shape)}
    if not story.closest:
        first = story.outcomes[0]
        certified = {f"{story.names[0]} is below the maximum by": bound_certificate(first)}
        return facts | (certified if first.estimate.method.seeks_maximum else {})
    place = story.closest[0]
    return facts | {f"Distance from the truth, {story.names[place]}": _distance(story, story.outcomes[place])}


def describe_emd(story: Story, outcome: Outcome) -> str:
    """Return an outcome's earth mover's distance with its unit."""
    return NONE if outcome.emd is None else with_unit(outcome.emd, story.alphabet.unit)


def describe_total_variation(outcome: Outcome) -> str:
    """Return an outcome's total variation from the truth."""
    return NONE if outcome.total_variation is None else f"{outcome.total_variation:.3f}"


def describe_accuracy(story: Story, outcome: Outcome) -> str:
    """Return what stands under an estimate's title."""
    if not outcome.estimate.is_distribution:
        return "Not a distribution: it has negative shares"
    if story.distance(outcome) is None:
        return describe_certificate(outcome) if outcome.estimate.method.seeks_maximum else ""
    variation = f"TV {describe_total_variation(outcome)}"
    return f"EMD {describe_emd(story, outcome)}, {variation}" if story.has_distances else variation


def describe_certificate(outcome: Outcome) -> str:
    """Return how far below the maximum an estimate can be, in words that stand alone."""
    if not math.isfinite(outcome.estimate.certificate):
        return bound_certificate(outcome).capitalize()
    return f"{bound_certificate(outcome).capitalize()} below the maximum"


def bound_certificate(outcome: Outcome) -> str:
    """Return how far below the maximum an estimate can be, in words for a table."""
    certificate = outcome.estimate.certificate
    if math.isnan(certificate):
        return "not a distribution"
    if not outcome.estimate.method.seeks_maximum:
        return NONE
    if certificate < 0.001:
        return "less than 0.001"
    return "no bound" if math.isinf(certificate) else f"at most {_short(certificate)}"


def describe_seconds(seconds: float) -> str:
    """Return a duration.

    >>> describe_seconds(0.00004), describe_seconds(0.0123), describe_seconds(75)
    ('under 1 ms', '12 ms', '75 s')
    """
    if seconds < 0.001:
        return "under 1 ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"


def describe_question(answer: Interval) -> str:
    """Return what was asked as a heading of its answer.

    >>> describe_question(Interval("mean", 3.0, 2.0, 4.0, 0.95, "", is_share=False))
    'the mean'
    >>> describe_question(Interval("age > 64", 0.1, 0.05, 0.2, 0.95, ""))
    'the share of age > 64'
    """
    of = "" if answer.question.startswith("within ") else "of "
    return f"the share {of}{answer.question}" if answer.is_share else f"the {answer.question}"


def describe_ends(answer: Interval) -> list[str]:
    """Return the answer and its two ends, in percent where they are shares."""
    return list(answer.texts(2))


def describe_bases(band: Band | None, answers: Sequence[Interval]) -> list[str]:
    """Return what a band and the answers rest on, in a sentence for each basis."""
    sentences = [] if band is None else [f"The intervals of single values rest on {band.rests_on}."]
    asked: dict[str, list[str]] = {}
    for answer in answers:
        asked.setdefault(answer.rests_on, []).append(describe_question(answer))
    for basis, questions in asked.items():
        about = "What was asked" if len(asked) == 1 else f"What was asked about {listed(questions)}"
        sentences.append(f"{about} rests on {basis}.")
    return sentences


def _main_result(story: Story) -> str:
    if not story.closest:
        return _describe_answer(story)
    measure = "earth mover's distance" if story.has_distances else "total variation"
    distance = f"{_distance(story, story.outcomes[story.closest[0]])} ({measure})"
    farther = [
        f"{_distance(story, outcome)} for {story.names[place]}"
        for place, outcome in enumerate(story.outcomes)
        if story.distance(outcome) is not None and place not in story.closest
    ]
    closest = listed([story.names[place] for place in story.closest])
    if not farther:
        return f"{closest} came within {distance} of the truth."
    return f"{closest} came closest to the truth: {distance}, against {listed(farther)}."


def _distance(story: Story, outcome: Outcome) -> str:
    return describe_emd(story, outcome) if story.has_distances else describe_total_variation(outcome)


def _describe_answer(story: Story) -> str:
    """Return the most telling thing about the first estimate, where no truth is there to compare it with."""
    estimate = story.outcomes[0].estimate
    if not estimate.is_distribution:
        return "The answer has negative shares, so it is no distribution; repair it by normalising or projecting."
    if isinstance(story.alphabet, Integers) and story.alphabet.size > FEW_VALUES:
        return _describe_line(story, estimate.distribution)
    top = int(np.argmax(estimate.distribution))
    value = describe_value(story.alphabet, top, story.survey.name)
    common = "The fullest" if isinstance(story.alphabet, Grid) else "The most common"
    return f"{common} is {value}, with {estimate.distribution[top]:.1%} of the people."


def _describe_line(story: Story, distribution: FloatArray) -> str:
    below = np.cumsum(distribution)
    low, middle, high = (
        describe_value(story.alphabet, min(int(np.searchsorted(below, share)), below.size - 1), story.survey.name)
        for share in (0.25, 0.5, 0.75)
    )
    return f"By this estimate, half of all people lie between {low} and {high}, and the median is {middle}."


def _short(amount: float) -> str:
    return f"{amount:.3g}" if amount < 1000 else f"{amount:,.0f}"

"""The sentences of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from confide.alphabets import Grid, Integers
from confide.comparisons import Outcome
from confide.explanations import describe_mechanism, describe_value
from confide.figures.panels import FloatArray
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy, ProductGuarantee
from confide.intervals import Band, Interval
from confide.pages.markup import NONE
from confide.pages.story import Story
from confide.wording import with_unit

FEW_VALUES = 8
"""Up to so many numbers the most common one says more than quartiles do."""


def summarise(story: Story) -> str:
    """Return the page in a few sentences: what was sent, what was done, what came out."""
    methods = listed(story.full_names)
    many = f"{story.counts.total:,.10g} reports came in" if story.counts.total != 1 else "1 report came in"
    sent = f"{many}, each blurred by {describe_mechanism(story.survey)} before it was sent."
    done = f"From these alone, {methods} recovered how the true values are distributed."
    return f"{sent} {done} {_main_result(story)}".rstrip()


def list_facts(story: Story) -> dict[str, str]:
    """Return what to see at a glance."""
    facts = {
        "Reports": f"{story.counts.total:,.10g}",
        "Possible values" if story.survey.alphabet.is_finite else "Likely values": f"{story.alphabet.size:,}",
        "Promise": _promise_in_short(story.survey.mechanism.guarantee),
    }
    if not story.closest:
        return facts | {f"{story.names[0]} is below the maximum by": bound_certificate(story.outcomes[0])}
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
        return describe_certificate(outcome)
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
    return f"the share of {answer.question}" if answer.is_share else f"the {answer.question}"


def describe_ends(answer: Interval) -> list[str]:
    """Return the answer and its two ends, in percent where they are shares."""
    return [f"{one:.2%}" if answer.is_share else f"{one:.4g}" for one in (answer.estimate, answer.low, answer.high)]


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


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["one"]), listed(["one", "two", "three"])
    ('one', 'one, two and three')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _promise_in_short(guarantee: Guarantee) -> str:
    if isinstance(guarantee, ProductGuarantee):
        return f"{_promise_in_short(guarantee.first)} and {_promise_in_short(guarantee.second)}"
    if isinstance(guarantee, MetricPrivacy):
        return f"{guarantee.epsilon:.4g} per {guarantee.unit or 'unit of distance'}"
    if isinstance(guarantee, LocalDP):
        return "none" if math.isinf(guarantee.epsilon) else f"epsilon {guarantee.epsilon:.4g}"
    return type(guarantee).__name__


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

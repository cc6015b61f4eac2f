"""What a page is about, gathered once: the distributions, their names and their colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import Alphabet, Categories
from confide.checks import as_distribution
from confide.comparisons import Outcome
from confide.errors import InvalidParameterError
from confide.explanations import is_finite
from confide.figures import Panel, Role
from confide.figures.panels import FloatArray
from confide.reports import Counts
from confide.surveys import Survey


@dataclass(frozen=True, eq=False)
class Story:
    """The survey, its reports, what was recovered, and the truth where it is known."""

    survey: Survey
    counts: Counts
    outcomes: tuple[Outcome, ...]
    truth: FloatArray | None
    noisy: FloatArray | None
    seed: int | None

    @property
    def alphabet(self) -> Alphabet:
        """The values a person may have."""
        return self.survey.alphabet

    @property
    def is_comparable(self) -> bool:
        """Whether reports are values, or were rounded to them, so that their distribution lies on the same axis."""
        outputs = self.survey.mechanism.report_alphabet
        return outputs == self.alphabet or not is_finite(outputs)

    @cached_property
    def names(self) -> list[str]:
        """What each outcome is called; with its settings where a method stands more than once."""
        often = Counter(outcome.estimate.method.name for outcome in self.outcomes)
        return [
            method.name if often[method.name] == 1 else repr(method)
            for method in (outcome.estimate.method for outcome in self.outcomes)
        ]

    @cached_property
    def closest(self) -> list[int]:
        """The numbers of the outcomes that lie closest to the truth; several if they tie, none without a truth."""
        measured = {place: outcome.emd for place, outcome in enumerate(self.outcomes) if outcome.emd is not None}
        return [place for place, emd in measured.items() if emd <= 1.001 * min(measured.values())]

    @property
    def has_distances(self) -> bool:
        """Whether values lie nearer and farther; between categories an earth mover's distance says nothing new."""
        return not isinstance(self.alphabet, Categories)

    @cached_property
    def truth_panel(self) -> list[Panel]:
        """The original, where it is known."""
        if self.truth is None:
            return []
        return [Panel("Original", self.truth, "The true distribution", role=Role.TRUTH)]

    @cached_property
    def noisy_panel(self) -> list[Panel]:
        """What was sent, unless reports are so unlike values that they cannot be drawn."""
        if self.noisy is None:
            return []
        reference = self.truth if self.is_comparable else None
        sent = "as sent" if is_finite(self.survey.mechanism.report_alphabet) else "moved to the nearest value"
        return [Panel("Noisy", self.noisy, f"{self.counts.total:,.10g} reports, {sent}", reference, Role.NOISY)]


def gather(
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None,
    noisy: ArrayLike | None,
    seed: int | None,
) -> Story:
    """Check the parts of a page and put them together."""
    if not outcomes:
        raise InvalidParameterError("A page needs at least one outcome; got none. Call confide.assess first.")
    known = None if truth is None else as_distribution(truth, survey.alphabet.size, "truth")
    return Story(survey, counts, tuple(outcomes), known, _noisy_shares(survey, counts, noisy), seed)


def _noisy_shares(survey: Survey, counts: Counts, given: ArrayLike | None) -> FloatArray | None:
    """Return the share of each report; of each value, where there is no end of reports but a nearest value."""
    outputs = survey.mechanism.report_alphabet
    if given is not None:
        return as_distribution(given, (outputs if is_finite(outputs) else survey.alphabet).size, "noisy")
    if is_finite(outputs):
        return survey.mechanism.lay_out(counts) / counts.total
    if outputs.field_names != survey.alphabet.field_names or isinstance(survey.alphabet, Categories):
        return None
    places = survey.alphabet.coordinates
    nearest = np.rint(counts.reports).reshape(-1, places.shape[1]).clip(places.min(axis=0), places.max(axis=0))
    indices = survey.alphabet.encode(nearest.reshape(np.shape(counts.reports)))
    return np.bincount(indices, counts.counts, minlength=survey.alphabet.size) / counts.total

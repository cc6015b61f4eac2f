"""What a page is about, gathered once: the distributions, their names and their colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from confide.alphabets import Alphabet, Categories, Pairs
from confide.checks import as_distribution
from confide.comparisons import Outcome
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.figures import Panel, Role
from confide.figures.panels import FloatArray
from confide.intervals import Band, Interval
from confide.methods import Method
from confide.pages.noisy import Noisy, summarise_reports
from confide.surveys import Survey


@dataclass(frozen=True, eq=False)
class Story:
    """The survey, its reports, what was recovered, and the truth where it is known."""

    survey: Survey
    counts: Counts
    outcomes: tuple[Outcome, ...]
    truth: FloatArray | None
    noisy: Noisy | None
    seed: int | None
    band: Band | None = None
    answers: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        if self.band is not None and self.band.alphabet != self.alphabet:
            raise InvalidParameterError(
                f"The band is over {self.band.alphabet!r}, but the first estimate over {self.alphabet!r}."
            )

    @property
    def alphabet(self) -> Alphabet:
        """The values that the estimates are over: all that a person may have, or the likely ones of no end of them."""
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
        """The numbers of the outcomes that lie closest to the truth; several if they tie, none without a truth."""
        distances = {place: self.distance(outcome) for place, outcome in enumerate(self.outcomes)}
        measured = {place: distance for place, distance in distances.items() if distance is not None}
        return [place for place, distance in measured.items() if distance <= 1.001 * min(measured.values())]

    def distance(self, outcome: Outcome) -> float | None:
        """Return how far an outcome lies from the truth, by what says most about it; None where that is not known."""
        return outcome.emd if self.has_distances else outcome.total_variation

    @property
    def has_distances(self) -> bool:
        """Whether values lie nearer and farther in one unit; else total variation says all there is to say."""
        return not isinstance(self.alphabet, Categories | Pairs)

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
        return [Panel(self.noisy.title, self.noisy.shares, self.noisy.how, reference, Role.NOISY)]


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
    alphabet = outcomes[0].estimate.alphabet
    known = None if truth is None else as_distribution(truth, alphabet.size, "truth")
    sent = summarise_reports(survey, counts, noisy, alphabet)
    return Story(survey, counts, tuple(outcomes), known, sent, seed)

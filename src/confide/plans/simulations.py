"""A whole survey, simulated again and again: people are drawn, blurred, counted, estimated, and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError
from confide.estimates import recover
from confide.guarantees import LocalDP, MetricPrivacy
from confide.mechanisms import Mechanism
from confide.methods import Method
from confide.plans.caches import Cache
from confide.plans.coupling import draw_multinomials, draw_uniforms
from confide.plans.fingerprints import fingerprint
from confide.plans.guesses import Guess
from confide.plans.measures import Measure, Prediction
from confide.reports import Counts, tally

Follow = Callable[[str, int, int], None]
"""Called with what is being simulated, which repeat it is, and how many there are."""

MOST_DRAWN = 20_000_000
"""Where reports have to be drawn one by one, people times values up to which a plan looks on its own account."""

MOST_PEOPLE = 1_000_000_000
"""More people than anyone will ask."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Everything that stays the same while people and epsilon are varied.

    Attributes
    ----------
    guess
        What the truth is taken to be; people are drawn from it independently.
    measure
        What an estimate is judged by.
    method
        How the distribution is estimated.
    repeats, seed
        How often each setting is simulated, and the seed. Repeat r has the same luck at every setting.
    cache
        Where numbers are kept; None to keep none.
    follow
        Told how far it has come.
    known
        The errors of settings that were asked for before.
    """

    guess: Guess
    measure: Measure
    method: Method
    repeats: int
    seed: int
    cache: Cache | None = None
    follow: Follow | None = field(default=None, repr=False)
    known: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def predict(self, mechanism: Mechanism, people: int) -> Prediction:
        """Return the expected error of a survey of so many people."""
        return self.measure.summarise(self.errors(mechanism, people))

    def errors(self, mechanism: Mechanism, people: int) -> FloatArray:
        """Return the error of each repeat, simulated once and then remembered."""
        key = self._key(mechanism, people)
        if key not in self.known:
            self.known[key] = self._recall(key, mechanism, people)
        return self.known[key]

    def _recall(self, key: str, mechanism: Mechanism, people: int) -> FloatArray:
        """Return errors from the cache, or simulate and keep them."""
        kept = None if self.cache is None else self.cache.get(key)
        if kept is not None and kept.size == self.repeats:
            return kept
        errors = self._simulate(mechanism, people)
        if self.cache is not None:
            self.cache.put(key, errors)
        return errors

    def _simulate(self, mechanism: Mechanism, people: int) -> FloatArray:
        label = f"{mechanism.kind}, {people:,} people, {promise(mechanism)}"
        draw, errors = self._sampler(mechanism, people), np.empty(self.repeats)
        for repeat in range(self.repeats):
            if self.follow is not None:
                self.follow(label, repeat + 1, self.repeats)
            answer = recover([(draw(repeat), mechanism)], self.method)
            errors[repeat] = self.measure.judge(answer, self.guess.vector)
        return errors

    def _sampler(self, mechanism: Mechanism, people: int) -> Callable[[int], Counts]:
        """Return what draws the counts of one repeat.

        People are drawn independently, so that how often each output is reported is one multinomial over
        push(guess). Where outputs have no end, people are drawn first and then a report for each.
        """
        if not has_matrix(mechanism):
            return lambda repeat: self._draw_reports(mechanism, people, np.random.default_rng([self.seed, repeat]))
        shares = np.maximum(mechanism.channel.push(self.guess.vector), 0.0)
        drawn = draw_multinomials(shares, people, draw_uniforms(shares.size, self.repeats, self.seed))

        def draw(repeat: int) -> Counts:
            seen = np.flatnonzero(drawn[repeat])
            return tally(mechanism.report_alphabet.decode(seen), drawn[repeat][seen])

        return draw

    def _draw_reports(self, mechanism: Mechanism, people: int, generator: np.random.Generator) -> Counts:
        histogram = generator.multinomial(people, self.guess.vector)
        return mechanism.simulate_counts(histogram, rng=generator)

    def _key(self, mechanism: Mechanism, people: int) -> str:
        return fingerprint(mechanism, people, self.guess.vector, self.measure, self.method, self.repeats, self.seed)


def has_matrix(mechanism: Mechanism) -> bool:
    """Whether the mechanism has an end of outputs, few enough to lay them side by side."""
    try:
        return bool(mechanism.has_channel and mechanism.channel.shape[1] > 0)
    except InvalidParameterError:
        return False


def most_people(mechanism: Mechanism) -> int:
    """Return up to how many people a plan looks on its own account: fewer where each report has to be drawn."""
    return MOST_PEOPLE if has_matrix(mechanism) else max(1000, MOST_DRAWN // mechanism.alphabet.size)


def epsilon_of(mechanism: Mechanism) -> float | None:
    """Return the mechanism's epsilon; None where it is made of others, or of a matrix."""
    return getattr(mechanism, "epsilon", None) if _takes_epsilon(mechanism) else None


def with_epsilon(mechanism: Mechanism, epsilon: float) -> Mechanism:
    """Return the same mechanism with another promise.

    >>> from confide import Categories, RandomizedResponse
    >>> with_epsilon(RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0), 2.0).guarantee
    LocalDP(epsilon=2.0)
    """
    if not _takes_epsilon(mechanism):
        raise InvalidParameterError(
            f"{mechanism!r} has no epsilon of its own to be varied. Give a target alone, to solve for people, or "
            f"people alone; or plan with a mechanism that takes an epsilon."
        )
    changed: Mechanism = replace(mechanism, epsilon=epsilon)  # type: ignore[type-var]  # all are dataclasses
    return changed


def promise(mechanism: Mechanism) -> str:
    """Return the promise in a few words.

    >>> from confide import Integers, TruncatedGeometric
    >>> promise(TruncatedGeometric(Integers(0, 9, unit="year"), epsilon=0.05))
    '0.05 per year'
    """
    guarantee = mechanism.guarantee
    if isinstance(guarantee, MetricPrivacy):
        return f"{guarantee.epsilon:.4g} per {guarantee.unit or 'unit of distance'}"
    return f"epsilon {guarantee.epsilon:.4g}" if isinstance(guarantee, LocalDP) else "the survey's promise"


def _takes_epsilon(mechanism: Mechanism) -> bool:
    return "epsilon" in {one.name for one in fields(mechanism)}  # type: ignore[arg-type]  # as above

"""Which mechanism? All that suit the values, by their expected error."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms import (
    Mechanism,
    TruncatedGeometric,
    TruncatedPlanarLaplace,
    WrappedGeometric,
)
from confide.mechanisms.comparison import (
    ALIKE,
    Ranked,
    bits_of,
    by_error,
    compare,
    suiting,
    work_of,
)
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.plans.guesses import Guess, as_guess, family_of
from confide.plans.simulations import QueryWidth, Simulation, choose_measure, has_matrix, promise
from confide.solve.methods import Stacked
from confide.values import Alphabet, LineGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import check_choice, check_count, require_kinds
from confide.values.queries import Query
from confide.values.wording import Shown, counted, with_unit

Promise = Literal["local", "metric"]

ALIKE_SIMULATED = 1.05
"""As `ALIKE`, of simulated errors: those scatter by some percent."""


@dataclass(frozen=True)
class Ranking(Shown):
    """Mechanisms with the same promise, the best first.

    Attributes
    ----------
    candidates
        The mechanisms; of nearly the same error, the one with the smaller report first.
    people
        Number of people who report.
    measure
        What the error is.
    unit
        Its unit; empty for shares.

    Examples
    --------
    >>> import confide as cf
    >>> found = cf.rank(cf.Categories(["a", "b", "c"]), 1.0, people=20_000)
    >>> found.best.kind
    'randomized-response'
    """

    candidates: tuple[Ranked, ...]
    people: int
    measure: str
    unit: str = ""

    @property
    def best(self) -> Mechanism:
        """The mechanism that is proposed."""
        return self.candidates[0].mechanism

    @cached_property
    def reason(self) -> str:
        """Why it is proposed, in a sentence."""
        first, *others = self.candidates
        if not others:
            return f"{first.mechanism.kind} is the only mechanism with {promise(self.best)} for these values."
        other = min(others, key=lambda one: one.error)
        ratio = other.error / first.error if first.error else math.inf
        size = f"a report takes {counted(first.bits, 'bit')}"
        if ratio > ALIKE:
            more = f"{other.mechanism.kind} has {ratio:.2g} times that error"
            return f"{first.mechanism.kind} has the smallest error, and {size}. Next best: {more}."
        more = f", not {other.bits:,}" if other.bits > first.bits else ""
        return f"{first.mechanism.kind} is as accurate as {other.mechanism.kind}; {size}{more}."

    def __str__(self) -> str:
        rows = [
            f"  {one.mechanism.kind:<20}  {self.show(one):>14}  {counted(one.bits, 'bit'):>10}  {one.work:>12,}"
            for one in self.candidates
        ]
        heading = (
            f"Promise: {promise(self.best)} · {self.people:,} people · {self.measure}, size of a report and numbers "
            f"that a step of an estimate handles"
        )
        return "\n".join([self.reason, "", heading, *rows])

    def record(self) -> dict[str, Any]:
        """Return the ranking for JSON."""
        return {
            "headline": self.reason,
            "promise": promise(self.best),
            "people": self.people,
            "measure": self.measure,
            "unit": self.unit,
            "mechanisms": [
                {"kind": one.mechanism.kind, "error": one.error, "bits": one.bits, "work": one.work}
                for one in self.candidates
            ],
        }

    def show(self, candidate: Ranked) -> str:
        """Return a candidate's error with its unit."""
        if self.unit:
            return with_unit(float(f"{candidate.error:.3g}"), self.unit)
        return f"\N{PLUS-MINUS SIGN}{100 * candidate.error:.3g} points"


def rank(
    alphabet: Alphabet,
    epsilon: float,
    *,
    people: int,
    promise: Promise = "local",
    guess: str | Guess | None = None,
    query: Query | None = None,
) -> Ranking:
    """Rank the mechanisms that suit some values, at the same promise.

    Categories are ranked by how well the share of one of them is known: 1.96 standard errors of its unbiased estimate,
    for equal shares. Values in order, and questions, are ranked by simulated surveys with the default method.

    Parameters
    ----------
    alphabet
        The values.
    epsilon
        The promise: for every two values, or per unit of distance.
    people
        Number of people who report.
    promise
        ``"local"`` for one epsilon for every two values, ``"metric"`` for an epsilon per unit of distance. They protect
        differently: choose which one people need, then rank.
    guess
        What the truth may look like. Optional. Default: the mean over several shapes. Categories need none.
    query
        A question to rank by. Optional. Default: the whole distribution.

    Examples
    --------
    >>> import confide as cf
    >>> print(cf.rank(cf.Categories([f"city {number}" for number in range(100)]), 1.0, people=20_000).reason)
    projective-geometry is as accurate as subset-selection; a report takes 7 bits, not 100.
    """
    require_kinds(rank, locals())
    check_choice("promise", promise, ("local", "metric"))
    check_count("people", people, 1)
    kind = LocalDP if promise == "local" else MetricPrivacy
    if isinstance(alphabet.geometry, UnorderedGeometry) and query is None and promise == "local":
        known = compare(alphabet, LocalDP(epsilon), people)
        return Ranking(_required(known, alphabet, epsilon), people, "each share to within, at 95%")
    found = [
        one
        for one in suiting(alphabet, epsilon)
        if isinstance(one.guarantee, kind) and math.isclose(one.guarantee.epsilon, epsilon, rel_tol=1e-6)
    ]
    # One shape flatters the mechanism that happens to suit it.
    truths = family_of(found[0]) if guess is None else (as_guess(guess, found[0]),)
    measure = choose_measure(alphabet, query)
    simulations = [Simulation(truth, measure, Stacked(), repeats=5, seed=0) for truth in truths]
    simulated = []
    for one in found:
        # A mechanism that cannot list its reports is drawn person by person, and has a peer that can.
        if has_matrix(one) and one.facts.dependence is None:
            with contextlib.suppress(ConfideError):
                errors = [simulation.predict(one, people).mean for simulation in simulations]
                mean = sum(errors) / len(errors)
                simulated.append(Ranked(one, mean, bits_of(one), work_of(one, people)))
    name = measure.name if isinstance(measure, QueryWidth) else f"expected {measure.name}"
    best_first = tuple(by_error(sorted(simulated, key=lambda one: one.error), ALIKE_SIMULATED))
    return Ranking(_required(best_first, alphabet, epsilon), people, name, measure.unit)


def rank_like(
    mechanism: Mechanism,
    *,
    people: int,
    epsilon: float | None = None,
    only: str = "all",
    guess: str | None = None,
    query: Query | None = None,
) -> Ranking:
    """Rank the mechanisms that may take the place of one.

    `only` names those that are wanted, separated by commas; ``"all"`` ranks all that suit.
    """
    guarantee = mechanism.guarantee
    if not isinstance(guarantee, LocalDP | MetricPrivacy):
        raise InvalidParameterError(
            "Mechanisms are ranked for one question, with one epsilon; this promise has several. Plan each attribute "
            "in a survey of its own."
        )
    kind: Promise = "local" if isinstance(guarantee, LocalDP) else "metric"
    found = rank(
        mechanism.alphabet, epsilon or guarantee.epsilon, people=people, promise=kind, guess=guess, query=query
    )
    wanted = {one.strip() for one in only.split(",")}
    kinds = {one.mechanism.kind: one for one in found.candidates}
    if only == "all":
        return found
    if unknown := wanted - set(kinds):
        raise InvalidParameterError(
            f"{', '.join(sorted(unknown))} cannot be ranked for these values at this promise. Choose from: "
            f"{', '.join(kinds)}; or all."
        )
    return replace(found, candidates=tuple(one for name, one in kinds.items() if name in wanted))


def _required(candidates: tuple[Ranked, ...], alphabet: Alphabet, epsilon: float) -> tuple[Ranked, ...]:
    if not candidates:
        raise InvalidParameterError(
            f"No mechanism with epsilon {epsilon:g} was found for {alphabet!r}. Metric privacy needs values with a "
            f"distance, such as numbers, dates or places."
        )
    return candidates


def gentle_epsilon(alphabet: Alphabet) -> float:
    """Return an epsilon that every mechanism can promise for these values.

    >>> from confide import Bins, Integers
    >>> gentle_epsilon(Integers(0, 9)), gentle_epsilon(Bins(0, 100_000, 10_000))
    (0.1, 1e-05)
    """
    return min(1.0, 1 / (float(getattr(alphabet, "spacing", 1.0)) * (alphabet.size if alphabet.is_finite else 1)))


def usual_mechanism(alphabet: Alphabet, epsilon: float) -> Mechanism:
    """Return the default mechanism for an alphabet.

    Metric noise where there is a distance, else the best ranked.

    >>> from confide import Integers
    >>> usual_mechanism(Integers(0, 9), 0.5)
    TruncatedGeometric(alphabet=Integers(0, 9), epsilon=0.5)
    """
    if isinstance(alphabet.geometry, LineGeometry):
        return TruncatedGeometric(alphabet, epsilon)
    if alphabet.grid is not None:
        return TruncatedPlanarLaplace(alphabet.grid, epsilon)
    if isinstance(alphabet.geometry, RingGeometry):
        return WrappedGeometric(alphabet, epsilon)
    return rank(alphabet, epsilon, people=1).best

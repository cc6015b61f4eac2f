"""Inference: intervals for values, queries, means and quantiles from an estimate and the reports that it came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices
from confide.channels import Mixture
from confide.channels.base import Channel, FloatArray
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.intervals.answers import Band, Interval
from confide.intervals.bases import (
    SHARES,
    Basis,
    Bootstrap,
    Family,
    Likelihood,
    draw_family,
    is_complete,
    replicates_for,
)
from confide.intervals.region import Region, Search, finish
from confide.intervals.surroundings import Surroundings
from confide.intervals.unbiased import Unbiased
from confide.intervals.undetermined import DIFFERENT, OPEN_SHARES, bounded_shares, explain_open, is_plainly_unique
from confide.methods import MLE, Method, Solution
from confide.queries import Query, as_weights, describe_query, remark_on, weigh
from confide.theory.maximum_set import MaximumSet, maximum_set_of

ROUGHLY = MLE(tolerance=0.01)
"""Finds the best explanations of replicates, to a hundredth of a nat: their average is all that is wanted."""

MOST_REPLICATES = 2000
"""Replicates that are drawn unbidden, for a level next to one."""

FEWER_REPLICATES = 150
"""Replicates that are drawn unbidden past so few values; the ends of a band are off by a thirteenth then, by chance."""

MEDIAN = 0.5

FEW_VALUES = 150
"""Values up to which the likelihood is asked for each of them unbidden: two searches of a few maxima each."""

Side = Callable[[FloatArray], float]
"""Takes a query to the lowest share that it can have, or to the highest."""

Asks = Callable[[FloatArray], Search[bool]]
"""Takes a query to a search for whether its share can be high enough, or must be."""

FAR = 256
"""Part of all values that the first stride of a search for a quantile goes."""


@dataclass(frozen=True, eq=False)
class Inference:
    """An estimate with the reports it came from.

    Attributes
    ----------
    alphabet
        The values.
    parts
        The reports of each group of people, laid against their channel.
    solution, method
        What was recovered, and how.
    channel
        The mechanism's own channel, with all outputs; None where they are unbounded.
    surroundings
        On an unbounded alphabet, where the values are the likely ones and others around them: which are which.
    wide
        On an unbounded alphabet, where the values are the likely ones alone: the same with their surroundings, for
        bases that look around.
    mixture, premise
        Under a shape: its components, whose shares the parts and the solution are about, and what it says, in words.
        Weights of values are lifted to those of components; all else is as without.
    """

    alphabet: Alphabet
    parts: Sequence[Evidence]
    solution: Solution
    method: Method
    channel: Channel | None
    surroundings: Surroundings | None = None
    wide: Inference | None = None
    mixture: Mixture | None = None
    premise: str = ""
    _drawn: dict[tuple[str, int, int], list[Family]] = field(default_factory=dict, init=False)
    _unbiased: dict[float, Unbiased] = field(default_factory=dict, init=False)

    @property
    def distribution(self) -> FloatArray:
        """The estimate."""
        return self.solution.distribution

    def lift(self, weights: FloatArray) -> FloatArray:
        """Return weights of values as those of what the solution has shares of: of components, under a shape."""
        return weights if self.mixture is None else self.mixture.gather(weights)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return shares, one row each or one in all, as shares of values."""
        return shares if self.mixture is None else self.mixture.spread(shares)

    @cached_property
    def shares(self) -> FloatArray:
        """The estimate as the share of each value."""
        return self.spread(self.distribution)

    @cached_property
    def evidence(self) -> Evidence:
        """The reports of all groups."""
        return Evidence.pool(self.parts)

    @cached_property
    def region(self) -> Region:
        """The distributions that explain the reports nearly as well as the best one."""
        return Region.of(self.evidence)

    @property
    def has_region(self) -> bool:
        """Whether the region has been found."""
        return "region" in vars(self)

    def keep_region(self, region: Region) -> None:
        """Take over a region that was found beside others."""
        vars(self)["region"] = region

    def unbiased(self, level: float) -> Unbiased:
        """Return the ends from unbiased shares; see :mod:`confide.intervals.unbiased`."""
        return self._unbiased.setdefault(level, Unbiased(self.evidence, level))

    @cached_property
    def is_plainly_unique(self) -> bool:
        """Whether one distribution alone explains the reports best, by a quick look."""
        # Under a shape other components may give the same shares, and the likelihood looks at all.
        return self.mixture is not None or is_plainly_unique(self.evidence, self.region)

    @cached_property
    def best_set(self) -> MaximumSet | None:
        """All distributions that explain the reports best; None where there are too many values to find out."""
        try:
            return maximum_set_of(self.evidence, self.alphabet)
        except InvalidParameterError:
            return None

    @cached_property
    def is_redrawn_from_sources(self) -> bool:
        """Whether any group's reports can be drawn from a distribution; if not, they are drawn from the reports."""
        return any(is_complete(part) for part in self.parts)

    def usual_basis(self, level: float) -> Basis:
        """Return what intervals of single values rest on unless told.

        The likelihood for a method that believes nothing, and under randomized response, which blurs no value into its
        neighbours: there it is as narrow, holds more often and has a closed form. Also where the level takes more
        replicates than anyone waits for.
        """
        check_level("level", level)
        is_few = (self.method.reaches_maximum or self.mixture is not None) and self.alphabet.size <= FEW_VALUES
        usual = Bootstrap().replicates if self.alphabet.size <= FEW_VALUES else FEWER_REPLICATES
        replicates = max(usual, replicates_for(level))
        if is_few or self.evidence.channel.keep_and_other is not None or replicates > MOST_REPLICATES:
            return Likelihood()
        return Bootstrap(replicates)

    def families(self, count: int, seed: int) -> list[Family]:
        """Return replicates of the reports, solved again by the method: from the estimate, and from the best."""
        sources = [_nearest_distribution(self.distribution)]
        if not self.method.reaches_maximum:
            sources.append(self.region.best)
        return self._draw("method", self.method, sources, count, seed)

    def best_family(self, count: int, seed: int) -> Family:
        """Return replicates of the reports, drawn from their best explanation, with the best explanation of each."""
        return self._draw("best", ROUGHLY, [self.region.best], count, seed)[0]

    def _draw(self, name: str, method: Method, sources: list[FloatArray], count: int, seed: int) -> list[Family]:
        """Draw once, and keep. Where reports are drawn from reports, errors from every source are those of one draw."""
        if (name, count, seed) not in self._drawn:
            drawn = sources if self.is_redrawn_from_sources else sources[:1]
            families = [draw_family(self.parts, method, self.solution, one, count, seed) for one in drawn]
            families += [replace(families[0], source=one) for one in sources[len(drawn) :]]
            self._drawn[name, count, seed] = families
        return self._drawn[name, count, seed]

    def band(self, level: float, basis: Basis | None) -> Band:
        """Return an interval for the probability of each value."""
        check_level("level", level)
        chosen = check_basis(basis, self.usual_basis(level))
        considered = self.seen_by(chosen)
        low, high = chosen.band(considered, level)
        undetermined = self._open_shares()
        for bounds in () if undetermined is None else undetermined:
            low, high = np.minimum(low, bounds), np.maximum(high, bounds)
        now = self.shares
        low, high = np.minimum(low, now), np.maximum(high, now)
        words = chosen.explain(considered, level) + ("" if undetermined is None else f"; {OPEN_SHARES}")
        return Band(self.alphabet, now, low, high, level, words, undetermined)

    def query(self, query: Query, level: float, name: str | None, basis: Basis | None) -> Interval:
        """Return the answer to a linear query, with its interval."""
        return finish(self.seek_query(query, level, name, basis))

    def seek_query(self, query: Query, level: float, name: str | None, basis: Basis | None) -> Search[Interval]:
        """Do as :meth:`query`, by a search that runs beside others."""
        chosen = check_basis(basis, Likelihood())
        considered = self.seen_by(chosen)
        around = considered.surroundings
        weights, limits = self._weigh(query, name) if around is None else self._weigh_around(around, query, name)
        answer = yield from considered._answer(describe_query(query), considered.lift(weights), limits, level, chosen)
        return replace(answer, is_share=_is_choice(weights), remark=remark_on(query, self.alphabet, name))

    def mean(self, level: float, basis: Basis | None) -> Interval:
        """Return the mean of the values, with its interval."""
        return finish(self.seek_mean(level, basis))

    def seek_mean(self, level: float, basis: Basis | None) -> Search[Interval]:
        """Do as :meth:`mean`, by a search that runs beside others."""
        chosen = check_basis(basis, Likelihood())
        considered = self.seen_by(chosen)
        weights, named = considered.alphabet.amounts, self.alphabet
        answer = yield from considered._answer("mean", considered.lift(weights), _range(weights), level, chosen)
        words = answer.rests_on if self.wide is None else f"{answer.rests_on}; {UNBOUNDED_MEAN}"
        ends = answer.estimate, answer.low, answer.high
        labels = tuple(named.name_mean(one) for one in ends) if named.has_labels else ()
        return replace(answer, is_share=False, rests_on=words, labels=labels, remark=named.mean_remark)

    def quantile(self, share: float, level: float, basis: Basis | None) -> Interval:
        """Return the lowest value at or below which this share of people lies, with its interval."""
        return finish(self.seek_quantile(share, level, basis))

    def seek_quantile(self, share: float, level: float, basis: Basis | None) -> Search[Interval]:
        """Do as :meth:`quantile`, by a search that runs beside others."""
        check_level("level", level)
        check_level("The share of a quantile", share)
        chosen = check_basis(basis, Likelihood())
        considered = self.seen_by(chosen)
        now = self.quantile_of(self.distribution, share)
        low, high = yield from chosen.seek_quantile_ends(considered, share, level)
        words, undetermined = chosen.explain(considered, level), self._open_quantiles(share)
        if undetermined is not None:
            low, high = min(low, undetermined[0]), max(high, undetermined[1])
            below = (self.numbers <= undetermined[0]).astype(np.float64)  # which some of them say is share enough
            words = f"{words}; {explain_open(self.channel, below, undetermined)}"
        low, high = min(low, now), max(high, now)
        question = "median" if share == MEDIAN else f"quantile {share:g}"
        names = self.alphabet._name(np.array([now, low, high]).astype(np.int64)) if self.alphabet.has_labels else ()
        return Interval(question, now, low, high, level, words, undetermined, is_share=False, labels=tuple(names))

    def quantiles_between(self, lowest: Side, highest: Side, share: float) -> tuple[float, float]:
        """Return the lowest and the highest value that a quantile can be, by the shares that a query can have."""

        def can_be_high(weights: FloatArray) -> Search[bool]:
            return highest(weights) >= share
            yield  # makes this a search that asks for nothing

        def cannot_be_low(weights: FloatArray) -> Search[bool]:
            return lowest(weights) >= share
            yield

        return finish(self.seek_quantiles(can_be_high, cannot_be_low, share))

    def seek_quantiles(self, can_be_high: Asks, cannot_be_low: Asks, share: float) -> Search[tuple[float, float]]:
        """Return the lowest and the highest value that a quantile can be.

        It can be as low as the first value at which the share can be high enough, and must be no higher than the first
        at which it cannot be too low. Both grow along the line, so halving finds them; outwards from the estimate's,
        for on a long line each question takes a second.
        """
        values = np.sort(self.numbers)
        near = int(np.searchsorted(values, self.quantile_of(self.distribution, share)))
        low = yield from self._first(can_be_high, 0, near)
        high = yield from self._first(cannot_be_low, low, max(low, near))
        return float(values[low]), float(values[high])

    def _first(self, is_so: Asks, low: int, near: int) -> Search[int]:
        """Return the first place, from `low` on, up to which something is so that stays so; the last if nowhere."""
        high, middle, step = self.numbers.size - 1, near, max(1, self.numbers.size // FAR)
        is_met = is_missed = False
        while low < high:
            middle = min(max(middle, low), high - 1)
            if (yield from is_so(self._below(middle))):
                high, is_met = middle, True
            else:
                low, is_missed = middle + 1, True
            # Strides that double until both sides are known, and halves from there.
            middle = (low + high) // 2 if is_met and is_missed else high - step if is_met else low + step
            step *= 2
        return low

    def _below(self, place: int) -> FloatArray:
        """Return the query for the values up to one, by its place in their order."""
        weights = np.zeros(self.alphabet.size)
        weights[np.argsort(self.numbers, kind="stable")[: place + 1]] = 1.0
        return self.lift(weights)

    def seen_by(self, basis: Basis) -> Inference:
        """Return the same with the surroundings of the likely values, where there are such and the basis looks."""
        return self.wide if self.wide is not None and basis.looks_around else self

    @property
    def likely(self) -> Indices:
        """The numbers of the values that the method was given."""
        return np.arange(self.alphabet.size) if self.surroundings is None else self.surroundings.likely

    def weigh(self, query: Query, name: str | None) -> FloatArray:
        """Return the weight of each value that is considered."""
        if self.surroundings is None:
            return self._weigh(query, name)[0]
        return self._weigh_around(self.surroundings, query, name)[0]

    def _weigh(self, query: Query, name: str | None) -> tuple[FloatArray, tuple[float, float]]:
        """Return the weight of each value, and the least and the greatest weight that any value has."""
        weights = as_weights(query, self.alphabet, name) if self.wide is None else weigh(query, self.alphabet, name)
        return weights, _range(weights)

    def _weigh_around(
        self, around: Surroundings, query: Query, name: str | None
    ) -> tuple[FloatArray, tuple[float, float]]:
        """Return the same with the surroundings of the likely values."""
        if not isinstance(query, str) and not callable(query):
            weights = around.spread(as_weights(query, self.alphabet))  # values that are not named count for nothing
            return weights, _range(weights)
        weights = weigh(query, around.alphabet, name)
        return weights, _limits(query, weights, around, name)

    @cached_property
    def has_numbers(self) -> bool:
        """Whether the values are numbers."""
        return self.alphabet.has_numbers

    @cached_property
    def numbers(self) -> FloatArray:
        """The values as numbers; an error where they are none."""
        if not self.has_numbers:
            raise InvalidParameterError(self.alphabet._no_mean)
        return self.alphabet.decode(np.arange(self.alphabet.size)).astype(np.float64)

    def quantile_of(self, theta: FloatArray, share: float) -> float:
        """Return a quantile of a distribution."""
        values, order = np.sort(self.numbers), np.argsort(self.numbers, kind="stable")
        below = np.cumsum(self.spread(theta)[order])
        # A share that is met but for rounding is met.
        return float(values[min(int(np.searchsorted(below, share - 1e-12)), values.size - 1)])

    def _answer(
        self, question: str, weights: FloatArray, limits: tuple[float, float], level: float, basis: Basis
    ) -> Search[Interval]:
        check_level("level", level)
        low, high = yield from basis.seek_ends(self, weights, level, limits)
        now, words = float(weights @ self.distribution), basis.explain(self, level)
        undetermined = self._open_answers(weights)
        if undetermined is not None:
            low, high = min(low, undetermined[0]), max(high, undetermined[1])
            words = f"{words}; {explain_open(self.channel, weights, undetermined)}"
        return Interval(question, now, min(low, now), max(high, now), level, words, undetermined)

    def _open_answers(self, weights: FloatArray) -> tuple[float, float] | None:
        """Return the lowest and the highest answer among all best explanations, where they differ."""
        if self.is_plainly_unique or self.best_set is None or self.best_set.dimension == 0:
            return None
        low, high = self.best_set.bounds(weights).tolist()
        return (low, high) if high - low > DIFFERENT * float(np.ptp(weights)) else None

    def _open_quantiles(self, share: float) -> tuple[float, float] | None:
        """Return the lowest and the highest quantile among all best explanations, where they differ."""
        best = None if self.is_plainly_unique else self.best_set
        if best is None or best.dimension == 0:
            return None

        def lowest(weights: FloatArray) -> float:
            return float(best.bounds(weights)[0])

        def highest(weights: FloatArray) -> float:
            return float(best.bounds(weights)[1])

        # Shares that differ by what programs leave open are the same.
        low, high = self.quantiles_between(lowest, highest, share - DIFFERENT)
        return (low, high) if low < high else None

    def _open_shares(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the same for each value; where that would take long, bounds on it."""
        best = None if self.is_plainly_unique else self.best_set
        if best is None or best.dimension == 0:
            return None
        low, high = (best.lowest, best.highest) if best.is_small else bounded_shares(self.evidence, best)
        return (low, high) if float((high - low).max()) > DIFFERENT else None


UNBOUNDED_MEAN = "a mean over unbounded values has no other bound, for a tiny share very far out moves it at will"


def check_level(name: str, share: object) -> None:
    """Refuse what is no share between nothing and all."""
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    if not is_number or not 0 < float(share) < 1 or math.isnan(float(share)):  # type: ignore[arg-type]
        raise InvalidParameterError(f"{name} must lie between 0 and 1, both excluded, such as 0.95; got {share!r}.")


def check_basis(basis: object, usual: Basis) -> Basis:
    """Return the basis that is asked for, or the usual one."""
    if basis is None:
        return usual
    if not isinstance(basis, Basis):
        raise InvalidParameterError(f"basis must be Likelihood() or Bootstrap(); got {basis!r}.")
    return basis


def _nearest_distribution(vector: FloatArray) -> NDArray[np.float64]:
    """Return what reports can be drawn from, where raw inversion left negative entries."""
    clipped = np.maximum(vector, 0.0)
    return clipped / float(clipped.sum())


def _limits(query: Query, weights: FloatArray, around: Surroundings, name: str | None) -> tuple[float, float]:
    """Return the least and the greatest weight, also of values far out, where a query asks for them or does not."""
    if not _is_choice(weights):
        return _range(weights)
    try:
        far = [weigh(query, part, name) for part in around.far]
    except InvalidParameterError:  # a function that does not take them
        return SHARES
    limits = _range(np.concatenate([weights, *far]))
    # Where the query is the same for all of these, it asks for something in between, or for all but that.
    return limits if limits[0] < limits[1] else SHARES


def _range(weights: FloatArray) -> tuple[float, float]:
    return float(weights.min()), float(weights.max())


def _is_choice(weights: FloatArray) -> bool:
    """Whether a query asks for some values and not for others."""
    return bool(np.isin(weights, (0.0, 1.0)).all())

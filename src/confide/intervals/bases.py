"""Bases of an interval: the likelihood of the reports alone, or the bootstrap of the method itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.checks import check_count
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.intervals.answers import percent
from confide.intervals.region import Search, finish, finish_all
from confide.intervals.unbiased import is_unbiased
from confide.methods import Method, Solution

if TYPE_CHECKING:
    from confide.intervals.inference import Inference

Answer = Callable[[FloatArray], FloatArray]
"""Takes a stack of distributions, one a row, to the answers that they give: one row each, a column a question."""

COMPLETE = 1e-9
"""Rounding of the sum of a row, 1, over all outputs that a report can be.

Rows of a hundred thousand outputs sum to 1 within 1e-15, on a line and on a plane.
"""

SIDE_BY_SIDE = 100
"""Values whose intervals are looked for at a time: enough for the products to be large."""

SHARES = (0.0, 1.0)
"""The limits of a query that asks for some values and not for others."""

ENOUGH_VALUES = 800_000
"""Values of all replicates together past which there are fewer: 8 of 100,000 values each, at two seconds a maximum."""

FEWEST_LARGE = 8
"""Replicates however many values there are; they only say which of many questions vary most."""

FEWEST = 40
"""Replicates below which an error that 95 % do not exceed is little more than the largest of them."""


class Basis(ABC):
    """Basis of an interval, which finds its ends: a frozen value that holds its settings and nothing else."""

    looks_around: ClassVar[bool] = False
    """Whether it considers, on an unbounded alphabet, more values than the likely ones that the method was given."""

    @abstractmethod
    def ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> tuple[float, float]:
        """Return the lower and the upper end for a linear query.

        The limits are the least and the greatest weight of any value, where there are others than those of the
        inference.
        """

    def seek_ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> Search[tuple[float, float]]:
        """Do as :meth:`ends`, by a search that runs beside others; one that asks for nothing unless overridden."""
        return self.ends(inference, weights, level, limits)
        yield  # makes this a generator

    def seek_quantile_ends(self, inference: Inference, share: float, level: float) -> Search[tuple[float, float]]:
        """Do the same for :meth:`quantile_ends`."""
        return self.quantile_ends(inference, share, level)
        yield

    @abstractmethod
    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends for each value by itself."""

    @abstractmethod
    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """Return the ends for the value below or at which this share of people lies."""

    @abstractmethod
    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:
        """Return about how wide the interval of each of many queries is, for the widest to be asked for.

        A query is a row of weights for the values that the method was given.
        """

    @abstractmethod
    def explain(self, inference: Inference, level: float) -> str:
        """Say in a sentence what the ends rest on."""


@dataclass(frozen=True)
class Likelihood(Basis):
    """Likelihood interval: the answers of all distributions that explain the reports nearly as well as the best one.

    It assumes nothing of the truth and does not depend on the method. Questions over many values get honest, useful
    intervals; single values under strong noise get honest and very wide ones.

    Two kinds of distributions count: those whose log-likelihood is near the highest, and, of those that have people at
    as few values as the reports can be explained by, the ones near the highest among these (see
    :mod:`confide.intervals.region`). Ends are those of one set of distributions, so they are coherent: a set of values
    never has an end inside that of a smaller one, and complements mirror each other.

    Under randomized response ends come from unbiased shares instead, for there the maximum of the likelihood is biased
    where many values are empty (see :mod:`confide.intervals.unbiased`); on a line they are coherent for tails.

    Parameters
    ----------
    replicates
        How often reports are drawn to see which of many questions vary most, for the resolution; ends need none.
    seed
        What they are drawn with.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> answer = cf.estimate(cf.tally(["yes", "no"], counts=[600, 400]), mechanism, cf.MLE())
    >>> print(answer.query("answer == yes", basis=cf.Likelihood()))
    0.7164, between 0.6507 and 0.7821 at 95%
    """

    looks_around: ClassVar[bool] = True

    replicates: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("replicates", self.replicates, FEWEST)
        check_count("seed", self.seed, 0)

    def ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> tuple[float, float]:
        """See :meth:`Basis.ends`."""
        return finish(self.seek_ends(inference, weights, level, limits))

    def seek_ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> Search[tuple[float, float]]:
        """See :meth:`Basis.seek_ends`."""
        return (yield from self._seek(inference, weights, level, limits))

    def _seek(
        self,
        inference: Inference,
        weights: FloatArray,
        level: float,
        limits: tuple[float, float] | None,
        known: tuple[float, float] = (math.inf, -math.inf),
    ) -> Search[tuple[float, float]]:
        """Return the ends; within those that are `known` not to the last digit."""
        if is_unbiased(inference.evidence):
            return inference.unbiased(level).ends(weights)
        least, most = (None, None) if limits is None else limits
        low = yield from self._lowest(inference, weights, level, least, known=known[0])
        high = yield from self._lowest(inference, -weights, level, None if most is None else -most, known=-known[1])
        return low, -high

    def _lowest(
        self,
        inference: Inference,
        weights: FloatArray,
        level: float,
        least: float | None,
        enough: float = math.inf,
        known: float = math.inf,
    ) -> Search[float]:
        """Return the lower end alone; or whether it reaches `enough`, or something above `known` where it does that."""
        if is_unbiased(inference.evidence):
            return inference.unbiased(level).ends(weights)[0]
        fall = allowed_fall(level)
        low = yield from inference.region.search(weights, fall, least, enough, known)
        if inference.region.with_fewer_values is not None:
            region, values = inference.region.with_fewer_values
            low = min(low, (yield from region.search(weights[values], fall, None, enough, known)))
        if inference.region.few_values is not None:
            low = min(low, inference.region.few_values.lowest(weights, standard_errors(level)))
        return max(low, float(weights.min()) if least is None else least)

    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """See :meth:`Basis.band`."""
        both: list[tuple[float, float]] = []
        for some in np.array_split(inference.likely, -(-inference.likely.size // SIDE_BY_SIDE)):
            weights = np.zeros((some.size, inference.alphabet.size))
            weights[np.arange(some.size), some] = 1.0
            pairs = zip(self._each(some), inference.lift(weights), strict=True)
            both += finish_all([basis.seek_ends(inference, one, level, SHARES) for basis, one in pairs])
        low, high = np.array(both).T
        return low, high

    def _each(self, places: Indices) -> list[Likelihood]:
        """Return the basis of each value's interval."""
        return [self] * places.size

    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """See :meth:`Basis.quantile_ends`."""
        return finish(self.seek_quantile_ends(inference, share, level))

    def seek_quantile_ends(self, inference: Inference, share: float, level: float) -> Search[tuple[float, float]]:
        """See :meth:`Basis.seek_ends`.

        The quantile can be as low as the first value at which the share below can be high enough, and must be no
        higher than the first at which it cannot be too low. Both grow along the line, so halving finds them.
        """

        def can_be_high(weights: FloatArray) -> Search[bool]:
            low = yield from self._lowest(inference, -weights, level, -1.0, -share)
            return -low >= share

        def cannot_be_low(weights: FloatArray) -> Search[bool]:
            low = yield from self._lowest(inference, weights, level, 0.0, share)
            return low >= share

        return (yield from inference.seek_quantiles(can_be_high, cannot_be_low, share))

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:  # noqa: ARG002
        """See :meth:`Basis.spreads`: the spread of the answers of the best explanation over its replicates."""
        family = self._replicates(inference)
        errors = inference.spread(family.answers - family.source)[:, inference.likely] @ queries.T
        spreads: FloatArray = np.sqrt((errors**2).mean(axis=0))
        return spreads

    def explain(self, inference: Inference, level: float) -> str:
        """See :meth:`Basis.explain`."""
        among = "" if inference.surroundings is None else f" over {inference.surroundings.explain()},"
        if is_unbiased(inference.evidence):
            return (
                f"shares that randomized response leaves unbiased, whatever the method and the truth: its two ends "
                f"share the {percent(1 - level)} in which they may fail as the shares of the other values suggest"
            )
        alone = "alone, whatever the method and the truth" if not inference.premise else inference.premise
        return (
            f"the likelihood of the reports {alone}: it holds each answer of a distribution{among} whose "
            f"log-likelihood is at most {allowed_fall(level):.2f} below the highest, of all or of those with as few "
            f"{'values' if not inference.premise else 'parts'} as explain the reports"
        )

    def drawn(self, inference: Inference) -> int:
        """Return how many replicates are drawn: by the number of values, not by a clock, so that it is always so."""
        return min(self.replicates, max(FEWEST_LARGE, ENOUGH_VALUES // inference.alphabet.size))

    def _replicates(self, inference: Inference) -> Family:
        return inference.best_family(self.drawn(inference), self.seed)


@dataclass(frozen=True, eq=False)
class Beyond(Likelihood):
    """Likelihood beyond ends that are known already, of one question or of each value, and that count in any case.

    Whether it reaches farther is all that is looked for first.

    Of forty places that a peak may have, few move an end; the others take one point of a path in place of five.
    """

    low: FloatArray = field(default_factory=lambda: np.array([math.inf]))
    high: FloatArray = field(default_factory=lambda: np.array([-math.inf]))

    def seek_ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> Search[tuple[float, float]]:
        """See :meth:`Basis.seek_ends`."""
        return (yield from self._seek(inference, weights, level, limits, (float(self.low[0]), float(self.high[0]))))

    def _each(self, places: Indices) -> list[Likelihood]:
        return [replace(self, low=self.low[[place]], high=self.high[[place]]) for place in places]


@dataclass(frozen=True)
class Bootstrap(Basis):
    """Answers of the method to new reports (parametric bootstrap), with its bias counted in.

    Reports are drawn anew from the estimate and from the distribution that explains the reports best, and solved again.
    The interval reaches as far to both sides of the estimate as the larger error of the two. Where a report can be what
    no channel lists, as with RAPPOR, reports are redrawn from the reports instead, once. It is much narrower than
    what the likelihood alone allows, and holds as far as the truth is no rougher than the method believes.

    Parameters
    ----------
    replicates
        How often reports are drawn from each of the two.
    seed
        What they are drawn with: the same seed gives the same interval.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> answer = cf.estimate(cf.tally(["yes", "no"], counts=[600, 400]), mechanism, cf.MLE())
    >>> print(answer.query("answer == yes", basis=cf.Bootstrap()))
    0.7164, between 0.6471 and 0.7856 at 95%
    """

    replicates: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("replicates", self.replicates, FEWEST)
        check_count("seed", self.seed, 0)

    def ends(
        self, inference: Inference, weights: FloatArray, level: float, limits: tuple[float, float] | None = None
    ) -> tuple[float, float]:
        """See :meth:`Basis.ends`."""
        now = float(weights @ inference.distribution)
        half = float(self._half_widths(inference, lambda theta: theta @ weights[:, None], level)[0])
        least, most = (float(weights.min()), float(weights.max())) if limits is None else limits
        return max(now - half, least), min(now + half, most)

    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """See :meth:`Basis.band`."""
        half, now = self._half_widths(inference, inference.spread, level), inference.spread(inference.distribution)
        return np.maximum(now - half, 0.0), np.minimum(now + half, 1.0)

    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """See :meth:`Basis.quantile_ends`."""

        def quantiles(theta: FloatArray) -> FloatArray:
            return np.array([[inference.quantile_of(row, share)] for row in theta])

        half = float(self._half_widths(inference, quantiles, level)[0])
        now, values = inference.quantile_of(inference.distribution, share), inference.numbers
        return max(float(values.min()), now - half), min(float(values.max()), now + half)

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:
        """See :meth:`Basis.spreads`."""
        return self._half_widths(inference, lambda theta: inference.spread(theta) @ queries.T, level)

    def explain(self, inference: Inference, level: float) -> str:  # noqa: ARG002 (one contract)
        """See :meth:`Basis.explain`."""
        alone = "" if inference.wide is None else " and has none but the likely values"
        premise = f"{inference.premise}: " if inference.premise else ""
        return (
            f"{premise}{self._explain_replicates(inference)}, and it holds as far as the truth is no rougher than the "
            f"method believes{alone}"
        )

    def _explain_replicates(self, inference: Inference) -> str:
        is_plain, solved = inference.method.reaches_maximum, f"each solved again by {inference.method.name}"
        drawn, seed = f"{self.replicates:,} replicates", f"(seed {self.seed})"
        if not inference.is_redrawn_from_sources:
            best = "" if is_plain else ", or from the distribution that explains the reports best if that is larger,"
            return f"{drawn} redrawn from the reports {seed}, {solved}; the error from the estimate{best} counts"
        if is_plain:
            return f"{drawn} drawn from the estimate {seed}, {solved}; their error counts"
        return (
            f"{drawn} drawn from the estimate and as many from the distribution that explains the reports best {seed}, "
            f"{solved}; the larger error counts"
        )

    def _half_widths(self, inference: Inference, answer: Answer, level: float) -> FloatArray:
        """Return the larger error of the two sources, one a question."""
        self._check_level(level)
        families = inference.families(self.replicates, self.seed)
        widest: FloatArray = np.max([one.half_width(answer, level) for one in families], axis=0)
        return widest

    def _check_level(self, level: float) -> None:
        """Refuse a level that so few replicates cannot tell from certainty: more often than their largest error."""
        needed = replicates_for(level)
        if self.replicates < needed:
            raise InvalidParameterError(
                f"A level of {percent(level)} takes at least {needed:,} replicates; got {self.replicates:,}. Use "
                f"Bootstrap({needed}), or Likelihood(), which takes any level."
            )


def replicates_for(level: float) -> int:
    """Return how many replicates it takes for their largest error to be beaten no more often than the level allows.

    >>> replicates_for(0.95), replicates_for(0.999)
    (19, 999)
    """
    return math.ceil(level / (1 - level) - 1e-9)


def allowed_fall(level: float) -> float:
    """Return by how many nats the log-likelihood may fall: half the chi-squared quantile with one degree of freedom.

    >>> round(allowed_fall(0.95), 4)
    1.9207
    """
    return standard_errors(level) ** 2 / 2


def standard_errors(level: float) -> float:
    """Return how many standard errors to each side hold a Gaussian error that often.

    >>> round(standard_errors(0.95), 2)
    1.96
    """
    # From below, where a level next to 1 still leaves something.
    return -NormalDist().inv_cdf((1 - level) / 2)


@dataclass(frozen=True, eq=False)
class Family:
    """Bootstrap replicates from one source.

    Attributes
    ----------
    source
        The distribution that took the place of the truth.
    answers
        What the method recovered, one row a replicate.
    """

    source: FloatArray
    answers: FloatArray

    def half_width(self, answer: Answer, level: float) -> FloatArray:
        """Return the error that a share of `level` of the replicates does not exceed, one a question."""
        errors = np.abs(answer(self.answers) - answer(self.source[None, :]))
        half: FloatArray = np.quantile(errors, level, axis=0, method="higher")
        return half


def draw_family(
    parts: Sequence[Evidence], method: Method, pilot: Solution, source: FloatArray, count: int, seed: int
) -> Family:
    """Draw the reports of every group anew, as many as there were, and solve them again (parametric bootstrap).

    The pilot is what the method made of the reports themselves.
    """
    counts = redraw(parts, source, count, seed)
    solved = method.solve_many(Evidence.pool(list(parts)), counts, pilot=pilot)
    return Family(source, np.array([one.distribution for one in solved]))


def redraw(parts: Sequence[Evidence], source: FloatArray, count: int, seed: int) -> FloatArray:
    """Draw the reports of every group anew, one row a replicate."""
    generator = np.random.default_rng(seed)
    return np.concatenate([_redraw(part, source, count, generator) for part in parts], axis=1)


def is_complete(evidence: Evidence) -> bool:
    """Whether the channel has every output that a report can be, unscaled: probabilities over them sum to one."""
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    return bool(np.abs(sums - 1).max() <= COMPLETE)


def _redraw(evidence: Evidence, source: FloatArray, count: int, generator: np.random.Generator) -> FloatArray:
    """Draw counts from the source through the channel; where that knows only the reports seen, from these."""
    shares = evidence.channel.push(source) if is_complete(evidence) else evidence.frequencies
    shares = np.maximum(shares, 0.0)
    people = max(1, round(evidence.total))
    drawn: FloatArray = generator.multinomial(people, shares / shares.sum(), size=count).astype(np.float64)
    return drawn

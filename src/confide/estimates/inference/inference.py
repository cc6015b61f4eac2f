"""Inference: intervals for values, queries, means and quantiles, and their bases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from numbers import Real
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from confide.channels import Mixture
from confide.channels.base import Channel, FloatArray
from confide.check.cells import draw_again
from confide.errors import InvalidParameterError
from confide.estimates.inference.answers import Band, Interval, Prospect, percent
from confide.estimates.inference.region import Region, lowest
from confide.estimates.inference.unbiased import Unbiased
from confide.evidence.evidence import Evidence
from confide.solve.methods import MLE, Method, Solution
from confide.theory.identification import channel_query
from confide.theory.maximum_set import MaximumSet, maximum_set_of
from confide.values import Alphabet, Grid, Indices, LineGeometry, Selection
from confide.values.checks import LARGEST_INTEGER, MOST_STORED, check_count
from confide.values.geometry import LARGEST_LATTICE
from confide.values.queries import Query, as_weights, describe_query, remark_on, weigh

Inferences = Sequence["Inference"]
"""The inference that answers each question."""

Weights = Sequence[FloatArray]
"""The weight of each value, by question; inferences may have different alphabets."""

Ends = FloatArray | None
"""A lower and an upper end, one row a question; None if unknown."""

Answer = Callable[[FloatArray], FloatArray]
"""Maps distributions, one a row, to their answers: one row each, one column a question."""

SHARES = (0.0, 1.0)
"""The limits of a query that selects values."""

ENOUGH_VALUES = 800_000
"""Most values in all replicates together: 8 replicates of 100,000 values take two seconds each."""


class Basis(ABC):
    """How an interval is computed: a frozen value with its settings."""

    looks_around: ClassVar[bool] = False
    """Whether, on an unbounded alphabet, it also considers values around the likely ones."""

    replicates: int
    seed: int

    def __post_init__(self) -> None:
        # With fewer than 40 replicates, the 95 % quantile of errors is little more than the largest error.
        check_count("replicates", self.replicates, 40)
        check_count("seed", self.seed, 0)

    @abstractmethod
    def ends(
        self, inferences: Inferences, weights: Weights, level: float, limits: Ends = None, known: Ends = None
    ) -> FloatArray:
        """Return the ends of many linear queries, one row each.

        Parameters
        ----------
        inferences, weights
            For each query, its inference and the weight of each value there.
        level
            Coverage of each interval.
        limits
            The least and the greatest weight of any value, one row a query, if values beyond those of the inference
            exist.
        known
            Ends that the interval includes anyway, one row a query. Ends within them need not be exact.
        """

    @abstractmethod
    def band(self, inference: Inference, level: float, known: Ends = None) -> FloatArray:
        """Return the ends for each value, one row each.

        `known` is as in :meth:`ends`.
        """

    @abstractmethod
    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Return the ends of many quantiles, one row each.

        A quantile is the lowest value at or below which its share of people lies.
        """

    @abstractmethod
    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:
        """Return the approximate interval width of each of many queries.

        A query is a row of weights for the values that the method was given. The search for windows scales these to
        forecast errors.
        """

    @abstractmethod
    def explain(self, inference: Inference, level: float) -> str:
        """Return a sentence on how the ends were computed."""


@dataclass(frozen=True)
class Likelihood(Basis):
    """Likelihood interval: answers of all distributions with near-maximal likelihood.

    It assumes nothing about the truth and does not depend on the method. For questions over many values the intervals
    are useful. For single values under strong noise they are valid but very wide.

    The region has two parts (see `region.py`). The first has the distributions whose log-likelihood is near the
    maximum. The second has those on as few values as can explain the reports, with a log-likelihood near the maximum on
    these values. Both parts are sets of distributions, so ends are coherent: a set of values never has an end inside
    that of a smaller set, and complements mirror each other.

    Under randomized response the ends come from unbiased shares instead, because there the maximum-likelihood estimate
    is biased if many values are empty (see `unbiased.py`). On a line these ends are coherent for tails.

    Parameters
    ----------
    replicates
        Number of bootstrap replicates that forecast the errors of windows. Ends need none.
    seed
        Seed of the replicates.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> answer = cf.estimate(cf.tally(["yes", "no"], counts=[600, 400]), mechanism, cf.MLE())
    >>> print(answer.query("answer == yes", basis=cf.estimates.Likelihood()))
    0.7164, between 0.6507 and 0.7821 at 95%
    """

    looks_around: ClassVar[bool] = True

    replicates: int = 100
    seed: int = 0

    def ends(
        self, inferences: Inferences, weights: Weights, level: float, limits: Ends = None, known: Ends = None
    ) -> FloatArray:
        """Follow the paths of all queries together."""
        if limits is None:
            limits = np.array([(one.min(), one.max()) for one in weights])
        known = np.tile([math.inf, -math.inf], (len(weights), 1)) if known is None else known
        found, others = np.empty((len(weights), 2)), []
        for place, inference in enumerate(inferences):
            if is_unbiased(inference.evidence):
                found[place] = inference.unbiased(level).ends(weights[place])
            else:
                others.append(place)
        some = [inferences[place] for place in others]
        # The highest answer is minus the lowest answer to the negated query, so one search finds both.
        both = [sign * weights[place] for sign in (1, -1) for place in others]
        least, reached = (np.concatenate([one[others, 0], -one[others, 1]]) for one in (limits, known))
        low, high = self._lowest([*some, *some], both, level, least, known=reached).reshape(2, -1)
        found[others] = np.stack([low, -high], axis=1)
        return found

    def _lowest(
        self,
        inferences: Inferences,
        weights: Weights,
        level: float,
        least: FloatArray,
        enough: FloatArray | float = math.inf,
        known: FloatArray | float = math.inf,
    ) -> FloatArray:
        """Return the lower ends alone.

        With `enough`, an end only needs to be on the right side of it. With `known`, any end at or above it will do.
        """
        # Each question is asked over all values and, except on a line, over the few values that explain the reports.
        # Values that an inference does not consider may have the least weight; they are not among these few.
        parts = []
        for place, inference in enumerate(inferences):
            if not is_unbiased(inference.evidence):
                parts.append((place, inference.region, weights[place], least[place]))
                if inference.region.with_fewer_values is not None:
                    fewer, values = inference.region.with_fewer_values
                    parts.append((place, fewer, weights[place][values], math.inf))
        found = np.full(len(weights), math.inf)
        if parts:
            whose, regions, asked, bounds = (list(column) for column in zip(*parts, strict=True))
            ends = [np.broadcast_to(one, len(weights))[whose] for one in (enough, known)]
            np.minimum.at(found, whose, lowest(regions, asked, allowed_fall(level), np.array(bounds), *ends))
        for place, inference in enumerate(inferences):
            if is_unbiased(inference.evidence):
                found[place] = inference.unbiased(level).ends(weights[place])[0]
            elif inference.region.few_values is not None:
                few = inference.region.lowest_among_few(weights[place], standard_errors(level))
                found[place] = min(found[place], few)
        return np.asarray(np.maximum(found, least))

    def band(self, inference: Inference, level: float, known: Ends = None) -> FloatArray:
        """Query each value that the method was given."""
        # A hundred values at a time keep the matrix products large.
        found = []
        for some in np.array_split(inference.likely, -(-inference.likely.size // 100)):
            weights = np.zeros((some.size, inference.alphabet.size))
            weights[np.arange(some.size), some] = 1.0
            limits = np.tile(SHARES, (some.size, 1))
            reached = None if known is None else known[some]
            found.append(self.ends([inference] * some.size, list(inference.lift(weights)), level, limits, reached))
        return np.concatenate(found)

    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Find the values where the share below meets the quantile's share.

        The lower end is the first value at which the share can be high enough. The upper end is the first at which it
        cannot be too low.
        """
        wanted = np.array(shares)

        def is_enough(which: Indices, signs: FloatArray, weights: list[FloatArray]) -> NDArray[np.bool_]:
            asked = [inferences[place] for place in which]
            turned = [sign * one for sign, one in zip(signs.tolist(), weights, strict=True)]
            enough = signs * wanted[which]
            found = self._lowest(asked, turned, level, np.minimum(signs, 0.0), enough)
            return np.asarray(np.where(signs > 0, found >= enough, found <= enough))

        return quantile_ranges(inferences, shares, is_enough)

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:  # noqa: ARG002
        """Return the standard deviation of each answer over bootstrap replicates.

        Replicates are drawn from the maximum-likelihood estimate and solved by maximum likelihood.
        """
        family = inference.best_family(self.drawn(inference), self.seed)
        errors = inference.spread(family.answers - family.source)[:, inference.likely] @ queries.T
        spreads: FloatArray = np.sqrt((errors**2).mean(axis=0))
        return spreads

    def explain(self, inference: Inference, level: float) -> str:
        """Return a sentence on which distributions count."""
        among = "" if inference.surroundings is None else f" over {inference.surroundings.explain()},"
        weighted = "; each interval has the design effect of its own question (sandwich variance)"
        weighted = "" if inference.evidence.variances is None else weighted
        if is_unbiased(inference.evidence):
            return (
                f"unbiased shares under randomized response, with no assumption about the truth; the shares of the "
                f"other values decide how the two ends split the {percent(1 - level)} error{weighted}"
            )
        alone = "alone, with no assumption about the truth" if not inference.premise else inference.premise
        return (
            f"the likelihood of the reports {alone}: every distribution{among} counts whose log-likelihood is at most "
            f"{allowed_fall(level):.2f} below the highest, among all or among those with few "
            f"{'values' if not inference.premise else 'parts'}{weighted}"
        )

    def drawn(self, inference: Inference) -> int:
        """Return the number of replicates, by the number of values.

        It does not depend on time, so results are reproducible. At least eight are drawn; they only forecast the errors
        of windows.
        """
        return min(self.replicates, max(8, ENOUGH_VALUES // inference.alphabet.size))


@dataclass(frozen=True)
class Bootstrap(Basis):
    """Parametric bootstrap of the method, which includes its bias.

    New reports are drawn from the estimate and from the maximum-likelihood estimate, and solved again. The larger of
    the two errors is the half-width of the interval. If outputs cannot be listed, as with RAPPOR, reports are resampled
    once from the observed ones. Intervals are much narrower than those of the likelihood. They are valid if the truth
    is about as smooth as the method assumes.

    Parameters
    ----------
    replicates
        Number of replicates from each of the two.
    seed
        Seed of the replicates: the same seed gives the same interval.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> answer = cf.estimate(cf.tally(["yes", "no"], counts=[600, 400]), mechanism, cf.MLE())
    >>> print(answer.query("answer == yes", basis=cf.estimates.Bootstrap()))
    0.7164, between 0.6471 and 0.7856 at 95%
    """

    replicates: int = 500
    seed: int = 0

    def ends(
        self,
        inferences: Inferences,
        weights: Weights,
        level: float,
        limits: Ends = None,
        known: Ends = None,  # noqa: ARG002
    ) -> FloatArray:
        """Take the error of the replicates as half-width."""
        found = []
        for place, (inference, one) in enumerate(zip(inferences, weights, strict=True)):
            now = float(one @ inference.distribution)
            half = float(self._half_widths(inference, lambda theta, one=one: theta @ one[:, None], level)[0])  # type: ignore[misc]
            least, most = (float(one.min()), float(one.max())) if limits is None else limits[place].tolist()
            found.append((max(now - half, least), min(now + half, most)))
        return np.array(found).reshape(-1, 2)

    def band(self, inference: Inference, level: float, known: Ends = None) -> FloatArray:  # noqa: ARG002
        """Return the same for each value."""
        half, now = self._half_widths(inference, inference.spread, level), inference.spread(inference.distribution)
        return np.stack([np.maximum(now - half, 0.0), np.minimum(now + half, 1.0)], axis=1)

    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Return the same for quantiles of the replicates."""
        found = []
        for inference, share in zip(inferences, shares, strict=True):

            def quantiles(theta: FloatArray, inference: Inference = inference, share: float = share) -> FloatArray:
                return np.array([[inference.quantile_of(row, share)] for row in theta])

            half = float(self._half_widths(inference, quantiles, level)[0])
            now, values = inference.quantile_of(inference.distribution, share), inference.numbers
            found.append((max(float(values.min()), now - half), min(float(values.max()), now + half)))
        return np.array(found).reshape(-1, 2)

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:
        """Return the half-width of each query."""
        return self._half_widths(inference, lambda theta: inference.spread(theta) @ queries.T, level)

    def explain(self, inference: Inference, level: float) -> str:  # noqa: ARG002 (one contract)
        """Return a sentence on the replicates and their assumption."""
        is_plain, solved = inference.method.reaches_maximum, f"each solved again by {inference.method.name}"
        drawn, seed = f"{self.replicates:,} replicates", f"(seed {self.seed})"
        if not inference.is_redrawn_from_sources:
            best = "" if is_plain else ", or from the distribution that explains the reports best if that is larger,"
            words = f"{drawn} redrawn from the reports {seed}, {solved}; the error from the estimate{best} counts"
        elif is_plain:
            words = f"{drawn} drawn from the estimate {seed}, {solved}; their error counts"
        else:
            words = (
                f"{drawn} drawn from the estimate and as many from the distribution that explains the reports best "
                f"{seed}, {solved}; the larger error counts"
            )
        alone = "" if inference.wide is None else " and has none but the likely values"
        alone += "; replicates vary as weighted reports do" if inference.evidence.variances is not None else ""
        premise = f"{inference.premise}: " if inference.premise else ""
        return f"{premise}{words}, and it holds as far as the truth is no rougher than the method believes{alone}"

    def _half_widths(self, inference: Inference, answer: Answer, level: float) -> FloatArray:
        """Return the larger error of the two sources, one a question."""
        needed = replicates_for(level)
        if inference.has_clusters:
            raise InvalidParameterError(
                "Bootstrap draws people one by one, and these were drawn in clusters. Use Likelihood(), the default of "
                "queries, which knows clusters."
            )
        if self.replicates < needed:  # too few for this level
            raise InvalidParameterError(
                f"A level of {percent(level)} takes at least {needed:,} replicates; got {self.replicates:,}. Use "
                f"Bootstrap({needed}), or Likelihood(), which takes any level."
            )
        families = inference.families(self.replicates, self.seed)
        widest: FloatArray = np.max([one.half_width(answer, level) for one in families], axis=0)
        return widest


def replicates_for(level: float) -> int:
    """Return the number of replicates that a level needs.

    With that many, the largest error is exceeded no more often than the level allows.

    >>> replicates_for(0.95), replicates_for(0.999)
    (19, 999)
    """
    return math.ceil(level / (1 - level) - 1e-9)


def allowed_fall(level: float) -> float:
    """Return the drop of the log-likelihood that a level allows.

    It is in nats: half the chi-squared quantile with one degree of freedom.

    >>> round(allowed_fall(0.95), 4)
    1.9207
    """
    return standard_errors(level) ** 2 / 2


def standard_errors(level: float) -> float:
    """Return the two-sided normal quantile of a level.

    >>> round(standard_errors(0.95), 2)
    1.96
    """
    # Computed from the lower tail, which stays exact for levels near 1.
    return -NormalDist().inv_cdf((1 - level) / 2)


@dataclass(frozen=True, eq=False)
class Family:
    """Bootstrap replicates from one source.

    Attributes
    ----------
    source
        The distribution that replaced the truth.
    answers
        The estimates, one row a replicate.
    """

    source: FloatArray
    answers: FloatArray

    def half_width(self, answer: Answer, level: float) -> FloatArray:
        """Return the `level` quantile of the replicates' errors, one a question."""
        errors = np.abs(answer(self.answers) - answer(self.source[None, :]))
        half: FloatArray = np.quantile(errors, level, axis=0, method="higher")
        return half


def draw_family(
    parts: Sequence[Evidence], method: Method, pilot: Solution, source: FloatArray, count: int, seed: int
) -> Family:
    """Draw new reports of every group and solve them (parametric bootstrap).

    Each replicate has as many reports as there were. `pilot` is the solution from the reports themselves.
    """
    # If the channel has only the observed outputs, resample these.
    shares = [part.channel.push(source) if is_complete(part) else part.frequencies for part in parts]
    weights = [(part.total, np.maximum(one, 0.0)) for part, one in zip(parts, shares, strict=True)]
    if any(part.variances is not None for part in parts):
        counts = np.concatenate([_draw_weighted(part, source, count, seed) for part in parts], axis=1)
    else:
        counts = draw_again(weights, count, np.random.default_rng(seed))
    solved = method.solve_many(Evidence.pool(list(parts)), counts, pilot=pilot)
    return Family(source, np.array([one.distribution for one in solved]))


def _draw_weighted(part: Evidence, source: FloatArray, count: int, seed: int) -> FloatArray:
    """Draw sums of weights again, several times.

    Each has its mean, and the variance of the weights behind it. A number of reports by Poisson's law, times their
    usual weight, has both. Weights belong to people, so that the usual weight of an output is that of the values behind
    it.
    """
    if is_complete(part):
        outputs = part.channel.push(source)
        means = part.total * np.maximum(outputs, 0.0)
        usual = part.channel.push(source * part.inflations(outputs)) / np.maximum(outputs, 1e-300)
    else:
        means = part.counts
        usual = np.divide(part.spread, means, out=np.ones_like(means), where=means > 0)
    usual = np.where(usual > 0, usual, 1.0)
    drawn = usual * np.random.default_rng(seed).poisson(means / usual, size=(count, means.size))
    drawn[~drawn.any(axis=1)] = means  # where next to all weight is that of one report, it may not be drawn at all
    return drawn


def is_complete(evidence: Evidence) -> bool:
    """Whether the channel has every possible output, unscaled.

    Then each row sums to one.
    """
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    # Rows of a hundred thousand outputs sum to 1 within 1e-15, on a line and on a plane.
    return bool(np.abs(sums - 1).max() <= 1e-9)


LONGEST_LINE, LARGEST_PLANE = 100_000, 20_000
"""Most values on a line, and cells of a plane, surroundings included."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The likely values of an unbounded alphabet, with values around them.

    The maximum of the likelihood lies on the likely values, but a distribution with nearly the same likelihood may have
    shares elsewhere. On a line, a value d steps beyond all reports explains each of them less well than the outermost
    likely value, by the factor e^(-decay d). Values are added until this factor is negligible. Values farther out
    explain no report and matter only if a query selects them.

    Attributes
    ----------
    alphabet
        All these values.
    likely
        The indices of the likely values among them.
    far
        Values too far out to explain any report, in every direction.
    steps, wanted
        How many steps were added around the likely values, and how many were needed.
    """

    alphabet: Alphabet
    likely: Indices
    far: tuple[Alphabet, ...]
    steps: int
    wanted: int

    def spread(self, distribution: FloatArray) -> FloatArray:
        """Extend a distribution over likely values by zeros to all."""
        full: FloatArray = np.zeros(self.alphabet.size)
        full[self.likely] = distribution
        return full

    def explain(self) -> str:
        """Return a sentence on the values that were considered."""
        words = f"the values that were considered, {self.alphabet!r}"
        if self.steps < self.wanted:
            return (
                f"{words}: {self.steps:,} steps around the likely ones, where {self.wanted:,} would be right but too "
                f"many to solve for, so the interval may be too narrow"
            )
        return f"{words}: {self.steps:,} steps around the likely ones, farther than which a value explains nothing"


def surround(likely: Alphabet, decay: float | None, reports: int) -> Surroundings:
    """Return the surroundings of likely values.

    Parameters
    ----------
    likely
        The likely values, a part of an unbounded alphabet.
    decay
        Nats that noise falls in one step; None if unknown.
    reports
        Number of distinct reports.

    Examples
    --------
    >>> from confide import Integers
    >>> surround(Integers(3, 9), decay=1.0, reports=4).alphabet
    Integers(-7, 19)
    """
    # Leave out a value that explains each report by more than ten nats less than the nearest likely value.
    wanted = 0 if decay is None else math.ceil(10.0 / decay)
    if isinstance(likely.geometry, LineGeometry):
        low, high = likely.span
        steps = min(wanted, max(0, LONGEST_LINE - likely.size) // 2, LARGEST_INTEGER - max(-low, high))
        wide = likely.between(low - steps, high + steps)
        far = tuple(likely.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
        return Surroundings(wide, np.arange(steps, steps + likely.size), far, steps, wanted)

    if likely.grid is not None:
        return _around_box(likely.grid, wanted, reports)
    return _around_each(likely, wanted)


def _around_box(likely: Grid, wanted: int, reports: int) -> Surroundings:
    largest, (rows, columns) = min(LARGEST_PLANE, MOST_STORED // reports), likely.shape
    too_many = bisect_right(range(wanted + 1), largest, key=lambda steps: (rows + 2 * steps) * (columns + 2 * steps))
    steps = max(0, too_many - 1)
    shape = likely.rows + 2 * steps, likely.columns + 2 * steps
    box = likely if steps == 0 else likely.window(likely.first_row - steps, likely.first_column - steps, *shape)
    # Cells far out on all eight sides: for every row and column of the box, and beyond its corners.
    ends = (1 - LARGEST_LATTICE, LARGEST_LATTICE - 1)
    beside = [box.window(box.first_row, end, box.rows, 1) for end in ends]
    above = [box.window(end, box.first_column, 1, box.columns) for end in ends]
    corners = [box.window(row, column, 1, 1) for column in ends for row in ends]
    numbers = box.encode(likely.decode(np.arange(likely.size)))
    return Surroundings(box, numbers, (*beside, *above, *corners), steps, wanted)


def _around_each(likely: Alphabet, wanted: int) -> Surroundings:
    """Return the neighbourhoods of a few values on a long line.

    Scattered cells of a plane get no neighbourhood.
    """
    whole, values = likely.selected_from, likely.decode(np.arange(likely.size))
    if whole is None or not isinstance(whole.geometry, LineGeometry):
        return Surroundings(likely, np.arange(likely.size), (), 0, wanted)
    steps = min(wanted, max(0, LONGEST_LINE // likely.size - 1) // 2)
    near = np.add.outer(values, np.arange(-steps, steps + 1)).reshape(-1)
    wide = Selection(whole, np.unique(np.clip(near, -LARGEST_INTEGER, LARGEST_INTEGER)))
    far = tuple(whole.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
    return Surroundings(wide, wide.encode(values), far, steps, wanted)


DIFFERENT = 1e-6
"""Maximum-likelihood estimates differ if their answers differ by more than this share of the query's range."""

MANY = "many distributions explain the reports best"

IsEnough = Callable[[Indices, FloatArray, list[FloatArray]], NDArray[np.bool_]]
"""Maps indices, signs and queries to whether each share can be high enough (-1), or must be (1)."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question: a linear query, the mean, or a quantile.

    Attributes
    ----------
    kind
        Kind of question.
    query, name
        The query, and the name of a value in it; any name if left out.
    share
        The share of people at or below the quantile.
    """

    kind: Literal["query", "mean", "quantile"]
    query: Query = ""
    name: str | None = None
    share: float = 0.5


@dataclass(frozen=True, eq=False)
class Inference:
    """An estimate with its evidence.

    Attributes
    ----------
    alphabet
        The values.
    parts
        The evidence of each group: reports with their channel.
    solution, method
        The solution, and the method that found it.
    channel
        The mechanism's channel with all outputs; None if these are unbounded.
    surroundings
        On an unbounded alphabet, if the values include surroundings: which values are likely.
    wide
        On an unbounded alphabet, if the values are the likely ones alone: the same inference with surroundings.
    mixture, premise
        Under a shape: its components, and the assumption in words. Parts and solution are about the shares of these
        components. Weights of values are lifted to weights of components.
    rivals
        Under a union of shapes, such as a peak anywhere: the inference for each of the other shapes. Intervals also
        include the ends of those that explain the reports nearly as well.
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
    rivals: Sequence[Inference] = ()
    _drawn: dict[tuple[str, int, int], list[Family]] = field(default_factory=dict, init=False)
    _unbiased: dict[float, Unbiased] = field(default_factory=dict, init=False)

    @property
    def distribution(self) -> FloatArray:
        """The estimate."""
        return self.solution.distribution

    def lift(self, weights: FloatArray) -> FloatArray:
        """Return weights of values as weights of the solution's components.

        Without a shape they are the same.
        """
        return weights if self.mixture is None else self.mixture.gather(weights)

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return shares of components as shares of values.

        `shares` is one row or several.
        """
        return shares if self.mixture is None else self.mixture.spread(shares)

    @cached_property
    def shares(self) -> FloatArray:
        """The estimated share of each value."""
        return self.spread(self.distribution)

    @cached_property
    def evidence(self) -> Evidence:
        """The reports of all groups."""
        return Evidence.pool(self.parts)

    @cached_property
    def region(self) -> Region:
        """The distributions with near-maximal likelihood."""
        return Region.of(self.evidence)

    def unbiased(self, level: float) -> Unbiased:
        """Return the ends from unbiased shares.

        See :mod:`confide.estimates.inference.unbiased`.
        """
        return self._unbiased.setdefault(level, Unbiased(self.evidence, level))

    @cached_property
    def best_set(self) -> MaximumSet | None:
        """All maximum-likelihood estimates; `None` if there are too many values."""
        try:
            return maximum_set_of(self.evidence, self.alphabet)
        except InvalidParameterError:
            return None

    @cached_property
    def open_set(self) -> MaximumSet | None:
        """All maximum-likelihood estimates, if there are several.

        None if there is only one, or if there are too many values to decide.
        """
        # Under a shape, different components may give the same shares, and the likelihood region includes all.
        if self.mixture is not None or _is_plainly_unique(self.evidence, self.region):
            return None
        return None if self.best_set is None or self.best_set.dimension == 0 else self.best_set

    def open_answers(self, weights: FloatArray) -> tuple[float, float] | None:
        """Return the range of answers over all maximum-likelihood estimates.

        None if they agree.
        """
        if self.open_set is None:
            return None
        low, high = self.open_set.bounds(weights).tolist()
        return (low, high) if high - low > DIFFERENT * float(np.ptp(weights)) else None

    def open_quantiles(self, share: float) -> tuple[float, float] | None:
        """Return the range of quantiles over all maximum-likelihood estimates.

        None if they agree.
        """
        best, reached = self.open_set, share - DIFFERENT  # the tolerance of linear programs
        if best is None:
            return None

        def is_enough(_: Indices, signs: FloatArray, weights: list[FloatArray]) -> NDArray[np.bool_]:
            low, high = np.array([best.bounds(one) for one in weights]).T
            return np.asarray(np.where(signs < 0, high, low) >= reached)

        ((low, high),) = quantile_ranges([self], [reached], is_enough).tolist()
        return (low, high) if low < high else None

    @property
    def has_clusters(self) -> bool:
        """Whether people were drawn in clusters, whose reports are not independent."""
        return any(one.design is not None and not one.design.diagonal.any() for one in self.parts)

    @cached_property
    def is_redrawn_from_sources(self) -> bool:
        """Whether replicates can be drawn from a distribution.

        If not, they are resampled from the reports.
        """
        return any(is_complete(part) for part in self.parts)

    def usual_basis(self, level: float) -> Basis:
        """Return the default basis for intervals of single values.

        It is the likelihood for methods without a smoothness assumption and for shapes, on few values, and under
        randomized response, which does not mix neighbours: there it is as narrow, covers more often and has a closed
        form. It is also the likelihood if the level needs too many replicates. Otherwise it is the bootstrap.
        """
        check_level("level", level)
        # Each likelihood interval takes two searches of a few maxima.
        is_small = self.alphabet.size <= 150
        is_few = ((self.method.reaches_maximum or self.mixture is not None) and is_small) or self.has_clusters
        # With 150 replicates the ends of a band have a sampling error of 8 %.
        usual = Bootstrap().replicates if is_small else 150
        replicates = max(usual, replicates_for(level))
        if is_few or self.evidence.channel.keep_and_other is not None or replicates > 2000:
            return Likelihood()
        return Bootstrap(replicates)

    def families(self, count: int, seed: int) -> list[Family]:
        """Return bootstrap replicates, solved by the method.

        One family is drawn from the estimate. Another is drawn from the maximum-likelihood estimate, unless the method
        reaches that.
        """
        clipped = np.maximum(self.distribution, 0.0)  # raw inversion may leave negative entries
        sources = [clipped / float(clipped.sum())]
        if not self.method.reaches_maximum:
            sources.append(self.region.best)
        return self._draw("method", self.method, sources, count, seed)

    def best_family(self, count: int, seed: int) -> Family:
        """Return bootstrap replicates, solved by maximum likelihood.

        They are drawn from the maximum-likelihood estimate. Each maximum is found to a hundredth of a nat, because only
        their average is used.
        """
        return self._draw("best", MLE(tolerance=0.01), [self.region.best], count, seed)[0]

    def _draw(self, name: str, method: Method, sources: list[FloatArray], count: int, seed: int) -> list[Family]:
        """Draw the replicates once, and keep them.

        If reports are resampled, all sources share one draw.
        """
        if (name, count, seed) not in self._drawn:
            drawn = sources if self.is_redrawn_from_sources else sources[:1]
            families = [draw_family(self.parts, method, self.solution, one, count, seed) for one in drawn]
            families += [replace(families[0], source=one) for one in sources[len(drawn) :]]
            self._drawn[name, count, seed] = families
        return self._drawn[name, count, seed]

    @cached_property
    def _falls(self) -> list[tuple[float, Inference]]:
        """The rivals, and how far each best log-likelihood is lower.

        The nearest rival comes first: it moves the ends most.
        """
        highest = self.region.highest_likelihood
        pairs = [(highest - one.evidence.log_likelihood(one.distribution), one) for one in self.rivals]
        return sorted(pairs, key=lambda pair: pair[0])

    def near_rivals(self, level: float, basis: Basis) -> list[Inference]:
        """Return the rivals within the allowed drop of the log-likelihood.

        There are none for the bootstrap.
        """
        if not self.rivals or isinstance(basis, Bootstrap):
            return []
        return [one for fall, one in self._falls if fall <= allowed_fall(level)]

    def band(self, level: float, basis: Basis | None) -> Band:
        """Return an interval for the probability of each value."""
        check_level("level", level)
        chosen = check_basis(basis, self.usual_basis(level))
        found = self._band(level, chosen)
        rivals = self.near_rivals(level, chosen)
        others: list[Band] = []
        for rival in rivals:
            known = found.hull(others, "")
            others.append(rival._band(level, chosen, np.stack([known.low, known.high], axis=1)))
        return found.hull(others, _rival_words(rivals)) if rivals else found

    def _band(self, level: float, basis: Basis, known: FloatArray | None = None) -> Band:
        considered, now, undetermined = self.seen_by(basis), self.shares, None
        low, high = basis.band(considered, level, known).T
        words, best = basis.explain(considered, level), self.open_set
        if best is not None:
            # If the exact ranges would take long, use bounds on them.
            ends = (best.lowest, best.highest) if best.is_small else bounded_shares(self.evidence, best)
            if float((ends[1] - ends[0]).max()) > DIFFERENT:
                undetermined, low, high = ends, np.minimum(low, ends[0]), np.maximum(high, ends[1])
                words += f"; {MANY}, and the interval holds the shares that all of them give"
        shares = self._as_distribution
        exact = self._width_with_true_values(shares * (1 - shares), (0.0, 1.0), level)
        ends = np.minimum(low, now), np.maximum(high, now)
        return Band(self.alphabet, now, *ends, level, words, undetermined, np.asarray(exact))

    @cached_property
    def _as_distribution(self) -> FloatArray:
        """The estimate without negative entries, which raw inversion may leave."""
        clipped = np.maximum(self.shares, 0.0)
        return clipped / float(clipped.sum())

    def exact_width(self, weights: FloatArray, limits: tuple[float, float], level: float) -> float:
        """Return the interval width that true values would give.

        The same people are assumed to send their true values.

        Parameters
        ----------
        weights
            The weight of each value, not of components.
        limits
            The least and the greatest weight of any value.
        """
        shares = self._as_distribution
        variance = float(shares @ weights**2) - float(shares @ weights) ** 2
        return float(self._width_with_true_values(max(variance, 0.0), limits, level))

    def _width_with_true_values(
        self, variance: FloatArray | float, limits: tuple[float, float], level: float
    ) -> FloatArray:
        """Return the widths of intervals from true values.

        They are normal intervals, or likelihood intervals if nobody or everybody has the value. `evidence.total` counts
        people: with permanent noise it is divided by how often one person may report.
        """
        people = self.evidence.total
        # If none of n people has the value, a positive share lowers the log-likelihood by -n log(1 - share) nats.
        least = (limits[1] - limits[0]) * -math.expm1(-allowed_fall(level) / people)
        return np.maximum(2 * standard_errors(level) * np.sqrt(np.asarray(variance) / people), least)

    def exact_quantile_width(self, share: float, level: float) -> float:
        """Return the width of a quantile's interval from true values.

        The ends are the order statistics at which a test of "this share lies at or below" does not reject.
        """
        error = standard_errors(level) * math.sqrt(share * (1 - share) / self.evidence.total)
        low, high = (self._quantile(self._as_distribution, end) for end in (share - error, share + error))
        return high - low

    def seen_by(self, basis: Basis) -> Inference:
        """Return the inference with surroundings, if the basis uses them."""
        return self.wide if self.wide is not None and basis.looks_around else self

    @property
    def likely(self) -> Indices:
        """The indices of the values that the method was given."""
        return np.arange(self.alphabet.size) if self.surroundings is None else self.surroundings.likely

    def weigh(self, query: Query, name: str | None, basis: Basis) -> tuple[FloatArray, tuple[float, float]]:
        """Return the weights of a query, and their limits.

        The limits are the least and the greatest weight of any value, also of those not considered.
        """
        around = self.seen_by(basis).surroundings
        if around is None:
            weights = as_weights(query, self.alphabet, name) if self.wide is None else weigh(query, self.alphabet, name)
        elif not isinstance(query, str) and not callable(query):
            weights = around.spread(as_weights(query, self.alphabet))  # values without a given weight get 0
        else:
            weights = weigh(query, around.alphabet, name)
            if _is_choice(weights):
                try:
                    every = np.concatenate([weights, *(weigh(query, part, name) for part in around.far)])
                except InvalidParameterError:  # a query function that rejects far values
                    return weights, SHARES
                # If all these weights are equal, the query selects values in between, or all but those.
                return weights, (float(every.min()), float(every.max())) if np.ptp(every) > 0 else SHARES
        return weights, (float(weights.min()), float(weights.max()))

    @cached_property
    def numbers(self) -> FloatArray:
        """The values as numbers; an error if they are none."""
        if not self.alphabet.has_numbers:
            raise InvalidParameterError(self.alphabet._no_mean.format(self.alphabet))
        return self.alphabet.decode(np.arange(self.alphabet.size)).astype(np.float64)

    def quantile_of(self, theta: FloatArray, share: float) -> float:
        """Return a quantile of a distribution, given as shares of components."""
        return self._quantile(self.spread(theta), share)

    def _quantile(self, shares: FloatArray, share: float) -> float:
        values, order = np.sort(self.numbers), np.argsort(self.numbers, kind="stable")
        below = np.cumsum(shares[order])
        # Allow for rounding.
        return float(values[min(int(np.searchsorted(below, share - 1e-12)), values.size - 1)])

    def below(self, place: int) -> FloatArray:
        """Return the query for all values up to a rank."""
        weights = np.zeros(self.alphabet.size)
        weights[np.argsort(self.numbers, kind="stable")[: place + 1]] = 1.0
        return self.lift(weights)


Asked = Sequence[tuple[Inference, Question]]
"""Questions, each with its inference, such as that of a group."""


def ask(asked: Asked, level: float, basis: Basis | None = None) -> list[Interval]:
    """Answer many questions together, each with its interval.

    Parameters
    ----------
    asked
        The questions, each with its inference.
    level
        The coverage: the share of repeated surveys whose interval covers the truth.
    basis
        How intervals are computed: :class:`Likelihood` if left out.
    """
    check_level("level", level)
    chosen = check_basis(basis, Likelihood())
    found = [[one] for one in _answers(asked, level, chosen)]
    every = [inference.near_rivals(level, chosen) for inference, _ in asked]
    for rivals in zip_longest(*every):
        places = [place for place, rival in enumerate(rivals) if rival is not None]
        known = np.array([tuple(found[place][0].hull(found[place][1:], "")) for place in places])
        answers = _answers([(rivals[place], asked[place][1]) for place in places], level, chosen, known)
        for place, answer in zip(places, answers, strict=True):
            found[place].append(answer)
    pairs = zip(found, every, strict=True)
    return [first.hull(others, _rival_words(rivals)) if rivals else first for (first, *others), rivals in pairs]


def _answers(asked: Asked, level: float, basis: Basis, known: FloatArray | None = None) -> list[Interval]:
    """Return the answers without rivals.

    `known` is as in :meth:`Basis.ends`.
    """
    if isinstance(basis, Likelihood):
        # Find the maximum-likelihood estimates of all groups together, by channel.
        seen = {id(one): one for one in (inference.seen_by(basis) for inference, _ in asked)}
        missing = [one for one in seen.values() if "region" not in vars(one)]
        for one, region in zip(missing, Region.of_all([one.evidence for one in missing]), strict=True):
            vars(one)["region"] = region
    answers: dict[int, Interval] = {}
    for is_quantile, find in ((False, _linear_answers), (True, _quantiles)):
        places = [place for place, (_, one) in enumerate(asked) if (one.kind == "quantile") == is_quantile]
        if places:
            some, reached = [asked[place] for place in places], None if known is None else known[places]
            answers |= zip(places, find(some, level, basis, reached), strict=True)
    return [answers[place] for place in range(len(asked))]


def _linear_answers(asked: Asked, level: float, basis: Basis, known: FloatArray | None) -> list[Interval]:
    """Return the answers to queries and means."""
    considered, weights, limits = [inference.seen_by(basis) for inference, _ in asked], [], []
    for (inference, question), seen in zip(asked, considered, strict=True):
        if question.kind == "query":
            some, ends = inference.weigh(question.query, question.name, basis)
        else:
            some = seen.alphabet.amounts
            ends = float(some.min()), float(some.max())
        weights.append(some)
        limits.append(ends)
    lifted = [seen.lift(one) for seen, one in zip(considered, weights, strict=True)]
    found = basis.ends(considered, lifted, level, np.array(limits), known).tolist()
    answers = []
    for place, ((inference, question), seen) in enumerate(zip(asked, considered, strict=True)):
        now, open_ends = float(lifted[place] @ seen.distribution), seen.open_answers(lifted[place])
        answer = _answer(seen, basis, level, (now, *found[place]), open_ends, lifted[place])
        answer = replace(answer, exact_width=seen.exact_width(weights[place], limits[place], level))
        named = inference.alphabet
        if question.kind == "query":
            title, remark = describe_query(question.query), remark_on(question.query, named, question.name)
            answers.append(replace(answer, question=title, is_share=_is_choice(weights[place]), remark=remark))
            continue
        words = answer.rests_on
        if inference.wide is not None:
            far = "for a tiny share very far out moves it at will"
            words = f"{words}; a mean over unbounded values has no other bound, {far}"
        shown = answer.estimate, answer.low, answer.high
        labels = tuple(named.name_mean(one) for one in shown) if named.has_labels else ()
        answers.append(replace(answer, question="mean", rests_on=words, labels=labels, remark=named.mean_remark))
    return answers


def _quantiles(asked: Asked, level: float, basis: Basis, _known: FloatArray | None) -> list[Interval]:
    """Return quantiles, each with its interval.

    `_known` is not used: the search for a quantile stops early without it.
    """
    shares = [question.share for _, question in asked]
    for share in shares:
        check_level("The share of a quantile", share)
    middles = [inference.quantile_of(inference.distribution, question.share) for inference, question in asked]
    found = basis.quantile_ends([inference.seen_by(basis) for inference, _ in asked], shares, level).tolist()
    answers = []
    for place, (inference, question) in enumerate(asked):
        open_ends = inference.open_quantiles(question.share)
        # The query for the values up to the lowest quantile of any maximum-likelihood estimate.
        below = None if open_ends is None else (inference.numbers <= open_ends[0]).astype(np.float64)
        answer = _answer(inference, basis, level, (middles[place], *found[place]), open_ends, below)
        ends = np.array([answer.estimate, answer.low, answer.high]).astype(np.int64)
        labels = tuple(inference.alphabet._name(ends)) if inference.alphabet.has_labels else ()
        title = "median" if question.share == 0.5 else f"quantile {question.share:g}"
        exact = inference.exact_quantile_width(question.share, level)
        answers.append(replace(answer, question=title, labels=labels, exact_width=exact))
    return answers


def _answer(
    inference: Inference,
    basis: Basis,
    level: float,
    ends: tuple[float, float, float],
    open_ends: tuple[float, float] | None,
    weights: FloatArray | None,
) -> Interval:
    """Return an answer whose interval includes the estimate and open ends.

    Open ends are the range over all maximum-likelihood estimates.
    """
    (now, low, high), words = ends, basis.explain(inference.seen_by(basis), level)
    if open_ends is not None and weights is not None:
        low, high = min(low, open_ends[0]), max(high, open_ends[1])
        words += f"; {MANY}, with answers from {open_ends[0]:.4g} to {open_ends[1]:.4g}"
        # Whether more reports would settle it.
        known = None if inference.channel is None else channel_query(inference.channel, weights)
        if known is not None and known.is_no:
            words += ", and no number of reports would settle it: the mechanism does not identify the answer"
        elif known is not None and known.is_yes:
            words += "; more reports may settle it, for the mechanism identifies the answer"
        elif known is not None:
            words += f"; whether more reports would settle it is not known ({known.reason.removesuffix('.')})"
    return Interval("", now, min(low, now), max(high, now), level, words, open_ends, is_share=False)


def quantile_ranges(inferences: Sequence[Inference], shares: Sequence[float], is_enough: IsEnough) -> FloatArray:
    """Return the lowest and the highest value of each quantile.

    The lowest is the first value at which the share can be high enough. The highest is the first at which it cannot be
    too low. Both conditions are monotone, so bisection finds them. It starts at the estimate's quantile, because on a
    long line each question takes a second.
    """
    values = [np.sort(one.numbers) for one in inferences]
    pairs = zip(inferences, shares, values, strict=True)
    near = [int(np.searchsorted(some, one.quantile_of(one.distribution, share))) for one, share, some in pairs]
    count = len(inferences)

    def is_so(which: Indices, places: Indices) -> NDArray[np.bool_]:
        """Ask the first half of searches for lowest values, then highest."""
        whose = which % count
        weights = [inferences[one].below(place) for one, place in zip(whose, places.tolist(), strict=True)]
        return is_enough(whose, np.where(which < count, -1.0, 1.0), weights)

    found = first_places(is_so, np.tile(near, 2), np.tile([some.size for some in values], 2)).reshape(2, -1)
    lows, highs = found[0], np.maximum(found[0], found[1])
    return np.array([(some[low], some[high]) for some, low, high in zip(values, lows, highs, strict=True)])


def first_places(is_so: Callable[[Indices, Indices], NDArray[np.bool_]], near: Indices, sizes: Indices) -> Indices:
    """Return the first place of each search where a condition is met.

    The condition must stay true from there on. The last place is returned if it is met nowhere. `is_so` takes searches
    and a place for each. `near` is where to begin.

    >>> first_places(lambda which, places: places >= np.array([3, 70])[which], np.array([5, 5]), np.array([100, 100]))
    array([ 3, 70])
    """
    low, high, middle = np.zeros_like(sizes), sizes - 1, near
    step = np.maximum(1, sizes // 256)
    is_met, is_missed = np.zeros(sizes.size, dtype=bool), np.zeros(sizes.size, dtype=bool)
    while (going := np.flatnonzero(low < high)).size:
        middle = np.clip(middle, low, np.maximum(high - 1, low))
        answers = is_so(going, middle[going])
        met, missed = going[answers], going[~answers]
        high[met], is_met[met] = middle[met], True
        low[missed], is_missed[missed] = middle[missed] + 1, True
        # Double the stride until both sides are known, then bisect.
        middle = np.where(is_met & is_missed, (low + high) // 2, np.where(is_met, high - step, low + step))
        step = 2 * step
    return low


def check_level(name: str, share: object) -> None:
    """Reject anything but a number between 0 and 1."""
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    if not is_number or not 0 < float(share) < 1 or math.isnan(float(share)):  # type: ignore[arg-type]
        raise InvalidParameterError(f"{name} must lie between 0 and 1, both excluded, such as 0.95; got {share!r}.")


def check_basis(basis: object, usual: Basis) -> Basis:
    """Return the requested basis, or the default."""
    if basis is None:
        return usual
    if not isinstance(basis, Basis):
        raise InvalidParameterError(f"basis must be Likelihood() or Bootstrap(); got {basis!r}.")
    return basis


def _is_choice(weights: FloatArray) -> bool:
    """Whether all weights are 0 or 1."""
    return bool(np.isin(weights, SHARES).all())


def _rival_words(rivals: Sequence[object]) -> str:
    return f"each of {len(rivals) + 1:,} places of the peak that explain them so well counts"


def _is_plainly_unique(evidence: Evidence, region: Region) -> bool:
    """Whether a quick check shows a unique maximum-likelihood estimate.

    It takes a thousandth of the time of the proof. A value with a positive share in some maximum-likelihood estimate
    has gain 1. With a certificate of c nats, the ratios of the outputs are off by at most sqrt(2 c / n) in the mean
    square weighed by q. By Cauchy and Schwarz, this also bounds the error of the gains. If the rows of all values that
    may have gain 1 are independent, the estimate is unique.
    """
    if max(evidence.channel.shape) > 512:
        return False
    outputs = evidence.channel.push(region.best)
    rows = evidence.channel.dense()[:, evidence.counts > 0] / outputs[evidence.counts > 0]
    shares = evidence.frequencies[evidence.counts > 0]
    gain, norms = rows @ shares, np.sqrt((rows**2) @ shares)
    # Three times the error of a gain: a value within it may have a positive share.
    error = 3.0 * norms * math.sqrt(2 * max(region.certificate, evidence.resolution) / evidence.total)
    free = gain >= 1 - error
    spectrum = np.linalg.svd(rows[free] / norms[free, None] * np.sqrt(shares), compute_uv=False)
    # Above this ratio of singular values, rounding cannot make rows look independent.
    return int(free.sum()) <= shares.size and bool(spectrum[-1] > 1e-7 * spectrum[0])


def bounded_shares(evidence: Evidence, best: MaximumSet) -> tuple[FloatArray, FloatArray]:
    """Return cheap bounds on each share over all maximum-likelihood estimates.

    theta_x M_xz is part of the output z, which all of them share.
    """
    seen = np.flatnonzero(evidence.counts > 0)
    outputs = evidence.channel.push(best.point)[seen]
    rows = evidence.channel.select(best.free)[:, seen]
    most = np.divide(outputs, rows, out=np.full_like(rows, np.inf), where=rows > 0).min(axis=1)
    low, high = best.point.copy(), best.point.copy()
    moving = np.abs(best.flat.basis).max(axis=0) > DIFFERENT
    low[best.free[moving]] = 0.0
    high[best.free[moving]] = np.minimum(1.0, most[moving])
    return low, high


def look_ahead(
    inference: Inference, answer: Interval, weights: FloatArray, channels: Mapping[float, Channel], reports: float
) -> Prospect:
    """Return the sources of an answer's width, and what would narrow it.

    Everything is computed from expected counts: those that the channel gives a distribution on average. The profile
    likelihood of these counts gives the width for a survey of that size.

    `channels` maps epsilon to channels, the mechanism's own first; it may be empty. `reports` is how many there are,
    of which weights or repetition leave fewer to the evidence. For more people, the same reports
    are multiplied. For a larger epsilon, expected reports come from the estimate.
    """
    level, people = answer.level, inference.evidence.total
    now, *longer = [_width(inference, weights, level, times) for times in (1, 2, 10)]
    source = np.maximum(inference.distribution, 0.0)
    source = source / source.sum()
    regions = [expected_region(one, source, people) for one in channels.values()]
    low, high = np.array([one.ends(weights, allowed_fall(level)) for one in regions]).reshape(-1, 2).T
    ratios = (high - low) / (high - low)[:1] if low.size and high[0] > low[0] else np.zeros(0)
    sampling, numbers = min(answer.width, answer.exact_width), [round(times * reports) for times in (2, 10)]
    return Prospect(
        question=answer.question,
        width=answer.width,
        sampling=sampling,
        people={number: answer.width * width / now for number, width in zip(numbers, longer, strict=True) if now > 0},
        epsilon=dict(zip(list(channels)[1:], np.maximum(answer.width * ratios[1:], sampling).tolist(), strict=False)),
        reports=round(reports),
        is_share=answer.is_share,
    )


def _width(inference: Inference, weights: FloatArray, level: float, people: float) -> float:
    """Return the interval width with the reports multiplied by a factor."""
    fall = allowed_fall(level) / people
    if is_unbiased(inference.evidence):
        return math.sqrt(2 * fall)
    ends = [inference.region.ends(weights, fall)]
    if inference.region.with_fewer_values is not None:
        region, values = inference.region.with_fewer_values
        ends.append(region.ends(weights[values], fall))
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    few, errors = inference.region.lowest_among_few, standard_errors(level)
    lowest = max(min(lowest, few(weights, errors, people)), float(weights.min()))
    return min(max(highest, -few(-weights, errors, people)), float(weights.max())) - lowest


def expected_region(channel: Channel, truth: FloatArray, people: float) -> Region:
    """Return the region around a distribution, from its expected reports."""
    evidence = Evidence(channel, people * channel.push(truth))
    return Region(evidence, truth, evidence.log_likelihood(truth), 0.0)


def is_unbiased(evidence: Evidence) -> bool:
    """Whether unbiased shares exist and have Gaussian errors."""
    alike = evidence.channel.keep_and_other
    # With at least five expected reports for each output, sums are nearly Gaussian.
    return alike is not None and alike[0] != alike[1] and min(alike) * evidence.total >= 5.0

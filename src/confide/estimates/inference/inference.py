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
from confide.errors import InvalidParameterError
from confide.estimates.inference.answers import Band, Interval, Prospect, percent
from confide.estimates.inference.region import Region, lowest
from confide.estimates.inference.unbiased import Unbiased, is_unbiased
from confide.evidence.evidence import Evidence
from confide.solve.methods import MLE, Method, Solution
from confide.theory.identification import channel_query
from confide.theory.maximum_set import MaximumSet, maximum_set_of
from confide.values import Alphabet, Grid, Indices, LineGeometry, Selection
from confide.values.checks import LARGEST_INTEGER, MOST_STORED, check_count
from confide.values.geometry import LARGEST_LATTICE
from confide.values.queries import Query, as_weights, describe_query, remark_on, weigh

Inferences = Sequence["Inference"]
"""The inference that each question is asked of."""

Weights = Sequence[FloatArray]
"""The weight of each value, question by question; inferences may have different values."""

Ends = FloatArray | None
"""A lower and an upper end for each question, one row each; None where nothing is known of them."""

Answer = Callable[[FloatArray], FloatArray]
"""Takes a stack of distributions, one a row, to the answers that they give: one row each, a column a question."""

SHARES = (0.0, 1.0)
"""The limits of a query that asks for some values and not for others."""

ENOUGH_VALUES = 800_000
"""Values of all replicates together past which there are fewer: 8 of 100,000 values each, at two seconds a maximum."""

FEWEST = 40
"""Replicates below which an error that 95 % do not exceed is little more than the largest of them."""


class Basis(ABC):
    """Basis of an interval, which finds its ends: a frozen value that holds its settings and nothing else."""

    looks_around: ClassVar[bool] = False
    """Whether it considers, on an unbounded alphabet, more values than the likely ones that the method was given."""

    @abstractmethod
    def ends(
        self, inferences: Inferences, weights: Weights, level: float, limits: Ends = None, known: Ends = None
    ) -> FloatArray:
        """Return the lower and the upper end for each of many linear queries, one row each.

        Parameters
        ----------
        inferences, weights
            Of each query, the inference that is asked and the weight of each value there.
        level
            How often each interval holds the truth.
        limits
            The least and the greatest weight of any value, one row a query, where there are others than those of the
            inference.
        known
            Ends that hold in any case, one row a query: those within them need not be found to the last digit.
        """

    @abstractmethod
    def band(self, inference: Inference, level: float, known: Ends = None) -> FloatArray:
        """Return the lower and the upper end for each value by itself, one row each; `known` as in :meth:`ends`."""

    @abstractmethod
    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Return the ends for the values below or at which these shares of people lie, one row each."""

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
    `region.py`). Ends are those of one set of distributions, so they are coherent: a set of values never
    has an end inside that of a smaller one, and complements mirror each other.

    Under randomized response ends come from unbiased shares instead, for there the maximum of the likelihood is biased
    where many values are empty (see `unbiased.py`); on a line they are coherent for tails.

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
        self, inferences: Inferences, weights: Weights, level: float, limits: Ends = None, known: Ends = None
    ) -> FloatArray:
        """Search the paths of all queries together."""
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
        # The highest answer is less the lowest to the query with all signs turned: both are looked for at once.
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
        """Return the lower ends alone; or whether each reaches `enough`, or something above `known` where it does."""
        # Each question is asked among all values and, off the line, among as few as explain the reports. Values that an
        # inference does not consider, which may weigh least, are none of these few.
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
        """Ask for each value that the method was given."""
        # A hundred values at a time: enough for the products to be large.
        found = []
        for some in np.array_split(inference.likely, -(-inference.likely.size // 100)):
            weights = np.zeros((some.size, inference.alphabet.size))
            weights[np.arange(some.size), some] = 1.0
            limits = np.tile(SHARES, (some.size, 1))
            reached = None if known is None else known[some]
            found.append(self.ends([inference] * some.size, list(inference.lift(weights)), level, limits, reached))
        return np.concatenate(found)

    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Look for the values at which the share below can be high enough, and cannot be too low."""
        wanted = np.array(shares)

        def is_enough(which: Indices, signs: FloatArray, weights: list[FloatArray]) -> NDArray[np.bool_]:
            asked = [inferences[place] for place in which]
            turned = [sign * one for sign, one in zip(signs.tolist(), weights, strict=True)]
            enough = signs * wanted[which]
            found = self._lowest(asked, turned, level, np.minimum(signs, 0.0), enough)
            return np.asarray(np.where(signs > 0, found >= enough, found <= enough))

        return quantile_ranges(inferences, shares, is_enough)

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:  # noqa: ARG002
        """Return the spread of the answers of the best explanation over its replicates."""
        family = inference.best_family(self.drawn(inference), self.seed)
        errors = inference.spread(family.answers - family.source)[:, inference.likely] @ queries.T
        spreads: FloatArray = np.sqrt((errors**2).mean(axis=0))
        return spreads

    def explain(self, inference: Inference, level: float) -> str:
        """Say which distributions count."""
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
        """Return how many replicates are drawn: by the number of values, not by a clock, so that it is always so.

        Eight however many values there are: they only say which of many questions vary most.
        """
        return min(self.replicates, max(8, ENOUGH_VALUES // inference.alphabet.size))


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
        self,
        inferences: Inferences,
        weights: Weights,
        level: float,
        limits: Ends = None,
        known: Ends = None,  # noqa: ARG002
    ) -> FloatArray:
        """Go as far to both sides of each answer as replicates err."""
        found = []
        for place, (inference, one) in enumerate(zip(inferences, weights, strict=True)):
            now = float(one @ inference.distribution)
            half = float(self._half_widths(inference, lambda theta, one=one: theta @ one[:, None], level)[0])  # type: ignore[misc]
            least, most = (float(one.min()), float(one.max())) if limits is None else limits[place].tolist()
            found.append((max(now - half, least), min(now + half, most)))
        return np.array(found).reshape(-1, 2)

    def band(self, inference: Inference, level: float, known: Ends = None) -> FloatArray:  # noqa: ARG002
        """Do the same for each value."""
        half, now = self._half_widths(inference, inference.spread, level), inference.spread(inference.distribution)
        return np.stack([np.maximum(now - half, 0.0), np.minimum(now + half, 1.0)], axis=1)

    def quantile_ends(self, inferences: Inferences, shares: Sequence[float], level: float) -> FloatArray:
        """Do the same for quantiles of the replicates."""
        found = []
        for inference, share in zip(inferences, shares, strict=True):

            def quantiles(theta: FloatArray, inference: Inference = inference, share: float = share) -> FloatArray:
                return np.array([[inference.quantile_of(row, share)] for row in theta])

            half = float(self._half_widths(inference, quantiles, level)[0])
            now, values = inference.quantile_of(inference.distribution, share), inference.numbers
            found.append((max(float(values.min()), now - half), min(float(values.max()), now + half)))
        return np.array(found).reshape(-1, 2)

    def spreads(self, inference: Inference, queries: FloatArray, level: float) -> FloatArray:
        """Return the errors of the replicates."""
        return self._half_widths(inference, lambda theta: inference.spread(theta) @ queries.T, level)

    def explain(self, inference: Inference, level: float) -> str:  # noqa: ARG002 (one contract)
        """Say where replicates come from, and what is believed."""
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
        premise = f"{inference.premise}: " if inference.premise else ""
        return f"{premise}{words}, and it holds as far as the truth is no rougher than the method believes{alone}"

    def _half_widths(self, inference: Inference, answer: Answer, level: float) -> FloatArray:
        """Return the larger error of the two sources, one a question."""
        needed = replicates_for(level)
        if self.replicates < needed:  # a level that they cannot tell from certainty
            raise InvalidParameterError(
                f"A level of {percent(level)} takes at least {needed:,} replicates; got {self.replicates:,}. Use "
                f"Bootstrap({needed}), or Likelihood(), which takes any level."
            )
        families = inference.families(self.replicates, self.seed)
        widest: FloatArray = np.max([one.half_width(answer, level) for one in families], axis=0)
        return widest


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
    generator, drawn = np.random.default_rng(seed), []
    for part in parts:
        # Where the channel knows only the reports seen, they are drawn from these.
        shares = np.maximum(part.channel.push(source) if is_complete(part) else part.frequencies, 0.0)
        drawn.append(generator.multinomial(max(1, round(part.total)), shares / shares.sum(), size=count))
    counts = np.concatenate(drawn, axis=1).astype(np.float64)
    solved = method.solve_many(Evidence.pool(list(parts)), counts, pilot=pilot)
    return Family(source, np.array([one.distribution for one in solved]))


def is_complete(evidence: Evidence) -> bool:
    """Whether the channel has every output that a report can be, unscaled: probabilities over them sum to one."""
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    # Rows of a hundred thousand outputs sum to 1 within 1e-15, on a line and on a plane.
    return bool(np.abs(sums - 1).max() <= 1e-9)


LONGEST_LINE = 100_000
"""Values on a line up to which surroundings are added."""

LARGEST_PLANE = 20_000
"""Cells of a plane up to which they are."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The likely values with those around them, where the alphabet is unbounded.

    The highest likelihood is reached among the likely values, but a distribution that explains the reports nearly as
    well may give shares to others. On a line, a value d steps beyond all reports explains each of them by the same
    factor e^(-decay d) less well than the outermost likely value does. So values are looked at up to where that factor
    is next to nothing. Whatever lies farther out explains no report, and only matters if a query asks for it.

    Attributes
    ----------
    alphabet
        All of them.
    likely
        The numbers that the likely values have among them.
    far
        Values so far out that they explain nothing, in every direction.
    steps, wanted
        How far around the likely values these are, and how far they should be.
    """

    alphabet: Alphabet
    likely: Indices
    far: tuple[Alphabet, ...]
    steps: int
    wanted: int

    def spread(self, distribution: FloatArray) -> FloatArray:
        """Return a distribution over the likely values as one over all: zero elsewhere."""
        full: FloatArray = np.zeros(self.alphabet.size)
        full[self.likely] = distribution
        return full

    def explain(self) -> str:
        """Say which values were considered, and why no other."""
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
        By how many nats a step takes a value away from what it explains; None where that is not known.
    reports
        How many different ones there are.

    >>> from confide import Integers
    >>> surround(Integers(3, 9), decay=1.0, reports=4).alphabet
    Integers(-7, 19)
    """
    # A value is left out if it explains each report by more than ten nats less than the nearest likely value does.
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
    largest = min(LARGEST_PLANE, MOST_STORED // reports)

    def cells(steps: int) -> int:
        return (likely.rows + 2 * steps) * (likely.columns + 2 * steps)

    steps = max(0, bisect_right(range(wanted + 1), largest, key=cells) - 1)
    shape = likely.rows + 2 * steps, likely.columns + 2 * steps
    box = likely if steps == 0 else likely.window(likely.first_row - steps, likely.first_column - steps, *shape)
    # Cells far out to all eight sides: of every row and every column of the box, and beyond its corners.
    ends = (1 - LARGEST_LATTICE, LARGEST_LATTICE - 1)
    beside = [box.window(box.first_row, end, box.rows, 1) for end in ends]
    above = [box.window(end, box.first_column, 1, box.columns) for end in ends]
    corners = [box.window(row, column, 1, 1) for column in ends for row in ends]
    numbers = box.encode(likely.decode(np.arange(likely.size)))
    return Surroundings(box, numbers, (*beside, *above, *corners), steps, wanted)


def _around_each(likely: Alphabet, wanted: int) -> Surroundings:
    """Return what lies around each of a few values on a long line; scattered cells of a plane as they are."""
    whole, values = likely.selected_from, likely.decode(np.arange(likely.size))
    if whole is None or not isinstance(whole.geometry, LineGeometry):
        return Surroundings(likely, np.arange(likely.size), (), 0, wanted)
    steps = min(wanted, max(0, LONGEST_LINE // likely.size - 1) // 2)
    near = np.add.outer(values, np.arange(-steps, steps + 1)).reshape(-1)
    wide = Selection(whole, np.unique(np.clip(near, -LARGEST_INTEGER, LARGEST_INTEGER)))
    far = tuple(whole.between(end, end) for end in (-LARGEST_INTEGER, LARGEST_INTEGER))
    return Surroundings(wide, wide.encode(values), far, steps, wanted)


FEW_VALUES = 150
"""Values up to which the likelihood is asked for each of them unbidden: two searches of a few maxima each."""

DIFFERENT = 1e-6
"""Best explanations give different answers if these differ by more than this share of the query's range."""

MANY = "many distributions explain the reports best"

IsEnough = Callable[[Indices, FloatArray, list[FloatArray]], NDArray[np.bool_]]
"""Takes places of quantiles, signs and queries to whether each share can be high enough (-1), or must be (1)."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: the answer to a linear query, the mean of the values, or a quantile of theirs.

    Attributes
    ----------
    kind
        Which of the three.
    query, name
        The query, and what a value is called in it; any name if left out.
    share
        The share of people at or below the quantile.
    """

    kind: Literal["query", "mean", "quantile"]
    query: Query = ""
    name: str | None = None
    share: float = 0.5


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
    rivals
        Under a shape that is many in one, such as a peak anywhere: what the reports say of each of the others. Where
        one explains the reports nearly as well, intervals hold its ends too.
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

    def unbiased(self, level: float) -> Unbiased:
        """Return the ends from unbiased shares; see :mod:`confide.estimates.inference.unbiased`."""
        return self._unbiased.setdefault(level, Unbiased(self.evidence, level))

    @cached_property
    def best_set(self) -> MaximumSet | None:
        """All distributions that explain the reports best; None where there are too many values to find out."""
        try:
            return maximum_set_of(self.evidence, self.alphabet)
        except InvalidParameterError:
            return None

    @cached_property
    def open_set(self) -> MaximumSet | None:
        """The same where they are several; None where there is one alone, or too many values to find out."""
        # Under a shape other components may give the same shares, and the likelihood looks at all.
        if self.mixture is not None or _is_plainly_unique(self.evidence, self.region):
            return None
        return None if self.best_set is None or self.best_set.dimension == 0 else self.best_set

    def open_answers(self, weights: FloatArray) -> tuple[float, float] | None:
        """Return the lowest and the highest answer among all best explanations, where they differ."""
        if self.open_set is None:
            return None
        low, high = self.open_set.bounds(weights).tolist()
        return (low, high) if high - low > DIFFERENT * float(np.ptp(weights)) else None

    def open_quantiles(self, share: float) -> tuple[float, float] | None:
        """Return the lowest and the highest quantile among all best explanations, where they differ."""
        best, reached = self.open_set, share - DIFFERENT  # shares that differ by what programs leave open are the same
        if best is None:
            return None

        def is_enough(_: Indices, signs: FloatArray, weights: list[FloatArray]) -> NDArray[np.bool_]:
            low, high = np.array([best.bounds(one) for one in weights]).T
            return np.asarray(np.where(signs < 0, high, low) >= reached)

        ((low, high),) = quantile_ranges([self], [reached], is_enough).tolist()
        return (low, high) if low < high else None

    @cached_property
    def is_redrawn_from_sources(self) -> bool:
        """Whether any group's reports can be drawn from a distribution; if not, they are drawn from the reports."""
        return any(is_complete(part) for part in self.parts)

    def usual_basis(self, level: float) -> Basis:
        """Return the default basis for intervals of single values.

        The likelihood for a method that believes nothing, and under randomized response, which blurs no value into its
        neighbours: there it is as narrow, holds more often and has a closed form. Also where the level takes more
        replicates than anyone waits for.
        """
        check_level("level", level)
        is_few = (self.method.reaches_maximum or self.mixture is not None) and self.alphabet.size <= FEW_VALUES
        # With 150 replicates the ends of a band are off by a thirteenth, by chance.
        usual = Bootstrap().replicates if self.alphabet.size <= FEW_VALUES else 150
        replicates = max(usual, replicates_for(level))
        if is_few or self.evidence.channel.keep_and_other is not None or replicates > 2000:
            return Likelihood()
        return Bootstrap(replicates)

    def families(self, count: int, seed: int) -> list[Family]:
        """Return replicates of the reports, solved again by the method: from the estimate, and from the best."""
        clipped = np.maximum(self.distribution, 0.0)  # raw inversion may leave negative entries
        sources = [clipped / float(clipped.sum())]
        if not self.method.reaches_maximum:
            sources.append(self.region.best)
        return self._draw("method", self.method, sources, count, seed)

    def best_family(self, count: int, seed: int) -> Family:
        """Return replicates of the reports, drawn from their best explanation, with the best explanation of each.

        These are found to a hundredth of a nat: their average is all that is wanted.
        """
        return self._draw("best", MLE(tolerance=0.01), [self.region.best], count, seed)[0]

    def _draw(self, name: str, method: Method, sources: list[FloatArray], count: int, seed: int) -> list[Family]:
        """Draw once, and keep. Where reports are drawn from reports, errors from every source are those of one draw."""
        if (name, count, seed) not in self._drawn:
            drawn = sources if self.is_redrawn_from_sources else sources[:1]
            families = [draw_family(self.parts, method, self.solution, one, count, seed) for one in drawn]
            families += [replace(families[0], source=one) for one in sources[len(drawn) :]]
            self._drawn[name, count, seed] = families
        return self._drawn[name, count, seed]

    @cached_property
    def _falls(self) -> list[tuple[float, Inference]]:
        """By how much the best of each rival explains the reports worse, the least first.

        The first have most to say on ends, and others less to add.
        """
        highest = self.region.highest_likelihood
        pairs = [(highest - one.evidence.log_likelihood(one.distribution), one) for one in self.rivals]
        return sorted(pairs, key=lambda pair: pair[0])

    def near_rivals(self, level: float, basis: Basis) -> list[Inference]:
        """Return the rivals that explain the reports so well that they count; none for the bootstrap."""
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
            # Where the shares of all best explanations would take long, bounds on them.
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
        """The estimate as a distribution over values: raw inversion may leave negative entries."""
        clipped = np.maximum(self.shares, 0.0)
        return clipped / float(clipped.sum())

    def exact_width(self, weights: FloatArray, limits: tuple[float, float], level: float) -> float:
        """Return the width of a linear query's interval if the same people had sent true values.

        Parameters
        ----------
        weights
            The weight of each value, before any shape.
        limits
            The least and the greatest weight of any value.
        """
        shares = self._as_distribution
        variance = float(shares @ weights**2) - float(shares @ weights) ** 2
        return float(self._width_with_true_values(max(variance, 0.0), limits, level))

    def _width_with_true_values(
        self, variance: FloatArray | float, limits: tuple[float, float], level: float
    ) -> FloatArray:
        """Return widths of a normal interval, or of the likelihood's if nobody or everybody has the value.

        `evidence.total` counts people: with permanent noise it is thinned by how often one person may report.
        """
        people = self.evidence.total
        # A share that none of n people is counted in explains them less well by -n log(1 - share) nats.
        least = (limits[1] - limits[0]) * -math.expm1(-allowed_fall(level) / people)
        return np.maximum(2 * standard_errors(level) * np.sqrt(np.asarray(variance) / people), least)

    def exact_quantile_width(self, share: float, level: float) -> float:
        """Return the width of a quantile's interval if the same people had sent true values.

        The ends are the order statistics that a test of "this share lies at or below" does not reject.
        """
        error = standard_errors(level) * math.sqrt(share * (1 - share) / self.evidence.total)
        low, high = (self._quantile(self._as_distribution, end) for end in (share - error, share + error))
        return high - low

    def seen_by(self, basis: Basis) -> Inference:
        """Return the same with the surroundings of the likely values, where there are such and the basis looks."""
        return self.wide if self.wide is not None and basis.looks_around else self

    @property
    def likely(self) -> Indices:
        """The numbers of the values that the method was given."""
        return np.arange(self.alphabet.size) if self.surroundings is None else self.surroundings.likely

    def weigh(self, query: Query, name: str | None, basis: Basis) -> tuple[FloatArray, tuple[float, float]]:
        """Return the weight of each value that is considered, and the least and the greatest weight of any value."""
        around = self.seen_by(basis).surroundings
        if around is None:
            weights = as_weights(query, self.alphabet, name) if self.wide is None else weigh(query, self.alphabet, name)
        elif not isinstance(query, str) and not callable(query):
            weights = around.spread(as_weights(query, self.alphabet))  # values that are not named count for nothing
        else:
            weights = weigh(query, around.alphabet, name)
            if _is_choice(weights):
                return weights, _limits(query, weights, around, name)
        return weights, (float(weights.min()), float(weights.max()))

    @cached_property
    def numbers(self) -> FloatArray:
        """The values as numbers; an error where they are none."""
        if not self.alphabet.has_numbers:
            raise InvalidParameterError(self.alphabet._no_mean.format(self.alphabet))
        return self.alphabet.decode(np.arange(self.alphabet.size)).astype(np.float64)

    def quantile_of(self, theta: FloatArray, share: float) -> float:
        """Return a quantile of a distribution, given as the shares that the method estimates."""
        return self._quantile(self.spread(theta), share)

    def _quantile(self, shares: FloatArray, share: float) -> float:
        values, order = np.sort(self.numbers), np.argsort(self.numbers, kind="stable")
        below = np.cumsum(shares[order])
        # A share that is met but for rounding is met.
        return float(values[min(int(np.searchsorted(below, share - 1e-12)), values.size - 1)])

    def below(self, place: int) -> FloatArray:
        """Return the query for the values up to one, by its place in their order."""
        weights = np.zeros(self.alphabet.size)
        weights[np.argsort(self.numbers, kind="stable")[: place + 1]] = 1.0
        return self.lift(weights)


Asked = Sequence[tuple[Inference, Question]]
"""Questions, each with the inference that it is asked of, such as that of a group."""


def ask(asked: Asked, level: float, basis: Basis | None = None) -> list[Interval]:
    """Return the answers to many questions, each with its interval; they are searched for side by side.

    Parameters
    ----------
    asked
        The questions.
    level
        The share of surveys, were they repeated, whose interval holds the truth.
    basis
        What intervals rest on: :class:`Likelihood` if left out.
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
    """Return the answers, without rivals; `known` as in :meth:`Basis.ends`."""
    if isinstance(basis, Likelihood):
        # The best explanations of all groups, side by side over each channel.
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
    """Return the answers to queries, and means."""
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
    """Return quantiles: the lowest values at or below which shares of people lie. Their search ends early by itself."""
    shares = [question.share for _, question in asked]
    for share in shares:
        check_level("The share of a quantile", share)
    middles = [inference.quantile_of(inference.distribution, question.share) for inference, question in asked]
    found = basis.quantile_ends([inference.seen_by(basis) for inference, _ in asked], shares, level).tolist()
    answers = []
    for place, (inference, question) in enumerate(asked):
        open_ends = inference.open_quantiles(question.share)
        # The values up to the lowest one, which some of all best explanations say are share enough.
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
    """Return an answer with its ends, which hold it and what the best explanations leave open of it."""
    (now, low, high), words = ends, basis.explain(inference.seen_by(basis), level)
    if open_ends is not None and weights is not None:
        low, high = min(low, open_ends[0]), max(high, open_ends[1])
        words = f"{words}; {_explain_open(inference.channel, weights, open_ends)}"
    return Interval("", now, min(low, now), max(high, now), level, words, open_ends, is_share=False)


def quantile_ranges(inferences: Sequence[Inference], shares: Sequence[float], is_enough: IsEnough) -> FloatArray:
    """Return the lowest and the highest value that each quantile can be, one row each.

    It can be as low as the first value at which the share can be high enough, and must be no higher than the first at
    which it cannot be too low. Both grow along the line, so halving finds them; outwards from the estimate's, for on a
    long line each question takes a second.
    """
    values = [np.sort(one.numbers) for one in inferences]
    pairs = zip(inferences, shares, values, strict=True)
    near = [int(np.searchsorted(some, one.quantile_of(one.distribution, share))) for one, share, some in pairs]
    count = len(inferences)

    def is_so(which: Indices, places: Indices) -> NDArray[np.bool_]:
        """Ask the first half of all searches for the lowest values, and the others for the highest."""
        whose = which % count
        weights = [inferences[one].below(place) for one, place in zip(whose, places.tolist(), strict=True)]
        return is_enough(whose, np.where(which < count, -1.0, 1.0), weights)

    found = first_places(is_so, np.tile(near, 2), np.tile([some.size for some in values], 2)).reshape(2, -1)
    lows, highs = found[0], np.maximum(found[0], found[1])
    return np.array([(some[low], some[high]) for some, low, high in zip(values, lows, highs, strict=True)])


def first_places(is_so: Callable[[Indices, Indices], NDArray[np.bool_]], near: Indices, sizes: Indices) -> Indices:
    """Return the first place of each search up to which something is so that stays so; the last if nowhere.

    `is_so` takes searches and a place for each; `near` is where to look first.

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
        # Strides that double until both sides are known, and halves from there.
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


def _limits(query: Query, weights: FloatArray, around: Surroundings, name: str | None) -> tuple[float, float]:
    """Return the least and the greatest weight, also of values far out, where a query asks for them or does not."""
    try:
        every = np.concatenate([weights, *(weigh(query, part, name) for part in around.far)])
    except InvalidParameterError:  # a function that does not take them
        return SHARES
    # Where the query is the same for all of these, it asks for something in between, or for all but that.
    return (float(every.min()), float(every.max())) if np.ptp(every) > 0 else SHARES


def _is_choice(weights: FloatArray) -> bool:
    """Whether all weights are 0 or 1."""
    return bool(np.isin(weights, SHARES).all())


def _rival_words(rivals: Sequence[object]) -> str:
    return f"each of {len(rivals) + 1:,} places of the peak that explain them so well counts"


def _is_plainly_unique(evidence: Evidence, region: Region) -> bool:
    """Whether one distribution alone explains the reports best, by a look that takes a thousandth of the proof.

    Whatever has a share in some best explanation has the gain 1 there. With a certificate of c nats the outputs are off
    by at most sqrt(2 c / n) in the mean square of their ratio, weighed by q, and so are the gains, by Cauchy and
    Schwarz. If the rows of all values that may have the gain 1 are independent, it is the only one.
    """
    if max(evidence.channel.shape) > 512:
        return False
    outputs = evidence.channel.push(region.best)
    rows = evidence.channel.dense()[:, evidence.counts > 0] / outputs[evidence.counts > 0]
    shares = evidence.frequencies[evidence.counts > 0]
    gain, norms = rows @ shares, np.sqrt((rows**2) @ shares)
    # Three times the error of a gain: a value within it may be part of some best explanation.
    error = 3.0 * norms * math.sqrt(2 * max(region.certificate, evidence.resolution) / evidence.total)
    free = gain >= 1 - error
    spectrum = np.linalg.svd(rows[free] / norms[free, None] * np.sqrt(shares), compute_uv=False)
    # A ratio of singular values from which on rows are independent beyond any doubt that rounding leaves.
    return int(free.sum()) <= shares.size and bool(spectrum[-1] > 1e-7 * spectrum[0])


def bounded_shares(evidence: Evidence, best: MaximumSet) -> tuple[FloatArray, FloatArray]:
    """Return cheap bounds on each share among all best explanations.

    theta_x M_xz is part of the output z, which all best explanations share.
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


def _explain_open(channel: Channel | None, weights: FloatArray, ends: tuple[float, float]) -> str:
    """Say between which ends an answer is open, and whether reports settle it."""
    words = f"{MANY}, with answers from {ends[0]:.4g} to {ends[1]:.4g}"
    if channel is None:
        return words
    known = channel_query(channel, weights)
    if known.is_no:
        return f"{words}, and no number of reports would settle it: the mechanism does not identify the answer"
    if known.is_yes:
        return f"{words}; more reports may settle it, for the mechanism identifies the answer"
    return f"{words}; whether more reports would settle it is not known ({known.reason.removesuffix('.')})"


def look_ahead(
    inference: Inference, answer: Interval, weights: FloatArray, channels: Mapping[float, Channel]
) -> Prospect:
    """Say what the width of an answer comes from, and what would narrow it.

    All of it is computed from reports without chance: as many of each kind as the channel makes of a distribution on
    average. The profile of their likelihood says what a survey of that size tells an answer apart from.

    The channels are those of the mechanism by epsilon, its own first; none where there is no such thing. More people
    are the same reports so many times over. For a larger epsilon reports come from the estimate, without chance.
    """
    level, people = answer.level, inference.evidence.total
    now, *longer = [_width(inference, weights, level, times) for times in (1, 2, 10)]
    source = np.maximum(inference.distribution, 0.0)
    source = source / source.sum()
    regions = [expected_region(one, source, people) for one in channels.values()]
    low, high = np.array([one.ends(weights, allowed_fall(level)) for one in regions]).reshape(-1, 2).T
    ratios = (high - low) / (high - low)[:1] if low.size and high[0] > low[0] else np.zeros(0)
    sampling, numbers = min(answer.width, answer.exact_width), [round(times * people) for times in (2, 10)]
    return Prospect(
        question=answer.question,
        width=answer.width,
        sampling=sampling,
        people={number: answer.width * width / now for number, width in zip(numbers, longer, strict=True) if now > 0},
        epsilon=dict(zip(list(channels)[1:], np.maximum(answer.width * ratios[1:], sampling).tolist(), strict=False)),
        reports=round(people),
        is_share=answer.is_share,
    )


def _width(inference: Inference, weights: FloatArray, level: float, people: float) -> float:
    """Return how wide the interval would be with the same reports so many times over."""
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
    """Return the region around a distribution, from the reports of so many people without their chance."""
    evidence = Evidence(channel, people * channel.push(truth))
    return Region(evidence, truth, evidence.log_likelihood(truth), 0.0)

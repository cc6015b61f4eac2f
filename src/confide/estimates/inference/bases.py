"""Bases of an interval: the likelihood of the reports alone, or the bootstrap of the method itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray, Indices
from confide.errors import InvalidParameterError
from confide.estimates.inference.answers import percent
from confide.estimates.inference.region import lowest
from confide.estimates.inference.unbiased import is_unbiased
from confide.evidence.evidence import Evidence
from confide.solve.methods import Method, Solution
from confide.values.checks import check_count

if TYPE_CHECKING:
    from confide.estimates.inference.inference import Inference

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
        from confide.estimates.inference.inference import quantile_ranges

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

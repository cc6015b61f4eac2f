"""What an interval rests on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.channels.base import FloatArray
from confide.checks import check_count
from confide.intervals.replicates import Answer

if TYPE_CHECKING:
    from confide.intervals.inference import Inference

TWICE = 2.0
"""What is taken of the bias of the best explanation; see :class:`Likelihood`."""

FEWEST = 40
"""Replicates below which an error that 95 % do not exceed is little more than the largest of them."""


class Basis(ABC):
    """How ends are found: a frozen value that holds its settings and nothing else."""

    @abstractmethod
    def ends(self, inference: Inference, weights: FloatArray, level: float) -> tuple[float, float]:
        """Return the lower and the upper end for a linear query."""

    @abstractmethod
    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper ends for each value by itself."""

    @abstractmethod
    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """Return the ends for the value below or at which this share of people lies."""

    @abstractmethod
    def explain(self, inference: Inference, level: float) -> str:
        """Say in a sentence what the ends rest on."""


@dataclass(frozen=True)
class Likelihood(Basis):
    """Every answer of a distribution that explains the reports nearly as well as the best one does, and a bit more.

    It assumes nothing of the truth and does not depend on the method. Questions over many values get honest, useful
    intervals; single values under strong noise get honest and very wide ones.

    The bit more is for bias. Where nobody has some of the values, noise still gives the best explanation a little of
    each, never less than nothing, and over many empty values that adds up to more than the likelihood alone allows for.
    So reports are drawn anew from the best explanation, and each end moves out by twice the bias found: twice, because
    that distribution has fewer empty values than the truth, and so less of a bias.

    Parameters
    ----------
    replicates
        How often reports are drawn to measure that bias.
    seed
        What they are drawn with: the same seed gives the same interval.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> answer = cf.estimate(cf.tally(["yes", "no"], counts=[600, 400]), mechanism, cf.MLE())
    >>> print(answer.query("answer == yes", basis=cf.Likelihood()))
    0.7164, between 0.6493 and 0.7815 at 95%
    """

    replicates: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("replicates", self.replicates, FEWEST)
        check_count("seed", self.seed, 0)

    def ends(self, inference: Inference, weights: FloatArray, level: float) -> tuple[float, float]:
        """See :meth:`Basis.ends`."""
        low, high = inference.region.ends(weights, allowed_fall(level))
        too_high = float(weights @ self._excess(inference))
        low, high = low - max(too_high, 0.0), high - min(too_high, 0.0)
        return max(low, float(weights.min())), min(high, float(weights.max()))

    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """See :meth:`Basis.band`."""
        both = np.empty((2, inference.alphabet.size))
        weights = np.zeros(inference.alphabet.size)
        for value in range(inference.alphabet.size):
            weights[value] = 1.0
            both[:, value] = self.ends(inference, weights, level)
            weights[value] = 0.0
        return both[0], both[1]

    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """See :meth:`Basis.quantile_ends`.

        The quantile can be as low as the first value at which the share below can be high enough, and must be no
        higher than the first at which it cannot be too low. Both grow along the line, so halving finds them.
        """
        values, order = np.sort(inference.numbers), np.argsort(inference.numbers, kind="stable")

        def below(place: int) -> FloatArray:
            weights = np.zeros(values.size)
            weights[order[: place + 1]] = 1.0
            return weights

        def can_reach(place: int) -> bool:
            return self.ends(inference, below(place), level)[1] >= share

        def must_reach(place: int) -> bool:
            return self.ends(inference, below(place), level)[0] >= share

        return float(values[_first(can_reach, values.size)]), float(values[_first(must_reach, values.size)])

    def explain(self, inference: Inference, level: float) -> str:
        """See :meth:`Basis.explain`."""
        among = "" if inference.is_whole else ", among the values that were considered"
        return (
            f"the likelihood of the reports alone, whatever the method and the truth: it holds each answer of a "
            f"distribution{among} whose log-likelihood is at most {allowed_fall(level):.2f} below the highest, and "
            f"twice the bias of the highest on {self.replicates:,} replicates (seed {self.seed})"
        )

    def _excess(self, inference: Inference) -> FloatArray:
        """Return twice of how much too high each share of the best explanation is on average."""
        family = inference.best_family(self.replicates, self.seed)
        excess: FloatArray = TWICE * (family.answers.mean(axis=0) - family.source)
        return excess


@dataclass(frozen=True)
class Bootstrap(Basis):
    """What the method would answer to new reports, with its bias counted in.

    Reports are drawn anew from the estimate and from the distribution that explains the reports best, and solved again.
    The interval reaches as far to both sides of the estimate as the larger error of the two. It is much narrower than
    what the likelihood alone allows, and holds as far as the truth is no rougher than the method believes.

    Parameters
    ----------
    replicates
        How often reports are drawn from each of the two.
    seed
        What they are drawn with: the same seed gives the same interval.
    """

    replicates: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("replicates", self.replicates, FEWEST)
        check_count("seed", self.seed, 0)

    def ends(self, inference: Inference, weights: FloatArray, level: float) -> tuple[float, float]:
        """See :meth:`Basis.ends`."""
        now = float(weights @ inference.distribution)
        half = float(self._half_widths(inference, lambda theta: theta @ weights[:, None], level)[0])
        return max(now - half, float(weights.min())), min(now + half, float(weights.max()))

    def band(self, inference: Inference, level: float) -> tuple[FloatArray, FloatArray]:
        """See :meth:`Basis.band`."""
        half = self._half_widths(inference, lambda theta: theta, level)
        return np.maximum(inference.distribution - half, 0.0), np.minimum(inference.distribution + half, 1.0)

    def quantile_ends(self, inference: Inference, share: float, level: float) -> tuple[float, float]:
        """See :meth:`Basis.quantile_ends`."""

        def quantiles(theta: FloatArray) -> FloatArray:
            return np.array([[inference.quantile_of(row, share)] for row in theta])

        half = float(self._half_widths(inference, quantiles, level)[0])
        now, values = inference.quantile_of(inference.distribution, share), inference.numbers
        return max(float(values.min()), now - half), min(float(values.max()), now + half)

    def explain(self, inference: Inference, level: float) -> str:  # noqa: ARG002 (one contract)
        """See :meth:`Basis.explain`."""
        if inference.method.reaches_maximum:
            sources = f"{self.replicates:,} replicates drawn from the estimate"
        else:
            sources = (
                f"{self.replicates:,} replicates drawn from the estimate and as many from the distribution that "
                f"explains the reports best"
            )
        return (
            f"{sources} (seed {self.seed}), each solved again by {inference.method.name}; the larger error counts, "
            f"and it holds as far as the truth is no rougher than the method believes"
        )

    def _half_widths(self, inference: Inference, answer: Answer, level: float) -> FloatArray:
        """Return the larger error of the two sources, one a question."""
        families = inference.families(self.replicates, self.seed)
        widest: FloatArray = np.max([one.half_width(answer, level) for one in families], axis=0)
        return widest


def allowed_fall(level: float) -> float:
    """Return by how many nats the log-likelihood may fall: half the chi-squared quantile with one degree of freedom.

    >>> round(allowed_fall(0.95), 4)
    1.9207
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2) ** 2 / 2


def _first(is_so: Callable[[int], bool], size: int) -> int:
    """Return the first place where something is so that stays so; the last place if it is so nowhere before."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_so(middle) else (middle + 1, high)
    return low

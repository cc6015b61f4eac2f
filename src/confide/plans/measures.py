"""Measures of error that a plan predicts: a distance from the truth, or the half-width of a query."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError
from confide.estimates.estimate import Estimate
from confide.values import Alphabet, UnorderedGeometry
from confide.values.distances import emd, has_emd, total_variation
from confide.values.queries import Query, as_weights, describe_query

TWO_SIDED = 1.959963984540054
"""Standard deviations on either side that hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Prediction:
    """An expected error, and how exactly the simulation knows it.

    Attributes
    ----------
    mean
        The expected error.
    standard_error
        Of the mean, over the repeats.
    repeats
        How often the whole survey was simulated.
    """

    mean: float
    standard_error: float
    repeats: int

    @property
    def margin(self) -> float:
        """The plan's own error: in 95 of 100 plans the true expectation is at most this far away."""
        return student(self.repeats) * self.standard_error

    @property
    def relative(self) -> float:
        """The standard error as a share of the mean."""
        return self.standard_error / self.mean if self.mean > 0 else math.inf

    @property
    def relative_margin(self) -> float:
        """The margin as a share of the mean."""
        return self.margin / self.mean if self.mean > 0 else math.inf


@dataclass(frozen=True)
class WidthPrediction(Prediction):
    """An expected width, which is the root of a mean of squares: its error is not Student's.

    Squares of few repeats are seldom large, so that a width which came out small looks surer than it is. By Student's
    margin alone the truth would be held in 87 of 100 plans at 4 repeats, and in 91 at 24.

    Attributes
    ----------
    degrees
        Of the chi-squared distribution that the mean square has, times a constant: as many as repeats where errors
        scatter around zero, and more where a bias outweighs the scatter.
    """

    degrees: float

    @property
    def margin(self) -> float:
        """See :attr:`Prediction.margin`; the larger of Student's and the upper side of chi-squared."""
        from scipy.special import gammaincinv

        if not math.isfinite(self.degrees):
            return super().margin
        small = 2 * float(gammaincinv(self.degrees / 2, 0.025))
        return max(super().margin, self.mean * (math.sqrt(self.degrees / small) - 1))


def student(repeats: int) -> float:
    """Return how many standard errors on either side hold 95 %, where the error is known from so many repeats.

    >>> round(student(4), 3), round(student(24), 3)
    (3.182, 2.069)
    """
    from scipy.special import stdtrit

    return float(stdtrit(repeats - 1, 0.975))


class Measure(ABC):
    """One number an estimate is judged by, and how numbers of many repeats become an expectation."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the measure in a sentence."""

    @property
    def unit(self) -> str:
        """Unit of the measure; empty for a share."""
        return ""

    @abstractmethod
    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        """Return the error of one estimate."""

    def summarise(self, errors: FloatArray) -> Prediction:
        """Return the expected error: the mean over repeats."""
        return Prediction(float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(errors.size)), errors.size)


@dataclass(frozen=True)
class Distance(Measure):
    """The earth mover's distance or, where there is none, the total variation; on categories the two are the same."""

    alphabet: Alphabet

    @property
    def name(self) -> str:
        has_space = has_emd(self.alphabet) and not isinstance(self.alphabet.geometry, UnorderedGeometry)
        return "EMD" if has_space else "total variation"

    @property
    def unit(self) -> str:
        return self.alphabet.unit if has_emd(self.alphabet) else ""

    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        if not estimate.is_distribution:
            raise InvalidParameterError(
                f"{estimate.method!r} leaves negative shares, which have no distance from a distribution. Plan with "
                f"another method, or for a query."
            )
        if not has_emd(self.alphabet):
            return total_variation(estimate.distribution, truth)
        return emd(estimate.distribution, truth, self.alphabet)


@dataclass(frozen=True, eq=False)
class QueryWidth(Measure):
    """The half-width that holds a query's estimate in 95 of 100 surveys: 1.96 times its root mean square error.

    Measured from the truth and not from the mean estimate, so that the bias of a regularised method counts as well.
    """

    query: str
    weights: FloatArray

    @classmethod
    def of(cls, query: Query, alphabet: Alphabet, name: str | None = None) -> QueryWidth:
        """Return the measure of a query on an alphabet."""
        return cls(describe_query(query), as_weights(query, alphabet, name))

    @property
    def name(self) -> str:
        return f"95% half-width of {self.query}"

    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        """See :meth:`Measure.judge`; with its sign."""
        return float(self.weights @ (estimate.distribution - truth))

    def summarise(self, errors: FloatArray) -> Prediction:
        """See :meth:`Measure.summarise`; the standard error is that of a root, by its slope."""
        squares = errors**2
        root = math.sqrt(float(squares.mean()))
        spread = float(squares.std(ddof=1)) / math.sqrt(errors.size) / (2 * root) if root > 0 else 0.0
        return WidthPrediction(TWO_SIDED * root, TWO_SIDED * spread, errors.size, _degrees(errors))


def _degrees(errors: FloatArray) -> float:
    """Return the degrees of freedom by which chi-squared has the mean and the variance of normal errors' squares."""
    scatter = float(errors.var(ddof=1))
    bias = max(0.0, float(errors.mean()) ** 2 - scatter / errors.size)
    variance = scatter**2 + 2 * bias * scatter
    return errors.size * (bias + scatter) ** 2 / variance if variance > 0 else math.inf


def choose_measure(alphabet: Alphabet, query: Query | None, name: str | None = None) -> Measure:
    """Return the width of a query if there is one, else the distance on the alphabet."""
    return Distance(alphabet) if query is None else QueryWidth.of(query, alphabet, name)


def ignorance(measure: Measure, truth: FloatArray) -> float | None:
    """Return the distance of the uniform distribution from the truth: what is reached without a single report."""
    if not isinstance(measure, Distance):
        return None
    uniform = np.full(truth.size, 1 / truth.size)
    if not has_emd(measure.alphabet):
        return total_variation(uniform, truth)
    return emd(uniform, truth, measure.alphabet)

"""Guarantees: a mechanism's promise to a person, as bounds on log-ratios.

>>> print(MetricPrivacy(0.05, Euclidean(), unit="year"))
metric privacy, 0.05 per year: any report is at most e^(0.05 x distance) times as likely under one value as another
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.values import Alphabet, as_value
from confide.values.checks import check_count, check_positive, is_number
from confide.values.metrics import FLOAT_ERROR, Bracket, Euclidean, Metric, Value, cut
from confide.values.wording import all_of, listed, rate_per_unit


class Guarantee(ABC):
    """A bound on how well any report can distinguish two values."""

    @abstractmethod
    def bound(self, left: Value, right: Value) -> float:
        """Return the largest log-ratio of any report between two values."""

    @abstractmethod
    def bounds(self, alphabet: Alphabet) -> NDArray[np.float64]:
        """Return :meth:`bound` for all pairs of an alphabet, as a matrix."""

    def bracket(self, alphabet: Alphabet, left: int, right: int, precision: int) -> Bracket:  # noqa: ARG002
        """Return fractions around the exact bound for two value numbers.

        More bits of `precision` give a narrower bracket. The default trusts :meth:`bound` to the rounding of a few
        float64 operations.

        >>> from confide import Integers
        >>> LocalDP(0.5).bracket(Integers(0, 9), 3, 4, 64)
        (Fraction(1, 2), Fraction(1, 2))
        """
        one, other = (as_value(value) for value in alphabet.decode([left, right]).tolist())
        near = Fraction(self.bound(one, other))
        return near * (1 - FLOAT_ERROR), near * (1 + FLOAT_ERROR)

    @property
    def terms(self) -> str:
        """The promise in a few words, for use in a sentence.

        >>> MetricPrivacy(0.05, unit="year").terms
        '0.05 per year'
        """
        return str(self).partition(":")[0]

    def times(self, reports: int) -> Guarantee:
        """Return the promise for several reports of one person, with fresh noise.

        Reports are independent given the value, so probabilities multiply and bounds on log-ratios add. The result is
        `reports` times the bound of one report. It cannot be less: every report may be the most revealing one.

        >>> print(MetricPrivacy(0.05, unit="year").times(30).terms)
        1.5 per year
        """
        check_count("reports", reports, 1)
        return self if reports == 1 else self._times(reports)

    def _times(self, reports: int) -> Guarantee:
        raise NotImplementedError(f"{type(self).__name__} must define _times(reports): the promise of several reports.")

    def factor(self, left: Value, right: Value) -> float:
        """Return the largest ratio of a report's probability under two values.

        >>> round(MetricPrivacy(0.05, Euclidean()).factor(30, 35), 2)
        1.28
        """
        bound = self.bound(left, right)
        # float64 overflows at e^709.
        return math.exp(bound) if bound < 700 else math.inf


class EpsilonGuarantee(Guarantee):
    """A promise proportional to one epsilon."""

    epsilon: float

    def _times(self, reports: int) -> Guarantee:
        product = self.epsilon * reports
        # Rounding a promise down would break it.
        is_short = math.isfinite(product) and Fraction(product) < Fraction(self.epsilon) * reports
        more: Guarantee = replace(self, epsilon=math.nextafter(product, math.inf) if is_short else product)  # type: ignore[type-var]
        return more


@dataclass(frozen=True)
class LocalDP(EpsilonGuarantee):
    """Local differential privacy: one bound for all pairs of values.

    >>> print(LocalDP(2.0))
    local differential privacy, epsilon 2: any report is at most 7.39 times as likely under one value as another
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not is_number(self.epsilon) or self.epsilon not in (0, math.inf):
            check_positive("epsilon", self.epsilon)

    def bound(self, left: Value, right: Value) -> float:
        return 0.0 if left == right else self.epsilon

    def bounds(self, alphabet: Alphabet) -> NDArray[np.float64]:
        alphabet.require_pairs()
        return np.where(np.eye(alphabet.size, dtype=bool), 0.0, self.epsilon)

    def bracket(self, alphabet: Alphabet, left: int, right: int, precision: int) -> Bracket:  # noqa: ARG002
        exact = Fraction(0) if left == right else Fraction(self.epsilon)
        return exact, exact

    @property
    def terms(self) -> str:
        return "no local differential privacy" if math.isinf(self.epsilon) else f"epsilon {self.epsilon:.4g}"

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "no local differential privacy: some reports rule some values out altogether"
        factor = f"{math.exp(self.epsilon):.3g}" if self.epsilon < 700 else f"e^{self.epsilon:.4g}"
        return (
            f"local differential privacy, epsilon {self.epsilon:.4g}: any report is at most "
            f"{factor} times as likely under one value as another"
        )


@dataclass(frozen=True)
class MetricPrivacy(EpsilonGuarantee):
    """Metric privacy (d-privacy): the bound grows with the distance between the values.

    >>> MetricPrivacy(0.05).bound(30, 40)
    0.5
    >>> print(MetricPrivacy(0.00003, unit="dollar").terms)
    0.3 per 10,000 dollars
    """

    epsilon: float
    metric: Metric = field(default_factory=Euclidean)
    unit: str = ""

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def bound(self, left: Value, right: Value) -> float:
        return self.epsilon * self.metric.distance(left, right)

    def bounds(self, alphabet: Alphabet) -> NDArray[np.float64]:
        alphabet.require_pairs()
        points = alphabet.coordinates
        return self.epsilon * self.metric.between(points[:, None, :], points[None, :, :])

    def bracket(self, alphabet: Alphabet, left: int, right: int, precision: int) -> Bracket:
        one, other = alphabet.points([left, right]).tolist()
        low, high = self.metric.bracket(one, other, precision)
        return Fraction(self.epsilon) * low, Fraction(self.epsilon) * high

    @property
    def terms(self) -> str:
        return rate_per_unit(self.epsilon, self.unit)

    def __str__(self) -> str:
        rate = np.format_float_positional(self.epsilon, precision=4, fractional=False, trim="-")  # never 3e-05
        return (
            f"metric privacy, {self.terms}: any report is at most "
            f"e^({rate} x distance) times as likely under one value as another"
        )


@dataclass(frozen=True)
class ProductGuarantee(Guarantee):
    """Promise for attributes with independent noise: their bounds add.

    Attributes
    ----------
    names
        The attributes.
    parts
        The promise for each attribute.
    widths
        Number of components of each attribute's value: 2 for a cell.

    >>> ProductGuarantee(("sex", "age"), (LocalDP(1.0), MetricPrivacy(0.5)), (1, 1)).bound(("f", 3), ("m", 5))
    2.0
    """

    names: tuple[str, ...]
    parts: tuple[Guarantee, ...]
    widths: tuple[int, ...]

    def bound(self, left: Value, right: Value) -> float:
        ends = zip(self.parts, cut(left, self.widths), cut(right, self.widths), strict=True)
        return sum(part.bound(one, other) for part, one, other in ends)

    def bounds(self, alphabet: Alphabet) -> NDArray[np.float64]:
        if alphabet.attributes is None:
            raise InvalidParameterError(f"A promise for attributes needs an alphabet of them; got {alphabet!r}.")
        alphabet.require_pairs()
        total = np.zeros((1, 1))
        for part, own in zip(self.parts, alphabet.attributes.alphabets, strict=True):
            each = total[:, None, :, None] + part.bounds(own)[None, :, None, :]
            total = each.reshape(total.shape[0] * own.size, -1)
        return total

    def bracket(self, alphabet: Alphabet, left: int, right: int, precision: int) -> Bracket:
        if alphabet.attributes is None:
            return super().bracket(alphabet, left, right, precision)
        whole = alphabet.attributes
        ends = zip(self.parts, whole.alphabets, whole.split(left), whole.split(right), strict=True)
        each = [part.bracket(own, one, other, precision) for part, own, one, other in ends]
        return sum((low for low, _ in each), Fraction(0)), sum((high for _, high in each), Fraction(0))

    @property
    def together(self) -> LocalDP | None:
        """Promise for all attributes together, if each has local differential privacy.

        `None` if the promise of some attribute depends on distance.

        >>> ProductGuarantee(("sex", "vote"), (LocalDP(1.0), LocalDP(0.5)), (1, 1)).together
        LocalDP(epsilon=1.5)
        """
        epsilons = [part.epsilon for part in self.parts if isinstance(part, LocalDP)]
        if len(epsilons) < len(self.parts):
            return None
        if math.inf in epsilons:
            return LocalDP(math.inf)
        exact = sum(map(Fraction, epsilons), Fraction(0))
        near = float(exact)  # rounding a promise down would break it
        return LocalDP(near if near >= exact else math.nextafter(near, math.inf))

    @property
    def terms(self) -> str:
        each = listed([f"{part.terms} for {name}" for name, part in zip(self.names, self.parts, strict=True)])
        return each if self.together is None else f"{each}, together {self.together.terms}"

    def _times(self, reports: int) -> ProductGuarantee:
        return replace(self, parts=tuple(part.times(reports) for part in self.parts))

    def __str__(self) -> str:
        each = "; ".join(f"for {name} {part}" for name, part in zip(self.names, self.parts, strict=True))
        whole = "the factors multiply" if self.together is None else str(self.together)
        return f"{each}; for {all_of(len(self.parts))} together {whole}"


def check_epsilon(epsilon: object, step: float = 1.0) -> None:
    """Reject a nonpositive epsilon, or an absurd one for a spacing `step`.

    >>> check_epsilon(0.05)
    """
    check_positive("epsilon", epsilon)
    log_ratio = float(epsilon) * step  # type: ignore[arg-type]
    # A factor of e^100 between neighbours protects nobody: a larger epsilon is surely a slip. Below 1e-9 all people on
    # Earth would be too few.
    smallest, largest = 1e-9, 100.0
    if not smallest <= log_ratio <= largest:
        raise InvalidParameterError(
            f"epsilon={epsilon!r} bounds the log-ratio between neighbouring values by {log_ratio:.3g}, which is "
            f"{'no protection' if log_ratio > 1 else 'pure noise'}. Useful values lie between "
            f"{smallest / step:.3g} and {largest / step:.3g}; typical ones below {10 / step:.3g}."
        )

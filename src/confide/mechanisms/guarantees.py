"""Guarantees: a mechanism's promise to a person, and exact checks of it.

>>> print(MetricPrivacy(0.05, Euclidean(), unit="year"))
metric privacy, 0.05 per year: any report is at most e^(0.05 x distance) times as likely under one value as another

A check compares ratios of integer weights with e^bound for every pair of values. Float64 settles the pairs that are far
from their bound; integers of any size decide the rest. So it finds a promise exceeded by one part in 10^20, and does
not doubt one that is kept by as little.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.mechanisms.sampling import exponential_bounds, log_of, power_bounds
from confide.mechanisms.shuffling import Shuffled, shuffle_promise
from confide.values import Alphabet, as_value
from confide.values.checks import check_count, check_positive, is_number
from confide.values.metrics import FLOAT_ERROR, Bracket, Euclidean, Manhattan, Metric, Uneven, Value, cut
from confide.values.wording import all_of, listed, rate_per_unit

FloatArray = NDArray[np.float64]


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

    def shuffled(self, people: int, delta: float) -> Shuffled:
        """Bound the central epsilon if nobody knows which report is whose.

        It holds for every mechanism with this promise, and takes trust in whoever shuffles the reports.
        :meth:`Mechanism.shuffled` knows the mechanism, and is sharper.

        >>> LocalDP(1.0).shuffled(10_000, delta=1e-6).upper < 0.09
        True
        """
        return shuffle_promise(people, delta, self.epsilon, self.epsilon)

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
    """Metric privacy (d-privacy): the bound grows with distance.

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

    def shuffled(self, people: int, delta: float, *, distance: float, widest: float) -> Shuffled:
        """Bound the central epsilon if nobody knows which report is whose.

        Parameters
        ----------
        people, delta
            How many people send one report each, and the failure probability of the central promise.
        distance
            Distance of the two values that are compared.
        widest
            The largest distance of any two values: far values hide each other's reports less.

        Examples
        --------
        >>> ages = MetricPrivacy(0.05)
        >>> ages.shuffled(100_000, 1e-6, distance=1, widest=99).upper < 0.02
        True
        """
        check_positive("distance", distance)
        if not distance <= widest:
            raise InvalidParameterError(f"distance must be at most widest; got {distance!r} and {widest!r}.")
        return shuffle_promise(people, delta, self.epsilon * distance, self.epsilon * widest)

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

    Examples
    --------
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


UNIT = 2.0**-53
"""Rounding of one float64 operation."""

GIVEN_AS_FLOATS = 1e-10, 1e-14
"""Relative and absolute tolerance for matrices given as float64.

Their entries were rounded before confide could check them. Everything else gets no tolerance.
"""

MOST_BITS = 4096
"""Most bits of a comparison; brackets of bounds known as float64 stop shrinking long before."""


@dataclass(frozen=True)
class WorstRatio:
    """The pair that an output distinguishes best, relative to its bound.

    Attributes
    ----------
    left, right, output
        Numbers of the two values and of the output, which is likelier under `left`.
    log_ratio, bound
        Measured and promised log-ratio, rounded to float64.
    exceeds
        Whether the promise is broken, decided in exact arithmetic.
    excess
        If it is broken, log_ratio - bound before rounding; it may be far below float64's resolution.
    is_measured
        Whether pair, output and log-ratio were computed. If not, a theorem says that no ratio exceeds the bound.
    """

    left: int
    right: int
    output: int
    log_ratio: float
    bound: float
    exceeds: bool = False
    excess: float = 0.0
    is_measured: bool = True

    @property
    def relative(self) -> float:
        """The log-ratio divided by the bound: 1 if the promise is tight."""
        if math.isinf(self.bound) or self.log_ratio <= 0:
            return 0.0
        return self.log_ratio / self.bound if self.bound > 0 else math.inf


NOTHING = WorstRatio(0, 0, 0, 0.0, 0.0)
"""The worst ratio over no pairs."""


def worst_ratio(matrix: FloatArray, bounds: FloatArray) -> WorstRatio:
    """Find the worst pair of a float64 matrix, with tolerance for rounding.

    >>> round(worst_ratio(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[0.0, 1.0], [1.0, 0.0]])).relative, 4)
    1.0986
    """
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    relative, absolute = GIVEN_AS_FLOATS
    found = [
        _worst_of(left, _differences(logs[left + 1 :], logs[left]), bounds[left, left + 1 :])
        for left in range(logs.shape[0] - 1)
    ]
    worst = max(found, key=lambda one: one.relative, default=NOTHING)
    exceeds = worst.log_ratio > worst.bound * (1 + relative) + absolute
    return replace(worst, exceeds=exceeds, excess=worst.log_ratio - worst.bound if exceeds else 0.0)


def worst_of_rows(
    rows: Iterable[Sequence[int]], alphabet: Alphabet, guarantee: Guarantee, *, given_as_floats: bool = False
) -> WorstRatio:
    """Find the worst pair of rows of integer weights, exactly.

    There is one row per value. All pairs and all outputs are compared.

    >>> from confide import Integers
    >>> [worst_of_rows([[3, 1], [1, 3]], Integers(0, 1), LocalDP(epsilon)).exceeds for epsilon in (1.0986, 1.0987)]
    [True, False]
    """
    table = _Table.of(rows)
    judge = _Judge(table, alphabet, guarantee, given_as_floats)
    if isinstance(guarantee, LocalDP):
        worst = _worst_by_column(table, guarantee.epsilon, judge)
    else:
        # All pairs, one left value at a time, so that memory stays at one matrix.
        bounds = guarantee.bounds(alphabet)
        found = [NOTHING]
        for left in range(table.logs.shape[0] - 1):
            ratios = _differences(table.logs[left + 1 :], table.logs[left])
            others = bounds[left, left + 1 :]
            doubtful = np.abs(ratios) > (others - table.slack(others))[:, None]
            doubtful &= _is_own_pair(alphabet, guarantee, left)[:, None]
            broken = _find_broken(left, ratios, others, doubtful, judge)
            found.append(broken or _worst_of(left, ratios, others))
        # A broken promise ranks before any kept one.
        worst = max(found, key=lambda one: (one.exceeds, one.relative))
    return judge.measure(worst)


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows of weights that store each distinct probability once.

    Structured mechanisms have few distinct probabilities.
    """

    fractions: list[tuple[int, int]]
    numbers: NDArray[np.int64]
    logs: FloatArray
    error: float

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> _Table:
        known: dict[tuple[int, int], int] = {}
        numbers: list[list[int]] = []
        for row in rows:
            total = sum(row)
            if total <= 0 or min(row) < 0:
                raise InvalidParameterError(f"Row {len(numbers)} has weights that are negative, or none above 0.")
            numbers.append([known.setdefault((weight, total), len(known)) for weight in row])
        fractions = list(known)
        # Logarithms, and bounds on their errors. Python divides integers of any size exactly and rounds once; quotients
        # too small for float64 are subtracted as logarithms.
        measured: list[tuple[float, float]] = []
        for weight, total in fractions:
            if weight == 0:
                measured.append((-math.inf, 0.0))
            elif weight / total > 1e-290:
                log = math.log(weight / total)
                measured.append((log, 4 * UNIT * (1 - log)))
            else:
                log, whole = math.log(weight), math.log(total)
                measured.append((log - whole, 4 * UNIT * (abs(log) + abs(whole))))
        logs, errors = (np.array(part) for part in zip(*measured, strict=True))
        places = np.array(numbers, dtype=np.int64)
        return cls(fractions, places, logs[places], float(errors.max()))

    def slack(self, bounds: FloatArray | float) -> FloatArray | float:
        """Return the rounding error of a log-ratio and of its bound."""
        return 2 * self.error + 16 * UNIT * bounds


@dataclass(frozen=True, eq=False)
class _Judge:
    """Decide in integers whether a ratio exceeds its promise."""

    table: _Table
    alphabet: Alphabet
    guarantee: Guarantee
    given_as_floats: bool
    settled: dict[tuple[int, int, float], bool] = field(default_factory=dict)
    """Decisions by the numbers of both probabilities and the bound: many entries repeat."""

    def exceeds(self, left: int, right: int, output: int, bound: float) -> bool:
        """Whether an output is likelier under `left` by more than e^bound."""
        key = int(self.table.numbers[left, output]), int(self.table.numbers[right, output]), bound
        if key not in self.settled:
            numerator, denominator = self.quotient(left, right, output)
            self.settled[key] = ratio_exceeds(numerator, denominator, lambda bits: self.bracket(left, right, bits))
        return self.settled[key]

    def quotient(self, left: int, right: int, output: int) -> tuple[int, int]:
        """Return the ratio of two probabilities as integers."""
        weight, total = self.table.fractions[self.table.numbers[left, output]]
        smaller, whole = self.table.fractions[self.table.numbers[right, output]]
        return weight * whole, smaller * total

    def bracket(self, left: int, right: int, precision: int) -> Bracket:
        """Return fractions around a pair's bound, with the tolerance for floats."""
        low, high = self.guarantee.bracket(self.alphabet, left, right, precision)
        if not self.given_as_floats:
            return low, high
        relative, absolute = (Fraction(part) for part in GIVEN_AS_FLOATS)
        return low * (1 + relative) + absolute, high * (1 + relative) + absolute

    def measure(self, worst: WorstRatio) -> WorstRatio:
        """Return the ratio with its logarithm and excess computed from integers."""
        numerator, denominator = self.quotient(worst.left, worst.right, worst.output)
        log_ratio = worst.log_ratio
        if 0 < numerator <= 2 * denominator:  # near 1 a difference of logarithms loses digits
            log_ratio = math.log1p((numerator - denominator) / denominator)
        if not worst.exceeds or denominator == 0:
            return replace(worst, log_ratio=log_ratio, excess=math.inf if worst.exceeds else 0.0)
        high = self.guarantee.bracket(self.alphabet, worst.left, worst.right, MOST_BITS)[1]
        scale = MOST_BITS // 4 + math.ceil(high * 3 / 2)
        excess = numerator * _exponential(high, scale)[0] - (denominator << scale)
        return replace(worst, log_ratio=log_ratio, excess=math.log1p(excess / (denominator << scale)))


def ratio_exceeds(numerator: int, denominator: int, bracket: Callable[[int], Bracket]) -> bool:
    """Decide numerator / denominator > e^bound exactly.

    `bracket` returns fractions around the bound for a number of bits. e^bound is irrational unless the bound is 0, so a
    comparison with enough bits always ends. If the bound itself has limited accuracy, a ratio within its bracket does
    not exceed it.

    >>> ratio_exceeds(3, 1, lambda _: (Fraction(1), Fraction(1))), ratio_exceeds(5, 5, lambda _: (Fraction(0),) * 2)
    (True, False)
    """
    if numerator == 0 or denominator == 0:
        return numerator > 0
    if bracket(128)[1] == 0:
        return numerator > denominator

    def inverse(scale: int) -> tuple[int, int]:
        # Compared with integers, a quotient and its whole part decide alike.
        whole = (denominator << scale) // numerator
        return whole, whole

    return _is_exceeded(inverse, bracket)


def power_exceeds(ratio: Fraction, steps: int, bracket: Callable[[int], Bracket]) -> bool:
    """Decide ratio^-steps > e^bound exactly, for a ratio below 1.

    It never computes the whole power.

    >>> power_exceeds(Fraction(1, 2), 3, lambda _: (Fraction(2), Fraction(2)))
    True
    """
    return _is_exceeded(lambda scale: power_bounds(ratio, steps, scale), bracket)


def _is_exceeded(inverse: Callable[[int], tuple[int, int]], bracket: Callable[[int], Bracket]) -> bool:
    """Decide ratio > e^bound, by integers around 2^scale / ratio."""
    precision, width = 128, None
    while True:
        low, high = bracket(precision)
        scale = precision + math.ceil(high * 3 / 2)  # log2(e) < 3/2: e^-bound keeps `precision` bits
        least, most = inverse(scale)
        if least >= _exponential(low, scale)[1]:
            return False
        if most < _exponential(high, scale)[0]:
            return True
        # A bracket that no longer shrinks is all that is known of the bound.
        if precision >= MOST_BITS or (width is not None and width == high - low > 0):
            return False
        precision, width = 2 * precision, high - low


def epsilon_above(ratio: Fraction) -> float:
    """Return log(ratio), for a ratio above 1, rounded up exactly.

    It is the smallest float64 epsilon with e^epsilon >= ratio.

    >>> epsilon_above(Fraction(3)) >= math.log(3), epsilon_above(Fraction(3)) < math.log(3) + 1e-15
    (True, True)
    """
    epsilon = -log_of(1 / ratio)  # approximate: the machine's logarithm decides which float64 it is
    while not _is_below(epsilon, ratio):
        epsilon = math.nextafter(epsilon, 0.0)
    while _is_below(epsilon, ratio):
        epsilon = math.nextafter(epsilon, math.inf)
    return epsilon


def _is_below(epsilon: float, ratio: Fraction) -> bool:
    """Whether e^epsilon is below a ratio."""
    exact = Fraction(epsilon)
    return ratio_exceeds(ratio.numerator, ratio.denominator, lambda _: (exact, exact))


_exponential = lru_cache(maxsize=4096)(exponential_bounds)


def _worst_by_column(table: _Table, epsilon: float, judge: _Judge) -> WorstRatio:
    """Compare the extremes of each column; all pairs share one bound."""
    logs = table.logs
    if logs.shape[0] < 2:
        return NOTHING
    ratios = _differences(logs.max(axis=0), logs.min(axis=0))
    output = int(np.argmax(ratios))
    exceeds = False
    for column in np.flatnonzero(ratios > epsilon - table.slack(epsilon)) if math.isfinite(epsilon) else ():
        pair = _exceeding_pair(table, int(column), epsilon, judge)
        if pair is not None and (not exceeds or ratios[column] > ratios[output]):
            output, exceeds = int(column), True
    left, right = int(np.argmax(logs[:, output])), int(np.argmin(logs[:, output]))
    if exceeds:
        left, right = _exceeding_pair(table, output, epsilon, judge) or (left, right)
    return WorstRatio(left, right, output, float(ratios[output]), epsilon, exceeds)


def _exceeding_pair(table: _Table, column: int, epsilon: float, judge: _Judge) -> tuple[int, int] | None:
    """Return a pair in a column that exceeds epsilon, or `None`.

    It tries all values within rounding of the column's extremes.
    """
    logs, numbers, slack = table.logs[:, column], table.numbers[:, column], 2 * table.error
    tops = np.flatnonzero(logs >= logs.max() - slack) if np.isfinite(logs.max()) else np.array([], dtype=np.int64)
    bottoms = np.flatnonzero(logs <= logs.min() + slack)
    for left in tops[np.unique(numbers[tops], return_index=True)[1]].tolist():
        for right in bottoms[np.unique(numbers[bottoms], return_index=True)[1]].tolist():
            if left != right and judge.exceeds(left, right, column, epsilon):
                return left, right
    return None


def _worst_of(left: int, ratios: FloatArray, bounds: FloatArray) -> WorstRatio:
    """Return the worst pair of one value with the values after it.

    Swapping the pair only changes the sign of its log-ratio.
    """
    largest, smallest = ratios.max(axis=1), ratios.min(axis=1)
    sizes = np.maximum(largest, -smallest)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(sizes > 0, sizes / bounds, 0.0)
    place = int(np.argmax(np.nan_to_num(relative, nan=0.0, posinf=np.inf)))
    output = int(np.argmax(np.abs(ratios[place])))
    pair = (left + 1 + place, left) if ratios[place, output] > 0 else (left, left + 1 + place)
    return WorstRatio(*pair, output, float(sizes[place]), float(bounds[place]))


def _find_broken(
    left: int, ratios: FloatArray, bounds: FloatArray, doubtful: NDArray[np.bool_], judge: _Judge
) -> WorstRatio | None:
    """Decide doubtful ratios in integers; return the worst broken pair, or `None`."""
    found = None
    places, outputs = np.nonzero(doubtful)
    for place, output in zip(places.tolist(), outputs.tolist(), strict=True):
        right, bound = left + 1 + place, float(bounds[place])
        one, other = (right, left) if ratios[place, output] > 0 else (left, right)
        ratio = float(abs(ratios[place, output]))
        is_worse = found is None or ratio * found.bound > found.log_ratio * bound
        if judge.exceeds(one, other, output, bound) and is_worse:
            found = WorstRatio(one, other, output, ratio, bound, exceeds=True)
    return found


def _is_own_pair(alphabet: Alphabet, guarantee: Guarantee, left: int) -> NDArray[np.bool_]:
    """Mark the values after `left` whose pair does not follow from others.

    On a lattice the straight line from x to y may pass through a third value m. Then bounds add exactly:
    d(x, y) = d(x, m) + d(m, y). If no ratio exceeds its bound from x to m and from m to y, none does from x to y. So
    neighbours suffice on a line, and on a plane the pairs with no cell between them.
    """
    count = alphabet.size - left - 1
    if isinstance(guarantee, MetricPrivacy) and isinstance(guarantee.metric, Uneven):
        next_one: NDArray[np.bool_] = np.arange(count) == 0  # along a line, for any gaps
        return next_one
    is_lattice = alphabet.geometry.dimensions > 0 and isinstance(guarantee, MetricPrivacy)
    if not is_lattice or not isinstance(guarantee.metric, Euclidean | Manhattan):  # type: ignore[attr-defined]
        return np.ones(count, dtype=bool)
    values = alphabet.decode(np.arange(left, alphabet.size)).astype(np.int64).reshape(count + 1, -1)
    steps = values[1:] - values[0]
    parts = np.gcd.reduce(np.abs(steps), axis=1)
    between = values[0] + steps // parts[:, None]
    is_value = alphabet.contains(between[:, 0] if alphabet.parts == 1 else between)
    own: NDArray[np.bool_] = (parts == 1) | ~is_value
    return own


def _differences(left: FloatArray, right: FloatArray) -> FloatArray:
    """Subtract logarithms; two impossible outputs have log-ratio 0."""
    if not np.isneginf(right).any():
        plain: FloatArray = left - right
        return plain
    with np.errstate(invalid="ignore"):
        difference: FloatArray = np.nan_to_num(left - right, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return difference

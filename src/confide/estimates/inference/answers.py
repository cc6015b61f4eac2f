"""Answers with confidence intervals, for one question or every value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from confide.channels.base import FloatArray
from confide.values import Alphabet
from confide.values.checks import read_only
from confide.values.metrics import Value
from confide.values.wording import Shown, listed


@dataclass(frozen=True)
class Parts:
    """Two sources of an interval's width, as shares of it.

    Attributes
    ----------
    sampling
        From the limited number of people: the width with true values, as a share of the width with noise.
    privacy
        From the noise: the rest.
    """

    sampling: float
    privacy: float

    def __str__(self) -> str:
        rounded = round(100 * self.sampling)  # round once, so that both parts add up to 100
        return f"sampling {rounded}%, privacy {100 - rounded}%"


@dataclass(frozen=True)
class Interval(Shown):
    """The answer to one question, with its confidence interval.

    It unpacks into its ends: ``low, high = estimate.query("age >= 65")``.

    Attributes
    ----------
    question
        The question in words.
    estimate
        The answer that the estimated distribution gives.
    low, high
        The ends.
    level
        The coverage: the share of repeated surveys whose interval covers the truth.
    rests_on
        How the interval was computed, in a sentence.
    undetermined
        The lowest and the highest answer over all maximum-likelihood estimates, if these differ. The interval always
        includes them. None if there is one such answer, or if the problem was too large to decide.
    is_share
        Whether the answer is a share of people, and not a value or a weighted sum.
    together
        Number of answers that share a simultaneous level; 1 for a single answer.
    labels
        Labels of the answer and its ends, if the answer is a value with a label; empty otherwise.
    remark
        A note on the question: for an area, how many cells count and how many its border cuts.
    exact_width
        Width of the interval if the same people had sent their true values; NaN if that is not known.

    Examples
    --------
    >>> answer = Interval("age >= 65", 0.12, 0.1, 0.15, 0.95, "", exact_width=0.004)
    >>> low, high = answer
    >>> print(low, high, answer.parts)
    0.1 0.15 sampling 8%, privacy 92%
    """

    question: str
    estimate: float
    low: float
    high: float
    level: float
    rests_on: str
    undetermined: tuple[float, float] | None = None
    is_share: bool = True
    together: int = 1
    labels: tuple[str, ...] = ()
    remark: str = ""
    exact_width: float = math.nan

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low

    @property
    def parts(self) -> Parts | None:
        """Shares of the width due to sampling and to privacy noise.

        `None` if the interval has no width, or if :attr:`exact_width` is not known. If sampling is 100%, noise adds
        nothing, or a declared shape narrows the interval by more than the noise widens it.

        >>> print(Interval("age >= 65", 0.12, 0.1, 0.15, 0.95, "", exact_width=0.004).parts)
        sampling 8%, privacy 92%
        """
        # Where nothing is uncertain, the ends differ by roundings at most, and those differ between machines.
        if math.isnan(self.exact_width) or math.isclose(self.low, self.high, rel_tol=1e-9, abs_tol=1e-12):
            return None
        sampling = min(1.0, self.exact_width / self.width)
        return Parts(sampling, 1.0 - sampling)

    def contains(self, answer: float) -> bool:
        """Whether the closed interval contains an answer."""
        return self.low <= answer <= self.high

    def hull(self, others: Sequence[Interval], remark: str) -> Interval:
        """Widen the interval to include those of others.

        The remark on them is added to :attr:`rests_on`.
        """
        lowest, highest = min((self, *others), key=lambda one: one.low), max((self, *others), key=lambda one: one.high)
        labels = (self.labels[0], lowest.labels[1], highest.labels[2]) if self.labels else ()
        words = f"{self.rests_on}; {remark}"
        return replace(self, low=lowest.low, high=highest.high, rests_on=words, labels=labels)

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        now, low, high = self.texts()
        return f"{now}, between {low} and {high} at {self.shown_level}"

    def texts(self, decimals: int | None = None) -> tuple[str, str, str]:
        """Return answer, low and high end as formatted text.

        These are labels, shares in percent, or numbers.

        >>> Interval("age >= 65", 0.1234, 0.1, 0.15, 0.95, "").texts(1)
        ('12.3%', '10.0%', '15.0%')
        """
        if self.labels:
            now, low, high = self.labels
            return now, low, high
        form = ".4g" if decimals is None or not self.is_share else f".{decimals}%"
        return f"{self.estimate:{form}}", f"{self.low:{form}}", f"{self.high:{form}}"

    @property
    def shown_level(self) -> str:
        """The level in words, with the number of simultaneous answers.

        >>> Interval("x", 0.1, 0.0, 0.2, 0.95, "", together=3).shown_level
        '95% for all 3 together'
        """
        return percent(self.level) + (f" for all {self.together:,} together" if self.together > 1 else "")

    def among(self, together: int, level: float) -> Interval:
        """Mark this answer as one of several with a simultaneous level.

        Each was computed at :func:`level_of_each`.
        """
        words = (
            f"; each of {together:,} has {percent(self.level)} confidence, so that all together have {percent(level)}"
        )
        return replace(self, level=level, together=together, rests_on=self.rests_on + (words if together > 1 else ""))


@dataclass(frozen=True, eq=False)
class Band:
    """A confidence interval for the probability of every value.

    The level is that of each interval, not simultaneous. A band unpacks into its ends: ``low, high =
    estimate.interval()``.

    Attributes
    ----------
    alphabet
        The values.
    estimate, low, high
        One number for each value.
    level, rests_on
        As in :class:`Interval`.
    undetermined
        If there are many maximum-likelihood estimates: the lowest and the highest probability of each value among them,
        or bounds on these.
    exact_width
        As in :class:`Interval`, one number for each value; `None` if that is not known.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> band = cf.estimate(mechanism.simulate_counts([100] * 10, rng=1), mechanism).interval()
    >>> band.at(7).low < 0.1 < band.at(7).high
    True
    """

    alphabet: Alphabet
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    rests_on: str
    undetermined: tuple[FloatArray, FloatArray] | None = None
    exact_width: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("estimate", "low", "high"):
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=np.float64)))

    @property
    def width(self) -> FloatArray:
        """Distance between the ends, for each value."""
        return self.high - self.low

    def at(self, value: Value) -> Interval:
        """Return the interval of one value."""
        place = int(self.alphabet.encode([value])[0])
        now, low, high = (float(one[place]) for one in (self.estimate, self.low, self.high))
        ends = self.undetermined
        open_ends = None if ends is None else (float(ends[0][place]), float(ends[1][place]))
        exact = math.nan if self.exact_width is None else float(self.exact_width[place])
        return Interval(
            f"the share of {value}", now, low, high, self.level, self.rests_on, open_ends, exact_width=exact
        )

    def hull(self, others: Sequence[Band], remark: str) -> Band:
        low = np.min([one.low for one in (self, *others)], axis=0)
        high = np.max([one.high for one in (self, *others)], axis=0)
        return replace(self, low=low, high=high, rests_on=f"{self.rests_on}; {remark}")

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.low, self.high))

    def __repr__(self) -> str:
        widest = float(self.width.max())
        return f"<Band over {self.alphabet!r} at {percent(self.level)}, at most {widest:.3g} wide>"


@dataclass(frozen=True, eq=False)
class CrossTable:
    """Shares of all combinations of some attributes, with intervals.

    It also has the totals of each attribute.

    Attributes
    ----------
    names
        The attributes, rows first.
    band
        The entries.
    totals
        By attribute, the entries summed over all others: the margins of the table.
    together
        Number of entries that share a simultaneous level; 1 if the level is that of each entry.
    """

    names: tuple[str, ...]
    band: Band
    totals: Mapping[str, Band]
    together: int = 1

    @property
    def shares(self) -> FloatArray:
        """The entries as a table, one axis an attribute."""
        return self.band.estimate.reshape([total.alphabet.size for total in self.totals.values()])

    @property
    def shown_level(self) -> str:
        """The level in words, with the number of simultaneous entries."""
        return percent(self.band.level) + (f" for all {self.together:,} together" if self.together > 1 else "")

    def at(self, *values: Value) -> Interval:
        """Return one entry, such as ``table.at(30, "f")``."""
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return self.band.at(tuple(parts))

    def __repr__(self) -> str:
        widest = float(self.band.width.max())
        return f"<CrossTable of {' and '.join(self.names)} at {self.shown_level}, at most {widest:.3g} wide>"


@dataclass(frozen=True)
class Prospect:
    """Sources of an interval's width, and a forecast of the width.

    Attributes
    ----------
    question
        What was asked.
    width
        The width of the interval.
    sampling
        The width without privacy noise, which comes from the limited number of people.
    people
        Approximate width by number of people.
    epsilon
        Approximate width by epsilon. Empty if the mechanism has none, or if there are several.
    reports
        Number of reports.
    is_share
        Whether the answer is a share of people.
    """

    question: str
    width: float
    sampling: float
    people: Mapping[int, float]
    epsilon: Mapping[float, float]
    reports: int
    is_share: bool = True

    @property
    def noise(self) -> float:
        """The part of the width that is due to noise."""
        return max(0.0, self.width - self.sampling)

    def __str__(self) -> str:
        more = [f"{self._shown(width)} with {people:,} people" for people, width in self.people.items()]
        more += [f"{self._shown(width)} with epsilon {epsilon:g}" for epsilon, width in self.epsilon.items()]
        parts = f"{self._shown(self.sampling)} from having asked {self.reports:,} people, the rest from the noise"
        return f"{self._shown(self.width)} wide: {parts}. It would be about {listed(more)}."

    def _shown(self, width: float) -> str:
        return f"{width:.2%}" if self.is_share else f"{width:.3g}"


def level_of_each(level: float, together: int) -> float:
    """Return the level of each of several answers (Bonferroni).

    At this level all of them together cover the truth at the stated level, whatever their dependence.

    >>> round(level_of_each(0.95, 5), 4)
    0.99
    """
    return 1 - (1 - level) / max(1, together)


def percent(level: float) -> str:
    """Return a level in percent, never rounded up to 100.

    >>> percent(0.95), percent(0.999), percent(0.99999999)
    ('95%', '99.9%', '99.999999%')
    """
    texts = (f"{100 * level:.{digits}g}" for digits in range(6, 18))
    return f"{next((text for text in texts if float(text) < 100), '100')}%"


def error_of(answer: Interval) -> float:
    """Return the largest distance between the estimate and an end."""
    return max(answer.high - answer.estimate, answer.estimate - answer.low)

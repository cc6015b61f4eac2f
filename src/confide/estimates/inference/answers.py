"""An answer with its interval, and the same for every value at once."""

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
        From having asked only so many people: the width with true values, as a share of the width with noise.
    privacy
        From the noise: the rest.
    """

    sampling: float
    privacy: float

    def __str__(self) -> str:
        rounded = round(100 * self.sampling)  # the other part is the rest, so that both always add up to 100
        return f"sampling {rounded}%, privacy {100 - rounded}%"


@dataclass(frozen=True)
class Interval(Shown):
    """The answer to one question, and between what ends the truth lies.

    It unpacks into its ends: ``low, high = estimate.query("age >= 65")``.

    Attributes
    ----------
    question
        What was asked, in words.
    estimate
        The answer that the estimated distribution gives.
    low, high
        The ends.
    level
        The share of surveys, were they repeated, whose interval holds the truth.
    rests_on
        What makes it so, in a sentence.
    undetermined
        Where many distributions explain the reports best: the lowest and the highest answer among all of them, which
        the interval always holds. None where there is one such answer, or where this was too large to find out.
    is_share
        Whether the answer is a share of people, and not a value or a weighted sum.
    together
        How many answers hold the truth together that often, all of them at once; 1 for an answer by itself.
    labels
        What people call the answer and its ends, where it is a value that has a label; empty elsewhere.
    remark
        What else is to be said of the question: of an area, how many cells count and how many its border cuts.
    exact_width
        Width of the interval if the same people had sent their true values; NaN if that is not known.
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
        """How much of the width is sampling and how much is privacy noise.

        `None` if the interval has no width, or if :attr:`exact_width` is not known. A share of 100% for sampling means
        that noise adds nothing, or that a declared shape takes away more than the noise adds.

        >>> print(Interval("age >= 65", 0.12, 0.1, 0.15, 0.95, "", exact_width=0.004).parts)
        sampling 8%, privacy 92%
        """
        if math.isnan(self.exact_width) or not self.width > 0:
            return None
        sampling = min(1.0, self.exact_width / self.width)
        return Parts(sampling, 1.0 - sampling)

    def contains(self, answer: float) -> bool:
        """Whether an answer lies between the ends, which belong to the interval."""
        return self.low <= answer <= self.high

    def hull(self, others: Sequence[Interval], remark: str) -> Interval:
        """Return the same answer with ends that hold those of others, and a remark on what these are."""
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
        """Return answer, low and high end as people read them: labels, a share in percent, or a number.

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
        """The level in words, and whether it is that of several answers together.

        >>> Interval("x", 0.1, 0.0, 0.2, 0.95, "", together=3).shown_level
        '95% for all 3 together'
        """
        return percent(self.level) + (f" for all {self.together:,} together" if self.together > 1 else "")

    def among(self, together: int, level: float) -> Interval:
        """Return the same as one of several answers that were each asked at :func:`level_of_each`."""
        words = f"; each of {together:,} holds at {percent(self.level)}, so that all hold at {percent(level)} together"
        return replace(self, level=level, together=together, rests_on=self.rests_on + (words if together > 1 else ""))


@dataclass(frozen=True, eq=False)
class Band:
    """An interval for the probability of every value; each holds at the level by itself, not all of them together.

    It unpacks into its ends: ``low, high = estimate.interval()``.

    Attributes
    ----------
    alphabet
        The values.
    estimate, low, high
        One number for each value.
    level, rests_on
        As in :class:`Interval`.
    undetermined
        Where many distributions explain the reports best: the lowest and the highest probability of each value among
        all of them, or bounds on these.
    exact_width
        As in :class:`Interval`, one number for each value; `None` if that is not known.
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
    """Shares of all combinations of some attributes, each with its interval, and the totals of each attribute.

    Attributes
    ----------
    names
        The attributes, those of the rows first.
    band
        The entries.
    totals
        By attribute, the entries summed over all others: what stands on the margins of the table.
    together
        How many entries hold the truth together at the level, all of them at once; 1 where each does by itself.
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
        """The level in words, and whether it is that of all entries together."""
        return percent(self.band.level) + (f" for all {self.together:,} together" if self.together > 1 else "")

    def at(self, *values: Value) -> Interval:
        """Return the entry of one value of each attribute, such as ``table.at(30, "f")``."""
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return self.band.at(tuple(parts))

    def __repr__(self) -> str:
        widest = float(self.band.width.max())
        return f"<CrossTable of {' and '.join(self.names)} at {self.shown_level}, at most {widest:.3g} wide>"


@dataclass(frozen=True)
class Prospect:
    """What the width of an interval comes from, and how wide it would be with more people or a larger epsilon.

    Attributes
    ----------
    question
        What was asked.
    width
        The width of the interval.
    sampling
        How wide it would be had all told the truth: what comes from having asked only so many people.
    people
        About how wide it would be, by the number of people.
    epsilon
        The same, by epsilon; empty where the mechanism has none, or there are several.
    reports
        How many there are.
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
        """What the noise adds to the width."""
        return max(0.0, self.width - self.sampling)

    def __str__(self) -> str:
        more = [f"{self._shown(width)} with {people:,} people" for people, width in self.people.items()]
        more += [f"{self._shown(width)} with epsilon {epsilon:g}" for epsilon, width in self.epsilon.items()]
        parts = f"{self._shown(self.sampling)} from having asked {self.reports:,} people, the rest from the noise"
        return f"{self._shown(self.width)} wide: {parts}. It would be about {listed(more)}."

    def _shown(self, width: float) -> str:
        return f"{width:.2%}" if self.is_share else f"{width:.3g}"


def level_of_each(level: float, together: int) -> float:
    """Return the level at which each of several answers is asked, so that all hold together at the one stated.

    By Bonferroni: whatever they have to do with each other, no more miss than the chances of each added up.

    >>> round(level_of_each(0.95, 5), 4)
    0.99
    """
    return 1 - (1 - level) / max(1, together)


def percent(level: float) -> str:
    """Return a level as people write it, with as many digits as tell it from certainty.

    >>> percent(0.95), percent(0.999), percent(0.99999999)
    ('95%', '99.9%', '99.999999%')
    """
    texts = (f"{100 * level:.{digits}g}" for digits in range(6, 18))
    return f"{next((text for text in texts if float(text) < 100), '100')}%"


def error_of(answer: Interval) -> float:
    """Return how far the truth may lie from the estimate, at the level of the interval."""
    return max(answer.high - answer.estimate, answer.estimate - answer.low)


def in_words(answer: Interval) -> str:
    """Return a question with its answer and the ends of that."""
    return f"{answer.question}, {answer.estimate:.2%} (between {answer.low:.2%} and {answer.high:.2%})"

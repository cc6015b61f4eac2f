"""Values in a circle: hours of the day, days of the week, whole numbers of which the last is next to the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets.base import Alphabet
from confide.alphabets.dates import COARSE, EPOCH, Moment, Timed
from confide.alphabets.geometry import Indices, RingGeometry, Values, whole_numbers
from confide.alphabets.numerals import parse_integer
from confide.checks import check_count, check_text
from confide.errors import InvalidParameterError
from confide.kinds import Example
from confide.wording import counted

MOST_STEPS = 2**20
"""Values of a circle: rows of exact weights grow with their number."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Circle(Alphabet):
    """Whole numbers from 0 on in a circle: the last one is a neighbour of the first.

    >>> Circle(12, unit="month").distance(11, 1)
    2.0
    """

    kind = "circle"
    about = "whole numbers from 0 on in a circle, the last beside the first"
    usual = "wrapped-geometric"
    example = Example(
        "month",
        "Months of birth",
        unit="month, around the year",
        epsilon=0.5,
        text="""\
steps = 12
unit = "month"         # what distances are counted in; may be left out
""",
    )

    steps: int
    unit: str = ""
    cure = "Count them from 0."

    def __post_init__(self) -> None:
        check_count("steps", self.steps, 2)
        check_text("unit", self.unit)
        if self.steps > MOST_STEPS:
            raise InvalidParameterError(f"A circle has {MOST_STEPS:,} values at most; got {self.steps:,}.")
        object.__setattr__(self, "steps", int(self.steps))

    @property
    def geometry(self) -> RingGeometry:
        """See :attr:`Alphabet.geometry`."""
        return RingGeometry(self.steps)

    @property
    def summary(self) -> str:
        """See :attr:`Alphabet.summary`."""
        first, last = self.labels([0, self.size - 1])
        return f"{counted(self.size, 'value')} in a circle, {first} to {last}, the last beside the first"

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """Return the query for the values from `low` to `high`, or to the last; see :meth:`Integers.question`."""
        first, last = self.labels([low, self.steps - 1 if high is None else high])
        return f"{name} == {first}" if first == last else f"{name} in {first}..{last}"

    def label_range(self, low: int, high: int) -> str:
        """Return what people call the values from `low` to `high`."""
        first, last = self.labels([low, high])
        return first if low == high else f"{first} to {last}"

    def stretch(self, low: object, high: object) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.stretch`.

        >>> np.flatnonzero(Circle(24).stretch(22, 2))
        array([ 0,  1,  2, 22, 23])
        """
        first, last = (self._number(end) for end in (low, high))
        chosen: NDArray[np.bool_] = (np.arange(self.steps) - first) % self.steps <= (last - first) % self.steps
        return chosen

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.compare`; on a circle none comes before another, so only the same one is asked for."""
        if sign not in ("=", "==", "!="):
            raise InvalidParameterError(f"a circle has no order; ask for a stretch of it, in {self._example}")
        same: NDArray[np.bool_] = np.arange(self.steps) == self._number(literal)
        return ~same if sign == "!=" else same

    @property
    def _example(self) -> str:
        labels = [label.removesuffix(":00") for label in self.labels()]
        return f"{labels[-2]}..{labels[1]}"

    def _number(self, literal: object) -> int:
        """Return the value that a query names."""
        if isinstance(literal, int) and 0 <= literal < self.steps:
            return literal
        raise InvalidParameterError(f"{literal!r} is none of the values, {self.labels()[0]} to {self.labels()[-1]}")

    @property
    def has_numbers(self) -> bool:
        """See :attr:`Alphabet.has_numbers`; no value comes first."""
        return False

    @property
    def _no_mean(self) -> str:
        return (
            f"{self!r} is a circle, where no value comes first, so there is no mean and no quantile. Ask for the share "
            f"of a stretch of it instead."
        )


@dataclass(frozen=True, init=False, repr=False)
class Hours(Timed, Circle):
    """Hours of the day in a circle, 0 to 23: an hour lies one from the next, and 23 one from 0.

    >>> Hours().take(["2026-03-01T22:15", "06:30"]), Hours().distance(23, 0)
    (array([22,  6]), 1.0)
    """

    kind = "hours"
    about = "hours of the day in a circle: 23 lies beside 0; files hold ISO times, with a date or without"
    example = Example(
        "hour",
        "When people go to bed",
        unit="hour, around the clock",
        epsilon=0.5,
    )

    cure = "Give ISO times such as 22:15 or 2026-03-01T22:15, or whole hours from 0 to 23."

    def __init__(self) -> None:
        super().__init__(24, "hour")

    @property
    def declared(self) -> Mapping[str, Any]:
        """See :attr:`Alphabet.declared`; there is nothing to be set."""
        return {}

    def _of_moment(self, moment: Moment) -> int | str:
        return "not a time" if moment.hour is None else moment.hour

    def _of_text(self, text: str) -> int | str:
        hour = parse_integer(text)
        if hour is not None:
            return int(hour)
        value = super()._of_text(text)
        return "not a time" if value == "not a date" else value

    def _of_times(self, times: NDArray[np.datetime64]) -> Indices:
        if np.datetime_data(times.dtype)[0] in (*COARSE, "D"):
            raise InvalidParameterError(f"{self!r} needs times; got {times.dtype}, which does not tell the hour.")
        return (times.astype("datetime64[h]").astype(np.int64)) % 24

    def _take_each(self, array: NDArray[Any]) -> tuple[Indices, dict[int, str]]:
        if array.dtype.kind in "iuf":
            numbers, whole = whole_numbers(array)
            return np.where(whole, numbers, self._nothing), dict.fromkeys(np.flatnonzero(~whole).tolist(), "not whole")
        return super()._take_each(array)

    def _name(self, values: Values) -> list[str]:
        return [f"{hour:02d}:00" for hour in values.tolist()]

    def label_range(self, low: int, high: int) -> str:
        """See :meth:`Circle.label_range`; to the last minute, for "00:00 to 01:00" reads as one hour of the two.

        >>> Hours().label_range(0, 1)
        '00:00 to 01:59'
        """
        return f"{low:02d}:00 to {high:02d}:59"

    def _number(self, literal: object) -> int:
        if isinstance(literal, str) and literal in self.labels():
            return self.labels().index(literal)
        return super()._number(literal)

    def sql(self, column: str = "value") -> str:
        """Return an SQL expression for the hour of a column of times or timestamps."""
        return f"CAST(extract('hour' FROM {column}) AS BIGINT)"

    def __repr__(self) -> str:
        return "Hours()"


@dataclass(frozen=True, init=False, repr=False)
class Weekdays(Timed, Circle):
    """Days of the week in a circle, Monday 0 to Sunday 6: Sunday lies one from Monday.

    >>> Weekdays().take(["2026-03-01", "Mon"]), Weekdays().distance(6, 0)
    (array([6, 0]), 1.0)
    """

    kind = "weekdays"
    about = "days of the week in a circle: Sunday lies beside Monday; files hold ISO dates, or Mon, Tue, ..."
    example = Example(
        "weekday",
        "When people shop",
        unit="day, around the week",
    )

    cure = "Give ISO dates such as 2026-03-01, or names such as Mon or Monday."

    def __init__(self) -> None:
        super().__init__(7, "day")

    @property
    def declared(self) -> Mapping[str, Any]:
        """See :attr:`Alphabet.declared`; there is nothing to be set."""
        return {}

    def _of_moment(self, moment: Moment) -> int | str:
        return "not a date" if moment.day is None else moment.day.weekday()

    def _of_text(self, text: str) -> int | str:
        name = text.strip()
        value = _WEEKDAY_NUMBERS[name] if name in _WEEKDAY_NUMBERS else super()._of_text(text)
        return "not a weekday" if value == "not a date" else value

    def _of_times(self, times: NDArray[np.datetime64]) -> Indices:
        if np.datetime_data(times.dtype)[0] in COARSE:
            raise InvalidParameterError(f"{self!r} needs days; got {times.dtype}, which does not tell them.")
        return (times.astype("datetime64[D]").astype(np.int64) + EPOCH - 1) % 7

    def _name(self, values: Values) -> list[str]:
        return [WEEKDAYS[number][:3] for number in values.tolist()]

    def _number(self, literal: object) -> int:
        if isinstance(literal, str) and literal in _WEEKDAY_NUMBERS:
            return _WEEKDAY_NUMBERS[literal]
        raise InvalidParameterError(f"{literal!r} is none of the days, {', '.join(self.labels())}")

    def sql(self, column: str = "value") -> str:
        """Return an SQL expression for the day of the week of a column of dates or timestamps."""
        return f"CAST(extract('isodow' FROM {column}) - 1 AS BIGINT)"

    def __repr__(self) -> str:
        return "Weekdays()"


_WEEKDAY_NUMBERS = {word: number for number, name in enumerate(WEEKDAYS) for word in (name, name[:3])}

"""Dates in a row; hours and weekdays in a circle.

Text is read strictly by ISO 8601. The clock is the one that a text, a date or a column shows: an offset such as +01:00
says where that clock stands and moves nothing, so that an evening is an evening everywhere.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.base import Alphabet, Example, as_values, outside_error
from confide.values.checks import BLANK, check_choice, check_count, check_text, parse_integer, settle
from confide.values.geometry import Indices, RingGeometry, Values, whole_numbers
from confide.values.metrics import Value
from confide.values.planes import Integers
from confide.values.wording import counted, told_at_edges

MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""Months of longer steps."""

STEPS = ("day", "week", *MONTHS)
"""Every step from one date to the next."""

# Seconds may have decimals, and an offset says where the clock stands: neither changes the hour.
_TIME = "([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?"
# Compiled once: a file may have a million different times.
_MOMENT = re.compile(f"[{BLANK}]*([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_TIME})?[{BLANK}]*")
_CLOCK = re.compile(f"[{BLANK}]*T?{_TIME}[{BLANK}]*")
_STEP = re.compile(f"[{BLANK}]*([0-9]{{4}})(?:-(?:W([0-9]{{2}})|Q([0-9])|([0-9]{{2}})))?[{BLANK}]*")

COARSE = {"Y": ("year",), "M": tuple(MONTHS), "W": ()}
"""Units of numpy's dates that are coarser than a day, with the steps that they tell."""


class Moment(NamedTuple):
    """Day and hour of a text; None for what it leaves out."""

    day: date | None
    hour: int | None


def read_moment(text: str) -> Moment | str:
    """Read a date, a time or both, or return why not.

    >>> read_moment("2026-03-01T22:15+01:00"), read_moment("2026-02-30"), read_moment("1 March")
    (Moment(day=datetime.date(2026, 3, 1), hour=22), 'no such date', 'not a date')
    """
    if found := _MOMENT.fullmatch(text):
        try:
            day = date(*map(int, found.groups()[:3]))
        except ValueError:
            return "no such date"
        return Moment(day, None) if found[4] is None else _with_hour(day, found.groups()[3:])
    found = _CLOCK.fullmatch(text)
    return "not a date" if found is None else _with_hour(None, found.groups())


def name_step(text: str, every: str) -> str:
    """Return the day, week, month, quarter or year of a date.

    A text that is no date is already a name.

    >>> name_step("2026-03-01", "week"), name_step("2026-03-01T22:15+01:00", "quarter"), name_step("wave 2", "week")
    ('2026-W09', '2026-Q1', 'wave 2')
    """
    moment = read_moment(text)
    return text if isinstance(moment, str) or moment.day is None else Dates(moment.day, moment.day, every).first


def _with_hour(day: date | None, texts: Sequence[str | None]) -> Moment | str:
    hour, minute, second = (0 if text is None else int(text) for text in texts)
    return Moment(day, hour) if hour < 24 and minute < 60 and second < 60 else "no such time"


class Timed(Alphabet):
    """Values that people have as dates or times."""

    reads_times = True
    has_labels = True
    _nothing = -(2**52)  # a number that no value has
    _no_text = "not a date"  # what a text is that says nothing here
    cure = "Give ISO dates such as 2026-03-01, or Python's or numpy's own."

    @property
    def declared(self) -> Mapping[str, Any]:
        # Hours and weekdays have no settings; their fields follow from the kind.
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def fine_print(self) -> tuple[str, ...]:
        return (told_at_edges("moment", self.unit, 1, self.unit),)

    # Each class below reads a moment, and numpy's dates all at once.

    @abstractmethod
    def _of_moment(self, moment: Moment) -> int | str:
        """Return the value of a moment, or why it has none."""

    @abstractmethod
    def _of_times(self, times: NDArray[np.datetime64]) -> Indices:
        """Return the values of numpy's dates, none of which is missing."""

    def _of_text(self, text: str) -> int | str:
        moment = read_moment(text)
        value = moment if isinstance(moment, str) else self._of_moment(moment)
        return self._no_text if value == "not a date" else value

    def read(self, fields: Sequence[str]) -> Value | None:
        value = self._of_text(fields[0])
        return None if isinstance(value, str) else value

    def fault(self, fields: Sequence[str]) -> str:
        value = self._of_text(fields[0])
        return value if isinstance(value, str) else ""

    def take(self, raw: ArrayLike) -> Values:
        array = as_values(raw, self, (("value",),), "dates")
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        numbers, faults = (self._of_times(array), {}) if array.dtype.kind == "M" else self._take_each(array)
        outside = np.flatnonzero(~self.contains(numbers))
        if outside.size:
            place = int(outside[0])
            shown = array[place : place + 1].tolist()[0]
            why, what = faults.get(place, "outside the alphabet"), f"entries are no values of {self!r}"
            raise outside_error(outside, array.size, what, shown, f" ({why}). {self.cure}")
        return numbers

    def _take_each(self, array: NDArray[Any]) -> tuple[Indices, dict[int, str]]:
        known: dict[str, int | str] = {}
        found: list[int | str] = []
        for value in array.tolist():
            if not isinstance(value, str):  # not kept: one moment on the clocks of two zones is equal
                day = value.date() if isinstance(value, datetime) else value if isinstance(value, date) else None
                hour = value.hour if isinstance(value, datetime | time) else None
                is_none = day is None and hour is None
                found.append("not a date" if is_none else self._of_moment(Moment(day, hour)))
                continue
            if value not in known:
                known[value] = self._of_text(value)
            found.append(known[value])
        faults = {place: one for place, one in enumerate(found) if isinstance(one, str)}
        return np.array([self._nothing if isinstance(one, str) else one for one in found], dtype=np.int64), faults


@dataclass(frozen=True, init=False, repr=False)
class Dates(Timed, Integers):
    """A range of days, weeks, months, quarters or years.

    Weeks follow ISO 8601 and begin on Monday. Neighbours are one step apart, months too, whatever their lengths.

    Parameters
    ----------
    first, last
        Dates, as ISO text such as ``2026-03-01``; of longer steps any date inside, or ``2026-W09``, ``2026-03``,
        ``2026-Q1``, ``2026``.
    every
        ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.

    Examples
    --------
    >>> days = Dates("2026-02-27", "2026-03-02")
    >>> days.take(["2026-03-01", "2026-02-28T23:59"]), days.labels()[2]
    (array([2, 1]), '2026-03-01')
    >>> Dates("2026-01", "2026-12", every="month").take([date(2026, 3, 31)])
    array([2])
    """

    kind = "dates"
    about = "from a first to a last date, both inside; files hold ISO dates, such as 2026-03-01"
    example = Example(
        "day",
        "When people fell ill",
        unit="day",
        epsilon=0.2,
        text="""\
first = "2026-01-01"
last = "2026-03-31"
# every = "week"       # day, week (of ISO, from Monday on), month, quarter or year
""",
    )

    origin: int = 0
    every: str = "day"

    def __init__(self, first: str | date, last: str | date, every: str = "day") -> None:
        check_choice("every", every, STEPS)
        ends, given_ends = [], {"first": first, "last": last}
        for name, given in cast("dict[str, object]", given_ends).items():
            text = str(given) if isinstance(given, int) and every == "year" else given
            if not isinstance(text, str | date):
                raise InvalidParameterError(f"{name} must be a date such as 2026-03-01; got {given!r}.")
            days = (text.toordinal(),) * 2 if isinstance(text, date) else _days_in(text)
            steps = [] if isinstance(days, str) else [_count_steps(date.fromordinal(day), every) for day in days]
            if isinstance(days, str) or steps[0] != steps[1]:
                why = days if isinstance(days, str) else f"longer than a {every}"
                raise InvalidParameterError(f"{name} must be a date such as 2026-03-01; got {given!r}, which is {why}.")
            ends.append(steps[0])
        start, end = ends
        if start > end:
            raise InvalidParameterError(f"first must not be after last; got first={first!s} and last={last!s}.")
        settle(self, low=0, high=end - start, spacing=1.0, unit=every, origin=start, every=every)

    @property
    def first(self) -> str:
        """Label of the first value."""
        return self._in_query(self.span[0])

    @property
    def last(self) -> str:
        """Label of the last value."""
        return self._in_query(self.span[1])

    @property
    def summary(self) -> str:
        return f"{counted(self.size, self.every)}, {self.first} to {self.last}"

    @property
    def declared(self) -> Mapping[str, Any]:
        return {"first": self.first, "last": self.last} | ({} if self.every == "day" else {"every": self.every})

    def between(self, low: int | None, high: int | None) -> Alphabet:
        # Noise may lead beyond the year 9999, where there are no dates.
        if low is None or high is None or not all(_is_step(self.origin + end, self.every) for end in (low, high)):
            return super().between(low, high)
        part = object.__new__(Dates)
        settle(part, low=low, high=high, spacing=1.0, unit=self.every, origin=self.origin, every=self.every)
        return part

    def _of_moment(self, moment: Moment) -> int | str:
        return "not a date" if moment.day is None else _count_steps(moment.day, self.every) - self.origin

    def _of_text(self, text: str) -> int | str:
        if self.every != "day" and _STEP.fullmatch(text):
            days = _days_in(text)
            if isinstance(days, str):
                return days
            start, end = (_count_steps(date.fromordinal(day), self.every) for day in days)
            is_whole = (_start_of(start, self.every), _start_of(start + 1, self.every) - 1) == days
            return start - self.origin if start == end and is_whole else "not a date"
        return super()._of_text(text)

    def _of_times(self, times: NDArray[np.datetime64]) -> Indices:
        unit = np.datetime_data(times.dtype)[0]
        if self.every not in COARSE.get(unit, (self.every,)):
            raise InvalidParameterError(f"{self!r} needs days; got {times.dtype}, which does not tell them.")
        if self.every in ("day", "week"):
            days = _ordinals(times)
            return (days if self.every == "day" else (days - 1) // 7) - self.origin
        # numpy counts months from 1970, a step counts them from the year 0.
        months = times.astype("datetime64[M]").astype(np.int64) + 1970 * 12
        return months // MONTHS[self.every] - self.origin

    def _name(self, values: Values) -> list[str]:
        return [self._in_query(number) for number in values.tolist()]

    def _in_query(self, value: int) -> str:
        step, every = self.origin + value, self.every
        if not _is_step(step, every) and step != _count_steps(date.max, every):
            return f"{every} {step}"  # beyond the year 9999, where noise may lead
        day = date.fromordinal(_start_of(step, every))
        if every == "week":
            year, week, _ = day.isocalendar()
            return f"{year:04d}-W{week:02d}"
        quarter = f"{day.year:04d}-Q{(day.month + 2) // 3}"
        text = day.isoformat()
        return {"day": text, "month": text[:7], "quarter": quarter, "year": text[:4]}[every]

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_]:
        # A longer step, such as a month, means all of its days.
        named = _days_in(str(literal))
        if isinstance(named, str):
            raise InvalidParameterError(
                f"{str(literal)!r} is {named}; write it as 2026-03-01, 2026-03, 2026-W09 or 2026-Q1"
            )
        (start, end), (first, last) = named, self._days
        past = {">=": start, "<": start, ">": end + 1, "<=": end + 1}
        if sign in past:
            is_above = first >= past[sign]
            # A month of which some days are on either side is neither above nor below.
            is_cut = ~is_above & (last >= past[sign])
            chosen = is_above if sign in (">", ">=") else ~is_above
        else:
            inside = (first >= start) & (last <= end)
            is_cut = ~inside & (first <= end) & (last >= start)
            chosen = ~inside if sign == "!=" else inside
        if is_cut.any():
            place = int(np.argmax(is_cut))
            ends = " to ".join(date.fromordinal(int(day[place])).isoformat() for day in (first, last))
            raise InvalidParameterError(f"it cuts the {self.every} {self.labels([place])[0]}, {ends}; ask at its ends")
        return chosen

    @cached_property
    def _days(self) -> tuple[Indices, Indices]:
        """First and last day of each value, as ordinal numbers."""
        steps = range(self.origin + self.span[0], self.origin + self.span[1] + 2)
        starts = np.array([_start_of(step, self.every) for step in steps], dtype=np.int64)
        return starts[:-1], starts[1:] - 1

    def name_mean(self, mean: float) -> str:
        # The nearest day or step: half a month has no name.
        return self._in_query(math.floor(mean + 0.5))

    def sql(self, column: str = "value") -> str:
        """Return SQL for the value of a column of dates, or null.

        >>> print(Dates("2026-01-01", "2026-12-31").sql("day"))
        CASE WHEN CAST(day AS DATE) BETWEEN DATE '2026-01-01' AND DATE '2026-12-31' THEN date_diff('day', DATE \
'2026-01-01', CAST(day AS DATE)) END
        """
        first, last = (date.fromordinal(int(days[place])) for place, days in zip((0, -1), self._days, strict=True))
        given, low = f"CAST({column} AS DATE)", self.span[0]
        number = f"date_diff('{self.every}', DATE '{first}', {given})" + (f" + {low}" if low else "")
        return f"CASE WHEN {given} BETWEEN DATE '{first}' AND DATE '{last}' THEN {number} END"

    def __repr__(self) -> str:
        every = "" if self.every == "day" else f", every={self.every!r}"
        return f"Dates({self.first!r}, {self.last!r}{every})"


# Steps: days, weeks, ... counted from the year 0 or the first of January of the year 1.


def _ordinals(times: NDArray[np.datetime64]) -> Indices:
    """Return numpy's dates as ordinal numbers; numpy counts days from 1970."""
    return times.astype("datetime64[D]").astype(np.int64) + date(1970, 1, 1).toordinal()


def _count_steps(day: date, every: str) -> int:
    if every == "day":
        return day.toordinal()
    if every == "week":
        return (day.toordinal() - 1) // 7  # the first of January of the year 1 is a Monday
    return (day.year * 12 + day.month - 1) // MONTHS[every]


def _start_of(step: int, every: str) -> int:
    """Return the ordinal number of the first day of a step."""
    if every in ("day", "week"):
        return step if every == "day" else 7 * step + 1
    year, month = divmod(step * MONTHS[every], 12)
    return date.max.toordinal() + 1 if year > date.max.year else date(year, month + 1, 1).toordinal()


def _is_step(step: int, every: str) -> bool:
    """Whether all days of a step have dates."""
    return _count_steps(date.min, every) <= step < _count_steps(date.max, every)


def _days_in(text: str) -> tuple[int, int] | str:
    """Return the first and last day of a text, or the fault.

    Days are ordinal numbers.
    """
    found = _STEP.fullmatch(text)
    if found is None:
        moment = read_moment(text)
        if isinstance(moment, str) or moment.day is None or moment.hour is not None:
            return moment if isinstance(moment, str) else "not a date"
        return (moment.day.toordinal(),) * 2
    year, week, quarter, month = (None if part is None else int(part) for part in found.groups())
    try:
        if week is not None:
            start = date.fromisocalendar(year or 0, week, 1).toordinal()
            # The last week of the calendar goes on into a year that has no dates.
            return (start, start + 6) if start + 6 <= date.max.toordinal() else "no such date"
        every, place = ("quarter", quarter) if quarter is not None else ("month", month)
        if place is None:
            return date(year or 0, 1, 1).toordinal(), date(year or 0, 12, 31).toordinal()
        start = date(year or 0, place if every == "month" else 3 * place - 2, 1).toordinal()
    except ValueError:
        return "no such date"
    step = _count_steps(date.fromordinal(start), every)
    return start, _start_of(step + 1, every) - 1


@dataclass(frozen=True)
class Circle(Alphabet):
    """Whole numbers in a circle: the last lies beside the first.

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
        if self.steps > 2**20:  # rows of exact weights grow with their number
            raise InvalidParameterError(f"A circle has {2**20:,} values at most; got {self.steps:,}.")
        settle(self, steps=int(self.steps))

    @property
    def geometry(self) -> RingGeometry:
        return RingGeometry(self.steps)

    @property
    def summary(self) -> str:
        first, last = self.labels([0, self.size - 1])
        return f"{counted(self.size, 'value')} in a circle, {first} to {last}, the last beside the first"

    def question(self, name: str, low: int, high: int | None = None) -> str:
        """Return the query for values from `low` to `high`, or the last."""
        first, last = self.labels([low, self.steps - 1 if high is None else high])
        return f"{name} == {first}" if first == last else f"{name} in {first}..{last}"

    def label_range(self, low: int, high: int) -> str:
        """Return what people call the values from `low` to `high`."""
        first, last = self.labels([low, high])
        return first if low == high else f"{first} to {last}"

    def stretch(self, low: object, high: object) -> NDArray[np.bool_]:
        """Return which values lie from `low` to `high`, around the circle.

        >>> np.flatnonzero(Circle(24).stretch(22, 2))
        array([ 0,  1,  2, 22, 23])
        """
        first, last = (self._number(end) for end in (low, high))
        chosen: NDArray[np.bool_] = (np.arange(self.steps) - first) % self.steps <= (last - first) % self.steps
        return chosen

    def compare(self, sign: str, literal: object) -> NDArray[np.bool_]:
        # On a circle no value comes before another, so a query may only ask for equality.
        if sign not in ("=", "==", "!="):
            labels = [label.removesuffix(":00") for label in self.labels()]
            raise InvalidParameterError(f"a circle has no order; ask for a stretch of it, in {labels[-2]}..{labels[1]}")
        same: NDArray[np.bool_] = np.arange(self.steps) == self._number(literal)
        return ~same if sign == "!=" else same

    def _number(self, literal: object) -> int:
        """Return the value that a query names."""
        if isinstance(literal, int) and 0 <= literal < self.steps:
            return literal
        raise InvalidParameterError(f"{literal!r} is none of the values, {self.labels()[0]} to {self.labels()[-1]}")

    has_numbers = False  # no value comes first on a circle, so there are no quantiles

    _no_mean = (
        "{!r} is a circle, where no value comes first, so there is no mean and no quantile. Ask for the share of a "
        "stretch of it instead."
    )


@dataclass(frozen=True, init=False, repr=False)
class Hours(Timed, Circle):
    """Hours of the day in a circle: 23 lies beside 0.

    >>> Hours().take(["2026-03-01T22:15", "06:30"]), Hours().distance(23, 0)
    (array([22,  6]), 1.0)
    """

    kind = "hours"
    about = "hours of the day in a circle: 23 lies beside 0; files hold ISO times, with a date or without"
    example = Example("hour", "When people go to bed", unit="hour, around the clock", epsilon=0.5)

    cure = "Give ISO times such as 22:15 or 2026-03-01T22:15, or whole hours from 0 to 23."
    _no_text = "not a time"

    def __init__(self) -> None:
        super().__init__(24, "hour")

    def _of_moment(self, moment: Moment) -> int | str:
        return "not a time" if moment.hour is None else moment.hour

    def _of_text(self, text: str) -> int | str:
        hour = parse_integer(text)
        return super()._of_text(text) if hour is None else int(hour)

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
        """Return a range to its last minute.

        "00:00 to 01:00" would read as one hour.

        >>> Hours().label_range(0, 1)
        '00:00 to 01:59'
        """
        return f"{low:02d}:00 to {high:02d}:59"

    def _number(self, literal: object) -> int:
        if isinstance(literal, str) and literal in self.labels():
            return self.labels().index(literal)
        return super()._number(literal)

    def sql(self, column: str = "value") -> str:
        """Return SQL for the hour of a column of times or timestamps."""
        return f"CAST(extract('hour' FROM {column}) AS BIGINT)"


@dataclass(frozen=True, init=False, repr=False)
class Weekdays(Timed, Circle):
    """Days of the week in a circle, Monday 0 to Sunday 6.

    >>> Weekdays().take(["2026-03-01", "Mon"]), Weekdays().distance(6, 0)
    (array([6, 0]), 1.0)
    """

    kind = "weekdays"
    about = "days of the week in a circle: Sunday lies beside Monday; files hold ISO dates, or Mon, Tue, ..."
    example = Example("weekday", "When people shop", unit="day, around the week")

    cure = "Give ISO dates such as 2026-03-01, or names such as Mon or Monday."
    _no_text = "not a weekday"
    # Number of each weekday by its names, short ones first: these are the labels.
    _days: ClassVar[dict[str, int]] = {
        name: number for number, name in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))
    }
    _days |= {"Monday": 0, "Tuesday": 1, "Wednesday": 2, "Thursday": 3, "Friday": 4, "Saturday": 5, "Sunday": 6}

    def __init__(self) -> None:
        super().__init__(7, "day")

    def _of_moment(self, moment: Moment) -> int | str:
        return "not a date" if moment.day is None else moment.day.weekday()

    def _of_text(self, text: str) -> int | str:
        name = text.strip()
        return self._days[name] if name in self._days else super()._of_text(text)

    def _of_times(self, times: NDArray[np.datetime64]) -> Indices:
        if np.datetime_data(times.dtype)[0] in COARSE:
            raise InvalidParameterError(f"{self!r} needs days; got {times.dtype}, which does not tell them.")
        return (_ordinals(times) - 1) % 7

    def _name(self, values: Values) -> list[str]:
        names = list(self._days)
        return [names[number] for number in values.tolist()]

    def _number(self, literal: object) -> int:
        if isinstance(literal, str) and literal in self._days:
            return self._days[literal]
        raise InvalidParameterError(f"{literal!r} is none of the days, {', '.join(self.labels())}")

    def sql(self, column: str = "value") -> str:
        """Return SQL for the weekday of a column of dates or timestamps."""
        return f"CAST(extract('isodow' FROM {column}) - 1 AS BIGINT)"

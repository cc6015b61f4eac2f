"""Dates and times: strict ISO text, every kind of array, circles with exact noise around them, and questions."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.channels import WrappedExponential
from confide.data.files import read_value_batches
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.values.queries import as_weights

DAYS = cf.Dates("2026-01-01", "2026-12-31")
HOURS, WEEKDAYS = cf.Hours(), cf.Weekdays()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2026-01-01", 0),
        (" 2026-03-01 ", 59),
        ("2026-03-01T23:59:59.999", 59),
        ("2026-03-01 00:00", 59),
        ("2026-03-01T23:30+01:00", 59),  # the clock that it shows
        ("2026-03-01T23:30Z", 59),
        ("2025-12-31", -1),
    ],
)
def test_iso_dates_are_read(text: str, number: int) -> None:
    assert DAYS.read([text]) == number


@each(
    ("text", "reason"),
    [
        ("2026-02-30", "no such date"),
        ("2025-02-29", "no such date"),
        ("2026-13-01", "no such date"),
        ("0000-01-01", "no such date"),
        ("2026-03-01T24:00", "no such time"),
        ("2026-03-01T23:60", "no such time"),
        ("2026-3-1", "not a date"),
        ("20260301", "not a date"),
        ("01/03/2026", "not a date"),
        ("1 March 2026", "not a date"),
        ("2026-03", "not a date"),
        ("٢٠٢٦-03-01", "not a date"),
        ("23:59", "not a date"),
        ("", "not a date"),
    ],
)
def test_what_is_no_date_is_refused_with_the_reason(text: str, reason: str) -> None:
    assert DAYS.fault([text]) == reason
    assert DAYS.read([text]) is None


@pytest.mark.parametrize("every", ["day", "week", "month", "quarter", "year"])
def test_every_step_counts_as_the_calendar_does(every: str) -> None:
    steps = cf.Dates("2019-12-30", "2028-01-02", every=every)
    day, numbers = dt.date(2019, 12, 30), list[Any]()
    while day <= dt.date(2028, 1, 2):
        numbers.append(steps.read([day.isoformat()]))
        day += dt.timedelta(days=1)
    # Each step follows the one before it, and none is left out.
    assert set(np.diff(numbers)) <= {0, 1}
    assert (numbers[0], numbers[-1]) == (0, steps.size - 1)
    days = np.arange("2019-12-30", "2028-01-03", dtype="datetime64[D]")
    assert steps.take(days).tolist() == numbers
    assert steps.take(days.astype("datetime64[ns]") + np.timedelta64(86399, "s")).tolist() == numbers
    assert steps.take(days[:50].tolist()).tolist() == numbers[:50]
    first, last = steps._days
    assert (first[1:] == last[:-1] + 1).all()
    assert [steps.read([label]) for label in steps.labels()] == list(range(steps.size))


TOLD = {"Y": ("year",), "M": ("month", "quarter", "year"), "W": ()}
"""Steps that a coarse unit of numpy tells: its weeks begin on a Thursday, and are nobody's."""


@pytest.mark.parametrize("every", ["day", "week", "month", "quarter", "year"])
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ns"])
def test_every_unit_of_numpy_is_taken_where_it_tells_the_step_and_refused_elsewhere(every: str, unit: str) -> None:
    steps = cf.Dates("1960-01-01", "2039-12-31", every=every)
    texts = ["1960-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2026-12-31", "2039-12-31"]
    moments = np.array(texts, dtype="datetime64[D]").astype(f"datetime64[{unit}]")
    if every in TOLD.get(unit, (every,)):
        assert steps.take(moments).tolist() == [steps.read([text]) for text in texts]
    else:
        with pytest.raises(InvalidParameterError, match="needs days"):
            steps.take(moments)


@pytest.mark.parametrize("every", ["day", "week", "month", "quarter", "year"])
def test_a_mean_is_named_by_the_nearest_step(every: str) -> None:
    steps = cf.Dates("2023-11-20", "2031-02-03", every=every)
    for place in range(3):
        for more in (-0.49, -0.2, 0.0, 0.3, 0.49):
            assert steps.name_mean(place + more) == steps.labels([max(place, 0)])[0]


def test_weeks_are_those_of_iso() -> None:
    weeks = cf.Dates("2026-01-01", "2027-01-03", every="week")
    for text in ("2026-01-01", "2026-12-31", "2026-06-17"):
        year, week, _ = dt.date.fromisoformat(text).isocalendar()
        assert weeks.labels()[weeks.take([text])[0]] == f"{year}-W{week:02d}"
    assert weeks.labels()[-1] == "2026-W53"
    assert cf.Dates("2026-W01", "2026-W53", every="week") == weeks


def test_arrays_of_any_kind() -> None:
    moment: Any = dt.datetime(2026, 3, 1, 22, 15, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert DAYS.take([moment, dt.date(2026, 3, 1), "2026-03-01"]).tolist() == [59, 59, 59]
    assert HOURS.take([moment, dt.time(7), "22:15", "6"]).tolist() == [22, 7, 22, 6]
    assert HOURS.take(np.array([0, 23])).tolist() == [0, 23]
    assert HOURS.take(np.array(["1969-12-31T23:10"], dtype="datetime64[m]")).tolist() == [23]
    assert WEEKDAYS.take([moment, "Mon", "Sunday"]).tolist() == [6, 0, 6]
    assert WEEKDAYS.take(np.array(["1969-12-31", "2026-03-01"], dtype="datetime64[D]")).tolist() == [2, 6]
    assert DAYS.take([]).size == 0
    assert cf.TruncatedGeometric(DAYS, 100.0).privatize(moment.date(), rng=1) == 59


@each(
    ("alphabet", "entries", "message"),
    [
        (DAYS, ["2026-03-01", "2026-02-30"], "1 of 2 entries.*'2026-02-30' at position 1 .no such date"),
        (DAYS, ["2027-01-01"], "outside the alphabet"),
        (DAYS, np.array(["2026-03-01", "NaT"], dtype="datetime64[D]"), "missing; first: None at position 1"),
        (DAYS, [3, 4], "not a date"),
        (DAYS, [None], "missing"),
        (DAYS, [["2026-03-01"]], "shape"),
        (DAYS, np.array(["2026-03"], dtype="datetime64[M]"), "needs days"),
        (HOURS, ["25:00"], "no such time"),
        (HOURS, ["24"], "outside the alphabet"),
        (HOURS, [dt.date(2026, 3, 1)], "not a time"),
        (HOURS, np.array(["2026-03-01"], dtype="datetime64[D]"), "does not tell the hour"),
        (HOURS, [2.5], "not whole"),
        (WEEKDAYS, ["mon"], "not a weekday"),
        (WEEKDAYS, [1], "not a date"),
    ],
)
def test_arrays_are_refused_with_the_reason(alphabet: cf.Alphabet, entries: object, message: str) -> None:
    with pytest.raises((ValueOutsideAlphabetError, InvalidParameterError), match=message):
        alphabet.take(entries)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("2026-02-30", "2026-03-01"), "first must be a date.*no such date"),
        (("2026-03-02", "2026-03-01"), "first must not be after last"),
        (("2026-03", "2026-04"), "longer than a day"),
        (("2026-03-01", "2026-03-02", "hour"), "every must be one of"),
        ((3, 4), "must be a date"),
    ],
)
def test_bad_settings_are_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        cf.Dates(*settings)


# Questions.


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("day >= 2026-12-30", 2),
        ("day > 2026-12-30", 1),
        ("day <= 2026-01-31", 31),
        ("day == 2026-03", 31),
        ("day in 2026-03-01..2026-03-07", 7),
        ("day in {2026-03-01, 2026-03-03}", 2),
        ("2026-02-01 <= day < 2026-03-01", 28),
        ("day == 2026-W09", 7),
        ("day != 2026-Q1", 275),
        ("day < '2026-01-02'", 1),
    ],
)
def test_queries_speak_of_dates(query: str, count: int) -> None:
    assert as_weights(query, DAYS, "day").sum() == count


def test_queries_that_cut_a_step_are_refused() -> None:
    months = cf.Dates("2026-01", "2026-12", every="month")
    assert as_weights("m >= 2026-03-01", months).sum() == 10
    assert as_weights("m <= 2026-03-31", months).sum() == 3
    assert as_weights("m in 2026-02..2026-04", months).sum() == 3
    with pytest.raises(InvalidParameterError, match="cuts the month 2026-03, 2026-03-01 to 2026-03-31"):
        as_weights("m >= 2026-03-02", months)
    with pytest.raises(InvalidParameterError, match="no such date"):
        as_weights("m >= 2026-02-30", months)
    with pytest.raises(InvalidParameterError, match="not a date"):
        as_weights("m >= march", months)


def test_windows_of_dates_ask_what_can_be_asked() -> None:
    for steps in (DAYS, cf.Dates("2024", "2026", every="year"), cf.Dates("2026-W01", "2026-W09", every="week")):
        for low, high in ((0, 0), (1, 2), (0, steps.size - 1)):
            asked = as_weights(steps.question("d", low, high), steps)
            assert np.flatnonzero(asked).tolist() == list(range(low, high + 1))
    assert DAYS.label_range(0, 6) == "2026-01-01 to 2026-01-07"
    assert DAYS.between(-1, 1).labels() == ["2025-12-31", "2026-01-01", "2026-01-02"]
    assert type(DAYS.between(None, None)) is cf.Integers


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("hour in 22..1", [0, 1, 22, 23]),
        ("hour in 5..7", [5, 6, 7]),
        ("hour in 22:00..00:00", [0, 22, 23]),
        ("hour not in 1..22", [0, 23]),
        ("hour == 23", [23]),
        ("hour in {0, 12}", [0, 12]),
    ],
)
def test_queries_go_around_a_circle(query: str, chosen: list[int]) -> None:
    assert np.flatnonzero(as_weights(query, HOURS, "hour")).tolist() == chosen


def test_a_circle_has_no_order() -> None:
    with pytest.raises(InvalidParameterError, match=r"a circle has no order; ask for a stretch of it, in 22\.\.01"):
        as_weights("hour >= 22", HOURS)
    with pytest.raises(InvalidParameterError, match="none of the values"):
        as_weights("hour == 24", HOURS)
    assert np.flatnonzero(as_weights("weekday in {Mon, Tuesday}", WEEKDAYS)).tolist() == [0, 1]
    assert np.flatnonzero(as_weights("weekday in Fri..Mon", WEEKDAYS)).tolist() == [0, 4, 5, 6]
    with pytest.raises(InvalidParameterError, match="'Fun' is none of the days"):
        as_weights("weekday == Fun", WEEKDAYS)


# Noise around a circle.


def test_wrapped_weights_are_the_sum_over_all_wraps() -> None:
    mechanism = cf.WrappedGeometric(cf.Circle(5), 0.7)
    ratio = mechanism._ratio
    for index in range(5):
        weights = mechanism.weights(index)
        for output in range(5):
            # Brute force: twenty times around, both ways, in fractions; what is left is below e^-65.
            moves = [output - index + 5 * turn for turn in range(-20, 21)]
            near = sum((ratio ** abs(move) for move in moves), Fraction(0)) * (1 - ratio) / (1 + ratio)
            assert abs(Fraction(weights[output], sum(weights)) - near) < Fraction(1, 2**90)


def test_wrapped_products_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(1)
    for size, epsilon in ((2, 1.0), (3, 0.01), (24, 0.3), (366, 0.05), (9, 40.0)):
        channel = cf.WrappedGeometric(cf.Circle(size), epsilon).channel
        assert isinstance(channel, WrappedExponential)
        matrix, vectors = channel.dense(), rng.random((4, size))
        np.testing.assert_allclose(channel.push(vectors), vectors @ matrix, rtol=1e-13)
        np.testing.assert_allclose(channel.pull(vectors), vectors @ matrix.T, rtol=1e-13)
        np.testing.assert_allclose(channel.unpush(channel.push(vectors)), vectors, rtol=1e-8)
        np.testing.assert_allclose(channel.inverse_lengths(), (np.linalg.inv(matrix) ** 2).sum(axis=1), rtol=1e-7)


def test_the_promise_holds_around_midnight() -> None:
    found = cf.audit(cf.WrappedGeometric(HOURS, 0.3))
    assert found.holds
    assert 0.99 < found.worst.relative < 1
    assert HOURS.distances()[23].tolist()[:3] == [1, 2, 3]
    line = cf.TruncatedGeometric(cf.Integers(0, 23), 0.3)
    strict = cf.FromMatrix(HOURS, line.channel.dense())
    assert strict.guarantee.bound(23, 0) > 0.3  # noise along a line tells 23 from 0 by far more


def test_a_circle_is_asked_for() -> None:
    with pytest.raises(InvalidParameterError, match="needs a circle"):
        cf.WrappedGeometric(cf.Integers(0, 23), 0.3)
    with pytest.raises(InvalidParameterError, match="whole numbers on a line"):
        cf.TruncatedGeometric(HOURS, 0.3)
    with pytest.raises(InvalidParameterError, match="steps must be"):
        cf.Circle(1)


def test_the_earth_mover_goes_around() -> None:
    one, other = np.zeros(24), np.zeros(24)
    one[23], other[1] = 1, 1
    assert cf.emd(one, other, HOURS) == 2
    rng = np.random.default_rng(3)
    left, right = rng.dirichlet(np.ones(6), 2)
    flows = np.cumsum(left - right)
    brute = min(np.abs(flows - turn).sum() for turn in flows)  # the best turn is one of the flows
    assert cf.emd(left, right, cf.Circle(6)) == pytest.approx(brute)


@pytest.mark.parametrize("alphabet", [cf.Dates("2026-01-01", "2026-12-31"), cf.Hours(), cf.Weekdays()], ids=repr)
def test_missing_times_never_vanish(alphabet: cf.Alphabet) -> None:
    for entries in (["NaT"], ["NaT", "NaT"], ["NaT", "2026-03-01T10"]):
        with pytest.raises(cf.ConfideError, match="missing; first: None at position 0"):
            alphabet.take(np.array(entries, dtype="datetime64[h]"))


@pytest.mark.parametrize("text", ["2026-03-01T22:15+99:00", "2026-03-01T22:15+15:00", "2026-03-01T22:15-01:61"])
def test_impossible_offsets_are_refused(text: str) -> None:
    assert cf.Dates("2026-01-01", "2026-12-31").fault([text]) == "not a date"
    assert cf.Dates("2026-01-01", "2026-12-31").fault([text[:16] + "+14:00"]) == ""


def test_times_beyond_all_calendars_are_rejected_by_row(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stamps = arrow.array([1772323200_000_000, 568971820800_000_000, -(2**63) + 1, None], arrow.timestamp("us"))
    days = arrow.array([20513, 2**31 - 1, -(2**31), None], arrow.date32())
    survey = cf.Survey(cf.TruncatedGeometric(cf.Dates("2026-01-01", "2026-12-31"), 0.1), "day")
    for number, column in enumerate((stamps, days)):
        parquet.write_table(arrow.table({"day": column}), tmp_path / f"{number}.parquet")
        (rows,) = read_value_batches(tmp_path / f"{number}.parquet", survey)
        assert (rows.account.accepted, dict(rows.account.rejected)) == (1, {"not a date": 2, "missing": 1})


@pytest.mark.parametrize("every", ["week", "month", "quarter", "year"])
def test_texts_at_the_ends_of_the_calendar_are_read_or_refused(every: str) -> None:
    steps = cf.Dates("2019-12-30", "2028-01-02", every=every)
    for year in ("0000", "0001", "9999"):
        for rest in ("", "-01", "-12", "-Q1", "-Q4", "-W01", "-W52", "-W53", "-01-01", "-12-31"):
            assert steps.read([year + rest]) is not None or steps.fault([year + rest])
    assert steps.fault(["9999-W52"]) == "no such date"  # its Sunday has none

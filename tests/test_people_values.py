"""What people hand over: frames, time zones, missing values, money. One meaning in every reader."""

from __future__ import annotations

import datetime as dt
import json
import zoneinfo
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.data.files import privatize_file
from confide.data.files.reading import read_value_batches, read_values
from confide.data.files.sheets import LIMITS
from confide.errors import ConfideError, DataFileError, InvalidParameterError, SurveyError
from confide.surveys.survey import load_survey, parse_survey

pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
parquet = pytest.importorskip("pyarrow.parquet")

FRAMES = [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table]
SALARIES = cf.Bins(edges=[0, 20, 50, 100], above=True, unit="thousand")
MONEY = cf.Bins(edges=[0, 20, 50, 100], above=True, unit="thousand", format="$1,234.56", scale=0.001)


def survey_of(alphabet: cf.Alphabet, name: str) -> cf.Survey:
    return cf.Survey(cf.RandomizedResponse(alphabet, 1.0), name)


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_of_every_frame_go_by_their_names(frame: Any) -> None:
    people = cf.Attributes(a=cf.Integers(0, 9), b=cf.Integers(0, 9))
    assert people.take(frame({"B": [1, 2], "c": [5, 5], "a": [8, 9]})).tolist() == [[8, 1], [9, 2]]
    places = cf.Places(0, 0, 1, 1, rows=2, columns=2)
    assert places.take(frame({"lon": [0.1, 0.9], "lat": [0.9, 0.9]})).tolist() == [[1, 0], [1, 1]]
    assert cf.Grid(5, 5).take(frame({"column": [1], "row": [4]})).tolist() == [[4, 1]]
    mechanism = cf.Product(
        a=cf.RandomizedResponse(people.alphabets[0], 30.0), b=cf.RandomizedResponse(people.alphabets[1], 30.0)
    )
    assert mechanism.privatize(frame({"b": [1, 2], "a": [8, 9]}), rng=1).tolist() == [[8, 1], [9, 2]]


def test_rows_may_have_names_too() -> None:
    people = cf.Product(
        a=cf.RandomizedResponse(cf.Integers(0, 9), 30.0), b=cf.RandomizedResponse(cf.Integers(0, 9), 30.0)
    )
    rows: Any = [{"b": 1, "a": 8}, {"a": 9, "b": 2}]
    assert people.privatize(rows, rng=1).tolist() == [[8, 1], [9, 2]]
    assert people.privatize(rows[:1], rng=1).tolist() == [[8, 1]]
    assert people.privatize(rows[0], rng=1) == (8, 1)


@pytest.mark.parametrize("frame", FRAMES)
def test_one_column_is_taken_and_two_are_not(frame: Any) -> None:
    ages = cf.Integers(0, 99)
    assert ages.take(frame({"age": [30, 31]})).tolist() == [30, 31]
    with pytest.raises(InvalidParameterError, match=r"needs one column; got age, sex. Choose one"):
        ages.take(frame({"age": [30], "sex": [1]}))


MOMENT = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
ZONES = ("UTC", "Europe/Berlin", "Asia/Tokyo")


def test_one_moment_on_three_clocks_is_three_values() -> None:
    moments: Any = [MOMENT.astimezone(zoneinfo.ZoneInfo(zone)) for zone in ZONES] * 2
    assert cf.Hours().take(moments).tolist() == [23, 0, 8] * 2
    assert cf.Weekdays().take(moments).tolist() == [6, 0, 0] * 2
    assert cf.Dates("2026-03-01", "2026-03-02").take(moments).tolist() == [0, 1, 1] * 2


@pytest.mark.parametrize("zone", ZONES)
def test_a_column_is_read_by_its_own_clock_everywhere(zone: str, tmp_path: Path) -> None:
    hour = MOMENT.astimezone(zoneinfo.ZoneInfo(zone)).hour
    arrow = pyarrow.array([MOMENT], pyarrow.timestamp("us", zone))
    series = pandas.Series([MOMENT]).dt.tz_convert(zone)
    columns = [
        arrow,
        pyarrow.chunked_array([arrow]),
        polars.Series([MOMENT]).dt.convert_time_zone(zone),
        series,
        series.astype(pandas.ArrowDtype(arrow.type)),
        series.astype("category"),
        arrow.dictionary_encode(),
        pyarrow.chunked_array([arrow]).dictionary_encode(),
    ]
    assert [cf.Hours().take(column).tolist() for column in columns] == [[hour]] * 8
    both = cf.Attributes(hour=cf.Hours(), x=cf.Integers(0, 9))
    for frame in FRAMES[1:]:
        column = arrow if frame is pyarrow.table else columns[2] if frame is polars.DataFrame else series
        assert both.take(frame({"x": [3], "hour": column})).tolist() == [[hour, 3]]
    parquet.write_table(pyarrow.table({"hour": arrow}), tmp_path / "t.parquet")
    rows = next(read_value_batches(tmp_path / "t.parquet", survey_of(cf.Hours(), "hour")))
    assert rows.values.tolist() == [hour]


def test_columns_that_cannot_be_read_are_refused_with_the_cure() -> None:
    with pytest.raises(InvalidParameterError, match=r"cannot be read in their zone.*Nowhere/Land.* Convert them"):
        cf.Hours().take(pyarrow.array([1], pyarrow.timestamp("s", "Nowhere/Land")))
    with pytest.raises(InvalidParameterError, match=r"Give frame.collect\(\) instead"):
        cf.Hours().take(polars.DataFrame({"hour": [1]}).lazy())


def test_the_hour_that_autumn_has_twice_is_read(tmp_path: Path) -> None:
    moments = [dt.datetime(2025, 10, 26, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2)]
    parquet.write_table(
        pyarrow.table({"hour": pyarrow.array(moments, pyarrow.timestamp("ns", "Europe/Berlin"))}),
        tmp_path / "t.parquet",
    )
    rows = next(read_value_batches(tmp_path / "t.parquet", survey_of(cf.Hours(), "hour")))
    assert rows.values.tolist() == [2, 2, 3]


MISSING = [None, float("nan"), pandas.NA, pandas.NaT]


@each("nothing", MISSING, ids=repr)
@each(
    ("alphabet", "value"),
    [
        (cf.Categories(["a", "b", "o"], other="o"), "a"),
        (cf.Scale(["a", "b"], other="b"), "a"),
        (cf.Integers(0, 99), 30),
        (SALARIES, 30.5),
        (cf.Hours(), "10:00"),
        (cf.Hours(), MOMENT),
    ],
    ids=repr,
)
def test_missing_values_are_told_as_such(alphabet: cf.Alphabet, value: Any, nothing: Any) -> None:
    for given in ([value, nothing, value], pandas.Series([value, nothing, value], dtype=object)):
        with pytest.raises(
            ConfideError, match=r"1 of 3 values for .* is missing; first: .* at position 1. Leave out"
        ) as caught:
            alphabet.encode(alphabet.take(given))
        assert caught.value.positions == (1,)  # type: ignore[attr-defined]


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(ConfideError, match=r"first: 30.5 at position 1, which is not a whole number. Round it"):
        cf.Integers(0, 99).encode([30, 30.5])
    with pytest.raises(ConfideError, match=r"first: 140.0 at position 0. Clip them or widen"):
        cf.Integers(0, 99).encode([140.0])


# Money.


def test_dollars_fall_into_bins_of_thousands() -> None:
    texts = ["$58,000", "58000", "$19,999.99", "$20,000.00", "-$1", "$58,00", "$1,234.", "58.000,00"]
    assert [MONEY.read([text]) for text in texts] == [2, 2, 0, 1, -1, None, None, None]
    given: list[Any] = [19999.99, 20000, "$250,000", np.float32(20000.0), 99999]
    assert MONEY.take(given).tolist() == [0, 1, 3, 1, 2]
    assert MONEY.take(np.array([19999.99, 20000.0])).tolist() == [0, 1]
    assert MONEY.take(np.array([19999, 20000])).tolist() == [0, 1]
    assert MONEY.fault(["$58,00"]) == "a sign or unit beside a number"
    assert SALARIES.hint(["$58,000"]) == 'it is a number under format = "$1,234"'
    assert "multiplied by 0.001" in MONEY.reading
    assert "$1,234.56" in MONEY.reading


@pytest.mark.parametrize("scale", [12, 0.3, 7e-5, 1e12])
def test_a_scale_is_exact_for_texts_floats_integers_and_sql(scale: float) -> None:
    bins = cf.Bins(edges=[-1, 0, 0.1, 10, 20], below=True, above=True, scale=scale)
    exact = Fraction(repr(scale))
    near = [float(edge / exact) for edge in bins.edges]
    amounts = [one for x in near for one in (np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf))] + [0.7, 5.0]
    wanted = [sum(Fraction(repr(float(x))) * exact >= edge for edge in bins.edges) for x in amounts]
    assert bins.take(np.array(amounts)).tolist() == wanted
    assert [bins.read([repr(float(x))]) for x in amounts] == wanted
    whole = [-9, -1, 0, 1, 2, 40]
    assert bins.take(whole).tolist() == [sum(x * exact >= edge for edge in bins.edges) for x in whole]
    duckdb = pytest.importorskip("duckdb")
    found = [
        duckdb.sql(f"SELECT {bins.sql('x')} FROM (SELECT CAST({float(x)!r} AS DOUBLE) AS x)").fetchall()[0][0]  # noqa: S608
        for x in amounts
    ]
    assert found == wanted


@pytest.mark.parametrize(
    "setting",
    ["format=''", 'format="1,234,56"', 'format="$5"', "format=3", "scale=0", "scale=-1", "scale=true", 'scale="x"'],
)
def test_a_bad_format_or_scale_is_refused(setting: str) -> None:
    text = f'[alphabet]\nkind="bins"\nedges=[0,1,2]\n{setting}\n[mechanism]\nkind="randomized-response"\nepsilon=1.0'
    if setting == "format=''":
        assert parse_survey(text).alphabet == cf.Bins(edges=[0, 1, 2])
        return
    with pytest.raises(ConfideError, match=r"(format must show how 1234|scale must be)"):
        parse_survey(text)


def test_format_and_scale_are_part_of_the_survey() -> None:
    plain, money = survey_of(SALARIES, "pay"), survey_of(MONEY, "pay")
    assert plain.fingerprint != money.fingerprint
    assert json.loads(money.to_json())["alphabet"]["scale"] == 0.001
    assert cf.Survey.from_json(money.to_json()).alphabet == parse_survey(money.text()).alphabet == MONEY
    part: Any = MONEY.between(0, 1)
    assert (part.format, part.scale) == (MONEY.format, MONEY.scale)


def test_numbers_of_parquet_are_not_read_by_the_format(tmp_path: Path) -> None:
    euros = cf.Bins(edges=[0, 2, 5000], format="1.234,56")
    for column, wanted in ((pyarrow.array([1.234]), 0), (pyarrow.array(["1.234"]), 1)):
        parquet.write_table(pyarrow.table({"pay": column}), tmp_path / "p.parquet")
        assert next(read_value_batches(tmp_path / "p.parquet", survey_of(euros, "pay"))).values.tolist() == [wanted]


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_narrow_floats_of_parquet_are_the_decimals_they_print_as(tmp_path: Path, kind: str) -> None:
    bins = cf.Bins(edges=[0, 0.7, 1])
    numbers = np.array([0.7, 0.1, 0.7], dtype=kind)
    parquet.write_table(pyarrow.table({"x": pyarrow.array(numbers)}), tmp_path / "f.parquet")
    rows = next(read_value_batches(tmp_path / "f.parquet", survey_of(bins, "x")))
    assert rows.values.tolist() == bins.take(numbers).tolist() == [1, 0, 1]


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(["pay", *rows]) + "\n", encoding="utf-8")
    return path


def test_most_people_in_an_open_bin_stop_a_file(tmp_path: Path) -> None:
    survey, output = survey_of(SALARIES, "pay"), tmp_path / "r.csv"
    dollars = write(tmp_path / "v.csv", ["58000"] * 11 + ["58"] * 10)
    with pytest.raises(
        DataFileError, match=r"11 of 21 people of .* open bin '100 thousand or more'.*scale = 0.001.*--force"
    ):
        privatize_file(dollars, output, survey)
    assert not output.exists()
    assert privatize_file(dollars, output, survey, force=True).account.people == 21
    assert privatize_file(dollars, output, survey_of(MONEY, "pay")).account.people == 21
    assert privatize_file(write(dollars, ["58000"] * 10 + ["58"] * 10), output, survey).account.people == 20
    assert privatize_file(write(dollars, ["250"]), output, survey).account.people == 1
    both = cf.Survey(cf.Product(pay=survey.mechanism, x=cf.RandomizedResponse(cf.Integers(0, 1), 1.0)))
    dollars.write_text("pay,x\n" + "58000,1\n" * 20, encoding="utf-8")
    with pytest.raises(DataFileError, match="open bin 'pay 100 thousand or more'"):
        privatize_file(dollars, output, both)


def test_most_rows_rejected_stop_a_file_and_are_set_aside(tmp_path: Path) -> None:
    survey, output, rejects = survey_of(SALARIES, "pay"), tmp_path / "r.csv", tmp_path / "x.csv"
    values = write(tmp_path / "v.csv", ["50"] * 10 + ["$5"] * 11)
    with pytest.raises(DataFileError, match=r"11 of 21 rows of .* cannot be used \(11 a sign or unit(.|\n)*--force"):
        privatize_file(values, output, survey, rejects=rejects)
    assert not output.exists()
    assert len(rejects.read_text(encoding="utf-8").splitlines()) == 12
    assert privatize_file(values, output, survey, rejects=rejects, force=True).account.accepted == 10


# Files.


@pytest.mark.parametrize("header", [",Age", "Age", "AGE,name", "name,Age"])
def test_a_header_of_pandas_is_read(tmp_path: Path, header: str) -> None:
    path, names = tmp_path / "v.csv", header.split(",")
    path.write_text(
        header + "\n" + ",".join("30" if name.lower() == "age" else "7" for name in names) + "\n", encoding="utf-8"
    )
    assert read_values(path, survey_of(cf.Integers(0, 99), "age")).values.tolist() == [30]


def test_a_column_is_not_guessed_among_several(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("Age,AGE\n1,2\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="no column 'age'"):
        read_values(tmp_path / "v.csv", survey_of(cf.Integers(0, 99), "age"))
    (tmp_path / "v.csv").write_text(",30\n0,31\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="header line of column names; its first line holds the value '30'"):
        read_values(tmp_path / "v.csv", survey_of(cf.Integers(0, 99), "age"))


def test_rows_keep_their_numbers_through_every_batch(tmp_path: Path) -> None:
    numbers = [1] * 7
    numbers[1] = numbers[4] = numbers[6] = 500
    parquet.write_table(pyarrow.table({"age": numbers}), tmp_path / "v.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(LIMITS), "parquet_rows", 2)
        batches = list(read_value_batches(tmp_path / "v.parquet", survey_of(cf.Integers(0, 99), "age")))
    assert len(batches) == 4
    assert [one.line for rows in batches for one in rows.rejected] == [2, 5, 7]


@pytest.mark.parametrize("text", ['[{"report": 1}, {"report": 2}]', '[\n {"report": 1}\n]'])
def test_a_json_array_of_records_is_refused_with_the_cure(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"holds a JSON array, where one object a line is needed.*lines=True"):
        cf.count(str(tmp_path / "r.json"), survey_of(cf.Integers(0, 9), "x"))


def test_json_lines_that_are_nested_too_deep_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"report":' + "[" * 90000 + "]" * 90000 + '}\n{"report": 1}\n', encoding="utf-8")
    found = cf.count(str(tmp_path / "r.jsonl"), survey_of(cf.Integers(0, 9), "x"))
    assert (found.rows.accepted, found.rows.total_rejected) == (1, 1)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 90000, "a." * 3000 + "a = 1", '{"a": ' * 90000, '{"a": ' * 900 + "1" + "}" * 900]
)
def test_surveys_that_are_nested_too_deep_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SurveyError):
        load_survey(tmp_path / "s.toml")


def test_polygons_of_one_area_that_overlap_are_joined() -> None:
    squares: Any = [[[[x, 0], [x + 2, 0], [x + 2, 2], [x, 2], [x, 0]]] for x in (0, 1)]
    area = cf.read_areas({"type": "MultiPolygon", "coordinates": squares})[0]
    assert area.contains([(1, 0.5), (1, 1.5), (1, 2.5), (1, 3.5)]).tolist() == [True, True, True, False]

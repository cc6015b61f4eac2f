"""Queries: a small grammar, its meaning on every alphabet, and that nothing else is understood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each

import confide as cf
from confide.errors import ConfideError, InvalidParameterError
from confide.values.queries import as_weights, describe_query

AGES = cf.Integers(-5, 9)
ANSWERS = cf.Categories(["yes", "no", "not yet"])
CELLS = cf.Grid(3, 4, holes=[(3, 1)], first_row=2)
PAIRS = cf.Attributes(first=cf.Integers(0, 2), second=cf.Categories(["f", "m"]))


def chosen(query: Any, alphabet: cf.Alphabet, name: str | None = None) -> list[Any]:
    values = alphabet.decode(np.flatnonzero(as_weights(query, alphabet, name))).tolist()
    return [tuple(value) if isinstance(value, list) else value for value in values]


@each(
    ("query", "meant"),
    [
        ("age >= 7", lambda age: age >= 7),
        ("age > 7", lambda age: age > 7),
        ("age < -2", lambda age: age < -2),
        ("age<=-2", lambda age: age <= -2),
        ("age = 3", lambda age: age == 3),
        ("age == 3", lambda age: age == 3),
        ("age != 3", lambda age: age != 3),
        ("-1 <= age < 4", lambda age: -1 <= age < 4),
        ("4 > age", lambda age: age < 4),
        ("age in -2..3", lambda age: -2 <= age <= 3),
        ("age in {1, 2, 5}", lambda age: age in {1, 2, 5}),
        ("age in [1, 2, 100]", lambda age: age in {1, 2}),
        ("age not in {1, 2, 5}", lambda age: age not in {1, 2, 5}),
        ("not age in 1..3", lambda age: not 1 <= age <= 3),
        ("age < 0 or age > 5 and age != 7", lambda age: age < 0 or (age > 5 and age != 7)),
        ("(age < 0 or age > 5) and age != 7", lambda age: (age < 0 or age > 5) and age != 7),
        ("age > 2.5", lambda age: age > 2.5),
        ("((age > 2))", lambda age: age > 2),
    ],
)
def test_on_numbers(query: str, meant: Any) -> None:
    expected = [age for age in range(-5, 10) if meant(age)]
    assert chosen(query, AGES) == chosen(query, AGES, "age") == chosen(meant, AGES) == expected


def test_on_categories() -> None:
    assert chosen("answer == yes", ANSWERS) == chosen("answer = 'yes'", ANSWERS) == ["yes"]
    assert chosen('answer in {no, "not yet"}', ANSWERS) == chosen("answer != yes", ANSWERS) == ["no", "not yet"]
    assert chosen("code >= 10", cf.Categories([3, 10, 30])) == [10, 30]


def test_on_cells_and_holes() -> None:
    assert chosen("row == 2", CELLS) == [(2, 0), (2, 1), (2, 2), (2, 3)]
    assert chosen("column in 1..2 and row <= 3", CELLS) == [(2, 1), (2, 2), (3, 2)]
    assert chosen("cell in (3, 1)..(4, 2)", CELLS) == [(3, 2), (4, 1), (4, 2)]
    assert chosen("cell in {(2, 0), (4, 3)}", CELLS) == [(2, 0), (4, 3)]
    assert chosen("cell == (2, 0)", CELLS) == [(2, 0)]
    assert len(chosen("cell != (2, 0)", CELLS)) == CELLS.size - 1
    assert chosen("(row > 3 or column == 0) and not cell == (4, 3)", CELLS)[-1] == (4, 2)


def test_holes_are_never_chosen() -> None:
    grid = cf.Grid(3, 4, holes=[(1, 1)])
    assert (1, 1) not in chosen("row == 1", grid)
    assert chosen("cell in (1, 0)..(1, 2)", grid) == [(1, 0), (1, 2)]


def test_on_pairs() -> None:
    assert chosen("first >= 1 and second == m", PAIRS) == [(1, "m"), (2, "m")]
    assert chosen("second in {f}", PAIRS) == [(0, "f"), (1, "f"), (2, "f")]


def test_functions_and_weights() -> None:
    assert as_weights(lambda cell: cell[0] == 2, CELLS).sum() == 4
    np.testing.assert_array_equal(as_weights(lambda age: age, AGES), np.arange(-5, 10))
    np.testing.assert_array_equal(as_weights([0.5, 1, 2], ANSWERS), [0.5, 1, 2])
    assert describe_query("age  >=\n 65") == "age >= 65"
    assert describe_query([1, 2]) == "given weights"
    assert describe_query(abs) == "abs"


def test_a_survey_whose_name_is_no_word_takes_any() -> None:
    assert chosen("town == yes", ANSWERS, "home town") == ["yes"]
    assert chosen("value == yes", ANSWERS, "answer") == ["yes"]


@each(
    ("query", "alphabet", "words"),
    [
        ("", AGES, "found the end"),
        ("age", AGES, "expected a comparison"),
        ("age >", AGES, "expected a value"),
        ("age >= 200", AGES, "none of the values"),
        ("age > yes", AGES, "cannot be compared"),
        ("agee > 3", AGES, "'agee' is not a name here; known: age, value"),
        ("age > 3 age < 5", AGES, "expected the end"),
        ("age > 3 and", AGES, "found the end"),
        ("age > 3 or height < 2", AGES, "'height' is not a name"),
        ("age in {1, 2", AGES, "expected '}'"),
        ("age in 1", AGES, "expected '..'"),
        ("age not 3", AGES, "expected 'in'"),
        ("(age > 3", AGES, "expected ')'"),
        ("age >= 1; import os", AGES, "cannot be read from"),
        ("__import__('os')", AGES, "not a name here"),
        ("age ** 2 > 3", AGES, "cannot be read"),
        ("age > 1 and not", AGES, "found the end"),
        ("(" * 60 + "age > 1" + ")" * 60, AGES, "nested more than 50"),
        ("age > 1 or " * 300 + "age > 1", AGES, "2,000 characters"),
        ("answer == yess", ANSWERS, "did you mean 'yes'"),
        ("answer < yes", ANSWERS, "has no order"),
        ("answer == 3", ANSWERS, "cannot be compared"),
        ("height == 1", CELLS, "known: row, column, cell"),
        ("cell == 1", CELLS, "a pair (row, column)"),
        ("cell < (1, 2)", CELLS, "a box is written"),
        ("cell == (1.5, 2)", CELLS, "pair of whole numbers"),
        ("row == (1, 2)", CELLS, "cannot be compared"),
        ("third == 1", PAIRS, "known: first, second"),
        ([1, 2], AGES, "one weight for each of 15 values"),
        ([float("nan")] * 15, AGES, "finite"),
        (object(), AGES, "a text such as"),
        ("age > 3", cf.Integers(), "is unbounded"),
    ],
)
def test_what_makes_no_sense_is_refused(query: Any, alphabet: cf.Alphabet, words: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        as_weights(query, alphabet, "age" if alphabet is AGES else None)
    assert words in str(caught.value)


@given(st.text(alphabet="age row<>=!()[]{}.,0123456789'\"andornoti ", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    for alphabet in (AGES, ANSWERS, CELLS, PAIRS):
        try:
            weights = as_weights(text, alphabet)
        except ConfideError:
            continue
        assert set(weights.tolist()) <= {0.0, 1.0}
        assert weights.any()


def test_masked_weights_are_refused() -> None:
    weights = np.ma.masked_array(np.ones(3), mask=[True, False, False])
    with pytest.raises(InvalidParameterError, match="1 of 3 weights of a query are masked"):
        as_weights(weights, cf.Integers(0, 2))


SALARIES = cf.Bins(edges=[0, 50_000, 100_000, 200_000], above=True, unit="dollar")
THOUSANDS = cf.Bins(edges=[0, 50, 100, 200], above=True, unit="thousand dollars")
YEARS = cf.Integers(0, 99, unit="year")
EUROS = cf.Integers(0, 3000, unit="euro")


@each(
    ("query", "alphabet", "plain"),
    [
        ("> 100000", SALARIES, "salary >= 100000"),
        ("salary > 100,000", SALARIES, "salary >= 100000"),
        ("salary >= 100k", SALARIES, "salary >= 100000"),
        ("salary >= $100k", SALARIES, "salary >= 100000"),
        ("salary >= 0.1M dollars", SALARIES, "salary >= 100000"),
        ("salary >= 100 thousand USD", cf.Bins(edges=[0, 100_000], above=True, unit="USD"), "salary >= 100000"),
        ("50,000 <= salary < 200,000", SALARIES, "50000 <= salary < 200000"),
        ("salary <= 100,000.00", SALARIES, "salary < 100000"),
        ("(50,000 <= salary) and < 200k", SALARIES, "50000 <= salary < 200000"),
        ("salary in 50k..100k", SALARIES, "50000 <= salary < 100000"),
        ("salary >= $100k", THOUSANDS, "salary >= 100"),
        ("salary >= 100 thousand", THOUSANDS, "salary >= 100"),
        ("salary >= 100", THOUSANDS, "salary >= 100"),
        ("Salary ≥ 0.1 million dollars", THOUSANDS, "salary >= 100"),
        (">= 65 years", YEARS, "salary >= 65"),
        ("18 years <= SALARY < 21 Years", YEARS, "18 <= salary < 21"),
        ("in 20..30", YEARS, "salary in 20..30"),
        ("not in {20, 30}", YEARS, "salary not in {20, 30}"),
        ("!= 1,500", EUROS, "salary != 1500"),
        ("salary ≤ €1.5k", EUROS, "salary <= 1500"),
        ("salary in {1k, 2k}", EUROS, "salary in {1000, 2000}"),
        ("cell == (100,200)", cf.Grid(101, 201), "cell == (100, 200)"),
    ],
)
def test_numbers_as_people_write_them(query: str, alphabet: cf.Alphabet, plain: str) -> None:
    assert as_weights(query, alphabet, "salary").tolist() == as_weights(plain, alphabet, "salary").tolist()


@each(
    ("query", "alphabet", "words"),
    [
        # Never two values where one was meant, nor one where two were.
        ("salary in {100,200}", EUROS, "100,200 may be one number or several here; write 100200 or 100, 200"),
        ("salary in {5, 1,000}", EUROS, "1,000 may be one number or several here; write 1000 or 1, 000"),
        ("salary in [1,000,000]", EUROS, "1,000,000 may be one number or several here"),
        ("salary > 1,00", EUROS, "expected the end, found ','"),
        ("salary > 100,0000", EUROS, "expected the end, found ','"),
        ("salary > 1,234,56", EUROS, "expected the end, found ','"),
        ("salary > $100", EUROS, "the values are in euro, not in $"),
        ("salary > £30", YEARS, "the values are in year, not in £"),
        ("salary > 30 miles", YEARS, "expected the end, found 'miles'"),
        ("salary > 5m", EUROS, "expected the end, found 'm'"),
        ("salry > 5", EUROS, "(did you mean 'salary'?)"),
        ("frist >= 1", PAIRS, "(did you mean 'first'?)"),
        ("> 1", PAIRS, "the name of an attribute"),
        ("> 1", CELLS, "expected a value"),
        ("median", YEARS, "estimate.quantile(0.5), or confide estimate --query median"),
        ("median salary", YEARS, "estimate.quantile(0.5), or confide estimate --query median"),
        ("average", YEARS, "estimate.mean(), or confide estimate --query mean"),
        ("quantile 0.9", YEARS, "confide estimate --query 'quantile 0.9'"),
    ],
)
def test_what_could_mean_two_things_is_refused(query: str, alphabet: cf.Alphabet, words: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        as_weights(query, alphabet, None if alphabet in (PAIRS, CELLS) else "salary")
    assert words in str(caught.value)


def test_an_answer_at_an_edge_says_where_the_edge_belongs() -> None:
    mechanism = cf.RandomizedResponse(SALARIES, 3.0)
    found = cf.estimate(cf.tally([0, 1, 2, 3], [40, 30, 20, 10]), mechanism)
    assert found.query("salary > 100k").remark == "exactly 100,000 counts as above: a bin begins at its lower edge"
    assert found.query("salary >= 100k").remark == ""
    pairs = cf.Attributes(pay=SALARIES, answer=ANSWERS)
    from confide.values.queries import remark_on

    assert "exactly 100,000" in remark_on("pay > 100000 and answer == yes", pairs)


EXAMPLES = [
    (YEARS, "age", "age >= 50"),
    (SALARIES, None, "value >= 100000"),
    (ANSWERS, "answer", "answer in {yes, no}"),
    (cf.Categories(["it's", "not yet"]), "x", "x in {\"it's\", 'not yet'}"),
    (cf.Categories([3, 10, 30]), "code", "code in {3, 10}"),
    (CELLS, None, "row in 2..3"),
    (PAIRS, None, "first >= 1 and second in {f, m}"),
    (cf.Attributes(home=cf.Grid(3, 3), age=YEARS), None, "home_row in 0..1 and age >= 50"),
    (cf.Dates("2026-01-01", "2026-12-31", every="week"), "week", "week >= 2026-W27"),
    (cf.Scale(["never", "now and then", "often"]), "answer", "answer >= 'now and then'"),
    (cf.Weekdays(), "day", None),
    (cf.Hours(), "hour", None),
    (cf.Places(40.6, -74.1, 40.9, -73.8, cell="2 km"), "home", None),
    (cf.Integers(5, 5), "home town", "value >= 5"),
]


@each(("alphabet", "name", "example"), EXAMPLES, ids=lambda one: type(one).__name__)
def test_the_example_in_an_error_fits_the_survey(alphabet: cf.Alphabet, name: str | None, example: str | None) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        as_weights("x y z ?", alphabet, name)
    shown = str(caught.value).partition("Write for example: ")[2]
    assert example in (None, shown)
    assert as_weights(shown, alphabet, name).any()


@pytest.mark.parametrize(
    ("spoken", "signs"),
    [
        ("over 65", "> 65"),
        ("age older than 65", "age > 65"),
        ("under 30", "< 30"),
        ("fewer than 30", "< 30"),
        ("at least 65", ">= 65"),
        ("at most 65", "<= 65"),
        ("up to 65", "<= 65"),
        ("between 18 and 30", "age in 18..30"),
        ("65+", ">= 65"),
        ("65 or older", ">= 65"),
        ("17 or younger", "<= 17"),
        ("not over 65 years", "<= 65"),
        ("under 18 or over 65", "age < 18 or age > 65"),
        ("age >= 65 or under 18", "age >= 65 or age < 18"),
    ],
)
def test_comparisons_in_words_are_those_in_signs(spoken: str, signs: str) -> None:
    ages = cf.Integers(0, 99, unit="year")
    np.testing.assert_array_equal(as_weights(spoken, ages, "age"), as_weights(signs, ages, "age"))


def test_words_of_categories_are_no_comparisons() -> None:
    ways = cf.Categories(["over 65", "under 65", "65+"])
    assert as_weights('way == "over 65"', ways, "way").tolist() == [1, 0, 0]
    assert as_weights("way in {'65+', 'under 65'}", ways, "way").tolist() == [0, 1, 1]

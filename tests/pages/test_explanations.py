"""Guarantees in words: right numbers, sensible pairs, for any alphabet."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import confide as cf
from confide.explanations import describe_mechanism, describe_value, explain_guarantee, plural, with_unit


def survey(mechanism: cf.Mechanism, name: str = "value") -> cf.Survey:
    return cf.Survey(mechanism, name)


def test_ages_get_neighbours_a_middling_and_a_far_pair() -> None:
    sentences = explain_guarantee(survey(cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05), "age"))
    told = "are told apart by a factor of at most"
    assert sentences == [
        f"Age 30 and age 31, 1 year apart, {told} 1.05: even odds become 51 to 49 at most.",
        f"Age 30 and age 35, 5 years apart, {told} 1.28: even odds become 56 to 44 at most.",
        f"Age 30 and age 80, 50 years apart, {told} 12.2: even odds become 92 to 8 at most.",
    ]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 3), (5, 7), (17, 90), (-1000, 10**6), (0, 2**50)])
def test_pairs_lie_in_the_alphabet_and_state_its_factor(low: int, high: int) -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(low, high), 0.125)
    sentences = explain_guarantee(survey(mechanism))
    assert 1 <= len(sentences) <= 3
    for sentence in sentences:
        left, right = (int(number) for number in re.findall(r"value (-?\d+)", sentence, flags=re.IGNORECASE))
        assert low <= left < right <= high
        stated = re.search(r"at most (1[.\d]*|\d+[.\d]*):", sentence)
        if stated:
            assert float(stated[1]) == pytest.approx(mechanism.guarantee.factor(left, right), rel=0.01)


def test_spacing_and_unit_are_in_the_distance() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 10, spacing=2.5, unit="km"), 0.1)
    assert "2.5 km apart" in explain_guarantee(survey(mechanism))[0]


def test_a_huge_factor_stays_short_and_a_tiny_one_is_not_one() -> None:
    strong = explain_guarantee(survey(cf.TruncatedGeometric(cf.Integers(0, 99), 2.0)))
    assert strong[-1].endswith("by a factor of at most 10^44: a report may all but tell which of the two it is.")
    weak = explain_guarantee(survey(cf.RandomizedResponse(cf.Integers(0, 9), 1e-5)))
    assert "at most 1.00001: even odds stay all but even" in weak[0]


def test_local_differential_privacy_gets_one_example() -> None:
    grid = cf.datasets.manhattan().alphabet
    (sentence,) = explain_guarantee(survey(cf.RandomizedResponse(grid, 4.0)))
    assert sentence.startswith("Cell (row 6, column 7) and cell (row 16, column 7), 5 km apart, are told apart")
    assert "at most 54.6" in sentence
    assert sentence.endswith("The same holds for any other two values, however near or far.")


def test_categories_are_quoted_and_shortened() -> None:
    (sentence,) = explain_guarantee(survey(cf.RandomizedResponse(cf.Categories(["no", "y" * 99, "?"]), 1.0), "answer"))
    assert sentence.startswith(f'Answer "no" and answer "{"y" * 39}…" are told apart by a factor of at most 2.72')


def test_an_infinite_epsilon_names_a_report_that_gives_someone_away() -> None:
    mechanism = cf.FromMatrix(cf.Integers(1, 2), [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert math.isinf(mechanism.guarantee.epsilon)
    assert explain_guarantee(survey(mechanism)) == [
        "The report 2 can come from value 2, but never from value 1: whoever sees it knows that."
    ]


def test_reports_that_say_nothing_are_said_to_say_nothing() -> None:
    (sentence,) = explain_guarantee(survey(cf.FromMatrix(cf.Integers(1, 3), np.full((3, 2), 0.5))))
    assert "not told apart at all" in sentence
    (sentence,) = explain_guarantee(survey(cf.FromMatrix(cf.Integers(1, 1), [[0.5, 0.5]])))
    assert "only one value" in sentence


def test_metric_privacy_on_a_grid_speaks_of_cells() -> None:
    grid = cf.Grid(20, 14, spacing=0.5, unit="km")

    class Planar(cf.FromMatrix):
        @property
        def guarantee(self) -> cf.MetricPrivacy:  # type: ignore[override]
            return cf.MetricPrivacy(1.0, grid.metric, "km")

    sentences = explain_guarantee(survey(Planar(grid, np.full((280, 2), 0.5))))
    assert [re.findall(r"([\d.]+) km apart", sentence) for sentence in sentences] == [["0.5"], ["5"]]
    assert "at most 1.65" in sentences[0]


@pytest.mark.parametrize(
    ("amount", "unit", "words"),
    [
        (0.5234, "year", "0.523 years"),
        (1, "day", "1 day"),
        (12345.6, "km", "12,346 km"),
        (2, "", "2"),
        (0, "box", "0 boxes"),
    ],
)
def test_amounts_carry_their_unit(amount: float, unit: str, words: str) -> None:
    assert with_unit(amount, unit) == words


@pytest.mark.parametrize("unit", ["km", "kg", "EUR", "thousand", "m/s", "years", ""])
def test_symbols_have_no_plural(unit: str) -> None:
    assert plural(unit) == unit


def test_mechanisms_and_values_have_names() -> None:
    assert (
        describe_mechanism(survey(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0))) == "the truncated geometric mechanism"
    )
    assert describe_value(cf.Categories(["a", "b"]), 1, "grade") == 'grade "b"'

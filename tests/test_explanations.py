"""Guarantees in words: right numbers, sensible pairs, for any alphabet."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide import Status
from confide.estimates.explanations import (
    WHEN_ENDED_EARLY,
    describe_alphabet,
    describe_certificate,
    describe_mechanism,
    describe_report,
    describe_value,
    explain_choices,
    explain_guarantee,
)
from confide.values.wording import label_value, plural, with_unit


def survey(mechanism: cf.Mechanism, name: str = "value") -> cf.Survey:
    return cf.Survey(mechanism, name)


def test_ages_get_neighbours_a_middling_and_a_far_pair() -> None:
    sentences = explain_guarantee(survey(cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05), "age"))
    assert sentences == [
        "An observer who thought age 30 and age 31 (1 year apart) equally likely would shift to at most 51:49.",
        "An observer who thought age 30 and age 35 (5 years apart) equally likely would shift to at most 56:44.",
        "An observer who thought age 30 and age 80 (50 years apart) equally likely would shift to at most 92:8.",
    ]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 3), (5, 7), (17, 90), (-1000, 10**6), (0, 2**50)])
def test_pairs_lie_in_the_alphabet_and_state_its_factor(low: int, high: int) -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(low, high), 0.125)
    sentences = explain_guarantee(survey(mechanism))
    assert 1 <= len(sentences) <= 3
    for sentence in sentences:
        left, right = (int(number) for number in re.findall(r"value (-?\d+)", sentence, flags=re.IGNORECASE))
        assert low <= left < right <= high
        stated = re.search(r"at most ([.\d]+):([.\d]+)\.$", sentence)
        assert stated or "almost certain" in sentence
        if stated:
            assert float(stated[1]) == pytest.approx(100 / (1 + 1 / mechanism.guarantee.factor(left, right)), abs=0.51)
            assert float(stated[1]) + float(stated[2]) == pytest.approx(100)


def test_spacing_and_unit_are_in_the_distance() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 10, spacing=2.5, unit="km"), 0.1)
    assert "2.5 km apart" in explain_guarantee(survey(mechanism))[0]


def test_a_huge_factor_stays_short_and_a_tiny_one_is_not_one() -> None:
    strong = explain_guarantee(survey(cf.TruncatedGeometric(cf.Integers(0, 99), 2.0)))
    assert strong[-1].endswith("could become almost certain: one may make a report up to 10^44 times as likely.")
    weak = explain_guarantee(survey(cf.RandomizedResponse(cf.Integers(0, 9), 1e-5)))
    assert "would still think so: neither makes a report more than 1.00001 times as likely" in weak[0]


def test_local_differential_privacy_gets_one_example() -> None:
    grid = cf.datasets.manhattan().alphabet
    (sentence,) = explain_guarantee(survey(cf.RandomizedResponse(grid, 4.0)))
    assert "thought cell (row 6, column 7) and cell (row 16, column 7) (5 km apart) equally likely" in sentence
    assert "at most 98:2" in sentence
    assert sentence.endswith("The same holds for any other two values, however near or far.")


def test_categories_are_quoted_and_shortened() -> None:
    (sentence,) = explain_guarantee(survey(cf.RandomizedResponse(cf.Categories(["no", "y" * 99, "?"]), 1.0), "answer"))
    assert f'thought answer "no" and answer "{"y" * 39}…" equally likely would shift to at most 73:27' in sentence


def test_an_infinite_epsilon_names_a_report_that_gives_someone_away() -> None:
    mechanism = cf.FromMatrix(cf.Integers(1, 2), [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert math.isinf(mechanism.guarantee.bound(1, 2))
    assert explain_guarantee(survey(mechanism)) == [
        "The report 2 can come from value 2, but never from value 1: anyone who sees it knows that."
    ]


def test_reports_that_say_nothing_are_said_to_say_nothing() -> None:
    (sentence,) = explain_guarantee(survey(cf.FromMatrix(cf.Integers(1, 3), np.full((3, 2), 0.5))))
    assert sentence.startswith("No report distinguishes value 2 and value 3")
    (sentence,) = explain_guarantee(survey(cf.FromMatrix(cf.Integers(1, 1), [[0.5, 0.5]])))
    assert "only one value" in sentence


def test_metric_privacy_on_a_grid_speaks_of_cells() -> None:
    grid = cf.Grid(20, 14, spacing=0.5, unit="km")

    class Planar(cf.FromMatrix):
        @property
        def guarantee(self) -> cf.mechanisms.MetricPrivacy:
            return cf.mechanisms.MetricPrivacy(1.0, grid.metric, "km")

    sentences = explain_guarantee(survey(Planar(grid, np.full((280, 2), 0.5))))
    assert [re.findall(r"([\d.]+) km apart", sentence) for sentence in sentences] == [["0.5"], ["5"]]
    assert "at most 62:38" in sentences[0]


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


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), "the truncated geometric mechanism"),
        (cf.Laplace(cf.Integers(), 1.0), "the Laplace mechanism"),
        (cf.TruncatedPlanarLaplace(cf.Grid(2, 2), 1.0), "the truncated planar Laplace mechanism"),
        (cf.Rappor(cf.Integers(0, 9), 1.0), "the RAPPOR mechanism"),
        (cf.RandomizedResponse(cf.Integers(0, 9), 1.0), "k-ary randomized response"),
        (cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [0.1, 0.9]]), "a mechanism given by its matrix"),
        (
            cf.Remapped(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), cf.Integers(1, 8)),
            "the truncated geometric mechanism with its reports remapped",
        ),
    ],
)
def test_mechanisms_have_names(mechanism: cf.Mechanism, name: str) -> None:
    assert describe_mechanism(survey(mechanism)) == name


def test_values_have_names() -> None:
    pairs = cf.Attributes(first=cf.Integers(18, 20), second=cf.Categories(["f", "m"]))
    assert describe_value(cf.Categories(["a", "b"]), 1, "grade") == 'grade "b"'
    assert describe_value(pairs, 3, "person") == 'person (first 19, second "m")'
    assert describe_value(cf.Lattice(), 0) == "cell (row 0, column 0)"
    assert label_value([19, "m"]) == "(19, m)"


def test_reports_have_names() -> None:
    rappor = cf.Rappor(cf.Integers(7, 9), 1.0)
    assert describe_report(rappor, 0b110) == "the bits of 8 and 9"
    assert describe_report(rappor, 0) == "no bit at all"
    assert describe_report(cf.TruncatedTaxicab(cf.Grid(2, 2), 1.0), 3) == "the report cell (row 1, column 1)"
    assert describe_report(cf.TruncatedGeometric(cf.Integers(5, 9), 1.0), 3) == "report 8"


@each("seed", range(20))
def test_on_a_grid_with_holes_pairs_are_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 9, size=2).tolist()
    mask = rng.random((rows, columns)) < 0.6
    mask[0, 0] = mask[-1, -1] = True
    grid = cf.Grid.from_mask(mask, spacing=0.5, unit="km")
    mechanism = cf.TruncatedTaxicab(grid, 1.0)
    sentences = explain_guarantee(survey(mechanism))
    assert 1 <= len(sentences) <= 3
    for sentence in sentences:
        cells = [tuple(map(int, cell)) for cell in re.findall(r"\(row (\d+), column (\d+)\)", sentence)]
        assert len(set(cells)) == 2
        distance = grid.distance(*cells)  # both are cells, or this would say that they are not
        assert f"{distance:.3g} km apart" in sentence


def test_neighbours_come_first_on_a_grid_with_holes() -> None:
    grid = cf.Grid(4, 5, holes=((2, 2), (1, 1)))
    sentences = explain_guarantee(survey(cf.TruncatedTaxicab(grid, 1.0)))
    assert "(1 apart)" in sentences[0]
    assert "(2 apart)" in sentences[1]


def test_pairs_differ_in_one_part_and_in_both() -> None:
    age = cf.TruncatedGeometric(cf.Integers(0, 99), 0.05)
    sex = cf.RandomizedResponse(cf.Categories(["f", "m"]), 1.0)
    sentences = explain_guarantee(survey(cf.Product(first=age, second=sex), "person"))
    assert [re.findall(r"first (\d+), second (.*?)\)", sentence) for sentence in sentences] == [
        [("30", '"f"'), ("35", '"f"')],
        [("30", '"f"'), ("30", '"m"')],
        [("30", '"f"'), ("35", '"m"')],
        [],
    ]
    told = [re.search(r"at most ([\d.]+):", sentence)[1] for sentence in sentences]  # type: ignore[index]
    assert told == ["56", "73", "78", "99.7"]  # the last: 1 / (1 + e^-(0.05 x 99 + 1))
    assert sentences[-1].startswith("Both together: an observer who thought any two people equally likely")


def test_pairs_with_an_unprotected_part() -> None:
    age = cf.TruncatedGeometric(cf.Integers(0, 9), 0.5)
    known = cf.FromMatrix(cf.Categories(["f", "m"]), np.eye(2))
    sentences = explain_guarantee(survey(cf.Product(first=age, second=known)))
    assert "would shift to at most" in sentences[0]
    assert sentences[1].startswith("Some reports rule out one of")


def test_an_unbounded_line_and_an_unbounded_plane() -> None:
    line = explain_guarantee(survey(cf.Geometric(cf.Integers(unit="year"), 0.05), "age"))
    assert line[1].endswith("thought age 0 and age 5 (5 years apart) equally likely would shift to at most 56:44.")
    plane = explain_guarantee(survey(cf.PlanarGeometric(cf.Lattice(0.5, "km"), 1.0)))
    assert plane[0].startswith(
        "An observer who thought cell (row 0, column 0) and cell (row 0, column 1) (0.5 km apart)"
    )


def test_remapping_may_take_away_what_gave_someone_away() -> None:
    open_matrix = cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    blind = cf.Remapped(open_matrix, cf.Integers(0, 0))
    assert explain_guarantee(survey(blind)) == ["No factor is promised between any two values."]


@pytest.mark.parametrize(
    ("certificate", "words"), [(math.nan, "negative entries"), (math.inf, "probability 0"), (0.125, "more than 0.125")]
)
def test_a_certificate_says_what_it_proves_or_why_there_is_none(certificate: float, words: str) -> None:
    assert words in describe_certificate(certificate)


def test_every_status_short_of_its_goal_has_a_cure() -> None:
    done = {Status.CLOSED_FORM, Status.CERTIFIED, Status.SMALL_STEP, Status.HELD_OUT, Status.AVERAGED}
    assert set(WHEN_ENDED_EARLY) == set(Status) - done


@pytest.mark.parametrize(
    ("alphabet", "words"),
    [
        (cf.Categories(["a"]), "1 category: a"),
        (cf.Categories([f"{place}" for place in range(9)]), "9 categories: 0, 1, 2, 3, 4, 5, 6, 7, ..."),
        (cf.Grid(1, 2, holes=[(0, 0)]), "1 cell, 1 row by 2 columns with 1 hole, spacing 1"),
        (cf.Integers(3, 3), "1 whole number, 3 to 3, spacing 1"),
        (cf.Integers(), "any whole number, spacing 1"),
        (cf.Lattice(), "any cell of an unbounded plane, spacing 1"),
        (cf.values.BitVectors(1), "1 bit, one for each value, packed into 1 whole number"),
        (cf.values.BitVectors(64), "64 bits, one for each value, packed into 2 whole numbers"),
    ],
)
def test_alphabets_in_words(alphabet: cf.Alphabet, words: str) -> None:
    assert describe_alphabet(alphabet) == words


def test_candidates_that_nothing_was_held_out_for_are_not_said_to_lack_reports() -> None:
    response = cf.RandomizedResponse(cf.Categories(list("abcdef")), 1.0)
    answer = cf.estimate(response.simulate_counts([500, 100, 100, 50, 50, 200], rng=1), response)
    sentences = explain_choices(answer.choices)
    assert [choice.score for choice in answer.choices] == [None, None]
    assert all(one.endswith("weighed by an unbiased estimate of the squared error") for one in sentences)
    few = cf.estimate(cf.tally(["a", "b"], [1, 1]), response)
    assert "no reports could be held out" in explain_choices(few.choices)[0]

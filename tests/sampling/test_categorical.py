"""Rows of weights are drawn from exactly: every boundary between outcomes lies where it should, to any depth."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling.scripted import LARGEST_WORD, ScriptedBits, SpelledBits

from confide.mechanisms.sampling import WeightRows, as_bits

HUGE = 3**700
"""A weight of 1,110 bits, as a hundred ages at a small epsilon need."""

weights = st.lists(st.integers(0, 9) | st.integers(0, HUGE), min_size=1, max_size=6).filter(any)
tables = st.integers(1, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 9) | st.integers(0, HUGE), min_size=size, max_size=size).filter(any),
        min_size=1,
        max_size=5,
    )
)


def outcome_at(table: list[list[int]], row: int, u: Fraction) -> int:
    """Return what is drawn from a row when the uniform real is u."""
    rows = WeightRows.of(table)
    return int(rows.draw(np.array([row]), SpelledBits(u))[0])


def expected_at(row: list[int], u: Fraction) -> int:
    """Return the outcome of the inverse distribution function at u: how many cumulative weights are at most u W."""
    return sum(bound <= u * sum(row) for bound in accumulate(row))


def test_one_two_five_over_eight_is_met_word_by_word() -> None:
    # With W = 8 the first three bits decide: enumerate all eight.
    for rest in (0, 1, (1 << 61) - 1):
        rows = WeightRows.of([[1, 2, 5]])
        script = ScriptedBits([(top << 61) | rest for top in range(8)] + [0] * 8)
        drawn = rows.draw(np.zeros(8, dtype=np.int64), script)
        assert np.bincount(drawn).tolist() == [1, 2, 5]


@given(table=tables, numerator=st.integers(0, 2**300 - 1), data=st.data())
def test_any_real_leads_to_its_outcome(table: list[list[int]], numerator: int, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(table) - 1))
    u = Fraction(numerator, 2**300)
    assert outcome_at(table, row, u) == expected_at(table[row], u)


@pytest.mark.parametrize("depth", [1, 40, 62, 63, 64, 65, 127, 128, 200, 400])
@given(table=tables)
def test_boundaries_lie_exactly_at_the_cumulative_weights(table: list[list[int]], depth: int) -> None:
    # A distance of 2^-depth from a boundary: past 63 bits only drawing more can tell the sides apart.
    step = Fraction(1, 2**depth)
    for number, row in enumerate(table):
        for bound in accumulate(row):
            for u in (Fraction(bound, sum(row)) - step, Fraction(bound, sum(row)) + step):
                if 0 <= u < 1:
                    assert outcome_at(table, number, u) == expected_at(row, u)


@pytest.mark.parametrize("row", [[1, 1], [1, 2, 5], [3, 0, 1], [0, 0, 4], [2**80, 2**80]])
def test_a_real_on_a_boundary_belongs_above_it(row: list[int]) -> None:
    for bound in accumulate(row):
        u = Fraction(bound, sum(row))
        if u < 1:
            assert outcome_at([row], 0, u) == expected_at(row, u)


def test_ties_draw_more_bits_and_others_do_not() -> None:
    rows = WeightRows.of([[1, 2]])
    third = SpelledBits(Fraction(1, 3) - Fraction(1, 2**100))
    assert rows.draw(np.array([0]), third).tolist() == [0]
    assert third.drawn == 2
    quarter = SpelledBits(Fraction(1, 4))
    assert rows.draw(np.array([0]), quarter).tolist() == [0]
    assert quarter.drawn == 1


def test_every_tie_of_a_batch_is_settled_with_its_own_bits() -> None:
    rows = WeightRows.of([[1, 2]])
    tie = 2**64 // 3
    script = ScriptedBits([tie, 0, tie, LARGEST_WORD, tie, 0, LARGEST_WORD, 0])
    assert rows.draw(np.zeros(5, dtype=np.int64), script).tolist() == [0, 0, 1, 1, 0]
    assert script.script == []


@given(row=weights)
def test_outcomes_of_weight_zero_never_come(row: list[int]) -> None:
    drawn = WeightRows.of([row]).draw(np.zeros(200, dtype=np.int64), as_bits(1))
    assert all(row[outcome] > 0 for outcome in drawn)
    for u in (Fraction(0), 1 - Fraction(1, 2**300)):
        assert row[outcome_at([row], 0, u)] > 0


def test_one_outcome_needs_no_bits() -> None:
    assert WeightRows.of([[3], [9]]).draw(np.array([0, 1, 1]), ScriptedBits([])).tolist() == [0, 0, 0]


def test_weights_that_no_machine_word_holds_keep_their_ratio() -> None:
    # P(0) = 1 / (1 + 2^-200): only u within 2^-200 of one leads to the other outcome.
    row = [2**200, 1]
    assert outcome_at([row], 0, 1 - Fraction(1, 2**199)) == 0
    assert outcome_at([row], 0, 1 - Fraction(1, 2**202)) == 1


@pytest.mark.parametrize("number_of_rows", [1, 2, 3, 256, 257])
def test_rows_do_not_mix(number_of_rows: int) -> None:
    table = [[0] * (number % 3) + [1] + [0] * (2 - number % 3) for number in range(number_of_rows)]
    numbers = np.arange(number_of_rows)
    for word in (0, 1 << 63, LARGEST_WORD):
        drawn = WeightRows.of(table).draw(numbers, ScriptedBits([word] * number_of_rows))
        assert drawn.tolist() == (numbers % 3).tolist()

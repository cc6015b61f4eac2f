"""Counts: made by tallying, added by merging, refused when they cannot be counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Counts, merge, tally
from confide.errors import InvalidCountsError

reports = st.lists(st.integers(-5, 5), max_size=30)


@given(sent=reports)
def test_tally_counts(sent: list[int]) -> None:
    counts = tally(sent)
    assert dict(zip(counts.reports.tolist(), counts.counts.tolist(), strict=True)) == Counter(sent)
    assert counts.reports.tolist() == sorted(set(sent))
    assert counts.total == len(sent)


@given(left=reports, right=reports)
def test_merging_is_tallying_all(left: list[int], right: list[int]) -> None:
    assert merge([tally(left), tally(right)]) == tally(left + right)
    assert tally(left) + tally(right) == tally(right) + tally(left)


def test_merging_nothing_is_nothing() -> None:
    assert merge([]) == tally([])
    assert merge([]).total == 0


def test_cells_and_strings_are_counted() -> None:
    cells = tally([(1, 2), (0, 5), (1, 2)])
    assert cells.reports.tolist() == [[0, 5], [1, 2]]
    assert cells.counts.tolist() == [1, 2]
    words = tally(["no", "yes", "no"])
    assert words.reports.tolist() == ["no", "yes"]
    assert words.counts.tolist() == [2, 1]
    assert tally(np.array(["no", "yes", "no"], dtype=object)) == words


def test_whole_floats_are_whole_numbers() -> None:
    assert tally([3.0, 5.0]) == tally([3, 5])
    assert tally([3.0]).reports.dtype == np.int64


def test_counts_of_any_width_add() -> None:
    small = tally(np.array([1, 2], dtype=np.uint8))
    assert (small + tally([2])).counts.tolist() == [1, 2]


def test_counted_reports_are_added_up() -> None:
    assert tally([3, 5, 3], counts=[1, 2, 4]).counts.tolist() == [5, 2]
    assert tally([3, 5], counts=[0.5, 0]).counts.tolist() == [0.5, 0]


def test_counts_are_copied_and_closed() -> None:
    sent = np.array([1, 2, 3])
    counts = tally(sent)
    sent[0] = 99
    assert counts.reports.tolist() == [1, 2, 3]
    for array in (counts.reports, counts.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_counts_compare_by_what_they_hold() -> None:
    assert tally([1, 2]) == tally([2, 1])
    assert tally([1, 2]) != tally([1, 2, 2])
    assert tally([1]) != "counts"
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally([1]))


def test_repr() -> None:
    assert repr(tally([1] * 1500 + [2])) == "Counts(1,501 reports, 2 distinct)"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ([1.0, float("nan")], r"Reports must be .*; got nan at position 1. Correct it"),
        ([float("inf")], r"Reports must be .*; got inf at position 0"),
        ([(1.0, 2.0), (3.0, float("nan"))], r"got nan at position 1"),
        ([(1, 2), (3,)], r"same number of parts"),
        (5, r"must form a sequence; got 0 dimensions"),
        ([[[1]]], r"must form a sequence; got 3 dimensions"),
        ([None, 1], r"Reports must be .*numbers or strings"),
        ([True, False], r"Reports must be .*numbers or strings; got bool"),
        ([1j], r"Reports must be .*numbers or strings; got complex"),
    ],
)
def test_bad_reports_are_refused(sent: object, message: str) -> None:
    with pytest.raises(InvalidCountsError, match=message):
        tally(sent)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, -2], r"finite and not negative; got -2 at position 1\.$"),
        ([-1, -2], r"got -1 at position 0 and 1 more"),
        ([1, float("nan")], r"finite and not negative; got nan at position 1"),
        ([float("inf"), 1], r"got inf at position 0"),
        ([1], r"one count for each: 2 are needed; got an array of shape \(1,\)"),
        ([[1, 2]], r"one count for each: 2 are needed; got an array of shape \(1, 2\)"),
        (["a", "b"], r"Counts must be numbers; got \['a', 'b'\]"),
    ],
)
def test_bad_counts_are_refused(counts: object, message: str) -> None:
    with pytest.raises(InvalidCountsError, match=message):
        tally([1, 2], counts)  # type: ignore[arg-type]


def test_reports_of_different_kinds_do_not_add() -> None:
    for other in (tally(["yes"]), tally([(1, 2)])):
        with pytest.raises(InvalidCountsError, match="different kinds of report cannot be merged"):
            merge([tally([1]), other])


def test_counts_made_by_hand_must_be_counts_too() -> None:
    with pytest.raises(InvalidCountsError):
        Counts(np.array([1]), np.array([-1.0]))

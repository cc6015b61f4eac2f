"""Counts: made by tallying, added by merging, refused when they cannot be counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Categories, Counts, Integers, Product, RandomizedResponse, TruncatedGeometric, merge, tally
from confide.errors import InvalidCountsError
from confide.evidence import Accumulator
from confide.evidence import counts as module

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
    assert Counts(np.array([3, 5]), np.array([0.5, 0])).counts.tolist() == [0.5, 0]


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


@pytest.mark.parametrize(
    ("reports", "counts", "expected"),
    [
        ([3, 3, 5], [1, 2, 4], {3: 3, 5: 4}),
        ([5, 3, 5], [1, 2, 4], {3: 2, 5: 5}),
        (["a", "b", "a"], [1, 2, 4], {"a": 5, "b": 2}),
        ([(0, 1), (1, 0), (0, 1)], [1, 2, 4], {(0, 1): 5, (1, 0): 2}),
        ([(3, "f"), (3, "m"), (3, "f")], [1, 2, 4], {(3, "f"): 5, (3, "m"): 2}),
        ([0.5, 0.25, 0.5], [1, 2, 4], {0.25: 2, 0.5: 5}),
    ],
)
def test_a_report_that_is_given_twice_is_one(reports: Any, counts: list[int], expected: dict[Any, int]) -> None:
    found = Counts(reports, counts)  # type: ignore[arg-type]
    keys = [tuple(one) if isinstance(one, list) else one for one in found.reports.tolist()]
    assert dict(zip(keys, found.counts.tolist(), strict=True)) == expected
    assert found.total == 7
    assert found == tally(reports, counts)


def test_distinct_reports_keep_their_order() -> None:
    assert Counts([5, 3], [1, 2]).reports.tolist() == [5, 3]  # type: ignore[arg-type]


def test_a_repeated_report_is_laid_out_whole() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), epsilon=1.0)
    laid = mechanism.lay_out(Counts([3, 3, 5], [1, 2, 4]))  # type: ignore[arg-type]
    assert (laid[3], laid[5], laid.sum()) == (3, 4, 7)


def test_what_is_masked_is_not_counted() -> None:
    reports = np.ma.array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(InvalidCountsError, match=r"1 of 3 reports are masked.*compressed\(\)"):
        tally(reports)
    with pytest.raises(InvalidCountsError, match=r"1 of 3 counts are masked"):
        tally([1, 2, 3], reports)
    with pytest.raises(InvalidCountsError, match="masked"):
        Counts(reports, np.ones(3))
    assert tally(reports.compressed()) == tally([1, 3])
    assert tally(np.ma.array([1, 2, 3])) == tally([1, 2, 3]), "without a mask it is an array like any other"


@pytest.mark.parametrize("counts", [[1e308, 1e308], [2**63, 1], [2**64, 1], [2**62, 2**62], [10**30, 0]])
def test_counts_that_are_too_many_are_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidCountsError, match=r"add up to less than 2\*\*63"):
        tally([1, 2], counts)
    with pytest.raises(InvalidCountsError, match=r"add up to less than 2\*\*63"):
        TruncatedGeometric(Integers(0, 1), epsilon=1.0).simulate_counts(counts, rng=1)
    with pytest.raises(InvalidCountsError, match="must be numbers"):
        tally([1], [10**400])


def test_integers_held_as_objects_are_integers() -> None:
    assert tally(np.array([3, 5, 3], dtype=object)) == tally([3, 5, 3])
    assert tally(np.array([[1, 2], [0, 5]], dtype=object)) == tally([(1, 2), (0, 5)])
    assert tally(np.array([np.int64(3), 5.0], dtype=object)) == tally([3, 5])
    assert tally(np.array([0.5, 1], dtype=object)).reports.tolist() == [0.5, 1.0]
    with pytest.raises(InvalidCountsError, match=r"between -2\*\*63 and 2\*\*63; got 1180591620717411303424"):
        tally(np.array([2**70, 1], dtype=object))
    with pytest.raises(InvalidCountsError, match="numbers or strings"):
        tally(np.array([True, 1], dtype=object))


def test_pairs_that_were_drawn_one_by_one_are_counted() -> None:
    mechanism = Product(
        first=TruncatedGeometric(Integers(0, 9), epsilon=1.0),
        second=RandomizedResponse(Categories(["f", "m"]), epsilon=1.0),
    )
    drawn = [mechanism.privatize((3, "f"), rng=seed) for seed in range(60)]
    assert isinstance(drawn[0], tuple)
    counts = tally(drawn)
    expected = Counter(drawn)
    assert {tuple(one): number for one, number in zip(counts.reports.tolist(), counts.counts, strict=True)} == expected
    assert mechanism.lay_out(counts).sum() == 60
    frame = np.empty(60, dtype=object)
    frame[:] = drawn
    assert tally(frame) == counts, "a column of pairs, as a data frame has it"
    with pytest.raises(InvalidCountsError, match="same number of parts"):
        tally([(3, "f"), (3, "f", 1)])


@given(batches=st.lists(reports, max_size=8), least=st.integers(1, 20))
def test_batches_accumulate_to_the_tally_of_all(batches: list[list[int]], least: int) -> None:
    usual, module.LEAST_PENDING = module.LEAST_PENDING, least
    try:
        running = Accumulator()
        for number, batch in enumerate(batches):
            running.add(tally(batch) if number % 2 else batch)
            assert running.total == sum(map(len, batches[: number + 1]))
        assert running.counts == tally([report for batch in batches for report in batch])
    finally:
        module.LEAST_PENDING = usual


def test_an_accumulator_holds_distinct_reports_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_PENDING", 50)
    running = Accumulator()
    for _ in range(200):
        running.add(np.arange(40))
        assert sum(part.reports.size for part in running._pending) < 50
    running.add([3], [5])
    assert (running.counts.reports.size, running.total, running.counts.total) == (40, 8005, 8005)
    assert repr(running) == "Accumulator(Counts(8,005 reports, 40 distinct))"
    with pytest.raises(InvalidCountsError, match="another kind"):
        running.add(["yes"])
    assert running.total == 8005


def test_one_report_is_not_one_reports() -> None:
    assert repr(tally([3])) == "Counts(1 report, 1 distinct)"


def test_weights_are_refused_with_the_cure() -> None:
    for add in (tally, Accumulator().add):
        with pytest.raises(InvalidCountsError, match=r"got 150\.5 at position 0 and 2 more\. .*not people.*--weights"):
            add([0, 1, 2], [150.5, 220.2, 90.3])
    assert tally([0, 1], counts=[150.0, 2]).counts.tolist() == [150, 2]
    halves = tally([0, 1, 1]).with_repeats(2).independent
    assert merge([halves, halves]).total == 3

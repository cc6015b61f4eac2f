"""Amounts in bins: exact edges, open ends, true distances between uneven ones, and what is asked of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.mechanisms.audits import Extent
from confide.mechanisms.line import lattice_of
from confide.values.amounts import as_amount
from confide.values.queries import as_weights

SALARIES = cf.Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand")
TENTHS = cf.Bins(0, 1, 0.1)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("9.999999999999999999999", 0), ("10", 1), ("1e1", 1), ("+19.9", 1), (" 100 ", 4), ("1e400", 4)],
)
def test_texts_are_compared_with_the_edges_exactly(text: str, number: int) -> None:
    assert SALARIES.read([text]) == number


def test_decimals_are_not_taken_through_binary() -> None:
    # 0.3 as text is three tenths; 0.1 * 3 in binary is more, and 0.7 in 32 bits less than in 64.
    assert [TENTHS.read([text]) for text in ("0.3", "0.29999999999999999999", "0.7")] == [3, 2, 7]
    mixed: Any = [0.3, 0.7, Decimal("0.7"), Fraction(7, 10), "0.3"]
    assert TENTHS.take(mixed).tolist() == [3, 7, 7, 7, 3]
    assert TENTHS.take(np.array([0.7, 0.3, 0.6], dtype=np.float32)).tolist() == [7, 3, 6]
    assert TENTHS.take(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9])).tolist() == [1, 2, 3, 6, 7, 9]
    assert SALARIES.take(np.array([9, 10, 2**62], dtype=np.int64)).tolist() == [0, 1, 4]


def test_the_last_edge_of_a_closed_end_is_outside() -> None:
    assert TENTHS.read(["1"]) == 10
    assert not TENTHS.contains(np.array([10])).any()
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 2 amounts .*1\.0 at position 1.*last edge is not"):
        TENTHS.take([0.5, 1.0])
    assert cf.Bins(0, 1, 0.1, above=True, below=True).take([-5.0, 0.95, 1.0]).tolist() == [0, 10, 11]


@pytest.mark.parametrize("amount", [np.nan, np.inf, -np.inf, "nan", "1,200", "$12", None])
def test_what_is_no_amount_is_refused(amount: object) -> None:
    with pytest.raises(cf.ConfideError, match=r"1 is no (finite|plain) number|missing; first: .* at position 1"):
        SALARIES.take([5, amount])  # type: ignore[arg-type]


@each(
    ("text", "reason"),
    [
        ("nan", "not a finite number"),
        ("-Infinity", "not a finite number"),
        ("1,200", "separators in a number"),
        ("12,5", "separators in a number"),
        ("1 200", "separators in a number"),
        ("1'200.50", "separators in a number"),
        ("1.200.000", "separators in a number"),
        ("$12", "a sign or unit beside a number"),
        ("12 EUR", "a sign or unit beside a number"),
        ("12k", "a sign or unit beside a number"),
        ("much", "not a number"),
        ("12", ""),
        ("-1", ""),
    ],
)
def test_texts_are_refused_with_a_reason(text: str, reason: str) -> None:
    assert SALARIES.fault([text]) == reason
    assert (SALARIES.read([text]) is None) == bool(reason)


def test_labels_have_the_unit() -> None:
    assert SALARIES.labels()[0] == "0 to 10 thousand"
    assert SALARIES.labels()[-1] == "100 thousand or more"
    assert cf.Bins(0, 2, 1, below=True, unit="year").labels() == ["below 0 years", "0 to 1 years", "1 to 2 years"]
    assert TENTHS.label_range(2, 4) == "0.2 to 0.5"
    assert SALARIES.between(1, 2).labels() == ["10 to 20 thousand", "20 to 50 thousand"]
    assert SALARIES.between(3, 4).labels()[1] == "100 thousand or more"
    assert type(SALARIES.between(-1, 9)) is cf.Integers


def test_one_meaning_is_one_survey() -> None:
    assert cf.Bins(0, 30, 10) == cf.Bins(edges=[0, 10.0, 20, 30])
    assert cf.Bins(0, 30, 10).declared == {"low": 0, "high": 30, "width": 10}
    assert SALARIES.declared == {"edges": (0, 10, 20, 50, 100), "above": True, "unit": "thousand"}


@each(
    ("settings", "message"),
    [
        ({"edges": [0]}, "between 2 and"),
        ({"edges": [0, 10, 10]}, "must rise; got 10 after 10"),
        ({"edges": [0, float("nan")]}, "finite"),
        ({"edges": [0, "ten"]}, "must be a number"),
        ({"edges": "0, 10"}, "list of numbers"),
        ({"edges": [0, Fraction(1, 3)]}, "15 digits"),
        ({"low": 0, "high": 10}, "low, high and width"),
        ({"low": 0, "high": 10, "width": 1, "edges": [0, 1]}, "low, high and width"),
        ({"low": 0, "high": 10, "width": 3}, "Let high be 9 or 12"),
        ({"low": 0, "high": 10, "width": -1}, "width above 0"),
        ({"low": 0, "high": 10**9, "width": 1}, "too many"),
        ({"low": 0, "high": 10, "width": 1, "above": 1}, "true or false"),
    ],
)
def test_bad_bins_are_refused_with_a_cure(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        cf.Bins(**settings)  # type: ignore[arg-type]


# Distances.


def test_bins_lie_at_their_middles() -> None:
    assert SALARIES.positions == tuple(
        map(Fraction, (5, 15, 35, 75, 125))
    )  # the open one as if it were as wide as its neighbour
    assert SALARIES.distances()[0].tolist() == [0, 10, 30, 70, 120]
    assert SALARIES.gaps.tolist() == [10, 20, 40, 50]
    assert cf.Bins(0, 50, 10, above=True, below=True).positions is None
    assert cf.Bins(0, 50, 10, above=True).distance(0, 5) == 50
    assert cf.Bins(edges=[0, 10, 50]).distance(0, 1) == 25  # two bins are always even, at their own distance
    assert cf.emd([1, 0, 0, 0, 0], [0, 0, 0, 1, 0], SALARIES) == 70


def test_fine_print_names_the_worst_case() -> None:
    even, uneven = cf.Bins(0, 50, 10, unit="thousand").fine_print, SALARIES.fine_print
    assert "on either side of an edge count as a whole bin, 10 thousand, apart" in even[0]
    assert "up to 50 thousand" in uneven[0]
    assert "people cannot be distinguished" in uneven[0]
    assert "open end lies where one as wide as its neighbour would" in uneven[1]
    # d + 50 thousand at worst, and no more: over amounts at the very ends of all bins.
    edges = [float(edge) for edge in SALARIES.edges] + [150.0]
    ends = [(edge, number) for number in range(5) for edge in (edges[number], edges[number + 1])]
    worst = max(SALARIES.distance(one, other) - abs(left - right) for left, one in ends for right, other in ends)
    assert 40 < worst <= 50


def test_the_lattice_is_the_coarsest_that_holds_all_places() -> None:
    step, places = lattice_of([Fraction(1, 2), Fraction(5, 2), Fraction(29, 4)])
    assert (step, places.tolist()) == (Fraction(1, 4), [0, 8, 27])


@pytest.mark.parametrize("kind", [cf.TruncatedGeometric, cf.TruncatedLaplace])
def test_uneven_noise_is_that_of_the_lattice_rounded_to_the_nearest(
    kind: type[cf.TruncatedGeometric] | type[cf.TruncatedLaplace],
) -> None:
    # Written anew: the mechanism on all points of the lattice, each reported as the nearest bin, ties downwards.
    bins, fine = cf.Bins(edges=[0, 10, 20, 50, 100]), kind(cf.Integers(0, 7), 0.625)
    places = np.array([0, 1, 3, 7])
    nearest = [int(np.argmin(np.abs(places - point))) for point in range(8)]
    mechanism = kind(bins, 0.0625)  # per unit, on a lattice of ten
    for index, place in enumerate(places.tolist()):
        row = fine.weights(place)
        merged = [sum(w for w, near in zip(row, nearest, strict=True) if near == z) for z in range(4)]
        expected = [Fraction(weight, sum(row)) for weight in merged]
        weights = mechanism.weights(index)
        assert [Fraction(weight, sum(weights)) for weight in weights] == expected


def test_the_promise_of_uneven_bins_is_audited_by_rows_and_by_structure() -> None:
    by_rows = cf.audit(cf.TruncatedGeometric(SALARIES, 0.05), reports=20_000)
    assert by_rows.holds
    assert by_rows.worst.relative == pytest.approx(1, abs=1e-12)  # the promise is used up between neighbours
    long = cf.TruncatedGeometric(cf.Bins(edges=[0, 100, 250, 1000, 9999]), 0.01)
    assert long.channel.shape == (4, 4)
    by_structure = cf.audit(long, reports=20_000)
    assert by_structure.holds
    assert by_structure.extent is Extent.STRUCTURE
    for broken in (cf.TruncatedGeometric(SALARIES, 0.05), long):
        assert broken._ratio < 1  # made, and kept
        object.__setattr__(broken, "epsilon", broken.epsilon * (1 - 1e-12))  # a smaller promise, the noise as it was
        assert not cf.audit(broken, reports=20_000).holds


def test_unbounded_noise_and_other_outputs_are_refused_on_uneven_bins() -> None:
    with pytest.raises(InvalidParameterError, match="Use TruncatedGeometric"):
        cf.Geometric(SALARIES, 0.05)
    with pytest.raises(InvalidParameterError, match="no other outputs"):
        cf.TruncatedGeometric(SALARIES, 0.05, outputs=cf.Integers(0, 9))
    with pytest.raises(InvalidParameterError, match="rounder edges"):
        cf.TruncatedGeometric(cf.Bins(edges=[0, 0.000001, 1, 77.7]), 0.05)
    assert cf.Geometric(cf.Bins(0, 50, 10), 0.05).report_alphabet == cf.Integers(spacing=10.0)


# Questions.


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("salary >= 20", [2, 3, 4]),
        ("salary < 20", [0, 1]),
        ("10 <= salary < 50", [1, 2]),
        ("salary >= 100", [4]),
        ("salary >= -5", [0, 1, 2, 3, 4]),
        ("not salary < 50 or salary < 10", [0, 3, 4]),
    ],
)
def test_queries_speak_of_amounts(query: str, chosen: list[int]) -> None:
    assert np.flatnonzero(as_weights(query, SALARIES, "salary")).tolist() == chosen


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("salary >= 25", "cuts the bin '20 to 50 thousand'; ask with < or >= at an edge, such as 20 or 50"),
        ("salary > 25", "cuts the bin '20 to 50 thousand'"),
        ("salary <= 25", "cuts the bin '20 to 50 thousand'"),
        ("salary in 10..25", "cuts the bin"),
        ("salary == 20", "bins hold many amounts"),
        ("salary < 150", "cuts the bin '100 thousand or more'; ask with < or >= at an edge, such as 100"),
        ("salary >= much", "must be a number"),
    ],
)
def test_queries_inside_a_bin_are_refused_with_the_nearest_edges(query: str, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        as_weights(query, SALARIES, "salary")


@pytest.mark.parametrize("bins", [SALARIES, TENTHS, cf.Bins(edges=[-5, 0.5, 3], below=True, above=True)])
def test_windows_ask_what_can_be_asked(bins: cf.Bins) -> None:
    for low in range(bins.size):
        for high in range(low, bins.size):
            weights = as_weights(bins.question("x", low, high), bins)
            assert np.flatnonzero(weights).tolist() == list(range(low, high + 1))
        assert np.flatnonzero(as_weights(bins.question("x", low), bins)).tolist() == list(range(low, bins.size))


def test_as_amount() -> None:
    assert as_amount("x", np.float32(0.1)) == Fraction(1, 10)
    with pytest.raises(InvalidParameterError, match="must be a number"):
        as_amount("x", True)

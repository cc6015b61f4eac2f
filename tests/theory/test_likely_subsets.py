"""A likely subset never changes the maximum: for every mechanism, for pools, on random matrices and far outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.cases import each
from tests.laws.examples import ALL_EXAMPLES, LAKE, all_mechanisms, label
from tests.theory.dense import highest, some_reports

from confide import (
    IBU,
    MLE,
    Categories,
    Counts,
    Exponential,
    FromMatrix,
    Geometric,
    Grid,
    Integers,
    Inversion,
    Laplace,
    Lattice,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Product,
    RandomizedResponse,
    Rappor,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    estimate,
    estimate_pool,
    tally,
)
from confide.errors import ImpossibleReportError, InvalidCountsError, InvalidParameterError, NotInvertibleError
from confide.evidence.evidence import Evidence
from confide.theory import likely_subset
from confide.theory.likely_subsets import LikelySubset, likely_subset_of
from confide.theory.spectra import Limits
from confide.values import Selection

SMALL = [example for example in ALL_EXAMPLES if 1 < example.alphabet.size <= 100]


def check_subset(groups: dict[Mechanism, Counts]) -> LikelySubset:
    """Compare the maximum, and the gain outside, with those of the whole problem."""
    subset = likely_subset_of(groups)
    whole = Evidence.pool([one.observe(counts) for one, counts in groups.items()])
    part = Evidence.pool([one.observe_within(counts, subset.alphabet) for one, counts in groups.items()])
    everything, slack = highest(whole)
    likely, more = highest(part)
    assert likely == pytest.approx(everything, abs=1e-9 + slack + more, rel=1e-12)
    check_gains(whole, part, subset)
    return subset


def check_gains(whole: Evidence, part: Evidence, subset: LikelySubset) -> None:
    """Check, for any weights, that no value outside gains more than the best inside: the certificate holds for all."""
    generator = np.random.default_rng(1)
    for _ in range(5):
        theta = generator.dirichlet(np.ones(len(subset)))
        everywhere = whole.gain(whole.channel.push(subset.spread(theta)))
        inside = part.gain(part.channel.push(theta))
        np.testing.assert_allclose(everywhere[subset.places], inside, rtol=1e-9)
        assert everywhere.max() <= inside.max() * (1 + 1e-9)


@each("mechanism", SMALL, ids=label)
def test_the_maximum_of_every_mechanism_is_the_same(mechanism: Mechanism) -> None:
    check_subset({mechanism: some_reports(mechanism, 8, seed=2)})


@pytest.mark.slow
@given(mechanism=all_mechanisms, seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_maximum_of_any_small_mechanism_is_the_same(mechanism: Mechanism, seed: int) -> None:
    check_subset({mechanism: some_reports(mechanism, 3, seed)})


@pytest.mark.slow
@given(
    values=st.integers(1, 12), outputs=st.integers(1, 8), seed=st.integers(0, 10**6), levels=st.sampled_from([2, 3, 50])
)
@settings(max_examples=100, deadline=None)
def test_pruning_random_matrices_changes_nothing(values: int, outputs: int, seed: int, levels: int) -> None:
    generator = np.random.default_rng(seed)
    # Few levels make equal entries and duplicate rows common.
    weights = generator.integers(1, levels + 1, (values, outputs)).astype(np.float64)
    mechanism = FromMatrix(Integers(1, values), weights / weights.sum(axis=1, keepdims=True))
    often = generator.integers(0, 4, outputs) + np.eye(outputs)[0]  # the first was reported at least once
    counts = tally(mechanism.report_alphabet.decode(np.arange(outputs)), often)
    subset = check_subset({mechanism: counts})
    assert set(brute_unlikely(mechanism, counts)) == set(range(values)) - set(subset.places.tolist())


def brute_unlikely(mechanism: FromMatrix, counts: Counts) -> list[int]:
    """Return the numbers of unlikely values by definition unlikely, word by word."""
    seen = mechanism.report_alphabet.locate(counts.reports[counts.counts > 0])
    rows = mechanism.matrix[:, seen].tolist()
    return [
        one
        for one, row in enumerate(rows)
        if any(
            all(entry <= better for entry, better in zip(row, other, strict=True))
            and any(entry < better for entry, better in zip(row, other, strict=True))
            for other in rows
        )
    ]


# Each proposition on its own.


def test_on_a_line_the_range_of_the_reports_is_left() -> None:
    subset = likely_subset(tally([-3, 8, 2]), Geometric(Integers(), 0.5))
    assert (subset.alphabet, subset.proof) == (Integers(-3, 8), "likelylinear")
    assert likely_subset(tally([-2.5, 7.25]), Laplace(Integers(), 0.5)).alphabet == Integers(-3, 8)
    assert likely_subset(tally([-3, 4]), Geometric(Integers(0, 9), 0.5)).alphabet == Integers(0, 4)
    assert likely_subset(tally([30, 40]), Exponential(Integers(0, 99), 0.5)).alphabet == Integers(30, 40)


def test_a_clamped_end_reaches_to_the_end_of_the_alphabet() -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), 0.3, Integers(40, 60))
    assert likely_subset(tally([50, 55]), mechanism).alphabet == Integers(50, 55)
    assert likely_subset(tally([40, 55]), mechanism).alphabet == Integers(0, 55)
    assert likely_subset(tally([50, 60]), mechanism).alphabet == Integers(50, 99)


def test_randomized_response_leaves_the_reported_values() -> None:
    subset = likely_subset(tally(["e", "b", "b"]), RandomizedResponse(Categories(list("abcde")), 1.0))
    assert subset.alphabet.decode([0, 1]).tolist() == ["b", "e"]
    assert subset.proof == "likelykrr"
    assert subset.spread(np.array([0.25, 0.75])).tolist() == [0, 0.25, 0, 0, 0.75]


def test_a_value_whose_bit_was_never_set_is_pruned() -> None:
    mechanism = Rappor(Categories(list("abcd")), 1.0)
    subset = likely_subset(tally([0b0011, 0b0101]), mechanism)  # bit 0, of a, in both
    assert (subset.alphabet.decode([0]).tolist(), subset.proof) == (["a"], "unlikely")


def test_pairs_are_pruned_part_by_part() -> None:
    mechanism = Product(
        first=RandomizedResponse(Categories(["f", "m"]), 1.0), second=TruncatedGeometric(Integers(0, 99), 0.3)
    )
    counts = tally(np.array([("f", 40), ("f", 42)], dtype=object))
    subset = check_subset({mechanism: counts})
    assert subset.alphabet.decode(np.arange(3)).tolist() == [["f", 40], ["f", 41], ["f", 42]]
    assert subset.proof == "likelykrr and likelylinear"


@pytest.mark.parametrize("kind", [Taxicab, PlanarGeometric, PlanarLaplace])
def test_on_a_plane_the_box_of_the_reports_is_left(kind: Any) -> None:
    subset = likely_subset(tally([(2, 9), (-1, 4)]), kind(Lattice(0.5, "km"), 1.0))
    assert subset.alphabet == Grid(4, 6, 0.5, "km", first_row=-1, first_column=4)


def test_a_slanted_cloud_loses_the_corners_of_its_box() -> None:
    reports = np.stack([np.arange(120), np.arange(120)], axis=1)
    subset = likely_subset(tally(reports), PlanarGeometric(Lattice(), 1.0))
    assert subset.proof == "likelyplanar"
    assert isinstance(subset.alphabet, Grid)
    assert (119, 119) not in subset.alphabet.holes
    assert (0, 119) in subset.alphabet.holes
    # Every cell of the box that is a hole lies farther than delta' from the diagonal, and no other does.
    rows, columns = np.indices((120, 120))
    margin = np.sqrt(0.5 + 2 * np.sqrt(0.5) * 119 * np.sqrt(2))
    assert len(subset.alphabet.holes) == int((np.abs(rows - columns) / np.sqrt(2) > margin).sum())


def test_a_taxicab_has_no_hull() -> None:
    reports = np.stack([np.arange(120), np.arange(120)], axis=1)
    assert likely_subset(tally(reports), Taxicab(Lattice(), 1.0)).alphabet == Grid(120, 120)


@pytest.mark.parametrize("kind", [Taxicab, PlanarGeometric, TruncatedTaxicab, TruncatedPlanarGeometric])
@given(reports=st.lists(st.sampled_from(LAKE.decode(np.arange(LAKE.size)).tolist()), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_holes_in_the_way_are_gone_around(kind: Any, reports: list[list[int]]) -> None:
    check_subset({kind(LAKE, 1.0): tally(reports)})


def test_a_hole_in_the_box_keeps_what_stands_behind_it() -> None:
    # The box of the one report is the hole itself: each of the four neighbours could have sent it.
    grid = Grid(5, 5, holes=[(2, 2)])
    subset = check_subset({Taxicab(grid, 1.0): tally([(2, 2)])})
    assert {(1, 2), (2, 1), (2, 3), (3, 2)} <= set(map(tuple, subset.alphabet.decode(np.arange(len(subset))).tolist()))


# Pools: what rules a value out must do so for all groups at once.

POOLS: dict[str, tuple[Mechanism, ...]] = {
    "lines": (Geometric(Integers(0, 20), 0.3), Laplace(Integers(0, 20), 1.0), TruncatedGeometric(Integers(0, 20), 0.7)),
    "a line and k-RR": (TruncatedLaplace(Integers(0, 20), 0.5), RandomizedResponse(Integers(0, 20), 1.0)),
    "k-RR twice": (RandomizedResponse(Integers(0, 20), 0.5), RandomizedResponse(Integers(0, 20), 2.0)),
    "planes": (PlanarGeometric(Grid(5, 6), 1.0), TruncatedTaxicab(Grid(5, 6), 0.5), PlanarLaplace(Grid(5, 6), 2.0)),
    "a plane and k-RR": (TruncatedPlanarLaplace(Grid(5, 6), 1.0), RandomizedResponse(Grid(5, 6), 2.0)),
    "a line and bits": (Geometric(Integers(0, 7), 0.5), Rappor(Integers(0, 7), 1.0)),
}


@each("pool", POOLS.values(), ids=POOLS)
@each("seed", range(3))
def test_the_maximum_of_pools_is_the_same(pool: tuple[Mechanism, ...], seed: int) -> None:
    check_subset({one: some_reports(one, 3, seed + place) for place, one in enumerate(pool)})


# Without an end.

LINES = [Geometric(Integers(), 0.3), Laplace(Integers(), 0.3)]
PLANES = [Taxicab(Lattice(), 0.8), PlanarGeometric(Lattice(), 0.8), PlanarLaplace(Lattice(), 0.8)]


def bounded(mechanism: Mechanism, reports: NDArray[Any], margin: int = 6) -> Mechanism:
    """Return the same mechanism on an alphabet that holds all reports and a margin around them."""
    low, high = np.floor(reports.min(axis=0)).astype(int) - margin, np.ceil(reports.max(axis=0)).astype(int) + margin
    if isinstance(mechanism.alphabet, Integers):
        return type(mechanism)(Integers(int(low), int(high)), mechanism.epsilon)  # type: ignore[call-arg, attr-defined]
    rows, columns = (high - low + 1).tolist()
    grid = Grid(rows, columns, first_row=int(low[0]), first_column=int(low[1]))
    return type(mechanism)(grid, mechanism.epsilon)  # type: ignore[call-arg, attr-defined]


@pytest.mark.parametrize("mechanism", [*LINES, *PLANES], ids=label)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5, deadline=None)
@pytest.mark.slow
def test_an_unbounded_estimate_is_the_one_on_a_wide_alphabet(mechanism: Mechanism, seed: int) -> None:
    centre = 3 if isinstance(mechanism.alphabet, Integers) else (3, 4)
    reports = np.asarray(mechanism.privatize([centre] * 40, rng=seed))
    unbounded = estimate(tally(reports), mechanism, MLE(tolerance=1e-9))
    wide = estimate(tally(reports), bounded(mechanism, reports), MLE(tolerance=1e-9))
    assert unbounded.considered is not None
    assert unbounded.alphabet == unbounded.considered.alphabet
    assert unbounded.log_likelihood == pytest.approx(wide.log_likelihood, abs=1e-8)
    assert unbounded.certificate <= 1e-9 or unbounded.status == "precision limit"


def far_and_near(mechanism: Mechanism, far: int) -> Counts:
    """Return reports of forty people together, and one far away."""
    is_line = isinstance(mechanism.alphabet, Integers)
    reports = np.asarray(mechanism.privatize([3 if is_line else (3, 4)] * 40, rng=1))
    outlier = [far] if is_line else [(far, -far)]
    return tally(np.concatenate([reports, outlier]))


@each("mechanism", [*LINES, *PLANES], ids=label)
@each("far", [10**6, 10**9])
@each("method", [MLE(), IBU()], ids=label)
def test_an_outlier_far_away_costs_a_few_cells(mechanism: Mechanism, far: int, method: MLE | IBU) -> None:
    answer = estimate(far_and_near(mechanism, far), mechanism, method)
    assert isinstance(answer.alphabet, Selection)
    assert answer.alphabet.size < 2000
    outlier = answer.alphabet.locate(answer.alphabet.as_array([far] if answer.alphabet.parts == 1 else [(far, -far)]))
    assert answer.distribution[outlier[0]] == pytest.approx(1 / 41, rel=0.02)
    if isinstance(method, MLE):
        assert answer.certificate <= 1e-6


@pytest.mark.parametrize("mechanism", [*LINES, *PLANES], ids=label)
def test_cells_between_the_clusters_carry_nothing(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an outlier so near that the whole box fits, and compare with the few cells near reports."""
    from confide.theory import likely_subsets

    counts = far_and_near(mechanism, 60)
    whole = estimate(counts, bounded(mechanism, counts.reports), MLE(tolerance=1e-9))
    few_only = Limits(longest_range=0, sparsest_range=1, largest_box=0, sparsest_box=1)
    monkeypatch.setattr(likely_subsets, "LIMITS", few_only)
    few = estimate(counts, mechanism, MLE(tolerance=1e-9))
    assert isinstance(few.alphabet, Selection)
    assert few.alphabet.size < 0.5 * whole.alphabet.size
    assert few.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-8)


def test_a_crowd_with_an_outlier_is_convolved_where_the_crowd_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.mechanisms import planar_noise

    mechanism = PlanarGeometric(Lattice(0.5, "km"), 1.0)
    counts = far_and_near(mechanism, 10**7)
    part = likely_subset(counts, mechanism).alphabet
    stored = mechanism.observe_within(counts, part)
    monkeypatch.setattr(planar_noise, "LARGEST_STORED", 5_000)
    monkeypatch.setattr(planar_noise, "LARGEST_WINDOW", 300)
    convolved = mechanism.observe_within(counts, part)
    assert type(convolved.channel) is not type(stored.channel)
    for theta in np.random.default_rng(1).dirichlet(np.ones(part.size), 3):
        assert convolved.log_likelihood(theta) == pytest.approx(stored.log_likelihood(theta), rel=1e-10)
        np.testing.assert_allclose(
            convolved.gain(convolved.channel.push(theta)), stored.gain(stored.channel.push(theta)), rtol=1e-7
        )


@pytest.mark.parametrize("report", [(2**38, -3), (-(2**38), 7)])
@pytest.mark.parametrize("mechanism", PLANES, ids=label)
def test_a_crowd_anywhere_on_the_plane_is_estimated(mechanism: Mechanism, report: tuple[int, int]) -> None:
    row, column = report
    answer = estimate(tally([report, report, (row + 2, column + 1)]), mechanism, MLE())
    assert answer.certificate <= 1e-6
    assert answer.distribution[answer.alphabet.encode([report])[0]] > 0.5


UNBOUNDED_POOLS = {
    "lines": (Geometric(Integers(), 0.5), Laplace(Integers(), 1.0), Geometric(Integers(), 1.5)),
    "Euclidean": (PlanarGeometric(Lattice(), 1.0), PlanarLaplace(Lattice(), 1.5), PlanarGeometric(Lattice(), 0.7)),
    "taxicab": (Taxicab(Lattice(), 0.5), Taxicab(Lattice(), 1.0)),
}


@pytest.mark.parametrize("pool", UNBOUNDED_POOLS.values(), ids=UNBOUNDED_POOLS)
def test_pools_without_an_end_are_those_on_a_wide_alphabet(
    pool: tuple[Mechanism, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from confide.theory import likely_subsets

    counts = [far_and_near(one, 40 + 3 * place) for place, one in enumerate(pool)]
    everything = np.concatenate([one.reports for one in counts])
    wide = [(one, bounded(mechanism, everything)) for one, mechanism in zip(counts, pool, strict=True)]
    expected = estimate_pool(wide, MLE(tolerance=1e-9))
    unbounded = list(zip(counts, pool, strict=True))
    found = estimate_pool(unbounded, MLE(tolerance=1e-9))
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)
    few_only = Limits(longest_range=0, sparsest_range=1, largest_box=0, sparsest_box=1)
    monkeypatch.setattr(likely_subsets, "LIMITS", few_only)
    few = estimate_pool(unbounded, MLE(tolerance=1e-9))
    assert isinstance(few.alphabet, Selection)
    assert few.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)


def test_mixed_noise_on_a_lattice_has_the_box_alone() -> None:
    groups: dict[Mechanism, Counts] = {one: tally([(0, 0), (5, 5)]) for one in PLANES[:2]}
    assert likely_subset_of(groups).alphabet == Grid(6, 6)
    with pytest.raises(InvalidParameterError, match=r"too far apart.*Grid\(rows, columns, first_row"):
        likely_subset_of({one: tally([(0, 0), (10**6, 10**6)]) for one in PLANES[:2]})


def test_what_does_not_fit_is_refused_with_the_cure() -> None:
    mechanism = PlanarGeometric(Lattice(), 1e-6)  # noise of millions of cells
    with pytest.raises(InvalidParameterError, match=r"too far apart, and too many.*reports need not be made again"):
        estimate(tally([(0, 0), (10**6, 3), (5, 10**6)]), mechanism, MLE())


def test_inversion_of_no_end_of_rows_is_refused() -> None:
    with pytest.raises(NotInvertibleError, match=r"INV-N inverts a matrix, and Integers\(\) is unbounded"):
        estimate(tally([3]), Geometric(Integers(), 1.0), Inversion())


def test_one_report_is_enough() -> None:
    for mechanism in LINES + PLANES:
        report = 3 if isinstance(mechanism.alphabet, Integers) else (3, 4)
        answer = estimate(tally([report]), mechanism, MLE())
        assert answer.distribution[answer.alphabet.encode([report])[0]] == pytest.approx(1.0)


def test_bad_input_is_refused() -> None:
    mechanism = Geometric(Integers(), 1.0)
    with pytest.raises(InvalidParameterError, match=r"counts must be Counts; got list. Call confide.tally"):
        likely_subset([3], mechanism)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"mechanism must be a mechanism such as .*; got Integers"):
        likely_subset(tally([3]), Integers())  # type: ignore[arg-type]
    with pytest.raises(InvalidCountsError, match="no reports"):
        likely_subset(tally([]), mechanism)
    with pytest.raises(InvalidCountsError, match="no reports"):
        likely_subset(tally([3], [0]), mechanism)
    with pytest.raises(ImpossibleReportError, match="another survey"):
        likely_subset(tally([3.5]), mechanism)
    with pytest.raises(ImpossibleReportError, match="another survey"):
        likely_subset(tally(["c"]), RandomizedResponse(Categories(["a", "b"]), 1.0))


# A large region with reports in a corner.

CORNERS: list[Mechanism] = [
    TruncatedPlanarGeometric(Grid(1000, 1000), 1.0),
    TruncatedPlanarLaplace(Grid(1000, 1000), 1.0),
    TruncatedTaxicab(Grid(1000, 1000), 1.0),
    PlanarGeometric(Grid(1000, 1000), 1.0),
    Taxicab(Grid(1000, 1000), 1.0),
    TruncatedPlanarGeometric(Grid(100, 100, holes=[(5, 5), (50, 50)]), 1.0),
]


@pytest.mark.parametrize("mechanism", CORNERS, ids=label)
@pytest.mark.slow
def test_a_corner_of_a_large_region_costs_the_corner(mechanism: Any) -> None:
    cells = [(row, column) for row in range(2, 9) for column in range(3, 8) if (row, column) != (5, 5)]
    reports = tally(cells, np.arange(1, len(cells) + 1))
    small = type(mechanism)(Grid(30, 30, holes=[(5, 5)] if mechanism.alphabet.holes else []), 1.0)
    large, near = (estimate(reports, one, MLE(tolerance=1e-8)) for one in (mechanism, small))
    assert large.considered is not None
    assert len(large.considered) <= 81
    assert large.distribution.shape == (mechanism.alphabet.size,)
    assert large.log_likelihood == pytest.approx(near.log_likelihood, abs=1e-8)
    assert near.considered is None
    assert "channel" not in vars(mechanism)  # the channel of a million cells was never made


def test_ibu_keeps_all_values_of_a_finite_alphabet() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9999), 0.5)
    counts = tally([5000, 5003])
    slow = estimate(counts, mechanism, IBU(iteration_limit=3))
    assert slow.considered is None
    assert (slow.distribution > 0).any()
    fast = estimate(counts, mechanism, MLE())
    assert fast.considered is not None
    assert fast.considered.alphabet == Integers(5000, 5003)


def test_a_subset_says_what_it_is() -> None:
    subset = likely_subset(tally([-3, 8, 2]), Geometric(Integers(), 0.5))
    assert not subset.is_whole
    assert len(subset) == subset.size == 12
    assert subset.values.tolist() == list(range(-3, 9))
    assert "values -3 to 8" in subset.explain()
    assert "whole of it" in subset.explain()
    assert likely_subset(tally([-3, 12]), Geometric(Integers(0, 9), 0.5)).is_whole


def test_pairs_of_likely_parts_are_numbered_row_by_row() -> None:
    mechanism = Product(
        first=TruncatedGeometric(Integers(0, 6), 1.0), second=RandomizedResponse(Categories(["a", "b", "c"]), 1.0)
    )
    subset = likely_subset(tally(np.array([(2, "c"), (3, "a")], dtype=object)), mechanism)
    assert [tuple(pair) for pair in subset.values.tolist()] == [(2, "a"), (2, "c"), (3, "a"), (3, "c")]
    assert subset.proof == "likelylinear and likelykrr"

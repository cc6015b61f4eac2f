"""Identification: lemmas against numbers, products and remaps, duplicate rows, unbounded values, large channels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.cli.surveys import FINITE, UNBOUNDED, survey

import confide as cf
from confide.channels import Channel
from confide.theory.identification import identification, keeps_most, partition, query_identification
from confide.theory.spectra import find_classes
from confide.theory.verdicts import Verdict


@each("name", FINITE)
def test_lemmas_agree_with_the_rank_of_the_matrix(name: str) -> None:
    mechanism = survey(FINITE[name]).mechanism
    found = identification(mechanism)
    assert found.source
    if mechanism.has_channel:
        matrix = mechanism.channel.dense()
        is_full = np.linalg.matrix_rank(matrix) == mechanism.alphabet.size
        assert found.verdict is (Verdict.YES if is_full else Verdict.NO)
    else:
        assert found.verdict is Verdict.YES


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values_are_answered_by_theory(name: str) -> None:
    found = identification(survey(UNBOUNDED[name]).mechanism)
    assert (found.verdict, found.source) == (Verdict.YES, "positive Fourier series")


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("outputs", [None, cf.Integers(-2, 9), cf.Integers(0, 30)])
def test_clamped_laplace_is_positive_definite(epsilon: float, outputs: cf.Integers | None) -> None:
    # Not in the paper: the columns at the values, divided by their scale, are a positive definite kernel plus a
    # diagonal that is not negative.
    mechanism = cf.TruncatedLaplace(cf.Integers(0, 9), epsilon, outputs)
    assert mechanism.facts.independence is not None
    first = mechanism.report_alphabet.span[0]
    square = mechanism.channel.dense()[:, -first : -first + 10]
    half = np.exp(-epsilon / 2)
    scale = square[[1] + [0] * 9, np.arange(10)] / ((1 / half - half) / 2 * half ** (2 * np.r_[1, 1:10]))
    symmetric = square / scale
    np.testing.assert_allclose(symmetric, symmetric.T, rtol=1e-9)
    assert np.linalg.eigvalsh(symmetric).min() > 0


def test_planar_noise_has_positive_definite_columns() -> None:
    grid = cf.Grid(5, 6, holes=[(2, 2)])
    distances = grid.distances()
    assert np.linalg.eigvalsh(np.exp(-0.3 * distances)).min() > 0
    for kind in (cf.PlanarGeometric, cf.PlanarLaplace):
        assert identification(kind(grid, 0.3)).source == "positive definite kernel"


def test_outputs_that_leave_values_out_are_no_lemma() -> None:
    narrow = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0, cf.Integers(2, 7))
    assert narrow.facts.independence is None
    assert identification(narrow).verdict is Verdict.NO
    shifted = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0, cf.Integers(5, 30))
    assert identification(shifted).verdict is Verdict.NO  # all values up to 5 are mixtures of two rows
    holed = cf.TruncatedTaxicab(cf.Grid(3, 3, holes=[(1, 1)]), 1.0)
    assert holed.facts.independence is None
    assert identification(holed).verdict is Verdict.YES


def test_products_are_identified_where_both_parts_are() -> None:
    good = cf.TruncatedGeometric(cf.Integers(0, 4), 1.0)
    bad = cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [0.5, 0.5]])
    assert identification(cf.Product(first=good, second=good)).verdict is Verdict.YES
    assert "Kronecker" in identification(cf.Product(first=good, second=good)).source
    for pair in ((good, bad), (bad, good)):
        product = cf.Product(first=pair[0], second=pair[1])
        found = identification(product)
        assert found.verdict is Verdict.NO
        matrix = product.channel.dense()
        assert np.linalg.matrix_rank(matrix) < matrix.shape[0]


def test_remaps_inherit_what_they_can() -> None:
    line = cf.TruncatedGeometric(cf.Integers(0, 4), 1.0)
    renamed = cf.Remapped(line, cf.Integers(0, 4), (4, 3, 2, 1, 0))
    assert identification(renamed).reason.startswith("Outputs are merely renamed.")
    merged = cf.Remapped(line, cf.Integers(0, 4), (0, 0, 2, 3, 4))
    assert identification(merged).verdict is Verdict.NO
    blind = cf.Remapped(cf.Remapped(line, cf.Integers(0, 1), (0, 0, 0, 1, 1)), cf.Integers(0, 9), (3, 7))
    assert "bring back" in identification(blind).reason
    wide = cf.Remapped(cf.TruncatedGeometric(cf.Integers(0, 4), 1.0, cf.Integers(-5, 9)), cf.Integers(0, 4))
    assert identification(wide).verdict is Verdict.YES


@given(st.integers(0, 10_000))
def test_random_matrices_with_duplicate_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, outputs = int(rng.integers(2, 12)), int(rng.integers(12, 15))
    place = rng.integers(0, max(1, values - 1), values)
    mechanism = cf.FromMatrix(cf.Integers(1, values), rng.dirichlet(np.ones(outputs), values)[place])
    found, parts = identification(mechanism), partition(mechanism)
    expected = {tuple(np.flatnonzero(place == one).tolist()) for one in place}
    assert {tuple(members.tolist()) for members in parts.classes} == expected
    assert found.verdict is (Verdict.YES if len(expected) == values else Verdict.NO)
    assert parts.identification.verdict is Verdict.YES
    rows = mechanism.matrix[[members[0] for members in parts.classes]]
    np.testing.assert_allclose(parts.quotient.channel.dense(), rows, rtol=1e-15)


def test_classes_are_found_without_comparing_all_pairs() -> None:
    grid = cf.Grid(60, 60)
    mechanism = cf.Remapped(
        cf.TruncatedTaxicab(grid, 1.0), cf.Integers(0, 59), tuple(np.repeat(np.arange(60), 60).tolist())
    )
    classes = find_classes(mechanism.channel)  # only the row of a cell is left in its report
    assert [members.tolist() for members in classes] == np.arange(3600).reshape(60, 60).tolist()


def test_rows_that_differ_in_a_digit_are_different() -> None:
    matrix = [[0.5, 0.5], [0.5 + 1e-13, 0.5 - 1e-13]]
    mechanism = cf.FromMatrix(cf.Integers(0, 1), matrix)
    assert partition(mechanism).is_trivial
    assert identification(mechanism).verdict is Verdict.TOO_CLOSE


def test_large_structured_channels_are_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Channel) -> None:
        raise AssertionError("a matrix was stored")

    monkeypatch.setattr(Channel, "dense", refuse)
    large = cf.Integers(0, 99_999)
    for mechanism in (
        cf.TruncatedGeometric(large, 0.01),
        cf.TruncatedLaplace(large, 0.01),
        cf.Exponential(large, 0.01),
    ):
        assert identification(mechanism).verdict is Verdict.YES
        assert partition(mechanism).is_trivial
    planar = cf.TruncatedPlanarGeometric(cf.Grid(60, 60), 2.0)
    assert identification(planar).verdict is Verdict.YES
    assert keeps_most(planar.channel)
    moderate = cf.TruncatedPlanarGeometric(cf.Grid(50, 50), 1.2)
    found = identification(moderate)
    assert (found.verdict, found.source) == (Verdict.YES, "theorem identification, by iterative singular values")


@given(st.integers(0, 10_000))
def test_queries_are_identified_exactly_where_no_hidden_direction_changes_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(3, 8))
    rank = int(rng.integers(1, values))
    matrix = rng.dirichlet(np.ones(rank), values) @ rng.dirichlet(np.ones(values), rank)
    mechanism = cf.FromMatrix(cf.Integers(1, values), matrix)
    if np.linalg.svd(mechanism.matrix, compute_uv=False)[rank - 1] < 1e-4:
        return
    inside = mechanism.matrix @ rng.standard_normal(values) + 0.3
    assert query_identification(mechanism, inside).verdict is Verdict.YES
    hidden = np.linalg.svd(mechanism.matrix)[0][:, rank]
    assert query_identification(mechanism, inside + 0.1 * hidden).verdict is Verdict.NO
    assert query_identification(mechanism, np.ones(values)).verdict is Verdict.YES

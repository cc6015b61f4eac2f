"""Audits: every mechanism keeps its promise, what breaks one is found, and the worst pair is named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from tests.laws.examples import EXAMPLES, FAMILIES, label, mechanisms

from confide import (
    Categories,
    Exponential,
    FromMatrix,
    Geometric,
    Grid,
    Integers,
    LocalDP,
    Mechanism,
    MetricPrivacy,
    Product,
    RandomizedResponse,
    Rappor,
    Remapped,
    TruncatedGeometric,
    TruncatedPlanarGeometric,
    TruncatedTaxicab,
    audit,
)
from confide.audits import LARGEST_AUDIT
from confide.errors import BrokenPromiseError, InvalidParameterError
from confide.mechanisms.promises import worst_ratio

AUDITED = [example for example in EXAMPLES if example.alphabet.size <= 300]


def log_ratios(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return log P(z | x) - log P(z | y) for all x, y and z at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mechanism.channel.dense())
        ratios = logs[:, None, :] - logs[None, :, :]
    known: NDArray[np.float64] = np.nan_to_num(ratios, nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    return known


@pytest.mark.parametrize("mechanism", AUDITED, ids=label)
def test_every_mechanism_keeps_its_promise(mechanism: Mechanism) -> None:
    found = audit(mechanism)
    assert found.holds
    assert str(found).startswith("The promise holds: ")


@given(mechanism=mechanisms)
def test_audits_find_the_largest_ratio_of_all(mechanism: Mechanism) -> None:
    found = audit(mechanism)
    assert found.holds
    bounds = mechanism.guarantee.bounds(mechanism.alphabet)
    if mechanism.alphabet.size < 2 or np.isinf(bounds).any():
        return
    ratios, worst = log_ratios(mechanism), found.worst
    assert ratios[worst.left, worst.right, worst.output] == pytest.approx(worst.log_ratio, abs=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.nan_to_num(ratios / bounds[:, :, None], nan=-math.inf)
    assert worst.relative == pytest.approx(max(0.0, float(relative.max())), abs=1e-9)


@pytest.mark.parametrize("kind", ["truncated-geometric", "randomized-response", "truncated-taxicab"])
def test_promises_are_used_up(kind: str) -> None:
    assert audit(FAMILIES[kind].examples[0]).worst.relative == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace"])
def test_probabilities_too_small_for_a_float_are_no_breach(kind: str) -> None:
    # e^-1990 is zero as a float: the two ends of the line must not look as if they could be told apart for certain.
    mechanism = type(FAMILIES[kind].faithful)(Integers(0, 199), 10.0)  # type: ignore[call-arg]
    found = audit(mechanism)
    assert found.holds
    assert math.isfinite(found.worst.log_ratio)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace", "exponential"])
def test_rounding_is_not_taken_for_a_breach(kind: str, epsilon: float) -> None:
    mechanism = type(FAMILIES[kind].faithful)(Integers(0, 99), epsilon)  # type: ignore[call-arg]
    assert audit(mechanism).holds


def test_the_worst_pair_is_named_with_its_output() -> None:
    matrix = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.2, 0.4]]
    found = audit(FromMatrix(Categories(["red", "green", "blue"]), matrix, Categories(["x", "y", "z"])))
    assert {found.left, found.right} == {"red", "green"}
    assert found.output in ("x", "z")
    assert found.worst.log_ratio == pytest.approx(math.log(2.5))


def test_cells_are_named_by_row_and_column() -> None:
    found = audit(TruncatedTaxicab(Grid(3, 4), 1.0))
    assert found.left.startswith("(")
    assert f"output {found.output} tells {found.left} from {found.right} by e^" in str(found)


def test_border_columns_are_audited_too() -> None:
    # Only in the column of one corner is anything amiss.
    honest = TruncatedPlanarGeometric(Grid(4, 4), 1.0)
    matrix = honest.channel.dense().copy()
    corner = int(honest.alphabet.encode([(3, 3)])[0])
    matrix[corner, corner] *= 2
    worst = worst_ratio(matrix, honest.guarantee.bounds(honest.alphabet))
    assert worst.exceeds
    assert (worst.left, worst.output) == (corner, corner)


def test_rappor_is_audited_on_all_its_vectors() -> None:
    found = audit(Rappor(Categories(["a", "b", "c", "d"]), 1.5))
    assert found.holds
    assert found.worst.relative == pytest.approx(1, rel=1e-9)


def test_parts_and_what_is_made_of_them_are_audited() -> None:
    pair = Product(RandomizedResponse(Categories(["f", "m"]), 1.0), TruncatedGeometric(Integers(0, 3), 0.5))
    assert audit(pair).worst.relative == pytest.approx(1, rel=1e-9)
    remapped = Remapped(pair.second, Integers(1, 2))
    assert audit(remapped).worst.relative <= 1 + 1e-9


def test_matrices_without_a_promise_of_their_own_are_measured() -> None:
    assert audit(FromMatrix(Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]])).holds  # it promises nothing
    assert audit(FromMatrix(Integers(0, 2), [[0.1, 0.2, 0.7]] * 3)).holds  # it promises everything


@pytest.mark.parametrize(
    "mechanism", [Geometric(Integers(), 1.0), TruncatedGeometric(Integers(0, LARGEST_AUDIT), 0.1)], ids=repr
)
def test_what_cannot_be_audited_is_answered(mechanism: Mechanism) -> None:
    with pytest.raises(InvalidParameterError, match=r"too many to compare; at most 2,048 values. Audit the same mech"):
        audit(mechanism)


@pytest.mark.parametrize("mechanism", [Geometric(Integers(0, 9), 1.0), Rappor(Integers(0, 29), 1.0)], ids=repr)
def test_endless_reports_cannot_be_audited(mechanism: Mechanism) -> None:
    with pytest.raises(InvalidParameterError, match=r"unbounded|too many to list"):
        audit(mechanism)


# A mechanism that breaks its promise cannot be made.

MATRIX = TruncatedGeometric(Integers(0, 4), 0.5).channel.dense()


@pytest.mark.parametrize("promise", [MetricPrivacy(0.5), MetricPrivacy(0.6), LocalDP(2.0), LocalDP(5.0)], ids=str)
def test_a_matrix_that_keeps_its_promise_is_taken(promise: MetricPrivacy | LocalDP) -> None:
    mechanism = FromMatrix(Integers(0, 4), MATRIX, promise=promise)
    assert mechanism.guarantee == promise
    assert audit(mechanism).holds


@pytest.mark.parametrize("promise", [MetricPrivacy(0.49), MetricPrivacy(0.05), LocalDP(1.99)], ids=str)
def test_a_matrix_that_breaks_its_promise_is_refused(promise: MetricPrivacy | LocalDP) -> None:
    with pytest.raises(
        BrokenPromiseError, match=r"breaks the promise of .*output number \d tells \d from \d by e\^.*Promise more"
    ):
        FromMatrix(Integers(0, 4), MATRIX, promise=promise)


def test_a_matrix_that_rules_values_out_cannot_promise() -> None:
    with pytest.raises(BrokenPromiseError, match=r"by e\^inf, where e\^50 is promised"):
        FromMatrix(Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]], promise=LocalDP(50.0))


def test_a_promise_is_checked_on_planes() -> None:
    grid = Grid(3, 3)
    matrix = TruncatedPlanarGeometric(grid, 1.0).channel.dense()
    assert audit(FromMatrix(grid, matrix, promise=MetricPrivacy(1.0, grid.metric))).holds
    normalised = Exponential(grid, 2.0).channel.dense()
    with pytest.raises(BrokenPromiseError, match=r"tells \(\d, \d\) from \(\d, \d\)"):
        FromMatrix(grid, normalised, promise=MetricPrivacy(1.0, grid.metric))


def test_one_value_has_nothing_to_be_told_from() -> None:
    assert audit(FromMatrix(Integers(0, 0), [[1.0]])).holds

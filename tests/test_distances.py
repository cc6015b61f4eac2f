"""Distances between distributions: known values, laws, and a solver whose failures are not passed on."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each

from confide import Categories, Grid, Integers, emd, total_variation
from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError, SolverError

DISTANCES = [total_variation, lambda p, q: emd(p, q, Integers(0, len(p) - 1))]

distributions = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any).map(lambda w: np.array(w) / sum(w))


@pytest.mark.parametrize("distance", DISTANCES)
@given(p=distributions, q=distributions)
def test_distances_are_not_negative_and_zero_only_at_home(distance: Any, p: Any, q: Any) -> None:
    assert distance(p, p) == 0
    assert (distance(p, q) > 1e-9) == (np.abs(p - q).max() > 1e-9)


@pytest.mark.parametrize("distance", DISTANCES)
@given(p=distributions, q=distributions, r=distributions)
def test_distances_are_metrics(distance: Any, p: Any, q: Any, r: Any) -> None:
    assert distance(p, q) == pytest.approx(distance(q, p))
    assert distance(p, r) <= distance(p, q) + distance(q, r) + 1e-12


def test_known_values() -> None:
    p, q = [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]
    assert total_variation(p, q) == 0.5
    assert emd(p, q, Integers(0, 2)) == 1.0
    assert emd(p, q, Integers(0, 2, spacing=2.5)) == 2.5
    assert emd(p, q, Categories(["a", "b", "c"])) == 0.5
    assert emd([1.0], [1.0], Integers(7, 7)) == 0.0


def test_work_on_a_grid() -> None:
    pytest.importorskip("ot", reason="POT, for the EMD on a grid, is not installed: pip install 'confide[planar]'")
    grid = Grid(4, 5, spacing=0.5)
    corner, other = np.zeros(20), np.zeros(20)
    corner[0], other[19] = 1.0, 1.0
    assert emd(corner, other, grid) == pytest.approx(0.5 * 5)
    half = 0.5 * corner + 0.5 * other
    assert emd(corner, half, grid) == pytest.approx(0.5 * 5 / 2)


def test_no_work_on_a_grid_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    uniform = np.full(6, 1 / 6)
    assert emd(uniform, uniform, Grid(2, 3)) == 0.0


def test_a_missing_solver_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)  # what the import system does where a package is absent
    with pytest.raises(MissingExtraError, match=r"needs POT.*Run: pip install 'POT>=") as caught:
        emd([1, 0], [0, 1], Grid(1, 2))
    assert (caught.value.package, caught.value.extra) == ("POT", "planar")
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize(
    "log", [{"warning": "numItermax reached before optimality.", "result_code": 3}, {"warning": None, "result_code": 2}]
)
def test_a_value_from_a_solver_that_did_not_finish_is_withheld(
    monkeypatch: pytest.MonkeyPatch, log: dict[str, object]
) -> None:
    unfinished = SimpleNamespace(emd2=lambda *_, **__: (0.123, log))
    monkeypatch.setitem(sys.modules, "ot", unfinished)
    with pytest.raises(SolverError, match=r"transport solver did not finish .*no EMD is given"):
        emd([1, 0], [0, 1], Grid(1, 2))


@pytest.mark.filterwarnings("ignore:numItermax reached:UserWarning")
def test_the_real_solver_stopped_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ot = pytest.importorskip("ot", reason="POT is not installed: pip install 'confide[planar]'")

    def hurried(*arguments: Any, numItermax: int, log: bool) -> Any:  # noqa: N803 (POT's spelling)
        return ot.emd2(*arguments, numItermax=1, log=log)

    monkeypatch.setitem(sys.modules, "ot", SimpleNamespace(emd2=hurried))
    p, q = np.random.default_rng(0).dirichlet(np.ones(100), 2)
    with pytest.raises(SolverError, match="did not finish"):
        emd(p, q, Grid(10, 10))


def test_a_plane_too_large_is_refused_before_it_is_tried() -> None:
    p, q = np.zeros(100 * 100), np.zeros(100 * 100)
    p[0], q[-1] = 1.0, 1.0
    with pytest.raises(InvalidParameterError, match=r"10,000 cells does not fit; at most 4,096. Merge cells first"):
        emd(p, q, Grid(100, 100))


@each("distance", DISTANCES)
@each(
    ("left", "right", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], r"left distribution must sum to 1; got 1.1. Divide it by its sum"),
        ([0.5, 0.5], [0.5, 0.4], r"right distribution must sum to 1; got 0.9"),
        ([-0.5, 1.5], [0.5, 0.5], r"left distribution has a negative probability, -0.5 at position 0"),
        ([0.5, 0.5], [float("nan"), 0.5], r"right distribution holds nan at position 0; give finite numbers"),
        ([0.5, 0.5], ["a", "b"], r"right distribution must be a sequence of 2 probabilities"),
    ],
)
def test_what_is_no_distribution_is_named(distance: Any, left: Any, right: Any, message: str) -> None:
    with pytest.raises(InvalidDistributionError, match=message):
        distance(left, right)


def test_lengths_must_agree() -> None:
    with pytest.raises(InvalidDistributionError, match="same length; got 2 and 3"):
        total_variation([0.5, 0.5], [0.5, 0.25, 0.25])
    ragged: Any = [[0.5], [0.25, 0.25]]
    with pytest.raises(InvalidDistributionError):
        total_variation(ragged, [0.5, 0.5])


def test_lengths_must_be_the_alphabets() -> None:
    with pytest.raises(InvalidDistributionError, match=r"left distribution must hold one .* each of 3 values.*\(2,\)"):
        emd([0.5, 0.5], [0.5, 0.25, 0.25], Integers(0, 2))

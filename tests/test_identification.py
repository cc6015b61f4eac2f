"""Who is told that an answer is one of many, who is not, and what it costs to know."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import confide as cf
from confide.channels import Dense
from confide.estimates.estimate import assess_pool, recover
from confide.estimates.groups import recover_groups
from confide.theory import identification as identification_module
from confide.theory.identification import pool_identification
from confide.theory.verdicts import Verdict

VALUES = cf.Integers(1, 3)
FEW = cf.FromMatrix(VALUES, [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
OTHER = cf.FromMatrix(VALUES, [[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]])
LIKE_FEW = cf.FromMatrix(VALUES, [[0.6, 0.4], [0.52, 0.48], [0.28, 0.72]])
"""The same as FEW, blurred once more: together they know no more than FEW does."""
TELLING = cf.RandomizedResponse(VALUES, 1.0)
COUNTS = cf.tally([0, 1], [40, 60])
TOLD = cf.tally([1, 2, 3], [30, 20, 10])


def random_matrix(size: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).dirichlet(np.ones(size), size)


def test_the_default_says_so() -> None:
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="3 values and only 2 outputs"):
        answer = cf.estimate(COUNTS, FEW)
    assert answer.identification.verdict is Verdict.NO
    assert "one of many" in answer.explanation


def test_so_do_assess_and_groups_once() -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        cf.assess(COUNTS, FEW, cf.IBU())
        found = cf.estimate_groups({"a": COUNTS, "b": COUNTS, "c": COUNTS}, FEW, cf.IBU())
    assert [(one.category, one.filename) for one in caught] == [(cf.errors.NotIdentifiedWarning, __file__)] * 2
    assert all(one.identification.is_no for one in found.values())


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_nobody_is_warned_of_what_others_will_show() -> None:
    """The command line, plans and experiments say it in their own way, or simulate thousands of answers."""
    assert recover([(COUNTS, FEW)], cf.IBU()).identification.is_no
    assert assess_pool([(COUNTS, FEW)], cf.IBU()).estimate.identification.is_no
    assert recover_groups({"a": COUNTS}, FEW, cf.IBU())["a"].identification.is_no
    cf.plan(FEW, people=100, guess="uniform", repeats=4, method=cf.IBU(), cache=False)


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_intervals_and_diagnoses_are_quiet() -> None:
    answer = recover([(COUNTS, FEW)], cf.IBU())
    assert answer.query("value == 1").undetermined is not None
    answer.interval(basis=cf.estimates.Bootstrap(replicates=40))
    cf.diagnose(COUNTS, FEW)


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
@pytest.mark.parametrize("order", [1, -1])
def test_one_telling_mechanism_is_enough_for_a_pool(order: int) -> None:
    answer = cf.estimate_pool([(COUNTS, FEW), (TOLD, TELLING)][::order], cf.IBU())
    assert answer.identification.is_yes
    assert "One of the 2 mechanisms is enough." in answer.identification.reason
    assert answer.explanation.endswith(answer.ending)


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_two_halves_may_tell_what_neither_does() -> None:
    assert cf.estimate_pool([(COUNTS, FEW), (COUNTS, OTHER)], cf.IBU()).identification.is_yes


def test_two_of_a_kind_do_not() -> None:
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="All 2 mechanisms taken together"):
        answer = cf.estimate_pool([(COUNTS, FEW), (COUNTS, LIKE_FEW)], cf.IBU())
    assert answer.identification.is_no
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="only 2 outputs"):
        cf.estimate_pool([(COUNTS, FEW), (COUNTS, FEW)], cf.IBU())


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
@pytest.mark.parametrize(
    "mechanism",
    [cf.Geometric(cf.Integers(), 1.0), cf.Laplace(cf.Integers(), 1.0), cf.PlanarLaplace(cf.Lattice(), 1.0)],
    ids=repr,
)
def test_unbounded_values(mechanism: cf.Mechanism) -> None:
    values = [3, 4, 4, 5] if mechanism.alphabet.parts == 1 else [(3, 4), (4, 4), (5, 5)]
    counts = cf.tally(mechanism.privatize(values, rng=1))
    assert cf.estimate(counts, mechanism, cf.MLE()).identification.is_yes
    assert cf.estimate_groups({"a": counts}, mechanism, cf.MLE())["a"].identification.is_yes


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_a_likely_subset_is_of_the_same_mechanism() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9999), 0.5)
    answer = cf.estimate(cf.tally(mechanism.privatize([30, 35] * 50, rng=1)), mechanism, cf.MLE())
    assert answer.considered is not None
    assert answer.identification.source == "lemma TLinearGeometricLinIndependence"


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_doubt_is_a_remark_and_no_warning() -> None:
    nearly = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.375, 0.375 - 1e-13, 0.25 + 1e-13]])
    answer = cf.estimate(TOLD, cf.FromMatrix(VALUES, nearly), cf.IBU())
    assert answer.identification.verdict is Verdict.TOO_CLOSE
    assert f"{answer.ending}. Whether these reports can reveal" in answer.explanation
    assert "is too close to call" in answer.explanation


@pytest.mark.filterwarnings("error::confide.errors.NotIdentifiedWarning")
def test_what_is_too_large_is_not_checked_and_says_so() -> None:
    matrix = 0.5 * np.eye(700) + 0.5 * random_matrix(700)
    counts = cf.tally(np.arange(1, 701))
    mechanism = cf.FromMatrix(cf.Integers(1, 700), 0.8 * random_matrix(700, 1) + 0.2 * matrix)
    answer = cf.estimate(counts, mechanism, cf.IBU(1.0))
    assert answer.identification.verdict is Verdict.NOT_CHECKED
    assert "was not checked" in answer.explanation
    assert "confide.diagnose(None, mechanism) looks closer" in answer.explanation


def test_large_matrices_are_decided_where_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """No singular values are computed, and beyond a size no channel is made at all."""
    monkeypatch.setattr(identification_module, "channel_identification", lambda _: pytest.fail("decomposed"))
    values, matrix = cf.Integers(1, 700), random_matrix(700)
    assert pool_identification((cf.FromMatrix(values, matrix[:, :2] / matrix[:, :2].sum(axis=1)[:, None]),)).is_no
    assert pool_identification((cf.FromMatrix(values, np.vstack([matrix[:-1], matrix[:1]])),)).is_no
    assert pool_identification((cf.FromMatrix(values, 0.4 * matrix + 0.6 * np.eye(700)),)).is_yes
    monkeypatch.setattr(cf.TruncatedPlanarLaplace, "channel", property(lambda _: pytest.fail("made a channel")))
    large = cf.TruncatedPlanarLaplace(cf.Grid(300, 300), 1.0)
    assert pool_identification((large,)).verdict is Verdict.NOT_CHECKED


def test_parts_of_a_product_are_not_decomposed_beyond_that_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification_module, "channel_identification", lambda _: pytest.fail("decomposed"))
    part, line = cf.FromMatrix(cf.Integers(1, 700), random_matrix(700)), cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    assert pool_identification((cf.Product(first=part, second=line),)).verdict is Verdict.NOT_CHECKED
    assert pool_identification((cf.Product(first=line, second=line),)).is_yes


def test_a_mechanism_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    class Watched(Dense):
        def dense(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            looks.append(1)
            return super().dense()

    monkeypatch.setattr(cf.FromMatrix, "channel", property(lambda one: Watched(one.matrix)))
    matrix = random_matrix(5, seed=77)
    for _ in range(3):
        mechanism = cf.FromMatrix(cf.Integers(1, 5), matrix)  # equal, but another object
        assert pool_identification((mechanism,)).is_yes
    assert len(looks) == 1


def test_a_loop_warns_as_python_does() -> None:
    """By Python's own rule once for a line of code, not once for an estimate."""
    with warnings.catch_warnings(record=True, action="default") as caught:
        for _ in range(3):
            cf.estimate(COUNTS, FEW, cf.IBU())
    assert len(caught) == 1

"""What a diagnosis says where it meets its limits: large epsilons, large matrices, iteration, and counts of one."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.estimates.diagnosis import _number, describe_bound, evidence_in_words, verdict_in_words
from confide.mechanisms.line import geometric_bound
from confide.mechanisms.randomized_response import krr_bound
from confide.theory.identification import column_ends, consistency, inversion_error, is_positive
from confide.theory.maximum_set import concavity_chance, people_for_concavity
from confide.theory.spectra import LIMITS, Limits, Spectrum, ends_of
from confide.theory.verdicts import NAMES, Verdict, labels_in, without_labels


@pytest.mark.parametrize("epsilon", [80.0, 90.0, 100.0])
def test_rappor_that_hardly_flips_a_bit(epsilon: float) -> None:
    mechanism = cf.Rappor(cf.Integers(1, 10), epsilon)
    assert people_for_concavity(mechanism) is None
    assert "no number of people below 10^15" in str(cf.diagnose(None, mechanism))


@pytest.mark.parametrize("epsilon", [0.5, 10.0, 50.0])
def test_people_are_just_enough(epsilon: float) -> None:
    mechanism = cf.Rappor(cf.Integers(1, 10), epsilon)
    people = people_for_concavity(mechanism)
    assert people is not None
    assert people <= 2 * LIMITS.people
    assert concavity_chance(mechanism, people) >= 0.99 > concavity_chance(mechanism, people - 1)


def test_a_large_matrix_is_checked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(0).uniform(1, 2, (2100, 7))
    matrix /= matrix.sum(axis=1, keepdims=True)
    mechanism = cf.FromMatrix(cf.Integers(1, 2100), matrix)
    monkeypatch.setattr("confide.theory.identification.LIMITS", Limits(compared=1000))
    ends = column_ends(mechanism.channel)
    assert ends is not None
    np.testing.assert_array_equal(ends, [mechanism.matrix.min(axis=0), mechanism.matrix.max(axis=0)])
    assert is_positive(mechanism)
    found = consistency(mechanism)
    assert found.continuity.is_yes
    assert found.dominance.numbers["dominating constant"] == pytest.approx(-np.log(mechanism.matrix.min()))
    matrix[5, 3] = 0.0
    assert is_positive(cf.FromMatrix(cf.Integers(1, 2100), matrix / matrix.sum(axis=1, keepdims=True))) is False


def test_a_matrix_too_large_to_check_is_not_said_to_have_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.theory.identification.LIMITS", Limits(entries=3))
    mechanism = cf.FromMatrix(cf.Integers(1, 2), [[0.7, 0.3], [0.3, 0.7]])
    assert is_positive(mechanism) is None
    assert is_positive(cf.Product(first=mechanism, second=mechanism)) is None
    answer = cf.diagnose(None, mechanism)
    assert answer.consistency.verdict is Verdict.TOO_CLOSE
    assert "too large to check" in str(answer)
    assert "impossible" not in str(answer)


def test_iteration_that_cannot_settle_stops_early_and_says_so() -> None:
    channel = cf.TruncatedPlanarGeometric(cf.Grid(60, 60), 0.05).channel
    steps = 0

    def push(vector: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        nonlocal steps
        steps += 1
        return channel.push(vector)

    spectrum = ends_of(push, channel.pull, channel.shape)
    assert not spectrum.is_settled
    assert steps < 200
    assert set(spectrum.numbers()) == {
        "smallest singular value, at most",
        "largest singular value, at least",
        "condition number, at least",
    }
    answer = cf.diagnose(None, cf.TruncatedPlanarGeometric(cf.Grid(60, 60), 0.05))
    assert answer.identification.verdict is Verdict.TOO_CLOSE
    headline = verdict_in_words(answer)[0]
    assert "too many values to compute all its singular values" in headline
    assert "double precision" not in headline
    assert "condition number at least" in dict(evidence_in_words(answer))["Singular values of the matrix"]


def test_bits_have_a_matrix_that_is_not_square() -> None:
    rappor = cf.Rappor(cf.Integers(1, 10), 1.0)
    reason = inversion_error(rappor).reason
    assert "1,024 outputs, 2^10 bit vectors" in reason
    assert "about 2^300 outputs" in inversion_error(cf.Rappor(cf.Integers(1, 300), 1.0)).reason
    assert "BitInversion()" in reason
    assert "unbounded" not in reason
    with pytest.raises(InvalidParameterError, match="a report of the RAPPOR mechanism is more than one value"):
        cf.Product(first=rappor, second=cf.RandomizedResponse(cf.Integers(1, 2), 1.0))
    assert "unbounded" in inversion_error(cf.Geometric(cf.Integers(1, 9), 1.0)).reason


def test_misprints_go_by_the_setting_not_by_the_number() -> None:
    assert "prints 227.28" in describe_bound(krr_bound(100, 2.0))
    assert "prints 7238" in describe_bound(geometric_bound(0.05, 100))
    assert "prints" not in describe_bound(geometric_bound(0.05, 50))  # the same number in another setting
    assert "prints" not in describe_bound(krr_bound(100, 2.0001))


def test_a_query_that_raises_names_the_value() -> None:
    mechanism = cf.RandomizedResponse(cf.Integers(-1, 1), 1.0)
    with pytest.raises(InvalidParameterError, match=r"raised ZeroDivisionError for the value 0"):
        cf.diagnose(None, mechanism).query(lambda value: 1 / value > 0)


@pytest.mark.slow
def test_one_of_a_thing() -> None:
    one = cf.FromMatrix(cf.Integers(1, 1), [[0.5, 0.5]], cf.Integers(1, 2))
    words = str(cf.diagnose(cf.tally([1]), one))
    for plural in ("1 distinct reports", "1 values", "1 singular values"):
        assert plural not in words
    assert "the only singular value" in words
    unbounded = str(cf.diagnose(cf.tally([4]), cf.Geometric(cf.Integers(), 1.0)))
    assert "1 distinct report holds" in unbounded
    assert _number(6e10) == "60 billion"


def test_labels_of_the_paper_have_names() -> None:
    for label in NAMES:
        assert labels_in(label) == [label]
        assert without_labels(label) != label
    assert labels_in("theorem identification, by singular values") == ["theorem identification"]
    assert without_labels("positive definite kernel") == "Positive definite kernel"


def test_public_views_of_what_theory_reads() -> None:
    krr = cf.RandomizedResponse(cf.Integers(1, 3), 1.0)
    origin = cf.Remapped(krr, cf.Integers(1, 2), (0, 1, 1)).facts.origin
    assert origin is not None
    assert origin[0] == krr
    assert origin[1].tolist() == [0, 1, 1]
    assert krr.observe(cf.tally([1])).channel.bit_vectors is None
    with pytest.raises(InvalidParameterError, match="one bit for each value"):
        concavity_chance(krr, 10)


def test_a_wide_matrix_has_its_dependence_checked_too() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(40), 3)
    assert Spectrum.of(np.vstack([rows, rows[0]])).independence is Verdict.NO
    hair = np.zeros(40)
    hair[:2] = 1e-15, -1e-15
    assert Spectrum.of(np.vstack([rows, rows[0] + hair])).independence is Verdict.TOO_CLOSE

"""The Blahut-Arimoto mechanism: its fixed point, its promise for any preference, and what its reports identify."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.laws.exact import assert_promise_kept

import confide as cf
from confide.mechanisms.finite import fixed_point
from confide.theory.identification import identification
from confide.theory.verdicts import Verdict

AGES = cf.Integers(0, 99, unit="year")
LAKE = cf.Grid(4, 5, spacing=0.5, unit="km", holes=((0, 0), (1, 2), (2, 2), (3, 4)))
ALPHABETS = [cf.Integers(0, 11), LAKE, cf.Categories(["a", "b", "c"]), cf.Hours(), cf.Bins(edges=[0, 10, 20, 50, 100])]


def distances(alphabet: cf.Alphabet) -> NDArray[np.float64]:
    points = alphabet.coordinates
    return np.array([alphabet.metric.between(point, points) for point in points])


def reveals_and_errs(matrix: NDArray[np.float64], away: NDArray[np.float64], epsilon: float) -> float:
    """Return the mutual information for people spread evenly, plus epsilon / 2 for each unit of mean distance."""
    reports = matrix.mean(axis=0)
    logs = np.log(matrix, where=matrix > 0, out=np.zeros_like(matrix)) - np.log(
        reports, where=reports > 0, out=np.zeros_like(reports)
    )
    return float((matrix * (logs + epsilon / 2 * away)).sum(axis=1).mean())


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=repr)
def test_the_channel_is_the_formula_for_the_preference_that_the_document_states(alphabet: cf.Alphabet) -> None:
    mechanism = cf.BlahutArimoto(alphabet, 0.4)
    assert mechanism.reported is not None
    expected = np.array(mechanism.reported) * np.exp(-0.2 * distances(alphabet))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mechanism.channel.dense(), expected, rtol=1e-7)  # tables lower the rate by 1e-9
    for index in range(alphabet.size):
        row = mechanism.weights(index)
        exact = [float(Fraction(one, sum(row))) for one in row]
        np.testing.assert_allclose(mechanism.channel.dense()[index], exact, rtol=1e-13)


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=repr)
def test_values_are_reported_as_often_as_they_are_preferred(alphabet: cf.Alphabet) -> None:
    prior = np.arange(1.0, alphabet.size + 1)
    mechanism = cf.BlahutArimoto(alphabet, 0.4, prior=tuple(prior))
    assert mechanism.reported is not None
    preferred = np.array(mechanism.reported) / sum(mechanism.reported)
    np.testing.assert_allclose(mechanism.channel.push(prior / prior.sum()), preferred, atol=2e-4)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_no_other_mechanism_reveals_less_at_the_same_distance(epsilon: float) -> None:
    alphabet = cf.Integers(0, 19)
    away, least = distances(alphabet), cf.BlahutArimoto(alphabet, epsilon)
    best = reveals_and_errs(least.channel.dense(), away, epsilon)
    generator = np.random.default_rng(0)
    assert least.reported is not None
    nudged = [
        np.array(least.reported) * generator.uniform(0.5, 2, 20) + generator.uniform(0, 1e5, 20) for _ in range(20)
    ]
    others: list[cf.Mechanism] = [cf.BlahutArimoto(alphabet, epsilon, None, tuple(map(int, one))) for one in nudged]
    others += [cf.Exponential(alphabet, epsilon), cf.TruncatedGeometric(alphabet, epsilon)]
    for other in others:
        assert reveals_and_errs(other.channel.dense(), away, epsilon) > best - 1e-3
    assert reveals_and_errs(others[-2].channel.dense(), away, epsilon) > best + 1e-3


@pytest.mark.parametrize("reported", [(1, 0, 2**53 - 1, 0, 0, 5), (0, 0, 0, 0, 0, 1), (7, 1, 1, 1, 1, 7)])
@pytest.mark.parametrize(
    "alphabet", [cf.Integers(0, 5), cf.Grid(2, 3, unit="km"), cf.Categories(list("abcdef")), cf.Circle(6)], ids=repr
)
def test_any_preference_keeps_the_promise(alphabet: cf.Alphabet, reported: tuple[int, ...]) -> None:
    mechanism = cf.BlahutArimoto(alphabet, 0.7, reported=reported)
    assert_promise_kept(mechanism)
    assert cf.audit(mechanism).holds


def test_a_preference_that_depends_on_the_value_would_be_noticed() -> None:
    class Broken(cf.BlahutArimoto):
        def weights(self, index: int) -> list[int]:
            row = super().weights(index)
            return [weight * (2 if z == index else 1) for z, weight in enumerate(row)]

    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(cf.Integers(0, 5), 0.7, reported=(1, 1, 1, 1, 1, 1)))


def test_what_is_never_reported_is_not_identified() -> None:
    mechanism = cf.BlahutArimoto(AGES, 0.05)
    assert mechanism.reported is not None
    used = 100 - mechanism.reported.count(0)
    found = identification(mechanism)
    assert found.verdict is Verdict.NO
    assert found.reason == (
        f"Only {used} of the 100 values are ever reported, so at most {used} columns can be independent."
    )
    assert np.linalg.matrix_rank(mechanism.channel.dense()) <= used
    # Ages below the first report differ in the normalizer alone.
    first = int(np.flatnonzero(mechanism.reported)[0])
    assert first > 10
    np.testing.assert_allclose(mechanism.channel.dense()[0], mechanism.channel.dense()[first], rtol=1e-12)
    assert found.reason in str(cf.diagnose(None, mechanism))
    assert (
        mechanism.advice
        == f"{found.reason} The exponential mechanism (exponential) makes the same promise and identifies all."
    )
    with pytest.raises(cf.ConfideError, match="no value can produce it"):
        cf.estimate(cf.tally([0]), mechanism)
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="ever reported"):
        cf.estimate(cf.tally([50], [100]), mechanism, cf.MLE())


@pytest.mark.parametrize("mechanism", [cf.BlahutArimoto(cf.Hours(), 0.5), cf.BlahutArimoto(AGES, 3.0)], ids=repr)
def test_where_all_is_reported_all_is_identified(mechanism: cf.BlahutArimoto) -> None:
    assert mechanism.reported is not None
    assert all(mechanism.reported)
    assert not mechanism.advice
    assert cf.diagnose(None, mechanism).consistency.verdict is Verdict.YES


def test_the_fixed_point_of_two_values_is_known() -> None:
    """With a flip r, shares (p, 1 - p) have the fixed point ((p - r (1 - p)) / (1 - r), ...), between 0 and 1."""
    for p, r in ((0.5, 0.3), (0.6, 0.3), (0.7, 0.1), (0.9, 0.5)):
        expected = min(1.0, max(0.0, ((1 + r) * p - r) / (1 - r)))
        first, second = fixed_point(np.array([[1.0, r], [r, 1.0]]), np.array([p, 1 - p]))
        assert first / (first + second) == pytest.approx(expected, abs=2e-5)


def test_the_survey_states_the_preference_and_keeps_the_prior() -> None:
    values = 'name = "age"\n[alphabet]\nkind = "integers"\nlow = 0\nhigh = 4\n'
    text = f'{values}[mechanism]\nkind = "blahut-arimoto"\nepsilon = 1\n'
    plain, biased = cf.parse_survey(text), cf.parse_survey(f"{text}prior = [4, 3, 2, 1, 0]\n")
    assert '"reported":[' in plain.to_json()
    for survey in (plain, biased):
        assert cf.Survey.from_json(survey.to_json()) == survey
    assert biased.mechanism == cf.BlahutArimoto(cf.Integers(0, 4), 1.0, (4, 3, 2, 1, 0))
    assert biased.mechanism.at(2.0) == cf.BlahutArimoto(cf.Integers(0, 4), 2.0, (4, 3, 2, 1, 0))
    assert plain.mechanism.reported != biased.mechanism.reported  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prior": (1, 2)}, "prior must hold one number for each of 3 values.*got"),
        ({"prior": (1, -1, 1)}, "prior must hold"),
        ({"prior": (0, 0, 0)}, "prior must hold"),
        ({"prior": (1, math.nan, 0)}, "prior must hold"),
        ({"prior": "abc"}, "prior must hold"),
        ({"reported": (0, 0, 0)}, "reported must hold"),
        ({"reported": (1, 0.5, 1)}, "reported must hold whole numbers"),
        ({"reported": (1, 2**60, 1)}, "reported must hold whole numbers"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"alphabet": cf.Integers(0, 256)}, "at most 256 values.*Use Exponential"),
        ({"alphabet": cf.Integers()}, "finite alphabet"),
        ({"alphabet": cf.Integers(1, 1)}, "at least two values"),
        ({"alphabet": "ages"}, "alphabet"),
    ],
    ids=repr,
)
def test_bad_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.BlahutArimoto(**{"alphabet": cf.Integers(0, 2), "epsilon": 1.0, **settings})  # type: ignore[arg-type]

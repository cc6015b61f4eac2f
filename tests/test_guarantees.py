"""Guarantees: bounds, factors and words."""

import math

import numpy as np
import pytest

from confide import Categories, Grid, Integers, RandomizedResponse, TruncatedGeometric
from confide.errors import InvalidParameterError
from confide.mechanisms import LocalDP, MetricPrivacy
from confide.values.metrics import Euclidean, Manhattan


def test_local_privacy_has_one_bound() -> None:
    guarantee = LocalDP(2.0)
    assert guarantee.bound("a", "b") == 2
    assert guarantee.bound("a", "a") == 0
    assert guarantee.factor("a", "b") == math.exp(2)
    np.testing.assert_array_equal(guarantee.bounds(Categories(["a", "b"])), [[0, 2], [2, 0]])


def test_metric_privacy_grows_with_distance() -> None:
    guarantee = MetricPrivacy(0.05, Euclidean())
    assert guarantee.bound(30, 35) == 0.25
    assert round(guarantee.factor(30, 35), 2) == 1.28
    assert MetricPrivacy(2.0, Manhattan(0.5)).bound((0, 0), (3, 4)) == 7
    np.testing.assert_allclose(guarantee.bounds(Integers(3, 5)), 0.05 * np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))


@pytest.mark.parametrize("alphabet", [Integers(-2, 3, spacing=0.5), Grid(2, 3)], ids=repr)
def test_tables_of_bounds_hold_single_bounds(alphabet: Integers | Grid) -> None:
    guarantee = MetricPrivacy(0.3, alphabet.metric)
    values = [tuple(v) if isinstance(v, list) else v for v in alphabet.decode(np.arange(alphabet.size)).tolist()]
    expected = [[guarantee.bound(left, right) for right in values] for left in values]
    np.testing.assert_allclose(guarantee.bounds(alphabet), expected, rtol=1e-14)


def test_factors_past_the_largest_float_are_infinite() -> None:
    assert MetricPrivacy(50.0).factor(0, 99) == math.inf
    assert LocalDP(math.inf).factor("a", "b") == math.inf


def test_words() -> None:
    assert str(LocalDP(2.0)) == (
        "local differential privacy, epsilon 2: any report is at most 7.39 times as likely under one value as another"
    )
    assert str(LocalDP(math.inf)).startswith("no local differential privacy")
    assert str(MetricPrivacy(0.05, unit="year")).startswith("metric privacy, 0.05 per year: any report is at most e^(")
    assert "per unit of distance" in str(MetricPrivacy(0.05))


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 700.0, 800.0, 1e300])
def test_words_are_found_for_any_epsilon(epsilon: float) -> None:
    assert "epsilon" in str(LocalDP(epsilon))


@pytest.mark.parametrize("epsilon", [-1, "abc", float("nan"), None, True])
def test_a_bad_epsilon_is_no_local_promise(epsilon: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon must be a finite number above 0; got "):
        LocalDP(epsilon)


@pytest.mark.parametrize("epsilon", [0, -1, "abc", float("nan"), float("inf"), None, True])
def test_a_bad_epsilon_is_no_metric_promise(epsilon: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon must be a finite number above 0; got "):
        MetricPrivacy(epsilon)


@pytest.mark.parametrize("epsilon", [0, -1, "abc", float("nan"), float("inf"), None, True])
def test_a_bad_epsilon_makes_no_mechanism(epsilon: float) -> None:
    message = r"epsilon must be a finite number above 0; got "
    with pytest.raises(InvalidParameterError, match=message):
        RandomizedResponse(Integers(0, 9), epsilon)
    with pytest.raises(InvalidParameterError, match=message):
        TruncatedGeometric(Integers(0, 9), epsilon)


@pytest.mark.parametrize(("epsilon", "verdict"), [(101.0, "no protection"), (1e-10, "pure noise")])
def test_an_absurd_epsilon_is_taken_for_a_slip(epsilon: float, verdict: str) -> None:
    message = rf"epsilon={epsilon!r} bounds .* which is {verdict}. Useful values lie between 1e-09 and 100"
    with pytest.raises(InvalidParameterError, match=message):
        RandomizedResponse(Integers(0, 9), epsilon)
    with pytest.raises(InvalidParameterError, match=message):
        TruncatedGeometric(Integers(0, 9), epsilon)


def test_the_range_of_epsilon_is_per_step() -> None:
    with pytest.raises(InvalidParameterError, match=r"between 1e-12 and 0.1; typical ones below 0.01"):
        TruncatedGeometric(Integers(0, 9, spacing=1000.0), 1.0)

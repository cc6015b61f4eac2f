"""Searches along curves whose answer is known, with jumps and with errors of nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import confide as cf
from confide.errors import UnreachableTargetError
from confide.plans.planning import Search
from confide.plans.simulations import Prediction, student


def search(error: Callable[[float], float], target: float, scatter: float = 0.02) -> Search:
    def evaluate(place: float) -> Prediction:
        return Prediction(error(place), scatter * error(place), 8)

    return Search("people", evaluate, target, (10.0, 1e9), whole=True)


def test_a_power_law_is_solved() -> None:
    answer = search(lambda people: 2 / people**0.5, 0.01).run(10_000.0)
    assert answer.value == pytest.approx(40_000, rel=0.03)
    assert answer.low < 40_000 < answer.high


@pytest.mark.parametrize("jump", [12.0, 150.0, 9_000.0, 60_000.0, 2e7])
def test_the_first_number_behind_a_jump_to_nothing(jump: float) -> None:
    """An error of zero is below any target, but it is no answer while fewer people reach it as well."""
    answer = search(lambda people: 0.0 if people >= jump else 1 / people**0.1, 0.01).run(10_000.0)
    assert jump <= answer.value <= 1.02 * jump
    assert answer.low < answer.value < answer.high


def test_a_jump_past_the_target_is_answered_from_behind_it() -> None:
    answer = search(lambda people: 0.011 if people < 500 else 0.001, 0.01).run(10_000.0)
    assert 500 <= answer.value <= 510


def test_no_error_anywhere_is_met_already() -> None:
    with pytest.raises(UnreachableTargetError, match="met already at 10 people"):
        search(lambda _: 0.0, 1e-13).run(10_000.0)


def test_a_plan_without_any_error_is_met_already() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(["a", "b"]), epsilon=9.0)
    with pytest.raises(UnreachableTargetError, match="met already at 10 people"):
        cf.plan(mechanism, [1.0, 0.0], target_emd=0.01, method=cf.MLE(), repeats=4, cache=False)


@pytest.mark.parametrize("exponent", [-0.25, -0.5, -1.0])
@pytest.mark.parametrize("scatter", [0.01, 0.03])
def test_the_range_of_an_answer_is_the_margin_by_the_slope(exponent: float, scatter: float) -> None:
    """On a logarithmic scale an error that is off by a tenth moves the crossing by a tenth over the slope."""
    answer = search(lambda people: 10 * people**exponent, 0.1, scatter).run(10_000.0)
    reach = student(8) * scatter / -exponent
    assert math.log(answer.high / answer.value) == pytest.approx(reach, rel=1e-6)
    assert math.log(answer.value / answer.low) == pytest.approx(reach, rel=1e-6)


def test_the_range_of_an_answer_stays_within_what_is_looked_at() -> None:
    def evaluate(place: float) -> Prediction:
        return Prediction(2 / place**0.5, 0.5 / place**0.5, 8)

    answer = Search("epsilon", evaluate, 1.0, (3.0, 5.0)).run(4.0)
    assert (answer.low, answer.high) == (3.0, 5.0)


@pytest.mark.parametrize("start", [10.0, 1e4, 1e8])
@pytest.mark.parametrize("exponent", [-0.2, -0.5, -1.0])
def test_a_power_law_takes_few_settings(exponent: float, start: float) -> None:
    seen: list[float] = []

    def error(people: float) -> float:
        seen.append(people)
        return float(people**exponent)

    answer = search(error, 5e3**exponent, scatter=0.001).run(start)
    assert answer.value == pytest.approx(5e3, rel=0.03)
    assert len(seen) // 2 <= 8  # each place is asked for mean and scatter


def test_a_search_goes_on_until_the_target_is_met_within_a_quarter_of_the_error() -> None:
    answer = search(lambda people: 10 / people**0.5, 0.1085, scatter=0.1).run(10_000.0)  # 8 % off at the start
    assert 10 / answer.value**0.5 == pytest.approx(0.1085, rel=0.025)

"""How much of an interval's width is sampling and how much is privacy noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import (
    IBU,
    Categories,
    Counts,
    FromMatrix,
    Geometric,
    Integers,
    Inversion,
    Mechanism,
    Product,
    RandomizedResponse,
    TruncatedGeometric,
    estimate,
    estimate_groups,
    estimate_pool,
    tally,
)
from confide.estimates import Estimate
from confide.estimates.inference import Interval, Parts

LINE = Integers(0, 19)
TRUTH = np.exp(-0.5 * ((np.arange(20) - 8) / 4.0) ** 2)
TRUTH /= TRUTH.sum()
PEOPLE = 4000
TRUE_VALUES = FromMatrix(LINE, np.eye(20))
QUESTIONS: dict[str, Any] = {
    "share": lambda answer: answer.query("x >= 12"),
    "small share": lambda answer: answer.query("x >= 17"),
    "weights": lambda answer: answer.query(np.sqrt(np.arange(20.0))),
    "mean": lambda answer: answer.mean(),
    "one value": lambda answer: answer.interval().at(8),
}


def answered(mechanism: Mechanism, people: int = PEOPLE) -> Estimate:
    return estimate(mechanism.simulate_counts(np.rint(people * TRUTH).astype(int), rng=1), mechanism, IBU())


def sampling(answer: Interval) -> float:
    assert answer.parts is not None
    return answer.parts.sampling


@pytest.mark.parametrize("name", QUESTIONS)
def test_true_values_leave_sampling_alone(name: str) -> None:
    """The likelihood of true values is the binomial's, so a wrong scale shows: within a few percent of all."""
    answer = QUESTIONS[name](answered(TRUE_VALUES))
    assert answer.exact_width == pytest.approx(answer.width, rel=0.1)
    assert sampling(answer) > 0.9


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_exact_width_is_that_of_repeated_surveys_of_true_values(name: str) -> None:
    draws = np.random.default_rng(2).multinomial(PEOPLE, TRUTH, size=4000) / PEOPLE
    places = np.arange(20)
    weights = {
        "share": places >= 12,
        "small share": places >= 17,
        "weights": np.sqrt(places),
        "mean": places,
        "one value": places == 8,
    }[name]
    spread = 2 * 1.96 * float(np.std(draws @ weights))
    found = QUESTIONS[name](estimate(tally(np.arange(20), np.rint(PEOPLE * TRUTH)), TRUE_VALUES, IBU()))
    assert found.exact_width == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_exact_width_of_a_quantile_is_that_of_order_statistics(share: float) -> None:
    ages = Integers(0, 199)
    truth = np.exp(-0.5 * ((np.arange(200) - 80) / 40.0) ** 2)
    truth /= truth.sum()
    answer = estimate(tally(np.arange(200), np.rint(500 * truth)), FromMatrix(ages, np.eye(200)), IBU()).quantile(share)
    rng = np.random.default_rng(3)
    found = np.sort(rng.choice(200, size=(2000, 500), p=truth), axis=1)[:, math.ceil(share * 500) - 1]
    low, high = np.quantile(found, [0.025, 0.975])
    assert answer.exact_width == pytest.approx(high - low, abs=2)
    assert sampling(answer) > 0.85


def test_little_noise_is_mostly_sampling_and_strong_noise_mostly_privacy() -> None:
    found = [sampling(answered(TruncatedGeometric(LINE, epsilon)).query("x >= 12")) for epsilon in (30.0, 1.0, 0.1)]
    assert found[0] > 0.9
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.2


@pytest.mark.parametrize("name", QUESTIONS)
def test_four_times_as_many_people_halve_the_exact_width(name: str) -> None:
    counts = TruncatedGeometric(LINE, 1.0).simulate_counts(np.rint(PEOPLE * TRUTH).astype(int), rng=1)
    few, many = (
        QUESTIONS[name](estimate(one, TruncatedGeometric(LINE, 1.0), Inversion()))
        for one in (counts, Counts(counts.reports, 4 * counts.counts))
    )
    assert many.exact_width == pytest.approx(few.exact_width / 2, rel=1e-6)


def test_the_level_widens_both_parts_and_joint_answers_are_asked_at_their_own() -> None:
    answer = answered(TruncatedGeometric(LINE, 1.0))
    usual, sure = answer.query("x >= 12"), answer.query("x >= 12", 0.99)
    assert sure.exact_width / usual.exact_width == pytest.approx(2.5758 / 1.96, rel=1e-3)
    joint = answer.queries(["x >= 12", "x < 4", "x < 5", "x < 6", "x < 7"], joint=True)[0]
    assert joint.level == 0.95
    assert joint.exact_width == pytest.approx(sure.exact_width)


def test_groups_of_unequal_size_have_their_own_people_and_a_pool_has_all() -> None:
    mechanism = TruncatedGeometric(LINE, 1.0)
    groups = {people: answered(mechanism, people).groups[mechanism] for people in (500, 8000)}
    found = estimate_groups(groups, mechanism, IBU())
    for people, one in found.items():
        p = one.query("x >= 12").estimate
        expected = 2 * 1.96 * math.sqrt(p * (1 - p) / groups[people].total)
        assert found.query("x >= 12")[people].exact_width == pytest.approx(expected, rel=1e-3)
    pool = estimate_pool([(groups[500], mechanism), (answered(TRUE_VALUES).groups[TRUE_VALUES], TRUE_VALUES)], IBU())
    answer = pool.query("x >= 12")
    p, people = answer.estimate, groups[500].total + answered(TRUE_VALUES).groups[TRUE_VALUES].total
    assert answer.exact_width == pytest.approx(2 * 1.96 * math.sqrt(p * (1 - p) / people), rel=1e-3)


@pytest.mark.parametrize("ask", [*QUESTIONS.values(), lambda answer: answer.quantile(0.5)])
def test_permanent_noise_counts_people_and_not_reports(ask: Any) -> None:
    mechanism = TruncatedGeometric(LINE, 1.0)
    counts = mechanism.simulate_counts(np.rint(PEOPLE * TRUTH).astype(int), rng=1)
    weekly = Counts(counts.reports, 7 * counts.counts).with_repeats(7)
    once, often = (ask(estimate(one, mechanism, IBU())) for one in (counts, weekly))
    assert often.exact_width == pytest.approx(once.exact_width)


def test_shapes_margins_and_unbounded_values_have_parts() -> None:
    mechanism = TruncatedGeometric(LINE, 0.5)
    counts = mechanism.simulate_counts(np.rint(PEOPLE * TRUTH).astype(int), rng=1)
    shaped = estimate(counts, mechanism, IBU(), shape="one peak at 8").query("x >= 12")
    p = shaped.estimate
    # The people are spread over values, whatever components the shape has.
    assert shaped.exact_width == pytest.approx(2 * 1.96 * math.sqrt(p * (1 - p) / counts.total), rel=1e-3)
    endless = Geometric(Integers(), 1.0)
    answer = estimate(tally(endless.privatize([3, 4, 4, 5] * 200, rng=1)), endless)
    for one in (answer.query("x >= 5"), answer.quantile(0.5), answer.mean()):
        assert one.parts is None or 0 <= one.parts.sampling <= 1
    both = Product(age=mechanism, vote=RandomizedResponse(Categories(["yes", "no"]), 1.0))
    pairs = estimate(tally(both.privatize([(3, "yes"), (9, "no")] * 800, rng=1)), both, IBU())
    table = pairs.cross("age", "vote")
    total = table.totals["vote"].at("yes")
    assert total.exact_width == pytest.approx(2 * 1.96 * math.sqrt(total.estimate * (1 - total.estimate) / 1600), 1e-3)
    assert 0 < sampling(table.at(3, "yes")) < 1


def test_an_answer_that_nobody_gave_still_has_the_width_of_true_values() -> None:
    counts = tally(np.arange(20), np.where(np.arange(20) == 3, 1000, 0))
    answer = estimate(counts, TRUE_VALUES, IBU()).query("x >= 12")
    assert answer.estimate == pytest.approx(0, abs=1e-9)
    assert sampling(answer) > 0.9


@pytest.mark.parametrize(
    ("low", "high", "exact", "words"),
    [
        (0.0, 0.5, 0.04, "sampling 8%, privacy 92%"),
        (0.0, 0.5, 0.6, "sampling 100%, privacy 0%"),
        (0.0, 0.5, 0.0, "sampling 0%, privacy 100%"),
        (-math.inf, math.inf, 0.1, "sampling 0%, privacy 100%"),
        (0.0, 1.0, 0.005, "sampling 0%, privacy 100%"),
        (0.2, 0.2, 0.1, "None"),
        (0.2, 0.2, 0.0, "None"),
        (0.0, 0.5, math.nan, "None"),
    ],
)
def test_words_and_corners(low: float, high: float, exact: float, words: str) -> None:
    assert str(Interval("x", 0.2, low, high, 0.95, "", exact_width=exact).parts) == words


@given(st.floats(0, 1), st.floats(0, 10))
def test_parts_are_shares_that_add_up(width: float, exact: float) -> None:
    parts = Interval("x", 0.0, 0.0, width, 0.95, "", exact_width=exact).parts
    if width <= 1e-12:  # a rounding
        assert parts is None
        return
    assert isinstance(parts, Parts)
    assert 0 <= parts.sampling <= 1
    assert parts.sampling + parts.privacy == 1
    first, second = (int(text.split()[1].rstrip("%")) for text in str(parts).split(", "))
    assert first + second == 100


def test_ends_that_differ_by_a_rounding_have_no_parts() -> None:
    # Whether they do differs between machines, and the page said "Uncertainty" on one of them alone.
    for high in (0.3, np.nextafter(0.3, 1)):
        assert Interval("x = 1", 0.3, 0.3, float(high), 0.95, "", exact_width=0.004).parts is None
    assert Interval("x = 1", 0.3, 0.3, 0.3001, 0.95, "", exact_width=0.00001).parts is not None

"""Distributions among few values of a line: which supports there are, their ends, and how often these hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide import MLE, FromMatrix, Integers, TruncatedGeometric, estimate, tally
from confide.channels import Dense
from confide.estimates.estimate import recover
from confide.estimates.inference import Inference
from confide.estimates.inference.inference import Question, allowed_fall, ask, standard_errors
from confide.estimates.inference.region import FewValues, Region, lowest
from confide.evidence import Evidence

SIZE = 60
LINE = TruncatedGeometric(Integers(0, SIZE - 1), 0.1)
TRUTH = {6: 0.6, 30: 0.3, 45: 0.1}
HISTOGRAM = np.zeros(SIZE, dtype=int)
HISTOGRAM[list(TRUTH)] = [6000, 3000, 1000]


def survey(seed: int) -> Inference:
    """Return what one survey of three heaps leaves."""
    generator = np.random.default_rng([3, seed])
    people = generator.multinomial(HISTOGRAM.sum(), HISTOGRAM / HISTOGRAM.sum())
    return recover([(LINE.simulate_counts(people, rng=generator), LINE)], MLE())._inference


def few_of(inference: Inference) -> FewValues:
    few = inference.region.few_values
    assert few is not None
    return few


@pytest.mark.slow
def test_the_share_of_a_lone_value_is_held_as_often_as_stated() -> None:
    """All distributions within 1.92 nats hold it in three surveys of four."""
    surveys = [survey(seed) for seed in range(40)]
    asked, true = np.repeat(np.eye(SIZE)[list(TRUTH)], len(surveys), axis=0), np.repeat(list(TRUTH.values()), 40)
    every = len(TRUTH) * surveys
    answers = ask([(one, Question("query", weights)) for one, weights in zip(every, asked, strict=True)], 0.95)
    held = np.mean([one.contains(share) for one, share in zip(answers, true.tolist(), strict=True)])
    alone = np.mean(-lowest([one.region for one in every], -asked, 1.92) >= true)
    assert alone < 0.85
    assert held >= 0.93


def test_heaps_are_merged_to_single_values_and_moved_to_their_neighbours() -> None:
    inference = survey(1)
    assert (inference.region.best > 1e-12).sum() > 5
    fewest = few_of(inference).groups[-1]
    assert fewest.values.shape[1] == 3
    assert {6, 30, 45} <= set(fewest.values.reshape(-1).tolist())
    moved = (fewest.values != fewest.values[0]).sum(axis=1)
    assert moved.max() == 1
    assert np.unique(fewest.values, axis=0).shape == fewest.values.shape
    assert (np.diff(fewest.values, axis=1) > 0).all()


def test_each_support_has_the_shares_and_the_ends_that_the_likelihood_has_among_its_values() -> None:
    inference = survey(2)
    weights, errors = np.linspace(0, 1, SIZE) ** 2, standard_errors(0.95)
    for one in few_of(inference).groups:
        for values, shares, fall, covariance in zip(one.values, one.shares, one.falls, one.covariances, strict=True):
            among = Region.of(Evidence(Dense(LINE.channel.select(values)), inference.evidence.counts))
            np.testing.assert_allclose(shares, among.best, atol=2e-4)
            assert fall == pytest.approx(inference.region.highest_likelihood - among.highest_likelihood, abs=2e-3)
            low, high = among.ends(weights[values], allowed_fall(0.95))
            half = errors * float(np.sqrt(weights[values] @ covariance @ weights[values]))
            assert 2 * half == pytest.approx(high - low, rel=0.03)


def test_the_lowest_answer_is_that_of_the_fewest_values_that_the_level_allows() -> None:
    from scipy.stats import chi2

    few, weights = few_of(survey(2)), np.arange(SIZE) / SIZE
    for level in (0.8, 0.95, 0.99):
        errors = standard_errors(level)
        allowed = [one.falls <= chi2.ppf(level, one.fewer) / 2 for one in few.groups]
        place = max(place for place, near in enumerate(allowed) if near.any())
        one = few.groups[place]
        ends = [
            weights[values] @ shares - errors * np.sqrt(weights[values] @ covariance @ weights[values])
            for values, shares, covariance in zip(one.values, one.shares, one.covariances, strict=True)
        ]
        assert few.lowest(weights, errors) == pytest.approx(np.array(ends)[allowed[place]].min(), abs=1e-12)


def test_a_set_never_has_an_end_inside_that_of_a_smaller_one() -> None:
    few, generator = few_of(survey(4)), np.random.default_rng(1)
    for _ in range(40):
        order = generator.permutation(SIZE)
        small, large = (np.isin(np.arange(SIZE), order[:size]).astype(float) for size in (20, 25))
        for errors in (1.0, 1.96, 3.0):
            assert few.lowest(small, errors) <= few.lowest(large, errors) + 1e-12
            assert few.lowest(-small, errors) >= few.lowest(-large, errors) - 1e-12


HEAPS = np.full(SIZE, 40)
HEAPS[5::10] = 1500


def heaped(seed: int) -> Inference:
    """Return what one survey leaves of six heaps above an even rest."""
    line, generator = TruncatedGeometric(Integers(0, SIZE - 1), 0.3), np.random.default_rng([4, seed])
    people = generator.multinomial(HEAPS.sum(), HEAPS / HEAPS.sum())
    return recover([(line.simulate_counts(people, rng=generator), line)], MLE())._inference


def test_heaps_may_stand_above_people_who_are_spread_evenly() -> None:
    fewest = few_of(heaped(3)).with_rest[-1]
    assert fewest.values[0].tolist() == [5, 15, 25, 35, 45, 55, SIZE]
    assert (fewest.values[:, -1] == SIZE).all()  # the rest is nowhere, and is not moved
    assert fewest.shares[0, -1] == pytest.approx(40 * SIZE / HEAPS.sum(), abs=0.06)
    np.testing.assert_allclose(fewest.shares.sum(axis=1), 1)


def test_a_rest_that_may_be_nothing_is_left_out() -> None:
    assert not few_of(survey(1)).with_rest


@pytest.mark.slow
def test_people_off_the_heaps_are_not_overrated() -> None:
    """The best explanation takes some from the heaps, and 1.92 nats do not make up for it."""
    beside = (np.arange(SIZE) % 2 == 0).astype(float)
    surveys, true = [heaped(seed) for seed in range(30)], float(beside @ HEAPS) / HEAPS.sum()
    first = lowest([one.region for one in surveys], [beside] * len(surveys), 1.92)
    few = np.array([few_of(one).lowest(beside, 1.96) for one in surveys])
    assert np.mean(first <= true) < 0.87
    assert np.mean(np.minimum(first, few) <= true) >= 0.93


def test_with_more_people_fewer_supports_are_allowed_and_errors_are_smaller() -> None:
    few = few_of(survey(1))
    one, ten = (-few.lowest(-np.eye(SIZE)[30], 1.96, times) for times in (1.0, 10.0))
    assert ten < one or np.isinf(ten)


def test_values_that_cannot_explain_all_reports_are_no_support() -> None:
    matrix = np.where(np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 1, 1.0, 0.0)
    mechanism = FromMatrix(Integers(0, 5), matrix / matrix.sum(axis=1, keepdims=True))
    answer = estimate(tally([0, 1, 2, 3, 4, 5], [30, 30, 30, 30, 30, 30]), mechanism, MLE())
    few = few_of(answer._inference)
    for one in few.groups:
        assert (mechanism.channel.dense()[one.values].sum(axis=1) > 0).all()
    assert 0 <= answer.query("x == 2").low <= answer.query("x == 2").high <= 1


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 1e-305, 0.0], [1e-305, 1.0, 1e-305], [0.0, 1e-305, 1.0]],
    ],
)
def test_a_value_that_no_report_can_come_from_is_no_support(matrix: list[list[float]]) -> None:
    """Between two heaps lies a value that nobody can have; without a curvature its share cannot be solved for."""
    mechanism = FromMatrix(Integers(0, 2), matrix)
    answer = recover([(mechanism.simulate_counts([50, 0, 30], rng=1), mechanism)], MLE())
    for found in (answer.query([1.0, 0.0, 0.0]), answer.mean()):
        assert np.isfinite([found.low, found.high]).all()
        assert found.low <= found.estimate <= found.high


def test_heaps_at_both_ends_of_a_line_of_little_noise_have_an_interval() -> None:
    """Nothing in the middle explains a report at either end: its probability there is 0 in float64."""
    mechanism = TruncatedGeometric(Integers(0, 100), 20.0)
    answer = recover([(tally([0, 100], counts=[500, 300]), mechanism)], MLE())
    found = answer.query("age >= 50", name="age")
    error = 1.96 * np.sqrt(0.375 * 0.625 / 800)
    assert (found.low, found.high) == pytest.approx((0.375 - error, 0.375 + error), abs=0.002)
    assert answer.windows().members


def test_for_the_mean_few_values_reach_no_farther_than_unbiased_estimation() -> None:
    weights, errors = np.arange(SIZE, dtype=np.float64), standard_errors(0.95)
    people = np.round(100 * np.exp(-np.arange(SIZE) / 15)).astype(int)
    inference = recover([(LINE.simulate_counts(people, rng=2), LINE)], MLE())._inference
    region, evidence = inference.region, inference.evidence
    scores = np.linalg.inv(LINE.channel.dense()) @ weights
    middle = evidence.frequencies @ scores
    half = errors * np.sqrt(evidence.frequencies @ (scores - middle) ** 2 / evidence.total)
    few, wide = few_of(inference).lowest(weights, errors), region.ends(weights, allowed_fall(0.95))[0]
    assert few < middle - half
    assert region.lowest_among_few(weights, errors) == pytest.approx(middle - half, abs=1e-9)
    more = middle - half / np.sqrt(1.2)  # with a fifth more people
    assert few_of(inference).lowest(weights, errors, 1.2) < more
    assert region.lowest_among_few(weights, errors, 1.2) == pytest.approx(more, abs=1e-9)
    (answer,) = ask([(inference, Question("mean"))], 0.95)
    assert answer.low == pytest.approx(min(wide, middle - half), abs=1e-9)
    assert answer.width < 1.05 * 2 * half


def test_shares_shapes_and_rescaled_rows_keep_what_few_values_allow() -> None:
    """Ends of shares are coherent, and scores of rows that are no probabilities estimate nothing."""
    people = np.round(100 * np.exp(-np.arange(SIZE) / 15)).astype(int)
    weights, errors = np.arange(SIZE, dtype=np.float64), standard_errors(0.95)
    counts = LINE.simulate_counts(people, rng=2)
    region = recover([(counts, LINE)], MLE())._inference.region
    share = (weights >= 20).astype(np.float64)
    halved = Region.of(replace(region.evidence, channel=Dense(LINE.channel.dense() / np.linspace(1, 2, SIZE))))
    shaped = recover([(counts, LINE)], MLE(), shape="smooth = 2")._inference
    pairs = [(region, share), (halved, weights), (shaped.region, shaped.lift(weights))]
    for one, asked in pairs:
        assert one.few_values is not None
        assert -np.inf < one.lowest_among_few(asked, errors) < np.inf
        assert one.lowest_among_few(asked, errors) == one.few_values.lowest(asked, errors)


@pytest.mark.slow
def test_the_mean_of_people_who_are_all_at_an_end_is_held() -> None:
    """There the likelihood of all distributions holds it in four surveys of five."""
    everybody = np.zeros(SIZE, dtype=int)
    everybody[0] = 10_000
    surveys = [recover([(LINE.simulate_counts(everybody, rng=seed), LINE)], MLE())._inference for seed in range(150)]
    weights = np.arange(SIZE, dtype=np.float64)
    assert np.mean(lowest([one.region for one in surveys], [weights] * len(surveys), 1.92) <= 1e-9) < 0.9
    assert np.mean([one.low <= 1e-9 for one in ask([(one, Question("mean")) for one in surveys], 0.95)]) >= 0.93

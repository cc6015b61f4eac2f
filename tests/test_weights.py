"""Weighted reports: counts with sums of weights and of squares, and what every answer makes of them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.check.differences import differences
from confide.data.files.records import weights_record
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.estimates.groups import recover_groups
from confide.estimates.inference.region import FewValues
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.present.results import record_of
from confide.theory.maximum_set import maximum_set

ANSWER = cf.Categories(["yes", "no"])
YES_NO = cf.RandomizedResponse(ANSWER, epsilon=2.0)
AGES = cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0)


def sample(people: int = 2000, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return reports of a sample in which the old are rare, and the weights that make up for it."""
    rng = np.random.default_rng(seed)
    ages = rng.choice(10, people, p=np.r_[np.full(6, 0.15), np.full(4, 0.025)])
    return AGES.privatize(ages, rng=seed), np.where(ages >= 6, 6.0, 1.0)


def test_counts_carry_sums_of_weights_and_of_squares() -> None:
    counts = cf.tally([3, 5, 3], weights=[1.5, 2, 0.5])
    assert counts.counts.tolist() == [2, 1]
    assert np.array_equal(counts.weights, [2, 2])  # type: ignore[arg-type]
    assert np.array_equal(counts.squares, [2.5, 4])  # type: ignore[arg-type]
    assert counts == cf.tally([3, 3, 5], counts=[1, 1, 1], weights=[0.5, 1.5, 2])
    assert counts != cf.tally([3, 5, 3])
    assert (counts.total, counts.weight) == (3, 4)


def test_a_weight_is_that_of_each_report_of_an_entry() -> None:
    assert cf.tally([3, 5], counts=[2, 1], weights=[1.5, 2]) == cf.tally([3, 3, 5], weights=[1.5, 1.5, 2])


def test_weighted_counts_add_up_as_if_all_were_counted_at_once() -> None:
    reports, weights = sample()
    halves = [cf.tally(reports[part], weights=weights[part]) for part in (slice(0, 700), slice(700, None))]
    whole = cf.tally(reports, weights=weights)
    assert halves[0] + halves[1] == whole
    pairs = np.array([(1, "a"), (2, "b"), (1, "a")], dtype=object)
    both = cf.tally(pairs, weights=[1, 2, 3]) + cf.tally(pairs[:1], weights=[4])
    assert np.array_equal(both.weights, [8, 2])  # type: ignore[arg-type]


def test_weighted_and_plain_counts_do_not_add_up() -> None:
    with pytest.raises(InvalidCountsError, match=r"with weights and without.*1 where there is none"):
        cf.tally([3], weights=[2]) + cf.tally([3])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -1, 1], "got -1 at position 1"),
        ([1, math.nan, math.inf], "got nan at position 1 and 1 more"),
        ([1, 1e12, 1], r"got 1e\+12 at position 1.*divide large ones"),
        ([1, 1e-12, 1], "got 1e-12 at position 1"),
        ([0, 0, 0], "All weights are 0"),
        ([1, 1], r"one weight for each of 3 reports; got an array of shape \(2,\)"),
        (["a", "b", "c"], "must be numbers; got list"),
        (np.ma.masked_array([1.0, 2, 3], mask=[False, True, False]), "weights"),
    ],
)
def test_bad_weights_are_refused(weights: Any, words: str) -> None:
    with pytest.raises(InvalidCountsError, match=words):
        cf.tally([3, 5, 3], weights=weights)


def test_sums_of_weights_need_sums_of_squares() -> None:
    with pytest.raises(InvalidParameterError, match="sums of their squares"):
        Counts(np.array([3]), np.array([2.0]), weights=np.array([1.0]))


@pytest.mark.filterwarnings("ignore::confide.errors.UniformReportsWarning")
def test_equal_weights_of_any_size_change_nothing() -> None:
    reports, _ = sample()
    plain, weighted = (
        cf.estimate(counts, AGES, cf.MLE())
        for counts in (cf.tally(reports), cf.tally(reports, weights=np.full(2000, 250.0)))
    )
    assert weighted.design_effect == pytest.approx(1)
    asked = [(each.query("age >= 6"), each.mean(), each.quantile(0.5)) for each in (plain, weighted)]
    for one, other in zip(*asked, strict=True):
        assert (other.estimate, other.low, other.high) == pytest.approx((one.estimate, one.low, one.high), abs=1e-4)


def test_a_report_of_weight_zero_counts_for_nothing() -> None:
    reports, _ = sample()
    kept = np.arange(2000) % 3 > 0
    some = cf.estimate(cf.tally(reports[kept]), AGES, cf.MLE()).query("age >= 6")
    every = cf.tally(reports, weights=1.0 * kept)
    answer = cf.estimate(every, AGES, cf.MLE())
    found = answer.query("age >= 6")
    assert (found.low, found.high) == pytest.approx((some.low, some.high), abs=1e-4)
    assert every.total == 2000  # which the test of fit still looks at


def test_an_interval_is_that_of_the_weighted_mean_of_unbiased_values() -> None:
    rng = np.random.default_rng(5)
    truth = np.where(rng.random(3000) < 0.4, "yes", "no")
    weights = np.where(truth == "yes", 3.0, 1.0) * rng.lognormal(0, 0.5, 3000)
    reports = YES_NO.privatize(truth, rng=1)
    values = cf.unbias(reports, YES_NO, "answer == yes")
    mean = float(weights @ values / weights.sum())
    error = float(np.sqrt(weights**2 @ (values - mean) ** 2)) / weights.sum()
    answer = cf.estimate(cf.tally(reports, weights=weights), YES_NO, cf.MLE()).query("answer == yes")
    assert answer.estimate == pytest.approx(mean, abs=1e-6)
    assert answer.width == pytest.approx(2 * 1.959964 * error, rel=1e-5)
    assert "sandwich" in answer.rests_on


def test_heavier_weights_where_the_answer_is_cost_more() -> None:
    # The same design effect over all questions, and another one for this question.
    truth = np.repeat(["yes", "no"], [600, 1400])
    reports = cf.RandomizedResponse(ANSWER, epsilon=8.0).privatize(truth, rng=1)
    widths = []
    for heavy in ("yes", "no"):
        counts = cf.tally(reports, weights=np.where(truth == heavy, 4.0, 1.0))
        share = 4 * 600 / 3800 if heavy == "yes" else 600 / 6200
        found = cf.estimate(counts, cf.RandomizedResponse(ANSWER, epsilon=8.0), cf.MLE()).query("answer == yes")
        widths.append(found.width / math.sqrt(share * (1 - share) * counts.design_effect / 2000) / 3.92)
    # By hand, for true answers: the square root of sum w^2 (y - mean)^2 over that of an even design effect.
    assert widths == pytest.approx([0.853, 0.592], rel=0.08)


def test_the_fit_looks_at_reports_whatever_their_weight() -> None:
    reports, weights = sample()
    plain, weighted = cf.tally(reports), cf.tally(reports, weights=weights)
    assert cf.fit(weighted, AGES).p_value == cf.fit(plain, AGES).p_value
    assert cf.estimate(weighted, AGES).fit.p_value == pytest.approx(cf.fit(plain, AGES).p_value, abs=1e-9)


def test_theory_looks_at_the_weighted_reports() -> None:
    counts = cf.tally(["yes"] * 500 + ["no"] * 500, weights=[1] * 500 + [3] * 500)
    share = cf.estimate(counts, YES_NO, cf.MLE()).distribution
    assert cf.diagnose(counts, YES_NO).maximum_set.point == pytest.approx(share, abs=1e-6)
    assert maximum_set(YES_NO, counts).point == pytest.approx(share, abs=1e-6)


def test_marginals_keep_the_weights() -> None:
    both = cf.Product(age=AGES, vote=YES_NO)
    rng = np.random.default_rng(2)
    ages, votes = rng.integers(0, 10, 1500), np.where(rng.random(1500) < 0.5, "yes", "no")
    weights = np.where(ages >= 6, 5.0, 1.0)
    reports = both.privatize(list(zip(ages.tolist(), votes.tolist(), strict=True)), rng=3)
    whole = cf.estimate(cf.tally(reports, weights=weights), both, cf.MLE())
    alone = cf.estimate(cf.tally([one for one, _ in reports], weights=weights), AGES, cf.MLE())
    found, known = whole.marginal("age").query("age >= 6"), alone.query("age >= 6")
    assert (found.estimate, found.low, found.high) == pytest.approx((known.estimate, known.low, known.high), abs=1e-5)
    assert whole.marginal("age").design_effect == alone.design_effect
    assert whole.marginal("age").fit.p_value == pytest.approx(alone.fit.p_value)


def test_coordinates_keep_the_weights_on_cells() -> None:
    city = cf.PlanarLaplace(cf.Coordinates(40.70, -74.02, 40.79, -73.93), 5.0)
    reports = city.privatize([(40.75, -73.98)] * 50 + [(40.72, -74.0)] * 50, rng=1)
    counts, _ = city.on_cells(cf.tally(reports, weights=[1, 3] * 50), "2 km")
    assert (counts.total, counts.weight) == (100, 200)
    assert np.sum(counts.squares) == 500  # type: ignore[arg-type]


def test_answers_say_what_weights_cost() -> None:
    reports, weights = sample()
    counts = cf.tally(reports, weights=weights)
    answer = cf.estimate(counts, AGES)
    effect = 2000 * float((weights**2).sum()) / float(weights.sum()) ** 2
    assert answer.design_effect == pytest.approx(effect)
    assert counts.independent.total == pytest.approx(2000 / effect)
    assert f"design effect {effect:.3g}" in answer.explanation
    record = record_of(answer)
    assert record["reports"] == 2000
    assert record["weights"]["effective_reports"] == pytest.approx(2000 / effect)
    assert f"design effect {effect:.3g}" in record["summary"][0]
    assert record_of(cf.estimate(cf.tally(reports), AGES))["weights"] is None
    assert list(counts.to_frame().columns) == ["report", "count", "weights", "squares"]
    assert counts.weighting in record_of(cf.diagnose(counts, AGES))["words"]
    assert record_of(counts)["weights"]["sum"] == weights.sum()


def test_a_forecast_is_of_people_with_such_weights() -> None:
    reports, weights = sample()
    found = cf.estimate(cf.tally(reports, weights=weights), AGES, cf.MLE()).prospect("age >= 6")
    assert (found.reports, list(found.people)) == (2000, [4000, 20000])


def test_one_report_with_all_the_weight_gets_a_caution() -> None:
    reports, weights = sample()
    weights[0] = 1e6
    with warnings.catch_warnings(action="ignore"):
        answer = cf.estimate(cf.tally(reports, weights=weights), AGES)
        page = answer._repr_html_()
        answer.mean(
            basis=cf.estimates.Bootstrap(40)
        )  # replicates in which it is not drawn at all do not break anything
    assert "A few reports carry most of the weight" in str(page)


def test_bootstrap_and_windows_are_wider_for_weights() -> None:
    reports, _ = sample()
    uneven = np.where(np.arange(2000) % 5 == 0, 6.0, 1.0)  # a design effect of 2, whatever the value
    plain, heavy = (cf.estimate(one, AGES, cf.MLE()) for one in (cf.tally(reports), cf.tally(reports, weights=uneven)))
    widths = [one.query("age >= 3", basis=cf.estimates.Bootstrap(400)).width for one in (plain, heavy)]
    assert widths[1] / widths[0] == pytest.approx(math.sqrt(heavy.design_effect), rel=0.15)
    assert len(heavy.windows()) <= len(plain.windows())


def test_a_pool_of_weighted_and_plain_reports_adds_information_up() -> None:
    reports, weights = sample()
    strong = cf.TruncatedGeometric(AGES.alphabet, epsilon=2.0)
    other = cf.tally(strong.privatize([2, 3, 7, 8] * 200, rng=2))
    pool = cf.estimate_pool([(cf.tally(reports, weights=weights), AGES), (other, strong)], cf.MLE())
    parts = pool._inference.parts
    assert Evidence.pool(parts).variances is not None
    assert Evidence.pool(parts).spread.sum() == pytest.approx(sum(one.total for one in parts))
    assert pool.design_effect == pytest.approx(2800 / sum(one.total for one in parts))


def test_values_with_heavy_reports_have_a_large_usual_weight() -> None:
    reports, weights = sample()
    part = cf.estimate(cf.tally(reports, weights=weights), AGES, cf.MLE())._inference.evidence
    theta = cf.MLE().solve(part).distribution
    usual = part.inflations(part.channel.push(theta))
    assert usual[8] > 1.2
    assert usual[1] < 1
    assert theta @ usual == pytest.approx(1, abs=1e-3)


def test_groups_are_averaged_by_their_weights_and_compared_as_weighted() -> None:
    rng = np.random.default_rng(3)
    groups = {}
    for number, town in enumerate(("Oslo", "Rome", "Bern")):
        ages = rng.choice(10, 1500)
        # In Rome the old are rare in the sample, and weights make up for it: its population is that of the others.
        kept = (ages < 6) | (rng.random(1500) < (0.3 if town == "Rome" else 1.0))
        weights = np.where((ages >= 6) & (town == "Rome"), 1 / 0.3, 1.0) * (10.0 if town == "Bern" else 1.0)
        groups[town] = cf.tally(AGES.privatize(ages[kept], rng=number), weights=weights[kept])
    found = recover_groups(groups, AGES, cf.MLE())
    assert found.differences.different == []
    shares = np.array([one.distribution for one in found.values()])
    sums = np.array([one.weight for one in groups.values()])
    assert found.overall == pytest.approx(sums @ shares / sums.sum())
    plain = recover_groups({town: one.unweighted for town, one in groups.items()}, AGES, cf.MLE())
    assert plain.differences.different == ["Rome"]


def test_records_have_nothing_to_say_without_weights() -> None:
    assert weights_record([cf.tally([3])]) is None
    assert cf.tally([3]).weighting == ""


def test_few_values_have_the_error_of_weighted_reports() -> None:
    # All people have one of two values, so that intervals are those of two shares, with the sandwich variance.
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 19), epsilon=0.5)
    rng = np.random.default_rng(4)
    values = rng.choice([4, 15], 3000, p=[0.9, 0.1])
    reports = mechanism.privatize(values, rng=2)
    counts = cf.tally(reports, weights=np.where(values == 15, 6.0, 1.0))
    region = cf.estimate(counts, mechanism, cf.MLE())._inference.region
    evenly = replace(region.evidence, variances=None)  # as if weights had nothing to do with values
    found = FewValues.of(evenly, region.best, region.highest_likelihood)
    query = np.where(np.arange(20) >= 10, 1.0, 0.0)
    share, assumed = 6 * (values == 15).sum() / counts.weight, evenly.total
    few = region.few_values
    assert few is not None
    errors = [share - one.lowest(query, 1.0) for one in (few, found)]
    # By hand, for true answers: sum w^2 (y - share)^2 / (sum w)^2, and share (1 - share) / effective number.
    by_hand = np.sum(np.where(values == 15, 36 * (1 - share) ** 2, share**2)) / counts.weight**2
    ratio = math.sqrt(by_hand / (share * (1 - share) / assumed))
    assert ratio > 1.1
    assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.1)
    assert errors[0] > 1.05 * errors[1]


def test_groups_whose_weights_follow_the_values_are_fewer() -> None:
    rng, groups = np.random.default_rng(6), dict[str, cf.Counts]()
    for town in ("Oslo", "Rome"):
        ages = rng.choice(10, 1500, p=[0.108] * 9 + [0.028])
        weights = np.where(ages == 9, 8.0, 1.0)
        groups[town] = cf.tally(AGES.privatize(ages, rng=len(groups) + 50), weights=weights)
    found = recover_groups(groups, AGES, cf.MLE()).differences
    plain = differences({town: [(_only_average(one), AGES)] for town, one in groups.items()})
    assert found["Oslo"].visible > 1.05 * plain["Oslo"].visible  # type: ignore[operator]


def _only_average(counts: cf.Counts) -> cf.Counts:
    """Return as many reports as the average design effect leaves."""
    thin = counts.independent
    return add_up(thin.reports, thin.counts)

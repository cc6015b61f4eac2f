"""Strata and clusters: sums that add up, and the variance of the design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide as cf
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.estimates.changes import follow
from confide.estimates.groups import recover_groups
from confide.estimates.inference.inference import Question
from confide.evidence.designs import DesignSums

YES_NO = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=3.0)
LINE = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
LEVELS, WEIGHTS = np.array([0.2, 0.4, 0.5, 0.7]), np.array([1.0, 2.0, 1.0, 4.0])
Labels = NDArray[np.int64]


def survey(seed: int, clusters: int = 40, people: int = 25) -> tuple[NDArray[Any], NDArray[np.float64], Labels, Labels]:
    """Return reports, weights, strata and clusters of people who are alike within their cluster."""
    rng = np.random.default_rng(seed)
    strata = np.arange(clusters) % 4
    shares = rng.beta(4 * LEVELS[strata], 4 * (1 - LEVELS[strata]))
    own = np.repeat(np.arange(clusters), rng.integers(people // 2, 2 * people - people // 2, clusters))
    values = np.where(rng.random(own.size) < shares[own], "yes", "no")
    return YES_NO.privatize(values, rng=10**6 + seed), WEIGHTS[strata[own]], strata[own], own


def by_hand(
    values: NDArray[np.float64], weights: NDArray[np.float64], strata: Labels, clusters: Labels | None
) -> float:
    """Return the variance of a weighted mean under the design, as any textbook has it."""
    scores = weights * (values - weights @ values / weights.sum()) / weights.sum()
    total = 0.0
    for one in np.unique(strata):
        here = strata == one
        sums = (
            scores[here]
            if clusters is None
            else np.bincount(np.unique(clusters[here], return_inverse=True)[1], scores[here])
        )
        total += sums.size * float(sums.var(ddof=1))
    return total


@pytest.mark.parametrize("has_clusters", [True, False])
def test_an_interval_has_the_variance_of_the_design(has_clusters: bool) -> None:
    reports, weights, strata, own = survey(1)
    clusters = own if has_clusters else None
    counts = cf.tally(reports, weights=weights, strata=strata, clusters=clusters)
    answer = cf.estimate(counts, YES_NO, cf.MLE()).query("answer == yes")
    values = cf.unbias(reports, YES_NO, "answer == yes")
    quantile = 2.028094 if has_clusters else 1.959964  # Student's, with 40 clusters less 4 strata
    width = 2 * quantile * math.sqrt(by_hand(values, weights, strata, clusters))
    assert answer.width == pytest.approx(width, rel=1e-5)


def test_clusters_cover_where_weights_alone_do_not() -> None:
    truth = float(WEIGHTS @ LEVELS / WEIGHTS.sum())
    designs: dict[str, dict[int, cf.Counts]] = {"all": {}, "clusters": {}, "weights": {}}
    for number in range(150):
        reports, weights, strata, own = survey(number, clusters=32, people=15)
        designs["all"][number] = cf.tally(reports, weights=weights, strata=strata, clusters=own)
        if number < 60:
            designs["clusters"][number] = cf.tally(reports, weights=weights, clusters=own)
            designs["weights"][number] = cf.tally(reports, weights=weights)
    answers = {
        name: list(recover_groups(every, YES_NO, cf.MLE()).query("answer == yes").values())
        for name, every in designs.items()
    }
    covered = {name: np.mean([one.contains(truth) for one in found]) for name, found in answers.items()}
    assert abs(covered["all"] - 0.95) < 0.04
    assert covered["clusters"] > 0.965  # strata, left out, make the survey better than it looks
    assert covered["weights"] < 0.8
    spread = np.std([one.estimate for one in answers["all"]])
    assert abs(np.mean([one.width for one in answers["all"]]) / 3.92 / spread - 1) < 0.12


def test_a_mean_on_a_line_of_people_who_are_alike() -> None:
    rng, widths = np.random.default_rng(3), []
    own = np.repeat(np.arange(50), 30)
    values = np.clip(np.rint(4.5 + 1.5 * rng.standard_normal(50)[own] + rng.standard_normal(1500)), 0, 9).astype(int)
    reports = LINE.privatize(values, rng=1)
    for clusters in (None, own, rng.permutation(own)):
        counts = cf.tally(reports, weights=np.ones(1500), clusters=clusters)
        widths.append(cf.estimate(counts, LINE, cf.MLE()).mean().width)
    unbiased = cf.unbias(reports, LINE, "mean")
    error = math.sqrt(by_hand(unbiased, np.ones(1500), np.zeros(1500, dtype=int), own))
    assert widths[1] == pytest.approx(2 * 2.01 * error, rel=0.12)
    assert widths[1] > 2.5 * widths[0]
    assert widths[2] == pytest.approx(widths[0], rel=0.2)  # clusters that have nothing in common cost nothing


def test_blocks_add_up_as_if_all_were_counted_at_once() -> None:
    reports, weights, strata, own = survey(2)
    order = np.random.default_rng(1).permutation(reports.size)
    halves = [
        cf.tally(reports[some], weights=weights[some], strata=strata[some], clusters=own[some])
        for some in (order[:300], order[300:])
    ]
    whole = cf.tally(reports, weights=weights, strata=strata, clusters=own)
    one, other = (
        cf.estimate(counts, YES_NO, cf.MLE()).query("answer == yes") for counts in (halves[0] + halves[1], whole)
    )
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)
    assert whole.blocks is not None
    assert whole.blocks.sizes == (4, 40)
    assert f"{reports.size:,} reports in 4 strata and 40 clusters are worth" in whole.weighting
    parts = cf.tally([1, 2], clusters=["a", "b"]) + cf.tally([0, 2], clusters=["a", "b"])
    assert parts == cf.tally([1, 2, 0, 2], clusters=["a", "b", "a", "b"])
    assert parts != cf.tally([1, 2, 0, 2], clusters=["a", "b", "b", "a"])


def test_clusters_of_one_name_in_two_strata_are_two() -> None:
    counts = cf.tally([1, 2, 3, 4], strata=["a", "a", "b", "b"], clusters=[1, 2, 1, 2])
    assert counts.blocks is not None
    assert counts.blocks.sizes == (2, 4)


def test_a_stratum_with_one_cluster_counts_with_its_distance_from_all() -> None:
    blocks = DesignSums.of(["a", "b", "b"], [1, 2, 3], np.array([0, 0, 1]), np.ones(3), np.ones(3))
    known = blocks.covariance(2)
    slopes = np.array([1.0, -2.0])
    sums = (known.rows @ slopes) ** 2 @ known.factors
    alone, others = 1.0, 2 * np.var([1.0, -2.0], ddof=1)
    assert sums == pytest.approx((alone + others) * (12.706 / 1.96) ** 2, rel=1e-3)


def test_outputs_into_which_reports_are_clamped_add_up_within_clusters() -> None:
    # An unbounded mechanism clamps far reports to the border: their sums belong together before they are squared.
    free = cf.Geometric(cf.Integers(0, 9), epsilon=0.5)
    own = np.repeat(np.arange(30), 20)
    values = np.where(own % 2 == 0, 2, 8)
    reports = free.privatize(values, rng=1)
    free_mean, clamped_mean = (
        cf.estimate(cf.tally(some, clusters=own), mechanism, cf.MLE()).mean()
        for some, mechanism in ((reports, free), (np.clip(reports, 0, 9), cf.TruncatedGeometric(free.alphabet, 0.5)))
    )
    assert (free_mean.low, free_mean.high) == pytest.approx((clamped_mean.low, clamped_mean.high), abs=1e-3)


def test_marginals_and_groups_keep_the_design() -> None:
    both = cf.Product(age=LINE, vote=YES_NO)
    reports, weights, strata, own = survey(3)
    pairs = list(zip(np.arange(reports.size) % 10, reports.tolist(), strict=True))
    design: dict[str, Any] = {"weights": weights, "strata": strata, "clusters": own}
    joint = cf.estimate(cf.tally(pairs, **design), both, cf.MLE()).marginal("vote").query("vote == yes")
    alone = cf.estimate(cf.tally(reports, **design), YES_NO, cf.MLE()).query("vote == yes")
    assert (joint.low, joint.high) == pytest.approx((alone.low, alone.high), abs=1e-6)


def test_what_clusters_have_no_answer_for_is_said() -> None:
    reports, weights, strata, own = survey(4)
    counts = cf.tally(reports, weights=weights, strata=strata, clusters=own)
    answer = cf.estimate(counts, YES_NO, cf.MLE())
    with pytest.raises(InvalidParameterError, match=r"drawn in clusters\. Use Likelihood"):
        answer.query("answer == yes", basis=cf.estimates.Bootstrap(40))
    other = cf.RandomizedResponse(YES_NO.alphabet, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="those of one cluster are not"):
        cf.estimate_pool([(counts, YES_NO), (counts, other)])
    with pytest.raises(InvalidCountsError, match="strata, clusters or known totals and without"):
        counts + cf.tally(reports, weights=weights)
    with pytest.raises(InvalidCountsError, match="with clusters and without"):
        counts + cf.tally(reports, weights=weights, strata=strata)
    with pytest.raises(InvalidCountsError, match="one of the clusters for each of 3 reports; got 2"):
        cf.tally([1, 2, 3], clusters=["a", "b"])


def test_a_change_between_waves_has_the_variance_of_the_design() -> None:
    waves = {}
    for number in range(2):
        reports, weights, strata, own = survey(10 + number)
        waves[number] = reports, weights, strata, own
    counts = {
        key: cf.tally(reports, weights=weights, strata=strata, clusters=own)
        for key, (reports, weights, strata, own) in waves.items()
    }
    groups = recover_groups(counts, YES_NO, cf.MLE())
    found = follow(groups, Question("query", "answer == yes"), groups.query("answer == yes")).change(0, 1)
    variance = 0.0
    for reports, weights, strata, own in waves.values():
        values = cf.unbias(reports, YES_NO, "answer == yes")
        variance += by_hand(values, weights, strata, own)
    assert found.width == pytest.approx(2 * 2.028 * math.sqrt(variance), rel=0.02)

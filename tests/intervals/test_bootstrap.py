"""Replicates: drawn as reports are, solved as the method would."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from confide import (
    IBU,
    MLE,
    Categories,
    Counts,
    Integers,
    Inversion,
    Mechanism,
    Method,
    RandomizedResponse,
    Rappor,
    TruncatedGeometric,
    estimate,
    estimate_pool,
    tally,
)
from confide.channels import TwoSidedExponential
from confide.channels.base import FloatArray
from confide.estimates import Bootstrap
from confide.estimates.inference.inference import Family, draw_family, is_complete
from confide.evidence.evidence import Evidence
from confide.solve.methods import Solution, Status

MECHANISM = TruncatedGeometric(Integers(0, 11), 0.4)
PILOT = Solution(np.full(12, 1 / 12), 3, Status.SMALL_STEP, "three steps")
COUNTS = MECHANISM.simulate_counts([0, 5, 10, 30, 60, 80, 60, 30, 10, 5, 0, 40], rng=3)


@pytest.mark.parametrize(
    "method",
    [IBU(0.01), IBU(1.0), IBU(stop="certificate", tolerance=0.5), IBU(iteration_limit=7), MLE(), Inversion("project")],
    ids=repr,
)
def test_each_replicate_is_solved_as_if_it_were_alone(method: Method) -> None:
    evidence = MECHANISM.observe(COUNTS)
    rows = np.random.default_rng(1).multinomial(330, evidence.frequencies, size=20).astype(np.float64)
    together = [one.distribution for one in method.solve_many(evidence, rows, pilot=PILOT)]
    alone = [method.solve(Evidence(evidence.channel, row)).distribution for row in rows]
    # The maximum is proven to a millionth of a nat either way, which leaves the shares open by less than that.
    np.testing.assert_allclose(together, alone, atol=1e-6 if isinstance(method, MLE) else 1e-9)


def test_held_out_replicates_take_as_many_steps_as_the_estimate() -> None:
    evidence = MECHANISM.observe(COUNTS)
    pilot = replace(PILOT, iterations=5)
    held_out = [
        one.distribution for one in IBU(stop="held-out").solve_many(evidence, evidence.counts[None, :], pilot=pilot)
    ]
    limited = IBU(1e-300, iteration_limit=5).solve(evidence).distribution
    np.testing.assert_allclose(held_out[0], limited, atol=1e-12)


def test_a_start_of_its_own_is_kept() -> None:
    evidence = MECHANISM.observe(COUNTS)
    start = np.linspace(1, 2, 12) / np.linspace(1, 2, 12).sum()
    method = IBU(start=start, iteration_limit=3)
    found = method.solve_many(evidence, evidence.counts[None, :], pilot=PILOT)[0]
    np.testing.assert_allclose(found.distribution, method.solve(evidence).distribution, atol=1e-12)


def test_replicates_are_drawn_from_the_source_through_the_channel() -> None:
    source = np.zeros(12)
    source[[2, 9]] = 0.5
    family = draw_family([MECHANISM.observe(COUNTS)], Inversion("none"), PILOT, source, 4000, 1)
    error = family.answers.mean(axis=0) - source
    assert np.abs(error).max() < 5 * (family.answers.std(axis=0) / np.sqrt(4000)).max()
    # The spread is that of 330 reports, not of more or fewer.
    channel = MECHANISM.channel
    covariance = np.diag(channel.push(source)) - np.outer(channel.push(source), channel.push(source))
    inverse = np.linalg.inv(channel.dense())
    expected = np.sqrt(np.diag(inverse.T @ covariance @ inverse) / 330)
    np.testing.assert_allclose(family.answers.std(axis=0), expected, rtol=0.06)


@pytest.mark.slow
def test_each_group_is_drawn_by_itself() -> None:
    careful = TruncatedGeometric(Integers(0, 11), 0.1)
    groups = [(COUNTS, MECHANISM), (careful.simulate_counts([10] * 12, rng=1), careful)]
    answer = estimate_pool(groups, IBU())
    alone = estimate(COUNTS, MECHANISM, IBU())
    assert answer.query("x >= 6").width < alone.query("x >= 6").width
    band = answer.interval(basis=Bootstrap(50))
    assert band.low.shape == (12,)
    parts = [MECHANISM.observe(COUNTS), careful.observe(groups[1][0])]
    drawn = draw_family(parts, IBU(), PILOT, answer.distribution, 3, 1)
    assert drawn.answers.shape == (3, 12)


def test_a_channel_that_knows_only_the_reports_seen_is_told_from_a_complete_one() -> None:
    assert is_complete(MECHANISM.observe(COUNTS))
    rappor = Rappor(Categories(["a", "b", "c"]), epsilon=2.0)
    counts = rappor.simulate_counts([50, 30, 20], rng=1)
    assert not is_complete(rappor.observe(counts))
    band = estimate(counts, rappor, IBU()).interval(basis=Bootstrap(60))
    assert (band.width > 0.05).all()
    assert (band.width < 0.7).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", [IBU(), MLE(), Inversion("none"), Inversion("normalize")], ids=repr)
def test_the_same_seed_gives_the_same_interval(method: Method) -> None:
    def ask(seed: int) -> list[float]:
        answer = estimate(COUNTS, MECHANISM, method)
        band = answer.interval(basis=Bootstrap(60, seed))
        return [*band.low, *band.high, *answer.query("x > 4", basis=Bootstrap(60, seed))]

    assert ask(1) == ask(1)
    assert ask(1) != ask(2)


def test_the_default_is_reproducible_and_needs_no_seed() -> None:
    first, second = (estimate(COUNTS, MECHANISM, IBU()).interval() for _ in range(2))
    np.testing.assert_array_equal(first.low, second.low)
    np.testing.assert_array_equal(first.high, second.high)
    assert "500 replicates" in first.rests_on
    assert "seed 0" in first.rests_on


def test_bias_is_counted() -> None:
    """IBU that hardly begins answers nearly uniform, whatever comes in: its replicates agree, and are all wrong."""
    truth = np.zeros(12)
    truth[3] = 1.0
    counts = MECHANISM.simulate_counts((5000 * truth).astype(int), rng=1)
    lazy = estimate(counts, MECHANISM, IBU(iteration_limit=2))
    band = lazy.interval()
    assert lazy.distribution[3] < 0.4
    assert band.high[3] > 0.95
    assert band.low.min() >= 0
    assert band.high.max() <= 1


def test_quantiles_and_means_have_replicates_too() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    median = answer.quantile(0.5, basis=Bootstrap(100))
    assert 0 <= median.low <= median.estimate <= median.high <= 11
    mean = answer.mean(basis=Bootstrap(100))
    likely = answer.mean()
    assert mean.width == pytest.approx(likely.width, rel=0.5)


def test_counts_need_not_be_whole() -> None:
    whole, broken = (Counts(COUNTS.reports, scale * COUNTS.counts) for scale in (1.0, 1.0001))
    widths = [estimate(one, MECHANISM, IBU()).interval(basis=Bootstrap(50)).width for one in (whole, broken)]
    np.testing.assert_allclose(widths[1], widths[0], atol=0.05)


def test_inversion_under_randomized_response_has_the_spread_of_its_formula() -> None:
    mechanism: Mechanism = RandomizedResponse(Integers(0, 3), epsilon=1.0)
    counts = tally(range(4), [4000, 3000, 2000, 1000])
    band = estimate(counts, mechanism, Inversion("none")).interval(basis=Bootstrap(4000))
    keep, other = mechanism.channel.dense()[0, :2]
    share = np.array([0.4, 0.3, 0.2, 0.1])
    expected = 1.96 * np.sqrt(share * (1 - share) / 10_000) / (keep - other)
    # The maximum of the likelihood, which is the other source, differs where inversion is negative; here it is not.
    inside = (band.low > 0) & (band.high < 1)
    np.testing.assert_allclose(band.width[inside] / 2, expected[inside], rtol=0.1)


def test_reports_redrawn_from_reports_are_solved_once_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def count(*arguments: Any) -> Family:
        drawn.append(1)
        return draw_family(*arguments)

    monkeypatch.setattr("confide.estimates.inference.inference.draw_family", count)
    rappor = Rappor(Categories(["a", "b", "c"]), epsilon=2.0)
    answer = estimate(rappor.simulate_counts([50, 30, 20], rng=1), rappor, IBU())
    band = answer.interval(basis=Bootstrap(40))
    assert len(drawn) == 1
    assert "40 replicates redrawn from the reports (seed 0)" in band.rests_on
    assert "drawn from the estimate" not in band.rests_on
    # Errors are measured from both sources all the same, so the band is as wide as it was with both drawn.
    sources = [answer.distribution, answer._inference.region.best]
    families = [draw_family(answer._inference.parts, IBU(), PILOT, one, 40, 0) for one in sources]
    half = np.max([family.half_width(lambda theta: theta, 0.95) for family in families], axis=0)
    np.testing.assert_allclose(band.high, np.minimum(answer.distribution + half, 1.0))
    known = estimate(COUNTS, MECHANISM, IBU()).interval(basis=Bootstrap(40))
    assert len(drawn) == 3
    assert "drawn from the estimate and as many from the distribution" in known.rests_on


def test_a_row_that_lacks_a_little_is_not_complete_however_many_values_there_are() -> None:
    class Lacking(TwoSidedExponential):
        def pull(self, weights: FloatArray) -> FloatArray:
            return super().pull(weights) * (1 - 1e-6)

    channel = TruncatedGeometric(Integers(0, 9_999), 0.4).channel
    assert isinstance(channel, TwoSidedExponential)
    whole = Evidence(channel, np.ones(10_000))
    assert is_complete(whole)
    assert not is_complete(Evidence(Lacking(channel.ratio, channel.complement, channel.columns), whole.counts))


def test_half_a_band_is_the_error_that_no_more_replicates_exceed_than_the_level_allows() -> None:
    errors = np.arange(1.0, 21.0)[:, None] / 100
    family = Family(np.zeros(1), errors)
    assert family.half_width(lambda theta: theta, 0.9).tolist() == [0.19]  # of twenty, one is larger; 0.18 has two
    assert family.half_width(lambda theta: theta, 0.95).tolist() == [0.2]

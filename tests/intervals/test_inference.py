"""Whatever is asked of an estimate: refusals, mechanisms that do not identify, unbounded values, words."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from tests.laws.examples import FEW_EXAMPLES, label

from confide import (
    IBU,
    MLE,
    Categories,
    FromMatrix,
    Geometric,
    Grid,
    Integers,
    Inversion,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedTaxicab,
    estimate,
    tally,
)
from confide.errors import InvalidParameterError
from confide.estimates import Bootstrap, Likelihood
from confide.estimates.inference import percent
from confide.estimates.inference.inference import allowed_fall, bounded_shares, standard_errors
from confide.estimates.inference.region import Region, lowest
from confide.theory.maximum_set import maximum_set

MECHANISM = TruncatedGeometric(Integers(0, 9), 0.5)
COUNTS = MECHANISM.simulate_counts([0, 5, 40, 80, 60, 30, 10, 5, 20, 10], rng=1)
BLURRED = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, float("nan"), "95%", True, None, 95])
def test_a_level_that_is_none_is_refused(level: Any) -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    for ask in (
        answer.interval,
        answer.mean,
        lambda one: answer.query("x > 3", one),
        lambda one: answer.quantile(0.5, one),
    ):
        with pytest.raises(InvalidParameterError, match="level must lie between 0 and 1"):
            ask(level)


@pytest.mark.parametrize("level", [1e-300, 1e-17, 0.5, 0.999999999999, float(np.nextafter(1, 0))])
def test_the_likelihood_takes_every_level(level: float) -> None:
    answer = estimate(COUNTS, MECHANISM, IBU()).query("x > 5", level)
    assert 0 <= answer.low <= answer.estimate <= answer.high <= 1
    assert not str(answer).endswith(" 100%")


def test_levels_next_to_one_widen_the_interval_and_are_written_out() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    widths = [answer.query("x > 5", level).width for level in (0.5, 0.95, 0.9999, 1 - 1e-9, 1 - 1e-15)]
    assert widths == sorted(set(widths))
    assert percent(0.999999999999) == "99.9999999999%"
    assert percent(float(np.nextafter(1, 0))) == "99.99999999999999%"
    assert percent(1.0) == "100%"


def test_the_bootstrap_refuses_a_level_that_takes_more_replicates() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    for ask in (
        lambda basis: answer.interval(0.99, basis=basis),
        lambda basis: answer.query("x > 5", 0.99, basis=basis),
        lambda basis: answer.quantile(0.5, 0.99, basis=basis),
    ):
        with pytest.raises(InvalidParameterError, match=r"99% takes at least 99 replicates; got 98"):
            ask(Bootstrap(98))
        assert ask(Bootstrap(99)).level == 0.99
    with pytest.raises(InvalidParameterError, match="takes at least"):
        answer.interval(1 - 1e-16, basis=Bootstrap(40))


@pytest.mark.parametrize("share", [0, 1, 2, float("nan"), "half"])
def test_a_quantile_of_no_share_is_refused(share: Any) -> None:
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        estimate(COUNTS, MECHANISM, IBU()).quantile(share)


@pytest.mark.parametrize("query", ["x >>> 3", "x > 100", [1.0, 2.0], [float("nan")] * 10, {"a": 1}])
def test_a_query_that_makes_no_sense_is_refused(query: Any) -> None:
    with pytest.raises(InvalidParameterError):
        estimate(COUNTS, MECHANISM, IBU()).query(query)


def test_a_basis_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"Likelihood\(\) or Bootstrap\(\)"):
        estimate(COUNTS, MECHANISM, IBU()).interval(basis="bootstrap")  # type: ignore[arg-type]
    bad: dict[str, Any]
    for bad in ({"replicates": 5}, {"replicates": 50.5}, {"seed": -1}, {"seed": None}):
        with pytest.raises(InvalidParameterError, match="whole number"):
            Bootstrap(**bad)


def test_cells_and_words_have_no_mean_and_the_cure_is_named() -> None:
    grid = TruncatedTaxicab(Grid(2, 2), 1.0)
    answer = estimate(grid.simulate_counts([10, 20, 30, 40], rng=1), grid, IBU())
    with pytest.raises(InvalidParameterError, match="Ask a query instead"):
        answer.mean()
    with pytest.raises(InvalidParameterError, match="Ask a query instead"):
        answer.quantile(0.5)
    rows = answer.query(lambda cell: cell[0])
    assert rows.low < 0.7 < rows.high
    words = FromMatrix(Categories(["a", "b"]), [[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(InvalidParameterError, match="no numbers"):
        estimate(tally(["a", "b"]), words, IBU()).mean()


def test_an_estimate_without_counts_says_so() -> None:
    answer = replace(estimate(COUNTS, MECHANISM, IBU()), groups={})
    with pytest.raises(InvalidParameterError, match="does not know its counts"):
        answer.interval()


# A mechanism that does not identify the answer.


@pytest.mark.parametrize("method", [IBU(), MLE()], ids=repr)
@pytest.mark.parametrize("basis", [Likelihood(), Bootstrap(50)], ids=repr)
def test_what_the_mechanism_does_not_identify_is_left_open_and_said(method: Any, basis: Any) -> None:
    counts = tally([2, 2, 2, 2, 1, 3], [100] * 6)
    answer, best = estimate(counts, BLURRED, method), maximum_set(BLURRED, counts)
    for query in ("x == 1", "x == 3"):
        interval = answer.query(query, basis=basis)
        low, high = best.bounds(query)
        assert interval.low <= low
        assert interval.high >= high - 1e-9
        assert interval.undetermined == pytest.approx((low, high))
        assert "no number of reports would settle it" in interval.rests_on
    band = answer.interval(basis=basis)
    assert (band.low <= best.lowest).all()
    assert (band.high >= best.highest - 1e-9).all()
    assert "all of them give" in band.rests_on
    assert band.at(1).undetermined == pytest.approx(tuple(best.bounds("x == 1")))


def test_what_it_does_identify_is_not() -> None:
    answer = estimate(tally([2, 2, 2, 2, 1, 3], [100] * 6), BLURRED, IBU())
    for query in ("x == 2", "x in {1, 3}"):
        interval = answer.query(query)
        assert interval.undetermined is None
        assert interval.width < 0.15
        assert "settle" not in interval.rests_on


def test_few_reports_leave_it_open_until_more_come() -> None:
    answer = estimate(tally([3]), TruncatedGeometric(Integers(0, 3), 0.5), IBU())
    assert answer.query("x >= 2").undetermined is None  # one report is best explained by its own value alone
    wide = FromMatrix(Integers(0, 2), [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    open_answer = estimate(tally([0]), wide, IBU()).query("x == 0")
    assert open_answer.undetermined == pytest.approx((0, 1))
    assert "more reports may settle it" in open_answer.rests_on


@pytest.mark.parametrize("basis", [Likelihood(40), Bootstrap(40)], ids=repr)
def test_a_quantile_that_the_mechanism_does_not_identify_is_left_open_and_said(basis: Any) -> None:
    """A value and its mirror image give the same reports, so the half below any value may be the half above it."""
    matrix = TruncatedGeometric(Integers(0, 9), 1.0).channel.dense()[:5]
    mirrored = FromMatrix(Integers(0, 9), np.vstack([matrix, matrix[::-1]]))
    counts = mirrored.simulate_counts([100, 200, 900, 200, 100, 0, 0, 0, 0, 0], rng=1)
    answer = estimate(counts, mirrored, IBU())
    best = answer._inference.best_set
    assert best is not None
    furthest = [answer._inference.quantile_of(best.furthest(sign * np.arange(10.0)), 0.5) for sign in (1, -1)]
    median = answer.quantile(0.5, basis=basis)
    assert median.undetermined == (min(furthest), max(furthest))
    assert median.low <= min(furthest)
    assert median.high >= max(furthest)
    assert "no number of reports would settle it" in median.rests_on
    assert estimate(COUNTS, MECHANISM, IBU()).quantile(0.5, basis=basis).undetermined is None


def test_what_is_too_large_to_decide_is_not_said_to_be_settled_by_more_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.theory.identification.is_storable", lambda _channel: False)
    answer = estimate(tally([2, 2, 2, 2, 1, 3], [100] * 6), BLURRED, IBU()).query("x == 1")
    assert "whether more reports would settle it is not known (The matrix is too large" in answer.rests_on


def test_bounds_that_cost_nothing_hold_what_programs_find() -> None:
    counts = tally([2, 2, 2, 2, 1, 3], [100] * 6)
    inference = estimate(counts, BLURRED, IBU())._inference
    best = inference.best_set
    assert best is not None
    low, high = bounded_shares(inference.evidence, best)
    assert (low <= best.lowest + 1e-9).all()
    assert (high >= best.highest - 1e-9).all()
    assert high[0] < 0.5


# Every mechanism, and unbounded values.


SMALL_EXAMPLES = [one for one in FEW_EXAMPLES if one.alphabet.size <= 300]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", SMALL_EXAMPLES, ids=label)
def test_every_mechanism_has_intervals(mechanism: Mechanism) -> None:
    size = mechanism.alphabet.size
    counts = mechanism.simulate_counts(np.arange(1, size + 1), rng=1)
    answer = estimate(counts, mechanism, IBU())
    band = answer.interval(basis=Bootstrap(40))
    assert (band.low <= answer.distribution).all()
    assert (band.high >= answer.distribution).all()
    assert (band.low >= 0).all()
    assert (band.high <= 1).all()
    weights = (np.arange(size) < (size + 1) // 2).astype(float)
    interval = answer.query(weights)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.width > 0 or size == 1


def test_values_without_an_end_have_intervals_among_the_likely_ones() -> None:
    mechanism = Geometric(Integers(), epsilon=0.5)
    counts = tally(mechanism.privatize([3, 4, 5] * 200, rng=1))
    answer = estimate(counts, mechanism, IBU())
    mean = answer.mean()
    assert mean.low < 4 < mean.high
    assert mean.width < 1
    assert "over the values that were considered, Integers(" in mean.rests_on
    assert answer.interval(basis=Bootstrap(40)).low.shape == (answer.alphabet.size,)


@pytest.mark.slow
def test_a_large_alphabet_is_answered_as_a_whole() -> None:
    mechanism = TruncatedGeometric(Integers(0, 2999), 0.5)
    truth = np.zeros(3000, dtype=int)
    truth[100:110] = 100
    answer = estimate(mechanism.simulate_counts(truth, rng=1), mechanism, MLE())
    assert answer.considered is not None
    interval = answer.query("x < 105")
    assert interval.low < 0.5 < interval.high
    assert interval.width < 0.3


# Words and values.


def test_an_interval_says_what_it_is() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    interval = answer.query("  x   >= 5 ", name="x")
    assert interval.question == "x >= 5"
    assert interval.level == 0.95
    assert str(interval).endswith("at 95%")
    assert interval.contains(interval.estimate)
    assert not interval.contains(interval.high + 0.01)
    low, high = interval
    assert (low, high) == (interval.low, interval.high)
    assert "log-likelihood is at most 1.92 below the highest" in interval.rests_on
    with pytest.raises(FrozenInstanceError):
        interval.low = 0.0  # type: ignore[misc]


def test_a_band_says_what_it_is_and_cannot_be_written_to() -> None:
    band = estimate(COUNTS, MECHANISM, IBU()).interval(0.9)
    low, high = band
    assert band.at(3).low == low[3]
    assert band.at(3).high == high[3]
    assert "at 90%" in repr(band)
    with pytest.raises(ValueError, match="read-only"):
        band.low[0] = 1.0


@pytest.mark.slow
def test_what_single_values_rest_on_depends_on_what_the_method_believes() -> None:
    assert "solved again by IBU" in estimate(COUNTS, MECHANISM, IBU()).interval().rests_on
    assert "no assumption about the truth" in estimate(COUNTS, MECHANISM, MLE()).interval().rests_on
    assert "solved again by INV" in estimate(COUNTS, MECHANISM, Inversion("none")).interval().rests_on
    response = RandomizedResponse(Integers(0, 2), 1.0)
    assert "no assumption about the truth" in estimate(tally([0, 1, 2], [5, 9, 4]), response, IBU()).interval().rests_on
    narrow = estimate(COUNTS, MECHANISM, MLE()).interval(basis=Bootstrap(50))
    assert "as many from" not in narrow.rests_on


def test_a_level_next_to_one_draws_more_unbidden_or_rests_on_the_likelihood() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU())
    assert "999 replicates" in answer.interval(0.999).rests_on
    assert "no assumption about the truth" in answer.interval(0.99999).rests_on


def test_ends_are_those_of_both_parts_of_the_region() -> None:
    mechanism = TruncatedTaxicab(Grid(2, 4), 0.5)
    answer = estimate(mechanism.simulate_counts([0, 0, 900, 0, 600, 0, 0, 0], rng=4), mechanism, MLE())
    region, fall = answer._inference.region, allowed_fall(0.9)
    assert region.few_values is None
    assert region.with_fewer_values is not None
    fewer, values = region.with_fewer_values
    assert values.tolist() == [2, 4]
    for weights in (np.eye(8)[2], 1 - np.eye(8)[2], np.arange(8.0)):
        ((low, high),) = Likelihood().ends([answer._inference], [weights], 0.9)
        both = np.array([region.ends(weights, fall), fewer.ends(weights[values], fall)])
        assert low == pytest.approx(both[:, 0].min(), abs=1e-12)
        assert high == pytest.approx(both[:, 1].max(), abs=1e-12)


def test_on_a_line_the_second_part_is_that_of_merged_values() -> None:
    mechanism = TruncatedGeometric(Integers(0, 7), 0.5)
    answer = estimate(mechanism.simulate_counts([0, 0, 900, 0, 0, 600, 0, 0], rng=4), mechanism, MLE())
    region, errors = answer._inference.region, standard_errors(0.95)
    assert region.with_fewer_values is None
    assert region.few_values is not None
    for weights in (np.eye(8)[2], 1 - np.eye(8)[2]):
        ((low, high),) = Likelihood().ends([answer._inference], [weights], 0.95)
        both = np.array(region.ends(weights, allowed_fall(0.95)))
        few = [region.few_values.lowest(weights, errors), -region.few_values.lowest(-weights, errors)]
        assert low == pytest.approx(min(both[0], few[0]), abs=1e-12)
        assert high == pytest.approx(max(both[1], few[1]), abs=1e-12)
        assert few[0] < both[0] or few[1] > both[1]


def test_a_search_that_may_end_early_decides_as_the_whole_one_does() -> None:
    mechanism = TruncatedGeometric(Integers(0, 19), epsilon=0.4)
    region = Region.of(mechanism.observe(mechanism.simulate_counts([20] * 20, rng=1)))
    for last in (3, 9, 15):
        weights = (np.arange(20) <= last).astype(np.float64)
        whole = float(lowest([region], [weights], 1.92)[0])
        enough = whole * np.array([0.2, 0.9, 0.999, 1.001, 1.1, 2.0])
        found = lowest([region] * enough.size, [weights] * enough.size, 1.92, enough=enough)
        np.testing.assert_array_equal(found >= enough, whole >= enough)

"""The default: what it chooses on truths of every kind, what it says, and what it does when it cannot choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import confide as cf
from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.estimates.estimate import recover
from confide.evidence.evidence import Evidence
from confide.solve.methods import stacked
from confide.solve.methods.base import Folds
from confide.solve.methods.stacked import LIMITS, Candidate, _main_shares, weigh

AGES = cf.Integers(0, 99, unit="year")


def share_of(answer: cf.estimates.Estimate, name: str) -> float:
    return next(choice.share for choice in answer.choices if choice.name == name)


def test_it_is_the_default() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    counts = mechanism.simulate_counts([100] * 10, rng=1)
    answer = cf.estimate(counts, mechanism)
    assert answer.method == cf.Stacked()
    np.testing.assert_array_equal(answer.distribution, cf.estimate(counts, mechanism, cf.Stacked()).distribution)
    assert cf.estimate_pool([(counts, mechanism)]).method == cf.Stacked()
    assert sum(choice.share for choice in answer.choices) == pytest.approx(1)


def test_a_smooth_truth_keeps_the_smooth_candidate() -> None:
    ages = cf.datasets.adult_ages()
    mechanism = cf.TruncatedGeometric(AGES, 0.1)
    for seed in range(3):
        answer = cf.estimate(mechanism.simulate_counts(ages.histogram, rng=seed), mechanism)
        assert share_of(answer, "smooth") > 0.8
        assert "smooth has a head start of 8 nats" in answer.explanation


@pytest.mark.slow
def test_a_truth_of_few_values_is_told_by_spikes_as_well_as_by_the_maximum() -> None:
    """Three lone values, which a prior on differences alone would smear."""
    alphabet = cf.Integers(0, 99)
    mechanism = cf.TruncatedGeometric(alphabet, 0.5)
    histogram = np.zeros(100, dtype=int)
    histogram[[20, 23, 70]] = [100_000, 200_000, 100_000]
    truth = histogram / histogram.sum()
    found, highest = [], []
    for seed in (1, 2):
        groups = [(mechanism.simulate_counts(histogram, rng=seed), mechanism)]
        answers = [recover(groups, method).distribution for method in (cf.Stacked(), cf.MLE())]
        assert (answers[0][[20, 23, 70]] > 0.2).all()
        found.append(cf.emd(answers[0], truth, alphabet))
        highest.append(cf.emd(answers[1], truth, alphabet))
    assert np.mean(found) < 0.5 * np.mean(highest)  # 0.16 over eight surveys


def test_on_categories_nothing_is_taken_for_smooth() -> None:
    # Hadamard response in two blocks: no one chance that a report supports another value.
    mechanism = cf.HadamardResponse(cf.Categories(list("abcdef")), 1.0)
    assert mechanism.blocks == 2
    answer = cf.estimate(mechanism.simulate_counts([500, 100, 100, 50, 50, 200], rng=1), mechanism)
    assert [choice.name for choice in answer.choices] == ["shrunk", "held-out IBU", "MLE"]
    assert "a head start of 1 nat" in answer.explanation


def test_what_does_not_fit_is_left_out_and_it_says_so() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(list(range(2001))), 6.0)
    answer = cf.estimate(cf.tally([1, 2, 3], [50, 50, 20]), mechanism)
    shrunk = next(choice for choice in answer.choices if choice.name == "shrunk")
    assert (shrunk.share, shrunk.score) == (0.0, None)
    assert "at most 2,000 values without neighbours" in shrunk.remark
    assert shrunk.remark in answer.explanation


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_on_categories_it_is_hardly_worse_than_the_best_of_its_candidates(epsilon: float) -> None:
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.08] + [0.17 / 25] * 25)
    mechanism = cf.RandomizedResponse(cf.Categories([f"word {number}" for number in range(30)]), epsilon)
    drawn = [mechanism.simulate_counts(np.rint(10_000 * truth).astype(int), rng=seed) for seed in range(4)]

    def error(method: cf.Method) -> float:
        answers = [cf.estimate(counts, mechanism, method).distribution for counts in drawn]
        return float(np.mean([cf.total_variation(answer, truth) for answer in answers]))

    others = [error(method) for method in (cf.Smooth(), cf.IBU(stop="held-out"), cf.MLE())]
    assert error(cf.Stacked()) < 1.1 * min(others)


def test_counts_that_cannot_be_split_leave_one_method_and_it_says_so() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 4), 1.0)
    halves = cf.estimate(cf.Counts(np.arange(3), np.array([10.5, 20.25, 5.0])), mechanism)
    few = cf.estimate(cf.tally([0, 1, 2], [1, 1, 1]), mechanism)
    assert "smooth alone" in halves.explanation
    assert "not whole" in halves.explanation
    assert "too few" in few.explanation
    assert {choice.name: choice.share for choice in few.choices} == {"smooth": 1.0, "MLE": 0.0}
    many = cf.RandomizedResponse(cf.Categories(list(range(2001))), 6.0)
    assert "MLE alone" in (left := cf.estimate(cf.tally([1, 2], [2, 1]), many).explanation)
    assert "shrunk was not tried" in left
    nameless = cf.RandomizedResponse(cf.Categories(["a", "b"]), 1.0)
    assert "shrunk alone" in cf.estimate(cf.tally(["a", "b"], [2, 1]), nameless).explanation


def test_where_reports_say_nothing_the_answer_stays_near_uniform() -> None:
    mechanism = cf.RandomizedResponse(cf.Integers(0, 79), 0.1)
    for seed in range(3):
        answer = cf.estimate(mechanism.simulate_counts([25] * 80, rng=seed), mechanism)
        assert cf.total_variation(answer.distribution, np.full(80, 1 / 80)) < 0.3


@pytest.mark.slow
def test_groups_with_different_mechanisms_are_one_problem() -> None:
    ages = cf.datasets.adult_ages()
    mechanisms = cf.TruncatedGeometric(AGES, 0.3), cf.RandomizedResponse(ages.alphabet, 3.0)
    distances = []
    for survey in range(4):
        groups = [
            (one.simulate_counts(ages.histogram // 2, rng=[survey, half]), one) for half, one in enumerate(mechanisms)
        ]
        answers = [recover(some, cf.Stacked()) for some in (groups, groups[:1], groups[1:])]
        distances.append([cf.emd(one.distribution, ages.distribution, ages.alphabet) for one in answers])
    pooled, *alone = np.mean(distances, axis=0)
    assert pooled < 1.05 * min(alone)  # 0.98 over eight surveys


def test_the_same_reports_give_the_same_answer_and_seeds_are_settings() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 19), 0.5)
    counts = mechanism.simulate_counts([50] * 20, rng=3)
    first, again = cf.estimate(counts, mechanism), cf.estimate(counts, mechanism)
    np.testing.assert_array_equal(first.distribution, again.distribution)
    assert repr(cf.Stacked(seed=4)) == "Stacked(folds=5, seed=4)"
    with pytest.raises(cf.ConfideError, match="folds"):
        cf.Stacked(folds=1)


def candidates_of(first: FloatArray, second: FloatArray) -> list[Candidate]:
    named = {"first": first, "second": second}
    return [Candidate(name, cf.MLE(), one, np.array([one, one]), LIMITS.head_start) for name, one in named.items()]


@pytest.mark.parametrize("people", [20, 200, 20_000])
def test_the_shares_are_those_that_a_search_over_all_mixtures_finds(people: int) -> None:
    channel = Dense(np.eye(3))
    evidence = Evidence(channel, np.rint(people * np.array([0.5, 0.3, 0.2])))
    folds = Folds.of(evidence, 2, 0)
    first, second = np.array([0.2, 0.3, 0.5]), np.array([0.8, 0.15, 0.05])
    shares, scores = weigh(evidence, folds, candidates_of(first, second))
    held = folds.judged.mean(axis=0) * evidence.total
    tried = np.linspace(1e-6, 1 - 1e-6, 20_001)
    objective = np.log(np.outer(tried, first) + np.outer(1 - tried, second)) @ held + LIMITS.head_start * np.log(tried)
    assert shares[0] == pytest.approx(tried[np.argmax(objective)], abs=2e-2)
    assert scores[1] == pytest.approx(held @ np.log(second / first), rel=1e-9)


def test_a_candidate_that_rules_a_report_out_is_not_chosen() -> None:
    evidence = Evidence(Dense(np.eye(2)), np.array([90.0, 60.0]))
    impossible, possible = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    shares, _ = weigh(evidence, Folds.of(evidence, 2, 0), candidates_of(impossible, possible))
    assert shares[1] > 0.5


@pytest.mark.parametrize(("people", "is_near"), [(10, True), (20_000, False)])
def test_a_candidate_far_behind_has_no_share_though_it_explains_what_the_first_misses(
    people: int, is_near: bool
) -> None:
    evidence = Evidence(Dense(np.eye(3)), np.rint(people * np.array([0.5, 0.3, 0.2])))
    folds = Folds.of(evidence, 2, 0)
    first, second = np.array([0.55, 0.4, 0.05]), np.array([0.2, 0.1, 0.7])
    candidates = [replace(one, head_start=0.1) for one in candidates_of(first, second)]
    shares, scores = weigh(evidence, folds, candidates)
    assert bool(scores[1] > -LIMITS.far_behind) is is_near
    assert bool(shares[1] > 0.1) is is_near
    assert shares.sum() == pytest.approx(1)


@pytest.mark.slow
def test_over_a_sample_of_the_papers_grid_it_beats_every_fixed_delta() -> None:
    """A small draw of what ``python -m benchmarks.defaults`` measures; the bars there are for the whole grid."""
    ages = cf.datasets.adult_ages()
    mechanisms = [
        *(cf.TruncatedGeometric(AGES, epsilon) for epsilon in (0.01, 0.05, 0.3)),
        cf.Exponential(ages.alphabet, 0.1),
        *(cf.RandomizedResponse(ages.alphabet, epsilon) for epsilon in (1.0, 3.0)),
    ]
    methods = (cf.Stacked(), *(cf.IBU(delta) for delta in (1.0, 0.1, 0.01, 0.001)))
    means = [
        [
            np.mean(
                [
                    cf.emd(
                        cf.estimate(one.simulate_counts(ages.histogram, rng=seed), one, method).distribution,
                        ages.distribution,
                        ages.alphabet,
                    )
                    for seed in (11, 12)
                ]
            )
            for method in methods
        ]
        for one in mechanisms
    ]
    default, *fixed = np.exp(np.log(means).mean(axis=0))
    assert default < 0.8 * min(fixed)
    for row in means:
        assert row[0] < 1.3 * min(row[1:])


def test_replicates_borrow_the_shares_of_a_few_of_them_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "weighed", 2)
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    evidence = mechanism.observe(mechanism.simulate_counts([100] * 10, rng=1))
    rows = np.tile(evidence.counts, (4, 1))
    method, pilot = cf.Stacked(), cf.Stacked().solve(evidence)
    answers = {"smooth": cf.Smooth().solve_many(evidence, rows, pilot=pilot)[0], "MLE": cf.MLE(0.01).solve(evidence)}
    smooth, highest = (answers[name].distribution for name in ("smooth", "MLE"))
    shares = [(1.0, 0.0), (0.25, 0.75)]

    def weighed(_method: cf.Stacked, some: list[Evidence], _progress: object = None) -> list[cf.Solution]:
        candidates = [(("a", first, cf.Smooth()), ("b", second, cf.MLE(0.01))) for first, second in shares]
        choices = [
            tuple(cf.solve.methods.Choice(name, share, 0.0, method=one) for name, share, one in row)
            for row in candidates
        ]
        return [cf.Solution(some[0].frequencies, 0, cf.Status.HELD_OUT, "", one) for one in choices]

    monkeypatch.setattr(cf.Stacked, "_mix", weighed)
    found = [one.distribution for one in method.solve_many(evidence, rows, pilot=pilot)]
    np.testing.assert_allclose(found[0], smooth, atol=1e-9)
    np.testing.assert_allclose(found[1], 0.25 * smooth + 0.75 * highest, atol=1e-4)
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)
    np.testing.assert_allclose(found[3], found[1], atol=1e-9)


def test_candidates_with_a_tiny_share_are_left_out_of_replicates_and_the_others_make_up_for_them() -> None:
    choices = [
        cf.solve.methods.Choice("a", 0.485, 0.0, method=cf.Smooth()),
        cf.solve.methods.Choice("b", 0.5, 0.0, method=cf.MLE()),
        cf.solve.methods.Choice("c", 0.015, 0.0, method=cf.IBU()),
        cf.solve.methods.Choice("d", 0.0, None, "too large"),
    ]
    assert _main_shares(choices) == {cf.Smooth(): pytest.approx(0.485 / 0.985), cf.MLE(): pytest.approx(0.5 / 0.985)}


def test_each_row_takes_its_own_number_of_held_out_steps() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 29), 0.3)
    rng = np.random.default_rng(2)
    truths = [np.full(30, 1 / 30), np.eye(30)[[5, 25]].mean(axis=0), rng.dirichlet(np.full(30, 0.1))]
    counts = [
        mechanism.simulate_counts(rng.multinomial(people, truth), rng=3)
        for truth, people in zip(truths, (50, 5000, 800), strict=True)
    ]
    evidence = [mechanism.observe(one) for one in counts]
    folds = [Folds.of(one, 5, 0) for one in evidence]
    steps = stacked._held_out_steps(evidence, folds)
    assert len(set(steps)) == 3
    together = stacked._held_out_candidates(evidence, folds)
    for one, part, number, found in zip(evidence, folds, steps, together, strict=True):
        assert [number] == stacked._held_out_steps([one], [part])
        alone = stacked._held_out_candidates([one], [part])[0]
        np.testing.assert_allclose(found.distribution, alone.distribution, atol=1e-12)
        np.testing.assert_allclose(found.without_fold, alone.without_fold, atol=1e-12)

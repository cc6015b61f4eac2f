"""Held-out likelihood chooses a number of steps without tuning."""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.test_methods import drawn_counts

from confide import (
    IBU,
    Categories,
    Counts,
    Integers,
    RandomizedResponse,
    Rappor,
    Status,
    TruncatedGeometric,
    datasets,
    emd,
    estimate,
    tally,
)
from confide.channels import Dense
from confide.errors import InvalidCountsError
from confide.evidence.evidence import Evidence
from confide.solve.methods.base import Folds, best_numbers_of_steps

HELD_OUT = IBU(stop="held-out")


def evidence_of(counts: list[float]) -> Evidence:
    return Evidence(Dense(np.full((2, len(counts)), 1 / len(counts))), np.array(counts))


def test_folds_share_every_report_out() -> None:
    counts = np.array([1000.0, 0.0, 501.0, 3.0])
    folds = Folds.of(evidence_of(counts.tolist()), 5, seed=1)
    assert folds.learned.shape == folds.judged.shape == (5, 4)
    np.testing.assert_allclose(folds.learned.sum(axis=1), 1)
    np.testing.assert_allclose(folds.judged.sum(axis=1), 1)
    # Fold by fold, some share of what is judged and the rest of what is learned from make up the counts again.
    for learned, judged in zip(folds.learned, folds.judged, strict=True):
        apart = judged - learned
        share = float(apart @ (counts / counts.sum() - learned) / (apart @ apart))
        assert share == pytest.approx(0.2, abs=0.05)
        np.testing.assert_allclose(share * judged + (1 - share) * learned, counts / counts.sum(), atol=1e-12)


def test_folds_depend_on_the_seed_alone() -> None:
    evidence = evidence_of([100.0, 50.0, 70.0])
    np.testing.assert_array_equal(Folds.of(evidence, 5, 1).judged, Folds.of(evidence, 5, 1).judged)
    assert (Folds.of(evidence, 5, 1).judged != Folds.of(evidence, 5, 2).judged).any()


def test_the_same_seed_gives_the_same_answer() -> None:
    mechanism = TruncatedGeometric(Integers(0, 49), 0.2)
    counts = drawn_counts(mechanism, 5000)
    first, second = (estimate(counts, mechanism, HELD_OUT) for _ in range(2))
    np.testing.assert_array_equal(first.distribution, second.distribution)
    assert first.iterations == second.iterations
    assert first.status is Status.HELD_OUT
    assert first.explanation.startswith(f"{first.iterations:,} iterations explained reports that were held out best")


def test_the_answer_is_ibu_on_all_reports_after_the_chosen_number_of_steps() -> None:
    mechanism = TruncatedGeometric(Integers(0, 49), 0.2)
    counts = drawn_counts(mechanism, 5000)
    answer = estimate(counts, mechanism, HELD_OUT)
    plain = estimate(counts, mechanism, IBU(1e-300, iteration_limit=answer.iterations))
    np.testing.assert_array_equal(answer.distribution, plain.distribution)


def test_the_choice_is_the_earliest_near_the_best() -> None:
    """Written from its definition, with one plain run a fold."""
    mechanism = TruncatedGeometric(Integers(0, 19), 0.3)
    evidence = mechanism.observe(drawn_counts(mechanism, 2000))
    folds, matrix = Folds.of(evidence, 5, 0), evidence.channel.dense()
    paths = []
    for learned, judged in zip(folds.learned, folds.judged, strict=True):
        theta, scores = np.full(20, 1 / 20), []
        for _ in range(90):  # below 100 steps every one of them is scored
            scores.append(float(judged @ np.log(theta @ matrix)))
            theta = theta * (matrix @ (learned / (theta @ matrix)))
        paths.append(scores)
    table = np.array(paths).T
    best = table[int(table.mean(axis=1).argmax())]
    error = (best - table).std(axis=1, ddof=1) / np.sqrt(5)
    expected = int(np.argmax((best - table).mean(axis=1) <= 0.5 * error))
    assert best_numbers_of_steps(evidence.channel, np.full(20, 1 / 20), [folds], np.array([evidence.total]), 89)[
        0
    ] == max(1, expected)


def test_it_stops_earlier_than_delta_where_steps_fit_the_noise() -> None:
    ages = datasets.adult_ages()
    mechanism = TruncatedGeometric(Integers(0, 99), 0.3)
    counts = mechanism.simulate_counts(ages.histogram, rng=1)
    held_out, late = estimate(counts, mechanism, HELD_OUT), estimate(counts, mechanism, IBU(1e-3))
    assert held_out.iterations < late.iterations / 2
    truth = ages.distribution
    assert emd(held_out.distribution, truth, ages.alphabet) < emd(late.distribution, truth, ages.alphabet)


def test_it_comes_close_to_the_best_step_in_hindsight() -> None:
    ages = datasets.adult_ages()
    mechanism = TruncatedGeometric(Integers(0, 99), 0.3)
    for seed in range(3):
        counts = mechanism.simulate_counts(ages.histogram, rng=seed)
        evidence, theta, errors = mechanism.observe(counts), np.full(100, 0.01), []
        for _ in range(400):
            theta = theta * evidence.gain(evidence.channel.push(theta))
            errors.append(emd(theta / theta.sum(), ages.distribution, ages.alphabet))
        answer = estimate(counts, mechanism, HELD_OUT)
        assert emd(answer.distribution, ages.distribution, ages.alphabet) <= 1.5 * min(errors)


def test_counts_that_are_not_whole_cannot_be_held_out() -> None:
    mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
    with pytest.raises(InvalidCountsError, match=r"Holding out needs whole counts of at least 10 reports; got 40\.5"):
        estimate(Counts(np.array(["yes", "no"]), np.array([20.25, 20.25])), mechanism, HELD_OUT)


def test_too_few_reports_cannot_be_held_out() -> None:
    mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
    with pytest.raises(InvalidCountsError, match="whole counts of at least 10 reports; got 9 in all"):
        estimate(tally(["yes", "no"], counts=[5, 4]), mechanism, HELD_OUT)
    assert estimate(tally(["yes", "no"], counts=[5, 4]), mechanism, IBU(stop="held-out", folds=2)).iterations >= 1


def test_values_that_explain_nothing_learned_do_not_spoil_it() -> None:
    """With few reports some fold never sees an output that it is then judged by."""
    mechanism = TruncatedGeometric(Integers(0, 9), 30.0)
    counts = Counts(np.arange(10), np.array([1.0, 1, 1, 1, 1, 1, 1, 1, 1, 20]))
    answer = estimate(counts, mechanism, HELD_OUT)
    assert np.isfinite(answer.distribution).all()
    assert answer.iterations >= 1


def test_it_works_on_bit_vectors() -> None:
    mechanism = Rappor(Integers(0, 9), 1.0)
    answer = estimate(drawn_counts(mechanism, 2000), mechanism, HELD_OUT)
    assert answer.status is Status.HELD_OUT


@pytest.mark.slow
def test_a_score_that_creeps_up_for_ever_ends_the_search() -> None:
    """Under weak noise it rose for 6,600 steps, by a ten-thousandth of a nat in the last five thousand."""
    mechanism = Rappor(Integers(0, 11), 5.0)
    people = np.zeros(12, dtype=int)
    people[[1, 4, 7]] = [500, 333, 166]
    evidence = mechanism.observe(mechanism.simulate_counts(people, rng=1))
    folds = Folds.of(evidence, 5, 0)
    steps = best_numbers_of_steps(evidence.channel, np.full(12, 1 / 12), [folds], np.array([evidence.total]), 100_000)[
        0
    ]
    assert 500 < steps < 600

    def held_out(number: int) -> float:
        rows = [Evidence(evidence.channel, row * 800) for row in folds.learned]
        answers = [IBU(1e-300, iteration_limit=number).solve(row).distribution for row in rows]
        scores = [
            float(judged @ np.log(evidence.channel.push(one)))
            for one, judged in zip(answers, folds.judged, strict=True)
        ]
        return 999 * float(np.mean(scores))

    assert abs(held_out(2000) - held_out(steps)) < 0.02

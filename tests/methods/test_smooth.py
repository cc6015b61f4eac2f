"""Smooth where it should win, where neighbours mean nothing, and where the reports say nothing."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.errors import SolverError
from confide.estimates.estimate import recover
from confide.solve.methods.stacked import believe, fit_all, mix


def errors(mechanism: cf.Mechanism, histogram: object, methods: list[cf.Method], seeds: range) -> list[float]:
    """Return the mean EMD of each method."""
    people = np.asarray(histogram)
    truth = people / people.sum()
    drawn = [mechanism.simulate_counts(people, rng=seed) for seed in seeds]

    def error(counts: cf.Counts, method: cf.Method) -> float:
        return cf.emd(cf.estimate(counts, mechanism, method).distribution, truth, mechanism.alphabet)

    return [float(np.mean([error(counts, method) for counts in drawn])) for method in methods]


@pytest.mark.parametrize(("epsilon", "share"), [(0.05, 1.05), (0.3, 0.6)])
@pytest.mark.slow
def test_on_real_ages_it_beats_ibu_where_noise_is_weak_and_keeps_up_where_it_is_strong(
    epsilon: float, share: float
) -> None:
    ages = cf.datasets.adult_ages()
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon)
    smooth, ibu, highest = errors(mechanism, ages.histogram, [cf.Smooth(), cf.IBU(), cf.MLE()], range(4))
    assert smooth < share * ibu
    assert smooth < highest / 2


def test_under_k_rr_it_sees_that_ages_have_an_order() -> None:
    """The channel does not know of it; the alphabet does. The same ages as categories are a harder problem."""
    ages = cf.datasets.adult_ages()
    ordered = cf.RandomizedResponse(ages.alphabet, 2.0)
    nameless = cf.RandomizedResponse(cf.Categories(list(range(100))), 2.0)
    counts = ordered.simulate_counts(ages.histogram, rng=1)
    with_order, without = (
        cf.total_variation(cf.estimate(counts, one, cf.Smooth()).distribution, ages.distribution)
        for one in (ordered, nameless)
    )
    assert with_order < without / 2


def test_on_categories_the_names_and_their_order_change_nothing() -> None:
    names, counts = ["a", "b", "c", "d", "e"], np.array([400, 100, 250, 50, 200])
    order = [3, 0, 4, 1, 2]
    first, second = (
        cf.estimate(cf.tally(used, tallied), cf.RandomizedResponse(cf.Categories(used), 1.0), cf.Smooth()).distribution
        for used, tallied in ((names, counts), ([names[place] for place in order], counts[order]))
    )
    np.testing.assert_allclose(second, first[order], rtol=1e-6)


def test_reports_that_say_nothing_leave_the_uniform_distribution() -> None:
    mechanism = cf.RandomizedResponse(cf.Integers(0, 79), 0.1)
    for seed in range(3):
        counts = mechanism.simulate_counts(np.bincount([5], [1000.0], minlength=80).astype(int), rng=seed)
        answer = cf.estimate(counts, mechanism, cf.Smooth())
        assert cf.total_variation(answer.distribution, np.full(80, 1 / 80)) < 0.2
        assert "uniform" in answer.explanation


def test_without_noise_the_reports_themselves_are_the_answer() -> None:
    """People scatter around any smooth population; where nothing blurs them, they are what is asked for."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 30.0)
    people = np.array([90, 110, 80, 130, 95, 105, 70, 125, 100, 95])
    answer = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism, cf.Smooth())
    np.testing.assert_allclose(answer.distribution, people / people.sum(), rtol=1e-9)


def test_more_reports_bring_it_closer() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 49), 0.2)
    truth = np.exp(-((np.arange(50) - 20) ** 2) / 60)
    few, many = (
        errors(mechanism, np.rint(people * truth / truth.sum()).astype(int), [cf.Smooth()], range(3))[0]
        for people in (1_000, 1_000_000)
    )
    assert many < few / 5


def test_islands_and_lone_values_are_no_trouble() -> None:
    islands = cf.Grid(4, 5, holes=tuple((row, 2) for row in range(4)))
    for alphabet in (islands, cf.Grid(1, 1), cf.Grid(2, 2), cf.Integers(3, 3), cf.Integers(0, 1)):
        size = alphabet.size
        mechanism = cf.FromMatrix(alphabet, 0.6 * np.eye(size) + 0.4 / size)
        drawn = [mechanism.simulate_counts([30] * size, rng=seed) for seed in range(8)]
        answers = [recover([(counts, mechanism)], cf.Smooth()).distribution for counts in drawn]
        np.testing.assert_allclose(np.mean(answers, axis=0), 1 / size, atol=0.03)


@pytest.mark.slow
def test_a_long_line_is_described_by_knots() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 599), 0.05)
    truth = np.exp(-((np.arange(600) - 200) ** 2) / (2 * 60**2)) + 0.05
    histogram = np.rint(20_000 * truth / truth.sum()).astype(int)
    smooth, ibu = errors(mechanism, histogram, [cf.Smooth(), cf.IBU()], range(1))
    assert smooth < ibu


def test_too_many_categories_are_refused_with_a_cure() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(list(range(2001))), 2.0)
    with pytest.raises(SolverError, match=r"at most 2,000 values without neighbours.*Use IBU"):
        cf.estimate(cf.tally([1, 2], [5, 5]), mechanism, cf.Smooth())


def test_too_many_answers_of_randomized_response_are_refused_and_the_default_does_without() -> None:
    mechanism = cf.RandomizedResponse(cf.Integers(0, 3000), 8.0)
    counts = cf.tally([1, 2, 3], [50, 50, 20])
    with pytest.raises(SolverError, match=r"at most 3,000 values under randomized response, and there are 3,001"):
        cf.estimate(counts, mechanism, cf.Smooth())
    assert "held-out IBU" in [choice.name for choice in cf.estimate(counts, mechanism).choices]


def test_four_steps_of_em_lead_from_the_population_to_those_who_reported() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 19), 1.0)
    shape = np.exp(-((np.arange(20) - 8) ** 2) / 20.0)
    evidence = mechanism.observe(mechanism.simulate_counts(np.rint(800 * shape / shape.sum()).astype(int), rng=2))
    _, fits = fit_all(evidence, lambda _outputs: None)
    theta, matrix = mix(fits, believe(evidence, fits)), mechanism.channel.dense()
    for _ in range(4):
        theta = theta * (matrix @ (evidence.frequencies / (theta @ matrix)))
    np.testing.assert_allclose(cf.Smooth().solve(evidence).distribution, theta, rtol=1e-9)

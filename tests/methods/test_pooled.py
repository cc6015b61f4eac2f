"""Categories whose reports support them: pooled shares, inversion, and the unbiased estimate that weighs them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each

import confide as cf
from confide.solve.methods.inversion import Shares

PEOPLE = 20_000


def response(size: int, epsilon: float) -> cf.RandomizedResponse:
    return cf.RandomizedResponse(cf.Categories([f"c{place}" for place in range(size)]), epsilon)


def population(kind: str, size: int) -> NDArray[np.float64]:
    rank = np.arange(size)
    shares = {
        "sparse": np.where(rank < 3, 0.3, 0.1 / (size - 3)),
        "some": (rank < size // 10).astype(np.float64),
        "staircase": 3.0 ** -(3 * rank // size),
        "Zipf": 1 / (rank + 1.0) ** 1.2,
        "flat": np.ones(size),
    }[kind]
    scaled: NDArray[np.float64] = shares / shares.sum()
    return scaled


SETS: list[type[cf.Mechanism]] = [
    *(cf.OptimizedUnary, cf.Rappor, cf.SubsetSelection),
    *(cf.LocalHashing, cf.ProjectiveGeometryResponse, cf.HadamardResponse),
]
"""Protocols whose reports support sets of values; Hadamard response below epsilon log 2, in one block."""


def survey(
    shares: NDArray[np.float64], epsilon: float, seed: int, kind: type[cf.Mechanism] = cf.RandomizedResponse
) -> tuple[cf.evidence.Evidence, NDArray[np.float64]]:
    generator = np.random.default_rng([seed, 5])
    mechanism, people = kind(response(shares.size, epsilon).alphabet, epsilon), generator.multinomial(PEOPLE, shares)  # type: ignore[call-arg]
    return mechanism.observe(mechanism.simulate_counts(people, rng=generator)), people / PEOPLE


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 3.0, 4.0])
@pytest.mark.parametrize("kind", ["sparse", "staircase", "Zipf", "flat"])
@pytest.mark.parametrize("size", [20, 100])
def test_the_default_is_no_worse_than_the_better_of_the_maximum_and_inversion(
    kind: str, size: int, epsilon: float
) -> None:
    """Over hundreds of surveys no ratio is above 1.02 but for chance; of a dozen, chance has a few hundredths."""
    errors = []
    for seed in range(12):
        evidence, truth = survey(population(kind, size), epsilon, seed)
        misses = [
            one.solve(evidence).distribution - truth for one in (cf.MLE(1e-3), cf.Inversion("project"), cf.Stacked())
        ]
        errors.append([(np.abs(miss).sum(), miss @ miss) for miss in misses])
    highest, inverted, default = np.mean(errors, axis=0)
    assert (default <= 1.06 * np.minimum(highest, inverted)).all()


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.kind)
@pytest.mark.parametrize("shape", ["sparse", "Zipf"])
def test_the_default_is_no_worse_than_the_closed_form_of_sets(kind: type[cf.Mechanism], shape: str) -> None:
    """Draws towards the uniform distribution had three to five times the error where three of a hundred hold most."""
    errors = []
    for seed in range(6):
        evidence, truth = survey(population(shape, 100), 0.6 if kind is cf.HadamardResponse else 4.0, seed, kind)
        misses = [one.solve(evidence).distribution - truth for one in (cf.Inversion("project"), cf.Stacked())]
        errors.append([miss @ miss for miss in misses])
    inverted, default = np.mean(errors, axis=0)
    assert default < inverted


@pytest.mark.parametrize("kind", [cf.RandomizedResponse, cf.SubsetSelection, cf.ProjectiveGeometryResponse])
def test_the_largest_of_few_categories_is_not_drawn_down(kind: type[cf.Mechanism]) -> None:
    """Three of a hundred hold most, at epsilon 4: the report of a shrunk share would be 0.02 low."""
    shares = np.append([0.527, 0.3, 0.12], np.full(97, 0.053 / 97))
    off = []
    for seed in range(18):
        evidence, truth = survey(shares, 4.0, seed, kind)
        off.append(cf.Stacked().solve(evidence).distribution[0] - truth[0])
    assert abs(np.mean(off)) < 0.003


@pytest.mark.parametrize("kind", [cf.RandomizedResponse, *SETS], ids=lambda kind: kind.kind)
def test_the_variance_of_an_inverted_share_is_that_of_the_noise_alone(kind: type[cf.Mechanism]) -> None:
    """Whom the reports come from is fixed: the variance is the mechanism's, and linear in the share."""
    epsilon = 0.6 if kind is cf.HadamardResponse else 1.0
    mechanism, people = kind(response(5, epsilon).alphabet, epsilon), np.array([1200, 400, 300, 100, 0])  # type: ignore[call-arg]
    surveys = (mechanism.observe(mechanism.simulate_counts(people, rng=seed)) for seed in range(1000))
    found = [Shares.of(evidence).inverted for evidence in surveys]
    shares = Shares.of(mechanism.observe(mechanism.simulate_counts(people, rng=0)))
    expected = shares.least + shares.growth * people / people.sum()
    assert np.var(found, axis=0) == pytest.approx(expected, rel=0.2)


def test_trust_follows_what_pooling_gains() -> None:
    """Twenty alike are pooled; where each has a size of its own, inversion is left as it is."""

    def trust(shares: NDArray[np.float64], epsilon: float) -> float:
        return float(np.mean([Shares.of(survey(shares, epsilon, seed)[0]).trust for seed in range(12)]))

    assert trust(np.full(20, 0.05), 3.0) > 0.7
    assert trust(population("Zipf", 20), 4.0) < 0.3


@pytest.mark.parametrize("kind", ["some", "Zipf", "flat"])
def test_the_estimated_gain_is_the_real_one_or_a_little_less(kind: str) -> None:
    """The gain is minus the mean of (inverted - truth) . d; moves that are not small make the estimate cautious."""
    people = np.rint(PEOPLE * population(kind, 40)).astype(int)
    mechanism, estimated, real = response(40, 2.0), [], []
    for seed in range(200):
        shares = Shares.of(mechanism.observe(mechanism.simulate_counts(people, rng=seed)))
        away = shares.pooled - shares.projected
        estimated.append(shares._slope_of_projection - shares._slope_of_pooling)
        real.append((people / people.sum() - shares.inverted) @ away)
    short = (np.mean(real) - np.mean(estimated)) / shares._variances.sum()
    assert -0.03 < short < 0.2


@each("size", [2, 3, 2000])
@each("epsilon", [0.01, 12.0])
@each("reports", [12, 5000])
def test_any_number_of_categories_and_reports_gives_a_distribution(size: int, epsilon: float, reports: int) -> None:
    mechanism, people = response(size, epsilon), np.zeros(size, dtype=int)
    people[0] = reports
    found = cf.Stacked().solve(mechanism.observe(mechanism.simulate_counts(people, rng=1)))
    assert found.distribution.sum() == pytest.approx(1)
    assert (found.distribution >= 0).all()
    assert sum(choice.share for choice in found.choices) == pytest.approx(1)


def test_replicates_mix_the_same_candidates() -> None:
    evidence, _ = survey(population("sparse", 20), 3.0, 1)
    counts = np.array([evidence.counts] * 3)
    whole = cf.Stacked().solve(evidence)
    for one in cf.Stacked().solve_many(evidence, counts, pilot=whole):
        assert one.distribution == pytest.approx(whole.distribution, abs=1e-9)
    assert [choice.name for choice in whole.choices] == ["pooled", "INV-P"]
    assert "unbiased estimate of the squared error" in whole.explanation

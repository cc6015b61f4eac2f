"""Long lines: what is done less often there, and said, and what stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import IBU, MLE, Exponential, Integers, Mechanism, TruncatedGeometric, TruncatedLaplace, estimate
from confide.channels import Dense, Rescaled, TwoSidedExponential
from confide.channels.base import Indices
from confide.estimates import Likelihood
from confide.estimates.inference import inference as bases
from confide.estimates.inference import region as module
from confide.estimates.inference.inference import first_places
from confide.estimates.inference.region import Region, maximise_nearby
from confide.evidence.evidence import Evidence

LINES = [
    TruncatedGeometric(Integers(0, 19), 0.4),
    TruncatedLaplace(Integers(0, 19), 0.4),
    Exponential(Integers(0, 19), 3.0),
]


@pytest.mark.parametrize("mechanism", LINES, ids=repr)
def test_a_line_with_its_rows_rescaled_is_the_same_line(mechanism: Mechanism) -> None:
    factors = np.linspace(0.2, 1.0, 20)
    tilted = mechanism.channel.rescaled(factors)
    plain = Rescaled(mechanism.channel, factors)
    assert isinstance(tilted, TwoSidedExponential)
    np.testing.assert_allclose(tilted.dense(), plain.dense(), rtol=1e-12)
    np.testing.assert_allclose(tilted.push(factors), plain.push(factors), rtol=1e-12)
    np.testing.assert_allclose(tilted.pull(factors), plain.pull(factors), rtol=1e-12)


@pytest.mark.slow
def test_a_query_on_a_long_line_is_answered_by_the_solver_for_long_lines() -> None:
    """It went through a solver for any matrix before, and did not come back."""
    mechanism = TruncatedGeometric(Integers(0, 19_999), 0.05)
    people = np.clip(np.random.default_rng(1).normal(10_000, 2_500, 20_000), 0, 19_999).astype(int)
    counts = mechanism.simulate_counts(np.bincount(people, minlength=20_000), rng=1)
    inference = estimate(counts, mechanism, IBU(iteration_limit=5))._inference
    true = np.mean(people >= 12_000)
    low, high = inference.region.ends((np.arange(20_000) >= 12_000).astype(float), 1.92)
    assert low < true < high
    without_noise = 2 * 1.96 * np.sqrt(true * (1 - true) / people.size)
    assert without_noise < high - low < 1.5 * without_noise


def test_that_solver_finds_the_ends_that_others_find(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), 0.1)
    evidence = mechanism.observe(mechanism.simulate_counts(np.arange(100), rng=1))
    asked = (np.arange(100) >= 60).astype(float)
    matrix = Evidence(Dense(evidence.channel.dense()), evidence.counts)
    others = Region.of(matrix).ends(asked, 1.92)
    monkeypatch.setattr("confide.solve.maximum.LONG_LINE", 10)
    assert Region.of(evidence).ends(asked, 1.92) == pytest.approx(others, abs=2e-5)


def test_there_are_fewer_replicates_where_there_are_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = estimate(LINES[0].simulate_counts([50] * 20, rng=1), LINES[0], MLE())
    assert Likelihood().drawn(answer._inference) == 100
    monkeypatch.setattr(bases, "ENOUGH_VALUES", 400)
    assert Likelihood().drawn(answer._inference) == 20
    monkeypatch.setattr(bases, "ENOUGH_VALUES", 20)
    assert Likelihood(50).drawn(answer._inference) == 8


def test_a_quantile_is_looked_for_outwards_from_the_estimates() -> None:
    firsts, near = (grid.reshape(-1) for grid in np.meshgrid(np.arange(20), [0, 4, 9, 17, 19]))
    asked: list[int] = []

    def is_so(which: Indices, places: Indices) -> NDArray[np.bool_]:
        asked.append(which.size)
        return np.asarray(places >= firsts[which])

    found = first_places(is_so, near, np.full(firsts.size, 20))
    np.testing.assert_array_equal(found, firsts)
    assert asked[0] == firsts.size  # all of them at once
    assert sum(asked) < 6 * firsts.size


@pytest.mark.slow
def test_near_its_steps_a_query_has_the_ends_that_the_whole_line_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = TruncatedGeometric(Integers(0, 999), 0.5)
    people = np.random.default_rng(4).multinomial(20_000, np.random.default_rng(5).dirichlet(np.full(1000, 0.3)))
    region = Region.of(mechanism.observe(mechanism.simulate_counts(people, rng=1)))
    places = np.arange(1000)
    questions = [((places >= 300) & (places < 700)).astype(float), (places >= 995).astype(float)]
    whole = [region.ends(one, 1.92) for one in questions]
    solved: list[object] = []

    def watch(*given: Any) -> object:
        solved.append(maximise_nearby(*given))
        return solved[-1]

    monkeypatch.setattr(module, "LONG", 500)
    monkeypatch.setattr("confide.estimates.inference.region.maximise_nearby", watch)
    for one, ends in zip(questions, whole, strict=True):
        found = region.ends(one, 1.92)
        assert found == pytest.approx(ends, abs=2e-3 * (ends[1] - ends[0]))
    assert len(solved) > 4
    assert all(one is not None for one in solved)


def test_a_query_that_steps_everywhere_is_left_to_the_whole_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", 50)
    monkeypatch.setattr(module, "MOST_FREE", 60)
    mechanism = TruncatedGeometric(Integers(0, 99), 0.5)
    evidence = mechanism.observe(mechanism.simulate_counts(np.arange(100), rng=1))
    best = Region.of(evidence).best
    assert maximise_nearby(evidence, best, 1 / (1 + np.arange(100) / 99)) is None
    monkeypatch.setattr(module, "PROVEN", 0.0)  # nothing is taken on trust
    monkeypatch.setattr(module, "MOST_FREE", 100)
    assert maximise_nearby(evidence, best, np.where(np.arange(100) < 50, 1.0, 0.9)) is None

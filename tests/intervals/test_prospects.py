"""What an interval could be: Pratt's bound, and the parts of a width."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pratt import shortest_width

from confide import Integers, RandomizedResponse, TruncatedGeometric, estimate, estimate_pool
from confide.channels import Dense, RandomizedResponseChannel

SHARES = np.array([0.2, 0.3, 0.5])


def test_without_borders_the_bound_is_three_and_a_third_standard_errors() -> None:
    """For a Gaussian error with nothing to bound it the integral is 2 (1.645 Phi(1.645) + phi(1.645)) = 3.332."""
    asked = np.array([1.0, 1.0, 0.0])
    plain = shortest_width(Dense(np.eye(3)), SHARES, asked, 1e5, 0.95)
    assert plain == pytest.approx(3.332 * np.sqrt(0.25 / 1e5), rel=2e-3)
    noisy = shortest_width(RandomizedResponseChannel(3, 0.6, 0.2), SHARES, asked, 1e5, 0.95)
    reported = 0.2 * 3 - 0.2 + 0.4 * 0.5
    assert noisy == pytest.approx(3.332 * np.sqrt(reported * (1 - reported) / 1e5) / 0.4, rel=2e-3)


def test_a_border_halves_it_and_weights_scale_it() -> None:
    channel, nobody = RandomizedResponseChannel(2, 0.75, 0.25), np.array([0.0, 1.0])
    asked = np.array([1.0, 0.0])
    inside = shortest_width(channel, np.array([0.5, 0.5]), asked, 1e4, 0.95)
    assert shortest_width(channel, nobody, asked, 1e4, 0.95) == pytest.approx(inside / 2 * np.sqrt(0.75), rel=0.02)
    assert shortest_width(channel, nobody, 3 * asked - 1, 1e4, 0.95) == pytest.approx(
        3 * shortest_width(channel, nobody, asked, 1e4, 0.95), rel=1e-6
    )
    assert shortest_width(channel, nobody, np.ones(2), 1e4, 0.95) == 0


def test_a_width_has_two_parts_and_more_of_both_narrows_it() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.5)
    answer = estimate(mechanism.simulate_counts([200] * 10, rng=1), mechanism)
    found = answer.prospect("x >= 5")
    share = answer.query("x >= 5").estimate
    assert found.width == pytest.approx(answer.query("x >= 5").width)
    assert found.sampling == pytest.approx(2 * 1.96 * np.sqrt(share * (1 - share) / 2000), rel=1e-3)
    assert found.noise == pytest.approx(found.width - found.sampling)
    assert list(found.people) == [4000, 20_000]
    assert list(found.epsilon) == [1.0, 2.0]
    for widths in ([found.width, *found.people.values()], [found.width, *found.epsilon.values(), found.sampling]):
        assert widths == sorted(widths, reverse=True)
    assert "from having asked 2,000 people, the rest from the noise. It would be about" in str(found)
    assert "with 4,000 people" in str(found)


def test_what_few_values_allow_narrows_as_well() -> None:
    """Two heaps far apart: their shares are told to a root of the number of people."""
    mechanism = TruncatedGeometric(Integers(0, 29), 0.5)
    histogram = np.zeros(30, dtype=int)
    histogram[[5, 25]] = 600, 400
    found = estimate(mechanism.simulate_counts(histogram, rng=1), mechanism).prospect("x >= 15")
    assert found.people[10_000] == pytest.approx(found.width / np.sqrt(10), rel=0.1)


def test_ten_times_the_people_are_about_as_good_as_foretold() -> None:
    mechanism = RandomizedResponse(Integers(0, 4), 1.0)
    few, many = (estimate(mechanism.simulate_counts([n] * 5, rng=1), mechanism) for n in (400, 4000))
    assert few.prospect("x >= 3").people[20_000] == pytest.approx(many.query("x >= 3").width, rel=0.05)
    better = RandomizedResponse(Integers(0, 4), 2.0)
    other = estimate(better.simulate_counts([400] * 5, rng=1), better)
    assert few.prospect("x >= 3").epsilon[2.0] == pytest.approx(other.query("x >= 3").width, rel=0.1)


def test_a_pool_has_no_epsilon_of_its_own() -> None:
    pair = [TruncatedGeometric(Integers(0, 4), epsilon) for epsilon in (0.5, 1.0)]
    pool = estimate_pool([(one.simulate_counts([50] * 5, rng=1), one) for one in pair])
    assert pool.prospect("x >= 3").epsilon == {}
    assert pool.prospect("x >= 3").people

"""Division into windows: all values once, each share told by its interval, narrower with more reports."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.estimates.estimate import recover
from confide.estimates.inference import Likelihood, Windows
from confide.estimates.inference.division import MOST_SINGLE, _Growth, windows_over

LINE = cf.Integers(0, 39, unit="year")
HUMP = np.exp(-(((np.arange(40) - 14) / 5) ** 2))
TRUTH = HUMP / HUMP.sum()


def windows(epsilon: float, people: int, error: float = 0.5, seed: int = 1) -> Windows:
    mechanism = cf.TruncatedGeometric(LINE, epsilon)
    counts = mechanism.simulate_counts(np.rint(people * TRUTH), rng=seed)
    return cf.estimate(counts, mechanism, cf.IBU()).windows(error, name="age")


def width(found: Windows, truth: np.ndarray = TRUTH) -> float:
    """Return the size of the window that a person is in, on average."""
    return float(sum(truth[one].sum() * one.size for one in found.members))


FOUND = windows(0.3, 20_000)


def test_windows_hold_all_values_once_and_have_the_intervals_of_queries() -> None:
    assert np.concatenate(FOUND.members).tolist() == list(range(40))
    assert (FOUND.window_of == np.repeat(np.arange(len(FOUND)), [one.size for one in FOUND.members])).all()
    mechanism = cf.TruncatedGeometric(LINE, 0.3)
    answer = cf.estimate(mechanism.simulate_counts(np.rint(20_000 * TRUTH), rng=1), mechanism, cf.IBU())
    for label, one in zip(FOUND.labels, FOUND.answers, strict=True):
        low, high = label.split("\N{EN DASH}")
        assert one.question == f"age in {low}..{high}"
        asked = answer.query(one.question, name="age")
        np.testing.assert_allclose(
            [one.estimate, one.low, one.high], [asked.estimate, asked.low, asked.high], rtol=1e-6
        )


def test_every_share_is_told_or_said_not_to_be() -> None:
    assert len(FOUND) > 3
    for one, where, is_told in zip(FOUND.answers, FOUND.members, FOUND.told, strict=True):
        error = max(one.high - one.estimate, one.estimate - one.low)
        assert is_told == (error <= 0.5 * max(one.estimate, where.size / 40))
        assert is_told
    assert f"{len(FOUND)} ranges. Each share is known to within ±50% (95% confidence" in FOUND.headline
    empty = [one.low <= 1e-4 for one in FOUND.answers]
    assert not any(one and other for one, other in pairwise(empty))  # no two are told apart


def test_how_far_forecasts_are_off_all_intervals_say_not_the_last_few() -> None:
    """8,000 points of a plane were one district: the last one was forecast far too well, and all were joined."""
    mechanism = cf.TruncatedGeometric(LINE, 0.3)
    inference = recover([(mechanism.simulate_counts(np.rint(20_000 * TRUTH), rng=1), mechanism)], cf.MLE())._inference
    growth = _Growth(inference, 0.5, 0.95, Likelihood(), windows_over(LINE))
    growth.asked_level = 0.95
    growth._ask([growth._patch(np.arange(start, start + 10), 0.01) for start in (0, 10, 20, 30)])
    before = growth.scale
    growth._ask([growth._patch(np.arange(12, 14), 1e-6)])
    assert 0 < before == growth.scale < 100


@pytest.mark.slow
def test_more_people_and_a_larger_error_give_narrower_windows() -> None:
    assert width(windows(0.3, 200_000)) < 0.8 * width(FOUND) < 0.8 * width(windows(0.3, 2_000))
    assert width(windows(0.3, 20_000, 0.9)) < width(FOUND) < width(windows(0.3, 20_000, 0.2))


def test_where_nothing_is_told_all_is_one_window() -> None:
    found = windows(0.01, 50)
    assert len(found) == 1
    assert found.answers[0].low == pytest.approx(1)
    assert found.headline.startswith("These reports do not resolve two ranges")
    assert not found.are_single


def test_what_is_known_well_stands_alone() -> None:
    found = windows(4.0, 200_000, 0.9)
    assert all(where.size == 1 for where in found.members if TRUTH[where].sum() > 0.01)


def test_districts_are_boxes_of_cells_around_holes() -> None:
    grid = cf.Grid(6, 7, spacing=0.5, unit="km", holes=[(0, 0), (5, 6)])
    people = np.where((grid.coordinates == [2, 3]).all(axis=1), 8_000, 50)
    mechanism = cf.TruncatedTaxicab(grid, 3.0)
    found = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism, cf.IBU()).windows()
    assert sorted(np.concatenate(found.members).tolist()) == list(range(grid.size))
    assert all(found.told)
    assert "districts. Each share is known" in found.headline
    alone = found.members[int(found.window_of[grid.encode([(2, 3)])[0]])]
    assert alone.size <= 6
    truth = people / people.sum()
    held = [one.contains(truth[where].sum()) for one, where in zip(found.answers, found.members, strict=True)]
    assert np.mean(held) > 0.75
    assert all(label.endswith(")") for label in found.labels)


def test_the_fullest_of_many_answers_are_not_taken_at_their_luck() -> None:
    """Forty answers that are alike: the nineteen fullest by chance, and the others, at the level of those shown."""
    mechanism = cf.RandomizedResponse(cf.Categories([f"v{place}" for place in range(40)]), 3.0)
    held = []
    for seed in range(25):
        people = np.random.default_rng(seed).multinomial(10_000, np.full(40, 1 / 40))
        found = cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism, cf.MLE()).windows()
        assert len(found) == MOST_SINGLE
        assert found.answers[0].level == pytest.approx(0.975)
        held += [one.contains(where.size / 40) for one, where in zip(found.answers, found.members, strict=True)]
    assert found.labels[-1] == "21 others together" or "21 others together" in found.labels
    assert np.mean(held) >= 0.95


@pytest.mark.slow
def test_windows_hold_the_truth_of_spikes_although_the_reports_chose_them() -> None:
    spikes = np.zeros(40)
    spikes[[5, 14, 16, 30]] = [0.1, 0.4, 0.3, 0.2]
    mechanism, held = cf.TruncatedGeometric(LINE, 0.3), []
    for seed in range(12):
        people = np.random.default_rng(seed).multinomial(10_000, spikes)
        found = cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism, cf.IBU()).windows()
        held += [one.contains(spikes[where].sum()) for one, where in zip(found.answers, found.members, strict=True)]
    assert len(held) > 50
    assert np.mean(held) >= 0.93


def test_an_unbounded_line_and_pairs_have_windows() -> None:
    mechanism = cf.Geometric(cf.Integers(), 1.0)
    found = cf.estimate(cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1)), mechanism, cf.IBU()).windows()
    assert found.alphabet.size == sum(one.size for one in found.members)
    letters = cf.RandomizedResponse(cf.Categories(["a", "b"]), 3.0)
    pair = cf.Product(first=cf.TruncatedGeometric(cf.Integers(0, 2), 3.0), second=letters)
    counts = cf.tally(pair.privatize([(0, "a"), (1, "b")] * 200, rng=1))
    assert cf.estimate(counts, pair, cf.IBU()).windows().are_single


def test_bad_settings_are_refused() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)
    answer = cf.estimate(cf.tally(["yes", "no"], [60, 40]), mechanism, cf.IBU())
    with pytest.raises(InvalidParameterError, match="error must lie between 0 and 1"):
        answer.windows(2)
    with pytest.raises(InvalidParameterError, match="level must lie between 0 and 1"):
        answer.windows(level=95)


def test_intervals_decide_where_the_forecast_gave_a_window_up() -> None:
    found = windows(0.2, 500, error=0.9)
    assert (len(found), all(found.told)) == (4, True)  # by the forecast alone there are three


def test_questions_of_windows_can_be_asked_as_they_stand() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(-5, 5), 2.0)
    answer = cf.estimate(mechanism.simulate_counts(np.full(11, 100), rng=1), mechanism)
    for one in answer.windows(name="change").answers:
        assert answer.query(one.question, name="change").estimate == one.estimate
    assert windows_over(mechanism.alphabet, "two words").join(np.array([0])).question == "value == -5"

"""Groups that differ from the others are found; groups that were drawn at random are left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import confide as cf
from confide.check.differences import Directions, _whitening, benjamini_hochberg, differences

AGES = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.1)
HUMP = np.exp(-(((np.arange(100) - 38) / 14) ** 2) / 2)

MECHANISMS: dict[str, Callable[[], cf.Mechanism]] = {
    "line": lambda: AGES,
    "Laplace": lambda: cf.Laplace(cf.Integers(0, 19), epsilon=0.5),
    "unbounded": lambda: cf.Geometric(cf.Integers(), epsilon=1.0),
    "categories": lambda: cf.RandomizedResponse(cf.Categories(list("abcdef")), epsilon=1.0),
    "bits": lambda: cf.Rappor(cf.Integers(0, 9), epsilon=2.0),
    "plane": lambda: cf.TruncatedTaxicab(cf.Grid(4, 4), epsilon=1.0),
}


def people(mechanism: cf.Mechanism, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return true values with a shape of their own."""
    size = mechanism.alphabet.size if mechanism.alphabet.is_finite else 20
    shares = HUMP if size == 100 else np.arange(1.0, size + 1) ** 2
    places = rng.choice(size, size=number, p=shares / shares.sum())
    return mechanism.alphabet.decode(places) if mechanism.alphabet.is_finite else places


def at_random(mechanism: cf.Mechanism, sizes: list[int], seed: int) -> dict[int, cf.Counts]:
    """Return groups of people who were put into them at random."""
    rng = np.random.default_rng(seed)
    reports = mechanism.privatize(people(mechanism, sum(sizes), rng), rng=rng)
    ends = np.cumsum(sizes)
    return {
        place: cf.tally(reports[end - size : end]) for place, (size, end) in enumerate(zip(sizes, ends, strict=True))
    }


def alone(groups: dict[int, cf.Counts], mechanism: cf.Mechanism) -> dict[int, list[tuple[cf.Counts, cf.Mechanism]]]:
    return {key: [(counts, mechanism)] for key, counts in groups.items()}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.slow
def test_groups_drawn_at_random_do_not_differ(name: str) -> None:
    """Of 12 surveys, at 3 % each, more than 2 have a false alarm by chance once in 200 times."""
    mechanism = MECHANISMS[name]()
    sizes = [1, 1, 2, 5, 12, 40, 90, 90, 200]
    false, p_values = 0, []
    for seed in range(12):
        found = differences(alone(at_random(mechanism, sizes, seed), mechanism))
        false += bool(found.different)
        p_values += [one.p_value for one in found.values()]
    assert false <= 2
    # p-values are as they should be: not too small, and not useless either.
    assert 0.3 < np.mean(np.array(p_values) <= 0.5) < 0.6
    assert np.mean(np.array(p_values) <= 0.05) < 0.09


@pytest.mark.slow
def test_random_groups_of_a_pool_do_not_differ() -> None:
    wary = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
    false = 0
    for seed in range(20):
        one, other = at_random(AGES, [5, 80, 150], seed), at_random(wary, [70, 20, 3], seed + 100)
        found = differences({key: [(one[key], AGES), (other[key], wary)] for key in one})
        false += bool(found.different)
    assert false <= 3


@pytest.mark.slow
def test_hundreds_of_random_groups_do_not_differ() -> None:
    """The tail is what matters here: of 500 p-values the least must be below 6e-5 to count."""
    sizes = np.random.default_rng(0).integers(1, 60, size=500).tolist()
    assert not differences(alone(at_random(AGES, sizes, 0), AGES)).different


@pytest.mark.parametrize(("size", "shift"), [(2000, 10), (2000, -5), (100, 15)])
@pytest.mark.slow
def test_a_town_that_is_older_is_found_and_so_is_which_way(size: int, shift: int) -> None:
    rng = np.random.default_rng(4)
    groups = at_random(AGES, [2000] * 10, 3)
    groups[99] = cf.tally(AGES.privatize(np.clip(people(AGES, size, rng) + shift, 0, 99), rng=rng))
    found = differences(alone(groups, AGES))
    assert found.different == [99]
    assert np.sign(found[99].scores[0]) == np.sign(shift)
    visible = found[0].visible
    assert visible is not None
    assert 1 < visible < 3  # noise of 14 years over 2,000 reports, and ten others to be told from


@pytest.mark.slow
def test_a_spread_and_a_category_are_found_too() -> None:
    rng = np.random.default_rng(5)
    groups = at_random(AGES, [1500] * 8, 6)
    mean = 38 + rng.permutation(np.repeat([-25, 25], 750))
    groups[99] = cf.tally(AGES.privatize(np.clip(mean, 0, 99), rng=rng))
    found = differences(alone(groups, AGES))
    assert found.different == [99]
    assert found[99].scores[1] > abs(found[99].scores[0])
    colours = MECHANISMS["categories"]()
    towns = at_random(colours, [400] * 6, 17)
    towns[99] = cf.tally(colours.privatize(["a"] * 400, rng=8))
    answers = cf.estimate_groups(towns, colours)
    assert answers.differences.different == [99]
    assert answers.describe_difference(99) == "differs from the others: more a"
    assert answers.describe_difference(0) == "no difference seen"


@pytest.mark.slow
def test_a_large_group_that_differs_does_not_make_the_others_differ() -> None:
    """Compared with all the others, of which it is a third, these would: the mean of the rest is years above theirs."""
    groups = at_random(AGES, [2000, 2000, 300], 11)
    older = np.clip(people(AGES, 2000, np.random.default_rng(12)) + 10, 0, 99)
    groups[99] = cf.tally(AGES.privatize(older, rng=13))
    assert differences(alone(groups, AGES)).different == [99]


@pytest.mark.slow
def test_many_small_groups_that_differ_do_not_make_the_others_differ() -> None:
    """One in five is 25 years older: against all the others, the rest would be 5 years younger, and often named."""
    rng = np.random.default_rng(21)
    groups = at_random(AGES, [120] * 160, 22)
    for place in range(0, 160, 5):
        older = np.clip(people(AGES, 120, rng) + 25, 0, 99)
        groups[place] = cf.tally(AGES.privatize(older, rng=rng))
    named = differences(alone(groups, AGES)).different
    right = [key for key in named if key % 5 == 0]
    assert len(right) == 32
    assert len(named) - len(right) <= 3


def test_two_groups_have_one_test_and_one_group_has_none() -> None:
    groups = at_random(AGES, [300, 500], 1)
    found = differences(alone(groups, AGES))
    assert found[0].p_value == pytest.approx(found[1].p_value)
    np.testing.assert_allclose(found[0].scores, -found[1].scores)
    one = differences(alone({0: groups[0]}, AGES))
    assert (one[0].p_value, one.different) == (1.0, [])


def test_who_says_what_most_say_is_as_usual_as_can_be() -> None:
    """One report of two kinds: all simulated groups of one are as far off or further, ties among them."""
    mechanism = cf.RandomizedResponse(cf.Categories(["a", "b"]), 1.0)
    groups = {0: cf.tally(["a", "b"], [700, 300]), 1: cf.tally(["a"]), 2: cf.tally(["b"])}
    found = differences(alone(groups, mechanism))
    assert found[1].p_value == pytest.approx(1, abs=1e-3)
    assert found[2].p_value == pytest.approx(0.3, abs=0.1)


def test_p_values_do_not_depend_on_names_or_order() -> None:
    groups = at_random(AGES, [30, 60, 90], 2)
    first, second = differences(alone(groups, AGES)), differences(alone(dict(reversed(groups.items())), AGES))
    assert [first[key].p_value for key in groups] == pytest.approx([second[key].p_value for key in groups], rel=0.2)


def test_scores_are_expectations_given_a_report() -> None:
    """By hand, on two values through a matrix: E[f | z] = sum_x f(x) theta_x M_xz / y_z."""
    theta, matrix = np.array([0.25, 0.75]), np.array([[0.9, 0.1], [0.2, 0.8]])
    directions = Directions.over(cf.Categories(["a", "b"]), theta)
    np.testing.assert_array_equal(directions.functions, [[0.0, 1.0]])
    expected = 0.75 * matrix[1] / (theta @ matrix)
    np.testing.assert_allclose(directions.scores(cf.channels.Dense(matrix))[:, 0], expected)


def test_whitening_and_the_rule() -> None:
    covariance = np.array([[4.0, 2.0, 2.0], [2.0, 3.0, 1.0], [2.0, 1.0, 1.0]])  # the third is half the first
    white = _whitening(covariance)
    np.testing.assert_allclose(white @ covariance @ white.T, np.diag([1.0, 1.0, 0.0]), atol=1e-12)
    assert benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5]), 0.05).tolist() == [1, 0, 0, 0]
    assert benjamini_hochberg(np.array([0.01, 0.02, 0.03, 0.5]), 0.05).tolist() == [1, 1, 1, 0]
    assert benjamini_hochberg(np.array([0.5]), 0.05).tolist() == [0]

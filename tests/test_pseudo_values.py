"""Pseudo-values are unbiased, exactly where there is a matrix; statsmodels gets from them what is true."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from tests.laws.examples import FAMILIES

import confide as cf
from confide.errors import NotInvertibleError
from confide.estimates.pseudo_values import PseudoValues

EVERY = [one for one in chain.from_iterable(family.examples for family in FAMILIES.values()) if one.alphabet.is_finite]
LISTED = [one for one in EVERY if one.has_channel and one.alphabet.size <= 300]
UNLISTED = [one for one in EVERY if not one.has_channel and one.alphabet.size <= 100]


def question(mechanism: cf.Mechanism) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1.0, 2.0, mechanism.alphabet.size).round(2)


@pytest.mark.parametrize("mechanism", LISTED, ids=repr)
def test_the_mean_over_all_reports_is_the_weight_of_each_value(mechanism: cf.Mechanism) -> None:
    """With M as it is stored, entry by entry, and not as it solved: M g = c, or there is no such g."""
    weights, outputs = question(mechanism), mechanism.report_alphabet
    matrix = mechanism.channel.dense()
    try:
        found = PseudoValues(mechanism, weights).values(outputs.decode(np.arange(outputs.size)))
    except NotInvertibleError:
        nearest = matrix @ np.linalg.lstsq(matrix, weights, rcond=1e-12)[0]
        assert np.abs(nearest - weights).max() > 1e-6 or np.linalg.cond(matrix) > 1e8
        return
    # Rounding in the sum of huge terms is no bias.
    assert matrix @ found == pytest.approx(weights, abs=1e-6 + 1e-13 * float(np.abs(found).max()))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", UNLISTED, ids=repr)
def test_reports_without_a_matrix_have_unbiased_values(mechanism: cf.Mechanism) -> None:
    generator, weights, alphabet = np.random.default_rng(7), question(mechanism), mechanism.alphabet
    people = generator.integers(0, alphabet.size, 40_000)
    reports = mechanism.privatize(alphabet.decode(people), rng=3)
    if getattr(mechanism, "epsilon", 1.0) < 1e-6 and mechanism.facts.rates is None:
        with pytest.raises(NotInvertibleError, match="lost in rounding"):
            PseudoValues(mechanism, weights).values(reports)
        return
    errors = PseudoValues(mechanism, weights).values(reports) - weights[people]
    for factor in (np.ones(people.size), weights[people] - weights.mean(), people - people.mean()):
        terms = errors * factor
        assert abs(terms.mean()) <= 4.5 * terms.std() / np.sqrt(terms.size) + 1e-5


def test_values_of_another_epsilon_are_biased() -> None:
    """What the tests above would see: values made for an epsilon 20 % off."""
    ages = cf.Integers(0, 9)
    made, read = (cf.Geometric(ages, epsilon) for epsilon in (0.5, 0.6))
    people = np.random.default_rng(1).binomial(9, 0.2, 40_000)
    found = cf.unbias(made.privatize(people, rng=2), read, "age >= 5")
    assert abs(found.mean() - (people >= 5).mean()) > 6 * found.std() / 200


def test_several_questions_at_once_are_one_row_each() -> None:
    mechanism = cf.Rappor(cf.Categories(["a", "b", "c"]), 2.0)
    reports = mechanism.privatize(["a", "b", "b", "c"], rng=1)
    rows = PseudoValues(mechanism, np.eye(3)).values(reports)
    assert rows[1] == pytest.approx(cf.unbias(reports, mechanism, "x == b"))


def test_of_many_unbiased_values_those_with_the_least_variance_are_taken() -> None:
    """Two outputs say the same of every value: only their sum counts."""
    split = cf.FromMatrix(cf.Categories(["x", "y"]), [[0.6, 0.1, 0.3], [0.3, 0.05, 0.65]])
    found = cf.unbias([0, 1, 2], split, "v == x")
    assert found[0] == pytest.approx(found[1])


def test_the_mean_is_exact_where_nothing_is_clamped() -> None:
    """In the middle of a line the noise is symmetric, and a report is its own pseudo-value."""
    mechanism = cf.Geometric(cf.Integers(0, 99), 0.5)
    assert cf.unbias([30, 60], mechanism) == pytest.approx([30, 60])
    # A report beyond the border is on average 1 / (e^0.5 - 1) steps out.
    assert cf.unbias([0, -7], mechanism) == pytest.approx([-1 / np.expm1(0.5)] * 2)


@pytest.mark.parametrize(
    ("mechanism", "query", "words"),
    [
        (cf.OneBitMean(cf.Integers(0, 9), 1.0), "x >= 5", "No unbiased value exists for 'x >= 5'"),
        (cf.FromMatrix(cf.Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]]), "x == 2", "outside the mechanism's"),
        (cf.TruncatedPlanarGeometric(cf.Grid(3, 3), 1e-9), "row >= 1", "No unbiased value"),
    ],
)
def test_where_none_exists_an_error_says_so(mechanism: cf.Mechanism, query: str, words: str) -> None:
    with pytest.raises(NotInvertibleError, match=words):
        cf.unbias(mechanism.privatize([(1, 1)] if mechanism.alphabet.parts == 2 else [2], rng=1), mechanism, query)


@pytest.mark.parametrize(
    ("reports", "mechanism", "query", "words"),
    [
        ([3], cf.Geometric(cf.Integers(), 1.0), "mean", "unbounded"),
        ([12], cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), "mean", "none of the outputs"),
        (["a"], cf.RandomizedResponse(cf.Categories(["a", "b"]), 1.0), "mean", "no numbers"),
        ([3], "geometric", "mean", "must be a mechanism"),
    ],
)
def test_bad_input_is_explained(reports: list[int], mechanism: cf.Mechanism, query: str, words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.unbias(reports, mechanism, query)


def test_statsmodels_gets_weighted_means_and_slopes_right() -> None:
    api = pytest.importorskip("statsmodels.api")
    generator = np.random.default_rng(5)
    years = generator.integers(20, 60, 20_000)
    pay = np.clip(np.rint(5 + 0.5 * (years - 20) + generator.normal(0, 3, years.size)), 0, 49).astype(np.int64)
    weights = generator.uniform(0.2, 5.0, years.size) * (1 + (years > 40))
    mechanism = cf.Geometric(cf.Integers(0, 49), 0.2)
    unbiased = cf.unbias(mechanism.privatize(pay, rng=6), mechanism)
    covariates = api.add_constant(years)
    fitted = api.WLS(unbiased, covariates, weights).fit(cov_type="HC1")
    without_noise = api.WLS(pay, covariates, weights).fit().params
    # The noise alone stands between the two: a standard error is a bound on how much of it there is.
    assert (np.abs(fitted.params - without_noise) < 4 * fitted.bse).all()
    on_reports = api.WLS(np.clip(mechanism.privatize(pay, rng=6), 0, 49), covariates, weights).fit()
    assert abs(on_reports.params[1] - without_noise[1]) > 4 * fitted.bse[1]
    mean = api.WLS(unbiased, np.ones(years.size), weights).fit().params[0]
    assert mean == pytest.approx(np.average(pay, weights=weights), abs=4 * unbiased.std() / np.sqrt(5_000))

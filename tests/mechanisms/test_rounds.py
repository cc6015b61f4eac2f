"""Two rounds of noise: both promises in exact arithmetic, structure, sampling, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.laws.exact import assert_promise_kept, exp_bounds
from tests.laws.examples import FAMILIES, label

import confide as cf
from confide.channels import Composed
from confide.errors import InvalidParameterError
from confide.mechanisms import audits
from confide.mechanisms.audits import Extent
from confide.mechanisms.guarantees import epsilon_above
from confide.mechanisms.rounds import one_report, rounded_rows
from confide.mechanisms.sampling import SecureBits
from confide.theory.verdicts import Verdict

COLOURS = cf.Categories(["red", "green", "blue"])
AGES = cf.Integers(0, 99, unit="year")
DEPLOYED = cf.TwoRounds(cf.Unary(COLOURS, 0.75, 0.25), cf.Unary(COLOURS, 0.75, 0.5))
LINE = cf.TwoRounds(cf.TruncatedGeometric(AGES, 0.05), cf.TruncatedGeometric(AGES, 0.02))
SMALL = [one for one in FAMILIES["two-rounds"].examples if one.alphabet.size <= 20 and one.report_alphabet.size <= 40]
SECRET = cf.Permanent(bytes(range(16)))


def epsilon_of(mechanism: Any) -> float:
    return float(mechanism.guarantee.epsilon)


@pytest.mark.parametrize("mechanism", SMALL, ids=label)
def test_both_promises_are_kept_by_the_integers(mechanism: Any) -> None:
    assert_promise_kept(mechanism)
    assert_promise_kept(mechanism.permanent)
    found = cf.audit(mechanism, reports=500)
    assert found.holds
    assert found.lasting is not None
    assert found.lasting.holds
    assert found.extent is Extent.ALL_PAIRS
    assert "any number of reports" in str(found)


def test_rappor_has_the_promises_of_its_authors() -> None:
    """f = p = 1/2 and q = 3/4: q* = 11/16 and p* = 9/16, and the odds of both are 77/45."""
    assert DEPLOYED.facts.bits == (Fraction(11, 16), Fraction(9, 16))
    assert epsilon_of(DEPLOYED) == epsilon_above(Fraction(77, 45)) == pytest.approx(math.log(77 / 45))
    assert DEPLOYED.lasting == cf.mechanisms.LocalDP(epsilon_above(Fraction(9)))


@pytest.mark.parametrize("ratio", [Fraction(9), Fraction(77, 45), Fraction(10**12 + 1, 10**12), Fraction(2) ** 90])
def test_an_epsilon_is_the_logarithm_rounded_up(ratio: Fraction) -> None:
    epsilon = epsilon_above(ratio)
    assert exp_bounds(Fraction(epsilon))[1] >= ratio
    assert exp_bounds(Fraction(epsilon) * (1 - Fraction(1, 2**48)))[0] < ratio


def test_randomized_response_twice_is_randomized_response_and_any_size_of_it() -> None:
    many = cf.Integers(0, 99_999)
    twice = cf.TwoRounds(cf.RandomizedResponse(many, 8.0), cf.RandomizedResponse(many, 7.0))
    assert twice.channel.keep_and_other is not None
    a, b, k = math.exp(8), math.exp(7), 1e5
    assert epsilon_of(twice) == pytest.approx(math.log((a * b + k - 1) / (a + b + k - 2)))
    assert twice.facts.independence is not None


def test_products_compose_attribute_by_attribute() -> None:
    one = cf.Product(colour=cf.RandomizedResponse(COLOURS, 2.0), age=cf.TruncatedGeometric(cf.Integers(0, 9), 0.5))
    two = cf.Product(colour=cf.RandomizedResponse(COLOURS, 1.0), age=cf.RandomizedResponse(cf.Integers(0, 9), 1.0))
    both = cf.TwoRounds(one, two)
    assert both.part("age") == cf.TwoRounds(one.part("age"), two.part("age"))
    assert both.guarantee.bound(("red", 3), ("blue", 5)) < both.lasting.bound(("red", 3), ("blue", 5)) == 3.0


def test_a_large_one_never_makes_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    many = cf.Integers(0, 99_999)
    large = cf.TwoRounds(cf.TruncatedGeometric(many, 0.05), cf.TruncatedGeometric(many, 0.02))
    monkeypatch.setattr(Composed, "dense", lambda *_: pytest.fail("the matrix was made"))
    monkeypatch.setattr(type(large.permanent.channel), "dense", lambda *_: pytest.fail("a matrix was made"))
    pushed = large.channel.push(np.full(many.size, 1 / many.size))
    assert pushed.sum() == pytest.approx(1)
    found = cf.audit(large, reports=100)
    assert (found.holds, found.extent) == (True, Extent.STRUCTURE)
    assert "follows from the promises of both rounds" in found.compared
    assert not found.worst.is_measured
    assert str(found).startswith("The promise holds, by a theorem. The promise of one report follows")


def test_an_audit_of_two_rounds_states_what_it_computed() -> None:
    """The permanent round bounds a report by 0.02 a year, and of 30 ages all weights, multiplied, say less."""
    ages = cf.Integers(0, 29, unit="year")
    twice = cf.TwoRounds(cf.TruncatedGeometric(ages, 0.05), cf.TruncatedGeometric(ages, 0.02))
    exact = [[Fraction(one, sum(row)) for one in row] for row in map(twice.weights, range(30))]
    ratios = [a / b for left, right in pairwise(exact) for a, b in zip(left, right, strict=True)]
    log_ratio = max(abs(math.log(ratio)) for ratio in ratios)
    for limit in (2**28, 0):  # the products of all bits, and rounded ones
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(vars(audits.LIMITS), "largest_multiplied", limit)
            found = cf.audit(twice, reports=100)
        assert found.extent is (Extent.ALL_PAIRS if limit else Extent.DIGITS)
        assert found.worst.log_ratio == pytest.approx(log_ratio, rel=1e-12)
        assert abs(found.worst.left - found.worst.right) == 1
        worst = exact[found.worst.left][found.worst.output] / exact[found.worst.right][found.worst.output]
        assert math.log(worst) == pytest.approx(log_ratio, rel=1e-12)
        assert found.holds
    assert log_ratio < 0.02


def test_rounded_weights_keep_70_digits() -> None:
    ages = cf.Integers(0, 9, unit="year")
    twice = cf.TwoRounds(cf.TruncatedGeometric(ages, 3.0), cf.FromMatrix(ages, np.eye(10)[::-1]))
    for number, row in enumerate(rounded_rows(twice.permanent, twice.fresh)):
        for one, exact in zip(row, twice.weights(number), strict=True):
            assert abs(Fraction(one, sum(row)) * sum(twice.weights(number)) / exact - 1) < Fraction(1, 10**70)


def test_a_broken_promise_is_found_in_rounded_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(audits.LIMITS), "largest_multiplied", 0)
    ages = cf.Integers(0, 29, unit="year")
    twice = cf.TwoRounds(cf.TruncatedGeometric(ages, 0.05), cf.TruncatedGeometric(ages, 0.02))
    measured, metric = cf.audit(twice, reports=100).worst.log_ratio, twice.guarantee.metric  # type: ignore[attr-defined]
    for share, is_broken in ((1 - 1e-9, True), (1 + 1e-9, False)):
        vars(twice)["guarantee"] = cf.mechanisms.MetricPrivacy(share * measured, metric)
        assert cf.audit(twice, reports=100).worst.exceeds is is_broken


@pytest.mark.parametrize(
    ("permanent", "fresh", "terms"),
    [
        (cf.TruncatedGeometric(AGES, 0.05), cf.TruncatedGeometric(AGES, 0.02), "0.02 per year"),
        (cf.TruncatedGeometric(AGES, 0.02), cf.TruncatedGeometric(AGES, 0.05), "0.02 per year"),
        (cf.TruncatedGeometric(AGES, 0.05), cf.RandomizedResponse(AGES, 2.0), "0.03808 per year"),
        (cf.Exponential(AGES, 0.05), cf.TruncatedGeometric(AGES, 0.02), "0.05 per year"),  # redrawn: no coupling
        (cf.RandomizedResponse(COLOURS, 2.0), cf.FromMatrix(COLOURS, np.eye(3)), "epsilon 2"),
    ],
)
def test_what_one_report_promises(permanent: cf.Mechanism, fresh: cf.Mechanism, terms: str) -> None:
    assert one_report(permanent, fresh).terms == terms


def test_the_promise_of_one_report_is_reached_by_two_values() -> None:
    pair = cf.Integers(0, 1)
    rounds = cf.FromMatrix(pair, [[0.75, 0.25], [0.25, 0.75]]), cf.FromMatrix(pair, [[0.8, 0.2], [0.2, 0.8]])
    twice = cf.TwoRounds(*rounds)
    assert cf.audit(twice, reports=100).worst.relative == pytest.approx(1.0, abs=1e-9)


def test_holes_break_the_coupling() -> None:
    """Around a hole two cells that move alike may come out further apart, so the smaller promise is not made."""
    lake = cf.Grid(3, 3, holes=((1, 1),))
    whole, holed = (
        cf.TwoRounds(cf.TruncatedTaxicab(grid, 1.0), cf.TruncatedTaxicab(grid, 0.5)) for grid in (cf.Grid(3, 3), lake)
    )
    assert (epsilon_of(whole), epsilon_of(holed)) == (0.5, 1.0)
    assert cf.audit(whole, reports=100).holds


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [DEPLOYED, LINE], ids=["bits", "line"])
def test_two_reports_of_one_value_share_the_permanent_round_alone(mechanism: cf.TwoRounds) -> None:
    survey = cf.Survey(mechanism)
    value = mechanism.alphabet.decode([1]).tolist()[0]
    year = survey.privatize([value] * 365, rng=SECRET)
    assert len(set(year.tolist())) > 3
    # All are fresh reports of one permanent output: the one that the first round alone would report.
    kept = mechanism.permanent._report(np.array([1]), SECRET.bound_to(survey.fingerprint).bits(value))[0]
    if mechanism is LINE:
        assert abs(np.median(year) - kept) <= 8  # the fresh noise has a median of 35 years
    else:
        shares = cf.values.BitVectors(3).unpack(year).mean(axis=0)
        np.testing.assert_array_equal(shares > 0.625, cf.values.BitVectors(3).unpack([kept])[0])


def test_without_a_secret_nothing_is_drawn() -> None:
    with pytest.raises(InvalidParameterError, match=r"rng=Permanent\(secret\).*or give a seed"):
        DEPLOYED.privatize(["red"])
    with pytest.raises(InvalidParameterError, match="bound to a survey"):
        DEPLOYED.privatize(["red"], rng=SECRET)
    assert DEPLOYED.privatize(["red"], rng=SecureBits()).shape == (1,)
    product = cf.Product(colour=cf.TwoRounds(*[cf.RandomizedResponse(COLOURS, 1.0)] * 2), age=LINE.permanent)
    with pytest.raises(InvalidParameterError, match="a secret of the person"):
        product.privatize([("red", 3)])
    assert product.lasting is not None
    assert cf.Remapped(LINE, cf.Integers(0, 9, unit="year"), tuple(range(10)) * 10).lasting == LINE.lasting


@pytest.mark.parametrize(
    ("permanent", "fresh", "words"),
    [
        (cf.RandomizedResponse(COLOURS, 1.0), cf.RandomizedResponse(AGES, 1.0), "fresh must take"),
        (cf.Rappor(COLOURS, 1.0), cf.RandomizedResponse(COLOURS, 1.0), "A unary encoding reports bits"),
        (cf.Rappor(COLOURS, 1.0), cf.Rappor(AGES, 1.0), "fresh must take"),
        (cf.Geometric(AGES, 1.0), cf.RandomizedResponse(AGES, 1.0), "finite"),
        (cf.TruncatedGeometric(AGES, 1.0), cf.Geometric(AGES, 1.0), "finite"),
        (LINE, cf.RandomizedResponse(AGES, 1.0), "one round of noise"),
        (cf.RandomizedResponse(COLOURS, 1.0), None, "must be a mechanism"),
        (cf.RandomizedResponse(COLOURS, 1e-9), cf.RandomizedResponse(COLOURS, 1e-9), "pure noise"),
    ],
)
def test_what_does_not_fit_is_refused(permanent: Any, fresh: Any, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        cf.TwoRounds(permanent, fresh)


def test_identification_follows_from_both_rounds() -> None:
    merged = cf.FromMatrix(COLOURS, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], cf.Integers(0, 1))
    found = cf.diagnose(None, cf.TwoRounds(merged, cf.RandomizedResponse(cf.Integers(0, 1), 1.0))).identification
    assert found.verdict is Verdict.NO
    assert "no report does" in found.reason
    both = cf.TwoRounds(cf.FromMatrix(COLOURS, np.eye(3) * 0.7 + 0.1), cf.RandomizedResponse(COLOURS, 1.0))
    assert cf.diagnose(None, both).identification.verdict is Verdict.YES


@pytest.mark.slow
def test_an_estimate_undoes_both_rounds() -> None:
    truth = np.array([0.6, 0.3, 0.1])
    for mechanism in (DEPLOYED, cf.TwoRounds(cf.RandomizedResponse(COLOURS, 3.0), cf.RandomizedResponse(COLOURS, 2.0))):
        counts = mechanism.simulate_counts((200_000 * truth).astype(int), rng=1)
        found = cf.estimate(counts, mechanism)
        assert np.abs(found.distribution - truth).max() < 0.02
        wrong = cf.estimate(counts, mechanism.permanent).distribution  # as if there were one round
        assert np.abs(wrong - truth).max() > 0.05


def test_two_rounds_of_randomized_response_are_one_in_exact_fractions() -> None:
    first, second = (cf.RandomizedResponse(COLOURS, epsilon) for epsilon in (1.0, 2.0))
    whole = cf.TwoRounds(first, second)._whole
    assert whole is not None
    rows = [[Fraction(one, sum(part.weights(0))) for one in part.weights(0)] for part in (first, second, whole)]
    assert rows[2][0] == rows[0][0] * rows[1][0] + 2 * rows[0][1] * rows[1][1]

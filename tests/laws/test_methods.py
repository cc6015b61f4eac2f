"""Laws of every method on every kind of mechanism, and of the certificate that judges them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.exact import random_distributions
from tests.laws.examples import FEW_EXAMPLES, METHOD_VALUES, label, mechanisms, suited_to

from confide import IBU, MLE, Counts, Mechanism, Method, Status, estimate, tally
from confide.channels import SupportChannel
from confide.errors import NotInvertibleError
from confide.estimates import Estimate
from confide.solve.methods import BitInversion
from confide.values import BitVectors

every_example = each("mechanism", FEW_EXAMPLES, ids=label)
every_method = pytest.mark.parametrize("method", METHOD_VALUES, ids=label)


def drawn_counts(mechanism: Mechanism, people: int = 500, seed: int = 0) -> Counts:
    truth = random_distributions(mechanism.alphabet.size, seed=seed)
    numbers = np.random.default_rng(seed).choice(truth.size, people, p=truth)
    return tally(mechanism.privatize(mechanism.alphabet.decode(numbers), rng=seed, taken=True))


def solve(counts: Counts, mechanism: Mechanism, method: Method) -> Estimate:
    """Estimate, and leave the case out where there is no inverse: that is an answer too."""
    try:
        return estimate(counts, mechanism, method)
    except NotInvertibleError:
        assume(condition=False)
        raise


def check_answer(counts: Counts, mechanism: Mechanism, answer: Estimate) -> None:
    assert answer.distribution.shape == (mechanism.alphabet.size,)
    assert np.isfinite(answer.distribution).all()
    if answer.is_distribution or not isinstance(mechanism.observe(counts).channel, SupportChannel):
        # A raw estimate from supported values is unbiased, and need not add up to one.
        assert answer.distribution.sum() == pytest.approx(1, rel=1e-6)
    assert answer.alphabet == mechanism.alphabet
    assert answer.iterations >= 0
    assert isinstance(answer.status, Status)
    assert answer.explanation
    assert answer.seconds >= 0
    if answer.is_distribution:
        likelihood = mechanism.observe(counts).log_likelihood(answer.distribution)
        assert answer.log_likelihood == likelihood
        assert answer.certificate >= 0
    else:
        assert math.isnan(answer.log_likelihood)
        assert math.isnan(answer.certificate)


@pytest.mark.slow
@every_method
@every_example
def test_every_method_answers_or_says_that_there_is_no_inverse(mechanism: Mechanism, method: Method) -> None:
    """Also: the counts are left alone, the answer cannot be written to, and the monitor hears every iteration."""
    heard: list[int] = []
    counts = drawn_counts(mechanism)
    before = counts.counts.copy()
    try:
        answer = estimate(counts, mechanism, method, monitor=lambda step, _: heard.append(step))
    except NotInvertibleError:
        if isinstance(method, BitInversion):
            assert not isinstance(mechanism.report_alphabet, BitVectors)
            return
        dense = mechanism.observe(counts).channel.dense()
        assert dense.shape[0] != dense.shape[1] or np.linalg.cond(dense) > 1e10
        return
    check_answer(counts, mechanism, answer)
    np.testing.assert_array_equal(counts.counts, before)
    with pytest.raises(ValueError, match="read-only"):
        answer.distribution[0] = 1.0
    if isinstance(method, MLE):
        assert heard == sorted(heard)  # it tells of some steps, in order
    else:
        assert heard == list(range(1, answer.iterations + 1))


@pytest.mark.slow
@every_method
@given(data=st.data(), seed=st.integers(0, 1000))
def test_every_method_answers_anywhere(data: st.DataObject, method: Method, seed: int) -> None:
    mechanism = data.draw(suited_to(method))
    counts = drawn_counts(mechanism, 100, seed)
    check_answer(counts, mechanism, solve(counts, mechanism, method))


@pytest.mark.slow
@every_method
@settings(max_examples=10)  # three estimates each, by twelve methods
@given(data=st.data(), seed=st.integers(0, 1000))
def test_reports_in_parts_or_at_once_are_the_same(data: st.DataObject, method: Method, seed: int) -> None:
    mechanism = data.draw(suited_to(method))
    whole = drawn_counts(mechanism, 60, seed)
    reports = np.repeat(whole.reports, whole.counts.astype(int), axis=0)
    shuffled = np.random.default_rng(seed).permutation(reports, axis=0)
    parts = tally(shuffled[:20]) + tally(shuffled[20:])
    counted = Counts(np.concatenate([whole.reports, whole.reports]), np.concatenate([whole.counts / 2] * 2))
    expected = solve(whole, mechanism, method)
    for counts in (parts, counted):
        assert counts == whole
        np.testing.assert_array_equal(estimate(counts, mechanism, method).distribution, expected.distribution)


@pytest.mark.slow
@every_method
@settings(max_examples=10)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_same_reports_twenty_times_over_change_no_closed_form(
    data: st.DataObject, method: Method, seed: int
) -> None:
    mechanism = data.draw(suited_to(method))
    counts = drawn_counts(mechanism, 60, seed)
    answer = solve(counts, mechanism, method)
    more = estimate(Counts(counts.reports, 20 * counts.counts), mechanism, method)
    if answer.status is Status.CLOSED_FORM:
        np.testing.assert_allclose(more.distribution, answer.distribution, rtol=1e-9, atol=1e-12)
    elif isinstance(method, MLE):
        assert more.log_likelihood == pytest.approx(20 * answer.log_likelihood, rel=1e-9, abs=1e-4)
    elif answer.status not in (Status.HELD_OUT, Status.AVERAGED) and more.iterations == answer.iterations:
        np.testing.assert_allclose(more.distribution, answer.distribution, rtol=1e-6, atol=1e-12)
    elif answer.status is Status.SMALL_STEP:
        assert more.iterations > answer.iterations  # delta is on the total, which grew


# The certificate.


@pytest.mark.slow
@given(mechanism=mechanisms, seed=st.integers(0, 1000), iterations=st.sampled_from([1, 3, 10, 100]))
def test_no_distribution_beats_the_certificate(mechanism: Mechanism, seed: int, iterations: int) -> None:
    counts = drawn_counts(mechanism, 200, seed)
    evidence = mechanism.observe(counts)
    answer = estimate(counts, mechanism, IBU(1e-300, iteration_limit=iterations))
    ceiling = answer.log_likelihood + answer.certificate + 1e-9
    best = estimate(counts, mechanism, IBU(1e-12, iteration_limit=5000))
    assert best.log_likelihood <= ceiling
    size = mechanism.alphabet.size
    corners = np.eye(size)
    for rival in (*corners, *random_distributions(size, (20,), seed)):
        assert evidence.log_likelihood(rival) <= ceiling


@given(mechanism=mechanisms, seed=st.integers(0, 1000))
def test_the_certificate_is_at_most_n_times_the_largest_gain_less_one(mechanism: Mechanism, seed: int) -> None:
    counts = drawn_counts(mechanism, 200, seed)
    evidence = mechanism.observe(counts)
    theta = random_distributions(mechanism.alphabet.size, seed=seed + 1)
    dense, q = mechanism.channel.dense(), evidence.frequencies
    seen = q > 0
    gain = dense[:, seen] @ (q[seen] / (theta @ dense)[seen])
    certificate = evidence.certificate(theta)
    assert certificate == pytest.approx(evidence.total * np.log(gain.max()), rel=1e-9, abs=1e-9)
    assert certificate <= evidence.total * (gain.max() - 1) + 1e-9
    # The gains average to one, so their largest is at least one.
    assert theta @ gain == pytest.approx(1)


@given(mechanism=mechanisms, seed=st.integers(0, 1000))
@pytest.mark.slow
def test_the_certificate_closes_as_ibu_climbs(mechanism: Mechanism, seed: int) -> None:
    counts = drawn_counts(mechanism, 200, seed)
    early = estimate(counts, mechanism, IBU(1e-300, iteration_limit=1))
    late = estimate(counts, mechanism, IBU(1e-300, iteration_limit=2000))
    assert late.certificate <= early.certificate + 1e-9


def test_the_certificate_is_tight_at_the_maximum() -> None:
    mechanism = FEW_EXAMPLES[0]
    counts = tally(mechanism.report_alphabet.decode(np.arange(3)), [40, 35, 25])
    answer = estimate(counts, mechanism, IBU(1e-13))
    assert answer.certificate < 1e-3

"""The paper's two 3 x 3 examples: likelihoods with many maxima, and why uniqueness alone proves little."""

from __future__ import annotations

import numpy as np
import pytest

from confide import IBU, Categories, FromMatrix, Inversion, estimate, tally
from confide.channels.base import FloatArray
from confide.errors import NotInvertibleError
from confide.evidence.evidence import Evidence

ALPHABET = Categories([1, 2, 3])

DEPENDS_ON_OBSERVATIONS = FromMatrix(ALPHABET, [[0.10, 0.45, 0.45], [0.45, 0.10, 0.45], [0.45, 0.45, 0.10]])
"""Equation sconcavity_depends_on_observations."""

UNIQUE_BUT_NOT_STRICT = FromMatrix(ALPHABET, [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
"""Equation mle_unique_likelihood_not_s_concave."""

FIRST, LAST = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
SHARES = np.linspace(0, 1, 11)


def likelihoods_between(evidence: Evidence, left: FloatArray, right: FloatArray) -> list[float]:
    """Return L at convex combinations of two distributions."""
    return [evidence.log_likelihood(share * left + (1 - share) * right) for share in SHARES]


def test_one_report_leaves_the_likelihood_flat_between_the_ends() -> None:
    evidence = DEPENDS_ON_OBSERVATIONS.observe(tally([2]))
    np.testing.assert_allclose(likelihoods_between(evidence, FIRST, LAST), np.log(0.45), rtol=1e-14)


def test_a_second_report_makes_the_likelihood_strictly_concave() -> None:
    evidence = DEPENDS_ON_OBSERVATIONS.observe(tally([2, 1]))
    rng = np.random.default_rng(0)
    for left, right in rng.dirichlet(np.ones(3), (100, 2)):
        middle = evidence.log_likelihood((left + right) / 2)
        assert middle > (evidence.log_likelihood(left) + evidence.log_likelihood(right)) / 2
    corners = np.diff(likelihoods_between(evidence, FIRST, LAST), n=2)
    assert (corners < -1e-6).all()


def test_two_reports_have_one_maximum_that_every_start_reaches() -> None:
    # By symmetry theta_1 = theta_2, and then all weight belongs to 3, where both reports have chance 0.45.
    for start in ([0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [1 / 3] * 3):
        answer = estimate(tally([2, 1]), DEPENDS_ON_OBSERVATIONS, IBU(1e-12, start=start))
        np.testing.assert_allclose(answer.distribution, [0, 0, 1], atol=1e-5)


def test_four_twos_have_the_unique_maximum_two() -> None:
    counts = tally([2, 2, 2, 2])
    for start in ([0.98, 0.01, 0.01], [0.01, 0.01, 0.98], [1 / 3] * 3):
        answer = estimate(counts, UNIQUE_BUT_NOT_STRICT, IBU(1e-12, start=start))
        np.testing.assert_allclose(answer.distribution, [0, 1, 0], atol=1e-9)
        assert answer.certificate < 1e-6
    evidence = UNIQUE_BUT_NOT_STRICT.observe(counts)
    rivals = np.random.default_rng(1).dirichlet(np.ones(3), 200)
    assert max(map(evidence.log_likelihood, rivals)) < evidence.log_likelihood(np.array([0.0, 1.0, 0.0]))


def test_four_twos_leave_the_likelihood_flat_between_the_ends_all_the_same() -> None:
    evidence = UNIQUE_BUT_NOT_STRICT.observe(tally([2, 2, 2, 2]))
    np.testing.assert_allclose(likelihoods_between(evidence, FIRST, LAST), 4 * np.log(0.1), rtol=1e-14)


def test_a_one_and_a_three_more_give_many_maxima() -> None:
    counts = tally([2, 2, 2, 2, 1, 3])
    answers = [
        estimate(counts, UNIQUE_BUT_NOT_STRICT, IBU(1e-13, start=start))
        for start in ([0.6, 0.2, 0.2], [0.2, 0.2, 0.6], [1 / 3] * 3)
    ]
    for answer in answers:
        assert answer.certificate < 1e-4
        assert answer.log_likelihood == pytest.approx(answers[0].log_likelihood, abs=1e-5)
        # Only the chance of reporting 2 is known: 0.1 (1 - theta_2) + 0.9 theta_2 = 4/6.
        assert answer.distribution[1] == pytest.approx((4 / 6 - 0.1) / 0.8, abs=1e-4)
    assert np.abs(answers[0].distribution - answers[1].distribution).max() > 0.1
    evidence = UNIQUE_BUT_NOT_STRICT.observe(counts)
    between = likelihoods_between(evidence, answers[0].distribution, answers[1].distribution)
    np.testing.assert_allclose(between, answers[0].log_likelihood, atol=1e-5)


def test_the_second_matrix_has_no_inverse_and_the_first_has() -> None:
    with pytest.raises(NotInvertibleError, match="singular"):
        estimate(tally([2]), UNIQUE_BUT_NOT_STRICT, Inversion())
    assert estimate(tally([1, 2, 3]), DEPENDS_ON_OBSERVATIONS, Inversion("none")).is_distribution

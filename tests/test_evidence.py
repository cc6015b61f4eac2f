"""Evidence: counts laid against a channel."""

import math

import numpy as np
import pytest

from confide import FromMatrix, Integers, RandomizedResponse, TruncatedGeometric, tally
from confide.channels import Dense
from confide.errors import ImpossibleReportError, InvalidCountsError
from confide.evidence.evidence import Evidence

CHANNEL = Dense(np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]))


def test_likelihood_is_the_log_probability_of_all_reports() -> None:
    evidence = Evidence(CHANNEL, np.array([3.0, 0.0, 1.0]))
    theta = np.array([0.25, 0.75])
    assert evidence.log_likelihood(theta) == pytest.approx(3 * math.log(0.275) + math.log(0.425))
    assert Evidence(CHANNEL, np.array([3.0, 0.0, 1.0]), -2.0).log_likelihood(theta) == pytest.approx(
        evidence.log_likelihood(theta) - 2
    )


def test_outputs_that_were_not_seen_do_not_matter() -> None:
    impossible = Dense(np.array([[1.0, 0.0], [0.5, 0.5]]))
    evidence = Evidence(impossible, np.array([4.0, 0.0]))
    assert evidence.log_likelihood(np.array([1.0, 0.0])) == 0
    # Nothing can be better; what is left is a handful of roundings of four reports.
    assert evidence.resolution <= evidence.certificate(np.array([1.0, 0.0])) <= 20 * 4 * 2.0**-53


def test_a_distribution_that_rules_a_report_out_has_no_likelihood() -> None:
    evidence = Evidence(Dense(np.eye(2)), np.array([1.0, 1.0]))
    assert evidence.log_likelihood(np.array([1.0, 0.0])) == -math.inf
    assert evidence.certificate(np.array([1.0, 0.0])) == math.inf


def test_shares_and_totals() -> None:
    evidence = Evidence(CHANNEL, np.array([3.0, 0.0, 1.0]))
    assert evidence.total == 4
    assert evidence.frequencies.tolist() == [0.75, 0, 0.25]


def test_gains_are_the_slope_of_the_likelihood() -> None:
    evidence = Evidence(CHANNEL, np.array([3.0, 2.0, 1.0]))
    theta = np.array([0.4, 0.6])
    gain = evidence.gain(CHANNEL.push(theta))
    for value in range(2):
        step = np.zeros(2)
        step[value] = 1e-6
        slope = (evidence.log_likelihood(theta + step) - evidence.log_likelihood(theta - step)) / 2e-6
        assert evidence.total * gain[value] == pytest.approx(slope, rel=1e-8)


def test_counts_are_copied_and_closed() -> None:
    counts = np.array([3.0, 0.0, 1.0])
    evidence = Evidence(CHANNEL, counts)
    counts[0] = 100.0
    assert evidence.total == 4
    with pytest.raises(ValueError, match="read-only"):
        evidence.counts[0] = 1.0


def test_no_reports_are_no_evidence() -> None:
    message = "There are no reports to estimate from; give at least one"
    with pytest.raises(InvalidCountsError, match=message):
        Evidence(CHANNEL, np.zeros(3))
    with pytest.raises(InvalidCountsError, match=message):
        RandomizedResponse(Integers(0, 2), 1.0).observe(tally([]))


def test_reports_are_laid_out_by_output() -> None:
    mechanism = TruncatedGeometric(Integers(5, 9), 1.0)
    evidence = mechanism.observe(tally([9, 6, 9]))
    assert evidence.counts.tolist() == [0, 1, 0, 0, 2]


def test_reports_outside_the_outputs_are_named() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 1.0)
    with pytest.raises(
        ImpossibleReportError,
        match=r"3 of 4 reports are none of the outputs Integers\(0, 9\).*first: 12, seen 2 times.*another survey\?",
    ):
        mechanism.observe(tally([3, 12, 12, 40]))


def test_reports_that_no_value_can_produce_are_named() -> None:
    mechanism = FromMatrix(Integers(0, 1), [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    with pytest.raises(ImpossibleReportError, match=r"Report 2 was seen 3 times, but no value can produce it"):
        mechanism.observe(tally([0, 2, 2, 2]))
    assert mechanism.observe(tally([0, 2], counts=[1, 0])).total == 1


def test_a_proof_is_kept_for_the_distribution_that_it_is_of_alone() -> None:
    evidence = RandomizedResponse(Integers(0, 2), 1.0).observe(tally([0, 1, 2], counts=[50, 30, 20]))
    theta = np.array([0.6, 0.3, 0.1])
    first = evidence.certificate(theta)
    assert evidence.certificate(theta.copy()) == first
    theta[:] = [0.1, 0.3, 0.6]  # changed in place: what was proven before is not of this one
    assert evidence.certificate(theta) > first + 1
    assert evidence.certificate(np.array([0.6, 0.3, 0.1])) == first

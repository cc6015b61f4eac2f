"""One bit for a mean: linear to the last digit, and an answer to one question alone."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.mechanisms.sampling import ratio_above
from confide.theory.identification import identification, query_identification
from confide.theory.verdicts import Verdict

AGES = cf.Integers(0, 99, unit="year")
SURVEY = (
    'name = "age"\n[alphabet]\nkind = "integers"\nlow = 0\nhigh = 99\n[mechanism]\nkind = "one-bit-mean"\nepsilon = 1\n'
)
SALARIES = cf.Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand")


@pytest.mark.parametrize("alphabet", [AGES, cf.Integers(-3, 3, spacing=0.1), SALARIES], ids=repr)
def test_the_probability_is_that_of_duchi_and_others(alphabet: cf.Alphabet) -> None:
    """P(1 given x) = 1 / (e^epsilon + 1) + t (e^epsilon - 1) / (e^epsilon + 1), t the share of the way to the top."""
    mechanism, e = cf.OneBitMean(alphabet, 1.5), 1 / ratio_above(Fraction(1.5))
    places = alphabet.positions or tuple(map(Fraction, range(alphabet.size)))
    for index, place in enumerate(places):
        share = (place - places[0]) / (places[-1] - places[0])
        zero, one = mechanism.weights(index)
        assert Fraction(one, zero + one) == 1 / (e + 1) + share * (e - 1) / (e + 1)
    assert math.log(mechanism.channel.dense()[:, 1].max() / mechanism.channel.dense()[:, 1].min()) == pytest.approx(1.5)
    assert cf.audit(mechanism).holds


def test_a_report_is_drawn_with_these_probabilities_from_any_value() -> None:
    """Also where numbers of 40 bits are compared, and where bins lie unevenly."""
    far = cf.Integers(-(2**40), 2**40)
    for alphabet, value in ((far, 2**38), (SALARIES, 60), (cf.Integers(0, 1), 0), (cf.Integers(0, 2), 2)):
        mechanism = cf.OneBitMean(alphabet, 1.0)
        index = int(mechanism.alphabet.encode(mechanism.alphabet.take([value]))[0])
        zero, one = mechanism.weights(index)
        reports = mechanism.privatize([value] * 40_000, rng=3)
        expected = float(Fraction(one, zero + one))
        assert abs(reports.mean() - expected) < 4 * math.sqrt(expected * (1 - expected) / 40_000)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 100.0])
@pytest.mark.parametrize("size", [3, 100, 30_000])
def test_the_mean_alone_is_identified_whatever_the_number_of_values(size: int, epsilon: float) -> None:
    mechanism = cf.OneBitMean(cf.Integers(0, size - 1), epsilon)
    found = identification(mechanism)
    assert found.verdict is Verdict.NO
    assert found.reason.startswith("The mean alone is identifiable")
    values = np.arange(float(size))
    for query, verdict in (
        (values, Verdict.YES),
        (5 - 3 * values, Verdict.YES),
        (values >= size // 2, Verdict.NO),
        (values**2, Verdict.NO),
        (np.ones(size), Verdict.YES),  # all people
    ):
        assert query_identification(mechanism, np.asarray(query, dtype=float)).verdict is verdict
    said = str(cf.diagnose(None, cf.OneBitMean(AGES, 1.0)))
    assert "The mean alone is identifiable" in said
    assert "can never reveal the whole distribution" in said


def test_uneven_values_have_the_mean_of_their_positions() -> None:
    mechanism = cf.OneBitMean(SALARIES, 1.0)
    middles = np.array([float(one) for one in SALARIES.positions or ()])
    assert query_identification(mechanism, middles).verdict is Verdict.YES
    assert query_identification(mechanism, np.arange(5.0)).verdict is Verdict.NO


def test_two_values_are_randomized_response() -> None:
    pair, same = cf.OneBitMean(cf.Integers(0, 1), 1.0), cf.RandomizedResponse(cf.Integers(0, 1), 1.0)
    np.testing.assert_array_equal(pair.channel.dense(), same.channel.dense())
    assert identification(pair).verdict is Verdict.YES


@pytest.mark.slow
def test_the_mean_covers_and_is_as_narrow_as_its_variance_allows() -> None:
    """Of 200 surveys, 95 % cover the mean; the half-width is 1.96 standard errors of the bit, scaled up."""
    mechanism = cf.OneBitMean(cf.Integers(0, 19), 1.0)
    people = np.bincount(np.random.default_rng(0).binomial(19, 0.2, 2000), minlength=20)
    truth = float(people @ np.arange(20) / people.sum())
    covered, widths, scale = 0, [], 19 * (math.e + 1) / (math.e - 1)
    for seed in range(200):
        with pytest.warns(cf.errors.NotIdentifiedWarning):
            estimate = cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism, cf.MLE())
        answer = estimate.mean()
        covered += answer.low <= truth <= answer.high
        widths.append(answer.high - answer.low)
    # A binomial of 200 at 0.95 is below 180 or above 198 once in 300.
    assert 180 <= covered <= 198
    share = 0.5 + (truth / 19 - 0.5) * 19 / scale
    expected = 2 * 1.96 * scale * math.sqrt(share * (1 - share) / 2000)
    assert np.mean(widths) == pytest.approx(expected, rel=0.03)


def test_a_share_is_warned_of_and_holds_all_that_the_reports_allow() -> None:
    mechanism = cf.OneBitMean(AGES, 1.0)
    counts = mechanism.simulate_counts(cf.datasets.adult_ages().histogram, rng=1)
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="The mean alone is identifiable"):
        estimate = cf.estimate(counts, mechanism)
    share, mean = estimate.query("age >= 65"), estimate.mean()
    assert share.undetermined is not None
    assert mean.undetermined is None
    assert share.high - share.low > 0.5
    assert mean.high - mean.low < 3
    assert mean.low < cf.datasets.adult_ages().distribution @ np.arange(100) < mean.high


def test_the_command_line_says_what_is_undetermined_in_the_unit_of_the_answer(tmp_path: Path) -> None:
    survey, reports = tmp_path / "survey.toml", tmp_path / "reports.csv"
    survey.write_text(SURVEY)
    reports.write_text("report,count\n0,600\n1,400\n")
    asked = ["--query", "age >= 5", "--query", "mean", "--query", "median"]
    said = CliRunner().invoke(app, ["estimate", str(survey), str(reports), *asked]).output
    assert "The mean alone is identifiable" in said
    (median,) = (line for line in said.splitlines() if line.startswith("Median"))
    assert "explain the reports equally well" in median
    assert "%" not in median.partition(";")[0]
    (mean,) = (line for line in said.splitlines() if line.startswith("Mean"))
    assert "equally well" not in mean


def test_permanent_noise_is_one_bit_for_each_value() -> None:
    """The memory of Ding et al.: a year of reports of one value is one bit, and over people bits are as if fresh."""
    mechanism = cf.OneBitMean(cf.Integers(0, 9), 1.0)
    survey = cf.Survey(mechanism, name="hours")
    noise = cf.Permanent(secrets.token_bytes(32))
    assert len({survey.privatize(7, rng=noise) for _ in range(50)}) == 1
    people = [cf.Permanent(number.to_bytes(16, "big")) for number in range(1, 2001)]
    once, again = (survey.privatize([7] * 2000, rng=people) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    zero, one = mechanism.weights(7)
    assert abs(once.mean() - one / (zero + one)) < 4 * math.sqrt(0.25 / 2000)


def test_a_fresh_round_after_the_permanent_bit_still_tells_the_mean() -> None:
    ages = cf.Integers(0, 19)
    rounds = cf.TwoRounds(cf.OneBitMean(ages, 2.0), cf.RandomizedResponse(cf.Integers(0, 1), 2.0))
    assert rounds.lasting == cf.mechanisms.LocalDP(2.0)
    assert cf.audit(rounds).holds
    people = np.full(20, 500)
    with pytest.warns(cf.errors.NotIdentifiedWarning, match="The mean alone is identifiable"):
        mean = cf.estimate(rounds.simulate_counts(people, rng=2), rounds, cf.MLE()).mean()
    assert mean.undetermined is None
    # Two rounds shrink the slope of a bit by tanh(epsilon / 2) each.
    error = 0.5 * 19 / math.tanh(1.0) ** 2 / math.sqrt(10_000)
    assert abs(mean.estimate - 9.5) < 4 * error
    assert mean.high - mean.low == pytest.approx(2 * 1.96 * error, rel=0.02)


def test_a_survey_reads_it() -> None:
    survey = cf.parse_survey(SURVEY)
    assert survey.mechanism == cf.OneBitMean(cf.Integers(0, 99), 1.0)
    assert cf.Survey.from_json(survey.to_json()) == survey


@pytest.mark.parametrize(
    ("alphabet", "words"),
    [
        (cf.Categories(["a", "b"]), "numbers on a line, which have a mean"),
        (cf.Hours(), "numbers on a line"),
        (cf.Grid(2, 2), "numbers on a line"),
        (cf.Integers(), "finite alphabet"),
        (cf.Integers(3, 3), "at least two values"),
        (cf.Bins(edges=[0, 1e-6, 1e12, 2e12 + 1]), "common steps, more than.*rounder edges"),
    ],
    ids=repr,
)
def test_values_without_a_mean_are_refused(alphabet: cf.Alphabet, words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.OneBitMean(alphabet, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 101.0, "1"])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(cf.ConfideError, match="epsilon"):
        cf.OneBitMean(AGES, epsilon)

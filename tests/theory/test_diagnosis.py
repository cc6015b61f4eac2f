"""Diagnoses: every mechanism with and without reports, the words, queries, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import each
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey

import confide as cf
from confide.errors import ImpossibleReportError, InvalidCountsError, InvalidParameterError
from confide.estimates.diagnosis import evidence_in_words, verdict_in_words
from confide.theory.verdicts import Verdict

TWINS = cf.FromMatrix(cf.Categories([1, 2, 3]), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])


@pytest.mark.parametrize("name", FINITE)
def test_every_mechanism_with_reports(name: str) -> None:
    mechanism = survey(FINITE[name]).mechanism
    counts = cf.tally(mechanism.privatize(some_values(mechanism.alphabet, 60), rng=1))
    answer = cf.diagnose(counts, mechanism)
    assert answer.uniqueness is not None
    assert answer.concavity is not None
    assert answer.partition is not None
    if answer.concavity.is_yes:
        assert answer.uniqueness.is_yes
    best = answer.maximum_set
    found = cf.estimate(counts, mechanism, cf.MLE()).distribution
    assert mechanism.observe(counts).certificate(best.point) <= 1e-9
    assert (best.lowest <= best.highest + 1e-12).all()
    if answer.uniqueness.is_yes:
        np.testing.assert_allclose(found, best.point, atol=1e-2)
    assert len(verdict_in_words(answer)) + len(evidence_in_words(answer)) >= 6


@each("name", [*FINITE, *UNBOUNDED])
def test_every_mechanism_without_reports(name: str) -> None:
    answer = cf.diagnose(None, survey({**FINITE, **UNBOUNDED}[name]).mechanism)
    assert answer.concavity is answer.uniqueness is None
    assert verdict_in_words(answer)
    with pytest.raises(InvalidParameterError, match="without reports"):
        _ = answer.maximum_set


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_values_are_judged_among_those_that_can_matter(name: str) -> None:
    mechanism = survey(UNBOUNDED[name]).mechanism
    counts = cf.tally(mechanism.privatize(some_values(mechanism.alphabet, 9), rng=1))
    answer = cf.diagnose(counts, mechanism)
    assert answer.identification.is_yes
    assert answer.concavity is not None
    assert answer.concavity.verdict == "no"
    assert "Looked for among" in dict(evidence_in_words(answer))["Values"]
    best = cf.estimate(counts, mechanism, cf.MLE(tolerance=1e-9))
    assert answer.alphabet == best.alphabet
    assert answer.maximum_set.contains(best.distribution)
    assert answer.maximum_set.bounds(np.ones(answer.alphabet.size)) == pytest.approx(1)


def test_the_words_say_it_first_and_prove_it_after() -> None:
    told, words, evidence = str(cf.diagnose(cf.tally([2, 2, 2, 2, 1, 3]), TWINS)).split("\n\n")
    assert told.startswith("Goodness of fit: cannot be tested here.")
    assert "3 have a share that is not known to within ±50% (" in told
    assert "many best explanations" in told
    assert "from 0% to 29.2%" in told
    assert words.startswith("This mechanism can never reveal the whole distribution")
    assert "{1, 3}" in words
    assert "theorem" not in told + words
    for name in ("theorem identification", "theorem strictconcavity", "complementary slackness", "corollary"):
        assert name in evidence


def test_queries_on_a_diagnosis() -> None:
    answer = cf.diagnose(cf.tally([2, 2, 2, 2, 1, 3]), TWINS)
    one = answer.query("value == 1")
    assert one.identification.verdict is Verdict.NO
    assert one.lowest == pytest.approx(0, abs=1e-9)
    assert one.highest == pytest.approx(7 / 24)
    both = answer.query("value in {1, 3}")
    assert both.identification.verdict is Verdict.YES
    assert both.lowest == pytest.approx(both.highest) == pytest.approx(7 / 24)
    assert str(cf.diagnose(None, TWINS).query([1, 0, 1])) == "identified: enough reports reveal it"


def test_rappor_before_and_after() -> None:
    mechanism = cf.Rappor(cf.Integers(1, 10), 1.0)
    before = cf.diagnose(None, mechanism)
    assert before.chance is not None
    assert before.chance.people == 25
    assert "With 25 people or more" in str(before)
    after = cf.diagnose(cf.tally(mechanism.privatize(np.arange(25) % 10 + 1, rng=1)), mechanism)
    assert after.chance is not None
    assert after.chance.probability == pytest.approx(0.9927, abs=1e-4)


@pytest.mark.slow
def test_a_large_line_with_reports() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 19_999), 0.5)
    answer = cf.diagnose(cf.tally(mechanism.privatize(np.arange(0, 20_000, 400), rng=1)), mechanism)
    assert answer.identification.is_yes
    assert answer.concavity is not None
    assert answer.concavity.is_no
    assert answer.maximum_set.free.size < 2000
    low, high = answer.maximum_set.bounds((np.arange(20_000) < 10_000).astype(float))
    assert low == pytest.approx(high) == pytest.approx(0.5, abs=0.05)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="must be a mechanism"):
        cf.diagnose(None, "k-RR")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="tally"):
        cf.diagnose([1, 2], TWINS)  # type: ignore[arg-type]
    with pytest.raises(ImpossibleReportError):
        cf.diagnose(cf.tally([9]), TWINS)
    with pytest.raises(ImpossibleReportError):
        cf.diagnose(cf.tally(["x"]), cf.Geometric(cf.Integers(), 1.0))
    with pytest.raises(InvalidCountsError):
        cf.diagnose(cf.tally([]), TWINS)
    with pytest.raises(InvalidParameterError, match="none of the values"):
        cf.diagnose(None, TWINS).query("value == 7")

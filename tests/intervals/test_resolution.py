"""Resolution: the narrowest windows that reports tell, on every kind of alphabet, and that the stated error holds."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.estimates.inference.answers import error_of, points
from confide.estimates.inference.windows import windows_over

AGES = cf.Integers(0, 11, unit="year")
HUMP = np.exp(-(((np.arange(12) - 5) / 2) ** 2))
TRUTH = HUMP / HUMP.sum()
ANSWER = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 3.0)


def estimate(epsilon: float, people: int, seed: int = 1) -> cf.Estimate:
    mechanism = cf.TruncatedGeometric(AGES, epsilon)
    return cf.estimate(mechanism.simulate_counts(np.rint(people * TRUTH), rng=seed), mechanism)


@pytest.mark.slow
def test_more_reports_and_a_larger_epsilon_never_widen_it_by_much() -> None:
    few, many = (estimate(0.7, people).resolution().width or 12 for people in (2_000, 50_000))
    assert few > many
    assert (estimate(2.0, 2_000).resolution().width or 12) < few


@pytest.mark.slow
def test_a_larger_error_gives_narrower_windows_and_every_claim_is_held() -> None:
    answer, widths = estimate(0.7, 10_000), []
    for error in (0.01, 0.05, 0.2):
        found = answer.resolution(error)
        widths.append(found.width or 12)
        assert found.within <= error
        assert found.least_known is None or error_of(found.least_known) <= found.within
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]


@pytest.mark.slow
def test_the_stated_error_holds_in_repeated_surveys() -> None:
    """Of all windows as wide, in surveys of which each claims it for 95 of 100."""
    mechanism, held, asked = cf.TruncatedGeometric(AGES, 1.2), 0, 0
    for seed in range(6):
        people = np.random.default_rng(seed).multinomial(5_000, TRUTH)
        answer = cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism)
        found = answer.resolution()
        assert found.width is not None
        for window in windows_over(AGES).of(found.width):
            miss = abs(window.weights @ answer.distribution - window.weights @ TRUTH)
            held, asked = held + (miss <= found.within), asked + 1
    assert held >= 0.95 * asked


@pytest.mark.slow
def test_windows_on_a_line_in_words() -> None:
    found = estimate(0.5, 20_000).resolution()
    assert found.width is not None
    assert found.width > 1
    assert found.windows == f"windows of {found.width} years"
    told, narrower, extremes = found.sentences
    assert told.startswith(f"These reports tell the shares of windows of {found.width} years within 5 points at 95%: ")
    assert narrower.startswith("Narrower ones they do not tell: value ")
    assert extremes.startswith("Best known of all is value ")
    assert found.best.width < found.worst.width
    assert str(found) == " ".join(found.sentences)


def test_nothing_told_is_said_with_how_near_it_comes() -> None:
    found = estimate(0.05, 500).resolution()
    assert found.width is None
    assert found.least_known is None
    assert found.not_told is not None
    assert found.sentences[0].startswith("These reports do not tell the shares of windows of 6 years within 5 points")
    assert f"only within {points(error_of(found.not_told))}" in found.sentences[0]


def test_an_error_is_within_the_points_that_are_said() -> None:
    shares = np.concatenate([np.geomspace(1e-6, 1, 3001), np.arange(1, 100) / 100])
    said = np.array([float(points(share).split()[0]) for share in shares])
    assert np.all(said >= 100 * shares * (1 - 1e-8))
    assert np.all(said <= 100 * shares * 1.1000001)
    assert [points(place / 100) for place in (5, 7, 29, 57)] == ["5 points", "7 points", "29 points", "57 points"]
    assert (points(0.8089 - 0.5045), points(1.0)) == ("31 points", "100 points")


def test_five_points_say_nothing_of_values_that_hold_two() -> None:
    """A hundred values of one percent each: all intervals are narrow, and none is told."""
    mechanism = cf.RandomizedResponse(cf.Categories([f"v{place}" for place in range(100)]), 5.0)
    counts = mechanism.simulate_counts(np.full(100, 10), rng=1)
    found = cf.estimate(counts, mechanism).resolution()
    assert error_of(found.worst) < 0.05
    assert found.width is None
    assert found.within < 0.02
    assert "half of what the fullest holds, and less than the 5 points asked for" in found.sentences[0]


@pytest.mark.parametrize(
    ("mechanism", "windows"),
    [
        (ANSWER, "single values"),
        (cf.TruncatedTaxicab(cf.Grid(4, 6, spacing=0.5, unit="km"), 6.0), "single cells"),
        (cf.Rappor(cf.Integers(0, 5), 3.0), "single values"),
        (cf.Geometric(cf.Integers(), 2.0), "single values"),
        (cf.Product(first=cf.TruncatedGeometric(cf.Integers(0, 2), 3.0), second=ANSWER), "single values"),
    ],
    ids=["categories", "grid", "bits", "unbounded", "pairs"],
)
def test_every_kind_of_alphabet(mechanism: cf.Mechanism, windows: str) -> None:
    alphabet = mechanism.alphabet
    values = alphabet.decode(np.arange(2_000) % 2) if alphabet.is_finite else np.arange(2_000) % 2
    found = cf.estimate(cf.tally(mechanism.privatize(values, rng=1)), mechanism).resolution()
    assert (found.width, found.windows) == (1, windows)
    assert found.least_known is not None
    assert found.least_known.high - found.least_known.low < 0.15


@pytest.mark.slow
def test_a_pool_has_a_resolution() -> None:
    pairs = []
    for epsilon in (0.7, 2.0):
        mechanism = cf.TruncatedGeometric(AGES, epsilon)
        pairs.append((mechanism.simulate_counts(np.rint(2_000 * TRUTH), rng=2), mechanism))
    pooled = cf.estimate_pool(pairs).resolution().width
    assert pooled is not None
    assert pooled < (cf.estimate(*pairs[0]).resolution().width or 12)


def test_questions_can_be_asked_as_they_stand() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(-5, 5), 2.0)
    answer = cf.estimate(mechanism.simulate_counts(np.full(11, 100), rng=1), mechanism)
    found = answer.resolution(name="change")
    for one in (found.best, found.worst):
        assert answer.query(one.question, name="change").estimate == one.estimate
    assert windows_over(mechanism.alphabet, "two words").of(1)[0].question == "value == -5"


@pytest.mark.slow
def test_bad_settings_are_refused() -> None:
    answer = estimate(1.0, 100)
    with pytest.raises(InvalidParameterError, match="error must lie between 0 and 1"):
        answer.resolution(error=5)
    with pytest.raises(InvalidParameterError, match="level must lie between 0 and 1"):
        answer.resolution(level=95)
    with pytest.raises(InvalidParameterError, match="basis must be"):
        answer.resolution(basis="likelihood")  # type: ignore[arg-type]


@pytest.mark.slow
def test_very_many_values_are_looked_at_by_every_so_manieth_window() -> None:
    line = windows_over(cf.Integers(0, 9_999))
    found = line.of(100)
    assert len(found) <= 402
    assert found[0].question == "value in 0..99"
    assert found[-1].question == "value in 9900..9999"
    assert line.of(102)[-1].question == "value in 9898..9999"  # the last one, although no so manieth
    mechanism = cf.RandomizedResponse(cf.Integers(0, 2_500), 12.0)
    counts = mechanism.simulate_counts(np.r_[np.full(2, 5_000), np.zeros(2_499, dtype=int)], rng=1)
    assert cf.estimate(counts, mechanism, cf.MLE()).resolution().width is not None

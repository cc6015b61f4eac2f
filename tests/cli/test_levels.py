"""Choices of epsilon: the same three levels, in the same words, wherever epsilon is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call

import confide as cf
from confide.estimates.explanations import odds_in_words
from confide.mechanisms.comparison import PEOPLE
from confide.plans.guesses import family_of
from confide.plans.levels import levels, look_ahead
from confide.present.summary import Listing
from confide.present.surveys import describe_levels
from confide.studio.answers import expect

YEARS = cf.Integers(0, 99, unit="year")
DRINKS = cf.Categories(["tea", "coffee", "water", "milk"])


def words_of(survey: cf.Survey, people: int = PEOPLE, truth: np.ndarray | None = None) -> list[list[str]]:
    listing = describe_levels(survey, people, truth).parts[0]
    assert isinstance(listing, Listing)
    return [list(map(str, row)) for row in listing.rows]


def test_levels_are_strong_balanced_and_light_and_the_survey_s_own_stands_among_them() -> None:
    found = levels(cf.TruncatedGeometric(YEARS, 0.03), None)
    assert [(one.name, one.mechanism.guarantee.terms, one.is_chosen) for one in found] == [
        ("strong", "0.02 per year", False),
        ("", "0.03 per year", True),
        ("balanced", "0.05 per year", False),
        ("light", "0.1 per year", False),
    ]
    local = levels(cf.RandomizedResponse(DRINKS, 2.0), None)
    assert [(one.name, one.is_chosen) for one in local] == [("strong", False), ("balanced", False), ("light", True)]
    assert [one.bound for one in local] == [0.5, 1.0, 2.0]
    assert levels(cf.FromMatrix(cf.Categories(["only"]), [[1.0]])) == []


def test_a_level_says_how_far_off_one_report_is_and_what_it_gives_away() -> None:
    for one in levels(cf.TruncatedGeometric(YEARS, 0.05), None):
        reports = one.mechanism.privatize([50] * 20_000, rng=1)
        assert one.off == pytest.approx(np.abs(np.asarray(reports) - 50).mean(), rel=0.03)
        assert (one.apart, one.kept) == (5.0, None)
        epsilon = one.mechanism.guarantee.bound(30, 31)
        assert one.bound == pytest.approx(5 * epsilon)
    unbounded = levels(cf.Geometric(YEARS, 0.05), None)[1]
    alpha = math.exp(-0.05)  # the mean of |noise| is 2 alpha / (1 - alpha^2)
    assert unbounded.off == pytest.approx(2 * alpha / (1 - alpha**2), rel=0.05)
    for one in levels(cf.RandomizedResponse(DRINKS, 1.0), None):
        epsilon = one.mechanism.guarantee.bound("tea", "milk")
        assert one.kept == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + 3))
        assert (one.off, one.apart) == (None, None)


def test_odds_are_those_of_bayes_rule_for_even_prior_odds() -> None:
    assert [odds_in_words(math.log(factor)) for factor in (3.0, 9.0, 1.0)] == ["75:25", "90:10", "50:50"]
    assert odds_in_words(math.log(199.0)) == "99.5:0.5"
    assert odds_in_words(20.0) == odds_in_words(math.inf) == "certain"


def test_what_a_survey_would_show_is_what_one_like_it_shows() -> None:
    mechanism, truth = cf.TruncatedGeometric(YEARS, 0.1), cf.datasets.adult_ages().distribution
    counts = mechanism.simulate_counts(np.random.default_rng(0).multinomial(20_000, truth), rng=0)
    windows = cf.estimate(counts, mechanism).windows()
    farthest = max(max(one.high - one.estimate, one.estimate - one.low) for one in windows.answers)
    ranges, error = look_ahead(mechanism, 20_000, truth)
    assert ranges == len(windows)
    assert error == pytest.approx(farthest)
    assert look_ahead(cf.TruncatedGeometric(cf.Integers(0, 999), 0.1), 20_000) == (None, None)


def test_more_people_and_less_privacy_show_more() -> None:
    found = levels(cf.RandomizedResponse(DRINKS, 1.0), 10_000)
    errors = [one.error or 0.0 for one in found]
    assert errors == sorted(errors, reverse=True)
    assert (levels(cf.RandomizedResponse(DRINKS, 1.0), 100_000)[1].error or 0.0) < errors[1]


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (
            cf.TruncatedGeometric(cf.Bins(0, 200_000, 10_000, unit="dollar"), 0.00003),
            ["*", "0.3 per 10,000 dollars", "95:5", "31,000 dollars off"],
        ),
        (cf.RandomizedResponse(DRINKS, 1.0), ["balanced*", "epsilon 1", "73:27", "true in 48%"]),
        (cf.Rappor(DRINKS, 1.0), ["balanced*", "epsilon 1", "73:27", "true in 62%"]),
    ],
)
def test_a_level_in_words(mechanism: cf.Mechanism, words: list[str]) -> None:
    assert words in [row[:4] for row in words_of(cf.Survey(mechanism))]


@pytest.mark.parametrize(
    "table",
    [
        'kind = "integers"\nlow = 0\nhigh = 9\nunit = "year"\n',
        'kind = "categories"\nvalues = ["tea", "coffee", "water"]\n',
    ],
)
def test_show_plan_and_studio_say_the_same_of_the_same_survey(
    call: Call, folder: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "truncated-geometric" if "integers" in table else "randomized-response"
    text = f'name = "age"\n[alphabet]\n{table}[mechanism]\nkind = "{kind}"\nepsilon = 1.0\n'
    (folder / "s.toml").write_text(text)
    survey = cf.parse_survey(text)
    guess = family_of(survey.mechanism)[0].name
    rows = [" ".join(row) for row in words_of(survey)]
    assert len(rows) >= 3
    shown = _lines(call("show", "s.toml").out)
    assert all(row in shown for row in rows)

    def quickly(*arguments: object, **options: object) -> cf.plans.Plan:
        return cf.plan(*arguments, **options, repeats=4, cache=False)  # type: ignore[arg-type]

    monkeypatch.setattr("confide.cli.plan.make_plan", quickly)
    planned = _lines(call("plan", "s.toml", "--people", "10,000", "--guess", guess).out)
    assert all(row in planned for row in rows)
    draft = {
        "survey": {"name": "age", "title": "Age", "alphabet": survey.record()["alphabet"]},
        "mechanism": kind,
        "epsilon": 1.0,
        "people": 10_000,
        "guess": guess,
    }
    tell: Callable[..., None] = lambda *_: None  # noqa: E731
    expected = expect({"draft": draft, "seed": 0}, tell)["levels"]
    assert [" ".join(row["cells"]) for row in expected["rows"]] == rows
    assert [row["epsilon"] for row in expected["rows"] if row["is_chosen"]] == [1.0]


def test_init_has_the_levels_as_comments(call: Call) -> None:
    for kind in ("integers", "categories"):
        text = call("new", "-", kind).out
        said = _lines(text.replace("#", " "))
        for row in words_of(cf.parse_survey(text)):
            assert " ".join(row) in said


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]

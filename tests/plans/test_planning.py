"""Predictions against fresh simulations, round trips, the cache, and questions that make no sense."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import InvalidParameterError, UnreachableTargetError
from confide.plans import METHOD, Cache, Plan, Simulation, as_guess, usual_cache
from confide.plans.records import headline, remarks
from confide.plans.simulations import Distance, choose_measure, epsilon_bounds, fingerprint

LINE = cf.Integers(0, 9, unit="year")
SHARES = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02])
MECHANISM = cf.TruncatedGeometric(LINE, epsilon=0.5)
ANSWERS = cf.RandomizedResponse(cf.Categories(["yes", "no", "perhaps"]), epsilon=1.0)


def make(mechanism: Any = MECHANISM, guess: Any = SHARES, **asked: Any) -> Plan:
    settings: dict[str, Any] = {"cache": False, "repeats": 6, "method": cf.IBU()} | asked
    return cf.plan(mechanism, guess, **settings)


def fresh_errors(mechanism: cf.Mechanism, people: int, truth: Any, repeats: int) -> Any:
    """Simulate by the public road: people, reports, an estimate, its distance; nothing of the plan's own code."""
    generator = np.random.default_rng(987_654)
    errors = []
    for _ in range(repeats):
        counts = mechanism.simulate_counts(generator.multinomial(people, truth), rng=generator)
        answer = cf.estimate(counts, mechanism, cf.IBU())
        errors.append(cf.emd(answer.distribution, truth, mechanism.alphabet))
    return np.array(errors)


@pytest.mark.parametrize(
    ("mechanism", "shares", "people"),
    [
        (MECHANISM, SHARES, 3000),
        (cf.Geometric(LINE, epsilon=0.5), SHARES, 1000),
        (ANSWERS, np.array([0.6, 0.3, 0.1]), 2000),
        (cf.Rappor(ANSWERS.alphabet, epsilon=1.0), np.array([0.6, 0.3, 0.1]), 2000),
        (cf.TruncatedTaxicab(cf.Grid(2, 3, unit="km"), epsilon=1.0), np.array([0.3, 0.3, 0.2, 0.1, 0.1, 0.0]), 2000),
    ],
    ids=lambda one: getattr(one, "kind", None),
)
@pytest.mark.slow
def test_predictions_match_a_fresh_simulation(mechanism: cf.Mechanism, shares: Any, people: int) -> None:
    prediction = Simulation(
        as_guess(shares, mechanism), Distance(mechanism.alphabet), cf.IBU(), repeats=50, seed=0
    ).predict(mechanism, people)
    fresh = fresh_errors(mechanism, people, shares, repeats=80)
    own = fresh.std(ddof=1) / math.sqrt(fresh.size)
    assert abs(prediction.mean - fresh.mean()) <= math.hypot(prediction.margin, 2 * own)
    # Nor is the stated error so wide that anything would fit: it is that of a mean of 50.
    assert prediction.standard_error == pytest.approx(fresh.std(ddof=1) / math.sqrt(50), rel=0.35)


@pytest.mark.slow
def test_the_stated_error_is_neither_too_small_nor_too_large() -> None:
    """Over 60 seeds the truth lies within the margin about 95 times in 100, and within a third of it far less often."""
    guess, measure, method = as_guess([0.6, 0.3, 0.1], ANSWERS), Distance(ANSWERS.alphabet), cf.Inversion("project")
    truth = Simulation(guess, measure, method, 2000, seed=10**6).predict(ANSWERS, 1000)
    plans = [Simulation(guess, measure, method, 10, seed).predict(ANSWERS, 1000) for seed in range(60)]
    off = np.array([abs(one.mean - truth.mean) / one.margin for one in plans])
    assert (off <= 1).mean() >= 0.86
    assert 0.25 <= (off <= 1 / 3).mean() <= 0.75


@pytest.mark.slow
def test_the_width_of_a_query_holds_its_answer_in_95_of_100() -> None:
    measure = choose_measure(LINE, "age >= 5", "age")
    simulation = Simulation(as_guess(SHARES, MECHANISM), measure, cf.IBU(), 150, seed=1)
    width = simulation.predict(MECHANISM, 2000)
    generator, inside = np.random.default_rng(5), []
    for _ in range(150):
        counts = MECHANISM.simulate_counts(generator.multinomial(2000, SHARES), rng=generator)
        answer = cf.estimate(counts, MECHANISM, cf.IBU()).distribution
        inside.append(abs(answer[5:].sum() - SHARES[5:].sum()) <= width.mean)
    assert 0.9 <= np.mean(inside) <= 0.99
    assert width.standard_error < 0.1 * width.mean


@pytest.mark.slow
def test_each_missing_one_comes_back() -> None:
    given = make(people=4000, repeats=16)
    target = given.prediction.mean
    people = make(target_emd=target, repeats=16)
    epsilon = make(people=4000, target_emd=target, repeats=16)
    assert people.answer is not None
    assert epsilon.answer is not None
    assert (people.answer.unknown, epsilon.answer.unknown) == ("people", "epsilon")
    assert people.people == pytest.approx(4000, rel=0.1)  # the same luck, so much closer than the stated range
    assert epsilon.epsilon == pytest.approx(0.5, rel=0.1)
    assert people.answer.low < 4000 < people.answer.high
    assert epsilon.answer.low < 0.5 < epsilon.answer.high
    for plan in (people, epsilon):
        assert plan.prediction.mean == pytest.approx(target, abs=plan.prediction.margin / 2)
    other = make(target_emd=target, repeats=16, seed=7)
    assert other.answer is not None
    assert other.answer.low < 4000 < other.answer.high  # other luck, within the stated range


@pytest.mark.slow
def test_solving_for_the_width_of_a_query() -> None:
    plan = make(query="age >= 5", target_width=0.03, name="age", repeats=16)
    assert plan.prediction.mean == pytest.approx(0.03, rel=0.1)
    assert "95% half-width of age >= 5" in headline(plan)
    assert plan.ignorance is None


@pytest.mark.slow
def test_an_alphabet_alone_gets_the_usual_mechanism() -> None:
    plan = make(LINE, people=2000, target_emd=0.3)
    assert isinstance(plan.mechanism, cf.TruncatedGeometric)
    assert make(LINE, people=2000, epsilon=0.5).mechanism == MECHANISM
    grid = make(cf.Grid(2, 2), [0.4, 0.3, 0.2, 0.1], people=500, epsilon=1.0, repeats=4)
    assert grid.mechanism.kind == "truncated-planar-laplace"
    pair = cf.Attributes(first=cf.Integers(0, 1), second=cf.Integers(0, 1))
    assert make(pair, [0.4, 0.3, 0.2, 0.1], people=500, epsilon=1.0, repeats=4).measure.name == "total variation"


@pytest.mark.slow
def test_the_exponent_is_measured() -> None:
    """Randomized response over a truth inside the simplex errs as one over the root of people; IBU on a line not."""
    plan = make(ANSWERS, [0.4, 0.35, 0.25], people=20_000, repeats=30)
    slope = plan.by_people.slope(20_000.0)
    assert slope is not None
    assert slope.exponent == pytest.approx(-0.5, abs=0.05)
    assert plan.halving is not None
    assert plan.halving.factor == pytest.approx(4, rel=0.2)
    assert plan.halving.low < 4 < plan.halving.high
    ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.1)
    slow = make(ages, "ages", people=20_000, repeats=6).by_people.slope(20_000.0)
    assert slow is not None
    assert -0.45 < slow.exponent < -0.1


def test_a_mechanism_without_an_epsilon() -> None:
    matrix = cf.FromMatrix(cf.Categories(["a", "b"]), [[0.8, 0.2], [0.3, 0.7]])
    plan = make(matrix, [0.6, 0.4], people=1000)
    assert plan.epsilon is None
    assert plan.by_epsilon is None
    assert make(matrix, [0.6, 0.4], target_emd=0.05).people > 10
    for asked in ({"people": 100, "target_emd": 0.05}, {"people": 100, "epsilon": 1.0}):
        with pytest.raises(InvalidParameterError, match=r"no epsilon of its own.*Give a target alone.*or people alone"):
            make(matrix, [0.6, 0.4], **asked)


@pytest.mark.slow
def test_the_same_plan_has_the_same_numbers_and_another_seed_others() -> None:
    one, same, other = make(people=500), make(people=500), make(people=500, seed=1)
    assert one.prediction == same.prediction
    assert one.by_people == same.by_people
    assert one.prediction != other.prediction


@pytest.mark.slow
def test_the_cache_answers_the_second_time(tmp_path: Path) -> None:
    cache, simulated = Cache(tmp_path / "plans"), list[str]()

    def follow(what: str, repeat: int, of: int) -> None:
        simulated.append(what)

    first = make(people=500, target_emd=0.4, cache=cache, follow=follow)
    assert simulated
    simulated.clear()
    second = make(people=500, target_emd=0.4, cache=cache, follow=follow)
    assert simulated == []
    assert (str(first), remarks(first), first.prediction) == (str(second), remarks(second), second.prediction)
    assert make(people=500, target_emd=0.4, cache=False).prediction == first.prediction
    make(people=500, target_emd=0.4, cache=cache, follow=follow, repeats=7)
    assert simulated


@pytest.mark.parametrize("form", [str, Path, Cache])
def test_the_cache_may_be_any_folder(form: Any, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    expected = make(people=500, cache=form(folder)).prediction
    # The trade-off along people and along epsilon, one setting shared, and five other shapes.
    assert len(list(folder.glob("*.json"))) == 4 + 4 + 5
    assert make(people=500, cache=Cache(folder)).prediction == expected


@pytest.mark.slow
def test_a_broken_cache_is_no_failure(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    expected = make(people=500, cache=cache).prediction
    for file in tmp_path.iterdir():
        file.write_text('{"errors": "nonsense"}')
    assert make(people=500, cache=cache).prediction == expected
    for file in tmp_path.iterdir():
        file.write_text(json.dumps({"errors": [0.5] * 7}))  # six repeats were asked for
    assert make(people=500, cache=cache).prediction == expected
    (tmp_path / "file").write_text("")
    assert make(people=500, cache=Cache(tmp_path / "file")).prediction == expected


def test_everything_that_matters_is_in_the_fingerprint() -> None:
    many = [str(number) for number in range(50)]
    things: list[tuple[Any, ...]] = [
        (MECHANISM, 100, SHARES, Distance(LINE), cf.IBU(), 8, 0),
        (MECHANISM, 101, SHARES, Distance(LINE), cf.IBU(), 8, 0),
        (cf.TruncatedGeometric(LINE, 0.51), 100, SHARES, Distance(LINE), cf.IBU(), 8, 0),
        (cf.TruncatedLaplace(LINE, 0.5), 100, SHARES, Distance(LINE), cf.IBU(), 8, 0),
        (MECHANISM, 100, SHARES[::-1].copy(), Distance(LINE), cf.IBU(), 8, 0),
        (MECHANISM, 100, SHARES, choose_measure(LINE, "age > 3"), cf.IBU(), 8, 0),
        (MECHANISM, 100, SHARES, choose_measure(LINE, "age > 4"), cf.IBU(), 8, 0),
        (MECHANISM, 100, SHARES, Distance(LINE), cf.IBU(delta=0.02), 8, 0),
        (MECHANISM, 100, SHARES, Distance(LINE), cf.IBU(start=SHARES), 8, 0),
        (MECHANISM, 100, SHARES, Distance(LINE), cf.MLE(), 8, 0),
        (MECHANISM, 100, SHARES, Distance(LINE), cf.IBU(), 9, 0),
        (MECHANISM, 100, SHARES, Distance(LINE), cf.IBU(), 8, 1),
        (cf.RandomizedResponse(cf.Categories(many), 1.0),),
        (cf.RandomizedResponse(cf.Categories([*many[:-1], "other"]), 1.0),),  # beyond what its repr shows
    ]
    assert len({fingerprint(*one) for one in things}) == len(things)


def test_where_the_cache_lies() -> None:
    def place(platform: str, **environment: str) -> str:
        return usual_cache({"HOME": "/home/me"} | environment, platform).folder.as_posix()

    assert place("linux") == "/home/me/.cache/confide/plans"
    assert place("linux", XDG_CACHE_HOME="/x") == "/x/confide/plans"
    assert place("darwin") == "/home/me/Library/Caches/confide/plans"
    assert place("win32", LOCALAPPDATA="/l") == "/l/confide/Cache/plans"
    assert place("win32", CONFIDE_CACHE="/c") == "/c/plans"


def test_a_target_that_nothing_reaches_is_refused_with_the_floor() -> None:
    with pytest.raises(UnreachableTargetError, match="hardly any noise is left") as refusal:
        make(people=100, target_emd=0.001)
    # Without any noise a hundred people still miss their own distribution by about this much.
    generator = np.random.default_rng(3)
    sampled = [cf.emd(generator.multinomial(100, SHARES) / 100, SHARES, LINE) for _ in range(400)]
    assert refusal.value.floor == pytest.approx(np.mean(sampled), rel=0.3)
    unclear = cf.FromMatrix(cf.Categories(["a", "b"]), [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(UnreachableTargetError, match="No number of people reaches"):
        make(unclear, [0.9, 0.1], target_emd=0.1)


def test_a_target_that_takes_no_survey_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="takes no survey"):
        make(people=100, target_emd=5.0)
    with pytest.raises(UnreachableTargetError, match="met already"):
        make(guess="uniform", people=1000, target_emd=2.0)


@each(
    ("asked", "words"),
    [
        ({}, "too little to plan with"),
        ({"epsilon": 1.0}, "too little to plan with"),
        ({"people": 100, "epsilon": 1.0, "target_emd": 0.1}, "nothing to find out"),
        ({"people": 100, "target_emd": 0.1, "target_width": 0.1, "query": "age > 3"}, "one target"),
        ({"people": 100, "target_width": 0.1}, "width of what"),
        ({"people": 100, "target_emd": 0.1, "query": "age > 3"}, "Leave one of the two out"),
        ({"people": 100, "target_emd": 0}, "the target must be a finite number above 0"),
        ({"people": 100, "target_emd": -1}, "the target must be a finite number above 0"),
        ({"people": 100, "target_emd": math.nan}, "the target must be a finite number above 0"),
        ({"people": 0}, "people must be a whole number"),
        ({"people": -5}, "people must be a whole number"),
        ({"people": 10.5}, "people must be a whole number"),
        ({"people": 10**12}, "at most 1,000,000,000"),
        ({"people": 100, "epsilon": -1.0}, "epsilon must be a finite number above 0"),
        ({"people": 100, "epsilon": 1e6}, "no protection"),
        ({"people": 100, "repeats": 1}, "repeats must be a whole number of at least 4"),
        ({"people": 100, "seed": -1}, "seed must be a whole number"),
        ({"people": 100, "cache": 5}, "cache must be True, False or a folder; got 5"),
        ({"people": 100, "cache": ""}, "cache must be True, False or a folder"),
        ({"people": 100, "cache": __file__}, "cache must be a folder"),
        ({"people": 100, "query": "age > 99"}, "none of the values"),
        ({"people": 100, "method": "ibu"}, "method must be a Method"),
        ({"people": 100, "method": cf.Inversion("none")}, "negative shares"),
        ({"people": 100, "mechanism": "truncated-geometric"}, "needs a mechanism"),
        ({"people": 100, "mechanism": LINE}, "no epsilon"),
        ({"mechanism": LINE, "target_emd": 0.3}, "no epsilon"),
    ],
)
def test_questions_that_make_no_sense(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        make(**asked)


def test_pairs_have_no_emd_to_aim_for() -> None:
    pair = cf.RandomizedResponse(cf.Attributes(first=cf.Integers(0, 1), second=cf.Integers(0, 1)), epsilon=2.0)
    with pytest.raises(InvalidParameterError, match="No earth mover's distance"):
        make(pair, "uniform", people=100, target_emd=0.1)
    assert make(pair, [0.7, 0.1, 0.1, 0.1], query="first == 1", target_width=0.1).people > 10


def test_a_plan_says_when_no_number_of_people_can_settle_it() -> None:
    twins = cf.FromMatrix(cf.Integers(0, 2), [[0.7, 0.3, 0.0], [0.2, 0.4, 0.4], [0.2, 0.4, 0.4]])
    made = make(twins, [0.2, 0.7, 0.1], people=500)
    assert any("cannot identify" in sentence for sentence in remarks(made))
    assert not any("cannot identify" in sentence for sentence in remarks(make(people=1000)))


@pytest.mark.slow
def test_a_plan_is_made_for_what_estimate_does_unless_told() -> None:
    guess = as_guess(SHARES, MECHANISM, "value")
    expected = Simulation(guess, Distance(LINE), METHOD, repeats=24, seed=0).predict(MECHANISM, 2000)
    generator, fresh = np.random.default_rng(5), []
    for _ in range(24):
        counts = MECHANISM.simulate_counts(generator.multinomial(2000, SHARES), rng=generator)
        fresh.append(cf.emd(cf.estimate(counts, MECHANISM).distribution, SHARES, LINE))
    error = math.hypot(expected.standard_error, float(np.std(fresh, ddof=1)) / math.sqrt(len(fresh)))
    assert abs(float(np.mean(fresh)) - expected.mean) < 3 * error
    assert 3 * error < 0.3 * expected.mean, "so wide that IBU would pass as well"


def test_the_range_of_epsilon_goes_with_the_spacing() -> None:
    """A promise per kilometre of the same cells is a thousand times one per metre."""
    steps = epsilon_bounds(cf.TruncatedGeometric(cf.Integers(0, 50), 0.5))
    metres = epsilon_bounds(cf.TruncatedGeometric(cf.Integers(0, 50, spacing=1000.0), 0.0005))
    assert [1000 * one for one in metres] == pytest.approx(steps)


def test_the_trade_off_stops_where_reports_would_have_to_be_drawn_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.plans.simulations.MOST_DRAWN", 2000 * LINE.size)
    made = make(cf.Geometric(LINE, epsilon=0.5), people=600, repeats=4)
    assert made.by_people.places == (150.0, 600.0)
    assert make(people=600, repeats=4).by_people.places == (150.0, 600.0, 2400.0, 9600.0)

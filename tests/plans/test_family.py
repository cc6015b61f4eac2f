"""Plans without a guess: unlike shapes, their range, what a target takes at both ends, and guesses that flatter."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError, UnreachableTargetError
from confide.plans import SHAPES, Curve, Distance, Plan, Simulation, as_guess
from confide.plans.guesses import draw_shape, family, family_of
from confide.plans.planning import Answer, Goal, Search, expected_surveys, find_flattery, solve
from confide.plans.records import headline, plan_record, remarks
from confide.plans.simulations import Prediction

LINE = cf.Integers(0, 9, unit="year")
MECHANISM = cf.TruncatedGeometric(LINE, epsilon=0.5)
SHARES = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02])


def make(mechanism: Any = MECHANISM, guess: Any = None, **asked: Any) -> Plan:
    settings: dict[str, Any] = {"cache": False, "repeats": 4, "method": cf.IBU()} | asked
    return cf.plan(mechanism, guess, **settings)


ALPHABETS = [
    cf.Integers(0, 99),
    cf.Integers(-3, 6),
    cf.Integers(0, 1),
    cf.Integers(4, 4),
    cf.Grid(7, 5, spacing=0.5),
    cf.Grid(3, 3, holes=[(0, 0), (1, 1)]),
    cf.Grid(1, 8),
    cf.Categories([f"town {number}" for number in range(20)]),
    cf.Categories(["yes", "no"]),
    cf.Attributes(first=cf.Integers(0, 9), second=cf.Categories(["f", "m"])),
]


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=repr)
def test_shapes_are_unlike_distributions(alphabet: cf.Alphabet) -> None:
    found = family(alphabet)
    assert set(found) <= set(SHAPES)
    for shape in found.values():
        assert shape.shape == (alphabet.size,)
        assert (shape >= 0).all()
        assert shape.sum() == pytest.approx(1)
    apart = [cf.total_variation(one, other) for one, other in itertools.combinations(found.values(), 2)]
    assert min(apart, default=1.0) > (0.15 if alphabet.size >= 10 else 1e-6)
    if alphabet.size >= 10:
        assert set(found) == set(SHAPES)


def test_each_shape_is_what_it_is_called() -> None:
    line = {name: draw_shape(name, cf.Integers(0, 99)) for name in SHAPES}
    rises = {name: np.flatnonzero(np.diff(np.sign(np.diff(shape))) < 0).size for name, shape in line.items()}
    assert (rises["peaked"], rises["two humps"], rises["falling"]) == (1, 2, 0)
    assert np.ptp(line["uniform"]) == 0
    assert np.sort(line["spiky"])[-10:].sum() > 0.85
    assert np.sort(line["rough"])[-25:].sum() > 0.75 > np.sort(line["rough"])[-10:].sum()
    kinds = {name: np.sort(draw_shape(name, ALPHABETS[7]))[::-1] for name in SHAPES}
    assert kinds["peaked"][0] == pytest.approx(0.7)
    np.testing.assert_allclose(kinds["two humps"][:2], 0.35)
    assert (kinds["spiky"] > 0).sum() == 7
    np.testing.assert_allclose(np.diff(kinds["falling"]), np.diff(kinds["falling"])[0])
    pairs = draw_shape("falling", ALPHABETS[-1]).reshape(10, 2)
    np.testing.assert_allclose(pairs.sum(axis=1), draw_shape("falling", cf.Integers(0, 9)))


def test_a_shape_is_a_guess_by_its_name() -> None:
    for word in ("two humps", "two-humps"):
        np.testing.assert_array_equal(as_guess(word, MECHANISM).vector, draw_shape("two humps", LINE))


@pytest.mark.slow
def test_a_plan_without_a_guess_is_about_the_worst_shape() -> None:
    plan = make(people=2000)
    errors = [one.prediction.mean for one in plan.outlooks]
    assert errors == sorted(errors)
    worst = plan.outlooks[-1]
    assert (plan.guess, plan.prediction, plan.by_people) == (worst.guess, worst.prediction, worst.by_people)
    assert plan.flattery is None
    for one in plan.outlooks[::3]:
        alone = make(guess=one.guess.name, people=2000)
        assert alone.by_people == one.by_people
        assert alone.by_epsilon == one.by_epsilon
        assert alone.outlooks == ()
    low, high = plan.outlooks[0], plan.outlooks[-1]
    assert f"between {errors[0]:.3g} ({low.guess.name}) and {errors[-1]:.3g} ({high.guess.name})" in headline(plan)
    assert any("unlike shapes" in sentence for sentence in remarks(plan))


@pytest.mark.slow
def test_a_target_is_met_for_the_worst_shape_and_the_best_is_the_other_end() -> None:
    target = 0.3
    plan = make(target_emd=target)
    best, worst = plan.outlooks[0], plan.outlooks[-1]
    assert plan.answer is not None
    assert worst.answer is plan.answer
    assert best.answer is not None
    assert best.answer.value < plan.answer.value == plan.people
    needed = {}
    for one in family_of(MECHANISM):
        try:
            found = make(guess=one, target_emd=target).answer
        except (UnreachableTargetError, InvalidParameterError):
            continue  # met without anyone
        assert found is not None
        needed[one.name] = found.value
    assert plan.people == pytest.approx(max(needed.values()), rel=0.05)
    assert best.answer.value <= 1.2 * min(needed.values())
    assert f"in the worst case, {worst.guess.name}" in headline(plan)
    assert f"in the best, {best.guess.name}" in headline(plan)
    solved = {one["shape"]: one["solved"] for one in plan_record(plan)["shapes"]}
    assert solved[worst.guess.name]["value"] == plan.people
    assert sum(one is not None for one in solved.values()) == 2


@pytest.mark.slow
def test_epsilon_is_solved_for_the_worst_shape_too() -> None:
    plan = make(people=2000, target_emd=0.4)
    assert plan.answer is not None
    assert plan.answer.unknown == "epsilon"
    for one in plan.outlooks:
        assert one.prediction.mean <= 0.4 * 1.1 + one.prediction.standard_error
    assert plan.outlooks[-1].prediction.mean == pytest.approx(0.4, rel=0.1)


@pytest.mark.parametrize(
    ("asked", "amount"),
    [
        ({"people": 500, "target_emd": 0.6}, "0.00111 or less"),
        ({"query": "value >= 5", "target_width": 0.05}, "411"),
    ],
)
def test_the_best_shape_is_the_one_that_takes_the_least(asked: dict[str, Any], amount: str) -> None:
    """It is not the one with the least error at the setting that the worst shape takes: curves cross."""
    plan = make(**asked)
    best, worst = plan.outlooks[0], plan.outlooks[-1]
    assert best.answer is not None
    assert worst.answer is plan.answer is not None
    assert best.answer.value < plan.answer.value
    assert best.prediction.mean > plan.outlooks[1].prediction.mean
    assert f"in the worst case, {worst.guess.name}, and {amount} in the best, {best.guess.name};" in headline(plan)
    assert plan_record(plan)["best"] == best.guess.name
    alike = replace(plan, outlooks=plan.outlooks[1:])
    assert "), whatever the shape; halving" in headline(alike)


@dataclass(frozen=True)
class Known(Goal):
    """A question whose curves are power laws: error = scale x people^-power."""

    curves: Any = None

    def predict(self, simulation: Any, place: float) -> Prediction:
        scale, power = self.curves[simulation.guess.name]
        return Prediction(scale * place**-power, 1e-4 * scale * place**-power, 8)

    def search(self, simulation: Any, start: float) -> Answer:
        def predict(place: float) -> Prediction:
            return self.predict(simulation, place)

        return Search("people", predict, self.target, self.bounds, whole=True).run(start)


def ends(target: float, **curves: tuple[float, float]) -> dict[str, Answer]:
    simulations: Any = [SimpleNamespace(guess=SimpleNamespace(name=name)) for name in curves]
    return solve(simulations, Known(MECHANISM, None, target, curves))


def test_where_curves_cross_the_worst_is_the_one_at_the_answer() -> None:
    """At the start, 10,000 people, a is the worst; at 0.001 it is b, which falls more slowly."""
    found = ends(0.001, a=(5.0, 0.5), b=(0.2, 0.3), c=(1.0, 0.5))
    assert set(found) == {"b", "c"}
    assert found["b"].value == pytest.approx((0.2 / 0.001) ** (1 / 0.3), rel=0.02)
    assert found["c"].value == pytest.approx(1e6, rel=0.02)
    few = ends(0.2, a=(5.0, 0.5), b=(0.2, 0.3), c=(1.0, 0.5))
    assert few["a"].value == pytest.approx(625, rel=0.02)


def test_the_end_that_is_met_already_and_the_one_that_is_out_of_reach() -> None:
    found = ends(0.1, easy=(1e-3, 0.5), hard=(1.0, 0.5))
    assert found["easy"].is_least
    assert found["easy"].value == 10
    assert not found["hard"].is_least
    with pytest.raises(UnreachableTargetError, match="If the truth is hard: No number of people reaches"):
        ends(0.1, easy=(1e-3, 0.5), hard=(1.0, 0.01))
    with pytest.raises(UnreachableTargetError, match=r"met already at people 10.*whatever the shape"):
        ends(0.1, easy=(1e-3, 0.5), other=(2e-3, 0.5))


def test_a_target_that_takes_no_survey_for_any_shape() -> None:
    with pytest.raises(InvalidParameterError, match=r"takes no survey.*the farthest shape"):
        make(people=100, target_emd=5.0)


@pytest.mark.parametrize("query", [None, "age >= 5"])
@pytest.mark.parametrize("mechanism", [MECHANISM, cf.RandomizedResponse(LINE, 1.0)], ids=["metric", "local"])
@pytest.mark.slow
def test_uniform_flatters_and_others_do_not(mechanism: cf.Mechanism, query: str | None) -> None:
    asked: dict[str, Any] = {"people": 2000, "query": query, "name": "age"}
    uniform = make(mechanism, "uniform", **asked)
    assert uniform.flattery is not None
    assert headline(uniform).count("flatters") == 1
    nearly = make(mechanism, np.linspace(0.98, 1.02, 10) / 10, **asked)
    assert nearly.flattery is not None
    assert make(mechanism, SHARES, **asked).flattery is None


def test_what_a_method_starts_from_flatters() -> None:
    """Not only the uniform distribution: whoever starts IBU from the truth gets it back."""
    weak = cf.TruncatedGeometric(LINE, epsilon=0.05)
    spoiled = make(weak, SHARES, people=500, method=cf.IBU(start=SHARES, delta=1.0))
    assert spoiled.flattery is not None
    assert not spoiled.flattery.is_uniform
    assert "other shapes lead to" in headline(spoiled)
    assert make(weak, SHARES, people=500).flattery is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "guess", "flatters"),
    [
        (cf.TruncatedGeometric(cf.Integers(0, 99), 0.05), "uniform", True),
        (cf.TruncatedGeometric(cf.Integers(0, 99), 0.05), "adult_ages", False),
        (cf.TruncatedTaxicab(cf.Grid(5, 5, unit="km"), 1.0), "san_francisco", False),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_default_method_and_real_data(mechanism: Any, guess: str, flatters: bool) -> None:
    simulation = Simulation(as_guess(guess, mechanism), Distance(mechanism.alphabet), cf.Stacked(), 4, 0)
    places = (mechanism.epsilon / 4, mechanism.epsilon)
    along = tuple(simulation.predict(replace(mechanism, epsilon=place), 20_000) for place in places)
    found = find_flattery(simulation, mechanism, 20_000, along[1], Curve("epsilon", places, along))
    assert (found is not None) is flatters
    assert found is None or found.is_backward


@pytest.mark.slow
def test_four_times_the_privacy_is_not_more_accurate_without_a_guess() -> None:
    """The case that started it: a uniform guess made 0.25 look better than 1."""
    answers = cf.Categories(list("abcdefghij"))
    strong, weak = (make(cf.RandomizedResponse(answers, one), people=5000) for one in (0.25, 1.0))
    assert strong.prediction.mean > 1.5 * weak.prediction.mean


UNLIKE = [
    (cf.TruncatedGeometric(cf.Integers(0, 19), 0.3), 5000),
    (cf.Exponential(cf.Integers(0, 19), 0.5), 5000),
    (cf.TruncatedTaxicab(cf.Grid(6, 5), 0.7), 5000),
    (cf.RandomizedResponse(cf.Categories([str(one) for one in range(12)]), 1.0), 5000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "people"), UNLIKE, ids=lambda one: getattr(one, "kind", ""))
def test_the_stated_range_holds_what_fresh_surveys_of_unlike_truths_give(mechanism: cf.Mechanism, people: int) -> None:
    """By the public road, with the default method; `python -m benchmarks.plans` has more of it, and larger."""
    measure = Distance(mechanism.alphabet)
    shapes = [Simulation(one, measure, cf.Stacked(), 6, 0).predict(mechanism, people) for one in family_of(mechanism)]
    best, worst = (end(shapes, key=lambda one: one.mean) for end in (min, max))
    size, generator = mechanism.alphabet.size, np.random.default_rng(11)
    truths = [
        generator.dirichlet(np.full(size, 0.3)),
        np.repeat([1.0, 4.0, 2.0, 6.0], math.ceil(size / 4))[:size],
        np.bincount([size // 7, size // 2, size // 2, size - 2], minlength=size) + 0.02,
    ]
    for truth in truths:
        shares, errors = truth / truth.sum(), []
        for _ in range(6):
            counts = mechanism.simulate_counts(generator.multinomial(people, shares), rng=generator)
            answer = cf.estimate_pool([(counts, mechanism)]).distribution
            errors.append(cf.emd(answer, shares, mechanism.alphabet))
        own = 2 * float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
        assert best.mean - best.margin - own <= np.mean(errors) <= worst.mean + worst.margin + own


@pytest.mark.slow
def test_about_how_many_surveys_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REPEATS", "SHAPE_REPEATS"):
        monkeypatch.setattr(f"confide.plans.planning.{name}", 4)
    heard: list[str] = []

    def count(*_: object) -> None:
        heard.append("")

    for guess, asked in ((None, {"people": 500}), (SHARES, {"people": 500}), (None, {"target_emd": 0.3})):
        heard.clear()
        make(guess=guess, follow=count, **asked)
        told = expected_surveys(MECHANISM, guess, is_solved="target_emd" in asked)
        assert 0.7 * len(heard) <= told <= 1.4 * len(heard)


@pytest.mark.parametrize(
    ("mechanism", "span", "bounded"),
    [
        (cf.Geometric(cf.Integers(spacing=2.0, unit="km"), 0.5), (-2, 7), cf.Integers(-2, 7, spacing=2.0, unit="km")),
        (cf.Taxicab(cf.Lattice(spacing=0.5), 1.0), (2, 3), cf.Grid(2, 3, spacing=0.5)),
    ],
    ids=["line", "plane"],
)
def test_unbounded_values_can_be_planned_for_in_a_span(mechanism: Any, span: Any, bounded: cf.Alphabet) -> None:
    plan = make(mechanism, "falling", people=60, span=span)
    assert plan.mechanism == replace(mechanism, alphabet=bounded)
    assert plan.prediction == make(replace(mechanism, alphabet=bounded), "falling", people=60).prediction
    assert any("taken to lie in" in sentence for sentence in remarks(plan))
    with pytest.raises(InvalidParameterError, match=r"is unbounded.*--guess 0..99"):
        make(mechanism, people=60)


def test_spans_that_make_no_sense() -> None:
    with pytest.raises(InvalidParameterError, match="is finite"):
        make(people=60, span=(0, 9))
    with pytest.raises(InvalidParameterError):
        make(cf.Geometric(cf.Integers(), 0.5), people=60, span=(9, 0))
    with pytest.raises(InvalidParameterError):
        make(cf.Taxicab(cf.Lattice(), 0.5), people=60, span=(0, 4))

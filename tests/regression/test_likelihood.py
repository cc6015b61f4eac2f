"""Derivatives, starts, and standard errors that are as large as the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import confide as cf
from confide.regression.designs import MergedRows, Sample
from confide.regression.fitting import STARTS
from confide.regression.likelihood import Columns, ExponentialFamily, Ordered, OutcomeModel, ReportLikelihood, climb

pytest.importorskip("formulaic")
search: Any = scipy.optimize

SIZE = 5
FAMILIES: dict[str, OutcomeModel] = {
    "multinomial": ExponentialFamily.multinomial(SIZE, 2),
    "ordered": Ordered(SIZE),
    "normal": ExponentialFamily.normal(np.linspace(-1.5, 1.5, SIZE)),
}


def problem_of(
    family: OutcomeModel, *, people: int = 80, epsilon: float = 0.9, weights: bool = False
) -> ReportLikelihood:
    rng = np.random.default_rng(2)
    mechanism = cf.TruncatedGeometric(cf.Integers(0, SIZE - 1), epsilon)
    design = np.column_stack([np.ones(people), rng.integers(0, 4, people), rng.normal(size=people)])
    design = design[:, 1:] if isinstance(family, Ordered) else design
    reports = rng.integers(0, SIZE, people)
    sample = Sample(None, reports, np.ones(people), rng.random(people) + 0.1 if weights else None)
    cells = MergedRows.of(sample, design, reports)
    return ReportLikelihood(family, cells, Columns.of(mechanism, np.arange(SIZE)).rows)


def point(problem: ReportLikelihood) -> Any:
    start = np.random.default_rng(5).normal(scale=0.3, size=sum(problem.sizes))
    if isinstance(problem.family, Ordered):
        start[-SIZE + 1 :] = np.linspace(-1, 1, SIZE - 1)
    elif problem.family.positive is not None:  # type: ignore[attr-defined]
        start[-1] = 0.7
    return start


@pytest.mark.parametrize("name", FAMILIES)
def test_gradient_and_information_are_the_derivatives(name: str) -> None:
    problem = problem_of(FAMILIES[name], weights=True)
    at = point(problem)
    gradient, information, scores = problem.derivatives(at)
    assert gradient == pytest.approx(search.approx_fprime(at, problem.value, 1e-7), rel=1e-4, abs=1e-4)
    assert gradient == pytest.approx(problem.cells.weights @ scores)
    slopes = np.array(
        [search.approx_fprime(at, lambda x, at: problem.derivatives(x)[0][at], 1e-6, j) for j in range(at.size)]
    )
    assert information == pytest.approx(-slopes, rel=1e-3, abs=1e-3)
    assert np.allclose(problem.shares(at, problem.cells.design).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_climb_ends_where_another_search_ends(name: str) -> None:
    problem = problem_of(FAMILIES[name], people=400, epsilon=2.0)
    ours = climb(problem, point(problem))
    theirs = search.minimize(
        lambda x: -problem.value(x), point(problem), method="Nelder-Mead", options={"maxiter": 40_000}
    )
    assert ours.is_done
    assert ours.value >= -theirs.fun - 1e-6


def test_cells_merge_people_who_are_alike() -> None:
    problem = problem_of(FAMILIES["multinomial"], weights=True)
    cells = problem.cells
    assert cells.people.sum() == pytest.approx(80)
    assert cells.weights.sum() == pytest.approx(80)
    design = np.tile(cells.design, (3, 1))
    thrice = MergedRows.of(Sample(None, None, np.ones(len(design))), design, np.tile(cells.report, 3))  # type: ignore[arg-type]
    assert thrice.report.size == cells.report.size
    assert (thrice.people == 3).all()
    sizes = np.bincount(thrice.group) * 3
    assert (thrice.rare, thrice.design_effect) == (sizes[sizes < 5].sum(), 1.0)


def simulate(mechanism: cf.Mechanism, seed: int, people: int = 500) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, female = rng.integers(-3, 4, people), rng.integers(0, 2, people)
    chance = 1 / (1 + np.exp(0.3 - 0.5 * age + 0.8 * female))
    values = mechanism.alphabet.decode((rng.random(people) < chance).astype(int))
    return {"age": age, "female": female, "report": mechanism.privatize(values, rng=seed)}


TRUTH = np.array([-0.3, 0.5, -0.8])


@pytest.mark.slow
@pytest.mark.parametrize("errors", ["information", "scores", "sandwich"])
def test_standard_errors_are_as_large_as_errors(errors: str) -> None:
    """200 surveys with three coefficients each: a scale 15 % off, or an estimate half an error off, would be seen."""
    mechanism = cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0)
    survey, ratios = cf.Survey(mechanism, "answer"), []
    for seed in range(200):
        found = cf.regress("answer ~ age + female", simulate(mechanism, seed), survey, errors=errors)
        ratios.append((found.estimates - TRUTH) / found.standard_errors)
    spread = np.std(ratios, axis=0)
    assert np.sqrt((spread**2).mean()) == pytest.approx(1.0, abs=0.1)
    assert np.abs(np.mean(ratios, axis=0)).max() < 0.3
    assert (np.abs(ratios) < 1.96).mean() == pytest.approx(0.95, abs=0.025)


def test_the_noise_widens_as_the_table_says() -> None:
    """Privacy's part of an error: what is left is the error with true values, of the same people."""
    blurred = cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=1.5)
    clear = cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=40.0)
    noisy = cf.regress("answer ~ age + female", simulate(blurred, 1, 20_000), cf.Survey(blurred, "answer"))
    exact = cf.regress("answer ~ age + female", simulate(clear, 1, 20_000), cf.Survey(clear, "answer"))
    assert (1 - noisy.privacy) * noisy.standard_errors == pytest.approx(exact.standard_errors, rel=0.03)
    ages = cf.Integers(0, 9)
    noisy, exact = (
        cf.regress("y ~ x", {"x": np.arange(20_000) % 7, "report": one.privatize(np.arange(20_000) % 9, rng=1)}, one)
        for one in (cf.Geometric(ages, 0.4), cf.Geometric(ages, 30.0))
    )
    assert (1 - noisy.privacy) * noisy.standard_errors == pytest.approx(exact.standard_errors, rel=0.03)


def test_every_start_is_reported() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0)
    found = cf.regress("answer ~ age", simulate(mechanism, 1), cf.Survey(mechanism, "answer"))
    assert found.starts == STARTS
    assert 1 <= found.agreeing <= STARTS
    assert f"{found.agreeing} of {STARTS} starts" in str(found)


EVERY = [
    cf.RandomizedResponse(cf.Integers(0, 4), 2.0),
    cf.TruncatedGeometric(cf.Integers(0, 4), 1.0),
    cf.Geometric(cf.Integers(0, 4), 1.0),
    cf.Laplace(cf.Integers(0, 4), 1.0),
    cf.Rappor(cf.Integers(0, 4), 3.0),
    cf.SquareWave(cf.Integers(0, 4), 2.0),
    cf.LocalHashing(cf.Integers(0, 4), 2.0),
]


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda one: one.kind)
@pytest.mark.parametrize("model", ["linear", "normal", "multinomial"])
def test_every_mechanism_serves(mechanism: cf.Mechanism, model: str) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 3, 4000)
    values = np.clip(np.rint(1.2 + 0.7 * x + 0.8 * rng.normal(size=x.size)), 0, 4).astype(int)
    reports = np.reshape(mechanism.privatize(values, rng=1), (x.size, -1))
    names = mechanism.report_alphabet.field_names
    data = {"x": x} | dict(zip(names if len(names) > 1 else ["report"], reports.T, strict=True))
    found = cf.regress("value ~ x", data, cf.Survey(mechanism), model=model)
    mean = found.predict({"x": [0, 2]})["estimate"].to_numpy()
    if model == "multinomial":
        mean = mean.reshape(2, 5) @ np.arange(5)
    truth = [values[x == 0].mean(), values[x == 2].mean()]
    assert mean == pytest.approx(truth, abs=0.25)

"""Replicates of the default, solved together: as if each were alone, nearly, and in a fraction of the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide import (
    Categories,
    Counts,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    Smooth,
    Stacked,
    TruncatedGeometric,
    TruncatedTaxicab,
    estimate,
)
from confide.channels import Dense
from confide.channels.base import FloatArray, Layout
from confide.estimates import Bootstrap
from confide.evidence.evidence import Evidence
from confide.solve import smooth_prior
from confide.solve.methods import Method
from confide.solve.methods.stacked import LIMITS, fit_all
from confide.solve.smooth_prior import refit_replicates

pytestmark = pytest.mark.slow

X = np.arange(24)
SHAPES = {
    "smooth": np.exp(-((X - 9) ** 2) / 30.0) + 0.1,
    "spiky": np.isin(X, (3, 4, 15)) + 0.01,
}
LINE = TruncatedGeometric(Integers(0, 23), 0.3)
PLANE = TruncatedTaxicab(Grid(4, 6), 1.0)
UNORDERED = RandomizedResponse(Categories([f"answer {place}" for place in X]), 2.0)


def evidence_of(mechanism: Mechanism, shape: str, people: int = 5000) -> Evidence:
    histogram = np.round(people * SHAPES[shape] / SHAPES[shape].sum()).astype(int)
    return mechanism.observe(mechanism.simulate_counts(histogram, rng=1))


def redraw(evidence: Evidence, count: int) -> FloatArray:
    rows = np.random.default_rng(2).multinomial(round(evidence.total), evidence.frequencies, size=count)
    return rows.astype(np.float64)


def together(method: Method, evidence: Evidence, rows: FloatArray) -> FloatArray:
    """Solve rows as bootstrap replicates of the evidence."""
    return np.array([one.distribution for one in method.solve_many(evidence, rows, pilot=method.solve(evidence))])


def alone(method: Method, evidence: Evidence, rows: FloatArray) -> FloatArray:
    """Solve each row by itself, as groups are."""
    return np.array([one.distribution for one in method.solve_many(evidence, rows)])


def half_width(answers: FloatArray, source: FloatArray) -> FloatArray:
    half: FloatArray = np.quantile(np.abs(answers - source), 0.9, axis=0)
    return half


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mechanism", [LINE, PLANE, UNORDERED], ids=["line", "plane", "categories"])
@pytest.mark.parametrize("method", [Smooth(), Stacked()], ids=["smooth", "stacked"])
def test_bands_are_as_wide_as_those_of_exact_solves(method: Method, mechanism: Mechanism, shape: str) -> None:
    """Within a fifth on average over the values; a band of half the width, or of twice it, would fail."""
    evidence = evidence_of(mechanism, shape)
    rows, source = redraw(evidence, 40), method.solve(evidence).distribution
    quick, exact = (half_width(solve(method, evidence, rows), source) for solve in (together, alone))
    assert quick.sum() == pytest.approx(exact.sum(), rel=0.2)


@pytest.mark.parametrize("mechanism", [LINE, PLANE, UNORDERED], ids=["line", "plane", "categories"])
def test_each_replicate_is_where_its_own_climb_ends(mechanism: Mechanism) -> None:
    """Closer to it than a tenth of how far replicates spread, where the truth is smooth."""
    evidence = evidence_of(mechanism, "smooth")
    rows = redraw(evidence, 30)
    exact = alone(Smooth(), evidence, rows)
    spread = np.abs(exact - exact.mean(axis=0)).mean()
    assert np.abs(together(Smooth(), evidence, rows) - exact).mean() < 0.1 * spread
    # More reports in each replicate, or fewer, would be seen.
    assert np.abs(together(Smooth(), evidence, 4 * rows) - exact).mean() > 0.1 * spread


@pytest.mark.parametrize("most", [500, 12])
def test_modes_and_evidence_are_those_of_the_solver_for_one(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where values share knots, and where replicates report what the mean of others never would."""
    monkeypatch.setitem(vars(smooth_prior.LIMITS), "most_knots", most)
    monkeypatch.setitem(vars(smooth_prior.LIMITS), "fewest_knots", 4)
    evidence, layout = evidence_of(LINE, "smooth"), Layout((24,))
    rows = redraw(evidence, 6)
    problem, fits = fit_all(replace(evidence, counts=rows.mean(axis=0)), lambda _outputs: None)
    fit = max(fits, key=lambda one: one.log_evidence)
    modes, logs = refit_replicates(problem, fit, rows)
    for mode, log_evidence, row in zip(modes, logs, rows, strict=True):
        single = smooth_prior.Problem.of(replace(evidence, counts=row), layout)
        penalty = smooth_prior.penalty_of(single, fit.order)
        found = smooth_prior.fit_prior(single, penalty, fit.order, fit.weight, fit.heights, lambda _outputs: None)
        assert np.abs(mode - found.theta).sum() < 0.02
        assert log_evidence == pytest.approx(found.log_evidence, abs=1.0)


def test_the_uniform_fit_stays_and_knows_its_evidence() -> None:
    evidence = evidence_of(LINE, "smooth")
    rows = redraw(evidence, 3)
    problem, fits = fit_all(replace(evidence, counts=rows.mean(axis=0)), lambda _outputs: None)
    modes, logs = refit_replicates(problem, fits[0], rows)
    np.testing.assert_allclose(modes, 1 / 24)
    singles = [smooth_prior.Problem.of(replace(evidence, counts=row), None) for row in rows]
    np.testing.assert_allclose(logs, [smooth_prior.stay_uniform(one).log_evidence for one in singles])


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = evidence_of(LINE, "spiky")
    rows = redraw(evidence, 7)
    whole = together(Smooth(), evidence, rows)
    monkeypatch.setitem(vars(LIMITS), "block", 50)
    np.testing.assert_allclose(together(Smooth(), evidence, rows), whole, atol=1e-10)


def test_the_band_of_the_default_is_the_same_each_time() -> None:
    counts = LINE.simulate_counts(np.round(200 * SHAPES["smooth"]).astype(int), rng=1)
    first, second = (estimate(counts, LINE).interval(basis=Bootstrap(60)) for _ in range(2))
    np.testing.assert_array_equal(first.low, second.low)
    np.testing.assert_array_equal(first.high, second.high)
    other = estimate(counts, LINE).interval(basis=Bootstrap(60, seed=1))
    assert (other.high != first.high).any()


def test_more_people_make_it_narrower() -> None:
    """By about the root of their number where the truth is smooth; far from none of it."""
    histograms = [np.round(scale * SHAPES["smooth"]).astype(int) for scale in (50, 5000)]
    few, many = (estimate(LINE.simulate_counts(histogram, rng=1), LINE) for histogram in histograms)
    widths = [one.interval(basis=Bootstrap(60)).width.mean() for one in (few, many)]
    assert 0.03 < widths[1] / widths[0] < 0.7


def test_where_nothing_could_be_held_out_the_one_method_solves_replicates_too() -> None:
    counts = LINE.simulate_counts(np.round(20 * SHAPES["smooth"]).astype(int), rng=1)
    broken = Counts(counts.reports, counts.counts * 1.001)
    evidence = LINE.observe(broken)
    rows = redraw(LINE.observe(counts), 10)
    np.testing.assert_allclose(together(Stacked(), evidence, rows), together(Smooth(), evidence, rows), atol=1e-12)
    handful = estimate(LINE.simulate_counts(np.isin(X, (3, 4, 5)).astype(int), rng=1), LINE)
    band = handful.interval(basis=Bootstrap(40))
    assert (band.low <= handful.distribution).all()
    assert (band.width > 0).all()


def test_candidates_that_do_not_stand_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many values for a smooth prior: the others are mixed alone."""
    monkeypatch.setitem(vars(LIMITS), "ordered", 10)
    monkeypatch.setitem(vars(LIMITS), "unordered", 10)
    evidence = evidence_of(LINE, "spiky")
    answers = together(Stacked(), evidence, redraw(evidence, 10))
    np.testing.assert_allclose(answers.sum(axis=1), 1)
    assert answers[:, [3, 4, 15]].sum() > 5


def test_very_many_values_take_the_shares_of_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(LIMITS), "small_matrix", 10)
    evidence = evidence_of(LINE, "smooth")
    pilot, rows = Stacked().solve(evidence), redraw(evidence, 10)

    def refuse(method: Stacked, one: Evidence) -> object:
        raise AssertionError(f"{method} weighs its candidates anew on {one}")

    monkeypatch.setattr(Stacked, "solve", refuse)
    answers = [one.distribution for one in Stacked().solve_many(evidence, rows, pilot=pilot)]
    assert np.shape(answers) == (10, 24)


def test_reports_that_one_replicate_alone_has_are_counted() -> None:
    matrix = np.array([[0.8, 0.2, 0.0], [0.0, 0.2, 0.8]])
    evidence = Evidence(Dense(matrix), np.array([40.0, 10.0, 0.0]))
    rows = np.array([[40.0, 10.0, 0.0], [0.0, 10.0, 40.0], [20.0, 10.0, 20.0]])
    answers = together(Smooth(), evidence, rows)
    np.testing.assert_allclose(answers[0], answers[1][::-1], atol=0.02)
    np.testing.assert_allclose(answers[2], 0.5, atol=0.02)
    assert answers[0, 0] > 0.85

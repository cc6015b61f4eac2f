"""Reports that are rare among very many, rows that nearly agree, and sets too small or too large to see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import confide as cf
from confide.errors import SolverError
from confide.estimates import diagnosis as diagnosis_module
from confide.evidence.evidence import Evidence
from confide.theory import maximum_set as maximum_set_module
from confide.theory.maximum_set import MaximumSet, flat_directions, is_trusted, maximum_set, uniqueness
from confide.theory.spectra import Spectrum
from confide.theory.verdicts import Verdict
from confide.values import Alphabet


def problem(rows: object, counts: list[int]) -> tuple[cf.FromMatrix, cf.Counts]:
    matrix = np.array(rows, dtype=np.float64)
    mechanism = cf.FromMatrix(cf.Integers(0, matrix.shape[0] - 1), matrix, cf.Integers(0, matrix.shape[1] - 1))
    return mechanism, cf.tally(np.arange(len(counts)), counts)


def diagnose_problem(mechanism: cf.FromMatrix, counts: cf.Counts) -> cf.estimates.diagnosis.Diagnosis:
    return cf.diagnose(counts, mechanism)


@pytest.mark.slow
def test_one_report_in_a_million_million_does_not_free_the_others() -> None:
    rows = [[0.9, 0.1, 0], [0.5, 0.5, 0], [0, 1, 0], [0.8, 0.1, 0.1], [0, 0, 1]]
    answer = diagnose_problem(*problem(rows, [9 * 10**11, 10**11, 1]))
    second = answer.query("x == 2")
    assert second.highest == pytest.approx(0, abs=1e-6)
    # By hand: .4 b + .9 c = -.1 s 10^-12 for shares b, c, s >= 0, so there is only one best explanation.
    assert answer.uniqueness is not None
    assert not answer.uniqueness.is_no
    assert answer.maximum_set.highest[3] <= 1.1e-11


@pytest.mark.parametrize("many", [10**6, 10**9, 10**12])
def test_a_tiny_set_is_a_set(many: int) -> None:
    mechanism, counts = problem([[1, 0], [0.5, 0.5], [0, 1]], [many, 1])
    answer = cf.diagnose(counts, mechanism)
    assert answer.uniqueness is not None
    assert answer.uniqueness.is_no
    # From (1 - r, 0, r) to (1 - 2r, 2r, 0), with r the share of the rare report.
    rare = 1 / (many + 1)
    np.testing.assert_allclose(answer.maximum_set.highest[1:], [2 * rare, rare], rtol=1e-3)
    np.testing.assert_allclose(answer.maximum_set.lowest[1:], 0, atol=1e-3 * rare)


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([[1, 0], [0, 1], [0, 1], [0, 1]], [10**7, 1]),
        ([[1, 0], [0.5, 0.5], [0, 1], [0.25, 0.75]], [10**8, 1]),
        ([[0.6, 0.4, 0], [0.4, 0.6, 0], [0, 0, 1], [0, 0, 1]], [10**6, 10**6, 1]),
    ],
)
def test_values_that_share_a_rare_report_are_not_unique(rows: list[list[float]], counts: list[int]) -> None:
    assert uniqueness(*problem(rows, counts)).verdict is Verdict.NO


def test_identical_rows_settle_what_another_value_leaves_open() -> None:
    # The first three sit on an edge, as above, so no inner point is known; the twins have all of the last report.
    rows = [[0.9, 0.1, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    finding = uniqueness(*problem(rows, [900, 100, 50]))
    assert finding.verdict is Verdict.NO
    assert "No report seen tells 3 from 4" in finding.reason


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 100_000))
def test_verdicts_where_the_truth_is_known_and_masses_are_tiny(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, outputs = (int(size) for size in rng.integers(2, 6, 2))
    weights = rng.integers(0, 4, (values, outputs)) + np.eye(values, outputs, dtype=int)
    weights[:, 0] += weights.sum(axis=1) == 0
    matrix = weights / weights.sum(axis=1, keepdims=True)
    theta = 10.0 ** -rng.integers(0, 10, values)
    theta /= theta.sum()
    mechanism = cf.FromMatrix(cf.Integers(0, values - 1), matrix, cf.Integers(0, outputs - 1))
    shares = theta @ matrix
    seen = np.flatnonzero(shares)
    counts = cf.Counts(seen, 1e12 * shares[seen])
    # The reports fit exactly, so best explanations are all that give the same: one if the rows are independent.
    is_unique = np.linalg.matrix_rank(weights) == values
    best, verdict = maximum_set(mechanism, counts), uniqueness(mechanism, counts).verdict
    assert verdict in (Verdict.YES if is_unique else Verdict.NO, Verdict.TOO_CLOSE)
    off = 1e-3 * theta + best.precision
    assert (best.lowest <= theta + off).all()
    assert (best.highest >= theta - off).all()


def test_rows_a_hair_apart_give_outer_bounds_and_no_verdict() -> None:
    hair = 1e-12
    rows = [[0.5, 0.3, 0.2], [0.5 + hair, 0.3 - hair, 0.2], [0.5, 0.3 + hair, 0.2 - hair], [0.2, 0.2, 0.6]]
    mechanism, counts = problem([*rows, [0.1, 0.3, 0.6]], [5, 3, 2])
    answer = cf.diagnose(counts, mechanism)
    assert answer.uniqueness is not None
    assert answer.uniqueness.verdict is Verdict.TOO_CLOSE
    assert not answer.maximum_set.is_exact
    assert answer.query("x == 1").is_outer
    assert "or in a narrower range" in str(answer.query("x == 1"))


def test_more_values_than_reports_settle_nothing_by_themselves() -> None:
    slope = np.array([1.0, 1e-3, 1e-12])[:, None] * np.random.default_rng(0).standard_normal((3, 6))
    assert not Spectrum.of(slope.T).is_sharp
    assert Spectrum.of(slope.T).independence is Verdict.NO


@pytest.mark.parametrize("hair", [1e-15, 3e-15])
def test_a_hair_makes_rows_independent(hair: float) -> None:
    # The last row is the mean of the others but for a few units of the last digit; exactly, the rank is 3.
    rows = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.375 + hair, 0.375, 0.25 - hair]]
    mechanism, counts = problem(rows, [5, 5, 5])
    assert cf.diagnose(None, mechanism).identification.verdict is Verdict.TOO_CLOSE
    assert cf.diagnose(counts, mechanism).uniqueness.verdict is not Verdict.NO  # type: ignore[union-attr]
    assert cf.diagnose(None, problem([*rows[:2], [0.375, 0.375, 0.25]], [])[0]).identification.verdict is Verdict.NO


def test_a_gap_is_trusted_only_where_no_share_is_smaller() -> None:
    assert is_trusted(1e-10, np.array([0.5, 1e-8]))
    assert not is_trusted(1e-8, np.array([0.5, 1e-8]))
    rows, fitted = np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0.9, 0.1])
    assert np.isinf(flat_directions(rows, fitted, fitted, gap=0.05).error).all()


def test_the_error_of_a_point_is_no_less_than_what_its_gap_allows() -> None:
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(5), 4)
    best = rng.dirichlet(np.ones(4))
    shares = best @ rows
    for size in (1e-3, 1e-5):
        away = rng.standard_normal(4)
        point = best + size * (away - away.mean())
        fitted = point @ rows
        gap = float(shares @ np.log(shares / fitted))
        flat = flat_directions(rows, fitted, shares, gap)
        assert (np.abs(point - best) <= flat.error * flat.scale).all()
        assert (flat.error * flat.scale <= 100 * size).all()


def test_a_solver_that_gives_up_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise SolverError("HiGHS did not solve it.")

    monkeypatch.setattr(maximum_set_module, "_solve", give_up)
    answer = diagnose_problem(*problem([[1, 0], [0.5, 0.5], [0, 1]], [10, 1]))
    assert answer.uniqueness is not None
    assert answer.uniqueness.verdict is Verdict.TOO_CLOSE
    assert "HiGHS" in answer.uniqueness.reason
    assert "more than is computed here" in str(answer)


@pytest.mark.slow
def test_a_million_values_cost_what_the_reports_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    solve = maximum_set_module.maximum_set_of

    def watch(evidence: Evidence, alphabet: Alphabet) -> MaximumSet:
        sizes.append(evidence.channel.shape[0])
        return solve(evidence, alphabet)

    monkeypatch.setattr(diagnosis_module, "maximum_set_of", watch)
    answer = cf.diagnose(cf.tally([5, 9, 300]), cf.TruncatedGeometric(cf.Integers(0, 999_999), 0.01))
    assert sizes == [296]
    assert answer.alphabet.size == 1_000_000
    assert answer.maximum_set.point.size == 1_000_000
    assert answer.query("x <= 300").lowest == pytest.approx(1)
    assert "Looked for among values 5 to 300" in str(answer)


def test_free_values_are_not_dropped_where_the_search_was_cut_short() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 2999), 0.5)
    counts = cf.tally(mechanism.privatize(np.arange(0, 3000, 100), rng=1))
    evidence = mechanism.observe(counts)
    best = maximum_set(mechanism, counts)
    gain = evidence.gain(evidence.channel.push(best.point)) * np.linspace(0.99, 1, 3000)
    looked = maximum_set_module._looked_at(gain, 1e-5, evidence.frequencies[evidence.counts > 0])
    assert np.isin(best.free, looked).all()


def test_a_large_set_is_seen_without_a_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    mechanism = cf.FromMatrix(cf.Integers(1, 300), rng.dirichlet(np.ones(20), 300), cf.Integers(1, 20))
    counts = cf.Counts(np.arange(1, 21), 1e6 * rng.dirichlet(np.ones(300)) @ mechanism.matrix)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("A program of 300 values takes seconds.")

    monkeypatch.setattr(maximum_set_module, "_solve", refuse)
    best, finding = maximum_set(mechanism, counts), uniqueness(mechanism, counts)
    assert finding.verdict is Verdict.NO
    assert 0 < finding.numbers["freedom of a value, at least"] == best.spread < 1

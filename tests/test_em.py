"""One EM: steps are the paper's, rows end by themselves, and a method built on it has its rows solved together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.laws.examples import random_matrix
from tests.methods.algorithm import iterates

import confide as cf
from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.errors import InvalidCountsError
from confide.evidence.evidence import Evidence
from confide.solve.em import (
    EM,
    EnoughSteps,
    GoodCertificate,
    MatrixPerRow,
    RowStack,
    SmallStep,
    Step,
    StoppingRule,
    climb,
    normalised,
    take_steps,
    uniform,
)
from confide.solve.methods import Solution

MATRIX = random_matrix(4, 6)
EVIDENCE = Evidence(Dense(MATRIX), np.array([5.0, 0.0, 7.0, 11.0, 2.0, 9.0]))
ROWS = np.random.default_rng(1).multinomial(300, EVIDENCE.frequencies, size=9).astype(np.float64)


@dataclass(frozen=True)
class EMS(cf.solve.methods.EMMethod):
    """EM with the average [1, 2, 1] / 4 over neighbours after every step."""

    name = "EMS"
    delta: float = 0.01

    def rule(self, evidence: Evidence, pilot: Solution | None = None) -> StoppingRule:  # noqa: ARG002
        return SmallStep(self.delta)

    def adjust(self, theta: FloatArray) -> FloatArray:
        wide = np.pad(theta, ((0, 0), (1, 1)), mode="edge")
        smoothed: FloatArray = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4
        return smoothed


def ems_by_hand(matrix: FloatArray, counts: FloatArray, delta: float) -> tuple[FloatArray, int]:
    """Return where EMS ends, and after how many steps, written from its definition."""
    size, steps = matrix.shape[0], 0
    theta, before = np.full(size, 1 / size), -np.inf
    average = np.array([[0.25 * ((i == j) * 2 + (abs(i - j) == 1)) for j in range(size)] for i in range(size)])
    average[0, 0] = average[-1, -1] = 0.75
    while True:
        now = float(counts @ np.log(np.maximum(theta @ matrix, 1e-300)))
        if abs(now - before) < delta:
            return theta / theta.sum(), steps
        before, steps = now, steps + 1
        theta = average @ (theta * (matrix @ (counts / counts.sum() / (theta @ matrix))))


MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 19), 0.3)


def drawn(seed: int, people: int = 3000) -> cf.Counts:
    shape = np.exp(-((np.arange(20) - 6 - seed) ** 2) / 15.0) + 0.05
    return MECHANISM.simulate_counts(np.rint(people * shape / shape.sum()).astype(int), rng=seed)


def test_a_method_of_a_test_file_is_what_its_definition_says() -> None:
    answer = cf.estimate(drawn(1), MECHANISM, EMS())
    expected, steps = ems_by_hand(MECHANISM.channel.dense(), MECHANISM.observe(drawn(1)).counts, 0.01)
    np.testing.assert_allclose(answer.distribution, expected, rtol=1e-9)
    assert (answer.iterations, answer.status) == (steps, cf.Status.SMALL_STEP)
    assert answer.explanation.startswith(f"iteration {steps} raised")
    assert answer.method.name == answer.method.full_name == "EMS"


def test_its_replicates_and_groups_go_through_the_channel_together(monkeypatch: pytest.MonkeyPatch) -> None:
    stacks: list[int] = []
    push = Dense.push

    def watch(channel: Dense, theta: FloatArray) -> FloatArray:
        stacks.append(theta.shape[0] if theta.ndim == 2 else 0)
        return push(channel, theta)

    evidence = MECHANISM.observe(drawn(1))
    rows = np.random.default_rng(2).multinomial(3000, evidence.frequencies, size=30).astype(np.float64)
    alone = [EMS().solve(Evidence(evidence.channel, row)) for row in rows]
    monkeypatch.setattr(Dense, "push", watch)
    together = EMS().solve_many(evidence, rows, pilot=alone[0])
    assert max(stacks) == 30
    assert len(stacks) == 1 + max(one.iterations for one in alone)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.distribution, other.distribution, rtol=1e-9)
        assert (one.iterations, one.explanation) == (other.iterations, other.explanation)
    stacks.clear()
    groups = {seed: drawn(seed, 500) for seed in range(12)}
    found = cf.estimate_groups(groups, MECHANISM, EMS())
    assert max(stacks) == 12
    for seed, counts in groups.items():
        np.testing.assert_allclose(found[seed].distribution, cf.estimate(counts, MECHANISM, EMS()).distribution)


def test_its_bands_are_those_of_replicates_solved_one_by_one() -> None:
    @dataclass(frozen=True)
    class OneByOne(EMS):
        solve_many = cf.Method.solve_many

    quick, slow = (
        cf.estimate(drawn(2), MECHANISM, method).interval(basis=cf.estimates.Bootstrap(40))
        for method in (EMS(), OneByOne())
    )
    np.testing.assert_allclose(quick.low, slow.low, atol=1e-12)
    np.testing.assert_allclose(quick.high, slow.high, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 3])
def test_steps_are_the_papers_for_one_row_and_for_many(rows: int) -> None:
    stack = RowStack.of(EVIDENCE) if rows == 1 else RowStack.over(EVIDENCE, ROWS[:rows])
    counts = EVIDENCE.counts[None, :] if rows == 1 else ROWS[:rows]
    paths = [list(islice(iterates([0.25] * 4, MATRIX.tolist(), row.tolist()), 12)) for row in counts]
    before = np.atleast_1d(
        Step(stack, np.atleast_2d(uniform(4)).repeat(rows, 0) if rows > 1 else uniform(4)).log_likelihood
    )
    for step in islice(EM(stack, uniform(4)), 12):
        expected = [path[step.iteration - 1] for path in paths]
        np.testing.assert_allclose(np.atleast_2d(step.theta), [theta for theta, _ in expected], rtol=1e-12)
        likelihoods = np.array([likelihood for _, likelihood in expected])
        np.testing.assert_allclose(np.atleast_1d(step.log_likelihood), likelihoods, rtol=1e-12)
        np.testing.assert_allclose(np.atleast_1d(step.rise), likelihoods - before, atol=1e-10)
        np.testing.assert_allclose(
            np.atleast_2d(step.outputs), np.array([theta for theta, _ in expected]) @ MATRIX, rtol=1e-12
        )
        before = likelihoods


def test_the_rise_is_that_of_the_last_step_alone() -> None:
    em = EM(RowStack.of(EVIDENCE), uniform(4))
    assert np.isnan(em.step.rise)
    first, second = next(em), next(em)
    assert np.isnan(first.rise)
    assert second.rise == pytest.approx(second.log_likelihood - first.log_likelihood)


@pytest.mark.parametrize("share", [1, 2, 8, 1000])
@pytest.mark.parametrize("rule", [SmallStep(1e-3), GoodCertificate(0.1), EnoughSteps(7)], ids=repr)
def test_rows_that_have_ended_are_set_aside_without_a_trace(
    rule: StoppingRule, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.solve.em.SET_ASIDE", share)
    endings = climb(RowStack.over(EVIDENCE, ROWS), uniform(4), rule, 5000)
    for ending, row in zip(endings, ROWS, strict=True):
        alone = climb(RowStack.of(Evidence(EVIDENCE.channel, row)), uniform(4), rule, 5000)[0]
        assert (ending.iterations, ending.is_met) == (alone.iterations, True)
        np.testing.assert_allclose(ending.distribution, alone.distribution, rtol=1e-9, atol=1e-15)


def test_rows_end_at_different_steps_and_the_limit_ends_the_rest() -> None:
    free = [ending.iterations for ending in climb(RowStack.over(EVIDENCE, ROWS), uniform(4), SmallStep(1e-3), 5000)]
    assert len(set(free)) > 3
    limit = sorted(free)[4]
    endings = climb(RowStack.over(EVIDENCE, ROWS), uniform(4), SmallStep(1e-3), limit)
    assert [ending.is_met for ending in endings] == [steps <= limit for steps in free]
    assert [ending.iterations for ending in endings] == np.minimum(free, limit).tolist()
    assert all(ending.rise >= 1e-3 for ending in endings if not ending.is_met)


def test_certificates_of_rows_are_those_of_the_evidence_with_their_floor() -> None:
    rows = RowStack.over(EVIDENCE, ROWS)
    step = next(EM(rows, uniform(4)))
    assert isinstance(step.certificates, np.ndarray)
    for place, row in enumerate(ROWS):
        one = Evidence(EVIDENCE.channel, row)
        assert step.certificates[place] == pytest.approx(one.certificate_of(step.gain[place]), rel=1e-12)
    flat = np.tile(np.full(4, 1.0 - 1e-12), (9, 1))  # rounding has brought g below one
    np.testing.assert_allclose(rows.certificates(flat), EVIDENCE.resolution * ROWS.sum(axis=1) / EVIDENCE.total)
    assert RowStack.of(EVIDENCE).certificates(flat[0]) == EVIDENCE.resolution


class Rounded(Dense):
    """A channel that loses what is smaller than 1e-16 of its largest product, as an FFT does, and turns it negative."""

    def push(self, distribution: FloatArray) -> FloatArray:
        return self._lose(super().push(distribution))

    def pull(self, weights: FloatArray) -> FloatArray:
        return self._lose(super().pull(weights))

    @staticmethod
    def _lose(product: FloatArray) -> FloatArray:
        noise = 1e-16 * product.max(axis=-1, keepdims=True)
        return np.where(product > noise, product, -0.1 * noise)


@pytest.mark.parametrize("least", [1e-18, 1e-40, 1e-60])
def test_products_that_come_out_negative_do_not_end_in_nonsense(least: float) -> None:
    size = 12
    matrix = np.exp(-6.0 * np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
    matrix /= matrix.sum(axis=1, keepdims=True)
    counts = np.arange(1.0, size + 1) * 100
    start = np.full(size, least)
    start[0] = 1 - start[1:].sum()
    expected = cf.IBU(1e-6).solve(Evidence(Dense(matrix), counts)).distribution
    path: list[float] = []
    method = cf.IBU(1e-300, start=start, iteration_limit=500)  # on plateaus the paper's rule would end it
    found = method.solve(Evidence(Rounded(matrix), counts), lambda _, likelihood: path.append(likelihood))
    np.testing.assert_allclose(found.distribution, expected, atol=1e-6)
    assert not np.isnan(path).any()
    assert path[-1] == pytest.approx(Evidence(Dense(matrix), counts).log_likelihood(expected), abs=1e-3)
    rows = np.vstack([counts, counts[::-1]])
    together = method.solve_many(Evidence(Rounded(matrix), counts), rows)
    np.testing.assert_allclose(together[0].distribution, expected, atol=1e-6)
    assert np.isfinite(together[1].distribution).all()


def test_a_gain_that_comes_out_negative_is_that_of_its_rounding() -> None:
    class Off(Dense):
        def pull(self, weights: FloatArray) -> FloatArray:
            gain = super().pull(weights)
            gain[..., 1] = -1e-17
            return gain

    for stack in (RowStack.of(EVIDENCE), RowStack.over(EVIDENCE, ROWS)):
        step = EM(replace(stack, channel=Off(MATRIX)), uniform(4)).step
        np.testing.assert_array_equal(step.gain[..., 1], 2.0**-52 * step.gain.max(axis=-1))
        assert (step.following().theta > 0).all()


def test_where_a_report_is_out_of_sight_no_rule_is_met_and_no_likelihood_made_up() -> None:
    matrix = np.exp(-40.0 * np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
    evidence = Evidence(Rounded(matrix / matrix.sum(axis=1, keepdims=True)), np.full(4, 25.0))
    start = np.array([1 - 3e-60, 1e-60, 1e-60, 1e-60])
    for stack, first in ((RowStack.of(evidence), start), (RowStack.over(evidence, np.full((2, 4), 25.0)), start)):
        em = EM(stack, first)
        assert np.all(em.step.is_impossible)
        assert np.all(em.step.log_likelihood == -np.inf)
        assert np.all(np.isinf(em.step.certificates))
        step = next(em)
        assert np.all(step.is_impossible)
        for rule in (SmallStep(1e9), GoodCertificate(1e9)):
            assert not np.any(rule.is_met(step))
    found = cf.IBU(start=start).solve(evidence)
    np.testing.assert_allclose(found.distribution, 0.25, atol=1e-6)


def test_a_report_that_no_value_explains_is_never_certified() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    evidence = Evidence(Dense(matrix), np.array([30.0, 60.0, 1.0]))
    for method in (cf.IBU(iteration_limit=200), cf.IBU(stop="certificate", tolerance=1e6, iteration_limit=200)):
        found = method.solve(evidence)
        assert found.status is cf.Status.ITERATION_LIMIT
        assert np.isfinite(found.distribution).all()
        (row,) = method.solve_many(evidence, evidence.counts[None, :])
        assert row.status is cf.Status.ITERATION_LIMIT
        np.testing.assert_allclose(row.distribution, found.distribution)


@pytest.mark.parametrize("least", [1e-18, 1e-30])
@pytest.mark.parametrize("place", [0, 450, 899])
@pytest.mark.slow
def test_a_concentrated_start_on_a_plane_ends_with_a_sound_answer(place: int, least: float) -> None:
    mechanism = cf.Exponential(cf.Grid(30, 30), 4.0)
    shares = np.random.default_rng(1).dirichlet(np.full(900, 0.3))
    counts = mechanism.simulate_counts(np.random.default_rng(0).multinomial(5000, shares), rng=1)
    start = np.full(900, least)
    start[place] = 1 - 899 * least
    answer, usual = cf.estimate(counts, mechanism, cf.IBU(start=start)), cf.estimate(counts, mechanism, cf.IBU())
    assert answer.status is cf.Status.SMALL_STEP
    assert answer.iterations < 1000
    # From 1e-30 the first steps of far cells drown in the rounding of the FFT, and the path differs between machines:
    # with every entry of the kernel moved by an ulp, 36 answers were up to 4.1 nats apart.
    assert answer.log_likelihood == pytest.approx(usual.log_likelihood, abs=1.0 if least > 1e-20 else 10.0)
    assert cf.total_variation(answer.distribution, usual.distribution) < 0.01


@pytest.mark.parametrize(
    "counts", [[1e308, 1e308], [1e308, 1.0], [2.0**63, 0.0], [np.inf, 1.0], [np.nan, 1.0], [-1.0, 5.0]]
)
def test_counts_that_no_method_could_work_with_are_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidCountsError, match=r"at least 0 that add up to less than 2\*\*63; got"):
        Evidence(Dense(np.eye(2)), np.array(counts))
    with pytest.raises(InvalidCountsError, match="no reports"):
        Evidence(Dense(np.eye(2)), np.zeros(2))


PRODUCTS = {"pull", "gain", "matmul", "dot", "einsum"}


def traits(node: ast.AST, assigned: dict[str, list[ast.expr]], seen: frozenset[str]) -> set[str]:
    """Return whether an expression has a product and a ratio in it, following names that the loop assigns."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp):
            found |= {"product"} if isinstance(part.op, ast.MatMult) else set()
            found |= {"ratio"} if isinstance(part.op, ast.Div) else set()
        elif isinstance(part, ast.Call):
            called = getattr(part.func, "id", getattr(part.func, "attr", "")).strip("_")
            found |= {"product"} if called in PRODUCTS else set()
            found |= {"ratio"} if called in ("divide", "ratio", "gain") else set()
        elif isinstance(part, ast.Name) and part.id not in seen:
            for value in assigned.get(part.id, []):
                found |= traits(value, assigned, seen | {part.id})
    return found


def factors_of(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """Return what an assignment changes, and what it multiplies this by."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
        return ast.unparse(node.target), [node.value]
    if not isinstance(node, ast.Assign):
        return "", []
    name = ast.unparse(node.targets[0])
    products = [one for one in ast.walk(node.value) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)]
    sides = [pair for one in products for pair in ((one.left, one.right), (one.right, one.left))]
    return name, [other for one, other in sides if ast.unparse(one) == name]


def em_steps(tree: ast.AST) -> Iterator[int]:
    """Yield the lines in loops that multiply an array by a product of a ratio: theta *= pull(q / push(theta))."""
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)):
        assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(loop):
            name, factors = factors_of(node)
            if any(traits(one, assigned, frozenset({name})) == {"product", "ratio"} for one in factors):
                yield getattr(node, "lineno", 0)


@pytest.mark.parametrize(
    "body",
    [
        "theta = theta * channel.pull(shares / channel.push(theta))",
        "theta *= (shares / (theta @ matrix)) @ matrix.T",
        "ratio = np.divide(shares, self._push(theta))\n    theta = normalised(self._pull(ratio) * theta)",
        "gain = evidence.gain(channel.push(self.theta))\n    self.theta = self.theta * gain",
    ],
)
def test_an_em_loop_is_known_by_its_step(body: str) -> None:
    assert list(em_steps(ast.parse(f"for _ in range(9):\n    {body}")))
    assert not list(em_steps(ast.parse(f"if True:\n    {body}")))
    assert not list(em_steps(ast.parse("for _ in range(9):\n    theta = theta + step * (slope @ matrix)")))


def test_no_em_loop_stands_beside_this_one() -> None:
    """Whoever needs some steps calls em.take_steps, em.climb or EM."""
    folder = Path(cf.__file__).parent
    files = [path for path in sorted(folder.rglob("*.py")) if path != folder / "em.py"]
    assert len(files) > 100
    loops = {f"{path.relative_to(folder)}:{line}" for path in files for line in em_steps(ast.parse(path.read_text()))}
    assert not loops


def test_each_row_of_a_stack_may_have_a_matrix_of_its_own() -> None:
    matrices = np.array([random_matrix(4, 6, seed) for seed in (1, 2, 3)])
    shares = ROWS[:3] / ROWS[:3].sum(axis=1, keepdims=True)
    together = take_steps(RowStack.of_shares(MatrixPerRow(matrices), shares), uniform(4), 7, normalised)
    for theta, matrix, share in zip(together.theta, matrices, shares, strict=True):
        alone = take_steps(RowStack.of_shares(Dense(matrix), share[None]), uniform(4), 7)
        np.testing.assert_allclose(theta, normalised(alone.theta)[0], rtol=1e-12)
    assert MatrixPerRow(matrices).shape == (4, 6)
    np.testing.assert_array_equal(MatrixPerRow(matrices).select(np.array([2])), matrices[:, [2]])

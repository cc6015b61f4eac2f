"""Laws of mechanisms whose reports are unbounded: what `observe` makes of them is the paper's formula, however far."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.cases import each
from tests.laws.exact import assert_promise_kept, random_distributions
from tests.laws.examples import FAMILIES, UNBOUNDED_EXAMPLES, is_unbounded, label, unbounded_mechanisms
from tests.laws.formulas import brute_log_likelihood, lattice_sum, log_probabilities

from confide import (
    IBU,
    Categories,
    Counts,
    Geometric,
    Grid,
    Integers,
    Laplace,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    PlanarGeometric,
    PlanarLaplace,
    Rappor,
    SubsetSelection,
    Taxicab,
    Unary,
    estimate,
    tally,
)
from confide.channels import Channel, Dense
from confide.errors import ImpossibleReportError, InvalidParameterError
from confide.mechanisms import planar_noise
from confide.mechanisms.planar_noise import LARGEST_SCATTER
from confide.values import BitVectors

every_unbounded = each("mechanism", UNBOUNDED_EXAMPLES, ids=label)


def drawn(mechanism: Mechanism, people: int = 60, seed: int = 0) -> NDArray[Any]:
    numbers = np.random.default_rng(seed).integers(0, mechanism.alphabet.size, people)
    return np.asarray(mechanism.privatize(mechanism.alphabet.decode(numbers), rng=seed, taken=True))


def beyond(mechanism: Mechanism, steps: int) -> NDArray[Any]:
    """Return reports that lie this many steps outside the alphabet, on every side; for bits, the extreme vectors."""
    if isinstance(mechanism.report_alphabet, BitVectors):
        size, ones = mechanism.alphabet.size, mechanism.report_alphabet.ones
        if ones is not None:  # the first so many, and the last
            return mechanism.report_alphabet.pack(np.array([np.arange(size) < ones, np.arange(size) >= size - ones]))
        return mechanism.report_alphabet.pack(np.array([[False] * size, [True] * size]))
    if isinstance(mechanism, LocalHashing):
        return mechanism.report_alphabet.decode(np.array([0, mechanism.report_alphabet.size - 1]))
    points = mechanism.alphabet.coordinates.astype(np.int64)
    low, high = points.min(axis=0) - steps, points.max(axis=0) + steps
    if points.shape[1] == 1:
        return np.concatenate([low, high])
    middle = points[points.shape[0] // 2]
    return np.array([*product((low[0], high[0]), (low[1], high[1])), (low[0], middle[1]), (middle[0], high[1])])


def some_counts(mechanism: Mechanism, seed: int = 0) -> Counts:
    reports = [drawn(mechanism, seed=seed), beyond(mechanism, 1), beyond(mechanism, 50)]
    return tally(np.concatenate(reports), np.arange(1, sum(map(len, reports)) + 1))


def check_likelihood(mechanism: Mechanism, counts: Counts, seed: int = 0) -> None:
    evidence = mechanism.observe(counts)
    for theta in random_distributions(mechanism.alphabet.size, (4,), seed):
        expected = brute_log_likelihood(mechanism, counts, theta)
        assert evidence.log_likelihood(theta) == pytest.approx(expected, rel=1e-10)


def check_products(channel: Channel) -> None:
    values, outputs = channel.shape
    matrix, theta = channel.dense(), random_distributions(values, seed=1)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, outputs)
    assert matrix.shape == channel.shape
    np.testing.assert_allclose(channel.push(theta), theta @ matrix, rtol=1e-11, atol=1e-20)
    np.testing.assert_allclose(channel.pull(weights), matrix @ weights, rtol=1e-11, atol=1e-20)
    assert channel.push(theta) @ weights == pytest.approx(theta @ channel.pull(weights), rel=1e-12)
    thetas = random_distributions(values, (2, 3))
    one_by_one = [[channel.push(vector) for vector in row] for row in thetas]
    np.testing.assert_allclose(channel.push(thetas), one_by_one, rtol=1e-12)


@every_unbounded
def test_likelihood_is_the_formulas(mechanism: Mechanism) -> None:
    check_likelihood(mechanism, some_counts(mechanism))


@given(mechanism=unbounded_mechanisms, seed=st.integers(0, 1000))
@pytest.mark.slow
def test_likelihood_is_the_formulas_anywhere(mechanism: Mechanism, seed: int) -> None:
    check_likelihood(mechanism, some_counts(mechanism, seed), seed)


@every_unbounded
def test_columns_are_the_formulas_up_to_a_factor_each(mechanism: Mechanism) -> None:
    # One report at a time, so that the offset is that column's alone.
    theta = random_distributions(mechanism.alphabet.size)
    for report in some_counts(mechanism).reports[::7]:
        counts = tally(report[None, ...])
        evidence = mechanism.observe(counts)
        logs = log_probabilities(mechanism, counts.reports)[:, 0]
        seen = evidence.counts > 0
        column = evidence.channel.dense()[:, seen][:, 0]
        held = logs > logs.max() - 700  # e^-700 is about the least that a float holds
        np.testing.assert_allclose(np.log(column[held]) + evidence.log_offset, logs[held], rtol=1e-10, atol=1e-9)
        assert (column[~held] < 1e-300).all()
        assert evidence.log_likelihood(theta) == pytest.approx(
            brute_log_likelihood(mechanism, counts, theta), rel=1e-10
        )


@every_unbounded
def test_products_are_those_of_the_columns(mechanism: Mechanism) -> None:
    check_products(mechanism.observe(some_counts(mechanism)).channel)


@each("steps", [1000, 10**8])
@every_unbounded
def test_reports_from_another_world_do_not_underflow(mechanism: Mechanism, steps: int) -> None:
    counts = tally(beyond(mechanism, steps))
    evidence = mechanism.observe(counts)
    for theta in random_distributions(mechanism.alphabet.size, (3,)):
        found = evidence.log_likelihood(theta)
        assert math.isfinite(found)
        assert found == pytest.approx(brute_log_likelihood(mechanism, counts, theta), rel=1e-10)
        assert math.isfinite(evidence.certificate(theta))
    answer = estimate(counts, mechanism, IBU(iteration_limit=20))
    assert np.isfinite(answer.distribution).all()


@every_unbounded
def test_probabilities_of_all_reports_add_up_to_one(mechanism: Mechanism) -> None:
    """The formula is a distribution, so agreeing with it means more than agreeing with a mistake."""
    if isinstance(mechanism.report_alphabet, BitVectors) and mechanism.alphabet.size <= 10:
        logs = log_probabilities(mechanism, np.arange(2**mechanism.alphabet.size))
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-12)
    elif isinstance(mechanism, Geometric) and mechanism.epsilon >= 0.3:
        low, high = mechanism.alphabet.span
        reports = np.arange(low - 400, high + 401)
        np.testing.assert_allclose(np.exp(log_probabilities(mechanism, reports)).sum(axis=1), 1.0, rtol=1e-12)
    elif isinstance(mechanism, Taxicab | PlanarGeometric) and mechanism.epsilon >= 1:
        rows, columns = np.meshgrid(np.arange(-80, 90), np.arange(-80, 90))
        logs = log_probabilities(mechanism, np.stack([rows.ravel(), columns.ravel()], axis=1))
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_poissons_formula_is_the_sum(rate: float) -> None:
    numbers = np.arange(-math.ceil(45 / rate), math.ceil(45 / rate) + 1)
    brute = np.exp(-rate * np.hypot(numbers[:, None], numbers)).sum()
    frequencies = np.add.outer(np.arange(-400, 401) ** 2, np.arange(-400, 401) ** 2)
    beyond_them = 2 * math.pi * rate * 8 * math.sin(math.pi / 4) / ((2 * math.pi) ** 3 * 400.5)
    poisson = (2 * math.pi * rate / (rate**2 + 4 * math.pi**2 * frequencies) ** 1.5).sum() + beyond_them
    assert brute == pytest.approx(poisson, rel=1e-11)
    assert lattice_sum(rate) == pytest.approx(brute, rel=1e-12)


@pytest.mark.slow
@each("size", [3, 10, 64, 100])
@each("epsilon", [0.1, 1.0, 6.0])
def test_lemma_probrappor(size: int, epsilon: float) -> None:
    mechanism = Rappor(Integers(1, size), epsilon)
    rng = np.random.default_rng(size)
    vectors = np.concatenate([rng.random((30, size)) < 0.5, np.eye(size, dtype=bool)[:5], np.zeros((1, size), bool)])
    counts = tally(mechanism.report_alphabet.pack(vectors), rng.integers(1, 9, vectors.shape[0]))
    check_likelihood(mechanism, counts)
    # Bit by bit, as the mechanism is described: each is kept with probability p, alone.
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    assert mechanism.keep == pytest.approx(keep, rel=1e-15)
    bits = mechanism.report_alphabet.unpack(counts.reports)
    for x in (0, size // 2, size - 1):
        chances = np.where(bits == (np.arange(size) == x), keep, 1 - keep)
        logs = log_probabilities(mechanism, counts.reports)[x]
        np.testing.assert_allclose(np.log(chances).sum(axis=1), logs, rtol=1e-11)


@each("size", [2, 3, 5, 8])
@each("epsilon", [1e-6, 0.7, 5.0, 100.0])
def test_promise_of_rappor_is_kept_on_all_vectors(size: int, epsilon: float) -> None:
    assert_promise_kept(Rappor(Integers(1, size), epsilon))


def test_weights_of_rappor_are_the_lemma() -> None:
    mechanism = Rappor(Integers(0, 4), 1.3)
    expected = np.exp(log_probabilities(mechanism, np.arange(32)))
    for x in range(5):
        row = mechanism.weights(x)
        np.testing.assert_allclose([weight / sum(row) for weight in row], expected[x], rtol=1e-13)


@pytest.mark.parametrize("kind", [kind for kind, family in FAMILIES.items() if is_unbounded(family.faithful)])
def test_there_is_no_matrix_and_the_message_says_what_there_is(kind: str) -> None:
    many = Integers(0, 20)
    unaries = (Rappor(many, 1.0), OptimizedUnary(many, 1.0), SubsetSelection(many, 1.0), Unary(many, 0.75, 0.25))
    mechanism = {one.kind: one for one in unaries}.get(kind) or FAMILIES[kind].sampled[-1][0]
    with pytest.raises(InvalidParameterError, match=r"(unbounded|2\^21 outputs).*mechanism.observe\(counts\)"):
        _ = mechanism.channel
    with pytest.raises(InvalidParameterError, match=r"unbounded|2\^21 vectors .* too many to list"):
        mechanism.weights(0)


@pytest.mark.parametrize(
    ("mechanism", "report"),
    [
        (Geometric(Integers(0, 9), 1.0), 3.5),
        (Geometric(Integers(0, 9), 1.0), "3"),
        (Laplace(Integers(0, 9), 1.0), 1 / 3),
        (Taxicab(Grid(2, 2), 1.0), (0.5, 1.5)),
        (PlanarGeometric(Grid(2, 2), 1.0), (0.5, 1.5)),
        (PlanarLaplace(Grid(2, 2), 1.0), (1 / 3, 1.0)),
        (PlanarLaplace(Grid(2, 2), 1.0), 3),
        (Rappor(Categories(["a", "b", "c"]), 1.0), 8),
        (Rappor(Categories(["a", "b", "c"]), 1.0), -1),
        (Rappor(Integers(0, 99), 1.0), (1, 2**40)),
        (SubsetSelection(Integers(0, 9), 1.0, 3), 0b11),
        (LocalHashing(Integers(0, 9), 1.0), (2**53, 0)),
        (LocalHashing(Integers(0, 9), 1.0, buckets=3), (5, 3)),
    ],
    ids=repr,
)
def test_reports_that_are_no_outputs_are_refused(mechanism: Mechanism, report: Any) -> None:
    with pytest.raises(ImpossibleReportError, match="another survey"):
        mechanism.observe(tally([report]))


TINY: list[Mechanism] = [
    Geometric(Integers(0, 9), 1e-9),
    Laplace(Integers(0, 9), 1e-9),
    Taxicab(Grid(2, 2), 1e-9),
    PlanarGeometric(Grid(2, 2), 1e-9),
    PlanarLaplace(Grid(2, 2), 1e-9),
    PlanarLaplace(Grid(2, 2), 1e-5),
    Rappor(Integers(0, 9), 1e-9),
    SubsetSelection(Integers(0, 9), 1e-9),
    LocalHashing(Integers(0, 9), 1e-9),
]


@pytest.mark.parametrize("mechanism", TINY, ids=label)
def test_a_mechanism_takes_back_all_that_it_reports(mechanism: Mechanism) -> None:
    # The smallest epsilon that is taken moves a value by billions of steps, and that is still a report.
    reports = drawn(mechanism, 2000)
    assert mechanism.report_alphabet.contains(reports).all()
    evidence = mechanism.observe(tally(reports))
    size = mechanism.alphabet.size
    assert math.isfinite(evidence.log_likelihood(np.full(size, 1 / size)))


# Planar geometric reports are many where grids are large: those near are convolved, those far have their own columns.


def windowed(mechanism: PlanarGeometric, counts: Counts, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(planar_noise, "LARGEST_STORED", 0)
    return mechanism.observe(counts)


@pytest.mark.parametrize("grid", [Grid(12, 9), Grid(10, 11, 0.5, holes=((0, 0), (4, 5)), first_row=-3)], ids=repr)
@pytest.mark.parametrize("far", [0, 10, 10**6])
def test_convolved_evidence_is_the_stored_evidence(grid: Grid, far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = PlanarGeometric(grid, 0.8)
    reports = drawn(mechanism, 300)
    counts = tally(np.concatenate([reports, beyond(mechanism, far)]) if far else reports)
    stored = mechanism.observe(counts)
    convolved = windowed(mechanism, counts, monkeypatch)
    assert isinstance(stored.channel, Dense)
    assert not isinstance(convolved.channel, Dense)
    assert convolved.total == stored.total
    check_products(convolved.channel)
    for theta in random_distributions(grid.size, (3,)):
        expected = brute_log_likelihood(mechanism, counts, theta)
        assert stored.log_likelihood(theta) == pytest.approx(expected, rel=1e-10)
        assert convolved.log_likelihood(theta) == pytest.approx(expected, rel=1e-10)
        assert convolved.certificate(theta) == pytest.approx(stored.certificate(theta), rel=1e-8)


def test_convolved_evidence_of_unlikely_reports_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    # All at the window's rim, where e^(-epsilon distance) is far below the rounding of a Fourier transform.
    mechanism = PlanarGeometric(Grid(40, 40), 3.0)
    counts = tally(np.concatenate([drawn(mechanism, 100), beyond(mechanism, 15)]))
    convolved = windowed(mechanism, counts, monkeypatch)
    theta = np.full(1600, 1 / 1600)
    assert convolved.log_likelihood(theta) == pytest.approx(brute_log_likelihood(mechanism, counts, theta), rel=1e-10)


def test_more_columns_than_fit_are_refused() -> None:
    mechanism = PlanarLaplace(Grid(300, 300), 1.0)
    reports = np.stack([np.arange(600) / 4, np.zeros(600)], axis=1)
    assert mechanism.alphabet.size * 600 > LARGEST_SCATTER
    with pytest.raises(
        InvalidParameterError, match=r"90,000 values times 600 distinct reports do not fit. Use the trunc"
    ):
        mechanism.observe(tally(reports))

"""Every fact that a mechanism declares is held against its exact weights, and a wrong declaration fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from tests.cases import each
from tests.laws.examples import ALL_EXAMPLES, all_mechanisms, label
from tests.theory.dense import matrix_of, some_reports

import confide as cf
from confide.mechanisms.base import Bound, Facts, Premise, Proof, SupportSets
from confide.mechanisms.finite import is_positive_definite
from confide.theory.identification import consistency, inversion_error, is_positive, log_smallest
from confide.theory.verdicts import Verdict
from confide.values.metrics import SumMetric

LARGEST = 40
PRIME = 2**61 - 1


def rows_of(mechanism: cf.Mechanism) -> list[Sequence[int]] | None:
    """Return the exact weights, where outputs can be listed and are few."""
    outputs = mechanism.report_alphabet
    if not outputs.is_listable or mechanism.alphabet.size * outputs.size > 3000:
        return None
    return [mechanism.weights(index) for index in range(mechanism.alphabet.size)]


def rank_modulo(rows: list[Sequence[int]]) -> int:
    """Return the rank over a prime field, which the rank over the rationals is not below."""
    table = [[weight % PRIME for weight in row] for row in rows]
    rank = 0
    for column in range(len(table[0])):
        pivot = next((row for row in range(rank, len(table)) if table[row][column]), None)
        if pivot is None:
            continue
        table[rank], table[pivot] = table[pivot], table[rank]
        inverse = pow(table[rank][column], -1, PRIME)
        for row in range(rank + 1, len(table)):
            factor = table[row][column] * inverse % PRIME
            if factor:
                table[row] = [(a - factor * b) % PRIME for a, b in zip(table[row], table[rank], strict=True)]
        rank += 1
    return rank


def check_facts(mechanism: cf.Mechanism) -> None:
    """Compare every declaration with the weights or, where outputs are unbounded, with the columns of reports."""
    facts, rows = mechanism.facts, rows_of(mechanism)
    if rows is None:
        check_by_columns(mechanism)
    else:
        check_by_weights(mechanism, rows)
    if facts.decay is not None:
        check_decay(mechanism)
    if facts.parts is not None:
        whole: NDArray[np.float64] = np.ones((1, 1))
        for part in facts.parts.values():
            whole = np.kron(whole, part.channel.dense()).astype(np.float64)
        np.testing.assert_allclose(mechanism.channel.dense(), whole, rtol=1e-12)
    if facts.origin is not None:
        before, remap = facts.origin
        merged = np.zeros((before.alphabet.size, mechanism.report_alphabet.size))
        np.add.at(merged.T, remap, before.channel.dense().T)
        np.testing.assert_allclose(mechanism.channel.dense(), merged, rtol=1e-12)
    if facts.rounds is not None and mechanism.has_channel:
        first, second = (one.channel.dense() for one in facts.rounds)
        np.testing.assert_allclose(mechanism.channel.dense(), first @ second, rtol=1e-12)
    if facts.inversion_bound is not None and facts.inversion_bound.holds:
        check_bound(mechanism, facts.inversion_bound)


def check_by_weights(mechanism: cf.Mechanism, rows: list[Sequence[int]]) -> None:
    facts = mechanism.facts
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    assert facts.is_positive in (None, all(all(column) for column in columns))
    if facts.independence is not None:
        assert rank_modulo(rows) == len(rows)
    if facts.dependence is not None:
        assert rank_modulo(rows) < len(rows)
    if facts.log_smallest is not None:
        least = min(Fraction(weight, sum(row)) for row in rows for weight in row if weight)
        # Logarithms of fractions of any size; the declared formula has epsilon where weights have its rounding.
        exact = math.log(least.numerator) - math.log(least.denominator)
        assert facts.log_smallest == pytest.approx(exact, rel=1e-9, abs=1e-9)
    if facts.dependence is not None:
        assert facts.independence is None
        assert rank_modulo(rows) < len(rows)
    if facts.bits is not None:
        check_bits(mechanism, rows, *facts.bits)
    if facts.supports is not None:
        check_supports(mechanism, rows, facts.supports)


def check_supports(mechanism: cf.Mechanism, rows: list[Sequence[int]], supports: SupportSets) -> None:
    """Add up the weights of the reports whose sets have a value, another value, and both."""
    possible = np.flatnonzero(np.array([any(column) for column in zip(*rows, strict=True)]))
    reports = mechanism.report_alphabet.decode(possible)
    held = np.array([supports.holds(reports, np.full(possible.size, value)) for value in range(len(rows))])
    for value, row in enumerate(rows):
        weights = np.array(row, dtype=object)[possible]
        inside, outside = (set(weights[held[value] == side]) for side in (True, False))
        assert Fraction(outside.pop(), inside.pop()) == supports.ratio
        assert not inside | outside
        for other in range(len(rows)):
            both, alone = (Fraction(sum(weights[one]), sum(row)) for one in (held[value] & held[other], held[other]))
            if other == value:
                assert both == alone == supports.keep
            elif mechanism.facts.independence is not None:  # of a pool of hashes, these are means over all pools
                assert (both, alone) == (supports.both, supports.flip)


def check_bits(mechanism: cf.Mechanism, rows: list[Sequence[int]], keep: Fraction, flip: Fraction) -> None:
    """Multiply the declared probabilities bit by bit: the weights are those of independent bits, and nothing else."""
    for index, row in enumerate(rows):
        total = sum(row)
        for vector, weight in enumerate(row):
            product = Fraction(1)
            for bit in range(mechanism.alphabet.size):
                chance = keep if bit == index else flip
                product *= chance if vector >> bit & 1 else 1 - chance
            assert Fraction(weight, total) == product


def check_by_columns(mechanism: cf.Mechanism) -> None:
    """Look at the columns of reports: those at the values themselves, and of some people."""
    facts, counts = mechanism.facts, some_reports(mechanism, 12, seed=1)
    matrix = matrix_of(mechanism, counts)
    if facts.is_positive and facts.decay is None:  # e^(-decay distance) is positive, and may underflow
        assert (matrix > 0).all()
    if facts.independence is not None and not (facts.bits or facts.supports):
        values = cf.tally(mechanism.alphabet.decode(np.arange(mechanism.alphabet.size)))
        at_values = matrix_of(mechanism, values)
        singular = np.linalg.svd(at_values / np.linalg.norm(at_values, axis=0), compute_uv=False)
        assert singular[-1] > 1e-13 * singular[0]
    if facts.dominance is not None and facts.dominance.numbers:
        check_dominance(mechanism, counts)


def check_dominance(mechanism: cf.Mechanism, counts: cf.Counts) -> None:
    """Compare d(z) with -log of the smallest probability of each report."""
    assert mechanism.facts.dominance is not None
    rate, constant = mechanism.facts.dominance.numbers.values()
    points, reports = mechanism.alphabet.coordinates, counts.reports.reshape(counts.reports.shape[0], -1)
    corner, widths = points.min(axis=0), np.ptp(points, axis=0)
    bounds = rate * (np.abs(reports - corner).sum(axis=1) + widths.sum()) + constant
    for report, bound in zip(counts.reports, bounds, strict=True):
        evidence = mechanism.observe(cf.tally([report]))
        least = min(evidence.log_likelihood(one) for one in np.eye(mechanism.alphabet.size))
        assert -least <= bound * (1 + 1e-9)


def check_decay(mechanism: cf.Mechanism) -> None:
    """Compare log-ratios between values with the distances of these values from a report."""
    counts = some_reports(mechanism, 6, seed=2)
    matrix, points = matrix_of(mechanism, counts), mechanism.alphabet.coordinates
    order = 1 if mechanism.facts.premise is Premise.COORDINATES else 2
    reports = counts.reports.reshape(counts.reports.shape[0], -1)
    distances = np.linalg.norm(points[:, None] - reports[None], ord=order, axis=2)
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    visible = matrix > matrix.max(axis=0) * 1e-200
    nearest = distances.argmin(axis=0)
    for column in range(matrix.shape[1]):
        fall = logs[nearest[column], column] - logs[visible[:, column], column]
        farther = distances[visible[:, column], column] - distances[nearest[column], column]
        np.testing.assert_allclose(fall, mechanism.facts.decay * farther, rtol=1e-9, atol=1e-9)


def check_bound(mechanism: cf.Mechanism, bound: Bound) -> None:
    for theta in np.eye(mechanism.alphabet.size)[:5]:
        exact = inversion_error(mechanism, distribution=theta).per_report
        if exact is not None:
            assert exact <= bound.per_report if bound.kind == "at most" else exact >= bound.per_report


SMALL = [example for example in ALL_EXAMPLES if example.alphabet.is_finite and example.alphabet.size <= LARGEST]


@each("mechanism", SMALL, ids=label)
def test_every_mechanism_is_as_it_declares(mechanism: cf.Mechanism) -> None:
    check_facts(mechanism)


@given(mechanism=all_mechanisms)
@settings(max_examples=60)
@pytest.mark.slow
def test_any_small_mechanism_is_as_it_declares(mechanism: cf.Mechanism) -> None:
    if mechanism.alphabet.size <= LARGEST:
        check_facts(mechanism)


def test_every_fact_is_declared_by_some_mechanism_and_left_out_by_another() -> None:
    for field in fields(Facts):
        declared = [example for example in SMALL if getattr(example.facts, field.name) != field.default]
        assert 0 < len(declared) < len(SMALL), field.name


@each("mechanism", SMALL, ids=label)
def test_what_is_not_declared_is_computed_alike(mechanism: cf.Mechanism) -> None:
    rows = rows_of(mechanism)
    if rows is None:
        return
    matrix = np.array([[weight / sum(row) for weight in row] for row in rows])
    used = matrix[:, matrix.max(axis=0) > 0]
    if used.min() > 0:
        assert is_positive(mechanism)
        assert log_smallest(mechanism) == pytest.approx(math.log(used.min()), rel=1e-8, abs=1e-8)
    else:
        assert is_positive(mechanism) is not True or mechanism.facts.is_positive  # a float may underflow, a fact not


@dataclass(frozen=True, repr=False)
class Liar(cf.TruncatedGeometric):
    """A truncated geometric mechanism that declares whatever it is told to."""

    told: Facts | None = None

    @property
    def facts(self) -> Facts:
        return self.told or super().facts


@dataclass(frozen=True, repr=False)
class UnboundedLiar(cf.Geometric):
    told: Facts | None = None

    @property
    def facts(self) -> Facts:
        return self.told or super().facts


LINE = cf.TruncatedGeometric(cf.Integers(0, 5), 0.7)
NARROW = cf.Integers(1, 3)
OTHER = cf.TruncatedGeometric(cf.Integers(0, 5), 0.8)
LIES = {
    "independent": Liar(LINE.alphabet, 0.7, NARROW, Facts(independence=Proof("Rows are independent.", "nothing"))),
    "not positive": Liar(LINE.alphabet, 0.7, None, replace(LINE.facts, is_positive=False)),
    "smallest": Liar(LINE.alphabet, 0.7, None, replace(LINE.facts, log_smallest=OTHER.facts.log_smallest)),
    "bound": Liar(
        LINE.alphabet, 0.7, None, Facts(inversion_bound=Bound("at most", 0.1, "none", holds=True, condition=""))
    ),
    "dependent": Liar(LINE.alphabet, 0.7, None, Facts(dependence=Proof("Rows are dependent.", "nothing"))),
    "parts": Liar(LINE.alphabet, 0.7, None, Facts(parts={"one": LINE, "other": LINE})),
    "origin": Liar(LINE.alphabet, 0.7, None, Facts(origin=(OTHER, np.arange(6)))),
    "rounds": Liar(LINE.alphabet, 0.7, None, Facts(rounds=(LINE, OTHER))),
    "decay": UnboundedLiar(LINE.alphabet, 0.7, Facts(premise=Premise.LINE, decay=0.71)),
    "dominance": UnboundedLiar(
        LINE.alphabet, 0.7, Facts(dominance=Proof("d(z) is small.", "nothing", {"rate": 0.1, "constant": 0.1}))
    ),
}


@pytest.mark.parametrize("liar", LIES.values(), ids=LIES)
def test_a_wrong_declaration_fails(liar: cf.Mechanism) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check_facts(liar)


def test_a_mechanism_that_declares_zeros_is_positive_by_mistake() -> None:
    zeros = cf.FromMatrix(cf.Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]])
    assert zeros.facts.is_positive is None
    assert is_positive(zeros) is False


def test_the_smallest_probability_is_not_taken_from_a_hole() -> None:
    """All corners are holes, so no value lies as far from an output as the box is wide and high."""
    corners = [(0, 0), (0, 3), (2, 0), (2, 3)]
    holed = cf.TruncatedTaxicab(cf.Grid(3, 4, holes=corners), 1.0, cf.Grid(3, 4))
    assert holed.facts.independence is not None
    check_facts(holed)
    assert log_smallest(holed) == pytest.approx(math.log(holed.channel.dense().min()), rel=1e-12)
    assert log_smallest(holed) > log_smallest(cf.TruncatedTaxicab(cf.Grid(3, 4), 1.0)) + 0.5


def test_sums_of_distances_are_positive_definite_if_both_are() -> None:
    class Odd(cf.values.metrics.Metric):
        def between(self, left: object, right: object) -> NDArray[np.float64]:
            raise NotImplementedError

    known = SumMetric(
        (cf.values.metrics.Euclidean(), cf.values.metrics.Discrete(), cf.values.metrics.Manhattan()), (1, 1, 2)
    )
    assert is_positive_definite(known)
    for unknown in (
        Odd(),
        SumMetric((cf.values.metrics.Euclidean(), Odd()), (1, 1)),
        SumMetric((Odd(), cf.values.metrics.Discrete()), (1, 1)),
    ):
        assert not is_positive_definite(unknown)


def test_unbounded_reports_without_a_declared_dominance_are_not_covered() -> None:
    quiet = UnboundedLiar(LINE.alphabet, 0.7, Facts(is_positive=True))
    found = consistency(quiet)
    assert found.dominance.verdict is Verdict.NOT_COVERED
    assert found.verdict is Verdict.NOT_COVERED
    assert found.identification.verdict is Verdict.NOT_COVERED  # without a proof, and without a matrix
    assert is_positive(UnboundedLiar(LINE.alphabet, 0.7, Facts(decay=0.7))) is None


def test_wrong_bits_fail() -> None:
    @dataclass(frozen=True, repr=False)
    class Wrong(cf.Rappor):
        @property
        def facts(self) -> Facts:
            return replace(super().facts, bits=(self.keep, self.flip / 2))

    check_facts(cf.Rappor(cf.Integers(0, 2), 1.0))
    with pytest.raises(AssertionError):
        check_facts(Wrong(cf.Integers(0, 2), 1.0))

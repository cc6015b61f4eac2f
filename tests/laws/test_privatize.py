"""Laws of blurring: reports are outputs, in order, from the source of randomness that was asked for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.examples import ALL_EXAMPLES, EXAMPLES, FAMILIES, all_mechanisms, label

from confide import Grid, Integers, Mechanism, RandomizedResponse, TruncatedGeometric
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.mechanisms.sampling import SecureBits

every_example = each("mechanism", ALL_EXAMPLES, ids=label)
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def some_values(mechanism: Mechanism, count: int = 50) -> Any:
    numbers = np.random.default_rng(0).integers(0, mechanism.alphabet.size, count)
    return mechanism.alphabet.decode(numbers)


def secure(mechanism: Mechanism) -> SecureBits | None:
    """Return what draws from the secure generator, also both rounds of what keeps one of them otherwise."""
    return None if mechanism.lasting is None else SecureBits()


@every_example
def test_reports_are_outputs(mechanism: Mechanism) -> None:
    reports = mechanism.privatize(some_values(mechanism), rng=1, taken=True)
    assert len(reports) == 50
    assert mechanism.report_alphabet.contains(mechanism.report_alphabet.as_array(reports)).all()


@each("mechanism", EXAMPLES, ids=label)
def test_reports_are_outputs_that_the_value_can_produce(mechanism: Mechanism) -> None:
    values = some_values(mechanism)
    reports = mechanism.privatize(values, rng=1, taken=True)
    outputs = mechanism.report_alphabet.encode(reports)
    assert outputs.shape == (50,)
    for value, output in zip(mechanism.alphabet.encode(values), outputs, strict=True):
        assert mechanism.weights(int(value))[output] > 0


@given(mechanism=all_mechanisms, seed=st.integers(0, 2**64))
def test_same_seed_same_reports(mechanism: Mechanism, seed: int) -> None:
    values = some_values(mechanism)
    once, again = mechanism.privatize(values, rng=seed, taken=True), mechanism.privatize(values, rng=seed, taken=True)
    np.testing.assert_array_equal(once, again)


@every_family
def test_order_is_kept(family: Any) -> None:
    values = some_values(family.faithful, 500)
    np.testing.assert_array_equal(family.read(family.faithful.privatize(values, rng=1, taken=True)), values)


@every_family
def test_other_seeds_give_other_reports(family: Any) -> None:
    mechanism = family.sampled[0][0]
    values = some_values(mechanism, 500)
    assert (mechanism.privatize(values, rng=1, taken=True) != mechanism.privatize(values, rng=2, taken=True)).any()


@every_example
def test_one_value_gives_one_report(mechanism: Mechanism) -> None:
    value = some_values(mechanism, 1)[0].tolist()
    single = tuple(value) if isinstance(value, list) else value
    report = mechanism.privatize(single, rng=3, taken=True)
    listed = mechanism.privatize([single], rng=3, taken=True)
    assert type(report) in (int, float, str, tuple)
    np.testing.assert_array_equal(np.array(report, dtype=listed.dtype), listed[0])


@every_example
def test_no_values_give_no_reports(mechanism: Mechanism) -> None:
    assert len(mechanism.privatize([], rng=1, taken=True)) == 0
    if mechanism.lasting is None:
        assert len(mechanism.privatize([], taken=True)) == 0


@every_family
def test_generators_are_taken_and_advanced(family: Any) -> None:
    mechanism = family.sampled[0][0]
    values = some_values(mechanism)
    seeded = mechanism.privatize(values, rng=5, taken=True)
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(mechanism.privatize(values, rng=generator, taken=True), seeded)
    assert (mechanism.privatize(values, rng=generator, taken=True) != seeded).any()
    np.testing.assert_array_equal(mechanism.privatize(values, rng=np.random.PCG64(5), taken=True), seeded)
    np.testing.assert_array_equal(mechanism.privatize(values, rng=np.random.SeedSequence(5), taken=True), seeded)


@each("nonsense", ["abc", -1, 1.5, object()])
@every_family
def test_nonsense_is_no_seed(family: Any, nonsense: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"rng must be None, .*seed or a numpy.random.Generator; got "):
        family.faithful.privatize([0], rng=nonsense)


@every_family
def test_the_operating_system_is_asked_unless_told_otherwise(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    urandom = os.urandom

    def record(count: int) -> bytes:
        asked.append(count)
        return urandom(count)

    def refuse(*_: object) -> None:
        raise AssertionError("numpy's generator is predictable")

    monkeypatch.setattr(os, "urandom", record)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    mechanism = family.sampled[0][0]
    mechanism.privatize(mechanism.alphabet.decode(np.zeros(20, dtype=np.int64)), rng=secure(mechanism), taken=True)
    assert sum(asked) >= 20  # four bits a coin, and no report is fewer than two coins
    with pytest.raises(AssertionError, match="predictable"):
        mechanism.privatize([0], rng=1)


@every_family
def test_secure_reports_depend_on_nothing_but_the_words(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = family.sampled[0][0]
    values = some_values(mechanism)
    reports = []
    for _ in range(2):
        words = np.random.default_rng(8)
        monkeypatch.setattr(os, "urandom", words.bytes)
        reports.append(mechanism.privatize(values, rng=secure(mechanism), taken=True))
    np.testing.assert_array_equal(*reports)


@every_family
def test_secure_reports_are_not_repeated(family: Any) -> None:
    mechanism = family.sampled[0][0]
    values = some_values(mechanism, 1000)
    first, second = (mechanism.privatize(values, rng=secure(mechanism), taken=True) for _ in range(2))
    assert (first != second).any()


def test_values_are_blurred_each_on_its_own() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.5)
    reports = mechanism.privatize([4] * 2000, rng=1).astype(float)
    assert len(set(reports.tolist())) == 10
    assert abs(np.corrcoef(reports[:-1], reports[1:])[0, 1]) < 0.1


def test_values_outside_are_refused_before_anything_is_drawn() -> None:
    mechanism = TruncatedGeometric(Integers(0, 99), 0.05)
    with pytest.raises(ValueOutsideAlphabetError, match=r"2 of 3 values lie outside Integers\(0, 99\); first: 140"):
        mechanism.privatize([3, 140, -2], rng=1)
    with pytest.raises(ValueOutsideAlphabetError, match="first: 140 at position 0"):
        mechanism.privatize(140, rng=1)


def test_cells_are_blurred_to_cells() -> None:
    mechanism = RandomizedResponse(Grid(3, 4), 1.0)
    assert mechanism.privatize([(0, 1), (2, 3)], rng=1).shape == (2, 2)
    row, column = mechanism.privatize((2, 3), rng=1)
    assert (type(row), type(column)) == (int, int)


def test_ragged_cells_are_refused_in_words() -> None:
    with pytest.raises(InvalidParameterError, match="rectangular"):
        RandomizedResponse(Grid(3, 4), 1.0).privatize([(0, 1), (2,)], rng=1)

"""Laws of every mechanism: the channel is what is sampled, and what is sampled keeps the promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.exact import assert_channel_is_weights, assert_promise_kept, exact_bound, exp_bounds
from tests.laws.examples import (
    EXAMPLES,
    FAMILIES,
    LAKE,
    ROUNDINGS,
    Family,
    is_unbounded,
    label,
    mechanisms,
    random_matrix,
)

from confide import (
    Alphabet,
    Exponential,
    FromMatrix,
    Grid,
    Integers,
    Mechanism,
    TruncatedGeometric,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
)
from confide.mechanisms import LocalDP
from confide.mechanisms.guarantees import Guarantee
from confide.surveys.survey import parse_survey

every_example = each("mechanism", EXAMPLES, ids=label)
FINITE = {kind: family for kind, family in FAMILIES.items() if not is_unbounded(family.faithful)}
every_finite_family = pytest.mark.parametrize("family", FINITE.values(), ids=FINITE.keys())


@every_example
def test_channel_is_the_sampled_weights(mechanism: Mechanism) -> None:
    assert_channel_is_weights(mechanism, ROUNDINGS[type(mechanism)])


@every_finite_family
@given(data=st.data())
def test_channel_is_the_sampled_weights_anywhere(family: Family, data: st.DataObject) -> None:
    assert_channel_is_weights(data.draw(family.strategy), family.roundings)


@pytest.mark.slow
@every_example
def test_promise_is_kept(mechanism: Mechanism) -> None:
    assert_promise_kept(mechanism)


@every_finite_family
@given(data=st.data())
def test_promise_is_kept_anywhere(family: Family, data: st.DataObject) -> None:
    assert_promise_kept(data.draw(family.strategy))


@every_example
def test_weights_are_integers_of_every_output(mechanism: Mechanism) -> None:
    row = mechanism.weights(0)
    assert len(row) == mechanism.report_alphabet.size == mechanism.channel.shape[1]
    assert all(type(weight) is int and weight >= 0 for weight in row)
    assert mechanism.channel.shape[0] == mechanism.alphabet.size


@given(mechanism=mechanisms)
def test_stated_bounds_are_the_exact_ones_rounded(mechanism: Mechanism) -> None:
    listed = mechanism.alphabet.decode(np.arange(mechanism.alphabet.size)).tolist()
    values = [tuple(value) if isinstance(value, list) else value for value in listed]
    table = mechanism.guarantee.bounds(mechanism.alphabet)
    for x, left in enumerate(values):
        for y, right in enumerate(values):
            exact = exact_bound(mechanism.guarantee, mechanism.alphabet, x, y)
            expected = np.inf if exact is None else float(exact)
            assert table[x, y] == pytest.approx(expected, rel=1e-14, abs=1e-15)
            assert mechanism.guarantee.bound(left, right) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@every_example
def test_equal_settings_are_equal_mechanisms(mechanism: Mechanism) -> None:
    twins = [example for example in EXAMPLES if example == mechanism]
    assert twins == [mechanism]
    assert hash(twins[0]) == hash(mechanism)


# The laws must be able to fail.


@dataclass(frozen=True)
class Broken(Mechanism):
    """A mechanism that is what its fields say: for showing that the laws notice."""

    alphabet: Alphabet
    rows: tuple[tuple[int, ...], ...]
    promised: Guarantee
    kind = "broken"

    @property
    def guarantee(self) -> Guarantee:
        return self.promised

    @property
    def channel(self) -> object:  # type: ignore[override]
        raise NotImplementedError

    def weights(self, index: int) -> Sequence[int]:
        return self.rows[index]


def _weights(mechanism: Mechanism) -> list[list[int]]:
    return [list(mechanism.weights(index)) for index in range(mechanism.alphabet.size)]


def test_an_epsilon_short_by_a_billionth_is_noticed() -> None:
    honest = TruncatedGeometric(Integers(0, 4), 0.5)
    rows = tuple(map(tuple, _weights(honest)))
    assert_promise_kept(Broken(honest.alphabet, rows, honest.guarantee))
    short = TruncatedGeometric(Integers(0, 4), 0.5 * (1 - 1e-9)).guarantee
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(honest.alphabet, rows, short))


def test_a_ratio_rounded_down_is_noticed() -> None:
    # e^-0.5 as the nearest float below it: what a sampler in floating point would use.
    honest = TruncatedGeometric(Integers(0, 2), 0.5)
    ratio = Fraction(np.nextafter(np.exp(-0.5), 0.0))
    inner, full = ratio.numerator, ratio.denominator
    rows = tuple(tuple(inner ** abs(x - z) * full ** (2 - abs(x - z)) for z in range(3)) for x in range(3))
    balanced = tuple(tuple(w * (full if z in (0, 2) else full - inner) for z, w in enumerate(row)) for row in rows)
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(honest.alphabet, balanced, honest.guarantee))


def test_a_border_that_forgets_its_tail_is_noticed() -> None:
    honest = TruncatedGeometric(Integers(0, 4), 0.5)
    rows = _weights(honest)
    rows[0][4] -= rows[0][4] // 10
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(honest.alphabet, tuple(map(tuple, rows)), honest.guarantee))


def broken_by(
    mechanism: TruncatedTaxicab | TruncatedPlanarGeometric | TruncatedPlanarLaplace | Exponential, factor: float
) -> Broken:
    """Return a mechanism that promises less than it keeps, by a factor."""
    short = type(mechanism)(mechanism.alphabet, mechanism.epsilon * factor)  # type: ignore[arg-type]
    return Broken(mechanism.alphabet, tuple(map(tuple, _weights(mechanism))), short.guarantee)


@pytest.mark.parametrize("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
@pytest.mark.parametrize("grid", [Grid(3, 4), LAKE], ids=repr)
def test_planes_that_promise_too_much_are_noticed(
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace], grid: Grid
) -> None:
    # What a cell of continuous noise says of two others is an average over it, and so a little less than the promise.
    factor = 0.95 if kind is TruncatedPlanarLaplace else 1 - 3e-9
    assert_promise_kept(broken_by(kind(grid, 1.0), 1.0))
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(broken_by(kind(grid, 1.0), factor))


def test_rows_that_are_normalised_in_place_of_collecting_tails_are_noticed() -> None:
    # The exponential mechanism without its halving: a common shortcut for the planar geometric.
    grid = Grid(3, 4)
    rows = tuple(map(tuple, _weights(Exponential(grid, 2.0))))
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(grid, rows, Exponential(grid, 1.0).guarantee))


@pytest.mark.parametrize("corner", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_a_corner_short_of_its_tail_is_noticed(corner: tuple[int, int]) -> None:
    honest = TruncatedPlanarGeometric(Grid(3, 4), 0.5)
    rows, place = _weights(honest), int(honest.alphabet.encode([corner])[0])
    rows[place][place] += rows[place][place] // 10**6
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(honest.alphabet, tuple(map(tuple, rows)), honest.guarantee))


def test_a_taxicab_that_forgets_the_square_root_of_two_is_noticed() -> None:
    grid = Grid(3, 3)
    rows = tuple(map(tuple, _weights(TruncatedTaxicab(grid, 2**0.5))))
    with pytest.raises(AssertionError, match="more than the promise"):
        assert_promise_kept(Broken(grid, rows, TruncatedTaxicab(grid, 1.0).guarantee))


def test_a_channel_that_drifts_from_its_weights_is_noticed() -> None:
    @dataclass(frozen=True)
    class Drifting(TruncatedGeometric):
        def weights(self, index: int) -> Sequence[int]:
            return TruncatedGeometric(self.alphabet, self.epsilon * (1 + 1e-13)).weights(index)

    with pytest.raises(AssertionError):
        assert_channel_is_weights(Drifting(Integers(0, 4), 0.5), 1)


def test_the_bounds_of_the_exponential_function_hold() -> None:
    low, high = exp_bounds(Fraction(1))
    digits = Fraction("2.71828182845904523536028747135266249775724709369995957496696762772407663")
    assert low < digits + Fraction(1, 10**70)
    assert high > digits - Fraction(1, 10**70)
    for exponent in (Fraction(0), Fraction(1, 10**9), Fraction(99, 20), Fraction(9900)):
        low, high = exp_bounds(exponent)
        assert low <= high <= low * (1 + Fraction(1, 2**200))


# Facts of single mechanisms.


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_geometric_rows_have_the_same_exact_sum(size: int) -> None:
    mechanism = TruncatedGeometric(Integers(0, size - 1), 0.05)
    sums = {sum(mechanism.weights(index)) for index in range(size)}
    ratio = mechanism._ratio
    assert sums == {ratio.denominator ** (size - 1) * (ratio.denominator + ratio.numerator)}


def test_geometric_neighbours_differ_by_the_promise_and_hardly_less() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.5)
    _, high = exp_bounds(Fraction(1, 2))
    for left, right in pairwise(mechanism.weights(0)[1:-1]):
        assert Fraction(left, right) > high * (1 - Fraction(1, 2**62))


@given(mechanism=mechanisms)
def test_no_smaller_epsilon_would_do(mechanism: Mechanism) -> None:
    """The promise is tight: some report reaches it, but for roundings."""
    if not isinstance(mechanism.guarantee, LocalDP) or np.isinf(mechanism.guarantee.epsilon):
        return
    if mechanism.facts.origin is not None:  # a remap keeps the promise made before it, and may reveal less
        return
    dense = mechanism.channel.dense()
    used = dense[:, (dense > 0).any(axis=0)]
    reached = float(np.log(used.max(axis=0) / used.min(axis=0)).max())
    assert mechanism.guarantee.epsilon <= reached + 1e-14 * max(1.0, reached) + 4e-15


@pytest.mark.parametrize("outputs", [2, 50, 3000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_matrix_promise_is_not_short_whatever_its_layout(outputs: int, order: str) -> None:
    # Rows that hardly differ leave no room: the rows' own sums must then be right to the last digit.
    for seed in range(5):
        matrix = random_matrix(2, outputs, seed)
        matrix[1] = matrix[0] * (1 + 1e-3 * np.random.default_rng(seed).random(outputs))
        matrix /= matrix.sum(axis=1, keepdims=True)
        laid_out = np.asfortranarray(matrix) if order == "F" else matrix
        assert_promise_kept(FromMatrix(Integers(0, 1), laid_out))


def test_matrix_promise_of_identical_rows_is_total() -> None:
    mechanism = FromMatrix(Integers(0, 2), [[0.1, 0.2, 0.7]] * 3)
    assert mechanism.guarantee == LocalDP(0.0)
    assert mechanism.guarantee.bound(0, 1) == 0


def test_matrix_with_a_zero_promises_nothing_and_one_with_an_empty_column_does() -> None:
    assert FromMatrix(Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]]).guarantee == LocalDP(np.inf)
    promised = FromMatrix(Integers(0, 1), [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]).guarantee
    assert promised.bound(0, 1) == pytest.approx(np.log(2))


def test_matrix_is_copied_and_closed() -> None:
    table = np.array([[0.5, 0.5], [0.25, 0.75]])
    mechanism = FromMatrix(Integers(0, 1), table)
    table[0] = 0.0
    assert mechanism.matrix[0].tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        mechanism.matrix[0, 0] = 1.0


def test_equal_matrices_have_equal_hashes() -> None:
    alphabet, table = Integers(0, 1), [[0.5, 0.5], [0.25, 0.75]]
    implied, stated = FromMatrix(alphabet, table), FromMatrix(alphabet, table, outputs=alphabet)
    assert implied == stated
    assert hash(implied) == hash(stated)
    assert implied != FromMatrix(alphabet, [[0.5, 0.5], [0.5, 0.5]])
    assert implied != "a matrix"


def test_whole_numbers_from_numpy_make_the_same_mechanism() -> None:
    # Integers(ages.min(), ages.max()) is what people write.
    plain = TruncatedGeometric(Integers(0, 9), 0.5)
    low, high = np.array([0, 9])
    from_numpy = TruncatedGeometric(Integers(low, high), 0.5)
    assert list(from_numpy.weights(3)) == list(plain.weights(3))
    assert from_numpy.privatize([3, 4], rng=1).tolist() == plain.privatize([3, 4], rng=1).tolist()


@pytest.mark.parametrize("epsilon", [1, np.float64(1.0), np.float32(1.0), np.int64(1)])
def test_every_kind_of_number_is_an_epsilon(epsilon: float) -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), epsilon)
    plain = TruncatedGeometric(Integers(0, 9), 1.0)
    assert mechanism.privatize([3, 4], rng=1).tolist() == plain.privatize([3, 4], rng=1).tolist()
    assert str(mechanism.guarantee) == str(plain.guarantee)


def test_a_survey_makes_the_mechanism_that_it_names() -> None:
    text = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9\n[mechanism]\nkind = "truncated-geometric"\nepsilon = 0.5'
    assert parse_survey(text).mechanism == TruncatedGeometric(Integers(0, 9), 0.5)

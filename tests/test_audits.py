"""Audits: every mechanism keeps its promise, what breaks one is found, and the worst pair is named."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from tests.laws.examples import EXAMPLES, FAMILIES, label, mechanisms

from confide import (
    Categories,
    Exponential,
    FromMatrix,
    Geometric,
    Grid,
    Integers,
    Laplace,
    Lattice,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Product,
    RandomizedResponse,
    Rappor,
    Remapped,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    audit,
)
from confide.channels import Channel
from confide.errors import BrokenPromiseError, InvalidParameterError
from confide.mechanisms import Facts, LocalDP, MetricPrivacy
from confide.mechanisms.audits import Extent, chi_square, count_draws
from confide.mechanisms.guarantees import Guarantee, worst_ratio
from confide.mechanisms.sampling import Bits, GeometricNoise, PermanentBits, SecureBits, WeightRows, ratio_above
from confide.values import Alphabet, Indices
from confide.values.metrics import Discrete

AUDITED = [example for example in EXAMPLES if example.alphabet.size <= 300]


UNBOUNDED = [
    Geometric(Integers(), 1.0),
    Geometric(Integers(-3, 8, spacing=0.5), 0.7),
    Laplace(Integers(0, 9), 0.3),
    Taxicab(Lattice(spacing=0.5), 1.0),
    Taxicab(Grid(3, 5, holes=[(0, 1), (1, 1)]), 0.4),
    PlanarGeometric(Lattice(), 0.3),
    PlanarLaplace(Grid(4, 4), 2.0),
    Rappor(Integers(0, 16), 1.0),
    Rappor(Integers(0, 99), 4.0),
]

LARGE = [
    TruncatedGeometric(Integers(0, 5000), 0.1),
    TruncatedLaplace(Integers(0, 5000), 0.1, Integers(10, 4000)),
    Exponential(Integers(0, 5000), 0.1),
    TruncatedTaxicab(Grid(60, 60), 0.3),
    RandomizedResponse(Integers(0, 49_999), 3.0),
    Product(first=TruncatedGeometric(Integers(0, 99), 0.05), second=RandomizedResponse(Categories(["f", "m"]), 1.0)),
    Remapped(TruncatedGeometric(Integers(0, 5000), 0.1), Integers(10, 4000)),
]


FEW = 20_000
"""Reports to draw where the weights are what a test looks at: they are compared exactly, whatever is drawn."""


def log_ratios(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return log P(z | x) - log P(z | y) for all x, y and z at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mechanism.channel.dense())
        ratios = logs[:, None, :] - logs[None, :, :]
    known: NDArray[np.float64] = np.nan_to_num(ratios, nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    return known


@pytest.mark.parametrize("mechanism", AUDITED, ids=label)
def test_every_mechanism_keeps_its_promise(mechanism: Mechanism) -> None:
    found = audit(mechanism, reports=FEW)
    assert found.holds
    assert str(found).startswith("The promise holds" + (": " if found.worst.is_measured else ", by a theorem"))


@given(mechanism=mechanisms)
@pytest.mark.slow
def test_audits_find_the_largest_ratio_of_all(mechanism: Mechanism) -> None:
    found = audit(mechanism, reports=20_000)
    assert found.holds
    bounds = mechanism.guarantee.bounds(mechanism.alphabet)
    if mechanism.alphabet.size < 2 or np.isinf(bounds).any():
        return
    if (mechanism.channel.dense() < 1e-290).any():
        return  # past that the floats of this test are lost; the audit has integers
    ratios, worst = log_ratios(mechanism), found.worst
    assert ratios[worst.left, worst.right, worst.output] == pytest.approx(worst.log_ratio, rel=1e-12, abs=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.nan_to_num(ratios / bounds[:, :, None], nan=-math.inf)
    assert worst.relative == pytest.approx(max(0.0, float(relative.max())), abs=1e-9)


@pytest.mark.parametrize("kind", ["truncated-geometric", "randomized-response", "truncated-taxicab"])
def test_promises_are_used_up(kind: str) -> None:
    assert audit(FAMILIES[kind].examples[0], reports=FEW).worst.relative == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace"])
@pytest.mark.slow
def test_probabilities_too_small_for_a_float_are_no_breach(kind: str) -> None:
    # e^-990 is zero as a float: the two ends of the line must not look as if they could be told apart for certain.
    mechanism = type(FAMILIES[kind].faithful)(Integers(0, 99), 10.0)  # type: ignore[call-arg]
    found = audit(mechanism, reports=FEW)
    assert found.holds
    assert math.isfinite(found.worst.log_ratio)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace", "exponential"])
def test_rounding_is_not_taken_for_a_breach(kind: str, epsilon: float) -> None:
    mechanism = type(FAMILIES[kind].faithful)(Integers(0, 99), epsilon)  # type: ignore[call-arg]
    assert audit(mechanism, reports=FEW).holds


def test_the_worst_pair_is_named_with_its_output() -> None:
    matrix = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.2, 0.4]]
    found = audit(FromMatrix(Categories(["red", "green", "blue"]), matrix, Categories(["x", "y", "z"])))
    assert {found.left, found.right} == {"red", "green"}
    assert found.output in ("x", "z")
    assert found.worst.log_ratio == pytest.approx(math.log(2.5))


def test_cells_are_named_by_row_and_column() -> None:
    found = audit(TruncatedTaxicab(Grid(3, 4), 1.0), reports=FEW)
    assert found.left.startswith("(")
    times = f"e^{found.worst.log_ratio:.6g} times as likely"
    assert f"output {found.output} is {times} under {found.left} as under {found.right}" in str(found)


def test_border_columns_are_audited_too() -> None:
    # Only in the column of one corner is anything amiss.
    honest = TruncatedPlanarGeometric(Grid(4, 4), 1.0)
    matrix = honest.channel.dense().copy()
    corner = int(honest.alphabet.encode([(3, 3)])[0])
    matrix[corner, corner] *= 2
    worst = worst_ratio(matrix, honest.guarantee.bounds(honest.alphabet))
    assert worst.exceeds
    assert (worst.left, worst.output) == (corner, corner)


def test_rappor_is_audited_on_all_its_vectors() -> None:
    found = audit(Rappor(Categories(["a", "b", "c", "d"]), 1.5), reports=FEW)
    assert found.holds
    assert found.worst.relative == pytest.approx(1, rel=1e-9)


def test_parts_and_what_is_made_of_them_are_audited() -> None:
    pair = Product(
        first=RandomizedResponse(Categories(["f", "m"]), 1.0), second=TruncatedGeometric(Integers(0, 3), 0.5)
    )
    assert audit(pair, reports=FEW).worst.relative == pytest.approx(1, rel=1e-9)
    remapped = Remapped(pair.mechanisms[1], Integers(1, 2))
    assert audit(remapped, reports=FEW).worst.relative <= 1 + 1e-9
    assert audit(remapped, reports=FEW).worst.is_measured  # all rows were compared
    large = audit(Remapped(TruncatedGeometric(Integers(0, 5000), 0.1), Integers(10, 4000)), reports=FEW)
    assert not large.worst.is_measured
    assert "how much less was not computed" in large.compared


def test_matrices_without_a_promise_of_their_own_are_measured() -> None:
    assert audit(FromMatrix(Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]]), reports=FEW).holds  # it promises nothing
    assert audit(FromMatrix(Integers(0, 2), [[0.1, 0.2, 0.7]] * 3), reports=FEW).holds  # it promises everything


@pytest.mark.parametrize("mechanism", UNBOUNDED + LARGE, ids=label)
def test_what_cannot_be_listed_is_audited_by_its_structure(mechanism: Mechanism) -> None:
    found = audit(mechanism, reports=FEW)
    assert found.holds
    assert found.extent is Extent.STRUCTURE
    assert found.worst.relative == pytest.approx(1, abs=1e-9)
    assert len(found.compared.split()) > 10


@pytest.mark.slow
def test_a_large_mechanism_without_structure_is_sampled_and_says_so() -> None:
    found = audit(TruncatedPlanarLaplace(Grid(50, 50), 0.3), reports=FEW)
    assert found.holds
    assert found.extent is Extent.SAMPLE
    assert found.compared.startswith("8,128 of 3,123,750 pairs of values were compared under all 2,500 outputs, as")
    assert found.compared.endswith("The other 3,115,622 were not.")


def test_what_declares_no_structure_and_cannot_be_listed_is_refused() -> None:
    class Silent(Geometric):
        facts = Facts()

    with pytest.raises(InvalidParameterError, match=r"cannot be audited.*declares no structure.*noise, bits, parts or"):
        audit(Silent(Integers(), 1.0))


# A mechanism of somebody else's, known by its weights alone.


@dataclass(frozen=True, repr=False)
class Weighted(Mechanism):
    """Rows of integers, and a promise."""

    alphabet: Alphabet
    rows: tuple[tuple[int, ...], ...]
    promised: Guarantee

    @property
    def guarantee(self) -> Guarantee:
        return self.promised

    def weights(self, index: int) -> tuple[int, ...]:
        return self.rows[index]


PRECISE = ratio_above(Fraction(1))
OWN, OTHER = PRECISE.denominator, PRECISE.numerator


def response(own: int, other: int, size: int = 3) -> tuple[tuple[int, ...], ...]:
    """Return the rows of randomized response."""
    return tuple(tuple(own if x == z else other for z in range(size)) for x in range(size))


def test_weights_alone_are_audited_in_full() -> None:
    found = audit(Weighted(Integers(0, 2), response(OWN, OTHER), LocalDP(1.0)), reports=FEW)
    assert found.holds
    assert found.extent is Extent.ALL_PAIRS
    assert found.compared == "All 3 pairs of values were compared under all 3 outputs, as integers."
    assert found.channel_error == 0
    assert found.worst.relative == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("promise", [LocalDP(1.0), MetricPrivacy(1.0, Discrete())], ids=repr)
@pytest.mark.parametrize("own", [OWN + 10, OWN + OWN // 10**9, 3 * OWN], ids=["units", "1e-9", "tripled"])
def test_weights_over_the_promise_are_found_by_however_little(promise: Guarantee, own: int) -> None:
    found = audit(Weighted(Integers(0, 2), response(own, OTHER), promise), reports=FEW)
    assert found.worst.exceeds
    assert not found.holds
    # p / q = own / other, so the excess is log(own / OWN) up to the margin of the ratio, 2 parts in 2^64.
    assert found.worst.excess == pytest.approx(math.log1p((own - OWN) / OWN), abs=2**-62)
    assert str(found).startswith("THE PROMISE IS BROKEN: output ")


def test_one_unit_less_is_found() -> None:
    # The ratio is the smallest dyadic fraction above e^-1: one unit less lies below it.
    assert audit(Weighted(Integers(0, 2), response(OWN, OTHER), LocalDP(1.0)), reports=FEW).holds
    assert not audit(Weighted(Integers(0, 2), response(OWN, OTHER - 1), LocalDP(1.0)), reports=FEW).holds
    assert not audit(
        Weighted(Integers(0, 2), response(OWN, OTHER - 1), MetricPrivacy(1.0, Discrete())), reports=FEW
    ).holds


def test_one_weight_of_a_line_is_found_in_any_column() -> None:
    honest = TruncatedGeometric(Integers(0, 5), 0.5)
    for value, output in ((0, 0), (2, 5), (5, 1), (3, 3)):
        rows = [list(honest.weights(number)) for number in range(6)]
        rows[value][output] *= 3
        found = audit(Weighted(Integers(0, 5), tuple(map(tuple, rows)), MetricPrivacy(0.5)), reports=FEW)
        assert found.worst.exceeds
        assert value in (found.worst.left, found.worst.right)


@pytest.mark.parametrize(
    ("grid", "distance"),
    [
        (Grid(2, 3, holes=[(0, 1), (0, 2), (1, 0), (1, 1)]), math.sqrt(5)),  # a knight's move apart
        (Grid(1, 3, holes=[(0, 1)]), 2.0),  # with a hole between
    ],
)
def test_pairs_between_which_there_is_no_other_cell_are_compared(grid: Grid, distance: float) -> None:
    tight = math.log(3) / distance
    for factor, is_kept in ((1 + 1e-12, True), (1 - 1e-12, False)):
        promise = MetricPrivacy(factor * tight, grid.metric)
        assert audit(Weighted(grid, ((3, 1), (1, 3)), promise), reports=FEW).holds is is_kept


def test_zeros_are_no_small_probabilities() -> None:
    found = audit(Weighted(Integers(0, 1), ((1, 0), (1, 1)), LocalDP(100.0)), reports=FEW)
    assert not found.holds
    assert math.isinf(found.worst.log_ratio)
    assert "output 1 is e^inf times as likely under 1 as under 0" in str(found)


@pytest.mark.parametrize("rows", [((1, -1), (1, 1)), ((0, 0), (1, 1)), ((1, 2, 3), (1, 1, 1))])
def test_weights_that_are_none_are_refused(rows: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"Row 0 has (weights that are negative|3 weights, but there are 2)"
    ):
        audit(Weighted(Integers(0, 1), rows, LocalDP(1.0)))


# What is drawn, and what estimates assume, must be the weights.


class Truthful(TruncatedGeometric):
    def _draw(self, indices: Indices, _: Bits) -> Indices:
        return indices


class TruthfulInSecret(TruncatedGeometric):
    """Honest from a seed, as in every simulation, and not where it counts."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return indices if isinstance(bits, SecureBits) else super()._draw(indices, bits)


class TruthfulInSecretBatches(TruncatedGeometric):
    """Honest from a seed, and where reports are drawn one at a time."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        is_batch = isinstance(bits, SecureBits) and indices.size > 1
        return indices if is_batch else super()._draw(indices, bits)


class Mixed(TruncatedGeometric):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return super()._draw(self.alphabet.size - 1 - indices, bits)


class Sorted(TruncatedGeometric):
    """Right as a whole, and wrong for each person."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return np.sort(super()._draw(indices, bits))


class Sharp(Geometric):
    """Draws with half the noise that it declares."""

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        return replace(Geometric(self.alphabet, 2 * self.epsilon))._report(indices, bits)


class Loud(Rappor):
    """Flips all bits but one together."""

    def _blurred(self, is_set: NDArray[np.bool_], bits: Bits) -> NDArray[np.int64]:
        vectors, indices = self.report_alphabet.unpack(super()._blurred(is_set, bits)), is_set.argmax(axis=1)
        own = vectors[np.arange(indices.size), indices]
        vectors[:] = vectors[:, :1] & (indices != 0)[:, None]
        vectors[np.arange(indices.size), indices] = own
        return self.report_alphabet.pack(vectors)


class Tilted(PlanarGeometric):
    """Moves up where it should move either way."""

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        down, along = super()._noise(count, bits)
        return np.abs(down), along


class Coupled(Taxicab):
    """Moves by the same number of rows and columns."""

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        down, _ = super()._noise(count, bits)
        return down, down


class Tripled(TruncatedGeometric):
    """Draws one output three times as often as the weights say."""

    @cached_property
    def _rows(self) -> WeightRows:
        rows = [list(self.weights(number)) for number in range(self.alphabet.size)]
        rows[0][3] *= 3
        return WeightRows.of(rows)


class Swapped(Product):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        drawn = super()._draw(indices, bits)
        left, right = np.divmod(drawn, self.mechanisms[1].report_alphabet.size)
        return right * self.mechanisms[1].report_alphabet.size + left


LINE = TruncatedGeometric(Integers(0, 5), 0.5)


@pytest.mark.parametrize(
    "mechanism",
    [
        Truthful(Integers(0, 9), 1.0),
        TruthfulInSecret(Integers(0, 9), 1.0),
        TruthfulInSecretBatches(Integers(0, 9), 1.0),
        Mixed(Integers(0, 9), 1.0),
        Sorted(Integers(0, 9), 1.0),
        Sharp(Integers(0, 9), 1.0),
        Sharp(Integers(), 1.0),
        Loud(Integers(0, 29), 1.0),
        Tilted(Grid(3, 3), 0.5),
        Tilted(Lattice(), 0.005),
        Coupled(Lattice(), 0.5),
        Tripled(Integers(0, 9), 1.0),
        Swapped(first=LINE, second=replace(LINE, epsilon=1.0)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_sampler_that_draws_something_else_is_found(mechanism: Mechanism) -> None:
    found = audit(mechanism, reports=100_000)  # p-values are below 1e-80
    assert not found.worst.exceeds
    assert not found.draws.agree
    assert not found.holds
    assert "THE SAMPLER DRAWS SOMETHING ELSE" in str(found)


# Nine samplers that are wrong by a little, in one place, or on one way alone.

AGES, LETTERS = Integers(0, 99), Categories(list("abcdefghij"))


class Sharper(TruncatedGeometric):
    """Draws with 8% more epsilon than it declares."""

    @cached_property
    def _rows(self) -> WeightRows:
        return TruncatedGeometric(self.alphabet, 1.08 * self.epsilon)._rows

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return self._rows.draw(indices, bits)


class SharperResponse(RandomizedResponse):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return RandomizedResponse(self.alphabet, 1.08 * self.epsilon)._draw(indices, bits)


def _sometimes(indices: Indices, drawn: Indices, share: float) -> Indices:
    """Return the truth for a share of the reports."""
    kept: Indices = np.where(np.random.default_rng(7).random(indices.size) < share, indices, drawn)
    return kept


class SometimesTrue(TruncatedGeometric):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return _sometimes(indices, super()._draw(indices, bits), 0.01)


class SometimesUnmoved(Geometric):
    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        return _sometimes(self.alphabet.decode(indices), super()._report(indices, bits), 0.01)


class TrueOfOne(TruncatedGeometric):
    """Honest about every value but one, which no audit would think of first."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return np.where(indices == 37, indices, super()._draw(indices, bits))


class TrueOfOneResponse(RandomizedResponse):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return np.where(indices == 3, indices, super()._draw(indices, bits))


class TrueAlone(TruncatedGeometric):
    """Honest in batches, as every simulation draws them, and not on a device."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return indices if indices.size == 1 and isinstance(bits, SecureBits) else super()._draw(indices, bits)


class TrueForGood(TruncatedGeometric):
    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return indices if isinstance(bits, PermanentBits) else super()._draw(indices, bits)


class NeverPermanent(TruncatedGeometric):
    """Draws permanent noise anew each time: a year of reports gives the value away."""

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return super()._draw(indices, bits.fresh)


@pytest.mark.parametrize(
    "mechanism",
    [
        Sharper(AGES, 0.05),
        SharperResponse(LETTERS, 1.0),
        SometimesTrue(AGES, 0.05),
        SometimesUnmoved(AGES, 0.05),
        TrueOfOne(AGES, 0.05),
        TrueOfOneResponse(LETTERS, 1.0),
        TrueAlone(AGES, 0.05),
        TrueForGood(AGES, 0.05),
        NeverPermanent(AGES, 0.05),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_sampler_that_is_wrong_by_a_little_or_in_one_place_is_found(mechanism: Mechanism) -> None:
    found = audit(mechanism)
    assert not found.worst.exceeds
    assert not found.draws.agree
    assert "THE SAMPLER DRAWS SOMETHING ELSE" in str(found)


@pytest.mark.parametrize("mechanism", [TruncatedGeometric(Integers(0, 9), 0.2), RandomizedResponse(LETTERS, 1.0)])
def test_what_is_said_to_be_found_is_found_and_half_of_it_is_not(mechanism: Mechanism) -> None:
    values, reports = np.array([0, mechanism.alphabet.size // 2]), 30_000
    stated = count_draws(mechanism, values, reports).sensitivity
    assert 0 < stated.truth < min(stated.alone, stated.singly) < 1
    for departs, size in ((_with_epsilon, stated.epsilon), (_with_truth, stated.truth)):
        for share, least, most in ((1.0, 10, 12), (0.5, 0, 2)):
            wrong = [departs(mechanism, share * size, seed) for seed in range(12)]
            found = sum(not count_draws(one, values, reports).agree for one in wrong)
            assert least <= found <= most, (departs.__name__, share, found)


def _with_epsilon(mechanism: Mechanism, share: float, _: int) -> Mechanism:
    sharper = replace(mechanism, epsilon=(1 + share) * mechanism.epsilon)  # type: ignore[attr-defined, type-var]
    kind = type("Sharper", (type(mechanism),), {"_draw": lambda _, indices, bits: sharper._draw(indices, bits)})
    return kind(mechanism.alphabet, mechanism.epsilon)  # type: ignore[attr-defined, no-any-return]


def _with_truth(mechanism: Mechanism, share: float, seed: int) -> Mechanism:
    generator = np.random.default_rng(seed)

    def _draw(_: Mechanism, indices: Indices, bits: Bits) -> Indices:
        drawn = mechanism._draw(indices, bits)
        return drawn if indices.size == 1 else np.where(generator.random(indices.size) < share, indices, drawn)

    return type("Sometimes", (type(mechanism),), {"_draw": _draw})(mechanism.alphabet, mechanism.epsilon)  # type: ignore[attr-defined, no-any-return]


def test_an_audit_says_what_it_would_have_found() -> None:
    few = audit(TruncatedGeometric(AGES, 0.05), reports=5000)
    many = audit(TruncatedGeometric(AGES, 0.05))
    assert 0.02 < many.draws.sensitivity.epsilon < 0.03
    assert 1 / 300 < many.draws.sensitivity.truth < 1 / 200
    assert few.draws.sensitivity.epsilon > 5 * many.draws.sensitivity.epsilon
    assert "with 95% power, an epsilon 2.3% too large; the true value in 1 of 2" in str(many)
    nothing = audit(RandomizedResponse(LETTERS, 0.01), reports=1)
    assert str(nothing).endswith("would have found, with 95% power, nothing: too few reports were drawn.")


def test_one_unit_in_the_rows_that_are_drawn_from_is_found() -> None:
    class OneMore(Weighted):
        @cached_property
        def _rows(self) -> WeightRows:
            return WeightRows.of([[*self.rows[0][:-1], self.rows[0][-1] + 1], *self.rows[1:]])

    assert not audit(OneMore(Integers(0, 2), response(OWN, OTHER), LocalDP(1.0))).draws.agree


def test_a_report_that_is_no_output_is_found() -> None:
    class Stray(TruncatedGeometric):
        def _report(self, indices: Indices, _: Bits) -> NDArray[np.int64]:
            return np.full(indices.shape, 77)

    assert not audit(Stray(Integers(0, 9), 1.0)).holds


def test_a_channel_that_is_another_is_found() -> None:
    class Blurred(TruncatedGeometric):
        @cached_property
        def channel(self) -> Channel:
            return TruncatedGeometric(self.alphabet, 0.999 * self.epsilon).channel

    found = audit(Blurred(Integers(0, 9), 1.0))
    assert found.draws.agree
    assert found.channel_error is not None
    assert found.channel_error > 1e-4
    assert not found.holds
    assert "THE CHANNEL DIFFERS" in str(found)


@pytest.mark.parametrize(
    "mechanism", [Geometric(Integers(), 1.0), Laplace(Integers(0, 9), 0.3), Taxicab(Lattice(), 1.0)], ids=label
)
@pytest.mark.slow
def test_noise_over_its_promise_is_found(mechanism: Mechanism) -> None:
    noise = mechanism.facts.noise
    assert noise is not None
    assert noise.ratio is not None

    def declare(ratio: Fraction) -> Mechanism:
        facts = property(lambda _: replace(mechanism.facts, noise=replace(noise, ratio=ratio)))
        kind = type("Declared", (type(mechanism),), {"facts": facts})
        return kind(mechanism.alphabet, mechanism.epsilon)  # type: ignore[attr-defined, no-any-return]

    assert not audit(declare(noise.ratio), reports=1000).worst.exceeds
    assert audit(declare(noise.ratio * (1 - Fraction(1, 10**15))), reports=1000).worst.exceeds


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 5.0])
def test_cells_of_laplace_noise_on_a_huge_line_are_drawn_as_declared(epsilon: float) -> None:
    # They stay with 1 - b, which is not what two-sided geometric noise of the same decay does: a false alarm once.
    found = audit(TruncatedLaplace(Integers(0, 10**12), epsilon))
    assert found.draws.reports >= 500_000
    assert found.draws.p_value > 1e-6
    assert found.holds


def test_a_laplace_sampler_that_stays_as_seldom_as_geometric_noise_is_found() -> None:
    class Geometrically(TruncatedLaplace):
        def _noise(self, count: int, bits: Bits) -> Indices:
            return GeometricNoise(self._ratio**2).draw(count, bits)

    assert not audit(Geometrically(Integers(0, 10**12), 1.0)).draws.agree


@pytest.mark.slow
def test_reports_of_many_bits_are_audited_by_fewer_of_them_and_named_in_short() -> None:
    found = audit(Rappor(Integers(0, 49_999), 1.0))
    assert found.holds
    assert 1_000 <= found.draws.reports < 4_000
    assert "output 1 (of 50,000 bits)" in str(found)
    assert len(str(found)) < 1_000


def test_planar_noise_over_its_promise_is_found() -> None:
    class Faster(PlanarGeometric):
        @property
        def _rate(self) -> Fraction:
            return super()._rate * (1 + Fraction(1, 10**9))

    found = audit(Faster(Grid(3, 3), 0.5), reports=FEW)
    assert found.worst.exceeds
    assert found.draws.agree


def test_bits_over_their_promise_are_found() -> None:
    class Eager(Rappor):
        @property
        def keep(self) -> Fraction:
            return super().keep + Fraction(1, 10**12)

    found = audit(Eager(Integers(0, 29), 1.0), reports=FEW)
    assert found.extent is Extent.STRUCTURE
    assert found.worst.exceeds


@pytest.mark.slow
def test_parts_over_their_promise_are_found_in_either_place() -> None:
    wrong = Weighted(Integers(0, 2), response(OWN + 10, OTHER), LocalDP(1.0))
    line = TruncatedGeometric(Integers(0, 99), 0.05)
    for pair in (Product(first=wrong, second=line), Product(first=line, second=wrong)):
        found = audit(pair, reports=FEW)
        assert found.extent is Extent.STRUCTURE
        assert found.worst.exceeds
        left, right = pair.alphabet.decode([found.worst.left, found.worst.right]).tolist()
        assert sum(one != other for one, other in zip(left, right, strict=True)) == 1


def test_false_alarms_are_rare() -> None:
    # 2,000 tests of what is true: p-values are about uniform, and none is near the level.
    generator = np.random.default_rng(1)
    row = np.array([0.5, 0.3, 0.1, 0.06, 0.03, 0.01])
    p_values = [chi_square(generator.multinomial(20_000, row), row) for _ in range(2000)]
    assert min(p_values) > 1e-5
    assert 0.03 < np.mean(np.array(p_values) < 0.05) < 0.07


# A mechanism that breaks its promise cannot be made.

MATRIX = TruncatedGeometric(Integers(0, 4), 0.5).channel.dense()


@pytest.mark.parametrize("promise", [MetricPrivacy(0.5), MetricPrivacy(0.6), LocalDP(2.0), LocalDP(5.0)], ids=str)
def test_a_matrix_that_keeps_its_promise_is_taken(promise: MetricPrivacy | LocalDP) -> None:
    mechanism = FromMatrix(Integers(0, 4), MATRIX, promise=promise)
    assert mechanism.guarantee == promise
    assert audit(mechanism, reports=FEW).holds


@pytest.mark.parametrize("promise", [MetricPrivacy(0.49), MetricPrivacy(0.05), LocalDP(1.99)], ids=str)
def test_a_matrix_that_breaks_its_promise_is_refused(promise: MetricPrivacy | LocalDP) -> None:
    with pytest.raises(
        BrokenPromiseError,
        match=r"breaks the promise of .*output number \d is e\^.* under \d as under \d; .*larger epsilon",
    ):
        FromMatrix(Integers(0, 4), MATRIX, promise=promise)


def test_a_matrix_that_rules_values_out_cannot_promise() -> None:
    with pytest.raises(BrokenPromiseError, match=r"e\^inf times as likely .* at most e\^50 is promised"):
        FromMatrix(Integers(0, 1), [[1.0, 0.0], [0.5, 0.5]], promise=LocalDP(50.0))


def test_a_promise_is_checked_on_planes() -> None:
    grid = Grid(3, 3)
    matrix = TruncatedPlanarGeometric(grid, 1.0).channel.dense()
    assert audit(FromMatrix(grid, matrix, promise=MetricPrivacy(1.0, grid.metric)), reports=FEW).holds
    normalised = Exponential(grid, 2.0).channel.dense()
    with pytest.raises(BrokenPromiseError, match=r"under \(\d, \d\) as under \(\d, \d\)"):
        FromMatrix(grid, normalised, promise=MetricPrivacy(1.0, grid.metric))


def test_one_value_has_nothing_to_be_told_from() -> None:
    assert audit(FromMatrix(Integers(0, 0), [[1.0]]), reports=FEW).holds

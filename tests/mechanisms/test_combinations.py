"""Mechanisms made of others: products, remaps and truncations; and mechanisms on unbounded alphabets."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from tests.cases import each

from confide import (
    IBU,
    Attributes,
    Categories,
    Exponential,
    FromMatrix,
    Geometric,
    Grid,
    Integers,
    Laplace,
    Lattice,
    LocalHashing,
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
    estimate,
    tally,
)
from confide.errors import ImpossibleReportError, InvalidParameterError, ValueOutsideAlphabetError
from confide.mechanisms import truncated

AGE = TruncatedGeometric(Integers(0, 4), 0.5)
SEX = RandomizedResponse(Categories(["f", "m"]), 1.0)
PAIR = Product(first=AGE, second=SEX)


def test_a_product_is_both_matrices() -> None:
    np.testing.assert_allclose(PAIR.channel.dense(), np.kron(AGE.channel.dense(), SEX.channel.dense()), rtol=1e-14)
    assert PAIR.alphabet == Attributes(first=Integers(0, 4), second=Categories(["f", "m"]))
    left, right, same = PAIR.alphabet.decode([0, 7, 6]).tolist()
    assert PAIR.guarantee.bound(tuple(left), tuple(right)) == pytest.approx(2.5)
    assert PAIR.guarantee.bound(tuple(left), tuple(same)) == pytest.approx(1.5)
    assert PAIR.guarantee.bounds(PAIR.alphabet).max() == pytest.approx(3.0)


def test_a_product_blurs_pairs_and_estimates_them() -> None:
    people = [(3, "m"), (0, "f")] * 2000
    reports = PAIR.privatize(people, rng=1)
    assert reports.shape == (4000, 2)
    assert set(reports[:, 1].tolist()) == {"f", "m"}
    single = PAIR.privatize((3, "m"), rng=1)
    assert isinstance(single, tuple)
    assert [type(part) for part in single] == [int, str]
    answer = estimate(tally(reports), PAIR, IBU())
    expected = np.zeros(10)
    expected[PAIR.alphabet.encode([(3, "m"), (0, "f")])] = 0.5
    assert np.abs(answer.distribution - expected).max() < 0.15


def test_parts_of_a_product_are_independent() -> None:
    reports = PAIR.privatize([(2, "m")] * 20_000, rng=2)
    ages, flipped = reports[:, 0].astype(float), (reports[:, 1] == "f").astype(float)
    assert abs(np.corrcoef(ages, flipped)[0, 1]) < 0.03


@pytest.mark.parametrize("values", [[(3, "x")], [(9, "m")], [("m", 3)]], ids=repr)
def test_pairs_outside_are_refused(values: list[Any]) -> None:
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 1 values lies outside Attributes\(.* at position 0"):
        PAIR.privatize(values, rng=1)


@pytest.mark.parametrize("values", [[1, 2, 3], [(1, "f", 3)], [(1,)]], ids=repr)
def test_what_are_no_pairs_is_refused(values: list[Any]) -> None:
    with pytest.raises(InvalidParameterError, match="takes a sequence of rows of 2"):
        PAIR.privatize(values, rng=1)


@pytest.mark.parametrize(
    "mechanism",
    [
        PAIR,
        Product(first=SEX, second=SEX),
        Product(first=TruncatedGeometric(Integers(0, 3), 1.0), second=TruncatedGeometric(Integers(0, 4), 1.0)),
    ],
    ids=repr,
)
def test_reports_of_pairs_drawn_one_by_one_are_counted_like_those_drawn_together(mechanism: Product) -> None:
    """A list of pairs of a number and a category became texts, which no alphabet holds."""
    values = mechanism.alphabet.decode(np.arange(30) % mechanism.alphabet.size).tolist()
    single = [mechanism.privatize(tuple(value), rng=seed) for seed, value in enumerate(values)]
    counts = tally(single)
    assert counts.total == 30
    numbers = mechanism.report_alphabet.encode(single)
    np.testing.assert_array_equal(
        mechanism.lay_out(counts), np.bincount(numbers, minlength=mechanism.report_alphabet.size)
    )
    together = tally(mechanism.report_alphabet.decode(numbers))
    assert counts == together
    assert mechanism.observe(counts).total == 30


def test_parts_without_end_make_no_product() -> None:
    with pytest.raises(InvalidParameterError, match=r"Product needs a finite alphabet; .* is unbounded"):
        Product(first=Geometric(Integers(0, 9), 1.0), second=SEX)
    for part in (Rappor(Integers(0, 9), 1.0), LocalHashing(Integers(0, 9), 1.0, seeds=10)):
        with pytest.raises(InvalidParameterError, match=r"first cannot be one attribute of several: .* Use"):
            Product(first=part, second=SEX)


# Remaps.


def test_a_remap_adds_up_what_is_reported_as_the_same() -> None:
    mechanism = Remapped(SEX, Categories(["either"]), (0, 0))
    assert mechanism.channel.dense().tolist() == [[1.0], [1.0]]
    merged = Remapped(AGE, Categories(["young", "old"]), (0, 0, 0, 1, 1))
    dense = AGE.channel.dense()
    np.testing.assert_allclose(merged.channel.dense(), np.column_stack([dense[:, :3].sum(1), dense[:, 3:].sum(1)]))
    assert merged.privatize(4, rng=1) in ("young", "old")
    assert merged.guarantee == AGE.guarantee
    assert merged.alphabet == AGE.alphabet


@pytest.mark.parametrize("outputs", [Integers(1, 3), Integers(-9, 2), Integers(2, 40)])
def test_numbers_go_to_the_nearest_number(outputs: Integers) -> None:
    mechanism = Remapped(AGE, outputs)
    low, high = outputs.span
    expected = [int(np.argmin([abs(z - report) for z in range(low, high + 1)])) for report in range(5)]
    assert mechanism._remap.tolist() == expected


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (Integers(90, 99), "miss .* altogether"),
        (Integers(0, 2, spacing=2.0), "must have the spacing of the reports, 1; got 2"),
    ],
)
def test_outputs_that_have_no_nearest_are_refused(outputs: Integers, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Remapped(AGE, outputs)


def test_a_remap_of_a_remap_is_one() -> None:
    twice = Remapped(Remapped(AGE, Integers(1, 3)), Categories(["low", "high"]), (0, 0, 1))
    once = Remapped(AGE, Categories(["low", "high"]), (0, 0, 0, 1, 1))
    np.testing.assert_allclose(twice.channel.dense(), once.channel.dense(), rtol=1e-14)
    assert list(twice.weights(2)) == list(once.weights(2))
    assert audit(twice).holds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((AGE, Categories(["a"])), r"Give a mapping: it is not known which of Categories\(\['a'\]\) is nearest"),
        ((AGE, Grid(2, 2)), r"Give a mapping"),
        ((AGE, Integers()), r"Remapped needs a finite alphabet"),
        ((Geometric(Integers(0, 9), 1.0), Integers(0, 9)), r"Remapped needs a finite alphabet"),
        ((AGE, Categories(["a", "b"]), (0, 1)), r"one whole number for each of 5 outputs"),
        ((AGE, Categories(["a", "b"]), (0, 1, 0, 1, 2)), r"mapping must lead to 0 .. 1"),
        ((AGE, Categories(["a", "b"]), (0, 1, 0, 1, -1)), r"mapping must lead to 0 .. 1"),
        ((AGE, Categories(["a", "b"]), (0.5, 1, 0, 1, 1)), r"one whole number for each of 5 outputs"),
        ((AGE, Categories(["a", "b"]), "abc"), r"one whole number for each of 5 outputs"),
    ],
)
def test_remaps_that_make_no_sense_are_answered(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Remapped(*arguments)


# Truncation.


@pytest.mark.parametrize(
    ("unbounded", "kind"),
    [
        (Geometric(Integers(0, 9), 0.5), TruncatedGeometric),
        (Laplace(Integers(0, 9), 0.5), TruncatedLaplace),
        (Taxicab(Grid(3, 4), 0.5), TruncatedTaxicab),
        (PlanarGeometric(Grid(3, 4), 0.5), TruncatedPlanarGeometric),
        (PlanarLaplace(Grid(3, 4), 0.5), TruncatedPlanarLaplace),
    ],
    ids=repr,
)
def test_every_unbounded_mechanism_can_be_truncated(unbounded: Mechanism, kind: type[Mechanism]) -> None:
    outputs = Integers(2, 20) if isinstance(unbounded.alphabet, Integers) else Grid(2, 9)
    plain, elsewhere = truncated(unbounded), truncated(unbounded, outputs)
    assert type(plain) is type(elsewhere) is kind
    assert plain.alphabet == plain.report_alphabet == unbounded.alphabet
    assert elsewhere.report_alphabet == outputs
    assert plain.guarantee == unbounded.guarantee


@pytest.mark.parametrize("unbounded", [Geometric(Integers(0, 9), 0.5), Laplace(Integers(0, 9), 0.5)], ids=repr)
def test_truncating_reports_is_truncating_the_mechanism(unbounded: Mechanism) -> None:
    # The same people, the noise rounded and clamped by hand: a test of homogeneity against what the channel expects.
    reports = np.rint(unbounded.privatize([3] * 40_000, rng=1)).astype(np.int64)
    seen = np.bincount(np.clip(reports, 0, 9), minlength=10)
    expected = 40_000 * truncated(unbounded).channel.dense()[3]
    assert (((seen - expected) ** 2 / expected).sum()) < 33.7  # p = 1e-4 at nine degrees of freedom


@pytest.mark.parametrize(
    ("mechanism", "outputs"),
    [
        (AGE, None),
        (Geometric(Integers(0, 9), 0.5), Grid(2, 2)),
        (Taxicab(Lattice(), 0.5), None),
        (Taxicab(Grid(2, 2), 0.5), Integers(0, 9)),
        (Rappor(Integers(0, 9), 0.5), None),
    ],
    ids=repr,
)
def test_what_cannot_be_truncated_is_answered(mechanism: Mechanism, outputs: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"cannot be truncated to .*Remapped\(\)"):
        truncated(mechanism, outputs)


def test_geometric_noise_truncates_nothing_on_an_unbounded_alphabet() -> None:
    with pytest.raises(InvalidParameterError, match="needs a finite alphabet"):
        truncated(Geometric(Integers(), 0.5))


# Unbounded alphabets.


@pytest.mark.parametrize(
    ("mechanism", "value"),
    [
        (Geometric(Integers(), 0.5), -(10**9)),
        (Laplace(Integers(), 0.5), 10**6),
        (Taxicab(Lattice(), 0.5), (-5, 10**6)),
        (PlanarGeometric(Lattice(), 0.5), (-5, 10**6)),
    ],
    ids=repr,
)
def test_values_anywhere_are_blurred_but_not_estimated(mechanism: Mechanism, value: Any) -> None:
    report = mechanism.privatize(value, rng=1)
    assert np.abs(np.asarray(report) - np.asarray(value)).max() < 100
    assert mechanism.guarantee.bound(value, value) == 0
    with pytest.raises(InvalidParameterError, match="is unbounded"):
        mechanism.observe(tally([report]))
    with pytest.raises(InvalidParameterError, match="is unbounded"):
        mechanism.simulate_counts([1], rng=1)


UNENDING = [Integers(), Lattice()]


@pytest.mark.parametrize("alphabet", UNENDING, ids=repr)
@pytest.mark.parametrize("kind", [RandomizedResponse, Rappor, Exponential])
def test_mechanisms_for_any_alphabet_need_an_end(kind: Any, alphabet: Any) -> None:
    with pytest.raises(InvalidParameterError, match="is unbounded"):
        kind(alphabet, 1.0)


@pytest.mark.parametrize("kind", [TruncatedGeometric, TruncatedLaplace])
def test_truncated_lines_need_an_end(kind: Any) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"needs a finite alphabet; Integers\(\) is unbounded. Bound it: Integers"
    ):
        kind(Integers(), 1.0)
    with pytest.raises(InvalidParameterError, match="is unbounded"):
        kind(Integers(0, 9), 1.0, Integers())


@pytest.mark.parametrize("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
def test_truncated_planes_need_an_end(kind: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"needs a finite alphabet; Lattice\(\) is unbounded"):
        kind(Lattice(), 1.0)
    with pytest.raises(InvalidParameterError, match="Outputs must be a Grid"):
        kind(Grid(2, 2), 1.0, Lattice())


def test_planar_laplace_on_an_unbounded_alphabet_is_answered() -> None:
    # It may be refused, or blur without estimating; nothing else.
    try:
        mechanism = PlanarLaplace(Lattice(), 1.0)
    except InvalidParameterError:
        return
    assert np.asarray(mechanism.privatize((3, 4), rng=1)).shape == (2,)
    with pytest.raises(InvalidParameterError):
        mechanism.observe(tally([(0.5, 0.5)]))


# Bad input.

LINE_KINDS = [Geometric, TruncatedGeometric, Laplace, TruncatedLaplace]
PLANE_KINDS = [Taxicab, TruncatedTaxicab, PlanarGeometric, TruncatedPlanarGeometric, PlanarLaplace]
PLANE_KINDS += [TruncatedPlanarLaplace]
ANY_KINDS = [RandomizedResponse, Rappor, Exponential]

with_alphabet = [(kind, Integers(0, 9)) for kind in LINE_KINDS + ANY_KINDS] + [
    (kind, Grid(3, 3)) for kind in [*PLANE_KINDS, Exponential]
]
every_kind = each(("kind", "alphabet"), with_alphabet)


@every_kind
@each("epsilon", [0, -1.0, math.nan, math.inf, "abc", None, True, [1.0]], ids=repr)
def test_an_epsilon_that_is_no_positive_number_is_refused(kind: Any, alphabet: Any, epsilon: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon must be a finite number above 0; got "):
        kind(alphabet, epsilon)


@every_kind
@each(("epsilon", "verdict"), [(101.0, "no protection"), (1e300, "no protection"), (1e-10, "pure")])
def test_an_absurd_epsilon_is_taken_for_a_slip(kind: Any, alphabet: Any, epsilon: float, verdict: str) -> None:
    given = re.escape(repr(epsilon))
    with pytest.raises(
        InvalidParameterError, match=rf"epsilon={given} bounds .* which is {verdict}.*Useful values lie between"
    ):
        kind(alphabet, epsilon)


@pytest.mark.parametrize("kind", [*PLANE_KINDS, Exponential])
def test_the_range_of_epsilon_is_per_step_on_planes(kind: Any) -> None:
    with pytest.raises(InvalidParameterError, match="no protection"):
        kind(Grid(3, 3, spacing=1000.0), 1.0)
    with pytest.raises(InvalidParameterError, match="pure noise"):
        kind(Grid(3, 3, spacing=1e-9), 0.5)


@each("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
@each(
    ("grid", "message"),
    [
        (Grid(1, 1), r"needs at least two cells; got Grid\(1, 1\)"),
        (Grid(2, 2, holes=((0, 0), (0, 1), (1, 0))), r"needs at least two cells"),
        (Grid(1, 9), r"at least two rows and two columns; got Grid\(1, 9\). For one line use Integers"),
        (Grid(9, 1), r"at least two rows and two columns"),
    ],
    ids=repr,
)
def test_grids_with_nothing_to_tell_apart_are_refused(kind: Any, grid: Grid, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        kind(grid, 1.0)


@pytest.mark.parametrize("kind", [TruncatedGeometric, TruncatedLaplace, *ANY_KINDS])
def test_one_value_has_nothing_to_be_told_from(kind: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"needs at least two values; got Integers\(5, 5\)"):
        kind(Integers(5, 5), 1.0)


@each("kind", LINE_KINDS)
@each("alphabet", [Grid(3, 3), Categories(["a", "b"]), "abc", 5, None], ids=repr)
def test_lines_need_whole_numbers(kind: Any, alphabet: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"needs whole numbers on a line, Integers\(low, high\); got "):
        kind(alphabet, 1.0)


@each("kind", PLANE_KINDS)
@each("alphabet", [Integers(0, 9), Categories(["a", "b"]), "abc", 5, None], ids=repr)
def test_planes_need_cells(kind: Any, alphabet: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"needs cells of a plane, Grid\(rows, columns\); got "):
        kind(alphabet, 1.0)


@pytest.mark.parametrize("kind", ANY_KINDS)
def test_any_alphabet_must_be_one(kind: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"alphabet must be an alphabet such as Categories.*; got 'abc'"):
        kind("abc", 1.0)


@pytest.mark.parametrize("kind", [TruncatedGeometric, TruncatedLaplace])
@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (Integers(20, 30), r"The outputs Integers\(20, 30\) miss the alphabet Integers\(0, 9\) altogether"),
        (Integers(-9, -1), r"miss the alphabet"),
        (Integers(0, 9, spacing=2.0), r"Outputs must have the spacing of the alphabet, 1; got 2"),
        (Grid(2, 2), r"needs whole numbers on a line.*; got Grid\(2, 2\)"),
    ],
    ids=repr,
)
def test_outputs_that_cannot_be_are_refused_on_lines(kind: Any, outputs: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        kind(Integers(0, 9), 1.0, outputs)


@each("kind", [TruncatedTaxicab, TruncatedPlanarGeometric, TruncatedPlanarLaplace])
@each(
    ("outputs", "message"),
    [
        (
            Grid(2, 2, first_row=10),
            r"The outputs Grid\(2, 2, first=\(10, 0\)\) miss the alphabet Grid\(3, 3.*altogether",
        ),
        (Grid(1, 1, first_row=1, first_column=1), r"miss the alphabet"),
        (Grid(3, 3, spacing=2.0), r"Outputs must be a Grid with the spacing of the alphabet, 1; got"),
        (Integers(0, 9), r"Outputs must be a Grid"),
    ],
    ids=repr,
)
def test_outputs_that_cannot_be_are_refused_on_planes(kind: Any, outputs: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        kind(Grid(3, 3, holes=((1, 1),)), 1.0, outputs)


@pytest.mark.parametrize(
    ("mechanism", "value"),
    [
        (TruncatedGeometric(Integers(0, 9), 1.0), 10**6),
        (Geometric(Integers(0, 9), 1.0), 10),
        (Laplace(Integers(0, 9), 1.0), 0.5),
        (Taxicab(Grid(2, 2), 1.0), (5, 5)),
        (PlanarLaplace(Grid(2, 2), 1.0), (0.5, 0.5)),
        (TruncatedPlanarGeometric(Grid(3, 3, holes=((1, 1),)), 1.0), (1, 1)),
        (Rappor(Categories(["a", "b"]), 1.0), "c"),
        (Exponential(Grid(2, 2), 1.0), (-1, 0)),
        (Geometric(Integers(), 1.0), 2.5),
        (Taxicab(Lattice(), 1.0), (2**31, 0)),
    ],
    ids=repr,
)
def test_values_far_outside_are_named(mechanism: Mechanism, value: Any) -> None:
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 2 values lies outside .*; first: .* at position 1. "):
        mechanism.privatize([mechanism.alphabet.decode([0])[0].tolist(), value], rng=1)


def test_reports_of_another_kind_are_refused() -> None:
    with pytest.raises(ImpossibleReportError, match="another survey"):
        TruncatedTaxicab(Grid(2, 2), 1.0).observe(tally([1, 2, 3]))
    with pytest.raises(ImpossibleReportError, match="another survey"):
        PAIR.observe(tally([1, 2, 3]))
    with pytest.raises(ImpossibleReportError, match="another survey"):
        Rappor(Integers(0, 99), 1.0).observe(tally([1, 2, 3]))


def test_equal_matrices_with_unequal_promises_are_unequal() -> None:
    matrix = AGE.channel.dense()
    stated = FromMatrix(AGE.alphabet, matrix, promise=AGE.guarantee)
    assert stated != FromMatrix(AGE.alphabet, matrix)
    assert stated == FromMatrix(AGE.alphabet, matrix, promise=AGE.guarantee)

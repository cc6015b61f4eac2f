"""Noise on the plane is exact: tables are their fractions, and the lattice is decided in integers on a tie."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each
from tests.laws.exact import cut, exp_bounds
from tests.laws.formulas import lattice_sum
from tests.sampling.scripted import LARGEST_WORD, ScriptedBits

from confide import Grid, PlanarGeometric, TruncatedPlanarGeometric
from confide.channels.kernels import planar_geometric_kernel
from confide.mechanisms import sampling
from confide.mechanisms.sampling import PlanarGeometricNoise, ProductNoise, TableNoise, as_bits


def hypot_bounds(down: int, along: int, bits: int = 400) -> tuple[Fraction, Fraction]:
    root = math.isqrt((down**2 + along**2) << (2 * bits))
    return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)


def kept_chance(noise: PlanarGeometricNoise, down: int, along: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^(-decay hypot) / ratio^steps, by interval arithmetic of the tests' own."""
    short, long = hypot_bounds(down, along)
    low, high = power_between(noise._proposal.ratio, abs(down) + abs(along))
    return 1 / (exp_bounds(noise.decay * long, 512)[1] * high), 1 / (exp_bounds(noise.decay * short, 512)[0] * low)


def power_between(ratio: Fraction, exponent: int) -> tuple[Fraction, Fraction]:
    """Return rationals of 512 bits below and above a power, by squaring; the power itself may not end."""
    low = high = Fraction(1)
    for bit in bin(exponent)[2:]:
        low, high = cut(low * low, 512, up=False), cut(high * high, 512, up=True)
        if bit == "1":
            low, high = cut(low * ratio, 512, up=False), cut(high * ratio, 512, up=True)
    return low, high


def settle(noise: PlanarGeometricNoise, cell: tuple[int, int], u: Fraction) -> bool:
    """Ask for the verdict on the binary digits of u, as many as are asked for."""
    digits = math.floor(u * 2**640)
    words = [digits >> (64 * place) & LARGEST_WORD for place in reversed(range(10))]
    return noise._settle(*cell, words[0], ScriptedBits(words[1:]))


NOISES = [PlanarGeometricNoise(Fraction(decay)) for decay in ("1", "0.05", "7.5", "1/4096", "1/1000000")]
CELLS = [(1, 0), (0, -1), (3, 4), (-7, 2), (11, -30)]


@each("depth", [60, 64, 65, 100, 128, 200, 300])
@each("cell", CELLS, ids=str)
@each("noise", NOISES, ids=lambda noise: str(noise.decay))
def test_the_side_changes_exactly_at_the_ratio_of_densities(
    noise: PlanarGeometricNoise, cell: tuple[int, int], depth: int
) -> None:
    low, high = kept_chance(noise, *cell)
    assert high - low < Fraction(1, 2**330)
    assert high <= 1, "what is proposed must lie above what is wanted"
    assert settle(noise, cell, max(Fraction(0), low - Fraction(1, 2**depth)))
    if high + Fraction(1, 2**depth) < 1:
        assert not settle(noise, cell, high + Fraction(1, 2**depth))


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: str(noise.decay))
@given(cell=st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)))
def test_proposals_lie_above_everywhere(noise: PlanarGeometricNoise, cell: tuple[int, int]) -> None:
    # In logarithms, where e^-(10^6) fits: decay hypot >= -steps log(ratio).
    ratio = noise._proposal.ratio
    steps = abs(cell[0]) + abs(cell[1])
    # -log(ratio) <= (1 - ratio) / ratio, and that is less than decay / sqrt 2 by the way the ratio is rounded.
    low, _ = hypot_bounds(*cell)
    slope = -math.log1p(-float(1 - ratio))
    assert float(noise.decay * low) >= slope * steps * (1 - 1e-12) - 1e-12


def test_staying_put_is_always_kept() -> None:
    for noise in NOISES:
        zeros = np.zeros(3, dtype=np.int64)
        assert noise._keep(zeros, zeros, ScriptedBits([0, 1 << 63, LARGEST_WORD - 2**40])).all()
        # All ones leave even integers in doubt until a zero comes.
        assert noise._settle(0, 0, LARGEST_WORD, ScriptedBits([0]))


@pytest.mark.parametrize("noise", NOISES[:4], ids=lambda noise: str(noise.decay))
def test_deciding_all_in_integers_changes_nothing(noise: PlanarGeometricNoise, monkeypatch: pytest.MonkeyPatch) -> None:
    # Floats decide where they are far from the edge; where everything is in doubt, the outcome must be the same.
    quick = noise.draw(120, as_bits(3))
    monkeypatch.setattr(sampling, "DOUBT", 2.0)
    slow = noise.draw(120, as_bits(3))
    np.testing.assert_array_equal(quick, slow)


@pytest.mark.parametrize("decay", ["1", "0.05", "1/4096", "1/1000000", "1/1000000000", "1/4096000000000"])
def test_floats_decide_nothing_that_they_cannot_know(decay: str) -> None:
    # Words just beside the true edge, by far more than a float's doubt and far less than anyone could see.
    noise = PlanarGeometricNoise(Fraction(decay))
    far = max(1, round(1 / float(noise.decay)))
    for cell in ((far, 0), (far, far // 3), (2 * far, -far)):
        low, high = kept_chance(noise, *cell)
        down, along = (np.array([part]) for part in cell)
        for gap in (Fraction(1, 10**6), Fraction(1, 10**8)):
            below, above = math.floor((low - gap) * 2**64), math.ceil((high + gap) * 2**64)
            assert noise._keep(down, along, ScriptedBits([below, 0])).all()
            if above <= LARGEST_WORD:
                assert not noise._keep(down, along, ScriptedBits([above, LARGEST_WORD])).any()


def test_doubtful_draws_take_their_own_bits() -> None:
    noise = PlanarGeometricNoise(Fraction(1))
    low, _ = kept_chance(noise, 3, 4)
    edge = math.floor(low * 2**64)
    cells = np.array([3, 3, 3]), np.array([4, 4, 4])
    # The first and the last agree with the edge to the last bit: one more word each decides, low for yes, high for no.
    script = ScriptedBits([edge, 0, edge, 0, LARGEST_WORD])
    assert noise._keep(*cells, script).tolist() == [True, True, False]
    assert script.script == []


def test_rejected_proposals_are_drawn_again_in_place() -> None:
    noise = PlanarGeometricNoise(Fraction(1, 2))
    rows, columns = noise.draw(5000, as_bits(1))
    assert rows.shape == columns.shape == (5000,)
    counted = Counter(zip(np.abs(rows).tolist(), np.abs(columns).tolist(), strict=True))
    for cell, copies in (((0, 0), 1), ((1, 0), 2), ((1, 1), 4)):
        expected = copies * 5000 * math.exp(-0.5 * math.hypot(*cell)) / lattice_sum(0.5)
        assert abs(counted[cell] - expected) < 5 * math.sqrt(expected)
    empty = noise.draw(0, ScriptedBits([]))
    assert [part.size for part in empty] == [0, 0]


def test_nearly_four_of_five_proposals_are_kept() -> None:
    noise = PlanarGeometricNoise(Fraction(1, 100))
    down, along = noise._proposal.draw(20_000, as_bits(1))
    kept = noise._keep(down, along, as_bits(2)).mean()
    assert 0.74 < kept < 0.82  # pi / 4 in the limit


@pytest.mark.parametrize("decay", [Fraction(1), Fraction(1, 3)])
def test_quadrants_are_alike(decay: Fraction) -> None:
    rows, columns = PlanarGeometricNoise(decay).draw(40_000, as_bits(5))
    off_axes = (rows != 0) & (columns != 0)
    signs = 2 * (rows[off_axes] > 0) + (columns[off_axes] > 0)
    quadrants = np.bincount(signs, minlength=4)
    assert (np.abs(quadrants - quadrants.mean()) < 4 * math.sqrt(quadrants.mean())).all()
    assert abs(rows.std() / columns.std() - 1) < 0.03


def test_product_noise_is_independent_along_its_axes() -> None:
    rows, columns = ProductNoise(Fraction(1, 2)).draw(40_000, as_bits(5))
    assert abs(np.corrcoef(rows, columns)[0, 1]) < 0.025
    assert abs(np.corrcoef(np.abs(rows), np.abs(columns))[0, 1]) < 0.025


# Tables.


@given(st.lists(st.lists(st.floats(1e-300, 1.0), min_size=3, max_size=3), min_size=1, max_size=3))
def test_tables_are_drawn_from_as_exact_fractions(table: list[list[float]]) -> None:
    noise = TableNoise(np.array(table))
    bounds = noise._weights.cumulative[0]
    weights = [later - earlier for earlier, later in zip((0, *bounds), bounds, strict=False)]
    flat = [number for row in table for number in row]
    copies = [(1 + (row > 0)) * (1 + (column > 0)) for row in range(len(table)) for column in range(3)]
    whole = sum(Fraction(number) * times for number, times in zip(flat, copies, strict=True))
    for weight, number, times in zip(weights, flat, copies, strict=True):
        assert Fraction(weight, bounds[-1]) == Fraction(number) * times / whole


def test_signs_are_tossed_for_each_axis() -> None:
    noise = TableNoise(np.array([[0.0, 0.0], [0.0, 1.0]]))
    # One word a displacement picks it, one more has the two signs in its lowest bits.
    script = ScriptedBits([0, 0, 0, 0], octets=[0b00, 0b01, 0b10, 0b11])
    rows, columns = noise.draw(4, script)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(1, 1), (-1, 1), (1, -1), (-1, -1)]


def test_a_tie_in_a_table_is_settled_with_more_bits() -> None:
    # Of weights 1, 2 and 1 x 2 over 5 the first bound is 1/5 = 0.00110011...
    noise = TableNoise(np.array([[1.0, 1.0, 1.0]]))
    tie = 2**64 // 5
    for settling, column in ((0, 0), (LARGEST_WORD, 1)):
        script = ScriptedBits([tie, settling], octets=[0])
        assert noise.draw(1, script)[1].tolist() == [column]
        assert script.script == []


def test_displacements_of_a_truncated_mechanism_add_up_to_its_weights() -> None:
    # What is drawn, a displacement and a clamp, has exactly the weights that the promise is proven on.
    mechanism = TruncatedPlanarGeometric(Grid(3, 4), 0.7)
    quadrant = [[Fraction(number) for number in row] for row in mechanism._quadrant.tolist()]
    for index, (row, column) in enumerate(mechanism.alphabet.decode(np.arange(12)).tolist()):
        sums = [Fraction(0)] * 12
        for down in range(-2, 3):
            for along in range(-3, 4):
                place = min(max(row + down, 0), 2) * 4 + min(max(column + along, 0), 3)
                sums[place] += quadrant[abs(down)][abs(along)]
        weights = mechanism.weights(index)
        assert [Fraction(weight, sum(weights)) for weight in weights] == [part / sum(sums) for part in sums]


def test_the_unbounded_and_the_truncated_noise_are_the_same_but_for_the_shading() -> None:
    kernel = planar_geometric_kernel((6, 6), 0.5)
    reports = PlanarGeometric(Grid(2, 2), 0.5).privatize([(0, 0)] * 30_000, rng=8)
    for row, column in ((0, 0), (0, 1), (2, 2)):
        seen = int(((np.abs(reports[:, 0]) == row) & (np.abs(reports[:, 1]) == column)).sum())
        expected = 30_000 * kernel.cells[row, column] * (1 + (row > 0)) * (1 + (column > 0))
        assert abs(seen - expected) < 5 * math.sqrt(expected)

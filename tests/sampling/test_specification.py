"""The use of random bytes is that of docs/device.md: an independent reading of it gives the same reports.

What is below was written from the document alone, in plain integers and fractions, for one value at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from tests.cases import each

import confide as cf
from confide.mechanisms.sampling.bits import Bits, Octets

Probability = Callable[[int], int]
"""The first so many binary digits of a probability, as a number."""


@dataclass
class Tape(Bits):
    """Bytes in a row, from a seed, and how many were taken."""

    seed: int
    taken: int = 0
    tape: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.tape = np.random.default_rng(self.seed).bytes(2**14)

    def octets(self, count: int) -> Octets:
        drawn = self.tape[self.taken : self.taken + count]
        assert len(drawn) == count
        self.taken += count
        return np.frombuffer(drawn, dtype=np.uint8)

    def number(self, width: int) -> int:
        """Return an integer of so many bytes, the lowest first."""
        return int.from_bytes(self.octets(width).tobytes(), "little")


def exact_floor(x: Decimal) -> int:
    return int(x.to_integral_value(ROUND_FLOOR))


def ratio_above(x: Fraction) -> Fraction:
    bits = 64 + math.ceil(3 * x / 2)
    return Fraction(exact_floor((-as_real(x)).exp() * 2**bits) + 1, 2**bits)


def as_real(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def over_root_two(x: Fraction) -> Fraction:
    return Fraction(exact_floor(Decimal(x.numerator * 2**128) / Decimal(2).sqrt()), 2**128 * x.denominator)


def digits_of(p: Fraction) -> Probability:
    return lambda count: math.floor(p * 2**count)


def toss_together(coins: Sequence[Probability], tape: Tape) -> list[bool]:
    heads: dict[int, bool] = {}
    drawn = [tape.number(1) for _ in range(-(-len(coins) // 2))]
    halves = [half for octet in drawn for half in (octet & 15, octet >> 4)]
    seen, widths = 0, [(4, halves[: len(coins)])]
    left = list(range(len(coins)))
    while left:
        width, numbers = widths.pop() if widths else ((8, []) if seen == 4 else (64, []))
        numbers = numbers or [tape.number(width // 8) for _ in left]
        own = [coins[place](seen + width) % 2**width for place in left]
        for place, one, number in zip(left, own, numbers, strict=True):
            if number != one:
                heads[place] = number < one
        left, seen = [place for place in left if place not in heads], seen + width
    return [heads[place] for place in range(len(coins))]


def choose(weights: Sequence[int], tape: Tape) -> int:
    if len(weights) == 1:
        return 0
    bounds, total = list(accumulate(weights)), sum(weights)
    u, scale = tape.number(8), 2**64
    while any(u * total < bound * scale < (u + 1) * total for bound in bounds):
        u, scale = 2**64 * u + tape.number(8), scale * 2**64
    return sum(bound * scale <= u * total for bound in bounds)


def below(n: int, tape: Tape) -> int:
    if n == 1:
        return 0
    width = (n - 1).bit_length()
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    while True:
        number = tape.number(size) >> (8 * size - width)
        if number < n:
            return number


def geometric(r: Fraction, tape: Tape) -> int:
    depth = next(depth for depth in range(100) if power(r, 2**depth)(8) == 0)
    coins = [odds(r, 2**digit) for digit in range(depth)] + [power(r, 2**depth)]
    tossed = toss_together(coins, tape)
    number = sum(1 << digit for digit in range(depth) if tossed[digit])
    passes = tossed[-1]
    while passes:
        number += 1 << depth
        passes = toss_together(coins[-1:], tape)[0]
    return number


def power(r: Fraction, exponent: int) -> Probability:
    return lambda count: exact_floor(as_real(r) ** exponent * 2**count)


def odds(r: Fraction, exponent: int) -> Probability:
    def digits(count: int) -> int:
        s = as_real(r) ** exponent
        return exact_floor(s / (1 + s) * 2**count)

    return digits


def two_sided(r: Fraction, tape: Tape) -> int:
    return geometric(r, tape) - geometric(r, tape)


def clamp(number: int, size: int) -> int:
    return min(max(number, 0), size - 1)


def laplace_step(b: Fraction, tape: Tape) -> int:
    moves, steps, sign = toss_together([digits_of(b)], tape)[0], 1 + geometric(b * b, tape), tape.number(1)
    return 0 if not moves else -steps if sign & 1 else steps


def planar(rate: Fraction, tape: Tape) -> tuple[int, int]:
    r = ratio_above(over_root_two(rate))
    while True:
        down, along = two_sided(r, tape), two_sided(r, tape)
        u, width = tape.number(8), 64
        steps, distance = abs(down) + abs(along), Decimal(down * down + along * along).sqrt()
        if steps == 0:
            return 0, 0
        edge = (-as_real(rate) * distance).exp() / as_real(r) ** steps
        while u == exact_floor(edge * 2**width):
            u, width = 2**64 * u + tape.number(8), width + 64
        if u < exact_floor(edge * 2**width):
            return down, along


def unary(flip: Fraction, own: int, size: int, tape: Tape) -> list[bool]:
    bits = toss_together([digits_of(flip)] * size, tape)
    bits[own] = not bits[own]
    return bits


LINE, LONG, GRID = cf.Integers(0, 9), cf.Integers(0, 299), cf.Grid(4, 5, spacing=0.5)
PLANAR = cf.TruncatedPlanarLaplace(GRID, 0.6)
RATE = Fraction(0.3)


def rappor(tape: Tape) -> int:
    ratio = ratio_above(Fraction(1.5) / 2)
    return sum(1 << place for place, bit in enumerate(unary(ratio / (1 + ratio), 3, 10, tape)) if bit)


def packed(bits: list[bool]) -> int:
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def bits_of(number: int) -> set[int]:
    return {bit for bit in range(10) if number >> bit & 1}


def unary_of(is_set: set[int], tape: Tape) -> list[bool]:
    """Return a round of bits: all are tossed with flip, then those that were set anew with keep, in order."""
    tossed = toss_together([digits_of(Fraction(0.2))] * 10, tape)
    kept = toss_together([digits_of(1 - Fraction(0.75))] * len(is_set), tape)  # above 1/2: by the rarer side
    for place, heads in zip(sorted(is_set), kept, strict=True):
        tossed[place] = not heads
    return tossed


def randomized_response(tape: Tape, own: int = 3) -> int:
    ratio = ratio_above(Fraction(0.7))
    is_replaced, other = choose([ratio.denominator, 9 * ratio.numerator], tape), below(9, tape)
    return other + (other >= own) if is_replaced else own


def truncated_planar(tape: Tape) -> tuple[int, int]:
    table = PLANAR._integer_quadrant
    weights = [w * (1 + (i > 0)) * (1 + (j > 0)) for i, row in enumerate(table) for j, w in enumerate(row)]
    down, along = divmod(choose(weights, tape), 5)
    signs = tape.number(1)
    return clamp(1 + (-down if signs & 1 else down), 4), clamp(2 + (-along if signs & 2 else along), 5)


def truncated_taxicab(tape: Tape) -> tuple[int, int]:
    r = ratio_above(over_root_two(RATE))
    return choose(clamped(r, 1, 4), tape), choose(clamped(r, 2, 5), tape)


def clamped(r: Fraction, own: int, size: int) -> list[int]:
    tails = [r ** abs(z - own) * (1 if z in (0, size - 1) else 1 - r) for z in range(size)]
    common = math.lcm(*(one.denominator for one in tails))
    return [int(one * common) for one in tails]


def exponential_past_a_table(tape: Tape) -> int:
    while True:
        report = 3 + two_sided(ratio_above(RATE / 2), tape)
        if 0 <= report < 300:
            return report


SPECIFIED: dict[str, tuple[cf.Mechanism, Any, Callable[[Tape], Any]]] = {
    "randomized response": (cf.RandomizedResponse(LINE, 0.7), 3, randomized_response),
    "RAPPOR": (cf.Rappor(LINE, 1.5), 3, rappor),
    "unary encoding": (cf.Unary(LINE, 0.75, 0.2), 3, lambda tape: packed(unary_of({3}, tape))),
    "two rounds": (
        cf.TwoRounds(cf.TruncatedGeometric(LINE, 0.3), cf.RandomizedResponse(LINE, 0.7)),
        3,
        lambda tape: randomized_response(tape, choose(clamped(ratio_above(RATE), 3, 10), tape)),
    ),
    "two rounds of bits": (
        cf.TwoRounds(cf.Rappor(LINE, 1.5), cf.Unary(LINE, 0.75, 0.2)),
        3,
        lambda tape: packed(unary_of(bits_of(rappor(tape)), tape)),
    ),
    "a row of weights": (
        cf.TruncatedGeometric(LINE, 0.3),
        3,
        lambda tape: choose(clamped(ratio_above(RATE), 3, 10), tape),
    ),
    "noise past a table": (
        cf.TruncatedGeometric(LONG, 0.3),
        3,
        lambda tape: clamp(3 + two_sided(ratio_above(RATE), tape), 300),
    ),
    "geometric": (cf.Geometric(LINE, 0.3), 3, lambda tape: 3 + two_sided(ratio_above(RATE), tape)),
    "Laplace": (
        cf.Laplace(LINE, 0.3),
        3,
        lambda tape: 3 + two_sided(ratio_above(RATE / 2**16), tape) / 2**16,
    ),
    "Laplace past a table": (
        cf.TruncatedLaplace(LONG, 0.3),
        3,
        lambda tape: clamp(3 + laplace_step(ratio_above(RATE / 2), tape), 300),
    ),
    "taxicab": (
        cf.Taxicab(GRID, 0.6),
        (1, 2),
        lambda tape: (
            1 + two_sided(ratio_above(over_root_two(RATE)), tape),
            2 + two_sided(ratio_above(over_root_two(RATE)), tape),
        ),
    ),
    "truncated taxicab": (cf.TruncatedTaxicab(GRID, 0.6), (1, 2), truncated_taxicab),
    "truncated planar": (PLANAR, (1, 2), truncated_planar),
    "planar geometric": (
        cf.PlanarGeometric(GRID, 0.6),
        (1, 2),
        lambda tape: tuple(own + step for own, step in zip((1, 2), planar(RATE, tape), strict=True)),
    ),
    "planar Laplace": (
        cf.PlanarLaplace(GRID, 0.6),
        (1, 2),
        lambda tape: tuple(own + s / 2**12 for own, s in zip((1, 2), planar(RATE / 2**12, tape), strict=True)),
    ),
    "exponential past a table": (cf.Exponential(LONG, 0.3), 3, exponential_past_a_table),
}


@each("name", SPECIFIED)
def test_a_report_is_what_the_document_says(name: str) -> None:
    mechanism, value, specified = SPECIFIED[name]
    own = mechanism.alphabet.encode([value])
    with localcontext(prec=250):
        for seed in range(12):
            drawn, foreseen = Tape(seed), Tape(seed)
            report = mechanism._report(own, drawn)[0].tolist()
            expected = specified(foreseen)
            assert (tuple(report) if isinstance(report, list) else report) == expected
            assert drawn.taken == foreseen.taken

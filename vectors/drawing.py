"""The draws of docs/device.md, read a second time: plain integers and fractions, one value at a time, every step noted.

Nothing of confide is used here, so that what it draws is compared with another reading of the same document.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, count
from typing import Any

PRECISION = Context(prec=900)
"""Decimal digits: ratios of e^-700 have 1,114 binary ones, and coins compare some hundreds behind them."""

Digits = Callable[[int], int]
"""The first so many binary digits of a probability, as a number."""

Step = dict[str, Any]

MOST_TIES = 4
"""Ties in a row: of further ones nobody learns anything."""

LONGEST_LISTED = 160
"""Characters of weights up to which they are listed in a step."""


def exactly(work: Callable[[], Any]) -> Any:
    """Run work with enough decimal digits."""
    with localcontext(PRECISION):
        return work()


def stream(seed: str) -> Iterator[int]:
    """Yield bytes that a seed determines, in every version of every language: SHA-256 of it and a counter."""
    for number in count():
        yield from hashlib.sha256(f"{seed} {number}".encode()).digest()


@dataclass
class Tape:
    """Random bytes that are made as they are asked for, and the steps that they were spent on.

    With `ties` above 0, so many in 256 numbers are those that decide nothing, which chance would hardly ever give. The
    bytes are those of a `source`, or of a seed; a fresh round takes them from the `other` tape, where there is one.
    """

    seed: str
    ties: int = 0
    source: Iterator[int] | None = None
    other: Tape | None = None
    taken: bytearray = field(default_factory=bytearray)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._bytes, self._wishes = self.source or stream(f"{self.seed} bytes"), stream(f"{self.seed} wishes")
        self._in_a_row = 0

    def number(self, size: int, tie: int | None = None) -> int:
        """Return the next `size` bytes, the lowest first."""
        drawn = bytes(next(self._bytes) for _ in range(size))
        is_tie = tie is not None and next(self._wishes) < self.ties and self._in_a_row < MOST_TIES
        if tie is not None and is_tie:
            drawn = tie.to_bytes(size, "little")
        self._in_a_row = self._in_a_row + 1 if is_tie else 0
        self.taken += drawn
        return int.from_bytes(drawn, "little")

    def halves(self, ties: Sequence[int]) -> list[int]:
        """Return half a byte for each coin, the lower half first."""
        octets = [next(self._bytes) for _ in range(-(-len(ties) // 2))]
        drawn = [half for octet in octets for half in (octet & 15, octet >> 4)]
        for place, tie in enumerate(ties):
            if next(self._wishes) < self.ties:
                drawn[place] = tie
        self.taken += bytes(low | high << 4 for low, high in zip(drawn[::2], drawn[1::2], strict=True))
        return drawn[: len(ties)]

    @property
    def fresh(self) -> Tape:
        """Where a fresh round takes its bytes from."""
        return self.other or self

    def note(self, name: str, **facts: Any) -> None:
        """Note a step."""
        self.steps.append({"step": name} | facts)


# Numbers.


def floor_of(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_FLOOR))


def as_real(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


RATIOS: dict[Fraction, tuple[int, int]] = {}
"""Ratios that were asked for: numerator, and the power of two that is the denominator, by their exponent."""


def ratio_above(x: Fraction) -> Fraction:
    if x not in RATIOS:
        bits = 64 + math.ceil(3 * x / 2)
        RATIOS[x] = floor_of((-as_real(x)).exp() * 2**bits) + 1, bits
    numerator, bits = RATIOS[x]
    return Fraction(numerator, 2**bits)


def over_root_two(x: Fraction) -> Fraction:
    return Fraction(floor_of(Decimal(x.numerator * 2**128) / Decimal(2).sqrt()), 2**128 * x.denominator)


@cache
def _power(r: Fraction, exponent: int) -> Decimal:
    return as_real(r) ** exponent


def power(r: Fraction, exponent: int) -> Digits:
    return lambda length: floor_of(_power(r, exponent) * 2**length)


def odds(r: Fraction, exponent: int) -> Digits:
    return lambda length: floor_of(_power(r, exponent) / (1 + _power(r, exponent)) * 2**length)


def digits_of(p: Fraction) -> Digits:
    return lambda length: math.floor(p * 2**length)


def integers_of(numbers: Sequence[float]) -> list[int]:
    """Return doubles as integers over one common power of two."""
    exact = [Fraction(number) for number in numbers]
    common = max(one.denominator for one in exact)
    return [int(one * common) for one in exact]


def whole_weights(weights: Sequence[Fraction]) -> list[int]:
    common = math.lcm(*(one.denominator for one in weights))
    return [int(one * common) for one in weights]


# Draws.


def toss(coins: Sequence[Digits], tape: Tape) -> list[bool]:
    """Toss coins together."""
    firsts = [coin(4) for coin in coins]
    halves = tape.halves(firsts)
    heads = {place: half < own for place, (half, own) in enumerate(zip(halves, firsts, strict=True)) if half != own}
    left, seen = [place for place in range(len(coins)) if place not in heads], 4
    more: list[list[int | str]] = []
    for width in (8, 64):
        for place in left:
            own = coins[place](seen + width) % 2**width
            number = tape.number(width // 8, tie=own)
            more.append([place, f"{own:0{width // 4}x}", f"{number:0{width // 4}x}"])
            if number != own:
                heads[place] = number < own
        left, seen = [place for place in left if place not in heads], seen + width
    for place in left:
        heads[place] = _settle(coins[place], place, tape, more)
    shown = "".join(str(int(heads[place])) for place in range(len(coins)))
    digits, drawn = ("".join(f"{one:x}" for one in row) for row in (firsts, halves))
    tape.note("coins", digits=digits, drawn=drawn, more=more, heads=shown)
    return [heads[place] for place in range(len(coins))]


def _settle(coin: Digits, place: int, tape: Tape, more: list[list[int | str]]) -> bool:
    seen = 76
    while True:
        own = coin(seen + 64) % 2**64
        number = tape.number(8, tie=own)
        more.append([place, f"{own:016x}", f"{number:016x}"])
        if number != own:
            return number < own
        seen += 64


def choose(weights: Sequence[int], tape: Tape) -> int:
    """Draw one of several outcomes."""
    if len(weights) == 1:
        return 0
    bounds, total = list(accumulate(weights)), sum(weights)
    inner = bounds[:-1]
    wish = inner[int.from_bytes(hashlib.sha256(tape.seed.encode()).digest()[:4], "little") % len(inner)]
    u, scale, words = 0, 1, []
    while True:
        scale *= 2**64
        word = tape.number(8, tie=min(wish * scale // total, scale - 1) % 2**64)
        u = u * 2**64 + word
        words.append(f"{word:016x}")
        if not any(u * total < bound * scale < (u + 1) * total for bound in bounds):
            break
    outcome = sum(bound * scale <= u * total for bound in bounds)
    tape.note("outcome", **_shown(weights), words=words, outcome=outcome)
    return outcome


def _shown(weights: Sequence[int]) -> Step:
    """Return weights as a step has them: listed if that is short, else how many, and a digest of them."""
    common = math.gcd(*weights)
    texts = [f"{weight // common:x}" for weight in weights]
    if sum(map(len, texts)) <= LONGEST_LISTED:
        return {"weights": texts}
    return {"of": len(weights), "digest": hashlib.sha256(",".join(texts).encode()).hexdigest()[:16]}


def below(n: int, tape: Tape) -> int:
    """Draw a whole number below n."""
    if n == 1:
        return 0
    width, drawn = (n - 1).bit_length(), []
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    while True:
        octets = tape.number(size, tie=2 ** (8 * size) - 1)
        drawn.append(f"{octets:0{2 * size}x}")
        number = octets >> (8 * size - width)
        if number < n:
            tape.note("whole number", below=n, drawn=drawn, number=number)
            return number


def geometric(r: Fraction, tape: Tape) -> int:
    """Draw a geometric number."""
    depth = next(depth for depth in range(200) if power(r, 2**depth)(8) == 0)
    coins = [odds(r, 2**digit) for digit in range(depth)] + [power(r, 2**depth)]
    tossed = toss(coins, tape)
    number, passes = sum(1 << digit for digit in range(depth) if tossed[digit]), 0
    goes_on = tossed[-1]
    while goes_on:
        number, passes = number + (1 << depth), passes + 1
        goes_on = toss(coins[-1:], tape)[0]
    tape.note("geometric", digits=depth, passes=passes, number=number)
    return number


def two_sided(r: Fraction, tape: Tape) -> int:
    return geometric(r, tape) - geometric(r, tape)


def laplace_steps(b: Fraction, tape: Tape) -> int:
    """Draw the cells that Laplace noise moves by."""
    moves, steps, sign = toss([digits_of(b)], tape)[0], 1 + geometric(b * b, tape), tape.number(1)
    tape.note("signs", drawn=f"{sign:02x}")
    return 0 if not moves else -steps if sign & 1 else steps


def planar(rate: Fraction, tape: Tape) -> tuple[int, int]:
    """Draw planar noise over the whole lattice."""
    r = ratio_above(over_root_two(rate))
    while True:
        down, along = two_sided(r, tape), two_sided(r, tape)
        steps, distance = abs(down) + abs(along), Decimal(down * down + along * along).sqrt()
        edge = (-as_real(rate) * distance).exp() / _power(r, steps)
        u, words = 0, []
        for length in count(64, 64):
            own = min(floor_of(edge * 2**length), 2**length - 1)
            word = tape.number(8, tie=own % 2**64)
            u = u * 2**64 + word
            words.append(f"{word:016x}")
            if steps == 0 or u != own:
                break
        is_kept = steps == 0 or u < own
        tape.note("proposal", move=[down, along], edge=f"{own:0{length // 4}x}", words=words, kept=is_kept)
        if is_kept:
            return down, along


def table_noise(quadrant: Sequence[Sequence[float]], tape: Tape) -> tuple[int, int]:
    """Draw a displacement from a table over one quadrant."""
    width = len(quadrant[0])
    weights = integers_of([one for row in quadrant for one in row])
    copies = [weight * (1 + (place >= width)) * (1 + (place % width > 0)) for place, weight in enumerate(weights)]
    down, along = divmod(choose(copies, tape), width)
    signs = tape.number(1)
    tape.note("signs", drawn=f"{signs:02x}")
    return (-down if signs & 1 else down), (-along if signs & 2 else along)

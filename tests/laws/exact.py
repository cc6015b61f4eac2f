"""Laws as plain functions in exact arithmetic, so that a broken mechanism can be shown to break them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Integers
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.mechanisms import Mechanism
from confide.metrics import Euclidean

Pair = tuple[int, int]

LARGEST_FOR_ALL_PAIRS = 100
"""Up to this many values every pair is compared; past it some neighbours and the two ends."""


def exp_bounds(exponent: Fraction, precision: int = 256) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^exponent for an exponent of at least zero, by interval arithmetic on integers.

    The exponent is halved until it is below 1/2, the series is summed there, and the sum is squared back. Every
    operation rounds down for the lower and up for the upper bound, so both are proven, whatever the precision.
    """
    halvings = max(0, math.ceil(exponent)).bit_length() + 1
    reduced = exponent / 2**halvings
    low, high = _series_bounds(reduced, precision)
    for _ in range(halvings):
        low, high = _cut(low * low, precision, up=False), _cut(high * high, precision, up=True)
    return low, high


def _series_bounds(reduced: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    one = 1 << precision
    x_low, x_high = math.floor(reduced * one), math.ceil(reduced * one)
    low = high = term_low = term_high = one
    for k in range(1, precision):
        term_low = (term_low * x_low) // (one * k)
        term_high = -((-term_high * x_high) // (one * k))
        low, high = low + term_low, high + term_high
    # Beyond term k each next term is less than half of it, so the rest of the series is less than the last term.
    return Fraction(low, one), Fraction(high + term_high, one)


def _cut(number: Fraction, precision: int, *, up: bool) -> Fraction:
    shift = number.numerator.bit_length() - number.denominator.bit_length() - precision
    scaled = number / Fraction(2) ** shift
    return (math.ceil(scaled) if up else math.floor(scaled)) * Fraction(2) ** shift


def exact_bound(guarantee: Guarantee, alphabet: Alphabet, left: int, right: int) -> Fraction | None:
    """Return the promised log-ratio between two values with no rounding, or None where nothing is promised."""
    if left == right:
        return Fraction(0)
    if isinstance(guarantee, LocalDP):
        return None if math.isinf(guarantee.epsilon) else Fraction(guarantee.epsilon)
    assert isinstance(guarantee, MetricPrivacy), f"teach exact_bound what {type(guarantee).__name__} promises"
    assert isinstance(guarantee.metric, Euclidean)
    assert isinstance(alphabet, Integers), "teach exact_bound the distances of this alphabet"
    return Fraction(guarantee.epsilon) * Fraction(guarantee.metric.spacing) * abs(left - right)


def pairs_to_prove(size: int) -> Iterable[Pair]:
    """Return which ordered pairs of values to compare."""
    if size <= LARGEST_FOR_ALL_PAIRS:
        return permutations(range(size), 2)
    middle = size // 2
    forth = [(0, 1), (middle, middle + 1), (size - 2, size - 1), (0, size - 1)]
    return [*forth, *((right, left) for left, right in forth)]


def assert_promise_kept(mechanism: Mechanism) -> None:
    """Prove P(z | x) <= e^bound(x, y) P(z | y) for every output z, on the very weights that reports are drawn from."""
    pairs = list(pairs_to_prove(mechanism.alphabet.size))
    rows = {index: mechanism.weights(index) for index in sorted({x for x, _ in pairs})}
    totals = {index: sum(row) for index, row in rows.items()}
    low, high = _shortened(rows)
    factor_below = cache(lambda bound: exp_bounds(bound)[0])
    for x, y in pairs:
        bound = exact_bound(mechanism.guarantee, mechanism.alphabet, x, y)
        if bound is not None:
            _assert_ratio(high[x], low[y], factor_below(bound), (totals[x], totals[y]), (x, y))


def _shortened(rows: Mapping[int, Sequence[int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the weights rounded down and up to some 300 bits, column by column: the proof stays one, and is quick."""
    columns = zip(*rows.values(), strict=True)
    shifts = [max(0, min((w for w in column if w), default=1).bit_length() - 300) for column in columns]
    low = {index: [w >> shift for w, shift in zip(row, shifts, strict=True)] for index, row in rows.items()}
    high = {index: [-(-w >> shift) for w, shift in zip(row, shifts, strict=True)] for index, row in rows.items()}
    return low, high


def _assert_ratio(
    left: Sequence[int], right: Sequence[int], factor: Fraction, totals: tuple[int, int], pair: Pair
) -> None:
    same = totals[0] == totals[1]  # then they need not be multiplied by
    up, down = factor.numerator * (1 if same else totals[0]), factor.denominator * (1 if same else totals[1])
    for output, (one, other) in enumerate(zip(left, right, strict=True)):
        assert one * down <= other * up, f"output {output} tells values {pair} apart by more than the promise"


def assert_channel_is_weights(mechanism: Mechanism, roundings: int) -> None:
    """Check the channel's floats against the exact weights.

    They may be off by a few roundings, plus `roundings` for each step between value and output.
    """
    dense = mechanism.channel.dense()
    values, outputs = dense.shape
    for x in _some_rows(values):
        row = mechanism.weights(x)
        assert len(row) == outputs
        total = sum(row)
        for z, weight in enumerate(row):
            _assert_close(float(dense[x, z]), weight, total, 8 + roundings * abs(x - z))


def _some_rows(values: int) -> Iterable[int]:
    return range(values) if values <= 20 else (0, 1, values // 2, values - 2, values - 1)


def _assert_close(number: float, weight: int, total: int, units: int) -> None:
    if weight == 0 or (weight << 1000) < total:  # the latter may well be a subnormal float or zero
        assert 0 <= number <= 2.0**-999
        return
    up, down = number.as_integer_ratio()
    assert abs(up * total - weight * down) << 53 <= units * weight * down


def random_distributions(size: int, shape: tuple[int, ...] = (), seed: int = 0) -> NDArray[np.float64]:
    """Return distributions over `size` values, some of their entries tiny."""
    drawn = np.random.default_rng(seed).gamma(0.3, size=(*shape, size)) + 1e-12
    scaled: NDArray[np.float64] = drawn / drawn.sum(axis=-1, keepdims=True)
    return scaled

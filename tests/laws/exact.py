"""Laws as plain functions in exact arithmetic, so that a broken mechanism can be shown to break them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from confide.mechanisms import Mechanism
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy, ProductGuarantee
from confide.values import Alphabet, Attributes, Bins, Circle, Grid, Integers
from confide.values.metrics import Circular, Discrete, Euclidean, Metric, SumMetric, Uneven

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
        low, high = cut(low * low, precision, up=False), cut(high * high, precision, up=True)
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


def cut(number: Fraction, precision: int, *, up: bool) -> Fraction:
    """Return the number with all but its leading bits cut off, downwards or upwards."""
    shift = number.numerator.bit_length() - number.denominator.bit_length() - precision
    scaled = number / Fraction(2) ** shift
    return (math.ceil(scaled) if up else math.floor(scaled)) * Fraction(2) ** shift


def exact_bound(guarantee: Guarantee, alphabet: Alphabet, left: int, right: int) -> Fraction | None:
    """Return the promised log-ratio between two values, or None where nothing is promised.

    Exact where it is rational; the length of a diagonal is rounded down, by less than 2^-200 of it.
    """
    if left == right:
        return Fraction(0)
    if isinstance(guarantee, LocalDP):
        return None if math.isinf(guarantee.epsilon) else Fraction(guarantee.epsilon)
    if isinstance(guarantee, ProductGuarantee):
        return _bound_of_parts(guarantee, alphabet, left, right)
    assert isinstance(guarantee, MetricPrivacy), f"teach exact_bound what {type(guarantee).__name__} promises"
    return Fraction(guarantee.epsilon) * distance_below(guarantee.metric, alphabet, left, right)


def _bound_of_parts(guarantee: ProductGuarantee, alphabet: Alphabet, left: int, right: int) -> Fraction | None:
    assert isinstance(alphabet, Attributes)
    each = zip(guarantee.parts, alphabet.alphabets, *_numbers(alphabet, left, right), strict=True)
    bounds = [exact_bound(part, own, one, other) for part, own, one, other in each]
    return None if None in bounds else sum(filter(None, bounds), Fraction(0))


def _numbers(alphabet: Attributes, left: int, right: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the parts of two values, written anew."""
    shape = [part.size for part in alphabet.alphabets]
    one, other = (list(map(int, np.unravel_index(number, shape))) for number in (left, right))
    return one, other


def _middle(bins: Bins, number: int) -> Fraction:
    """Return the middle of a bin; of an open one, as if it were as wide as its neighbour."""
    edges = list(bins.edges)
    if bins.below:
        edges.insert(0, 2 * edges[0] - edges[1])
    if bins.above:
        edges.append(2 * edges[-1] - edges[-2])
    return (edges[number] + edges[number + 1]) / 2


def distance_below(metric: Metric, alphabet: Alphabet, left: int, right: int) -> Fraction:
    """Return the distance between two values by their numbers, written anew from what the metric is called."""
    if isinstance(metric, Discrete):
        return Fraction(int(left != right))
    if isinstance(metric, SumMetric):
        assert isinstance(alphabet, Attributes)
        each = zip(metric.metrics, alphabet.alphabets, *_numbers(alphabet, left, right), strict=True)
        return sum((distance_below(*one) for one in each), Fraction(0))
    if isinstance(alphabet, Circle):
        assert metric == Circular(alphabet.size)
        return Fraction(min((left - right) % alphabet.size, (right - left) % alphabet.size))
    if isinstance(metric, Uneven):
        assert isinstance(alphabet, Bins)
        return abs(_middle(alphabet, left) - _middle(alphabet, right))
    assert isinstance(metric, Euclidean), f"teach distance_below what {type(metric).__name__} is"
    assert isinstance(alphabet, Integers | Grid), "teach distance_below where these values lie"
    points = alphabet.decode([left, right]).reshape(2, -1).tolist()
    square = sum((here - there) ** 2 for here, there in zip(*points, strict=True))
    return Fraction(metric.spacing) * Fraction(math.isqrt(square << 512), 1 << 256)


def pairs_to_prove(size: int) -> Iterable[Pair]:
    """Return which ordered pairs of values to compare."""
    if size <= LARGEST_FOR_ALL_PAIRS:
        return permutations(range(size), 2)
    middle = size // 2
    forth = [(0, 1), (middle, middle + 1), (size - 2, size - 1), (0, size - 1), (0, math.isqrt(size))]
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
    steps = _steps(mechanism)
    for x in _some_rows(values):
        row = mechanism.weights(x)
        assert len(row) == outputs
        total = sum(row)
        for z, weight in enumerate(row):
            _assert_close(float(dense[x, z]), weight, total, 8 + roundings * int(steps[x, z]))


def _steps(mechanism: Mechanism) -> NDArray[np.int64]:
    """Return how many steps lie between each value and each output, along the axes; many where outputs are merged."""
    values, reports = mechanism.alphabet, mechanism.report_alphabet
    if values != reports or not isinstance(values, Integers | Grid):
        return np.full((values.size, reports.size), values.size + reports.size)
    points = values.coordinates
    steps: NDArray[np.int64] = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=-1).astype(np.int64)
    return steps


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

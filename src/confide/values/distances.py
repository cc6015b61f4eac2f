"""Distances between distributions.

>>> from confide import Integers
>>> emd([1, 0, 0], [0, 0, 1], Integers(0, 2))
2.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError, SolverError
from confide.values import (
    Alphabet,
    Attributes,
    Categories,
    Coordinates,
    Grid,
    LineGeometry,
    PlaneGeometry,
    RingGeometry,
    UnorderedGeometry,
)
from confide.values.checks import as_distribution, require_kinds, size_of
from confide.values.limits import LARGEST_SQUARE


def emd(left: ArrayLike, right: ArrayLike, alphabet: Alphabet) -> float:
    """Earth mover's distance: the least work that turns one distribution into the other, in units of distance.

    Exact: the difference of cumulative sums on a line, a transport problem on a grid, total variation on
    categories, where every two values are at distance one.

    >>> from confide import Integers
    >>> emd([1, 0, 0], [0, 0.5, 0.5], Integers(0, 2, unit="year"))
    1.5
    """
    require_kinds(emd, locals())
    p = as_distribution(left, alphabet.size, "left distribution")
    q = as_distribution(right, alphabet.size, "right distribution")
    if isinstance(alphabet.geometry, LineGeometry):
        if alphabet.positions is not None:
            return float(alphabet.geometry.gaps @ np.abs(np.cumsum(p - q)[:-1]))
        return float(alphabet.spacing * np.abs(np.cumsum(p - q)[:-1]).sum())
    if isinstance(alphabet.geometry, RingGeometry):
        # What flows over each step, less what flows all around: the median makes the least of it (Werman et al., 1986).
        flows = np.cumsum(p - q)
        return float(np.abs(flows - np.median(flows)).sum())
    if isinstance(alphabet.geometry, UnorderedGeometry):
        return total_variation(p, q)
    if isinstance(alphabet.geometry, PlaneGeometry):
        return _transport(p, q, alphabet)
    raise InvalidParameterError(f"No earth mover's distance is known on {alphabet!r}.")


def has_emd(alphabet: Alphabet) -> bool:
    """Whether :func:`emd` can be computed on this alphabet.

    >>> from confide import Grid, Integers
    >>> has_emd(Integers(0, 9)), has_emd(Grid(1000, 1000))
    (True, False)
    """
    if isinstance(alphabet.geometry, PlaneGeometry):
        return alphabet.size <= LARGEST_SQUARE
    return isinstance(alphabet.geometry, LineGeometry | UnorderedGeometry | RingGeometry)


def total_variation(left: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference in probability over all sets of values.

    >>> total_variation([0.5, 0.5], [0.75, 0.25])
    0.25
    """
    p, q = _pair(left, right)
    return float(np.abs(p - q).sum() / 2)


def kl_divergence(left: ArrayLike, right: ArrayLike) -> float:
    """Kullback-Leibler divergence of `right` from `left`, in nats; infinite if `right` rules out what `left` has.

    >>> round(kl_divergence([1.0, 0.0], [0.5, 0.5]), 4)
    0.6931
    """
    p, q = _pair(left, right)
    present = p > 0
    if (q[present] == 0).any():
        return float("inf")
    # Rounding can take the sum of two nearly equal distributions below zero, where no divergence lies.
    return max(0.0, float((p[present] * np.log(p[present] / q[present])).sum()))


def hellinger(left: ArrayLike, right: ArrayLike) -> float:
    """Hellinger distance, between 0 and 1.

    >>> hellinger([1.0, 0.0], [0.0, 1.0])
    1.0
    """
    p, q = _pair(left, right)
    return float(np.linalg.norm(np.sqrt(p) - np.sqrt(q)) / np.sqrt(2))


def _pair(left: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sizes = size_of(left, "left distribution"), size_of(right, "right distribution")
    if sizes[0] != sizes[1]:
        raise InvalidDistributionError(f"Two distributions must have the same length; got {sizes[0]} and {sizes[1]}.")
    return as_distribution(left, sizes[0], "left distribution"), as_distribution(right, sizes[0], "right distribution")


def _transport(p: NDArray[np.float64], q: NDArray[np.float64], alphabet: Alphabet) -> float:
    # Mass that stays where it is costs nothing, so only the surplus has to travel (for any metric ground distance).
    surplus, deficit = np.maximum(p - q, 0), np.maximum(q - p, 0)
    sources, sinks = np.flatnonzero(surplus), np.flatnonzero(deficit)
    if sources.size == 0 or sinks.size == 0:
        return 0.0
    if alphabet.size > LARGEST_SQUARE:
        raise InvalidParameterError(
            f"An exact EMD over {alphabet.size:,} cells does not fit; at most {LARGEST_SQUARE:,}. Merge cells first."
        )
    points = alphabet.coordinates
    cost = alphabet.metric.between(points[sources][:, None], points[sinks][None])
    moved, taken = float(surplus.sum()), float(deficit.sum())
    shares = surplus[sources] / moved, deficit[sinks] / taken
    value, log = _load_pot().emd2(*shares, np.ascontiguousarray(cost), numItermax=50_000_000, log=True)
    # POT merely warns when it runs out of iterations, and returns a wrong value.
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"The transport solver did not finish ({log['warning']}); no EMD is given.")
    return moved * float(value)


def _load_pot() -> Any:
    try:
        import ot  # takes two seconds, so only where it is needed
    except ImportError:
        raise MissingExtraError("POT", "The earth mover's distance on a grid", "planar") from None
    return ot


FloatArray = NDArray[np.float64]


def pairs_of(alphabet: Alphabet) -> list[tuple[int, int]]:
    """Return pairs of values to speak about, by their numbers: neighbours, a middling and a far pair where there are.

    >>> from confide.values import Integers
    >>> pairs_of(Integers(0, 99))
    [(30, 31), (30, 35), (30, 80)]
    """
    if isinstance(alphabet, Categories):
        return [(0, 1)]
    if not alphabet.is_finite:
        return _unbounded_pairs(alphabet)
    if isinstance(alphabet, Grid):
        # Pairs along the grid's longer side, through its middle; beside holes, cells about as far apart.
        along = int(alphabet.columns >= alphabet.rows)
        steps = _line_pairs(alphabet.shape[along], 0)
        if not alphabet.holes:  # every cell is there, so that none has to be looked for among all of them
            return [(_number(alphabet, along, left), _number(alphabet, along, right)) for left, right in steps]
        points = alphabet.coordinates - (alphabet.first_row, alphabet.first_column)
        start = int(np.argmin(_lengths(points - _on_axis(alphabet, along, steps[0][0]))))
        found = (_partner(points, start, right - left, _on_axis(alphabet, along, right)) for left, right in steps)
        return list(dict.fromkeys((start, other) for other in found))

    if isinstance(alphabet, Attributes):
        # Pairs that differ in one attribute, each in turn, and in all of them.
        ends = [_middling(one) for one in alphabet.alphabets]
        left, right = [one for one, _ in ends], [other for _, other in ends]
        changed = [[*left[:place], right[place], *left[place + 1 :]] for place in range(len(ends))]
        pairs = [(alphabet.join(left), alphabet.join(other)) for other in [*changed, right]]
        return list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))

    return _line_pairs(alphabet.size, int(alphabet.decode(0)))


def _unbounded_pairs(alphabet: Alphabet) -> list[tuple[int, int]]:
    """Return pairs of an unbounded alphabet, which has no far end to measure by: one, five and fifty steps apart."""
    if isinstance(alphabet, Coordinates):  # a step is a metre or so: a hundred, a thousand and five thousand are told
        row, column = alphabet.take([alphabet.bounds.middle])[0].tolist()
        steps = [round(distance / alphabet.spacing) for distance in alphabet.told_distances]
        first, *others = alphabet.encode([(row, column + step) for step in (0, *steps)]).tolist()
        return [(first, other) for other in others]
    is_line = len(alphabet.field_names) == 1
    numbers = alphabet.encode([0, 1, 5, 50] if is_line else [(0, 0), (0, 1), (0, 5), (0, 50)]).tolist()
    return [(numbers[0], other) for other in numbers[1:]]


def _middling(alphabet: Alphabet) -> tuple[int, int]:
    """Return two values that are neither next to each other nor far apart, where there are so many."""
    if alphabet.size < 2:
        return 0, 0
    pairs = pairs_of(alphabet)
    return pairs[len(pairs) // 2]


def _number(grid: Grid, along: int, place: int) -> int:
    row, column = _on_axis(grid, along, place)
    return row * grid.columns + column


def _on_axis(grid: Grid, along: int, place: int) -> tuple[int, int]:
    middle = grid.shape[1 - along] // 2
    return (middle, place) if along else (place, middle)


def _partner(points: FloatArray, start: int, step: int, wanted: tuple[int, int]) -> int:
    """Return the cell whose distance from the start comes closest to `step`, and among equals lies where wanted."""
    misfit = np.abs(_lengths(points - points[start]) - step) + 1e-6 * _lengths(points - wanted)
    misfit[start] = np.inf
    return int(np.argmin(misfit))


def _lengths(differences: FloatArray) -> FloatArray:
    return np.hypot(differences[:, 0], differences[:, 1])


def _line_pairs(size: int, offset: int) -> list[tuple[int, int]]:
    steps = sorted({1, _round_number(size / 20), _round_number(size / 2)})
    # The nearer value is a round number as people write it, about three tenths along.
    grain = _round_number(size / 20)
    start = round((offset + 0.3 * (size - 1)) / grain) * grain - offset
    start = min(max(start, 0), size - 1 - steps[-1])
    return [(start, start + step) for step in steps]


def _round_number(amount: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50, ... that is not above the amount; at least 1."""
    if amount < 1:
        return 1
    power = int(10 ** math.floor(math.log10(amount)))
    return max(digit * power for digit in (1, 2, 5) if digit * power <= amount)

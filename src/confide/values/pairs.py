"""Pairs of an alphabet's values by which a promise is explained: round numbers, near and far apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from confide.values import Alphabet, Attributes, Categories, Coordinates, Grid

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

"""Family of unlike shapes that a plan is made over where there is no guess."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from confide.channels.base import FloatArray
from confide.values import Alphabet
from confide.values.metrics import Discrete

PEAKED, TWO_HUMPS, FALLING, SPIKY, ROUGH, UNIFORM = "peaked", "two humps", "falling", "spiky", "rough", "uniform"

SHAPES = (PEAKED, TWO_HUMPS, FALLING, SPIKY, ROUGH, UNIFORM)
"""Smooth and easy to strange and hard; between the ends lie all truths of `python -m benchmarks.plans`.

Spiky and rough are both needed: at 0.05 per year a few strong spikes are the hardest (an EMD of 2.2 years with 50,000
people, against 1.4 for many weak ones), at 0.2 per year many weak ones (0.7 against 0.4).
"""


ALIKE = 1e-6
"""Shapes closer than this in total variation are one: two humps on two values are uniform."""


def family(alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return unlike distributions over an alphabet by their names; those that come out the same only once.

    >>> from confide import Categories, Integers
    >>> list(family(Integers(0, 99)))
    ['peaked', 'two humps', 'falling', 'spiky', 'rough', 'uniform']
    >>> list(family(Categories(["yes", "no"])))
    ['peaked', 'two humps', 'falling', 'spiky', 'rough']
    """
    found: dict[str, FloatArray] = {}
    for name in SHAPES:
        shape = draw_shape(name, alphabet)
        if all(np.abs(shape - other).sum() / 2 > ALIKE for other in found.values()):
            found[name] = shape
    return found


def draw_shape(name: str, alphabet: Alphabet) -> FloatArray:
    """Return one shape of the family over an alphabet: by places where there are some, else by rank.

    Several attributes are independent, and each has the shape.
    """
    if alphabet.attributes is not None:
        shares: FloatArray = np.ones(1)
        for one in alphabet.attributes.alphabets:
            shares = np.multiply.outer(shares, draw_shape(name, one)).reshape(-1)
        return _as_shares(shares)
    has_places = alphabet.metric != Discrete()
    weights = _by_place(name, alphabet.coordinates) if has_places else _by_rank(name, alphabet.size)
    return _as_shares(weights)


def _by_place(name: str, coordinates: FloatArray) -> FloatArray:
    """Return weights on a line or in a plane, brought to the unit square; lengths are parts of its side."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    places: FloatArray = (coordinates - low) / np.maximum(high - low, 1.0)
    if name == PEAKED:
        return _hill(places, 0.4, 0.08)
    if name == TWO_HUMPS:
        return 0.55 * _hill(places, 0.25, 0.07) + 0.45 * _hill(places, 0.75, 0.07)
    if name == FALLING:
        return np.asarray(np.exp(-places.sum(axis=1) / 0.2))
    if name in (SPIKY, ROUGH):  # a tenth or a quarter of the values stand out of a broad hill
        size = len(places)
        # Of few values two stand out well enough to be found: the hardest on 30 cells is a third of them.
        few = max(min(8, size // 2), min(12, size // 3), 1)
        share, number = (0.9, max(2, size // 10)) if name == SPIKY else (0.8, max(few, size // 4))
        return share * _spikes(size, number) + (1 - share) * _hill(places, 0.5, 0.3)
    return np.full(len(places), 1.0)


def _hill(places: FloatArray, centre: float, width: float) -> FloatArray:
    """Return a normal density's weights, one in all; in a plane the same along both axes."""
    logs = -0.5 * ((places - centre) ** 2).sum(axis=1) / width**2
    return _as_shares(np.exp(logs - logs.max()))  # where values are few, none may lie near the centre


def _spikes(size: int, number: int) -> FloatArray:
    """Return uneven spikes scattered over the values, and nothing between them; one in all."""
    ranks = np.arange(1.0, number + 1)
    spikes = np.zeros(size)
    # (math.sqrt(5) - 1) / 2: multiples of it, less their whole parts, spread over the unit interval without a pattern.
    np.add.at(spikes, (ranks * ((math.sqrt(5) - 1) / 2) % 1 * size).astype(np.int64), ranks**-0.5)
    return _as_shares(spikes)


def _as_shares(weights: Any) -> FloatArray:
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _by_rank(name: str, size: int) -> FloatArray:
    """Return weights where neighbours mean nothing, so that only how often each value occurs makes a shape."""
    ranks = np.arange(1.0, size + 1)
    if name == FALLING:
        return size + 1 - ranks
    if name == ROUGH:  # from common to 400 times as rare
        return np.asarray(np.exp(-6 * ranks / size))
    leading = {PEAKED: 1, TWO_HUMPS: 2, SPIKY: math.ceil(size / 3)}.get(name, size)
    share = 1.0 if name == SPIKY else 0.7  # a third of the values are all that occur, or one or two lead
    return np.asarray(np.where(ranks <= leading, share / leading, (1 - share) / max(1, size - leading)))

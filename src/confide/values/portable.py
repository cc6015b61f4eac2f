"""Arithmetic with the same bits on every machine: what devices share is made of it.

IEEE 754 fixes the result of + - * / and sqrt to the last bit. It leaves exp, sin and the order of a sum to the
library, and numpy, BLAS and the C library choose by processor. So tables of weights and bounds of places use the
functions here. Arrays go through elementwise + - * / and sqrt in a fixed order; single numbers through decimals,
whose exp is correctly rounded by its specification.

>>> float(exp_minus(1.0))
0.36787944117144233
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

PARTS_BITS = 6
PARTS = 2**PARTS_BITS
"""Steps to a factor of two: the rest of the exponent is below ln 2 / 128, where five terms of the series suffice."""

BATCH = 2**14
"""Numbers worked on at a time: they stay in the processor's cache, which is five times as fast."""

_CONTEXT = Context(prec=50)
_LN2 = _CONTEXT.ln(Decimal(2))
_STEP = float(_CONTEXT.divide(_LN2, Decimal(PARTS)))
_STEP_HIGH = round(_STEP * 2**40) / 2**40  # few enough bits that its multiples are exact
_STEP_LOW = float(_CONTEXT.subtract(_CONTEXT.divide(_LN2, Decimal(PARTS)), Decimal(_STEP_HIGH)))


def exp_minus(exponents: ArrayLike) -> FloatArray:
    """Return e^-x for each x from 0 to 700, to about one unit in the last place."""
    given = np.asarray(exponents, dtype=np.float64)
    flat = given.reshape(-1)
    faded = np.empty(flat.size)
    for start in range(0, flat.size, BATCH):
        faded[start : start + BATCH] = _exp_minus(flat[start : start + BATCH])
    return faded.reshape(given.shape)


def _exp_minus(given: FloatArray) -> FloatArray:
    steps = np.rint(given * (1 / _STEP))
    rest = given - steps * _STEP_HIGH
    rest -= steps * _STEP_LOW
    series = rest * (-1 / 120)
    for coefficient in (1 / 24, -1 / 6, 1 / 2, -1.0):
        # One operation a line: a fused multiply-add would round once where this rounds twice.
        series += coefficient
        series *= rest
    series += 1.0
    numbers = steps.astype(np.int64)
    fractions, halvings = _powers()
    series *= fractions[numbers & (PARTS - 1)]
    series *= halvings[numbers >> PARTS_BITS]
    return series


def total(terms: FloatArray, axis: int = 0) -> FloatArray:
    """Add up along one axis by halves, in an order that depends on the number of terms alone.

    >>> total(np.arange(12.0).reshape(3, 4), axis=1).tolist()
    [6.0, 22.0, 38.0]
    """
    parts = np.moveaxis(terms, axis, 0)
    while (count := len(parts)) > 1:
        half = count // 2
        folded = parts[:half] + parts[half : 2 * half]
        parts = np.concatenate([folded, parts[2 * half :]]) if count % 2 else folded
    added: FloatArray = parts[0]
    return added


def length(*parts: FloatArray) -> FloatArray:
    """Return the square root of the sum of squares: np.hypot, but the same everywhere.

    >>> float(length(np.array(3.0), np.array(4.0)))
    5.0
    """
    squares = parts[0] * parts[0]
    for part in parts[1:]:
        squares = squares + part * part
    return np.sqrt(squares)


@lru_cache(maxsize=64)  # one table asks three times for the same decay, and decimals are slow
def one_minus_exp_minus(exponent: float) -> float:
    """Return 1 - e^-x, correctly rounded however small x is.

    >>> one_minus_exp_minus(1e-20)
    1e-20
    """
    return float(_CONTEXT.subtract(Decimal(1), _CONTEXT.exp(Decimal(-exponent))))


def sine(angle: float) -> float:
    """Return the sine of an angle in radians between -2 and 2, correctly rounded.

    >>> sine(0.5)
    0.479425538604203
    """
    return _series(Decimal(angle), 1, angle)


def cosine(angle: float) -> float:
    """Return the cosine of an angle in radians between -2 and 2, correctly rounded.

    >>> cosine(0.5)
    0.8775825618903728
    """
    return _series(Decimal(1), 0, angle)


def _series(term: Decimal, order: int, angle: float) -> float:
    """Add up x^n / n! with alternating signs, every second n from `order` on."""
    square = _CONTEXT.multiply(Decimal(angle), Decimal(angle))
    found = term
    while term and abs(term) > Decimal("1e-40"):
        term = _CONTEXT.divide(_CONTEXT.multiply(term, -square), Decimal((order + 1) * (order + 2)))
        found, order = _CONTEXT.add(found, term), order + 2
    return float(found)


@cache
def _powers() -> tuple[FloatArray, FloatArray]:
    """Return 2^(-part / 64), correctly rounded, and 2^-whole."""
    steps = (_CONTEXT.divide(_CONTEXT.multiply(_LN2, Decimal(-part)), Decimal(PARTS)) for part in range(PARTS))
    fractions = np.array([float(_CONTEXT.exp(step)) for step in steps])
    # 700: largest exponent, before float64 ends.
    return fractions, np.array([math.ldexp(1.0, -whole) for whole in range(700 * 3 // 2)])

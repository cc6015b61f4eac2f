"""Rational stand-ins for e^-x that err on the private side only."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_CONTEXT = Context(prec=120)
_DECIMAL_ERROR = Decimal("1e-40")
"""Far more than the error of 120 correct digits, far less than one unit of the result."""


def ratio_above(exponent: Fraction) -> Fraction:
    """Return a dyadic fraction just above e^-exponent.

    >>> ratio_above(Fraction(1)) > Fraction(math.exp(-1)) - Fraction(1, 2**50)
    True
    >>> float(ratio_above(Fraction(1))) == math.exp(-1)
    True
    """
    # 64: A ratio exceeds e^-x by less than two parts in 2^64, so the noise is stronger than promised by no more.
    fraction_bits = 64 + math.ceil(exponent * 3 / 2)  # log2(e) < 3/2
    scaled = _CONTEXT.multiply(_exponential(exponent, _CONTEXT), Decimal(2**fraction_bits))
    above = int(_CONTEXT.add(scaled, _DECIMAL_ERROR)) + 1
    return Fraction(above, 2**fraction_bits)


def log_of(ratio: Fraction) -> float:
    """Return the logarithm of a ratio between 0 and 1 to full relative accuracy, however close to 1 it is.

    >>> log_of(1 - Fraction(1, 10**12)) == math.log1p(-1e-12)
    True
    """
    return math.log1p(-float(1 - ratio)) if ratio > Fraction(1, 2) else math.log(ratio)


def over_root_two(number: Fraction) -> Fraction:
    """Return a fraction just below number / sqrt(2), to about 100 bits.

    >>> float(over_root_two(Fraction(1))) == 0.5**0.5
    True
    """
    scale = 2**128 * number.denominator
    return Fraction(math.isqrt((number.numerator * 2**128) ** 2 // 2), scale)


def exponential_bounds(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Return integers around e^-exponent times 2^precision, for an exponent of at least 0.

    >>> low, high = exponential_bounds(Fraction(1), 10)
    >>> low <= math.exp(-1) * 1024 <= high, high - low <= 3
    (True, True)
    """
    context = Context(prec=30 + precision // 3)
    scaled = context.multiply(_exponential(exponent, context), Decimal(2**precision))
    return int(scaled) - 1 if scaled > 1 else 0, int(scaled) + 2


def power_bounds(ratio: Fraction, exponent: int, precision: int) -> tuple[int, int]:
    """Return integers around ratio^exponent times 2^precision, for a ratio below 1; close ones, and never huge.

    >>> power_bounds(Fraction(1, 2), 3, 10)
    (128, 128)
    """
    # Every product doubles the error at most, so these guard bits keep it below one unit.
    guard = 2 * exponent.bit_length() + 2
    scale = precision + guard
    low, high = 1 << scale, 1 << scale
    base_low = (ratio.numerator << scale) // ratio.denominator
    base_high = -((-ratio.numerator << scale) // ratio.denominator)
    for bit in bin(exponent)[2:]:
        low, high = (low * low) >> scale, -((-high * high) >> scale)
        if bit == "1":
            low, high = (low * base_low) >> scale, -((-high * base_high) >> scale)
    return low >> guard, -(-high >> guard)


def as_integers(table: NDArray[np.float64]) -> list[int]:
    """Return float64 numbers as integers over one common denominator, exactly.

    >>> as_integers(np.array([0.5, 0.75]))
    [2, 3]
    """
    fractions = [number.as_integer_ratio() for number in table.reshape(-1).tolist()]
    largest = max(denominator for _, denominator in fractions)  # all are powers of two
    return [numerator * (largest // denominator) for numerator, denominator in fractions]


def _exponential(exponent: Fraction, context: Context) -> Decimal:
    return context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))

"""Rational stand-ins for e^-x that err on the private side only."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

RELATIVE_BITS = 64
"""A ratio exceeds e^-x by less than two parts in 2^64, so the noise is stronger than promised by no more."""

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
    fraction_bits = RELATIVE_BITS + math.ceil(exponent * 3 / 2)  # log2(e) < 3/2
    negative = _CONTEXT.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    scaled = _CONTEXT.multiply(_CONTEXT.exp(negative), Decimal(2**fraction_bits))
    above = int(_CONTEXT.add(scaled, _DECIMAL_ERROR)) + 1
    return Fraction(above, 2**fraction_bits)

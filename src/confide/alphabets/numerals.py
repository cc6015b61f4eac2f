"""Numerals in files of values and reports.

The patterns are the rule: Python reads by them, and so does the SQL of :mod:`confide.counting`. They use only what
Python, RE2 and Java understand alike, and no backslash, which some databases would take for their own.
"""

from __future__ import annotations

import math
import re

BLANK = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Inside a class of characters: what may stand around a number, which is what :meth:`str.strip` takes away."""

FILLED = f"[^{BLANK}]"
"""Any character but a blank: a text without one is missing."""

WHOLE = f"[{BLANK}]*([+-]?[0-9]+)(?:[.]0*)?[{BLANK}]*"
"""A whole number; no underscore and no digit of another script, which no other reader of a file would take.

Zeros may follow a point: so pandas writes a column of whole numbers of which one is missing.
"""

REAL = f"[{BLANK}]*([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)[{BLANK}]*"
"""A decimal number."""

NUMBER_LIKE = f"[{BLANK}]*([+-]?(?:[0-9][0-9_]*[.]?[0-9_]*|[.][0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)[{BLANK}]*"
"""Texts that were meant as a number, though none of the above may take them."""

LONGEST_NUMBER = 4000
"""Digits past which a number is cut: Python refuses to convert more, and no alphabet has one as large."""

_WHOLE, _REAL, _NUMBER_LIKE = re.compile(WHOLE), re.compile(REAL), re.compile(NUMBER_LIKE)


def parse_integer(text: str) -> int | None:
    """Read a whole number, or return None.

    >>> parse_integer(" -7 "), parse_integer("7.0"), parse_integer("7.5"), parse_integer("1_000")
    (-7, 7, None, None)
    """
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    sign = -1 if found[1].startswith("-") else 1
    return sign * int(found[1].lstrip("+-").lstrip("0")[:LONGEST_NUMBER] or "0")


def parse_real(text: str) -> float | None:
    """Read a finite number, or return None.

    >>> parse_real("-.5e1"), parse_real("nan")
    (-5.0, None)
    """
    found = _REAL.fullmatch(text)
    number = math.nan if found is None else float(found[1])
    return number if math.isfinite(number) else None


def looks_like_a_number(text: str) -> bool:
    """Whether a text was meant as a number.

    >>> looks_like_a_number("1_000.5"), looks_like_a_number("twelve")
    (True, False)
    """
    return _NUMBER_LIKE.fullmatch(text) is not None

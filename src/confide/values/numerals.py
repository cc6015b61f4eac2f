"""Numerals in files of values and reports.

The patterns are the rule: Python reads by them, and so does the SQL of :mod:`confide.data.counting`. They use only what
Python, RE2 and Java understand alike, and no backslash, which some databases would take for their own.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

from confide.errors import InvalidParameterError

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

_WHOLE, _REAL = re.compile(WHOLE), re.compile(REAL)


def parse_integer(text: str) -> int | None:
    """Read a whole number, or return None.

    >>> parse_integer(" -7 "), parse_integer("7.0"), parse_integer("7.5"), parse_integer("1_000")
    (-7, 7, None, None)
    """
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    sign = -1 if found[1].startswith("-") else 1
    # Cut past 4,000 digits: Python refuses to convert more, and no alphabet has a number as large.
    return sign * int(found[1].lstrip("+-").lstrip("0")[:4000] or "0")


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
    return re.fullmatch(NUMBER_LIKE, text) is not None


class Numeral(str):
    """A number that a file holds as such and not as a text: however texts are written there, it is a plain decimal."""

    __slots__ = ()


_SIGN = f"([^0-9+{BLANK}\ufeff-]*)"
_GAP = f"[,.'\u2019_{BLANK}]"
_EXAMPLE = re.compile(f"[{BLANK}]*{_SIGN}[{BLANK}]*1({_GAP}?)234(?:([.,])[0-9]+)?[{BLANK}]*{_SIGN}[{BLANK}]*")


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written, by the example of 1234 or 1234.56.

    What stands before and behind may be left out of a number, and so may the marks between thousands, all at once.

    >>> NumberFormat("$1,234.56").read("-$58,000.5"), NumberFormat("1.234,56").read("58.000")
    ('-58000.5', '58000.')
    >>> NumberFormat("$1,234").read("58,00") is None
    True
    """

    example: str

    def __post_init__(self) -> None:
        given: object = self.example  # as a file may have it
        found = _EXAMPLE.fullmatch(given) if isinstance(given, str) else None
        if found is None or (found[2] and found[2] == found[3]):
            raise InvalidParameterError(
                f'format must show how 1234 or 1234.56 is written, such as "$1,234.56" or "1.234,56"; got '
                f"{self.example!r}."
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        found = _EXAMPLE.fullmatch(self.example)
        before, gap, mark, behind = ("", "", "", "") if found is None else (part or "" for part in found.groups())
        around = [f"(?:{re.escape(part)})?" for part in (before, behind)]
        between = f"[{BLANK}]" if gap.isspace() else re.escape(gap)
        grouped = f"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|" if gap else ""
        part = f"(?:{re.escape(mark)}([0-9]+))?" if mark else "()"
        blanks = f"[{BLANK}]*"
        return re.compile(f"{blanks}([+-]?){around[0]}{blanks}({grouped}[0-9]+){part}{blanks}{around[1]}{blanks}")

    def read(self, text: str) -> str | None:
        """Return the number in a text as a plain decimal, or None where it is written otherwise."""
        found = self._pattern.fullmatch(text)
        return None if found is None else f"{found[1]}{re.sub('[^0-9]', '', found[2])}.{found[3] or ''}"

    @staticmethod
    def guess(text: str) -> str:
        """Return the format under which a text is a number; nothing where there is none.

        >>> NumberFormat.guess("$58,000"), NumberFormat.guess("12,5"), NumberFormat.guess("twelve")
        ('$1,234', '1234,56', '')
        """
        groups = f"(?:({_GAP})(?:[0-9]{{3}}{_GAP})*[0-9]{{3}})?"
        written = f"[+-]?{_SIGN}([{BLANK}]*)[0-9]+?{groups}(?:([.,])[0-9]+)?([{BLANK}]*){_SIGN}"
        found = re.fullmatch(written, text.strip())
        if found is None or (found[3] and found[3] == found[4]):
            return ""
        before, blank, gap, mark, other, behind = (part or "" for part in found.groups())
        return f"{before}{blank}1{gap}234{f'{mark}56' if mark else ''}{other}{behind}"

"""Limits, checks of parameters and vectors, and numerals in files.

The patterns of numerals are the rule: Python reads by them, and so does the SQL of :mod:`confide.data.counting`. They
use only what Python, RE2 and Java understand alike, and no backslash, which some databases would take for their own.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidDistributionError, InvalidInputError, InvalidParameterError

LARGEST_INTEGER = 2**53 - 1
"""Largest value, and most of them: beyond it neighbouring integers are one and the same float64, so distances would be
wrong, and a device whose numbers are doubles takes none."""

COUNT_LIMIT = 2**53
"""Counts in files lie below it: from here on a float64, which counts are added up in, skips numbers."""

MOST_REPORTS = 2**63
"""All reports together lie below it, which whole numbers of 64 bits can count; far more would overflow to infinity."""

MOST_PEOPLE = 10**9
"""People of one survey. Their reports take some gigabytes and minutes; a count beyond it is an error in a file more
often than a population, and would fill the disk before anybody looks."""

MOST_STORED = 20_000_000
"""Entries of a matrix, values times different reports, that are stored where it can be had in pieces too: 160 MB."""

LARGEST_SQUARE = 4096
"""Values up to which a matrix of all against all is made: 128 MB."""


BLANK = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Inside a class of characters: what may stand around a number, which is what :meth:`str.strip` takes away."""

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


class Numeral(str):
    """A decimal that a file holds as a number, not as text."""

    __slots__ = ()


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written, by the example of 1234 or 1234.56.

    What stands before and behind may be left out of a number, and so may the marks between thousands, all at once.

    >>> NumberFormat("$1,234.56").read("-$58,000.5"), NumberFormat("1.234,56").read("58.000")
    ('-58000.5', '58000.')
    >>> NumberFormat("$1,234").read("58,00") is None
    True
    """

    _blanks: ClassVar[str] = f"[{BLANK}]*"
    _sign: ClassVar[str] = f"([^0-9+{BLANK}\ufeff-]*)"
    _gap: ClassVar[str] = f"[,.'\u2019_{BLANK}]"

    example: str
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given, blanks = cast("object", self.example), self._blanks  # as a file may have it
        written = f"{blanks}{self._sign}{blanks}1({self._gap}?)234(?:([.,])[0-9]+)?{blanks}{self._sign}{blanks}"
        found = re.fullmatch(written, given) if isinstance(given, str) else None
        if found is None or (found[2] and found[2] == found[3]):
            raise InvalidParameterError(
                f'format must show how 1234 or 1234.56 is written, such as "$1,234.56" or "1.234,56"; got '
                f"{self.example!r}."
            )
        before, gap, mark, behind = (part or "" for part in found.groups())
        around = [f"(?:{re.escape(part)})?" for part in (before, behind)]
        between = f"[{BLANK}]" if gap.isspace() else re.escape(gap)
        grouped = f"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|" if gap else ""
        part = f"(?:{re.escape(mark)}([0-9]+))?" if mark else "()"
        number = f"{blanks}([+-]?){around[0]}{blanks}({grouped}[0-9]+){part}{blanks}{around[1]}{blanks}"
        settle(self, _pattern=re.compile(number))

    def read(self, text: str) -> str | None:
        """Return the number in a text as a plain decimal, or None."""
        found = self._pattern.fullmatch(text)
        return None if found is None else f"{found[1]}{re.sub('[^0-9]', '', found[2])}.{found[3] or ''}"

    @staticmethod
    def guess(text: str) -> str:
        """Return the format under which a text is a number, or nothing.

        >>> NumberFormat.guess("$58,000"), NumberFormat.guess("12,5"), NumberFormat.guess("twelve")
        ('$1,234', '1234,56', '')
        """
        sign, gap = NumberFormat._sign, NumberFormat._gap
        groups = f"(?:({gap})(?:[0-9]{{3}}{gap})*[0-9]{{3}})?"
        written = f"[+-]?{sign}([{BLANK}]*)[0-9]+?{groups}(?:([.,])[0-9]+)?([{BLANK}]*){sign}"
        found = re.fullmatch(written, text.strip())
        if found is None or (found[3] and found[3] == found[4]):
            return ""
        before, blank, gap, mark, other, behind = (part or "" for part in found.groups())
        return f"{before}{blank}1{gap}234{f'{mark}56' if mark else ''}{other}{behind}"


SUM_TOLERANCE = 1e-9
"""Distance of a sum of probabilities from one before it is an error rather than rounding."""


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above zero."""
    if not is_number(value) or not math.isfinite(value) or value <= 0:
        raise InvalidParameterError(f"{name} must be a finite number above 0; got {value!r}.")


def check_count(name: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_text(name: str, value: object) -> None:
    """Refuse anything but a text."""
    if not isinstance(value, str):
        raise InvalidParameterError(f"{name} must be a text; got {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse anything but one of the named choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def as_distribution(vector: ArrayLike, size: int, name: str) -> NDArray[np.float64]:
    """Return a distribution as float64, normalised, or say why it is none.

    >>> as_distribution([0.25, 0.75], 2, "start")
    array([0.25, 0.75])
    """
    refuse_masked(f"entries of {name}", vector, InvalidDistributionError)
    try:
        array = np.array(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistributionError(f"{name} must be a sequence of {size} probabilities; got {vector!r}.") from None
    if array.shape != (size,):
        raise InvalidDistributionError(
            f"{name} must hold one probability for each of {size} values; got an array of shape {array.shape}."
        )
    if not np.isfinite(array).all():
        position = int(np.argmin(np.isfinite(array)))
        raise InvalidDistributionError(f"{name} holds {array[position]} at position {position}; give finite numbers.")
    if (array < 0).any():
        position = int(np.argmax(array < 0))
        raise InvalidDistributionError(
            f"{name} has a negative probability, {array[position]:g} at position {position}."
        )
    # A sum near one is rounding and is divided away; counts or weights are an error.
    total = float(array.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidDistributionError(
            f"{name} must sum to 1; got {total:.10g}. Divide it by its sum if it holds counts or weights."
        )
    return array / total


def size_of(vector: ArrayLike, name: str) -> int:
    """Return the length of a vector, or say that it is none."""
    try:
        return int(np.size(vector))
    except (TypeError, ValueError):
        raise InvalidDistributionError(f"{name} must be a plain sequence of probabilities; got {vector!r}.") from None


def require_kinds(function: Callable[..., object], given: Mapping[str, object]) -> None:
    """Refuse arguments whose type contradicts the annotation; name swapped ones.

    Only confide's own classes, texts, paths, mappings and lists are looked at.
    """
    kinds = _kinds_of(function)
    for name, wanted in kinds.items():
        if not _is_kind(given[name], wanted):
            others = [one for one in given if one != name and given[one] is not None]
            swapped = next((one for one in others if _is_kind(given[one], wanted)), None)
            plain: dict[type, str] = {str: "a text", os.PathLike: "a path", Mapping: "a dictionary"}
            plain |= {Sequence: "a list", Iterable: "a list", types.NoneType: "None"}
            words = " or ".join(plain.get(kind, kind.__name__) for kind in wanted)
            cure = "" if swapped is None else f"Are {name} and {swapped} swapped? "
            order = ", ".join(inspect.signature(function).parameters)
            got = kind_of(given[name])
            raise InvalidParameterError(f"{name} must be {words}; got {got}. {cure}Call {function.__name__}({order}).")


def as_items(name: str, things: object, of: str = "values") -> tuple[Any, ...]:
    """Return what a list holds, or say that it is none."""
    is_list = isinstance(things, Iterable) and not isinstance(things, str | bytes | Mapping)
    if isinstance(things, Iterable) and is_list and getattr(things, "ndim", None) != 0:
        return tuple(things)
    raise InvalidParameterError(f"{name} must be a list of {of}; got {kind_of(things)}. Write [first, second, ...].")


def as_floats(name: str, numbers: object) -> NDArray[np.float64]:
    """Return numbers as an array, or say that they are none."""
    try:
        return np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be an array of numbers; got {kind_of(numbers)}.") from None


def kind_of(thing: object) -> str:
    """Return what something is, in a sentence."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__


@functools.cache
def _kinds_of(function: Callable[..., object]) -> dict[str, tuple[type, ...]]:
    """Return the classes that each argument may have, where checked."""
    hints = typing.get_type_hints(function)
    found = {name: _classes_in(hints[name]) for name in inspect.signature(function).parameters if name in hints}
    return {name: classes for name, classes in found.items() if classes}


def _classes_in(hint: Any) -> tuple[type, ...]:
    """Return the classes of an annotation; none if a part is unchecked."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_classes_in(part) for part in typing.get_args(hint)]
        return tuple(one for part in parts for one in part) if all(parts) else ()
    if origin in (Mapping, Sequence, Iterable):
        return (origin,)
    if hint is Path:
        return (os.PathLike,)
    is_own = isinstance(hint, type) and hint.__module__.startswith("confide.")
    return (hint,) if is_own or hint in (str, types.NoneType) else ()


def _is_kind(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, str | bytes | np.ndarray):  # which are no lists of things
        kinds = tuple(kind for kind in kinds if kind not in (Sequence, Iterable))
    return isinstance(value, kinds)


def read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same array, closed for writing."""
    array.flags.writeable = False
    return array


def settle(thing: object, **settings: object) -> None:
    """Set fields of a frozen dataclass, from where it is made."""
    for name, value in settings.items():
        object.__setattr__(thing, name, value)


def refuse_masked(name: str, array: object, error: type[InvalidInputError]) -> None:
    """Refuse masked entries, which numpy hands on as if they were data."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise error(
            f"{int(np.ma.getmaskarray(array).sum()):,} of {array.size:,} {name} are masked. Leave them out first, with "
            f"compressed(), or fill them in, with filled()."
        )


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number; a truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)

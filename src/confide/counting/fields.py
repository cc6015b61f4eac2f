"""What one part of a report may be, in the few words that SQL needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from confide.alphabets import Alphabet, BitVectors, Categories, Grid, Integers, Lattice, Line, Pairs, Plane
from confide.alphabets.base import LARGEST_INTEGER
from confide.errors import InvalidParameterError

REAL_LIMIT = 2**52
"""Real reports lie fewer than this many steps of their resolution from zero."""


@dataclass(frozen=True)
class Field:
    """One part of a report.

    Attributes
    ----------
    kind
        A whole number, a real number on a fine lattice, or a text.
    low, high
        Between what a whole number lies.
    members
        The only whole numbers or texts that there are; None where all between low and high are.
    resolution
        Of how large a fraction of one real numbers are multiples.
    """

    kind: Literal["whole", "real", "text"]
    low: int = -LARGEST_INTEGER
    high: int = LARGEST_INTEGER
    members: tuple[int, ...] | tuple[str, ...] | None = None
    resolution: int = 1


def fields_of(alphabet: Alphabet) -> tuple[Field, ...]:
    """Return the parts of a report of this alphabet.

    >>> from confide import Grid
    >>> fields_of(Grid(2, 3))[1].high
    2
    """
    if isinstance(alphabet, Pairs):
        return fields_of(alphabet.first) + fields_of(alphabet.second)
    if isinstance(alphabet, Grid):
        return (_span(alphabet.first_row, alphabet.rows), _span(alphabet.first_column, alphabet.columns))
    if isinstance(alphabet, BitVectors):
        lengths = (min(63, alphabet.length - start) for start in range(0, alphabet.length, 63))
        return tuple(_span(0, 2**length) for length in lengths)
    return (_field_of(alphabet),) * alphabet.parts


def _field_of(alphabet: Alphabet) -> Field:
    """Return what every part of a report is, where all are alike."""
    if isinstance(alphabet, Integers) and alphabet.is_finite:
        return Field("whole", *alphabet.span)
    if isinstance(alphabet, Integers | Lattice):
        return Field("whole")
    if isinstance(alphabet, Line | Plane):
        return Field("real", resolution=alphabet.RESOLUTION)
    if isinstance(alphabet, Categories):
        members: Any = alphabet.values
        return Field("text" if isinstance(members[0], str) else "whole", members=members)
    raise InvalidParameterError(f"Reports of {alphabet!r} cannot be counted in SQL; tally them in Python.")


def _span(first: int, size: int) -> Field:
    return Field("whole", first, first + size - 1)

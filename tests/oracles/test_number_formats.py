"""Numbers as people write them, against a plain writer: what it writes is read, and any other grouping is refused."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

import confide as cf

FORMATS = {
    "$1,234.56": ("$", ",", ".", ""),
    "1.234,56 €": ("", ".", ",", " €"),
    "1 234,5": ("", " ", ",", ""),
    "CHF 1'234.50": ("CHF ", "'", ".", ""),
    "1234.5": ("", "", ".", ""),
    "£1,234": ("£", ",", "", ""),
}
EDGES = [-98_765_432, -1000, -7, 0, 7, 950, 1000, 12_000, 123_456, 1_000_000, 98_765_432]


def written(number: Decimal, marks: tuple[str, str, str, str], groups: list[str] | None = None) -> str:
    """Return a number as a format has it; in other groups of digits, where some are given."""
    before, gap, point, behind = marks
    whole, _, part = f"{number:f}".partition(".")
    digits = whole.lstrip("-")
    parts = groups or [digits[max(0, end - 3) : end] for end in range(len(digits), 0, -3)][::-1]
    text = gap.join(parts) + (f"{point}{part}" if part and point else "")
    return f"{'-' if number < 0 else ''}{before}{text}{behind}"


def place_of(number: Decimal) -> int:
    """Return the bin of an amount, which begins at its lower edge."""
    return sum(number >= edge for edge in EDGES) - 1


@pytest.mark.parametrize("example", FORMATS)
def test_what_is_written_in_a_format_is_read_and_no_other_grouping_is(example: str) -> None:
    bins = cf.Bins(edges=EDGES, format=example)
    marks, draw = FORMATS[example], random.Random(example)  # noqa: S311
    _, gap, point, _ = marks
    for _ in range(60):
        size = draw.randint(1, 7)
        number = Decimal(draw.randrange(10 ** (size - 1), 10**size))
        if point:
            number += Decimal(draw.randrange(100)) / 100
        digits = f"{number:f}".partition(".")[0]
        less = -number
        assert bins.read([written(less, marks)]) == place_of(less), "below zero"
        right = written(number, marks)
        assert bins.read([right]) == place_of(number), right
        assert bins.read([f"  {right} "]) == place_of(number)
        assert bins.take([right]).tolist() == [place_of(number)]
        assert bins.read([written(number, marks, [digits])]) == place_of(number), "marks may be left out"
        if not gap:
            continue
        for cut in range(
            1, len(digits)
        ):  # one mark, anywhere: right only where three digits follow, and no more than three stand before
            text = written(number, marks, [digits[:cut], digits[cut:]])
            is_right = len(digits) - cut == 3 and cut <= 3
            assert (bins.read([text]) == place_of(number)) == is_right, text
        if len(digits) == 7:
            for first in (1, 2, 3):
                text = written(number, marks, [digits[:first], digits[first : first + 3], digits[first + 3 :]])
                assert (bins.read([text]) == place_of(number)) == (first == 1), text

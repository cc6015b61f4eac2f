"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number of things, in the plural where there is not exactly one.

    >>> counted(1, "value"), counted(1200, "report")
    ('1 value', '1,200 reports')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""Numbers as people type them: counts with separators between thousands, and amounts with a decimal point."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

import typer

SEPARATORS = ",_ '\u2019\u00a0\u2009\u202f"
"""Between thousands: comma, underscore, space, apostrophe, and the spaces and the apostrophe that typesetters use."""

MULTIPLES = {"k": 10**3, "K": 10**3, "M": 10**6}
"""Letters behind a count. A small m is left out: elsewhere it is a thousandth."""

MOST_ZEROS = 18
"""Largest power of ten: 1e1000000000 would otherwise be written out, digit by digit, before anybody refuses it."""

_GROUPED = re.compile(rf"[1-9][0-9]{{0,2}}(?:([{SEPARATORS}])[0-9]{{3}})(?:\1[0-9]{{3}})*")
_PLAIN = re.compile(r"([0-9]+(?:[.][0-9]*)?)(?:[eE][+]?([0-9]{1,9}))?([kKM])?")
_POINT_OR_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}[.][0-9]{3}([kKM])?|[1-9][0-9]{0,2}(?:[.][0-9]{3}){2,}")
_AMOUNT = re.compile(r"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_COMMA = re.compile(r"[+-]?([0-9]*),([0-9]+)")
_PERCENT = re.compile(r"([0-9]+(?:[.,][0-9]*)?)\s*%")


def as_count(typed: str | int) -> int:
    """Return a count as it was typed, or refuse it with the value in the message.

    >>> [as_count(text) for text in ("50000", "50,000", "50_000", "50 000", "5e4", "50k")]
    [50000, 50000, 50000, 50000, 50000, 50000]
    """
    text = str(typed).strip()
    if _GROUPED.fullmatch(text):
        return int(re.sub(f"[{SEPARATORS}]", "", text))
    if _POINT_OR_THOUSANDS.fullmatch(text):
        low, high = text.partition(".")[0], text.replace(".", "")
        raise _refusal(typed, f"a point may be a decimal point or stand between thousands. Write {low} or {high}")
    found = _PLAIN.fullmatch(text)
    if found is None:
        raise _refusal(typed, "a whole number is needed, such as 50000, 50,000 or 5e4")
    digits, zeros, letter = found.groups()
    if int(zeros or 0) > MOST_ZEROS:
        raise _refusal(typed, f"that is more than 1e{MOST_ZEROS}. Give a smaller number")
    # Exact: as a float, 1.1e3 would be whole only by luck.
    number = Decimal(digits) * 10 ** int(zeros or 0) * MULTIPLES.get(letter, 1)
    if number != number.to_integral_value():
        raise _refusal(typed, f"a whole number is needed, such as {int(number) or 1}")
    return int(number)


def as_amount(typed: str | float) -> float:
    """Return an amount as it was typed, with a decimal point, or refuse it with the value in the message.

    >>> as_amount("0.05"), as_amount("5e-2")
    (0.05, 0.05)
    """
    text = str(typed).strip()
    if _AMOUNT.fullmatch(text):
        return float(text)
    comma, percent = _COMMA.fullmatch(text), _PERCENT.fullmatch(text)
    if comma is not None:
        whole, behind = comma.groups()
        meant = text.replace(",", ".")
        is_either = len(behind) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0")
        cure = f"Write {meant} or {text.replace(',', '')}" if is_either else f"Write {meant}, with a point"
        raise _refusal(typed, f"a comma is no decimal point here. {cure}")
    if percent is not None:
        share = Decimal(percent[1].replace(",", ".")) / 100
        raise _refusal(typed, f"a share is needed, not a percentage. Write {share.normalize():f}")
    raise _refusal(typed, "a number is needed, such as 0.05 or 5e-2")


def as_share(typed: str | float) -> float:
    """Return a share as it was typed, as an amount or in percent; whether it lies between 0 and 1 is not looked at.

    >>> as_share("0.95"), as_share("95%")
    (0.95, 0.95)
    """
    percent = _PERCENT.fullmatch(str(typed).strip())
    return as_amount(typed) if percent is None or "," in percent[1] else float(Decimal(percent[1]) / 100)


@dataclass(frozen=True)
class Level:
    """How often intervals are to hold the truth: each of them, or all of an answer at once."""

    share: float
    is_joint: bool = False


def as_level(typed: str) -> Level:
    """Return the level of intervals as it was typed.

    >>> as_level("95%"), as_level("0.9 joint")
    (Level(share=0.95, is_joint=False), Level(share=0.9, is_joint=True))
    """
    share = typed.strip().removesuffix("joint")
    return Level(as_share(share), share != typed.strip())


def _refusal(typed: object, why: str) -> typer.BadParameter:
    """Return the refusal of a text; typer puts the option's name in front."""
    return typer.BadParameter(f"{str(typed)!r}: {why}.")

"""Tables: numbers that a device needs beside a survey, where making them takes numerical work.

A device cannot make them from the survey, so they have a digest of their own behind the survey's fingerprint. They are
the same on every machine (:mod:`confide.portable`).
"""

from __future__ import annotations

from typing import Any

from confide.declarations import inner_mechanisms
from confide.errors import SurveyError, TooLargeError
from confide.limits import MOST_BITS_SENT
from confide.mechanisms import Mechanism
from confide.mechanisms.base import WITHOUT_TABLES
from confide.mechanisms.unary import UnaryEncoding

LARGEST_DOCUMENT = 5_000_000
"""Bytes of a survey that a device loads: what a page or an application can carry without anybody waiting for it."""


def tables_of(mechanism: Mechanism, place: str = "mechanism") -> dict[str, dict[str, Any]]:
    """Return all tables of a mechanism and those it is made of, each under its place in the survey; mostly none.

    >>> from confide import Grid, Integers, TruncatedGeometric, TruncatedPlanarLaplace
    >>> tables_of(TruncatedGeometric(Integers(0, 9), 1.0))
    {}
    >>> list(tables_of(TruncatedPlanarLaplace(Grid(2, 2), 1.0))["mechanism"])
    ['quadrant']
    """
    found = {place: dict(mechanism.tables)} if mechanism.tables else {}
    for name, inner in inner_mechanisms(mechanism).items():
        found |= tables_of(inner, f"{place}.{name}")
    return found


def check_tables(given: dict[str, Any], mechanism: Mechanism) -> None:
    """Refuse tables that are not those of a mechanism, to the last bit."""
    own = tables_of(mechanism)
    _require_same_keys("tables", given, own)
    for place, tables in own.items():
        _require_same_keys(f"tables of {place}", given[place], tables)
        for name, table in tables.items():
            if given[place][name] != table:
                raise SurveyError(
                    f"The table {name} of {place} is not the one that this survey's mechanism has. Write the survey "
                    f"again with: confide export survey.toml -o survey.json"
                )


def check_bits(mechanism: Mechanism, place: str = "mechanism") -> None:
    """Refuse reports with more bits than a device makes."""
    if isinstance(mechanism, UnaryEncoding) and mechanism.alphabet.size > MOST_BITS_SENT:
        raise TooLargeError(
            f"A report of [{place}] has a bit for each of {mechanism.alphabet.size:,} values, and a device makes at "
            f"most {MOST_BITS_SENT:,}. Use fewer or coarser values, or a mechanism that reports one of them."
        )
    for name, inner in inner_mechanisms(mechanism).items():
        check_bits(inner, f"{place}.{name}")


def check_size(text: str, mechanism: Mechanism) -> None:
    """Refuse a document that is too large for a device."""
    size = len(text.encode())
    if size > LARGEST_DOCUMENT:
        tables = tables_of(mechanism)
        what = "its tables" if tables else "its lists"
        raise TooLargeError(
            f"The survey takes {size / 1e6:,.1f} MB as JSON, mostly for {what}, and a device should not load more than "
            f"{LARGEST_DOCUMENT / 1e6:g} MB. {WITHOUT_TABLES}"
        )


def _require_same_keys(what: str, given: object, own: dict[str, Any]) -> None:
    names = set(given) if isinstance(given, dict) else None
    if names != set(own):
        got = ", ".join(sorted(map(str, names))) if names is not None else repr(given)
        raise SurveyError(
            f"The {what} should be {', '.join(own) or 'left out'}; got {got or 'none'}. Write the survey again with: "
            f"confide export survey.toml -o survey.json"
        )

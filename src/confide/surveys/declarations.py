"""Alphabets and mechanisms as a survey declares them, in TOML and JSON.

Tables: numbers that a device needs beside a survey, where making them takes numerical work.

A device cannot make them from the survey, so they have a digest of their own behind the survey's fingerprint. They are
the same on every machine (:mod:`confide.values.portable`).
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import numpy as np

from confide.errors import SurveyError, TooLargeError
from confide.mechanisms import Mechanism, Product
from confide.mechanisms.randomized_response import UnaryEncoding
from confide.values import Alphabet
from confide.values.limits import MOST_BITS_SENT
from confide.values.wording import counted


def declaration_of(thing: Alphabet | Mechanism) -> dict[str, Any]:
    """Return the kind and non-default settings of an alphabet or mechanism.

    A mechanism's own alphabet is left out too, for it stands in a table of its own, and so is a promise, which no
    survey holds: it was checked when the mechanism was made.
    """
    # A class under another alphabet is none of its kind unless it says so: it may be built in another way.
    kind = thing.kind if isinstance(thing, Mechanism) else vars(type(thing)).get("kind", type(thing).__name__)
    settings: dict[str, Any] = {"kind": kind}
    found = thing.declared
    if found is None:
        own = [field for field in fields(thing) if field.name not in ("alphabet", "promise")]  # type: ignore[arg-type]
        stated = [(field.name, getattr(thing, field.name), field.default) for field in own]
        always = np.ndarray | Alphabet | Mechanism
        found = {name: value for name, value, usual in stated if isinstance(value, always) or value != usual}
    parts = {name: declaration_of(one) for name, one in found.items() if isinstance(one, Alphabet | Mechanism)}
    return settings | dict(found) | parts


def inner_mechanisms(mechanism: Mechanism) -> dict[str, Mechanism]:
    """Return a mechanism's inner mechanisms by their names in its table."""
    if isinstance(mechanism, Product):
        return dict(zip(mechanism.names, mechanism.mechanisms, strict=True))
    named = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}  # type: ignore[arg-type]
    return {name: value for name, value in named.items() if isinstance(value, Mechanism)}


def json_of(value: Any) -> Any:
    """Return a declaration for JSON.

    Attributes become lists: their order matters, and canonical JSON sorts keys.

    >>> from confide import Attributes, Hours, Weekdays
    >>> json_of(declaration_of(Attributes(hour=Hours(), day=Weekdays())))
    {'kind': 'attributes', 'names': ['hour', 'day'], 'alphabets': [{'kind': 'hours'}, {'kind': 'weekdays'}]}
    """
    if isinstance(value, dict) and value.get("kind") == "attributes":
        parts = {name: json_of(one) for name, one in value.items() if name != "kind"}
        return {"kind": "attributes", "names": list(parts), "alphabets": list(parts.values())}
    if isinstance(value, dict):
        return {name: json_of(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [json_of(one) for one in value] if isinstance(value, tuple) else value


def toml_table(place: str, declaration: dict[str, Any], most: int | None) -> list[str]:
    """Return a declaration as TOML lines, inner tables below."""
    inner = {name: value for name, value in declaration.items() if isinstance(value, dict)}
    plain = [f"{_key(name)} = {toml_value(value, most)}" for name, value in declaration.items() if name not in inner]
    below = [line for name, value in inner.items() for line in toml_table(f"{place}.{_key(name)}", value, most)]
    return ["", f"[{place}]", *plain, *below]


def _key(name: str) -> str:
    """Return a TOML key, quoted if it is not a bare key."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: object, most: int | None = None) -> str:
    """Return a value as TOML; shorten lists longer than `most`.

    >>> toml_value(("a", "b", "c"), 2)
    '["a", "b"]  # and 1 more'
    """
    if isinstance(value, np.ndarray):
        if most is None or value.size <= most:
            return json.dumps(value.tolist())
        return f"[]  # {counted(value.shape[0], 'row')} of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(toml_value(one) for one in value[:most])
        more = 0 if most is None else len(value) - most
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    # JSON's texts are TOML's too, but for the one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def tables_of(mechanism: Mechanism, place: str = "mechanism") -> dict[str, dict[str, Any]]:
    """Return the tables of a mechanism and its parts, by survey section.

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
    """Reject tables that differ from the mechanism's own by any bit."""
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
    """Reject reports with more bits than a device makes."""
    if isinstance(mechanism, UnaryEncoding) and mechanism.alphabet.size > MOST_BITS_SENT:
        raise TooLargeError(
            f"A report of [{place}] has a bit for each of {mechanism.alphabet.size:,} values, and a device makes at "
            f"most {MOST_BITS_SENT:,}. Use fewer or coarser values, or a mechanism that reports one of them."
        )
    for name, inner in inner_mechanisms(mechanism).items():
        check_bits(inner, f"{place}.{name}")


def _require_same_keys(what: str, given: object, own: dict[str, Any]) -> None:
    names = set(given) if isinstance(given, dict) else None
    if names != set(own):
        got = ", ".join(sorted(map(str, names))) if names is not None else repr(given)
        raise SurveyError(
            f"The {what} should be {', '.join(own) or 'left out'}; got {got or 'none'}. Write the survey again with: "
            f"confide export survey.toml -o survey.json"
        )

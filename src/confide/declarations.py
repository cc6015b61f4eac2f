"""Declarations: alphabets and mechanisms as a survey states them, in TOML and in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from confide.alphabets import Alphabet, Attributes
from confide.mechanisms import Mechanism, Product
from confide.wording import counted


def declaration_of(thing: Alphabet | Mechanism) -> dict[str, Any]:
    """Return the kind and the settings of an alphabet or a mechanism, those at their defaults left out.

    A mechanism's own alphabet is left out too, for it stands in a table of its own, and so is a promise, which no
    survey holds: it was checked when the mechanism was made.
    """
    # A class under another alphabet is none of its kind unless it says so: it may be built in another way.
    kind = thing.kind if isinstance(thing, Mechanism) else vars(type(thing)).get("kind", type(thing).__name__)
    settings: dict[str, Any] = {"kind": kind}
    if thing.declared is not None:
        return settings | dict(thing.declared)
    if isinstance(thing, Attributes | Product):
        inner: Sequence[Alphabet | Mechanism] = thing.alphabets if isinstance(thing, Attributes) else thing.mechanisms
        return settings | {name: declaration_of(part) for name, part in zip(thing.names, inner, strict=True)}
    for field in fields(thing):  # type: ignore[arg-type]  # all are dataclasses
        value = getattr(thing, field.name)
        if field.name in ("alphabet", "promise"):
            continue
        if isinstance(value, Alphabet | Mechanism):
            settings[field.name] = declaration_of(value)
        elif isinstance(value, np.ndarray) or value != field.default:
            settings[field.name] = value
    return settings


def inner_mechanisms(mechanism: Mechanism) -> dict[str, Mechanism]:
    """Return the mechanisms that a mechanism is made of, by their names in its table."""
    if isinstance(mechanism, Product):
        return dict(zip(mechanism.names, mechanism.mechanisms, strict=True))
    named = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}  # type: ignore[arg-type]
    return {name: value for name, value in named.items() if isinstance(value, Mechanism)}


def json_of(value: Any) -> Any:
    """Return a declaration as JSON has it: attributes as lists, for their order matters and that of keys is lost.

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
    """Return a declaration as a table, and below it those that it is made of."""
    inner = {name: value for name, value in declaration.items() if isinstance(value, dict)}
    plain = [f"{_key(name)} = {toml_value(value, most)}" for name, value in declaration.items() if name not in inner]
    below = [line for name, value in inner.items() for line in toml_table(f"{place}.{_key(name)}", value, most)]
    return ["", f"[{place}]", *plain, *below]


def _key(name: str) -> str:
    """Return a name as TOML has it: in quotation marks where it has blanks or other letters than English ones."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: object, most: int | None = None) -> str:
    """Return a value as TOML; lists longer than `most` are shortened, with a remark.

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

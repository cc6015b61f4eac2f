"""Checks what the server sends against web/schema.toml, of which the types of its pages are made."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

PLAIN: dict[str, type | tuple[type, ...]] = {"string": str, "boolean": bool, "number": (int, float), "null": type(None)}


@cache
def _schema() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parents[2] / "web" / "schema.toml").read_text(encoding="utf-8"))


def faults(kind: str, value: Any, at: str = "") -> list[str]:
    """Return where a value, as JSON has it, is not what a type of the schema says."""
    here = at or kind
    if " | " in kind and not kind.endswith("]"):
        tried = [faults(one, value, here) for one in kind.split(" | ")]
        return [] if [] in tried else min(tried, key=len)
    if kind in PLAIN or kind.startswith("'"):
        is_number = isinstance(value, PLAIN["number"]) and not isinstance(value, bool)
        is_right = is_number if kind == "number" else value == kind[1:-1] or isinstance(value, PLAIN.get(kind, ()))
        return [] if is_right else [f"{here} is {value!r:.60}, no {kind}"]
    if kind.endswith("[]") or kind.startswith("["):
        return _items(kind, value, here) if isinstance(value, list) else [f"{here} is no list"]
    if kind == "unknown" or isinstance(value, dict):
        return [] if kind == "unknown" else _fields(kind, value, here)
    return [f"{here} is {value!r:.60}, no object"]


def _items(kind: str, value: list[Any], at: str) -> list[str]:
    # A list of any length ends with "[]"; "[number, number]" is a pair.
    kinds = [kind[:-2].strip("()")] * len(value) if kind.endswith("[]") else kind[1:-1].split(", ")
    if len(kinds) != len(value):
        return [f"{at} is no list of {len(kinds)}"]
    pairs = enumerate(zip(kinds, value, strict=True))
    return [fault for place, (one, item) in pairs for fault in faults(one, item, f"{at}.{place}")]


def _fields(kind: str, value: dict[str, Any], at: str) -> list[str]:
    if record := re.fullmatch("Record<string, (.*)>", kind):
        return [fault for name, one in value.items() for fault in faults(record[1], one, f"{at}.{name}")]
    fields = _schema()[kind]
    needed = {name for name in fields if not name.startswith("[") and not name.endswith("?")}
    found = [f"{at} has no {name}" for name in sorted(needed - value.keys())]
    known = {name.removesuffix("?"): one for name, one in fields.items()}
    is_open = any(name.startswith("[") for name in fields)
    for name, one in value.items():
        if name in known:
            found += faults(known[name], one, f"{at}.{name}")
        elif not is_open:
            found.append(f"{at} has {name}, which is not in the schema")
    return found
